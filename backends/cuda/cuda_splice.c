/* SPDX-License-Identifier: Apache-2.0
 * Users' models as instructions: which kernel, and its text.
 */
#include "cuda_splice.h"

#include <stdio.h>
#include <string.h>

#include "cuda_error.h"
#include "cuda_image.h"
#include "cuda_learning.h"
#include "cuda_memory.h"
#include "cuda_net.h"
#include "cuda_ptx.h"

#define NAME_BYTES 200u

/* Kernels are templates: the name of an instance begins like this. */
static bool find_entry(const char *text, const char *name_begin,
                       char name[NAME_BYTES])
{
    char begin[NAME_BYTES];
    snprintf(begin, sizeof begin, ".entry %s", name_begin);
    const char *at = strstr(text, begin);
    if (!at)
        return false;
    at += strlen(".entry ");
    const size_t n = strcspn(at, "( \r\n");
    if (n >= NAME_BYTES)
        return false;
    memcpy(name, at, n);
    name[n] = 0;
    return true;
}

/* Programs of one port, whose rows leave room in registers. */
static bool fits_quads(const vly_net_desc *desc)
{
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const vly_area_desc *area = vly_cuda_area_desc(desc, a);
        if (area->n_ports > 1 || area->n_fields > VLY_CUDA_QUAD_FIELDS ||
            area->n_coefs > VLY_CUDA_QUAD_COEFS)
            return false;
    }
    return true;
}

/* Four neurons of a thread take longer than one, so they pay where there are
 * more neurons than threads (MODELS.md). */
static bool wants_quads(const vly_cuda_shard *shard)
{
    const uint64_t threads = (uint64_t)shard->n_blocks * VLY_CUDA_THREADS;
    const uint32_t jit = shard->net->wanted.jit;
    return jit == 3 || (jit == 1 && shard->view.n_neurons > threads);
}

/* The kernel of plan global, by the number in its name. */
static uint32_t pick_model(const vly_cuda_shard *shard)
{
    const uint32_t model = shard->programs.view.model;
    if (model != VLY_CUDA_ONLY_PROGRAMS || !wants_quads(shard) ||
        shard->view.n_ports > 1 || !fits_quads(shard->net->desc))
        return model;
    return VLY_CUDA_QUAD_PROGRAMS;
}

/* Its text. */
static const char *pick_text(const vly_cuda_shard *shard, uint32_t model)
{
    const bool learns = vly_cuda_learns(shard);
    if (shard->view.n_ports > 2)
        return learns ? vly_cuda_spliced_ports_learning
                      : vly_cuda_spliced_ports;
    if (learns)
        return vly_cuda_spliced_learning;
    return model == VLY_CUDA_QUAD_PROGRAMS   ? vly_cuda_spliced_quads
           : model == VLY_CUDA_ONLY_PROGRAMS ? vly_cuda_spliced_only
                                             : vly_cuda_spliced_mixed;
}

/* What the net needs of a kernel with maps that learn, a bit each. */
static uint32_t list_needs(const vly_cuda_shard *shard)
{
    const vly_cuda_plastic *plastic = &shard->plastic;
    uint32_t needs =
        plastic->view.n_short > 0 ? 1u << VLY_CUDA_NEEDS_SHORT_TERM : 0;
    for (uint32_t p = 0; p < plastic->view.n; p++) {
        needs |= 1u << plastic->list[p].rule;
        if ((plastic->list[p].flags & VLY_CUDA_LEARNING_WINDOW) != 0)
            needs |= 1u << VLY_CUDA_NEEDS_WINDOWS;
    }
    return needs;
}

/* The different programs, in the order of their numbers. */
static uint32_t list_programs(const vly_net_desc *desc,
                              const vly_program **programs)
{
    uint32_t n = 0;
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const vly_program *program = vly_common_program(desc, a);
        uint32_t k = 0;
        while (k < n && programs[k] != program)
            k++;
        if (program && k == n)
            programs[n++] = program;
    }
    return n;
}

/* What is wanted of the driver. */
typedef struct splice {
    const char *kernels; /* a text with marks */
    char begin[64];      /* of the name of the kernel that is left of it */
    bool kept;           /* in the plugin's own cache */
} splice;

/* The kernel's text alone; to->text is NULL on failure. */
static vly_status cut_text(vly_cuda_shard *shard, const splice *want,
                           vly_cuda_text *to, vly_error *error)
{
    *to = (vly_cuda_text){NULL, 0, 0};
    vly_cuda_ptx_keep(want->kernels, want->begin, to);
    to->room = to->length + 1;
    to->length = 0;
    const vly_status status =
        vly_cuda_alloc(shard, to->room, 1, &to->text, error);
    if (status == VLY_OK)
        vly_cuda_ptx_keep(want->kernels, want->begin, to);
    return status;
}

