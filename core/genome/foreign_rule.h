/* SPDX-License-Identifier: Apache-2.0
 * The rows of foreign_names.c that one plasticity rule's table has: names of
 * keys if FOREIGN_KEYS is defined, otherwise of the rule. Not guarded:
 * each_plasticity.h includes it for every rule.
 */
#define TEXT2(id) #id
#define TEXT(id) TEXT2(id)
#if defined(FOREIGN_KEYS)
#define VLY_FOREIGN_KEY(theirs, ours, note)                                    \
    {theirs, ours, note, TEXT(VLY_PLASTICITY_ID)},
#else
#define VLY_FOREIGN_RULE(theirs, note)                                         \
    {theirs, TEXT(VLY_PLASTICITY_ID), note, NULL},
#endif
#include VLY_PLASTICITY_TABLE
#undef TEXT2
#undef TEXT
