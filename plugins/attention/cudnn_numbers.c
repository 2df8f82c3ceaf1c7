/* SPDX-License-Identifier: Apache-2.0
 * The numbers of cudnn_api.h against cuDNN's own header, where there is one.
 */
#include "cudnn_api.h"

#if defined(__has_include)
#if __has_include(<cudnn_graph.h>) && __has_include(<driver_types.h>)
#if defined(__GNUC__) /* the header is not clean under our warnings */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wundef"
#endif
#include <cudnn_graph.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
#define VLY_CUDNN_COMPARE(name, value, theirs)                                 \
    _Static_assert((int)VLY_CUDNN_##name == (int)CUDNN_##theirs, #theirs);
VLY_CUDNN_NUMBERS(VLY_CUDNN_COMPARE)
#endif
#endif

extern const int vly_cudnn_numbers;
const int vly_cudnn_numbers = 1; /* a translation unit is not empty in C11 */
