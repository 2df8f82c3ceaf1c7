/* SPDX-License-Identifier: Apache-2.0
 * How the tables NAME.def are read. Define any of the macros below, then
 * include NAME.def; undefined macros are skipped; all are undefined at the end
 * (model_table_end.h), so that the next inclusion starts afresh.
 *
 *   VLY_MODEL(id, flags, text, source)        flags: 0 or VLY_AREA_FEAGI
 *   VLY_SCHEME(text, source)
 *       how the equations are integrated and of which order that is. Not part
 *       of the table's hash: the step says the same in code.
 *   VLY_NOTE(text)
 *       a sentence for users of the model: its limits, and what has others. Not
 *       part of the hash.
 *   VLY_PORT(index, suffix, unit, text)       suffix of weight_<suffix>, or ""
 *   VLY_PARAM(name, unit, init, lo, hi, text) a number a user sets
 *   VLY_FIELD(name, type, unit, lo, hi, init, text)
 *       state: type F32 or U32; lo, hi bound every stored value; init is the
 *       value at burst 0 unless the user gives one. A user sets it like a
 *       parameter.
 *   VLY_COEF(name, type, expression)
 *       what the step reads, computed by core in double and rounded once.
 *   VLY_CHECK(condition, text)
 *       what parameters must satisfy together; text says what is wanted with
 *       their names ("v_reset_mv below v_th_mv"), whose values a message then
 *       gives. Not part of the table's hash: a backend does not depend on it.
 * What core must know of a parameter or a coefficient, and what others call it,
 * is not part of the hash either:
 *   VLY_ROLE(name, kind, role)                kind PARAM or COEF
 *       PARAM  IN_BURSTS       a duration in ms that becomes whole bursts
 *              MEMBRANE_TIME   in ms; or CAPACITANCE and LEAK, whose quotient
 *                              it is
 *              REST, THRESHOLD of the membrane potential, in mV
 *       COEF   DRIVE           holds DC: written again as dc stimuli change
 *              GAIN, GAIN_DRIVEN, GAIN_UNIFORM
 *                              of models whose areas update candidates only
 *   VLY_INPUT(name, suffix)
 *       the parameter in whose unit DC is; suffix of amplitude_<suffix>, or ""
 *   VLY_FOREIGN_MODEL(theirs, note)
 *       a model of NEST or Brian 2 that is this one; note: what differs, or
 *       NULL
 *   VLY_FOREIGN_KEY(theirs, ours, note)
 *       what they call a key of this model, beside the names that hold for all
 *       models (core/genome/foreign_names.c); ours is NULL if it has none, and
 *       note says what to write
 *
 * Expressions are C over doubles: P(name) a parameter, F(name) a field's
 * initial value declared before, DT the burst in ms, DC the sum of i_e-like
 * input of dc stimuli in the unit of i_e, VX VY VZ the voxel coordinates
 * (0 without voxels), VLY_BURSTS(ms) milliseconds to bursts, VLY_STORED(x) the
 * float that an F32 coefficient of value x becomes, and functions of
 * core/base/number.h. Booleans are parameters with the range 0 to 1 whose unit
 * is "bool"; whole numbers have the unit "int" or "bursts".
 */
#ifndef VLY_MODEL
#define VLY_MODEL(id, flags, text, source)
#endif
#ifndef VLY_SCHEME
#define VLY_SCHEME(text, source)
#endif
#ifndef VLY_NOTE
#define VLY_NOTE(text)
#endif
#ifndef VLY_PORT
#define VLY_PORT(index, suffix, unit, text)
#endif
#ifndef VLY_PARAM
#define VLY_PARAM(name, unit, init, lo, hi, text)
#endif
#ifndef VLY_FIELD
#define VLY_FIELD(name, type, unit, lo, hi, init, text)
#endif
#ifndef VLY_COEF
#define VLY_COEF(name, type, expression)
#endif
#ifndef VLY_CHECK
#define VLY_CHECK(condition, text)
#endif
#ifndef VLY_ROLE
#define VLY_ROLE(name, kind, role)
#endif
#ifndef VLY_INPUT
#define VLY_INPUT(name, suffix)
#endif
#ifndef VLY_FOREIGN_MODEL
#define VLY_FOREIGN_MODEL(theirs, note)
#endif
#ifndef VLY_FOREIGN_KEY
#define VLY_FOREIGN_KEY(theirs, ours, note)
#endif
