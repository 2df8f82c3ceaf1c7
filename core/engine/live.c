/* SPDX-License-Identifier: Apache-2.0
 * Parameters in force: making a change, writing it to the backend, committing
 * it.
 */
#include "engine/live_short_term.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

vly_status vly_live_init(vly_live *live, const vly_connectome *connectome,
                         vly_error *error)
{
    vly_live made = {.n_areas = connectome->desc.n_areas,
                     .n_stimuli = connectome->desc.n_stimuli,
                     .n_projections = connectome->desc.n_projections};
    made.columns = vly_calloc(made.n_areas, sizeof *made.columns);
    made.load =
        vly_calloc((size_t)made.n_areas * VLY_PORTS_MAX, sizeof *made.load);
    made.stimuli = vly_calloc(made.n_stimuli, sizeof *made.stimuli);
    made.stimulus_made = vly_calloc(made.n_stimuli, 1);
    made.learning = vly_calloc(made.n_projections, sizeof *made.learning);
    made.short_term = vly_calloc(made.n_projections, sizeof *made.short_term);
    if (!made.columns || !made.load || !made.stimuli || !made.stimulus_made ||
        !made.learning || !made.short_term) {
        vly_live_deinit(&made);
        return vly_fail_nomem(error, made.n_areas * sizeof *made.columns,
                              "the parameters in force");
    }
    *live = made;
    return VLY_OK;
}

static void free_stimulus(vly_stimulus_desc *stimulus)
{
    /* thresholds are const in the ABI, but these are ours */
    void *thresholds = NULL;
    memcpy(&thresholds, &stimulus->thresholds, sizeof thresholds);
    vly_free(thresholds);
    stimulus->thresholds = NULL;
}

void vly_live_deinit(vly_live *live)
{
    for (uint32_t a = 0; live->columns && a < live->n_areas; a++)
        vly_coefs_free(live->columns[a]);
    for (uint32_t i = 0; live->load && i < VLY_PORTS_MAX * live->n_areas; i++)
        vly_free(live->load[i]);
    for (uint32_t s = 0; live->stimuli && s < live->n_stimuli; s++)
        free_stimulus(&live->stimuli[s]);
    for (uint32_t p = 0; live->learning && p < live->n_projections; p++)
        vly_free(live->learning[p]);
    vly_free(live->learning);
    vly_live_free_short_term(live);
    vly_free(live->columns);
    vly_free(live->load);
    vly_free(live->stimuli);
    vly_free(live->stimulus_made);
    vly_overlay_destroy(live->overlay);
    *live = (vly_live){0};
}

const vly_column *vly_live_columns(const vly_live *live,
                                   const vly_connectome *connectome,
                                   uint32_t area)
{
    return live->columns && live->columns[area]
               ? live->columns[area]
               : connectome->desc.areas[area].coefs;
}

const vly_stimulus_desc *vly_live_stimulus(const vly_live *live,
                                           const vly_connectome *connectome,
                                           uint32_t index)
{
    return live->stimulus_made && live->stimulus_made[index]
               ? &live->stimuli[index]
               : &connectome->desc.stimuli[index];
}

const vly_learning_desc *vly_live_learning(const vly_live *live,
                                           const vly_connectome *connectome,
                                           uint32_t projection)
{
    return live->learning && live->learning[projection]
               ? live->learning[projection]
               : connectome->desc.projections[projection].learning;
}

/* ---- dc ---------------------------------------------------------------- */

uint64_t vly_live_dc_next(const vly_connectome *connectome, uint64_t burst)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t s = 0; s < connectome->n_stimuli; s++) {
        const vly_connectome_stimulus *stimulus = &connectome->stimuli[s];
        if (stimulus->kind != VLY_STIMULUS_DC)
            continue;
        if (stimulus->start > burst && stimulus->start < next)
            next = stimulus->start;
        if (stimulus->stop > burst && stimulus->stop < next)
            next = stimulus->stop;
    }
    return next;
}

