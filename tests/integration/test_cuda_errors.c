/* SPDX-License-Identifier: Apache-2.0
 * What goes wrong on a device, through the engine and the command: memory that
 * runs out, devices that there are not, a device that fails. Nothing is left
 * allocated, there is one message, and the process can go on with the cpu.
 */
#include "device_errors.h"

#include <dlfcn.h>
#include <inttypes.h>

#include "base/memory.h"
#include "connectome/connectome.h"

static vly_registry *registry;
static vly_error error = {.struct_size = sizeof error};

static vly_status count_spikes(void *arg, uint64_t burst, const uint32_t *ids,
                               uint32_t n_ids, uint64_t digest)
{
    uint64_t *n_spikes = arg;
    (void)burst;
    (void)ids;
    (void)digest;
    *n_spikes += n_ids;
    return VLY_OK;
}

/* ---- free memory of device 0, from the driver -------------------------- */

/* The driver's own functions: the plugin's runtime is inside the plugin, and
 * both use the primary context. */
typedef int (*context_retain)(void **context, int device);
typedef int (*context_set)(void *context);
typedef int (*memory_info)(size_t *available, size_t *total);

static void *driver_function(const char *name)
{
    static void *driver;
    if (driver == NULL)
        driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(driver);
    void *function = dlsym(driver, name);
    assert_non_null(function);
    return function;
}

static uint64_t free_bytes(void)
{
    context_retain retain;
    context_set set;
    memory_info info;
    void *functions[3] = {driver_function("cuDevicePrimaryCtxRetain"),
                          driver_function("cuCtxSetCurrent"),
                          driver_function("cuMemGetInfo_v2")};
    /* ISO C has no cast from an object's address to a function's */
    memcpy(&retain, &functions[0], sizeof retain);
    memcpy(&set, &functions[1], sizeof set);
    memcpy(&info, &functions[2], sizeof info);
    void *context = NULL;
    size_t available = 0, total = 0;
    (void)vly_device_memory_keep(vly_device_memory_keep(0)); /* all back */
    assert_int_equal(retain(&context, 0), 0);
    assert_int_equal(set(context), 0);
    assert_int_equal(info(&available, &total), 0);
    return available;
}

/* ---- memory ------------------------------------------------------------ */

/* 250 million neurons and delays of 1 to 255 bursts: the accumulators of that
 * many bursts are 255 GB, on the host it is some GB. */
static void test_no_memory(void **state)
{
    (void)state;
    device_require(registry, "cuda");
    static const char huge_net[] =
        "format = 1\n[run]\ndt_ms = 1\nbursts = 10\n[area.A]\n"
        "model = \"lif_psc_delta\"\nneurons = 250000000\n[area.B]\n"
        "model = \"lif_psc_delta\"\nneurons = 1\n[[map]]\nfrom = \"B\"\n"
        "to = \"A\"\nrule = \"fixed_total_number\"\ncount = 5000\n"
        "weight_mv = 1\ndelay_bursts = { uniform = [0.5, 255.5] }\n";
    vly_net *net = NULL;
    vly_connectome *small = device_build(device_small_net);
    vly_connectome *huge = device_build(huge_net);
    /* what stays is there now */
    uint64_t digest = device_digest(registry, small, "cuda:0");
    uint64_t before = free_bytes();
    for (int i = 0; i < 3; i++) {
        vly_status status =
            vly_net_create(huge, registry, "cuda:0", 1, &net, &error);
        if (status != VLY_E_NOMEM)
            fail_msg("status %d: %s", (int)status, error.message);
        assert_null(net);
        assert_true(error.bytes_requested > error.bytes_available);
        assert_true(error.bytes_available > 0);
        assert_non_null(strstr(error.message, "bytes"));
    }
    printf("%s\n", error.message);
    vly_connectome_destroy(huge);
    uint64_t after = free_bytes();
    if (after + (64u << 20) < before)
        fail_msg("%" PRIu64 " bytes are not free any more", before - after);
    assert_true(device_digest(registry, small, "cuda:0") == digest);
    vly_connectome_destroy(small);
}

