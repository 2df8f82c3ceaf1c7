/* SPDX-License-Identifier: Apache-2.0
 * Synapses given by a file or a table: see edge_list.h.
 */
#include "genome/edge_list.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "genome/edge_order.h"
#include "genome/genome_value.h"

void vly_edges_init(vly_edge_maker *maker, const vly_edge_spec *spec,
                    vly_error *error)
{
    *maker = (vly_edge_maker){.spec = spec, .error = error};
}

void vly_edges_deinit(vly_edge_maker *maker)
{
    vly_free(maker->source);
    vly_free(maker->target);
    vly_free(maker->weight);
    vly_free(maker->delay);
    vly_free(maker->place);
}

void vly_edges_destroy(vly_edge_list *list)
{
    if (!list)
        return;
    vly_free(list->source);
    vly_free(list->target);
    vly_free(list->weight);
    vly_free(list->delay);
    vly_free(list);
}

/* ---- one edge ----------------------------------------------------------- */

double vly_edge_weight_most(const vly_edge_spec *spec)
{
    return spec->to->model->flags & VLY_AREA_FEAGI ? 255 : VLY_WEIGHT_MAX;
}

static bool weight_fits(const vly_edge_spec *spec, double weight,
                        char sentence[VLY_EDGE_SENTENCE])
{
    bool feagi = spec->to->model->flags & VLY_AREA_FEAGI;
    double most = vly_edge_weight_most(spec);
    char found[VLY_NUMBER_SIZE];
    if (weight >= -most && weight <= most &&
        (!feagi || vly_floor(weight) == weight))
        return true;
    snprintf(sentence, VLY_EDGE_SENTENCE, "weight is %s, wanted %s%.0f to %.0f",
             vly_toml_print_number(weight, found),
             feagi ? "a whole number from " : "", -most, most);
    return false;
}

/* Bursts of a delay; 0 and a message if it is invalid. */
static uint32_t delay_bursts(const vly_edge_maker *maker, double delay,
                             char sentence[VLY_EDGE_SENTENCE])
{
    char found[VLY_NUMBER_SIZE];
    const char *unit = maker->delay_bursts ? "bursts" : "ms";
    uint64_t bursts = 0;
    bool good = vly_bursts_from_ms(
        delay, maker->delay_bursts ? 1.0 : maker->spec->dt_ms, &bursts);
    if (good && maker->delay_bursts)
        good = vly_floor(delay) == delay;
    if (good && bursts >= 1 && bursts <= VLY_DELAY_BURSTS_MAX)
        return (uint32_t)bursts;
    vly_toml_print_number(delay, found);
    snprintf(sentence, VLY_EDGE_SENTENCE,
             "delay is %s %s, wanted 1 to %u bursts of %.9g ms", found, unit,
             VLY_DELAY_BURSTS_MAX, maker->spec->dt_ms);
    return 0;
}

uint32_t vly_edge_delay(vly_edge_maker *maker, double delay,
                        char sentence[VLY_EDGE_SENTENCE])
{
    uint64_t bits;
    memcpy(&bits, &delay, sizeof(bits));
    /* the golden ratio spreads delays that differ in few bits */
    vly_edge_delay_seen *seen =
        &maker->seen[(bits * UINT64_C(0x9E3779B97F4A7C15)) >>
                     (64 - VLY_EDGE_DELAY_BITS)];
    if (seen->bits != bits || !seen->bursts) {
        const uint32_t made = delay_bursts(maker, delay, sentence);
        if (!made)
            return 0;
        *seen = (vly_edge_delay_seen){
            .bits = bits,
            .bursts = made,
            .is_rounded = !maker->delay_bursts &&
                          vly_value_off_grid(delay, maker->spec->dt_ms)};
    }
    maker->n_rounded += seen->is_rounded;
    return seen->bursts;
}

/* Grows one array; n elements of any type. */
static bool grow_one(void **array, uint64_t n, size_t size)
{
    void *grown = vly_realloc(*array, (size_t)n, size);
    if (grown)
        *array = grown;
    return grown != NULL;
}

