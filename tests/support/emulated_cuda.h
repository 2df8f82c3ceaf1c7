/* SPDX-License-Identifier: Apache-2.0
 * What a kernel of kernels/cuda finds of CUDA when it runs on the processor:
 * every thread is a coroutine of one thread of the host (emulated_cuda.cpp),
 * which goes on when it waits: at a barrier, for its warp, or for a word that
 * it polls. emulated_cuda.py turns sources into what includes this. Slow, and
 * no memory model: it shows wrong sums and places, indices and deadlocks, and
 * nothing about races, caches or speed.
 */
#ifndef VOLLEY_TEST_EMULATED_CUDA_H
#define VOLLEY_TEST_EMULATED_CUDA_H

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <string.h>
#include <type_traits>
#include <utility>
#include <vector_functions.h>

#include "fake_jit.h"

#undef __device__
#undef __host__
#undef __global__
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
#define __CUDACC__ 1
#define __CUDA_ARCH__ 900

/* ---- threads ----------------------------------------------------------- */

#define EMULATED_STATICS 8

/* All of them arrive, then the number of the meeting goes up. */
struct emulated_meeting {
    uint32_t arrived;
    uint32_t number;
};

struct emulated_warp {
    emulated_meeting meeting;
    uint64_t words[2][32]; /* of this meeting and of the one before */
};

struct emulated_job;

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
};

struct emulated_thread {
    void *stack;
    emulated_block *block;
    emulated_warp *warp;
    const uint32_t *waits; /* until it is no longer waits_for; NULL: ready */
    uint32_t waits_for;
    uint32_t ended;
    uint3 index;
    uint3 block_index;
};

extern emulated_thread *emulated_self;
extern dim3 emulated_grid; /* blocks */
extern dim3 emulated_size; /* threads of a block */
extern uint32_t emulated_cluster;

#define threadIdx (emulated_self->index)
#define blockIdx (emulated_self->block_index)

typedef void (*emulated_body)(void *context);

/* A launch: blocks [first, first + n_blocks) of it run together. */
struct emulated_job {
    emulated_body body;
    void *context;
    dim3 grid;
    dim3 size;
    uint32_t cluster;
    uint32_t first;
    uint32_t n_blocks;
};
/* together: all blocks at once, as in a cooperative launch */
void emulated_run(emulated_body body, void *context, dim3 grid, dim3 size,
                  size_t shared_bytes, uint32_t cluster, bool together);
void emulated_yield();
void emulated_meet(emulated_meeting *meeting, uint32_t n);
void *emulated_static(uint32_t number, size_t bytes);
long long emulated_clock();
uint64_t emulated_time_ns(); /* of the host */
void emulated_trap();

static inline void __syncthreads()
{
    emulated_meet(&emulated_self->block->meeting,
                  emulated_self->block->n_threads);
}

static inline void emulated_cluster_sync()
{
    emulated_meet(&emulated_self->block->cluster->cluster_meeting,
                  emulated_cluster * emulated_size.x);
}

/* ---- warps ------------------------------------------------------------- */

/* Words of all lanes. Full warps only. A lane cannot be two meetings ahead. */
static inline const uint64_t *emulated_share(uint64_t word)
{
    emulated_warp *warp = emulated_self->warp;
    uint64_t *words = warp->words[warp->meeting.number & 1];
    words[threadIdx.x % 32] = word;
    emulated_meet(&warp->meeting, 32);
    return words;
}

template <class T> static inline T emulated_lane(T value, uint32_t lane)
{
    uint64_t word = 0;
    memcpy(&word, &value, sizeof value);
    memcpy(&value, emulated_share(word) + lane % 32, sizeof value);
    return value;
}

static inline void __syncwarp()
{
    emulated_share(0);
}

template <class T> static inline T __shfl_sync(uint32_t, T value, int from)
{
    return emulated_lane(value, (uint32_t)from);
}

template <class T> static inline T __shfl_up_sync(uint32_t, T value, uint32_t d)
{
    const uint32_t lane = threadIdx.x % 32;
    return emulated_lane(value, lane >= d ? lane - d : lane);
}

template <class T> static inline T __shfl_xor_sync(uint32_t, T value, int d)
{
    return emulated_lane(value, threadIdx.x % 32 ^ (uint32_t)d);
}

