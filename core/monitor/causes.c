/* SPDX-License-Identifier: Apache-2.0
 * Derives a message and a likely cause from the pattern of a record's metrics.
 * The table of causes is that of RECORDS.md: the first matching row is used, so
 * certain causes (a check that failed) come before likely ones.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "monitor/facts.h"
#include "monitor/surprise.h"

static double power_of_2(double levels)
{
    return vly_exp(levels / 64 * 0.69314718055994531);
}

/* Deviations in sixteenths of a spread: from FAR on a metric has moved, up to
 * NEAR it has not; from LEANS on it has a direction, if other metrics agree. If
 * no row matches, NEAR is enough: an anomaly found by a model or by
 * accumulation need not be far in this record. */
enum { FAR = 64, NEAR = 32, LEANS = 16 };

/* Unison must have risen by this many levels (8 times) more than the rate to
 * explain the rate: neurons that simply fire more have a variance proportional
 * to their mean. */
enum { TOGETHER = 192 };

/* The condition of a row on a metric. */
typedef enum want { ANY, UP, DOWN, STILL, NOT_UP, NOT_FAR, FALLS } want;

/* events: synaptic events of a burst, not a metric (deviation_of_events);
 * beyond: increase of a burst's time that more events do not explain */
typedef struct cause_row {
    want events, beyond, pace, burst, delivery, dynamics, device, rate, fan,
        dispersion, host, memory, clock, raised, lowered, silent;
    const char *cause;
} cause_row;

#define DROPPED                                                                \
    "records are dropped: fewer spikes than their synaptic events tell of"

#define LONGER                                                                 \
    "bursts take longer for the same work: the device is slower, a burst "     \
    "hung, or another program uses it"
#define SYNCHRONY "synchrony: neurons fire together instead of independently"

static const cause_row causes[] = {
    {.clock = UP, .cause = "the wall clock was set forward"},
    {.clock = DOWN, .cause = "the wall clock was set back"},
    /* A fifth of all spikes lost is 5 of the narrow spreads of fan, of rate
     * less than one where a net strays. It lowers all areas alike: where one of
     * them fell by itself the mix is another, and fan with it. */
    {.fan = UP,
     .events = NOT_FAR,
     .raised = NOT_UP,
     .lowered = NOT_FAR,
     .silent = NOT_UP,
     .cause = DROPPED},
    {.fan = UP, .events = NOT_FAR, .raised = FALLS, .cause = DROPPED},
    {.fan = DOWN,
     .rate = STILL,
     .raised = STILL,
     .lowered = STILL,
     .silent = NOT_UP,
     .cause = "synaptic events are lost: each spike has fewer, and no area "
              "changed"},
    {.silent = UP,
     .rate = UP,
     .raised = UP,
     .cause = "runaway excitation, and an area fell silent: its inhibition is "
              "lost, or it is inhibited by what grew"},
    /* before its effects on other areas: excitation without its inhibition */
    {.silent = UP,
     .cause = "an area fell silent: its input was lost or it is inhibited"},
    {.rate = UP,
     .raised = UP,
     .dispersion = UP,
     .cause = "runaway excitation, or neurons that fire together: excitation "
              "outweighs inhibition"},
    {.rate = UP,
     .raised = UP,
     .cause = "runaway excitation: excitation outweighs inhibition, or the "
              "input grew"},
    /* before dispersion, which is of two records: each step of the rate is one
     */
    {.rate = DOWN,
     .lowered = UP,
     .cause = "activity falls: input was lost or inhibition outweighs "
              "excitation"},
    {.dispersion = UP, .cause = SYNCHRONY},
    {.memory = UP, .cause = "device memory grows: a leak"},
    {.host = UP,
     .cause = "host memory grows: a leak, or what is recorded is kept"},
    {.delivery = UP,
     .dynamics = UP,
     .rate = NOT_UP,
     .cause = "the device is slower for the same work: its clocks were lowered "
              "(heat, power) or another program uses it"},
    {.burst = UP, .rate = NOT_UP, .cause = LONGER},
    {.burst = UP, .beyond = UP, .cause = LONGER},
    {.burst = UP, .rate = UP, .cause = "more activity makes bursts longer"},
    {.pace = UP,
     .burst = NOT_UP,
     .cause = "time is lost between bursts: output, pacing or the load of the "
              "machine"},
    {.device = UP, .cause = "the device changed: see its metrics"},
    {.raised = UP, .cause = "an area fires more than it did"},
    {.lowered = UP, .cause = "an area fires less than it did"},
};

