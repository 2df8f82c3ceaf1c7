/* SPDX-License-Identifier: Apache-2.0
 * The host side of the CUDA backend where there is no device (fake_cuda.c): the
 * 1st, 2nd, 3rd ... block of the host or of the device cannot be had while a
 * net is made, run, read and saved. NOMEM and bytes, or the backend does
 * without; nothing is left, nothing stands half. No spike is computed here.
 * TEST_DEVICE_MEMORY: the host has the engine's policy of device memory.
 */
#include "test_cpu_net.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <volley/volley.h>

#define BACKEND test_backend
enum { BURSTS = 40, N_PLANS = 6 };

static const char *const plans[N_PLANS] = {NULL,
                                           "plan=global",
                                           "plan=resident",
                                           "plan=partitioned",
                                           "change=1,launch=3",
                                           "plan=partitioned,narrow=1"};

static vly_status make(const test_net *net, const char *plan,
                       vly_backend_net **made, vly_error *error)
{
    const vly_device_spec device = {
        .struct_size = sizeof device, .n_threads = 1, .options = plan};
    return BACKEND->net_create(&device, &net->desc, &net->start, made, error);
}

/* Plan information of a net. */
static void read_plan(const test_net *net, const char *plan, char text[256])
{
    vly_backend_net *made = NULL;
    vly_error error = {.struct_size = sizeof error};
    vly_net_info info = {.struct_size = sizeof info};
    assert_ok(make(net, plan, &made, &error), error);
    assert_ok(BACKEND->net_info(made, &info, &error), error);
    memcpy(text, info.plan, sizeof info.plan);
    BACKEND->net_destroy(made);
}

/* Everything that may allocate once a net stands. */
static vly_status use(const test_net *net, vly_backend_net *made,
                      test_run *runs, vly_error *error)
{
    static const vly_input inputs[] = {{.burst = 3, .neuron = 1, .value = 5},
                                       {.burst = 5, .neuron = 2, .value = 5}};
    vly_snapshot counts = {.struct_size = sizeof counts};
    vly_column column = {.words = net->words[0][0], .uniform = 1};
    uint64_t digest = 0;
    uint32_t word = 0;
    vly_status status = VLY_OK;
    for (int i = 0; i < 2 && status == VLY_OK; i++) {
        vly_run *run = &runs[i].run;
        run->struct_size = sizeof *run;
        run->n_bursts = i == 0 ? BURSTS : 2; /* a short one too */
        run->inputs = inputs;
        run->n_inputs = i == 0 ? 2 : 0;
        status = BACKEND->net_run(made, run, error);
        if (status == VLY_OK)
            assert_int_equal(run->n_bursts_done, run->n_bursts);
    }
    if (status == VLY_OK)
        status = BACKEND->snapshot_read(made, &counts, error);
    if (status == VLY_OK)
        status = BACKEND->state_digest(made, &digest, error);
    if (status == VLY_OK)
        status = BACKEND->field_read(made, 0, 0, 0, 1, &word, error);
    if (status == VLY_OK)
        status = BACKEND->field_write(made, 0, 0, 0, 1, &word, error);
    if (status == VLY_OK)
        status = BACKEND->coef_write(made, 0, 0, &column, error);
    if (status == VLY_OK && net->desc.n_stimuli > 0)
        status = BACKEND->stimulus_write(made, 0, &net->stimuli[0], error);
    return status;
}

static void runs_init(const test_net *net, test_run runs[2])
{
    uint64_t room = (uint64_t)net->desc.n_neurons * BURSTS;
    for (int i = 0; i < 2; i++) {
        runs[i] = (test_run){.spikes = malloc(room * sizeof(uint32_t)),
                             .gains = malloc(room * sizeof(uint32_t)),
                             .digests = malloc(BURSTS * sizeof(uint64_t)),
                             .counts = malloc(BURSTS * sizeof(uint32_t))};
        runs[i].run = (vly_run){.flags = VLY_RUN_RECORD,
                                .spikes = runs[i].spikes,
                                .spike_gains = runs[i].gains,
                                .spikes_capacity = room,
                                .digests = runs[i].digests,
                                .spike_counts = runs[i].counts};
    }
}

