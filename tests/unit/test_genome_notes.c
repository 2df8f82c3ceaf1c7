/* SPDX-License-Identifier: Apache-2.0
 * What a genome is told where it is read otherwise than it may be meant, the
 * pairs of areas that come out empty, and periodic = true.
 */
#include "test_genome_text.h"

#include "genome/genome_value.h"

#include "spike_list.h"

#define HEAD                                                                   \
    "format = 1\n[run]\ndt_ms = 1\nbursts = 5\n"                               \
    "[area.A]\nmodel = \"lif_psc_delta\"\nvoxels = [10, 4, 1]\n"               \
    "[area.B]\nmodel = \"lif_psc_delta\"\nvoxels = [10, 4, 1]\n"
#define MAP "[[map]]\nfrom = [\"A\", \"B\"]\nto = [\"A\", \"B\"]\n"

static void assert_notes(const char *text, uint32_t n, const char *first)
{
    vly_genome *genome = genome_of(text);
    assert_int_equal(genome->n_notes, n);
    if (n)
        assert_string_equal(genome->notes[0], first);
    assert_int_equal(genome->n_more_notes, 0);
    vly_genome_destroy(genome);
}

static void times_off_the_grid(void **state)
{
    (void)state;
    assert_notes(HEAD MAP "rule = \"all_to_all\"\nweight_mv = 1\n"
                          "delay_ms = 1.4\n",
                 1,
                 "t:16:12: delay_ms is 1.4, rounded to 1 burst of dt_ms = 1");
    assert_notes(HEAD MAP "rule = \"all_to_all\"\nweight_mv = 1\n"
                          "delay_ms = 2\n",
                 0, NULL);
    /* a distribution is on no grid */
    assert_notes(HEAD MAP "rule = \"all_to_all\"\nweight_mv = 1\n"
                          "delay_ms = { normal = [2.5, 1] }\n",
                 0, NULL);
    /* 1.5 / 0.1 is 15.000000000000002 */
    assert_notes("format = 1\n[run]\ndt_ms = 0.1\n[area.A]\n"
                 "model = \"lif_psc_delta\"\nneurons = 1\nt_ref_ms = 1.5\n",
                 0, NULL);
    assert_notes("format = 1\n[run]\ndt_ms = 0.5\n[area.A]\n"
                 "model = \"lif_psc_delta\"\nneurons = 1\nt_ref_ms = 1.3\n",
                 1,
                 "t:7:12: t_ref_ms is 1.3, rounded to 3 bursts of dt_ms = 0.5");
    assert_notes(HEAD "[[stimulus]]\nkind = \"dc\"\nto = \"*\"\n"
                      "amplitude_pa = 1\nstart_ms = 1.3\n",
                 1,
                 "t:15:12: start_ms is 1.3, rounded to 1 burst of dt_ms = 1");
    /* near to 0 bursts, but not 0 */
    assert_notes(HEAD "[[stimulus]]\nkind = \"dc\"\nto = \"*\"\n"
                      "amplitude_pa = 1\nstart_ms = 1e-12\n",
                 1,
                 "t:15:12: start_ms is 1e-12, rounded to 0 bursts of dt_ms = "
                 "1");
    assert_notes(HEAD "[[stimulus]]\nkind = \"dc\"\nto = \"*\"\n"
                      "amplitude_pa = 1\nstart_ms = 0\n",
                 0, NULL);
}

