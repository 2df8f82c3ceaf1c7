/* SPDX-License-Identifier: Apache-2.0
 * Rule distance: exact small cases, the same synapses as a plain loop over all
 * pairs, and frequencies against the kernel. Statistical tests have fixed seeds
 * and a significance of 1e-4.
 */
#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "connectome/connectome_work.h"
#include "connectome_builder.h"

static vly_connectome *built_with(const builder *b, uint32_t threads)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    assert_ok(vly_connectome_build(&b->genome, threads, &connectome, &error),
              error);
    return connectome;
}

static vly_connectome *built(const builder *b)
{
    return built_with(b, 2);
}

static void assert_refused(const builder *b, const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    assert_int_equal(vly_connectome_build(&b->genome, 2, &connectome, &error),
                     VLY_E_PARSE);
    if (!strstr(error.message, text))
        fail_msg("\"%s\" lacks \"%s\"", error.message, text);
}

static vly_pair *distance_pair(builder *b, uint32_t from, uint32_t to)
{
    vly_pair *pair = builder_pair(b, "m", from, to, VLY_RULE_DISTANCE);
    pair->multiple = false;
    pair->space.amplitude = 1.0;
    return pair;
}

/* An area of n neurons at random in a box of size x, y, z. */
static uint32_t scattered(builder *b, const char *name, uint32_t n, double x,
                          double y, double z)
{
    const double size[] = {x, y, z};
    uint32_t a = builder_area(b, name, "lif_psc_delta", n);
    b->areas[a].has_positions = true;
    for (int i = 0; i < 3; i++)
        b->areas[a].positions[i] =
            size[i] > 0.0 ? value_uniform(0.0, size[i]) : value_number(0.0);
    return a;
}

/* An area on a line, one neuron at each of the places. */
static uint32_t on_line(builder *b, const char *name, double *places,
                        uint32_t n)
{
    uint32_t a = builder_area(b, name, "lif_psc_delta", n);
    b->areas[a].has_positions = true;
    b->areas[a].positions[0] =
        (vly_value){.kind = VLY_VALUE_ARRAY, .array = places, .n_array = n};
    return a;
}

static bool connected(const vly_connectome *c, uint32_t source, uint32_t target)
{
    const vly_projection_desc *desc = &c->desc.projections[0];
    uint32_t first = c->areas[desc->target_area].first;
    for (uint64_t i = desc->row[source]; i < desc->row[source + 1]; i++)
        if (desc->target[i] == first + target)
            return true;
    return false;
}

/* ---- exact -------------------------------------------------------------- */

static void neighbours_on_a_grid(void **state)
{
    (void)state;
    builder b;
    builder_init(&b);
    builder_voxels(&b, "A", "lif_psc_delta", 5, 4, 1, 1);
    vly_pair *pair = distance_pair(&b, 0, 0);
    pair->self = false;
    pair->space.mask = VLY_MASK_SPHERE;
    pair->space.outer = 1.0;
    vly_connectome *c = built(&b);
    assert_int_equal(c->desc.n_synapses, 2 * (4 * 4 + 5 * 3));
    assert_true(connected(c, 0, 1) && connected(c, 0, 4));
    assert_false(connected(c, 0, 5));
    vly_connectome_destroy(c);
    pair->space.period[0] = 5.0;
    pair->space.period[1] = 4.0;
    c = built(&b);
    assert_int_equal(c->desc.n_synapses, 4 * 20);
    assert_true(connected(c, 0, 16) && connected(c, 0, 3));
    vly_connectome_destroy(c);
    pair->space.mask = VLY_MASK_RING;
    pair->space.inner = 1.2;
    pair->space.outer = 1.5;
    c = built(&b);
    assert_int_equal(c->desc.n_synapses, 4 * 20); /* the diagonals */
    assert_true(connected(c, 0, 19));
    vly_connectome_destroy(c);
}

