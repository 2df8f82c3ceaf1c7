/* SPDX-License-Identifier: Apache-2.0
 * The shipped genomes whose spikes are worked out by hand in their comments.
 */
#include "volley_test.h"

#include <volley/volley.h>

enum { MAX_SPIKES = 64 };

typedef struct spike {
    uint64_t burst;
    uint32_t neuron;
} spike;

typedef struct spike_list {
    uint32_t n;
    spike spikes[MAX_SPIKES];
} spike_list;

static vly_status add(void *arg, uint64_t burst, const uint32_t *ids,
                      uint32_t n_ids, uint64_t digest)
{
    spike_list *list = arg;
    (void)digest;
    for (uint32_t i = 0; i < n_ids && list->n < MAX_SPIKES; i++)
        list->spikes[list->n++] = (spike){burst, ids[i]};
    return VLY_OK;
}

static void check(const char *genome, uint64_t n_bursts, const spike *wanted,
                  uint32_t n_wanted)
{
    char path[512];
    vly_error error = {.struct_size = sizeof error};
    vly_net *net = NULL;
    spike_list list = {0};
    snprintf(path, sizeof path, "%s/genomes/%s", VLY_TEST_SOURCE_DIR, genome);
    assert_ok(vly_net_open(path, "cpu:1", &net, &error), error);
    vly_net_on_spikes(net, add, &list);
    assert_ok(vly_net_run(net, n_bursts, &error), error);
    assert_int_equal(list.n, n_wanted);
    for (uint32_t i = 0; i < n_wanted; i++) {
        assert_int_equal(list.spikes[i].burst, wanted[i].burst);
        assert_int_equal(list.spikes[i].neuron, wanted[i].neuron);
    }
    vly_net_close(net);
}

static void test_three(void **state)
{
    static const spike wanted[] = {{10, 0}, {25, 1}, {31, 0}, {46, 1}, {61, 2}};
    (void)state;
    check("three.toml", 100, wanted, 5);
}

/* 1_1_1___1_1_1___1_1_1___ */
static void test_pattern(void **state)
{
    static const spike wanted[] = {{0, 0},  {2, 0},  {4, 0},  {8, 0}, {10, 0},
                                   {12, 0}, {16, 0}, {18, 0}, {20, 0}};
    (void)state;
    check("pattern.toml", 24, wanted, 9);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_three),
    cmocka_unit_test(test_pattern),
};

VLY_TEST_MAIN(tests)
