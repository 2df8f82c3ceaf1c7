/* SPDX-License-Identifier: Apache-2.0
 * test_attention_most DEVICE: attention at sizes that no table has: more heads,
 * sequences, blocks of rows and keys than 16, 24 or 31 bits count. Every key of
 * a sequence is the same, so O is the value, lse the score and the logarithm of
 * the number of keys; inputs with a stride of 0 let 2^31 - 1 positions lie in
 * one row. A plan may refuse by name, and no other way. A device that is not
 * there: skipped with the reason, failed where it is required.
 */
#include <math.h>
#include <stdlib.h>

#include "device_test.h"
#include "odd_fill.h"

#include "base/error.h"
#include "conformance/conformance_accel.h"
#include "conformance/conformance_attention.h"
#include "conformance/conformance_element.h"

enum { DIM = 64 };
enum { Q, K, V, O, LSE, GRAD_O, GRAD_Q, GRAD_K, GRAD_V, WORKSPACE, N_BUFFERS };

static const char *device_text = "cpu:2";
static bool is_cpu = true;
static uint32_t many = 1500; /* of a device: more than 16 bits count */
static vly_registry *registry;
static vly_accelerator attention;
static vly_error error = {.struct_size = sizeof error};

static int setup(void **state)
{
    (void)state;
    if (vly_registry_create(&registry, &error) != VLY_OK)
        return 1;
    if (vly_accelerator_find(registry, VLY_ATTENTION_INTERFACE, device_text, 1,
                             &attention, &error) == VLY_OK)
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

/* ---- attention ---------------------------------------------------------- */

typedef struct trial {
    vly_attention_desc desc;
    vly_attention_plan *plan;
    vly_plan_info info;
    accel_buffer buffers[N_BUFFERS];
} trial;

/* `bytes` 16-bit floats of [-2.5, 2.5], or NaN, on the device. */
static void make(trial *t, uint32_t which, uint64_t n, uint64_t bytes,
                 bool is_input)
{
    accel_buffer *buffer = &t->buffers[which];
    assert_ok(accel_buffer_init(buffer, &attention, n * bytes, 0, &error),
              error);
    if (is_input)
        odd_fill(accel_buffer_host(buffer), n, 1.0, which, 7);
    assert_ok(accel_buffer_put(buffer, &error), error);
}

/* Rows of [batch][seq][heads][DIM]; a `step` of 0: all positions are one. */
static vly_attention_layout layout(uint32_t heads, uint64_t seq, uint64_t step)
{
    const uint64_t row = (uint64_t)heads * DIM;
    return (vly_attention_layout){
        .batch = step == 0 ? row : seq * row, .seq = row * step, .head = DIM};
}

static vly_attention_desc describe(uint32_t batch, uint32_t heads_q,
                                   uint32_t heads_kv, uint32_t seq_q,
                                   uint32_t seq_kv, uint32_t flags)
{
    const bool backward = (flags & VLY_ATTENTION_BACKWARD) != 0;
    vly_attention_desc desc = {
        .struct_size = sizeof desc,
        .flags = flags | (backward ? 0u : VLY_ATTENTION_LSE),
        .type = VLY_ELEMENT_F16,
        .type_o = VLY_ELEMENT_F16,
        .batch = batch,
        .heads_q = heads_q,
        .heads_kv = heads_kv,
        .seq_q = seq_q,
        .seq_kv = seq_kv,
        .dim = DIM,
        .dim_v = DIM,
        .window_left = VLY_ATTENTION_NO_WINDOW,
        .window_right = VLY_ATTENTION_NO_WINDOW,
        .workspace_most = UINT64_C(4) << 30,
    };
    desc.q = layout(heads_q, seq_q, seq_q == 1);
    desc.k = desc.v = layout(heads_kv, seq_kv, seq_kv == 1);
    desc.o = layout(heads_q, seq_q, 1);
    return desc;
}

/* false: refused, with a sentence */
static bool open_trial(trial *t)
{
    const vly_attention *a = &attention.attention;
    const vly_status status =
        a->plan_create(&attention.device, &t->desc, &t->plan, &error);
    if (status == VLY_E_UNSUPPORTED || status == VLY_E_NOMEM) {
        assert_true(strlen(error.message) > 20);
        printf("refused: %s\n", error.message);
        return false;
    }
    assert_ok(status, error);
    t->info.struct_size = sizeof t->info;
    assert_ok(a->plan_info(t->plan, &t->info, &error), error);
    const uint64_t n_kv = (uint64_t)t->desc.batch * t->desc.heads_kv * DIM;
    const uint64_t n_q = (uint64_t)t->desc.batch * t->desc.heads_q * DIM;
    const uint64_t n_o = n_q * t->desc.seq_q;
    const bool backward = (t->desc.flags & VLY_ATTENTION_BACKWARD) != 0;
    make(t, Q, n_q, 2, true);
    make(t, K, n_kv, 2, true);
    make(t, V, n_kv, 2, true);
    make(t, O, n_o, 2, false);
    make(t, LSE, n_o / DIM, 4, false);
    make(t, GRAD_O, backward ? n_o : 0, 2, true);
    make(t, GRAD_Q, backward ? n_q : 0, 2, false);
    make(t, GRAD_K, backward ? n_kv : 0, 2, false);
    make(t, GRAD_V, backward ? n_kv : 0, 2, false);
    make(t, WORKSPACE, t->info.workspace_bytes, 1, false);
    return true;
}

static void run(trial *t)
{
    void *at[N_BUFFERS];
    for (uint32_t i = 0; i < N_BUFFERS; i++)
        at[i] = accel_buffer_device(&t->buffers[i]);
    const vly_attention_run run = {.struct_size = sizeof run,
                                   .q = at[Q],
                                   .k = at[K],
                                   .v = at[V],
                                   .o = at[O],
                                   .lse = at[LSE],
                                   .grad_o = at[GRAD_O],
                                   .grad_q = at[GRAD_Q],
                                   .grad_k = at[GRAD_K],
                                   .grad_v = at[GRAD_V],
                                   .workspace = at[WORKSPACE],
                                   .workspace_bytes = t->info.workspace_bytes};
    assert_ok(attention.attention.run(t->plan, &run, &error), error);
    assert_ok(
        attention.memory.stream_wait(attention.device.index, NULL, &error),
        error);
    for (uint32_t i = 0; i < N_BUFFERS; i++) {
        assert_ok(accel_buffer_get(&t->buffers[i], &error), error);
        assert_true(accel_buffer_guarded(&t->buffers[i]));
    }
}

static void close_trial(trial *t)
{
    attention.attention.plan_destroy(t->plan);
    for (uint32_t i = 0; i < N_BUFFERS; i++)
        accel_buffer_deinit(&t->buffers[i]);
}

static double half_of(const trial *t, uint32_t which, uint64_t i)
{
    return conformance_element_get(VLY_ELEMENT_F16,
                                   accel_buffer_found(&t->buffers[which]), i);
}

/* The row of Q, of K and V that row `i` of O [batch][seq][heads] comes from. */
static void rows_of(const trial *t, uint64_t i, uint64_t *q, uint64_t *kv)
{
    const uint64_t heads = t->desc.heads_q, head = i % heads;
    const uint64_t batch = i / heads / t->desc.seq_q;
    *q = batch * heads + head;
    *kv = batch * t->desc.heads_kv + head / (heads / t->desc.heads_kv);
}

static double score_of(const trial *t, uint64_t q, uint64_t kv)
{
    double score = 0.0;
    for (uint32_t c = 0; c < DIM; c++)
        score += half_of(t, Q, q * DIM + c) * half_of(t, K, kv * DIM + c);
    return score / sqrt((double)DIM);
}

static void check_row(const trial *t, uint64_t i, uint64_t kv, double off)
{
    const char *o = accel_buffer_found(&t->buffers[O]);
    const char *v = accel_buffer_found(&t->buffers[V]);
    if (memcmp(o + i * DIM * 2, v + kv * DIM * 2, (size_t)DIM * 2) == 0)
        return;
    for (uint32_t c = 0; c < DIM; c++) {
        const double x = half_of(t, O, i * DIM + c);
        const double wanted = half_of(t, V, kv * DIM + c);
        if (!(fabs(x - wanted) <= off * fabs(wanted)))
            fail_msg("%s: o[%llu][%u] is %.9g, wanted %.9g", t->info.choice,
                     (unsigned long long)i, c, x, wanted);
    }
}

/* O is V, within a part of `off`; lse the score and log(seq_kv). */
static void check_forward(const trial *t, double off)
{
    const vly_attention_desc *d = &t->desc;
    const uint64_t heads = d->heads_q,
                   n = (uint64_t)d->batch * heads * d->seq_q;
    const float *lse = accel_buffer_found(&t->buffers[LSE]);
    uint64_t q_before = UINT64_MAX, kv_before = UINT64_MAX;
    double wanted = 0.0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t q, kv;
        rows_of(t, i, &q, &kv);
        check_row(t, i, kv, off);
        if (q != q_before || kv != kv_before)
            wanted = score_of(t, q, kv) + log((double)d->seq_kv);
        q_before = q;
        kv_before = kv;
        const uint64_t at =
            (i / heads / d->seq_q * heads + i % heads) * d->seq_q +
            i / heads % d->seq_q;
        if (!(fabs((double)lse[at] - wanted) <= 1e-4 + off))
            fail_msg("%s: lse[%llu] is %.9g, wanted %.9g", t->info.choice,
                     (unsigned long long)at, (double)lse[at], wanted);
    }
}

