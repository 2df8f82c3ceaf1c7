/* SPDX-License-Identifier: Apache-2.0
 * The driver's compiler where there is no device: it takes a small text instead
 * of that of burst_spliced.cu, and runs what was written in place of its mark
 * by ptx_machine.c. FAKE_CUDA_JIT: a cudaError_t that loading gives;
 * FAKE_CUDA_LINK: the driver has a linker, which ends with this CUresult;
 * FAKE_CUDA_KERNEL: one that looking for the kernel gives. One library at a
 * time: the last one whose kernel was taken runs.
 */
#include "fake_jit.h"

#include <assert.h>
#include <cuda.h>
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

/* The rows of a thread, which read their fields first, a neuron by itself, and
 * one that is kept, from its fields to its fields; row 0 declares the registers
 * of all. */
#define EACH(name, text) " %r_" #name ","
#define READ(row) VLY_CUDA_PTX_READ " " row ", %r_model, %r_state, %r_stride\n"
#define STEP(row)                                                              \
    VLY_CUDA_PTX_MARK " %r_fired, " row "," VLY_CUDA_PTX_INPUTS(EACH) "\n"
#define WRITE(row)                                                             \
    VLY_CUDA_PTX_WRITE " " row ", %r_model, %r_state, %r_stride\n"
#define NEXT "//VLY_NEXT\n"
/* of the kernels for more ports, for weights with shifts and with maps that
 * learn */
#define PORTS "ports"
#define SHIFTED "shifted"
#define LEARNING "learning"
/* what becomes of the mark tells whether the part is there */
#define PART(k) "// part " k ":" VLY_CUDA_PTX_NEEDS " " k "\n"
#define PARTS                                                                  \
    PART("0")                                                                  \
    PART("1")                                                                  \
    PART("2") PART("3") PART("4") PART("5") PART("6") PART("7") PART("8")
#define TEXT(name, entries)                                                    \
    extern const char name[];                                                  \
    const char name[] = READ("0") STEP("0") NEXT READ("0") READ("1") STEP("1") \
        NEXT READ("0") READ("2") STEP("2") NEXT READ("0") READ("3") STEP("3")  \
            NEXT STEP("4") NEXT READ("5") STEP("5") WRITE("5")                 \
                NEXT PARTS entries;
#define ENTRY(name, instance) "// .entry _Z" name "ILi" instance "(\n// {}\n"
#define BURSTS(instance) ENTRY("10run_bursts", instance)
#define RESIDENT(model, more)                                                  \
    ENTRY("12run_resident", model "ELb0ELj1024EE" more)                        \
    ENTRY("12run_resident", model "ELb1ELj768EE" more)                         \
    ENTRY("12run_resident", model "ELb1ELj1024EE" more)
#define PARTITION_UNIT(model, unit)                                            \
    ENTRY("13run_partition", model "ELj" unit "ELi0EEv")                       \
    ENTRY("13run_partition", model "ELj" unit "ELi1EEv")                       \
    ENTRY("13run_partition", model "ELj" unit "ELi2EEv")
#define SPAN_UNIT(model, unit)                                                 \
    ENTRY("8run_span", model "ELj" unit "ELi0EEv")                             \
    ENTRY("8run_span", model "ELj" unit "ELi2EEv")
#define SPAN(model)                                                            \
    SPAN_UNIT(model, "1") SPAN_UNIT(model, "2") SPAN_UNIT(model, "4")
#define PARTITION(model)                                                       \
    PARTITION_UNIT(model, "1")                                                 \
    PARTITION_UNIT(model, "2") PARTITION_UNIT(model, "4")
TEXT(vly_cuda_spliced_mixed, BURSTS("8EEv"))
TEXT(vly_cuda_spliced_only, BURSTS("9EEv"))
TEXT(vly_cuda_spliced_quads, BURSTS("10EEv"))
TEXT(vly_cuda_spliced_ports, BURSTS("8EE" PORTS))
TEXT(vly_cuda_spliced_learning,
     BURSTS("8EE" LEARNING) BURSTS("9EE" LEARNING) BURSTS("10EE" LEARNING))
TEXT(vly_cuda_spliced_ports_learning, BURSTS("8EE" PORTS LEARNING))
TEXT(vly_cuda_spliced_learners, RESIDENT("8", LEARNING) RESIDENT("9", LEARNING))
TEXT(vly_cuda_spliced_resident, RESIDENT("8", "v") RESIDENT("9", "v"))
TEXT(vly_cuda_spliced_shifted, RESIDENT("8", SHIFTED) RESIDENT("9", SHIFTED))
TEXT(vly_cuda_spliced_partition, PARTITION("8") PARTITION("9"))
TEXT(vly_cuda_spliced_span, SPAN("8") SPAN("9"))
#undef EACH
static_assert(VLY_CUDA_N_MODELS == 8, "names of kernels");
static_assert(VLY_CUDA_N_NEEDS == 9, "parts");
enum { SECTIONS = VLY_CUDA_KEPT_ROW + 1 };

