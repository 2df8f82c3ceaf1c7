/* SPDX-License-Identifier: Apache-2.0
 * The watcher's threads. They poll the ring, because waking them would delay
 * the burst loop; a step at the gate is one record. The first thread runs only
 * in idle processor time, of which a busy machine has almost none. If it falls
 * behind, the second thread takes over, which has a normal but lower priority,
 * within the same budget. The thread that reads the ring holds the turn.
 */
#include "monitor/watcher.h"

#include <pthread.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "monitor/surprise.h"
#include "monitor/watcher_rules.h"

/* How often it polls, and how far it may fall behind: on a machine without idle
 * time its thread gets almost no time. Up to that, records wait in the ring, at
 * worst until the end of the run; beyond, the channels without a model judge
 * them, which costs almost nothing, until so few are left that the model reads
 * current records again. */
static const uint64_t tick_ns = 20000000;
static const double behind_s = 2;
/* The second thread continues where the first one stopped, and is faster. */
static const double behind_hurry_s = 4;
enum { LEAST_BEHIND = 32, MOST_BEHIND = 2048, NEWEST = 16 };

/* The second thread: the delay from which the first one counts as late, at most
 * (otherwise half of its allowed delay), how often it polls in that time, and
 * by how much its nice value is above the process's: with 10 or 19 an earlier
 * version did not read all records beside five busy loops on two cores. */
static const double late_s = 1;
enum { HURRY_LOOKS = 4, HURRY_NICE = 5 };

/* The holder of the turn: one of the two threads, or the thread that ends them.
 */
typedef enum looker { FIRST, SECOND, LAST } looker;

/* One end of a record. */
typedef struct point {
    vly_telemetry_sample sample;
    uint64_t *areas; /* [n_areas] */
} point;

struct vly_watcher {
    vly_watcher_options options;
    vly_tokens *tokens;
    vly_surprise *surprise;
    vly_watcher_rules *rules;
    uint32_t n_areas;
    point from;
    point to;
    uint64_t *area_spikes; /* [n_areas] of the record */
    uint64_t *device;      /* [n_device] */
    bool device_told;      /* there is a sample in it that no record had */
    bool any;              /* there is a `from` */
    bool behind;           /* the model is left out for now */
    looker looker;
    uint64_t next; /* of the ring */
    uint64_t lost; /* by the ring, and those reported in a record */
    uint64_t lost_told;
    float logits[VLY_TOKENS_PER_RECORD][VLY_TOKEN_VOCABULARY];

    pthread_t thread;
    bool runs;
    pthread_t second;
    bool second_runs;
    bool over;            /* no more is to be judged */
    pthread_mutex_t turn; /* of all above but the threads */
    point oldest;         /* of the second one's own */
    pthread_mutex_t lock; /* of the next ones; within the turn */
    pthread_cond_t changed;
    bool ended;
    bool hurries;   /* the second one wants the turn, or has it */
    uint64_t taken; /* next, for threads without the turn */
    vly_watcher_figures figures;
};

/* ---- one record ---------------------------------------------------------- */

static void count_skipped(vly_watcher *watcher, uint64_t n)
{
    pthread_mutex_lock(&watcher->lock);
    watcher->figures.skipped += n;
    pthread_mutex_unlock(&watcher->lock);
}

/* Runs the rules, without waiting. */
static void look_at_rules(vly_watcher *watcher)
{
    vly_watcher_rules_look(watcher->rules);
    pthread_mutex_lock(&watcher->lock);
    vly_watcher_figures *figures = &watcher->figures;
    const uint64_t told = vly_watcher_rules_told(watcher->rules);
    figures->samples = vly_watcher_rules_samples(watcher->rules);
    figures->checked = vly_watcher_rules_checked(watcher->rules);
    figures->anomalies += told - figures->facts;
    figures->facts = told;
    pthread_mutex_unlock(&watcher->lock);
}

/* Waits for admission of the model; meanwhile the rules run. false: the gate
 * was closed. */
