/* SPDX-License-Identifier: Apache-2.0
 * volley.wkv/1 and volley.rwkv/1 of attention_cuda where there is no device
 * (fake_attention_cuda.c): which way is chosen and remembered, what is refused,
 * and plans while memory fails. What they compute: test_wkv_emulated and
 * test_rwkv_emulated.
 */
#include "volley_test.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <math.h>

#include <volley/rwkv.h>
#include <volley/wkv.h>

#include "accel_common.h"
#include "plugins/attention/wkv_choice.h"

const char vly_support_plugin[] = "test"; /* of the trial alone, linked here */

static const vly_wkv *wkv;
static const vly_rwkv *rwkv;
static vly_error error = {.struct_size = sizeof error};
static int64_t n_blocks, fail_at;
static uint32_t n_warnings;

static void *host_alloc(void *context, uint64_t bytes, uint64_t align)
{
    (void)context;
    if (fail_at > 0 && --fail_at == 0)
        return NULL;
    n_blocks++;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void host_free(void *context, void *memory)
{
    (void)context;
    n_blocks -= memory != NULL;
    free(memory);
}

static void host_log(void *context, int32_t level, const char *message)
{
    (void)context;
    (void)message;
    n_warnings += level >= VLY_LOG_WARN;
}

/* Every look at it is a microsecond later, whatever the machine does. */
static uint64_t host_clock(void *context)
{
    static uint64_t now;
    (void)context;
    return now += 1000;
}

static const vly_host host = {.struct_size = sizeof host,
                              .alloc = host_alloc,
                              .free = host_free,
                              .log = host_log,
                              .clock_ns = host_clock};

static int open_plugin(void **state)
{
    (void)state;
    void *plugin = dlopen(TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
        print_error("%s\n", dlerror());
        return 1;
    }
    const vly_plugin *entry = dlsym(plugin, VLY_PLUGIN_SYMBOL);
    if (entry == NULL || entry->init(&host, &error) != VLY_OK)
        return 1;
    wkv = entry->get_interface(VLY_WKV_INTERFACE);
    rwkv = entry->get_interface(VLY_RWKV_INTERFACE);
    return wkv == NULL || rwkv == NULL;
}

static vly_device_spec device_of(const char *options)
{
    return (vly_device_spec){.struct_size = sizeof(vly_device_spec),
                             .options = options};
}

/* ---- the recurrence -------------------------------------------------------
 */

static vly_wkv_desc wkv_desc(uint32_t seq)
{
    return (vly_wkv_desc){.struct_size = sizeof(vly_wkv_desc),
                          .type = VLY_ELEMENT_F16,
                          .batch = 1,
                          .seq = seq,
                          .heads = 1,
                          .dim = 64,
                          .workspace_most = 1 << 20};
}

/* The list of ways of the last plan. */
static vly_plan_candidate told[3];
static uint32_t n_told;

static vly_status plan_wkv(const char *options, uint32_t seq,
                           vly_plan_info *info)
{
    const vly_device_spec device = device_of(options);
    const vly_wkv_desc desc = wkv_desc(seq);
    vly_wkv_plan *plan = NULL;
    const vly_status status = wkv->plan_create(&device, &desc, &plan, &error);
    if (status != VLY_OK)
        return status;
    *info = (vly_plan_info){.struct_size = sizeof *info};
    assert_ok(wkv->plan_info(plan, info, &error), error);
    n_told = 1;
    for (uint32_t i = 0; i < n_told; i++) {
        assert_true(i < 3);
        told[i] = (vly_plan_candidate){.struct_size = sizeof told[i]};
        assert_ok(wkv->plan_candidate(plan, i, &told[i], &n_told, &error),
                  error);
    }
    wkv->plan_destroy(plan);
    return VLY_OK;
}

static void check_choice(const char *options, uint32_t seq, const char *choice,
                         uint32_t n_candidates)
{
    vly_plan_info info;
    assert_ok(plan_wkv(options, seq, &info), error);
    assert_string_equal(info.choice, choice);
    assert_int_equal(info.n_candidates, n_candidates);
    assert_true(info.measured_s == 0.0);
}

static void test_ways(void **state)
{
    (void)state;
    check_choice("tune=0,cache=off", 1, "own_step, early", 3);
    check_choice("cache=off", 1, "own_step, early", 3);
    check_choice("tune=0,cache=off", 40, "own_recurrent, early", 2);
    check_choice("choose=own_chunked,cache=off,early=0", 40, "own_chunked", 1);
    assert_int_equal(n_told, 3);
    assert_non_null(strstr(told[0].note, "single step"));
    assert_non_null(strstr(told[1].note, "choose names another"));
    assert_int_equal(told[1].state, VLY_CANDIDATE_REFUSED);
    assert_int_equal(told[2].state, VLY_CANDIDATE_CHOSEN);
    vly_plan_info info;
    assert_int_equal(plan_wkv("choose=own_step", 2, &info), VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "own_step is for a single step"));
    assert_int_equal(plan_wkv("choose=none", 2, &info), VLY_E_UNSUPPORTED);
    assert_int_equal(plan_wkv("early=2", 2, &info), VLY_E_INVALID);
    assert_non_null(strstr(error.message, "option early is \"2\""));
}

