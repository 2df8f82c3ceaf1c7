/* SPDX-License-Identifier: Apache-2.0
 * A probe: its plan and its results.
 */
#include "probe/probe.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "plugin/device_memory.h"
#include "probe/probe_parts.h"

static const struct {
    const char *name;
    const char *what;
} points[] = {
#define POINT_CALL(name) {"call." #name, "time of each call, failures"},
    PROBE_CALLS(POINT_CALL)
#undef POINT_CALL
        {"burst", "time of a burst"},
    {"check", "are arguments and results what they should be?"},
};
#define N_POINTS (sizeof points / sizeof points[0])

const char *vly_probe_point_name(uint32_t index, const char **what)
{
    if (index >= N_POINTS)
        return NULL;
    if (what)
        *what = points[index].what;
    return points[index].name;
}

bool vly_probe_point_is_at(uint32_t index, const vly_backend *backend)
{
    switch (index) {
#define POINT_IS_AT(name)                                                      \
    case CALL_##name:                                                          \
        return backend->name != NULL;
        PROBE_CALLS(POINT_IS_AT)
#undef POINT_IS_AT
    default:
        return index < N_POINTS;
    }
}

const char *vly_probe_pattern(const vly_probe *probe, uint32_t k)
{
    const char *pattern = probe->points;
    while (k-- > 0)
        pattern += strlen(pattern) + 1;
    return pattern;
}

/* ---- points ------------------------------------------------------------ */

static bool is_of_net(const char *pattern)
{
    return strncmp(pattern, "area.", 5) == 0 ||
           strncmp(pattern, "map.", 4) == 0;
}

/* "*" alone means every point. */
static vly_status take_point(vly_probe *probe, const char *pattern,
                             size_t column, vly_error *error)
{
    vly_suggest near = {0};
    char hint[VLY_HINT_SIZE];
    bool found = is_of_net(pattern);
    if (strcmp(pattern, "*") == 0 || found)
        probe->watch = true;
    for (uint32_t k = 0; k < N_POINTS; k++) {
        vly_suggest_offer(&near, pattern, points[k].name);
        if (fnmatch(pattern, points[k].name, 0) != 0)
            continue;
        found = true;
        if (k < N_CALLS)
            probe->timed[k] = true;
        else
            probe->check = true;
    }
    if (found)
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "column %zu: \"%.60s\" is not a point (call.NAME, burst, "
                    "check, area.NAME, map.NAME)%s",
                    column, pattern,
                    vly_suggest_text(&near, hint, sizeof hint));
}

static vly_status take_points(vly_probe *probe, const char *text,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    probe->points = vly_strdup(text);
    if (!probe->points)
        return vly_fail_nomem(error, strlen(text) + 1, "points");
    for (char *at = probe->points;; at++) {
        const size_t n = strcspn(at, ",");
        const bool last = at[n] == 0;
        at[n] = 0;
        if (n == 0)
            return vly_fail(error, VLY_E_INVALID,
                            "column %zu: nothing, wanted a point, as in "
                            "call.net_run,area.E",
                            (size_t)(at - probe->points) + 1);
        VLY_TRY(take_point(probe, at, (size_t)(at - probe->points) + 1, error));
        probe->n_points++;
        if (last)
            break;
        at += n;
    }
out:
    return status;
}

/* ---- begin and end ----------------------------------------------------- */

static vly_status take_faults(vly_probe *probe, const vly_probe_plan *plan,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    if (plan->n_faults == 0)
        return VLY_OK;
    probe->faults = vly_calloc(plan->n_faults, sizeof *probe->faults);
    if (!probe->faults)
        return vly_fail_nomem(error, plan->n_faults * sizeof *probe->faults,
                              "faults");
    for (uint32_t k = 0; k < plan->n_faults; k++) {
        probe_fault *fault = &probe->faults[probe->n_faults];
        VLY_TRY(vly_probe_fault_read(plan->faults[k], fault, error));
        probe->n_faults++;
        probe->drops |= fault->kind == FAULT_DROP;
    }
out:
    return status;
}

vly_status vly_probe_create(const vly_probe_plan *plan, vly_probe **probe,
                            vly_error *error)
{
    static const char *const names[] = {
#define CHECK_NAME(name) #name,
        PROBE_CHECKS(CHECK_NAME)
#undef CHECK_NAME
    };
    vly_status status = VLY_OK;
    vly_probe *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a probe");
    pthread_mutex_init(&made->lock, NULL);
    for (uint32_t k = 0; k < N_CHECKS; k++)
        made->checks[k].name = names[k];
    if (plan->points)
        VLY_TRY(take_points(made, plan->points, error));
    VLY_TRY(take_faults(made, plan, error));
    if (plan->only) {
        made->only = vly_strdup(plan->only);
        if (!made->only)
            VLY_TRY(vly_fail_nomem(error, strlen(plan->only), "a name"));
    }
    *probe = made;
    made = NULL;
out:
    vly_probe_destroy(made);
    return status;
}

