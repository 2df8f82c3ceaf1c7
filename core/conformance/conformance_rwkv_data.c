/* SPDX-License-Identifier: Apache-2.0
 * The arrays of a case of volley.rwkv/1: which there are, of what size and
 * type, and random values for those that are read.
 */
#include "conformance/conformance_rwkv.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "conformance/conformance_accel.h"
#include "conformance/conformance_element.h"

#define F32 VLY_ELEMENT_F32

/* ---- description --------------------------------------------------------- */

static uint32_t other_float(uint32_t type)
{
    return type == F32 ? VLY_ELEMENT_BF16 : F32;
}

static uint32_t weights_type(uint32_t type, uint32_t weights)
{
    if (weights == RWKV_I8 || weights == RWKV_I4)
        return weights == RWKV_I8 ? VLY_ELEMENT_I8 : VLY_ELEMENT_I4;
    return weights == RWKV_OTHER && type == F32 ? VLY_ELEMENT_F16 : type;
}

static void make_desc(rwkv_data *data, uint32_t type)
{
    const rwkv_case *entry = data->entry;
    vly_rwkv_desc *desc = &data->desc;
    *desc = (vly_rwkv_desc){
        .struct_size = sizeof *desc,
        .op = entry->op,
        .flags = entry->flags,
        .type = type,
        .type_wkv = entry->wkv_is_type ? type : F32,
        .type_matrix = entry->other_matrix ? other_float(type) : type,
        .batch = entry->batch,
        .seq = entry->seq,
        .width = entry->width,
        .n_mix = entry->n_mix,
        .vocabulary = entry->op == VLY_RWKV_EMBED ? 37 : 0,
        .n_products = entry->n_products,
        .eps = entry->op == VLY_RWKV_FINISH || entry->op == VLY_RWKV_STEP
                   ? 64e-5f
                   : 1e-5f,
        .workspace_most = UINT64_C(1) << 30,
    };
    memcpy(desc->rank, entry->rank, sizeof desc->rank);
    for (uint32_t i = 0; i < entry->n_products; i++) {
        const rwkv_case_product *p = &entry->product[i];
        desc->product[i] = (vly_rwkv_product){
            .n = p->n,
            .k = p->k,
            .type = weights_type(type, p->weights),
            .type_y = p->y_is_f32 || p->adds ? F32 : type,
            .activation = p->activation,
            .flags = p->adds ? VLY_RWKV_PRODUCT_ADD : 0,
        };
    }
}

static void make_lengths(rwkv_data *data)
{
    const vly_rwkv_desc *desc = &data->desc;
    for (uint32_t b = 0; b < RWKV_BATCH_MOST; b++) {
        data->length[b] = desc->seq;
        if ((desc->flags & VLY_RWKV_LENGTHS) && b > 0)
            data->length[b] = b == 1 ? 0 : (2 * desc->seq + 2) / 3;
    }
}

bool rwkv_row_is_there(const rwkv_data *data, uint64_t row)
{
    return row % data->desc.seq < data->length[row / data->desc.seq];
}

/* ---- arrays -------------------------------------------------------------- */

static rwkv_slot *set(rwkv_data *data, uint32_t slot, uint32_t use,
                      uint64_t count, uint32_t type)
{
    rwkv_slot *s = &data->slot[slot];
    s->use = use, s->count = count, s->type = type;
    return s;
}

/* [rows][columns] */
static void set_rows(rwkv_data *data, uint32_t slot, uint32_t use,
                     uint32_t columns, uint32_t type)
{
    set(data, slot, use, (uint64_t)data->rows * columns, type)->by_row =
        columns;
}

static void set_vectors(rwkv_data *data, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i <= last; i++)
        set(data, i, RWKV_IN, data->desc.width, F32);
}

static void lie_upon(rwkv_data *data, uint32_t slot, uint32_t twin)
{
    if (data->entry->in_place && data->slot[slot].type == data->slot[twin].type)
        data->slot[slot].twin = twin;
}

static void list_heads_in(rwkv_data *data)
{
    const vly_rwkv_desc *desc = &data->desc;
    const bool is_first = (desc->flags & VLY_RWKV_FIRST) != 0;
    for (uint32_t i = RWKV_r; i <= RWKV_v; i++)
        set_rows(data, i, RWKV_IN, desc->width, desc->type);
    for (uint32_t i = 0; i < 4; i++) {
        const bool is_lora = (desc->flags & VLY_RWKV_LORA) != 0;
        if ((i == 2 && is_first) || (i == 3 && !is_lora))
            continue;
        set_rows(data, RWKV_lora_w + i, RWKV_IN,
                 is_lora ? desc->rank[i] : desc->width, desc->type);
        if (is_lora)
            set(data, RWKV_matrix_w + i, RWKV_IN,
                (uint64_t)desc->width * desc->rank[i], desc->type_matrix);
    }
    set_vectors(data, RWKV_bias_w, RWKV_bias_a);
    if (!is_first)
        set_vectors(data, RWKV_bias_v, RWKV_bias_v);
    set_vectors(data, RWKV_k_k, RWKV_k_a);
    set_rows(data, RWKV_v_first, is_first ? RWKV_OUT : RWKV_IN, desc->width,
             desc->type);
}

