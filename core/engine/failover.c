/* SPDX-License-Identifier: Apache-2.0
 * Fail-over. The bursts since the snapshot are run again. They are the same on
 * every backend, so the net reaches the same state, and the run digest shows
 * whether the results of the failed device were right.
 */
#include "engine/failover.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "engine/engine.h"
#include "plugin/registry.h"

void vly_failover_destroy(vly_failover *failover)
{
    if (!failover)
        return;
    vly_free(failover->backend);
    vly_state_destroy(failover->state);
    vly_change_log_deinit(&failover->changes);
    vly_pending_deinit(&failover->injected);
    vly_free(failover);
}

/* ---- snapshots --------------------------------------------------------- */

typedef struct lost_device {
    uint64_t burst; /* bursts done then */
    char from[64];
    vly_error reason;
} lost_device;

static int tell(vly_net *net, uint32_t kind, const lost_device *failure)
{
    const vly_failover *failover = net->failover;
    const vly_failover_event event = {
        .struct_size = sizeof event,
        .kind = kind,
        .burst = failover->state->snapshot.burst,
        .failed_burst = failure ? failure->burst : 0,
        .from = failure ? failure->from : net->device.name,
        .to = net->device.name,
        .reason = failure ? failure->reason.message : ""};
    bool running = net->running;
    if (!failover->function)
        return 0;
    net->running = true; /* it may only look */
    int answer = failover->function(failover->arg, &event);
    net->running = running;
    return answer;
}

void vly_failover_replace(vly_net *net, vly_state *state, uint64_t cost_ns)
{
    vly_failover *failover = net->failover;
    vly_state_destroy(failover->state);
    vly_change_clear(&failover->changes);
    failover->injected.n = 0;
    failover->state = state;
    failover->cost_ns = cost_ns;
    failover->taken_ns = vly_clock_ns();
    tell(net, VLY_FAILOVER_KEPT, NULL);
}

vly_status vly_failover_keep(vly_net *net, vly_error *error)
{
    vly_state *state = NULL;
    uint64_t begin = vly_clock_ns();
    vly_status status = VLY_OK;
    VLY_TRY(vly_state_take(net, &state, error));
    vly_failover_replace(net, state, vly_clock_ns() - begin);
out:
    return status;
}

static bool is_long_ago(const vly_failover *failover)
{
    uint64_t wanted = VLY_FAILOVER_COSTS * failover->cost_ns;
    wanted = wanted > VLY_FAILOVER_NS ? wanted : VLY_FAILOVER_NS;
    return vly_clock_ns() - failover->taken_ns >= wanted;
}

uint64_t vly_failover_left(const vly_net *net)
{
    const vly_failover *failover = net->failover;
    if (!failover || failover->busy || failover->given_up)
        return UINT64_MAX;
    uint64_t log_bytes = failover->changes.bytes +
                         failover->injected.n * sizeof(vly_pending_input);
    uint64_t done = net->burst - failover->state->snapshot.burst;
    if (log_bytes > VLY_FAILOVER_LOG_BYTES)
        return 0;
    if (failover->every == 0)
        return done != 0 && is_long_ago(failover) ? 0 : UINT64_MAX;
    return done < failover->every ? failover->every - done : 0;
}

/* ---- the log ----------------------------------------------------------- */

static bool logs(const vly_net *net)
{
    return net->failover && !net->failover->busy;
}

/* A call with more values than neurons will be refused: its array may be
 * shorter than its count, so it is not copied. */
static bool is_too_long(const vly_net *net, const char *area, uint64_t n)
{
    const vly_net_desc *desc = &net->connectome->desc;
    for (uint32_t a = 0; area && a < desc->n_areas; a++)
        if (strcmp(desc->areas[a].name, area) == 0)
            return n > desc->areas[a].n_neurons;
    return true;
}

vly_status vly_failover_note(vly_net *net, const char *target, const char *name,
                             const double *values, uint64_t n,
                             vly_change *change, vly_error *error)
{
    if (!logs(net))
        return VLY_OK;
    if (name && is_too_long(net, target, n))
        n = 0;
    return vly_change_make(&net->failover->changes, target, name, values, n,
                           change, error);
}

void vly_failover_noted(vly_net *net, vly_change_kind kind, uint64_t first,
                        vly_change *change, vly_status status)
{
    if (status == VLY_OK && logs(net)) {
        change->burst = net->burst;
        change->kind = kind;
        change->first = first;
        vly_change_add(&net->failover->changes, change);
    }
    vly_change_deinit(change);
}

vly_status vly_failover_reserve(vly_net *net, uint32_t n, vly_error *error)
{
    if (!net->failover)
        return VLY_OK;
    return vly_pending_reserve(&net->failover->injected, n, error);
}

/* ---- after a failure --------------------------------------------------- */

/* Runs to burst `until`, with every change at its original burst. */
static vly_status do_again(vly_net *net, uint64_t until, vly_error *error)
{
    const vly_change_log *changes = &net->failover->changes;
    vly_status status = VLY_OK;
    for (uint64_t i = 0; i < changes->n; i++) {
        VLY_TRY(vly_net_rerun(net, changes->entries[i].burst, error));
        VLY_TRY(vly_change_apply(&changes->entries[i], net, error));
    }
    status = vly_net_rerun(net, until, error);
out:
    return status;
}

static vly_status revive(vly_net *net, vly_error *error)
{
    const vly_failover *failover = net->failover;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_revive(net, failover->state, failover->backend,
                           failover->n_threads, &failover->injected, error));
    net->dead = (vly_error)VLY_ERROR_INIT;
