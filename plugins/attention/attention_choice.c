/* SPDX-License-Identifier: Apache-2.0
 * volley.attention/1 on CUDA: how a plan runs. The ways that take a
 * description are held against the reference and measured; the fastest is kept,
 * and its name on disk.
 */
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "accel_cuda.h"
#include "attention_plan.h"
#include "tune_choice.h"

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
                               const vly_attention_options *asked,
                               const vly_cuda_way *way)
{
    const vly_accel_options *options = &asked->common;
    if (asked->n_parts > 0 && !way->by_head)
        return "not looked at: in a span the bits of a head may not depend on "
               "other heads";
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
static vly_status find_candidates(candidates *all,
                                  const vly_attention_options *asked,
                                  const vly_attention_device *device,
                                  const vly_attention_desc *desc,
                                  vly_error *error)
{
    const vly_accel_options *options = &asked->common;
    const char *choose = options->choose;
    char names[200] = "";
    bool known = choose[0] == '\0';
    for (uint32_t i = 0; i < vly_cuda_n_ways; i++) {
        const vly_cuda_way *way = vly_cuda_ways[i];
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s",
                 used == 0 ? "" : ", ", way->name);
        const char *why = passed_over(all, asked, way);
        known |= strcmp(choose, way->name) == 0;
        if (why && strcmp(choose, way->name) == 0) {
            note_reason(all, way, why); /* nothing else is left */
            continue;
        }
        if (why) {
            vly_attention_tell_refused(all->list, way, why);
            continue;
        }
        add_way(all, way, asked->config, options->tune ? way->n_configs : 1,
                device, desc);
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
    const bool forced = options->choose[0] != '\0';
    const vly_attention_desc *desc = &plan->desc;
    const bool empty =
        desc->batch == 0 || desc->seq_q == 0 || desc->seq_kv == 0;
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

vly_status vly_attention_find_way(vly_attention_plan *plan,
                                  const vly_attention_options *asked,
                                  vly_error *error)
{
    const vly_accel_options *options = &asked->common;
    const int64_t config = asked->config;
    vly_tune_cache cache;
    char key[VLY_TUNE_KEY_BYTES];
    candidates *all = NULL;
    open_cache(&cache, options, &plan->device);
    vly_attention_write_key(&plan->desc, key, sizeof key);
    if (options->choose[0] != '\0') /* the fastest of one way's */
        snprintf(key + strlen(key), sizeof key - strlen(key), " %s",
                 options->choose);
    if (asked->n_parts > 0) /* the fastest of fewer ways */
        snprintf(key + strlen(key), sizeof key - strlen(key), " by head");
    plan->device.cache = &cache;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_candidates_init(&plan->looked_at, MOST_TOLD, error));
    if (!options->tune || config >= 0 || !take_stored(plan, &cache, key)) {
        VLY_TRY(vly_accel_alloc(1, sizeof *all, &all, error));
        all->list = &plan->looked_at;
        VLY_TRY(find_candidates(all, asked, &plan->device, &plan->desc, error));
        VLY_TRY(choose(plan, options, config, &cache, key, all, error));
    }
out:
    if (all)
        release_all(all);
    vly_accel_free(all);
    plan->device.cache = NULL;
    return status;
}
