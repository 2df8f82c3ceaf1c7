/* SPDX-License-Identifier: Apache-2.0
 * What attention_cpu refuses: each wrong description and each wrong run with a
 * status and a word of its message.
 */
#include "test_attention.h"

#include <math.h>
#include <stdlib.h>

typedef struct wrong_desc {
    const char *says; /* in the message */
    vly_status status;
    void (*make)(vly_attention_desc *desc);
} wrong_desc;

#define WRONG(name, change)                                                    \
    static void name(vly_attention_desc *d)                                    \
    {                                                                          \
        change;                                                                \
    }

WRONG(short_desc, d->struct_size = 8)
WRONG(type_int, d->type = VLY_ELEMENT_I8)
WRONG(type_none, d->type = 99)
WRONG(type_o, d->type_o = VLY_ELEMENT_F16)
WRONG(fp8_o, (d->type = VLY_ELEMENT_E4M3, d->type_o = VLY_ELEMENT_F32))
WRONG(fp8_back, (d->type = d->type_o = VLY_ELEMENT_E4M3,
                 d->flags = VLY_ATTENTION_BACKWARD))
WRONG(flags, d->flags = 1u << 20)
WRONG(same_scales, d->flags = VLY_ATTENTION_SAME_SCALES)
WRONG(both_causal, d->flags = VLY_ATTENTION_CAUSAL | VLY_ATTENTION_CAUSAL_END)
WRONG(packed_lengths, d->flags = VLY_ATTENTION_PACKED | VLY_ATTENTION_LENGTHS)
WRONG(paged_back, (d->flags = VLY_ATTENTION_PAGED | VLY_ATTENTION_BACKWARD,
                   d->page_size = 16, d->pages_most = 99))
WRONG(page_size, (d->flags = VLY_ATTENTION_PAGED, d->page_size = 32))
WRONG(pages_few,
      (d->flags = VLY_ATTENTION_PAGED, d->page_size = 16, d->pages_most = 1))
WRONG(heads_none, d->heads_kv = 0)
WRONG(heads_odd, d->heads_kv = 3)
WRONG(dim_0, d->dim = 0)
WRONG(dim_12, d->dim = 12)
WRONG(dim_264, d->dim = 264)
WRONG(dim_v_4, d->dim_v = 4)
WRONG(seq_long, d->seq_kv = 1u << 31)
WRONG(window, d->window_left = -2)
WRONG(scale, d->scale = NAN)
WRONG(align_3, d->align = 3)
WRONG(align_512, d->align = 512)
WRONG(far, d->q.batch = UINT64_MAX / 2)
WRONG(o_overlaps, d->o.seq = 8)
WRONG(o_zero, d->o.head = 0)
WRONG(k_zero_back, (d->flags = VLY_ATTENTION_BACKWARD, d->k.head = 0))
WRONG(workspace, (d->flags = VLY_ATTENTION_BACKWARD, d->workspace_most = 10))
#undef WRONG

static const wrong_desc wrong_descs[] = {
    {"shorter", VLY_E_INVALID, short_desc},
    {"int8", VLY_E_UNSUPPORTED, type_int},
    {"(99)", VLY_E_UNSUPPORTED, type_none},
    {"same type", VLY_E_UNSUPPORTED, type_o},
    {"fp8, fp16 or bf16", VLY_E_UNSUPPORTED, fp8_o},
    {"gradients of fp8", VLY_E_UNSUPPORTED, fp8_back},
    {"0x100000", VLY_E_UNSUPPORTED, flags},
    {"types that have none", VLY_E_INVALID, same_scales},
    {"at once", VLY_E_INVALID, both_causal},
    {"packed", VLY_E_INVALID, packed_lengths},
    {"pages", VLY_E_UNSUPPORTED, paged_back},
    {"page_size is 32", VLY_E_INVALID, page_size},
    {"1 pages of 16", VLY_E_INVALID, pages_few},
    {"0 key heads", VLY_E_INVALID, heads_none},
    {"3 key heads", VLY_E_INVALID, heads_odd},
    {"dim is 0", VLY_E_INVALID, dim_0},
    {"dim is 12", VLY_E_INVALID, dim_12},
    {"dim is 264", VLY_E_INVALID, dim_264},
    {"dim_v is 4", VLY_E_INVALID, dim_v_4},
    {"seq_kv 2147483648", VLY_E_INVALID, seq_long},
    {"window of -2", VLY_E_INVALID, window},
    {"scale", VLY_E_INVALID, scale},
    {"align is 3", VLY_E_INVALID, align_3},
    {"align is 512", VLY_E_INVALID, align_512},
    {"Q spans", VLY_E_INVALID, far},
    {"O overlap", VLY_E_INVALID, o_overlaps},
    {"O overlap", VLY_E_INVALID, o_zero},
    {"gradient of K", VLY_E_INVALID, k_zero_back},
    {"workspace_most is 10", VLY_E_UNSUPPORTED, workspace},
};

