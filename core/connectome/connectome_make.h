/* SPDX-License-Identifier: Apache-2.0
 * A connectome while it is built: the data that the steps of connectome_build.c
 * exchange.
 */
#ifndef VOLLEY_CONNECTOME_CONNECTOME_MAKE_H
#define VOLLEY_CONNECTOME_CONNECTOME_MAKE_H

#include "connectome/connectome_work.h"
#include "connectome/value_law.h"

/* A note is made if rounding changes a constant weight (so all synapses of the
 * map), a mean or a rate by more than this share. */
#define VLY_COARSE_CONSTANT 0.001

typedef struct vly_made_pair {
    const vly_pair *pair;
    uint32_t port; /* BY_SIGN only if the target has two */
    bool by_sign;
    const uint64_t *row;
    const uint32_t *target;
    uint32_t n_from; /* neurons of the source area */
    uint64_t n_synapses;
    /* of the whole pair: n_synapses, unless a part is built, which holds only
     * the synapses onto own neurons */
    uint64_t n_whole;
    uint64_t *place;    /* [n_from] number, in the whole pair, of the first own
                         * synapse of each source; NULL: not a part */
    uint32_t *total;    /* [n_from] synapses of a source; NULL: not a part */
    uint32_t in_most;   /* onto one neuron; of a part only */
    uint64_t size_most; /* |weight| that the law allows, units of 2^-q */
    int32_t q_drawn;    /* the law's values are drawn in units of 2^-q_drawn */
    int16_t *weight;    /* NULL, without value: all are weight_min */
    uint8_t *delay;     /* beyond base_delay */
    uint16_t *far; /* instead of delay, until the split, if 8 bits do not hold
                    * the largest */
    uint32_t base_delay;
    uint32_t delay_max;
    const vly_edge_list *given; /* what each synapse has given; NULL: nothing */
    vly_law law;                /* of the weight */
    double worst_rounding;
    uint32_t shift;     /* weights are units of 2^(shift - q) */
    bool wide;          /* of several shifts: synapse_split.c splits the pair */
    int32_t *value;     /* [n_synapses] units of 2^-q, until the split */
    int32_t weight_min; /* in the units of weight or value */
    int32_t weight_max;
    int32_t delivered; /* the largest weight of a pair that learns, in the units
                          of weight; otherwise 0 */
    double share_coarse; /* share of weights whose error may exceed 1%;
                          * constant weight: 1 if the error exceeds 0.1% */
    double worst_coarse; /* the largest error of one of them */
    double mean_coarse;  /* relative error of their mean if at least 0.1%,
                          * otherwise 0 */
} vly_made_pair;

/* The weights of a pair as they are added, in units of 2^-q. */
static inline int64_t vly_made_weight(const vly_made_pair *made, uint64_t i)
{
    if (made->value)
        return made->value[i];
    return (made->weight ? made->weight[i] : made->weight_min) *
           (INT64_C(1) << made->shift);
}

typedef struct vly_made_area {
    vly_param_column *params;
    vly_column *coefs;
    int32_t q[VLY_PORTS_MAX];
    uint32_t *load[VLY_PORTS_MAX];
} vly_made_area;

struct vly_rank_part;
typedef struct vly_maker {
    const vly_genome *genome;
    uint32_t n_threads;
    vly_storage *storage;
    struct vly_rank_part *part; /* part_make.h; NULL: the whole is built */
    vly_made_area *areas;
    vly_made_pair *pairs;
    vly_made_pair *projections; /* pairs, or the parts of one */
    uint32_t n_projections;
    vly_connectome_stimulus *stimuli; /* [n_stimuli]; inputs without values
                                         until q is known */
    uint32_t *state;
    uint32_t *out_degree;
    uint32_t feagi_q;
    vly_error *error;
} vly_maker;

/* area_columns.c: params, coefs and state of one area; state points to its
 * first word.
 * Errors  E_PARSE a drawn value is out of range; E_NOMEM */
vly_status vly_area_columns_make(vly_maker *maker, uint32_t area,
                                 uint32_t *state);

/* area_values.c: the description of a parameter or field as a value, and its
 * column, owned by the storage.
 * Errors  E_PARSE with its place; E_NOMEM */
typedef struct vly_value_target {
    const vly_area *area;
    const char *name;
    const char *unit;
    double lo;
    double hi;
} vly_value_target;
vly_status vly_value_column(const vly_maker *maker, vly_storage *storage,
                            const vly_value_target *target,
                            const vly_value *value, vly_param_column *column);

/* area_unfit.c: E_INVALID with the condition (text, from the model's check_of)
 * and the values [n_params] of a neuron, which is named if not all neurons are
 * the same
 */
vly_status vly_unfit_fail(const vly_connectome_area *area, const double *values,
                          const vly_param_column *params, uint32_t neuron,
                          const char *text, vly_error *error);
/* The same as E_PARSE, after the place of the first parameter that text names
 * and the file gives, or of the area. */
vly_status vly_unfit_placed(const vly_maker *maker, const vly_area *area,
                            const char *unfit, const vly_error *why);

/* synapse_values.c, synapse_delays.c: laws, weights (in units of 2^-q) and
 * delays of a pair. Errors  E_PARSE with its place; E_NOMEM */
