/* SPDX-License-Identifier: Apache-2.0
 * test_rwkv_chain [DEVICE]: a token in one launch (chains of volley.rwkv/1)
 * beside one launch after the other and beside attention_cpu: logits and
 * states, whole models; the same bits again for the same tokens; what makes no
 * chain. On a device as in "cuda:0" (not there: skipped, or failed where it is
 * required), else on the plugin's own plans, with a token that the processor
 * computes (fake_rwkv_token.c).
 *
 * Bounds are those of test_rwkv_kernels, relative where values are above 1:
 * every value between products is rounded, by the two in other places.
 */
#include "test_rwkv_fixture.h"

#include <math.h>
#include <stdlib.h>

#include "monitor/rwkv_parts.h"

enum { N_TOKENS = 4, HEADER = 64 };

static const char *device = "cuda:0,tune=0,cache=off";
static bool is_emulated = true;

#define SIZES(l, d, f, v, rw, ra, rv, rg)                                      \
    {                                                                          \
        .layers = l, .width = d, .heads = d / 64, .hidden = f,                 \
        .vocabulary = v, .rank_w = rw, .rank_a = ra, .rank_v = rv,             \
        .rank_g = rg                                                           \
    }

static const vly_rwkv_sizes one_layer = SIZES(1, 64, 256, 300, 8, 8, 0, 16);
static const vly_rwkv_sizes uneven = SIZES(3, 128, 512, 300, 8, 16, 24, 40);
static const vly_rwkv_sizes hidden = SIZES(2, 192, 384, 300, 16, 8, 8, 32);
static const vly_rwkv_sizes odd = SIZES(2, 64, 256, 300, 5, 8, 8, 16);
/* those that are for a device only */
static const vly_rwkv_sizes long_head = SIZES(2, 128, 512, 65536, 8, 8, 8, 16);
static const vly_rwkv_sizes of_0_1b = SIZES(2, 768, 3072, 300, 64, 64, 32, 128);
static const vly_rwkv_sizes of_1_5b =
    SIZES(2, 2048, 8192, 300, 96, 96, 64, 256);
static const vly_rwkv_sizes of_2_9b =
    SIZES(1, 2560, 10240, 300, 96, 96, 0, 320);

/* ---- models ---------------------------------------------------------------
 */

typedef struct setting {
    const vly_rwkv_sizes *sizes;
    vly_rwkv_format format;
    vly_rwkv_format activation;
    double most;          /* of a difference */
    bool is_without_norm; /* of the table */
} setting;

static vly_rwkv_model *model_on(const setting *s, const char *name)
{
    vly_rwkv_model *model =
        test_rwkv_model(s->sizes, name, s->format, s->activation);
    if (is_emulated)
        model->parts.memory.flags = 0; /* a device, to the model */
    return model;
}

/* The model's own norm of the table is left out of its plan. */
static void without_norm(vly_rwkv_context *context)
{
    const vly_rwkv *table = &context->model->parts.rwkv;
    const vly_rwkv_sizes *sizes = &context->model->info.sizes;
    const vly_rwkv_desc desc = {.struct_size = sizeof desc,
                                .op = VLY_RWKV_EMBED,
                                .type = context->model->type,
                                .type_matrix = context->model->type_base,
                                .batch = 1,
                                .seq = 1,
                                .width = sizes->width,
                                .vocabulary = sizes->vocabulary,
                                .eps = 1e-5f};
    table->plan_destroy(context->pass[0].embed);
    context->pass[0].embed = NULL;
    assert_ok(table->plan_create(&context->model->parts.device, &desc,
                                 &context->pass[0].embed, &test_error),
              test_error);
}

static void want_how(const vly_rwkv_context *context, const char *name,
                     const char *how)
{
    if (strstr(vly_rwkv_context_how(context), how) == NULL)
        fail_msg("%s: %s, wanted \"%s\" in it", name,
                 vly_rwkv_context_how(context), how);
}

/* A saved state, to be freed. */
static unsigned char *saved(vly_rwkv_context *context)
{
    const size_t bytes = vly_rwkv_state_bytes(context->model);
    unsigned char *state = malloc(bytes);
    assert_non_null(state);
    assert_ok(vly_rwkv_state_save(context, 0, state, bytes, &test_error),
              test_error);
    return state;
}

static float *logits_of(const vly_rwkv_sizes *sizes, uint32_t n)
{
    float *logits = calloc((size_t)n * sizes->vocabulary, sizeof *logits);
    assert_non_null(logits);
    return logits;
}

/* ---- beside others --------------------------------------------------------
 */

/* Logits of each token; returns the state behind the last. */
static unsigned char *run(const setting *s, const char *name, const char *how,
                          float *logits)
{
    uint32_t tokens[N_TOKENS];
    vly_rwkv_model *model = model_on(s, name);
    vly_rwkv_context *context = test_rwkv_context(model, 1, 1, 0);
    if (s->is_without_norm)
        without_norm(context);
    test_rwkv_text(s->sizes->vocabulary, 4, N_TOKENS, tokens);
    for (uint32_t t = 0; t < N_TOKENS; t++)
        test_rwkv_feed(context, tokens + t, 1,
                       logits + (size_t)t * s->sizes->vocabulary);
    want_how(context, name, how);
    unsigned char *state = saved(context);
    vly_rwkv_context_destroy(context);
    vly_rwkv_model_destroy(model);
    return state;
}

