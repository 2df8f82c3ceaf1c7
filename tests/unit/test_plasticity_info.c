/* SPDX-License-Identifier: Apache-2.0
 * The tables of plasticity rules as data: coefficients by hand, lengths of
 * traces, hashes.
 */
#include "volley_test.h"

#include <math.h>

#include "base/number.h"
#include "genome/plasticity_info.h"

static double as_float(uint32_t word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return (double)x;
}

static void tables_are_whole(void **state)
{
    (void)state;
    assert_true(vly_plasticity_count() >= 4);
    assert_null(vly_plasticity_at(vly_plasticity_count()));
    assert_null(vly_plasticity_find("no such rule"));
    for (uint32_t i = 0; i < vly_plasticity_count(); i++) {
        const vly_plasticity_info *info = vly_plasticity_at(i);
        assert_ptr_equal(vly_plasticity_find(info->id), info);
        assert_true(*info->text && *info->source && *info->equations);
        assert_true(info->table_hash != 0);
        for (uint32_t k = 0; k < i; k++)
            assert_true(info->table_hash != vly_plasticity_at(k)->table_hash);
        for (uint32_t p = 0; p < info->n_params; p++) {
            const vly_param_info *param = &info->params[p];
            assert_true(param->lo <= param->init && param->init <= param->hi);
            assert_true(*param->text);
        }
        assert_true(info->n_traces > 0 && info->n_traces <= 4);
        for (uint32_t t = 0; t < info->n_traces; t++) {
            const vly_trace_info *trace = &info->traces[t];
            assert_true(trace->index < (info->short_term ? 3 : 2));
            assert_true(trace->param < info->n_params);
            assert_string_equal(info->params[trace->param].unit,
                                info->window ? "bursts" : "ms");
        }
        for (uint32_t c = 0; c < info->n_coefs; c++)
            assert_int_equal(info->coefs[c].type == VLY_TYPE_U32,
                             info->window ||
                                 strcmp(info->coefs[c].name, "most") == 0);
    }
}

/* Parameters in the order of stdp.def: tau_plus_ms, tau_minus_ms, lambda,
 * alpha, mu_plus, mu_minus; coefficients: up, down, inverse, mu_plus, mu_minus,
 * most. */
static void coefficients_by_hand(void **state)
{
    const double params[] = {16.8, 33.7, 0.01, 1.05, 0.4, 0.02};
    const vly_plasticity_input input = {
        .params = params, .w_max = 3.0, .unit = 0x1p-13, .dt_ms = 0.1};
    uint32_t words[6];
    (void)state;
    const vly_plasticity_info *stdp = vly_plasticity_find("stdp");
    assert_int_equal(stdp->n_coefs, 6);
    vly_plasticity_coefs(stdp, &input, words);
    assert_close(as_float(words[0]), 0.01 * 3 * 8192, 1e-5);
    assert_close(as_float(words[1]), 0.01 * 1.05 * 3 * 8192, 1e-5);
    assert_close(as_float(words[2]), 1.0 / (3 * 8192), 1e-11);
    assert_close(as_float(words[3]), (double)0.4f, 0.0);
    assert_close(as_float(words[4]), (double)0.02f, 0.0);
    assert_int_equal(words[5], 3u * 8192u * 65536u);
    assert_int_equal(vly_plasticity_most(&input), words[5]);
}

/* Steps of feagi_stdp are whole, and within 0 and 255: parameters are
 * plasticity_window, plasticity_constant, ltp_multiplier, ltd_multiplier. */
