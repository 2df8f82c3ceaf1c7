/* SPDX-License-Identifier: Apache-2.0
 * [[stimulus]] and [[record]].
 */
#include "test_genome_text.h"

#include "spike_list.h"

#define AREAS                                                                  \
    "format = 1\n[run]\ndt_ms = 0.5\n"                                         \
    "[area.A]\nmodel = \"lif_psc_delta\"\nneurons = 10\n"                      \
    "[area.B]\nmodel = \"lif_psc_delta\"\nneurons = 20\n"                      \
    "[area.F]\nmodel = \"feagi\"\nneurons = 5\n[[stimulus]]\n"

static void one_an_area(void **state)
{
    (void)state;
    vly_genome *genome = genome_of(
        AREAS "kind = \"poisson\"\nto = [\"B\", \"A\"]\nrate_hz = [100, 200]\n"
              "weight_mv = 0.5\nfirst = 2\nstart_ms = 5\nstop_burst = 40\n");
    assert_int_equal(genome->n_stimuli, 2);
    const vly_stimulus *b = &genome->stimuli[0];
    const vly_stimulus *a = &genome->stimuli[1];
    assert_string_equal(b->stream, "|poisson|B|0");
    assert_string_equal(a->stream, "|poisson|A|0");
    assert_int_equal(b->to, 1);
    assert_close(b->rate_hz, 100, 0);
    assert_close(a->rate_hz, 200, 0);
    assert_close(a->weight, 0.5, 0);
    assert_int_equal(a->first, 2);
    assert_int_equal(a->n_neurons, 8);
    assert_int_equal(b->n_neurons, 18);
    assert_true(a->start == 10 && a->stop == 40);
    vly_genome_destroy(genome);
}

static void units_follow_the_model(void **state)
{
    (void)state;
    vly_genome *genome = genome_of(
        AREAS
        "kind = \"dc\"\nto = \"A\"\namplitude_pa = 3\n"
        "[[stimulus]]\nkind = \"normal\"\nto = \"F\"\n"
        "mean = 4\nsd = 1\n[[stimulus]]\n"
        "kind = \"normal\"\nid = \"n\"\nto = \"A\"\nmean_mv = 1\nsd_mv = 2\n");
    assert_close(genome->stimuli[0].mean, 3, 0);
    assert_close(genome->stimuli[1].mean, 4, 0);
    assert_close(genome->stimuli[2].sd, 2, 0);
    assert_string_equal(genome->stimuli[2].id, "n");
    assert_true(genome->stimuli[0].stop == UINT64_MAX);
    vly_genome_destroy(genome);
    assert_refused(AREAS "kind = \"normal\"\nto = \"F\"\nmean_pa = 3\n",
                   "t:16:1: mean_pa: feagi takes mean");
    assert_refused(AREAS "kind = \"dc\"\nto = \"F\"\namplitude = 3\n",
                   "t:13:1: dc onto area F, wanted poisson, normal or spikes: "
                   "feagi updates a neuron only when something arrives");
    assert_refused(AREAS "kind = \"dc\"\nto = \"A\"\namplitude_pa = 3\n"
                         "rate_hz = 2\n",
                   "t:17:1: unknown key rate_hz in a [[stimulus]] of kind dc, "
                   "wanted one of kind, to, id, first, n, start_ms, "
                   "start_burst, stop_ms, stop_burst, at_ms, at_bursts, "
                   "every_ms, every_bursts, amplitude_<unit>");
}

static void spikes_are_sorted(void **state)
{
    (void)state;
    vly_genome *genome = genome_of(
        AREAS "kind = \"spikes\"\nto = \"A\"\nneurons = [7, 3]\n"
              "times_ms = [[2, 0.5], [2, 0.74, \"=1/4\"]]\nweight_mv = 1\n");
    static const uint64_t bursts[] = {1, 1, 1, 4, 4};
    static const uint32_t neurons[] = {3, 3, 7, 3, 7};
    const spike_list *stimulus = spike_list_of(genome, &genome->stimuli[0]);
    assert_true(stimulus->n == 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_true(stimulus->bursts[i] == bursts[i]);
        assert_int_equal(stimulus->neurons[i], neurons[i]);
    }
    vly_genome_destroy(genome);
    genome = genome_of(AREAS "kind = \"spikes\"\nto = [\"A\"]\nfirst = 8\n"
                             "bursts = [5, 0]\nweight_mv = 1\n");
    stimulus = spike_list_of(genome, &genome->stimuli[0]);
    assert_true(stimulus->n == 4);
    assert_true(stimulus->bursts[1] == 0 && stimulus->bursts[2] == 5);
    assert_int_equal(stimulus->neurons[1], 9);
    vly_genome_destroy(genome);
}

/* One list a neuron, also of a range and of whole areas. */
static void spikes_of_a_range(void **state)
{
    (void)state;
    vly_genome *genome =
        genome_of(AREAS "kind = \"spikes\"\nto = \"A\"\nfirst = 7\n"
                        "bursts = [[3], [], [1, 2]]\nweight_mv = 1\n");
    static const uint64_t bursts[] = {1, 2, 3};
    static const uint32_t neurons[] = {9, 9, 7};
    const spike_list *stimulus = spike_list_of(genome, &genome->stimuli[0]);
    assert_true(stimulus->n == 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(stimulus->bursts[i] == bursts[i]);
        assert_int_equal(stimulus->neurons[i], neurons[i]);
    }
    vly_genome_destroy(genome);
    assert_refused(AREAS "kind = \"spikes\"\nto = \"A\"\nfirst = 4\nn = 3\n"
                         "bursts = [[3], [1, 2]]\nweight_mv = 1\n",
                   "t:18:10: bursts has 2 lists for 3 in its range, wanted one "
                   "a neuron");
    assert_refused(AREAS "kind = \"spikes\"\nto = [\"A\", \"B\"]\nfirst = 9\n"
                         "bursts = [[3]]\nweight_mv = 1\n",
                   "t:13:1: stimulus:1 has 1 lists for 11 neurons of area B, "
                   "wanted one a neuron");
}

static void poisson_limit(void **state)
{
    (void)state;
    vly_genome *genome =
        genome_of(AREAS "kind = \"poisson\"\nto = \"A\"\nrate_hz = 300000\n"
                        "weight_mv = 1\n");
    vly_genome_destroy(genome);
    assert_refused(AREAS "kind = \"poisson\"\nto = \"A\"\nrate_hz = 400000\n"
                         "weight_mv = 1\n",
                   "t:16:11: rate_hz is 400000, wanted at most about 165 "
                   "events a burst of dt_ms = 0.5");
}

static void records(void **state)
{
    (void)state;
    vly_genome *genome =
        genome_of(AREAS "kind = \"dc\"\nto = \"A\"\namplitude_pa = 3\n"
                        "[[record]]\nwhat = \"spikes\"\nfrom = \"?\"\n");
    assert_int_equal(genome->n_records, 3);
    assert_int_equal(genome->records[2].area, 2);
    vly_genome_destroy(genome);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(one_an_area),
    cmocka_unit_test(units_follow_the_model),
    cmocka_unit_test(spikes_are_sorted),
    cmocka_unit_test(spikes_of_a_range),
    cmocka_unit_test(poisson_limit),
    cmocka_unit_test(records),
};
VLY_TEST_MAIN(tests)