/* One walk with block n missing; true if it was asked for. */
static bool walk(const test_net *net, const char *plan, uint64_t n,
                 uint64_t *n_failed)
{
    vly_backend_net *made = NULL;
    vly_error error = {.struct_size = sizeof error};
    test_run runs[2];
    uint64_t live = test_host_live();
    runs_init(net, runs);
    test_host_fail_at(n);
    vly_status status = make(net, plan, &made, &error);
    if (status != VLY_OK)
        assert_null(made);
    else
        status = use(net, made, runs, &error);
    bool came = test_host_fail_at_came();
    test_host_fail_at(0);
    if (status != VLY_OK &&
        (status != VLY_E_NOMEM || error.bytes_requested == 0 ||
         strstr(error.message, "bytes") == NULL))
        fail_msg("%s, block %u: status %d: %s", plan ? plan : "auto",
                 (unsigned)n, (int)status, error.message);
    assert_true(came || status == VLY_OK);
    *n_failed += status != VLY_OK;
    BACKEND->net_destroy(made);
    test_run_deinit(&runs[0]);
    test_run_deinit(&runs[1]);
    if (test_host_live() != live)
        fail_msg("%s, block %u: blocks are left", plan ? plan : "auto",
                 (unsigned)n);
    return came;
}

static void every_block(const test_net *net, bool all_plans)
{
    for (int i = 0; i < N_PLANS; i++) {
        vly_backend_net *made = NULL;
        vly_error error = {.struct_size = sizeof error};
        vly_status status = make(net, plans[i], &made, &error);
        BACKEND->net_destroy(made);
        if (status == VLY_E_UNSUPPORTED && plans[i] != NULL && !all_plans)
            continue;
        assert_ok(status, error);
        uint64_t n = 1, n_failed = 0;
        while (walk(net, plans[i], n, &n_failed))
            n++;
        print_message("%s: %u of %u blocks end it\n",
                      plans[i] ? plans[i] : "auto", (unsigned)n_failed,
                      (unsigned)n - 1);
        assert_true(n_failed > 40);
    }
}

/* All models; those of FEAGI are not for every plan. */
static void every_block_of_all_models(void **state)
{
    (void)state;
    test_net net;
    test_plugin_open();
    test_random_net(&net, 5);
    every_block(&net, false);
    test_net_deinit(&net);
}

static void every_block_of_every_plan(void **state)
{
    (void)state;
    static const uint32_t half[] = {0x80000000u};
    uint32_t coefs[6];
    test_net net;
    test_plugin_open();
    test_net_init(&net, 3);
    test_delta_coefs(coefs, 0.9f, 2);
    test_area(&net, "lif_psc_delta", 700, coefs, 0);
    test_area(&net, "lif_psc_delta", 300, coefs, 0);
    test_random_projection(&net, 0, 1, 20, 1, 9, 2, 5);
    test_random_projection(&net, 1, 0, 10, -9, -1, 1, 0);
    test_stimulus(&net, 0, half, 1, 0, 1, 0);
    test_net_finish(&net);
    every_block(&net, true);
    test_net_deinit(&net);
}

/* One delay: sums of 16 bits, and what they need. */
static void every_block_of_narrow_sums(void **state)
{
    (void)state;
    uint32_t coefs[6];
    char plan[256];
    test_net net;
    test_plugin_open();
    test_net_init(&net, 4);
    test_delta_coefs(coefs, 0.9f, 2);
    test_area(&net, "lif_psc_delta", 900, coefs, 0);
    test_area(&net, "lif_psc_delta", 200, coefs, 0);
    test_random_projection(&net, 0, 1, 20, 1, 9, 1, 0);
    test_random_projection(&net, 1, 0, 10, -9, -1, 1, 0);
    test_net_finish(&net);
    read_plan(&net, plans[N_PLANS - 1], plan);
    assert_non_null(strstr(plan, " by 16 bits"));
    every_block(&net, true);
    test_net_deinit(&net);
}

/* Too many neurons for registers: partitioned where nothing is asked for. */
static void large_net(test_net *net)
{
    uint32_t coefs[6];
    test_net_init(net, 6);
    test_delta_coefs(coefs, 0.9f, 2);
    test_area(net, "lif_psc_delta", 8700, coefs, 0);
    test_random_projection(net, 0, 0, 5, -9, 9, 1, 0);
    test_net_finish(net);
}

