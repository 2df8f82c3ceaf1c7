/* SPDX-License-Identifier: Apache-2.0
 * Checksums of the sections, block by block in parallel, and the hash of the
 * content made of them.
 */
#include "connectome/connectome_image.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "files and hashes have the byte order of memory: little-endian only"
#endif

/* The last block of a slot that is in memory. Constant weights are many equal
 * blocks, and to compare two takes a quarter of the time of a hash; blocks that
 * differ do so at once. */
typedef struct known_block {
    const unsigned char *bytes; /* NULL: none yet */
    vly_hash hash;
} known_block;

typedef struct checksum_work {
    const vly_checksum_source *source;
    uint64_t first_block[VLY_SECTIONS + 1];
    vly_hash *blocks;
    unsigned char *buffers; /* [slots][TOGETHER][VLY_FILE_BLOCK] */
    known_block *known;     /* [slots] */
} checksum_work;

/* ---- several blocks at once ------------------------------------------- */

/* Each word of a block depends on the previous one (about 14 cycles), but the
 * words of four blocks are independent: with one thread, the full microcircuit
 * takes 0.5 s instead of 1.4 s. The same function as vly_hash_bytes. */
#define TOGETHER 4u

static inline uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static inline void lanes_add(uint64_t a[TOGETHER], uint64_t b[TOGETHER],
                             const uint64_t words[TOGETHER])
{
    for (uint32_t i = 0; i < TOGETHER; i++) {
        a[i] = mix((a[i] ^ words[i]) + UINT64_C(0x9E3779B97F4A7C15));
        b[i] = mix((b[i] + words[i]) ^ UINT64_C(0x243F6A8885A308D3));
    }
}

/* n: bytes of each block, a multiple of 8 */
static void blocks_hash(const unsigned char *const blocks[TOGETHER], size_t n,
                        vly_hash hashes[TOGETHER])
{
    uint64_t a[TOGETHER] = {0};
    uint64_t b[TOGETHER] = {0};
    uint64_t words[TOGETHER];
    for (size_t at = 0; at < n; at += 8) {
        for (uint32_t i = 0; i < TOGETHER; i++)
            memcpy(&words[i], blocks[i] + at, 8);
        lanes_add(a, b, words);
    }
    for (uint32_t i = 0; i < TOGETHER; i++)
        words[i] = n;
    lanes_add(a, b, words);
    for (uint32_t i = 0; i < TOGETHER; i++)
        hashes[i] = (vly_hash){{a[i], b[i]}};
}

/* Hashes of whole blocks. buffers: of the slot, which do not keep a block. */
static void whole_hash(known_block *known,
                       const unsigned char *const blocks[TOGETHER],
                       const unsigned char *buffers, vly_hash hashes[TOGETHER])
{
    uint32_t same = 0;
    while (known->bytes && same < TOGETHER &&
           (blocks[same] == known->bytes ||
            memcmp(blocks[same], known->bytes, VLY_FILE_BLOCK) == 0))
        hashes[same++] = known->hash;
    if (same == TOGETHER)
        return;
    blocks_hash(blocks, VLY_FILE_BLOCK, hashes);
    const uint32_t last = TOGETHER - 1;
    if (blocks[last] == buffers + last * VLY_FILE_BLOCK)
        return;
    *known = (known_block){blocks[last], hashes[last]};
}