/* Nets that come and go leave nothing. */
static void test_nothing_left(void **state)
{
    (void)state;
    device_require(registry, "cuda");
    static const char *const specs[] = {"cuda:0,plan=global",
                                        "cuda:0,plan=resident",
                                        "cuda:0,plan=partitioned"};
    vly_connectome *small = device_build(device_small_net);
    for (int k = 0; k < 3; k++)
        device_digest(registry, small, specs[k]);
    uint64_t before = free_bytes();
    for (int i = 0; i < 30; i++)
        device_digest(registry, small, specs[i % 3]);
    uint64_t after = free_bytes();
    if (after + (8u << 20) < before)
        fail_msg("%" PRIu64 " bytes are not free any more", before - after);
    vly_connectome_destroy(small);
}

static void test_memory(void **state)
{
    (void)state;
    device_require(registry, "cuda");
    static const char *const specs[] = {"cuda:0,plan=global",
                                        "cuda:0,plan=resident",
                                        "cuda:0,plan=partitioned", "cuda:0"};
    device_share(registry, "cuda", specs, 4);
}

/* ---- the n-th allocation on the host ------------------------------------ */

/* Everything that a net does to the host's memory: created, run with and
 * without spikes and counts, read, moved to another net and back. */
static vly_status use_net(const vly_connectome *connectome, const char *spec,
                          uint64_t *digest, uint64_t *state_digest)
{
    vly_net *net = NULL;
    vly_state *kept = NULL;
    uint64_t n_spikes = 0;
    double values[7];
    vly_status status =
        vly_net_create(connectome, registry, spec, 1, &net, &error);
    if (status != VLY_OK)
        assert_null(net);
    if (status == VLY_OK)
        status = vly_net_run(net, 20, &error);
    if (status == VLY_OK) {
        vly_net_on_spikes(net, count_spikes, &n_spikes);
        vly_net_count_areas(net, 1);
        status = vly_net_inject(net, 25, "A", 3, 0, 5, &error);
    }
    if (status == VLY_OK)
        status = vly_net_run(net, 20, &error);
    if (status == VLY_OK)
        status = vly_net_read(net, "A", "v_mv", 0, 7, values, &error);
    if (status == VLY_OK)
        status = vly_net_snapshot(net, &kept, &error);
    if (status == VLY_OK)
        status = vly_net_restore(net, kept, &error);
    if (status == VLY_OK)
        status = vly_net_run(net, 20, &error);
    if (status == VLY_OK)
        status = vly_net_state_digest(net, state_digest, &error);
    if (status == VLY_OK)
        *digest = vly_net_digest(net);
    vly_state_destroy(kept);
    vly_net_destroy(net);
    return status;
}

/* A failure is NOMEM with a message and leaves no block. If the backend can
 * work without the memory, the digests are the same. */
static void walk_allocations(const vly_connectome *connectome, const char *spec)
{
    uint64_t wanted[2], found[2];
    uint64_t left = 0, n = 0, n_failed = 0;
    vly_status status = use_net(connectome, spec, &wanted[0], &wanted[1]);
    if (device_refuses("a small net", spec, status, &error))
        return;
    uint64_t live = vly_memory_live();
    while (left == 0) {
        vly_memory_fail_at(++n);
        status = use_net(connectome, spec, &found[0], &found[1]);
        left = vly_memory_fail_at(0);
        n_failed += status != VLY_OK;
        if (status == VLY_OK)
            assert_memory_equal(found, wanted, sizeof wanted);
        else if (status != VLY_E_NOMEM ||
                 strstr(error.message, "out of memory") == NULL)
            fail_msg("%s, allocation %" PRIu64 ": status %d: %s", spec, n,
                     (int)status, error.message);
        if (vly_memory_live() != live)
            fail_msg("%s, allocation %" PRIu64 ": blocks are left", spec, n);
    }
    printf("%s: %" PRIu64 " of %" PRIu64 " allocations end it\n", spec,
           n_failed, n - 1);
    assert_true(n_failed >= 20); /* the engine's own are more than that */
}

