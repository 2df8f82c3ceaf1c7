/* SPDX-License-Identifier: Apache-2.0
 * The cases of volley.attention/1: each is small and tests something that an
 * implementation may get wrong. To add one, add a line and a comment with its
 * purpose.
 */
#include "conformance/conformance_attention.h"

#include <stddef.h>
#include <stdio.h>

#define F32 (1u << VLY_ELEMENT_F32)
#define F16 (1u << VLY_ELEMENT_F16)
#define BF16 (1u << VLY_ELEMENT_BF16)
#define FP8 (1u << VLY_ELEMENT_E4M3)
#define HALVES (F16 | BF16)
#define ALL (F32 | F16 | BF16)

#define CAUSAL .flags = VLY_ATTENTION_CAUSAL
#define CAUSAL_END .flags = VLY_ATTENTION_CAUSAL_END

/* batch, query and key heads, lengths of queries and keys, dim */
#define SHAPE(b, hq, hkv, sq, skv, d)                                          \
    .batch = (b), .heads_q = (hq), .heads_kv = (hkv), .seq_q = (sq),           \
    .seq_kv = (skv), .dim = (d)

static const attention_case cases[] = {
    {"full_64", "no mask, dim 64", ALL, .backward = 1,
     SHAPE(2, 2, 2, 128, 128, 64)},
    {"full_128", "no mask, dim 128, lengths of no block", ALL, .backward = 1,
     SHAPE(1, 2, 2, 197, 211, 128)},
    {"full_256", "the largest dim", ALL, .backward = 1,
     SHAPE(1, 1, 1, 70, 150, 256)},
    {"dim_8", "the smallest dim", ALL, .backward = 1,
     SHAPE(1, 2, 2, 33, 65, 8)},
    {"dim_72", "a dim that no tile has", HALVES, .backward = 1,
     SHAPE(1, 2, 2, 65, 65, 72)},
    {"dim_200", "another one", HALVES, .backward = 1,
     SHAPE(1, 1, 1, 63, 130, 200)},
    {"dim_v_64", "values shorter than keys", ALL, .backward = 1,
     SHAPE(1, 2, 2, 70, 90, 128), .dim_v = 64},
    {"dim_v_256", "values longer than keys", HALVES, .backward = 1,
     SHAPE(1, 1, 1, 40, 90, 64), .dim_v = 256},
    {"one", "one query, one key", ALL, .backward = 1, SHAPE(1, 1, 1, 1, 1, 64)},
    {"one_causal", "one query, one key, causal", HALVES, CAUSAL, .backward = 1,
     SHAPE(1, 1, 1, 1, 1, 128)},
    {"odd_17", "17 of everything", ALL, .backward = 1,
     SHAPE(3, 1, 1, 17, 17, 64)},
    {"odd_63", "63 of everything", HALVES, CAUSAL, .backward = 1,
     SHAPE(1, 3, 1, 63, 63, 128)},
    {"odd_65", "65 of everything", HALVES, CAUSAL, .backward = 1,
     SHAPE(1, 3, 3, 65, 65, 64)},
    {"no_batch", "a batch of 0", ALL, .backward = 1,
     SHAPE(0, 2, 2, 16, 16, 64)},
    {"no_query", "no query", ALL, .backward = 1, SHAPE(1, 2, 2, 0, 16, 64)},
    {"no_key", "no key: zeros and -inf", ALL, .backward = 1,
     SHAPE(1, 2, 2, 9, 0, 64)},
    {"causal_64", "causal, more than a block", ALL, CAUSAL, .backward = 1,
     SHAPE(1, 2, 2, 260, 260, 64)},
    {"causal_128", "causal, dim 128", ALL, CAUSAL, .backward = 1,
     SHAPE(1, 2, 1, 256, 256, 128)},
    {"causal_256", "causal, dim 256", HALVES, CAUSAL, .backward = 1,
     SHAPE(1, 1, 1, 140, 140, 256)},
    {"causal_wide", "top left, more keys than queries", HALVES, CAUSAL,
     .backward = 1, SHAPE(1, 2, 2, 70, 200, 64)},
    {"causal_tall", "top left, more queries than keys", HALVES, CAUSAL,
     .backward = 1, SHAPE(1, 2, 2, 200, 70, 64)},
    {"end_wide", "bottom right, more keys than queries", ALL, CAUSAL_END,
     .backward = 1, SHAPE(1, 2, 2, 70, 200, 64)},
    {"end_tall", "bottom right, first queries see nothing", ALL, CAUSAL_END,
     .backward = 1, SHAPE(1, 2, 2, 200, 70, 64)},
    {"window", "17 keys before, 5 after", ALL, .backward = 1,
     SHAPE(1, 2, 2, 150, 150, 64), .left = 18, .right = 6},
    {"window_own", "nothing but the own key", HALVES, .backward = 1,
     SHAPE(1, 2, 2, 80, 80, 64), .left = 1, .right = 1},
    {"window_causal", "causal, 64 keys before", HALVES, CAUSAL, .backward = 1,
     SHAPE(1, 2, 2, 300, 300, 64), .left = 65},
    {"window_end", "bottom right, 31 keys before, 200 more keys", HALVES,
     CAUSAL_END, .backward = 1, SHAPE(1, 2, 2, 100, 300, 128), .left = 32},
    {"window_past", "top left, the last queries are after every window", HALVES,
     .backward = 1, SHAPE(1, 1, 1, 120, 40, 64), .left = 9},
    {"window_right", "only 3 keys after are cut off", HALVES, .backward = 1,
     SHAPE(1, 1, 1, 100, 100, 64), .right = 4},
    {"grouped", "8 query heads for 2 key heads", ALL, CAUSAL, .backward = 1,
     SHAPE(2, 8, 2, 70, 70, 64)},
    {"multi_query", "12 query heads for one key head", HALVES, .backward = 1,
     SHAPE(1, 12, 1, 40, 130, 128)},
    {"lengths", "sequences of different lengths, 0 and 1 among them", ALL,
     .flags = VLY_ATTENTION_LENGTHS, .backward = 1,
     SHAPE(6, 2, 2, 90, 140, 64)},
    {"lengths_causal", "the same, causal", HALVES,
     .flags = VLY_ATTENTION_LENGTHS | VLY_ATTENTION_CAUSAL, .backward = 1,
     SHAPE(6, 4, 2, 130, 130, 64)},
    {"lengths_end", "the same, bottom right, with a window", HALVES,
     .flags = VLY_ATTENTION_LENGTHS | VLY_ATTENTION_CAUSAL_END, .backward = 1,
     SHAPE(6, 2, 2, 90, 140, 128), .left = 41},
    {"lengths_gaps", "the same, with room between rows and heads", ALL,
     .flags = VLY_ATTENTION_LENGTHS, .backward = 1, SHAPE(6, 2, 2, 70, 90, 64),
     .layout = ATTENTION_GAPS},
    {"lengths_heads", "the same, [batch][heads][seq][dim]", HALVES,
     .flags = VLY_ATTENTION_LENGTHS | VLY_ATTENTION_CAUSAL, .backward = 1,
     SHAPE(6, 4, 2, 70, 70, 64), .layout = ATTENTION_BATCH_HEAD_SEQ},
    {"packed", "packed sequences", ALL, .flags = VLY_ATTENTION_PACKED,
     .backward = 1, SHAPE(6, 2, 2, 90, 140, 64)},
    {"packed_causal", "the same, causal, grouped heads", HALVES,
     .flags = VLY_ATTENTION_PACKED | VLY_ATTENTION_CAUSAL, .backward = 1,
     SHAPE(5, 4, 2, 130, 130, 128)},
    {"decode", "one query, a cache of 1500", ALL, SHAPE(2, 8, 2, 1, 1500, 128)},
    {"decode_long", "one query, 5003 keys, dim 64", HALVES,
     SHAPE(1, 4, 1, 1, 5003, 64)},
    {"decode_lengths", "one query, caches of different lengths", HALVES,
     .flags = VLY_ATTENTION_LENGTHS, SHAPE(5, 8, 1, 1, 2200, 64)},
    {"decode_few", "four queries at the end of a cache", HALVES, CAUSAL_END,
     SHAPE(2, 4, 2, 4, 1100, 128)},
    {"decode_window", "one query, the last 256 of 3000 keys", HALVES,
     CAUSAL_END, SHAPE(1, 4, 4, 1, 3000, 128), .left = 256},
    {"paged_16", "a cache in pages of 16", ALL,
     .flags = VLY_ATTENTION_PAGED | VLY_ATTENTION_LENGTHS,
     SHAPE(5, 8, 2, 1, 1100, 128), .page_size = 16},
    {"paged_64", "a cache in pages of 64", HALVES,
     .flags = VLY_ATTENTION_PAGED | VLY_ATTENTION_LENGTHS,
     SHAPE(5, 4, 2, 1, 700, 64), .page_size = 64},
    {"paged_whole", "pages, every sequence as long as it may be", HALVES,
     .flags = VLY_ATTENTION_PAGED, SHAPE(2, 4, 1, 1, 333, 128),
     .page_size = 64},
    {"paged_prefill", "pages, many queries, bottom right", HALVES,
     .flags =
         VLY_ATTENTION_PAGED | VLY_ATTENTION_LENGTHS | VLY_ATTENTION_CAUSAL_END,
     SHAPE(3, 4, 2, 100, 260, 64), .page_size = 16},
    {"heads_first", "[batch][heads][seq][dim]", ALL, CAUSAL, .backward = 1,
     SHAPE(2, 4, 2, 70, 90, 64), .layout = ATTENTION_BATCH_HEAD_SEQ},
    {"gaps", "room between rows, heads and sequences", ALL, CAUSAL,
     .backward = 1, SHAPE(2, 4, 2, 70, 90, 64), .layout = ATTENTION_GAPS},
    {"gaps_paged", "pages with room between", HALVES,
     .flags = VLY_ATTENTION_PAGED | VLY_ATTENTION_LENGTHS,
     SHAPE(3, 4, 2, 1, 200, 64), .page_size = 16, .layout = ATTENTION_GAPS},
    {"scale", "a scale of its own", ALL, .backward = 1,
     SHAPE(1, 2, 2, 60, 60, 64), .scale = 0.31f},
    {"scale_negative", "a scale below 0", HALVES, .backward = 1,
     SHAPE(1, 2, 2, 60, 60, 64), .scale = -0.125f},
    {"no_lse", "lse is not asked for", HALVES, CAUSAL,
     SHAPE(1, 2, 2, 90, 90, 128), .no_lse = 1},
    {"large", "scores of some hundred: sums must not overflow", ALL,
     SHAPE(1, 2, 2, 100, 200, 64), .special = ATTENTION_LARGE},
    {"nan_key", "a NaN is seen by the last query only", ALL, CAUSAL,
     SHAPE(1, 2, 2, 100, 100, 64), .special = ATTENTION_NAN_KEY},
    {"nan_query", "a NaN in one query stays there", ALL,
     SHAPE(1, 2, 2, 100, 100, 128), .special = ATTENTION_NAN_QUERY},
    {"inf_key", "scores of +inf and -inf", ALL, SHAPE(1, 2, 2, 40, 100, 64),
     .special = ATTENTION_INF_KEY},
    {"inf_value", "an infinite value is seen by all", ALL,
     SHAPE(1, 2, 2, 40, 100, 64), .special = ATTENTION_INF_VALUE},
    {"fp8", "fp8 with scales", FP8, SHAPE(1, 2, 2, 100, 130, 128)},
    {"fp8_causal", "fp8, causal, grouped heads", FP8, CAUSAL,
     SHAPE(2, 4, 2, 130, 130, 128)},
    {"fp8_64", "fp8, dim 64", FP8, CAUSAL, SHAPE(1, 2, 2, 65, 65, 64)},
    {"fp8_256", "fp8, dim 256", FP8, SHAPE(1, 1, 1, 70, 70, 256)},
    {"fp8_same", "fp8, one scale for all heads", FP8,
     .flags = VLY_ATTENTION_SAME_SCALES, SHAPE(2, 4, 2, 100, 130, 128)},
    {"fp8_same_causal", "the same, causal", FP8,
     .flags = VLY_ATTENTION_SAME_SCALES | VLY_ATTENTION_CAUSAL,
     SHAPE(2, 2, 2, 260, 260, 128)},
    {"fp8_same_256", "the same, dim 256", FP8,
     .flags = VLY_ATTENTION_SAME_SCALES, SHAPE(1, 2, 2, 130, 130, 256)},
    {"fp8_decode", "fp8, one query, pages", FP8,
     .flags = VLY_ATTENTION_PAGED | VLY_ATTENTION_LENGTHS,
     SHAPE(3, 4, 1, 1, 300, 128), .page_size = 16},
};

const attention_case *attention_case_get(uint32_t index)
{
    return index < sizeof cases / sizeof *cases ? &cases[index] : NULL;
}

static void case_name(uint32_t index, char *name, size_t size)
{
    (void)snprintf(name, size, "%s", cases[index].name);
}

const accel_table vly_attention_table = {
    .interface_id = VLY_ATTENTION_INTERFACE,
    .n_cases = sizeof cases / sizeof *cases,
    .case_name = case_name,
    .scenarios = attention_scenarios,
};
