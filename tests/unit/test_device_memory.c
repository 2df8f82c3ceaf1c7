/* SPDX-License-Identifier: Apache-2.0
 * The policy of device memory, rule by rule. Every test has an account of its
 * own, as accounts live as long as the process. test_device_wrong.c has calls
 * that are wrong or in the way of each other, test_device_random.c the rules
 * together.
 */
#include "device_fixture.h"

#include "base/error.h"

enum { KIB = 1024, MIB = 1024 * KIB };

/* ---- size classes, reuse ------------------------------------------------ */

static void classes_waste_little(void **state)
{
    (void)state;
    uint64_t last = 0;
    for (uint64_t bytes = 0; bytes < UINT64_C(1) << 40;
         bytes += 1 + bytes / 7) {
        uint64_t made = vly_account_class(bytes);
        assert_true(made >= bytes && made > 0 && made >= last);
        assert_int_equal(made % 512, 0);
        assert_int_equal(vly_account_class(made), made);
        assert_true(made - bytes <= 512 || made - bytes <= bytes / 32);
        assert_true(made - bytes < 2 * MIB);
        last = made;
    }
    assert_int_equal(vly_account_class(UINT64_MAX), 0);
}

static void freed_memory_is_used_again(void **state)
{
    (void)state;
    fixture_device device = {.capacity = UINT64_MAX};
    vly_device_client *client = fixture_open(&device, "reuse:0");
    vly_device_client *other = fixture_open(&device, "reuse:0");
    vly_error error = VLY_ERROR_INIT;
    void *again = NULL;
    void *first = fixture_alloc(client, 100000);
    vly_account_free(client, first);
    assert_int_equal(device.n_live, 1);
    assert_int_equal(fixture_usage("reuse:0").kept_bytes,
                     vly_account_class(100000));
    /* another client, kind or class gets memory of its own */
    void *theirs = fixture_alloc(other, 100000);
    assert_ptr_not_equal(theirs, first);
    assert_ok(vly_account_alloc(client, 1, 100000, 0, &again, &error), error);
    assert_ptr_not_equal(again, first);
    vly_account_free(client, again);
    again = fixture_alloc(client, 110000);
    assert_ptr_not_equal(again, first);
    vly_account_free(client, again);
    assert_int_equal(fixture_usage("reuse:0").reuses, 0);
    /* the same class, if not the same size */
    again = fixture_alloc(client, 100001);
    assert_ptr_equal(again, first);
    assert_int_equal(fixture_usage("reuse:0").reuses, 1);
    assert_int_equal(device.n_allocs, 4);
    vly_account_free(client, again);
    vly_account_free(other, theirs);
    vly_account_close(client);
    assert_int_equal(device.n_live, 1);
    vly_account_close(other);
    assert_int_equal(device.n_live, 0);
    assert_int_equal(fixture_usage("reuse:0").kept_bytes, 0);
}

static void so_much_is_kept(void **state)
{
    (void)state;
    fixture_device device = {.capacity = UINT64_MAX};
    vly_device_client *client = fixture_open(&device, "keep:0");
    void *blocks[300];
    vly_device_memory_keep(3 * MIB);
    for (int i = 0; i < 4; i++)
        blocks[i] = fixture_alloc(client, MIB);
    void *large = fixture_alloc(client, 4 * MIB);
    for (int i = 0; i < 4; i++)
        vly_account_free(client, blocks[i]);
    assert_int_equal(fixture_usage("keep:0").kept_bytes, 3 * MIB);
    vly_account_free(client, large); /* alone: the others stay */
    assert_int_equal(fixture_usage("keep:0").kept_bytes, 3 * MIB);
    assert_ptr_equal(fixture_alloc(client, MIB), blocks[3]); /* the newest */
    vly_account_free(client, blocks[3]);
    vly_device_memory_keep(0);
    assert_int_equal(device.n_live, 0);
    vly_device_memory_keep(256 * MIB);
    for (int i = 0; i < 300; i++)
        blocks[i] = fixture_alloc(client, 1);
    for (int i = 0; i < 300; i++)
        vly_account_free(client, blocks[i]);
    assert_int_equal(device.n_live, 256); /* not by bytes alone */
    vly_account_close(client);
    assert_int_equal(device.n_live, 0);
}

