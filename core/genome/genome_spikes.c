/* SPDX-License-Identifier: Apache-2.0
 * Stimuli of kind "spikes": lists of times, one a neuron or one for all. A time
 * in ms is the beginning of its burst, or, with times_at = "end", the end of
 * its burst, like the times of recorded spikes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "genome/genome_stimulus.h"
#include "genome/genome_value.h"
#include "genome/spike_source.h"

typedef enum times_kind {
    TIMES_BURSTS,
    TIMES_BEGIN, /* ms */
    TIMES_END
} times_kind;

/* times_at, which defines the meaning of times_ms */
static vly_status read_kind(vly_reader *reader, const vly_stimulus_entry *entry,
                            bool in_ms, times_kind *kind)
{
    const vly_toml_node *node = vly_toml_get(entry->node, "times_at");
    *kind = in_ms ? TIMES_BEGIN : TIMES_BURSTS;
    if (!node)
        return VLY_OK;
    if (!in_ms)
        return vly_reader_fail_key(reader, node,
                                   "times_at, but no times_ms, wanted both: it "
                                   "says at which end of its burst a time is");
    bool text = node->kind == VLY_TOML_STRING;
    if (text && strcmp(node->u.string, "end") == 0)
        *kind = TIMES_END;
    else if (!text || strcmp(node->u.string, "begin") != 0)
        return vly_reader_wrong(reader, node, "times_at",
                                "\"begin\" or \"end\"");
    return VLY_OK;
}

/* The number of times, and how many of them were rounded. */
typedef struct times_count {
    uint64_t n;
    uint64_t n_rounded;
} times_count;

static vly_status read_time(vly_reader *reader, const vly_toml_node *node,
                            const char *what, times_kind kind, uint64_t *burst,
                            times_count *count)
{
    char wanted[80];
    char dt[VLY_NUMBER_SIZE];
    if (kind == TIMES_BURSTS)
        return vly_value_whole(reader, node, what, 0, (uint64_t)1 << 53, burst);
    vly_status status =
        vly_value_listed(reader, node, what, burst, &count->n_rounded);
    if (status != VLY_OK || kind == TIMES_BEGIN)
        return status;
    if (*burst == 0) {
        snprintf(wanted, sizeof(wanted), "%s ms or more, the end of burst 0",
                 vly_toml_print_number(reader->genome->dt_ms, dt));
        return vly_reader_wrong(reader, node, what, wanted);
    }
    (*burst)--;
    return VLY_OK;
}

static vly_status read_list(vly_reader *reader, const vly_toml_node *node,
                            const char *what, times_kind kind,
                            vly_burst_list *list, times_count *count)
{
    vly_status status;
    VLY_TRY(vly_reader_alloc(reader, node->n_children, sizeof(uint64_t),
                             &list->bursts));
    for (uint32_t i = 0; i < node->n_children; i++)
        VLY_TRY(read_time(reader, &node->u.children[i], what, kind,
                          &list->bursts[i], count));
    list->n = node->n_children;
    count->n += list->n;
out:
    return status;
}

static vly_status read_neurons(vly_reader *reader, const vly_toml_node *node,
                               vly_stimulus_entry *entry)
{
    vly_status status;
    uint64_t number = 0;
    if (node->kind != VLY_TOML_ARRAY || node->n_children == 0)
        return vly_reader_wrong(reader, node, "neurons",
                                "a list of indexes in the area");
    VLY_TRY(vly_reader_alloc(reader, node->n_children, sizeof(uint32_t),
                             &entry->neurons));
    for (uint32_t i = 0; i < node->n_children; i++) {
        const vly_toml_node *item = &node->u.children[i];
        VLY_TRY(vly_value_whole(reader, item, "neurons", 0, VLY_NEURONS_MAX - 1,
                                &number));
        for (uint32_t j = 0; j < entry->to.n; j++) {
            const vly_area *area = &reader->genome->areas[entry->to.areas[j]];
            if (area->n_neurons && number >= area->n_neurons)
                return vly_reader_fail(reader, item,
                                       "neuron %" PRIu64 ", wanted 0 to %u of "
                                       "area %s",
                                       number, area->n_neurons - 1, area->name);
        }
        entry->neurons[i] = (uint32_t)number;
    }
    entry->n_neurons = node->n_children;
out:
    return status;
}

