/* SPDX-License-Identifier: Apache-2.0
 * Declarations shared by the files that read a genome: the tree, the variables,
 * failing with a place, checks of keys and names. Internal to core/genome.
 */
#ifndef VOLLEY_GENOME_GENOME_READER_H
#define VOLLEY_GENOME_GENOME_READER_H

#include <volley/host.h>

#include "base/error.h"
#include "genome/genome.h"
#include "genome/genome_keys.h"
#include "genome/toml_tree.h"

/* Limits against bad input; others are in volley/host.h. */
#define VLY_GENOME_BYTES_MAX (64u << 20)
#define VLY_AREAS_MAX 4096u
#define VLY_VARS_MAX 4096u
#define VLY_PLASTICITIES_MAX 4096u
#define VLY_NEURON_MODELS_MAX 1024u
#define VLY_SYNAPSE_RULES_MAX 1024u
#define VLY_PAIRS_MAX 65536u
#define VLY_STIMULI_MAX 65536u
#define VLY_DEPTH_MAX 200u
#define VLY_DEGREES_MAX 65000u /* values of a drawn degree */
#define VLY_SYNAPSES_MAX ((uint64_t)1 << 40)
#define VLY_SPIKES_MAX ((uint64_t)1 << 28)
#define VLY_WEIGHT_MAX 1e9
#define VLY_NOTES_MAX 20u

typedef struct vly_variable {
    const vly_toml_node *node;
    double value;
    enum { VLY_VAR_NEW, VLY_VAR_BUSY, VLY_VAR_DONE } state;
} vly_variable;

/* Indexes of areas, in the requested order, without duplicates. */
typedef struct vly_area_list {
    uint32_t *areas;
    uint32_t n;
} vly_area_list;

struct vly_map_entry;
struct vly_stimulus_entry;

typedef struct vly_reader {
    const char *name;         /* of the file, in messages */
    bool included;            /* by a [use] */
    struct vly_reader *outer; /* which includes it: dt_ms is its */
    bool in_step;             /* dt_ms is evaluated */
    vly_toml_node root;
    const vly_table *tables; /* given in place of files */
    uint32_t n_tables;
    bool *tables_used;
    vly_genome *genome;
    vly_error *error;
    vly_variable *vars;
    uint32_t n_vars;
    uint32_t depth;            /* of the current expression */
    struct vly_copies *copies; /* areas with `copies` */
    uint32_t n_copies;
    uint32_t *seen; /* [n_areas] stamps of vly_reader_areas */
    uint32_t stamp;
    struct vly_map_entry *maps;
    uint32_t n_maps;
    uint32_t n_cells;                   /* of those maps */
    struct vly_pair_count *pair_counts; /* of maps without an id: by vly_free */
    uint32_t pair_counts_capacity;      /* a power of two, or 0 */
    uint32_t n_pair_counts;
    struct vly_stimulus_entry *stimuli;
    uint32_t n_stimuli;
    uint32_t *unnamed;    /* [areas * kinds] stimuli without an id so far */
    uint32_t *generators; /* [n_generators] areas, ascending */
    const char **generator_names; /* their kinds */
    uint32_t n_generators;
    uint64_t n_vectors; /* in all pairs */
    uint64_t n_spikes;  /* in all stimuli */
    void **blocks;      /* what vly_reader_alloc gave */
    uint32_t n_blocks;
    uint32_t blocks_capacity;
} vly_reader;

/* Cleared memory that lives until the end of reading. */
vly_status vly_reader_alloc(vly_reader *reader, size_t count, size_t size,
                            void *out);
void vly_reader_deinit(vly_reader *reader);

/* E_PARSE "file:line:col: sentence" at the value or the key of a node, or
 * "--set PATH=VALUE: sentence" if it came from there. */
vly_status vly_reader_fail(vly_reader *reader, const vly_toml_node *node,
                           const char *format, ...)
    __attribute__((format(printf, 3, 4)));
