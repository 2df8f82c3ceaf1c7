/* SPDX-License-Identifier: Apache-2.0
 * How an accelerator would run a product.
 */
#include "inspect_product.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bench_product.h"
#include "plugin/accelerator.h"
#include "tool.h"

/* "gemm:bf16:16x4096x1024" */
typedef struct request {
    char type[32];
    char size[64];
} request;

static vly_status read_request(const char *product, request *r,
                               vly_error *error)
{
    const char *colon = strchr(product, ':');
    const char *second = colon != NULL ? strchr(colon + 1, ':') : NULL;
    if (second == NULL || second[1] == 0 || strncmp(product, "gemm:", 5) != 0 ||
        strchr(product, ',') != NULL ||
        (size_t)(second - colon) > sizeof r->type ||
        strlen(second) > sizeof r->size)
        return vly_fail(error, VLY_E_INVALID,
                        "--product \"%.80s\", wanted gemm:TYPE:MxNxK, as in "
                        "gemm:bf16:16x4096x1024",
                        product);
    snprintf(r->type, sizeof r->type, "%.*s", (int)(second - colon - 1),
             colon + 1);
    snprintf(r->size, sizeof r->size, "%s", second + 1);
    return VLY_OK;
}

static vly_status read_product(const char *product, vly_gemm_desc *desc,
                               vly_error *error)
{
    request r;
    bench_shape shapes[BENCH_SHAPES_MAX];
    const bench_gemm_type *types[BENCH_TYPES_MAX];
    uint32_t n = 0;
    const bench_options options = {.sizes = r.size, .types = r.type};
    vly_status status = VLY_OK;
    VLY_TRY(read_request(product, &r, error));
    VLY_TRY(bench_gemm_shapes(&options, false, true, shapes, &n, error));
    VLY_TRY(bench_gemm_types(&options, false, true, types, &n, error));
    *desc = bench_gemm_desc(types[0], shapes[0]);
out:
    return status;
}

static void print_info(const char *product, const vly_accelerator *a,
                       const vly_plan_info *info)
{
    tool_print("product     %s on device %u\n", product, a->device.index);
    tool_print("choice      %s\n", info->choice);
    tool_print("            of %u candidate%s%s\n", info->n_candidates,
               info->n_candidates == 1 ? "" : "s",
               info->cached != 0 ? ", read from the cache" : "");
    if (info->measured_s > 0)
        tool_print("measured    %s\n", tool_seconds(info->measured_s));
    tool_print("workspace   %s\n", tool_bytes(info->workspace_bytes));
}

/* Id of the plugin with this file. */
static vly_status find_id(const vly_registry *registry, const char *full,
                          char id[32], vly_error *error)
{
    for (uint32_t i = 0; i < vly_registry_count(registry); i++) {
        vly_plugin_info info = {.struct_size = sizeof info};
        if (vly_registry_info(registry, i, &info) != VLY_OK ||
            strcmp(info.path, full) != 0)
            continue;
        if (info.status != VLY_OK)
            return vly_fail(error, info.status, "%s: %s", full, info.reason);
        snprintf(id, 32, "%s", info.id);
        return VLY_OK;
    }
    return vly_fail(error, VLY_E_INVALID, "%s: not a plugin", full);
}

vly_status inspect_product(const char *path, const char *product,
                           const char *device_options, uint32_t n_threads,
                           vly_error *error)
{
    static vly_accelerator accelerator; /* its device points into it */
    vly_registry *registry = NULL;
    vly_gemm_plan *plan = NULL;
    vly_plan_info info = {.struct_size = sizeof info};
    vly_gemm_desc desc;
    char id[32];
    char *full = realpath(path, NULL);
    vly_status status = VLY_OK;
    if (full == NULL)
        return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", path,
                        strerror(errno));
    setenv("VOLLEY_PLUGIN_PATH", full, 1);
    VLY_TRY(read_product(product, &desc, error));
    VLY_TRY(vly_registry_create(&registry, error));
    VLY_TRY(find_id(registry, full, id, error));
    VLY_TRY(vly_accelerator_find(registry, VLY_GEMM_INTERFACE, id, n_threads,
                                 &accelerator, error));
    accelerator.device.options = device_options;
    VLY_TRY(
        accelerator.gemm.plan_create(&accelerator.device, &desc, &plan, error));
    VLY_TRY(accelerator.gemm.plan_info(plan, &info, error));
    print_info(product, &accelerator, &info);
out:
    if (plan != NULL)
        accelerator.gemm.plan_destroy(plan);
    vly_registry_destroy(registry);
    free(full);
    return status;
}
