/* SPDX-License-Identifier: Apache-2.0
 * Opens a net on the backend that "cuda:1" or "auto" names. If a named backend
 * cannot run, that is an error; auto tries plugins by the rank that they
 * declare and reports its choice and the reasons against the others.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/engine.h"
#include "engine/ranks.h"
#include "plugin/all_weights.h"
#include "plugin/registry.h"

/* How many devices a spec names; `device`: the first. */
static vly_status count_devices(const vly_backend_spec *spec,
                                const vly_backend *table, uint32_t *n,
                                vly_error *error)
{
    uint32_t wanted = spec->last - spec->number + 1;
    if (spec->all)
        wanted = table->device_count();
    if (wanted > 1 && !table->net_create_span)
        return vly_fail(error, VLY_E_UNSUPPORTED,
                        "%u devices, but this backend runs a net on one",
                        wanted);
    if (wanted > VLY_BACKEND_SPAN_MOST)
        return vly_fail(error, VLY_E_INVALID, "%u devices, wanted at most %u",
                        wanted, VLY_BACKEND_SPAN_MOST);
    *n = wanted > 0 ? wanted : 1; /* the backend has the reason for 0 */
    return VLY_OK;
}

static vly_status create_net(const vly_net_desc *desc, const vly_backend *table,
                             const vly_device_spec *first, uint32_t n_devices,
                             const vly_snapshot *snapshot,
                             vly_backend_net **net, vly_error *error)
{
    vly_device_spec devices[VLY_BACKEND_SPAN_MOST];
    if (n_devices == 1)
        return table->net_create(first, desc, snapshot, net, error);
    for (uint32_t i = 0; i < n_devices; i++) {
        devices[i] = *first;
        devices[i].index += i;
    }
    return table->net_create_span(devices, n_devices, desc, snapshot, net,
                                  error);
}

void vly_device_name(const char *id, const vly_backend *table,
                     const vly_device_spec *device, uint32_t n_devices,
                     char name[VLY_DEVICE_NAME_BYTES])
{
    const uint32_t number = (table->flags & VLY_BACKEND_HOST) != 0
                                ? device->n_threads
                                : device->index;
    if (n_devices > 1)
        (void)snprintf(name, VLY_DEVICE_NAME_BYTES, "%s:%u-%u", id, number,
                       number + n_devices - 1);
    else
        (void)snprintf(name, VLY_DEVICE_NAME_BYTES, "%s:%u", id, number);
}

/* Fills in the names of the device, and the spec that opens it again. text: the
 * spec of all ranks; NULL without ranks. */
static vly_status describe(vly_engine_device *made,
                           const vly_backend_spec *spec, const char *text,
                           const vly_device_spec *wanted, uint32_t n_devices,
                           vly_error *error)
{
    vly_device_name(spec->id, made->backend, wanted, n_devices, made->name);
    made->index = wanted->index;
    made->n_threads = wanted->n_threads;
    /* once: it may read files or query a driver, and statistics are requested
     * often */
    vly_device_info info = {.struct_size = sizeof info};
    if (made->backend->device_info(made->index, &info, NULL) == VLY_OK)
        (void)snprintf(made->model, sizeof made->model, "%.127s", info.name);
    made->spec = text ? vly_strdup(text)
                      : vly_format("%s%s%s", made->name,
                                   spec->options[0] ? "," : "", spec->options);
    return made->spec ? VLY_OK
                      : vly_fail_nomem(error, sizeof made->name, "a name");
}

