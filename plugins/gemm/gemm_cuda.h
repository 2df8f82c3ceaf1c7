/* SPDX-License-Identifier: Apache-2.0
 * Inside gemm_cuda.so: the library, the ways a product can be computed, the
 * choice between them.
 */
#ifndef VOLLEY_GEMM_CUDA_H
#define VOLLEY_GEMM_CUDA_H

#include <stdbool.h>
#include <stdint.h>

#include <cublasLt.h>

#include "accel_common.h"
#include "accel_cuda.h"
#include "gemm_check.h"
#include "kernels/accelerators/gemm_kernels.h"

/* ---- gemm_cuda_library.c: cuBLASLt, opened at run time ------------------- */

/* Its functions. Types and enumerations of versions 12 and 13 are the same for
 * all that is used here: opaque descriptors, an algorithm of 64 bytes, a
 * heuristic result of 96, attributes by number. An older version refuses
 * unknown attributes (scale modes before 12.9) by status. */
typedef struct vly_cublaslt {
    size_t (*version)(void);
    cublasStatus_t (*create)(cublasLtHandle_t *);
    const char *(*status_string)(cublasStatus_t); /* may be NULL */
    cublasStatus_t (*desc_create)(cublasLtMatmulDesc_t *, cublasComputeType_t,
                                  cudaDataType_t);
    cublasStatus_t (*desc_destroy)(cublasLtMatmulDesc_t);
    cublasStatus_t (*desc_set)(cublasLtMatmulDesc_t,
                               cublasLtMatmulDescAttributes_t, const void *,
                               size_t);
    cublasStatus_t (*layout_create)(cublasLtMatrixLayout_t *, cudaDataType_t,
                                    uint64_t, uint64_t, int64_t);
    cublasStatus_t (*layout_destroy)(cublasLtMatrixLayout_t);
    cublasStatus_t (*layout_set)(cublasLtMatrixLayout_t,
                                 cublasLtMatrixLayoutAttribute_t, const void *,
                                 size_t);
    cublasStatus_t (*pref_create)(cublasLtMatmulPreference_t *);
    cublasStatus_t (*pref_destroy)(cublasLtMatmulPreference_t);
    cublasStatus_t (*pref_set)(cublasLtMatmulPreference_t,
                               cublasLtMatmulPreferenceAttributes_t,
                               const void *, size_t);
    cublasStatus_t (*heuristic)(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                cublasLtMatmulPreference_t, int,
                                cublasLtMatmulHeuristicResult_t *, int *);
    cublasStatus_t (*algo_check)(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                 cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                 cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                 const cublasLtMatmulAlgo_t *,
                                 cublasLtMatmulHeuristicResult_t *);
    cublasStatus_t (*algo_get)(const cublasLtMatmulAlgo_t *,
                               cublasLtMatmulAlgoConfigAttributes_t, void *,
                               size_t, size_t *);
    cublasStatus_t (*matmul)(cublasLtHandle_t, cublasLtMatmulDesc_t,
                             const void *, const void *, cublasLtMatrixLayout_t,
                             const void *, cublasLtMatrixLayout_t, const void *,
                             const void *, cublasLtMatrixLayout_t, void *,
                             cublasLtMatrixLayout_t,
                             const cublasLtMatmulAlgo_t *, void *, size_t,
                             cudaStream_t);
} vly_cublaslt;

/* The library (file NULL: libcublasLt.so.13, otherwise .so.12) and its handle
 * for the current device, which must be `device`; both are kept until the
 * process ends.
 * Errors  E_UNSUPPORTED it cannot be opened; E_DEVICE it gives no handle
 * Thread  [any-thread] */
vly_status vly_gemm_cuda_library(const char *file, uint32_t device,
                                 const vly_cublaslt **library,
                                 cublasLtHandle_t *handle, vly_error *error);

/* OK, or E_DEVICE "what: why" with the status as text. */
vly_status vly_gemm_cuda_status(const vly_cublaslt *library,
                                cublasStatus_t status, const char *what,
                                vly_error *error);

/* ---- candidates ------------------------------------------------------------
 */

enum {
    VLY_GEMM_WAY_NONE = 0,    /* D has no elements */
    VLY_GEMM_WAY_OWN = 1,     /* gemm_own.cu */
    VLY_GEMM_WAY_GEMV = 2,    /* gemv_*.cu */
    VLY_GEMM_WAY_LIBRARY = 3, /* cuBLASLt */
};

