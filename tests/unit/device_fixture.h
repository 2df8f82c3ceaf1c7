/* SPDX-License-Identifier: Apache-2.0
 * A device of the test's own for the policy of device memory: blocks that hold
 * nothing but their size, room that ends, and what it was asked for.
 */
#ifndef VOLLEY_DEVICE_FIXTURE_H
#define VOLLEY_DEVICE_FIXTURE_H

#include <stdatomic.h>

#include "plugin/device_memory.h"
#include "volley_test.h"

/* Contents of a block. */
typedef struct fixture_block {
    uint64_t bytes;
    uint32_t kind;
    _Atomic uint32_t n_users; /* for tests: more than one is an error */
} fixture_block;

typedef struct fixture_device {
    uint64_t capacity;
    uint64_t total; /* bytes that it reports; 0: none */
    _Atomic uint64_t in_use;
    _Atomic uint32_t n_live;
    _Atomic uint32_t n_allocs; /* calls that gave memory */
    vly_status broken;         /* VLY_OK, or what every alloc returns */
} fixture_device;

/* Of a new client on the account of this name. */
vly_device_client *fixture_open(fixture_device *device, const char *name);
/* Class guaranteed and kind 0; fails the test if there is none. */
void *fixture_alloc(vly_device_client *client, uint64_t bytes);
/* Of this class, kind 0; error is cleared before. */
vly_status fixture_want(vly_device_client *client, uint64_t bytes, uint32_t qos,
                        void **memory, vly_error *error);
/* Figures of an account; fails the test if it does not exist. */
vly_device_usage fixture_usage(const char *name);

#endif
