/* SPDX-License-Identifier: Apache-2.0
 * Runs of cuDNN with sequences that have lengths.
 *
 * For a forward run K, V and the outputs are copied, for a backward run all
 * tensors; with pages only O and lse. The bytes moved grow with the sequence,
 * the work with its square: for 16 k tokens at 2048 the copies are estimated to
 * take 15% of a forward run.
 */
#include "cudnn_guard.h"

#include <string.h>

#include "accel_cuda.h"
#include "kernels/accelerators/attention_guard.h"

/* Tensors of a run, the members of vly_attention_run by number. */
enum { Q, K, V, O, LSE, GRAD_O, GRAD_Q, GRAD_K, GRAD_V, N };

enum { NOT_COPIED = 0, READ = 1, WRITTEN = 2 };

static bool is_backward(const vly_attention_desc *desc)
{
    return (desc->flags & VLY_ATTENTION_BACKWARD) != 0;
}

static bool is_paged(const vly_attention_desc *desc)
{
    return (desc->flags & VLY_ATTENTION_PAGED) != 0;
}

static bool is_of_keys(int which)
{
    return which == K || which == V || which == GRAD_K || which == GRAD_V;
}

bool vly_cudnn_guarded(const vly_attention_desc *desc)
{
    return (desc->flags & VLY_ATTENTION_LENGTHS) != 0;
}

static int use_of(const vly_attention_desc *desc, int which)
{
    if (!vly_cudnn_guarded(desc))
        return NOT_COPIED;
    if (is_backward(desc))
        return which >= GRAD_Q ? WRITTEN : READ;
    if (which == O || (which == LSE && (desc->flags & VLY_ATTENTION_LSE) != 0))
        return WRITTEN;
    return (which == K || which == V) && !is_paged(desc) ? READ : NOT_COPIED;
}

static uint32_t dim_of(const vly_attention_desc *desc, int which)
{
    const bool is_v =
        which == V || which == O || which == GRAD_O || which == GRAD_V;
    return is_v ? desc->dim_v : desc->dim;
}

static const vly_attention_layout *layout_of(const vly_attention_desc *desc,
                                             int which)
{
    switch (which) {
    case Q:
    case GRAD_Q:
        return &desc->q;
    case K:
    case GRAD_K:
        return &desc->k;
    case V:
    case GRAD_V:
        return &desc->v;
    default:
        return &desc->o;
    }
}

static uint64_t bytes_of(const vly_attention_desc *desc, int which)
{
    const uint64_t rows =
        is_of_keys(which)
            ? (uint64_t)desc->batch * desc->seq_kv * desc->heads_kv
            : (uint64_t)desc->batch * desc->seq_q * desc->heads_q;
    const uint64_t row = which == LSE ? 4 : 2ull * dim_of(desc, which);
    return (rows * row + 255) / 256 * 256;
}

uint64_t vly_cudnn_guard_bytes(const vly_attention_desc *desc)
{
    uint64_t bytes = 0;
    for (int i = 0; i < N; i++)
        if (use_of(desc, i) != NOT_COPIED)
            bytes += bytes_of(desc, i);
    return bytes;
}

static vly_attention_layout tight(uint32_t heads, uint32_t seq, uint32_t dim)
{
    const vly_attention_layout layout = {.batch = (uint64_t)heads * seq * dim,
                                         .seq = (uint64_t)heads * dim,
                                         .head = dim};
    return layout;
}

vly_attention_desc vly_cudnn_guard_desc(const vly_attention_desc *desc)
{
    vly_attention_desc d = *desc;
    if (use_of(desc, Q) != NOT_COPIED)
        d.q = tight(d.heads_q, d.seq_q, d.dim);
    if (use_of(desc, K) != NOT_COPIED)
        d.k = tight(d.heads_kv, d.seq_kv, d.dim);
    if (use_of(desc, V) != NOT_COPIED)
        d.v = tight(d.heads_kv, d.seq_kv, d.dim_v);
    if (use_of(desc, O) != NOT_COPIED)
        d.o = tight(d.heads_q, d.seq_q, d.dim_v);
    return d;
}

/* ---- runs -------------------------------------------------------------- */

static void pointers_of(const vly_attention_run *run, const void *pointers[N])
{
    const void *all[N] = {run->q,      run->k,      run->v,
                          run->o,      run->lse,    run->grad_o,
                          run->grad_q, run->grad_k, run->grad_v};
    memcpy(pointers, all, sizeof all);
}

/* removes const where the run has none: outputs, or only read */
static void *loose(const void *pointer)
{
    void *p = NULL;
    memcpy(&p, &pointer, sizeof p);
    return p;
}

static void set_pointers(vly_attention_run *run, const void *const pointers[N])
{
    run->q = pointers[Q];
    run->k = pointers[K];
    run->v = pointers[V];
    run->o = loose(pointers[O]);
    run->lse = loose(pointers[LSE]);
    run->grad_o = pointers[GRAD_O];
    run->grad_q = loose(pointers[GRAD_Q]);
    run->grad_k = loose(pointers[GRAD_K]);
    run->grad_v = loose(pointers[GRAD_V]);
}

static vly_status copy(const vly_attention_desc *desc,
                       const vly_attention_run *run, int which,
                       const void *from, const void *to, vly_error *error)
{
    const int keys = is_of_keys(which);
    const vly_attention_layout *layout = layout_of(desc, which);
    const bool in = use_of(desc, which) == READ;
    const vly_attention_guard guard = {
        .from = from,
        .to = loose(to),
        .length = keys ? run->length_kv : run->length_q,
        .other = keys ? run->length_q : run->length_kv,
        .stride = {layout->batch, layout->seq, layout->head},
        .batch = desc->batch,
        .heads = keys ? desc->heads_kv : desc->heads_q,
        .seq = keys ? desc->seq_kv : desc->seq_q,
        .dim = dim_of(desc, which),
    };
    int code = 0;
    if (which == LSE)
        code = in ? vly_attention_guard_lse_in(&guard, run->stream)
                  : vly_attention_guard_lse_out(&guard, run->stream);
    else
        code = in ? vly_attention_guard_in(&guard, run->stream)
                  : vly_attention_guard_out(&guard, run->stream);
    return vly_accel_cuda_check(code, "cudnn: copies of sequences with lengths",
                                error);
}

vly_status vly_cudnn_guard_begin(const vly_attention_desc *desc,
                                 const vly_attention_run *run, void *copies,
                                 vly_attention_run *copied, vly_error *error)
{
    const void *pointers[N];
    uint8_t *at = copies;
    vly_status status = VLY_OK;
    pointers_of(run, pointers);
    for (int i = 0; status == VLY_OK && i < N; i++) {
        const int use = use_of(desc, i);
        if (use == NOT_COPIED)
            continue;
        if (use == READ)
            status = copy(desc, run, i, pointers[i], at, error);
        pointers[i] = at;
        at += bytes_of(desc, i);
    }
    *copied = *run;
    set_pointers(copied, pointers);
    return status;
}

vly_status vly_cudnn_guard_end(const vly_attention_desc *desc,
                               const vly_attention_run *run,
                               const vly_attention_run *copied,
                               vly_error *error)
{
    const void *theirs[N];
    const void *copies[N];
    vly_status status = VLY_OK;
    pointers_of(run, theirs);
    pointers_of(copied, copies);
    for (int i = 0; i < N; i++)
        if (use_of(desc, i) == WRITTEN)
            VLY_TRY(copy(desc, run, i, copies[i], theirs[i], error));
out:
    return status;
}