/* The kernel's text with the steps; to->text is NULL on failure. */
static vly_status make_text(vly_cuda_shard *shard, const splice *want,
                            vly_cuda_text *to, int *n_marks, vly_error *error)
{
    const vly_program **programs = NULL;
    vly_cuda_text kernel = {NULL, 0, 0};
    *to = (vly_cuda_text){NULL, 0, 0};
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, shard->programs.n_programs, sizeof(void *),
                           &programs, error));
    VLY_TRY(cut_text(shard, want, &kernel, error));
    const uint32_t n = list_programs(shard->net->desc, programs);
    const uint32_t needs = list_needs(shard);
    *n_marks = vly_cuda_ptx_splice(kernel.text, programs, n, needs, to);
    to->room = to->length + 1;
    to->length = 0;
    VLY_TRY(vly_cuda_alloc(shard, to->room, 1, &to->text, error));
    (void)vly_cuda_ptx_splice(kernel.text, programs, n, needs, to);
out:
    vly_cuda_release(shard, kernel.text);
    vly_cuda_release(shard, programs);
    return status;
}

static void say_time(const vly_cuda_text *text, int made, uint64_t begin)
{
    char line[120];
    const uint64_t end = vly_cuda_host->clock_ns(vly_cuda_host->context);
    snprintf(line, sizeof line,
             "users' models: %zu bytes of text %s in %.1f ms", text->length,
             made == 1 ? "found in the cache" : "compiled",
             (double)(end - begin) * 1e-6);
    vly_cuda_host->log(vly_cuda_host->context, VLY_LOG_DEBUG, line);
}

/* Text that the runtime has loaded is good for all devices, each of which
 * compiles it for its own kind. NULL: this shard is the first. The kernel goes
 * with the first shard, which is the last to be freed. */
static const void *kernel_of_first(const vly_cuda_shard *shard,
                                   const splice *want, vly_cuda_spliced which)
{
    const vly_cuda_shard *first = shard->net->shards;
    return shard == first || want->kept ? NULL : first->programs.kernels[which];
}

/* why: empty if the driver has compiled it, or had done so before */
static vly_status compile(vly_cuda_shard *shard, const splice *want,
                          vly_cuda_spliced which, char why[VLY_CUDA_IMAGE_WHY],
                          vly_error *error)
{
    vly_cuda_program_set *set = &shard->programs;
    vly_cuda_text text;
    char name[NAME_BYTES];
    int n_marks = 0;
    int made = -1;
    why[0] = 0;
    if (!set->kernels[which])
        set->kernels[which] = kernel_of_first(shard, want, which);
    if (set->kernels[which])
        return VLY_OK;
    const uint64_t begin = vly_cuda_host->clock_ns(vly_cuda_host->context);
    vly_status status = VLY_OK;
    VLY_TRY(make_text(shard, want, &text, &n_marks, error));
    if (n_marks < 1)
        snprintf(why, VLY_CUDA_IMAGE_WHY,
                 "the kernel's text has no mark, or one with wrong operands");
    else if (!find_entry(text.text, want->begin, name))
        snprintf(why, VLY_CUDA_IMAGE_WHY, "the text has no kernel %s",
                 want->begin);
    else
        made = vly_cuda_image_load(text.text, text.length, name, want->kept,
                                   &set->libraries[which], &set->kernels[which],
                                   why);
    if (made >= 0)
        say_time(&text, made, begin);
    vly_cuda_release(shard, text.text);
out:
    return status;
}

static void warn(const char *begin, const char *why)
{
    char text[VLY_CUDA_IMAGE_WHY + 80];
    snprintf(text, sizeof text, "%s: %s", begin, why);
    vly_cuda_host->log(vly_cuda_host->context, VLY_LOG_WARN, text);
}

/* ---- plan global --------------------------------------------------------- */

vly_status vly_cuda_splice_global(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_program_set *set = &shard->programs;
    char why[VLY_CUDA_IMAGE_WHY];
    splice want;
    set->n_rows = 0;
    if (shard->net->wanted.jit == 0)
        return VLY_OK;
    const uint32_t model = pick_model(shard);
    const bool is_quads = model == VLY_CUDA_QUAD_PROGRAMS;
    const uint32_t cache = shard->net->wanted.cache;
    want.kernels = pick_text(shard, model);
    snprintf(want.begin, sizeof want.begin, "_Z10run_burstsILi%uEE", model);
    /* The driver's linker, whose result can be kept, compiles functions of a
     * text for any caller: without quads the step spills 72 bytes then, and
     * adex takes twice as long (MODELS.md); rules are functions, too. */
    want.kept =
        cache == 2 || (cache == 0 && is_quads && !vly_cuda_learns(shard));
    vly_status status =
        compile(shard, &want, VLY_CUDA_SPLICED_GLOBAL, why, error);
    if (status == VLY_OK && set->kernels[VLY_CUDA_SPLICED_GLOBAL])
        set->n_rows = is_quads ? VLY_CUDA_QUAD_ROWS : 1;
    else if (status == VLY_OK)
        warn("users' models run step by step, which is slower", why);
    return status;
}

