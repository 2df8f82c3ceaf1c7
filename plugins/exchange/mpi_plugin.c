/* SPDX-License-Identifier: Apache-2.0
 * The plugin mpi: volley.exchange/1 for the ranks of a job of MPI, whichever
 * MPI that is.
 *
 * MPI can be started once in a process, and ended once: it is started by the
 * first open and ended when the process ends. A process that ends while a link
 * is open does not end MPI, which would wait for the others: the launcher then
 * ends the job.
 */
#define _GNU_SOURCE /* CPU_COUNT */
#include "mpi_link.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi_library.h"
#include "plugins/support/support_version.h"

enum {
    SLOTS_BYTES = 65536, /* of all ranks: a larger slot would cost more than a
                            second call */
    LOST_EXIT = 3,       /* exit code of the command for E_DEVICE */
};

const char vly_support_plugin[] = "mpi";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mpi_library library; /* under the lock, as all below */
static int level;           /* MPI_LEVEL_* */
static bool is_started;
static bool is_lost; /* ending MPI would wait for ranks that are gone */
static uint32_t n_open;
static pid_t process;

static void end_mpi(void)
{
    /* not in a child of this process, which exits too */
    if (is_started && !is_lost && n_open == 0 && process == getpid())
        (void)library.calls->finalize();
}

static vly_status start_mpi(const char *name, vly_error *error)
{
    bool was_running = false;
    vly_status status = VLY_OK;
    mpi_library found;
    if (is_started)
        return VLY_OK;
    VLY_TRY(mpi_library_open(name, &found, error));
    const int code = found.calls->start(&level, &was_running);
    if (code != 0)
        return vly_support_fail(error, VLY_E_DEVICE,
                                "exchange mpi: MPI_Init_thread of %s: error %d",
                                found.path, code);
    library = found;
    is_started = true;
    process = getpid();
    if (!was_running)
        (void)atexit(end_mpi);
out:
    return status;
}

/* ---- one link -------------------------------------------------------------
 */

static void link_destroy(vly_exchange_link *link)
{
    if (!link)
        return;
    vly_exchange_free(link->slots);
    vly_exchange_free(link->rest);
    vly_exchange_free(link->counts);
    vly_exchange_free(link->offsets);
    vly_exchange_free(link->pieces);
    vly_exchange_free(link->hellos);
    vly_exchange_free(link->hosts);
    vly_exchange_free(link->sends);
    vly_exchange_free(link->was_heard);
    pthread_mutex_destroy(&link->calling);
    vly_exchange_free(link);
}

static vly_exchange_link *link_alloc(uint32_t n, vly_error *error)
{
    vly_exchange_link *made = vly_exchange_alloc(1, sizeof *made, error);
    if (!made)
        return NULL;
    made->n_ranks = n;
    made->slot_most = MPI_SLOT_FIRST;
    while (made->slot_most < MPI_SLOT_MOST &&
           (uint64_t)n * 2 * made->slot_most <= SLOTS_BYTES)
        made->slot_most *= 2;
    made->slot = MPI_SLOT_FIRST;
    pthread_mutex_init(&made->calling, NULL);
    if ((made->slots = vly_exchange_alloc(n, made->slot_most, error)) &&
        (made->counts = vly_exchange_alloc(n, sizeof(int), error)) &&
        (made->offsets = vly_exchange_alloc(n, sizeof(int), error)) &&
        (made->pieces = vly_exchange_alloc(n, sizeof(vly_piece), error)) &&
        (made->hellos = vly_exchange_alloc(n, sizeof(mpi_hello), error)) &&
        (made->hosts = vly_exchange_alloc(n, sizeof(uint32_t), error)) &&
        (made->sends = vly_exchange_alloc(n, sizeof(mpi_handle), error)) &&
        (made->was_heard = vly_exchange_alloc(n, 1, error)))
        return made;
    link_destroy(made);
    return NULL;
}

