/* SPDX-License-Identifier: Apache-2.0
 * The step of loops that fail the 1st, 2nd, 3rd ... allocation.
 */
#ifndef VOLLEY_EACH_ALLOCATION_H
#define VOLLEY_EACH_ALLOCATION_H

#include <stdint.h>
#include <stdlib.h>

/* 1: every allocation. With AddressSanitizer each fourth one, because the
 * release build fails every one and counts the blocks that are left; .ci/all
 * (VOLLEY_CI_ALL) fails every one in both. */
static inline uint64_t each_allocation(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return getenv("VOLLEY_CI_ALL") ? 1 : 4;
#else
    return 1;
#endif
}

/* How many of them must fail, where `least` of all must. Not every allocation
 * makes its caller fail, so a sample may have fewer than its share: half of it.
 */
static inline uint64_t least_failures(uint64_t least)
{
    const uint64_t step = each_allocation();
    return step == 1 ? least : least / (2 * step);
}

#endif
