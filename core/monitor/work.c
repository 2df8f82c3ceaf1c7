/* SPDX-License-Identifier: Apache-2.0
 * Recent work of a burst.
 */
#include "monitor/work.h"

#include "base/number.h"

/* The least spread, in levels (64 are a factor of 2): another program on the
 * same core or memory increases work by half; a device belongs to the net
 * alone, and its bursts take the same time within a few percent. */
enum { FLOOR = 32, DEVICE_FLOOR = 8 };
/* TOLD: a record that waited for all but one part in this many does not show
 * its work; OTHERS: neither does one in which other threads of the net waited
 * for more than one part in this many. */
enum { TOLD = 64, OTHERS = 8 };

static double above(vly_work *work, int32_t level, int32_t events,
                    int32_t floor)
{
    if (work->work.n == 0)
        return 0;
    const int64_t more = (int64_t)events * 256 - work->events.centre;
    const int64_t d = (int64_t)level * 256 - work->work.centre -
                      (work->events.n > 0 && more > 0 ? more : 0);
    work->times = vly_exp((double)d / 256 / 64 * vly_log(2));
    return (double)d / (double)vly_running_spread(&work->work, floor);
}

double vly_work_judge(vly_work *work, const vly_record *record, bool learns)
{
    const uint64_t run = record->run_ns;
    const uint64_t spent =
        record->engine_waited_ns < run ? run - record->engine_waited_ns : 0;
    const int32_t floor = record->on_device ? DEVICE_FLOOR : FLOOR;
    /* the part of waiting for another thread in which that thread waited for a
     * processor is known only roughly */
    if (record->bursts == 0 || spent <= run / TOLD ||
        record->threads_waited_ns > run / OTHERS)
        return 0;
    const int32_t by = vly_token_level(record->bursts);
    const int32_t level = vly_token_level(spent) - by;
    const int32_t events = vly_token_level(record->events) - by;
    work->late[work->n++ % VLY_WORK_LASTS] = above(work, level, events, floor);
    if (learns) {
        vly_running_learn(&work->work, level, floor);
        vly_running_learn(&work->events, events, floor);
    }
    double least = work->late[0];
    for (uint32_t i = 1; i < VLY_WORK_LASTS; i++)
        least = work->late[i] < least ? work->late[i] : least;
    return work->n >= VLY_WORK_LASTS && least > 0 ? least : 0;
}

void vly_work_begin(vly_work *work)
{
    work->n = 0;
}
