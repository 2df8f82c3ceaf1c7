/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as the stream of a recording: refused with one sentence, or read up
 * to its first bad block; what is handed out is in bounds and can be written
 * and read again. Nearly every change breaks a checksum, so the bytes are tried
 * a second time with the checksums put right.
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
#include "record/export.h"
#include "record/stream_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(), which is off in release builds. */
static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_stream: %s\n", what);
    abort();
}

static void is_sentence(vly_status status, const vly_error *error)
{
    demand(status == VLY_E_PARSE || status == VLY_E_NOMEM,
           "refused with another status");
    demand(strlen(error->message) > 10 && !strchr(error->message, '\n'),
           error->message);
}

static void check_block(const vly_stream_head *head,
                        const vly_stream_block *block)
{
    uint64_t n_neurons = 0;
    for (uint32_t a = 0; a < head->n_areas; a++)
        n_neurons += head->areas[a].n_neurons;
    demand(block->kind >= VLY_STREAM_SPIKES && block->kind <= VLY_STREAM_END,
           "a block of no kind");
    if (block->kind == VLY_STREAM_FRAME) {
        demand(block->report < head->n_reports, "a frame of no report");
        demand(block->n == vly_stream_words(&head->reports[block->report]),
               "a frame of another size");
    }
    for (uint32_t i = 0; block->kind == VLY_STREAM_SPIKES && i < block->n; i++)
        demand(block->data[i] < n_neurons &&
                   (i == 0 || block->data[i] > block->data[i - 1]),
               "ids that do not ascend, or that do not exist");
}

/* Copies the input to another stream. */
static vly_status copy(vly_stream_reader *reader, const char *path,
                       uint64_t *n_blocks, vly_error *error)
{
    const vly_stream_head *head = vly_stream_reader_head(reader);
    vly_stream *stream = NULL;
    vly_stream_block block;
    bool more = true;
    vly_status status = VLY_OK;
    VLY_TRY(vly_stream_open(path, head, &stream, error));
    while (more) {
        VLY_TRY(vly_stream_reader_next(reader, &block, &more, error));
        if (!more)
            break;
        check_block(head, &block);
        ++*n_blocks;
        if (block.kind == VLY_STREAM_SPIKES)
            VLY_TRY(vly_stream_spikes(stream, block.burst, block.data, block.n,
                                      error));
        if (block.kind == VLY_STREAM_FRAME)
            VLY_TRY(vly_stream_frame(stream, block.burst, block.report,
                                     block.data, error));
        if (block.kind == VLY_STREAM_END)
            VLY_TRY(vly_stream_end(stream, block.burst, error));
    }
out:
    vly_stream_close(stream, NULL);
    return status;
}

/* Returns the number of good blocks, which go to the file again. */
static uint64_t try_file(const char *path, const char *again)
{
    vly_stream_reader *reader = NULL;
    vly_export_counts counts = {0};
    vly_error error = VLY_ERROR_INIT;
    uint64_t n_blocks = 0;
    vly_status status = vly_stream_reader_open(path, &reader, &error);
    if (status != VLY_OK) {
        is_sentence(status, &error);
        demand(reader == NULL, "refused, and there is a reader");
        return 0;
    }
    /* frames that do not follow each other are refused here */
    status = vly_export_count(reader, &counts, &error);
    if (status != VLY_OK)
        is_sentence(status, &error);
    status = vly_stream_reader_rewind(reader, &error);
    if (status == VLY_OK)
        status = copy(reader, again, &n_blocks, &error);
    if (status != VLY_OK)
        is_sentence(status, &error);
    vly_export_counts_deinit(&counts);
    vly_stream_reader_close(reader);
    return n_blocks;
}

static void try_bytes(const uint8_t *data, size_t size)
{
    char path[64];
    char again[64];
    char third[70];
    int file = memfd_create("fuzz", MFD_CLOEXEC);
    demand(file >= 0 && write(file, data, size) == (ssize_t)size,
           "no file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    snprintf(again, sizeof again, "/tmp/fuzz_stream.%ld", (long)getpid());
    snprintf(third, sizeof third, "%s.2", again);
    uint64_t n_blocks = try_file(path, again);
    if (n_blocks > 0)
        /* without spikes of areas that are not recorded */
        demand(try_file(again, third) <= n_blocks,
               "written again it has more blocks");
    unlink(again);
    unlink(third);
    close(file);
}

/* As the bytes say they are, but with checksums that fit. */
static void mend(uint8_t *bytes, size_t size)
{
    vly_stream_file_head head;
    uint32_t check = 0;
    memcpy(&head, bytes, sizeof head);
    size_t n_sum = (size_t)head.head_bytes - sizeof(vly_hash);
    vly_hash sum = vly_hash_bytes((vly_hash){{0, 0}}, bytes, n_sum);
    memcpy(bytes + n_sum, &sum, sizeof sum);
    memcpy(&check, bytes + head.head_bytes - 4, sizeof check);
    for (size_t at = (size_t)head.head_bytes; at + 2 < size;) {
        uint64_t n = 0;
        const uint8_t *behind =
            vly_varint_get(bytes + at + 1, bytes + size, &n);
        if (behind == NULL || n > (uint64_t)(bytes + size - behind) ||
            (uint64_t)(bytes + size - behind) - n < VLY_STREAM_CHECK)
            return;
        size_t n_block = (size_t)(behind - (bytes + at)) + (size_t)n;
        check = vly_stream_check(check, bytes + at, n_block);
        memcpy(bytes + at + n_block, &check, sizeof check);
        at += n_block + VLY_STREAM_CHECK;
    }
}

static void try_mended(const uint8_t *data, size_t size)
{
    vly_stream_file_head head;
    if (size < sizeof head)
        return;
    memcpy(&head, data, sizeof head);
    if (head.head_bytes < sizeof head + sizeof(vly_hash) ||
        head.head_bytes > size)
        return;
    uint8_t *bytes = malloc(size);
    demand(bytes != NULL, "no memory");
    memcpy(bytes, data, size);
    mend(bytes, size);
    try_bytes(bytes, size);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t live = vly_memory_live();
    try_bytes(data, size);
    try_mended(data, size);
    demand(vly_memory_live() == live, "blocks of memory are left");
    return 0;
}
