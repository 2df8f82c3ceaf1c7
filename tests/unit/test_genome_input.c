/* SPDX-License-Identifier: Apache-2.0
 * Pulses, patterns and generator areas become lists of spikes, areas and
 * stimuli that the rest of the engine has.
 */
#include "test_genome_text.h"

#include <inttypes.h>

#include "spike_list.h"

#define AREAS                                                                  \
    "format = 1\n"                                                             \
    "[run]\n"                                                                  \
    "dt_ms = 0.5\n"                                                            \
    "[area.E]\n"                                                               \
    "model = \"lif_psc_delta\"\n"                                              \
    "neurons = 2\n"                                                            \
    "[area.V]\n"                                                               \
    "model = \"lif_psc_delta\"\n"                                              \
    "voxels = [2, 3, 2]\n"                                                     \
    "neurons_per_voxel = 2\n"                                                  \
    "[area.W]\n"                                                               \
    "model = \"lif_psc_delta\"\n"                                              \
    "voxels = [4, 4, 4]\n"

#define STIMULUS AREAS "[[stimulus]]\nid = \"s\"\nweight_mv = 1\n"

static void expect_spikes(const vly_genome *genome, uint32_t index,
                          const uint64_t *bursts, const uint32_t *neurons,
                          uint64_t n)
{
    const vly_stimulus *stimulus = &genome->stimuli[index];
    const spike_list *list = spike_list_of(genome, stimulus);
    assert_int_equal(stimulus->kind, VLY_STIMULUS_SPIKES);
    assert_true(stimulus->start == 0 && stimulus->stop == UINT64_MAX);
    assert_true(stimulus->n_spikes == n);
    for (uint64_t i = 0; i < n; i++) {
        assert_true(list->bursts[i] == bursts[i]);
        assert_int_equal(list->neurons[i], neurons[i]);
    }
}

/* The genome says the same as this list of spikes: the same hash. */
static void same_as(const vly_genome *genome, const char *text)
{
    vly_genome *other = genome_of(text);
    vly_genome *again = genome_of(genome->resolved);
    assert_memory_equal(&genome->hash, &other->hash, sizeof(vly_hash));
    assert_memory_equal(&genome->hash, &again->hash, sizeof(vly_hash));
    vly_genome_destroy(other);
    vly_genome_destroy(again);
}

static void pulses(void **state)
{
    (void)state;
    static const uint64_t bursts[] = {4, 4, 5, 5, 9, 9, 10, 10, 14, 14};
    static const uint32_t neurons[] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
    vly_genome *genome = genome_of(
        STIMULUS "kind = \"pulse\"\nto = \"E\"\nstart_ms = 2\n"
                 "period_ms = 2.5\nwidth_bursts = 2\nstop_burst = 15\n");
    expect_spikes(genome, 0, bursts, neurons, 10);
    same_as(genome, STIMULUS "kind = \"spikes\"\nto = \"E\"\n"
                             "bursts = [4, 5, 9, 10, 14]\n");
    vly_genome_destroy(genome);
    genome =
        genome_of(STIMULUS "kind = \"pulse\"\nto = \"E\"\nfirst = 1\n"
                           "start_burst = 3\nperiod_bursts = 1\ncount = 2\n");
    same_as(genome, STIMULUS "kind = \"spikes\"\nto = \"E\"\nfirst = 1\n"
                             "bursts = [3, 4]\n");
    vly_genome_destroy(genome);
    genome = genome_of(STIMULUS "kind = \"pulse\"\nto = \"E\"\n");
    same_as(genome, STIMULUS "kind = \"spikes\"\nto = \"E\"\nbursts = [0]\n");
    vly_genome_destroy(genome);
    /* no run is long enough for the second one */
    genome = genome_of(STIMULUS "kind = \"pulse\"\nto = \"E\"\n"
                                "period_bursts = 9007199254740992\n"
                                "start_burst = 1\ncount = 1000000\n");
    assert_true(genome->stimuli[0].n_spikes == 2);
    same_as(genome, genome->resolved);
    vly_genome_destroy(genome);
    static const vly_override other = {"stimulus.s.period_ms", "5"};
    genome = genome_with(STIMULUS "kind = \"pulse\"\nto = \"E\"\n"
                                  "period_bursts = 3\ncount = 2\n",
                         &other, 1);
    assert_true(spike_list_of(genome, &genome->stimuli[0])->bursts[3] == 10);
    vly_genome_destroy(genome);
    assert_refused(AREAS "[[stimulus]]\nkind = \"pulse\"\nto = \"V\"\n"
                         "weight_mv = 1\nwidth_bursts = 100000000\n",
                   "t:14:1: 2400000000 given spikes in all stimuli, wanted at "
                   "most 2^28");
}

