/* SPDX-License-Identifier: Apache-2.0
 * Calls of a backend with sentinels after every buffer, and changes while a net
 * runs.
 */
#include "conformance/conformance_trial.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "plugin/all_weights.h"

bool trial_fail(trial *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(t->what, sizeof t->what, format, args);
    va_end(args);
    return false;
}

static bool said(trial *t, vly_status status, const char *call,
                 const vly_error *error)
{
    t->status = status;
    if (status == VLY_OK)
        return true;
    return trial_fail(t, "burst %" PRIu64 ": %s: %s: %.600s", t->burst, call,
                      vly_status_name(status), error->message);
}

/* ---- begin and end ----------------------------------------------------- */

bool trial_init(trial *t, const vly_conformance *conformance,
                const conformance_net *net)
{
    *t = (trial){.conformance = conformance,
                 .net = net,
                 .fitting = &net->connectome->desc,
                 .log_burst = UINT64_MAX};
    vly_error error = VLY_ERROR_INIT;
    vly_status status = vly_all_weights(conformance->backend, t->fitting,
                                        &t->all_weights, &error);
    if (status == VLY_OK && !t->all_weights && conformance->other)
        status = vly_all_weights(conformance->other, t->fitting,
                                 &t->all_weights, &error);
    t->fitting = t->all_weights ? t->all_weights : t->fitting;
    t->desc = t->fitting;
    t->digests = vly_calloc((size_t)net->n_bursts, sizeof *t->digests);
    t->traced = vly_calloc((size_t)net->n_bursts, 1);
    bool good = status == VLY_OK && t->digests && t->traced;
    for (int i = 0; i < 2; i++)
        good = guarded_init(&t->log[i], t->desc->n_neurons, 4) && good;
    return good || trial_fail(t, "out of memory");
}

void trial_deinit(trial *t)
{
    trial_destroy(t);
    vly_free(t->all_weights);
    vly_free(t->digests);
    vly_free(t->traced);
    guarded_deinit(&t->log[0]);
    guarded_deinit(&t->log[1]);
}

void trial_destroy(trial *t)
{
    if (t->made)
        t->backend->net_destroy(t->made);
    t->made = NULL;
}

/* ---- what changes while it runs ---------------------------------------- */

static bool dc_changes(const vly_connectome *connectome, uint64_t burst)
{
    for (uint32_t s = 0; s < connectome->n_stimuli; s++) {
        const vly_connectome_stimulus *stimulus = &connectome->stimuli[s];
        if (stimulus->kind == VLY_STIMULUS_DC &&
            (stimulus->start == burst || stimulus->stop == burst))
            return true;
    }
    return false;
}

/* The first later burst before which a change is written. */
static uint64_t next_change(const trial *t)
{
    const vly_conformance_case *entry = t->net->entry;
    uint64_t next = t->net->n_bursts;
    if (t->changes_done < entry->n_changes &&
        entry->changes[t->changes_done].burst < next)
        next = entry->changes[t->changes_done].burst;
    for (uint64_t b = t->burst + 1; t->net->has_dc && b < next; b++)
        if (dc_changes(t->net->connectome, b))
            next = b;
    return next;
}

/* The constant input of an area: one coefficient, computed from the active
 * stimuli. */
