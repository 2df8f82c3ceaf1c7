/* SPDX-License-Identifier: Apache-2.0
 * Threads: a pool for gangs, and loops on top of gangs.
 *
 * One pool per process; its threads are made when first needed, are detached
 * and sleep until the process ends. A gang that finds the pool in use (another
 * thread, or a nested call) makes threads of its own for that call: rare, so
 * simple is good enough. Waiting spins for a moment first, because a futex
 * wake-up costs more than a burst of a small network. A child made by fork has
 * none of the parent's threads; its pool makes threads of its own.
 */
#define _GNU_SOURCE /* CPU_COUNT, syscall */
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

#define MAX_TASKS 1024u /* promised in plugin.h */
#define SPIN_NS 20000u  /* about twice what a futex round trip takes */
/* threads whose waiting time is measured */
#define MAX_LOOKED_AT 15u

typedef struct gang_job {
    void (*body)(void *arg, uint32_t task);
    void *arg;
} gang_job;

/* A futex word and how many sleep on it. */
typedef struct signal_word {
    _Atomic uint32_t value;
    _Atomic uint32_t sleepers;
} signal_word;

/* Thread i of the pool runs task i + 1. A line of cache each: the leader
 * writes one word per thread. */
typedef struct pool_worker {
    _Alignas(64) signal_word calls; /* changes when there is a task */
    uint32_t task;
    _Atomic int id; /* the system's; 0: it has not run yet */
} pool_worker;

static pool_worker pool_workers[MAX_TASKS - 1];
static uint32_t pool_made; /* with pool_busy, as pool_job */
static gang_job pool_job;
static atomic_flag pool_busy = ATOMIC_FLAG_INIT;
static signal_word pool_running; /* tasks of the pool not done yet */
static uint32_t pool_cores;      /* 0: not asked yet */
/* How long to spin: not at all if the gang has more threads than the machine
 * has cores, since a spinning thread would keep the awaited thread from running
 * (measured on one core: 44 us an empty gang of 2 with spinning, 4 us without).
 */
static _Atomic uint32_t spin_ns;
static _Thread_local bool inside_loop;

uint64_t vly_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void vly_clock_both(uint64_t *steady_ns, uint64_t *wall_ns)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 4 && least > 100000; i++) {
        struct timespec wall;
        const uint64_t before = vly_clock_ns();
        clock_gettime(CLOCK_REALTIME, &wall);
        const uint64_t between = vly_clock_ns() - before;
        if (between >= least)
            continue;
        least = between;
        *steady_ns = before;
        *wall_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec;
    }
}

void vly_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &steady);
    pthread_condattr_destroy(&steady);
}

void vly_condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock,
                        uint64_t ns)
{
    const uint64_t until = vly_clock_ns() + ns;
    const struct timespec at = {.tv_sec = (time_t)(until / 1000000000u),
                                .tv_nsec = (long)(until % 1000000000u)};
    (void)pthread_cond_timedwait(condition, lock, &at);
}

uint32_t vly_thread_cores(void)
{
    /* a fixed cpu_set_t holds 1024; the kernel refuses one that is too small */
    for (size_t n = 1024; n <= (size_t)1 << 20; n *= 4) {
        cpu_set_t *set = CPU_ALLOC(n);
        if (!set)
            break;
        size_t bytes = CPU_ALLOC_SIZE(n);
        bool got = sched_getaffinity(0, bytes, set) == 0;
        int count = got ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (got)
            return count > 0 ? (uint32_t)count : 1;
        if (errno != EINVAL)
            break;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}

/* ---- waiting ---- */

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* Spins until the value differs; true if it did so in time. */
static bool spin_while(signal_word *word, uint32_t value)
{
    uint32_t limit = atomic_load_explicit(&spin_ns, memory_order_relaxed);
    if (limit == 0)
        return atomic_load_explicit(&word->value, memory_order_acquire) !=
               value;
    uint64_t end = vly_clock_ns() + limit;
    do {
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(&word->value, memory_order_acquire) !=
                value)
                return true;
            pause_briefly();
        }
    } while (vly_clock_ns() < end);
    return false;
}

/* Returns a value that differs. The sleeper counts itself before its last check
 * of the value; the waker changes the value before it checks for sleepers. With
 * one total order of both (seq_cst) no wake-up is lost. */
static uint32_t signal_wait(signal_word *word, uint32_t value)
{
    if (!spin_while(word, value)) {
        atomic_fetch_add(&word->sleepers, 1);
        while (atomic_load(&word->value) == value)
            syscall(SYS_futex, &word->value, FUTEX_WAIT_PRIVATE, value, NULL,
                    NULL, 0);
        atomic_fetch_sub(&word->sleepers, 1);
    }
    return atomic_load_explicit(&word->value, memory_order_acquire);
}

