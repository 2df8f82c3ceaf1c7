/* SPDX-License-Identifier: Apache-2.0
 * Reads a genome from a file or from memory: the order of the steps, [run], and
 * freeing a genome.
 */
#include "genome/genome.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/reading.h"
#include "genome/edge_list.h"
#include "genome/expression.h"
#include "genome/genome_area.h"
#include "genome/genome_association.h"
#include "genome/genome_copies.h"
#include "genome/genome_end.h"
#include "genome/genome_generator.h"
#include "genome/genome_inputs.h"
#include "genome/genome_memory.h"
#include "genome/genome_plasticity.h"
#include "genome/genome_reader.h"
#include "genome/genome_record.h"
#include "genome/genome_resolve.h"
#include "genome/genome_stall.h"
#include "genome/genome_stimulus.h"
#include "genome/genome_table.h"
#include "genome/genome_use.h"
#include "genome/genome_value.h"
#include "genome/node_model.h"
#include "genome/spike_source.h"
#include "genome/user_model.h"
#include "genome/user_rule.h"

/* ---- [run] and the top -------------------------------------------------- */

static vly_status rivals(vly_reader *reader, const vly_toml_node *run,
                         const char *a, const char *b)
{
    const vly_toml_node *node = vly_toml_get(run, b);
    if (!node || !vly_toml_get(run, a))
        return VLY_OK;
    return vly_reader_fail_key(reader, node, "both %s and %s, wanted one", a,
                               b);
}

static vly_status read_step(vly_reader *reader, const vly_toml_node *run,
                            double *dt_ms)
{
    const vly_toml_node *dt = vly_toml_get(run, "dt_ms");
    const vly_toml_node *rate = vly_toml_get(run, "rate_hz");
    double number = 0;
    *dt_ms = 1;
    if (dt)
        return vly_value_ranged(reader, dt, "dt_ms", 1e-4, 1000, dt_ms);
    if (!rate)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(vly_value_ranged(reader, rate, "rate_hz", 1, 1e7, &number));
    *dt_ms = 1000 / number;
out:
    return status;
}

vly_status vly_reader_step(vly_reader *reader, const vly_toml_node *node,
                           double *dt_ms)
{
    vly_reader *top = reader;
    while (top->outer)
        top = top->outer;
    const vly_toml_node *run = vly_toml_get(&top->root, "run");
    vly_status status = VLY_OK;
    if (run)
        VLY_TRY(vly_reader_table(top, run, "run"));
    if (top->in_step)
        return vly_reader_fail(reader, node,
                               "\"%.200s\": dt_ms refers to itself, wanted "
                               "an expression of others",
                               node->u.string);
    top->in_step = true;
    status = read_step(top, run, dt_ms);
    top->in_step = false;
out:
    return status;
}

static vly_status read_length(vly_reader *reader, const vly_toml_node *run)
{
    const vly_toml_node *ms = vly_toml_get(run, "ms");
    const vly_toml_node *bursts = vly_toml_get(run, "bursts");
    char wanted[VLY_LENGTH_WANTED];
    double time = 0;
    uint64_t n = 0;
    vly_status status = VLY_OK;
    if (ms)
        VLY_TRY(vly_value_ranged(reader, ms, "ms", 0, 1e15, &time));
    if (ms && !vly_value_length(time, reader->genome->dt_ms, &n, wanted))
        return vly_reader_wrong(reader, ms, "ms", wanted);
    if (ms && n == 0)
        return vly_reader_wrong(reader, ms, "ms", "at least one burst");
    if (bursts)
        VLY_TRY(vly_value_whole(reader, bursts, "bursts", 1, (uint64_t)1 << 53,
                                &n));
    reader->genome->n_bursts = n;
out:
    return status;
}

