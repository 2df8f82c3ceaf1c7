/* SPDX-License-Identifier: Apache-2.0
 * Large blobs beside the tuning cache: what is put is there; what is damaged at
 * any byte, cut, foreign or cannot be written is as if it were not there.
 */
#include "volley_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tune_blob.h"
#include "tune_host.h"

static char folder[64];
static vly_tune_cache cache;

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/volley_blob_XXXXXX");
    assert_non_null(mkdtemp(folder));
    char deeper[80];
    snprintf(deeper, sizeof deeper, "%s/a", folder);
    vly_tune_init(&cache, &host, deeper, "name 1");
    n_logged = 0;
    n_blocks = 0;
    return 0;
}

static void remove_all(const char *path)
{
    DIR *open = opendir(path);
    if (open == NULL) {
        (void)unlink(path);
        return;
    }
    const struct dirent *entry = NULL;
    while ((entry = readdir(open)) != NULL) {
        char below[600];
        snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_all(below);
    }
    closedir(open);
    (void)rmdir(path);
}

static int teardown(void **state)
{
    (void)state;
    remove_all(folder);
    return n_blocks == 0 ? 0 : -1;
}

/* The path of the only file, and how many there are. */
static uint32_t only_file(char *path, size_t size)
{
    char plans[200];
    uint32_t n = 0;
    snprintf(plans, sizeof plans, "%s/a/name_1.plans", folder);
    DIR *open = opendir(plans);
    const struct dirent *entry = NULL;
    while (open != NULL && (entry = readdir(open)) != NULL)
        if (entry->d_name[0] != '.') {
            snprintf(path, size, "%s/%s", plans, entry->d_name);
            n++;
        }
    if (open != NULL)
        closedir(open);
    return n;
}

static void assert_blob(const char *key, const void *wanted, uint32_t bytes)
{
    uint32_t n = 0;
    void *found = vly_tune_blob_get(&cache, key, &n);
    assert_non_null(found);
    assert_int_equal(n, bytes);
    assert_memory_equal(found, wanted, bytes);
    host_free(NULL, found);
}

static void assert_none(const char *key)
{
    uint32_t n = 0;
    assert_null(vly_tune_blob_get(&cache, key, &n));
}

/* ---- tests ------------------------------------------------------------- */

static void test_put_and_get(void **state)
{
    (void)state;
    static uint8_t large[300000];
    char path[600];
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (uint8_t)(i * 7 + i / 256);
    assert_none("a key");
    assert_int_equal(vly_tune_blob_put(&cache, "a key", large, sizeof large),
                     1);
    assert_blob("a key", large, sizeof large);
    assert_int_equal(vly_tune_blob_put(&cache, "a key", "x", 1), 1);
    assert_blob("a key", "x", 1);
    assert_none("a kex");
    assert_int_equal(only_file(path, sizeof path), 1);
    assert_int_equal(n_logged, 0);
}

static void test_what_is_no_entry(void **state)
{
    (void)state;
    static char key[VLY_TUNE_KEY_BYTES + 1];
    static uint8_t large[VLY_TUNE_LARGE_BYTES + 1];
    memset(key, 'k', VLY_TUNE_KEY_BYTES);
    assert_int_equal(vly_tune_blob_put(&cache, key, "x", 1), 0);
    assert_int_equal(vly_tune_blob_put(&cache, "", "x", 1), 0);
    assert_int_equal(vly_tune_blob_put(&cache, "two\nlines", "x", 1), 0);
    assert_int_equal(vly_tune_blob_put(&cache, "a", "", 0), 0);
    assert_int_equal(vly_tune_blob_put(&cache, "a", large, sizeof large), 0);
    assert_int_equal(n_logged, 5);
    assert_none(key);
    key[VLY_TUNE_KEY_BYTES - 1] = '\0';
    assert_int_equal(
        vly_tune_blob_put(&cache, key, large, VLY_TUNE_LARGE_BYTES), 1);
    assert_blob(key, large, VLY_TUNE_LARGE_BYTES);
    /* off: nothing is kept, and nothing said */
    n_logged = 0;
    vly_tune_init(&cache, &host, "off", "name");
    assert_int_equal(vly_tune_blob_put(&cache, "a", "x", 1), 0);
    assert_none("a");
    assert_int_equal(n_logged, 0);
}

