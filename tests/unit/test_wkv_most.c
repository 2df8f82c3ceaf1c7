/* SPDX-License-Identifier: Apache-2.0
 * test_wkv_most DEVICE: the recurrence of RWKV-7 at sizes that no table has:
 * more heads, sequences and tokens than 16 bits count. 64 heads are compared
 * with volley/wkv.h in double. A plan may refuse by name, and no other way. A
 * device that is not there: skipped with the reason, failed where it is
 * required.
 */
#include <math.h>
#include <stdlib.h>

#include "device_test.h"
#include "odd_fill.h"

#include "base/error.h"
#include "conformance/conformance_accel.h"
#include "conformance/conformance_attention.h"
#include "conformance/conformance_element.h"
#include "conformance/conformance_wkv.h"

static const char *device_text = "cpu:2";
static bool is_cpu = true;
static uint32_t many = 1500; /* of a device: more than 16 bits count */
static vly_registry *registry;
static vly_accelerator wkv;
static vly_error error = {.struct_size = sizeof error};

static int setup(void **state)
{
    (void)state;
    if (vly_registry_create(&registry, &error) != VLY_OK)
        return 1;
    if (vly_accelerator_find(registry, VLY_WKV_INTERFACE, device_text, 1, &wkv,
                             &error) == VLY_OK)
        return 0;
    vly_registry_destroy(registry);
    registry = NULL;
    return is_cpu || device_is_required("cuda");
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

enum { R, W, KEY, VALUE, A, B, Y, STATE, WORK, N_WKV };

typedef struct recurrence {
    vly_wkv_desc desc;
    vly_wkv_plan *plan;
    vly_plan_info info;
    accel_buffer buffers[N_WKV];
} recurrence;

/* a and b are short, so that no state grows. */
static void fill_wkv(recurrence *t)
{
    const uint64_t n =
        (uint64_t)t->desc.batch * t->desc.seq * t->desc.heads * WKV_DIM;
    const uint64_t n_state =
        (uint64_t)t->desc.batch * t->desc.heads * WKV_SQUARE;
    for (uint32_t i = 0; i < N_WKV; i++) {
        accel_buffer *buffer = &t->buffers[i];
        const uint64_t bytes = i <= Y       ? n * 2
                               : i == STATE ? n_state * 4
                                            : t->info.workspace_bytes;
        assert_ok(accel_buffer_init(buffer, &wkv, bytes, 0, &error), error);
        if (i <= B)
            odd_fill(accel_buffer_host(buffer), n, i == A || i == B ? 0.1 : 1.0,
                     i, 8);
        assert_ok(accel_buffer_put(buffer, &error), error);
    }
}

static void run_wkv(recurrence *t)
{
    void *at[N_WKV];
    for (uint32_t i = 0; i < N_WKV; i++)
        at[i] = accel_buffer_device(&t->buffers[i]);
    const vly_wkv_run run = {.struct_size = sizeof run,
                             .r = at[R],
                             .w = at[W],
                             .k = at[KEY],
                             .v = at[VALUE],
                             .a = at[A],
                             .b = at[B],
                             .y = at[Y],
                             .state_out = at[STATE],
                             .workspace = at[WORK],
                             .workspace_bytes = t->info.workspace_bytes};
    assert_ok(wkv.wkv.run(t->plan, &run, &error), error);
    assert_ok(wkv.memory.stream_wait(wkv.device.index, NULL, &error), error);
    for (uint32_t i = 0; i < N_WKV; i++) {
        assert_ok(accel_buffer_get(&t->buffers[i], &error), error);
        assert_true(accel_buffer_guarded(&t->buffers[i]));
    }
}

static double of_wkv(const recurrence *t, uint32_t which, uint64_t i)
{
    return conformance_element_get(VLY_ELEMENT_F16,
                                   accel_buffer_found(&t->buffers[which]), i);
}

/* One token of one head, by volley/wkv.h: state in double, y. */
static void step_of(const recurrence *t, uint64_t at,
                    double state[WKV_DIM][WKV_DIM], double y[WKV_DIM])
{
    double in[Y][WKV_DIM];
    for (uint32_t i = 0; i < Y; i++)
        for (uint32_t j = 0; j < WKV_DIM; j++)
            in[i][j] = of_wkv(t, i, at + j);
    for (uint32_t j = 0; j < WKV_DIM; j++)
        in[W][j] = exp(-exp(in[W][j]));
    for (uint32_t i = 0; i < WKV_DIM; i++) {
        double along = 0.0;
        y[i] = 0.0;
        for (uint32_t j = 0; j < WKV_DIM; j++)
            along += state[i][j] * in[A][j];
        for (uint32_t j = 0; j < WKV_DIM; j++) {
            state[i][j] = state[i][j] * in[W][j] + along * in[B][j] +
                          in[VALUE][i] * in[KEY][j];
            y[i] += state[i][j] * in[R][j];
        }
    }
}

static void near(const recurrence *t, const char *what, uint64_t head,
                 double found, double wanted, double off)
{
    if (!(fabs(found - wanted) <= off))
        fail_msg("%s: %s of head %llu is %.9g, wanted %.9g +- %.3g",
                 t->info.choice, what, (unsigned long long)head, found, wanted,
                 off);
}

/* One head of one sequence: y is rounded to fp16, sums of fp32 or three parts
 * of tf32 are off by some 2^-20 of the largest. */
static void check_head(const recurrence *t, uint64_t head)
{
    static double state[WKV_DIM][WKV_DIM];
    const float *found = accel_buffer_found(&t->buffers[STATE]);
    double y[WKV_DIM];
    const uint64_t heads = t->desc.heads, seq = t->desc.seq;
    memset(state, 0, sizeof state);
    for (uint64_t s = 0; s < seq; s++) {
        const uint64_t at =
            ((head / heads * seq + s) * heads + head % heads) * WKV_DIM;
        step_of(t, at, state, y);
        for (uint32_t i = 0; i < WKV_DIM; i++)
            near(t, "y", head, of_wkv(t, Y, at + i), y[i],
                 0x1p-10 * fabs(y[i]) + 0x1p-10);
    }
    for (uint32_t i = 0; i < WKV_SQUARE; i++)
        near(t, "state", head, (double)found[head * WKV_SQUARE + i],
             state[i / WKV_DIM][i % WKV_DIM], 0x1p-13);
}

static void recur(const char *what, uint32_t batch, uint32_t seq,
                  uint32_t heads)
{
    recurrence t = {.desc = {.struct_size = sizeof t.desc,
                             .type = VLY_ELEMENT_F16,
                             .batch = batch,
                             .seq = seq,
                             .heads = heads,
                             .dim = WKV_DIM,
                             .workspace_most = UINT64_C(8) << 30}};
    const vly_status status =
        wkv.wkv.plan_create(&wkv.device, &t.desc, &t.plan, &error);
    if (status == VLY_E_UNSUPPORTED || status == VLY_E_NOMEM) {
        assert_true(strlen(error.message) > 20);
        printf("%s: refused: %s\n", what, error.message);
        return;
    }
    assert_ok(status, error);
    t.info.struct_size = sizeof t.info;
    assert_ok(wkv.wkv.plan_info(t.plan, &t.info, &error), error);
    printf("%s: %s\n", what, t.info.choice);
    fill_wkv(&t);
    run_wkv(&t);
    const uint64_t n = (uint64_t)batch * heads;
    for (uint64_t i = 0; i < 64 && i < n; i++) /* first, last, between */
        check_head(&t, n < 64 ? i : i * (n - 1) / 63);
    wkv.wkv.plan_destroy(t.plan);
    for (uint32_t i = 0; i < N_WKV; i++)
        accel_buffer_deinit(&t.buffers[i]);
}

static void test_recurrence(void **state)
{
    (void)state;
    need_device();
    recur("a step of many heads", 1, 1, many);
    recur("a step of many sequences", many, 1, 1);
    recur("five tokens of many heads", 1, 5, many);
    recur("many tokens", 1, many, 1);
}

static void test_refused(void **state)
{
    (void)state;
    need_device();
    vly_wkv_desc large = {.struct_size = sizeof large,
                          .type = VLY_ELEMENT_F16,
                          .batch = UINT32_MAX,
                          .seq = UINT32_MAX,
                          .heads = UINT32_MAX,
                          .dim = WKV_DIM};
    assert_int_not_equal(wkv.wkv.supports(&large, &error), VLY_OK);
    assert_true(strlen(error.message) > 20);
    printf("refused: %s\n", error.message);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_recurrence),
                                       cmocka_unit_test(test_refused)};
    if (argc > 1)
        device_text = argv[1];
    is_cpu = strncmp(device_text, "cpu", 3) == 0;
    if (!is_cpu)
        many = 70000;
    setvbuf(stdout, NULL, _IOLBF, 0);
    return cmocka_run_group_tests(tests, setup, teardown) ? 1 : 0;
}
