/* SPDX-License-Identifier: Apache-2.0
 * Short-term plasticity as a function of a spike train: gains beside the
 * equations in double, what a long silence leaves, and what an event adds.
 *
 * A gain is rounded to 2^-16: 2^-17. A state is computed in a few float
 * operations from the one before, each off by at most 2^-24 of a number up to 1
 * (by_rec and by_psc of tsodyks are up to 1.01 here), and exp by 2.7e-7; x
 * forgets errors by the factor 1 - u and more at each spike: in all below 2e-6.
 */
#include "volley_test.h"

#include <math.h>

#include "genome/plasticity_info.h"

enum { SPIKES = 400 };
#define DT 0.1
#define BOUND (0x1p-17 + 2e-6)

typedef struct train {
    const vly_plasticity_info *info;
    double params[8];
    uint32_t coefs[VLY_SHORT_TERM_COEFS];
    uint32_t bursts;
    vly_short_term state;
    uint64_t random;
} train;

static void begin(train *t, const char *rule, const double *params)
{
    *t = (train){.info = vly_plasticity_find(rule), .random = 7};
    assert_non_null(t->info);
    assert_true(t->info->short_term);
    memcpy(t->params, params, t->info->n_params * sizeof *params);
    const vly_plasticity_input input = {
        .params = t->params, .unit = 1.0, .dt_ms = DT};
    assert_null(t->info->check_of(&input));
    vly_plasticity_coefs(t->info, &input, t->coefs);
    t->bursts = vly_short_term_bursts(t->info, t->params, DT);
    t->state = vly_short_term_start(t->info, t->params);
}

static double gain_after(train *t, uint32_t h)
{
    t->state = t->info->spike(vly_short_term_known(t->state, h, t->bursts),
                              t->coefs, h);
    assert_true(t->state.gain <= 65536);
    return t->state.gain / 65536.0;
}

/* 1 to 500 bursts, now and then long. */
static uint32_t interval(train *t)
{
    t->random = t->random * UINT64_C(6364136223846793005) + 1;
    uint32_t draw = (uint32_t)(t->random >> 40);
    return draw % 29 == 0 ? 1 + draw % 40000 : 1 + draw % 500;
}

static double decay(uint32_t h, double tau_ms)
{
    return tau_ms > 0.0 ? exp(-(double)h * DT / tau_ms) : 0.0;
}

static void check(double gain, double wanted, int spike)
{
    if (!(fabs(gain - wanted) <= BOUND))
        fail_msg("spike %d: gain %.9f, wanted %.9f", spike, gain, wanted);
}

static void tsodyks2_is_double(void **state)
{
    /* U, tau_rec, tau_fac, x_start, u_start */
    static const double sets[][5] = {{0.5, 800, 0, 1, -1},
                                     {0.03, 130, 530, 1, -1},
                                     {0.2, 20, 5, 0.4, 0.7},
                                     {1, 50, 0, 1, -1},
                                     {0.01, 0.05, 1000, 0, 0}};
    (void)state;
    for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++) {
        const double *p = sets[s];
        train t;
        begin(&t, "tsodyks2", p);
        double x = p[3], u = p[4] < 0 ? p[0] : p[4];
        check(gain_after(&t, 12345), x * u, 0);
        for (int n = 1; n < SPIKES; n++) {
            uint32_t h = interval(&t);
            x = 1.0 + (x - x * u - 1.0) * decay(h, p[1]);
            u = p[0] + u * (1.0 - p[0]) * decay(h, p[2]);
            check(gain_after(&t, h), x * u, n);
        }
    }
}