static vly_status plan_of(const vly_attention_desc *desc, const char *options,
                          vly_attention_plan **plan)
{
    const vly_device_spec device = {
        .struct_size = sizeof device, .n_threads = 1, .options = options};
    test_error.message[0] = '\0';
    return test_attention->plan_create(&device, desc, plan, &test_error);
}

static void test_descs(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof wrong_descs / sizeof *wrong_descs; i++) {
        const wrong_desc *wrong = &wrong_descs[i];
        vly_attention_desc desc = test_attention_desc(2, 4, 2, 40, 50, 64, 0);
        vly_attention_plan *plan = NULL;
        wrong->make(&desc);
        vly_status status = plan_of(&desc, NULL, &plan);
        if (status != wrong->status ||
            strstr(test_error.message, wrong->says) == NULL || plan != NULL)
            fail_msg("%s: %d: %s", wrong->says, (int)status,
                     test_error.message);
        if (strcmp(wrong->says, "workspace_most is 10") != 0)
            assert_int_equal(test_attention->supports(&desc, NULL),
                             wrong->status);
    }
}

static void test_options(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        vly_status status;
        const char *says;
    } wrong[] = {{"choose=cudnn", VLY_E_UNSUPPORTED, "blocked and reference"},
                 {"isa=mmx", VLY_E_INVALID, "mmx"},
                 {"speed=9", VLY_E_INVALID, "speed"}};
    const vly_attention_desc desc = test_attention_desc(1, 1, 1, 8, 8, 64, 0);
    for (uint32_t i = 0; i < 3; i++) {
        vly_attention_plan *plan = NULL;
        assert_int_equal(plan_of(&desc, wrong[i].options, &plan),
                         wrong[i].status);
        assert_non_null(strstr(test_error.message, wrong[i].says));
        assert_null(plan);
    }
}

/* ---- runs ---------------------------------------------------------------- */

static _Alignas(64) int32_t lengths[2] = {3, 40};
static _Alignas(64) int32_t long_lengths[2] = {3, 41};
static _Alignas(64) int32_t negative[2] = {-1, 40};
static _Alignas(64) int32_t starts[3] = {0, 10, 50};
static _Alignas(64) int32_t starts_back[3] = {0, 10, 9};
static _Alignas(64) int32_t starts_late[3] = {1, 10, 50};
static _Alignas(64) int32_t pages[8] = {0, 1, 2, 3, 4, -1, 6, 7};
static _Alignas(64) int32_t far_pages[8] = {0, 1, 2, 8, 4, 5, 6, 7};

typedef struct wrong_run {
    const char *says;
    uint32_t flags;
    void (*make)(vly_attention_run *run);
} wrong_run;

#define WRONG(name, change)                                                    \
    static void name(vly_attention_run *r)                                     \
    {                                                                          \
        change;                                                                \
    }

static const void *plus(const void *at, ptrdiff_t bytes)
{
    return (const char *)at + bytes;
}

WRONG(short_run, r->struct_size = 16)
WRONG(reserved, r->reserved = 5)
WRONG(no_q, r->q = NULL)
WRONG(no_k, r->k = NULL)
WRONG(no_o, r->o = NULL)
WRONG(no_lse, r->lse = NULL)
WRONG(no_grad_v, r->grad_v = NULL)
WRONG(no_lengths, (r->length_q = lengths, r->length_kv = NULL))
WRONG(q_off, r->q = plus(r->q, 4))
WRONG(o_is_q, r->q = r->o)
WRONG(o_in_v, r->v = plus(r->o, 64))
WRONG(lse_in_o, r->lse = (char *)r->o + 128)
WRONG(grads_meet, r->grad_k = (char *)r->grad_q + 256)
WRONG(stream, r->stream = r)
WRONG(small_workspace, r->workspace_bytes = 1)
WRONG(no_workspace, r->workspace = NULL)
WRONG(workspace_off, r->workspace = (char *)r->workspace + 64)
WRONG(too_long, (r->length_q = long_lengths, r->length_kv = lengths))
WRONG(below_0, (r->length_q = lengths, r->length_kv = negative))
WRONG(back, (r->start_q = starts_back, r->start_kv = starts))
WRONG(late, (r->start_q = starts, r->start_kv = starts_late))
WRONG(bad_page, r->page_table = pages)
WRONG(far_page, r->page_table = far_pages)
#undef WRONG

