/* SPDX-License-Identifier: Apache-2.0
 * `volley resolve`: the genome as TOML with every value as a number and its
 * origin as a comment. Models are folded into their areas, maps keep their form
 * (resolve_map.c). Reading it gives the same hash; a test checks that.
 */
#include "genome/genome_resolve.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "genome/genome_association.h"
#include "genome/genome_memory.h"
#include "genome/genome_plasticity.h"
#include "genome/genome_record.h"
#include "genome/genome_space.h"
#include "genome/genome_stimulus.h"

vly_origin vly_resolve_origin(const vly_toml_node *table, const char *key)
{
    vly_origin none = {VLY_ORIGIN_DEFAULT, 0, 0, 0};
    const vly_toml_node *node = vly_toml_get(table, key);
    return node ? vly_reader_origin(node, VLY_ORIGIN_FILE) : none;
}

/* The origin of the first existing one of two keys. */
static vly_origin origin_of2(const vly_toml_node *table, const char *a,
                             const char *b)
{
    return vly_toml_get(table, a) ? vly_resolve_origin(table, a)
                                  : vly_resolve_origin(table, b);
}

static void put_double(vly_text *text, const char *key, double number)
{
    char buffer[VLY_NUMBER_SIZE];
    vly_text_put(text, "%s = %s", key, vly_toml_print_number(number, buffer));
}

/* ---- top, [run], [var] -------------------------------------------------- */

static void resolve_top(vly_text *text, const vly_reader *reader)
{
    static const char *const strings[] = {"title", "source"};
    vly_text_put(text, "format = 1\n");
    for (int i = 0; i < 2; i++) {
        const vly_toml_node *node = vly_toml_get(&reader->root, strings[i]);
        if (!node)
            continue;
        vly_origin origin = vly_reader_origin(node, VLY_ORIGIN_FILE);
        vly_text_put(text, "%s = ", strings[i]);
        vly_text_string(text, node->u.string);
        vly_text_origin(text, &origin, NULL);
    }
}

static void resolve_run(vly_text *text, const vly_reader *reader)
{
    const vly_genome *genome = reader->genome;
    const vly_toml_node *run = vly_toml_get(&reader->root, "run");
    const char *const names[] = {"seed_network", "seed_state", "seed_input"};
    const uint64_t seeds[] = {genome->seed_network, genome->seed_state,
                              genome->seed_input};
    vly_origin origin = origin_of2(run, "dt_ms", "rate_hz");
    vly_text_put(text, "\n[run]\n");
    put_double(text, "dt_ms", genome->dt_ms);
    vly_text_origin(text, &origin, NULL);
    if (genome->n_bursts) {
        origin = origin_of2(run, "ms", "bursts");
        vly_text_put(text, "bursts = %" PRIu64, genome->n_bursts);
        vly_text_origin(text, &origin, NULL);
    }
    for (int i = 0; i < 3; i++) {
        origin = vly_resolve_origin(run, names[i]);
        vly_text_put(text, "%s = %" PRIu64, names[i], seeds[i]);
        vly_text_origin(text, &origin, NULL);
    }
}

/* TOML wants quotes around other keys. */
static bool is_ascii(const char *name)
{
    while (*name && !(*name & 0x80))
        name++;
    return *name == 0;
}

static void resolve_vars(vly_text *text, const vly_reader *reader)
{
    if (reader->n_vars)
        vly_text_put(text, "\n[var]\n");
    for (uint32_t i = 0; i < reader->n_vars; i++) {
        const vly_variable *var = &reader->vars[i];
        vly_origin origin = vly_reader_origin(var->node, VLY_ORIGIN_FILE);
        char key[VLY_NAME_MAX + 3];
        snprintf(key, sizeof(key), is_ascii(var->node->key) ? "%s" : "\"%s\"",
                 var->node->key);
        put_double(text, key, var->value);
        vly_text_origin(text, &origin, NULL);
    }
}

/* ---- areas -------------------------------------------------------------- */

