/* SPDX-License-Identifier: Apache-2.0
 * Plasticity a second time: see second_learning.h.
 */
#include "second_learning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "second_short_term.h"
#include "second_simulator.h"

/* ---- numbers ------------------------------------------------------------ */

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* e^x for x from -80 to 80, as core/connectome/FORMAT.md and the papers say:
 * ln 2 in two parts, a series of degree 7. */
float second_exp_single(float x)
{
    if (x < -80.0f)
        x = -80.0f;
    if (x > 80.0f)
        x = 80.0f;
    int n = (int)floorf(x * 1.44269504f + 128.5f) - 128;
    float r = x - (float)n * 0.693145752f;
    r = r - (float)n * 1.42860677e-6f;
    static const float series[] = {
        1.98412698e-4f, 1.38888889e-3f, 8.33333333e-3f, 4.16666667e-2f,
        1.66666667e-1f, 0.5f,           1.0f,           1.0f};
    float sum = series[0];
    for (int i = 1; i < 8; i++)
        sum = sum * r + series[i];
    return ldexpf(sum, n);
}

/* ln x: x = 2^e f with f between sqrt(1/2) and sqrt(2). */
static float log_single(float x)
{
    int e;
    float f = frexpf(x, &e) * 2.0f;
    e--;
    if (bits_of(f) >= 0x3fb504f3u) {
        f *= 0.5f;
        e++;
    }
    f -= 1.0f;
    static const float series[] = {
        7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
        -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
        2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
    float z = f * f;
    float p = series[0];
    for (int i = 1; i < 9; i++)
        p = p * f + series[i];
    p = (p * f) * z;
    p = p - 2.12194440e-4f * (float)e;
    p = p - 0.5f * z;
    return (p + f) + 0.693359375f * (float)e;
}

static float power_single(float x, float mu)
{
    if (mu == 0.0f)
        return 1.0f;
    if (mu == 1.0f)
        return x;
    return x > 1.0e-30f ? second_exp_single(mu * log_single(x)) : 0.0f;
}

/* ---- traces ------------------------------------------------------------- */

/* Trace t of neuron k just before what happens in this burst. */
static float trace(const second_learning *l, int t, uint32_t k, uint64_t burst,
                   double *smooth)
{
    uint64_t last = l->last[t / 2][k];
    *smooth = 0.0;
    if (last == 0 || l->bursts[t] == 0)
        return 0.0f;
    uint64_t age = burst + 1 - last;
    if (age >= l->bursts[t])
        return 0.0f;
    *smooth = l->smooth[t][k] * exp(-(double)age * (double)l->rate[t]);
    return l->after[t][k] * second_exp_single(-((float)age * l->rate[t]));
}

static void event(second_learning *l, int side, uint32_t k, uint64_t burst)
{
    int nearest = (l->flags & 4u) != 0;
    for (int t = 2 * side; t < 2 * side + 2; t++) {
        double smooth;
        float before = trace(l, t, k, burst, &smooth);
        l->after[t][k] = nearest ? 1.0f : before + 1.0f;
        l->smooth[t][k] = nearest ? 1.0 : smooth + 1.0;
    }
    l->last[side][k] = burst + 1;
}

/* ---- rules -------------------------------------------------------------- */

static float coef(const second_learning *l, int i)
{
    return float_of(l->coefs[i]);
}

/* What a rule adds to a weight, in units of the map: w is the weight, x and y
 * the traces, as floats and as doubles. */
typedef struct change {
    float single;
    double exact;
} change;

static change rule_of(const second_learning *l, int post, int32_t m,
                      double exact, const float s[4], const double d[4])
{
    float w = (float)(m >> 8) / 256.0f;
    double v = exact / 65536.0;
    change c = {0.0f, 0.0};
    if (strcmp(l->rule, "[synapse]") == 0) {
        /* no formula of it in doubles: the copy follows the result */
        if (!post || s[0] > 0.0f || s[1] > 0.0f)
            c.single = second_rule_change(l, post, w, s);
        c.exact = (double)c.single + ((double)m - exact) / 65536.0;
    } else if (strcmp(l->rule, "stdp") == 0) {
        float r = w * coef(l, 2);
        double q = v * (double)coef(l, 2);
        if (post) {
            r = 1.0f - r;
            if (r < 0.0f)
                r = 0.0f;
            c.single = (coef(l, 0) * power_single(r, coef(l, 3))) * s[0];
            c.exact = (double)coef(l, 0) *
                      pow(q < 1.0 ? 1.0 - q : 0.0, (double)coef(l, 3)) * d[0];
        } else {
            c.single = -((coef(l, 1) * power_single(r, coef(l, 4))) * s[2]);
            c.exact = -(double)coef(l, 1) * pow(q, (double)coef(l, 4)) * d[2];
        }
    } else if (strcmp(l->rule, "stdp_power") == 0) {
        if (post) {
            c.single = (coef(l, 0) * power_single(w, coef(l, 2))) * s[0];
            c.exact = (double)coef(l, 0) * pow(v, (double)coef(l, 2)) * d[0];
        } else {
            c.single = -((coef(l, 1) * w) * s[2]);
            c.exact = -(double)coef(l, 1) * v * d[2];
        }
    } else if (strcmp(l->rule, "stdp_triplet") == 0) {
        if (post) {
            c.single = s[0] * (coef(l, 0) + coef(l, 1) * s[3]);
            c.exact = d[0] * ((double)coef(l, 0) + (double)coef(l, 1) * d[3]);
        } else {
            c.single = -(s[2] * (coef(l, 2) + coef(l, 3) * s[1]));
            c.exact = -d[2] * ((double)coef(l, 2) + (double)coef(l, 3) * d[1]);
        }
    } else { /* stdp_inhibitory */
        c.single = post ? coef(l, 0) * s[0] : coef(l, 0) * (s[2] - coef(l, 1));
        c.exact =
            (double)coef(l, 0) * (post ? d[0] : d[2] - (double)coef(l, 1));
    }
    return c;
}

static void learn(second_learning *l, int post, uint64_t i, uint32_t source,
                  uint32_t target, uint64_t burst)
{
    float s[4];
    double d[4];
    if ((l->flags & 8u) != 0)
        return;
    for (int t = 0; t < 4; t++)
        s[t] = trace(l, t, t < 2 ? source : target, burst, &d[t]);
    if (l->reward) {
        second_reward_pair(l->reward, post, i, s[post ? 0 : 2],
                           d[post ? 0 : 2]);
        return;
    }
    change c = rule_of(l, post, l->m[i], l->exact[i], s, d);
    float size = fabsf(c.single) * 65536.0f + 0.5f;
    int64_t step = size < 2147483520.0f ? (int64_t)size : INT64_C(2147483520);
    int64_t m = l->m[i] + (c.single < 0.0f ? -step : step);
    if (m < 0)
        m = 0;
    if (m > l->most)
        m = l->most;
    l->m[i] = (int32_t)m;
    double exact = l->exact[i] + c.exact * 65536.0;
    if (exact < 0.0)
        exact = 0.0;
    l->exact[i] = exact < (double)l->most ? exact : (double)l->most;
}

static void learn_posts(second_learning *l, uint64_t burst, const char *fired)
{
    for (uint32_t k = 0; k < l->n_sources; k++)
        for (uint64_t i = l->row[k]; i < l->row[k + 1]; i++)
            if (fired[l->target[i] - l->first])
                learn(l, 1, i, k, l->target[i] - l->first, burst);
}

static void learn_arrivals(second_learning *l, uint64_t burst,
                           const char *arrived)
{
    for (uint32_t k = 0; k < l->n_sources; k++)
        for (uint64_t i = l->row[k]; arrived[k] && i < l->row[k + 1]; i++)
            learn(l, 0, i, k, l->target[i] - l->first, burst);
}

static void events(second_learning *l, uint64_t burst, const char *arrived,
                   const char *fired)
{
    for (uint32_t k = 0; k < l->n_sources; k++)
        if (arrived[k])
            event(l, 0, k, burst);
    for (uint32_t i = 0; i < l->n_targets; i++)
        if (fired[i])
            event(l, 1, i, burst);
}

void second_learning_deliver(second_learning *l, uint64_t burst,
                             const char *arrived, const char *fired)
{
    if ((l->flags & 2u) != 0)
        learn_posts(l, burst, fired);
    learn_arrivals(l, burst, arrived);
}

void second_learning_fire(second_learning *l, uint64_t burst,
                          const char *arrived, const char *fired)
{
    if ((l->flags & 2u) == 0)
        learn_posts(l, burst, fired);
    events(l, burst, arrived, fired);
}

int64_t second_learning_weight(const second_learning *l, uint64_t i)
{
    int64_t size = ((int64_t)l->m[i] + 32768) / 65536;
    return (l->flags & 1u) != 0 ? -size : size;
}

/* ---- begin and end ------------------------------------------------------ */

int second_learning_begin(second_learning *l, const int16_t *weight)
{
    uint64_t n = l->row[l->n_sources];
    l->m = calloc(n + 1, sizeof *l->m);
    l->exact = calloc(n + 1, sizeof *l->exact);
    int fails = !l->m || !l->exact;
    if (l->reward)
        fails |= second_reward_begin(l, n) != 0;
    for (int side = 0; side < 2; side++) {
        size_t k = (side == 0 ? l->n_sources : l->n_targets) + (size_t)1;
        l->last[side] = calloc(k, sizeof **l->last);
        fails |= !l->last[side];
        for (int t = 2 * side; t < 2 * side + 2; t++) {
            l->after[t] = calloc(k, sizeof **l->after);
            l->smooth[t] = calloc(k, sizeof **l->smooth);
            fails |= !l->after[t] || !l->smooth[t];
        }
    }
    if ((l->flags & 16u) != 0 && second_window_begin(l))
        fails = 1;
    for (uint64_t i = 0; !fails && i < n; i++) {
        l->m[i] = abs(weight[i]) * 65536;
        l->exact[i] = l->m[i];
    }
    return fails ? -1 : 0;
}

void second_learning_end(second_learning *l)
{
    free(l->m);
    free(l->exact);
    if (l->reward)
        second_reward_end(l->reward);
    free(l->last[0]);
    free(l->last[1]);
    free(l->frames[0]);
    free(l->frames[1]);
    for (int t = 0; t < 4; t++) {
        free(l->after[t]);
        free(l->smooth[t]);
    }
}

/* ---- digest ------------------------------------------------------------- */

void second_digest_word(uint64_t *at, uint64_t *digest, uint32_t word)
{
    uint64_t mixed = second_mix64((UINT64_C(1) << 32) + (*at >> 32));
    *digest += second_mix64(mixed ^ (*at << 32 | word));
    ++*at;
}

static uint32_t window_word(const second_learning *l, int side, uint32_t k,
                            uint64_t burst, int ages)
{
    uint32_t age;
    uint32_t run = second_window_run(l, side, k, burst, &age);
    if (run == 0)
        return ages ? UINT32_MAX : 0;
    return ages ? age : bits_of((float)run);
}

void second_learning_digest(const second_learning *l, uint64_t burst,
                            uint64_t *at, uint64_t *digest)
{
    for (uint64_t i = 0; i < l->row[l->n_sources]; i++)
        second_digest_word(at, digest, (uint32_t)l->m[i]);
    for (uint64_t i = 0; l->reward && i < l->row[l->n_sources]; i++)
        second_digest_word(at, digest, (uint32_t)l->reward->c[i]);
    for (int t = 0; t < 4; t++) {
        uint32_t n = t < 2 ? l->n_sources : l->n_targets;
        const uint64_t *last = l->last[t / 2];
        const int window = (l->flags & 16u) != 0;
        if (l->bursts[t] == 0)
            continue;
        for (int ages = 0; ages < 2; ages++)
            for (uint32_t k = 0; k < n; k++) {
                uint64_t age = burst + 1 - last[k];
                int gone = last[k] == 0 || age >= l->bursts[t];
                second_digest_word(at, digest,
                                   window
                                       ? window_word(l, t / 2, k, burst, ages)
                                   : ages ? (gone ? UINT32_MAX : (uint32_t)age)
                                   : gone ? 0
                                          : bits_of(l->after[t][k]));
            }
    }
    if (l->reward) {
        uint32_t words[2];
        second_reward_words(l->reward, burst, words);
        second_digest_word(at, digest, words[0]);
        second_digest_word(at, digest, words[1]);
    }
}

double second_learning_distance(const second_learning *l)
{
    double worst = 0.0;
    for (uint64_t i = 0; i < l->row[l->n_sources]; i++) {
        double d = fabs(l->m[i] - l->exact[i]) / (double)l->most;
        worst = d > worst ? d : worst;
    }
    return worst;
}

/* ---- all projections ---------------------------------------------------- */

int second_learnings_begin(second_file *file, second_history *history)
{
    history->n_neurons = file->n_neurons;
    history->n_slots = file->max_delay + 1;
    history->fired = calloc(history->n_slots, file->n_neurons + (size_t)1);
    history->none = calloc(1, file->n_neurons + (size_t)1);
    history->gain = calloc((size_t)history->n_slots * file->n_neurons + 1,
                           sizeof *history->gain);
    if (!history->fired || !history->none || !history->gain)
        return -1;
    for (uint32_t p = 0; p < file->n_projections; p++) {
        second_projection *map = &file->projections[p];
        second_learning *l = map->learning;
        if (map->short_term) {
            map->short_term->n_sources = file->areas[map->source_area].n;
            if (second_short_term_begin(map->short_term))
                return -1;
        }
        if (!l)
            continue;
        l->base_delay = map->base_delay;
        l->n_sources = file->areas[map->source_area].n;
        l->n_targets = file->areas[map->target_area].n;
        l->first = file->areas[map->target_area].first;
        l->row = map->row;
        l->target = map->target;
        if (second_learning_begin(l, map->weight))
            return -1;
    }
    return 0;
}

void second_learnings_end(second_file *file, second_history *history)
{
    free(history->fired);
    free(history->none);
    free(history->gain);
    for (uint32_t p = 0; p < file->n_projections; p++) {
        if (file->projections[p].learning)
            second_learning_end(file->projections[p].learning);
        if (file->projections[p].short_term)
            second_short_term_end(file->projections[p].short_term);
    }
}

/* Spikes of the modulator's area in this burst. */
static uint32_t modulator_spikes(const second_file *file,
                                 const second_history *history, uint64_t burst,
                                 uint32_t area)
{
    uint32_t n = 0;
    const char *fired =
        history->fired + burst % history->n_slots * history->n_neurons;
    for (uint32_t k = 0; area < file->n_areas && k < file->areas[area].n; k++)
        n += fired[file->areas[area].first + k] != 0;
    return n;
}

/* Who fired `ago` bursts ago. */
static const char *fired_ago(const second_history *history, uint64_t burst,
                             uint32_t ago)
{
    if (burst < ago)
        return history->none;
    return history->fired +
           (burst - ago) % history->n_slots * history->n_neurons;
}

void second_learnings_step(second_file *file, const second_history *history,
                           uint64_t burst, int after)
{
    for (uint32_t p = 0; p < file->n_projections; p++) {
        const second_projection *map = &file->projections[p];
        second_learning *l = map->learning;
        if (!l)
            continue;
        if ((l->flags & 16u) != 0) {
            if (after)
                second_window_step(l, burst,
                                   fired_ago(history, burst, 0) +
                                       file->areas[map->source_area].first,
                                   fired_ago(history, burst, 0) + l->first);
            continue;
        }
        uint32_t lag = (l->flags & 2u) != 0 ? 2 * l->base_delay : 0;
        const char *arrived = fired_ago(history, burst, l->base_delay) +
                              file->areas[map->source_area].first;
        const char *fired = fired_ago(history, burst, lag) + l->first;
        if (l->reward && !after)
            second_reward_sweep(l, burst);
        if (l->reward && after)
            second_reward_fire(
                l->reward, burst,
                modulator_spikes(file, history, burst, l->reward->area));
        if (after)
            second_learning_fire(l, burst, arrived, fired);
        else
            second_learning_deliver(l, burst, arrived, fired);
    }
}

uint64_t second_learnings_digest(const second_file *file, uint64_t burst)
{
    uint64_t digest = 0;
    uint64_t at = 0;
    for (uint32_t p = 0; p < file->n_projections; p++) {
        const second_projection *map = &file->projections[p];
        uint64_t reach = map->base_delay;
        for (uint64_t i = 0; map->delay && i < map->n; i++)
            if (map->base_delay + map->delay[i] > reach)
                reach = map->base_delay + map->delay[i];
        if (map->learning)
            second_learning_digest(map->learning, burst, &at, &digest);
        if (map->short_term)
            second_short_term_digest(map->short_term, burst, reach, &at,
                                     &digest);
    }
    return digest;
}
