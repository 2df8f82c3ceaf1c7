/* SPDX-License-Identifier: Apache-2.0
 * Memory of accelerators on the processor by the host's policy: counted,
 * limited, and what can be made again is taken back, the longest unused first.
 * First what plugins share (host_account.c), then gemm_cpu, whose plans are
 * measured on random factors that stay.
 */
#include "volley_test.h"

#include <pthread.h>
#include <stdatomic.h>

#include "accel_common.h"
#include "accelerator/accelerator.h"
#include "base/error.h"
#include "base/memory.h"
#include "plugin/device_memory.h"
#include "plugin/host_table.h"

const char vly_support_plugin[] = "test";

enum { KIB = 1024, MIB = 1024 * KIB };

static vly_error error = VLY_ERROR_INIT;

static vly_device_usage usage(void)
{
    vly_device_usage found = {.struct_size = sizeof found};
    for (uint32_t i = 0; i < vly_device_memory_count(); i++)
        if (vly_device_memory_usage(i, &found) == VLY_OK &&
            strcmp(found.device, "host") == 0)
            return found;
    fail_msg("there is no account host");
    return found;
}

static void limit(uint64_t bytes)
{
    assert_ok(vly_device_memory_limit("host", bytes, &error), error);
}

/* ---- what plugins share ------------------------------------------------- */

static void counted(void **state)
{
    (void)state;
    uint64_t live = vly_memory_live();
    char *first = NULL, *second = NULL;
    assert_ok(vly_accel_host_start(vly_host_table(), &error), error);
    assert_ok(vly_accel_alloc(5, 1000, &first, &error), error);
    assert_int_equal((uintptr_t)first % 256, 0);
    assert_int_equal(usage().used_by[VLY_QOS_BURSTABLE], 5120);
    memset(first, 1, 5000);
    vly_accel_free(first);
    assert_int_equal(usage().kept_bytes, 5120);
    /* what was freed is used again, and cleared */
    assert_ok(vly_accel_alloc(5001, 1, &second, &error), error);
    assert_ptr_equal(first, second);
    for (uint32_t i = 0; i < 5001; i++)
        assert_int_equal(second[i], 0);
    vly_accel_free(second);
    const vly_memory *memory = &vly_accel_host_memory;
    void *third = NULL;
    assert_ok(memory->alloc_as(0, 5000, VLY_QOS_BEST_EFFORT, &third, &error),
              error);
    assert_int_equal(usage().used_by[VLY_QOS_BEST_EFFORT], 5120);
    memory->free(0, third);
    assert_int_equal(memory->alloc_as(0, 5000, 3, &third, &error),
                     VLY_E_INVALID);
    assert_int_equal(memory->alloc_as(1, 5000, 0, &third, &error),
                     VLY_E_INVALID);
    limit(16000);
    assert_int_equal(vly_accel_alloc(15001, 1, &first, &error), VLY_E_NOMEM);
    assert_int_equal(error.bytes_requested, 15360);
    assert_int_equal(error.bytes_available, 15000);
    limit(UINT64_MAX);
    vly_accel_host_stop();
    assert_int_equal(usage().used_bytes + usage().kept_bytes, 0);
    assert_int_equal(vly_memory_live(), live);
}

static _Atomic uint32_t n_made;

static void make(void *arg, void *memory, uint64_t bytes)
{
    (void)arg;
    n_made++;
    for (uint64_t i = 0; i < bytes; i++)
        ((uint8_t *)memory)[i] = (uint8_t)(i * 7 + i / 256);
}

static bool is_made(const void *memory, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        if (((const uint8_t *)memory)[i] != (uint8_t)(i * 7 + i / 256))
            return false;
    return true;
}

static const void *hold(vly_accel_shared *shared, uint64_t bytes)
{
    const void *memory = NULL;
    assert_ok(vly_accel_shared_hold(shared, bytes, make, NULL, &memory, &error),
              error);
    assert_true(is_made(memory, bytes));
    return memory;
}

static void touch(vly_accel_shared *shared, uint64_t bytes)
{
    vly_accel_shared_release(shared, hold(shared, bytes), bytes);
}

