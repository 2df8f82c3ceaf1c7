/* SPDX-License-Identifier: Apache-2.0
 * The processor as a device, for plugins that compute on it.
 */
#ifndef VOLLEY_SUPPORT_PROCESSOR_H
#define VOLLEY_SUPPORT_PROCESSOR_H

#include "plugins/support/support_host.h"

/* Fills info: device 0, the processor's name, its cores, the machine's memory.
 * kind "AVX2", printed after the number of cores; NULL: nothing
 * Errors  as vly_support_check_info, info untouched */
vly_status vly_support_processor_info(vly_device_info *info, const char *kind,
                                      vly_error *error);

#endif