/* far: FAR, or what is taken for it */
static bool fits(want wanted, int32_t z16, int32_t far)
{
    switch (wanted) {
    case UP:
        return z16 >= far;
    case DOWN:
        return z16 <= -far;
    case STILL:
        return z16 < NEAR && z16 > -NEAR;
    case NOT_UP:
        return z16 < NEAR;
    case NOT_FAR:
        return z16 < FAR && z16 > -FAR;
    case FALLS:
        return z16 <= -LEANS;
    default:
        return true;
    }
}

/* Deviation of a burst's events, in sixteenths of the spread of its spikes,
 * which vary alike. Computed from the record itself, because fan has no value
 * without spikes. */
static int32_t deviation_of_events(const vly_record *record,
                                   const vly_record_note *note)
{
    if (record->events == 0 || record->bursts == 0)
        return INT32_MIN; /* nothing that others could have been lost beside */
    const int32_t usual =
        note->centre[VLY_METRIC_RATE] + note->centre[VLY_METRIC_FAN];
    const int32_t level =
        vly_token_level(record->events) - vly_token_level(record->bursts);
    const int32_t spread = note->spread[VLY_METRIC_RATE];
    return 16 * (level - usual) / (spread > 0 ? spread : 1);
}

/* Of a burst's time above the square of what spikes or events rose by, in
 * sixteenths of its spread: an event may cost more where there are many (memory
 * that is far), twice as much each time they double it does not. */
static int32_t deviation_beyond(const vly_record *record,
                                const vly_record_note *note)
{
    if (record->bursts == 0)
        return 0;
    const int32_t by = vly_token_level(record->bursts);
    const int32_t rate = note->centre[VLY_METRIC_RATE];
    const int32_t spikes = vly_token_level(record->spikes) - by - rate;
    const int32_t events = vly_token_level(record->events) - by - rate -
                           note->centre[VLY_METRIC_FAN];
    const int32_t more = spikes > events ? spikes : events;
    const int32_t longer =
        note->level[VLY_METRIC_BURST] - note->centre[VLY_METRIC_BURST];
    const int32_t spread = note->spread[VLY_METRIC_BURST];
    return 16 * (longer - 2 * (more > 0 ? more : 0)) /
           (spread > 0 ? spread : 1);
}

static bool row_fits(const cause_row *row, const int32_t *z16, int32_t events,
                     int32_t beyond, int32_t far)
{
    const struct {
        want wanted;
        int32_t z16;
    } all[] = {
        {row->events, events},
        {row->beyond, beyond},
        {row->pace, z16[VLY_METRIC_PACE]},
        {row->burst, z16[VLY_METRIC_BURST]},
        {row->delivery, z16[VLY_METRIC_DELIVERY]},
        {row->dynamics, z16[VLY_METRIC_DYNAMICS]},
        {row->device, z16[VLY_METRIC_DEVICE]},
        {row->rate, z16[VLY_METRIC_RATE]},
        {row->fan, z16[VLY_METRIC_FAN]},
        {row->dispersion, z16[VLY_METRIC_DISPERSION]},
        {row->host, z16[VLY_METRIC_HOST]},
        {row->memory, z16[VLY_METRIC_MEMORY]},
        {row->clock, z16[VLY_METRIC_CLOCK]},
        {row->raised, z16[VLY_METRIC_RAISED]},
        {row->lowered, z16[VLY_METRIC_LOWERED]},
        {row->silent, z16[VLY_METRIC_SILENT]},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!fits(all[i].wanted, all[i].z16, far))
            return false;
    return true;
}

