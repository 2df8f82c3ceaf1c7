/* SPDX-License-Identifier: Apache-2.0
 * Shared by the parts of rwkv_token.cu: a block's shared memory, barriers,
 * values that blocks send each other, products of fragments.
 *
 * Blocks send each other values with a flag beside each of them, in one word
 * that is written at once: 8 bytes (fp32, flag) or 4 (16 bits, flag). A reader
 * reads the values until all flags are those of this layer; no barrier, no
 * fence: one trip to the second-level cache for the writer, one or two for the
 * reader. A flag is the number of the layer, counted through all launches, so
 * that a value of an earlier layer never has it.
 */
#ifndef VLY_RWKV_TOKEN_CUH
#define VLY_RWKV_TOKEN_CUH

#include "rwkv_device.cuh"
#include "rwkv_token.h"

#define TOKEN_WARPS 8 /* that work; four more copy and prefetch */
#define TOKEN_WORKERS (32 * TOKEN_WARPS)
#define TOKEN_THREADS (TOKEN_WORKERS + 128)
#define TOKEN_PAIRS 256 /* of rows of a block in a phase */
#define TOKEN_PARTS 512 /* pieces of those pairs of which there are several */
#define TOKEN_CHUNKS VLY_CUDA_RWKV_TOKEN_CHUNKS
/* values of the first products that a head wants, by rounds of its threads */
#define TOKEN_ROUND (4 * TOKEN_WORKERS)
#define TOKEN_ENTRIES                                                          \
    ((3 * RWKV_DIM + TOKEN_CHUNKS * 32 + TOKEN_ROUND - 1) / TOKEN_ROUND *      \
     TOKEN_ROUND)
#define TOKEN_NONE 0xffffu
#define TOKEN_CLUSTER VLY_CUDA_RWKV_TOKEN_CLUSTER

typedef vly_cuda_rwkv_token_layer token_layer;
typedef vly_cuda_rwkv_token_kind token_kind;
typedef vly_cuda_rwkv_token token_args;

/* Where things are in token_args.exchange. */
enum { EXCHANGE_IN, EXCHANGE_Y, EXCHANGE_OUTPUT, EXCHANGE_KEY, EXCHANGE_VALUE };

/* Rows of a block: token_shared.range. */
enum {
    RANGE_FIRST, /* first products of the first layer */
    RANGE_OTHERS,
    RANGE_WIDTH,
    RANGE_HIDDEN,
    RANGE_HEAD,
    RANGE_LAST, /* entries of two values of `last` */
    N_RANGES
};

/* A head of a layer, between the first products and the output. */
struct alignas(16) token_head {
    float r[RWKV_DIM], w[RWKV_DIM], k[RWKV_DIM], v[RWKV_DIM];
    float a[RWKV_DIM], b[RWKV_DIM], y[RWKV_DIM], g[RWKV_DIM];
    float rkv[3][RWKV_DIM];
    float first_v[RWKV_DIM]; /* of the first layer, kept */
    float squares[2], bonus[2];
    float part[TOKEN_CHUNKS][RWKV_DIM]; /* of the LoRAs' second products */
    alignas(16) uint16_t hidden[TOKEN_CHUNKS * 32];
};

/* 32 of a rank, or the last of it. */
struct token_chunk {
    uint8_t matrix, left;
    uint16_t k;
};

struct token_shared {
    alignas(16) token_layer layer[2]; /* of the workers, by turns */
    token_layer copied[2];            /* of the copying thread */
    float4 part[2][TOKEN_WARPS];      /* of norms: sum, mean, squares, count */
    uint64_t heard[2]; /* barriers of sums and of halves: token_hear */
    float partial[TOKEN_PARTS][2];
    uint32_t arrived[TOKEN_PAIRS];
    uint16_t pair[2][TOKEN_PAIRS]; /* of the first products, by kind: row, and
                                      0x8000 where it is alone */
    uint32_t n_pairs[2];
    uint32_t range[N_RANGES][2];
    uint32_t span[2][2]; /* the first and last of the first products */
    uint32_t progress;   /* layers that were begun */
    uint32_t phase;      /* of the workers, counted from 1 */
    uint32_t n_chunks[2];
    token_chunk chunk[2][TOKEN_CHUNKS];
    uint16_t entry[2][TOKEN_ENTRIES]; /* rows, or TOKEN_NONE */
    token_head head;
};

/* Places in a block's shared memory. Pointers are made of them where they are
 * used, so that the compiler sees which memory they are of. */
extern __shared__ __align__(128) char token_base[];

