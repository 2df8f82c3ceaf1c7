/* SPDX-License-Identifier: Apache-2.0
 * A shared object described without loading it.
 *
 * Everything in the file may be wrong. It is read piece by piece with pread,
 * each one within the file, and every walk through a table has a bound; what
 * does not fit is left out. The layout: System V ABI, chapters 4 and 5, and, of
 * the hash table, https://sourceware.org/ml/binutils/2006-10/msg00377.html
 */
#define _GNU_SOURCE /* elf.h's names of GNU */
#include "tools/inspect/inspect_elf.h"

#include <volley/host.h>

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/random.h"
#include "tools/cli/tool.h"

enum {
    SEGMENTS_MAX = 128,
    TAGS_MAX = 4096,
    CHAIN_MAX = 1 << 16,
    NEEDED_MAX = 32,
    NAME_BYTES = 256,
    ID_BYTES = 32
};

typedef struct elf_file {
    int fd;
    uint32_t n_segments;
    ElfW(Phdr) segments[SEGMENTS_MAX];
    uint64_t strings; /* addresses; 0: no such table */
    uint64_t symbols;
    uint64_t gnu_hash;
    uint64_t sysv_hash;
    uint64_t needed[NEEDED_MAX]; /* offsets in strings */
    uint32_t n_needed;
} elf_file;

static bool read_at(const elf_file *elf, uint64_t offset, void *into, size_t n)
{
    if (offset > INT64_MAX)
        return false;
    return pread(elf->fd, into, n, (off_t)offset) == (ssize_t)n;
}

/* Bytes at an address of the image, found through the segment that contains
 * it. */
static bool read_image(const elf_file *elf, uint64_t address, void *into,
                       size_t n)
{
    for (uint32_t i = 0; i < elf->n_segments; i++) {
        const ElfW(Phdr) *segment = &elf->segments[i];
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr ||
            address - segment->p_vaddr >= segment->p_filesz)
            continue;
        const uint64_t within = address - segment->p_vaddr;
        return n <= segment->p_filesz - within &&
               segment->p_offset <= UINT64_MAX - within &&
               read_at(elf, segment->p_offset + within, into, n);
    }
    return false;
}

/* An element of a table; also false if its address exceeds 64 bits. */
static bool read_item(const elf_file *elf, uint64_t table, uint64_t index,
                      void *into, size_t n)
{
    return table != 0 && index <= (UINT64_MAX - table) / n &&
           read_image(elf, table + index * n, into, n);
}

/* A name of the string table; a long name is cut. */
static bool read_name(const elf_file *elf, uint64_t offset,
                      char name[NAME_BYTES])
{
    size_t n = 0;
    if (elf->strings == 0 || offset > UINT64_MAX - elf->strings - NAME_BYTES)
        return false;
    while (n + 1 < NAME_BYTES &&
           read_image(elf, elf->strings + offset + n, &name[n], 1) &&
           name[n] != '\0')
        n++;
    name[n] = '\0';
    return n > 0;
}

/* ---- the tables ------------------------------------------------------- */

static void take_tag(elf_file *elf, const ElfW(Dyn) * tag)
{
    switch (tag->d_tag) {
    case DT_STRTAB:
        elf->strings = tag->d_un.d_ptr;
        break;
    case DT_SYMTAB:
        elf->symbols = tag->d_un.d_ptr;
        break;
    case DT_GNU_HASH:
        elf->gnu_hash = tag->d_un.d_ptr;
        break;
    case DT_HASH:
        elf->sysv_hash = tag->d_un.d_ptr;
        break;
    case DT_NEEDED:
        if (elf->n_needed < NEEDED_MAX)
            elf->needed[elf->n_needed++] = tag->d_un.d_val;
        break;
    default:
        break;
    }
}

static void read_tables(elf_file *elf)
{
    ElfW(Ehdr) header;
    if (!read_at(elf, 0, &header, sizeof header) ||
        header.e_phentsize != sizeof elf->segments[0])
        return;
    while (elf->n_segments < SEGMENTS_MAX && elf->n_segments < header.e_phnum &&
           read_at(elf,
                   header.e_phoff + elf->n_segments * sizeof elf->segments[0],
                   &elf->segments[elf->n_segments], sizeof elf->segments[0]))
        elf->n_segments++;
    for (uint32_t i = 0; i < elf->n_segments; i++) {
        const ElfW(Phdr) *segment = &elf->segments[i];
        ElfW(Dyn) tag = {.d_tag = DT_NULL};
        const uint64_t n =
            segment->p_type == PT_DYNAMIC ? segment->p_filesz / sizeof tag : 0;
        for (uint64_t k = 0; k < n && k < TAGS_MAX; k++) {
            if (!read_item(elf, segment->p_vaddr, k, &tag, sizeof tag) ||
                tag.d_tag == DT_NULL)
                break;
            take_tag(elf, &tag);
        }
    }
}

/* ---- symbols ---------------------------------------------------------- */

