/* SPDX-License-Identifier: Apache-2.0
 * The ABI of Open MPI 1.7 to 5: handles are addresses of objects that the
 * library exports.
 */
#include "mpi_calls.h"

#include <dlfcn.h>
#include <stdint.h>

#define MPI_TABLE mpi_calls_ompi
#define MPI_ABI_NAME "ABI of Open MPI"
#define MPI_MEMBER pointer
#define MPI_IN_PLACE_ ((void *)(uintptr_t)1)
#define MPI_ANY_ (-1)
#define MPI_FUNNELED_ 1
#define MPI_SERIALIZED_ 2

typedef void *mpi_object;

static mpi_object object_world;
static mpi_object object_byte;
static mpi_object object_errors_return;

static const char *bind_objects(void *library)
{
    object_world = dlsym(library, "ompi_mpi_comm_world");
    object_byte = dlsym(library, "ompi_mpi_byte");
    object_errors_return = dlsym(library, "ompi_mpi_errors_return");
    return !object_world           ? "ompi_mpi_comm_world"
           : !object_byte          ? "ompi_mpi_byte"
           : !object_errors_return ? "ompi_mpi_errors_return"
                                   : NULL;
}

#include "mpi_calls_of.h"