/* A box is of target - source, whichever of them draws. */
static void box_has_a_side(void **state)
{
    (void)state;
    for (int draw = 0; draw < 3; draw++) {
        builder b;
        builder_init(&b);
        builder_voxels(&b, "A", "lif_psc_delta", 6, 1, 1, 1);
        vly_pair *pair = distance_pair(&b, 0, 0);
        pair->space.draw = (vly_space_draw)draw;
        pair->space.degree = draw ? 1 : 0;
        pair->space.mask = VLY_MASK_BOX;
        pair->space.lo[0] = 2.0;
        pair->space.hi[0] = 2.0;
        pair->space.period[0] = 6.0;
        vly_connectome *c = built(&b);
        assert_int_equal(c->desc.n_synapses, 6);
        for (uint32_t k = 0; k < 6; k++)
            assert_true(connected(c, k, (k + 2) % 6));
        vly_connectome_destroy(c);
    }
}

static void circle_is_flat(void **state)
{
    (void)state;
    builder b;
    builder_init(&b);
    builder_voxels(&b, "A", "lif_psc_delta", 3, 3, 4, 2);
    vly_pair *pair = distance_pair(&b, 0, 0);
    pair->space.mask = VLY_MASK_CIRCLE;
    pair->space.outer = 0.5;
    vly_connectome *c = built(&b);
    assert_int_equal(c->desc.n_synapses, 9 * 8 * 8);
    vly_connectome_destroy(c);
    pair->space.mask = VLY_MASK_SPHERE;
    c = built(&b);
    assert_int_equal(c->desc.n_synapses, 36 * 2 * 2);
    vly_connectome_destroy(c);
}

static void cutoff_and_at(void **state)
{
    (void)state;
    builder b;
    double places[] = {0, 1, 2, 3, 4, 5};
    builder_init(&b);
    on_line(&b, "A", places, 6);
    on_line(&b, "B", places, 6);
    b.areas[1].at[0] = 10.0;
    vly_pair *pair = distance_pair(&b, 0, 1);
    pair->space.kernel = VLY_KERNEL_LINEAR;
    pair->space.length = 16.0;
    pair->space.cutoff = 0.5; /* 8 and less */
    pair->space.draw = VLY_SPACE_OUT_DEGREE;
    pair->space.degree = 3;
    assert_refused(&b, "neuron 0 of A has 0 targets in reach, wanted at least "
                       "3");
    pair->space.cutoff = 0.25; /* 12 and less */
    vly_connectome *c = built(&b);
    assert_int_equal(c->desc.n_synapses, 18);
    assert_true(connected(c, 0, 0) && connected(c, 0, 1) && connected(c, 0, 2));
    vly_connectome_destroy(c);
    pair->space.draw = VLY_SPACE_IN_DEGREE;
    pair->space.degree = 4;
    assert_refused(&b, "neuron 5 of B has 3 sources in reach, wanted at least "
                       "4");
}

static void slopes(void **state)
{
    (void)state;
    builder b;
    double places[] = {0, 1, 2.5, 4};
    builder_init(&b);
    on_line(&b, "A", places, 4);
    vly_pair *pair = distance_pair(&b, 0, 0);
    pair->weight = value_number(8.0);
    pair->space.weight_slope = -2.0;
    pair->delay_ms = value_number(0.5);
    pair->space.delay_slope_ms = 0.2;
    vly_connectome *c = built(&b);
    const vly_projection_desc *desc = &c->desc.projections[0];
    static const double weights[] = {8, 6, 3, 0};
    static const uint32_t delays[] = {5, 7, 10, 13};
    double unit = (double)c->desc.areas[0].scale[0];
    assert_int_equal(c->desc.n_synapses, 16);
    for (int i = 0; i < 4; i++) {
        assert_true(desc->weight[i] * unit == weights[i]);
        assert_int_equal(desc->base_delay + desc->delay[i], delays[i]);
    }
    vly_connectome_destroy(c);
    pair->space.delay_slope_ms = -0.2;
    assert_refused(&b, "delay_ms is 0 at distance 2.5, wanted 1 to 2^24");
    pair->space.delay_slope_ms = 2000.0;
    assert_refused(&b, "delays of 5 to 80005 bursts");
}

