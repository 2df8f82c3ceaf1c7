/* SPDX-License-Identifier: Apache-2.0
 * Loops and gangs: every task once, all of a gang at the same time, nested and
 * concurrent calls, threads that cannot be made.
 */
#include "volley_test.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/thread.h"

enum { N_TASKS = 1000 };

typedef struct counts {
    _Atomic uint32_t done[N_TASKS];
    _Atomic uint32_t total;
} counts;

static void count_task(void *arg, uint64_t task)
{
    counts *c = arg;
    atomic_fetch_add(&c->done[task], 1);
    atomic_fetch_add(&c->total, 1);
}

static void loop_runs_every_task_once(void **state)
{
    (void)state;
    static const uint32_t n_threads[] = {0, 1, 2, 3, 8, 5000};
    for (size_t i = 0; i < 6; i++) {
        counts c = {0};
        uint64_t n_tasks = n_threads[i] == 5000 ? 20 : N_TASKS;
        vly_thread_loop(n_threads[i], n_tasks, count_task, &c);
        assert_int_equal(c.total, n_tasks);
        for (uint64_t task = 0; task < n_tasks; task++)
            assert_int_equal(c.done[task], 1);
        vly_thread_loop(n_threads[i], 0, count_task, &c);
        assert_int_equal(c.total, n_tasks);
    }
}

typedef struct meeting {
    uint32_t n;
    _Atomic uint32_t arrived;
    _Atomic uint32_t seen[64];
    _Atomic uint32_t on_caller;
    pthread_t caller;
} meeting;

/* Ends only if all tasks of the gang are there at the same time. */
static void meet(void *arg, uint32_t task)
{
    meeting *m = arg;
    atomic_fetch_add(&m->seen[task], 1);
    if (task == 0 && pthread_equal(pthread_self(), m->caller))
        atomic_store(&m->on_caller, 1);
    atomic_fetch_add(&m->arrived, 1);
    while (atomic_load(&m->arrived) < m->n)
        sched_yield();
}

static void gang_meets(uint32_t n, meeting *m)
{
    memset(m, 0, sizeof(*m));
    m->n = n;
    m->caller = pthread_self();
}

static void gang_runs_all_at_once(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 7, 3, 32, 2};
    for (size_t i = 0; i < 6; i++) {
        meeting m;
        gang_meets(sizes[i], &m);
        assert_int_equal(vly_thread_gang(sizes[i], meet, &m), VLY_OK);
        for (uint32_t task = 0; task < sizes[i]; task++)
            assert_int_equal(m.seen[task], 1);
        assert_int_equal(m.on_caller, 1);
    }
    meeting m;
    gang_meets(0, &m);
    assert_int_equal(vly_thread_gang(0, meet, &m), VLY_E_INVALID);
    assert_int_equal(vly_thread_gang(1025, meet, &m), VLY_E_INVALID);
    assert_int_equal(m.arrived, 0);
}

static void gang_can_follow_quickly(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++) {
        meeting m;
        gang_meets(2 + (uint32_t)i % 3, &m);
        assert_int_equal(vly_thread_gang(m.n, meet, &m), VLY_OK);
        assert_int_equal(m.arrived, m.n);
    }
}

typedef struct nest {
    _Atomic uint32_t failed;
    _Atomic uint32_t met;
} nest;

static void meet_inside(void *arg, uint32_t task)
{
    nest *n = arg;
    (void)task;
    for (int i = 0; i < 5; i++) {
        meeting m;
        gang_meets(3, &m);
        if (vly_thread_gang(3, meet, &m) != VLY_OK)
            atomic_fetch_add(&n->failed, 1);
        atomic_fetch_add(&n->met, m.arrived);
    }
}

static void gangs_may_nest(void **state)
{
    (void)state;
    nest n = {0};
    assert_int_equal(vly_thread_gang(3, meet_inside, &n), VLY_OK);
    assert_int_equal(n.failed, 0);
    assert_int_equal(n.met, 3 * 5 * 3);
}

static void *call_gangs(void *arg)
{
    meet_inside(arg, 0);
    return NULL;
}

static void gangs_may_be_concurrent(void **state)
{
    (void)state;
    nest n = {0};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_gangs, &n), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(n.failed, 0);
    assert_int_equal(n.met, 4 * 5 * 3);
}

static void loop_inside(void *arg, uint64_t task)
{
    (void)task;
    vly_thread_loop(3, 10, count_task, arg);
}

static void loops_may_nest(void **state)
{
    (void)state;
    counts c = {0};
    vly_thread_loop(3, 7, loop_inside, &c);
    assert_int_equal(c.total, 70);
    for (int i = 0; i < 10; i++)
        assert_int_equal(c.done[i], 7);
}

static void gang_without_threads(void *arg, uint32_t task)
{
    nest *n = arg;
    if (task != 0)
        return;
    /* the pool is held by this call: the inner gang makes its own threads,
     * and its 1st, 2nd, ... allocation or thread fails */
    for (uint64_t at = 1; at <= 4; at++) {
        meeting m;
        gang_meets(4, &m);
        vly_memory_fail_at(at);
        if (vly_thread_gang(4, meet, &m) != VLY_E_NOMEM || m.arrived != 0)
            atomic_fetch_add(&n->failed, 1);
        vly_memory_fail_at(0);
    }
}

