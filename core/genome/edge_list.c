/* SPDX-License-Identifier: Apache-2.0
 * Synapses given by a file: see edge_list.h. Sorting is two stable passes of
 * counting, by target and then by source.
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
    vly_toml_print_number(delay, found);
    if (!good || bursts < 1 || bursts > VLY_DELAY_BURSTS_MAX) {
        snprintf(sentence, VLY_EDGE_SENTENCE,
                 "delay is %s %s, wanted 1 to %u bursts of %.9g ms", found,
                 unit, VLY_DELAY_BURSTS_MAX, maker->spec->dt_ms);
        return 0;
    }
    uint32_t made = (uint32_t)bursts;
    uint32_t least = made < maker->delay_least ? made : maker->delay_least;
    uint32_t most = made > maker->delay_most ? made : maker->delay_most;
    if (most - least > VLY_DELAY_SPREAD_MAX) {
        snprintf(sentence, VLY_EDGE_SENTENCE,
                 "delay is %s %s: delays up to here spread over %u bursts, "
                 "wanted at most %u",
                 found, unit, most - least, VLY_DELAY_SPREAD_MAX);
        return 0;
    }
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

static bool grow(vly_edge_maker *maker)
{
    uint64_t n = maker->capacity ? maker->capacity * 2 : 1024;
    GROW(maker->source, n);
    GROW(maker->target, n);
    GROW(maker->place, n);
    if (maker->has_weight)
        GROW(maker->weight, n);
    if (maker->has_delay)
        GROW(maker->delay, n);
    maker->capacity = n;
    return true;
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
    if (maker->n == maker->capacity && !grow(maker))
        return vly_fail_nomem(maker->error, maker->capacity * 48,
                              "the synapses of a file");
    maker->source[maker->n] = edge->source;
    maker->target[maker->n] = edge->target;
    maker->place[maker->n] = (uint32_t)edge->place;
    if (maker->has_weight)
        maker->weight[maker->n] = edge->weight;
    if (maker->has_delay)
        maker->delay[maker->n] = bursts;
    maker->n++;
    return VLY_OK;
}

/* ---- order -------------------------------------------------------------- */

/* order (NULL: as it is) becomes sorted, stable by keys, in *out. */
static bool sort_by(const uint32_t *keys, uint32_t n_keys, uint64_t n,
                    const uint32_t *order, uint32_t *out)
{
    uint64_t *at = vly_calloc((size_t)n_keys + 1, sizeof(*at));
    if (!at)
        return false;
    for (uint64_t i = 0; i < n; i++)
        at[keys[i] + (size_t)1]++;
    for (uint32_t k = 0; k < n_keys; k++)
        at[k + (size_t)1] += at[k];
    for (uint64_t i = 0; i < n; i++) {
        uint32_t from = order ? order[i] : (uint32_t)i;
        out[at[keys[from]]++] = from;
    }
    vly_free(at);
    return true;
}

static uint64_t first_twice(const vly_edge_maker *maker, const uint32_t *order)
{
    for (uint64_t i = 1; i < maker->n; i++)
        if (maker->source[order[i]] == maker->source[order[i - 1]] &&
            maker->target[order[i]] == maker->target[order[i - 1]])
            return maker->place[order[i]];
    return 0;
}

static bool list_fill(const vly_edge_maker *maker, const uint32_t *order,
                      vly_edge_list *list)
{
    size_t n = (size_t)maker->n;
    list->n = maker->n;
    list->source = vly_malloc(n, sizeof(*list->source));
    list->target = vly_malloc(n, sizeof(*list->target));
    list->weight =
        maker->has_weight ? vly_malloc(n, sizeof(*list->weight)) : NULL;
    list->delay = maker->has_delay ? vly_malloc(n, sizeof(*list->delay)) : NULL;
    if (!list->source || !list->target ||
        (maker->has_weight && !list->weight) ||
        (maker->has_delay && !list->delay))
        return false;
    for (size_t i = 0; i < n; i++) {
        list->source[i] = maker->source[order[i]];
        list->target[i] = maker->target[order[i]];
        if (list->weight)
            list->weight[i] = maker->weight[order[i]];
        if (list->delay)
            list->delay[i] = maker->delay[order[i]];
    }
    return true;
}

vly_status vly_edges_finish(vly_edge_maker *maker, uint64_t *twice,
                            vly_edge_list **list)
{
    const vly_edge_spec *spec = maker->spec;
    vly_status status = VLY_OK;
    size_t n = (size_t)maker->n;
    uint32_t *by_target = vly_malloc(n, sizeof(*by_target));
    uint32_t *order = vly_malloc(n, sizeof(*order));
    vly_edge_list *made = vly_calloc(1, sizeof(*made));
    *twice = 0;
    if (!by_target || !order || !made ||
        !sort_by(maker->target, spec->to->n_neurons, n, NULL, by_target) ||
        !sort_by(maker->source, spec->from->n_neurons, n, by_target, order)) {
        status = vly_fail_nomem(maker->error, (uint64_t)n * 8,
                                "the synapses of a file");
        goto out;
    }
    if (!spec->multiple)
        *twice = first_twice(maker, order);
    if (*twice)
        goto out;
    if (!list_fill(maker, order, made)) {
        status = vly_fail_nomem(maker->error, (uint64_t)n * 20,
                                "the synapses of a file");
        goto out;
    }
    made->n_rounded = maker->n_rounded;
    *list = made;
    made = NULL;
out:
    vly_free(by_target);
    vly_free(order);
    vly_edges_destroy(made);
    return status;
}
