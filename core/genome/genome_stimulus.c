/* SPDX-License-Identifier: Apache-2.0
 * [[stimulus]]: a list in `to` makes one a area.
 */
#include "genome/genome_stimulus.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "genome/foreign_names.h"
#include "genome/genome_generator.h"
#include "genome/genome_value.h"

/* Poisson tables have at most this many thresholds. */
#define POISSON_TABLE_MAX 256
#define KINDS ((size_t)VLY_STIMULUS_BERNOULLI + 1)

const char *const vly_stimulus_names[] = {
    "poisson", "normal", "dc", "spikes", "bernoulli", "pulse", "pattern", NULL};

/* ---- values, one an area ------------------------------------------------ */

static vly_status element(vly_reader *reader, const vly_toml_node *node,
                          const vly_stimulus_entry *entry, uint32_t index,
                          const vly_toml_node **out)
{
    *out = node;
    if (node->kind != VLY_TOML_ARRAY)
        return VLY_OK;
    if (node->n_children != entry->to.n)
        return vly_reader_fail(reader, node,
                               "%s is a list of %u, wanted %u, one an area of "
                               "`to`",
                               node->key, node->n_children, entry->to.n);
    *out = &node->u.children[index];
    return VLY_OK;
}

static vly_status read_suffixed(vly_reader *reader, vly_stimulus_entry *entry,
                                uint32_t index, vly_series_key key,
                                const char *stem, const char *suffix,
                                double *out)
{
    const double hi = VLY_WEIGHT_MAX;
    const double lo = key == VLY_SERIES_SD ? 0 : -hi;
    bool done = false;
    const vly_area *area = &reader->genome->areas[entry->to.areas[index]];
    const vly_toml_node *node = NULL;
    vly_status status;
    VLY_TRY(vly_reader_suffixed(reader, entry->node, stem, suffix, area->model,
                                &node));
    if (!node)
        return vly_reader_fail_key(
            reader, entry->node, "%s onto area %s has no %s, wanted %s%s%s",
            entry->label, area->name, stem, stem, *suffix ? "_" : "", suffix);
    const char *what = node->key;
    VLY_TRY(vly_series_number(reader, entry, key, node, lo, hi, out, &done));
    if (done)
        return VLY_OK;
    VLY_TRY(element(reader, node, entry, index, &node));
    VLY_TRY(vly_value_ranged(reader, node, what, lo, hi, out));
out:
    return status;
}

/* Thresholds of a Poisson table: until less than 2^-32 is left. */
static bool poisson_fits(double mean)
{
    double term = vly_exp(-mean);
    double sum = term;
    for (int k = 1; k < POISSON_TABLE_MAX && sum < 1.0 - 0x1p-32; k++) {
        term *= mean / k;
        sum += term;
    }
    return sum >= 1.0 - 0x1p-32;
}

/* One event a burst: a chance of rate * dt, which is at most 1. */
static vly_status check_chance(vly_reader *reader, const vly_toml_node *node,
                               double rate_hz)
{
    char rate[VLY_NUMBER_SIZE], most[VLY_NUMBER_SIZE], dt[VLY_NUMBER_SIZE];
    double dt_ms = reader->genome->dt_ms;
    if (rate_hz * dt_ms / 1000.0 <= VLY_CHANCE_MAX)
        return VLY_OK;
    return vly_reader_fail(
        reader, node,
        "rate_hz is %s, wanted at most %s: one event a burst of dt_ms = %s",
        vly_toml_print_number(rate_hz, rate),
        vly_toml_print_number(1000.0 / dt_ms, most),
        vly_toml_print_number(dt_ms, dt));
}

static vly_status read_rate(vly_reader *reader, vly_stimulus_entry *entry,
                            uint32_t index, double *out)
{
    bool done = false;
    const vly_toml_node *node = vly_toml_get(entry->node, "rate_hz");
    char rate[VLY_NUMBER_SIZE], dt[VLY_NUMBER_SIZE];
    vly_status status;
    if (!node)
        return vly_reader_fail_key(reader, entry->node,
                                   "%s has no rate_hz, wanted events a second",
                                   entry->label);
    VLY_TRY(vly_series_number(reader, entry, VLY_SERIES_RATE, node, 0, 1e12,
                              out, &done));
    if (!done)
        VLY_TRY(element(reader, node, entry, index, &node));
    if (!done)
        VLY_TRY(vly_value_ranged(reader, node, "rate_hz", 0, 1e12, out));
    if (entry->kind == VLY_STIMULUS_BERNOULLI)
        return check_chance(reader, node, *out);
    if (!poisson_fits(*out * reader->genome->dt_ms * 1e-3))
        return vly_reader_fail(
            reader, node,
            "rate_hz is %s, wanted at most about 165 "
            "events a burst of dt_ms = %s",
            vly_toml_print_number(*out, rate),
            vly_toml_print_number(reader->genome->dt_ms, dt));
out:
    return status;
}

