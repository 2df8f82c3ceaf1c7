/* SPDX-License-Identifier: Apache-2.0
 * A library for LD_PRELOAD in which one call fails, to see what a command makes
 * of it:
 *
 *     VOLLEY_FAULT=KIND:N:HOW   the N-th call of a kind, from 1 on
 *     VOLLEY_FAULT_FROM=libhdf5 only those that come from such a library
 *     VOLLEY_FAULT_MARK=FILE    is made when the call failed
 *
 * KIND  write (write, pwrite, writev to files, flushing stdout), sync,
 * truncate, rename, link, close (of what can be written), open (to write),
 * thread, fork, memory HOW   ENOSPC, EIO, EAGAIN, ENOMEM, EACCES: the call
 * fails; short: one byte less is written and the next call fails with ENOSPC;
 * on: this call and all after it fail (with ENOSPC; memory: NULL)
 *
 * The number is that of a process and the children that it forks.
 */
#define _GNU_SOURCE /* dl_iterate_phdr, RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

typedef enum kind {
    NONE,
    WRITE,
    SYNC,
    TRUNCATE,
    RENAME,
    LINK,
    CLOSE,
    OPEN,
    THREAD,
    FORK,
    MEMORY
} kind;

static const char *const kind_names[] = {"",       "write", "sync",  "truncate",
                                         "rename", "link",  "close", "open",
                                         "thread", "fork",  "memory"};
static const struct {
    const char *name;
    int number;
} ways[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EAGAIN", EAGAIN},
            {"ENOMEM", ENOMEM}, {"EACCES", EACCES}, {"short", ENOSPC},
            {"on", ENOSPC}};

static struct {
    kind which;
    uint64_t at;
    int number;
    bool is_short;
    bool goes_on;
    const char *mark;
    uintptr_t from; /* 0: from anywhere */
    uintptr_t to;
    _Atomic uint64_t *calls; /* shared with children */
} fault;

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);

/* ---- which call fails -------------------------------------------------- */

static int find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    const char *name = arg;
    (void)size;
    if (strstr(info->dlpi_name, name) == NULL)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        fault.from = info->dlpi_addr + part->p_vaddr;
        fault.to = fault.from + part->p_memsz;
    }
    return 1;
}

__attribute__((constructor)) static void begin(void)
{
    const char *given = getenv("VOLLEY_FAULT");
    const char *library = getenv("VOLLEY_FAULT_FROM");
    char kind_name[16] = "";
    char how[16] = "";
    unsigned long long at = 0;
    if (given == NULL ||
        sscanf(given, "%15[a-z]:%llu:%15s", kind_name, &at, how) != 3)
        return;
    void *page = mmap(NULL, sizeof *fault.calls, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
    fault.calls = page;
    fault.mark = getenv("VOLLEY_FAULT_MARK");
    fault.at = at;
    fault.is_short = strcmp(how, "short") == 0;
    fault.goes_on = strcmp(how, "on") == 0;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(how, ways[i].name) == 0)
            fault.number = ways[i].number;
    if (library != NULL && library[0] != 0)
        (void)dl_iterate_phdr(find_library, (void *)(uintptr_t)library);
    for (kind k = WRITE; k <= MEMORY; k++)
        if (strcmp(kind_name, kind_names[k]) == 0)
            fault.which = k;
}

