/* SPDX-License-Identifier: Apache-2.0
 * Words of recordings of intervals: see run_counts.h.
 */
#include "tools/run/run_counts.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "checkpoint/checkpoint.h"
#include "tools/run/run_checkpoint.h"
#include "tools/run/run_job.h"

uint64_t run_counts_first(uint64_t start, uint64_t interval, uint64_t burst)
{
    if (burst <= start)
        return start;
    const uint64_t behind = (burst - start) % interval;
    return behind == 0 ? burst : burst - behind + interval;
}

bool run_counts_open(uint64_t stop, uint64_t interval, uint64_t begin)
{
    return stop >= interval && begin <= stop - interval;
}

static void copy(uint64_t *to, const uint64_t *from, const run_counts *counts)
{
    if (counts->n > 0)
        memcpy(to, from, counts->n * sizeof *to);
}

vly_status run_counts_init(const run_job *job, run_counts *counts, uint64_t n,
                           bool *continues, vly_error *error)
{
    const vly_checkpoint *from = run_checkpoint_state(job)->resumed;
    *continues = run_resume_recording(job, VLY_RECORDING_SPIKES) != NULL;
    if (*continues && from->n_counts != n)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: has %" PRIu64 " counts for [[record]] of rates "
                        "and of input, wanted %" PRIu64,
                        run_checkpoint_state(job)->plan.resume, from->n_counts,
                        n);
    counts->state = vly_calloc(n, sizeof *counts->state);
    counts->kept = vly_calloc(n, sizeof *counts->kept);
    counts->saved = vly_calloc(n, sizeof *counts->saved);
    if (!counts->state || !counts->kept || !counts->saved)
        return vly_fail_nomem(error, n * 3 * sizeof *counts->state,
                              "counts of intervals");
    counts->n = n;
    if (*continues)
        copy(counts->state, from->counts, counts);
    return VLY_OK;
}

void run_counts_deinit(run_counts *counts)
{
    vly_free(counts->state);
    vly_free(counts->kept);
    vly_free(counts->saved);
    *counts = (run_counts){0};
}

uint64_t *run_counts_save(run_counts *counts)
{
    copy(counts->saved, counts->state, counts);
    return counts->saved;
}

void run_counts_keep(run_counts *counts)
{
    copy(counts->kept, counts->state, counts);
}

void run_counts_cut(run_counts *counts)
{
    copy(counts->state, counts->kept, counts);
}
