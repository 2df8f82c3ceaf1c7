/* SPDX-License-Identifier: Apache-2.0
 * Which OpenBLAS gemm_cpu uses: one that computes products, and no other. The
 * library is opened once a process, so each kind gets a process of its own.
 */
#include "volley_test.h"

#include <sys/wait.h>
#include <unistd.h>

#include "fake_openblas.h"
#include "plugins/gemm/gemm_cpu.h"

const char vly_support_plugin[] = "test"; /* of what is linked in */

/* 0: used, 1: not used and the reason says what was found, 2: anything else */
static int opened_in_child(int does)
{
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fake_openblas_does = does;
        const char *why = vly_gemm_blas_missing();
        const bool is_told =
            why != NULL && strstr(why, "is not used") != NULL &&
            strstr(why, "wanted") != NULL && vly_gemm_blas_text()[0] == 0;
        _exit(why == NULL && vly_gemm_blas_text()[0] != 0 ? 0
              : is_told                                   ? 1
                                                          : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_right_is_used(void **state)
{
    (void)state;
    assert_int_equal(opened_in_child(FAKE_OPENBLAS_RIGHT), 0);
}

static void test_wrong_is_not(void **state)
{
    (void)state;
    for (int does = FAKE_OPENBLAS_NOTHING; does < FAKE_OPENBLAS_N; does++)
        assert_int_equal(opened_in_child(does), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_is_used),
        cmocka_unit_test(test_wrong_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
