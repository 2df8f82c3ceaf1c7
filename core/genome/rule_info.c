/* SPDX-License-Identifier: Apache-2.0
 * Reads the list of rules.
 */
#include "genome/rule_info.h"

#include <string.h>

const vly_rule_info vly_rules[VLY_RULES] = {
#define VLY_RULE(id, its_name, its_keys, its_text)                             \
    [VLY_RULE_##id].name = its_name, [VLY_RULE_##id].keys = its_keys,          \
    [VLY_RULE_##id].text = its_text,
#define VLY_RULE_NOTE(id, text) [VLY_RULE_##id].note = text,
#define VLY_RULE_EMPTY(id, text) [VLY_RULE_##id].empty = text,
#define VLY_RULE_TRAITS(id, its_traits) [VLY_RULE_##id].traits = its_traits,
#define VLY_RULE_SIZE(id, key) [VLY_RULE_##id].size = VLY_SIZE_##key,
#include "genome/rules/rules.def"
};

vly_rule vly_rule_find(const char *name)
{
    uint32_t i = 0;
    while (i < VLY_RULES && strcmp(vly_rules[i].name, name) != 0)
        i++;
    return (vly_rule)i;
}