static void steps_of_windows(void **state)
{
    static const struct {
        double params[4];
        uint32_t up;
        uint32_t down;
    } cases[] = {
        {{2, 1, 5, 2}, 5, 2},          {{1, 2, 3, 1}, 6, 2},
        {{1, 3, 100, 85}, 255, 255},   {{3, -2, 4, -3}, 0, 6},
        {{9, 1e9, 1e9, -1e9}, 255, 0}, {{1, 0, 5, 5}, 0, 0},
    };
    const vly_plasticity_info *rule = vly_plasticity_find("feagi_stdp");
    (void)state;
    assert_true(rule->window);
    assert_int_equal(rule->n_coefs, 3);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const vly_plasticity_input input = {.params = cases[i].params,
                                            .w_max = 255.0,
                                            .unit = 1.0,
                                            .dt_ms = 0.1};
        vly_learning_trace source[2], target[2];
        uint32_t words[3];
        assert_null(rule->check_of(&input));
        vly_plasticity_coefs(rule, &input, words);
        assert_int_equal(words[0], cases[i].up << 16);
        assert_int_equal(words[1], cases[i].down << 16);
        assert_int_equal(words[2], 255u << 16);
        vly_plasticity_traces(rule, input.params, input.dt_ms, source, target);
        assert_int_equal(source[0].bursts, (uint32_t)input.params[0]);
        assert_int_equal(target[0].bursts, source[0].bursts);
        assert_true(source[0].rate == 0.0f && target[0].rate == 0.0f);
        assert_int_equal(source[1].bursts | target[1].bursts, 0);
    }
}

static void units_scale(void **state)
{
    (void)state;
    /* eta of stdp_inhibitory and w_0 of stdp_power are in the weights' unit */
    for (uint32_t i = 0; i < vly_plasticity_count(); i++) {
        const vly_plasticity_info *info = vly_plasticity_at(i);
        double params[16] = {0};
        uint32_t fine[16], coarse[16];
        for (uint32_t p = 0; p < info->n_params; p++)
            params[p] = info->params[p].init;
        vly_plasticity_input input = {
            .params = params, .w_max = 1.0, .unit = 0x1p-14, .dt_ms = 1.0};
        vly_plasticity_coefs(info, &input, fine);
        /* all that has the unit of a weight twice as large, and the unit too */
        input.w_max = 2.0;
        input.unit = 0x1p-13;
        for (uint32_t p = 0; p < info->n_params; p++)
            if (vly_plasticity_scaled(info, p))
                params[p] *= 2.0;
        vly_plasticity_coefs(info, &input, coarse);
        for (uint32_t c = 0; c < info->n_coefs; c++)
            if (fine[c] != coarse[c])
                fail_msg("%s: %s depends on the unit", info->id,
                         info->coefs[c].name);
    }
}

/* The parameters of stdp_reward that count here. */
enum { A_PLUS = 2, A_MINUS = 3, TAU_C = 4, INTERVAL_MS = 8, N_REWARD = 9 };

/* Eligibilities have room for 1,024 times what a pair adds, whatever that is
 * beside the bound of the weights, in the finest unit that does. */
