/* SPDX-License-Identifier: Apache-2.0
 * Swaps of a run.
 */
#include "tools/run/run_swap.h"

#include <volley/host.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"
#include "tools/run/run_probe.h"

static const tool_option options[] = {
    {"swap", 0, true, TOOL_TEXT, "BURST=NAME",
     "move to another backend after BURST bursts", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

typedef struct swap_part {
    run_swap *swaps; /* [n_swaps] ascending bursts */
    uint32_t n_swaps;
    uint32_t next; /* all swaps before this one have been tried */
} swap_part;

static swap_part *of(const run_job *job)
{
    return run_part_state(job, RUN_PART_swap);
}

uint32_t run_swap_tried(const run_job *job)
{
    return of(job)->next;
}

const run_swap *run_swap_at(const run_job *job, uint32_t k)
{
    return k < of(job)->n_swaps ? &of(job)->swaps[k] : NULL;
}

/* ---- what is asked ---------------------------------------------------- */

static int compare_swaps(const void *left, const void *right)
{
    const run_swap *a = left;
    const run_swap *b = right;
    return (a->burst > b->burst) - (a->burst < b->burst);
}

static vly_status read_swap(const char *text, run_swap *swap, vly_error *error)
{
    char number[24];
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    bool good = n > 0 && n < sizeof number && equals[1] != '\0';
    if (good) {
        memcpy(number, text, n);
        number[n] = '\0';
        good = tool_read_count(number, &swap->burst);
        swap->backend = equals + 1;
    }
    if (!good)
        return vly_fail(error, VLY_E_INVALID,
                        "--swap %s: wanted BURST=BACKEND, as in 100=cpu:4",
                        text);
    return VLY_OK;
}

/* Room for one more, at place k. */
static vly_status insert(swap_part *part, uint32_t k, const run_swap *swap,
                         vly_error *error)
{
    run_swap *grown = vly_realloc(part->swaps, (size_t)part->n_swaps + 1,
                                  sizeof *part->swaps);
    if (!grown)
        return vly_fail_nomem(error, sizeof *grown, "a swap");
    part->swaps = grown;
    memmove(grown + k + 1, grown + k, (part->n_swaps - k) * sizeof *grown);
    grown[k] = *swap;
    part->n_swaps++;
    return VLY_OK;
}

vly_status run_swap_plan(run_job *job, uint64_t burst, const char *backend,
                         vly_error *error)
{
    const run_swap swap = {.burst = burst, .backend = backend};
    return insert(of(job), of(job)->n_swaps, &swap, error);
}

static vly_status read_swaps(run_job *job, const tool_args *args,
                             vly_error *error)
{
    swap_part *part = of(job);
    const char *text;
    vly_status status = VLY_OK;
    for (uint32_t k = 0; (text = tool_text_at(args, "swap", k)) != NULL; k++) {
        run_swap swap = {0};
        VLY_TRY(read_swap(text, &swap, error));
        VLY_TRY(insert(part, k, &swap, error));
    }
    if (part->n_swaps > 0)
        qsort(part->swaps, part->n_swaps, sizeof *part->swaps, compare_swaps);
    for (uint32_t k = 1; k < part->n_swaps; k++) {
        if (part->swaps[k].burst == part->swaps[k - 1].burst)
            return vly_fail(error, VLY_E_INVALID,
                            "--swap: burst %" PRIu64 " is given twice",
                            part->swaps[k].burst);
    }
out:
    return status;
}

static vly_status check(run_job *job, vly_error *error)
{
    vly_status status = VLY_OK;
    const run_plan *plan = &job->plan;
    for (uint32_t i = 0; i < of(job)->n_swaps; i++) {
        const run_swap *swap = &of(job)->swaps[i];
        vly_named_device device = {.struct_size = sizeof device};
        if (swap->burst > plan->n_bursts)
            return vly_fail(error, VLY_E_INVALID,
                            "--swap %" PRIu64 "=%s: the run has %" PRIu64
                            " bursts",
                            swap->burst, swap->backend, plan->n_bursts);
        VLY_TRY(vly_device_find(NULL, swap->backend, 1, &device, error));
        /* opens its drivers now and not while the run waits; a backend that
         * cannot be used is reported when the swap is due */
        const vly_backend *table = NULL;
        if (strcmp(device.id, "auto") != 0 &&
            vly_registry_backend(job->registry, device.id, &table, NULL) ==
                VLY_OK)
            status = vly_device_find(job->registry, swap->backend, 1, &device,
                                     error);
        if (status != VLY_OK)
            goto out;
    }
    return VLY_OK;
out:
    return status;
}

/* Reported once, on stderr and in log.jsonl; the summary has it too. */
static void say(run_job *job, const run_swap *swap)
{
    char text[1400];
    if (swap->done) {
        snprintf(text, sizeof text, "burst %" PRIu64 ": from %s to %s in %s",
                 swap->burst, swap->from, swap->to,
                 tool_seconds(swap->seconds));
    } else {
        snprintf(text, sizeof text,
                 "burst %" PRIu64 ": no swap to %s, the run continues on %s: "
                 "%s",
                 swap->burst, swap->backend, swap->from,
                 swap->reason ? swap->reason : "out of memory");
        tool_message("%s", text);
    }
    run_folder_event(job, "swap", text);
}

/* Name of the backend of the net, for the summary and for clients. */
static vly_status read_backend(run_job *job, vly_error *error)
{
    return vly_net_stats(job->net, &job->result.stats, error);
}

static vly_status do_swap(run_job *job, run_swap *swap, vly_error *error)
{
    vly_error why = VLY_ERROR_INIT;
    const vly_stats *stats = &job->result.stats;
    /* after a fail-over it differs from the last requested backend */
    vly_status status = VLY_OK;
    VLY_TRY(read_backend(job, error));
    snprintf(swap->from, sizeof swap->from, "%s", stats->backend);
    uint64_t begin = vly_clock_ns();
    status =
        vly_net_swap(job->net, run_probe_place(job, swap->burst, swap->backend),
                     job->plan.n_threads, &why);
    swap->seconds = (double)(vly_clock_ns() - begin) * 1e-9;
    swap->done = status == VLY_OK;
    swap->status = status;
    /* the present device may have failed, not the new one */
    VLY_TRY(read_backend(job, error));
    if (swap->done)
        snprintf(swap->to, sizeof swap->to, "%s", stats->backend);
    else
        swap->reason = vly_strdup(why.message);
    say(job, swap);
    return VLY_OK;
out:
    return status;
}

static vly_status swap_next(run_job *job, vly_error *error)
{
    run_swap *swap = &of(job)->swaps[of(job)->next++];
    if (swap->burst < vly_net_burst(job->net)) {
        swap->reason = vly_strdup("it lies before the checkpoint");
        return VLY_OK;
    }
    return do_swap(job, swap, error);
}

/* One more swap, now; *swap is its outcome, NULL if nothing was tried. */
static vly_status add(run_job *job, const char *backend, const run_swap **swap,
                      vly_error *error)
{
    swap_part *part = of(job);
    vly_named_device device = {.struct_size = sizeof device};
    vly_status status = VLY_OK;
    VLY_TRY(vly_device_find(NULL, backend, 1, &device, error));
    char *owned = vly_strdup(backend);
    const run_swap added = {
        .burst = vly_net_burst(job->net), .backend = owned, .owned = owned};
    /* inserted before the swaps that are not tried yet, so that the list
     * ascends */
    status = owned ? insert(part, part->next, &added, error)
                   : vly_fail_nomem(error, sizeof added, "a swap");
    if (status != VLY_OK) {
        vly_free(owned);
        return status;
    }
    *swap = &part->swaps[part->next];
    return swap_next(job, error);
out:
    return status;
}

/* `volley ctl PID swap BACKEND` */
static vly_status obey(run_job *job, const char *backend, json_writer *json,
                       vly_error *why)
{
    const run_swap *swap = NULL;
    vly_status status = add(job, backend, &swap, why);
    if (status != VLY_OK)
        return swap ? status : VLY_OK; /* can the run continue? */
    if (!swap->done) {
        vly_fail(why, swap->status, "the run continues on %s: %s", swap->from,
                 swap->reason ? swap->reason : "out of memory");
        return VLY_OK;
    }
    json_text(json, "from", swap->from);
    json_text(json, "to", swap->to);
    json_number(json, "seconds", swap->seconds);
    return VLY_OK;
}

static void deinit(run_job *job)
{
    const swap_part *part = of(job);
    for (uint32_t i = 0; i < part->n_swaps; i++) {
        vly_free(part->swaps[i].owned);
        vly_free(part->swaps[i].reason);
    }
    vly_free(part->swaps);
}

static uint64_t due(const run_job *job)
{
    const run_swap *swap = run_swap_at(job, of(job)->next);
    return swap ? swap->burst : UINT64_MAX;
}

/* ---- the report ------------------------------------------------------- */

static void print(const run_job *job)
{
    for (uint32_t i = 0; i < of(job)->n_swaps; i++) {
        const run_swap *swap = &of(job)->swaps[i];
        tool_plain_text text;
        if (swap->done)
            tool_print("swap              burst %s: %s to %s in %s\n",
                       tool_thousands(swap->burst), swap->from, swap->to,
                       tool_seconds(swap->seconds));
        else
            tool_print("no swap           burst %s: to %s: %s\n",
                       tool_thousands(swap->burst), swap->backend,
                       swap->reason            ? tool_plain(swap->reason, &text)
                       : swap->from[0] == '\0' ? "the run did not come so far"
                                               : "out of memory");
    }
}

static void put(const run_job *job, json_writer *json)
{
    json_array(json, "swaps");
    for (uint32_t i = 0; i < of(job)->n_swaps; i++) {
        const run_swap *swap = &of(job)->swaps[i];
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

const run_part run_part_swap = {
    .name = "swaps",
    .state_bytes = sizeof(swap_part),
    .help = 2,
    .options = options,
    .read = read_swaps,
    .at = {[RUN_CHECK] = check, [RUN_REACH] = swap_next},
    .due = due,
    .moves = run_swap_tried,
    .command = "swap",
    .command_argument = true,
    .obey = obey,
    .print = {[RUN_LINES] = print},
    .json = {[RUN_MEMBERS] = put, [RUN_MANIFEST] = put},
    .close = deinit,
};
