/* SPDX-License-Identifier: Apache-2.0
 * Files that take the place of others: whole or not at all, one process at a
 * time, and what a killed process left is removed. A lock belongs to an open
 * file, so a second open in this process is what another process would be.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "volley_test.h"

static char folder[] = "/tmp/volley_temporary_XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[64][128];
    static int next;
    char *path = paths[next++ % 64];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void holds(const char *path, const char *wanted)
{
    char text[64] = "";
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, wanted);
}

static bool is_there(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

#define BESIDE "x" VLY_TEMPORARY_SUFFIX

static void takes_the_place(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    vly_temporary made = VLY_TEMPORARY_NONE;
    const char *path = path_of("x");
    (void)state;
    put(path, "old");
    assert_ok(vly_temporary_open(path, path, &made, &error), error);
    assert_int_equal(write(made.file, "new", 3), 3);
    holds(path, "old");
    assert_true(is_there(path_of(BESIDE)));
    assert_ok(vly_temporary_keep(&made, path, &error), error);
    holds(path, "new");
    assert_false(is_there(path_of(BESIDE)));
    vly_temporary_drop(&made); /* legal, and removes nothing */
    holds(path, "new");
    assert_ok(vly_temporary_open(path, path, &made, &error), error);
    assert_int_equal(write(made.file, "more", 4), 4);
    vly_temporary_drop(&made);
    holds(path, "new");
    assert_false(is_there(path_of(BESIDE)));
    assert_int_equal(vly_temporary_open(path_of("no/x"), "no/x", &made, &error),
                     VLY_E_IO);
    assert_string_equal(error.message,
                        "no/x: cannot be written: No such file or directory");
}

static void one_at_a_time(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    vly_temporary first = VLY_TEMPORARY_NONE;
    vly_temporary second = VLY_TEMPORARY_NONE;
    const char *path = path_of("x");
    (void)state;
    put(path, "old");
    assert_ok(vly_temporary_open(path, path, &first, &error), error);
    assert_int_equal(vly_temporary_open(path, "x", &second, &error), VLY_E_IO);
    assert_string_equal(error.message,
                        "x: cannot be written: another process writes it");
    vly_temporary_clean(path); /* not of a living process */
    assert_true(vly_file_is_at(first.file, path_of(BESIDE)));
    assert_ok(vly_temporary_keep(&first, path, &error), error);
    /* the target itself is written by another process, as recordings are */
    int file = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(vly_file_lock(file));
    assert_true(vly_file_is_locked(path));
    assert_int_equal(vly_temporary_open(path, "x", &second, &error), VLY_E_IO);
    assert_false(is_there(path_of(BESIDE)));
    close(file);
    assert_false(vly_file_is_locked(path));
    assert_ok(vly_temporary_open(path, path, &second, &error), error);
    vly_temporary_drop(&second);
}

/* The lock of the file beside becomes the lock of the target. */
static void kept_and_locked(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    vly_temporary first = VLY_TEMPORARY_NONE;
    vly_temporary second = VLY_TEMPORARY_NONE;
    const char *path = path_of("x");
    int lock = -1;
    (void)state;
    assert_ok(vly_temporary_open(path, path, &first, &error), error);
    assert_int_equal(write(first.file, "new", 3), 3);
    assert_ok(vly_temporary_keep_locked(&first, path, &lock, &error), error);
    holds(path, "new");
    assert_true(vly_file_is_at(lock, path));
    assert_true(vly_file_is_locked(path));
    assert_int_equal(vly_temporary_open(path, "x", &second, &error), VLY_E_IO);
    assert_string_equal(error.message,
                        "x: cannot be written: another process writes it");
    close(lock);
    assert_false(vly_file_is_locked(path));
    assert_ok(vly_temporary_open(path, path, &second, &error), error);
    /* on failure there is no lock */
    lock = -1;
    assert_int_equal(unlink(second.path), 0);
    assert_int_equal(vly_temporary_keep_locked(&second, "x", &lock, &error),
                     VLY_E_IO);
    assert_int_equal(lock, -1);
    holds(path, "new");
}

/* A process that dies while it writes; killed again and again, it never leaves
 * more than one file, and the next one removes that. */
