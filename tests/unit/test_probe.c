/* SPDX-License-Identifier: Apache-2.0
 * Probes: they change no result, through swaps, snapshots and fail-over; what
 * they count is what the engine counts; they find each lie of a backend that
 * lies; no allocation that fails leaves anything behind.
 */
#include "engine_fixture.h"

#include "probe/probe.h"

/* A registry with a probe at it. */
typedef struct probed {
    fixture f;
    vly_probe *probe;
} probed;

static void probed_init(probed *p, const char *text, const char *points,
                        const char *fault)
{
    const vly_probe_plan plan = {
        .points = points, .faults = &fault, .n_faults = fault ? 1 : 0};
    fixture_init(&p->f, text);
    p->probe = NULL;
    assert_int_equal(vly_probe_create(&plan, &p->probe, &p->f.error), VLY_OK);
    assert_int_equal(vly_probe_attach(p->probe, p->f.registry, &p->f.error),
                     VLY_OK);
}

static void probed_deinit(probed *p)
{
    vly_probe_destroy(p->probe);
    fixture_deinit(&p->f);
}

static uint64_t series_sum(const vly_probe *probe, const char *point,
                           uint64_t *count)
{
    vly_probe_series series;
    uint64_t sum = 0;
    *count = 0;
    for (uint32_t k = 0; vly_probe_series_get(probe, k, &series); k++)
        if (strcmp(series.point, point) == 0) {
            uint64_t bins = 0;
            for (uint32_t b = 0; b < VLY_PROBE_BINS; b++)
                bins += series.bins[b];
            assert_int_equal(bins, series.count);
            assert_true(series.most <= series.sum);
            sum += series.sum;
            *count += series.count;
        }
    return sum;
}

static uint64_t failed_checks(const vly_probe *probe, const char *name)
{
    vly_probe_checked checked;
    uint64_t failed = 0;
    for (uint32_t k = 0; vly_probe_checked_get(probe, k, &checked); k++)
        if (!name || strcmp(checked.name, name) == 0)
            failed += checked.failed;
    return failed;
}

/* ---- nothing changes --------------------------------------------------- */

static void run_and_move(probed *p, fingerprint prints[4])
{
    vly_net *net = fixture_net(&p->f, "cpu:1");
    vly_state *state = NULL;
    prints[0] = fixture_run(&p->f, net, 37);
    assert_int_equal(vly_net_snapshot(net, &state, &p->f.error), VLY_OK);
    assert_int_equal(vly_net_swap(net, "cpu:3", 0, &p->f.error), VLY_OK);
    prints[1] = fixture_run(&p->f, net, 41);
    assert_int_equal(vly_net_inject(net, 90, "F", 1, 0, 20, &p->f.error),
                     VLY_OK);
    assert_int_equal(vly_net_swap(net, "cpu:2,isa=scalar", 0, &p->f.error),
                     VLY_OK);
    prints[2] = fixture_run(&p->f, net, 50);
    assert_int_equal(vly_net_restore(net, state, &p->f.error), VLY_OK);
    prints[3] = fixture_run(&p->f, net, 60);
    vly_state_destroy(state);
    vly_net_destroy(net);
}

static void test_same(void **state)
{
    static const char *const points[] = {"*", "call.*,burst", "check", "area.*",
                                         "map.*,call.net_run"};
    fingerprint wanted[4];
    (void)state;
    probed plain;
    fixture_init(&plain.f, genome_mixed);
    run_and_move(&plain, wanted);
    fixture_deinit(&plain.f);
    assert_true(wanted[3].spikes > 0);
    for (size_t k = 0; k < sizeof points / sizeof points[0]; k++) {
        fingerprint found[4];
        probed p;
        probed_init(&p, genome_mixed, points[k], NULL);
        run_and_move(&p, found);
        for (int i = 0; i < 4; i++)
            assert_same(&found[i], &wanted[i]);
        assert_int_equal(failed_checks(p.probe, NULL), 0);
        probed_deinit(&p);
    }
}

static void test_counts(void **state)
{
    vly_stats stats = {.struct_size = sizeof stats};
    vly_area_stats area = {.struct_size = sizeof area};
    uint64_t count = 0;
    uint64_t sum = 0;
    (void)state;
    probed p;
    probed_init(&p, genome_mixed, "*", NULL);
    vly_net *net = fixture_net(&p.f, "cpu:2");
    vly_net_count_areas(net, 1);
    (void)fixture_run(&p.f, net, 200);
    assert_int_equal(vly_net_stats(net, &stats, &p.f.error), VLY_OK);
    const vly_net_desc *desc = &p.f.connectome->desc;
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        char point[64];
        (void)snprintf(point, sizeof point, "area.%s", desc->areas[a].name);
        assert_int_equal(vly_net_area_stats(net, a, &area), VLY_OK);
        assert_int_equal(series_sum(p.probe, point, &count), area.spikes);
        assert_int_equal(count, 200);
    }
    const char *before = "";
    for (uint32_t i = 0; i < desc->n_projections; i++) {
        char point[64];
        if (strcmp(before, desc->projections[i].map) == 0)
            continue;
        before = desc->projections[i].map;
        (void)snprintf(point, sizeof point, "map.%s", before);
        sum += series_sum(p.probe, point, &count);
        assert_int_equal(count, 200);
    }
    assert_true(stats.events > 0);
    assert_int_equal(sum, stats.events);
    (void)series_sum(p.probe, "burst", &count);
    assert_int_equal(count, 200);
    (void)series_sum(p.probe, "call.net_create", &count);
    assert_int_equal(count, 1);
    vly_net_destroy(net);
    (void)series_sum(p.probe, "call.net_destroy", &count);
    assert_int_equal(count, 1);
    probed_deinit(&p);
}

