/* SPDX-License-Identifier: Apache-2.0
 * "cpu:4,isa=scalar" taken apart: which plugin, which number, which options.
 */
#ifndef VOLLEY_PLUGIN_BACKEND_SPEC_H
#define VOLLEY_PLUGIN_BACKEND_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/plugin.h>

typedef struct vly_backend_spec {
    char id[32];       /* "cpu"; "auto" has neither number nor options */
    bool has_number;   /* a number was given */
    uint32_t number;   /* threads of "cpu", device of the others; else 0 */
    char options[256]; /* "isa=scalar,plan=x"; "" if there are none */
} vly_backend_spec;

/* id[:NUMBER][,key=value]...
 *
 * Errors   VLY_E_INVALID  names the part that is wrong; spec unchanged
 * Thread   [any-thread]
 */
vly_status vly_backend_spec_parse(const char *text, vly_backend_spec *spec,
                                  vly_error *error);

/* What a backend gets for it. The number of "cpu" wins over n_threads (0: all
 * cores of this process). device->options points into spec. [any-thread] */
void vly_backend_spec_device(const vly_backend_spec *spec, uint32_t n_threads,
                             vly_device_spec *device);

/* What a device is called that people name otherwise: of "gpu" "cuda or
 * vulkan". NULL: not known. [any-thread] */
const char *vly_backend_of_device(const char *name);

#endif
