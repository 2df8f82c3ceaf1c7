/* SPDX-License-Identifier: Apache-2.0
 * genomes/ports.toml: built-in models whose input is recorded have, in every
 * burst, the spikes and potentials of their twins without a record to the bit;
 * the sums are the weights of the spikes that the sources sent 15 bursts (1.5
 * ms) before and earlier. And sums of 48 bits: what arrives late in a long run
 * is not lost.
 */
#include "volley_test.h"

#include <volley/volley.h>

#include "connectome/connectome.h"

enum { BURSTS = 2000, N = 3, N_EX = 17, N_INH = 3, DELAY = 15, MODELS = 7 };

typedef struct model {
    const char *id;
    const char *v;
    const char *sum_ex; /* of the first port */
    const char *sum_in; /* of the second; NULL: there is one port */
    double ex;          /* weights */
    double inh;
} model;

static const model models[MODELS] = {
    {"izhikevich", "v", "input", NULL, 150, -80},
    {"lif_psc_delta", "v_mv", "input_mv", NULL, 2.5, -2},
    {"lif_psc_exp", "v_mv", "input_pa", NULL, 400, -300},
    {"lif_psc_exp2", "v_mv", "input_ex_pa", "input_inh_pa", 400, -300},
    {"lif_cond_exp", "v_mv", "input_ex_ns", "input_inh_ns", 6, -12},
    {"adex", "v_mv", "input_ex_ns", "input_inh_ns", 12, -24},
    {"lif_psc_alpha", "v_mv", "input_pa", NULL, 400, -300},
};

typedef struct sent {
    uint32_t ex[BURSTS]; /* spikes up to and with this burst */
    uint32_t inh[BURSTS];
    uint32_t others[BURSTS][MODELS][2]; /* of built-in ones, of their twins */
} sent;

/* Areas: ex, inh, then a built-in one and its twin for each model. */
static vly_status count_spikes(void *arg, uint64_t burst, const uint32_t *ids,
                               uint32_t n_ids, uint64_t burst_digest)
{
    sent *s = arg;
    (void)burst_digest;
    s->ex[burst] = burst > 0 ? s->ex[burst - 1] : 0;
    s->inh[burst] = burst > 0 ? s->inh[burst - 1] : 0;
    for (uint32_t i = 0; i < n_ids; i++)
        if (ids[i] < N_EX)
            s->ex[burst]++;
        else if (ids[i] < N_EX + N_INH)
            s->inh[burst]++;
        else {
            const uint32_t area = (ids[i] - N_EX - N_INH) / N;
            s->others[burst][area / 2][area % 2]++;
        }
    return VLY_OK;
}

static void read_all(vly_net *net, const char *area, const char *field,
                     double values[N])
{
    vly_error error = {.struct_size = sizeof error};
    assert_ok(vly_net_read(net, area, field, 0, N, values, &error), error);
}

static void check(vly_net *net, const sent *s, uint64_t burst, const model *m)
{
    char built[40], own[40];
    double theirs[N], ours[N], first[N], second[N];
    const double ex = burst < DELAY ? 0 : m->ex * s->ex[burst - DELAY];
    const double inh = burst < DELAY ? 0 : m->inh * s->inh[burst - DELAY];
    snprintf(built, sizeof built, "built_%s", m->id);
    snprintf(own, sizeof own, "%s_in", m->id);
    read_all(net, built, m->v, theirs);
    read_all(net, own, m->v, ours);
    read_all(net, own, m->sum_ex, first);
    if (m->sum_in)
        read_all(net, own, m->sum_in, second);
    for (int i = 0; i < N; i++)
        if (ours[i] != theirs[i] || first[i] != (m->sum_in ? ex : ex + inh) ||
            (m->sum_in && second[i] != inh))
            fail_msg("burst %d, %s[%d]: v %.9g, of the built-in one %.9g; "
                     "sum %.9g of %.9g, %.9g of %.9g",
                     (int)burst, m->id, i, ours[i], theirs[i], first[i],
                     m->sum_in ? ex : ex + inh, m->sum_in ? second[i] : 0.0,
                     m->sum_in ? inh : 0.0);
}

