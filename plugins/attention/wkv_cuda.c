/* SPDX-License-Identifier: Apache-2.0
 * volley.wkv/1 on CUDA: plans and runs.
 */
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "accel_common.h"
#include "accel_cuda.h"
#include "attention_check.h"
#include "tune_choice.h"
#include "wkv_check.h"
#include "wkv_choice.h"

/* In the order of preference; the first usable way is the reference for the
 * others. */
static const vly_wkv_way ways[] = {
    {"own_step", vly_wkv_step, 1, 16, 0, NULL, NULL},
    {"own_recurrent", vly_wkv_recurrent, 0, 4, 0, NULL, NULL},
    {"own_chunked", vly_wkv_chunked, 0, 4, 80, vly_wkv_chunked_range,
     vly_wkv_chunked_bytes},
};
enum { N_WAYS = sizeof ways / sizeof ways[0], STORED_VERSION = 3 };

struct vly_wkv_plan {
    vly_wkv_desc desc;
    const vly_wkv_way *way;
    uint32_t device;
    uint32_t early;
    uint32_t chunks;
    uint64_t workspace_bytes;
    uint32_t n_candidates;
    uint32_t cached;
    double measured_s;
    vly_accel_candidates looked_at;
};

/* A choice as stored on disk. */
typedef struct stored_choice {
    uint32_t version;
    uint32_t reserved;
    double seconds;
    char name[32];
} stored_choice;

typedef struct candidates {
    const vly_wkv_way *way[N_WAYS];
    double seconds[N_WAYS]; /* seconds of each; negative: its result was
                             * wrong */
    uint32_t n;
    uint32_t capability;
    char device[128];
} candidates;

static vly_status supports(const vly_wkv_desc *desc, vly_error *error)
{
    return vly_wkv_check_desc(desc, vly_support_plugin, error);
}

/* reason why it cannot be used, or NULL */
static const char *why_not(const vly_wkv_way *way, const vly_wkv_desc *desc,
                           uint32_t capability)
{
    const uint32_t align = desc->align == 0 ? 256 : desc->align;
    uint32_t chunks = 0;
    (void)vly_wkv_workspace(way, desc, &chunks);
    if (way->seq_most != 0 && desc->seq > way->seq_most)
        return "is for a single step";
    if (align < way->align)
        return "wants states aligned to 16 bytes";
    if (capability < way->capability)
        return "wants compute capability 8.0";
    if (way->range && chunks == 0)
        return "wants more workspace than workspace_most";
    return NULL;
}

static vly_status find_candidates(const vly_accel_options *options,
                                  const vly_wkv_desc *desc, candidates *all,
                                  vly_error *error)
{
    char reasons[300] = "";
    for (uint32_t i = 0; i < N_WAYS; i++) {
        const size_t used = strlen(reasons);
        const char *why = why_not(&ways[i], desc, all->capability);
        if (options->choose[0] != '\0' &&
            strcmp(options->choose, ways[i].name) != 0)
            why = "was not chosen";
        snprintf(reasons + used, sizeof reasons - used, "%s%s %s",
                 used == 0 ? "" : "; ", ways[i].name, !why ? "can" : why);
        if (!why)
            all->way[all->n++] = &ways[i];
    }
    if (all->n == 0)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: no way to run this: %s",
                                vly_support_plugin, reasons);
    return VLY_OK;
}

static vly_status look_at_device(uint32_t index, candidates *all,
                                 vly_error *error)
{
    struct cudaDeviceProp properties;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(index, error));
    VLY_TRY(vly_accel_cuda_check(
        (int)cudaGetDeviceProperties(&properties, (int)index),
        "cudaGetDeviceProperties", error));
    memset(all, 0, sizeof *all);
    all->capability = (uint32_t)(properties.major * 10 + properties.minor);
    snprintf(all->device, sizeof all->device, "%.127s", properties.name);
out:
    return status;
}

/* ---- the choice --------------------------------------------------------- */