/* After the value was changed (seq_cst). Saves the system call if all spin. */
static void signal_wake(signal_word *word)
{
    if (atomic_load(&word->sleepers))
        syscall(SYS_futex, &word->value, FUTEX_WAKE_PRIVATE, INT_MAX, NULL,
                NULL, 0);
}

static void wait_for_zero(signal_word *word)
{
    uint32_t value = atomic_load_explicit(&word->value, memory_order_acquire);
    while (value != 0)
        value = signal_wait(word, value);
}

/* ---- threads ---- */

vly_status vly_thread_start(pthread_t *thread, void *(*entry)(void *),
                            void *arg, const char *what, vly_error *error)
{
    void *token = vly_malloc(1, 1);
    if (!token)
        return vly_fail_nomem(error, 1, what);
    vly_free(token);
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    sigdelset(&all, SIGTRAP);
    sigdelset(&all, SIGPROF);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = pthread_create(thread, NULL, entry, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failed)
        return vly_fail(error, VLY_E_NOMEM, "no thread for %s: %s", what,
                        strerror(failed));
    return VLY_OK;
}

/* ---- the pool ---- */

static void *pool_main(void *arg)
{
    pool_worker *worker = arg;
    uint32_t seen = 0;
    atomic_store(&worker->id, (int)syscall(SYS_gettid));
    for (;;) {
        seen = signal_wait(&worker->calls, seen);
        pool_job.body(pool_job.arg, worker->task);
        /* after the last decrement the job may be another one already */
        if (atomic_fetch_sub(&pool_running.value, 1) == 1)
            signal_wake(&pool_running);
    }
    return NULL;
}

/* In the child of a fork: the workers and the thread that held the pool are
 * gone. */
static void pool_forget(void)
{
    for (uint32_t i = 0; i < pool_made; i++) {
        atomic_store(&pool_workers[i].calls.value, 0);
        atomic_store(&pool_workers[i].calls.sleepers, 0);
        atomic_store(&pool_workers[i].id, 0);
    }
    atomic_store(&pool_running.value, 0);
    atomic_store(&pool_running.sleepers, 0);
    pool_made = 0;
    atomic_flag_clear(&pool_busy);
}

/* Pool held. False if a thread could not be made; those made stay. */
static bool pool_grow(uint32_t n_workers)
{
    static bool forks_seen;
    if (!forks_seen && pthread_atfork(NULL, NULL, pool_forget) != 0)
        return false;
    forks_seen = true;
    while (pool_made < n_workers) {
        pool_worker *worker = &pool_workers[pool_made];
        worker->task = pool_made + 1;
        pthread_t thread;
        if (vly_thread_start(&thread, pool_main, worker, "a task", NULL) !=
            VLY_OK)
            return false;
        pthread_detach(thread);
        pool_made++;
    }
    return true;
}

/* Pool held, pool_made >= n_tasks - 1. */
static void pool_run(uint32_t n_tasks, const gang_job *job)
{
    pool_job = *job;
    if (pool_cores == 0)
        pool_cores = vly_thread_cores();
    atomic_store_explicit(&spin_ns, n_tasks <= pool_cores ? SPIN_NS : 0,
                          memory_order_relaxed);
    atomic_store(&pool_running.value, n_tasks - 1);
    for (uint32_t i = 0; i < n_tasks - 1; i++) {
        atomic_fetch_add(&pool_workers[i].calls.value, 1);
        signal_wake(&pool_workers[i].calls);
    }
    job->body(job->arg, 0);
    wait_for_zero(&pool_running);
}

/* ---- a gang beside the pool ---- */

enum { GATE_CLOSED, GATE_RUN, GATE_LEAVE };

typedef struct own_gang {
    gang_job job;
    signal_word gate;
    _Atomic uint32_t next_task;
} own_gang;

static void *own_main(void *arg)
{
    own_gang *gang = arg;
    if (signal_wait(&gang->gate, GATE_CLOSED) == GATE_RUN)
        gang->job.body(gang->job.arg, atomic_fetch_add(&gang->next_task, 1));
    return NULL;
}

