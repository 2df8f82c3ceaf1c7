/* SPDX-License-Identifier: Apache-2.0
 * Converts surprise to scores, and scores to alarms. tools/monitor/score.py has
 * the same.
 */
#include "monitor/surprise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "monitor/counting.h"
#include "monitor/extremes.h"
#include "monitor/facts.h"
#include "monitor/unison.h"
#include "monitor/work.h"

/* MEMORY: number of records over which a metric's usual surprise is averaged.
 * QUIET: records below the threshold that end an episode. LONG: number of
 * records of an episode in which nothing is learned, neither metrics nor
 * surprise: otherwise a fault would make the next one usual, its end would be
 * another fault, and counting, which a fault surprises less, would predict
 * better for a thousand records. A longer state is the new usual state of the
 * net. */
enum { MEMORY = 256, FREE = 8, QUIET = 16, LONG = 512, PRIOR = 4096 };
static const double least_spread = 2;        /* nats */
static const double z_most = VLY_SCORE_MOST; /* a token may be impossible */
/* The score of a metric: its deviation accumulated over some records (each
 * keeps this share of the previous one), or a fraction of a single large one.
 * Chosen on faults that are not used for evaluation: tools/monitor/README.md.
 */
static const double keep = 0.85;
static const double at_once = 0.2;
/* What a record may take longer before that is a stall. */
static const int32_t stall_spreads = 3;
/* The share of each channel in the accepted false alarms. The model finds most
 * faults; stalls that must not be missed are far in the tail. */
static const double budget[VLY_CHANNELS] = {0.78, 0.15, 0.02, 0.03, 0.02};

typedef struct usual {
    double centre;
    double spread;
    double held; /* accumulated deviations, never below 0 */
    uint64_t n;  /* records with a value so far */
} usual;

static const char *const names[VLY_CHANNELS] = {"surprise", "stall", "extreme",
                                                "work", "unison"};

/* Of the tails of nets on processors, and of those on devices. */
typedef struct tail_set {
    vly_tail tails[VLY_CHANNELS];
    double above[VLY_CHANNELS];  /* records over a tail's base, the model's */
    double excess[VLY_CHANNELS]; /* too; sum of their excess over it */
    double peak;                 /* of successive records of work; 0: none */
} tail_set;

struct vly_surprise {
    tail_set beyond[2]; /* [on_device] */
    double threshold;
    usual metrics[VLY_METRICS];
    vly_extremes times;
    vly_counting counting;
    vly_work work;
    vly_unison unison;
    uint64_t n;       /* records so far */
    uint64_t n_read;  /* of them by the model */
    uint32_t quiet;   /* records since the last strange one, to QUIET */
    uint32_t episode; /* records of the one that goes on; 0: none does */
    bool moved; /* the net was moved, and work is compared with the earlier work
                 * until it is judged */
};

/* ---- tails -------------------------------------------------------------- */

double vly_tail_rarity(const vly_tail *tail, double x)
{
    if (!(x > tail->base))
        return 0;
    return (x - tail->base) / tail->excess - vly_log(tail->share);
}

double vly_rarity_threshold(double alarms, double records)
{
    const double times = records / alarms;
    return times > 1 ? vly_log(times) : 0;
}

bool vly_tails_read(const char *text, vly_tail tails[VLY_CHANNELS])
{
    double values[3 * VLY_CHANNELS];
    vly_tail made[VLY_CHANNELS];
    const char *at = text;
    for (int i = 0; i < 3 * VLY_CHANNELS; i++) {
        char *end = NULL;
        values[i] = strtod(at, &end);
        if (end == at || !(values[i] >= 0) || !(values[i] < 1e9))
            return false;
        at = end;
    }
    while (*at == ' ')
        at++;
    if (*at != '\0')
        return false;
    for (int c = 0; c < VLY_CHANNELS; c++) {
        made[c] =
            (vly_tail){values[3 * c], values[3 * c + 1], values[3 * c + 2]};
        if (!(made[c].share > 0) || made[c].share > 1 || !(made[c].excess > 0))
            return false;
    }
    memcpy(tails, made, sizeof made);
    return true;
}

