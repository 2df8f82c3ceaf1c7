/* SPDX-License-Identifier: Apache-2.0
 * One point of a sweep: its settings, its files, whether it is done. A point is
 * done if its summary names the hash of the genome with these settings and all
 * its bursts: a change of the genome's file or of the length runs it again.
 */
#include "tools/sweep/sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/output_apart.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"

/* Number of points that are read before the first one runs, if all of them
 * fail. */
enum { TRIES_MAX = 1000 };

const char *sweep_value(const sweep_plan *plan, uint64_t point, uint32_t axis)
{
    for (uint32_t a = plan->n_axes; a-- > axis + 1;)
        point /= plan->axes[a].n;
    return plan->axes[axis].values[point % plan->axes[axis].n];
}

void sweep_point_text(const sweep_plan *plan, const sweep_point *point,
                      char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    for (uint32_t a = 0; a < plan->n_axes && at + 1 < size; a++) {
        const char *path = plan->axes[a].path;
        int n =
            snprintf(out + at, size - at, "%s%s=%s", a > 0 ? " " : "",
                     path ? path : "seed", sweep_value(plan, point->index, a));
        at += n > 0 ? (size_t)n : 0;
    }
}

static vly_status make_overrides(const sweep_plan *plan,
                                 const sweep_point *point,
                                 tool_overrides *overrides, vly_error *error)
{
    static const char *const seeds[] = {"seed_network", "seed_state",
                                        "seed_input"};
    vly_status status = VLY_OK;
    /* the seeds, the last axis, come first, as in volley run */
    bool seeded = plan->n_axes > 0 && !plan->axes[plan->n_axes - 1].path;
    for (uint32_t k = 0; k < plan->n_axes; k++) {
        uint32_t a = seeded ? (k + plan->n_axes - 1) % plan->n_axes : k;
        const char *path = plan->axes[a].path;
        const char *value = sweep_value(plan, point->index, a);
        for (uint32_t i = 0; i < (path ? 1u : 3u); i++) {
            char *text = path ? vly_format("%s=%s", path, value)
                              : vly_format("run.%s=%s", seeds[i], value);
            if (!text)
                return vly_fail_nomem(error, strlen(value), "an override");
            status = tool_overrides_add(overrides, text, error);
            vly_free(text);
            if (status != VLY_OK)
                return status;
        }
    }
    return status;
}

/* The name depends on the settings only, so that a longer range finds the files
 * of a shorter one. */
static void make_name(const sweep_plan *plan, sweep_point *point)
{
    vly_hash hash = vly_hash_text("volley sweep 1");
    for (uint32_t a = 0; a < plan->n_axes; a++) {
        const char *path = plan->axes[a].path;
        const char *value = sweep_value(plan, point->index, a);
        path = path ? path : "";
        hash = vly_hash_bytes(hash, path, strlen(path) + 1);
        hash = vly_hash_bytes(hash, value, strlen(value) + 1);
    }
    vly_hash_print(hash, point->name);
}

char *sweep_point_file(const sweep_plan *plan, const sweep_point *point,
                       const char *suffix)
{
    return vly_format("%s/points/%s.%s", plan->folder, point->name, suffix);
}

bool sweep_point_summary(const sweep_plan *plan, const sweep_point *point,
                         json_value *summary)
{
    char *path = sweep_point_file(plan, point, "json");
    vly_error error = VLY_ERROR_INIT;
    memset(summary, 0, sizeof *summary);
    bool there = path && access(path, R_OK) == 0 &&
                 json_load(path, summary, &error) == VLY_OK;
    vly_free(path);
    if (!there)
        return false;
    const char *hash = json_find_text(summary, "genome_hash");
    const json_value *stopped = json_find(summary, "stopped");
    bool fits =
        hash && strcmp(hash, point->genome_hash) == 0 && stopped &&
        stopped->kind == JSON_BOOL && stopped->number < 0.5 &&
        json_find_number(summary, "bursts", -1.0) == (double)point->n_bursts &&
        json_find_number(summary, "summary_from_burst", 0.0) ==
            (double)point->summary_from &&
        json_find_text(summary, "state_digest");
    if (!fits)
        json_free(summary);
    return fits;
}

/* The genome with the point's settings, and the point's length. */
static vly_status load_genome(const sweep_plan *plan, sweep_point *point,
                              vly_genome **genome, vly_error *error)
{
    tool_overrides overrides = {0};
    vly_status status = make_overrides(plan, point, &overrides, error);
    if (status == VLY_OK)
        status = vly_genome_load(plan->path, overrides.list, overrides.n,
                                 genome, error);
    if (status == VLY_OK)
        status = tool_bursts(plan->args, *genome, &point->n_bursts, error);
    if (status == VLY_OK)
        status = tool_summary_from(plan->args, *genome, point->n_bursts,
                                   &point->summary_from, error);
    if (status != VLY_OK) {
        vly_genome_destroy(*genome);
        *genome = NULL;
    }
    tool_overrides_deinit(&overrides);
    return status;
}

