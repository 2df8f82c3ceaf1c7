/* SPDX-License-Identifier: Apache-2.0
 * Files that a genome names: synapses and parameters, what is refused, and
 * that the content is in the hash and the path is not.
 */
#include "test_genome_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "connectome/connectome.h"

#define FOLDER VLY_TEST_BINARY_DIR "/genome_file"
#define HEAD                                                                   \
    "format = 1\n[run]\ndt_ms = 0.1\n[area.A]\nmodel = \"lif_psc_delta\"\n"    \
    "neurons = 3\n[area.B]\nmodel = \"lif_psc_delta\"\nneurons = 4\n"
#define MAP                                                                    \
    HEAD "[[map]]\nfrom = \"A\"\nto = \"B\"\nrule = \"file\"\n"                \
         "file = \"e.csv\"\n"
#define PARAM                                                                  \
    "format = 1\n[area.A]\nmodel = \"lif_psc_delta\"\nneurons = 3\n"           \
    "tau_m_ms = { file = \"p.csv\", column = \"tau\" }\n"

static void put_bytes(const char *name, const char *bytes, size_t n)
{
    char path[1024];
    mkdir(FOLDER, 0777);
    snprintf(path, sizeof(path), FOLDER "/%s", name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

static void put(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text));
}

static vly_status load(const char *text, vly_genome **genome, vly_error *error)
{
    return vly_genome_parse(text, strlen(text), FOLDER "/t.toml", NULL, 0,
                            genome, error);
}

static vly_genome *loaded(const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    assert_ok(load(text, &genome, &error), error);
    return genome;
}

/* Refused with this message behind the genome's path. */
static void refused(const char *text, const char *message)
{
    char wanted[1024];
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    uint64_t before = vly_memory_live();
    snprintf(wanted, sizeof(wanted), FOLDER "/t.toml:%s", message);
    assert_int_equal(load(text, &genome, &error), refusal(message));
    assert_string_equal(error.message, wanted);
    assert_true(vly_memory_live() == before);
}

static void edges_refused(const char *csv, const char *message)
{
    char wanted[512];
    put("e.csv", csv);
    snprintf(wanted, sizeof(wanted), "14:8: e.csv:%s", message);
    refused(MAP, wanted);
}

static void value_refused(const char *csv, const char *message)
{
    char wanted[512];
    put("p.csv", csv);
    snprintf(wanted, sizeof(wanted), "5:21: p.csv%s", message);
    refused(PARAM, wanted);
}

/* ---- synapses ----------------------------------------------------------- */

static void edges_in_order(void **state)
{
    (void)state;
    static const uint32_t source[] = {0, 0, 2, 2};
    static const uint32_t target[] = {1, 3, 0, 2};
    static const double weight[] = {1.5, -2, 0.25, 4};
    static const uint32_t delay[] = {5, 10, 1, 20};
    put("e.csv", "# a comment\r\ntarget, source ,delay_ms,\"weight_mv\"\r\n"
                 "2,2,2.0,4\r\n3,0,1,-2\r\n0,2,.1,+0.25\r\n1,0,0.5,15e-1");
    vly_genome *genome = loaded(MAP);
    assert_int_equal(genome->n_pairs, 1);
    const vly_edge_list *edges = genome->pairs[0].edges;
    assert_int_equal(edges->n, 4);
    assert_memory_equal(edges->source, source, sizeof(source));
    assert_memory_equal(edges->target, target, sizeof(target));
    assert_memory_equal(edges->delay, delay, sizeof(delay));
    assert_memory_equal(edges->weight, weight, sizeof(weight));
    assert_int_equal(genome->n_synapses_max, 4);
    vly_genome_destroy(genome);
}

static void edges_compiled(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_hash hash = {{0}};
    put("e.csv", "source,target,weight,delay\n2,2,4,2\n0,3,-2,1\n2,0,0.25,.1\n"
                 "0,1,1.5,0.5\n");
    vly_genome *genome = loaded(MAP);
    for (uint32_t threads = 1; threads <= 4; threads++) {
        vly_connectome *c = NULL;
        assert_ok(vly_connectome_build(genome, threads, &c, &error), error);
        const vly_projection_desc *desc = &c->desc.projections[0];
        static const uint64_t row[] = {0, 2, 2, 4};
        static const uint32_t target[] = {4, 6, 3, 5};
        static const double weight[] = {1.5, -2, 0.25, 4};
        static const uint8_t delay[] = {4, 9, 0, 19};
        assert_memory_equal(desc->row, row, sizeof(row));
        assert_memory_equal(desc->target, target, sizeof(target));
        assert_memory_equal(desc->delay, delay, sizeof(delay));
        assert_int_equal(desc->base_delay, 1);
        for (int i = 0; i < 4; i++)
            assert_true(desc->weight[i] * (double)c->desc.areas[1].scale[0] ==
                        weight[i]);
        if (threads > 1)
            assert_memory_equal(&hash, &c->hash, sizeof(hash));
        hash = c->hash;
        vly_connectome_destroy(c);
    }
    vly_genome_destroy(genome);
}

