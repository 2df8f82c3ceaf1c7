/* SPDX-License-Identifier: Apache-2.0
 * Rules with an eligibility on the CUDA backend beside the CPU's: by spikes of
 * an area and by the host, in runs of any length, recorded or not, after swaps,
 * with a rule that is changed and frozen. TEST_PLUGIN: the kernels on the
 * processor.
 */
#include <stdlib.h>

#include "engine_fixture.h"

static const char rewarded[] =
    "format = 1\n[run]\ndt_ms = 0.5\nbursts = 40\n"
    "[area.A]\nmodel = \"lif_psc_delta\"\nneurons = 24\n"
    "v_mv = { uniform = [-70, -50] }\n"
    "[area.D]\nmodel = \"lif_psc_delta\"\nneurons = 3\n"
    "[plasticity.p]\nrule = \"stdp_reward\"\nw_max_mv = 3\na_plus_mv = 0.5\n"
    "a_minus_mv = 0.3\ntau_c_ms = 30\ntau_n_ms = 4\nincrement = 20\n"
    "interval_ms = 3.5\nmodulator = \"D\"\n"
    "[plasticity.q]\nrule = \"stdp_reward\"\nw_max_mv = -3\na_plus_mv = 0.2\n"
    "base = 2\ninterval_ms = 1\nmodulator = \"A\"\nincrement = -0.5\n"
    "delay = \"dendritic\"\n"
    "[plasticity.r]\nrule = \"stdp\"\nw_max_mv = 3\n"
    "[[map]]\nid = \"p\"\nfrom = \"A\"\nto = \"A\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 6\n"
    "weight_mv = { uniform = [0, 3] }\ndelay_ms = 1\nplasticity = \"p\"\n"
    "[[map]]\nid = \"r\"\nfrom = \"A\"\nto = \"D\"\nrule = \"all_to_all\"\n"
    "weight_mv = 0.2\ndelay_ms = 0.5\nplasticity = \"r\"\n"
    "[[map]]\nid = \"q\"\nfrom = \"A\"\nto = \"A\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 3\nweight_mv = -1\n"
    "delay_ms = 1.5\nplasticity = \"q\"\n"
    "[[stimulus]]\nkind = \"poisson\"\nto = \"*\"\nrate_hz = 600\n"
    "weight_mv = 8\n";

static void init(fixture *f)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s:%s/cpu.so", TEST_PLUGIN,
                   VLY_TEST_PLUGIN_DIR);
    setenv("VOLLEY_PLUGIN_PATH", path, 1);
    fixture_init(f, rewarded);
}

static vly_status ignore(void *arg, uint64_t burst, const uint32_t *ids,
                         uint32_t n_ids, uint64_t digest)
{
    (void)burst;
    (void)ids;
    (void)digest;
    *(uint64_t *)arg += n_ids;
    return VLY_OK;
}

/* 40 bursts: on one backend up to burst `at`, then on the other; pieces of so
 * many bursts. */
static fingerprint run(fixture *f, const char *first, const char *then,
                       uint32_t at, uint32_t piece, bool records)
{
    vly_net *net = fixture_net(f, first);
    fingerprint found = {0};
    uint64_t n_spikes = 0;
    if (records)
        vly_net_on_spikes(net, ignore, &n_spikes);
    assert_ok(vly_net_modulate(net, 9, "p", 30, &f->error), f->error);
    assert_ok(vly_net_modulate(net, 14, "p", -7.25, &f->error), f->error);
    assert_ok(vly_net_modulate(net, 14, "q", 11, &f->error), f->error);
    assert_ok(vly_net_modulate(net, 15, "q", 0.5, &f->error), f->error);
    for (uint32_t done = 0; done < 40;) {
        uint32_t next = done < at ? at : done < 30 ? 30 : 40;
        next = next - done < piece ? next : done + piece;
        if (done == at)
            assert_ok(vly_net_swap(net, then, 0, &f->error), f->error);
        if (done == 30) {
            assert_ok(vly_net_set(net, "plasticity.q.frozen", 1, &f->error),
                      f->error);
            assert_ok(vly_net_set(net, "plasticity.p.increment", -9, &f->error),
                      f->error);
            assert_ok(vly_net_set(net, "plasticity.p.reward", 3, &f->error),
                      f->error);
        }
        found = fixture_run(f, net, next - done);
        done = next;
    }
    assert_true(!records || n_spikes == found.spikes);
    vly_net_destroy(net);
    return found;
}

static void as_the_cpu(void **state)
{
    static const struct {
        const char *first;
        const char *then;
        uint32_t at;
        uint32_t piece;
        bool records;
    } cases[] = {{"cuda", "cuda", 20, 40, false},
                 {"cuda", "cuda", 20, 3, true},
                 {"cuda", "cpu:2", 11, 40, true},
                 {"cpu:3", "cuda", 15, 1, false}};
    fixture f;
    (void)state;
    init(&f);
    fingerprint wanted = run(&f, "cpu:1", "cpu:2", 14, 40, false);
    assert_true(wanted.spikes > 50);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fingerprint found = run(&f, cases[i].first, cases[i].then, cases[i].at,
                                cases[i].piece, cases[i].records);
        assert_same(&found, &wanted);
    }
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_cpu)};
VLY_TEST_MAIN(tests)
