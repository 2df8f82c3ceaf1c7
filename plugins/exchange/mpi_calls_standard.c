/* SPDX-License-Identifier: Apache-2.0
 * The ABI of MPI 5 (MPI: A Message-Passing Interface Standard 5.0, chapter
 * 20): handles are small constants in pointers.
 */
#include "mpi_calls.h"

#include <stdint.h>

#define MPI_TABLE mpi_calls_standard
#define MPI_ABI_NAME "ABI of MPI 5"
#define MPI_MEMBER pointer
#define MPI_IN_PLACE_ ((void *)(uintptr_t)1)
#define MPI_ANY_ (-1)
#define MPI_FUNNELED_ 1024
#define MPI_SERIALIZED_ 2048

typedef void *mpi_object;

#define object_world ((mpi_object)(uintptr_t)0x101)
#define object_byte ((mpi_object)(uintptr_t)0x247)
#define object_errors_return ((mpi_object)(uintptr_t)0x143)

static const char *bind_objects(void *library)
{
    (void)library;
    return NULL;
}

#include "mpi_calls_of.h"
