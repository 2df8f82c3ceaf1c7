/* SPDX-License-Identifier: Apache-2.0
 * What attention_cpu refuses of volley.rwkv/1: descriptions that are none, and
 * runs with pointers that are missing, not aligned or in each other's way, and
 * with lengths and tokens that are not there. A refused run writes nothing.
 */
#include "test_rwkv_fixture.h"

#include "accelerator/accelerator.h"

enum { WIDTH = 64, ROWS = 4, BYTES = 1 << 14 };

static vly_accelerator found;

static int open_plugin(void **state)
{
    if (test_rwkv_open(state) != 0)
        return 1;
    return vly_accelerator_find(test_registry, VLY_RWKV_INTERFACE, "cpu:1", 1,
                                &found, &test_error) != VLY_OK;
}

static vly_rwkv_desc desc_of(uint32_t op)
{
    return (vly_rwkv_desc){.struct_size = sizeof(vly_rwkv_desc),
                           .op = op,
                           .batch = 2,
                           .seq = op == VLY_RWKV_STEP ? 1 : 2,
                           .width = WIDTH,
                           .n_mix = 1,
                           .vocabulary = 10,
                           .n_products = 1,
                           .rank = {8, 8, 8, 8},
                           .eps = 1e-5f,
                           .product = {{.n = 16, .k = 128}}};
}

/* ---- descriptions ---------------------------------------------------------
 */

static void refuse(const vly_rwkv_desc *desc, vly_status status,
                   const char *message)
{
    vly_rwkv_plan *plan = NULL;
    assert_int_equal(found.rwkv.supports(desc, &test_error), status);
    if (strstr(test_error.message, message) == NULL)
        fail_msg("\"%s\", wanted \"%s\"", test_error.message, message);
    assert_int_equal(found.rwkv.plan_create(&found.device, desc, &plan, NULL),
                     status);
    assert_null(plan);
}

#define REFUSE(operation, field, value, status, message)                       \
    do {                                                                       \
        vly_rwkv_desc wrong_ = desc_of(operation);                             \
        assert_ok(found.rwkv.supports(&wrong_, &test_error), test_error);      \
        wrong_.field = value;                                                  \
        refuse(&wrong_, status, message);                                      \
    } while (0)

static void test_descriptions(void **state)
{
    (void)state;
    refuse(NULL, VLY_E_INVALID, "shorter than");
    REFUSE(VLY_RWKV_ADD, struct_size, 8, VLY_E_INVALID, "shorter than");
    REFUSE(VLY_RWKV_ADD, op, 9, VLY_E_UNSUPPORTED, "operation 9");
    REFUSE(VLY_RWKV_ADD, flags, VLY_RWKV_LORA, VLY_E_UNSUPPORTED, "flags 0x4");
    REFUSE(VLY_RWKV_MIX, flags, 32u, VLY_E_UNSUPPORTED, "flags 0x20");
    REFUSE(VLY_RWKV_ADD, type, VLY_ELEMENT_I8, VLY_E_UNSUPPORTED, "int8");
    REFUSE(VLY_RWKV_ADD, align, 3, VLY_E_INVALID, "align is 3");
    REFUSE(VLY_RWKV_ADD, width, 96, VLY_E_INVALID, "width 96");
    REFUSE(VLY_RWKV_ADD, batch, 0, VLY_E_INVALID, "at least 1");
    REFUSE(VLY_RWKV_STEP, seq, 2, VLY_E_INVALID, "step of 2 tokens");
    REFUSE(VLY_RWKV_FINISH, type_wkv, VLY_ELEMENT_BF16, VLY_E_UNSUPPORTED,
           "recurrence of bf16");
    REFUSE(VLY_RWKV_EMBED, type_matrix, VLY_ELEMENT_I4, VLY_E_UNSUPPORTED,
           "weights of int4");
    REFUSE(VLY_RWKV_EMBED, vocabulary, 0, VLY_E_INVALID, "no vocabulary");
    REFUSE(VLY_RWKV_MIX, n_mix, 5, VLY_E_INVALID, "n_mix is 5");
    REFUSE(VLY_RWKV_NORM, eps, 0.0f, VLY_E_INVALID, "eps is 0");
    REFUSE(VLY_RWKV_NORM, eps, __builtin_nanf(""), VLY_E_INVALID, "eps is");
    REFUSE(VLY_RWKV_ACTIVATE, rank[3], 0, VLY_E_INVALID, "rank of g is 0");
}

