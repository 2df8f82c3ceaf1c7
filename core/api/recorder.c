/* SPDX-License-Identifier: Apache-2.0
 * The recorder of C programs: see volley/record.h.
 */
#include <volley/record.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "connectome/connectome_digest.h"
#include "engine/engine.h"
#include "record/digest_log.h"
#include "record/export.h"
#include "record/spike_csv.h"
#include "record/stream.h"

struct vly_recorder {
    vly_spike_csv *csv; /* at most one of these two */
    vly_stream *stream;
    vly_digest_log *digests;
    uint64_t n_bursts; /* done, as far as it was called */
    vly_error failure; /* the first one */
};

/* ---- open --------------------------------------------------------------- */

static vly_status choose_areas(const vly_connectome *connectome,
                               const vly_recorder_options *options,
                               vly_spike_area *areas, vly_error *error)
{
    const uint32_t n = connectome->desc.n_areas;
    for (uint32_t a = 0; a < n; a++)
        areas[a] = (vly_spike_area){
            .name = connectome->areas[a].name,
            .first = connectome->areas[a].first,
            .n_neurons = connectome->areas[a].n_neurons,
            .recorded = options->n_areas == 0,
        };
    for (uint32_t i = 0; i < options->n_areas; i++) {
        uint32_t a = 0;
        while (a < n && strcmp(areas[a].name, options->areas[i]) != 0)
            a++;
        if (a == n)
            return vly_fail(error, VLY_E_INVALID,
                            "vly_recorder_open: the net has no area %.80s",
                            options->areas[i]);
        areas[a].recorded = true;
    }
    return VLY_OK;
}

static vly_status open_stream(const vly_net *net, const char *path,
                              const vly_spike_area *areas, vly_stream **stream,
                              vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    const vly_stream_head head = {
        .genome_hash = connectome->genome_hash,
        .connectome_hash = connectome->hash,
        .connectome_digest =
            vly_connectome_digest(connectome, vly_thread_cores()),
        .dt_ms = connectome->desc.dt_ms,
        .first_burst = net->burst,
        .areas = areas,
        .n_areas = connectome->desc.n_areas,
        .purpose = VLY_EXPORT_NONE,
    };
    return vly_stream_open(path, &head, stream, error);
}

static vly_status open_spikes(const vly_net *net,
                              const vly_recorder_options *options,
                              vly_recorder *recorder, vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    const uint32_t n = connectome->desc.n_areas;
    const vly_export_format format = vly_export_format_of(options->spikes);
    vly_status status = VLY_OK;
    if (format == VLY_EXPORT_SONATA)
        return vly_fail(error, VLY_E_INVALID,
                        "%.300s: SONATA is made of a whole recording, wanted "
                        "a stream (.vls), and vly_recording_convert after it",
                        options->spikes);
    vly_spike_area *areas = vly_calloc(n, sizeof *areas);
    if (!areas)
        return vly_fail_nomem(error, n * sizeof *areas, "areas");
    VLY_TRY(choose_areas(connectome, options, areas, error));
    if (format == VLY_EXPORT_NONE)
        status =
            open_stream(net, options->spikes, areas, &recorder->stream, error);
    else
        status =
            vly_spike_csv_open(options->spikes, areas, n,
                               connectome->desc.dt_ms, &recorder->csv, error);
out:
    vly_free(areas);
    return status;
}

static vly_status open_digests(const vly_net *net, const char *path,
                               vly_digest_log **log, vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    vly_digest_header header = {
        .genome_hash = connectome->genome_hash,
        .connectome_hash = connectome->hash,
        .dt_ms = connectome->desc.dt_ms,
        .n_neurons = connectome->desc.n_neurons,
        .n_synapses = vly_connectome_n_whole(connectome),
    };
    if (net->burst != 0)
        return vly_fail(error, VLY_E_INVALID,
                        "%.300s: a digest log has all bursts, wanted a net at "
                        "burst 0",
                        path);
    (void)snprintf(header.backend, sizeof header.backend, "%s",
                   net->device.name);
    return vly_digest_log_open(path, &header, log, error);
}

