/* SPDX-License-Identifier: Apache-2.0
 * Copies for cuDNN of sequences with lengths, the kernels run on the processor:
 * what lies behind a length is not read into a copy, and not written.
 */
#include "volley_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "accel_cuda.h"
#include "cudnn_guard.h"

const char vly_support_plugin[] = "test";

enum { BATCH = 4, HEADS = 4, KEYS = 2, SEQ = 37, CACHE = 53, DIM = 24, V = 16 };
enum { N_TENSORS = 9, FIRST_WRITTEN = 6, LSE = 4 };

static const int32_t length_q[BATCH] = {SEQ, 11, 20, 0};
static const int32_t length_kv[BATCH] = {CACHE, 1, 0, 30};

vly_status vly_accel_cuda_check(int code, const char *what, vly_error *error)
{
    return code == 0
               ? VLY_OK
               : vly_support_fail(error, VLY_E_DEVICE, "%s: %d", what, code);
}

/* ---- a run ------------------------------------------------------------- */

/* heads first, with room between rows */
static vly_attention_layout roomy(uint32_t heads, uint32_t seq, uint32_t dim)
{
    const vly_attention_layout layout = {
        .batch = (uint64_t)heads * seq * (dim + 8) + 16,
        .seq = dim + 8,
        .head = (uint64_t)seq * (dim + 8)};
    return layout;
}

static vly_attention_desc describe(uint32_t flags)
{
    const vly_attention_desc desc = {.struct_size = sizeof desc,
                                     .flags = flags | VLY_ATTENTION_LENGTHS,
                                     .type = VLY_ELEMENT_F16,
                                     .type_o = VLY_ELEMENT_F16,
                                     .batch = BATCH,
                                     .heads_q = HEADS,
                                     .heads_kv = KEYS,
                                     .seq_q = SEQ,
                                     .seq_kv = CACHE,
                                     .dim = DIM,
                                     .dim_v = V,
                                     .window_left = VLY_ATTENTION_NO_WINDOW,
                                     .window_right = VLY_ATTENTION_NO_WINDOW,
                                     .q = roomy(HEADS, SEQ, DIM),
                                     .k = roomy(KEYS, CACHE, DIM),
                                     .v = roomy(KEYS, CACHE, V),
                                     .o = roomy(HEADS, SEQ, V)};
    return desc;
}

typedef struct tensor {
    uint32_t heads, seq, dim;
    const int32_t *length, *other;
    vly_attention_layout layout;
    uint64_t bytes;
    uint8_t *memory;
} tensor;

static void make(const vly_attention_desc *d, tensor t[N_TENSORS])
{
    for (int i = 0; i < N_TENSORS; i++) {
        const int keys = i == 1 || i == 2 || i >= 7;
        const int is_v = i == 2 || i == 3 || i == 5 || i == 8;
        t[i].heads = keys ? KEYS : HEADS;
        t[i].seq = keys ? CACHE : SEQ;
        t[i].dim = is_v ? V : DIM;
        t[i].length = keys ? length_kv : length_q;
        t[i].other = keys ? length_q : length_kv;
        t[i].layout = keys ? (is_v ? d->v : d->k) : (is_v ? d->o : d->q);
        t[i].bytes = 2 * BATCH * t[i].layout.batch;
        if (i == LSE)
            t[i].bytes = 4ull * BATCH * HEADS * SEQ;
        t[i].memory = malloc(t[i].bytes);
        assert_non_null(t[i].memory);
        for (uint64_t k = 0; k < t[i].bytes; k++)
            t[i].memory[k] = (uint8_t)(k * 31 + k / 251 + (uint64_t)i);
    }
}

static void drop(tensor t[N_TENSORS])
{
    for (int i = 0; i < N_TENSORS; i++)
        free(t[i].memory);
}