double vly_surprise_nats(const float *logits, uint32_t n, uint8_t token)
{
    double most = logits[0];
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!isfinite(logits[i]))
            return INFINITY;
        if (logits[i] > most)
            most = logits[i];
    }
    for (uint32_t i = 0; i < n; i++)
        sum += vly_exp(logits[i] - most);
    return most + vly_log(sum) - logits[token];
}

vly_status vly_record_nats(const float *logits, const uint8_t *text,
                           double *nats, vly_error *error)
{
    for (uint32_t i = 1; i < VLY_TOKENS_PER_RECORD; i++) {
        const uint32_t metric = vly_token_metric(text[i]);
        nats[metric] =
            vly_surprise_nats(logits + (size_t)(i - 1) * VLY_TOKEN_VOCABULARY,
                              VLY_TOKEN_VOCABULARY, text[i]);
        if (!isfinite(nats[metric]))
            return vly_fail(error, VLY_E_PARSE,
                            "the model's logits for %s are NaN or infinite, "
                            "wanted numbers: its weights are wrong",
                            vly_metric_name(metric));
    }
    return VLY_OK;
}

/* ---- scores ------------------------------------------------------------- */

/* As the baselines of tokens.c, over surprise. */
static double judge_metric(usual *of, bool learns, double nats)
{
    if (!(nats < 1e3)) /* a NaN too */
        nats = 1e3;
    const uint64_t n = of->n++;
    if (n == 0) {
        *of = (usual){nats, least_spread, 0, 1};
        return 0;
    }
    const double s = of->spread > least_spread ? of->spread : least_spread;
    const double d = nats - of->centre;
    const double far = fabs(d);
    const double gain = (double)(n < MEMORY ? n + 1 : MEMORY);
    const double pull = n < FREE || far < 4 * s ? d : d > 0 ? 4 * s : -4 * s;
    const double z = d / s > z_most ? z_most : d / s;
    if (learns) {
        of->centre += pull / gain;
        of->spread += ((far < 2 * s ? far : 2 * s) - of->spread) / gain;
    }
    of->held = of->held * keep + z * (1 - keep);
    of->held = of->held > 0 ? of->held : 0;
    return of->held > z * at_once ? of->held : z * at_once;
}

/* Surprise of a metric without a value: its bin has no meaning, so it is
 * ignored. */
static double fade(usual *of)
{
    of->held *= keep;
    return of->held;
}

/* How rare a value is: by the tail of healthy runs, or, if that is heavier, by
 * the tail that this net's records add to PRIOR records. Otherwise a net whose
 * records are unusual by nature would raise alarms all the time. */
static double rarity_of(const tail_set *beyond, uint64_t n, int channel,
                        double x)
{
    vly_tail tail = beyond->tails[channel];
    const double above = beyond->above[channel];
    const double share = above / (PRIOR + (double)n);
    const double excess = beyond->excess[channel] / above;
    tail.share = share > tail.share ? share : tail.share;
    tail.share = tail.share < 1 ? tail.share : 1;
    tail.excess = excess > tail.excess ? excess : tail.excess;
    const double rarity = vly_tail_rarity(&tail, x) + vly_log(budget[channel]);
    return rarity > 0 ? rarity : 0;
}

/* Of successive records of work over the base only the largest counts, once:
 * one event, such as another program that starts, can raise the work of twenty
 * records. In other channels each record counts; a net that is unusual by
 * nature is so for long. */
static void learn_work(tail_set *beyond, double over)
{
    const int c = VLY_CHANNEL_WORK;
    if (over > beyond->peak) {
        beyond->above[c] += beyond->peak == 0;
        beyond->excess[c] += over - beyond->peak;
        beyond->peak = over;
    }
    if (over == 0)
        beyond->peak = 0;
}

static void learn_tails(tail_set *beyond, const double *values)
{
    for (int c = 0; c < VLY_CHANNELS; c++) {
        const double most = 4 * beyond->tails[c].excess;
        double over = values[c] - beyond->tails[c].base;
        over = over > most ? most : over > 0 ? over : 0;
        if (c == VLY_CHANNEL_WORK) {
            learn_work(beyond, over);
        } else if (over > 0) {
            beyond->above[c]++;
            beyond->excess[c] += over;
        }
    }
}

