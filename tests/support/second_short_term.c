/* SPDX-License-Identifier: Apache-2.0
 * Short-term plasticity a second time: see second_short_term.h.
 */
#include "second_short_term.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "second_learning.h"
#include "second_simulator.h"

static float coef(const second_short_term *s, int i)
{
    float x;
    memcpy(&x, &s->coefs[i], sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Shares are kept between 0 and 1, tiny ones as 0. */
static float share(float x)
{
    if (!(x > 0.0f))
        return 0.0f;
    if (!(x < 1.0f))
        return 1.0f;
    return x < 0x1p-40f ? 0.0f : x;
}

static int is_tsodyks2(const second_short_term *s)
{
    return strcmp(s->rule, "tsodyks2") == 0;
}

/* As at the start: tsodyks2 keeps x and u for the first spike (u -1: U), the
 * state of tsodyks decays from burst 0 on. */
static void start(const second_short_term *s, second_source *k)
{
    int first = is_tsodyks2(s) ? 3 : 4; /* U, tau_rec, tau_fac, (tau_psc) */
    k->x = (float)s->params[first];
    k->u = (float)s->params[first + 1];
    k->y = is_tsodyks2(s) ? -1.0f : (float)s->params[first + 2];
    k->exact_x = s->params[first];
    k->exact_u = s->params[first + 1];
    k->exact_y = is_tsodyks2(s) ? 0.0 : s->params[first + 2];
    k->known = !is_tsodyks2(s);
    k->last = 0;
}

/* Long after the last spike nothing is left of it. */
static void forget(second_source *k)
{
    k->x = 1.0f;
    k->u = -1.0f;
    k->y = -1.0f;
    k->exact_x = 1.0;
    k->exact_u = -1.0;
    k->exact_y = 0.0;
    k->known = 0;
}

static void tsodyks2(const second_short_term *s, second_source *k, uint64_t h)
{
    float U = coef(s, 0);
    if (!k->known) {
        k->x = share(k->x);
        k->u = share(k->u < 0.0f ? U : k->u);
        if (k->exact_u < 0.0)
            k->exact_u = s->params[0];
    } else {
        float rec = second_exp_single(-((float)h * coef(s, 1)));
        float fac = second_exp_single(-((float)h * coef(s, 2)));
        double dt = (double)coef(s, 1) * s->params[1];
        double e_fac =
            s->params[2] > 0.0 ? exp(-(double)h * dt / s->params[2]) : 0.0;
        k->x = share(1.0f + ((k->x - k->x * k->u) - 1.0f) * rec);
        k->exact_x = 1.0 + (k->exact_x - k->exact_x * k->exact_u - 1.0) *
                               exp(-(double)h * dt / s->params[1]);
        k->u = share(U + (k->u * (1.0f - U)) * fac);
        k->exact_u = s->params[0] + k->exact_u * (1.0 - s->params[0]) * e_fac;
    }
    k->y = 0.0f;
}

/* The gain's share, which moves from x to y. */
static float tsodyks(const second_short_term *s, second_source *k, uint64_t h,
                     double *exact)
{
    float U = coef(s, 0);
    float x = 1.0f, u = 0.0f, y = 0.0f;
    double ex = 1.0, eu = 0.0, ey = 0.0;
    if (k->known) {
        float rec = second_exp_single(-((float)h * coef(s, 1)));
        float fac = second_exp_single(-((float)h * coef(s, 2)));
        float psc = second_exp_single(-((float)h * coef(s, 3)));
        float free = (1.0f - k->x) - k->y;
        float out = (rec - 1.0f) * coef(s, 4) - (psc - 1.0f) * coef(s, 5);
        x = k->x + (out * k->y + (1.0f - rec) * free);
        y = k->y * psc;
        u = k->u * fac;
        double tr = s->params[1], tf = s->params[2], tp = s->params[3];
        double t = (double)h * (double)coef(s, 1) * tr;
        double dr = exp(-t / tr), dp = exp(-t / tp);
        ex = k->exact_x +
             ((dr - 1.0) * tr - (dp - 1.0) * tp) / (tp - tr) * k->exact_y +
             (1.0 - dr) * (1.0 - k->exact_x - k->exact_y);
        ey = k->exact_y * dp;
        eu = tf > 0.0 ? k->exact_u * exp(-t / tf) : 0.0;
    }
    k->u = share(u + U * (1.0f - u));
    k->exact_u = eu + s->params[0] * (1.0 - eu);
    float used = k->u * x;
    *exact = k->exact_u * ex;
    k->x = share(x - used);
    k->y = share(y + used);
    k->exact_x = ex - *exact;
    k->exact_y = ey + *exact;
    return used;
}

static int64_t spike(second_short_term *s, second_source *k, uint64_t burst)
{
    uint64_t h = burst - k->last;
    double exact;
    float used;
    if (k->known && h >= s->bursts)
        forget(k);
    if (is_tsodyks2(s)) {
        tsodyks2(s, k, h);
        used = k->x * k->u;
        exact = k->exact_x * k->exact_u;
    } else {
        used = tsodyks(s, k, h, &exact);
    }
    if (used < 0.0f)
        used = 0.0f;
    if (used > 1.0f)
        used = 1.0f;
    int64_t gain = (int64_t)(used * 65536.0f + 0.5f);
    k->known = 1;
    k->last = burst;
    s->distance = fmax(s->distance, fabs((double)gain / 65536.0 - exact));
    return gain;
}

int64_t second_short_term_fire(second_short_term *s, uint32_t k, uint64_t burst)
{
    second_source *of = &s->sources[k];
    if (of->n_spikes == of->capacity) {
        uint32_t capacity = of->capacity ? 2 * of->capacity : 16;
        uint64_t *more = realloc(of->spikes, capacity * sizeof *more);
        if (!more)
            return -1;
        of->spikes = more;
        of->capacity = capacity;
    }
    of->spikes[of->n_spikes++] = burst;
    return spike(s, of, burst);
}

int64_t second_short_term_event(int16_t weight, int64_t gain, uint32_t shift)
{
    double exact = ldexp((double)weight * (double)gain, (int)shift - 16);
    return (int64_t)floor(exact + 0.5);
}

int second_short_term_begin(second_short_term *s)
{
    s->sources = calloc(s->n_sources + (size_t)1, sizeof *s->sources);
    for (uint32_t k = 0; s->sources && k < s->n_sources; k++)
        start(s, &s->sources[k]);
    return s->sources ? 0 : -1;
}

void second_short_term_end(second_short_term *s)
{
    for (uint32_t k = 0; s->sources && k < s->n_sources; k++)
        free(s->sources[k].spikes);
    free(s->sources);
    s->sources = NULL;
}

void second_short_term_digest(second_short_term *s, uint64_t burst,
                              uint64_t reach, uint64_t *at, uint64_t *digest)
{
    uint64_t from = burst > reach ? burst - reach : 0;
    for (int word = 0; word < 4; word++)
        for (uint32_t k = 0; k < s->n_sources; k++) {
            second_source of = s->sources[k];
            start(s, &of);
            for (uint32_t i = 0; i < of.n_spikes && of.spikes[i] < from; i++)
                spike(s, &of, of.spikes[i]);
            if (of.known && from - of.last >= s->bursts)
                forget(&of);
            uint32_t age = of.known ? (uint32_t)(from - of.last) : UINT32_MAX;
            second_digest_word(at, digest,
                               word == 0   ? bits_of(of.x)
                               : word == 1 ? bits_of(of.u)
                               : word == 2 ? bits_of(of.y)
                                           : age);
        }
}
