/* SPDX-License-Identifier: Apache-2.0
 * Two or more nets of one connectome, run side by side and compared burst by
 * burst: what `volley validate` does.
 */
#ifndef VOLLEY_ENGINE_VALIDATE_H
#define VOLLEY_ENGINE_VALIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <volley/volley.h>

/* Most bursts between two comparisons of the whole state. */
#define VLY_VALIDATE_EVERY 128u
#define VLY_VALIDATE_NETS 16u

typedef enum vly_difference {
    VLY_DIFFERENCE_NONE,
    VLY_DIFFERENCE_FOUND,  /* fired sets or state: see below */
    VLY_DIFFERENCE_DIGEST, /* a digest only: both snapshots are equal */
    VLY_DIFFERENCE_ONCE    /* a difference that did not appear again from the
                            * same state: the net is not reproducible */
} vly_difference;

typedef struct vly_validate_result {
    vly_difference difference;
    uint64_t bursts; /* compared and equal */
    uint64_t spikes; /* spikes in these; 0: the comparison shows nothing */
    uint64_t digest; /* run and state digest after them, of all nets */
    uint64_t state_digest;

    /* Only with a difference: of nets[0] ([0]) and nets[other] ([1]). */
    uint32_t other;
    uint64_t burst; /* the first that differs */
    uint64_t burst_digest[2];

    uint64_t n_fired[2];
    uint64_t n_fired_only[2]; /* fired in one of them only */
    uint64_t n_gains;         /* fired in both with different gains */
    bool fired_differs;
    uint32_t fired_neuron;  /* the lowest that differs, global id */
    bool fired_in[2];       /* where it fired */
    uint32_t fired_gain[2]; /* 0 where it did not */
    const char *fired_area;
    uint32_t fired_index; /* in the area */

    bool state_differs;
    uint64_t n_words; /* words of state that differ */
    uint32_t neuron;  /* the lowest of them, and its first field */
    const char *area; /* borrowed from the connectome */
    uint32_t index;   /* in the area */
    const char *field;
    const char *unit;
    uint32_t word[2];
    double value[2];

    bool weights_differ;
    uint64_t n_weights; /* weights and traces that differ */
    const char *map;    /* of the first of them */
    const char *weight; /* "weight", or "trace x0", "age of trace y1" */
    uint64_t synapse;   /* number in the projection; of a trace: neuron */
    uint32_t source;    /* global ids; of a trace both are its neuron */
    uint32_t target;
    uint32_t weight_word[2];
} vly_validate_result;

/* Runs every net n_bursts on; compares the digest of every burst, and the
 * digest of the whole state after every state_every bursts (1 to 128).
 *
 * With 1 nothing can be missed. With more it is faster, but a wrong value that
 * decays before it makes a spike differ is not seen. If two nets differ after a
 * piece of several bursts, both are restored to the last equal state and run
 * burst by burst to find the first burst, neuron and field that differs.
 * Functions set on the nets are not called meanwhile. The nets must be at the
 * same burst with the same state.
 *
 * result   filled also when the run was stopped (what was compared so far)
 * progress after each piece, or NULL; anything but VLY_OK ends the comparison
 * Errors   VLY_E_INVALID  fewer than 2 or more than 16 nets, state_every,
 *                         other connectomes, or they differ before the first
 * burst; VLY_E_STOPPED  vly_net_stop on any of them; what a run may return. A
 * difference is no error: VLY_OK with result->difference. The nets are then
 * after the burst that differs.
 * Thread  as vly_net_run
 */
vly_status vly_validate_every(vly_net *const *nets, uint32_t n_nets,
                              uint64_t n_bursts, uint32_t state_every,
                              vly_status (*progress)(void *arg,
                                                     uint64_t bursts_done),
                              void *progress_arg, vly_validate_result *result,
                              vly_error *error);
/* The same with the state compared after every burst. */
vly_status vly_validate(vly_net *const *nets, uint32_t n_nets,
                        uint64_t n_bursts,
                        vly_status (*progress)(void *arg, uint64_t bursts_done),
                        void *progress_arg, vly_validate_result *result,
                        vly_error *error);

/* Describes the difference in several lines without a final newline; names: of
 * the nets. Returns text. */
const char *vly_validate_text(const vly_validate_result *result,
                              const char *const *names, char *text,
                              size_t size);

#endif
