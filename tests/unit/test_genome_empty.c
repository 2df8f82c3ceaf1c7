/* SPDX-License-Identifier: Apache-2.0
 * Areas of 0 neurons: the genome is the one without them.
 */
#include "test_genome_text.h"

#define HEAD                                                                   \
    "format = 1\n[run]\ndt_ms = 0.1\n"                                         \
    "[area.A]\nmodel = \"lif_psc_exp\"\nneurons = 10\n"
#define NOTHING "[area.N]\nmodel = \"lif_psc_exp\"\nneurons = 0\n"
#define TAIL "[area.B]\nmodel = \"lif_psc_exp\"\nneurons = 20\n"
#define NOTE                                                                   \
    "t:9:11: area N has 0 neurons: it is left out, with its maps, stimuli "    \
    "and records"

static vly_genome *resolved(const vly_genome *genome)
{
    vly_genome *again = genome_of(genome->resolved);
    assert_memory_equal(&again->hash, &genome->hash, sizeof genome->hash);
    return again;
}

/* Two genomes are the same, and the first has only the note of its area. */
static void assert_alike(const char *with, const char *without)
{
    vly_genome *genome = genome_of(with);
    vly_genome *other = genome_of(without);
    assert_memory_equal(&genome->hash, &other->hash, sizeof other->hash);
    assert_int_equal(genome->n_areas, other->n_areas);
    assert_int_equal(genome->n_pairs, other->n_pairs);
    assert_int_equal(genome->n_stimuli, other->n_stimuli);
    assert_int_equal(genome->n_records, other->n_records);
    assert_int_equal(vly_genome_note_count(genome), 1);
    assert_string_equal(vly_genome_note(genome, 0), NOTE);
    vly_genome_destroy(resolved(genome));
    vly_genome_destroy(genome);
    vly_genome_destroy(other);
}

static void maps(void **state)
{
    (void)state;
    static const char *const rules[] = {
        "rule = \"all_to_all\"\n",
        "rule = \"one_to_one\"\n",
        "rule = \"fixed_in_degree\"\nin_degree = 100\n",
        "rule = \"fixed_in_degree\"\nin_degree = 3\nmultiple = false\n",
        "rule = \"fixed_out_degree\"\nout_degree = 3\nself = false\n",
        "rule = \"fixed_total_number\"\ncount = 5\n",
        "rule = \"fixed_total_number\"\np = 1\n",
        "rule = \"pairwise_bernoulli\"\np = 0.5\n"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        char with[1500];
        snprintf(with, sizeof with,
                 HEAD NOTHING TAIL
                 "[[map]]\nfrom = \"N\"\nto = \"A\"\n%sweight_pa = 1\n"
                 "[[map]]\nfrom = [\"A\", \"N[:5]\"]\nto = \"N\"\n%s"
                 "weight_pa = 1\n"
                 "[[map]]\nfrom = [\"N[:5]\", \"N[5:]\"]\nto = \"A\"\n%s"
                 "weight_pa = [[1, 2]]\n"
                 "[[map]]\nlink = [\"N[:5] -> A\", \"N[5:] -> A\"]\n%s"
                 "weight_pa = 1\n",
                 rules[i], rules[i], rules[i], rules[i]);
        assert_alike(with, HEAD TAIL);
    }
}

/* Rows and columns of matrices stay those of the names. */
static void matrices_and_pools(void **state)
{
    (void)state;
    assert_alike(
        HEAD NOTHING TAIL
        "[[map]]\nid = \"m\"\nfrom = [\"A\", \"N\", \"B\"]\n"
        "to = [\"N\", \"B\"]\nrule = \"pairwise_bernoulli\"\n"
        "p = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]\nweight_pa = 1\n"
        "[[map]]\nid = \"p\"\nfrom = \"A + N + B\"\nto = \"N + B\"\n"
        "rule = \"fixed_in_degree\"\nin_degree = 7\nweight_pa = 1\n",
        HEAD TAIL
        "[[map]]\nid = \"m\"\nfrom = [\"A\", \"B\"]\nto = \"B\"\n"
        "rule = \"pairwise_bernoulli\"\np = [[0.4, 0.6]]\nweight_pa = 1\n"
        "[[map]]\nid = \"p\"\nfrom = \"A + B\"\nto = \"B\"\n"
        "rule = \"fixed_in_degree\"\nin_degree = 7\nweight_pa = 1\n");
}

static void stimuli_and_records(void **state)
{
    (void)state;
    assert_alike(HEAD NOTHING TAIL
                 "[[stimulus]]\nid = \"s\"\nkind = \"poisson\"\n"
                 "to = [\"A\", \"N[:5]\", \"N[5:]\", \"B\"]\n"
                 "rate_hz = [1, 2, 2, 3]\nweight_pa = 5\n"
                 "[[stimulus]]\nkind = \"dc\"\nto = \"N\"\nfirst = 2\nn = 3\n"
                 "amplitude_pa = 1\n"
                 "[[stimulus]]\nkind = \"spikes\"\nto = \"N\"\n"
                 "neurons = [1]\nbursts = [4]\nweight_pa = 5\n"
                 "[[record]]\nwhat = \"fields\"\nfrom = [\"N\", \"B\"]\n"
                 "fields = \"v_mv\"\nneurons = [3]\n",
                 HEAD TAIL
                 "[[stimulus]]\nid = \"s\"\nkind = \"poisson\"\n"
                 "to = [\"A\", \"B\"]\nrate_hz = [1, 3]\nweight_pa = 5\n"
                 "[[record]]\nwhat = \"fields\"\nfrom = \"B\"\n"
                 "fields = \"v_mv\"\nneurons = [3]\n");
}

static void refused(void **state)
{
    (void)state;
    assert_refused("format = 1\n" NOTHING,
                   "t:4:11: no area has a neuron, wanted one at least");
    assert_refused("format = 1\n[area.m]\nmodel = \"feagi\"\nneurons = 5\n"
                   "[area.N]\nmodel = \"feagi\"\nneurons = 0\n"
                   "[memory.m]\nfrom = \"N\"\n",
                   "t:9:8: from: area N has 0 neurons, wanted one at least: "
                   "only maps, stimuli and records leave such an area out");
    assert_refused("format = 1\n[area.m]\nmodel = \"feagi\"\nneurons = 5\n"
                   "[area.N]\nmodel = \"feagi\"\nneurons = 0\n"
                   "[memory.N]\nfrom = \"m\"\n",
                   "t:8:9: [memory.N]: the area has 0 neurons, wanted one at "
                   "least");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(maps),
    cmocka_unit_test(matrices_and_pools),
    cmocka_unit_test(stimuli_and_records),
    cmocka_unit_test(refused),
};
VLY_TEST_MAIN(tests)
