/* SPDX-License-Identifier: Apache-2.0
 * The policy of device memory: calls that are wrong, a host without memory, and
 * a free while the same block is being dropped.
 */
#include "device_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "plugin/device_blocks.h"
#include "plugin/host_log.h"
#include "plugin/host_table.h"

enum { KIB = 1024, MIB = 1024 * KIB };

/* ---- wrong calls -------------------------------------------------------- */

static int n_logged;
static char logged[256];

static void hear(void *arg, int32_t level, const char *source,
                 const char *message)
{
    (void)arg;
    (void)level;
    n_logged++;
    snprintf(logged, sizeof logged, "%s: %.200s", source, message);
}

static void *reloads; /* what drop_allocates got */
static vly_status reload_status;
static vly_device_client *reload_client;

static void drop_allocates(void *arg)
{
    (void)arg;
    reload_status = vly_account_alloc(reload_client, 0, 1, 0, &reloads, NULL);
}

static void wrong_calls(void **state)
{
    (void)state;
    fixture_device device = {.capacity = MIB};
    vly_device_client *client = fixture_open(&device, "wrong:0");
    vly_device_client *other = fixture_open(&device, "wrong:0");
    vly_error error = VLY_ERROR_INIT;
    uint64_t token = 0;
    void *memory = fixture_alloc(client, 1);
    void *second = NULL;
    int here = 0;
    vly_log_set_sink(hear, NULL);
    vly_account_free(client, &here);
    assert_int_equal(n_logged, 1);
    assert_non_null(strstr(logged, "test: wrong:0: free of memory that it has "
                                   "not: 0x"));
    vly_account_free(other, memory); /* not its own */
    assert_int_equal(n_logged, 2);
    vly_account_free(client, NULL);
    vly_account_free(NULL, memory);
    assert_int_equal(n_logged, 2);
    assert_int_equal(vly_account_alloc(client, 0, 1, 3, &second, &error),
                     VLY_E_INVALID);
    assert_int_equal(vly_account_reloadable(client, &here, drop_allocates, NULL,
                                            &token, &error),
                     VLY_E_INVALID);
    assert_int_equal(
        vly_account_reloadable(client, memory, NULL, NULL, &token, &error),
        VLY_E_INVALID);
    assert_ok(vly_account_reloadable(client, memory, drop_allocates, NULL,
                                     &token, &error),
              error);
    assert_int_equal(vly_account_reloadable(client, memory, drop_allocates,
                                            NULL, &token, &error),
                     VLY_E_INVALID);
    reload_client = client;
    assert_ok(fixture_want(client, MIB, 0, &second, &error), error);
    assert_int_equal(reload_status, VLY_E_INVALID);
    assert_null(reloads);
    /* what its plugin forgot is in nobody's account */
    vly_account_close(client);
    assert_int_equal(n_logged, 3);
    assert_string_equal(logged,
                        "test: 1 blocks of memory of wrong:0 were not freed");
    assert_int_equal(fixture_usage("wrong:0").used_bytes, 0);
    assert_int_equal(device.n_live, 1);
    vly_account_close(other);
    vly_account_close(NULL);
    vly_log_set_sink(NULL, NULL);
    free(second); /* the device's own way to give a block back */
    assert_int_equal(vly_device_memory_limit("", 1, &error), VLY_E_INVALID);
    assert_int_equal(
        vly_device_memory_limit("a_name_of_thirty_two_characters.", 1, &error),
        VLY_E_INVALID);
    assert_int_equal(vly_device_memory_usage(0, NULL), VLY_E_INVALID);
    assert_int_equal(
        vly_device_memory_usage(
            1000, &(vly_device_usage){.struct_size = sizeof(vly_device_usage)}),
        VLY_E_INVALID);
}

/* Each allocation of the host fails once: nothing is left, nothing charged. */
static void host_memory_runs_out(void **state)
{
    (void)state;
    fixture_device device = {.capacity = MIB};
    vly_error error = VLY_ERROR_INIT;
    vly_device_client *client = fixture_open(&device, "host:1");
    uint64_t live = vly_memory_live();
    void *memory = NULL;
    vly_memory_fail_at(1);
    assert_int_equal(fixture_want(client, 1000, 0, &memory, &error),
                     VLY_E_NOMEM);
    assert_true(error.bytes_requested > 0);
    assert_null(memory);
    assert_int_equal(fixture_usage("host:1").used_bytes, 0);
    assert_int_equal(vly_memory_live(), live);
    const vly_device_memory *table = vly_host_table()->device_memory;
    const vly_device_allocator none = {.struct_size = sizeof none};
    vly_device_client *second = NULL;
    assert_int_equal(
        table->open(vly_host_table()->context, &none, &second, &error),
        VLY_E_INVALID);
    assert_null(second);
    vly_account_close(client);
    assert_true(vly_memory_live() < live);
}

/* ---- free while it is dropped ------------------------------------------- */

static pthread_barrier_t in_drop, at_free;

static void slow_drop(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&in_drop);
    pthread_barrier_wait(&at_free);
}

static void *allocate_all(void *arg)
{
    void *memory = NULL;
    vly_status status = vly_account_alloc(arg, 0, MIB, 0, &memory, NULL);
    return status == VLY_OK ? memory : NULL;
}

/* Lets drop end once free waits for it. */
static void *end_drop(void *arg)
{
    const vly_device_block *block = arg;
    uint32_t n_waiting = 0;
    while (n_waiting == 0) {
        sched_yield();
        pthread_mutex_lock(&vly_account_lock);
        n_waiting = block->n_waiting;
        pthread_mutex_unlock(&vly_account_lock);
    }
    pthread_barrier_wait(&at_free);
    return NULL;
}

/* A plugin that frees what is just being dropped waits for the end of drop, and
 * the memory is freed once. */
static void free_during_drop(void **state)
{
    (void)state;
    fixture_device device = {.capacity = MIB};
    vly_device_client *client = fixture_open(&device, "drop:0");
    vly_error error = VLY_ERROR_INIT;
    uint64_t token = 0;
    pthread_t evictor, waker;
    void *got = NULL;
    pthread_barrier_init(&in_drop, NULL, 2);
    pthread_barrier_init(&at_free, NULL, 2);
    void *memory = fixture_alloc(client, MIB);
    assert_ok(
        vly_account_reloadable(client, memory, slow_drop, NULL, &token, &error),
        error);
    pthread_create(&evictor, NULL, allocate_all, client);
    pthread_barrier_wait(&in_drop);
    assert_int_equal(vly_account_hold(client, memory, token), 0);
    pthread_mutex_lock(&vly_account_lock);
    vly_device_block *block = vly_blocks_find(client, memory);
    pthread_mutex_unlock(&vly_account_lock);
    pthread_create(&waker, NULL, end_drop, block);
    vly_account_free(client, memory);
    pthread_join(waker, NULL);
    pthread_join(evictor, &got);
    assert_non_null(got);
    assert_int_equal(device.n_live, 1);
    vly_account_free(client, got);
    vly_account_close(client);
    assert_int_equal(device.n_live, 0);
    pthread_barrier_destroy(&in_drop);
    pthread_barrier_destroy(&at_free);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(wrong_calls),
    cmocka_unit_test(host_memory_runs_out),
    cmocka_unit_test(free_during_drop),
};

VLY_TEST_MAIN(tests)
