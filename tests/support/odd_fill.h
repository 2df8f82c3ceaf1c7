/* SPDX-License-Identifier: Apache-2.0
 * Large inputs for accelerators: an odd number of values, again and again, so
 * that an index that wraps at a power of two finds other ones. Hundreds of
 * millions made one by one took most of the time of a test.
 */
#ifndef VLY_ODD_FILL_H
#define VLY_ODD_FILL_H

#include <stdint.h>
#include <string.h>

#include "conformance/conformance_attention.h"
#include "conformance/conformance_element.h"

/* n fp16: value i is attention_random(a, b, i % period), times size. */
static inline void odd_fill(void *to, uint64_t n, double size, uint32_t a,
                            uint32_t b)
{
    const uint64_t period = 999983;
    uint64_t made = n < period ? n : period;
    for (uint64_t i = 0; i < made; i++)
        conformance_element_set(VLY_ELEMENT_F16, to, i,
                                size * attention_random(a, b, i));
    while (made < n) { /* whole periods until the last */
        const uint64_t part = n - made < made ? n - made : made;
        memcpy((char *)to + made * 2, to, (size_t)(part * 2));
        made += part;
    }
}

#endif
