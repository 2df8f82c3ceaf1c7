/* SPDX-License-Identifier: Apache-2.0
 * The threads of emulated_threads.h: all that are ready go on in turn until
 * they wait, in the order of their numbers. x86-64 changes stacks in twelve
 * instructions; other machines, and EMULATED_PORTABLE, by ucontext and longjmp.
 * Not for sanitizers, which do not know these stacks.
 */
/* Fortified longjmp ends the process when it goes to another stack ("longjmp
 * causes uninitialized stack frame"), which is what it is for here.
 * Distributions fortify by default, so this file takes the plain one. */
#undef _FORTIFY_SOURCE
#include "emulated_threads.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <wchar.h>

#include <mutex>
#include <vector>

#define STACK_BYTES (128u << 10)
/* Not a power of two: the tops of all stacks would share a few lines of the
 * cache. */
#define STACK_STEP (STACK_BYTES + 67 * 64)
#define STATIC_BYTES (64u << 10)
#define BLOCK_BYTES (512u << 10)
#define GUARD_BYTES                                                            \
    256u /* after dynamic memory, where kernels must not write */
#define GUARD 0xa5
#define MOST_BLOCKS 64u
/* Shared memory that no thread has written: NaN as float, __half and
 * __nv_bfloat16, every second byte as e4m3, and no index. */
#define FILLED 0xffcdffcdu

emulated_thread *emulated_self;

/* What launches run on, kept: most launches are of one block at a time. */
static std::vector<emulated_block> blocks;
static std::vector<emulated_warp> warps;
static std::vector<emulated_thread> threads;
static uint8_t *shared_memory;
static uint8_t *stacks;
static size_t n_stacks;

void emulated_fail(const char *what)
{
    fprintf(stderr, "emulated kernel: %s\n", what);
    abort();
}

/* ---- coroutines -------------------------------------------------------- */

#if defined(__x86_64__) && !defined(EMULATED_PORTABLE)

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

struct place {
    void *stack;
};

static place scheduler;

static void go(place *from, place *to)
{
    emulated_switch(&from->stack, to->stack);
}

static void prepare(place *at, uint8_t *stack, size_t bytes,
                    void (*entry)(void))
{
    void **top = (void **)(stack + bytes - 64);
    *--top = nullptr; /* entry does not return */
    *--top = (void *)entry;
    for (int i = 0; i < 6; i++)
        *--top = nullptr;
    at->stack = top;
}

#else

/* A coroutine is entered once through its context and from then on by longjmp,
 * which makes no system call: swapcontext makes two a switch, and a kernel
 * switches millions of times. */
struct place {
    jmp_buf at;
    ucontext_t context;
    bool is_started;
};

static place scheduler = {{}, {}, true};

static void go(place *from, place *to)
{
    if (_setjmp(from->at) != 0)
        return;
    if (to->is_started)
        _longjmp(to->at, 1);
    to->is_started = true;
    (void)setcontext(&to->context);
    emulated_fail("a thread that cannot be started");
}

static void prepare(place *at, uint8_t *stack, size_t bytes,
                    void (*entry)(void))
{
    at->is_started = false;
    (void)getcontext(&at->context);
    at->context.uc_stack.ss_sp = stack;
    at->context.uc_stack.ss_size = bytes;
    at->context.uc_link = nullptr; /* entry does not return */
    makecontext(&at->context, entry, 0);
}

#endif

