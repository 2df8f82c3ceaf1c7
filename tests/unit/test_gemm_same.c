/* SPDX-License-Identifier: Apache-2.0
 * What gemm_cpu promises beyond the conformance table: the bits of its own
 * loops are those of one chain of fused multiply-adds, whatever the threads,
 * workspace and instruction set; ten threads with plans of their own at once
 * get what one gets.
 */
#include <math.h>
#include <stdlib.h>

#include "fewer_cases.h"
#include "gemm_test.h"

#include "conformance/conformance_element.h"
#include "conformance/conformance_gemm.h"

static vly_registry *registry;
static vly_error error = {.struct_size = sizeof error};

static int setup(void **state)
{
    (void)state;
    return vly_registry_create(&registry, &error) == VLY_OK ? 0 : 1;
}

static int teardown(void **state)
{
    (void)state;
    vly_registry_destroy(registry);
    return 0;
}

/* Aligned to 256 bytes; freed by free */
static void *block(uint64_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 256, bytes + 256) != 0)
        abort();
    return memory;
}

/* D of one run on the device; NULL with a message in *why. No asserts: it runs
 * on any thread. */
static void *product(const char *device, const vly_gemm_desc *desc,
                     uint64_t seed, uint32_t runs, vly_error *why)
{
    vly_accelerator *a = calloc(1, sizeof *a);
    const gemm_tensor d = conformance_gemm_tensor(desc, GEMM_D);
    void *tensors[GEMM_N_TENSORS] = {NULL};
    void *workspace = NULL;
    vly_gemm_plan *plan = NULL;
    vly_plan_info info = {.struct_size = sizeof info};
    bool good = a != NULL && vly_accelerator_find(registry, VLY_GEMM_INTERFACE,
                                                  device, 1, a, why) == VLY_OK;
    for (uint32_t i = 0; good && i < GEMM_N_TENSORS; i++) {
        tensors[i] = block(conformance_gemm_tensor(desc, i).bytes);
        if (i != GEMM_D)
            conformance_gemm_fill(desc, i, seed, tensors[i]);
    }
    good = good &&
           a->gemm.plan_create(&a->device, desc, &plan, why) == VLY_OK &&
           a->gemm.plan_info(plan, &info, why) == VLY_OK;
    if (good)
        workspace = block(info.workspace_bytes);
    for (uint32_t i = 0; good && i < runs; i++) {
        memset(tensors[GEMM_D], 0xff, d.bytes);
        const vly_gemm_run run = {.struct_size = sizeof run,
                                  .alpha = 1.0f,
                                  .a = tensors[GEMM_A],
                                  .b = tensors[GEMM_B],
                                  .d = tensors[GEMM_D],
                                  .workspace = workspace,
                                  .workspace_bytes = info.workspace_bytes};
        good = a->gemm.run(plan, &run, why) == VLY_OK;
    }
    if (plan != NULL)
        a->gemm.plan_destroy(plan);
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++)
        if (i != GEMM_D || !good)
            free(tensors[i]);
    free(workspace);
    free(a);
    return good ? tensors[GEMM_D] : NULL;
}

static const char *const same_devices[] = {
    "cpu:1,choose=plain",          "cpu:2,choose=plain",
    "cpu:5,choose=plain",          "cpu:1,choose=plain,isa=scalar",
    "cpu:3,choose=plain,isa=avx2", "cpu:2,choose=plain,isa=avx512"};
#define N_SAME (sizeof same_devices / sizeof same_devices[0])

/* An instruction set that this processor or build has not. */
static bool has_not(void)
{
    return strstr(error.message, "isa=") != NULL;
}

/* D of fp32 factors: fma over ascending k, straight from the data. */
static void check_chain(const vly_gemm_desc *desc, uint64_t seed,
                        const float *d)
{
    float *a = block(conformance_gemm_tensor(desc, GEMM_A).bytes);
    float *b = block(conformance_gemm_tensor(desc, GEMM_B).bytes);
    uint64_t wrong = 0;
    conformance_gemm_fill(desc, GEMM_A, seed, a);
    conformance_gemm_fill(desc, GEMM_B, seed, b);
    for (uint64_t i = 0; i < desc->m; i++)
        for (uint64_t j = 0; j < desc->n; j++) {
            float sum = 0.0f;
            for (uint64_t k = 0; k < desc->k; k++)
                sum = fmaf(a[i * desc->k + k], b[j * desc->k + k], sum);
            wrong += memcmp(&sum, &d[i * desc->n + j], sizeof sum) != 0;
        }
    free(a);
    free(b);
    assert_int_equal(wrong, 0);
}

static void test_plain_is_a_chain(void **state)
{
    (void)state;
    vly_gemm_desc desc =
        compact(VLY_ELEMENT_F32, VLY_ELEMENT_F32, 263, 217, 601);
    for (uint32_t small = 0; small < fewer_cases(2, 1); small++) {
        desc.workspace_most = small != 0 ? 0 : UINT64_C(256) << 20;
        for (uint32_t i = 0; i < N_SAME; i++) {
            float *d = product(same_devices[i], &desc, 7, 2, &error);
            if (d == NULL && has_not())
                continue;
            if (d == NULL)
                fail_msg("%s: %s", same_devices[i], error.message);
            check_chain(&desc, 7, d);
            free(d);
        }
    }
}

