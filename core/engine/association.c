/* SPDX-License-Identifier: Apache-2.0
 * Weights change once a burst, after its spikes, by FEAGI's rule
 * (kernels/rules/feagi_stdp.h). If both ends fired in every burst of the
 * window, the weight goes a step up, and a missing synapse is made. Otherwise,
 * if an end fired within the window, it goes a step down. A synapse of weight 0
 * stays, and its events arrive. Both directions share one weight, because the
 * rule has no direction. Source: feagi-core 0.0.1-beta.18, burst engine, npu.rs
 */
#include "engine/association.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { WEIGHT_MOST = 255, ROOM = 8 };

/* ---- create ------------------------------------------------------------- */

static bool is_one_area(const vly_association_net *net)
{
    return net->association->from == net->association->to;
}

static vly_status side_init(vly_association_net *net, int s, uint32_t area,
                            const vly_connectome *connectome, vly_error *error)
{
    vly_association_side *side = &net->sides[s];
    const uint32_t n = connectome->areas[area].n_neurons;
    *side = (vly_association_side){
        .area = area, .first = connectome->areas[area].first, .n = n};
    side->past = vly_malloc(n, sizeof(*side->past));
    side->rows = vly_calloc(n, sizeof(*side->rows));
    side->lately = vly_malloc(n, sizeof(*side->lately));
    net->sums[s] = vly_calloc(n, sizeof(**net->sums));
    net->reached[s] = vly_malloc(n, sizeof(**net->reached));
    net->is_reached[s] = vly_calloc(n, sizeof(**net->is_reached));
    if (!side->past || !side->rows || !side->lately || !net->sums[s] ||
        !net->reached[s] || !net->is_reached[s])
        return vly_fail_nomem(error, n * sizeof(*side->rows), "an association");
    for (uint32_t i = 0; i < n; i++)
        side->past[i] = -(int32_t)net->association->window;
    return VLY_OK;
}

vly_status vly_association_init(vly_association_net *net,
                                const vly_association *association,
                                const vly_connectome *connectome,
                                vly_error *error)
{
    vly_status status;
    *net = (vly_association_net){.association = association};
    VLY_TRY(side_init(net, 0, association->from, connectome, error));
    VLY_TRY(side_init(net, 1, association->to, connectome, error));
out:
    return status;
}

void vly_association_deinit(vly_association_net *net)
{
    for (int s = 0; s < 2; s++) {
        vly_association_side *side = &net->sides[s];
        for (uint32_t i = 0; side->rows && i < side->n; i++)
            vly_free(side->rows[i].ends);
        vly_free(side->past);
        vly_free(side->rows);
        vly_free(side->lately);
        vly_free(net->sums[s]);
        vly_free(net->reached[s]);
        vly_free(net->is_reached[s]);
    }
    *net = (vly_association_net){0};
}

/* ---- rows --------------------------------------------------------------- */

