/* SPDX-License-Identifier: Apache-2.0
 * What the CUDA accelerators do in the same way on the host: devices, errors
 * of the runtime, volley.memory/1.
 */
#ifndef VOLLEY_ACCEL_CUDA_H
#define VOLLEY_ACCEL_CUDA_H

#include <stdbool.h>

#include <volley/accelerator.h>

/* OK if there is a driver and a device; else E_DEVICE: no driver, one that is
 * too old (for which CUDA it is), one that lists no device, or what else the
 * runtime says. [any-thread] */
vly_status vly_accel_cuda_detect(vly_error *error);

/* OK if code is cudaSuccess, else E_DEVICE "what: why". An error that stays
 * after it was read has ended the context of the device that this thread
 * entered last: then this and every later call for that device says so, and
 * nothing is tried again there; other devices can still be used. [any-thread]
 */
vly_status vly_accel_cuda_check(int code, const char *what, vly_error *error);

/* Makes it this thread's current device. Errors E_INVALID no such device;
 * E_DEVICE. [any-thread] */
vly_status vly_accel_cuda_enter(uint32_t device, vly_error *error);

/* Memory of devices by the host's policy (cuda_account.c). For a plugin's init,
 * after vly_support_start and detect, and for its deinit, before
 * vly_support_stop. Without it, and on older hosts, the runtime is asked
 * directly. */
vly_status vly_accel_cuda_memory_start(vly_error *error);
void vly_accel_cuda_memory_stop(void);
/* qos: VLY_QOS_*. Errors E_NOMEM with bytes requested and available; E_INVALID
 * qos; as enter. [any-thread] */
vly_status vly_accel_cuda_take(uint32_t device, uint64_t bytes, uint32_t qos,
                               void **memory, vly_error *error);
/* No work that uses it may be under way: others may have it at once, in other
 * streams. NULL is legal. [any-thread] */
void vly_accel_cuda_give(uint32_t device, void *memory);

/* Whether it is memory of alloc_host, or other memory of the host that the
 * driver knows. [any-thread] */
bool vly_accel_cuda_is_host(const void *memory);

/* volley.memory/1 on CUDA: cuda_memory_table.c. Its memory is burstable. */
extern const vly_memory vly_accel_cuda_memory;

#endif
