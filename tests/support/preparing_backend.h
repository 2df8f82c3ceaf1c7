/* SPDX-License-Identifier: Apache-2.0
 * What the host told `prepare` of the plugin "preparing". A test reads it by
 * the plugin's interface PREPARING_INTERFACE.
 */
#ifndef VOLLEY_TESTS_PREPARING_BACKEND_H
#define VOLLEY_TESTS_PREPARING_BACKEND_H

#include <pthread.h>
#include <stdint.h>

#define PREPARING_INTERFACE "test.preparing/1"

typedef struct preparing_seen {
    uint32_t n_calls;
    uint32_t n_devices;
    uint32_t first;
    uint32_t last;
    uint32_t wanted; /* it returned because the host waited */
    uint32_t done;   /* calls that have returned; atomic */
    pthread_t thread;
} preparing_seen;

#endif
