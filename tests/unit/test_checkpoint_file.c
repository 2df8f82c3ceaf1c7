/* SPDX-License-Identifier: Apache-2.0
 * Where checkpoints lie: older ones kept, no room, no memory, another process,
 * a path that is no file. Whatever fails, the checkpoint that was there is
 * there.
 */
#include "engine_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/checkpoint.h"

static char folder[] = "/tmp/volley_checkpoint_XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[8][256];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* The burst of a checkpoint; -1: there is none. */
static int burst_of(const char *name)
{
    vly_error error = VLY_ERROR_INIT;
    vly_state *state = NULL;
    vly_state_info info = {.struct_size = sizeof info};
    if (access(path_of(name), F_OK) != 0)
        return -1;
    assert_ok(vly_state_load(path_of(name), &state, &error), error);
    assert_ok(vly_state_get_info(state, &info, &error), error);
    vly_state_destroy(state);
    return (int)info.bursts;
}

static uint32_t count_files(void)
{
    uint32_t n = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    while (readdir(entries) != NULL)
        n++;
    closedir(entries);
    return n - 2;
}

static void clean(void)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'/*", folder);
    assert_int_equal(system(command), 0);
}

/* Runs to burst and saves. */
static void save_at(fixture *f, vly_net *net, uint64_t burst, uint32_t keep)
{
    vly_checkpoint checkpoint = {0};
    assert_ok(vly_net_run(net, burst - vly_net_burst(net), &f->error),
              f->error);
    assert_ok(vly_net_snapshot(net, &checkpoint.state, &f->error), f->error);
    assert_ok(
        vly_checkpoint_save(&checkpoint, path_of("ck"), keep, NULL, &f->error),
        f->error);
    vly_state_destroy(checkpoint.state);
}

static void older_ones(void **unused)
{
    fixture f;
    (void)unused;
    fixture_init(&f, genome_three);
    for (uint32_t keep = 1; keep <= 4; keep++) {
        clean();
        vly_net *net = fixture_net(&f, "cpu:1");
        for (int at = 1; at <= 7; at++) {
            save_at(&f, net, (uint64_t)at, keep);
            int kept = at < (int)keep ? at : (int)keep;
            assert_int_equal(count_files(), kept);
            assert_int_equal(burst_of("ck"), at);
            for (int k = 1; k < kept; k++) {
                char name[16];
                snprintf(name, sizeof name, "ck.%d", k);
                assert_int_equal(burst_of(name), at - k);
            }
        }
        /* killed between the two steps: the same file under two names */
        if (keep >= 2) {
            unlink(path_of("ck.1"));
            assert_int_equal(link(path_of("ck"), path_of("ck.1")), 0);
            save_at(&f, net, 8, keep);
            assert_int_equal(burst_of("ck"), 8);
            assert_int_equal(burst_of("ck.1"), 7);
            assert_int_equal(burst_of("ck.2"), keep > 2 ? 5 : -1);
        }
        vly_net_destroy(net);
    }
    clean();
    fixture_deinit(&f);
}

/* A file of a killed process is replaced. */
static void left_behind(void **unused)
{
    fixture f;
    (void)unused;
    fixture_init(&f, genome_three);
    vly_net *net = fixture_net(&f, "cpu:1");
    FILE *file = fopen(path_of("ck.tmp"), "w");
    assert_non_null(file);
    for (int i = 0; i < 100000; i++)
        fputs("half a file ", file);
    fclose(file);
    save_at(&f, net, 3, 1);
    assert_int_equal(burst_of("ck"), 3);
    assert_int_equal(count_files(), 1);
    vly_net_destroy(net);
    clean();
    fixture_deinit(&f);
}

static void fails(fixture *f, const vly_state *state, const char *path,
                  vly_status wanted, const char *text)
{
    assert_fails(vly_state_save(state, path, &f->error), wanted, &f->error,
                 text);
    if (strstr(f->error.message, path) == NULL)
        fail_msg("%s: no %s in it", f->error.message, path);
}

