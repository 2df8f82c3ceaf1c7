/* SPDX-License-Identifier: Apache-2.0
 * `file` of a stimulus of kind spikes and of a generator: its spikes, one
 * source for each weight that the file has.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "genome/genome_file.h"
#include "genome/genome_generator.h"
#include "genome/genome_stimulus.h"
#include "genome/genome_table.h"
#include "genome/spike_file.h"
#include "genome/spike_source.h"

/* ---- keys --------------------------------------------------------------- */

static vly_status check_keys(vly_reader *reader,
                             const vly_stimulus_entry *entry,
                             const vly_toml_node *file)
{
    static const char *const others[] = {"times_ms", "bursts"};
    for (int i = 0; i < 2; i++) {
        const vly_toml_node *other = vly_toml_get(entry->node, others[i]);
        if (other)
            return vly_reader_fail_key(
                reader, other, "both %s and file, wanted one", other->key);
    }
    if (entry->to.n != 1)
        return vly_reader_fail(reader, file,
                               "file has spikes of the neurons of one area, "
                               "and to has %u, wanted one",
                               entry->to.n);
    return VLY_OK;
}

/* A generator added its list of neurons for lists of times, not for a file. */
static vly_status check_neurons(vly_reader *reader,
                                const vly_stimulus_entry *entry)
{
    const vly_toml_node *neurons = vly_toml_get(entry->node, "neurons");
    if (neurons)
        return vly_reader_fail_key(reader, neurons,
                                   "both neurons and file, wanted one: the "
                                   "file says which neurons");
    return VLY_OK;
}

/* By default the end, as in recordings. */
static vly_status read_times_at(vly_reader *reader, vly_stimulus_entry *entry)
{
    const vly_toml_node *node = vly_toml_get(entry->node, "times_at");
    const bool text = node && node->kind == VLY_TOML_STRING;
    if (!node)
        return VLY_OK;
    entry->at_begin = text && strcmp(node->u.string, "begin") == 0;
    if (entry->at_begin || (text && strcmp(node->u.string, "end") == 0))
        return VLY_OK;
    return vly_reader_wrong(reader, node, "times_at", "\"begin\" or \"end\"");
}

static bool has_weight(const vly_toml_node *table)
{
    for (uint32_t i = 0; i < table->n_children; i++) {
        const char *key = table->u.children[i].key;
        if (strcmp(key, "weight") == 0 || strncmp(key, "weight_", 7) == 0)
            return true;
    }
    return false;
}

/* ---- sources ------------------------------------------------------------ */

static vly_status make_source(vly_reader *reader, vly_stimulus_entry *entry,
                              const vly_file_spike *spikes, uint64_t n)
{
    vly_status status;
    VLY_TRY(vly_spikes_source(reader, entry));
    vly_spike_source *source = entry->source;
    source->bursts = vly_malloc((size_t)n, sizeof(*source->bursts));
    source->targets = vly_malloc((size_t)n, sizeof(*source->targets));
    if (!source->bursts || !source->targets)
        return vly_reader_nomem(reader, n * 12, "the spikes of a stimulus");
    for (uint64_t i = 0; i < n; i++) {
        source->bursts[i] = spikes[i].burst;
        source->targets[i] = spikes[i].neuron;
    }
    source->n_bursts = n;
out:
    return status;
}

static uint64_t count_weight(const vly_spike_list *list, uint64_t first)
{
    uint64_t n = 1;
    while (first + n < list->n &&
           list->spikes[first + n].weight == list->spikes[first].weight)
        n++;
    return n;
}