/* Who and how many: the launcher, MPI and the caller must agree. */
static vly_status check_world(const vly_exchange_spec *spec, uint32_t rank,
                              uint32_t n_ranks, vly_error *error)
{
    if (library.n_ranks != 0 && library.n_ranks != n_ranks)
        return vly_support_fail(
            error, VLY_E_DEVICE,
            "exchange mpi: %s started %u ranks, and the library %s sees %u: "
            "they belong to different MPIs; wanted the library of the "
            "launcher (VOLLEY_MPI)",
            library.launcher, library.n_ranks, library.path, n_ranks);
    if (spec->n_ranks != VLY_EXCHANGE_OF_LAUNCHER &&
        (spec->n_ranks != n_ranks || spec->rank != rank))
        return vly_support_fail(error, VLY_E_INVALID,
                                "exchange mpi: rank %u of %u was wanted, MPI "
                                "says that this is rank %u of %u",
                                spec->rank, spec->n_ranks, rank, n_ranks);
    if (n_ranks > VLY_EXCHANGE_MAX_RANKS)
        return vly_support_fail(error, VLY_E_INVALID,
                                "exchange mpi: %u ranks, wanted at most %u",
                                n_ranks, VLY_EXCHANGE_MAX_RANKS);
    return VLY_OK;
}

static vly_status compare_hellos(const vly_exchange_link *link,
                                 vly_error *error)
{
    const mpi_hello *first = &link->hellos[0];
    for (uint32_t r = 1; r < link->n_ranks; r++) {
        const mpi_hello *other = &link->hellos[r];
        if (other->layout != first->layout ||
            other->abi_version != first->abi_version ||
            strncmp(other->version, first->version, sizeof first->version) != 0)
            return vly_support_fail(
                error, VLY_E_DEVICE,
                "exchange mpi: rank %u (host %s) runs version %.31s (ABI "
                "1.%u), rank 0 (host %s) version %.31s (ABI 1.%u)",
                r, other->host, other->version, other->abi_version & 0xffffu,
                first->host, first->version, first->abi_version & 0xffffu);
    }
    return VLY_OK;
}

/* Hosts are numbered by their first rank. */
static void number_hosts(vly_exchange_link *link)
{
    cpu_set_t set;
    uint32_t n_here = 0;
    for (uint32_t r = 0; r < link->n_ranks; r++) {
        uint32_t same = 0;
        while (same < r &&
               strcmp(link->hellos[same].host, link->hellos[r].host) != 0)
            same++;
        link->hosts[r] = same < r ? link->hosts[same] : link->n_hosts++;
    }
    for (uint32_t r = 0; r < link->n_ranks; r++)
        n_here += link->hosts[r] == link->hosts[link->rank];
    /* launchers bind each rank to cores of its own, where there are enough */
    const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    link->is_shared = n_cores > 0 && (long)n_here > n_cores;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && n_here > 1 &&
        CPU_COUNT(&set) == 1 && n_cores == 1)
        link->is_shared = true;
}

static vly_status greet(vly_exchange_link *link, vly_error *error)
{
    mpi_handle request;
    uint64_t left_ns = link->timeout_ns;
    mpi_hello *own = &link->hellos[link->rank];
    vly_status status = VLY_OK;
    own->layout = MPI_LAYOUT;
    own->abi_version = vly_support_host->abi_version;
    snprintf(own->version, sizeof own->version, "%s", VLY_SUPPORT_VERSION);
    (void)link->calls->host(own->host, (int)sizeof own->host);
    VLY_TRY(mpi_check(link,
                      link->calls->gather(link->hellos, (int)sizeof *own,
                                          link->data, &request),
                      "MPI_Iallgather", error));
    VLY_TRY(mpi_wait(link, &request, &left_ns, error));
    VLY_TRY(compare_hellos(link, error));
    number_hosts(link);
out:
    return status;
}

/* "MPICH Version: 5.0.2" is MPICH 5.0.2. */
static void set_library(vly_exchange_link *link)
{
    static const char word[] = " Version:";
    (void)link->calls->version(link->library, (int)sizeof link->library);
    char *at = strstr(link->library, word);
    if (at)
        memmove(at, at + sizeof word - 1, strlen(at + sizeof word - 1) + 1);
}