static void leave_mark(void)
{
    if (fault.mark == NULL)
        return;
    const long file = syscall(SYS_openat, AT_FDCWD, fault.mark,
                              O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
    if (file >= 0)
        (void)syscall(SYS_close, file);
}

/* 0: the call is made; 1: it fails; 2: it is the one before, done by halves */
static int fails(kind which, const void *caller)
{
    const uintptr_t from = (uintptr_t)caller;
    if (fault.which != which)
        return 0;
    if (fault.from != 0 && (from < fault.from || from >= fault.to))
        return 0;
    const uint64_t n = __atomic_add_fetch(fault.calls, 1, __ATOMIC_RELAXED);
    if (n < fault.at || (n > fault.at + fault.is_short && !fault.goes_on))
        return 0;
    if (n == fault.at)
        leave_mark();
    if (fault.is_short && n == fault.at)
        return 2;
    errno = fault.number;
    return 1;
}

#define CALLER __builtin_return_address(0)

static bool is_file(int fd)
{
    struct stat info;
    return fault.which != NONE && fstat(fd, &info) == 0 &&
           S_ISREG(info.st_mode);
}

static bool may_write(int fd)
{
    const int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

/* ---- files ------------------------------------------------------------- */

ssize_t write(int fd, const void *bytes, size_t n)
{
    const int how = is_file(fd) ? fails(WRITE, CALLER) : 0;
    if (how == 1)
        return -1;
    return syscall(SYS_write, fd, bytes, how == 2 && n > 1 ? n - 1 : n);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    const int how = is_file(fd) ? fails(WRITE, CALLER) : 0;
    if (how == 1)
        return -1;
    return syscall(SYS_pwrite64, fd, bytes, how == 2 && n > 1 ? n - 1 : n, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
    return pwrite(fd, bytes, n, at);
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
    if (is_file(fd) && fails(WRITE, CALLER) != 0)
        return -1;
    return syscall(SYS_writev, fd, parts, n);
}

int fflush(FILE *file)
{
    static int (*next)(FILE *);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "fflush");
    if (file == stdout && is_file(1) && fails(WRITE, CALLER) == 1)
        return EOF;
    return next(file);
}

int fsync(int fd)
{
    return fails(SYNC, CALLER) ? -1 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return fails(SYNC, CALLER) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int ftruncate(int fd, off_t bytes)
{
    return fails(TRUNCATE, CALLER) ? -1
                                   : (int)syscall(SYS_ftruncate, fd, bytes);
}

int ftruncate64(int fd, off64_t bytes)
{
    return ftruncate(fd, bytes);
}

int rename(const char *from, const char *to)
{
    return fails(RENAME, CALLER)
               ? -1
               : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int link(const char *from, const char *to)
{
    return fails(LINK, CALLER)
               ? -1
               : (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int close(int fd)
{
    const bool looked_at = fault.which == CLOSE && is_file(fd) && may_write(fd);
    const int done = (int)syscall(SYS_close, fd);
    return looked_at && fails(CLOSE, CALLER) ? -1 : done;
}

static int open_file(int folder, const char *path, int flags, int mode,
                     const void *caller)
{
    if ((flags & O_ACCMODE) != O_RDONLY && fails(OPEN, caller))
        return -1;
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

#define MODE_OF(flags, mode)                                                   \
    do {                                                                       \
        va_list rest;                                                          \
        va_start(rest, flags);                                                 \
        if ((flags)&O_CREAT)                                                   \
            (mode) = va_arg(rest, int);                                        \
        va_end(rest);                                                          \
    } while (0)

int open(const char *path, int flags, ...)
{
    int mode = 0;
    MODE_OF(flags, mode);
    return open_file(AT_FDCWD, path, flags, mode, CALLER);
}

int open64(const char *path, int flags, ...)
{
    int mode = 0;
    MODE_OF(flags, mode);
    return open_file(AT_FDCWD, path, flags, mode, CALLER);
}

int openat(int folder, const char *path, int flags, ...)
{
    int mode = 0;
    MODE_OF(flags, mode);
    return open_file(folder, path, flags, mode, CALLER);
}

/* ---- threads and processes --------------------------------------------- */

int pthread_create(pthread_t *thread, const pthread_attr_t *how,
                   void *(*entry)(void *), void *arg)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                       void *);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return fails(THREAD, CALLER) ? EAGAIN : next(thread, how, entry, arg);
}

pid_t fork(void)
{
    static pid_t (*next)(void);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "fork");
    return fails(FORK, CALLER) ? -1 : next();
}

/* ---- memory ------------------------------------------------------------ */

static bool no_memory(const void *caller)
{
    if (fault.which != MEMORY || !fails(MEMORY, caller))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return no_memory(CALLER) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return no_memory(CALLER) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes)
{
    return bytes > 0 && no_memory(CALLER) ? NULL : __libc_realloc(block, bytes);
}

int posix_memalign(void **block, size_t align, size_t bytes)
{
    if (no_memory(CALLER))
        return ENOMEM;
    *block = __libc_memalign(align, bytes);
    return *block != NULL ? 0 : ENOMEM;
}
