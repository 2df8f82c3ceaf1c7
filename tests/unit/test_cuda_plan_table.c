/* SPDX-License-Identifier: Apache-2.0
 * The table of plans of the CUDA backend, without a device: what each plan has
 * to have, the plan that an option names, and when a review asks for another
 * plan.
 */
#include "volley_test.h"

#include <string.h>

#include "backends/cuda/cuda_net.h"
#include "backends/cuda/cuda_plans.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_review),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