static vly_status read_run(vly_reader *reader)
{
    static const char *const keys[] = {"seed_network", "seed_state",
                                       "seed_input"};
    const vly_key_list list = {"[run]", vly_keys_run, NULL};
    vly_genome *genome = reader->genome;
    uint64_t *const seeds[] = {&genome->seed_network, &genome->seed_state,
                               &genome->seed_input};
    const vly_toml_node *run = vly_toml_get(&reader->root, "run");
    vly_status status = VLY_OK;
    if (run) {
        VLY_TRY(vly_reader_table(reader, run, "run"));
        VLY_TRY(vly_reader_keys(reader, run, &list));
        VLY_TRY(rivals(reader, run, "dt_ms", "rate_hz"));
        VLY_TRY(rivals(reader, run, "ms", "bursts"));
    }
    VLY_TRY(vly_reader_step(reader, run, &genome->dt_ms));
    VLY_TRY(read_length(reader, run));
    for (uint32_t i = 0; i < 3; i++) {
        const vly_toml_node *seed = vly_toml_get(run, keys[i]);
        *seeds[i] = i + 1;
        if (seed)
            VLY_TRY(
                vly_value_whole(reader, seed, keys[i], 0, INT64_MAX, seeds[i]));
    }
out:
    return status;
}

vly_status vly_top_check(vly_reader *reader)
{
    static const char *const texts[] = {"title", "source"};
    const vly_key_list list = {"the genome", vly_keys_top, NULL};
    const vly_toml_node *format = vly_toml_get(&reader->root, "format");
    const char *text = NULL;
    vly_status status;
    if (!format)
        return vly_reader_fail(reader, &reader->root,
                               "no format, wanted format = 1");
    if (format->kind != VLY_TOML_INTEGER || format->u.integer != 1)
        return vly_reader_wrong(reader, format, "format",
                                "1, the only one this version reads");
    VLY_TRY(vly_reader_keys(reader, &reader->root, &list));
    for (uint32_t i = 0; i < 2; i++) {
        const vly_toml_node *node = vly_toml_get(&reader->root, texts[i]);
        if (node)
            VLY_TRY(vly_reader_string(reader, node, texts[i], &text));
    }
out:
    return status;
}

static vly_status read_title(vly_reader *reader)
{
    const vly_toml_node *title = vly_toml_get(&reader->root, "title");
    if (!title)
        return VLY_OK;
    reader->genome->title = vly_strdup(title->u.string);
    if (!reader->genome->title)
        return vly_reader_nomem(reader, strlen(title->u.string) + 1,
                                "the title");
    return VLY_OK;
}

/* ---- steps -------------------------------------------------------------- */

static vly_status read_all(vly_reader *reader)
{
    vly_status status;
    VLY_TRY(vly_top_check(reader));
    VLY_TRY(read_title(reader));
    VLY_TRY(vly_expression_vars(reader, vly_toml_get(&reader->root, "var")));
    VLY_TRY(read_run(reader));
    VLY_TRY(vly_neurons_read(reader));
    VLY_TRY(vly_synapses_read(reader));
    VLY_TRY(vly_node_models_expand(reader));
    VLY_TRY(vly_models_read(reader));
    VLY_TRY(vly_areas_read(reader));
    VLY_TRY(vly_plasticities_read(reader));
    VLY_TRY(vly_memories_read(reader));
    VLY_TRY(vly_memories_make(reader));
    VLY_TRY(vly_associations_read(reader));
    VLY_TRY(vly_maps_read(reader));
    VLY_TRY(vly_memories_check(reader));
    VLY_TRY(vly_plasticities_unused(reader));
    VLY_TRY(vly_stimuli_read(reader));
    VLY_TRY(vly_generators_check(reader));
    VLY_TRY(vly_stall_notes(reader));
    VLY_TRY(vly_records_read(reader));
    VLY_TRY(vly_genome_resolve(reader));
    VLY_TRY(vly_areas_drop(reader));
    VLY_TRY(vly_recorded_models_take(reader));
    status = vly_genome_make_hash(reader->genome);
    if (status != VLY_OK)
        return vly_reader_nomem(reader, 0, "the hash of the genome");
out:
    return status;
}

/* Files that are not text would otherwise give an error of TOML. */
static vly_status check_text(const char *text, size_t n_bytes, const char *name,
                             vly_error *error)
{
    static const char mark[] = "VOLLEYC"; /* of connectomes and checkpoints */
    size_t n = n_bytes < sizeof(mark) - 1 ? n_bytes : sizeof(mark) - 1;
    if (n_bytes == 0)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: an empty file, wanted a genome: format = 1, an "
                        "[area], ...",
                        name);
    if (memcmp(text, mark, n) != 0)
        return VLY_OK;
    return vly_fail(error, VLY_E_PARSE,
                    "%s: the %s of a connectome or a checkpoint, wanted a "
                    "genome%s",
                    name, n_bytes < 256 ? "cut-off beginning" : "content",
                    n_bytes < 256 ? "" : "; `volley inspect` reads it");
}