static void list_heads(rwkv_data *data)
{
    const vly_rwkv_desc *desc = &data->desc;
    const uint32_t width = desc->width;
    const bool is_prepare = desc->op == VLY_RWKV_PREPARE;
    const bool is_finish = desc->op == VLY_RWKV_FINISH;
    if (!is_finish)
        list_heads_in(data);
    for (uint32_t i = RWKV_wkv_r; is_prepare && i <= RWKV_wkv_b; i++)
        set_rows(data, i, RWKV_OUT, width, desc->type_wkv);
    if (is_prepare) {
        lie_upon(data, RWKV_wkv_r, RWKV_r);
        lie_upon(data, RWKV_wkv_k, RWKV_k);
        lie_upon(data, RWKV_wkv_v, RWKV_v);
        if (desc->flags & VLY_RWKV_LORA)
            set_rows(data, RWKV_g, RWKV_OUT, width, desc->type);
        return;
    }
    set_vectors(data, RWKV_r_k, RWKV_group_bias);
    set_rows(data, RWKV_y, RWKV_OUT, width, desc->type);
    if (!(desc->flags & VLY_RWKV_LORA)) {
        set_rows(data, RWKV_g, RWKV_IN, width, desc->type);
        lie_upon(data, RWKV_y, RWKV_g);
    }
    if (is_finish) {
        set_rows(data, RWKV_wkv_r, RWKV_IN, width, desc->type_wkv);
        set_rows(data, RWKV_wkv_k, RWKV_IN, width, desc->type_wkv);
        set_rows(data, RWKV_wkv_v, RWKV_IN, width, desc->type_wkv);
        set_rows(data, RWKV_wkv_y, RWKV_IN, width, desc->type_wkv);
        return;
    }
    const uint64_t state = (uint64_t)desc->batch * width * VLY_RWKV_DIM;
    set(data, RWKV_state_out, RWKV_OUT, state, F32);
    if (data->entry->no_state)
        return;
    set(data, RWKV_state_in, RWKV_IN, state, F32);
    lie_upon(data, RWKV_state_out, RWKV_state_in);
}

static void list_products(rwkv_data *data)
{
    const vly_rwkv_desc *desc = &data->desc;
    for (uint32_t i = 0; i < desc->n_products; i++) {
        const vly_rwkv_product *p = &desc->product[i];
        const uint64_t weights = (uint64_t)p->n * p->k;
        set_rows(data, RWKV_product_x + i, RWKV_IN, p->k, desc->type);
        set(data, RWKV_product_w + i, RWKV_IN, weights, p->type);
        if (p->type == VLY_ELEMENT_I8 || p->type == VLY_ELEMENT_I4)
            set(data, RWKV_product_scale + i, RWKV_IN,
                p->type == VLY_ELEMENT_I8 ? p->n : weights / 128, desc->type);
        set_rows(data, RWKV_product_y + i,
                 p->flags & VLY_RWKV_PRODUCT_ADD ? RWKV_IN | RWKV_OUT
                                                 : RWKV_OUT,
                 p->n, p->type_y);
    }
}

