/* SPDX-License-Identifier: Apache-2.0
 * What every unit test includes: cmocka with what it needs before it, and the
 * main function. Asserts longjmp: never from another thread or a callback.
 */
#ifndef VOLLEY_TEST_H
#define VOLLEY_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* needs the four above */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* see VOLLEY_SANITIZE in CMakeLists.txt */
#if defined(__SANITIZE_ADDRESS__) &&                                           \
    (defined(__SSP__) || defined(__SSP_STRONG__) || defined(__SSP_ALL__))
#error "AddressSanitizer with -fstack-protector: AVX-512 stores may fault"
#endif

/* cmocka returns the number of failures: 256 of them would be exit code 0. */
#define VLY_TEST_MAIN(tests)                                                   \
    int main(void)                                                             \
    {                                                                          \
        return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;              \
    }

/* |a - b| <= tolerance; unlike assert_float_equal it fails on NaN. */
#define assert_close(a, b, tolerance)                                          \
    do {                                                                       \
        double close_a_ = (a), close_b_ = (b), close_tol_ = (tolerance);       \
        double close_d_ = close_a_ - close_b_;                                 \
        if (!((close_d_ < 0 ? -close_d_ : close_d_) <= close_tol_))            \
            fail_msg("%s is %.17g, wanted %.17g +- %g", #a, close_a_,          \
                     close_b_, close_tol_);                                    \
    } while (0)

/* status == VLY_OK, otherwise fails with the message of a vly_error. */
#define assert_ok(status, error)                                               \
    do {                                                                       \
        int ok_status_ = (int)(status);                                        \
        if (ok_status_ != 0)                                                   \
            fail_msg("%s is %d: %s", #status, ok_status_, (error).message);    \
    } while (0)

#endif