static vly_status read_numbers(vly_reader *reader, vly_stimulus_entry *entry,
                               uint32_t index, vly_stimulus *stimulus)
{
    const vly_model_info *model =
        reader->genome->areas[entry->to.areas[index]].model;
    const char *suffix = model->ports[stimulus->port].suffix;
    vly_status status = VLY_OK;
    bool drawn = entry->kind == VLY_STIMULUS_POISSON ||
                 entry->kind == VLY_STIMULUS_BERNOULLI;
    if (drawn)
        VLY_TRY(read_rate(reader, entry, index, &stimulus->rate_hz));
    if (entry->n_weights)
        stimulus->weight = entry->weights[entry->part].weight;
    else if (drawn || entry->kind == VLY_STIMULUS_SPIKES)
        VLY_TRY(read_suffixed(reader, entry, index, VLY_SERIES_WEIGHT, "weight",
                              suffix, &stimulus->weight));
    if (entry->kind == VLY_STIMULUS_NORMAL) {
        VLY_TRY(read_suffixed(reader, entry, index, VLY_SERIES_MEAN, "mean",
                              suffix, &stimulus->mean));
        VLY_TRY(read_suffixed(reader, entry, index, VLY_SERIES_SD, "sd", suffix,
                              &stimulus->sd));
    }
    if (entry->kind == VLY_STIMULUS_DC && (model->flags & VLY_AREA_FEAGI)) {
        /* a neuron without an event is not updated: the input would be lost */
        status = vly_reader_fail(reader, entry->node,
                                 "dc onto area %s, wanted poisson, normal or "
                                 "spikes: %s updates a neuron only when "
                                 "something arrives",
                                 reader->genome->areas[stimulus->to].name,
                                 model->id);
        goto out;
    }
    if (entry->kind == VLY_STIMULUS_DC)
        VLY_TRY(read_suffixed(reader, entry, index, VLY_SERIES_MEAN,
                              "amplitude", model->dc_suffix, &stimulus->mean));
out:
    return status;
}

/* ---- the table ---------------------------------------------------------- */

static vly_status read_kind(vly_reader *reader, vly_stimulus_entry *entry)
{
    const char *name = NULL;
    const vly_toml_node *node = vly_toml_get(entry->node, "kind");
    if (!node)
        return vly_reader_fail_key(
            reader, entry->node,
            "%s has no kind, wanted poisson, bernoulli, normal, dc, "
            "spikes, pulse or pattern",
            entry->label);
    vly_status status = VLY_OK;
    VLY_TRY(vly_reader_string(reader, node, "kind", &name));
    vly_suggest suggest = {0};
    for (uint32_t i = 0; vly_stimulus_names[i]; i++) {
        vly_foreign_offer(&suggest, name, vly_stimulus_names[i]);
        if (strcmp(name, vly_stimulus_names[i]) == 0) {
            entry->form = i;
            entry->kind = i <= VLY_STIMULUS_BERNOULLI ? (vly_stimulus_kind)i
                                                      : VLY_STIMULUS_SPIKES;
            return VLY_OK;
        }
    }
    char hint[VLY_HINT_SIZE];
    vly_foreign_hint(&suggest, name, hint, sizeof(hint));
    status = vly_reader_fail(reader, node, "no kind \"%.80s\"%s", name,
                             *hint ? hint
                                   : ", wanted poisson, bernoulli, normal, dc, "
                                     "spikes, pulse or pattern");
out:
    return status;
}