enum { VLY_GEMM_MOST_HEURISTICS = 16, VLY_GEMM_MOST_CANDIDATES = 48 };

/* One way to compute the product of a plan, in the form stored in the cache. */
typedef struct vly_gemm_candidate {
    uint32_t way;
    uint32_t shape;   /* of a GEMV */
    uint32_t n_parts; /* of a GEMV */
    uint32_t staged;  /* library: sums to the workspace, then an own kernel */
    cublasLtMatmulAlgo_t algo;
    uint64_t library_bytes; /* bytes of workspace for the algorithm */
    double seconds;         /* of one run, 0: not measured */
} vly_gemm_candidate;

/* ---- gemm_cuda_lt.c: descriptors of cuBLASLt --------------------------------
 */

/* Row-major D is column-major D transposed, which is op(B)^T op(A)^T: so our B
 * is the library's A with its rows and columns exchanged, and the other way
 * round. */
typedef struct vly_gemm_lt {
    const vly_cublaslt *library;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t layout_a; /* our A */
    cublasLtMatrixLayout_t layout_b;
    cublasLtMatrixLayout_t layout_c;
    cublasLtMatrixLayout_t layout_d;
    uint32_t staged;
    uint32_t one_by_one; /* 1: a call for each product of the batch */
    uint64_t rows;       /* of A and D in a call */
    uint32_t n_pieces;   /* 1: rows are m; otherwise run_pieces is used */
    uint32_t reserved;
} vly_gemm_lt;

/* Can the library compute it, with D written by it (staged 0), or sums to the
 * workspace? */
bool vly_gemm_lt_can(const vly_gemm_problem *problem, uint32_t staged);
/* lt: library and handle are set, the rest is 0. Errors E_DEVICE (the library
 * refuses an attribute); lt may be given to deinit then */
vly_status vly_gemm_lt_init(vly_gemm_lt *lt, const vly_gemm_problem *problem,
                            uint32_t staged, vly_error *error);
void vly_gemm_lt_deinit(vly_gemm_lt *lt);
/* Its first heuristics that need at most so many bytes, best first; *n is their
 * number.
 * Errors  E_DEVICE */
vly_status vly_gemm_lt_heuristics(const vly_gemm_lt *lt,
                                  const vly_gemm_problem *problem,
                                  uint64_t most_bytes,
                                  vly_gemm_candidate *candidates, uint32_t *n,
                                  vly_error *error);
/* Does the library still accept the candidate? Sets its library_bytes. */
bool vly_gemm_lt_check(const vly_gemm_lt *lt, vly_gemm_candidate *candidate);

/* ---- gemm_cuda_run.c
 * --------------------------------------------------------- */

/* Rows whose sums of 32 bits are in the workspace at once if the library writes
 * sums: m, or a multiple of 64 if workspace_most is too small for all. */
uint64_t vly_gemm_cuda_staged_rows(const vly_gemm_problem *problem);
/* Bytes of workspace of the candidate; UINT64_MAX on overflow. */
uint64_t vly_gemm_cuda_workspace(const vly_gemm_problem *problem,
                                 const vly_gemm_candidate *candidate);
/* Arguments of the kernels; pointers of run may be NULL. */
void vly_gemm_cuda_describe(const vly_gemm_problem *problem,
                            const vly_gemm_run *run, vly_cuda_gemm *gemm);
/* Enqueues one run into the stream of the current device. lt: for a candidate
 * of a library, otherwise unused. Checks nothing.
 * Errors  E_DEVICE */
vly_status vly_gemm_cuda_launch(const vly_gemm_problem *problem,
                                const vly_gemm_candidate *candidate,
                                const vly_gemm_lt *lt, const vly_gemm_run *run,
                                vly_error *error);

/* ---- gemm_cuda_tune.c
 * --------------------------------------------------------- */

/* Runs every candidate on random data: those whose results are not those of
 * gemm_own.cu are struck out (way NONE, logged; seconds: error as a multiple of
 * the allowed one, or VLY_GEMM_ROUNDS_BEFORE), the others are timed on factors
 * that are not in the cache. lts: [2], for staged 0 and 1.
 *
 * until_right  take the first that is right and time nothing
 * *best   index of the fastest, or of the first where memory is short and
 *         nothing could be measured (seconds 0)
 * Errors  E_DEVICE; E_UNSUPPORTED none was right, or memory is short and the
 *         product is one that is never run without a comparison */