static void left_by_the_dead(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    vly_temporary made = VLY_TEMPORARY_NONE;
    const char *path = path_of("x");
    (void)state;
    put(path, "old");
    for (int i = 0; i < 3; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            if (vly_temporary_open(path, path, &made, &error) != VLY_OK ||
                write(made.file, "half", 4) != 4)
                _exit(1);
            raise(SIGKILL);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_true(is_there(path_of(BESIDE)));
    }
    assert_ok(vly_temporary_open(path, path, &made, &error), error);
    struct stat info;
    assert_int_equal(fstat(made.file, &info), 0);
    assert_int_equal(info.st_size, 0);
    vly_temporary_drop(&made);
    put(path_of(BESIDE), "half");
    vly_temporary_clean(path);
    assert_false(is_there(path_of(BESIDE)));
    holds(path, "old");
}

/* As a signal ends a command: a path that has another file by then stays. */
static void ended_at_once(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    vly_temporary made[3] = {VLY_TEMPORARY_NONE, VLY_TEMPORARY_NONE,
                             VLY_TEMPORARY_NONE};
    static const char *const names[] = {"x", "y", "z"};
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_ok(
            vly_temporary_open(path_of(names[i]), names[i], &made[i], &error),
            error);
    assert_ok(vly_temporary_keep(&made[1], "y", &error), error);
    unlink(path_of("z" VLY_TEMPORARY_SUFFIX));
    put(path_of("z" VLY_TEMPORARY_SUFFIX), "theirs");
    vly_temporary_remove_all();
    assert_false(is_there(path_of(BESIDE)));
    assert_true(is_there(path_of("y")));
    holds(path_of("z" VLY_TEMPORARY_SUFFIX), "theirs");
    assert_int_equal(vly_temporary_keep(&made[0], "x", &error), VLY_E_IO);
    assert_false(is_there(path_of("x")));
    vly_temporary_drop(&made[2]);
    holds(path_of("z" VLY_TEMPORARY_SUFFIX), "theirs");
}

/* A foreign file is neither followed nor removed. */
static void not_ours(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    vly_temporary made = VLY_TEMPORARY_NONE;
    const char *path = path_of("x");
    (void)state;
    put(path_of("other"), "theirs");
    assert_int_equal(symlink("other", path_of(BESIDE)), 0);
    assert_ok(vly_temporary_open(path, path, &made, &error), error);
    assert_int_equal(write(made.file, "ours", 4), 4);
    assert_ok(vly_temporary_keep(&made, path, &error), error);
    holds(path, "ours");
    holds(path_of("other"), "theirs");
    vly_temporary_clean(path);
    assert_true(is_there(path_of(BESIDE)));
    unlink(path_of(BESIDE));
}

static void no_memory(void **state)
{
    vly_temporary made = VLY_TEMPORARY_NONE;
    const char *path = path_of("x");
    uint64_t live = vly_memory_live();
    uint64_t left = 0;
    uint64_t n = 1;
    (void)state;
    for (; left == 0; n++) {
        vly_error error = VLY_ERROR_INIT;
        vly_memory_fail_at(n);
        vly_status status = vly_temporary_open(path, path, &made, &error);
        left = vly_memory_fail_at(0);
        assert_int_equal(status, left == 0 ? VLY_E_NOMEM : VLY_OK);
        vly_temporary_drop(&made);
        assert_int_equal(vly_memory_live(), live);
        assert_false(is_there(path_of(BESIDE)));
    }
    assert_true(n > 2);
}

static int clear(void **state)
{
    static const char *const names[] = {
        "x", "y", "z", BESIDE, "other", "z" VLY_TEMPORARY_SUFFIX};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(path_of(names[i]));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(takes_the_place, clear),
        cmocka_unit_test_teardown(one_at_a_time, clear),
        cmocka_unit_test_teardown(kept_and_locked, clear),
        cmocka_unit_test_teardown(left_by_the_dead, clear),
        cmocka_unit_test_teardown(ended_at_once, clear),
        cmocka_unit_test_teardown(not_ours, clear),
        cmocka_unit_test_teardown(no_memory, clear),
    };
    if (mkdtemp(folder) == NULL)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed ? 1 : 0;
}
