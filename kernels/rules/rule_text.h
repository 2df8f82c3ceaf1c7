/* SPDX-License-Identifier: Apache-2.0
 * Turns the rule's table that is included next into one string literal, whose
 * hash (kernels/models/table_hash.h) tells whether core and a backend were
 * built from the same table.
 */
#define VLY_PLASTICITY(id, text, source) "L " #id
#define VLY_WINDOW() " W"
#define VLY_TRACE(side, index, param) " T " #side " " #index
#define VLY_MODULATOR(tau, interval) " M " #tau " " #interval
#define VLY_COEF(name, type, expression) " C " #name " " #type " " #expression
