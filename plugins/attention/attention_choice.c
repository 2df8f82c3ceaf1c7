/* SPDX-License-Identifier: Apache-2.0
 * volley.attention/1 on CUDA: plans. The ways that take a description are held
 * against the reference and measured; the fastest is kept, and its name on
 * disk.
 */
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "accel_cuda.h"
#include "attention_check.h"
#include "attention_cuda.h"
#include "kernels/accelerators/attention_index.h"
#include "tune_choice.h"

struct vly_attention_plan {
    vly_attention_desc desc;
    vly_attention_device device;
    vly_cuda_ready ready;
    double measured_s;
    uint32_t n_candidates;
    uint32_t cached;
    vly_accel_candidates looked_at;
};

/* A choice as stored on disk. */
typedef struct stored_choice {
    uint32_t version;
    uint32_t config;
    double seconds;
    uint32_t n_candidates; /* number of ways compared, with itself */
    uint32_t reserved;
    char name[32];
} stored_choice;

enum { STORED_VERSION = 3, MOST_TOLD = VLY_CUDA_MOST_WAYS + 12 };

/* Ready ways, while one is chosen. */
typedef struct candidates {
    vly_cuda_ready ready[VLY_CUDA_MOST_WAYS];
    vly_plan_candidate *told[VLY_CUDA_MOST_WAYS]; /* of each */
    uint32_t n;
    char reasons[700];          /* of those that cannot */
    vly_accel_candidates *list; /* the plan's */
} candidates;

/* ---- devices ----------------------------------------------------------- */

vly_status vly_attention_device_enter(uint32_t index,
                                      vly_attention_device *device,
                                      vly_error *error)
{
    struct cudaDeviceProp properties;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(index, error));
    VLY_TRY(vly_accel_cuda_check(
        (int)cudaGetDeviceProperties(&properties, (int)index),
        "cudaGetDeviceProperties", error));
    memset(device, 0, sizeof *device);
    device->index = index;
    device->capability = (uint32_t)(properties.major * 10 + properties.minor);
    device->n_sms = (uint32_t)properties.multiProcessorCount;
    snprintf(device->name, sizeof device->name, "%.127s", properties.name);
out:
    return status;
}

/* ---- candidates -------------------------------------------------------- */

static void note_reason(candidates *all, const vly_cuda_way *way,
                        const char *reason)
{
    const size_t used = strlen(all->reasons);
    vly_attention_tell_refused(all->list, way, reason);
    snprintf(all->reasons + used, sizeof all->reasons - used, "%s%.220s",
             used == 0 ? "" : "; ", reason);
}

static void release_all(candidates *all)
{
    while (all->n > 0)
        vly_cuda_ready_release(&all->ready[--all->n]);
}

/* config: of which there must be one, or -1: all, at most n_configs */
static void add_way(candidates *all, const vly_cuda_way *way, int64_t config_of,
                    uint32_t n_configs, const vly_attention_device *device,
                    const vly_attention_desc *desc)
{
    vly_error error = {.struct_size = sizeof error};
    if (way->supports(device, desc, &error) != VLY_OK) {
        note_reason(all, way, error.message);
        return;
    }
    uint32_t config = config_of < 0 ? 0 : (uint32_t)config_of;
    for (uint32_t i = 0; i < (config_of < 0 ? n_configs : 1); i++) {
        if (all->n == VLY_CUDA_MOST_WAYS)
            return;
        vly_cuda_ready *ready = &all->ready[all->n];
        memset(ready, 0, sizeof *ready);
        ready->way = way;
        ready->config = config;
        ready->engine = -1;
        if (way->prepare(device, desc, ready, &error) != VLY_OK) {
            if (i == 0)
                note_reason(all, way, error.message);
            return;
        }
        if (config_of >= 0 && ready->config != config) {
            note_reason(all, way, "there is no such configuration");
            vly_cuda_ready_release(ready);
            return;
        }
        config = ready->config + 1;
        if (ready->workspace_bytes > desc->workspace_most) {
            char text[160];
            snprintf(text, sizeof text,
                     "%s: needs %llu bytes of workspace, workspace_most is "
                     "%llu",
                     way->name, (unsigned long long)ready->workspace_bytes,
                     (unsigned long long)desc->workspace_most);
            note_reason(all, way, text);
            vly_cuda_ready_release(ready);
            continue;
        }
        all->told[all->n++] = vly_attention_tell_ready(all->list, ready);
    }
}

