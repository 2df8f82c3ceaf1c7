/* SPDX-License-Identifier: Apache-2.0
 * The host of the tests of a backend plugin: memory that counts and fails on
 * request, threads of its own, and the plugin as it is loaded. It has no policy
 * of device memory, as hosts older than ABI 1.3, but where a test asks for it.
 */
#include "test_cpu_net.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#ifdef TEST_DEVICE_MEMORY
#include "plugin/host_table.h"
#endif

#ifndef TEST_PLUGIN
#define TEST_PLUGIN VLY_TEST_PLUGIN_DIR "/cpu.so"
#endif
/* Environment that forbids to skip the test where there is no device. */
#ifndef TEST_REQUIRED
#define TEST_REQUIRED ""
#endif

const vly_backend *test_backend;

/* ---- host -------------------------------------------------------------- */

static _Atomic uint64_t live;
static _Atomic uint64_t fail_at;

static void *host_alloc(void *context, uint64_t bytes, uint64_t align)
{
    (void)context;
    if (atomic_load(&fail_at) > 0 && atomic_fetch_sub(&fail_at, 1) == 1)
        return NULL;
    void *memory = aligned_alloc((size_t)align,
                                 (size_t)((bytes + align - 1) / align * align));
    if (memory != NULL)
        atomic_fetch_add(&live, 1);
    return memory;
}

static void host_free(void *context, void *memory)
{
    (void)context;
    if (memory != NULL)
        atomic_fetch_sub(&live, 1);
    free(memory);
}

static uint64_t n_warnings;
static char last_warning[2048];

static void host_log(void *context, int32_t level, const char *message)
{
    (void)context;
    if (level != VLY_LOG_WARN)
        return;
    n_warnings++;
    snprintf(last_warning, sizeof last_warning, "%s", message);
}

typedef struct host_task {
    void (*body)(void *arg, uint32_t task);
    void *arg;
    uint32_t task;
} host_task;

static void *host_thread(void *arg)
{
    const host_task *task = arg;
    task->body(task->arg, task->task);
    return NULL;
}

static _Atomic bool no_threads;

void test_host_no_threads(bool wanted)
{
    atomic_store(&no_threads, wanted);
}

static vly_status host_parallel_for(void *context, uint32_t n_tasks,
                                    void (*body)(void *arg, uint32_t task),
                                    void *arg)
{
    (void)context;
    if (atomic_load(&no_threads))
        return VLY_E_NOMEM;
    pthread_t threads[64];
    host_task tasks[64];
    assert_true(n_tasks <= 64);
    for (uint32_t i = 1; i < n_tasks; i++) {
        tasks[i] = (host_task){.body = body, .arg = arg, .task = i};
        assert_int_equal(
            pthread_create(&threads[i], NULL, host_thread, &tasks[i]), 0);
    }
    body(arg, 0);
    for (uint32_t i = 1; i < n_tasks; i++)
        pthread_join(threads[i], NULL);
    return VLY_OK;
}

static _Atomic uint64_t drawn_seed;
static _Atomic uint64_t drawn_calls;
static _Atomic uint64_t drawn_ns;

void test_host_clock(uint64_t seed)
{
    atomic_store(&drawn_seed, seed);
}

static uint64_t host_clock_ns(void *context)
{
    (void)context;
    const uint64_t seed = atomic_load(&drawn_seed);
    if (seed != 0) {
        uint64_t x = seed + atomic_fetch_add(&drawn_calls, 1);
        x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
        const uint64_t step = (x >> 20) % 4000000;
        return atomic_fetch_add(&drawn_ns, step) + step;
    }
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void host_telemetry(void *context, const char *name, double value)
{
    (void)context;
    (void)name;
    (void)value;
}

/* TEST_DEVICE_MEMORY: with the engine's policy of device memory */
#ifdef TEST_DEVICE_MEMORY
#define HOST_DEVICE_MEMORY (vly_host_table()->device_memory)
#define HOST_CONTEXT (vly_host_table()->context)
#else
#define HOST_DEVICE_MEMORY NULL
#define HOST_CONTEXT NULL
#endif

static vly_host host = {
    .struct_size = sizeof(vly_host),
    .abi_version = VLY_ABI_VERSION,
    .alloc = host_alloc,
    .free = host_free,
    .log = host_log,
    .parallel_for = host_parallel_for,
    .clock_ns = host_clock_ns,
    .telemetry = host_telemetry,
};

void test_host_fail_at(uint64_t n)
{
    atomic_store(&fail_at, n);
}

bool test_host_fail_at_came(void)
{
    return atomic_load(&fail_at) == 0;
}

uint64_t test_host_warnings(const char **last)
{
    *last = last_warning;
    return n_warnings;
}

uint64_t test_host_live(void)
{
    return atomic_load(&live);
}

void test_plugin_open(void)
{
    if (test_backend != NULL)
        return;
    void *handle = dlopen(TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        fail_msg("%s", dlerror());
    const vly_plugin *plugin = dlsym(handle, VLY_PLUGIN_SYMBOL);
    assert_non_null(plugin);
    vly_error error = {.struct_size = sizeof error};
    host.device_memory = HOST_DEVICE_MEMORY;
    host.context = HOST_CONTEXT;
    if (plugin->init(&host, &error) != VLY_OK) {
        const char *required = getenv(TEST_REQUIRED);
        if (TEST_REQUIRED[0] != 0 &&
            (required == NULL || strcmp(required, "1") != 0)) {
            print_message("skipped: %s\n", error.message);
            skip();
        }
        fail_msg("%s", error.message);
    }
    assert_null(plugin->get_interface("volley.nothing/1"));
    test_backend = plugin->get_interface(VLY_BACKEND_INTERFACE);
    assert_non_null(test_backend);
}
