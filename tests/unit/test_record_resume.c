/* SPDX-License-Identifier: Apache-2.0
 * Recordings that go on: cut to a place wherever they ended, they become what
 * they would have become anyway, to the byte.
 */
#include "volley_test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/writer.h"
#include "record/digest_log.h"
#include "record/spike_csv.h"

static char folder[] = "/tmp/volley_resume_XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[8][256];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static size_t read_all(const char *path, char *text, size_t n)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t got = fread(text, 1, n - 1, file);
    text[got] = '\0';
    fclose(file);
    return got;
}

static void write_part(const char *path, const char *text, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    fclose(file);
}

static const vly_spike_area areas[] = {{"A", 0, 2, true}, {"B", 2, 3, true}};

static void add_spikes(vly_spike_csv *csv, uint64_t from, uint64_t to)
{
    vly_error error = VLY_ERROR_INIT;
    for (uint64_t t = from; t < to; t++) {
        const uint32_t ids[] = {(uint32_t)(t % 2), 2 + (uint32_t)(t % 3)};
        assert_ok(vly_spike_csv_add(csv, t, ids, 2, &error), error);
    }
}

static void add_digests(vly_digest_log *log, uint64_t from, uint64_t to)
{
    vly_error error = VLY_ERROR_INIT;
    for (uint64_t t = from; t < to; t++)
        assert_ok(vly_digest_log_add(log, t, t * t + 1, t, &error), error);
}

static void csv_goes_on(void **state)
{
    char whole[4096];
    char part[4096];
    vly_error error = VLY_ERROR_INIT;
    vly_spike_csv *csv = NULL;
    vly_spike_place place = {0};
    const char *path = path_of("x.csv");
    (void)state;
    assert_ok(vly_spike_csv_open(path, areas, 2, 0.1, &csv, &error), error);
    add_spikes(csv, 0, 12);
    assert_ok(vly_spike_csv_flush(csv, &place, &error), error);
    assert_int_equal(place.n_spikes, 24);
    add_spikes(csv, 12, 20);
    assert_ok(vly_spike_csv_close(csv, &error), error);
    size_t n = read_all(path, whole, sizeof whole);
    assert_in_range(place.n_bytes, 100, n - 100);
    /* wherever it was cut, and if it was not */
    for (size_t cut = (size_t)place.n_bytes; cut <= n; cut++) {
        write_part(path, whole, cut);
        assert_ok(
            vly_spike_csv_resume(path, areas, 2, 0.1, &place, &csv, &error),
            error);
        assert_int_equal(vly_spike_csv_count(csv), 24);
        add_spikes(csv, 12, 20);
        assert_ok(vly_spike_csv_close(csv, &error), error);
        assert_int_equal(read_all(path, part, sizeof part), n);
        assert_string_equal(part, whole);
    }
    /* before the place: refused, and not touched */
    size_t less = (size_t)place.n_bytes - 1;
    write_part(path, whole, less);
    assert_int_equal(
        vly_spike_csv_resume(path, areas, 2, 0.1, &place, &csv, &error),
        VLY_E_PARSE);
    assert_non_null(strstr(error.message, "wanted at least"));
    assert_int_equal(read_all(path, part, sizeof part), less);
}

static void log_goes_on(void **state)
{
    char whole[8192];
    char part[8192];
    vly_error error = VLY_ERROR_INIT;
    vly_digest_log *log = NULL;
    vly_digest_place place = {0};
    vly_digest_header header = {.dt_ms = 0.1, .backend = "cpu:2"};
    const char *path = path_of("x.log");
    (void)state;
    assert_ok(vly_digest_log_open(path, &header, &log, &error), error);
    add_digests(log, 0, 30);
    assert_ok(vly_digest_log_flush(log, &place, &error), error);
    add_digests(log, 30, 50);
    assert_ok(vly_digest_log_close(log, &error), error);
    size_t n = read_all(path, whole, sizeof whole);
    for (size_t cut = (size_t)place.n_bytes; cut <= n; cut += 7) {
        write_part(path, whole, cut);
        assert_ok(vly_digest_log_resume(path, &place, &log, &error), error);
        add_digests(log, 30, 50);
        assert_ok(vly_digest_log_close(log, &error), error);
        assert_int_equal(read_all(path, part, sizeof part), n);
        assert_string_equal(part, whole);
    }
}

