/* SPDX-License-Identifier: Apache-2.0
 * Loads a plugin from a file and finds its entry.
 *
 * RTLD_NOW: a missing symbol is an error now, not a crash in burst 10,000.
 * RTLD_LOCAL: plugins cannot see each other's symbols. (A plugin may open a
 * library of its own for all: exchange_mpi must, plugins/exchange.) No
 * RTLD_DEEPBIND: it hides the malloc of sanitizers and profilers from the
 * plugin. No dlclose, not even for a plugin that was refused: its constructors
 * have run, and objects that they registered (destructors of pthread keys,
 * atexit functions, CUDA fat binaries, threads) would point into unmapped
 * memory. The cost is the mapping of an unused file.
 */
#include "plugin/loader.h"

#include <volley/host.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own_file.h"
#include "base/thread.h"

/* The last byte of the file that dlopen will map. If the file is truncated,
 * reading beyond its end would cause SIGBUS instead of an error. */
static uint64_t elf_end(const unsigned char *bytes, size_t n,
                        const ElfW(Ehdr) * header)
{
    uint64_t table = (uint64_t)header->e_phnum * header->e_phentsize;
    uint64_t end = header->e_phoff > UINT64_MAX - table
                       ? UINT64_MAX
                       : header->e_phoff + table;
    if (end > n || header->e_phentsize < sizeof(ElfW(Phdr)))
        return end;
    for (uint32_t i = 0; i < header->e_phnum; i++) {
        ElfW(Phdr) segment;
        memcpy(&segment,
               bytes + header->e_phoff + (uint64_t)i * header->e_phentsize,
               sizeof(segment));
        uint64_t first = segment.p_offset;
        if (segment.p_type != PT_LOAD)
            continue;
        uint64_t last = segment.p_filesz > UINT64_MAX - first
                            ? UINT64_MAX
                            : first + segment.p_filesz;
        end = last > end ? last : end;
    }
    return end;
}

