/* SPDX-License-Identifier: Apache-2.0
 * Spikes by area: the same however they are counted, by the backend or from its
 * ids, of a backend that was built before the ABI knew of them, and not
 * believed where they do not fit.
 */
#include "engine_fixture.h"

#include "plugin/registry.h"

static const vly_backend *real;
static vly_backend wrapped;
static uint64_t n_recorded; /* bursts whose ids were asked for */

static vly_status run_seen(vly_backend_net *net, vly_run *run, vly_error *error)
{
    vly_status status = real->net_run(net, run, error);
    if ((run->flags & VLY_RUN_RECORD) != 0)
        n_recorded += run->n_bursts_done;
    return status;
}

static void wrap(vly_net *net)
{
    real = net->device.backend;
    wrapped = *real;
    wrapped.net_run = run_seen;
    net->device.backend = &wrapped;
    n_recorded = 0;
}

enum { AREAS_MAX = 16 };

typedef struct counts {
    uint64_t of[AREAS_MAX];
    uint64_t sum;
    uint32_t n;
} counts;

static counts counts_of(vly_net *net)
{
    counts made = {.n = net->connectome->desc.n_areas};
    assert_true(made.n <= AREAS_MAX);
    for (uint32_t a = 0; a < made.n; a++) {
        vly_area_stats stats = {.struct_size = sizeof stats};
        assert_int_equal(vly_net_area_stats(net, a, &stats), VLY_OK);
        made.of[a] = stats.spikes;
        made.sum += stats.spikes;
    }
    return made;
}

enum { BURSTS = 300 };

static counts run_counting(fixture *f, vly_net *net, uint64_t piece)
{
    for (uint64_t left = BURSTS; left > 0;) {
        uint64_t n = left < piece ? left : piece;
        assert_ok(vly_net_run(net, n, &f->error), f->error);
        left -= n;
    }
    return counts_of(net);
}

static void same_however_counted(void **state)
{
    static spike_log log;
    static const uint64_t pieces[] = {1, 7, 63, 64, 65, BURSTS};
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    vly_stats stats = {.struct_size = sizeof stats};
    log = (spike_log){.fail_at = UINT64_MAX};
    vly_net_on_spikes(net, spike_log_add, &log);
    const counts wanted = run_counting(&f, net, BURSTS);
    assert_ok(vly_net_stats(net, &stats, &f.error), f.error);
    assert_true(wanted.sum > 100 && wanted.sum == stats.spikes);
    vly_net_destroy(net);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        for (uint32_t flags = 0; flags < 2; flags++) {
            net = fixture_net(&f, i % 2 ? "cpu:2" : "cpu:1");
            wrap(net);
            assert_int_equal(wrapped.flags,
                             VLY_BACKEND_AREA_SPIKES | VLY_BACKEND_HOST |
                                 VLY_BACKEND_LEARNS | VLY_BACKEND_SHORT_TERM |
                                 VLY_BACKEND_MODULATES | VLY_BACKEND_PROGRAMS |
                                 VLY_BACKEND_RANKS);
            wrapped.flags =
                flags ? wrapped.flags : VLY_BACKEND_HOST | VLY_BACKEND_LEARNS;
            vly_net_count_areas(net, 1);
            counts found = run_counting(&f, net, pieces[i]);
            assert_memory_equal(&found, &wanted, sizeof wanted);
            assert_int_equal(n_recorded, flags ? VLY_CHECK_BURSTS : BURSTS);
            vly_net_destroy(net);
        }
    fixture_deinit(&f);
}