static void begin_tails(tail_set *beyond, const vly_tail *tails)
{
    memcpy(beyond->tails, tails, sizeof beyond->tails);
    for (int c = 0; c < VLY_CHANNELS; c++) {
        beyond->above[c] = PRIOR * tails[c].share + 1;
        beyond->excess[c] = beyond->above[c] * tails[c].excess;
    }
}

/* log2(1 + x), x >= 0 */
static double bits(double x)
{
    return vly_log1p(x) / vly_log(2);
}

/* Milliseconds that a record took longer than its bursts usually do, including
 * their usual variation (spreads above their centre), and excluding the time in
 * which other threads had the processor: the system counts that time, and it is
 * not a fault of this run. */
static double stall_ms(const vly_record *record, const vly_record_note *note)
{
    if (!(note->told & 1u << VLY_METRIC_PACE))
        return 0; /* the pace of the net is unknown, so no time is expected */
    const double n = record->bursts > 0 ? (double)record->bursts : 1;
    const int32_t level = note->centre[VLY_METRIC_PACE] +
                          stall_spreads * note->spread[VLY_METRIC_PACE];
    const double due = n * vly_exp(level * (vly_log(2) / 64));
    const double more = (double)record->wall_ns - (double)record->waited_ns -
                        (double)record->threads_waited_ns - due;
    return more > 0 ? more * 1e-6 : 0;
}

static bool may_learn(const vly_surprise *surprise)
{
    return surprise->episode == 0 || surprise->episode > LONG;
}

static bool is_memory(uint32_t metric)
{
    return metric == VLY_METRIC_HOST || metric == VLY_METRIC_MEMORY;
}

/* Values of the channels, and the metric of each. nats NULL: the model read
 * nothing. */
static void measure(vly_surprise *surprise, const vly_record *record,
                    const vly_record_note *note, const uint8_t *text,
                    const double *nats, uint32_t *metrics, vly_verdict *verdict)
{
    const bool learns = may_learn(surprise);
    /* memory taken in the first records does not suppress the channel */
    const bool grows = vly_token_bin(text[1 + VLY_METRIC_HOST]) > 0 ||
                       vly_token_bin(text[1 + VLY_METRIC_MEMORY]) > 0;
    double *values = verdict->values;
    double far[2];
    uint32_t which[2];
    values[0] = 0;
    metrics[0] = 0;
    for (uint32_t m = 0; m < VLY_METRICS; m++) {
        const bool absent = !nats || note->absent & 1u << m;
        verdict->nats[m] = nats ? nats[m] : 0;
        verdict->z[m] =
            absent ? fade(&surprise->metrics[m])
                   : judge_metric(&surprise->metrics[m], learns, nats[m]);
        /* for this metric counting predicts better than the model */
        if (vly_counting_leads(&surprise->counting, m) &&
            !(grows && is_memory(m)))
            verdict->z[m] = surprise->metrics[m].held = 0;
        if (verdict->z[m] > values[0]) {
            values[0] = verdict->z[m];
            metrics[0] = m;
        }
    }
    if (learns && nats)
        vly_counting_learn(&surprise->counting, text, nats, note->absent);
    values[VLY_CHANNEL_STALL] = bits(stall_ms(record, note));
    metrics[VLY_CHANNEL_STALL] =
        note->z16[VLY_METRIC_BURST] >= note->z16[VLY_METRIC_PACE]
            ? VLY_METRIC_BURST
            : VLY_METRIC_PACE;
    vly_extremes_judge(&surprise->times, note->level, note->told, far, which);
    const int most = far[1] > far[0];
    values[VLY_CHANNEL_EXTREME] = bits(4 * far[most]);
    metrics[VLY_CHANNEL_EXTREME] = which[most];
    values[VLY_CHANNEL_WORK] = vly_work_judge(&surprise->work, record, learns);
    metrics[VLY_CHANNEL_WORK] = VLY_METRIC_BURST;
    values[VLY_CHANNEL_UNISON] =
        vly_unison_judge(&surprise->unison, record, learns);
    metrics[VLY_CHANNEL_UNISON] = VLY_METRIC_DISPERSION;
}

