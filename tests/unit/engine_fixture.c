/* SPDX-License-Identifier: Apache-2.0
 * Genomes and nets for the tests of the engine.
 */
#include "engine_fixture.h"

#include <inttypes.h>

const char *const genome_three =
    "format = 1\n"
    "[run]\ndt_ms = 0.1\nms = 10\n"
    "[model.n]\ntype = \"lif_psc_delta\"\n"
    "[area.A]\nmodel = \"n\"\nneurons = 1\n"
    "[area.B]\nmodel = \"n\"\nneurons = 1\n"
    "[area.C]\nmodel = \"n\"\nneurons = 1\n"
    "[[map]]\nlink = [\"A -> B\"]\nrule = \"one_to_one\"\n"
    "weight_mv = 20\ndelay_ms = 1.5\n"
    "[[map]]\nlink = [\"B -> C\"]\nrule = \"one_to_one\"\n"
    "weight_mv = 10\ndelay_ms = 1.5\n"
    "[[stimulus]]\nid = \"kick\"\nkind = \"spikes\"\nto = \"A\"\n"
    "neurons = [0]\nbursts = [[10, 30, 31]]\nweight_mv = 20\n";

const char *const genome_mixed =
    "format = 1\n"
    "[run]\ndt_ms = 0.5\nbursts = 60\n"
    "[area.F]\nmodel = \"feagi\"\nvoxels = [3, 2, 2]\n"
    "firing_threshold = 4\nleak_coefficient = 0.25\n"
    "refractory_period = 1\npostsynaptic_current = 3\n"
    "excitability = 0.8\n"
    "[area.G]\nmodel = \"feagi\"\nvoxels = [3, 2, 2]\n"
    "firing_threshold = 2\npostsynaptic_current = 2\n"
    "psp_uniform_distribution = false\nmp_driven_psp = true\n"
    "[area.D]\nmodel = \"lif_psc_delta\"\nneurons = 30\n"
    "tau_m_ms = { uniform = [5, 20] }\n"
    "[area.X]\nmodel = \"lif_psc_exp\"\nneurons = 25\ni_e_pa = 300\n"
    "v_mv = { uniform = [-65, -50] }\n"
    "[area.Z]\nmodel = \"izhikevich\"\nneurons = 12\n"
    "[[map]]\nid = \"FG\"\nfrom = \"F\"\nto = \"G\"\nrule = "
    "\"fixed_in_degree\"\n"
    "in_degree = 2\nweight = 2\ndelay_bursts = 1\n"
    "[[map]]\nid = \"GF\"\nfrom = \"G\"\nto = \"F\"\nrule = \"one_to_one\"\n"
    "weight = -1\ndelay_bursts = 3\n"
    "[[map]]\nid = \"DD\"\nfrom = \"D\"\nto = \"D\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 5\nweight_mv = -1.5\n"
    "delay_ms = { uniform = [0.5, 4] }\n"
    "[[map]]\nid = \"DF\"\nfrom = \"D\"\nto = \"F\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 3\nweight = 3\n"
    "delay_bursts = 2\n"
    "[[map]]\nid = \"FX\"\nfrom = \"F\"\nto = \"X\"\n"
    "rule = \"pairwise_bernoulli\"\np = 0.3\nweight_pa = 400\n"
    "delay_ms = 3\n"
    "[[map]]\nid = \"XZ\"\nfrom = \"X\"\nto = \"Z\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 4\nweight = 8\n"
    "delay_bursts = 5\n"
    "[[map]]\nid = \"ZD\"\nfrom = \"Z\"\nto = \"D\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 2\nweight_mv = 3\n"
    "delay_bursts = 1\n"
    "[[stimulus]]\nid = \"noise\"\nkind = \"poisson\"\nto = \"D\"\n"
    "rate_hz = 2000\nweight_mv = 4\n"
    "[[stimulus]]\nid = \"hum\"\nkind = \"normal\"\nto = \"X\"\n"
    "mean_pa = 20\nsd_pa = 60\n"
    "[[stimulus]]\nid = \"drive\"\nkind = \"dc\"\nto = \"Z\"\n"
    "amplitude = 12\nstart_ms = 5\nstop_ms = 15\n"
    "[[stimulus]]\nid = \"part\"\nkind = \"dc\"\nto = \"X\"\n"
    "first = 3\nn = 2\namplitude_pa = 500\nstart_ms = 2.5\nstop_ms = 12.5\n"
    "[[stimulus]]\nid = \"beat\"\nkind = \"spikes\"\nto = \"F\"\n"
    "neurons = [0, 5]\nweight = 9\n"
    "bursts = [[1, 4, 7, 10, 13, 16, 19, 22, 40], [2, 5, 8, 20, 41, 42]]\n";

