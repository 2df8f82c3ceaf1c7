/* SPDX-License-Identifier: Apache-2.0
 * [[record]]: what a run writes down. A list in `from` makes one an area, a
 * list in `fields` one a field; they keep the number of their [[record]].
 */
#include "genome/genome_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "genome/foreign_names.h"
#include "genome/genome_generator.h"
#include "genome/genome_stimulus.h"
#include "genome/genome_value.h"
#include "genome/written_model.h"

#define INTERVAL_MS 1.0 /* the default of a NEST multimeter */

/* One [[record]] being read. */
typedef struct record_entry {
    const vly_toml_node *node;
    vly_record_kind kind;
    bool by_neuron;
    const vly_toml_node *fields; /* a string or a list of them */
    vly_area_list areas;
    const vly_end *ends; /* [areas.n] each whole, or parts that ascend */
    uint32_t group;
    uint64_t interval;
    uint64_t offset;
    uint64_t start;
    uint64_t stop;
    uint32_t *neurons; /* ascending; the reader's memory; NULL: all */
    uint32_t n_neurons;
} record_entry;

/* ---- neurons and interval ---------------------------------------------- */

static int compare_ids(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static vly_status check_neuron(vly_reader *reader, const vly_toml_node *item,
                               const vly_area_list *areas, uint64_t number)
{
    for (uint32_t i = 0; i < areas->n; i++) {
        const vly_area *area = &reader->genome->areas[areas->areas[i]];
        if (area->n_neurons && number >= area->n_neurons)
            return vly_reader_fail(reader, item,
                                   "neuron %" PRIu64 ", wanted 0 to %u of area "
                                   "%s",
                                   number, area->n_neurons - 1, area->name);
    }
    return VLY_OK;
}

static vly_status read_neurons(vly_reader *reader, record_entry *entry)
{
    const vly_toml_node *node = vly_toml_get(entry->node, "neurons");
    vly_status status = VLY_OK;
    if (!node)
        return VLY_OK;
    if (node->kind != VLY_TOML_ARRAY || node->n_children == 0)
        return vly_reader_wrong(reader, node, "neurons",
                                "a list of indexes in the area");
    uint32_t n = node->n_children;
    VLY_TRY(vly_reader_alloc(reader, n, sizeof(uint32_t), &entry->neurons));
    for (uint32_t i = 0; i < n; i++) {
        const vly_toml_node *item = &node->u.children[i];
        uint64_t number = 0;
        VLY_TRY(vly_value_whole(reader, item, "neurons", 0, VLY_NEURONS_MAX - 1,
                                &number));
        VLY_TRY(check_neuron(reader, item, &entry->areas, number));
        entry->neurons[i] = (uint32_t)number;
    }
    qsort(entry->neurons, n, sizeof *entry->neurons, compare_ids);
    for (uint32_t i = 1; i < n; i++)
        if (entry->neurons[i] == entry->neurons[i - 1])
            return vly_reader_fail(reader, node,
                                   "neuron %u stands twice in neurons, wanted "
                                   "each once",
                                   entry->neurons[i]);
    entry->n_neurons = n;
out:
    return status;
}

vly_status vly_record_interval(vly_reader *reader, const vly_toml_node *node,
                               uint64_t *interval)
{
    const vly_toml_node *ms = vly_toml_get(node, "interval_ms");
    const vly_toml_node *bursts = vly_toml_get(node, "interval_bursts");
    vly_status status = VLY_OK;
    if (ms && bursts)
        return vly_reader_fail_key(reader, bursts,
                                   "both interval_ms and interval_bursts, "
                                   "wanted one");
    if (bursts)
        return vly_value_whole(reader, bursts, "interval_bursts", 1,
                               UINT64_C(1) << 53, interval);
    if (!ms) {
        double n = vly_floor(INTERVAL_MS / reader->genome->dt_ms + 0.5);
        *interval = n >= 1 ? vly_count_of(n) : 1;
        return vly_value_rounded(reader, node, "interval_ms, by default,",
                                 INTERVAL_MS, *interval);
    }
    VLY_TRY(vly_value_bursts(reader, ms, "interval_ms", interval));
    if (*interval == 0) {
        char wanted[96];
        snprintf(wanted, sizeof wanted,
                 "at least half of dt_ms = %g%s: a sample a burst",
                 reader->genome->dt_ms,
                 vly_toml_get(vly_toml_get(&reader->root, "run"), "dt_ms")
                     ? ""
                     : ", the default");
        status = vly_reader_wrong(reader, ms, "interval_ms", wanted);
    }
out:
    return status;
}

/* ---- fields ------------------------------------------------------------ */

/* n_fields: the model has no field of that name. */
static uint32_t find_field(const vly_model_info *model, const char *name)
{
    uint32_t f = 0;
    while (f < model->n_fields && strcmp(model->fields[f].name, name) != 0)
        f++;
    return f;
}

static vly_status no_field(vly_reader *reader, const vly_toml_node *node,
                           const vly_area *area)
{
    const vly_model_info *model = area->model;
    vly_suggest near = {0};
    char text[VLY_HINT_SIZE];
    for (uint32_t f = 0; f < model->n_fields; f++)
        vly_foreign_offer(&near, node->u.string, model->fields[f].name);
    return vly_reader_fail(reader, node, "area %s (%s) has no field %.80s%s",
                           area->name, model->id, node->u.string,
                           vly_suggest_choice(&near, text, sizeof text));
}

/* The list of neurons of a record: the parts of its area, otherwise `neurons`.
 */
static vly_status copy_neurons(vly_reader *reader, const record_entry *entry,
                               uint32_t i, vly_record *record)
{
    const vly_end *end = &entry->ends[i];
    bool whole = vly_end_whole(reader->genome, end);
    const uint32_t n = whole ? entry->n_neurons : end->n_neurons;
    uint32_t at = 0;
    if (n == 0)
        return VLY_OK;
    record->neurons = vly_malloc(n, sizeof(uint32_t));
    if (!record->neurons)
        return vly_reader_nomem(reader, n * UINT64_C(4), "the records");
    record->n_neurons = n;
    for (uint32_t k = 0; whole && k < n; k++)
        record->neurons[k] = entry->neurons[k];
    for (uint32_t p = 0; !whole && p < end->n_parts; p++)
        for (uint32_t k = 0; k < end->parts[p].n; k++)
            record->neurons[at++] = end->parts[p].first + k;
    return VLY_OK;
}

/* i: of the areas */
static vly_status add(vly_reader *reader, const record_entry *entry, uint32_t i,
                      uint32_t field)
{
    vly_genome *genome = reader->genome;
    const vly_toml_node *node = entry->node;
    if (genome->n_records >= VLY_PAIRS_MAX)
        return vly_reader_fail_key(
            reader, node, "more than %u records, wanted fewer", VLY_PAIRS_MAX);
    vly_record *grown = vly_realloc(
        genome->records, genome->n_records + (size_t)1, sizeof *grown);
    if (!grown)
        return vly_reader_nomem(reader, sizeof *grown, "the records");
    genome->records = grown;
    vly_record record = {.kind = entry->kind,
                         .area = entry->areas.areas[i],
                         .group = entry->group,
                         .field = field,
                         .by_neuron = entry->by_neuron,
                         .interval = entry->interval,
                         .offset = entry->offset,
                         .start = entry->start,
                         .stop = entry->stop,
                         .origin = {.kind = VLY_ORIGIN_FILE,
                                    .line = node->key_line,
                                    .column = node->key_column,
                                    .file = node->file}};
    grown[genome->n_records++] = record;
    return copy_neurons(reader, entry, i, &grown[genome->n_records - 1]);
}

static const vly_area *area_of(const vly_reader *reader,
                               const record_entry *entry, uint32_t i)
{
    return &reader->genome->areas[entry->areas.areas[i]];
}

static vly_status refuse_generators(vly_reader *reader,
                                    const record_entry *entry)
{
    for (uint32_t i = 0; i < entry->areas.n; i++)
        if (vly_generator_is(reader, entry->areas.areas[i]))
            return vly_reader_fail_key(
                reader, entry->node,
                "a [[record]] of %s from %s, wanted another area: a generator "
                "has none",
                entry->kind == VLY_RECORD_INPUT ? "input" : "fields",
                area_of(reader, entry, i)->name);
    return VLY_OK;
}

static bool all_have(const vly_reader *reader, const record_entry *entry,
                     const char *field)
{
    for (uint32_t i = 0; i < entry->areas.n; i++) {
        const vly_model_info *model = area_of(reader, entry, i)->model;
        if (find_field(model, field) == model->n_fields)
            return false;
    }
    return true;
}

/* A field of all areas; of the first one it is number `field`. */
static vly_status add_field(vly_reader *reader, const record_entry *entry,
                            const vly_toml_node *node, uint32_t field,
                            uint64_t *taken)
{
    vly_status status = VLY_OK;
    const char *name = area_of(reader, entry, 0)->model->fields[field].name;
    if (*taken >> field & 1)
        return vly_reader_fail(
            reader, node, "%s stands twice in fields, wanted each once", name);
    *taken |= UINT64_C(1) << field;
    for (uint32_t i = 0; i < entry->areas.n; i++) {
        const vly_area *area = area_of(reader, entry, i);
        field = find_field(area->model, name);
        VLY_TRY(field < area->model->n_fields ? add(reader, entry, i, field)
                                              : no_field(reader, node, area));
    }
out:
    return status;
}

/* Fields that match a name or a glob; a glob matches fields that all areas
 * have. */
static vly_status add_named(vly_reader *reader, const record_entry *entry,
                            const vly_toml_node *node, uint64_t *taken)
{
    vly_status status = VLY_OK;
    bool any = false;
    if (node->kind != VLY_TOML_STRING)
        return vly_reader_wrong(reader, node, "fields",
                                "names of fields, or globs");
    const bool glob = strpbrk(node->u.string, "*?") != NULL;
    const vly_area *first = area_of(reader, entry, 0);
    for (uint32_t f = 0; f < first->model->n_fields; f++) {
        const char *name = first->model->fields[f].name;
        if (glob ? !vly_glob_match(node->u.string, name) ||
                       !all_have(reader, entry, name)
                 : strcmp(node->u.string, name) != 0)
            continue;
        any = true;
        VLY_TRY(add_field(reader, entry, node, f, taken));
    }
    if (!any && glob && entry->areas.n > 1)
        status = vly_reader_fail(reader, node,
                                 "%.80s matches no field that all areas of "
                                 "from have, wanted one, or a [[record]] for "
                                 "each model",
                                 node->u.string);
    else if (!any)
        status = no_field(reader, node, first);
out:
    return status;
}

static vly_status add_fields(vly_reader *reader, const record_entry *entry)
{
    const vly_toml_node *list = entry->fields;
    vly_status status = VLY_OK;
    uint64_t taken = 0; /* a bit a field of the first area's model */
    VLY_TRY(refuse_generators(reader, entry));
    if (list->kind == VLY_TOML_STRING)
        return add_named(reader, entry, list, &taken);
    if (list->kind != VLY_TOML_ARRAY || list->n_children == 0)
        return vly_reader_wrong(reader, list, "fields",
                                "the name of a field or a list of names");
    for (uint32_t k = 0; k < list->n_children; k++)
        VLY_TRY(add_named(reader, entry, &list->u.children[k], &taken));
out:
    return status;
}

/* ---- input ------------------------------------------------------------- */

/* The sum of input with this name of an area's model; UINT32_MAX: it has none.
 */
static uint32_t find_sum(const vly_area *area, const char *name)
{
    const vly_model_info *model = area->recorded;
    for (uint32_t port = 0; port < model->n_ports; port++) {
        const uint32_t field = vly_model_sum(model, port);
        if (strcmp(model->fields[field].name, name) == 0)
            return field;
    }
    return UINT32_MAX;
}

/* Sums of one name together, since they go to one file. */
static vly_status add_sums(vly_reader *reader, const record_entry *entry,
                           uint32_t first, const char *name)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < first; i++)
        if (find_sum(area_of(reader, entry, i), name) != UINT32_MAX)
            return VLY_OK; /* added with that area */
    for (uint32_t i = first; i < entry->areas.n; i++) {
        const uint32_t field = find_sum(area_of(reader, entry, i), name);
        if (field != UINT32_MAX)
            VLY_TRY(add(reader, entry, i, field));
    }