static vly_attention_run run_of(const tensor t[N_TENSORS])
{
    const vly_attention_run run = {.struct_size = sizeof run,
                                   .q = t[0].memory,
                                   .k = t[1].memory,
                                   .v = t[2].memory,
                                   .o = t[3].memory,
                                   .lse = t[4].memory,
                                   .grad_o = t[5].memory,
                                   .grad_q = t[6].memory,
                                   .grad_k = t[7].memory,
                                   .grad_v = t[8].memory,
                                   .length_q = length_q,
                                   .length_kv = length_kv};
    return run;
}

/* Row (b, s, h) of a tensor in the caller's memory, and in a tight copy. */
static uint8_t *row_of(const tensor *t, uint32_t b, uint32_t s, uint32_t h)
{
    return t->memory +
           2 * (b * t->layout.batch + s * t->layout.seq + h * t->layout.head);
}

static const uint8_t *copy_of(const tensor *t, const void *copy, uint32_t b,
                              uint32_t s, uint32_t h)
{
    return (const uint8_t *)copy +
           2 * ((((uint64_t)b * t->seq + s) * t->heads + h) * t->dim);
}

#define EACH_ROW(t, b, s, h)                                                   \
    for (uint32_t b = 0; b < BATCH; b++)                                       \
        for (uint32_t s = 0; s < (t)->seq; s++)                                \
            for (uint32_t h = 0; h < (t)->heads; h++)

static void check_read(const tensor *t, const void *copy)
{
    static const uint8_t zeros[2 * DIM];
    assert_ptr_not_equal(copy, t->memory);
    EACH_ROW(t, b, s, h)
    {
        const int there = (int32_t)s < t->length[b];
        assert_memory_equal(copy_of(t, copy, b, s, h),
                            there ? row_of(t, b, s, h) : zeros, 2 * t->dim);
    }
}

/* before: what the memory was, t what it is, copy what was computed */
static void check_written(const tensor *t, const uint8_t *before,
                          const void *copy)
{
    uint8_t *wanted = malloc(t->bytes);
    assert_non_null(wanted);
    memcpy(wanted, before, t->bytes);
    EACH_ROW(t, b, s, h)
    {
        uint8_t *to = wanted + (row_of(t, b, s, h) - t->memory);
        if ((int32_t)s >= t->length[b])
            continue;
        if (t->other[b] > 0)
            memcpy(to, copy_of(t, copy, b, s, h), 2 * t->dim);
        else
            memset(to, 0, 2 * t->dim);
    }
    assert_memory_equal(t->memory, wanted, t->bytes);
    free(wanted);
}

/* ---- tests ------------------------------------------------------------- */

static void test_backward(void **state)
{
    (void)state;
    const vly_attention_desc desc = describe(VLY_ATTENTION_BACKWARD);
    tensor t[N_TENSORS];
    make(&desc, t);
    float *lse = (float *)(void *)t[LSE].memory;
    for (uint32_t i = 0; i < BATCH * HEADS * SEQ; i++)
        lse[i] = i % 7 == 0 ? -INFINITY : (float)i;
    const vly_attention_run run = run_of(t);
    vly_attention_run copied;
    vly_error error = {.struct_size = sizeof error};
    const uint64_t bytes = vly_cudnn_guard_bytes(&desc);
    uint8_t *copies = aligned_alloc(256, bytes);
    assert_non_null(copies);
    memset(copies, 0x5a, bytes);
    assert_ok(vly_cudnn_guard_begin(&desc, &run, copies, &copied, &error),
              error);
    check_read(&t[0], copied.q);
    check_read(&t[1], copied.k);
    check_read(&t[2], copied.v);
    check_read(&t[3], copied.o);
    check_read(&t[5], copied.grad_o);
    const float *there = copied.lse;
    for (uint32_t i = 0; i < BATCH * HEADS * SEQ; i++) {
        const int behind =
            (int32_t)(i % SEQ) >= length_q[i / (HEADS * SEQ)] || i % 7 == 0;
        assert_true(there[i] == (behind ? INFINITY : (float)i));
    }
    uint8_t *before[N_TENSORS] = {NULL};
    for (int i = FIRST_WRITTEN; i < N_TENSORS; i++) {
        before[i] = malloc(t[i].bytes);
        assert_non_null(before[i]);
        memcpy(before[i], t[i].memory, t[i].bytes);
    }
    assert_ok(vly_cudnn_guard_end(&desc, &run, &copied, &error), error);
    check_written(&t[6], before[6], copied.grad_q);
    check_written(&t[7], before[7], copied.grad_k);
    check_written(&t[8], before[8], copied.grad_v);
    for (int i = 0; i < N_TENSORS; i++)
        free(before[i]);
    free(copies);
    drop(t);
}