/* More keys than places: each is right or not there. */
static void test_places_are_shared(void **state)
{
    (void)state;
    char key[32], path[600];
    uint32_t n_there = 0;
    for (uint32_t i = 0; i < 600; i++) {
        snprintf(key, sizeof key, "key %u", i);
        assert_int_equal(vly_tune_blob_put(&cache, key, &i, sizeof i), 1);
    }
    for (uint32_t i = 0; i < 600; i++) {
        uint32_t n = 0;
        snprintf(key, sizeof key, "key %u", i);
        uint32_t *found = vly_tune_blob_get(&cache, key, &n);
        if (found == NULL)
            continue;
        assert_int_equal(n, sizeof i);
        assert_int_equal(*found, i);
        host_free(NULL, found);
        n_there++;
    }
    assert_int_equal(only_file(path, sizeof path), n_there);
    assert_in_range(n_there, 1, VLY_TUNE_PLACES);
    assert_int_equal(n_logged, 0);
}

/* Every byte changed, and every length below the whole. */
static void test_damage(void **state)
{
    (void)state;
    const char blob[] = "what was put there";
    char path[600], text[400];
    assert_int_equal(vly_tune_blob_put(&cache, "key", blob, sizeof blob), 1);
    assert_int_equal(only_file(path, sizeof path), 1);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    for (size_t i = 0; i < 2 * size; i++) {
        const size_t kept = i < size ? size : i - size;
        if (i < size)
            text[i] ^= 4;
        file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, kept, file), kept);
        fclose(file);
        assert_none("key");
        if (i < size)
            text[i] ^= 4;
    }
    assert_true(n_logged >= size);
    /* and it is put again over what was damaged */
    assert_int_equal(vly_tune_blob_put(&cache, "key", blob, sizeof blob), 1);
    assert_blob("key", blob, sizeof blob);
}

/* A full disk and a killed writer: the old blob stays. */
static void test_writers_that_fail(void **state)
{
    (void)state;
    static uint8_t large[5000];
    assert_int_equal(vly_tune_blob_put(&cache, "key", "old", 4), 1);
    for (int ignored = 0; ignored < 2; ignored++)
        for (rlim_t most = 0; most < 5000; most += 700) {
            const pid_t child = fork();
            if (child == 0) {
                const struct rlimit limit = {most, most};
                signal(SIGXFSZ, ignored ? SIG_IGN : SIG_DFL);
                (void)setrlimit(RLIMIT_FSIZE, &limit);
                _exit(vly_tune_blob_put(&cache, "key", large, sizeof large));
            }
            int status = 0;
            assert_int_equal(waitpid(child, &status, 0), child);
            assert_true(ignored ? WIFEXITED(status) && WEXITSTATUS(status) == 0
                                : WIFSIGNALED(status));
            assert_blob("key", "old", 4);
        }
    assert_int_equal(vly_tune_blob_put(&cache, "key", large, sizeof large), 1);
    assert_blob("key", large, sizeof large);
}

/* Another writer holds the temporary file, or its place is a folder. */
static void test_another_writer(void **state)
{
    (void)state;
    char path[600], temporary[620];
    assert_int_equal(vly_tune_blob_put(&cache, "key", "old", 4), 1);
    assert_int_equal(only_file(path, sizeof path), 1);
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    const int held = open(temporary, O_RDWR | O_CREAT, 0600);
    assert_true(held >= 0);
    assert_int_equal(flock(held, LOCK_EX), 0);
    assert_int_equal(vly_tune_blob_put(&cache, "key", "new", 4), 0);
    assert_blob("key", "old", 4);
    close(held);
    assert_int_equal(vly_tune_blob_put(&cache, "key", "new", 4), 1);
    assert_blob("key", "new", 4);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_none("key");
    assert_int_equal(vly_tune_blob_put(&cache, "key", "new", 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_put_and_get, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_no_entry, setup, teardown),
        cmocka_unit_test_setup_teardown(test_places_are_shared, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_writers_that_fail, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_another_writer, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