/* A block of the host, so that it is counted. */
typedef struct library {
    ptx_machine *machine[SECTIONS];
    uint32_t needs; /* a bit for each part that was not cut out */
} library;

static library *running;

/* Emulated kernels have one for each model; NULL: there are none. */
#pragma weak vly_cuda_spliced_kernel
#pragma weak vly_cuda_spliced_ports_kernel
#pragma weak vly_cuda_spliced_learning_kernel
#pragma weak vly_cuda_spliced_ports_learning_kernel
#pragma weak vly_cuda_spliced_learners_kernel
#pragma weak vly_cuda_spliced_resident_kernel
#pragma weak vly_cuda_spliced_shifted_kernel
#pragma weak vly_cuda_spliced_partition_kernel
#pragma weak vly_cuda_spliced_span_kernel

static cudaError_t code_of(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? (cudaError_t)atoi(text) : cudaSuccess;
}

/* Up to the next NEXT, behind which *text is then. */
static ptx_machine *read_section(const char **text)
{
    char why[200] = "no section";
    const char *end = strstr(*text, NEXT);
    char *step = end == NULL ? NULL : malloc((size_t)(end - *text) + 1);
    ptx_machine *made = NULL;
    if (step != NULL) {
        memcpy(step, *text, (size_t)(end - *text));
        step[end - *text] = 0;
        *text = end + strlen(NEXT);
        made = ptx_machine_read(step, outer_start, N_NAMES, why, sizeof why);
    }
    free(step);
    if (made == NULL) {
        fprintf(stderr, "fake driver: %s\n", why);
        abort();
    }
    return made;
}

/* A part that was cut out ends with an error. */
static uint32_t read_needs(const char *text)
{
    uint32_t needs = 0;
    for (uint32_t k = 0; k < VLY_CUDA_N_NEEDS; k++) {
        char part[40];
        const int n = snprintf(part, sizeof part, "// part %u:", (unsigned)k);
        const char *at = strstr(text, part);
        if (at != NULL && strncmp(at + n, "trap;", 5) != 0)
            needs |= 1u << k;
    }
    return needs;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *made, const void *code,
                                enum cudaJitOption *options, void **values,
                                unsigned n, enum cudaLibraryOption *others,
                                void **other_values, unsigned n_others)
{
    (void)options;
    (void)values;
    (void)others;
    (void)other_values;
    const char *text = code;
    cudaError_t failed = code_of("FAKE_CUDA_JIT");
    if (failed != cudaSuccess || n + n_others > 0)
        return failed != cudaSuccess ? failed : cudaErrorInvalidValue;
    library *to = vly_cuda_host->alloc(vly_cuda_host->context, sizeof *to, 64);
    if (to == NULL)
        return cudaErrorMemoryAllocation;
    for (int k = 0; k < SECTIONS; k++)
        to->machine[k] = read_section(&text);
    to->needs = read_needs(text);
    *made = (cudaLibrary_t)(void *)to;
    return cudaSuccess;
}

cudaError_t cudaLibraryUnload(cudaLibrary_t from)
{
    library *of = (library *)(void *)from;
    if (running == of)
        running = NULL;
    for (int k = 0; k < SECTIONS; k++)
        ptx_machine_free(of->machine[k]);
    vly_cuda_host->free(vly_cuda_host->context, of);
    return cudaSuccess;
}

