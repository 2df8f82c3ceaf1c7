/* SPDX-License-Identifier: Apache-2.0
 * Small nets whose spikes can be worked out by hand.
 */
#include "test_cpu_net.h"

#include <stdlib.h>

/* Runs n bursts with input value 256 (1.0 at q = 8) to neuron 0 in bursts
 * begin, begin + every, ... and gives the pattern of one neuron: '1' fired. */
static void run_pattern(const test_net *net, uint64_t n, uint64_t begin,
                        uint64_t every, int32_t value, uint32_t neuron,
                        char *pattern)
{
    vly_input inputs[256];
    uint64_t n_inputs = 0;
    for (uint64_t t = begin; t < n; t += every)
        inputs[n_inputs++] = (vly_input){.burst = t, .value = value};
    vly_backend_net *made = test_create(net, 1, NULL, NULL);
    test_run run;
    test_run_bursts(net, made, n, inputs, n_inputs, &run);
    uint64_t at = 0;
    for (uint64_t t = 0; t < n; t++) {
        pattern[t] = '_';
        for (uint32_t i = 0; i < run.counts[t]; i++)
            if (run.spikes[at + i] == neuron)
                pattern[t] = '1';
        at += run.counts[t];
    }
    pattern[n] = 0;
    test_run_deinit(&run);
    test_backend->net_destroy(made);
}

/* A -> B after 3 bursts, B -> C after 2 + 4. */
static void test_chain(void **state)
{
    (void)state;
    test_net net;
    test_net_init(&net, 1);
    uint32_t coefs[6];
    test_delta_coefs(coefs, 0.5f, 0);
    for (int i = 0; i < 3; i++)
        test_area(&net, "lif_psc_delta", 1, coefs, 8);
    test_synapse(&net, 0, 0, 1, 0, 256, 3);
    uint32_t zero = 0;
    int16_t weight = 300;
    uint8_t delay = 4;
    test_projection(&net, 1, 2, 2, 1, &zero, &zero, &weight, &delay);
    test_net_finish(&net);
    assert_int_equal(net.desc.max_delay, 6);
    char pattern[64];
    run_pattern(&net, 14, 1, 100, 256, 0, pattern);
    assert_string_equal(pattern, "_1____________");
    run_pattern(&net, 14, 1, 100, 256, 1, pattern);
    assert_string_equal(pattern, "____1_________");
    run_pattern(&net, 14, 1, 100, 256, 2, pattern);
    assert_string_equal(pattern, "__________1___");
    /* half of the threshold in each burst: 0.5, 0.75, 0.875 ... never 1 */
    run_pattern(&net, 20, 0, 1, 128, 0, pattern);
    assert_string_equal(pattern, "____________________");
    /* 0.75, 0.375 + 0.75 = 1.125: every second burst */
    run_pattern(&net, 8, 0, 1, 192, 0, pattern);
    assert_string_equal(pattern, "_1_1_1_1");
    test_net_deinit(&net);
}

static void test_delta_refractory(void **state)
{
    (void)state;
    test_net net;
    test_net_init(&net, 1);
    uint32_t coefs[6];
    test_delta_coefs(coefs, 1.0f, 2);
    test_area(&net, "lif_psc_delta", 1, coefs, 8);
    test_net_finish(&net);
    char pattern[64];
    run_pattern(&net, 9, 0, 1, 256, 0, pattern);
    assert_string_equal(pattern, "1__1__1__");
    /* what arrives while refractory is lost: 0.6 at 0, 1, 2, ... fires at 1,
     * holds 2 and 3, starts again from 0 at 4 */
    run_pattern(&net, 12, 0, 1, 154, 0, pattern);
    assert_string_equal(pattern, "_1___1___1__");
    test_net_deinit(&net);
}

/* ---- FEAGI ------------------------------------------------------------- */

static void one_feagi(test_net *net, const uint32_t *coefs)
{
    test_net_init(net, 1);
    test_area(net, "feagi", 1, coefs, 8);
    test_net_finish(net);
}