static bool enter(vly_watcher *watcher)
{
    vly_gate_answer answer;
    while ((answer = vly_gate_enter_for(watcher->options.gate,
                                        VLY_QOS_BEST_EFFORT, tick_ns)) !=
               VLY_GATE_GO &&
           answer != VLY_GATE_CLOSED)
        look_at_rules(watcher);
    return answer == VLY_GATE_GO;
}

static bool fail(vly_watcher *watcher, const vly_error *error)
{
    pthread_mutex_lock(&watcher->lock);
    watcher->figures.failure = *error;
    pthread_mutex_unlock(&watcher->lock);
    return false;
}

/* How surprising each of the record's tokens was: one step at the gate. The
 * probability of the first token, a separator, is not needed, so no state is
 * kept between records. false: the model failed, or the gate closed. */
static bool read_text(vly_watcher *watcher, const uint8_t *text, double *nats)
{
    const vly_watcher_options *options = &watcher->options;
    uint32_t tokens[VLY_TOKENS_PER_RECORD];
    vly_error error = VLY_ERROR_INIT;
    for (uint32_t i = 0; i < VLY_TOKENS_PER_RECORD; i++)
        tokens[i] = text[i];
    if (!enter(watcher))
        return false;
    const uint64_t begin = options->wall ? vly_clock_ns() : vly_thread_ns();
    const vly_status status = options->model.read(
        options->model.context, tokens, watcher->logits[0], &error);
    const uint64_t end = options->wall ? vly_clock_ns() : vly_thread_ns();
    vly_gate_leave(options->gate, VLY_QOS_BEST_EFFORT, end - begin);
    if (status != VLY_OK ||
        vly_record_nats(watcher->logits[0], text, nats, &error) != VLY_OK)
        return fail(watcher, &error);
    return true;
}

static void tell(vly_watcher *watcher, const vly_record *record,
                 const vly_record_note *note, const vly_verdict *verdict)
{
    const vly_watcher_options *options = &watcher->options;
    vly_anomaly anomaly = {
        .at_ns = watcher->to.sample.at_ns,
        .unix_ns = watcher->to.sample.unix_ns,
        .burst = verdict->burst,
        .bursts = record->bursts,
        .score = verdict->score,
        .threshold = verdict->threshold,
        .metric = verdict->metric,
        .area = verdict->area,
        .metric_name = vly_metric_name(verdict->metric),
        .channel = verdict->channel,
        .cause = vly_verdict_likely(verdict, record, note),
    };
    if (options->areas && verdict->area < watcher->n_areas)
        anomaly.area_name = options->areas[verdict->area];
    vly_verdict_text(verdict, record, note, options->areas,
                     options->device_names, anomaly.text, sizeof anomaly.text);
    options->on_anomaly(options->context, &anomaly);
}

/* read: by the model */
static void count(vly_watcher *watcher, bool read, const vly_verdict *verdict)
{
    const uint64_t now = vly_clock_ns();
    pthread_mutex_lock(&watcher->lock);
    vly_watcher_figures *figures = &watcher->figures;
    figures->records += read;
    figures->skipped += !read;
    figures->hurried += read && watcher->looker == SECOND;
    figures->early += read && !verdict->model_warm;
    figures->tokens += read ? VLY_TOKENS_PER_RECORD : 0;
    figures->anomalies += verdict->alarm;
    figures->score = verdict->score;
    figures->threshold = verdict->threshold;
    figures->behind_s = now > watcher->to.sample.at_ns
                            ? (double)(now - watcher->to.sample.at_ns) * 1e-9
                            : 0;
    pthread_mutex_unlock(&watcher->lock);
}

/* The next record begins where this one ends. */
static void go_on(vly_watcher *watcher)
{
    const point before = watcher->from;
    watcher->from = watcher->to;
    watcher->to = before;
}

/* The net was moved within this record, which covers both backends and the move
 * itself. A requested move is not an anomaly, and the usual values on the new
 * backend must be learned, so the next records count as early ones. Rules check
 * all of them. */
