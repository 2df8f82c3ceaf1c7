/* SPDX-License-Identifier: Apache-2.0
 * The tuning cache of the accelerators: what is put is there, in every process;
 * what is damaged, cut, foreign or cannot be written is as if it were not
 * there, and never wrong. Writers are killed and run into a full disk at every
 * byte (RLIMIT_FSIZE: the signal kills, or the write fails).
 */
#include "volley_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tune_choice.h"
#include "tune_host.h"

static char folder[256];

static vly_tune_cache fresh(const char *name)
{
    vly_tune_cache cache;
    if (folder[0] == '\0') {
        snprintf(folder, sizeof folder, "%s/tune_XXXXXX", VLY_TEST_BINARY_DIR);
        assert_non_null(mkdtemp(folder));
    }
    vly_tune_init(&cache, &host, folder, name);
    n_logged = 0;
    return cache;
}

/* Removes what the tests left. */
static int clear(void **state)
{
    (void)state;
    DIR *all = opendir(folder);
    struct dirent *entry;
    char path[600];
    while (all != NULL && (entry = readdir(all)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.' && unlink(path) != 0)
            (void)rmdir(path);
    }
    if (all != NULL)
        (void)closedir(all);
    (void)rmdir(folder);
    return 0;
}

static size_t file_load(const vly_tune_cache *cache, char *text, size_t bytes)
{
    FILE *file = fopen(cache->path, "rb");
    assert_non_null(file);
    size_t n = fread(text, 1, bytes, file);
    (void)fclose(file);
    assert_true(n > 0 && n < bytes);
    return n;
}

static void file_save(const vly_tune_cache *cache, const char *text, size_t n)
{
    FILE *file = fopen(cache->path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* Entry i of a test: key and blob follow from i. */
static void make_entry(uint32_t i, char key[64], unsigned char blob[40],
                       uint32_t *bytes)
{
    snprintf(key, 64, "gemm m=%u n=4096 %% \t%u", i, i * i);
    *bytes = 1 + i % 40;
    for (uint32_t j = 0; j < *bytes; j++)
        blob[j] = (unsigned char)(i * 37 + j * 11);
}

static int put(const vly_tune_cache *cache, uint32_t i)
{
    char key[64];
    unsigned char blob[40];
    uint32_t bytes = 0;
    make_entry(i, key, blob, &bytes);
    return vly_tune_put(cache, key, blob, bytes);
}

/* 1 if entry i is there; fails the test if another one is given for it. */
static int has(const vly_tune_cache *cache, uint32_t i)
{
    char key[64];
    unsigned char blob[40], found[VLY_TUNE_BLOB_BYTES];
    uint32_t bytes = 0;
    make_entry(i, key, blob, &bytes);
    uint32_t got = vly_tune_get(cache, key, found, sizeof found);
    if (got != 0) {
        assert_int_equal(got, bytes);
        assert_memory_equal(found, blob, bytes);
    }
    return got != 0;
}

static uint32_t count(const vly_tune_cache *cache, uint32_t n)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++)
        found += (uint32_t)has(cache, i);
    return found;
}

/* ---- what is put is there ---------------------------------------------------
 */

static void entries_stay(void **state)
{
    (void)state;
    vly_tune_cache cache = fresh("entries 1.0/of ../this");
    assert_null(strchr(cache.path + strlen(folder) + 1, '/'));
    unsigned char blob[4];
    assert_int_equal(vly_tune_get(&cache, "none", blob, sizeof blob), 0);
    for (uint32_t i = 0; i < 50; i++)
        assert_int_equal(put(&cache, i), 1);
    assert_int_equal(count(&cache, 60), 50);
    assert_int_equal(vly_tune_put(&cache, "again", "one", 3), 1);
    assert_int_equal(vly_tune_put(&cache, "again", "two!", 4), 1);
    assert_int_equal(vly_tune_get(&cache, "again", blob, sizeof blob), 4);
    assert_memory_equal(blob, "two!", 4);
    /* not in part, and not by half of its name */
    assert_int_equal(vly_tune_get(&cache, "again", blob, 3), 0);
    assert_int_equal(vly_tune_get(&cache, "agai", blob, sizeof blob), 0);
    assert_int_equal(n_logged, 0);
    assert_int_equal(n_blocks, 0);
}

/* What another build of the plugin measured is of other kernels. */
static void choices_are_of_one_build(void **state)
{
    (void)state;
    vly_tune_cache cache = fresh("choices");
    unsigned char blob[VLY_TUNE_BUILD_BYTES + 4];
    unsigned char build[VLY_TUNE_BUILD_BYTES], again[VLY_TUNE_BUILD_BYTES];
    char found[5] = "none";
    vly_tune_build(build);
    vly_tune_build(again);
    assert_memory_equal(build, again, sizeof build);
    assert_int_equal(vly_tune_get_choice(&cache, "k", found, 4), 0);
    assert_int_equal(vly_tune_put_choice(&cache, "k", "ours", 4), 1);
    assert_int_equal(vly_tune_get_choice(&cache, "k", found, 4), 1);
    assert_string_equal(found, "ours");
    assert_int_equal(vly_tune_get_choice(&cache, "k", found, 3), 0);
    assert_int_equal(vly_tune_get(&cache, "k", blob, sizeof blob), sizeof blob);
    blob[VLY_TUNE_BUILD_BYTES - 1] ^= 1;
    memcpy(blob + VLY_TUNE_BUILD_BYTES, "them", 4);
    assert_int_equal(vly_tune_put(&cache, "k", blob, sizeof blob), 1);
    assert_int_equal(vly_tune_get_choice(&cache, "k", found, 4), 0);
    assert_string_equal(found, "ours"); /* untouched */
    assert_int_equal(vly_tune_put(&cache, "k", "old!", 4), 1);
    assert_int_equal(vly_tune_get_choice(&cache, "k", found, 4), 0);
    assert_int_equal(vly_tune_put_choice(&cache, "k", "mine", 4), 1);
    assert_int_equal(vly_tune_get_choice(&cache, "k", found, 4), 1);
    assert_string_equal(found, "mine");
    assert_int_equal(n_logged, 0);
    static const unsigned char large[VLY_TUNE_BLOB_BYTES];
    assert_int_equal(vly_tune_put_choice(&cache, "l", large, sizeof large), 0);
    assert_int_equal(n_logged, 1);
    assert_int_equal(n_blocks, 0);
}

static void entries_too_large_are_refused(void **state)
{
    (void)state;
    static char key[VLY_TUNE_KEY_BYTES + 1];
    static char blob[VLY_TUNE_BLOB_BYTES + 1];
    vly_tune_cache cache = fresh("large");
    memset(key, ' ', sizeof key - 1);
    assert_int_equal(vly_tune_put(&cache, key, blob, 1), 0);
    assert_int_equal(vly_tune_put(&cache, "k", blob, sizeof blob), 0);
    assert_int_equal(vly_tune_put(&cache, "k", blob, 0), 0);
    assert_int_equal(vly_tune_put(&cache, "", blob, 1), 0);
    assert_int_equal(n_logged, 4);
    key[VLY_TUNE_KEY_BYTES - 1] = '\0'; /* the largest that goes */
    assert_int_equal(vly_tune_put(&cache, key, blob, VLY_TUNE_BLOB_BYTES), 1);
    assert_int_equal(vly_tune_get(&cache, key, blob, sizeof blob),
                     VLY_TUNE_BLOB_BYTES);
}

/* More than the file may hold: the newest are there, the oldest is not. */
static void oldest_entries_go(void **state)
{
    (void)state;
    static char blob[VLY_TUNE_BLOB_BYTES], text[(1 << 20) + 8192];
    vly_tune_cache cache = fresh("oldest");
    struct stat info;
    assert_int_equal(vly_tune_put(&cache, "first", blob, 1), 1);
    size_t first = file_load(&cache, text, sizeof text);
    assert_int_equal(vly_tune_put(&cache, "k", blob, sizeof blob), 1);
    size_t n = file_load(&cache, text, sizeof text), line = n - first;
    for (; n + line < 1 << 20; n += line) /* the same one many times */
        memcpy(text + n, text + first, line);
    file_save(&cache, text, n);
    assert_int_equal(vly_tune_get(&cache, "first", blob, 1), 1);
    assert_int_equal(vly_tune_put(&cache, "l", blob, sizeof blob), 1);
    assert_int_equal(stat(cache.path, &info), 0);
    assert_true(info.st_size <= 1 << 20 && info.st_size > 1 << 19);
    for (const char *key = "kl"; *key != '\0'; key++)
        assert_int_equal(
            vly_tune_get(&cache, (char[]){*key, 0}, blob, sizeof blob),
            sizeof blob);
    assert_int_equal(vly_tune_get(&cache, "first", blob, 1), 0);
}

static void folder_follows_the_environment(void **state)
{
    (void)state;
    vly_tune_cache cache;
    setenv("HOME", "/nobody", 1);
    setenv("XDG_CACHE_HOME", "/cache", 1);
    vly_tune_init(&cache, &host, NULL, "x");
    assert_string_equal(cache.path, "/cache/volley/x.tune");
    setenv("XDG_CACHE_HOME", "relative", 1);
    vly_tune_init(&cache, &host, "", "x");
    assert_string_equal(cache.path, "/nobody/.cache/volley/x.tune");
    unsetenv("HOME");
    vly_tune_init(&cache, &host, NULL, "x");
    assert_string_equal(cache.path, "");
    assert_int_equal(put(&cache, 1), 0);
    assert_int_equal(has(&cache, 1), 0);
    vly_tune_init(&cache, &host, "off", "x");
    assert_string_equal(cache.path, "");
}

/* ---- what is damaged is not there -------------------------------------------
 */

enum { DAMAGED = 4 };

static size_t make_small(vly_tune_cache *cache, const char *name, char *text,
                         size_t bytes)
{
    *cache = fresh(name);
    for (uint32_t i = 0; i < DAMAGED; i++)
        assert_int_equal(put(cache, i), 1);
    return file_load(cache, text, bytes);
}

static void flipped_bits_lose_an_entry(void **state)
{
    (void)state;
    char text[4096];
    vly_tune_cache cache;
    size_t n = make_small(&cache, "flipped", text, sizeof text);
    uint32_t worst = DAMAGED;
    for (size_t i = 0; i < n * 8; i++) {
        text[i / 8] ^= (char)(1 << i % 8);
        file_save(&cache, text, n);
        uint32_t found = count(&cache, DAMAGED);
        if (i / 8 < 14) /* the head: none of ours */
            assert_int_equal(found, 0);
        else if (found < worst)
            worst = found;
        assert_true(found < DAMAGED);
        text[i / 8] ^= (char)(1 << i % 8);
    }
    /* a lost end of line loses two */
    assert_int_equal(worst, DAMAGED - 2);
    assert_true(n_logged > 0);
    assert_non_null(strstr(logged, "ignored"));
    assert_int_equal(put(&cache, 9), 1); /* and is repaired by what is left */
    n_logged = 0;
    assert_int_equal(has(&cache, 9), 1);
    assert_int_equal(n_logged, 0);
}

static void cut_files_lose_their_end(void **state)
{
    (void)state;
    char text[4096];
    vly_tune_cache cache;
    size_t n = make_small(&cache, "cut", text, sizeof text);
    uint32_t last = 0;
    for (size_t i = 0; i <= n; i++) {
        file_save(&cache, text, i);
        uint32_t found = count(&cache, DAMAGED);
        assert_true(found >= last);
        last = found;
        if (i % 16 == 0) {
            assert_int_equal(put(&cache, 9), 1);
            assert_int_equal(count(&cache, DAMAGED), found);
            assert_int_equal(has(&cache, 9), 1);
        }
    }
    assert_int_equal(last, DAMAGED);
}

static void foreign_files_are_replaced(void **state)
{
    (void)state;
    char text[3 << 20];
    vly_tune_cache cache = fresh("foreign");
    memset(text, 'x', sizeof text);
    file_save(&cache, text, sizeof text); /* too large to be ours */
    assert_int_equal(has(&cache, 0), 0);
    assert_non_null(strstr(logged, "ignored"));
    assert_int_equal(put(&cache, 0), 1);
    assert_int_equal(has(&cache, 0), 1);
    file_save(&cache, "other\nthings\n", 13);
    assert_int_equal(has(&cache, 0), 0);
    assert_int_equal(put(&cache, 0), 1);
    assert_int_equal(has(&cache, 0), 1);
}

/* A warning the first time, of each file. */
static void what_stays_damaged_warns_once(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        vly_tune_cache cache = fresh(i == 0 ? "stays" : "stays_too");
        file_save(&cache, "volley-tune 1\nnothing\n", 22);
        for (int k = 0; k < 3; k++) {
            level_logged = -1;
            assert_int_equal(has(&cache, 0), 0);
            assert_non_null(strstr(logged, "1 damaged"));
            assert_int_equal(level_logged,
                             k == 0 ? VLY_LOG_WARN : VLY_LOG_DEBUG);
        }
        file_save(&cache, "volley-tune 1\nnothing\nless\n", 27);
        assert_int_equal(has(&cache, 0), 0);
        assert_int_equal(level_logged, VLY_LOG_WARN); /* something else */
    }
}