static void every_block_of_a_large_net(void **state)
{
    (void)state;
    uint64_t n = 1, n_failed = 0;
    char plan[256];
    test_net net;
    test_plugin_open();
    large_net(&net);
    read_plan(&net, NULL, plan);
    assert_memory_equal(plan, "partitioned", 11);
    while (walk(&net, NULL, n, &n_failed))
        n++;
    assert_true(n_failed > 40);
    test_net_deinit(&net);
}

static void bad_options(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "split=2",    "linger=3",   "change=2", "fault=3",
        "lines=8",    "narrow=2",   "unit=3",   "unit=8",
        "cluster=9",  "cluster=16", "once=101", "plan=all",
        "threads=64", "split=",     "=1",       "blocks=1x"};
    test_net net;
    char what[64];
    test_plugin_open();
    large_net(&net);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        vly_error error = {.struct_size = sizeof error};
        vly_backend_net *made = NULL;
        assert_int_equal(make(&net, bad[i], &made, &error), VLY_E_INVALID);
        assert_null(made);
        snprintf(what, sizeof what, "cuda option '%s', wanted ", bad[i]);
        assert_non_null(strstr(error.message, what));
        assert_non_null(strstr(error.message, "lines=1 to 7"));
    }
    test_net_deinit(&net);
}

/* Plan global: each group of one base delay has its own ends of rows. */
static void bytes_of_rows(void **state)
{
    (void)state;
    uint32_t coefs[6];
    char wanted[64], plan[256];
    test_net net;
    test_plugin_open();
    for (uint32_t groups = 1; groups < 6; groups += 2) {
        test_net_init(&net, groups);
        test_delta_coefs(coefs, 0.9f, 2);
        test_area(&net, "lif_psc_delta", 99, coefs, 0);
        for (uint32_t g = 0; g < groups; g++)
            test_random_projection(&net, 0, 0, 2, -9, 9, 1 + 5 * g, 0);
        test_net_finish(&net);
        read_plan(&net, "plan=global", plan);
        /* two synapses a neuron and group, and one end more than neurons */
        snprintf(wanted, sizeof wanted, "%u groups of rows, %.2f bytes a",
                 groups, 8.0 + 8.0 * 100.0 / (2.0 * 99.0));
        if (strstr(plan, wanted) == NULL)
            fail_msg("%s, wanted: %s", plan, wanted);
        test_net_deinit(&net);
    }
}

/* A driver that is missing, too old, without a device, or out of order. */
static void no_driver(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        const char *version;
        const char *says;
    } cases[] = {
        {"35", "0", "CUDA driver not detected: libcuda.so.1 is missing"},
        {"35", "11040", "too old: it is for CUDA 11.4, wanted 1"},
        {"100", "13000", "no CUDA device detected: the driver is there"},
        {"999", "13000", "the CUDA driver is there, but cannot be used: fail"},
    };
    static const vly_host host = {.struct_size = sizeof host};
    test_plugin_open();
    void *handle = dlopen(TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    const vly_plugin *plugin = dlsym(handle, VLY_PLUGIN_SYMBOL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vly_error error = {.struct_size = sizeof error};
        setenv("FAKE_CUDA_DETECT", cases[i].code, 1);
        setenv("FAKE_CUDA_DRIVER", cases[i].version, 1);
        vly_status status = plugin->init(&host, &error);
        unsetenv("FAKE_CUDA_DETECT");
        unsetenv("FAKE_CUDA_DRIVER");
        assert_int_equal(status, VLY_E_DEVICE);
        if (strstr(error.message, cases[i].says) == NULL)
            fail_msg("%s, wanted: %s", error.message, cases[i].says);
    }
    dlclose(handle);
}

#ifdef TEST_DEVICE_MEMORY
static vly_device_usage usage_of(const char *device)
{
    vly_device_usage usage = {.struct_size = sizeof usage};
    for (uint32_t i = 0; i < vly_device_memory_count(); i++)
        if (vly_device_memory_usage(i, &usage) == VLY_OK &&
            strcmp(usage.device, device) == 0)
            return usage;
    fail_msg("there is no account %s", device);
    return usage;
}

