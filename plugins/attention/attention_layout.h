/* SPDX-License-Identifier: Apache-2.0
 * Where the elements of Q, K, V, O and of their gradients lie: extents and
 * overlap of strided boxes, for the checks of descriptions and runs.
 */
#ifndef VOLLEY_ATTENTION_LAYOUT_H
#define VOLLEY_ATTENTION_LAYOUT_H

#include <stdbool.h>

#include <volley/attention.h>

enum {
    VLY_ATTENTION_Q,
    VLY_ATTENTION_K,
    VLY_ATTENTION_V,
    VLY_ATTENTION_O,
    VLY_ATTENTION_N_TENSORS
};

typedef struct vly_attention_tensor {
    const char *name;
    uint32_t index;  /* VLY_ATTENTION_Q ... */
    uint32_t is_kv;  /* heads_kv and seq_kv, otherwise heads_q and seq_q */
    uint32_t is_out; /* type_o, otherwise type */
    size_t layout;   /* offset of its vly_attention_layout */
} vly_attention_tensor;

extern const vly_attention_tensor
    vly_attention_tensors[VLY_ATTENTION_N_TENSORS];

/* Dimensions from the longest stride to the shortest; lengths of 1 are left
 * out. All in elements. */
typedef struct vly_attention_box {
    uint32_t n;
    uint32_t known; /* 0: packed, or the number of pages is not given */
    uint64_t stride[3];
    uint64_t length[3];
    uint64_t width;  /* contiguous elements inside */
    uint64_t extent; /* from the first element to the end of the last; 0:
                      * empty */
} vly_attention_box;

const vly_attention_layout *
vly_attention_layout_of(const vly_attention_desc *desc,
                        const vly_attention_tensor *tensor);
/* false: the tensor exceeds 2^62 bytes */
bool vly_attention_box_make(const vly_attention_desc *desc,
                            const vly_attention_tensor *tensor,
                            vly_attention_box *box);
/* Do all elements have different addresses? */
bool vly_attention_box_is_apart(const vly_attention_box *box);
/* Can boxes at these addresses share a byte? Interleaved boxes, as the parts of
 * one [seq][3][heads][dim], do not. bytes: of an element of each */
bool vly_attention_boxes_meet(const vly_attention_box *a, uintptr_t at_a,
                              uint64_t bytes_a, const vly_attention_box *b,
                              uintptr_t at_b, uint64_t bytes_b);

#endif
