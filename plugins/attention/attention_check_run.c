/* SPDX-License-Identifier: Apache-2.0
 * Checks of the pointers of a run of attention.
 */
#include "attention_check.h"

#include "accel_common.h"
#include "attention_layout.h"
#include "element.h"

enum { N_POINTERS = 20 };

/* One pointer of a run. Those without a tensor are flat arrays of words. */
typedef struct pointer {
    const char *name;
    const void *at;
    uint32_t tensor; /* VLY_ATTENTION_N_TENSORS: none */
    uint32_t wanted; /* may not be NULL */
    uint32_t written;
    uint32_t bytes; /* of an element */
    uint64_t count; /* of a flat array, 0 if not known */
} pointer;

static uint32_t add(pointer *list, uint32_t n, pointer one)
{
    list[n] = one;
    return n + 1;
}

static uint32_t add_tensors(const vly_attention_desc *desc,
                            const vly_attention_run *run, pointer *list)
{
    const bool backward = (desc->flags & VLY_ATTENTION_BACKWARD) != 0;
    const uint32_t in = vly_element_bits(desc->type) / 8;
    const uint32_t out = vly_element_bits(desc->type_o) / 8;
    const uint32_t q = desc->batch > 0 && desc->seq_q > 0;
    const uint32_t kv = desc->batch > 0 && desc->seq_kv > 0;
    uint32_t n = 0;
    n = add(list, n, (pointer){"q", run->q, VLY_ATTENTION_Q, q, 0, in, 0});
    n = add(list, n, (pointer){"k", run->k, VLY_ATTENTION_K, kv, 0, in, 0});
    n = add(list, n, (pointer){"v", run->v, VLY_ATTENTION_V, kv, 0, in, 0});
    n = add(list, n,
            (pointer){"o", run->o, VLY_ATTENTION_O, q, !backward, out, 0});
    if (!backward)
        return n;
    n = add(list, n,
            (pointer){"grad_o", run->grad_o, VLY_ATTENTION_O, q, 0, out, 0});
    n = add(list, n,
            (pointer){"grad_q", run->grad_q, VLY_ATTENTION_Q, q, 1, out, 0});
    n = add(list, n,
            (pointer){"grad_k", run->grad_k, VLY_ATTENTION_K, kv, 1, out, 0});
    return add(
        list, n,
        (pointer){"grad_v", run->grad_v, VLY_ATTENTION_V, kv, 1, out, 0});
}

/* Flat arrays of 4-byte words that the flags require. */
static uint32_t add_arrays(const vly_attention_desc *desc,
                           const vly_attention_run *run, pointer *list,
                           uint32_t n)
{
    const uint32_t none = VLY_ATTENTION_N_TENSORS;
    const uint32_t flags = desc->flags;
    const uint64_t batch = desc->batch;
    const uint64_t rows = (uint64_t)desc->heads_q * desc->seq_q; /* < 2^64 */
    const uint32_t some = batch > 0;
    if (flags & (VLY_ATTENTION_LSE | VLY_ATTENTION_BACKWARD))
        n = add(list, n,
                (pointer){"lse", run->lse, none, some && desc->seq_q > 0,
                          !(flags & VLY_ATTENTION_BACKWARD), 4,
                          flags & VLY_ATTENTION_PACKED ? 0 : batch * rows});
    if (flags & VLY_ATTENTION_LENGTHS) {
        n = add(list, n,
                (pointer){"length_q", run->length_q, none, some, 0, 4, batch});
        n = add(
            list, n,
            (pointer){"length_kv", run->length_kv, none, some, 0, 4, batch});
    }
    if (flags & VLY_ATTENTION_PACKED) {
        n = add(
            list, n,
            (pointer){"start_q", run->start_q, none, some, 0, 4, batch + 1});
        n = add(
            list, n,
            (pointer){"start_kv", run->start_kv, none, some, 0, 4, batch + 1});
    }
    if (flags & VLY_ATTENTION_PAGED)
        n = add(list, n,
                (pointer){"page_table", run->page_table, none,
                          some && desc->seq_kv > 0, 0, 4,
                          batch * desc->pages_most});
    if (desc->type != VLY_ELEMENT_E4M3)
        return n;
    const uint64_t scales = batch * desc->heads_kv;
    n = add(list, n,
            (pointer){"scale_q", run->scale_q, none, some, 0, 4, scales});
    n = add(list, n,
            (pointer){"scale_k", run->scale_k, none, some, 0, 4, scales});
    n = add(list, n,
            (pointer){"scale_v", run->scale_v, none, some, 0, 4, scales});
    if (desc->type_o == VLY_ELEMENT_E4M3)
        n = add(list, n,
                (pointer){"scale_o", run->scale_o, none, some, 0, 4, 1});
    return n;
}

