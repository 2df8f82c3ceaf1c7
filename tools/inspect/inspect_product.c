/* SPDX-License-Identifier: Apache-2.0
 * How an accelerator would run a product.
 */
#include "tools/inspect/inspect_product.h"

#include <volley/host.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accelerator/accelerator.h"
#include "base/error.h"
#include "tools/cli/tool.h"

/* A plan of any kind. */
typedef struct plan {
    inspect_kind kind;
    const vly_accelerator *accelerator;
    vly_gemm_plan *gemm;
    vly_attention_plan *attention;
    vly_wkv_plan *wkv;
    vly_plan_info info;
} plan;

static vly_status plan_make(const vly_accelerator *a,
                            const inspect_request *request, plan *p,
                            vly_error *error)
{
    vly_status status = VLY_OK;
    *p = (plan){.kind = request->kind,
                .accelerator = a,
                .info = {.struct_size = sizeof p->info}};
    switch (p->kind) {
    case INSPECT_GEMM:
        VLY_TRY(
            a->gemm.plan_create(&a->device, &request->gemm, &p->gemm, error));
        status = a->gemm.plan_info(p->gemm, &p->info, error);
        break;
    case INSPECT_ATTENTION:
        VLY_TRY(a->attention.plan_create(&a->device, &request->attention,
                                         &p->attention, error));
        status = a->attention.plan_info(p->attention, &p->info, error);
        break;
    case INSPECT_WKV:
        VLY_TRY(a->wkv.plan_create(&a->device, &request->wkv, &p->wkv, error));
        status = a->wkv.plan_info(p->wkv, &p->info, error);
        break;
    }
out:
    return status;
}

static void plan_free(plan *p)
{
    if (p->gemm)
        p->accelerator->gemm.plan_destroy(p->gemm);
    if (p->attention)
        p->accelerator->attention.plan_destroy(p->attention);
    if (p->wkv)
        p->accelerator->wkv.plan_destroy(p->wkv);
}

/* *n is 0 if an older plugin does not report it. */
static vly_status plan_candidate(const plan *p, uint32_t index,
                                 vly_plan_candidate *c, uint32_t *n,
                                 vly_error *error)
{
    const vly_accelerator *a = p->accelerator;
    *c = (vly_plan_candidate){.struct_size = sizeof *c};
    *n = 0;
    switch (p->kind) {
    case INSPECT_GEMM:
        if (a->gemm.plan_candidate)
            return a->gemm.plan_candidate(p->gemm, index, c, n, error);
        break;
    case INSPECT_ATTENTION:
        if (a->attention.plan_candidate)
            return a->attention.plan_candidate(p->attention, index, c, n,
                                               error);
        break;
    case INSPECT_WKV:
        if (a->wkv.plan_candidate)
            return a->wkv.plan_candidate(p->wkv, index, c, n, error);
        break;
    }
    return VLY_OK;
}

/* ---- output -------------------------------------------------------------- */

static void print_info(const char *product, const vly_accelerator *a,
                       const vly_plan_info *info)
{
    tool_print("product     %s on device %u\n", product, a->device.index);
    tool_print("choice      %s\n", info->choice);
    tool_print("            of %u candidate%s%s\n", info->n_candidates,
               info->n_candidates == 1 ? "" : "s",
               info->cached != 0 ? ", read from the cache" : "");
    if (info->measured_s > 0)
        tool_print("measured    %s%s\n", tool_seconds(info->measured_s),
                   info->cached != 0 ? ", when it was chosen" : "");
    tool_print("workspace   %s\n", tool_bytes(info->workspace_bytes));
}

static void print_candidate(const vly_plan_candidate *c)
{
    static const char *const states[] = {"chosen", "can", "refused", "wrong"};
    const bool known = c->state < sizeof states / sizeof states[0];
    const bool runs =
        c->state == VLY_CANDIDATE_CHOSEN || c->state == VLY_CANDIDATE_READY;
    tool_print("  %-8s  %-12s  %s", known ? states[c->state] : "?",
               c->measured_s > 0 ? tool_seconds(c->measured_s)
               : runs            ? "not measured"
                                 : "",
               c->name);
    if (c->workspace_bytes > 0)
        tool_print(", %s of workspace", tool_bytes(c->workspace_bytes));
    tool_print("%s%s\n", c->note[0] != '\0' ? ": " : "", c->note);
}

static vly_status print_candidates(const plan *p, vly_error *error)
{
    vly_plan_candidate c;
    uint32_t n = 0;
    vly_status status = plan_candidate(p, 0, &c, &n, error);
    if (status == VLY_OK && n > 0)
        tool_print("ways\n");
    for (uint32_t i = 0; status == VLY_OK && i < n; i++) {
        status = plan_candidate(p, i, &c, &n, error);
        if (status == VLY_OK)
            print_candidate(&c);
    }
    if (status == VLY_OK && p->info.cached != 0)
        tool_print("  (the others were looked at when it was chosen; "
                   "--options cache=off does so again)\n");
    return status;
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
                           const inspect_request *request,
                           const char *device_options, uint32_t n_threads,
                           vly_error *error)
{
    static vly_accelerator accelerator; /* its device points into it */
    vly_registry *registry = NULL;
    plan made = {.info = {.struct_size = 0}};
    char id[32];
    char *full = realpath(path, NULL);
    vly_status status = VLY_OK;
    if (!full)
        return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", path,
                        strerror(errno));
    const vly_plugin_places places = {
        .struct_size = sizeof places, .first = full, .only = 1};
    VLY_TRY(vly_registry_create_from(&places, &registry, error));
    VLY_TRY(find_id(registry, full, id, error));
    VLY_TRY(vly_accelerator_find(registry, request->interface_id, id, n_threads,
                                 &accelerator, error));
    accelerator.device.options = device_options;
    VLY_TRY(plan_make(&accelerator, request, &made, error));
    print_info(product, &accelerator, &made.info);
    VLY_TRY(print_candidates(&made, error));
out:
    plan_free(&made);
    vly_registry_destroy(registry);
    free(full);
    return status;
}
