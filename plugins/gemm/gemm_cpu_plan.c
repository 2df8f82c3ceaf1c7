/* SPDX-License-Identifier: Apache-2.0
 * Plans: which way a product is run, and why.
 */
#include <stdio.h>
#include <string.h>

#include "gemm_cpu.h"

const char *const vly_gemm_way_names[VLY_GEMM_N_WAYS] = {"gemv", "openblas",
                                                         "plain"};

/* Time of each way; 0 seconds: not measured. */
typedef struct candidate {
    bool usable;
    bool is_left;  /* choose names another way: not tried */
    char why[256]; /* not */
    vly_gemm_tile tile;
    uint64_t workspace_bytes;
    double seconds;
    bool is_whole;
} candidate;

/* ---- instruction sets ------------------------------------------------- */

static const vly_gemm_kernels *find_kernels(const char *isa)
{
#ifdef VLY_GEMM_X86
    const bool fma = __builtin_cpu_supports("fma");
    const bool avx2 = fma && __builtin_cpu_supports("avx2");
    const bool avx512 = fma && __builtin_cpu_supports("avx512f") &&
                        __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl");
    if (avx512 && (!isa || strcmp(isa, "avx512") == 0))
        return &vly_gemm_kernels_avx512;
    if (avx2 && (!isa || strcmp(isa, "avx2") == 0))
        return &vly_gemm_kernels_avx2;
#endif
    return !isa || strcmp(isa, "scalar") == 0 ? &vly_gemm_kernels_scalar : NULL;
}

/* ---- candidates ------------------------------------------------------- */

/* If an own way is named, OpenBLAS is not loaded: if it cannot allocate its
 * buffers, it ends the process or retries for ever. */
static bool chooses_own(const char *choose)
{
    return strcmp(choose, vly_gemm_way_names[VLY_GEMM_GEMV]) == 0 ||
           strcmp(choose, vly_gemm_way_names[VLY_GEMM_PLAIN]) == 0;
}

static void try_way(const vly_gemm_plan *plan, const char *choose,
                    vly_gemm_way way, candidate *c)
{
    const vly_gemm_desc *desc = &plan->problem.desc;
    memset(c, 0, sizeof *c);
    if (way == VLY_GEMM_GEMV) {
        c->usable = desc->m == 1;
        snprintf(c->why, sizeof c->why, "m is not 1");
        return;
    }
    if (way == VLY_GEMM_OPENBLAS && chooses_own(choose)) {
        c->is_left = true;
        snprintf(c->why, sizeof c->why, "choose names another");
        return;
    }
    if (way == VLY_GEMM_OPENBLAS && vly_gemm_blas_missing()) {
        snprintf(c->why, sizeof c->why, "%.255s", vly_gemm_blas_missing());
        return;
    }
    c->usable =
        vly_gemm_tile_fit(&plan->problem, plan->kernels, way, plan->n_threads,
                          desc->workspace_most, &c->tile);
    snprintf(c->why, sizeof c->why,
             "needs more workspace than %llu bytes, or a matrix is too large",
             (unsigned long long)desc->workspace_most);
    const uint64_t tiles = c->tile.n_rows * c->tile.n_cols * desc->batch;
    const uint64_t threads = plan->n_threads < tiles ? plan->n_threads : tiles;
    c->workspace_bytes = c->tile.thread_bytes * threads;
}

/* A plan without work needs only one way. */
static uint32_t try_all(const vly_gemm_plan *plan, const char *choose,
                        candidate all[VLY_GEMM_N_WAYS])
{
    uint32_t n = 0;
    for (uint32_t way = 0; way < VLY_GEMM_N_WAYS; way++) {
        if (plan->problem.is_empty || plan->problem.desc.k == 0) {
            memset(&all[way], 0, sizeof all[way]);
            all[way].usable = way == VLY_GEMM_PLAIN;
            snprintf(all[way].why, sizeof all[way].why, "nothing to multiply");
        } else {
            try_way(plan, choose, (vly_gemm_way)way, &all[way]);
        }
        n += all[way].usable;
    }
    return n;
}

static vly_status forced(const char *name, const candidate *all,
                         vly_gemm_way *way, vly_error *error)
{
    char there[64] = "";
    for (uint32_t i = 0; i < VLY_GEMM_N_WAYS; i++) {
        if (strcmp(name, vly_gemm_way_names[i]) == 0 && all[i].usable) {
            *way = (vly_gemm_way)i;
            return VLY_OK;
        }
        if (all[i].usable)
            snprintf(there + strlen(there), sizeof there - strlen(there),
                     "%s%s", there[0] != 0 ? ", " : "", vly_gemm_way_names[i]);
    }
    const char *why = "there is no such way";
    for (uint32_t i = 0; i < VLY_GEMM_N_WAYS; i++)
        if (strcmp(name, vly_gemm_way_names[i]) == 0)
            why = all[i].why;
    return vly_support_fail(error, VLY_E_UNSUPPORTED,
                            "%s: choose=%s: %s (there are: %s)",
                            vly_support_plugin, name, why, there);
}

