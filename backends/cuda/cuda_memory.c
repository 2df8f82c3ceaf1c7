/* SPDX-License-Identifier: Apache-2.0
 * Memory of the device, and copies. Every block of a shard is in a list, so
 * that a net that could be made only in part is freed like a whole one. Blocks
 * come from the host's policy (plugins/support), which calls the allocators
 * here; pinned memory is in the account of the host.
 */
#include "cuda_memory.h"

#include <string.h>

#include "plugins/support/support_account.h"

#include "cuda_device.h"
#include "cuda_error.h"
#include "cuda_shard.h"

struct vly_cuda_buffer {
    vly_cuda_buffer *next;
    void *memory;
    uint64_t bytes;
    uint32_t pinned; /* 1: on the host */
};

/* ---- host -------------------------------------------------------------- */

vly_status vly_cuda_alloc(vly_cuda_shard *shard, uint64_t count, uint64_t size,
                          void *out, vly_error *error)
{
    return vly_common_alloc(&shard->heap, count, size, out, error);
}

void vly_cuda_release(vly_cuda_shard *shard, void *memory)
{
    vly_common_release(&shard->heap, memory);
}

/* ---- allocators -------------------------------------------------------- */

/* Kinds of memory, each with an allocator. */
enum { ON_DEVICE, PINNED, N_KINDS };

typedef struct device_accounts {
    vly_support_account of[N_KINDS];
    int32_t index;
} device_accounts;

static device_accounts *accounts; /* [n_accounts] by device */
static uint32_t n_accounts;
static vly_common_heap accounts_heap;

/* Called on any thread; the runtime's present device belongs to that thread. */
static vly_status raw_alloc(void *context, uint32_t kind, uint64_t bytes,
                            void **memory, vly_error *error)
{
    const device_accounts *of = context;
    void *made = NULL;
    cudaError_t code = (cudaError_t)vly_cuda_select(of->index);
    if (code == cudaSuccess)
        code = kind == PINNED ? cudaMallocHost(&made, (size_t)bytes)
                              : cudaMalloc(&made, (size_t)bytes);
    if (code == cudaSuccess) {
        *memory = made;
        return VLY_OK;
    }
    if (code != cudaErrorMemoryAllocation)
        return vly_cuda_check((int)code, "cudaMalloc", error);
    size_t available = 0;
    size_t total = 0;
    (void)cudaGetLastError();
    if (kind == ON_DEVICE && cudaMemGetInfo(&available, &total) != cudaSuccess)
        available = 0;
    return vly_support_fail_memory(
        bytes, available,
        kind == PINNED ? " of pinned host memory" : " on the device", error);
}

static void raw_free(void *context, uint32_t kind, void *memory)
{
    const device_accounts *of = context;
    (void)vly_cuda_select(of->index);
    (void)(kind == PINNED ? cudaFreeHost(memory) : cudaFree(memory));
    (void)cudaGetLastError(); /* clears the error of freeing on a dead device */
}

static uint64_t raw_total(void *context)
{
    const device_accounts *of = context;
    size_t available = 0;
    size_t total = 0;
    if (vly_cuda_select(of->index) == (int)cudaSuccess &&
        cudaMemGetInfo(&available, &total) == cudaSuccess)
        return total;
    (void)cudaGetLastError();
    return 0;
}

vly_status vly_cuda_memory_start(vly_error *error)
{
    uint32_t count = vly_cuda_device_count();
    vly_status status = vly_common_alloc(&accounts_heap, count,
                                         sizeof *accounts, &accounts, error);
    for (; n_accounts < count && status == VLY_OK; n_accounts++) {
        device_accounts *of = &accounts[n_accounts];
        of->index = (int32_t)n_accounts;
        vly_device_allocator raw = {.struct_size = sizeof raw,
                                    .context = of,
                                    .alloc = raw_alloc,
                                    .free = raw_free,
                                    .total = raw_total};
        status = vly_support_account_open(&of->of[ON_DEVICE], &raw, n_accounts,
                                          error);
        raw.device = "host";
        raw.total = NULL;
        if (status == VLY_OK)
            status = vly_support_account_open(&of->of[PINNED], &raw, 0, error);
    }
    if (status != VLY_OK)
        vly_cuda_memory_stop();
    return status;
}

void vly_cuda_memory_stop(void)
{
    for (uint32_t i = 0; i < n_accounts; i++)
        for (uint32_t kind = 0; kind < N_KINDS; kind++)
            vly_support_account_close(&accounts[i].of[kind]);
    accounts = NULL;
    n_accounts = 0;
    vly_common_release_all(&accounts_heap);
}

/* Blocks that are held at the same time are n different ones. */
bool vly_cuda_memory_keep(uint32_t device, uint32_t n, uint64_t bytes)
{
    vly_support_account *of = &accounts[device].of[PINNED];
    void *blocks[8];
    uint32_t made = 0;
    while (made < n && made < 8 &&
           vly_support_account_take(of, PINNED, bytes, VLY_QOS_GUARANTEED,
                                    &blocks[made], NULL) == VLY_OK)
        made++;
    for (uint32_t i = 0; i < made; i++)
        vly_support_account_give(of, PINNED, blocks[i]);
    return made == n;
}

/* ---- device ------------------------------------------------------------ */

static vly_support_account *account_of(const vly_cuda_shard *shard,
                                       uint32_t pinned)
{
    return &accounts[shard->device].of[pinned ? PINNED : ON_DEVICE];
}

