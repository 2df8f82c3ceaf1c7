/* SPDX-License-Identifier: Apache-2.0
 * Tiles of the blocked way: some rows (queries, or keys of the gradients) that
 * a thread holds in its scratch in fp32 while it walks along the other side in
 * blocks of 64.
 */
#ifndef VOLLEY_ATTENTION_TILE_H
#define VOLLEY_ATTENTION_TILE_H

#include "attention_cpu.h"
#include "attention_view.h"

enum {
    VLY_TILE_ROWS = 192,         /* forward: 300 KB of scratch at dim 128 */
    VLY_TILE_GRADIENT_ROWS = 96, /* four arrays a row instead of two */
    VLY_TILE_COLUMNS = VLY_ATTENTION_COLUMNS,
};

/* Rows that are products' columns are padded: vectors have up to 16 lanes. */
static inline uint32_t vly_tile_pad(uint32_t dim)
{
    return (dim + 15) / 16 * 16;
}

/* Takes the next array of n floats from the scratch, aligned to 64 bytes. */
static inline float *vly_tile_take(uint8_t **at, uint64_t n)
{
    float *taken = (float *)(void *)*at;
    *at += (n * sizeof(float) + 63) / 64 * 64;
    return taken;
}

/* Intersection of the columns [first, first + n) with [from, to). */
static inline void vly_tile_range(uint32_t first, uint32_t n, uint32_t from,
                                  uint32_t to, uint32_t *begin, uint32_t *end)
{
    const uint32_t last = first + n;
    *begin = from <= first ? 0 : from >= last ? n : from - first;
    *end = to >= last ? n : to <= first ? 0 : to - first;
    *begin = *begin < *end ? *begin : *end;
}

/* out += weights [n_rows][64] values [64][width], of every row only columns
 * [begin, end). Columns outside are left out instead of being multiplied with
 * 0, so that a NaN there has no effect. */
void vly_tile_add(const vly_attention_kernels *kernels, const float *weights,
                  const float *values, float *out, uint32_t n_rows,
                  uint32_t width, const uint32_t *begin, const uint32_t *end);

/* Element i of a tensor with a type. */
static inline const void *vly_tile_at(const void *base, uint64_t i,
                                      uint32_t element_bytes)
{
    return (const char *)base + i * element_bytes;
}

/* blocked gradients, attention_gradient.c */
void vly_attention_gradient_plan(vly_attention_plan *plan, uint64_t *n_units);
void vly_attention_gradient(const vly_attention_plan *plan,
                            const vly_attention_run *run);

#endif