/* Weight and delay may be the map's; a pair may have several synapses. */
static void edges_of_the_map(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *c = NULL;
    put("e.csv", "source,target\n1,1\n1,1\n");
    refused(MAP, "14:8: e.csv:1:1: no column weight and no weight in the map, "
                 "wanted one of them");
    refused(MAP "weight_mv = 2\n",
            "14:8: e.csv:3:1: the second synapse from this source to this "
            "target, wanted one, or multiple = true in the map");
    vly_genome *genome =
        loaded(MAP "weight_mv = { normal = [2, 0.1] }\ndelay_ms = 3\n"
                   "multiple = true\n");
    assert_ok(vly_connectome_build(genome, 2, &c, &error), error);
    assert_int_equal(c->desc.n_synapses, 2);
    assert_int_equal(c->desc.projections[0].base_delay, 30);
    assert_null(c->desc.projections[0].delay);
    vly_connectome_destroy(c);
    vly_genome_destroy(genome);
    put("e.csv", "source,target,weight\n1,1,1\n");
    refused(MAP "weight_mv = 2\n",
            "14:8: e.csv:1:15: column weight, but the map has a weight too, "
            "wanted one of them");
    put("e.csv", "source,target,weight,delay_bursts\n1,1,1,7\n");
    genome = loaded(MAP);
    assert_int_equal(genome->pairs[0].edges->delay[0], 7);
    vly_genome_destroy(genome);
}

/* A weight that would become 0 beside a large one is refused. */
static void edges_keep_small_weights(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *c = NULL;
    put("e.csv", "source,target,weight\n0,0,30000\n1,1,0.0001\n2,2,0\n");
    vly_genome *genome = loaded(MAP);
    assert_int_equal(vly_connectome_build(genome, 1, &c, &error), VLY_E_PARSE);
    assert_non_null(strstr(error.message, "weight 0.0001 would become 0"));
    vly_genome_destroy(genome);
    /* the nearest integer of the first is 32768 */
    put("e.csv", "source,target,weight\n0,0,32767.6\n1,1,0.75\n2,2,0\n");
    genome = loaded(MAP);
    assert_int_equal(vly_connectome_build(genome, 1, &c, &error), VLY_OK);
    assert_true(c->projections[0].worst_rounding < 1e-3);
    assert_int_equal(c->desc.n_synapses, 3);
    vly_connectome_destroy(c);
    vly_genome_destroy(genome);
}

static void edges_malformed(void **state)
{
    (void)state;
    edges_refused("source,target,weight\n3,0,1\n",
                  "2:1: source is \"3\", wanted a whole number from 0 to 2");
    edges_refused("source,target,weight\n0,4,1\n",
                  "2:3: target is \"4\", wanted a whole number from 0 to 3");
    edges_refused("source,target,weight\n0,-1,1\n",
                  "2:3: target is \"-1\", wanted a whole number from 0 to 3");
    edges_refused("source,target,weight\n0,99999999999999999999999,1\n",
                  "2:3: target is \"99999999999999999999999\", wanted a whole "
                  "number from 0 to 3");
    edges_refused("source,target,weight\n0,1.5,1\n",
                  "2:3: target is \"1.5\", wanted a whole number from 0 to 3");
    edges_refused("source,target,weight\n0,,1\n",
                  "2:3: target is \"\", wanted a whole number from 0 to 3");
    edges_refused("source,target,weight\n0,1,nan\n",
                  "2:5: weight is \"nan\", wanted a number");
    edges_refused("source,target,weight\n0,1,0x10\n",
                  "2:5: weight is \"0x10\", wanted a number");
    edges_refused("source,target,weight\n0,1,1e999\n",
                  "2:5: weight is \"1e999\", wanted a finite number");
    edges_refused("source,target,weight\n0,1,1-1\n",
                  "2:5: weight is \"1-1\", wanted a number");
    edges_refused("source,target,weight\n0,1,1e10\n",
                  "2:5: weight is 10000000000, wanted -1000000000 to "
                  "1000000000");
    edges_refused("source,target,weight\n0,1,1\n0,2\n",
                  "3:1: 2 fields, wanted 3 as in the header");
    edges_refused("source,target,weight\n\n0,1,1\n",
                  "2:1: an empty line, wanted data in every line");
    edges_refused("source,weight\n0,1\n", "1:1: no column target, wanted it");
    edges_refused("source,target,source\n",
                  "1:15: column 3 is called as column 1 is, wanted each name "
                  "once");
    edges_refused("source;target;weight\n",
                  "1:1: column source;target;weight, wanted source, target, "
                  "weight and delay, separated by commas");
    edges_refused("source,target,weight_pa\n",
                  "1:15: weight_pa: lif_psc_delta takes weight_mv");
    edges_refused("source,target,weight,delay_s\n",
                  "1:22: column delay_s, wanted delay_ms or delay_bursts");
    edges_refused("source,target,weight,delay\n0,0,1,0.04\n",
                  "2:7: delay is 0.04 ms, wanted 1 to 65535 bursts of 0.1 ms");
    edges_refused("source,target,weight,delay_bursts\n0,0,1,1.5\n",
                  "2:7: delay is 1.5 bursts, wanted 1 to 65535 bursts of 0.1 "
                  "ms");
    edges_refused("source,,weight\n",
                  "1:8: a column without a name, wanted one");
}