static void room_of_eligibilities(void **state)
{
    static const struct {
        double a_plus;
        double a_minus;
        double scale;
    } cases[] = {
        {0.0, 0.0, 1.0},    {1e-3, 0.0, 1.0},    {0x1p-9, 0.0, 2.0},
        {0.1, 0.15, 128.0}, {0.2, 0.15, 128.0},  {0.5, 0.2, 512.0},
        {0.0, 1.0, 1024.0}, {10.0, 0.0, 8192.0}, {1000.0, 1e-3, 0x1p19},
        {1e9, 1e9, 0x1p39},
    };
    const vly_plasticity_info *rule = vly_plasticity_find("stdp_reward");
    double params[N_REWARD];
    uint32_t words[8];
    (void)state;
    assert_int_equal(rule->n_params, N_REWARD);
    for (uint32_t p = 0; p < N_REWARD; p++)
        params[p] = rule->params[p].init;
    vly_plasticity_input input = {
        .params = params, .w_max = 1.0, .unit = 0x1p-14, .dt_ms = 0.5};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        params[A_PLUS] = cases[i].a_plus;
        params[A_MINUS] = cases[i].a_minus;
        const double scale = vly_plasticity_scale(rule, &input);
        assert_close(scale, cases[i].scale, 0.0);
        const double most = fmax(cases[i].a_plus, cases[i].a_minus) * 0x1p14;
        assert_true(1024.0 * most <= 32768.0 * scale);
        assert_true(scale <= 1.0 || 1024.0 * most >= 32767.9 * scale / 2);
        vly_plasticity_coefs(rule, &input, words);
        assert_true(as_float(words[0]) ==
                    (double)(float)(cases[i].a_plus * 0x1p14 / scale));
        assert_true(as_float(words[1]) ==
                    (double)(float)(cases[i].a_minus * 0x1p14 / scale));
        assert_true(as_float(words[2]) == (double)(float)(1e-2 * scale));
        assert_close(as_float(words[5]), exp(-0.01), 1e-7); /* fade */
    }
    /* in a net of a given unit */
    params[A_PLUS] = 0.625;
    params[A_MINUS] = 0.1;
    input.scale = 256.0;
    double found = 0.0, most = 0.0;
    assert_string_equal(vly_plasticity_outgrows(rule, &input, &found, &most),
                        "a_plus");
    assert_close(found, 0.625, 0.0);
    assert_close(most, 0.5, 1e-6);
    vly_plasticity_coefs(rule, &input, words);
    assert_close(as_float(words[0]), 40.0, 0.0);
    params[A_PLUS] = most;
    assert_null(vly_plasticity_outgrows(rule, &input, &found, &most));
    params[A_MINUS] = 0.6;
    assert_string_equal(vly_plasticity_outgrows(rule, &input, &found, &most),
                        "a_minus");
    /* other rules have none */
    assert_close(vly_plasticity_scale(vly_plasticity_find("stdp"), &input), 1.0,
                 0.0);
}

static void is_lost(const char *rule, const vly_plasticity_input *input,
                    const char *text)
{
    char message[VLY_LOSS_SIZE] = "";
    const char *lost =
        vly_plasticity_loses(vly_plasticity_find(rule), input, message);
    if (!lost != !text || (text && strcmp(lost, text) != 0))
        fail_msg("%s: %s, wanted %s", rule, lost ? lost : "nothing is lost",
                 text ? text : "nothing");
}

/* A coefficient that is too small to be kept does not become 0 in silence. */
static void lost_coefficients(void **state)
{
    /* tau_plus_ms, tau_minus_ms, lambda, alpha, mu, w_0 */
    double power[] = {20.0, 20.0, 0.1, 0.0, 3.0, 1.0};
    double reward[] = {20.0, 20.0, 0.1, 0.15, 1e-3, 200.0, 5.0, 0.0, 1e5};
    double tsodyks[] = {1e-13, 800.0, 0.0, 3.0, 1.0, 0.0, 0.0};
    vly_plasticity_input input = {
        .params = power, .w_max = 1.0, .unit = 0x1p-14, .dt_ms = 1.0};
    (void)state;
    is_lost("stdp_power", &input, NULL); /* 0.1 * 2^-28 */
    power[4] = 3.5;
    is_lost("stdp_power", &input, NULL); /* 0.1 * 2^-35 */
    power[4] = 4.0;
    is_lost("stdp_power", &input,
            "a coefficient up (of lambda, mu, w_0) that is 0 or from 2^-40 = "
            "9.1e-13 to 2^40 = 1.1e12 in units of the map's weights, not "
            "2.27e-14");
    power[2] = 0.0; /* no potentiation is meant */
    is_lost("stdp_power", &input, NULL);
    power[2] = 1.0;
    power[4] = 0.0;
    power[5] = 1e9;
    is_lost("stdp_power", &input,
            "a coefficient up (of lambda, mu, w_0) that is 0 or from 2^-40 = "
            "9.1e-13 to 2^40 = 1.1e12 in units of the map's weights, not "
            "1.64e+13");
    input.params = reward; /* fade: e^(-1e8) */
    is_lost("stdp_reward", &input, NULL);
    reward[2] = 1e9;
    reward[3] = 1e-9;
    is_lost("stdp_reward", &input,
            "a coefficient a_minus (of a_minus) that is 0 or from 2^-40 = "
            "9.1e-13 to 2^40 = 1.1e12 in units of the map's weights, not "
            "2.98e-17");
    input.params = tsodyks;
    input.unit = 1.0;
    is_lost("tsodyks", &input,
            "a coefficient U (of U) that is 0 or from 2^-40 = 9.1e-13 to 2^40 "
            "= 1.1e12, not 1e-13");
    /* each rule as it is by default, onto any unit */
    for (uint32_t i = 0; i < vly_plasticity_count(); i++) {
        const vly_plasticity_info *info = vly_plasticity_at(i);
        double params[16];
        for (uint32_t p = 0; p < info->n_params; p++)
            params[p] = info->params[p].init;
        input = (vly_plasticity_input){
            .params = params, .w_max = 1.0, .unit = 0x1p-14, .dt_ms = 0.001};
        is_lost(info->id, &input, NULL);
        for (uint32_t p = 0; p < info->n_params; p++)
            params[p] *= vly_plasticity_scaled(info, p) ? 3e-5 : 1.0;
        input.unit *= 0x1p-15;
        input.w_max *= 3e-5;
        is_lost(info->id, &input, NULL);
    }
}