/* One source, or one a weight. */
static vly_status make_sources(vly_reader *reader, vly_stimulus_entry *entry,
                               const vly_spike_list *list)
{
    uint32_t n_weights = 0;
    vly_status status = VLY_OK;
    if (!list->has_weight)
        return make_source(reader, entry, list->spikes, list->n);
    if (list->n == 0) { /* of any weight */
        VLY_TRY(make_source(reader, entry, NULL, 0));
        VLY_TRY(vly_reader_alloc(reader, 1, sizeof(*entry->weights),
                                 &entry->weights));
        entry->weights[0].source = entry->source;
        entry->n_weights = 1;
        return VLY_OK;
    }
    for (uint64_t i = 0; i < list->n; i += count_weight(list, i))
        if (n_weights++ == VLY_STIMULI_MAX)
            return vly_reader_fail(reader, vly_toml_get(entry->node, "file"),
                                   "more than %u different weights, wanted "
                                   "fewer",
                                   VLY_STIMULI_MAX);
    VLY_TRY(vly_reader_alloc(reader, n_weights, sizeof(*entry->weights),
                             &entry->weights));
    for (uint64_t i = 0, n; i < list->n; i += n) {
        n = count_weight(list, i);
        VLY_TRY(make_source(reader, entry, &list->spikes[i], n));
        entry->weights[entry->n_weights++] =
            (vly_weighted_source){list->spikes[i].weight, entry->source};
    }
out:
    return status;
}

/* ---- the file ----------------------------------------------------------- */

static vly_status read_list(vly_reader *reader, vly_stimulus_entry *entry,
                            const vly_toml_node *node,
                            const vly_spike_file_spec *spec,
                            vly_spike_list *list)
{
    const vly_table *table = node->kind == VLY_TOML_STRING
                                 ? vly_tables_find(reader, node->u.string)
                                 : NULL;
    vly_error why = VLY_ERROR_INIT;
    FILE *file = NULL;
    char *path = NULL;
    vly_status status = VLY_OK;
    if (table) {
        status = spec->population
                     ? vly_fail(&why, VLY_E_PARSE,
                                "%.300s is a table of arrays, wanted no "
                                "population",
                                table->name)
                     : vly_spikes_from_columns(table, spec, list, &why);
        VLY_TRY(vly_file_placed(reader, node, status, &why));
        return vly_file_keep_name(reader, table->name, &entry->file);
    }
    VLY_TRY(vly_file_open(reader, node, &path, &file));
    if (vly_file_is_hdf5(file))
        status = vly_spikes_from_sonata(path, spec, list, &why);
    else
        status = vly_spikes_from_text(file, node->u.string, spec, list, &why);
    VLY_TRY(vly_file_placed(reader, node, status, &why));
    status = vly_file_keep_path(reader, path, &entry->file);
out:
    if (file)
        fclose(file);
    return status;
}

/* A neuron of a generator fires once in a burst: a second spike in it would be
 * lost. */
static vly_status check_generator(vly_reader *reader, const vly_toml_node *node,
                                  const vly_spike_list *list)
{
    for (uint64_t i = 1; i < list->n; i++) {
        const vly_file_spike *spike = &list->spikes[i];
        if (spike->burst == spike[-1].burst &&
            spike->neuron == spike[-1].neuron)
            return vly_reader_fail(reader, node,
                                   "%.200s has two spikes of neuron %u in "
                                   "burst %" PRIu64 " (lines or indexes %u and "
                                   "%u), wanted one a burst at most",
                                   node->u.string, spike->neuron, spike->burst,
                                   spike[-1].place, spike->place);
    }
    return VLY_OK;
}

static vly_status read_population(vly_reader *reader, vly_stimulus_entry *entry)
{
    const vly_toml_node *node = vly_toml_get(entry->node, "population");
    vly_status status = VLY_OK;
    if (!node)
        return VLY_OK;
    VLY_TRY(vly_reader_string(reader, node, "population", &entry->population));
    if (!*entry->population)
        return vly_reader_wrong(reader, node, "population",
                                "the name of an area or population of the "
                                "file");
out:
    return status;
}

static bool is_area(const vly_genome *genome, const char *name)
{
    uint32_t i = 0;
    while (i < genome->n_areas && strcmp(genome->areas[i].name, name) != 0)
        i++;
    return i < genome->n_areas;
}