#define GROW(array, n)                                                         \
    do {                                                                       \
        void *memory = (array);                                                \
        bool grown = grow_one(&memory, (n), sizeof(*(array)));                 \
        (array) = memory;                                                      \
        if (!grown)                                                            \
            return false;                                                      \
    } while (0)

static bool grow(vly_edge_maker *maker, uint64_t n)
{
    GROW(maker->source, n);
    GROW(maker->target, n);
    if (!maker->counted)
        GROW(maker->place, n);
    if (maker->has_weight && !maker->lent)
        GROW(maker->weight, n);
    if (maker->has_delay)
        GROW(maker->delay, n);
    maker->capacity = n;
    return true;
}

static vly_status no_memory(vly_edge_maker *maker, uint64_t bytes)
{
    return vly_fail_nomem(maker->error, bytes, "the synapses of a file");
}

vly_status vly_edges_reserve(vly_edge_maker *maker, uint64_t n)
{
    if (n <= maker->capacity || n > VLY_EDGES_MAX || grow(maker, n))
        return VLY_OK;
    return no_memory(maker, n * 24);
}

static void append(vly_edge_maker *maker, const vly_edge *edge, uint32_t bursts)
{
    uint64_t n = maker->n;
    maker->source[n] = edge->source;
    maker->target[n] = edge->target;
    if (!maker->counted)
        maker->place[n] = (uint32_t)edge->place;
    if (maker->has_weight && !maker->lent)
        maker->weight[n] = edge->weight;
    if (maker->has_delay)
        maker->delay[n] = bursts;
    if (n > 0 && (maker->source[n - 1] > edge->source ||
                  (maker->source[n - 1] == edge->source &&
                   maker->target[n - 1] > edge->target)))
        maker->unsorted = true;
    maker->n++;
}

vly_status vly_edges_add(vly_edge_maker *maker, const vly_edge *edge,
                         vly_edge_part *part, char sentence[VLY_EDGE_SENTENCE])
{
    const vly_edge_spec *spec = maker->spec;
    uint32_t bursts = 0;
    *part = VLY_EDGE_PARTS;
    if (spec->from == spec->to && !spec->self && edge->source == edge->target) {
        snprintf(sentence, VLY_EDGE_SENTENCE,
                 "target is %u, the source itself, wanted another: the map has "
                 "self = false",
                 edge->target);
        *part = VLY_EDGE_TARGET;
        return VLY_OK;
    }
    if (maker->has_weight && !weight_fits(spec, edge->weight, sentence)) {
        *part = VLY_EDGE_WEIGHT;
        return VLY_OK;
    }
    if (maker->has_delay) {
        bursts = vly_edge_delay(maker, edge->delay, sentence);
        if (!bursts) {
            *part = VLY_EDGE_DELAY;
            return VLY_OK;
        }
    }
    if (maker->n == VLY_EDGES_MAX) {
        snprintf(sentence, VLY_EDGE_SENTENCE,
                 "more than %u synapses in a file, wanted fewer",
                 VLY_EDGES_MAX);
        *part = VLY_EDGE_SOURCE;
        return VLY_OK;
    }
    uint64_t room = maker->capacity ? maker->capacity * 2 : 1024;
    if (maker->n == maker->capacity && !grow(maker, room))
        return no_memory(maker, room * 24);
    append(maker, edge, bursts);
    return VLY_OK;
}

/* ---- order -------------------------------------------------------------- */

/* The place of the second of two equal edges; 0 if there are none. */
static uint64_t first_twice(const vly_edge_maker *maker)
{
    for (uint64_t i = 1; i < maker->n; i++)
        if (maker->source[i] == maker->source[i - 1] &&
            maker->target[i] == maker->target[i - 1])
            return maker->counted ? i : maker->place[i];
    return 0;
}