static vly_status link_open(const vly_exchange_spec *spec,
                            vly_exchange_link **link, vly_error *error)
{
    vly_exchange_link *made = NULL;
    vly_status status = VLY_OK;
    int rank = 0;
    int size = 0;
    VLY_TRY(start_mpi(spec->name, error));
    if (library.calls->world(&rank, &size) != 0 || rank < 0 || size <= rank)
        return vly_support_fail(error, VLY_E_DEVICE,
                                "exchange mpi: %s does not say which rank this "
                                "is",
                                library.path);
    VLY_TRY(check_world(spec, (uint32_t)rank, (uint32_t)size, error));
    made = link_alloc((uint32_t)size, error);
    if (!made)
        return VLY_E_NOMEM;
    made->calls = library.calls;
    made->rank = (uint32_t)rank;
    made->timeout_ns = (uint64_t)spec->timeout_ms * 1000000;
    made->one_thread = level < MPI_LEVEL_SERIALIZED;
    made->thread = pthread_self();
    set_library(made);
    VLY_TRY(mpi_check(made, made->calls->duplicate(&made->data), "MPI_Comm_dup",
                      error));
    VLY_TRY(mpi_check(made, made->calls->duplicate(&made->notes),
                      "MPI_Comm_dup", error));
    VLY_TRY(greet(made, error));
    n_open++;
    *link = made;
    made = NULL;
out:
    if (status != VLY_OK && is_started)
        is_lost = true; /* others may be anywhere */
    link_destroy(made);
    return status;
}

static vly_status exchange_open(const vly_exchange_spec *spec,
                                vly_exchange_link **link, vly_error *error)
{
    vly_status status = vly_exchange_spec_check(spec, link, false, error);
    if (status != VLY_OK)
        return status;
    pthread_mutex_lock(&lock);
    status = link_open(spec, link, error);
    pthread_mutex_unlock(&lock);
    return status;
}

static void exchange_close(vly_exchange_link *link)
{
    const struct timespec while_others_speak = {0, 300000000};
    if (!link)
        return;
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&link->calling);
    mpi_tell_abort(link);
    const bool all = !link->lost && mpi_gather_last(link);
    if (link->lost) {
        /* the other ranks get the failure too and may know more of it */
        nanosleep(&while_others_speak, NULL);
        /* the launcher ends all ranks, this one too */
        (void)link->calls->abort(LOST_EXIT);
    }
    if (all) {
        (void)link->calls->release(&link->notes);
        (void)link->calls->release(&link->data);
    } else {
        is_lost = true;
    }
    n_open--;
    pthread_mutex_unlock(&link->calling);
    link_destroy(link);
    pthread_mutex_unlock(&lock);
}

static vly_status exchange_info(const vly_exchange_link *link,
                                vly_exchange_info *info, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_exchange_info_check(link, info, error));
    const uint32_t size = info->struct_size;
    memset(info, 0, sizeof *info);
    info->struct_size = size;
    info->rank = link->rank;
    info->n_ranks = link->n_ranks;
    info->host = link->hosts[link->rank];
    info->n_hosts = link->n_hosts;
    info->n_gathers = link->n_gathers;
    info->n_bytes = link->n_bytes;
    info->waited_ns = link->waited_ns;
    snprintf(info->text, sizeof info->text, "%s (%s)", link->library,
             link->calls->abi);
out:
    return status;
}

static void exchange_abort(vly_exchange_link *link, const char *text)
{
    if (link)
        mpi_abort(link, text);
}

static const vly_exchange exchange = {
    .struct_size = sizeof(vly_exchange),
    .open = exchange_open,
    .close = exchange_close,
    .info = exchange_info,
    .gather = mpi_gather,
    .abort = exchange_abort,
};

static const void *get_interface(const char *id)
{
    return strcmp(id, VLY_EXCHANGE_INTERFACE) == 0 ? &exchange : NULL;
}

extern const vly_plugin vly_plugin_entry; /* for -Wmissing-declarations */
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "mpi",
    .version = VLY_SUPPORT_VERSION,
    .build = "C11, MPI at run time",
    .init = vly_support_start,
    .deinit = vly_support_stop,
    .get_interface = get_interface,
};
