/* SPDX-License-Identifier: Apache-2.0
 * A run: its pieces of work, handed out to threads.
 */
#include <stdatomic.h>

#include "element.h"
#include "gemm_cpu.h"

static const void *product_of(const void *data, uint32_t type, uint64_t element)
{
    return (const uint8_t *)data + element * vly_element_bits(type) / 8;
}

static uint64_t blocks_of(uint64_t k)
{
    return k / 128 + (k % 128 != 0);
}

vly_gemm_operand vly_gemm_operand_a(const vly_gemm_work *work, uint64_t batch)
{
    const vly_gemm_desc *desc = &work->plan->problem.desc;
    vly_gemm_operand a = {.type = desc->type_a,
                          .along_k = (desc->flags & VLY_GEMM_TRANS_A) == 0,
                          .pitch = desc->lda};
    a.data = product_of(work->run->a, desc->type_a, batch * desc->stride_a);
    if (desc->scale_a == VLY_SCALE_BLOCK) {
        a.scale_type = VLY_ELEMENT_F32;
        a.scale = product_of(work->run->scale_a, a.scale_type,
                             batch * desc->stride_scale_a);
        a.scale_rows = 1;
        a.scale_pitch = blocks_of(desc->k);
    }
    return a;
}

vly_gemm_operand vly_gemm_operand_b(const vly_gemm_work *work, uint64_t batch)
{
    const vly_gemm_desc *desc = &work->plan->problem.desc;
    vly_gemm_operand b = {.type = desc->type_b,
                          .along_k = (desc->flags & VLY_GEMM_TRANS_B) != 0,
                          .pitch = desc->ldb};
    b.data = product_of(work->run->b, desc->type_b, batch * desc->stride_b);
    if (desc->scale_b == VLY_SCALE_BLOCK || desc->scale_b == VLY_SCALE_GROUP) {
        b.scale_type = vly_gemm_scale_type(desc);
        b.scale = product_of(work->run->scale_b, b.scale_type,
                             batch * desc->stride_scale_b);
        b.scale_rows = desc->scale_b == VLY_SCALE_BLOCK ? 128 : 1;
        b.scale_pitch = blocks_of(desc->k);
    }
    return b;
}

typedef struct crew {
    const vly_gemm_work *work;
    uint64_t n_pieces;
    _Atomic uint64_t next;
} crew;

static void rest_row(const vly_gemm_work *work, uint64_t index)
{
    const vly_gemm_problem *p = &work->plan->problem;
    const uint64_t batch = index / p->desc.m;
    const uint64_t row = index % p->desc.m;
    if (p->kind == VLY_GEMM_INT8)
        vly_gemm_epilogue_whole(work, batch, row, 0, NULL, p->desc.n);
    else
        vly_gemm_epilogue(work, batch, row, 0, NULL, p->desc.n);
}

static void crew_task(void *arg, uint32_t task)
{
    crew *c = arg;
    const vly_gemm_plan *plan = c->work->plan;
    uint8_t *workspace = c->work->run->workspace;
    if (workspace)
        workspace += task * plan->tile.thread_bytes;
    for (;;) {
        const uint64_t index =
            atomic_fetch_add_explicit(&c->next, 1, memory_order_relaxed);
        if (index >= c->n_pieces)
            return;
        if (!c->work->reads)
            rest_row(c->work, index);
        else if (plan->way == VLY_GEMM_GEMV)
            vly_gemm_vector_run(c->work, index);
        else
            vly_gemm_tile_run(c->work, index, workspace);
    }
}

void vly_gemm_cpu_execute(const vly_gemm_plan *plan, const vly_gemm_run *run)
{
    const vly_gemm_problem *p = &plan->problem;
    const vly_gemm_work work = {
        .plan = plan, .run = run, .reads = vly_gemm_reads(p, run)};
    crew c = {.work = &work};
    if (p->is_empty)
        return;
    if (!work.reads)
        c.n_pieces = p->desc.m * p->desc.batch;
    else if (plan->way == VLY_GEMM_GEMV)
        c.n_pieces = vly_gemm_vector_pieces(p);
    else
        c.n_pieces = plan->tile.n_rows * plan->tile.n_cols * p->desc.batch;
    const uint64_t tasks =
        plan->n_threads < c.n_pieces ? plan->n_threads : c.n_pieces;
    vly_accel_parallel((uint32_t)tasks, crew_task, &c);
}

vly_status vly_gemm_cpu_run(vly_gemm_plan *plan, const vly_gemm_run *run,
                            vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_gemm_check_run(&plan->problem, plan->workspace_bytes, run, error));
    if (run->stream)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: a stream, but the processor has none: "
                                "wanted NULL",
                                vly_support_plugin);
    vly_gemm_cpu_execute(plan, run);
out:
    return status;
}
