/* SPDX-License-Identifier: Apache-2.0
 * CUDA on the processor, as every kernel needs it: the words of the language,
 * threads, blocks, warps and shuffles. Each thread of a kernel is a coroutine
 * of one thread of the host (emulated_threads.cpp), which goes on when it
 * waits: at a barrier, for its warp, or for a word that it polls. Slow, and no
 * memory model: it shows wrong sums, places, indices and deadlocks, and nothing
 * about races, caches or speed. On top of it: emulated_cuda.h for the kernels
 * of the backend, emulated_accelerators.h for those of accelerators.
 */
#ifndef VOLLEY_EMULATED_THREADS_H
#define VOLLEY_EMULATED_THREADS_H

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <string.h>
#include <type_traits>
#include <vector_functions.h>

/* The only place that takes CUDA's words from its headers. */
#undef __device__
#undef __host__
#undef __global__
#undef __shared__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __grid_constant__
#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__

/* ---- threads ----------------------------------------------------------- */

#define EMULATED_STATICS 8
#define EMULATED_WORDS 64 /* bytes that a lane can show its warp */

/* All of them arrive, then the number of the meeting goes up. */
struct emulated_meeting {
    uint32_t arrived;
    uint32_t number;
};

struct emulated_warp {
    emulated_meeting meeting;
    uint32_t n_threads; /* that have not ended */
    /* of this meeting and of the one before: no lane can be two ahead */
    alignas(64) uint8_t words[2][32 * EMULATED_WORDS];
};

typedef void (*emulated_body)(void *context);

/* A launch: blocks [first, first + n_blocks) of it run together. */
struct emulated_job {
    emulated_body body;
    void *context;
    dim3 grid;
    dim3 size;
    size_t shared_bytes; /* dynamic */
    uint32_t cluster;    /* blocks; 1: no clusters */
    uint32_t first;
    uint32_t n_blocks;
};

struct emulated_block {
    const emulated_job *job;
    uint8_t *shared; /* below 4 GB: an address in 32 bits is the address */
    uint8_t *dynamic;
    uint8_t *statics[EMULATED_STATICS];
    uint32_t static_bytes;
    uint32_t n_threads;      /* that have not ended */
    uint32_t rank;           /* in the cluster */
    emulated_block *cluster; /* its first block */
    emulated_meeting meeting;
    emulated_meeting cluster_meeting; /* of the first block */
    uint32_t votes[2];                /* number after the last meeting, odd and
                                         even, with a vote: __syncthreads_or */
};

struct emulated_thread {
    void *place; /* of its coroutine */
    emulated_block *block;
    emulated_warp *warp;
    const uint32_t *waits; /* until it is no longer waits_for; NULL: ready */
    uint32_t waits_for;
    uint32_t ended;
    uint3 index;
    uint3 block_index;
};

extern emulated_thread *emulated_self;

#define threadIdx (emulated_self->index)
#define blockIdx (emulated_self->block_index)
#define emulated_grid emulated_self->block->job->grid /* blocks */
#define emulated_size emulated_self->block->job->size /* threads of a block */
#define emulated_cluster emulated_self->block->job->cluster

/* together: all blocks at once, as in a cooperative launch */
void emulated_run(emulated_body body, void *context, dim3 grid, dim3 size,
                  size_t shared_bytes, uint32_t cluster, bool together);
/* All of them together. */
void emulated_run_jobs(const emulated_job *jobs, size_t n_jobs);
/* Whether a block can have so much dynamic shared memory. */
bool emulated_has_room(size_t shared_bytes);
void emulated_yield(void); /* until the other threads have run */
/* Until *word is not value. */
void emulated_wait(const uint32_t *word, uint32_t value);
void emulated_meet(emulated_meeting *meeting, uint32_t n);
void *emulated_static(uint32_t number, size_t bytes);
[[noreturn]] void emulated_fail(const char *what);

