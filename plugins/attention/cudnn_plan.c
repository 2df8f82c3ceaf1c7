/* SPDX-License-Identifier: Apache-2.0
 * Plans of cuDNN: which engine runs a graph, and how it is run.
 */
#include <string.h>

#include "accel_common.h"
#include "cudnn_attention.h"

enum { MOST_CONFIGS = 32 };

struct vly_cudnn_plan {
    vly_cudnn_graph graph;
    vly_cudnn_plan_info info;
    void *plan;
};

/* ---- the device a plan is for ------------------------------------------ */

static void *device_desc(vly_cudnn_graph *graph, const char *json)
{
    if (!json)
        return NULL;
    void *desc = vly_cudnn_desc(graph, VLY_CUDNN_DESC_DEVICE);
    vly_cudnn_set(graph, desc, VLY_CUDNN_DEVICE_JSON, VLY_CUDNN_IS_CHAR,
                  (int64_t)strlen(json) + 1, json);
    vly_cudnn_finalize(graph, desc, "the description of a device was refused");
    return desc;
}

/* ---- engine configurations --------------------------------------------- */

static void ask_heuristics(vly_cudnn_graph *graph, void *device, void **configs,
                           int64_t *n)
{
    const int32_t mode = VLY_CUDNN_HEUR_A;
    void *heur = vly_cudnn_desc(graph, VLY_CUDNN_DESC_HEUR);
    vly_cudnn_set(graph, heur, VLY_CUDNN_HEUR_GRAPH, VLY_CUDNN_IS_DESC, 1,
                  &graph->graph);
    vly_cudnn_set(graph, heur, VLY_CUDNN_HEUR_MODE, VLY_CUDNN_IS_HEUR, 1,
                  &mode);
    if (device)
        vly_cudnn_set(graph, heur, VLY_CUDNN_HEUR_DEVICE, VLY_CUDNN_IS_DESC, 1,
                      &device);
    vly_cudnn_finalize(graph, heur, "the heuristics refused the graph");
    for (int64_t i = 0; i < MOST_CONFIGS; i++)
        configs[i] = vly_cudnn_desc(graph, VLY_CUDNN_DESC_CONFIG);
    *n = 0;
    if (graph->status == VLY_OK)
        graph->status = vly_cudnn_check(
            graph->cudnn,
            graph->cudnn->get(heur, VLY_CUDNN_HEUR_RESULTS, VLY_CUDNN_IS_DESC,
                              MOST_CONFIGS, n, configs),
            "the heuristics gave no engines", &graph->error);
    if (*n > MOST_CONFIGS)
        *n = MOST_CONFIGS;
}

/* -1 if unknown */
static int64_t config_engine(vly_cudnn_graph *graph, void *config, bool *varies)
{
    int64_t engine = -1;
    int64_t n = 0;
    int32_t notes[16] = {0};
    void *desc = vly_cudnn_desc(graph, VLY_CUDNN_DESC_ENGINE);
    *varies = false;
    if (!desc || graph->cudnn->get(config, VLY_CUDNN_CONFIG_ENGINE,
                                   VLY_CUDNN_IS_DESC, 1, &n, &desc) != 0)
        return -1;
    if (graph->cudnn->get(desc, VLY_CUDNN_ENGINE_INDEX, VLY_CUDNN_IS_INT64, 1,
                          &n, &engine) != 0)
        engine = -1;
    if (graph->cudnn->get(desc, VLY_CUDNN_ENGINE_NOTES, VLY_CUDNN_IS_NOTE, 16,
                          &n, notes) == 0)
        for (int64_t i = 0; i < n && i < 16; i++)
            *varies |= notes[i] == VLY_CUDNN_NOTE_NONDETERMINISTIC;
    return engine;
}

