/* SPDX-License-Identifier: Apache-2.0
 * The queue between a run and its recording, with a reader that does not read:
 * the run goes on while there is memory; where there is none, or no more may be
 * used, it waits, and the bytes are the same.
 */
#include "volley_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/run/run_record.h"

enum { N_BURSTS = 3000, N_IDS = 300, BYTES_MAX = 1 << 22 };

static char folder[] = "/tmp/volley_queue_XXXXXX";

static const vly_spike_area areas[] = {{"A", 0, 30000, true}};
static const vly_stream_head head = {
    .dt_ms = 0.1, .areas = areas, .n_areas = 1};

/* Reads a pipe to its end, from when the gate is open. */
typedef struct pipe_reader {
    const char *path;
    unsigned char *bytes;
    size_t n;
    bool open;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
} pipe_reader;

static void *read_pipe(void *arg)
{
    pipe_reader *reader = arg;
    int file = open(reader->path, O_RDONLY | O_CLOEXEC);
    ssize_t got = 1;
    pthread_mutex_lock(&reader->lock);
    while (!reader->open)
        pthread_cond_wait(&reader->changed, &reader->lock);
    pthread_mutex_unlock(&reader->lock);
    while (got > 0 && reader->n < BYTES_MAX) {
        got = read(file, reader->bytes + reader->n, BYTES_MAX - reader->n);
        reader->n += got > 0 ? (size_t)got : 0;
    }
    close(file);
    return NULL;
}

static void open_gate(pipe_reader *reader)
{
    pthread_mutex_lock(&reader->lock);
    reader->open = true;
    pthread_cond_broadcast(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
}

/* Whether the thread that adds, the first of the process, sleeps. */
static bool main_sleeps(void)
{
    char text[256] = "";
    FILE *file = fopen("/proc/self/stat", "r");
    size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    const char *behind = n > 0 ? strrchr(text, ')') : NULL;
    return behind != NULL && behind[1] == ' ' && behind[2] == 'S';
}

/* Once it waits: however slow the machine is, not before. */
static void *open_later(void *arg)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    for (int n = 0; n < 5; n = main_sleeps() ? n + 1 : 0)
        nanosleep(&pause, NULL);
    open_gate(arg);
    return NULL;
}

static void begin_reader(pipe_reader *reader, const char *path)
{
    *reader = (pipe_reader){.path = path, .bytes = malloc(BYTES_MAX)};
    assert_non_null(reader->bytes);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    pthread_mutex_init(&reader->lock, NULL);
    pthread_cond_init(&reader->changed, NULL);
    assert_int_equal(pthread_create(&reader->thread, NULL, read_pipe, reader),
                     0);
}

static void add_bursts(run_record *record, uint64_t fail_at)
{
    vly_error error = VLY_ERROR_INIT;
    uint32_t ids[N_IDS];
    vly_spike_place place;
    for (uint64_t t = 0; t < N_BURSTS; t++) {
        for (uint32_t i = 0; i < N_IDS; i++)
            ids[i] = 100 * i + (uint32_t)(t * i % 97);
        if (t == N_BURSTS / 3)
            vly_memory_fail_at(fail_at);
        assert_ok(run_record_add(record, t, ids, N_IDS, &error), error);
        if (t > 0)
            continue;
        /* what the thread allocates, it has: only blocks are needed now */
        assert_ok(run_record_mark(record, &error), error);
        assert_ok(run_record_marked(record, &place, &error), error);
    }
    vly_memory_fail_at(0);
}

typedef enum gate { BEFORE, LATER, AFTER } gate;

/* Everything through the queue into a pipe; allocation fail_at fails, counted
 * from a third of it (0: none); the gate opens before, meanwhile,
 * or after all has been added. */
static void record_all(uint64_t memory_bytes, uint64_t fail_at, gate when,
                       pipe_reader *reader, run_record_load *load)
{
    static char path[300];
    vly_error error = VLY_ERROR_INIT;
    run_record *record = NULL;
    run_sink sink = {0};
    pthread_t timer;
    snprintf(path, sizeof path, "%s/pipe", folder);
    begin_reader(reader, path);
    assert_ok(vly_stream_open(path, &head, &sink.stream, &error), error);
    assert_ok(run_record_open(&sink, memory_bytes, &record, &error), error);
    if (when == BEFORE)
        open_gate(reader);
    if (when == LATER)
        assert_int_equal(pthread_create(&timer, NULL, open_later, reader), 0);
    add_bursts(record, fail_at);
    run_record_get_load(record, load);
    if (when == AFTER)
        open_gate(reader);
    if (when == LATER)
        pthread_join(timer, NULL);
    assert_ok(run_record_close(record, N_BURSTS, &error), error);
    assert_ok(vly_stream_close(sink.stream, &error), error);
    pthread_join(reader->thread, NULL);
}

static void drop(pipe_reader *reader)
{
    pthread_mutex_destroy(&reader->lock);
    pthread_cond_destroy(&reader->changed);
    free(reader->bytes);
}

static void waits_only_without_memory(void **state)
{
    static const struct {
        uint64_t memory_bytes;
        gate when;
        bool waits;
    } cases[] = {
        {UINT64_C(1) << 30, AFTER, false}, /* without a reader it continues */
        {1, LATER, true},                  /* two blocks and no more */
        {UINT64_C(1) << 20, LATER, true},
    };
    uint64_t live = vly_memory_live();
    pipe_reader wanted;
    run_record_load load;
    (void)state;
    record_all(UINT64_C(1) << 30, 0, BEFORE, &wanted, &load);
    assert_true(wanted.n > 500000);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        pipe_reader found;
        record_all(cases[c].memory_bytes, 0, cases[c].when, &found, &load);
        assert_int_equal(load.n_waits > 0, cases[c].waits);
        assert_int_equal(load.waited_ns > 0, cases[c].waits);
        if (cases[c].waits)
            assert_true(load.bytes_most <= UINT64_C(1) << 20);
        else
            assert_true(load.bytes_most > UINT64_C(1) << 21);
        assert_int_equal(found.n, wanted.n);
        assert_memory_equal(found.bytes, wanted.bytes, wanted.n);
        drop(&found);
    }
    drop(&wanted);
    assert_int_equal(vly_memory_live(), live);
}

/* A block that cannot be had is waited for: no error, nothing lost. */
static void no_memory(void **state)
{
    uint64_t live = vly_memory_live();
    pipe_reader wanted;
    run_record_load load;
    uint32_t n_waited = 0;
    (void)state;
    record_all(UINT64_C(1) << 30, 0, BEFORE, &wanted, &load);
    for (uint64_t n = 1; n < 8; n++) {
        pipe_reader found;
        record_all(UINT64_C(1) << 30, n, LATER, &found, &load);
        n_waited += load.n_waits > 0;
        assert_int_equal(found.n, wanted.n);
        assert_memory_equal(found.bytes, wanted.bytes, wanted.n);
        drop(&found);
    }
    assert_true(n_waited > 0);
    drop(&wanted);
    assert_int_equal(vly_memory_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_only_without_memory),
        cmocka_unit_test(no_memory),
    };
    char command[300];
    if (mkdtemp(folder) == NULL)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || failed ? 1 : 0;
}