/* Names of the files that the sweep itself writes. */
static vly_status check_outputs(const sweep_plan *plan,
                                const vly_genome *genome, vly_error *error)
{
    static const char *const names[] = {"sweep.json", "results.csv"};
    vly_status status = VLY_OK;
    for (size_t i = 0; status == VLY_OK && i < sizeof names / sizeof *names;
         i++) {
        char *path = vly_format("%s/%s", plan->folder, names[i]);
        if (!path)
            return vly_fail_nomem(error, 4096, "a file name");
        status = output_apart_genome(path, genome, error);
        vly_free(path);
    }
    return status;
}

/* Names of the files of a point. */
static vly_status check_point(const sweep_plan *plan, const sweep_point *point,
                              const vly_genome *genome, vly_error *error)
{
    static const char *const suffixes[] = {"json", "err"};
    vly_status status = VLY_OK;
    for (size_t i = 0; status == VLY_OK && i < 2; i++) {
        char *path = sweep_point_file(plan, point, suffixes[i]);
        if (!path)
            return vly_fail_nomem(error, 4096, "a file name");
        status = output_apart_genome(path, genome, error);
        vly_free(path);
    }
    return status;
}

static void print_hash(const vly_genome *genome, char text[33])
{
    const vly_genome_info info = tool_genome_info(genome);
    const vly_hash hash = {{info.hash[0], info.hash[1]}};
    vly_hash_print(hash, text);
}

static sweep_witness witness_of(const sweep_plan *plan, sweep_point *point,
                                const vly_genome *genome)
{
    sweep_witness made = {.n_bursts = point->n_bursts,
                          .summary_from = point->summary_from};
    make_name(plan, point);
    memcpy(made.name, point->name, sizeof made.name);
    print_hash(genome, made.genome_hash);
    return made;
}

const char *sweep_witness_differs(const sweep_plan *plan,
                                  const sweep_witness *before)
{
    sweep_point point = {0};
    vly_genome *genome = NULL;
    vly_error why = VLY_ERROR_INIT;
    for (; point.index < plan->n_points; point.index++) {
        make_name(plan, &point);
        if (strcmp(point.name, before->name) == 0)
            break;
    }
    if (point.index == plan->n_points)
        return NULL; /* no row of this sweep has that name */
    if (load_genome(plan, &point, &genome, &why) != VLY_OK)
        return "genome"; /* it could be read with these settings then */
    const sweep_witness now = witness_of(plan, &point, genome);
    vly_genome_destroy(genome);
    return strcmp(now.genome_hash, before->genome_hash) != 0 ? "genome"
           : now.n_bursts != before->n_bursts                ? "length"
           : now.summary_from != before->summary_from        ? "--summary-from"
                                                             : NULL;
}

vly_status sweep_points_check(sweep_plan *plan, vly_error *error)
{
    uint64_t n = plan->n_points < TRIES_MAX ? plan->n_points : TRIES_MAX;
    vly_status first = VLY_OK;
    for (uint64_t i = 0; i < n; i++) {
        vly_error why = VLY_ERROR_INIT;
        vly_genome *genome = NULL;
        sweep_point point = {.index = i * plan->n_points / n};
        vly_status status = load_genome(plan, &point, &genome, &why);
        if (status == VLY_OK) {
            status = check_outputs(plan, genome, error);
            plan->witness = witness_of(plan, &point, genome);
            vly_genome_destroy(genome);
            return status;
        }
        if (i == 0) {
            first = status;
            *error = why;
        }
    }
    return first;
}

vly_status sweep_point_prepare(const sweep_plan *plan, sweep_point *point,
                               vly_error *error)
{
    vly_genome *genome = NULL;
    vly_error why = VLY_ERROR_INIT;
    make_name(plan, point);
    vly_status status = load_genome(plan, point, &genome, &why);
    if (status == VLY_OK)
        status = check_point(plan, point, genome, &why);
    if (status != VLY_OK) {
        vly_genome_destroy(genome);
        point->state = SWEEP_FAILED;
        point->code = vly_status_exit_code(status);
        point->reason = vly_strdup(why.message);
        return point->reason
                   ? VLY_OK
                   : vly_fail_nomem(error, sizeof why.message, "a message");
    }
    print_hash(genome, point->genome_hash);
    vly_genome_destroy(genome);
    json_value summary;
    if (sweep_point_summary(plan, point, &summary)) {
        json_free(&summary);
        point->state = SWEEP_DONE;
        point->found = true;
    }
    return VLY_OK;
}
