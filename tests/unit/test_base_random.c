/* SPDX-License-Identifier: Apache-2.0
 * Published answers of Philox4x32-10 (Random123, examples/kat_vectors) and of
 * splitmix64; the hashes of the digests written out by hand.
 */
#include "volley_test.h"

#include "base/random.h"

static void philox_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4];
        uint64_t key;
        uint32_t answer[4];
    } known[] = {
        {{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         UINT64_C(0xffffffffffffffff),
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         UINT64_C(0x299f31d0a4093822), /* low word first */
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const uint32_t *c = known[i].counter;
        vly_philox got = vly_philox_block(known[i].key, c[0], c[1], c[2], c[3]);
        assert_memory_equal(got.w, known[i].answer, sizeof(got.w));
    }
}

static void words_are_those_of_the_block(void **state)
{
    (void)state;
    const uint64_t key = UINT64_C(0x0123456789abcdef);
    const uint64_t first[] = {0, 4, UINT64_C(1) << 34, UINT64_MAX - 3};
    for (size_t i = 0; i < 4; i++) {
        vly_philox block = vly_philox_block(key, (uint32_t)(first[i] >> 2),
                                            (uint32_t)(first[i] >> 34), 77, 99);
        for (uint32_t j = 0; j < 4; j++)
            assert_int_equal(vly_philox_word(key, first[i] + j, 77, 99),
                             block.w[j]);
    }
}

static void mix64_known_answers(void **state)
{
    (void)state;
    /* splitmix64 seeded with 0 finalises multiples of the golden gamma */
    const uint64_t gamma = UINT64_C(0x9E3779B97F4A7C15);
    assert_true(vly_mix64(0) == 0);
    assert_true(vly_mix64(gamma) == UINT64_C(0xE220A8397B1DCDAF));
    assert_true(vly_mix64(2 * gamma) == UINT64_C(0x6E789E6AA1B965F4));
    assert_true(vly_mix64(3 * gamma) == UINT64_C(0x06C45D188009454F));
}

static void digest_hashes(void **state)
{
    (void)state;
    assert_true(vly_spike_hash(5, 7, 9) ==
                vly_mix64(vly_mix64(9) ^ UINT64_C(0x0000000500000007)));
    assert_true(vly_state_hash(5, 2, 0xdeadbeef) ==
                vly_mix64(vly_mix64(2) ^ UINT64_C(0x00000005deadbeef)));
    assert_true(vly_spike_hash(5, 7, 9) != vly_spike_hash(7, 5, 9));
}

static void below_covers_its_range(void **state)
{
    (void)state;
    assert_int_equal(vly_below(0, 10), 0);
    assert_int_equal(vly_below(UINT32_MAX, 10), 9);
    assert_int_equal(vly_below(0x80000000u, 10), 5);
    assert_int_equal(vly_below(UINT32_MAX, UINT32_MAX), UINT32_MAX - 1);
    assert_int_equal(vly_below(123, 0), 0);
}

static bool hash_equal(vly_hash a, vly_hash b)
{
    return a.lane[0] == b.lane[0] && a.lane[1] == b.lane[1];
}

static void hash_sees_every_byte(void **state)
{
    (void)state;
    unsigned char bytes[33] = {0};
    vly_hash zero = {{0, 0}};
    for (size_t n = 0; n <= 32; n++) {
        vly_hash base = vly_hash_bytes(zero, bytes, n);
        assert_false(hash_equal(base, vly_hash_bytes(zero, bytes, n + 1)));
        for (size_t cut = 0; cut <= n; cut++) { /* in parts the same */
            vly_hasher hasher = {.hash = zero};
            vly_hasher_bytes(&hasher, bytes, cut);
            vly_hasher_bytes(&hasher, bytes + cut, n - cut);
            assert_true(hash_equal(base, vly_hasher_end(&hasher)));
        }
        for (size_t i = 0; i < n; i++) {
            bytes[i] = 1;
            vly_hash other = vly_hash_bytes(zero, bytes, n);
            assert_true(other.lane[0] != base.lane[0]);
            assert_true(other.lane[1] != base.lane[1]);
            bytes[i] = 0;
        }
    }
    for (size_t before = 0; before < 9; before++) {
        static const unsigned char row[] = "abcdefghi12345678xyz";
        const uint64_t word = UINT64_C(0x3837363534333231);
        unsigned char whole[40];
        memcpy(whole, row, before);
        memcpy(whole + before, row + 9, 11);
        vly_hasher hasher = {.hash = zero};
        vly_hasher_bytes(&hasher, row, before);
        vly_hasher_word(&hasher, word);
        vly_hasher_bytes(&hasher, row + 17, 3);
        assert_true(hash_equal(vly_hash_bytes(zero, whole, before + 11),
                               vly_hasher_end(&hasher)));
    }
    vly_hash seed = {{1, 0}};
    assert_false(hash_equal(vly_hash_bytes(zero, bytes, 4),
                            vly_hash_bytes(seed, bytes, 4)));
}

/* Streams and file hashes are stored: they must never change. */
static void hash_is_frozen(void **state)
{
    (void)state;
    char text[33];
    vly_hash_print(vly_hash_text(""), text);
    assert_string_equal(text, "e220a8397b1dcdafe9e0033e3badaf36");
    vly_hash_print(vly_hash_text("area.E"), text);
    assert_string_equal(text, "d352e79d0740ab61306dafade5d24cda");
    vly_hash_print(vly_hash_text("a name of more than sixteen bytes"), text);
    assert_string_equal(text, "9fdad287a0d1c70c2608d4333e61b949");
    assert_int_equal(vly_stream_from_name("area.E"),
                     (uint32_t)vly_hash_text("area.E").lane[0]);
    vly_hash_print((vly_hash){{UINT64_C(0x0123456789abcdef), 0xf}}, text);
    assert_string_equal(text, "0123456789abcdef000000000000000f");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(philox_known_answers),
    cmocka_unit_test(words_are_those_of_the_block),
    cmocka_unit_test(mix64_known_answers),
    cmocka_unit_test(digest_hashes),
    cmocka_unit_test(below_covers_its_range),
    cmocka_unit_test(hash_sees_every_byte),
    cmocka_unit_test(hash_is_frozen),
};

VLY_TEST_MAIN(tests)
