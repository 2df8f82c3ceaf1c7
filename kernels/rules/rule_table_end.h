/* SPDX-License-Identifier: Apache-2.0
 * Ends a table: see rule_table.h.
 */
#undef VLY_PLASTICITY
#undef VLY_EQUATIONS
#undef VLY_TRACE
#undef VLY_WINDOW
#undef VLY_MODULATOR
#undef VLY_START
#undef VLY_PARAM
#undef VLY_COEF
#undef VLY_CASE
#undef VLY_ELIGIBILITY
#undef VLY_CHECK
#undef VLY_FOREIGN_RULE
#undef VLY_FOREIGN_KEY
