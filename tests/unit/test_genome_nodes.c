/* SPDX-License-Identifier: Apache-2.0
 * Parameters from SONATA nodes: by node group, by node type, from the files of
 * dynamics_params; what is refused.
 */
#include "test_genome_text.h"

#include <hdf5.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define FOLDER VLY_TEST_BINARY_DIR "/genome_nodes"
#define NET                                                                    \
    "format = 1\n[run]\ndt_ms = 0.1\n[area.A]\nmodel = \"lif_psc_exp\"\n"      \
    "neurons = 4\n"
#define VALUE                                                                  \
    "tau_m_ms = { file = \"n.h5\", column = \"tau_m\", "                       \
    "node_types_file = \"types.csv\" }\n"

/* Nodes 0 and 2 are of group 0, the others of group 7. */
static int64_t types[4];
static int64_t groups[4];
static int64_t indexes[4];
static int64_t ids[4];
static double tau[2];
static const char *attribute; /* of group 0; NULL: none */
static bool with_ids;
static hsize_t n_tau;
static int n_populations;

static void put_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void put(hid_t group, const char *name, hid_t type, const void *data,
                hsize_t n)
{
    hid_t space = H5Screate_simple(1, &n, NULL);
    hid_t parents = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(parents, 1);
    hid_t set =
        H5Dcreate2(group, name, type, space, parents, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Dclose(set);
    H5Pclose(parents);
    H5Sclose(space);
}

static void write_nodes(void)
{
    hid_t file =
        H5Fcreate(FOLDER "/n.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    for (int p = 0; p < n_populations; p++) {
        char name[40];
        snprintf(name, sizeof(name), "nodes/v%d/node_type_id", p);
        put(file, name, H5T_NATIVE_INT64, types, 4);
    }
    put(file, "nodes/v0/node_group_id", H5T_NATIVE_INT64, groups, 4);
    put(file, "nodes/v0/node_group_index", H5T_NATIVE_INT64, indexes, 4);
    if (with_ids)
        put(file, "nodes/v0/node_id", H5T_NATIVE_INT64, ids, 4);
    if (attribute)
        put(file, attribute, H5T_NATIVE_DOUBLE, tau, n_tau);
    put(file, "nodes/v0/7/x", H5T_NATIVE_DOUBLE, tau, n_tau);
    H5Fclose(file);
}

static int reset(void **state)
{
    (void)state;
    mkdir(FOLDER, 0777);
    mkdir(FOLDER "/models", 0777);
    for (int i = 0; i < 4; i++) {
        types[i] = 100 + i / 2;
        groups[i] = i % 2 ? 7 : 0;
        indexes[i] = i / 2;
        ids[i] = (i + 3) % 4;
    }
    tau[0] = 10;
    tau[1] = 12;
    attribute = "nodes/v0/0/dynamics_params/tau_m";
    with_ids = false;
    n_tau = 2;
    n_populations = 1;
    put_text(FOLDER "/types.csv",
             "node_type_id model_template tau_m dynamics_params pop_name\n"
             "101 nest:iaf_psc_exp NULL exc.json \"LIF exc\"\n"
             "100 nest:iaf_psc_exp 20.5 missing.json inh\n");
    put_text(FOLDER "/exc.json",
             "{\"C_m\": 1, \"a\\nb\": [1, {\"tau_m\": 9}, null],\n"
             " \"tau_m\": 30.25, \"V_th\": -5e1}\n");
    put_text(FOLDER "/models/exc.json", "{\"tau_m\": 40}");
    return 0;
}

static vly_status load(const char *text, vly_genome **genome, vly_error *error)
{
    write_nodes();
    return vly_genome_parse(text, strlen(text), FOLDER "/t.toml", NULL, 0,
                            genome, error);
}

/* The genome is that with this list, hash and all. */
static void same(const char *text, const char *list)
{
    char other[600];
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    snprintf(other, sizeof(other), NET "tau_m_ms = %s\n", list);
    vly_genome *wanted = genome_of(other);
    assert_ok(load(text, &genome, &error), error);
    if (memcmp(&genome->hash, &wanted->hash, sizeof(genome->hash)) != 0)
        fail_msg("not %s:\n%s", list, genome->resolved);
    vly_genome_destroy(genome);
    vly_genome_destroy(wanted);
}

static void groups_and_types(void **state)
{
    (void)state;
    same(NET VALUE, "[10, 20.5, 12, 30.25]");
    with_ids = true; /* node 0 is neuron 3 */
    same(NET VALUE, "[20.5, 12, 30.25, 10]");
    with_ids = false;
    attribute = "nodes/v0/0/tau_m";
    same(NET VALUE, "[10, 20.5, 12, 30.25]");
    attribute = "nodes/v0/7/tau_m";
    same(NET VALUE, "[20.5, 10, 30.25, 12]");
    attribute = NULL;
    same(NET VALUE, "[20.5, 20.5, 30.25, 30.25]");
    n_populations = 2;
    same(NET "tau_m_ms = { file = \"n.h5\", column = \"tau_m\", population = "
             "\"v0\", node_types_file = \"types.csv\", dynamics_params_dir = "
             "\"models\" }\n",
         "[20.5, 20.5, 40, 40]");
}

/* Without types, and with the name of the key. */
static void groups_alone(void **state)
{
    (void)state;
    attribute = "nodes/v0/0/tau_m_ms";
    for (int i = 0; i < 4; i++) {
        groups[i] = 0;
        indexes[i] = i % 2;
    }
    same(NET "tau_m_ms = { file = \"n.h5\" }\n", "[10, 12, 10, 12]");
}

static void refused_with(vly_status wanted, const char *text,
                         const char *message)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    const uint64_t before = vly_memory_live();
    assert_int_equal(load(text, &genome, &error), wanted);
    if (!strstr(error.message, message))
        fail_msg("\"%s\" lacks \"%s\"", error.message, message);
    assert_true(vly_memory_live() == before);
}

