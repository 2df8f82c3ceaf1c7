/* SPDX-License-Identifier: Apache-2.0
 * Converts records to tokens. Every metric and every area has a running centre
 * and spread.
 */
#include "monitor/tokens.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "monitor/running.h"

/* FLOOR: least spread of areas, of device metrics. Levels: SPOKEN, the spikes
 * (8) before an area's silence counts; FEW (2), below which silence is no
 * change. */
enum { AREA_FLOOR = 8, DEVICE_FLOOR = 8, SPOKEN = 256, FEW = 128 };
/* A time is informative if at least one part in this many was not waiting. */
enum { LEFT = 8, LITTLE = 16 };
/* The metric has no value in this record. */
static const int32_t absent = INT32_MIN;

struct vly_tokens {
    uint64_t n_records;
    bool held;
    vly_running wall; /* of the records' length */
    uint64_t spikes;  /* of the record before, and its bursts */
    uint64_t bursts;
    vly_running metrics[VLY_METRICS];
    uint32_t n_areas;
    uint32_t n_device;
    vly_running *areas;  /* [n_areas] */
    vly_running *device; /* [n_device] */
};

static const char *const names[VLY_METRICS] = {
#define METRIC_NAME(NAME, name, floor, what) #name,
    VLY_METRIC_TABLE(METRIC_NAME)
#undef METRIC_NAME
};
static const char *const whats[VLY_METRICS] = {
#define METRIC_WHAT(NAME, name, floor, what) what,
    VLY_METRIC_TABLE(METRIC_WHAT)
#undef METRIC_WHAT
};
static const int32_t floors[VLY_METRICS] = {
#define METRIC_FLOOR(NAME, name, floor, what) floor,
    VLY_METRIC_TABLE(METRIC_FLOOR)
#undef METRIC_FLOOR
};

const char *vly_metric_name(uint32_t metric)
{
    return metric < VLY_METRICS ? names[metric] : NULL;
}

const char *vly_metric_what(uint32_t metric)
{
    return metric < VLY_METRICS ? whats[metric] : NULL;
}

uint32_t vly_token_metric(uint8_t token)
{
    return token == 0 ? VLY_METRICS : (token - 1u) / VLY_TOKEN_BINS;
}

int32_t vly_token_bin(uint8_t token)
{
    return token == 0 ? 0 : (token - 1) % VLY_TOKEN_BINS - VLY_TOKEN_BINS / 2;
}

uint8_t vly_token_of(uint32_t metric, int32_t z16)
{
    static const int32_t borders[VLY_TOKEN_BINS / 2] = {8,  16,  32,  48,
                                                        80, 128, 256, 512};
    const int32_t far = z16 < 0 ? -z16 : z16;
    int32_t bin = 0;
    while (bin < VLY_TOKEN_BINS / 2 && far >= borders[bin])
        bin++;
    return (uint8_t)((int32_t)(1 + metric * VLY_TOKEN_BINS) +
                     VLY_TOKEN_BINS / 2 + (z16 < 0 ? -bin : bin));
}

/* ---- integers ----------------------------------------------------------- */

int32_t vly_token_level(uint64_t value)
{
    if (value == 0)
        return 0;
    const int32_t octave = 63 - __builtin_clzll(value);
    /* 31 binary places of a number from 1 to 2; squaring it doubles its
     * logarithm, whose next binary place is whether it passed 2 */
    uint64_t m = octave >= 31 ? value >> (octave - 31) : value << (31 - octave);
    int32_t places = 0;
    for (int i = 0; i < 6; i++) {
        m = (m * m) >> 31;
        places *= 2;
        if (m >> 32) {
            m >>= 1;
            places++;
        }
    }
    return 64 + 64 * octave + places;
}

static int64_t absolute(int64_t x)
{
    return x < 0 ? -x : x;
}

/* ---- records ------------------------------------------------------------ */

