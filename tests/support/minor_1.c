/* SPDX-License-Identifier: Apache-2.0
 * A plugin as one was built when the ABI was 1.1: the template with the header
 * of that version (abi_1_1, never to be changed), which it finds first, and
 * with what 1.1 brought: it counts the spikes of areas itself.
 */
#define vly_plugin_entry template_entry
#include "../../plugins/template/template.c"
#undef vly_plugin_entry

_Static_assert(VLY_ABI_MINOR == 1, "the header of 1.1 is found first");
_Static_assert(sizeof(vly_run) == 152, "vly_run as it was in 1.1");
_Static_assert(VLY_BACKEND_AREA_SPIKES == 1, "the flag as it was in 1.1");

static void count_areas(const vly_backend_net *net, uint64_t *spikes)
{
    const uint64_t row = ((net->burst - 1) % net->rows) * net->n;
    for (uint32_t a = 0; a < net->desc->n_areas; a++) {
        const vly_area_desc *area = area_at(net->desc, a);
        for (uint32_t k = 0; k < area->n_neurons; k++)
            spikes[a] += net->fired[row + area->first + k];
    }
}

/* Burst by burst, as the template keeps only the last ones. */
static vly_status counting_run(vly_backend_net *net, vly_run *run,
                               vly_error *error)
{
    const volatile uint32_t *stop = run->stop;
    if (run->struct_size < sizeof *run || !run->area_spikes)
        return net_run(net, run, error);
    run->n_bursts_done = run->n_spikes = 0;
    run->n_events = run->n_candidates = 0;
    while (run->n_bursts_done < run->n_bursts &&
           !(run->n_bursts_done > 0 && stop && *stop)) {
        const uint64_t done = run->n_bursts_done;
        const uint64_t spikes = run->n_spikes;
        if (done > 0 && (run->flags & VLY_RUN_RECORD) &&
            run->spikes_capacity - spikes < net->n)
            break; /* the next burst might not fit */
        vly_run one = *run;
        one.n_bursts = 1;
        one.digests = run->digests ? run->digests + done : NULL;
        one.spike_counts = run->spike_counts ? run->spike_counts + done : NULL;
        one.spikes = run->spikes ? run->spikes + spikes : NULL;
        one.spike_gains = run->spike_gains ? run->spike_gains + spikes : NULL;
        one.spikes_capacity = run->spikes_capacity - spikes;
        vly_status status = net_run(net, &one, error);
        if (status != VLY_OK)
            return status;
        count_areas(net, run->area_spikes);
        run->n_bursts_done++;
        run->n_spikes += one.n_spikes;
        run->n_events += one.n_events;
        run->n_candidates += one.n_candidates;
    }
    return VLY_OK;
}

static vly_backend counting_backend;

static vly_status counting_init(const vly_host *given, vly_error *error)
{
    counting_backend = backend;
    counting_backend.flags = VLY_BACKEND_AREA_SPIKES;
    counting_backend.net_run = counting_run;
    return init(given, error);
}

static const void *counting_interface(const char *id)
{
    return strcmp(id, VLY_BACKEND_INTERFACE) == 0 ? &counting_backend : NULL;
}

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "minor_1",
    .version = "1.1",
    .build = "test",
    .init = counting_init,
    .deinit = deinit,
    .get_interface = counting_interface,
};