/* ---- quota -------------------------------------------------------------- */

static void quota_is_held(void **state)
{
    (void)state;
    fixture_device device = {.capacity = UINT64_MAX};
    vly_error error = VLY_ERROR_INIT;
    void *memory = NULL;
    assert_ok(vly_device_memory_limit("quota:0", 10 * MIB, &error), error);
    vly_device_client *client = fixture_open(&device, "quota:0");
    void *first = fixture_alloc(client, 6 * MIB);
    assert_int_equal(fixture_want(client, 5 * MIB, 0, &memory, &error),
                     VLY_E_NOMEM);
    assert_null(memory);
    assert_int_equal(error.status, VLY_E_NOMEM);
    assert_int_equal(error.bytes_requested, 5 * MIB);
    assert_int_equal(error.bytes_available, 4 * MIB);
    assert_string_equal(
        error.message,
        "out of memory: quota:0: 5242880 bytes requested, 4194304 available: "
        "guaranteed memory may fill it up to 10485760, in use are 6291456 "
        "guaranteed, 0 burstable, 0 best effort (volley --device-memory)");
    void *second = fixture_alloc(client, 4 * MIB); /* to the last byte */
    assert_int_equal(fixture_want(client, 1, 0, &memory, &error), VLY_E_NOMEM);
    assert_int_equal(error.bytes_available, 0);
    assert_int_equal(fixture_want(client, UINT64_MAX, 0, &memory, &error),
                     VLY_E_NOMEM);
    assert_int_equal(fixture_usage("quota:0").refusals, 3);
    /* cached memory counts, and is freed first */
    vly_account_free(client, second);
    assert_int_equal(fixture_usage("quota:0").kept_bytes, 4 * MIB);
    second = fixture_alloc(client, 2 * MIB);
    assert_int_equal(fixture_usage("quota:0").kept_bytes, 0);
    assert_int_equal(device.in_use, 8 * MIB);
    /* a lower limit: memory in use stays, nothing is cached */
    vly_account_free(client, second);
    assert_ok(vly_device_memory_limit("quota:0", MIB, &error), error);
    assert_int_equal(fixture_usage("quota:0").used_bytes, 6 * MIB);
    assert_int_equal(fixture_usage("quota:0").kept_bytes, 0);
    assert_int_equal(fixture_usage("quota:0").peak_bytes, 10 * MIB);
    assert_int_equal(fixture_usage("quota:0").quota_bytes, MIB);
    assert_int_equal(fixture_want(client, 1, 0, &memory, &error), VLY_E_NOMEM);
    vly_account_free(client, first);
    vly_account_close(client);
    assert_int_equal(device.n_live, 0);
}

/* The usual quota: of devices without one of their own, now and later. */
static void usual_quota(void **state)
{
    (void)state;
    fixture_device device = {.capacity = UINT64_MAX};
    vly_error error = VLY_ERROR_INIT;
    vly_device_client *early = fixture_open(&device, "early:0");
    vly_device_client *host = fixture_open(&device, "host");
    assert_ok(vly_device_memory_limit("own:0", 7, &error), error);
    assert_ok(vly_device_memory_limit(NULL, 5, &error), error);
    vly_device_client *late = fixture_open(&device, "late:0");
    vly_device_client *own = fixture_open(&device, "own:0");
    assert_int_equal(fixture_usage("early:0").quota_bytes, 5);
    assert_int_equal(fixture_usage("late:0").quota_bytes, 5);
    assert_int_equal(fixture_usage("own:0").quota_bytes, 7);
    assert_true(fixture_usage("host").quota_bytes == UINT64_MAX);
    assert_ok(vly_device_memory_limit(NULL, UINT64_MAX, &error), error);
    assert_true(fixture_usage("late:0").quota_bytes == UINT64_MAX);
    vly_account_close(early);
    vly_account_close(host);
    vly_account_close(late);
    vly_account_close(own);
}

/* Others are refused before a device is full: 15/16 and 7/8 of the quota, or of
 * what the device says it has. */