/* The first matching row, or NULL. */
static const char *look_up(const vly_record *record,
                           const vly_record_note *note, int32_t far)
{
    const int32_t events = deviation_of_events(record, note);
    const int32_t beyond = deviation_beyond(record, note);
    /* all of them; then fan has no value */
    if (record->spikes == 0 && fits(DOWN, note->z16[VLY_METRIC_RATE], far) &&
        fits(NOT_FAR, events, far))
        return "records are dropped: no spikes, and as many synaptic events";
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
        if (row_fits(&causes[i], note->z16, events, beyond, far))
            return causes[i].cause;
    return NULL;
}

const char *vly_verdict_cause(const vly_record *record,
                              const vly_record_note *note)
{
    const vly_fact fact = vly_fact_first(vly_facts_of(record));
    if (fact < VLY_FACTS)
        return vly_fact_cause(fact, record);
    if (record->lost > 0)
        return "samples were lost: the reader of telemetry is slower than its "
               "writer";
    if (record->bursts == 0)
        return "the net stands still: a burst hangs or the device does not "
               "answer";
    const char *cause = look_up(record, note, FAR);
    return cause ? cause : look_up(record, note, NEAR);
}

static bool by_channel(const vly_verdict *verdict, const char *channel)
{
    return verdict->channel && strcmp(verdict->channel, channel) == 0;
}

/* Of a verdict by unison. */
static bool is_together(const vly_verdict *verdict, const vly_record_note *note)
{
    const int32_t rate =
        note->level[VLY_METRIC_RATE] - note->centre[VLY_METRIC_RATE];
    return verdict->times > power_of_2(rate + TOGETHER);
}

const char *vly_verdict_likely(const vly_verdict *verdict,
                               const vly_record *record,
                               const vly_record_note *note)
{
    if (verdict->moved)
        return "the net was moved: its backend is slower, or is not the one "
               "that was asked for";
    /* other metrics that changed are consequences or chance, except an area
     * that fell silent and memory that grows */
    if (by_channel(verdict, "work") && note->n_silent == 0 &&
        note->z16[VLY_METRIC_HOST] < FAR && note->z16[VLY_METRIC_MEMORY] < FAR)
        return record->on_device
                   ? "bursts take longer for the same work: the device is "
                     "slower, or is another one"
                   : "bursts take more of the processor's own time for the "
                     "same work: the device is slower, or is another one";
    /* unless the rate rose so much that synchrony is expected, or an area is
     * gone; times and memory follow */
    if (by_channel(verdict, "unison") && note->n_silent == 0 &&
        (note->z16[VLY_METRIC_RATE] < FAR ||
         note->z16[VLY_METRIC_RAISED] < FAR || is_together(verdict, note)))
        return SYNCHRONY;
    const char *cause = vly_verdict_cause(record, note);
    return !cause && by_channel(verdict, "stall")
               ? "the run stood still for a time: a burst hung, or the process "
                 "was stopped"
               : cause;
}

uint32_t vly_note_metric(const vly_record_note *note, uint32_t metric)
{
    if (metric == VLY_METRIC_LOWERED && note->level[metric] < 0)
        return VLY_METRIC_RAISED;
    if (metric == VLY_METRIC_RAISED && note->level[metric] < 0)
        return VLY_METRIC_LOWERED;
    return metric;
}

/* If an area fell silent, report that rather than the area that fell most:
 * areas that it excited fall too. */
static uint32_t fallen(const vly_record_note *note)
{
    return note->n_silent > 0 ? note->silent : note->lowered;
}

