/* SPDX-License-Identifier: Apache-2.0
 * Ranges for a profiler. nvtx3 is headers only: it looks for a profiler when
 * it is first called and does nothing (some nanoseconds) where there is none,
 * so there is nothing to link and nothing to turn on.
 */
#include "cuda_range.h"

#include <nvtx3/nvToolsExt.h>

void vly_cuda_range_begin(const char *name)
{
    (void)nvtxRangePushA(name);
}

void vly_cuda_range_end(void)
{
    (void)nvtxRangePop();
}