static bool write_dc(trial *t, uint32_t a)
{
    const vly_connectome *connectome = t->net->connectome;
    const vly_connectome_area *area = &connectome->areas[a];
    vly_error error = VLY_ERROR_INIT;
    vly_column *columns = NULL;
    vly_status status = VLY_OK;
    double *dc = vly_calloc(area->n_neurons, sizeof *dc);
    if (!dc)
        return trial_fail(t, "out of memory");
    for (uint32_t s = 0; s < connectome->n_stimuli; s++) {
        const vly_connectome_stimulus *stimulus = &connectome->stimuli[s];
        if (stimulus->kind != VLY_STIMULUS_DC || stimulus->area != a ||
            t->burst < stimulus->start || t->burst >= stimulus->stop)
            continue;
        for (uint32_t i = 0; i < stimulus->n_neurons; i++)
            dc[stimulus->first - area->first + i] += stimulus->mean;
    }
    VLY_TRY(vly_coefs_make(area, area->params, dc, false,
                           connectome->desc.dt_ms, &columns, &error));
    for (uint32_t c = 0; c < area->model->n_coefs; c++)
        if (vly_model_is(area->model, VLY_ROLE_DRIVE, c))
            VLY_TRY(t->backend->coef_write(t->made, a, c, &columns[c], &error));
out:
    vly_coefs_free(columns);
    vly_free(dc);
    return said(t, status, "coef_write", &error);
}

static bool write_change(trial *t, const vly_conformance_change *change)
{
    const vly_net_desc *desc = &t->net->connectome->desc;
    const bool each = change->kind == VLY_CHANGE_COEF && change->count > 0;
    const uint32_t n = each ? desc->areas[change->index].n_neurons
                            : change->count + (change->count == 0);
    vly_error error = VLY_ERROR_INIT;
    vly_status status = VLY_E_INVALID;
    guarded words;
    if (!guarded_init(&words, n, sizeof(uint32_t)))
        return trial_fail(t, "out of memory");
    uint32_t *word = (uint32_t *)(void *)words.bytes;
    vly_conformance_words(change, word, n);
    if (change->kind == VLY_CHANGE_FIELD) {
        status = t->backend->field_write(t->made, change->index, change->slot,
                                         change->first, n, word, &error);
    } else if (change->kind == VLY_CHANGE_COEF) {
        const vly_column *was = &desc->areas[change->index].coefs[change->slot];
        const vly_column column = {word, !each, was->type};
        status = t->backend->coef_write(t->made, change->index, change->slot,
                                        &column, &error);
    } else {
        vly_stimulus_desc stimulus = desc->stimuli[change->index];
        stimulus.thresholds = word;
        stimulus.n_thresholds = change->count;
        status = t->backend->stimulus_write(t->made, change->index, &stimulus,
                                            &error);
    }
    memset(words.bytes, 0, words.n); /* it has copied them */
    guarded_deinit(&words);
    return said(t, status, "a write", &error);
}

static bool write_changes(trial *t)
{
    const vly_conformance_case *entry = t->net->entry;
    const vly_connectome *connectome = t->net->connectome;
    while (t->changes_done < entry->n_changes &&
           entry->changes[t->changes_done].burst <= t->burst)
        if (!write_change(t, &entry->changes[t->changes_done++]))
            return false;
    if (t->burst == 0 || !t->net->has_dc || !dc_changes(connectome, t->burst))
        return true;
    for (uint32_t s = 0; s < connectome->n_stimuli; s++)
        if (connectome->stimuli[s].kind == VLY_STIMULUS_DC &&
            !write_dc(t, connectome->stimuli[s].area))
            return false;
    return true;
}

/* Changes that a net made from a snapshot must receive again. */
static bool write_again(trial *t)
{
    const vly_connectome *connectome = t->net->connectome;
    for (uint32_t i = 0; i < t->changes_done; i++)
        if (t->net->entry->changes[i].kind != VLY_CHANGE_FIELD &&
            !write_change(t, &t->net->entry->changes[i]))
            return false;
    for (uint32_t s = 0; t->burst > 0 && s < connectome->n_stimuli; s++)
        if (connectome->stimuli[s].kind == VLY_STIMULUS_DC &&
            !write_dc(t, connectome->stimuli[s].area))
            return false;
    return true;
}