/* The reason why a way is skipped untried; NULL: it is tried. */
static const char *passed_over(const candidates *all,
                               const vly_accel_options *options,
                               const vly_cuda_way *way)
{
    if (options->choose[0] != '\0' && strcmp(options->choose, way->name) != 0)
        return "not looked at: choose names another";
    if (all->n > 0 && !options->tune)
        return "not looked at: tune=0 takes the first that can";
    /* the slow way is not compared: it serves the remaining cases */
    return all->n > 0 && way->slow ? "not looked at: it is slow, and another "
                                     "way can"
                                   : NULL;
}

/* Without tuning the first usable way is taken. */
static vly_status
find_candidates(candidates *all, const vly_accel_options *options,
                int64_t config, const vly_attention_device *device,
                const vly_attention_desc *desc, vly_error *error)
{
    const char *choose = options->choose;
    char names[200] = "";
    int known = choose[0] == '\0';
    for (uint32_t i = 0; i < vly_cuda_n_ways; i++) {
        const vly_cuda_way *way = vly_cuda_ways[i];
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s",
                 used == 0 ? "" : ", ", way->name);
        const char *why = passed_over(all, options, way);
        known |= strcmp(choose, way->name) == 0;
        if (why != NULL) {
            vly_attention_tell_refused(all->list, way, why);
            continue;
        }
        add_way(all, way, config, options->tune ? way->n_configs : 1, device,
                desc);
    }
    if (!known)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: choose=%s, there are %s",
                                vly_support_plugin, choose, names);
    if (all->n == 0)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: no way to run "
                                "this: %s",
                                vly_support_plugin, all->reasons);
    return VLY_OK;
}

/* ---- the cache --------------------------------------------------------- */

static void open_cache(vly_tune_cache *cache, const vly_accel_options *options,
                       const vly_attention_device *device)
{
    const vly_cudnn *cudnn = NULL;
    const char *where = NULL;
    char name[200];
    if (options->cache == VLY_ACCEL_CACHE_OFF)
        where = "off";
    else if (options->cache == VLY_ACCEL_CACHE_FOLDER)
        where = options->cache_folder;
    uint32_t version = 0;
    if (vly_cudnn_open(&cudnn, NULL) == VLY_OK)
        version = cudnn->version;
    snprintf(name, sizeof name, "attention-%.100s-%u.%u-cudnn %u", device->name,
             device->capability / 10, device->capability % 10, version);
    vly_tune_init(cache, vly_support_host, where, name);
}

/* Prepares only the stored choice: plans of cuDNN take most of a second. 0: no
 * stored choice, or it cannot be used any more. */
static bool take_stored(vly_attention_plan *plan, const vly_tune_cache *cache,
                        const char *key)
{
    stored_choice stored;
    vly_cuda_ready ready = {.engine = -1};
    vly_error error = {.struct_size = sizeof error};
    if (!vly_tune_get_choice(cache, key, &stored, sizeof stored) ||
        stored.version != STORED_VERSION)
        return false;
    stored.name[sizeof stored.name - 1] = '\0';
    for (uint32_t i = 0; i < vly_cuda_n_ways && !ready.way; i++)
        if (strcmp(vly_cuda_ways[i]->name, stored.name) == 0)
            ready.way = vly_cuda_ways[i];
    if (!ready.way ||
        ready.way->supports(&plan->device, &plan->desc, &error) != VLY_OK)
        return false;
    ready.config = stored.config;
    if (ready.way->prepare(&plan->device, &plan->desc, &ready, &error) !=
        VLY_OK)
        return false;
    if (ready.config != stored.config ||
        ready.workspace_bytes > plan->desc.workspace_most) {
        vly_cuda_ready_release(&ready);
        return false;
    }
    plan->ready = ready;
    plan->measured_s = stored.seconds;
    plan->n_candidates = stored.n_candidates;
    plan->cached = 1;
    vly_plan_candidate *told =
        vly_attention_tell_ready(&plan->looked_at, &plan->ready);
    told->state = VLY_CANDIDATE_CHOSEN;
    told->measured_s = stored.seconds;
    return true;
}

static void write_choice(const vly_tune_cache *cache, const char *key,
                         const vly_cuda_ready *ready, double seconds,
                         uint32_t n_candidates)
{
    stored_choice stored = {.version = STORED_VERSION,
                            .config = ready->config,
                            .seconds = seconds,
                            .n_candidates = n_candidates};
    snprintf(stored.name, sizeof stored.name, "%s", ready->way->name);
    (void)vly_tune_put_choice(cache, key, &stored, sizeof stored);
}

/* ---- the choice -------------------------------------------------------- */

