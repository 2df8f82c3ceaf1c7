/* SPDX-License-Identifier: Apache-2.0
 * Faults that a probe makes: each does what it says, at its burst, and nothing
 * else; a text that asks for none is refused with its place.
 */
#include "engine_fixture.h"

#include "base/thread.h"
#include "probe/probe.h"

typedef struct faulty {
    fixture f;
    vly_probe *probe;
    vly_net *net;
} faulty;

static void faulty_init(faulty *x, const char *text, const char *points,
                        const char *fault, const char *backend)
{
    const vly_probe_plan plan = {
        .points = points, .faults = &fault, .n_faults = fault ? 1 : 0};
    *x = (faulty){0};
    fixture_init(&x->f, text);
    assert_int_equal(vly_probe_create(&plan, &x->probe, &x->f.error), VLY_OK);
    assert_int_equal(vly_probe_attach(x->probe, x->f.registry, &x->f.error),
                     VLY_OK);
    x->net = fixture_net(&x->f, backend);
    vly_net_count_areas(x->net, 1);
}

static void faulty_deinit(faulty *x)
{
    vly_net_destroy(x->net);
    vly_probe_destroy(x->probe);
    fixture_deinit(&x->f);
}

static vly_probe_injected injected(const faulty *x)
{
    vly_probe_injected found = {0};
    assert_true(vly_probe_injected_get(x->probe, 0, &found));
    assert_false(vly_probe_injected_get(x->probe, 1, &found));
    assert_true(vly_probe_injected_get(x->probe, 0, &found));
    return found;
}

static vly_stats stats_of(faulty *x)
{
    vly_stats stats = {.struct_size = sizeof stats};
    assert_int_equal(vly_net_stats(x->net, &stats, &x->f.error), VLY_OK);
    return stats;
}

/* Digests and statistics of 300 bursts without a fault. */
static fingerprint sound(const char *text, vly_stats *stats)
{
    faulty x;
    faulty_init(&x, text, NULL, NULL, "cpu:1");
    const fingerprint print = fixture_run(&x.f, x.net, 300);
    *stats = stats_of(&x);
    faulty_deinit(&x);
    return print;
}

/* ---- time -------------------------------------------------------------- */

static void test_slow(void **state)
{
    vly_stats wanted;
    (void)state;
    const fingerprint print = sound(genome_mixed, &wanted);
    faulty x;
    faulty_init(&x, genome_mixed, "burst",
                "slow:at=100,for=20,us=2000,factor=2", "cpu:1");
    const fingerprint found = fixture_run(&x.f, x.net, 300);
    assert_same(&found, &print);
    const vly_stats stats = stats_of(&x);
    /* no less than was asked for: 20 bursts of 2 ms; more on a busy machine */
    assert_true(stats.run_ns >= 40000000);
    const vly_probe_injected fault = injected(&x);
    assert_int_equal(fault.began, 100);
    assert_int_equal(fault.last, 119);
    vly_probe_series series;
    assert_true(vly_probe_series_get(x.probe, 0, &series));
    assert_string_equal(series.point, "burst");
    assert_true(series.sum >= 40000000 && series.most >= 2000000);
    faulty_deinit(&x);
}

static void test_stuck(void **state)
{
    vly_stats wanted;
    (void)state;
    const fingerprint print = sound(genome_mixed, &wanted);
    faulty x;
    faulty_init(&x, genome_mixed, "call.net_run", "stuck:at=77,ms=30", "cpu:1");
    const fingerprint found = fixture_run(&x.f, x.net, 300);
    assert_same(&found, &print);
    vly_probe_series series;
    assert_true(vly_probe_series_get(x.probe, 0, &series));
    assert_true(series.most >= 30000000);
    /* on a busy machine another call may have taken longer still */
    assert_true(series.most_burst == 77 || series.most > 30000000);
    assert_int_equal(injected(&x).began, 77);
    assert_int_equal(injected(&x).times, 1);
    faulty_deinit(&x);
    faulty_init(&x, genome_mixed, NULL, "stuck:at=77,how=counter", "cpu:1");
    assert_fails(vly_net_run(x.net, 300, &x.f.error), VLY_E_DEVICE, &x.f.error,
                 "did no burst");
    assert_int_equal(vly_net_burst(x.net), 77);
    faulty_deinit(&x);
}

