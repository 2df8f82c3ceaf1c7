/* SPDX-License-Identifier: Apache-2.0
 * Neurons that stand still just below their threshold.
 *
 * A LIF neuron with a constant current moves by (V* - V) dt / tau a burst. Near
 * the threshold that is about (V* - V_th) dt / tau. Where it is less than half
 * the spacing of floats there, the sum is rounded to the old potential, and the
 * neuron never fires, although V* is above the threshold.
 *
 * Without arrivals the model's step is a function f of V alone, and it never
 * decreases: it is roundings, a product with a factor above 0 and sums with
 * constants (of lif_cond_exp, V and a change that is rounded much finer). If
 * f(x) <= x, no V up to x ever comes above x. Such an x is looked for with the
 * model's own step and coefficients, between where the neuron starts or is
 * reset and the threshold, so a note is proven.
 *
 * Where to look: u is the spacing at the larger of |E_L| and |V_th|. d = V -
 * E_L is at most twice as large, so its rounding, that of the product and that
 * of the inner sum lose up to u each, the last sum u / 2, and the factor, which
 * is off by up to 2^-25, up to u more. So there is no x if the move at the
 * threshold is 5 u or more, and none further than 5 u tau / dt below V*.
 */
#include "genome/genome_stall.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "genome/genome_generator.h"
#include "genome/genome_value.h"
#include "kernels/models/lif_cond_exp.h"
#include "kernels/models/lif_psc_alpha.h"
#include "kernels/models/lif_psc_delta.h"
#include "kernels/models/lif_psc_exp.h"
#include "kernels/models/lif_psc_exp2.h"
#include "neuron/neuron_model.h"

#define SPACINGS 5.0      /* of a move at the threshold that cannot be lost */
#define LOOKS 1024        /* places between that far below and the threshold */
#define NEURONS_MAX 4096u /* of an area whose neurons differ */

/* ---- steps -------------------------------------------------------------- */

/* One burst without arrivals; true: it fired. */
typedef bool stall_step(const uint32_t *words, float *v);

#define STEP(model, ...)                                                       \
    static bool step_##model(const uint32_t *words, float *v)                  \
    {                                                                          \
        const vly_##model##_state state = {.v_mv = *v};                        \
        vly_##model##_coef coef;                                               \
        memcpy(&coef, words, sizeof coef);                                     \
        const vly_##model##_out out =                                          \
            vly_##model##_step(state, coef, __VA_ARGS__);                      \
        *v = out.s.v_mv;                                                       \
        return out.fired != 0;                                                 \
    }
STEP(lif_cond_exp, 0.0f, 0.0f)
STEP(lif_psc_alpha, 0.0f)
STEP(lif_psc_delta, 0.0f)
STEP(lif_psc_exp, 0.0f)
STEP(lif_psc_exp2, 0.0f, 0.0f)

static stall_step *step_of(const vly_model_info *model)
{
    static const struct {
        const char *id;
        stall_step *step;
    } steps[] = {{"lif_cond_exp", step_lif_cond_exp},
                 {"lif_psc_alpha", step_lif_psc_alpha},
                 {"lif_psc_delta", step_lif_psc_delta},
                 {"lif_psc_exp", step_lif_psc_exp},
                 {"lif_psc_exp2", step_lif_psc_exp2}};
    for (size_t i = 0; !model->user && i < sizeof steps / sizeof steps[0]; i++)
        if (strcmp(steps[i].id, model->id) == 0)
            return steps[i].step;
    return NULL;
}

/* ---- one neuron --------------------------------------------------------- */

typedef struct stall {
    const vly_area *area;
    stall_step *step;
    double dt_ms;
    double start; /* see highest_start */
    double params[VLY_NEURON_PARAMS_MAX];
    uint32_t words[VLY_NEURON_COEFS_MAX];
    double end;       /* V*, mV */
    double threshold; /* mV */
    float stands;     /* mV */
} stall;

