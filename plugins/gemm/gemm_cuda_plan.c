/* SPDX-License-Identifier: Apache-2.0
 * Plans: their candidates, the choice, and the description of a plan.
 *
 * Without options the choice in the cache is taken, if the library still runs
 * it; otherwise the fastest of all candidates, which is then stored in the
 * cache.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "gemm_cuda.h"
#include "tune_choice.h"

/* Number of candidates with sums in the workspace if D could also be written
 * directly. */
enum { MOST_STAGED = 4 };

/* Number of unusable ways that a plan lists. */
enum { MOST_REFUSED = 12 };

/* A choice as stored on disk. */
typedef struct stored_choice {
    vly_gemm_candidate candidate;
    uint32_t n_candidates; /* number of those compared, with itself */
    uint32_t reserved;
} stored_choice;

/* State while a plan is made. */
typedef struct making {
    vly_gemm_plan *plan;
    vly_accel_options options;
    char library[256];    /* option library=, or "" */
    char no_library[300]; /* reason why it is missing, or "" */
    uint32_t n_units;     /* multiprocessors */
    uint64_t shared_most; /* bytes of shared memory a block may have */
    vly_gemm_lt lts[2];   /* library's descriptors for staged 0 and 1 */
    uint32_t lt_is_made[2];
    vly_tune_cache cache;
    char key[600];
    vly_gemm_candidate candidates[VLY_GEMM_MOST_CANDIDATES];
    vly_plan_candidate *told[VLY_GEMM_MOST_CANDIDATES];
    uint32_t n;
} making;

static void say(int32_t level, const char *text)
{
    vly_support_host->log(vly_support_host->context, level, text);
}

/* ---- candidates ------------------------------------------------------- */

static void add(making *m, const vly_gemm_candidate *c)
{
    const vly_gemm_problem *p = &m->plan->problem;
    if (vly_gemm_cuda_workspace(p, c) > p->desc.workspace_most)
        vly_gemm_cuda_tell_room(m->plan, &m->lts[c->staged], c);
    else if (m->n < VLY_GEMM_MOST_CANDIDATES)
        m->candidates[m->n++] = *c;
}

/* Makes the descriptors of the library once. false: it refuses them, which is
 * logged. */
static bool make_lt(making *m, uint32_t staged)
{
    vly_gemm_lt *lt = &m->lts[staged];
    vly_error why = {.struct_size = sizeof why};
    if (m->no_library[0] != '\0' || !vly_gemm_lt_can(&m->plan->problem, staged))
        return false;
    if (m->lt_is_made[staged])
        return true;
    const vly_gemm_lt empty = {.library = lt->library, .handle = lt->handle};
    if (vly_gemm_lt_init(lt, &m->plan->problem, staged, &why) == VLY_OK) {
        m->lt_is_made[staged] = 1;
        return true;
    }
    vly_gemm_lt_deinit(lt);
    *lt = empty;
    say(VLY_LOG_INFO, why.message);
    vly_gemm_cuda_tell_refused(
        m->plan, staged ? "cublaslt, staged" : "cublaslt", why.message);
    return false;
}

/* Candidates of the library, which writes D if possible; if that may round
 * twice, some candidates with sums of 32 bits are added. */
static vly_status add_library(making *m, vly_error *error)
{
    vly_status status = VLY_OK;
    const vly_gemm_problem *p = &m->plan->problem;
    vly_gemm_candidate found[VLY_GEMM_MOST_HEURISTICS];
    for (uint32_t staged = 0; staged < 2; staged++) {
        uint32_t n = 0;
        const vly_gemm_candidate ours = {.way = VLY_GEMM_WAY_LIBRARY,
                                         .staged = staged};
        const uint64_t bytes = vly_gemm_cuda_workspace(p, &ours);
        if (bytes > p->desc.workspace_most || !make_lt(m, staged))
            continue;
        VLY_TRY(vly_gemm_lt_heuristics(&m->lts[staged], p,
                                       p->desc.workspace_most - bytes, found,
                                       &n, error));
        const bool is_second = staged == 1 && m->n > 0;
        for (uint32_t i = 0; i < n && (!is_second || i < MOST_STAGED); i++)
            add(m, &found[i]);
        if (n > 0 && !vly_gemm_cuda_must_verify(p))
            break;
    }
    if (m->n == 0)
        vly_gemm_cuda_tell_refused(m->plan, "cublaslt",
                                   m->no_library[0] != '\0'
                                       ? m->no_library
                                       : "it offers nothing for this product");
out:
    return status;
}

