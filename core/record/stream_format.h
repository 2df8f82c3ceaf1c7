/* SPDX-License-Identifier: Apache-2.0
 * The bytes of a stream, shared by its writer and its reader.
 */
#ifndef VOLLEY_RECORD_STREAM_FORMAT_H
#define VOLLEY_RECORD_STREAM_FORMAT_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "record/stream.h"

#define VLY_STREAM_VERSION 3u
#define VLY_STREAM_VERSION_OLDEST 1u
#define VLY_STREAM_ENDIAN UINT32_C(0x0A0B0C0D)

typedef struct vly_stream_file_head {
    char magic[8];
    uint32_t version;
    uint32_t endian;
    uint64_t head_bytes; /* with everything up to the first block */
    vly_hash genome_hash;
    vly_hash connectome_hash;
    double dt_ms;
    uint64_t first_burst;
    uint32_t n_areas;
    uint32_t n_reports;
    uint64_t n_listed;   /* neurons in the lists of reports */
    uint64_t text_bytes; /* names, fields, units, each with its 0 */
    uint32_t purpose;
    uint32_t reserved;
    vly_hash connectome_digest; /* not in version 1 */
} vly_stream_file_head;
VLY_SEAL(vly_stream_file_head, 120);

/* A stream without means is the same in versions 2 and 3: it is written as
 * version 2, which older programs read. */
static inline uint32_t vly_stream_version_of(const vly_stream_head *head)
{
    for (uint32_t r = 0; r < head->n_reports; r++)
        if (head->reports[r].mean)
            return 3;
    return 2;
}

/* Bytes of it in a file of this version. */
static inline size_t vly_stream_head_bytes(uint32_t version)
{
    return version == 1 ? offsetof(vly_stream_file_head, connectome_digest)
                        : sizeof(vly_stream_file_head);
}

typedef struct vly_stream_file_area {
    uint32_t first;
    uint32_t n_neurons;
    uint32_t recorded;
    uint32_t name; /* in the text */
} vly_stream_file_area;
VLY_SEAL(vly_stream_file_area, 16);

typedef struct vly_stream_file_report {
    uint32_t record;
    uint32_t area;
    uint32_t type;
    uint32_t n_neurons;
    uint64_t interval;
    uint32_t listed; /* 0: neurons 0, 1, ...; 1: as many of the lists are its */
    uint32_t field;  /* in the text */
    uint32_t unit;
    uint32_t mean; /* 0, 1; not before version 3 */
} vly_stream_file_report;
VLY_SEAL(vly_stream_file_report, 40);

typedef struct vly_stream_head_image {
    unsigned char *bytes;
    size_t n;
} vly_stream_head_image;

/* The head of a file of this version, with its checksum; bytes are freed with
 * vly_free.
 * Errors  E_NOMEM */
vly_status vly_stream_head_make(const vly_stream_head *head, uint32_t version,
                                vly_stream_head_image *made, vly_error *error);
/* Its checksum again, after a change. */
void vly_stream_head_seal(vly_stream_head_image *made);

/* A stream that is read, and the data of its head. */
typedef struct vly_stream_heading {
    FILE *file;
    char *path;
    uint64_t n_file; /* bytes */
    unsigned char *bytes;
    uint64_t n_bytes;
    vly_stream_head head; /* into the three around it */
    vly_spike_area *areas;
    vly_stream_report *reports;
    uint64_t n_neurons;
} vly_stream_heading;

/* file, path and n_file are there.
 * Errors  E_IO; E_PARSE no stream, another version, damaged; E_NOMEM. deinit
 *         is needed in any case */
vly_status vly_stream_heading_read(vly_stream_heading *heading,
                                   vly_error *error);
void vly_stream_heading_deinit(vly_stream_heading *heading);

/* A block: kind, varint bytes of the payload, payload, checksum. */
enum {
    VLY_STREAM_VARINT = 10, /* bytes of the longest */
    VLY_STREAM_BLOCK_HEAD = 1 + VLY_STREAM_VARINT,
    VLY_STREAM_CHECK = 4
};

/* LEB128: seven bits a byte, the lowest first; returns a pointer after the last
 * byte. */
static inline unsigned char *vly_varint_put(unsigned char *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *at++ = (unsigned char)value;
    return at;
}

/* NULL: cut, or longer than 64 bits */
static inline const unsigned char *vly_varint_get(const unsigned char *at,
                                                  const unsigned char *end,
                                                  uint64_t *value)
{
    uint64_t sum = 0;
    for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
        uint64_t bits = *at & 0x7fu;
        if (shift == 63 && bits > 1)
            return NULL;
        sum |= bits << shift;
        if ((*at++ & 0x80u) == 0) {
            *value = sum;
            return at;
        }
    }
    return NULL;
}

/* Checksum of a block: chained to the four bytes before it, so that removing,
 * doubling or exchanging blocks is detected. */
static inline uint32_t vly_stream_check(uint32_t before,
                                        const unsigned char *bytes, size_t n)
{
    vly_hash seed = {{before, VLY_STREAM_ENDIAN}};
    return (uint32_t)vly_hash_bytes(seed, bytes, n).lane[0];
}

#endif
