/* SPDX-License-Identifier: Apache-2.0
 * The graphs that attention_cuda gives to cuDNN, without a device: cuDNN's
 * heuristics run for an H200 that is described in JSON, and must offer engines.
 * Whether an engine gives the right numbers only a device can say.
 */
#include "volley_test.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "accel_common.h"
#include "cudnn_attention.h"
#include "plugin/host_table.h"

const char vly_support_plugin[] = "attention_cuda";

static const char h200[] =
    "{\"cudaDeviceId\":0,\"deviceVer\":900,\"driverVer\":13000,"
    "\"deviceName\":\"NVIDIA H200\",\"totalGlobalMem\":150000000000,"
    "\"maxGridSize\":[2147483647,65535,65535],"
    "\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,"
    "\"multiProcessorCount\":132,\"warpSize\":32,"
    "\"maxSharedMemoryPerBlock\":49152,"
    "\"maxSharedMemoryPerBlockOptin\":232448,"
    "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"
    "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,"
    "\"pciDeviceId\":0,\"isTccDriver\":0,\"supportCoopLaunch\":1,"
    "\"smClockRateKHz\":1980000,\"memClockRateKHz\":3201000,"
    "\"l2CacheSize\":62914560}";

/* ---- the cases --------------------------------------------------------- */

enum {
    BACKWARD = VLY_ATTENTION_BACKWARD,
    CAUSAL = VLY_ATTENTION_CAUSAL,
    CAUSAL_END = VLY_ATTENTION_CAUSAL_END,
    LSE = VLY_ATTENTION_LSE,
    LENGTHS = VLY_ATTENTION_LENGTHS,
    PACKED = VLY_ATTENTION_PACKED,
    PAGED = VLY_ATTENTION_PAGED,
    DETERMINISTIC = VLY_ATTENTION_DETERMINISTIC,
    SAME = VLY_ATTENTION_SAME_SCALES, /* fp8, and no other types */
};

struct graph_case {
    const char *name;
    uint32_t flags;
    uint32_t batch;
    uint32_t heads_q;
    uint32_t heads_kv;
    uint32_t seq_q;
    uint32_t seq_kv;
    uint32_t dim;
    int32_t left;
    int32_t right;
    uint32_t page;
};