/* Both are right, so one is measured, and remembered. */
static void test_measured(void **state)
{
    (void)state;
    char folder[] = "/tmp/volley-wkv-XXXXXX";
    char options[64];
    char file[128];
    vly_plan_info first, second;
    assert_non_null(mkdtemp(folder));
    snprintf(options, sizeof options, "cache=%s", folder);
    n_warnings = 0;
    assert_ok(plan_wkv(options, 33, &first), error);
    assert_int_equal(told[0].state, VLY_CANDIDATE_REFUSED);
    assert_true(told[1].measured_s > 0.0 && told[2].measured_s > 0.0);
    assert_int_equal(told[1].state + told[2].state,
                     VLY_CANDIDATE_CHOSEN + VLY_CANDIDATE_READY);
    assert_ok(plan_wkv(options, 33, &second), error);
    assert_int_equal(n_warnings, 0);
    assert_int_equal(first.n_candidates, 2);
    assert_true(first.measured_s > 0.0);
    assert_int_equal(first.cached, 0);
    assert_int_equal(second.cached, 1);
    assert_true(second.measured_s == first.measured_s);
    assert_string_equal(first.choice, second.choice);
    snprintf(file, sizeof file, "%s/wkv-no_device-90.tune", folder);
    assert_int_equal(remove(file), 0);
    snprintf(file, sizeof file, "%s/wkv-no_device-90.tune.lock", folder);
    (void)remove(file);
    assert_int_equal(remove(folder), 0);
}

/* The plan itself is an error; without memory to measure, the first is taken.
 */
static void test_memory(void **state)
{
    (void)state;
    const int64_t before = n_blocks;
    uint32_t n_refused = 0;
    uint32_t n_unmeasured = 0;
    for (int64_t n = 1;; n++) {
        vly_plan_info info;
        fail_at = n;
        const vly_status status = plan_wkv("cache=off", 33, &info);
        const int is_over = fail_at > 0;
        fail_at = 0;
        assert_int_equal(n_blocks, before);
        if (is_over) {
            assert_ok(status, error);
            assert_true(info.measured_s > 0.0);
            break;
        }
        if (status == VLY_OK) {
            assert_string_equal(info.choice, "own_recurrent, early");
            assert_true(info.measured_s == 0.0);
            n_unmeasured++;
        } else {
            assert_int_equal(status, VLY_E_NOMEM);
            n_refused++;
        }
    }
    assert_true(n_refused >= 1 && n_unmeasured >= 4);
}

/* ---- the trial, with fake ways ------------------------------------------- */

static int fill_state(const vly_wkv_args *args, float x)
{
    for (uint32_t i = 0; i < args->batch * args->heads * 4096; i++)
        args->state_out[i] = x;
    return 0;
}

static int slow_way(const vly_wkv_args *args, void *stream)
{
    (void)stream;
    for (int i = 0; i < 5; i++)
        (void)host_clock(NULL);
    return fill_state(args, 1.0f);
}

static int fast_way(const vly_wkv_args *args, void *stream)
{
    (void)stream;
    return fill_state(args, 1.00001f);
}

static int wrong_way(const vly_wkv_args *args, void *stream)
{
    (void)stream;
    return fill_state(args, 1.01f);
}

static int way_of_nan(const vly_wkv_args *args, void *stream)
{
    (void)stream;
    return fill_state(args, NAN);
}

static int broken_way(const vly_wkv_args *args, void *stream)
{
    (void)args, (void)stream;
    return 1; /* cudaErrorInvalidValue */
}

static void test_trial(void **state)
{
    (void)state;
    static const vly_wkv_way slow = {.name = "slow", .launch = slow_way};
    static const vly_wkv_way fast = {.name = "fast", .launch = fast_way};
    static const vly_wkv_way wrong = {.name = "wrong", .launch = wrong_way};
    static const vly_wkv_way none = {.name = "nan", .launch = way_of_nan};
    static const vly_wkv_way broken = {.name = "broken", .launch = broken_way};
    const vly_wkv_way *all[4] = {&slow, &wrong, &none, &fast};
    const vly_wkv_desc desc = wkv_desc(5);
    const int64_t before = n_blocks;
    uint32_t best = 99;
    double seconds[4] = {0.0};
    assert_ok(vly_support_start(&host, &error), error);
    n_warnings = 0;
    assert_ok(vly_wkv_measure(0, &desc, all, 4, &best, seconds, &error), error);
    assert_int_equal(best, 3);
    assert_int_equal(n_warnings, 2);
    assert_true(seconds[3] > 0.0 && seconds[3] < 5e-6);
    assert_true(seconds[0] > seconds[3]);
    assert_true(seconds[1] < 0.0 && seconds[2] < 0.0); /* wrong */
    all[1] = &broken;
    best = 99;
    assert_int_equal(vly_wkv_measure(0, &desc, all, 4, &best, seconds, &error),
                     VLY_E_DEVICE);
    assert_int_equal(best, 99);
    assert_non_null(strstr(error.message, "broken"));
    assert_int_equal(n_blocks, before);
    vly_support_stop();
}

