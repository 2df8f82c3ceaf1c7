/* SPDX-License-Identifier: Apache-2.0
 * What a chain of volley.rwkv/1 on CUDA takes and refuses, where there is no
 * device: the runs of a model's token as its context records them, each time
 * with one thing that is no such model; and chains while memory fails.
 */
#include "test_rwkv_fixture.h"

#include <stdlib.h>

#include "base/memory.h"
#include "monitor/rwkv_parts.h"
#include "plugin/device_memory.h"
#include "plugins/attention/rwkv_cuda.h"

enum { N_LAYERS = 3, N = N_LAYERS * VLY_RWKV_LAYER_RUNS + VLY_RWKV_OTHER_RUNS };

/* Places of the runs of layers 0, 1 and 2. */
enum { EMBED = 0, MIX0 = 1, IN0, STEP0, OUT0, CHANNEL0, KEY0, VALUE0 };
enum { MIX1 = 8, IN1, STEP1, OUT1, CHANNEL1, KEY1, VALUE1 };
enum { IN2 = 16, STEP2, NORM = 22, HEAD };

static const vly_rwkv_sizes sizes = {.layers = N_LAYERS,
                                     .width = 128,
                                     .heads = 2,
                                     .hidden = 256,
                                     .vocabulary = 40,
                                     .rank_w = 8,
                                     .rank_a = 8,
                                     .rank_v = 24,
                                     .rank_g = 16};

typedef struct list {
    vly_rwkv_plan plan[N];
    vly_rwkv_run run[N];
} list;

static vly_rwkv_model *model;
static vly_rwkv_context *context;
static vly_rwkv rwkv; /* the plugin's own */
static list whole;
static uint32_t n_recorded;
static _Alignas(256) char spare[4096];

/* ---- the runs of a model ----------------------------------------------------
 */

static vly_status record(const vly_device_spec *device,
                         vly_rwkv_plan *const *plans, const vly_rwkv_run *runs,
                         uint32_t n, vly_rwkv_chain **chain, vly_error *error)
{
    (void)device;
    (void)chain;
    (void)error;
    n_recorded = n;
    for (uint32_t i = 0; i < n && n == N; i++) {
        whole.plan[i] = *plans[i];
        whole.run[i] = runs[i];
    }
    return VLY_E_UNSUPPORTED;
}

static int open_model(void **state)
{
    const uint32_t token = 7;
    if (test_rwkv_open(state) != 0)
        return 1;
    model = test_rwkv_model(&sizes, "cuda:0,tune=0,cache=off",
                            VLY_RWKV_FORMAT_F16, VLY_RWKV_FORMAT_F16);
    rwkv = model->parts.rwkv;
    model->parts.memory.flags = 0; /* a device, to the model */
    model->parts.rwkv.chain_create = record;
    context = test_rwkv_context(model, 1, 1, 0);
    if (vly_rwkv_context_feed(context, &token, NULL, 1, NULL, &test_error) !=
        VLY_OK)
        return 1;
    model->parts.rwkv = rwkv;
    return n_recorded != N;
}

static int close_model(void **state)
{
    vly_rwkv_context_destroy(context);
    vly_rwkv_model_destroy(model);
    return test_rwkv_close(state);
}

static vly_status create(list *l, const char *options, uint32_t n,
                         vly_rwkv_chain **chain)
{
    const vly_device_spec device = {.struct_size = sizeof device,
                                    .options = options};
    vly_rwkv_plan *plans[N];
    for (uint32_t i = 0; i < N; i++)
        plans[i] = &l->plan[i];
    return rwkv.chain_create(&device, plans, l->run, n, chain, &test_error);
}

/* ---- what is refused -------------------------------------------------------
 */

static void refused(list *l, const char *options, uint32_t n, vly_status status,
                    const char *says)
{
    vly_rwkv_chain *chain = NULL;
    test_error.message[0] = '\0';
    const vly_status is = create(l, options, n, &chain);
    if (is != status || strstr(test_error.message, says) == NULL)
        fail_msg("%d, \"%s\", wanted %d, \"%s\"", is, test_error.message,
                 status, says);
    assert_null(chain);
}

#define REFUSED(change, says)                                                  \
    do {                                                                       \
        list l = whole;                                                        \
        change;                                                                \
        refused(&l, "", N, VLY_E_UNSUPPORTED, says);                           \
    } while (0)

#define DESC(i) l.plan[i].desc
#define RUN(i) l.run[i]