/* The emulated kernel of that name; of: there are none. NULL: no such name. */
static const void *find_kernel(const char *name, const void *of)
{
    unsigned model;
    unsigned keep;
    unsigned n;
    unsigned kind;
    const int learns = strstr(name, LEARNING) != NULL;
    if (sscanf(name, "_Z10run_burstsILi%uEE", &model) == 1) {
        if (vly_cuda_spliced_kernel == NULL)
            return of;
        if (strstr(name, PORTS) != NULL)
            return learns ? vly_cuda_spliced_ports_learning_kernel()
                          : vly_cuda_spliced_ports_kernel();
        return learns ? vly_cuda_spliced_learning_kernel(model)
                      : vly_cuda_spliced_kernel(model);
    }
    if (sscanf(name, "_Z12run_residentILi%uELb%uELj%uEE", &model, &keep, &n) ==
        3) {
        if (vly_cuda_spliced_resident_kernel == NULL)
            return of;
        n = keep != 0 ? n : 0;
        if (learns)
            return vly_cuda_spliced_learners_kernel(model, n);
        return strstr(name, SHIFTED) != NULL
                   ? vly_cuda_spliced_shifted_kernel(model, n)
                   : vly_cuda_spliced_resident_kernel(model, n);
    }
    if (sscanf(name, "_Z13run_partitionILi%uELj%uELi%uEE", &model, &n, &kind) ==
        3)
        return vly_cuda_spliced_partition_kernel != NULL
                   ? vly_cuda_spliced_partition_kernel(model, n, kind)
                   : of;
    if (sscanf(name, "_Z8run_spanILi%uELj%uELi%uEE", &model, &n, &kind) == 3)
        return vly_cuda_spliced_span_kernel != NULL
                   ? vly_cuda_spliced_span_kernel(model, n, kind)
                   : of;
    return NULL;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t from,
                                 const char *name)
{
    library *of = (library *)(void *)from;
    const cudaError_t failed = code_of("FAKE_CUDA_KERNEL");
    const void *made = find_kernel(name, of);
    if (failed != cudaSuccess)
        return failed;
    if (made == NULL)
        return cudaErrorInvalidValue;
    running = of;
    memcpy(kernel, &made, sizeof made);
    return cudaSuccess;
}

/* ---- linker -------------------------------------------------------------- */

/* Machine code is the text. */
static CUresult link_create(unsigned n, CUjit_option *options, void **values,
                            CUlinkState *state)
{
    (void)n;
    (void)options;
    (void)values;
    *state = calloc(1, sizeof(void *));
    return *state != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult link_add(CUlinkState state, CUjitInputType type, void *data,
                         size_t size, const char *name, unsigned n,
                         CUjit_option *options, void **values)
{
    (void)name;
    (void)n;
    (void)options;
    (void)values;
    if (type != CU_JIT_INPUT_PTX || strlen(data) + 1 != size)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(state, &data, sizeof data);
    return CUDA_SUCCESS;
}

static CUresult link_complete(CUlinkState state, void **image, size_t *size)
{
    memcpy(image, state, sizeof *image);
    *size = strlen(*image) + 1;
    return (CUresult)code_of("FAKE_CUDA_LINK");
}

static CUresult link_destroy(CUlinkState state)
{
    free(state);
    return CUDA_SUCCESS;
}

cudaError_t
cudaGetDriverEntryPointByVersion(const char *name, void **found,
                                 unsigned version, unsigned long long flags,
                                 enum cudaDriverEntryPointQueryResult *result)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } all[] = {{"cuLinkCreate", (void (*)(void))link_create},
               {"cuLinkAddData", (void (*)(void))link_add},
               {"cuLinkComplete", (void (*)(void))link_complete},
               {"cuLinkDestroy", (void (*)(void))link_destroy}};
    (void)version;
    (void)flags;
    *result = cudaDriverEntryPointSymbolNotFound;
    if (getenv("FAKE_CUDA_LINK") == NULL)
        return cudaSuccess;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        if (strcmp(all[k].name, name) == 0) {
            memcpy(found, &all[k].function, sizeof *found);
            *result = cudaDriverEntryPointSuccess;
        }
    return cudaSuccess;
}

/* ---- steps --------------------------------------------------------------- */

static uint64_t bits(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

uint32_t fake_jit_step(int row, uint32_t model, const void *state,
                       uint64_t stride, const void *coefs, const void *words,
                       uint32_t vary, uint32_t place, uint32_t neuron,
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
    outer[OF_words].value = (uint64_t)(uintptr_t)words;
    outer[OF_vary].value = vary;
    outer[OF_place].value = place;
    outer[OF_neuron].value = neuron;
    outer[OF_in0].value = bits(in0);
    outer[OF_in1].value = bits(in1);
    outer[OF_key_low].value = key_low;
    outer[OF_key_high].value = key_high;
    outer[OF_burst_low].value = burst_low;
    outer[OF_burst_high].value = burst_high;
    if (running == NULL ||
        ptx_machine_run(running->machine[row], outer, why, sizeof why) != 0) {
        fprintf(stderr, "fake driver: %s\n", why);
        abort();
    }
    return (uint32_t)outer[OF_fired].value;
}

void fake_jit_needs(uint32_t part)
{
    if (running == NULL || (running->needs >> part & 1) == 0) {
        fprintf(stderr, "fake driver: part %u was cut out\n", (unsigned)part);
        abort();
    }
}
