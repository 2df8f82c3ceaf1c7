/* SPDX-License-Identifier: Apache-2.0
 * Strided boxes: extents that cannot overflow, and overlap.
 */
#include "attention_layout.h"

#include <stddef.h>

/* Elements: as fp32 they are 2^62 bytes. */
#define EXTENT_MOST (UINT64_C(1) << 60)

const vly_attention_tensor vly_attention_tensors[VLY_ATTENTION_N_TENSORS] = {
    {"Q", VLY_ATTENTION_Q, 0, 0, offsetof(vly_attention_desc, q)},
    {"K", VLY_ATTENTION_K, 1, 0, offsetof(vly_attention_desc, k)},
    {"V", VLY_ATTENTION_V, 1, 0, offsetof(vly_attention_desc, v)},
    {"O", VLY_ATTENTION_O, 0, 1, offsetof(vly_attention_desc, o)},
};

const vly_attention_layout *
vly_attention_layout_of(const vly_attention_desc *desc,
                        const vly_attention_tensor *tensor)
{
    const char *base = (const char *)desc;
    return (const vly_attention_layout *)(const void *)(base + tensor->layout);
}

/* Inserts a dimension so that strides descend. */
static void box_add(vly_attention_box *box, uint64_t stride, uint64_t length)
{
    uint32_t at = box->n;
    if (length <= 1)
        return;
    for (; at > 0 && box->stride[at - 1] < stride; at--) {
        box->stride[at] = box->stride[at - 1];
        box->length[at] = box->length[at - 1];
    }
    box->stride[at] = stride;
    box->length[at] = length;
    box->n++;
}

bool vly_attention_box_make(const vly_attention_desc *desc,
                            const vly_attention_tensor *tensor,
                            vly_attention_box *box)
{
    const vly_attention_layout *layout = vly_attention_layout_of(desc, tensor);
    const bool packed = (desc->flags & VLY_ATTENTION_PACKED) != 0;
    const bool paged = tensor->is_kv && desc->flags & VLY_ATTENTION_PAGED;
    const uint32_t seq = tensor->is_kv ? desc->seq_kv : desc->seq_q;
    const uint32_t heads = tensor->is_kv ? desc->heads_kv : desc->heads_q;
    *box =
        (vly_attention_box){.known = !packed && (!paged || desc->pages != 0)};
    box->width =
        tensor->index == VLY_ATTENTION_Q || tensor->index == VLY_ATTENTION_K
            ? desc->dim
            : desc->dim_v;
    if (!packed)
        box_add(box, layout->batch, paged ? desc->pages : desc->batch);
    box_add(box, layout->seq, paged ? desc->page_size : seq);
    box_add(box, layout->head, heads);
    box->extent = box->width;
    for (uint32_t i = 0; i < box->n; i++) {
        uint64_t steps = box->length[i] - 1;
        if (box->stride[i] != 0 &&
            steps > (EXTENT_MOST - box->extent) / box->stride[i])
            return false;
        box->extent += steps * box->stride[i];
    }
    if (desc->batch == 0 || seq == 0)
        box->extent = 0;
    return true;
}

bool vly_attention_box_is_apart(const vly_attention_box *box)
{
    uint64_t inner = box->width;
    if (box->extent == 0)
        return true;
    for (uint32_t i = box->n; i > 0; i--) {
        if (box->stride[i - 1] < inner)
            return false;
        inner += (box->length[i - 1] - 1) * box->stride[i - 1];
    }
    return true;
}

/* Bytes of the dimensions with shorter strides, within one step of a stride; 0
 * if a longer stride is not a multiple of it. */
static uint64_t bytes_within(const vly_attention_box *box, uint64_t step,
                             uint64_t bytes)
{
    uint64_t inner = box->width;
    for (uint32_t i = box->n; i > 0; i--) {
        uint64_t stride = box->stride[i - 1] * bytes;
        if (stride >= step && stride % step != 0)
            return 0;
        if (stride < step)
            inner += (box->length[i - 1] - 1) * box->stride[i - 1];
    }
    return inner * bytes;
}

/* Are both in disjoint parts, modulo a stride of a? */
static bool interleave(const vly_attention_box *a, uintptr_t at_a,
                       uint64_t bytes_a, const vly_attention_box *b,
                       uintptr_t at_b, uint64_t bytes_b)
{
    for (uint32_t i = 0; i < a->n; i++) {
        const uint64_t step = a->stride[i] * bytes_a;
        if (step == 0)
            continue;
        const uint64_t part_a = bytes_within(a, step, bytes_a);
        const uint64_t part_b = bytes_within(b, step, bytes_b);
        if (part_a == 0 || part_b == 0)
            continue;
        const uint64_t from_a = (at_b % step + step - at_a % step) % step;
        if (from_a >= part_a && step - from_a >= part_b)
            return true;
    }
    return false;
}

bool vly_attention_boxes_meet(const vly_attention_box *a, uintptr_t at_a,
                              uint64_t bytes_a, const vly_attention_box *b,
                              uintptr_t at_b, uint64_t bytes_b)
{
    if (a->extent == 0 || b->extent == 0)
        return false;
    if (!a->known || !b->known)
        return at_a == at_b;
    if (at_a + a->extent * bytes_a <= at_b ||
        at_b + b->extent * bytes_b <= at_a)
        return false;
    return !interleave(a, at_a, bytes_a, b, at_b, bytes_b) &&
           !interleave(b, at_b, bytes_b, a, at_a, bytes_a);
}
