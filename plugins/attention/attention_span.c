/* SPDX-License-Identifier: Apache-2.0
 * One plan over several devices of this host, or over several parts of one.
 *
 * The caller's tensors are on the first device, or in host memory that devices
 * read. Each part has a stream, which begins when the caller's stream is there:
 * the part's elements are copied to its device, the way runs, the results are
 * copied back, and the caller's stream waits for all of them. The first part
 * reads and writes Q, K, V and O where they are. Every part runs the way, the
 * configuration and the splits that were chosen for the whole on one device, so
 * its bits are those of one device.
 */
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "accel_cuda.h"
#include "attention_cut.h"
#include "attention_plan.h"
#include "kernels/accelerators/attention_copy.h"

enum { ALIGN = 256 };

typedef struct part {
    vly_attention_device device;
    vly_attention_desc desc;
    vly_cuda_ready ready;
    vly_attention_piece pieces[VLY_ATTENTION_PIECES];
    uint64_t places[VLY_ATTENTION_PIECES]; /* in memory; NOWHERE: in place */
    uint32_t n_pieces;
    uint32_t reserved;
    uint64_t workspace; /* its place in memory */
    char *memory;
    cudaStream_t stream;
    cudaEvent_t done;
} part;

#define NOWHERE UINT64_MAX

struct vly_attention_span {
    uint32_t n;
    uint32_t n_devices;
    uint32_t grid[VLY_CUT_AXES];
    uint32_t first;   /* device of the caller's tensors */
    uint32_t no_peer; /* devices that have no access to it */
    uint32_t by_kernel;
    cudaEvent_t begin;
    part parts[VLY_ATTENTION_SPAN_MOST];
};

/* ---- making -------------------------------------------------------------- */

static vly_status check_plan(const vly_attention_plan *plan, vly_error *error)
{
    const char *what = NULL;
    if ((plan->desc.flags & VLY_ATTENTION_PACKED) != 0)
        what = "packed sequences, whose lengths are on the device";
    if ((plan->desc.flags & VLY_ATTENTION_PAGED) != 0)
        what = "a cache in pages";
    if (!what)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_UNSUPPORTED,
                            "%s: several devices, and %s; wanted tensors with "
                            "all sequences of one length or with lengths",
                            vly_support_plugin, what);
}

/* Copies go through the host where devices have no access to each other. */
static vly_status connect(uint32_t from, uint32_t to, uint32_t *no_peer,
                          vly_error *error)
{
    int can = 0;
    vly_status status = VLY_OK;
    if (from == to)
        return VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(from, error));
    VLY_TRY(vly_accel_cuda_check(
        (int)cudaDeviceCanAccessPeer(&can, (int)from, (int)to),
        "cudaDeviceCanAccessPeer", error));
    if (!can) {
        *no_peer += 1;
        return VLY_OK;
    }
    cudaError_t code = cudaDeviceEnablePeerAccess((int)to, 0);
    if (code == cudaErrorPeerAccessAlreadyEnabled) {
        (void)cudaGetLastError(); /* by another plan */
        code = cudaSuccess;
    }
    status =
        vly_accel_cuda_check((int)code, "cudaDeviceEnablePeerAccess", error);
out:
    return status;
}

