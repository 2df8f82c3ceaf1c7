/* SPDX-License-Identifier: Apache-2.0
 * Records into tokens: levels, what a metric is held against, records that are
 * short or in which the net stood still, areas. The golden telemetry compares
 * whole records with the second implementation (test_command_report).
 */
#include "monitor/tokens.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "volley_test.h"

#define AREAS 3u

static void test_level(void **state)
{
    (void)state;
    assert_int_equal(vly_token_level(0), 0);
    assert_int_equal(vly_token_level(1), 64);
    assert_int_equal(vly_token_level(2), 128);
    assert_int_equal(vly_token_level(1u << 20), 64 * 21);
    assert_int_equal(vly_token_level(UINT64_MAX), 64 * 65 - 1);
    /* cut, not rounded: 64 log2 is known from libm to 1e-10, and whole only
     * for powers of two */
    uint64_t value = 3;
    for (int i = 0; i < 400; i++, value = value * 12345677 / 8388608 + 1) {
        const double exact = 64 + 64 * log2((double)value);
        if ((value & (value - 1)) != 0 && value < UINT64_C(1) << 31)
            assert_int_equal(vly_token_level(value), (int32_t)floor(exact));
        if (value > UINT64_C(1) << 61)
            break;
    }
}

static void test_vocabulary(void **state)
{
    (void)state;
    assert_int_equal(vly_token_metric(0), VLY_METRICS);
    assert_int_equal(vly_token_bin(0), 0);
    assert_int_equal(vly_token_metric(1), VLY_METRIC_PACE);
    assert_int_equal(vly_token_bin(1), -8);
    assert_int_equal(vly_token_bin(9), 0);
    assert_int_equal(vly_token_metric(17), VLY_METRIC_PACE);
    assert_int_equal(vly_token_bin(17), 8);
    assert_int_equal(vly_token_metric(255), VLY_METRIC_SILENT);
    assert_int_equal(vly_token_bin(255), 8);
    assert_string_equal(vly_metric_name(VLY_METRIC_RATE), "rate");
    assert_null(vly_metric_name(VLY_METRICS));
    assert_null(vly_metric_what(VLY_METRICS));
}

/* 100 bursts in 10 ms with some jitter, 1000 spikes, 10,000 events. */
static vly_record sound(uint32_t number)
{
    const uint64_t jitter = number * UINT64_C(7919) % 97;
    return (vly_record){.burst = 100 * (number + UINT64_C(1)),
                        .bursts = 100,
                        .wall_ns = 10000000 + 10000 * jitter,
                        .run_ns = 9000000 + 10000 * jitter,
                        .delivery_ns = 5000000 + 9000 * jitter,
                        .dynamics_ns = 3000000,
                        .spikes = 1000 + jitter,
                        .events = 10000 + 10 * jitter};
}

static void sound_areas(uint32_t number, uint64_t *areas)
{
    const uint64_t jitter = number * UINT64_C(104729) % 31;
    areas[0] = 500 + jitter;
    areas[1] = 300 - jitter;
    areas[2] = 200 + jitter;
}

static vly_tokens *warm(uint32_t n)
{
    vly_tokens *tokens = NULL;
    uint8_t text[VLY_TOKENS_PER_RECORD];
    assert_int_equal(vly_tokens_create(AREAS, 0, &tokens, NULL), VLY_OK);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t areas[AREAS];
        const vly_record record = sound(i);
        sound_areas(i, areas);
        assert_true(vly_tokens_make(tokens, &record, areas, NULL, text, NULL));
        assert_int_equal(text[0], 0);
        for (uint32_t m = 0; m < VLY_METRICS; m++) {
            assert_int_equal(vly_token_metric(text[1 + m]), m);
            /* nothing of this is far from what was */
            if (i >= VLY_TOKENS_WARM)
                assert_true(vly_token_bin(text[1 + m]) > -5 &&
                            vly_token_bin(text[1 + m]) < 5);
        }
    }
    assert_int_equal(vly_tokens_count(tokens), n);
    return tokens;
}

