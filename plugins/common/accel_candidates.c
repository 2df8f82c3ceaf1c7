/* SPDX-License-Identifier: Apache-2.0
 * The ways that were looked at while a plan was made, kept for plan_candidate.
 */
#include <stdio.h>

#include "accel_common.h"

vly_status vly_accel_candidates_init(vly_accel_candidates *list, uint32_t most,
                                     vly_error *error)
{
    vly_plan_candidate *all = NULL;
    /* one more: a place for entries that do not fit */
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_alloc((uint64_t)most + 1, sizeof *all, &all, error));
    *list = (vly_accel_candidates){.all = all, .most = most};
out:
    return status;
}

void vly_accel_candidates_deinit(vly_accel_candidates *list)
{
    vly_accel_free(list->all);
    *list = (vly_accel_candidates){.all = NULL};
}

vly_plan_candidate *vly_accel_candidates_add(vly_accel_candidates *list,
                                             uint32_t state, const char *name,
                                             const char *note)
{
    vly_plan_candidate *c = &list->all[list->n];
    list->n += list->n < list->most;
    *c = (vly_plan_candidate){.struct_size = (uint32_t)sizeof *c,
                              .state = state};
    (void)snprintf(c->name, sizeof c->name, "%s", name);
    (void)snprintf(c->note, sizeof c->note, "%s", note);
    return c;
}

vly_status vly_accel_candidates_get(const vly_accel_candidates *list,
                                    uint32_t index,
                                    vly_plan_candidate *candidate, uint32_t *n,
                                    vly_error *error)
{
    const uint32_t size = candidate ? candidate->struct_size : 0;
    if (!n || size < sizeof *candidate)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: plan candidate: struct_size is %u, wanted "
                                "at least %u, and n not NULL",
                                vly_support_plugin, size,
                                (uint32_t)sizeof *candidate);
    *n = list->n;
    if (index < list->n) {
        *candidate = list->all[index];
        candidate->struct_size = size;
    }
    return VLY_OK;
}