static uint64_t place(uint64_t *end, uint64_t bytes)
{
    const uint64_t at = *end;
    *end += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

/* The way of the whole on the part's device. */
static vly_status prepare(const vly_attention_plan *plan, part *p,
                          vly_error *error)
{
    const vly_cuda_way *way = plan->ready.way;
    vly_error why = {.struct_size = sizeof why};
    p->ready = (vly_cuda_ready){.way = way,
                                .config = plan->ready.config,
                                .n_splits = plan->ready.n_splits,
                                .engine = -1};
    vly_status status = way->supports(&p->device, &p->desc, &why);
    if (status == VLY_OK)
        status = way->prepare(&p->device, &p->desc, &p->ready, &why);
    if (status != VLY_OK)
        return vly_support_fail(error, status,
                                "%s: a part of %u sequences and %u key heads "
                                "on device %u: %s",
                                vly_support_plugin, p->desc.batch,
                                p->desc.heads_kv, p->device.index, why.message);
    return VLY_OK;
}

static vly_status take(const vly_attention_plan *plan, part *p, bool in_place,
                       vly_error *error)
{
    uint64_t bytes = 0;
    void *memory = NULL;
    cudaStream_t stream = NULL;
    cudaEvent_t done = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(prepare(plan, p, error));
    for (uint32_t i = 0; i < p->n_pieces; i++) {
        const vly_attention_piece *piece = &p->pieces[i];
        const bool stays = in_place && (!piece->is_flat ||
                                        vly_attention_piece_is_in_place(piece));
        p->places[i] = stays ? NOWHERE : place(&bytes, piece->bytes);
    }
    p->workspace = place(&bytes, p->ready.workspace_bytes);
    if (bytes > 0)
        VLY_TRY(vly_accel_cuda_take(p->device.index, bytes, VLY_QOS_BURSTABLE,
                                    &memory, error));
    p->memory = memory;
    VLY_TRY(vly_accel_cuda_enter(p->device.index, error));
    VLY_TRY(vly_accel_cuda_check(
        (int)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
        "cudaStreamCreate", error));
    p->stream = stream;
    VLY_TRY(vly_accel_cuda_check(
        (int)cudaEventCreateWithFlags(&done, cudaEventDisableTiming),
        "cudaEventCreate", error));
    p->done = done;
out:
    return status;
}

static vly_status make_part(const vly_attention_plan *plan,
                            const vly_attention_share *cut, bool in_place,
                            uint32_t device, part *p, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_attention_device_enter(device, &p->device, error));
    if (p->device.capability != plan->device.capability)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "%s: device %u has compute capability %u.%u and device %u %u.%u; "
            "wanted the same, as they may round differently",
            vly_support_plugin, plan->device.index,
            plan->device.capability / 10, plan->device.capability % 10, device,
            p->device.capability / 10, p->device.capability % 10);
    p->desc = vly_attention_part_desc(&plan->desc, cut, !in_place);
    p->n_pieces = vly_attention_pieces(&plan->desc, cut, p->pieces);
    VLY_TRY(take(plan, p, in_place, error));
out:
    return status;
}

void vly_attention_span_destroy(vly_attention_span *span)
{
    if (!span)
        return;
    for (uint32_t i = 0; i < span->n; i++) {
        part *p = &span->parts[i];
        if (!p->ready.way ||
            vly_accel_cuda_enter(p->device.index, NULL) != VLY_OK)
            continue;
        if (p->stream) {
            (void)cudaStreamSynchronize(p->stream);
            (void)cudaStreamDestroy(p->stream);
        }
        if (p->done)
            (void)cudaEventDestroy(p->done);
        vly_accel_cuda_give(p->device.index, p->memory);
        vly_cuda_ready_release(&p->ready);
    }
    if (span->begin && vly_accel_cuda_enter(span->first, NULL) == VLY_OK)
        (void)cudaEventDestroy(span->begin);
    (void)cudaGetLastError();
    vly_accel_free(span);
}

vly_status vly_attention_span_create(const vly_attention_plan *plan,
                                     const vly_attention_options *options,
                                     vly_attention_span **span,
                                     vly_error *error)
{
    vly_attention_share cuts[VLY_ATTENTION_SPAN_MOST];
    vly_attention_span *made = NULL;
    cudaEvent_t begin = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(check_plan(plan, error));
    VLY_TRY(vly_accel_alloc(1, sizeof *made, &made, error));
    made->first = plan->device.index;
    made->n_devices = options->n_devices;
    made->by_kernel = options->copy_by_kernel;
    made->n =
        vly_attention_cut(&plan->desc, options->n_parts, cuts, made->grid);
    for (uint32_t i = 0; i < made->n; i++) {
        const uint32_t device = made->first + (options->n_devices > 1 ? i : 0);
        VLY_TRY(
            make_part(plan, &cuts[i], i == 0, device, &made->parts[i], error));
        VLY_TRY(connect(device, made->first, &made->no_peer, error));
    }
    VLY_TRY(vly_accel_cuda_enter(made->first, error));
    VLY_TRY(vly_accel_cuda_check(
        (int)cudaEventCreateWithFlags(&begin, cudaEventDisableTiming),
        "cudaEventCreate", error));
    made->begin = begin;
    *span = made;
out:
    if (status != VLY_OK)
        vly_attention_span_destroy(made);
    return status;
}