/* Not asked for: nothing is counted and no id is taken. */
static void only_where_asked(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    wrap(net);
    assert_int_equal(run_counting(&f, net, BURSTS).sum, 0);
    assert_int_equal(n_recorded, 0);
    vly_net_count_areas(net, 1);
    counts some = run_counting(&f, net, BURSTS);
    assert_true(some.sum > 100);
    vly_net_count_areas(net, 0);
    counts same = run_counting(&f, net, BURSTS);
    assert_memory_equal(&some, &same, sizeof some);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* A plugin of an older minor: its ids are counted where it cannot count. */
static void built_against(const char *id, uint32_t flags, uint64_t recorded)
{
    fixture f;
    char path[512];
    fixture_init(&f, genome_three);
    (void)snprintf(path, sizeof path, "%s/%s.so", VLY_TEST_PLUGINS, id);
    assert_ok(vly_registry_add(f.registry, path, &f.error), f.error);
    vly_net *net = fixture_net(&f, id);
    wrap(net);
    assert_int_equal(wrapped.flags &
                         ~(VLY_BACKEND_NO_SHIFTS | VLY_BACKEND_NO_WINDOWS |
                           VLY_BACKEND_ALL_WEIGHTS),
                     flags);
    vly_net_count_areas(net, 1);
    counts found = run_counting(&f, net, 100);
    assert_int_equal(n_recorded, recorded);
    assert_int_equal(found.of[0], 2);
    assert_int_equal(found.of[1], 2);
    assert_int_equal(found.of[2], 1);
    fingerprint print = fixture_run(&f, net, 0);
    vly_net *other = fixture_net(&f, "cpu:1");
    fingerprint wanted = fixture_run(&f, other, BURSTS);
    assert_same(&print, &wanted);
    vly_net_destroy(other);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void built_against_older(void **state)
{
    (void)state;
    built_against("minor_0", 0, BURSTS);
    built_against("minor_1", VLY_BACKEND_AREA_SPIKES, VLY_CHECK_BURSTS);
    /* the last that reads a weight of every synapse, the first that does not */
    built_against("minor_9", 0, BURSTS);
    built_against("minor_10", 0, BURSTS);
}

/* A host of 1.0 has no such member: what lies behind its struct is not read. */
static void host_of_1_0(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    uint64_t behind = 77;
    vly_run run = {.struct_size = VLY_RUN_BYTES_1_0,
                   .n_bursts = BURSTS,
                   .area_spikes = &behind};
    assert_ok(net->device.backend->net_run(net->device.net, &run, &f.error),
              f.error);
    assert_int_equal(run.n_bursts_done, BURSTS);
    assert_int_equal(behind, 77);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* ---- wrong counts ------------------------------------------------------ */

static uint64_t err_from; /* first burst with a wrong count */
static bool err_moves;    /* from one area to another; else one too many */
static uint64_t err_burst;

static vly_status run_miscounted(vly_backend_net *net, vly_run *run,
                                 vly_error *error)
{
    vly_status status = real->net_run(net, run, error);
    err_burst += run->n_bursts_done;
    if (run->area_spikes && err_burst > err_from) {
        run->area_spikes[0]++;
        for (uint32_t a = 1; err_moves; a++)
            if (run->area_spikes[a] > 0) {
                run->area_spikes[a]--;
                break;
            }
    }
    return status;
}

static void wrong_counts(void **state)
{
    static const char *const texts[] = {"spikes by area, which do not fit",
                                        "its ids say"};
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    for (int moves = 0; moves < 2; moves++) {
        vly_net *net = fixture_net(&f, "cpu:1");
        wrap(net);
        wrapped.net_run = run_miscounted;
        vly_net_count_areas(net, 1);
        err_burst = 0;
        err_from = 40;
        err_moves = moves != 0;
        assert_ok(vly_net_run(net, 40, &f.error), f.error);
        assert_fails(vly_net_run(net, 40, &f.error), VLY_E_DEVICE, &f.error,
                     texts[moves]);
        assert_int_equal(vly_net_run(net, 1, NULL), VLY_E_DEVICE);
        vly_net_destroy(net);
    }
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(same_however_counted), cmocka_unit_test(only_where_asked),
    cmocka_unit_test(built_against_older),  cmocka_unit_test(host_of_1_0),
    cmocka_unit_test(wrong_counts),
};

VLY_TEST_MAIN(tests)
