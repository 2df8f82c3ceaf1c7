/* SPDX-License-Identifier: Apache-2.0
 * How the tables NAME.def of plasticity rules are read. Define any of the
 * macros below, then include NAME.def; undefined macros are skipped; all are
 * undefined at the end (rule_table_end.h).
 *
 *   VLY_PLASTICITY(id, text, source)
 *   VLY_EQUATIONS(text)
 *       what the rule does, in the names of its parameters, for `volley doc`
 *   VLY_TRACE(side, index, param)
 *       trace x<index> (side PRE, of the source) or y<index> (side POST, of the
 *       target); param: its time constant, in ms. Index 0 or 1; of short-term
 *       plasticity every time constant, from 0 on.
 *   VLY_MODULATOR(tau, interval)
 *       the rule's functions change an eligibility, which a modulator turns
 *       into weights (eligibility.h). Parameters, in ms: tau, the decay of the
 *       modulator; interval, from one change of the weights to the next
 *   VLY_WINDOW()
 *       a rule of windows (rule.h), onto FEAGI areas only; its traces are runs
 *       of bursts, and `param` of VLY_TRACE is the window in bursts
 *   VLY_START(state, param)
 *       short-term plasticity: X, U or Y of a source at the start of a run
 *   VLY_PARAM(name, unit, init, lo, hi, text)
 *       a number that a user sets. Unit "weight": in the unit of the map's
 *       weights; its key ends with the suffix of the target's port (eta_ns).
 *   VLY_COEF(name, type, expression)
 *       what the rule reads: type F32 or U32; computed by core in double and
 *       rounded once.
 *   VLY_CASE(side, name, value)
 *       a usual value of coefficient `name` that makes the function of the side
 *       (PRE: an arrival, POST: a spike of the target) cheaper: a backend may
 *       compile it apart. Not part of the table's hash.
 *   VLY_ELIGIBILITY(name, part)
 *       what coefficient `name` has to do with an eligibility: ADDED, its
 *       changes are a multiple of it, and the parameter of this name is it in
 *       the unit of the weights; SHARE, what a weight takes of it is;
 *       FADE, its decay. Core keeps eligibilities in units of the map's times a
 *       power of two, by which it divides ADDED and multiplies SHARE; a FADE
 *       may count as 0. Not part of the table's hash: functions of a rule are
 *       right with any unit.
 *   VLY_CHECK(condition, text)
 *       as in kernels/models/model_table.h
 *   VLY_FOREIGN_RULE(theirs, note)
 *       a synapse model of NEST, or of others, that is this rule; note: what
 *       differs, or NULL
 *   VLY_FOREIGN_KEY(theirs, ours, note)
 *       what they call a parameter; ours is NULL if there is none, and note
 *       says what to write
 *
 * Expressions are C over doubles: P(name) a parameter; W_MAX the bound of a
 * weight and UNIT the unit of the map's weights (2^-q 2^shift), both in the
 * weights' unit; MOST the bound in 2^-16 of UNIT; DT the burst in ms; INTERVAL
 * that of VLY_MODULATOR in bursts; functions of core/base/number.h.
 */
#ifndef VLY_PLASTICITY
#define VLY_PLASTICITY(id, text, source)
#endif
#ifndef VLY_EQUATIONS
#define VLY_EQUATIONS(text)
#endif
#ifndef VLY_TRACE
#define VLY_TRACE(side, index, param)
#endif
#ifndef VLY_WINDOW
#define VLY_WINDOW()
#endif
#ifndef VLY_MODULATOR
#define VLY_MODULATOR(tau, interval)
#endif
#ifndef VLY_START
#define VLY_START(state, param)
#endif
#ifndef VLY_PARAM
#define VLY_PARAM(name, unit, init, lo, hi, text)
#endif
#ifndef VLY_COEF
#define VLY_COEF(name, type, expression)
#endif
#ifndef VLY_CASE
#define VLY_CASE(side, name, value)
#endif
#ifndef VLY_ELIGIBILITY
#define VLY_ELIGIBILITY(name, part)
#endif
#ifndef VLY_CHECK
#define VLY_CHECK(condition, text)
#endif
#ifndef VLY_FOREIGN_RULE
#define VLY_FOREIGN_RULE(theirs, note)
#endif
#ifndef VLY_FOREIGN_KEY
#define VLY_FOREIGN_KEY(theirs, ours, note)
#endif
