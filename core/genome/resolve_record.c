/* SPDX-License-Identifier: Apache-2.0
 * [[record]] as TOML.
 */
#include <inttypes.h>
#include <string.h>

#include "genome/genome_record.h"

static void put_name(vly_text *text, bool first, const char *name)
{
    vly_text_put(text, "%s\"%s\"", first ? "" : ", ", name);
}

static const char *field_name(const vly_genome *genome,
                              const vly_record *record)
{
    return genome->areas[record->area].model->fields[record->field].name;
}

static bool same_neurons(const vly_record *a, const vly_record *b)
{
    return a->n_neurons == b->n_neurons &&
           (a->n_neurons == 0 || memcmp(a->neurons, b->neurons,
                                        a->n_neurons * sizeof(uint32_t)) == 0);
}

/* One area, as a part for each run of its neurons. */
static void put_parts(vly_text *text, const vly_genome *genome,
                      const vly_record *record)
{
    const char *name = genome->areas[record->area].name;
    if (record->n_neurons == 0)
        put_name(text, true, name);
    for (uint32_t i = 0, end = 0; i < record->n_neurons; i = end) {
        end = i + 1;
        while (end < record->n_neurons &&
               record->neurons[end] == record->neurons[end - 1] + 1)
            end++;
        vly_text_put(text, "%s\"%s[%u:%u]\"", i ? ", " : "", name,
                     record->neurons[i], record->neurons[end - 1] + 1);
    }
}

/* Input has a record for each port of an area. */
static bool is_repeated(const vly_record *first, uint32_t a)
{
    for (uint32_t b = 0; first->kind == VLY_RECORD_INPUT && b < a; b++)
        if (first[b].area == first[a].area)
            return true;
    return false;
}

/* The areas of a [[record]] with samples; as parts where their neurons differ.
 * *all: all have the same list, which is not written here. */
static void put_areas(vly_text *text, const vly_genome *genome,
                      const vly_record *first, uint32_t n, bool *all)
{
    *all = true;
    for (uint32_t a = 1; a < n; a++)
        *all = *all && same_neurons(first, &first[a]);
    for (uint32_t a = 0; a < n; a++) {
        const vly_record *record = &first[a];
        if (is_repeated(first, a))
            continue;
        vly_text_put(text, "%s", a ? ", " : "");
        if (*all)
            put_name(text, true, genome->areas[record->area].name);
        else
            put_parts(text, genome, record);
    }
}

static void put_field_names(vly_text *text, const vly_genome *genome,
                            const vly_record *first, uint32_t n,
                            uint32_t n_areas)
{
    vly_text_put(text, "fields = [");
    for (uint32_t r = 0; r < n; r += n_areas)
        put_name(text, r == 0, field_name(genome, &first[r]));
    vly_text_put(text, "]\n");
}

/* One [[record]] with samples: each field is written with all areas, in their
 * order. Returns the number of records. */
static uint32_t resolve_samples(vly_text *text, const vly_genome *genome,
                                const vly_record *first, uint32_t n_left,
                                bool *all)
{
    static const char *const words[] = {[VLY_RECORD_FIELDS] = "fields",
                                        [VLY_RECORD_RATES] = "rates",
                                        [VLY_RECORD_INPUT] = "input"};
    uint32_t n = 0;
    uint32_t n_areas = 0;
    while (n < n_left && first[n].kind == first->kind &&
           first[n].group == first->group)
        n++;
    while (n_areas < n && (n_areas == 0 || first->kind == VLY_RECORD_INPUT ||
                           first[n_areas].area != first->area))
        n_areas++;
    vly_text_put(text, "\n[[record]]\nwhat = \"%s\"\nfrom = [",
                 words[first->kind]);
    put_areas(text, genome, first, n_areas, all);
    vly_text_put(text, "]");
    vly_text_origin(text, &first->origin, NULL);
    if (first->kind == VLY_RECORD_FIELDS)
        put_field_names(text, genome, first, n, n_areas);
    else if (first->kind == VLY_RECORD_RATES)
        vly_text_put(text, "by = \"%s\"\n",
                     first->by_neuron ? "neuron" : "area");
    vly_text_put(text, "interval_bursts = %" PRIu64 "\n", first->interval);
    if (first->offset)
        vly_text_put(text, "offset_bursts = %" PRIu64 "\n", first->offset);
    return n;
}

static void put_neurons(vly_text *text, const vly_record *record)
{
    for (uint32_t i = 0; i < record->n_neurons; i++)
        vly_text_put(text, "%s%u", i == 0 ? "neurons = [" : ", ",
                     record->neurons[i]);
    if (record->n_neurons > 0)
        vly_text_put(text, "]\n");
}

void vly_records_resolve(vly_text *text, const vly_genome *genome)
{
    for (uint32_t i = 0; i < genome->n_records;) {
        const vly_record *record = &genome->records[i];
        uint32_t n = 1;
        bool all = true;
        if (record->kind != VLY_RECORD_SPIKES) {
            n = resolve_samples(text, genome, record, genome->n_records - i,
                                &all);
        } else {
            vly_text_put(text, "\n[[record]]\nwhat = \"spikes\"\nfrom = \"%s\"",
                         genome->areas[record->area].name);
            vly_text_origin(text, &record->origin, NULL);
        }
        if (record->start)
            vly_text_put(text, "start_burst = %" PRIu64 "\n", record->start);
        if (record->stop != UINT64_MAX)
            vly_text_put(text, "stop_burst = %" PRIu64 "\n", record->stop);
        if (all)
            put_neurons(text, record);
        i += n;
    }
    vly_weight_records_resolve(text, genome);
}
