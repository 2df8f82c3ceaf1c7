/* SPDX-License-Identifier: Apache-2.0
 * A small attention on attention_cpu.
 */
#include "test_attention.h"

#include <stdlib.h>

const vly_attention *test_attention;
const vly_wkv *test_wkv;
vly_error test_error = {.struct_size = sizeof test_error};

static vly_registry *registry;

int test_attention_open(void **state)
{
    const void *attention = NULL;
    const void *wkv = NULL;
    (void)state;
    if (vly_registry_create(&registry, &test_error) != VLY_OK ||
        vly_registry_interface(registry, "attention_cpu",
                               VLY_ATTENTION_INTERFACE, &attention,
                               &test_error) != VLY_OK ||
        vly_registry_interface(registry, "attention_cpu", VLY_WKV_INTERFACE,
                               &wkv, &test_error) != VLY_OK) {
        print_error("%s\n", test_error.message);
        return 1;
    }
    test_attention = attention;
    test_wkv = wkv;
    return 0;
}

int test_attention_close(void **state)
{
    (void)state;
    vly_registry_destroy(registry);
    return 0;
}

float test_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) * 0x1p-23f - 1.0f;
}

vly_attention_desc test_attention_desc(uint32_t batch, uint32_t heads_q,
                                       uint32_t heads_kv, uint32_t seq_q,
                                       uint32_t seq_kv, uint32_t dim,
                                       uint32_t flags)
{
    const vly_attention_layout q = {(uint64_t)seq_q * heads_q * dim,
                                    (uint64_t)heads_q * dim, dim};
    const vly_attention_layout kv = {(uint64_t)seq_kv * heads_kv * dim,
                                     (uint64_t)heads_kv * dim, dim};
    return (vly_attention_desc){.struct_size = sizeof(vly_attention_desc),
                                .flags = flags,
                                .type = VLY_ELEMENT_F32,
                                .type_o = VLY_ELEMENT_F32,
                                .batch = batch,
                                .heads_q = heads_q,
                                .heads_kv = heads_kv,
                                .seq_q = seq_q,
                                .seq_kv = seq_kv,
                                .dim = dim,
                                .dim_v = dim,
                                .window_left = VLY_ATTENTION_NO_WINDOW,
                                .window_right = VLY_ATTENTION_NO_WINDOW,
                                .align = 64,
                                .q = q,
                                .k = kv,
                                .v = kv,
                                .o = q,
                                .workspace_most = UINT64_C(1) << 30};
}

/* Parts of one block, each on a multiple of 64 bytes. */
static float *part(test_case *one, size_t *used, size_t n)
{
    float *at = one->memory + *used;
    *used += (n + 15) / 16 * 16;
    return at;
}

void test_case_init(test_case *one, const vly_attention_desc *desc)
{
    const size_t rows = (size_t)desc->batch * desc->heads_q * desc->seq_q;
    const size_t keys = (size_t)desc->batch * desc->heads_kv * desc->seq_kv;
    size_t used = 0;
    uint32_t seed = 77;
    *one = (test_case){.desc = *desc,
                       .n_q = rows * desc->dim,
                       .n_kv = keys * desc->dim,
                       .n_o = rows * desc->dim};
    const size_t all = 4 * one->n_q + 4 * one->n_kv + rows + 9 * 16;
    one->memory = aligned_alloc(64, (all * sizeof(float) + 63) / 64 * 64);
    assert_non_null(one->memory);
    for (size_t i = 0; i < all; i++)
        one->memory[i] = test_random(&seed);
    one->run = (vly_attention_run){.struct_size = sizeof one->run};
    one->run.q = part(one, &used, one->n_q);
    one->run.k = part(one, &used, one->n_kv);
    one->run.v = part(one, &used, one->n_kv);
    one->run.o = part(one, &used, one->n_o);
    one->run.lse = part(one, &used, rows);
    one->run.grad_o = part(one, &used, one->n_o);
    one->run.grad_q = part(one, &used, one->n_q);
    one->run.grad_k = part(one, &used, one->n_kv);
    one->run.grad_v = part(one, &used, one->n_kv);
}

void test_case_deinit(test_case *one)
{
    free(one->memory);
    *one = (test_case){0};
}

vly_status test_case_run(test_case *one, uint32_t n_threads,
                         const char *options)
{
    vly_error error = {.struct_size = sizeof error};
    const vly_device_spec device = {.struct_size = sizeof device,
                                    .n_threads = n_threads,
                                    .options = options};
    vly_plan_info info = {.struct_size = sizeof info};
    vly_attention_plan *plan = NULL;
    vly_status status =
        test_attention->plan_create(&device, &one->desc, &plan, &error);
    if (status != VLY_OK)
        return status;
    status = test_attention->plan_info(plan, &info, &error);
    vly_attention_run run = one->run;
    run.workspace_bytes = info.workspace_bytes;
    run.workspace =
        aligned_alloc(256, (info.workspace_bytes + 256) / 256 * 256);
    if (status == VLY_OK)
        status = test_attention->run(plan, &run, &error);
    free(run.workspace);
    test_attention->plan_destroy(plan);
    return status;
}
