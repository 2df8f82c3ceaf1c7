/* SPDX-License-Identifier: Apache-2.0
 * Checks of runs of volley.rwkv/1: the pointers of each operation, their sizes,
 * and which of them may be the same.
 */
#include "accel_common.h"
#include "element.h"
#include "rwkv_check.h"

enum { MOST = 40 };

typedef struct pointer {
    const char *name;
    uint32_t number; /* index of a product, otherwise UINT32_MAX */
    uint32_t size;   /* of an element */
    const void *at;
    const void *twin; /* input that an output may replace; NULL: none */
    uint64_t bytes;
    uint32_t written;
    uint32_t optional;
} pointer;

typedef struct pointers {
    const vly_rwkv_desc *desc;
    uint32_t n;
    uint32_t number;
    pointer list[MOST];
} pointers;

/* Adds an array of `count` elements; returns it. */
static pointer *add(pointers *p, const char *name, const void *at,
                    uint64_t count, uint32_t type)
{
    pointer *one = &p->list[p->n++];
    const uint32_t bits = vly_element_bits(type);
    *one = (pointer){.name = name,
                     .number = p->number,
                     .size = bits < 8 ? 1 : bits / 8,
                     .at = at,
                     .bytes = (count * bits + 7) / 8};
    return one;
}

static void add_out(pointers *p, const char *name, const void *at,
                    uint64_t count, uint32_t type, const void *twin)
{
    pointer *one = add(p, name, at, count, type);
    one->written = 1;
    one->twin = twin;
}

static uint64_t n_rows(const vly_rwkv_desc *desc)
{
    return (uint64_t)desc->batch * desc->seq;
}

#define VECTOR(field) add(p, #field, run->field, p->desc->width, F32)
#define F32 VLY_ELEMENT_F32

static void list_embed(pointers *p, const vly_rwkv_run *run)
{
    const vly_rwkv_desc *desc = p->desc;
    add(p, "token", run->token, n_rows(desc), VLY_ELEMENT_I32);
    add(p, "table", run->table, (uint64_t)desc->vocabulary * desc->width,
        desc->type_matrix);
    if (desc->flags & VLY_RWKV_WITH_NORM) {
        VECTOR(norm_weight);
        VECTOR(norm_bias);
    }
    add_out(p, "x", run->x, n_rows(desc) * desc->width, F32, NULL);
}

static void list_mix(pointers *p, const vly_rwkv_run *run)
{
    const vly_rwkv_desc *desc = p->desc;
    const uint64_t values = n_rows(desc) * desc->width;
    add(p, "x", run->x, values, F32);
    VECTOR(norm_weight);
    VECTOR(norm_bias);
    add(p, "mix", run->mix, (uint64_t)desc->n_mix * desc->width, F32);
    add_out(p, "last", run->last, (uint64_t)desc->batch * desc->width, F32,
            NULL);
    add_out(p, "mixed", run->mixed, desc->n_mix * values, desc->type, NULL);
}

static void list_products(pointers *p, const vly_rwkv_run *run)
{
    const vly_rwkv_desc *desc = p->desc;
    for (uint32_t i = 0; i < desc->n_products; i++) {
        const vly_rwkv_product *one = &desc->product[i];
        const uint64_t weights = (uint64_t)one->n * one->k;
        p->number = i;
        add(p, "product_x", run->product_x[i], n_rows(desc) * one->k,
            desc->type);
        add(p, "product_w", run->product_w[i], weights, one->type);
        if (one->type == VLY_ELEMENT_I8 || one->type == VLY_ELEMENT_I4)
            add(p, "product_scale", run->product_scale[i],
                one->type == VLY_ELEMENT_I8 ? one->n : weights / 128,
                desc->type);
        add_out(p, "product_y", run->product_y[i], n_rows(desc) * one->n,
                one->type_y, NULL);
    }
    p->number = UINT32_MAX;
}