static bool gemv_fits(const making *m, const vly_cuda_gemm *g, uint32_t shape)
{
    return vly_cuda_gemv_fits(g, shape, m->plan->problem.desc.align) &&
           (shape != VLY_CUDA_GEMV_LINES ||
            m->shared_most >= VLY_CUDA_GEMV_LINES_SHARED);
}

/* The kernels for few rows: each shape, with the number of parts of k that
 * fills the device, and without parts. Not used if several groups of rows would
 * read B repeatedly. */
static void add_gemv(making *m)
{
    const vly_gemm_problem *p = &m->plan->problem;
    const vly_gemm_run none = {.struct_size = sizeof none};
    vly_cuda_gemm g;
    vly_gemm_cuda_describe(p, &none, &g);
    const uint64_t most_rows =
        p->kind == VLY_GEMM_WEIGHT_ONLY     ? UINT64_MAX /* or int4 had none */
        : p->desc.type_a == VLY_ELEMENT_F32 ? VLY_CUDA_GEMV_ROWS
                                            : VLY_CUDA_GEMV_MOST_ROWS;
    if (p->desc.m > most_rows) {
        char why[80];
        snprintf(why, sizeof why, "m is %llu, wanted at most %llu",
                 (unsigned long long)p->desc.m, (unsigned long long)most_rows);
        vly_gemm_cuda_tell_refused(m->plan, "gemv", why);
        return;
    }
    for (uint32_t shape = 0; shape < VLY_CUDA_GEMV_SHAPES; shape++) {
        if (!gemv_fits(m, &g, shape)) {
            vly_gemm_cuda_tell_gemv(m->plan, shape);
            continue;
        }
        const uint64_t blocks = vly_cuda_gemv_blocks(&g, shape) * p->desc.batch;
        const uint64_t wanted = 4 * (uint64_t)m->n_units;
        uint64_t parts = blocks < wanted ? wanted / blocks : 1;
        /* a part is at least 4 KB of every row */
        const uint64_t most = p->bytes_b / p->desc.batch / p->desc.n / 4096;
        parts = parts > most ? most : parts;
        parts = parts > 64 ? 64 : parts;
        vly_gemm_candidate c = {
            .way = VLY_GEMM_WAY_GEMV, .shape = shape, .n_parts = 1};
        add(m, &c);
        c.n_parts = (uint32_t)parts;
        if (parts > 1 && shape != VLY_CUDA_GEMV_LINES)
            add(m, &c);
    }
}

static vly_status find_candidates(making *m, vly_error *error)
{
    const vly_gemm_candidate own = {.way = VLY_GEMM_WAY_OWN};
    const char *choose = m->options.choose;
    vly_status status = VLY_OK;
    VLY_TRY(add_library(m, error));
    add_gemv(m);
    /* the own kernel is slower than every other candidate */
    if (m->n == 0 || strcmp(choose, "own") == 0)
        add(m, &own);
    else
        vly_gemm_cuda_tell_refused(m->plan, "own",
                                   "not looked at: it is slow, and another way "
                                   "can");
    if (choose[0] == '\0')
        return VLY_OK;
    char names[200] = "";
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        const vly_gemm_candidate *c = &m->candidates[i];
        const char *name = c->way == VLY_GEMM_WAY_LIBRARY ? "default, cublaslt"
                           : c->way == VLY_GEMM_WAY_GEMV
                               ? vly_cuda_gemv_shapes[c->shape].name
                               : "own";
        if (!strstr(names, name) && c->way != VLY_GEMM_WAY_OWN)
            snprintf(names + strlen(names), sizeof names - strlen(names),
                     "%s, ", name);
        if (vly_gemm_cuda_is_chosen(c, choose))
            m->candidates[kept++] = *c;
    }
    m->n = kept;
    if (kept > 0)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_UNSUPPORTED,
                            "%s: choose=%s, but for this product there are: "
                            "%sown%s%s",
                            vly_support_plugin, choose, names,
                            m->no_library[0] != '\0' ? "; " : "",
                            m->no_library);
