/* SPDX-License-Identifier: Apache-2.0
 * The work of a lingering launch between bursts: the first block reads a
 * command from host memory and passes it to the others through device memory;
 * results are written directly to host memory.
 */
#ifndef VOLLEY_CUDA_LINGER_CUH
#define VOLLEY_CUDA_LINGER_CUH

#include <stddef.h>

#include "line_access.cuh"
#include "linger_kernels.h"

#define RANKS 64u     /* spikes of a block that are put in order at a time */
#define EVENT_BITS 48 /* of vly_cuda_relay.arrived */

struct linger_shared {
    vly_cuda_launch launch; /* n_bursts: of all commands so far */
    vly_cuda_done done;     /* as it is published */
    uint32_t command[VLY_CUDA_COMMAND_WORDS];
    uint32_t own[RANKS];  /* spikes of the block that are put in order ... */
    uint32_t rank[RANKS]; /* ... and their places */
    unsigned long long n_events; /* of the block, in the command */
    uint32_t n_own;
    uint32_t is_last; /* this block was the last to arrive */
};

/* ---- words ------------------------------------------------------------- */

static __device__ __forceinline__ uint64_t host_read(const uint64_t *at)
{
    uint64_t v;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];"
                 : "=l"(v)
                 : "l"(at)
                 : "memory");
    return v;
}

static __device__ __forceinline__ void host_write(uint64_t *at, uint64_t v)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(v)
                 : "memory");
}

static __device__ __forceinline__ uint64_t relay_read(const uint64_t *at)
{
    uint64_t v;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                 : "=l"(v)
                 : "l"(at)
                 : "memory");
    return v;
}

static __device__ __forceinline__ void relay_write(uint64_t *at, uint64_t v)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(v)
                 : "memory");
}

/* Reads data that another block has written. */
static __device__ __forceinline__ uint32_t word_of(const uint32_t *at)
{
    uint32_t v;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                 : "=r"(v)
                 : "l"(at)
                 : "memory");
    return v;
}

static __device__ __forceinline__ uint64_t tag_word(uint32_t tag, uint32_t word)
{
    return (uint64_t)tag << 32 | word;
}

static __device__ __forceinline__ bool has_tag(uint64_t word, uint32_t tag)
{
    return (uint32_t)(word >> 32) == tag;
}