vly_status vly_weights_check(vly_maker *maker, vly_made_pair *made);
/* For all pairs to the area. q of each port; q of port 0 if the sign chooses
 * the port. refined: pairs have their own units. */
vly_status vly_weights_draw(vly_maker *maker, uint32_t area, const int32_t *q,
                            bool refined);
/* Whether 16 bits in units of 2^-q hold every weight of the pair. */
bool vly_weights_fit(const vly_made_pair *made, int32_t q);
/* Whether rounding to units of 2^-q exceeds the error that requires a finer
 * unit: 0.1% for a number; 1% for one given weight or 0.1% for the mean of
 * given weights; 1% for more than 2% of a distribution. */
bool vly_weights_coarse(const vly_made_pair *made, int32_t q);
vly_status vly_delays_draw(vly_maker *maker, vly_made_pair *made, uint32_t n);
/* Room for delays of up to `most` beyond base_delay: far, or delay.
 * Errors  E_NOMEM */
vly_status vly_delays_memory(vly_maker *maker, vly_made_pair *made,
                             uint32_t most);

/* synapse_given.c: weights and delays that a file gives for each synapse of a
 * pair. To choose q, a law represents them: its ends are the extremes, its mean
 * is the nonzero value nearest to 0. */
bool vly_weights_given(const vly_made_pair *made);
bool vly_delays_given(const vly_made_pair *made);
void vly_given_law(vly_made_pair *made);
/* Largest relative rounding at 2^-q, and of the mean; the three *_coarse of the
 * pair if it is not NULL. */
double vly_given_rounding(const vly_made_pair *made, int32_t q,
                          double *mean_rounding, vly_made_pair *coarse);
/* Stores weights [first, last); widens [*least, *most] to them. */
void vly_given_weights(const vly_made_pair *made, int32_t q, uint64_t first,
                       uint64_t last, int32_t *least, int32_t *most);
/* Weight number i of the whole pair, as stored. */
int32_t vly_given_weight(const vly_made_pair *made, int32_t q, uint64_t i);
/* [*least, *most] of the whole pair, also where a part is built. */
void vly_given_extremes(const vly_made_pair *made, int32_t q, int32_t *least,
                        int32_t *most);
/* base_delay, delay_max and delay. Errors  E_PARSE; E_NOMEM */
vly_status vly_given_delays(vly_maker *maker, vly_made_pair *made);

/* synapse_distance.c: values that depend on distance become given values.
 * Errors  E_PARSE a value out of range; E_NOMEM */
struct vly_near;
vly_status vly_distance_values(vly_maker *maker, vly_made_pair *made,
                               const struct vly_near *near);

/* synapse_loads.c: sums[port * n_neurons + k] = sum of |weight| * largest gain
 * of the synapses into neuron k of the area; gains at Q count at FEAGI areas.
 * Errors  E_NOMEM */
vly_status vly_loads_sum(vly_maker *maker, uint32_t area, uint32_t feagi_q,
                         uint64_t *sums);
/* No neuron of the area has a larger sum at the port, in the whole; of a part
 * only. */
uint64_t vly_loads_bound(const vly_maker *maker, uint32_t area, uint32_t port,
                         uint32_t feagi_q);
/* The pair that adds most to one neuron and port, and the sum; NULL: none */
const vly_made_pair *vly_loads_largest(vly_maker *maker, uint32_t area,
                                       uint32_t feagi_q, uint32_t port,
                                       uint32_t neuron, uint64_t *share);
/* Largest gain of a neuron's spikes at FEAGI targets */
uint32_t vly_gain_largest(const vly_maker *maker, uint32_t area,
                          uint32_t neuron, uint32_t feagi_q);

/* synapse_split.c: the number of the shift that a weight needs. */
#define VLY_SPLIT_PARTS (VLY_SHIFT_MAX / VLY_SHIFT_STEP + 1)
uint32_t vly_split_part(int32_t value);
/* Makes maker->projections from the pairs. A wide pair becomes one projection
 * for each shift that its weights need, and one of far delays one for each 256
 * bursts, each with its own rows.
 * Errors  E_NOMEM */
vly_status vly_pairs_split(vly_maker *maker);

/* quantise.c: q of every port, Q, weights and loads.
 * Errors  E_PARSE a weight that would become 0, the bound; E_NOMEM */
vly_status vly_quantise(vly_maker *maker);

/* stimulus_table.c: the largest |input| of one burst at scale 2^q for each
 * neuron of an area, added to sums; saturates. Pieces of one list stand one
 * after another. The last call, with stimulus NULL, ends it.
 * Errors  E_PARSE the table is too long; E_NOMEM */
typedef struct vly_reach {
    uint64_t *sums;   /* [n] */
    uint64_t *listed; /* [n] zeros: of the pieces of a list */
    uint32_t n;
    uint32_t first;   /* global id */
    const char *list; /* its id; NULL at first */
} vly_reach;
vly_status vly_reach_add(vly_reach *reach,
                         const vly_connectome_stimulus *stimulus, double dt_ms,
                         int32_t q, vly_error *error);

/* Adds the stimulus' place before the message of a failure; OK stays OK. */
vly_status vly_stimulus_placed(const vly_maker *maker, uint32_t stimulus,
                               vly_status status, const vly_error *why);

/* floor(weight * 2^q + 0.5) */
double vly_weight_scaled(double weight, int32_t q);

#endif