/* ---- what is around it ----------------------------------------------------
 */

static vly_rwkv_desc rwkv_desc(uint32_t op)
{
    return (vly_rwkv_desc){.struct_size = sizeof(vly_rwkv_desc),
                           .op = op,
                           .type = VLY_ELEMENT_F16,
                           .type_matrix = VLY_ELEMENT_F16,
                           .batch = 1,
                           .seq = 1,
                           .width = 128,
                           .n_mix = 6,
                           .vocabulary = 10,
                           .n_products = 1,
                           .rank = {8, 8, 8, 8},
                           .eps = 1e-5f,
                           .product = {{.n = 64,
                                        .k = 128,
                                        .type = VLY_ELEMENT_F16,
                                        .type_y = VLY_ELEMENT_F16}}};
}

static void check_refused(const vly_rwkv_desc *desc, const char *says)
{
    error.message[0] = '\0';
    if (rwkv->supports(desc, &error) != VLY_E_UNSUPPORTED ||
        strstr(error.message, says) == NULL)
        fail_msg("wanted \"%s\", found \"%s\"", says, error.message);
}

static void test_refused(void **state)
{
    (void)state;
    vly_rwkv_desc desc = rwkv_desc(VLY_RWKV_PRODUCTS);
    assert_ok(rwkv->supports(&desc, &error), error);
    desc.batch = 9;
    check_refused(&desc, "9 rows, there are up to 8");
    desc = rwkv_desc(VLY_RWKV_PRODUCTS);
    desc.align = 8;
    check_refused(&desc, "aligned to 8 bytes, wanted 16");
    desc = rwkv_desc(VLY_RWKV_PRODUCTS);
    desc.product[0].k = 100;
    check_refused(&desc, "100 inputs in fp16, wanted a multiple of 8");
    desc = rwkv_desc(VLY_RWKV_STEP);
    desc.flags = VLY_RWKV_LORA;
    assert_ok(rwkv->supports(&desc, &error), error);
    desc.align = 4;
    check_refused(&desc, "a state aligned to 4 bytes");
    desc.align = 0;
    desc.rank[1] = 8192;
    check_refused(&desc, "ranks of 8216 together, there are up to 8192");
    desc = rwkv_desc(VLY_RWKV_MIX);
    desc.width = 16448;
    check_refused(&desc, "width 16448, there is up to 16384");
    desc.width = 128;
    desc.seq = UINT32_MAX;
    check_refused(&desc, "more than a launch has blocks");
}

static void test_rwkv_plans(void **state)
{
    (void)state;
    const int64_t before = n_blocks;
    for (uint32_t op = 0; op < VLY_RWKV_N_OPS; op++) {
        const vly_device_spec device = device_of(op % 2 == 0 ? "" : "early=1");
        const vly_rwkv_desc desc = rwkv_desc(op);
        vly_plan_info info = {.struct_size = sizeof info};
        vly_rwkv_plan *plan = NULL;
        fail_at = 1;
        assert_int_equal(rwkv->plan_create(&device, &desc, &plan, &error),
                         VLY_E_NOMEM);
        fail_at = 0;
        assert_null(plan);
        assert_ok(rwkv->plan_create(&device, &desc, &plan, &error), error);
        assert_ok(rwkv->plan_info(plan, &info, &error), error);
        assert_non_null(strstr(info.choice, "own "));
        assert_non_null(strstr(info.choice, ", early"));
        rwkv->plan_destroy(plan);
        assert_int_equal(n_blocks, before);
    }
    const vly_device_spec device = device_of("choose=fast");
    const vly_rwkv_desc desc = rwkv_desc(VLY_RWKV_ADD);
    vly_rwkv_plan *plan = NULL;
    assert_int_equal(rwkv->plan_create(&device, &desc, &plan, &error),
                     VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "choose=fast"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways),    cmocka_unit_test(test_measured),
        cmocka_unit_test(test_memory),  cmocka_unit_test(test_trial),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_rwkv_plans),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL) ? 1 : 0;
}
