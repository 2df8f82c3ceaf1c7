/* SPDX-License-Identifier: Apache-2.0
 * normal( ) of users' models: moments, quantiles and independence of a million
 * draws; lif_ou_current.toml and lif_held_noise.toml against the stationary
 * moments of their equations.
 * The draws are the same on every machine. Bounds are five standard errors.
 */
#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

#include <volley/volley.h>

enum { NEURONS = 20000, BURSTS = 50, DRAWS = NEURONS * BURSTS };

typedef struct run {
    vly_registry *registry;
    vly_connectome *connectome;
    vly_net *net;
    vly_error error;
} run;

static void open_run(run *r, vly_genome *genome)
{
    vly_error *error = &r->error;
    assert_ok(vly_connectome_build(genome, 2, &r->connectome, error), *error);
    assert_ok(vly_registry_create(&r->registry, error), *error);
    assert_ok(
        vly_net_create(r->connectome, r->registry, "cpu:2", 2, &r->net, error),
        *error);
    vly_genome_destroy(genome);
}

static void close_run(run *r)
{
    vly_net_destroy(r->net);
    vly_registry_destroy(r->registry);
    vly_connectome_destroy(r->connectome);
}

static void step(run *r, uint64_t n_bursts)
{
    assert_ok(vly_net_run(r->net, n_bursts, &r->error), r->error);
}

static void read_field(run *r, const char *field, uint32_t n, double *values)
{
    assert_ok(vly_net_read(r->net, "A", field, 0, n, values, &r->error),
              r->error);
}

typedef struct moments {
    double mean;
    double variance;
    double kurtosis;
    double most; /* largest size */
} moments;

static moments moments_of(const double *x, size_t n)
{
    double sum = 0, square = 0, fourth = 0, most = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    const double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        double d = x[i] - mean;
        square += d * d;
        fourth += d * d * d * d;
        most = fmax(most, fabs(x[i]));
    }
    const double variance = square / (double)n;
    return (moments){mean, variance, fourth / (double)n / (variance * variance),
                     most};
}

