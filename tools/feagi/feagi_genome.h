/* SPDX-License-Identifier: Apache-2.0
 * A FEAGI genome as it is taken over: areas, morphologies and mappings of both
 * layouts (flat keys, one object an area), in the order of the file.
 * Source of every meaning: feagi-core 0.0.1-beta.18, and where that has none
 * the older engine (feagi 2025-04), said so in the report.
 */
#ifndef VOLLEY_TOOLS_FEAGI_GENOME_H
#define VOLLEY_TOOLS_FEAGI_GENOME_H

#include "genome/genome_memory.h"
#include "genome/model_info.h"
#include "tools/feagi/feagi_json.h"
#include "tools/feagi/feagi_report.h"

#define FEAGI_AREAS_MAX 4096u
#define FEAGI_MORPHOLOGIES_MAX 4096u
#define FEAGI_PARAMS_MAX 16u
#define FEAGI_PATH_SIZE 160

/* Properties of an area that are looked at by name. The table of all of them,
 * in this order at its start, is in feagi_property.c. */
typedef enum feagi_slot {
    FEAGI_BOUNDS_X, /* then y, z */
    FEAGI_PLACE_X = FEAGI_BOUNDS_X + 3,
    FEAGI_MAPPINGS = FEAGI_PLACE_X + 3,
    FEAGI_NAME,
    FEAGI_GROUP,
    FEAGI_PER_VOXEL,
    FEAGI_EXCITABILITY,
    FEAGI_LEAK,
    FEAGI_CURRENT,
    FEAGI_THRESHOLD,
    FEAGI_INCREMENT_X, /* then y, z */
    FEAGI_LIMIT = FEAGI_INCREMENT_X + 3,
    FEAGI_SLOTS_MAX = 64
} feagi_slot;

typedef struct feagi_area {
    char *id;          /* as in the file */
    char *name;        /* of [area.NAME], unlike every other */
    char canonical[9]; /* the eight bytes of FEAGI's id, if known */
    bool has_canonical;
    bool output; /* motor area */
    bool left_out;
    bool memory; /* its neurons stand for patterns */
    uint32_t memory_numbers[VLY_MEMORY_NUMBERS]; /* of vly_memory_numbers */
    const feagi_value *values[FEAGI_SLOTS_MAX];  /* NULL: not in the file */
    uint32_t voxels[3];
    uint32_t per_voxel;
    double at[3];
    double params[FEAGI_PARAMS_MAX]; /* of the model, in its order */
} feagi_area;

typedef enum feagi_morphology_kind {
    FEAGI_VECTORS,
    FEAGI_PATTERNS,
    FEAGI_COMPOSITE,
    FEAGI_FUNCTION,
    FEAGI_UNUSABLE /* why says so */
} feagi_morphology_kind;

enum { FEAGI_ANY = -1, FEAGI_SAME = -2, FEAGI_OTHER = -3 };

typedef struct feagi_morphology {
    const char *id;
    char *name; /* of [morphology.NAME]; NULL of a function */
    feagi_morphology_kind kind;
    int32_t (*rows)[6]; /* vectors: 3 each; patterns: source, target */
    uint32_t n_rows;
    bool disputed; /* number of patterns that the older engine reads
                    * differently */
    uint32_t seed[3];
    uint32_t choose[3];
    uint32_t skip[3];
    const char *mapper; /* name of a morphology or function */
    const char *function;
    char why[320];
} feagi_morphology;

/* Unit of leak_coefficient: see feagi_unit.c. */
typedef struct feagi_units {
    bool percent;   /* neuron_excitability */
    bool potential; /* leak_coefficient of at most 1; above 1 always */
    char leak_why[80];
    char excitability_why[80];
} feagi_units;

/* Plasticity of a map: the four numbers of FEAGI's rule. */
typedef struct feagi_plastic {
    int32_t window; /* bursts */
    int32_t constant;
    int32_t ltp;
    int32_t ltd;
    uint32_t is_on; /* 0: its weights stay */
    uint32_t frozen;
} feagi_plastic;

/* One [[map]]. */
typedef struct feagi_map {
    char *id;
    uint32_t from;
    uint32_t to;
    const feagi_morphology *morphology; /* NULL: a core function, by rule */
    const char *rule;
    int32_t weight;
    uint32_t delay;   /* bursts */
    int32_t scale[3]; /* of vectors */
    feagi_plastic plastic;
    uint32_t table; /* of [plasticity.stdp_N]; 0: none */
} feagi_map;

/* A memory area, an area whose patterns it remembers, and where it repeats
 * them. */
typedef struct feagi_link {
    uint32_t memory;
    uint32_t from;
    uint32_t twin;
} feagi_link;

