/* SPDX-License-Identifier: Apache-2.0
 * The watcher, with a model that expects that nothing changes: it must judge
 * every record of a run, tell of the one that was strange, and of no other.
 */
#define _GNU_SOURCE /* SCHED_IDLE */
#include "monitor/watcher.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "monitor/facts.h"
#include "monitor/surprise.h"
#include "volley_test.h"

enum { AREAS = 3, MOST_TOLD = 8 };
static const uint64_t ms = 1000000;
static const vly_tail tails[VLY_CHANNELS] = {{6, 0.02, 0.2},
                                             {6, 0.02, 0.2},
                                             {6, 0.02, 0.2},
                                             {6, 0.02, 0.2},
                                             {6, 0.02, 0.2}};
static const char *const names[AREAS] = {"E", "I", "X"};

typedef struct fixture {
    vly_telemetry_ring *ring;
    vly_gate *gate;
    vly_watcher *watcher;
    vly_telemetry_sample sample;
    uint64_t areas[AREAS];
    uint64_t fail_at; /* token of the model, 0: never */
    uint64_t n_tokens;
    uint64_t n_bad; /* tokens beyond the vocabulary, or no separator first */
    uint32_t n_told;
    vly_anomaly told[MOST_TOLD];
    uint64_t n_device;
    bool starved; /* a thread that stands back reads as if it hardly ran */
} fixture;

static bool stands_back(void)
{
    return sched_getscheduler(0) == SCHED_IDLE ||
           getpriority(PRIO_PROCESS, 0) == 19;
}

static vly_status expect_nothing(void *context, const uint32_t *tokens,
                                 float *logits, vly_error *error)
{
    fixture *all = context;
    if (all->starved && stands_back())
        (void)poll(NULL, 0, 300);
    for (uint32_t t = 0; t < VLY_TOKENS_PER_RECORD; t++) {
        const uint32_t token = tokens[t];
        if (++all->n_tokens == all->fail_at)
            return vly_fail(error, VLY_E_DEVICE, "the model broke");
        all->n_bad +=
            token >= VLY_TOKEN_VOCABULARY ||
            (t == 0) != (vly_token_metric((uint8_t)token) == VLY_METRICS);
        for (uint32_t i = 0; i < VLY_TOKEN_VOCABULARY; i++) {
            /* a model knows which metric comes next */
            const int32_t bin = vly_token_bin((uint8_t)i);
            logits[t * VLY_TOKEN_VOCABULARY + i] =
                vly_token_metric((uint8_t)i) == t
                    ? -8 * (float)(bin < 0 ? -bin : bin)
                    : -1000;
        }
    }
    return VLY_OK;
}

static void note_anomaly(void *context, const vly_anomaly *anomaly)
{
    fixture *all = context;
    if (all->n_told < MOST_TOLD)
        all->told[all->n_told] = *anomaly;
    all->n_told++;
}

static bool tell_device(void *context, uint64_t *values)
{
    fixture *all = context;
    values[0] = 1000;
    values[1] = 2000;
    all->n_device++;
    return true;
}

static void begin_in(fixture *all, double record_s, uint64_t at_ns)
{
    vly_error error = VLY_ERROR_INIT;
    const vly_gate_options gate = {.budget = 1};
    memset(all, 0, sizeof *all);
    all->sample.at_ns = at_ns;
    all->sample.unix_ns = 1700000000000000000u;
    assert_ok(vly_telemetry_create(1024, AREAS, &all->ring, &error), error);
    assert_ok(vly_gate_create(&gate, &all->gate, &error), error);
    const vly_watcher_options options = {
        .ring = all->ring,
        .areas = names,
        .gate = all->gate,
        .model = {all, expect_nothing},
        .tails = tails,
        .alarms_an_hour = 1,
        .record_s = record_s,
        .n_device = 2,
        .device = tell_device,
        .on_anomaly = note_anomaly,
        .context = all,
    };
    assert_ok(vly_watcher_create(&options, &all->watcher, &error), error);
}

