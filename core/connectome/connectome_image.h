/* SPDX-License-Identifier: Apache-2.0
 * The file as a sequence of pieces that is never assembled in memory: its
 * records (FORMAT.md), and pieces that point into a connectome. Its checksums
 * give the hash of the content, also for a connectome that is not saved.
 */
#ifndef VOLLEY_CONNECTOME_CONNECTOME_IMAGE_H
#define VOLLEY_CONNECTOME_CONNECTOME_IMAGE_H

#include "connectome/connectome_work.h"

#define VLY_FILE_MAGIC "VOLLEYCN"
/* Versions 1 to 3 are read. Version 3 is 2 with memories or associations, which
 * engines before them would leave out. */
#define VLY_FILE_VERSION 2u
#define VLY_FILE_VERSION_MEMORY 3u
#define VLY_FILE_ENDIAN UINT32_C(0x0A0B0C0D)
#define VLY_FILE_ALIGN UINT64_C(64)
#define VLY_FILE_BLOCK (UINT64_C(1) << 20)
#define VLY_FILE_HEAD_BYTES 1088
#define VLY_NO_INDEX UINT32_MAX

/* X(NAME, name, bytes of an element) in the order of the file */
#define VLY_SECTION_TABLE(X)                                                   \
    X(AREAS, "areas", 128)                                                     \
    X(COLUMNS, "columns", 32)                                                  \
    X(PROJECTIONS, "projections", 96)                                          \
    X(STIMULI, "stimuli", 128)                                                 \
    X(TEXT, "text", 1)                                                         \
    X(PARAMS, "params", 8)                                                     \
    X(COEFS, "coefs", 4)                                                       \
    X(STATE, "state", 4)                                                       \
    X(LOADS, "loads", 4)                                                       \
    X(OUT_DEGREE, "out_degree", 4)                                             \
    X(THRESHOLDS, "thresholds", 4)                                             \
    X(INPUTS, "inputs", 24)                                                    \
    X(ROWS, "rows", 8)                                                         \
    X(TARGETS, "targets", 4)                                                   \
    X(WEIGHTS, "weights", 2)                                                   \
    X(DELAYS, "delays", 1)                                                     \
    X(RESOLVED, "resolved", 1)

typedef enum vly_section_id {
#define VLY_SECTION_ENUM(NAME, name, bytes) VLY_SECTION_##NAME,
    VLY_SECTION_TABLE(VLY_SECTION_ENUM)
#undef VLY_SECTION_ENUM
        VLY_SECTIONS
} vly_section_id;

typedef struct vly_file_header {
    char magic[8];
    uint32_t version;
    uint32_t endian;
    uint64_t file_bytes;
    uint32_t n_sections;
    uint32_t entry_bytes;
    uint64_t table;
    vly_hash genome_hash;
    vly_hash hash;
    uint64_t seed_network; /* 72: hashed from here ... */
    uint64_t seed_state;
    uint64_t seed_input;
    double dt_ms; /* ... to 104 */
    uint64_t n_bursts;
    uint64_t n_synapses; /* 112: and from here ... */
    uint64_t n_state_words;
    uint32_t n_neurons;
    uint32_t n_areas;
    uint32_t n_projections;
    uint32_t n_stimuli;
    uint32_t n_drawn;
    uint32_t max_delay;
    uint32_t feagi_q;
    uint32_t n_columns; /* ... to 160 */
    /* version 1: all 0 */
    vly_hash digest;
    uint64_t learning; /* offset of the records of projections that learn */
    uint64_t learning_bytes; /* 0: none does */
    vly_hash learning_checksum;
    uint8_t reserved[16];
    vly_hash table_checksum;
    vly_hash header_checksum;
} vly_file_header;
VLY_SEAL(vly_file_header, 256);

typedef struct vly_file_section {
    uint32_t id;
    uint32_t reserved_id;
    uint64_t offset;
    uint64_t bytes;
    vly_hash checksum;
    uint64_t reserved;
} vly_file_section;
VLY_SEAL(vly_file_section, 48);

typedef struct vly_file_area {
    uint32_t name;
    uint32_t model;
    uint64_t model_hash;
    uint32_t first;
    uint32_t n_neurons;
    uint32_t flags;
    uint32_t n_ports;
    int32_t q[2];
    float scale[2];
    uint32_t has_voxels;
    uint32_t voxels[3];
    uint32_t neurons_per_voxel;
    uint32_t n_params;
    uint32_t n_fields;
    uint32_t n_coefs;
    uint32_t first_column;
    int16_t q_more[2]; /* of ports 2 and 3; 0 if the area has not so many */
    double at[3];
    uint64_t load[2]; /* those of ports 2 and 3 follow that of port 1 */
} vly_file_area;
VLY_SEAL(vly_file_area, 128);

#define VLY_FILE_TYPE_F64 2u
typedef struct vly_file_column {
    uint32_t name;
    uint32_t type;
    uint32_t uniform;
    uint32_t reserved;
    uint64_t offset;
    uint64_t n;
} vly_file_column;
VLY_SEAL(vly_file_column, 32);