static void resolve_size(vly_text *text, const vly_area *area,
                         const vly_toml_node *node)
{
    vly_origin origin = origin_of2(node, "neurons", "voxels");
    if (!area->has_voxels) {
        vly_text_put(text, "neurons = %u", area->n_neurons);
        vly_text_origin(text, &origin, NULL);
    } else {
        vly_text_put(text, "voxels = [%u, %u, %u]", area->voxels[0],
                     area->voxels[1], area->voxels[2]);
        vly_text_origin(text, &origin, NULL);
        origin = vly_resolve_origin(node, "neurons_per_voxel");
        vly_text_put(text, "neurons_per_voxel = %u", area->neurons_per_voxel);
        vly_text_origin(text, &origin, NULL);
    }
    char a[VLY_NUMBER_SIZE], b[VLY_NUMBER_SIZE], c[VLY_NUMBER_SIZE];
    vly_resolve_positions(text, area);
    origin = vly_resolve_origin(node, "at");
    vly_text_put(text, "at = [%s, %s, %s]",
                 vly_toml_print_number(area->at[0], a),
                 vly_toml_print_number(area->at[1], b),
                 vly_toml_print_number(area->at[2], c));
    vly_text_origin(text, &origin, NULL);
}

static void resolve_values(vly_text *text, const vly_area *area)
{
    const vly_model_info *model = area->model;
    for (uint32_t i = 0; i < model->n_params; i++) {
        vly_text_put(text, "%s = ", model->params[i].name);
        vly_text_value(text, &area->params[i]);
        vly_text_origin(text, &area->params[i].origin, area->model_name);
    }
    for (uint32_t i = 0; i < model->n_fields; i++) {
        const vly_value *value = &area->fields[i];
        if (value->origin.kind == VLY_ORIGIN_DEFAULT) {
            /* an expression of the parameters: a number would hide it */
            vly_text_put(text, "# %s: default of the model\n",
                         model->fields[i].name);
            continue;
        }
        vly_text_put(text, "%s = ", model->fields[i].name);
        vly_text_value(text, value);
        vly_text_origin(text, &value->origin, area->model_name);
    }
}

/* ---- stimuli ------------------------------------------------------------ */

static const size_t offsets[VLY_SERIES_KEYS] = {
    offsetof(vly_stimulus, rate_hz), offsetof(vly_stimulus, weight),
    offsetof(vly_stimulus, mean), offsetof(vly_stimulus, sd)};

/* Beside at_bursts a list without a table is over time. */
static void put_series(vly_text *text, const vly_stimulus_entry *entry,
                       const vly_series *series)
{
    const bool table = series->by_neuron && entry->n_times && !entry->every;
    char number[VLY_NUMBER_SIZE];
    vly_text_put(text, table ? "{ values = [" : "[");
    for (uint32_t i = 0; i < series->n; i++)
        vly_text_put(text, "%s%s", i ? ", " : "",
                     vly_toml_print_number(series->values[i], number));
    vly_text_put(text, table ? "] }\n" : "]\n");
}

static void put_course(vly_text *text, const vly_course *course)
{
    static const char *const keys[][4] = {
        [VLY_COURSE_SINE] = {"mean", "amplitude", "frequency_hz", "phase_deg"},
        [VLY_COURSE_RAMP] = {"from", "to", "start_ms", "stop_ms"}};
    char number[VLY_NUMBER_SIZE];
    vly_text_put(text, "{ %s = {",
                 course->kind == VLY_COURSE_SINE ? "sine" : "ramp");
    for (int i = 0; i < 4; i++)
        vly_text_put(text, "%s %s = %s", i ? "," : "", keys[course->kind][i],
                     vly_toml_print_number(course->numbers[i], number));
    vly_text_put(text, " } }\n");
}

static void put_every(vly_text *text, const vly_stimulus_entry *entry)
{
    if (entry->every)
        vly_text_put(text, "every_bursts = %" PRIu64 "\n", entry->every);
}