static void no_task_runs_without_all_threads(void **state)
{
    (void)state;
    uint64_t live = vly_memory_live();
    nest n = {0};
    assert_int_equal(vly_thread_gang(2, gang_without_threads, &n), VLY_OK);
    assert_int_equal(n.failed, 0);
    /* more than the pool ever had, so that it has to grow */
    meeting m;
    gang_meets(40, &m);
    vly_memory_fail_at(2);
    assert_int_equal(vly_thread_gang(40, meet, &m), VLY_E_NOMEM);
    assert_int_equal(m.arrived, 0);
    assert_int_equal(vly_thread_gang(40, meet, &m), VLY_OK);
    assert_int_equal(m.arrived, 40);
    counts c = {0};
    vly_memory_fail_at(1);
    vly_thread_loop(60, N_TASKS, count_task, &c);
    vly_memory_fail_at(0);
    assert_int_equal(c.total, N_TASKS);
    assert_int_equal(vly_memory_live(), live);
}

static void blocks_sigint(void *arg, uint32_t task)
{
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    if ((sigismember(&set, SIGINT) == 1) == (task != 0))
        atomic_fetch_add((_Atomic uint32_t *)arg, 1);
}

static void signals_go_to_the_caller(void **state)
{
    (void)state;
    _Atomic uint32_t right = 0;
    assert_int_equal(vly_thread_gang(4, blocks_sigint, &right), VLY_OK);
    assert_int_equal(right, 4);
}

static void nothing(void *arg, uint32_t task)
{
    (void)arg;
    (void)task;
}

static void clock_and_cores(void **state)
{
    (void)state;
    assert_true(vly_thread_cores() >= 1);
    uint64_t start = vly_clock_ns();
    const uint64_t waited = vly_thread_waited_ns();
    for (int i = 0; i < 1000; i++)
        vly_thread_gang(2, nothing, NULL);
    const uint64_t more = vly_thread_waited_ns();
    /* each of at most 15 threads waited at most since it began */
    const uint64_t pool = vly_thread_pool_waited_ns();
    assert_true(vly_thread_pool_waited_ns() >= pool);
    uint64_t end = vly_clock_ns();
    assert_true(end > start);
    assert_true(more >= waited && more - waited <= end - start);
    print_message("an empty gang of 2: %.2f us\n",
                  (double)(end - start) * 1e-6);
}

static uint64_t wall_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void both_clocks_at_one_time(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        uint64_t steady = 0;
        uint64_t wall = 0;
        const uint64_t wall_before = wall_now();
        const uint64_t before = vly_clock_ns();
        vly_clock_both(&steady, &wall);
        assert_in_range(steady, before, vly_clock_ns());
        assert_in_range(wall, wall_before, wall_now());
    }
}

typedef struct niced {
    bool real_time;
    int by;
    int before;
    int after;
    int policy;
} niced;

static void *make_nicer(void *arg)
{
    niced *all = arg;
    const struct sched_param least = {.sched_priority = 1};
    if (all->real_time)
        all->real_time = sched_setscheduler(0, SCHED_FIFO, &least) == 0;
    all->before = getpriority(PRIO_PROCESS, 0);
    vly_thread_nicer(all->by);
    all->after = getpriority(PRIO_PROCESS, 0);
    all->policy = sched_getscheduler(0);
    return NULL;
}

/* For one thread only, relative, and clamped to the limits; a real-time policy,
 * which would make it useless, is ended. */
static void a_thread_is_nicer(void **state)
{
    (void)state;
    static const int by[] = {5, 40, 5};
    const int own = getpriority(PRIO_PROCESS, 0);
    for (int k = 0; k < 3; k++) {
        pthread_t thread;
        niced all = {.by = by[k], .real_time = k == 2};
        assert_int_equal(
            vly_thread_start(&thread, make_nicer, &all, "a test", NULL),
            VLY_OK);
        pthread_join(thread, NULL);
        const int most = all.before + by[k];
        assert_int_equal(all.after, most < 19 ? most : 19);
        assert_int_equal(all.policy, sched_getscheduler(0));
        assert_int_equal(getpriority(PRIO_PROCESS, 0), own);
        if (k == 2 && !all.real_time)
            printf("a real-time policy is forbidden here\n");
    }
}

/* A fork does not copy the threads of the pool. The child must start its own,
 * or it would wait forever. */
static void a_forked_process_has_its_own_pool(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* it forbids threads after a fork */
#endif
    counts before = {0};
    vly_thread_loop(3, N_TASKS, count_task, &before);
    assert_int_equal(before.total, N_TASKS);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20);
        counts c = {0};
        vly_thread_loop(3, N_TASKS, count_task, &c);
        _exit(c.total == N_TASKS ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    counts after = {0};
    vly_thread_loop(3, N_TASKS, count_task, &after);
    assert_int_equal(after.total, N_TASKS);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_forked_process_has_its_own_pool),
    cmocka_unit_test(loop_runs_every_task_once),
    cmocka_unit_test(gang_runs_all_at_once),
    cmocka_unit_test(gang_can_follow_quickly),
    cmocka_unit_test(gangs_may_nest),
    cmocka_unit_test(gangs_may_be_concurrent),
    cmocka_unit_test(loops_may_nest),
    cmocka_unit_test(no_task_runs_without_all_threads),
    cmocka_unit_test(signals_go_to_the_caller),
    cmocka_unit_test(clock_and_cores),
    cmocka_unit_test(both_clocks_at_one_time),
    cmocka_unit_test(a_thread_is_nicer),
};

VLY_TEST_MAIN(tests)
