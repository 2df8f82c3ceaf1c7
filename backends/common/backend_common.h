/* SPDX-License-Identifier: Apache-2.0
 * What every backend does in the same way on the host, beside plugins/support:
 * memory, the models' tables, and the checks of what a host passes. Compiled
 * into each plugin with hidden symbols, so it is no ABI between them.
 */
#ifndef VOLLEY_BACKEND_COMMON_H
#define VOLLEY_BACKEND_COMMON_H

#include <stdbool.h>
#include <stddef.h>

#include <volley/plugin.h>

#include "plugins/support/support_host.h"
#include "plugins/support/support_options.h"

/* ---- common_memory.c --------------------------------------------------- */

typedef struct vly_common_block vly_common_block;

/* Blocks of the host that are freed together. All 0 is an empty one. */
typedef struct vly_common_heap {
    vly_common_block *blocks;
    uint64_t bytes; /* of all, headers included */
} vly_common_heap;

/* count * size bytes, 64-byte aligned, cleared, into *out.
 * Errors E_NOMEM, *out untouched */
vly_status vly_common_alloc(vly_common_heap *heap, uint64_t count,
                            uint64_t size, void *out, vly_error *error);
void vly_common_release(vly_common_heap *heap, void *memory); /* NULL: none */
void vly_common_release_all(vly_common_heap *heap);

/* ---- common_models.c --------------------------------------------------- */

typedef struct vly_common_model {
    const char *id;
    const char *text; /* of the table: what its hash is over */
    uint32_t index;   /* in kernels/models/models.def */
    uint32_t flags;   /* VLY_AREA_FEAGI or 0 */
    uint32_t n_ports;
    uint32_t n_fields;
    uint32_t n_coefs;
} vly_common_model;

/* NULL if there is no such model */
const vly_common_model *vly_common_model_find(const char *id);
uint64_t vly_common_model_hash(const vly_common_model *model);

/* ---- common_learning.c ------------------------------------------------- */

typedef struct vly_common_rule {
    const char *id;
    const char *text; /* of the table: what its hash is over */
    uint32_t index;   /* in kernels/rules/plasticity.def */
    uint32_t n_coefs;
    uint32_t n_source; /* traces */
    uint32_t n_target;
    uint32_t modulated; /* 1: it has an eligibility and a modulator */
    uint32_t window;    /* 1: a rule of windows */
    uint32_t reserved;
} vly_common_rule;

/* Bursts of the longest trace: ages stay below 2^31. */
#define VLY_COMMON_TRACE_BURSTS (UINT32_C(1) << 24)

/* NULL if there is no such rule. Every rule of a user has the index after the
 * last built-in one. */
const vly_common_rule *vly_common_rule_find(const char *id);
/* Whether it is a rule of a user (kernels/rules/rule_program.h), and whether
 * its coefficients are a program as described. */
bool vly_common_rule_users(const char *id);
vly_status vly_common_check_rule_words(const char *map,
                                       const vly_learning_desc *learning,
                                       vly_error *error);
/* how a projection learns; NULL: not at all */
const vly_learning_desc *vly_common_learning(const vly_net_desc *desc,
                                             uint32_t projection);
/* Whether a rule has an eligibility and a modulator. */
bool vly_common_modulated(const vly_learning_desc *learning);
/* words of a projection, or of all, in the weights of a snapshot */
uint64_t vly_common_learning_words(const vly_net_desc *desc,
                                   uint32_t projection);
uint64_t vly_common_weight_words(const vly_net_desc *desc);
/* Whether a projection learns or has short-term plasticity. */
bool vly_common_apart(const vly_net_desc *desc, uint32_t projection);
/* The description without these projections, made in the heap; desc itself if
 * there are none. */
vly_status vly_common_fixed(vly_common_heap *heap, const vly_net_desc *desc,
                            const vly_net_desc **fixed, vly_error *error);
/* Whether the description of a plastic projection is consistent and its rule is
 * known. */
vly_status vly_common_check_learning(const vly_net_desc *desc,
                                     uint32_t projection, vly_error *error);
/* common_short_term.c: the gains of a projection's spikes; NULL: none */
const vly_short_term_desc *vly_common_short_term_of(const vly_net_desc *desc,
                                                    uint32_t projection);
vly_status vly_common_check_short_term(const vly_net_desc *desc,
                                       uint32_t projection, vly_error *error);
/* Whether the states of a snapshot are in range. */
vly_status vly_common_check_sources(const vly_net_desc *desc,
                                    uint32_t projection, const uint32_t *words,
                                    vly_error *error);
/* Whether the weights of a snapshot fit the net. */
vly_status vly_common_check_weights(const vly_net_desc *desc,
                                    const vly_snapshot *snapshot,
                                    vly_error *error);

/* ---- common_supports.c ------------------------------------------------- */

