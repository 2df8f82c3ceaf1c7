/* SPDX-License-Identifier: Apache-2.0
 * Threads of a kernel as coroutines, and the calls of the runtime that launch
 * kernels (emulated_cuda.h); the rest of the runtime is fake_cuda.c. All ready
 * threads go on in turn until they wait, in the order of their numbers.
 */
#include "emulated_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

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
    const emulated_job *job = emulated_self->block->job;
    job->body(job->context);
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

uint64_t emulated_time_ns()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void emulated_trap()
{
    fail("trap");
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

/* Block `number` of a job in a slot; its threads begin at `at`, and the job's
 * slots at job_slot. */
static void start_block(launch *of, const emulated_job *job, uint32_t job_slot,
                        uint32_t slot, uint32_t number, size_t at,
                        uint8_t *stacks)
{
    static uint8_t *memory;
    const uint32_t n = job->size.x;
    if (memory == nullptr)
        memory = (uint8_t *)map((size_t)MOST_BLOCKS * BLOCK_BYTES, MAP_32BIT);
    emulated_block *block = &of->blocks[slot];
    *block = {};
    block->job = job;
    block->shared = memory + (size_t)slot * BLOCK_BYTES;
    block->dynamic = block->shared + STATIC_BYTES;
    block->rank = (slot - job_slot) % job->cluster;
    block->cluster = &of->blocks[slot - block->rank];
    block->n_threads = n;
    memset(block->shared, FILLED, BLOCK_BYTES);
    for (uint32_t i = 0; i < n / 32; i++)
        of->warps[at / 32 + i] = {};
    for (uint32_t i = 0; i < n; i++) {
        emulated_thread *thread = &of->threads[at + i];
        *thread = {};
        thread->block = block;
        thread->warp = &of->warps[(at + i) / 32];
        thread->index = make_uint3(i, 0, 0);
        thread->block_index = make_uint3(number, 0, 0);
        start(thread, stacks + (at + i) * STACK_BYTES);
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
            emulated_grid = thread.block->job->grid;
            emulated_size = thread.block->job->size;
            emulated_cluster = thread.block->job->cluster;
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

/* Runs the blocks that each job names, all of them together. */
static void run_jobs(const emulated_job *jobs, size_t n_jobs)
{
    size_t n_blocks = 0;
    size_t n = 0;
    for (size_t j = 0; j < n_jobs; j++) {
        n_blocks += jobs[j].n_blocks;
        n += (size_t)jobs[j].n_blocks * jobs[j].size.x;
        if (jobs[j].size.x % 32 != 0 || jobs[j].n_blocks % jobs[j].cluster != 0)
            fail("a launch of an odd size");
    }
    if (n_blocks > MOST_BLOCKS)
        fail("launches that it has no room for");
    launch now = {std::vector<emulated_block>(n_blocks),
                  std::vector<emulated_warp>(n / 32),
                  std::vector<emulated_thread>(n)};
    static uint8_t *stacks; /* kept: many launches are of one block a time */
    static size_t room;
    if (n > room) {
        if (room > 0)
            munmap(stacks, room * STACK_BYTES);
        stacks = (uint8_t *)map(n * STACK_BYTES, 0);
        room = n;
    }
    uint32_t slot = 0;
    size_t at = 0;
    for (size_t j = 0; j < n_jobs; j++) {
        const uint32_t first = slot;
        for (uint32_t i = 0; i < jobs[j].n_blocks; i++) {
            start_block(&now, &jobs[j], first, slot++, jobs[j].first + i, at,
                        stacks);
            at += jobs[j].size.x;
        }
    }
    run_threads(&now);
}

void emulated_run(emulated_body body, void *context, dim3 grid, dim3 size,
                  size_t shared_bytes, uint32_t cluster, bool together)
{
    fake_cuda_flush();
    if (STATIC_BYTES + shared_bytes > BLOCK_BYTES)
        fail("a launch that it has no room for");
    const uint32_t step = together ? grid.x : 1;
    for (uint32_t first = 0; first < grid.x; first += step) {
        const emulated_job job = {body,    context, grid, size,
                                  cluster, first,   step};
        run_jobs(&job, 1);
    }
}

/* ---- the runtime's calls ----------------------------------------------- */

struct kernel_call {
    const emulated_kernel *kernel;
    void *arguments[EMULATED_ARGUMENTS];
};

static void call_kernel(void *context)
{
    kernel_call *call = (kernel_call *)context;
    call->kernel->call(call->arguments);
}

/* Launches that wait for what the host does next: launches on several devices
 * run together, as there, and a host that waited for the first before it made
 * the second would wait for ever. */
static std::vector<emulated_job> pending;

extern "C" void fake_cuda_flush(void)
{
    std::vector<emulated_job> jobs;
    jobs.swap(pending);
    if (jobs.empty())
        return;
    run_jobs(jobs.data(), jobs.size());
    for (emulated_job &job : jobs) {
        kernel_call *call = (kernel_call *)job.context;
        for (void *argument : call->arguments)
            free(argument);
        delete call;
    }
}

extern "C" cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config,
                                           const void *kernel, void **arguments)
{
    kernel_call *call = new kernel_call{(const emulated_kernel *)kernel, {}};
    const uint32_t cluster =
        config->numAttrs > 1 ? config->attrs[1].val.clusterDim.x : 1;
    if (STATIC_BYTES + config->dynamicSmemBytes > BLOCK_BYTES)
        fail("a launch that it has no room for");
    for (uint32_t i = 0; i < EMULATED_ARGUMENTS; i++) {
        const size_t bytes = call->kernel->sizes[i];
        if (bytes == 0)
            break;
        call->arguments[i] = aligned_alloc(64, (bytes + 63) / 64 * 64);
        memcpy(call->arguments[i], arguments[i], bytes);
    }
    pending.push_back({call_kernel, call, config->gridDim, config->blockDim,
                       cluster, 0, config->gridDim.x});
    return cudaSuccess;
}

extern "C" cudaError_t
cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 size,
                            void **arguments, size_t shared_bytes, cudaStream_t)
{
    kernel_call call = {(const emulated_kernel *)kernel, {}};
    for (uint32_t i = 0; call.kernel->sizes[i] != 0; i++)
        call.arguments[i] = arguments[i];
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