static const struct graph_case cases[] = {
    {"full 64", LSE, 1, 16, 4, 2048, 2048, 64, -1, -1, 0},
    {"full 128", 0, 1, 16, 16, 2048, 2048, 128, -1, -1, 0},
    {"full 256", 0, 1, 8, 8, 2048, 2048, 256, -1, -1, 0},
    {"causal 64", CAUSAL | LSE, 1, 16, 16, 2048, 2048, 64, -1, -1, 0},
    {"causal 128", CAUSAL, 1, 64, 8, 8192, 8192, 128, -1, -1, 0},
    {"causal 256", CAUSAL, 1, 8, 8, 2048, 2048, 256, -1, -1, 0},
    {"causal at the end", CAUSAL_END, 1, 16, 16, 1024, 2048, 128, -1, -1, 0},
    {"window, causal", CAUSAL, 1, 16, 16, 2048, 2048, 128, 256, -1, 0},
    {"window at the end", CAUSAL_END, 1, 4, 4, 2000, 2048, 64, 255, -1, 0},
    {"window, both sides", 0, 1, 16, 16, 2048, 2048, 128, 255, 100, 0},
    {"decode", LSE, 4, 64, 8, 1, 4096, 128, -1, -1, 0},
    {"lengths", LSE | LENGTHS | CAUSAL, 4, 64, 8, 1024, 1024, 128, -1, -1, 0},
    {"lengths at the end", LENGTHS | CAUSAL_END, 4, 8, 8, 99, 1024, 128, -1, -1,
     0},
    {"packed", PACKED, 4, 64, 8, 1024, 1024, 128, -1, -1, 0},
    {"packed causal", PACKED | CAUSAL, 4, 64, 8, 1024, 1024, 128, -1, -1, 0},
    {"pages of 64", PAGED | LENGTHS, 4, 64, 8, 1, 4096, 128, -1, -1, 64},
    {"pages of 16", PAGED | LENGTHS, 4, 64, 8, 1, 4096, 128, -1, -1, 16},
    {"odd", LSE, 2, 4, 2, 17, 63, 72, -1, -1, 0},
    {"one query, one key", LSE, 2, 4, 2, 1, 1, 64, -1, -1, 0},
    {"narrow", LSE, 2, 4, 2, 65, 65, 8, -1, -1, 0},
    {"fp8 64", SAME, 1, 32, 32, 2048, 2048, 64, -1, -1, 0},
    {"fp8 128", SAME, 1, 16, 16, 2048, 2048, 128, -1, -1, 0},
    {"fp8 256", SAME, 1, 8, 8, 2048, 2048, 256, -1, -1, 0},
    {"fp8 causal", SAME | CAUSAL, 1, 16, 16, 2048, 2048, 128, -1, -1, 0},
    {"fp8 lse", SAME | LSE, 2, 16, 16, 2048, 2048, 128, -1, -1, 0},
    {"fp8 groups", SAME | CAUSAL, 2, 16, 4, 2048, 2048, 128, -1, -1, 0},
    {"fp8 odd", SAME | LSE, 2, 4, 2, 100, 130, 128, -1, -1, 0},
    {"backward", BACKWARD, 1, 16, 16, 2048, 2048, 128, -1, -1, 0},
    {"backward causal", BACKWARD | CAUSAL, 1, 16, 16, 2048, 2048, 64, -1, -1,
     0},
    {"backward groups", BACKWARD | CAUSAL, 1, 16, 4, 2048, 2048, 128, -1, -1,
     0},
    {"backward 256", BACKWARD, 1, 16, 16, 2048, 2048, 256, -1, -1, 0},
    {"backward, same bits", BACKWARD | DETERMINISTIC, 1, 16, 16, 2048, 2048,
     128, -1, -1, 0},
    {"backward lengths", BACKWARD | LENGTHS | CAUSAL, 2, 16, 16, 2048, 2048,
     128, -1, -1, 0},
    {"backward window", BACKWARD | CAUSAL, 2, 16, 16, 2048, 2048, 128, 300, -1,
     0},
};

static vly_attention_desc describe(const struct graph_case *c, uint32_t type)
{
    const uint32_t d = c->dim;
    const uint64_t row_q = (uint64_t)c->heads_q * d;
    const uint64_t row_kv = (uint64_t)c->heads_kv * d;
    vly_attention_desc desc = {
        .struct_size = sizeof desc,
        .flags = c->flags,
        .type = type,
        .type_o = type,
        .batch = c->batch,
        .heads_q = c->heads_q,
        .heads_kv = c->heads_kv,
        .seq_q = c->seq_q,
        .seq_kv = c->seq_kv,
        .dim = d,
        .dim_v = d,
        .window_left = c->left,
        .window_right = c->right,
        .page_size = c->page,
        .q = {.batch = row_q * c->seq_q, .seq = row_q, .head = d},
        .k = {.batch = row_kv * c->seq_kv, .seq = row_kv, .head = d},
    };
    if (c->page != 0) {
        desc.pages_most = c->seq_kv / c->page;
        desc.pages = c->batch * desc.pages_most;
        desc.k.batch = row_kv * c->page;
    }
    desc.o = desc.q;
    desc.v = desc.k;
    return desc;
}

/* ---- tests ------------------------------------------------------------- */

/* NULL, with the reason printed, where cuDNN cannot be used at all */
static const vly_cudnn *open_or_skip(void)
{
    const vly_cudnn *cudnn = NULL;
    vly_error error = {.struct_size = sizeof error};
    if (vly_cudnn_open(&cudnn, &error) != VLY_OK) {
        print_message("skipped: %s\n", error.message);
        skip();
    }
    return cudnn;
}

