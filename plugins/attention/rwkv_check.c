/* SPDX-License-Identifier: Apache-2.0
 * Checks of descriptions of volley.rwkv/1: operations, types, sizes. Those of
 * runs are in rwkv_check_run.c.
 */
#include "rwkv_check.h"

#include "accel_common.h"
#include "element.h"

#define TYPES_SAY "wanted fp32, fp16 or bf16"

/* Valid flags of each operation. */
static const uint32_t flags_of[VLY_RWKV_N_OPS] = {
    [VLY_RWKV_EMBED] = VLY_RWKV_LENGTHS | VLY_RWKV_WITH_NORM,
    [VLY_RWKV_MIX] = VLY_RWKV_LENGTHS,
    [VLY_RWKV_PRODUCTS] = VLY_RWKV_LENGTHS,
    [VLY_RWKV_ACTIVATE] = VLY_RWKV_LENGTHS,
    [VLY_RWKV_PREPARE] = VLY_RWKV_LENGTHS | VLY_RWKV_FIRST | VLY_RWKV_LORA,
    [VLY_RWKV_FINISH] = VLY_RWKV_LENGTHS,
    [VLY_RWKV_STEP] = VLY_RWKV_LENGTHS | VLY_RWKV_FIRST | VLY_RWKV_LORA,
    [VLY_RWKV_ADD] = VLY_RWKV_LENGTHS,
    [VLY_RWKV_NORM] = VLY_RWKV_LENGTHS | VLY_RWKV_LAST,
};

const char *vly_rwkv_op_name(uint32_t op)
{
    switch (op) {
#define OP_TEXT(name, value, text)                                             \
    case (value):                                                              \
        return (text);
        VLY_RWKV_OP_TABLE(OP_TEXT)
#undef OP_TEXT
    default:
        return "?";
    }
}

static bool is_float(uint32_t type)
{
    return type == VLY_ELEMENT_F32 || type == VLY_ELEMENT_F16 ||
           type == VLY_ELEMENT_BF16;
}

static bool uses_matrix(const vly_rwkv_desc *desc)
{
    return desc->op == VLY_RWKV_EMBED || (desc->flags & VLY_RWKV_LORA);
}

static vly_status check_head(const vly_rwkv_desc *desc, const char *plugin,
                             vly_error *error)
{
    if (!desc || desc->struct_size < sizeof *desc)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: the description is shorter than that of "
                                "volley.rwkv/1",
                                plugin);
    if (desc->op >= VLY_RWKV_N_OPS)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: operation %u of a newer volley.rwkv/1",
                                plugin, desc->op);
    if (desc->flags & ~flags_of[desc->op])
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: rwkv %s does not know flags 0x%x", plugin,
                                vly_rwkv_op_name(desc->op),
                                desc->flags & ~flags_of[desc->op]);
    if (desc->align > 256 || (desc->align & (desc->align - 1)) != 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: align is %u, wanted a power of two up to "
                                "256",
                                plugin, desc->align);
    return VLY_OK;
}

static vly_status check_types(const vly_rwkv_desc *desc, const char *plugin,
                              vly_error *error)
{
    const char *op = vly_rwkv_op_name(desc->op);
    const bool has_wkv =
        desc->op == VLY_RWKV_PREPARE || desc->op == VLY_RWKV_FINISH;
    if (!is_float(desc->type))
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: rwkv %s of %s (%u), " TYPES_SAY, plugin,
                                op, vly_element_name(desc->type), desc->type);
    if (has_wkv && desc->type_wkv != desc->type &&
        desc->type_wkv != VLY_ELEMENT_F32)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: rwkv %s of %s with a recurrence of %s, "
                                "wanted the same or fp32",
                                plugin, op, vly_element_name(desc->type),
                                vly_element_name(desc->type_wkv));
    if (uses_matrix(desc) && !is_float(desc->type_matrix))
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "%s: rwkv %s with weights of %s (%u), " TYPES_SAY, plugin, op,
            vly_element_name(desc->type_matrix), desc->type_matrix);
    return VLY_OK;
}

/* Checks that no array of an operation exceeds an address space: the largest
 * are a state and six mixed inputs. */
static vly_status check_sizes(const vly_rwkv_desc *desc, const char *plugin,
                              vly_error *error)
{
    const char *op = vly_rwkv_op_name(desc->op);
    const uint64_t rows = (uint64_t)desc->batch * desc->seq;
    const uint64_t most = INT64_MAX / (8 * VLY_RWKV_DIM);
    if (rows == 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: rwkv %s of batch %u and %u tokens, wanted "
                                "at least 1",
                                plugin, op, desc->batch, desc->seq);
    if (desc->op == VLY_RWKV_STEP && desc->seq != 1)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: rwkv step of %u tokens, wanted 1", plugin,
                                desc->seq);
    if (desc->op == VLY_RWKV_PRODUCTS)
        return VLY_OK; /* each by itself */
    if (desc->width == 0 || desc->width % VLY_RWKV_DIM != 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: rwkv %s of width %u, wanted a multiple of "
                                "64",
                                plugin, op, desc->width);
    if (rows > most / desc->width || desc->vocabulary > most / desc->width)
        return vly_support_fail(
            error, VLY_E_INVALID,
            "%s: rwkv %s of batch %u, %u tokens, width %u is "
            "larger than an address space",
            plugin, op, desc->batch, desc->seq, desc->width);
    return VLY_OK;
}

