/* SPDX-License-Identifier: Apache-2.0
 * Products of volley.rwkv/1. A unit is 16 outputs of one product, all rows: W
 * is read once. One row reads it in its own type; for several, 16 rows of W
 * become fp32 first, which changes no bit.
 */
#include <string.h>

#include "attention_cpu.h"
#include "element.h"
#include "rwkv_cpu.h"

enum { PANEL = VLY_RWKV_PANEL, GROUP = VLY_RWKV_GROUP, CHUNK = VLY_RWKV_CHUNK };

#define WORK_WEIGHTS 5e5 /* weights times rows in about 50 us */

typedef struct product_work {
    const vly_rwkv_plan *plan;
    const vly_rwkv_run *run;
    const float *x[VLY_RWKV_MOST_PRODUCTS];     /* fp32 [R][k] */
    uint64_t units[VLY_RWKV_MOST_PRODUCTS + 1]; /* first of each product */
} product_work;

/* x of 16 bits is converted to fp32, for all products, one after the other. */
static void product_needs(const vly_rwkv_desc *desc, vly_rwkv_needs *needs)
{
    const uint64_t rows = (uint64_t)desc->batch * desc->seq;
    uint32_t most = 0;
    for (uint32_t i = 0; i < desc->n_products; i++) {
        const vly_rwkv_product *p = &desc->product[i];
        most = p->k > most ? p->k : most;
        needs->work += (double)rows * p->n * p->k / WORK_WEIGHTS;
        if (desc->type != VLY_ELEMENT_F32)
            needs->shared += rows * p->k;
    }
    /* the panel, its scales (int4), and a chunk of results */
    needs->thread = (uint64_t)PANEL * most + (uint64_t)PANEL * (most / GROUP) +
                    CHUNK * PANEL;
}

/* Scales of 16 rows of int4 as fp32. */
static void load_groups(const product_work *work, uint32_t product,
                        uint64_t first, uint32_t n, float *group)
{
    const vly_rwkv_desc *desc = &work->plan->desc;
    const uint32_t groups = desc->product[product].k / GROUP;
    work->plan->kernels->load(desc->type,
                              vly_rwkv_at(desc->type,
                                          work->run->product_scale[product],
                                          first * groups),
                              n * groups, 1.0f, group);
}

/* Finishes the sums of one row. */
static void finish_row(const product_work *work, uint32_t product,
                       uint64_t first, uint32_t n, uint64_t row, float *sums)
{
    const vly_rwkv_desc *desc = &work->plan->desc;
    const vly_rwkv_product *p = &desc->product[product];
    void *y = vly_rwkv_at_out(p->type_y, work->run->product_y[product],
                              row * p->n + first);
    if (p->type == VLY_ELEMENT_I8) {
        float scale[PANEL];
        work->plan->kernels->load(
            desc->type,
            vly_rwkv_at(desc->type, work->run->product_scale[product], first),
            n, 1.0f, scale);
        for (uint32_t j = 0; j < n; j++)
            sums[j] *= scale[j];
    }
    for (uint32_t j = n; j < PANEL; j++)
        sums[j] = 0.0f;
    work->plan->loops->activate(p->activation, sums, PANEL);
    if (p->flags & VLY_RWKV_PRODUCT_ADD) {
        float *to = y;
        for (uint32_t j = 0; j < n; j++)
            to[j] += sums[j];
    } else {
        work->plan->loops->save(p->type_y, sums, n, y);
    }
}

/* 16 outputs of rows [from, to) of plan->rows. */
static void product_chunk(const product_work *work, uint32_t product,
                          vly_rwkv_dots *dots, uint64_t first, uint32_t from,
                          uint32_t to)
{
    const uint32_t *rows = work->plan->rows;
    const float *x[CHUNK];
    for (uint32_t i = from; i < to; i++)
        x[i - from] = work->x[product] + (uint64_t)rows[i] * dots->k;
    dots->x = x;
    dots->n_x = to - from;
    work->plan->loops->dots(dots);
    for (uint32_t i = from; i < to; i++)
        finish_row(work, product, first, dots->n_w, rows[i],
                   dots->out + (i - from) * PANEL);
}

static void product_unit(void *arg, uint64_t unit, uint32_t thread)
{
    const product_work *work = arg;
    const vly_rwkv_plan *plan = work->plan;
    uint32_t product = 0;
    while (unit >= work->units[product + 1])
        product++;
    const vly_rwkv_product *p = &plan->desc.product[product];
    const uint64_t first = (unit - work->units[product]) * PANEL;
    const uint32_t n =
        p->n - first < PANEL ? (uint32_t)(p->n - first) : (uint32_t)PANEL;
    float *panel = vly_rwkv_scratch(plan, thread);
    float *group = panel + (uint64_t)PANEL * p->k;
    float *out = group + (uint64_t)PANEL * (p->k / GROUP);
    vly_rwkv_dots dots = {.w = work->run->product_w[product],
                          .group = group,
                          .out = out,
                          .first = first,
                          .type = p->type,
                          .n_w = n,
                          .k = p->k};
    if (p->type == VLY_ELEMENT_I4)
        load_groups(work, product, first, n, group);
    if (plan->n_rows > 1 && p->type != VLY_ELEMENT_F32) {
        for (uint32_t j = 0; j < n; j++)
            plan->loops->unpack(p->type, dots.w, (first + j) * p->k, p->k,
                                group + (uint64_t)j * (p->k / GROUP),
                                panel + (uint64_t)j * p->k);
        dots.w = panel;
        dots.first = 0;
        dots.type = VLY_ELEMENT_F32;
    }
    for (uint32_t from = 0; from < plan->n_rows; from += CHUNK)
        product_chunk(work, product, &dots, first, from,
                      plan->n_rows - from < CHUNK ? plan->n_rows
                                                  : from + CHUNK);
}

/* x as fp32; the same x is converted once for all products that share it. */
static void take_inputs(product_work *work)
{
    const vly_rwkv_plan *plan = work->plan;
    const vly_rwkv_desc *desc = &plan->desc;
    const uint64_t rows = (uint64_t)desc->batch * desc->seq;
    float *to = plan->shared;
    for (uint32_t i = 0; i < desc->n_products; i++) {
        const void *x = work->run->product_x[i];
        const uint32_t k = desc->product[i].k;
        work->x[i] = x;
        if (desc->type == VLY_ELEMENT_F32)
            continue;
        work->x[i] = to;
        for (uint32_t r = 0; r < plan->n_rows; r++) {
            const uint64_t at = (uint64_t)plan->rows[r] * k;
            plan->kernels->load(desc->type, vly_rwkv_at(desc->type, x, at), k,
                                1.0f, to + at);
        }
        to += rows * k;
    }
}

static void product_run(const vly_rwkv_plan *plan, const vly_rwkv_run *run)
{
    product_work work = {.plan = plan, .run = run};
    if (plan->n_rows == 0)
        return;
    take_inputs(&work);
    for (uint32_t i = 0; i < plan->desc.n_products; i++)
        work.units[i + 1] =
            work.units[i] +
            ((uint64_t)plan->desc.product[i].n + PANEL - 1) / PANEL;
    vly_attention_units(plan->n_threads, work.units[plan->desc.n_products],
                        product_unit, &work);
}

const vly_rwkv_operation vly_rwkv_cpu_products = {product_needs, product_run};
