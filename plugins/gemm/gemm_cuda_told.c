/* SPDX-License-Identifier: Apache-2.0
 * Names of candidates and their products, and messages about them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gemm_cuda.h"

/* Other own kernels, or another layout of vly_gemm_candidate, give another
 * key. */
#define CACHE_REVISION "6"

static uint32_t algo_number(const vly_gemm_lt *lt, const vly_gemm_candidate *c,
                            uint32_t attribute, size_t bytes)
{
    uint32_t value = 0;
    size_t written = 0;
    if (lt->library->algo_get(&c->algo,
                              (cublasLtMatmulAlgoConfigAttributes_t)attribute,
                              &value, bytes, &written) != CUBLAS_STATUS_SUCCESS)
        return 0;
    return value;
}

/* "cublaslt 13.1.0 algo 66 tile 24 stages 0 split 1 cluster 3, staged" */
void vly_gemm_cuda_name(const vly_gemm_lt *lt, const vly_gemm_candidate *c,
                        char text[200])
{
    text[0] = '\0';
    if (c->way == VLY_GEMM_WAY_NONE)
        strcpy(text, "nothing to do");
    if (c->way == VLY_GEMM_WAY_OWN)
        strcpy(text, "own");
    if (c->way == VLY_GEMM_WAY_GEMV)
        snprintf(text, 200, "%s/%u", vly_cuda_gemv_shapes[c->shape].name,
                 c->n_parts);
    if (c->way != VLY_GEMM_WAY_LIBRARY)
        return;
    const size_t version = lt->library->version();
    char pieces[32] = "";
    if (c->staged && lt->n_pieces > 1)
        snprintf(pieces, sizeof pieces, " in %u pieces", lt->n_pieces);
    /* 120901 is 12.9.1, 130100 is 13.1.0 */
    snprintf(text, 200,
             "cublaslt %zu.%zu.%zu algo %u tile %u stages %u split %u cluster "
             "%u%s%s",
             version / 10000, version / 100 % 100, version % 100,
             algo_number(lt, c, CUBLASLT_ALGO_CONFIG_ID, 4),
             algo_number(lt, c, CUBLASLT_ALGO_CONFIG_TILE_ID, 4),
             algo_number(lt, c, CUBLASLT_ALGO_CONFIG_STAGES_ID, 4),
             algo_number(lt, c, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4),
             algo_number(lt, c, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2),
             c->staged ? ", staged" : "", pieces);
}

bool vly_gemm_cuda_is_chosen(const vly_gemm_candidate *c, const char *name)
{
    if (c->way == VLY_GEMM_WAY_OWN)
        return strcmp(name, "own") == 0;
    if (c->way == VLY_GEMM_WAY_GEMV)
        return strcmp(name, "gemv") == 0 ||
               strcmp(name, vly_cuda_gemv_shapes[c->shape].name) == 0;
    return strcmp(name, "cublaslt") == 0 || strcmp(name, "default") == 0;
}

void vly_gemm_cuda_write_key(const vly_gemm_desc *d, const char *choose,
                             char *key, size_t size)
{
#define N(x) (unsigned long long)d->x
    snprintf(key, size,
             "r" CACHE_REVISION " %s t%u,%u,%u f%u s%u,%u e%u %llux%llux%llu "
             "ld%llu,%llu,%llu,%llu b%llu st%llu,%llu,%llu,%llu,%llu,%llu,%llu "
             "w%llu a%u",
             choose[0] != '\0' ? choose : "-", d->type_a, d->type_b, d->type_d,
             d->flags, d->scale_a, d->scale_b, d->activation, N(m), N(n), N(k),
             N(lda), N(ldb), N(ldc), N(ldd), N(batch), N(stride_a), N(stride_b),
             N(stride_c), N(stride_d), N(stride_bias), N(stride_scale_a),
             N(stride_scale_b), N(workspace_most), d->align);
#undef N
}

/* ---- the list of a plan ----------------------------------------------- */

void vly_gemm_cuda_tell_refused(vly_gemm_plan *plan, const char *name,
                                const char *why)
{
    (void)vly_accel_candidates_add(&plan->looked_at, VLY_CANDIDATE_REFUSED,
                                   name, why);
}

void vly_gemm_cuda_tell_gemv(vly_gemm_plan *plan, uint32_t shape)
{
    vly_gemm_cuda_tell_refused(
        plan, vly_cuda_gemv_shapes[shape].name,
        shape == VLY_CUDA_GEMV_LINES
            ? "is for one row, not fp32, k up to 16384, rows of B of whole 256 "
              "bytes, 172 KB of shared memory a block"
        : shape == VLY_CUDA_GEMV_FLOW
            ? "is for up to 8 rows, not fp32, B transposed, rows of 16 bytes"
            : "is for B transposed, A not, rows and pointers of 16 bytes");
}

void vly_gemm_cuda_tell_room(vly_gemm_plan *plan, const vly_gemm_lt *lt,
                             const vly_gemm_candidate *c)
{
    char name[200], why[128];
    vly_gemm_cuda_name(lt, c, name);
    snprintf(why, sizeof why,
             "needs %llu bytes of workspace, workspace_most is %llu",
             (unsigned long long)vly_gemm_cuda_workspace(&plan->problem, c),
             (unsigned long long)plan->problem.desc.workspace_most);
    vly_gemm_cuda_tell_refused(plan, name, why);
}

vly_plan_candidate *vly_gemm_cuda_tell_ready(vly_gemm_plan *plan,
                                             const vly_gemm_lt *lt,
                                             const vly_gemm_candidate *c)
{
    char name[200];
    vly_gemm_cuda_name(lt, c, name);
    vly_plan_candidate *told = vly_accel_candidates_add(
        &plan->looked_at, VLY_CANDIDATE_READY, name, "");
    told->workspace_bytes = vly_gemm_cuda_workspace(&plan->problem, c);
    told->measured_s = c->seconds;
    return told;
}

void vly_gemm_cuda_tell_tuned(vly_plan_candidate *told,
                              const vly_gemm_candidate *c)
{
    const double off = c->seconds;
    if (c->way != VLY_GEMM_WAY_NONE) {
        told->measured_s = c->seconds;
        return;
    }
    told->state = VLY_CANDIDATE_WRONG;
    if (off < 0.0)
        snprintf(told->note, sizeof told->note,
                 "it rounds a sum to 16 bits before the activation");
    else if (isinf(off))
        snprintf(told->note, sizeof told->note,
                 "it does not run, or gives what is not a number");
    else
        snprintf(told->note, sizeof told->note,
                 "off by %.3g times what is allowed%s", off,
                 off < VLY_GEMM_OFF_BY_ROUNDING ? ": it rounds more than once"
                                                : "");
}