/* Only the plugin that is named has probes, and none is left behind. */
static void test_only(void **state)
{
    const vly_probe_plan plan = {.points = "burst", .only = "cpu"};
    const vly_probe_plan nowhere = {.points = "burst", .only = "nowhere"};
    uint64_t count = 0;
    (void)state;
    probed p = {0};
    fixture_init(&p.f, genome_three);
    assert_int_equal(vly_probe_create(&nowhere, &p.probe, &p.f.error), VLY_OK);
    assert_fails(vly_probe_attach(p.probe, p.f.registry, &p.f.error),
                 VLY_E_UNSUPPORTED, &p.f.error, "nowhere");
    vly_probe_destroy(p.probe);
    assert_int_equal(vly_probe_create(&plan, &p.probe, &p.f.error), VLY_OK);
    assert_int_equal(vly_probe_attach(p.probe, p.f.registry, &p.f.error),
                     VLY_OK);
    vly_net *net = fixture_net(&p.f, "template");
    (void)fixture_run(&p.f, net, 20);
    assert_int_equal(vly_net_swap(net, "cpu:1", 0, &p.f.error), VLY_OK);
    (void)fixture_run(&p.f, net, 11);
    (void)series_sum(p.probe, "burst", &count);
    assert_int_equal(count, 11);
    vly_net_destroy(net);
    vly_probe_destroy(p.probe);
    net = fixture_net(&p.f, "cpu:1");
    (void)fixture_run(&p.f, net, 20);
    vly_net_destroy(net);
    fixture_deinit(&p.f);
}

static void test_names(void **state)
{
    static const char *const bad[][2] = {
        {"", "column 1: nothing"},
        {"check,,burst", "column 7: nothing"},
        {"call.net_rum", "column 1: \"call.net_rum\" is not a point"},
        {"check,call.net_rum", "did you mean call.net_run?"},
        {"areas.*", "not a point"},
    };
    static const char *const unfit[][2] = {
        {"area.AA", "area.AA: the network has no such area"},
        {"check,map.nothing", "map.nothing: the network has no such map"},
        {"area.A,area.?x", "area.?x"},
    };
    vly_error error = VLY_ERROR_INIT;
    vly_probe *probe = NULL;
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        const vly_probe_plan plan = {.points = bad[k][0]};
        assert_fails(vly_probe_create(&plan, &probe, &error), VLY_E_INVALID,
                     &error, bad[k][1]);
        assert_null(probe);
    }
    probed p;
    probed_init(&p, genome_three, "area.[AB],map.*,*", NULL);
    assert_int_equal(vly_probe_fits(p.probe, &p.f.connectome->desc, &p.f.error),
                     VLY_OK);
    probed_deinit(&p);
    for (size_t k = 0; k < sizeof unfit / sizeof unfit[0]; k++) {
        probed_init(&p, genome_three, unfit[k][0], NULL);
        assert_fails(vly_probe_fits(p.probe, &p.f.connectome->desc, &p.f.error),
                     VLY_E_INVALID, &p.f.error, unfit[k][1]);
        probed_deinit(&p);
    }
    assert_non_null(vly_probe_point_name(0, NULL));
    assert_null(vly_probe_point_name(1000, NULL));
}

/* Every backend of a process has a number, and there are 16. */
static void test_many(void **state)
{
    const vly_probe_plan plan = {.points = "burst", .only = "cpu"};
    fixture f[17];
    vly_probe *probes[17] = {NULL};
    (void)state;
    for (int k = 0; k < 17; k++) {
        fixture_init(&f[k], genome_three);
        assert_int_equal(vly_probe_create(&plan, &probes[k], &f[k].error),
                         VLY_OK);
        if (k < 16)
            assert_int_equal(
                vly_probe_attach(probes[k], f[k].registry, &f[k].error),
                VLY_OK);
    }
    for (int k = 0; k < 16; k++) {
        vly_net *net = fixture_net(&f[k], "cpu:1");
        vly_net_destroy(net);
    }
    assert_int_equal(vly_probe_attach(probes[16], f[16].registry, NULL),
                     VLY_OK);
    vly_net *none = NULL;
    assert_fails(vly_net_create(f[16].connectome, f[16].registry, "cpu:1", 1,
                                &none, &f[16].error),
                 VLY_E_UNSUPPORTED, &f[16].error, "the most that");
    vly_probe_destroy(probes[3]); /* there is room again */
    vly_net *net = fixture_net(&f[16], "cpu:1");
    vly_net_destroy(net);
    for (int k = 0; k < 17; k++) {
        if (k != 3)
            vly_probe_destroy(probes[k]);
        fixture_deinit(&f[k]);
    }
}