static void test_clock(void **state)
{
    int64_t wall = 1;
    int64_t steady = 1;
    (void)state;
    faulty x;
    faulty_init(&x, genome_three, NULL, "clock:at=20,ms=-1500", "cpu:1");
    (void)fixture_run(&x.f, x.net, 20);
    vly_probe_clock(x.probe, &wall, &steady);
    assert_true(wall == 0 && steady == 0);
    (void)fixture_run(&x.f, x.net, 1);
    vly_probe_clock(x.probe, &wall, &steady);
    assert_true(wall == -1500000000 && steady == 0);
    faulty_deinit(&x);
    faulty_init(&x, genome_three, NULL, "clock:ms=250,clock=both", "cpu:1");
    (void)fixture_run(&x.f, x.net, 30);
    vly_probe_clock(x.probe, &wall, &steady);
    assert_true(wall == 250000000 && steady == 250000000);
    vly_probe_clock(NULL, &wall, &steady);
    assert_true(wall == 0 && steady == 0);
    faulty_deinit(&x);
}

/* ---- spikes ------------------------------------------------------------ */

/* The digest stands: the device has summed it. The counts tell. */
static void test_drop(void **state)
{
    static const struct {
        const char *fault;
        const char *backend;
    } cases[] = {{"drop:at=100,for=100", "cpu:1"},
                 {"drop:at=100,share=0.5", "cpu:3"}};
    vly_stats wanted;
    (void)state;
    const fingerprint print = sound(genome_mixed, &wanted);
    for (int k = 0; k < 2; k++) {
        faulty x;
        uint64_t in_areas = 0;
        faulty_init(&x, genome_mixed, k == 0 ? "check" : NULL, cases[k].fault,
                    cases[k].backend);
        const fingerprint found = fixture_run(&x.f, x.net, 300);
        assert_int_equal(found.digest, print.digest);
        assert_int_equal(found.state, print.state);
        const vly_stats stats = stats_of(&x);
        assert_true(stats.spikes < wanted.spikes);
        assert_int_equal(stats.events, wanted.events);
        for (uint32_t a = 0; a < x.f.connectome->desc.n_areas; a++) {
            vly_area_stats area = {.struct_size = sizeof area};
            assert_int_equal(vly_net_area_stats(x.net, a, &area), VLY_OK);
            in_areas += area.spikes;
        }
        assert_int_equal(in_areas, stats.spikes);
        char lost[64];
        (void)snprintf(lost, sizeof lost, "%llu spikes lost",
                       (unsigned long long)(wanted.spikes - stats.spikes));
        assert_string_equal(injected(&x).what, lost);
        vly_probe_checked checked;
        for (uint32_t c = 0; vly_probe_checked_get(x.probe, c, &checked); c++)
            if (strcmp(checked.name, "events") == 0 ||
                strcmp(checked.name, "digests") == 0)
                assert_true(checked.failed > 0 && checked.burst >= 100);
        faulty_deinit(&x);
    }
}

static void test_drop_recorded(void **state)
{
    static spike_log log;
    (void)state;
    faulty x;
    log = (spike_log){.fail_at = UINT64_MAX};
    faulty_init(&x, genome_mixed, NULL, "drop:at=70", "cpu:1");
    vly_net_on_spikes(x.net, spike_log_add, &log);
    assert_fails(vly_net_run(x.net, 300, &x.f.error), VLY_E_DEVICE, &x.f.error,
                 "digest that is not that of its spikes");
    /* one burst in 64 is looked at */
    assert_true(vly_net_burst(x.net) >= 70 && vly_net_burst(x.net) <= 128);
    faulty_deinit(&x);
}

/* ---- memory ------------------------------------------------------------ */

