/* SPDX-License-Identifier: Apache-2.0
 * volk: the functions of Vulkan, looked up in libvulkan.so.1 at run time, so
 * that the plugin loads where there is none.
 * Source: https://github.com/zeux/volk
 */
#define VOLK_IMPLEMENTATION
#include <volk.h>
