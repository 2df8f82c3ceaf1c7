/* SPDX-License-Identifier: Apache-2.0
 * volley check --ranks: the parts that ranks of a network would build.
 */
#ifndef VOLLEY_TOOLS_CHECK_RANKS_H
#define VOLLEY_TOOLS_CHECK_RANKS_H

#include <stdbool.h>

#include <volley/volley.h>

typedef struct check_ranks {
    uint32_t n_ranks;
    uint32_t
        rank; /* build this one; n_ranks: all, and compare with the whole */
    uint32_t n_threads;
    const char *json; /* file, "-" is stdout; NULL: a table on stdout */
} check_ranks;

/* Builds and prints parts, each as by a rank alone. *differs: their sums are
 * not those of the whole. If a rank alone cannot build its part, the whole is
 * printed, and a note says why.
 * Errors  of vly_connectome_build, vly_connectome_build_part; E_IO, E_NOMEM */
vly_status check_ranks_run(const vly_genome *genome, const check_ranks *asked,
                           bool *differs, vly_error *error);

#endif
