/* SPDX-License-Identifier: Apache-2.0
 * The part of a net on one device: memory, streams, the plan, the log of
 * spikes.
 *
 * State, accumulators, rows and spikes are on the device (kernels/cuda); the
 * host does not see single bursts. A run is one launch for up to
 * VLY_CUDA_LAUNCH_BURSTS bursts, after which digests, counts and, if they are
 * recorded, spikes are read in one piece each.
 */
#ifndef VOLLEY_CUDA_SHARD_H
#define VOLLEY_CUDA_SHARD_H

#include "cuda_dynamics.h"
#include "cuda_input.h"
#include "cuda_learners.h"
#include "cuda_learning.h"
#include "cuda_linger.h"
#include "cuda_memory.h"
#include "cuda_plan.h"
#include "cuda_program.h"
#include "cuda_short.h"
#include "cuda_store.h"

/* cudaEvent_t: before and after a launch, after copies, after the transfer of
 * spikes, after sorting them */
#define VLY_CUDA_EVENTS 5u

struct vly_cuda_shard {
    const vly_backend_net *net; /* the net of this shard */

    /* the device */
    int32_t device;
    uint32_t n_units;   /* multiprocessors */
    uint32_t n_blocks;  /* of a launch */
    uint32_t n_changes; /* of plan */
    void *stream;       /* cudaStream_t */
    void *drain_stream; /* cudaStream_t for the transfer of spikes */
    void *events[VLY_CUDA_EVENTS];

    /* memory */
    vly_common_heap heap;
    vly_cuda_buffer *buffers;
    uint64_t pinned_bytes;
    uint64_t device_bytes;
    uint64_t peak_bytes; /* maximum of device_bytes ... */
    uint64_t plan_room;  /* ... additional bytes while the plan was made */

    /* data for the kernels of all plans */
    vly_cuda_view view;
    vly_cuda_area *areas; /* [n_areas] as on the device */
    vly_cuda_area_info *info;
    vly_cuda_column *columns; /* [n_columns] coefficients of programs */
    uint64_t n_columns;
    vly_cuda_program_set programs;
    uint32_t *stimulus_slot; /* slot of each stimulus in the table on the
                              * device */
    uint32_t *thresholds;    /* on the device, VLY_CUDA_THRESHOLDS a slot */
    uint32_t *state;         /* on the device, as in a snapshot */
    uint64_t n_state_words;
    vly_cuda_store store;
    vly_cuda_plastic plastic; /* projections that learn */

    /* the plan */
    const vly_cuda_plan *plan;
    const vly_cuda_plan *other; /* alternative that may be chosen later, or
                                 * NULL */
    double plan_ns;             /* time to make this plan */
    double excess_ns;           /* time that the other plan would have saved so
                                 * far */
    vly_cuda_resident resident;
    uint64_t segment_bytes;
    vly_cuda_learner_set learners; /* of plan resident */
    uint64_t mail_words; /* sizes of resident.mail and resident.mail_more */
    uint64_t more_words;
    vly_cuda_partition partition;
    vly_cuda_partition_group *partition_groups; /* as on the device */
    uint64_t partition_bytes;
    uint32_t partition_delay; /* shortest delay */
    uint32_t *divisors;       /* [n_areas] of weights, if they were computed */

    /* launches: their inputs and results */
    vly_cuda_inputs inputs;
    vly_cuda_done *dones;   /* on the device: cleared together ... */
    vly_cuda_done *done;    /* ... and that of the present launch */
    vly_cuda_done *done_at; /* on the host, pinned, like the records */
    vly_cuda_record *records;
    uint64_t *area_spikes;    /* on the device: [n_areas] since the start of the
                               * net */
    uint64_t *area_spikes_at; /* pinned */
    uint64_t *area_spikes_told;
    vly_cuda_host_view host; /* of short runs */
    vly_cuda_lingering linger;

    /* the log, and the transfer of spikes to the host */
    uint64_t head;         /* log position of the next spike */
    uint64_t cleared;      /* records of bursts up to here are 0 */
    uint32_t *drain[2];    /* on the device: ids and gains, in order */
    uint32_t *drain_at[2]; /* pinned: the same during the transfer */
    uint64_t drain_room;
    uint32_t *sent_to[2]; /* destination of ids and gains in transfer ... */
    uint64_t n_sent;      /* ... and their number, or 0 */
};

/* A field of an area, on the device. */
static inline uint32_t *vly_cuda_field(const vly_cuda_shard *shard,
                                       uint32_t area, uint32_t field)
{
    return shard->state + shard->info[area].state_at +
           (uint64_t)field * shard->areas[area].n;
}

/* Makes all data of the net on this device from the snapshot. After a failure,
 * destroy frees it. */
vly_status vly_cuda_shard_create(vly_cuda_shard *shard,
                                 const vly_backend_net *net, int32_t device,
                                 const vly_snapshot *snapshot,
                                 vly_error *error);
void vly_cuda_shard_destroy(vly_cuda_shard *shard);

#endif