static void made_once(void **state)
{
    (void)state;
    uint64_t live = vly_memory_live();
    vly_accel_shared shared = {0};
    assert_ok(vly_accel_host_start(vly_host_table(), &error), error);
    n_made = 0;
    touch(&shared, 3000);
    assert_int_equal(usage().used_by[VLY_QOS_BEST_EFFORT], 3072);
    const void *first = hold(&shared, 2000);
    assert_ptr_equal(hold(&shared, 3000), first);
    assert_int_equal(n_made, 1);
    /* a larger one does not take the place of what others hold */
    const void *larger = hold(&shared, 9000);
    assert_ptr_not_equal(larger, first);
    vly_accel_shared_release(&shared, larger, 9000);
    assert_true(is_made(first, 3000));
    assert_ptr_equal(hold(&shared, 3000), first);
    for (uint32_t i = 0; i < 3; i++)
        vly_accel_shared_release(&shared, first, 3000);
    assert_int_equal(usage().used_by[VLY_QOS_BEST_EFFORT], 3072);
    /* data without a holder is taken back */
    touch(&shared, 9000);
    assert_int_equal(usage().used_by[VLY_QOS_BEST_EFFORT], 9216);
    n_made = 0;
    touch(&shared, 9000);
    assert_int_equal(n_made, 0);
    /* all that may go */
    const void *held = hold(&shared, 9000);
    vly_account_drop_all();
    assert_ptr_equal(hold(&shared, 9000), held);
    vly_accel_shared_release(&shared, held, 9000);
    vly_accel_shared_release(&shared, held, 9000);
    vly_account_drop_all();
    assert_int_equal(usage().used_bytes, 0);
    touch(&shared, 9000);
    assert_int_equal(n_made, 1);
    vly_accel_shared_release(&shared, NULL, 0);
    vly_accel_shared_forget(&shared);
    vly_accel_shared_forget(&shared);
    assert_int_equal(usage().used_bytes, 0);
    vly_accel_host_stop();
    assert_int_equal(vly_memory_live(), live);
}

static void oldest_goes_first(void **state)
{
    (void)state;
    vly_accel_shared x = {0}, y = {0};
    void *block = NULL, *none = NULL;
    const void *theirs = NULL;
    assert_ok(vly_accel_host_start(vly_host_table(), &error), error);
    touch(&x, 100 * KIB);
    touch(&y, 100 * KIB);
    touch(&x, 100 * KIB);
    const vly_device_usage before = usage();
    limit(256 * KIB);
    assert_ok(vly_accel_take(120 * KIB, VLY_QOS_BURSTABLE, &block, &error),
              error);
    assert_int_equal(usage().evictions, before.evictions + 1);
    assert_int_equal(usage().evicted_bytes,
                     before.evicted_bytes + before.used_bytes / 2);
    n_made = 0;
    const void *held = hold(&x, 100 * KIB); /* y was the longest unused */
    assert_int_equal(n_made, 0);
    /* nothing that is held goes, and best effort does not push others out */
    assert_int_equal(
        vly_accel_take(100 * KIB, VLY_QOS_GUARANTEED, &none, &error),
        VLY_E_NOMEM);
    assert_true(is_made(held, 100 * KIB));
    assert_int_equal(
        vly_accel_shared_hold(&y, 100 * KIB, make, NULL, &theirs, &error),
        VLY_E_NOMEM);
    vly_accel_shared_release(&x, held, 100 * KIB);
    vly_accel_give(block);
    limit(UINT64_MAX);
    touch(&y, 100 * KIB);
    assert_int_equal(n_made, 1);
    vly_accel_shared_forget(&x);
    vly_accel_shared_forget(&y);
    vly_accel_host_stop();
    assert_int_equal(usage().used_bytes, 0);
}

/* ---- many at once ------------------------------------------------------- */

enum { CALLERS = 6, CALLS = 300 };

static vly_accel_shared both[2];
static _Atomic uint32_t n_bad;

/* No asserts: not the main thread. */
static void *caller(void *arg)
{
    uint32_t word = *(uint32_t *)arg;
    for (uint32_t i = 0; i < CALLS; i++) {
        word = word * 1664525u + 1013904223u;
        const uint64_t bytes = 1 + word % 20000;
        vly_accel_shared *shared = &both[word >> 31];
        vly_error why = VLY_ERROR_INIT;
        const void *memory = NULL;
        void *block = NULL;
        vly_status status =
            vly_accel_shared_hold(shared, bytes, make, NULL, &memory, &why);
        n_bad += status != VLY_OK && status != VLY_E_NOMEM;
        if (vly_accel_take(bytes, VLY_QOS_BURSTABLE, &block, &why) == VLY_OK)
            memset(block, 0xff, bytes);
        n_bad += status == VLY_OK && !is_made(memory, bytes);
        vly_accel_shared_release(shared, memory, bytes);
        vly_accel_give(block);
    }
    return NULL;
}

static void many_at_once(void **state)
{
    (void)state;
    pthread_t threads[CALLERS];
    uint32_t seeds[CALLERS];
    uint64_t live = vly_memory_live();
    assert_ok(vly_accel_host_start(vly_host_table(), &error), error);
    const uint64_t evictions = usage().evictions;
    limit(48 * KIB); /* not even what one caller needs at most */
    for (uint32_t i = 0; i < CALLERS; i++) {
        seeds[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, caller, &seeds[i]),
                         0);
    }
    for (uint32_t i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    limit(UINT64_MAX);
    assert_int_equal(n_bad, 0);
    assert_true(usage().evictions > evictions);
    vly_accel_shared_forget(&both[0]);
    vly_accel_shared_forget(&both[1]);
    assert_int_equal(usage().used_bytes, 0);
    vly_accel_host_stop();
    assert_int_equal(vly_memory_live(), live);
}

/* ---- hosts without a policy, and without memory ------------------------- */

