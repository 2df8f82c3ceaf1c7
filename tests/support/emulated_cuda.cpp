/* SPDX-License-Identifier: Apache-2.0
 * Threads of a kernel as coroutines, and the calls of the runtime that launch
 * kernels (emulated_cuda.h); the rest of the runtime is fake_cuda.c. All ready
 * threads go on in turn until they wait, in the order of their numbers.
 */
#include "emulated_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <vector>

#include "fake_cuda.h"

#define STACK_BYTES (64u << 10)
#define STATIC_BYTES (64u << 10)
#define BLOCK_BYTES (512u << 10)
#define MOST_BLOCKS 64u
#define FILLED 0xcd /* memory that no one has written */

emulated_thread *emulated_self;
dim3 emulated_grid;
dim3 emulated_size;
uint32_t emulated_cluster;

static void *scheduler;
static emulated_body body_now;
static void *context_now;

/* ---- coroutines -------------------------------------------------------- */

/* Keeps the registers of the caller on its stack, and that in *from. */
extern "C" void emulated_switch(void **from, void *to);
__asm__(".text\n"
        ".globl emulated_switch\n"
        ".hidden emulated_switch\n"
        "emulated_switch:\n"
        "pushq %rbp\n"
        "pushq %rbx\n"
        "pushq %r12\n"
        "pushq %r13\n"
        "pushq %r14\n"
        "pushq %r15\n"
        "movq %rsp, (%rdi)\n"
        "movq %rsi, %rsp\n"
        "popq %r15\n"
        "popq %r14\n"
        "popq %r13\n"
        "popq %r12\n"
        "popq %rbx\n"
        "popq %rbp\n"
        "ret\n");

static void fail(const char *what)
{
    fprintf(stderr, "emulated kernel: %s\n", what);
    abort();
}

static void *map(size_t bytes, int flags)
{
    void *memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    if (memory == MAP_FAILED)
        fail("no memory");
    return memory;
}

static void enter()
{
    body_now(context_now);
    emulated_self->ended = 1;
    void *nowhere;
    emulated_switch(&nowhere, scheduler);
}

static void start(emulated_thread *thread, uint8_t *stack)
{
    void **top = (void **)(stack + STACK_BYTES - 64);
    *--top = nullptr; /* enter does not return */
    *--top = (void *)enter;
    for (int i = 0; i < 6; i++)
        *--top = nullptr;
    thread->stack = top;
}

void emulated_yield()
{
    emulated_switch(&emulated_self->stack, scheduler);
}

void emulated_meet(emulated_meeting *meeting, uint32_t n)
{
    const uint32_t number = meeting->number;
    if (++meeting->arrived == n) {
        meeting->arrived = 0;
        meeting->number++;
        return;
    }
    emulated_self->waits = &meeting->number;
    emulated_self->waits_for = number;
    emulated_yield();
}

long long emulated_clock()
{
    static long long time;
    return ++time;
}

void *emulated_static(uint32_t number, size_t bytes)
{
    emulated_block *block = emulated_self->block;
    if (block->statics[number] == nullptr) {
        if (block->static_bytes + bytes + 16 > STATIC_BYTES)
            fail("too much shared memory");
        block->statics[number] = block->shared + block->static_bytes;
        block->static_bytes += ((uint32_t)bytes + 15) / 16 * 16;
    }
    return block->statics[number];
}

/* ---- launches ---------------------------------------------------------- */

struct launch {
    std::vector<emulated_block> blocks;
    std::vector<emulated_warp> warps;
    std::vector<emulated_thread> threads;
};

static void start_block(launch *of, uint32_t slot, uint32_t number,
                        uint8_t *stacks)
{
    static uint8_t *memory;
    const uint32_t n = emulated_size.x;
    if (memory == nullptr)
        memory = (uint8_t *)map((size_t)MOST_BLOCKS * BLOCK_BYTES, MAP_32BIT);
    emulated_block *block = &of->blocks[slot];
    *block = {};
    block->shared = memory + (size_t)slot * BLOCK_BYTES;
    block->dynamic = block->shared + STATIC_BYTES;
    block->rank = slot % emulated_cluster;
    block->cluster = &of->blocks[slot - block->rank];
    block->n_threads = n;
    memset(block->shared, FILLED, BLOCK_BYTES);
    for (uint32_t i = 0; i < n / 32; i++)
        of->warps[slot * (n / 32) + i] = {};
    for (uint32_t i = 0; i < n; i++) {
        emulated_thread *thread = &of->threads[(size_t)slot * n + i];
        *thread = {};
        thread->block = block;
        thread->warp = &of->warps[slot * (n / 32) + i / 32];
        thread->index = make_uint3(i, 0, 0);
        thread->block_index = make_uint3(number, 0, 0);
        start(thread, stacks + ((size_t)slot * n + i) * STACK_BYTES);
    }
}