void vly_probe_destroy(vly_probe *probe)
{
    if (!probe)
        return;
    if (probe->registry)
        vly_registry_wrap(probe->registry, NULL, NULL);
    vly_probe_leaks_free(probe);
    vly_probe_slots_free(probe);
    for (uint32_t k = 0; k < probe->n_series; k++) {
        vly_free(probe->series[k]->name);
        vly_free(probe->series[k]);
    }
    for (uint32_t k = 0; k < probe->n_faults; k++)
        vly_free(probe->faults[k].text);
    vly_free(probe->series);
    vly_free(probe->faults);
    vly_free(probe->points);
    vly_free(probe->only);
    pthread_mutex_destroy(&probe->lock);
    vly_free(probe);
}

/* ---- areas and maps ---------------------------------------------------- */

/* "area.E" for E; false: it is too long for any pattern. */
static bool matches(const char *pattern, const char *kind, const char *name,
                    vly_suggest *near, char *text, size_t size)
{
    const int n = snprintf(text, size, "%s%s", kind, name);
    if (n < 0 || (size_t)n >= size)
        return false;
    vly_suggest_offer(near, pattern, name);
    return fnmatch(pattern, text, 0) == 0;
}

vly_status vly_probe_fits(const vly_probe *probe, const vly_net_desc *desc,
                          vly_error *error)
{
    for (uint32_t k = 0; probe && k < probe->n_points; k++) {
        const char *pattern = vly_probe_pattern(probe, k);
        const bool of_area = strncmp(pattern, "area.", 5) == 0;
        const char *kind = of_area ? "area." : "map.";
        const char *wanted = pattern + strlen(kind);
        char text[300];
        char hint[VLY_HINT_SIZE];
        vly_suggest near = {0};
        bool found = !is_of_net(pattern);
        for (uint32_t i = 0; !found && of_area && i < desc->n_areas; i++)
            found = matches(wanted, "", probe_area(desc, i)->name, &near, text,
                            sizeof text);
        for (uint32_t i = 0; !found && !of_area && i < desc->n_projections; i++)
            found = matches(wanted, "", probe_projection(desc, i)->map, &near,
                            text, sizeof text);
        if (!found)
            return vly_fail(error, VLY_E_INVALID,
                            "%.80s: the network has no such %s%s", pattern,
                            of_area ? "area" : "map",
                            vly_suggest_choice(&near, hint, sizeof hint));
    }
    return VLY_OK;
}

static bool is_asked(const vly_probe *probe, const char *kind, const char *name)
{
    char text[300];
    vly_suggest near = {0};
    for (uint32_t k = 0; k < probe->n_points; k++)
        if (matches(vly_probe_pattern(probe, k), kind, name, &near, text,
                    sizeof text))
            return true;
    return false;
}

/* One series for each name, over all nets. The lock is held. */
static vly_status series_of(vly_probe *probe, const char *kind,
                            const char *name, const char *unit,
                            probe_series **series, vly_error *error)
{
    if (!is_asked(probe, kind, name))
        return VLY_OK;
    char *text = vly_format("%s%s", kind, name);
    for (uint32_t k = 0; text && k < probe->n_series; k++)
        if (strcmp(probe->series[k]->name, text) == 0) {
            vly_free(text);
            *series = probe->series[k];
            return VLY_OK;
        }
    probe_series *made = vly_calloc(1, sizeof *made);
    probe_series **grown =
        vly_realloc(probe->series, (size_t)probe->n_series + 1, sizeof *grown);
    if (grown)
        probe->series = grown;
    if (!text || !made || !grown) {
        vly_free(text);
        vly_free(made);
        return vly_fail_nomem(error, sizeof *made, "a probe of an area");
    }
    made->name = text;
    made->seen =
        (vly_probe_series){.backend = "", .point = made->name, .unit = unit};
    probe->series[probe->n_series++] = made;
    *series = made;
    return VLY_OK;
}

