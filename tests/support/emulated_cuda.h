/* SPDX-License-Identifier: Apache-2.0
 * What a kernel of kernels/cuda finds of CUDA when it runs on the processor,
 * beside emulated_threads.h: clusters, barriers in memory, and launches by the
 * calls of the runtime. emulated_cuda.py turns sources into what includes this.
 */
#ifndef VOLLEY_TEST_EMULATED_CUDA_H
#define VOLLEY_TEST_EMULATED_CUDA_H

#include <utility>

#include "emulated_threads.h"
#include "fake_cuda.h"
#include "fake_jit.h"

#define __CUDACC__ 1
#define __CUDA_ARCH__ 900

long long emulated_clock();
uint64_t emulated_time_ns(); /* of the host */
void emulated_trap();

static inline void emulated_cluster_sync()
{
    emulated_meet(&emulated_self->block->cluster->cluster_meeting,
                  emulated_cluster * emulated_size.x);
}

/* ---- warps ------------------------------------------------------------- */

static inline uint32_t __reduce_or_sync(uint32_t, uint32_t value)
{
    const emulated_words<uint32_t> words = emulated_share(value);
    uint32_t all = 0;
    for (uint32_t i = 0; i < 32; i++)
        all |= words[i];
    return all;
}

static inline uint32_t __reduce_add_sync(uint32_t, uint32_t value)
{
    const emulated_words<uint32_t> words = emulated_share(value);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 32; i++)
        sum += words[i];
    return sum;
}

static inline uint32_t __match_any_sync(uint32_t, uint32_t value)
{
    const emulated_words<uint32_t> words = emulated_share(value);
    uint32_t same = 0;
    for (uint32_t i = 0; i < 32; i++)
        same |= (uint32_t)(words[i] == value) << i;
    return same;
}

static inline uint32_t __reduce_max_sync(uint32_t, uint32_t value)
{
    const emulated_words<uint32_t> words = emulated_share(value);
    uint32_t most = 0;
    for (uint32_t i = 0; i < 32; i++)
        most = max(words[i], most);
    return most;
}

/* ---- words ------------------------------------------------------------- */

static inline int __popc(uint32_t x)
{
    return __builtin_popcount(x);
}

static inline int __ffs(int x)
{
    return __builtin_ffs(x);
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

static inline uint32_t __umulhi(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}

/* ---- memory ------------------------------------------------------------ */

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

static inline uint64_t __cvta_generic_to_global(const void *at)
{
    return (uint64_t)(uintptr_t)at;
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
    fake_cuda_flush();
    emulated_run(body, grid, size, shared_bytes);
}

#endif
