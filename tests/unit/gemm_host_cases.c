/* SPDX-License-Identifier: Apache-2.0
 * The products that gemm_cuda is tested with on the host.
 */
#include "gemm_host_fixture.h"

const product_case cases[] = {
    /* every layout, odd sizes */
    {F32, F32, F32, 0, 0, 0, 0, 17, 63, 65, 1, 0, 0.0f},
    {F32, F32, F32, 0, 0, TA, 0, 17, 63, 65, 2, 3, 0.5f},
    {F32, F32, F32, 0, 0, TB | BIAS, VLY_GEMM_RELU, 5, 17, 33, 2, 4, 0.0f},
    {F32, F32, F32, 0, 0, TA | TB, VLY_GEMM_GELU, 3, 65, 9, 1, 1, -1.0f},
    {F16, F16, F16, 0, 0, TA | TB | BIAS, VLY_GEMM_RELU2, 9, 65, 17, 2, 8,
     1.0f},
    {F16, F16, F32, 0, 0, BIAS, VLY_GEMM_RELU2, 66, 70, 20, 1, 0, 0.0f},
    {BF16, BF16, BF16, 0, 0, TB | BIAS, VLY_GEMM_GELU, 6, 33, 40, 3, 8, 0.5f},
    {BF16, BF16, F32, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0.0f},
    /* few rows: one tile and more, k in parts, ends of k and n */
    {F32, F32, F32, 0, 0, TB, 0, 1, 9, 516, 1, 0, 0.0f},
    {F32, F32, F32, 0, 0, TB | BIAS, VLY_GEMM_RELU, 8, 6, 132, 2, 4, 1.0f},
    {F32, F32, F32, 0, 0, TB, 0, 1, 2, 8192, 1, 0, 0.0f},
    {F16, F16, F16, 0, 0, TB, 0, 1, 40, 4096, 1, 0, 0.0f},
    {F16, F16, F32, 0, 0, TB, 0, 8, 17, 1032, 2, 8, 0.5f},
    {BF16, BF16, BF16, 0, 0, TB | BIAS, VLY_GEMM_RELU2, 5, 31, 72, 1, 16, 0.0f},
    {BF16, BF16, F32, 0, 0, TB, 0, 2, 16, 8, 1, 0, 0.0f},
    {F16, I8, F16, 0, VLY_SCALE_ROW, TB, 0, 1, 33, 4112, 1, 0, 0.0f},
    {BF16, I8, BF16, 0, VLY_SCALE_ROW, TB | BIAS, VLY_GEMM_GELU, 7, 18, 160, 2,
     16, 0.5f},
    {F16, I8, F16, 0, VLY_SCALE_ROW, TB | BIAS, VLY_GEMM_RELU, 19, 34, 144, 2,
     16, 0.0f},
    {F16, I8, F16, 0, VLY_SCALE_ROW, TB, 0, 3, 5, 13, 1, 0, 0.0f},
    {F16, I4, F16, 0, VLY_SCALE_GROUP, TB, 0, 1, 33, 1152, 1, 0, 0.0f},
    {BF16, I4, BF16, 0, VLY_SCALE_GROUP, TB | BIAS, VLY_GEMM_GELU, 1, 35, 4352,
     2, 8, 0.5f},
    /* one piece a row, one for each warp, and two for some */
    {F16, I4, F16, 0, VLY_SCALE_GROUP, TB | BIAS, VLY_GEMM_RELU, 1, 1000, 512,
     2, 32, 0.5f},
    {BF16, I4, BF16, 0, VLY_SCALE_GROUP, TB, 0, 1, 600, 8192, 1, 0, 0.0f},
    {BF16, I8, BF16, 0, VLY_SCALE_ROW, TB | BIAS, VLY_GEMM_GELU, 1, 90, 1280, 2,
     16, 0.5f},
    /* more tiles than blocks stay on the device, three chunks of a row a warp
     */
    {F16, I4, F16, 0, VLY_SCALE_GROUP, TB, 0, 1, 470, 256, 1, 0, 0.0f},
    {BF16, I4, BF16, 0, VLY_SCALE_GROUP, TB, 0, 1, 150, 5120, 1, 0, 0.0f},
    {BF16, I4, BF16, 0, VLY_SCALE_GROUP, TB, 0, 1, 70, 12288, 1, 0, 0.0f},
    {BF16, I4, BF16, 0, VLY_SCALE_GROUP, TB | BIAS, VLY_GEMM_RELU, 8, 17, 256,
     2, 8, 1.0f},
    {F16, I4, F16, 0, VLY_SCALE_GROUP, TB, 0, 21, 20, 128, 1, 0, 0.0f},
    {F16, F16, F16, 0, 0, TB, 0, 30, 33, 136, 1, 8, 0.5f},
    {BF16, BF16, F32, 0, 0, TB | BIAS, VLY_GEMM_GELU, 12, 20, 520, 2, 0, 0.0f},
    /* fp8, every kind of scale */
    {E4M3, E4M3, F16, VLY_SCALE_SCALAR, VLY_SCALE_SCALAR, TB | BIAS,
     VLY_GEMM_RELU, 32, 48, 64, 2, 16, 0.0f},
    {E4M3, E4M3, BF16, VLY_SCALE_ROW, VLY_SCALE_ROW, TB, 0, 16, 32, 80, 2, 0,
     0.5f},
    {E4M3, E4M3, F32, VLY_SCALE_ROW, VLY_SCALE_ROW, TB | BIAS, VLY_GEMM_GELU,
     16, 32, 48, 2, 0, 0.0f},
    {E4M3, E4M3, F32, VLY_SCALE_BLOCK, VLY_SCALE_BLOCK, TB, 0, 32, 144, 272, 2,
     0, 0.0f},
    {E4M3, E4M3, BF16, VLY_SCALE_BLOCK, VLY_SCALE_BLOCK, TB, VLY_GEMM_RELU2, 16,
     272, 640, 1, 16, 0.0f},
    {E4M3, E4M3, F32, VLY_SCALE_BLOCK, VLY_SCALE_BLOCK, TB, 0, 7, 131, 135, 1,
     0, 0.0f},
    /* int8, exact and scaled */
    {I8, I8, I32, 0, 0, TB, 0, 12, 20, 24, 2, 4, 1.0f},
    {I8, I8, I32, 0, 0, TA, 0, 5, 7, 9, 1, 0, 0.0f},
    {I8, I8, F16, VLY_SCALE_ROW, VLY_SCALE_ROW, TB | BIAS, VLY_GEMM_RELU, 8, 12,
     64, 2, 4, 0.5f},
    {I8, I8, F32, VLY_SCALE_ROW, VLY_SCALE_ROW, 0, 0, 3, 5, 7, 1, 0, 0.0f},
    /* more blocks than a square of scales has; scales of B as they are */
    {E4M3, E4M3, F32, VLY_SCALE_BLOCK, VLY_SCALE_BLOCK, TB, 0, 48, 16, 4352, 1,
     0, 0.0f},
    {E4M3, E4M3, F32, VLY_SCALE_BLOCK, VLY_SCALE_BLOCK, TB, 0, 16, 144, 512, 2,
     0, 0.0f},
    /* two blocks of scales in n and in k, few enough to measure every way */
    {E4M3, E4M3, BF16, VLY_SCALE_BLOCK, VLY_SCALE_BLOCK, TB | BIAS,
     VLY_GEMM_RELU2, 16, 144, 144, 1, 16, 0.5f},
};

const uint32_t n_cases = sizeof cases / sizeof cases[0];
