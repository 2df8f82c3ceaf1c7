/* SPDX-License-Identifier: Apache-2.0
 * RWKV-7's time mixing of one token between two products: the second products
 * of the LoRAs, PREPARE, the recurrence and FINISH. All of it is local to a
 * head, so a head of a sequence is a block, and nothing but v_first, the state
 * and the result is written. The same block does PREPARE with LORA.
 *
 * A block reads the 64 rows of four matrices (48 to 100 KB in 16 bits at the
 * published ranks) and 16 KB of state; all loads start before the first wait.
 * Predicted for an H200, bound by the loads of one multiprocessor (some 64
 * bytes a cycle): 0.6 to 1.1 us, where four launches were 4 us. The first form
 * took 12.6 us (bench/results/rwkv.csv, launches of a token).
 */
#include "rwkv_step.cuh"

/* [batch][heads]. T: of the matrices. */
template <typename T>
static __global__ void __launch_bounds__(STEP_THREADS)
    rwkv_step(const __grid_constant__ vly_cuda_rwkv_heads args)
{
    extern __shared__ __align__(128) float hidden[];
    __shared__ __align__(16) step_shared shared;
    if (args.is_lora && args.early)
        prefetch_matrices<T>(args,
                             blockIdx.x % (args.width / RWKV_DIM) * RWKV_DIM);
    rwkv_wait();
    step_head<T>(args, blockIdx.x, hidden, &shared);
}

/* [rows][heads] */
template <typename T>
static __global__ void __launch_bounds__(STEP_THREADS)
    rwkv_prepare_lora(const __grid_constant__ vly_cuda_rwkv_heads args)
{
    extern __shared__ __align__(128) float hidden[];
    __shared__ __align__(16) step_shared shared;
    const uint32_t heads = args.width / RWKV_DIM;
    const uint32_t row = blockIdx.x / heads;
    const uint32_t first = blockIdx.x % heads * RWKV_DIM;
    if (args.early)
        prefetch_matrices<T>(args, first);
    rwkv_wait();
    if (!rwkv_is_there(args.length, args.seq, row))
        return;
    const uint32_t j = threadIdx.x;
    const uint64_t at = (uint64_t)row * args.width + first + j;
    step_pieces pieces;
    head_inputs in = {};
    read_matrices<T>(args, first, &pieces);
    if (j < RWKV_DIM)
        in = head_inputs_of(args, at, first + j, false);
    read_hidden(args, row, hidden);
    __syncthreads();
    second_products<T>(args, first, hidden, pieces, &shared);
    __syncthreads();
    make_columns(args, in, row, first, false, &shared);
    if (j >= RWKV_DIM)
        return;
    rwkv_put(args.wkv_r, args.type_wkv, at, shared.r[j]);
    rwkv_put(args.wkv_w, args.type_wkv, at, shared.w[j]);
    rwkv_put(args.wkv_k, args.type_wkv, at, shared.k[j]);
    rwkv_put(args.wkv_v, args.type_wkv, at, shared.v[j]);
    rwkv_put(args.wkv_a, args.type_wkv, at, shared.a[j]);
    rwkv_put(args.wkv_b, args.type_wkv, at, shared.b[j]);
    rwkv_put(args.g, args.type, at, shared.g[j]);
}

typedef void (*heads_kernel)(const vly_cuda_rwkv_heads);

static int launch(const heads_kernel kernels[3],
                  const vly_cuda_rwkv_heads *args, void *stream)
{
    const uint64_t blocks =
        (uint64_t)args->batch * args->seq * (args->width / RWKV_DIM);
    uint64_t ranks = 0;
    for (uint32_t i = 0; i < 4 && args->is_lora; i++)
        ranks += i == 2 && args->is_first ? 0 : args->rank[i];
    if (blocks == 0)
        return 0;
    if (blocks > INT32_MAX || ranks > VLY_CUDA_RWKV_MOST_RANKS)
        return (int)cudaErrorInvalidValue;
    return rwkv_launch(kernels[args->type_matrix % 3], dim3((uint32_t)blocks),
                       STEP_THREADS, ranks * sizeof(float), stream, args->early,
                       *args);
}

int vly_cuda_rwkv_step(const vly_cuda_rwkv_heads *args, void *stream)
{
    static const heads_kernel kernels[3] = {rwkv_step<float>, rwkv_step<__half>,
                                            rwkv_step<__nv_bfloat16>};
    return launch(kernels, args, stream);
}

int vly_cuda_rwkv_prepare_lora(const vly_cuda_rwkv_heads *args, void *stream)
{
    static const heads_kernel kernels[3] = {rwkv_prepare_lora<float>,
                                            rwkv_prepare_lora<__half>,
                                            rwkv_prepare_lora<__nv_bfloat16>};
    return launch(kernels, args, stream);
}