static vly_status check_keys(vly_reader *reader,
                             const vly_stimulus_entry *entry)
{
    static const vly_key *const keys[] = {
        vly_keys_poisson,   vly_keys_normal, vly_keys_dc,     vly_keys_spikes,
        vly_keys_bernoulli, vly_keys_pulse,  vly_keys_pattern};
    char what[48];
    snprintf(what, sizeof(what), "a [[stimulus]] of kind %s",
             vly_stimulus_names[entry->form]);
    const vly_key_list list = {what, keys[entry->form], NULL};
    return vly_reader_keys(reader, entry->node, &list);
}

static vly_status read_range(vly_reader *reader, vly_stimulus_entry *entry)
{
    const vly_toml_node *first = vly_toml_get(entry->node, "first");
    const vly_toml_node *n = vly_toml_get(entry->node, "n");
    uint64_t numbers[2] = {0, 0};
    vly_status status = VLY_OK;
    const vly_toml_node *neurons = vly_toml_get(entry->node, "neurons");
    const vly_toml_node *other = first ? first : n ? n : neurons;
    if ((first || n) && neurons)
        return vly_reader_fail_key(reader, first ? first : n,
                                   "both neurons and %s, wanted one",
                                   first ? "first" : "n");
    if (entry->parted && !other)
        other = vly_toml_get(entry->node, "voxels");
    if (entry->parted && other)
        return vly_reader_fail_key(reader, other,
                                   "both a part of an area in to and %s, "
                                   "wanted one",
                                   other->key);
    if (first)
        VLY_TRY(vly_value_whole(reader, first, "first", 0, VLY_NEURONS_MAX,
                                &numbers[0]));
    if (n)
        VLY_TRY(
            vly_value_whole(reader, n, "n", 1, VLY_NEURONS_MAX, &numbers[1]));
    for (uint32_t i = 0; i < entry->to.n; i++) {
        const vly_area *area = &reader->genome->areas[entry->to.areas[i]];
        if (area->n_neurons &&
            numbers[0] + (n ? numbers[1] : 1) > area->n_neurons)
            return vly_reader_fail(
                reader, n ? n : first,
                "%s reaches neuron %" PRIu64 ", wanted at most %u, the last of "
                "area %s",
                entry->label, numbers[0] + (n ? numbers[1] : 1) - 1,
                area->n_neurons - 1, area->name);
    }
    entry->first = (uint32_t)numbers[0];
    entry->n = (uint32_t)numbers[1];
out:
    return status;
}

static uint32_t *unnamed_of(const vly_reader *reader,
                            const vly_stimulus_entry *entry, uint32_t to)
{
    return &reader->unnamed[(size_t)to * KINDS + entry->kind];
}

/* "ID|AREA", or without an id "|KIND|AREA|K", where K counts the stimuli of its
 * kind onto the area (see stream_text of the maps). */
static char *stream_text(const vly_reader *reader,
                         const vly_stimulus_entry *entry, uint32_t index)
{
    const char *area = entry->ends[index].name;
    const uint32_t to = entry->to.areas[index];
    if (entry->id)
        return vly_format("%s|%s", entry->id, area);
    return vly_format("|%s|%s|%" PRIu32, vly_stimulus_names[entry->kind], area,
                      *unnamed_of(reader, entry, to));
}

static vly_status make_stimulus(vly_reader *reader, vly_stimulus_entry *entry,
                                uint32_t index, vly_stimulus *stimulus)
{
    vly_status status;
    const vly_area *area = &reader->genome->areas[entry->to.areas[index]];
    const vly_toml_node *port = vly_toml_get(entry->node, "port");
    stimulus->kind = entry->kind;
    stimulus->written = vly_stimulus_names[entry->form];
    stimulus->to = entry->to.areas[index];
    stimulus->first = entry->first;
    stimulus->n_neurons = entry->n ? entry->n : area->n_neurons - entry->first;
    if (area->n_neurons == 0) { /* left out later */
        stimulus->first = 0;
        stimulus->n_neurons = 0;
    } else if (entry->parted) {
        stimulus->first = entry->ends[index].parts[0].first;
        stimulus->n_neurons = entry->ends[index].parts[0].n;
    }
    stimulus->start = entry->start;
    stimulus->stop = entry->stop;
    if (entry->n_times) {
        stimulus->start = entry->times[entry->time];
        if (entry->time + 1 < entry->n_times)
            stimulus->stop = entry->times[entry->time + 1];
    }
    if (entry->by_neuron && area->n_neurons) {
        stimulus->first += entry->neuron;
        stimulus->n_neurons = 1;
    }
    stimulus->origin.kind = VLY_ORIGIN_FILE;
    stimulus->origin.line = entry->node->key_line;
    stimulus->origin.column = entry->node->key_column;
    stimulus->origin.file = entry->node->file;
    stimulus->id = vly_strdup(entry->label);
    stimulus->stream = stream_text(reader, entry, index);
    if (!stimulus->id || !stimulus->stream)
        return vly_reader_nomem(reader, 256, "a name");
    if (port)
        VLY_TRY(vly_reader_port(reader, port, area, &stimulus->port));
    else
        VLY_TRY(vly_stimulus_port_none(reader, entry, area));
    VLY_TRY(read_numbers(reader, entry, index, stimulus));
    VLY_TRY(vly_stimulus_port_choose(reader, entry, port != NULL, stimulus));
    if (entry->kind == VLY_STIMULUS_SPIKES)
        VLY_TRY(vly_spikes_make(reader, entry, stimulus));
out:
    return status;
}