/* ---- plans without an interpreter ---------------------------------------- */

/* Of the text, which the driver may compile only where a device first needs the
 * kernel. */
static bool is_of_text(cudaError_t code)
{
    return code == cudaErrorInvalidPtx ||
           code == cudaErrorUnsupportedPtxVersion ||
           code == cudaErrorJitCompilerNotFound ||
           code == cudaErrorJitCompilationDisabled ||
           code == cudaErrorInvalidKernelImage ||
           code == cudaErrorNoKernelImageForDevice;
}

/* Without a kernel the plan cannot be made. */
static vly_status finish(const vly_cuda_shard *shard, vly_cuda_spliced which,
                         const char *plan, const char *why, vly_error *error)
{
    const void *kernel = shard->programs.kernels[which];
    if (kernel) {
        const cudaError_t code = vly_cuda_spliced_prepare(kernel);
        if (!is_of_text(code))
            return vly_cuda_check((int)code, "shared memory of a block", error);
        (void)cudaGetLastError();
        why = cudaGetErrorString(code);
    }
    if (shard->net->n_shards > 1)
        return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                             "a span of %u devices: users' models: %s",
                             shard->net->n_shards, why);
    if (shard->net->wanted.plan > 0)
        return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                             "cuda option plan=%s: users' models: %s", plan,
                             why);
    return vly_cuda_fail(error, VLY_E_UNSUPPORTED, "users' models: %s", why);
}

vly_status vly_cuda_splice_resident(vly_cuda_shard *shard, vly_error *error)
{
    char why[VLY_CUDA_IMAGE_WHY];
    const bool learns = vly_cuda_learns(shard);
    const uint32_t cache = shard->net->wanted.cache;
    splice want = {.kernels = learns ? vly_cuda_spliced_learners
                              : shard->resident.step != 0
                                  ? vly_cuda_spliced_shifted
                                  : vly_cuda_spliced_resident,
                   .kept = cache == 2 || (cache == 0 && !learns)};
    const uint32_t threads =
        vly_cuda_resident_threads(&shard->view, &shard->resident);
    const vly_cuda_spliced which = vly_cuda_splice_instance(threads);
    snprintf(want.begin, sizeof want.begin, "_Z12run_residentILi%uELb%uELj%uEE",
             shard->programs.view.model, threads > 0 ? 1u : 0u,
             threads > 0 ? threads : VLY_CUDA_THREADS);
    vly_status status = VLY_OK;
    VLY_TRY(compile(shard, &want, which, why, error));
    shard->programs.n_rows = 1;
    status = finish(shard, which, "resident", why, error);
out:
    return status;
}

vly_cuda_spliced vly_cuda_splice_instance(uint32_t threads)
{
    return threads == 0                  ? VLY_CUDA_SPLICED_RESIDENT
           : threads == VLY_CUDA_THREADS ? VLY_CUDA_SPLICED_MANY
                                         : VLY_CUDA_SPLICED_FEW;
}

vly_status vly_cuda_splice_partition(vly_cuda_shard *shard, vly_error *error)
{
    char why[VLY_CUDA_IMAGE_WHY];
    /* by the linker a burst takes 1.1 times as long (MODELS.md) */
    const bool is_span = shard->net->n_shards > 1;
    splice want = {.kernels = is_span ? vly_cuda_spliced_span
                                      : vly_cuda_spliced_partition,
                   .kept = shard->net->wanted.cache == 2};
    snprintf(want.begin, sizeof want.begin, "_Z%sILi%uELj%uELi%uEE",
             is_span ? "8run_span" : "13run_partition",
             shard->programs.view.model, shard->partition.unit,
             vly_cuda_partition_kind(&shard->partition));
    vly_status status = VLY_OK;
    VLY_TRY(compile(shard, &want, VLY_CUDA_SPLICED_PARTITION, why, error));
    shard->programs.n_rows = VLY_CUDA_QUAD_ROWS;
    status =
        finish(shard, VLY_CUDA_SPLICED_PARTITION, "partitioned", why, error);
out:
    return status;
}

void vly_cuda_splice_release(vly_cuda_shard *shard)
{
    vly_cuda_program_set *set = &shard->programs;
    for (uint32_t k = 0; k < VLY_CUDA_N_SPLICED; k++) {
        if (set->libraries[k])
            vly_cuda_image_unload(set->libraries[k]);
        set->libraries[k] = NULL;
        set->kernels[k] = NULL;
    }
}
