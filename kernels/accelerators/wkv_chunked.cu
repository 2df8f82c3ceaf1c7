/* SPDX-License-Identifier: Apache-2.0
 * RWKV-7's recurrence in chunks of 32 tokens, as products of matrices. A chunk
 * changes the state S by two matrices, S := S M + N, and gives its outputs in
 * the same way. M and N need no state: they are made of all chunks and heads at
 * once (wkv_chunk_make.cuh); then states go from chunk to chunk
 * (wkv_chunk_pass.cuh), in as many steps as there are chunks, each one product.
 * The two halves are blocks of one kernel, so that a range of chunks is passed
 * on while the next range is made.
 *
 * Products are three passes of tf32 (wkv_mma.cuh). Decays are multiplied as the
 * recurrence does it, so P_t / P_s has its error. A chunk whose P falls below
 * e^-40 (RWKV-7's do not), or with a number above 2^30 or none (0 times NaN
 * would reach tokens before it), is done token by token.
 *
 * Source   Yang et al. 2024, arXiv:2406.06484 (the delta rule in chunks)
 */
#include "wkv_chunk_make.cuh"
#include "wkv_chunk_pass.cuh"

union chunked_shared {
    chunk_work work;
    chunk_rows rows;
};

/* The first blocks pass on, the others make. */
template <typename T, bool WHOLE>
static __global__ void __launch_bounds__(CHUNK_THREADS, 2)
    wkv_chunked(const __grid_constant__ vly_wkv_args args,
                const __grid_constant__ chunk_range passed,
                const __grid_constant__ chunk_range made)
{
    extern __shared__ __align__(128) char memory[];
    chunked_shared *const shared = (chunked_shared *)memory;
    const uint32_t slices = WKV_DIM / SLICE;
    const uint32_t passes =
        passed.record == nullptr ? 0 : args.batch * args.heads * slices;
    if (blockIdx.x < passes)
        pass_chunks<T>(args, passed, blockIdx.x / slices, blockIdx.x % slices,
                       &shared->rows);
    else
        make_chunk<T, WHOLE>(args, made, blockIdx.x - passes, &shared->work);
}

/* ---- launches ------------------------------------------------------------ */

#define FEW_BLOCKS 1920 /* some for every multiprocessor of any device */

static uint32_t chunks_of(uint32_t seq)
{
    return (uint32_t)(((uint64_t)seq + CHUNK - 1) / CHUNK);
}

static uint64_t range_bytes(uint64_t pairs, uint32_t chunks)
{
    const uint64_t n = pairs * chunks;
    return n * sizeof(chunk_record) + (n * sizeof(int32_t) + 255) / 256 * 256;
}

uint64_t vly_wkv_chunked_bytes(uint64_t pairs, uint32_t seq, uint32_t chunks)
{
    return range_bytes(pairs, chunks) * (chunks < chunks_of(seq) ? 2 : 1);
}

uint32_t vly_wkv_chunked_range(uint64_t pairs, uint32_t seq, uint64_t most)
{
    const uint32_t all = chunks_of(seq);
    const uint64_t blocks = 2 * range_bytes(pairs, 1);
    if (pairs == 0 || all == 0)
        return 1;
    if (pairs > INT32_MAX / (WKV_DIM / SLICE) / 2)
        return 0;
    uint32_t chunks = (uint32_t)((FEW_BLOCKS - 1) / pairs + 1);
    if (chunks >= all && range_bytes(pairs, all) <= most)
        return all;
    if (chunks > most / blocks)
        chunks = (uint32_t)(most / blocks);
    return chunks < all ? chunks : all;
}

static chunk_range range_of(const vly_wkv_args *args, uint32_t first)
{
    const uint64_t pairs = (uint64_t)args->batch * args->heads;
    const uint32_t left = chunks_of(args->seq) - first;
    chunk_range range = {};
    char *at = (char *)args->workspace;
    if (first / args->chunks % 2 != 0)
        at += range_bytes(pairs, args->chunks);
    range.record = (chunk_record *)at;
    range.plain = (int32_t *)(range.record + pairs * args->chunks);
    range.first = first;
    range.n = left < args->chunks ? left : args->chunks;
    return range;
}

template <typename T, bool WHOLE>
static int launch_chunks(const vly_wkv_args *args, cudaStream_t stream)
{
    const uint32_t pairs = args->batch * args->heads;
    const uint32_t all = chunks_of(args->seq);
    const int bytes = (int)sizeof(chunked_shared);
    chunk_range passed = {};
    const cudaError_t code = cudaFuncSetAttribute(
        wkv_chunked<T, WHOLE>, cudaFuncAttributeMaxDynamicSharedMemorySize,
        bytes);
    if (code != cudaSuccess)
        return (int)code;
    if (all == 0) /* the state goes through as it is */
        passed = range_of(args, 0);
    for (uint32_t first = 0;; first += args->chunks) {
        chunk_range made = {};
        uint32_t blocks = 0;
        if (first < all) {
            made = range_of(args, first);
            blocks += pairs * made.n;
        }
        if (passed.record != nullptr)
            blocks += pairs * (WKV_DIM / SLICE);
        if (blocks == 0)
            break;
        wkv_chunked<T, WHOLE>
            <<<blocks, CHUNK_THREADS, bytes, stream>>>(*args, passed, made);
        passed = made;
    }
    return (int)cudaGetLastError();
}

template <typename T>
static int launch(const vly_wkv_args *args, cudaStream_t stream)
{
    const bool whole = quad_is_whole(args->r) && quad_is_whole(args->w) &&
                       quad_is_whole(args->k) && quad_is_whole(args->v) &&
                       quad_is_whole(args->a) && quad_is_whole(args->b);
    return whole ? launch_chunks<T, true>(args, stream)
                 : launch_chunks<T, false>(args, stream);
}

int vly_wkv_chunked(const vly_wkv_args *args, void *stream)
{
    cudaStream_t to = (cudaStream_t)stream;
    if (args->batch == 0 || args->heads == 0)
        return 0;
    if (args->workspace == nullptr || args->chunks == 0)
        return (int)cudaErrorInvalidValue;
    switch (args->type) {
    case 1:
        return launch<__half>(args, to);
    case 2:
        return launch<__nv_bfloat16>(args, to);
    default:
        return launch<float>(args, to);
    }
}
