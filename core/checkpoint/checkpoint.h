/* SPDX-License-Identifier: Apache-2.0
 * A checkpoint: the state of a net, and how far its recordings were, as one
 * file that is whole or not there. README.md has the layout.
 */
#ifndef VOLLEY_CHECKPOINT_CHECKPOINT_H
#define VOLLEY_CHECKPOINT_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "base/random.h"

#define VLY_CHECKPOINT_MAGIC "VOLLEYCK"

enum { VLY_RECORDING_SPIKES = 1, VLY_RECORDING_DIGESTS = 2 };

/* A file that grows with the run, as it was when the state was taken. */
typedef struct vly_recording {
    uint32_t kind;      /* VLY_RECORDING_*; each at most once */
    const char *path;   /* as it was given; may be elsewhere by now */
    uint64_t n_bytes;   /* of the file */
    uint64_t n_entries; /* spikes, or bursts */
    vly_hash tail;      /* of the last bytes before n_bytes */
    vly_hash selection; /* of what is recorded: names of areas */
} vly_recording;

/* What one file holds. */
typedef struct vly_checkpoint {
    vly_state *state;
    vly_recording *recordings; /* [n_recordings] */
    uint32_t n_recordings;
    uint32_t n_resumes; /* times that the run has gone on from a checkpoint */
    char *text;         /* what the recordings' paths point into, if loaded */
} vly_checkpoint;

/* What a file says of itself, for people. */
typedef struct vly_checkpoint_section {
    const char *name;
    uint64_t n_bytes;        /* in memory */
    uint64_t n_stored_bytes; /* in the file */
} vly_checkpoint_section;
enum { VLY_CHECKPOINT_SECTIONS_MAX = 16 };
typedef struct vly_checkpoint_about {
    uint32_t version;
    char engine[24]; /* version of Volley that wrote it */
    uint64_t n_file_bytes;
    uint32_t n_sections;
    vly_checkpoint_section sections[VLY_CHECKPOINT_SECTIONS_MAX];
} vly_checkpoint_about;

/* Writes path.tmp, syncs it, shifts older checkpoints (path.1 to path.2, path
 * to path.1, up to `keep` files in all) and renames it to path. There is a
 * whole checkpoint at path at any moment, if there was one.
 *
 * keep     1 or more files; 1: path alone
 * *bytes   size of the file, NULL: not wanted                         (out)
 * Errors   VLY_E_IO     cannot be written, or another process writes it
 *          VLY_E_INVALID path is a folder, a pipe, a device
 *          VLY_E_NOMEM; after any of them what is at path is as it was
 * Thread   [any-thread]
 */
vly_status vly_checkpoint_save(const vly_checkpoint *checkpoint,
                               const char *path, uint32_t keep, uint64_t *bytes,
                               vly_error *error);

/* Reads and checks all of a file. about may be NULL.
 * Errors   VLY_E_IO    cannot be read
 *          VLY_E_PARSE no checkpoint; older or newer version; cut; damaged,
 * with the name of the part; VLY_E_NOMEM Thread   [any-thread]
 */
vly_status vly_checkpoint_load(const char *path, vly_checkpoint **checkpoint,
                               vly_checkpoint_about *about, vly_error *error);
/* The state too. NULL is legal. */
void vly_checkpoint_destroy(vly_checkpoint *checkpoint);

/* Fills n_bytes' tail from the file as it is now; the bytes up to there are on
 * disk afterwards if sync is set. Errors  VLY_E_IO; VLY_E_PARSE the file is
 * shorter than n_bytes */
vly_status vly_recording_read_tail(const char *path, uint64_t n_bytes,
                                   bool sync, vly_hash *tail, vly_error *error);

#endif