/* of a configuration, or in cuDNN's text of a plan */
static int build_plan(vly_cudnn_graph *graph, void *device, void *config,
                      const char *json, int64_t json_bytes, void **plan)
{
    void *desc = NULL;
    const vly_cudnn *cudnn = graph->cudnn;
    int code = cudnn->desc_create(VLY_CUDNN_DESC_PLAN, &desc);
    if (code != 0)
        return code;
    if (graph->handle)
        code = cudnn->set(desc, VLY_CUDNN_PLAN_HANDLE, VLY_CUDNN_IS_HANDLE, 1,
                          &graph->handle);
    if (code == 0 && device)
        code = cudnn->set(desc, VLY_CUDNN_PLAN_DEVICE, VLY_CUDNN_IS_DESC, 1,
                          &device);
    if (code == 0 && config)
        code = cudnn->set(desc, VLY_CUDNN_PLAN_CONFIG, VLY_CUDNN_IS_DESC, 1,
                          &config);
    if (code == 0 && json)
        code = cudnn->set(desc, VLY_CUDNN_PLAN_JSON, VLY_CUDNN_IS_CHAR,
                          json_bytes, json);
    if (code == 0)
        code = cudnn->desc_finalize(desc);
    if (code != 0) {
        (void)cudnn->desc_destroy(desc);
        return code;
    }
    *plan = desc;
    return 0;
}

static vly_status choose_config(vly_cudnn_plan *plan, void *device,
                                uint32_t first, uint32_t flags,
                                vly_error *error)
{
    vly_cudnn_graph *graph = &plan->graph;
    void *configs[MOST_CONFIGS];
    int64_t n = 0;
    ask_heuristics(graph, device, configs, &n);
    if (graph->status != VLY_OK)
        return vly_support_fail(error, graph->status, "%s",
                                graph->error.message);
    plan->info.n_configs = (uint32_t)n;
    if (first >= n)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "cudnn: %u engine configurations, asked for "
                                "number %u",
                                (uint32_t)n, first);
    int code = 0;
    for (uint32_t i = first; i < n; i++) {
        bool varies = false;
        int64_t engine = config_engine(graph, configs[i], &varies);
        if (varies && (flags & VLY_ATTENTION_DETERMINISTIC) != 0)
            continue;
        code = build_plan(graph, device, configs[i], NULL, 0, &plan->plan);
        if (code == 0) {
            plan->info.index = i;
            plan->info.engine = engine;
            return VLY_OK;
        }
    }
    if (code == 0)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "cudnn: no engine that is deterministic");
    return vly_cudnn_check(graph->cudnn, code, "cudnn: no plan could be built",
                           error);
}

static vly_status make_graph(const vly_cudnn *cudnn,
                             const vly_cudnn_target *target,
                             const vly_attention_desc *desc,
                             vly_cudnn_graph *graph, vly_error *error)
{
    vly_cudnn_graph_init(graph, cudnn, target->handle);
    vly_status status = VLY_OK;
    VLY_TRY((desc->flags & VLY_ATTENTION_BACKWARD) != 0
                ? vly_cudnn_backward(graph, desc, error)
                : vly_cudnn_forward(graph, desc, error));
    VLY_TRY(vly_cudnn_graph_build(graph, error));
out:
    return status;
}

vly_status vly_cudnn_count_configs(const vly_cudnn *cudnn,
                                   const vly_cudnn_target *target,
                                   const vly_attention_desc *desc, uint32_t *n,
                                   vly_error *error)
{
    vly_cudnn_graph *graph = NULL;
    void *configs[MOST_CONFIGS];
    int64_t found = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_alloc(1, sizeof *graph, &graph, error));
    status = make_graph(cudnn, target, desc, graph, error);
    if (status == VLY_OK) {
        ask_heuristics(graph, device_desc(graph, target->device_json), configs,
                       &found);
        status = graph->status;
        if (status == VLY_OK)
            *n = (uint32_t)found;
        else
            vly_support_fail(error, status, "%s", graph->error.message);
    }
    vly_cudnn_graph_deinit(graph);
    vly_accel_free(graph);
out:
    return status;
}

