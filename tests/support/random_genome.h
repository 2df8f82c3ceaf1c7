/* SPDX-License-Identifier: Apache-2.0
 * Random genomes for tests: valid TOML text from a seed, the same on every
 * machine, with a count of what was covered.
 */
#ifndef VOLLEY_RANDOM_GENOME_H
#define VOLLEY_RANDOM_GENOME_H

#include <stdbool.h>
#include <stdint.h>

/* X(name): everything that must come up often enough. */
#define RANDOM_COVERAGE_TABLE(X)                                               \
    X(model_feagi)                                                             \
    X(model_lif_psc_delta)                                                     \
    X(model_lif_psc_exp)                                                       \
    X(model_lif_psc_alpha)                                                     \
    X(model_izhikevich)                                                        \
    X(model_lif_cond_exp)                                                      \
    X(model_adex)                                                              \
    X(model_lif_psc_exp2)                                                      \
    X(net_feagi_only)                                                          \
    X(net_time_driven_only)                                                    \
    X(net_mixed)                                                               \
    X(rule_one_to_one)                                                         \
    X(rule_all_to_all)                                                         \
    X(rule_fixed_total_number)                                                 \
    X(rule_fixed_in_degree)                                                    \
    X(rule_pairwise_bernoulli)                                                 \
    X(rule_vectors)                                                            \
    X(rule_fixed_out_degree)                                                   \
    X(rule_patterns)                                                           \
    X(rule_composite)                                                          \
    X(rule_projector)                                                          \
    X(rule_projector_xy)                                                       \
    X(rule_projector_xz)                                                       \
    X(rule_projector_yz)                                                       \
    X(rule_project_from_end_x)                                                 \
    X(rule_project_from_end_y)                                                 \
    X(rule_project_from_end_z)                                                 \
    X(rule_block_to_block)                                                     \
    X(rule_block_connection)                                                   \
    X(rule_expander_x)                                                         \
    X(rule_reducer_x)                                                          \
    X(rule_randomizer)                                                         \
    X(rule_lateral_pairs_x)                                                    \
    X(rule_last_to_first)                                                      \
    X(rule_lateral_plus_x)                                                     \
    X(rule_lateral_minus_x)                                                    \
    X(rule_lateral_plus_y)                                                     \
    X(rule_lateral_minus_y)                                                    \
    X(rule_lateral_plus_z)                                                     \
    X(rule_lateral_minus_z)                                                    \
    X(rule_origin_to_all)                                                      \
    X(rule_all_to_origin)                                                      \
    X(pattern_same)                                                            \
    X(pattern_other)                                                           \
    X(composite_of_vectors)                                                    \
    X(composite_of_patterns)                                                   \
    X(stimulus_poisson)                                                        \
    X(stimulus_bernoulli)                                                      \
    X(stimulus_normal)                                                         \
    X(stimulus_dc)                                                             \
    X(stimulus_spikes)                                                         \
    X(stimulus_start_stop)                                                     \
    X(stimulus_range)                                                          \
    X(dc_start_stop)                                                           \
    X(stimulus_pulse)                                                          \
    X(stimulus_pattern)                                                        \
    X(generator_poisson)                                                       \
    X(generator_spikes)                                                        \
    X(generator_pulse)                                                         \
    X(rule_distance)                                                           \
    X(draw_bernoulli)                                                          \
    X(draw_in_degree)                                                          \
    X(draw_out_degree)                                                         \
    X(kernel_constant)                                                         \
    X(kernel_gaussian)                                                         \
    X(kernel_exponential)                                                      \
    X(kernel_linear)                                                           \
    X(kernel_cutoff)                                                           \
    X(mask_box)                                                                \
    X(mask_sphere)                                                             \
    X(mask_circle)                                                             \
    X(mask_ring)                                                               \
    X(edges_periodic)                                                          \
    X(positions_voxels)                                                        \
    X(positions_drawn)                                                         \
    X(positions_listed)                                                        \
    X(slope_weight)                                                            \
    X(slope_delay)                                                             \
    X(rule_file)                                                               \
    X(file_weight)                                                             \
    X(file_delay)                                                              \
    X(file_sonata) /* counted by the writer of the file, see random_sonata.h   \
                    */                                                         \
    X(stimulus_list)                                                           \
    X(threshold_met_exactly)                                                   \
    X(delay_one)                                                               \
    X(delay_constant)                                                          \
    X(delay_spread)                                                            \
    X(delay_spread_wide)                                                       \
    X(delay_spread_far)                                                        \
    X(delay_base_over_255)                                                     \
    X(weight_negative)                                                         \
    X(weight_distribution)                                                     \
    X(weight_skewed)                                                           \
    X(weight_units)                                                            \
    X(weight_parted)                                                           \
    X(port_by_sign)                                                            \
    X(port_given)                                                              \
    X(stimulus_negative)                                                       \
    X(map_matrix)                                                              \
    X(map_no_self)                                                             \
    X(map_no_multiple)                                                         \
    X(param_uniform)                                                           \
    X(param_normal)                                                            \
    X(param_draw)                                                              \
    X(param_array)                                                             \
    X(voxels)                                                                  \
    X(feagi_refractory)                                                        \
    X(feagi_snooze)                                                            \
    X(feagi_threshold_limit)                                                   \
    X(feagi_excitability)                                                      \
    X(feagi_no_accumulation)                                                   \
    X(feagi_mp_driven)                                                         \
    X(feagi_divided_psp)                                                       \
    X(plasticity_stdp)                                                         \
    X(plasticity_stdp_power)                                                   \
    X(plasticity_stdp_triplet)                                                 \
    X(plasticity_stdp_inhibitory)                                              \
    X(plasticity_stdp_reward)                                                  \
    X(plasticity_users)                                                        \
    X(plasticity_modulator)                                                    \
    X(plasticity_feagi_stdp)                                                   \
    X(plasticity_dendritic)                                                    \
    X(plasticity_nearest)                                                      \
    X(plasticity_frozen)                                                       \
    X(plasticity_negative)                                                     \
    X(plasticity_distribution)                                                 \
    X(short_term_tsodyks2)                                                     \
    X(short_term_tsodyks)                                                      \
    X(short_term_facilitation)                                                 \
    X(short_term_start)                                                        \
    X(short_term_delays)                                                       \
    X(memory)                                                                  \
    X(memory_twins)                                                            \
    X(association)                                                             \
    X(map_part)                                                                \
    X(map_no_part)                                                             \
    X(map_pool)                                                                \
    X(pool_all_to_all)                                                         \
    X(pool_one_to_one)                                                         \
    X(pool_total_number)                                                       \
    X(pool_in_degree)                                                          \
    X(pool_out_degree)                                                         \
    X(pool_bernoulli)                                                          \
    X(pool_no_self)                                                            \
    X(stimulus_part)                                                           \
    X(copies)                                                                  \
    X(copies_own)                                                              \
    X(area_empty)                                                              \
    X(degree_drawn)                                                            \
    X(param_mixture)                                                           \
    X(stimulus_by_neuron)                                                      \
    X(stimulus_over_time)                                                      \
    X(stimulus_sine)                                                           \
    X(stimulus_ramp)                                                           \
    X(record_input)