/* Blocks [task * TOGETHER, ...) */
static void blocks_task(void *arg, uint32_t slot, uint64_t task)
{
    checksum_work *work = arg;
    const unsigned char *blocks[TOGETHER];
    unsigned char *buffers =
        work->buffers + (size_t)slot * TOGETHER * VLY_FILE_BLOCK;
    size_t n[TOGETHER];
    uint64_t first = task * TOGETHER;
    uint64_t n_blocks = work->first_block[VLY_SECTIONS] - first;
    uint32_t count = n_blocks < TOGETHER ? (uint32_t)n_blocks : TOGETHER;
    bool whole = count == TOGETHER;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t section = 0;
        while (first + i >= work->first_block[section + 1])
            section++;
        uint64_t at = (first + i - work->first_block[section]) * VLY_FILE_BLOCK;
        uint64_t left = work->source->n_bytes[section] - at;
        n[i] = (size_t)(left < VLY_FILE_BLOCK ? left : VLY_FILE_BLOCK);
        whole = whole && n[i] == VLY_FILE_BLOCK;
        blocks[i] = work->source->bytes(work->source->arg, section, at, n[i],
                                        buffers + i * VLY_FILE_BLOCK);
    }
    if (whole)
        whole_hash(&work->known[slot], blocks, buffers, work->blocks + first);
    else
        for (uint32_t i = 0; i < count; i++)
            work->blocks[first + i] =
                vly_hash_bytes((vly_hash){{0, 0}}, blocks[i], n[i]);
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
    uint64_t n_tasks = (n + TOGETHER - 1) / TOGETHER;
    uint32_t n_slots =
        vly_slots_for(n_threads, source->in_memory ? sizeof(*work.known)
                                                   : TOGETHER * VLY_FILE_BLOCK);
    if (n_slots > n_tasks)
        n_slots = (uint32_t)n_tasks;
    work.blocks = vly_malloc(n, sizeof(*work.blocks));
    work.buffers = vly_malloc(n_slots, TOGETHER * VLY_FILE_BLOCK);
    work.known = vly_calloc(n_slots, sizeof(*work.known));
    if (!work.blocks || !work.buffers || !work.known) {
        status = vly_fail_nomem(error,
                                n * sizeof(*work.blocks) +
                                    n_slots * TOGETHER * VLY_FILE_BLOCK,
                                "checksums");
        goto out;
    }
    vly_slot_loop(n_slots, n_tasks, blocks_task, &work);
    for (uint32_t s = 0; s < VLY_SECTIONS; s++)
        checksums[s] = vly_hash_bytes(
            (vly_hash){{0, 0}}, work.blocks + work.first_block[s],
            (size_t)(work.first_block[s + 1] - work.first_block[s]) *
                sizeof(*work.blocks));
out:
    vly_free(work.blocks);
    vly_free(work.buffers);
    vly_free(work.known);
    return status;
}

static const void *image_bytes(const void *arg, uint32_t section, uint64_t at,
                               size_t n, void *buffer)
{
    return vly_image_bytes(arg, section, at, n, buffer);
}

vly_status vly_image_checksums(const vly_image *image, uint32_t without,
                               uint32_t n_threads,
                               vly_hash checksums[VLY_SECTIONS],
                               vly_error *error)
{
    vly_checksum_source source = {
        .bytes = image_bytes, .arg = image, .in_memory = true};
    for (uint32_t s = 0; s < VLY_SECTIONS; s++)
        if ((without >> s & 1u) == 0)
            source.n_bytes[s] = image->sections[s].bytes;
    return vly_sections_checksum(&source, n_threads, checksums, error);
}

void vly_image_sign(vly_image *image, const vly_hash checksums[VLY_SECTIONS])
{
    vly_file_header *header = &image->header;
    for (uint32_t s = 0; s < VLY_SECTIONS; s++)
        image->table[s].checksum = checksums[s];
    if (header->learning_bytes)
        header->learning_checksum =
            vly_hash_bytes((vly_hash){{0, 0}}, image->learning,
                           (size_t)header->learning_bytes);
    header->hash = vly_content_hash(header, image->table);
    header->table_checksum = vly_table_checksum(image->table);
    header->header_checksum = vly_header_checksum(header);
}

vly_hash vly_content_hash(const vly_file_header *header,
                          const vly_file_section table[VLY_SECTIONS])
{
    struct {
        unsigned char scalars[32 + 48];
        vly_hash checksums[VLY_SECTION_RESOLVED + 1];
    } content;
    size_t n = sizeof(content) - sizeof(content.checksums[0]);
    const unsigned char *bytes = (const unsigned char *)header;
    for (size_t i = 0; i < 32; i++)
        content.scalars[i] = bytes[offsetof(vly_file_header, seed_network) + i];
    for (size_t i = 0; i < 48; i++)
        content.scalars[32 + i] =
            bytes[offsetof(vly_file_header, n_synapses) + i];
    for (uint32_t s = 0; s < VLY_SECTION_RESOLVED; s++)
        content.checksums[s] = table[s].checksum;
    if (header->learning_bytes) {
        content.checksums[VLY_SECTION_RESOLVED] = header->learning_checksum;
        n = sizeof(content);
    }
    return vly_hash_bytes((vly_hash){{0, 0}}, &content, n);
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