out:
    return status;
}

/* ---- the cache -------------------------------------------------------- */

static vly_status open_cache(making *m, vly_error *error)
{
    const vly_gemm_desc *d = &m->plan->problem.desc;
    struct cudaDeviceProp properties;
    char name[400];
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_check(
        (int)cudaGetDeviceProperties(&properties, (int)m->plan->device),
        "cudaGetDeviceProperties", error));
    m->n_units = (uint32_t)properties.multiProcessorCount;
    m->shared_most = properties.sharedMemPerBlockOptin;
    snprintf(name, sizeof name, "gemm-%.200s-%d.%d-cublasLt-%zu",
             properties.name, properties.major, properties.minor,
             m->no_library[0] == '\0' ? m->lts[0].library->version() : 0);
    vly_tune_init(&m->cache, vly_support_host,
                  m->options.cache == VLY_ACCEL_CACHE_OFF ? "off"
                  : m->options.cache == VLY_ACCEL_CACHE_FOLDER
                      ? m->options.cache_folder
                      : NULL,
                  name);
    vly_gemm_cuda_write_key(d, m->options.choose, m->key, sizeof m->key);
out:
    return status;
}

/* Can an entry of the cache be run here? */
static bool is_usable(making *m, vly_gemm_candidate *c)
{
    const vly_gemm_problem *p = &m->plan->problem;
    const vly_gemm_run none = {.struct_size = sizeof none};
    vly_cuda_gemm g;
    vly_gemm_cuda_describe(p, &none, &g);
    if (c->staged > 1 || !(c->seconds > 0.0))
        return false;
    if (m->options.choose[0] != '\0' &&
        !vly_gemm_cuda_is_chosen(c, m->options.choose))
        return false;
    if (c->way == VLY_GEMM_WAY_GEMV &&
        (c->shape >= VLY_CUDA_GEMV_SHAPES || c->n_parts == 0 ||
         c->n_parts > (c->shape == VLY_CUDA_GEMV_LINES ? 1 : 64) ||
         !gemv_fits(m, &g, c->shape)))
        return false;
    if (c->way == VLY_GEMM_WAY_LIBRARY &&
        (!make_lt(m, c->staged) || !vly_gemm_lt_check(&m->lts[c->staged], c)))
        return false;
    return c->way >= VLY_GEMM_WAY_OWN && c->way <= VLY_GEMM_WAY_LIBRARY &&
           vly_gemm_cuda_workspace(p, c) <= p->desc.workspace_most;
}

/* ---- the choice ------------------------------------------------------- */

/* The choice without a comparison. */
static void take_alone(making *m, const vly_gemm_candidate *c, const char *note)
{
    vly_plan_candidate *told =
        vly_gemm_cuda_tell_ready(m->plan, &m->lts[c->staged], c);
    told->state = VLY_CANDIDATE_CHOSEN;
    snprintf(told->note, sizeof told->note, "%s", note);
    m->plan->chosen = *c;
}

/* Alignment that is enough for every algorithm of the library. */
enum { WELL_ALIGNED = 16 };

