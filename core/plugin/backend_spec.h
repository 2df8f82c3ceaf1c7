/* SPDX-License-Identifier: Apache-2.0
 * Parses "cpu:4,isa=scalar" into plugin, number and options.
 */
#ifndef VOLLEY_PLUGIN_BACKEND_SPEC_H
#define VOLLEY_PLUGIN_BACKEND_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/ranks.h>

typedef struct vly_backend_spec {
    char id[32];       /* "cpu"; "auto" has neither number nor options */
    bool has_number;   /* a number was given */
    uint32_t number;   /* of threads (VLY_BACKEND_HOST) or the device; otherwise
                        * 0 */
    uint32_t last;     /* "cuda:0-3": the last of several devices; otherwise
                        * number */
    bool all;          /* "cuda:all": as many devices as there are */
    char options[256]; /* "isa=scalar,plan=x"; "" if there are none */
} vly_backend_spec;

/* Devices of one net at most: more than any host has. */
#define VLY_BACKEND_SPAN_MOST 64u

/* Whether it names several devices, or all. */
static inline bool vly_backend_spec_is_span(const vly_backend_spec *spec)
{
    return spec->all || spec->last != spec->number;
}

/* id[:NUMBER|:FIRST-LAST|:all][,key=value]...
 *
 * Errors   VLY_E_INVALID  names the part that is wrong; spec unchanged
 * Thread   [any-thread]
 */
vly_status vly_backend_spec_parse(const char *text, vly_backend_spec *spec,
                                  vly_error *error);

/* *local: ranks before `rank` on its host whose specs in `text` name the same
 * devices. hosts: [rank + 1] the number of each rank's host.
 *
 * Errors   VLY_E_INVALID  the spec of one of them; *local unchanged
 * Thread   [any-thread]
 */
vly_status vly_backend_spec_local(const char *text, const uint32_t *hosts,
                                  uint32_t rank, uint32_t *local,
                                  vly_error *error);

/* The device of the rank with this number: of the devices of the spec, or of
 * all n_devices if it names none, in turn. */
uint32_t vly_backend_spec_deal(const vly_backend_spec *spec, uint32_t n_devices,
                               uint32_t local);

/* Fills the device specification for a backend; of several devices for the
 * first.
 *
 * is_host        the number is a number of threads (VLY_BACKEND_HOST), not a
 *                device
 * n_threads      for a spec without a number of threads; 0: all cores of this
 *                process
 * device         device->options points into spec
 * Errors VLY_E_INVALID  no device and no count of threads, or several devices
 * of the host; device unchanged Thread [any-thread]
 */
vly_status vly_backend_spec_device(const vly_backend_spec *spec, bool is_host,
                                   uint32_t n_threads, vly_device_spec *device,
                                   vly_error *error);

#endif