/* Whether the net can run on a backend that has every model and every rule of
 * plasticity, and runs those of users: they are known, their tables are the
 * same, and the description is consistent. */
vly_status vly_common_supports(const vly_net_desc *desc, vly_error *error);
/* Of a port of an area; of ports 2 and 3 only if it has a program. */
float vly_common_scale(const vly_area_desc *area, uint32_t port);
/* Whether the weights of the projection choose the port by their sign. */
bool vly_common_by_sign(const vly_net_desc *desc, const vly_projection_desc *p);
/* A device's synapses have one bit for the port. Accumulators of all neurons
 * follow each other port by port, so that a larger target means ports 2 and 3.
 */
typedef struct vly_common_port {
    uint32_t plane; /* to be added to targets: 0 for ports 0 and 1 */
    uint32_t port;  /* 0: port 0 or 2, 1: port 1 or 3, or VLY_PORT_BY_SIGN */
} vly_common_port;
vly_common_port vly_common_port_of(const vly_net_desc *desc,
                                   const vly_projection_desc *p);
/* vly_common_supports, and whether such targets fit. */
vly_status vly_common_supports_planes(const vly_net_desc *desc,
                                      vly_error *error);
/* The program of an area; NULL: it has a built-in model. */
const vly_program *vly_common_program(const vly_net_desc *desc, uint32_t i);
/* NULL: the net is whole, as it is from a host before 1.8 */
const vly_ranks *vly_common_ranks(const vly_net_desc *desc);
/* common_program.c: whether all its operations make sense */
vly_status vly_common_check_program(const vly_area_desc *area,
                                    const vly_program *program,
                                    vly_error *error);
/* The operands that are values: how many, and the k-th. */
uint32_t vly_common_program_reads(const vly_program_op *op);
uint32_t vly_common_program_operand(const vly_program_op *op, uint32_t k);
/* used [n_ops]: 1 for operations that fields or the spike depend on, else 0 */
void vly_common_program_used(const vly_program *program, uint8_t *used);

/* A program with numbers in place of what depends on numbers only, and without
 * choices whose truth is known. No operation that is used has numbers only. */
typedef struct vly_common_folded {
    vly_program program; /* its ops and out are below */
    vly_program_op ops[VLY_PROGRAM_MAX_OPS];
    uint32_t out[VLY_PROGRAM_MAX_FIELDS];
    uint32_t same[VLY_PROGRAM_MAX_OPS]; /* value in place of value i */
    uint8_t used[VLY_PROGRAM_MAX_OPS];  /* as vly_common_program_used */
} vly_common_folded;
/* The program has been checked. to is the caller's, as it is large; the types
 * stay those of from. For all whose result another compiler reads. */
void vly_common_program_fold(const vly_program *from, vly_common_folded *to);
/* element of an array whose stride the host gives */
const vly_area_desc *vly_common_area_desc(const vly_net_desc *desc, uint32_t i);
const vly_projection_desc *vly_common_projection_desc(const vly_net_desc *desc,
                                                      uint32_t i);
const vly_stimulus_desc *vly_common_stimulus_desc(const vly_net_desc *desc,
                                                  uint32_t i);
/* shift of a projection; 0 where the host is older than 1.4 */
uint32_t vly_common_shift(const vly_net_desc *desc,
                          const vly_projection_desc *projection);
/* true if any projection has one that is not 0 */
bool vly_common_has_shifts(const vly_net_desc *desc);
/* The number of different shifts; shift 0 always counts. Shift number i is i *
 * *step; *step is 0 if there is only one shift. */
uint32_t vly_common_shift_sets(const vly_net_desc *desc, uint32_t *step);
/* area that holds the neuron */
uint32_t vly_common_area_of(const vly_net_desc *desc, uint32_t neuron);
/* Whether `to` may take the place of a stimulus. */
vly_status vly_common_check_stimulus_write(const vly_net_desc *desc,
                                           uint32_t index,
                                           const vly_stimulus_desc *to,
                                           vly_error *error);

/* ---- common_net.c ------------------------------------------------------ */

/* the smallest that is not below n, which is at most 2^63 */
uint64_t vly_common_power_of_two(uint64_t n);
/* of any area; at least 1 */
uint32_t vly_common_most_ports(const vly_net_desc *desc);
/* bursts that further delays reach over, the burst itself among them */
uint32_t vly_common_ring(const vly_net_desc *desc);

typedef struct vly_common_delays {
    uint32_t base;
    uint32_t most; /* further delay */
} vly_common_delays;

/* Lists every base delay once, in the order of the projections; returns their
 * number. delays [n_projections] */
uint32_t vly_common_base_delays(const vly_net_desc *desc,
                                vly_common_delays *delays);
