/* SPDX-License-Identifier: Apache-2.0
 * What a backend makes of a network: the net is made, asked and freed; no burst
 * is run.
 */
#include "tools/inspect/inspect_net.h"

#include <volley/host.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "tools/cli/tool.h"

/* ---- the device -------------------------------------------------------- */

/* Finds a wrong device index here and not after a long build. */
static vly_status check_device(const inspect_target *target, vly_error *error)
{
    vly_named_device wanted = {.struct_size = sizeof wanted};
    vly_device_info info = {.struct_size = sizeof info};
    const vly_backend *backend = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_device_find(target->registry, target->backend,
                            target->n_threads, &wanted, error));
    if (strcmp(wanted.id, "auto") == 0)
        return VLY_OK;
    VLY_TRY(vly_registry_backend(target->registry, wanted.id, &backend, error));
    status = backend->device_info(wanted.index, &info, error);
out:
    return status;
}

vly_status inspect_target_init(inspect_target *target, vly_error *error)
{
    vly_error why = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    VLY_TRY(tool_registry_create(&target->registry, error));
    status = tool_backend_check(target->registry, target->backend, &why);
    if (status == VLY_OK)
        status = check_device(target, &why);
    if (status != VLY_OK)
        vly_fail(error, status, "--backend %s cannot be used here: %s",
                 target->backend, why.message);
out:
    return status;
}

void inspect_target_deinit(inspect_target *target)
{
    vly_registry_destroy(target->registry);
    target->registry = NULL;
}

/* ---- the net ----------------------------------------------------------- */

static void print_bytes(const char *name, uint64_t bytes, uint64_t synapses,
                        const char *what)
{
    tool_print("%-13s%s bytes", name, tool_thousands(bytes));
    if (synapses > 0 && bytes > 0)
        tool_print(", %.2f a synapse", (double)bytes / (double)synapses);
    tool_print("%s\n", what);
}

static vly_status print_net(const vly_connectome *connectome,
                            const inspect_target *target, vly_error *error)
{
    vly_net *net = NULL;
    vly_stats stats = {.struct_size = sizeof stats};
    vly_status status = VLY_OK;
    uint64_t begin = vly_clock_ns();
    VLY_TRY(vly_net_create(connectome, target->registry, target->backend,
                           target->n_threads, &net, error));
    uint64_t made = vly_clock_ns();
    VLY_TRY(vly_net_stats(net, &stats, error));
    tool_print("backend      %s (%s)\n", stats.backend, stats.device);
    tool_print("plan         %s\n", stats.plan);
    tool_print("net          %s neurons, %s synapses, made in %s\n",
               tool_thousands(stats.neurons), tool_thousands(stats.synapses),
               tool_seconds((double)(made - begin) * 1e-9));
    print_bytes("device", stats.device_bytes, stats.synapses, "");
    print_bytes("host", stats.host_bytes, stats.synapses,
                ", beside the connectome");
    print_bytes("connectome", stats.connectome_bytes, stats.synapses, "");
out:
    vly_net_destroy(net);
    return status;
}

vly_status inspect_genome_net(const char *path, const inspect_target *target,
                              vly_error *error)
{
    tool_build build = {0};
    vly_status status = VLY_OK;
    VLY_TRY(tool_build_init(path, target->overrides, target->n_threads, &build,
                            error));
    tool_print("compiled in  %s\n", tool_seconds(build.seconds.build));
    status = print_net(build.connectome, target, error);
    tool_build_deinit(&build);
out:
    return status;
}

vly_status inspect_connectome_net(const char *path, bool verify,
                                  const inspect_target *target,
                                  vly_error *error)
{
    vly_connectome *connectome = NULL;
    vly_status status = vly_connectome_load(path, verify, &connectome, error);
    if (status == VLY_OK)
        status = print_net(connectome, target, error);
    vly_connectome_destroy(connectome);
    return status;
}
