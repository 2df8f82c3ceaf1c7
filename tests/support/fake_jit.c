/* SPDX-License-Identifier: Apache-2.0
 * The driver's compiler where there is no device: it takes a small text instead
 * of that of burst_spliced.cu, and runs what was written in place of its mark
 * by ptx_machine.c. FAKE_CUDA_JIT: a cudaError_t that loading gives;
 * FAKE_CUDA_KERNEL: one that looking for the kernel gives. One library at a
 * time: the last one whose kernel was taken runs.
 */
#include "fake_jit.h"

#include <assert.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cuda_net.h"
#include "backends/cuda/cuda_ptx.h"
#include "ptx_machine.h"

enum {
#define EACH(name, text) OF_##name,
    VLY_CUDA_PTX_TABLE(EACH)
#undef EACH
        N_NAMES
};

static const ptx_outer outer_start[N_NAMES] = {
#define EACH(name, text) {"%r_" #name, 0},
    VLY_CUDA_PTX_TABLE(EACH)
#undef EACH
};

/* VLY_CUDA_N_MODELS and ONLY_PROGRAMS; the same step in both */
#define EACH(name, text) " %r_" #name ","
extern const char vly_cuda_spliced_text[];
const char vly_cuda_spliced_text[] = VLY_CUDA_PTX_MARK VLY_CUDA_PTX_TABLE(
    EACH) "\n"
          "// .entry _Z10run_burstsILi8EEv(\n// .entry "
          "_Z10run_burstsILi9EEv(\n";
#undef EACH
static_assert(VLY_CUDA_N_MODELS == 8, "names of kernels");

static ptx_machine *running;

/* A block of the host, so that it is counted. */
typedef struct library {
    ptx_machine *machine;
} library;

/* Emulated kernels have one for each model; NULL: there are none. */
#pragma weak vly_cuda_spliced_kernel

static cudaError_t code_of(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? (cudaError_t)atoi(text) : cudaSuccess;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *made, const void *code,
                                enum cudaJitOption *options, void **values,
                                unsigned n, enum cudaLibraryOption *others,
                                void **other_values, unsigned n_others)
{
    char why[200] = "";
    (void)options;
    (void)values;
    (void)others;
    (void)other_values;
    const char *text = code;
    const char *end = strstr(text, "// .entry");
    cudaError_t failed = code_of("FAKE_CUDA_JIT");
    if (failed != cudaSuccess || n + n_others > 0 || end == NULL)
        return failed != cudaSuccess ? failed : cudaErrorInvalidValue;
    library *to = vly_cuda_host->alloc(vly_cuda_host->context, sizeof *to, 64);
    char *step = malloc((size_t)(end - text) + 1);
    if (to != NULL && step != NULL) {
        memcpy(step, text, (size_t)(end - text));
        step[end - text] = 0;
        to->machine =
            ptx_machine_read(step, outer_start, N_NAMES, why, sizeof why);
    }
    free(step);
    if (to == NULL)
        return cudaErrorMemoryAllocation;
    if (to->machine == NULL) {
        fprintf(stderr, "fake driver: %s\n", why);
        abort();
    }
    *made = (cudaLibrary_t)(void *)to;
    return cudaSuccess;
}

cudaError_t cudaLibraryUnload(cudaLibrary_t from)
{
    library *of = (library *)(void *)from;
    if (running == of->machine)
        running = NULL;
    ptx_machine_free(of->machine);
    vly_cuda_host->free(vly_cuda_host->context, of);
    return cudaSuccess;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t from,
                                 const char *name)
{
    static const char begin[] = "_Z10run_burstsILi";
    library *of = (library *)(void *)from;
    const void *made = of;
    cudaError_t failed = code_of("FAKE_CUDA_KERNEL");
    if (failed != cudaSuccess)
        return failed;
    if (strncmp(name, begin, sizeof begin - 1) != 0)
        return cudaErrorInvalidValue;
    if (vly_cuda_spliced_kernel != NULL)
        made = vly_cuda_spliced_kernel((uint32_t)atoi(name + sizeof begin - 1));
    running = of->machine;
    memcpy(kernel, &made, sizeof made);
    return cudaSuccess;
}

static uint64_t bits(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

uint32_t fake_jit_step(uint32_t model, const void *state, uint64_t stride,
                       const void *coefs, uint32_t place, uint32_t neuron,
                       float in0, float in1, uint32_t key_low,
                       uint32_t key_high, uint32_t burst_low,
                       uint32_t burst_high)
{
    char why[200] = "no library";
    ptx_outer outer[N_NAMES];
    memcpy(outer, outer_start, sizeof outer);
    outer[OF_model].value = model;
    outer[OF_state].value = (uint64_t)(uintptr_t)state;
    outer[OF_stride].value = stride;
    outer[OF_coefs].value = (uint64_t)(uintptr_t)coefs;
    outer[OF_place].value = place;
    outer[OF_neuron].value = neuron;
    outer[OF_in0].value = bits(in0);
    outer[OF_in1].value = bits(in1);
    outer[OF_key_low].value = key_low;
    outer[OF_key_high].value = key_high;
    outer[OF_burst_low].value = burst_low;
    outer[OF_burst_high].value = burst_high;
    if (running == NULL ||
        ptx_machine_run(running, outer, why, sizeof why) != 0) {
        fprintf(stderr, "fake driver: %s\n", why);
        abort();
    }
    return (uint32_t)outer[OF_fired].value;
}