static vly_status check_source(const vly_genome_source *source,
                               vly_error *error)
{
    if (!source->name)
        return vly_fail(error, VLY_E_INVALID,
                        "the genome's name is NULL, wanted one for messages");
    if (!source->text && source->n_bytes != 0)
        return vly_fail(error, VLY_E_INVALID,
                        "%s: text is NULL, wanted %" PRIu64 " bytes",
                        source->name, source->n_bytes);
    if (source->n_bytes > VLY_GENOME_BYTES_MAX)
        return vly_fail(
            error, VLY_E_PARSE,
            "%s: more than %u bytes (64 MiB), wanted at most so many",
            source->name, VLY_GENOME_BYTES_MAX);
    return VLY_OK;
}

static vly_status parse(const vly_genome_source *source, vly_genome **genome,
                        vly_error *error)
{
    const char *name = source->name;
    const char *text = source->text ? source->text : "";
    size_t n_bytes = (size_t)source->n_bytes;
    vly_reader reader = {.name = name, .error = error};
    vly_status status = check_source(source, error);
    if (status != VLY_OK)
        return status;
    reader.genome = vly_calloc(1, sizeof(vly_genome));
    if (!reader.genome)
        return vly_fail_nomem(error, sizeof(vly_genome), "a genome");
    reader.genome->path = vly_strdup(name);
    if (!reader.genome->path)
        VLY_TRY(vly_fail_nomem(error, strlen(name) + 1, "a name"));
    VLY_TRY(check_text(text, n_bytes, name, error));
    VLY_TRY(vly_toml_parse(text, n_bytes, name, &reader.root, error));
    VLY_TRY(vly_tables_init(&reader, source->tables, source->n_tables));
    VLY_TRY(vly_uses_expand(&reader, source->overrides, source->n_overrides));
    VLY_TRY(vly_copies_expand(&reader));
    VLY_TRY(vly_generators_expand(&reader));
    VLY_TRY(read_all(&reader));
    VLY_TRY(vly_tables_finish(&reader));
    *genome = reader.genome;
    reader.genome = NULL;
out:
    vly_genome_destroy(reader.genome);
    vly_reader_deinit(&reader);
    return status;
}

vly_status vly_genome_parse(const char *text, size_t n_bytes, const char *name,
                            const vly_override *overrides, uint32_t n_overrides,
                            vly_genome **genome, vly_error *error)
{
    const vly_genome_source source = {.n_overrides = n_overrides,
                                      .name = name,
                                      .text = text,
                                      .n_bytes = n_bytes,
                                      .overrides = overrides};
    return parse(&source, genome, error);
}

/* ---- files -------------------------------------------------------------- */

vly_status vly_genome_text(FILE *file, const char *path, char **text,
                           size_t *n_bytes, vly_error *error)
{
    size_t n = 0, capacity = 1 << 16;
    char *data = NULL;
    for (;;) {
        char *grown = vly_realloc(data, capacity, 1);
        if (!grown) {
            vly_free(data);
            return vly_fail_nomem(error, capacity, "the genome's text");
        }
        data = grown;
        n += fread(data + n, 1, capacity - n, file);
        if (n < capacity || n > VLY_GENOME_BYTES_MAX)
            break;
        capacity *= 2;
    }
    if (ferror(file)) {
        int why = errno;
        vly_free(data);
        return vly_fail(error, VLY_E_IO, "%s: %s", path, strerror(why));
    }
    *text = data;
    *n_bytes = n;
    return VLY_OK;
}

