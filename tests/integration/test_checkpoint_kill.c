/* SPDX-License-Identifier: Apache-2.0
 * test_checkpoint_kill [ROUNDS]: each round all genomes, and 30 kills in all.
 * Runs that are killed (SIGKILL) and resumed, again and again, until they are
 * done: the recorded spikes and the digest log are those of an undisturbed
 * run, to the byte. The moments are seeded: after a random time, once a
 * random number of bursts is in the log, and while a checkpoint is being
 * written or has just been renamed.
 */
#include "volley_test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <volley/volley.h>

#include "base/random.h"
#include "base/thread.h"

enum {
    KILLS_OF_A_ROUND = 30,
    KILLS_OF_A_KIND = 5, /* at least; more runs follow otherwise */
    KILLS_OF_A_RUN = 9,
    RUNS_MAX = 200
};
static uint32_t n_rounds = 2;
/* Long enough for some checkpoints, short enough for a test. */
static const uint64_t run_ns = 300000000;

static char folder[] = "/tmp/volley_kill_XXXXXX";

static const char *const genomes[] = {"core/conformance/nets/mixed.toml",
                                      "core/conformance/nets/windows.toml",
                                      "core/conformance/nets/delay_300.toml",
                                      "core/conformance/nets/feagi_driven.toml",
                                      "tests/golden/genome/memories.toml"};
enum { N_GENOMES = sizeof genomes / sizeof genomes[0] };

/* The recording of the undisturbed run of a genome. */
typedef struct reference {
    char path[512];
    char bursts[24];
    char every[24];
    char spikes[32];
    const char *run_spikes; /* of the disturbed one: CSV, or a stream */
    char log[32];
    uint64_t n_log_bytes;
    uint64_t ns;
} reference;

static uint32_t draw_next;
static uint32_t draw(uint32_t below)
{
    return vly_below(vly_philox_word(2024, draw_next++, 1, 1), below);
}

static pid_t start(const reference *of, const char *backend, const char *spikes,
                   const char *log, bool checkpoints, bool resume)
{
    const char *words[24] = {VLY_TEST_COMMAND, "run",          of->path,
                             "--quiet",        "--bursts",     of->bursts,
                             "--backend",      backend,        "--record",
                             spikes,           "--digest-log", log};
    int n = 12;
    if (checkpoints) {
        words[n++] = "--checkpoint";
        words[n++] = "ck";
        words[n++] = "--every";
        words[n++] = of->every;
        words[n++] = "--keep";
        words[n++] = "2";
    }
    if (resume) {
        words[n++] = "--resume";
        words[n++] = "ck";
    }
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int out = open("said", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        dup2(out, STDOUT_FILENO);
        dup2(out, STDERR_FILENO);
        char *argv[24]; /* execv takes no const */
        memcpy(argv, words, sizeof argv);
        execv(VLY_TEST_COMMAND, argv);
        _exit(127);
    }
    return child;
}

static void fail_with_words(const char *what, int status)
{
    char text[2000] = "";
    FILE *file = fopen("said", "r");
    if (file != NULL) {
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
    }
    fail_msg("%s: status 0x%x: %s", what, (unsigned)status, text);
}

/* Until the process ends. */
static void finish(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_with_words("a run that was to end", status);
}

static void make_reference(uint32_t g, reference *of)
{
    struct stat info;
    uint64_t bursts = 2000;
    snprintf(of->path, sizeof of->path, "%s/%s", VLY_TEST_SOURCE_DIR,
             genomes[g]);
    of->run_spikes = g % 2 == 0 ? "run.csv" : "run.vls";
    snprintf(of->spikes, sizeof of->spikes, "wanted%u%s", g,
             strrchr(of->run_spikes, '.'));
    snprintf(of->log, sizeof of->log, "wanted%u.log", g);
    do {
        bursts *= 2;
        snprintf(of->bursts, sizeof of->bursts, "%llu",
                 (unsigned long long)bursts);
        uint64_t begin = vly_clock_ns();
        finish(start(of, "cpu:1", of->spikes, of->log, false, false));
        of->ns = vly_clock_ns() - begin;
    } while (of->ns < run_ns && bursts < 1000000);
    snprintf(of->every, sizeof of->every, "%llu",
             (unsigned long long)bursts / 37);
    assert_int_equal(stat(of->spikes, &info), 0);
    assert_true(info.st_size > 1000); /* it fired */
    assert_int_equal(stat(of->log, &info), 0);
    of->n_log_bytes = (uint64_t)info.st_size;
}

/* ---- moments ----------------------------------------------------------- */

typedef enum moment {
    AFTER_TIME,
    AT_BURST,  /* the digest log has grown so far */
    IN_WRITE,  /* the temporary file is there */
    AT_RENAME, /* another file is the checkpoint */
    N_MOMENTS
} moment;

typedef struct waiting {
    moment kind;
    uint64_t end_ns;
    uint64_t n_bytes;
    uint32_t changes; /* of the checkpoint, still to be seen */
    ino_t inode;
} waiting;

static uint64_t size_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

static ino_t inode_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? info.st_ino : 0;
}

/* Every second time the kind that came least: not all are as likely to be met
 * before a run is done. */
