/* SPDX-License-Identifier: Apache-2.0
 * genomes/ports.toml: models that add up what arrives at their ports have, in
 * every burst, the spikes and potentials of their built-in twins to the bit;
 * the sums are the weights of the spikes that the sources sent 15 bursts (1.5
 * ms) before and earlier. All weights are whole numbers or halves and the sums
 * below 2^23, so that single precision has them exactly.
 */
#include "volley_test.h"

#include <volley/volley.h>

enum { BURSTS = 2000, N = 3, N_EX = 17, N_INH = 3, DELAY = 15, MODELS = 6 };

typedef struct model {
    const char *id;
    const char *v;
    const char *sum_ex; /* of the first port */
    const char *sum_in; /* of the second; NULL: there is one port */
    double ex;          /* weights */
    double inh;
} model;

static const model models[MODELS] = {
    {"izhikevich", "v", "sum_in", NULL, 150, -80},
    {"lif_psc_delta", "v_mv", "sum_in_mv", NULL, 2.5, -2},
    {"lif_psc_exp", "v_mv", "sum_in_pa", NULL, 400, -300},
    {"lif_psc_exp2", "v_mv", "sum_ex_pa", "sum_in_pa", 400, -300},
    {"lif_cond_exp", "v_mv", "sum_ex_ns", "sum_in_ns", 6, 12},
    {"adex", "v_mv", "sum_ex_ns", "sum_in_ns", 12, 24},
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

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_ports)};

VLY_TEST_MAIN(tests)
