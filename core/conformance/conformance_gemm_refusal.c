/* SPDX-License-Identifier: Apache-2.0
 * Wrong calls of volley.gemm/1: each is refused with a message that names the
 * error, and nothing is written.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "conformance/conformance_gemm.h"

typedef struct trial {
    accel_trial *trial;
    const vly_gemm *gemm;
    vly_gemm_desc desc;
    vly_error error;
    char *memory; /* of the device */
} trial;

/* The call returned this status and a message that contains the word. */
static bool refused(trial *t, const char *what, vly_status status,
                    vly_status wanted, const char *word)
{
    if (status == wanted && strlen(t->error.message) >= 20 &&
        strstr(t->error.message, word))
        return true;
    (void)accel_fail(t->trial,
                     "%s: status %d \"%s\", wanted %d and the word \"%s\"",
                     what, (int)status, t->error.message, (int)wanted, word);
    return false;
}

static bool desc_refused(trial *t, const vly_gemm_desc *desc, const char *what,
                         vly_status wanted, const char *word)
{
    vly_gemm_plan *plan = NULL;
    t->error.message[0] = 0;
    if (!refused(t, what, t->gemm->supports(desc, &t->error), wanted, word))
        return false;
    t->error.message[0] = 0;
    vly_status status = t->gemm->plan_create(&t->trial->accelerator->device,
                                             desc, &plan, &t->error);
    if (plan) {
        t->gemm->plan_destroy(plan);
        (void)accel_fail(t->trial, "%s: a plan was made", what);
        return false;
    }
    return refused(t, what, status, wanted, word) &&
           /* NULL is legal where an error is taken */
           t->gemm->supports(desc, NULL) == wanted;
}