static void test_feagi_snooze(void **state)
{
    (void)state;
    uint32_t coefs[FEAGI_COEFS];
    test_feagi_coefs(coefs);
    coefs[FEAGI_REFRACTORY] = 1;
    coefs[FEAGI_SNOOZE] = 2;
    coefs[FEAGI_FIRE_LIMIT] = 3;
    test_net net;
    one_feagi(&net, coefs);
    char pattern[64];
    run_pattern(&net, 21, 0, 1, 256, 0, pattern);
    assert_string_equal(pattern, "1_1_1___1_1_1___1_1_1");
    test_net_deinit(&net);
}

/* The countdown runs in updates, not in bursts, and takes the input. */
static void test_feagi_refractory(void **state)
{
    (void)state;
    uint32_t coefs[FEAGI_COEFS];
    test_feagi_coefs(coefs);
    coefs[FEAGI_REFRACTORY] = 1;
    test_net net;
    one_feagi(&net, coefs);
    char pattern[64];
    run_pattern(&net, 13, 0, 3, 256, 0, pattern);
    assert_string_equal(pattern, "1_____1_____1");
    /* 0.6: fires with the second, loses the third */
    run_pattern(&net, 6, 0, 1, 154, 0, pattern);
    assert_string_equal(pattern, "_1__1_");
    test_net_deinit(&net);
}

/* Input of sum 0 makes a candidate: it leaks, and counts as updated. */
static void test_feagi_zero_sum(void **state)
{
    (void)state;
    uint32_t coefs[FEAGI_COEFS];
    test_feagi_coefs(coefs);
    coefs[FEAGI_KEEP] = test_float(0.5f);
    test_net net;
    one_feagi(&net, coefs);
    const vly_input inputs[] = {{.burst = 0, .value = 128},
                                {.burst = 3, .value = 0},
                                {.burst = 5, .value = 77},
                                {.burst = 5, .value = -77}};
    vly_backend_net *made = test_create(&net, 1, NULL, NULL);
    const float wanted[] = {0.25f, 0.25f, 0.25f, 0.125f, 0.125f, 0.0625f};
    for (uint32_t t = 0; t < 6; t++) {
        test_run run;
        test_run_bursts(&net, made, 1, inputs, 4, &run);
        uint32_t word = 0;
        assert_int_equal(
            test_backend->field_read(made, 0, 0, 0, 1, &word, NULL), VLY_OK);
        assert_int_equal(word, test_float(wanted[t]));
        assert_int_equal(run.run.n_candidates, t == 0 || t == 3 || t == 5);
        assert_int_equal(run.run.n_events, 0);
        test_run_deinit(&run);
    }
    test_backend->net_destroy(made);
    test_net_deinit(&net);
}

static void test_feagi_no_accumulation(void **state)
{
    (void)state;
    uint32_t coefs[FEAGI_COEFS];
    test_feagi_coefs(coefs);
    coefs[FEAGI_ACCUMULATE] = 0;
    test_net net;
    one_feagi(&net, coefs);
    char pattern[64];
    run_pattern(&net, 6, 0, 1, 154, 0, pattern);
    assert_string_equal(pattern, "______");
    run_pattern(&net, 6, 0, 2, 256, 0, pattern);
    assert_string_equal(pattern, "1_1_1_");
    test_net_deinit(&net);
}

/* Gains: psp << Q, divided by the out-degree and rounded up, or the potential
 * at the spike; and what they do at the target: weight * gain * 2^-Q. */
static void gain_case(uint32_t driven, uint32_t uniform, int32_t input,
                      uint32_t gain, float potential)
{
    uint32_t coefs[FEAGI_COEFS];
    test_feagi_coefs(coefs);
    coefs[FEAGI_PSP] = 5;
    coefs[FEAGI_DRIVEN] = driven;
    coefs[FEAGI_UNIFORM] = uniform;
    test_net net;
    test_net_init(&net, 1);
    test_area(&net, "feagi", 1, coefs, 8);
    coefs[FEAGI_THRESHOLD] = test_float(1e6f);
    test_area(&net, "feagi", 3, coefs, 8);
    for (uint32_t i = 0; i < 3; i++)
        test_synapse(&net, 0, 0, 1, i, (int16_t)(i == 2 ? -2 : 1), 1 + i);
    test_net_finish(&net);
    vly_backend_net *made = test_create(&net, 1, NULL, NULL);
    const vly_input stimulus = {.value = input};
    test_run run;
    test_run_bursts(&net, made, 4, &stimulus, 1, &run);
    assert_int_equal(run.counts[0], 1);
    assert_int_equal(run.gains[0], gain);
    assert_int_equal(run.run.n_events, 3);
    assert_int_equal(run.run.n_candidates, 4);
    uint32_t words[3];
    assert_int_equal(test_backend->field_read(made, 1, 0, 0, 3, words, NULL),
                     VLY_OK);
    assert_int_equal(words[0], test_float(potential));
    assert_int_equal(words[1], test_float(potential));
    assert_int_equal(words[2], test_float(-2 * potential));
    test_run_deinit(&run);
    test_backend->net_destroy(made);
    test_net_deinit(&net);
}

