/* SPDX-License-Identifier: Apache-2.0
 * What is in a file, one function a kind.
 */
#include "tools/inspect/inspect_file.h"

#include <volley/host.h>
#include <volley/record.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "base/reading.h"
#include "connectome/connectome.h"
#include "probe/probe.h"
#include "record/spike_csv.h"
#include "tools/cli/columns.h"
#include "tools/cli/json_reader.h"
#include "tools/cli/tool.h"

/* ", NAME" of a point of run --probe, in lines of at most 79 characters. */
static void print_point(const char *kind, const char *name, size_t *column)
{
    const size_t n = strlen(kind) + strlen(name);
    const bool first = *column == 0;
    if (first)
        tool_print("probes     ");
    else if (*column + n + 3 > 79)
        tool_print(",\n           ");
    else
        tool_print(", ");
    *column = first || *column + n + 3 > 79 ? 11 + n : *column + 2 + n;
    tool_print("%s%s", kind, name);
}

static void print_net_points(const vly_genome *genome,
                             const vly_genome_info *info)
{
    const char *before = NULL;
    size_t column = 0;
    for (uint32_t a = 0; a < info->n_areas; a++) {
        vly_area_info area = {.struct_size = sizeof area};
        if (vly_genome_area_info(genome, a, &area) == VLY_OK)
            print_point("area.", area.name, &column);
    }
    /* pairs of one map follow each other */
    for (uint32_t p = 0; p < info->n_pairs; p++) {
        vly_pair_info pair = {.struct_size = sizeof pair};
        if (vly_genome_pair_info(genome, p, &pair) != VLY_OK)
            continue;
        if (!before || strcmp(pair.map, before) != 0)
            print_point("map.", pair.map, &column);
        before = pair.map;
    }
    tool_print("%s", column != 0 ? "\n" : "");
}

vly_status inspect_genome(const char *path, const tool_overrides *overrides,
                          vly_error *error)
{
    vly_genome *genome = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_genome_load(path, overrides->list, overrides->n, &genome, error));
    const vly_genome_info info = tool_genome_info(genome);
    tool_plain_text title;
    tool_print("genome%s%s\n", info.title ? ": " : "",
               info.title ? tool_plain(info.title, &title) : "");
    tool_print("hash       %s\n", tool_hash_text(info.hash));
    tool_print("length     %s bursts of %g ms\n", tool_thousands(info.n_bursts),
               info.dt_ms);
    tool_print("neurons    %s in %u areas\n", tool_thousands(info.n_neurons),
               info.n_areas);
    tool_print("synapses   at most about %s in %u pairs of areas\n",
               tool_thousands(info.n_synapses_max), info.n_pairs);
    tool_print("stimuli    %u\n", info.n_stimuli);
    print_net_points(genome, &info);
    vly_genome_destroy(genome);
out:
    return status;
}

/* ---- connectome ------------------------------------------------------- */

static void print_areas(const vly_connectome *connectome)
{
    const uint32_t n_areas = tool_connectome_info(connectome).n_areas;
    tool_print("\n%-24s %-16s %14s %12s   %s\n", "area", "model", "neurons",
               "first", "q of the ports");
    for (uint32_t a = 0; a < n_areas; a++) {
        const vly_area_info area = tool_area_info(connectome, a);
        tool_print("%-*s %-*s %14s %12s  ", TOOL_COLUMN(area.name, 24),
                   TOOL_COLUMN(area.model, 16), tool_thousands(area.n_neurons),
                   tool_thousands(area.first));
        for (uint32_t p = 0; p < area.n_ports; p++)
            tool_print(" %d (%s)", area.q[p], area.port_unit[p]);
        tool_print("\n");
    }
}

static double projection_bytes(const vly_connectome *connectome, uint32_t i)
{
    const vly_projection_desc *desc = &connectome->desc.projections[i];
    double n = (double)connectome->projections[i].n_synapses;
    double rows = connectome->areas[desc->source_area].n_neurons + 1.0;
    return n * (desc->delay ? 7.0 : 6.0) + 8.0 * rows;
}

