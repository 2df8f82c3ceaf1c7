/* SPDX-License-Identifier: Apache-2.0
 * The threads on which kernels of CUDA run on the processor: order, barriers,
 * shuffles, clusters, shared memory, and what ends a process. Once as this
 * machine has them and once as all others (EMULATED_PORTABLE).
 */
extern "C" {
#include "volley_test.h"
}

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <vector>

#include "emulated_threads.h"

enum { THREADS = 160, ROUNDS = 20 };

static void test_places(void **)
{
    std::vector<uint32_t> seen;
    emulated_run(
        [&] {
            if (threadIdx.x == 0)
                seen.push_back((blockIdx.z * emulated_grid.y + blockIdx.y) *
                                   emulated_grid.x +
                               blockIdx.x);
        },
        dim3(3, 2, 4), dim3(THREADS), 0);
    assert_int_equal(seen.size(), 24);
    for (uint32_t i = 0; i < 24; i++)
        assert_int_equal(seen[i], i);
}

/* Each round reads what another thread wrote in the round before; the upper
 * threads end, and nobody waits for them. */
static void test_barrier(void **)
{
    uint32_t words[2][THREADS];
    uint32_t n_wrong = 0;
    emulated_run(
        [&] {
            uint32_t n = THREADS;
            for (uint32_t round = 0; round < ROUNDS; round++) {
                if (round == 10 && threadIdx.x >= 64)
                    return;
                words[round % 2][threadIdx.x] = round * 1000 + threadIdx.x;
                __syncthreads();
                n = round >= 10 ? 64 : THREADS;
                const uint32_t other = n - 1 - threadIdx.x;
                n_wrong += words[round % 2][other] != round * 1000 + other;
            }
        },
        dim3(2), dim3(THREADS), 0);
    assert_int_equal(n_wrong, 0);
}

struct wide {
    uint32_t words[16];
};

static void test_shuffles(void **)
{
    uint32_t n_wrong = 0;
    emulated_run(
        [&] {
            const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
            for (uint32_t round = 0; round < ROUNDS; round++) {
                uint32_t sum = threadIdx.x + round;
                for (int d = 16; d > 0; d /= 2)
                    sum += __shfl_xor_sync(~0u, sum, d);
                n_wrong += sum != 32 * (32 * warp + round) + 496;
                const double up = __shfl_up_sync(~0u, 0.5 * lane, 3);
                n_wrong += up != 0.5 * (lane >= 3 ? lane - 3 : lane);
                wide mine = {};
                mine.words[round % 16] = threadIdx.x;
                n_wrong += emulated_share(mine)[lane + 1].words[round % 16] !=
                           32 * warp + (lane + 1) % 32;
                n_wrong += __ballot_sync(~0u, lane % 3 == 0) != 0x49249249u;
                if (round % 2 == warp % 2)
                    __syncwarp();
            }
        },
        dim3(2), dim3(THREADS), 0);
    assert_int_equal(n_wrong, 0);
}

static void test_votes(void **)
{
    uint32_t n_wrong = 0;
    emulated_run(
        [&] {
            for (uint32_t round = 0; round < ROUNDS; round++) {
                const int mine = round % 3 == 0 && threadIdx.x == round * 7;
                n_wrong += __syncthreads_or(mine) != (round % 3 == 0);
            }
        },
        dim3(1), dim3(THREADS), 0);
    assert_int_equal(n_wrong, 0);
}

static uint32_t *of_rank(uint32_t rank)
{
    return (uint32_t *)emulated_self->block->cluster[rank].dynamic;
}

/* All blocks at once: a block waits for a word that a later one writes, and
 * reads shared memory of its cluster. */
static void test_together(void **)
{
    static uint32_t there;
    static uint32_t n_wrong;
    there = n_wrong = 0;
    emulated_run(
        [](void *) {
            emulated_block *block = emulated_self->block;
            uint32_t *mine = (uint32_t *)block->dynamic;
            mine[threadIdx.x] = blockIdx.x * 100 + threadIdx.x;
            while (blockIdx.x == 0 && there == 0)
                emulated_yield();
            if (blockIdx.x == 3)
                there = 1;
            emulated_meet(&block->cluster->cluster_meeting,
                          emulated_cluster * emulated_size.x);
            const uint32_t other = blockIdx.x ^ 1;
            n_wrong +=
                of_rank(other % 2)[threadIdx.x] != other * 100 + threadIdx.x;
        },
        nullptr, dim3(4), dim3(64), 64 * sizeof(uint32_t), 2, true);
    assert_int_equal(n_wrong, 0);
}

/* Addresses of shared memory have 32 bits; what no thread has written is NaN,
 * also in a block after one that wrote. */
static void test_shared(void **)
{
    uint32_t n_wrong = 0;
    emulated_run(
        [&] {
            float *variable = (float *)emulated_static(1, 2 * sizeof(float));
            float *dynamic = (float *)emulated_self->block->dynamic;
            const uintptr_t end = (uintptr_t)(dynamic + 1000);
            n_wrong += end > UINT32_MAX || !std::isnan(variable[1]) ||
                       !std::isnan(dynamic[999]);
            __syncthreads();
            variable[1] = dynamic[999] = 1.0f;
            __syncthreads();
            n_wrong += variable != emulated_static(1, 2 * sizeof(float));
        },
        dim3(3), dim3(32), 1000 * sizeof(float));
    assert_int_equal(n_wrong, 0);
    assert_true(emulated_has_room(227u << 10));
    assert_false(emulated_has_room(1u << 20));
}

static bool aborts(void (*kernel)(void *), uint32_t size)
{
    const pid_t child = fork();
    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) == nullptr)
            _exit(2);
        emulated_run(kernel, nullptr, dim3(1), dim3(size), 0, 1, false);
        _exit(0);
    }
    int status = 0;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void test_deadlocks(void **)
{
    static uint32_t word;
    assert_true(aborts(
        [](void *) {
            if (threadIdx.x == 1)
                emulated_wait(&word, 0);
            __syncthreads();
        },
        64));
    assert_true(
        aborts([](void *) { (void)__shfl_xor_sync(~0u, threadIdx.x, 1); }, 40));
    assert_false(aborts([](void *) { __syncthreads(); }, 40));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),    cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_shuffles),  cmocka_unit_test(test_votes),
        cmocka_unit_test(test_together),  cmocka_unit_test(test_shared),
        cmocka_unit_test(test_deadlocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