struct token_memory {
    uint64_t *full, *empty; /* barriers of the slots */
    uint32_t ring;
    uint32_t x0, x1; /* of first products and key; of output and value, then
                        logits */
    uint32_t sums;   /* [width] fp32 of output and of value */
    token_shared *s;
};

/* ---- barriers ----------------------------------------------------------- */

static __device__ __forceinline__ uint32_t token_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ void token_bar_init(uint64_t *bar, uint32_t n)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(token_address(bar)),
                 "r"(n));
}

/* Until the phase of this parity is over. */
static __device__ __forceinline__ void token_bar_wait(uint64_t *bar,
                                                      uint32_t parity)
{
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}" ::"r"(token_address(bar)),
        "r"(parity)
        : "memory");
}

static __device__ __forceinline__ void token_bar_arrive(uint64_t *bar,
                                                        uint32_t n)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(
                     token_address(bar)),
                 "r"(n)
                 : "memory");
}

static __device__ __forceinline__ void token_bar_expect(uint64_t *bar,
                                                        uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     token_address(bar)),
                 "r"(bytes)
                 : "memory");
}

/* The same if other blocks of the cluster wrote the counted bytes. */
static __device__ __forceinline__ void token_bar_wait_cluster(uint64_t *bar,
                                                              uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta"
                 ".b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(token_address(bar)),
                 "r"(parity)
                 : "memory");
}

/* Of the threads that work. */
static __device__ __forceinline__ void token_sync()
{
    asm volatile("bar.sync 1, %0;" ::"n"(TOKEN_WORKERS) : "memory");
}

/* ---- values with flags --------------------------------------------------- */

static __device__ __forceinline__ uint4 token_see4(const void *at)
{
    uint4 v;
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(at)
                 : "memory");
    return v;
}

static __device__ __forceinline__ uint2 token_see2(const void *at)
{
    uint2 v;
    asm volatile("ld.volatile.global.v2.u32 {%0, %1}, [%2];"
                 : "=r"(v.x), "=r"(v.y)
                 : "l"(at)
                 : "memory");
    return v;
}

static __device__ __forceinline__ void token_say_float(uint2 *at, float x,
                                                       uint32_t flag)
{
    asm volatile("st.volatile.global.v2.u32 [%0], {%1, %2};" ::"l"(at),
                 "r"(__float_as_uint(x)), "r"(flag)
                 : "memory");
}

static __device__ __forceinline__ uint32_t token_bits(float x, __half)
{
    return __half_as_ushort(__float2half_rn(x));
}
static __device__ __forceinline__ uint32_t token_bits(float x, __nv_bfloat16)
{
    return __bfloat16_as_ushort(__float2bfloat16_rn(x));
}

static __device__ __forceinline__ float token_rounded(float x, __half)
{
    return __half2float(__float2half_rn(x));
}
static __device__ __forceinline__ float token_rounded(float x, __nv_bfloat16)
{
    return __bfloat162float(__float2bfloat16_rn(x));
}

template <typename T>
static __device__ __forceinline__ void token_say_half(uint32_t *at, float x,
                                                      uint32_t flag, T type)
{
    asm volatile("st.volatile.global.u32 [%0], %1;" ::"l"(at),
                 "r"(token_bits(x, type) | flag << 16)
                 : "memory");
}

/* ---- small things -------------------------------------------------------- */

static __device__ __forceinline__ float token_sigmoid(float x)
{
    return __fdividef(1.0f, 1.0f + expf(-x));
}

/* d += a b: 16 rows of a, of which a lane has k of rows lane / 4 (a0, a2) and
 * that + 8 (a1, a3) */
static __device__ __forceinline__ void token_mma(float (&d)[4], uint32_t a0,
                                                 uint32_t a1, uint32_t a2,
                                                 uint32_t a3, uint32_t b0,
                                                 uint32_t b1, __half)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
static __device__ __forceinline__ void token_mma(float (&d)[4], uint32_t a0,
                                                 uint32_t a1, uint32_t a2,
                                                 uint32_t a3, uint32_t b0,
                                                 uint32_t b1, __nv_bfloat16)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/* 16 bytes of two rows and of x: 8 of k for each lane, in two steps */
template <typename T>
static __device__ __forceinline__ void token_add(float (&d)[4], uint4 v,
                                                 uint4 u, uint4 x)
{
    token_mma(d, v.x, u.x, v.y, u.y, x.x, x.y, T());
    token_mma(d, v.z, u.z, v.w, u.w, x.z, x.w, T());
}

static __device__ __forceinline__ uint32_t token_share(uint32_t rows,
                                                       uint32_t block)
{
    return (uint32_t)((uint64_t)rows * block / gridDim.x);
}

#endif