static uint64_t since(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

static int64_t growth(uint64_t from, uint64_t to)
{
    return to >= from ? (int64_t)(to - from) : -(int64_t)(from - to);
}

void vly_record_between(const vly_telemetry_sample *from,
                        const vly_telemetry_sample *to,
                        const uint64_t *from_areas, const uint64_t *to_areas,
                        uint32_t n_areas, vly_record *record,
                        uint64_t *area_spikes)
{
    *record = (vly_record){
        .burst = to->bursts,
        .at_ns = to->at_ns,
        .bursts = since(from->bursts, to->bursts),
        .paused_ns = since(from->paused_ns, to->paused_ns),
        .waited_ns = since(from->waited_ns, to->waited_ns),
        .engine_waited_ns = since(from->engine_waited_ns, to->engine_waited_ns),
        .threads_waited_ns =
            since(from->threads_waited_ns, to->threads_waited_ns),
        .run_ns = since(from->run_ns, to->run_ns),
        .delivery_ns = since(from->delivery_ns, to->delivery_ns),
        .dynamics_ns = since(from->dynamics_ns, to->dynamics_ns),
        .exchange_ns = since(from->exchange_ns, to->exchange_ns),
        .spikes = since(from->spikes, to->spikes),
        .events = since(from->events, to->events),
        .squares = since(from->squares, to->squares),
        .host_growth = growth(from->host_bytes, to->host_bytes),
        .device_growth = growth(from->device_bytes, to->device_bytes),
        .on_device = from->device_bytes > 0,
        .wrong_bursts = since(from->wrong_bursts, to->wrong_bursts),
        .wrong_from = to->wrong_from,
        .failures = since(from->failures, to->failures),
        .failed_at = to->failed_at,
        .moves = since(from->moves, to->moves),
    };
    record->wrong_place = record->wrong_bursts > 0;
    const uint64_t wall_ns = since(from->at_ns, to->at_ns);
    record->wall_ns = since(record->paused_ns, wall_ns);
    /* each in whole milliseconds first, as the JSON lines have them */
    record->clock_ms = growth(from->unix_ns / 1000000, to->unix_ns / 1000000) -
                       (int64_t)(wall_ns / 1000000);
    uint64_t sum = 0;
    for (uint32_t a = 0; a < n_areas; a++) {
        area_spikes[a] = since(from_areas[a], to_areas[a]);
        sum += area_spikes[a];
    }
    if (n_areas > 0)
        record->missing =
            sum > record->spikes ? sum - record->spikes : record->spikes - sum;
}

/* ---- metrics ------------------------------------------------------------ */

/* Of a quotient, 0 where there is nothing to divide by. */
static int32_t ratio(uint64_t value, uint64_t by)
{
    return by == 0 ? 0 : vly_token_level(value) - vly_token_level(by);
}

/* The part of the burst loop's waiting for another thread in which that thread
 * waited for a processor is known only roughly. */
static bool knows_times(const vly_record *record)
{
    return record->threads_waited_ns <= record->run_ns / LEFT;
}

/* A time of a burst without the time waited for a processor, as a level: the
 * load by other programs is not a property of the net. absent if little is
 * left, since the difference of two large numbers is inaccurate. */
static int32_t without(const vly_record *record, uint64_t ns, uint64_t waited)
{
    const uint64_t bursts = record->bursts ? record->bursts : 1;
    const uint64_t rest = since(waited, ns);
    return rest < ns / LEFT || !knows_times(record) ? absent
                                                    : ratio(rest, bursts);
}

/* The phase in which a thread waited outside the exchange is unknown, so a
 * phase is known only if that time was at most a sixteenth of it: 6 levels,
 * less than the least spread. */
static bool knows_phase(const vly_record *record, uint64_t ns)
{
    return ns > 0 && knows_times(record) &&
           since(record->exchange_ns, record->engine_waited_ns) <= ns / LITTLE;
}

/* Of a size that may be negative, 0 from -unit to unit. */
static int32_t signed_level(int64_t value, int64_t unit)
{
    const int64_t units = absolute(value) / unit;
    const int32_t level = vly_token_level((uint64_t)units);
    return value < 0 ? -level : level;
}

/* A count that should be 0 is far from 0 as soon as it is not 0. */
static int32_t count_level(uint64_t count)
{
    return count == 0 ? 0 : 192 + vly_token_level(count);
}

/* Deviation of a record's spikes by those of the one before it: about 1 (level
 * 576) for neurons that fire independently, however long the records. */
static int32_t dispersion(const vly_tokens *tokens, const vly_record *record)
{
    /* in double: every step is correctly rounded, so Python has the same */
    const double x = (double)record->spikes;
    const double y = (double)tokens->spikes;
    const double n = (double)record->bursts;
    const double m = (double)tokens->bursts;
    const double sum = (x + y) * n * m;
    if (!(sum > 0))
        return absent;
    const double d = x * m - y * n;
    const double f = d * d * 256 / sum;
    return vly_token_level(f < 1e18 ? (uint64_t)f : UINT64_C(1) << 60);
}

/* The areas that rose and fell most, and those that fell silent. */
static void look_at_areas(const vly_tokens *tokens, const vly_record *record,
                          const uint64_t *area_spikes, int32_t *levels,
                          vly_record_note *note)
{
    const int32_t by = vly_token_level(record->bursts);
    for (uint32_t a = 0; a < tokens->n_areas; a++) {
        const vly_running *late = &tokens->areas[a];
        const int32_t level = vly_token_level(area_spikes[a]) - by;
        int32_t z = vly_running_z16(late, level, AREA_FLOOR);
        /* silence where hardly a spike is usual is no change: the level of 0
         * spikes depends on the length of the record */
        if (area_spikes[a] == 0 &&
            (z > 0 || late->centre + (int64_t)by * 256 < FEW * 256))
            z = 0;
        if (note->raised == VLY_NO_AREA || z > levels[VLY_METRIC_RAISED]) {
            note->raised = a;
            levels[VLY_METRIC_RAISED] = z;
        }
        if (note->lowered == VLY_NO_AREA || -z > levels[VLY_METRIC_LOWERED]) {
            note->lowered = a;
            levels[VLY_METRIC_LOWERED] = -z;
        }
        if (late->n >= VLY_RUNNING_FREE && area_spikes[a] == 0 &&
            late->centre + (int64_t)by * 256 >= SPOKEN * 256) {
            note->n_silent++;
            if (note->silent == VLY_NO_AREA)
                note->silent = a;
        }
    }
    if (tokens->n_areas > 0)
        levels[VLY_METRIC_SILENT] = count_level(note->n_silent);
}

static void look_at_device(const vly_tokens *tokens, const uint64_t *device,
                           int32_t *levels, vly_record_note *note)
{
    for (uint32_t i = 0; device && i < tokens->n_device; i++) {
        const int32_t z = vly_running_z16(
            &tokens->device[i], vly_token_level(device[i]), DEVICE_FLOOR);
        /* they are sampled less often than records are made, so a record that
         * is not early may have the second of their samples */
        if (tokens->device[i].n < VLY_RUNNING_FREE)
            continue;
        const int32_t far = z < 0 ? -z : z;
        if (note->device == VLY_NO_AREA || far > levels[VLY_METRIC_DEVICE]) {
            note->device = i;
            levels[VLY_METRIC_DEVICE] = far;
        }
    }
}

/* Levels of a record's metrics, absent where it has none. */
static void measure(const vly_tokens *tokens, const vly_record *record,
                    const uint64_t *area_spikes, const uint64_t *device,
                    int32_t *levels, vly_record_note *note)
{
    const uint64_t bursts = record->bursts;
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        levels[m] = absent;
    if (bursts > 0 || record->paused_ns == 0)
        levels[VLY_METRIC_PACE] =
            without(record, record->wall_ns, record->waited_ns);
    /* memory that a net allocates at its beginning or after a move is not
     * growth */
    if (tokens->n_records >= VLY_RUNNING_FREE) {
        levels[VLY_METRIC_HOST] = signed_level(record->host_growth, 256);
        levels[VLY_METRIC_MEMORY] = signed_level(record->device_growth, 256);
    }
    levels[VLY_METRIC_CLOCK] = signed_level(record->clock_ms, 8);
    levels[VLY_METRIC_CHECKS] =
        count_level(record->lost + record->missing + record->wrong_place);
    look_at_device(tokens, device, levels, note);
    if (bursts == 0)
        return;
    levels[VLY_METRIC_BURST] =
        without(record, record->run_ns, record->engine_waited_ns);
    if (knows_phase(record, record->delivery_ns) && record->events > 0)
        levels[VLY_METRIC_DELIVERY] =
            ratio(record->delivery_ns, record->events);
    if (knows_phase(record, record->dynamics_ns))
        levels[VLY_METRIC_DYNAMICS] = ratio(record->dynamics_ns, bursts);
    levels[VLY_METRIC_RATE] = ratio(record->spikes, bursts);
    if (record->spikes > 0)
        levels[VLY_METRIC_FAN] = ratio(record->events, record->spikes);
    if (tokens->n_records > 0)
        levels[VLY_METRIC_DISPERSION] = dispersion(tokens, record);
    look_at_areas(tokens, record, area_spikes, levels, note);
}

/* Updates the running values with this record. */
static void remember(vly_tokens *tokens, const vly_record *record,
                     const uint64_t *area_spikes, const uint64_t *device,
                     const int32_t *levels)
{
    const int32_t by = vly_token_level(record->bursts);
    vly_running_learn(&tokens->wall, vly_token_level(record->wall_ns),
                      AREA_FLOOR);
    tokens->spikes = record->spikes;
    tokens->bursts = record->bursts;
    if (tokens->held)
        return;
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        if (levels[m] != absent)
            vly_running_learn(&tokens->metrics[m], levels[m], floors[m]);
    for (uint32_t i = 0; device && i < tokens->n_device; i++)
        vly_running_learn(&tokens->device[i], vly_token_level(device[i]),
                          DEVICE_FLOOR);
    for (uint32_t a = 0; a < tokens->n_areas; a++)
        vly_running_learn(&tokens->areas[a],
                          vly_token_level(area_spikes[a]) - by, AREA_FLOOR);
}

bool vly_tokens_make(vly_tokens *tokens, const vly_record *record,
                     const uint64_t *area_spikes, const uint64_t *device,
                     uint8_t *text, vly_record_note *note)
{
    int32_t levels[VLY_METRICS];
    vly_record_note made = {.raised = VLY_NO_AREA,
                            .lowered = VLY_NO_AREA,
                            .silent = VLY_NO_AREA,
                            .device = VLY_NO_AREA};
    if (tokens->wall.n >= VLY_RUNNING_FREE &&
        ((int64_t)vly_token_level(record->wall_ns) + 64) * 256 <
            tokens->wall.centre)
        return false;
    measure(tokens, record, area_spikes, device, levels, &made);
    text[0] = 0;
    for (uint32_t m = 0; m < VLY_METRICS; m++) {
        const vly_running *late = &tokens->metrics[m];
        const bool there = levels[m] != absent;
        made.centre[m] = (int32_t)vly_floor_divide(late->centre, 256);
        made.spread[m] = (int32_t)(vly_running_spread(late, floors[m]) / 256);
        made.level[m] = there ? levels[m] : made.centre[m];
        made.told |= there || late->n > 0 ? 1u << m : 0;
        made.absent |= there ? 0 : 1u << m;
        made.z16[m] = there ? vly_running_z16(late, levels[m], floors[m]) : 0;
        text[1 + m] = vly_token_of(m, made.z16[m]);
    }
    /* a record of a net that stands still must not be the reference for the
     * next ones */
    if (record->bursts > 0) {
        remember(tokens, record, area_spikes, device, levels);
        tokens->n_records++;
    }
    if (note)
        *note = made;
    return true;
}

/* ---- begin and end ------------------------------------------------------ */

vly_status vly_tokens_create(uint32_t n_areas, uint32_t n_device,
                             vly_tokens **tokens, vly_error *error)
{
    vly_tokens *made = vly_calloc(1, sizeof *made);
    vly_running *areas = vly_calloc((size_t)n_areas + 1, sizeof *areas);
    vly_running *device = vly_calloc((size_t)n_device + 1, sizeof *device);
    if (!made || !areas || !device) {
        vly_free(made);
        vly_free(areas);
        vly_free(device);
        return vly_fail_nomem(error,
                              ((uint64_t)n_areas + n_device) * sizeof *areas,
                              "baselines of the telemetry");
    }
    made->n_areas = n_areas;
    made->n_device = n_device;
    made->areas = areas;
    made->device = device;
    *tokens = made;
    return VLY_OK;
}

void vly_tokens_destroy(vly_tokens *tokens)
{
    if (!tokens)
        return;
    vly_free(tokens->areas);
    vly_free(tokens->device);
    vly_free(tokens);
}

void vly_tokens_hold(vly_tokens *tokens, bool held)
{
    tokens->held = held;
}

void vly_tokens_forget(vly_tokens *tokens)
{
    const size_t n_areas = tokens->n_areas;
    const size_t n_device = tokens->n_device;
    if (n_areas > 0)
        memset(tokens->areas, 0, n_areas * sizeof *tokens->areas);
    if (n_device > 0)
        memset(tokens->device, 0, n_device * sizeof *tokens->device);
    *tokens = (vly_tokens){.n_areas = tokens->n_areas,
                           .n_device = tokens->n_device,
                           .areas = tokens->areas,
                           .device = tokens->device};
}

uint64_t vly_tokens_count(const vly_tokens *tokens)
{
    return tokens->n_records;
}