static void begin(fixture *all)
{
    begin_in(all, 1000, vly_clock_ns()); /* far from being late */
}

static void end(fixture *all)
{
    vly_watcher_destroy(all->watcher);
    vly_gate_destroy(all->gate);
    vly_telemetry_destroy(all->ring);
}

/* 100 ms of a net, in which the first area has so many times its spikes. */
static void put(fixture *all, uint64_t times)
{
    vly_telemetry_sample *sample = &all->sample;
    const uint64_t wobble = sample->bursts / 1000 % 3;
    sample->at_ns += 100 * ms;
    sample->unix_ns += 100 * ms;
    sample->bursts += 1000;
    sample->run_ns += 90 * ms;
    sample->delivery_ns += 40 * ms;
    sample->dynamics_ns += 30 * ms;
    for (uint32_t a = 0; a < AREAS; a++) {
        const uint64_t n = (a == 0 ? times : 1) * (5000 + 20 * wobble);
        all->areas[a] += n;
        sample->spikes += n;
        sample->events += 100 * n;
    }
    sample->host_bytes = 1 << 20;
    vly_telemetry_put(all->ring, sample, all->areas);
}

static void test_tells(void **state)
{
    (void)state;
    fixture all;
    vly_watcher_figures figures;
    begin(&all);
    for (int i = 0; i < 200; i++)
        put(&all, i >= 150 ? 6 : 1);
    vly_watcher_end(all.watcher);
    vly_watcher_figures_get(all.watcher, &figures);
    assert_int_equal(figures.failure.status, VLY_OK);
    assert_int_equal(figures.records, 199);
    assert_int_equal(figures.tokens, 199 * VLY_TOKENS_PER_RECORD);
    assert_int_equal(figures.tokens, all.n_tokens);
    assert_int_equal(figures.skipped + figures.lost, 0);
    assert_int_equal(all.n_bad, 0);
    assert_int_equal(all.n_device, 199);
    assert_int_equal(figures.anomalies, all.n_told);
    assert_true(all.n_told >= 1);
    const vly_anomaly *first = &all.told[0];
    /* at once, or as soon as it has lasted for some records */
    assert_true(first->burst > 150000 && first->burst <= 160000);
    assert_int_equal(first->bursts, 1000);
    assert_true(first->score >= first->threshold && first->threshold > 0);
    assert_string_equal(first->area_name, "E");
    assert_non_null(first->metric_name);
    assert_true(strlen(first->text) > 10);
    for (uint32_t i = 0; i < all.n_told && i < MOST_TOLD; i++)
        assert_true(all.told[i].burst > 150000);
    end(&all);
}

static void test_quiet(void **state)
{
    (void)state;
    fixture all;
    begin(&all);
    for (int i = 0; i < 200; i++)
        put(&all, 1);
    vly_watcher_end(all.watcher);
    vly_watcher_end(all.watcher);
    assert_int_equal(all.n_told, 0);
    assert_int_equal(all.n_tokens, 199 * VLY_TOKENS_PER_RECORD);
    end(&all);
    /* a run without a sample, and one with a single one */
    begin(&all);
    end(&all);
    assert_int_equal(all.n_tokens, 0);
    begin(&all);
    put(&all, 1);
    end(&all);
    assert_int_equal(all.n_tokens, 0);
}

/* Behind: the model is left out, and what needs none looks at each record. */
static void test_behind(void **state)
{
    (void)state;
    fixture all;
    vly_watcher_figures figures = {0};
    begin_in(&all, 1e-6, 1);
    for (int i = 0; i < 241; i++) {
        all.sample.at_ns += i == 200 ? 5000 * ms : 0; /* it stood still */
        all.sample.unix_ns += i == 200 ? 5000 * ms : 0;
        put(&all, 1);
    }
    while (figures.records + figures.skipped < 240) {
        vly_watcher_figures_get(all.watcher, &figures);
        sched_yield();
    }
    assert_int_equal(figures.skipped, 240);
    assert_int_equal(all.n_tokens, 0);
    assert_int_equal(figures.anomalies, 1);
    put(&all, 1); /* remaining records are read at the end */
    vly_watcher_end(all.watcher);
    vly_watcher_figures_get(all.watcher, &figures);
    assert_int_equal(figures.records + figures.skipped, 241);
    assert_int_equal(figures.checked, 241);
    assert_int_equal(figures.lost, 0);
    assert_int_equal(all.n_told, 1);
    assert_int_equal(all.told[0].burst, 201000);
    assert_string_equal(all.told[0].channel, "stall");
    end(&all);
}