/* ---- a plain loop over all pairs ---------------------------------------- */

/* Position of a neuron of a scattered area, drawn as its values are. */
static void position_of(const builder *b, uint32_t area, uint32_t neuron,
                        double at[3])
{
    static const char *const names[] = {"position_x", "position_y",
                                        "position_z"};
    for (int i = 0; i < 3; i++) {
        const vly_value *value = &b->areas[area].positions[i];
        vly_draws draws;
        at[i] = b->areas[area].at[i];
        if (value->kind == VLY_VALUE_NUMBER)
            continue;
        assert_int_equal(vly_draws_init(&draws, b->genome.seed_state, "area:",
                                        b->areas[area].name, "|", names[i]),
                         VLY_OK);
        at[i] +=
            ((double)vly_draws_word(&draws, neuron) + 0.5) * 0x1p-32 * value->b;
    }
}

static double away(const vly_space *space, const double a[3], const double z[3],
                   double d[3])
{
    double square = 0.0;
    for (int i = 0; i < 3; i++) {
        double period = space->period[i];
        d[i] = z[i] - a[i];
        if (period > 0.0)
            d[i] -= period * floor(d[i] / period + 0.5);
        square += d[i] * d[i];
    }
    return sqrt(square);
}

static double kernel_at(const vly_space *space, double d)
{
    double p = space->amplitude;
    if (space->kernel == VLY_KERNEL_GAUSSIAN)
        p *= exp(-0.5 * d * d / (space->length * space->length));
    if (space->kernel == VLY_KERNEL_EXPONENTIAL)
        p *= exp(-d / space->length);
    if (space->kernel == VLY_KERNEL_LINEAR)
        p *= d < space->length ? 1.0 - d / space->length : 0.0;
    return p < space->cutoff ? 0.0 : p;
}

static bool masked_out(const vly_space *space, const double d[3], double far)
{
    switch (space->mask) {
    case VLY_MASK_BOX:
        for (int i = 0; i < 3; i++)
            if (d[i] < space->lo[i] || d[i] > space->hi[i])
                return true;
        return false;
    case VLY_MASK_SPHERE:
        return far > space->outer;
    case VLY_MASK_CIRCLE:
        return hypot(d[0], d[1]) > space->outer;
    case VLY_MASK_RING:
        return far < space->inner || far > space->outer;
    default:
        return false;
    }
}

static void every_kernel_and_mask(builder *b, int i)
{
    vly_space *space = &b->pairs[0].space;
    space->kernel = (vly_kernel_kind)(i % 4);
    space->mask = (vly_mask_kind)(i / 4 % 5);
    space->length = space->kernel == VLY_KERNEL_LINEAR ? 0.9 : 0.3;
    space->amplitude = 0.7;
    space->cutoff = i % 3 ? 0.0 : 0.05;
    space->inner = 0.1;
    space->outer = 0.35;
    for (int axis = 0; axis < 3; axis++) {
        space->lo[axis] = axis ? -0.2 : 0.1;
        space->hi[axis] = 0.3;
        space->period[axis] = i / 20 % 2 && axis < 2 ? 1.0 + axis : 0.0;
    }
}

