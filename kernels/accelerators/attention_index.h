/* SPDX-License-Identifier: Apache-2.0
 * Index arithmetic of attention: which keys a query sees, which tiles a block
 * has, where a row lies, and how the swizzles permute. For CUDA and, so that
 * tests can go through all of it, for C.
 */
#ifndef VLY_ATTENTION_INDEX_H
#define VLY_ATTENTION_INDEX_H

#include <stdint.h>

#if defined(__CUDACC__)
#define VLY_INDEX_FN static __host__ __device__ __forceinline__
#else
#define VLY_INDEX_FN static inline
#endif

/* Of a sequence, so that the end of the last tile is an int32_t: no tile is
 * wider than 1,023. With more, 2^31 - 1 keys gave zeros. */
enum { VLY_ATTENTION_MOST_POSITIONS = INT32_MAX - 1023 };

/* Of one sequence. Every row of the mask is an interval of keys. */
typedef struct vly_attention_mask {
    int32_t n_q;
    int32_t n_kv;
    int32_t offset; /* the diagonal: query i stands at key i + offset */
    int32_t left;   /* keys before its own; -1: all */
    int32_t right;  /* keys after it; -1: all; causal: 0 */
} vly_attention_mask;

/* causal: 0 none, 1 from the top left, 2 from the bottom right */
VLY_INDEX_FN vly_attention_mask vly_attention_mask_make(
    int32_t n_q, int32_t n_kv, uint32_t causal, int32_t left, int32_t right)
{
    vly_attention_mask mask;
    mask.n_q = n_q;
    mask.n_kv = n_kv;
    mask.offset = causal == 2 ? n_kv - n_q : 0;
    mask.left = left;
    mask.right = causal != 0 ? 0 : right;
    return mask;
}

/* [vly_attention_first, vly_attention_end) are the keys of query i; both
 * ascend with i. Windows up to INT32_MAX do not overflow. */
VLY_INDEX_FN int32_t vly_attention_first(const vly_attention_mask *mask,
                                         int32_t i)
{
    int64_t first = 0;
    if (mask->left >= 0)
        first = (int64_t)i + mask->offset - mask->left;
    first = first < 0 ? 0 : first;
    return (int32_t)(first > mask->n_kv ? mask->n_kv : first);
}

VLY_INDEX_FN int32_t vly_attention_end(const vly_attention_mask *mask,
                                       int32_t i)
{
    int64_t end = mask->n_kv;
    if (mask->right >= 0)
        end = (int64_t)i + mask->offset + mask->right + 1;
    end = end < 0 ? 0 : end;
    return (int32_t)(end > mask->n_kv ? mask->n_kv : end);
}

/* Tiles of `width` keys for the queries [i, i + rows) cut at n_q: those of
 * [begin, end) have a key that one of them sees; those of [whole_begin,
 * whole_end), a part of them, are seen wholly by all of them. */
typedef struct vly_attention_tiles {
    int32_t begin;
    int32_t end;
    int32_t whole_begin;
    int32_t whole_end;
} vly_attention_tiles;

VLY_INDEX_FN vly_attention_tiles vly_attention_tiles_of(
    const vly_attention_mask *mask, int32_t i, int32_t rows, int32_t width)
{
    vly_attention_tiles tiles = {0, 0, 0, 0};
    const int32_t last = (i + rows < mask->n_q ? i + rows : mask->n_q) - 1;
    if (last < i)
        return tiles;
    const int32_t first = vly_attention_first(mask, i);
    const int32_t end = vly_attention_end(mask, last);
    if (end <= first)
        return tiles;
    tiles.begin = first / width;
    tiles.end = (end + width - 1) / width;
    tiles.whole_begin = (vly_attention_first(mask, last) + width - 1) / width;
    tiles.whole_end = vly_attention_end(mask, i) / width;
    if (tiles.whole_end <= tiles.whole_begin)
        tiles.whole_begin = tiles.whole_end = tiles.end;
    return tiles;
}

