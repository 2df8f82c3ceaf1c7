/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a connectome file: refused with one sentence, or loaded, saved
 * and loaded again with the same content; nothing left in memory. As nearly
 * every change breaks a checksum, the bytes are tried a second time with the
 * checksums put right, which is what reaches the checks behind them.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome/connectome.h"
#include "connectome/connectome_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(), which is off in release builds. */
static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_connectome: %s\n", what);
    abort();
}

/* A file in memory, and a path that leads to it. -1: none can be had */
static int make_file(const uint8_t *data, size_t size, char *path)
{
    int file = memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0)
        return -1;
    for (size_t at = 0; at < size;) {
        ssize_t n = write(file, data + at, size - at);
        demand(n > 0, "the input cannot be written");
        at += (size_t)n;
    }
    snprintf(path, 64, "/proc/self/fd/%d", file);
    return file;
}

/* Saved and loaded. Bytes that only
 * a made-up file has (reserved members, say) are not saved again, so that a
 * file with mended sums need only be the same from the second time on. */
static vly_connectome *saved_again(const vly_connectome *connectome, bool same)
{
    vly_connectome *again = NULL;
    vly_error error = VLY_ERROR_INIT;
    char path[64];
    snprintf(path, sizeof path, "/tmp/fuzz_connectome.%ld", (long)getpid());
    demand(vly_connectome_save(connectome, path, &error) == VLY_OK,
           error.message);
    vly_status status = vly_connectome_load(path, 1, &again, &error);
    unlink(path);
    demand(status == VLY_OK, error.message);
    demand(!same ||
               memcmp(&connectome->hash, &again->hash, sizeof(vly_hash)) == 0,
           "saved again it has another hash");
    return again;
}

static void try_bytes(const uint8_t *data, size_t size, bool mended)
{
    vly_connectome *connectome = NULL;
    vly_error error = VLY_ERROR_INIT;
    char path[64];
    int file = make_file(data, size, path);
    if (file < 0)
        return;
    vly_status status = vly_connectome_load(path, 1, &connectome, &error);
    if (status == VLY_OK) {
        vly_connectome *once = saved_again(connectome, !mended);
        vly_connectome *twice = saved_again(once, true);
        vly_connectome_destroy(twice);
        vly_connectome_destroy(once);
    } else {
        demand(status == VLY_E_PARSE || status == VLY_E_NOMEM,
               "refused with another status");
        demand(strlen(error.message) > 10 && !strchr(error.message, '\n'),
               error.message); /* no sentence, or more than a line */
        demand(connectome == NULL, "refused, and there is a connectome");
    }
    vly_connectome_destroy(connectome);
    close(file);
}

/* For a section of at most one block: inputs are smaller than that. */
static vly_hash hash_of(const uint8_t *bytes, uint64_t n)
{
    const vly_hash zero = {{0, 0}};
    vly_hash block = vly_hash_bytes(zero, bytes, (size_t)n);
    return vly_hash_bytes(zero, &block, n > 0 ? sizeof block : 0);
}

/* As the file says it is, but with sums that fit. */
static void mend(uint8_t *bytes, size_t size)
{
    vly_file_header header;
    vly_file_section table[VLY_SECTIONS];
    memcpy(&header, bytes, sizeof header);
    memcpy(table, bytes + sizeof header, sizeof table);
    header.file_bytes = size;
    for (uint32_t s = 0; s < VLY_SECTIONS; s++)
        if (table[s].offset <= size && table[s].bytes <= size - table[s].offset)
            table[s].checksum =
                hash_of(bytes + table[s].offset, table[s].bytes);
    if (header.learning <= size &&
        header.learning_bytes <= size - header.learning)
        header.learning_checksum =
            vly_hash_bytes((vly_hash){{0, 0}}, bytes + header.learning,
                           (size_t)header.learning_bytes);
    header.hash = vly_content_hash(&header, table);
    header.table_checksum = vly_table_checksum(table);
    header.header_checksum = vly_header_checksum(&header);
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + sizeof header, table, sizeof table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t before = vly_memory_live();
    try_bytes(data, size, false);
    if (size >= VLY_FILE_HEAD_BYTES && size < VLY_FILE_BLOCK) {
        uint8_t *copy = malloc(size);
        if (!copy)
            return 0;
        memcpy(copy, data, size);
        mend(copy, size);
        try_bytes(copy, size, true);
        free(copy);
    }
    demand(vly_memory_live() == before, "memory is left");
    return 0;
}