static void open_cache(vly_tune_cache *cache, const vly_accel_options *options,
                       const candidates *all)
{
    const char *where = NULL;
    char name[160];
    if (options->cache == VLY_ACCEL_CACHE_OFF)
        where = "off";
    else if (options->cache == VLY_ACCEL_CACHE_FOLDER)
        where = options->cache_folder;
    snprintf(name, sizeof name, "wkv-%s-%u", all->device, all->capability);
    vly_tune_init(cache, vly_support_host, where, name);
}

static bool read_choice(const vly_tune_cache *cache, const char *key,
                        const candidates *all, vly_wkv_plan *plan)
{
    stored_choice stored;
    if (!vly_tune_get_choice(cache, key, &stored, sizeof stored) ||
        stored.version != STORED_VERSION)
        return false;
    stored.name[sizeof stored.name - 1] = '\0';
    for (uint32_t i = 0; i < all->n; i++)
        if (strcmp(all->way[i]->name, stored.name) == 0) {
            plan->way = all->way[i];
            plan->measured_s = stored.seconds;
            plan->cached = 1;
            return true;
        }
    return false;
}

static vly_status choose(const vly_accel_options *options, candidates *all,
                         vly_wkv_plan *plan, vly_error *error)
{
    const vly_wkv_desc *desc = &plan->desc;
    vly_tune_cache cache;
    char key[VLY_TUNE_KEY_BYTES];
    uint32_t best = 0;
    plan->n_candidates = all->n;
    plan->way = all->way[0];
    /* for a single token the first way is taken */
    if (!options->tune || all->n == 1 || desc->seq <= 1 || desc->batch == 0)
        return VLY_OK;
    open_cache(&cache, options, all);
    snprintf(key, sizeof key, "t%u b%u s%u h%u a%u w%llu", desc->type,
             desc->batch, desc->seq, desc->heads, desc->align,
             (unsigned long long)desc->workspace_most);
    if (read_choice(&cache, key, all, plan))
        return VLY_OK;
    vly_status status = vly_wkv_measure(plan->device, desc, all->way, all->n,
                                        &best, all->seconds, error);
    if (status == VLY_E_NOMEM)
        return VLY_OK; /* correct, but not measured */
    if (status != VLY_OK)
        return status;
    plan->way = all->way[best];
    plan->measured_s = all->seconds[best];
    stored_choice stored = {.version = STORED_VERSION,
                            .seconds = plan->measured_s};
    snprintf(stored.name, sizeof stored.name, "%s", plan->way->name);
    (void)vly_tune_put_choice(&cache, key, &stored, sizeof stored);
    return VLY_OK;
}

/* The result of each way. For a choice from the cache only its time is known.
 */
static vly_status list_ways(const vly_accel_options *options,
                            const candidates *all, vly_wkv_plan *plan,
                            vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_candidates_init(&plan->looked_at, N_WAYS, error));
    for (uint32_t i = 0; i < N_WAYS; i++) {
        const vly_wkv_way *way = &ways[i];
        const char *note = why_not(way, &plan->desc, all->capability);
        uint32_t state = VLY_CANDIDATE_REFUSED;
        uint32_t chunks = 0;
        double seconds = way == plan->way ? plan->measured_s : 0.0;
        if (!note && options->choose[0] != '\0' && way != plan->way)
            note = "not looked at: choose names another";
        for (uint32_t k = 0; k < all->n && !note; k++)
            if (all->way[k] == way && all->seconds[k] != 0.0)
                seconds = all->seconds[k];
        if (!note)
            state = seconds < 0.0      ? VLY_CANDIDATE_WRONG
                    : way == plan->way ? VLY_CANDIDATE_CHOSEN
                                       : VLY_CANDIDATE_READY;
        vly_plan_candidate *told = vly_accel_candidates_add(
            &plan->looked_at, state, way->name,
            note            ? note
            : seconds < 0.0 ? "its state is not that of the recurrence"
            : way != plan->way && plan->desc.seq == 1
                ? "not compared: a step is what the first is for"
                : "");
        told->measured_s = seconds > 0.0 ? seconds : 0.0;
        if (!note)
            told->workspace_bytes =
                vly_wkv_workspace(way, &plan->desc, &chunks);
    }
