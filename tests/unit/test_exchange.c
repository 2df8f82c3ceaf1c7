/* SPDX-License-Identifier: Apache-2.0
 * The plugin shm: ranks as processes and as threads, pieces of any size, and
 * ranks that do wrong, end, stop or never come. Nothing is left in shared
 * memory.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "volley_test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exchange_cases.h"
#include "plugin/plugin_check.h"
#include "plugin/registry.h"

enum { MOST_RANKS = 8, LONG_MS = 60000, SHORT_MS = 1000 };

static vly_registry *registry;
static const vly_exchange *exchange;
static exchange_trial *trials; /* [MOST_RANKS] shared with all children */
static char name[64];
static uint64_t n_names;

static int group_setup(void **state)
{
    (void)state;
    vly_error error = {.struct_size = sizeof error};
    assert_ok(vly_registry_create(&registry, &error), error);
    assert_ok(vly_registry_exchange(registry, "shm", &exchange, &error), error);
    trials = mmap(NULL, MOST_RANKS * sizeof *trials, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return trials == MAP_FAILED ? -1 : 0;
}

static int group_teardown(void **state)
{
    (void)state;
    munmap(trials, MOST_RANKS * sizeof *trials);
    vly_registry_destroy(registry);
    return 0;
}

static void prepare(uint32_t n_ranks, uint32_t timeout_ms)
{
    snprintf(name, sizeof name, "/volley-test-%ld-%llu", (long)getpid(),
             (unsigned long long)n_names++);
    for (uint32_t r = 0; r < n_ranks; r++)
        trials[r] =
            (exchange_trial){.exchange = exchange,
                             .spec = {.struct_size = sizeof(vly_exchange_spec),
                                      .rank = r,
                                      .n_ranks = n_ranks,
                                      .timeout_ms = timeout_ms,
                                      .name = name},
                             .seed = n_names,
                             .n_gathers = 40,
                             .most_bytes = 3000000,
                             .at = 5};
}

static void nothing_left(void)
{
    const int file = shm_open(name, O_RDWR, 0);
    assert_int_equal(file, -1);
    assert_int_equal(errno, ENOENT);
}

/* Each rank is a process. Those that were to stay say whether all was well. */
static void run_processes(uint32_t n_ranks, exchange_case run, bool last_goes)
{
    pid_t child[MOST_RANKS];
    for (uint32_t r = 0; r < n_ranks; r++) {
        child[r] = fork();
        assert_true(child[r] >= 0);
        if (child[r] == 0)
            _exit(run(&trials[r]) ? 0 : 1);
    }
    const uint32_t n_stay = last_goes ? n_ranks - 1 : n_ranks;
    int end[MOST_RANKS] = {0};
    for (uint32_t r = 0; r < n_stay; r++)
        assert_int_equal(waitpid(child[r], &end[r], 0), child[r]);
    /* only now: until here one that has ended is a zombie */
    if (last_goes) {
        (void)kill(child[n_stay], SIGKILL);
        assert_int_equal(waitpid(child[n_stay], NULL, 0), child[n_stay]);
    }
    for (uint32_t r = 0; r < n_stay; r++)
        if (!WIFEXITED(end[r]) || WEXITSTATUS(end[r]) != 0)
            fail_msg("rank %u of %u: %s", r, n_ranks, trials[r].why);
    nothing_left();
}

typedef struct thread_rank {
    exchange_case run;
    exchange_trial *trial;
    bool good;
} thread_rank;

static void *run_thread(void *arg)
{
    thread_rank *rank = arg;
    rank->good = rank->run(rank->trial);
    return NULL;
}

static void run_threads(uint32_t n_ranks, exchange_case run)
{
    pthread_t threads[MOST_RANKS];
    thread_rank ranks[MOST_RANKS];
    for (uint32_t r = 0; r < n_ranks; r++) {
        ranks[r] = (thread_rank){run, &trials[r], false};
        assert_int_equal(
            pthread_create(&threads[r], NULL, run_thread, &ranks[r]), 0);
    }
    for (uint32_t r = 0; r < n_ranks; r++)
        pthread_join(threads[r], NULL);
    for (uint32_t r = 0; r < n_ranks; r++)
        if (!ranks[r].good)
            fail_msg("rank %u of %u: %s", r, n_ranks, trials[r].why);
    nothing_left();
}

/* ---- pieces ---------------------------------------------------------------
 */

static void pieces_of_any_size_arrive(void **state)
{
    (void)state;
    static const uint32_t n_ranks[] = {1, 2, 3, 5, 8};
    for (size_t i = 0; i < 5; i++) {
        prepare(n_ranks[i], LONG_MS);
        run_processes(n_ranks[i], exchange_case_random, false);
        prepare(n_ranks[i], LONG_MS);
        run_threads(n_ranks[i], exchange_case_random);
    }
}

static void many_small_pieces_arrive(void **state)
{
    (void)state;
    for (uint32_t n_ranks = 1; n_ranks <= 3; n_ranks++) {
        prepare(n_ranks, LONG_MS);
        for (uint32_t r = 0; r < n_ranks; r++)
            trials[r].n_gathers = n_ranks < 3 ? 10000 : 1000;
        run_processes(n_ranks, exchange_case_small, false);
    }
}

/* ---- ranks that do wrong --------------------------------------------------
 */

static void a_wrong_tag_fails_on_all_ranks(void **state)
{
    (void)state;
    for (uint32_t n_ranks = 2; n_ranks <= 5; n_ranks += 3) {
        prepare(n_ranks, LONG_MS);
        run_processes(n_ranks, exchange_case_tags, false);
        prepare(n_ranks, LONG_MS);
        run_threads(n_ranks, exchange_case_tags);
    }
}

/* Long before the time is over: LONG_MS is that of the whole test. */
static void took_less(uint32_t n_ranks, uint32_t ms)
{
    for (uint32_t r = 0; r + 1 < n_ranks; r++)
        assert_true(trials[r].took_ns < (uint64_t)ms * 1000000);
}

static void a_rank_that_ends_is_noticed(void **state)
{
    (void)state;
    static const exchange_case ways[] = {
        exchange_case_exits, exchange_case_killed, exchange_case_closes};
    for (size_t i = 0; i < 3; i++)
        for (uint32_t n_ranks = 2; n_ranks <= 3; n_ranks++) {
            prepare(n_ranks, LONG_MS);
            trials[0].at = trials[1].at = trials[2].at = (uint32_t)(3 * i);
            run_processes(n_ranks, ways[i], true);
            took_less(n_ranks, LONG_MS / 2);
        }
    prepare(3, LONG_MS);
    run_threads(3, exchange_case_closes);
}

static void a_rank_that_stops_is_named(void **state)
{
    (void)state;
    prepare(3, SHORT_MS);
    run_processes(3, exchange_case_stopped, true);
    /* the second of the two may get the sentence of the first */
    assert_true(trials[0].took_ns >= (uint64_t)SHORT_MS * 1000000 ||
                trials[1].took_ns >= (uint64_t)SHORT_MS * 1000000);
    assert_non_null(strstr(trials[0].error.message, "tag 5"));
    assert_non_null(strstr(trials[1].error.message, "tag 5"));
}

static void abort_ends_all_waits(void **state)
{
    (void)state;
    prepare(3, LONG_MS);
    run_processes(3, exchange_case_aborts, false);
    took_less(3, LONG_MS / 2);
    prepare(3, LONG_MS);
    run_threads(3, exchange_case_aborts);
}

static _Atomic bool has_waited;

/* Rank 0 waits for a piece that rank 1 does not send. True if both came. */
static bool waits_slowly(exchange_trial *trial)
{
    vly_exchange_link *link = NULL;
    const vly_piece *pieces = NULL;
    trial->error = (vly_error){.struct_size = sizeof trial->error};
    const vly_status status =
        trial->exchange->open(&trial->spec, &link, &trial->error);
    if (status == VLY_OK && trial->spec.rank == 0)
        (void)trial->exchange->gather(link, 5 | VLY_EXCHANGE_SLOW, NULL, 0,
                                      &pieces, &trial->error);
    if (trial->spec.rank == 0)
        has_waited = true;
    while (!has_waited)
        (void)usleep(1000);
    trial->exchange->close(link);
    trial->took_ns = status == VLY_OK ? 1 : 0;
    return true;
}

/* The limit of a slow step is 60 times as long: the message has the one that
 * held, and the bit of the tag as words. */
static void a_slow_step_has_its_own_limit(void **state)
{
    (void)state;
    char wanted[200];
    uint32_t ms = 20;
    /* on a busy machine rank 1 may not come in so short a time: longer then */
    for (bool has_come = false; !has_come; ms *= 2) {
        prepare(2, LONG_MS);
        trials[0].spec.timeout_ms = ms;
        has_waited = false;
        run_threads(2, waits_slowly);
        has_come = trials[0].took_ns != 0;
    }
    snprintf(wanted, sizeof wanted,
             "exchange shm: rank 1 sent nothing of tag 5 (a slow step) in %u "
             "ms (rank 1 is process %d)",
             60 * (ms / 2), (int)getpid());
    assert_string_equal(trials[0].error.message, wanted);
}

/* ---- coming together ------------------------------------------------------
 */

static vly_status open_alone(const vly_exchange_spec *spec, vly_error *error)
{
    vly_exchange_link *link = NULL;
    vly_status status = exchange->open(spec, &link, error);
    exchange->close(link);
    return status;
}

static void a_rank_that_does_not_come_is_named(void **state)
{
    (void)state;
    vly_error error = {.struct_size = sizeof error};
    prepare(3, 100);
    trials[0].spec.rank = 1;
    assert_int_equal(open_alone(&trials[0].spec, &error), VLY_E_DEVICE);
    assert_string_equal(error.message,
                        "exchange shm: ranks 0 and 2 did not come in 100 ms");
    nothing_left();
}

static bool opens(exchange_trial *trial)
{
    vly_exchange_link *link = NULL;
    trial->error = (vly_error){.struct_size = sizeof trial->error};
    vly_status status =
        trial->exchange->open(&trial->spec, &link, &trial->error);
    trial->exchange->close(link);
    return status == VLY_E_DEVICE;
}

static void ranks_must_agree_how_many(void **state)
{
    (void)state;
    prepare(2, LONG_MS);
    trials[1].spec.n_ranks = 3;
    run_processes(2, opens, false);
    /* the rank that came second finds it, and tells the first one */
    for (int r = 0; r < 2; r++)
        assert_non_null(strstr(trials[r].error.message, " ranks, others as "));
}

static void a_rank_comes_once(void **state)
{
    (void)state;
    prepare(2, SHORT_MS);
    trials[1].spec.rank = 0;
    run_processes(2, opens, false);
    assert_true(strstr(trials[0].error.message, "a rank 0 in") ||
                strstr(trials[1].error.message, "a rank 0 in"));
}

static bool dies_waiting(exchange_trial *trial)
{
    vly_exchange_link *link = NULL;
    (void)alarm(1); /* its name stays */
    (void)trial->exchange->open(&trial->spec, &link, NULL);
    return false;
}

/* A job that was killed before all its ranks were there leaves its name. */
static void the_file_of_an_earlier_job_is_replaced(void **state)
{
    (void)state;
    prepare(2, LONG_MS);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(dies_waiting(&trials[0]) ? 0 : 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    const int file = shm_open(name, O_RDWR, 0);
    assert_true(file >= 0);
    close(file);
    run_processes(2, exchange_case_random, false);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    vly_error error = {.struct_size = sizeof error};
    vly_exchange_link *link = NULL;
    prepare(2, 100);
    vly_exchange_spec spec = trials[0].spec;
    spec.rank = 2;
    assert_int_equal(open_alone(&spec, &error), VLY_E_INVALID);
    spec = trials[0].spec;
    spec.timeout_ms = 0;
    assert_int_equal(open_alone(&spec, &error), VLY_E_INVALID);
    spec = trials[0].spec;
    spec.n_ranks = VLY_EXCHANGE_MAX_RANKS + 1;
    assert_int_equal(open_alone(&spec, &error), VLY_E_INVALID);
    spec.rank = spec.n_ranks = VLY_EXCHANGE_OF_LAUNCHER;
    assert_int_equal(open_alone(&spec, &error), VLY_E_UNSUPPORTED);
    static const char *const names[] = {NULL, "", "/", "a/b", ".."};
    for (size_t i = 0; i < 5; i++) {
        spec = trials[0].spec;
        spec.name = names[i];
        assert_int_equal(open_alone(&spec, &error), VLY_E_INVALID);
    }
    spec = trials[0].spec;
    spec.n_ranks = 1;
    spec.name = NULL;
    assert_ok(exchange->open(&spec, &link, &error), error);
    const vly_piece *pieces = NULL;
    assert_int_equal(exchange->gather(link, 1, NULL, 8, &pieces, &error),
                     VLY_E_INVALID);
    assert_int_equal(exchange->gather(NULL, 1, NULL, 0, &pieces, &error),
                     VLY_E_INVALID);
    assert_int_equal(exchange->info(NULL, NULL, &error), VLY_E_INVALID);
    exchange->abort(NULL, "nothing");
    exchange->close(link);
    exchange->close(NULL);
    assert_int_equal(vly_registry_exchange(registry, "cpu", &exchange, &error),
                     VLY_E_UNSUPPORTED);
    assert_int_equal(vly_registry_exchange(registry, "smh", &exchange, &error),
                     VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "shm"));
}

/* What the registry gives was checked: every function is there. */
static void a_table_must_have_all_functions(void **state)
{
    (void)state;
    vly_error error = {.struct_size = sizeof error};
    vly_exchange copy;
    vly_exchange table = *exchange;
    assert_ok(vly_exchange_check(&table, &copy, &error), error);
    static const size_t slots[] = {
        offsetof(vly_exchange, open), offsetof(vly_exchange, close),
        offsetof(vly_exchange, info), offsetof(vly_exchange, gather),
        offsetof(vly_exchange, abort)};
    static const char *const names[] = {"open", "close", "info", "gather",
                                        "abort"};
    for (size_t i = 0; i < 5; i++) {
        table = *exchange;
        memset((char *)&table + slots[i], 0, sizeof table.open);
        assert_int_equal(vly_exchange_check(&table, &copy, &error), VLY_E_ABI);
        assert_non_null(strstr(error.message, names[i]));
    }
    table = *exchange;
    table.struct_size = sizeof table - 1;
    assert_int_equal(vly_exchange_check(&table, &copy, &error), VLY_E_ABI);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_any_size_arrive),
        cmocka_unit_test(many_small_pieces_arrive),
        cmocka_unit_test(a_wrong_tag_fails_on_all_ranks),
        cmocka_unit_test(a_rank_that_ends_is_noticed),
        cmocka_unit_test(a_rank_that_stops_is_named),
        cmocka_unit_test(a_slow_step_has_its_own_limit),
        cmocka_unit_test(abort_ends_all_waits),
        cmocka_unit_test(a_rank_that_does_not_come_is_named),
        cmocka_unit_test(ranks_must_agree_how_many),
        cmocka_unit_test(a_rank_comes_once),
        cmocka_unit_test(the_file_of_an_earlier_job_is_replaced),
        cmocka_unit_test(a_table_must_have_all_functions),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown) ? 1 : 0;
}