static void what_cannot_be_written_is_logged(void **state)
{
    (void)state;
    vly_tune_cache cache = fresh("folder");
    assert_int_equal(mkdir(cache.path, 0700), 0); /* a folder is no file */
    assert_int_equal(put(&cache, 0), 0);
    assert_int_equal(has(&cache, 0), 0);
    assert_true(n_logged > 0);
    vly_tune_init(&cache, &host, "/proc/self/no/such", "x"); /* no new folder */
    n_logged = 0;
    assert_int_equal(put(&cache, 0), 0);
    assert_int_equal(n_logged, 1);
    vly_tune_init(&cache, &host, "/dev/null", "x"); /* none at all */
    assert_int_equal(put(&cache, 0), 0);
    assert_int_equal(has(&cache, 0), 0);
}

static void memory_may_be_missing(void **state)
{
    (void)state;
    vly_tune_cache cache = fresh("memory");
    for (uint32_t i = 0; i < DAMAGED; i++)
        assert_int_equal(put(&cache, i), 1);
    for (int64_t n = 1; n <= 2; n++) {
        fail_at = n;
        /* without memory for what is there the others must not be lost */
        int written = put(&cache, 9);
        fail_at = 0;
        assert_int_equal(written, 0);
        assert_int_equal(count(&cache, DAMAGED), DAMAGED);
    }
    fail_at = 1;
    assert_int_equal(has(&cache, 0), 0);
    fail_at = 0;
    assert_int_equal(has(&cache, 0), 1);
    assert_int_equal(n_blocks, 0);
}