static void test_feagi_gains(void **state)
{
    (void)state;
    gain_case(0, 1, 256, 5 << 8, 5.0f);
    /* 1280 / 3 = 426.67 -> 427 */
    gain_case(0, 0, 256, 427, 427.0f / 256);
    /* 7.5 rounds away from 0, 7.25 down, 300 is clamped */
    gain_case(1, 1, 1920, 8 << 8, 8.0f);
    gain_case(1, 1, 1856, 7 << 8, 7.0f);
    gain_case(1, 1, 76800, 255 << 8, 255.0f);
    gain_case(1, 0, 1920, 683, 683.0f / 256);
}

/* A spike of another model has gain 2^Q; a FEAGI spike at another model acts
 * with its weight alone. */
static void test_mixed_gains(void **state)
{
    (void)state;
    uint32_t coefs[FEAGI_COEFS];
    test_net net;
    test_net_init(&net, 1);
    test_delta_coefs(coefs, 1.0f, 0);
    test_area(&net, "lif_psc_delta", 1, coefs, 8);
    test_feagi_coefs(coefs);
    coefs[FEAGI_PSP] = 9;
    test_area(&net, "feagi", 1, coefs, 8);
    test_delta_coefs(coefs, 1.0f, 0);
    coefs[3] = test_float(100.0f);
    test_area(&net, "lif_psc_delta", 1, coefs, 4);
    test_synapse(&net, 0, 0, 1, 0, 3, 2);  /* 3 at the FEAGI neuron: fires */
    test_synapse(&net, 1, 0, 2, 0, 40, 1); /* 40 / 16 = 2.5 */
    test_net_finish(&net);
    vly_backend_net *made = test_create(&net, 1, NULL, NULL);
    const vly_input stimulus = {.value = 256};
    test_run run;
    test_run_bursts(&net, made, 4, &stimulus, 1, &run);
    const uint32_t counts[] = {1, 0, 1, 0};
    assert_memory_equal(run.counts, counts, sizeof counts);
    assert_int_equal(run.gains[0], 256);
    assert_int_equal(run.gains[1], 9 << 8);
    uint32_t word;
    assert_int_equal(test_backend->field_read(made, 2, 0, 0, 1, &word, NULL),
                     VLY_OK);
    assert_int_equal(word, test_float(2.5f));
    test_run_deinit(&run);
    test_backend->net_destroy(made);
    test_net_deinit(&net);
}

/* ---- digest and stimuli ------------------------------------------------ */

/* Worked out apart: mix64(mix64(t) ^ (neuron << 32 | gain)). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void test_digest(void **state)
{
    (void)state;
    /* the first two outputs of splitmix64 from seed 0 */
    assert_true(mix(0x9e3779b97f4a7c15u) == 0xe220a8397b1dcdafu);
    assert_true(mix(0x9e3779b97f4a7c15u * 2) == 0x6e789e6aa1b965f4u);
    test_net net;
    test_net_init(&net, 1);
    uint32_t coefs[6];
    test_delta_coefs(coefs, 1.0f, 0);
    test_area(&net, "lif_psc_delta", 200, coefs, 8);
    test_net_finish(&net);
    const vly_input inputs[] = {{.burst = 2, .neuron = 3, .value = 256},
                                {.burst = 2, .neuron = 199, .value = 256}};
    vly_backend_net *made = test_create(&net, 2, NULL, NULL);
    test_run run;
    test_run_bursts(&net, made, 3, inputs, 2, &run);
    assert_true(run.digests[0] == 0);
    assert_true(run.digests[2] ==
                mix(mix(2) ^ ((uint64_t)3 << 32 | 256)) +
                    mix(mix(2) ^ ((uint64_t)199 << 32 | 256)));
    test_run_deinit(&run);
    test_backend->net_destroy(made);
    test_net_deinit(&net);
}