/* The same while they are open, with much behind the place. */
static void back_to_a_place(void **state)
{
    static char whole[200000];
    static char part[200000];
    vly_error error = VLY_ERROR_INIT;
    vly_spike_csv *csv = NULL;
    vly_digest_log *log = NULL;
    vly_spike_place spikes = {0};
    vly_digest_place digests = {0};
    vly_digest_header header = {.dt_ms = 1, .backend = "cpu"};
    (void)state;
    for (int round = 0; round < 2; round++) {
        const char *path = path_of(round == 0 ? "whole" : "part");
        const char *path_log = path_of(round == 0 ? "whole.log" : "part.log");
        assert_ok(vly_spike_csv_open(path, areas, 2, 1, &csv, &error), error);
        assert_ok(vly_digest_log_open(path_log, &header, &log, &error), error);
        add_spikes(csv, 0, 500);
        add_digests(log, 0, 300);
        assert_ok(vly_spike_csv_flush(csv, &spikes, &error), error);
        assert_ok(vly_digest_log_flush(log, &digests, &error), error);
        for (int again = 0; again < 2 * round; again++) {
            add_spikes(csv, 77, 5000);
            add_digests(log, 3, 2000);
            assert_ok(vly_spike_csv_rewind(csv, &spikes, &error), error);
            assert_ok(vly_digest_log_rewind(log, &digests, &error), error);
        }
        add_spikes(csv, 500, 3000);
        add_digests(log, 300, 2000);
        assert_int_equal(vly_spike_csv_count(csv), 6000);
        assert_ok(vly_spike_csv_close(csv, &error), error);
        assert_ok(vly_digest_log_close(log, &error), error);
    }
    assert_in_range(read_all(path_of("whole"), whole, sizeof whole), 70000,
                    sizeof whole - 2);
    read_all(path_of("part"), part, sizeof part);
    assert_string_equal(part, whole);
    read_all(path_of("whole.log"), whole, sizeof whole);
    read_all(path_of("part.log"), part, sizeof part);
    assert_string_equal(part, whole);
}

static void no_file(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    vly_writer *writer = NULL;
    (void)state;
    assert_int_equal(vly_writer_resume(path_of("none"), 0, &writer, &error),
                     VLY_E_IO);
    assert_non_null(strstr(error.message, "No such file"));
    assert_int_equal(access(path_of("none"), F_OK), -1);
    assert_int_equal(vly_writer_resume(folder, 0, &writer, &error), VLY_E_IO);
    assert_int_equal(vly_writer_resume("/dev/null", 0, &writer, &error),
                     VLY_E_INVALID);
    assert_int_equal(vly_writer_resume("-", 0, &writer, &error), VLY_E_INVALID);
    assert_null(writer);
    assert_ok(vly_writer_open(path_of("x"), false, &writer, &error), error);
    assert_ok(vly_writer_text(writer, "0123456789", &error), error);
    assert_int_equal(vly_writer_tell(writer), 10);
    assert_int_equal(vly_writer_rewind(writer, 11, &error), VLY_E_PARSE);
    assert_ok(vly_writer_rewind(writer, 4, &error), error);
    assert_int_equal(vly_writer_tell(writer), 4);
    assert_ok(vly_writer_close(writer, &error), error);
}

static void no_memory(void **state)
{
    char text[64];
    vly_error error = VLY_ERROR_INIT;
    vly_spike_csv *csv = NULL;
    vly_spike_place place = {.n_bytes = 3};
    const char *path = path_of("kept");
    (void)state;
    uint64_t live = vly_memory_live();
    uint64_t left = 0;
    for (uint64_t n = 1; left == 0; n++) {
        write_part(path, "12345", 5);
        vly_memory_fail_at(n);
        vly_status status =
            vly_spike_csv_resume(path, areas, 2, 1, &place, &csv, &error);
        left = vly_memory_fail_at(0);
        assert_int_equal(status, left == 0 ? VLY_E_NOMEM : VLY_OK);
        read_all(path, text, sizeof text);
        assert_string_equal(text, "12345"); /* cut by the first bytes */
        if (left == 0)
            assert_int_equal(vly_memory_live(), live);
    }
    assert_ok(vly_spike_csv_close(csv, &error), error);
    read_all(path, text, sizeof text);
    assert_string_equal(text, "123");
    assert_int_equal(vly_memory_live(), live);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(csv_goes_on),     cmocka_unit_test(log_goes_on),
    cmocka_unit_test(back_to_a_place), cmocka_unit_test(no_file),
    cmocka_unit_test(no_memory),
};

int main(void)
{
    char command[300];
    if (mkdtemp(folder) == NULL)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || failed ? 1 : 0;
}