static inline uint32_t __ballot_sync(uint32_t, bool vote)
{
    const uint64_t *words = emulated_share(vote);
    uint32_t votes = 0;
    for (uint32_t i = 0; i < 32; i++)
        votes |= (uint32_t)words[i] << i;
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

static inline uint32_t __reduce_or_sync(uint32_t, uint32_t value)
{
    const uint64_t *words = emulated_share(value);
    uint32_t all = 0;
    for (uint32_t i = 0; i < 32; i++)
        all |= (uint32_t)words[i];
    return all;
}

static inline uint32_t __reduce_max_sync(uint32_t, uint32_t value)
{
    const uint64_t *words = emulated_share(value);
    uint32_t most = 0;
    for (uint32_t i = 0; i < 32; i++)
        most = words[i] > most ? (uint32_t)words[i] : most;
    return most;
}

/* ---- words ------------------------------------------------------------- */

static inline int __popc(uint32_t x)
{
    return __builtin_popcount(x);
}

static inline uint32_t __fns(uint32_t mask, uint32_t base, int number)
{
    for (uint32_t i = base; i < 32; i++)
        if ((mask >> i & 1) != 0 && --number == 0)
            return i;
    return 0xffffffffu;
}

static inline uint32_t __dp4a(uint32_t a, uint32_t b, uint32_t c)
{
    for (uint32_t i = 0; i < 32; i += 8)
        c += (a >> i & 0xffu) * (b >> i & 0xffu);
    return c;
}

static inline uint32_t __funnelshift_l(uint32_t low, uint32_t high,
                                       uint32_t shift)
{
    return (uint32_t)(((uint64_t)high << 32 | low) << (shift & 31) >> 32);
}

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

static inline uint32_t __umulhi(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
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

static inline void __threadfence()
{
}

static inline void __threadfence_system()
{
}

static inline uint64_t __cvta_generic_to_shared(const void *at)
{
    return (uint64_t)(uintptr_t)at;
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

template <class T> static inline T atomicMin(T *at, T value)
{
    const T before = *at;
    *at = value < before ? value : before;
    return before;
}

template <class T> static inline T atomicOr(T *at, T value)
{
    const T before = *at;
    *at = before | value;
    return before;
}

/* The same place of another block of the cluster. */
template <class T> static inline T *emulated_mapa(T *at, uint32_t rank)
{
    const emulated_block *block = emulated_self->block;
    return (T *)((uint8_t *)at - block->shared + block->cluster[rank].shared);
}

static inline void *emulated_word(uint64_t at)
{
    return (void *)(uintptr_t)at;
}

/* An mbarrier: expected (16 bits), arrived (16), phase (32). */
static inline void emulated_barrier_init(uint64_t at, uint32_t n)
{
    *(uint64_t *)emulated_word(at) = n;
}

static inline void emulated_barrier_arrive(uint64_t at)
{
    uint64_t *word = (uint64_t *)emulated_word(at);
    *word += 1u << 16;
    if ((*word >> 16 & 0xffffu) == (*word & 0xffffu))
        *word = ((*word >> 32) + 1) << 32 | (*word & 0xffffu);
}

static inline uint32_t emulated_barrier_try(uint64_t at, uint32_t parity)
{
    emulated_yield();
    return (*(uint64_t *)emulated_word(at) >> 32 & 1) != parity;
}

/* ---- launches ---------------------------------------------------------- */

/* A kernel by its pointer, its arguments by theirs, as launches have them. */
#define EMULATED_ARGUMENTS 8

struct emulated_kernel {
    void (*call)(void **arguments);
    size_t sizes[EMULATED_ARGUMENTS]; /* of the arguments; 0: no more */
};

template <class... A, size_t... I>
static inline void emulated_apply(void (*kernel)(A...), void **arguments,
                                  std::index_sequence<I...>)
{
    kernel(*(std::decay_t<A> *)arguments[I]...);
}

template <class... A>
static inline void emulated_call(void (*kernel)(A...), void **arguments)
{
    emulated_apply(kernel, arguments, std::index_sequence_for<A...>{});
}

template <class... A>
static inline emulated_kernel emulated_make(void (*call)(void **),
                                            void (*)(A...))
{
    return {call, {sizeof(std::decay_t<A>)...}};
}

template <auto KERNEL> static inline const void *emulated_pointer()
{
    static const emulated_kernel kernel = emulated_make(
        [](void **arguments) { emulated_call(KERNEL, arguments); }, KERNEL);
    return &kernel;
}

/* kernel<<<grid, size, shared, stream>>>(...) */
template <class F>
static inline void emulated_launch(F body, dim3 grid, dim3 size,
                                   size_t shared_bytes = 0,
                                   cudaStream_t = nullptr)
{
    emulated_run([](void *context) { (*(F *)context)(); }, &body, grid, size,
                 shared_bytes, 1, false);
}

#endif