void vly_surprise_judge(vly_surprise *surprise, const vly_record *record,
                        const vly_record_note *note, const uint8_t *text,
                        const double *nats, vly_verdict *verdict)
{
    uint32_t metrics[VLY_CHANNELS];
    tail_set *beyond = &surprise->beyond[record->on_device];
    vly_verdict made = {.burst = record->burst,
                        .warm = surprise->n >= VLY_TOKENS_WARM,
                        .model_warm = surprise->n_read >= VLY_TOKENS_WARM,
                        .threshold = surprise->threshold,
                        .channel = names[0]};
    measure(surprise, record, note, text, nats, metrics, &made);
    /* records that the model did not read do not update the usual surprise
     */
    if (made.warm && !made.model_warm)
        made.values[VLY_CHANNEL_SURPRISE] = 0;
    /* after a move there is no other usual state yet */
    const bool behind = surprise->moved && !made.warm;
    for (int c = 0; c < VLY_CHANNELS; c++) {
        if (behind && c != VLY_CHANNEL_WORK)
            continue;
        const double rarity = rarity_of(beyond, surprise->n, c, made.values[c]);
        if (rarity > made.score) {
            made.score = rarity < z_most ? rarity : z_most;
            made.metric = metrics[c];
            made.channel = names[c];
            made.times = c == VLY_CHANNEL_WORK     ? surprise->work.times
                         : c == VLY_CHANNEL_UNISON ? surprise->unison.times
                                                   : 0;
        }
    }
    made.fact = vly_facts_of(record) != 0;
    if (made.fact) {
        made.metric = vly_fact_metric(vly_fact_first(vly_facts_of(record)));
        made.score = z_most;
        made.channel = "rule";
    }
    made.metric = vly_note_metric(note, made.metric);
    made.area = vly_note_area(note, made.metric);
    made.strange =
        made.fact || ((made.warm || behind) && made.score >= made.threshold);
    made.moved = behind && !made.fact;
    made.alarm = made.strange && !made.fact && surprise->quiet >= QUIET;
    /* of an episode only the first record is learned: a lasting fault is not
     * the usual state */
    if (made.warm && !made.fact && surprise->quiet >= QUIET)
        learn_tails(beyond, made.values);
    if (made.alarm)
        vly_counting_drop(&surprise->counting);
    if (made.moved && made.strange) { /* reported; from now on it is the usual
                                       * state */
        surprise->work = (vly_work){.n = 0};
        surprise->moved = false;
    } else if (made.strange)
        surprise->quiet = 0;
    else if (surprise->quiet < QUIET)
        surprise->quiet++;
    surprise->episode = surprise->quiet < QUIET ? surprise->episode + 1 : 0;
    surprise->n++;
    surprise->n_read += nats != NULL;
    made.learns = may_learn(surprise);
    *verdict = made;
}

/* ---- begin and end ------------------------------------------------------ */

vly_status vly_surprise_create(const vly_tail *tails,
                               double false_alarms_an_hour, double record_s,
                               vly_surprise **surprise, vly_error *error)
{
    if (!(false_alarms_an_hour > 0) || !(false_alarms_an_hour < 1e9))
        return vly_fail(error, VLY_E_INVALID,
                        "%g false alarms an hour, wanted more than 0 and "
                        "less than 1e9",
                        false_alarms_an_hour);
    if (!(record_s > 0) || !(record_s < 1e9))
        return vly_fail(error, VLY_E_INVALID,
                        "a record of %g s, wanted more than 0 and less than "
                        "1e9",
                        record_s);
    vly_surprise *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "the score of telemetry");
    begin_tails(&made->beyond[0], tails);
    begin_tails(&made->beyond[1], tails);
    made->threshold =
        vly_rarity_threshold(false_alarms_an_hour, 3600 / record_s);
    vly_surprise_forget(made);
    *surprise = made;
    return VLY_OK;
}

void vly_surprise_devices(vly_surprise *surprise, const vly_tail *tails)
{
    begin_tails(&surprise->beyond[1], tails);
}

void vly_surprise_forget(vly_surprise *surprise)
{
    vly_surprise begun = {.threshold = surprise->threshold,
                          .quiet = QUIET,
                          .work = surprise->work,
                          .moved = surprise->n > 0 || surprise->moved};
    vly_work_begin(&begun.work);
    for (int k = 0; k < 2; k++)
        begin_tails(&begun.beyond[k], surprise->beyond[k].tails);
    *surprise = begun;
}

void vly_surprise_destroy(vly_surprise *surprise)
{
    vly_free(surprise);
}