static vly_status check_pointer(const vly_attention_desc *desc,
                                const pointer *one, const char *plugin,
                                vly_error *error)
{
    uint32_t align = desc->align != 0 ? desc->align : 256;
    if (align < one->bytes)
        align = one->bytes;
    if (!one->at && one->wanted)
        return vly_support_fail(error, VLY_E_INVALID, "%s: %s is NULL", plugin,
                                one->name);
    if ((uintptr_t)one->at % align != 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: %s is at %p, wanted a multiple of %u "
                                "bytes",
                                plugin, one->name, one->at, align);
    return VLY_OK;
}

static void box_of(const vly_attention_desc *desc, const pointer *one,
                   vly_attention_box *box)
{
    if (one->tensor < VLY_ATTENTION_N_TENSORS) {
        vly_attention_box_make(desc, &vly_attention_tensors[one->tensor], box);
        return;
    }
    *box = (vly_attention_box){.known = one->count != 0,
                               .width = one->count,
                               .extent = one->count != 0 ? one->count : 1};
}

static bool pointers_meet(const vly_attention_desc *desc, const pointer *a,
                          const pointer *b)
{
    vly_attention_box box_a;
    vly_attention_box box_b;
    if (!a->at || !b->at)
        return false;
    box_of(desc, a, &box_a);
    box_of(desc, b, &box_b);
    return vly_attention_boxes_meet(&box_a, (uintptr_t)a->at, a->bytes, &box_b,
                                    (uintptr_t)b->at, b->bytes);
}

vly_status vly_attention_check_run(const vly_attention_desc *desc,
                                   const vly_attention_run *run,
                                   const char *plugin, vly_error *error)
{
    pointer list[N_POINTERS];
    if (!run || run->struct_size < sizeof *run)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: the run is shorter than that of "
                                "volley.attention/1",
                                plugin);
    if (vly_accel_check_reserved("run", run->reserved, error) != VLY_OK)
        return VLY_E_INVALID;
    uint32_t n = add_arrays(desc, run, list, add_tensors(desc, run, list));
    for (uint32_t i = 0; i < n; i++)
        if (check_pointer(desc, &list[i], plugin, error) != VLY_OK)
            return VLY_E_INVALID;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n && list[i].written; j++)
            if (j != i && pointers_meet(desc, &list[i], &list[j]))
                return vly_support_fail(error, VLY_E_INVALID,
                                        "%s: %s overlaps %s", plugin,
                                        list[i].name, list[j].name);
    return VLY_OK;
}

vly_status vly_attention_check_workspace(const void *workspace, uint64_t bytes,
                                         uint64_t needed, const char *plugin,
                                         vly_error *error)
{
    if (needed == 0)
        return VLY_OK;
    if (!workspace || bytes < needed)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: the workspace has %llu bytes, the plan "
                                "needs %llu",
                                plugin,
                                workspace ? (unsigned long long)bytes : 0ull,
                                (unsigned long long)needed);
    if ((uintptr_t)workspace % 256 != 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: the workspace is at %p, wanted a "
                                "multiple of 256 bytes",
                                plugin, workspace);
    return VLY_OK;
}
