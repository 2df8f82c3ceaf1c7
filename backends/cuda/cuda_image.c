/* SPDX-License-Identifier: Apache-2.0
 * Machine code of kernels that come as text. The runtime loads text itself, but
 * gives back no machine code; the driver's linker does. Its functions are
 * looked up by the runtime: the plugin loads where there is no driver. Runtime
 * 12.8 or newer.
 */
#include "cuda_image.h"

#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "plugins/common/tune_blob.h"

#if CUDART_VERSION >= 12080

/* ---- the driver's linker ------------------------------------------------- */

typedef struct linker {
    CUresult(CUDAAPI *create)(unsigned, CUjit_option *, void **, CUlinkState *);
    CUresult(CUDAAPI *add)(CUlinkState, CUjitInputType, void *, size_t,
                           const char *, unsigned, CUjit_option *, void **);
    CUresult(CUDAAPI *complete)(CUlinkState, void **, size_t *);
    CUresult(CUDAAPI *destroy)(CUlinkState);
} linker;

/* The oldest driver whose functions have these parameters. */
#define DRIVER_VERSION 12000u

static bool find(const char *name, void *to)
{
    void *found = NULL;
    enum cudaDriverEntryPointQueryResult result;
    const cudaError_t code = cudaGetDriverEntryPointByVersion(
        name, &found, DRIVER_VERSION, cudaEnableDefault, &result);
    memcpy(to, &found, sizeof found);
    if (code != cudaSuccess)
        (void)cudaGetLastError(); /* the text is loaded without it */
    return code == cudaSuccess && result == cudaDriverEntryPointSuccess &&
           found;
}

static bool find_linker(linker *to)
{
    return find("cuLinkCreate", &to->create) &&
           find("cuLinkAddData", &to->add) &&
           find("cuLinkComplete", &to->complete) &&
           find("cuLinkDestroy", &to->destroy);
}

/* ---- loading ------------------------------------------------------------- */

static int load(const void *code, const char *name, void **library,
                const void **kernel, char why[VLY_CUDA_IMAGE_WHY])
{
    cudaLibrary_t made = NULL;
    cudaKernel_t found = NULL;
    cudaError_t failed =
        cudaLibraryLoadData(&made, code, NULL, NULL, 0, NULL, NULL, 0);
    if (failed == cudaSuccess) {
        failed = cudaLibraryGetKernel(&found, made, name);
        if (failed != cudaSuccess)
            (void)cudaLibraryUnload(made);
    }
    if (failed != cudaSuccess) {
        (void)cudaGetLastError(); /* the net goes on without it */
        snprintf(why, VLY_CUDA_IMAGE_WHY, "%s", cudaGetErrorString(failed));
        return -1;
    }
    *library = (void *)made;
    *kernel = (const void *)found;
    return 0;
}

/* ---- the cache ----------------------------------------------------------- */

/* The file's name is the device's kind and the driver; the key is the text, by
 * two sums of 64 bits and its length. False: there is no folder for it. */
static bool open_cache(const char *text, size_t n, vly_tune_cache *cache,
                       char key[VLY_TUNE_KEY_BYTES])
{
    char name[96];
    int device = 0;
    int major = 0;
    int minor = 0;
    int driver = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                               device) != cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor,
                               device) != cudaSuccess ||
        cudaDriverGetVersion(&driver) != cudaSuccess)
        return false;
    snprintf(name, sizeof name, "cuda-models-%d.%d-driver-%d", major, minor,
             driver);
    vly_tune_init(cache, vly_cuda_host, NULL, name);
    const uint64_t first = vly_tune_checksum(0, text, n);
    snprintf(key, VLY_TUNE_KEY_BYTES, "%016llx%016llx-%zu",
             (unsigned long long)first,
             (unsigned long long)vly_tune_checksum(first, text, n), n);
    return cache->path[0] != 0;
}

static int load_cached(const vly_tune_cache *cache, const char *key,
                       const char *name, void **library, const void **kernel)
{
    char why[VLY_CUDA_IMAGE_WHY];
    char line[VLY_CUDA_IMAGE_WHY + 80];
    uint32_t bytes = 0;
    void *image = vly_tune_blob_get(cache, key, &bytes);
    if (!image)
        return -1;
    const int failed = load(image, name, library, kernel, why);
    vly_cuda_host->free(vly_cuda_host->context, image);
    if (failed) {
        snprintf(line, sizeof line,
                 "cached code of users' models is compiled again: %s", why);
        vly_cuda_host->log(vly_cuda_host->context, VLY_LOG_DEBUG, line);
    }
    return failed;
}

/* ---- compiling ----------------------------------------------------------- */

/* The first line of the driver's messages, or the number of its error. */
static int refuse(CUresult code, const char *log, char why[VLY_CUDA_IMAGE_WHY])
{
    const size_t n = strcspn(log, "\n");
    if (n > 0)
        snprintf(why, VLY_CUDA_IMAGE_WHY, "%.*s", (int)n, log);
    else
        snprintf(why, VLY_CUDA_IMAGE_WHY, "error %d of the driver's linker",
                 (int)code);
    return -1;
}

/* Compiles, loads, and keeps what was made. */
static int compile(const linker *with, const char *text, size_t n,
                   const char *name, const vly_tune_cache *cache,
                   const char *key, void **library, const void **kernel,
                   char why[VLY_CUDA_IMAGE_WHY])
{
    char log[VLY_CUDA_IMAGE_WHY] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    CUlinkState state = NULL;
    void *image = NULL;
    void *source = NULL;
    size_t bytes = 0;
    memcpy(&source, &text, sizeof source); /* not const for the driver */
    CUresult code = with->create(2, options, values, &state);
    if (code != CUDA_SUCCESS)
        return refuse(code, log, why);
    code = with->add(state, CU_JIT_INPUT_PTX, source, n + 1, "users' models", 0,
                     NULL, NULL);
    if (code == CUDA_SUCCESS)
        code = with->complete(state, &image, &bytes);
    int failed = code != CUDA_SUCCESS ? refuse(code, log, why)
                                      : load(image, name, library, kernel, why);
    if (!failed && bytes <= VLY_TUNE_LARGE_BYTES)
        (void)vly_tune_blob_put(cache, key, image, (uint32_t)bytes);
    (void)with->destroy(state);
    return failed;
}

int vly_cuda_image_load(const char *text, size_t n, const char *name,
                        bool cached, void **library, const void **kernel,
                        char why[VLY_CUDA_IMAGE_WHY])
{
    linker with;
    vly_tune_cache cache;
    char key[VLY_TUNE_KEY_BYTES];
    /* the runtime's loader has the driver's own cache */
    if (!cached || !find_linker(&with) || !open_cache(text, n, &cache, key))
        return load(text, name, library, kernel, why);
    if (load_cached(&cache, key, name, library, kernel) == 0)
        return 1;
    return compile(&with, text, n, name, &cache, key, library, kernel, why);
}

void vly_cuda_image_unload(void *library)
{
    (void)cudaLibraryUnload((cudaLibrary_t)library);
}

#else

int vly_cuda_image_load(const char *text, size_t n, const char *name,
                        bool cached, void **library, const void **kernel,
                        char why[VLY_CUDA_IMAGE_WHY])
{
    (void)text;
    (void)n;
    (void)name;
    (void)cached;
    (void)library;
    (void)kernel;
    snprintf(why, VLY_CUDA_IMAGE_WHY,
             "this plugin was built with CUDA before 12.8");
    return -1;
}

void vly_cuda_image_unload(void *library)
{
    (void)library;
}

#endif