typedef struct train {
    uint64_t dt_ns;
    uint64_t start_ns;
    uint64_t period_ns;
    uint64_t count;
} train;

typedef struct train_at {
    const train *t;
    uint64_t k;
} train_at;

static bool next_pulse(void *context, uint64_t burst, uint32_t neuron)
{
    train_at *at = context;
    const train *t = at->t;
    const uint64_t ns = t->start_ns + at->k * t->period_ns;
    const uint64_t wanted = (2 * ns + t->dt_ns) / (2 * t->dt_ns);
    if (burst != wanted)
        fail_msg("pulse %" PRIu64 " of %" PRIu64 " ns in burst %" PRIu64
                 ", wanted %" PRIu64,
                 at->k, t->period_ns, burst, wanted);
    at->k++;
    return neuron == 0;
}

/* Pulse k stands where (start + k period) / dt is rounded half up to, in whole
 * nanoseconds; ties that are not exact in double are not among them. */
static void expect_train(const train *t)
{
    char text[512];
    snprintf(text, sizeof text,
             "format = 1\n[run]\ndt_ms = %.17g\n[area.E]\n"
             "model = \"lif_psc_delta\"\nneurons = 1\n[[stimulus]]\n"
             "kind = \"pulse\"\nto = \"E\"\nweight_mv = 1\n"
             "start_ms = %.17g\nperiod_ms = %.17g\ncount = %" PRIu64 "\n",
             (double)t->dt_ns / 1e6, (double)t->start_ns / 1e6,
             (double)t->period_ns / 1e6, t->count);
    vly_genome *genome = genome_of(text);
    const vly_stimulus *stimulus = &genome->stimuli[0];
    train_at at = {t, 0};
    assert_true(stimulus->n_spikes == t->count);
    assert_true(vly_spikes_walk(genome, stimulus, next_pulse, &at));
    assert_true(at.k == t->count);
    vly_genome *again = genome_of(genome->resolved);
    assert_memory_equal(&genome->hash, &again->hash, sizeof(vly_hash));
    vly_genome_destroy(again);
    vly_genome_destroy(genome);
}

