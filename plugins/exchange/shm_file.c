/* SPDX-License-Identifier: Apache-2.0
 * The file in shared memory: its name, its room, and the locks by which ranks
 * see that others have ended.
 */
#define _GNU_SOURCE /* F_OFD_SETLK, shm_open */
#include "shm_link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static vly_status io_failed(const vly_exchange_link *link, const char *what,
                            vly_error *error)
{
    const int code = errno;
    return vly_support_fail(error, VLY_E_IO, "exchange shm: %s: %s: %s",
                            link->name, what, strerror(code));
}

vly_status shm_file_open(vly_exchange_link *link, vly_error *error)
{
    struct stat about;
    link->file = shm_open(link->name, O_RDWR | O_CREAT, S_IRUSR | S_IWUSR);
    if (link->file < 0)
        return io_failed(link, "cannot be opened", error);
    if (fstat(link->file, &about) != 0)
        return io_failed(link, "cannot be read", error);
    /* another user's file may change while it is read */
    if (about.st_uid != geteuid() || (about.st_mode & (S_IWGRP | S_IWOTH)))
        return vly_support_fail(error, VLY_E_DEVICE,
                                "exchange shm: %s belongs to another user or "
                                "may be written by others; wanted a name of "
                                "this job's own",
                                link->name);
    return VLY_OK;
}

void shm_file_close(vly_exchange_link *link)
{
    for (uint32_t i = 0; link->rooms && i < 2 * link->n_ranks; i++)
        if (link->rooms[i].memory)
            munmap(link->rooms[i].memory, link->rooms[i].capacity);
    if (link->memory)
        munmap(link->memory, link->memory_bytes);
    if (link->file >= 0)
        close(link->file);
    link->memory = NULL;
    link->file = -1;
}

bool shm_file_guard(const vly_exchange_link *link)
{
    const struct timespec pause = {0, 1000000};
    for (uint64_t waited_ns = 0; flock(link->file, LOCK_EX | LOCK_NB) != 0;
         waited_ns += (uint64_t)pause.tv_nsec) {
        if (waited_ns >= link->timeout_ns)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

void shm_file_unguard(const vly_exchange_link *link)
{
    (void)flock(link->file, LOCK_UN);
}

bool shm_file_is_named(const vly_exchange_link *link)
{
    struct stat own;
    struct stat named;
    const int again = shm_open(link->name, O_RDWR, 0);
    if (again < 0)
        return false;
    const bool same = fstat(link->file, &own) == 0 &&
                      fstat(again, &named) == 0 && own.st_ino == named.st_ino &&
                      own.st_dev == named.st_dev;
    close(again);
    return same;
}

void shm_file_unlink(const vly_exchange_link *link)
{
    if (shm_file_is_named(link))
        shm_unlink(link->name);
}

vly_status shm_file_reserve(const vly_exchange_link *link, uint64_t offset,
                            uint64_t n_bytes, vly_error *error)
{
    int code = 0;
    if (offset > INT64_MAX || n_bytes > INT64_MAX - offset)
        return vly_support_fail_memory(n_bytes, 0, " in shared memory", error);
    /* not ftruncate: a page that is not there would be SIGBUS later */
    do
        code = posix_fallocate(link->file, (off_t)offset, (off_t)n_bytes);
    while (code == EINTR);
    if (code == ENOSPC || code == ENOMEM) {
        vly_support_fail(error, VLY_E_NOMEM,
                         "exchange shm: no room for %llu bytes in shared "
                         "memory (/dev/shm; in a container, its --shm-size)",
                         (unsigned long long)n_bytes);
        if (error)
            error->bytes_requested = n_bytes;
        return VLY_E_NOMEM;
    }
    if (code != 0) {
        errno = code;
        return io_failed(link, "cannot grow", error);
    }
    return VLY_OK;
}

void *shm_file_map(const vly_exchange_link *link, uint64_t offset,
                   uint64_t n_bytes, vly_error *error)
{
    struct stat about;
    if (fstat(link->file, &about) != 0 || about.st_size < 0 ||
        (uint64_t)about.st_size < offset ||
        (uint64_t)about.st_size - offset < n_bytes) {
        vly_support_fail(error, VLY_E_DEVICE,
                         "exchange shm: %s is shorter than its header says",
                         link->name);
        return NULL;
    }
    void *memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                        link->file, (off_t)offset);
    if (memory == MAP_FAILED) {
        vly_support_fail_memory(n_bytes, vly_support_available(),
                                " of shared memory", error);
        return NULL;
    }
    return memory;
}

static struct flock byte_of(uint32_t rank)
{
    return (struct flock){.l_type = F_WRLCK,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)rank,
                          .l_len = 1};
}

bool shm_file_lock(const vly_exchange_link *link)
{
    struct flock lock = byte_of(link->rank);
    return fcntl(link->file, F_OFD_SETLK, &lock) == 0;
}

bool shm_file_is_dead(const vly_exchange_link *link, uint32_t rank)
{
    struct flock lock = byte_of(rank);
    if (rank == link->rank)
        return false;
    return fcntl(link->file, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}
