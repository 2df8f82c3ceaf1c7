/* SPDX-License-Identifier: Apache-2.0
 * A SONATA file being written: groups, datasets of known size filled from the
 * start, attributes. HDF5 runs in a child process (base/child.h), since it may
 * crash when memory runs out; the data is read back before the file gets its
 * name. Only with HDF5, one thread at a time.
 */
#ifndef VOLLEY_RECORD_SONATA_FILE_H
#define VOLLEY_RECORD_SONATA_FILE_H

#include <stdint.h>

#include <volley/plugin.h>

typedef struct vly_sonata_file vly_sonata_file;
typedef struct vly_sonata_group {
    int64_t id; /* negative: none */
} vly_sonata_group;
typedef struct vly_sonata_set {
    int64_t id;
    uint64_t n_rows; /* in the file */
    uint32_t entry;  /* of what is read back */
    uint32_t reserved;
} vly_sonata_set;
typedef enum vly_sonata_type {
    VLY_SONATA_F64,
    VLY_SONATA_F32,
    VLY_SONATA_U64,
    VLY_SONATA_U32,
    VLY_SONATA_U8,     /* as the next two only of attributes */
    VLY_SONATA_TEXT,   /* of variable length */
    VLY_SONATA_SORTING /* "none", "by_id", "by_time" */
} vly_sonata_type;

/* Errors of all functions below: E_IO "path: cannot be written: reason", also
 * if data did not reach the file; E_NOMEM, also if HDF5 crashed for lack of
 * memory. */

/* A file beside path, with the group top. */
vly_status vly_sonata_open(const char *path, const char *top,
                           vly_sonata_file **file, vly_error *error);
/* Syncs it, reads it back, and gives it its name. Frees file, also on failure.
 */
vly_status vly_sonata_close(vly_sonata_file *file, vly_error *error);
/* Removes it. NULL is legal. */
void vly_sonata_abandon(vly_sonata_file *file);

/* top/AREA; a slash, which would make a subgroup, is replaced by a dot, which
 * no area name contains. */
vly_status vly_sonata_population(vly_sonata_file *file, const char *top,
                                 const char *area, vly_sonata_group *group,
                                 vly_error *error);
vly_status vly_sonata_group_open(vly_sonata_file *file,
                                 const vly_sonata_group *parent,
                                 const char *name, vly_sonata_group *group,
                                 vly_error *error);
/* VLY_OK for one that was never opened; opening and closing both write. */
vly_status vly_sonata_group_close(vly_sonata_file *file,
                                  vly_sonata_group *group, vly_error *error);

vly_status vly_sonata_set_open(vly_sonata_file *file,
                               const vly_sonata_group *group, const char *name,
                               vly_sonata_type type, uint64_t n,
                               vly_sonata_set *set, vly_error *error);
/* In chunks of at most chunk_rows x chunk_columns. */
vly_status vly_sonata_table_open(vly_sonata_file *file,
                                 const vly_sonata_group *group,
                                 const char *name, vly_sonata_type type,
                                 uint64_t n_rows, uint64_t n_columns,
                                 uint64_t chunk_rows, uint64_t chunk_columns,
                                 vly_sonata_set *set, vly_error *error);
/* The next n values of a list, or rows of a table. */
vly_status vly_sonata_append(vly_sonata_file *file, vly_sonata_set *set,
                             const void *values, uint64_t n, vly_error *error);
vly_status vly_sonata_set_close(vly_sonata_file *file, vly_sonata_set *set,
                                vly_error *error);

/* The attributes units, sorted (true), and sorting (by_time). */
vly_status vly_sonata_units(vly_sonata_file *file, const vly_sonata_set *set,
                            const char *units, vly_error *error);
vly_status vly_sonata_sorted(vly_sonata_file *file, const vly_sonata_set *set,
                             vly_error *error);
vly_status vly_sonata_sorting(vly_sonata_file *file,
                              const vly_sonata_group *group, vly_error *error);
/* A second name for a set of the group, which has all its values. */
vly_status vly_sonata_alias(vly_sonata_file *file,
                            const vly_sonata_group *group, const char *name,
                            const char *alias, vly_error *error);

#endif
