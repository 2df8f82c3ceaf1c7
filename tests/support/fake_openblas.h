/* SPDX-License-Identifier: Apache-2.0
 * What the OpenBLAS of the tests computes.
 */
#ifndef FAKE_OPENBLAS_H
#define FAKE_OPENBLAS_H

enum {
    FAKE_OPENBLAS_RIGHT,
    FAKE_OPENBLAS_NOTHING,       /* D stays as it is */
    FAKE_OPENBLAS_READS_C,       /* D with beta 0, too */
    FAKE_OPENBLAS_NEVER_TURNS_B, /* whatever is asked for */
    FAKE_OPENBLAS_CUTS_K,        /* a term is missing where there are many */
    FAKE_OPENBLAS_N
};

extern int fake_openblas_does; /* FAKE_OPENBLAS_* */

#endif