typedef struct vly_file_projection {
    uint32_t map;
    uint32_t source_area;
    uint32_t target_area;
    uint32_t port;
    uint32_t flags;
    uint32_t base_delay;
    uint32_t delay_max;
    uint32_t shift; /* version 1: 0 */
    uint64_t n;
    uint64_t row;
    uint64_t target;
    uint64_t weight;
    uint64_t delay;
    double worst_rounding;
    double weight_min;
    double weight_max;
} vly_file_projection;
VLY_SEAL(vly_file_projection, 96);

typedef struct vly_file_stimulus {
    uint32_t id;
    uint32_t kind;
    uint32_t area;
    uint32_t first;
    uint32_t n_neurons;
    uint32_t port;
    uint32_t drawn_index;
    uint32_t stream;
    double rate_hz;
    double weight;
    double mean;
    double sd;
    uint64_t start;
    uint64_t stop;
    int32_t base;
    int32_t step;
    uint32_t flags;
    uint32_t n_thresholds;
    uint64_t thresholds;
    uint64_t inputs;
    uint64_t n_inputs;
    uint32_t listed;
    uint32_t reserved;
} vly_file_stimulus;
VLY_SEAL(vly_file_stimulus, 128);

/* After the last section, one for each projection that learns or has short-term
 * plasticity. */
typedef struct vly_file_learning {
    uint32_t projection;
    uint32_t flags;
    uint32_t rule;
    uint32_t n_coefs;
    uint64_t rule_hash;
    uint64_t coefs;
    uint32_t most; /* bursts of short-term plasticity */
    uint32_t name;
    vly_learning_trace source[2];
    vly_learning_trace target[2];
    uint64_t params; /* those of the rule, then w_max, or 0; of a rule with a
                        modulator its area, 4294967295: none */
} vly_file_learning;
VLY_SEAL(vly_file_learning, 80);

typedef struct vly_image_piece {
    const void *data; /* NULL: each two bytes are `word` */
    uint64_t bytes;
    uint64_t at;         /* in its section */
    const int16_t *fill; /* [VLY_FILE_BLOCK / 2] of `word`, if it is so long */
    int16_t word;
} vly_image_piece;

typedef struct vly_image_section {
    vly_image_piece *pieces;
    size_t n_pieces;
    size_t capacity;
    uint64_t bytes;
} vly_image_section;

typedef struct vly_image {
    vly_image_section sections[VLY_SECTIONS];
    vly_file_header header;
    vly_file_section table[VLY_SECTIONS];
    vly_file_learning *learning; /* header.learning_bytes */
    vly_storage scratch;         /* the records */
} vly_image;

const char *vly_section_name(uint32_t section);
uint32_t vly_section_element(uint32_t section); /* bytes */

/* Records and checksums of a connectome, whose hash need not be set. The
 * image points into the connectome.
 * Errors  E_NOMEM */
vly_status vly_image_init(vly_image *image, const vly_connectome *connectome,
                          uint32_t n_threads, vly_error *error);
/* The steps of vly_image_init. The first makes everything but the checksums and
 * reads no synapses. without: bit s leaves section s out, whose checksum
 * becomes that of no bytes. Errors  E_NOMEM */
vly_status vly_image_lay(vly_image *image, const vly_connectome *connectome,
                         vly_error *error);
vly_status vly_image_checksums(const vly_image *image, uint32_t without,
                               uint32_t n_threads,
                               vly_hash checksums[VLY_SECTIONS],
                               vly_error *error);
/* Sets the checksums and the hashes that follow from them. */
void vly_image_sign(vly_image *image, const vly_hash checksums[VLY_SECTIONS]);
void vly_image_deinit(vly_image *image);
/* Bytes [at, at + n) of a section: a pointer to them, or a copy in buffer. at
 * and n are even in the section of weights. */
const void *vly_image_bytes(const vly_image *image, uint32_t section,
                            uint64_t at, size_t n, void *buffer);

/* Checksums of all sections; hash of header and table with their checksums. */
typedef struct vly_checksum_source {
    const void *(*bytes)(const void *arg, uint32_t section, uint64_t at,
                         size_t n, void *buffer);
    const void *arg;
    uint64_t n_bytes[VLY_SECTIONS];
    bool in_memory; /* nearly all bytes: buffers are hardly touched */
} vly_checksum_source;
vly_status vly_sections_checksum(const vly_checksum_source *source,
                                 uint32_t n_threads,
                                 vly_hash checksums[VLY_SECTIONS],
                                 vly_error *error);
vly_hash vly_content_hash(const vly_file_header *header,
                          const vly_file_section table[VLY_SECTIONS]);
vly_hash vly_header_checksum(const vly_file_header *header);
vly_hash vly_table_checksum(const vly_file_section table[VLY_SECTIONS]);

#endif