/* ---- pieces ------------------------------------------------------------- */

static bool same_values(const vly_stimulus *a, const vly_stimulus *b)
{
    return a->rate_hz == b->rate_hz && a->weight == b->weight &&
           a->mean == b->mean && a->sd == b->sd && a->port == b->port;
}

/* A piece that adds nothing at any time. */
static bool is_silent(const vly_stimulus *stimulus)
{
    return vly_stimulus_draws(stimulus->kind)
               ? stimulus->kind != VLY_STIMULUS_NORMAL && stimulus->rate_hz == 0
               : stimulus->kind == VLY_STIMULUS_DC && stimulus->mean == 0;
}

static void drop_last(vly_genome *genome)
{
    const vly_stimulus *last = &genome->stimuli[--genome->n_stimuli];
    vly_free(last->id);
    vly_free(last->stream);
}

/* One piece; it is joined to the one before it if that has the same values, and
 * left out if it adds nothing. All pieces have one stream: draws are of the
 * burst and the neuron, so they are those of a single stimulus. */
static vly_status add_piece(vly_reader *reader, vly_stimulus_entry *entry,
                            uint32_t index)
{
    vly_genome *genome = reader->genome;
    const bool many = entry->by_neuron || entry->n_times;
    vly_status status;
    if (genome->n_stimuli >= VLY_STIMULI_MAX)
        return vly_reader_fail_key(reader, entry->node,
                                   "%" PRIu32 " stimuli onto areas, wanted at "
                                   "most %u",
                                   genome->n_stimuli + 1, VLY_STIMULI_MAX);
    vly_stimulus *grown = vly_realloc(
        genome->stimuli, (size_t)genome->n_stimuli + 1, sizeof(vly_stimulus));
    if (!grown)
        return vly_reader_nomem(reader, sizeof(vly_stimulus), "the stimuli");
    genome->stimuli = grown;
    vly_stimulus *stimulus = &genome->stimuli[genome->n_stimuli++];
    memset(stimulus, 0, sizeof(*stimulus));
    VLY_TRY(make_stimulus(reader, entry, index, stimulus));
    if (entry->time == 0 && entry->neuron == 0 && entry->part == 0)
        entry->samples[index] = *stimulus;
    if (many && is_silent(stimulus)) {
        drop_last(genome);
    } else if (many && entry->neuron > 0 && genome->n_stimuli > 1) {
        vly_stimulus *before = stimulus - 1;
        if (before->stream && strcmp(before->stream, stimulus->stream) == 0 &&
            before->start == stimulus->start &&
            before->first + before->n_neurons == stimulus->first &&
            same_values(before, stimulus)) {
            before->n_neurons++;
            drop_last(genome);
        }
    }
out:
    return status;
}

static vly_status add_pieces(vly_reader *reader, vly_stimulus_entry *entry,
                             uint32_t index)
{
    const uint32_t n_times = entry->n_times ? entry->n_times : 1;
    const uint32_t width = vly_stimulus_width(reader, entry, index);
    const uint32_t n = entry->by_neuron && width ? width : 1;
    const uint32_t begin = reader->genome->n_stimuli;
    vly_status status = VLY_OK;
    entry->part = 0;
    for (entry->time = 0; entry->time < n_times; entry->time++)
        for (entry->neuron = 0; entry->neuron < n; entry->neuron++)
            VLY_TRY(add_piece(reader, entry, index));
    for (entry->part = 1; entry->part < entry->n_weights; entry->part++) {
        entry->time = entry->neuron = 0;
        VLY_TRY(add_piece(reader, entry, index));
    }
    const uint32_t made = reader->genome->n_stimuli - begin;
    vly_stimulus *pieces = reader->genome->stimuli + begin;
    /* a list of equal numbers is the number */
    if (made == 1 && n_times == 1 && (n == 1 || pieces->n_neurons == n))
        return VLY_OK;
    for (uint32_t i = 0; i < made; i++)
        pieces[i].listed = true;
out:
    return status;
}

