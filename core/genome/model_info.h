/* SPDX-License-Identifier: Apache-2.0
 * The models' tables (kernels/models/NAME.def) as data: for checks, messages,
 * documentation, and for the coefficients that a backend's step reads.
 */
#ifndef VOLLEY_GENOME_MODEL_INFO_H
#define VOLLEY_GENOME_MODEL_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <volley/plugin.h>

typedef struct vly_port_info {
    const char *suffix; /* "pa": weight_pa; "" none */
    const char *unit;
    const char *text;
} vly_port_info;

typedef struct vly_param_info {
    const char *name;
    const char *unit;
    double init;
    double lo;
    double hi;
    const char *text;
} vly_param_info;

typedef struct vly_field_info {
    const char *name;
    uint32_t type; /* VLY_TYPE_* */
    const char *unit;
    double lo;
    double hi;
    const char *text;
    bool declared; /* the range is one that a [neuron] gives */
} vly_field_info;

typedef struct vly_coef_info {
    const char *name;
    uint32_t type;
} vly_coef_info;

/* Roles of parameters and coefficients that core uses: model_table.h. */
typedef enum vly_model_role {
    VLY_ROLE_NONE,
    VLY_ROLE_IN_BURSTS,
    VLY_ROLE_MEMBRANE_TIME,
    VLY_ROLE_CAPACITANCE,
    VLY_ROLE_LEAK,
    VLY_ROLE_REST,
    VLY_ROLE_THRESHOLD,
    VLY_ROLE_DRIVE,
    VLY_ROLE_GAIN,
    VLY_ROLE_GAIN_DRIVEN,
    VLY_ROLE_GAIN_UNIFORM
} vly_model_role;

typedef struct vly_role_info {
    vly_model_role role;
    uint32_t index; /* of a parameter, or of a coefficient from DRIVE on */
} vly_role_info;

/* What the expressions of a table read. */
typedef struct vly_model_input {
    const double *params; /* [n_params] of one neuron */
    double dt_ms;
    double dc;
    double voxel[3];
} vly_model_input;

typedef struct vly_user_model vly_user_model; /* user_model.c */

typedef struct vly_model_info {
    const char *id;
    uint32_t flags; /* VLY_AREA_FEAGI or 0 */
    const char *text;
    const char *source;
    const char *scheme; /* integration method and order of its equations */
    const char *scheme_source;
    const char *note;    /* "" none */
    uint64_t table_hash; /* vly_model_hash of kernels/models/table_hash.h */
    const vly_port_info *ports;
    const vly_param_info *params;
    const vly_field_info *fields;
    const vly_coef_info *coefs;
    const vly_role_info *roles; /* up to VLY_ROLE_NONE */
    const char *dc_suffix;      /* "pa": amplitude_pa of a dc stimulus */
    uint32_t n_ports;
    uint32_t n_params;
    uint32_t n_fields;
    uint32_t n_coefs;
    vly_user_model *user; /* a [neuron]; then the functions are NULL: call
                           * vly_model_coefs and the like */
    /* values of all coefficients of one neuron: words[n_coefs] as stored
     * (F32 through vly_float_store with the bounds +-2^40) */
    void (*coefs_of)(const vly_model_input *input, uint32_t *words);
    /* initial values of all fields by the table's expressions, in double;
     * given[n_fields] (NaN: not given) take precedence, so that u = b v uses a
     * given v */
    void (*fields_of)(const vly_model_input *input, const double *given,
                      double *values);
    /* the condition that inconsistent parameters violate, with their names
     * ("v_reset_mv below v_th_mv"); NULL: consistent */
    const char *(*check_of)(const vly_model_input *input);
} vly_model_info;

/* Of a built-in model or a user's. With a user's the caller holds the model. */
void vly_model_coefs(const vly_model_info *model, const vly_model_input *input,
                     uint32_t *words);
void vly_model_fields(const vly_model_info *model, const vly_model_input *input,
                      const double *given, double *values);
const char *vly_model_unfit(const vly_model_info *model,
                            const vly_model_input *input);

/* One more user, or one less, of a user's model, which the last one frees;
 * nothing for a built-in one and (drop) NULL. [any-thread] */
void vly_model_hold(const vly_model_info *model);
void vly_model_drop(const vly_model_info *model);
/* The table [neuron.NAME] as TOML; NULL: a built-in model */
const char *vly_model_definition(const vly_model_info *model);
/* Its first bytes: the table without the program after it. */
size_t vly_model_table_bytes(const vly_model_info *model);
/* Steps of one burst: times in bursts are rounded to these. */
uint32_t vly_model_substeps(const vly_model_info *model);
const vly_program *vly_model_program(const vly_model_info *model);
/* Of user_model.c: values of the coefficients; starts of fields where values is
 * NaN; the condition that the parameters violate, NULL: they fit */
void vly_user_coefs(const vly_user_model *user, const vly_model_input *input,
                    double *values);
void vly_user_fields(const vly_user_model *user, const vly_model_input *input,
                     double *values);
const char *vly_user_unfit(const vly_user_model *user,
                           const vly_model_input *input);

/* Whether a port accepts a weight of this sign: ports of conductances (nS)
 * accept 0 and more, port 1 of two 0 and less; other ports accept both signs.
 */
bool vly_port_takes(const vly_model_info *model, uint32_t port, double weight);
/* What the model has, for a message about a weight that its port refuses. */
const char *vly_port_why(const vly_model_info *model);
/* The same for the values of a normal stimulus, up to 6 standard deviations. */
bool vly_port_takes_noise(const vly_model_info *model, uint32_t port,
                          double mean, double sd);

/* Whether parameter or coefficient `index` has a role. */
bool vly_model_is(const vly_model_info *model, vly_model_role role,
                  uint32_t index);
/* The first one with this role; UINT32_MAX if none. */
uint32_t vly_model_with(const vly_model_info *model, vly_model_role role);

/* Whether numbers of this unit are whole: counts, bursts and booleans. */
bool vly_unit_is_whole(const char *unit);
bool vly_unit_is_boolean(const char *unit);

/* NULL if there is no such model. [any-thread] */
const vly_model_info *vly_model_find(const char *id);
uint32_t vly_model_count(void);
const vly_model_info *vly_model_at(uint32_t index);

#endif
