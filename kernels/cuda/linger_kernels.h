/* SPDX-License-Identifier: Apache-2.0
 * One launch for many runs: linger_resident.cu and linger_partition.cu execute
 * the host's commands one by one, and wait on the device in between.
 *
 * Host and device exchange 64-bit words with the number of the command in the
 * high half: polling a word also yields its value, in any order of arrival, so
 * no flag and no fence are needed. Numbers do not repeat while a word may still
 * be in memory.
 */
#ifndef VOLLEY_CUDA_LINGER_KERNELS_H
#define VOLLEY_CUDA_LINGER_KERNELS_H

#include "partition_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VLY_CUDA_LINGER_INPUTS 4096u                /* of one command at most */
#define VLY_CUDA_LINGER_NEURONS (UINT32_C(1) << 24) /* of a net at most */
#define VLY_CUDA_LINGER_IDS 4096u /* spikes that are put in order at most */

/* Words of a command: one line of the host's cache. */
enum {
    VLY_CUDA_COMMAND_BURSTS, /* 1 to VLY_CUDA_SHORT_BURSTS; 0: leave */
    VLY_CUDA_COMMAND_FLAGS,
    VLY_CUDA_COMMAND_LIMIT,   /* head_limit, low and high half */
    VLY_CUDA_COMMAND_ROW = 4, /* [bursts + 1] first input of each */
    VLY_CUDA_COMMAND_WORDS = 16
};
#define VLY_CUDA_COMMAND_KEEP 1u /* as vly_cuda_launch.keep */
#define VLY_CUDA_COMMAND_IDS 2u  /* ids of the one burst are wanted */

/* Pinned memory, written by the host. */
typedef struct vly_cuda_mailbox {
    uint64_t command[VLY_CUDA_COMMAND_WORDS];
    uint64_t leave; /* number of the launch that is to leave; no tag */
    uint64_t reserved[15];
    /* from the high end: tag (8 bits), neuron (24), value (32). One tag, not
     * two, halves the bus reads; inputs are written before the command */
    uint64_t inputs[VLY_CUDA_LINGER_INPUTS];
} vly_cuda_mailbox;

/* Pinned memory, written by the device: vly_cuda_done for the whole launch,
 * then the records of the command's bursts, then the ranges one after the
 * other; a word each. */
#define VLY_CUDA_ANSWER_RECORDS 16u
#define VLY_CUDA_ANSWER_RANGES 64u
#define VLY_CUDA_ANSWER_IDS 15u /* number of ids, in place of done.barrier */
#define VLY_CUDA_NO_IDS 0xffffffffu /* not wanted, or too many */
typedef struct vly_cuda_answer {
    uint64_t left; /* the command that the launch did not wait for; no tag */
    uint64_t reserved[15];
    uint64_t words[VLY_CUDA_ANSWER_RANGES + VLY_CUDA_PUBLISH_WORDS];
    uint64_t ids[VLY_CUDA_LINGER_IDS];
} vly_cuda_answer;

/* On the device: a command that the first block passes to the others. */
typedef struct vly_cuda_relay {
    uint64_t command[VLY_CUDA_COMMAND_WORDS];
    /* a line each: neuron, tag, value, tag */
    uint32_t inputs[VLY_CUDA_LINGER_INPUTS][4];
    /* blocks that have done a command (16 bits), synaptic events of the launch
     * (48): 0 before it */
    uint64_t arrived;
} vly_cuda_relay;

/* A range of a field that the host requests after every command. */
typedef struct vly_cuda_linger_range {
    const uint32_t *from; /* in the state */
    uint32_t id;          /* global, of the first neuron */
    uint32_t field;
    uint32_t n;
    uint32_t reserved;
} vly_cuda_linger_range;

typedef struct vly_cuda_linger {
    const vly_cuda_mailbox *mailbox;
    vly_cuda_answer *answer;
    vly_cuda_relay *relay;
    uint32_t number;      /* of the launch; its commands have the next ones */
    uint32_t patience_ns; /* time without a command after which it leaves */
    uint32_t n_ranges;
    uint32_t reserved;
    vly_cuda_linger_range ranges[VLY_CUDA_WATCHES];
} vly_cuda_linger;

/* Allows the shared memory that a launch takes; *fits: 0 if the device has
 * less, or the kernel is not made for such a net. */
cudaError_t vly_cuda_linger_resident_fit(const vly_cuda_view *view,
                                         const vly_cuda_resident *resident,
                                         int *fits);
cudaError_t vly_cuda_linger_partition_fit(const vly_cuda_view *view,
                                          const vly_cuda_partition *partition,
                                          int *fits);
/* Lingering launches. launch has n_bursts 0; the conditions of the plans'
 * launches apply to all bursts of all commands. */
cudaError_t vly_cuda_linger_resident(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_resident *resident,
                                     const vly_cuda_linger *linger,
                                     cudaStream_t stream);
cudaError_t vly_cuda_linger_partition(const vly_cuda_view *view,
                                      const vly_cuda_launch *launch,
                                      const vly_cuda_partition *partition,
                                      const vly_cuda_linger *linger,
                                      cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
