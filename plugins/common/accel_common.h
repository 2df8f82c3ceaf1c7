/* SPDX-License-Identifier: Apache-2.0
 * What every accelerator plugin does in the same way on the host: memory,
 * sizes, options, beside plugins/support. Compiled into each plugin with hidden
 * symbols, so it is no ABI between them.
 */
#ifndef VOLLEY_ACCEL_COMMON_H
#define VOLLEY_ACCEL_COMMON_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/accelerator.h>

#include "plugins/support/support_host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- accel_common.c: memory, checks, sizes ---------------------------- */

/* Errors  E_INVALID it is none of VLY_QOS_* */
vly_status vly_accel_check_qos(uint32_t qos, vly_error *error);

/* count * size bytes, 256-byte aligned, cleared, into *out (a pointer to any
 * pointer). Errors E_NOMEM, *out untouched. [any-thread] */
vly_status vly_accel_alloc(uint64_t count, uint64_t size, void *out,
                           vly_error *error);
void vly_accel_free(void *memory); /* NULL is legal */

/* E_INVALID if it is NULL or shorter than that of version 1.0 */
vly_status vly_accel_check_device(const vly_device_spec *device,
                                  vly_error *error);
/* A field that a later revision may give a meaning. where: "description" or
 * "run". Errors  E_INVALID it is not 0 */
vly_status vly_accel_check_reserved(const char *where, uint32_t reserved,
                                    vly_error *error);
/* What plan_info of a plan without a choice says, for the plugin to change: one
 * candidate, no workspace, not measured, choice "".
 * Errors  E_INVALID info is NULL or too short, and untouched */
vly_status vly_accel_plan_info(vly_plan_info *info, vly_error *error);

/* ---- accel_candidates.c ----------------------------------------------- */

/* The ways that were looked at, a part of a plan. */
typedef struct vly_accel_candidates { /* all 0: there are none */
    vly_plan_candidate *all;
    uint32_t n;
    uint32_t most;
} vly_accel_candidates;

/* Room for so many. Errors  E_NOMEM */
vly_status vly_accel_candidates_init(vly_accel_candidates *list, uint32_t most,
                                     vly_error *error);
void vly_accel_candidates_deinit(vly_accel_candidates *list);
/* Adds one, to be changed by the caller: its name and note, cut where they are
 * too long. What there is no room for is a place that is not kept. */
vly_plan_candidate *vly_accel_candidates_add(vly_accel_candidates *list,
                                             uint32_t state, const char *name,
                                             const char *note);
/* plan_candidate of the interfaces.
 * Errors  E_INVALID candidate or n is NULL, or candidate too short */
vly_status vly_accel_candidates_get(const vly_accel_candidates *list,
                                    uint32_t index,
                                    vly_plan_candidate *candidate, uint32_t *n,
                                    vly_error *error);

/* Bytes from the first element to behind the last of
 *     [batch] products `stride` apart of [rows] rows `pitch` apart of [cols]
 * elements of so many bits; 0 where there is none. false on overflow: more
 * than INT64_MAX bytes. */
bool vly_accel_extent(uint64_t batch, uint64_t stride, uint64_t rows,
                      uint64_t pitch, uint64_t cols, uint32_t bits,
                      uint64_t *bytes);

/* Calls body(arg, task) for the tasks of [0, n_tasks), in parallel if the host
 * has the threads, otherwise one by one: tasks must not wait for each other.
 * [any-thread] */
void vly_accel_parallel(uint32_t n_tasks, void (*body)(void *arg, uint32_t),
                        void *arg);

/* ---- host_account.c ---------------------------------------------------- */

/* In place of vly_support_start and _stop, for plugins that compute on the
 * processor: from then on their memory is in the account "host" of the host's
 * policy, where it is counted, limited and kept for reuse. Hosts older than ABI
 * 1.3 have none; then it is allocated directly, as in other plugins.
 * Errors  as vly_support_start; E_NOMEM */
vly_status vly_accel_host_start(const vly_host *host, vly_error *error);
void vly_accel_host_stop(void);
/* At least so many bytes, 256-byte aligned, not cleared. qos: VLY_QOS_*
 * Errors  E_NOMEM with bytes requested and available. [any-thread] */
vly_status vly_accel_take(uint64_t bytes, uint32_t qos, void **memory,
                          vly_error *error);
void vly_accel_give(void *memory); /* NULL is legal */

/* What is made once, used by many and can be made again: best effort memory
 * that the policy may take back while nobody holds it, the longest unused
 * first. Without a policy each holder makes its own. */
typedef struct vly_accel_shared { /* all 0: there is nothing yet */
    void *memory;
    uint64_t bytes;
    uint64_t token;
    uint32_t users;
} vly_accel_shared;

/* At least so many bytes, to be read only, until release. What is there is
 * used; else make(arg, memory, bytes) fills new memory, always with the same
 * bytes from the front.
 * Errors  E_NOMEM. [any-thread] */
vly_status
vly_accel_shared_hold(vly_accel_shared *shared, uint64_t bytes,
                      void (*make)(void *arg, void *memory, uint64_t bytes),
                      void *arg, const void **memory, vly_error *error);
/* bytes: as in hold. NULL is legal. [any-thread] */
void vly_accel_shared_release(vly_accel_shared *shared, const void *memory,
                              uint64_t bytes);
/* For a plugin's deinit, before vly_accel_host_stop: nobody holds it. */
void vly_accel_shared_forget(vly_accel_shared *shared);

/* ---- accel_options.c -------------------------------------------------- */

enum {
    VLY_ACCEL_CACHE_DEFAULT = 0,
    VLY_ACCEL_CACHE_OFF = 1,
    VLY_ACCEL_CACHE_FOLDER = 2,
};

/* vly_device_spec.options of an accelerator, see volley/accelerator.h */
typedef struct vly_accel_options {
    bool tune;      /* false: the first candidate */
    uint32_t cache; /* VLY_ACCEL_CACHE_* */
    char cache_folder[512];
    bool early;      /* kernels may overlap with those before them */
    bool chain;      /* several runs of volley.rwkv/1 may be one */
    char choose[64]; /* "": none is forced */
} vly_accel_options;

/* extra: keys of the plugin's own, NULL after the last; or NULL. They are only
 * checked to be known; vly_accel_options_value has their values.
 * Errors  E_INVALID names the part that is wrong and what there is; *options
 *         untouched */
vly_status vly_accel_options_parse(const char *text, const char *const *extra,
                                   vly_accel_options *options,
                                   vly_error *error);
/* The value of a key in "key=value,key=value" into value[size]; false if it is
 * not there or does not fit. */
bool vly_accel_options_value(const char *text, const char *key, char *value,
                             size_t size);

/* ---- accel_host_memory.c ---------------------------------------------- */

/* volley.memory/1 of the processor: one device, streams are NULL. */
extern const vly_memory vly_accel_host_memory;

#ifdef __cplusplus
}
#endif
#endif
