/* SPDX-License-Identifier: Apache-2.0
 * Data of a case of attention: values and memory layout of every tensor.
 */
#include "conformance/conformance_attention.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "conformance/conformance_element.h"

double attention_uniform(uint64_t seed, uint32_t stream, uint64_t i)
{
    return accel_random(seed, stream, i) / 2 + 0.5;
}

/* The sum of two uniform numbers, widened to a deviation of 1. */
double attention_random(uint64_t seed, uint32_t stream, uint64_t i)
{
    return 1.2247448713915890 * (accel_random(seed, stream, 2 * i) +
                                 accel_random(seed, stream, 2 * i + 1));
}

/* ---- the description ----------------------------------------------------- */

/* fp8 inputs with results of fp16 and of fp8 in turn, by the dim. */
static uint32_t result_type(uint32_t type, const attention_case *entry)
{
    if (type != VLY_ELEMENT_E4M3)
        return type;
    return entry->dim == 64 ? VLY_ELEMENT_BF16 : VLY_ELEMENT_E4M3;
}

static vly_attention_layout layout_of(const attention_case *entry,
                                      uint32_t heads, uint32_t seq,
                                      uint32_t dim, uint32_t paged)
{
    const uint64_t gap = entry->layout == ATTENTION_GAPS ? 16 : 0;
    const uint64_t length = paged ? entry->page_size : seq;
    vly_attention_layout layout;
    if (entry->layout == ATTENTION_BATCH_HEAD_SEQ) {
        layout.seq = dim;
        layout.head = length * dim;
        layout.batch = heads * layout.head;
        return layout;
    }
    layout.head = dim + gap;
    layout.seq = heads * layout.head + gap;
    layout.batch = length * layout.seq + 2 * gap;
    return layout;
}

void attention_data_describe(attention_data *data, const attention_case *entry,
                             uint32_t type)
{
    const uint32_t dim_v = entry->dim_v != 0 ? entry->dim_v : entry->dim;
    const uint32_t paged = (entry->flags & VLY_ATTENTION_PAGED) != 0;
    vly_attention_desc *desc = &data->desc;
    *desc = (vly_attention_desc){
        .struct_size = sizeof *desc,
        .flags = entry->flags | (entry->no_lse ? 0u : VLY_ATTENTION_LSE),
        .type = type,
        .type_o = result_type(type, entry),
        .batch = entry->batch,
        .heads_q = entry->heads_q,
        .heads_kv = entry->heads_kv,
        .seq_q = entry->seq_q,
        .seq_kv = entry->seq_kv,
        .dim = entry->dim,
        .dim_v = dim_v,
        .window_left = entry->left - 1,
        .window_right = entry->right - 1,
        .page_size = entry->page_size,
        .pages_most = paged ? (entry->seq_kv - 1) / entry->page_size + 3 : 0,
        .scale = entry->scale,
        .workspace_most = UINT64_C(1) << 30,
    };
    /* with pages of 64 their number is not given */
    desc->pages = desc->page_size == 16 ? desc->batch * desc->pages_most : 0;
    desc->q = layout_of(entry, entry->heads_q, entry->seq_q, entry->dim, 0);
    desc->o = layout_of(entry, entry->heads_q, entry->seq_q, dim_v, 0);
    desc->k =
        layout_of(entry, entry->heads_kv, entry->seq_kv, entry->dim, paged);
    desc->v = layout_of(entry, entry->heads_kv, entry->seq_kv, dim_v, paged);
}

/* ---- lengths, starts and pages ------------------------------------------- */

/* Special lengths first: longest, none, one; then random ones. */
static uint32_t some_length(uint32_t b, uint32_t most, uint64_t seed)
{
    const uint32_t first[] = {most, most / 3, 0, 1};
    if (b < 4)
        return first[b] < most ? first[b] : most;
    return 1 + (uint32_t)(attention_uniform(seed, 20, b) * (most - 1));
}

static void set_lengths(attention_data *data)
{
    const vly_attention_desc *desc = &data->desc;
    const bool vary =
        (desc->flags & (VLY_ATTENTION_LENGTHS | VLY_ATTENTION_PACKED)) != 0;
    for (uint32_t b = 0; b < desc->batch; b++) {
        data->length_q[b] =
            vary ? some_length(b, desc->seq_q, 11) : desc->seq_q;
        data->length_kv[b] =
            vary ? some_length(b, desc->seq_kv, 12) : desc->seq_kv;
        /* queries without keys, and keys without queries */
        if (vary && b == 2 && desc->seq_q > 1)
            data->length_q[b] = desc->seq_q / 2;
        if (vary && b == 3 && desc->seq_q > 1)
            data->length_q[b] = 0;
        data->start_q[b + 1] = data->start_q[b] + (int32_t)data->length_q[b];
        data->start_kv[b + 1] = data->start_kv[b] + (int32_t)data->length_kv[b];
    }
}

