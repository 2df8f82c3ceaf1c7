/* SPDX-License-Identifier: Apache-2.0
 * Checks of descriptions of attention; those of runs are in
 * attention_check_run.c.
 */
#include "attention_check.h"

#include <math.h>

#include "accel_common.h"
#include "attention_layout.h"
#include "element.h"

float vly_attention_scale(const vly_attention_desc *desc)
{
    return desc->scale != 0.0f ? desc->scale
                               : (float)(1.0 / sqrt((double)desc->dim));
}

/* ---- types and flags --------------------------------------------------- */

static vly_status check_types(const vly_attention_desc *desc,
                              const char *plugin, vly_error *error)
{
    const uint32_t type = desc->type;
    const uint32_t out = desc->type_o;
    if (type != VLY_ELEMENT_F32 && type != VLY_ELEMENT_F16 &&
        type != VLY_ELEMENT_BF16 && type != VLY_ELEMENT_E4M3)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: Q, K and V of %s (%u), wanted fp32, "
                                "fp16, bf16 or fp8",
                                plugin, vly_element_name(type), type);
    if (type != VLY_ELEMENT_E4M3 && out != type)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: O of %s (%u) for inputs of %s, wanted "
                                "the same type",
                                plugin, vly_element_name(out), out,
                                vly_element_name(type));
    if (type == VLY_ELEMENT_E4M3 && out != VLY_ELEMENT_E4M3 &&
        out != VLY_ELEMENT_F16 && out != VLY_ELEMENT_BF16)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: O of %s (%u) for inputs of fp8, wanted "
                                "fp8, fp16 or bf16",
                                plugin, vly_element_name(out), out);
    if (type == VLY_ELEMENT_E4M3 && desc->flags & VLY_ATTENTION_BACKWARD)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: gradients of fp8 are not offered", plugin);
    return VLY_OK;
}

static vly_status check_flags(const vly_attention_desc *desc,
                              const char *plugin, vly_error *error)
{
    const uint32_t known = VLY_ATTENTION_BACKWARD | VLY_ATTENTION_CAUSAL |
                           VLY_ATTENTION_CAUSAL_END | VLY_ATTENTION_LSE |
                           VLY_ATTENTION_LENGTHS | VLY_ATTENTION_PACKED |
                           VLY_ATTENTION_PAGED | VLY_ATTENTION_DETERMINISTIC |
                           VLY_ATTENTION_SAME_SCALES;
    const uint32_t both = VLY_ATTENTION_CAUSAL | VLY_ATTENTION_CAUSAL_END;
    if (desc->flags & ~known)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: flags 0x%x of a newer interface", plugin,
                                desc->flags & ~known);
    if (desc->flags & VLY_ATTENTION_SAME_SCALES &&
        desc->type != VLY_ELEMENT_E4M3)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: scales that are the same, of types that "
                                "have none",
                                plugin);
    if ((desc->flags & both) == both)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: causal from the top left and from the "
                                "bottom right at once",
                                plugin);
    if (desc->flags & VLY_ATTENTION_PACKED &&
        desc->flags & (VLY_ATTENTION_LENGTHS | VLY_ATTENTION_PAGED))
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: packed sequences have their lengths in "
                                "start_q and start_kv: neither lengths nor "
                                "pages go with them",
                                plugin);
    if (desc->flags & VLY_ATTENTION_PAGED &&
        desc->flags & VLY_ATTENTION_BACKWARD)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: gradients of keys and values in pages "
                                "are not offered",
                                plugin);
    return VLY_OK;
}

/* ---- numbers ----------------------------------------------------------- */

static vly_status check_dim(const char *name, uint32_t dim, const char *plugin,
                            vly_error *error)
{
    if (dim < 8 || dim > 256 || dim % 8 != 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: %s is %u, wanted a multiple of 8 from "
                                "8 to 256",
                                plugin, name, dim);
    return VLY_OK;
}