static void refused(const char *text, const char *message)
{
    refused_with(VLY_E_PARSE, text, message);
}

static void nodes_refused(void **state)
{
    (void)state;
    tau[1] = -3;
    refused(NET VALUE, ":7:21: n.h5: /nodes/v0[2]: tau_m_ms is -3, wanted ");
    tau[1] = (double)NAN;
    refused(NET VALUE, "/nodes/v0[2]: tau_m_ms is not finite");
    tau[1] = 5;
    indexes[2] = 2;
    refused(NET VALUE, "n.h5: /nodes/v0/node_group_index[2]: is 2, and group 0 "
                       "has 2 values of tau_m, wanted one of them");
    indexes[2] = -1;
    refused(NET VALUE, "node_group_index[2]: is -1");
    indexes[2] = 1;
    with_ids = true;
    ids[1] = 3;
    refused(NET VALUE, "/nodes/v0/node_id[1]: is 3 again, wanted each number "
                       "from 0 to 3 once");
    ids[1] = 4;
    refused(NET VALUE, "/nodes/v0/node_id[1]: is 4, wanted each number");
    with_ids = false;
    types[3] = 9;
    refused(NET VALUE, "/nodes/v0/node_type_id[3]: is 9, a type that is not in "
                       "types.csv");
    types[3] = 101;
    n_populations = 2;
    refused(NET VALUE, "n.h5: /nodes: 2 populations, wanted one, or population "
                       "= \"NAME\"");
    refused(NET "tau_m_ms = { file = \"n.h5\", population = \"v\" }\n",
            "n.h5: /nodes/v: no such population");
    refused(NET "tau_m_ms = { file = \"n.h5\", population = \"V1/E\" }\n",
            "n.h5: /nodes/V1.E: no such population");
    n_populations = 1;
    refused(NET "tau_m_ms = { file = \"n.h5\", column = \"tau_m\" }\n",
            "n.h5: /nodes/v0/node_group_id[1]: group 7 has no tau_m, wanted "
            "it, or node_types_file");
    refused(NET "tau_m_ms = { file = \"n.h5\", column = \"0/x\" }\n",
            "column 0/x of SONATA nodes, wanted a name without slashes");
    refused(
        "format = 1\n[area.A]\nmodel = \"lif_psc_exp\"\nneurons = 5\n" VALUE,
        "n.h5: /nodes/v0 has 4 nodes, wanted 5, one a neuron");
}