static void list_small(rwkv_data *data)
{
    const vly_rwkv_desc *desc = &data->desc;
    const uint32_t width = desc->width;
    if (desc->op == VLY_RWKV_ACTIVATE) {
        set_rows(data, RWKV_lora_w, RWKV_IN | RWKV_OUT, desc->rank[0],
                 desc->type);
        set_rows(data, RWKV_lora_g, RWKV_IN | RWKV_OUT, desc->rank[3],
                 desc->type);
        return;
    }
    set_rows(data, RWKV_x,
             desc->op == VLY_RWKV_EMBED ? RWKV_OUT
             : desc->op == VLY_RWKV_ADD ? RWKV_IN | RWKV_OUT
                                        : RWKV_IN,
             width, F32);
    if (desc->op == VLY_RWKV_EMBED) {
        set_rows(data, RWKV_token, RWKV_IN, 1, VLY_ELEMENT_I32);
        set(data, RWKV_table, RWKV_IN, (uint64_t)desc->vocabulary * width,
            desc->type_matrix);
    }
    if (desc->op == VLY_RWKV_ADD) {
        set_rows(data, RWKV_y, RWKV_IN, width, desc->type);
        return;
    }
    if (desc->op != VLY_RWKV_EMBED || (desc->flags & VLY_RWKV_WITH_NORM))
        set_vectors(data, RWKV_norm_weight, RWKV_norm_bias);
    if (desc->op == VLY_RWKV_MIX) {
        set(data, RWKV_mix, RWKV_IN, (uint64_t)desc->n_mix * width, F32);
        set(data, RWKV_last, RWKV_IN | RWKV_OUT, (uint64_t)desc->batch * width,
            F32);
        set(data, RWKV_mixed, RWKV_OUT,
            (uint64_t)desc->n_mix * data->rows * width, desc->type);
    }
    if (desc->op == VLY_RWKV_NORM && (desc->flags & VLY_RWKV_LAST))
        set(data, RWKV_y, RWKV_OUT, (uint64_t)desc->batch * width, desc->type);
    else if (desc->op == VLY_RWKV_NORM)
        set_rows(data, RWKV_y, RWKV_OUT, width, desc->type);
}

/* ---- values -------------------------------------------------------------- */

static double some_value(const rwkv_data *data, uint32_t slot, uint64_t i)
{
    const double u = accel_random(data->seed, slot, i);
    const uint32_t type = data->slot[slot].type;
    if (slot == RWKV_token)
        return floor((u * 0.5 + 0.5) * data->desc.vocabulary);
    if (slot == RWKV_length)
        return data->length[i];
    if (type == VLY_ELEMENT_I8 || type == VLY_ELEMENT_I4)
        return rint(u * (type == VLY_ELEMENT_I8 ? 127.0 : 7.5));
    if (slot == RWKV_norm_weight || slot == RWKV_group_weight ||
        slot == RWKV_k_k)
        return 1.0 + 0.3 * u;
    if (slot == RWKV_bias_w)
        return 4.0 * u - 1.0;
    if (slot == RWKV_x)
        return 3.0 * u + 1.0; /* a mean that is not 0 */
    if (slot >= RWKV_product_scale && slot < RWKV_product_y)
        return 0.02 + 0.01 * u;
    if (slot >= RWKV_matrix_w && slot <= RWKV_matrix_g)
        return 0.3 * u;
    return u;
}

static void fill(rwkv_data *data, uint32_t slot)
{
    rwkv_slot *s = &data->slot[slot];
    for (uint64_t i = 0; i < s->count; i++) {
        s->bound[i] = -1.0;
        s->value[i] = NAN;
        if (!(s->use & RWKV_IN) ||
            (s->by_row != 0 && !rwkv_row_is_there(data, i / s->by_row)))
            continue;
        s->value[i] = conformance_decode(
            s->type, conformance_encode(s->type, some_value(data, slot, i)));
    }
}

vly_status rwkv_data_init(rwkv_data *data, const rwkv_case *entry,
                          uint32_t type, uint64_t seed, vly_error *error)
{
    uint64_t total = 1;
    memset(data, 0, sizeof *data);
    data->entry = entry;
    data->seed = seed;
    data->rows = entry->batch * entry->seq;
    make_desc(data, type);
    make_lengths(data);
    for (uint32_t i = 0; i < RWKV_N_SLOTS; i++)
        data->slot[i].twin = i;
    if (entry->op == VLY_RWKV_PRODUCTS)
        list_products(data);
    else if (entry->op == VLY_RWKV_PREPARE || entry->op == VLY_RWKV_FINISH ||
             entry->op == VLY_RWKV_STEP)
        list_heads(data);
    else
        list_small(data);
    if (entry->flags & VLY_RWKV_LENGTHS)
        set(data, RWKV_length, RWKV_IN, entry->batch, VLY_ELEMENT_I32);
    for (uint32_t i = 0; i < RWKV_N_SLOTS; i++)
        total += 3 * data->slot[i].count;
    data->memory = vly_calloc(total, sizeof(double));
    if (!data->memory)
        return vly_fail_nomem(error, total * sizeof(double), "test data");
    double *at = data->memory;
    for (uint32_t i = 0; i < RWKV_N_SLOTS; i++) {
        rwkv_slot *s = &data->slot[i];
        s->value = at;
        s->wanted = at + s->count;
        s->bound = at + 2 * s->count;
        at += 3 * s->count;
        fill(data, i);
    }
    rwkv_truth(data);
    return VLY_OK;
}

void rwkv_data_deinit(rwkv_data *data)
{
    vly_free(data->memory);
    data->memory = NULL;
}