/* Some hundred records behind, as on a machine without idle time: the model
 * reads the newest of them, and nothing that was sound is told of. */
static void test_late(void **state)
{
    (void)state;
    fixture all;
    vly_watcher_figures figures;
    const uint64_t now = vly_clock_ns();
    /* of the samples' own time, which is of 45 s: the last ones are still new
     * when a busy machine lets somebody look at them */
    const uint64_t past = 250 * 100 * ms;
    begin_in(&all, 0.1, now > past ? now - past : 1);
    vly_gate_pause(all.gate, true);
    for (int i = 0; i < 450; i++)
        put(&all, 1);
    vly_gate_pause(all.gate, false);
    do {
        vly_watcher_figures_get(all.watcher, &figures);
        sched_yield();
    } while (figures.records + figures.skipped < 449);
    if (now > past)
        assert_true(figures.skipped > 200);
    vly_watcher_end(all.watcher);
    assert_true(figures.records > 0);
    /* what it did not read is no past to judge the rest by */
    assert_int_equal(figures.early, figures.records < VLY_TOKENS_WARM
                                        ? figures.records
                                        : VLY_TOKENS_WARM);
    assert_int_equal(all.n_tokens, figures.records * VLY_TOKENS_PER_RECORD);
    assert_int_equal(all.n_bad + all.n_told, 0);
    end(&all);
}

/* A first thread that hardly gets a processor: from a second behind on the
 * second one reads, and every record is read once, in order. It has no share of
 * its own, and a pause is one of both. Records are of so long a time that none
 * is skipped, however slow the machine is. */
static void test_hurries(void **state)
{
    (void)state;
    fixture all;
    vly_watcher_figures figures = {0};
    begin_in(&all, 1000, vly_clock_ns() - 6100 * ms);
    all.starved = true;
    for (int i = 0; i < 61; i++)
        put(&all, i >= 50 ? 6 : 1);
    while (figures.records < 60) {
        vly_watcher_figures_get(all.watcher, &figures);
        (void)poll(NULL, 0, 5);
    }
    assert_true(figures.hurried >= 30);
    assert_int_equal(figures.skipped + figures.lost, 0);
    assert_int_equal(figures.checked, 60);
    assert_int_equal(all.n_bad, 0);
    assert_true(all.n_told >= 1 && all.told[0].burst > 50000);
    end(&all);
    for (int paused = 0; paused < 2; paused++) {
        begin_in(&all, 1000, vly_clock_ns() - 6100 * ms);
        all.starved = true;
        if (paused)
            vly_gate_pause(all.gate, true);
        else
            assert_int_equal(vly_gate_budget(all.gate, 1e-9, NULL), VLY_OK);
        for (int i = 0; i < 61; i++)
            put(&all, 1);
        (void)poll(NULL, 0, 1500);
        vly_watcher_figures_get(all.watcher, &figures);
        /* what is saved of a share is enough for one, whoever was first */
        assert_true(figures.records <= (paused ? 0 : 1));
        assert_int_equal(figures.skipped + figures.lost, 0);
        end(&all);
    }
}

/* What is wrong by a rule is told from the second sample on, also of samples
 * that the model never came to, also while it may not work, once an episode. */