static vly_status buffer_alloc(vly_cuda_shard *shard, uint64_t count,
                               uint64_t size, uint32_t pinned, void *out,
                               vly_error *error)
{
    const char *where = pinned ? " of pinned host memory" : " on the device";
    if (size != 0 && count > (uint64_t)PTRDIFF_MAX / size)
        return vly_support_fail_memory(UINT64_MAX, 0, where, error);
    uint64_t bytes = count * size > 0 ? count * size : 1;
    vly_cuda_buffer *buffer = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, 1, sizeof *buffer, &buffer, error));
    status = vly_support_account_take(
        account_of(shard, pinned), pinned ? PINNED : ON_DEVICE, bytes,
        VLY_QOS_GUARANTEED, &buffer->memory, error);
    if (status != VLY_OK) {
        vly_cuda_release(shard, buffer);
        return status;
    }
    buffer->bytes = bytes;
    buffer->pinned = pinned;
    buffer->next = shard->buffers;
    shard->buffers = buffer;
    if (pinned)
        shard->pinned_bytes += bytes;
    else
        shard->device_bytes += bytes;
    if (shard->peak_bytes < shard->device_bytes)
        shard->peak_bytes = shard->device_bytes;
    memcpy(out, &buffer->memory, sizeof buffer->memory);
    return VLY_OK;
out:
    return status;
}

vly_status vly_cuda_device_alloc(vly_cuda_shard *shard, uint64_t count,
                                 uint64_t size, void *out, vly_error *error)
{
    void *memory = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(buffer_alloc(shard, count, size, 0, &memory, error));
    cudaError_t code = cudaMemsetAsync(memory, 0, (size_t)(count * size),
                                       (cudaStream_t)shard->stream);
    if (code != cudaSuccess) {
        vly_cuda_device_release(shard, memory);
        return vly_cuda_check((int)code, "cudaMemset", error);
    }
    memcpy(out, &memory, sizeof memory);
out:
    return status;
}

vly_status vly_cuda_pinned_alloc(vly_cuda_shard *shard, uint64_t count,
                                 uint64_t size, void *out, vly_error *error)
{
    void *memory = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(buffer_alloc(shard, count, size, 1, &memory, error));
    memset(memory, 0, (size_t)(count * size)); /* clears data of a previous
                                                * user */
    memcpy(out, &memory, sizeof memory);
out:
    return status;
}

static void buffer_free(vly_cuda_shard *shard, vly_cuda_buffer *buffer)
{
    vly_support_account_give(account_of(shard, buffer->pinned),
                             buffer->pinned ? PINNED : ON_DEVICE,
                             buffer->memory);
    if (buffer->pinned)
        shard->pinned_bytes -= buffer->bytes;
    else
        shard->device_bytes -= buffer->bytes;
    vly_cuda_release(shard, buffer);
}

/* cudaFree waits for the device, but the policy does not: another net may get a
 * cached block at once, in another stream. */
static void wait_streams(const vly_cuda_shard *shard)
{
    void *const streams[2] = {shard->stream, shard->drain_stream};
    for (uint32_t i = 0; i < 2; i++)
        if (streams[i])
            (void)cudaStreamSynchronize((cudaStream_t)streams[i]);
}

void vly_cuda_device_release(vly_cuda_shard *shard, const void *memory)
{
    vly_cuda_buffer **at = &shard->buffers;
    while (*at && (*at)->memory != memory)
        at = &(*at)->next;
    if (!memory || !*at)
        return;
    vly_cuda_buffer *buffer = *at;
    wait_streams(shard);
    *at = buffer->next;
    buffer_free(shard, buffer);
}

/* net_destroy has waited for the streams and destroyed them. */
void vly_cuda_release_all(vly_cuda_shard *shard)
{
    while (shard->buffers) {
        vly_cuda_buffer *buffer = shard->buffers;
        shard->buffers = buffer->next;
        buffer_free(shard, buffer);
    }
    vly_common_release_all(&shard->heap);
    (void)cudaGetLastError(); /* clears the error of freeing on a dead device */
}

/* ---- copies ------------------------------------------------------------ */

vly_status vly_cuda_synchronize(vly_cuda_shard *shard, const char *what,
                                vly_error *error)
{
    return vly_cuda_check(
        (int)cudaStreamSynchronize((cudaStream_t)shard->stream), what, error);
}

static vly_status copy(vly_cuda_shard *shard, void *to, const void *from,
                       uint64_t bytes, enum cudaMemcpyKind kind,
                       const char *what, vly_error *error)
{
    if (bytes == 0)
        return VLY_OK;
    vly_status status =
        vly_cuda_check((int)cudaMemcpyAsync(to, from, (size_t)bytes, kind,
                                            (cudaStream_t)shard->stream),
                       what, error);
    return status != VLY_OK ? status : vly_cuda_synchronize(shard, what, error);
}

vly_status vly_cuda_upload(vly_cuda_shard *shard, void *device,
                           const void *words, uint64_t bytes, vly_error *error)
{
    return copy(shard, device, words, bytes, cudaMemcpyHostToDevice,
                "copy to the device", error);
}

vly_status vly_cuda_put(vly_cuda_shard *shard, uint64_t count, uint64_t size,
                        const void *from, void *out, vly_error *error)
{
    void *made = NULL;
    if (!from && count > 0)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_device_alloc(shard, count, size, &made, error));
    if (count > 0)
        VLY_TRY(vly_cuda_upload(shard, made, from, count * size, error));
    memcpy(out, &made, sizeof made);
out:
    return status;
}

vly_status vly_cuda_download(vly_cuda_shard *shard, void *words,
                             const void *device, uint64_t bytes,
                             vly_error *error)
{
    return copy(shard, words, device, bytes, cudaMemcpyDeviceToHost,
                "copy from the device", error);
}
