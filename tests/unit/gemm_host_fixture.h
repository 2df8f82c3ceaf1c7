/* SPDX-License-Identifier: Apache-2.0
 * What the tests of gemm_cuda's host side share: the plugin with kernels that
 * are compiled for the host (emulated_accelerators.h) and with a fake runtime
 * and a fake cuBLASLt (fake_runtime.c, fake_cublaslt.c), a table of
 * products, what they should be, and one of them computed in one way.
 */
#ifndef VOLLEY_GEMM_HOST_FIXTURE_H
#define VOLLEY_GEMM_HOST_FIXTURE_H

#include "volley_test.h"

#include <volley/gemm.h>

#include "conformance_element.h"
#include "fake_cublaslt.h"

#define LIBRARY "library=" TEST_LIBRARY

/* ---- the plugin ------------------------------------------------------------
 */

extern const vly_gemm *gemm;
extern fake_cublaslt_state *library;
extern int64_t n_blocks; /* of the host that are held */
extern int64_t fail_at;  /* the n-th block from now is not given; 0: all are */
extern bool has_failed;  /* it was asked for */
extern uint32_t n_warnings; /* since `behave` */

/* The setup of a group. */
int open_plugin(void **state);
void behave(fake_cublaslt_state as);

/* ---- products --------------------------------------------------------------
 */

typedef struct product {
    vly_gemm_desc desc;
    vly_gemm_run run;
    uint64_t n_d; /* elements of D including gaps between rows */
} product;

enum {
    F32 = VLY_ELEMENT_F32,
    F16 = VLY_ELEMENT_F16,
    BF16 = VLY_ELEMENT_BF16,
    E4M3 = VLY_ELEMENT_E4M3,
    I8 = VLY_ELEMENT_I8,
    I4 = VLY_ELEMENT_I4,
    I32 = VLY_ELEMENT_I32,
    TA = VLY_GEMM_TRANS_A,
    TB = VLY_GEMM_TRANS_B,
    BIAS = VLY_GEMM_BIAS,
};

typedef struct product_case {
    uint32_t a, b, d, scale_a, scale_b, flags, activation;
    uint64_t m, n, k, batch, pad;
    float beta;
} product_case;

/* Layouts, types, scales and ends of rows, and every kernel's own ends. */
extern const product_case cases[];
extern const uint32_t n_cases;

/* Of the numbers; of messages. */
extern uint64_t seed;
extern uint32_t case_now;

void make_case(product *p, const product_case *c);
void unmake(product *p);
/* Compares D with sums in double; memory between and after its rows must be
 * unchanged.
 */
void look(const product *p, const char *how);
/* Makes the plan, runs it, looks at D; false if it is not offered. info may be
 * NULL. */
bool compute(product *p, const char *options, vly_plan_info *info);

/* What can be measured in a test: a plan that measures runs each of its
 * candidates 10 to 32 times. */
#define FEW_PRODUCTS (UINT64_C(3) << 17)
/* Every case of at most so many multiplications, and how many were computed
 * that way. */
uint32_t all_cases(const char *options, uint64_t most);
/* Case i computed, and what was chosen for it. */
vly_plan_info choice_of(uint32_t i, const char *options);

#endif