static const wrong_run wrong_runs[] = {
    {"shorter", 0, short_run},
    {"reserved is 5, wanted 0", 0, reserved},
    {"q is NULL", 0, no_q},
    {"k is NULL", 0, no_k},
    {"o is NULL", 0, no_o},
    {"lse is NULL", VLY_ATTENTION_LSE, no_lse},
    {"lse is NULL", VLY_ATTENTION_BACKWARD, no_lse},
    {"grad_v is NULL", VLY_ATTENTION_BACKWARD, no_grad_v},
    {"length_kv is NULL", VLY_ATTENTION_LENGTHS, no_lengths},
    {"q is at", 0, q_off},
    {"o overlaps q", 0, o_is_q},
    {"o overlaps v", 0, o_in_v},
    {"o overlaps lse", VLY_ATTENTION_LSE, lse_in_o},
    {"grad_q overlaps grad_k", VLY_ATTENTION_BACKWARD, grads_meet},
    {"stream", 0, stream},
    {"workspace has 1 bytes", VLY_ATTENTION_BACKWARD, small_workspace},
    {"workspace has 0 bytes", VLY_ATTENTION_BACKWARD, no_workspace},
    {"workspace is at", VLY_ATTENTION_BACKWARD, workspace_off},
    {"length_q[1] is 41", VLY_ATTENTION_LENGTHS, too_long},
    {"length_kv[0] is -1", VLY_ATTENTION_LENGTHS, below_0},
    {"from 10 to 9", VLY_ATTENTION_PACKED, back},
    {"start_kv[0] is 1", VLY_ATTENTION_PACKED, late},
    {"page 1 of sequence 1 is -1", VLY_ATTENTION_PAGED, bad_page},
    {"page 3 of sequence 0 is 8, wanted 0 to 7", VLY_ATTENTION_PAGED, far_page},
};

/* Refused before anything is written. */
static void check_run(const wrong_run *wrong)
{
    vly_attention_desc desc =
        test_attention_desc(2, 2, 2, 40, 50, 64, wrong->flags);
    vly_attention_plan *plan = NULL;
    test_case one;
    desc.page_size = 16;
    desc.pages_most = 4;
    desc.pages = 8;
    if (wrong->flags & VLY_ATTENTION_PAGED) /* half a page from page to page */
        desc.k.batch = desc.v.batch = 1024;
    test_case_init(&one, &desc);
    assert_ok(plan_of(&desc, NULL, &plan), test_error);
    one.run.workspace_bytes = 1 << 16;
    one.run.workspace = aligned_alloc(256, 1 << 16);
    void *workspace = one.run.workspace;
    const size_t n = 4 * (one.n_q + one.n_kv);
    float *before = malloc(n * sizeof *before);
    assert_non_null(before);
    memcpy(before, one.memory, n * sizeof *before);
    wrong->make(&one.run);
    vly_status status = test_attention->run(plan, &one.run, &test_error);
    if (status != VLY_E_INVALID ||
        strstr(test_error.message, wrong->says) == NULL)
        fail_msg("%s: %d: %s", wrong->says, (int)status, test_error.message);
    assert_memory_equal(before, one.memory, n * sizeof *before);
    test_attention->plan_destroy(plan);
    free(before);
    free(workspace);
    test_case_deinit(&one);
}

static void test_runs(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof wrong_runs / sizeof *wrong_runs; i++)
        check_run(&wrong_runs[i]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_descs),
    cmocka_unit_test(test_options),
    cmocka_unit_test(test_runs),
};

int main(void)
{
    return cmocka_run_group_tests(tests, test_attention_open,
                                  test_attention_close)
               ? 1
               : 0;
}