static void resolve_numbers(vly_text *text, const vly_stimulus_entry *entry,
                            const char *stem, const char *suffix, size_t offset)
{
    const vly_stimulus *first = entry->samples;
    char key[64];
    char number[VLY_NUMBER_SIZE];
    bool same = true;
    double values[2];
    snprintf(key, sizeof(key), "%s%s%s", stem, *suffix ? "_" : "", suffix);
    vly_text_put(text, "%s = ", key);
    for (uint32_t k = 0; k < VLY_SERIES_KEYS; k++)
        if (entry->series[k].values && offset == offsets[k]) {
            if (entry->series[k].course.kind)
                put_course(text, &entry->series[k].course);
            else
                put_series(text, entry, &entry->series[k]);
            return;
        }
    memcpy(&values[0], (const char *)first + offset, sizeof(double));
    for (uint32_t i = 1; i < entry->to.n; i++) {
        memcpy(&values[1], (const char *)(first + i) + offset, sizeof(double));
        same &= values[0] == values[1];
    }
    for (uint32_t i = 0; i < (same ? 1 : entry->to.n); i++) {
        memcpy(&values[1], (const char *)(first + i) + offset, sizeof(double));
        vly_text_put(text, "%s%s",
                     same ? ""
                     : i  ? ", "
                          : "[",
                     vly_toml_print_number(values[1], number));
    }
    vly_text_put(text, same ? "" : "]");
    vly_origin origin = vly_resolve_origin(entry->node, key);
    vly_text_origin(text, &origin, NULL);
}

static void put_bursts(vly_text *text, const vly_burst_list *list)
{
    vly_text_put(text, "[");
    for (uint32_t i = 0; i < list->n; i++)
        vly_text_put(text, "%s%" PRIu64, i ? ", " : "", list->bursts[i]);
    vly_text_put(text, "]");
}

static void put_time(vly_text *text, const vly_stimulus_entry *entry,
                     const char *stem, uint64_t number)
{
    char keys[2][32];
    snprintf(keys[0], sizeof(keys[0]), "%s_ms", stem);
    snprintf(keys[1], sizeof(keys[1]), "%s_bursts", stem);
    vly_origin origin = origin_of2(entry->node, keys[0], keys[1]);
    vly_text_put(text, "%s = %" PRIu64, keys[1], number);
    vly_text_origin(text, &origin, NULL);
}

/* In ms if given in ms: a whole number of bursts may differ. */
static void put_moment(vly_text *text, const vly_stimulus_entry *entry,
                       const char *ms_key, const char *burst_key,
                       const vly_moment *moment)
{
    char number[VLY_NUMBER_SIZE];
    vly_origin origin = origin_of2(entry->node, ms_key, burst_key);
    if (moment->in_ms)
        vly_text_put(text, "%s = %s", ms_key,
                     vly_toml_print_number(moment->number, number));
    else
        vly_text_put(text, "%s = %" PRIu64, burst_key,
                     (uint64_t)moment->number);
    vly_text_origin(text, &origin, NULL);
}

static void resolve_pulse(vly_text *text, const vly_stimulus_entry *entry)
{
    const vly_pulse *pulse = &entry->pulse;
    put_time(text, entry, "width", pulse->width);
    if (pulse->period.number > 0.0)
        put_moment(text, entry, "period_ms", "period_bursts", &pulse->period);
    if (pulse->count) {
        vly_origin origin = vly_resolve_origin(entry->node, "count");
        vly_text_put(text, "count = %" PRIu64, pulse->count);
        vly_text_origin(text, &origin, NULL);
    }
}

static void resolve_voxels(vly_text *text, const vly_stimulus_entry *entry)
{
    vly_origin origin = vly_resolve_origin(entry->node, "voxels");
    vly_text_put(text, "voxels = [");
    for (uint32_t i = 0; i < entry->n_voxels; i++)
        vly_text_put(text, "%s[%u, %u, %u]", i ? ", " : "", entry->voxels[i][0],
                     entry->voxels[i][1], entry->voxels[i][2]);
    vly_text_put(text, "]");
    vly_text_origin(text, &origin, NULL);
}

/* As for the synapses of a file: its content is not written. */
static void resolve_file(vly_text *text, const vly_stimulus_entry *entry)
{
    vly_text_put(text, "file = ");
    vly_text_string(text, entry->file);
    if (entry->population) {
        vly_text_put(text, "\npopulation = ");
        vly_text_string(text, entry->population);
    }
    vly_text_put(text, "\ntimes_at = \"%s\"\n",
                 entry->at_begin ? "begin" : "end");
}