static void take(vly_gemm_plan *plan, vly_gemm_way way, const candidate *c)
{
    plan->way = way;
    plan->tile = c->tile;
    plan->workspace_bytes = c->workspace_bytes;
    plan->measured_s = c->is_whole ? c->seconds : 0.0;
}

/* Seconds of each way that is usable. Without memory for the measurement (best
 * effort, so that a limit applies here first) no way gets a time, and a line is
 * logged.
 */
static vly_status measure_all(vly_gemm_plan *plan,
                              candidate all[VLY_GEMM_N_WAYS], vly_error *error)
{
    vly_error why = {.struct_size = sizeof why};
    vly_status status = VLY_OK;
    for (uint32_t way = 0; way < VLY_GEMM_N_WAYS && status == VLY_OK; way++) {
        if (!all[way].usable)
            continue;
        take(plan, (vly_gemm_way)way, &all[way]);
        status =
            vly_gemm_measure(plan, &all[way].seconds, &all[way].is_whole, &why);
    }
    if (status != VLY_E_NOMEM)
        return status == VLY_OK
                   ? VLY_OK
                   : vly_support_fail(error, status, "%s", why.message);
    for (uint32_t way = 0; way < VLY_GEMM_N_WAYS; way++)
        all[way].seconds = 0.0;
    char text[sizeof why.message + 64];
    snprintf(text, sizeof text, "a plan was not measured: %s", why.message);
    vly_support_host->log(vly_support_host->context, VLY_LOG_WARN, text);
    return VLY_OK;
}

static vly_status choose(vly_gemm_plan *plan, const vly_accel_options *options,
                         candidate all[VLY_GEMM_N_WAYS], vly_error *error)
{
    vly_gemm_way best = VLY_GEMM_PLAIN;
    plan->n_candidates = try_all(plan, options->choose, all);
    if (options->choose[0] != 0) {
        vly_status status = forced(options->choose, all, &best, error);
        if (status != VLY_OK)
            return status;
        plan->n_candidates = 1;
        take(plan, best, &all[best]);
        return VLY_OK;
    }
    if (options->tune && plan->n_candidates > 1) {
        vly_status status = measure_all(plan, all, error);
        if (status != VLY_OK)
            return status;
    }
    best = VLY_GEMM_N_WAYS;
    for (uint32_t way = 0; way < VLY_GEMM_N_WAYS; way++)
        if (all[way].usable &&
            (best == VLY_GEMM_N_WAYS || all[way].seconds < all[best].seconds))
            best = (vly_gemm_way)way;
    if (!options->tune)
        plan->n_candidates = 1;
    take(plan, best, &all[best]);
    return VLY_OK;
}

/* ---- descriptions -------------------------------------------------------- */

static void explain(vly_gemm_plan *plan, const candidate all[VLY_GEMM_N_WAYS])
{
    char how[128];
    const vly_gemm_kernels *k = plan->kernels;
    if (plan->way == VLY_GEMM_OPENBLAS)
        snprintf(how, sizeof how, "openblas: %s%s", vly_gemm_blas_text(),
                 plan->tile.in_place ? "" : " on blocks converted to fp32");
    else if (plan->way == VLY_GEMM_GEMV)
        snprintf(how, sizeof how, "gemv: %s", k->text);
    else
        snprintf(how, sizeof how, "plain: tiles of %u x %u, %s%s", k->rows,
                 k->cols, k->text,
                 plan->tile.thread_bytes == 0 && !plan->problem.is_empty
                     ? ", without workspace"
                     : "");
    int n = snprintf(plan->choice, sizeof plan->choice, "%s, %u thread%s", how,
                     plan->n_threads, plan->n_threads == 1 ? "" : "s");
    for (uint32_t i = 0; i < VLY_GEMM_N_WAYS; i++) {
        if (n < 0 || (size_t)n >= sizeof plan->choice)
            return;
        const size_t left = sizeof plan->choice - (size_t)n;
        char *at = plan->choice + n;
        if (i != plan->way && all[i].seconds > 0.0)
            n += snprintf(at, left, "; %s takes %.2f times as long",
                          vly_gemm_way_names[i],
                          all[i].seconds / all[plan->way].seconds);
        else if (i == VLY_GEMM_OPENBLAS && !all[i].usable && !all[i].is_left &&
                 !plan->problem.is_empty && plan->problem.desc.k > 0)
            n += snprintf(at, left, "; no openblas: %s", all[i].why);
    }
}

/* All ways and their results. Times of a part of the shape are marked as
 * such. */