static void test_leak(void **state)
{
    static const char *const faults[] = {
        "leak:at=100,for=50,bytes=1000",
        "leak:at=100,for=50,bytes=1000,where=device"};
    (void)state;
    for (int k = 0; k < 2; k++) {
        faulty x;
        faulty_init(&x, genome_mixed, NULL, faults[k], "cpu:1");
        (void)fixture_run(&x.f, x.net, 100);
        const vly_stats before = stats_of(&x);
        (void)fixture_run(&x.f, x.net, 25);
        const vly_stats between = stats_of(&x);
        (void)fixture_run(&x.f, x.net, 100);
        const vly_stats after = stats_of(&x);
        const uint64_t host = k == 0;
        assert_int_equal(between.host_bytes - before.host_bytes, host * 25000);
        assert_int_equal(after.host_bytes - before.host_bytes, host * 50000);
        assert_int_equal(after.device_bytes - before.device_bytes,
                         (1 - host) * 50000);
        assert_string_equal(injected(&x).what, "50000 bytes leaked");
        /* what was leaked stays when the net goes elsewhere */
        assert_int_equal(vly_net_swap(x.net, "cpu:2", 0, &x.f.error), VLY_OK);
        const vly_stats moved = stats_of(&x);
        assert_true(moved.host_bytes + moved.device_bytes >= 50000);
        faulty_deinit(&x);
    }
}

/* It goes through the policy: a quota stops it, and that ends the net. */
static void test_leak_quota(void **state)
{
    (void)state;
    faulty x;
    assert_int_equal(vly_device_memory_limit("host", 1 << 20, NULL), VLY_OK);
    faulty_init(&x, genome_three, NULL, "leak:at=10,bytes=100000", "cpu:1");
    assert_fails(vly_net_run(x.net, 90, &x.f.error), VLY_E_NOMEM, &x.f.error,
                 "host");
    faulty_deinit(&x);
    assert_int_equal(vly_device_memory_limit("host", UINT64_MAX, NULL), VLY_OK);
}

/* ---- devices ----------------------------------------------------------- */

static void test_wrong(void **state)
{
    vly_stats wanted;
    (void)state;
    faulty x;
    faulty_init(&x, genome_three, NULL, NULL, "template");
    wanted = stats_of(&x);
    faulty_deinit(&x);
    faulty_init(&x, genome_three, "check", "wrong:to=template,at=10", "cpu:1");
    (void)fixture_run(&x.f, x.net, 5);
    assert_int_equal(vly_net_swap(x.net, "cpu:2", 0, &x.f.error), VLY_OK);
    assert_string_not_equal(stats_of(&x).plan, wanted.plan);
    (void)fixture_run(&x.f, x.net, 25);
    assert_int_equal(vly_net_swap(x.net, "cpu:2", 0, &x.f.error), VLY_OK);
    const fingerprint found = fixture_run(&x.f, x.net, 70);
    const vly_stats stats = stats_of(&x);
    assert_string_equal(stats.backend, "cpu:2");
    assert_string_equal(stats.plan, wanted.plan);
    assert_int_equal(found.spikes, 5);
    assert_int_equal(injected(&x).began, 30);
    faulty_deinit(&x);
    faulty_init(&x, genome_three, NULL, "wrong:to=template,name=own", "cpu:1");
    assert_string_equal(vly_probe_place(x.probe, 0, "cpu:2"), "template");
    assert_string_equal(vly_probe_place(x.probe, 0, "cpu:2"), "cpu:2");
    assert_string_equal(vly_probe_place(NULL, 0, "cpu:2"), "cpu:2");
    assert_int_equal(vly_net_swap(x.net, "cpu:2", 0, &x.f.error), VLY_OK);
    assert_string_not_equal(stats_of(&x).plan, wanted.plan);
    faulty_deinit(&x);
    const char *nowhere = "wrong:to=nowhere";
    const vly_probe_plan plan = {.faults = &nowhere, .n_faults = 1};
    fixture_init(&x.f, genome_three);
    assert_int_equal(vly_probe_create(&plan, &x.probe, &x.f.error), VLY_OK);
    assert_fails(vly_probe_attach(x.probe, x.f.registry, &x.f.error),
                 VLY_E_UNSUPPORTED, &x.f.error, "nowhere");
    x.net = NULL;
    faulty_deinit(&x);
}

