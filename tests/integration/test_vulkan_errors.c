/* SPDX-License-Identifier: Apache-2.0
 * What goes wrong on a Vulkan device, through the engine and the command: a
 * device that there is not, memory that runs out, no driver, a device that is
 * lost. There is one message, and the process can go on with the cpu.
 */
#include "device_errors.h"

#include "connectome/connectome.h"

static vly_registry *registry;
static vly_error error = {.struct_size = sizeof error};

/* A net that cannot move stays and continues; a net that can move gives the
 * digest of the one that stayed. */
static void test_swap(void **state)
{
    (void)state;
    device_require(registry, "vulkan");
    static const char *const moves[] = {"vulkan:0", "vulkan:0,plan=sliced",
                                        "cpu:2"};
    vly_connectome *small = device_build(device_small_net);
    vly_net *stays = NULL;
    vly_net *moved = NULL;
    assert_ok(vly_net_create(small, registry, "cpu:1", 1, &stays, &error),
              error);
    assert_ok(vly_net_create(small, registry, "cpu:1", 1, &moved, &error),
              error);
    for (int i = 0; i < 3; i++) {
        assert_ok(vly_net_run(stays, 20, &error), error);
        assert_ok(vly_net_run(moved, 20, &error), error);
        assert_int_equal(vly_net_swap(moved, "vulkan:999", 1, &error),
                         VLY_E_DEVICE);
        assert_int_equal(vly_net_swap(moved, "vulkan:0,memory=1", 1, &error),
                         VLY_E_NOMEM);
        assert_true(error.bytes_requested > error.bytes_available);
        assert_ok(vly_net_swap(moved, moves[i], 1, &error), error);
    }
    assert_true(vly_net_digest(stays) == vly_net_digest(moved));
    vly_net_destroy(stays);
    vly_net_destroy(moved);
    vly_connectome_destroy(small);
}

static void test_memory(void **state)
{
    (void)state;
    device_require(registry, "vulkan");
    static const char *const specs[] = {"vulkan:0", "vulkan:0,plan=sliced",
                                        "vulkan:0,plan=global"};
    device_share(registry, "vulkan", specs, 3);
}

/* Accumulators for half a neuron: refused where they are needed, of no matter
 * elsewhere. */
static void test_few_sums(void **state)
{
    (void)state;
    device_require(registry, "vulkan");
    static const char two_ports[] =
        "format = 1\n[run]\ndt_ms = 1\nbursts = 60\n[area.A]\n"
        "model = \"lif_psc_exp2\"\nneurons = 50\ni_e_pa = 500\n"
        "[[map]]\nfrom = \"A\"\nto = \"A\"\nrule = \"fixed_in_degree\"\n"
        "in_degree = 9\nweight_pa = -20\ndelay_bursts = 2\n";
    vly_connectome *small = device_build(two_ports);
    vly_net *net = NULL;
    assert_int_equal(vly_net_create(small, registry,
                                    "vulkan,plan=sliced,sums=1", 1, &net,
                                    &error),
                     VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "sums"));
    uint64_t digest = device_digest(registry, small, "cpu:1");
    static const char *const specs[] = {"vulkan,sums=1",
                                        "vulkan,plan=global,sums=1",
                                        "vulkan,plan=sliced,sums=2"};
    for (int i = 0; i < 3; i++)
        assert_true(device_digest(registry, small, specs[i]) == digest);
    vly_connectome_destroy(small);
}

/* 640,000 events in one burst for one invocation: Mesa's driver for processors
 * ends its loops after 65,535 iterations. */
static void test_many_events(void **state)
{
    (void)state;
    device_require(registry, "vulkan");
    static const char all_at_once[] =
        "format = 1\n[run]\ndt_ms = 0.5\nbursts = 40\n[area.A]\n"
        "model = \"lif_psc_delta\"\nneurons = 800\ni_e_pa = 1000\n"
        "[[map]]\nfrom = \"A\"\nto = \"A\"\nrule = \"all_to_all\"\n"
        "weight_mv = 0.001\ndelay_ms = 4\n";
    vly_connectome *wide = device_build(all_at_once);
    static const char *const specs[] = {
        "cpu:1", "vulkan:0,plan=global,size=1,lanes=1,groups=1"};
    uint64_t digests[2];
    for (int i = 0; i < 2; i++) {
        vly_net *net = NULL;
        assert_ok(vly_net_create(wide, registry, specs[i], 1, &net, &error),
                  error);
        vly_stats stats = {.struct_size = sizeof stats};
        assert_ok(vly_net_run(net, 20, &error), error);
        assert_ok(vly_net_stats(net, &stats, &error), error);
        assert_true(stats.spikes >= 800);
        /* all of them arrive within the delay */
        assert_ok(vly_net_run(net, 8, &error), error);
        assert_ok(vly_net_state_digest(net, &digests[i], &error), error);
        vly_net_destroy(net);
    }
    assert_true(digests[0] == digests[1]);
    vly_connectome_destroy(wide);
}

/* ---- the command ------------------------------------------------------- */

/* Exit code of the command, and its stderr. */
static void test_command(void **state)
{
    (void)state;
    device_require(registry, "vulkan");
    static const struct {
        const char *environment;
        const char *backend;
        const char *says;
        int code;
    } cases[] = {
        {"", "vulkan:0", "", 0},
        {"", "vulkan:0,plan=sliced", "", 0},
        {"", "vulkan:999", "device 999", 3},
        {"", "vulkan:0,fault=1", "device lost", 3},
        {"", "vulkan:0,memory=1", "bytes", 5},
        /* kinds that are refused first: not those that may also be host
         * memory */
        {"", "vulkan:0 --device-memory 100KB", "out of memory: vulkan:0: ", 5},
        {"", "vulkan:0,turbo=1", "turbo=1", 2},
        /* the second one wins where it is set */
        {"VK_ICD_FILENAMES=/there/is/none VK_DRIVER_FILES=/there/is/none",
         "vulkan:0", "no Vulkan", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[4096];
        char arguments[128];
        snprintf(arguments, sizeof arguments, "--backend %s", cases[i].backend);
        int code = device_run_command(cases[i].environment, arguments, text,
                                      sizeof text);
        printf("%s", text);
        assert_int_equal(code, cases[i].code);
        assert_non_null(strstr(text, cases[i].says));
        char *end = strchr(text, '\n');
        if (code == 0)
            assert_string_equal(text, "");
        else /* one message */
            assert_true(end != NULL && end[1] == 0);
    }
}

/* Last: afterwards the device is lost to this process, not the process. */
static void test_fault(void **state)
{
    (void)state;
    device_require(registry, "vulkan");
    device_lose(registry, "vulkan");
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
        cmocka_unit_test(test_swap),     cmocka_unit_test(test_memory),
        cmocka_unit_test(test_few_sums), cmocka_unit_test(test_many_events),
        cmocka_unit_test(test_command),  cmocka_unit_test(test_fault),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown) ? 1 : 0;
}