/* One [association]. */
typedef struct feagi_association {
    uint32_t from;
    uint32_t to;
    feagi_plastic plastic;
    bool inhibitory;
} feagi_association;

typedef struct feagi_genome {
    const char *path; /* for messages */
    const feagi_value *root;
    const vly_model_info *model;
    bool flat;
    const char *version;
    const char *title; /* NULL: none */
    const char *id;    /* NULL: none */
    double dt_ms;
    bool queue_used; /* plasticity_queue_depth, as a window */
    feagi_units units;
    feagi_area *areas;
    uint32_t n_areas;
    feagi_morphology *morphologies;
    uint32_t n_morphologies;
    feagi_map *maps;
    uint32_t n_maps;
    feagi_link *links;
    uint32_t n_links;
    uint32_t n_memories; /* areas */
    feagi_association *associations;
    uint32_t n_associations;
    feagi_report report;
} feagi_genome;

/* Fills genome, which the caller has zeroed, from root, which must outlive it.
 * Call feagi_genome_free in any case.
 * Errors  E_PARSE "path: WHERE is FOUND, wanted ..."; E_NOMEM */
vly_status feagi_genome_read(feagi_genome *genome, const feagi_value *root,
                             const char *path, vly_error *error);
void feagi_genome_free(feagi_genome *genome);

/* ---- parts of it, in the order in which they are called ----------------- */

/* Areas, with the values of their properties. */
vly_status feagi_blueprint_read(feagi_genome *genome, vly_error *error);
/* Adds an area; takes ownership of id in any case.
 * Errors  E_PARSE, also of a NULL id E_NOMEM */
vly_status feagi_area_add(feagi_genome *genome, char *id, uint32_t *index,
                          vly_error *error);
/* Units of the file, by its version and by the ranges of its values. */
void feagi_units_choose(feagi_genome *genome);
/* Sizes and parameters of the areas. */
vly_status feagi_areas_convert(feagi_genome *genome, vly_error *error);
vly_status feagi_morphologies_read(feagi_genome *genome, vly_error *error);
vly_status feagi_maps_read(feagi_genome *genome, vly_error *error);

/* The area of an id in a mapping; FEAGI_AREAS_MAX: none. */
uint32_t feagi_area_find(const feagi_genome *genome, const char *id);
/* The reason why a built-in morphology of FEAGI, in the file or not, has no
 * counterpart; NULL: not such a morphology. */
const char *feagi_function_lacks(const char *name);
/* NULL: none */
const feagi_morphology *feagi_morphology_find(const feagi_genome *genome,
                                              const char *id);
/* Volley's name of a function of FEAGI; NULL: none. */
const char *feagi_function_find(const char *name);

/* ---- properties (feagi_property.c) -------------------------------------- */

typedef enum feagi_form {
    FEAGI_IS_NUMBER,
    FEAGI_IS_WHOLE,
    FEAGI_IS_BOOL,
    FEAGI_IS_TEXT,
    FEAGI_IS_MAPPINGS,
    FEAGI_IS_ANYTHING
} feagi_form;

typedef enum feagi_role {
    FEAGI_TAKEN,    /* handled by code */
    FEAGI_PARAM,    /* copied to a parameter of the model */
    FEAGI_NEUTRAL,  /* left out with a reason unless the value is init */
    FEAGI_NO_EFFECT /* on spikes */
} feagi_role;

typedef struct feagi_property {
    const char *gene; /* of a flat key, after "cx-"; any type letter */
    const char *name; /* of an area's object */
    feagi_form form;
    feagi_role role;
    double init;      /* default of feagi-core */
    const char *text; /* param: the model's name; neutral: the reason */
} feagi_property;

extern const feagi_property feagi_properties[];
uint32_t feagi_property_count(void);
/* Index of the property, feagi_property_count(): none. */
uint32_t feagi_property_of_gene(const char *gene);
uint32_t feagi_property_of_name(const char *name);

/* Place of a value of an area: blueprint["_____10c-..."]. */
const char *feagi_where(const feagi_genome *genome, const feagi_area *area,
                        uint32_t slot, char path[FEAGI_PATH_SIZE]);
/* "path: WHERE is FOUND, wanted WHAT"; E_PARSE */
vly_status feagi_wrong(const feagi_genome *genome, const char *where,
                       const feagi_value *value, vly_error *error,
                       const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* A number of [lo, hi]. */
vly_status feagi_number(const feagi_genome *genome, const char *where,
                        const feagi_value *value, bool whole, double lo,
                        double hi, double *number, vly_error *error);

/* ---- text --------------------------------------------------------------- */

/* The whole genome as TOML, to be freed with vly_free; NULL if memory ran
 * out. */
char *feagi_toml_write(const feagi_genome *genome, size_t *n);

#endif