static void forward(const char *what, vly_attention_desc desc, double off)
{
    trial t = {.desc = desc};
    printf("%s: ", what);
    if (open_trial(&t)) {
        printf("%s\n", t.info.choice);
        run(&t);
        check_forward(&t, off);
    }
    close_trial(&t);
}

static void test_heads(void **state)
{
    (void)state;
    need_device();
    forward("heads", describe(1, many, many, 1, 1, 0), 0.0);
    forward("heads of one key head", describe(1, many, 1, 1, 1, 0), 0.0);
    forward("heads, causal, two rows",
            describe(1, many, many, 2, 1, VLY_ATTENTION_CAUSAL), 0.0);
    forward("sequences", describe(many, 1, 1, 1, 1, 0), 0.0);
    forward("sequences, 17 rows", describe(many, 1, 1, 17, 3, 0), 0x1p-9);
}

/* More blocks of 128 rows than 16 bits count; 573 M elements of O. */
static void test_queries(void **state)
{
    (void)state;
    need_device();
    forward("queries", describe(1, 1, 1, many * 128, 1, 0), 0.0);
}

/* As many keys as there may be: 2^31 - 1 by the interface, or as many as the
 * plugin says then. Sums of so many weights in fp32, split over blocks and
 * lanes, are off by less than a part in 32, or not at all. */
