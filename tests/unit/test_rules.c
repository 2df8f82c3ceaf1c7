/* SPDX-License-Identifier: Apache-2.0
 * Plasticity rules: logarithm, power and decay against double; every rule
 * evaluated at each event against the same rule evaluated at arrivals and
 * random flushes only, which must give the same bits; and against formulas in
 * double.
 */
#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

#include "genome/plasticity_info.h"
#include "kernels/rules/plasticity_rules.h"

#define DT_MS 0.1
#define BURSTS 200000
#define W_MAX 20000.0 /* units */
/* |m - double| that is allowed, share of w_max */
#define DISTANCE 2e-5

static uint64_t seed = UINT64_C(88172645463325252);

static uint64_t next(void) /* Marsaglia 2003, xorshift */
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static double uniform(void)
{
    return (double)(next() >> 11) * 0x1p-53;
}

/* ---- functions ----------------------------------------------------------- */

static void logarithm(void **state)
{
    double worst = 0.0;
    (void)state;
    for (int i = 0; i < 400000; i++) {
        float x = ldexpf(1.0f + (float)uniform(), (int)(next() % 60) - 30);
        double wanted = log((double)x);
        double off = fabs((double)vly_log_f32(x) - wanted);
        off /= fmax(fabs(wanted), 0.1);
        worst = fmax(worst, off);
    }
    assert_true(worst < 1.5e-7);
    assert_true(vly_log_f32(1.0f) == 0.0f);
}

static void power(void **state)
{
    double worst = 0.0;
    (void)state;
    for (int i = 0; i < 400000; i++) {
        float x = (float)pow(2.0, -30.0 * uniform());
        float mu = (float)(2.0 * uniform());
        double wanted = pow((double)x, (double)mu);
        worst =
            fmax(worst, fabs((double)vly_power_f32(x, mu) - wanted) / wanted);
    }
    assert_true(worst < 6e-6);
    for (int i = 0; i < 1000; i++) {
        float x = (float)uniform();
        assert_true(vly_power_f32(x, 1.0f) == x);
        assert_true(vly_power_f32(x, 0.0f) == 1.0f);
    }
    assert_true(vly_power_f32(0.0f, 0.0f) == 1.0f);
    assert_true(vly_power_f32(0.0f, 0.5f) == 0.0f);
}

static void decay(void **state)
{
    double worst = 0.0;
    (void)state;
    for (uint32_t tau = 1; tau < 20000; tau = tau * 5 / 4 + 1) {
        float rate = (float)(1.0 / tau);
        uint32_t bursts = (uint32_t)vly_trace_bursts(tau, 1.0);
        for (uint32_t k = 0; k < bursts; k += 1 + bursts / 5000) {
            double wanted = exp(-(double)k / tau);
            double got = (double)vly_trace_at(1.0f, k, rate, bursts);
            worst = fmax(worst, fabs(got - wanted) / wanted);
        }
        assert_true(vly_trace_at(1.0f, bursts, rate, bursts) == 0.0f);
        assert_true(vly_trace_at(1.0f, UINT32_MAX, rate, bursts) == 0.0f);
    }
    assert_true(worst < 1.6e-6);
}

static void weights_stay_inside(void **state)
{
    (void)state;
    const int32_t most = VLY_MASTER_MAX;
    assert_int_equal(vly_weight_change(most - 5, 1.0f, most), most);
    assert_int_equal(vly_weight_change(5, -1.0f, most), 0);
    assert_int_equal(vly_weight_change(0, 1e30f, most), most);
    assert_int_equal(vly_weight_change(most, -1e30f, most), 0);
    assert_int_equal(vly_weight_change(100, 0x1p-17f, most), 101);
    assert_int_equal(vly_weight_change(100, -0x1p-17f, most), 99);
    assert_int_equal(vly_weight_change(100, 0x1.fp-18f, most), 100);
    assert_true(vly_weight_f32(65536) == 1.0f);
}