static void test_call(void **state)
{
    list l = whole;
    (void)state;
    refused(&l, "chain=0", N, VLY_E_UNSUPPORTED, "refused by chain=0");
    refused(&l, "chain=2", N, VLY_E_INVALID,
            "option chain is \"2\", wanted 0 or 1");
    refused(&l, "", 0, VLY_E_INVALID, "rwkv chain of no operations");
    refused(&l, "", N - 1, VLY_E_UNSUPPORTED,
            "rwkv chain of 23 operations, wanted 7 for each layer and 3");
    refused(&l, "", VLY_RWKV_OTHER_RUNS, VLY_E_UNSUPPORTED,
            "rwkv chain of 3 operations");
    l.plan[STEP1].device = 1;
    refused(&l, "", N, VLY_E_INVALID, "plan number 10 is not of device 0");
    l = whole;
    RUN(MIX1).mix = NULL;
    refused(&l, "", N, VLY_E_INVALID, "mix");
}

static void test_runs(void **state)
{
    (void)state;
    REFUSED(DESC(EMBED).type = VLY_ELEMENT_F32,
            "number 0, embed, is not in 16 bits");
    REFUSED(DESC(EMBED).batch = 2, "number 0, embed, is of more than one");
    REFUSED(DESC(EMBED).flags |= VLY_RWKV_LENGTHS, "embed, has lengths");
    REFUSED(DESC(EMBED).type_matrix = VLY_ELEMENT_BF16,
            "has a table of another type");
    REFUSED(DESC(MIX0).op = VLY_RWKV_NORM,
            "number 1, norm, is not what a model has there");
    REFUSED(DESC(MIX0).type = VLY_ELEMENT_BF16,
            "number 1, mix, is in another type than the first");
    REFUSED(DESC(MIX1).width = 64, "number 8, mix, has another width");
    REFUSED(DESC(MIX1).eps = 1e-3f, "has another eps than other norms");
    REFUSED(DESC(EMBED).eps = 1e-3f, "has another eps than other norms");
    REFUSED(DESC(CHANNEL0).n_mix = 6, "mixes more or less than a model");
    REFUSED(RUN(MIX1).x = spare, "does not have the x of the first");
    REFUSED(RUN(NORM).x = spare, "number 22, norm, does not have the x");
    REFUSED((DESC(MIX0).align = 4,
             RUN(MIX0).norm_weight = (const char *)RUN(MIX0).norm_weight + 4),
            "number 1, mix, has a pointer that is not aligned");
    REFUSED(RUN(MIX1).last = RUN(CHANNEL0).last, "write the same");
    REFUSED(RUN(STEP1).state_in = RUN(STEP1).state_out = RUN(STEP0).state_out,
            "write the same");
}

static void test_steps(void **state)
{
    (void)state;
    REFUSED(DESC(STEP1).flags &= ~(uint32_t)VLY_RWKV_LORA,
            "number 10, step, is without the second products");
    REFUSED(DESC(STEP1).type_matrix = VLY_ELEMENT_F32,
            "has matrices of another type");
    REFUSED(DESC(STEP1).eps = 1e-3f, "has another eps than layers before");
    REFUSED(RUN(STEP1).v_first = spare, "has another v_first");
    REFUSED(DESC(STEP2).rank[0] = 16, "number 17, step, has other ranks");
    REFUSED((DESC(STEP1).align = 8,
             RUN(STEP1).k_k = (const char *)RUN(STEP1).k_k + 8),
            "number 10, step, has a pointer that is not aligned");
}

static void test_products(void **state)
{
    (void)state;
    REFUSED(DESC(IN0).product[3].type = VLY_ELEMENT_F32,
            "number 2, products, has weights of another type");
    REFUSED(DESC(IN0).product[0].n = 64, "has products of other sizes");
    REFUSED(DESC(IN0).product[0].k = 64, "has products of other sizes");
    REFUSED(DESC(IN0).product[3].activation = VLY_RWKV_IDENTITY,
            "has another function");
    REFUSED(DESC(IN0).product[3].type_y = VLY_ELEMENT_F32,
            "leaves its products in another form");
    REFUSED(DESC(IN0).n_products = 5, "has another number of products");
    REFUSED(RUN(IN0).product_x[1] = RUN(IN0).product_x[0],
            "does not multiply what a model multiplies");
    REFUSED(RUN(IN0).product_y[3] = spare, "makes what the step does not read");
    REFUSED(RUN(OUT0).product_x[0] = spare, "number 4, products, does not mul");
    REFUSED(RUN(OUT0).product_y[0] = spare, "is not added to x");
    REFUSED(DESC(OUT0).product[0].flags = 0, "is not added to x");
    REFUSED(DESC(KEY0).product[0].activation = VLY_RWKV_IDENTITY,
            "number 6, products, has another function");
    REFUSED(DESC(KEY0).product[0].type_y = VLY_ELEMENT_F32,
            "leaves its products in another form");
    REFUSED(DESC(KEY1).product[0].n = 128,
            "number 13, products, has products of other sizes");
    REFUSED(RUN(VALUE0).product_x[0] = spare, "number 7, products, does not");
    REFUSED(RUN(HEAD).product_x[0] = spare, "number 23, products, does not");
    REFUSED(DESC(HEAD).product[0].flags = VLY_RWKV_PRODUCT_ADD,
            "is added to the logits");
}

