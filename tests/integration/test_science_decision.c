/* SPDX-License-Identifier: Apache-2.0
 * genomes/decision.toml against tests/golden/decision_reference.csv: 40 trials
 * each of two coherences, simulated in double from the paper's equations by
 * decision_reference.py, with states and input of its own. There a gate opens
 * within 2 ms and here at once, which the bounds must not show.
 *
 * How often the stronger input wins: Fisher's exact test of ours against the
 * reference must not be below 1e-6. The paper's fit is 1 - exp(-(c /
 * 9.2)^1.5) / 2: 0.72 and 0.995. Rates of the other pyramidal cells and of the
 * interneurons before the input, of the winner during the last 500 ms of it and
 * from 500 ms after it on: as science_sample.h says; with 39 degrees of freedom
 * t is beyond 6 once in 1.9 million comparisons.
 */
#include "volley_test.h"

#include <stdlib.h>

#include <volley/volley.h>

#include "science_sample.h"

enum {
    RUNS = 20,
    TRIALS = 40,
    BURSTS = 25000,
    WINDOW = 2500, /* bursts */
    WINDOWS = BURSTS / WINDOW,
    PARTS = 4
};

static const char *const names[SCIENCE_FIGURES] = {"others", "I", "winner",
                                                   "after"};
static const char *const coherences[2] = {"6.4", "25.6"};
static const uint32_t sizes[PARTS] = {240, 240, 1120, 400};

typedef struct counts {
    double of[WINDOWS][PARTS];
} counts;

static vly_status count_spikes(void *arg, uint64_t burst, const uint32_t *ids,
                               uint32_t n_ids, uint64_t burst_digest)
{
    counts *c = arg;
    (void)burst_digest;
    for (uint32_t i = 0; i < n_ids; i++) {
        uint32_t part = 0, end = sizes[0];
        while (ids[i] >= end)
            end += sizes[++part];
        c->of[burst / WINDOW][part] += 1;
    }
    return VLY_OK;
}

static void run(const char *coherence, int index, counts *c)
{
    char seed[16];
    vly_error error = {.struct_size = sizeof error};
    vly_registry *registry = NULL;
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    vly_net *net = NULL;
    snprintf(seed, sizeof seed, "%d", 100 + index);
    const vly_override overrides[] = {{"var.coherence", coherence},
                                      {"run.seed_state", seed},
                                      {"run.seed_input", seed}};
    memset(c, 0, sizeof *c);
    assert_ok(vly_registry_create(&registry, &error), error);
    assert_ok(vly_genome_load(VLY_TEST_SOURCE_DIR "/genomes/decision.toml",
                              overrides, 3, &genome, &error),
              error);
    assert_ok(vly_connectome_build(genome, 2, &connectome, &error), error);
    assert_ok(vly_net_create(connectome, registry, "cpu:1", 0, &net, &error),
              error);
    vly_net_on_spikes(net, count_spikes, c);
    assert_ok(vly_net_run(net, BURSTS, &error), error);
    vly_net_destroy(net);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    vly_registry_destroy(registry);
}

/* Mean rate of a part in windows [from, to). */
static double rate(const counts *c, int from, int to, int part)
{
    double sum = 0;
    for (int w = from; w < to; w++)
        sum += c->of[w][part];
    return sum / sizes[part] / (0.25 * (to - from));
}

static int read_correct(int k)
{
    char line[200], name[16];
    int correct = 0, n = 0, one;
    FILE *file =
        fopen(VLY_TEST_SOURCE_DIR "/tests/golden/decision_reference.csv", "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    while (fgets(line, sizeof line, file)) {
        assert_int_equal(
            sscanf(line, "%15[^,],%*d,%*f,%*f,%*f,%*f,%d", name, &one), 2);
        if (strcmp(name, coherences[k]) != 0)
            continue;
        correct += one;
        n++;
    }
    fclose(file);
    assert_int_equal(n, TRIALS);
    return correct;
}

static void test_decisions(void **state)
{
    static counts c;
    science_sample ours[2] = {{0}}, reference[2] = {{0}};
    int good = 1;
    (void)state;
    science_sample_read("decision_reference.csv", coherences, reference);
    for (int k = 0; k < 2; k++) {
        int correct = 0, wanted = read_correct(k);
        for (int index = 0; index < RUNS; index++) {
            run(coherences[k], index, &c);
            double a = rate(&c, 4, 6, 0), b = rate(&c, 4, 6, 1);
            int winner = a > b ? 0 : 1;
            double x[SCIENCE_FIGURES] = {rate(&c, 1, 2, 2), rate(&c, 1, 2, 3),
                                         a > b ? a : b,
                                         rate(&c, 8, 10, winner)};
            science_sample_add(&ours[k], x);
            correct += winner == 0;
        }
        printf("coherence %s: %d of %d correct, reference %d of %d\n",
               coherences[k], correct, RUNS, wanted, TRIALS);
        good &= science_shares_agree(correct, RUNS, wanted, TRIALS, 1e-6);
        good &= science_sample_agree(&ours[k], &reference[k], coherences[k],
                                     names, 6);
    }
    assert_true(good);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_decisions)};

VLY_TEST_MAIN(tests)
