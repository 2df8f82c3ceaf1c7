/* SPDX-License-Identifier: Apache-2.0
 * Accelerators as the engine sees them: the interfaces of a plugin in our own
 * layout, found by the name of a device.
 */
#ifndef VOLLEY_ACCELERATOR_ACCELERATOR_H
#define VOLLEY_ACCELERATOR_ACCELERATOR_H

#include <volley/attention.h>
#include <volley/gemm.h>
#include <volley/rwkv.h>
#include <volley/wkv.h>

#include "plugin/registry.h"

/* Tables of volley.memory/1, volley.gemm/1, volley.attention/1, volley.wkv/1
 * and volley.rwkv/1: size and required functions; optional ones that the plugin
 * does not have are NULL. [any-thread]
 * Errors  VLY_E_ABI  names the function; *out untouched
 */
vly_status vly_memory_check(const void *table, vly_memory *out,
                            vly_error *error);
vly_status vly_gemm_check(const void *table, vly_gemm *out, vly_error *error);
vly_status vly_attention_check(const void *table, vly_attention *out,
                               vly_error *error);
vly_status vly_wkv_check(const void *table, vly_wkv *out, vly_error *error);
vly_status vly_rwkv_check(const void *table, vly_rwkv *out, vly_error *error);

/* One plugin and one device of it. An interface that it does not offer has
 * struct_size 0; memory is always there. */
typedef struct vly_accelerator {
    vly_backend_spec
        spec;    /* the requested name; device.options points into it */
    char id[48]; /* of the plugin: "gemm_cuda" */
    vly_device_spec device; /* to make plans with */
    vly_memory memory;
    vly_gemm gemm;
    vly_attention attention;
    vly_wkv wkv;
    vly_rwkv rwkv;
} vly_accelerator;

/* The plugin of an interface for a device, named as backends are: "cpu:4" is
 * four threads of gemm_cpu, "cuda:1,tune=0" the second device of gemm_cuda,
 * "cuda:0-3" of attention a plan spread over four ("cuda:0,devices=4"). The id
 * of a plugin is a name too: "gemm_cpu", "mine:1". accelerator->device points
 * into *accelerator, so that must stay where it is.
 *
 * interface_id  VLY_GEMM_INTERFACE, VLY_ATTENTION_INTERFACE, VLY_WKV_INTERFACE,
 *               VLY_RWKV_INTERFACE
 * n_threads     of the host; 0: all cores. The number of "cpu:4" takes
 * precedence
 * Errors  VLY_E_INVALID not the name of a device, for example "auto"
 *          VLY_E_UNSUPPORTED  no such plugin, it cannot be used or does not
 *                             offer the interface, with its reason
 *          VLY_E_NOMEM        the same, where memory is the reason
 *          VLY_E_DEVICE       it has no such device
 *          VLY_E_ABI          a table does not fit
 * Thread   [main-thread]
 */
vly_status vly_accelerator_find(const vly_registry *registry,
                                const char *interface_id, const char *device,
                                uint32_t n_threads,
                                vly_accelerator *accelerator, vly_error *error);

#endif