static void print_projections(const vly_connectome *connectome)
{
    tool_print("\n%-14s %-20s %14s %10s %22s %12s %9s\n", "map", "from -> to",
               "synapses", "delay", "weight", "rounding", "bytes");
    for (uint32_t i = 0; i < connectome->desc.n_projections; i++) {
        const vly_projection_desc *desc = &connectome->desc.projections[i];
        const vly_connectome_projection *projection =
            &connectome->projections[i];
        char between[2 * VLY_NAME_MAX + 8];
        char weight[64];
        char delay[32];
        snprintf(between, sizeof between, "%.*s -> %.*s",
                 TOOL_FIT(connectome->areas[desc->source_area].name, 40),
                 TOOL_FIT(connectome->areas[desc->target_area].name, 40));
        snprintf(weight, sizeof weight, "%.5g..%.5g", projection->weight_min,
                 projection->weight_max);
        snprintf(delay, sizeof delay, "%u..%u", desc->base_delay,
                 desc->base_delay + desc->delay_max);
        tool_print("%-*s %-*s %14s %10s %22s %12.2g %9s\n",
                   TOOL_COLUMN(projection->map, 14), TOOL_COLUMN(between, 20),
                   tool_thousands(projection->n_synapses), delay, weight,
                   projection->worst_rounding,
                   tool_bytes(vly_count_of(projection_bytes(connectome, i))));
    }
}

/* Maps that learn. */
static void print_learning(const vly_connectome *connectome)
{
    bool any = false;
    for (uint32_t i = 0; i < connectome->desc.n_projections; i++) {
        const vly_connectome_projection *at = &connectome->projections[i];
        const vly_learning_desc *learning =
            connectome->desc.projections[i].learning;
        const vly_connectome_learning *rule = vly_connectome_rule(at);
        if (!rule)
            continue;
        if (!any)
            tool_print("\n%-14s %-20s %22s  %s\n", "map", "learns by",
                       "weights", "delay");
        any = true;
        if (!learning) { /* short-term plasticity */
            tool_print("%-*s %-*s %22s  %s\n", TOOL_COLUMN(at->map, 14),
                       TOOL_COLUMN(rule->info->id, 20), "stay",
                       "that of the map");
            continue;
        }
        double most = learning->most * at->unit * 0x1p-16;
        bool negative = learning->flags & VLY_LEARNING_NEGATIVE;
        char weights[64];
        snprintf(weights, sizeof weights, "%.5g..%.5g", negative ? -most : 0.0,
                 negative ? 0.0 : most);
        tool_print(
            "%-*s %-*s %22s  %s%s%s\n", TOOL_COLUMN(at->map, 14),
            TOOL_COLUMN(learning->rule, 20), weights,
            learning->flags & VLY_LEARNING_DENDRITIC ? "dendritic" : "axonal",
            learning->flags & VLY_LEARNING_NEAREST ? ", nearest neighbours"
                                                   : "",
            learning->flags & VLY_LEARNING_FROZEN ? ", frozen" : "");
    }
}

vly_status inspect_connectome(const char *path, bool verify, vly_error *error)
{
    vly_connectome *connectome = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_connectome_load(path, verify, &connectome, error));
    const vly_connectome_info info = tool_connectome_info(connectome);
    tool_print("connectome%s\n", verify ? ", checksums verified" : "");
    tool_print("hash         %s\n", tool_hash_text(info.hash));
    if (verify) { /* follows all rows and reads the whole file */
        uint64_t digest[2];
        vly_connectome_get_digest(connectome, 0, digest);
        tool_print("digest       %s\n", tool_hash_text(digest));
    }
    tool_print("genome hash  %s\n", tool_hash_text(info.genome_hash));
    tool_print("neurons      %s\n", tool_thousands(info.n_neurons));
    tool_print("synapses     %s\n", tool_thousands(info.n_synapses));
    tool_print("largest delay %u bursts, Q %u\n", info.max_delay, info.feagi_q);
    tool_print("length       %s bursts of %g ms\n",
               tool_thousands(info.n_bursts), info.dt_ms);
    tool_print("seeds        network %" PRIu64 ", state %" PRIu64
               ", input %" PRIu64 "\n",
               info.seed_network, info.seed_state, info.seed_input);
    tool_print(
        "bytes        %s, %.2f a synapse\n", tool_thousands(info.n_bytes),
        info.n_synapses > 0 ? (double)info.n_bytes / (double)info.n_synapses
                            : 0.0);
    print_areas(connectome);
    print_projections(connectome);
    print_learning(connectome);
    vly_connectome_destroy(connectome);
out:
    return status;
}

/* ---- checkpoint ------------------------------------------------------- */

static void print_recordings(const vly_checkpoint_reader *reader, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
        vly_checkpoint_recording recording = {.struct_size = sizeof recording};
        tool_plain_text plain;
        (void)vly_checkpoint_recording_get(reader, r, &recording);
        tool_print("%-16s %s bytes, %s %s: %s\n", r == 0 ? "recordings" : "",
                   tool_thousands(recording.n_bytes),
                   tool_thousands(recording.n_entries),
                   recording.kind == VLY_CHECKPOINT_SPIKES    ? "spikes"
                   : recording.kind == VLY_CHECKPOINT_WEIGHTS ? "weights"
                                                              : "bursts",
                   tool_plain(recording.path, &plain));
    }
}