enum {
#define RANDOM_COVERAGE_ENUM(name) COVER_##name,
    RANDOM_COVERAGE_TABLE(RANDOM_COVERAGE_ENUM)
#undef RANDOM_COVERAGE_ENUM
        COVER_COUNT
};

/* Maps that may be added to a genome. */
enum {
    RANDOM_PLASTIC = 1,
    RANDOM_SHORT_TERM = 2,
    RANDOM_MODULATED = 4, /* of the plastic ones also with a modulator */
    RANDOM_WINDOWS = 8,   /* and onto FEAGI areas */
    RANDOM_LATE = 16,     /* no delay of one burst, and no memories */
    RANDOM_RULES = 32,    /* of the plastic ones also with a user's rule */
    RANDOM_ALL = RANDOM_PLASTIC | RANDOM_SHORT_TERM | RANDOM_MODULATED |
                 RANDOM_WINDOWS | RANDOM_RULES
};

typedef struct random_coverage {
    uint32_t genomes;
    uint32_t count[COVER_COUNT]; /* genomes that have it, not occurrences */
} random_coverage;

extern const char *const random_coverage_names[COVER_COUNT];

#define RANDOM_EDGES_FILE "random_edges.csv"
/* How the record of input of a genome begins, which is its end. */
#define RANDOM_RECORD "\n[[record]]\nwhat = \"input\"\n"

/* The text of genome number `seed`; the caller frees it. What it has is added
 * to *coverage. NULL: no memory. *edges: what has to stand in the file
 * RANDOM_EDGES_FILE beside it, the caller's too; NULL if it names no file. With
 * edges NULL genomes name none, and are the same otherwise. more: RANDOM_*,
 * maps that are added; WINDOWS: with PLASTIC, those onto FEAGI areas too. */
char *random_genome(uint64_t seed, unsigned more, random_coverage *coverage,
                    char **edges);

#endif
