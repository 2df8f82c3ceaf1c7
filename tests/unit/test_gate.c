/* SPDX-License-Identifier: Apache-2.0
 * The gate: bursts first, shares of time by a clock of the test's own, and that
 * bursts and steps of one device are never under way at the same time.
 */
#include "monitor/gate.h"

#include <pthread.h>
#include <sched.h>

#include <volley/volley.h>

#include "base/error.h"
#include "base/memory.h"
#include "volley_test.h"

static const uint64_t ms = 1000000;
static uint64_t now;

static uint64_t clock_of_test(void *context)
{
    return *(uint64_t *)context;
}

static vly_gate *make(bool exclusive, double budget)
{
    vly_gate *gate = NULL;
    vly_error error = VLY_ERROR_INIT;
    const vly_gate_options options = {exclusive, budget, clock_of_test, &now};
    now = 1000 * ms;
    assert_ok(vly_gate_create(&options, &gate, &error), error);
    return gate;
}

static vly_gate_answer try_once(vly_gate *gate, uint64_t *wait_ns)
{
    return vly_gate_try(gate, VLY_QOS_BEST_EFFORT, wait_ns);
}

static void leave(vly_gate *gate, uint64_t spent_ns)
{
    vly_gate_leave(gate, VLY_QOS_BEST_EFFORT, spent_ns);
}

static void test_turns(void **state)
{
    (void)state;
    uint64_t wait = 0;
    vly_gate_usage usage;
    vly_gate *gate = make(true, 1);
    assert_int_equal(try_once(gate, &wait), VLY_GATE_GO);
    /* one step at a time */
    assert_int_equal(try_once(gate, &wait), VLY_GATE_STEP);
    leave(gate, ms);
    vly_gate_burst_begin(gate);
    vly_gate_burst_begin(gate); /* of another net */
    assert_int_equal(try_once(gate, &wait), VLY_GATE_BURST);
    assert_true(wait == UINT64_MAX);
    vly_gate_burst_end(gate, 0);
    assert_int_equal(try_once(gate, &wait), VLY_GATE_BURST);
    vly_gate_burst_end(gate, 0);
    assert_int_equal(try_once(gate, &wait), VLY_GATE_GO);
    leave(gate, 3 * ms);
    vly_gate_usage_get(gate, &usage);
    assert_int_equal(usage.steps, 2);
    assert_int_equal(usage.spent_ns, 4 * ms);
    assert_int_equal(usage.longest_ns, 3 * ms);
    assert_int_equal(usage.denied[VLY_GATE_BURST], 2);
    assert_int_equal(usage.denied[VLY_GATE_STEP], 1);
    assert_int_equal(usage.burst_waits, 0);
    vly_gate_destroy(gate);
    /* bursts of another device cause no wait */
    gate = make(false, 1);
    vly_gate_burst_begin(gate);
    assert_int_equal(try_once(gate, &wait), VLY_GATE_GO);
    vly_gate_burst_end(gate, 0);
    vly_gate_burst_begin(gate);
    leave(gate, ms);
    vly_gate_burst_end(gate, 0);
    vly_gate_destroy(gate);
    /* nobody's gate */
    vly_gate_burst_begin(NULL);
    vly_gate_burst_end(NULL, 0);
    assert_false(vly_gate_offer(NULL));
    vly_gate_destroy(NULL);
}

/* Steps of 1 ms, as often as they are let in, for 100 s: the share is the
 * budget's. */
static void test_budget(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    for (int percent = 5; percent <= 80; percent *= 4) {
        vly_gate *gate = make(false, percent * 0.01);
        const uint64_t begin = now;
        const uint64_t end = begin + 100000 * ms;
        uint64_t spent = 0;
        while (now < end) {
            uint64_t wait = 0;
            const vly_gate_answer answer = try_once(gate, &wait);
            if (answer == VLY_GATE_GO) {
                now += ms;
                spent += ms;
                leave(gate, ms);
            } else {
                assert_int_equal(answer, VLY_GATE_BUDGET);
                assert_true(wait > 0 && wait < 1000 * ms);
                now += wait; /* no later than needed */
            }
        }
        /* and what was saved at the beginning: a second's worth */
        assert_close((double)spent / (double)(now - begin), percent * 0.01,
                     percent * 0.01 * 0.02);
        vly_gate_destroy(gate);
    }
    vly_gate *gate = make(false, 0.5);
    assert_int_equal(vly_gate_budget(gate, 0, &error), VLY_E_INVALID);
    assert_int_equal(vly_gate_budget(gate, 1.5, &error), VLY_E_INVALID);
    assert_ok(vly_gate_budget(gate, 0.01, &error), error);
    uint64_t wait = 0;
    now += 1;
    assert_int_equal(try_once(gate, &wait), VLY_GATE_GO);
    leave(gate, 20 * ms); /* 10 were saved, at most */
    assert_int_equal(try_once(gate, &wait), VLY_GATE_BUDGET);
    assert_close((double)wait, 1e9, 1e3);
    /* burstable work has no budget */
    assert_int_equal(vly_gate_try(gate, VLY_QOS_BURSTABLE, &wait), VLY_GATE_GO);
    vly_gate_leave(gate, VLY_QOS_BURSTABLE, 500 * ms);
    now += 1000 * ms + 2;
    assert_int_equal(try_once(gate, &wait), VLY_GATE_GO);
    leave(gate, 0);
    vly_gate_destroy(gate);
    const vly_gate_options none = {.budget = 0};
    assert_int_equal(vly_gate_create(&none, &gate, &error), VLY_E_INVALID);
    assert_non_null(strstr(error.message, "a budget of 0"));
}

