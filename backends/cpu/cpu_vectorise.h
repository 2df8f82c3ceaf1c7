/* SPDX-License-Identifier: Apache-2.0
 * What loops ask of the compiler. VECTORISE: passes of the loop do not depend
 * on each other (it cannot see through pointers that the arrays do not
 * overlap). INLINE: arguments are constants where the function is called.
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

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

#endif