static void *map(void *place, size_t bytes, int flags)
{
    return mmap(place, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

static void leave(void)
{
    go((place *)emulated_self->place, &scheduler);
}

/* A coroutine stays for the threads of later launches. */
static void enter(void)
{
    for (;;) {
        const emulated_job *job = emulated_self->block->job;
        job->body(job->context);
        emulated_self->ended = 1;
        leave();
    }
}

/* Its place is at the end of its stack, which its thread uses anyway. */
static place *place_of(size_t thread)
{
    const size_t bytes = (sizeof(place) + 63) / 64 * 64;
    return (place *)(stacks + thread * STACK_STEP + STACK_BYTES - bytes);
}

static void make_stacks(size_t n)
{
    if (n <= n_stacks)
        return;
    if (n_stacks > 0)
        munmap(stacks, n_stacks * STACK_STEP);
    stacks = (uint8_t *)map(nullptr, n * STACK_STEP, 0);
    if ((void *)stacks == MAP_FAILED)
        emulated_fail("no memory for stacks");
    n_stacks = n;
    for (size_t i = 0; i < n; i++) {
        uint8_t *stack = stacks + i * STACK_STEP;
        prepare(place_of(i), stack, (size_t)((uint8_t *)place_of(i) - stack),
                enter);
    }
}

/* ---- waiting ----------------------------------------------------------- */

void emulated_yield(void)
{
    leave();
}

void emulated_wait(const uint32_t *word, uint32_t value)
{
    if (*word != value)
        return;
    emulated_self->waits = word;
    emulated_self->waits_for = value;
    leave();
}

void emulated_meet(emulated_meeting *meeting, uint32_t n)
{
    const uint32_t number = meeting->number;
    if (++meeting->arrived == n) {
        meeting->arrived = 0;
        meeting->number++;
        return;
    }
    emulated_wait(&meeting->number, number);
}

/* ---- memory of blocks -------------------------------------------------- */

/* Below 4 GB, as kernels keep addresses in 32 bits. */
static uint8_t *map_low(size_t bytes)
{
#if defined(MAP_32BIT) && !defined(EMULATED_PORTABLE)
    void *memory = map(nullptr, bytes, MAP_32BIT);
    if (memory != MAP_FAILED)
        return (uint8_t *)memory;
#else
    for (uintptr_t at = 1u << 28; at + bytes < UINT32_MAX; at += 1u << 26) {
        void *memory = map((void *)at, bytes, MAP_FIXED_NOREPLACE);
        if (memory == (void *)at)
            return (uint8_t *)memory;
        if (memory != MAP_FAILED) /* a kernel older than the flag */
            munmap(memory, bytes);
    }
#endif
    emulated_fail("no memory below 4 GB");
}

static void fill(uint8_t *memory, size_t bytes)
{
    wmemset((wchar_t *)memory, (wchar_t)FILLED, (bytes + 3) / 4);
}

bool emulated_has_room(size_t shared_bytes)
{
    return STATIC_BYTES + shared_bytes + GUARD_BYTES <= BLOCK_BYTES;
}

void *emulated_static(uint32_t number, size_t bytes)
{
    emulated_block *block = emulated_self->block;
    if (number >= EMULATED_STATICS)
        emulated_fail("too many variables in shared memory");
    if (block->statics[number] == nullptr) {
        if (block->static_bytes + bytes + 16 > STATIC_BYTES)
            emulated_fail("too much shared memory");
        block->statics[number] = block->shared + block->static_bytes;
        block->static_bytes += ((uint32_t)bytes + 15) / 16 * 16;
        fill(block->statics[number], bytes);
    }
    return block->statics[number];
}

/* ---- launches ---------------------------------------------------------- */

/* Blocks, warps and threads that have been begun. */
struct begun {
    uint32_t blocks;
    size_t warps;
    size_t threads;
};

static uint3 place_in(dim3 grid, uint32_t number)
{
    return make_uint3(number % grid.x, number / grid.x % grid.y,
                      number / grid.x / grid.y);
}

/* Block `number` of a job, whose first is job_first here. */
static void begin_block(const emulated_job *job, uint32_t job_first,
                        uint32_t number, begun *now)
{
    const uint32_t n = job->size.x;
    emulated_block *block = &blocks[now->blocks];
    *block = {};
    block->job = job;
    block->shared = shared_memory + (size_t)now->blocks * BLOCK_BYTES;
    block->dynamic = block->shared + STATIC_BYTES;
    block->rank = (now->blocks - job_first) % job->cluster;
    block->cluster = &blocks[now->blocks - block->rank];
    block->n_threads = n;
    fill(block->dynamic, job->shared_bytes);
    memset(block->dynamic + job->shared_bytes, GUARD, GUARD_BYTES);
    const uint3 index = place_in(job->grid, number);
    for (uint32_t i = 0; i < n; i++) {
        emulated_warp *warp = &warps[now->warps + i / 32];
        if (i % 32 == 0) {
            warp->meeting = {};
            warp->n_threads = n - i < 32 ? n - i : 32;
        }
        const size_t at = now->threads + i;
        threads[at] = {place_of(at),        block, warp, nullptr, 0, 0,
                       make_uint3(i, 0, 0), index};
    }
    now->blocks++;
    now->warps += (n + 31) / 32;
    now->threads += n;
}

/* One that a meeting no longer waits for. */
static void drop_one(emulated_meeting *meeting, uint32_t n)
{
    if (n > 0 && meeting->arrived == n) {
        meeting->arrived = 0;
        meeting->number++;
    }
}

static void check_guards(uint32_t n)
{
    for (uint32_t b = 0; b < n; b++) {
        const uint8_t *guard = blocks[b].dynamic + blocks[b].job->shared_bytes;
        for (uint32_t i = 0; i < GUARD_BYTES; i++)
            if (guard[i] != GUARD)
                emulated_fail("a write after the dynamic shared memory");
    }
}

static void run_threads(size_t n)
{
    size_t left = n;
    while (left > 0) {
        bool any = false;
        for (size_t i = 0; i < n; i++) {
            emulated_thread *thread = &threads[i];
            if (thread->ended != 0 || (thread->waits != nullptr &&
                                       *thread->waits == thread->waits_for))
                continue;
            any = true;
            thread->waits = nullptr;
            emulated_self = thread;
            go(&scheduler, (place *)thread->place);
            if (thread->ended != 0) {
                drop_one(&thread->block->meeting, --thread->block->n_threads);
                drop_one(&thread->warp->meeting, --thread->warp->n_threads);
                left--;
            }
        }
        if (!any)
            emulated_fail("all threads wait");
    }
}

/* One after the other, where several threads of the host launch. */
static std::mutex running;

void emulated_run_jobs(const emulated_job *jobs, size_t n_jobs)
{
    const std::lock_guard<std::mutex> alone(running);
    begun all = {};
    for (size_t j = 0; j < n_jobs; j++) {
        const emulated_job *job = &jobs[j];
        if (job->size.y != 1 || job->size.z != 1 ||
            job->n_blocks % job->cluster != 0)
            emulated_fail("a launch of an odd size");
        if (!emulated_has_room(job->shared_bytes))
            emulated_fail("a launch that it has no room for");
        all.blocks += job->n_blocks;
        all.warps += (size_t)job->n_blocks * ((job->size.x + 31) / 32);
        all.threads += (size_t)job->n_blocks * job->size.x;
    }
    if (all.blocks > MOST_BLOCKS)
        emulated_fail("launches that it has no room for");
    if (shared_memory == nullptr)
        shared_memory = map_low((size_t)MOST_BLOCKS * BLOCK_BYTES);
    if (blocks.size() < all.blocks)
        blocks.resize(all.blocks);
    if (warps.size() < all.warps)
        warps.resize(all.warps);
    if (threads.size() < all.threads)
        threads.resize(all.threads);
    make_stacks(all.threads);
    begun now = {};
    for (size_t j = 0; j < n_jobs; j++) {
        const uint32_t job_first = now.blocks;
        for (uint32_t i = 0; i < jobs[j].n_blocks; i++)
            begin_block(&jobs[j], job_first, jobs[j].first + i, &now);
    }
    run_threads(all.threads);
    check_guards(all.blocks);
}

void emulated_run(emulated_body body, void *context, dim3 grid, dim3 size,
                  size_t shared_bytes, uint32_t cluster, bool together)
{
    const uint32_t n = grid.x * grid.y * grid.z;
    const uint32_t step = together ? n : 1;
    for (uint32_t first = 0; first < n; first += step) {
        const emulated_job job = {body,         context, grid,  size,
                                  shared_bytes, cluster, first, step};
        emulated_run_jobs(&job, 1);
    }
}