void vly_attention_span_tell(const vly_attention_span *span, char *text,
                             size_t size)
{
    const char *what = span->n_devices > 1 ? "device" : "part";
    (void)snprintf(
        text, size,
        " on %u %s%s (%u x %u x %u: sequences, key heads, queries)%s", span->n,
        what, span->n == 1 ? "" : "s", span->grid[0], span->grid[1],
        span->grid[2],
        span->no_peer > 0      ? ", copied through the host"
        : span->by_kernel != 0 ? ", copied by kernels"
                               : "");
}

/* ---- runs ---------------------------------------------------------------- */

/* The pointer of a run at an offset of the struct. */
static char *pointer_of(const vly_attention_run *run, size_t member)
{
    char *at = NULL;
    memcpy(&at, (const char *)run + member, sizeof at);
    return at;
}

/* Rows of one axis, contiguous inside. */
static cudaError_t copy_rows(char *to, uint64_t to_step, const char *from,
                             uint64_t from_step, uint64_t width, uint64_t n,
                             cudaStream_t stream)
{
    /* neither rows that overlap nor steps that a runtime does not count */
    const bool fits = to_step >= width && from_step >= width &&
                      to_step <= INT32_MAX && from_step <= INT32_MAX;
    if (n > 1 && fits)
        return cudaMemcpy2DAsync(to, to_step, from, from_step, width, n,
                                 cudaMemcpyDefault, stream);
    cudaError_t code = cudaSuccess;
    for (uint64_t i = 0; i < n && code == cudaSuccess; i++)
        code = cudaMemcpyAsync(to + i * to_step, from + i * from_step, width,
                               cudaMemcpyDefault, stream);
    return code;
}

/* By a kernel on the part's device; false: not in chunks, or too many. */
static bool as_chunks(const vly_attention_piece *piece, const char *whole,
                      const char *mine, bool outwards, vly_attention_copy *copy)
{
    uint64_t all =
        (uint64_t)(uintptr_t)whole | (uint64_t)(uintptr_t)mine | piece->width;
    *copy = (vly_attention_copy){.width = (uint32_t)(piece->width / 16),
                                 .count = {1, 1, 1}};
    for (uint32_t i = 0; i < piece->n_axes; i++) {
        const vly_attention_axis *axis = &piece->axes[i];
        all |= axis->whole | axis->part;
        copy->count[i] = (uint32_t)axis->count;
        copy->to_step[i] = (outwards ? axis->whole : axis->part) / 16;
        copy->from_step[i] = (outwards ? axis->part : axis->whole) / 16;
    }
    return all % 16 == 0 && piece->bytes / 16 <= INT32_MAX;
}

/* outwards: from the part to the caller */
static vly_status copy_piece(const vly_attention_piece *piece, char *whole,
                             char *mine, bool outwards, bool by_kernel,
                             cudaStream_t stream, vly_error *error)
{
    vly_attention_copy copy;
    vly_attention_axis axis[3] = {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}};
    cudaError_t code = cudaSuccess;
    if (piece->bytes == 0)
        return VLY_OK;
    if (by_kernel && as_chunks(piece, whole, mine, outwards, &copy)) {
        copy.to = outwards ? whole : mine;
        copy.from = outwards ? mine : whole;
        return vly_accel_cuda_check(vly_attention_copy_rows(&copy, stream),
                                    "a copy between devices", error);
    }
    memcpy(axis, piece->axes, piece->n_axes * sizeof axis[0]);
    for (uint64_t i = 0; i < axis[2].count && code == cudaSuccess; i++)
        for (uint64_t j = 0; j < axis[1].count && code == cudaSuccess; j++) {
            char *of_whole = whole + i * axis[2].whole + j * axis[1].whole;
            char *of_part = mine + i * axis[2].part + j * axis[1].part;
            code =
                outwards
                    ? copy_rows(of_whole, axis[0].whole, of_part, axis[0].part,
                                piece->width, axis[0].count, stream)
                    : copy_rows(of_part, axis[0].part, of_whole, axis[0].whole,
                                piece->width, axis[0].count, stream);
        }
    return vly_accel_cuda_check((int)code, "a copy between devices", error);
}

