/* SPDX-License-Identifier: Apache-2.0
 * The table of plans of the CUDA backend, without a device: what each plan has
 * to have, the plan that an option names, and when a review asks for another
 * plan.
 */
#include "volley_test.h"

#include <string.h>

#include "backends/cuda/cuda_net.h"
#include "backends/cuda/cuda_plans.h"
#include "backends/cuda/cuda_span.h"

/* ---- the list ---------------------------------------------------------- */

static void test_complete(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < VLY_CUDA_N_PLANS; i++) {
        const vly_cuda_plan *plan = vly_cuda_plan_at(i);
        assert_non_null(plan->name);
        assert_true(plan->fit != NULL && plan->create != NULL);
        assert_true(plan->restore != NULL && plan->launch != NULL);
        assert_true(plan->say != NULL && plan->release != NULL);
        assert_int_equal(plan->linger != NULL, plan->linger_fit != NULL);
        for (uint32_t j = 0; j < i; j++)
            assert_string_not_equal(plan->name, vly_cuda_plan_at(j)->name);
        /* the last one takes what the others refuse, without a comparison */
        assert_int_equal(plan->cost_ns == NULL, i + 1 == VLY_CUDA_N_PLANS);
    }
}

static void test_options(void **state)
{
    (void)state;
    vly_cuda_options made;
    vly_error error = {.struct_size = sizeof error};
    assert_ok(vly_cuda_options_read("plan=auto", &made, &error), error);
    assert_int_equal(made.plan, 0);
    for (uint32_t i = 0; i < VLY_CUDA_N_PLANS; i++) {
        char text[80];
        const char *name = vly_cuda_plan_at(i)->name;
        (void)snprintf(text, sizeof text, "plan=%s,quads=3", name);
        assert_ok(vly_cuda_options_read(text, &made, &error), error);
        assert_int_equal(made.plan, i + 1);
        assert_int_equal(made.quads, 3);
        /* a refusal names every plan */
        assert_int_equal(vly_cuda_options_read("plan=none", &made, &error),
                         VLY_E_INVALID);
        (void)snprintf(text, sizeof text, "plan=%s,", name);
        assert_non_null(strstr(error.message, text));
    }
}

/* Bursts cost little in the first plan, events in the second. */
static void test_costs(void **state)
{
    (void)state;
    const vly_cuda_plan *first = vly_cuda_plan_at(0);
    const vly_cuda_plan *second = vly_cuda_plan_at(1);
    assert_true(first->cost_ns(0.0) < second->cost_ns(0.0));
    assert_true(first->cost_ns(1e7) > second->cost_ns(1e7));
}

/* ---- reviews ----------------------------------------------------------- */

static double cost_of_bursts(double n_events)
{
    return 1000.0 + n_events;
}

static double cost_of_events(double n_events)
{
    return 2.0 * n_events;
}

static const vly_cuda_plan by_burst = {.name = "burst",
                                       .cost_ns = cost_of_bursts};
static const vly_cuda_plan by_event = {.name = "event",
                                       .cost_ns = cost_of_events};

static void test_review(void **state)
{
    (void)state;
    vly_backend_net net = {.burst = 0};
    vly_cuda_shard shard = {.net = &net, .plan = &by_event, .plan_ns = 5000.0};
    /* no change without another plan, nor without bursts */
    assert_false(vly_cuda_plan_review(&shard, 10, 100000));
    shard.other = &by_burst;
    assert_false(vly_cuda_plan_review(&shard, 0, 0));
    /* 2,000 events a burst: 1,000 ns lost in each, 5,000 in five */
    assert_false(vly_cuda_plan_review(&shard, 4, 8000));
    assert_true(vly_cuda_plan_review(&shard, 1, 2000));
    /* counted from 0 again; time that is won is not saved up */
    assert_false(vly_cuda_plan_review(&shard, 4, 8000));
    assert_false(vly_cuda_plan_review(&shard, 100, 0));
    assert_false(vly_cuda_plan_review(&shard, 4, 8000));
    assert_true(vly_cuda_plan_review(&shard, 1, 2000));
    /* the other way round */
    shard.plan = &by_burst;
    shard.other = &by_event;
    assert_false(vly_cuda_plan_review(&shard, 4, 0));
    assert_true(vly_cuda_plan_review(&shard, 1, 0));
    /* an option changes the plan after each launch */
    net.wanted.change = 1;
    assert_true(vly_cuda_plan_review(&shard, 1, 1000000));
    net.wanted.change = 0;
    /* there is an end to it */
    shard.n_changes = 8;
    assert_false(vly_cuda_plan_review(&shard, 100, 0));
}

/* How many of 8 devices, by sizes alone. */
static void test_devices(void **state)
{
    (void)state;
    static const struct {
        uint32_t n_neurons;
        uint64_t n_synapses;
        uint32_t of;
        uint32_t wanted;
    } cases[] = {
        {77169, UINT64_C(298880941), 8, 1}, /* the microcircuit */
        {100000, UINT64_C(100000000), 8, 1},
        {0, 0, 8, 1},
        {1000000, UINT64_C(1000000000), 2, 2},
        {4000000, UINT64_C(4000000000), 4, 4},
        {16000000, UINT64_C(16000000000), 8, 8},
        {16000000, UINT64_C(16000000000), 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const vly_net_desc desc = {.n_neurons = cases[i].n_neurons,
                                   .n_synapses = cases[i].n_synapses};
        assert_int_equal(vly_cuda_span_choose(&desc, cases[i].of),
                         cases[i].wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete), cmocka_unit_test(test_options),
        cmocka_unit_test(test_costs),    cmocka_unit_test(test_review),
        cmocka_unit_test(test_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
