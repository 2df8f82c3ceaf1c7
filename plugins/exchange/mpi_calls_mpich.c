/* SPDX-License-Identifier: Apache-2.0
 * The ABI of MPICH 3 and later, Intel MPI and MVAPICH: handles are numbers.
 */
#include "mpi_calls.h"

#include <stdint.h>

#define MPI_TABLE mpi_calls_mpich
#define MPI_ABI_NAME "ABI of MPICH"
#define MPI_MEMBER number
#define MPI_IN_PLACE_ ((void *)(intptr_t)-1)
#define MPI_ANY_ (-2)
#define MPI_FUNNELED_ 1
#define MPI_SERIALIZED_ 2

typedef int mpi_object;

#define object_world ((mpi_object)0x44000000)
#define object_byte ((mpi_object)0x4c00010d)
#define object_errors_return ((mpi_object)0x54000001)

static const char *bind_objects(void *library)
{
    (void)library;
    return NULL;
}

#include "mpi_calls_of.h"