static void test_ports(void **state)
{
    static sent s;
    uint32_t fired[MODELS] = {0};
    vly_error error = {.struct_size = sizeof error};
    vly_registry *registry = NULL;
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    vly_net *net = NULL;
    (void)state;
    assert_ok(vly_registry_create(&registry, &error), error);
    assert_ok(vly_genome_load(VLY_TEST_SOURCE_DIR "/genomes/ports.toml", NULL,
                              0, &genome, &error),
              error);
    assert_ok(vly_connectome_build(genome, 1, &connectome, &error), error);
    assert_ok(vly_net_create(connectome, registry, "cpu:1", 0, &net, &error),
              error);
    vly_net_on_spikes(net, count_spikes, &s);
    for (uint64_t burst = 0; burst < BURSTS; burst++) {
        assert_ok(vly_net_run(net, 1, &error), error);
        for (int k = 0; k < MODELS; k++) {
            assert_int_equal(s.others[burst][k][0], s.others[burst][k][1]);
            fired[k] += s.others[burst][k][0];
            check(net, &s, burst, &models[k]);
        }
    }
    for (int k = 0; k < MODELS; k++)
        assert_true(fired[k] > 3 * N); /* resets and pauses are compared too */
    assert_true(s.inh[BURSTS - 1] > 20);
    vly_net_destroy(net);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    vly_registry_destroy(registry);
}

/* Two neurons get 2^30 units in every other burst, one of them one unit in the
 * others, of which a sum in single precision would keep none. */
static void test_long(void **state)
{
    static const char text[] =
        "format = 1\n[run]\ndt_ms = 1\n"
        "[area.E]\nmodel = \"lif_psc_delta\"\nneurons = 2\n"
        "[[stimulus]]\nkind = \"spikes\"\nto = \"E\"\nbursts = [100000]\n"
        "weight_mv = 1e6\n[[record]]\nwhat = \"input\"\nfrom = \"E\"\n";
    vly_error error = {.struct_size = sizeof error};
    vly_registry *registry = NULL;
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    vly_net *net = NULL;
    double high[2], low[2];
    (void)state;
    assert_ok(vly_registry_create(&registry, &error), error);
    assert_ok(vly_genome_parse(text, sizeof text - 1, "long", NULL, 0, &genome,
                               &error),
              error);
    assert_ok(vly_connectome_build(genome, 1, &connectome, &error), error);
    assert_ok(vly_net_create(connectome, registry, "cpu:1", 0, &net, &error),
              error);
    const double unit = (double)connectome->desc.areas[0].scale[0];
    for (uint64_t burst = 0; burst < 3000; burst++) {
        for (uint32_t k = 0; k < 2; k++)
            assert_ok(
                vly_net_inject(net, burst, "E", k, 0, 0x1p30 * unit, &error),
                error);
        assert_ok(vly_net_run(net, 1, &error), error);
        assert_ok(vly_net_inject(net, ++burst, "E", 1, 0, unit, &error), error);
        assert_ok(vly_net_run(net, 1, &error), error);
    }
    assert_ok(vly_net_read(net, "E", "input_mv", 0, 2, high, &error), error);
    assert_ok(vly_net_read(net, "E", "input_residual_mv", 0, 2, low, &error),
              error);
    assert_true(high[0] + low[0] == 1500 * 0x1p30 * unit);
    assert_true(high[1] + low[1] == 1500 * (0x1p30 + 1) * unit);
    assert_true(high[1] != high[1] + low[1]);
    vly_net_destroy(net);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    vly_registry_destroy(registry);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_ports),
                                          cmocka_unit_test(test_long)};

VLY_TEST_MAIN(tests)
