/* SPDX-License-Identifier: Apache-2.0
 * What may be opened for reading, and the bounds of what is read: kinds of
 * files, bytes of a whole file, bytes of a line.
 */
#include "base/reading.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "volley_test.h"

#define FOLDER VLY_TEST_BINARY_DIR "/reading"
#define NAME FOLDER "/file"
#define PIPE FOLDER "/pipe"
#define LOOP FOLDER "/loop"

static int set_up(void **state)
{
    (void)state;
    (void)mkdir(FOLDER, 0777);
    (void)unlink(PIPE);
    (void)unlink(LOOP);
    return mkfifo(PIPE, 0600) || symlink("loop", LOOP);
}

static void write_text(const char *text, size_t n)
{
    FILE *file = fopen(NAME, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* In both ways: as a file with a length, and where a pipe would do. */
static void refused(const char *path, vly_status status, const char *why)
{
    for (int what = VLY_READ_FILE; what <= VLY_READ_STREAM; what++) {
        vly_error error = VLY_ERROR_INIT;
        FILE *file = NULL;
        assert_int_equal(
            vly_reading_open(path, (vly_readable)what, &file, &error), status);
        assert_null(file);
        assert_non_null(strstr(error.message, path));
        if (!strstr(error.message, why))
            fail_msg("\"%s\", wanted \"%s\"", error.message, why);
    }
}

static void test_kinds(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    FILE *file = NULL;
    int descriptor = -1;
    refused("/dev/zero", VLY_E_INVALID, "/dev/zero: a device, wanted a file");
    refused("/dev/null", VLY_E_INVALID, "/dev/null: a device, wanted a file");
    refused(FOLDER, VLY_E_IO, ": a folder, wanted a file");
    refused(LOOP, VLY_E_IO, ": Too many levels of symbolic links");
    refused(FOLDER "/nothing", VLY_E_IO, ": No such file");
    refused("", VLY_E_IO, ": No such file");
    assert_int_equal(vly_reading_open(PIPE, VLY_READ_FILE, &file, &error),
                     VLY_E_INVALID);
    assert_string_equal(error.message, PIPE ": a pipe, wanted a file");
    /* as a descriptor, without waiting for a writer */
    assert_ok(
        vly_reading_descriptor(PIPE, VLY_READ_STREAM, &descriptor, &error),
        error);
    close(descriptor);
    assert_int_equal(
        vly_reading_open_as("/dev/zero", "x", VLY_READ_FILE, &file, &error),
        VLY_E_INVALID);
    assert_string_equal(error.message, "x: a device, wanted a file");
}

static void *write_pipe(void *text)
{
    FILE *file = fopen(PIPE, "wb"); /* waits for the reader */
    if (file) {
        fputs(text, file);
        fclose(file);
    }
    return NULL;
}

static void test_pipe(void **state)
{
    (void)state;
    char text[] = "one\ntwo";
    vly_error error = VLY_ERROR_INIT;
    vly_lines lines = {.path = PIPE};
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, write_pipe, text), 0);
    assert_ok(vly_reading_open(PIPE, VLY_READ_STREAM, &lines.file, &error),
              error);
    assert_int_equal(vly_reading_most(lines.file), VLY_PIPE_BYTES_MAX);
    lines.limit = 6;
    assert_ok(vly_lines_next(&lines, &error), error);
    assert_string_equal(lines.line, "one\n");
    assert_int_equal(lines.number, 1);
    assert_int_equal(vly_lines_next(&lines, &error), VLY_E_PARSE);
    assert_string_equal(error.message,
                        PIPE ":2: a pipe of more than 6 bytes, wanted a file");
    pthread_join(writer, NULL);
    fclose(lines.file);
    vly_lines_deinit(&lines);
}

static void test_whole(void **state)
{
    (void)state;
    for (size_t n = 0; n <= 70000; n = n < 3 ? n + 1 : n * 3) {
        vly_error error = VLY_ERROR_INIT;
        char *bytes = NULL;
        size_t got = 0;
        FILE *file = NULL;
        char *text = vly_malloc(n + 1, 1);
        memset(text, 'x', n);
        write_text(text, n);
        assert_ok(vly_reading_open(NAME, VLY_READ_STREAM, &file, &error),
                  error);
        assert_int_equal(vly_reading_most(file), UINT64_MAX);
        assert_ok(
            vly_reading_whole(file, NAME, "a text", n, &bytes, &got, &error),
            error);
        assert_int_equal(got, n);
        assert_memory_equal(bytes, text, n);
        assert_int_equal(bytes[n], 0);
        vly_free(bytes);
        bytes = NULL;
        rewind(file);
        if (n > 0) {
            assert_int_equal(vly_reading_whole(file, NAME, "a text", n - 1,
                                               &bytes, &got, &error),
                             VLY_E_PARSE);
            assert_null(bytes);
            assert_non_null(strstr(error.message, "wanted a text of at most"));
        }
        fclose(file);
        vly_free(text);
    }
}

/* A hole of a terabyte is a file, too. */
static void test_hole(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    char *bytes = NULL;
    size_t got = 0;
    vly_lines lines = {.path = NAME, .most = 4096};
    write_text("", 0);
    if (truncate(NAME, (off_t)1 << 40) != 0)
        skip();
    assert_ok(vly_reading_open(NAME, VLY_READ_FILE, &lines.file, &error),
              error);
    assert_int_equal(vly_reading_whole(lines.file, NAME, "a text", 1 << 20,
                                       &bytes, &got, &error),
                     VLY_E_PARSE);
    rewind(lines.file);
    assert_int_equal(vly_lines_next(&lines, &error), VLY_E_PARSE);
    assert_string_equal(error.message,
                        NAME ":1: a line of more than 4096 bytes, wanted "
                             "shorter ones");
    fclose(lines.file);
    vly_lines_deinit(&lines);
    unlink(NAME);
}

static void test_lines(void **state)
{
    (void)state;
    static const char text[] = "\n12345\n123456\r\n\0ab";
    vly_error error = VLY_ERROR_INIT;
    vly_lines lines = {.path = NAME, .most = 8};
    static const struct {
        const char *text;
        size_t n;
    } wanted[] = {{"\n", 1}, {"12345\n", 6}, {"123456\r\n", 8}, {"\0ab", 3}};
    write_text(text, sizeof text - 1);
    assert_ok(vly_reading_open(NAME, VLY_READ_FILE, &lines.file, &error),
              error);
    for (uint32_t i = 0; i < 4; i++) {
        assert_ok(vly_lines_next(&lines, &error), error);
        assert_int_equal(lines.n, wanted[i].n);
        assert_int_equal(lines.number, i + 1);
        assert_memory_equal(lines.line, wanted[i].text, lines.n + 1);
    }
    assert_ok(vly_lines_next(&lines, &error), error);
    assert_int_equal(lines.n, 0);
    rewind(lines.file);
    lines.most = 7;
    lines.number = 0;
    assert_ok(vly_lines_next(&lines, &error), error);
    assert_ok(vly_lines_next(&lines, &error), error);
    assert_int_equal(vly_lines_next(&lines, &error), VLY_E_PARSE);
    fclose(lines.file);
    vly_lines_deinit(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds), cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_whole), cmocka_unit_test(test_hole),
        cmocka_unit_test(test_lines)};
    return cmocka_run_group_tests(tests, set_up, NULL) ? 1 : 0;
}