/* How long a record waited for a processor is nothing of the net: times are
 * without it, those of a burst without what was waited in the engine, a phase
 * is not told where that was more than a sixteenth of it, and nothing is where
 * an eighth is not left. */
static void test_waited(void **state)
{
    (void)state;
    static const struct {
        uint64_t waited_ms;
        bool pace;
        bool phases;
    } cases[] = {{1, true, true},
                 {2, true, false},
                 {60, true, false},
                 {81, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vly_tokens *tokens = warm(100);
        uint8_t text[VLY_TOKENS_PER_RECORD];
        uint64_t areas[AREAS];
        vly_record_note note;
        vly_record record = sound(100);
        record.waited_ns = cases[i].waited_ms * 1000000;
        record.engine_waited_ns = record.waited_ns;
        record.wall_ns += record.waited_ns;
        record.run_ns += record.waited_ns;
        record.delivery_ns *= 3; /* of it */
        sound_areas(100, areas);
        assert_true(vly_tokens_make(tokens, &record, areas, NULL, text, &note));
        assert_true(note.z16[VLY_METRIC_PACE] > -32 &&
                    note.z16[VLY_METRIC_PACE] < 32);
        assert_int_equal(note.level[VLY_METRIC_BURST] !=
                             note.centre[VLY_METRIC_BURST],
                         cases[i].pace);
        assert_int_equal(note.z16[VLY_METRIC_DELIVERY] > 64, cases[i].phases);
        vly_tokens_destroy(tokens);
    }
    /* nor does anything where other threads were kept waiting for more than an
     * eighth */
    for (int eighth = 0; eighth < 2; eighth++) {
        vly_tokens *others = warm(100);
        uint8_t told[VLY_TOKENS_PER_RECORD];
        uint64_t each[AREAS];
        vly_record kept = sound(100);
        sound_areas(100, each);
        kept.run_ns *= 3;
        kept.dynamics_ns *= 3;
        kept.threads_waited_ns = kept.run_ns / 8 + (uint64_t)eighth;
        assert_true(vly_tokens_make(others, &kept, each, NULL, told, NULL));
        assert_int_equal(vly_token_bin(told[1 + VLY_METRIC_BURST]) > 4,
                         eighth == 0);
        assert_int_equal(vly_token_bin(told[1 + VLY_METRIC_DYNAMICS]) > 4,
                         eighth == 0);
        vly_tokens_destroy(others);
    }
    /* between two calls of the engine a burst has no part, nor have phases */
    vly_tokens *between = warm(100);
    uint8_t said[VLY_TOKENS_PER_RECORD];
    uint64_t of[AREAS];
    vly_record after = sound(100);
    sound_areas(100, of);
    after.waited_ns = 8000000;
    after.wall_ns += 8000000;
    assert_true(vly_tokens_make(between, &after, of, NULL, said, NULL));
    for (uint32_t m = VLY_METRIC_PACE; m <= VLY_METRIC_DYNAMICS; m++)
        assert_true(vly_token_bin(said[1 + m]) > -4 &&
                    vly_token_bin(said[1 + m]) < 4);
    vly_tokens_destroy(between);
    /* in the exchange the other phases have no part */
    vly_tokens *tokens = warm(100);
    uint8_t text[VLY_TOKENS_PER_RECORD];
    uint64_t areas[AREAS];
    vly_record_note note;
    vly_record record = sound(100);
    record.waited_ns = record.engine_waited_ns = record.exchange_ns = 5000000;
    record.wall_ns += 5000000;
    record.run_ns += 5000000;
    record.delivery_ns *= 3;
    sound_areas(100, areas);
    assert_true(vly_tokens_make(tokens, &record, areas, NULL, text, &note));
    assert_true(note.z16[VLY_METRIC_DELIVERY] > 64);
    vly_tokens_destroy(tokens);
}

/* An area that never fires neither rises in a short record nor falls in a long
 * one, and one that fires falls where it does not. */
static void test_quiet_area(void **state)
{
    (void)state;
    static const uint64_t parts[] = {4, 2, 1};
    for (size_t k = 0; k < 3; k++) {
        vly_tokens *tokens = NULL;
        uint8_t text[VLY_TOKENS_PER_RECORD];
        vly_record_note note;
        uint64_t areas[2] = {0, 80};
        assert_int_equal(vly_tokens_create(2, 0, &tokens, NULL), VLY_OK);
        for (uint32_t i = 0; i < 100; i++) {
            const vly_record usual = sound(i);
            assert_true(
                vly_tokens_make(tokens, &usual, areas, NULL, text, NULL));
        }
        vly_record record = sound(100);
        record.bursts = k == 2 ? 2 * record.bursts : record.bursts / parts[k];
        record.wall_ns *= 2; /* is not joined with the next one */
        areas[1] = areas[1] * record.bursts / 100;
        assert_true(vly_tokens_make(tokens, &record, areas, NULL, text, &note));
        assert_in_range(note.z16[VLY_METRIC_RAISED] + 16, 0, 32);
        assert_in_range(note.z16[VLY_METRIC_LOWERED] + 16, 0, 32);
        areas[1] = 0;
        assert_true(vly_tokens_make(tokens, &record, areas, NULL, text, &note));
        assert_int_equal(note.lowered, 1);
        if (k > 0)
            assert_true(note.z16[VLY_METRIC_LOWERED] > 64);
        vly_tokens_destroy(tokens);
    }
}

/* Held, a change that lasts stays as far away as it was in the beginning, and
 * what was before it is as usual again; not held it becomes what is usual. */
static void test_hold(void **state)
{
    (void)state;
    for (int held = 0; held < 2; held++) {
        vly_tokens *tokens = warm(200);
        uint8_t text[VLY_TOKENS_PER_RECORD];
        uint64_t areas[AREAS];
        vly_record_note first;
        vly_record_note note;
        vly_tokens_hold(tokens, held != 0);
        for (uint32_t i = 0; i < 600; i++) {
            vly_record record = sound(200 + i);
            record.spikes *= 3;
            sound_areas(200 + i, areas);
            assert_true(
                vly_tokens_make(tokens, &record, areas, NULL, text, &note));
            first = i == 0 ? note : first;
        }
        assert_true(first.z16[VLY_METRIC_RATE] > 300);
        if (held)
            assert_true(note.z16[VLY_METRIC_RATE] > 300);
        else
            assert_true(note.z16[VLY_METRIC_RATE] < 16);
        vly_tokens_hold(tokens, false);
        const vly_record record = sound(800);
        sound_areas(800, areas);
        assert_true(vly_tokens_make(tokens, &record, areas, NULL, text, &note));
        if (held)
            assert_true(note.z16[VLY_METRIC_RATE] > -32);
        else
            assert_true(note.z16[VLY_METRIC_RATE] < -64);
        assert_int_equal(vly_tokens_count(tokens), 801);
        vly_tokens_destroy(tokens);
    }
}

typedef struct change {
    void (*make)(vly_record *record, uint64_t *areas);
    uint32_t metric;
    int32_t lo; /* of its bin */
    int32_t hi;
} change;

static void run_away(vly_record *record, uint64_t *areas)
{
    record->spikes *= 4;
    record->events *= 4;
    for (uint32_t a = 0; a < AREAS; a++)
        areas[a] *= 4;
}
static void fall_silent(vly_record *record, uint64_t *areas)
{
    record->spikes -= areas[1];
    areas[1] = 0;
}
static void slow_down(vly_record *record, uint64_t *areas)
{
    (void)areas;
    record->delivery_ns *= 3;
    record->run_ns *= 3;
}
static void leak(vly_record *record, uint64_t *areas)
{
    (void)areas;
    record->host_growth = 1 << 20;
}
static void set_clock(vly_record *record, uint64_t *areas)
{
    (void)areas;
    record->clock_ms = -5000;
}
static void lose(vly_record *record, uint64_t *areas)
{
    (void)areas;
    record->lost = 1;
}

static void test_changes(void **state)
{
    (void)state;
    static const change changes[] = {
        {run_away, VLY_METRIC_RATE, 6, 8},
        {run_away, VLY_METRIC_FAN, -1, 1},
        {run_away, VLY_METRIC_RAISED, 5, 8},
        {fall_silent, VLY_METRIC_SILENT, 7, 8},
        {fall_silent, VLY_METRIC_LOWERED, 6, 8},
        {slow_down, VLY_METRIC_DELIVERY, 4, 8},
        {slow_down, VLY_METRIC_BURST, 4, 8},
        {slow_down, VLY_METRIC_RATE, -4, 4},
        {leak, VLY_METRIC_HOST, 6, 8},
        {leak, VLY_METRIC_MEMORY, 0, 0},
        {set_clock, VLY_METRIC_CLOCK, -8, -6},
        {lose, VLY_METRIC_CHECKS, 7, 8},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        vly_tokens *tokens = warm(100);
        uint8_t text[VLY_TOKENS_PER_RECORD];
        uint64_t areas[AREAS];
        vly_record record = sound(100);
        sound_areas(100, areas);
        changes[i].make(&record, areas);
        assert_true(vly_tokens_make(tokens, &record, areas, NULL, text, NULL));
        const int32_t bin = vly_token_bin(text[1 + changes[i].metric]);
        if (bin < changes[i].lo || bin > changes[i].hi)
            fail_msg("change %zu: bin %d of %s, wanted %d to %d", i, bin,
                     vly_metric_name(changes[i].metric), changes[i].lo,
                     changes[i].hi);
        vly_tokens_destroy(tokens);
    }
}

static void test_areas_named(void **state)
{
    (void)state;
    vly_tokens *tokens = warm(60);
    uint8_t text[VLY_TOKENS_PER_RECORD];
    uint64_t areas[AREAS];
    vly_record_note note;
    vly_record record = sound(60);
    sound_areas(60, areas);
    areas[2] *= 8;
    areas[1] = 0;
    assert_true(vly_tokens_make(tokens, &record, areas, NULL, text, &note));
    assert_int_equal(note.raised, 2);
    assert_int_equal(note.lowered, 1);
    assert_int_equal(note.silent, 1);
    assert_int_equal(note.n_silent, 1);
    assert_int_equal(note.device, VLY_NO_AREA);
    vly_tokens_destroy(tokens);
}

/* Too short to be judged: nothing is learned from it. */
static void test_short(void **state)
{
    (void)state;
    vly_tokens *tokens = warm(40);
    uint8_t text[VLY_TOKENS_PER_RECORD] = {255};
    uint64_t areas[AREAS];
    vly_record record = sound(40);
    sound_areas(40, areas);
    record.wall_ns /= 4;
    assert_false(vly_tokens_make(tokens, &record, areas, NULL, text, NULL));
    assert_int_equal(vly_tokens_count(tokens), 40);
    assert_int_equal(text[0], 255);
    /* so is one about a pause, in which the net stood still */
    record.bursts = 0;
    assert_false(vly_tokens_make(tokens, &record, areas, NULL, text, NULL));
    assert_int_equal(vly_tokens_count(tokens), 40);
    record.wall_ns *= 4;
    assert_true(vly_tokens_make(tokens, &record, areas, NULL, text, NULL));
    vly_tokens_destroy(tokens);
}

static void test_still(void **state)
{
    (void)state;
    vly_tokens *tokens = warm(40);
    uint8_t text[VLY_TOKENS_PER_RECORD];
    const uint64_t areas[AREAS] = {0};
    vly_record_note note;
    vly_record record = {.burst = 4000, .wall_ns = 1000000000};
    for (int i = 0; i < 50; i++) {
        assert_true(vly_tokens_make(tokens, &record, areas, NULL, text, &note));
        /* it never becomes what is usual */
        assert_int_equal(vly_token_bin(text[1 + VLY_METRIC_PACE]), 8);
        assert_int_equal(note.z16[VLY_METRIC_RATE], 0);
        assert_int_equal(note.n_silent, 0);
    }
    assert_int_equal(vly_tokens_count(tokens), 40);
    vly_tokens_destroy(tokens);
}

static void test_device(void **state)
{
    (void)state;
    vly_tokens *tokens = NULL;
    uint8_t text[VLY_TOKENS_PER_RECORD];
    vly_record_note note;
    assert_int_equal(vly_tokens_create(0, 2, &tokens, NULL), VLY_OK);
    for (uint32_t i = 0; i < 50; i++) {
        const vly_record record = sound(i);
        const uint64_t device[2] = {1980000 + i % 3, 65000 + 1000 * (i % 5)};
        assert_true(
            vly_tokens_make(tokens, &record, NULL, device, text, &note));
    }
    const vly_record record = sound(50);
    const uint64_t throttled[2] = {345000, 65000};
    assert_true(vly_tokens_make(tokens, &record, NULL, throttled, text, &note));
    assert_int_equal(note.device, 0);
    assert_true(vly_token_bin(text[1 + VLY_METRIC_DEVICE]) >= 6);
    assert_int_equal(note.raised, VLY_NO_AREA);
    vly_tokens_destroy(tokens);
}

/* What memory a net takes in its first records, or behind a move, is not what
 * its growth is held against: the centre would take long to come down from
 * there, and a leak would be no surprise meanwhile. */
static void test_memory_early(void **state)
{
    (void)state;
    vly_tokens *tokens = warm(0);
    for (int moves = 0; moves < 2; moves++) {
        for (uint32_t i = 0; i < 60; i++) {
            uint64_t areas[AREAS];
            uint8_t text[VLY_TOKENS_PER_RECORD];
            vly_record_note note;
            vly_record record = sound(i);
            sound_areas(i, areas);
            record.host_growth = i < 8 ? 1 << 20 : i < 50 ? 0 : 4096 * 100;
            record.device_growth = i == 1 ? 1 << 28 : 0;
            assert_true(
                vly_tokens_make(tokens, &record, areas, NULL, text, &note));
            assert_int_equal((note.told >> VLY_METRIC_HOST) & 1, i >= 8);
            assert_int_equal(vly_token_bin(text[1 + VLY_METRIC_MEMORY]), 0);
            if (i < 50)
                assert_int_equal(note.z16[VLY_METRIC_HOST], 0);
            else
                assert_true(vly_token_bin(text[1 + VLY_METRIC_HOST]) > 2);
            if (i == 50)
                assert_true(note.z16[VLY_METRIC_HOST] >= 256);
        }
        vly_tokens_forget(tokens);
    }
    vly_tokens_destroy(tokens);
}

/* Devices are sampled less often than records are made: a metric of theirs is
 * held against eight samples at least, however many records there were, and is
 * nothing where no sample is new. */
static void test_device_early(void **state)
{
    (void)state;
    vly_tokens *tokens = NULL;
    uint8_t text[VLY_TOKENS_PER_RECORD];
    vly_record_note note;
    uint32_t n_samples = 0;
    assert_int_equal(vly_tokens_create(0, 1, &tokens, NULL), VLY_OK);
    for (int moves = 0; moves < 2; moves++) {
        n_samples = 0;
        for (uint32_t i = 0; i < 20 * 12; i++) {
            const vly_record record = sound(i);
            const bool sampled = i % 20 == 0;
            n_samples += sampled;
            /* each is far from the one before */
            const uint64_t device[1] = {1000u << n_samples % 4 * 4};
            assert_true(vly_tokens_make(tokens, &record, NULL,
                                        sampled ? device : NULL, text, &note));
            if (!sampled || n_samples <= 8)
                assert_int_equal(note.z16[VLY_METRIC_DEVICE], 0);
            assert_int_equal((note.told >> VLY_METRIC_DEVICE) & 1,
                             n_samples > 8);
            assert_int_equal(note.device,
                             sampled && n_samples > 8 ? 0 : VLY_NO_AREA);
        }
        vly_tokens_forget(tokens);
    }
    vly_tokens_destroy(tokens);
}

static void test_between(void **state)
{
    (void)state;
    const vly_telemetry_sample from = {.at_ns = 1000,
                                       .unix_ns = 5000000000,
                                       .bursts = 10,
                                       .run_ns = 100,
                                       .spikes = 50,
                                       .events = 500,
                                       .host_bytes = 4096};
    vly_telemetry_sample to = from;
    to.at_ns += 20000000;
    to.unix_ns += 25000000; /* 5 ms more than the steady clock */
    to.bursts += 7;
    to.run_ns += 70;
    to.waited_ns = 3000000;
    to.engine_waited_ns = 2000000;
    to.spikes += 12;
    to.events += 120;
    to.host_bytes -= 96;
    const uint64_t before[2] = {40, 10};
    const uint64_t after[2] = {45, 16}; /* one spike is in no area */
    uint64_t areas[2];
    vly_record record;
    vly_record_between(&from, &to, before, after, 2, &record, areas);
    assert_int_equal(record.burst, 17);
    assert_int_equal(record.bursts, 7);
    assert_int_equal(record.wall_ns, 20000000);
    assert_int_equal(record.waited_ns, 3000000);
    assert_int_equal(record.engine_waited_ns, 2000000);
    assert_int_equal(record.spikes, 12);
    assert_int_equal(record.host_growth, -96);
    assert_int_equal(record.clock_ms, 5);
    assert_int_equal(record.missing, 1);
    assert_int_equal(areas[0], 5);
    assert_int_equal(areas[1], 6);
    /* a pause that was asked for is none of the record, nor of a clock's */
    to.paused_ns = 15000000;
    vly_record_between(&from, &to, before, after, 2, &record, areas);
    assert_int_equal(record.wall_ns, 5000000);
    assert_int_equal(record.paused_ns, 15000000);
    assert_int_equal(record.clock_ms, 5);
    /* counters that went back */
    vly_record_between(&to, &from, after, before, 2, &record, areas);
    assert_int_equal(record.bursts, 0);
    assert_int_equal(record.spikes, 0);
    assert_int_equal(areas[1], 0);
}

/* A net that was held for two seconds and did nothing else is not slow. */
static void test_paused(void **state)
{
    (void)state;
    for (int paused = 0; paused < 2; paused++) {
        vly_tokens *tokens = warm(100);
        uint8_t text[VLY_TOKENS_PER_RECORD];
        uint64_t areas[AREAS] = {0};
        vly_record_note note;
        const vly_record record = {.burst = 10000,
                                   .wall_ns = paused ? 100000000 : 2000000000,
                                   .paused_ns = paused ? 1900000000 : 0};
        assert_true(vly_tokens_make(tokens, &record, areas, NULL, text, &note));
        assert_int_equal(vly_token_bin(text[1 + VLY_METRIC_PACE]) > 4, !paused);
        assert_int_equal((note.absent >> VLY_METRIC_PACE) & 1, paused);
        vly_tokens_destroy(tokens);
    }
}

static void test_memory(void **state)
{
    (void)state;
    for (uint64_t n = 1;; n++) {
        vly_tokens *tokens = NULL;
        vly_error error = VLY_ERROR_INIT;
        const uint64_t live = vly_memory_live();
        vly_memory_fail_at(n);
        const vly_status status = vly_tokens_create(4, 4, &tokens, &error);
        vly_memory_fail_at(0);
        if (status == VLY_OK) {
            assert_int_equal(n, 4);
            vly_tokens_destroy(tokens);
            assert_int_equal(vly_memory_live(), live);
            return;
        }
        assert_int_equal(status, VLY_E_NOMEM);
        assert_null(tokens);
        assert_int_equal(vly_memory_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_quiet_area),
                                       cmocka_unit_test(test_waited),
                                       cmocka_unit_test(test_hold),
                                       cmocka_unit_test(test_level),
                                       cmocka_unit_test(test_vocabulary),
                                       cmocka_unit_test(test_changes),
                                       cmocka_unit_test(test_areas_named),
                                       cmocka_unit_test(test_short),
                                       cmocka_unit_test(test_still),
                                       cmocka_unit_test(test_device),
                                       cmocka_unit_test(test_device_early),
                                       cmocka_unit_test(test_memory_early),
                                       cmocka_unit_test(test_paused),
                                       cmocka_unit_test(test_between),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