static vly_status ask_workspace(vly_cudnn_plan *plan, vly_error *error)
{
    int64_t n = 0;
    int64_t bytes = 0;
    const vly_cudnn *cudnn = plan->graph.cudnn;
    vly_status status =
        vly_cudnn_check(cudnn,
                        cudnn->get(plan->plan, VLY_CUDNN_PLAN_WORKSPACE,
                                   VLY_CUDNN_IS_INT64, 1, &n, &bytes),
                        "cudnn: a plan does not say its workspace", error);
    plan->info.workspace_bytes = (uint64_t)bytes;
    return status;
}

vly_status vly_cudnn_plan_create(const vly_cudnn *cudnn,
                                 const vly_cudnn_target *target,
                                 const vly_attention_desc *desc, uint32_t first,
                                 vly_cudnn_plan **out, vly_error *error)
{
    vly_cudnn_plan *plan = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_alloc(1, sizeof *plan, &plan, error));
    status = make_graph(cudnn, target, desc, &plan->graph, error);
    if (status == VLY_OK)
        status =
            choose_config(plan, device_desc(&plan->graph, target->device_json),
                          first, desc->flags, error);
    if (status == VLY_OK)
        status = ask_workspace(plan, error);
    if (status != VLY_OK) {
        vly_cudnn_plan_destroy(plan);
        return status;
    }
    *out = plan;
out:
    return status;
}

/* ---- plans as bytes ---------------------------------------------------- */

/* Header before the JSON of cuDNN. */
typedef struct saved_plan {
    uint32_t version; /* of this struct */
    uint32_t cudnn;
    uint32_t n_configs;
    uint32_t index;
    int64_t engine;
    uint64_t workspace_bytes;
} saved_plan;

enum { SAVED_VERSION = 1 };

vly_status vly_cudnn_plan_save(const vly_cudnn_plan *plan, void **blob,
                               uint32_t *bytes, vly_error *error)
{
    const vly_cudnn *cudnn = plan->graph.cudnn;
    const saved_plan first = {.version = SAVED_VERSION,
                              .cudnn = cudnn->version,
                              .n_configs = plan->info.n_configs,
                              .index = plan->info.index,
                              .engine = plan->info.engine,
                              .workspace_bytes = plan->info.workspace_bytes};
    char *made = NULL;
    int64_t n = 0;
    int64_t got = 0;
    vly_status status =
        vly_cudnn_check(cudnn,
                        cudnn->get(plan->plan, VLY_CUDNN_PLAN_JSON,
                                   VLY_CUDNN_IS_CHAR, 0, &n, NULL),
                        "cudnn: a plan does not say its JSON", error);
    if (status == VLY_OK && (n <= 0 || n > INT32_MAX))
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "cudnn: the JSON of a plan has %lld bytes",
                                (long long)n);
    if (status == VLY_OK)
        status = vly_accel_alloc(1, sizeof first + (uint64_t)n, &made, error);
    if (status != VLY_OK)
        return status;
    memcpy(made, &first, sizeof first);
    status = vly_cudnn_check(cudnn,
                             cudnn->get(plan->plan, VLY_CUDNN_PLAN_JSON,
                                        VLY_CUDNN_IS_CHAR, n, &got,
                                        made + sizeof first),
                             "cudnn: a plan does not say its JSON", error);
    if (status != VLY_OK || got <= 0 || got > n) {
        vly_accel_free(made);
        return status != VLY_OK ? status : VLY_E_UNSUPPORTED;
    }
    *blob = made;
    *bytes = (uint32_t)(sizeof first + (uint64_t)got);
    return VLY_OK;
}

