/* SPDX-License-Identifier: Apache-2.0
 * Eligibility and modulator a second time: see second_reward.h.
 */
#include "second_reward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "second_learning.h"

enum { A_PLUS, A_MINUS, INTERVAL, BASE, INCREMENT, FADE };
/* of the file's parameters */
enum {
    P_PLUS = 2,
    P_MINUS = 3,
    TAU_N = 5,
    INTERVAL_MS = 8,
    W_MAX = 9,
    AREA = 10
};

#define C_MOST 2147483520.0 /* 2^31 - 128 */

void second_reward_read(second_reward *r, const double *params, double dt_ms)
{
    r->rate = (float)(dt_ms / params[TAU_N]);
    r->bursts = (uint32_t)ceil(params[TAU_N] / dt_ms * 15.0 * log(2.0));
    if (r->bursts == 0)
        r->bursts = 1;
    r->interval = (uint32_t)floor(params[INTERVAL_MS] / dt_ms + 0.5);
    r->params[A_PLUS] = params[P_PLUS];
    r->params[A_MINUS] = params[P_MINUS];
    r->params[INTERVAL] = r->interval * dt_ms * 1e-3;
    r->w_max = fabs(params[W_MAX]);
    r->area = (uint32_t)params[AREA];
}

/* The unit of the weights is a power of two, that of c another one: 1,024 times
 * what a pair may add has room. The file's coefficients must say the same. */
static void own_coefs(second_learning *l)
{
    second_reward *r = l->reward;
    double unit = exp2(round(log2(r->w_max * 65536.0 / l->most)));
    double pair = fmax(r->params[A_PLUS], r->params[A_MINUS]) / unit;
    double needs = pair * 1024.0 * 65536.0 / C_MOST;
    double scale = needs > 1.0 ? exp2(ceil(log2(needs))) : 1.0;
    memcpy(r->coefs, l->coefs, sizeof r->coefs);
    r->coefs[A_PLUS] = (float)(r->params[A_PLUS] / (unit * scale));
    r->coefs[A_MINUS] = (float)(r->params[A_MINUS] / (unit * scale));
    r->coefs[INTERVAL] = (float)(r->params[INTERVAL] * scale);
}

int second_reward_begin(second_learning *l, uint64_t n)
{
    second_reward *r = l->reward;
    own_coefs(l);
    r->c = calloc(n + 1, sizeof *r->c);
    r->exact = calloc(n + 1, sizeof *r->exact);
    return r->c && r->exact ? 0 : -1;
}

void second_reward_end(second_reward *r)
{
    free(r->c);
    free(r->exact);
}

/* ---- synapses ----------------------------------------------------------- */

static double within(double x, double most)
{
    if (x > most)
        return most;
    return x < -most ? -most : x;
}

void second_reward_pair(second_reward *r, int post, uint64_t i, float trace,
                        double smooth)
{
    float change = post ? r->coefs[A_PLUS] * trace : r->coefs[A_MINUS] * trace;
    double exact = (double)r->coefs[post ? A_PLUS : A_MINUS] * smooth;
    float size = change * 65536.0f + 0.5f;
    double step = size < (float)C_MOST ? floor((double)size) : C_MOST;
    r->c[i] = (int32_t)within(r->c[i] + (post ? step : -step), C_MOST);
    r->exact[i] += post ? exact * 65536.0 : -exact * 65536.0;
    r->exact[i] = within(r->exact[i], C_MOST);
}

/* A whole number of 2^-16 as the nearest float. */
static float single(int32_t c)
{
    return (float)c / 65536.0f;
}

/* The modulator at a burst, not yet changed by it. */
static float modulator(const second_reward *r, uint64_t burst, double *smooth)
{
    uint64_t age = burst + 1 - r->last;
    *smooth = 0.0;
    if (r->last == 0 || age >= r->bursts)
        return 0.0f;
    *smooth = r->smooth * exp(-(double)age * (double)r->rate);
    return r->n * second_exp_single(-((float)age * r->rate));
}

void second_reward_sweep(second_learning *l, uint64_t burst)
{
    second_reward *r = l->reward;
    double exact_n;
    float n = modulator(r, burst, &exact_n);
    float share = r->coefs[INTERVAL] * (r->coefs[BASE] + n);
    double exact_share =
        (double)r->coefs[INTERVAL] * ((double)r->coefs[BASE] + exact_n);
    if (burst % r->interval != 0 || (l->flags & 8u) != 0)
        return;
    for (uint64_t i = 0; i < l->row[l->n_sources]; i++) {
        float dw = share * single(r->c[i]);
        float size = fabsf(dw) * 65536.0f + 0.5f;
        double step = size < (float)C_MOST ? floor((double)size) : C_MOST;
        double m = l->m[i] + (dw < 0.0f ? -step : step);
        m = m < 0.0 ? 0.0 : m;
        l->m[i] = (int32_t)(m < l->most ? m : l->most);
        m = l->exact[i] + exact_share * r->exact[i];
        m = m < 0.0 ? 0.0 : m;
        l->exact[i] = m < l->most ? m : l->most;
        float left = (fabsf(single(r->c[i])) * 65536.0f) * r->coefs[FADE];
        r->c[i] = (int32_t)(r->c[i] < 0 ? -floorf(left) : floorf(left));
        r->exact[i] *= (double)r->coefs[FADE];
    }
}

/* ---- the modulator ------------------------------------------------------ */

void second_reward_fire(second_reward *r, uint64_t burst, uint32_t n_spikes)
{
    double smooth;
    float n = modulator(r, burst, &smooth);
    int32_t given = r->is_given ? r->given : 0;
    if (n_spikes != 0 || r->is_given) {
        n += (float)n_spikes * r->coefs[INCREMENT] + single(given);
        r->n = fabsf(n) < 0x1p-40f ? 0.0f : n;
        r->smooth =
            smooth + n_spikes * (double)r->coefs[INCREMENT] + given / 65536.0;
        r->last = burst + 1;
    }
    r->is_given = 0;
}

void second_reward_words(const second_reward *r, uint64_t burst,
                         uint32_t words[2])
{
    uint64_t age = burst + 1 - r->last;
    int gone = r->last == 0 || age >= r->bursts;
    words[0] = 0;
    if (!gone)
        memcpy(words, &r->n, sizeof words[0]);
    words[1] = gone ? UINT32_MAX : (uint32_t)age;
}
