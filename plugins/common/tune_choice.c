/* SPDX-License-Identifier: Apache-2.0
 * Entries of the tuning cache that begin with the build that wrote them. A
 * plugin is linked with a build id (a hash of its contents), which is among the
 * notes of the loaded object.
 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "tune_choice.h"

#include <link.h>
#include <string.h>

/* A place in this object. */
static const char here[] = "here";

typedef struct search {
    unsigned char build[VLY_TUNE_BUILD_BYTES];
} search;

static size_t round_up(size_t bytes)
{
    return (bytes + 3) / 4 * 4;
}

/* Notes follow each other: header, name, contents. */
static bool read_notes(const char *at, size_t bytes, search *s)
{
    ElfW(Nhdr) note;
    while (bytes >= sizeof note) {
        memcpy(&note, at, sizeof note);
        const size_t name = round_up(note.n_namesz);
        const size_t text = round_up(note.n_descsz);
        if (sizeof note + name + text > bytes)
            return false;
        const char *says = at + sizeof note + name;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(at + sizeof note, "GNU", 4) == 0) {
            memcpy(s->build, says,
                   note.n_descsz < sizeof s->build ? note.n_descsz
                                                   : sizeof s->build);
            return true;
        }
        at = says + text;
        bytes -= sizeof note + name + text;
    }
    return false;
}

static bool is_here(const struct dl_phdr_info *info)
{
    const uintptr_t place = (uintptr_t)here;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uintptr_t from = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && place >= from && place - from < p->p_memsz)
            return true;
    }
    return false;
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    if (!is_here(info))
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uintptr_t from = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_NOTE &&
            read_notes((const char *)from, p->p_memsz, arg))
            break;
    }
    return 1;
}

void vly_tune_build(unsigned char build[VLY_TUNE_BUILD_BYTES])
{
    search s = {.build = {0}};
    (void)dl_iterate_phdr(look, &s);
    memcpy(build, s.build, sizeof s.build);
}

bool vly_tune_get_choice(const vly_tune_cache *cache, const char *key,
                         void *choice, uint32_t bytes)
{
    unsigned char build[VLY_TUNE_BUILD_BYTES];
    unsigned char blob[VLY_TUNE_BLOB_BYTES];
    const uint32_t found = vly_tune_get(cache, key, blob, sizeof blob);
    vly_tune_build(build);
    if (found != bytes + sizeof build || memcmp(blob, build, sizeof build) != 0)
        return false;
    memcpy(choice, blob + sizeof build, bytes);
    return true;
}

bool vly_tune_put_choice(const vly_tune_cache *cache, const char *key,
                         const void *choice, uint32_t bytes)
{
    unsigned char blob[VLY_TUNE_BLOB_BYTES];
    if (bytes > sizeof blob - VLY_TUNE_BUILD_BYTES)
        return vly_tune_put(cache, key, choice, VLY_TUNE_BLOB_BYTES + 1);
    vly_tune_build(blob);
    memcpy(blob + VLY_TUNE_BUILD_BYTES, choice, bytes);
    return vly_tune_put(cache, key, blob, bytes + VLY_TUNE_BUILD_BYTES);
}