out:
    return status;
}

static vly_status add_inputs(vly_reader *reader, const record_entry *entry)
{
    vly_status status = VLY_OK;
    VLY_TRY(refuse_generators(reader, entry));
    VLY_TRY(vly_record_models(reader, entry->node, &entry->areas));
    for (uint32_t i = 0; i < entry->areas.n; i++) {
        const vly_model_info *model = area_of(reader, entry, i)->recorded;
        for (uint32_t port = 0; port < model->n_ports; port++)
            VLY_TRY(add_sums(reader, entry, i,
                             model->fields[vly_model_sum(model, port)].name));
    }
out:
    return status;
}

/* ---- all --------------------------------------------------------------- */

/* start, stop and offset */
static vly_status read_window(vly_reader *reader, record_entry *entry)
{
    const vly_toml_node *node = entry->node;
    vly_status status;
    entry->stop = UINT64_MAX;
    VLY_TRY(
        vly_time_read(reader, node, "start_ms", "start_burst", &entry->start));
    VLY_TRY(vly_time_read(reader, node, "stop_ms", "stop_burst", &entry->stop));
    VLY_TRY(vly_time_read(reader, node, "offset_ms", "offset_bursts",
                          &entry->offset));
    if (entry->stop <= entry->start)
        return vly_reader_fail_key(reader, node,
                                   "a [[record]] stops in burst %" PRIu64
                                   ", wanted after its start in burst "
                                   "%" PRIu64,
                                   entry->stop, entry->start);
out:
    return status;
}

