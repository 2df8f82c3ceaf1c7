/* SPDX-License-Identifier: Apache-2.0
 * What is used of MPI, the same for all ABIs of MPI.
 *
 * MPI had no ABI before MPI 5, so libraries come in three: handles are pointers
 * to objects of the library (Open MPI), numbers (MPICH, Intel MPI, MVAPICH), or
 * small constants in pointers (MPI 5). mpi_calls_of.h is compiled once for
 * each.
 */
#ifndef VOLLEY_MPI_CALLS_H
#define VOLLEY_MPI_CALLS_H

#include <stdbool.h>
#include <stddef.h>

/* A communicator or request: whichever of both the ABI has. */
typedef union mpi_handle {
    void *pointer;
    int number;
} mpi_handle;

enum { MPI_LEVEL_FUNNELED = 1, MPI_LEVEL_SERIALIZED = 2 };

/* Numbers returned are those of MPI: 0 is success. Communicators report
 * errors. All data are bytes. */
typedef struct mpi_calls {
    const char *abi;
    /* Finds all functions and objects. NULL, or the name of a missing one. */
    const char *(*bind)(void *library);
    /* *level: what is provided of MPI_LEVEL_*, less: 0. *was_running: the
     * program has called MPI_Init itself, and will call MPI_Finalize. */
    int (*start)(int *level, bool *was_running);
    int (*finalize)(void);
    int (*version)(char *text, int bytes); /* in one line */
    int (*host)(char *text, int bytes);
    int (*world)(int *rank, int *size);
    int (*duplicate)(mpi_handle *made); /* of all ranks; collective */
    int (*release)(mpi_handle *communicator);
    /* In place: data has n bytes of each rank; those of this rank are there. */
    int (*gather)(void *data, int n, mpi_handle communicator,
                  mpi_handle *request);
    int (*gather_sizes)(void *data, const int *counts, const int *offsets,
                        mpi_handle communicator, mpi_handle *request);
    int (*broadcast)(void *data, int n, int root, mpi_handle communicator,
                     mpi_handle *request);
    int (*test)(mpi_handle *request, bool *is_done);
    int (*send)(const void *data, int n, int to, mpi_handle communicator,
                mpi_handle *request);
    /* Has a message come, from any rank or from this one? */
    int (*has_any)(mpi_handle communicator, bool *has);
    int (*has)(int from, mpi_handle communicator, bool *has);
    int (*receive)(void *data, int n, int from, mpi_handle communicator);
    int (*abort)(int code);
    int (*error_text)(int code, char *text, int bytes);
} mpi_calls;

extern const mpi_calls mpi_calls_standard;
extern const mpi_calls mpi_calls_mpich;
extern const mpi_calls mpi_calls_ompi;

#endif