out:
    return status;
}

/* Runs again from the snapshot, this time with callbacks. */
static vly_status tell_again(vly_net *net, const lost_device *failure,
                             vly_error *error)
{
    unsigned long long burst = net->failover->state->snapshot.burst;
    vly_status status = VLY_OK;
    if (tell(net, VLY_FAILOVER_WRONG, failure) == 0)
        return vly_fail(error, VLY_E_DEVICE,
                        "results of %s from burst %llu on were wrong",
                        failure->from, burst);
    vly_log_write(VLY_LOG_ERROR, "volley",
                  "results of %s from burst %llu on were wrong; they are "
                  "reported again",
                  failure->from, burst);
    VLY_TRY(revive(net, error));
    status = do_again(net, failure->burst, error);
out:
    return status;
}

static vly_status recover(vly_net *net, vly_error *error)
{
    lost_device failure = {.burst = net->burst, .reason = net->dead};
    uint64_t digest = net->digest;
    vly_status status = VLY_OK;
    memcpy(failure.from, net->device.name, sizeof failure.from);
    VLY_TRY(revive(net, error));
    vly_log_write(VLY_LOG_ERROR, "volley",
                  "%s failed with %llu bursts done (%.500s); going on on %s "
                  "from the snapshot of burst %llu",
                  failure.from, (unsigned long long)failure.burst,
                  failure.reason.message, net->device.name,
                  (unsigned long long)net->burst);
    tell(net, VLY_FAILOVER_FAILED, &failure);
    net->muted = true;
    status = do_again(net, failure.burst, error);
    net->muted = false;
    if (status == VLY_OK && net->digest != digest)
        status = tell_again(net, &failure, error);
    if (status == VLY_OK)
        tell(net, VLY_FAILOVER_DONE, &failure);
out:
    return status;
}

/* Both failures in one message, which the net returns from now on. */
static vly_status give_up(vly_net *net, const vly_error *first,
                          const vly_error *second, vly_error *error)
{
    net->failover->given_up = true;
    net->dead = (vly_error)VLY_ERROR_INIT;
    vly_fail(&net->dead, first->status, "%.480s; no fail-over to %.60s: %.400s",
             first->message, net->failover->backend, second->message);
    vly_error_copy(&net->dead, error);
    return net->dead.status;
}

bool vly_failover_again(vly_net *net, vly_status *status, vly_error *error)
{
    vly_failover *failover = net->failover;
    vly_error why = VLY_ERROR_INIT;
    if (*status == VLY_OK || !failover || net->dead.status == VLY_OK ||
        failover->busy || failover->given_up)
        return false;
    const vly_error first = net->dead;
    bool running = net->running;
    if (failover->again && net->burst <= failover->failed_at) {
        vly_fail(&why, VLY_E_DEVICE, "it failed there too");
        *status = give_up(net, &first, &why, error);
        return false;
    }
    failover->again = true;
    failover->failed_at = net->burst;
    failover->busy = true;
    net->running = false; /* changes are replayed as calls */
    *status = recover(net, &why);
    net->running = running;
    failover->busy = false;
    if (*status == VLY_OK) {
        /* a call that succeeds leaves no error */
        vly_error_copy(&(const vly_error)VLY_ERROR_INIT, error);
        return true;
    }
    *status = give_up(net, &first, &why, error);
    return false;
}

/* ---- asked for --------------------------------------------------------- */

/* Reported now and not at the time of the failure. */
static vly_status check_target(const vly_net *net, const char *backend,
                               vly_error *error)
{
    vly_backend_spec spec;
    vly_device_spec device;
    const vly_backend *table = NULL;
    vly_error why = VLY_ERROR_INIT;
    vly_status status = vly_backend_spec_parse(backend, &spec, error);
    if (status != VLY_OK || strcmp(spec.id, "auto") == 0)
        return status;
    VLY_TRY(
        vly_registry_device(net->registry, &spec, 1, &table, &device, error));
    if (device.index >= table->device_count())
        return vly_fail(error, VLY_E_DEVICE,
                        "backend %s: device %u, but there are %u", spec.id,
                        device.index, table->device_count());
    status = vly_backend_supports(table, &net->connectome->desc, &why);
    status = vly_backend_said(spec.id, status, &why);
    if (status != VLY_OK)
        vly_fail(error, status, "backend %s: %s", spec.id, why.message);
out:
    return status;
}

vly_status vly_net_failover(vly_net *net, const char *backend,
                            uint32_t n_threads, uint64_t every_bursts,
                            vly_failover_fn function, void *arg,
                            vly_error *error)
{
    vly_failover *made = NULL;
    vly_failover *before = net->failover;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_alive(net, error));
    if (backend) {
        VLY_TRY(check_target(net, backend, error));
        made = vly_calloc(1, sizeof *made);
        if (made)
            made->backend = vly_strdup(backend);
        if (!made || !made->backend) {
            status = vly_fail_nomem(error, sizeof *made, "fail-over");
            goto out;
        }
        made->n_threads = n_threads;
        made->every = every_bursts;
        uint64_t begin = vly_clock_ns();
        do
            status = vly_state_take(net, &made->state, error);
        while (vly_failover_again(net, &status, error));
        if (status != VLY_OK)
            goto out;
        made->taken_ns = vly_clock_ns();
        made->cost_ns = made->taken_ns - begin;
        made->function = function;
        made->arg = arg;
    }
    net->failover = made;
    made = before;
out:
    vly_failover_destroy(made);
    return status;
}
