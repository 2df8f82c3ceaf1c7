/* SPDX-License-Identifier: Apache-2.0
 * Two backends that are wrong on purpose, made of the template:
 *   erring   after burst N the lowest bit of v_mv of one neuron is flipped:
 *            what `volley validate` must find
 *   failing  burst N ends in VLY_E_DEVICE (with VLY_BACKEND_FAILS defined)
 * Options: at=N, neuron=K (default 0), slow=MS: so long a burst, lie=WHAT: what
 * it returns does not fit the interface, see below. VOLLEY_ERRING_BURST=N where
 * there is no option. Without either they are right.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <stdlib.h>
#include <time.h>

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

/* For the net created last: enough for a test. */
static uint64_t err_at = UINT64_MAX;
static uint32_t err_neuron;
static uint64_t err_slow_ms;
static char err_lie[16];

static uint64_t option(const char *options, const char *key, uint64_t fallback)
{
    const char *found = options ? strstr(options, key) : NULL;
    return found ? strtoull(found + strlen(key), NULL, 10) : fallback;
}

static int lies(const char *what)
{
    return strcmp(err_lie, what) == 0;
}

static void lie_read(const char *options)
{
    const char *found = options ? strstr(options, "lie=") : NULL;
    size_t length = found ? strcspn(found + 4, ",") : 0;
    if (length >= sizeof err_lie)
        length = 0;
    if (length > 0)
        memcpy(err_lie, found + 4, length);
    err_lie[length] = 0;
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
    err_slow_ms = option(device->options, "slow=", 0);
    lie_read(device->options);
    if (lies("no_net"))
        return VLY_OK;
    if (lies("create_stop"))
        return VLY_E_STOPPED;
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
    /* refused, all of this as it is, if there is no room for more spikes */
    run->n_bursts_done = run->n_spikes = 0;
    run->n_events = run->n_candidates = 0;
    net_run(net, run, NULL);
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

/* One spike more at the front of the list, the same as the first. */
static void spike_twice(vly_run *run)
{
    uint64_t t = 0;
    while (run->spike_counts[t] == 0)
        t++;
    memmove(run->spikes + 1, run->spikes, run->n_spikes * sizeof *run->spikes);
    run->spike_counts[t]++;
    run->n_spikes++;
}

static vly_status lying_run(vly_backend_net *net, vly_run *run,
                            vly_error *error)
{
    uint64_t ms = err_slow_ms * run->n_bursts;
    if (ms > 0) {
        const struct timespec time = {(time_t)(ms / 1000),
                                      (long)(ms % 1000 * 1000000)};
        nanosleep(&time, NULL);
    }
    vly_status status = err_run(net, run, error);
    if (lies("stopped"))
        return VLY_E_STOPPED;
    if (lies("unknown"))
        return 42;
    if (lies("silent"))
        return VLY_E_DEVICE;
    if (lies("endless")) {
        memset(error->message, 'x', sizeof error->message);
        return VLY_E_DEVICE;
    }
    if (lies("many"))
        run->n_bursts_done = run->n_bursts + 1;
    if (lies("count"))
        run->spike_counts[0] = net->n + 1;
    if (!(run->flags & VLY_RUN_RECORD) || run->n_spikes == 0)
        return status;
    if (lies("sum"))
        run->n_spikes++;
    if (lies("id"))
        run->spikes[0] = net->n;
    if (lies("other"))
        run->spikes[0] = (run->spikes[0] + 1) % net->n;
    if (lies("twice"))
        spike_twice(run);
    return status;
}

static vly_status lying_snapshot(vly_backend_net *net, vly_snapshot *snapshot,
                                 vly_error *error)
{
    int second = snapshot->state != NULL;
    vly_status status = snapshot_read(net, snapshot, error);
    if (lies("s_words"))
        snapshot->n_state_words += second ? 0 : 1;
    if (lies("s_burst"))
        snapshot->burst++;
    if (lies("s_bursts"))
        snapshot->n_fired_bursts += second ? 0 : 1;
    if (lies("s_many"))
        snapshot->n_fired = UINT64_MAX / 8;
    if (lies("s_grow") && second)
        snapshot->n_fired += 1000000;
    if (lies("s_row") && second)
        snapshot->fired_row[1] = snapshot->n_fired + 1;
    if (lies("s_id") && second)
        snapshot->fired[0] = net->n;
    return status;
}

static vly_backend err_backend;

static vly_status err_init(const vly_host *given, vly_error *error)
{
    err_backend = backend;
    err_backend.net_create = err_create;
    err_backend.net_run = lying_run;
    err_backend.snapshot_read = lying_snapshot;
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