static void no_file(void **unused)
{
    fixture f;
    vly_state *state = NULL;
    (void)unused;
    fixture_init(&f, genome_three);
    vly_net *net = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_snapshot(net, &state, &f.error), f.error);
    fails(&f, state, folder, VLY_E_INVALID, "not a file");
    fails(&f, state, "/dev/full", VLY_E_INVALID, "not a file");
    assert_int_equal(access("/dev/full.tmp", F_OK), -1);
    fails(&f, state, path_of("no/folder"), VLY_E_IO, "No such file");
    assert_fails(vly_state_save(state, NULL, &f.error), VLY_E_INVALID, &f.error,
                 "NULL");
    /* a link leads to its file as before */
    assert_int_equal(symlink("real", path_of("link")), 0);
    fails(&f, state, path_of("link"), VLY_E_IO, "link");
    save_at(&f, net, 2, 1);
    assert_int_equal(rename(path_of("ck"), path_of("real")), 0);
    assert_ok(vly_state_save(state, path_of("link"), &f.error), f.error);
    assert_int_equal(burst_of("real"), 0);
    assert_int_equal(count_files(), 2);
    /* another process is at it */
    int file = open(path_of("ck.tmp"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    assert_int_equal(flock(file, LOCK_EX), 0);
    fails(&f, state, path_of("ck"), VLY_E_IO, "another process");
    assert_int_equal(access(path_of("ck.tmp"), F_OK), 0);
    close(file);
    assert_ok(vly_state_save(state, path_of("ck"), &f.error), f.error);
    vly_state_destroy(state);
    vly_net_destroy(net);
    clean();
    fixture_deinit(&f);
}

/* Files of at most n bytes: every later write fails, as on a full disk.
 */
static void no_room(void **unused)
{
    fixture f;
    struct rlimit limit;
    vly_checkpoint checkpoint = {0};
    (void)unused;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    save_at(&f, net, 5, 3);
    struct stat info;
    assert_int_equal(stat(path_of("ck"), &info), 0);
    assert_ok(vly_net_run(net, 20, &f.error), f.error);
    assert_ok(vly_net_snapshot(net, &checkpoint.state, &f.error), f.error);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    rlim_t kept = limit.rlim_cur;
    for (rlim_t n = 0; n < (rlim_t)info.st_size; n += 97) {
        limit.rlim_cur = n;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        vly_status status =
            vly_checkpoint_save(&checkpoint, path_of("ck"), 3, NULL, &f.error);
        limit.rlim_cur = kept;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        assert_fails(status, VLY_E_IO, &f.error, "File too large");
        assert_int_equal(burst_of("ck"), 5);
        assert_int_equal(count_files(), 1);
    }
    vly_state_destroy(checkpoint.state);
    vly_net_destroy(net);
    clean();
    fixture_deinit(&f);
}

/* The n-th allocation fails: nothing is left, and the old file is. */
static void no_memory(void **unused)
{
    fixture f;
    vly_state *state = NULL;
    (void)unused;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    save_at(&f, net, 5, 1);
    assert_ok(vly_net_set(net, "area.F.postsynaptic_current", 2, &f.error),
              f.error);
    assert_ok(vly_net_run(net, 1, &f.error), f.error);
    assert_ok(vly_net_snapshot(net, &state, &f.error), f.error);
    uint64_t live = vly_memory_live();
    uint64_t left = 0;
    for (uint64_t n = 1; left == 0; n++) {
        vly_memory_fail_at(n);
        vly_status status = vly_state_save(state, path_of("ck"), &f.error);
        left = vly_memory_fail_at(0);
        assert_int_equal(status, left == 0 ? VLY_E_NOMEM : VLY_OK);
        assert_int_equal(vly_memory_live(), live);
        assert_int_equal(burst_of("ck"), left == 0 ? 5 : 6);
        assert_int_equal(count_files(), 1);
    }
    left = 0;
    for (uint64_t n = 1; left == 0; n++) {
        vly_state *read = NULL;
        vly_memory_fail_at(n);
        vly_status status = vly_state_load(path_of("ck"), &read, &f.error);
        left = vly_memory_fail_at(0);
        assert_int_equal(status, left == 0 ? VLY_E_NOMEM : VLY_OK);
        vly_state_destroy(read);
        assert_int_equal(vly_memory_live(), live);
    }
    left = 0;
    for (uint64_t n = 1; left == 0; n++) {
        vly_net *again = NULL;
        vly_memory_fail_at(n);
        vly_status status = vly_net_resume(f.connectome, f.registry, "cpu:1", 1,
                                           state, &again, &f.error);
        left = vly_memory_fail_at(0);
        assert_int_equal(status, left == 0 ? VLY_E_NOMEM : VLY_OK);
        vly_net_destroy(again);
        assert_int_equal(vly_memory_live(), live);
    }
    vly_state_destroy(state);
    vly_net_destroy(net);
    clean();
    fixture_deinit(&f);
}

/* More than a block and than what the threads of zstd begin with: values that
 * do not compress, and others that compress as well as anything can. */
static void large(void **unused)
{
    static const char *const starts[] = {"v_mv = { uniform = [-65, -50] }\n",
                                         "v_mv = -60\n"};
    (void)unused;
    for (int i = 0; i < 2; i++) {
        fixture f;
        char text[300];
        vly_state *kept = NULL;
        vly_state *read = NULL;
        struct stat info;
        snprintf(text, sizeof text,
                 "format = 1\n[run]\ndt_ms = 0.1\nbursts = 1\n[area.N]\n"
                 "model = \"lif_psc_delta\"\nneurons = 1500000\n%s",
                 starts[i]);
        fixture_init(&f, text);
        vly_net *net = fixture_net(&f, "cpu:1");
        assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
        vly_net_destroy(net);
        assert_ok(vly_state_save(kept, path_of("ck"), &f.error), f.error);
        assert_ok(vly_state_load(path_of("ck"), &read, &f.error), f.error);
        size_t n_bytes = (size_t)kept->snapshot.n_state_words * 4;
        assert_true(n_bytes > (8 << 20));
        assert_int_equal(read->snapshot.n_state_words,
                         kept->snapshot.n_state_words);
        assert_memory_equal(read->snapshot.state, kept->snapshot.state,
                            n_bytes);
        assert_int_equal(stat(path_of("ck"), &info), 0);
        if (i == 0)
            assert_true(info.st_size > (2 << 20)); /* several blocks */
        else
            assert_true(info.st_size < 100000);
        vly_state_destroy(kept);
        vly_state_destroy(read);
        fixture_deinit(&f);
    }
    clean();
}

static void tails(void **unused)
{
    vly_error error = VLY_ERROR_INIT;
    vly_hash a = {{0, 0}};
    vly_hash b = {{0, 0}};
    const char *path = path_of("rows");
    FILE *file = fopen(path, "w");
    (void)unused;
    assert_non_null(file);
    for (int i = 0; i < 3000; i++)
        fprintf(file, "%d,row\n", i);
    fclose(file);
    assert_ok(vly_recording_read_tail(path, 9000, true, &a, &error), error);
    assert_ok(vly_recording_read_tail(path, 9000, false, &b, &error), error);
    assert_memory_equal(&a, &b, sizeof a);
    assert_ok(vly_recording_read_tail(path, 9001, false, &b, &error), error);
    assert_memory_not_equal(&a, &b, sizeof a);
    assert_ok(vly_recording_read_tail(path, 0, false, &b, &error), error);
    assert_fails(vly_recording_read_tail(path, 1000000, false, &b, &error),
                 VLY_E_PARSE, &error, "goes on after 1000000");
    assert_fails(vly_recording_read_tail(folder, 0, false, &b, &error),
                 VLY_E_INVALID, &error, "not a regular file");
    assert_fails(vly_recording_read_tail(path_of("no"), 0, false, &b, &error),
                 VLY_E_IO, &error, "No such file");
    clean();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(older_ones), cmocka_unit_test(left_behind),
    cmocka_unit_test(no_file),    cmocka_unit_test(no_room),
    cmocka_unit_test(no_memory),  cmocka_unit_test(large),
    cmocka_unit_test(tails),
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