bool vly_live_has_dc(const vly_connectome *connectome, uint32_t area)
{
    for (uint32_t s = 0; s < connectome->n_stimuli; s++)
        if (connectome->stimuli[s].kind == VLY_STIMULUS_DC &&
            connectome->stimuli[s].area == area)
            return true;
    return false;
}

static bool dc_acts(const vly_connectome_stimulus *stimulus, uint32_t area,
                    uint64_t burst)
{
    return stimulus->kind == VLY_STIMULUS_DC && stimulus->area == area &&
           stimulus->start <= burst && burst < stimulus->stop;
}

/* Sums dc in genome order into dc[1] if every stimulus covers the area,
 * otherwise into dc[n_neurons] (allocated, *each). */
static vly_status dc_sum(const vly_connectome *connectome,
                         const vly_overlay *overlay, uint32_t area,
                         uint64_t burst, double *sum, double **each,
                         vly_error *error)
{
    uint32_t n = connectome->areas[area].n_neurons;
    bool uniform = true;
    *sum = 0.0;
    *each = NULL;
    for (uint32_t s = 0; s < connectome->n_stimuli; s++) {
        const vly_connectome_stimulus *stimulus = &connectome->stimuli[s];
        if (!dc_acts(stimulus, area, burst))
            continue;
        *sum += overlay->stimuli[s].mean;
        uniform = uniform && stimulus->n_neurons == n;
    }
    if (uniform)
        return VLY_OK;
    double *values = vly_calloc(n, sizeof *values);
    if (!values)
        return vly_fail_nomem(error, n * sizeof *values, "dc input");
    for (uint32_t s = 0; s < connectome->n_stimuli; s++) {
        const vly_connectome_stimulus *stimulus = &connectome->stimuli[s];
        if (!dc_acts(stimulus, area, burst))
            continue;
        uint32_t first = stimulus->first - connectome->areas[area].first;
        for (uint32_t i = 0; i < stimulus->n_neurons; i++)
            values[first + i] += overlay->stimuli[s].mean;
    }
    *each = values;
    return VLY_OK;
}

/* ---- making ------------------------------------------------------------ */

vly_status vly_live_make_columns(vly_live *change,
                                 const vly_connectome *connectome,
                                 const vly_overlay *overlay, uint32_t area,
                                 uint64_t burst, vly_error *error)
{
    const vly_connectome_area *target = &connectome->areas[area];
    vly_param_column *params = NULL;
    double *each = NULL;
    double sum = 0.0;
    vly_column *columns = NULL;
    vly_status status = VLY_OK;
    params = vly_calloc(target->model->n_params, sizeof *params);
    if (!params) {
        status = vly_fail_nomem(error, sizeof *params, "parameters");
        goto out;
    }
    vly_overlay_params(overlay, connectome, area, params);
    VLY_TRY(dc_sum(connectome, overlay, area, burst, &sum, &each, error));
    VLY_TRY(vly_coefs_make(target, params, each ? each : &sum, !each,
                           connectome->desc.dt_ms, &columns, error));
    vly_coefs_free(change->columns[area]);
    change->columns[area] = columns;
out:
    vly_free(params);
    vly_free(each);
    return status;
}

vly_status vly_live_make_stimulus(vly_live *change,
                                  const vly_connectome *connectome,
                                  const vly_overlay *overlay, uint32_t stimulus,
                                  vly_error *error)
{
    vly_connectome_stimulus now =
        vly_overlay_stimulus_now(overlay, connectome, stimulus);
    uint32_t index = now.desc_index;
    vly_stimulus_desc desc = connectome->desc.stimuli[index];
    int32_t q = connectome->areas[now.area].q[desc.port];
    uint64_t reach = 0;
    vly_status status = VLY_OK;
    desc.thresholds = NULL;
    VLY_TRY(vly_stimulus_table(&now, connectome->desc.dt_ms, q, &desc, &reach,
                               error));
    free_stimulus(&change->stimuli[index]);
    change->stimuli[index] = desc;
    change->stimulus_made[index] = 1;
out:
    return status;
}