static void move(vly_watcher *watcher)
{
    vly_tokens_forget(watcher->tokens);
    vly_surprise_forget(watcher->surprise);
    watcher->device_told = false;
    count_skipped(watcher, 1);
    go_on(watcher);
}

/* From `from` to `to`, with the model or by what needs none. false: no more is
 * to be judged. */
static bool judge(vly_watcher *watcher, bool reads)
{
    const vly_watcher_options *options = &watcher->options;
    vly_record record;
    vly_record_note note;
    vly_verdict verdict;
    uint8_t text[VLY_TOKENS_PER_RECORD];
    double nats[VLY_METRICS] = {0};
    vly_record_between(&watcher->from.sample, &watcher->to.sample,
                       watcher->from.areas, watcher->to.areas, watcher->n_areas,
                       &record, watcher->area_spikes);
    if (record.moves > 0) {
        move(watcher);
        return true;
    }
    record.lost = watcher->lost - watcher->lost_told;
    /* returned once, so kept for the record in which it is judged */
    if (options->device && options->device(options->context, watcher->device))
        watcher->device_told = true;
    if (!vly_tokens_make(watcher->tokens, &record, watcher->area_spikes,
                         watcher->device_told ? watcher->device : NULL, text,
                         &note)) {
        count_skipped(watcher, 1); /* part of the next one */
        return true;
    }
    watcher->device_told = false;
    watcher->lost_told = watcher->lost;
    if (reads && !read_text(watcher, text, nats))
        return false;
    vly_surprise_judge(watcher->surprise, &record, &note, text,
                       reads ? nats : NULL, &verdict);
    vly_tokens_hold(watcher->tokens, !verdict.learns);
    count(watcher, reads, &verdict);
    if (verdict.alarm)
        tell(watcher, &record, &note, &verdict);
    go_on(watcher);
    return true;
}

/* ---- the thread ---------------------------------------------------------- */

static bool take(vly_watcher *watcher)
{
    const bool any = vly_telemetry_take(watcher->options.ring, &watcher->next,
                                        &watcher->lost, &watcher->to.sample,
                                        watcher->to.areas);
    pthread_mutex_lock(&watcher->lock);
    watcher->taken = watcher->next;
    pthread_mutex_unlock(&watcher->lock);
    return any;
}

static double behind_records(const vly_watcher *watcher)
{
    const uint64_t now = vly_clock_ns();
    const uint64_t at = watcher->to.sample.at_ns;
    return now > at ? (double)(now - at) * 1e-9 / watcher->options.record_s : 0;
}

/* Records by which the reader may be behind: this many seconds, but fewer than
 * the ring overwrites. */
static double most_behind(const vly_watcher *watcher, double seconds)
{
    const uint32_t half = vly_telemetry_length(watcher->options.ring) / 2;
    double most = seconds / watcher->options.record_s;
    most = most < LEAST_BEHIND ? LEAST_BEHIND : most;
    most = most < MOST_BEHIND ? most : MOST_BEHIND;
    return most < half ? most : half;
}

/* The record at hand is from too long ago. */
static bool is_behind(vly_watcher *watcher)
{
    const double records = behind_records(watcher);
    const double most = most_behind(
        watcher, watcher->looker == SECOND ? behind_hurry_s : behind_s);
    if (records > most)
        watcher->behind = true;
    else if (records <= NEWEST)
        watcher->behind = false;
    return watcher->behind;
}

/* Whether the watcher has ended, or the second thread wants the turn. */
static bool leaves(vly_watcher *watcher)
{
    if (watcher->looker == LAST)
        return false;
    pthread_mutex_lock(&watcher->lock);
    const bool left =
        watcher->ended || (watcher->looker == FIRST && watcher->hurries);
    pthread_mutex_unlock(&watcher->lock);
    return left;
}

/* Judges new samples. LAST: no more will come, so none is skipped; otherwise
 * the rest is left to the thread that ends the watcher. */