/* Nothing was recorded: no file is left. */
static void abandon(vly_recorder *recorder)
{
    vly_spike_csv_cancel(recorder->csv);
    vly_stream_cancel(recorder->stream);
    vly_digest_log_cancel(recorder->digests);
    (void)vly_spike_csv_close(recorder->csv, NULL);
    (void)vly_stream_close(recorder->stream, NULL);
    (void)vly_digest_log_close(recorder->digests, NULL);
    vly_free(recorder);
}

vly_status vly_recorder_open(const vly_net *net,
                             const vly_recorder_options *options,
                             vly_recorder **recorder, vly_error *error)
{
    vly_status status = VLY_OK;
    if (!net || !options || !recorder ||
        options->struct_size < sizeof *options ||
        (!options->spikes && !options->digests))
        return vly_fail(error, VLY_E_INVALID,
                        "vly_recorder_open: an argument is NULL, struct_size "
                        "is too small, or no file is named");
    vly_recorder *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a recorder");
    made->failure = (vly_error)VLY_ERROR_INIT;
    made->n_bursts = net->burst;
    if (options->spikes)
        VLY_TRY(open_spikes(net, options, made, error));
    if (options->digests)
        VLY_TRY(open_digests(net, options->digests, &made->digests, error));
out:
    if (status != VLY_OK)
        abandon(made);
    else
        *recorder = made;
    return status;
}

/* ---- bursts ------------------------------------------------------------- */

vly_status vly_recorder_burst(void *recorder, uint64_t burst,
                              const uint32_t *ids, uint32_t n_ids,
                              uint64_t burst_digest)
{
    vly_recorder *r = recorder;
    vly_error *error = &r->failure;
    vly_status status = error->status;
    if (status == VLY_OK && r->csv)
        status = vly_spike_csv_add(r->csv, burst, ids, n_ids, error);
    if (status == VLY_OK && r->stream && n_ids > 0)
        status = vly_stream_spikes(r->stream, burst, ids, n_ids, error);
    if (status == VLY_OK && r->digests)
        status =
            vly_digest_log_add(r->digests, burst, burst_digest, n_ids, error);
    if (status == VLY_OK)
        r->n_bursts = burst + 1;
    return status;
}

vly_status vly_recorder_flush(vly_recorder *recorder, vly_error *error)
{
    vly_spike_place place = {0};
    vly_digest_place log_place = {0};
    vly_error *failure = &recorder->failure;
    vly_status status = failure->status;
    if (status == VLY_OK && recorder->csv)
        status = vly_spike_csv_flush(recorder->csv, &place, failure);
    if (status == VLY_OK && recorder->stream)
        status = vly_stream_flush(recorder->stream, &place, failure);
    if (status == VLY_OK && recorder->digests)
        status = vly_digest_log_flush(recorder->digests, &log_place, failure);
    return status == VLY_OK ? VLY_OK
                            : vly_fail(error, status, "%s", failure->message);
}

uint64_t vly_recorder_count(const vly_recorder *recorder)
{
    return recorder->csv      ? vly_spike_csv_count(recorder->csv)
           : recorder->stream ? vly_stream_count(recorder->stream)
                              : 0;
}

/* ---- end ---------------------------------------------------------------- */

static void keep_first(vly_error *first, const vly_error *next)
{
    if (first->status == VLY_OK)
        *first = *next;
}

vly_status vly_recorder_close(vly_recorder *recorder, vly_error *error)
{
    vly_error why[3] = {VLY_ERROR_INIT, VLY_ERROR_INIT, VLY_ERROR_INIT};
    vly_error first = VLY_ERROR_INIT;
    if (!recorder)
        return VLY_OK;
    first = recorder->failure;
    if (first.status == VLY_OK && recorder->stream)
        (void)vly_stream_end(recorder->stream, recorder->n_bursts, &first);
    (void)vly_spike_csv_close(recorder->csv, &why[0]);
    (void)vly_stream_close(recorder->stream, &why[1]);
    (void)vly_digest_log_close(recorder->digests, &why[2]);
    vly_free(recorder);
    for (int i = 0; i < 3; i++)
        keep_first(&first, &why[i]);
    return first.status == VLY_OK
               ? VLY_OK
               : vly_fail(error, first.status, "%s", first.message);
}