/* A sample is of a number of bursts that are done, never of 0; a rate or an
 * input is of the interval before it, which begins at the start or later. */
static vly_status check_samples(vly_reader *reader, const record_entry *entry)
{
    const uint64_t interval = entry->interval;
    uint64_t first = entry->offset ? entry->offset : interval;
    if (entry->kind != VLY_RECORD_FIELDS)
        first = entry->start + interval;
    else if (first < entry->start)
        first += (entry->start - first + interval - 1) / interval * interval;
    if (first <= entry->stop)
        return VLY_OK;
    return vly_reader_fail_key(reader, entry->node,
                               "a [[record]] stops in burst %" PRIu64
                               ", wanted not before its first sample, after "
                               "burst %" PRIu64,
                               entry->stop, first);
}

static vly_status read_from(vly_reader *reader, const vly_toml_node *node,
                            record_entry *entry)
{
    const vly_toml_node *neurons = vly_toml_get(entry->node, "neurons");
    const bool means = entry->kind == VLY_RECORD_RATES && !entry->by_neuron;
    vly_end_list list;
    vly_status status;
    VLY_TRY(vly_record_ends(reader, node, means, &list));
    VLY_TRY(vly_reader_alloc(reader, list.n, sizeof(*entry->areas.areas),
                             &entry->areas.areas));
    entry->areas.n = list.n;
    entry->ends = list.ends;
    for (uint32_t i = 0; i < list.n; i++) {
        entry->areas.areas[i] = list.ends[i].parts[0].area;
        if (neurons && !vly_end_whole(reader->genome, &list.ends[i]))
            return vly_reader_fail_key(reader, neurons,
                                       "both a part of an area in from and "
                                       "neurons, wanted one");
    }
out:
    return status;
}

