/* SPDX-License-Identifier: Apache-2.0
 * test_neuron_bounds [FIRST COUNT]: random models (random_neuron.c), by seed:
 * every value of their programs lies within the bounds that neuron_bounds.c
 * gives it, for fields at random within their ranges. And decay_mean( ) of
 * random expressions against the same calculation in double.
 */
#include "neuron_fixture.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/number.h"
#include "base/random.h"
#include "kernels/models/model.h"
#include "random_neuron.h"

static uint64_t first = 0;
static uint64_t count = 40;

static uint64_t n_over;

/* ---- bounds ------------------------------------------------------------- */

static double roll(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return (double)(vly_mix64(*state) >> 11) * 0x1p-53;
}

/* Mostly near 0, and its bounds. */
static float within(uint64_t *state, float lo, float hi)
{
    const double at = roll(state);
    if (at < 0.1)
        return lo;
    if (at > 0.9)
        return hi;
    double x = (roll(state) - 0.5) * (at < 0.5 ? 4.0 : 200.0);
    x = x > (double)lo ? x : (double)lo;
    return (float)(x < (double)hi ? x : (double)hi);
}

/* Claimed values may be a little below 0, by rounding. */
static bool holds(vly_bounds bounds, float x)
{
    if (x == 0.0f && signbit(x) && bounds.lo >= 0.0 && !signbit(bounds.lo))
        return false;
    const double slack = bounds.lo >= 0.0 && signbit(bounds.lo) ? 1e-3 : 0.0;
    return (double)x >= bounds.lo - slack && (double)x <= bounds.hi;
}

/* Marks what has overflowed, or is made of such values. */
static bool over_of(const vly_neuron_model *model, uint32_t i,
                    const uint32_t *words, const bool *over)
{
    static const uint8_t reads[VLY_PROGRAM_CODES] = {
#define READS(name, n, text) n,
        VLY_PROGRAM_TABLE(READS)
#undef READS
    };
    const vly_program_op *op = &model->ops[i];
    const uint32_t from[3] = {op->a, op->b, op->c};
    bool made = model->types[i] == VLY_TYPE_F32 &&
                !isfinite((double)vly_float(words[i]));
    for (uint32_t k = 0; k < reads[op->code]; k++)
        made = made || over[from[k]];
    return made && !model->bounds[i].finite;
}

static void check_bounds(neuron *n, uint64_t seed)
{
    uint32_t words[VLY_NEURON_OPS_MAX];
    bool over[VLY_NEURON_OPS_MAX];
    uint32_t n_fields;
    uint64_t state = seed * 977 + 3;
    const vly_neuron_field *fields = vly_neuron_fields(n->model, &n_fields);
    const vly_program *program = vly_neuron_program(n->model);
    for (int round = 0; round < 40; round++) {
        for (uint32_t i = 0; i < n_fields; i++)
            n->fields[i] = fields[i].type == VLY_TYPE_U32
                               ? (uint32_t)(roll(&state) * 3)
                               : vly_float_bits(within(&state, fields[i].lo,
                                                       fields[i].hi));
        for (uint32_t i = 0; i < VLY_NEURON_PORTS_MAX; i++)
            n->in[i] = within(&state, -5, 5);
        n->uniform = (float)(roll(&state) * 0.999);
        neuron_words(n, words);
        for (uint32_t i = 0; i < program->n_ops; i++) {
            const vly_bounds *at = &n->model->bounds[i];
            over[i] = over_of(n->model, i, words, over);
            if (n->model->types[i] == VLY_TYPE_F32 && !over[i] &&
                !holds(*at, vly_float(words[i])))
                fail_msg("seed %llu: operation %u, code %u, is %g: bounds %g "
                         "to %g%s",
                         (unsigned long long)seed, i, program->ops[i].code,
                         (double)vly_float(words[i]), at->lo, at->hi,
                         at->finite ? ", finite" : "");
            n_over += over[i];
        }
    }
}

