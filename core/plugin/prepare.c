/* SPDX-License-Identifier: Apache-2.0
 * Starts a plugin and prepares its devices on a thread, beside the compilation
 * of a network. One after the other they would add up: on an H100 the driver
 * and its context take 0.39 s (0.91 s for the driver alone if it sees four),
 * the compilation of the full microcircuit 0.36 s on 64 cores.
 */
#include <volley/host.h>

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "plugin/registry_parts.h"

struct vly_preparation {
    pthread_t thread;
    vly_registry *registry;
    vly_backend_spec spec;
    uint32_t n_threads;
    uint32_t wanted; /* atomic: the caller waits */
    uint64_t begin_ns;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started; /* with lock */
    vly_prepare_times times;
};

/* ---- forks --------------------------------------------------------------- */

/* Held in shared mode by every thread that prepares. A driver may fork itself
 * to load a module of the kernel, on such a thread or on another one that
 * starts a plugin: that fork does not wait. */
static pthread_rwlock_t forks = PTHREAD_RWLOCK_INITIALIZER;
static _Thread_local int exempt;

void vly_forks_exempt(int by)
{
    exempt += by;
}

static void before_fork(void)
{
    if (exempt == 0)
        pthread_rwlock_wrlock(&forks);
}

static void after_fork(void)
{
    if (exempt == 0)
        pthread_rwlock_unlock(&forks);
}

/* In the child: a thread that the child does not have may own the lock. */
static void in_child(void)
{
    forks = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
}

static bool forks_wait(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool wait;
    pthread_mutex_lock(&lock);
    if (!wait)
        wait = pthread_atfork(before_fork, after_fork, in_child) == 0;
    const bool done = wait;
    pthread_mutex_unlock(&lock);
    return done;
}

/* ---- the thread ---------------------------------------------------------- */

/* Plugins of older minors were promised to be started by the thread that makes
 * the net. */
static bool may_start(const registry_entry *entry)
{
    return vly_registry_minor(entry) >= 9;
}

/* The first plugin that auto would try and that can be used; it never chooses
 * an emulated device. */
static registry_entry *find_auto(const vly_registry *registry)
{
    const char *id;
    for (uint32_t i = 0; (id = vly_registry_auto(registry, i)); i++) {
        registry_entry *entry = vly_registry_listed(registry, id);
        if (entry && !may_start(entry))
            return NULL;
        if (entry && vly_registry_start(entry) &&
            entry->backend.struct_size != 0 &&
            (entry->backend.flags & VLY_BACKEND_EMULATED) == 0)
            return entry;
    }
    return NULL;
}

static void set_started(vly_preparation *p)
{
    pthread_mutex_lock(&p->lock);
    p->started = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

/* Nothing if the spec is refused where the net is made. */
static void prepare_devices(vly_preparation *p, const vly_backend *backend)
{
    vly_device_spec devices[VLY_BACKEND_SPAN_MOST];
    vly_device_spec first = {.struct_size = sizeof first};
    uint32_t n = p->spec.last - p->spec.number + 1;
    if (vly_backend_spec_device(&p->spec,
                                (backend->flags & VLY_BACKEND_HOST) != 0,
                                p->n_threads, &first, NULL) != VLY_OK)
        return;
    if (p->spec.all)
        n = backend->device_count();
    if (n < 1 || n > VLY_BACKEND_SPAN_MOST)
        return;
    for (uint32_t i = 0; i < n; i++) {
        devices[i] = first;
        devices[i].index += i;
    }
    backend->prepare(devices, n, &p->wanted);
}

static void *prepare_main(void *arg)
{
    vly_preparation *p = arg;
    registry_entry *entry;
    vly_forks_exempt(1);
    pthread_rwlock_rdlock(&forks);
    if (strcmp(p->spec.id, "auto") == 0) {
        entry = find_auto(p->registry);
    } else {
        entry = vly_registry_listed(p->registry, p->spec.id);
        if (entry && (!may_start(entry) || !vly_registry_start(entry)))
            entry = NULL;
    }
    const uint64_t started = vly_clock_ns();
    p->times.start_ns = started - p->begin_ns;
    set_started(p);
    if (entry && entry->backend.struct_size != 0 && entry->backend.prepare)
        prepare_devices(p, &entry->backend);
    p->times.prepare_ns = vly_clock_ns() - started;
    pthread_rwlock_unlock(&forks);
    return NULL;
}

/* ---- public -------------------------------------------------------------- */

static vly_preparation *make(vly_registry *registry, const char *text,
                             uint32_t n_threads)
{
    vly_backend_spec spec;
    if (vly_backend_spec_parse(text, &spec, NULL) != VLY_OK || !forks_wait())
        return NULL;
    vly_preparation *p = vly_calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->registry = registry;
    p->spec = spec;
    p->n_threads = n_threads;
    p->begin_ns = vly_clock_ns();
    pthread_mutex_init(&p->lock, NULL);
    vly_condition_init(&p->changed);
    return p;
}

static void release(vly_preparation *p)
{
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    vly_free(p);
}

vly_preparation *vly_prepare_begin(vly_registry *registry, const char *spec,
                                   uint32_t n_threads)
{
    vly_preparation *p = make(registry, spec ? spec : "auto", n_threads);
    if (!p)
        return NULL;
    if (vly_thread_start(&p->thread, prepare_main, p, "a device", NULL) ==
        VLY_OK)
        return p;
    release(p);
    return NULL;
}

int vly_prepare_started(vly_preparation *p, uint32_t ms)
{
    if (!p)
        return true;
    const uint64_t until = p->begin_ns + ms * UINT64_C(1000000);
    pthread_mutex_lock(&p->lock);
    for (uint64_t now = vly_clock_ns(); !p->started && now < until;
         now = vly_clock_ns())
        vly_condition_wait(&p->changed, &p->lock, until - now);
    const bool started = p->started;
    pthread_mutex_unlock(&p->lock);
    return started;
}

void vly_prepare_end(vly_preparation *p, vly_prepare_times *times)
{
    if (!p)
        return;
    const uint64_t begin = vly_clock_ns();
    __atomic_store_n(&p->wanted, 1u, __ATOMIC_RELEASE);
    pthread_join(p->thread, NULL);
    p->times.waited_ns = vly_clock_ns() - begin;
    if (times) /* without its size: nothing is wanted */
        (void)vly_struct_fill(times, &p->times, sizeof(p->times));
    release(p);
}