static void test_rules(void **state)
{
    (void)state;
    fixture all;
    vly_watcher_figures figures = {0};
    begin(&all);
    vly_gate_pause(all.gate, true);
    put(&all, 1);
    put(&all, 1);
    all.sample.unix_ns += 60000 * ms;
    put(&all, 1);
    while (figures.anomalies < 1) {
        vly_watcher_figures_get(all.watcher, &figures);
        sched_yield();
    }
    assert_int_equal(figures.records, 0);
    all.sample.spikes += 7; /* that no area has */
    put(&all, 1);
    all.sample.spikes += 7;
    put(&all, 1);
    for (uint32_t i = 0; i < VLY_FACT_QUIET; i++)
        put(&all, 1);
    all.sample.spikes += 9;
    put(&all, 1);
    vly_watcher_end(all.watcher);
    vly_watcher_figures_get(all.watcher, &figures);
    assert_int_equal(figures.records, 0);
    assert_int_equal(figures.samples, 6 + VLY_FACT_QUIET);
    assert_int_equal(figures.checked, 5 + VLY_FACT_QUIET);
    assert_int_equal(figures.anomalies, 3);
    assert_int_equal(figures.facts, 3);
    assert_int_equal(all.n_told, 3);
    assert_int_equal(all.told[0].metric, VLY_METRIC_CLOCK);
    assert_int_equal(all.told[0].burst, 3000);
    assert_string_equal(all.told[0].channel, "rule");
    assert_non_null(strstr(all.told[0].cause, "set forward"));
    assert_non_null(strstr(all.told[1].text, "7 spikes are in no area"));
    assert_non_null(strstr(all.told[2].text, "9 spikes are in no area"));
    end(&all);
}

/* Where the net was and what failed is told as the samples have it, however
 * late they are read: an undone swap of three bursts, by its own burst. */
static void test_places(void **state)
{
    (void)state;
    fixture all;
    begin(&all);
    vly_gate_pause(all.gate, true);
    put(&all, 1);
    put(&all, 1);
    all.sample.wrong_bursts += 3;
    all.sample.wrong_from = 2100;
    put(&all, 1);
    for (uint32_t i = 0; i < VLY_FACT_QUIET; i++)
        put(&all, 1);
    all.sample.failures += 1;
    all.sample.failed_at = 19500;
    put(&all, 1);
    all.sample.wrong_bursts += 400;
    all.sample.wrong_from = 20600;
    put(&all, 1);
    vly_watcher_end(all.watcher);
    assert_int_equal(all.n_told, 3);
    assert_int_equal(all.told[0].burst, 2100);
    assert_string_equal(
        all.told[0].text,
        "burst 2100: the backend is not the one asked for, for 3 bursts");
    assert_int_equal(all.told[1].burst, 19500);
    assert_string_equal(all.told[1].text, "burst 19500: a device failed");
    assert_int_equal(all.told[2].burst, 20600);
    assert_string_equal(all.told[2].text,
                        "burst 20600: the backend is not the one asked for");
    end(&all);
}

/* The net is moved to where a burst costs three times as much: by the model it
 * begins anew, and what goes wrong there is told. Without the move the same
 * times are strange. (No work here lies above the tail.) */
static void test_moved(void **state)
{
    (void)state;
    fixture all;
    vly_watcher_figures figures;
    for (int moved = 0; moved < 2; moved++) {
        begin(&all);
        for (int i = 0; i < 200; i++) {
            vly_telemetry_sample *sample = &all.sample;
            if (i == 100 && moved)
                sample->moves++;
            if (i >= 100) {
                sample->at_ns += 200 * ms;
                sample->unix_ns += 200 * ms;
                sample->run_ns += 180 * ms;
                sample->delivery_ns += 80 * ms;
                sample->dynamics_ns += 60 * ms;
            }
            put(&all, i >= 180 ? 6 : 1);
        }
        vly_watcher_end(all.watcher);
        vly_watcher_figures_get(all.watcher, &figures);
        assert_int_equal(figures.records, 199 - moved);
        assert_int_equal(figures.skipped, moved);
        assert_int_equal(figures.checked, 199);
        assert_true(all.n_told >= 1);
        if (moved)
            assert_true(all.told[0].burst > 180000);
        else
            assert_true(all.told[0].burst > 100000 &&
                        all.told[0].burst <= 110000);
        end(&all);
    }
}