static double param_of(const stall *at, const char *name)
{
    const vly_model_info *model = at->area->model;
    for (uint32_t p = 0; p < model->n_params; p++)
        if (strcmp(model->params[p].name, name) == 0)
            return at->params[p];
    return 0.0;
}

static double value_at(const vly_value *value, uint32_t neuron)
{
    return value->kind == VLY_VALUE_ARRAY ? value->array[neuron] : value->a;
}

static double spacing_at(double size)
{
    const float x = (float)(size < 0.0 ? -size : size);
    return (double)vly_float_from_bits(vly_float_bits(x) + 1) - (double)x;
}

/* The highest potential at which a neuron of the area starts; -INFINITY: at
 * rest. INFINITY: a synapse's current or conductance is not 0 at the start, and
 * how far that takes the neuron is not known. */
static double highest_start(const vly_area *area)
{
    double most = -INFINITY;
    for (uint32_t f = 0; f < area->model->n_fields; f++) {
        const vly_field_info *field = &area->model->fields[f];
        const vly_value *value = &area->fields[f];
        double lo = 0.0, hi = 0.0;
        if (field->type != VLY_TYPE_F32 ||
            (value->kind == VLY_VALUE_NUMBER &&
             value->origin.kind == VLY_ORIGIN_DEFAULT))
            continue;
        vly_value_bounds(value, &lo, &hi);
        if (strcmp(field->name, "v_mv") == 0)
            most = hi;
        else if (lo != 0.0 || hi != 0.0)
            return INFINITY;
    }
    return most;
}

/* The lowest V found from which no burst goes up, and not below rest, reset or
 * start; NAN: none */
static float standing(const stall *at, double below, double spacing)
{
    const double rest = param_of(at, "e_l_mv");
    const double reset = param_of(at, "v_reset_mv");
    float found = NAN;
    for (int look = 0; look < LOOKS; look++) {
        const double v = at->threshold - spacing - below * look / LOOKS;
        const float x = (float)v;
        float next = x;
        if (v < rest || v < reset || v < at->start)
            break;
        if (!at->step(at->words, &next) && !(next > x))
            found = x;
    }
    return found;
}

/* Whether it stands still below the threshold, and V* is above. */
static bool stands_still(stall *at, double dc)
{
    const double c = param_of(at, "c_m_pf");
    const double g = param_of(at, "g_l_ns");
    const double tau = g > 0.0 ? c / g : param_of(at, "tau_m_ms");
    const double rest = param_of(at, "e_l_mv");
    at->threshold = param_of(at, "v_th_mv");
    at->end = rest + (param_of(at, "i_e_pa") + dc) * tau / c;
    const double one = spacing_at(at->threshold);
    const double other = spacing_at(rest);
    const double spacing = one > other ? one : other;
    const double lost = SPACINGS * spacing * tau / at->dt_ms;
    if (!(at->end > at->threshold) || at->end - at->threshold > lost)
        return false;
    const vly_model_input input = {
        .params = at->params, .dt_ms = at->dt_ms, .dc = dc};
    vly_model_coefs(at->area->model, &input, at->words);
    at->stands = standing(at, lost, spacing);
    return at->stands < INFINITY;
}

/* ---- areas -------------------------------------------------------------- */

#define NONE UINT32_MAX

/* The dc stimuli that hold for the whole run, as a list for each area. */
typedef struct held_dc {
    uint32_t *first; /* [areas] of the stimuli; NONE */
    uint32_t *next;  /* [stimuli] */
} held_dc;

static vly_status find_dc(vly_reader *reader, held_dc *held)
{
    const vly_genome *genome = reader->genome;
    const uint64_t run = genome->n_bursts ? genome->n_bursts : UINT64_MAX;
    vly_status status;
    VLY_TRY(vly_reader_alloc(reader, genome->n_areas, sizeof *held->first,
                             &held->first));
    VLY_TRY(vly_reader_alloc(reader, genome->n_stimuli + (size_t)1,
                             sizeof *held->next, &held->next));
    for (uint32_t a = 0; a < genome->n_areas; a++)
        held->first[a] = NONE;
    for (uint32_t s = genome->n_stimuli; s-- > 0;) { /* so lists ascend */
        const vly_stimulus *at = &genome->stimuli[s];
        if (at->kind != VLY_STIMULUS_DC || at->start > 0 || at->stop < run)
            continue;
        held->next[s] = held->first[at->to];
        held->first[at->to] = s;
    }
out:
    return status;
}

