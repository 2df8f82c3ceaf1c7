/* SPDX-License-Identifier: Apache-2.0
 * Creating a net from a connectome on a backend, and destroying it.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/engine.h"
#include "genome/foreign_names.h"
#include "genome/genome.h"
#include "plugin/host_log.h"
#include "volley_build.h"

const char *vly_version(void)
{
    return VLY_BUILD_VERSION;
}

/* ---- failures ---------------------------------------------------------- */

void vly_error_copy(const vly_error *from, vly_error *to)
{
    if (!from || !to || from == to)
        return;
    vly_fail(to, from->status, "%s", from->message);
    to->bytes_requested = from->bytes_requested;
    to->bytes_available = from->bytes_available;
}

vly_status vly_net_alive(const vly_net *net, vly_error *error)
{
    if (net->running)
        return vly_fail(error, VLY_E_INVALID,
                        "the net is running: a function called for every burst "
                        "may only read figures and stop it");
    if (net->dead.status == VLY_OK)
        return VLY_OK;
    vly_error_copy(&net->dead, error);
    return net->dead.status;
}

vly_status vly_net_failed(vly_net *net, vly_status status, bool fatal,
                          const vly_error *what, vly_error *error)
{
    vly_error said = *what;
    status = vly_backend_said(net->device.name, status, &said);
    if (status != VLY_OK && (fatal || status == VLY_E_DEVICE) &&
        net->dead.status == VLY_OK) {
        net->dead = (vly_error)VLY_ERROR_INIT;
        vly_error_copy(&said, &net->dead);
        vly_error_copy(&net->dead, error);
        return status;
    }
    vly_error_copy(&said, error);
    return status;
}

/* ---- create and destroy ------------------------------------------------ */

static vly_status buffers_init(vly_net *net, vly_error *error)
{
    vly_engine_buffers *buffers = &net->buffers;
    net->area_spikes =
        vly_calloc(net->connectome->desc.n_areas, sizeof *net->area_spikes);
    buffers->area_spikes = vly_calloc(net->connectome->desc.n_areas,
                                      2 * sizeof *buffers->area_spikes);
    buffers->digests = vly_calloc(VLY_CHUNK_BURSTS, sizeof *buffers->digests);
    buffers->spike_counts =
        vly_calloc(VLY_CHUNK_BURSTS, sizeof *buffers->spike_counts);
    if (!net->area_spikes || !buffers->area_spikes || !buffers->digests ||
        !buffers->spike_counts)
        return vly_fail_nomem(error, 12u * VLY_CHUNK_BURSTS, "a net");
    return VLY_OK;
}

vly_status vly_net_alloc(const vly_connectome *connectome,
                         vly_registry *registry, vly_net **net,
                         vly_error *error)
{
    vly_net *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a net");
    made->connectome = connectome;
    made->registry = registry;
    vly_status status = buffers_init(made, error);
    if (status != VLY_OK) {
        vly_net_destroy(made);
        return status;
    }
    *net = made;
    return VLY_OK;
}

vly_status vly_net_create(const vly_connectome *connectome,
                          vly_registry *registry, const char *backend,
                          uint32_t n_threads, vly_net **net, vly_error *error)
{
    vly_net *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_alloc(connectome, registry, &made, error));
    VLY_TRY(vly_live_init(&made->live, connectome, error));
    VLY_TRY(vly_overlay_create(connectome, &made->live.overlay, error));
    VLY_TRY(vly_memory_net_create(connectome, &made->memory, error));
    VLY_TRY(vly_device_open(connectome, registry, backend, n_threads,
                            &connectome->start, &made->device, error));
    made->burst = connectome->start.burst;
    /* dc is summed before the first burst, whatever the columns hold */
    made->dc_next = made->burst;
    *net = made;
    made = NULL;
out:
    vly_net_destroy(made);
    return status;
}