/* The functions for one sign give the weights of that for both. */
static void one_sign_is_both(void **state)
{
    (void)state;
    const int32_t bounds[] = {1, 65536, VLY_MASTER_MAX};
    for (uint32_t k = 0; k < 300000; k++) {
        const int32_t most = bounds[k % 3];
        const int32_t at[] = {0, most, (int32_t)(uniform() * most)};
        const int32_t m = at[next() % 3];
        const float dw =
            k % 7 == 0 ? 0.0f : (float)exp(60.0 * (uniform() - 0.5));
        assert_int_equal(vly_weight_raised(m, dw, most),
                         vly_weight_change(m, dw, most));
        assert_int_equal(vly_weight_lowered(m, dw),
                         vly_weight_change(m, -dw, most));
    }
}

/* ---- a rule of windows ---------------------------------------------------
 */

/* Ends fire in some, all or none of the last D bursts; weights and steps of
 * FEAGI's own tests (test_stdp_plasticity.rs) and at the bounds. */
static void test_window(void **state)
{
    static const struct {
        int w;
        int up;
        int down;
        float source;
        float target;
        int wanted;
    } steps[] = {
        {0, 5, 2, 2, 2, 5},       {6, 6, 2, 2, 2, 12},
        {9, 6, 3, 2, 0, 6},       {9, 6, 3, 0, 2, 6},
        {1, 2, 4, 1, 0, 0},       {9, 6, 3, 2, 1, 6},
        {9, 6, 3, 1, 2, 6},       {9, 6, 3, 1, 1, 6},
        {9, 6, 3, 0, 0, 9},       {7, 5, 0, 1, 1, 7},
        {250, 5, 1, 2, 2, 255},   {251, 5, 1, 2, 2, 255},
        {255, 255, 1, 2, 2, 255}, {255, 0, 255, 0, 1, 0},
    };
    const vly_plasticity_info *rule = vly_plasticity_find("feagi_stdp");
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const uint32_t coefs[3] = {(uint32_t)steps[i].up << 16,
                                   (uint32_t)steps[i].down << 16, 255u << 16};
        const float x[2] = {steps[i].source, 0.0f};
        const float y[2] = {steps[i].target, 0.0f};
        assert_int_equal(rule->post(steps[i].w << 16, coefs, x, y),
                         steps[i].wanted << 16);
        assert_int_equal(rule->pre(steps[i].w << 16, coefs, x, y),
                         steps[i].w << 16);
    }
    for (uint32_t bursts = 1; bursts < 5; bursts++)
        for (uint32_t run = 1; run <= bursts; run++)
            for (uint32_t ago = 1; ago < 7; ago++)
                assert_true(vly_window_state(run, ago, bursts) ==
                            (ago > bursts                ? 0.0f
                             : ago == 1 && run == bursts ? 2.0f
                                                         : 1.0f));
}

/* ---- a synapse ------------------------------------------------------------
 */

typedef struct rule_case {
    const char *rule;
    const char *param[3]; /* NULL: fewer */
    double value[3];
} rule_case;

static const rule_case cases[] = {
    {"stdp", {"mu_plus", "mu_minus", "lambda"}, {0, 0, 0.005}},
    {"stdp", {"mu_plus", "mu_minus", "lambda"}, {1, 1, 0.005}},
    {"stdp", {"mu_plus", "mu_minus", "lambda"}, {0.4, 1, 0.005}},
    {"stdp", {"mu_plus", "mu_minus", "lambda"}, {0.02, 0.02, 0.005}},
    {"stdp_power", {"lambda", "alpha", "w_0"}, {0.005, 0.5, 5000}},
    {"stdp_triplet", {"a2_plus", NULL, NULL}, {1e-3, 0, 0}},
    {"stdp_inhibitory", {"eta", NULL, NULL}, {40, 0, 0}},
};

typedef struct synapse {
    const vly_plasticity_info *info;
    double params[16];
    uint32_t coefs[16];
    vly_learning_trace source[2];
    vly_learning_trace target[2];
    int32_t most;
    uint32_t delay;
    bool dendritic;
    bool nearest;
    int32_t start;
    const unsigned char *pre;
    const unsigned char *post;
} synapse;