static vly_status read_to(vly_reader *reader, const vly_toml_node *node,
                          vly_stimulus_entry *entry)
{
    vly_end_list list;
    vly_status status;
    VLY_TRY(vly_reader_ends(reader, node, "to", false, &list));
    VLY_TRY(vly_reader_alloc(reader, list.n, sizeof(*entry->to.areas),
                             &entry->to.areas));
    entry->ends = list.ends;
    entry->to.n = list.n;
    for (uint32_t i = 0; i < list.n; i++) {
        entry->to.areas[i] = list.ends[i].parts[0].area;
        entry->parted |= !vly_end_whole(reader->genome, &list.ends[i]);
    }
out:
    return status;
}

/* own: a generator's */
static vly_status read_stimulus(vly_reader *reader, const vly_toml_node *node,
                                bool own, vly_stimulus_entry *entry)
{
    const vly_toml_node *to = vly_toml_get(node, "to");
    vly_status status;
    entry->node = node;
    VLY_TRY(vly_reader_label(reader, node, "stimulus", reader->n_stimuli,
                             &entry->id, &entry->label));
    if (!own)
        VLY_TRY(vly_generator_id(reader, node, entry->id));
    VLY_TRY(read_kind(reader, entry));
    VLY_TRY(check_keys(reader, entry));
    if (!to)
        return vly_reader_fail_key(reader, node,
                                   "%s has no to, wanted the name of an area",
                                   entry->label);
    VLY_TRY(read_to(reader, to, entry));
    for (uint32_t i = 0; !own && i < entry->to.n; i++)
        VLY_TRY(vly_generator_spared(reader, node, entry->label, false,
                                     entry->to.areas[i]));
    VLY_TRY(read_range(reader, entry));
    VLY_TRY(vly_stimulus_window(reader, entry));
    if (entry->form == VLY_STIMULUS_FORM_PULSE)
        VLY_TRY(vly_pulse_read(reader, entry));
    else if (entry->form == VLY_STIMULUS_FORM_PATTERN)
        VLY_TRY(vly_pattern_read(reader, entry));
    else if (entry->kind == VLY_STIMULUS_SPIKES)
        VLY_TRY(vly_spikes_read(reader, entry));
    VLY_TRY(vly_series_read(reader, entry));
    VLY_TRY(vly_reader_alloc(reader, entry->to.n, sizeof(*entry->samples),
                             &entry->samples));
    for (uint32_t i = 0; i < entry->to.n; i++)
        VLY_TRY(add_pieces(reader, entry, i));
    for (uint32_t i = 0; !entry->id && i < entry->to.n; i++)
        ++*unnamed_of(reader, entry, entry->to.areas[i]);
out:
    return status;
}

vly_status vly_stimuli_read(vly_reader *reader)
{
    const vly_toml_node *stimuli = vly_toml_get(&reader->root, "stimulus");
    if (!stimuli)
        return VLY_OK;
    vly_status status;
    VLY_TRY(vly_reader_tables(reader, stimuli, "stimulus"));
    VLY_TRY(vly_reader_unique(reader, stimuli, "stimulus"));
    VLY_TRY(vly_reader_alloc(reader, stimuli->n_children,
                             sizeof(vly_stimulus_entry), &reader->stimuli));
    VLY_TRY(vly_reader_alloc(reader, (size_t)reader->genome->n_areas * KINDS,
                             sizeof(uint32_t), &reader->unnamed));
    for (uint32_t i = 0; i < stimuli->n_children; i++) {
        VLY_TRY(read_stimulus(reader, &stimuli->u.children[i],
                              vly_generator_own(reader, stimuli, i),
                              &reader->stimuli[i]));
        reader->n_stimuli++;
    }
out:
    return status;
}