/* Periods that are no whole number of bursts do not drift. */
static void trains(void **state)
{
    static const train cases[] = {
        {1000000, 0, 8333333, 100000},    {1000000, 400000, 8333333, 1200},
        {100000, 0, 250000, 1000},        {100000, 50000, 300000, 100000},
        {100000, 70001, 1234568, 100000}, {250000, 0, 16666667, 100000},
        {500000, 1300000, 700000, 1000},  {1000000, 0, 1000001, 499999},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_train(&cases[i]);
    /* 10 s at 120 a second */
    vly_genome *genome =
        genome_of("format = 1\n[area.T]\ngenerator = \"pulse\"\nneurons = 1\n"
                  "period_ms = \"=1000/120\"\nstop_ms = 10000\n");
    assert_true(genome->stimuli[0].n_spikes == 1200);
    vly_genome_destroy(genome);
    /* some pulses of 3 bursts would meet the next one */
    assert_refused(AREAS "[[stimulus]]\nkind = \"pulse\"\nto = \"E\"\n"
                         "weight_mv = 1\nwidth_bursts = 3\ncount = 2\n"
                         "period_ms = 1.4\n",
                   "t:20:1: period_ms is 2.8 bursts, wanted at least the width "
                   "of a pulse, 3");
}

static void patterns(void **state)
{
    (void)state;
    static const uint64_t bursts[] = {1, 1, 1, 1, 5, 5};
    static const uint32_t neurons[] = {10, 11, 18, 19, 10, 11};
    /* [0, 2, 1] is voxel 5, [1, 1, 1] voxel 9 of [2, 3, 2] */
    vly_genome *genome = genome_of(
        STIMULUS "kind = \"pattern\"\nto = [\"V\", \"W\"]\n"
                 "voxels = [[0, 2, 1], [1, 1, 1]]\nbursts = [[1, 5], [1]]\n");
    expect_spikes(genome, 0, bursts, neurons, 6);
    static const uint64_t bursts_w[] = {1, 1, 5};
    static const uint32_t neurons_w[] = {9, 21, 9};
    expect_spikes(genome, 1, bursts_w, neurons_w, 3);
    vly_genome *again = genome_of(genome->resolved);
    assert_memory_equal(&genome->hash, &again->hash, sizeof(vly_hash));
    vly_genome_destroy(again);
    vly_genome_destroy(genome);
    genome = genome_of(STIMULUS "kind = \"pattern\"\nto = \"V\"\n"
                                "voxels = [[0, 0, \"=1\"]]\ntimes_ms = [1]\n");
    same_as(genome, STIMULUS "kind = \"spikes\"\nto = \"V\"\n"
                             "neurons = [2, 3]\nbursts = [2]\n");
    vly_genome_destroy(genome);
    /* what is given twice arrives twice, whoever says so */
    genome = genome_of(STIMULUS "kind = \"pattern\"\nto = \"V\"\n"
                                "voxels = [[1, 0, 0], [0, 0, 1], [1, 0, 0]]\n"
                                "bursts = [4, 2, 4]\n");
    assert_true(genome->stimuli[0].n_spikes == 18);
    assert_true(vly_spikes_reach(genome, &genome->stimuli[0]) == 4);
    same_as(genome, STIMULUS "kind = \"spikes\"\nto = \"V\"\n"
                             "neurons = [12, 2, 13, 3, 13, 12]\n"
                             "bursts = [2, 4, 4]\n");
    vly_genome_destroy(genome);
    genome = genome_of(STIMULUS "kind = \"pattern\"\nto = \"V\"\n"
                                "voxels = [[1, 0, 0], [0, 0, 1], [1, 0, 0]]\n"
                                "bursts = [[4], [], [4, 1]]\n");
    assert_true(genome->stimuli[0].n_spikes == 6);
    assert_true(vly_spikes_reach(genome, &genome->stimuli[0]) == 2);
    same_as(genome, STIMULUS "kind = \"spikes\"\nto = \"V\"\n"
                             "neurons = [12, 13, 12, 13]\n"
                             "bursts = [[4, 1], [1, 4], [4], [4]]\n");
    static const uint64_t bursts_v[] = {1, 1, 4, 4, 4, 4};
    static const uint32_t neurons_v[] = {12, 13, 12, 12, 13, 13};
    expect_spikes(genome, 0, bursts_v, neurons_v, 6);
    vly_genome_destroy(genome);
}

/* What a row of characters means is counted, not made. */
static void large(void **state)
{
    (void)state;
    vly_genome *genome = genome_of(STIMULUS "kind = \"pulse\"\nto = \"E\"\n"
                                            "width_bursts = 1000000\n"
                                            "period_bursts = 2000000\n"
                                            "stop_burst = 98500000\n");
    assert_true(genome->stimuli[0].n_spikes == 99000000);
    assert_true(vly_spikes_reach(genome, &genome->stimuli[0]) == 2);
    assert_null(genome->stimuli[0].bursts);
    vly_genome_destroy(genome);
    assert_refused(STIMULUS "kind = \"pulse\"\nto = \"E\"\n"
                            "width_bursts = 9007199254740992\n",
                   "t:14:1: s has more than 2^28 bursts with a pulse, wanted "
                   "fewer (normal with sd 0 is an input without an end)");
    assert_refused(STIMULUS "kind = \"pulse\"\nto = \"E\"\n"
                            "width_bursts = 1000000000000\n"
                            "period_bursts = 1000000000000\n"
                            "count = 9007199254740992\n",
                   "t:14:1: s has more than 2^28 bursts with a pulse, wanted "
                   "fewer (normal with sd 0 is an input without an end)");
}

static void generators(void **state)
{
    (void)state;
    vly_genome *genome =
        genome_of(AREAS "[area.P]\ngenerator = \"poisson\"\nneurons = 5\n"
                        "rate_hz = 7\nstop_ms = 3\n"
                        "[area.L]\ngenerator = \"spikes\"\nneurons = 2\n"
                        "times_ms = [[1], [2, 3]]\n"
                        "[area.T]\ngenerator = \"pulse\"\nneurons = 1\n"
                        "at = [1, 2, 3]\nwidth_ms = 1\n"
                        "[[map]]\nfrom = \"?\"\nto = \"E\"\n"
                        "rule = \"all_to_all\"\nweight_mv = 1\n"
                        "[[stimulus]]\nid = \"own\"\nkind = \"poisson\"\n"
                        "to = \"E\"\nrate_hz = 1\nweight_mv = 1\n");
    assert_int_equal(genome->n_areas, 6);
    assert_int_equal(genome->areas[3].n_neurons, 5);
    assert_string_equal(genome->areas[3].model->id, "lif_psc_delta");
    assert_true(genome->areas[5].at[1] == 2);
    assert_int_equal(genome->n_stimuli, 4);
    assert_string_equal(genome->stimuli[0].stream, "own|E");
    assert_string_equal(genome->stimuli[1].stream, "generator/P|P");
    assert_true(genome->stimuli[1].rate_hz == 7);
    assert_true(genome->stimuli[1].stop == 6);
    static const uint64_t bursts[] = {2, 4, 6};
    static const uint32_t neurons[] = {0, 1, 1};
    expect_spikes(genome, 2, bursts, neurons, 3);
    assert_true(genome->stimuli[3].n_spikes == 2);
    vly_genome *again = genome_of(genome->resolved);
    assert_memory_equal(&genome->hash, &again->hash, sizeof(vly_hash));
    vly_genome_destroy(again);
    vly_genome_destroy(genome);
    assert_refused(AREAS "[area.P]\ngenerator = \"poisson\"\nneurons = 5\n",
                   "t:14:7: generator P has no rate_hz, wanted spikes a second "
                   "of each neuron");
    assert_refused(AREAS "[area.P]\ngenerator = \"spikes\"\nneurons = 5\n"
                         "bursts = [[1], [2]]\n",
                   "t:17:10: bursts has 2 lists for 5 neurons of generator P, "
                   "wanted one list, or one a neuron");
    assert_refused(AREAS "[area.P]\ngenerator = \"spikes\"\nneurons = 1\n"
                         "bursts = [[1], [2]]\n",
                   "t:17:10: neuron 1, wanted 0 to 0 of area P");
    /* a name that the stimulus of a generator would have */
    assert_refused(
        AREAS "[[stimulus]]\nid = \"generator/E\"\nkind = \"dc\"\n"
              "to = \"E\"\nmean_pa = 1\n",
        "t:15:6: id is \"generator/E\", wanted none that begins with "
        "generator/: these are of the areas with a generator");
}

/* Lists need no order, and may go beyond the run; a neuron fires once in a
 * burst. */
static void lists(void **state)
{
    (void)state;
#define LIST AREAS "[area.L]\ngenerator = \"spikes\"\nneurons = 2\n"
    vly_genome *genome = genome_of(LIST "times_ms = [7.5, 1e6, 0, 3]\n");
    same_as(genome, LIST "bursts = [0, 6, 15, 2000000]\n");
    vly_genome_destroy(genome);
    /* of a stimulus both arrive */
    genome = genome_of(STIMULUS "kind = \"spikes\"\nto = \"E\"\n"
                                "times_ms = [2, 2.1]\n");
    assert_true(genome->stimuli[0].n_spikes == 4);
    vly_genome_destroy(genome);
    assert_refused(LIST "times_ms = [2.1, 5, 1.9]\n",
                   "t:17:21: times_ms has 2.1 and 1.9, both in burst 4, wanted "
                   "one spike a burst at most");
    assert_refused(LIST "bursts = [[3], [9, \"=3*3\"]]\n",
                   "t:17:20: bursts has 9 and 9, both in burst 9, wanted one "
                   "spike a burst at most");
    assert_refused(LIST "times_ms = [3, -1]\n",
                   "t:17:16: times_ms is -1, wanted 0 to 1e+15");
#undef LIST
}

/* The n-th allocation fails, for every n. */
static void memory(void **state)
{
    (void)state;
    static const char text[] =
        STIMULUS "kind = \"pattern\"\nto = \"V\"\nvoxels = [[0, 0, 0]]\n"
                 "bursts = [1]\n"
                 "[[stimulus]]\nkind = \"pulse\"\nto = \"E\"\nweight_mv = 1\n"
                 "[area.L]\ngenerator = \"spikes\"\nneurons = 2\n"
                 "times_ms = [[1], [3, 2]]\n";
    uint64_t before = vly_memory_live();
    for (uint64_t n = 1;; n++) {
        vly_error error = VLY_ERROR_INIT;
        vly_genome *genome = NULL;
        vly_memory_fail_at(n);
        vly_status status =
            vly_genome_parse(text, strlen(text), "t", NULL, 0, &genome, &error);
        vly_genome_destroy(genome);
        assert_true(vly_memory_live() == before);
        if (status == VLY_OK)
            break;
        assert_int_equal(status, VLY_E_NOMEM);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(pulses),     cmocka_unit_test(trains),
    cmocka_unit_test(patterns),   cmocka_unit_test(large),
    cmocka_unit_test(generators), cmocka_unit_test(lists),
    cmocka_unit_test(memory),
};
VLY_TEST_MAIN(tests)
