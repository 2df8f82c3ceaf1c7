/* SPDX-License-Identifier: Apache-2.0
 * Checks of descriptions and runs of the recurrence.
 */
#include "wkv_check.h"

#include "accel_common.h"
#include "element.h"

enum { N_POINTERS = 10 };

vly_status vly_wkv_check_desc(const vly_wkv_desc *desc, const char *plugin,
                              vly_error *error)
{
    uint64_t elements = 0;
    if (!desc || desc->struct_size < sizeof *desc)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: the description is shorter than that of "
                                "volley.wkv/1",
                                plugin);
    if (desc->type != VLY_ELEMENT_F32 && desc->type != VLY_ELEMENT_F16 &&
        desc->type != VLY_ELEMENT_BF16)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: wkv of %s (%u), wanted fp32, fp16 or bf16",
                                plugin, vly_element_name(desc->type),
                                desc->type);
    if (desc->flags & ~(uint32_t)VLY_WKV_LENGTHS)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: flags 0x%x of a newer interface", plugin,
                                desc->flags & ~(uint32_t)VLY_WKV_LENGTHS);
    if (desc->dim != VLY_WKV_DIM)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: wkv with heads of %u, wanted 64", plugin,
                                desc->dim);
    if (desc->heads == 0)
        return vly_support_fail(error, VLY_E_INVALID, "%s: wkv of no head",
                                plugin);
    if (desc->align > 256 || (desc->align & (desc->align - 1)) != 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: align is %u, wanted a power of two up to "
                                "256",
                                plugin, desc->align);
    uint64_t tokens = desc->seq > 0 ? desc->seq : 1;
    if (!vly_support_mul((uint64_t)desc->batch * desc->heads, tokens,
                         &elements) ||
        elements > INT64_MAX / (4 * VLY_WKV_DIM) ||
        (uint64_t)desc->batch * desc->heads >
            INT64_MAX / (4 * VLY_WKV_DIM * VLY_WKV_DIM))
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: wkv of batch %u, %u tokens, %u heads is "
                                "larger than an address space",
                                plugin, desc->batch, desc->seq, desc->heads);
    return VLY_OK;
}

typedef struct pointer {
    const char *name;
    const void *at;
    uint64_t bytes;
    uint32_t align;
    uint32_t written;
    uint32_t optional;
} pointer;

static uint32_t list_pointers(const vly_wkv_desc *desc, const vly_wkv_run *run,
                              pointer *list)
{
    const uint32_t size = vly_element_bits(desc->type) / 8;
    const uint64_t sequences = (uint64_t)desc->batch * desc->heads;
    const uint64_t bytes = sequences * desc->seq * VLY_WKV_DIM * size;
    const uint64_t state = sequences * VLY_WKV_DIM * VLY_WKV_DIM * 4;
    const pointer all[N_POINTERS] = {
        {"r", run->r, bytes, size, 0, 0},
        {"w", run->w, bytes, size, 0, 0},
        {"k", run->k, bytes, size, 0, 0},
        {"v", run->v, bytes, size, 0, 0},
        {"a", run->a, bytes, size, 0, 0},
        {"b", run->b, bytes, size, 0, 0},
        {"y", run->y, bytes, size, 1, 0},
        {"state_in", run->state_in, state, 4, 0, 1},
        {"state_out", run->state_out, state, 4, 1, 0},
        {"length", run->length, (uint64_t)desc->batch * 4, 4, 0, 0},
    };
    uint32_t n = desc->flags & VLY_WKV_LENGTHS ? N_POINTERS : N_POINTERS - 1;
    for (uint32_t i = 0; i < n; i++)
        list[i] = all[i];
    return n;
}

static vly_status check_pointer(const vly_wkv_desc *desc, const pointer *one,
                                const char *plugin, vly_error *error)
{
    uint32_t align = desc->align != 0 ? desc->align : 256;
    if (align < one->align)
        align = one->align;
    if (!one->at && one->bytes > 0 && !one->optional)
        return vly_support_fail(error, VLY_E_INVALID, "%s: %s is NULL", plugin,
                                one->name);
    if ((uintptr_t)one->at % align != 0)
        return vly_support_fail(
            error, VLY_E_INVALID,
            "%s: %s is at %p, wanted a multiple of %u bytes", plugin, one->name,
            one->at, align);
    return VLY_OK;
}

static bool pointers_meet(const pointer *a, const pointer *b)
{
    const uintptr_t at_a = (uintptr_t)a->at;
    const uintptr_t at_b = (uintptr_t)b->at;
    return a->bytes > 0 && b->bytes > 0 && at_a != 0 && at_b != 0 &&
           at_a < at_b + b->bytes && at_b < at_a + a->bytes;
}

vly_status vly_wkv_check_run(const vly_wkv_desc *desc, const vly_wkv_run *run,
                             const char *plugin, vly_error *error)
{
    pointer list[N_POINTERS];
    if (!run || run->struct_size < sizeof *run)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: the run is shorter than that of "
                                "volley.wkv/1",
                                plugin);
    if (vly_accel_check_reserved("run", run->reserved, error) != VLY_OK)
        return VLY_E_INVALID;
    uint32_t n = list_pointers(desc, run, list);
    for (uint32_t i = 0; i < n; i++)
        if (check_pointer(desc, &list[i], plugin, error) != VLY_OK)
            return VLY_E_INVALID;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n && list[i].written; j++) {
            if (j == i || !pointers_meet(&list[i], &list[j]))
                continue;
            if (list[i].at == run->state_out && list[j].optional &&
                run->state_out == run->state_in)
                continue;
            return vly_support_fail(error, VLY_E_INVALID, "%s: %s overlaps %s",
                                    plugin, list[i].name, list[j].name);
        }
    return VLY_OK;
}
