/* SPDX-License-Identifier: Apache-2.0
 * A log of the host's changes, for replay.
 */
#include "engine/change_log.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static vly_status reserve(vly_change_log *log, vly_error *error)
{
    if (log->n < log->capacity)
        return VLY_OK;
    uint64_t capacity = log->capacity != 0 ? 2 * log->capacity : 16;
    vly_change *grown =
        vly_realloc(log->entries, (size_t)capacity, sizeof *grown);
    if (!grown)
        return vly_fail_nomem(error, capacity * sizeof *grown,
                              "the changes since a snapshot");
    log->entries = grown;
    log->capacity = capacity;
    return VLY_OK;
}

static char *copy_text(const char *text, bool *lost)
{
    char *copy = text ? vly_strdup(text) : NULL;
    *lost = *lost || (text && !copy);
    return copy;
}

vly_status vly_change_make(vly_change_log *log, const char *target,
                           const char *name, const double *values, uint64_t n,
                           vly_change *made, vly_error *error)
{
    vly_change copy = {.n = n};
    bool lost = false;
    vly_status status = VLY_OK;
    VLY_TRY(reserve(log, error));
    copy.target = copy_text(target, &lost);
    copy.name = copy_text(name, &lost);
    if (values && n != 0) {
        copy.values = vly_malloc((size_t)n, sizeof *copy.values);
        if (copy.values)
            memcpy(copy.values, values, (size_t)n * sizeof *copy.values);
        lost = lost || !copy.values;
    }
    if (lost) {
        vly_change_deinit(&copy);
        return vly_fail_nomem(error, n * sizeof(double) + 256,
                              "a change kept for fail-over");
    }
    *made = copy;
out:
    return status;
}

void vly_change_deinit(vly_change *change)
{
    vly_free(change->target);
    vly_free(change->name);
    vly_free(change->values);
    *change = (vly_change){0};
}

void vly_change_add(vly_change_log *log, vly_change *change)
{
    log->bytes += sizeof *change + change->n * sizeof(double);
    log->entries[log->n++] = *change;
    *change = (vly_change){0};
}

void vly_change_clear(vly_change_log *log)
{
    for (uint64_t i = 0; i < log->n; i++)
        vly_change_deinit(&log->entries[i]);
    log->n = 0;
    log->bytes = 0;
}

void vly_change_log_deinit(vly_change_log *log)
{
    vly_change_clear(log);
    vly_free(log->entries);
    *log = (vly_change_log){0};
}

vly_status vly_change_apply(const vly_change *change, vly_net *net,
                            vly_error *error)
{
    switch (change->kind) {
    case VLY_CHANGE_SET:
        return vly_net_set(net, change->target, change->values[0], error);
    case VLY_CHANGE_SET_EACH:
        return vly_net_set_each(net, change->target, change->name,
                                change->values, (uint32_t)change->n, error);
    case VLY_CHANGE_WEIGHTS:
        return vly_net_weights_write(net, NULL, change->projection,
                                     change->first, change->n, change->values,
                                     error);
    case VLY_CHANGE_WRITE:
        break;
    }
    return vly_net_write(net, change->target, change->name,
                         (uint32_t)change->first, (uint32_t)change->n,
                         change->values, error);
}
