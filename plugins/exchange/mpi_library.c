/* SPDX-License-Identifier: Apache-2.0
 * Which MPI. Two may be installed, and the library of one does not work with
 * the launcher of the other, so the launcher decides: it is known by the
 * variables that it sets, and its library is beside it, or where the linker
 * finds it. Without a launcher MPI_Init would make a world of one rank:
 * then no MPI is opened, unless one is named.
 */
#define _GNU_SOURCE /* dlinfo, secure_getenv */
#include "mpi_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_NAMES = 4, MOST_ANCESTORS = 6 };

typedef struct launcher {
    const char *what;
    const char *rank; /* a variable that each rank has */
    const char *size;
    const char *names[N_NAMES]; /* of its library, or NULL */
} launcher;

/* The first that is seen. srun gives the variables of the kind of PMI that it
 * was told to be (--mpi=pmix, --mpi=pmi2). */
static const launcher launchers[] = {
    {"mpirun of Open MPI",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     {"libmpi.so.40", "libmpi_abi.so.1", "libmpi_abi.so.0", NULL}},
    {"srun with PMIx",
     "PMIX_RANK",
     "SLURM_NTASKS",
     {"libmpi.so.40", "libmpi_abi.so.1", "libmpi_abi.so.0", NULL}},
    {"mpiexec of MPICH or Intel MPI",
     "PMI_RANK",
     "PMI_SIZE",
     {"libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi.so.12", "libmpich.so.12"}},
};
#define N_LAUNCHERS (sizeof launchers / sizeof launchers[0])

static const launcher *seen_launcher(void)
{
    for (size_t i = 0; i < N_LAUNCHERS; i++)
        if (secure_getenv(launchers[i].rank) &&
            secure_getenv(launchers[i].size))
            return &launchers[i];
    return NULL;
}

/* ---- the folder of the launcher -------------------------------------------
 */

static bool is_launcher(const char *path)
{
    static const char *const names[] = {
        "mpirun",          "mpiexec",           "mpiexec.hydra", "orterun",
        "orted",           "prterun",           "prted",         "prte",
        "hydra_pmi_proxy", "hydra_bstrap_proxy"};
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; slash && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(slash + 1, names[i]) == 0)
            return true;
    return false;
}

/* The parent of a process; 0: unknown. */
static long parent_of(long process)
{
    char path[64];
    char line[512];
    long parent = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    /* "12 (a name) S 11 ...": the name may have anything in it */
    if (fgets(line, (int)sizeof line, file)) {
        const char *end = strrchr(line, ')');
        if (end && strlen(end) > 4)
            parent = strtol(end + 4, NULL, 10);
    }
    fclose(file);
    return parent;
}

/* "/opt/mpi" of the ancestor /opt/mpi/bin/mpirun; false: none is seen. */
static bool launcher_prefix(char prefix[PATH_MAX])
{
    char link[64];
    long process = (long)getppid();
    for (int i = 0; i < MOST_ANCESTORS && process > 1; i++) {
        snprintf(link, sizeof link, "/proc/%ld/exe", process);
        const ssize_t n = readlink(link, prefix, PATH_MAX - 1);
        if (n > 0) {
            prefix[n] = '\0';
            if (is_launcher(prefix)) {
                for (int k = 0; k < 2; k++) {
                    char *slash = strrchr(prefix, '/');
                    if (slash)
                        *slash = '\0';
                }
                return true;
            }
        }
        process = parent_of(process);
    }
    return false;
}

/* ---- the library ----------------------------------------------------------
 */

/* RTLD_GLOBAL, unlike all else that plugins open: the parts of Open MPI are
 * shared objects that are not linked to it and look for its symbols in the
 * process. It is never closed: MPI leaves threads and handlers. */
static void *open_it(const char *name, char *reasons, size_t bytes)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (library)
        return library;
    const char *text = dlerror();
    const size_t used = strlen(reasons);
    snprintf(reasons + used, bytes - used, "%s%s", used != 0 ? "; " : "",
             text ? text : name);
    return NULL;
}

static void *open_of_launcher(const launcher *seen, char *reasons, size_t bytes)
{
    char prefix[PATH_MAX];
    char path[PATH_MAX + 64];
    const bool has_prefix = launcher_prefix(prefix);
    void *library = NULL;
    for (int i = 0; has_prefix && i < N_NAMES && !library; i++) {
        if (!seen->names[i])
            continue;
        snprintf(path, sizeof path, "%s/lib/%s", prefix, seen->names[i]);
        if (access(path, R_OK) == 0)
            library = open_it(path, reasons, bytes);
    }
    for (int i = 0; i < N_NAMES && !library; i++)
        if (seen->names[i])
            library = open_it(seen->names[i], reasons, bytes);
    return library;
}

/* By the name of the file for the ABI of MPI 5: its symbols are those of the
 * others. */
static vly_status bind(void *handle, mpi_library *library, vly_error *error)
{
    struct link_map *map = NULL;
    const char *path = "";
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map)
        path = map->l_name;
    snprintf(library->path, sizeof library->path, "%s", path);
    const char *slash = strrchr(path, '/');
    library->calls = strncmp(slash ? slash + 1 : path, "libmpi_abi", 10) == 0
                         ? &mpi_calls_standard
                     : dlsym(handle, "ompi_mpi_comm_world") ? &mpi_calls_ompi
                                                            : &mpi_calls_mpich;
    const char *missing = library->calls->bind(handle);
    if (missing)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "exchange mpi: %s (%s) has no %s, wanted a "
                                "library of MPI 3 or later",
                                library->path, library->calls->abi, missing);
    return VLY_OK;
}

vly_status mpi_library_open(const char *name, mpi_library *library,
                            vly_error *error)
{
    const launcher *seen = seen_launcher();
    char reasons[700] = "";
    if (!name || name[0] == '\0')
        name = secure_getenv("VOLLEY_MPI");
    if (name && name[0] == '\0')
        name = NULL;
    memset(library, 0, sizeof *library);
    library->launcher = seen ? seen->what : "";
    if (seen)
        library->n_ranks =
            (uint32_t)strtoul(secure_getenv(seen->size), NULL, 10);
    if (!name && !seen)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "exchange mpi: this process was started by no launcher of MPI; "
            "wanted mpirun -n 4 volley ..., mpiexec, srun with --mpi, or a "
            "library by its name (VOLLEY_MPI)");
    void *handle = name ? open_it(name, reasons, sizeof reasons)
                        : open_of_launcher(seen, reasons, sizeof reasons);
    if (!handle)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "exchange mpi: no library %s%s can be opened: "
                                "%s",
                                name ? "" : "for ", name ? name : seen->what,
                                reasons);
    return bind(handle, library, error);
}
