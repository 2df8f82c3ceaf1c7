/* SPDX-License-Identifier: Apache-2.0
 * Numbers, distributions and arrays of a genome.
 */
#ifndef VOLLEY_GENOME_GENOME_VALUE_H
#define VOLLEY_GENOME_GENOME_VALUE_H

#include "genome/genome_reader.h"

/* Default clips: a normal (and the normal under a lognormal) at 6 standard
 * deviations, an exponential at 20 means; about 2e-9 is cut off each. */
#define VLY_CLIP_SD 6.0
#define VLY_CLIP_MEANS 20.0

#define VLY_LENGTH_WANTED 160 /* bytes */

/* A finite number or an expression; what is the key, for messages. */
vly_status vly_value_number(vly_reader *reader, const vly_toml_node *node,
                            const char *what, double *out);
/* The same within [lo, hi]. */
vly_status vly_value_ranged(vly_reader *reader, const vly_toml_node *node,
                            const char *what, double lo, double hi,
                            double *out);
/* A whole number of [lo, hi], hi at most 2^63 - 1 (2^53 in expressions). */
vly_status vly_value_whole(vly_reader *reader, const vly_toml_node *node,
                           const char *what, uint64_t lo, uint64_t hi,
                           uint64_t *out);
/* Milliseconds, not negative, as bursts; a note where they are rounded. */
vly_status vly_value_bursts(vly_reader *reader, const vly_toml_node *node,
                            const char *what, uint64_t *out);
/* The same for an element of a list, which counts rounded values; and the note
 * for the list, if any of its n values was rounded. */
vly_status vly_value_listed(vly_reader *reader, const vly_toml_node *node,
                            const char *what, uint64_t *out,
                            uint64_t *n_rounded);
vly_status vly_values_rounded(vly_reader *reader, const vly_toml_node *node,
                              const char *what, uint64_t n_rounded, uint64_t n);
/* Is a time in ms not a whole number of bursts, up to the rounding of the
 * division (1.5 / 0.1 is 15.000000000000002)? A time other than 0 is not 0
 * bursts. */
bool vly_value_off_grid(double ms, double dt_ms);
/* Adds a note that a time in ms is not a whole number of bursts and was
 * rounded. */
vly_status vly_value_rounded(vly_reader *reader, const vly_toml_node *node,
                             const char *what, double ms, uint64_t bursts);
/* The length of a run: ms as bursts, which must be a whole number. If it is
 * not, returns false and *wanted lists valid lengths. */
bool vly_value_length(double ms, double dt_ms, uint64_t *bursts,
                      char wanted[VLY_LENGTH_WANTED]);
/* n whole numbers of int32 in a list. */
vly_status vly_value_vector(vly_reader *reader, const vly_toml_node *node,
                            const char *what, int32_t out[3]);

/* E_PARSE "what is found, wanted <kind>lo to hi". */
vly_status vly_value_out_of_range(vly_reader *reader, const vly_toml_node *node,
                                  const char *what, double found, double lo,
                                  double hi, const char *kind);

typedef struct vly_value_spec {
    const char *what;
    double lo;
    double hi;
    bool whole;
    bool boolean; /* true and false too; no distribution */
    bool neurons; /* an array or a named draw is possible: one a neuron */
    uint32_t n;   /* length of an array; 0: not checked */
    bool cut;     /* distributions are clipped to [lo, hi] even if their clip is
                   * wider; numbers are not checked against lo */
} vly_value_spec;

/* Adds a note if more than 1% of what a distribution would give from lo to hi
 * is outside the range of its key (value->clip_lo to clip_hi). */
vly_status vly_value_note_cut(vly_reader *reader, const vly_toml_node *node,
                              const vly_value_spec *spec,
                              const vly_value *value, double lo, double hi);

/* Reads any value and checks its range. Distributions come out in one form:
 * uniform without a clip, the others with a finite clip inside [lo, hi]; a
 * distribution with only one possible value becomes that number. The value owns
 * its array and draw; on failure it owns nothing. */
vly_status vly_value_read(vly_reader *reader, const vly_toml_node *node,
                          const vly_value_spec *spec, vly_value *out);
void vly_value_deinit(vly_value *value);

/* A table with `choice` or `mixture` (genome_mixture.c). */
#define VLY_PARTS_MAX 256u
vly_status vly_mixture_read(vly_reader *reader, const vly_toml_node *node,
                            const vly_value_spec *spec, vly_value *value);
void vly_mixture_bounds(const vly_value *value, double *lo, double *hi);

/* Smallest and largest value it can give. */
void vly_value_bounds(const vly_value *value, double *lo, double *hi);

#endif
