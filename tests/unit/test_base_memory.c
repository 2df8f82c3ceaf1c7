/* SPDX-License-Identifier: Apache-2.0
 * Checked sizes, live blocks, and the allocation that fails on purpose.
 */
#include "volley_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/thread.h"

static void sizes_are_checked(void **state)
{
    (void)state;
    size_t out = 5;
    assert_true(vly_size_mul(SIZE_MAX, 1, &out));
    assert_true(out == SIZE_MAX);
    out = 5;
    assert_false(vly_size_mul(SIZE_MAX / 2 + 1, 2, &out));
    assert_false(vly_size_add(SIZE_MAX, 1, &out));
    assert_int_equal(out, 5);
    assert_true(vly_size_add(SIZE_MAX - 1, 1, &out));
    assert_true(out == SIZE_MAX);
    assert_true(vly_size_mul(0, SIZE_MAX, &out));
    assert_int_equal(out, 0);
}

static void too_much_gives_null(void **state)
{
    (void)state;
    uint64_t live = vly_memory_live();
    assert_null(vly_malloc(SIZE_MAX / 2, 3));
    assert_null(vly_calloc(SIZE_MAX / 2, 3));
    assert_null(vly_malloc(SIZE_MAX, 1));
    assert_null(vly_calloc(SIZE_MAX, 1));
    assert_null(vly_aligned(SIZE_MAX, 64));
    char *block = vly_malloc(4, 1);
    assert_non_null(block);
    memcpy(block, "abc", 4);
    assert_null(vly_realloc(block, SIZE_MAX / 2, 3));
    assert_null(vly_realloc(block, SIZE_MAX, 1));
    assert_string_equal(block, "abc");
    vly_free(block);
    assert_int_equal(vly_memory_live(), live);
}

static void blocks_are_counted(void **state)
{
    (void)state;
    uint64_t live = vly_memory_live();
    void *block[8];
    block[0] = vly_malloc(0, 4);
    block[1] = vly_calloc(3, 4);
    block[2] = vly_realloc(NULL, 10, 1);
    block[3] = vly_aligned(100, 4096);
    block[4] = vly_strdup("text");
    block[5] = vly_format("%d and %s", 7, "more");
    block[6] = vly_malloc((size_t)3 << 20, 1);
    block[7] = vly_calloc((size_t)3 << 20, 1);
    for (int i = 0; i < 8; i++)
        assert_non_null(block[i]);
    assert_int_equal(vly_memory_live(), live + 8);
    assert_int_equal(((uint32_t *)block[1])[2], 0);
    assert_int_equal((uintptr_t)block[3] % 4096, 0);
    assert_string_equal(block[4], "text");
    assert_string_equal(block[5], "7 and more");
    assert_int_equal((uintptr_t)block[6] % 4096, 0);
    assert_int_equal(((char *)block[7])[((size_t)3 << 20) - 1], 0);
    memset(block[6], 1, (size_t)3 << 20);
    block[6] = vly_realloc(block[6], (size_t)5 << 20, 1);
    assert_non_null(block[6]);
    assert_int_equal(((char *)block[6])[((size_t)3 << 20) - 1], 1);
    block[0] = vly_realloc(block[0], 0, 1);
    assert_non_null(block[0]);
    assert_int_equal(vly_memory_live(), live + 8);
    for (int i = 0; i < 8; i++)
        vly_free(block[i]);
    vly_free(NULL);
    assert_int_equal(vly_memory_live(), live);
}

static void nth_allocation_fails(void **state)
{
    (void)state;
    uint64_t live = vly_memory_live();
    for (uint64_t n = 1; n <= 4; n++) {
        vly_memory_fail_at(n);
        void *block[4];
        block[0] = vly_malloc(1, 1);
        block[1] = vly_calloc(1, 1);
        block[2] = vly_aligned(64, 64);
        block[3] = vly_strdup("x");
        for (uint64_t i = 0; i < 4; i++) {
            if (i + 1 == n)
                assert_null(block[i]);
            else
                assert_non_null(block[i]);
            vly_free(block[i]);
        }
        void *after = vly_malloc(1, 1);
        assert_non_null(after); /* that one, and only that */
        vly_free(after);
    }
    char *block = vly_format("%s", "kept");
    vly_memory_fail_at(1);
    assert_null(vly_realloc(block, 1000, 1));
    assert_string_equal(block, "kept");
    vly_free(block);
    vly_memory_fail_at(1);
    vly_memory_fail_at(0);
    block = vly_malloc(1, 1);
    assert_non_null(block);
    vly_free(block);
    assert_int_equal(vly_memory_live(), live);
}

