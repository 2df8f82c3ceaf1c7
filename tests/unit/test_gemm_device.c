/* SPDX-License-Identifier: Apache-2.0
 * test_gemm_device DEVICE: what the conformance table does not ask of a device:
 * ten threads, each with plans, a stream and memory of its own, at once; sums
 * for which the workspace has no room; and the tuning cache on disk, whole and
 * spoiled. A device that is not there:
 * skipped with the reason, failed where it is required.
 */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "device_test.h"
#include "gemm_test.h"

#include "base/error.h"
#include "conformance/conformance_element.h"
#include "conformance/conformance_gemm.h"

enum { CALLERS = 10, RUNS = 5, ROWS = 9, COLS = 40 };

static const char *device_text = "cuda:0";
static vly_registry *registry;
static vly_accelerator accelerator;
static vly_error error = {.struct_size = sizeof error};

static int setup(void **state)
{
    (void)state;
    if (vly_registry_create(&registry, &error) != VLY_OK)
        return 1;
    if (vly_accelerator_find(registry, VLY_GEMM_INTERFACE, device_text, 1,
                             &accelerator, &error) == VLY_OK)
        return 0;
    vly_registry_destroy(registry);
    registry = NULL;
    return device_is_required("cuda") ? 1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    vly_registry_destroy(registry);
    return 0;
}

static void need_device(void)
{
    if (registry != NULL)
        return;
    print_message("skipped: %s\n", error.message);
    skip();
}

/* One product with all that it needs, of one thread. */
typedef struct caller {
    vly_gemm_desc desc;
    const char *options;
    uint64_t seed;
    void *host[GEMM_N_TENSORS];
    void *device[GEMM_N_TENSORS];
    void *workspace;
    void *stream;
    vly_gemm_plan *plan;
    vly_plan_info info;
    vly_error why;
    vly_status status;
    uint32_t n_other; /* runs whose D is not that of the first */
} caller;

static vly_gemm_desc one_type(uint32_t type, uint64_t m, uint64_t n, uint64_t k)
{
    vly_gemm_desc desc = compact(type, type, m, n, k);
    desc.align = 16;
    desc.workspace_most = UINT64_C(32) << 20;
    return desc;
}

static vly_status make(caller *c)
{
    const vly_memory *m = &accelerator.memory;
    const uint32_t device = accelerator.device.index;
    vly_device_spec spec = accelerator.device;
    vly_status status = VLY_OK;
    spec.options = c->options;
    c->info.struct_size = sizeof c->info;
    VLY_TRY(m->stream_create(device, &c->stream, &c->why));
    VLY_TRY(accelerator.gemm.plan_create(&spec, &c->desc, &c->plan, &c->why));
    VLY_TRY(accelerator.gemm.plan_info(c->plan, &c->info, &c->why));
    if (c->info.workspace_bytes > 0)
        VLY_TRY(
            m->alloc(device, c->info.workspace_bytes, &c->workspace, &c->why));
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++) {
        const uint64_t bytes = conformance_gemm_tensor(&c->desc, i).bytes;
        if (bytes == 0 || i == GEMM_C)
            continue;
        c->host[i] = malloc(bytes);
        if (c->host[i] == NULL)
            return VLY_E_NOMEM;
        VLY_TRY(m->alloc(device, bytes, &c->device[i], &c->why));
        if (i == GEMM_D)
            continue;
        conformance_gemm_fill(&c->desc, i, c->seed, c->host[i]);
        VLY_TRY(m->copy(device, c->device[i], c->host[i], bytes,
                        VLY_COPY_TO_DEVICE, c->stream, &c->why));
    }
out:
    return status;
}

static void unmake(caller *c)
{
    const vly_memory *m = &accelerator.memory;
    const uint32_t device = accelerator.device.index;
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++) {
        free(c->host[i]);
        m->free(device, c->device[i]);
    }
    m->free(device, c->workspace);
    if (c->stream != NULL)
        m->stream_destroy(device, c->stream);
    accelerator.gemm.plan_destroy(c->plan);
}

