/* SPDX-License-Identifier: Apache-2.0
 * What goes wrong on a Vulkan device, through the engine and the command: a
 * device that there is not, memory that runs out, no driver, a device that is
 * lost. There is one message, and the process can go on with the cpu.
 */
#include "device_test.h"

#include <sys/wait.h>

#include "connectome/connectome.h"

static vly_registry *registry;
static vly_error error = {.struct_size = sizeof error};

static const char small_net[] =
    "format = 1\n[run]\ndt_ms = 1\nbursts = 60\n[area.A]\n"
    "model = \"lif_psc_delta\"\nneurons = 500\n[[map]]\nfrom = \"A\"\n"
    "to = \"A\"\nrule = \"fixed_in_degree\"\nin_degree = 9\nweight_mv = 1\n"
    "delay_bursts = 2\n[[stimulus]]\nkind = \"poisson\"\nto = \"A\"\n"
    "rate_hz = 100\nweight_mv = 9\n";

static vly_connectome *build(void)
{
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    assert_ok(vly_genome_parse(small_net, strlen(small_net), "text", NULL, 0,
                               &genome, &error),
              error);
    assert_ok(vly_connectome_build(genome, 2, &connectome, &error), error);
    vly_genome_destroy(genome);
    return connectome;
}

/* A net that cannot move stays where it is and goes on; one that can gives
 * the digest of the one that stayed. */
static void test_swap(void **state)
{
    (void)state;
    device_require(registry, "vulkan");
    static const char *const moves[] = {"vulkan:0", "vulkan:0,plan=sliced",
                                        "cpu:2"};
    vly_connectome *small = build();
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

/* ---- the command ------------------------------------------------------- */

/* Exit code of the command; what it wrote to stderr. */
static int run_command(const char *environment, const char *arguments,
                       char *text, size_t size)
{
    char line[2048];
    snprintf(line, sizeof line,
             "%s %s run %s/genomes/three.toml --quiet %s 2>&1 >/dev/null",
             environment, VLY_TEST_COMMAND, VLY_TEST_SOURCE_DIR, arguments);
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    size_t n = fread(text, 1, size - 1, pipe);
    text[n] = 0;
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

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
        {"", "vulkan:0,turbo=1", "turbo=1", 2},
        {"VK_ICD_FILENAMES=/there/is/none", "vulkan:0", "no Vulkan", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[4096];
        char arguments[128];
        snprintf(arguments, sizeof arguments, "--backend %s", cases[i].backend);
        int code =
            run_command(cases[i].environment, arguments, text, sizeof text);
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
    vly_connectome *small = build();
    vly_net *net = NULL;
    vly_error first = {.struct_size = sizeof first};
    vly_error again = {.struct_size = sizeof again};
    double value = 0;
    assert_ok(
        vly_net_create(small, registry, "vulkan:0,fault=1", 1, &net, &error),
        error);
    assert_int_equal(vly_net_run(net, 10, &first), VLY_E_DEVICE);
    assert_int_equal(vly_net_run(net, 10, &again), VLY_E_DEVICE);
    assert_string_equal(first.message, again.message);
    assert_int_equal(vly_net_read(net, "A", "v_mv", 0, 1, &value, &again),
                     VLY_E_DEVICE);
    vly_net_destroy(net);
    net = NULL;
    assert_int_equal(
        vly_net_create(small, registry, "vulkan:0", 1, &net, &again),
        VLY_E_DEVICE);
    assert_null(net);
    assert_ok(vly_net_create(small, registry, "cpu:1", 1, &net, &error), error);
    assert_ok(vly_net_run(net, 10, &error), error);
    vly_net_destroy(net);
    vly_connectome_destroy(small);
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
        cmocka_unit_test(test_swap),
        cmocka_unit_test(test_command),
        cmocka_unit_test(test_fault),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown) ? 1 : 0;
}