/* lora_* and matrix_* of PREPARE and STEP. */
static void list_lora(pointers *p, const vly_rwkv_run *run)
{
    const vly_rwkv_desc *desc = p->desc;
    const void *const in[4] = {run->lora_w, run->lora_a, run->lora_v,
                               run->lora_g};
    const void *const matrix[4] = {run->matrix_w, run->matrix_a, run->matrix_v,
                                   run->matrix_g};
    static const char *const names[2][4] = {
        {"lora_w", "lora_a", "lora_v", "lora_g"},
        {"matrix_w", "matrix_a", "matrix_v", "matrix_g"}};
    const bool is_lora = (desc->flags & VLY_RWKV_LORA) != 0;
    for (uint32_t i = 0; i < (is_lora ? 4u : 3u); i++) {
        if (i == 2 && (desc->flags & VLY_RWKV_FIRST))
            continue;
        add(p, names[0][i], in[i],
            n_rows(desc) * (is_lora ? desc->rank[i] : desc->width), desc->type);
        if (is_lora)
            add(p, names[1][i], matrix[i],
                (uint64_t)desc->width * desc->rank[i], desc->type_matrix);
    }
}

static void list_heads_in(pointers *p, const vly_rwkv_run *run)
{
    const vly_rwkv_desc *desc = p->desc;
    const uint64_t values = n_rows(desc) * desc->width;
    const bool is_first = (desc->flags & VLY_RWKV_FIRST) != 0;
    add(p, "r", run->r, values, desc->type);
    add(p, "k", run->k, values, desc->type);
    add(p, "v", run->v, values, desc->type);
    list_lora(p, run);
    VECTOR(bias_w);
    VECTOR(bias_a);
    if (!is_first)
        VECTOR(bias_v);
    VECTOR(k_k);
    VECTOR(k_a);
    add(p, "v_first", run->v_first, values, desc->type)->written =
        (uint32_t)is_first;
}

static void list_prepare(pointers *p, const vly_rwkv_run *run)
{
    const vly_rwkv_desc *desc = p->desc;
    const uint64_t values = n_rows(desc) * desc->width;
    const bool same = desc->type_wkv == desc->type;
    list_heads_in(p, run);
    add_out(p, "wkv_r", run->wkv_r, values, desc->type_wkv,
            same ? run->r : NULL);
    add_out(p, "wkv_w", run->wkv_w, values, desc->type_wkv, NULL);
    add_out(p, "wkv_k", run->wkv_k, values, desc->type_wkv,
            same ? run->k : NULL);
    add_out(p, "wkv_v", run->wkv_v, values, desc->type_wkv,
            same ? run->v : NULL);
    add_out(p, "wkv_a", run->wkv_a, values, desc->type_wkv, NULL);
    add_out(p, "wkv_b", run->wkv_b, values, desc->type_wkv, NULL);
    if (desc->flags & VLY_RWKV_LORA)
        add_out(p, "g", run->g, values, desc->type, NULL);
}

static void list_heads_out(pointers *p, const vly_rwkv_run *run)
{
    const vly_rwkv_desc *desc = p->desc;
    const uint64_t values = n_rows(desc) * desc->width;
    const bool has_g =
        desc->op == VLY_RWKV_FINISH || !(desc->flags & VLY_RWKV_LORA);
    VECTOR(r_k);
    VECTOR(group_weight);
    VECTOR(group_bias);
    if (has_g)
        add(p, "g", run->g, values, desc->type);
    add_out(p, "y", run->y, values, desc->type, has_g ? run->g : NULL);
}

static void list_finish(pointers *p, const vly_rwkv_run *run)
{
    const vly_rwkv_desc *desc = p->desc;
    const uint64_t values = n_rows(desc) * desc->width;
    add(p, "wkv_r", run->wkv_r, values, desc->type_wkv);
    add(p, "wkv_k", run->wkv_k, values, desc->type_wkv);
    add(p, "wkv_v", run->wkv_v, values, desc->type_wkv);
    add(p, "wkv_y", run->wkv_y, values, desc->type_wkv);
    list_heads_out(p, run);
}

static void list_step(pointers *p, const vly_rwkv_run *run)
{
    const vly_rwkv_desc *desc = p->desc;
    const uint64_t state = (uint64_t)desc->batch * desc->width * VLY_RWKV_DIM;
    list_heads_in(p, run);
    add(p, "state_in", run->state_in, state, F32)->optional = 1;
    add_out(p, "state_out", run->state_out, state, F32, run->state_in);
    list_heads_out(p, run);
}

