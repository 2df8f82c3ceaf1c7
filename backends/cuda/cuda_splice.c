/* SPDX-License-Identifier: Apache-2.0
 * Users' models as instructions: which kernel, and its text.
 */
#include "cuda_splice.h"

#include <stdio.h>
#include <string.h>

#include "cuda_image.h"
#include "cuda_learning.h"
#include "cuda_memory.h"
#include "cuda_net.h"
#include "cuda_ptx.h"

#define NAME_BYTES 200u

/* Kernels are templates: the name of that of a model begins like this. */
static bool find_entry(const char *text, uint32_t model, char name[NAME_BYTES])
{
    char begin[48];
    snprintf(begin, sizeof begin, ".entry _Z10run_burstsILi%uEE", model);
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

/* The kernel, by the number in its name, and its text. */
static uint32_t pick_kernel(const vly_cuda_shard *shard, const char **text)
{
    const uint32_t model = shard->programs.view.model;
    *text = shard->view.n_ports > 2 ? vly_cuda_spliced_ports
                                    : vly_cuda_spliced_mixed;
    if (model != VLY_CUDA_ONLY_PROGRAMS)
        return model;
    *text = vly_cuda_spliced_only;
    if (shard->net->wanted.jit > 1 || shard->view.n_ports > 1 ||
        !fits_quads(shard->net->desc))
        return model;
    *text = vly_cuda_spliced_quads;
    return VLY_CUDA_QUAD_PROGRAMS;
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

/* The kernel's text with the steps; to->text is NULL on failure. */
static vly_status make_text(vly_cuda_shard *shard, const char *kernel,
                            vly_cuda_text *to, int *n_marks, vly_error *error)
{
    const vly_program **programs = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, shard->programs.n_programs, sizeof(void *),
                           &programs, error));
    const uint32_t n = list_programs(shard->net->desc, programs);
    *to = (vly_cuda_text){NULL, 0, 0};
    *n_marks = vly_cuda_ptx_splice(kernel, programs, n, to);
    to->room = to->length + 1;
    to->length = 0;
    status = vly_cuda_alloc(shard, to->room, 1, &to->text, error);
    if (status == VLY_OK)
        (void)vly_cuda_ptx_splice(kernel, programs, n, to);
    vly_cuda_release(shard, programs);
out:
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

/* why: empty if the driver has compiled it */
static vly_status compile(vly_cuda_shard *shard, char why[VLY_CUDA_IMAGE_WHY],
                          vly_error *error)
{
    vly_cuda_program_set *set = &shard->programs;
    vly_cuda_text text;
    char name[NAME_BYTES];
    int n_marks = 0;
    int made = -1;
    const char *kernel;
    const uint64_t begin = vly_cuda_host->clock_ns(vly_cuda_host->context);
    const uint32_t model = pick_kernel(shard, &kernel);
    vly_status status = VLY_OK;
    VLY_TRY(make_text(shard, kernel, &text, &n_marks, error));
    why[0] = 0;
    set->n_rows = model == VLY_CUDA_QUAD_PROGRAMS ? VLY_CUDA_QUAD_ROWS : 1;
    /* The driver's linker, whose result can be kept, compiles functions of a
     * text for any caller: without quads the step spills 72 bytes then, and
     * adex takes twice as long (MODELS.md). */
    const uint32_t cache = shard->net->wanted.cache;
    const bool kept =
        cache == 2 || (cache == 0 && model == VLY_CUDA_QUAD_PROGRAMS);
    if (n_marks < 1)
        snprintf(why, VLY_CUDA_IMAGE_WHY,
                 "the kernel's text has no mark, or one with wrong operands");
    else if (!find_entry(text.text, model, name))
        snprintf(why, VLY_CUDA_IMAGE_WHY,
                 "the text has no kernel with number %u", model);
    else
        made = vly_cuda_image_load(text.text, text.length, name, kept,
                                   &set->library, &set->kernel, why);
    if (made >= 0)
        say_time(&text, made, begin);
    vly_cuda_release(shard, text.text);
out:
    return status;
}

vly_status vly_cuda_splice_create(vly_cuda_shard *shard, vly_error *error)
{
    char why[VLY_CUDA_IMAGE_WHY] = "there are maps that learn";
    char text[VLY_CUDA_IMAGE_WHY + 60];
    if (shard->net->wanted.jit == 0)
        return VLY_OK;
    vly_status status = VLY_OK;
    if (!vly_cuda_learns(shard))
        status = compile(shard, why, error);
    if (status != VLY_OK || shard->programs.kernel)
        return status;
    snprintf(text, sizeof text,
             "users' models run step by step, which is slower: %s", why);
    vly_cuda_host->log(vly_cuda_host->context, VLY_LOG_WARN, text);
    return VLY_OK;
}

void vly_cuda_splice_release(vly_cuda_shard *shard)
{
    if (shard->programs.library)
        vly_cuda_image_unload(shard->programs.library);
    shard->programs.library = NULL;
    shard->programs.kernel = NULL;
}
