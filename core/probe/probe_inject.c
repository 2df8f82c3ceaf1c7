/* SPDX-License-Identifier: Apache-2.0
 * Injects faults into a working backend. A call of net_run never crosses the
 * burst at which a fault begins or ends: it is shortened, which changes no
 * result.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "accelerator/accelerator.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "plugin/device_memory.h"
#include "probe/probe_parts.h"

/* Interval at which a wait checks for a stop. */
static const uint64_t slice_ns = 10000000;

/* stop NULL: ignores stops, like a device that hangs. */
static void wait_ns(uint64_t ns, const uint32_t *stop)
{
    while (ns > 0) {
        if (stop && __atomic_load_n(stop, __ATOMIC_ACQUIRE) != 0)
            return;
        const uint64_t part = ns < slice_ns ? ns : slice_ns;
        const struct timespec left = {0, (long)part};
        (void)nanosleep(&left, NULL);
        ns -= part;
    }
}

static bool is_in(const probe_fault *fault, uint64_t burst)
{
    return burst >= fault->at && burst - fault->at < fault->length;
}

/* Faults that act once. */
static bool is_single(const probe_fault *fault)
{
    return fault->kind == FAULT_STUCK || fault->kind == FAULT_CLOCK ||
           fault->kind == FAULT_ERROR || fault->kind == FAULT_WRONG;
}

/* The lock is held. */
static void acted(probe_fault *fault, uint64_t burst, uint64_t amount)
{
    if (fault->times++ == 0)
        fault->began = burst;
    fault->last = burst;
    fault->amount += amount;
}

/* ---- before a call ----------------------------------------------------- */

static uint64_t until_edge(const probe_fault *fault, uint64_t burst)
{
    if (burst < fault->at)
        return fault->at - burst;
    if (!is_single(fault) && is_in(fault, burst) && fault->length != UINT64_MAX)
        return fault->length - (burst - fault->at);
    return UINT64_MAX;
}

static void cut(vly_run *run, uint64_t burst, uint64_t most)
{
    if (run->n_bursts <= most)
        return;
    run->n_bursts = most;
    while (run->n_inputs > 0 &&
           run->inputs[run->n_inputs - 1].burst >= burst + most)
        run->n_inputs--;
}

static void jump(vly_probe *probe, const probe_fault *fault)
{
    const int64_t ns = (int64_t)(fault->ms * 1e6);
    probe->wall_ns += ns;
    if (fault->both)
        probe->steady_ns += ns;
}

static vly_status failed(probe_fault *fault, uint64_t burst, vly_error *error)
{
    acted(fault, burst, 1);
    if (fault->nomem) {
        vly_status status = vly_fail(
            error, VLY_E_NOMEM, "out of memory, as asked for by fault %.200s",
            fault->text);
        if (error)
            error->bytes_requested = 1;
        return status;
    }
    return vly_fail(error, VLY_E_DEVICE,
                    "device lost, as asked for by fault %.200s", fault->text);
}

vly_status vly_probe_fails(vly_probe *probe, probe_call call, uint64_t burst,
                           vly_error *error)
{
    vly_status status = VLY_OK;
    if (probe->n_faults == 0)
        return VLY_OK;
    pthread_mutex_lock(&probe->lock);
    for (uint32_t k = 0; k < probe->n_faults; k++) {
        probe_fault *fault = &probe->faults[k];
        if (fault->kind == FAULT_ERROR && fault->in == call &&
            burst >= fault->at && fault->times < fault->n_times)
            VLY_TRY(failed(fault, burst, error));
    }
out:
    pthread_mutex_unlock(&probe->lock);
    return status;
}

vly_status vly_probe_before(probe_net *net, vly_run *run, bool *skip,
                            vly_error *error)
{
    vly_probe *probe = net->slot->probe;
    uint64_t most = run->n_bursts;
    uint64_t stuck_ns = 0;
    if (probe->n_faults == 0)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(vly_probe_fails(probe, CALL_net_run, net->burst, error));
    pthread_mutex_lock(&probe->lock);
    for (uint32_t k = 0; k < probe->n_faults; k++) {
        probe_fault *fault = &probe->faults[k];
        const uint64_t edge = until_edge(fault, net->burst);
        most = edge < most ? edge : most;
        if (net->burst < fault->at || fault->times != 0)
            continue;
        if (fault->kind == FAULT_CLOCK) {
            jump(probe, fault);
            acted(fault, net->burst, 0);
        } else if (fault->kind == FAULT_STUCK) {
            const uint64_t ns = (uint64_t)(fault->ms * 1e6);
            *skip |= fault->counter != 0;
            stuck_ns += ns;
            acted(fault, net->burst, ns);
        }
    }
    pthread_mutex_unlock(&probe->lock);
    wait_ns(stuck_ns, NULL);
    cut(run, net->burst, most);
out:
    return status;
}

