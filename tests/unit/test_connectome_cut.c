/* SPDX-License-Identifier: Apache-2.0
 * A connectome whose file is overwritten or cut after it was read, or while.
 */
#include "volley_test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "connectome_builder.h"

static char path[] = VLY_TEST_BINARY_DIR "/cut_XXXXXX";

static unsigned char *slurp(size_t *n)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*n);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *n, file), *n);
    fclose(file);
    return bytes;
}

static void saves_as(const vly_connectome *connectome,
                     const unsigned char *bytes, size_t n)
{
    vly_error error = VLY_ERROR_INIT;
    size_t n_saved;
    assert_ok(vly_connectome_save(connectome, path, &error), error);
    unsigned char *saved = slurp(&n_saved);
    assert_int_equal(n_saved, n);
    assert_memory_equal(saved, bytes, n);
    free(saved);
}

/* Verified data stays valid, whatever happens to the file. */
static void cut_later(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    builder b;
    size_t n;
    vly_connectome *built = NULL;
    vly_connectome *loaded = NULL;
    builder_everything(&b);
    assert_ok(vly_connectome_build(&b.genome, 2, &built, &error), error);
    assert_ok(vly_connectome_save(built, path, &error), error);
    vly_connectome_destroy(built);
    unsigned char *bytes = slurp(&n);
    assert_ok(vly_connectome_load(path, 1, &loaded, &error), error);
    FILE *file = fopen(path, "r+b"); /* the same file, not another */
    assert_non_null(file);
    for (size_t i = 0; i < n; i++)
        fputc(0x55, file);
    fclose(file);
    saves_as(loaded, bytes, n);
    vly_connectome_destroy(loaded);
    assert_ok(vly_connectome_load(path, 1, &loaded, &error), error);
    assert_int_equal(truncate(path, 0), 0);
    saves_as(loaded, bytes, n);
    vly_connectome_destroy(loaded);
    free(bytes);
}

/* A file that ends before the size that it had when it was opened: those of
 * sysfs say 4096 bytes and have a few. */
static void cut_while_read(void **state)
{
    (void)state;
    static const char short_file[] = "/sys/devices/system/cpu/online";
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    struct stat info;
    if (stat(short_file, &info) != 0 || info.st_size < 4096) {
        printf("skipped: no %s of 4096 bytes here\n", short_file);
        skip();
    }
    assert_int_equal(vly_connectome_load(short_file, 1, &connectome, &error),
                     VLY_E_PARSE);
    assert_non_null(strstr(error.message, "could be read: cut meanwhile"));
    assert_null(connectome);
}

static int make_path(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 || close(file) != 0;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_later),
        cmocka_unit_test(cut_while_read),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path) ? 1 : 0;
}