static void less_important_first_refused(void **state)
{
    (void)state;
    fixture_device device = {.capacity = 32 * MIB, .total = 32 * MIB};
    vly_device_client *client = fixture_open(&device, "classes:0");
    vly_error error = VLY_ERROR_INIT;
    void *blocks[4] = {NULL};
    void *none = NULL;
    assert_ok(
        fixture_want(client, 28 * MIB, VLY_QOS_BEST_EFFORT, &blocks[0], &error),
        error);
    assert_int_equal(
        fixture_want(client, 1, VLY_QOS_BEST_EFFORT, &none, &error),
        VLY_E_NOMEM);
    assert_non_null(strstr(error.message, "best effort memory may fill it up"));
    assert_ok(
        fixture_want(client, 2 * MIB, VLY_QOS_BURSTABLE, &blocks[1], &error),
        error);
    assert_int_equal(fixture_want(client, 1, VLY_QOS_BURSTABLE, &none, &error),
                     VLY_E_NOMEM);
    assert_ok(
        fixture_want(client, 2 * MIB, VLY_QOS_GUARANTEED, &blocks[2], &error),
        error);
    vly_device_usage usage = fixture_usage("classes:0");
    assert_int_equal(usage.n_blocks, 3);
    assert_int_equal(usage.used_by[VLY_QOS_GUARANTEED], 2 * MIB);
    assert_int_equal(usage.used_by[VLY_QOS_BURSTABLE], 2 * MIB);
    assert_int_equal(usage.used_by[VLY_QOS_BEST_EFFORT], 28 * MIB);
    assert_int_equal(fixture_want(client, 1, VLY_QOS_GUARANTEED, &none, &error),
                     VLY_E_NOMEM); /* the device says so, not the policy */
    assert_string_equal(error.message, "out of memory: the device is full");
    assert_int_equal(error.bytes_requested, 512);
    for (int i = 0; i < 3; i++)
        vly_account_free(client, blocks[i]);
    vly_account_close(client);
}

/* ---- eviction ----------------------------------------------------------- */

/* Memory that may go, and whether it has. */
typedef struct cache {
    vly_device_client *client;
    void *memory;
    uint64_t token;
    int order; /* 0: it is there; else the how-manieth to go */
    bool frees;
} cache;

static int n_gone;

static void cache_drop(void *arg)
{
    cache *of = arg;
    of->order = ++n_gone;
    if (of->frees)
        vly_account_free(of->client, of->memory);
}

static void cache_make(cache *of, vly_device_client *client, uint64_t bytes,
                       uint32_t qos)
{
    vly_error error = VLY_ERROR_INIT;
    *of = (cache){.client = client};
    assert_ok(fixture_want(client, bytes, qos, &of->memory, &error), error);
    assert_ok(vly_account_reloadable(client, of->memory, cache_drop, of,
                                     &of->token, &error),
              error);
}