static void test_error(void **state)
{
    vly_stats wanted;
    (void)state;
    const fingerprint print = sound(genome_mixed, &wanted);
    faulty x;
    faulty_init(&x, genome_mixed, "call.*", "error:at=90,times=2", "cpu:1");
    assert_int_equal(
        vly_net_failover(x.net, "cpu:2", 1, 50, NULL, NULL, &x.f.error),
        VLY_OK);
    vly_status status = vly_net_run(x.net, 300, &x.f.error);
    /* the second failure comes before a burst was done: it ends the net */
    assert_int_equal(status, VLY_E_DEVICE);
    faulty_deinit(&x);
    faulty_init(&x, genome_mixed, "*", "error:at=90", "cpu:1");
    assert_int_equal(
        vly_net_failover(x.net, "cpu:2", 1, 50, NULL, NULL, &x.f.error),
        VLY_OK);
    const fingerprint found = fixture_run(&x.f, x.net, 300);
    assert_same(&found, &print);
    assert_int_equal(injected(&x).times, 1);
    faulty_deinit(&x);
    faulty_init(&x, genome_mixed, NULL,
                "error:at=20,in=field_read,status=memory", "cpu:1");
    double value = 0;
    assert_int_equal(vly_net_read(x.net, "X", "v_mv", 0, 1, &value, &x.f.error),
                     VLY_OK);
    (void)fixture_run(&x.f, x.net, 20);
    assert_fails(vly_net_read(x.net, "X", "v_mv", 0, 1, &value, &x.f.error),
                 VLY_E_NOMEM, &x.f.error, "asked for by fault error:at=20");
    faulty_deinit(&x);
}

/* ---- texts ------------------------------------------------------------- */

static void test_texts(void **state)
{
    static const char *const bad[][2] = {
        {"", "column 1: \"\" is no fault"},
        {"slw:at=3", "column 1: \"slw\" is no fault, did you mean slow?"},
        {"slow", "column 5: nothing more, wanted factor or us"},
        {"slow:at=3", "column 10: nothing more, wanted factor or us"},
        {"slow:at=x,us=1", "column 6: at is \"x\", wanted a whole number"},
        {"slow:at=-1,us=1", "at is \"-1\""},
        {"slow:at=1.5,us=1", "at is \"1.5\""},
        {"slow:us=nan", "us is \"nan\""},
        {"slow:us=1,factor=0.5",
         "column 11: factor is \"0.5\", wanted a number "
         "from 1 to"},
        {"slow:us=1,us=2", "column 11: us is given twice"},
        {"slow:us=1,", "column 11: \"\", wanted KEY=VALUE"},
        {"slow:us", "column 6: \"us\", wanted KEY=VALUE"},
        {"slow:us=1,fro=5", "slow has no \"fro\", did you mean for?"},
        {"stuck:at=3", "nothing more, wanted ms"},
        {"stuck:how=counter,ms=3", "ms and how=counter, wanted one of them"},
        {"stuck:how=why", "how is \"why\", wanted one of call, counter"},
        {"drop:share=2", "share is \"2\", wanted a number from 0 to 1"},
        {"clock", "nothing more, wanted ms"},
        {"clock:ms=-1,clock=both", "a steady clock never runs backwards"},
        {"leak:at=2", "nothing more, wanted bytes"},
        {"leak:bytes=0", "bytes is \"0\", wanted a whole number from 1 to"},
        {"wrong:at=2", "nothing more, wanted to"},
        {"wrong:to=auto", "to is \"auto\", wanted a backend"},
        {"wrong:to=cpu:x", "to is \"cpu:x\", wanted a backend"},
        {"error:in=net_fly", "in is \"net_fly\", wanted one of"},
        {"error:in=net_destroy", "net_destroy, which cannot fail"},
        {"error:status=bad", "status is \"bad\", wanted one of device, memory"},
    };
    vly_probe *probe = NULL;
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        vly_error error = VLY_ERROR_INIT;
        const vly_probe_plan plan = {.faults = &bad[k][0], .n_faults = 1};
        assert_fails(vly_probe_create(&plan, &probe, &error), VLY_E_INVALID,
                     &error, bad[k][1]);
        assert_null(probe);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow),          cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_clock),         cmocka_unit_test(test_drop),
        cmocka_unit_test(test_drop_recorded), cmocka_unit_test(test_leak),
        cmocka_unit_test(test_leak_quota),    cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_error),         cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) != 0 ? 1 : 0;
}