static bool take_cached(making *m)
{
    const vly_gemm_problem *p = &m->plan->problem;
    stored_choice stored;
    vly_gemm_candidate *c = &stored.candidate;
    vly_error why = {.struct_size = sizeof why};
    if (!vly_tune_get_choice(&m->cache, m->key, &stored, sizeof stored) ||
        !is_usable(m, c))
        return false;
    /* it ran when it was stored, and cublasLtMatmulAlgoCheck checks everything
     * except pointers */
    if (c->way == VLY_GEMM_WAY_LIBRARY && p->desc.align < WELL_ALIGNED &&
        vly_gemm_cuda_runs(p, m->plan->device, m->lts, c, &why) != VLY_OK)
        return false;
    m->plan->info.cached = 1;
    m->plan->info.n_candidates = stored.n_candidates;
    take_alone(m, c, "");
    return true;
}

static void keep(const making *m)
{
    const stored_choice stored = {.candidate = m->plan->chosen,
                                  .n_candidates = m->n};
    (void)vly_tune_put_choice(&m->cache, m->key, &stored, sizeof stored);
}

/* Adds times and errors of all candidates to the plan's list, and makes the
 * choice. */
static void take_best(making *m, uint32_t best)
{
    for (uint32_t i = 0; i < m->n; i++)
        vly_gemm_cuda_tell_tuned(m->told[i], &m->candidates[i]);
    m->told[best]->state = VLY_CANDIDATE_CHOSEN;
    m->plan->chosen = m->candidates[best];
}

/* No candidate can be used; the list has the reason of each. */
static void take_own(making *m, const char *note)
{
    const vly_gemm_candidate own = {.way = VLY_GEMM_WAY_OWN};
    for (uint32_t i = 0; i < m->n; i++)
        vly_gemm_cuda_tell_tuned(m->told[i], &m->candidates[i]);
    take_alone(m, &own, note);
}

/* The first candidate that runs, if results are not compared: an offered
 * algorithm may still refuse pointers. */
static vly_status take_first(making *m, vly_error *error)
{
    vly_gemm_plan *plan = m->plan;
    for (uint32_t i = 0; i < m->n; i++) {
        vly_gemm_candidate *c = &m->candidates[i];
        vly_error why = {.struct_size = sizeof why};
        vly_status status =
            c->way == VLY_GEMM_WAY_LIBRARY
                ? vly_gemm_cuda_runs(&plan->problem, plan->device, m->lts, c,
                                     &why)
                : VLY_OK;
        if (status == VLY_OK) {
            take_best(m, i);
            return VLY_OK;
        }
        if (status != VLY_E_UNSUPPORTED)
            return vly_support_fail(error, status, "%s", why.message);
        c->way = VLY_GEMM_WAY_NONE;
        c->seconds = INFINITY;
    }
    if (m->options.choose[0] != '\0')
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "%s: choose=%s: %u candidates, and none runs on "
            "pointers of this alignment; own does",
            vly_support_plugin, m->options.choose, m->n);
    take_own(m, "nothing else runs");
    return VLY_OK;
}

static vly_status tune(making *m, bool until_right, vly_error *error)
{
    vly_gemm_plan *plan = m->plan;
    uint32_t best = 0;
    vly_status status =
        vly_gemm_cuda_tune(&plan->problem, plan->device, m->lts, m->candidates,
                           m->n, until_right, &best, error);
    if (status == VLY_OK)
        take_best(m, best);
    /* no candidate of the library was correct: logged; an error if one was
     * requested by name */
    if (status == VLY_E_UNSUPPORTED && m->options.choose[0] == '\0') {
        take_own(m, "nothing else was right, or could be compared");
        return VLY_OK;
    }
    return status;
}

static vly_status choose(making *m, vly_error *error)
{
    vly_gemm_plan *plan = m->plan;
    const vly_gemm_candidate *c = m->candidates;
    const bool first =
        !m->options.tune || strcmp(m->options.choose, "default") == 0;
    if (!first && take_cached(m))
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(find_candidates(m, error));
    for (uint32_t i = 0; i < m->n; i++)
        m->told[i] =
            vly_gemm_cuda_tell_ready(plan, &m->lts[c[i].staged], &c[i]);
    plan->info.n_candidates = first ? 1 : m->n;
    const bool until_right = first && c->way == VLY_GEMM_WAY_LIBRARY &&
                             vly_gemm_cuda_must_verify(&plan->problem);
    if (m->n == 1 && c->way == VLY_GEMM_WAY_OWN) {
        take_best(m, 0);
        return VLY_OK;
    }
    if (first && !until_right)
        return take_first(m, error);
    VLY_TRY(tune(m, until_right, error));
    if (!first && plan->chosen.seconds > 0.0)
        keep(m);
out:
    return status;
}