static bool same_learning(const vly_learning_desc *a,
                          const vly_learning_desc *b)
{
    return a->flags == b->flags &&
           memcmp(a->coefs, b->coefs, a->n_coefs * sizeof *a->coefs) == 0;
}

/* Rules with a value that is not the connectome's. */
static vly_status make_learnings(vly_live *change,
                                 const vly_connectome *connectome,
                                 const vly_overlay *overlay, vly_error *error)
{
    const double *now = overlay->learned;
    vly_status status = VLY_OK;
    for (uint32_t p = 0; p < connectome->desc.n_projections; p++) {
        if (!vly_connectome_rule(&connectome->projections[p]))
            continue;
        VLY_TRY(vly_live_make_learning(change, connectome, now, p, error));
        if (change->short_term[p])
            vly_live_trim_short_term(change, connectome, p);
        else if (same_learning(change->learning[p],
                               connectome->desc.projections[p].learning)) {
            vly_free(change->learning[p]);
            change->learning[p] = NULL;
        }
        now += vly_learned_values(connectome, p);
    }
out:
    return status;
}

vly_status vly_live_make_all(vly_live *change, const vly_connectome *connectome,
                             const vly_overlay *overlay, uint64_t burst,
                             vly_error *error)
{
    static const vly_live nothing = {0};
    vly_status status = VLY_OK;
    for (uint32_t a = 0; a < connectome->desc.n_areas; a++) {
        bool changed = vly_overlay_area_changed(overlay, a);
        if (!changed && !vly_live_has_dc(connectome, a))
            continue;
        VLY_TRY(vly_live_make_columns(change, connectome, overlay, a, burst,
                                      error));
        if (changed)
            VLY_TRY(vly_live_make_load(change, &nothing, connectome, a, error));
    }
    for (uint32_t s = 0; s < connectome->n_stimuli; s++) {
        vly_stimulus_kind kind = connectome->stimuli[s].kind;
        if (vly_stimulus_draws(kind) &&
            vly_overlay_stimulus_changed(overlay, connectome, s))
            VLY_TRY(
                vly_live_make_stimulus(change, connectome, overlay, s, error));
    }
    VLY_TRY(make_learnings(change, connectome, overlay, error));
out:
    return status;
}

/* ---- to the backend ---------------------------------------------------- */

static bool same_column(const vly_column *a, const vly_column *b, uint32_t n)
{
    size_t words = a->uniform ? 1 : n;
    return a->uniform == b->uniform &&
           memcmp(a->words, b->words, words * sizeof *a->words) == 0;
}

/* One pass over the differences between two settings, in a fixed order, that
 * writes the first `limit` of them. */
typedef struct vly_live_pass {
    const vly_connectome *connectome;
    const vly_backend *backend;
    vly_backend_net *net;
    const vly_live *change;
    const vly_live *now;
    bool back; /* write the values in force, not the change */
    uint64_t limit;
    uint64_t n_written;
} vly_live_pass;

static vly_status pass_area(vly_live_pass *pass, uint32_t area,
                            vly_error *error)
{
    vly_status status = VLY_OK;
    const vly_column *old = vly_live_columns(pass->now, pass->connectome, area);
    const vly_column *new = pass->change->columns[area];
    const vly_area_desc *desc = &pass->connectome->desc.areas[area];
    for (uint32_t c = 0; c < desc->n_coefs; c++) {
        if (same_column(&old[c], &new[c], desc->n_neurons))
            continue;
        if (pass->n_written == pass->limit)
            return VLY_OK;
        VLY_TRY(pass->backend->coef_write(
            pass->net, area, c, pass->back ? &old[c] : &new[c], error));
        pass->n_written++;
    }
out:
    return status;
}

static vly_status pass_learning(vly_live_pass *pass, uint32_t p,
                                vly_error *error)
{
    const vly_learning_desc *old =
        vly_live_learning(pass->now, pass->connectome, p);
    const vly_learning_desc *new = pass->change->learning[p];
    if (pass->n_written == pass->limit || same_learning(old, new))
        return VLY_OK;
    vly_status status = pass->backend->learning_set(
        pass->net, p, pass->back ? old : new, error);
    pass->n_written += status == VLY_OK;
    return status;
}