/* Copies what the part reads, or what it wrote. */
static vly_status copy_pieces(const part *p, const vly_attention_run *run,
                              bool outwards, bool by_kernel, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < p->n_pieces; i++) {
        const vly_attention_piece *piece = &p->pieces[i];
        char *whole = pointer_of(run, piece->member);
        if (p->places[i] != NOWHERE && whole &&
            (outwards ? piece->is_out : piece->is_in))
            VLY_TRY(copy_piece(piece, whole + piece->first,
                               p->memory + p->places[i], outwards, by_kernel,
                               p->stream, error));
    }
out:
    return status;
}

/* The run of a part on its own tensors. */
static vly_attention_run run_of(const part *p, const vly_attention_run *run)
{
    vly_attention_run made = *run;
    for (uint32_t i = 0; i < p->n_pieces; i++) {
        const vly_attention_piece *piece = &p->pieces[i];
        char *at = pointer_of(run, piece->member);
        if (at && p->places[i] != NOWHERE) {
            at = p->memory + p->places[i];
            memcpy((char *)&made + piece->member, &at, sizeof at);
        }
    }
    made.workspace =
        p->ready.workspace_bytes > 0 ? p->memory + p->workspace : NULL;
    made.workspace_bytes = p->ready.workspace_bytes;
    made.stream = p->stream;
    return made;
}

static vly_status run_part(const part *p, const vly_attention_run *run,
                           bool by_kernel, vly_error *error)
{
    const vly_attention_run mine = run_of(p, run);
    vly_status status = VLY_OK;
    VLY_TRY(copy_pieces(p, run, false, by_kernel, error));
    VLY_TRY(p->ready.way->run(&p->device, &p->desc, &p->ready, &mine, error));
    status = copy_pieces(p, run, true, by_kernel, error);
out:
    return status;
}

/* The part's stream begins where the caller's is, and ends before it goes on;
 * also after a failure, as copies may be under way. */
static vly_status put_part(const vly_attention_span *span, const part *p,
                           const vly_attention_run *run, vly_error *error)
{
    vly_error other = {.struct_size = sizeof other};
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(p->device.index, error));
    VLY_TRY(vly_accel_cuda_check(
        (int)cudaStreamWaitEvent(p->stream, span->begin, 0),
        "waiting for the caller's stream", error));
    status =
        run_part(p, run, span->by_kernel != 0 && span->no_peer == 0, error);
    const vly_status ended = vly_accel_cuda_check(
        (int)cudaEventRecord(p->done, p->stream), "cudaEventRecord",
        status == VLY_OK ? error : &other);
    if (status == VLY_OK)
        status = ended;
    if (ended == VLY_OK) {
        vly_status waits = vly_accel_cuda_enter(span->first, &other);
        if (waits == VLY_OK)
            waits = vly_accel_cuda_check(
                (int)cudaStreamWaitEvent((cudaStream_t)run->stream, p->done, 0),
                "waiting for a part", &other);
        if (status == VLY_OK && waits != VLY_OK)
            status = vly_support_fail(error, waits, "%s", other.message);
    }
out:
    return status;
}

vly_status vly_attention_span_run(vly_attention_span *span,
                                  const vly_attention_run *run,
                                  vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_check(
        (int)cudaEventRecord(span->begin, (cudaStream_t)run->stream),
        "cudaEventRecord", error));
    /* the first part needs no copy, so the others begin before it */
    for (uint32_t i = span->n; i-- > 0 && status == VLY_OK;)
        status = put_part(span, &span->parts[i], run, error);
out:
    return status;
}
