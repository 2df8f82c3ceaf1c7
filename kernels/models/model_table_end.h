/* SPDX-License-Identifier: Apache-2.0
 * Ends a table: see model_table.h.
 */
#undef VLY_MODEL
#undef VLY_SCHEME
#undef VLY_NOTE
#undef VLY_PORT
#undef VLY_PARAM
#undef VLY_FIELD
#undef VLY_COEF
#undef VLY_CHECK
#undef VLY_ROLE
#undef VLY_INPUT
#undef VLY_FOREIGN_MODEL
#undef VLY_FOREIGN_KEY