/* The same of slots in order. row: where those of each source end. */
static uint64_t first_twice_ordered(const vly_edge_maker *maker,
                                    const vly_edge_slot *slots,
                                    const uint64_t *row)
{
    uint32_t source = 0;
    for (uint64_t i = 1; i < maker->n; i++) {
        while (row[source] < i)
            source++;
        if (row[source] == i || slots[i].end.target != slots[i - 1].end.target)
            continue;
        const uint32_t index = slots[i].end.index;
        return maker->counted ? index : maker->place[index];
    }
    return 0;
}

/* Fills the list in order, without new memory, which would cost more than the
 * sort: delays go where the sources were and those where the delays were, each
 * weight takes the slot of its edge. */
static void list_fill(vly_edge_maker *maker, vly_edge_slot *slots,
                      const uint64_t *row, vly_edge_list *list)
{
    const double *weight = maker->lent ? maker->lent : maker->weight;
    const uint64_t n = maker->n;
    list->source = maker->source;
    list->target = maker->target;
    if (maker->has_delay) {
        list->delay = maker->source;
        list->source = maker->delay;
        for (uint64_t i = 0; i < n; i++)
            list->delay[i] = maker->delay[slots[i].end.index];
    }
    maker->source = maker->target = maker->delay = NULL;
    for (uint64_t i = 0, source = 0; i < n; source++)
        for (; i < row[source]; i++)
            list->source[i] = (uint32_t)source;
    for (uint64_t i = 0; i < n; i++)
        list->target[i] = slots[i].end.target;
    if (!maker->has_weight)
        return;
    for (uint64_t i = 0; i < n; i++)
        slots[i].weight = weight[slots[i].end.index];
    list->weight = &slots->weight;
}

static bool list_sort(vly_edge_maker *maker, vly_edge_list *list,
                      uint64_t *twice)
{
    const vly_edge_spec *spec = maker->spec;
    uint64_t *row = NULL;
    vly_edge_slot *slots = vly_malloc((size_t)maker->n, sizeof(*slots));
    bool good = slots && vly_edge_order(maker->source, maker->target, maker->n,
                                        spec->from->n_neurons,
                                        spec->to->n_neurons, slots, &row);
    if (good && !spec->multiple)
        *twice = first_twice_ordered(maker, slots, row);
    if (good && !*twice) {
        list_fill(maker, slots, row, list);
        slots = list->weight ? NULL : slots; /* else they are the weights */
    }
    vly_free(slots);
    vly_free(row);
    return good;
}

/* Edges in order: the list takes the arrays over. */
static bool list_take(vly_edge_maker *maker, vly_edge_list *list,
                      uint64_t *twice)
{
    if (!maker->spec->multiple)
        *twice = first_twice(maker);
    if (*twice)
        return true;
    if (maker->lent) {
        maker->weight = vly_malloc((size_t)maker->n, sizeof(*maker->weight));
        if (!maker->weight)
            return false;
        memcpy(maker->weight, maker->lent,
               (size_t)maker->n * sizeof(*maker->weight));
    }
    list->source = maker->source;
    list->target = maker->target;
    list->weight = maker->weight;
    list->delay = maker->delay;
    maker->source = NULL;
    maker->target = NULL;
    maker->weight = NULL;
    maker->delay = NULL;
    return true;
}

vly_status vly_edges_finish(vly_edge_maker *maker, uint64_t *twice,
                            vly_edge_list **list)
{
    vly_edge_list *made = vly_calloc(1, sizeof(*made));
    vly_status status = VLY_OK;
    *twice = 0;
    /* a list without edges has arrays too */
    bool good = made && (maker->capacity > 0 || grow(maker, 1));
    if (good)
        good = maker->unsorted ? list_sort(maker, made, twice)
                               : list_take(maker, made, twice);
    if (!good) {
        status = no_memory(maker, maker->n * 28);
        goto out;
    }
    made->n = maker->n;
    made->n_rounded = maker->n_rounded;
    if (*twice)
        goto out;
    *list = made;
    made = NULL;
out:
    vly_edges_destroy(made);
    return status;
}
