/* SPDX-License-Identifier: Apache-2.0
 * Causes of records of a net, through the tokens: what is lost between the
 * device and who reads (spikes, synaptic events), beside what looks like it.
 */
#include <string.h>

#include "base/error.h"
#include "monitor/surprise.h"
#include "volley_test.h"

enum { AREAS = 3, BURSTS = 500 };

typedef struct net {
    vly_tokens *tokens;
    uint64_t seed;
    uint32_t stray; /* percent, of the whole net from record to record */
    /* shares of 1,000 that are left, of each area's spikes as they fire, of
     * what is told of them, of events */
    uint32_t fires[AREAS];
    uint32_t told;
    uint32_t events;
} net;

static void begin(net *all, uint32_t stray)
{
    vly_error error = VLY_ERROR_INIT;
    *all = (net){.seed = 1, .stray = stray, .told = 1000, .events = 1000};
    for (uint32_t a = 0; a < AREAS; a++)
        all->fires[a] = 1000;
    assert_ok(vly_tokens_create(AREAS, 0, &all->tokens, &error), error);
}

/* -x to x */
static int32_t draw(net *all, uint32_t x)
{
    all->seed = all->seed * UINT64_C(6364136223846793005) +
                UINT64_C(1442695040888963407);
    return (int32_t)((all->seed >> 33) % (2 * x + 1)) - (int32_t)x;
}

/* The likely cause of one more record; "none". */
static const char *more(net *all)
{
    static const uint64_t fan[AREAS] = {100, 120, 400};
    uint64_t areas[AREAS];
    uint8_t text[VLY_TOKENS_PER_RECORD];
    vly_record_note note;
    const uint64_t whole = (uint64_t)(1000 + 10 * draw(all, all->stray));
    vly_record record = {
        .bursts = BURSTS, .wall_ns = 100000000, .run_ns = 90000000};
    for (uint32_t a = 0; a < AREAS; a++) {
        const uint64_t fired = (uint64_t)(5000 + draw(all, 50)) * whole / 1000 *
                               all->fires[a] / 1000;
        areas[a] = fired * all->told / 1000;
        record.spikes += areas[a];
        record.events += fired * fan[a] * all->events / 1000;
    }
    assert_true(
        vly_tokens_make(all->tokens, &record, areas, NULL, text, &note));
    const char *cause = vly_verdict_cause(&record, &note);
    return cause ? cause : "none";
}

/* After some hundred records of a sound net. */
static void settle(net *all, uint32_t stray)
{
    begin(all, stray);
    for (int i = 0; i < 300; i++)
        (void)more(all);
}

#define EXPECT(all, text) assert_non_null(strstr(more(&(all)), text))

static void test_dropped(void **state)
{
    (void)state;
    static const uint32_t left[] = {900, 800, 500, 100, 10, 0};
    static const uint32_t stray[] = {0, 5, 20};
    for (size_t s = 0; s < 3; s++)
        for (size_t k = 0; k < 6; k++) {
            net all;
            int right = 0;
            settle(&all, stray[s]);
            all.told = left[k];
            for (int i = 0; i < 8; i++)
                right += strstr(more(&all), "records are dropped") != NULL;
            assert_true(right >= 7);
            vly_tokens_destroy(all.tokens);
        }
}

/* Less activity has fewer events too, whichever area it is. */
static void test_not_dropped(void **state)
{
    (void)state;
    net all;
    settle(&all, 2);
    for (uint32_t a = 0; a < AREAS; a++)
        all.fires[a] = 500;
    EXPECT(all, "activity falls");
    vly_tokens_destroy(all.tokens);
    /* those with few synapses fall silent, or nearly: more events a spike */
    settle(&all, 2);
    all.fires[0] = 0;
    EXPECT(all, "an area fell silent");
    vly_tokens_destroy(all.tokens);
    settle(&all, 20);
    all.fires[0] = 0;
    EXPECT(all, "an area fell silent");
    vly_tokens_destroy(all.tokens);
    settle(&all, 20);
    all.fires[0] = 50;
    assert_null(strstr(more(&all), "dropped"));
    vly_tokens_destroy(all.tokens);
    settle(&all, 2);
    all.fires[0] = all.fires[1] = 300;
    EXPECT(all, "activity falls");
    vly_tokens_destroy(all.tokens);
    /* and those with many fire more beside it: as many events, another mix */
    settle(&all, 2);
    all.fires[0] = all.fires[1] = 300;
    all.fires[2] = 1380;
    assert_null(strstr(more(&all), "dropped"));
    vly_tokens_destroy(all.tokens);
    /* nothing left, events neither: the net is quiet */
    settle(&all, 2);
    for (uint32_t a = 0; a < AREAS; a++)
        all.fires[a] = 0;
    EXPECT(all, "silent");
    vly_tokens_destroy(all.tokens);
}

