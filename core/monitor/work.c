/* SPDX-License-Identifier: Apache-2.0
 * Work of a burst, of late.
 */
#include "monitor/work.h"

#include "base/number.h"

/* FLOOR: the least spread, in levels (64 are a factor of 2): who shares a
 * core's other half or its memory makes work half as much again. TOLD: a record
 * that waited for all but one part in so many tells nothing of its work, as
 * waiting between two calls is counted too. */
enum { FLOOR = 32, TOLD = 64 };

static double above(vly_work *work, int32_t level, int32_t events)
{
    if (work->work.n == 0)
        return 0;
    const int64_t more = (int64_t)events * 256 - work->events.centre;
    const int64_t d = (int64_t)level * 256 - work->work.centre -
                      (work->events.n > 0 && more > 0 ? more : 0);
    work->times = vly_exp((double)d / 256 / 64 * vly_log(2));
    return (double)d / (double)vly_running_spread(&work->work, FLOOR);
}

double vly_work_judge(vly_work *work, const vly_record *record, bool learns)
{
    const uint64_t run = record->run_ns;
    const uint64_t spent =
        record->waited_ns < run ? run - record->waited_ns : 0;
    if (record->bursts == 0 || spent <= run / TOLD)
        return 0;
    const int32_t by = vly_token_level(record->bursts);
    const int32_t level = vly_token_level(spent) - by;
    const int32_t events = vly_token_level(record->events) - by;
    work->late[work->n++ % VLY_WORK_LASTS] = above(work, level, events);
    if (learns) {
        vly_running_learn(&work->work, level, FLOOR);
        vly_running_learn(&work->events, events, FLOOR);
    }
    double least = work->late[0];
    for (uint32_t i = 1; i < VLY_WORK_LASTS; i++)
        least = work->late[i] < least ? work->late[i] : least;
    return work->n >= VLY_WORK_LASTS && least > 0 ? least : 0;
}
