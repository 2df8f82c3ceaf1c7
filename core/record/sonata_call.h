/* SPDX-License-Identifier: Apache-2.0
 * What the process that needs a SONATA file asks of the one that writes it: a
 * call over a socket with its bytes behind it, and an answer over a pipe. HDF5
 * 1.10 may die of a NULL that malloc returns (H5E__get_stack, where it notes
 * errors, does not look at it): it dies in a process of its own, and
 * the one that asks still has everything.
 */
#ifndef VOLLEY_RECORD_SONATA_CALL_H
#define VOLLEY_RECORD_SONATA_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "record/sonata_file.h"

typedef enum vly_sonata_verb {
    VLY_SONATA_CREATE = 1, /* text: path */
    VLY_SONATA_GROUP,      /* id: parent; text: name; answers its id */
    VLY_SONATA_GROUP_END,
    VLY_SONATA_SET, /* id: group; text: name; answers id and place */
    VLY_SONATA_VALUES,
    VLY_SONATA_SET_END,
    VLY_SONATA_ATTRIBUTE, /* id: object; text: name, then its values; answers
                             the object's place */
    VLY_SONATA_LINK,      /* id: group; text: name, then the second name;
                             answers the group's place */
    VLY_SONATA_END        /* everything is in the file, which is closed */
} vly_sonata_verb;

typedef struct vly_sonata_call {
    uint32_t verb;
    uint32_t type;
    int64_t id;
    uint64_t first;      /* row */
    uint64_t n_rows;     /* values of a list or an attribute */
    uint64_t n_columns;  /* of a table */
    uint64_t chunk_rows; /* 0: a list */
    uint64_t chunk_columns;
    uint64_t n_bytes; /* that follow */
} vly_sonata_call;

typedef struct vly_sonata_answer {
    int32_t status;
    uint32_t reserved;
    int64_t id;
    char text[1000]; /* a sentence, or a place in the file */
} vly_sonata_answer;

/* What was written, as it must be read back. */
typedef struct vly_sonata_entry {
    char *place;           /* of a set, or of the object with the attribute */
    const char *attribute; /* NULL: a set */
    vly_sonata_type type;
    uint64_t n_rows;
    uint64_t n_columns;
    uint64_t block_rows; /* read at a time */
    uint64_t sum;
    bool table;
} vly_sonata_entry;

/* Bytes of a value; of a text 1. */
uint32_t vly_sonata_size(vly_sonata_type type);
/* Sum over values and their numbers, from first on: the same in blocks of any
 * size. */
uint64_t vly_sonata_sum(uint64_t first, const void *values, uint64_t n,
                        uint32_t value_bytes);

/* The two processes: context is a vly_sonata_writer, a vly_sonata_check. They
 * allocate nothing by the engine's table. */
typedef struct vly_sonata_writer {
    int in;    /* calls */
    int asker; /* the other end, closed in this process */
} vly_sonata_writer;
void vly_sonata_write_calls(void *context, int out);

typedef struct vly_sonata_check {
    const char *path;
    const vly_sonata_entry *entries;
    uint32_t n_entries;
} vly_sonata_check;
/* One answer: E_IO and a sentence where the file has not what was written. */
void vly_sonata_check_file(void *context, int out);

#ifdef VLY_HAVE_HDF5
/* At the begin of such a process: HDF5 prints nothing, and does nothing when it
 * ends. */
void vly_sonata_begin(void);
/* How a file is opened that the one who asks has locked: HDF5 would lock it
 * again, and be refused. A plan of HDF5's (hid_t); negative: its failure. */
int64_t vly_sonata_access_plan(void);
/* Of HDF5's failure: its sentence in text; E_NOMEM or E_IO. */
vly_status vly_sonata_reason(char *text, uint32_t n);
#endif

#endif