static void types_refused(void **state)
{
    static const struct {
        const char *file;
        const char *text;
        const char *message;
    } cases[] = {
        {"types.csv", "node_type_id tau_m\n100 x\n",
         ":7:65: types.csv:2:5: tau_m is \"x\", wanted a number"},
        {"types.csv", "node_type_id,tau_m\n100,2\n",
         "types.csv:1:1: no column node_type_id, wanted SONATA's node types"},
        {"types.csv", "node_type_id tau_m\n100 1\n100 2\n",
         "types.csv: node_type_id 100 stands twice, wanted each once"},
        {"types.csv", "node_type_id tau_m\n1.5 1\n",
         "types.csv:2:1: node_type_id is 1.5, wanted a whole number"},
        {"types.csv", "node_type_id tau_m\n100 1\n101 NULL\n",
         "/nodes/v0/node_type_id[3]: is 101, a type that has in types.csv and "
         "in its dynamics_params no tau_m"},
        {"exc.json", "{\"V_m\": 1}", "in its dynamics_params no tau_m"},
        {"exc.json", "{\"a\\nb\": 1,\n \"tau_m\": \"20\"}",
         ":7:65: exc.json:2:11: \"\"20\"}\", wanted a number"},
        {"exc.json", "{\"tau_m\": -}", "exc.json:1:12: \"}\", wanted a digit"},
        {"exc.json", "{\"a\": [nan]}",
         "exc.json:1:8: \"nan]}\", wanted a value"},
        {"exc.json", "{\"tau_m\": 1, \"tau_m\": 2}",
         "exc.json:1:14: \"\"tau_m\": 2}\", wanted each parameter once"},
        {"exc.json", "[1]", "exc.json:1:1: \"[1]\", wanted an object"},
        {"exc.json", "{\"tau_m\": 1} x",
         "exc.json:1:14: \"x\", wanted the end"},
        {"exc.json", "{\"a\": [1, 2",
         "exc.json:1:12: the end of it, wanted a "
         "comma or the closing bracket"},
    };
    char path[200];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        reset(state);
        snprintf(path, sizeof(path), FOLDER "/%s", cases[i].file);
        put_text(path, cases[i].text);
        refused(NET VALUE, cases[i].message);
    }
    reset(state);
    put_text(FOLDER "/types.csv",
             "node_type_id dynamics_params\n100 none.json\n");
    refused_with(VLY_E_IO, NET VALUE, ":7:65: none.json: ");
    reset(state);
    refused(NET "tau_m_ms = { file = \"types.csv\", population = \"v0\" }\n",
            "types.csv is not an HDF5 file, wanted one, or no population");
    refused(NET "tau_m_ms = { file = \"n.h5\", dynamics_params_dir = \".\" }\n",
            "dynamics_params_dir without node_types_file, wanted both");
}

/* ---- models ------------------------------------------------------------- */

#define AREA(before)                                                           \
    "format = 1\n[run]\ndt_ms = 0.1\n" before "[area.A]\nneurons = 4\n"
#define MODEL "model = { file = \"n.h5\", node_types_file = \"types.csv\" }\n"
#define DELTA                                                                  \
    "{\"C_m\": 200, \"t_ref\": 3, \"E_L\": -70, \"V_th\": -55, \"V_reset\": "  \
    "-60, "                                                                    \
    "\"tau_m\": 8, \"I_e\": 5, \"V_m\": -65, \"beta\": [1]}"

#define LETTERS "abcdefghijklmnopqrstuvwxyz"

static void put_models(const char *first, const char *second)
{
    char text[300];
    snprintf(text, sizeof(text),
             "node_type_id model_type model_template dynamics_params\n"
             "100 %s a.json\n101 %s b.json\n",
             first, second);
    put_text(FOLDER "/types.csv", text);
}

