/* SPDX-License-Identifier: Apache-2.0
 * Values of a parameter that are of several kinds: a choice of numbers,
 * { choice = [1, 2], p = [0.3, 0.7] }, and a mixture of distributions,
 * { mixture = [{ normal = [1, 0.1] }, { uniform = [2, 3] }], p = [0.3, 0.7] }.
 * A choice is a mixture of numbers. Without p all have the same share.
 */
#include "base/memory.h"
#include "genome/genome_value.h"

#define P_SUM_OFF 1e-9

static vly_status read_shares(vly_reader *reader, const vly_toml_node *node,
                              const char *list, vly_value *value)
{
    const vly_toml_node *p = vly_toml_get(node, "p");
    vly_status status = VLY_OK;
    char found[VLY_NUMBER_SIZE];
    double sum = 0;
    if (p && (p->kind != VLY_TOML_ARRAY || p->n_children != value->n_parts))
        return vly_reader_fail(reader, p,
                               "p is %s, wanted a list of %u, one for each of "
                               "%s",
                               p->kind == VLY_TOML_ARRAY ? "of another length"
                                                         : "not a list",
                               value->n_parts, list);
    for (uint32_t i = 0; i < value->n_parts; i++) {
        value->shares[i] = 1.0 / value->n_parts;
        if (p)
            VLY_TRY(vly_value_ranged(reader, &p->u.children[i], "p", 0, 1,
                                     &value->shares[i]));
        sum += value->shares[i];
    }
    if (!(sum > 1 - P_SUM_OFF && sum < 1 + P_SUM_OFF))
        return vly_reader_fail(reader, p, "p adds up to %s, wanted 1",
                               vly_toml_print_number(sum, found));
out:
    return status;
}

vly_status vly_mixture_read(vly_reader *reader, const vly_toml_node *node,
                            const vly_value_spec *spec, vly_value *value)
{
    const bool choice = vly_toml_get(node, "choice") != NULL;
    const char *name = choice ? "choice" : "mixture";
    const vly_toml_node *list = vly_toml_get(node, name);
    const vly_key_list keys = {choice ? "a choice" : "a mixture",
                               choice ? vly_keys_choice : vly_keys_mixture,
                               NULL};
    vly_value_spec part = *spec;
    vly_status status;
    VLY_TRY(vly_reader_keys(reader, node, &keys));
    if (list->kind != VLY_TOML_ARRAY || list->n_children == 0 ||
        list->n_children > VLY_PARTS_MAX)
        return vly_reader_wrong(reader, list, name,
                                choice ? "a list of 1 to 256 numbers"
                                       : "a list of 1 to 256 numbers and "
                                         "distributions");
    value->kind = VLY_VALUE_MIXTURE;
    value->parts = vly_calloc(list->n_children, sizeof(*value->parts));
    value->shares = vly_calloc(list->n_children, sizeof(*value->shares));
    if (!value->parts || !value->shares)
        return vly_reader_nomem(reader, list->n_children * sizeof(vly_value),
                                spec->what);
    part.neurons = false; /* no lists, draws or mixtures in it */
    for (uint32_t i = 0; i < list->n_children; i++) {
        const vly_toml_node *item = &list->u.children[i];
        if (choice && item->kind == VLY_TOML_TABLE)
            return vly_reader_wrong(reader, item, name,
                                    "numbers; a mixture has distributions");
        VLY_TRY(vly_value_read(reader, item, &part, &value->parts[i]));
        value->n_parts++;
    }
    VLY_TRY(read_shares(reader, node, name, value));
out:
    return status;
}

void vly_mixture_bounds(const vly_value *value, double *lo, double *hi)
{
    for (uint32_t i = 0; i < value->n_parts; i++) {
        double low = 0;
        double high = 0;
        vly_value_bounds(&value->parts[i], &low, &high);
        *lo = i == 0 || low < *lo ? low : *lo;
        *hi = i == 0 || high > *hi ? high : *hi;
    }
}
