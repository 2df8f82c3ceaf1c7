/* SPDX-License-Identifier: Apache-2.0
 * Two backends that are wrong on purpose, made of the template:
 *   erring   after burst N the lowest bit of v_mv of one neuron is flipped:
 *            what `volley validate` must find
 *   failing  burst N ends in VLY_E_DEVICE (with VLY_BACKEND_FAILS defined)
 * Options: at=N, neuron=K (default 0). VOLLEY_ERRING_BURST=N where there is no
 * option. Without either they are right.
 */
#include <stdlib.h>

#define vly_plugin_entry template_entry
#include "../../plugins/template/template.c"
#undef vly_plugin_entry

#if defined(VLY_BACKEND_FAILS)
#define ERRING_ID "failing"
#define ERRING_FAILS 1
#else
#define ERRING_ID "erring"
#define ERRING_FAILS 0
#endif

/* Of the net created last: enough for a test. */
static uint64_t err_at = UINT64_MAX;
static uint32_t err_neuron;

static uint64_t option(const char *options, const char *key, uint64_t fallback)
{
    const char *found = options ? strstr(options, key) : NULL;
    return found ? strtoull(found + strlen(key), NULL, 10) : fallback;
}

static vly_status err_create(const vly_device_spec *device,
                             const vly_net_desc *desc,
                             const vly_snapshot *snapshot,
                             vly_backend_net **net, vly_error *error)
{
    const char *text = getenv("VOLLEY_ERRING_BURST");
    err_at = text && *text ? strtoull(text, NULL, 10) : UINT64_MAX;
    err_at = option(device->options, "at=", err_at);
    err_neuron = (uint32_t)option(device->options, "neuron=", 0);
    if (err_neuron >= desc->n_neurons)
        return fail(error, VLY_E_INVALID, ERRING_ID ": no such neuron");
    return net_create(device, desc, snapshot, net, error);
}

/* Runs up to and including burst err_at, errs, and runs the rest. */
static vly_status err_run(vly_backend_net *net, vly_run *run, vly_error *error)
{
    const vly_run whole = *run;
    if (err_at < net->burst || err_at - net->burst >= whole.n_bursts)
        return net_run(net, run, error);
    run->n_bursts = err_at - net->burst + (ERRING_FAILS ? 0 : 1);
    net_run(net, run, error);
    const vly_run head = *run;
    run->n_bursts = whole.n_bursts;
    if (net->burst < err_at + (ERRING_FAILS ? 0 : 1))
        return VLY_OK; /* stopped, or no room for more spikes */
    if (ERRING_FAILS)
        return fail(error, VLY_E_DEVICE, "failing: device lost, as asked for");
    net->state[err_neuron] ^= 1u;
    run->n_bursts = whole.n_bursts - head.n_bursts_done;
    run->digests = whole.digests ? whole.digests + head.n_bursts_done : NULL;
    run->spike_counts =
        whole.spike_counts ? whole.spike_counts + head.n_bursts_done : NULL;
    run->spikes = whole.spikes ? whole.spikes + head.n_spikes : NULL;
    run->spike_gains =
        whole.spike_gains ? whole.spike_gains + head.n_spikes : NULL;
    run->spikes_capacity = whole.spikes_capacity - head.n_spikes;
    net_run(net, run, error);
    run->n_events += head.n_events;
    run->n_candidates += head.n_candidates;
    run->n_spikes += head.n_spikes;
    run->n_bursts_done += head.n_bursts_done;
    run->n_bursts = whole.n_bursts;
    run->digests = whole.digests;
    run->spike_counts = whole.spike_counts;
    run->spikes = whole.spikes;
    run->spike_gains = whole.spike_gains;
    run->spikes_capacity = whole.spikes_capacity;
    return VLY_OK;
}

static vly_backend err_backend;

static vly_status err_init(const vly_host *given, vly_error *error)
{
    err_backend = backend;
    err_backend.net_create = err_create;
    err_backend.net_run = err_run;
    return init(given, error);
}

static const void *err_get_interface(const char *id)
{
    return strcmp(id, VLY_BACKEND_INTERFACE) == 0 ? &err_backend : NULL;
}

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = ERRING_ID,
    .version = "1.0",
    .build = "test",
    .init = err_init,
    .deinit = deinit,
    .get_interface = err_get_interface,
};