static void look(vly_watcher *watcher, looker who)
{
    pthread_mutex_lock(&watcher->turn);
    watcher->looker = who;
    look_at_rules(watcher);
    while (!watcher->over && !leaves(watcher) && take(watcher)) {
        if (!watcher->any) {
            go_on(watcher);
            watcher->any = true;
            continue;
        }
        watcher->over = !judge(watcher, who == LAST || !is_behind(watcher));
        look_at_rules(watcher);
    }
    pthread_mutex_lock(&watcher->lock);
    watcher->figures.lost = watcher->lost;
    pthread_mutex_unlock(&watcher->lock);
    pthread_mutex_unlock(&watcher->turn);
}

/* Until there may be something, at most so long. true: it has ended. */
static bool wait_a_tick(vly_watcher *watcher, uint64_t ns)
{
    pthread_mutex_lock(&watcher->lock);
    if (!watcher->ended)
        vly_condition_wait(&watcher->changed, &watcher->lock, ns);
    const bool last = watcher->ended;
    pthread_mutex_unlock(&watcher->lock);
    return last;
}

static void *watch(void *arg)
{
    vly_watcher *watcher = arg;
    const char *background = vly_thread_background();
    pthread_mutex_lock(&watcher->lock);
    watcher->figures.background = background;
    pthread_mutex_unlock(&watcher->lock);
    while (!wait_a_tick(watcher, tick_ns))
        look(watcher, FIRST);
    return NULL;
}

/* ---- the second thread --------------------------------------------------- */

static uint64_t late_ns(const vly_watcher *watcher)
{
    const double half =
        most_behind(watcher, behind_s) * watcher->options.record_s / 2;
    return (uint64_t)((half < late_s ? half : late_s) * 1e9);
}

/* Whether the next sample has waited for too long. */
static bool is_late(vly_watcher *watcher)
{
    uint64_t lost = 0;
    pthread_mutex_lock(&watcher->lock);
    uint64_t next = watcher->taken;
    pthread_mutex_unlock(&watcher->lock);
    return vly_telemetry_take(watcher->options.ring, &next, &lost,
                              &watcher->oldest.sample, watcher->oldest.areas) &&
           vly_clock_ns() > watcher->oldest.sample.at_ns + late_ns(watcher);
}

/* Its share, or a pause, the other thread would wait for as well. before: how
 * often it had been asked for its share in vain when the last look was. */
static bool waits_for_gate(vly_watcher *watcher, uint64_t *before)
{
    vly_gate_usage usage;
    vly_gate_usage_get(watcher->options.gate, &usage);
    const uint64_t denied = usage.denied[VLY_GATE_BUDGET];
    const bool waits = usage.paused || denied > *before;
    *before = denied;
    return waits;
}

static void set_hurries(vly_watcher *watcher, bool hurries)
{
    pthread_mutex_lock(&watcher->lock);
    watcher->hurries = hurries;
    pthread_mutex_unlock(&watcher->lock);
}

static void *hurry(void *arg)
{
    vly_watcher *watcher = arg;
    uint64_t denied = 0;
    const uint64_t hurry_tick_ns = late_ns(watcher) / HURRY_LOOKS;
    vly_thread_nicer(HURRY_NICE);
    while (!wait_a_tick(watcher,
                        hurry_tick_ns > tick_ns ? hurry_tick_ns : tick_ns)) {
        if (waits_for_gate(watcher, &denied) || !is_late(watcher))
            continue;
        /* the first one hands over when the record that it reads is done */
        set_hurries(watcher, true);
        look(watcher, SECOND);
        set_hurries(watcher, false);
        (void)waits_for_gate(watcher, &denied); /* its own waiting */
    }
    return NULL;
}

/* ---- begin and end ------------------------------------------------------- */