/* What a simulation gives: m at the end and after every arrival. */
typedef struct outcome {
    int32_t m;
    uint64_t hash;
    double w; /* of the double */
    uint32_t coincidences;
} outcome;

static void outcome_add(outcome *o)
{
    o->hash = o->hash * UINT64_C(0x100000001b3) ^ (uint32_t)o->m;
}

static double param(const synapse *s, const char *name)
{
    for (uint32_t i = 0; i < s->info->n_params; i++)
        if (strcmp(s->info->params[i].name, name) == 0)
            return s->params[i];
    fail_msg("no %s", name);
    return 0.0;
}

static void synapse_init(synapse *s, const rule_case *of)
{
    s->info = vly_plasticity_find(of->rule);
    assert_non_null(s->info);
    for (uint32_t i = 0; i < s->info->n_params; i++) {
        s->params[i] = s->info->params[i].init;
        for (int k = 0; k < 3; k++)
            if (of->param[k] &&
                strcmp(of->param[k], s->info->params[i].name) == 0)
                s->params[i] = of->value[k];
    }
    const vly_plasticity_input input = {
        .params = s->params, .w_max = W_MAX, .unit = 1.0, .dt_ms = DT_MS};
    vly_plasticity_coefs(s->info, &input, s->coefs);
    vly_plasticity_traces(s->info, s->params, DT_MS, s->source, s->target);
    s->most = (int32_t)vly_plasticity_most(&input);
    assert_int_equal(s->most, (int32_t)W_MAX << 16);
    s->start = (int32_t)(uniform() * s->most);
}

/* Whether there is an event of the synapse in burst s. */
static bool arrives(const synapse *of, int64_t s)
{
    return s >= of->delay && s - of->delay < BURSTS && of->pre[s - of->delay];
}

static bool answers(const synapse *of, int64_t s)
{
    int64_t t = s - (of->dendritic ? 2 * (int64_t)of->delay : 0);
    return t >= 0 && t < BURSTS && of->post[t];
}

static int64_t end_of(const synapse *of)
{
    return BURSTS + 2 * (int64_t)of->delay;
}

/* ---- at each event ---------------------------------------------------------
 */

typedef struct traces {
    float x[2];
    double exact[2];
    int64_t last; /* burst of the last event */
} traces;

static const traces no_traces = {{0.0f, 0.0f}, {0.0, 0.0}, -100000000};

static void traces_at(const traces *of, const vly_learning_trace *how,
                      int64_t s, float x[2], double exact[2])
{
    for (int k = 0; k < 2; k++) {
        uint32_t age = (uint32_t)(s - of->last);
        x[k] = vly_trace_at(of->x[k], age, how[k].rate, how[k].bursts);
        exact[k] = how[k].bursts
                       ? of->exact[k] * exp(-(double)age * (double)how[k].rate)
                       : 0.0;
    }
}

static void traces_add(traces *to, const float x[2], const double exact[2],
                       bool nearest, int64_t s)
{
    for (int k = 0; k < 2; k++) {
        to->x[k] = nearest ? 1.0f : x[k] + 1.0f;
        to->exact[k] = nearest ? 1.0 : exact[k] + 1.0;
    }
    to->last = s;
}

/* Shares of w_max. */
static double double_pre(const synapse *s, double w, const double x[2],
                         const double y[2])
{
    const char *rule = s->info->id;
    if (strcmp(rule, "stdp") == 0)
        return w - param(s, "lambda") * param(s, "alpha") *
                       pow(w, param(s, "mu_minus")) * y[0];
    if (strcmp(rule, "stdp_power") == 0)
        return w - param(s, "lambda") * param(s, "alpha") * w * y[0];
    if (strcmp(rule, "stdp_triplet") == 0)
        return w - y[0] * (param(s, "a2_minus") + param(s, "a3_minus") * x[1]);
    return w + param(s, "eta") / W_MAX * (y[0] - param(s, "alpha"));
}

