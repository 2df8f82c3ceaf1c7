/* SPDX-License-Identifier: Apache-2.0
 * vly_prepare_begin starts the devices of a backend on a thread of its own. The
 * plugin gets the devices that the text names and learns when the host begins
 * to wait. Errors of the plugin are the same with and without it. A process may
 * fork at any time.
 */
#include <volley/host.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "preparing_backend.h"
#include "volley_test.h"

#define PLUGINS VLY_TEST_PLUGINS "/"

typedef struct fixture {
    vly_registry *registry;
    const preparing_seen *seen;
    uint32_t n_calls; /* before */
} fixture;

static void open_plugin(fixture *f)
{
    vly_error error = VLY_ERROR_INIT;
    const void *seen = NULL;
    setenv("VOLLEY_PLUGIN_PATH", PLUGINS "preparing.so", 1);
    assert_ok(vly_registry_create(&f->registry, &error), error);
    assert_ok(vly_registry_interface(f->registry, "preparing",
                                     PREPARING_INTERFACE, &seen, &error),
              error);
    f->seen = seen;
    f->n_calls = f->seen->n_calls;
}

static uint32_t n_done(const fixture *f)
{
    return __atomic_load_n(&f->seen->done, __ATOMIC_ACQUIRE);
}

/* The host calls prepare on another thread, with the devices that the text
 * names, and tells it that it waits. */
static void test_devices(void **state)
{
    static const struct {
        const char *spec;
        uint32_t n;
        uint32_t first;
        uint32_t last;
    } cases[] = {{"preparing", 1, 0, 0},
                 {"preparing:3", 1, 3, 3},
                 {"preparing:2-5,plan=x", 4, 2, 5},
                 {"preparing:all", 1, 0, 0}};
    (void)state;
    fixture f;
    open_plugin(&f);
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vly_prepare_times times = {.struct_size = sizeof times};
        vly_preparation *p = vly_prepare_begin(f.registry, cases[i].spec, 2);
        assert_non_null(p);
        assert_true(vly_prepare_started(p, 60000));
        vly_prepare_end(p, &times);
        assert_int_equal(f.seen->n_calls, f.n_calls + i + 1);
        assert_int_equal(n_done(&f), f.n_calls + i + 1);
        assert_int_equal(f.seen->n_devices, cases[i].n);
        assert_int_equal(f.seen->first, cases[i].first);
        assert_int_equal(f.seen->last, cases[i].last);
        assert_int_equal(f.seen->wanted, 1);
        assert_false(pthread_equal(f.seen->thread, pthread_self()));
        assert_true(times.prepare_ns > 0);
    }
    vly_registry_destroy(f.registry);
}

/* There is nothing to call if the text is wrong, the plugin is missing, its
 * init fails, or it is older than ABI 1.9, which brought prepare. */
static void test_nothing(void **state)
{
    static const char *const specs[] = {
        "preparing:x", "nothing", "minor_8", "broken_init_fails", "auto", NULL};
    (void)state;
    fixture f;
    open_plugin(&f);
    vly_registry_destroy(f.registry);
    setenv("VOLLEY_PLUGIN_PATH",
           PLUGINS "preparing.so:" PLUGINS "minor_8.so:" PLUGINS
                   "broken_init_fails.so",
           1);
    vly_error error = VLY_ERROR_INIT;
    assert_ok(vly_registry_create(&f.registry, &error), error);
    for (uint32_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        vly_preparation *p = vly_prepare_begin(f.registry, specs[i], 1);
        assert_true(vly_prepare_started(p, 60000));
        vly_prepare_end(p, NULL);
    }
    vly_prepare_end(NULL, NULL);
    assert_int_equal(f.seen->n_calls, f.n_calls);
    vly_registry_destroy(f.registry);
}

/* If the init of a plugin fails, the host reports the same error with and
 * without a preparation before. */
static void test_failure(void **state)
{
    vly_error error[2] = {VLY_ERROR_INIT, VLY_ERROR_INIT};
    vly_status status[2];
    (void)state;
    setenv("VOLLEY_PLUGIN_PATH", PLUGINS "broken_init_fails.so", 1);
    for (int i = 0; i < 2; i++) {
        const vly_backend *table = NULL;
        vly_registry *registry = NULL;
        vly_plugin_info info = {.struct_size = sizeof info};
        assert_int_equal(vly_registry_create(&registry, &error[i]), VLY_OK);
        assert_int_equal(vly_registry_file(registry, 0, &info), VLY_OK);
        if (i == 1)
            vly_prepare_end(vly_prepare_begin(registry, info.id, 1), NULL);
        status[i] = vly_registry_backend(registry, info.id, &table, &error[i]);
        vly_registry_destroy(registry);
    }
    assert_int_not_equal(status[0], VLY_OK);
    assert_int_equal(status[0], status[1]);
    assert_string_equal(error[0].message, error[1].message);
}

/* fork waits until the thread has returned from prepare: a lock that it held
 * would stay locked in the child, which does not have the thread. */
static void test_fork(void **state)
{
    int end = 0;
    (void)state;
    fixture f;
    open_plugin(&f);
    vly_preparation *p = vly_prepare_begin(f.registry, "preparing,short=1", 1);
    assert_non_null(p);
    while (__atomic_load_n(&f.seen->n_calls, __ATOMIC_ACQUIRE) == f.n_calls)
        ;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) /* it may fork too, and has nothing to wait for */
        _exit(n_done(&f) == f.seen->n_calls && fork() >= 0 ? 0 : 1);
    assert_int_equal(n_done(&f), f.seen->n_calls);
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_int_equal(end, 0);
    vly_prepare_end(p, NULL);
    vly_registry_destroy(f.registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_failure),
        cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests_name("plugin_prepare", tests, NULL, NULL) ? 1
                                                                            : 0;
}