vly_status vly_times_read(vly_reader *reader, vly_stimulus_entry *entry,
                          uint32_t n, const char *of)
{
    vly_status status;
    const vly_toml_node *times = vly_toml_get(entry->node, "times_ms");
    const vly_toml_node *bursts = vly_toml_get(entry->node, "bursts");
    const vly_toml_node *node = times ? times : bursts;
    const char *what = times ? "times_ms" : "bursts";
    times_count count = {0};
    times_kind kind;
    if (!times == !bursts)
        return vly_reader_fail_key(reader, entry->node,
                                   "%s has %s, wanted times_ms or bursts%s",
                                   entry->label, times ? "both" : "no times",
                                   times || entry->voxels ? "" : " or file");
    VLY_TRY(read_kind(reader, entry, times != NULL, &kind));
    if (node->kind != VLY_TOML_ARRAY)
        return vly_reader_wrong(reader, node, what,
                                "a list, or one list a neuron");
    entry->flat =
        node->n_children == 0 || node->u.children[0].kind != VLY_TOML_ARRAY;
    entry->n_lists = entry->flat ? 1 : node->n_children;
    VLY_TRY(vly_reader_alloc(reader, entry->n_lists, sizeof(vly_burst_list),
                             &entry->lists));
    if (entry->flat)
        VLY_TRY(read_list(reader, node, what, kind, &entry->lists[0], &count));
    else if (entry->n_lists != n)
        return vly_reader_fail(reader, node,
                               "%s has %u lists for %u in %s, wanted one a "
                               "%s",
                               what, entry->n_lists, n, of,
                               *of == 'v' ? "voxel" : "neuron");
    for (uint32_t i = 0; !entry->flat && i < entry->n_lists; i++) {
        const vly_toml_node *item = &node->u.children[i];
        if (item->kind != VLY_TOML_ARRAY)
            return vly_reader_wrong(reader, item, what, "a list a neuron");
        VLY_TRY(read_list(reader, item, what, kind, &entry->lists[i], &count));
    }
    status = vly_values_rounded(reader, node, what, count.n_rounded, count.n);
out:
    return status;
}

/* The neurons [first, first + n) of an area; without n up to its last. */
uint32_t vly_stimulus_width(const vly_reader *reader,
                            const vly_stimulus_entry *entry, uint32_t i)
{
    const vly_area *area = &reader->genome->areas[entry->to.areas[i]];
    if (entry->parted || area->n_neurons == 0)
        return entry->ends[i].n_neurons;
    return entry->n ? entry->n : area->n_neurons - entry->first;
}

vly_status vly_spikes_read(vly_reader *reader, vly_stimulus_entry *entry)
{
    const vly_toml_node *neurons = vly_toml_get(entry->node, "neurons");
    const vly_toml_node *file = vly_toml_get(entry->node, "file");
    const vly_toml_node *population = vly_toml_get(entry->node, "population");
    uint32_t n = vly_stimulus_width(reader, entry, 0);
    vly_status status = VLY_OK;
    if (file)
        return vly_spike_file_read(reader, entry, file);
    if (population)
        return vly_reader_fail_key(reader, population,
                                   "population, but no file, wanted both");
    if (neurons) {
        VLY_TRY(read_neurons(reader, neurons, entry));
        VLY_TRY(vly_times_read(reader, entry, entry->n_neurons, "neurons"));
        return vly_spikes_source(reader, entry);
    }
    VLY_TRY(vly_times_read(reader, entry, n, "its range"));
    for (uint32_t i = 1; !entry->flat && i < entry->to.n; i++)
        if (vly_stimulus_width(reader, entry, i) != n)
            return vly_reader_fail_key(
                reader, entry->node,
                "%s has %u lists for %u neurons of area %s, wanted one a "
                "neuron",
                entry->label, n, vly_stimulus_width(reader, entry, i),
                entry->ends[i].name);
    VLY_TRY(vly_spikes_source(reader, entry));
out:
    return status;
}

/* ---- sources ------------------------------------------------------------ */

typedef struct mark {
    uint64_t burst;
    uint32_t target;
} mark;

static int compare_marks(const void *a, const void *b)
{
    const mark *x = a;
    const mark *y = b;
    if (x->burst != y->burst)
        return x->burst < y->burst ? -1 : 1;
    return (x->target > y->target) - (x->target < y->target);
}

/* A neuron is [0, 0, its index]. */
typedef struct target {
    uint32_t at[3];
    uint32_t list; /* its place as given */
} target;

static int compare_targets(const void *a, const void *b)
{
    const target *x = a;
    const target *y = b;
    for (int i = 0; i < 3; i++)
        if (x->at[i] != y->at[i])
            return x->at[i] < y->at[i] ? -1 : 1;
    return 0;
}

static bool same_target(const target *x, const target *y)
{
    return compare_targets(x, y) == 0;
}

/* The named targets, sorted; each occurs as often as one burst for all targets
 * reaches it, otherwise once. places[i]: new position of the i-th given target.
 */