/* text: the spec of all ranks; unused without ranks. */
static vly_status open_one(const vly_connectome *connectome,
                           vly_registry *registry, const vly_backend_spec *spec,
                           const char *text, uint32_t n_threads,
                           const vly_snapshot *snapshot,
                           vly_engine_device *device, vly_error *error)
{
    const vly_backend *table = NULL;
    vly_engine_device made = {0};
    vly_device_spec wanted = {.struct_size = sizeof wanted};
    vly_error why = VLY_ERROR_INIT;
    uint32_t n_devices = 1;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_registry_device(registry, spec, n_threads, &table, &wanted, error));
    made.backend = table;
    status = vly_backend_supports(made.backend, &connectome->desc, &why);
    if (status == VLY_OK && connectome->desc.ranks) {
        made.backend =
            vly_ranks_backend(connectome->desc.ranks, spec->id, text, table);
        if (!made.backend)
            status = vly_fail(&why, VLY_E_UNSUPPORTED,
                              "ranks run at most 8 backends");
    }
    if (status == VLY_OK && !connectome->desc.ranks) /* a rank has one */
        status = count_devices(spec, made.backend, &n_devices, &why);
    if (status == VLY_OK)
        status =
            vly_all_weights(table, &connectome->desc, &made.own_desc, &why);
    if (status == VLY_OK)
        status = create_net(made.own_desc ? made.own_desc : &connectome->desc,
                            made.backend, &wanted, n_devices, snapshot,
                            &made.net, &why);
    status = vly_backend_said(spec->id, status, &why);
    if (status == VLY_OK && !made.net)
        status =
            vly_fail(&why, VLY_E_DEVICE, "net_create returned ok and no net");
    if (status != VLY_OK) {
        vly_free(made.own_desc);
        vly_fail(error, status, "backend %s: %s", spec->id, why.message);
        if (error) {
            error->bytes_requested = why.bytes_requested;
            error->bytes_available = why.bytes_available;
        }
        return status;
    }
    status = describe(&made, spec, connectome->desc.ranks ? text : NULL,
                      &wanted, n_devices, error);
    if (status != VLY_OK) {
        vly_device_close(&made);
        return status;
    }
    *device = made;
out:
    return status;
}

/* "auto" never chooses a device that is slower than the cpu backend. */
static vly_status refuse_emulated(const vly_registry *registry, const char *id,
                                  vly_error *error)
{
    const vly_backend *table = NULL;
    if (vly_registry_backend(registry, id, &table, NULL) != VLY_OK ||
        (table->flags & VLY_BACKEND_EMULATED) == 0)
        return VLY_OK;
    return vly_fail(error, VLY_E_UNSUPPORTED,
                    "its device is emulated on the processors");
}

/* A backend that runs on the processors may measure how many of them it takes;
 * one without that option is opened without it. */
static vly_status open_chosen(const vly_connectome *connectome,
                              vly_registry *registry,
                              const vly_backend_spec *spec, uint32_t n_threads,
                              const vly_snapshot *snapshot,
                              vly_engine_device *device, vly_error *error)
{
    const vly_backend *table = NULL;
    vly_backend_spec measured = *spec;
    if (vly_registry_backend(registry, spec->id, &table, NULL) == VLY_OK &&
        (table->flags & VLY_BACKEND_HOST) != 0) {
        char text[64];
        (void)snprintf(measured.options, sizeof measured.options,
                       "threads=auto");
        (void)snprintf(text, sizeof text, "%s,threads=auto", spec->id);
        vly_status status = open_one(connectome, registry, &measured, text,
                                     n_threads, snapshot, device, error);
        if (status != VLY_E_INVALID)
            return status;
    }
    return open_one(connectome, registry, spec, spec->id, n_threads, snapshot,
                    device, error);
}

