/* SPDX-License-Identifier: Apache-2.0
 * The least host that runs one compute shader, for tests of shaders without
 * the backend: each device that can keep the numeric contract, the validation
 * layer where it is installed, one dispatch over buffers that the host sees.
 */
#ifndef TEST_VULKAN_DEVICE_H
#define TEST_VULKAN_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#define TEST_VULKAN_BUFFERS 8

typedef struct test_vulkan_buffer {
    void *data; /* copied to the device before and back after */
    size_t bytes;
} test_vulkan_buffer;

typedef struct test_vulkan_job {
    const uint32_t *spirv; /* main, storage buffers 0 .. in set 0 */
    size_t spirv_bytes;
    test_vulkan_buffer buffers[TEST_VULKAN_BUFFERS];
    uint32_t n_buffers;
    const void *push; /* push constants */
    uint32_t push_bytes;
    uint32_t n_groups;
} test_vulkan_job;

/* Opens the loader and its devices, once. Skips the test with the reason where
 * there is no device that can run our shaders; fails it there under
 * VOLLEY_REQUIRE_VULKAN=1. */
void test_vulkan_open(void);
uint32_t test_vulkan_count(void);
const char *test_vulkan_name(uint32_t device);

/* Runs a job; any error of Vulkan and any message of the validation layer fails
 * the test. */
void test_vulkan_run(uint32_t device, const test_vulkan_job *job);

#endif
