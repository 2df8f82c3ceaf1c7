/* SPDX-License-Identifier: Apache-2.0
 * Sizes of a genome before it is compiled, in doubles: they may be absurd.
 */
#include "tools/cli/check_size.h"

#include "genome/voxel_rule.h"

#include "connectome/synapse_rules.h"
#include "genome/genome_end.h"
#include "genome/genome_space.h"

/* For one axis: positions of [0, from) that are in [0, to) after a shift. */
static double overlap(uint32_t from, uint32_t to, int32_t shift)
{
    double first = shift < 0 ? -(double)shift : 0.0;
    double last = (double)to - (double)shift;
    if (last > (double)from)
        last = (double)from;
    return last > first ? last - first : 0.0;
}

static uint32_t voxels(const vly_area *area, int axis)
{
    if (area->has_voxels)
        return area->voxels[axis];
    return axis == 0 ? area->n_neurons : 1;
}

static double vector_synapses(const vly_area *from, const vly_area *to,
                              const vly_pair *pair)
{
    double sum = 0.0;
    double per_pair =
        (from->has_voxels ? (double)from->neurons_per_voxel : 1.0) *
        (to->has_voxels ? (double)to->neurons_per_voxel : 1.0);
    for (uint32_t v = 0; v < pair->n_vectors; v++) {
        double pairs = per_pair;
        bool zero = true;
        bool seen = false;
        for (uint32_t w = 0; w < v && !seen; w++)
            seen = pair->vectors[w][0] == pair->vectors[v][0] &&
                   pair->vectors[w][1] == pair->vectors[v][1] &&
                   pair->vectors[w][2] == pair->vectors[v][2];
        for (int axis = 0; axis < 3; axis++) {
            int32_t shift = pair->vectors[v][axis];
            zero = zero && shift == 0;
            pairs *= overlap(voxels(from, axis), voxels(to, axis), shift);
        }
        if (zero && pair->from == pair->to && !pair->self)
            pairs -= (double)from->n_neurons;
        sum += seen ? 0.0 : pairs;
    }
    return sum;
}

static double rule_synapses(const vly_genome *genome, const vly_pair *pair)
{
    const vly_area *from = &genome->areas[pair->from];
    const vly_area *to = &genome->areas[pair->to];
    double n_from = (double)vly_pair_sources(genome, pair);
    double n_to = (double)vly_pair_targets(genome, pair);
    double own = pair->self ? 0.0 : (double)vly_pair_shared(genome, pair);
    double pairs = n_from * n_to - own;
    switch (pair->rule) {
#define N_FROM n_from
#define N_TO n_to
#define N_PAIRED (n_from - own)
#define N_PAIRS pairs
#define N_LIKELY (pair->p * pairs)
#define N_COUNT ((double)pair->count)
#define N_IN_DEGREE vly_degree_mean(pair)
#define N_OUT_DEGREE vly_degree_mean(pair)
#define N_OF_VECTORS vector_synapses(from, to, pair)
#define N_OF_VOXELS vly_voxel_synapses(genome, pair)
#define N_EDGES ((double)pair->edges->n)
#define N_IN_REACH vly_space_pair(genome, pair)
#define VLY_RULE_SYNAPSES(id, expression)                                      \
    case VLY_RULE_##id:                                                        \
        return expression;
#include "genome/rules/rules.def"
    case VLY_RULES:
        break;
    }
    return 0.0;
}

double check_pair_synapses(const vly_genome *genome, const vly_pair *pair)
{
    return rule_synapses(genome, pair) * vly_pair_share(pair);
}

bool check_pair_exact(const vly_pair *pair)
{
    /* how the synapses of a pool divide is not known, or which of its neurons
     * would be their own targets */
    if (pair->pool &&
        (pair->pool->from.n_parts > 1 || pair->pool->to.n_parts > 1 ||
         (!pair->self && pair->from == pair->to)))
        return false;
    switch ((uint32_t)pair->rule) {
#define VLY_RULE_EXACT(id, condition)                                          \
    case VLY_RULE_##id:                                                        \
        return condition;
#include "genome/rules/rules.def"
    default:
        return true;
    }
}

double check_area_bytes(const vly_area *area)
{
    const vly_model_info *model = area->model;
    double n = (double)area->n_neurons;
    uint32_t drawn = 0;
    for (uint32_t i = 0; i < model->n_params; i++)
        drawn += area->params[i].kind != VLY_VALUE_NUMBER;
    /* if parameters are drawn, every coefficient may differ between neurons */
    double a_neuron = 4.0 * model->n_fields + 4.0 * model->n_ports + 4.0 +
                      8.0 * drawn + (drawn > 0 ? 4.0 * model->n_coefs : 0.0);
    return n * a_neuron;
}

void check_size_of(const vly_genome *genome, check_size *size)
{
    *size = (check_size){.exact = true};
    double largest = 0.0;
    for (uint32_t a = 0; a < genome->n_areas; a++)
        size->bytes += check_area_bytes(&genome->areas[a]);
    for (uint32_t i = 0; i < genome->n_pairs; i++) {
        const vly_pair *pair = &genome->pairs[i];
        double n = check_pair_synapses(genome, pair);
        /* target, and a weight and a delay if they differ */
        double each =
            4.0 + 2.0 * vly_weights_vary(pair) + 1.0 * vly_delays_vary(pair);
        each += pair->plasticity ? 4.0 : 0.0; /* at burst 0 */
        size->synapses += n;
        size->exact = size->exact && check_pair_exact(pair);
        size->bytes += n * each + 8.0 * genome->areas[pair->from].n_neurons;
        largest = n > largest ? n : largest;
    }
    for (uint32_t i = 0; i < genome->n_stimuli; i++)
        size->bytes += (double)genome->stimuli[i].n_spikes * sizeof(vly_input);
    size->peak_bytes = size->bytes + largest;
}