static void same_as_a_plain_loop(void **state)
{
    (void)state;
    enum { N = 150, M = 130 };
    for (int i = 0; i < 40; i++) {
        builder b;
        vly_draws draws;
        uint32_t wrong = 0;
        uint64_t n = 0;
        builder_init(&b);
        scattered(&b, "A", N, 1.0, 2.0, 0.5);
        scattered(&b, "B", M, 1.0, 2.0, 0.0);
        b.areas[1].at[0] = i % 2 ? 0.25 : 0.0;
        vly_pair *pair = distance_pair(&b, 0, 1);
        every_kernel_and_mask(&b, i);
        assert_int_equal(vly_draws_init(&draws, b.genome.seed_network,
                                        "map:", pair->stream, ":", "source"),
                         VLY_OK);
        vly_connectome *c = built(&b);
        for (uint32_t s = 0; s < N; s++)
            for (uint32_t t = 0; t < M; t++) {
                double a[3], z[3], d[3];
                position_of(&b, 0, s, a);
                position_of(&b, 1, t, z);
                double far = away(&pair->space, a, z, d);
                double p = masked_out(&pair->space, d, far)
                               ? 0.0
                               : kernel_at(&pair->space, far);
                uint32_t word =
                    vly_draws_block(&draws, (uint64_t)s << 32 | t >> 2)
                        .w[t & 3];
                bool is = (double)word < floor(p * 4294967296.0);
                n += is;
                wrong += is != connected(c, s, t);
            }
        assert_int_equal(wrong, 0);
        assert_int_equal(c->desc.n_synapses, n);
        vly_connectome_destroy(c);
    }
}

/* ---- frequencies -------------------------------------------------------- */

/* Against p(d) in bins of distance: the sum of squared deviations over the
 * binomial variance. */
static void bernoulli_by_distance(void **state)
{
    (void)state;
    enum { N = 1500, BINS = 20 };
    builder b;
    double mean[BINS] = {0}, variance[BINS] = {0}, hits[BINS] = {0};
    double chi2 = 0.0;
    static double at[N][3];
    builder_init(&b);
    scattered(&b, "A", N, 1.0, 1.0, 0.0);
    vly_pair *pair = distance_pair(&b, 0, 0);
    pair->space.kernel = VLY_KERNEL_GAUSSIAN;
    pair->space.length = 0.2;
    pair->space.amplitude = 0.6;
    pair->space.period[0] = pair->space.period[1] = 1.0;
    vly_connectome *c = built(&b);
    const vly_projection_desc *desc = &c->desc.projections[0];
    for (uint32_t i = 0; i < N; i++)
        position_of(&b, 0, i, at[i]);
    for (uint32_t s = 0; s < N; s++) {
        double d[3];
        for (uint32_t t = 0; t < N; t++) {
            double far = away(&pair->space, at[s], at[t], d);
            double p = kernel_at(&pair->space, far);
            mean[(int)(far / 0.71 * BINS)] += p;
            variance[(int)(far / 0.71 * BINS)] += p * (1.0 - p);
        }
        for (uint64_t i = desc->row[s]; i < desc->row[s + 1]; i++)
            hits[(int)(away(&pair->space, at[s], at[desc->target[i]], d) /
                       0.71 * BINS)]++;
    }
    for (int i = 0; i < BINS; i++)
        chi2 += (hits[i] - mean[i]) * (hits[i] - mean[i]) / variance[i];
    assert_true(chi2 < chi2_limit(BINS));
    vly_connectome_destroy(c);
}

/* Each of the sources of one target in proportion to the kernel. */
static void degrees_follow_the_kernel(void **state)
{
    (void)state;
    enum { N = 60, DRAWS = 30000 };
    for (int draw = VLY_SPACE_IN_DEGREE; draw <= VLY_SPACE_OUT_DEGREE; draw++) {
        builder b;
        static double places[N];
        double here[] = {20.3};
        double share[N], sum = 0.0, chi2 = 0.0;
        bool in = draw == VLY_SPACE_IN_DEGREE;
        builder_init(&b);
        for (int i = 0; i < N; i++)
            places[i] = i;
        uint32_t many = on_line(&b, "A", places, N);
        uint32_t one = on_line(&b, "B", here, 1);
        vly_pair *pair = distance_pair(&b, in ? many : one, in ? one : many);
        pair->multiple = true;
        pair->weight = value_number(0.001);
        pair->space.draw = (vly_space_draw)draw;
        pair->space.degree = DRAWS;
        pair->space.kernel = VLY_KERNEL_EXPONENTIAL;
        pair->space.length = 15.0;
        vly_connectome *c = built(&b);
        const vly_projection_desc *desc = &c->desc.projections[0];
        double counts[N] = {0};
        for (int i = 0; i < N; i++)
            sum += share[i] = exp(-fabs(i - 20.3) / 15.0);
        for (uint32_t i = 0; i < N && in; i++)
            counts[i] = (double)(desc->row[i + 1] - desc->row[i]);
        for (uint64_t i = 0; i < DRAWS && !in; i++)
            counts[desc->target[i] - c->areas[0].first]++;
        for (int i = 0; i < N; i++) {
            double mean = DRAWS * share[i] / sum;
            chi2 += (counts[i] - mean) * (counts[i] - mean) / mean;
        }
        assert_true(chi2 < chi2_limit(N - 1));
        vly_connectome_destroy(c);
    }
}

