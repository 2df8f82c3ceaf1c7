/* SPDX-License-Identifier: Apache-2.0
 * Fields that are at a bound of their range at the end of a run, in the summary
 * and JSON: so a model that diverges is noticed. Bounds that a [neuron] gives
 * are in JSON only, since a variable may well be there (a gate at 1).
 */
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"

typedef struct bounds_part {
    vly_bound_stats *found; /* those with values at a bound */
    uint32_t n_found;
} bounds_part;

static bounds_part *state_of(const run_job *job)
{
    return job->states[RUN_PART_bounds];
}

/* "V1.v_mv: 3 of 12 neurons at -16384 mV" */
static void say(const vly_bound_stats *at, bool upper, char *out, size_t size)
{
    double bound = upper ? at->upper : at->lower;
    snprintf(out, size, "%s.%s: %" PRIu32 " of %" PRIu32 " neurons at %.9g%s%s",
             at->area, at->field, upper ? at->n_upper : at->n_lower,
             at->n_neurons, bound, at->unit[0] == '1' ? "" : " ",
             at->unit[0] == '1' ? "" : at->unit);
}

static bool keep(bounds_part *part, const vly_bound_stats *at)
{
    vly_bound_stats *grown =
        vly_realloc(part->found, part->n_found + 1, sizeof *part->found);
    if (!grown)
        return false;
    part->found = grown;
    part->found[part->n_found++] = *at;
    return true;
}

/* A device that fails here fails the state digest, too, which says so. */
static void count_all(run_job *job)
{
    bounds_part *part = state_of(job);
    vly_bound_stats at = {.struct_size = sizeof at};
    char text[256];
    if (job->result.error.status != VLY_OK)
        return;
    for (uint32_t i = 0; vly_net_bound_stats(job->net, i, &at, NULL) == VLY_OK;
         i++) {
        if (at.n_lower + at.n_upper == 0)
            continue;
        if (!keep(part, &at))
            return;
        for (int upper = 0; upper < 2 && !at.declared; upper++)
            if ((upper ? at.n_upper : at.n_lower) > 0) {
                say(&at, upper, text, sizeof text);
                run_folder_event(job, "warn", text);
            }
    }
}

static void print_lines(const run_job *job)
{
    const bounds_part *part = state_of(job);
    uint32_t n_lines = 0;
    char text[256];
    for (uint32_t i = 0; i < part->n_found; i++)
        for (int upper = 0; upper < 2 && !part->found[i].declared; upper++) {
            const vly_bound_stats *at = &part->found[i];
            if ((upper ? at->n_upper : at->n_lower) == 0)
                continue;
            say(at, upper, text, sizeof text);
            tool_print("%-17s %s, its bound\n",
                       n_lines++ > 0 ? "" : "diverging", text);
        }
}

static void put_members(const run_job *job, json_writer *json)
{
    const bounds_part *part = state_of(job);
    json_array(json, "at_bounds");
    for (uint32_t i = 0; i < part->n_found; i++) {
        const vly_bound_stats *at = &part->found[i];
        json_object(json, NULL);
        json_text(json, "area", at->area);
        json_text(json, "field", at->field);
        json_u64(json, "neurons", at->n_neurons);
        json_u64(json, "at_lower", at->n_lower);
        json_u64(json, "at_upper", at->n_upper);
        json_number(json, "lower", at->lower);
        json_number(json, "upper", at->upper);
        json_bool(json, "declared", at->declared != 0);
        json_object_end(json);
    }
    json_array_end(json);
}

static void release(run_job *job)
{
    vly_free(state_of(job)->found);
}

const run_part run_part_bounds = {
    .name = "bounds",
    .state_bytes = sizeof(bounds_part),
    .last = count_all,
    .print = {[RUN_LINES] = print_lines},
    .json = {[RUN_MEMBERS_LAST] = put_members},
    .close = release,
};