enum { N_THREADS = 4, N_BLOCKS = 1000 };

static void allocate_many(void *arg, uint32_t task)
{
    uint32_t *failed = (uint32_t *)arg + task;
    for (int i = 0; i < N_BLOCKS; i++) {
        void *block = vly_malloc(16, 1);
        *failed += block == NULL;
        vly_free(block);
    }
}

static void counters_are_thread_safe(void **state)
{
    (void)state;
    uint64_t live = vly_memory_live();
    uint32_t failed[N_THREADS] = {0};
    /* the pool first: making a thread counts as an allocation */
    assert_int_equal(vly_thread_gang(N_THREADS, allocate_many, failed), VLY_OK);
    vly_memory_fail_at(N_THREADS * N_BLOCKS / 2);
    assert_int_equal(vly_thread_gang(N_THREADS, allocate_many, failed), VLY_OK);
    vly_memory_fail_at(0);
    uint32_t total = 0;
    for (int i = 0; i < N_THREADS; i++)
        total += failed[i];
    assert_int_equal(total, 1);
    assert_int_equal(vly_memory_live(), live);
}

static void available_memory_is_known(void **state)
{
    (void)state;
    assert_true(vly_memory_available() > (uint64_t)1 << 20);
}

#define MIB ((uint64_t)1 << 20)

static uint64_t address_space(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu", &pages), 1);
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ulimit -v: a machine's gigabytes are no use to a process that may not have
 * them. */
static void limits_of_the_process_count(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    printf("skipped: AddressSanitizer maps memory of its own in between\n");
    skip();
#endif
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    struct rlimit small = old;
    small.rlim_cur = (rlim_t)(address_space() + 8 * MIB);
    assert_int_equal(setrlimit(RLIMIT_AS, &small), 0);
    const uint64_t some = vly_memory_available();
    small.rlim_cur = 4096; /* what there is stays */
    assert_int_equal(setrlimit(RLIMIT_AS, &small), 0);
    const uint64_t none = vly_memory_available();
    assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
    assert_true(some > 0 && some <= 8 * MIB);
    assert_true(none <= 8 * MIB);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* The least of a group and of those above it; files in the cache are no use of
 * memory that stays. */
static void control_groups_count(void **state)
{
    (void)state;
    char root[] = "/tmp/volley-groups-XXXXXX";
    char inner[100], command[120];
    assert_non_null(mkdtemp(root));
    snprintf(inner, sizeof inner, "%s/inner", root);
    assert_int_equal(mkdir(inner, 0700), 0);
    assert_int_equal(vly_memory_group_left(root, "/inner", 7000), 7000);
    write_text(root, "memory.max", "max\n");
    write_text(root, "memory.current", "900\n");
    assert_int_equal(vly_memory_group_left(root, "/inner", 7000), 7000);
    write_text(inner, "memory.max", "5000\n");
    write_text(inner, "memory.current", "3000\n");
    assert_int_equal(vly_memory_group_left(root, "/inner", 7000), 2000);
    assert_int_equal(vly_memory_group_left(root, "/inner", 0), 2000);
    assert_int_equal(vly_memory_group_left(root, "/inner", 100), 100);
    assert_int_equal(vly_memory_group_left(root, "", 7000), 7000);
    write_text(inner, "memory.stat", "anon 5\ninactive_file 1000\n");
    assert_int_equal(vly_memory_group_left(root, "/inner", 7000), 3000);
    write_text(root, "memory.max", "1000\n");
    assert_int_equal(vly_memory_group_left(root, "/inner", 7000), 100);
    write_text(inner, "memory.current", "9000\n"); /* above: nothing left */
    assert_int_equal(vly_memory_group_left(root, "/inner", 7000), 1);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(sizes_are_checked),
    cmocka_unit_test(too_much_gives_null),
    cmocka_unit_test(blocks_are_counted),
    cmocka_unit_test(nth_allocation_fails),
    cmocka_unit_test(counters_are_thread_safe),
    cmocka_unit_test(available_memory_is_known),
    cmocka_unit_test(limits_of_the_process_count),
    cmocka_unit_test(control_groups_count),
};

VLY_TEST_MAIN(tests)
