/* SPDX-License-Identifier: Apache-2.0
 * A genome: a TOML file parsed, its expressions evaluated, overrides applied,
 * validated. Still small: one entry an area and one a pair of areas, nothing a
 * neuron or a synapse (given arrays excepted). Areas and maps keep the order
 * of the file.
 */
#ifndef VOLLEY_GENOME_GENOME_H
#define VOLLEY_GENOME_GENOME_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "base/random.h"
#include "genome/model_info.h"
#include "genome/plasticity_info.h"

/* Where a value came from. line 0: not from a file. */
typedef enum vly_origin_kind {
    VLY_ORIGIN_DEFAULT,
    VLY_ORIGIN_MODEL, /* a [model.NAME] table */
    VLY_ORIGIN_FILE,  /* the entry itself */
    VLY_ORIGIN_SET    /* --set */
} vly_origin_kind;

typedef struct vly_origin {
    vly_origin_kind kind;
    uint32_t line;
    uint32_t column;
    uint32_t file; /* 0: genome->path, k: genome->files[k - 1] */
} vly_origin;

/* A number, or how to draw one for each neuron or synapse. */
typedef enum vly_value_kind {
    VLY_VALUE_NUMBER,      /* a */
    VLY_VALUE_UNIFORM,     /* in [a, b) */
    VLY_VALUE_NORMAL,      /* mean a, standard deviation b */
    VLY_VALUE_LOGNORMAL,   /* exp of a normal with mean a, sd b */
    VLY_VALUE_EXPONENTIAL, /* mean a */
    VLY_VALUE_ARRAY,       /* array[n_array], one a neuron */
    VLY_VALUE_DRAW,        /* base + scale * r^power, r the named draw */
    VLY_VALUE_MIXTURE      /* of parts[n_parts], each with its share */
} vly_value_kind;

typedef struct vly_value {
    vly_value_kind kind;
    double a;
    double b;
    bool clipped;   /* clip given; without it normal and lognormal clip at 6 sd
                       of the underlying normal */
    double clip_lo; /* -HUGE_VAL / HUGE_VAL for an open side */
    double clip_hi;
    bool cut;      /* the lower end of the distribution was raised to its key's
                      range */
    double cut_lo; /* its lower end before that */
    double base;   /* VLY_VALUE_DRAW */
    double scale;
    double power;
    char *draw;    /* name of the per-neuron uniform draw; owned */
    double *array; /* owned */
    uint32_t n_array;
    struct vly_value *parts; /* VLY_VALUE_MIXTURE: numbers and distributions;
                                owned */
    double *shares;          /* [n_parts] they add up to 1; owned */
    uint32_t n_parts;
    vly_origin origin;
} vly_value;

typedef struct vly_area {
    char *name;
    char *model_name; /* [model.NAME] or the model's own id */
    const vly_model_info *model;
    const vly_model_info *recorded; /* the same model with sums of what arrives,
                                     * if a [[record]] wants its input: held,
                                     * and `model` too once all is read; NULL */
    const char *generator; /* of a generator area: its kind; it is built from
                            * its model and one stimulus */
    uint32_t n_neurons;
    uint32_t first; /* global id: sum of the areas before */
    bool has_voxels;
    uint32_t voxels[3];         /* x, y, z; neuron order: x outermost, then y,
                                   z, then the neurons of a voxel */
    uint32_t neurons_per_voxel; /* 1 without voxels */
    double at[3];
    bool has_positions;     /* otherwise neurons are at their voxels */
    vly_value positions[3]; /* x, y, z of each neuron; `at` is added */
    vly_value *params;      /* [model->n_params] */
    vly_value *fields; /* [model->n_fields] initial values; kind NUMBER with
                          origin DEFAULT means: the table's expression */
    vly_origin origin;
} vly_area;

/* Synapses that a file gives, sorted by source, then target; equal ones keep
 * the order of the file. */
typedef struct vly_edge_list {
    uint64_t n;
    uint32_t *source; /* index in its area */
    uint32_t *target;
    double *weight;     /* unit of the target's port; NULL: the map's */
    uint32_t *delay;    /* bursts; NULL: the map's */
    uint64_t n_rounded; /* delays that were not a whole number of bursts */
} vly_edge_list;

/* Rule distance. d is target - source, each axis wrapped to half a period. */
typedef enum vly_space_draw {
    VLY_SPACE_BERNOULLI, /* every pair with probability kernel(|d|) */
    VLY_SPACE_IN_DEGREE, /* degree sources a target, weighted by the kernel */
    VLY_SPACE_OUT_DEGREE
} vly_space_draw;

