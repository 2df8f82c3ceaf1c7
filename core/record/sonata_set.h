/* SPDX-License-Identifier: Apache-2.0
 * What both readers of recordings need: a file at hand, sets of numbers in it,
 * and a sentence where one is not as it should be. Only with HDF5.
 */
#ifndef VOLLEY_RECORD_SONATA_SET_H
#define VOLLEY_RECORD_SONATA_SET_H

#include <hdf5.h>

#include "record/sonata_scan.h"

typedef struct vly_scanner {
    const vly_scan_ask *ask;
    vly_scan_block *block;
    int out;
    double file_bytes;
    char place[VLY_SCAN_NAME + 80]; /* group at hand, for messages */
    uint32_t n_columns;             /* in all populations so far */
    bool more;
} vly_scanner;

/* A set of numbers. */
typedef struct vly_scan_set {
    hid_t id;
    const char *name;
    uint64_t n_rows;
    uint64_t n_columns; /* 1 of a list */
} vly_scan_set;

/* All below return false where they fail, and the last frame is then sent. */

/* "file: /place/set: sentence"; set may be "". */
bool vly_scan_fail(const vly_scanner *s, const char *set, const char *sentence);
bool vly_scan_has(hid_t group, const char *name);
/* name, or what older files have. */
const char *vly_scan_either(hid_t group, const char *name, const char *older);
/* n_dims 1 or 2; whole: of whole numbers. */
bool vly_scan_open(const vly_scanner *s, hid_t group, const char *name,
                   int n_dims, bool whole, vly_scan_set *set);
/* out [n] of type in memory */
bool vly_scan_read(const vly_scanner *s, const vly_scan_set *set,
                   uint64_t first, uint32_t n, hid_t type, void *out);
/* The attribute units, "" without one. */
bool vly_scan_units(const vly_scanner *s, const vly_scan_set *set, char *text,
                    size_t n);
/* What a time of the set is to be multiplied with to be ms. */
bool vly_scan_scale(const vly_scanner *s, const vly_scan_set *set,
                    double *scale);

/* Sends the wanted samples of a population. */
bool vly_scan_report(vly_scanner *s, hid_t group, const char *name);

#endif