/* Products a and b of a run change places. */
static void swap(list *l, uint32_t at, uint32_t a, uint32_t b)
{
    const vly_rwkv_product product = l->plan[at].desc.product[a];
    const vly_rwkv_run run = l->run[at];
    l->plan[at].desc.product[a] = l->plan[at].desc.product[b];
    l->plan[at].desc.product[b] = product;
    l->run[at].product_x[a] = run.product_x[b];
    l->run[at].product_x[b] = run.product_x[a];
    l->run[at].product_w[a] = run.product_w[b];
    l->run[at].product_w[b] = run.product_w[a];
    l->run[at].product_y[a] = run.product_y[b];
    l->run[at].product_y[b] = run.product_y[a];
}

static void accepted(list *l)
{
    vly_rwkv_chain *chain = NULL;
    assert_ok(create(l, "", N, &chain), test_error);
    assert_non_null(chain);
    rwkv.chain_destroy(chain);
}

static void test_orders(void **state)
{
    (void)state;
    REFUSED(swap(&l, IN0, 0, 1), "makes what the step does not read");
    REFUSED(swap(&l, IN2, 3, 4),
            "number 16, products, has products in another");
}

static void test_accepted(void **state)
{
    list l = whole;
    (void)state;
    accepted(&l);
    swap(&l, IN0, 3, 4); /* the first layer may have its own order */
    accepted(&l);
    swap(&l, IN1, 5, 6);
    swap(&l, IN2, 5, 6);
    accepted(&l);
    RUN(STEP0).state_in = NULL;
    DESC(HEAD).product[0].type_y = VLY_ELEMENT_F16;
    DESC(EMBED).flags = 0;
    accepted(&l);
    rwkv.chain_destroy(NULL);
}

/* ---- memory ----------------------------------------------------------------
 */

static void test_memory(void **state)
{
    list l = whole;
    vly_rwkv_chain *chain = NULL;
    vly_status status = VLY_E_NOMEM;
    uint64_t n = 0;
    (void)state;
    const uint64_t live = vly_memory_live();
    while (status != VLY_OK) {
        vly_memory_fail_at(++n);
        status = create(&l, "", N, &chain);
        (void)vly_memory_fail_at(0);
        assert_true(status == VLY_OK || status == VLY_E_NOMEM);
        assert_true(n < 20);
        if (status == VLY_OK)
            break;
        assert_null(chain);
        assert_int_equal(vly_memory_live(), live);
    }
    assert_true(n > 3); /* the chain, its layers, memory of the device */
    rwkv.chain_destroy(chain);
    assert_int_equal(vly_memory_live(), live);
}

/* The first token makes the chain; one that had no memory may come again. */
static void test_first_token(void **state)
{
    const uint32_t token = 3;
    float wanted[40], logits[40];
    vly_status status = VLY_E_NOMEM;
    uint64_t n = 0;
    (void)state;
    vly_rwkv_context *other = test_rwkv_context(model, 1, 1, 0);
    vly_rwkv_context *late = test_rwkv_context(model, 1, 1, 0);
    test_rwkv_feed(other, &token, 1, wanted);
    assert_non_null(strstr(vly_rwkv_context_how(other), "in one launch"));
    const uint64_t live = vly_memory_live();
    while (status != VLY_OK) {
        assert_int_equal(vly_memory_live(), live);
        vly_memory_fail_at(++n);
        status =
            vly_rwkv_context_feed(late, &token, NULL, 1, logits, &test_error);
        (void)vly_memory_fail_at(0);
        assert_true(status == VLY_OK || status == VLY_E_NOMEM);
        assert_true(n < 30);
    }
    assert_true(n > 5); /* two lists more than a chain */
    assert_memory_equal(logits, wanted, sizeof wanted);
    vly_rwkv_context_destroy(other); /* not in the order of their making */
    test_rwkv_feed(late, &token, 1, logits);
    vly_rwkv_context_destroy(late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call),   cmocka_unit_test(test_runs),
        cmocka_unit_test(test_steps),  cmocka_unit_test(test_products),
        cmocka_unit_test(test_orders), cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_memory), cmocka_unit_test(test_first_token),
    };
    return cmocka_run_group_tests(tests, open_model, close_model) ? 1 : 0;
}