bool trial_create(trial *t, const vly_backend *backend,
                  const vly_snapshot *snapshot)
{
    vly_error error = VLY_ERROR_INIT;
    vly_device_spec device = t->conformance->device;
    if (backend != t->conformance->backend)
        device = (vly_device_spec){.struct_size = sizeof device,
                                   .n_threads = device.n_threads};
    t->backend = backend;
    vly_status status = backend->net_create(
        &device, t->desc, snapshot ? snapshot : &t->net->connectome->start,
        &t->made, &error);
    if (status == VLY_OK && !t->made)
        return trial_fail(t, "net_create returned ok and no net");
    t->refused_options = status == VLY_E_UNSUPPORTED && device.options;
    return said(t, status, "net_create", &error) && write_again(t);
}

/* ---- one call ---------------------------------------------------------- */

enum { DIGESTS, COUNTS, SPIKES, GAINS, AREAS, BUFFERS };
#define AREA_SPIKES 1000u /* what area_spikes holds before: added to */
#define TAIL_WORDS 8

/* The struct followed by extra room, filled as a newer host may have filled it:
 * with values that look like pointers to a buffer that must not be written. */
typedef struct long_run {
    vly_run run;
    const void *tail[TAIL_WORDS];
} long_run;

typedef struct step {
    long_run made;
    guarded buffers[BUFFERS];
    guarded beyond;
} step;

static void step_deinit(step *s)
{
    for (int i = 0; i < BUFFERS; i++)
        guarded_deinit(&s->buffers[i]);
    guarded_deinit(&s->beyond);
}

static bool step_init(step *s, const trial *t, const trial_call *call,
                      uint64_t n)
{
    uint64_t room = call->room != 0 ? call->room : n * t->desc->n_neurons;
    uint64_t spikes = call->record != 0 ? room : 0;
    *s = (step){0};
    if (!guarded_init(&s->buffers[DIGESTS], n, sizeof(uint64_t)) ||
        !guarded_init(&s->buffers[COUNTS], n, sizeof(uint32_t)) ||
        !guarded_init(&s->buffers[SPIKES], spikes, sizeof(uint32_t)) ||
        !guarded_init(&s->buffers[GAINS], spikes, sizeof(uint32_t)) ||
        !guarded_init(&s->buffers[AREAS], t->desc->n_areas, sizeof(uint64_t)) ||
        !guarded_init(&s->beyond, 1024, sizeof(uint64_t)))
        return false;
    vly_run *run = &s->made.run;
    for (int i = 0; i < TAIL_WORDS; i++)
        s->made.tail[i] = s->beyond.bytes;
    run->n_bursts = n;
    run->stop = call->stop;
    conformance_net_given(t->net, t->burst, n, run);
    if (!call->quiet) {
        run->digests = (uint64_t *)(void *)s->buffers[DIGESTS].bytes;
        run->spike_counts = (uint32_t *)(void *)s->buffers[COUNTS].bytes;
    }
    if (call->record != 0) {
        run->flags = VLY_RUN_RECORD;
        run->spikes = (uint32_t *)(void *)s->buffers[SPIKES].bytes;
        run->spikes_capacity = room;
    }
    if (t->backend->flags & VLY_BACKEND_AREA_SPIKES && !call->quiet) {
        run->area_spikes = (uint64_t *)(void *)s->buffers[AREAS].bytes;
        for (uint32_t a = 0; a < t->desc->n_areas; a++)
            run->area_spikes[a] = AREA_SPIKES;
    }
    if (call->record == 2)
        run->spike_gains = (uint32_t *)(void *)s->buffers[GAINS].bytes;
    run->struct_size =
        call->struct_size != 0 ? call->struct_size : (uint32_t)sizeof *run;
    /* an older host does not have later members */
    unsigned char *bytes = (unsigned char *)run;
    for (size_t at = run->struct_size; at + 8 <= sizeof *run; at += 8)
        memcpy(bytes + at, &s->made.tail[0], 8);
    return true;
}