static vly_status pass_short_term(vly_live_pass *pass, uint32_t p,
                                  vly_error *error)
{
    const vly_short_term_desc *old =
        vly_live_short_term(pass->now, pass->connectome, p);
    const vly_short_term_desc *new = pass->change->short_term[p];
    if (pass->n_written == pass->limit || vly_live_same_short_term(old, new))
        return VLY_OK;
    vly_status status = pass->backend->short_term_set(
        pass->net, p, pass->back ? old : new, error);
    pass->n_written += status == VLY_OK;
    return status;
}

static vly_status pass_run(vly_live_pass *pass, vly_error *error)
{
    const vly_live *change = pass->change;
    for (uint32_t a = 0; a < change->n_areas; a++) {
        vly_status status =
            change->columns[a] ? pass_area(pass, a, error) : VLY_OK;
        if (status != VLY_OK)
            return status;
    }
    for (uint32_t s = 0; s < change->n_stimuli; s++) {
        if (!change->stimulus_made[s])
            continue;
        if (pass->n_written == pass->limit)
            return VLY_OK;
        const vly_stimulus_desc *old =
            vly_live_stimulus(pass->now, pass->connectome, s);
        vly_status status = pass->backend->stimulus_write(
            pass->net, s, pass->back ? old : &change->stimuli[s], error);
        if (status != VLY_OK)
            return status;
        pass->n_written++;
    }
    for (uint32_t p = 0; p < change->n_projections; p++) {
        vly_status status = change->learning[p] ? pass_learning(pass, p, error)
                            : change->short_term[p]
                                ? pass_short_term(pass, p, error)
                                : VLY_OK;
        if (status != VLY_OK)
            return status;
    }
    return VLY_OK;
}

vly_status vly_live_apply(const vly_live *change, const vly_live *now,
                          const vly_connectome *connectome,
                          const vly_backend *backend, vly_backend_net *net,
                          bool *lost, vly_error *error)
{
    vly_live_pass pass = {.connectome = connectome,
                          .backend = backend,
                          .net = net,
                          .change = change,
                          .now = now,
                          .limit = UINT64_MAX};
    *lost = false;
    vly_status status = pass_run(&pass, error);
    if (status != VLY_OK && pass.n_written != 0) {
        pass.back = true;
        pass.limit = pass.n_written;
        pass.n_written = 0;
        *lost = pass_run(&pass, NULL) != VLY_OK;
    }
    return status;
}

void vly_live_commit(vly_live *change, vly_live *now)
{
    for (uint32_t a = 0; a < change->n_areas; a++) {
        if (!change->columns[a])
            continue;
        vly_coefs_free(now->columns[a]);
        now->columns[a] = change->columns[a];
        change->columns[a] = NULL;
    }
    for (uint32_t i = 0; i < VLY_PORTS_MAX * change->n_areas; i++) {
        if (!change->load[i])
            continue;
        vly_free(now->load[i]);
        now->load[i] = change->load[i];
        change->load[i] = NULL;
    }
    for (uint32_t s = 0; s < change->n_stimuli; s++) {
        if (!change->stimulus_made[s])
            continue;
        free_stimulus(&now->stimuli[s]);
        now->stimuli[s] = change->stimuli[s];
        now->stimulus_made[s] = 1;
        change->stimuli[s].thresholds = NULL;
        change->stimulus_made[s] = 0;
    }
    for (uint32_t p = 0; p < change->n_projections; p++) {
        if (!change->learning[p])
            continue;
        vly_free(now->learning[p]);
        now->learning[p] = change->learning[p];
        change->learning[p] = NULL;
    }
    vly_live_commit_short_term(change, now);
    if (change->overlay) {
        vly_overlay_destroy(now->overlay);
        now->overlay = change->overlay;
        change->overlay = NULL;
    }
}
