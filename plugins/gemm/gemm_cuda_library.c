/* SPDX-License-Identifier: Apache-2.0
 * cuBLASLt, opened when a plan first needs it, and a handle a device.
 */
#include "gemm_cuda.h"

#include <pthread.h>
#include <string.h>

#include "shared_library.h"

/* Tests without a device must not load the real library, which would look for a
 * device. */
#ifndef VLY_CUBLASLT_NAMES
#define VLY_CUBLASLT_NAMES "libcublasLt.so.13", "libcublasLt.so.12"
#endif

enum { MOST_LIBRARIES = 4, MOST_DEVICES = 32 };

/* An opened library. Guarded by `lock`; in a used entry only handles change. */
typedef struct opened {
    char file[256]; /* "": the library of the system */
    uint32_t in_use;
    vly_cublaslt functions;
    cublasLtHandle_t handles[MOST_DEVICES];
} opened;

static opened libraries[MOST_LIBRARIES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define FUNCTION(member, symbol)                                               \
    {                                                                          \
        .name = "cublasLt" symbol, .offset = offsetof(vly_cublaslt, member)    \
    }

static const vly_library_function functions[] = {
    FUNCTION(version, "GetVersion"),
    FUNCTION(create, "Create"),
    {.name = "cublasLtGetStatusString",
     .offset = offsetof(vly_cublaslt, status_string),
     .optional = 1},
    FUNCTION(desc_create, "MatmulDescCreate"),
    FUNCTION(desc_destroy, "MatmulDescDestroy"),
    FUNCTION(desc_set, "MatmulDescSetAttribute"),
    FUNCTION(layout_create, "MatrixLayoutCreate"),
    FUNCTION(layout_destroy, "MatrixLayoutDestroy"),
    FUNCTION(layout_set, "MatrixLayoutSetAttribute"),
    FUNCTION(pref_create, "MatmulPreferenceCreate"),
    FUNCTION(pref_destroy, "MatmulPreferenceDestroy"),
    FUNCTION(pref_set, "MatmulPreferenceSetAttribute"),
    FUNCTION(heuristic, "MatmulAlgoGetHeuristic"),
    FUNCTION(algo_check, "MatmulAlgoCheck"),
    FUNCTION(algo_get, "MatmulAlgoConfigGetAttribute"),
    FUNCTION(matmul, "Matmul"),
};
_Static_assert(sizeof functions / sizeof functions[0] * sizeof(void *) ==
                   sizeof(vly_cublaslt),
               "a function without a name");
_Static_assert(sizeof(cublasLtMatmulAlgo_t) == 64 &&
                   sizeof(cublasLtMatmulHeuristicResult_t) == 96,
               "the same in versions 12 and 13, and what the cache holds");

vly_status vly_gemm_cuda_status(const vly_cublaslt *library,
                                cublasStatus_t status, const char *what,
                                vly_error *error)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return VLY_OK;
    return vly_support_fail(
        error, VLY_E_DEVICE, "%s: %s (cuBLASLt, status %d)", what,
        library->status_string ? library->status_string(status) : "failed",
        (int)status);
}

/* [under the lock] */
static vly_status find(const char *file, opened **found, vly_error *error)
{
    vly_status status = VLY_OK;
    static const char *const names[] = {VLY_CUBLASLT_NAMES};
    const char *const one[] = {file};
    const bool system = file[0] == '\0';
    opened *at = libraries;
    while (at < libraries + MOST_LIBRARIES && at->in_use &&
           strcmp(at->file, file) != 0)
        at++;
    if (at == libraries + MOST_LIBRARIES || strlen(file) >= sizeof at->file)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: option library: at most %d libraries in a "
                                "process, with names of at most %zu characters",
                                vly_support_plugin, MOST_LIBRARIES,
                                sizeof at->file - 1);
    if (!at->in_use) {
        VLY_TRY(vly_library_open("cuBLASLt", system ? names : one,
                                 system ? sizeof names / sizeof names[0] : 1,
                                 functions,
                                 sizeof functions / sizeof functions[0],
                                 &at->functions, NULL, error));
        strcpy(at->file, file);
        at->in_use = 1;
    }
    *found = at;
out:
    return status;
}

vly_status vly_gemm_cuda_library(const char *file, uint32_t device,
                                 const vly_cublaslt **library,
                                 cublasLtHandle_t *handle, vly_error *error)
{
    opened *found = NULL;
    (void)pthread_mutex_lock(&lock);
    vly_status status = VLY_OK;
    VLY_TRY(find(file ? file : "", &found, error));
    if (device >= MOST_DEVICES)
        VLY_TRY(vly_support_fail(error, VLY_E_UNSUPPORTED,
                                 "%s: device %u, cuBLASLt is used on the first "
                                 "%d only",
                                 vly_support_plugin, device, MOST_DEVICES));
    if (!found->handles[device])
        VLY_TRY(vly_gemm_cuda_status(
            &found->functions, found->functions.create(&found->handles[device]),
            "cublasLtCreate", error));
    *library = &found->functions;
    *handle = found->handles[device];
out:
    (void)pthread_mutex_unlock(&lock);
    return status;
}