static vly_status make_memory(vly_watcher *watcher, vly_error *error)
{
    const uint32_t n = watcher->n_areas;
    const uint32_t n_device = watcher->options.n_device;
    watcher->from.areas = vly_calloc((size_t)n + 1, sizeof(uint64_t));
    watcher->to.areas = vly_calloc((size_t)n + 1, sizeof(uint64_t));
    watcher->area_spikes = vly_calloc((size_t)n + 1, sizeof(uint64_t));
    watcher->device = vly_calloc((size_t)n_device + 1, sizeof(uint64_t));
    watcher->oldest.areas = vly_calloc((size_t)n + 1, sizeof(uint64_t));
    if (watcher->from.areas && watcher->to.areas && watcher->area_spikes &&
        watcher->device && watcher->oldest.areas)
        return VLY_OK;
    return vly_fail_nomem(error, (4 * (UINT64_C(1) + n) + n_device + 1) * 8,
                          "the monitor");
}

static vly_status start(vly_watcher *watcher, vly_error *error)
{
    vly_status status = vly_thread_start(&watcher->thread, watch, watcher,
                                         "the monitor", error);
    watcher->runs = status == VLY_OK;
    if (status == VLY_OK)
        status = vly_thread_start(&watcher->second, hurry, watcher,
                                  "the monitor", error);
    watcher->second_runs = status == VLY_OK;
    return status;
}

vly_status vly_watcher_create(const vly_watcher_options *options,
                              vly_watcher **watcher, vly_error *error)
{
    vly_status status = VLY_OK;
    vly_watcher *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "the monitor");
    made->options = *options;
    made->n_areas = vly_telemetry_areas(options->ring);
    made->figures.failure.struct_size = sizeof(vly_error);
    pthread_mutex_init(&made->turn, NULL);
    pthread_mutex_init(&made->lock, NULL);
    vly_condition_init(&made->changed);
    VLY_TRY(vly_surprise_create(options->tails, options->alarms_an_hour,
                                options->record_s, &made->surprise, error));
    if (options->device_tails)
        vly_surprise_devices(made->surprise, options->device_tails);
    VLY_TRY(vly_watcher_rules_create(
        &made->options,
        vly_rarity_threshold(options->alarms_an_hour, 3600 / options->record_s),
        &made->rules, error));
    VLY_TRY(vly_tokens_create(made->n_areas, options->n_device, &made->tokens,
                              error));
    VLY_TRY(make_memory(made, error));
    VLY_TRY(start(made, error));
    *watcher = made;
    made = NULL;
out:
    vly_watcher_destroy(made);
    return status;
}

void vly_watcher_end(vly_watcher *watcher)
{
    if (!watcher->runs)
        return;
    vly_gate_usage usage;
    vly_gate_usage_get(watcher->options.gate, &usage);
    if (usage.paused) /* the caller that paused it does not want to wait now */
        vly_gate_close(watcher->options.gate);
    else /* the device has no other users any more */
        (void)vly_gate_budget(watcher->options.gate, 1, NULL);
    pthread_mutex_lock(&watcher->lock);
    watcher->ended = true;
    pthread_cond_broadcast(&watcher->changed);
    pthread_mutex_unlock(&watcher->lock);
    /* what it still has to do is to end: at once, where that is allowed */
    vly_thread_foreground(watcher->thread);
    pthread_join(watcher->thread, NULL);
    watcher->runs = false;
    if (watcher->second_runs)
        pthread_join(watcher->second, NULL);
    watcher->second_runs = false;
    look(watcher, LAST);
}

void vly_watcher_destroy(vly_watcher *watcher)
{
    if (!watcher)
        return;
    vly_watcher_end(watcher);
    vly_surprise_destroy(watcher->surprise);
    vly_watcher_rules_destroy(watcher->rules);
    vly_tokens_destroy(watcher->tokens);
    vly_free(watcher->from.areas);
    vly_free(watcher->to.areas);
    vly_free(watcher->area_spikes);
    vly_free(watcher->device);
    vly_free(watcher->oldest.areas);
    pthread_mutex_destroy(&watcher->turn);
    pthread_mutex_destroy(&watcher->lock);
    pthread_cond_destroy(&watcher->changed);
    vly_free(watcher);
}

void vly_watcher_figures_get(vly_watcher *watcher, vly_watcher_figures *figures)
{
    pthread_mutex_lock(&watcher->lock);
    *figures = watcher->figures;
    pthread_mutex_unlock(&watcher->lock);
}