static void resolve_bursts(vly_text *text, const vly_stimulus_entry *entry)
{
    if (entry->file) {
        resolve_file(text, entry);
        return;
    }
    vly_origin origin = origin_of2(entry->node, "times_ms", "bursts");
    vly_text_put(text, "bursts = ");
    if (entry->flat) {
        put_bursts(text, &entry->lists[0]);
    } else {
        vly_text_put(text, "[");
        for (uint32_t i = 0; i < entry->n_lists; i++) {
            vly_text_put(text, i ? ",\n    " : "");
            put_bursts(text, &entry->lists[i]);
        }
        vly_text_put(text, "]");
    }
    vly_text_origin(text, &origin, NULL);
}

static void resolve_spikes(vly_text *text, const vly_stimulus_entry *entry)
{
    vly_origin origin;
    if (entry->form == VLY_STIMULUS_FORM_PULSE) {
        resolve_pulse(text, entry);
        return;
    }
    if (entry->voxels)
        resolve_voxels(text, entry);
    if (entry->neurons) {
        origin = vly_resolve_origin(entry->node, "neurons");
        vly_text_put(text, "neurons = [");
        for (uint32_t i = 0; i < entry->n_neurons; i++)
            vly_text_put(text, "%s%u", i ? ", " : "", entry->neurons[i]);
        vly_text_put(text, "]");
        vly_text_origin(text, &origin, NULL);
    }
    resolve_bursts(text, entry);
}

static void resolve_window(vly_text *text, const vly_stimulus_entry *entry)
{
    vly_origin origin;
    bool pulse = entry->form == VLY_STIMULUS_FORM_PULSE;
    uint64_t stop = pulse ? entry->pulse.stop : entry->stop;
    if (pulse && entry->pulse.start.number > 0.0)
        put_moment(text, entry, "start_ms", "start_burst", &entry->pulse.start);
    if (entry->start) {
        origin = origin_of2(entry->node, "start_ms", "start_burst");
        vly_text_put(text, "start_burst = %" PRIu64, entry->start);
        vly_text_origin(text, &origin, NULL);
    }
    if (stop != UINT64_MAX) {
        origin = origin_of2(entry->node, "stop_ms", "stop_burst");
        vly_text_put(text, "stop_burst = %" PRIu64, stop);
        vly_text_origin(text, &origin, NULL);
    }
}

static void resolve_where(vly_text *text, const vly_stimulus_entry *entry)
{
    vly_origin origin = vly_resolve_origin(entry->node, "to");
    vly_text_put(text, "to = [");
    for (uint32_t i = 0; i < entry->to.n; i++)
        vly_text_put(text, "%s\"%s\"", i ? ", " : "", entry->ends[i].name);
    vly_text_put(text, "]");
    vly_text_origin(text, &origin, NULL);
    if (entry->first || entry->n) {
        origin = vly_resolve_origin(entry->node, "first");
        vly_text_put(text, "first = %u", entry->first);
        vly_text_origin(text, &origin, NULL);
    }
    if (entry->n) {
        origin = vly_resolve_origin(entry->node, "n");
        vly_text_put(text, "n = %u", entry->n);
        vly_text_origin(text, &origin, NULL);
    }
    resolve_window(text, entry);
}

static void resolve_stimulus(vly_text *text, const vly_reader *reader,
                             const vly_stimulus_entry *entry)
{
    const vly_genome *genome = reader->genome;
    const vly_stimulus *first = entry->samples;
    const vly_model_info *model = genome->areas[first->to].model;
    const char *suffix = model->ports[first->port].suffix;
    vly_text_put(text, "\n[[stimulus]]  # line %u\n", entry->node->key_line);
    if (entry->id)
        vly_text_put(text, "id = \"%s\"\n", entry->id);
    vly_text_put(text, "kind = \"%s\"\n", vly_stimulus_names[entry->form]);
    resolve_where(text, entry);
    if (vly_toml_get(entry->node, "port"))
        vly_text_put(text, "port = %u\n", first->port);
    put_every(text, entry);
    for (uint32_t i = 0; !entry->every && i < entry->n_times; i++)
        vly_text_put(text, "%s%" PRIu64 "%s", i ? ", " : "at_bursts = [",
                     entry->times[i], i + 1 < entry->n_times ? "" : "]\n");
    bool drawn = entry->kind == VLY_STIMULUS_POISSON ||
                 entry->kind == VLY_STIMULUS_BERNOULLI;
    if (drawn)
        resolve_numbers(text, entry, "rate_hz", "",
                        offsetof(vly_stimulus, rate_hz));
    if (drawn || (entry->kind == VLY_STIMULUS_SPIKES && !entry->n_weights))
        resolve_numbers(text, entry, "weight", suffix,
                        offsetof(vly_stimulus, weight));
    if (entry->kind == VLY_STIMULUS_NORMAL) {
        resolve_numbers(text, entry, "mean", suffix,
                        offsetof(vly_stimulus, mean));
        resolve_numbers(text, entry, "sd", suffix, offsetof(vly_stimulus, sd));
    }
    if (entry->kind == VLY_STIMULUS_DC)
        resolve_numbers(text, entry, "amplitude", model->dc_suffix,
                        offsetof(vly_stimulus, mean));
    if (entry->kind == VLY_STIMULUS_SPIKES)
        resolve_spikes(text, entry);
}