/* The largest difference; NaN where there is one. */
static double apart(const float *found, const float *wanted, size_t n)
{
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double away = fabs((double)found[i] - (double)wanted[i]) /
                            fmax(1.0, fabs((double)wanted[i]));
        if (!(away <= largest))
            largest = away;
    }
    return largest;
}

/* All three round at other places, and layers make differences larger: a chain
 * may be as far from single launches and from the processor as `most`, or twice
 * as far as those two are from each other. */
static void compare(const setting *s, const char *what, const float *of[3],
                    size_t n)
{
    const double others = apart(of[1], of[2], n);
    const double most = fmax(s->most, 2.0 * others);
    const double launches = apart(of[0], of[1], n);
    const double processor = apart(of[0], of[2], n);
    print_message("%s, width %u, %s: from single launches %.2g, from the "
                  "processor %.2g, those two %.2g\n",
                  vly_rwkv_format_name(s->format), s->sizes->width, what,
                  launches, processor, others);
    assert_true(others <= 10.0 * s->most);
    if (!(launches <= most) || !(processor <= most))
        fail_msg("width %u: %s: wanted at most %.2g", s->sizes->width, what,
                 most);
}

static void check(const setting *s)
{
    char without[100];
    const size_t n = (size_t)N_TOKENS * s->sizes->vocabulary;
    const size_t n_state = (size_t)s->sizes->layers * s->sizes->width * 66;
    const char *const names[3] = {device, without, "cpu:1"};
    static const char *const hows[3] = {"in one launch", "no chain",
                                        "products"};
    float *logits[3];
    unsigned char *state[3];
    test_rwkv_need(device);
    (void)snprintf(without, sizeof without, "%.80s,chain=0", device);
    for (uint32_t i = 0; i < 3; i++) {
        logits[i] = logits_of(s->sizes, N_TOKENS);
        state[i] = run(s, names[i], hows[i], logits[i]);
    }
    compare(s, "logits", (const float *[]){logits[0], logits[1], logits[2]}, n);
    compare(s, "states",
            (const float *[]){(const float *)(void *)(state[0] + HEADER),
                              (const float *)(void *)(state[1] + HEADER),
                              (const float *)(void *)(state[2] + HEADER)},
            n_state);
    for (uint32_t i = 0; i < 3; i++) {
        free(logits[i]);
        free(state[i]);
    }
}

#define F16 VLY_RWKV_FORMAT_F16, VLY_RWKV_FORMAT_F16, 0.01
#define BF16 VLY_RWKV_FORMAT_BF16, VLY_RWKV_FORMAT_BF16, 0.08