static double correlation(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum / (double)n;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The largest difference of the shares below a value; sorts x. */
static double distance(double *x, size_t n)
{
    double most = 0;
    qsort(x, n, sizeof *x, ascending);
    for (size_t i = 0; i < n; i++) {
        double wanted = 0.5 * erfc(-x[i] / sqrt(2));
        most = fmax(most, fabs((double)i / (double)n - wanted));
    }
    return most;
}

static void draws(void **state)
{
    (void)state;
    static const char text[] =
        "format = 1\n[run]\ndt_ms = 0.1\nbursts = 50\n[neuron.n]\n"
        "port.ex = \"1\"\nstate = { x = 0, y = 0 }\non.ex = \"x += in\"\n"
        "update = \"x = normal(); y = normal()\"\nspike = \"1 < 0\"\n"
        "[area.A]\nmodel = \"n\"\nneurons = 20000\n";
    run r = {.error = {.struct_size = sizeof r.error}};
    vly_genome *genome = NULL;
    double *x = calloc(DRAWS, sizeof *x);
    double *y = calloc(DRAWS, sizeof *y);
    const double error = 1 / sqrt(DRAWS);
    assert_true(x && y);
    assert_ok(vly_genome_parse(text, strlen(text), "noise.toml", NULL, 0,
                               &genome, &r.error),
              r.error);
    open_run(&r, genome);
    for (uint32_t b = 0; b < BURSTS; b++) {
        step(&r, 1);
        read_field(&r, "x", NEURONS, x + (size_t)b * NEURONS);
        read_field(&r, "y", NEURONS, y + (size_t)b * NEURONS);
    }
    close_run(&r);
    moments m = moments_of(x, DRAWS);
    printf("    a million draws: mean %.4f, variance %.4f, kurtosis %.4f, "
           "largest %.3f\n",
           m.mean, m.variance, m.kurtosis, m.most);
    assert_close(m.mean, 0, 5 * error);
    assert_close(m.variance, 1, 5 * sqrt(2) * error);
    /* the kurtosis of the distribution is 2.9991 */
    assert_close(m.kurtosis, 2.9991, 5 * sqrt(24) * error);
    assert_true(m.most > 4.4 && m.most < 5.3049);
    /* of two draws, of neurons side by side, of bursts one after the other */
    assert_close(correlation(x, y, DRAWS), 0, 5 * error);
    assert_close(correlation(x, x + 1, DRAWS - 1), 0, 5 * error);
    assert_close(correlation(x, x + NEURONS, DRAWS - NEURONS), 0,
                 5 / sqrt(DRAWS - NEURONS));
    /* 5e-4 of the distribution, and chance (Kolmogorov, 1e-6) */
    double found = distance(x, DRAWS);
    printf("    the share below a value is off by %.1e at most\n", found);
    assert_true(found < 5e-4 + 2.7 * error);
    free(x);
    free(y);
}

/* dt 0.1 ms: the current is exact, and acts from the next burst on */
static void coloured(void **state)
{
    (void)state;
    enum { N = 4000, READS = 40 };
    static const vly_override set[] = {{"area.A.neurons", "4000"},
                                       {"area.A.v_th_mv", "0"}};
    run r = {.error = {.struct_size = sizeof r.error}};
    vly_genome *genome = NULL;
    double *i = calloc(N * READS, sizeof *i);
    double *v = calloc(N * READS, sizeof *v);
    double *later = calloc(N, sizeof *later);
    assert_true(i && v && later);
    assert_ok(vly_genome_load(VLY_TEST_SOURCE_DIR
                              "/genomes/neurons/lif_ou_current.toml",
                              set, 2, &genome, &r.error),
              r.error);
    open_run(&r, genome);
    step(&r, 1000);
    for (uint32_t k = 0; k < READS; k++) {
        step(&r, 200);
        read_field(&r, "i_pa", N, i + (size_t)k * N);
        read_field(&r, "v_mv", N, v + (size_t)k * N);
    }
    step(&r, 50); /* one time constant */
    read_field(&r, "i_pa", N, later);
    close_run(&r);
    /* stationary: c covariance of v and i, from the recursion of a burst */
    const double a = exp(-0.1 / 5), p = exp(-0.1 / 10);
    const double q = (p - a) * 10 * 5 / (10 - 5) / 250;
    const double c = a * q * 150 * 150 / (1 - a * p);
    const double sd_v = sqrt((q * q * 150 * 150 + 2 * p * q * c) / (1 - p * p));
    const double error = 1 / sqrt(N * READS);
    moments of_i = moments_of(i, N * READS), of_v = moments_of(v, N * READS);
    printf("    current %.2f +- %.2f pA; potential %.3f +- %.3f mV, wanted "
           "%.3f (%.3f if dt were 0)\n",
           of_i.mean, sqrt(of_i.variance), of_v.mean, sqrt(of_v.variance), sd_v,
           6 * sqrt(5 / 15.));
    assert_close(of_i.mean, 300, 5 * 150 * error);
    assert_close(sqrt(of_i.variance), 150, 5 * 150 * error / sqrt(2));
    assert_close(of_i.kurtosis, 3, 5 * sqrt(24) * error);
    assert_close(of_v.mean, -53, 5 * sd_v * error);
    assert_close(sqrt(of_v.variance), sd_v, 5 * sd_v * error);
    for (uint32_t k = 0; k < N; k++) {
        i[k] = (i[(READS - 1) * N + k] - 300) / 150;
        later[k] = (later[k] - 300) / 150;
    }
    assert_close(correlation(i, later, N), exp(-1), 5 * sqrt(1.2 / N));
    free(i);
    free(v);
    free(later);
}

/* Held for 2.5 bursts of 0.4 ms: 2 and 3 by turns, 1 ms on average; sampled
 * where two holds of 5 bursts end, so with 5 bursts as one step:
 * v' = p5 v + R (p2 (1 - p3) i1 + (1 - p2) i2), the first held for 3. */
static void held(void **state)
{
    (void)state;
    enum { N = 4000, READS = 20 };
    static const vly_override set[] = {{"area.A.neurons", "4000"},
                                       {"area.A.v_th_mv", "0"},
                                       {"run.dt_ms", "0.4"},
                                       {"record.1.interval_ms", "1"}};
    run r = {.error = {.struct_size = sizeof r.error}};
    vly_genome *genome = NULL;
    double *i = calloc(N * READS, sizeof *i);
    double *v = calloc(N * READS, sizeof *v);
    double *one = calloc(10 * N, sizeof *one);
    assert_true(i && v && one);
    assert_ok(vly_genome_load(VLY_TEST_SOURCE_DIR
                              "/genomes/neurons/lif_held_noise.toml",
                              set, 4, &genome, &r.error),
              r.error);
    open_run(&r, genome);
    for (uint32_t b = 0; b < 10; b++) {
        step(&r, 1);
        read_field(&r, "i_pa", N, one + (size_t)b * N);
    }
    uint32_t lengths[10] = {0}, n = 0;
    for (uint32_t b = 0; b < 10; b++) {
        n += b > 0 && memcmp(one + b * N, one + (b - 1) * N, N * sizeof *one);
        lengths[n]++;
    }
    assert_int_equal(n, 3);
    for (uint32_t k = 0; k < 4; k++)
        assert_int_equal(lengths[k], k % 2 ? 2 : 3);
    step(&r, 190);
    for (uint32_t k = 0; k < READS; k++) {
        step(&r, 50); /* two time constants */
        read_field(&r, "i_pa", N, i + (size_t)k * N);
        read_field(&r, "v_mv", N, v + (size_t)k * N);
    }
    close_run(&r);
    const double p2 = exp(-0.08), p3 = exp(-0.12);
    const double a = p2 * (1 - p3), b = 1 - p2;
    const double sd_v =
        300 * 10 / 250. * sqrt((a * a + b * b) / (1 - p2 * p2 * p3 * p3));
    /* potentials e^-2 apart are not independent: their sum has a variance
     * larger by (1 + e^-2) / (1 - e^-2), squares by (1 + e^-4) / (1 - e^-4) */
    const double error = 1 / sqrt(N * READS);
    moments of_i = moments_of(i, N * READS), of_v = moments_of(v, N * READS);
    printf("    held current %.2f +- %.2f pA; potential %.3f +- %.3f mV, "
           "wanted %.3f\n",
           of_i.mean, sqrt(of_i.variance), of_v.mean, sqrt(of_v.variance),
           sd_v);
    assert_close(of_i.mean, 300, 5 * 300 * error);
    assert_close(sqrt(of_i.variance), 300, 5 * 300 * error / sqrt(2));
    assert_close(of_v.mean, -53, 5 * sd_v * error * sqrt(1.1353 / 0.8647));
    assert_close(sqrt(of_v.variance), sd_v,
                 5 * sd_v * error / sqrt(2) * sqrt(1.0183 / 0.9817));
    for (uint32_t k = 0; k < N * READS; k++)
        i[k] = (i[k] - 300) / 300;
    assert_close(correlation(i, i + N, N * (READS - 1)), 0,
                 5 / sqrt(N * (READS - 1)));
    free(i);
    free(v);
    free(one);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(draws),
    cmocka_unit_test(coloured),
    cmocka_unit_test(held),
};
VLY_TEST_MAIN(tests)