static vly_status make_targets(vly_reader *reader,
                               const vly_stimulus_entry *entry,
                               uint32_t *places)
{
    vly_spike_source *source = entry->source;
    const uint32_t n = entry->voxels ? entry->n_voxels : entry->n_neurons;
    target *targets = vly_calloc(n, sizeof(*targets));
    uint32_t kept = 0;
    if (entry->voxels)
        source->voxels = vly_calloc(n, sizeof(*source->voxels));
    else
        source->neurons = vly_calloc(n, sizeof(*source->neurons));
    if (!targets || (!source->voxels && !source->neurons)) {
        vly_free(targets);
        return vly_reader_nomem(reader, n * sizeof(*targets),
                                "the targets of a stimulus");
    }
    for (uint32_t i = 0; i < n; i++) {
        targets[i].list = i;
        if (entry->voxels)
            memcpy(targets[i].at, entry->voxels[i], sizeof(targets[i].at));
        else
            targets[i].at[2] = entry->neurons[i];
    }
    qsort(targets, n, sizeof(*targets), compare_targets);
    for (uint32_t i = 0; i < n; i++) {
        bool again = i > 0 && same_target(&targets[i], &targets[i - 1]);
        if (!again || entry->flat) {
            if (entry->voxels)
                memcpy(source->voxels[kept], targets[i].at,
                       sizeof(targets[i].at));
            else
                source->neurons[kept] = targets[i].at[2];
            kept++;
        }
        places[targets[i].list] = kept - 1;
    }
    source->n_targets = kept;
    vly_free(targets);
    return VLY_OK;
}

/* Merges lists into one, sorted; places NULL: positions unchanged. */
static vly_status make_bursts(vly_reader *reader,
                              const vly_stimulus_entry *entry,
                              const uint32_t *places)
{
    vly_spike_source *source = entry->source;
    uint64_t n = 0;
    for (uint32_t i = 0; i < entry->n_lists; i++)
        n += entry->lists[i].n;
    mark *marks = vly_malloc((size_t)n, sizeof(mark));
    source->bursts = vly_malloc((size_t)n, sizeof(uint64_t));
    if (!entry->flat)
        source->targets = vly_malloc((size_t)n, sizeof(uint32_t));
    if (!marks || !source->bursts || (!entry->flat && !source->targets)) {
        vly_free(marks);
        return vly_reader_nomem(reader, n * (sizeof(mark) + 12),
                                "the spikes of a stimulus");
    }
    for (uint32_t i = 0; i < entry->n_lists; i++)
        for (uint32_t j = 0; j < entry->lists[i].n; j++)
            marks[source->n_bursts++] =
                (mark){entry->lists[i].bursts[j], entry->flat ? 0
                                                  : places    ? places[i]
                                                              : i};
    qsort(marks, (size_t)n, sizeof(mark), compare_marks);
    for (uint64_t i = 0; i < n; i++) {
        source->bursts[i] = marks[i].burst;
        if (source->targets)
            source->targets[i] = marks[i].target;
    }
    vly_free(marks);
    return VLY_OK;
}

vly_status vly_spikes_source(vly_reader *reader, vly_stimulus_entry *entry)
{
    vly_genome *genome = reader->genome;
    const uint32_t n = entry->voxels ? entry->n_voxels : entry->n_neurons;
    uint32_t *places = NULL;
    vly_status status = VLY_OK;
    vly_spike_source **grown = vly_realloc(
        genome->sources, (size_t)genome->n_sources + 1, sizeof(*grown));
    if (!grown)
        return vly_reader_nomem(reader, sizeof(*grown), "the stimuli");
    genome->sources = grown;
    entry->source = vly_calloc(1, sizeof(*entry->source));
    if (!entry->source)
        return vly_reader_nomem(reader, sizeof(*entry->source), "a stimulus");
    grown[genome->n_sources++] = entry->source;
    if (entry->voxels || entry->neurons) {
        VLY_TRY(vly_reader_alloc(reader, n, sizeof(uint32_t), &places));
        VLY_TRY(make_targets(reader, entry, places));
    }
    if (entry->lists)
        VLY_TRY(make_bursts(reader, entry, places));
out:
    return status;
}

vly_status vly_spikes_make(vly_reader *reader, const vly_stimulus_entry *entry,
                           vly_stimulus *stimulus)
{
    const vly_area *area = &reader->genome->areas[stimulus->to];
    uint64_t spikes = 0;
    uint64_t targets = 0;
    vly_spike_source *source =
        entry->n_weights ? entry->weights[entry->part].source : entry->source;
    vly_spike_source_count(source, area, stimulus->n_neurons, &spikes,
                           &targets);
    reader->n_spikes += spikes;
    if (reader->n_spikes > VLY_SPIKES_MAX || targets > VLY_NEURONS_MAX)
        return vly_reader_fail_key(reader, entry->node,
                                   "%" PRIu64 " given spikes in all stimuli, "
                                   "wanted at most 2^28",
                                   reader->n_spikes);
    stimulus->source = source;
    stimulus->n_spikes = spikes;
    return VLY_OK;
}
