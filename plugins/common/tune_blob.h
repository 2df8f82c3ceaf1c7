/* SPDX-License-Identifier: Apache-2.0
 * Blobs that are too large for the file of the tuning cache: a folder beside
 * it, one file a blob. As in the cache, nothing is an error: a damaged, cut or
 * foreign file counts as missing, a blob that cannot be written is made again,
 * and both are logged.
 */
#ifndef VOLLEY_TUNE_BLOB_H
#define VOLLEY_TUNE_BLOB_H

#include <stdbool.h>

#include "tune_cache.h"

enum {
    VLY_TUNE_LARGE_BYTES = 4 << 20, /* of one blob, at most */
    /* Number of places: the hash of a key is its place. Another key with that
     * place replaces it, so the folder never has more files. */
    VLY_TUNE_PLACES = 512,
};

/* The blob of the key, in memory that the caller frees with the host's free,
 * and its bytes; NULL without a complete one.
 * Thread  [any-thread], beside writers in any process */
void *vly_tune_blob_get(const vly_tune_cache *cache, const char *key,
                        uint32_t *bytes);

/* Adds or replaces it; its file is replaced as a whole.
 * key     of printable characters, shorter than VLY_TUNE_KEY_BYTES
 * Returns true if it is on disk, false if not (logged, unless another process
 * is writing the same file).
 * Thread  [any-thread] */
bool vly_tune_blob_put(const vly_tune_cache *cache, const char *key,
                       const void *blob, uint32_t bytes);

#endif