static void files_hostile(void **state)
{
    (void)state;
    enum { N = 70000 };
    static char text[N + 64];
    put("e.csv", "");
    refused(MAP, "14:8: e.csv: an empty file, wanted a header of names and a "
                 "line for each entry");
    put("e.csv", "source,target,weight\n");
    refused(MAP, "14:8: e.csv has no synapse, wanted one at least");
    memset(text, '1', N);
    memcpy(text, "source,target,weight\n", 21);
    put_bytes("e.csv", text, N);
    refused(MAP, "14:8: e.csv:2:1: a line of more than 65535 bytes, wanted "
                 "shorter ones");
    memset(text, ',', N);
    put_bytes("e.csv", text, 60000);
    refused(MAP, "14:8: e.csv:1:1: 60001 columns, wanted at most 256");
    put_bytes("e.csv", "source,target,weight\n0,0\0,1\n", 28);
    refused(MAP, "14:8: e.csv:2:4: a byte 0, wanted printable characters");
    remove(FOLDER "/e.csv");
    refused(MAP, "14:8: e.csv: No such file or directory");
    mkdir(FOLDER "/e.csv", 0777);
    refused(MAP, "14:8: e.csv: a folder, wanted a file");
    remove(FOLDER "/e.csv");
    assert_int_equal(mkfifo(FOLDER "/e.csv", 0666), 0);
    refused(MAP, "14:8: e.csv: a pipe, wanted a file");
    remove(FOLDER "/e.csv");
}

/* What begins like HDF5 is SONATA, or says that this build has none. */
static void hdf5_is_known(void **state)
{
    (void)state;
    put_bytes("e.csv", "\x89HDF\r\n\x1a\n", 8);
#ifdef VLY_TEST_SONATA
    refused(MAP, "14:8: e.csv: no HDF5 file that can be read (damaged?)");
#else
    refused(MAP, "14:8: e.csv is an HDF5 file, and SONATA input is left out of "
                 "this build, wanted comma-separated text, or a build where "
                 "CMake finds HDF5 (libhdf5-dev)");
#endif
}

static void maps_refused(void **state)
{
    (void)state;
    put("e.csv", "source,target,weight\n0,0,1\n");
    refused(HEAD "[[map]]\nfrom = \"A\"\nto = [\"A\", \"B\"]\nrule = \"file\"\n"
                 "file = \"e.csv\"\n",
            "10:1: map:1 has 2 pairs of areas, wanted one: rule file takes one "
            "area in from and in to");
    refused(
        MAP "population = \"x\"\n",
        "14:8: e.csv:1:1: no column map, wanted it or a file of HDF5, or no "
        "population");
    refused(HEAD "[[map]]\nfrom = \"A\"\nto = \"A\"\nrule = \"file\"\n"
                 "file = \"e.csv\"\nself = false\n",
            "14:8: e.csv:2:3: target is 0, the source itself, wanted another: "
            "the map has self = false");
    refused(MAP "except = []\n", "15:1: except: rule file takes no such key");
}

/* ---- parameters --------------------------------------------------------- */

