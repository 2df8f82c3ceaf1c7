/* SPDX-License-Identifier: Apache-2.0
 * Included before every source of a test that shares a program with others
 * (tests/programs.cmake): there main is the macro NAME_main.
 */
#ifndef VOLLEY_TEST_ENTRY_H
#define VOLLEY_TEST_ENTRY_H

#ifdef __cplusplus
extern "C" {
#endif
#ifdef VLY_TEST_TAKES_ARGUMENTS
int main(int argc, char **argv);
#else
int main(void);
#endif
#ifdef __cplusplus
}
#endif

#endif