vly_status vly_gemm_cuda_tune(const vly_gemm_problem *problem, uint32_t device,
                              const vly_gemm_lt lts[2],
                              vly_gemm_candidate *candidates, uint32_t n,
                              bool until_right, uint32_t *best,
                              vly_error *error);
/* Runs the candidate once on memory with exactly the alignment of the product,
 * without checking results. Also OK if there is no memory to try (logged).
 * Errors  E_UNSUPPORTED it does not run; E_DEVICE */
vly_status vly_gemm_cuda_runs(const vly_gemm_problem *problem, uint32_t device,
                              const vly_gemm_lt lts[2],
                              const vly_gemm_candidate *candidate,
                              vly_error *error);

/* ---- gemm_cuda_told.c
 * --------------------------------------------------------- */

/* Errors below this limit come from one rounding too many. As a value in place
 * of an error: the candidate rounds a sum before the activation. */
#define VLY_GEMM_OFF_BY_ROUNDING 1000.0
#define VLY_GEMM_ROUNDS_BEFORE (-1.0f)

/* "cublaslt 13.1.0 algo 66 tile 24 stages 0 split 1 cluster 3, staged" */
void vly_gemm_cuda_name(const vly_gemm_lt *lt, const vly_gemm_candidate *c,
                        char text[200]);
/* Does choose=NAME mean it? "gemv" means each gemv candidate, "default" the
 * first of the library. */
bool vly_gemm_cuda_is_chosen(const vly_gemm_candidate *c, const char *name);
/* Key of a choice, without device and versions, as text. */
void vly_gemm_cuda_write_key(const vly_gemm_desc *desc, const char *choose,
                             char *key, size_t size);
/* Add to the plan's list: a way that cannot run; a shape of GEMV that
 * cannot, with its purpose; a candidate that needs more workspace than
 * allowed; a usable one (lt: its library's descriptors), to be changed. */
void vly_gemm_cuda_tell_refused(vly_gemm_plan *plan, const char *name,
                                const char *why);
void vly_gemm_cuda_tell_gemv(vly_gemm_plan *plan, uint32_t shape);
void vly_gemm_cuda_tell_room(vly_gemm_plan *plan, const vly_gemm_lt *lt,
                             const vly_gemm_candidate *c);
vly_plan_candidate *vly_gemm_cuda_tell_ready(vly_gemm_plan *plan,
                                             const vly_gemm_lt *lt,
                                             const vly_gemm_candidate *c);
/* Results of vly_gemm_cuda_tune. */
void vly_gemm_cuda_tell_tuned(vly_plan_candidate *told,
                              const vly_gemm_candidate *c);

/* ---- gemm_cuda_plan.c
 * ---------------------------------------------------------- */

struct vly_gemm_plan {
    vly_gemm_problem problem;
    uint32_t device;
    uint32_t reserved;
    vly_gemm_lt lt; /* of the candidate chosen */
    vly_gemm_candidate chosen;
    vly_plan_info info;
    vly_accel_candidates looked_at;
};

vly_status vly_gemm_cuda_plan_create(const vly_device_spec *device,
                                     const vly_gemm_desc *desc,
                                     vly_gemm_plan **plan, vly_error *error);

/* ---- gemm_cuda_right.c
 * ---------------------------------------------------------- */

/* Must results of the library always be compared? Yes for scales of blocks,
 * whose layout differs between Volley and the library, and for bias and
 * activation with D of 16 bits, which some algorithms round twice. */
bool vly_gemm_cuda_must_verify(const vly_gemm_problem *problem);

/* ---- gemm_cuda_plugin.c
 * ---------------------------------------------------------- */

vly_status vly_gemm_cuda_supports(const vly_gemm_desc *desc, vly_error *error);
void vly_gemm_cuda_plan_destroy(vly_gemm_plan *plan);
vly_status vly_gemm_cuda_plan_info(const vly_gemm_plan *plan,
                                   vly_plan_info *info, vly_error *error);
vly_status vly_gemm_cuda_plan_candidate(const vly_gemm_plan *plan,
                                        uint32_t index,
                                        vly_plan_candidate *candidate,
                                        uint32_t *n, vly_error *error);
vly_status vly_gemm_cuda_run(vly_gemm_plan *plan, const vly_gemm_run *run,
                             vly_error *error);

#endif
