/* SPDX-License-Identifier: Apache-2.0
 * Checksums of the sections, block by block in parallel, and the hash of the
 * content made of them.
 */
#include "connectome/connectome_image.h"

#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "files and hashes are made from memory as it lies: little-endian only"
#endif

typedef struct checksum_work {
    const vly_checksum_source *source;
    uint64_t first_block[VLY_SECTIONS + 1];
    vly_hash *blocks;
    unsigned char *buffers; /* [slots][VLY_FILE_BLOCK] */
} checksum_work;

static void block_task(void *arg, uint32_t slot, uint64_t task)
{
    checksum_work *work = arg;
    uint32_t section = 0;
    while (task >= work->first_block[section + 1])
        section++;
    uint64_t at = (task - work->first_block[section]) * VLY_FILE_BLOCK;
    uint64_t left = work->source->n_bytes[section] - at;
    size_t n = (size_t)(left < VLY_FILE_BLOCK ? left : VLY_FILE_BLOCK);
    const void *bytes =
        work->source->bytes(work->source->arg, section, at, n,
                            work->buffers + slot * VLY_FILE_BLOCK);
    work->blocks[task] = vly_hash_bytes((vly_hash){{0, 0}}, bytes, n);
}

vly_status vly_sections_checksum(const vly_checksum_source *source,
                                 uint32_t n_threads,
                                 vly_hash checksums[VLY_SECTIONS],
                                 vly_error *error)
{
    vly_status status = VLY_OK;
    checksum_work work = {.source = source};
    for (uint32_t s = 0; s < VLY_SECTIONS; s++)
        work.first_block[s + 1] =
            work.first_block[s] +
            (source->n_bytes[s] + VLY_FILE_BLOCK - 1) / VLY_FILE_BLOCK;
    uint64_t n = work.first_block[VLY_SECTIONS];
    uint32_t n_slots = vly_slots_for(n_threads, VLY_FILE_BLOCK);
    if (n_slots > n)
        n_slots = (uint32_t)n;
    work.blocks = vly_malloc(n, sizeof(*work.blocks));
    work.buffers = vly_malloc(n_slots, VLY_FILE_BLOCK);
    if (!work.blocks || !work.buffers) {
        status = vly_fail_nomem(
            error, n * sizeof(*work.blocks) + n_slots * VLY_FILE_BLOCK,
            "checksums");
        goto out;
    }
    vly_slot_loop(n_slots, n, block_task, &work);
    for (uint32_t s = 0; s < VLY_SECTIONS; s++)
        checksums[s] = vly_hash_bytes(
            (vly_hash){{0, 0}}, work.blocks + work.first_block[s],
            (size_t)(work.first_block[s + 1] - work.first_block[s]) *
                sizeof(*work.blocks));
out:
    vly_free(work.blocks);
    vly_free(work.buffers);
    return status;
}

vly_hash vly_content_hash(const vly_file_header *header,
                          const vly_file_section table[VLY_SECTIONS])
{
    struct {
        unsigned char scalars[32 + 48];
        vly_hash checksums[VLY_SECTION_RESOLVED];
    } content;
    const unsigned char *bytes = (const unsigned char *)header;
    for (size_t i = 0; i < 32; i++)
        content.scalars[i] = bytes[offsetof(vly_file_header, seed_network) + i];
    for (size_t i = 0; i < 48; i++)
        content.scalars[32 + i] =
            bytes[offsetof(vly_file_header, n_synapses) + i];
    for (uint32_t s = 0; s < VLY_SECTION_RESOLVED; s++)
        content.checksums[s] = table[s].checksum;
    return vly_hash_bytes((vly_hash){{0, 0}}, &content, sizeof(content));
}

vly_hash vly_header_checksum(const vly_file_header *header)
{
    return vly_hash_bytes((vly_hash){{0, 0}}, header,
                          offsetof(vly_file_header, header_checksum));
}

vly_hash vly_table_checksum(const vly_file_section table[VLY_SECTIONS])
{
    return vly_hash_bytes((vly_hash){{0, 0}}, table,
                          VLY_SECTIONS * sizeof(*table));
}
