/* SPDX-License-Identifier: Apache-2.0
 * Overlap of strided tensors against maps of their bytes, on random small
 * layouts: what is said to be apart must be.
 */
#include "volley_test.h"

#include "attention_layout.h"

const char vly_support_plugin[] = "test";

enum { SPACE = 4096, TRIALS = 20000 };

static uint32_t below(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

/* Strides that often fit into each other and often do not. */
static vly_attention_desc some_desc(uint32_t *state)
{
    const uint64_t unit = 8u << below(state, 2);
    const vly_attention_layout layout = {
        unit * below(state, 7), unit * below(state, 7), unit * below(state, 5)};
    return (vly_attention_desc){.batch = 1 + below(state, 3),
                                .heads_q = 1 + below(state, 3),
                                .heads_kv = 1,
                                .seq_q = 1 + below(state, 4),
                                .seq_kv = 1,
                                .dim = 8,
                                .dim_v = 8,
                                .q = layout,
                                .k = layout,
                                .v = layout,
                                .o = layout};
}

/* How often each byte is used. */
static uint32_t draw(const vly_attention_desc *desc, uint32_t at,
                     uint32_t bytes, uint8_t *map)
{
    uint32_t most = 0;
    memset(map, 0, SPACE);
    for (uint32_t b = 0; b < desc->batch; b++)
        for (uint32_t s = 0; s < desc->seq_q; s++)
            for (uint32_t h = 0; h < desc->heads_q; h++)
                for (uint32_t i = 0; i < desc->dim * bytes; i++) {
                    const uint64_t element =
                        b * desc->q.batch + s * desc->q.seq + h * desc->q.head;
                    uint8_t *place = map + at + element * bytes + i;
                    assert_true(place < map + SPACE);
                    (*place)++;
                    most = *place > most ? *place : most;
                }
    return most;
}

static void test_apart(void **state)
{
    (void)state;
    static uint8_t map[SPACE];
    uint32_t seed = 1;
    uint32_t n[2] = {0, 0};
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        const vly_attention_desc desc = some_desc(&seed);
        vly_attention_box box;
        assert_true(vly_attention_box_make(
            &desc, &vly_attention_tensors[VLY_ATTENTION_Q], &box));
        const int apart = vly_attention_box_is_apart(&box);
        n[apart]++;
        if (apart)
            assert_int_equal(draw(&desc, 0, 1, map), 1);
    }
    assert_true(n[0] > 500 && n[1] > 500);
}

static void test_meet(void **state)
{
    (void)state;
    static uint8_t map_a[SPACE];
    static uint8_t map_b[SPACE];
    uint32_t seed = 2;
    uint32_t n[2] = {0, 0};
    uint32_t interleave = 0;
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        const vly_attention_desc a = some_desc(&seed);
        vly_attention_desc b = below(&seed, 3) > 0 ? a : some_desc(&seed);
        const uint32_t bytes_a = 1u << below(&seed, 2);
        const uint32_t bytes_b = below(&seed, 3) > 0 ? bytes_a : 1;
        const uint32_t at_a = 8 * below(&seed, 40);
        const uint32_t at_b = 8 * below(&seed, 40);
        vly_attention_box box_a;
        vly_attention_box box_b;
        assert_true(vly_attention_box_make(
            &a, &vly_attention_tensors[VLY_ATTENTION_Q], &box_a));
        assert_true(vly_attention_box_make(
            &b, &vly_attention_tensors[VLY_ATTENTION_Q], &box_b));
        const int meet = vly_attention_boxes_meet(&box_a, at_a, bytes_a, &box_b,
                                                  at_b, bytes_b);
        n[meet]++;
        assert_int_equal(meet, vly_attention_boxes_meet(&box_b, at_b, bytes_b,
                                                        &box_a, at_a, bytes_a));
        if (meet)
            continue;
        draw(&a, at_a, bytes_a, map_a);
        draw(&b, at_b, bytes_b, map_b);
        for (uint32_t i = 0; i < SPACE; i++)
            assert_false(map_a[i] && map_b[i]);
        interleave += at_a + box_a.extent * bytes_a > at_b &&
                      at_b + box_b.extent * bytes_b > at_a;
    }
    assert_true(n[0] > 500 && n[1] > 500 && interleave > 100);
}

/* Extents that do not fit are found, whatever wraps. */
static void test_extent(void **state)
{
    (void)state;
    vly_attention_desc desc = {.batch = UINT32_MAX,
                               .heads_q = UINT32_MAX,
                               .heads_kv = 1,
                               .seq_q = UINT32_MAX,
                               .dim = 256,
                               .dim_v = 256,
                               .q = {UINT64_MAX, 1, 1}};
    vly_attention_box box;
    const vly_attention_tensor *q = &vly_attention_tensors[VLY_ATTENTION_Q];
    assert_false(vly_attention_box_make(&desc, q, &box));
    desc.q = (vly_attention_layout){0, UINT64_C(1) << 40, 0};
    assert_false(vly_attention_box_make(&desc, q, &box));
    desc.q.seq = UINT64_C(1) << 20;
    assert_true(vly_attention_box_make(&desc, q, &box));
    assert_true(box.extent == (UINT64_C(0xfffffffe) << 20) + 256);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_apart),
    cmocka_unit_test(test_meet),
    cmocka_unit_test(test_extent),
};

VLY_TEST_MAIN(tests)
