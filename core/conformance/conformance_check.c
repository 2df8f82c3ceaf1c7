/* SPDX-License-Identifier: Apache-2.0
 * Snapshots with sentinels; compares a run's end with the table.
 */
#include "conformance/conformance_trial.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"

/* ---- snapshots --------------------------------------------------------- */

void trial_snapshot_free(trial_snapshot *snapshot)
{
    guarded_deinit(&snapshot->state);
    guarded_deinit(&snapshot->fired_row);
    guarded_deinit(&snapshot->fired);
    guarded_deinit(&snapshot->fired_gain);
    guarded_deinit(&snapshot->weights);
    *snapshot = (trial_snapshot){0};
}

static bool check_counts(trial *t, const vly_snapshot *s)
{
    const vly_net_desc *desc = t->desc;
    uint64_t bursts = t->burst < desc->max_delay ? t->burst : desc->max_delay;
    uint64_t words = t->net->connectome->start.n_state_words;
    uint64_t weights = t->net->connectome->start.n_weight_bytes;
    if (s->burst == t->burst && s->n_state_words == words &&
        s->n_fired_bursts == bursts && s->n_fired <= bursts * desc->n_neurons &&
        s->n_weight_bytes == weights)
        return true;
    return trial_fail(t,
                      "snapshot of burst %" PRIu64 ": burst %" PRIu64
                      ", %" PRIu64
                      " words of state, fired sets of %u bursts with %" PRIu64
                      " spikes, %" PRIu64 " bytes of weights, wanted %" PRIu64
                      " words, %" PRIu64 " sets, %" PRIu64 " bytes",
                      t->burst, s->burst, s->n_state_words, s->n_fired_bursts,
                      s->n_fired, s->n_weight_bytes, words, bursts, weights);
}

static bool make_room(trial_snapshot *snapshot)
{
    vly_snapshot *s = &snapshot->s;
    if (!guarded_init(&snapshot->state, s->n_state_words, 4) ||
        !guarded_init(&snapshot->fired_row, s->n_fired_bursts + 1u, 8) ||
        !guarded_init(&snapshot->fired, s->n_fired, 4) ||
        !guarded_init(&snapshot->fired_gain, s->n_fired, 4) ||
        !guarded_init(&snapshot->weights, s->n_weight_bytes / 4, 4))
        return false;
    s->state = (uint32_t *)(void *)snapshot->state.bytes;
    s->fired_row = (uint64_t *)(void *)snapshot->fired_row.bytes;
    s->fired = (uint32_t *)(void *)snapshot->fired.bytes;
    s->fired_gain = (uint32_t *)(void *)snapshot->fired_gain.bytes;
    s->weights = s->n_weight_bytes > 0 ? snapshot->weights.bytes : NULL;
    return true;
}

static bool check_sets(trial *t, const vly_snapshot *s)
{
    for (uint32_t j = 0; j < s->n_fired_bursts; j++) {
        if (s->fired_row[j + 1] < s->fired_row[j] ||
            s->fired_row[j + 1] > s->n_fired)
            return trial_fail(t,
                              "snapshot of burst %" PRIu64 ": row %u of the "
                              "fired sets does not ascend",
                              t->burst, j + 1);
        for (uint64_t i = s->fired_row[j]; i < s->fired_row[j + 1]; i++)
            if (s->fired[i] >= t->desc->n_neurons ||
                (i > s->fired_row[j] && s->fired[i] <= s->fired[i - 1]))
                return trial_fail(t,
                                  "snapshot of burst %" PRIu64
                                  ": fired set %u does not ascend",
                                  t->burst, j);
    }
    if (s->fired_row[0] != 0 || s->fired_row[s->n_fired_bursts] != s->n_fired)
        return trial_fail(t,
                          "snapshot of burst %" PRIu64
                          ": fired_row does not span the fired sets",
                          t->burst);
    return true;
}

/* The digests of the fired sets are those of the bursts. */
static bool check_fired(trial *t, const vly_snapshot *s)
{
    for (uint32_t j = 0; j < s->n_fired_bursts; j++) {
        uint64_t burst = s->burst - s->n_fired_bursts + j;
        uint64_t digest = 0;
        for (uint64_t i = s->fired_row[j]; i < s->fired_row[j + 1]; i++)
            digest += vly_spike_hash(s->fired[i], s->fired_gain[i], burst);
        if (t->traced[burst] && digest != t->digests[burst])
            return trial_fail(t,
                              "snapshot of burst %" PRIu64
                              ": the fired set of burst %" PRIu64
                              " is not what fired then",
                              t->burst, burst);
    }
    if (s->n_fired_bursts == 0 || t->log_burst + 1 != t->burst)
        return true;
    uint64_t from = s->fired_row[s->n_fired_bursts - 1];
    if (s->n_fired - from != t->n_log ||
        memcmp(s->fired + from, t->log[0].bytes, t->n_log * 4u) != 0 ||
        memcmp(s->fired_gain + from, t->log[1].bytes, t->n_log * 4u) != 0)
        return trial_fail(t,
                          "snapshot of burst %" PRIu64
                          ": its last fired set is not what was recorded",
                          t->burst);
    return true;
}

