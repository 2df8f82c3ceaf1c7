/* SPDX-License-Identifier: Apache-2.0
 * The layout of a checkpoint (described in README.md) and declarations shared
 * by the files of this folder.
 */
#ifndef VOLLEY_CHECKPOINT_CHECKPOINT_FORMAT_H
#define VOLLEY_CHECKPOINT_CHECKPOINT_FORMAT_H

#include "checkpoint/checkpoint.h"
#include "engine/engine.h"

#define VLY_CHECKPOINT_VERSION 2u
#define VLY_CHECKPOINT_VERSION_OLDEST 1u
#define VLY_CHECKPOINT_ENDIAN UINT32_C(0x0A0B0C0D)
/* A section is cut into frames of so many elements: as many as fit into 4 MiB,
 * a power of two, at most 2^20. */
#define VLY_CHECKPOINT_FRAME_BYTES (UINT64_C(4) << 20)
#define VLY_CHECKPOINT_FRAME_ELEMENTS (UINT32_C(1) << 20)
/* A block of zstd is at most 128 KB long and at least 4 bytes in the file: a
 * section that claims more is damaged. */
#define VLY_CHECKPOINT_RATIO_MAX (UINT64_C(1) << 15)

/* X(NAME, name, bytes of an element, type) in the order of the file: one
 * section each, in both versions. */
#define VLY_CHECKPOINT_TABLE(X)                                                \
    X(AREAS, "areas", 32, RECORD)                                              \
    X(STATE, "state", 4, U32)                                                  \
    X(FIRED_ROWS, "fired_rows", 8, U64)                                        \
    X(FIRED, "fired", 4, U32)                                                  \
    X(GAINS, "fired_gains", 4, U32)                                            \
    X(PENDING, "pending", 24, RECORD)                                          \
    X(CHANGED, "changed", 4, U32)                                              \
    X(VALUES, "values", 8, F64)                                                \
    X(STIMULI, "stimuli", 32, RECORD)                                          \
    X(WEIGHTS, "weights", 1, U8)                                               \
    X(RECORDINGS, "recordings", 64, RECORD)                                    \
    X(TEXT, "text", 1, U8)

typedef enum vly_checkpoint_part {
#define VLY_PART_ENUM(NAME, name, bytes, type) VLY_PART_##NAME,
    VLY_CHECKPOINT_TABLE(VLY_PART_ENUM)
#undef VLY_PART_ENUM
        VLY_PARTS,
    /* any number of these, from version 2 on */
    VLY_PART_PLASTIC = VLY_PARTS, /* weights of one projection */
    VLY_PART_TRACE,               /* one column of one area */
    VLY_PART_LEARNED,  /* at most one: parameters of plasticity rules */
    VLY_PART_MEMORIES, /* at most one: what memory areas know */
    VLY_PART_COUNTS    /* at most one: spikes of open intervals of rates */
} vly_checkpoint_part;

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
    vly_hash connectome_digest; /* from here on 0 in version 1 */
    uint64_t n_frames;
    vly_hash frames_checksum;
    uint8_t reserved[24];
    vly_hash table_checksum;
    vly_hash header_checksum;
} vly_checkpoint_header;
VLY_SEAL(vly_checkpoint_header, 240);

/* After the header: a section. */
typedef struct vly_checkpoint_entry {
    uint32_t id;   /* vly_checkpoint_part + 1 */
    uint32_t type; /* vly_stored */
    uint32_t element_bytes;
    uint32_t frame_elements;
    uint64_t n; /* elements */
    uint64_t first_frame;
    uint64_t n_frames;
    uint32_t index; /* of the projection or area */
    uint32_t reserved;
    char name[VLY_TRACE_NAME_BYTES]; /* of a trace */
} vly_checkpoint_entry;
VLY_SEAL(vly_checkpoint_entry, 80);

/* After the sections' entries: a zstd frame that can be decoded alone. */
typedef struct vly_checkpoint_frame {
    uint64_t offset;
    uint64_t stored_bytes;
    vly_hash checksum; /* of the stored bytes, and of which frame it is */
} vly_checkpoint_frame;
VLY_SEAL(vly_checkpoint_frame, 32);

/* A section of version 1: one frame of zstd. */
typedef struct vly_checkpoint_entry_1 {
    uint32_t id;
    uint32_t element_bytes;
    uint64_t n;
    uint64_t offset;
    uint64_t stored_bytes;
    vly_hash checksum; /* of the stored bytes */
} vly_checkpoint_entry_1;
VLY_SEAL(vly_checkpoint_entry_1, 48);
/* Its checksums are chained over blocks of this size. */
#define VLY_CHECKPOINT_BLOCK_1 (UINT64_C(1) << 20)
#define VLY_CHECKPOINT_HEAD_BYTES_1                                            \
    (sizeof(vly_checkpoint_header) + VLY_PARTS * sizeof(vly_checkpoint_entry_1))

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