/* D of one run in host[GEMM_D]. */
static vly_status run_once(caller *c)
{
    const vly_memory *m = &accelerator.memory;
    const uint32_t device = accelerator.device.index;
    const uint64_t bytes = conformance_gemm_tensor(&c->desc, GEMM_D).bytes;
    const vly_gemm_run run = {.struct_size = sizeof run,
                              .alpha = 1.0f,
                              .a = c->device[GEMM_A],
                              .b = c->device[GEMM_B],
                              .d = c->device[GEMM_D],
                              .bias = c->device[GEMM_BIAS],
                              .scale_a = c->device[GEMM_SCALE_A],
                              .scale_b = c->device[GEMM_SCALE_B],
                              .workspace = c->workspace,
                              .workspace_bytes = c->info.workspace_bytes,
                              .stream = c->stream};
    vly_status status = VLY_OK;
    VLY_TRY(
        m->fill(device, c->device[GEMM_D], 0xff, bytes, c->stream, &c->why));
    VLY_TRY(accelerator.gemm.run(c->plan, &run, &c->why));
    VLY_TRY(m->copy(device, c->host[GEMM_D], c->device[GEMM_D], bytes,
                    VLY_COPY_FROM_DEVICE, c->stream, &c->why));
    VLY_TRY(m->stream_wait(device, c->stream, &c->why));
out:
    return status;
}

/* No asserts: it runs on any thread. */
static void *call(void *arg)
{
    caller *c = arg;
    const uint64_t bytes = conformance_gemm_tensor(&c->desc, GEMM_D).bytes;
    void *first = malloc(bytes);
    c->status = first != NULL ? make(c) : VLY_E_NOMEM;
    for (uint32_t i = 0; i < RUNS && c->status == VLY_OK; i++) {
        c->status = run_once(c);
        if (c->status == VLY_OK && i == 0)
            memcpy(first, c->host[GEMM_D], bytes);
        else if (c->status == VLY_OK)
            c->n_other += memcmp(first, c->host[GEMM_D], bytes) != 0;
    }
    free(first);
    return NULL;
}

/* Elements of D against float64, within what the table allows. */
static void check(const caller *c)
{
    gemm_host host = {.desc = &c->desc, .alpha = 1.0f, .is_device = true};
    uint64_t rows[ROWS], cols[COLS];
    double values[ROWS * COLS], bounds[ROWS * COLS];
    const uint64_t n_rows = c->desc.m < ROWS ? c->desc.m : ROWS;
    const uint64_t n_cols = c->desc.n < COLS ? c->desc.n : COLS;
    for (uint64_t i = 0; i < n_rows; i++)
        rows[i] = n_rows == 1 ? 0 : i * (c->desc.m - 1) / (n_rows - 1);
    for (uint64_t j = 0; j < n_cols; j++)
        cols[j] = n_cols == 1 ? 0 : j * (c->desc.n - 1) / (n_cols - 1);
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++)
        host.tensors[i] = c->host[i];
    assert_ok(conformance_gemm_reference(&host, 0, rows, n_rows, cols, n_cols,
                                         values, bounds, &error),
              error);
    for (uint64_t i = 0; i < n_rows; i++)
        for (uint64_t j = 0; j < n_cols; j++) {
            const double x =
                conformance_element_get(c->desc.type_d, c->host[GEMM_D],
                                        rows[i] * c->desc.ldd + cols[j]);
            const double v = values[i * n_cols + j];
            if (!(fabs(x - v) <= bounds[i * n_cols + j]))
                fail_msg("%s: d[%d][%d] is %.9g, wanted %.9g +- %.3g",
                         c->info.choice, (int)rows[i], (int)cols[j], x, v,
                         bounds[i * n_cols + j]);
        }
}

/* Half of them measure, which is when they ask most of the device. */
static void test_ten_callers(void **state)
{
    (void)state;
    need_device();
    static const uint32_t types[] = {VLY_ELEMENT_F32, VLY_ELEMENT_F16,
                                     VLY_ELEMENT_BF16};
    static caller callers[CALLERS];
    for (uint32_t i = 0; i < CALLERS; i++) {
        callers[i] = (caller){
            .desc = one_type(types[i % 3], i % 4 == 0 ? 1 : 24 + 40 * i,
                             128 + 72 * i, 1024 - 64 * i),
            .options = i % 2 != 0 ? "cache=off" : "cache=off,tune=0",
            .seed = i,
            .why = {.struct_size = sizeof(vly_error)}};
    }
    call_together(call, callers, sizeof callers[0], CALLERS);
    for (uint32_t i = 0; i < CALLERS; i++) {
        const caller *c = &callers[i];
        if (c->status != VLY_OK)
            fail_msg("caller %u: %s", i, c->why.message);
        assert_int_equal(c->n_other, 0);
        check(c);
    }
    for (uint32_t i = 0; i < CALLERS; i++)
        unmake(&callers[i]);
}

