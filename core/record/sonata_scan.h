/* SPDX-License-Identifier: Apache-2.0
 * The data that the child process sends to its parent while it reads a SONATA
 * recording: frames over a pipe, each followed by its numbers.
 */
#ifndef VOLLEY_RECORD_SONATA_SCAN_H
#define VOLLEY_RECORD_SONATA_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include <volley/record.h>

#define VLY_SCAN_BLOCK 16384u /* numbers read at a time */
#define VLY_SCAN_NAME 200
#define VLY_SCAN_POPULATIONS 4096u /* as many as a net has areas */

typedef enum vly_scan_kind {
    VLY_SCAN_FAILED = 1, /* text says why; the last frame */
    VLY_SCAN_POPULATION, /* text: its name; total spikes */
    VLY_SCAN_SPIKES,     /* n of them follow: times, nodes */
    VLY_SCAN_REPORT,     /* text: population; n columns, whose nodes and
                            elements follow; total rows */
    VLY_SCAN_ROWS,       /* n of them follow */
    VLY_SCAN_END
} vly_scan_kind;

typedef struct vly_scan_frame {
    uint32_t kind;
    uint32_t n;
    uint64_t total;
    double start_ms;
    double step_ms;
    uint64_t more; /* END: columns were left out, 0 or 1 */
    char units[64];
    char text[1024];
} vly_scan_frame;

typedef struct vly_scan_block {
    double numbers[VLY_SCAN_BLOCK];
    uint64_t nodes[VLY_SCAN_BLOCK];
    int64_t pointers[VLY_SCAN_BLOCK];
    int64_t elements[VLY_SONATA_COLUMNS];
} vly_scan_block;

typedef struct vly_scan_ask {
    const char *path;
    const vly_sonata_want *want;
    bool report; /* else spikes */
    vly_scan_block *block;
} vly_scan_ask;

/* False: this build has no HDF5. */
bool vly_scan_built(void);
/* Reads the file and writes frames to out, the last one FAILED or END, unless
 * HDF5 crashes or does not end: then a signal ends the process. Runs in a child
 * process; allocates no memory through the engine. */
void vly_scan(const vly_scan_ask *ask, int out);

#endif
