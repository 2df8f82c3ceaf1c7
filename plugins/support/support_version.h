/* SPDX-License-Identifier: Apache-2.0
 * The version of Volley, which CMake reads here, and of its plugins.
 */
#ifndef VOLLEY_SUPPORT_VERSION_H
#define VOLLEY_SUPPORT_VERSION_H

#define VLY_SUPPORT_VERSION "0.2.0"

#endif