static double double_post(const synapse *s, double w, const double x[2],
                          const double y[2])
{
    const char *rule = s->info->id;
    if (strcmp(rule, "stdp") == 0)
        return w +
               param(s, "lambda") * pow(1.0 - w, param(s, "mu_plus")) * x[0];
    if (strcmp(rule, "stdp_power") == 0) {
        double w_0 = param(s, "w_0") / W_MAX;
        return w +
               param(s, "lambda") * w_0 * pow(w / w_0, param(s, "mu")) * x[0];
    }
    if (strcmp(rule, "stdp_triplet") == 0)
        return w + x[0] * (param(s, "a2_plus") + param(s, "a3_plus") * y[1]);
    return w + param(s, "eta") / W_MAX * x[0];
}

static double inside(double w)
{
    return w < 0.0 ? 0.0 : w > 1.0 ? 1.0 : w;
}

static outcome eager(const synapse *of)
{
    outcome o = {.m = of->start, .w = of->start / 65536.0 / W_MAX};
    traces source = no_traces;
    traces target = no_traces;
    for (int64_t s = 0; s < end_of(of); s++) {
        bool pre = arrives(of, s);
        bool post = answers(of, s);
        float x[2], y[2];
        double xd[2], yd[2];
        if (!pre && !post)
            continue;
        o.coincidences += pre && post;
        traces_at(&source, of->source, s, x, xd);
        traces_at(&target, of->target, s, y, yd);
        for (int step = 0; step < 2; step++) {
            bool is_post = of->dendritic ? step == 0 : step == 1;
            if (is_post && post) {
                o.m = of->info->post(o.m, of->coefs, x, y);
                o.w = inside(double_post(of, o.w, xd, yd));
            } else if (!is_post && pre) {
                o.m = of->info->pre(o.m, of->coefs, x, y);
                o.w = inside(double_pre(of, o.w, xd, yd));
                outcome_add(&o);
            }
        }
        if (pre)
            traces_add(&source, x, xd, of->nearest, s);
        if (post)
            traces_add(&target, y, yd, of->nearest, s);
    }
    return o;
}

/* ---- at arrivals and flushes ------------------------------------------------
 */

/* The target's spikes with its traces before each, as a ring would keep them.
 */
typedef struct history {
    int64_t *burst;
    float (*y)[2];
    uint32_t n;
    traces now;
} history;

static void history_grow(history *h, const synapse *of, int64_t until)
{
    double unused[2];
    float y[2];
    int64_t s = h->n ? h->burst[h->n - 1] + 1 : 0;
    for (; s < until; s++) {
        if (!answers(of, s))
            continue;
        traces_at(&h->now, of->target, s, y, unused);
        memcpy(h->y[h->n], y, sizeof y);
        h->burst[h->n++] = s;
        traces_add(&h->now, y, unused, of->nearest, s);
    }
}

static outcome lazy(const synapse *of, history *h)
{
    outcome o = {.m = of->start};
    traces after = no_traces; /* the last arrival counted */
    float before[2] = {0.0f, 0.0f};
    uint32_t done = 0; /* spikes of the target that have acted */
    int64_t flush = 1 + (int64_t)(next() % 5000);
    double unused[2];
    h->n = 0;
    h->now = no_traces;
    for (int64_t s = 0; s <= end_of(of); s++) {
        bool pre = arrives(of, s);
        float x[2], y[2];
        if (!pre && s != flush && s != end_of(of))
            continue;
        /* y at the arrival: spikes before this burst */
        history_grow(h, of, s);
        traces_at(&h->now, of->target, s, y, unused);
        if (pre && of->dendritic)
            history_grow(h, of, s + 1);
        for (; done < h->n; done++) {
            traces_at(&after, of->source, h->burst[done], x, unused);
            o.m = of->info->post(o.m, of->coefs,
                                 h->burst[done] == after.last ? before : x,
                                 h->y[done]);
        }
        if (pre) {
            traces_at(&after, of->source, s, before, unused);
            o.m = of->info->pre(o.m, of->coefs, before, y);
            outcome_add(&o);
            traces_add(&after, before, unused, of->nearest, s);
        }
        if (s == flush)
            flush = s + 1 + (int64_t)(next() % 5000);
    }
    return o;
}

