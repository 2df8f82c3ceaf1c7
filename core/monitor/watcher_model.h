/* SPDX-License-Identifier: Apache-2.0
 * An RWKV-7 model of telemetry from a file, as the watcher uses it: record by
 * record on a device, admitted as best effort.
 */
#ifndef VOLLEY_MONITOR_WATCHER_MODEL_H
#define VOLLEY_MONITOR_WATCHER_MODEL_H

#include <volley/volley.h>

#include "monitor/watcher.h"

typedef struct vly_watcher_rwkv vly_watcher_rwkv;

/* path    .safetensors with the vocabulary of tokens.h and, in its metadata,
 *         the tails of its score (VLY_TAILS_KEY) and the version of the tokens
 * device  "cpu:1", "cuda:0"
 * Errors  those of vly_rwkv_weights_open and vly_rwkv_model_create; E_PARSE
 *         "path: ..." another vocabulary, no tail, other tokens; E_NOMEM by
 *         vly_gate_admit
 * Thread  [main-thread] */
vly_status vly_watcher_rwkv_open(const vly_registry *registry, const char *path,
                                 const char *device, vly_watcher_rwkv **model,
                                 vly_error *error);
void vly_watcher_rwkv_close(vly_watcher_rwkv *model); /* NULL is legal */

/* Its interface for the watcher; valid until close. */
vly_watcher_model vly_watcher_rwkv_model(vly_watcher_rwkv *model);
const struct vly_tail *vly_watcher_rwkv_tails(const vly_watcher_rwkv *model);
/* of nets on devices; the same where it was calibrated on none */
const struct vly_tail *
vly_watcher_rwkv_device_tails(const vly_watcher_rwkv *model);
/* Bytes that it holds, of its device. */
uint64_t vly_watcher_rwkv_bytes(const vly_watcher_rwkv *model);
/* true: the device is the processor */
bool vly_watcher_rwkv_on_host(const vly_watcher_rwkv *model);

#endif
