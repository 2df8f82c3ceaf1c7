/* SPDX-License-Identifier: Apache-2.0
 * Recent synchrony of a net.
 */
#include "monitor/unison.h"

#include "base/number.h"

/* FLOOR: the least spread, in levels (64 are a factor of 2). Nets have 3 to 15
 * by nature; the floor makes their deviations comparable. */
enum { FLOOR = 8, BURSTS_LEAST = 8, SPIKES_LEAST = 16 };
/* Limit of one record, and the share of it that is kept in the next ones: one
 * pulse of a healthy net is not a rhythm. */
static const double z_most = 8;
static const double keep = 0.85;

/* 256 times variance over mean, as a level. */
static int32_t level_of(const vly_record *record)
{
    /* in double: every step is correctly rounded, so Python has the same */
    const double n = (double)record->bursts;
    const double sum = (double)record->spikes;
    const double squares = (double)record->squares;
    const double variance = squares - sum * sum / n;
    const double f = variance > 0 ? variance * 256 / sum : 0;
    return vly_token_level(f < 1e18 ? (uint64_t)f : UINT64_C(1) << 60);
}

double vly_unison_judge(vly_unison *unison, const vly_record *record,
                        bool learns)
{
    if (record->bursts < BURSTS_LEAST || record->spikes < SPIKES_LEAST ||
        record->squares < record->spikes)
        return unison->held;
    const int32_t level = level_of(record);
    const int32_t bursts = vly_token_level(record->bursts);
    if (unison->late.n > 0) {
        const int64_t d = (int64_t)level * 256 - unison->late.centre;
        /* what a variance is known to goes with the root of the bursts */
        const double fewer =
            (double)(unison->bursts.centre - (int64_t)bursts * 256) / 256;
        const double wider = fewer > 0 ? vly_exp(fewer / 128 * vly_log(2)) : 1;
        const double z =
            (double)d /
            ((double)vly_running_spread(&unison->late, FLOOR) * wider);
        const double held =
            unison->held * keep + (z < z_most ? z : z_most) * (1 - keep);
        unison->held = held > 0 ? held : 0;
        unison->times = vly_exp((double)d / 256 / 64 * vly_log(2));
    }
    if (learns) {
        vly_running_learn(&unison->late, level, FLOOR);
        vly_running_learn(&unison->bursts, bursts, FLOOR);
    }
    return unison->held;
}