static vly_status open_auto(const vly_connectome *connectome,
                            vly_registry *registry, uint32_t n_threads,
                            const vly_snapshot *snapshot,
                            vly_engine_device *device, vly_error *error)
{
    char reasons[900] = "";
    size_t used = 0;
    const char *id = vly_registry_auto(registry, 0);
    if (!id)
        return vly_fail(error, VLY_E_UNSUPPORTED,
                        "backend auto: there is no plugin that it may choose");
    for (uint32_t i = 0; id; i++) {
        const char *next = vly_registry_auto(registry, i + 1);
        vly_backend_spec spec;
        vly_error why = VLY_ERROR_INIT;
        vly_status status = vly_backend_spec_parse(id, &spec, &why);
        if (status == VLY_OK)
            status = refuse_emulated(registry, spec.id, &why);
        if (status == VLY_OK)
            status = open_chosen(connectome, registry, &spec, n_threads,
                                 snapshot, device, &why);
        if (status == VLY_OK) {
            vly_log_write(VLY_LOG_INFO, "volley", "backend auto: chose %s%s%s",
                          device->name, used != 0 ? "; not " : "", reasons);
            return VLY_OK;
        }
        int n = snprintf(reasons + used, sizeof reasons - used, "%s%s (%.200s)",
                         used != 0 ? ", " : "", id, why.message);
        if (n > 0 && (size_t)n < sizeof reasons - used)
            used += (size_t)n;
        if (status == VLY_E_NOMEM && !next) {
            vly_error_copy(&why, error);
            return status;
        }
        id = next;
    }
    return vly_fail(error, VLY_E_UNSUPPORTED,
                    "backend auto: none can run this net: %s", reasons);
}

vly_status vly_device_open(const vly_connectome *connectome,
                           vly_registry *registry, const char *spec,
                           uint32_t n_threads, const vly_snapshot *snapshot,
                           vly_engine_device *device, vly_error *error)
{
    vly_backend_spec parsed;
    char first[VLY_BACKEND_ONE_BYTES];
    uint32_t n = 1;
    vly_status status = VLY_OK;
    const char *text = spec ? spec : "auto";
    VLY_TRY(vly_ranks_pick(text, 0, first, &n, error));
    if (n > 1 && !connectome->desc.ranks)
        return vly_fail(
            error, VLY_E_INVALID,
            "backend \"%.200s\": found several backends, wanted one: "
            "only ranks (--ranks, mpirun) take one each",
            text);
    VLY_TRY(vly_backend_spec_parse(first, &parsed, error));
    if (strcmp(parsed.id, "auto") == 0 && n == 1)
        return open_auto(connectome, registry, n_threads, snapshot, device,
                         error);
    status = open_one(connectome, registry, &parsed, text, n_threads, snapshot,
                      device, error);
out:
    return status;
}

void vly_device_close(vly_engine_device *device)
{
    if (device->net)
        device->backend->net_destroy(device->net);
    vly_free(device->own_desc);
    vly_free(device->spec);
    *device = (vly_engine_device){0};
}

/* ---- snapshots of a device --------------------------------------------- */

vly_status vly_snapshot_alloc(vly_snapshot *snapshot, vly_error *error)
{
    snapshot->state =
        vly_malloc((size_t)snapshot->n_state_words, sizeof(uint32_t));
    snapshot->fired_row = vly_calloc((size_t)snapshot->n_fired_bursts + 1,
                                     sizeof *snapshot->fired_row);
    snapshot->fired = vly_malloc((size_t)snapshot->n_fired, sizeof(uint32_t));
    snapshot->fired_gain =
        vly_malloc((size_t)snapshot->n_fired, sizeof(uint32_t));
    snapshot->weights = snapshot->n_weight_bytes > 0
                            ? vly_malloc((size_t)snapshot->n_weight_bytes, 1)
                            : NULL;
    if (snapshot->state && snapshot->fired_row && snapshot->fired &&
        snapshot->fired_gain &&
        (snapshot->weights || snapshot->n_weight_bytes == 0))
        return VLY_OK;
    uint64_t bytes = 4 * snapshot->n_state_words + 8 * snapshot->n_fired +
                     8 * (uint64_t)snapshot->n_fired_bursts +
                     snapshot->n_weight_bytes;
    vly_snapshot_release(snapshot);
    return vly_fail_nomem(error, bytes, "a snapshot");
}