/* Place of the end, or where it would be. */
static uint32_t place_of(const vly_association_row *row, uint32_t other)
{
    uint32_t low = 0;
    uint32_t high = row->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (row->ends[middle].other < other)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_end(const vly_association_row *row, uint32_t at, uint32_t other)
{
    return at < row->n && row->ends[at].other == other;
}

static vly_status reserve(vly_association_row *row, vly_error *error)
{
    if (row->n < row->room)
        return VLY_OK;
    uint32_t room = row->room ? 2 * row->room : ROOM;
    vly_association_end *grown = vly_realloc(row->ends, room, sizeof(*grown));
    if (!grown)
        return vly_fail_nomem(error, room * sizeof(*grown), "a synapse");
    row->ends = grown;
    row->room = room;
    return VLY_OK;
}

static void insert(vly_association_row *row, uint32_t other, uint32_t weight)
{
    const uint32_t at = place_of(row, other);
    memmove(row->ends + at + 1, row->ends + at,
            (row->n - at) * sizeof(*row->ends));
    row->ends[at] = (vly_association_end){other, weight};
    row->n++;
}

static void erase(vly_association_row *row, uint32_t other)
{
    const uint32_t at = place_of(row, other);
    memmove(row->ends + at, row->ends + at + 1,
            (row->n - at - 1) * sizeof(*row->ends));
    row->n--;
}

vly_status vly_association_add(vly_association_net *net, uint32_t from,
                               uint32_t to, uint32_t weight, vly_error *error)
{
    vly_association_row *row = &net->sides[0].rows[from];
    vly_association_row *column = &net->sides[1].rows[to];
    vly_status status;
    VLY_TRY(reserve(row, error));
    VLY_TRY(reserve(column, error));
    insert(row, to, weight);
    insert(column, from, 0);
    net->n_synapses++;
out:
    return status;
}

void vly_association_forget(vly_association_net *net, uint32_t area,
                            uint32_t neuron)
{
    for (int s = 0; s < 2; s++) {
        vly_association_side *side = &net->sides[s];
        if (side->area != area)
            continue;
        vly_association_row *row = &side->rows[neuron];
        for (uint32_t k = 0; k < row->n; k++)
            erase(&net->sides[1 - s].rows[row->ends[k].other], neuron);
        net->n_synapses -= row->n;
        row->n = 0;
        side->past[neuron] = -(int32_t)net->association->window;
    }
}

/* ---- what neurons did --------------------------------------------------- */

void vly_association_list(vly_association_net *net)
{
    const int32_t window = (int32_t)net->association->window;
    for (int s = 0; s < 2; s++) {
        vly_association_side *side = &net->sides[s];
        side->n_lately = 0;
        for (uint32_t i = 0; i < side->n; i++)
            if (side->past[i] > -window)
                side->lately[side->n_lately++] = i;
    }
}

/* The spikes of the side's area among those of the burst. */
typedef struct side_spikes {
    const uint32_t *ids;
    const uint32_t *gains;
    uint32_t n;
} side_spikes;

uint32_t vly_memory_spikes_find(const vly_memory_spikes *spikes, uint32_t id)
{
    uint32_t low = 0;
    uint32_t high = spikes->n_ids;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (spikes->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static side_spikes spikes_of(const vly_association_side *side,
                             const vly_memory_spikes *spikes)
{
    const uint32_t from = vly_memory_spikes_find(spikes, side->first);
    const uint32_t to = vly_memory_spikes_find(spikes, side->first + side->n);
    return (side_spikes){.ids = spikes->ids + from,
                         .gains = spikes->gains + from,
                         .n = to - from};
}

/* Neurons of `lately` that did not fire grow older; those that leave the
 * window, and those that fired, are taken from the list. Returns how many stay.
 */
static uint32_t grow_older(vly_association_side *side, int32_t window,
                           const side_spikes *spikes)
{
    uint32_t kept = 0;
    uint32_t k = 0;
    for (uint32_t i = 0; i < side->n_lately; i++) {
        const uint32_t neuron = side->lately[i];
        int32_t *past = &side->past[neuron];
        while (k < spikes->n && spikes->ids[k] < side->first + neuron)
            k++;
        if (k < spikes->n && spikes->ids[k] == side->first + neuron)
            continue;
        *past = *past > 0 ? -1 : *past - 1;
        if (*past > -window)
            side->lately[kept++] = neuron;
    }
    return kept;
}

/* Both lists ascend; they are merged from their ends, so in place. */
static void update_past(vly_association_side *side, int32_t window,
                        const side_spikes *spikes)
{
    uint32_t kept = grow_older(side, window, spikes);
    uint32_t k = spikes->n;
    uint32_t to = kept + k;
    side->n_lately = to;
    while (k > 0) {
        const uint32_t neuron = spikes->ids[k - 1] - side->first;
        int32_t *past = &side->past[neuron];
        if (kept > 0 && side->lately[kept - 1] > neuron) {
            side->lately[--to] = side->lately[--kept];
            continue;
        }
        *past = *past <= 0 ? 1 : *past < window ? *past + 1 : window;
        side->lately[--to] = neuron;
        k--;
    }
}

/* ---- weights ------------------------------------------------------------ */

static bool fired_throughout(const vly_association_net *net, int s, uint32_t i)
{
    return net->sides[s].past[i] >= (int32_t)net->association->window;
}

static bool fired_lately(const vly_association_net *net, int s, uint32_t i)
{
    return net->sides[s].past[i] > -(int32_t)net->association->window;
}

static void learn(vly_association_net *net, vly_association_end *end, bool both)
{
    const vly_association *rule = net->association;
    if (both)
        end->weight = end->weight + rule->up < WEIGHT_MOST
                          ? end->weight + rule->up
                          : WEIGHT_MOST;
    else
        end->weight = end->weight > rule->down ? end->weight - rule->down : 0;
}

/* Each synapse once: those of a source that fired, then those whose target
 * alone did. */
static void learn_all(vly_association_net *net)
{
    const vly_association_side *from = &net->sides[0];
    const vly_association_side *to = &net->sides[1];
    for (uint32_t k = 0; k < from->n_lately; k++) {
        const uint32_t i = from->lately[k];
        const vly_association_row *row = &from->rows[i];
        for (uint32_t e = 0; e < row->n; e++)
            learn(net, &row->ends[e],
                  fired_throughout(net, 0, i) &&
                      fired_throughout(net, 1, row->ends[e].other));
    }
    for (uint32_t k = 0; k < to->n_lately; k++) {
        const uint32_t j = to->lately[k];
        const vly_association_row *column = &to->rows[j];
        for (uint32_t e = 0; e < column->n; e++) {
            const vly_association_row *row = &from->rows[column->ends[e].other];
            if (!fired_lately(net, 0, column->ends[e].other))
                learn(net, &row->ends[place_of(row, j)], false);
        }
    }
}

static vly_status create(vly_association_net *net, vly_error *error)
{
    const vly_association_side *from = &net->sides[0];
    const vly_association_side *to = &net->sides[1];
    vly_status status = VLY_OK;
    for (uint32_t k = 0; k < from->n_lately && net->association->up > 0; k++) {
        const uint32_t i = from->lately[k];
        if (!fired_throughout(net, 0, i))
            continue;
        for (uint32_t e = 0; e < to->n_lately; e++) {
            const uint32_t j = to->lately[e];
            const vly_association_row *row = &from->rows[i];
            if (fired_throughout(net, 1, j) &&
                !has_end(row, place_of(row, j), j))
                VLY_TRY(vly_association_add(net, i, j, net->association->up,
                                            error));
        }
    }
out:
    return status;
}

/* ---- events ------------------------------------------------------------- */

static void reach(vly_association_net *net, int s, uint32_t neuron,
                  int64_t value)
{
    net->sums[s][neuron] += net->association->inhibitory ? -value : value;
    if (net->is_reached[s][neuron])
        return;
    net->is_reached[s][neuron] = true;
    net->reached[s][net->n_reached[s]++] = neuron;
}

static void send(vly_association_net *net, const side_spikes spikes[2])
{
    const vly_association_side *from = &net->sides[0];
    const vly_association_side *to = &net->sides[1];
    for (int s = 0; s < 2; s++) {
        for (uint32_t k = 0; k < net->n_reached[s]; k++) {
            net->sums[s][net->reached[s][k]] = 0;
            net->is_reached[s][net->reached[s][k]] = false;
        }
        net->n_reached[s] = 0;
    }
    for (uint32_t k = 0; k < spikes[0].n; k++) {
        const vly_association_row *row =
            &from->rows[spikes[0].ids[k] - from->first];
        for (uint32_t e = 0; e < row->n; e++)
            reach(net, 1, row->ends[e].other,
                  (int64_t)row->ends[e].weight * spikes[0].gains[k]);
    }
    for (uint32_t k = 0; k < spikes[1].n && !is_one_area(net); k++) {
        const uint32_t j = spikes[1].ids[k] - to->first;
        for (uint32_t e = 0; e < to->rows[j].n; e++) {
            const uint32_t i = to->rows[j].ends[e].other;
            const vly_association_row *row = &from->rows[i];
            reach(net, 0, i,
                  (int64_t)row->ends[place_of(row, j)].weight *
                      spikes[1].gains[k]);
        }
    }
}

vly_status vly_association_step(vly_association_net *net,
                                const vly_memory_spikes *spikes,
                                vly_error *error)
{
    const uint32_t window = net->association->window;
    const side_spikes of[2] = {spikes_of(&net->sides[0], spikes),
                               spikes_of(&net->sides[1], spikes)};
    vly_status status = VLY_OK;
    for (int s = 0; s < 2; s++)
        update_past(&net->sides[s], (int32_t)window, &of[s]);
    net->n_bursts += net->n_bursts < window;
    if (net->n_bursts == window) {
        learn_all(net);
        VLY_TRY(create(net, error));
    }
    send(net, of);
out:
    return status;
}