typedef enum vly_kernel_kind {
    VLY_KERNEL_CONSTANT,    /* amplitude */
    VLY_KERNEL_GAUSSIAN,    /* amplitude exp(-(d / length)^2 / 2) */
    VLY_KERNEL_EXPONENTIAL, /* amplitude exp(-d / length) */
    VLY_KERNEL_LINEAR       /* amplitude (1 - d / length), at least 0 */
} vly_kernel_kind;

typedef enum vly_mask_kind {
    VLY_MASK_NONE,
    VLY_MASK_BOX,    /* lo <= d <= hi on every axis */
    VLY_MASK_SPHERE, /* |d| <= outer */
    VLY_MASK_CIRCLE, /* the same of x and y alone */
    VLY_MASK_RING    /* inner <= |d| <= outer */
} vly_mask_kind;

typedef struct vly_space {
    vly_space_draw draw;
    uint32_t degree;
    vly_kernel_kind kernel;
    double length;
    double amplitude;
    double cutoff; /* a kernel below it counts as 0 */
    vly_mask_kind mask;
    double lo[3];
    double hi[3];
    double inner;
    double outer;
    double period[3];      /* 0: this axis has ends */
    double weight_slope;   /* weight + slope * |d| */
    double delay_slope_ms; /* delay + slope * |d| */
} vly_space;

typedef enum vly_rule {
#define VLY_RULE(id, name, keys, text) VLY_RULE_##id,
#include "genome/rules/rules.def"
    VLY_RULES
} vly_rule;

/* One pair of patterns: for each axis of the source and of the target voxel a
 * coordinate or one of VLY_PATTERN_*. */
#define VLY_PATTERN_ANY (-1)   /* "*" */
#define VLY_PATTERN_SAME (-2)  /* "?", the other side's coordinate */
#define VLY_PATTERN_OTHER (-3) /* "!", any but the other side's */
typedef struct vly_pattern {
    int32_t from[3];
    int32_t to[3];
} vly_pattern;

/* composite: the source cut into tiles of seed voxels; along each axis choose
 * tiles are taken, skip left out, and so on. */
typedef struct vly_tiles {
    uint32_t seed[3];
    uint32_t choose[3];
    uint32_t skip[3];
} vly_tiles;

#define VLY_NO_MODULATOR UINT32_MAX

/* A [plasticity.NAME]: how the synapses of the maps that name it learn. */
typedef struct vly_plasticity {
    char *name;
    const vly_plasticity_info *info;
    const char
        *suffix;    /* of w_max_<suffix>: the unit of the weights; "" none */
    double *params; /* [info->n_params]; owned */
    double w_max;   /* bound of every weight; below 0: inhibition; 0: the rule
                     * is one of short-term plasticity and has none */
    bool dendritic; /* the delay is on the target's side */
    bool nearest;
    bool frozen;
    uint32_t modulator;  /* area whose spikes raise it; VLY_NO_MODULATOR */
    vly_origin *origins; /* [info->n_params]; owned */
    vly_origin origin;
    vly_origin w_max_origin;
} vly_plasticity;

#define VLY_NO_AREA UINT32_MAX
#define VLY_MEMORY_DEPTH_MAX 65536u

/* An area whose spikes a memory remembers, and where it repeats them. */
typedef struct vly_memory_source {
    uint32_t area;
    uint32_t twin; /* VLY_NO_AREA: of none */
} vly_memory_source;

/* A [memory.NAME]: an area whose neurons stand for patterns of spikes. */
typedef struct vly_memory_rule {
    uint32_t area;
    vly_memory_source *sources; /* areas ascending; owned */
    uint32_t n_sources;
    uint32_t temporal_depth; /* bursts of a pattern */
    uint32_t init_lifespan;  /* bursts */
    uint32_t lifespan_growth_rate;
    uint32_t longterm_mem_threshold;
    vly_origin origin;
} vly_memory_rule;

/* A [association.NAME]: neurons of two areas that fire together connect. */
typedef struct vly_association {
    char *name; /* owned by the genome, or by the connectome */
    uint32_t from;
    uint32_t to;
    uint32_t window;    /* bursts */
    int32_t numbers[3]; /* plasticity_constant, ltp_ and ltd_multiplier */
    uint32_t up;        /* steps of a weight, 0 to 255 */
    uint32_t down;
    bool inhibitory;
    vly_origin origin;
} vly_association;

/* Neurons [first, first + n) of an area. */
typedef struct vly_part {
    uint32_t area;
    uint32_t first;
    uint32_t n;
} vly_part;

/* One end of a map: an area or a part of one, or several that are one pool,
 * counted in this order. */