vly_status vly_snapshot_take(const vly_net *net, vly_snapshot *snapshot,
                             vly_error *error)
{
    const vly_engine_device *device = &net->device;
    vly_snapshot first = {.struct_size = sizeof first};
    vly_status status = VLY_OK;
    VLY_TRY(device->backend->snapshot_read(device->net, &first, error));
    VLY_TRY(vly_backend_counts_check(net, &first, error));
    /* only the counts belong to the backend; the memory is ours */
    vly_snapshot made = {.struct_size = sizeof made,
                         .n_fired_bursts = first.n_fired_bursts,
                         .burst = first.burst,
                         .n_state_words = first.n_state_words,
                         .n_fired = first.n_fired,
                         .n_weight_bytes = first.n_weight_bytes};
    VLY_TRY(vly_snapshot_alloc(&made, error));
    vly_snapshot second = made;
    status = device->backend->snapshot_read(device->net, &second, error);
    if (status == VLY_OK && (second.n_fired_bursts != made.n_fired_bursts ||
                             second.burst != made.burst ||
                             second.n_state_words != made.n_state_words ||
                             second.n_fired != made.n_fired ||
                             second.n_weight_bytes != made.n_weight_bytes))
        status = vly_fail(error, VLY_E_DEVICE,
                          "backend %s: snapshot with other counts in the "
                          "second call than in the first",
                          device->name);
    if (status == VLY_OK)
        status = vly_backend_fired_check(net, &made, error);
    if (status != VLY_OK) {
        vly_snapshot_release(&made);
        return status;
    }
    *snapshot = made;
out:
    return status;
}

vly_status vly_snapshot_copy(const vly_snapshot *snapshot, vly_snapshot *copy,
                             vly_error *error)
{
    vly_snapshot made = *snapshot;
    vly_status status = VLY_OK;
    VLY_TRY(vly_snapshot_alloc(&made, error));
    memcpy(made.state, snapshot->state,
           (size_t)made.n_state_words * sizeof *made.state);
    memcpy(made.fired_row, snapshot->fired_row,
           ((size_t)made.n_fired_bursts + 1) * sizeof *made.fired_row);
    memcpy(made.fired, snapshot->fired,
           (size_t)made.n_fired * sizeof *made.fired);
    memcpy(made.fired_gain, snapshot->fired_gain,
           (size_t)made.n_fired * sizeof *made.fired_gain);
    if (made.n_weight_bytes > 0)
        memcpy(made.weights, snapshot->weights, (size_t)made.n_weight_bytes);
    *copy = made;
out:
    return status;
}

void vly_snapshot_release(vly_snapshot *snapshot)
{
    vly_free(snapshot->state);
    vly_free(snapshot->fired_row);
    vly_free(snapshot->fired);
    vly_free(snapshot->fired_gain);
    vly_free(snapshot->weights);
    *snapshot = (vly_snapshot){0};
}

static uint64_t weights_digest(const vly_snapshot *snapshot)
{
    const uint32_t *words = snapshot->weights;
    uint64_t n = snapshot->n_weight_bytes / sizeof *words;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += vly_weight_hash(i, words[i]);
    return sum;
}

uint64_t vly_state_words_digest(const vly_state *state)
{
    const uint32_t *word = state->snapshot.state;
    uint64_t sum = weights_digest(&state->snapshot) +
                   vly_memory_words_digest(&state->memory);
    for (uint32_t a = 0; a < state->n_areas; a++) {
        const vly_state_area *area = &state->areas[a];
        for (uint32_t f = 0; f < area->n_fields; f++)
            for (uint32_t i = 0; i < area->n_neurons; i++)
                sum += vly_state_hash(area->first + i, f, *word++);
    }
    return sum;
}

uint64_t vly_snapshot_digest(const vly_connectome *connectome,
                             const vly_snapshot *snapshot)
{
    const uint32_t *word = snapshot->state;
    uint64_t sum = weights_digest(snapshot);
    for (uint32_t a = 0; a < connectome->desc.n_areas; a++) {
        const vly_area_desc *area = &connectome->desc.areas[a];
        for (uint32_t f = 0; f < area->n_fields; f++)
            for (uint32_t i = 0; i < area->n_neurons; i++)
                sum += vly_state_hash(area->first + i, f, *word++);
    }
    return sum;
}