static void test_products(void **state)
{
    (void)state;
    REFUSE(VLY_RWKV_PRODUCTS, n_products, 0, VLY_E_INVALID, "0 rwkv products");
    REFUSE(VLY_RWKV_PRODUCTS, n_products, 9, VLY_E_INVALID, "9 rwkv products");
    REFUSE(VLY_RWKV_PRODUCTS, product[0].n, 0, VLY_E_INVALID, "0 outputs");
    REFUSE(VLY_RWKV_PRODUCTS, product[0].activation, 4, VLY_E_UNSUPPORTED,
           "activation 4");
    REFUSE(VLY_RWKV_PRODUCTS, product[0].type, VLY_ELEMENT_E4M3,
           VLY_E_UNSUPPORTED, "fp8");
    REFUSE(VLY_RWKV_PRODUCTS, product[0].type_y, VLY_ELEMENT_F16,
           VLY_E_UNSUPPORTED, "into fp16");
    vly_rwkv_desc desc = desc_of(VLY_RWKV_PRODUCTS);
    desc.product[0].type = VLY_ELEMENT_I4;
    assert_ok(found.rwkv.supports(&desc, &test_error), test_error);
    desc.product[0].k = 120;
    refuse(&desc, VLY_E_INVALID, "multiple of 128");
    desc = desc_of(VLY_RWKV_PRODUCTS);
    desc.type = VLY_ELEMENT_F16;
    desc.product[0].type_y = VLY_ELEMENT_F32;
    refuse(&desc, VLY_E_UNSUPPORTED, "fp16 with weights of fp32");
    desc.product[0].type = VLY_ELEMENT_F16;
    desc.product[0].type_y = VLY_ELEMENT_F16;
    desc.product[0].flags = VLY_RWKV_PRODUCT_ADD;
    refuse(&desc, VLY_E_INVALID, "added to fp16");
}

/* ---- runs -----------------------------------------------------------------
 */

static _Alignas(256) char memory[8][BYTES];
static char before[8][BYTES];

static void refuse_run(vly_rwkv_plan *plan, const vly_rwkv_run *run,
                       const char *message)
{
    memcpy(before, memory, sizeof memory);
    assert_int_equal(found.rwkv.run(plan, run, &test_error), VLY_E_INVALID);
    if (strstr(test_error.message, message) == NULL)
        fail_msg("\"%s\", wanted \"%s\"", test_error.message, message);
    assert_memory_equal(before, memory, sizeof memory);
}

