/* SPDX-License-Identifier: Apache-2.0
 * A checkpoint: the state of a net and the lengths of its recordings, in one
 * file that is either complete or absent. README.md has the layout.
 */
#ifndef VOLLEY_CHECKPOINT_CHECKPOINT_H
#define VOLLEY_CHECKPOINT_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "base/random.h"

#define VLY_CHECKPOINT_MAGIC "VOLLEYCK"

enum {
    VLY_RECORDING_SPIKES = 1,
    VLY_RECORDING_DIGESTS = 2,
    VLY_RECORDING_WEIGHTS = 3,
    VLY_RECORDINGS = 3 /* kinds */
};

/* A file that grows with the run, as it was when the state was taken. */
typedef struct vly_recording {
    uint32_t kind;      /* VLY_RECORDING_*; each at most once */
    const char *path;   /* as it was given; the file may have moved since */
    uint64_t n_bytes;   /* of the file */
    uint64_t n_entries; /* spikes, or bursts */
    vly_hash tail;      /* of the last bytes before n_bytes */
    vly_hash selection; /* of what is recorded: names of areas */
} vly_recording;

/* X(NAME, name, bytes) of what an element is. RECORD: several members. */
#define VLY_STORED_TABLE(X)                                                    \
    X(RECORD, "record", 0)                                                     \
    X(U8, "u8", 1)                                                             \
    X(I16, "i16", 2)                                                           \
    X(I32, "i32", 4)                                                           \
    X(U32, "u32", 4)                                                           \
    X(F32, "f32", 4)                                                           \
    X(U64, "u64", 8)                                                           \
    X(F64, "f64", 8)
typedef enum vly_stored {
#define VLY_STORED_ENUM(NAME, name, bytes) VLY_STORED_##NAME,
    VLY_STORED_TABLE(VLY_STORED_ENUM)
#undef VLY_STORED_ENUM
        VLY_STORED_TYPES
} vly_stored;

/* Weights of a projection that change while a net runs, in the order of its
 * synapses: u8, i16, i32 or f32. No net of today has any. */
typedef struct vly_checkpoint_weights {
    uint32_t projection; /* ascending in a file */
    vly_stored type;
    uint64_t n;
    void *elements; /* [n] */
} vly_checkpoint_weights;

/* One value a neuron of an area, beside the fields of its model: u8, i16, i32,
 * u32 or f32. No net of today has any. */
enum { VLY_TRACE_NAME_BYTES = 32 };
typedef struct vly_checkpoint_trace {
    uint32_t area; /* in a file ascending, then by name */
    vly_stored type;
    char name[VLY_TRACE_NAME_BYTES]; /* a to z, 0 to 9, _ */
    uint64_t n;                      /* neurons of the area */
    void *elements;                  /* [n] */
} vly_checkpoint_trace;

/* Description of a section of a file, for display. */
typedef struct vly_checkpoint_section {
    char name[64];
    uint64_t n_bytes;        /* in memory */
    uint64_t n_stored_bytes; /* in the file */
    uint64_t n_frames;
} vly_checkpoint_section;

/* The contents of one file. */
typedef struct vly_checkpoint {
    vly_state *state;
    vly_recording *recordings;        /* [n_recordings] */
    vly_checkpoint_weights *weights;  /* [n_weights] */
    vly_checkpoint_trace *traces;     /* [n_traces] */
    vly_checkpoint_section *sections; /* [n_sections] of a file loaded */
    uint32_t n_recordings;
    uint32_t n_weights;
    uint32_t n_traces;
    uint32_t n_sections;
    uint32_t n_resumes; /* number of times that the run was resumed */
    uint64_t *counts;   /* [n_counts] the host's: intervals of recorded rates
                         * that are not over, and spikes in them; the same of
                         * input, and the sums at their begin */
    uint64_t n_counts;
    char *text; /* what the recordings' paths point into, if loaded */
} vly_checkpoint;

/* Description of a file, for display. */
typedef struct vly_checkpoint_about {
    uint32_t version;
    char engine[24]; /* version of Volley that wrote it */
    uint64_t n_file_bytes;
} vly_checkpoint_about;

/* Writes path.tmp, syncs it, shifts older checkpoints (path.1 to path.2, path
 * to path.1, up to `keep` files in all) and renames it to path. There is a
 * whole checkpoint at path at any moment, if there was one.
 *
 * keep     1 or more files; 1: path alone
 * *bytes   size of the file, NULL: not wanted                         (out)
 * Errors   VLY_E_IO     cannot be written, or another process writes it
 *          VLY_E_INVALID path is a folder, a pipe, a device; weights or traces
 *          that are not as above
 *          VLY_E_NOMEM; after any of them the file at path is unchanged
 * Thread   [any-thread]
 */
vly_status vly_checkpoint_save(const vly_checkpoint *checkpoint,
                               const char *path, uint32_t keep, uint64_t *bytes,
                               vly_error *error);

/* Reads and checks all of a file, of version 1 or 2. about may be NULL.
 * Errors   VLY_E_IO    cannot be read
 *          VLY_E_PARSE no checkpoint; older or newer version; cut; damaged,
 * with the name of the part; VLY_E_NOMEM
 * Thread  [any-thread]
 */
vly_status vly_checkpoint_load(const char *path, vly_checkpoint **checkpoint,
                               vly_checkpoint_about *about, vly_error *error);
/* Checks that a net of this engine can be resumed from it.
 * Errors  VLY_E_UNSUPPORTED it has weights or traces, which would be lost */
vly_status vly_checkpoint_can_run(const vly_checkpoint *checkpoint,
                                  const char *path, vly_error *error);
/* The state too. NULL is legal. */
void vly_checkpoint_destroy(vly_checkpoint *checkpoint);

/* Fills n_bytes' tail from the file as it is now; the bytes up to there are on
 * disk afterwards if sync is set.
 * Errors  VLY_E_IO; VLY_E_PARSE the file is shorter than n_bytes */
vly_status vly_recording_read_tail(const char *path, uint64_t n_bytes,
                                   bool sync, vly_hash *tail, vly_error *error);

#endif
