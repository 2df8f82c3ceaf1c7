/* SPDX-License-Identifier: Apache-2.0
 * How a description is cut into parts for several devices, and which elements
 * of its tensors a part reads and writes.
 *
 * A row of O depends on its query and on the keys of its head alone, and a row
 * of the gradients of K and V on the queries of its key head. So a part has
 * whole sequences, whole key heads with their query heads, or, forward without
 * a mask, whole tiles of queries.
 */
#ifndef VLY_ATTENTION_CUT_H
#define VLY_ATTENTION_CUT_H

#include <stdbool.h>
#include <stddef.h>

#include <volley/attention.h>

enum {
    VLY_ATTENTION_SPAN_MOST = 16, /* parts of a span */
    VLY_ATTENTION_PIECES = 16,    /* tensors of a part, at most */
    /* Queries are cut at multiples of it, so that no tile of a kernel has other
     * rows: tiles have 16 to 256 rows, or 192. */
    VLY_ATTENTION_CUT_ROWS = 768,
};

enum { VLY_CUT_BATCH, VLY_CUT_HEADS, VLY_CUT_QUERIES, VLY_CUT_AXES };

/* heads: of keys */
typedef struct vly_attention_share {
    uint32_t first[VLY_CUT_AXES];
    uint32_t count[VLY_CUT_AXES];
} vly_attention_share;

/* At most n parts, so that the largest is as small as possible; of equal ones
 * the fewest parts, and sequences are cut before heads before queries. The
 * first part begins at 0 of every axis.
 *
 * parts  [n]
 * grid   [VLY_CUT_AXES] number of parts along each axis
 * Returns the number of parts, at least 1.
 */
uint32_t vly_attention_cut(const vly_attention_desc *desc, uint32_t n,
                           vly_attention_share *parts, uint32_t *grid);

/* One axis of a copy: steps in bytes. */
typedef struct vly_attention_axis {
    uint64_t count;
    uint64_t whole; /* step in the caller's tensor */
    uint64_t part;  /* step in the part's, which is compact */
} vly_attention_axis;

/* The elements of one tensor that a part has. */
typedef struct vly_attention_piece {
    size_t member;  /* offset of the pointer in vly_attention_run */
    uint64_t first; /* bytes from the tensor's begin to the part's */
    uint64_t bytes; /* of the compact tensor; 0: empty */
    uint64_t width; /* contiguous bytes in both */
    uint32_t n_axes;
    bool is_in;
    bool is_out;
    bool is_flat; /* its layout follows from the description alone */
    vly_attention_axis axes[3];
} vly_attention_piece;

/* The tensors of a part that is compact; not of packed or paged sequences.
 * pieces  [VLY_ATTENTION_PIECES]
 * Returns their number. */
uint32_t vly_attention_pieces(const vly_attention_desc *desc,
                              const vly_attention_share *part,
                              vly_attention_piece *pieces);

/* Has the piece the same steps in the caller's tensor? */
bool vly_attention_piece_is_in_place(const vly_attention_piece *piece);

/* The description of a part; compact: Q, K, V and O too, aligned to 256 bytes,
 * otherwise they have the layout of the whole. */
vly_attention_desc vly_attention_part_desc(const vly_attention_desc *desc,
                                           const vly_attention_share *part,
                                           bool compact);

#endif