/* What a [[record]] may be; that of weights is in genome_record_weights.c. */
static const struct record_form {
    const char *what;
    const vly_key *keys;
    const char *wanted; /* keys that it needs */
} forms[] = {
    [VLY_RECORD_SPIKES] = {"spikes", vly_keys_record, "from = areas"},
    [VLY_RECORD_FIELDS] = {"fields", vly_keys_record_fields,
                           "from = areas and fields = names"},
    [VLY_RECORD_RATES] = {"rates", vly_keys_record_rates,
                          "from = areas and interval_ms or interval_bursts"},
    [VLY_RECORD_INPUT] = {"input", vly_keys_record_input, "from = areas"},
};

enum { N_FORMS = sizeof forms / sizeof forms[0] };

/* Without `what` the keys are those of spikes. */
static vly_status read_kind(vly_reader *reader, record_entry *entry)
{
    const vly_toml_node *what = vly_toml_get(entry->node, "what");
    for (int k = 0; what && k < N_FORMS; k++)
        if (what->kind == VLY_TOML_STRING &&
            strcmp(what->u.string, forms[k].what) == 0) {
            entry->kind = (vly_record_kind)k;
            return VLY_OK;
        }
    if (!what)
        return VLY_OK;
    return vly_reader_wrong(reader, what, "what",
                            "\"spikes\", \"rates\", \"fields\", \"input\" or "
                            "\"weights\"");
}