static void test_mix_runs(void **state)
{
    vly_rwkv_desc desc = desc_of(VLY_RWKV_MIX);
    vly_rwkv_plan *plan = NULL;
    static const int32_t lengths[2] = {2, 3};
    int stream = 0;
    const vly_rwkv_run good = {.struct_size = sizeof good,
                               .x = memory[0],
                               .norm_weight = memory[1],
                               .norm_bias = memory[2],
                               .mix = memory[3],
                               .last = memory[4],
                               .mixed = memory[5]};
    vly_rwkv_run run = good;
    (void)state;
    desc.align = 4;
    assert_ok(found.rwkv.plan_create(&found.device, &desc, &plan, &test_error),
              test_error);
    assert_ok(found.rwkv.run(plan, &good, &test_error), test_error);
    run.struct_size = 8;
    refuse_run(plan, &run, "shorter than");
    run = good;
    run.reserved = 5;
    refuse_run(plan, &run, "reserved is 5, wanted 0");
    run = good;
    run.last = NULL;
    refuse_run(plan, &run, "mix: last is NULL");
    run = good;
    run.mixed = memory[5] + 2;
    refuse_run(plan, &run, "mixed is not aligned");
    run = good;
    run.mixed = memory[0] + 4 * WIDTH;
    refuse_run(plan, &run, "mixed overlaps x");
    run = good;
    run.last = memory[4];
    run.norm_bias = memory[4];
    refuse_run(plan, &run, "last overlaps norm_bias");
    run = good;
    run.stream = &stream;
    refuse_run(plan, &run, "stream");
    found.rwkv.plan_destroy(plan);
    desc.flags = VLY_RWKV_LENGTHS;
    assert_ok(found.rwkv.plan_create(&found.device, &desc, &plan, &test_error),
              test_error);
    run = good;
    refuse_run(plan, &run, "length is NULL");
    run.length = lengths;
    refuse_run(plan, &run, "length[1] is 3, wanted 0 to 2");
    found.rwkv.plan_destroy(plan);
    found.rwkv.plan_destroy(NULL);
}

static void test_other_runs(void **state)
{
    vly_rwkv_desc desc = desc_of(VLY_RWKV_EMBED);
    vly_rwkv_plan *plan = NULL;
    static const _Alignas(256) int32_t tokens[ROWS] = {0, 9, 10, 0};
    static const _Alignas(256) int32_t negative[ROWS] = {0, -1, 0, 0};
    vly_rwkv_run run = {.struct_size = sizeof run,
                        .token = tokens,
                        .table = memory[0],
                        .x = memory[1]};
    (void)state;
    assert_ok(found.rwkv.plan_create(&found.device, &desc, &plan, &test_error),
              test_error);
    refuse_run(plan, &run, "token[2] is 10, wanted 0 to 9");
    run.token = negative;
    refuse_run(plan, &run, "token[1] is -1");
    found.rwkv.plan_destroy(plan);
    desc = desc_of(VLY_RWKV_PRODUCTS);
    desc.product[0].type = VLY_ELEMENT_I8;
    assert_ok(found.rwkv.plan_create(&found.device, &desc, &plan, &test_error),
              test_error);
    run = (vly_rwkv_run){.struct_size = sizeof run,
                         .product_x = {memory[0]},
                         .product_w = {memory[1]},
                         .product_y = {memory[2]}};
    refuse_run(plan, &run, "product_scale[0] is NULL");
    run.product_scale[0] = memory[3];
    run.product_y[0] = memory[0];
    refuse_run(plan, &run, "product_y[0] overlaps product_x");
    found.rwkv.plan_destroy(plan);
    /* g may be y, and nothing else */
    desc = desc_of(VLY_RWKV_FINISH);
    assert_ok(found.rwkv.plan_create(&found.device, &desc, &plan, &test_error),
              test_error);
    run = (vly_rwkv_run){.struct_size = sizeof run,
                         .wkv_r = memory[0],
                         .wkv_k = memory[1],
                         .wkv_v = memory[2],
                         .wkv_y = memory[3],
                         .g = memory[4],
                         .r_k = memory[5],
                         .group_weight = memory[6],
                         .group_bias = memory[7],
                         .y = memory[4]};
    assert_ok(found.rwkv.run(plan, &run, &test_error), test_error);
    run.y = memory[3];
    refuse_run(plan, &run, "y overlaps wkv_y");
    run.y = memory[4] + 256;
    refuse_run(plan, &run, "y overlaps g");
    found.rwkv.plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptions),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_mix_runs),
        cmocka_unit_test(test_other_runs),
    };
    return cmocka_run_group_tests(tests, open_plugin, test_rwkv_close) ? 1 : 0;
}
