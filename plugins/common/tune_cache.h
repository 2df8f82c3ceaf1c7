/* SPDX-License-Identifier: Apache-2.0
 * Results of measurements on disk: a file of keys and blobs. It only makes
 * plans faster to create, so its failures are not errors: an entry that cannot
 * be read counts as missing, a result that cannot be written is measured again,
 * and both are logged.
 */
#ifndef VOLLEY_TUNE_CACHE_H
#define VOLLEY_TUNE_CACHE_H

#include <stdbool.h>

#include <volley/plugin.h>

enum {
    VLY_TUNE_BLOB_BYTES = 1024, /* of one entry, at most */
    VLY_TUNE_KEY_BYTES = 1024,  /* of a key, with its end */
};

typedef struct vly_tune_cache {
    const vly_host *host;
    char path[1024]; /* empty: no cache */
} vly_tune_cache;

/* Chooses the file; nothing is opened yet.
 *
 * option  value of the option cache=: "off", a folder, or NULL or "": the
 *         folder volley in $XDG_CACHE_HOME, otherwise in ~/.cache
 * name    of the file, for a kind of plan, a device and a version of a library:
 *         "gemm-NVIDIA H200-9.0-cublasLt 130100"; other characters than
 *         letters, digits, dots and minus become _
 * Thread  [any-thread]
 */
void vly_tune_init(vly_tune_cache *cache, const vly_host *host,
                   const char *option, const char *name);

/* blob  [capacity] bytes of the entry (out)
 * Returns its bytes; 0 without a complete entry that fits.
 * Thread  [any-thread], beside writers in any process
 */
uint32_t vly_tune_get(const vly_tune_cache *cache, const char *key, void *blob,
                      uint32_t capacity);

/* Adds or replaces one entry and keeps entries of other processes.
 * The file is replaced as a whole: a reader, or the next start after a crash,
 * sees the old one or the new one.
 *
 * Returns true if it is on disk, false if not (logged).
 * Thread  [any-thread]; waits up to 2 s for another writer
 */
bool vly_tune_put(const vly_tune_cache *cache, const char *key,
                  const void *blob, uint32_t bytes);

/* ---- for tune_blob ----------------------------------------------------- */

/* FNV-1a; before: the sum of the preceding bytes, 0 at the beginning */
uint64_t vly_tune_checksum(uint64_t before, const void *data, size_t bytes);
/* Creates the folders of the path; existing ones are unchanged. false:
 * failed */
bool vly_tune_make_folders(const vly_tune_cache *cache);

#endif