/* Text does not name the areas that did not fire: a population without a spike
 * is possible if it is an area of this genome, otherwise the name is wrong. */
static vly_status no_spike(vly_reader *reader, const vly_stimulus_entry *entry,
                           const vly_toml_node *file,
                           const vly_spike_areas *areas)
{
    const vly_toml_node *node = vly_toml_get(entry->node, "population");
    char found[VLY_SPIKE_AREAS_TEXT];
    if (!entry->population)
        return vly_reader_note(reader, file, "%.200s has no spike",
                               file->u.string);
    if (areas->n == 0)
        return vly_reader_note(reader, file, "%.200s has no spike of %.60s",
                               file->u.string, entry->population);
    vly_spike_areas_text(areas, found);
    if (is_area(reader->genome, entry->population))
        return vly_reader_note(reader, file,
                               "%.200s has no spike of %.60s, only of %s",
                               file->u.string, entry->population, found);
    return vly_reader_fail(reader, node,
                           "population is \"%.60s\", but %.200s has spikes of "
                           "%s, wanted one of them",
                           entry->population, file->u.string, found);
}

/* Spikes of one area may be meant for another one; a copy E/2 takes those of E.
 * The name "spikes" stands for a SONATA file without populations. */
static vly_status check_area(vly_reader *reader,
                             const vly_stimulus_entry *entry,
                             const vly_toml_node *file,
                             const vly_spike_areas *areas)
{
    const char *to = reader->genome->areas[entry->to.areas[0]].name;
    if (entry->population || areas->n != 1)
        return VLY_OK;
    const char *from = areas->names[0];
    const size_t n = strlen(from);
    if (n == 0 || strcmp(from, "spikes") == 0 ||
        vly_spike_population_is(to, from) ||
        (strncmp(to, from, n) == 0 && to[n] == '/'))
        return VLY_OK;
    return vly_reader_note(reader, file,
                           "%.200s has spikes of area %.60s, and %.60s gets "
                           "them: population = \"%.60s\" says that this is "
                           "meant",
                           file->u.string, from, to, from);
}

vly_status vly_spike_file_read(vly_reader *reader, vly_stimulus_entry *entry,
                               const vly_toml_node *node)
{
    const vly_area *area = &reader->genome->areas[entry->to.areas[0]];
    const bool own = vly_generator_is(reader, entry->to.areas[0]);
    const vly_toml_node *port = vly_toml_get(entry->node, "port");
    uint32_t at = 0;
    vly_spike_list list = {0};
    vly_status status;
    VLY_TRY(check_keys(reader, entry, node));
    VLY_TRY(check_neurons(reader, entry));
    VLY_TRY(read_times_at(reader, entry));
    VLY_TRY(read_population(reader, entry));
    if (port)
        VLY_TRY(vly_reader_port(reader, port, area, &at));
    const vly_spike_file_spec spec = {
        .n_neurons = area->n_neurons ? vly_stimulus_width(reader, entry, 0)
                                     : VLY_NEURONS_MAX, /* left out later */
        .weight_suffix = area->model->ports[at].suffix,
        .population = entry->population,
        .own_weight = has_weight(entry->node),
        .at_begin = entry->at_begin,
        .dt_ms = reader->genome->dt_ms,
    };
    VLY_TRY(read_list(reader, entry, node, &spec, &list));
    if (own)
        VLY_TRY(check_generator(reader, node, &list));
    if (list.n == 0)
        VLY_TRY(no_spike(reader, entry, node, &list.areas));
    VLY_TRY(check_area(reader, entry, node, &list.areas));
    VLY_TRY(vly_values_rounded(reader, node, "file", list.n_rounded, list.n));
    status = make_sources(reader, entry, &list);
out:
    vly_spike_list_deinit(&list);
    return status;
}