static void test_host_allocations(void **state)
{
    (void)state;
    device_require(registry, "cuda");
    uint64_t keep = vly_device_memory_keep(0); /* cached memory is not a leak */
    static const char *const specs[] = {"cuda:0", "cuda:0,plan=global",
                                        "cuda:0,plan=resident",
                                        "cuda:0,plan=partitioned"};
    vly_connectome *small = device_build(device_small_net);
    for (int k = 0; k < 4; k++)
        walk_allocations(small, specs[k]);
    vly_connectome_destroy(small);
    (void)vly_device_memory_keep(keep);
}

/* ---- what there is not ------------------------------------------------- */

static void test_no_such_device(void **state)
{
    (void)state;
    device_require(registry, "cuda");
    vly_net *net = NULL;
    vly_connectome *small = device_build(device_small_net);
    assert_int_equal(
        vly_net_create(small, registry, "cuda:999", 1, &net, &error),
        VLY_E_DEVICE);
    assert_null(net);
    assert_non_null(strstr(error.message, "999"));
    assert_int_equal(
        vly_net_create(small, registry, "cuda:0,plan=fast", 1, &net, &error),
        VLY_E_INVALID);
    assert_non_null(strstr(error.message, "plan=fast"));
    /* an existing net stays on its device and continues */
    assert_ok(vly_net_create(small, registry, "cpu:1", 1, &net, &error), error);
    assert_ok(vly_net_run(net, 30, &error), error);
    assert_int_equal(vly_net_swap(net, "cuda:999", 1, &error), VLY_E_DEVICE);
    assert_ok(vly_net_swap(net, "cuda:0", 1, &error), error);
    assert_ok(vly_net_run(net, 30, &error), error);
    assert_true(vly_net_digest(net) == device_digest(registry, small, "cpu:1"));
    vly_net_destroy(net);
    vly_connectome_destroy(small);
}

/* ---- the command ------------------------------------------------------- */

static void test_command(void **state)
{
    (void)state;
    device_require(registry, "cuda");
    char text[4096];
    assert_int_equal(
        device_run_command("", "--backend cuda:0", text, sizeof text), 0);
    assert_string_equal(text, "");
    assert_int_equal(
        device_run_command("", "--backend cuda:999", text, sizeof text), 3);
    assert_non_null(strstr(text, "999"));
    assert_int_equal(device_run_command("",
                                        "--backend cuda:0 --device-memory 4KiB",
                                        text, sizeof text),
                     5);
    assert_non_null(strstr(text, "out of memory: cuda:0: "));
    assert_non_null(strstr(text, " available"));
    assert_ptr_equal(strchr(text, '\n') + 1, text + strlen(text));
    static const char *const faults[] = {
        "--backend cuda:0,fault=1", "--backend cuda:0,plan=global,fault=1",
        "--backend cuda:0,plan=resident,fault=1",
        "--backend cuda:0,plan=partitioned,fault=1"};
    for (int i = 0; i < 4; i++) {
        int code = device_run_command("", faults[i], text, sizeof text);
        printf("%s", text);
        assert_int_equal(code, 3);
        char *end = strchr(text, '\n');
        assert_non_null(end);
        assert_string_equal(end, "\n"); /* one message */
        assert_non_null(strstr(text, "CUDA"));
    }
}

/* Last: afterwards the device is lost to this process, not the process. */
static void test_fault(void **state)
{
    (void)state;
    device_require(registry, "cuda");
    device_lose(registry, "cuda");
}

static int group_setup(void **state)
{
    (void)state;
    return vly_registry_create(&registry, &error);
}

static int group_teardown(void **state)
{
    (void)state;
    vly_registry_destroy(registry);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_nothing_left),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_host_allocations),
        cmocka_unit_test(test_no_such_device),
        cmocka_unit_test(test_command),
        cmocka_unit_test(test_fault),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown) ? 1 : 0;
}
