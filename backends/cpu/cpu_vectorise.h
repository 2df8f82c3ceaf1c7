/* SPDX-License-Identifier: Apache-2.0
 * Lets the compiler vectorise a loop whose passes do not depend on each other:
 * it cannot see through pointers that the arrays do not overlap.
 */
#ifndef VOLLEY_CPU_VECTORISE_H
#define VOLLEY_CPU_VECTORISE_H

#if defined(__clang__)
#define VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define VECTORISE _Pragma("GCC ivdep")
#else
#define VECTORISE
#endif

#endif