typedef struct vly_end {
    vly_part *parts;
    uint32_t n_parts;
    uint32_t n_neurons; /* of all parts */
    char *name;         /* "E", "E[0:100]", "E+I" */
} vly_end;

/* What a rule connects where it is not two whole areas: it counts and draws
 * neurons of the pool, and each pair of parts gets the synapses between them.
 */
typedef struct vly_pool {
    vly_end from;
    vly_end to;
    char *stream; /* as of a pair: key of the draws of the rule */
} vly_pool;

/* One pair (from, to) of a [[map]]: a map over lists makes several, `to`
 * outermost. Pairs that cannot make a synapse (p or count 0) are left out. */
typedef struct vly_pair {
    char *map;     /* the map's id; "map:N" (N from 1) without one */
    char *stream;  /* key of its draws: "MAP|FROM|TO", or "|FROM|TO|K" for the
                      K-th (from 0) without an id */
    uint32_t from; /* area index */
    uint32_t to;
    const vly_pool *pool; /* of the genome; NULL: two whole areas. Its pairs
                           * follow each other, from the first parts on, `to`
                           * outermost */
    uint32_t from_part;   /* of the pool */
    uint32_t to_part;
    vly_rule rule;
    double p;              /* pairwise_bernoulli */
    uint64_t count;        /* fixed_total_number (p already made a count) */
    uint32_t in_degree;    /* fixed_in_degree; the largest, if it is drawn */
    uint32_t out_degree;   /* fixed_out_degree; the same */
    vly_value degree;      /* how either is drawn; a NUMBER: it is not */
    bool self;             /* a neuron may connect to itself */
    bool multiple;         /* a pair of neurons may have several synapses */
    int32_t (*vectors)[3]; /* owned */
    uint32_t n_vectors;
    vly_pattern *patterns; /* owned */
    uint32_t n_patterns;
    vly_rule mapper; /* composite: rule of each tile; vectors, patterns or a
                      * function */
    vly_tiles tiles; /* composite */
    const vly_edge_list *edges; /* file; owned by the genome */
    vly_space space;            /* distance */
    vly_value weight;           /* unit of the target's port */
    vly_value delay_ms; /* NUMBER, UNIFORM, NORMAL, LOGNORMAL or EXPONENTIAL */
    uint32_t port;      /* VLY_PORT_BY_SIGN only if the target has two */
    const vly_plasticity *plasticity; /* of the genome; NULL: does not learn */
    const vly_plasticity *short_term; /* of the genome; NULL: none */
    vly_origin origin;
} vly_pair;

/* A pair of areas for which a rule between voxels or by distance finds nothing
 * to connect. */
typedef struct vly_empty {
    char *map;
    uint32_t from;
    uint32_t to;
    vly_rule rule;
} vly_empty;

typedef enum vly_stimulus_kind {
    VLY_STIMULUS_POISSON,
    VLY_STIMULUS_NORMAL,
    VLY_STIMULUS_DC,
    VLY_STIMULUS_SPIKES,
    VLY_STIMULUS_BERNOULLI
} vly_stimulus_kind;

/* Chance of an event in one burst, rate * dt, with room for the roundings of
 * a rate that was written as 1 / dt. */
#define VLY_CHANCE_MAX (1.0 + 0x1p-50)

/* Whether every neuron of it draws in every burst. */
static inline bool vly_stimulus_draws(vly_stimulus_kind kind)
{
    return kind == VLY_STIMULUS_POISSON || kind == VLY_STIMULUS_NORMAL ||
           kind == VLY_STIMULUS_BERNOULLI;
}

typedef struct vly_spike_source vly_spike_source; /* spike_source.h */

/* One [[stimulus]] onto one area: with a list in `to` it makes several. */
typedef struct vly_stimulus {
    char *id;     /* given, or "stimulus:N" (N from 1) */
    char *stream; /* "ID|AREA", or "|KIND|AREA|K" */
    vly_stimulus_kind kind;
    const char *written; /* its kind in the file: also "pulse", "pattern" */
    uint32_t to;         /* area index */
    uint32_t first;      /* neurons [first, first + n) of the area */
    uint32_t n_neurons;
    uint32_t port;
    bool listed;       /* its values are of a list by neuron or over time */
    double rate_hz;    /* poisson, bernoulli: of one neuron's source */
    double weight;     /* poisson, spikes, bernoulli: unit of the port */
    double mean;       /* normal, dc: unit of the port (dc: of i_e) */
    double sd;         /* normal */
    uint64_t start;    /* first burst */
    uint64_t stop;     /* first burst after; UINT64_MAX: never */
    uint64_t n_spikes; /* spikes: how many; vly_spikes_walk makes them */
    const vly_spike_source *source; /* of the genome; NULL: one by one */
    uint64_t *bursts;               /* [n_spikes] burst of arrival, ascending */
    uint32_t *neurons;              /* [n_spikes] index in the area */
    vly_origin origin;
} vly_stimulus;

