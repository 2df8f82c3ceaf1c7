/* SPDX-License-Identifier: Apache-2.0
 * Which neurons the ranks of a network own.
 */
#include "volley_test.h"

#include "base/error.h"
#include "base/memory.h"
#include "connectome/connectome_part.h"
#include "connectome/ranks_cut.h"
#include "connectome_builder.h"

enum { RANKS = 40 };

/* Ascends from 0 to the end, and in an area at multiples of 64 only. */
static void check_cut(const vly_ranks_area *areas, uint32_t n_areas,
                      const uint32_t *first, uint32_t n_ranks)
{
    uint32_t n = 0;
    for (uint32_t a = 0; a < n_areas; a++)
        n += areas[a].n_neurons;
    assert_int_equal(first[0], 0);
    assert_int_equal(first[n_ranks], n);
    for (uint32_t r = 0; r < n_ranks; r++) {
        uint32_t at = first[r];
        assert_true(at <= first[r + 1]);
        for (uint32_t a = 0; a < n_areas && at >= areas[a].n_neurons; a++)
            at -= areas[a].n_neurons;
        assert_int_equal(at % VLY_RANKS_BLOCK, 0);
    }
}

static void equal_costs(void **state)
{
    (void)state;
    static const vly_ranks_area areas[] = {{6400, 1000}, {6400, 1000}};
    uint32_t first[RANKS + 1];
    vly_ranks_cut(areas, 2, 4, first);
    check_cut(areas, 2, first, 4);
    assert_int_equal(first[1], 3200);
    assert_int_equal(first[2], 6400);
    assert_int_equal(first[3], 9600);
    vly_ranks_cut(areas, 2, 1, first);
    check_cut(areas, 2, first, 1);
}

/* 936 + 64 a neuron, and 2936 + 64: the second area has three times the cost.
 */
static void costs_of_areas(void **state)
{
    (void)state;
    static const vly_ranks_area areas[] = {{6400, 936}, {6400, 2936}};
    uint32_t first[RANKS + 1];
    vly_ranks_cut(areas, 2, 4, first);
    check_cut(areas, 2, first, 4);
    assert_int_equal(first[1], 6400);
    assert_int_equal(first[2], 6400 + 2112); /* 2133: 33 blocks and a third */
}

/* At most half a block from the mean, and a whole one between two ranks. */
static void costs_differ_by_a_block(void **state)
{
    (void)state;
    static const vly_ranks_area areas[] = {
        {1000, 17}, {1, 0}, {77, 900}, {5003, 250}};
    uint32_t first[RANKS + 1];
    for (uint32_t n = 1; n <= RANKS; n++) {
        uint64_t total = 0;
        vly_ranks_cut(areas, 4, n, first);
        check_cut(areas, 4, first, n);
        for (uint32_t a = 0; a < 4; a++)
            total += areas[a].n_neurons * (areas[a].in_degree + UINT64_C(64));
        for (uint32_t r = 0; r < n; r++) {
            uint64_t cost = 0;
            uint32_t begin = 0;
            for (uint32_t a = 0; a < 4; begin += areas[a++].n_neurons)
                for (uint32_t k = 0; k < areas[a].n_neurons; k++)
                    if (begin + k >= first[r] && begin + k < first[r + 1])
                        cost += areas[a].in_degree + 64;
            assert_true(cost <= total / n + 64 * (900 + 64) + 1);
        }
    }
}

static void more_ranks_than_neurons(void **state)
{
    (void)state;
    static const vly_ranks_area areas[] = {{3, 5}, {1, UINT32_MAX}};
    uint32_t first[RANKS + 1];
    vly_ranks_cut(areas, 2, RANKS, first);
    check_cut(areas, 2, first, RANKS);
}

static void random_cuts(void **state)
{
    (void)state;
    static const vly_ranks_area areas[] = {{200, 5}, {1, 0}, {64, 1}, {65, 9}};
    uint32_t first[RANKS + 1];
    bool empty = false;
    bool inside = false;
    for (uint64_t seed = 0; seed < 50; seed++) {
        uint32_t n = 1 + (uint32_t)(seed % RANKS);
        vly_ranks_cut_random(areas, 4, n, seed, first);
        check_cut(areas, 4, first, n);
        for (uint32_t r = 0; r < n; r++) {
            empty = empty || first[r] == first[r + 1];
            inside = inside || first[r] == 128;
        }
    }
    assert_true(empty);
    assert_true(inside);
}

/* Every allocation of a part fails once; nothing is left over. The part is that
 * of a single rank, which knows all inputs. */
static void without_memory(void **state)
{
    (void)state;
    builder b;
    vly_error error = VLY_ERROR_INIT;
    vly_status status = VLY_E_NOMEM;
    builder_everything(&b);
    const uint32_t first[2] = {0, b.genome.n_neurons};
    const vly_ranks ranks = {
        .struct_size = sizeof ranks, .n_ranks = 1, .first = first};
    const uint64_t live = vly_memory_live();
    for (uint64_t n = 1; status == VLY_E_NOMEM && n < 10000; n++) {
        vly_connectome *part = NULL;
        vly_memory_fail_at(n);
        status = vly_connectome_build_part(&b.genome, &ranks, 1, &part, &error);
        vly_memory_fail_at(0);
        vly_connectome_destroy(part);
        assert_int_equal(vly_memory_live(), live);
    }
    assert_ok(status, error);
}

/* Gains at FEAGI areas depend on the inputs of all neurons. */
static void not_alone(void **state)
{
    (void)state;
    builder b;
    uint32_t first[4];
    vly_connectome *part = NULL;
    vly_error error = VLY_ERROR_INIT;
    builder_everything(&b);
    assert_ok(vly_ranks_cut_genome(&b.genome, 3, first, &error), error);
    const vly_ranks ranks = {
        .struct_size = sizeof ranks, .n_ranks = 3, .first = first};
    assert_int_equal(
        vly_connectome_build_part(&b.genome, &ranks, 1, &part, &error),
        VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "area F: "));
}

static void wrong_cuts(void **state)
{
    (void)state;
    builder b;
    vly_connectome *part = NULL;
    vly_error error = VLY_ERROR_INIT;
    builder_everything(&b);
    uint32_t first[3] = {0, 1, b.genome.n_neurons};
    vly_ranks ranks = {
        .struct_size = sizeof ranks, .n_ranks = 2, .first = first};
    assert_int_equal(
        vly_connectome_build_part(&b.genome, &ranks, 1, &part, &error),
        VLY_E_INVALID);
    first[1] = 0;
    first[2]--;
    assert_int_equal(
        vly_connectome_build_part(&b.genome, &ranks, 1, &part, &error),
        VLY_E_INVALID);
    assert_null(part);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(equal_costs),
    cmocka_unit_test(costs_of_areas),
    cmocka_unit_test(costs_differ_by_a_block),
    cmocka_unit_test(more_ranks_than_neurons),
    cmocka_unit_test(random_cuts),
    cmocka_unit_test(without_memory),
    cmocka_unit_test(not_alone),
    cmocka_unit_test(wrong_cuts),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
