/* SPDX-License-Identifier: Apache-2.0
 * The full microcircuit (Potjans and Diesmann 2014, doi:10.1093/cercor/bhs358)
 * built: at most 8 bytes a synapse plus 200 MB at the peak. Prints that and the
 * time, which has no limit here: `volley bench build` measures it.
 */
#include "volley_test.h"

#include <sys/resource.h>

#include "base/error.h"
#include "base/thread.h"
#include "connectome/connectome.h"

static double peak_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024.0;
}

static void assert_degrees(const vly_connectome *c)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < c->desc.n_neurons; i++)
        n += c->desc.out_degree[i];
    assert_int_equal(n, c->desc.n_synapses);
}

static void microcircuit(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    vly_connectome *c = NULL;
    char hex[33];
    assert_ok(vly_genome_load(VLY_TEST_SOURCE_DIR "/genomes/microcircuit.toml",
                              NULL, 0, &genome, &error),
              error);
    uint64_t start = vly_clock_ns();
    assert_ok(vly_connectome_build(genome, 2, &c, &error), error);
    double seconds = (double)(vly_clock_ns() - start) * 1e-9;
    double peak = peak_bytes();
    double allowed = 8.0 * (double)c->desc.n_synapses + 200e6;
    vly_hash_print(c->hash, hex);
    printf("%llu synapses, %.2f s on 2 threads, peak %.1f MB of %.1f MB "
           "allowed, hash %s\n",
           (unsigned long long)c->desc.n_synapses, seconds, peak * 1e-6,
           allowed * 1e-6, hex);
    assert_int_equal(c->desc.n_neurons, 77169);
    assert_int_equal(c->desc.n_synapses, 298880968);
    assert_degrees(c);
    assert_true(peak <= allowed);
    vly_connectome_destroy(c);
    vly_genome_destroy(genome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(microcircuit)};
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