void vly_net_destroy(vly_net *net)
{
    if (!net)
        return;
    vly_device_close(&net->device);
    vly_live_deinit(&net->live);
    vly_pending_deinit(&net->pending);
    vly_memory_net_destroy(net->memory);
    vly_free(net->area_spikes);
    vly_free(net->buffers.area_spikes);
    vly_free(net->buffers.digests);
    vly_free(net->buffers.spike_counts);
    vly_free(net->buffers.spikes);
    vly_free(net->buffers.spike_gains);
    vly_free(net->buffers.inputs);
    vly_free(net->fired_own);
    vly_failover_destroy(net->failover);
    vly_free(net);
}

vly_status vly_net_open(const char *genome_path, const char *backend,
                        vly_net **net, vly_error *error)
{
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    vly_registry *registry = NULL;
    vly_preparation *preparation = NULL;
    vly_net *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_genome_load(genome_path, NULL, 0, &genome, error));
    for (uint32_t i = 0; i < genome->n_notes; i++)
        vly_log_write(VLY_LOG_WARN, "volley", "%s", genome->notes[i]);
    VLY_TRY(vly_registry_create(&registry, error));
    preparation = vly_prepare_begin(registry, backend, 0);
    VLY_TRY(vly_connectome_build(genome, 0, &connectome, error));
    vly_prepare_end(preparation, NULL);
    preparation = NULL;
    VLY_TRY(vly_net_create(connectome, registry, backend, 0, &made, error));
    made->own_genome = genome;
    made->own_connectome = connectome;
    made->own_registry = registry;
    *net = made;
    return VLY_OK;
out:
    vly_prepare_end(preparation, NULL);
    vly_registry_destroy(registry);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    return status;
}

void vly_net_close(vly_net *net)
{
    if (!net)
        return;
    vly_genome *genome = net->own_genome;
    vly_connectome *connectome = net->own_connectome;
    vly_registry *registry = net->own_registry;
    vly_net_destroy(net);
    vly_registry_destroy(registry);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
}

/* ---- small things ------------------------------------------------------ */

void vly_net_stop(vly_net *net)
{
    __atomic_store_n(&net->stop, 1u, __ATOMIC_RELEASE);
}

void vly_net_on_spikes(vly_net *net, vly_spikes_fn function, void *arg)
{
    net->on_spikes = function;
    net->on_spikes_arg = arg;
}

void vly_net_on_bursts(vly_net *net, vly_spikes_fn function, void *arg)
{
    net->on_bursts = function;
    net->on_bursts_arg = arg;
}

void vly_net_count_areas(vly_net *net, int on)
{
    net->count_areas = on != 0;
}

uint64_t vly_net_burst(const vly_net *net)
{
    return net->burst;
}

uint64_t vly_net_digest(const vly_net *net)
{
    return net->digest;
}

/* "; there are A, B, C" for a name that nothing is near to */
static void list_areas(const vly_connectome *connectome, char *text,
                       size_t size)
{
    size_t used = 0;
    for (uint32_t a = 0; a < connectome->desc.n_areas; a++) {
        int n =
            snprintf(text + used, size - used, "%s%s",
                     a == 0 ? "; there are " : ", ", connectome->areas[a].name);
        if (n < 0 || (size_t)n >= size - used - 5) {
            (void)snprintf(text + used, size - used, "%s",
                           a == 0 ? "" : " ...");
            return;
        }
        used += (size_t)n;
    }
}

vly_status vly_net_area(const vly_net *net, const char *name, uint32_t *area,
                        vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    vly_suggest near = {0};
    char text[400];
    if (!name)
        return vly_fail(error, VLY_E_INVALID, "area is NULL, wanted a name");
    /* two passes: a suggestion costs more than an injection */
    for (uint32_t a = 0; a < connectome->desc.n_areas; a++)
        if (strcmp(connectome->areas[a].name, name) == 0) {
            *area = a;
            return VLY_OK;
        }
    for (uint32_t a = 0; a < connectome->desc.n_areas; a++)
        vly_foreign_offer(&near, name, connectome->areas[a].name);
    vly_suggest_text(&near, text, sizeof text);
    if (text[0] == 0)
        list_areas(connectome, text, sizeof text);
    return vly_fail(error, VLY_E_INVALID, "there is no area %s%s", name, text);
}