/* Members that only some operations have. */
static vly_status check_own(const vly_rwkv_desc *desc, const char *plugin,
                            vly_error *error)
{
    const char *op = vly_rwkv_op_name(desc->op);
    const bool has_eps =
        desc->op == VLY_RWKV_MIX || desc->op == VLY_RWKV_FINISH ||
        desc->op == VLY_RWKV_STEP || desc->op == VLY_RWKV_NORM ||
        (desc->flags & VLY_RWKV_WITH_NORM) != 0;
    const uint32_t wants_rank =
        desc->flags & VLY_RWKV_LORA
            ? (desc->flags & VLY_RWKV_FIRST ? 11u : 15u)
            : (desc->op == VLY_RWKV_ACTIVATE ? 9u : 0u); /* bits of w a v g */
    if (has_eps && !(desc->eps > 0.0f && desc->eps < 1.0f))
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: rwkv %s: eps is %g, wanted above 0 and "
                                "below 1",
                                plugin, op, (double)desc->eps);
    if (desc->op == VLY_RWKV_MIX && desc->n_mix != 1 && desc->n_mix != 6)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: rwkv mix: n_mix is %u, wanted 1 or 6",
                                plugin, desc->n_mix);
    if (desc->op == VLY_RWKV_EMBED && desc->vocabulary == 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: rwkv embed of no vocabulary", plugin);
    for (uint32_t i = 0; i < 4; i++)
        if ((wants_rank >> i & 1u) != 0 &&
            (desc->rank[i] == 0 || desc->rank[i] > 65536))
            return vly_support_fail(
                error, VLY_E_INVALID,
                "%s: rwkv %s: the rank of %c is %u, wanted 1 "
                "to 65536",
                plugin, op, "wavg"[i], desc -> rank[i]);
    return VLY_OK;
}

/* Valid pairs of types of weights and inputs, see vly_rwkv_product. */
static bool goes_with(uint32_t type, uint32_t weights)
{
    if (weights == VLY_ELEMENT_I8 || weights == VLY_ELEMENT_I4)
        return true;
    return type == VLY_ELEMENT_F32 ? is_float(weights) : weights == type;
}

static vly_status check_product(const vly_rwkv_desc *desc, uint32_t i,
                                const char *plugin, vly_error *error)
{
    const vly_rwkv_product *p = &desc->product[i];
    if (p->n == 0 || p->k == 0 || (p->type == VLY_ELEMENT_I4 && p->k % 128))
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: rwkv product %u is of %u outputs and %u "
                                "inputs, wanted at least 1%s",
                                plugin, i, p->n, p->k,
                                p->type == VLY_ELEMENT_I4
                                    ? ", and of int4 a multiple of 128 inputs"
                                    : "");
    if (!goes_with(desc->type, p->type) ||
        (p->type_y != desc->type && p->type_y != VLY_ELEMENT_F32))
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "%s: rwkv product %u of %s with weights of %s into %s, see "
            "volley/rwkv.h for those that go together",
            plugin, i, vly_element_name(desc->type), vly_element_name(p->type),
            vly_element_name(p->type_y));
    if (p->activation > VLY_RWKV_SIGMOID ||
        (p->flags & ~(uint32_t)VLY_RWKV_PRODUCT_ADD) != 0)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "%s: rwkv product %u: activation %u, flags 0x%x "
            "of a newer interface",
            plugin, i, p->activation, p->flags);
    if ((p->flags & VLY_RWKV_PRODUCT_ADD) && p->type_y != VLY_ELEMENT_F32)
        return vly_support_fail(
            error, VLY_E_INVALID,
            "%s: rwkv product %u is added to %s, wanted fp32", plugin, i,
            vly_element_name(p->type_y));
    if ((uint64_t)desc->batch * desc->seq >
        INT64_MAX / 8 / (p->n > p->k ? p->n : p->k))
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: rwkv product %u is larger than an address "
                                "space",
                                plugin, i);
    return VLY_OK;
}

vly_status vly_rwkv_check_desc(const vly_rwkv_desc *desc, const char *plugin,
                               vly_error *error)
{
    vly_status status = check_head(desc, plugin, error);
    if (status == VLY_OK)
        status = check_types(desc, plugin, error);
    if (status == VLY_OK)
        status = check_sizes(desc, plugin, error);
    if (status == VLY_OK)
        status = check_own(desc, plugin, error);
    if (status != VLY_OK || desc->op != VLY_RWKV_PRODUCTS)
        return status;
    if (desc->n_products == 0 || desc->n_products > VLY_RWKV_MOST_PRODUCTS)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: %u rwkv products, wanted 1 to %d", plugin,
                                desc->n_products, VLY_RWKV_MOST_PRODUCTS);
    for (uint32_t i = 0; i < desc->n_products && status == VLY_OK; i++)
        status = check_product(desc, i, plugin, error);
    return status;
}