static void test_forward(void **state)
{
    (void)state;
    for (int paged = 0; paged < 2; paged++) {
        const vly_attention_desc desc =
            describe(VLY_ATTENTION_LSE | (paged ? VLY_ATTENTION_PAGED : 0u));
        tensor t[N_TENSORS];
        make(&desc, t);
        const vly_attention_run run = run_of(t);
        vly_attention_run copied;
        vly_error error = {.struct_size = sizeof error};
        const uint64_t bytes = vly_cudnn_guard_bytes(&desc);
        uint8_t *copies = aligned_alloc(256, bytes);
        uint8_t *before = malloc(t[3].bytes);
        assert_non_null(copies);
        assert_non_null(before);
        for (uint64_t i = 0; i < bytes; i++)
            copies[i] = (uint8_t)(i % 253);
        memcpy(before, t[3].memory, t[3].bytes);
        assert_ok(vly_cudnn_guard_begin(&desc, &run, copies, &copied, &error),
                  error);
        assert_ptr_equal(copied.q, run.q);
        if (paged) {
            assert_ptr_equal(copied.k, run.k);
            assert_ptr_equal(copied.v, run.v);
        } else {
            check_read(&t[1], copied.k);
            check_read(&t[2], copied.v);
        }
        float *lse = copied.lse;
        const uint32_t *old = (const uint32_t *)(const void *)t[LSE].memory;
        uint32_t kept[BATCH * HEADS * SEQ];
        memcpy(kept, old, sizeof kept);
        for (uint32_t i = 0; i < BATCH * HEADS * SEQ; i++)
            lse[i] = (float)i;
        assert_ok(vly_cudnn_guard_end(&desc, &run, &copied, &error), error);
        check_written(&t[3], before, copied.o);
        for (uint32_t i = 0; i < BATCH * HEADS * SEQ; i++) {
            const uint32_t b = i / (HEADS * SEQ);
            const float wanted = length_kv[b] > 0 ? (float)i : -INFINITY;
            float found = 0.0f;
            memcpy(&found, &old[i], sizeof found);
            if ((int32_t)(i % SEQ) >= length_q[b])
                assert_int_equal(old[i], kept[i]);
            else
                assert_true(found == wanted);
        }
        free(before);
        free(copies);
        drop(t);
    }
}

/* Without lengths nothing is copied, and the layouts are the caller's. */
static void test_without(void **state)
{
    (void)state;
    vly_attention_desc desc = describe(0);
    vly_attention_desc given = vly_cudnn_guard_desc(&desc);
    assert_int_equal(given.k.seq, KEYS * DIM);
    assert_int_equal(given.o.head, V);
    assert_memory_equal(&given.q, &desc.q, sizeof desc.q);
    desc.flags &= ~(uint32_t)VLY_ATTENTION_LENGTHS;
    given = vly_cudnn_guard_desc(&desc);
    assert_memory_equal(&given, &desc, sizeof desc);
    assert_int_equal(vly_cudnn_guard_bytes(&desc), 0);
    assert_int_equal(vly_cudnn_guarded(&desc), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backward),
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