static vly_status elf_check(const unsigned char *bytes, size_t n,
                            vly_error *error)
{
    ElfW(Ehdr) header;
    const ElfW(Ehdr) *own = vly_own_elf();
    if (n < sizeof(header) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return vly_fail(error, VLY_E_ABI, "is not an ELF file");
    memcpy(&header, bytes, sizeof(header));
    if (own && (header.e_ident[EI_CLASS] != own->e_ident[EI_CLASS] ||
                header.e_ident[EI_DATA] != own->e_ident[EI_DATA] ||
                header.e_machine != own->e_machine))
        return vly_fail(error, VLY_E_ABI,
                        "is for another architecture: ELF machine %u, class "
                        "%u, wanted machine %u, class %u",
                        header.e_machine, header.e_ident[EI_CLASS],
                        own->e_machine, own->e_ident[EI_CLASS]);
    if (header.e_type != ET_DYN)
        return vly_fail(error, VLY_E_ABI,
                        "is not a shared object: ELF type %u, wanted %u",
                        header.e_type, ET_DYN);
    uint64_t end = elf_end(bytes, n, &header);
    if (end > n)
        return vly_fail(error, VLY_E_ABI,
                        "cut off: %zu bytes, its segments need %" PRIu64, n,
                        end);
    return VLY_OK;
}

/* ---- files that were hashed -----------------------------------------------
 */

/* A process searches for plugins each time it opens a net, and plugin files
 * with code for several GPUs are 40 MB: 15 ms each time. So a hash is cached
 * while all file attributes (stat) stay the same. Hashes of files that changed
 * less than KNOWN_AGE_S ago are not cached: within the resolution of time
 * stamps the file may change again. */
enum { N_KNOWN = 32, KNOWN_AGE_S = 2 };

typedef struct known_file {
    dev_t device;
    ino_t number;
    off_t size;
    struct timespec modified;
    struct timespec changed;
    vly_hash hash;
} known_file;

static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static known_file known[N_KNOWN]; /* under known_lock */
static uint32_t next_known;       /* under known_lock */

static bool is_same(const known_file *a, const known_file *b)
{
    return a->device == b->device && a->number == b->number &&
           a->size == b->size && a->modified.tv_sec == b->modified.tv_sec &&
           a->modified.tv_nsec == b->modified.tv_nsec &&
           a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

static known_file known_of(const struct stat *about)
{
    return (known_file){.device = about->st_dev,
                        .number = about->st_ino,
                        .size = about->st_size,
                        .modified = about->st_mtim,
                        .changed = about->st_ctim};
}

static bool find_known(const struct stat *about, vly_hash *hash)
{
    const known_file wanted = known_of(about);
    bool found = false;
    pthread_mutex_lock(&known_lock);
    for (uint32_t i = 0; i < N_KNOWN && !found; i++) {
        found = is_same(&known[i], &wanted);
        if (found)
            *hash = known[i].hash;
    }
    pthread_mutex_unlock(&known_lock);
    return found;
}

static void keep_known(const struct stat *about, vly_hash hash)
{
    uint64_t steady_ns = 0;
    uint64_t wall_ns = 0;
    known_file made = known_of(about);
    made.hash = hash;
    vly_clock_both(&steady_ns, &wall_ns);
    const int64_t old = (int64_t)(wall_ns / 1000000000) - KNOWN_AGE_S;
    if (made.changed.tv_sec > old || made.modified.tv_sec > old)
        return;
    pthread_mutex_lock(&known_lock);
    known[next_known] = made;
    next_known = (next_known + 1) % N_KNOWN;
    pthread_mutex_unlock(&known_lock);
}

/* ---- files ----------------------------------------------------------------
 */

static vly_status io_failed(const char *what, vly_error *error)
{
    int code = errno;
    return vly_fail(error, VLY_E_IO, "%s: %s", what, strerror(code));
}

/* The mapping ends here: a file that is truncated while it is mapped ends the
 * process when it is read. */
static vly_status elf_check_file(int descriptor, const struct stat *about,
                                 vly_error *error)
{
    const size_t n = (size_t)about->st_size;
    if (n == 0)
        return elf_check(NULL, 0, error);
    void *bytes = mmap(NULL, n, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (bytes == MAP_FAILED)
        return io_failed("cannot be read", error);
    vly_status status = elf_check(bytes, n, error);
    munmap(bytes, n);
    return status;
}

vly_status vly_plugin_file_open(const char *path, vly_plugin_file *opened,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    vly_plugin_file made = {.is_open = true};
    /* O_NONBLOCK: a named pipe must not stop the search */
    made.descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (made.descriptor < 0)
        return io_failed("cannot be read", error);
    if (fstat(made.descriptor, &made.about) != 0) {
        status = io_failed("cannot be read", error);
        goto out;
    }
    if (!S_ISREG(made.about.st_mode)) {
        status = vly_fail(error, VLY_E_IO, "cannot be read: not a file");
        goto out;
    }
    made.is_hashed = find_known(&made.about, &made.hash);
    if (made.is_hashed)
        vly_plugin_file_close(&made);
    else
        VLY_TRY(elf_check_file(made.descriptor, &made.about, error));
    *opened = made;
    return VLY_OK;
out:
    vly_plugin_file_close(&made);
    return status;
}

/* Read, not mapped: it may have been truncated since it was opened. */
static vly_status hash_bytes(const vly_plugin_file *file, vly_hash *hash,
                             vly_error *error)
{
    unsigned char piece[1 << 14];
    vly_hasher hasher = {.n = 0};
    struct stat now;
    ssize_t n;
    do {
        n = pread(file->descriptor, piece, sizeof piece, (off_t)hasher.n);
        if (n > 0)
            vly_hasher_bytes(&hasher, piece, (size_t)n);
    } while (n > 0 || (n < 0 && errno == EINTR));
    if (n < 0 || fstat(file->descriptor, &now) != 0)
        return io_failed("cannot be read", error);
    /* not the time of the last change: that of a file which was replaced by
     * another one changes too, and its bytes do not */
    if (now.st_size != file->about.st_size ||
        now.st_mtim.tv_sec != file->about.st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != file->about.st_mtim.tv_nsec)
        return vly_fail(error, VLY_E_IO,
                        "was overwritten after it was opened; its hash is not "
                        "known");
    *hash = vly_hasher_end(&hasher);
    return VLY_OK;
}

vly_status vly_plugin_file_hash(vly_plugin_file *file, vly_hash *hash,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    if (file->is_open) {
        status = hash_bytes(file, &file->hash, error);
        file->is_hashed = status == VLY_OK;
        if (file->is_hashed)
            keep_known(&file->about, file->hash);
        vly_plugin_file_close(file);
    }
    if (file->is_hashed)
        *hash = file->hash;
    return status;
}

void vly_plugin_file_close(vly_plugin_file *file)
{
    if (file->is_open)
        close(file->descriptor);
    file->is_open = false;
}

vly_status vly_plugin_hash(const char *path, uint64_t hash[2], vly_error *error)
{
    vly_plugin_file file = {.is_open = false};
    vly_hash made = {{0, 0}};
    vly_status status = VLY_OK;
    VLY_TRY(vly_plugin_file_open(path, &file, error));
    VLY_TRY(vly_plugin_file_hash(&file, &made, error));
    hash[0] = made.lane[0];
    hash[1] = made.lane[1];
out:
    return status;
}

/* text is that of glibc: "<path>: undefined symbol: <name>", "<library>:
 * cannot open shared object file: ...". Another text is passed on whole. */
static vly_status load_failed(const char *path, const char *text,
                              vly_error *error)
{
    static const char undefined[] = "undefined symbol: ";
    static const char missing[] = ": cannot open shared object file";
    size_t path_length = strlen(path);
    if (strncmp(text, path, path_length) == 0 &&
        strncmp(text + path_length, ": ", 2) == 0)
        text += path_length + 2;
    const char *symbol = strstr(text, undefined);
    if (symbol)
        return vly_fail(error, VLY_E_ABI,
                        "undefined symbol %s: neither the plugin nor its "
                        "libraries have it (plugins link no libvolley)",
                        symbol + sizeof(undefined) - 1);
    const char *library = strstr(text, missing);
    if (library)
        return vly_fail(error, VLY_E_ABI,
                        "needs the library %.*s, which is not found",
                        (int)(library - text), text);
    return vly_fail(error, VLY_E_ABI, "cannot be loaded: %s", text);
}

vly_status vly_plugin_file_load(const char *path, const void **entry,
                                vly_error *error)
{
    char text[800];
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        /* at once: the next call of the dl family overwrites it */
        const char *said = dlerror();
        snprintf(text, sizeof(text), "%s", said ? said : "no reason given");
        return load_failed(path, text, error);
    }
    const void *symbol = dlsym(library, VLY_PLUGIN_SYMBOL);
    if (!symbol)
        return vly_fail(error, VLY_E_ABI,
                        "has no symbol " VLY_PLUGIN_SYMBOL
                        ": not a Volley plugin");
    *entry = symbol;
    return VLY_OK;
}
