/* SPDX-License-Identifier: Apache-2.0
 * Files that a run leaves: nothing half written, no error lost.
 */
#include "volley_test.h"

#include <volley/record.h>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/writer.h"
#include "record/digest_log.h"
#include "record/spike_csv.h"

static char folder[] = "/tmp/volley_record_XXXXXX";
static char path_text[256];

static const char *path_of(const char *name)
{
    snprintf(path_text, sizeof path_text, "%s/%s", folder, name);
    return path_text;
}

static void read_all(const char *path, char *text, size_t n)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, n - 1, file)] = '\0';
    fclose(file);
}

static uint32_t count_files(void)
{
    uint32_t n = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (const struct dirent *e; (e = readdir(entries)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(entries);
    return n;
}

static void test_writer_replaces(void **state)
{
    (void)state;
    char text[64];
    vly_error error = VLY_ERROR_INIT;
    const char *path = path_of("whole");
    vly_writer *writer = NULL;
    assert_ok(vly_writer_save(path, "old", 3, &error), error);
    assert_ok(vly_writer_open(path, true, &writer, &error), error);
    assert_ok(vly_writer_text(writer, "new", &error), error);
    assert_ok(vly_writer_flush(writer, &error), error);
    read_all(path, text, sizeof text); /* until it is closed */
    assert_string_equal(text, "old");
    assert_ok(vly_writer_close(writer, &error), error);
    read_all(path, text, sizeof text);
    assert_string_equal(text, "new");
    uint32_t before = count_files();
    assert_ok(vly_writer_open(path, true, &writer, &error), error);
    vly_writer_text(writer, "never", NULL);
    vly_writer_abandon(writer);
    read_all(path, text, sizeof text);
    assert_string_equal(text, "new");
    assert_int_equal(count_files(), before);
}

static void test_writer_long(void **state)
{
    (void)state;
    enum { N = 300000 };
    vly_error error = VLY_ERROR_INIT;
    const char *path = path_of("long");
    vly_writer *writer = NULL;
    struct stat info;
    char *bytes = calloc(N, 1);
    assert_non_null(bytes);
    assert_ok(vly_writer_open(path, false, &writer, &error), error);
    assert_ok(vly_writer_text(writer, "head", &error), error);
    assert_ok(vly_writer_bytes(writer, bytes, N, &error), error);
    assert_ok(vly_writer_text(writer, "tail", &error), error);
    assert_ok(vly_writer_close(writer, &error), error);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, N + 8);
    free(bytes);
}

static void test_writer_errors(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_writer *writer = NULL;
    assert_int_equal(
        vly_writer_open("/no/such/folder/x", true, &writer, &error), VLY_E_IO);
    assert_non_null(strstr(error.message, "/no/such/folder/x: cannot be"));
    if (access("/dev/full", W_OK) != 0)
        return;
    /* replace has no sense for a device: written directly, found at close */
    assert_ok(vly_writer_open("/dev/full", true, &writer, &error), error);
    assert_ok(vly_writer_text(writer, "x", &error), error);
    assert_int_equal(vly_writer_flush(writer, &error), VLY_E_IO);
    assert_int_equal(vly_writer_text(writer, "y", &error), VLY_E_IO);
    error.message[0] = '\0';
    assert_int_equal(vly_writer_close(writer, &error), VLY_E_IO);
    assert_non_null(strstr(error.message, "/dev/full: cannot be written: No"));
}

static void *look_and_leave(void *arg)
{
    poll(NULL, 0, 30);
    flock(*(int *)arg, LOCK_UN);
    return NULL;
}

/* A process that holds a file during the opening keeps it; a process that only
 * checks it briefly does not. The thread may be late on a busy machine, but not
 * ten times. */
static void test_writer_locks(void **state)
{
    (void)state;
    char text[64];
    vly_error error = VLY_ERROR_INIT;
    const char *path = path_of("locked");
    vly_writer *writer = NULL;
    vly_writer *second = NULL;
    assert_ok(vly_writer_open(path, false, &writer, &error), error);
    assert_ok(vly_writer_text(writer, "first", &error), error);
    assert_ok(vly_writer_flush(writer, &error), error);
    assert_int_equal(vly_writer_open(path, false, &second, &error), VLY_E_IO);
    assert_non_null(strstr(error.message, "another process writes it"));
    assert_int_equal(vly_writer_resume(path, 2, &second, &error), VLY_E_IO);
    assert_non_null(strstr(error.message, "another process writes it"));
    assert_null(second);
    assert_ok(vly_writer_close(writer, &error), error);
    read_all(path, text, sizeof text);
    assert_string_equal(text, "first");
    vly_status status = VLY_E_IO;
    for (int i = 0; i < 10 && status != VLY_OK; i++) {
        pthread_t thread;
        int fd = open(path, O_RDONLY);
        assert_int_equal(flock(fd, LOCK_SH), 0);
        assert_int_equal(pthread_create(&thread, NULL, look_and_leave, &fd), 0);
        status = vly_writer_resume(path, 2, &second, &error);
        pthread_join(thread, NULL);
        close(fd);
    }
    assert_int_equal(status, VLY_OK);
    assert_ok(vly_writer_close(second, &error), error);
    read_all(path, text, sizeof text);
    assert_string_equal(text, "fi");
    unlink(path);
}

/* Opened and abandoned, as by a run that is refused: a file that was there is
 * as it was, one that was made is gone; a link keeps leading to its file. */
static void test_writer_abandon(void **state)
{
    (void)state;
    char text[64];
    vly_error error = VLY_ERROR_INIT;
    vly_writer *writer = NULL;
    char path[256];
    char made[256];
    char leads[256];
    snprintf(path, sizeof path, "%s/was", folder);
    snprintf(made, sizeof made, "%s/made", folder);
    snprintf(leads, sizeof leads, "%s/leads", folder);
    assert_ok(vly_writer_save(path, "before", 6, &error), error);
    for (int k = 0; k < 3; k++) {
        if (k < 2)
            assert_ok(vly_writer_open(path, k == 1, &writer, &error), error);
        else
            assert_ok(vly_writer_resume(path, 2, &writer, &error), error);
        assert_ok(vly_writer_text(writer, "after", &error), error);
        if (k == 2) { /* by what owns it */
            vly_writer_cancel(writer);
            assert_ok(vly_writer_flush(writer, &error), error);
            assert_ok(vly_writer_close(writer, &error), error);
        } else {
            vly_writer_abandon(writer);
        }
        read_all(path, text, sizeof text);
        assert_string_equal(text, "before");
    }
    /* also with more than the buffer holds */
    static char many[200000];
    memset(many, 'm', sizeof many - 1);
    assert_ok(vly_writer_open(path, false, &writer, &error), error);
    assert_ok(vly_writer_text(writer, "first ", &error), error);
    assert_ok(vly_writer_text(writer, many, &error), error);
    vly_writer_abandon(writer);
    read_all(path, text, sizeof text);
    assert_string_equal(text, "before");
    assert_ok(vly_writer_open(path, false, &writer, &error), error);
    assert_ok(vly_writer_text(writer, "first ", &error), error);
    assert_ok(vly_writer_text(writer, many, &error), error);
    assert_ok(vly_writer_text(writer, " last", &error), error);
    assert_int_equal(vly_writer_tell(writer), 6 + sizeof many - 1 + 5);
    assert_ok(vly_writer_close(writer, &error), error);
    static char whole[300000];
    read_all(path, whole, sizeof whole);
    assert_int_equal(strlen(whole), 6 + sizeof many - 1 + 5);
    assert_memory_equal(whole, "first mmm", 9);
    assert_string_equal(whole + 6 + sizeof many - 1, " last");
    assert_ok(vly_writer_open(made, false, &writer, &error), error);
    assert_int_equal(access(made, F_OK), 0);
    vly_writer_abandon(writer);
    assert_int_equal(access(made, F_OK), -1);
    /* through a link that leads nowhere yet */
    assert_int_equal(symlink("made", leads), 0);
    assert_ok(vly_writer_open(leads, false, &writer, &error), error);
    assert_int_equal(access(made, F_OK), 0);
    vly_writer_abandon(writer);
    assert_int_equal(access(made, F_OK), -1);
    assert_ok(vly_writer_open(leads, false, &writer, &error), error);
    assert_ok(vly_writer_close(writer, &error), error);
    assert_int_equal(access(made, F_OK), 0); /* empty, and there */
    unlink(leads);
    unlink(made);
    unlink(path);
}

static void test_csv(void **state)
{
    (void)state;
    char text[512];
    vly_error error = VLY_ERROR_INIT;
    vly_spike_csv *csv = NULL;
    const char *path = path_of("spikes.csv");
    const vly_spike_area areas[] = {
        {"A", 0, 2, true}, {"B", 2, 3, false}, {"a \"b\", c", 5, 2, true}};
    const uint32_t ids[] = {1, 2, 4, 6};
    const uint32_t outside[] = {7};
    assert_ok(vly_spike_csv_open(path, areas, 3, 0.1, &csv, &error), error);
    assert_ok(vly_spike_csv_add(csv, 2, ids, 4, &error), error);
    assert_ok(vly_spike_csv_add(csv, 3, NULL, 0, &error), error);
    assert_ok(vly_spike_csv_add(csv, 4294967295999, ids, 1, &error), error);
    assert_int_equal(vly_spike_csv_add(csv, 5, outside, 1, &error),
                     VLY_E_INVALID);
    assert_int_equal(vly_spike_csv_count(csv), 3);
    assert_ok(vly_spike_csv_close(csv, &error), error);
    read_all(path, text, sizeof text);
    assert_string_equal(text, "burst,time_ms,area,neuron\n"
                              "2,0.3,A,1\n"
                              "2,0.3,\"a \"\"b\"\", c\",1\n"
                              "4294967295999,429496729600,A,1\n");
}

static void make_log(const char *path, uint64_t n_bursts)
{
    vly_error error = VLY_ERROR_INIT;
    vly_digest_log *log = NULL;
    vly_digest_header header = {.genome_hash = {{1, 2}},
                                .connectome_hash = {{3, UINT64_MAX}},
                                .dt_ms = 0.1,
                                .n_neurons = 5,
                                .n_synapses = 1ull << 40,
                                .backend = "cpu:2"};
    assert_ok(vly_digest_log_open(path, &header, &log, &error), error);
    for (uint64_t t = 0; t < n_bursts; t++)
        assert_ok(vly_digest_log_add(log, t, t * t + 1, t, &error), error);
    assert_ok(vly_digest_log_close(log, &error), error);
}

static void test_digest_log(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_digest_reader *reader = NULL;
    vly_digest_info info = {.struct_size = sizeof info};
    vly_digest_entry entry = {.struct_size = sizeof entry};
    int more = 1;
    uint64_t run_digest = 0;
    const char *path = path_of("log");
    make_log(path, 100);
    assert_ok(vly_digest_reader_open(path, &reader, &error), error);
    assert_int_equal(vly_digest_reader_info(reader, &info), VLY_OK);
    assert_int_equal(info.genome_hash[1], 2);
    assert_int_equal(info.connectome_hash[1], UINT64_MAX);
    assert_int_equal(info.n_synapses, 1ull << 40);
    assert_string_equal(info.backend, "cpu:2");
    for (uint64_t t = 0; t < 100; t++) {
        assert_ok(vly_digest_reader_next(reader, &entry, &more, &error), error);
        run_digest = vly_mix64(run_digest ^ (t * t + 1));
        assert_true(more);
        assert_int_equal(entry.burst, t);
        assert_int_equal(entry.n_spikes, t);
        assert_int_equal(entry.run_digest, run_digest);
    }
    assert_ok(vly_digest_reader_next(reader, &entry, &more, &error), error);
    assert_false(more);
    vly_digest_reader_close(reader);
}

/* A byte of a log changed anywhere is refused or read, never a crash; in the
 * digests of a line it is always refused. */
static void test_digest_log_damage(void **state)
{
    (void)state;
    char text[2048];
    uint32_t refused = 0;
    uint32_t wanted = 0;
    make_log(path_of("log"), 10);
    read_all(path_of("log"), text, sizeof text);
    const char *body = strstr(text, "\n0 ") + 1;
    for (size_t i = 0; text[i] != '\0'; i++) {
        vly_error error = VLY_ERROR_INIT;
        vly_digest_reader *reader = NULL;
        vly_digest_entry entry = {.struct_size = sizeof entry};
        int more = 1;
        char before = text[i];
        text[i] = before == '7' ? '8' : '7';
        FILE *file = fopen(path_of("damaged"), "wb");
        assert_non_null(file);
        fputs(text, file);
        fclose(file);
        vly_status status =
            vly_digest_reader_open(path_of("damaged"), &reader, &error);
        while (status == VLY_OK && more)
            status = vly_digest_reader_next(reader, &entry, &more, &error);
        vly_digest_reader_close(reader);
        bool last = strchr(text + i, '\n') != NULL; /* in a digest */
        size_t column = (size_t)(&text[i] - body) % 38;
        if (&text[i] >= body && last && column >= 2 && column < 35) {
            wanted++;
            refused += status == VLY_E_PARSE;
        }
        text[i] = before;
    }
    assert_true(wanted > 300);
    assert_int_equal(refused, wanted);
}

static vly_status write_csv(vly_error *error)
{
    const vly_spike_area areas[] = {{"A", 0, 2, true}, {"B", 2, 3, true}};
    const uint32_t ids[] = {1, 4};
    vly_spike_csv *csv = NULL;
    vly_status status =
        vly_spike_csv_open(path_of("x"), areas, 2, 1.0, &csv, error);
    if (status != VLY_OK) {
        assert_null(csv);
        return status;
    }
    assert_ok(vly_spike_csv_add(csv, 3, ids, 2, error), *error);
    return vly_spike_csv_close(csv, error);
}

static vly_status write_log(vly_error *error)
{
    vly_digest_log *log = NULL;
    vly_digest_header header = {.dt_ms = 1, .backend = "cpu"};
    vly_status status = vly_digest_log_open(path_of("x"), &header, &log, error);
    if (status != VLY_OK) {
        assert_null(log);
        return status;
    }
    assert_ok(vly_digest_log_add(log, 0, 1, 1, error), *error);
    return vly_digest_log_close(log, error);
}

static vly_status read_log(vly_error *error)
{
    vly_digest_reader *reader = NULL;
    vly_status status = vly_digest_reader_open(path_of("log"), &reader, error);
    if (status == VLY_OK)
        vly_digest_reader_close(reader);
    else
        assert_null(reader);
    return status;
}

static vly_status save_whole(vly_error *error)
{
    return vly_writer_save(path_of("kept"), "new", 3, error);
}

/* The first, second, third ... allocation fails: a status, a sentence with
 * bytes, nothing kept, and what was there before is still there. */
static void test_no_memory(void **state)
{
    (void)state;
    static vly_status (*const steps[])(vly_error * error) = {
        write_csv, write_log, read_log, save_whole};
    char text[16];
    vly_error error = VLY_ERROR_INIT;
    make_log(path_of("log"), 3);
    assert_ok(vly_writer_save(path_of("kept"), "old", 3, &error), error);
    uint64_t live = vly_memory_live();
    uint32_t n_files = count_files() + 1; /* x */
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        uint64_t left = 0;
        for (uint64_t n = 1; left == 0; n++) {
            vly_memory_fail_at(n);
            vly_status status = steps[k](&error);
            left = vly_memory_fail_at(0);
            assert_int_equal(status, left == 0 ? VLY_E_NOMEM : VLY_OK);
            if (left == 0) {
                assert_non_null(strstr(error.message, "out of memory"));
                assert_true(error.bytes_requested > 0);
            }
            assert_int_equal(vly_memory_live(), live);
            read_all(path_of("kept"), text, sizeof text);
            bool saved = steps[k] == save_whole && left != 0;
            assert_string_equal(text, saved ? "new" : "old");
        }
        assert_int_equal(count_files(), n_files);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writer_replaces),
        cmocka_unit_test(test_writer_long),
        cmocka_unit_test(test_writer_errors),
        cmocka_unit_test(test_writer_locks),
        cmocka_unit_test(test_writer_abandon),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_digest_log),
        cmocka_unit_test(test_digest_log_damage),
        cmocka_unit_test(test_no_memory),
    };
    char command[300];
    if (mkdtemp(folder) == NULL)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        return 1;
    return failed ? 1 : 0;
}