typedef enum vly_record_kind {
    VLY_RECORD_SPIKES,
    VLY_RECORD_FIELDS,
    VLY_RECORD_RATES,
    VLY_RECORD_INPUT
} vly_record_kind;

/* One [[record]] of one area, and of one field or port. */
typedef struct vly_record {
    vly_record_kind kind;
    uint32_t area;
    uint32_t group;    /* which [[record]] of those with samples, from 1 */
    uint32_t field;    /* fields: of the area's model; input: of its model with
                        * sums, the sum of a port, then its residual */
    bool by_neuron;    /* rates: a rate a neuron, not their mean */
    uint64_t interval; /* bursts between two samples */
    uint64_t offset;   /* fields: a sample after offset + k * interval bursts */
    uint64_t start;    /* spikes of bursts [start, stop); samples after start */
    uint64_t stop;     /* to stop bursts; UINT64_MAX: to the end. Intervals of
                        * rates and input begin at start */
    uint32_t *neurons; /* [n_neurons] ascending, in the area; NULL: all */
    uint32_t n_neurons;
    vly_origin origin;
} vly_record;

/* One [[record]] of weights. */
typedef struct vly_weight_record {
    char *map;         /* its id, or "map:N" */
    uint64_t first;    /* synapse of the map, over all its pairs of areas */
    uint64_t n;        /* so many from there; UINT64_MAX: to the last */
    uint64_t interval; /* bursts between two samples */
    vly_origin origin;
} vly_weight_record;

/* A file that was read, see genome_inputs.h. */
typedef struct vly_genome_input {
    char *path; /* as it was opened */
    uint64_t device;
    uint64_t inode;
} vly_genome_input;

typedef struct vly_genome {
    char *path;   /* as given; for messages */
    char *title;  /* optional key `title`; NULL without */
    char **files; /* those that [use] included, as in messages */
    uint32_t n_files;
    vly_genome_input *inputs; /* all files that were read */
    uint32_t n_inputs;
    double dt_ms;
    uint64_t n_bursts; /* [run] ms or bursts; 0 if neither is given */
    uint64_t seed_network;
    uint64_t seed_state;
    uint64_t seed_input;
    const vly_model_info **neuron_models; /* of [neuron.NAME]; each held */
    uint32_t n_neuron_models;
    const vly_plasticity_info **synapse_rules; /* of [synapse.NAME]; held */
    uint32_t n_synapse_rules;
    vly_area *areas;
    uint32_t n_areas;
    uint32_t n_neurons;
    vly_pair *pairs;
    uint32_t n_pairs;
    vly_pool **pools; /* of the pairs; each owned */
    uint32_t n_pools;
    vly_plasticity *plasticities; /* in the order of the file */
    uint32_t n_plasticities;
    vly_memory_rule *memories; /* in the order of their areas */
    uint32_t n_memories;
    vly_association *associations; /* in the order of the file */
    uint32_t n_associations;
    vly_empty *empty; /* in no pair */
    uint32_t n_empty;
    vly_edge_list **edges; /* of the pairs */
    uint32_t n_edge_lists;
    vly_stimulus *stimuli;
    uint32_t n_stimuli;
    vly_spike_source **sources; /* of the stimuli */
    uint32_t n_sources;
    vly_record *records; /* empty: spikes of every area, if recording */
    uint32_t n_records;
    vly_weight_record *weight_records; /* those of weights */
    uint32_t n_weight_records;
    uint64_t n_synapses_max; /* upper bound (expectation for bernoulli) */
    char **notes;            /* messages: values that were read differently than
                              * written; at most 20 */
    uint32_t n_notes;
    uint32_t n_more_notes; /* that did not fit */
    vly_hash hash;         /* of the resolved content; no formatting, no
                              machine choice, no comments */
    char *resolved;        /* TOML text: every value with its origin as a
                            * comment; parsing it gives the same hash */
} vly_genome;

/* vly_genome_load, _parse and _destroy are declared in volley.h. load: path
 * "-" is standard input. An override is one --set PATH=VALUE:
 * "area.E.neurons", "var.g", "run.ms", "map.EtoI.p", "stimulus.ext.rate_hz".
 * Errors  E_IO the file cannot be read; E_PARSE "file:line:col: found, wanted";
 *         E_NOMEM. *genome is untouched on failure.
 * Thread  [any-thread] */

/* Area by name; UINT32_MAX if there is none. */
uint32_t vly_genome_area(const vly_genome *genome, const char *name);

#endif