static vly_status own_run(uint32_t n_tasks, const gang_job *job)
{
    own_gang gang = {.job = *job, .gate = {GATE_CLOSED, 0}, .next_task = 1};
    pthread_t *threads = vly_malloc(n_tasks, sizeof(*threads));
    if (!threads)
        return VLY_E_NOMEM;
    uint32_t made = 0;
    while (made < n_tasks - 1 &&
           vly_thread_start(&threads[made], own_main, &gang, "a task", NULL) ==
               VLY_OK)
        made++;
    bool complete = made == n_tasks - 1;
    atomic_store(&gang.gate.value, complete ? GATE_RUN : GATE_LEAVE);
    signal_wake(&gang.gate);
    if (complete)
        job->body(job->arg, 0);
    for (uint32_t i = 0; i < made; i++)
        pthread_join(threads[i], NULL);
    vly_free(threads);
    return complete ? VLY_OK : VLY_E_NOMEM;
}

/* ---- public ---- */

vly_status vly_thread_gang(uint32_t n_tasks,
                           void (*body)(void *arg, uint32_t task), void *arg)
{
    if (n_tasks == 0 || n_tasks > MAX_TASKS)
        return VLY_E_INVALID;
    if (n_tasks == 1) {
        body(arg, 0);
        return VLY_OK;
    }
    gang_job job = {body, arg};
    if (atomic_flag_test_and_set_explicit(&pool_busy, memory_order_acquire))
        return own_run(n_tasks, &job);
    bool complete = pool_grow(n_tasks - 1);
    if (complete)
        pool_run(n_tasks, &job);
    atomic_flag_clear_explicit(&pool_busy, memory_order_release);
    return complete ? VLY_OK : VLY_E_NOMEM;
}

typedef struct loop {
    void (*body)(void *arg, uint64_t task);
    void *arg;
    uint64_t n_tasks;
    _Atomic uint64_t next;
} loop;

static void loop_member(void *arg, uint32_t member)
{
    (void)member;
    loop *l = arg;
    bool outer = inside_loop;
    inside_loop = true;
    for (;;) {
        uint64_t task =
            atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
        if (task >= l->n_tasks)
            break;
        l->body(l->arg, task);
    }
    inside_loop = outer;
}

void vly_thread_loop(uint32_t n_threads, uint64_t n_tasks,
                     void (*body)(void *arg, uint64_t task), void *arg)
{
    if (n_threads > MAX_TASKS)
        n_threads = MAX_TASKS;
    if (n_threads > n_tasks)
        n_threads = (uint32_t)n_tasks;
    /* the threads are busy with the outer loop already */
    if (inside_loop)
        n_threads = 1;
    if (n_threads > 1) {
        loop l = {body, arg, n_tasks, 0};
        for (; n_threads > 1; n_threads /= 2)
            if (vly_thread_gang(n_threads, loop_member, &l) == VLY_OK)
                return;
    }
    for (uint64_t task = 0; task < n_tasks; task++)
        body(arg, task);
}

/* A thread inherits a real-time policy, under which nice values have no effect.
 */
static void leave_real_time(void)
{
    const struct sched_param none = {0};
    const int policy = sched_getscheduler(0);
    if (policy == SCHED_FIFO || policy == SCHED_RR)
        (void)pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
}

const char *vly_thread_background(void)
{
    const struct sched_param none = {0};
    const id_t thread = (id_t)syscall(SYS_gettid);
    if (pthread_setschedparam(pthread_self(), SCHED_IDLE, &none) == 0)
        return "SCHED_IDLE";
    leave_real_time();
    /* Linux keeps a priority for each thread */
    if (setpriority(PRIO_PROCESS, thread, 19) == 0)
        return "nice 19";
    return NULL;
}

void vly_thread_nicer(int by)
{
    const id_t thread = (id_t)syscall(SYS_gettid);
    leave_real_time();
    errno = 0;
    const int before = getpriority(PRIO_PROCESS, thread);
    if (errno == 0)
        (void)setpriority(PRIO_PROCESS, thread,
                          before + by < 19 ? before + by : 19);
}

void vly_thread_foreground(pthread_t thread)
{
    const struct sched_param none = {0};
    (void)pthread_setschedparam(thread, SCHED_OTHER, &none);
}

static uint64_t waited_of(const char *path)
{
    char text[96];
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    const ssize_t n = read(file, text, sizeof text - 1);
    (void)close(file);
    text[n > 0 ? n : 0] = '\0';
    /* "RUN WAITED SLICES" */
    char *end = NULL;
    (void)strtoull(text, &end, 10);
    return strtoull(end, NULL, 10);
}

uint64_t vly_thread_waited_ns(void)
{
    return waited_of("/proc/thread-self/schedstat");
}

uint64_t vly_thread_pool_waited_ns(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < MAX_LOOKED_AT; i++) {
        char path[64];
        const int id = atomic_load(&pool_workers[i].id);
        if (id == 0)
            break;
        (void)snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", id);
        sum += waited_of(path);
    }
    return sum;
}

uint64_t vly_thread_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