static vly_status check_pages(const vly_attention_desc *desc,
                              const char *plugin, vly_error *error)
{
    if (!(desc->flags & VLY_ATTENTION_PAGED))
        return VLY_OK;
    if (desc->page_size != 16 && desc->page_size != 64)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: page_size is %u, wanted 16 or 64", plugin,
                                desc->page_size);
    if ((uint64_t)desc->page_size * desc->pages_most < desc->seq_kv)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: %u pages of %u positions hold less than "
                                "seq_kv, %u",
                                plugin, desc->pages_most, desc->page_size,
                                desc->seq_kv);
    return VLY_OK;
}

static vly_status check_numbers(const vly_attention_desc *desc,
                                const char *plugin, vly_error *error)
{
    const uint32_t align = desc->align;
    if (desc->heads_q == 0 || desc->heads_kv == 0 ||
        desc->heads_q % desc->heads_kv != 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: %u query heads for %u key heads, wanted "
                                "a multiple of them",
                                plugin, desc->heads_q, desc->heads_kv);
    if (desc->seq_q > INT32_MAX || desc->seq_kv > INT32_MAX)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: seq_q is %u and seq_kv %u, wanted at most "
                                "2147483647, as lengths are int32",
                                plugin, desc->seq_q, desc->seq_kv);
    if (desc->window_left < VLY_ATTENTION_NO_WINDOW ||
        desc->window_right < VLY_ATTENTION_NO_WINDOW)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: window of %d keys before and %d after, "
                                "wanted 0 or more, or -1 for all",
                                plugin, desc->window_left, desc->window_right);
    if (!isfinite(desc->scale))
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: scale is not a finite number", plugin);
    if (align > 256 || (align & (align - 1)) != 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: align is %u, wanted a power of two up "
                                "to 256",
                                plugin, align);
    if (check_dim("dim", desc->dim, plugin, error) != VLY_OK ||
        check_dim("dim_v", desc->dim_v, plugin, error) != VLY_OK ||
        check_pages(desc, plugin, error) != VLY_OK)
        return VLY_E_INVALID;
    return VLY_OK;
}

/* ---- layouts ----------------------------------------------------------- */

static vly_status check_layout(const vly_attention_desc *desc, uint32_t which,
                               const char *plugin, vly_error *error)
{
    const vly_attention_tensor *tensor = &vly_attention_tensors[which];
    vly_attention_box box;
    if (!vly_attention_box_make(desc, tensor, &box))
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: %s spans more than 2^62 bytes", plugin,
                                tensor->name);
    const int written =
        which == VLY_ATTENTION_O ||
        (which <= VLY_ATTENTION_V && desc->flags & VLY_ATTENTION_BACKWARD);
    if (written && box.known && !vly_attention_box_is_apart(&box))
        return vly_support_fail(
            error, VLY_E_INVALID,
            "%s: the elements of %s%s overlap each other: batch %llu, seq "
            "%llu, head %llu",
            plugin, which == VLY_ATTENTION_O ? "" : "the gradient of ",
            tensor->name,
            (unsigned long long)vly_attention_layout_of(desc, tensor)->batch,
            (unsigned long long)vly_attention_layout_of(desc, tensor)->seq,
            (unsigned long long)vly_attention_layout_of(desc, tensor)->head);
    return VLY_OK;
}

vly_status vly_attention_check_desc(const vly_attention_desc *desc,
                                    const char *plugin, vly_error *error)
{
    vly_status status = VLY_OK;
    if (!desc || desc->struct_size < sizeof *desc)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: the description is shorter than that of "
                                "volley.attention/1",
                                plugin);
    VLY_TRY(check_types(desc, plugin, error));
    VLY_TRY(check_flags(desc, plugin, error));
    VLY_TRY(check_numbers(desc, plugin, error));
    for (uint32_t i = 0; i < VLY_ATTENTION_N_TENSORS; i++)
        VLY_TRY(check_layout(desc, i, plugin, error));
out:
    return status;
}
