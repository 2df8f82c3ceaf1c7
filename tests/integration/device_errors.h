/* SPDX-License-Identifier: Apache-2.0
 * What the tests of errors of a device share: one small network, the command as
 * a process, and a device that is lost.
 */
#ifndef VOLLEY_TEST_DEVICE_ERRORS_H
#define VOLLEY_TEST_DEVICE_ERRORS_H

#include "device_test.h"

/* 500 neurons, 60 bursts, Poisson input. */
extern const char device_small_net[];

/* The caller destroys it. */
vly_connectome *device_build(const char *text);
/* Run digest after 60 bursts. */
uint64_t device_digest(vly_registry *registry, const vly_connectome *connectome,
                       const char *spec);
/* Figures of the policy for "cuda:0", "host"; fails without such an account. */
vly_device_usage device_usage(const char *device);
/* Nets that come and go on device 0 of the plugin ("cuda"), by the policy of
 * device memory: freed memory is used again and changes no digest, nothing
 * stays allocated, and a quota holds. specs: [n] */
void device_share(vly_registry *registry, const char *id,
                  const char *const *specs, int n);
/* `volley run` of a shipped genome, quietly, with this environment ("" or
 * "NAME=VALUE"); returns its exit code and its output. */
int device_run_command(const char *environment, const char *arguments,
                       char *text, size_t size);
/* A device of this plugin ("cuda") that fails: E_DEVICE, with the same message
 * from then on, also for new nets; the cpu backend still works. Must be the
 * last test of a process. */
void device_lose(vly_registry *registry, const char *id);

#endif
