/* SPDX-License-Identifier: Apache-2.0
 * The second simulator's models with two ports: the step is the one of
 * kernels/models (test_science_* check it against doubles); which inputs reach
 * it, and with what constant input, is the second simulator's own. Compile with
 * -ffp-contract=off.
 */
#include "second_simulator.h"

#include <string.h>

#include "kernels/models/adex.h"
#include "kernels/models/lif_cond_exp.h"
#include "kernels/models/lif_psc_exp2.h"

static uint32_t word(const second_area *area, uint32_t index, uint32_t k)
{
    const second_column *c =
        &area->columns[area->n_params + area->n_fields + index];
    return ((const uint32_t *)c->elements)[c->is_uniform ? 0 : k];
}

/* A coefficient by its place in the table; the constant input is the present
 * one. */
static float coef_f32(const second_area *area, uint32_t index, uint32_t k)
{
    if (index == second_drive_index(area))
        return area->input[k];
    return vly_float(word(area, index, k));
}

static uint32_t coef_u32(const second_area *area, uint32_t index, uint32_t k)
{
    return word(area, index, k);
}

#define LOAD_F32(word) vly_float(word)
#define LOAD_U32(word) (word)
#define STORE_F32(x) vly_bits(x)
#define STORE_U32(x) (x)
#define COEF_F32(index) coef_f32(area, index, k)
#define COEF_U32(index) coef_u32(area, index, k)

static int step_cond(second_area *area, uint32_t k, float in0, float in1)
{
    vly_lif_cond_exp_state s;
    vly_lif_cond_exp_coef c;
    uint32_t i = 0;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    s.name = LOAD_##type(area->state[i++][k]);
#include "kernels/models/lif_cond_exp.def"
    i = 0;
#define VLY_COEF(name, type, expression) c.name = COEF_##type(i++);
#include "kernels/models/lif_cond_exp.def"
    vly_lif_cond_exp_out o = vly_lif_cond_exp_step(s, c, in0, in1);
    i = 0;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    area->state[i++][k] = STORE_##type(o.s.name);
#include "kernels/models/lif_cond_exp.def"
    return o.fired != 0;
}

static int step_adex(second_area *area, uint32_t k, float in0, float in1)
{
    vly_adex_state s;
    vly_adex_coef c;
    uint32_t i = 0;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    s.name = LOAD_##type(area->state[i++][k]);
#include "kernels/models/adex.def"
    i = 0;
#define VLY_COEF(name, type, expression) c.name = COEF_##type(i++);
#include "kernels/models/adex.def"
    vly_adex_out o = vly_adex_step(s, c, in0, in1);
    i = 0;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    area->state[i++][k] = STORE_##type(o.s.name);
#include "kernels/models/adex.def"
    return o.fired != 0;
}

static int step_exp2(second_area *area, uint32_t k, float in0, float in1)
{
    vly_lif_psc_exp2_state s;
    vly_lif_psc_exp2_coef c;
    uint32_t i = 0;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    s.name = LOAD_##type(area->state[i++][k]);
#include "kernels/models/lif_psc_exp2.def"
    i = 0;
#define VLY_COEF(name, type, expression) c.name = COEF_##type(i++);
#include "kernels/models/lif_psc_exp2.def"
    vly_lif_psc_exp2_out o = vly_lif_psc_exp2_step(s, c, in0, in1);
    i = 0;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    area->state[i++][k] = STORE_##type(o.s.name);
#include "kernels/models/lif_psc_exp2.def"
    return o.fired != 0;
}

int second_step_ports(second_area *area, uint32_t k, float in0, float in1)
{
    if (area->model == SECOND_COND)
        return step_cond(area, k, in0, in1);
    if (area->model == SECOND_ADEX)
        return step_adex(area, k, in0, in1);
    return step_exp2(area, k, in0, in1);
}

/* ---- the tables ------------------------------------------------------- */

#define VLY_COEF(name, type, expression) #name,
static const char *const cond_coefs[] = {
#include "kernels/models/lif_cond_exp.def"
    NULL};
#define VLY_COEF(name, type, expression) #name,
static const char *const adex_coefs[] = {
#include "kernels/models/adex.def"
    NULL};
#define VLY_COEF(name, type, expression) #name,
static const char *const exp2_coefs[] = {
#include "kernels/models/lif_psc_exp2.def"
    NULL};

static const char *const *coefs_of(const second_area *area)
{
    return area->model == SECOND_COND   ? cond_coefs
           : area->model == SECOND_ADEX ? adex_coefs
                                        : exp2_coefs;
}

uint32_t second_drive_index(const second_area *area)
{
    const char *const *names = coefs_of(area);
    uint32_t k = 0;
    while (strcmp(names[k], "drive") != 0)
        k++;
    return k;
}

int second_check_ports(const second_area *area)
{
    const char *const *names = coefs_of(area);
    for (uint32_t k = 0; names[k]; k++) {
        const second_column *c =
            &area->columns[area->n_params + area->n_fields + k];
        if (k < area->n_coefs && strcmp(c->name, names[k]) == 0)
            continue;
        fprintf(stderr, "second simulator: coefficient %u of %s is not %s\n",
                (unsigned)k, area->name, names[k]);
        return -1;
    }
    return 0;
}