/* A step begins only if it will be done when the next burst is due. */
static void test_due(void **state)
{
    (void)state;
    uint64_t wait = 0;
    vly_gate *gate = make(true, 1);
    assert_int_equal(try_once(gate, &wait), VLY_GATE_GO);
    leave(gate, 2 * ms);
    vly_gate_burst_begin(gate);
    vly_gate_burst_end(gate, now + 5 * ms);
    assert_int_equal(try_once(gate, &wait), VLY_GATE_GO);
    leave(gate, 2 * ms);
    now += 4 * ms;
    assert_int_equal(try_once(gate, &wait), VLY_GATE_BURST);
    assert_int_equal(wait, ms);
    now += 2 * ms; /* it is late: no reason to wait for it */
    assert_int_equal(try_once(gate, &wait), VLY_GATE_GO);
    leave(gate, 2 * ms);
    vly_gate_destroy(gate);
}

static void test_pause(void **state)
{
    (void)state;
    uint64_t wait = 0;
    vly_gate_usage usage;
    vly_gate *gate = make(false, 1);
    vly_gate_pause(gate, true);
    assert_int_equal(try_once(gate, &wait), VLY_GATE_PAUSED);
    assert_true(wait == UINT64_MAX);
    assert_int_equal(vly_gate_try(gate, VLY_QOS_BURSTABLE, &wait), VLY_GATE_GO);
    vly_gate_leave(gate, VLY_QOS_BURSTABLE, 1);
    vly_gate_usage_get(gate, &usage);
    assert_true(usage.paused);
    /* for some time only, and then it says why not */
    assert_int_equal(vly_gate_enter_for(gate, VLY_QOS_BEST_EFFORT, 1000000),
                     VLY_GATE_PAUSED);
    vly_gate_pause(gate, false);
    assert_int_equal(vly_gate_enter_for(gate, VLY_QOS_BEST_EFFORT, 0),
                     VLY_GATE_GO);
    leave(gate, 1);
    vly_gate_close(gate);
    assert_int_equal(try_once(gate, &wait), VLY_GATE_CLOSED);
    assert_int_equal(vly_gate_enter_for(gate, VLY_QOS_BEST_EFFORT, 1000000),
                     VLY_GATE_CLOSED);
    assert_false(vly_gate_enter(gate, VLY_QOS_BEST_EFFORT));
    vly_gate_destroy(gate);
}

/* ---- threads --------------------------------------------------------------
 */

enum { TURNS = 200 };

typedef struct shared {
    vly_gate *gate;
    uint64_t in_use; /* plain: ThreadSanitizer sees whoever is not alone */
    uint64_t n_steps;
    bool alone;
} shared;

static void use(shared *all, uint64_t mark)
{
    if (all->in_use != 0)
        all->alone = false;
    all->in_use = mark;
    for (int i = 0; i < 20; i++)
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (all->in_use != mark)
        all->alone = false;
    all->in_use = 0;
}

static void *steps(void *arg)
{
    shared *all = arg;
    while (vly_gate_enter(all->gate, VLY_QOS_BEST_EFFORT)) {
        use(all, 2);
        all->n_steps++;
        vly_gate_leave(all->gate, VLY_QOS_BEST_EFFORT, 1);
        sched_yield(); /* otherwise no other thread would get the lock */
    }
    return NULL;
}

static uint64_t steps_of(vly_gate *gate)
{
    vly_gate_usage usage;
    vly_gate_usage_get(gate, &usage);
    return usage.steps;
}

