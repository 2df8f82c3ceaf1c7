// SPDX-License-Identifier: Apache-2.0
// The coroutines of simt.h.
#include "simt.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "fiber.h"

struct coroutine {
    fiber self;
    bool done;
};

struct rendezvous {
    int arrived;
    int living;
    unsigned generation;
};

char *simt_shared;
uint3 simt_block;
uint3 simt_thread;
dim3 simt_grid_dim;
dim3 simt_block_dim;
int simt_self;
unsigned char simt_slots[SIMT_WARPS][32][SIMT_SLOT];

static const size_t stack_bytes = 1 << 17;
static const long most_rounds = 50000000; // more is a deadlock
static std::vector<coroutine> threads;
static std::vector<char *> stacks;
static std::vector<rendezvous> of_block;
static rendezvous of_warp[SIMT_WARPS];
static std::vector<char *> shared;
static int any_of_block;
static const std::function<void()> *body;

void simt_yield(void)
{
    fiber_leave();
}

static void meet(rendezvous *at)
{
    const unsigned generation = at->generation;
    at->arrived++;
    while (at->generation == generation) {
        if (at->arrived >= at->living) {
            at->arrived = 0;
            at->generation++;
            return;
        }
        simt_yield();
    }
}

// Of those that run: 0, where blocks come one after the other.
static size_t block_of(size_t self)
{
    return self / simt_block_dim.x;
}

void simt_sync_block(void)
{
    meet(&of_block[block_of((size_t)simt_self)]);
}

void simt_sync_warp(void)
{
    meet(&of_warp[(size_t)simt_self / 32]);
}

int simt_or_block(int x)
{
    simt_sync_block();
    any_of_block = 0;
    simt_sync_block();
    if (x)
        any_of_block = 1;
    simt_sync_block();
    const int any = any_of_block;
    simt_sync_block();
    return any;
}

static void enter(void)
{
    (*body)();
    threads[(size_t)simt_self].done = true;
    of_block[block_of((size_t)simt_self)].living--;
    of_warp[(size_t)simt_self / 32].living--;
    fiber_leave();
}

// The coroutines of n_blocks blocks from `first` on, until all are done.
static void run_blocks(uint3 first, size_t n_blocks)
{
    const size_t each = simt_block_dim.x, n = n_blocks * each;
    threads.assign(n, coroutine());
    of_block.assign(n_blocks, rendezvous());
    while (stacks.size() < n)
        stacks.push_back((char *)malloc(stack_bytes));
    while (shared.size() < n_blocks)
        shared.push_back((char *)aligned_alloc(256, SIMT_SHARED_BYTES));
    for (size_t b = 0; b < n_blocks; b++) {
        of_block[b].living = (int)each;
        memset(shared[b], 0x7f, SIMT_SHARED_BYTES); // NaN of every type
    }
    for (size_t i = 0; i < SIMT_WARPS; i++) {
        of_warp[i] = rendezvous();
        of_warp[i].living =
            n <= i * 32 ? 0 : (int)(n - i * 32 < 32 ? n - i * 32 : 32);
    }
    for (size_t i = 0; i < n; i++)
        fiber_prepare(&threads[i].self, stacks[i], stack_bytes, enter);
    size_t living = n;
    for (long round = 0; living > 0; round++) {
        living = 0;
        if (round == most_rounds) {
            fprintf(stderr, "simt: the threads of a block wait for ever\n");
            abort();
        }
        for (size_t i = 0; i < n; i++) {
            if (threads[i].done)
                continue;
            living++;
            simt_self = (int)i;
            simt_thread = uint3{(unsigned)(i % each), 0, 0};
            simt_block = first;
            simt_block.x += (unsigned)(i / each);
            simt_shared = shared[i / each];
            fiber_resume(&threads[i].self);
        }
    }
}

void simt_run(dim3 grid, dim3 block, const std::function<void()> &kernel)
{
    body = &kernel;
    simt_grid_dim = grid;
    simt_block_dim = block;
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++)
                run_blocks(uint3{x, y, z}, 1);
}
