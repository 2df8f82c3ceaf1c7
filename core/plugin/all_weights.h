/* SPDX-License-Identifier: Apache-2.0
 * Nets for plugins that were built before 1.10 and read a weight of every
 * synapse.
 */
#ifndef VOLLEY_PLUGIN_ALL_WEIGHTS_H
#define VOLLEY_PLUGIN_ALL_WEIGHTS_H

#include <volley/plugin.h>

/* What a net on this backend is made from, if that is not `desc` itself:
 * *own is a copy with every weight, which the caller keeps until the net is
 * destroyed and frees with vly_free; otherwise NULL.
 * Errors  E_NOMEM */
vly_status vly_all_weights(const vly_backend *table, const vly_net_desc *desc,
                           vly_net_desc **own, vly_error *error);

#endif
