/* SPDX-License-Identifier: Apache-2.0
 * A device of the test's own for the policy of device memory.
 */
#include "device_fixture.h"

#include <stdlib.h>

#include "base/error.h"

static vly_status raw_alloc(void *context, uint32_t kind, uint64_t bytes,
                            void **memory, vly_error *error)
{
    fixture_device *device = context;
    if (device->broken != VLY_OK)
        return vly_fail(error, device->broken, "the device is broken");
    uint64_t before = atomic_fetch_add(&device->in_use, bytes);
    fixture_block *block = NULL;
    if (before <= device->capacity && bytes <= device->capacity - before)
        block = calloc(1, sizeof *block);
    if (!block) {
        uint64_t in_use = atomic_fetch_sub(&device->in_use, bytes) - bytes;
        vly_fail(error, VLY_E_NOMEM, "out of memory: the device is full");
        error->bytes_requested = bytes;
        error->bytes_available =
            in_use < device->capacity ? device->capacity - in_use : 0;
        return VLY_E_NOMEM;
    }
    block->bytes = bytes;
    block->kind = kind;
    atomic_fetch_add(&device->n_live, 1);
    atomic_fetch_add(&device->n_allocs, 1);
    *memory = block;
    return VLY_OK;
}

static void raw_free(void *context, uint32_t kind, void *memory)
{
    fixture_device *device = context;
    fixture_block *block = memory;
    if (block->kind != kind)
        abort(); /* of the test: no other way out of here */
    atomic_fetch_sub(&device->in_use, block->bytes);
    atomic_fetch_sub(&device->n_live, 1);
    free(block);
}

static uint64_t raw_total(void *context)
{
    const fixture_device *device = context;
    return device->total;
}

vly_device_client *fixture_open(fixture_device *device, const char *name)
{
    vly_error error = VLY_ERROR_INIT;
    vly_device_client *client = NULL;
    const vly_device_allocator allocator = {.struct_size = sizeof allocator,
                                            .device = name,
                                            .context = device,
                                            .alloc = raw_alloc,
                                            .free = raw_free,
                                            .total = raw_total};
    assert_ok(vly_account_open("test", &allocator, &client, &error), error);
    return client;
}

void *fixture_alloc(vly_device_client *client, uint64_t bytes)
{
    vly_error error = VLY_ERROR_INIT;
    void *memory = NULL;
    assert_ok(vly_account_alloc(client, 0, bytes, VLY_QOS_GUARANTEED, &memory,
                                &error),
              error);
    assert_non_null(memory);
    return memory;
}

vly_status fixture_want(vly_device_client *client, uint64_t bytes, uint32_t qos,
                        void **memory, vly_error *error)
{
    *error = (vly_error)VLY_ERROR_INIT;
    return vly_account_alloc(client, 0, bytes, qos, memory, error);
}

vly_device_usage fixture_usage(const char *name)
{
    vly_device_usage usage = {.struct_size = sizeof usage};
    for (uint32_t i = 0; i < vly_device_memory_count(); i++) {
        assert_int_equal(vly_device_memory_usage(i, &usage), VLY_OK);
        if (strcmp(usage.device, name) == 0)
            return usage;
    }
    fail_msg("there is no account %s", name);
    return usage;
}
