/* SPDX-License-Identifier: Apache-2.0
 * Tensors of a .safetensors file, read only: eight bytes with the length of a
 * header, the header in JSON, then the tensors' bytes without a gap. The header
 * is checked for consistency and against the size of the file before use; after
 * that the object never changes.
 *
 * The bytes are read (pread), not mapped. Reading a mapped page of a file that
 * is truncated meanwhile ends the process with SIGBUS, and the process is a
 * running engine; with pread it is an error message. Mapping would save
 * nothing: weights are copied to a device or converted to another type in any
 * case, both use the same page cache, and a tensor may begin at any byte (files
 * that other programs write are not always aligned).
 * Source  https://github.com/huggingface/safetensors, README "Format"
 */
#ifndef VOLLEY_MONITOR_SAFETENSORS_H
#define VOLLEY_MONITOR_SAFETENSORS_H

#include <stdint.h>

#include <volley/plugin.h>

/* X(name in the file, value, bits) */
#define VLY_SAFETENSOR_TYPES(X)                                                \
    X(BOOL, 0, 8)                                                              \
    X(U8, 1, 8)                                                                \
    X(I8, 2, 8)                                                                \
    X(F8_E5M2, 3, 8)                                                           \
    X(F8_E4M3, 4, 8)                                                           \
    X(I16, 5, 16)                                                              \
    X(U16, 6, 16)                                                              \
    X(F16, 7, 16)                                                              \
    X(BF16, 8, 16)                                                             \
    X(I32, 9, 32)                                                              \
    X(U32, 10, 32)                                                             \
    X(F32, 11, 32)                                                             \
    X(I64, 12, 64)                                                             \
    X(U64, 13, 64)                                                             \
    X(F64, 14, 64)

enum {
#define VLY_SAFETENSOR_ENUM(name, value, bits) VLY_SAFETENSOR_##name = (value),
    VLY_SAFETENSOR_TYPES(VLY_SAFETENSOR_ENUM)
#undef VLY_SAFETENSOR_ENUM
};

enum {
    VLY_SAFETENSOR_DIMS = 8,
    VLY_SAFETENSOR_HEADER_MAX = 100000000 /* bytes, as everywhere */
};

typedef struct vly_safetensors vly_safetensors;

typedef struct vly_safetensor {
    const char *name; /* UTF-8; as long as the file is open */
    uint32_t type;    /* VLY_SAFETENSOR_* */
    uint32_t n_dims;  /* 0: one number */
    uint64_t dims[VLY_SAFETENSOR_DIMS];
    uint64_t n_elements;
    uint64_t n_bytes;
    uint64_t begin; /* its first byte, counted from the start of the file */
} vly_safetensor;

/* Reads and checks the header.
 * Errors  E_IO cannot be read; E_PARSE "path: ...", what was found and wanted;
 * E_NOMEM. [any-thread] */
vly_status vly_safetensors_open(const char *path, vly_safetensors **file,
                                vly_error *error);
void vly_safetensors_close(vly_safetensors *file); /* NULL is legal */

const char *vly_safetensors_path(const vly_safetensors *file);
uint32_t vly_safetensors_count(const vly_safetensors *file);
/* In the order of their names (bytes). i < count */
const vly_safetensor *vly_safetensors_at(const vly_safetensors *file,
                                         uint32_t i);
/* NULL if there is none. */
const vly_safetensor *vly_safetensors_find(const vly_safetensors *file,
                                           const char *name);
/* A text of the header's __metadata__; NULL if there is none. */
const char *vly_safetensors_metadata(const vly_safetensors *file,
                                     const char *key);
/* The k-th of them, in the order of their keys; NULL after the last. */
const char *vly_safetensors_metadata_at(const vly_safetensors *file, uint32_t k,
                                        const char **key);

/* Copies bytes [first, first + n) of a tensor to out. [any-thread]
 * Errors  E_INVALID beyond the tensor; E_IO cannot be read, or the file is not
 * the one that was checked any more: out is undefined then */
vly_status vly_safetensors_read(const vly_safetensors *file,
                                const vly_safetensor *tensor, uint64_t first,
                                uint64_t n, void *out, vly_error *error);

/* "F16" and its bits; type must be one of the table */
const char *vly_safetensor_type_name(uint32_t type);
uint32_t vly_safetensor_type_bits(uint32_t type);

#endif