/* Philox4x32-10 with key 0 and counter 0 gives 6627e8d5 e169c58d bc57ac4c
 * 9b00dbd8 (published test vector): neuron 0 of stream 0 in bursts 0 to 3. */
static void test_poisson_words(void **state)
{
    (void)state;
    static const uint32_t thresholds[] = {0x6627e8d5u, 0x9b00dbd9u, 0xbc57ac4cu,
                                          0xe169c58eu};
    const int32_t wanted[] = {1, 3, 3, 1}; /* thresholds not above the word */
    for (uint32_t isa = 0; isa < 2; isa++) {
        test_net net;
        test_net_init(&net, 1);
        net.desc.seed_input = 0;
        uint32_t coefs[6];
        test_delta_coefs(coefs, 1.0f, 0);
        coefs[3] = test_float(1000.0f);
        test_area(&net, "lif_psc_delta", 40, coefs, 8);
        test_stimulus(&net, 0, thresholds, 4, 10, 256, 0);
        net.stimuli[0].stream = 0;
        test_net_finish(&net);
        vly_backend_net *made =
            test_create(&net, 1, isa ? "isa=scalar" : NULL, NULL);
        float sum = 0;
        for (uint32_t t = 0; t < 4; t++) {
            test_run run;
            test_run_bursts(&net, made, 1, NULL, 0, &run);
            test_run_deinit(&run);
            uint32_t word;
            assert_int_equal(
                test_backend->field_read(made, 0, 0, 0, 1, &word, NULL),
                VLY_OK);
            sum += (float)(10 + 256 * wanted[t]) / 256.0f;
            assert_int_equal(word, test_float(sum));
        }
        test_backend->net_destroy(made);
        test_net_deinit(&net);
    }
}

/* k = 0 is no event, unless the stimulus says always. */
static void test_poisson_candidates(void **state)
{
    (void)state;
    static const uint32_t thresholds[] = {0xffffffffu};
    for (uint32_t always = 0; always < 2; always++) {
        uint32_t coefs[FEAGI_COEFS];
        test_feagi_coefs(coefs);
        test_net net;
        test_net_init(&net, 1);
        test_area(&net, "feagi", 1000, coefs, 8);
        test_stimulus(&net, 0, thresholds, 1, 0, 256,
                      always ? VLY_STIMULUS_ALWAYS : 0);
        test_net_finish(&net);
        vly_backend_net *made = test_create(&net, 2, NULL, NULL);
        test_run run;
        test_run_bursts(&net, made, 10, NULL, 0, &run);
        assert_int_equal(run.run.n_candidates, always ? 10000 : 0);
        test_run_deinit(&run);
        test_backend->net_destroy(made);
        test_net_deinit(&net);
    }
}

/* A draw of the excitability decides for about half of the candidates. */
static void test_excitability(void **state)
{
    (void)state;
    uint32_t coefs[FEAGI_COEFS];
    test_feagi_coefs(coefs);
    coefs[FEAGI_EXCITABILITY] = 0x80000000u;
    coefs[FEAGI_ACCUMULATE] = 0;
    test_net net;
    test_net_init(&net, 1);
    test_area(&net, "feagi", 1000, coefs, 8);
    static const uint32_t never[] = {0xffffffffu};
    test_stimulus(&net, 0, never, 1, 256, 0, VLY_STIMULUS_ALWAYS);
    test_net_finish(&net);
    vly_backend_net *made = test_create(&net, 1, NULL, NULL);
    test_run run;
    test_run_bursts(&net, made, 100, NULL, 0, &run);
    /* 50,000 expected, standard deviation 158 */
    assert_in_range(run.run.n_spikes, 49000, 51000);
    test_run_deinit(&run);
    test_backend->net_destroy(made);
    test_net_deinit(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_delta_refractory),
        cmocka_unit_test(test_feagi_snooze),
        cmocka_unit_test(test_feagi_refractory),
        cmocka_unit_test(test_feagi_zero_sum),
        cmocka_unit_test(test_feagi_no_accumulation),
        cmocka_unit_test(test_feagi_gains),
        cmocka_unit_test(test_mixed_gains),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_poisson_words),
        cmocka_unit_test(test_poisson_candidates),
        cmocka_unit_test(test_excitability),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
