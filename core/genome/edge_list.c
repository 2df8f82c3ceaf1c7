/* SPDX-License-Identifier: Apache-2.0
 * Synapses given by a file or a table: see edge_list.h.
 */
#include "genome/edge_list.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "genome/genome_value.h"

void vly_edges_init(vly_edge_maker *maker, const vly_edge_spec *spec,
                    vly_error *error)
{
    *maker = (vly_edge_maker){
        .spec = spec, .error = error, .delay_least = UINT32_MAX};
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

static bool weight_fits(const vly_edge_spec *spec, double weight,
                        char sentence[VLY_EDGE_SENTENCE])
{
    bool feagi = spec->to->model->flags & VLY_AREA_FEAGI;
    double most = feagi ? 255 : VLY_WEIGHT_MAX;
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
static uint32_t delay_bursts(vly_edge_maker *maker, double delay,
                             char sentence[VLY_EDGE_SENTENCE])
{
    char found[VLY_NUMBER_SIZE];
    const char *unit = maker->delay_bursts ? "bursts" : "ms";
    uint64_t bursts = 0;
    bool good = vly_bursts_from_ms(
        delay, maker->delay_bursts ? 1.0 : maker->spec->dt_ms, &bursts);
    if (good && maker->delay_bursts)
        good = vly_floor(delay) == delay;
    if (!good || bursts < 1 || bursts > VLY_DELAY_BURSTS_MAX) {
        vly_toml_print_number(delay, found);
        snprintf(sentence, VLY_EDGE_SENTENCE,
                 "delay is %s %s, wanted 1 to %u bursts of %.9g ms", found,
                 unit, VLY_DELAY_BURSTS_MAX, maker->spec->dt_ms);
        return 0;
    }
    uint32_t made = (uint32_t)bursts;
    uint32_t least = made < maker->delay_least ? made : maker->delay_least;
    uint32_t most = made > maker->delay_most ? made : maker->delay_most;
    maker->n_rounded +=
        !maker->delay_bursts && vly_value_off_grid(delay, maker->spec->dt_ms);
    maker->delay_least = least;
    maker->delay_most = most;
    return made;
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
        bursts = delay_bursts(maker, edge->delay, sentence);
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

/* An edge by one of its ends. */
typedef struct edge_end {
    uint32_t neuron;
    uint32_t index; /* in the maker */
} edge_end;
_Static_assert(sizeof(edge_end) == sizeof(double), "one block for both");

/* Counts, per neuron, where its edges begin: [n_neurons + 1]. */
static uint64_t *places_of(const uint32_t *keys, uint64_t n, uint32_t n_neurons)
{
    uint64_t *at = vly_calloc((size_t)n_neurons + 1, sizeof(*at));
    if (!at)
        return NULL;
    for (uint64_t i = 0; i < n; i++)
        at[keys[i] + (size_t)1]++;
    for (uint32_t k = 0; k < n_neurons; k++)
        at[k + (size_t)1] += at[k];
    return at;
}

/* Two stable passes of counting, by target and then by source. sorted: target
 * and index of every edge; *row: where those of each source end. A pass carries
 * the other end along, since looking it up again would miss the cache.
 * by_target: [n], for the work. */
static bool sort_edges(const vly_edge_maker *maker, edge_end *by_target,
                       edge_end *sorted, uint64_t **row)
{
    const vly_edge_spec *spec = maker->spec;
    uint64_t n = maker->n;
    uint64_t *targets = places_of(maker->target, n, spec->to->n_neurons);
    uint64_t *sources = places_of(maker->source, n, spec->from->n_neurons);
    bool good = targets && sources;
    for (uint64_t i = 0; good && i < n; i++)
        by_target[targets[maker->target[i]]++] =
            (edge_end){maker->source[i], (uint32_t)i};
    for (uint64_t i = 0, target = 0; good && i < n; i++) {
        while (targets[target] <= i) /* where its edges end */
            target++;
        sorted[sources[by_target[i].neuron]++] =
            (edge_end){(uint32_t)target, by_target[i].index};
    }
    vly_free(targets);
    if (good)
        *row = sources;
    else
        vly_free(sources);
    return good;
}

/* The place of the second of two equal edges; 0 if there are none. */
static uint64_t first_twice(const vly_edge_maker *maker,
                            const vly_edge_list *list, const edge_end *sorted)
{
    for (uint64_t i = 1; i < list->n; i++) {
        if (list->source[i] != list->source[i - 1] ||
            list->target[i] != list->target[i - 1])
            continue;
        uint64_t index = sorted ? sorted[i].index : i;
        return maker->counted ? index : maker->place[index];
    }
    return 0;
}

/* Fills the list in order. Memory that is there already is used again (fresh
 * memory costs more than the sort): the ends overwrite those of the maker, and
 * work becomes the weights. */
static bool list_fill(vly_edge_maker *maker, const edge_end *sorted,
                      const uint64_t *row, double **work, vly_edge_list *list)
{
    const double *weight = maker->lent ? maker->lent : maker->weight;
    uint64_t n = maker->n;
    uint32_t source = 0;
    if (maker->has_delay) {
        list->delay = vly_malloc((size_t)n, sizeof(*list->delay));
        if (!list->delay)
            return false;
    }
    for (uint64_t i = 0; maker->has_delay && i < n; i++)
        list->delay[i] = maker->delay[sorted[i].index];
    for (uint64_t i = 0; maker->has_weight && i < n; i++)
        (*work)[i] = weight[sorted[i].index];
    for (uint64_t i = 0; i < n; i++) {
        while (row[source] <= i)
            source++;
        maker->source[i] = source;
        maker->target[i] = sorted[i].neuron;
    }
    list->source = maker->source;
    list->target = maker->target;
    maker->source = NULL;
    maker->target = NULL;
    if (maker->has_weight) {
        list->weight = *work;
        *work = NULL;
    }
    return true;
}

static bool list_sort(vly_edge_maker *maker, edge_end *sorted,
                      vly_edge_list *list)
{
    /* the two passes need as much as the weights: one block for both */
    double *work = vly_malloc((size_t)maker->n, sizeof(*work));
    uint64_t *row = NULL;
    bool good = work &&
                sort_edges(maker, (edge_end *)(void *)work, sorted, &row) &&
                list_fill(maker, sorted, row, &work, list);
    vly_free(work);
    vly_free(row);
    return good;
}

/* Edges in order: the list takes the arrays over. */
static bool list_take(vly_edge_maker *maker, vly_edge_list *list)
{
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
    size_t n = (size_t)maker->n;
    edge_end *sorted = NULL;
    vly_edge_list *made = vly_calloc(1, sizeof(*made));
    vly_status status = VLY_OK;
    bool good = made != NULL;
    *twice = 0;
    if (good && (maker->unsorted || n == 0)) {
        sorted = vly_malloc(n, sizeof(*sorted));
        good = sorted && list_sort(maker, sorted, made);
    } else if (good) {
        good = list_take(maker, made);
    }
    if (!good) {
        status = no_memory(maker, (uint64_t)n * 36);
        goto out;
    }
    made->n = maker->n;
    made->n_rounded = maker->n_rounded;
    if (!maker->spec->multiple)
        *twice = first_twice(maker, made, sorted);
    if (*twice)
        goto out;
    *list = made;
    made = NULL;
out:
    vly_free(sorted);
    vly_edges_destroy(made);
    return status;
}