#define WRONG(field, value, wanted, word)                                      \
    do {                                                                       \
        vly_gemm_desc d = t->desc;                                             \
        d.field = (value);                                                     \
        if (!desc_refused(t, &d, #field, wanted, word))                        \
            return false;                                                      \
    } while (0)

static bool wrong_descs(trial *t)
{
    WRONG(struct_size, 8, VLY_E_INVALID, "struct_size");
    WRONG(reserved, 5, VLY_E_INVALID, "reserved");
    WRONG(lda, t->desc.lda - 1, VLY_E_INVALID, "lda");
    WRONG(ldb, t->desc.ldb - 1, VLY_E_INVALID, "ldb");
    WRONG(ldc, t->desc.n - 1, VLY_E_INVALID, "ldc");
    WRONG(ldd, t->desc.n - 1, VLY_E_INVALID, "ldd");
    WRONG(align, 3, VLY_E_INVALID, "align");
    WRONG(align, 512, VLY_E_INVALID, "align");
    WRONG(batch, 0, VLY_E_INVALID, "batch");
    WRONG(batch, 2, VLY_E_INVALID, "stride_d");
    WRONG(type_a, VLY_ELEMENT_I4, VLY_E_UNSUPPORTED, "int4");
    WRONG(type_b, 99, VLY_E_UNSUPPORTED, "types");
    WRONG(type_d, VLY_ELEMENT_I8, VLY_E_UNSUPPORTED, "int8");
    WRONG(scale_a, VLY_SCALE_ROW, VLY_E_UNSUPPORTED, "scale");
    WRONG(scale_b, 77, VLY_E_UNSUPPORTED, "scale");
    WRONG(flags, 1u << 31, VLY_E_UNSUPPORTED, "flags");
    WRONG(flags, VLY_GEMM_FAST, VLY_E_INVALID, "FAST");
    WRONG(activation, 17, VLY_E_UNSUPPORTED, "activation");
    vly_gemm_desc huge = t->desc;
    huge.m = UINT64_C(1) << 40;
    huge.lda = UINT64_C(1) << 40;
    if (!desc_refused(t, &huge, "a huge matrix", VLY_E_INVALID, "2^63"))
        return false;
    return desc_refused(t, NULL, "no description", VLY_E_INVALID,
                        "description");
}

static bool wrong_devices(trial *t)
{
    const vly_accelerator *accelerator = t->trial->accelerator;
    const struct {
        const char *options;
        uint32_t index;
        vly_status wanted;
        const char *word;
    } wrong[] = {{"tune=7", 0, VLY_E_INVALID, "tune"},
                 {"nonsense=1", 0, VLY_E_INVALID, "nonsense"},
                 {"choose=nothing", 0, VLY_E_UNSUPPORTED, "nothing"},
                 {NULL, 1000, VLY_E_DEVICE, "1000"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        vly_device_spec device = accelerator->device;
        vly_gemm_plan *plan = NULL;
        device.options = wrong[i].options;
        device.index += wrong[i].index;
        t->error.message[0] = 0;
        vly_status status =
            t->gemm->plan_create(&device, &t->desc, &plan, &t->error);
        t->gemm->plan_destroy(plan);
        /* a device that does not exist may also be reported as invalid */
        if (wrong[i].index != 0 && status == VLY_E_INVALID)
            status = VLY_E_DEVICE;
        if (!refused(t, wrong[i].word, status, wrong[i].wanted, wrong[i].word))
            return false;
    }
    return true;
}

/* ---- runs ------------------------------------------------------------- */

enum { BLOCK = 64 * 1024, N_BLOCKS = 8 };

/* Tensors of 17 x 9 x 33 fp32 in blocks of their own, aligned to 256 bytes. */
static vly_gemm_run right_run(const trial *t, uint64_t workspace_bytes)
{
    return (vly_gemm_run){.struct_size = sizeof(vly_gemm_run),
                          .alpha = 1.0f,
                          .beta = 1.0f,
                          .a = t->memory,
                          .b = t->memory + BLOCK,
                          .c = t->memory + 2 * BLOCK,
                          .d = t->memory + 3 * BLOCK,
                          .bias = t->memory + 4 * BLOCK,
                          .workspace = t->memory + N_BLOCKS * BLOCK,
                          .workspace_bytes = workspace_bytes};
}

static bool run_refused(trial *t, vly_gemm_plan *plan, const vly_gemm_run *run,
                        const char *what, const char *word)
{
    t->error.message[0] = 0;
    vly_status status = t->gemm->run(plan, run, &t->error);
    return refused(t, what, status, VLY_E_INVALID, word);
}

#define BAD(field, value, word)                                                \
    do {                                                                       \
        vly_gemm_run r = right_run(t, bytes);                                  \
        r.field = (value);                                                     \
        if (!run_refused(t, plan, &r, "run: " #field, word))                   \
            return false;                                                      \
    } while (0)

static bool wrong_runs(trial *t, vly_gemm_plan *plan, uint64_t bytes)
{
    char *m = t->memory;
    BAD(struct_size, 8, "struct_size");
    BAD(reserved, 5, "reserved");
    BAD(a, NULL, "a is NULL");
    BAD(b, NULL, "b is NULL");
    BAD(c, NULL, "c is NULL");
    BAD(d, NULL, "d is NULL");
    BAD(bias, NULL, "bias is NULL");
    BAD(a, m + 16, "a is ");
    BAD(b, m + BLOCK + 4, "b is ");
    BAD(c, m + 2 * BLOCK + 128, "c is ");
    BAD(d, m + 3 * BLOCK + 2, "d is ");
    BAD(bias, m + 4 * BLOCK + 64, "bias is ");
    BAD(d, m, "a overlaps d");
    BAD(d, m + BLOCK + 256, "b overlaps d");
    BAD(d, m + 2 * BLOCK, "c overlaps d"); /* another pitch */
    BAD(bias, m + 3 * BLOCK, "bias overlaps d");
    if (bytes > 0) {
        BAD(workspace_bytes, bytes - 1, "workspace");
        BAD(workspace, NULL, "workspace is NULL");
        BAD(workspace, m + N_BLOCKS * BLOCK + 16, "workspace is ");
        BAD(workspace, m, "overlaps");
        BAD(workspace, m + 3 * BLOCK, "overlaps");
    }
    return run_refused(t, plan, NULL, "no run", "run");
}

static vly_gemm_desc plain_desc(void)
{
    return (vly_gemm_desc){.struct_size = sizeof(vly_gemm_desc),
                           .flags = VLY_GEMM_BIAS,
                           .type_a = VLY_ELEMENT_F32,
                           .type_b = VLY_ELEMENT_F32,
                           .type_d = VLY_ELEMENT_F32,
                           .m = 17,
                           .n = 9,
                           .k = 33,
                           .lda = 33,
                           .ldb = 9,
                           .ldc = 11,
                           .ldd = 10,
                           .batch = 1,
                           .workspace_most = UINT64_C(64) << 20};
}

static bool check_runs(trial *t)
{
    const vly_accelerator *accelerator = t->trial->accelerator;
    const uint32_t device = accelerator->device.index;
    vly_gemm_plan *plan = NULL;
    vly_plan_info info = {.struct_size = sizeof info};
    accel_buffer block;
    memset(&block, 0, sizeof block);
    bool good = false;
    if (t->gemm->plan_create(&accelerator->device, &t->desc, &plan,
                             &t->error) != VLY_OK ||
        t->gemm->plan_info(plan, &info, &t->error) != VLY_OK ||
        accel_buffer_init(&block, accelerator,
                          N_BLOCKS * BLOCK + info.workspace_bytes + 512, 0,
                          &t->error) != VLY_OK ||
        accel_buffer_put(&block, &t->error) != VLY_OK) {
        (void)accel_fail(t->trial, "a plan to refuse runs of: %s",
                         t->error.message);
    } else {
        t->memory = accel_buffer_device(&block);
        good = wrong_runs(t, plan, info.workspace_bytes);
        if (good && (accelerator->memory.stream_wait(device, NULL, &t->error) !=
                         VLY_OK ||
                     accel_buffer_get(&block, &t->error) != VLY_OK ||
                     !accel_buffer_unchanged(&block))) {
            (void)accel_fail(t->trial,
                             "a run that was refused wrote "
                             "something: %s",
                             t->error.message);
            good = false;
        }
    }
    accel_buffer_deinit(&block);
    t->gemm->plan_destroy(plan);
    return good;
}

/* An option may force a plan that does not support this product. */
static bool is_offered(trial *t)
{
    vly_gemm_plan *plan = NULL;
    vly_status status = t->gemm->plan_create(&t->trial->accelerator->device,
                                             &t->desc, &plan, &t->error);
    t->gemm->plan_destroy(plan);
    return status != VLY_E_UNSUPPORTED;
}

uint32_t conformance_gemm_refusals(accel_trial *outer)
{
    trial t = {.trial = outer,
               .gemm = &outer->accelerator->gemm,
               .desc = plain_desc(),
               .error = VLY_ERROR_INIT};
    t.gemm->plan_destroy(NULL); /* legal */
    if (t.gemm->supports(&t.desc, &t.error) != VLY_OK)
        return accel_fail(outer, "supports: %s", t.error.message);
    if (outer->accelerator->device.options && !is_offered(&t))
        return accel_skip(outer, "%s", t.error.message);
    return wrong_descs(&t) && wrong_devices(&t) && check_runs(&t)
               ? VLY_CONFORMS
               : VLY_CONFORMANCE_FAILED;
}