/* The tolerance is relative: of the division, not of a burst. */
static void grid(void **state)
{
    (void)state;
    static const struct {
        double ms, dt_ms;
        bool is_off;
    } cases[] = {
        {0, 0.1, false},           {1.5, 0.1, false},   {0.3, 0.1, false},
        {1e6 / 3, 1.0 / 3, false}, {0.1, 1e-4, false},  {-0.3, 0.1, false},
        {0.15, 0.1, true},         {-0.15, 0.1, true},  {1e-12, 0.1, true},
        {-1e-12, 0.1, true},       {1e-300, 0.1, true}, {4.9e-324, 10, true},
        {0.1 + 1e-9, 0.1, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (vly_value_off_grid(cases[i].ms, cases[i].dt_ms) != cases[i].is_off)
            fail_msg("%.17g ms, dt %.17g", cases[i].ms, cases[i].dt_ms);
}

#define SLOPE(slope)                                                           \
    HEAD MAP "rule = \"distance\"\nkernel = { constant = 1 }\n"                \
             "weight_mv = 1\ndelay_ms = 30\nslope_delay_ms = " slope "\n"

static void slopes_off_the_grid(void **state)
{
    (void)state;
    assert_notes(SLOPE("1.5"), 1,
                 "t:18:18: slope_delay_ms is 1.5, 1.5 bursts a unit of "
                 "distance: delays are rounded to whole bursts of dt_ms = 1");
    assert_notes(SLOPE("-0.25"), 1,
                 "t:18:18: slope_delay_ms is -0.25, -0.25 bursts a unit of "
                 "distance: delays are rounded to whole bursts of dt_ms = 1");
    assert_notes(SLOPE("1e-12"), 1,
                 "t:18:18: slope_delay_ms is 1e-12, 1e-12 bursts a unit of "
                 "distance: delays are rounded to whole bursts of dt_ms = 1");
    assert_notes(SLOPE("2"), 0, NULL);
    assert_notes(SLOPE("0"), 0, NULL);
}

/* Pulses every 333.3 bursts do not drift, which the note must not say. */
static void periods_off_the_grid(void **state)
{
    (void)state;
    static const char train[] =
        "format = 1\n[run]\ndt_ms = 0.1\n[area.G]\ngenerator = \"pulse\"\n"
        "neurons = 1\ncount = 4\nperiod_ms = ";
    char text[300];
    snprintf(text, sizeof(text), "%s33.33\n", train);
    assert_notes(text, 1,
                 "t:8:13: period_ms is 33.33, no whole number of bursts of "
                 "dt_ms = 0.1: each pulse begins in the nearest burst, "
                 "intervals differ by one, and nothing drifts");
    vly_genome *genome = genome_of(text);
    assert_int_equal(genome->stimuli[0].n_spikes, 4);
    static const uint64_t begins[] = {0, 333, 667, 1000};
    const spike_list *spikes = spike_list_of(genome, &genome->stimuli[0]);
    for (int k = 0; k < 4; k++)
        assert_int_equal(spikes->bursts[k], begins[k]);
    vly_genome_destroy(genome);
    snprintf(text, sizeof(text), "%s33.3\n", train);
    assert_notes(text, 0, NULL);
}

/* Steps that single precision does not resolve to 0.1%. */
static void small_steps(void **state)
{
    (void)state;
    static const char area[] =
        "format = 1\n[run]\ndt_ms = %s\n[area.A]\nmodel = \"%s\"\n"
        "neurons = 1\n%s";
    static const struct {
        const char *dt, *model, *keys, *note;
    } cases[] = {
        {"0.1", "lif_psc_delta", "tau_m_ms = 20\n", NULL},
        {"0.01", "lif_psc_delta", "tau_m_ms = 20\n", NULL},
        {"0.001", "lif_psc_delta", "tau_m_ms = 20\n",
         "t:4:7: area A: its membrane time constant is 2e+04 bursts: in single "
         "precision the potential stops up to 0.076 mV before its end, and the "
         "time constant is off by up to 0.06%; neurons/"
         "lif_psc_exp_compensated keeps both (volley doc step)"},
        /* just below and above the bound at -65 mV: 3,932 bursts */
        {"0.001", "lif_psc_exp", "tau_m_ms = 3.9\n", NULL},
        {"0.001", "lif_psc_exp", "tau_m_ms = 3.95\n",
         "t:4:7: area A: its membrane time constant is 3950 bursts: in single "
         "precision the potential stops up to 0.015 mV before its end, and the "
         "time constant is off by up to 0.012%; neurons/"
         "lif_psc_exp_compensated keeps both (volley doc step)"},
        /* floats are finer around 0 */
        {"0.001", "lif_psc_delta",
         "tau_m_ms = 20\ne_l_mv = 0\nv_reset_mv = 0\nv_th_mv = 20\n", NULL},
        {"0.0005", "lif_cond_exp", "", "is 3e+04 bursts"},
        {"0.01", "lif_psc_exp", "tau_m_ms = 10\ntau_syn_ms = 1000\n",
         "t:4:7: area A: tau_syn_ms is 1e+05 bursts: in single precision it is "
         "off by up to 0.3% (volley doc step)"},
        {"0.01", "lif_psc_exp", "tau_m_ms = 10\ntau_syn_ms = 300\n", NULL},
        {"0.001", "izhikevich", "", NULL},
        /* a list has the largest of its values, a distribution the least */
        {"0.01", "lif_psc_delta", "tau_m_ms = [50]\n", "is 5000 bursts"},
        {"0.01", "lif_psc_delta", "tau_m_ms = { uniform = [50, 60] }\n",
         "is 5000 bursts"},
        {"0.01", "lif_psc_delta", "tau_m_ms = { uniform = [30, 60] }\n", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[400];
        snprintf(text, sizeof(text), area, cases[i].dt, cases[i].model,
                 cases[i].keys);
        vly_genome *genome = genome_of(text);
        assert_int_equal(genome->n_notes, cases[i].note ? 1 : 0);
        if (cases[i].note && !strstr(genome->notes[0], cases[i].note))
            fail_msg("\"%s\" lacks \"%s\"", genome->notes[0], cases[i].note);
        vly_genome_destroy(genome);
    }
    /* a generator's neuron has no way to go */
    assert_notes("format = 1\n[run]\ndt_ms = 0.0001\n[area.G]\n"
                 "generator = \"pulse\"\nneurons = 1\n",
                 0, NULL);
}

/* A current just above the least that fires: `volley run` has no spike with a
 * note and two in 400 ms without (command_texts.sh, the same currents). */
static void currents_that_are_lost(void **state)
{
    (void)state;
    static const char area[] =
        "format = 1\n[run]\ndt_ms = 0.01\nms = 400\n[area.A]\n"
        "model = \"lif_psc_exp\"\nneurons = 3\nc_m_pf = 250\ntau_m_ms = 20\n"
        "%s\n";
    static const char dc[] = "i_e_pa = 100\n[[stimulus]]\nkind = \"dc\"\n"
                             "to = \"A%s\"\namplitude_pa = 87.57\n%s";
    static const struct {
        const char *keys, *note;
    } cases[] = {
        {"i_e_pa = 187.57",
         "t:5:7: area A: its current takes the potential to -49.9944 mV, "
         "0.0056 mV above the threshold, but in single precision bursts of "
         "0.01 ms do not move it beyond -50.00"},
        {"i_e_pa = 187.58", NULL},
        {"i_e_pa = 187.5", NULL}, /* to the threshold, and not above */
        {"i_e_pa = [187.58, 187.57, 187.56]", "area A: 2 of 3 neurons: the"},
        {"i_e_pa = { uniform = [187.56, 187.57] }", NULL},
        {"i_e_pa = 187.57\nv_mv = -49", NULL}, /* fires, and then stops */
        {"i_e_pa = 187.57\nv_mv = -60", "area A: its current"},
        {"i_e_pa = 187.57\nv_reset_mv = -50.00001", "area A: its current"},
        {"i_e_pa = 187.57\nv_reset_mv = -50.000004", NULL},
        {"i_e_pa = 187.57\ni_syn_pa = 50000", NULL}, /* fires, and then stops */
        {"i_e_pa = 187.57\ni_syn_pa = 0", "area A: its current"},
    };
    enum { CASES = sizeof cases / sizeof cases[0] };
    static const struct {
        const char *of, *keys, *note;
    } stimuli[] = {{"", "", "area A: its current"},
                   {"[1:2]", "", "area A: 1 of 3 neurons"},
                   {"", "stop_ms = 399", NULL},
                   {"", "start_ms = 1", NULL}};
    char keys[200];
    char text[400];
    for (size_t i = 0; i < CASES + sizeof stimuli / sizeof stimuli[0]; i++) {
        const char *note = i < CASES ? cases[i].note : stimuli[i - CASES].note;
        if (i >= CASES)
            snprintf(keys, sizeof(keys), dc, stimuli[i - CASES].of,
                     stimuli[i - CASES].keys);
        snprintf(text, sizeof(text), area, i < CASES ? cases[i].keys : keys);
        vly_genome *genome = genome_of(text);
        if (genome->n_notes != (note ? 1 : 0))
            fail_msg("%u notes of %s", genome->n_notes, text);
        if (note && !strstr(genome->notes[0], note))
            fail_msg("\"%s\" lacks \"%s\"", genome->notes[0], note);
        vly_genome_destroy(genome);
    }
}

static void exceptions(void **state)
{
    (void)state;
    /* narrower and narrower: as it is meant */
    assert_notes(HEAD MAP "rule = \"all_to_all\"\nweight_mv = 1\nexcept = [\n"
                          "{ from = \"A\", to = \"*\", weight_mv = 2 },\n"
                          "{ from = \"A\", to = \"B\", weight_mv = 3 }]\n",
                 0, NULL);
    assert_notes(HEAD MAP "rule = \"all_to_all\"\nweight_mv = 1\nexcept = [\n"
                          "{ from = \"A\", to = \"*\", weight_mv = 2 },\n"
                          "{ from = \"*\", to = \"B\", weight_mv = 3 }]\n",
                 1,
                 "t:18:37: weight_mv from A to B: an exception before gives it "
                 "too; the later one counts");
    /* other keys of the same pair */
    assert_notes(HEAD MAP "rule = \"all_to_all\"\nweight_mv = 1\nexcept = [\n"
                          "{ from = \"A\", to = \"B\", weight_mv = 2 },\n"
                          "{ from = \"A\", to = \"B\", delay_ms = 3 }]\n",
                 0, NULL);
}

static void nothing_to_connect(void **state)
{
    (void)state;
    vly_genome *genome =
        genome_of(HEAD "[[map]]\nid = \"p\"\nfrom = \"A\"\nto = \"B\"\n"
                       "rule = \"patterns\"\nweight_mv = 1\n"
                       "patterns = [[[20, \"*\", \"*\"], [0, 0, 0]]]\n"
                       "[[map]]\nfrom = \"A\"\nto = \"B\"\n"
                       "rule = \"pairwise_bernoulli\"\np = 0\nweight_mv = 1\n"
                       "[[map]]\nfrom = \"A\"\nto = \"B\"\n"
                       "rule = \"vectors\"\nvectors = [[-3, 4, 0]]\n"
                       "weight_mv = 1\n");
    assert_int_equal(genome->n_pairs, 1);
    assert_int_equal(genome->n_empty, 1); /* of p = 0 none is wanted */
    assert_string_equal(genome->empty[0].map, "p");
    assert_int_equal(genome->empty[0].from, 0);
    assert_int_equal(genome->empty[0].to, 1);
    assert_int_equal(genome->empty[0].rule, VLY_RULE_PATTERNS);
    assert_int_equal(genome->n_notes, 3);
    assert_string_equal(genome->notes[0], "t:11:1: p makes no synapse from A "
                                          "to B: no pair of voxels fits a "
                                          "pattern");
    assert_string_equal(genome->notes[1],
                        "t:18:1: map:2 makes no synapse: p is 0");
    assert_string_equal(genome->notes[2], "t:24:1: map:3 makes no synapse from "
                                          "A to B: every vector leads outside "
                                          "of the target");
    vly_genome_destroy(genome);
}

/* A 0 for all pairs of a map is noted, one for some of them is meant. */
static void zeros(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        uint32_t n;
        const char *note;
    } cases[] = {
        {"rule = \"fixed_in_degree\"\nin_degree = 0\n", 1,
         "t:11:1: map:1 makes no synapse: in_degree is 0"},
        {"rule = \"fixed_out_degree\"\nout_degree = [[0, 0], [0, 0]]\n", 1,
         "t:11:1: map:1 makes no synapse: out_degree is 0"},
        {"rule = \"fixed_total_number\"\ncount = 0\n", 1,
         "t:11:1: map:1 makes no synapse: count is 0"},
        {"rule = \"fixed_total_number\"\np = 0\n", 1,
         "t:11:1: map:1 makes no synapse: p is 0"},
        {"rule = \"pairwise_bernoulli\"\np = 0\n", 1,
         "t:11:1: map:1 makes no synapse: p is 0"},
        {"rule = \"distance\"\ndraw = \"fixed_in_degree\"\ndegree = 0\n", 1,
         "t:11:1: map:1 makes no synapse: degree is 0"},
        {"rule = \"fixed_in_degree\"\nin_degree = [[0, 0], [0, 2]]\n", 0, NULL},
        {"rule = \"pairwise_bernoulli\"\np = [[0, 0.1], [0, 0]]\n", 0, NULL},
        {"rule = \"fixed_total_number\"\np = [[1e-9, 0.1], [0.1, 0.1]]\n", 1,
         "t:15:7: map:1 makes no synapse from A to A: p is 1e-09, which makes "
         "less than half a synapse"},
        {"rule = \"fixed_total_number\"\np = 1e-9\n", 4,
         "t:15:5: map:1 makes no synapse from A to A: p is 1e-09, which makes "
         "less than half a synapse"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[600];
        snprintf(text, sizeof(text), HEAD MAP "%sweight_mv = 1\n",
                 cases[i].keys);
        assert_notes(text, cases[i].n, cases[i].note);
    }
}

/* Probabilities by distance are multiples of 2^-32. */
static void small_chances(void **state)
{
    (void)state;
    assert_notes(
        HEAD MAP "rule = \"distance\"\nkernel = { constant = 1e-9 }\n"
                 "weight_mv = 1\n",
        1,
        "t:15:1: kernel reaches 1e-09, off by 6.87%: probabilities are "
        "multiples of 2^-32");
    assert_notes(HEAD MAP "rule = \"distance\"\nkernel = { constant = 1e-6 }\n"
                          "weight_mv = 1\n",
                 0, NULL);
    /* of a degree it is a weight of the draw */
    assert_notes(HEAD MAP "rule = \"distance\"\ndraw = \"fixed_in_degree\"\n"
                          "degree = 2\nkernel = { constant = 1e-9 }\n"
                          "weight_mv = 1\n",
                 0, NULL);
}

#define DISTANCE                                                               \
    HEAD MAP "rule = \"distance\"\nkernel = { constant = 1 }\nweight_mv = 1\n"

static void periods_of_voxels(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        double period[3];
    } cases[] = {{"periodic = true\n", {10, 4, 0}},
                 {"periodic = false\n", {0, 0, 0}},
                 {"periodic = [true, false, 3]\n", {10, 0, 3}}};
    for (uint32_t i = 0; i < 3; i++) {
        char text[1024];
        snprintf(text, sizeof(text), DISTANCE "%s", cases[i].line);
        vly_genome *genome = genome_of(text);
        assert_int_equal(genome->n_pairs, 4);
        for (int axis = 0; axis < 3; axis++)
            assert_close(genome->pairs[3].space.period[axis],
                         cases[i].period[axis], 0);
        vly_genome_destroy(genome);
    }
}

static void masks_around_the_edge(void **state)
{
    (void)state;
    assert_notes(DISTANCE "periodic = true\n"
                          "mask = { box = [[0, -2, 0], [7, 2, 0]] }\n",
                 1,
                 "t:18:16: box is from 0 to 7 along x: with a period of 10 "
                 "target - source goes the shorter way, -5 to less than 5, and "
                 "what is further is left out");
    assert_notes(DISTANCE "periodic = true\n"
                          "mask = { box = [[0, -2, 0], [4, 2, 0]] }\n",
                 0, NULL);
    assert_notes(DISTANCE "periodic = false\n"
                          "mask = { box = [[0, -2, 0], [7, 2, 0]] }\n",
                 0, NULL);
}

static void twenty_at_most(void **state)
{
    (void)state;
    char text[8192] = HEAD;
    for (int i = 0; i < 25; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof(text) - n,
                 "[[map]]\nfrom = \"A\"\nto = \"B\"\nrule = \"one_to_one\"\n"
                 "weight_mv = 1\ndelay_ms = 1.%d\n",
                 i % 4 + 1);
    }
    vly_genome *genome = genome_of(text);
    assert_int_equal(genome->n_notes, 20);
    assert_int_equal(genome->n_more_notes, 5);
    vly_genome_destroy(genome);
}

static void generators_keep_their_name(void **state)
{
    (void)state;
    vly_genome *genome =
        genome_of(HEAD "[area.G]\ngenerator = \"pulse\"\nneurons = 2\n"
                       "[[stimulus]]\nkind = \"pattern\"\nto = \"A\"\n"
                       "voxels = [[0, 0, 0]]\nbursts = [1]\nweight_mv = 9\n");
    assert_null(genome->areas[0].generator);
    assert_string_equal(genome->areas[2].generator, "pulse");
    assert_string_equal(genome->stimuli[0].written, "pattern");
    assert_string_equal(genome->stimuli[1].written, "pulse");
    assert_non_null(strstr(genome->resolved, "[area.\"G\"]\n"
                                             "generator = \"pulse\"\n"
                                             "neurons = 2"));
    assert_null(strstr(genome->resolved, "generator/"));
    vly_genome_destroy(genome);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(times_off_the_grid),
    cmocka_unit_test(grid),
    cmocka_unit_test(slopes_off_the_grid),
    cmocka_unit_test(periods_off_the_grid),
    cmocka_unit_test(small_steps),
    cmocka_unit_test(currents_that_are_lost),
    cmocka_unit_test(exceptions),
    cmocka_unit_test(nothing_to_connect),
    cmocka_unit_test(zeros),
    cmocka_unit_test(small_chances),
    cmocka_unit_test(periods_of_voxels),
    cmocka_unit_test(masks_around_the_edge),
    cmocka_unit_test(twenty_at_most),
    cmocka_unit_test(generators_keep_their_name),
};
VLY_TEST_MAIN(tests)