/* Adds it to the log and to the list of the plan. */
static void tell_times(const candidates *all,
                       const vly_cuda_ready *const *right, uint32_t n,
                       const double *seconds)
{
    for (uint32_t i = 0; i < n; i++) {
        char text[64] = "not measured";
        all->told[right[i] - all->ready]->measured_s = seconds[i];
        if (seconds[i] > 0.0)
            snprintf(text, sizeof text, "%.3f us", seconds[i] * 1e6);
        vly_attention_log_way(right[i], VLY_LOG_DEBUG, text);
    }
}

/* Index of the fastest correct way. */
static vly_status try_all(const vly_attention_device *device,
                          const vly_attention_desc *desc, const candidates *all,
                          uint32_t *best, double *seconds, vly_error *error)
{
    const vly_cuda_ready *right[VLY_CUDA_MOST_WAYS];
    double times[VLY_CUDA_MOST_WAYS] = {0.0};
    uint32_t n = 0;
    uint32_t found = 0; /* the first if none could be measured */
    vly_error why = {.struct_size = sizeof why};
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < all->n; i++) {
        const vly_cuda_ready *ready = &all->ready[i];
        status = vly_attention_check_way(device, desc, ready, &why);
        if (status != VLY_OK)
            vly_attention_tell_wrong(all->told[i], ready, status, why.message);
        if (status == VLY_OK || status == VLY_E_NOMEM)
            right[n++] = ready; /* no memory to check it: it may be correct */
        else if (status != VLY_E_UNSUPPORTED)
            return vly_support_fail(error, status, "%s", why.message);
    }
    if (n == 0)
        return vly_support_fail(
            error, VLY_E_DEVICE,
            "%s: no way gives the results of the reference: "
            "%s",
            vly_support_plugin, why.message);
    status =
        vly_attention_time_ways(device, desc, right, n, times, &found, &why);
    if (status == VLY_E_NOMEM)
        vly_attention_log_way(right[0], VLY_LOG_INFO, why.message);
    else if (status != VLY_OK)
        return vly_support_fail(error, status, "%s", why.message);
    tell_times(all, right, n, times);
    *best = (uint32_t)(right[found] - all->ready);
    *seconds = times[found];
    return VLY_OK;
}

/* Chooses the fastest usable way; a measured choice is stored. */
static vly_status choose(vly_attention_plan *plan,
                         const vly_accel_options *options, int64_t config,
                         const vly_tune_cache *cache, const char *key,
                         candidates *all, vly_error *error)
{
    uint32_t best = 0;
    vly_status status = VLY_OK;
    const int forced = options->choose[0] != '\0';
    const vly_attention_desc *desc = &plan->desc;
    const int empty = desc->batch == 0 || desc->seq_q == 0 || desc->seq_kv == 0;
    plan->n_candidates = all->n;
    if (options->tune && !empty && config >= 0) {
        status =
            vly_attention_check_way(&plan->device, desc, &all->ready[0], error);
        if (status == VLY_E_UNSUPPORTED)
            status = VLY_E_DEVICE; /* it runs, but its results are wrong */
    } else if (options->tune && !empty && !(forced && all->n == 1)) {
        status =
            try_all(&plan->device, desc, all, &best, &plan->measured_s, error);
        if (status == VLY_OK && plan->measured_s > 0.0)
            write_choice(cache, key, &all->ready[best], plan->measured_s,
                         all->n);
    }
    if (status == VLY_OK) {
        all->told[best]->state = VLY_CANDIDATE_CHOSEN;
        plan->ready = all->ready[best];
        all->ready[best] = all->ready[--all->n];
    }
    return status;
}

static vly_status find_way(vly_attention_plan *plan,
                           const vly_accel_options *options, int64_t config,
                           vly_error *error)
{
    vly_tune_cache cache;
    char key[VLY_TUNE_KEY_BYTES];
    candidates *all = NULL;
    open_cache(&cache, options, &plan->device);
    vly_attention_write_key(&plan->desc, key, sizeof key);
    if (options->choose[0] != '\0') /* the fastest of one way's */
        snprintf(key + strlen(key), sizeof key - strlen(key), " %s",
                 options->choose);
    plan->device.cache = &cache;
    vly_status status =
        vly_accel_candidates_init(&plan->looked_at, MOST_TOLD, error);
    if (status == VLY_OK &&
        (!options->tune || config >= 0 || !take_stored(plan, &cache, key))) {
        status = vly_accel_alloc(1, sizeof *all, &all, error);
        if (status == VLY_OK)
            all->list = &plan->looked_at;
        if (status == VLY_OK)
            status = find_candidates(all, options, config, &plan->device,
                                     &plan->desc, error);
        if (status == VLY_OK)
            status = choose(plan, options, config, &cache, key, all, error);
    }
    if (all != NULL)
        release_all(all);
    vly_accel_free(all);
    plan->device.cache = NULL;
    return status;
}

