/* SPDX-License-Identifier: Apache-2.0
 * Surprise into scores and alarms, the simple detectors, sentences.
 */
#include "monitor/surprise.h"
#include "monitor/work.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "monitor/detectors.h"
#include "volley_test.h"

static void test_nats(void **state)
{
    (void)state;
    const float even[4] = {2, 2, 2, 2};
    assert_close(vly_surprise_nats(even, 4, 1), log(4), 1e-14);
    const float logits[3] = {1.5F, -2, 0.25F};
    const double sum = exp(1.5) + exp(-2) + exp(0.25);
    assert_close(vly_surprise_nats(logits, 3, 2), log(sum) - 0.25, 1e-14);
    const float far[2] = {1e30F, -1e30F};
    assert_close(vly_surprise_nats(far, 2, 0), 0, 1e-14);
    const float broken[2] = {NAN, 0};
    assert_true(isinf(vly_surprise_nats(broken, 2, 1)));
    const float infinite[2] = {0, INFINITY};
    assert_true(isinf(vly_surprise_nats(infinite, 2, 0)));
}

static void test_tails(void **state)
{
    (void)state;
    vly_tail tails[VLY_CHANNELS] = {{0}};
    assert_true(
        vly_tails_read("2.5 0.02 0.75 1 0.5 1  0 1 3 4 1 5 6 1 7", tails));
    assert_close(tails[0].base, 2.5, 0);
    assert_close(tails[1].share, 0.5, 0);
    assert_close(tails[2].excess, 3, 0);
    static const char *const wrong[] = {"",
                                        "2.5 0.02 0.75 1 1 1 1 1 1",
                                        "1 1 1 1 1 1 1 1 1 1 1 1 1 1",
                                        "1 1 1 1 1 1 1 1 0 1 1 1 1 1 1",
                                        "1 1 1 1 1 1 1 1.5 1 1 1 1 1 1 1",
                                        "1 1 1 1 0 1 1 1 1 1 1 1 1 1 1",
                                        "1 1 1 1 1 1 -1 1 1 1 1 1 1 1 1",
                                        "1 1 1 1 1 1 1 1 x 1 1 1 1 1 1",
                                        "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
                                        "nan 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
                                        "1 1 inf 1 1 1 1 1 1 1 1 1 1 1 1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(vly_tails_read(wrong[i], tails));
    assert_close(tails[0].base, 2.5, 0);
    /* 720 of 36,000 lie above base; one above 2.5 + 0.75 ln 720 */
    assert_close(vly_tail_rarity(&tails[0], 2.5 + 0.75 * log(720)), log(36000),
                 1e-12);
    assert_close(vly_tail_rarity(&tails[0], 2.5), 0, 0);
    assert_close(vly_rarity_threshold(1, 36000), log(36000), 1e-12);
    assert_close(vly_rarity_threshold(1000, 10), 0, 0);
}

static const vly_tail usual_tails[VLY_CHANNELS] = {{0.4, 0.02, 0.15},
                                                   {0.5, 0.02, 0.5},
                                                   {0.5, 0.02, 0.5},
                                                   {0.5, 0.02, 0.5},
                                                   {0.5, 0.02, 0.5}};

/* Nats around 1, by a fixed pattern. */
static void sound(uint32_t number, double *nats)
{
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        nats[m] = 1 + (double)((number * 31 + m * 17) % 11) / 20;
}

/* Bins that counting does not foretell. */
static const uint8_t *any_text(uint32_t number)
{
    static uint8_t text[VLY_TOKENS_PER_RECORD];
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        text[m + 1] = (uint8_t)(1 + m * VLY_TOKEN_BINS +
                                (number * 7 + m * 5) % VLY_TOKEN_BINS);
    return text;
}

static vly_verdict feed(vly_surprise *surprise, uint32_t number,
                        uint32_t metric, double more)
{
    const vly_record record = {.burst = 100 * (number + UINT64_C(1)),
                               .bursts = 100};
    const vly_record_note note = {.told = UINT32_MAX,
                                  .raised = 3,
                                  .lowered = 4,
                                  .silent = VLY_NO_AREA,
                                  .device = VLY_NO_AREA};
    double nats[VLY_METRICS];
    vly_verdict verdict;
    sound(number, nats);
    nats[metric] += more;
    vly_surprise_judge(surprise, &record, &note, any_text(number), nats,
                       &verdict);
    return verdict;
}

static void test_alarm(void **state)
{
    (void)state;
    vly_surprise *surprise = NULL;
    vly_error error = VLY_ERROR_INIT;
    uint32_t n = 0;
    assert_ok(vly_surprise_create(usual_tails, 1, 0.1, &surprise, &error),
              error);
    /* what comes before there is anything to hold it against is no alarm */
    assert_false(feed(surprise, n++, VLY_METRIC_RATE, 50).strange);
    for (; n < 300; n++) {
        const vly_verdict verdict = feed(surprise, n, VLY_METRIC_RATE, 0);
        assert_int_equal(verdict.warm, n >= VLY_TOKENS_WARM);
        assert_false(verdict.alarm);
    }
    vly_verdict verdict = feed(surprise, n++, VLY_METRIC_RATE, 16);
    assert_true(verdict.strange && verdict.alarm);
    assert_int_equal(verdict.metric, VLY_METRIC_RATE);
    assert_int_equal(verdict.area, 3);
    assert_int_equal(verdict.burst, 30100);
    /* the same episode goes on */
    verdict = feed(surprise, n++, VLY_METRIC_RATE, 16);
    assert_true(verdict.strange && !verdict.alarm);
    /* what was held goes by */
    for (int i = 0; i < 10; i++)
        assert_false(feed(surprise, n++, VLY_METRIC_RATE, 0).alarm);
    for (int i = 0; i < 40; i++)
        assert_false(feed(surprise, n++, VLY_METRIC_RATE, 0).strange);
    /* an impossible token counts, and is learned from without harm */
    assert_true(feed(surprise, n++, VLY_METRIC_HOST, INFINITY).alarm);
    assert_true(isfinite(feed(surprise, n++, VLY_METRIC_HOST, NAN).score));
    vly_surprise_destroy(surprise);
}

/* A fact needs no surprise, and is not learned from. */
static void test_facts(void **state)
{
    (void)state;
    vly_surprise *surprise = NULL;
    const vly_record_note note = {.told = UINT32_MAX, .raised = VLY_NO_AREA};
    double nats[VLY_METRICS];
    vly_verdict verdict;
    assert_int_equal(vly_surprise_create(usual_tails, 1, 0.1, &surprise, NULL),
                     VLY_OK);
    for (uint32_t n = 0; n < 100; n++)
        (void)feed(surprise, n, VLY_METRIC_RATE, 0);
    const double before = feed(surprise, 100, 0, 0).threshold;
    sound(101, nats);
    const vly_record facts[] = {{.bursts = 1, .wrong_place = 1},
                                {.bursts = 1, .missing = 2},
                                {.bursts = 1, .clock_ms = -500}};
    for (size_t i = 0; i < 3; i++) {
        vly_surprise_judge(surprise, &facts[i], &note, any_text(101), nats,
                           &verdict);
        assert_true(verdict.strange && verdict.fact && !verdict.alarm);
        assert_string_equal(verdict.channel, "rule");
        assert_int_equal(verdict.metric,
                         i < 2 ? VLY_METRIC_CHECKS : VLY_METRIC_CLOCK);
    }
    const vly_record none = {.bursts = 1, .clock_ms = 499, .lost = 3};
    vly_surprise_judge(surprise, &none, &note, any_text(101), nats, &verdict);
    assert_false(verdict.strange);
    assert_true(verdict.threshold <= before);
    vly_surprise_destroy(surprise);
}

/* In a net whose records are strange by nature the same surprise scores less,
 * and a fault that lasts is learned from once only. */
static void test_own_tail(void **state)
{
    (void)state;
    vly_surprise *surprise = NULL;
    double first = 0;
    double last = 0;
    assert_int_equal(vly_surprise_create(usual_tails, 1, 0.1, &surprise, NULL),
                     VLY_OK);
    for (uint32_t n = 0; n < 2000; n++) {
        const bool now = n % 32 == 31;
        const vly_verdict verdict = feed(surprise, n, n % 3, now ? 10 : 0);
        if (now && first == 0 && verdict.warm)
            first = verdict.score;
        last = now ? verdict.score : last;
    }
    assert_true(first > 0 && last < 0.8 * first);
    vly_surprise_destroy(surprise);
    assert_int_equal(vly_surprise_create(usual_tails, 1, 0.1, &surprise, NULL),
                     VLY_OK);
    for (uint32_t n = 0; n < 300; n++)
        (void)feed(surprise, n, 0, 0);
    for (uint32_t n = 300; n < 320; n++) {
        const vly_verdict verdict = feed(surprise, n, 0, 40);
        assert_true(verdict.strange);
        assert_int_equal(verdict.alarm, n == 300);
    }
    vly_surprise_destroy(surprise);
}

/* Behind a move of the net all is learned anew but what a burst's work was: far
 * more of it is told of, once. Before a first record there was none. */
static void test_moved(void **state)
{
    (void)state;
    for (int factor = 1; factor <= 16; factor += 15) {
        vly_surprise *surprise = NULL;
        uint32_t told = 0;
        assert_int_equal(
            vly_surprise_create(usual_tails, 1, 0.1, &surprise, NULL), VLY_OK);
        vly_surprise_forget(surprise);
        for (uint32_t n = 0; n < 300; n++) {
            const vly_record record = {
                .bursts = 100,
                .run_ns = n < 100 ? 1000000 : 1000000 * (uint64_t)factor,
                .events = 5000};
            vly_record_note note = {.told = UINT32_MAX,
                                    .raised = VLY_NO_AREA,
                                    .lowered = VLY_NO_AREA,
                                    .silent = VLY_NO_AREA,
                                    .device = VLY_NO_AREA};
            double nats[VLY_METRICS];
            vly_verdict verdict;
            sound(n, nats);
            nats[0] += n >= 100 && n < 120 ? 30 : 0; /* nothing is usual yet */
            if (n == 100)
                vly_surprise_forget(surprise);
            vly_surprise_judge(surprise, &record, &note, any_text(n), nats,
                               &verdict);
            told += verdict.alarm;
            if (!verdict.alarm)
                continue;
            assert_int_equal(n, 100 + VLY_WORK_LASTS - 1);
            assert_true(verdict.moved);
            assert_string_equal(verdict.channel, "work");
            assert_string_equal(vly_verdict_likely(&verdict, &record, &note),
                                "the net was moved: its backend is slower, or "
                                "is not the one that was asked for");
        }
        assert_int_equal(told, factor == 16);
        vly_surprise_destroy(surprise);
    }
}

/* A net on a device has tails of its own. */
static void test_device_tails(void **state)
{
    (void)state;
    vly_tail tails[VLY_CHANNELS];
    double score[2];
    memcpy(tails, usual_tails, sizeof tails);
    tails[VLY_CHANNEL_STALL].excess *= 4;
    for (int on_device = 0; on_device < 2; on_device++) {
        vly_surprise *surprise = NULL;
        vly_verdict verdict;
        assert_int_equal(
            vly_surprise_create(usual_tails, 1, 0.1, &surprise, NULL), VLY_OK);
        vly_surprise_devices(surprise, tails);
        for (uint32_t n = 0; n < 40; n++) {
            const uint64_t wall = n < 39 ? 1000000 : 900000000;
            const vly_record record = {.bursts = 10,
                                       .wall_ns = wall,
                                       .run_ns = 1000000,
                                       .on_device = on_device};
            vly_record_note note = {.told = UINT32_MAX,
                                    .raised = VLY_NO_AREA,
                                    .lowered = VLY_NO_AREA,
                                    .silent = VLY_NO_AREA,
                                    .device = VLY_NO_AREA};
            const double nats[VLY_METRICS] = {0};
            note.centre[VLY_METRIC_PACE] = vly_token_level(100000);
            note.spread[VLY_METRIC_PACE] = 8;
            vly_surprise_judge(surprise, &record, &note, any_text(n), nats,
                               &verdict);
        }
        assert_string_equal(verdict.channel, "stall");
        score[on_device] = verdict.score;
        vly_surprise_destroy(surprise);
    }
    assert_true(score[1] > 1 && score[1] < 0.7 * score[0]);
}

/* Of a fault that lasts nothing is learned, so the next one is told of again;
 * what goes on for very long is how the net is now. */
static void test_episode(void **state)
{
    (void)state;
    vly_surprise *surprise = NULL;
    uint32_t n = 0;
    uint32_t n_alarms = 0;
    assert_int_equal(vly_surprise_create(usual_tails, 1, 0.1, &surprise, NULL),
                     VLY_OK);
    for (; n < 300; n++)
        assert_true(feed(surprise, n, 0, 0).learns);
    for (uint32_t fault = 0; fault < 3; fault++) {
        for (uint32_t end = n + 400; n < end; n++) {
            const vly_verdict verdict = feed(surprise, n, 3, 40);
            assert_true(verdict.strange && !verdict.learns);
            n_alarms += verdict.alarm;
        }
        for (uint32_t end = n + 60; n < end; n++)
            n_alarms += feed(surprise, n, 3, 0).alarm;
        assert_int_equal(n_alarms, fault + 1);
        assert_true(feed(surprise, n++, 3, 0).learns);
    }
    uint32_t last = 0;
    for (uint32_t i = 0; i < 1500; i++) {
        const vly_verdict verdict = feed(surprise, n++, 3, 40);
        assert_int_equal(verdict.alarm, i == 0);
        last = verdict.strange ? i : last;
    }
    assert_true(last >= 512 && last < 1200);
    assert_true(feed(surprise, n++, 3, 40).learns);
    vly_surprise_destroy(surprise);
}

/* Records that the model did not read are a past for all but the model. */
static void test_unread(void **state)
{
    (void)state;
    const vly_record_note note = {.told = UINT32_MAX,
                                  .raised = VLY_NO_AREA,
                                  .silent = VLY_NO_AREA,
                                  .device = VLY_NO_AREA};
    vly_surprise *surprise = NULL;
    vly_verdict verdict;
    uint32_t n = 0;
    assert_int_equal(vly_surprise_create(usual_tails, 1, 0.1, &surprise, NULL),
                     VLY_OK);
    for (; n < 60; n++) {
        /* 2 s in which nothing else happened, which takes no model */
        const vly_record record = {
            .burst = n, .bursts = 100, .wall_ns = n == 59 ? 2000000000u : 0};
        vly_surprise_judge(surprise, &record, &note, any_text(n), NULL,
                           &verdict);
        assert_int_equal(verdict.alarm, n == 59);
        assert_false(verdict.model_warm);
    }
    assert_string_equal(verdict.channel, "stall");
    for (uint32_t i = 0; i < VLY_TOKENS_WARM; i++) {
        verdict = feed(surprise, n++, VLY_METRIC_RATE, i == 20 ? 50 : 0);
        assert_true(verdict.warm && !verdict.model_warm);
        assert_false(verdict.strange);
        assert_close(verdict.values[VLY_CHANNEL_SURPRISE], 0, 0);
    }
    for (uint32_t i = 0; i < 100; i++) {
        verdict = feed(surprise, n++, VLY_METRIC_RATE, 0);
        assert_true(verdict.model_warm && !verdict.alarm);
    }
    verdict = feed(surprise, n++, VLY_METRIC_RATE, 50);
    assert_true(verdict.alarm);
    assert_int_equal(verdict.metric, VLY_METRIC_RATE);
    vly_surprise_destroy(surprise);
}

/* A metric of which the model knows less than counting does is not listened to,
 * however surprised it is; the same surprise counts where the model foretells
 * better, and for other metrics. */
static void test_counting(void **state)
{
    (void)state;
    const vly_record record = {.bursts = 100};
    const vly_record_note note = {.told = UINT32_MAX,
                                  .raised = VLY_NO_AREA,
                                  .silent = VLY_NO_AREA,
                                  .device = VLY_NO_AREA};
    for (uint32_t metric = 0; metric < VLY_METRICS; metric++) {
        vly_surprise *surprise = NULL;
        uint8_t text[VLY_TOKENS_PER_RECORD];
        double nats[VLY_METRICS];
        vly_verdict verdict;
        assert_int_equal(
            vly_surprise_create(usual_tails, 1, 0.1, &surprise, NULL), VLY_OK);
        for (uint32_t n = 0; n <= 300; n++) {
            memcpy(text, any_text(n), sizeof text);
            sound(n, nats);
            /* the same bin always: a few records are enough to know it */
            text[metric + 1] = (uint8_t)(1 + metric * VLY_TOKEN_BINS + 8);
            text[VLY_METRIC_HOST + 1] =
                1 + VLY_METRIC_HOST * VLY_TOKEN_BINS + 8;
            text[VLY_METRIC_MEMORY + 1] =
                1 + VLY_METRIC_MEMORY * VLY_TOKEN_BINS + 8;
            nats[metric] += n < 300 ? 0 : 40;
            vly_surprise_judge(surprise, &record, &note, text, nats, &verdict);
            assert_false(verdict.strange);
            if (verdict.warm)
                assert_close(verdict.z[metric], 0, 0);
        }
        const bool memory =
            metric == VLY_METRIC_HOST || metric == VLY_METRIC_MEMORY;
        if (memory) { /* where it grows it is not silent */
            text[metric + 1] = (uint8_t)(1 + metric * VLY_TOKEN_BINS + 15);
            vly_surprise_judge(surprise, &record, &note, text, nats, &verdict);
            assert_true(verdict.z[metric] > 1);
            vly_surprise_destroy(surprise);
            continue;
        }
        nats[metric == VLY_METRIC_RATE ? VLY_METRIC_FAN : VLY_METRIC_RATE] +=
            40;
        vly_surprise_judge(surprise, &record, &note, text, nats, &verdict);
        assert_true(verdict.alarm);
        vly_surprise_destroy(surprise);
    }
}

/* A time far above all that it has been is strange without any surprise. */
static void test_times(void **state)
{
    (void)state;
    vly_surprise *surprise = NULL;
    const vly_record record = {.bursts = 100};
    vly_record_note note = {.told = UINT32_MAX, .raised = VLY_NO_AREA};
    double nats[VLY_METRICS];
    vly_verdict verdict;
    assert_int_equal(vly_surprise_create(usual_tails, 1, 0.1, &surprise, NULL),
                     VLY_OK);
    for (uint32_t n = 0; n <= 300; n++) {
        const int32_t usual = 640 + (int32_t)(n * 37 % 41);
        sound(n, nats);
        for (uint32_t m = 0; m < VLY_METRICS; m++)
            note.level[m] = usual;
        note.level[VLY_METRIC_BURST] += n < 300 ? 0 : 500;
        vly_surprise_judge(surprise, &record, &note, any_text(n), nats,
                           &verdict);
        assert_int_equal(verdict.alarm, n == 300);
    }
    assert_int_equal(verdict.metric, VLY_METRIC_BURST);
    assert_true(verdict.values[VLY_CHANNEL_EXTREME] > 7);
    vly_surprise_destroy(surprise);
}

/* A record of 100 bursts that usually take 10 ms takes `more_ms` longer, of
 * which it waits `waited_ms` for a processor; every 20th takes `often_ms`
 * longer before that. */
static vly_verdict stalled(double more_ms, double waited_ms, double often_ms)
{
    vly_surprise *surprise = NULL;
    vly_record record = {.bursts = 100};
    vly_record_note note = {.told = UINT32_MAX, .raised = VLY_NO_AREA};
    double nats[VLY_METRICS];
    vly_verdict verdict;
    static const vly_tail tails[VLY_CHANNELS] = {{0.9, 0.01, 0.2},
                                                 {3.6, 0.005, 0.4},
                                                 {0.9, 0.01, 0.8},
                                                 {0.9, 0.01, 0.8},
                                                 {0.9, 0.01, 0.8}};
    assert_int_equal(vly_surprise_create(tails, 1, 0.1, &surprise, NULL),
                     VLY_OK);
    note.spread[VLY_METRIC_PACE] = 8;
    note.centre[VLY_METRIC_PACE] = vly_token_level(10000000) -
                                   vly_token_level(100) -
                                   3 * note.spread[VLY_METRIC_PACE];
    for (uint32_t n = 0; n <= 600; n++) {
        const double more = n == 600 ? more_ms : n % 20 == 19 ? often_ms : 0;
        sound(n, nats);
        for (uint32_t m = 0; m < VLY_METRICS; m++)
            note.level[m] = 640;
        note.z16[VLY_METRIC_BURST] = n == 600 ? 900 : 0;
        record.wall_ns = (uint64_t)((10 + more) * 1e6);
        record.waited_ns = n == 600 ? (uint64_t)(waited_ms * 1e6) : 0;
        vly_surprise_judge(surprise, &record, &note, any_text(n), nats,
                           &verdict);
        if (n < 600)
            assert_false(verdict.strange);
    }
    vly_surprise_destroy(surprise);
    return verdict;
}

/* Time that is lost counts as such, not as a multiple of what a record takes;
 * a machine that often stands still makes long stalls less strange. */
static void test_stalls(void **state)
{
    (void)state;
    const vly_verdict hung = stalled(300, 0, 0);
    assert_true(hung.alarm);
    assert_int_equal(hung.metric, VLY_METRIC_BURST);
    /* a level's last place is a hundredth of the 10 ms */
    assert_close(hung.values[VLY_CHANNEL_STALL], log2(301), 1e-3);
    /* the tail as it was calibrated, and the channel's part of the budget */
    const double tail = (hung.values[VLY_CHANNEL_STALL] - 3.6) / 0.4;
    assert_close(hung.score, tail - log(0.005) + log(0.15), 0.5);
    assert_false(stalled(20, 0, 0).strange);
    assert_false(stalled(-5, 0, 0).strange);
    assert_close(stalled(-5, 0, 0).values[VLY_CHANNEL_STALL], 0, 0);
    /* others had the processor: the machine is busy, and nothing hung */
    assert_false(stalled(800, 795, 0).strange);
    assert_true(stalled(800, 400, 0).alarm);
    const vly_verdict busy = stalled(300, 0, 15);
    assert_true(busy.alarm && busy.score < hung.score - 0.5);
    assert_false(stalled(60, 0, 25).strange);
}

static void test_refused(void **state)
{
    (void)state;
    vly_surprise *surprise = NULL;
    vly_error error = VLY_ERROR_INIT;
    assert_int_equal(
        vly_surprise_create(usual_tails, 0, 0.1, &surprise, &error),
        VLY_E_INVALID);
    assert_int_equal(
        vly_surprise_create(usual_tails, 1, NAN, &surprise, &error),
        VLY_E_INVALID);
    assert_int_equal(
        vly_surprise_create(usual_tails, NAN, 1, &surprise, &error),
        VLY_E_INVALID);
    vly_memory_fail_at(1);
    assert_int_equal(
        vly_surprise_create(usual_tails, 1, 0.1, &surprise, &error),
        VLY_E_NOMEM);
    vly_memory_fail_at(0);
    assert_null(surprise);
    vly_detector *detector = NULL;
    assert_int_equal(vly_detector_create(VLY_DETECTORS, &detector, &error),
                     VLY_E_INVALID);
    vly_memory_fail_at(1);
    assert_int_equal(vly_detector_create(0, &detector, &error), VLY_E_NOMEM);
    vly_memory_fail_at(0);
    assert_null(detector);
}

/* Each detector sees a step of one metric, and nothing before it. */
static void test_detectors(void **state)
{
    (void)state;
    assert_string_equal(vly_detector_name(VLY_DETECTOR_EWMA), "ewma");
    assert_null(vly_detector_name(VLY_DETECTORS));
    for (uint32_t kind = 0; kind < VLY_DETECTORS; kind++) {
        vly_detector *detector = NULL;
        vly_record_note note = {.told = UINT32_MAX, .raised = VLY_NO_AREA};
        assert_int_equal(vly_detector_create(kind, &detector, NULL), VLY_OK);
        for (int32_t n = 0; n < 300; n++) {
            uint32_t metric = VLY_METRICS;
            for (uint32_t m = 0; m < VLY_METRICS; m++)
                note.level[m] = 640 + (n * 37 + (int32_t)m * 11) % 23;
            const double score = vly_detector_score(detector, &note, &metric);
            if (score >= 4)
                fail_msg("%s: %g in record %d", vly_detector_name(kind), score,
                         n);
        }
        uint32_t metric = VLY_METRICS;
        note.level[VLY_METRIC_FAN] += 200;
        assert_true(vly_detector_score(detector, &note, &metric) > 8);
        assert_int_equal(metric, VLY_METRIC_FAN);
        vly_detector_destroy(detector);
    }
}

/* A windowed Gaussian against the formula. */
static void test_gaussian(void **state)
{
    (void)state;
    vly_detector *detector = NULL;
    vly_record_note note = {.told = UINT32_MAX, .raised = VLY_NO_AREA};
    assert_int_equal(
        vly_detector_create(VLY_DETECTOR_GAUSSIAN, &detector, NULL), VLY_OK);
    double sum = 0;
    double squares = 0;
    for (int32_t n = 0; n < 128; n++) {
        const int32_t x = n * n % 1009;
        note.level[VLY_METRIC_RATE] = x;
        (void)vly_detector_score(detector, &note, NULL);
        sum += x;
        squares += (double)x * x;
    }
    note.level[VLY_METRIC_RATE] = 5000;
    const double mean = sum / 128;
    const double sd = sqrt((squares - 128 * mean * mean) / 127);
    assert_close(vly_detector_score(detector, &note, NULL), (5000 - mean) / sd,
                 1e-9);
    vly_detector_destroy(detector);
}

static void test_sentence(void **state)
{
    (void)state;
    static const char *const areas[] = {"E", "I"};
    const vly_record record = {.burst = 1200, .bursts = 100, .clock_ms = -77};
    vly_record_note note = {.told = UINT32_MAX, .raised = 1};
    vly_verdict verdict = {.burst = 1200, .metric = VLY_METRIC_RATE, .area = 1};
    char text[160];
    note.level[VLY_METRIC_RATE] = 256;
    note.centre[VLY_METRIC_RATE] = 128;
    vly_verdict_text(&verdict, &record, &note, areas, NULL, text, sizeof text);
    assert_string_equal(text, "burst 1200: spikes of a burst: 4 times what was "
                              "usual (most of it: area I)");
    static const char *const metrics[] = {"power_watts", "sm_clock_hertz"};
    verdict.metric = VLY_METRIC_DEVICE;
    note.device = 1;
    note.level[VLY_METRIC_DEVICE] = 88;
    vly_verdict_text(&verdict, &record, &note, areas, metrics, text,
                     sizeof text);
    assert_string_equal(text,
                        "burst 1200: the device's most deviating metric: by "
                        "5.5 of its usual deviations (sm_clock_hertz)");
    vly_verdict_text(&verdict, &record, &note, areas, NULL, text, sizeof text);
    assert_null(strchr(text, '('));
    verdict.metric = VLY_METRIC_CLOCK;
    verdict.area = VLY_NO_AREA;
    vly_verdict_text(&verdict, &record, &note, NULL, NULL, text, sizeof text);
    assert_non_null(strstr(text, "-77 ms apart"));
    /* the area that fell least is one that rose */
    note.level[VLY_METRIC_LOWERED] = -100;
    assert_int_equal(vly_note_metric(&note, VLY_METRIC_LOWERED),
                     VLY_METRIC_RAISED);
    assert_int_equal(vly_note_area(&note, VLY_METRIC_RAISED), 1);
    for (uint32_t m = 0; m < VLY_METRICS; m++) {
        verdict.metric = m;
        vly_verdict_text(&verdict, &record, &note, areas, NULL, text, 20);
        assert_true(strlen(text) < 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nats),         cmocka_unit_test(test_tails),
        cmocka_unit_test(test_alarm),        cmocka_unit_test(test_own_tail),
        cmocka_unit_test(test_device_tails), cmocka_unit_test(test_moved),
        cmocka_unit_test(test_facts),        cmocka_unit_test(test_episode),
        cmocka_unit_test(test_counting),     cmocka_unit_test(test_times),
        cmocka_unit_test(test_stalls),       cmocka_unit_test(test_refused),
        cmocka_unit_test(test_detectors),    cmocka_unit_test(test_gaussian),
        cmocka_unit_test(test_unread),       cmocka_unit_test(test_sentence)};
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
