/* SPDX-License-Identifier: Apache-2.0
 * The bytes of a checkpoint, and what its files share. README.md says it in
 * words.
 */
#ifndef VOLLEY_CHECKPOINT_CHECKPOINT_FORMAT_H
#define VOLLEY_CHECKPOINT_CHECKPOINT_FORMAT_H

#include "checkpoint/checkpoint.h"
#include "engine/engine.h"

#define VLY_CHECKPOINT_VERSION 1u
#define VLY_CHECKPOINT_ENDIAN UINT32_C(0x0A0B0C0D)
/* Checksums are chained over blocks of this size. */
#define VLY_CHECKPOINT_BLOCK (UINT64_C(1) << 20)
/* A block of zstd is at most 128 KB long and at least 4 bytes in the file: a
 * section that claims more has lied. */
#define VLY_CHECKPOINT_RATIO_MAX (UINT64_C(1) << 15)

/* X(NAME, name, bytes of an element) in the order of the file */
#define VLY_CHECKPOINT_TABLE(X)                                                \
    X(AREAS, "areas", 32)                                                      \
    X(STATE, "state", 4)                                                       \
    X(FIRED_ROWS, "fired_rows", 8)                                             \
    X(FIRED, "fired", 4)                                                       \
    X(GAINS, "fired_gains", 4)                                                 \
    X(PENDING, "pending", 24)                                                  \
    X(CHANGED, "changed", 4)                                                   \
    X(VALUES, "values", 8)                                                     \
    X(STIMULI, "stimuli", 32)                                                  \
    X(WEIGHTS, "weights", 1)                                                   \
    X(RECORDINGS, "recordings", 64)                                            \
    X(TEXT, "text", 1)

typedef enum vly_checkpoint_part {
#define VLY_PART_ENUM(NAME, name, bytes) VLY_PART_##NAME,
    VLY_CHECKPOINT_TABLE(VLY_PART_ENUM)
#undef VLY_PART_ENUM
        VLY_PARTS
} vly_checkpoint_part;
_Static_assert((int)VLY_PARTS <= (int)VLY_CHECKPOINT_SECTIONS_MAX,
               "about has room for all");

typedef struct vly_checkpoint_header {
    char magic[8];
    uint32_t version;
    uint32_t endian;
    uint64_t file_bytes;
    uint32_t n_sections;
    uint32_t entry_bytes;
    vly_hash genome_hash;
    vly_hash connectome_hash;
    uint64_t burst;
    uint64_t digest;
    uint64_t state_digest;
    uint64_t spikes;
    uint64_t events;
    uint64_t candidates;
    uint32_t n_neurons;
    uint32_t n_resumes;
    char engine[24];
    uint8_t reserved[64];
    vly_hash table_checksum;
    vly_hash header_checksum;
} vly_checkpoint_header;
VLY_SEAL(vly_checkpoint_header, 240);

typedef struct vly_checkpoint_entry {
    uint32_t id; /* vly_checkpoint_part + 1 */
    uint32_t element_bytes;
    uint64_t n; /* elements */
    uint64_t offset;
    uint64_t stored_bytes;
    vly_hash checksum; /* of the stored bytes */
} vly_checkpoint_entry;
VLY_SEAL(vly_checkpoint_entry, 48);

#define VLY_CHECKPOINT_HEAD_BYTES                                              \
    (sizeof(vly_checkpoint_header) + VLY_PARTS * sizeof(vly_checkpoint_entry))

typedef struct vly_checkpoint_area {
    vly_state_area area;
    uint64_t spikes;
    uint64_t reserved;
} vly_checkpoint_area;
VLY_SEAL(vly_checkpoint_area, 32);

typedef struct vly_checkpoint_recording {
    uint32_t kind;
    uint32_t path_bytes;
    uint64_t path; /* in text */
    uint64_t n_bytes;
    uint64_t n_entries;
    vly_hash tail;
    vly_hash selection;
} vly_checkpoint_recording;
VLY_SEAL(vly_checkpoint_recording, 64);

_Static_assert(sizeof(vly_pending_input) == 24, "as in the table");
_Static_assert(sizeof(vly_overlay_stimulus) == 32, "as in the table");
_Static_assert(sizeof(vly_state_area) == 16, "as in the table");

vly_hash vly_checkpoint_header_sum(const vly_checkpoint_header *header);
vly_hash vly_checkpoint_table_sum(const vly_checkpoint_entry table[VLY_PARTS]);
/* The next block of a section; the first one comes with {{id, 0}}, so that two
 * sections cannot change places. */
vly_hash vly_checkpoint_block_sum(vly_hash sum, const void *bytes, size_t n);
const char *vly_checkpoint_part_name(uint32_t part);

/* ---- checkpoint_pack.c ------------------------------------------------- */

/* One section on its way to a file: compressed, in blocks. */
typedef struct vly_pack vly_pack;

/* file is the caller's; the pack writes from where it stands. path: for
 * messages. Errors  E_NOMEM */
vly_status vly_pack_create(int file, const char *path, vly_pack **pack,
                           vly_error *error);
void vly_pack_destroy(vly_pack *pack);
/* n_bytes will come, in pieces. */
vly_status vly_pack_begin(vly_pack *pack, uint32_t id, uint64_t n_bytes,
                          vly_error *error);
vly_status vly_pack_bytes(vly_pack *pack, const void *bytes, uint64_t n,
                          vly_error *error);
/* Fills stored_bytes and checksum. */
vly_status vly_pack_end(vly_pack *pack, vly_checkpoint_entry *entry,
                        vly_error *error);

/* The stored bytes against their checksum, then unpacked into to
 * [n * element_bytes]. Errors  E_PARSE, E_IO, E_NOMEM */
vly_status vly_unpack(int file, const char *path,
                      const vly_checkpoint_entry *entry, void *to,
                      vly_error *error);
/* Errors  E_PARSE "path: damaged checkpoint: ..." */
vly_status vly_checkpoint_damaged(vly_error *error, const char *path,
                                  const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- checkpoint_file.c ------------------------------------------------- */

/* The temporary file of a checkpoint, locked for this process. */
typedef struct vly_checkpoint_temporary {
    int file;
    char *target; /* what path means: links are followed */
    char *path;   /* target.tmp */
} vly_checkpoint_temporary;

vly_status vly_checkpoint_temporary_open(const char *path,
                                         vly_checkpoint_temporary *temporary,
                                         vly_error *error);
/* Syncs it and gives it its name, after older ones have been shifted. It is
 * gone, also on failure. */
vly_status vly_checkpoint_temporary_keep(vly_checkpoint_temporary *temporary,
                                         uint32_t keep, vly_error *error);
/* Removes it, if it is there. */
void vly_checkpoint_temporary_drop(vly_checkpoint_temporary *temporary);
bool vly_checkpoint_write(int file, const void *bytes, size_t n);

#endif