/* A thread that has ended is waited for no longer. */
static void end_thread(emulated_thread *thread)
{
    emulated_block *block = thread->block;
    block->n_threads--;
    if (block->n_threads > 0 && block->meeting.arrived == block->n_threads) {
        block->meeting.arrived = 0;
        block->meeting.number++;
    }
}

static void run_threads(launch *of)
{
    size_t left = of->threads.size();
    while (left > 0) {
        bool any = false;
        for (emulated_thread &thread : of->threads) {
            if (thread.ended != 0 ||
                (thread.waits != nullptr && *thread.waits == thread.waits_for))
                continue;
            any = true;
            thread.waits = nullptr;
            emulated_self = &thread;
            emulated_switch(&scheduler, thread.stack);
            if (thread.ended != 0) {
                end_thread(&thread);
                left--;
            }
        }
        if (!any)
            fail("all threads wait");
    }
}

void emulated_run(emulated_body body, void *context, dim3 grid, dim3 size,
                  size_t shared_bytes, uint32_t cluster, bool together)
{
    const uint32_t step = together ? grid.x : 1;
    const size_t n = (size_t)step * size.x;
    if (step > MOST_BLOCKS || size.x % 32 != 0 || step % cluster != 0 ||
        STATIC_BYTES + shared_bytes > BLOCK_BYTES)
        fail("a launch that it has no room for");
    launch now = {std::vector<emulated_block>(step),
                  std::vector<emulated_warp>(n / 32),
                  std::vector<emulated_thread>(n)};
    uint8_t *stacks = (uint8_t *)map(n * STACK_BYTES, 0);
    emulated_grid = grid;
    emulated_size = size;
    emulated_cluster = cluster;
    body_now = body;
    context_now = context;
    for (uint32_t first = 0; first < grid.x; first += step) {
        for (uint32_t i = 0; i < step; i++)
            start_block(&now, i, first + i, stacks);
        run_threads(&now);
    }
    munmap(stacks, n * STACK_BYTES);
}

/* ---- the runtime's calls ----------------------------------------------- */

struct kernel_call {
    const emulated_kernel *kernel;
    void **arguments;
};

static void call_kernel(void *context)
{
    const kernel_call *call = (const kernel_call *)context;
    call->kernel->call(call->arguments);
}

extern "C" cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config,
                                           const void *kernel, void **arguments)
{
    kernel_call call = {(const emulated_kernel *)kernel, arguments};
    const uint32_t cluster =
        config->numAttrs > 1 ? config->attrs[1].val.clusterDim.x : 1;
    emulated_run(call_kernel, &call, config->gridDim, config->blockDim,
                 config->dynamicSmemBytes, cluster, true);
    return cudaSuccess;
}

extern "C" cudaError_t
cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 size,
                            void **arguments, size_t shared_bytes, cudaStream_t)
{
    kernel_call call = {(const emulated_kernel *)kernel, arguments};
    emulated_run(call_kernel, &call, grid, size, shared_bytes, 1, true);
    return cudaSuccess;
}

extern "C" cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *, int,
                                              size_t shared_bytes)
{
    *n = shared_bytes <= FAKE_CUDA_SHARED;
    return cudaSuccess;
}

extern "C" cudaError_t
cudaOccupancyMaxActiveClusters(int *n, const void *,
                               const cudaLaunchConfig_t *config)
{
    const uint32_t cluster = config->attrs[0].val.clusterDim.x;
    *n = config->dynamicSmemBytes <= FAKE_CUDA_SHARED
             ? (int)(fake_cuda_units / cluster)
             : 0;
    return cudaSuccess;
}

extern "C" cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute,
                                            int)
{
    return cudaSuccess;
}

extern "C" cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes,
                                             const void *)
{
    *attributes = {};
    return cudaSuccess;
}