static void same_genome(const char *text, const char *other, const char *note)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    vly_genome *wanted = genome_of(other);
    assert_ok(load(text, &genome, &error), error);
    if (memcmp(&genome->hash, &wanted->hash, sizeof(genome->hash)) != 0)
        fail_msg("not %s:\n%s", other, genome->resolved);
    assert_int_equal(genome->n_notes, note ? 1 : 0);
    if (note && !strstr(genome->notes[0], note))
        fail_msg("\"%s\" lacks \"%s\"", genome->notes[0], note);
    vly_genome_destroy(genome);
    vly_genome_destroy(wanted);
}

/* Parameters of a group, of types and of dynamics_params; a key of the area
 * takes precedence over all. */
static void models(void **state)
{
    (void)state;
    put_models("point_neuron nest:iaf_psc_delta", "NULL nest:iaf_psc_delta");
    put_text(FOLDER "/a.json", DELTA);
    put_text(FOLDER "/b.json",
             "{\"C_m\": 250, \"t_ref\": 2, \"E_L\": -71, \"V_th\": -50, "
             "\"V_reset\": -61, \"tau_m\": 9, \"I_e\": 0, \"beta\": 2, "
             "\"" LETTERS LETTERS LETTERS LETTERS "\": 1, \"" LETTERS LETTERS
             "\": 1, \"" LETTERS LETTERS LETTERS "\": 1}");
    same_genome(AREA("") MODEL "i_e_pa = 7\n",
                AREA("") "model = \"lif_psc_delta\"\nc_m_pf = [200, 200, 250, "
                         "250]\nt_ref_ms = [3, 3, 2, 2]\ne_l_mv = [-70, -70, "
                         "-71, -71]\nv_th_mv = [-55, -55, -50, -50]\n"
                         "v_reset_mv = [-60, -60, -61, -61]\n"
                         "tau_m_ms = [10, 8, 12, 9]\ni_e_pa = 7\n",
                "dynamics_params of types.csv: V_m, beta, " LETTERS LETTERS
                    LETTERS LETTERS ", " LETTERS LETTERS ", ...: not used, no "
                "parameter of lif_psc_delta");
}

/* A [neuron] of the template's name is that model, with NEST's names. */
static void models_of_users(void **state)
{
    static const char own[] = AREA(
        "[neuron.iaf_own]\nparam = { tau_m = \"10 ms\", v_th = \"-50 mV\", "
        "tau_syn_ex = \"2 ms\", k = 1, drive = \"0 mV/ms\" }\n"
        "port = { x = \"mV\" }\nstate = { v = \"0 mV\" }\n"
        "eq = \"v' = drive - k*v/tau_m\"\non.x = \"v += tau_syn_ex/tau_m*in\"\n"
        "spike = \"v >= v_th\"\nreset = \"v = -90 mV\"\n");
    char text[900];
    char other[900];
    (void)state;
    attribute = NULL;
    put_models("point_process nest:iaf_own", "point_process nest:iaf_own");
    put_text(FOLDER "/a.json", "{\"tau_m\": 8, \"V_th\": 3, \"tau_syn_ex\": 4, "
                               "\"k\": 2, \"drive\": 1}");
    put_text(FOLDER "/b.json", "{\"tau_m\": 9, \"V_th\": 3, \"tau_syn_ex\": 5, "
                               "\"k\": 3, \"drive\": 1}");
    snprintf(text, sizeof(text), "%s" MODEL, own);
    snprintf(other, sizeof(other),
             "%smodel = \"iaf_own\"\ntau_m_ms = [8, 8, 9, 9]\nv_th_mv = [3, 3, "
             "3, 3]\ntau_syn_ex_ms = [4, 4, 5, 5]\nk = [2, 2, 3, 3]\n"
             "drive_mv_per_ms = [1, 1, 1, 1]\n",
             own);
    same_genome(text, other, NULL);
}

