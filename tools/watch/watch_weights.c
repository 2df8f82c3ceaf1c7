/* SPDX-License-Identifier: Apache-2.0
 * Lines of telemetry about weights that learn. Reading all weights costs as
 * much as many bursts, so a line is written only so often that it takes less
 * than 1% of the time.
 */
#include "tools/watch/watch_weights.h"

#include "base/thread.h"
#include "tools/run/run_job.h"
#include "tools/run/run_weights.h"
#include "tools/watch/run_watch.h"

#define NOTE_COSTS 100u

void watch_weights_look(run_job *job)
{
    weights_part *part = run_weights_state(job);
    const watch_part *watch = run_watch_state(job);
    const uint64_t now = vly_clock_ns();
    json_writer json;
    if (!watch->watch || !watch->plan.telemetry || part->n_maps == 0 ||
        now < part->note_ns)
        return;
    /* a failure of the net is reported by the next call of the engine */
    if (run_weights_count(job, NULL) != VLY_OK)
        return;
    watch_when when = {0, 0};
    run_watch_clock(job, &when.at_ns, &when.unix_ns);
    json_init(&json, false);
    json_object(&json, NULL);
    json_u64(&json, "burst", vly_net_burst(job->net));
    watch_time_json(watch->watch, when, &json);
    run_weights_put(part, &json);
    json_object_end(&json);
    const char *line = json_finish(&json, &(size_t){0});
    if (line)
        run_watch_note(watch->watch, line);
    json_deinit(&json);
    const uint64_t after = vly_clock_ns();
    const uint64_t rest = NOTE_COSTS * (after - now);
    const uint64_t every = (uint64_t)(watch->plan.every_ms * 1e6);
    part->note_ns = after + (rest > every ? rest : every);
}