static void test_small(void **state)
{
    static const setting all[] = {
        {&one_layer, F16, false}, {&uneven, F16, false}, {&uneven, BF16, false},
        {&uneven, F16, true},     {&hidden, F16, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        check(&all[i]);
}

static void test_large(void **state)
{
    static const setting all[] = {{&long_head, F16, false},
                                  {&of_0_1b, F16, false},
                                  {&of_1_5b, F16, false},
                                  {&of_2_9b, BF16, true}};
    (void)state;
    if (is_emulated) {
        print_message("skipped: of these sizes on a device only\n");
        skip();
    }
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        check(&all[i]);
}

/* ---- the same bits again ---------------------------------------------------
 */

enum { N_TEXT = 9, BEFORE = 4 };

/* Logits of tokens [from, to), one by one: copied out, or the context's own. */
static void feed(vly_rwkv_context *context, const uint32_t *tokens,
                 uint32_t from, uint32_t to, float *logits)
{
    const uint32_t vocabulary = context->model->info.sizes.vocabulary;
    for (uint32_t t = from; t < to; t++) {
        float *own = NULL;
        if (t % 2 == 0) {
            test_rwkv_feed(context, tokens + t, 1,
                           logits + (size_t)t * vocabulary);
            continue;
        }
        assert_ok(vly_rwkv_context_step(context, tokens[t], &own, &test_error),
                  test_error);
        memcpy(logits + (size_t)t * vocabulary, own,
               vocabulary * sizeof *logits);
        memset(own, 0xff, vocabulary * sizeof *own);
    }
}

/* A state continues in other contexts, saved and forked: contexts 1 and 2 after
 * 0. */
static void check_states(const setting *s, vly_rwkv_context *const context[3],
                         const uint32_t *tokens, const float *wanted)
{
    const size_t n = (size_t)N_TEXT * s->sizes->vocabulary;
    const size_t before = (size_t)BEFORE * s->sizes->vocabulary;
    float *found = logits_of(s->sizes, N_TEXT);
    assert_ok(vly_rwkv_context_reset(context[0], UINT32_MAX, &test_error),
              test_error);
    feed(context[0], tokens, 0, BEFORE, found);
    unsigned char *state = saved(context[0]);
    assert_ok(vly_rwkv_state_restore(context[1], 0, state,
                                     vly_rwkv_state_bytes(context[1]->model),
                                     &test_error),
              test_error);
    assert_ok(vly_rwkv_state_fork(context[0], 0, context[2], 0, &test_error),
              test_error);
    for (uint32_t i = 0; i < 3; i++) {
        memset(found + before, 0xff, (n - before) * sizeof *found);
        feed(context[i], tokens, BEFORE, N_TEXT, found);
        assert_memory_equal(found, wanted, n * sizeof *found);
    }
    free(state);
    free(found);
}

/* Two contexts of one model in turns have the bits of each alone. */
static void check_bits(const setting *s, const char *name)
{
    const size_t n = (size_t)N_TEXT * s->sizes->vocabulary;
    uint32_t tokens[2][N_TEXT];
    float *wanted[2], *found[2];
    vly_rwkv_model *model = model_on(s, name);
    vly_rwkv_context *context[3];
    for (uint32_t i = 0; i < 3; i++)
        context[i] = test_rwkv_context(model, 1, 1, 0);
    for (uint32_t i = 0; i < 2; i++) {
        wanted[i] = logits_of(s->sizes, N_TEXT);
        found[i] = logits_of(s->sizes, N_TEXT);
        test_rwkv_text(s->sizes->vocabulary, 20 + i, N_TEXT, tokens[i]);
        feed(context[i], tokens[i], 0, N_TEXT, wanted[i]);
        want_how(context[i], name, "in one launch");
        assert_ok(vly_rwkv_context_reset(context[i], UINT32_MAX, &test_error),
                  test_error);
    }
    for (uint32_t t = 0; t < N_TEXT; t++)
        for (uint32_t i = 0; i < 2; i++)
            feed(context[i], tokens[i], t, t + 1, found[i]);
    for (uint32_t i = 0; i < 2; i++)
        assert_memory_equal(found[i], wanted[i], n * sizeof(float));
    check_states(s, context, tokens[0], wanted[0]);
    /* several at once, with the logits of each */
    vly_rwkv_context *all = test_rwkv_context(model, 1, 1, VLY_RWKV_ALL_LOGITS);
    memset(found[0], 0xff, n * sizeof(float));
    test_rwkv_feed(all, tokens[0], N_TEXT, found[0]);
    want_how(all, name, "in one launch");
    assert_memory_equal(found[0], wanted[0], n * sizeof(float));
    vly_rwkv_context_destroy(all);
    for (uint32_t i = 0; i < 2; i++) {
        free(wanted[i]);
        free(found[i]);
    }
    for (uint32_t i = 0; i < 3; i++)
        vly_rwkv_context_destroy(context[i]);
    vly_rwkv_model_destroy(model);
}

static void test_bits(void **state)
{
    static const setting s = {&uneven, F16, false};
    static const setting large = {&of_0_1b, BF16, false};
    char late[100];
    (void)state;
    test_rwkv_need(device);
    (void)snprintf(late, sizeof late, "%.80s,early=0", device);
    check_bits(&s, device);
    if (strstr(device, "early=") == NULL)
        check_bits(&s, late);
    if (!is_emulated)
        check_bits(&large, device);
}

/* ---- what makes none -------------------------------------------------------
 */

static void check_without(const setting *s, uint32_t n, uint32_t flags,
                          const char *how)
{
    uint32_t tokens[2] = {1, 2};
    float *logits = logits_of(s->sizes, n);
    vly_rwkv_model *model = model_on(s, device);
    vly_rwkv_context *context = test_rwkv_context(model, n, 1, flags);
    test_rwkv_feed(context, tokens, 1, logits);
    want_how(context, device, how);
    assert_true(strstr(vly_rwkv_context_how(context), "in one launch") == NULL);
    vly_rwkv_context_destroy(context);
    vly_rwkv_model_destroy(model);
    free(logits);
}

static void test_without(void **state)
{
    static const setting plain = {&uneven, F16, false};
    static const setting five = {&odd, F16, false};
    static const setting fp32 = {&uneven, VLY_RWKV_FORMAT_F32,
                                 VLY_RWKV_FORMAT_F32, 0.0, false};
    static const setting w8 = {&uneven, VLY_RWKV_FORMAT_W8, VLY_RWKV_FORMAT_F16,
                               0.0, false};
    static const setting w4 = {&uneven, VLY_RWKV_FORMAT_W4,
                               VLY_RWKV_FORMAT_BF16, 0.0, false};
    (void)state;
    test_rwkv_need(device);
    check_without(&five, 1, 0, "a rank of 5, wanted a multiple of 8");
    check_without(&fp32, 1, 0, "number 0, embed, is not in 16 bits");
    check_without(&w8, 1, 0, "has weights of another type");
    check_without(&w4, 1, 0, "has weights of another type");
    check_without(&plain, 2, 0, "products");
    check_without(&plain, 1, VLY_RWKV_BESIDE, "products");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_without),
    };
    if (argc > 1) {
        device = argv[1];
        is_emulated = false;
    }
    return cmocka_run_group_tests(tests, test_rwkv_open, test_rwkv_close) ? 1
                                                                          : 0;
}