/* The same the other way round: the queries that see key j are [
 * vly_attention_query_first, vly_attention_query_end); both ascend with j. */
VLY_INDEX_FN int32_t vly_attention_query_first(const vly_attention_mask *mask,
                                               int32_t j)
{
    int64_t first = 0;
    if (mask->right >= 0)
        first = (int64_t)j - mask->offset - mask->right;
    first = first < 0 ? 0 : first;
    return (int32_t)(first > mask->n_q ? mask->n_q : first);
}

VLY_INDEX_FN int32_t vly_attention_query_end(const vly_attention_mask *mask,
                                             int32_t j)
{
    int64_t end = mask->n_q;
    if (mask->left >= 0)
        end = (int64_t)j - mask->offset + mask->left + 1;
    end = end < 0 ? 0 : end;
    return (int32_t)(end > mask->n_q ? mask->n_q : end);
}

/* Blocks of `rows` queries for the keys [j, j + width) cut at n_kv, as
 * vly_attention_tiles_of has tiles of keys for queries: a block and a tile that
 * intersect in one also do in the other. Queries after n_q are ignored. */
VLY_INDEX_FN vly_attention_tiles vly_attention_blocks_of(
    const vly_attention_mask *mask, int32_t j, int32_t width, int32_t rows)
{
    vly_attention_tiles blocks = {0, 0, 0, 0};
    const int32_t last = (j + width < mask->n_kv ? j + width : mask->n_kv) - 1;
    if (last < j)
        return blocks;
    const int32_t first = vly_attention_query_first(mask, j);
    const int32_t end = vly_attention_query_end(mask, last);
    if (end <= first)
        return blocks;
    blocks.begin = first / rows;
    blocks.end = (end + rows - 1) / rows;
    if (j + width > mask->n_kv) {
        blocks.whole_begin = blocks.whole_end = blocks.end;
        return blocks;
    }
    const int32_t whole_end = vly_attention_query_end(mask, j);
    blocks.whole_begin =
        (vly_attention_query_first(mask, last) + rows - 1) / rows;
    blocks.whole_end = whole_end == mask->n_q ? blocks.end : whole_end / rows;
    if (blocks.whole_end <= blocks.whole_begin)
        blocks.whole_begin = blocks.whole_end = blocks.end;
    return blocks;
}

/* ---- swizzles ---------------------------------------------------------- */

/* Rows of `chunks` chunks of 16 bytes in shared memory, chunks a multiple of 8:
 * the position of chunk c of row r. Eight rows of the same c are in eight
 * different bank groups, as ldmatrix requires. */
VLY_INDEX_FN uint32_t vly_attention_chunk(uint32_t row, uint32_t chunk,
                                          uint32_t chunks)
{
    return row * chunks + (chunk ^ (row & 7u));
}

/* The swizzle of 128 bytes of TMA and wgmma: bits 4 to 6 of a byte's address
 * are xored with bits 7 to 9. */
VLY_INDEX_FN uint32_t vly_swizzle_128(uint32_t byte)
{
    return byte ^ ((byte >> 3) & 0x70u);
}

/* Where element (row, column) of a tile of 64 columns of 2 bytes, rows of 128
 * bytes, is after TMA with that swizzle, in bytes from a base that is a
 * multiple of 1024. Wider tiles are several of these, one after the other. */
VLY_INDEX_FN uint32_t vly_attention_tma_byte(uint32_t rows, uint32_t row,
                                             uint32_t column)
{
    const uint32_t slab = column / 64u;
    return slab * rows * 128u +
           vly_swizzle_128(row * 128u + (column % 64u) * 2u);
}

/* ---- fragments of mma.m16n8k16 ----------------------------------------- */

/* Row and column of register r of lane of A (16 x 16; r 0 to 3, each of two
 * neighbouring columns) */