/* A net without synapses whose input stops: no events, then as before. */
static void test_no_synapses(void **state)
{
    (void)state;
    net all;
    begin(&all, 2);
    all.events = 0;
    for (int i = 0; i < 300; i++)
        (void)more(&all);
    for (uint32_t a = 0; a < AREAS; a++)
        all.fires[a] = 400;
    EXPECT(all, "activity falls");
    for (uint32_t a = 0; a < AREAS; a++)
        all.fires[a] = 0;
    EXPECT(all, "silent");
    vly_tokens_destroy(all.tokens);
}

static void test_events_lost(void **state)
{
    (void)state;
    net all;
    settle(&all, 2);
    all.events = 700;
    EXPECT(all, "synaptic events are lost");
    vly_tokens_destroy(all.tokens);
    /* the area with most synapses fires less: fewer events a spike, too */
    settle(&all, 2);
    all.fires[2] = 600;
    assert_null(strstr(more(&all), "events are lost"));
    vly_tokens_destroy(all.tokens);
}

/* ---- single rows ----------------------------------------------------------
 */

static const char *cause_of(uint32_t metric, int32_t z16, uint32_t other,
                            int32_t other_z16)
{
    const vly_record record = {.bursts = 100};
    vly_record_note note = {.raised = VLY_NO_AREA};
    note.z16[metric] = z16;
    note.z16[other] = other_z16;
    const char *cause = vly_verdict_cause(&record, &note);
    return cause ? cause : "none";
}

/* Which area is told of. */
static void note_of_areas(void)
{
    vly_record_note note = {.raised = 1, .lowered = 2, .silent = VLY_NO_AREA};
    note.z16[VLY_METRIC_RATE] = -90;
    assert_int_equal(vly_note_area(&note, VLY_METRIC_RATE), 2);
    assert_int_equal(vly_note_area(&note, VLY_METRIC_DISPERSION), VLY_NO_AREA);
    note.z16[VLY_METRIC_FAN] = 90; /* dropped: all of them */
    assert_int_equal(vly_note_area(&note, VLY_METRIC_RATE), VLY_NO_AREA);
    note.z16[VLY_METRIC_FAN] = 0;
    note.z16[VLY_METRIC_RATE] = note.z16[VLY_METRIC_RAISED] = 90;
    note.z16[VLY_METRIC_SILENT] = 256;
    note.n_silent = 1;
    note.silent = 0;
    assert_int_equal(vly_note_area(&note, VLY_METRIC_RATE), 1);
    assert_int_equal(vly_note_area(&note, VLY_METRIC_DISPERSION), 0);
    const vly_record record = {.bursts = 100};
    assert_non_null(strstr(vly_verdict_cause(&record, &note), "runaway"));
}

/* What the channel says counts before times that follow; activity explains a
 * longer burst up to the square of what it grew by. */
static void note_of_channels(void)
{
    /* 4 times the spikes and events, a burst of 8 times the time */
    const vly_record record = {.bursts = 64, .spikes = 256, .events = 2560};
    vly_record_note note = {.raised = VLY_NO_AREA};
    vly_verdict verdict = {.channel = "unison"};
    note.level[VLY_METRIC_RATE] = 128;
    note.level[VLY_METRIC_BURST] = 192;
    note.centre[VLY_METRIC_FAN] = vly_token_level(10) - vly_token_level(1);
    note.spread[VLY_METRIC_RATE] = 4;
    note.spread[VLY_METRIC_BURST] = 8;
    note.z16[VLY_METRIC_RATE] = 16 * 128 / 4;
    note.z16[VLY_METRIC_BURST] = 16 * 192 / 8;
    assert_non_null(
        strstr(vly_verdict_likely(&verdict, &record, &note), "synchrony"));
    verdict.channel = "stall";
    assert_non_null(
        strstr(vly_verdict_likely(&verdict, &record, &note), "more activity"));
    note.level[VLY_METRIC_BURST] = 2 * 128 + 32;
    assert_non_null(strstr(vly_verdict_likely(&verdict, &record, &note),
                           "bursts take longer for the same work"));
    /* of a record without times */
    const vly_record_note none = {.raised = VLY_NO_AREA};
    assert_non_null(
        strstr(vly_verdict_likely(&verdict, &record, &none), "stood still"));
    verdict.channel = "surprise";
    assert_null(vly_verdict_likely(&verdict, &record, &none));
}

