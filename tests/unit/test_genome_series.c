/* SPDX-License-Identifier: Apache-2.0
 * Stimuli with values by neuron and over time.
 */
#include "test_genome_text.h"

#include <math.h>

#define HEAD                                                                   \
    "format = 1\n[run]\ndt_ms = 0.1\n"                                         \
    "[area.A]\nmodel = \"lif_psc_exp\"\nneurons = 6\n"                         \
    "[area.B]\nmodel = \"lif_psc_exp\"\nneurons = 6\n"
#define POISSON_BARE "[[stimulus]]\nid = \"s\"\nkind = \"poisson\"\n"
#define POISSON POISSON_BARE "weight_pa = 5\n"

static void assert_resolves(const vly_genome *genome)
{
    vly_genome *again = genome_of(genome->resolved);
    assert_memory_equal(&again->hash, &genome->hash, sizeof genome->hash);
    vly_genome_destroy(again);
}

static void assert_alike(const char *a, const char *b)
{
    vly_genome *one = genome_of(a);
    vly_genome *other = genome_of(b);
    assert_memory_equal(&one->hash, &other->hash, sizeof one->hash);
    assert_resolves(one);
    vly_genome_destroy(one);
    vly_genome_destroy(other);
}

/* Equal numbers are the number, to the last bit. */
static void equal_numbers(void **state)
{
    (void)state;
    assert_alike(HEAD POISSON "to = \"A\"\nrate_hz = [7, 7, 7, 7, 7, 7]\n",
                 HEAD POISSON "to = \"A\"\nrate_hz = 7\n");
    assert_alike(HEAD POISSON "to = \"A[1:4]\"\nrate_hz = [7, 7, 7]\n",
                 HEAD POISSON "to = \"A[1:4]\"\nrate_hz = 7\n");
    assert_alike(HEAD POISSON "to = [\"A\", \"B\"]\nat_ms = [2]\n"
                              "rate_hz = [7]\nstop_ms = 9\n",
                 HEAD POISSON "to = [\"A\", \"B\"]\nstart_ms = 2\n"
                              "rate_hz = 7\nstop_ms = 9\n");
}

static void assert_piece(const vly_stimulus *piece, uint32_t first, uint32_t n,
                         uint64_t start, uint64_t stop, double value)
{
    assert_int_equal(piece->first, first);
    assert_int_equal(piece->n_neurons, n);
    assert_int_equal(piece->start, start);
    assert_int_equal(piece->stop, stop);
    assert_close(piece->kind == VLY_STIMULUS_DC ? piece->mean : piece->rate_hz,
                 value, 0);
}

static void by_neuron(void **state)
{
    (void)state;
    vly_genome *genome =
        genome_of(HEAD POISSON "to = \"A\"\nrate_hz = [7, 7, 0, 3, 3, 9]\n");
    assert_int_equal(genome->n_stimuli, 3);
    assert_piece(&genome->stimuli[0], 0, 2, 0, UINT64_MAX, 7);
    assert_piece(&genome->stimuli[1], 3, 2, 0, UINT64_MAX, 3);
    assert_piece(&genome->stimuli[2], 5, 1, 0, UINT64_MAX, 9);
    for (int i = 0; i < 3; i++)
        assert_string_equal(genome->stimuli[i].stream, "s|A");
    assert_resolves(genome);
    vly_genome_destroy(genome);
    /* two keys; in a part of an area */
    genome = genome_of(HEAD "[[stimulus]]\nkind = \"normal\"\nto = \"A[2:5]\"\n"
                            "mean_pa = [1, 1, 2]\nsd_pa = [4, 5, 5]\n");
    assert_int_equal(genome->n_stimuli, 3);
    assert_int_equal(genome->stimuli[1].first, 3);
    assert_close(genome->stimuli[1].mean, 1, 0);
    assert_close(genome->stimuli[1].sd, 5, 0);
    assert_resolves(genome);
    vly_genome_destroy(genome);
    /* nothing but zeros is no stimulus */
    genome =
        genome_of(HEAD POISSON "to = \"A\"\nrate_hz = [0, 0, 0, 0, 0, 0]\n");
    assert_int_equal(genome->n_stimuli, 0);
    assert_resolves(genome);
    vly_genome_destroy(genome);
}

