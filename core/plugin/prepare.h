/* SPDX-License-Identifier: Apache-2.0
 * A backend begins while the network is compiled: its plugin is started, and
 * the devices that a spec names are prepared, on a thread of its own.
 */
#ifndef VOLLEY_PLUGIN_PREPARE_H
#define VOLLEY_PLUGIN_PREPARE_H

#include "plugin/registry.h"

typedef struct vly_preparation vly_preparation;

/* Starts the plugin of spec, as vly_registry_backend would, and calls prepare
 * of its backend; with "auto", of the first plugin that auto would try and that
 * can be used. The texts are copied. NULL if the spec cannot be read (also a
 * list for ranks), or without memory or a thread: then the plugin and its
 * devices start when the net is made. Failures are reported there too. A fork
 * of the process waits while the thread works, because a child would inherit
 * the locks of a driver that starts. [main-thread] */
vly_preparation *vly_prepare_begin(vly_registry *registry, const char *spec,
                                   uint32_t n_threads);

/* Waits until the plugin has been started, or so many ms have passed since the
 * call of begin. true: it has been started, or has failed to; NULL: true */
bool vly_prepare_started(vly_preparation *preparation, uint32_t ms);

typedef struct vly_prepare_times {
    uint64_t start_ns;   /* the plugin */
    uint64_t prepare_ns; /* the devices, after that */
    uint64_t waited_ns;  /* by the caller of end */
} vly_prepare_times;

/* Waits for the end of the thread and frees. NULL is legal, as is times NULL.
 * Before the registry is destroyed. */
void vly_prepare_end(vly_preparation *preparation, vly_prepare_times *times);

#endif