/* Their sums of the first n neurons, in the order in which coefficients have
 * them; *same: they are those of every neuron. */
static void add_dc(const vly_genome *genome, const held_dc *held, uint32_t area,
                   uint32_t n, double *dc, bool *same)
{
    for (uint32_t s = held->first[area]; s != NONE; s = held->next[s]) {
        const vly_stimulus *at = &genome->stimuli[s];
        const uint32_t end = at->first + at->n_neurons;
        *same = *same && at->n_neurons == genome->areas[area].n_neurons;
        for (uint32_t i = at->first; i < end && i < n; i++)
            dc[i] += at->mean;
    }
}

/* Numbers and lists are looked at. What is drawn seldom comes so near to the
 * threshold, and is known only after compiling. */
static bool is_given(const vly_area *area, bool *same)
{
    for (uint32_t p = 0; p < area->model->n_params; p++) {
        const vly_value_kind kind = area->params[p].kind;
        *same = *same && kind == VLY_VALUE_NUMBER;
        if (kind != VLY_VALUE_NUMBER && kind != VLY_VALUE_ARRAY)
            return false;
    }
    return true;
}

static vly_status note(vly_reader *reader, const vly_toml_node *node,
                       const stall *first, uint32_t n, uint32_t of)
{
    char which[80] = "its";
    if (of > 1)
        (void)snprintf(which, sizeof which,
                       "%u of %s%u neurons: the first one's", n,
                       of < first->area->n_neurons ? "the first " : "", of);
    return vly_reader_note(
        reader, node,
        "area %s: %s current takes the potential to %.8g mV, %.2g mV above the "
        "threshold, but in single precision bursts of %.4g ms do not move it "
        "beyond %.8g mV: without other input it never fires; a [neuron] with "
        "compensated variables does (volley new "
        "neurons/lif_psc_exp_compensated)",
        first->area->name, which, first->end, first->end - first->threshold,
        first->dt_ms, (double)first->stands);
}

static vly_status note_area(vly_reader *reader, const vly_toml_node *node,
                            const held_dc *held, uint32_t index)
{
    const vly_genome *genome = reader->genome;
    const vly_area *area = &genome->areas[index];
    stall at = {
        .area = area, .step = step_of(area->model), .dt_ms = genome->dt_ms};
    stall first = {0};
    uint32_t n_found = 0;
    bool same = true;
    if (!at.step || !is_given(area, &same) || area->n_neurons == 0)
        return VLY_OK;
    const uint32_t n =
        area->n_neurons < NEURONS_MAX ? area->n_neurons : NEURONS_MAX;
    double *dc = vly_calloc(n, sizeof *dc);
    if (!dc)
        return vly_reader_nomem(reader, n * sizeof *dc, "dc input");
    at.start = highest_start(area);
    add_dc(genome, held, index, n, dc, &same);
    const uint32_t n_looked = same ? 1 : n;
    for (uint32_t i = 0; i < n_looked; i++) {
        for (uint32_t p = 0; p < area->model->n_params; p++)
            at.params[p] = value_at(&area->params[p], i);
        if (stands_still(&at, dc[i]) && n_found++ == 0)
            first = at;
    }
    vly_free(dc);
    return n_found ? note(reader, node, &first, n_found, n_looked) : VLY_OK;
}

vly_status vly_stall_notes(vly_reader *reader)
{
    const vly_toml_node *areas = vly_toml_get(&reader->root, "area");
    held_dc held = {0};
    vly_status status;
    VLY_TRY(find_dc(reader, &held));
    for (uint32_t a = 0; a < areas->n_children; a++)
        if (!vly_generator_is(reader, a))
            VLY_TRY(note_area(reader, &areas->u.children[a], &held, a));
out:
    return status;
}
