/* SPDX-License-Identifier: Apache-2.0
 * Swaps of a run.
 */
#include "tools/run/run_swap.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "plugin/backend_spec.h"
#include "plugin/registry.h"
#include "tools/run/run_job.h"

vly_status run_swap_check(const run_job *job, vly_error *error)
{
    const run_plan *plan = &job->plan;
    for (uint32_t i = 0; i < plan->n_swaps; i++) {
        const run_swap *swap = &plan->swaps[i];
        vly_backend_spec spec;
        if (swap->burst > plan->n_bursts)
            return vly_fail(error, VLY_E_INVALID,
                            "--swap %" PRIu64 "=%s: the run has %" PRIu64
                            " bursts",
                            swap->burst, swap->backend, plan->n_bursts);
        vly_status status = vly_backend_spec_parse(swap->backend, &spec, error);
        if (status != VLY_OK)
            return status;
        /* its drivers are opened now and not while the run stands; why one
         * cannot be used is said when the swap is due */
        const vly_backend *table = NULL;
        vly_device_spec device;
        if (strcmp(spec.id, "auto") != 0 &&
            vly_registry_backend(job->registry, spec.id, &table, NULL) ==
                VLY_OK)
            status = vly_registry_device(job->registry, &spec, 1, &table,
                                         &device, error);
        if (status != VLY_OK)
            return status;
    }
    return VLY_OK;
}

/* Said once, on stderr and in log.jsonl; the summary has it too. */
static void say(run_job *job, const run_swap *swap)
{
    char text[1400];
    if (swap->done) {
        snprintf(text, sizeof text, "burst %" PRIu64 ": from %s to %s in %s",
                 swap->burst, swap->from, swap->to,
                 tool_seconds(swap->seconds));
    } else {
        snprintf(text, sizeof text,
                 "burst %" PRIu64 ": no swap to %s, the run goes on on %s: %s",
                 swap->burst, swap->backend, swap->from,
                 swap->reason != NULL ? swap->reason : "out of memory");
        tool_message("%s", text);
    }
    run_folder_event(job, "swap", text);
}

/* What the net runs on, for the summary and for who asks. */
static vly_status read_backend(run_job *job, vly_error *error)
{
    return vly_net_stats(job->net, &job->result.stats, error);
}

static vly_status do_swap(run_job *job, run_swap *swap, vly_error *error)
{
    vly_error why = VLY_ERROR_INIT;
    const vly_stats *stats = &job->result.stats;
    /* after a fail-over this is another one than was asked for last */
    vly_status status = read_backend(job, error);
    if (status != VLY_OK)
        return status;
    snprintf(swap->from, sizeof swap->from, "%s", stats->backend);
    uint64_t begin = vly_clock_ns();
    status = vly_net_swap(
        job->net, vly_probe_place(job->probe, swap->burst, swap->backend),
        job->plan.n_threads, &why);
    swap->seconds = (double)(vly_clock_ns() - begin) * 1e-9;
    swap->done = status == VLY_OK;
    swap->status = status;
    /* the device that the net is on may have failed, not the other one */
    status = read_backend(job, error);
    if (status != VLY_OK)
        return status;
    if (swap->done)
        snprintf(swap->to, sizeof swap->to, "%s", stats->backend);
    else
        swap->reason = vly_strdup(why.message);
    say(job, swap);
    return VLY_OK;
}

vly_status run_swap_next(run_job *job, vly_error *error)
{
    run_swap *swap = &job->plan.swaps[job->swap_next++];
    if (swap->burst < vly_net_burst(job->net)) {
        swap->reason = vly_strdup("it lies before the checkpoint");
        return VLY_OK;
    }
    return do_swap(job, swap, error);
}

vly_status run_swap_add(run_job *job, const char *backend,
                        const run_swap **swap, vly_error *error)
{
    run_plan *plan = &job->plan;
    vly_backend_spec spec;
    vly_status status = vly_backend_spec_parse(backend, &spec, error);
    if (status != VLY_OK)
        return status;
    char *owned = vly_strdup(backend);
    run_swap *grown = vly_realloc(plan->swaps, (size_t)plan->n_swaps + 1,
                                  sizeof *plan->swaps);
    if (grown != NULL)
        plan->swaps = grown;
    if (owned == NULL || grown == NULL) {
        vly_free(owned);
        return vly_fail_nomem(error, sizeof *grown, "a swap");
    }
    /* before those that are still to come, so that the list ascends */
    run_swap *added = grown + job->swap_next;
    memmove(added + 1, added, (plan->n_swaps - job->swap_next) * sizeof *added);
    plan->n_swaps++;
    *added = (run_swap){
        .burst = vly_net_burst(job->net), .backend = owned, .owned = owned};
    *swap = added;
    return run_swap_next(job, error);
}

void run_swap_deinit(run_swap *swaps, uint32_t n_swaps)
{
    for (uint32_t i = 0; swaps != NULL && i < n_swaps; i++) {
        vly_free(swaps[i].owned);
        vly_free(swaps[i].reason);
    }
    vly_free(swaps);
}

/* ---- the report ------------------------------------------------------- */

void run_swap_print(const run_job *job)
{
    for (uint32_t i = 0; i < job->plan.n_swaps; i++) {
        const run_swap *swap = &job->plan.swaps[i];
        tool_plain_text text;
        if (swap->done)
            tool_print("swap              burst %s: %s to %s in %s\n",
                       tool_thousands(swap->burst), swap->from, swap->to,
                       tool_seconds(swap->seconds));
        else
            tool_print("no swap           burst %s: to %s: %s\n",
                       tool_thousands(swap->burst), swap->backend,
                       swap->reason != NULL    ? tool_plain(swap->reason, &text)
                       : swap->from[0] == '\0' ? "the run did not come so far"
                                               : "out of memory");
    }
}

void run_swap_json(const run_job *job, json_writer *json)
{
    json_array(json, "swaps");
    for (uint32_t i = 0; i < job->plan.n_swaps; i++) {
        const run_swap *swap = &job->plan.swaps[i];
        bool tried = swap->from[0] != '\0';
        json_object(json, NULL);
        json_u64(json, "burst", swap->burst);
        json_text(json, "backend", swap->backend);
        json_bool(json, "done", swap->done);
        json_text(json, "from", tried ? swap->from : NULL);
        json_text(json, "to", swap->done ? swap->to : NULL);
        json_number(json, "seconds", swap->seconds);
        json_text(json, "reason", swap->reason);
        json_object_end(json);
    }
    json_array_end(json);
}