static void models_refused(void **state)
{
    static const struct {
        const char *first;
        const char *second;
        const char *message;
    } cases[] = {
        {"point_neuron nest:iaf_psc_exp", "point_neuron nest:iaf_psc_delta",
         ":6:44: types.csv: node_type_id 100 is nest:iaf_psc_exp, and 101 is "
         "nest:iaf_psc_delta, wanted one model"},
        {"biophysical ctdb:Biophys1.hoc", "biophysical ctdb:Biophys1.hoc",
         "node_type_id 100: model_type biophysical, model_template "
         "ctdb:Biophys1.hoc: a neuron with compartments, wanted point_neuron"},
        {"point_process nrn:IntFire1", "point_process nrn:IntFire1",
         "model_template nrn:IntFire1: not a model of NEST, wanted nest:NAME"},
        {"virtual NULL", "virtual NULL",
         "model_type virtual, model_template NULL: a node that only fires, "
         "wanted an [area] with generator"},
        {"point_neuron NULL", "point_neuron nest:iaf_psc_exp",
         "model_template NULL: no model_template, wanted nest:NAME"},
        {"point_neuron nest:aeif_cond_alpha", "NULL nest:aeif_cond_alpha",
         "model_template nest:aeif_cond_alpha: no built-in model has "
         "alpha-shaped conductances"},
        {"point_neuron nest:iaf_cond_alpha", "NULL nest:iaf_cond_alpha",
         "`volley new neurons/iaf_cond_alpha`; wanted a "
         "[neuron.iaf_cond_alpha]"},
        {"point_neuron nest:iaf_psc_exp", "point_neuron nest:iaf_psc_exp",
         "and in its dynamics_params no tau_syn_ex"},
    };
    put_text(FOLDER "/a.json", DELTA);
    put_text(FOLDER "/b.json", DELTA);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put_models(cases[i].first, cases[i].second);
        refused(AREA("") MODEL, cases[i].message);
    }
    reset(state);
    refused(AREA("") "model = { file = \"n.h5\" }\n",
            "model without node_types_file, wanted a [model]");
    refused(AREA("") "model = { node_types_file = \"types.csv\" }\n",
            "model without file");
    refused(AREA("") "model = { file = \"types.csv\", node_types_file = "
                     "\"types.csv\" }\n",
            "types.csv is not an HDF5 file, wanted SONATA nodes");
    refused(AREA("") "model = { file = \"n.h5\", column = \"x\" }\n",
            "unknown key column");
    refused(AREA("") "model = { file = 3 }\n", "file is 3, wanted ");
}

/* The n-th allocation fails: refused as such, and nothing is left. */
static void no_memory_of(const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    vly_status status;
    uint64_t n = 0;
    do {
        const uint64_t before = vly_memory_live();
        vly_genome *genome = NULL;
        vly_memory_fail_at(++n);
        status = load(text, &genome, &error);
        vly_memory_fail_at(0);
        vly_genome_destroy(genome);
        assert_true(status == VLY_OK || status == VLY_E_NOMEM);
        assert_true(vly_memory_live() == before);
    } while (status != VLY_OK && n < 10000);
    assert_int_equal(status, VLY_OK);
    assert_true(n > 30);
}

static void no_memory(void **state)
{
    (void)state;
    no_memory_of(NET VALUE);
    put_models("point_neuron nest:iaf_psc_delta", "NULL nest:iaf_psc_delta");
    put_text(FOLDER "/a.json", DELTA);
    put_text(FOLDER "/b.json", DELTA);
    no_memory_of(AREA("") MODEL "c_m_pf = 1\nt_ref_ms = 1\ne_l_mv = 0\n"
                                "v_reset_mv = 0\ni_e_pa = 0\n");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(groups_and_types, reset),
    cmocka_unit_test_setup(groups_alone, reset),
    cmocka_unit_test_setup(nodes_refused, reset),
    cmocka_unit_test_setup(types_refused, reset),
    cmocka_unit_test_setup(models, reset),
    cmocka_unit_test_setup(models_of_users, reset),
    cmocka_unit_test_setup(models_refused, reset),
    cmocka_unit_test_setup(no_memory, reset),
};
VLY_TEST_MAIN(tests)