static void fixture_make(fixture *f, const char *text,
                         const vly_override *overrides, uint32_t n)
{
    *f = (fixture){.error = VLY_ERROR_INIT};
    assert_ok(vly_genome_parse(text, strlen(text), "test.toml", overrides, n,
                               &f->genome, &f->error),
              f->error);
    assert_ok(vly_connectome_build(f->genome, 1, &f->connectome, &f->error),
              f->error);
    assert_ok(vly_registry_create(&f->registry, &f->error), f->error);
}

void fixture_init(fixture *f, const char *text)
{
    fixture_make(f, text, NULL, 0);
}

void fixture_init_with(fixture *f, const char *text, const char *path,
                       const char *value)
{
    vly_override override = {.path = path, .value = value};
    fixture_make(f, text, &override, 1);
}

void fixture_deinit(fixture *f)
{
    vly_registry_destroy(f->registry);
    vly_connectome_destroy(f->connectome);
    vly_genome_destroy(f->genome);
    *f = (fixture){.error = VLY_ERROR_INIT};
}

vly_net *fixture_net(fixture *f, const char *backend)
{
    vly_net *net = NULL;
    assert_ok(
        vly_net_create(f->connectome, f->registry, backend, 1, &net, &f->error),
        f->error);
    return net;
}

fingerprint fixture_run(fixture *f, vly_net *net, uint64_t n_bursts)
{
    fingerprint print = {0};
    vly_stats stats = {.struct_size = sizeof stats};
    assert_ok(vly_net_run(net, n_bursts, &f->error), f->error);
    assert_ok(vly_net_state_digest(net, &print.state, &f->error), f->error);
    assert_ok(vly_net_stats(net, &stats, &f->error), f->error);
    print.burst = vly_net_burst(net);
    print.digest = vly_net_digest(net);
    print.spikes = stats.spikes;
    return print;
}

void assert_same(const fingerprint *a, const fingerprint *b)
{
    assert_int_equal(a->burst, b->burst);
    assert_int_equal(a->spikes, b->spikes);
    assert_true(a->digest == b->digest);
    assert_true(a->state == b->state);
}

void assert_fails(vly_status status, vly_status wanted, const vly_error *error,
                  const char *text)
{
    if (status != wanted)
        fail_msg("status %d, wanted %d (%s)", (int)status, (int)wanted,
                 error->message);
    if (!strstr(error->message, text))
        fail_msg("message \"%s\", wanted \"%s\" in it", error->message, text);
    assert_int_equal(error->status, wanted);
}

vly_status spike_log_add(void *arg, uint64_t burst, const uint32_t *ids,
                         uint32_t n_ids, uint64_t digest)
{
    spike_log *log = arg;
    (void)digest;
    log->n_calls++;
    log->last_burst = burst;
    for (uint32_t i = 0; ids && i < n_ids && log->n < 4096; i++) {
        log->bursts[log->n] = burst;
        log->ids[log->n++] = ids[i];
    }
    return burst == log->fail_at ? VLY_E_IO : VLY_OK;
}