vly_status vly_probe_net_watch(probe_net *net, vly_error *error)
{
    vly_probe *probe = net->slot->probe;
    const vly_net_desc *desc = net->desc;
    vly_status status = VLY_OK;
    if (!probe->watch)
        return VLY_OK;
    net->areas = vly_calloc((size_t)desc->n_areas + 1, sizeof *net->areas);
    net->maps = vly_calloc((size_t)desc->n_projections + 1, sizeof *net->maps);
    if (!net->areas || !net->maps)
        return vly_fail_nomem(error, desc->n_areas * sizeof *net->areas,
                              "probes of areas");
    pthread_mutex_lock(&probe->lock);
    for (uint32_t a = 0; a < desc->n_areas; a++)
        VLY_TRY(series_of(probe, "area.", probe_area(desc, a)->name, "spikes",
                          &net->areas[a], error));
    for (uint32_t p = 0; p < desc->n_projections; p++)
        VLY_TRY(series_of(probe, "map.", probe_projection(desc, p)->map,
                          "events", &net->maps[p], error));
out:
    pthread_mutex_unlock(&probe->lock);
    return status;
}

/* ---- results ----------------------------------------------------------- */

void vly_probe_add(vly_probe_series *series, uint64_t value, uint64_t times,
                   uint64_t burst)
{
    uint32_t bin = 0;
    while (bin < 64 && value >> bin != 0)
        bin++;
    series->count += times;
    series->sum += value * times;
    series->bins[bin] += times;
    if (value > series->most || series->count == times) {
        series->most = value;
        series->most_burst = burst;
    }
}

/* A lock changes, so the probe is not const here. */
static pthread_mutex_t *lock_of(const vly_probe *probe)
{
    return (pthread_mutex_t *)(uintptr_t)&probe->lock;
}

static bool series_at(const vly_probe *probe, uint32_t index,
                      vly_probe_series *series)
{
    for (uint32_t s = 0; s < probe->n_slots; s++)
        for (uint32_t c = 0; c < N_CALLS; c++) {
            const vly_probe_series *seen = &probe->slots[s]->calls[c];
            if (seen->count == 0 || index-- > 0)
                continue;
            *series = *seen;
            series->backend = probe->slots[s]->id;
            series->point = points[c].name;
            series->unit = "ns";
            return true;
        }
    for (uint32_t k = 0; k < probe->n_series; k++)
        if (index-- == 0) {
            *series = probe->series[k]->seen;
            return true;
        }
    return false;
}

bool vly_probe_series_get(const vly_probe *probe, uint32_t index,
                          vly_probe_series *series)
{
    if (!probe)
        return false;
    pthread_mutex_lock(lock_of(probe));
    const bool found = series_at(probe, index, series);
    pthread_mutex_unlock(lock_of(probe));
    return found;
}

bool vly_probe_checked_get(const vly_probe *probe, uint32_t index,
                           vly_probe_checked *checked)
{
    if (!probe || !probe->check || index >= N_CHECKS)
        return false;
    pthread_mutex_lock(lock_of(probe));
    *checked = probe->checks[index];
    pthread_mutex_unlock(lock_of(probe));
    return true;
}

static void describe(const probe_fault *fault, char *what, size_t size)
{
    const unsigned long long n = fault->amount;
    switch (fault->kind) {
    case FAULT_STUCK:
        if (fault->counter) {
            (void)snprintf(what, size, "a call that did no burst");
            break;
        } /* fall through */
    case FAULT_SLOW:
        (void)snprintf(what, size, "%.3f s longer", (double)n * 1e-9);
        break;
    case FAULT_DROP:
        (void)snprintf(what, size, "%llu spikes lost", n);
        break;
    case FAULT_CLOCK:
        (void)snprintf(what, size, "%.10g ms ahead", fault->ms);
        break;
    case FAULT_LEAK:
        (void)snprintf(what, size, "%llu bytes leaked", n);
        break;
    case FAULT_WRONG:
        (void)snprintf(what, size, "the net went to %s", fault->to);
        break;
    case FAULT_ERROR:
    case N_FAULTS:
        (void)snprintf(what, size, "%llu of the calls failed", n);
        break;
    }
}

bool vly_probe_injected_get(const vly_probe *probe, uint32_t index,
                            vly_probe_injected *injected)
{
    if (!probe || index >= probe->n_faults)
        return false;
    pthread_mutex_lock(lock_of(probe));
    const probe_fault *fault = &probe->faults[index];
    *injected = (vly_probe_injected){.text = fault->text,
                                     .times = fault->times,
                                     .began = fault->began,
                                     .last = fault->last};
    if (fault->times != 0)
        describe(fault, injected->what, sizeof injected->what);
    pthread_mutex_unlock(lock_of(probe));
    return true;
}

void vly_probe_clock(const vly_probe *probe, int64_t *wall_ns,
                     int64_t *steady_ns)
{
    *wall_ns = 0;
    *steady_ns = 0;
    if (!probe)
        return;
    pthread_mutex_lock(lock_of(probe));
    *wall_ns = probe->wall_ns;
    *steady_ns = probe->steady_ns;
    pthread_mutex_unlock(lock_of(probe));
}
