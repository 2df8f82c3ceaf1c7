/* SPDX-License-Identifier: Apache-2.0
 * The recurrence of RWKV-7 for one head, token by token (volley/wkv.h has the
 * formulas). The state stays in the first-level cache, 16 KB. Only for
 * attention_kernels.c.
 *
 * A row of the state is read once a token: its product with a is summed, the
 * row is changed, its product with r is summed. A sequence in one call and the
 * same tokens in single calls do the same operations, so they give the same
 * bits.
 */
#ifndef VOLLEY_WKV_KERNEL_H
#define VOLLEY_WKV_KERNEL_H

#include "attention_kernels.h"
#include "attention_vector.h"
#include "element.h"

enum { WKV_DIM = 64, WKV_VECS = WKV_DIM / LANES };

/* One token; decay is exp(-exp(w)). */
typedef struct wkv_token {
    float r[WKV_DIM];
    float decay[WKV_DIM];
    float k[WKV_DIM];
    float v[WKV_DIM];
    float a[WKV_DIM];
    float b[WKV_DIM];
    float y[WKV_DIM];
} wkv_token;

INLINE void wkv_load(uint32_t type, const void *from, uint64_t at, float *to)
{
    const uint16_t *halves = (const uint16_t *)from + at;
    if (type == VLY_ELEMENT_F32) {
        memcpy(to, (const float *)from + at, WKV_DIM * sizeof *to);
        return;
    }
    if (type == VLY_ELEMENT_F16) {
        for (uint32_t i = 0; i < WKV_DIM; i++)
            to[i] = vly_f16_to_f32(halves[i]);
        return;
    }
    for (uint32_t i = 0; i < WKV_DIM; i++)
        to[i] = vly_bf16_to_f32(halves[i]);
}

INLINE void wkv_save(uint32_t type, void *to, uint64_t at, const float *from)
{
    uint16_t *halves = (uint16_t *)to + at;
    if (type == VLY_ELEMENT_F32) {
        memcpy((float *)to + at, from, WKV_DIM * sizeof *from);
        return;
    }
    if (type == VLY_ELEMENT_F16) {
        for (uint32_t i = 0; i < WKV_DIM; i++)
            halves[i] = vly_f16_from_f32(from[i]);
        return;
    }
    for (uint32_t i = 0; i < WKV_DIM; i++)
        halves[i] = vly_bf16_from_f32(from[i]);
}

static void wkv_step(wkv_token *token, float *state)
{
    for (uint32_t i = 0; i < WKV_DIM; i++) {
        float *row = state + i * WKV_DIM;
        vec s[WKV_VECS];
        vec removed = splat(0.0f);
        vec read = splat(0.0f);
        for (uint32_t j = 0; j < WKV_VECS; j++) {
            s[j] = load_any(row + j * LANES);
            removed += s[j] * load(token->a + j * LANES);
        }
        const float along = sum_of(removed);
        const float value = token->v[i];
        for (uint32_t j = 0; j < WKV_VECS; j++) {
            s[j] = s[j] * load(token->decay + j * LANES) +
                   along * load(token->b + j * LANES) +
                   value * load(token->k + j * LANES);
            store_any(row + j * LANES, s[j]);
            read += s[j] * load(token->r + j * LANES);
        }
        token->y[i] = sum_of(read);
    }
}

static void wkv_head(const vly_wkv_head *head)
{
    wkv_token token __attribute__((aligned(64)));
    for (uint32_t t = 0; t < head->n_tokens; t++) {
        const uint64_t at = t * head->stride;
        wkv_load(head->type, head->r, at, token.r);
        wkv_load(head->type, head->w, at, token.decay);
        wkv_load(head->type, head->k, at, token.k);
        wkv_load(head->type, head->v, at, token.v);
        wkv_load(head->type, head->a, at, token.a);
        wkv_load(head->type, head->b, at, token.b);
        for (uint32_t j = 0; j < WKV_DIM; j += LANES)
            store(token.decay + j, exp_of(-exp_of(load(token.decay + j))));
        wkv_step(&token, head->state);
        wkv_save(head->type, head->y, at, token.y);
    }
}

#endif