/* Keys without which nothing can be recorded. */
static vly_status check_needed(vly_reader *reader, const record_entry *entry)
{
    const vly_toml_node *node = entry->node;
    const struct record_form *form = &forms[entry->kind];
    const char *missing = NULL;
    if (!vly_toml_get(node, "what"))
        missing = "what";
    else if (!vly_toml_get(node, "from"))
        missing = "from";
    else if (entry->kind == VLY_RECORD_FIELDS && !entry->fields)
        missing = "fields";
    else if (entry->kind == VLY_RECORD_RATES &&
             !vly_toml_get(node, "interval_ms") &&
             !vly_toml_get(node, "interval_bursts"))
        missing = "an interval";
    if (!missing)
        return VLY_OK;
    return vly_reader_fail_key(
        reader, node, "a [[record]] without %s, wanted what = \"%s\" and %s",
        missing, form->what, form->wanted);
}

static vly_status read_by(vly_reader *reader, record_entry *entry)
{
    const vly_toml_node *by = vly_toml_get(entry->node, "by");
    if (!by)
        return VLY_OK;
    const bool text = by->kind == VLY_TOML_STRING;
    entry->by_neuron = text && strcmp(by->u.string, "neuron") == 0;
    return entry->by_neuron || (text && strcmp(by->u.string, "area") == 0)
               ? VLY_OK
               : vly_reader_wrong(reader, by, "by", "\"area\" or \"neuron\"");
}

/* Adds the records of an entry, one an area (and field). */
static vly_status add_all(vly_reader *reader, record_entry *entry,
                          uint32_t *n_groups)
{
    vly_status status = VLY_OK;
    if (entry->kind != VLY_RECORD_SPIKES) {
        entry->group = ++*n_groups;
        VLY_TRY(vly_record_interval(reader, entry->node, &entry->interval));
        VLY_TRY(check_samples(reader, entry));
    }
    if (entry->kind == VLY_RECORD_FIELDS)
        return add_fields(reader, entry);
    if (entry->kind == VLY_RECORD_INPUT)
        return add_inputs(reader, entry);
    for (uint32_t i = 0; i < entry->areas.n; i++)
        VLY_TRY(add(reader, entry, i, 0));
out:
    return status;
}

static vly_status read_record(vly_reader *reader, const vly_toml_node *node,
                              uint32_t *n_groups)
{
    const vly_toml_node *what = vly_toml_get(node, "what");
    record_entry entry = {.node = node, .fields = vly_toml_get(node, "fields")};
    vly_status status = VLY_OK;
    if (what && what->kind == VLY_TOML_STRING &&
        strcmp(what->u.string, "weights") == 0)
        return vly_weight_record_read(reader, node);
    VLY_TRY(read_kind(reader, &entry));
    const vly_key_list list = {"a [[record]]", forms[entry.kind].keys, NULL};
    VLY_TRY(vly_reader_keys(reader, node, &list));
    VLY_TRY(check_needed(reader, &entry));
    VLY_TRY(read_by(reader, &entry));
    VLY_TRY(read_from(reader, vly_toml_get(node, "from"), &entry));
    VLY_TRY(read_neurons(reader, &entry));
    VLY_TRY(read_window(reader, &entry));
    status = add_all(reader, &entry, n_groups);
out:
    return status;
}

vly_status vly_records_read(vly_reader *reader)
{
    const vly_toml_node *records = vly_toml_get(&reader->root, "record");
    uint32_t n_groups = 0;
    if (!records)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reader_tables(reader, records, "record"));
    for (uint32_t i = 0; i < records->n_children; i++)
        VLY_TRY(read_record(reader, &records->u.children[i], &n_groups));
out:
    return status;
}

void vly_records_free(vly_genome *genome)
{
    for (uint32_t r = 0; r < genome->n_records; r++)
        vly_free(genome->records[r].neurons);
    vly_free(genome->records);
    vly_weight_records_free(genome);
}
