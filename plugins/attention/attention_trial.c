/* SPDX-License-Identifier: Apache-2.0
 * Random data of a shape, on the device and on the host.
 */
#include "attention_trial.h"

#include <string.h>

#include "accel_cuda.h"
#include "attention_layout.h"
#include "element.h"

enum { BLOCK = 1 << 18 }; /* random elements, repeated if more are needed */

/* splitmix64; uniform in [-1, 1) */
static uint64_t next_bits(vly_trial *trial)
{
    uint64_t z = (trial->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static float next_float(vly_trial *trial)
{
    return (float)(int32_t)(next_bits(trial) >> 40) * 0x1p-23f - 1.0f;
}

static uint32_t next_below(vly_trial *trial, uint32_t n)
{
    return n == 0 ? 0 : (uint32_t)((next_bits(trial) >> 32) * n >> 32);
}

/* ---- sizes ------------------------------------------------------------- */

/* Number of elements of a tensor, from the first to the end of the last. */
static uint64_t extent(const vly_attention_desc *desc,
                       const vly_attention_layout *layout, uint32_t heads,
                       uint32_t seq, uint32_t dim, bool is_kv)
{
    uint64_t batch = desc->batch;
    uint64_t rows = seq;
    if (batch == 0 || seq == 0)
        return 0;
    if ((desc->flags & VLY_ATTENTION_PACKED) != 0)
        return (batch * seq - 1) * layout->seq + (heads - 1) * layout->head +
               dim;
    if (is_kv && (desc->flags & VLY_ATTENTION_PAGED) != 0) {
        batch *= desc->pages_most;
        batch = desc->pages > batch ? desc->pages : batch;
        rows = desc->page_size;
    }
    return (batch - 1) * layout->batch + (rows - 1) * layout->seq +
           (heads - 1) * layout->head + dim;
}

static void want(vly_trial *trial, uint32_t which, uint32_t kind, uint32_t type,
                 uint64_t n)
{
    trial->kind[which] = kind;
    trial->type[which] = type;
    trial->bytes[which] = n * vly_element_bits(type) / 8;
}

static void want_all(vly_trial *trial, uint64_t workspace_bytes)
{
    const vly_attention_desc *d = &trial->desc;
    const bool backward = (d->flags & VLY_ATTENTION_BACKWARD) != 0;
    const uint64_t n_q = extent(d, &d->q, d->heads_q, d->seq_q, d->dim, false);
    const uint64_t n_k = extent(d, &d->k, d->heads_kv, d->seq_kv, d->dim, true);
    const uint64_t n_v =
        extent(d, &d->v, d->heads_kv, d->seq_kv, d->dim_v, true);
    const uint64_t n_o =
        extent(d, &d->o, d->heads_q, d->seq_q, d->dim_v, false);
    const uint64_t heads = (uint64_t)d->batch * d->heads_kv;
    want(trial, TRIAL_Q, TRIAL_FLOATS, d->type, n_q);
    want(trial, TRIAL_K, TRIAL_FLOATS, d->type, n_k);
    want(trial, TRIAL_V, TRIAL_FLOATS, d->type, n_v);
    want(trial, TRIAL_O, TRIAL_OUT, d->type_o, n_o);
    if (backward || (d->flags & VLY_ATTENTION_LSE) != 0)
        want(trial, TRIAL_LSE, TRIAL_OUT, VLY_ELEMENT_F32,
             (uint64_t)d->batch * d->heads_q * d->seq_q);
    if (backward) {
        want(trial, TRIAL_GRAD_O, TRIAL_FLOATS, d->type_o, n_o);
        want(trial, TRIAL_GRAD_Q, TRIAL_OUT, d->type_o, n_q);
        want(trial, TRIAL_GRAD_K, TRIAL_OUT, d->type_o, n_k);
        want(trial, TRIAL_GRAD_V, TRIAL_OUT, d->type_o, n_v);
    }
    if ((d->flags & VLY_ATTENTION_LENGTHS) != 0) {
        want(trial, TRIAL_LENGTH_Q, TRIAL_INTS, VLY_ELEMENT_I32, d->batch);
        want(trial, TRIAL_LENGTH_KV, TRIAL_INTS, VLY_ELEMENT_I32, d->batch);
    }
    if ((d->flags & VLY_ATTENTION_PACKED) != 0) {
        want(trial, TRIAL_START_Q, TRIAL_INTS, VLY_ELEMENT_I32, d->batch + 1u);
        want(trial, TRIAL_START_KV, TRIAL_INTS, VLY_ELEMENT_I32, d->batch + 1u);
    }
    if ((d->flags & VLY_ATTENTION_PAGED) != 0)
        want(trial, TRIAL_PAGES, TRIAL_INTS, VLY_ELEMENT_I32,
             (uint64_t)d->batch * d->pages_most);
    if (d->type == VLY_ELEMENT_E4M3)
        for (uint32_t i = TRIAL_SCALE_Q; i <= TRIAL_SCALE_V; i++)
            want(trial, i, TRIAL_FLOATS, VLY_ELEMENT_F32, heads);
    if (d->type_o == VLY_ELEMENT_E4M3)
        want(trial, TRIAL_SCALE_O, TRIAL_FLOATS, VLY_ELEMENT_F32, 1);
    trial->kind[TRIAL_WORKSPACE] = TRIAL_OUT;
    trial->bytes[TRIAL_WORKSPACE] = workspace_bytes;
}

/* ---- contents ---------------------------------------------------------- */

/* The longest, a shorter one, and one of length 0: sequence 2 has no keys,
 * sequence 3 no queries. */
static void fill_lengths(vly_trial *trial, uint32_t which, uint32_t most,
                         int varied)
{
    int32_t *to = (int32_t *)(void *)trial->host[which];
    const uint32_t without = which == TRIAL_LENGTH_KV ? 2 : 3;
    for (uint32_t b = 0; b < trial->desc.batch; b++) {
        to[b] = (int32_t)most;
        if (varied && b > 0)
            to[b] = (int32_t)(most - next_below(trial, most));
        if (varied && b == without)
            to[b] = 0;
    }
}

static void fill_starts(vly_trial *trial, uint32_t which, uint32_t most,
                        int varied)
{
    int32_t *to = (int32_t *)(void *)trial->host[which];
    to[0] = 0;
    for (uint32_t b = 0; b < trial->desc.batch; b++)
        to[b + 1] =
            to[b] +
            (int32_t)(varied && b > 0 ? most - next_below(trial, most) : most);
}

/* A permutation of all pages. */
static void fill_pages(vly_trial *trial)
{
    int32_t *to = (int32_t *)(void *)trial->host[TRIAL_PAGES];
    const uint32_t n = trial->desc.batch * trial->desc.pages_most;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t j = next_below(trial, i + 1);
        to[i] = to[j];
        to[j] = (int32_t)i;
    }
}

static void fill_ints(vly_trial *trial, int varied)
{
    const vly_attention_desc *d = &trial->desc;
    if (trial->host[TRIAL_LENGTH_Q]) {
        fill_lengths(trial, TRIAL_LENGTH_Q, d->seq_q, varied);
        fill_lengths(trial, TRIAL_LENGTH_KV, d->seq_kv, varied);
    }
    if (trial->host[TRIAL_START_Q]) {
        fill_starts(trial, TRIAL_START_Q, d->seq_q, varied);
        fill_starts(trial, TRIAL_START_KV, d->seq_kv, varied);
    }
    if (trial->host[TRIAL_PAGES])
        fill_pages(trial);
}

/* NaN after the lengths, which must not be read; 0xff... is a NaN in every
 * type. */
static void poison(vly_trial *trial, uint32_t which, uint32_t length,
                   const vly_attention_layout *layout, uint32_t heads,
                   uint32_t seq, uint32_t dim)
{
    const uint64_t size = vly_element_bits(trial->type[which]) / 8;
    const int32_t *n = (const int32_t *)(void *)trial->host[length];
    for (uint32_t b = 0; b < trial->desc.batch; b++)
        for (uint32_t s = (uint32_t)n[b]; s < seq; s++)
            for (uint32_t h = 0; h < heads; h++)
                memset(trial->host[which] +
                           size * (b * layout->batch + s * layout->seq +
                                   h * layout->head),
                       0xff, size * dim);
}

static void poison_all(vly_trial *trial)
{
    const vly_attention_desc *d = &trial->desc;
    if (!trial->host[TRIAL_LENGTH_Q])
        return;
    poison(trial, TRIAL_Q, TRIAL_LENGTH_Q, &d->q, d->heads_q, d->seq_q, d->dim);
    if (trial->host[TRIAL_GRAD_O])
        poison(trial, TRIAL_GRAD_O, TRIAL_LENGTH_Q, &d->o, d->heads_q, d->seq_q,
               d->dim_v);
    if ((d->flags & VLY_ATTENTION_PAGED) != 0)
        return;
    poison(trial, TRIAL_K, TRIAL_LENGTH_KV, &d->k, d->heads_kv, d->seq_kv,
           d->dim);
    poison(trial, TRIAL_V, TRIAL_LENGTH_KV, &d->v, d->heads_kv, d->seq_kv,
           d->dim_v);
}

/* n elements, at most BLOCK, of type at to */
static void fill_floats(vly_trial *trial, uint32_t which, uint8_t *to,
                        uint64_t n)
{
    float values[256];
    const uint32_t type = trial->type[which];
    const bool positive = which >= TRIAL_SCALE_Q;
    for (uint64_t i = 0; i < n; i += 256) {
        const uint64_t count = n - i < 256 ? n - i : 256;
        for (uint64_t k = 0; k < count; k++) {
            values[k] = next_float(trial);
            if (positive)
                values[k] = 1.25f + 0.5f * values[k];
        }
        for (uint64_t k = 1; positive && k < count; k++)
            if ((trial->desc.flags & VLY_ATTENTION_SAME_SCALES) != 0)
                values[k] = values[0];
        vly_element_from_f32(type, values, to + i * vly_element_bits(type) / 8,
                             0, count);
    }
}

/* ---- memory ------------------------------------------------------------ */

/* Poison. Inputs of timed gradients get plausible values instead, since NaN in
 * all sums takes less power and changes the clocks: lse 12.1, O 1.06 for fp16
 * and 0.01 for bf16. */
static uint32_t filled_with(const vly_trial *trial, uint32_t which)
{
    const bool forward =
        (trial->desc.flags & VLY_ATTENTION_BACKWARD) == 0 || trial->host[which];
    if (which == TRIAL_LSE && !forward)
        return 0x41;
    return which == TRIAL_O && !forward ? 0x3c : 0xff;
}

static vly_status upload(vly_trial *trial, uint32_t which, vly_error *error)
{
    const vly_memory *memory = &vly_accel_cuda_memory;
    const uint64_t bytes = trial->bytes[which];
    uint64_t done = bytes;
    if (trial->kind[which] == TRIAL_OUT)
        return memory->fill(trial->device, trial->there[which],
                            filled_with(trial, which), bytes, NULL, error);
    if (trial->kind[which] == TRIAL_FLOATS) {
        const uint64_t most =
            (uint64_t)BLOCK * vly_element_bits(trial->type[which]) / 8;
        done = bytes < most ? bytes : most;
        if (trial->bytes[which] > most && !trial->host[which])
            return VLY_E_INVALID;
    }
    vly_status status =
        memory->copy(trial->device, trial->there[which], trial->host[which],
                     done, VLY_COPY_TO_DEVICE, NULL, error);
    while (status == VLY_OK && done < bytes) {
        const uint64_t now = bytes - done < done ? bytes - done : done;
        status = memory->copy(
            trial->device, (uint8_t *)trial->there[which] + done,
            trial->there[which], now, VLY_COPY_ON_DEVICE, NULL, error);
        done += now;
    }
    return status;
}

static vly_status make_buffer(vly_trial *trial, uint32_t which, bool on_host,
                              vly_error *error)
{
    const uint64_t bytes = trial->bytes[which];
    const uint64_t block =
        (uint64_t)BLOCK * vly_element_bits(trial->type[which]) / 8;
    uint64_t kept = bytes;
    if (trial->kind[which] == TRIAL_NONE || bytes == 0)
        return VLY_OK;
    if (trial->kind[which] == TRIAL_FLOATS && !on_host && kept > block)
        kept = block;
    if (trial->kind[which] == TRIAL_OUT && !on_host)
        kept = 0;
    vly_status status = vly_accel_cuda_memory.alloc(
        trial->device, bytes, &trial->there[which], error);
    if (status == VLY_OK && kept > 0)
        status = vly_accel_alloc(kept, 1, &trial->host[which], error);
    if (status != VLY_OK || kept == 0)
        return status;
    const uint64_t n = kept * 8 / vly_element_bits(trial->type[which]);
    if (trial->kind[which] == TRIAL_FLOATS)
        fill_floats(trial, which, trial->host[which], n < BLOCK ? n : BLOCK);
    for (uint64_t done = block;
         trial->kind[which] == TRIAL_FLOATS && done < kept; done += block)
        memcpy(trial->host[which] + done, trial->host[which],
               kept - done < block ? kept - done : block);
    if (trial->kind[which] == TRIAL_OUT)
        memset(trial->host[which], 0xff, kept);
    return VLY_OK;
}

vly_status vly_trial_init(vly_trial *trial, const vly_attention_desc *desc,
                          uint32_t device, uint64_t workspace_bytes,
                          bool on_host, vly_error *error)
{
    vly_status status = VLY_OK;
    memset(trial, 0, sizeof *trial);
    trial->desc = *desc;
    trial->device = device;
    trial->state = 20240711;
    want_all(trial, workspace_bytes);
    for (uint32_t i = 0; i < TRIAL_N; i++)
        VLY_TRY(make_buffer(trial, i, on_host, error));
    fill_ints(trial, on_host);
    if (on_host)
        poison_all(trial);
    for (uint32_t i = 0; i < TRIAL_N; i++)
        if (trial->there[i])
            VLY_TRY(upload(trial, i, error));
out:
    return status;
}

void vly_trial_deinit(vly_trial *trial)
{
    for (uint32_t i = 0; i < TRIAL_N; i++) {
        if (trial->there[i])
            vly_accel_cuda_memory.free(trial->device, trial->there[i]);
        vly_accel_free(trial->host[i]);
        trial->there[i] = NULL;
        trial->host[i] = NULL;
    }
}

vly_attention_run vly_trial_run(const vly_trial *trial, int host, void *stream)
{
    void *p[TRIAL_N];
    for (uint32_t i = 0; i < TRIAL_N; i++)
        p[i] = host ? (void *)trial->host[i] : trial->there[i];
    const vly_attention_run run = {
        .struct_size = (uint32_t)sizeof run,
        .q = p[TRIAL_Q],
        .k = p[TRIAL_K],
        .v = p[TRIAL_V],
        .o = p[TRIAL_O],
        .lse = p[TRIAL_LSE],
        .grad_o = p[TRIAL_GRAD_O],
        .grad_q = p[TRIAL_GRAD_Q],
        .grad_k = p[TRIAL_GRAD_K],
        .grad_v = p[TRIAL_GRAD_V],
        .length_q = p[TRIAL_LENGTH_Q],
        .length_kv = p[TRIAL_LENGTH_KV],
        .start_q = p[TRIAL_START_Q],
        .start_kv = p[TRIAL_START_KV],
        .page_table = p[TRIAL_PAGES],
        .scale_q = p[TRIAL_SCALE_Q],
        .scale_k = p[TRIAL_SCALE_K],
        .scale_v = p[TRIAL_SCALE_V],
        .scale_o = p[TRIAL_SCALE_O],
        .workspace = p[TRIAL_WORKSPACE],
        .workspace_bytes = trial->bytes[TRIAL_WORKSPACE],
        .stream = stream,
    };
    return run;
}

/* ---- smaller shapes ---------------------------------------------------- */

enum { SMALL_BATCH = 2, SMALL_SEQ = 150, SMALL_GROUP = 4 };

enum { GAP = 16 };

/* A small layout with its axes in the order of the old one, and with gaps
 * between rows or heads if the old one has them. old_heads: heads of the old
 * layout; rows: consecutive rows, for packed sequences those of all */
static vly_attention_layout shrink(const vly_attention_layout *old,
                                   uint32_t old_heads, uint32_t heads,
                                   uint32_t rows, uint32_t dim)
{
    vly_attention_layout layout = {0};
    if (old->head > old->seq) {
        layout.seq = dim + (old->seq > dim ? GAP : 0u);
        layout.head = rows * layout.seq;
        layout.batch = heads * layout.head;
        return layout;
    }
    layout.head = dim + (old_heads > 1 && old->head > dim ? GAP : 0u);
    layout.seq = heads * layout.head;
    if (old->seq > old_heads * (old_heads > 1 ? old->head : dim))
        layout.seq += GAP;
    layout.batch = rows * layout.seq;
    return layout;
}

vly_attention_desc vly_trial_reduce(const vly_attention_desc *desc)
{
    vly_attention_desc d = *desc;
    const uint32_t group = desc->heads_q / desc->heads_kv;
    uint32_t rows = 0;
    uint32_t packed = 1; /* sequences that share an axis of rows */
    d.batch = desc->batch > SMALL_BATCH ? SMALL_BATCH : desc->batch;
    if ((d.flags & VLY_ATTENTION_LENGTHS) != 0)
        d.batch = 4; /* see fill_lengths */
    d.heads_kv = desc->heads_kv > 2 ? 2 : desc->heads_kv;
    d.heads_q = d.heads_kv *
                (group > SMALL_GROUP && desc->seq_q > 1 ? SMALL_GROUP : group);
    /* the longer side stays longer, by the same difference if that is small */
    if (d.seq_q > SMALL_SEQ)
        d.seq_q = SMALL_SEQ;
    if (d.seq_kv > 2 * SMALL_SEQ)
        d.seq_kv = desc->seq_q == desc->seq_kv ? SMALL_SEQ : 2 * SMALL_SEQ - 1;
    if (desc->seq_q == desc->seq_kv)
        d.seq_kv = d.seq_q;
    if (d.window_left > SMALL_SEQ)
        d.window_left = SMALL_SEQ / 3;
    if (d.window_right > SMALL_SEQ)
        d.window_right = SMALL_SEQ / 5;
    rows = d.seq_kv;
    if ((d.flags & VLY_ATTENTION_PAGED) != 0) {
        d.pages_most = (d.seq_kv + d.page_size - 1) / d.page_size;
        d.pages = d.batch * d.pages_most;
        rows = d.page_size;
    }
    if ((d.flags & VLY_ATTENTION_PACKED) != 0)
        packed = d.batch;
    const uint32_t rows_q = packed * d.seq_q;
    rows *= packed;
    d.q = shrink(&desc->q, desc->heads_q, d.heads_q, rows_q, d.dim);
    d.k = shrink(&desc->k, desc->heads_kv, d.heads_kv, rows, d.dim);
    d.v = shrink(&desc->v, desc->heads_kv, d.heads_kv, rows, d.dim_v);
    d.o = shrink(&desc->o, desc->heads_q, d.heads_q, rows_q, d.dim_v);
    d.workspace_most = UINT64_MAX;
    return d;
}