/* ACTIVATE, ADD and NORM. */
static void list_small(pointers *p, const vly_rwkv_run *run)
{
    const vly_rwkv_desc *desc = p->desc;
    const uint64_t values = n_rows(desc) * desc->width;
    const uint64_t last = (uint64_t)desc->batch * desc->width;
    if (desc->op == VLY_RWKV_ACTIVATE) {
        add_out(p, "lora_w", run->lora_w, n_rows(desc) * desc->rank[0],
                desc->type, NULL);
        add_out(p, "lora_g", run->lora_g, n_rows(desc) * desc->rank[3],
                desc->type, NULL);
    } else if (desc->op == VLY_RWKV_ADD) {
        add(p, "y", run->y, values, desc->type);
        add_out(p, "x", run->x, values, F32, NULL);
    } else {
        add(p, "x", run->x, values, F32);
        VECTOR(norm_weight);
        VECTOR(norm_bias);
        add_out(p, "y", run->y, desc->flags & VLY_RWKV_LAST ? last : values,
                desc->type, NULL);
    }
}

static void list_all(pointers *p, const vly_rwkv_run *run)
{
    static void (*const of[VLY_RWKV_N_OPS])(pointers *,
                                            const vly_rwkv_run *) = {
        [VLY_RWKV_EMBED] = list_embed,       [VLY_RWKV_MIX] = list_mix,
        [VLY_RWKV_PRODUCTS] = list_products, [VLY_RWKV_ACTIVATE] = list_small,
        [VLY_RWKV_PREPARE] = list_prepare,   [VLY_RWKV_FINISH] = list_finish,
        [VLY_RWKV_STEP] = list_step,         [VLY_RWKV_ADD] = list_small,
        [VLY_RWKV_NORM] = list_small,
    };
    of[p->desc->op](p, run);
    if (p->desc->flags & VLY_RWKV_LENGTHS)
        add(p, "length", run->length, p->desc->batch, VLY_ELEMENT_I32);
}

/* "product_y[3]" */
static vly_status fail(const pointers *p, const pointer *one,
                       const char *plugin, const char *what, vly_error *error)
{
    const char *op = vly_rwkv_op_name(p->desc->op);
    if (one->number == UINT32_MAX)
        return vly_support_fail(error, VLY_E_INVALID, "%s: rwkv %s: %s %s",
                                plugin, op, one->name, what);
    return vly_support_fail(error, VLY_E_INVALID, "%s: rwkv %s: %s[%u] %s",
                            plugin, op, one->name, one->number, what);
}

static vly_status check_pointer(const pointers *p, const pointer *one,
                                const char *plugin, vly_error *error)
{
    uint32_t align = p->desc->align != 0 ? p->desc->align : 256;
    if (align < one->size)
        align = one->size;
    if (!one->at && !one->optional)
        return fail(p, one, plugin, "is NULL", error);
    if ((uintptr_t)one->at % align != 0)
        return fail(p, one, plugin, "is not aligned as the description says",
                    error);
    return VLY_OK;
}

static bool pointers_meet(const pointer *a, const pointer *b)
{
    const uintptr_t at_a = (uintptr_t)a->at;
    const uintptr_t at_b = (uintptr_t)b->at;
    if (at_a == 0 || at_b == 0)
        return false;
    if (a->twin && a->at == a->twin && b->at == a->twin && !b->written)
        return false;
    return at_a < at_b + b->bytes && at_b < at_a + a->bytes;
}

vly_status vly_rwkv_check_run(const vly_rwkv_desc *desc,
                              const vly_rwkv_run *run, const char *plugin,
                              vly_error *error)
{
    pointers all = {.desc = desc, .number = UINT32_MAX};
    if (!run || run->struct_size < sizeof *run)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: the run is shorter than that of "
                                "volley.rwkv/1",
                                plugin);
    if (vly_accel_check_reserved("run", run->reserved, error) != VLY_OK)
        return VLY_E_INVALID;
    list_all(&all, run);
    for (uint32_t i = 0; i < all.n; i++)
        if (check_pointer(&all, &all.list[i], plugin, error) != VLY_OK)
            return VLY_E_INVALID;
    for (uint32_t i = 0; i < all.n; i++)
        for (uint32_t j = 0; j < all.n && all.list[i].written; j++)
            if (j != i && pointers_meet(&all.list[i], &all.list[j])) {
                char what[64] = "overlaps ";
                strncat(what, all.list[j].name, 40);
                return fail(&all, &all.list[i], plugin, what, error);
            }
    return VLY_OK;
}
