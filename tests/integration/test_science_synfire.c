/* SPDX-License-Identifier: Apache-2.0
 * genomes/synfire.toml against tests/golden/synfire_reference.csv: packets of
 * spikes of eight sizes and widths, which die out or go through the chain. The
 * same chain was simulated 200 times for each packet in double by
 * synfire_reference.py, with states and input of its own.
 *
 * How often a packet survives: Fisher's exact test (one-sided each way) of ours
 * against the reference must not be below 1e-6. With 20 runs a packet that
 * survives always must not die 8 times. What the packet has become: the means
 * of ours and of the reference, of packets that survive in nine trials of ten
 * and more, differ by less than 5 standard errors (once in a million).
 */
#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

#include <volley/volley.h>

#include "science_sample.h"

enum {
    RUNS = 20,
    POINTS = 8,
    BURSTS = 750,
    FROM = 500, /* the packet begins */
    WINDOW = 50,
    SURVIVED = 50, /* spikes in the last group, of 100 neurons */
    LAST = 900     /* its first neuron */
};

typedef struct point {
    int spikes, sigma, trials, survived;
    double mean[2], sd[2]; /* spikes, spread in ms */
} point;

typedef struct ending {
    int count[BURSTS];
} ending;

static void read_points(point points[POINTS])
{
    char line[200];
    FILE *file =
        fopen(VLY_TEST_SOURCE_DIR "/tests/golden/synfire_reference.csv", "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    for (int i = 0; i < POINTS; i++) {
        point *p = &points[i];
        assert_non_null(fgets(line, sizeof line, file));
        assert_int_equal(sscanf(line, "%d,%d,%d,%d,%lf,%lf,%lf,%lf", &p->spikes,
                                &p->sigma, &p->trials, &p->survived,
                                &p->mean[0], &p->sd[0], &p->mean[1], &p->sd[1]),
                         8);
        assert_int_equal(p->trials, 200);
    }
    assert_null(fgets(line, sizeof line, file));
    fclose(file);
}

/* The x below which a normal number is by the chance p. */
static double quantile(double p)
{
    double low = -10, high = 10;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        if (0.5 * erfc(-middle / sqrt(2)) < p)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

static void write_packet(const point *p, char *text, size_t size)
{
    size_t n = 0;
    for (int i = 0; i < p->spikes; i++) {
        double x = 50 + p->sigma * quantile((i + 0.5) / p->spikes);
        n += (size_t)snprintf(text + n, size - n, "%s%.1f", i ? ", " : "[", x);
        assert_true(n < size);
    }
    snprintf(text + n, size - n, "]");
}

static vly_status count_spikes(void *arg, uint64_t burst, const uint32_t *ids,
                               uint32_t n_ids, uint64_t burst_digest)
{
    ending *e = arg;
    (void)burst_digest;
    for (uint32_t i = 0; i < n_ids; i++)
        e->count[burst] += ids[i] >= LAST;
    return VLY_OK;
}

/* Spikes and spread of the fullest window that begins with a spike. */
static int strongest(const ending *e, double *spread)
{
    int best = 0;
    *spread = 0;
    for (int begin = FROM; begin < BURSTS; begin++) {
        double sum = 0, squares = 0;
        int n = 0;
        for (int b = begin; b < begin + WINDOW && b < BURSTS; b++) {
            n += e->count[b];
            sum += (double)e->count[b] * (b - begin);
            squares += (double)e->count[b] * (b - begin) * (b - begin);
        }
        if (e->count[begin] == 0 || n <= best)
            continue;
        best = n;
        *spread = 0.1 * sqrt(squares / n - sum / n * (sum / n));
    }
    return best;
}

static void run(const char *packet, int index, ending *e)
{
    char seed[16];
    vly_error error = {.struct_size = sizeof error};
    vly_registry *registry = NULL;
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    vly_net *net = NULL;
    snprintf(seed, sizeof seed, "%d", 100 + index);
    const vly_override overrides[] = {{"stimulus.packet.times_ms", packet},
                                      {"run.seed_state", seed},
                                      {"run.seed_input", seed}};
    *e = (ending){{0}};
    assert_ok(vly_registry_create(&registry, &error), error);
    assert_ok(vly_genome_load(VLY_TEST_SOURCE_DIR "/genomes/synfire.toml",
                              overrides, 3, &genome, &error),
              error);
    assert_ok(vly_connectome_build(genome, 1, &connectome, &error), error);
    assert_ok(vly_net_create(connectome, registry, "cpu:1", 0, &net, &error),
              error);
    vly_net_on_spikes(net, count_spikes, e);
    assert_ok(vly_net_run(net, BURSTS, &error), error);
    vly_net_destroy(net);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    vly_registry_destroy(registry);
}

static bool compare(const point *p, const point *ours)
{
    bool good = science_shares_agree(ours->survived, RUNS, p->survived,
                                     p->trials, 1e-6);
    printf("%3d spikes, %d ms: %2d of %d survive, reference %3d of %d\n",
           p->spikes, p->sigma, ours->survived, RUNS, p->survived, p->trials);
    if (p->survived < 0.9 * p->trials || ours->survived < 2)
        return good;
    for (int k = 0; k < 2; k++) {
        double error = sqrt(p->sd[k] * p->sd[k] / p->survived +
                            ours->sd[k] * ours->sd[k] / ours->survived);
        double t = (ours->mean[k] - p->mean[k]) / error;
        printf("    ends with %s %.3g, reference %.3g, t %.2f\n",
               k ? "a spread of" : "spikes", ours->mean[k], p->mean[k], t);
        good &= fabs(t) < 5;
    }
    return good;
}

static point measure(const point *p)
{
    static ending e;
    char packet[1024];
    double sum[2] = {0}, squares[2] = {0};
    point ours = {.trials = RUNS};
    write_packet(p, packet, sizeof packet);
    for (int i = 0; i < RUNS; i++) {
        double x[2];
        run(packet, i, &e);
        x[0] = strongest(&e, &x[1]);
        if (x[0] < SURVIVED)
            continue;
        ours.survived++;
        for (int k = 0; k < 2; k++) {
            sum[k] += x[k];
            squares[k] += x[k] * x[k];
        }
    }
    for (int k = 0; k < 2 && ours.survived > 1; k++) {
        ours.mean[k] = sum[k] / ours.survived;
        ours.sd[k] =
            sqrt((squares[k] - sum[k] * ours.mean[k]) / (ours.survived - 1));
    }
    return ours;
}

static void test_packets(void **state)
{
    point points[POINTS];
    bool good = true;
    (void)state;
    read_points(points);
    for (int i = 0; i < POINTS; i++) {
        point ours = measure(&points[i]);
        good &= compare(&points[i], &ours);
    }
    assert_true(good);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_packets)};

VLY_TEST_MAIN(tests)
