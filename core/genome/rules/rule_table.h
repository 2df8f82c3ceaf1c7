/* SPDX-License-Identifier: Apache-2.0
 * How the tables of the rules are read. Define any of the macros below, then
 * include rules.def; undefined macros are skipped; all are undefined at the end
 * (rule_table_end.h).
 *
 *   VLY_RULE(id, name, keys, text)
 *       the number VLY_RULE_<id>, the name in genomes, the keys of a [[map]]
 *       that it takes beside weight and delay, what it does
 *   VLY_RULE_NOTE(id, text)       what a line has no room for (volley doc)
 *   VLY_RULE_TRAITS(id, traits)   of vly_rule_trait (genome/rule_info.h)
 *   VLY_RULE_SIZE(id, key)        P, COUNT, IN_DEGREE or OUT_DEGREE: the key
 *       that says how many synapses; each pair of areas may have its own
 *   VLY_RULE_SYNAPSES(id, expression)
 *       synapses of a pair, as a double; see below
 *   VLY_RULE_EXACT(id, condition)
 *       whether that number is certain, of `pair`; without it: always
 *   VLY_RULE_EMPTY(id, text)
 *       why a pair of areas has no synapse where no key says 0
 *   VLY_RULE_INIT(id, function)   before the first draw:
 *       vly_status function(vly_rule_job *, const vly_genome *, vly_error *)
 *   VLY_RULE_ROW(id, function)    the targets of a source, as vly_rule_row
 *       (connectome/synapse_rules.h):
 *       uint32_t function(const vly_rule_job *, uint32_t source,
 *                         uint32_t *targets)
 *   VLY_FUNCTION(id, name, text, x, y, z, from_x, from_y, from_z)
 *       a function of voxels (functions.def); where it is not defined, it is
 *       all of the above
 *
 * The expressions are read in three places: what a map makes at most (the
 * reader of genomes), what rows may hold (connectome), what is expected
 * (volley check). Each defines what they read:
 *   N_FROM, N_TO     neurons
 *   N_PAIRED         neurons k of both areas; 0 where none may meet itself
 *   N_PAIRS          pairs of neurons that may connect
 *   N_LIKELY         p times those
 *   N_COUNT, N_IN_DEGREE, N_OUT_DEGREE  what the keys say
 *   N_OF_VECTORS, N_OF_VOXELS, N_EDGES, N_IN_REACH  of vectors, of the other
 *                    rules between voxels, of file, of distance
 */
#ifndef VLY_RULE
#define VLY_RULE(id, name, keys, text)
#endif
#ifndef VLY_RULE_NOTE
#define VLY_RULE_NOTE(id, text)
#endif
#ifndef VLY_RULE_TRAITS
#define VLY_RULE_TRAITS(id, traits)
#endif
#ifndef VLY_RULE_SIZE
#define VLY_RULE_SIZE(id, key)
#endif
#ifndef VLY_RULE_SYNAPSES
#define VLY_RULE_SYNAPSES(id, expression)
#endif
#ifndef VLY_RULE_EXACT
#define VLY_RULE_EXACT(id, condition)
#endif
#ifndef VLY_RULE_EMPTY
#define VLY_RULE_EMPTY(id, text)
#endif
#ifndef VLY_RULE_INIT
#define VLY_RULE_INIT(id, function)
#endif
#ifndef VLY_RULE_ROW
#define VLY_RULE_ROW(id, function)
#endif
#ifndef VLY_FUNCTION
#define VLY_FUNCTION(id, name, text, x, y, z, from_x, from_y, from_z)          \
    VLY_RULE(id, name, "self", text)                                           \
    VLY_RULE_TRAITS(id, VLY_TRAIT_VOXELS | VLY_TRAIT_FUNCTION)                 \
    VLY_RULE_SYNAPSES(id, N_OF_VOXELS)                                         \
    VLY_RULE_EXACT(id, vly_voxel_exact(pair))                                  \
    VLY_RULE_EMPTY(id, "no voxel of the one leads to a voxel of the other")    \
    VLY_RULE_ROW(id, vly_voxel_row)
#endif