static void tsodyks_is_double(void **state)
{
    /* U, tau_rec, tau_fac, tau_psc, x_start, u_start, y_start */
    static const double sets[][7] = {{0.5, 800, 0, 3, 1, 0, 0},
                                     {0.03, 130, 530, 1.5, 1, 0, 0},
                                     {0.2, 20, 50, 3, 0.3, 0.5, 0.6},
                                     {1, 50, 0, 0.2, 1, 0, 0}};
    (void)state;
    for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++) {
        const double *p = sets[s];
        train t;
        begin(&t, "tsodyks", p);
        double x = p[4], u = p[5], y = p[6];
        for (int n = 0; n < SPIKES; n++) {
            uint32_t h = interval(&t);
            double rec = decay(h, p[1]), psc = decay(h, p[3]);
            double z = 1.0 - x - y;
            x += ((rec - 1.0) * p[1] - (psc - 1.0) * p[3]) / (p[3] - p[1]) * y +
                 (1.0 - rec) * z;
            y *= psc;
            u *= decay(h, p[2]);
            u += p[0] * (1.0 - u);
            double used = u * x;
            x -= used;
            y += used;
            check(gain_after(&t, h), used, n);
        }
    }
}

/* From `bursts` on nothing is left, whatever came before; just before, less
 * than a gain resolves. */
static void silence_ends_it(void **state)
{
    static const double two[] = {0.3, 100, 40, 1, -1};
    static const double one[] = {0.3, 100, 40, 3, 1, 0, 0};
    (void)state;
    for (int k = 0; k < 2; k++) {
        train t;
        begin(&t, k ? "tsodyks" : "tsodyks2", k ? one : two);
        assert_int_equal(t.bursts, (uint32_t)ceil(100 / DT * 24 * log(2)));
        for (int n = 0; n < 50; n++)
            gain_after(&t, 5);
        vly_short_term busy = t.state;
        uint32_t rested = (uint32_t)(gain_after(&t, t.bursts) * 65536);
        assert_int_equal(rested, (uint32_t)(0.3 * 65536 + 0.5));
        t.state = busy;
        assert_int_equal((uint32_t)(gain_after(&t, t.bursts - 1) * 65536),
                         rested);
        t.state = busy;
        assert_int_equal((uint32_t)(gain_after(&t, UINT32_MAX) * 65536),
                         rested);
    }
}

static void event_is_exact(void **state)
{
    static const uint32_t shifts[] = {0, 6, 12};
    static const uint32_t gains[] = {0,     1,     2,     32767, 32768,
                                     32769, 40000, 65535, 65536};
    (void)state;
    for (size_t s = 0; s < 3; s++)
        for (size_t g = 0; g < sizeof gains / sizeof gains[0]; g++)
            for (int32_t w = -32768; w <= 32767;
                 w += w > -40 && w < 40 ? 1 : 7) {
                int64_t wanted = (int64_t)floor(
                    ldexp((double)w * gains[g], (int)shifts[s] - 16) + 0.5);
                if (vly_short_term_event(w, gains[g], shifts[s]) != wanted)
                    fail_msg("weight %d, gain %u, shift %u", w, gains[g],
                             shifts[s]);
            }
    assert_int_equal(vly_short_term_event(32767, 65536, 12), 32767 * 4096);
    assert_int_equal(vly_short_term_event(-32768, 65536, 12), -32768 * 4096);
}

static void fixed_parameters(void **state)
{
    (void)state;
    for (uint32_t r = 0; r < vly_plasticity_count(); r++) {
        const vly_plasticity_info *info = vly_plasticity_at(r);
        if (!info->short_term)
            continue;
        for (uint32_t i = 0; i < info->n_params; i++)
            assert_int_equal(vly_plasticity_fixed(info, i),
                             strcmp(info->params[i].name, "U") != 0);
        assert_true(vly_plasticity_has_key(info, "rule"));
        assert_false(vly_plasticity_has_key(info, "w_max*"));
        assert_null(info->pre);
        assert_null(info->post);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(tsodyks2_is_double), cmocka_unit_test(tsodyks_is_double),
    cmocka_unit_test(silence_ends_it),    cmocka_unit_test(event_is_exact),
    cmocka_unit_test(fixed_parameters),
};

VLY_TEST_MAIN(tests)