template <class F>
static inline void emulated_run(F body, dim3 grid, dim3 size,
                                size_t shared_bytes)
{
    emulated_run([](void *context) { (*(F *)context)(); }, &body, grid, size,
                 shared_bytes, 1, false);
}

static inline void __syncthreads()
{
    emulated_meet(&emulated_self->block->meeting,
                  emulated_self->block->n_threads);
}

static inline int __syncthreads_or(int vote)
{
    emulated_block *block = emulated_self->block;
    const uint32_t next = block->meeting.number + 1;
    if (vote != 0)
        block->votes[next & 1] = next;
    __syncthreads();
    return block->votes[next & 1] == next;
}

/* ---- warps ------------------------------------------------------------- */

/* What each lane showed in a meeting, until the next one but one. */
template <class T> struct emulated_words {
    const T *all;
    const T &operator[](uint32_t lane) const
    {
        return all[lane % 32];
    }
};

/* All lanes of the warp call it. What an ended lane would say is undefined. */
template <class T>
static inline emulated_words<T> emulated_share(const T &value)
{
    static_assert(sizeof value <= EMULATED_WORDS, "a lane can show it");
    static_assert(alignof(T) <= 64, "as the words of a warp");
    emulated_warp *warp = emulated_self->warp;
    if (warp->n_threads != 32)
        emulated_fail("a shuffle or vote in a warp that is not whole");
    uint8_t *words = warp->words[warp->meeting.number & 1];
    memcpy(words + threadIdx.x % 32 * sizeof value, (const void *)&value,
           sizeof value);
    emulated_meet(&warp->meeting, warp->n_threads);
    return {(const T *)words};
}

static inline void __syncwarp(uint32_t mask = 0xffffffff)
{
    if (mask != 0xffffffff)
        emulated_fail("a barrier of some lanes of a warp");
    emulated_meet(&emulated_self->warp->meeting,
                  emulated_self->warp->n_threads);
}

template <class T> static inline T __shfl_sync(uint32_t, T value, int from)
{
    return emulated_share(value)[(uint32_t)from];
}

template <class T> static inline T __shfl_up_sync(uint32_t, T value, uint32_t d)
{
    const uint32_t lane = threadIdx.x % 32;
    return emulated_share(value)[lane >= d ? lane - d : lane];
}

template <class T> static inline T __shfl_xor_sync(uint32_t, T value, int d)
{
    return emulated_share(value)[threadIdx.x % 32 ^ (uint32_t)d];
}

static inline uint32_t __ballot_sync(uint32_t, bool vote)
{
    const emulated_words<bool> said = emulated_share(vote);
    uint32_t votes = 0;
    for (uint32_t i = 0; i < 32; i++)
        votes |= (uint32_t)said[i] << i;
    return votes;
}

static inline bool __all_sync(uint32_t mask, bool vote)
{
    return __ballot_sync(mask, vote) == 0xffffffffu;
}

static inline bool __any_sync(uint32_t mask, bool vote)
{
    return __ballot_sync(mask, vote) != 0;
}

/* ---- words ------------------------------------------------------------- */

static inline uint32_t __float_as_uint(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

static inline float __uint_as_float(uint32_t word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

template <class T> static inline T max(T a, T b)
{
    return a > b ? a : b;
}

template <class T> static inline T min(T a, T b)
{
    return a < b ? a : b;
}

/* ---- memory ------------------------------------------------------------ */

template <class T> static inline T __ldg(const T *at)
{
    return *at;
}

template <class T> static inline T __ldcg(const T *at)
{
    return *at;
}

template <class T> static inline T __ldcs(const T *at)
{
    return *at;
}

template <class T> static inline void __stcs(T *at, T value)
{
    *at = value;
}

template <class T> static inline void __stcg(T *at, T value)
{
    *at = value;
}

template <class T, class U> static inline T atomicAdd(T *at, U value)
{
    const T before = *at;
    *at = before + (T)value;
    return before;
}

template <class T> static inline T atomicMax(T *at, T value)
{
    const T before = *at;
    *at = value > before ? value : before;
    return before;
}

#endif