/* Pages in the order of their hashes: no two of a sequence are neighbours. */
static vly_status set_pages(attention_data *data, vly_error *error)
{
    const vly_attention_desc *desc = &data->desc;
    const uint32_t n = desc->batch * desc->pages_most;
    data->pages = vly_malloc(n + 1u, sizeof *data->pages);
    if (!data->pages)
        return vly_fail_nomem(error, n, "pages");
    for (uint32_t i = 0; i < n; i++) {
        int32_t rank = 0;
        for (uint32_t j = 0; j < n; j++)
            rank += attention_uniform(13, 21, j) < attention_uniform(13, 21, i);
        data->pages[i] = rank;
    }
    return VLY_OK;
}

/* ---- places -------------------------------------------------------------- */

static const vly_attention_layout *place_of(const attention_data *data,
                                            uint32_t which)
{
    switch (which) {
    case ATTENTION_Q:
    case ATTENTION_GRAD_Q:
        return &data->desc.q;
    case ATTENTION_K:
    case ATTENTION_GRAD_K:
        return &data->desc.k;
    case ATTENTION_V:
    case ATTENTION_GRAD_V:
        return &data->desc.v;
    default:
        return &data->desc.o;
    }
}

uint32_t attention_type_of(const attention_data *data, uint32_t which)
{
    if (which == ATTENTION_LSE)
        return VLY_ELEMENT_F32;
    return which == ATTENTION_Q || which == ATTENTION_K || which == ATTENTION_V
               ? data->desc.type
               : data->desc.type_o;
}

bool attention_exists(const attention_data *data, uint32_t which,
                      uint32_t batch, uint32_t position)
{
    return position < (data->values[which].is_kv ? data->length_kv[batch]
                                                 : data->length_q[batch]);
}

uint64_t attention_offset_of(const attention_data *data, uint32_t which,
                             uint32_t batch, uint32_t head, uint32_t position)
{
    const vly_attention_desc *desc = &data->desc;
    const vly_attention_layout *at = place_of(data, which);
    const uint32_t is_kv = data->values[which].is_kv;
    const uint64_t start =
        (uint64_t)(is_kv ? data->start_kv[batch] : data->start_q[batch]);
    if (which == ATTENTION_LSE && desc->flags & VLY_ATTENTION_PACKED)
        return (uint64_t)head * (uint64_t)data->start_q[desc->batch] + start +
               position;
    if (which == ATTENTION_LSE)
        return ((uint64_t)batch * desc->heads_q + head) * desc->seq_q +
               position;
    uint64_t offset = head * at->head;
    if (desc->flags & VLY_ATTENTION_PACKED)
        return offset + (start + position) * at->seq;
    if (is_kv && desc->flags & VLY_ATTENTION_PAGED) {
        int32_t page =
            data->pages[batch * desc->pages_most + position / desc->page_size];
        return offset + (uint64_t)page * at->batch +
               position % desc->page_size * at->seq;
    }
    return offset + batch * at->batch + position * at->seq;
}

uint64_t attention_extent_of(const attention_data *data, uint32_t which)
{
    const attention_values *values = &data->values[which];
    /* positions that do not exist have no place there */
    const bool placed =
        data->desc.flags & VLY_ATTENTION_PACKED ||
        (data->desc.flags & VLY_ATTENTION_PAGED && values->is_kv);
    uint64_t extent = 0;
    /* if the number of pages is given, all of them exist, used or not */
    if (data->desc.flags & VLY_ATTENTION_PAGED && values->is_kv &&
        data->desc.pages != 0) {
        const vly_attention_layout *at = place_of(data, which);
        extent = (data->desc.pages - 1) * at->batch +
                 (data->desc.page_size - 1) * at->seq +
                 (values->heads - 1) * at->head + values->dim;
    }
    for (uint32_t b = 0; b < data->desc.batch; b++)
        for (uint32_t h = 0; h < values->heads; h++)
            for (uint32_t s = 0; s < values->seq; s++) {
                if (placed && !attention_exists(data, which, b, s))
                    continue;
                uint64_t end =
                    attention_offset_of(data, which, b, h, s) + values->dim;
                extent = end > extent ? end : extent;
            }
    return extent;
}

/* ---- values -------------------------------------------------------------- */