static bool check_end(trial *t, const step *s, const trial_call *call)
{
    const vly_run *run = &s->made.run;
    uint64_t done = run->n_bursts_done;
    static const char *const names[] = {"digests", "spike_counts", "spikes",
                                        "spike_gains", "area_spikes"};
    for (int i = 0; i < BUFFERS; i++)
        if (!guarded_intact(&s->buffers[i]))
            return trial_fail(
                t, "burst %" PRIu64 ": net_run wrote past the end of %s",
                t->burst, names[i]);
    if (!guarded_untouched(&s->beyond))
        return trial_fail(t,
                          "burst %" PRIu64 ": net_run used members of "
                          "vly_run that struct_size %u does not have",
                          t->burst, run->struct_size);
    if (done > run->n_bursts || done == 0)
        return trial_fail(t,
                          "burst %" PRIu64 ": n_bursts_done is %" PRIu64
                          ", wanted 1 to %" PRIu64,
                          t->burst, done, run->n_bursts);
    if (call->stop && *call->stop != 0 && done != 1)
        return trial_fail(t,
                          "burst %" PRIu64 ": %" PRIu64 " bursts with stop "
                          "set, wanted 1",
                          t->burst, done);
    bool full = call->record != 0 &&
                run->spikes_capacity - run->n_spikes < t->desc->n_neurons;
    if (done < run->n_bursts && !full && (!call->stop || *call->stop == 0))
        return trial_fail(t,
                          "burst %" PRIu64 ": ended after %" PRIu64
                          " of %" PRIu64 " bursts, though neither stop was "
                          "set nor spikes full",
                          t->burst, done, run->n_bursts);
    return true;
}

/* The ids of one burst: ascending, in range, and matching the digest. */
static bool check_list(trial *t, const step *s, uint64_t k, uint64_t at)
{
    const vly_run *run = &s->made.run;
    uint64_t burst = t->burst + k;
    uint64_t digest = 0;
    bool hashed = run->spike_gains || !t->net->has_feagi;
    for (uint64_t i = at; i < at + run->spike_counts[k]; i++) {
        uint32_t gain =
            run->spike_gains ? run->spike_gains[i] : 1u << t->desc->feagi_q;
        if (run->spikes[i] >= t->desc->n_neurons)
            return trial_fail(t,
                              "burst %" PRIu64 ": spike of neuron %u, there "
                              "are %u",
                              burst, run->spikes[i], t->desc->n_neurons);
        if (i > at && run->spikes[i] <= run->spikes[i - 1])
            return trial_fail(t, "burst %" PRIu64 ": neuron %u after neuron %u",
                              burst, run->spikes[i], run->spikes[i - 1]);
        digest += vly_spike_hash(run->spikes[i], gain, burst);
    }
    if (hashed && digest != run->digests[k])
        return trial_fail(t,
                          "burst %" PRIu64 ": digest %016" PRIx64
                          ", its %u recorded spikes have %016" PRIx64,
                          burst, run->digests[k], run->spike_counts[k], digest);
    return true;
}

/* Digest by digest against the table's trace. */
static bool check_trace(trial *t, const step *s)
{
    const vly_run *run = &s->made.run;
    const char *trace = t->net->golden->trace;
    for (uint64_t k = 0; k < run->n_bursts_done; k++) {
        uint64_t burst = t->burst + k;
        char found[5];
        (void)snprintf(found, sizeof found, "%04x",
                       (unsigned)(run->digests[k] & 0xffff));
        if (memcmp(found, trace + 4 * burst, 4) != 0)
            return trial_fail(t,
                              "burst %" PRIu64 ": %u spikes, digest %012" PRIx64
                              "[%s], wanted [%.4s]",
                              burst, run->spike_counts[k],
                              run->digests[k] >> 16, found, trace + 4 * burst);
        t->digests[burst] = run->digests[k];
        t->traced[burst] = 1;
        t->spikes += run->spike_counts[k];
    }
    return true;
}