/* ---- writers that do not get through
 * ----------------------------------------- */

/* Writes entry 9 in a process that may write so many bytes of a file; how it
 * ended. */
static int put_with_limit(const vly_tune_cache *cache, size_t bytes,
                          void (*handler)(int))
{
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
        (void)signal(SIGXFSZ, handler);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(99);
        _exit(put(cache, 9) ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void limits(const char *name, void (*handler)(int))
{
    char text[4096], path[1100];
    vly_tune_cache cache;
    size_t n = make_small(&cache, name, text, sizeof text);
    snprintf(path, sizeof path, "%s.tmp", cache.path);
    size_t limit = 0;
    int status = -1;
    for (; status != 0 && limit < 2 * n; limit++) {
        status = put_with_limit(&cache, limit, handler);
        assert_int_equal(count(&cache, DAMAGED), DAMAGED);
        assert_int_equal(has(&cache, 9), status == 0);
        if (status != 0 && handler == SIG_DFL)
            assert_true(WIFSIGNALED(status));
        if (handler == SIG_IGN)
            assert_int_not_equal(access(path, F_OK), 0);
    }
    assert_true(limit > n && limit < 2 * n);
    assert_int_equal(put(&cache, 10), 1);
    assert_int_equal(has(&cache, 10), 1);
}

static void writers_are_killed_at_every_byte(void **state)
{
    (void)state;
    limits("killed", SIG_DFL);
}

static void disk_is_full_at_every_byte(void **state)
{
    (void)state;
    limits("full", SIG_IGN);
}

static void many_processes_lose_nothing(void **state)
{
    (void)state;
    enum { WRITERS = 6, EACH = 30 };
    vly_tune_cache cache = fresh("many");
    pid_t children[WRITERS];
    for (uint32_t w = 0; w < WRITERS; w++) {
        children[w] = fork();
        if (children[w] == 0) {
            int failed = 0;
            for (uint32_t i = 0; i < EACH; i++) {
                /* on a slow disk another may hold the lock for longer than a
                 * writer waits: then nothing is written, and it says so */
                int tries = 0;
                while (!put(&cache, i * WRITERS + w) && tries < 100)
                    tries++;
                failed |= tries == 100;
            }
            _exit(failed);
        }
    }
    for (uint32_t w = 0; w < WRITERS; w++) {
        int status = -1;
        assert_int_equal(waitpid(children[w], &status, 0), children[w]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count(&cache, WRITERS * EACH), WRITERS * EACH);
}

static void a_stopped_writer_stops_nobody(void **state)
{
    (void)state;
    char path[1100];
    vly_tune_cache cache = fresh("stopped");
    assert_int_equal(put(&cache, 0), 1);
    snprintf(path, sizeof path, "%s.lock", cache.path);
    int lock = open(path, O_RDWR);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_int_equal(put(&cache, 1), 0);
    assert_non_null(strstr(logged, "lock"));
    assert_int_equal(has(&cache, 0), 1);
    (void)close(lock);
    assert_int_equal(put(&cache, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_stay),
        cmocka_unit_test(choices_are_of_one_build),
        cmocka_unit_test(entries_too_large_are_refused),
        cmocka_unit_test(oldest_entries_go),
        cmocka_unit_test(flipped_bits_lose_an_entry),
        cmocka_unit_test(cut_files_lose_their_end),
        cmocka_unit_test(foreign_files_are_replaced),
        cmocka_unit_test(what_stays_damaged_warns_once),
        cmocka_unit_test(what_cannot_be_written_is_logged),
        cmocka_unit_test(memory_may_be_missing),
        cmocka_unit_test(writers_are_killed_at_every_byte),
        cmocka_unit_test(disk_is_full_at_every_byte),
        cmocka_unit_test(many_processes_lose_nothing),
        cmocka_unit_test(a_stopped_writer_stops_nobody),
        cmocka_unit_test(folder_follows_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, clear) ? 1 : 0;
}