static void test_causes(void **state)
{
    (void)state;
    const vly_record_note note = {.raised = VLY_NO_AREA};
    vly_record record = {.bursts = 0};
    assert_non_null(strstr(vly_verdict_cause(&record, &note), "stands still"));
    record = (vly_record){.bursts = 1, .wrong_place = 1, .missing = 4};
    assert_non_null(
        strstr(vly_verdict_cause(&record, &note), "another backend"));
    assert_string_equal(cause_of(VLY_METRIC_RATE, 20, VLY_METRIC_FAN, 0),
                        "none");
#define CAUSE(a, x, b, y, text)                                                \
    assert_non_null(                                                           \
        strstr(cause_of(VLY_METRIC_##a, x, VLY_METRIC_##b, y), text))
    CAUSE(RATE, 200, RAISED, 100, "runaway");
    CAUSE(SILENT, 256, LOWERED, 300, "silent");
    CAUSE(DISPERSION, 90, RATE, 10, "synchrony");
    CAUSE(HOST, 90, RATE, 10, "host memory");
    CAUSE(MEMORY, 90, RATE, 10, "leak");
    CAUSE(DELIVERY, 90, DYNAMICS, 90, "slower");
    const vly_record bursts = {.bursts = 100};
    vly_record_note up = {.raised = VLY_NO_AREA};
    up.z16[VLY_METRIC_RAISED] = 100;
    vly_verdict verdict = {.channel = "work"};
    assert_non_null(strstr(vly_verdict_likely(&verdict, &bursts, &up),
                           "processor's own time"));
    const vly_record on_device = {.bursts = 100, .on_device = true};
    assert_null(strstr(vly_verdict_likely(&verdict, &on_device, &up),
                       "processor's own time"));
    vly_record_note silent = up;
    silent.n_silent = 1;
    silent.z16[VLY_METRIC_SILENT] = 256;
    assert_non_null(
        strstr(vly_verdict_likely(&verdict, &bursts, &silent), "silent"));
    vly_record_note grown = up;
    grown.z16[VLY_METRIC_HOST] = 90;
    assert_non_null(
        strstr(vly_verdict_likely(&verdict, &bursts, &grown), "host memory"));
    verdict.channel = "unison";
    assert_non_null(
        strstr(vly_verdict_likely(&verdict, &bursts, &up), "synchrony"));
    vly_record_note rate = {.raised = VLY_NO_AREA};
    rate.z16[VLY_METRIC_RATE] = 100;
    rate.z16[VLY_METRIC_MEMORY] = 100; /* buffers grow with them */
    assert_non_null(
        strstr(vly_verdict_likely(&verdict, &bursts, &rate), "synchrony"));
    up.z16[VLY_METRIC_RATE] = 100;
    assert_non_null(
        strstr(vly_verdict_likely(&verdict, &bursts, &up), "runaway"));
    /* twice the spikes: of pulses, where they vary as 17 times as many do */
    up.level[VLY_METRIC_RATE] = 64;
    verdict.times = 15;
    assert_non_null(
        strstr(vly_verdict_likely(&verdict, &bursts, &up), "runaway"));
    verdict.times = 17;
    assert_non_null(
        strstr(vly_verdict_likely(&verdict, &bursts, &up), "synchrony"));
    CAUSE(SILENT, 256, DISPERSION, 90, "fell silent");
    note_of_areas();
    note_of_channels();
    CAUSE(CLOCK, -90, RATE, 0, "set back");
    CAUSE(PACE, 200, BURST, 200, "bursts take longer");
    CAUSE(PACE, 200, BURST, 0, "between bursts");
#undef CAUSE
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dropped), cmocka_unit_test(test_not_dropped),
        cmocka_unit_test(test_no_synapses), cmocka_unit_test(test_events_lost),
        cmocka_unit_test(test_causes)};
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