/* ---- what is found ----------------------------------------------------- */

/* A lie of the erring backend, and the check that sees it. */
static void test_lies(void **state)
{
    static const char *const lies[][2] = {
        {"many", "counts"},       {"count", "counts"},
        {"sum", "counts"},        {"id", "ids"},
        {"other", "digests"},     {"twice", "ids"},
        {"unknown", "failures"},  {"silent", "failures"},
        {"stopped", "failures"},  {"s_words", "snapshots"},
        {"s_burst", "snapshots"}, {"s_bursts", "snapshots"},
        {"s_row", "snapshots"},   {"s_id", "snapshots"},
    };
    (void)state;
    for (size_t k = 0; k < sizeof lies / sizeof lies[0]; k++) {
        char spec[64];
        vly_net *net = NULL;
        vly_state *taken = NULL;
        probed p;
        probed_init(&p, genome_three, "check,area.*,map.*", NULL);
        assert_int_equal(vly_registry_add(p.f.registry,
                                          VLY_TEST_PLUGINS "/erring.so",
                                          &p.f.error),
                         VLY_OK);
        (void)snprintf(spec, sizeof spec, "erring,lie=%s", lies[k][0]);
        assert_int_equal(vly_net_create(p.f.connectome, p.f.registry, spec, 1,
                                        &net, &p.f.error),
                         VLY_OK);
        vly_status ran = vly_net_run(net, 40, &p.f.error);
        vly_status saved = vly_net_snapshot(net, &taken, &p.f.error);
        assert_true(ran != VLY_OK || saved != VLY_OK ||
                    failed_checks(p.probe, NULL) > 0);
        if (failed_checks(p.probe, lies[k][1]) == 0)
            fail_msg("%s: check %s saw nothing", lies[k][0], lies[k][1]);
        vly_state_destroy(taken);
        vly_net_destroy(net);
        probed_deinit(&p);
    }
}

/* A backend that does a burst more than it was asked for is told from one that
 * did what was asked, where a fault cuts the call. */
static void test_lie_in_cut(void **state)
{
    vly_net *net = NULL;
    (void)state;
    probed p;
    probed_init(&p, genome_three, NULL, "clock:at=7,ms=1");
    assert_int_equal(vly_registry_add(p.f.registry,
                                      VLY_TEST_PLUGINS "/erring.so",
                                      &p.f.error),
                     VLY_OK);
    assert_int_equal(vly_net_create(p.f.connectome, p.f.registry,
                                    "erring,lie=many", 1, &net, &p.f.error),
                     VLY_OK);
    assert_fails(vly_net_run(net, 40, &p.f.error), VLY_E_DEVICE, &p.f.error,
                 "41 bursts done, which do not fit: wanted at most 40");
    vly_net_destroy(net);
    probed_deinit(&p);
}

/* ---- memory ------------------------------------------------------------ */

static vly_status all_of_it(fixture *f, vly_error *error)
{
    const char *const faults[] = {"leak:at=3,bytes=100", "drop:at=5,share=0"};
    const vly_probe_plan plan = {
        .points = "*", .faults = faults, .n_faults = 2, .only = "cpu"};
    vly_probe *probe = NULL;
    vly_net *net = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_probe_create(&plan, &probe, error));
    VLY_TRY(vly_probe_attach(probe, f->registry, error));
    VLY_TRY(vly_probe_fits(probe, &f->connectome->desc, error));
    VLY_TRY(
        vly_net_create(f->connectome, f->registry, "cpu:1", 1, &net, error));
    VLY_TRY(vly_net_run(net, 8, error));
    status = vly_net_swap(net, "cpu:2", 1, error);
out:
    vly_net_destroy(net);
    vly_probe_destroy(probe);
    return status;
}

static void test_memory(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, genome_mixed);
    assert_int_equal(all_of_it(&f, &f.error), VLY_OK);
    const uint64_t live = vly_memory_live();
    uint64_t n = 1;
    for (vly_status status = VLY_E_NOMEM; status != VLY_OK; n++) {
        vly_error error = VLY_ERROR_INIT;
        (void)vly_memory_fail_at(n);
        status = all_of_it(&f, &error);
        (void)vly_memory_fail_at(0);
        if (status != VLY_OK) {
            assert_int_equal(status, VLY_E_NOMEM);
            assert_non_null(strstr(error.message, "out of memory"));
        }
        assert_int_equal(vly_memory_live(), live);
        assert_true(n < 2000);
    }
    assert_true(n > 20);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),       cmocka_unit_test(test_counts),
        cmocka_unit_test(test_only),       cmocka_unit_test(test_names),
        cmocka_unit_test(test_many),       cmocka_unit_test(test_lies),
        cmocka_unit_test(test_lie_in_cut), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) != 0 ? 1 : 0;
}
