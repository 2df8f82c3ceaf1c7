/* SPDX-License-Identifier: Apache-2.0
 * Choices in the tuning cache: entries that are of this build of the plugin.
 * One that another build measured was of other kernels: it is not there, and
 * gives its place to the new one.
 */
#ifndef VOLLEY_TUNE_CHOICE_H
#define VOLLEY_TUNE_CHOICE_H

#include <stdbool.h>

#include "tune_cache.h"

enum { VLY_TUNE_BUILD_BYTES = 20 };

/* The build id that the linker gave the object with this function, cut or with
 * zeros behind it; all zeros: it has none, and builds are not told apart.
 * [any-thread] */
void vly_tune_build(unsigned char build[VLY_TUNE_BUILD_BYTES]);

/* As vly_tune_get and _put, for exactly `bytes` bytes, at most
 * VLY_TUNE_BLOB_BYTES - VLY_TUNE_BUILD_BYTES. [any-thread]
 * get   true, or false and choice is untouched */
bool vly_tune_get_choice(const vly_tune_cache *cache, const char *key,
                         void *choice, uint32_t bytes);
bool vly_tune_put_choice(const vly_tune_cache *cache, const char *key,
                         const void *choice, uint32_t bytes);

#endif