static void without_one(void **state)
{
    (void)state;
    vly_host older = *vly_host_table();
    vly_accel_shared shared = {0};
    uint64_t live = vly_memory_live();
    older.device_memory = NULL;
    const vly_device_usage before = usage();
    assert_ok(vly_accel_host_start(&older, &error), error);
    n_made = 0;
    const void *first = hold(&shared, 5000);
    const void *second = hold(&shared, 5000);
    assert_ptr_not_equal(first, second);
    vly_accel_shared_release(&shared, first, 5000);
    vly_accel_shared_release(&shared, second, 5000);
    touch(&shared, 5000);
    assert_int_equal(n_made, 3);
    vly_accel_shared_forget(&shared);
    vly_accel_host_stop();
    assert_int_equal(vly_memory_live(), live);
    assert_int_equal(usage().n_blocks, before.n_blocks);
}

static void none_left(void **state)
{
    (void)state;
    uint64_t live = vly_memory_live(), left = 0, n = 0;
    for (; left == 0; n++) {
        vly_accel_shared shared = {0};
        const void *memory = NULL;
        vly_memory_fail_at(n + 1);
        vly_status status = vly_accel_host_start(vly_host_table(), &error);
        const bool started = status == VLY_OK;
        if (started)
            status = vly_accel_shared_hold(&shared, 100, make, NULL, &memory,
                                           &error);
        left = vly_memory_fail_at(0);
        assert_int_equal(status, left == 0 ? VLY_E_NOMEM : VLY_OK);
        vly_accel_shared_release(&shared, memory, 100);
        if (started) {
            vly_accel_shared_forget(&shared);
            vly_accel_host_stop();
        }
        assert_int_equal(vly_memory_live(), live);
    }
    assert_int_equal(n, 4); /* a client, a record, memory; none */
}

/* ---- gemm_cpu ----------------------------------------------------------- */

static const vly_gemm_desc product = {.struct_size = sizeof product,
                                      .flags = VLY_GEMM_TRANS_B,
                                      .type_a = VLY_ELEMENT_F32,
                                      .type_b = VLY_ELEMENT_F32,
                                      .type_d = VLY_ELEMENT_F32,
                                      .m = 1,
                                      .n = 512,
                                      .k = 512,
                                      .lda = 512,
                                      .ldb = 512,
                                      .ldc = 512,
                                      .ldd = 512,
                                      .batch = 1,
                                      .align = 256,
                                      .workspace_most = 16 * MIB};

/* Makes a plan of two ways at least (gemv, plain); was it measured? */
static bool is_measured(const vly_accelerator *a)
{
    vly_gemm_plan *plan = NULL;
    vly_plan_info info = {.struct_size = sizeof info};
    assert_ok(a->gemm.plan_create(&a->device, &product, &plan, &error), error);
    assert_ok(a->gemm.plan_info(plan, &info, &error), error);
    assert_true(info.n_candidates >= 2);
    a->gemm.plan_destroy(plan);
    return info.measured_s > 0.0;
}

static void factors_go_first(void **state)
{
    (void)state;
    vly_registry *registry = NULL;
    vly_accelerator a;
    vly_gemm_plan *plan = NULL;
    void *block = NULL;
    const uint64_t both_bytes = 2 * KIB + 1 * MIB; /* A and B */
    assert_ok(vly_registry_create(&registry, &error), error);
    assert_ok(vly_accelerator_find(registry, VLY_GEMM_INTERFACE, "cpu:1", 1, &a,
                                   &error),
              error);
    assert_true(is_measured(&a));
    assert_int_equal(usage().used_by[VLY_QOS_BURSTABLE], 0);
    assert_int_equal(usage().used_by[VLY_QOS_BEST_EFFORT], both_bytes);
    assert_true(is_measured(&a));
    assert_int_equal(usage().used_by[VLY_QOS_BEST_EFFORT], both_bytes);
    const uint64_t evictions = usage().evictions;
    limit(2 * MIB);
    assert_ok(a.memory.alloc(0, 3 * MIB / 2, &block, &error), error);
    assert_int_equal(usage().evictions, evictions + 2);
    assert_int_equal(usage().used_by[VLY_QOS_BEST_EFFORT], 0);
    /* no room to measure in: the plan does not fail, and takes none */
    assert_false(is_measured(&a));
    assert_int_equal(usage().used_by[VLY_QOS_BEST_EFFORT], 2 * KIB); /* A */
    limit(1 * MIB); /* what is in use above it stays */
    assert_int_equal(a.gemm.plan_create(&a.device, &product, &plan, &error),
                     VLY_E_NOMEM);
    assert_true(error.bytes_requested > 0 && plan == NULL);
    assert_non_null(strstr(error.message, "host: "));
    limit(2 * MIB + 512 * KIB);
    a.memory.free(0, block);
    assert_true(is_measured(&a));
    limit(UINT64_MAX);
    vly_registry_destroy(registry);
    assert_int_equal(usage().used_bytes + usage().kept_bytes, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(counted),           cmocka_unit_test(made_once),
    cmocka_unit_test(oldest_goes_first), cmocka_unit_test(many_at_once),
    cmocka_unit_test(without_one),       cmocka_unit_test(none_left),
    cmocka_unit_test(factors_go_first),
};

VLY_TEST_MAIN(tests)