static void bounds(void **state)
{
    (void)state;
    uint32_t n_models = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        neuron n;
        vly_error error = VLY_ERROR_INIT;
        char *text = random_neuron_genome(seed, 1, false);
        if (neuron_try(&n, text, &error) == VLY_OK) {
            neuron_made(&n, 0.1);
            check_bounds(&n, seed);
            n_models++;
        }
        neuron_free(&n);
        free(text);
    }
    assert_true(n_models > count / 2);
    assert_true(n_over > 0); /* some do */
}

/* ---- decay_mean --------------------------------------------------------- */

typedef struct writer {
    uint64_t state;
    char text[600];
    size_t n;
} writer;

static void put(writer *w, const char *text)
{
    w->n += (size_t)snprintf(w->text + w->n, sizeof w->text - w->n, "%s", text);
}

static uint32_t below(writer *w, uint32_t n)
{
    return (uint32_t)(roll(&w->state) * n);
}

static void expression(writer *w, uint32_t depth)
{
    static const char *const leaves[] = {"x", "y", "g", "k", "h", "1.5"};
    static const char *const signs[] = {" + ", " - ", "*", "*"};
    static const char *const calls[] = {"decay_mean(", "decay_mean(", "abs(",
                                        "exprel(",     "tanh(",       "-("};
    if (depth == 0) {
        put(w, leaves[below(w, 6)]);
    } else if (below(w, 2) == 0) {
        put(w, calls[below(w, 6)]);
        expression(w, depth - 1);
        put(w, ")");
    } else {
        put(w, "(");
        expression(w, depth - 1);
        put(w, signs[below(w, 4)]);
        expression(w, depth - 1);
        put(w, ")");
    }
}

/* The start of z in double, and z after one burst. */
static void decay_means(void **state)
{
    (void)state;
    static const double values[] = {-3.25, -0.75, -0.125, 0.25, 1.5, 4.0};
    uint32_t n_below = 0;
    for (uint64_t seed = first; seed < first + 10 * count; seed++) {
        writer w = {.state = seed * 31 + 7};
        char text[2000];
        neuron n;
        put(&w, "decay_mean(");
        expression(&w, 2);
        put(&w, ")");
        (void)snprintf(
            text, sizeof text,
            "[neuron.n]\nparam = { h = -0.5, k = { value = 2, range = [0, 9] } "
            "}\nport = { ex = \"1\" }\nstate = { x = 0, y = 0, g = { value = "
            "1, range = [0, 50] }, z = \"%s\" }\n"
            "update = \"z = %s + 0*h*k\"\non.ex = \"x += in; y += in; g += "
            "in\"\nspike = \"z >= 1e9\"\n",
            w.text, w.text);
        neuron_make(&n, text, 0.5);
        for (int i = 0; i < 36; i++) {
            double at[VLY_NEURON_FIELDS_MAX] = {values[i % 6], values[i / 6],
                                                fabs(values[(i + 3) % 6]),
                                                (double)NAN};
            vly_neuron_start(n.model, n.params, n.dt_ms, at);
            neuron_set(&n, "x", (float)at[0]);
            neuron_set(&n, "y", (float)at[1]);
            neuron_set(&n, "g", (float)at[2]);
            neuron_burst(&n);
            const double found = (double)neuron_field(&n, "z");
            /* what is larger overflows the range of z */
            if (!(at[3] < 1e6))
                continue;
            n_below += at[3] > 1.0; /* the argument is below 0 */
            if (!(fabs(found - at[3]) <= 4e-4 * fabs(at[3]) + 2e-5))
                fail_msg("%s of %g, %g and %g is %.9g, wanted %.9g", w.text,
                         values[i % 6], values[i / 6], at[2], found, at[3]);
        }
        neuron_free(&n);
    }
    assert_true(n_below > 30 * count);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds),
        cmocka_unit_test(decay_means),
    };
    if (argc > 2) {
        first = strtoull(argv[1], NULL, 10);
        count = strtoull(argv[2], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