/* Does symbol number index have this name, and is it defined here? */
static bool is_symbol(const elf_file *elf, uint64_t index, const char *name)
{
    ElfW(Sym) symbol;
    char found[NAME_BYTES];
    return read_item(elf, elf->symbols, index, &symbol, sizeof symbol) &&
           symbol.st_shndx != SHN_UNDEF &&
           read_name(elf, symbol.st_name, found) && strcmp(found, name) == 0;
}

/* The table has a Bloom filter, buckets (the first symbol of each), and chains
 * of hashes; the last hash of a chain has bit 0 set. */
static bool has_by_gnu(const elf_file *elf, const char *name)
{
    uint32_t head[4]; /* buckets, first symbol, words of the filter, shift */
    uint32_t hash = 5381;
    uint32_t at = 0;
    for (const char *c = name; *c != '\0'; c++)
        hash = hash * 33 + (unsigned char)*c;
    if (!read_item(elf, elf->gnu_hash, 0, head, sizeof head) || head[0] == 0)
        return false;
    const uint64_t buckets =
        elf->gnu_hash + sizeof head + (uint64_t)head[2] * sizeof(ElfW(Addr));
    const uint64_t chains = buckets + (uint64_t)head[0] * sizeof at;
    if (!read_item(elf, buckets, hash % head[0], &at, sizeof at) ||
        at < head[1])
        return false;
    for (uint32_t k = 0; k < CHAIN_MAX; k++, at++) {
        uint32_t theirs = 0;
        if (!read_item(elf, chains, at - head[1], &theirs, sizeof theirs))
            return false;
        if ((theirs | 1) == (hash | 1) && is_symbol(elf, at, name))
            return true;
        if ((theirs & 1) != 0 || at == UINT32_MAX)
            return false;
    }
    return false;
}

/* The second word of the older table is the number of symbols. */
static bool has_by_count(const elf_file *elf, const char *name)
{
    uint32_t n = 0;
    if (!read_item(elf, elf->sysv_hash, 1, &n, sizeof n))
        return false;
    for (uint32_t k = 0; k < n && k < CHAIN_MAX; k++)
        if (is_symbol(elf, k, name))
            return true;
    return false;
}

/* ---- output -------------------------------------------------------------- */

/* The build id of the linker, as hexadecimal digits; "" without one. */
static void read_build_id(const elf_file *elf, char text[2 * ID_BYTES + 1])
{
    text[0] = '\0';
    for (uint32_t i = 0; i < elf->n_segments; i++) {
        ElfW(Nhdr) note;
        unsigned char bytes[4 + ID_BYTES]; /* "GNU", then the id */
        const ElfW(Phdr) *segment = &elf->segments[i];
        if (segment->p_type != PT_NOTE ||
            !read_image(elf, segment->p_vaddr, &note, sizeof note) ||
            note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
            note.n_descsz > ID_BYTES ||
            !read_image(elf, segment->p_vaddr + sizeof note, bytes,
                        4 + (size_t)note.n_descsz))
            continue;
        for (uint32_t k = 0; k < note.n_descsz; k++)
            snprintf(text + 2 * k, 3, "%02x", bytes[4 + k]);
        return;
    }
}

static void print_elf(const elf_file *elf, const vly_hash *hash)
{
    char id[2 * ID_BYTES + 1];
    tool_print("shared object, not loaded: nothing of it ran\n");
    tool_print("exports     %s: a plugin of Volley\n", VLY_PLUGIN_SYMBOL);
    for (uint32_t k = 0; k < elf->n_needed; k++) {
        char name[NAME_BYTES];
        tool_plain_text plain;
        if (read_name(elf, elf->needed[k], name))
            tool_print("%-11s %s\n", k == 0 ? "needs" : "",
                       tool_plain(name, &plain));
    }
    read_build_id(elf, id);
    if (id[0] != '\0')
        tool_print("build id    %s\n", id);
    tool_print("file hash   %s\n", tool_hash_text(hash->lane));
}

vly_status inspect_elf(const char *path, vly_error *error)
{
    elf_file elf = {.fd = -1};
    vly_hash hash;
    vly_error why = VLY_ERROR_INIT;
    tool_signals_guard(path);
    vly_status status = vly_plugin_hash(path, hash.lane, &why);
    tool_signals_guard(NULL);
    if (status != VLY_OK)
        return vly_fail(error, status, "%s: %s", path, why.message);
    elf.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (elf.fd < 0)
        return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", path,
                        strerror(errno));
    read_tables(&elf);
    if (!has_by_gnu(&elf, VLY_PLUGIN_SYMBOL) &&
        !has_by_count(&elf, VLY_PLUGIN_SYMBOL))
        status =
            vly_fail(error, VLY_E_ABI,
                     "%s: a shared object that exports no " VLY_PLUGIN_SYMBOL
                     ": not a Volley plugin",
                     path);
    else
        print_elf(&elf, &hash);
    close(elf.fd);
    if (status == VLY_OK)
        tool_print(
            "volley inspect --plugin FILE loads it, which runs its code, "
            "and says what it offers\n");
    return status;
}