/* A loop of bursts without gaps, and one that steps whenever it may. */
static void test_alone(void **state)
{
    (void)state;
    const vly_gate_options options = {.exclusive = true, .budget = 1};
    vly_error error = VLY_ERROR_INIT;
    shared all = {.alone = true};
    pthread_t thread;
    uint32_t n_offered = 0;
    assert_ok(vly_gate_create(&options, &all.gate, &error), error);
    assert_int_equal(pthread_create(&thread, NULL, steps, &all), 0);
    /* offers until steps came: on a busy machine nobody may be there at first
     */
    for (uint64_t i = 0; i < TURNS || n_offered < 5; i++) {
        vly_gate_burst_begin(all.gate);
        use(&all, 1);
        if (i % 16 == 0)
            sched_yield();
        vly_gate_burst_end(all.gate, 0);
        n_offered += vly_gate_offer(all.gate);
    }
    /* without bursts it continues by itself, but not while it is paused */
    const uint64_t before = steps_of(all.gate);
    while (steps_of(all.gate) < before + 3)
        sched_yield();
    vly_gate_pause(all.gate, true);
    vly_gate_burst_begin(all.gate); /* no thread is inside any more */
    const uint64_t paused = all.n_steps;
    vly_gate_burst_end(all.gate, 0);
    assert_int_equal(steps_of(all.gate), paused);
    vly_gate_pause(all.gate, false);
    while (steps_of(all.gate) == paused)
        sched_yield();
    vly_gate_close(all.gate);
    pthread_join(thread, NULL);
    assert_true(all.alone);
    assert_int_equal(steps_of(all.gate), all.n_steps);
    vly_gate_destroy(all.gate);
}

static void *important(void *arg)
{
    shared *all = arg;
    if (vly_gate_enter(all->gate, VLY_QOS_BURSTABLE)) {
        all->n_steps++;
        vly_gate_leave(all->gate, VLY_QOS_BURSTABLE, 1);
    }
    return NULL;
}

/* Best effort stands back while a burstable step waits for bursts. */
static void test_burstable_first(void **state)
{
    (void)state;
    const vly_gate_options options = {.exclusive = true, .budget = 1};
    vly_error error = VLY_ERROR_INIT;
    shared all = {.alone = true};
    pthread_t thread;
    uint64_t wait = 0;
    assert_ok(vly_gate_create(&options, &all.gate, &error), error);
    vly_gate_burst_begin(all.gate);
    assert_int_equal(pthread_create(&thread, NULL, important, &all), 0);
    vly_gate_answer answer;
    while ((answer = try_once(all.gate, &wait)) == VLY_GATE_BURST)
        sched_yield(); /* until it waits */
    assert_int_equal(answer, VLY_GATE_STEP);
    vly_gate_burst_end(all.gate, 0);
    pthread_join(thread, NULL);
    assert_int_equal(all.n_steps, 1);
    assert_int_equal(try_once(all.gate, &wait), VLY_GATE_GO);
    leave(all.gate, 1);
    vly_gate_destroy(all.gate);
}

/* ---- memory ---------------------------------------------------------------
 */

static uint64_t free_bytes;

static vly_status available(uint32_t device, uint64_t *unused, uint64_t *total,
                            vly_error *error)
{
    if (device != 0)
        return vly_fail(error, VLY_E_DEVICE, "no device %u", device);
    *unused = free_bytes;
    *total = 8000;
    return VLY_OK;
}

static void test_admit(void **state)
{
    (void)state;
    const vly_memory memory = {.struct_size = sizeof memory,
                               .available = available};
    vly_error error = VLY_ERROR_INIT;
    free_bytes = 5000;
    assert_ok(vly_gate_admit(&memory, 0, NULL, 4000, &error), error);
    assert_int_equal(vly_gate_admit(&memory, 0, "cuda:0", 4001, &error),
                     VLY_E_NOMEM);
    assert_int_equal(error.bytes_requested, 4001);
    assert_int_equal(error.bytes_available, 4000);
    assert_non_null(strstr(error.message, "4001 bytes of cuda:0, 4000"));
    free_bytes = 900;
    assert_int_equal(vly_gate_admit(&memory, 0, NULL, 1, &error), VLY_E_NOMEM);
    assert_int_equal(error.bytes_available, 0);
    assert_int_equal(vly_gate_admit(&memory, 1, NULL, 1, &error), VLY_E_DEVICE);
}

static void test_no_memory(void **state)
{
    (void)state;
    const vly_gate_options options = {.budget = 1};
    vly_gate *gate = NULL;
    vly_error error = VLY_ERROR_INIT;
    vly_memory_fail_at(1);
    assert_int_equal(vly_gate_create(&options, &gate, &error), VLY_E_NOMEM);
    assert_int_equal(vly_memory_fail_at(0), 0);
    assert_null(gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns), cmocka_unit_test(test_budget),
        cmocka_unit_test(test_due),   cmocka_unit_test(test_pause),
        cmocka_unit_test(test_alone), cmocka_unit_test(test_burstable_first),
        cmocka_unit_test(test_admit), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