static void print_sections(const vly_checkpoint_reader *reader, uint32_t n)
{
    tool_print("\n%-22s %14s %14s %8s\n", "section", "bytes", "in the file",
               "frames");
    for (uint32_t k = 0; k < n; k++) {
        vly_checkpoint_part section = {.struct_size = sizeof section};
        (void)vly_checkpoint_section_get(reader, k, &section);
        tool_print("%-22s %14s %14s %8s\n", section.name,
                   tool_thousands(section.n_bytes),
                   tool_thousands(section.n_stored_bytes),
                   tool_thousands(section.n_frames));
    }
}

vly_status inspect_checkpoint(const char *path, vly_error *error)
{
    vly_checkpoint_reader *reader = NULL;
    vly_checkpoint_info about = {.struct_size = sizeof about};
    vly_state_info info = {.struct_size = sizeof info};
    tool_plain_text engine;
    vly_status status = VLY_OK;
    VLY_TRY(vly_checkpoint_open(path, &reader, error));
    /* both cannot fail */
    (void)vly_checkpoint_get_info(reader, &about);
    (void)vly_state_get_info(vly_checkpoint_state(reader), &info, NULL);
    tool_print("checkpoint, checksums verified\n");
    tool_print("version          %u, by volley %s\n", about.version,
               tool_plain(about.engine, &engine));
    tool_print("genome hash      %s\n", tool_hash_text(info.genome_hash));
    tool_print("connectome hash  %s\n", tool_hash_text(info.connectome_hash));
    if (info.connectome_digest[0] != 0 || info.connectome_digest[1] != 0)
        tool_print("connectome digest %s\n",
                   tool_hash_text(info.connectome_digest));
    tool_print("bursts           %s\n", tool_thousands(info.bursts));
    tool_print("neurons          %s\n", tool_thousands(info.n_neurons));
    tool_print("spikes           %s\n", tool_thousands(info.spikes));
    tool_print("synaptic events  %s\n", tool_thousands(info.events));
    tool_print("digest           %016" PRIx64 "\n", info.digest);
    tool_print("state digest     %016" PRIx64 "\n", info.state_digest);
    tool_print("resumed          %u times\n", about.n_resumes);
    tool_print("bytes            %s, %s in memory\n",
               tool_thousands(about.n_bytes), tool_thousands(info.n_bytes));
    print_recordings(reader, about.n_recordings);
    print_sections(reader, about.n_sections);
    vly_checkpoint_close(reader);
out:
    return status;
}

/* ---- plugin ----------------------------------------------------------- */

static void print_plugin(const vly_plugin_info *info)
{
    tool_print("plugin %s %s: %s\n", info->id[0] != '\0' ? info->id : "?",
               info->version, info->status == VLY_OK ? "ok" : info->reason);
    tool_print("offers      %s\n", info->interfaces);
    tool_print("built with  %s\n", info->build);
    tool_print("file hash   %s\n", tool_hash_text(info->hash));
}

/* Points for run --probe, if the plugin is a backend. */
static void print_plugin_points(const vly_registry *registry, const char *id)
{
    const vly_backend *backend = NULL;
    const char *name;
    size_t column = 0;
    if (vly_registry_backend(registry, id, &backend, NULL) != VLY_OK)
        return;
    for (uint32_t k = 0; (name = vly_probe_point_name(k, NULL)) != NULL; k++)
        if (vly_probe_point_is_at(k, backend))
            print_point("", name, &column);
    tool_print("\n");
}

/* Loads only this plugin. */
vly_status inspect_plugin(const char *path, vly_error *error)
{
    vly_registry *registry = NULL;
    vly_plugin_info info = {.struct_size = sizeof info};
    char *full = realpath(path, NULL);
    if (!full)
        return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", path,
                        strerror(errno));
    const vly_plugin_places places = {
        .struct_size = sizeof places, .first = full, .only = 1};
    vly_status status = vly_registry_create_from(&places, &registry, error);
    if (status == VLY_OK && vly_registry_info(registry, 0, &info) == VLY_OK) {
        print_plugin(&info);
        if (info.status != VLY_OK)
            status = vly_fail(error, info.status, "%s: %s", path, info.reason);
        else
            print_plugin_points(registry, info.id);
    }
    vly_registry_destroy(registry);
    free(full);
    return status;
}