/* Without repetition: the second of two follows the shares of what is left. */
static void degrees_once(void **state)
{
    (void)state;
    enum { N = 20000 };
    builder b;
    double places[] = {0.0, 1.0, 2.0};
    static double here[N];
    builder_init(&b);
    on_line(&b, "A", places, 3);
    on_line(&b, "B", here, N); /* all at 0 */
    vly_pair *pair = distance_pair(&b, 0, 1);
    pair->space.draw = VLY_SPACE_IN_DEGREE;
    pair->space.degree = 2;
    pair->space.kernel = VLY_KERNEL_LINEAR;
    pair->space.length = 4.0; /* shares 4 : 3 : 2 */
    vly_connectome *c = built(&b);
    const vly_projection_desc *desc = &c->desc.projections[0];
    const double p = 2.0 / 9, q = 3.0 / 9, r = 4.0 / 9;
    /* those without neuron k are the pairs of the two others */
    const double without[] = {p * q / (1 - p) + p * q / (1 - q),
                              p * r / (1 - p) + p * r / (1 - r),
                              q * r / (1 - q) + q * r / (1 - r)};
    double chi2 = 0.0;
    for (int k = 0; k < 3; k++) {
        double off = N - (double)(desc->row[k + 1] - desc->row[k]);
        off -= N * without[k];
        chi2 += off * off / (N * without[k]);
        for (uint64_t i = desc->row[k] + 1; i < desc->row[k + 1]; i++)
            assert_true(desc->target[i] > desc->target[i - 1]);
    }
    assert_true(chi2 < chi2_limit(2));
    pair->space.degree = 3;
    vly_connectome_destroy(c);
    c = built(&b);
    assert_int_equal(c->desc.n_synapses, 3 * N);
    vly_connectome_destroy(c);
}

/* The same bytes for any number of threads. */
static void threads_change_nothing(void **state)
{
    (void)state;
    for (int draw = 0; draw < 3; draw++) {
        builder b;
        builder_init(&b);
        scattered(&b, "A", 2000, 1.0, 1.0, 1.0);
        vly_pair *pair = distance_pair(&b, 0, 0);
        pair->self = false;
        pair->space.draw = (vly_space_draw)draw;
        pair->space.degree = draw ? 7 : 0;
        pair->space.kernel = VLY_KERNEL_GAUSSIAN;
        pair->space.length = 0.1;
        pair->space.mask = VLY_MASK_SPHERE;
        pair->space.outer = 0.3;
        pair->space.delay_slope_ms = 5.0;
        vly_connectome *one = built_with(&b, 1);
        vly_connectome *many = built_with(&b, 7);
        assert_memory_equal(&one->hash, &many->hash, sizeof(vly_hash));
        assert_true(one->desc.n_synapses > 1000);
        vly_connectome_destroy(one);
        vly_connectome_destroy(many);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_on_a_grid),
        cmocka_unit_test(box_has_a_side),
        cmocka_unit_test(circle_is_flat),
        cmocka_unit_test(cutoff_and_at),
        cmocka_unit_test(slopes),
        cmocka_unit_test(same_as_a_plain_loop),
        cmocka_unit_test(bernoulli_by_distance),
        cmocka_unit_test(degrees_follow_the_kernel),
        cmocka_unit_test(degrees_once),
        cmocka_unit_test(threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