/* ---- all areas ---------------------------------------------------------- */

/* As written in the genome, not as the area and stimulus built from it. */
static void resolve_generator(vly_text *text, const vly_reader *reader,
                              uint32_t index, const vly_toml_node *node)
{
    const vly_area *area = &reader->genome->areas[index];
    uint32_t s = reader->n_stimuli - reader->n_generators;
    while (reader->stimuli[s].to.areas[0] != index)
        s++;
    const vly_stimulus_entry *entry = &reader->stimuli[s];
    vly_text_put(text, "generator = \"%s\"\n", area->generator);
    resolve_size(text, area, node);
    resolve_window(text, entry);
    put_every(text, entry);
    if (vly_toml_get(entry->node, "rate_hz"))
        resolve_numbers(text, entry, "rate_hz", "",
                        offsetof(vly_stimulus, rate_hz));
    if (entry->form == VLY_STIMULUS_FORM_PULSE)
        resolve_pulse(text, entry);
    else if (entry->kind == VLY_STIMULUS_SPIKES)
        resolve_bursts(text, entry);
}

static void resolve_areas(vly_text *text, const vly_reader *reader)
{
    const vly_genome *genome = reader->genome;
    const vly_toml_node *areas = vly_toml_get(&reader->root, "area");
    for (uint32_t i = 0; i < genome->n_areas; i++) {
        const vly_area *area = &genome->areas[i];
        const vly_toml_node *node = vly_toml_get(areas, area->name);
        vly_origin origin = vly_resolve_origin(node, "model");
        vly_text_put(text, "\n[area.\"%s\"]\n", area->name);
        if (area->generator) {
            resolve_generator(text, reader, i, node);
            continue;
        }
        vly_text_put(text, "model = \"%s\"", area->model->id);
        vly_text_origin(text, &origin, NULL);
        resolve_size(text, area, node);
        resolve_values(text, area);
    }
}

/* ---- all ---------------------------------------------------------------- */

/* All of them: a model that no area has is still what the user wrote. */
static void resolve_neurons(vly_text *text, const vly_genome *genome)
{
    for (uint32_t i = 0; i < genome->n_neuron_models; i++) {
        const vly_model_info *model = genome->neuron_models[i];
        vly_text_put(text, "\n");
        vly_text_bytes(text, vly_model_definition(model),
                       vly_model_table_bytes(model));
    }
}

vly_status vly_genome_resolve(vly_reader *reader)
{
    const vly_genome *genome = reader->genome;
    vly_text text = {.files = genome->files};
    resolve_top(&text, reader);
    resolve_run(&text, reader);
    resolve_vars(&text, reader);
    resolve_neurons(&text, genome);
    resolve_areas(&text, reader);
    vly_memories_resolve(&text, reader);
    vly_associations_resolve(&text, reader);
    vly_plasticities_resolve(&text, reader);
    for (uint32_t i = 0; i < reader->n_maps; i++)
        vly_resolve_map(&text, genome, &reader->maps[i]);
    for (uint32_t i = 0; i + reader->n_generators < reader->n_stimuli; i++)
        resolve_stimulus(&text, reader, &reader->stimuli[i]);
    vly_records_resolve(&text, genome);
    if (text.failed) {
        vly_free(text.data);
        return vly_reader_nomem(reader, text.capacity * 2,
                                "the resolved genome");
    }
    reader->genome->resolved = text.data;
    return VLY_OK;
}
