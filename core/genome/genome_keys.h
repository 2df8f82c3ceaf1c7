/* SPDX-License-Identifier: Apache-2.0
 * Every key that a genome may have, with its form and a description. The reader
 * refuses all other keys, and `volley schema` and `volley doc` print these
 * tables, so they always agree.
 */
#ifndef VOLLEY_GENOME_GENOME_KEYS_H
#define VOLLEY_GENOME_GENOME_KEYS_H

#include <stdbool.h>
#include <stdint.h>

/* The form of a value. Numbers may be expressions. */
typedef enum vly_key_form {
    VLY_FORM_TEXT,
    VLY_FORM_BOOL,
    VLY_FORM_NUMBER,
    VLY_FORM_WHOLE,
    VLY_FORM_CELL,     /* a number, a distribution, or a matrix of such */
    VLY_FORM_COUNTS,   /* a number, or a matrix of such */
    VLY_FORM_EACH,     /* a number, a list of one an area of `to`, a neuron or
                        * a time, or a function of time */
    VLY_FORM_PER_AREA, /* a number, or a list of one an area of `to` */
    VLY_FORM_AREAS,    /* a name, a glob, or a list of such */
    VLY_FORM_LINKS,    /* ["A -> B", ...] */
    VLY_FORM_TRIPLE,   /* [x, y, z] */
    VLY_FORM_TRIPLES,  /* [[x, y, z], ...] */
    VLY_FORM_PATTERNS, /* [[[x, y, z], [x, y, z]], ...], also "*", "?", "!" */
    VLY_FORM_PAIRS,    /* [[a, b], ...] */
    VLY_FORM_TIMES,    /* numbers in a list, or one list a neuron */
    VLY_FORM_INDEXES,  /* whole numbers in a list */
    VLY_FORM_PORT,     /* a whole number, or a name */
    VLY_FORM_MODEL,    /* a [model] or a model's id, or { file, ... } */
    VLY_FORM_TYPE,     /* a model's id */
    VLY_FORM_RULE,     /* a rule */
    VLY_FORM_KIND,     /* a fixed word: the last part of the section's name */
    VLY_FORM_FORMAT,   /* 1 */
    VLY_FORM_SECTION,  /* a table: the section of this name */
    VLY_FORM_NAMED,    /* tables by name, each the section of this name */
    VLY_FORM_LIST,     /* a list of tables, each the section of this name */
    VLY_FORM_NUMBERS,  /* numbers by name */
    VLY_FORM_TEXTS,    /* texts by name */
    VLY_FORM_SET,      /* values by path: "area.E.neurons" = 100 */
    VLY_FORM_PAIR,     /* [a, b] */
    VLY_FORM_ANY,      /* see the text */
    VLY_FORM_CLIP,     /* [low, high]; inf leaves a side open */
    VLY_FORM_EVERY,    /* a value as of a parameter: one a neuron */
    VLY_FORM_BOX,      /* [[x, y, z], [x, y, z]] */
    VLY_FORM_PERIODS,  /* true, false, or [x, y, z] of numbers and those */
    VLY_FORM_LEARNING, /* a plasticity rule */
    VLY_FORM_AMOUNT,   /* "10 ms", or a number */
    VLY_FORM_AMOUNTS,  /* such by name, or tables of section quantity */
    VLY_FORM_BOUNDS,   /* ["1 ms", "20 ms"] */
    VLY_FORM_NUMBER_LIST, /* numbers */
    VLY_FORM_ONES,        /* numbers and distributions in a list */
    VLY_FORMS
} vly_key_form;

typedef struct vly_key {
    const char *name; /* "weight*": weight and weight_<unit>; NULL ends */
    vly_key_form form;
    const char *text;
} vly_key;

typedef struct vly_key_section {
    const char *name; /* "run", "stimulus.poisson" */
    const char *what; /* "[run]" */
    const vly_key *keys;
    bool models; /* parameters and fields of the model too */
    bool rules;  /* parameters of the plasticity rule too */
} vly_key_section;

extern const vly_key vly_keys_top[];
extern const vly_key vly_keys_run[];
extern const vly_key vly_keys_model[];
extern const vly_key vly_keys_neuron[];
extern const vly_key vly_keys_synapse[];
extern const vly_key vly_keys_quantity[];
extern const vly_key vly_keys_area[];
extern const vly_key vly_keys_area_poisson[];
extern const vly_key vly_keys_area_spikes[];
extern const vly_key vly_keys_area_pulse[];
extern const vly_key vly_keys_morphology[];
extern const vly_key vly_keys_composite[];
extern const vly_key vly_keys_positions[];
extern const vly_key vly_keys_kernel[];
extern const vly_key vly_keys_mask[];
extern const vly_key vly_keys_column[];
extern const vly_key vly_keys_node_model[];
extern const vly_key vly_keys_map[];
extern const vly_key vly_keys_plasticity[];
extern const vly_key vly_keys_memory[];
extern const vly_key vly_keys_association[];
extern const vly_key vly_keys_except[];
extern const vly_key vly_keys_use[];
extern const vly_key vly_keys_record[];
extern const vly_key vly_keys_record_fields[];
extern const vly_key vly_keys_record_rates[];
extern const vly_key vly_keys_record_input[];
extern const vly_key vly_keys_record_weights[];
extern const vly_key vly_keys_value[]; /* distribution and draw */
extern const vly_key vly_keys_distribution[];
extern const vly_key vly_keys_draw[];
extern const vly_key vly_keys_choice[];
extern const vly_key vly_keys_mixture[];
extern const vly_key vly_keys_each[];   /* values by neuron */
extern const vly_key vly_keys_course[]; /* functions of time */
extern const vly_key vly_keys_sine[];
extern const vly_key vly_keys_ramp[];
extern const vly_key vly_keys_poisson[];
extern const vly_key vly_keys_bernoulli[];
extern const vly_key vly_keys_normal[];
extern const vly_key vly_keys_dc[];
extern const vly_key vly_keys_spikes[];
extern const vly_key vly_keys_pulse[];
extern const vly_key vly_keys_pattern[];

/* All sections; the last has name NULL. */
extern const vly_key_section vly_key_sections[];
/* NULL without such a section */
const vly_key_section *vly_key_section_find(const char *name);

/* word is the key, or the key is "stem*" and word is stem or stem_unit */
bool vly_key_matches(const char *key, const char *word);

#endif
