/* SPDX-License-Identifier: Apache-2.0
 * Errors of a device, the same for each kind.
 */
#include "device_errors.h"

#include <sys/wait.h>

#include "base/error.h"
#include "connectome/connectome.h"

const char device_small_net[] =
    "format = 1\n[run]\ndt_ms = 1\nbursts = 60\n[area.A]\n"
    "model = \"lif_psc_delta\"\nneurons = 500\n[[map]]\nfrom = \"A\"\n"
    "to = \"A\"\nrule = \"fixed_in_degree\"\nin_degree = 9\nweight_mv = 1\n"
    "delay_bursts = 2\n[[stimulus]]\nkind = \"poisson\"\nto = \"A\"\n"
    "rate_hz = 100\nweight_mv = 9\n";

vly_connectome *device_build(const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    assert_ok(
        vly_genome_parse(text, strlen(text), "text", NULL, 0, &genome, &error),
        error);
    assert_ok(vly_connectome_build(genome, 4, &connectome, &error), error);
    vly_genome_destroy(genome);
    return connectome;
}

uint64_t device_digest(vly_registry *registry, const vly_connectome *connectome,
                       const char *spec)
{
    vly_error error = VLY_ERROR_INIT;
    vly_net *net = NULL;
    assert_ok(vly_net_create(connectome, registry, spec, 1, &net, &error),
              error);
    assert_ok(vly_net_run(net, 60, &error), error);
    uint64_t digest = vly_net_digest(net);
    vly_net_destroy(net);
    return digest;
}

vly_device_usage device_usage(const char *device)
{
    vly_device_usage usage = {.struct_size = sizeof usage};
    for (uint32_t i = 0; i < vly_device_memory_count(); i++)
        if (vly_device_memory_usage(i, &usage) == VLY_OK &&
            strcmp(usage.device, device) == 0)
            return usage;
    fail_msg("there is no account %s", device);
    return usage;
}

/* Half of what the net has, half of that and so on: a quota is kept to, by what
 * may be the host's memory as well, until there is too little. */
static void device_quota(vly_registry *registry,
                         const vly_connectome *connectome, const char *account,
                         const char *spec)
{
    vly_error error = VLY_ERROR_INIT;
    vly_net *net = NULL;
    assert_ok(vly_net_create(connectome, registry, spec, 1, &net, &error),
              error);
    uint64_t limit = device_usage(account).used_bytes;
    vly_status status = VLY_OK;
    assert_true(limit > 0);
    while (status == VLY_OK) {
        vly_net_destroy(net);
        net = NULL;
        limit /= 2;
        assert_true(limit > 0); /* it has something there */
        assert_int_equal(vly_device_memory_limit(account, limit, &error),
                         VLY_OK);
        status = vly_net_create(connectome, registry, spec, 1, &net, &error);
        assert_true(device_usage(account).used_bytes <= limit);
    }
    assert_int_equal(status, VLY_E_NOMEM);
    assert_null(net);
    assert_true(error.bytes_requested > error.bytes_available);
    assert_non_null(strstr(error.message, account));
    assert_int_equal(device_usage(account).used_bytes, 0);
    assert_int_equal(vly_device_memory_limit(account, UINT64_MAX, &error),
                     VLY_OK);
}

void device_share(vly_registry *registry, const char *id,
                  const char *const *specs, int n)
{
    char account[32];
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *small = device_build(device_small_net);
    snprintf(account, sizeof account, "%s:0", id);
    const uint64_t digest = device_digest(registry, small, "cpu:1");
    const uint64_t reuses = device_usage(account).reuses;
    for (int i = 0; i < 6 * n; i++) {
        vly_net *beside = NULL;
        assert_ok(vly_net_create(small, registry, specs[i / 2 % n], 1, &beside,
                                 &error),
                  error);
        assert_ok(vly_net_run(beside, 30, &error), error);
        assert_true(device_digest(registry, small, specs[i % n]) == digest);
        assert_ok(vly_net_run(beside, 30, &error), error);
        assert_true(vly_net_digest(beside) == digest);
        vly_net_destroy(beside);
        assert_int_equal(device_usage(account).used_bytes, 0);
        assert_int_equal(device_usage("host").used_bytes, 0);
    }
    vly_device_usage usage = device_usage(account);
    printf("%s: %u blocks used again, %u bytes kept\n", account,
           (unsigned)(usage.reuses - reuses), (unsigned)usage.kept_bytes);
    assert_true(usage.reuses >= reuses + 50);
    device_quota(registry, small, account, specs[0]);
    vly_connectome_destroy(small);
}

int device_run_command(const char *environment, const char *arguments,
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

void device_lose(vly_registry *registry, const char *id)
{
    char spec[64];
    vly_connectome *small = device_build(device_small_net);
    vly_net *net = NULL;
    vly_error first = VLY_ERROR_INIT;
    vly_error again = VLY_ERROR_INIT;
    double value = 0;
    snprintf(spec, sizeof spec, "%s:0,fault=1", id);
    assert_ok(vly_net_create(small, registry, spec, 1, &net, &first), first);
    assert_int_equal(vly_net_run(net, 10, &first), VLY_E_DEVICE);
    assert_true(strlen(first.message) > 20);
    assert_int_equal(vly_net_run(net, 10, &again), VLY_E_DEVICE);
    assert_string_equal(first.message, again.message);
    assert_int_equal(vly_net_read(net, "A", "v_mv", 0, 1, &value, &again),
                     VLY_E_DEVICE);
    assert_string_equal(first.message, again.message);
    assert_int_equal(vly_status_exit_code(first.status), 3);
    vly_net_destroy(net);
    net = NULL;
    snprintf(spec, sizeof spec, "%s:0", id);
    assert_int_equal(vly_net_create(small, registry, spec, 1, &net, &again),
                     VLY_E_DEVICE);
    assert_null(net);
    assert_true(device_digest(registry, small, "cpu:1") ==
                device_digest(registry, small, "cpu:2"));
    vly_connectome_destroy(small);
}