static void oldest_of_the_least_goes(void **state)
{
    (void)state;
    fixture_device device = {.capacity = UINT64_MAX};
    vly_error error = VLY_ERROR_INIT;
    cache caches[6];
    static const uint32_t classes[6] = {
        VLY_QOS_GUARANTEED, VLY_QOS_BURSTABLE,   VLY_QOS_BEST_EFFORT,
        VLY_QOS_BURSTABLE,  VLY_QOS_BEST_EFFORT, VLY_QOS_BEST_EFFORT};
    assert_ok(vly_device_memory_limit("order:0", 16 * MIB, &error), error);
    vly_device_client *client = fixture_open(&device, "order:0");
    n_gone = 0;
    for (int i = 0; i < 6; i++) {
        cache_make(&caches[i], client, MIB, classes[i]);
        caches[i].frees = i % 2 == 0; /* or the host does */
    }
    /* number 2 was used last, number 4 is in use */
    assert_int_equal(
        vly_account_hold(client, caches[2].memory, caches[2].token), 1);
    vly_account_release(client, caches[2].memory, caches[2].token);
    assert_int_equal(
        vly_account_hold(client, caches[4].memory, caches[4].token), 1);
    void *all = NULL;
    /* more than possible: no block is dropped in vain */
    assert_int_equal(fixture_want(client, 16 * MIB, 0, &all, &error),
                     VLY_E_NOMEM);
    assert_int_equal(error.bytes_available, 15 * MIB);
    assert_int_equal(n_gone, 0);
    /* burstable memory does not drive out guaranteed memory */
    assert_int_equal(
        fixture_want(client, 14 * MIB, VLY_QOS_BURSTABLE, &all, &error),
        VLY_E_NOMEM);
    assert_int_equal(n_gone, 0);
    assert_ok(fixture_want(client, 12 * MIB, 0, &all, &error), error);
    assert_int_equal(caches[5].order, 1); /* one too many was 2 MiB */
    assert_int_equal(caches[2].order, 2);
    assert_int_equal(n_gone, 2);
    vly_account_free(client, all);
    assert_ok(fixture_want(client, 15 * MIB, 0, &all, &error), error);
    assert_int_equal(caches[1].order, 3);
    assert_int_equal(caches[3].order, 4);
    assert_int_equal(caches[0].order, 5);
    assert_int_equal(caches[4].order, 0);
    vly_device_usage usage = fixture_usage("order:0");
    assert_int_equal(usage.evictions, 5);
    assert_int_equal(usage.evicted_bytes, 5 * MIB);
    assert_int_equal(usage.n_blocks, 2);
    assert_int_equal(usage.used_bytes, 16 * MIB);
    /* who comes back finds nothing, even if another has the pointer now */
    assert_int_equal(
        vly_account_hold(client, caches[0].memory, caches[0].token), 0);
    assert_int_equal(vly_account_hold(client, all, caches[0].token), 0);
    vly_account_free(client, all);
    vly_account_free(client, caches[4].memory);
    vly_account_close(client);
    assert_int_equal(device.n_live, 0);
}

/* The allocator is out of memory: cached blocks are freed first, then evictable
 * ones. Any other failure is passed on without freeing blocks. */
static void device_is_full(void **state)
{
    (void)state;
    fixture_device device = {.capacity = 8 * MIB};
    vly_device_client *client = fixture_open(&device, "full:0");
    vly_device_client *other = fixture_open(&device, "full:0");
    vly_error error = VLY_ERROR_INIT;
    cache one;
    void *memory = NULL;
    n_gone = 0;
    cache_make(&one, client, 3 * MIB, VLY_QOS_BEST_EFFORT);
    void *kept = fixture_alloc(client, 2 * MIB);
    vly_account_free(client, kept);
    device.broken = VLY_E_DEVICE;
    assert_int_equal(fixture_want(other, 5 * MIB, 0, &memory, &error),
                     VLY_E_DEVICE);
    assert_string_equal(error.message, "the device is broken");
    assert_int_equal(fixture_usage("full:0").refusals, 0);
    device.broken = VLY_OK;
    assert_ok(fixture_want(other, 5 * MIB, 0, &memory, &error), error);
    assert_int_equal(error.status, VLY_OK);
    assert_int_equal(n_gone, 0);
    assert_int_equal(fixture_usage("full:0").kept_bytes, 0);
    vly_account_free(other, memory);
    assert_ok(fixture_want(other, 8 * MIB, 0, &memory, &error), error);
    assert_int_equal(n_gone, 1);
    void *none = NULL;
    assert_int_equal(fixture_want(client, MIB, 0, &none, &error), VLY_E_NOMEM);
    assert_int_equal(error.bytes_requested, MIB);
    assert_int_equal(error.bytes_available, 0);
    assert_int_equal(fixture_usage("full:0").used_bytes, 8 * MIB);
    vly_account_free(other, memory);
    vly_account_close(client);
    vly_account_close(other);
    assert_int_equal(device.n_live, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(classes_waste_little),
    cmocka_unit_test(freed_memory_is_used_again),
    cmocka_unit_test(so_much_is_kept),
    cmocka_unit_test(quota_is_held),
    cmocka_unit_test(usual_quota),
    cmocka_unit_test(less_important_first_refused),
    cmocka_unit_test(oldest_of_the_least_goes),
    cmocka_unit_test(device_is_full),
};

VLY_TEST_MAIN(tests)
