/* SPDX-License-Identifier: Apache-2.0
 * The file this code was loaded from: its path, folder and ELF header.
 *
 * The path is the kernel's. dladdr returns the loader's path, which is argv[0]
 * for a program (chosen by its caller), may be relative for a library (the
 * working folder may have changed since) and may be a link.
 */
#define _GNU_SOURCE /* dladdr, getline */
#include "base/own_file.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char anchor; /* any address in this file will do */

const ElfW(Ehdr) * vly_own_elf(void)
{
    Dl_info info;
    if (!dladdr(&anchor, &info) || !info.dli_fbase)
        return NULL;
    const ElfW(Ehdr) *header = info.dli_fbase;
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 ? header : NULL;
}

/* "55d0c0a00000-55d0c0a02000 r--p 00000000 fe:00 247498     /usr/bin/head":
 * returns its path if it contains the address, otherwise NULL. */
static char *path_of(char *line, uintptr_t address)
{
    char *end = NULL;
    const unsigned long long first = strtoull(line, &end, 16);
    if (*end != '-')
        return NULL;
    const unsigned long long last = strtoull(end + 1, &end, 16);
    char *path = *end == ' ' ? strchr(end, '/') : NULL;
    if (!path || address < first || address >= last)
        return NULL;
    path[strcspn(path, "\n")] = 0;
    /* the kernel writes a line break as \012, which a name may also contain */
    return strstr(path, "\\012") ? NULL : path;
}

bool vly_own_path(char *path, size_t capacity)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t size = 0;
    size_t n = 0;
    while (file && n == 0 && getline(&line, &size, file) > 0) {
        const char *found = path_of(line, (uintptr_t)&anchor);
        n = found ? strlen(found) : 0;
        if (n > 0 && n < capacity)
            memcpy(path, found, n + 1);
    }
    free(line);
    if (file)
        fclose(file);
    return n > 0 && n < capacity;
}

bool vly_own_folder(char *folder, size_t capacity)
{
    if (!vly_own_path(folder, capacity))
        return false;
    char *slash = strrchr(folder, '/');
    *slash = 0;
    return true;
}