static void values_read(void **state)
{
    (void)state;
    put("p.csv", "\xEF\xBB\xBFname,tau\nx,10\n\"y\",\"12.5\"\n z , 20 \n\n\n");
    vly_genome *genome = loaded(PARAM);
    const vly_area *area = &genome->areas[0];
    const vly_value *value = NULL;
    for (uint32_t i = 0; i < area->model->n_params; i++)
        if (strcmp(area->model->params[i].name, "tau_m_ms") == 0)
            value = &area->params[i];
    assert_non_null(value);
    assert_int_equal(value->kind, VLY_VALUE_ARRAY);
    assert_int_equal(value->n_array, 3);
    assert_true(value->array[1] == 12.5 && value->array[2] == 20);
    vly_genome_destroy(genome);
}

static void values_refused(void **state)
{
    (void)state;
    value_refused("tau\n1\n2\n",
                  " has 2 lines of values, wanted 3, one a neuron");
    value_refused("tau\n1\n2\n3\n4\n",
                  ":5:1: more than 3 lines of values, wanted one a neuron");
    value_refused("x\n1\n2\n3\n", ":1:1: no column tau, wanted it, or column "
                                  "= \"NAME\" in the genome");
    value_refused("tau\n1\n-2\n3\n",
                  ":3:1: tau_m_ms is -2, wanted 0.001 to 1000000");
    value_refused("tau\n1\ninf\n3\n",
                  ":3:1: column 1 is text of 3 bytes, wanted a "
                  "number");
    put("e.csv", "source,target\n0,0\n");
    refused(MAP "weight_mv = { file = \"e.csv\" }\n",
            "15:22: weight_mv is \"e.csv\", wanted a number or a distribution");
}

/* ---- the hash ----------------------------------------------------------- */

static vly_hash hash_of(const char *text)
{
    vly_genome *genome = loaded(text);
    vly_genome *again = loaded(genome->resolved);
    vly_hash hash = genome->hash;
    assert_memory_equal(&hash, &again->hash, sizeof(hash));
    vly_genome_destroy(genome);
    vly_genome_destroy(again);
    return hash;
}

static void content_is_hashed(void **state)
{
    (void)state;
    put("e.csv", "source,target,weight\n0,0,1\n2,3,4\n");
    vly_hash first = hash_of(MAP);
    put("e.csv", "weight,source,target\r\n4.0,2,3\r\n1,0,0\r\n");
    vly_hash other = hash_of(MAP);
    assert_memory_equal(&first, &other, sizeof(first));
    put("f.csv", "source,target,weight\n0,0,1\n2,3,4\n");
    other = hash_of(HEAD "[[map]]\nfrom = \"A\"\nto = \"B\"\nrule = \"file\"\n"
                         "file = \"./f.csv\"\n");
    assert_memory_equal(&first, &other, sizeof(first));
    put("e.csv", "source,target,weight\n0,0,1\n2,3,4.5\n");
    other = hash_of(MAP);
    assert_memory_not_equal(&first, &other, sizeof(first));
    put("p.csv", "tau\n1\n2\n3\n");
    first = hash_of(PARAM);
    other = hash_of("format = 1\n[area.A]\nmodel = \"lif_psc_delta\"\n"
                    "neurons = 3\ntau_m_ms = [1, 2, 3]\n");
    assert_memory_equal(&first, &other, sizeof(first));
}

/* Every allocation of reading may fail. */
static void memory_fails(void **state)
{
    (void)state;
    put("e.csv", "source,target,weight,delay\n0,0,1,1\n2,3,4,2\n");
    uint64_t before = vly_memory_live();
    vly_status status = VLY_E_NOMEM;
    for (uint64_t n = 1; status == VLY_E_NOMEM; n++) {
        vly_genome *genome = NULL;
        vly_error error = VLY_ERROR_INIT;
        vly_memory_fail_at(n);
        status = load(MAP, &genome, &error);
        vly_memory_fail_at(0);
        vly_genome_destroy(genome);
        assert_true(vly_memory_live() == before);
        assert_true(n < 10000);
    }
    assert_int_equal(status, VLY_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(edges_in_order),
    cmocka_unit_test(edges_compiled),
    cmocka_unit_test(edges_of_the_map),
    cmocka_unit_test(edges_keep_small_weights),
    cmocka_unit_test(edges_malformed),
    cmocka_unit_test(files_hostile),
    cmocka_unit_test(hdf5_is_known),
    cmocka_unit_test(maps_refused),
    cmocka_unit_test(values_read),
    cmocka_unit_test(values_refused),
    cmocka_unit_test(content_is_hashed),
    cmocka_unit_test(memory_fails),
};
VLY_TEST_MAIN(tests)