vly_status vly_reader_fail_key(vly_reader *reader, const vly_toml_node *node,
                               const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* At the value that names a file. status: E_IO if it cannot be opened or read;
 * of any other one it is E_PARSE. */
vly_status vly_reader_fail_file(vly_reader *reader, const vly_toml_node *node,
                                vly_status status, const char *message);
/* E_PARSE at character `at` of a text. */
vly_status vly_reader_fail_in(vly_reader *reader, const vly_toml_node *node,
                              uint32_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* "file:line:col: sentence" (for a table: at its name) to the notes of the
 * genome: the value was read, but perhaps not as the user expects. Equal notes
 * count once. E_NOMEM */
vly_status vly_reader_note(vly_reader *reader, const vly_toml_node *node,
                           const char *format, ...)
    __attribute__((format(printf, 3, 4)));
vly_status vly_reader_nomem(vly_reader *reader, uint64_t bytes,
                            const char *what);
/* "<what> is <found>, wanted <wanted>" */
vly_status vly_reader_wrong(vly_reader *reader, const vly_toml_node *node,
                            const char *what, const char *wanted);

vly_origin vly_reader_origin(const vly_toml_node *node, vly_origin_kind kind);

/* Which keys a table may have. */
typedef struct vly_key_list {
    const char *what;            /* "[run]" */
    const vly_key *keys;         /* a table of genome_keys.c */
    const vly_model_info *model; /* its parameters and fields too, or NULL */
} vly_key_list;
/* Refuses unknown keys with a suggestion. */
vly_status vly_reader_keys(vly_reader *reader, const vly_toml_node *table,
                           const vly_key_list *list);
/* The value of <stem>_<suffix> (<stem> if suffix is ""); a wrong suffix is
 * refused and the right one named. *node NULL without one. */
vly_status vly_reader_suffixed(vly_reader *reader, const vly_toml_node *table,
                               const char *stem, const char *suffix,
                               const vly_model_info *model,
                               const vly_toml_node **node);

/* Type checks with the usual message; what is the key in words. */
vly_status vly_reader_table(vly_reader *reader, const vly_toml_node *node,
                            const char *what);
vly_status vly_reader_string(vly_reader *reader, const vly_toml_node *node,
                             const char *what, const char **out);
vly_status vly_reader_bool(vly_reader *reader, const vly_toml_node *node,
                           const char *what, bool *out);
/* dt_ms of the run, for an expression in node; of an included file that of the
 * genome that includes it. */
vly_status vly_reader_step(vly_reader *reader, const vly_toml_node *node,
                           double *dt_ms);
/* A list of tables ([[map]]); one [map] is refused with a hint. */
vly_status vly_reader_tables(vly_reader *reader, const vly_toml_node *node,
                             const char *what);
/* A letter of any script or _, then those, digits, / and -; UTF-8, at most 63
 * bytes */
bool vly_name_valid(const char *name);
vly_status vly_reader_name(vly_reader *reader, const vly_toml_node *node,
                           const char *what, const char *name);

/* Areas named by a string, a glob or a list of both. */
vly_status vly_reader_areas(vly_reader *reader, const vly_toml_node *node,
                            const char *what, vly_area_list *list);
/* The same for one pattern (part of node). */
vly_status vly_reader_pattern(vly_reader *reader, const vly_toml_node *node,
                              const char *what, const char *pattern,
                              vly_area_list *list);
/* `port` of a map or a stimulus onto the area: a number, or a name that a
 * user's model gives it. */
vly_status vly_reader_port(vly_reader *reader, const vly_toml_node *node,
                           const vly_area *area, uint32_t *port);
/* Refuses a table without port if neither a sign nor a default chooses it. */
vly_status vly_reader_no_port(vly_reader *reader, const vly_toml_node *table,
                              const char *label, const vly_area *area);
/* `id` of a [[map]] or [[stimulus]]: *id NULL and *label "map:N" without. */
vly_status vly_reader_label(vly_reader *reader, const vly_toml_node *node,
                            const char *what, uint32_t index, const char **id,
                            char **label);
/* Refuses an id that occurs twice in the list. */
vly_status vly_reader_unique(vly_reader *reader, const vly_toml_node *list,
                             const char *what);
bool vly_glob_match(const char *pattern, const char *text);

#endif