/* source without a text: its name is a path */
static vly_status load(const vly_genome_source *source, vly_genome **genome,
                       vly_error *error)
{
    const char *path = source->name;
    vly_genome_source read = *source;
    bool standard = strcmp(path, "-") == 0;
    char *text = NULL;
    size_t n_bytes = 0;
    struct stat info;
    vly_genome *made = NULL;
    FILE *file = stdin;
    vly_status status = VLY_OK;
    if (!standard)
        status = vly_reading_open(path, VLY_READ_STREAM, &file, error);
    if (status != VLY_OK)
        return status;
    bool known = fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode);
    status = vly_genome_text(file, path, &text, &n_bytes, error);
    if (!standard)
        fclose(file);
    read.name = standard ? "<stdin>" : path;
    read.text = text;
    read.n_bytes = n_bytes;
    if (status == VLY_OK)
        status = parse(&read, &made, error);
    if (status == VLY_OK && known)
        status = vly_genome_add_input(made, read.name, &info, error);
    vly_free(text);
    if (status == VLY_OK)
        *genome = made;
    else
        vly_genome_destroy(made);
    return status;
}

vly_status vly_genome_load(const char *path, const vly_override *overrides,
                           uint32_t n_overrides, vly_genome **genome,
                           vly_error *error)
{
    const vly_genome_source source = {
        .n_overrides = n_overrides, .name = path, .overrides = overrides};
    return load(&source, genome, error);
}

vly_status vly_genome_read(const vly_genome_source *source, vly_genome **genome,
                           vly_error *error)
{
    if (!source || source->struct_size < sizeof *source)
        return vly_fail(error, VLY_E_INVALID,
                        "source->struct_size is not set, wanted %zu",
                        sizeof *source);
    vly_status status = check_source(source, error);
    if (status != VLY_OK)
        return status;
    return source->text ? parse(source, genome, error)
                        : load(source, genome, error);
}

const char *vly_genome_note(const vly_genome *genome, uint32_t index)
{
    return index < genome->n_notes ? genome->notes[index] : NULL;
}

uint32_t vly_genome_note_count(const vly_genome *genome)
{
    return genome->n_notes + genome->n_more_notes;
}

/* ---- end ---------------------------------------------------------------- */

void vly_genome_destroy(vly_genome *genome)
{
    if (!genome)
        return;
    for (uint32_t i = 0; i < genome->n_areas; i++)
        vly_area_deinit(&genome->areas[i]);
    for (uint32_t i = 0; i < genome->n_neuron_models; i++)
        vly_model_drop(genome->neuron_models[i]);
    vly_free(genome->neuron_models);
    for (uint32_t i = 0; i < genome->n_pairs; i++) {
        vly_free(genome->pairs[i].map);
        vly_free(genome->pairs[i].stream);
        vly_free(genome->pairs[i].vectors);
        vly_free(genome->pairs[i].patterns);
    }
    vly_pools_free(genome);
    for (uint32_t i = 0; i < genome->n_empty; i++)
        vly_free(genome->empty[i].map);
    vly_free(genome->empty);
    for (uint32_t i = 0; i < genome->n_stimuli; i++) {
        vly_free(genome->stimuli[i].id);
        vly_free(genome->stimuli[i].stream);
    }
    for (uint32_t i = 0; i < genome->n_sources; i++)
        vly_spike_source_destroy(genome->sources[i]);
    vly_free(genome->sources);
    for (uint32_t i = 0; i < genome->n_files; i++)
        vly_free(genome->files[i]);
    vly_free(genome->files);
    vly_genome_free_inputs(genome);
    for (uint32_t i = 0; i < genome->n_notes; i++)
        vly_free(genome->notes[i]);
    vly_free(genome->notes);
    for (uint32_t i = 0; i < genome->n_edge_lists; i++)
        vly_edges_destroy(genome->edges[i]);
    vly_free(genome->edges);
    vly_free(genome->areas);
    vly_free(genome->pairs);
    vly_free(genome->stimuli);
    vly_records_free(genome);
    vly_plasticities_free(genome);
    vly_synapses_free(genome);
    vly_memories_free(genome);
    vly_associations_free(genome);
    vly_free(genome->path);
    vly_free(genome->title);
    vly_free(genome->resolved);
    vly_free(genome);
}

uint32_t vly_genome_area(const vly_genome *genome, const char *name)
{
    for (uint32_t i = 0; i < genome->n_areas; i++)
        if (strcmp(genome->areas[i].name, name) == 0)
            return i;
    return UINT32_MAX;
}