static void bounds_are_rounded(void **state)
{
    vly_plasticity_input input = {.w_max = 1.0, .unit = 0x1p-14};
    (void)state;
    assert_int_equal(vly_plasticity_most(&input), 1u << 30);
    input.w_max = 0.3; /* 0.3 * 2^14 * 2^16 = 322122547.2 */
    assert_int_equal(vly_plasticity_most(&input), 322122547u);
    input.w_max = 32767.0;
    input.unit = 1.0;
    assert_int_equal(vly_plasticity_most(&input), VLY_MASTER_MAX);
    input.w_max = 1e9;
    assert_int_equal(vly_plasticity_most(&input), VLY_MASTER_MAX);
}

/* 20 ms at 0.1 ms: 200 * 15 ln 2 = 2079.4 */
static void traces_have_an_end(void **state)
{
    vly_learning_trace x[2], y[2];
    const double params[] = {20.0, 0.001, 0.01, 1.0, 0.0, 0.0};
    (void)state;
    vly_plasticity_traces(vly_plasticity_find("stdp"), params, 0.1, x, y);
    assert_int_equal(x[0].bursts, 2080);
    assert_close((double)x[0].rate, (double)0.005f, 0.0);
    assert_int_equal(x[1].bursts, 0);
    assert_int_equal(y[0].bursts, 1); /* far below a burst */
    assert_close((double)y[0].rate, 100.0, 0.0);
    assert_int_equal(y[1].bursts, 0);
    assert_close(vly_trace_bursts(20.0, 0.1), 2080.0, 0.0);
    assert_close(vly_trace_bursts(1e-6, 0.1), 1.0, 0.0);
    for (double dt_ms = 1e-4; dt_ms <= 1000.0; dt_ms *= 10.0) {
        double most = vly_trace_tau_max(dt_ms);
        assert_true(vly_trace_bursts(most, dt_ms) <= VLY_TRACE_BURSTS_MAX);
        assert_true(vly_trace_bursts(most + 2e-6 + most * 1e-6, dt_ms) >
                    VLY_TRACE_BURSTS_MAX);
    }
    const double triplet[] = {16.8, 101.0, 33.7, 125.0, 0, 0, 0, 0};
    vly_plasticity_traces(vly_plasticity_find("stdp_triplet"), triplet, 1.0, x,
                          y);
    assert_int_equal(x[0].bursts, 175); /* 16.8 * 10.397 = 174.7 */
    assert_int_equal(x[1].bursts, 1051);
    assert_int_equal(y[0].bursts, 351);
    assert_int_equal(y[1].bursts, 1300);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(tables_are_whole),
    cmocka_unit_test(coefficients_by_hand),
    cmocka_unit_test(steps_of_windows),
    cmocka_unit_test(units_scale),
    cmocka_unit_test(room_of_eligibilities),
    cmocka_unit_test(lost_coefficients),
    cmocka_unit_test(bounds_are_rounded),
    cmocka_unit_test(traces_have_an_end),
};

VLY_TEST_MAIN(tests)
