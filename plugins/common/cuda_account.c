/* SPDX-License-Identifier: Apache-2.0
 * Memory of CUDA devices, by the host's policy: quota, reuse of freed blocks,
 * classes of service. The accounts are "cuda:0" ..., those of the burst
 * backend, so that a network and accelerators beside it share a quota. A host
 * older than ABI 1.3 has no policy: then the allocator here is called directly.
 */
#include "accel_cuda.h"

#include <stdio.h>

#include <cuda_runtime_api.h>

#include "accel_common.h"
#include "plugins/support/support_account.h"

typedef struct cuda_account {
    vly_support_account memory;
    uint32_t device;
    uint32_t reserved;
} cuda_account;

static cuda_account *accounts; /* [n_accounts] by device */
static uint32_t n_accounts;

/* ---- the allocator ------------------------------------------------------ */

static vly_status device_alloc(uint32_t device, uint64_t bytes, void **memory,
                               vly_error *error)
{
    void *block = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(device, error));
    cudaError_t code = bytes > (uint64_t)INT64_MAX
                           ? cudaErrorMemoryAllocation
                           : cudaMalloc(&block, bytes > 0 ? bytes : 1);
    if (code == cudaErrorMemoryAllocation) {
        size_t unused = 0, total = 0;
        (void)cudaGetLastError();
        if (cudaMemGetInfo(&unused, &total) != cudaSuccess) {
            (void)cudaGetLastError();
            unused = 0;
        }
        return vly_support_fail_memory(bytes, unused, " on the device", error);
    }
    VLY_TRY(vly_accel_cuda_check((int)code, "cudaMalloc", error));
    *memory = block;
out:
    return status;
}

static void device_free(uint32_t device, void *memory)
{
    if (!memory || vly_accel_cuda_enter(device, NULL) != VLY_OK)
        return;
    (void)cudaFree(memory);
    (void)cudaGetLastError(); /* clears the error of freeing on a dead device */
}

/* ---- callbacks of the host ----------------------------------------------- */

static vly_status raw_alloc(void *context, uint32_t kind, uint64_t bytes,
                            void **memory, vly_error *error)
{
    const cuda_account *account = context;
    (void)kind;
    return device_alloc(account->device, bytes, memory, error);
}

static void raw_free(void *context, uint32_t kind, void *memory)
{
    const cuda_account *account = context;
    (void)kind;
    device_free(account->device, memory);
}

static uint64_t raw_total(void *context)
{
    const cuda_account *account = context;
    size_t unused = 0, total = 0;
    if (vly_accel_cuda_enter(account->device, NULL) == VLY_OK &&
        cudaMemGetInfo(&unused, &total) == cudaSuccess)
        return total;
    (void)cudaGetLastError();
    return 0;
}

/* ---- accounts ----------------------------------------------------------- */

static vly_status account_open(uint32_t device, vly_error *error)
{
    char name[32];
    cuda_account *account = &accounts[device];
    account->device = device;
    snprintf(name, sizeof name, "cuda:%u", device);
    const vly_device_allocator raw = {.struct_size = sizeof raw,
                                      .device = name,
                                      .context = account,
                                      .alloc = raw_alloc,
                                      .free = raw_free,
                                      .total = raw_total};
    return vly_support_account_open(&account->memory, &raw, device, error);
}

vly_status vly_accel_cuda_memory_start(vly_error *error)
{
    if (!vly_support_has_policy())
        return VLY_OK;
    uint32_t count = vly_accel_cuda_memory.device_count();
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_alloc(count, sizeof *accounts, &accounts, error));
    for (; n_accounts < count; n_accounts++)
        VLY_TRY(account_open(n_accounts, error));
out:
    if (status != VLY_OK)
        vly_accel_cuda_memory_stop();
    return status;
}

void vly_accel_cuda_memory_stop(void)
{
    for (uint32_t i = 0; i < n_accounts; i++)
        vly_support_account_close(&accounts[i].memory);
    vly_accel_free(accounts);
    accounts = NULL;
    n_accounts = 0;
}

vly_status vly_accel_cuda_take(uint32_t device, uint64_t bytes, uint32_t qos,
                               void **memory, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(device, error));
    VLY_TRY(vly_accel_check_qos(qos, error));
    if (device < n_accounts)
        return vly_support_account_take(&accounts[device].memory, 0, bytes, qos,
                                        memory, error);
    status = device_alloc(device, bytes, memory, error);
out:
    return status;
}

void vly_accel_cuda_give(uint32_t device, void *memory)
{
    if (!memory)
        return;
    if (device < n_accounts)
        vly_support_account_give(&accounts[device].memory, 0, memory);
    else
        device_free(device, memory);
}
