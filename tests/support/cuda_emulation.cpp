// SPDX-License-Identifier: Apache-2.0
// Threads of a block as fibers; each stays for the blocks and kernels after its
// first.
#include "cuda_emulation.h"

#include <deque>
#include <memory>
#include <vector>

#include "fiber.h"

namespace emulation
{

uint3 thread, block;
dim3 grid;

namespace
{

constexpr size_t STACK_BYTES = 64 << 10;
constexpr uint32_t LANES = 32, MOST_WORDS = 12;

struct meeting {
    uint32_t n_here = 0, n_expected = 0;
    uint64_t round = 0;
};

struct block_thread {
    fiber self;
    std::unique_ptr<char[]> stack;
    bool is_done = false;
};

struct warp {
    meeting all;
    // two, so that one round may be read while the next is written
    uint32_t said[2][LANES * MOST_WORDS];
    uint32_t turn[LANES] = {};
};

std::deque<block_thread> fibers; // none may move
std::vector<warp> warps;
meeting everyone;
block_thread *running;
const std::function<void()> *body;

void meet(meeting *m)
{
    const uint64_t round = m->round;
    const uint3 me = thread;
    if (++m->n_here == m->n_expected) {
        m->n_here = 0;
        m->round++;
        return;
    }
    while (m->round == round) {
        fiber_leave();
        thread = me;
    }
}

void enter()
{
    for (;;) {
        (*body)();
        running->is_done = true;
        fiber_leave();
    }
}

void run_block(uint32_t n_threads)
{
    everyone = meeting();
    everyone.n_expected = n_threads;
    warps.assign((n_threads + LANES - 1) / LANES, warp());
    for (uint32_t i = 0; i < n_threads; i++) {
        warps[i / LANES].all.n_expected++;
        fibers[i].is_done = false;
    }
    for (uint32_t n_left = n_threads; n_left > 0;)
        for (uint32_t i = 0; i < n_threads; i++)
            if (!fibers[i].is_done) {
                thread = uint3{i, 0, 0};
                running = &fibers[i];
                fiber_resume(&running->self);
                n_left -= fibers[i].is_done;
            }
}

} // namespace

void block_meets()
{
    meet(&everyone);
}

const uint32_t *warp_meets(const uint32_t *words, uint32_t n_words)
{
    warp &w = warps[thread.x / LANES];
    const uint32_t lane = thread.x % LANES;
    uint32_t *said = w.said[w.turn[lane]++ % 2];
    memcpy(said + lane * n_words, words, n_words * sizeof *words);
    meet(&w.all);
    return said;
}

void launch(dim3 n_blocks, dim3 n_threads, const std::function<void()> &kernel)
{
    while (fibers.size() < n_threads.x) {
        fibers.emplace_back();
        block_thread &made = fibers.back();
        made.stack.reset(new char[STACK_BYTES]);
        fiber_prepare(&made.self, made.stack.get(), STACK_BYTES, enter);
    }
    body = &kernel;
    grid = n_blocks;
    for (block.z = 0; block.z < n_blocks.z; block.z++)
        for (block.y = 0; block.y < n_blocks.y; block.y++)
            for (block.x = 0; block.x < n_blocks.x; block.x++)
                run_block(n_threads.x);
}

} // namespace emulation
