/* SPDX-License-Identifier: Apache-2.0
 * The 1st, 2nd, 3rd ... allocation fails: an error, no crash, nothing left.
 * toml++ allocates by itself: for it the address space is made too small.
 */
#include "test_genome_text.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "each_allocation.h"

static void every_allocation(const char *path)
{
    const vly_override overrides[] = {{"run.seed_input", "9"},
                                      {"title", "changed"}};
    uint64_t before = vly_memory_live();
    const uint64_t step = each_allocation();
    uint64_t n = 1;
    vly_status status;
    do {
        vly_error error = VLY_ERROR_INIT;
        vly_genome *genome = NULL;
        vly_memory_fail_at(n);
        status = vly_genome_load(path, overrides, 2, &genome, &error);
        vly_memory_fail_at(0);
        if (status != VLY_OK) {
            assert_int_equal(status, VLY_E_NOMEM);
            assert_int_equal(error.status, VLY_E_NOMEM);
            assert_non_null(strstr(error.message, "out of memory"));
            assert_true(error.bytes_requested > 0);
            assert_null(genome);
        }
        vly_genome_destroy(genome);
        assert_true(vly_memory_live() == before);
        n += step;
    } while (status != VLY_OK && n < 100000);
    assert_int_equal(status, VLY_OK);
    assert_true(n - step > 30);
}

static void every_genome(void **state)
{
    (void)state;
    assert_true(each_genome("tests/golden/genome", every_allocation) >= 5);
    assert_true(each_genome("genomes", every_allocation) >= 3);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED                                                              \
    (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

/* bytes of address space in use */
static rlim_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* A list of 400,000 numbers is some 1 MB of text and far more as a tree. */
static void too_little_address_space(void **state)
{
    (void)state;
    if (SANITIZED) {
        print_message("skipped: sanitizers reserve the address space\n");
        skip();
    }
    enum { N = 400000, ROOM = 8 << 20 };
    char *text = malloc(3 * N + 16);
    assert_non_null(text);
    memcpy(text, "a = [", 5);
    for (int i = 0; i < N; i++)
        memcpy(text + 5 + 2 * i, "1,", 2);
    memcpy(text + 5 + 2 * N, "]\n", 3);
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    struct rlimit small = {address_space() + ROOM, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &small), 0);
    vly_status status = vly_genome_parse(text, strlen(text), "big.toml", NULL,
                                         0, &genome, &error);
    assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
    assert_int_equal(status, VLY_E_NOMEM);
    assert_true(error.bytes_requested > 0);
    assert_null(genome);
    free(text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_genome),
    cmocka_unit_test(too_little_address_space),
};
VLY_TEST_MAIN(tests)