static void test_keys(void **state)
{
    (void)state;
    need_device();
    uint32_t n = is_cpu ? 1u << 20 : INT32_MAX;
    for (uint32_t i = 0; i < 2; i++) {
        trial t = {.desc = describe(1, 2, 1, 1, n, 0)};
        const bool taken = open_trial(&t);
        /* those that do not split a sequence would take minutes */
        if (taken && !is_cpu && strstr(t.info.choice, "decode") == NULL)
            n = strstr(t.info.choice, "plain") != NULL ? 1u << 22 : 1u << 26;
        close_trial(&t);
        if (taken)
            break;
        n = INT32_MAX - 1023;
    }
    forward("keys", describe(1, 2, 1, 1, n, 0), 0x1p-5);
}

static void backward(const char *what, vly_attention_desc desc)
{
    trial t = {.desc = desc};
    printf("%s: ", what);
    if (!open_trial(&t)) {
        close_trial(&t);
        return;
    }
    printf("%s\n", t.info.choice);
    /* O and lse as a forward run has them */
    const uint64_t n = (uint64_t)desc.batch * desc.heads_q;
    float *lse = accel_buffer_host(&t.buffers[LSE]);
    memcpy(accel_buffer_host(&t.buffers[O]), accel_buffer_host(&t.buffers[V]),
           (size_t)(n * DIM * 2));
    for (uint32_t i = Q; i <= K; i++) /* where score_of looks */
        assert_ok(accel_buffer_get(&t.buffers[i], &error), error);
    for (uint64_t i = 0; i < n; i++)
        lse[i] = (float)score_of(&t, i, i);
    assert_ok(accel_buffer_put(&t.buffers[O], &error), error);
    assert_ok(accel_buffer_put(&t.buffers[LSE], &error), error);
    run(&t);
    /* one key: its weight is 1 whatever q and k are */
    for (uint64_t i = 0; i < n * DIM; i++) {
        const double g = half_of(&t, GRAD_O, i), x = half_of(&t, GRAD_V, i);
        if (!(fabs(x - g) <= 0x1p-10 * fabs(g)) ||
            !(fabs(half_of(&t, GRAD_Q, i)) <= 1e-3) ||
            !(fabs(half_of(&t, GRAD_K, i)) <= 1e-3))
            fail_msg("%s: element %llu: grad_v is %.9g, wanted %.9g; grad_q "
                     "%.3g and grad_k %.3g, wanted 0",
                     t.info.choice, (unsigned long long)i, x, g,
                     half_of(&t, GRAD_Q, i), half_of(&t, GRAD_K, i));
    }
    close_trial(&t);
}

static void test_gradients(void **state)
{
    (void)state;
    need_device();
    const uint32_t flags = VLY_ATTENTION_BACKWARD;
    backward("gradients, heads", describe(1, many, many, 1, 1, flags));
    backward("gradients, sequences", describe(many, 1, 1, 1, 1, flags));
}

/* What no memory holds, or an index cannot say, has a sentence. */
static void test_refused(void **state)
{
    (void)state;
    need_device();
    vly_attention_desc desc = describe(1, 1, 1, 1, 1, 0);
    desc.seq_kv = (uint32_t)INT32_MAX + 1u;
    assert_int_equal(attention.attention.supports(&desc, &error),
                     VLY_E_INVALID);
    assert_non_null(strstr(error.message, "2147483647"));
    desc = describe(UINT32_MAX, UINT32_MAX, UINT32_MAX, 1, 1, 0);
    assert_int_equal(attention.attention.supports(&desc, &error),
                     VLY_E_INVALID);
    assert_non_null(strstr(error.message, "2^62 bytes"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads), cmocka_unit_test(test_queries),
        cmocka_unit_test(test_keys), cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_refused)};
    if (argc > 1)
        device_text = argv[1];
    is_cpu = strncmp(device_text, "cpu", 3) == 0;
    if (!is_cpu)
        many = 70000;
    setvbuf(stdout, NULL, _IOLBF, 0);
    return cmocka_run_group_tests(tests, setup, teardown) ? 1 : 0;
}