static vly_status values_init(attention_data *data, uint32_t which,
                              vly_error *error)
{
    const vly_attention_desc *desc = &data->desc;
    attention_values *values = &data->values[which];
    const bool is_kv = which == ATTENTION_K || which == ATTENTION_V ||
                       which == ATTENTION_GRAD_K || which == ATTENTION_GRAD_V;
    const bool has_dim_v = which == ATTENTION_V || which == ATTENTION_O ||
                           which == ATTENTION_GRAD_O ||
                           which == ATTENTION_GRAD_V;
    values->is_kv = is_kv;
    values->heads = is_kv ? desc->heads_kv : desc->heads_q;
    values->seq = is_kv ? desc->seq_kv : desc->seq_q;
    values->dim = which == ATTENTION_LSE ? 1
                  : has_dim_v            ? desc->dim_v
                                         : desc->dim;
    values->n =
        (uint64_t)desc->batch * values->heads * values->seq * values->dim;
    values->value = vly_calloc(values->n + 1, sizeof(double));
    values->bound = vly_calloc(values->n + 1, sizeof(double));
    return values->value && values->bound
               ? VLY_OK
               : vly_fail_nomem(error, values->n * sizeof(double), "test data");
}

static void fill(attention_data *data, uint32_t which, uint64_t seed)
{
    attention_values *values = &data->values[which];
    const uint32_t type = attention_type_of(data, which);
    const double spread =
        data->entry->special == ATTENTION_LARGE && which <= ATTENTION_K ? 12.0
                                                                        : 1.0;
    for (uint64_t i = 0; i < values->n; i++)
        values->value[i] = conformance_decode(
            type, conformance_encode(
                      type, spread * attention_random(seed, which, i)));
}

/* NaN and inf of the special cases: in head 0 of sequence 0. */
static void set_special(attention_data *data)
{
    attention_values *values = data->values;
    const uint32_t last = data->desc.seq_kv > 0 ? data->desc.seq_kv - 1 : 0;
    double *k = values[ATTENTION_K].value;
    double *v = values[ATTENTION_V].value;
    switch (data->entry->special) {
    case ATTENTION_NAN_KEY:
        for (uint32_t c = 0; c < data->desc.dim; c++)
            k[attention_index(&values[ATTENTION_K], 0, 0, last) + c] =
                (double)NAN;
        break;
    case ATTENTION_NAN_QUERY:
        values[ATTENTION_Q]
            .value[attention_index(&values[ATTENTION_Q], 0, 0, 3)] =
            (double)NAN;
        break;
    case ATTENTION_INF_KEY:
        k[attention_index(&values[ATTENTION_K], 0, 0, 7)] = (double)INFINITY;
        break;
    case ATTENTION_INF_VALUE:
        v[attention_index(&values[ATTENTION_V], 0, 0, 7)] = (double)-INFINITY;
        break;
    default:
        break;
    }
}

/* Scales of fp8, powers of two among them and not. */
static vly_status set_scales(attention_data *data, vly_error *error)
{
    const uint32_t n = data->desc.batch * data->desc.heads_kv;
    data->scales = vly_malloc(3 * (size_t)n + 1, sizeof *data->scales);
    if (!data->scales)
        return vly_fail_nomem(error, n, "scales");
    for (uint32_t i = 0; i < 3 * n; i++)
        data->scales[i] = (float)(0.5 + attention_uniform(14, 22, i));
    for (uint32_t i = 0; i < 3 * n; i++)
        if (data->desc.flags & VLY_ATTENTION_SAME_SCALES)
            data->scales[i] = data->scales[i / n * n];
    data->scale_o = 3.0f;
    return VLY_OK;
}

vly_status attention_data_init(attention_data *data,
                               const attention_case *entry, uint32_t type,
                               uint64_t seed, vly_error *error)
{
    vly_status status = VLY_OK;
    *data = (attention_data){.entry = entry, .backward = entry->backward};
    attention_data_describe(data, entry, type);
    set_lengths(data);
    if (entry->flags & VLY_ATTENTION_PAGED)
        VLY_TRY(set_pages(data, error));
    VLY_TRY(set_scales(data, error));
    for (uint32_t i = 0; i < ATTENTION_N_VALUES; i++)
        VLY_TRY(values_init(data, i, error));
    for (uint32_t i = 0; i < ATTENTION_N_INPUTS; i++)
        fill(data, i, seed + type);
    set_special(data);
    VLY_TRY(attention_truth(data, error));
out:
    return status;
}

void attention_data_deinit(attention_data *data)
{
    for (uint32_t i = 0; i < ATTENTION_N_VALUES; i++) {
        vly_free(data->values[i].value);
        vly_free(data->values[i].bound);
    }
    vly_free(data->pages);
    vly_free(data->scales);
    *data = (attention_data){0};
}