/* One byte less than a net needs is refused, and nothing is left. */
static void a_quota(void **state)
{
    (void)state;
    test_net net;
    vly_error error = {.struct_size = sizeof error};
    vly_backend_net *made = NULL;
    vly_net_info info = {.struct_size = sizeof info};
    test_plugin_open();
    test_random_net(&net, 5);
    assert_int_equal(vly_device_memory_limit("cuda:0", UINT64_MAX, NULL), 0);
    assert_ok(make(&net, "plan=global", &made, &error), error);
    assert_ok(BACKEND->net_info(made, &info, &error), error);
    vly_device_usage usage = usage_of("cuda:0");
    assert_true(usage.used_bytes >= info.device_bytes);
    assert_true(usage.used_bytes == usage.used_by[VLY_QOS_GUARANTEED]);
    assert_true(usage_of("host").used_bytes > 0);
    assert_int_equal(usage_of("cuda:1").used_bytes, 0);
    uint64_t needed = usage.peak_bytes;
    BACKEND->net_destroy(made);
    assert_int_equal(usage_of("cuda:0").used_bytes, 0);
    assert_int_equal(vly_device_memory_limit("cuda:0", needed - 1, NULL), 0);
    made = NULL;
    assert_int_equal(make(&net, "plan=global", &made, &error), VLY_E_NOMEM);
    assert_null(made);
    assert_non_null(strstr(error.message, "out of memory: cuda:0: "));
    assert_true(error.bytes_requested > error.bytes_available);
    assert_int_equal(usage_of("cuda:0").used_bytes, 0);
    assert_int_equal(usage_of("host").used_bytes, 0);
    assert_int_equal(vly_device_memory_limit("cuda:0", needed, NULL), 0);
    assert_ok(make(&net, "plan=global", &made, &error), error);
    BACKEND->net_destroy(made);
    assert_int_equal(vly_device_memory_limit("cuda:0", UINT64_MAX, NULL), 0);
    test_net_deinit(&net);
}

/* What the warnings of runs_with were about. */
static uint64_t n_other_plans, n_stayed;

/* One at most for each net that is made and each change, with bytes, and the
 * name of the backend once, which the host puts before it. */
static void look_at_warning(uint64_t before)
{
    const char *text = NULL;
    uint64_t n = test_host_warnings(&text) - before;
    if (n == 0)
        return;
    assert_true(n <= 2);
    assert_non_null(strstr(text, " bytes requested, "));
    assert_null(strstr(text, "cuda: cuda:"));
    assert_memory_equal(text, "the net ", 8);
    n_other_plans += strstr(text, "not by a faster one; plan ") != NULL;
    n_stayed += strstr(text, "stays with plan ") != NULL;
}

/* Does a net with so much memory run? A refused net leaves nothing
 * allocated. */
static bool runs_with(const test_net *net, const char *plan, uint64_t bytes)
{
    const char *text = NULL;
    const uint64_t warnings = test_host_warnings(&text);
    vly_error error = {.struct_size = sizeof error};
    vly_backend_net *made = NULL;
    test_run runs[2];
    assert_int_equal(vly_device_memory_limit("cuda:0", bytes, NULL), 0);
    runs_init(net, runs);
    vly_status status = make(net, plan, &made, &error);
    if (status == VLY_OK)
        status = use(net, made, runs, &error);
    if (status != VLY_OK && (status != VLY_E_NOMEM ||
                             error.bytes_requested <= error.bytes_available))
        fail_msg("%s, %llu bytes: status %d: %s", plan ? plan : "auto",
                 (unsigned long long)bytes, (int)status, error.message);
    look_at_warning(warnings);
    BACKEND->net_destroy(made);
    test_run_deinit(&runs[0]);
    test_run_deinit(&runs[1]);
    assert_int_equal(usage_of("cuda:0").used_bytes, 0);
    assert_int_equal(usage_of("host").used_bytes, 0);
    return status == VLY_OK;
}

/* Memory for the global plan is enough if no plan is requested. */
static void least_of_all_plans(const test_net *net)
{
    uint64_t low = 0, high = 64u << 20;
    assert_true(runs_with(net, "plan=global", high));
    while (high - low > 512) {
        uint64_t middle = low + (high - low) / 2;
        if (runs_with(net, "plan=global", middle))
            high = middle;
        else
            low = middle;
    }
    assert_true(high > 100000);
    assert_true(runs_with(net, NULL, high));
    assert_true(runs_with(net, "change=1,launch=3", high));
    for (uint64_t bytes = high / 4; bytes < 4 * high; bytes += high / 37) {
        (void)runs_with(net, NULL, bytes);
        (void)runs_with(net, "change=1,launch=3", bytes);
    }
    assert_int_equal(vly_device_memory_limit("cuda:0", UINT64_MAX, NULL), 0);
}