static void over_time(void **state)
{
    (void)state;
    vly_genome *genome = genome_of(
        HEAD "[[stimulus]]\nkind = \"dc\"\nto = [\"A\", \"B\"]\n"
             "at_ms = [1, 2, 5]\namplitude_pa = [300, 0, -100]\nstop_ms = 8\n"
             "[[stimulus]]\nkind = \"poisson\"\nto = \"B\"\n"
             "at_bursts = [0, 4]\nrate_hz = 8\nweight_pa = [1, 2]\n");
    assert_int_equal(genome->n_stimuli, 6);
    assert_piece(&genome->stimuli[0], 0, 6, 10, 20, 300);
    assert_piece(&genome->stimuli[1], 0, 6, 50, 80, -100);
    assert_piece(&genome->stimuli[2], 0, 6, 10, 20, 300);
    assert_int_equal(genome->stimuli[2].to, 1);
    assert_piece(&genome->stimuli[4], 0, 6, 0, 4, 8);
    assert_piece(&genome->stimuli[5], 0, 6, 4, UINT64_MAX, 8);
    assert_close(genome->stimuli[5].weight, 2, 0);
    assert_resolves(genome);
    vly_genome_destroy(genome);
}

/* Values by neuron beside values over time, as many of each: resolved, they
 * are not taken for each other. */
static void by_neuron_and_time(void **state)
{
    (void)state;
    vly_genome *genome =
        genome_of(HEAD POISSON_BARE "to = \"A[1:4]\"\nat_bursts = [0, 4, 9]\n"
                                    "rate_hz = { values = [2, 2, 3] }\n"
                                    "weight_pa = [5, 6, 7]\n");
    assert_int_equal(genome->n_stimuli, 6);
    for (uint32_t i = 0; i < 6; i++) {
        static const uint64_t times[] = {0, 4, 9, UINT64_MAX};
        assert_piece(&genome->stimuli[i], i % 2 ? 3 : 1, i % 2 ? 1 : 2,
                     times[i / 2], times[i / 2 + 1], i % 2 ? 3 : 2);
        assert_close(genome->stimuli[i].weight, 5 + i / 2, 0);
    }
    assert_resolves(genome);
    vly_genome_destroy(genome);
    /* without times the table is the list */
    assert_alike(HEAD POISSON
                 "to = \"A\"\nrate_hz = { values = [7, 7, 0, 3, 3, "
                 "9] }\n",
                 HEAD POISSON "to = \"A\"\nrate_hz = [7, 7, 0, 3, 3, 9]\n");
}

/* sin(2 pi (10 Hz t + 30/360)) at the middles of steps, in double by libm. */
static void sines(void **state)
{
    (void)state;
    vly_genome *genome = genome_of(
        HEAD POISSON "to = \"A\"\nstart_ms = 3\nstop_ms = 103.5\n"
                     "every_ms = 2\nrate_hz = { sine = { mean = 800, amplitude "
                     "= \"=2*100\", frequency_hz = 10, phase_deg = 30 } }\n");
    assert_int_equal(genome->n_stimuli, 51);
    for (uint32_t i = 0; i < 51; i++) {
        const uint64_t start = 30 + 20 * i;
        const uint64_t stop = i < 50 ? start + 20 : 1035;
        const double t = 0.5e-4 * (double)(start + stop);
        const double pi = acos(-1.0);
        assert_int_equal(genome->stimuli[i].start, start);
        assert_int_equal(genome->stimuli[i].stop, stop);
        assert_true(genome->stimuli[i].listed);
        /* a few roundings of 800 */
        assert_close(genome->stimuli[i].rate_hz,
                     800 + 200 * sin(2 * pi * (10 * t + 30.0 / 360)), 1e-11);
    }
    assert_resolves(genome);
    vly_genome_destroy(genome);
}

