/* SPDX-License-Identifier: Apache-2.0
 * The 1st, 2nd, 3rd ... allocation fails: an error, no crash, nothing left.
 * toml++ allocates by itself and is left out.
 */
#include "test_genome_text.h"

static void every_allocation(const char *path)
{
    const vly_override overrides[] = {{"run.seed_input", "9"},
                                      {"title", "changed"}};
    uint64_t before = vly_memory_live();
    uint64_t n = 0;
    vly_status status;
    do {
        vly_error error = VLY_ERROR_INIT;
        vly_genome *genome = NULL;
        vly_memory_fail_at(++n);
        status = vly_genome_load(path, overrides, 2, &genome, &error);
        vly_memory_fail_at(0);
        if (status != VLY_OK) {
            assert_int_equal(status, VLY_E_NOMEM);
            assert_int_equal(error.status, VLY_E_NOMEM);
            assert_null(genome);
        }
        vly_genome_destroy(genome);
        assert_true(vly_memory_live() == before);
    } while (status != VLY_OK && n < 100000);
    assert_int_equal(status, VLY_OK);
    assert_true(n > 30);
}

static void every_genome(void **state)
{
    (void)state;
    assert_true(each_genome("tests/golden/genome", every_allocation) >= 5);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_genome),
};
VLY_TEST_MAIN(tests)