/* Sums of 32 bits, some rows at a time, where the workspace has no room for
 * all: what the library has no end for. Three random seeds each. */
static void test_pieces(void **state)
{
    (void)state;
    need_device();
    static const struct {
        uint32_t type, type_d, scales, flags, activation;
        uint64_t m, n, k;
    } cases[] = {
        {VLY_ELEMENT_F16, VLY_ELEMENT_F16, 0, VLY_GEMM_BIAS, VLY_GEMM_RELU2,
         2000, 1024, 512},
        {VLY_ELEMENT_BF16, VLY_ELEMENT_F32, 0, 0, VLY_GEMM_RELU2, 1999, 1032,
         520},
        {VLY_ELEMENT_I8, VLY_ELEMENT_F16, VLY_SCALE_ROW, VLY_GEMM_BIAS,
         VLY_GEMM_RELU2, 1999, 1024, 512},
        {VLY_ELEMENT_I8, VLY_ELEMENT_BF16, VLY_SCALE_ROW, 0, 0, 2048, 1024,
         1024},
    };
    for (uint32_t i = 0; i < 3 * sizeof cases / sizeof cases[0]; i++) {
        caller c = {.desc =
                        compact(cases[i / 3].type, cases[i / 3].type_d,
                                cases[i / 3].m, cases[i / 3].n, cases[i / 3].k),
                    .options = "cache=off,tune=0,choose=cublaslt",
                    .seed = 100 + i,
                    .why = {.struct_size = sizeof(vly_error)}};
        c.desc.flags |= cases[i / 3].flags;
        c.desc.activation = cases[i / 3].activation;
        c.desc.scale_a = c.desc.scale_b = cases[i / 3].scales;
        c.desc.align = 16;
        c.desc.workspace_most = 5u << 20;
        (void)call(&c);
        if (c.status != VLY_OK)
            fail_msg("case %u: %s", i / 3, c.why.message);
        if (strstr(c.info.choice, "pieces") == NULL)
            fail_msg("case %u: %s, wanted pieces", i / 3, c.info.choice);
        assert_int_equal(c.n_other, 0);
        check(&c);
        unmake(&c);
    }
}

/* ---- the cache -------------------------------------------------------- */

/* Replaces every file of the folder by one that is none of ours. */
static void spoil(const char *folder)
{
    char command[300];
    snprintf(command, sizeof command,
             "for f in %s/*.tune; do echo no cache > \"$f\" || exit 1; done",
             folder);
    assert_int_equal(system(command), 0);
}

static void plan_with(const char *folder, uint32_t cached, char choice[256])
{
    char options[300];
    snprintf(options, sizeof options, "cache=%s", folder);
    caller c = {.desc = one_type(VLY_ELEMENT_BF16, 96, 512, 768),
                .options = options,
                .seed = 3,
                .why = {.struct_size = sizeof(vly_error)}};
    (void)call(&c);
    if (c.status != VLY_OK)
        fail_msg("%s", c.why.message);
    assert_int_equal(c.n_other, 0);
    assert_int_equal(c.info.cached, cached);
    check(&c);
    snprintf(choice, 256, "%s", c.info.choice);
    unmake(&c);
}

static void test_cache(void **state)
{
    (void)state;
    need_device();
    char folder[] = "/tmp/volley-cache-XXXXXX", command[64];
    char first[256], second[256];
    assert_non_null(mkdtemp(folder));
    plan_with(folder, 0, first);
    plan_with(folder, 1, second);
    assert_string_equal(first, second);
    spoil(folder);
    plan_with(folder, 0, first);
    plan_with(folder, 1, second);
    assert_string_equal(first, second);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ten_callers),
                                       cmocka_unit_test(test_pieces),
                                       cmocka_unit_test(test_cache)};
    if (argc > 1)
        device_text = argv[1];
    return cmocka_run_group_tests(tests, setup, teardown) ? 1 : 0;
}