/* A section in memory: on its way to a file, or from one. */
typedef struct vly_checkpoint_piece {
    vly_checkpoint_entry entry;
    const void *bytes;     /* to be written */
    void *owned;           /* the same, if it was made or read for this */
    uint64_t stored_bytes; /* in the file */
} vly_checkpoint_piece;

vly_hash vly_checkpoint_header_sum(const vly_checkpoint_header *header);
/* Of n bytes of a table. */
vly_hash vly_checkpoint_table_sum(const void *table, size_t n);
/* The index is part of the checksum (section: in the table; frame: in the
 * section), so a swap of two is detected. */
vly_hash vly_checkpoint_frame_sum(uint32_t section, uint64_t frame,
                                  const void *bytes, size_t n);
const char *vly_checkpoint_part_name(uint32_t part);
uint32_t vly_checkpoint_part_bytes(uint32_t part);
vly_stored vly_checkpoint_part_type(uint32_t part);
const char *vly_stored_name(vly_stored type);
uint32_t vly_stored_bytes(vly_stored type);
/* "state", "plastic_weights 3 i32", "trace 0 x_pre f32" */
void vly_checkpoint_entry_name(const vly_checkpoint_entry *entry,
                               char name[64]);
/* Elements of a frame, and so many frames of n elements. */
uint32_t vly_checkpoint_frame_elements(uint32_t element_bytes);
uint64_t vly_checkpoint_frame_count(uint64_t n, uint32_t element_bytes);
/* Bytes of a frame of the section, unpacked. */
size_t vly_checkpoint_frame_bytes(const vly_checkpoint_entry *entry,
                                  uint64_t frame);
/* Describes what is wrong with a section of weights or traces that follows
 * `before` (NULL: none); NULL: nothing is wrong. */
const char *vly_checkpoint_entry_fault(const vly_checkpoint_entry *entry,
                                       const vly_checkpoint_entry *before);

/* ---- checkpoint_frames.c ----------------------------------------------- */

/* Compresses pieces [n_pieces] on several threads and writes their frames one
 * after the other from *at on; *at is then the end of the file. Fills frames,
 * and the pieces' stored_bytes. The bytes do not depend on the threads.
 * Errors  E_IO, E_NOMEM */
vly_status vly_frames_write(int file, const char *path,
                            vly_checkpoint_piece *pieces, uint32_t n_pieces,
                            vly_checkpoint_frame *frames, uint64_t *at,
                            vly_error *error);
/* Checks the checksum of every frame and unpacks it into its piece's own
 * memory.
 * Errors  E_PARSE, E_IO, E_NOMEM */
vly_status vly_frames_read(int file, const char *path,
                           vly_checkpoint_piece *pieces, uint32_t n_pieces,
                           const vly_checkpoint_frame *frames,
                           vly_error *error);
/* Maximum number of threads of both; for tests. 0: no limit */
void vly_frames_threads(uint32_t n);

/* ---- checkpoint_read.c, checkpoint_old.c ------------------------------- */

/* A file whose header is checked. */
typedef struct vly_checkpoint_source {
    const char *path;
    int file;
    uint64_t n_bytes;
    vly_checkpoint_header header;
    vly_checkpoint_piece *pieces; /* [n_pieces] the parts, then the others */
    uint32_t n_pieces;
} vly_checkpoint_source;

/* Opens it and reads header, tables and all sections. deinit in any case. */
vly_status vly_checkpoint_source_read(vly_checkpoint_source *source,
                                      vly_error *error);
void vly_checkpoint_source_deinit(vly_checkpoint_source *source);
vly_status vly_checkpoint_source_bytes(const vly_checkpoint_source *source,
                                       uint64_t offset, void *to, size_t n,
                                       vly_error *error);
/* Version 1: the table and all sections. */
vly_status vly_checkpoint_read_old(vly_checkpoint_source *source,
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
/* Shifts older files, syncs the new one and gives it its name. The temporary
 * file no longer exists afterwards, also on failure. */
vly_status vly_checkpoint_temporary_keep(vly_checkpoint_temporary *temporary,
                                         uint32_t keep, vly_error *error);
/* Removes it, if it is there. */
void vly_checkpoint_temporary_drop(vly_checkpoint_temporary *temporary);
bool vly_checkpoint_write(int file, const void *bytes, size_t n);

#endif