static __device__ __forceinline__ uint64_t read_clock_ns(void)
{
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

/* ---- commands ---------------------------------------------------------- */

/* By the first warp of the first block: a word of the command for each lane, 0
 * for all if the launch must leave. An existing command is always taken: the
 * host starts another launch only if `left` shows that the command was not
 * taken. */
static __device__ __forceinline__ uint32_t
take_command(const vly_cuda_linger &linger, uint32_t tag)
{
    const vly_cuda_mailbox *mailbox = linger.mailbox;
    const uint32_t lane = threadIdx.x;
    const bool is_word = lane < VLY_CUDA_COMMAND_WORDS;
    const uint64_t *at = is_word ? mailbox->command + lane : &mailbox->leave;
    const uint64_t begin = read_clock_ns();
    for (;;) {
        const uint64_t late = read_clock_ns() - begin;
        const uint64_t word = host_read(at);
        if (__all_sync(0xffffffffu, !is_word || has_tag(word, tag)))
            return (uint32_t)word;
        const bool leaves = is_word ? late > linger.patience_ns
                                    : (uint32_t)word == linger.number;
        if (!__any_sync(0xffffffffu, leaves))
            continue;
        if (lane == 0)
            host_write(&linger.answer->left, tag);
        return 0;
    }
}

/* By the first warp of another block. */
static __device__ __forceinline__ uint32_t
await_command(const vly_cuda_linger &linger, uint32_t tag)
{
    const uint64_t *at =
        linger.relay->command + threadIdx.x % VLY_CUDA_COMMAND_WORDS;
    uint64_t word;
    do {
        word = relay_read(at);
    } while (!__all_sync(0xffffffffu, has_tag(word, tag)));
    return (uint32_t)word;
}

/* Copies the inputs of the command to all blocks, by the first block: two at a
 * time for each thread, since a read takes a microsecond. A line is written in
 * one access: all blocks read all of them, so that two would be 135,000 reads
 * more for 1,000 inputs (0.6 of 21.4 us of the closed loop on an H200). */
static __device__ __forceinline__ void
relay_inputs(const vly_cuda_linger &linger, uint32_t n, uint32_t tag)
{
    const uint64_t *from = linger.mailbox->inputs;
    for (uint32_t i = threadIdx.x; i < n; i += 2 * blockDim.x) {
        uint64_t word[2];
#pragma unroll
        for (uint32_t j = 0; j < 2; j++)
            if (i + j * blockDim.x < n)
                word[j] = host_read(from + i + j * blockDim.x);
#pragma unroll
        for (uint32_t j = 0; j < 2; j++) {
            const uint32_t at = i + j * blockDim.x;
            while (at < n && (uint32_t)(word[j] >> 56) != (tag & 0xffu))
                word[j] = host_read(from + at);
            if (at >= n)
                continue;
            line_write(linger.relay->inputs[at],
                       make_uint4((uint32_t)(word[j] >> 32) & 0xffffffu, tag,
                                  (uint32_t)word[j], tag));
        }
    }
}

/* Input i of the command: neuron and value. All blocks read all inputs. */
static __device__ __forceinline__ uint2
read_input(const vly_cuda_linger &linger, uint32_t i, uint32_t tag)
{
    uint4 line;
    do {
        line = line_read(linger.relay->inputs[i]);
    } while (line.y != tag || line.w != tag);
    return make_uint2(line.x, line.z);
}

/* Waits for the next command, in shared->command and shared->launch; false:
 * the launch is to end. head: log position of the next spike. All threads. */
static __device__ __forceinline__ bool
next_command(const vly_cuda_linger &linger, linger_shared *shared, uint32_t tag,
             uint64_t head)
{
    uint32_t *command = shared->command;
    if (threadIdx.x < 32) {
        const bool is_word = threadIdx.x < VLY_CUDA_COMMAND_WORDS;
        const uint32_t word = blockIdx.x == 0 ? take_command(linger, tag)
                                              : await_command(linger, tag);
        if (is_word && blockIdx.x == 0)
            relay_write(linger.relay->command + threadIdx.x,
                        tag_word(tag, word));
        if (is_word)
            command[threadIdx.x] = word;
        __syncwarp();
        if (threadIdx.x == 0) {
            vly_cuda_launch *launch = &shared->launch;
            launch->n_bursts += command[VLY_CUDA_COMMAND_BURSTS];
            launch->head = head;
            launch->head_limit = (uint64_t)command[VLY_CUDA_COMMAND_LIMIT + 1]
                                     << 32 |
                                 command[VLY_CUDA_COMMAND_LIMIT];
            launch->keep =
                command[VLY_CUDA_COMMAND_FLAGS] & VLY_CUDA_COMMAND_KEEP;
        }
    }
    __syncthreads();
    const uint32_t n = command[VLY_CUDA_COMMAND_BURSTS];
    if (n > 0 && blockIdx.x == 0)
        relay_inputs(linger, command[VLY_CUDA_COMMAND_ROW + n], tag);
    return n > 0;
}

static __device__ __forceinline__ void
start_linger(const vly_cuda_launch &launch, linger_shared *shared)
{
    if (threadIdx.x == 0) {
        shared->launch = launch;
        shared->done = {};
        shared->n_events = 0;
    }
    __syncthreads();
}

/* ---- results ----------------------------------------------------------- */

/* Word i of the ranges. */
static __device__ __forceinline__ const uint32_t *
range_word(const vly_cuda_linger &linger, uint32_t i)
{
    for (uint32_t r = 0; r < linger.n_ranges; r++) {
        if (i < linger.ranges[r].n)
            return linger.ranges[r].from + i;
        i -= linger.ranges[r].n;
    }
    return nullptr;
}

/* By whole warps: each lane's id is looked at for the n ids of own. */
static __device__ __forceinline__ void
count_smaller(uint32_t id, const uint32_t *own, uint32_t *rank, uint32_t n)
{
    for (uint32_t q = 0; q < n; q++) {
        const uint32_t smaller =
            (uint32_t)__popc(__ballot_sync(0xffffffffu, id < own[q]));
        if (threadIdx.x % 32 == 0 && smaller != 0)
            atomicAdd(&rank[q], smaller);
    }
}

/* Stores what the launch has done so far, except events, in shared->done.
 * n_ids: number of published ids. Called by one thread. */
template <class BLOCK>
static __device__ __forceinline__ void
note_done(linger_shared *shared, const BLOCK &block, uint32_t n_bursts,
          uint32_t n_ids)
{
    vly_cuda_done *done = &shared->done;
    done->head = block.shared->head;
    done->n_bursts = n_bursts;
    done->barrier = n_ids;
    for (int i = 0; i < 3; i++)
        done->cycles[i] = block.shared->cycles[i];
}

/* By one block, after all blocks are done and its shared->done is complete: n
 * bursts from `burst` on, and the first n_ranged words of ranges. n_events:
 * where they are instead, or NULL. */
static __device__ __forceinline__ void
publish_answer(const vly_cuda_view &view, const vly_cuda_linger &linger,
               const linger_shared *shared, const uint64_t *n_events,
               uint64_t burst, uint32_t n, uint32_t n_ranged, uint32_t tag)
{
    const uint32_t record_words = sizeof(vly_cuda_record) / sizeof(uint32_t);
    const uint32_t events =
        offsetof(vly_cuda_done, n_events) / sizeof(uint32_t);
    const uint32_t total = VLY_CUDA_ANSWER_RANGES + n_ranged;
    for (uint32_t i = threadIdx.x; i < total; i += blockDim.x) {
        uint32_t word = 0;
        if (i < VLY_CUDA_ANSWER_RECORDS) {
            word = n_events != nullptr && (i & ~1u) == events
                       ? word_of((const uint32_t *)n_events + (i & 1))
                       : ((const uint32_t *)&shared->done)[i];
        } else if (i < VLY_CUDA_ANSWER_RANGES) {
            const uint32_t k = (i - VLY_CUDA_ANSWER_RECORDS) / record_words;
            if (k >= n)
                continue;
            word = word_of(
                (const uint32_t *)(view.records +
                                   ((uint32_t)(burst + k) & view.record_mask)) +
                (i - VLY_CUDA_ANSWER_RECORDS) % record_words);
        } else {
            word = word_of(range_word(linger, i - VLY_CUDA_ANSWER_RANGES));
        }
        host_write(linger.answer->words + i, tag_word(tag, word));
    }
}

static __device__ __forceinline__ bool wants_ids(const linger_shared &shared)
{
    return (shared.command[VLY_CUDA_COMMAND_FLAGS] & VLY_CUDA_COMMAND_IDS) != 0;
}

/* ---- instances --------------------------------------------------------- */

/* The kernel for nets of one model; KERNELS::of<MODEL>() is each of them. */
template <class KERNELS> static const void *pick_model(uint32_t model)
{
    switch (model) {
    case VLY_CUDA_MODEL_lif_psc_delta:
        return KERNELS::template of<VLY_CUDA_MODEL_lif_psc_delta>();
    case VLY_CUDA_MODEL_lif_psc_exp:
        return KERNELS::template of<VLY_CUDA_MODEL_lif_psc_exp>();
    case VLY_CUDA_MODEL_izhikevich:
        return KERNELS::template of<VLY_CUDA_MODEL_izhikevich>();
    default:
        return KERNELS::template of<VLY_CUDA_N_MODELS>();
    }
}

#endif