/* ---- after a call ------------------------------------------------------ */

/* A part of a time of a call that the backend added to. */
static void stretch(uint64_t before, uint64_t *after, double factor)
{
    if (*after > before)
        *after += (uint64_t)((double)(*after - before) * (factor - 1));
}

/* Like a device with lower clocks: its phases take longer too. */
static uint64_t slow(const probe_fault *fault, const vly_run *before,
                     vly_run *run, uint64_t ns)
{
    const double factor = fault->factor;
    stretch(before->delivery_ns, &run->delivery_ns, factor);
    stretch(before->dynamics_ns, &run->dynamics_ns, factor);
    stretch(before->exchange_ns, &run->exchange_ns, factor);
    stretch(before->drain_ns, &run->drain_ns, factor);
    return (uint64_t)((double)ns * (factor - 1) +
                      fault->us * 1e3 * (double)run->n_bursts_done);
}

static uint32_t area_of(const vly_net_desc *desc, uint32_t id)
{
    uint32_t low = 0;
    uint32_t high = desc->n_areas - 1;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (probe_area(desc, middle)->first <= id)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The lost spikes are a function of neuron and burst only, so they are the same
 * on every backend. Digests are still those of the device. */
static uint64_t drop(const probe_net *net, const probe_fault *fault,
                     vly_run *run)
{
    /* share 1 has no threshold in 64 bits */
    const bool all = fault->share >= 1;
    const uint64_t below = all ? 0 : (uint64_t)(fault->share * 0x1p64);
    uint64_t *area_spikes = probe_area_spikes(run);
    uint64_t from = 0;
    uint64_t to = 0;
    if (!probe_has_lists(run))
        return 0;
    for (uint64_t t = 0; t < run->n_bursts_done; t++) {
        const uint64_t key = vly_mix64(net->burst + t);
        uint32_t kept = 0;
        for (uint32_t i = 0; i < run->spike_counts[t]; i++, from++) {
            const uint32_t id = run->spikes[from];
            if (all || vly_mix64(key ^ id) < below) {
                if (area_spikes)
                    area_spikes[area_of(net->desc, id)]--;
                continue;
            }
            if (run->spike_gains)
                run->spike_gains[to] = run->spike_gains[from];
            run->spikes[to++] = id;
            kept++;
        }
        run->spike_counts[t] = kept;
    }
    run->n_spikes = to;
    return from - to;
}

/* ---- leaks ------------------------------------------------------------- */

static vly_status host_alloc(void *context, uint32_t kind, uint64_t bytes,
                             void **memory, vly_error *error)
{
    (void)context;
    (void)kind;
    void *made = vly_malloc(1, (size_t)bytes);
    if (!made)
        return vly_fail_nomem(error, bytes, "a leak");
    *memory = made;
    return VLY_OK;
}

static void host_free(void *context, uint32_t kind, void *memory)
{
    (void)context;
    (void)kind;
    vly_free(memory);
}

static vly_status leak_host(vly_probe *probe, uint64_t bytes, probe_leak *leak,
                            vly_error *error)
{
    const vly_device_allocator allocator = {.struct_size = sizeof allocator,
                                            .device = "host",
                                            .context = probe,
                                            .alloc = host_alloc,
                                            .free = host_free};
    vly_status status = VLY_OK;
    if (!probe->client)
        VLY_TRY(vly_account_open("probe", &allocator, &probe->client, error));
    VLY_TRY(vly_account_alloc(probe->client, 0, bytes, VLY_QOS_GUARANTEED,
                              &leak->memory, error));
    memset(leak->memory, 0xa5, (size_t)bytes); /* pages that are not touched
                                                  are not taken */
out:
    return status;
}

/* A backend cannot allocate for others; the accelerator of its device can. */
static vly_status leak_device(const probe_net *net, uint64_t bytes,
                              probe_leak *leak, vly_error *error)
{
    char name[64];
    vly_accelerator accelerator;
    vly_status status = VLY_OK;
    const bool cpu = (net->slot->inner->flags & VLY_BACKEND_HOST) != 0;
    const char *colon = cpu ? "" : ":";
    char index[16] = "";
    if (!cpu)
        (void)snprintf(index, sizeof index, "%u", net->index);
    (void)snprintf(name, sizeof name, "%.31s%s%s", net->slot->id, colon, index);
    VLY_TRY(vly_accelerator_find(net->slot->probe->registry, VLY_GEMM_INTERFACE,
                                 name, 1, &accelerator, error));
    leak->index = accelerator.device.index;
    leak->table = accelerator.memory;
    VLY_TRY(leak->table.alloc(leak->index, bytes, &leak->memory, error));
    leak->on_device = true;
    status =
        leak->table.fill(leak->index, leak->memory, 0xa5, bytes, NULL, error);
    if (status != VLY_OK)
        leak->table.free(leak->index, leak->memory);
out:
    return status;
}

/* The lock is not held during allocation: an allocator may be slow. */
static vly_status leak(probe_net *net, const probe_fault *fault,
                       uint64_t n_bursts, vly_error *error)
{
    vly_probe *probe = net->slot->probe;
    const uint64_t bytes = fault->bytes * n_bursts; /* at most 2^52 */
    probe_leak *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a leak");
    vly_status status = fault->device ? leak_device(net, bytes, made, error)
                                      : leak_host(probe, bytes, made, error);
    if (status != VLY_OK) {
        vly_free(made);
        return status;
    }
    pthread_mutex_lock(&probe->lock);
    made->next = probe->leaks;
    probe->leaks = made;
    probe->leaked_host += made->on_device ? 0 : bytes;
    probe->leaked_device += made->on_device ? bytes : 0;
    pthread_mutex_unlock(&probe->lock);
    return VLY_OK;
}

void vly_probe_leaks_free(vly_probe *probe)
{
    while (probe->leaks) {
        probe_leak *leak = probe->leaks;
        probe->leaks = leak->next;
        if (leak->on_device)
            leak->table.free(leak->index, leak->memory);
        else
            vly_account_free(probe->client, leak->memory);
        vly_free(leak);
    }
    vly_account_close(probe->client);
    probe->client = NULL;
}

/* ---- all of them ------------------------------------------------------- */

vly_status vly_probe_after(probe_net *net, const vly_run *before, vly_run *run,
                           uint64_t ns, vly_error *error)
{
    vly_probe *probe = net->slot->probe;
    vly_status status = VLY_OK;
    uint64_t slow_ns = 0;
    for (uint32_t k = 0; k < probe->n_faults && status == VLY_OK; k++) {
        probe_fault *fault = &probe->faults[k];
        uint64_t amount = 0;
        if (is_single(fault) || !is_in(fault, net->burst) ||
            run->n_bursts_done == 0)
            continue;
        if (fault->kind == FAULT_SLOW) {
            amount = slow(fault, before, run, ns);
            slow_ns += amount;
        } else if (fault->kind == FAULT_DROP) {
            amount = drop(net, fault, run);
        } else if (fault->kind == FAULT_LEAK) {
            amount = fault->bytes * run->n_bursts_done;
            status = leak(net, fault, run->n_bursts_done, error);
        }
        pthread_mutex_lock(&probe->lock);
        if (status == VLY_OK) {
            acted(fault, net->burst, amount);
            fault->last += run->n_bursts_done - 1;
        }
        pthread_mutex_unlock(&probe->lock);
    }
    wait_ns(slow_ns, run->stop);
    return status;
}

/* ---- another backend --------------------------------------------------- */

static probe_fault *wrong_now(vly_probe *probe, uint64_t burst, uint32_t own)
{
    /* the first net of a probe is not one that was swapped to */
    for (uint32_t k = 0; probe->n_nets != 0 && k < probe->n_faults; k++)
        if (probe->faults[k].kind == FAULT_WRONG &&
            probe->faults[k].own == own && probe->faults[k].times == 0 &&
            burst >= probe->faults[k].at)
            return &probe->faults[k];
    return NULL;
}

vly_status vly_probe_wrong(probe_slot *slot, uint64_t burst,
                           const vly_device_spec *device,
                           vly_device_spec *other, const vly_backend **inner,
                           vly_error *error)
{
    vly_probe *probe = slot->probe;
    vly_backend_spec spec;
    const vly_backend *wrapped = NULL;
    vly_status status = VLY_OK;
    pthread_mutex_lock(&probe->lock);
    probe_fault *fault = wrong_now(probe, burst, 0);
    pthread_mutex_unlock(&probe->lock);
    if (!fault)
        return VLY_OK;
    VLY_TRY(vly_backend_spec_parse(fault->to, &spec, error));
    VLY_TRY(vly_registry_device(probe->registry, &spec, device->n_threads,
                                &wrapped, other, error));
    other->options = NULL; /* to=NAME has none, and spec is not kept */
    *inner = vly_probe_inner(wrapped);
    pthread_mutex_lock(&probe->lock);
    acted(fault, burst, 0);
    pthread_mutex_unlock(&probe->lock);
out:
    return status;
}

const char *vly_probe_place(vly_probe *probe, uint64_t burst, const char *asked)
{
    const char *place = asked;
    if (!probe)
        return asked;
    pthread_mutex_lock(&probe->lock);
    probe_fault *fault = wrong_now(probe, burst, 1);
    if (fault) {
        acted(fault, burst, 0);
        place = fault->to;
    }
    pthread_mutex_unlock(&probe->lock);
    return place;
}