/* ---- the interface ----------------------------------------------------- */

static vly_status supports(const vly_attention_desc *desc, vly_error *error)
{
    const vly_status status =
        vly_attention_check_desc(desc, vly_support_plugin, error);
    if (status == VLY_OK && (desc->seq_q > VLY_ATTENTION_MOST_POSITIONS ||
                             desc->seq_kv > VLY_ATTENTION_MOST_POSITIONS))
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: seq_q is %u and seq_kv %u, wanted at most "
                                "%d, as kernels count whole tiles in int32",
                                vly_support_plugin, desc->seq_q, desc->seq_kv,
                                VLY_ATTENTION_MOST_POSITIONS);
    return status;
}

static void plan_destroy(vly_attention_plan *plan)
{
    if (!plan)
        return;
    vly_cuda_ready_release(&plan->ready);
    vly_accel_candidates_deinit(&plan->looked_at);
    vly_accel_free(plan);
}

/* config=N of the options, -1: none; only with choose=NAME */
static vly_status read_config(const char *text,
                              const vly_accel_options *options, int64_t *config,
                              vly_error *error)
{
    char value[16] = "";
    *config = -1;
    if (!vly_accel_options_value(text, "config", value, sizeof value))
        return VLY_OK;
    const size_t n = strlen(value);
    if (n == 0 || n > 4 || strspn(value, "0123456789") != n ||
        options->choose[0] == '\0')
        return vly_support_fail(
            error, VLY_E_INVALID,
            "%s: option config is \"%s\", wanted 0 to 9999, "
            "and choose=NAME",
            vly_support_plugin, value);
    *config = 0;
    for (size_t i = 0; i < n; i++)
        *config = *config * 10 + (value[i] - '0');
    return VLY_OK;
}

static vly_status fill_plan(const vly_device_spec *spec,
                            vly_attention_plan *plan, vly_error *error)
{
    static const char *const extra[] = {"config", NULL};
    vly_accel_options options;
    int64_t config = -1;
    if (vly_accel_check_device(spec, error) != VLY_OK)
        return VLY_E_INVALID;
    vly_status status =
        vly_accel_options_parse(spec->options, extra, &options, error);
    if (status == VLY_OK)
        status = read_config(spec->options, &options, &config, error);
    if (status == VLY_OK)
        status = vly_attention_device_enter(spec->index, &plan->device, error);
    return status == VLY_OK ? find_way(plan, &options, config, error) : status;
}

static vly_status plan_create(const vly_device_spec *device,
                              const vly_attention_desc *desc,
                              vly_attention_plan **plan, vly_error *error)
{
    vly_attention_plan *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(supports(desc, error));
    VLY_TRY(vly_accel_alloc(1, sizeof *made, &made, error));
    made->desc = *desc;
    made->desc.struct_size = (uint32_t)sizeof *desc;
    VLY_TRY(fill_plan(device, made, error));
    *plan = made;
out:
    if (status != VLY_OK)
        plan_destroy(made);
    return status;
}

static vly_status plan_info(const vly_attention_plan *plan, vly_plan_info *info,
                            vly_error *error)
{
    const vly_cuda_ready *ready = &plan->ready;
    if (vly_accel_plan_info(info, error) != VLY_OK)
        return VLY_E_INVALID;
    info->n_candidates = plan->n_candidates;
    info->workspace_bytes = ready->workspace_bytes;
    info->measured_s = plan->measured_s;
    info->cached = plan->cached;
    vly_attention_name_way(ready, info->choice, sizeof info->choice);
    return VLY_OK;
}

static vly_status plan_candidate(const vly_attention_plan *plan, uint32_t index,
                                 vly_plan_candidate *candidate, uint32_t *n,
                                 vly_error *error)
{
    return vly_accel_candidates_get(&plan->looked_at, index, candidate, n,
                                    error);
}

static vly_status run_plan(vly_attention_plan *plan,
                           const vly_attention_run *run, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_attention_check_run(&plan->desc, run, vly_support_plugin, error));
    VLY_TRY(vly_attention_check_workspace(run->workspace, run->workspace_bytes,
                                          plan->ready.workspace_bytes,
                                          vly_support_plugin, error));
    VLY_TRY(vly_accel_cuda_enter(plan->device.index, error));
    status = plan->ready.way->run(&plan->device, &plan->desc, &plan->ready, run,
                                  error);
out:
    return status;
}

const vly_attention vly_attention_cuda_table = {
    .struct_size = sizeof(vly_attention),
    .supports = supports,
    .plan_create = plan_create,
    .plan_destroy = plan_destroy,
    .plan_info = plan_info,
    .plan_candidate = plan_candidate,
    .run = run_plan,
};