static void test_engines_offered(void **state)
{
    (void)state;
    const vly_cudnn *cudnn = open_or_skip();
    const vly_cudnn_target target = {.device_json = h200};
    const uint32_t types[] = {VLY_ELEMENT_F16, VLY_ELEMENT_BF16};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t t = 0; t < 2; t++) {
            const int fp8 = (cases[i].flags & SAME) != 0;
            vly_attention_desc desc =
                describe(&cases[i], fp8 ? VLY_ELEMENT_E4M3 : types[t]);
            vly_error error = {.struct_size = sizeof error};
            uint32_t n = 0;
            vly_status status =
                vly_cudnn_count_configs(cudnn, &target, &desc, &n, &error);
            if (strstr(error.message, "PREREQUISITE_MISSING") != NULL) {
                print_message("skipped: %s\n", error.message);
                skip();
            }
            if (status != VLY_OK || n == 0)
                fail_msg("%s: %u engines: %s", cases[i].name, n, error.message);
            print_message("%-20s %s: %u engines\n", cases[i].name,
                          fp8      ? "fp8"
                          : t == 0 ? "fp16"
                                   : "bf16",
                          n);
        }
    }
}

static void test_refusals(void **state)
{
    (void)state;
    const vly_cudnn *cudnn = open_or_skip();
    const vly_cudnn_target target = {.device_json = h200};
    struct graph_case c = cases[0];
    uint32_t n = 77;
    vly_error error = {.struct_size = sizeof error};
    vly_attention_desc desc = describe(&c, VLY_ELEMENT_F32);
    assert_int_equal(vly_cudnn_count_configs(cudnn, &target, &desc, &n, &error),
                     VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "neither fp16 nor bf16 nor fp8"));
    desc = describe(&c, VLY_ELEMENT_E4M3);
    assert_int_equal(vly_cudnn_count_configs(cudnn, &target, &desc, &n, &error),
                     VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "one scale for all heads"));
    desc = describe(&c, VLY_ELEMENT_F16);
    desc.flags |= VLY_ATTENTION_PACKED;
    assert_int_equal(vly_cudnn_count_configs(cudnn, &target, &desc, &n, &error),
                     VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "packed sequences with lse"));
    c = cases[0];
    c.flags = PAGED | LENGTHS;
    c.page = 64;
    desc = describe(&c, VLY_ELEMENT_F16);
    desc.k.head += 16;
    assert_int_equal(vly_cudnn_count_configs(cudnn, &target, &desc, &n, &error),
                     VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "pages with room between rows"));
    c = cases[0];
    /* what cuDNN says is in the message */
    const vly_cudnn_target broken = {.device_json = "{"};
    desc = describe(&c, VLY_ELEMENT_F16);
    assert_int_not_equal(
        vly_cudnn_count_configs(cudnn, &broken, &desc, &n, &error), VLY_OK);
    assert_non_null(strstr(error.message, "cuDNN said"));
    assert_int_equal(n, 77);
}

/* A plan of every kind, built for a driver that does nothing (fake_driver.c),
 * as bytes and back: the same plan, and the same bytes again. */
static void test_plans_are_kept(void **state)
{
    (void)state;
    const vly_cudnn *cudnn = open_or_skip();
    const vly_cudnn_target target = {.device_json = h200};
    const char *const names[] = {"causal 256",  "lengths at the end", "packed",
                                 "pages of 16", "backward groups",    "fp8 lse",
                                 "fp8 odd"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int wanted = 0;
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
            wanted |= strcmp(cases[i].name, names[k]) == 0;
        if (!wanted)
            continue;
        vly_error error = {.struct_size = sizeof error};
        const vly_attention_desc desc = describe(
            &cases[i],
            (cases[i].flags & SAME) != 0 ? VLY_ELEMENT_E4M3 : VLY_ELEMENT_BF16);
        vly_cudnn_plan *made = NULL, *loaded = NULL;
        vly_cudnn_plan_info a, b;
        void *blob = NULL, *again = NULL;
        uint32_t bytes = 0, n = 0;
        vly_status status =
            vly_cudnn_plan_create(cudnn, &target, &desc, 0, &made, &error);
        if (strstr(error.message, "PREREQUISITE_MISSING") != NULL) {
            print_message("skipped: %s\n", error.message);
            skip();
        }
        assert_ok(status, error);
        assert_ok(vly_cudnn_plan_save(made, &blob, &bytes, &error), error);
        assert_ok(vly_cudnn_plan_load(cudnn, &target, &desc, blob, bytes,
                                      &loaded, &error),
                  error);
        vly_cudnn_plan_get_info(made, &a);
        vly_cudnn_plan_get_info(loaded, &b);
        assert_int_equal(a.engine, b.engine);
        assert_int_equal(a.index, b.index);
        assert_int_equal(a.n_configs, b.n_configs);
        assert_int_equal(a.workspace_bytes, b.workspace_bytes);
        assert_ok(vly_cudnn_plan_save(loaded, &again, &n, &error), error);
        assert_int_equal(n, bytes);
        assert_memory_equal(again, blob, bytes);
        vly_accel_free(again);
        vly_accel_free(blob);
        vly_cudnn_plan_destroy(loaded);
        vly_cudnn_plan_destroy(made);
    }
}