uint32_t vly_note_area(const vly_record_note *note, uint32_t metric)
{
    switch (metric) {
    case VLY_METRIC_SILENT:
    case VLY_METRIC_LOWERED:
        return fallen(note);
    case VLY_METRIC_RAISED:
        return note->raised;
    case VLY_METRIC_RATE:
        if (note->z16[VLY_METRIC_FAN] >= FAR)
            return VLY_NO_AREA; /* fewer spikes than events tell of: of all */
        return note->z16[metric] < 0 ? fallen(note) : note->raised;
    default: /* its cause is reported, so its area is too */
        return note->n_silent > 0 ? note->silent : VLY_NO_AREA;
    }
}

/* ---- sentences ---------------------------------------------------------- */

/* Back from signed_level of tokens.c. */
static double size_of(int32_t level, double unit)
{
    return level == 0  ? 0
           : level > 0 ? unit * power_of_2(level - 64)
                       : -unit * power_of_2(-level - 64);
}

static void put_number(const vly_record *record, const vly_record_note *note,
                       uint32_t metric, char *text, size_t capacity)
{
    const int32_t level = note->level[metric];
    const double times = power_of_2(level - note->centre[metric]);
    switch (metric) {
    case VLY_METRIC_HOST:
    case VLY_METRIC_MEMORY:
        snprintf(text, capacity, "about %.0f bytes in a record",
                 size_of(level, 256));
        break;
    case VLY_METRIC_CLOCK:
        snprintf(text, capacity, "%lld ms apart in a record",
                 (long long)record->clock_ms);
        break;
    case VLY_METRIC_CHECKS:
        snprintf(text, capacity,
                 "samples lost: %llu, spikes missing: %llu, backend: %s",
                 (unsigned long long)record->lost,
                 (unsigned long long)record->missing,
                 record->wrong_place ? "not the one asked for" : "right");
        break;
    case VLY_METRIC_SILENT:
        snprintf(text, capacity, "%u", note->n_silent);
        break;
    case VLY_METRIC_RAISED:
    case VLY_METRIC_LOWERED:
    case VLY_METRIC_DEVICE:
        snprintf(text, capacity, "by %.1f of its usual deviations",
                 level / 16.0);
        break;
    case VLY_METRIC_DISPERSION:
        snprintf(text, capacity, "%.3g, usually %.3g",
                 size_of(level, 1 / 256.0),
                 size_of(note->centre[metric], 1 / 256.0));
        break;
    default:
        snprintf(text, capacity, "%.3g times what was usual", times);
    }
}

void vly_verdict_text(const vly_verdict *verdict, const vly_record *record,
                      const vly_record_note *note, const char *const *areas,
                      const char *const *devices, char *text, size_t capacity)
{
    char number[128];
    const char *what = vly_metric_what(verdict->metric);
    put_number(record, note, verdict->metric, number, sizeof number);
    if (verdict->times > 0) {
        what = by_channel(verdict, "work")
                   ? "work of a burst, waiting for a processor apart"
                   : "variance of a burst's spikes over their mean";
        snprintf(number, sizeof number, "%.3g times what was usual",
                 verdict->times);
    }
    /* of an unknown time, since other programs kept the net waiting */
    if (by_channel(verdict, "stall") &&
        note->level[verdict->metric] == note->centre[verdict->metric]) {
        what = "the record";
        snprintf(number, sizeof number, "%.3g ms longer than its bursts take",
                 vly_exp(verdict->values[VLY_CHANNEL_STALL] * vly_log(2)) - 1);
    }
    const char *which = " (area ";
    const char *name =
        areas && verdict->area != VLY_NO_AREA ? areas[verdict->area] : NULL;
    if (verdict->metric == VLY_METRIC_RATE) /* the number is the net's */
        which = " (most of it: area ";
    if (verdict->metric == VLY_METRIC_DEVICE) {
        which = " (";
        name = devices && note->device != VLY_NO_AREA ? devices[note->device]
                                                      : NULL;
    }
    snprintf(text, capacity, "burst %llu: %s: %s%s%s%s",
             (unsigned long long)verdict->burst, what, number,
             name ? which : "", name ? name : "", name ? ")" : "");
}