VLY_INDEX_FN uint32_t vly_mma_a_row(uint32_t lane, uint32_t r)
{
    return lane / 4u + 8u * (r & 1u);
}
VLY_INDEX_FN uint32_t vly_mma_a_column(uint32_t lane, uint32_t r)
{
    return 2u * (lane % 4u) + 8u * (r >> 1);
}
/* of B (16 x 8; r 0 to 1, each of two neighbouring rows) */
VLY_INDEX_FN uint32_t vly_mma_b_row(uint32_t lane, uint32_t r)
{
    return 2u * (lane % 4u) + 8u * r;
}
VLY_INDEX_FN uint32_t vly_mma_b_column(uint32_t lane)
{
    return lane / 4u;
}
/* of C (16 x 8; r 0 to 3) */
VLY_INDEX_FN uint32_t vly_mma_c_row(uint32_t lane, uint32_t r)
{
    return lane / 4u + 8u * (r >> 1);
}
VLY_INDEX_FN uint32_t vly_mma_c_column(uint32_t lane, uint32_t r)
{
    return 2u * (lane % 4u) + (r & 1u);
}

/* ldmatrix.x4: lane gives the address of row lane % 8 of matrix lane / 8, which
 * becomes register lane / 8. Row and chunk (of 8 columns) inside 16 x 16
 * elements that make a fragment of A, row-major; */
VLY_INDEX_FN uint32_t vly_ldmatrix_a_row(uint32_t lane)
{
    return lane % 8u + 8u * (lane / 8u & 1u);
}
VLY_INDEX_FN uint32_t vly_ldmatrix_a_chunk(uint32_t lane)
{
    return lane / 16u;
}
/* of two fragments of B, registers 0 and 1 of columns 0 to 7, 2 and 3 of
 * columns 8 to 15: B^T is row-major (K), */
VLY_INDEX_FN uint32_t vly_ldmatrix_bt_row(uint32_t lane)
{
    return lane % 8u + 8u * (lane / 16u);
}
VLY_INDEX_FN uint32_t vly_ldmatrix_bt_chunk(uint32_t lane)
{
    return lane / 8u & 1u;
}
/* or B is row-major and ldmatrix transposes (V). */
VLY_INDEX_FN uint32_t vly_ldmatrix_b_row(uint32_t lane)
{
    return lane % 8u + 8u * (lane / 8u & 1u);
}
VLY_INDEX_FN uint32_t vly_ldmatrix_b_chunk(uint32_t lane)
{
    return lane / 16u;
}

/* ---- work -------------------------------------------------------------- */

/* Tile number t of a persistent grid: n_blocks row blocks of each of n_heads
 * (batch and head). Heads are done in sections, whose keys and values fit L2
 * together; in a section the heaviest, the last rows, come first. */
VLY_INDEX_FN void vly_attention_tile(uint32_t t, uint32_t n_blocks,
                                     uint32_t n_heads, uint32_t section,
                                     uint32_t *block, uint32_t *head)
{
    const uint32_t first = t / (section * n_blocks) * section;
    const uint32_t heads =
        n_heads - first < section ? n_heads - first : section;
    const uint32_t in = t - first * n_blocks;
    *block = n_blocks - 1u - in / heads;
    *head = first + in % heads;
}

/* Use number `count` of something with n places, each with a barrier whose
 * phases end with its uses: which place, and the parity of the phase that ends
 * with this use. The filling thread waits for the previous phase: parity ^
 * 1. */
typedef struct vly_attention_use {
    uint32_t place;
    uint32_t parity;
} vly_attention_use;

VLY_INDEX_FN vly_attention_use vly_attention_use_of(uint32_t count, uint32_t n)
{
    vly_attention_use use;
    use.place = count % n;
    use.parity = count / n & 1u;
    return use;
}

/* Part `part` of n_parts of the tiles [0, n): [begin, end) */
VLY_INDEX_FN void vly_attention_part(int32_t n, uint32_t part, uint32_t n_parts,
                                     int32_t *begin, int32_t *end)
{
    *begin = (int32_t)((int64_t)n * part / n_parts);
    *end = (int32_t)((int64_t)n * (part + 1u) / n_parts);
}

#endif
