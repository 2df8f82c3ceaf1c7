/* SPDX-License-Identifier: Apache-2.0
 * The options of the processor's plans. A file of its own: attention_cuda holds
 * its kernels against the reference of the processor.
 */
#include "cpu_options.h"

#include <string.h>

static vly_status find_kernels(const char *isa,
                               const vly_attention_kernels **kernels,
                               vly_error *error)
{
    const vly_attention_kernels *found = vly_attention_kernels_find(isa);
    const bool known = strcmp(isa, "scalar") == 0 || strcmp(isa, "avx2") == 0 ||
                       strcmp(isa, "avx512") == 0;
    if (!known)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: option isa is \"%s\", wanted scalar, avx2 "
                                "or avx512",
                                vly_support_plugin, isa);
    if (!found)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: isa=%s: this processor does not have it",
                                vly_support_plugin, isa);
    *kernels = found;
    return VLY_OK;
}

vly_status vly_cpu_options_read(const vly_device_spec *device,
                                vly_cpu_options *options, vly_error *error)
{
    static const char *const keys[] = {"isa", NULL};
    char isa[16];
    vly_cpu_options made = {.kernels = vly_attention_kernels_best()};
    if (vly_accel_check_device(device, error) != VLY_OK)
        return VLY_E_INVALID;
    if (device->index != 0)
        return vly_support_fail(error, VLY_E_DEVICE,
                                "%s: device %u, but there is only 0",
                                vly_support_plugin, device->index);
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_accel_options_parse(device->options, keys, &made.common, error));
    if (vly_accel_options_value(device->options, "isa", isa, sizeof isa))
        VLY_TRY(find_kernels(isa, &made.kernels, error));
    made.n_threads = device->n_threads < 1 ? 1 : device->n_threads;
    made.n_threads = made.n_threads > 1024 ? 1024 : made.n_threads;
    *options = made;
out:
    return status;
}

uint32_t vly_cpu_threads(uint32_t wanted, uint64_t n_units, double worth)
{
    if (n_units < wanted)
        wanted = (uint32_t)n_units;
    if (worth < wanted)
        wanted = (uint32_t)worth;
    return wanted > 1 ? wanted : 1;
}

vly_status vly_cpu_check_stream(const void *stream, vly_error *error)
{
    if (!stream)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_INVALID,
                            "%s: a stream, but the processor has none: wanted "
                            "NULL",
                            vly_support_plugin);
}