/* Opens the library, or stores the reason of the failure. */
static void open_library(making *m)
{
    const vly_cublaslt *library = NULL;
    cublasLtHandle_t handle = NULL;
    vly_error why = {.struct_size = sizeof why};
    if (vly_gemm_cuda_library(m->library[0] != '\0' ? m->library : NULL,
                              m->plan->device, &library, &handle,
                              &why) != VLY_OK) {
        snprintf(m->no_library, sizeof m->no_library, "%.299s", why.message);
        say(VLY_LOG_INFO, why.message);
        return;
    }
    for (int i = 0; i < 2; i++) {
        m->lts[i].library = library;
        m->lts[i].handle = handle;
    }
}

/* Keeps the descriptors of the choice, frees the others. */
static void settle(making *m)
{
    vly_gemm_plan *plan = m->plan;
    const bool library = plan->chosen.way == VLY_GEMM_WAY_LIBRARY;
    for (uint32_t i = 0; i < 2; i++) {
        if (library && plan->chosen.staged == i)
            plan->lt = m->lts[i];
        else if (m->lt_is_made[i])
            vly_gemm_lt_deinit(&m->lts[i]);
        m->lt_is_made[i] = 0;
    }
    char name[200];
    vly_gemm_cuda_name(&plan->lt, &plan->chosen, name);
    plan->info.workspace_bytes =
        vly_gemm_cuda_workspace(&plan->problem, &plan->chosen);
    plan->info.measured_s = plan->chosen.seconds;
    snprintf(plan->info.choice, sizeof plan->info.choice, "%.130s%s%.120s",
             name,
             m->no_library[0] != '\0' && !plan->problem.is_empty ? "; " : "",
             plan->problem.is_empty ? "" : m->no_library);
}

static vly_status make(making *m, vly_error *error)
{
    vly_gemm_plan *plan = m->plan;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(plan->device, error));
    if (plan->problem.is_empty) {
        settle(m);
        return VLY_OK;
    }
    open_library(m);
    status = vly_accel_candidates_init(
        &plan->looked_at, VLY_GEMM_MOST_CANDIDATES + MOST_REFUSED, error);
    if (status == VLY_OK)
        status = open_cache(m, error);
    if (status == VLY_OK)
        status = choose(m, error);
    if (status == VLY_OK)
        settle(m);
    for (uint32_t i = 0; i < 2; i++)
        if (m->lt_is_made[i])
            vly_gemm_lt_deinit(&m->lts[i]);
out:
    return status;
}

/* ---- the table -------------------------------------------------------- */

vly_status vly_gemm_cuda_plan_create(const vly_device_spec *device,
                                     const vly_gemm_desc *desc,
                                     vly_gemm_plan **plan, vly_error *error)
{
    static const char *const extra[] = {"library", NULL};
    making *m = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_check_device(device, error));
    VLY_TRY(vly_accel_alloc(1, sizeof *m, &m, error));
    status =
        vly_accel_options_parse(device->options, extra, &m->options, error);
    if (status == VLY_OK)
        (void)vly_accel_options_value(device->options, "library", m->library,
                                      sizeof m->library);
    if (status == VLY_OK)
        status = vly_accel_alloc(1, sizeof *m->plan, &m->plan, error);
    if (status == VLY_OK)
        status = vly_gemm_check_desc(desc, &m->plan->problem, error);
    if (status == VLY_OK) {
        m->plan->device = device->index;
        m->plan->info.n_candidates = 1;
        status = make(m, error);
    }
    if (status == VLY_OK)
        *plan = m->plan;
    else
        vly_gemm_cuda_plan_destroy(m->plan);
    vly_accel_free(m);
out:
    return status;
}