/* Bytes that are not a plan, or a plan of another version, are refused. */
static void test_damaged_plans(void **state)
{
    (void)state;
    const vly_cudnn *cudnn = open_or_skip();
    const vly_cudnn_target target = {.device_json = h200};
    const vly_attention_desc desc = describe(&cases[1], VLY_ELEMENT_F16);
    vly_error error = {.struct_size = sizeof error};
    vly_cudnn_plan *made = NULL;
    vly_cudnn_plan *none = NULL;
    void *blob = NULL;
    uint32_t bytes = 0;
    if (vly_cudnn_plan_create(cudnn, &target, &desc, 0, &made, &error) !=
        VLY_OK) {
        print_message("skipped: %s\n", error.message);
        skip();
    }
    assert_ok(vly_cudnn_plan_save(made, &blob, &bytes, &error), error);
    uint8_t *text = blob;
    const uint32_t cuts[] = {0, 1, 8, 40, 41, 300, bytes / 2};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++)
        assert_int_not_equal(vly_cudnn_plan_load(cudnn, &target, &desc, blob,
                                                 cuts[i], &none, &error),
                             VLY_OK);
    for (size_t i = 0; i < 8; i += 4) { /* versions: the struct's, cuDNN's */
        text[i] ^= 1;
        assert_int_equal(vly_cudnn_plan_load(cudnn, &target, &desc, blob, bytes,
                                             &none, &error),
                         VLY_E_UNSUPPORTED);
        assert_non_null(strstr(error.message, "another version"));
        text[i] ^= 1;
    }
    assert_null(none);
    vly_accel_free(blob);
    vly_cudnn_plan_destroy(made);
}

/* Too many parts of a graph give an error, not a write past the end. */
static void test_graph_is_bounded(void **state)
{
    (void)state;
    const vly_cudnn *cudnn = open_or_skip();
    vly_cudnn_graph *graph = calloc(1, sizeof *graph);
    assert_non_null(graph);
    vly_cudnn_graph_init(graph, cudnn, NULL);
    for (int i = 0; i < VLY_CUDNN_MOST_IDS + 3; i++)
        (void)vly_cudnn_value_f32(graph, 1.0f);
    vly_error error = {.struct_size = sizeof error};
    assert_int_equal(vly_cudnn_graph_build(graph, &error), VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "constants"));
    vly_cudnn_graph_deinit(graph);
    free(graph);
}

static int start_host(void **state)
{
    (void)state;
    /* cuDNN opens and closes it for each kernel that it compiles; what its
     * copy of libstdc++ holds would be a leak each time */
    const char *const nvrtc[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
    for (size_t i = 0; i < sizeof nvrtc / sizeof nvrtc[0]; i++)
        (void)dlopen(nvrtc[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return vly_support_start(vly_host_table(), NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_engines_offered),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_plans_are_kept),
        cmocka_unit_test(test_damaged_plans),
        cmocka_unit_test(test_graph_is_bounded),
    };
    return cmocka_run_group_tests(tests, start_host, NULL) ? 1 : 0;
}