static bool check_record(trial *t, const step *s)
{
    const vly_run *run = &s->made.run;
    uint64_t at = 0;
    for (uint64_t k = 0; k < run->n_bursts_done; k++) {
        uint32_t count = run->spike_counts[k];
        if (count > run->n_spikes || at > run->n_spikes - count)
            break;
        if (!check_list(t, s, k, at))
            return false;
        at += count;
        if (k + 1 < run->n_bursts_done || !run->spike_gains)
            continue;
        memcpy(t->log[0].bytes, run->spikes + at - count, count * 4u);
        memcpy(t->log[1].bytes, run->spike_gains + at - count, count * 4u);
        t->n_log = count;
        t->log_burst = t->burst + k;
    }
    if (at != run->n_spikes)
        return trial_fail(t,
                          "burst %" PRIu64 ": n_spikes is %" PRIu64
                          ", spike_counts add up to another number",
                          t->burst, run->n_spikes);
    return true;
}

/* Spikes by area add up, and each is that of the area's recorded ids. */
static bool check_areas(trial *t, const step *s, const trial_call *call)
{
    const vly_run *run = &s->made.run;
    const uint64_t *found =
        (const uint64_t *)(const void *)s->buffers[AREAS].bytes;
    uint64_t all = 0;
    if (run->struct_size < sizeof *run || !run->area_spikes)
        return true;
    for (uint64_t k = 0; k < run->n_bursts_done; k++)
        all += run->spike_counts[k];
    for (uint32_t a = 0; a < t->desc->n_areas; a++) {
        const vly_area_desc *area = &t->net->connectome->desc.areas[a];
        uint64_t wanted = 0;
        for (uint64_t i = 0; i < run->n_spikes; i++)
            wanted += run->spikes[i] - area->first < area->n_neurons;
        if (call->record != 0 && found[a] != wanted + AREA_SPIKES)
            return trial_fail(t,
                              "burst %" PRIu64 ": area_spikes[%u] grew by "
                              "%" PRIu64 ", wanted %" PRIu64,
                              t->burst, a, found[a] - AREA_SPIKES, wanted);
        all -= found[a] - AREA_SPIKES;
    }
    return all == 0 ||
           trial_fail(t,
                      "burst %" PRIu64 ": area_spikes do not add up to "
                      "spike_counts",
                      t->burst);
}

bool trial_step(trial *t, const trial_call *call, uint64_t *done)
{
    vly_error error = VLY_ERROR_INIT;
    step s;
    *done = 0;
    if (!write_changes(t))
        return false;
    uint64_t n = next_change(t) - t->burst;
    n = call->n == 0 || n < call->n ? n : call->n;
    bool good = step_init(&s, t, call, n);
    if (!good) {
        step_deinit(&s);
        return trial_fail(t, "out of memory");
    }
    vly_run *run = &s.made.run;
    good =
        said(t, t->backend->net_run(t->made, run, &error), "net_run", &error) &&
        check_end(t, &s, call) && (call->quiet || check_trace(t, &s)) &&
        (call->quiet || call->record == 0 || check_record(t, &s)) &&
        check_areas(t, &s, call);
    uint64_t updates = run->n_bursts_done * t->desc->n_neurons;
    if (good && (run->n_candidates > updates ||
                 (!t->net->has_feagi && run->n_candidates != updates)))
        good = trial_fail(t,
                          "burst %" PRIu64 ": n_candidates is %" PRIu64
                          ", wanted %" PRIu64,
                          t->burst, run->n_candidates, updates);
    if (good) {
        t->events += run->n_events;
        t->burst += run->n_bursts_done;
        *done = run->n_bursts_done;
    }
    step_deinit(&s);
    return good;
}

bool trial_advance(trial *t, uint64_t burst, const trial_call *call)
{
    uint64_t end = burst < t->net->n_bursts ? burst : t->net->n_bursts;
    while (t->burst < end) {
        trial_call now = *call;
        uint64_t done = 0;
        now.n = now.n == 0 || now.n > end - t->burst ? end - t->burst : now.n;
        if (!trial_step(t, &now, &done))
            return false;
    }
    return true;
}