bool trial_snapshot_take(trial *t, trial_snapshot *snapshot)
{
    vly_error error = VLY_ERROR_INIT;
    *snapshot = (trial_snapshot){.s = {.struct_size = sizeof snapshot->s}};
    vly_snapshot *s = &snapshot->s;
    for (int pass = 0; pass < 2; pass++) {
        vly_status status = t->backend->snapshot_read(t->made, s, &error);
        if (status != VLY_OK)
            return trial_fail(t, "burst %" PRIu64 ": snapshot_read: %s",
                              t->burst, error.message);
        if (!check_counts(t, s))
            return false;
        if (pass == 0 && !make_room(snapshot))
            return trial_fail(t, "out of memory");
    }
    if (!guarded_intact(&snapshot->state) ||
        !guarded_intact(&snapshot->fired_row) ||
        !guarded_intact(&snapshot->fired) ||
        !guarded_intact(&snapshot->fired_gain) ||
        !guarded_intact(&snapshot->weights))
        return trial_fail(t,
                          "burst %" PRIu64
                          ": snapshot_read wrote past the end of "
                          "its arrays",
                          t->burst);
    return check_sets(t, s) && check_fired(t, s);
}

/* ---- the end ----------------------------------------------------------- */

static uint64_t digest_of(const trial *t, const vly_snapshot *s)
{
    const uint32_t *word = s->state;
    uint64_t sum = 0;
    for (uint32_t a = 0; a < t->desc->n_areas; a++) {
        const vly_area_desc *area = &t->net->connectome->desc.areas[a];
        for (uint32_t f = 0; f < area->n_fields; f++)
            for (uint32_t i = 0; i < area->n_neurons; i++)
                sum += vly_state_hash(area->first + i, f, *word++);
    }
    word = s->weights;
    for (uint64_t i = 0; i < s->n_weight_bytes / sizeof *word; i++)
        sum += vly_weight_hash(i, word[i]);
    return sum;
}

static bool check_state(trial *t)
{
    const uint64_t wanted = t->net->golden->state_digest;
    vly_error error = VLY_ERROR_INIT;
    trial_snapshot snapshot;
    uint64_t own = 0;
    bool good = trial_snapshot_take(t, &snapshot);
    uint64_t found = good ? digest_of(t, &snapshot.s) : 0;
    trial_snapshot_free(&snapshot);
    if (!good)
        return false;
    if (found != wanted)
        return trial_fail(t,
                          "state digest %016" PRIx64 " after %" PRIu64
                          " bursts, wanted %016" PRIx64
                          "; the spikes are right",
                          found, t->burst, wanted);
    if (!t->backend->state_digest)
        return true;
    vly_status status = t->backend->state_digest(t->made, &own, &error);
    if (status != VLY_OK || own != found)
        return trial_fail(t,
                          "state_digest gives status %d and %016" PRIx64
                          ", its snapshot has %016" PRIx64,
                          (int)status, own, found);
    return true;
}

bool trial_finish(trial *t, const trial_call *call)
{
    const vly_conformance_golden *golden = t->net->golden;
    if (!trial_advance(t, t->net->n_bursts, call))
        return false;
    uint64_t digest = 0;
    bool traced = true;
    for (uint64_t b = 0; b < t->net->n_bursts; b++) {
        traced = traced && t->traced[b];
        digest = vly_mix64(digest ^ t->digests[b]);
    }
    if (traced && digest != golden->digest)
        return trial_fail(t, "run digest %016" PRIx64 ", wanted %016" PRIx64,
                          digest, golden->digest);
    if (traced && t->spikes != golden->spikes)
        return trial_fail(t, "%" PRIu64 " spikes counted, wanted %" PRIu64,
                          t->spikes, golden->spikes);
    if (t->events != golden->events)
        return trial_fail(t, "n_events add up to %" PRIu64 ", wanted %" PRIu64,
                          t->events, golden->events);
    return check_state(t);
}
