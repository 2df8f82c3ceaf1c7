/* SPDX-License-Identifier: Apache-2.0
 * Which MPI: the launcher that started this process, and its library.
 */
#ifndef VOLLEY_MPI_LIBRARY_H
#define VOLLEY_MPI_LIBRARY_H

#include "exchange_common.h"
#include "mpi_calls.h"

typedef struct mpi_library {
    const mpi_calls *calls;
    char path[256];
    /* what the launcher says: "" and 0: there is none, or it does not */
    const char *launcher;
    uint32_t n_ranks;
} mpi_library;

/* Opens the library once for the process and finds its functions.
 * name    a file or name of a library; NULL: VOLLEY_MPI, or that of the
 *         launcher
 * Errors  E_UNSUPPORTED  no launcher, or no library: with the reasons
 */
vly_status mpi_library_open(const char *name, mpi_library *library,
                            vly_error *error);

#endif
