/* SPDX-License-Identifier: Apache-2.0
 * One product of suite attention with its buffers.
 */
#ifndef VOLLEY_BENCH_BENCH_ATTENTION_H
#define VOLLEY_BENCH_BENCH_ATTENTION_H

#include "tools/bench/bench_tensor.h"

enum {
    BENCH_Q,
    BENCH_K,
    BENCH_V,
    BENCH_O,
    BENCH_LSE,
    BENCH_GRAD_O,
    BENCH_GRAD_Q,
    BENCH_GRAD_K,
    BENCH_GRAD_V,
    BENCH_PAGES,
    BENCH_SCALES,
    BENCH_N_TENSORS
};

enum { BENCH_ATTENTION_OPTIONS = 512, BENCH_DEVICES_MOST = 8 };

typedef struct bench_attention_plan {
    vly_attention_plan *plan;
    vly_plan_info info;
    void *workspace;
} bench_attention_plan;

typedef struct bench_attention_work {
    const vly_accelerator *accelerator;
    vly_attention_desc desc; /* of the forward run */
    uint32_t sets;
    bench_attention_plan plans[2]; /* forward, backward */
    const bench_attention_plan *timed;
    bench_tensor tensors[BENCH_N_TENSORS];
} bench_attention_work;

/* Compares the results of set 0 with float64 on some rows of O, or of the
 * gradients (computed from the O and lse given to the backward run). The error
 * is sqrt of the sum of squared differences over that of the values.
 * Errors  E_DEVICE the error exceeds rounding */
vly_status bench_attention_compare(bench_attention_work *work, bool backward,
                                   double *relative, vly_error *error);

/* ---- shared by rows, devices and sweeps --------------------------------- */

/* Elements of a tensor, BENCH_Q ... */
uint64_t bench_attention_count(const vly_attention_desc *desc, uint32_t which);
/* The accelerator with further options; text holds them and must outlive it. */
void bench_attention_options(const vly_accelerator *from, const char *options,
                             char text[BENCH_ATTENTION_OPTIONS],
                             vly_accelerator *to);

/* The plan of w->desc with flags, by the options of w->accelerator's device.
 * Errors  as plan_create; the plan can be freed */
vly_status bench_attention_plan_make(const bench_attention_work *w,
                                     uint32_t flags, bench_attention_plan *made,
                                     vly_error *error);
void bench_attention_plan_free(const bench_attention_work *w,
                               bench_attention_plan *plan);
vly_status bench_attention_tensors(bench_attention_work *w, bool backward,
                                   vly_error *error);
vly_status bench_attention_run(const bench_attention_work *w,
                               const bench_attention_plan *plan, uint32_t set,
                               void *stream, vly_error *error);
/* arg: a bench_attention_work; runs its plan `timed` */
vly_status bench_attention_run_timed(void *arg, uint32_t set, void *stream,
                                     vly_error *error);
void bench_attention_work_deinit(bench_attention_work *w);

/* Forward with lse, no mask, compact rows [batch][seq][heads][dim]; and its
 * cache in pages. */
vly_attention_desc bench_attention_desc(uint32_t type, uint32_t batch,
                                        uint32_t heads_q, uint32_t heads_kv,
                                        uint32_t seq_q, uint32_t seq_kv,
                                        uint32_t dim);
void bench_attention_pages(vly_attention_desc *desc, uint32_t page_size);

/* ---- bench_attention_row.c ---------------------------------------------- */

/* Plans, tensors, and a run of each kind on set 0; O and lse of every set are
 * filled when the gradients are timed. w->timed is the plan of the row. */
vly_status bench_attention_prepare(bench_attention_work *w, bool backward,
                                   vly_error *error);
/* A row with what the product counts. Errors E_INVALID there is no room */
vly_status bench_attention_row_add(const bench_options *options,
                                   const vly_attention_desc *desc,
                                   bool backward, const char *id,
                                   bench_products *products,
                                   bench_product **added, vly_error *error);
/* Keeps the reason of a row that cannot run; takes back one that failed. */
vly_status bench_attention_row_end(vly_status status, bench_product *row,
                                   bench_products *products, vly_error *error);
/* One product, if it was asked for: a row, several devices, or a sweep. */
vly_status bench_attention_one(const bench_options *options,
                               const vly_accelerator *accelerator,
                               const vly_attention_desc *desc, bool backward,
                               const char *id, bench_products *products,
                               vly_error *error);

/* ---- bench_attention_devices.c ------------------------------------------ */

/* The numbers of --devices: ascending from 1.
 * devices  [BENCH_DEVICES_MOST]
 * Errors  E_INVALID */
vly_status bench_attention_devices_read(const bench_options *options,
                                        uint32_t *devices, uint32_t *n,
                                        vly_error *error);
/* A row for each number of devices, all with the bits of one device.
 * Errors  E_DEVICE other bits, or a wrong result; as run */
vly_status bench_attention_devices(const bench_options *options,
                                   const vly_accelerator *accelerator,
                                   const vly_attention_desc *desc,
                                   bool backward, const char *id,
                                   bench_products *products, vly_error *error);

/* ---- bench_attention_sweep.c ------------------------------------------- */

/* Called before the first product, and after the last one to print the table.
 * Errors  E_INVALID --sweep cannot be read, or no product was swept; E_IO */
vly_status bench_attention_sweep_begin(const bench_options *options,
                                       const bench_results *results,
                                       vly_error *error);
vly_status bench_attention_sweep_end(const bench_options *options,
                                     vly_error *error);
/* All candidates of --sweep for one product, each compared with the reference
 * before it is timed.
 * Errors  E_DEVICE the first one is wrong, or the device no longer responds;
 * E_IO, E_STOPPED */
vly_status bench_attention_sweep(const bench_options *options,
                                 const vly_accelerator *accelerator,
                                 const vly_attention_desc *desc, bool backward,
                                 const char *id, vly_error *error);

#endif