static vly_status load(vly_cudnn_plan *plan, const vly_cudnn_target *target,
                       const void *blob, uint32_t bytes, vly_error *error)
{
    vly_cudnn_graph *graph = &plan->graph;
    saved_plan first;
    void *device = device_desc(graph, target->device_json);
    if (graph->status != VLY_OK)
        return vly_support_fail(error, graph->status, "%s",
                                graph->error.message);
    memcpy(&first, blob, sizeof first);
    if (first.version != SAVED_VERSION || first.cudnn != graph->cudnn->version)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "cudnn: a stored plan of another version");
    vly_status status = vly_cudnn_check(
        graph->cudnn,
        build_plan(graph, device, NULL, (const char *)blob + sizeof first,
                   (int64_t)(bytes - sizeof first), &plan->plan),
        "cudnn: a stored plan was refused", error);
    if (status == VLY_OK)
        status = ask_workspace(plan, error);
    plan->info.n_configs = first.n_configs;
    plan->info.index = first.index;
    plan->info.engine = first.engine;
    if (status == VLY_OK && plan->info.workspace_bytes != first.workspace_bytes)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "cudnn: a stored plan wants another workspace "
                                "than when it was made");
    return status;
}

vly_status vly_cudnn_plan_load(const vly_cudnn *cudnn,
                               const vly_cudnn_target *target,
                               const vly_attention_desc *desc, const void *blob,
                               uint32_t bytes, vly_cudnn_plan **out,
                               vly_error *error)
{
    vly_cudnn_plan *plan = NULL;
    if (bytes <= sizeof(saved_plan))
        return vly_support_fail(error, VLY_E_INVALID,
                                "cudnn: a stored plan has %u bytes", bytes);
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_alloc(1, sizeof *plan, &plan, error));
    status = make_graph(cudnn, target, desc, &plan->graph, error);
    if (status == VLY_OK)
        status = load(plan, target, blob, bytes, error);
    if (status != VLY_OK) {
        vly_cudnn_plan_destroy(plan);
        return status;
    }
    *out = plan;
out:
    return status;
}

void vly_cudnn_plan_destroy(vly_cudnn_plan *plan)
{
    if (!plan)
        return;
    if (plan->plan)
        (void)plan->graph.cudnn->desc_destroy(plan->plan);
    vly_cudnn_graph_deinit(&plan->graph);
    vly_accel_free(plan);
}

void vly_cudnn_plan_get_info(const vly_cudnn_plan *plan,
                             vly_cudnn_plan_info *info)
{
    *info = plan->info;
}

/* ---- running ----------------------------------------------------------- */

vly_status vly_cudnn_plan_run(vly_cudnn_plan *plan, void *const *pointers,
                              void *workspace, vly_error *error)
{
    vly_cudnn_graph *graph = &plan->graph;
    const vly_cudnn *cudnn = graph->cudnn;
    int64_t ids[2 * VLY_CUDNN_MOST_IDS];
    void *data[2 * VLY_CUDNN_MOST_IDS];
    int64_t n = 0;
    void *pack = NULL;
    for (uint32_t i = 0; i < graph->n_ids; i++, n++) {
        ids[n] = graph->ids[i];
        data[n] = pointers[graph->ids[i]];
    }
    for (uint32_t i = 0; i < graph->n_values; i++, n++) {
        ids[n] = graph->value_ids[i];
        data[n] = &graph->values[i];
    }
    int code = cudnn->desc_create(VLY_CUDNN_DESC_PACK, &pack);
    if (code != 0)
        return vly_cudnn_check(cudnn, code, "cudnn: no variant pack", error);
    code = cudnn->set(pack, VLY_CUDNN_PACK_IDS, VLY_CUDNN_IS_INT64, n, ids);
    if (code == 0)
        code = cudnn->set(pack, VLY_CUDNN_PACK_POINTERS, VLY_CUDNN_IS_POINTER,
                          n, data);
    if (code == 0)
        code = cudnn->set(pack, VLY_CUDNN_PACK_WORKSPACE, VLY_CUDNN_IS_POINTER,
                          1, &workspace);
    if (code == 0)
        code = cudnn->desc_finalize(pack);
    if (code == 0)
        code = cudnn->execute(graph->handle, plan->plan, pack);
    vly_status status =
        vly_cudnn_check(cudnn, code, "cudnn: the plan was not run", error);
    (void)cudnn->desc_destroy(pack);
    return status;
}
