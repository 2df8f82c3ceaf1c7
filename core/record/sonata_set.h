/* SPDX-License-Identifier: Apache-2.0
 * Shared by both readers of recordings: an open file, data sets of numbers in
 * it, and messages about invalid ones. Only with HDF5.
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

/* All functions below return false on failure, after sending the last frame. */

/* "file: /place/set: sentence"; set may be "". */
bool vly_scan_fail(const vly_scanner *s, const char *set, const char *sentence);
bool vly_scan_has(hid_t group, const char *name);
/* Opens name, or the name in older files. */
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
/* The factor that converts times of the data set to ms. */
bool vly_scan_scale(const vly_scanner *s, const vly_scan_set *set,
                    double *scale);

/* Sends the requested samples of a population. */
bool vly_scan_report(vly_scanner *s, hid_t group, const char *name);

#endif