/* The same bits from every device of a list. */
static void check_same(const vly_gemm_desc *desc, const char *const *devices,
                       size_t n)
{
    const uint64_t bytes = conformance_gemm_tensor(desc, GEMM_D).bytes;
    void *first = product(devices[0], desc, 3, 1, &error);
    if (first == NULL)
        fail_msg("%s: %s", devices[0], error.message);
    for (size_t i = 1; i < n; i++) {
        void *d = product(devices[i], desc, 3, 1, &error);
        if (d == NULL && has_not())
            continue;
        if (d == NULL)
            fail_msg("%s: %s", devices[i], error.message);
        if (memcmp(first, d, bytes) != 0)
            fail_msg("%s and %s differ", devices[0], devices[i]);
        free(d);
    }
    free(first);
}

static void test_types_are_the_same(void **state)
{
    (void)state;
    static const char *const vectors[] = {
        "cpu:1,choose=gemv", "cpu:4,choose=gemv", "cpu:2,choose=gemv,isa=avx2",
        "cpu:2,choose=gemv,isa=scalar"};
    static const uint32_t types[][2] = {{VLY_ELEMENT_F16, VLY_ELEMENT_F16},
                                        {VLY_ELEMENT_BF16, VLY_ELEMENT_F32},
                                        {VLY_ELEMENT_I8, VLY_ELEMENT_I32}};
    for (uint32_t t = 0; t < fewer_cases(3, 1); t++) {
        vly_gemm_desc desc = compact(types[t][0], types[t][1], 130, 99, 1300);
        check_same(&desc, same_devices, N_SAME);
        desc = compact(types[t][0], types[t][1], 1, 3000, 1300);
        check_same(&desc, vectors, 4);
        desc.flags = 0;
        desc.ldb = desc.n;
        check_same(&desc, vectors, 4);
    }
}

/* The number of threads does not change what the library gives. */
static void test_openblas_threads(void **state)
{
    (void)state;
    static const char *const devices[] = {"cpu:1,choose=openblas",
                                          "cpu:2,choose=openblas",
                                          "cpu:7,choose=openblas"};
    static const uint32_t types[][2] = {{VLY_ELEMENT_F32, VLY_ELEMENT_F32},
                                        {VLY_ELEMENT_F16, VLY_ELEMENT_F32}};
    for (uint32_t t = 0; t < 2; t++) {
        const vly_gemm_desc desc =
            compact(types[t][0], types[t][1], 600, 700, 300);
        void *d = product(devices[0], &desc, 1, 1, &error);
        if (d == NULL && strstr(error.message, "openblas") != NULL) {
            print_message("skipped: %s\n", error.message);
            skip();
        }
        free(d);
        check_same(&desc, devices, 3);
    }
}

/* ---- ten threads at once ---------------------------------------------- */

enum { CALLERS = 10 };

typedef struct caller {
    vly_gemm_desc desc;
    const char *device;
    uint64_t seed;
    void *d;
    vly_error why;
} caller;

static void *call(void *arg)
{
    caller *c = arg;
    c->d = product(c->device, &c->desc, c->seed, 5, &c->why);
    return NULL;
}

static void check_callers(const char *device)
{
    caller callers[CALLERS];
    for (uint32_t i = 0; i < CALLERS; i++) {
        callers[i] = (caller){
            .desc = compact(i % 2 != 0 ? VLY_ELEMENT_BF16 : VLY_ELEMENT_F32,
                            VLY_ELEMENT_F32, i % 3 == 0 ? 1 : 40 + 30 * i,
                            100 + 7 * i, 500 - 11 * i),
            .device = device,
            .seed = i,
            .why = {.struct_size = sizeof(vly_error)}};
    }
    call_together(call, callers, sizeof callers[0], CALLERS);
    for (uint32_t i = 0; i < CALLERS; i++) {
        const caller *c = &callers[i];
        if (c->d == NULL)
            fail_msg("caller %u: %s", i, c->why.message);
        void *alone = product(device, &c->desc, c->seed, 1, &error);
        assert_non_null(alone);
        assert_memory_equal(alone, c->d,
                            conformance_gemm_tensor(&c->desc, GEMM_D).bytes);
        free(alone);
        free(c->d);
    }
}

static void test_ten_callers(void **state)
{
    (void)state;
    check_callers("cpu:3,choose=plain");
    check_callers("cpu:2,tune=0"); /* the library, where it is there */
}

/* A tuned plan gives a right result too: within the bound, not the same bits.
 */
static void test_tuned_callers(void **state)
{
    (void)state;
    const vly_gemm_desc desc =
        compact(VLY_ELEMENT_F16, VLY_ELEMENT_F32, 64, 64, 256);
    float *plain = product("cpu:1,choose=plain", &desc, 9, 1, &error);
    float *tuned = product("cpu:2", &desc, 9, 1, &error);
    assert_non_null(plain);
    assert_non_null(tuned);
    for (uint64_t i = 0; i < desc.m * desc.n; i++)
        assert_close((double)plain[i], (double)tuned[i], 256 * 256 * 0x1p-24);
    free(plain);
    free(tuned);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_is_a_chain),
        cmocka_unit_test(test_types_are_the_same),
        cmocka_unit_test(test_openblas_threads),
        cmocka_unit_test(test_ten_callers),
        cmocka_unit_test(test_tuned_callers)};
    return cmocka_run_group_tests(tests, setup, teardown) ? 1 : 0;
}