out:
    return status;
}

/* ---- the interface ------------------------------------------------------ */

static void plan_destroy(vly_wkv_plan *plan)
{
    if (!plan)
        return;
    vly_accel_candidates_deinit(&plan->looked_at);
    vly_accel_free(plan);
}

static vly_status plan_create(const vly_device_spec *device,
                              const vly_wkv_desc *desc, vly_wkv_plan **plan,
                              vly_error *error)
{
    vly_accel_options options;
    candidates all;
    vly_wkv_plan *made = NULL;
    if (vly_accel_check_device(device, error) != VLY_OK)
        return VLY_E_INVALID;
    vly_status status = VLY_OK;
    VLY_TRY(supports(desc, error));
    VLY_TRY(vly_accel_options_parse(device->options, NULL, &options, error));
    VLY_TRY(look_at_device(device->index, &all, error));
    VLY_TRY(find_candidates(&options, desc, &all, error));
    VLY_TRY(vly_accel_alloc(1, sizeof *made, &made, error));
    made->desc = *desc;
    made->desc.struct_size = (uint32_t)sizeof *desc;
    made->device = device->index;
    made->early = options.early && all.capability >= 90;
    status = choose(&options, &all, made, error);
    if (status == VLY_OK)
        status = list_ways(&options, &all, made, error);
    if (status != VLY_OK) {
        plan_destroy(made);
        return status;
    }
    made->workspace_bytes = vly_wkv_workspace(made->way, desc, &made->chunks);
    *plan = made;
out:
    return status;
}

static vly_status plan_info(const vly_wkv_plan *plan, vly_plan_info *info,
                            vly_error *error)
{
    if (vly_accel_plan_info(info, error) != VLY_OK)
        return VLY_E_INVALID;
    info->workspace_bytes = plan->workspace_bytes;
    info->n_candidates = plan->n_candidates;
    info->measured_s = plan->measured_s;
    info->cached = plan->cached;
    snprintf(info->choice, sizeof info->choice, "%s%s", plan->way->name,
             plan->early ? ", early" : "");
    return VLY_OK;
}

static vly_status plan_candidate(const vly_wkv_plan *plan, uint32_t index,
                                 vly_plan_candidate *candidate, uint32_t *n,
                                 vly_error *error)
{
    return vly_accel_candidates_get(&plan->looked_at, index, candidate, n,
                                    error);
}

static vly_status run_plan(vly_wkv_plan *plan, const vly_wkv_run *run,
                           vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_wkv_check_run(&plan->desc, run, vly_support_plugin, error));
    VLY_TRY(vly_attention_check_workspace(run->workspace, run->workspace_bytes,
                                          plan->workspace_bytes,
                                          vly_support_plugin, error));
    VLY_TRY(vly_accel_cuda_enter(plan->device, error));
    const vly_wkv_args args = {
        .r = run->r,
        .w = run->w,
        .k = run->k,
        .v = run->v,
        .a = run->a,
        .b = run->b,
        .y = run->y,
        .state_in = run->state_in,
        .state_out = run->state_out,
        .length = run->length,
        .batch = plan->desc.batch,
        .seq = plan->desc.seq,
        .heads = plan->desc.heads,
        .type = plan->desc.type,
        .early = plan->early,
        .chunks = plan->chunks,
        .workspace = run->workspace,
    };
    status = vly_accel_cuda_check(plan->way->launch(&args, run->stream),
                                  plan->way->name, error);
out:
    return status;
}

extern const vly_wkv vly_wkv_cuda_table;
const vly_wkv vly_wkv_cuda_table = {
    .struct_size = sizeof(vly_wkv),
    .supports = supports,
    .plan_create = plan_create,
    .plan_destroy = plan_destroy,
    .plan_info = plan_info,
    .plan_candidate = plan_candidate,
    .run = run_plan,
};
