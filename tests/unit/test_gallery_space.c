/* SPDX-License-Identifier: Apache-2.0
 * Genomes of genomes/gallery with files and distances: neurons and synapses are
 * as many as each says, and the connectome is the same for any number of
 * threads.
 */
#include "test_genome_text.h"

#include "connectome/connectome.h"

typedef struct gallery_entry {
    const char *name;
    uint32_t n_neurons;
    uint64_t least; /* synapses */
    uint64_t most;
    const char *hash; /* of the connectome's content: that of every machine */
} gallery_entry;

static const gallery_entry entries[] = {
    {"file_edges", 6, 7, 7, "7702d7314c662c538d7fc1c7176f0790"},
    {"distance_bernoulli", 900, 18200, 19210, /* 5 standard deviations */
     "dc62720b581be5e62e84a1482c332aa7"},
    {"distance_degree", 1000, 50000, 50000, "6621aae21a381a076c1de02782a89322"},
    {"distance_ring", 12, 48, 48, "3de4e14082c72c43f39ac9df1649296a"},
#ifdef VLY_TEST_SONATA
    {"sonata", 6, 7, 7, "7702d7314c662c538d7fc1c7176f0790"},
#endif
};

static void compile(const gallery_entry *entry)
{
    char path[1024];
    char hash[33];
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    vly_genome *again = NULL;
    vly_connectome *one = NULL;
    vly_connectome *four = NULL;
    snprintf(path, sizeof(path), "%s/genomes/gallery/%s.toml",
             VLY_TEST_SOURCE_DIR, entry->name);
    assert_ok(vly_genome_load(path, NULL, 0, &genome, &error), error);
    assert_ok(vly_genome_parse(genome->resolved, strlen(genome->resolved), path,
                               NULL, 0, &again, &error),
              error);
    assert_memory_equal(&genome->hash, &again->hash, sizeof(vly_hash));
    assert_ok(vly_connectome_build(genome, 1, &one, &error), error);
    assert_ok(vly_connectome_build(genome, 4, &four, &error), error);
    assert_int_equal(one->desc.n_neurons, entry->n_neurons);
    if (one->desc.n_synapses < entry->least ||
        one->desc.n_synapses > entry->most)
        fail_msg("%s: %llu synapses", entry->name,
                 (unsigned long long)one->desc.n_synapses);
    assert_memory_equal(&one->hash, &four->hash, sizeof(vly_hash));
    vly_hash_print(one->hash, hash);
    assert_string_equal(hash, entry->hash);
    vly_connectome_destroy(one);
    vly_connectome_destroy(four);
    vly_genome_destroy(genome);
    vly_genome_destroy(again);
}

static void every_entry(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
        compile(&entries[i]);
}

/* Every allocation of reading and compiling may fail. */
static void memory_fails(const char *name)
{
    char path[1024];
    vly_status status = VLY_E_NOMEM;
    uint64_t before = vly_memory_live();
    snprintf(path, sizeof(path), "%s/genomes/gallery/%s.toml",
             VLY_TEST_SOURCE_DIR, name);
    for (uint64_t n = 1; status == VLY_E_NOMEM; n++) {
        vly_error error = VLY_ERROR_INIT;
        vly_genome *genome = NULL;
        vly_connectome *connectome = NULL;
        vly_memory_fail_at(n);
        status = vly_genome_load(path, NULL, 0, &genome, &error);
        if (status == VLY_OK)
            status = vly_connectome_build(genome, 1, &connectome, &error);
        vly_memory_fail_at(0);
        vly_connectome_destroy(connectome);
        vly_genome_destroy(genome);
        assert_true(vly_memory_live() == before);
        assert_true(n < 20000);
    }
    assert_int_equal(status, VLY_OK);
}

static void memory(void **state)
{
    (void)state;
    memory_fails("file_edges");
    memory_fails("distance_ring");
#ifdef VLY_TEST_SONATA
    memory_fails("sonata");
#endif
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_entry),
    cmocka_unit_test(memory),
};
VLY_TEST_MAIN(tests)
