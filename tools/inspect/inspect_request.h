/* SPDX-License-Identifier: Apache-2.0
 * What an accelerator is asked for, in words:
 *
 *   gemm:TYPE:MxNxK            types as of volley bench gemm; B as weights are
 *   gemv:TYPE:NxK              the same with m = 1
 *   attention:TYPE:BATCHxHEADSxSEQxDIM    HEADS 64, or 64/8 with 8 key heads
 *   decode:TYPE:BATCHxHEADSxCACHExDIM     one query a sequence
 *   wkv:TYPE:BATCHxHEADSxSEQ   SEQ 1 is a single step
 *
 * and after another colon words with commas between them, as in
 * attention:bf16:1x64/8x16384x128:causal,backward:
 *
 *   gemm, gemv  bias relu relu2 gelu batch=N
 *   attention   causal backward deterministic nolse packed fp8out keys=N
 *   both, decode  causal_end window=N (keys before its own) behind=N lengths
 *               page=16|64
 *   wkv         lengths
 *   all         workspace=BYTES, the most that a plan may ask for
 */
#ifndef VOLLEY_TOOLS_INSPECT_REQUEST_H
#define VOLLEY_TOOLS_INSPECT_REQUEST_H

#include <volley/attention.h>
#include <volley/gemm.h>
#include <volley/wkv.h>

typedef enum inspect_kind {
    INSPECT_GEMM,
    INSPECT_ATTENTION,
    INSPECT_WKV,
} inspect_kind;

/* The description of its kind; the others are 0. */
typedef struct inspect_request {
    inspect_kind kind;
    const char *interface_id;
    vly_gemm_desc gemm;
    vly_attention_desc attention;
    vly_wkv_desc wkv;
} inspect_request;

/* Descriptions are those of volley bench, so that a choice measured there is
 * found in the cache.
 * Errors  E_INVALID the part that cannot be read, and the wanted form */
vly_status inspect_request_read(const char *product, inspect_request *request,
                                vly_error *error);

#endif
