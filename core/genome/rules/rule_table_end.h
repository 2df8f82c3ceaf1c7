/* SPDX-License-Identifier: Apache-2.0
 * Ends the list of rules: see rule_table.h.
 */
#undef VLY_RULE
#undef VLY_RULE_NOTE
#undef VLY_RULE_TRAITS
#undef VLY_RULE_SIZE
#undef VLY_RULE_SYNAPSES
#undef VLY_RULE_EXACT
#undef VLY_RULE_EMPTY
#undef VLY_RULE_INIT
#undef VLY_RULE_ROW
#undef VLY_FUNCTION
