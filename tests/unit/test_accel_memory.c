/* SPDX-License-Identifier: Apache-2.0
 * volley.memory/1 on CUDA where there is no device (fake_cuda.c), with the
 * engine's policy behind it and without, as on hosts older than ABI 1.3.
 */
#include "volley_test.h"

#include <stdlib.h>

#include <cuda_runtime_api.h>

#include "accel_common.h"
#include "accel_cuda.h"
#include "base/error.h"
#include "base/memory.h"
#include "plugin/host_table.h"

const char vly_support_plugin[] = "test";

/* ---- what the fake runtime has not -------------------------------------- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                   enum cudaStreamCaptureMode mode)
{
    (void)stream;
    (void)mode;
    return cudaErrorNotSupported;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    (void)stream;
    (void)graph;
    return cudaErrorNotSupported;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph,
                                 unsigned long long flags)
{
    (void)made;
    (void)graph;
    (void)flags;
    return cudaErrorNotSupported;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    (void)graph;
    return cudaErrorNotSupported;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    (void)graph;
    (void)stream;
    return cudaErrorNotSupported;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    (void)graph;
    return cudaErrorNotSupported;
}

/* ---- a plugin ----------------------------------------------------------- */

static const vly_memory *const memory = &vly_accel_cuda_memory;
static vly_host older;

static void start(const vly_host *host)
{
    vly_error error = VLY_ERROR_INIT;
    assert_ok(vly_support_start(host, &error), error);
    assert_ok(vly_accel_cuda_detect(&error), error);
    assert_ok(vly_accel_cuda_memory_start(&error), error);
}

static void stop(void)
{
    vly_accel_cuda_memory_stop();
    vly_support_stop();
}

static vly_device_usage usage_of(const char *device)
{
    vly_device_usage usage = {.struct_size = sizeof usage};
    for (uint32_t i = 0; i < vly_device_memory_count(); i++)
        if (vly_device_memory_usage(i, &usage) == VLY_OK &&
            strcmp(usage.device, device) == 0)
            return usage;
    fail_msg("there is no account %s", device);
    return usage;
}

static void by_the_policy(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    uint64_t live = vly_memory_live();
    void *first = NULL, *second = NULL, *none = NULL;
    start(vly_host_table());
    assert_ok(memory->alloc(0, 5000, &first, &error), error);
    assert_int_equal((uintptr_t)first % 256, 0);
    memset(first, 1, 5000);
    assert_int_equal(usage_of("cuda:0").used_by[VLY_QOS_BURSTABLE], 5120);
    assert_int_equal(usage_of("cuda:1").used_bytes, 0);
    assert_ok(memory->alloc(1, 0, &second, &error), error);
    assert_int_equal(usage_of("cuda:1").used_bytes, 512);
    memory->free(1, second);
    memory->free(0, first);
    memory->free(0, NULL);
    assert_int_equal(usage_of("cuda:0").kept_bytes, 5120);
    assert_ok(memory->alloc(0, 5100, &second, &error), error);
    assert_ptr_equal(second, first);
    assert_int_equal(usage_of("cuda:0").reuses, 1);
    void *third = NULL;
    assert_ok(memory->alloc_as(1, 5000, VLY_QOS_BEST_EFFORT, &third, &error),
              error);
    assert_int_equal(usage_of("cuda:1").used_by[VLY_QOS_BEST_EFFORT], 5120);
    memory->free(1, third);
    assert_int_equal(memory->alloc_as(1, 5000, 3, &third, &error),
                     VLY_E_INVALID);
    /* 15/16 of a quota is for what runs beside bursts */
    assert_ok(vly_device_memory_limit("cuda:0", 16000, &error), error);
    assert_int_equal(memory->alloc(0, 10000, &none, &error), VLY_E_NOMEM);
    assert_null(none);
    assert_int_equal(error.bytes_requested, 10240);
    assert_int_equal(error.bytes_available, 15000 - 5120);
    assert_ok(vly_device_memory_limit("cuda:0", UINT64_MAX, &error), error);
    assert_int_equal(memory->alloc(2, 1, &none, &error), VLY_E_INVALID);
    assert_int_equal(memory->alloc(0, UINT64_MAX, &none, &error), VLY_E_NOMEM);
    assert_int_equal(memory->alloc(0, UINT64_MAX / 2 + 9, &none, &error),
                     VLY_E_NOMEM);
    memory->free(0, second);
    stop();
    assert_int_equal(usage_of("cuda:0").kept_bytes, 0);
    assert_int_equal(vly_memory_live(), live);
}

static void without_one(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    uint64_t live = vly_memory_live();
    void *first = NULL;
    older = *vly_host_table();
    older.device_memory = NULL;
    start(&older);
    uint64_t before = usage_of("cuda:0").peak_bytes;
    assert_ok(memory->alloc(0, 50000000, &first, &error), error);
    memset(first, 1, 50000000);
    assert_int_equal(usage_of("cuda:0").peak_bytes, before);
    memory->free(0, first);
    assert_int_equal(vly_memory_live(), live);
    vly_memory_fail_at(1);
    assert_int_equal(memory->alloc(0, 700, &first, &error), VLY_E_NOMEM);
    assert_int_equal(error.bytes_requested, 700);
    assert_true(error.bytes_available > 0);
    stop();
    assert_int_equal(vly_memory_live(), live);
}

