/* SPDX-License-Identifier: Apache-2.0
 * The file this code was loaded from: its folder and its ELF header.
 */
#define _GNU_SOURCE /* dladdr */
#include "plugin/own_file.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static bool own_info(Dl_info *info)
{
    static const char anchor; /* any address in this file will do */
    return dladdr(&anchor, info) != 0 && info->dli_fbase;
}

const ElfW(Ehdr) * vly_own_elf(void)
{
    Dl_info info;
    if (!own_info(&info))
        return NULL;
    const ElfW(Ehdr) *header = info.dli_fbase;
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 ? header : NULL;
}

/* For a program dladdr gives argv[0], which may be relative or a bare name. */
static bool program_path(char path[PATH_MAX])
{
    const ElfW(Ehdr) *header = vly_own_elf();
    if (!header || (uintptr_t)header + header->e_phoff != getauxval(AT_PHDR))
        return false;
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length <= 0)
        return false;
    path[length] = 0;
    return true;
}

bool vly_own_folder(char *folder, size_t capacity)
{
    Dl_info info;
    char program[PATH_MAX];
    if (!own_info(&info) || !info.dli_fname)
        return false;
    const char *path = info.dli_fname;
    if (path[0] != '/') {
        if (!program_path(program))
            return false;
        path = program;
    }
    const char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) + 1 > capacity)
        return false;
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = 0;
    return true;
}
