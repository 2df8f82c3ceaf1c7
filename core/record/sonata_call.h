/* SPDX-License-Identifier: Apache-2.0
 * Protocol between the process that needs a SONATA file and the child that
 * writes it: a call over a socket, followed by its data, and an answer over a
 * pipe. HDF5 1.10 may crash if malloc returns NULL (H5E__get_stack does not
 * check it): then only the child ends, and the parent still has all data.
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
    VLY_SONATA_END        /* all data is in the file, which is closed */
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
    char text[1000]; /* a message, or a place in the file */
} vly_sonata_answer;

/* Checksum of written data, for reading it back. */
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
/* Sum over values and their indexes, from first on: independent of the block
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
/* One answer: E_IO and a message if the file does not have the written data. */
void vly_sonata_check_file(void *context, int out);

#ifdef VLY_HAVE_HDF5
/* A child process calls this first: HDF5 prints nothing, and does nothing at
 * exit. */
void vly_sonata_begin(void);
/* Access properties to open a file that the parent has locked: HDF5 would try
 * to lock it again and fail. An HDF5 property list (hid_t); negative: failure.
 */
int64_t vly_sonata_access_plan(void);
/* HDF5's message of a failure in text; returns E_NOMEM or E_IO. */
vly_status vly_sonata_reason(char *text, uint32_t n);
#endif

#endif
