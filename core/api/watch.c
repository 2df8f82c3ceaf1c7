/* SPDX-License-Identifier: Apache-2.0
 * A ring of samples for C programs: see volley/watch.h.
 */
#include <volley/watch.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "engine/engine.h"
#include "record/telemetry.h"

struct vly_watch {
    vly_telemetry_ring *ring;
    uint32_t n_areas;
    uint64_t *area_spikes; /* [n_areas] of the sample that is made */
};

vly_status vly_watch_create(const vly_net *net, uint32_t n_samples,
                            vly_watch **watch, vly_error *error)
{
    vly_status status = VLY_OK;
    if (!net || !watch)
        return vly_fail(error, VLY_E_INVALID,
                        "vly_watch_create: an argument is NULL");
    const uint32_t n_areas = net->connectome->desc.n_areas;
    vly_watch *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a watch");
    made->n_areas = n_areas;
    made->area_spikes = vly_calloc(n_areas, sizeof *made->area_spikes);
    if (!made->area_spikes)
        status = vly_fail_nomem(error, n_areas * sizeof *made->area_spikes,
                                "a watch");
    else
        status = vly_telemetry_create(n_samples, n_areas, &made->ring, error);
    if (status != VLY_OK)
        vly_watch_destroy(made);
    else
        *watch = made;
    return status;
}

void vly_watch_destroy(vly_watch *watch)
{
    if (!watch)
        return;
    if (watch->ring)
        vly_telemetry_destroy(watch->ring);
    vly_free(watch->area_spikes);
    vly_free(watch);
}

uint32_t vly_watch_areas(const vly_watch *watch)
{
    return watch->n_areas;
}

vly_status vly_watch_put(vly_watch *watch, vly_net *net, vly_error *error)
{
    vly_stats stats = {.struct_size = sizeof stats};
    vly_status status = VLY_OK;
    if (net->connectome->desc.n_areas != watch->n_areas)
        return vly_fail(error, VLY_E_INVALID,
                        "vly_watch_put: the net has %u areas, wanted %u",
                        net->connectome->desc.n_areas, watch->n_areas);
    VLY_TRY(vly_net_stats(net, &stats, error));
    for (uint32_t a = 0; a < watch->n_areas; a++) {
        vly_area_stats area = {.struct_size = sizeof area};
        if (vly_net_area_stats(net, a, &area) == VLY_OK)
            watch->area_spikes[a] = area.spikes;
    }
    vly_telemetry_sample sample = {
        .bursts = stats.bursts,
        .run_ns = stats.run_ns,
        .delivery_ns = stats.delivery_ns,
        .dynamics_ns = stats.dynamics_ns,
        .exchange_ns = stats.exchange_ns,
        .drain_ns = stats.drain_ns,
        .spikes = stats.spikes,
        .events = stats.events,
        .candidates = stats.candidates,
        .host_bytes = stats.host_bytes,
        .device_bytes = stats.device_bytes,
        .connectome_bytes = stats.connectome_bytes,
        .squares = stats.spikes_squared,
    };
    (void)snprintf(sample.backend, sizeof sample.backend, "%s", stats.backend);
    vly_clock_both(&sample.at_ns, &sample.unix_ns);
    vly_telemetry_put(watch->ring, &sample, watch->area_spikes);
out:
    return status;
}

static void convert(const vly_telemetry_sample *from, vly_watch_sample *to)
{
    to->at_ns = from->at_ns;
    to->unix_ns = from->unix_ns;
    to->bursts = from->bursts;
    to->spikes = from->spikes;
    to->events = from->events;
    to->run_ns = from->run_ns;
    to->delivery_ns = from->delivery_ns;
    to->dynamics_ns = from->dynamics_ns;
    to->exchange_ns = from->exchange_ns;
    to->drain_ns = from->drain_ns;
    to->host_bytes = from->host_bytes;
    to->device_bytes = from->device_bytes;
    memcpy(to->backend, from->backend, sizeof to->backend);
}

int vly_watch_last(const vly_watch *watch, vly_watch_sample *sample,
                   uint64_t *area_spikes)
{
    vly_telemetry_sample found;
    if (sample->struct_size < sizeof *sample ||
        !vly_telemetry_last(watch->ring, &found, area_spikes))
        return 0;
    convert(&found, sample);
    return 1;
}

int vly_watch_take(const vly_watch *watch, uint64_t *next, uint64_t *lost,
                   vly_watch_sample *sample, uint64_t *area_spikes)
{
    vly_telemetry_sample found;
    if (sample->struct_size < sizeof *sample ||
        !vly_telemetry_take(watch->ring, next, lost, &found, area_spikes))
        return 0;
    convert(&found, sample);
    return 1;
}
