/* SPDX-License-Identifier: Apache-2.0
 * How many cases a test of threads runs.
 */
#ifndef VOLLEY_FEWER_CASES_H
#define VOLLEY_FEWER_CASES_H

#include <stdint.h>
#include <stdlib.h>

/* all, and with ThreadSanitizer few: it finds races of code, which runs for
 * each case, and not wrong numbers, which all cases of the other builds find.
 * .ci/all (VOLLEY_CI_ALL) runs all in both. */
static inline uint32_t fewer_cases(uint32_t all, uint32_t few)
{
#if defined(__SANITIZE_THREAD__)
    return getenv("VOLLEY_CI_ALL") ? all : few;
#else
    (void)few;
    return all;
#endif
}

#endif