/* ---- files of a run ------------------------------------------------------ */

static void print_log(const vly_digest_info *info, uint64_t bursts,
                      uint64_t spikes, uint64_t digest)
{
    tool_print("digest log\ngenome hash      %s\nconnectome hash  %s\n",
               tool_hash_text(info->genome_hash),
               tool_hash_text(info->connectome_hash));
    tool_print("network          %s neurons, %s synapses, dt %g ms\n",
               tool_thousands(info->n_neurons),
               tool_thousands(info->n_synapses), info->dt_ms);
    tool_print("backend          %s\nbursts           %s\n", info->backend,
               tool_thousands(bursts));
    tool_print("spikes           %s\ndigest           %016" PRIx64 "\n",
               tool_thousands(spikes), digest);
}

vly_status inspect_digest_log(const char *path, vly_error *error)
{
    vly_digest_info info = {.struct_size = sizeof info};
    vly_digest_reader *reader = NULL;
    vly_digest_entry entry = {.struct_size = sizeof entry};
    uint64_t bursts = 0;
    uint64_t spikes = 0;
    int more = 1;
    vly_status status = VLY_OK;
    VLY_TRY(vly_digest_reader_open(path, &reader, error));
    VLY_TRY(vly_digest_reader_info(reader, &info));
    for (;;) {
        VLY_TRY(vly_digest_reader_next(reader, &entry, &more, error));
        if (!more)
            break;
        bursts++;
        spikes += entry.n_spikes;
    }
    print_log(&info, bursts, spikes, entry.run_digest);
out:
    vly_digest_reader_close(reader);
    return status;
}

/* Samples of a field have a value in a fifth column; rates by area have one
 * instead of the neuron. */
static bool has_values(const char *header)
{
    const size_t n = strlen(VLY_SPIKE_CSV_HEADER);
    return strncmp(header, VLY_SPIKE_CSV_HEADER, n) != 0 || header[n] == ',';
}

vly_status inspect_spikes(const char *path, vly_error *error)
{
    bool fields = false;
    FILE *file = NULL;
    vly_lines text = {.path = path};
    uint64_t lines = 0;
    uint64_t first = 0;
    uint64_t last = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reading_open(path, VLY_READ_FILE, &file, error));
    text.file = file;
    while ((status = vly_lines_next(&text, error)) == VLY_OK && text.n > 0) {
        if (lines++ == 0) {
            fields = has_values(text.line);
            continue;
        }
        last = strtoull(text.line, NULL, 10);
        first = lines == 2 ? last : first;
    }
    vly_lines_deinit(&text);
    fclose(file);
    if (status != VLY_OK)
        goto out;
    tool_print("%s\n%s %s\n",
               fields ? "samples of a field (CSV)"
                      : "recording of spikes (CSV)",
               fields ? "samples" : "spikes ", tool_thousands(lines - 1));
    if (lines > 1)
        tool_print("bursts  %s to %s\n", tool_thousands(first),
                   tool_thousands(last));
out:
    return status;
}

static void print_member(const json_value *member)
{
    tool_plain_text text;
    if (member->kind == JSON_TEXT)
        tool_print("%-18s %s\n", member->key, tool_plain(member->text, &text));
    else if (member->kind == JSON_NUMBER)
        tool_print("%-18s %s\n", member->key, tool_number_text(member->number));
    else if (member->kind == JSON_BOOL)
        tool_print("%-18s %s\n", member->key,
                   member->number > 0.0 ? "true" : "false");
    else if (member->kind == JSON_ARRAY)
        tool_print("%-18s %u entries\n", member->key, member->n_items);
    for (uint32_t i = 0; member->kind == JSON_OBJECT && i < member->n_items;
         i++) {
        const json_value *item = &member->items[i];
        tool_print("%s.", member->key);
        print_member(item);
    }
}

vly_status inspect_json(const char *path, vly_error *error)
{
    json_value root;
    vly_status status = VLY_OK;
    VLY_TRY(json_load(path, &root, error));
    const char *what = json_find(&root, "manifest") ? "manifest of a run"
                       : json_find(&root, "bench")  ? "bench results"
                       : json_find(&root, "digest") ? "summary of a run"
                                                    : NULL;
    if (!what) {
        status = vly_fail(error, VLY_E_PARSE,
                          "%s: JSON, but not a manifest, summary or bench "
                          "result of volley",
                          path);
    } else {
        tool_print("%s\n", what);
        for (uint32_t i = 0; i < root.n_items; i++)
            print_member(&root.items[i]);
    }
    json_free(&root);
out:
    return status;
}