static vly_status list_ways(vly_gemm_plan *plan,
                            const candidate all[VLY_GEMM_N_WAYS],
                            vly_error *error)
{
    const double chosen_s = all[plan->way].seconds;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_accel_candidates_init(&plan->looked_at, VLY_GEMM_N_WAYS, error));
    for (uint32_t i = 0; i < VLY_GEMM_N_WAYS; i++) {
        const candidate *c = &all[i];
        char note[sizeof c->why + 64] = "";
        if (!c->usable)
            snprintf(note, sizeof note, "%s", c->why);
        else if (c->seconds > 0.0 && !c->is_whole && i == plan->way)
            snprintf(note, sizeof note, "compared on a part of the shape");
        else if (c->seconds > 0.0 && !c->is_whole)
            snprintf(note, sizeof note,
                     "on a part of the shape %.2f times as long as the choice",
                     c->seconds / chosen_s);
        vly_plan_candidate *to =
            vly_accel_candidates_add(&plan->looked_at,
                                     i == plan->way ? VLY_CANDIDATE_CHOSEN
                                     : c->usable    ? VLY_CANDIDATE_READY
                                                    : VLY_CANDIDATE_REFUSED,
                                     vly_gemm_way_names[i], note);
        to->measured_s = c->usable && c->is_whole ? c->seconds : 0.0;
        to->workspace_bytes = c->usable ? c->workspace_bytes : 0;
    }
out:
    return status;
}

/* ---- the interface ---------------------------------------------------- */

vly_status vly_gemm_cpu_supports(const vly_gemm_desc *desc, vly_error *error)
{
    vly_gemm_problem problem;
    return vly_gemm_check_desc(desc, &problem, error);
}

static vly_status check_device(const vly_device_spec *device, vly_error *error)
{
    if (vly_accel_check_device(device, error) != VLY_OK)
        return VLY_E_INVALID;
    if (device->index != 0)
        return vly_support_fail(error, VLY_E_DEVICE,
                                "%s: device %u, but there is only 0",
                                vly_support_plugin, device->index);
    return VLY_OK;
}

static vly_status set_kernels(const vly_device_spec *device,
                              vly_gemm_plan *plan, vly_error *error)
{
    char isa[16] = "";
    const bool given =
        vly_accel_options_value(device->options, "isa", isa, sizeof isa);
    plan->kernels = find_kernels(given ? isa : NULL);
    if (plan->kernels)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_UNSUPPORTED,
                            "%s: isa=%s: this processor or build has it not, "
                            "wanted scalar%s",
                            vly_support_plugin, isa,
                            find_kernels("avx512") ? ", avx2, avx512"
                            : find_kernels("avx2") ? ", avx2"
                                                   : "");
}

/* Waking a thread takes some microseconds: each thread needs half a million
 * products, some ten microseconds. */
static uint32_t threads_for(const vly_gemm_desc *desc, uint32_t n)
{
    const double products = (double)desc->m * (double)desc->n *
                            (double)desc->k * (double)desc->batch;
    const double useful = 1.0 + products * 0x1p-19;
    n = n < 1 ? 1 : n > 1024 ? 1024 : n;
    return (double)n < useful ? n : (uint32_t)useful;
}

static vly_status fill(vly_gemm_plan *plan, const vly_device_spec *device,
                       const vly_gemm_desc *desc, vly_error *error)
{
    static const char *const own_options[] = {"isa", NULL};
    vly_accel_options options;
    candidate all[VLY_GEMM_N_WAYS];
    vly_status status = VLY_OK;
    VLY_TRY(vly_gemm_check_desc(desc, &plan->problem, error));
    VLY_TRY(
        vly_accel_options_parse(device->options, own_options, &options, error));
    VLY_TRY(set_kernels(device, plan, error));
    plan->n_threads = threads_for(&plan->problem.desc, device->n_threads);
    VLY_TRY(choose(plan, &options, all, error));
    VLY_TRY(list_ways(plan, all, error));
    explain(plan, all);
out:
    return status;
}

vly_status vly_gemm_cpu_plan_create(const vly_device_spec *device,
                                    const vly_gemm_desc *desc,
                                    vly_gemm_plan **plan, vly_error *error)
{
    vly_gemm_plan *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(check_device(device, error));
    VLY_TRY(vly_accel_alloc(1, sizeof *made, &made, error));
    status = fill(made, device, desc, error);
    if (status != VLY_OK) {
        vly_gemm_cpu_plan_destroy(made);
        return status;
    }
    *plan = made;
out:
    return status;
}

void vly_gemm_cpu_plan_destroy(vly_gemm_plan *plan)
{
    if (!plan)
        return;
    vly_accel_candidates_deinit(&plan->looked_at);
    vly_accel_free(plan);
}

vly_status vly_gemm_cpu_plan_info(const vly_gemm_plan *plan,
                                  vly_plan_info *info, vly_error *error)
{
    if (vly_accel_plan_info(info, error) != VLY_OK)
        return VLY_E_INVALID;
    info->n_candidates = plan->n_candidates;
    info->workspace_bytes = plan->workspace_bytes;
    info->measured_s = plan->measured_s;
    memcpy(info->choice, plan->choice, sizeof info->choice);
    return VLY_OK;
}

vly_status vly_gemm_cpu_plan_candidate(const vly_gemm_plan *plan,
                                       uint32_t index, vly_plan_candidate *told,
                                       uint32_t *n, vly_error *error)
{
    return vly_accel_candidates_get(&plan->looked_at, index, told, n, error);
}
