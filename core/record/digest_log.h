/* SPDX-License-Identifier: Apache-2.0
 * Digest logs: one line a burst, to compare runs on two machines with a text
 * file. README.md has the format. Their reader is declared in volley/record.h.
 */
#ifndef VOLLEY_RECORD_DIGEST_LOG_H
#define VOLLEY_RECORD_DIGEST_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/plugin.h>

#include "base/random.h"

#define VLY_DIGEST_LOG_MAGIC "# volley digest log 1"

typedef struct vly_digest_header {
    vly_hash genome_hash;
    vly_hash connectome_hash;
    double dt_ms;
    uint32_t n_neurons;
    uint64_t n_synapses;
    char backend[64]; /* for display; not used otherwise */
} vly_digest_header;

typedef struct vly_digest_log vly_digest_log;

vly_status vly_digest_log_open(const char *path,
                               const vly_digest_header *header,
                               vly_digest_log **log, vly_error *error);
/* The position of a log that a checkpoint stores. */
typedef struct vly_digest_place {
    uint64_t n_bytes;
    uint64_t run_digest; /* of the last burst; 0 before the first */
} vly_digest_place;

/* Continues a log after this place; later lines, and a partial line, are
 * truncated.
 * Errors  as vly_writer_resume */
vly_status vly_digest_log_resume(const char *path,
                                 const vly_digest_place *place,
                                 vly_digest_log **log, vly_error *error);
/* Writes all lines so far to the file; *place is after them. */
vly_status vly_digest_log_flush(vly_digest_log *log, vly_digest_place *place,
                                vly_error *error);
/* Back to a place of this log. Errors  as vly_writer_rewind */
vly_status vly_digest_log_rewind(vly_digest_log *log,
                                 const vly_digest_place *place,
                                 vly_error *error);
/* Bursts in order, from 0. */
vly_status vly_digest_log_add(vly_digest_log *log, uint64_t burst,
                              uint64_t digest, uint64_t n_spikes,
                              vly_error *error);
/* As vly_writer_cancel: close then leaves nothing of it. NULL is legal. */
void vly_digest_log_cancel(vly_digest_log *log);
/* Frees log, also on failure. NULL is legal. */
vly_status vly_digest_log_close(vly_digest_log *log, vly_error *error);

#endif