static void fill_train(unsigned char *train)
{
    double rate = pow(10.0, 2.0 * uniform()) * DT_MS * 1e-3; /* 1 to 100 Hz */
    for (int t = 0; t < BURSTS; t++)
        train[t] = uniform() < rate;
}

static void eager_is_lazy(void **state)
{
    (void)state;
    unsigned char *pre = malloc(BURSTS);
    unsigned char *post = malloc(BURSTS);
    history h = {.burst = malloc(BURSTS * sizeof *h.burst),
                 .y = malloc(BURSTS * sizeof *h.y)};
    assert_true(pre && post && h.burst && h.y);
    uint32_t coincidences = 0;
    double worst = 0.0;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (int k = 0; k < 16; k++) {
            synapse of = {.delay = 1 + (uint32_t)(next() % 20),
                          .dendritic = k & 1,
                          .nearest = k % 4 >= 2,
                          .pre = pre,
                          .post = post};
            synapse_init(&of, &cases[c]);
            fill_train(pre);
            fill_train(post);
            outcome one = eager(&of);
            outcome two = lazy(&of, &h);
            if (one.m != two.m || one.hash != two.hash)
                fail_msg("%s, trial %d: lazy gives %d, eager %d", of.info->id,
                         k, two.m, one.m);
            double off = fabs(one.m / 65536.0 / W_MAX - one.w);
            if (!(off <= DISTANCE))
                fail_msg("%s, trial %d: %.3g of w_max from double", of.info->id,
                         k, off);
            worst = fmax(worst, off);
            coincidences += one.coincidences;
        }
    print_message("%u coincidences, at most %.3g of w_max from double\n",
                  (unsigned)coincidences, worst);
    assert_true(coincidences > 20);
    free(pre);
    free(post);
    free(h.burst);
    free(h.y);
}

/* "A rule's post changes nothing if all x are 0." */
static void silent_sources_change_nothing(void **state)
{
    const float none[2] = {0.0f, 0.0f};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (int k = 0; k < 100; k++) {
            synapse of = {0};
            const float y[2] = {(float)uniform(), (float)uniform()};
            synapse_init(&of, &cases[c]);
            assert_int_equal(of.info->post(of.start, of.coefs, none, y),
                             of.start);
        }
}

/* As `volley doc stdp_power` says: below 2^-8 of a unit of the map, 2^-22 to
 * 2^-23 of w_max, a weight reads as 0 and stays. */
static void tiny_weights_stay(void **state)
{
    const vly_stdp_power_coef c = {
        .up = 10.0f, .down = 0.5f, .mu = 0.25f, .most = 20000u << 16};
    (void)state;
    for (int32_t m = 0; m < 256; m++) {
        assert_int_equal(vly_stdp_power_post(m, c, 1.0f, 0.0f, 0.0f, 0.0f), m);
        assert_int_equal(vly_stdp_power_pre(m, c, 0.0f, 0.0f, 1.0f, 0.0f), m);
    }
    assert_true(vly_stdp_power_post(256, c, 1.0f, 0.0f, 0.0f, 0.0f) > 256);
    assert_true(vly_stdp_power_pre(256, c, 0.0f, 0.0f, 1.0f, 0.0f) < 256);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(logarithm),
    cmocka_unit_test(power),
    cmocka_unit_test(decay),
    cmocka_unit_test(weights_stay_inside),
    cmocka_unit_test(one_sign_is_both),
    cmocka_unit_test(eager_is_lazy),
    cmocka_unit_test(test_window),
    cmocka_unit_test(tiny_weights_stay),
    cmocka_unit_test(silent_sources_change_nothing),
};

VLY_TEST_MAIN(tests)