static void least_memory(void **state)
{
    (void)state;
    uint32_t coefs[6];
    test_net net;
    test_plugin_open();
    large_net(&net);
    least_of_all_plans(&net);
    test_net_deinit(&net);
    for (uint32_t i = 0; i < 2; i++) {
        test_net_init(&net, 7 + i);
        test_delta_coefs(coefs, 0.9f, 2);
        /* many synapses: pinned pieces are the most of it; or few: segments
         * take more while they are made */
        test_area(&net, "lif_psc_delta", i == 0 ? 900 : 8000, coefs, 0);
        test_random_projection(&net, 0, 0, i == 0 ? 50 : 1, -9, 9, 1, 0);
        test_net_finish(&net);
        least_of_all_plans(&net);
        test_net_deinit(&net);
    }
    print_message("%u warnings of another plan, %u of one that stays\n",
                  (unsigned)n_other_plans, (unsigned)n_stayed);
    assert_true(n_other_plans > 0);
    assert_true(n_stayed > 0);
}

/* Nets that come and go use what was kept: the device is asked no more. */
static void a_hundred_nets(void **state)
{
    (void)state;
    test_net net;
    uint64_t live = 0;
    vly_device_usage first = {0};
    vly_error error = {.struct_size = sizeof error};
    test_plugin_open();
    test_random_net(&net, 5);
    uint64_t keep = vly_device_memory_keep(UINT64_MAX);
    for (int i = 0; i < 100; i++) {
        vly_backend_net *made = NULL;
        assert_ok(make(&net, plans[1], &made, &error), error);
        BACKEND->net_destroy(made);
        if (i == 0) {
            live = test_host_live();
            first = usage_of("cuda:0");
        }
        assert_int_equal(test_host_live(), live);
        assert_int_equal(usage_of("cuda:0").kept_bytes, first.kept_bytes);
        assert_int_equal(usage_of("cuda:0").used_bytes, 0);
    }
    assert_true(first.kept_bytes > 0);
    assert_true(usage_of("cuda:0").reuses > first.reuses + 500);
    vly_device_memory_keep(0);
    assert_true(test_host_live() < live);
    vly_device_memory_keep(keep);
    test_net_deinit(&net);
}

/* prepare allocates the pinned memory through which rows are copied, and the
 * net takes it. It allocates nothing for a device that does not exist, and
 * nothing once the host waits. */
static void prepared(void **state)
{
    (void)state;
    test_net net;
    vly_backend_net *made = NULL;
    vly_error error = {.struct_size = sizeof error};
    vly_device_spec device = {.struct_size = sizeof device, .n_threads = 1};
    uint32_t wanted = 1;
    test_plugin_open();
    test_random_net(&net, 5);
    const uint64_t keep = vly_device_memory_keep(UINT64_C(64) << 20);
    BACKEND->prepare(&device, 1, &wanted);
    wanted = 0;
    device.index = 77;
    BACKEND->prepare(&device, 1, &wanted);
    assert_int_equal(usage_of("host").kept_bytes, 0);
    device.index = 0;
    BACKEND->prepare(&device, 1, &wanted);
    assert_int_equal(usage_of("host").kept_bytes, 3 * (UINT64_C(8) << 20));
    assert_int_equal(usage_of("host").used_bytes, 0);
    assert_ok(make(&net, NULL, &made, &error), error);
    BACKEND->net_destroy(made);
    vly_device_memory_keep(0);
    vly_device_memory_keep(keep);
    test_net_deinit(&net);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef TEST_DEVICE_MEMORY
        cmocka_unit_test(a_quota),
        cmocka_unit_test(a_hundred_nets),
        cmocka_unit_test(prepared),
        cmocka_unit_test(least_memory),
#endif
        cmocka_unit_test(every_block_of_all_models),
        cmocka_unit_test(every_block_of_every_plan),
        cmocka_unit_test(every_block_of_narrow_sums),
        cmocka_unit_test(every_block_of_a_large_net),
        cmocka_unit_test(bad_options),
        cmocka_unit_test(bytes_of_rows),
        cmocka_unit_test(no_driver),
    };
    vly_device_memory_keep(0); /* what is kept would be left */
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