static moment choose_kind(const uint32_t kills[N_MOMENTS])
{
    moment kind = (moment)draw(N_MOMENTS);
    if (draw(2) == 0)
        for (int k = 0; k < N_MOMENTS; k++)
            kind = kills[k] < kills[kind] ? (moment)k : kind;
    return kind;
}

static waiting choose_moment(const reference *of,
                             const uint32_t kills[N_MOMENTS])
{
    waiting made = {.kind = choose_kind(kills),
                    .end_ns = vly_clock_ns() +
                              of->ns * draw(1000) / 1500, /* at the latest */
                    .changes = 1 + draw(3),
                    .inode = inode_of("ck")};
    uint64_t done = size_of("run.log");
    uint64_t left = of->n_log_bytes > done ? of->n_log_bytes - done : 1;
    made.n_bytes = done + left * draw(1000) / 1000;
    if (made.kind != AFTER_TIME)
        made.end_ns = vly_clock_ns() + 4 * of->ns;
    return made;
}

static bool has_come(waiting *wait)
{
    ino_t inode;
    if (vly_clock_ns() >= wait->end_ns)
        return true;
    switch (wait->kind) {
    case AT_BURST:
        return size_of("run.log") >= wait->n_bytes;
    case IN_WRITE:
        return size_of("ck.tmp") > 0 && --wait->changes == 0;
    case AT_RENAME:
        inode = inode_of("ck");
        if (inode == wait->inode)
            return false;
        wait->inode = inode;
        return --wait->changes == 0;
    case AFTER_TIME:
    case N_MOMENTS:
        break;
    }
    return false;
}

/* True: killed; false: it was done before. */
static bool kill_at(pid_t child, waiting wait)
{
    int status = 0;
    while (!has_come(&wait)) {
        if (waitpid(child, &status, WNOHANG) == child)
            goto ended;
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
ended:
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return true;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_with_words("a run that was to be killed", status);
    return false;
}

/* ---- one run ----------------------------------------------------------- */

static void same_file(const char *found, const char *wanted)
{
    FILE *a = fopen(found, "rb");
    FILE *b = fopen(wanted, "rb");
    static char x[65536];
    static char y[65536];
    uint64_t at = 0;
    assert_non_null(a);
    assert_non_null(b);
    for (size_t n = 1; n > 0; at += n) {
        n = fread(x, 1, sizeof x, a);
        size_t m = fread(y, 1, sizeof y, b);
        if (n != m || memcmp(x, y, n) != 0)
            fail_msg("%s differs from %s behind byte %llu", found, wanted,
                     (unsigned long long)at);
    }
    fclose(a);
    fclose(b);
}

/* Killed and resumed until it is done; how often it was killed. */
static uint32_t disturbed_run(const reference *of, uint32_t kills[N_MOMENTS])
{
    uint32_t n_kills = 0;
    unlink("ck");
    unlink("ck.1");
    unlink(of->run_spikes);
    unlink("run.log");
    for (;;) {
        bool resume = access("ck", F_OK) == 0;
        /* the log names the backend that it was begun on */
        const char *backend = resume && draw(2) == 0 ? "cpu:2" : "cpu:1";
        pid_t child =
            start(of, backend, of->run_spikes, "run.log", true, resume);
        if (n_kills == KILLS_OF_A_RUN) {
            finish(child);
            break;
        }
        waiting wait = choose_moment(of, kills);
        if (!kill_at(child, wait))
            break;
        kills[wait.kind]++;
        n_kills++;
    }
    same_file(of->run_spikes, of->spikes);
    same_file("run.log", of->log);
    return n_kills;
}

static uint32_t least_of(const uint32_t kills[N_MOMENTS])
{
    uint32_t least = kills[0];
    for (int k = 1; k < N_MOMENTS; k++)
        least = kills[k] < least ? kills[k] : least;
    return least;
}

static void killed_and_resumed(void **state)
{
    static reference references[N_GENOMES];
    uint32_t kills[N_MOMENTS] = {0};
    uint32_t n_kills = 0;
    uint32_t n_runs = 0;
    (void)state;
    for (uint32_t g = 0; g < N_GENOMES; g++)
        make_reference(g, &references[g]);
    while (n_runs < RUNS_MAX &&
           (n_kills < n_rounds * KILLS_OF_A_ROUND ||
            n_runs < n_rounds * N_GENOMES || least_of(kills) < KILLS_OF_A_KIND))
        n_kills += disturbed_run(&references[n_runs++ % N_GENOMES], kills);
    printf("%u runs, killed %u times: %u after a time, %u at a burst, %u while "
           "a checkpoint was written, %u when it was renamed\n",
           n_runs, n_kills, kills[AFTER_TIME], kills[AT_BURST], kills[IN_WRITE],
           kills[AT_RENAME]);
    assert_true(n_kills >= n_rounds * KILLS_OF_A_ROUND);
    assert_true(least_of(kills) >= KILLS_OF_A_KIND);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(killed_and_resumed),
};

int main(int argc, char **argv)
{
    char command[300];
    if (argc > 1)
        n_rounds = (uint32_t)strtoul(argv[1], NULL, 10);
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("/") != 0 || system(command) != 0 || failed ? 1 : 0;
}
