/* SPDX-License-Identifier: Apache-2.0
 * Four neighbours of an array in one piece, if its alignment allows. The type
 * is known when a kernel is compiled: after a branch on it every load would
 * have to end before the next one starts.
 */
#ifndef VLY_RWKV_QUADS_CUH
#define VLY_RWKV_QUADS_CUH

#include "rwkv_device.cuh"

static __device__ __forceinline__ float quad_of(uint32_t bits, const __half *)
{
    __half_raw raw;
    raw.x = (unsigned short)bits;
    return __half2float(__half(raw));
}
static __device__ __forceinline__ float quad_of(uint32_t bits,
                                                const __nv_bfloat16 *)
{
    __nv_bfloat16_raw raw;
    raw.x = (unsigned short)bits;
    return __bfloat162float(__nv_bfloat16(raw));
}

static __device__ __forceinline__ uint32_t quad_bits(float x, const __half *)
{
    return (unsigned short)__half_raw(__float2half_rn(x)).x;
}
static __device__ __forceinline__ uint32_t quad_bits(float x,
                                                     const __nv_bfloat16 *)
{
    return (unsigned short)__nv_bfloat16_raw(__float2bfloat16_rn(x)).x;
}

/* Elements at to at + 3; WHOLE: their address is a multiple of their size. */
template <typename T, bool WHOLE> struct quad {
    static __device__ __forceinline__ void load(const void *array, uint64_t at,
                                                float x[4])
    {
        const T *from = (const T *)array + at;
        if (WHOLE) {
            const uint2 raw = *(const uint2 *)from;
            x[0] = quad_of(raw.x & 0xffffu, from);
            x[1] = quad_of(raw.x >> 16, from);
            x[2] = quad_of(raw.y & 0xffffu, from);
            x[3] = quad_of(raw.y >> 16, from);
        } else {
            for (int i = 0; i < 4; i++)
                x[i] = rwkv_float(from[i]);
        }
    }
    static __device__ __forceinline__ void store(void *array, uint64_t at,
                                                 const float x[4])
    {
        T *to = (T *)array + at;
        if (WHOLE) {
            uint2 raw;
            raw.x = quad_bits(x[0], to) | quad_bits(x[1], to) << 16;
            raw.y = quad_bits(x[2], to) | quad_bits(x[3], to) << 16;
            *(uint2 *)to = raw;
        } else {
            for (int i = 0; i < 4; i++)
                to[i] = T(x[i]);
        }
    }
};

template <bool WHOLE> struct quad<float, WHOLE> {
    static __device__ __forceinline__ void load(const void *array, uint64_t at,
                                                float x[4])
    {
        const float *from = (const float *)array + at;
        if (WHOLE) {
            const float4 raw = *(const float4 *)from;
            x[0] = raw.x;
            x[1] = raw.y;
            x[2] = raw.z;
            x[3] = raw.w;
        } else {
            for (int i = 0; i < 4; i++)
                x[i] = from[i];
        }
    }
    static __device__ __forceinline__ void store(void *array, uint64_t at,
                                                 const float x[4])
    {
        float *to = (float *)array + at;
        if (WHOLE) {
            *(float4 *)to = make_float4(x[0], x[1], x[2], x[3]);
        } else {
            for (int i = 0; i < 4; i++)
                to[i] = x[i];
        }
    }
};

/* Can an array be read in quads of any type? */
static inline bool quad_is_whole(const void *array)
{
    return (uintptr_t)array % 16 == 0;
}

#endif