/* Memory of the host that the device reads: beside the accounts of devices. */
static void of_the_host(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    void *first = NULL, *none = NULL;
    start(vly_host_table());
    uint64_t live = vly_memory_live();
    assert_ok(memory->alloc_host(1, 5000, &first, &error), error);
    assert_int_equal((uintptr_t)first % 256, 0);
    memset(first, 1, 5000);
    assert_true(vly_accel_cuda_is_host(first));
    assert_false(vly_accel_cuda_is_host(NULL));
    memory->free_host(1, first);
    memory->free_host(1, NULL);
    assert_int_equal(memory->alloc_host(2, 1, &none, &error), VLY_E_INVALID);
    vly_memory_fail_at(1);
    assert_int_equal(memory->alloc_host(0, 700, &none, &error), VLY_E_NOMEM);
    vly_memory_fail_at(0);
    assert_int_equal(error.bytes_requested, 700);
    assert_non_null(strstr(error.message, "pinned host memory"));
    assert_null(none);
    assert_int_equal(vly_memory_live(), live);
    stop();
}

/* Each allocation of the host, or of the device, fails once. */
static void none_left(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    uint64_t live = vly_memory_live();
    uint64_t left = 0, n = 0;
    for (; left == 0; n++) {
        vly_memory_fail_at(n + 1);
        vly_status status = vly_support_start(vly_host_table(), &error);
        if (status == VLY_OK)
            status = vly_accel_cuda_memory_start(&error);
        void *block = NULL;
        if (status == VLY_OK)
            status = memory->alloc(0, 100, &block, &error);
        left = vly_memory_fail_at(0);
        assert_int_equal(status, left == 0 ? VLY_E_NOMEM : VLY_OK);
        assert_true(left != 0 || error.bytes_requested > 0);
        memory->free(0, block);
        stop();
        assert_int_equal(vly_memory_live(), live);
    }
    assert_int_equal(n, 6); /* accounts, two clients, a record, memory; none */
}

static void says(const vly_error *error, const char *text)
{
    if (strstr(error->message, text) == NULL)
        fail_msg("%s, wanted: %s", error->message, text);
}

/* A driver that is missing, too old, without a device, or out of order. */
static void no_driver(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        const char *version;
        const char *visible;
        const char *says;
    } cases[] = {
        {"35", "0", NULL, "CUDA driver not detected: libcuda.so.1 is missing"},
        {"35", "11040", NULL, "too old: it is for CUDA 11.4, wanted 1"},
        {"100", "13000", NULL, "the driver is there, but it lists no device"},
        {"100", "13000", "7", "no device, CUDA_VISIBLE_DEVICES is 7"},
        {"999", "13000", NULL, "is there, but cannot be used: failed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vly_error error = VLY_ERROR_INIT;
        setenv("FAKE_CUDA_DETECT", cases[i].code, 1);
        setenv("FAKE_CUDA_DRIVER", cases[i].version, 1);
        unsetenv("CUDA_VISIBLE_DEVICES");
        if (cases[i].visible != NULL)
            setenv("CUDA_VISIBLE_DEVICES", cases[i].visible, 1);
        vly_status status = vly_accel_cuda_detect(&error);
        unsetenv("FAKE_CUDA_DETECT");
        unsetenv("FAKE_CUDA_DRIVER");
        unsetenv("CUDA_VISIBLE_DEVICES");
        assert_int_equal(status, VLY_E_DEVICE);
        says(&error, cases[i].says);
    }
}

/* What ends one device leaves the other one usable. The last test: a device
 * that is lost stays so. */
static void one_lost(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    void *stream = NULL, *block = NULL;
    start(vly_host_table());
    assert_int_equal(memory->stream_create(2, &stream, &error), VLY_E_INVALID);
    says(&error, "device 2, but there are 2");
    assert_ok(memory->stream_create(1, &stream, &error), error);
    /* it fails once, and its context is still there */
    setenv("FAKE_CUDA_FAULT", "1", 1);
    assert_int_equal(memory->stream_wait(1, stream, &error), VLY_E_DEVICE);
    unsetenv("FAKE_CUDA_FAULT");
    says(&error, "waiting for a stream: failed");
    assert_ok(memory->stream_wait(1, stream, &error), error);
    setenv("FAKE_CUDA_LOST", "1", 1);
    assert_int_equal(memory->stream_wait(1, stream, &error), VLY_E_DEVICE);
    unsetenv("FAKE_CUDA_LOST");
    says(&error, "CUDA device 1 failed and answers no more");
    assert_int_equal(memory->alloc(1, 100, &block, &error), VLY_E_DEVICE);
    says(&error, "CUDA device 1 failed and answers no more in this process: "
                 "waiting for a stream: failed");
    assert_null(block);
    assert_ok(memory->alloc(0, 100, &block, &error), error);
    memory->free(0, block);
    free(stream); /* the owner is gone: a lost device frees nothing */
    stop();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_driver),   cmocka_unit_test(by_the_policy),
    cmocka_unit_test(of_the_host), cmocka_unit_test(without_one),
    cmocka_unit_test(none_left),   cmocka_unit_test(one_lost),
};

VLY_TEST_MAIN(tests)
