/* SPDX-License-Identifier: Apache-2.0
 * A connectome: every neuron and synapse of a genome as flat arrays, the same
 * bytes for any number of threads, compiler and machine. Read-only once made;
 * nets share it. Saved and loaded as one file (FORMAT.md has the layout).
 */
#ifndef VOLLEY_CONNECTOME_CONNECTOME_H
#define VOLLEY_CONNECTOME_CONNECTOME_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "genome/genome.h"

/* Values of one parameter over one area, as the user gave or drew them. */
typedef struct vly_param_column {
    const double *values; /* [1] or [n_neurons] */
    bool uniform;
} vly_param_column;

/* The place of the scale of a port. */
static inline float *vly_area_scale(vly_area_desc *desc, uint32_t port)
{
    return port < 2 ? &desc->scale[port] : &desc->scale_more[port - 2];
}

/* The first of targets [first, end), which ascend, that is at least `least`;
 * end if there is none. */
static inline uint64_t vly_targets_find(const uint32_t *targets, uint64_t first,
                                        uint64_t end, uint32_t least)
{
    while (first < end) {
        const uint64_t middle = first + (end - first) / 2;
        if (targets[middle] < least)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

typedef struct vly_connectome_area {
    const char *name;
    const vly_model_info *model;
    uint32_t first;
    uint32_t n_neurons;
    bool has_voxels;
    uint32_t voxels[3];
    uint32_t neurons_per_voxel;
    double at[3];
    int32_t q[VLY_PORTS_MAX];       /* port unit = accumulator * 2^-q */
    const vly_param_column *params; /* [model->n_params] */
    /* [n_neurons] sum of |weight| * largest gain of the incoming synapses of
     * each port; stimuli may add 2^30 less this */
    const uint32_t *load[VLY_PORTS_MAX];
} vly_connectome_area;

/* The rule of a projection that learns or has short-term plasticity, as given:
 * what the engine needs to change it while the net runs. */
typedef struct vly_connectome_learning {
    const char *name; /* of [plasticity.NAME] */
    const vly_plasticity_info *info;
    const double *params; /* [info->n_params] */
    double w_max;         /* with the sign of its weights; 0 of short-term
                           * plasticity */
} vly_connectome_learning;

/* Values that a file has of it: the parameters, w_max, and the number of the
 * modulator's area if the rule has a modulator. */
static inline uint32_t vly_learning_values(const vly_plasticity_info *info)
{
    return info->n_params + (info->modulated ? 2 : 1);
}

/* The source of the desc's projection of the same index. */
typedef struct vly_connectome_projection {
    const char *map;
    uint64_t n_synapses;
    double worst_rounding; /* |stored - asked| / |asked| of a constant or of
                              the mean of a distribution, clipped; 0 where the
                              mean asked is 0 to within 2^-32 of the width */
    double weight_min;     /* extremes as stored, in the port's unit */
    double weight_max;
    double unit; /* weights are multiples of it, in the port's unit */
    /* share of the pair's weights whose rounding error may exceed 1%, and the
     * largest such error; 0 if the connectome was loaded */
    double share_coarse;
    double worst_coarse;
    double mean_coarse; /* relative error of their mean if at least 0.1%,
                         * otherwise 0 */
    uint32_t pair;      /* of the genome; 0 if the connectome was loaded */
    const vly_connectome_learning *learning;   /* NULL: does not learn */
    const vly_connectome_learning *short_term; /* NULL: no such rule */
} vly_connectome_projection;

/* Its rule of plasticity, of any kind; NULL: none. */
static inline const vly_connectome_learning *
vly_connectome_rule(const vly_connectome_projection *projection)
{
    return projection->learning ? projection->learning : projection->short_term;
}

/* A stimulus as given, in numbers: what the engine needs to change it while
 * the net runs, to feed spike lists and to sum dc. */
typedef struct vly_connectome_stimulus {
    const char *id;
    vly_stimulus_kind kind;
    uint32_t area;
    uint32_t first; /* global id */
    uint32_t n_neurons;
    uint32_t port;
    bool listed; /* one of several with the values of a list */
    double rate_hz;
    double weight;
    double mean;
    double sd;
    uint64_t start;
    uint64_t stop;
    uint32_t desc_index;     /* of those that draw: in desc.stimuli */
    const vly_input *inputs; /* spikes: [n_inputs] sorted as in vly_run */
    uint64_t n_inputs;
} vly_connectome_stimulus;

typedef struct vly_connectome {
    vly_net_desc desc;  /* the description for backends; points into this */
    vly_snapshot start; /* burst 0 */
    const vly_connectome_area *areas;             /* [desc.n_areas] */
    const vly_connectome_projection *projections; /* [desc.n_projections] */
    const vly_connectome_stimulus *stimuli;       /* [n_stimuli], genome order,
                                                     all kinds */
    uint32_t n_stimuli;
    const vly_memory_rule *memories; /* in the order of their areas */
    uint32_t n_memories;
    const vly_association *associations;
    uint32_t n_associations;
    uint64_t n_bursts; /* of [run] */
    uint64_t seed_network;
    uint64_t seed_state;
    vly_hash genome_hash;
    vly_hash hash;    /* of the content */
    uint64_t n_bytes; /* memory held (mapped or allocated) */
    /* Only synapses onto neurons [own_first, own_last) are there
     * (connectome_part.h) */
    bool part;
    uint32_t own_first;
    uint32_t own_last;
    uint64_t n_synapses_whole; /* of all parts */
    const char *resolved;      /* genome text it came from */
    void *storage;             /* private */
} vly_connectome;

/* Synapses of the whole network. */
static inline uint64_t vly_connectome_n_whole(const vly_connectome *connectome)
{
    return connectome->part ? connectome->n_synapses_whole
                            : connectome->desc.n_synapses;
}

/* Declared in volley.h:
 * vly_connectome_build  on n_threads threads; peak memory at most 8 bytes a
 *                       synapse plus what the neurons need.
 *     Errors  E_PARSE a weight that would become 0, the bound of 2^30 exceeded
 *             (map, neuron and figures named), a Poisson table over 256, a
 *             chance above 1; E_NOMEM.
 * vly_connectome_save  to a temporary file beside path, synced and renamed.
 * vly_connectome_load  verifies magic, version, sizes and model table hashes
 *                      and, if verify is not 0, reads the file into memory and
 *                      verifies the checksums of all sections and that every
 *                      index is in range, so that a damaged file cannot crash a
 *                      backend. With verify 0 the file is mapped read-only and
 *                      trusted: if the file is truncated while the connectome
 *                      lives, SIGBUS ends the process. Errors E_IO cannot be
 *                      read; E_PARSE names the damaged part and the damage;
 *                      E_NOMEM. */

/* Coefficient columns of one area for given parameters and dc input: words
 * [n_coefs][1 or n]. params [model->n_params]; dc in the unit of port 0's
 * constant input: [1] or [n_neurons] doubles. A column is uniform if all its
 * inputs are. The caller frees *columns with vly_coefs_free.
 * Errors  E_INVALID inconsistent parameters (VLY_CHECK of the model's table);
 *         the message has the area, neuron, values and the condition; E_NOMEM
 */
vly_status vly_coefs_make(const vly_connectome_area *area,
                          const vly_param_column *params, const double *dc,
                          bool dc_uniform, double dt_ms, vly_column **columns,
                          vly_error *error);
void vly_coefs_free(vly_column *columns);

/* Relative error that rounding to 2^-q causes in a stimulus: of its weight; for
 * a normal stimulus, of its mean (relative to the larger of mean and deviation)
 * or of its deviation, whichever is larger. */
double vly_stimulus_rounding(const vly_connectome_stimulus *stimulus,
                             double dt_ms, int32_t q);

/* Events a second that the thresholds of a stimulus of events draw: rate_hz to
 * within what multiples of 2^-32 a burst allow; rate_hz of other kinds. */
double vly_stimulus_rate(const vly_connectome_stimulus *stimulus, double dt_ms);

/* Thresholds of a stimulus that draws: fills desc's thresholds
 * (allocated; the caller frees with vly_free), n_thresholds, base, step and
 * flags from kind, rate_hz, weight, mean, sd, dt and the port's q.
 * *reach: the largest |base + k step|, of a stimulus of events at least |step|,
 * so that there is room for an event whatever the rate becomes. */
vly_status vly_stimulus_table(const vly_connectome_stimulus *stimulus,
                              double dt_ms, int32_t q, vly_stimulus_desc *desc,
                              uint64_t *reach, vly_error *error);

#endif