/* words of a column: 1 if it is uniform */
uint32_t vly_common_coef_words(const vly_area_desc *area, uint32_t coef);
/* Writes all columns, area by area, without gaps into words, if it is not NULL;
 * returns the number of words. */
uint64_t vly_common_coefs(const vly_net_desc *desc, uint32_t *words);
/* A place for every stimulus, those of an area together.
 * slot  [n_stimuli]    those of no neuron last
 * first [n_areas + 1]  of each area
 */
void vly_common_sort_stimuli(const vly_net_desc *desc, uint32_t *slot,
                             uint32_t *first);

/* ---- common_input.c ---------------------------------------------------- */

/* The area of a neuron. last: the area of the previous input, or NULL; most
 * inputs of one area follow each other. */
const vly_area_desc *vly_common_input_area(const vly_net_desc *desc,
                                           const vly_area_desc *last,
                                           uint32_t neuron);
/* The number of inputs of a run that belong to bursts [burst, burst +
 * n_bursts); *from is moved to the first of them. */
uint64_t vly_common_inputs_find(const vly_run *run, uint64_t burst,
                                uint32_t n_bursts, uint64_t *from);
vly_status vly_common_inputs_check(uint64_t n, vly_error *error);
/* of an input: neuron, port, value, 1 if it is of a FEAGI area */
#define VLY_COMMON_INPUT_WORDS 4u
/* words of n_bursts + 1 rows, filled up to whole inputs */
uint64_t vly_common_input_rows(uint32_t n_bursts);
/* The first input of each burst, then n inputs.
 * words [input_rows(n_bursts) + n * INPUT_WORDS] */
void vly_common_inputs_write(const vly_net_desc *desc, const vly_input *from,
                             uint64_t n, uint64_t burst, uint32_t n_bursts,
                             uint32_t *words);

/* ---- common_state.c ---------------------------------------------------- */

/* words of all fields of all areas */
uint64_t vly_common_state_words(const vly_net_desc *desc);
/* bursts whose spikes a snapshot at `burst` holds */
uint32_t vly_common_fired_bursts(const vly_net_desc *desc, uint64_t burst);
/* Whether a net can be made from the snapshot. */
vly_status vly_common_snapshot_check(const vly_net_desc *desc,
                                     const vly_snapshot *snapshot,
                                     vly_error *error);
/* Checks that the caller's snapshot, if it has memory, has exactly these
 * counts, and sets the counts. E_INVALID: the snapshot is unchanged. */
vly_status vly_common_snapshot_counts(const vly_net_desc *desc, uint64_t burst,
                                      uint64_t n_fired, vly_snapshot *snapshot,
                                      vly_error *error);
vly_status vly_common_check_field(const vly_net_desc *desc, uint32_t area,
                                  uint32_t field, uint32_t first,
                                  uint32_t count, vly_error *error);
vly_status vly_common_check_coef(const vly_net_desc *desc, uint32_t area,
                                 uint32_t coef, vly_error *error);
vly_status vly_common_check_info(const vly_net_info *info, vly_error *error);

/* ---- common_snapshot.c ------------------------------------------------- */

/* Functions with which a backend reads from its device. counts: [n_bursts],
 * from `burst` on; spikes: the n_spikes spikes of these bursts, in order. */
typedef struct vly_common_reader {
    vly_status (*counts)(vly_backend_net *net, uint64_t burst,
                         uint32_t n_bursts, uint32_t *counts, vly_error *error);
    vly_status (*state)(vly_backend_net *net, uint32_t *words,
                        vly_error *error);
    /* NULL: the backend does not learn */
    vly_status (*weights)(vly_backend_net *net, uint32_t *words,
                          vly_error *error);
    vly_status (*spikes)(vly_backend_net *net, uint64_t burst,
                         uint32_t n_bursts, uint64_t n_spikes, uint32_t *ids,
                         uint32_t *gains, vly_error *error);
} vly_common_reader;

/* snapshot_read of a net at `burst`; the snapshot is untouched on failure. */
vly_status vly_common_snapshot_read(vly_backend_net *net,
                                    const vly_net_desc *desc, uint64_t burst,
                                    const vly_common_reader *reader,
                                    vly_snapshot *snapshot, vly_error *error);

/* ---- common_run.c ------------------------------------------------------ */

/* Whether a run may begin. failed: status of an earlier run of the net. */
vly_status vly_common_check_run(const vly_net_desc *desc, int32_t failed,
                                const vly_run *run, vly_error *error);
/* Nothing is done yet. */
void vly_common_run_begin(vly_run *run);
/* area_spikes of the run; NULL: not wanted */
uint64_t *vly_common_run_areas(const vly_run *run);
/* true unless it records and has not room for a burst in which all fire */
bool vly_common_run_has_room(const vly_net_desc *desc, const vly_run *run);
/* true if the host wants the run to end */
bool vly_common_run_stopped(const vly_run *run);

#endif
