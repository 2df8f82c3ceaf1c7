/* SPDX-License-Identifier: Apache-2.0
 * test_science_microcircuit [GENOME [BURSTS]]: the cortical microcircuit at
 * full scale, 5 s after 0.5 s discarded, against the reference of another
 * simulator (GeNN 5.4, 10 s; Potjans and Diesmann 2014,
 * doi:10.1093/cercor/bhs358): rates of the eight populations within 10% or
 * 0.3/s, CV of inter-spike intervals (neurons with at least 3 spikes) between
 * 0.6 and 1.0. Prints the table.
 */
#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

#include <volley/volley.h>

#include "spike_statistics.h"

static const char *genome_name = "microcircuit.toml";
static uint64_t n_bursts = 50000;
static const uint64_t discarded = 5000; /* 0.5 s */

/* rate in spikes/s, CV (neurons with at least 6 spikes) */
static const struct {
    double rate_hz, cv;
} reference[8] = {
    {0.92, 0.90}, {3.00, 0.89}, {4.43, 0.87}, {5.88, 0.86},
    {7.70, 0.83}, {8.66, 0.80}, {1.07, 0.89}, {7.86, 0.80},
};

static void run_microcircuit(spike_statistics *s, vly_area_stats *areas)
{
    char path[512];
    vly_error error = {.struct_size = sizeof error};
    vly_net *net = NULL;
    vly_stats stats = {.struct_size = sizeof stats};
    snprintf(path, sizeof path, "%s/genomes/%s", VLY_TEST_SOURCE_DIR,
             genome_name);
    assert_ok(vly_net_open(path, "cpu", &net, &error), error);
    assert_ok(vly_net_stats(net, &stats, &error), error);
    assert_int_equal(stats.n_areas, 8);
    assert_true(spike_statistics_init(s, (uint32_t)stats.neurons, discarded));
    vly_net_on_spikes(net, spike_statistics_add, s);
    assert_ok(vly_net_run(net, discarded + n_bursts, &error), error);
    assert_ok(vly_net_stats(net, &stats, &error), error);
    for (uint32_t k = 0; k < 8; k++) {
        areas[k] = (vly_area_stats){.struct_size = sizeof areas[k]};
        assert_int_equal(vly_net_area_stats(net, k, &areas[k]), VLY_OK);
    }
    printf("%s: %llu neurons, %llu synapses, real-time factor %.2f on %s\n",
           genome_name, (unsigned long long)stats.neurons,
           (unsigned long long)stats.synapses,
           (double)stats.run_ns * 1e-6 /
               ((double)(discarded + n_bursts) * stats.dt_ms),
           stats.backend);
    printf("digest %016llx\n", (unsigned long long)vly_net_digest(net));
    vly_net_close(net);
}

static void test_microcircuit(void **state)
{
    static const char *const names[8] = {"L2/3E", "L2/3I", "L4E", "L4I",
                                         "L5E",   "L5I",   "L6E", "L6I"};
    (void)state;
    bool good = true;
    spike_statistics s;
    vly_area_stats areas[8];
    run_microcircuit(&s, areas);
    printf("%-6s %9s %9s %7s %7s %7s %8s\n", "area", "rate 1/s", "wanted",
           "CV (3)", "CV (6)", "wanted", "silent");
    for (uint32_t k = 0; k < 8; k++) {
        const vly_area_stats *a = &areas[k];
        group_statistics g3 = spike_statistics_group(&s, a->first, a->n_neurons,
                                                     3, n_bursts, 0.1);
        group_statistics g6 = spike_statistics_group(&s, a->first, a->n_neurons,
                                                     6, n_bursts, 0.1);
        double wanted = reference[k].rate_hz;
        double room = 0.1 * wanted > 0.3 ? 0.1 * wanted : 0.3;
        bool fits =
            fabs(g3.rate_hz - wanted) <= room && g3.cv >= 0.6 && g3.cv <= 1.0;
        printf("%-6s %9.3f %9.2f %7.3f %7.3f %7.2f %8.3f%s\n", names[k],
               g3.rate_hz, wanted, g3.cv, g6.cv, reference[k].cv, g3.silent,
               fits ? "" : "  outside");
        good &= fits;
    }
    spike_statistics_deinit(&s);
    assert_true(good);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_microcircuit)};
    if (argc > 1)
        genome_name = argv[1];
    if (argc > 2)
        n_bursts = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