/* The model reads the same fact in its record, which is no second alarm; too
 * early is what comes before there is anything to judge by. */
static void test_rules_once(void **state)
{
    (void)state;
    fixture all;
    vly_watcher_figures figures;
    begin(&all);
    for (int i = 0; i < 100; i++) {
        if (i == 10 || i == 70)
            all.sample.unix_ns -= 5000 * ms;
        all.sample.failures = i >= 40;
        put(&all, 1);
    }
    vly_watcher_end(all.watcher);
    vly_watcher_figures_get(all.watcher, &figures);
    assert_int_equal(figures.records, 99);
    assert_int_equal(figures.early, VLY_TOKENS_WARM);
    assert_int_equal(figures.anomalies, all.n_told);
    assert_int_equal(figures.facts, 3);
    assert_int_equal(all.n_told, 3);
    end(&all);
}

/* A failing model ends only the watching. */
static void test_failure(void **state)
{
    (void)state;
    fixture all;
    vly_watcher_figures figures;
    begin(&all);
    all.fail_at = 40;
    for (int i = 0; i < 20; i++)
        put(&all, 1);
    vly_watcher_end(all.watcher);
    vly_watcher_figures_get(all.watcher, &figures);
    assert_int_equal(figures.failure.status, VLY_E_DEVICE);
    assert_string_equal(figures.failure.message, "the model broke");
    assert_int_equal(figures.records, 2);
    assert_int_equal(all.n_tokens, 40);
    end(&all);
}

/* Paused: nothing is judged, and the end does not wait. */
static void test_paused(void **state)
{
    (void)state;
    fixture all;
    vly_watcher_figures figures;
    begin(&all);
    vly_gate_pause(all.gate, true);
    for (int i = 0; i < 20; i++)
        put(&all, 1);
    vly_watcher_end(all.watcher);
    vly_watcher_figures_get(all.watcher, &figures);
    assert_int_equal(figures.records, 0);
    assert_int_equal(figures.failure.status, VLY_OK);
    assert_int_equal(all.n_tokens, 0);
    end(&all);
}

static void test_no_memory(void **state)
{
    (void)state;
    vly_telemetry_ring *ring = NULL;
    vly_gate *gate = NULL;
    vly_watcher *watcher = NULL;
    vly_error error = VLY_ERROR_INIT;
    fixture all = {0};
    const vly_gate_options free_gate = {.budget = 1};
    assert_ok(vly_telemetry_create(64, AREAS, &ring, &error), error);
    assert_ok(vly_gate_create(&free_gate, &gate, &error), error);
    const vly_watcher_options options = {.ring = ring,
                                         .gate = gate,
                                         .model = {&all, expect_nothing},
                                         .tails = tails,
                                         .alarms_an_hour = 1,
                                         .record_s = 0.1,
                                         .on_anomaly = note_anomaly,
                                         .context = &all};
    const uint64_t live = vly_memory_live();
    uint64_t n = 1;
    for (;; n++) {
        vly_memory_fail_at(n);
        const vly_status status =
            vly_watcher_create(&options, &watcher, &error);
        const uint64_t left = vly_memory_fail_at(0);
        if (status == VLY_OK && left > 0)
            break;
        assert_int_equal(status, VLY_E_NOMEM);
        assert_null(watcher);
        assert_int_equal(vly_memory_live(), live);
    }
    assert_true(n > 5);
    vly_watcher_destroy(watcher);
    assert_int_equal(vly_memory_live(), live);
    vly_watcher_options wrong = options;
    wrong.alarms_an_hour = 0;
    assert_int_equal(vly_watcher_create(&wrong, &watcher, &error),
                     VLY_E_INVALID);
    vly_gate_destroy(gate);
    vly_telemetry_destroy(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tells),      cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_behind),     cmocka_unit_test(test_failure),
        cmocka_unit_test(test_paused),     cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_rules),      cmocka_unit_test(test_late),
        cmocka_unit_test(test_rules_once), cmocka_unit_test(test_places),
        cmocka_unit_test(test_moved),      cmocka_unit_test(test_hurries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