static void ramps(void **state)
{
    (void)state;
    /* every step is 1 ms; two areas; before and after the ramp its ends */
    vly_genome *genome = genome_of(
        HEAD "[[stimulus]]\nkind = \"dc\"\nto = [\"A\", \"B\"]\n"
             "stop_ms = 10\namplitude_pa = { ramp = { from = 5, to = -3, "
             "start_ms = 2, stop_ms = 6 } }\n");
    static const double values[] = {5, 5, 4, 2, 0, -2, -3, -3, -3, -3};
    for (uint32_t i = 0, n = 0; i < 20; i++)
        if (values[i % 10] != 0) /* which is left out */
            assert_piece(&genome->stimuli[n++], 0, 6, i % 10 * 10,
                         i % 10 * 10 + 10, values[i % 10]);
    assert_int_equal(genome->n_stimuli, 18);
    assert_resolves(genome);
    vly_genome_destroy(genome);
    /* without its own start and stop, those of the stimulus; beside a list by
     * neuron, and another function of time */
    genome = genome_of(
        HEAD "[[stimulus]]\nkind = \"normal\"\nto = \"A[:2]\"\n"
             "start_burst = 100\nstop_burst = 200\nevery_bursts = 50\n"
             "mean_pa = { ramp = { from = 0, to = 4 } }\nsd_pa = [7, 8]\n");
    assert_int_equal(genome->n_stimuli, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_close(genome->stimuli[i].mean, i < 2 ? 1 : 3, 0);
        assert_close(genome->stimuli[i].sd, i % 2 ? 8 : 7, 0);
        assert_int_equal(genome->stimuli[i].first, i % 2);
    }
    assert_resolves(genome);
    vly_genome_destroy(genome);
    /* a generator; a step is at least a burst */
    genome = genome_of("format = 1\n[run]\ndt_ms = 2.5\n[area.g]\n"
                       "generator = \"poisson\"\nneurons = 3\nstop_ms = 10\n"
                       "rate_hz = { ramp = { from = 0, to = 8 } }\n");
    assert_int_equal(genome->n_stimuli, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_piece(&genome->stimuli[i], 0, 3, i, i + 1, 1 + 2 * i);
    assert_resolves(genome);
    vly_genome_destroy(genome);
}

static void of_a_file(void **state)
{
    (void)state;
    char path[600];
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    const char *text =
        HEAD POISSON "to = \"A\"\nat_bursts = [0, 9]\n"
                     "rate_hz = { file = \"series.csv\", column = \"rate\" }\n";
    snprintf(path, sizeof path, "%s/series.csv", VLY_TEST_BINARY_DIR);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("rate\n1\n1\n2\n0\n0\n3\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    snprintf(path, sizeof path, "%s/series.toml", VLY_TEST_BINARY_DIR);
    assert_ok(
        vly_genome_parse(text, strlen(text), path, NULL, 0, &genome, &error),
        error);
    assert_int_equal(genome->n_stimuli, 6);
    assert_piece(&genome->stimuli[0], 0, 2, 0, 9, 1);
    assert_piece(&genome->stimuli[5], 5, 1, 9, UINT64_MAX, 3);
    vly_genome_destroy(genome);
}

static void generators(void **state)
{
    (void)state;
    vly_genome *genome =
        genome_of("format = 1\n[area.g]\ngenerator = \"poisson\"\nneurons = 3\n"
                  "rate_hz = [5, 0, 9]\n");
    assert_int_equal(genome->n_stimuli, 2);
    assert_piece(&genome->stimuli[1], 2, 1, 0, UINT64_MAX, 9);
    assert_resolves(genome);
    vly_genome_destroy(genome);
}

/* When a [[record]] records. */
static void records(void **state)
{
    (void)state;
    vly_genome *genome = genome_of(
        HEAD "[[record]]\nwhat = \"fields\"\nfrom = [\"A\", \"B\"]\n"
             "fields = \"v_mv\"\ninterval_ms = 2\noffset_ms = 0.5\n"
             "start_ms = 10\nstop_burst = 900\n"
             "[[record]]\nwhat = \"spikes\"\nfrom = \"A\"\nstop_ms = 7\n"
             "[[record]]\nwhat = \"spikes\"\nfrom = \"B\"\n");
    vly_genome *again = genome_of(genome->resolved);
    const vly_genome *both[] = {genome, again};
    for (int i = 0; i < 2; i++) {
        const vly_record *records = both[i]->records;
        assert_int_equal(both[i]->n_records, 4);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(records[k].interval, 20);
            assert_int_equal(records[k].offset, 5);
            assert_int_equal(records[k].start, 100);
            assert_int_equal(records[k].stop, 900);
        }
        assert_int_equal(records[2].start, 0);
        assert_int_equal(records[2].stop, 70);
        assert_true(records[3].stop == UINT64_MAX);
    }
    vly_genome_destroy(again);
    vly_genome_destroy(genome);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(equal_numbers), cmocka_unit_test(by_neuron),
    cmocka_unit_test(over_time),     cmocka_unit_test(by_neuron_and_time),
    cmocka_unit_test(sines),         cmocka_unit_test(ramps),
    cmocka_unit_test(of_a_file),     cmocka_unit_test(generators),
    cmocka_unit_test(records),
};
VLY_TEST_MAIN(tests)
