/* SPDX-License-Identifier: Apache-2.0
 * [[record]]: areas, neurons, fields, intervals; what resolve prints of it.
 */
#include "test_genome_text.h"

#include <stdlib.h>

#define NET                                                                    \
    "format = 1\n[run]\ndt_ms = 0.1\n"                                         \
    "[area.A]\nmodel = \"lif_psc_exp\"\nneurons = 8\n"                         \
    "[area.B]\nmodel = \"lif_psc_delta\"\nneurons = 6\n"                       \
    "[area.C]\ngenerator = \"pulse\"\nneurons = 1\nperiod_ms = 5\n"            \
    "count = 3\n"

#define RECORDS                                                                \
    "[[record]]\nwhat = \"spikes\"\nfrom = [\"C\", \"B\"]\nneurons = [0]\n"    \
    "[[record]]\nwhat = \"fields\"\nfrom = [\"B\", \"A\"]\n"                   \
    "fields = [\"refractory\", \"v_mv\"]\nneurons = [5, 0, 3]\n"               \
    "interval_ms = 0.25\n"                                                     \
    "[[record]]\nwhat = \"fields\"\nfrom = \"A\"\nfields = \"i_syn_pa\"\n"     \
    "[[record]]\nwhat = \"fields\"\nfrom = \"A\"\nfields = [\"v_mv\"]\n"       \
    "interval_bursts = 7\n"                                                    \
    "[[record]]\nwhat = \"rates\"\nfrom = [\"C\", \"A\"]\n"                    \
    "interval_ms = 2\n"                                                        \
    "[[record]]\nwhat = \"rates\"\nfrom = \"B\"\nby = \"neuron\"\n"            \
    "interval_bursts = 4\nstart_burst = 2\nstop_burst = 6\n"                   \
    "neurons = [5, 3, 0]\n"

#define LEARNS                                                                 \
    "[plasticity.p]\nrule = \"stdp\"\nw_max_pa = 3\n"                          \
    "[[map]]\nid = \"m\"\nfrom = \"B\"\nto = \"A\"\nrule = \"all_to_all\"\n"   \
    "weight_pa = 1\ndelay_ms = 1\nplasticity = \"p\"\n"                        \
    "[[record]]\nwhat = \"weights\"\nmap = \"m\"\nfirst = 5\nn = 7\n"          \
    "interval_ms = 2\n"                                                        \
    "[[record]]\nwhat = \"weights\"\nmap = \"m\"\ninterval_bursts = 9\n"

static const char *name_of(const vly_genome *genome, uint32_t r)
{
    const vly_record *record = &genome->records[r];
    return genome->areas[record->area].model->fields[record->field].name;
}

static void check_records(const vly_genome *genome)
{
    static const struct {
        vly_record_kind kind;
        uint32_t area;
        uint32_t group;
        const char *field;
        uint64_t interval;
        uint32_t n_neurons;
    } wanted[] = {
        {VLY_RECORD_SPIKES, 2, 0, NULL, 0, 1},
        {VLY_RECORD_SPIKES, 1, 0, NULL, 0, 1},
        {VLY_RECORD_FIELDS, 1, 1, "refractory", 3, 3},
        {VLY_RECORD_FIELDS, 0, 1, "refractory", 3, 3},
        {VLY_RECORD_FIELDS, 1, 1, "v_mv", 3, 3},
        {VLY_RECORD_FIELDS, 0, 1, "v_mv", 3, 3},
        {VLY_RECORD_FIELDS, 0, 2, "i_syn_pa", 10, 0},
        {VLY_RECORD_FIELDS, 0, 3, "v_mv", 7, 0},
        {VLY_RECORD_RATES, 2, 4, NULL, 20, 0},
        {VLY_RECORD_RATES, 0, 4, NULL, 20, 0},
        {VLY_RECORD_RATES, 1, 5, NULL, 4, 3},
    };
    uint32_t n = sizeof wanted / sizeof wanted[0];
    assert_int_equal(genome->n_records, n);
    for (uint32_t r = 0; r < n; r++) {
        const vly_record *record = &genome->records[r];
        assert_int_equal(record->kind, wanted[r].kind);
        assert_int_equal(record->area, wanted[r].area);
        assert_int_equal(record->group, wanted[r].group);
        assert_int_equal(record->n_neurons, wanted[r].n_neurons);
        assert_int_equal(record->interval, wanted[r].interval);
        assert_int_equal(record->by_neuron, wanted[r].group == 5);
        if (wanted[r].field != NULL)
            assert_string_equal(name_of(genome, r), wanted[r].field);
        if (wanted[r].n_neurons == 3) {
            assert_int_equal(record->neurons[0], 0);
            assert_int_equal(record->neurons[1], 3);
            assert_int_equal(record->neurons[2], 5);
        }
    }
}

static void as_written(void **state)
{
    (void)state;
    vly_genome *plain = genome_of(NET);
    vly_genome *genome = genome_of(NET RECORDS);
    check_records(genome);
    /* what is recorded is in no hash */
    assert_memory_equal(&plain->hash, &genome->hash, sizeof plain->hash);
    vly_genome *again = genome_of(genome->resolved);
    check_records(again);
    vly_genome_destroy(plain);
    vly_genome_destroy(genome);
    vly_genome_destroy(again);
}

/* Parts of one area are one list of neurons, also where another area stands
 * between them. */
static void parts(void **state)
{
    static const struct {
        const char *what;
        const char *from;
        uint32_t n_records; /* of area A (index 0), then of others */
        uint32_t n;
        uint32_t neurons[8];
    } cases[] = {
        {"\"spikes\"", "[\"A[5:7]\", \"A[0:2]\"]", 1, 4, {0, 1, 5, 6}},
        {"\"fields\"\nfields = \"v_mv\"",
         "[\"A[7:]\", \"B\", \"A[:2]\", \"A[3:4]\"]",
         2,
         4,
         {0, 1, 3, 7}},
        {"\"rates\"\nby = \"neuron\"\ninterval_ms = 1",
         "[\"A[4:]\", \"A[:4]\"]",
         1,
         8,
         {0, 1, 2, 3, 4, 5, 6, 7}},
    };
    char text[600];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(text, sizeof text, NET "[[record]]\nwhat = %s\nfrom = %s\n",
                 cases[i].what, cases[i].from);
        vly_genome *genome = genome_of(text);
        vly_genome *again = genome_of(genome->resolved);
        const vly_genome *const both[] = {genome, again};
        for (size_t k = 0; k < 2; k++) {
            const vly_record *record = both[k]->records;
            assert_int_equal(both[k]->n_records, cases[i].n_records);
            assert_int_equal(record->area, 0);
            assert_int_equal(record->n_neurons, cases[i].n);
            assert_memory_equal(record->neurons, cases[i].neurons,
                                cases[i].n * sizeof(uint32_t));
        }
        vly_genome_destroy(genome);
        vly_genome_destroy(again);
    }
}

/* A glob is the fields that all areas have, in the order of the first one's
 * model; what it makes is written out by resolve. */
static void globs(void **state)
{
    static const struct {
        const char *from;
        const char *fields;
        const char *names; /* of area A or the only one, then the next */
    } cases[] = {
        {"\"A\"", "\"v*\"", "v_mv "},
        {"\"A\"", "[\"refractory\", \"*_mv\"]", "refractory v_mv "},
        {"\"A\"", "\"?_syn*\"", "i_syn_pa "},
        {"[\"A\", \"B\"]", "\"*\"", "v_mv v_mv refractory refractory "},
    };
    char text[600];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char names[200] = "";
        snprintf(text, sizeof text,
                 NET "[[record]]\nwhat = \"fields\"\nfrom = %s\nfields = %s\n",
                 cases[i].from, cases[i].fields);
        vly_genome *genome = genome_of(text);
        vly_genome *again = genome_of(genome->resolved);
        assert_int_equal(genome->n_records, again->n_records);
        for (uint32_t r = 0; r < genome->n_records; r++) {
            strcat(strcat(names, name_of(genome, r)), " ");
            assert_string_equal(name_of(genome, r), name_of(again, r));
        }
        assert_string_equal(names, cases[i].names);
        vly_genome_destroy(genome);
        vly_genome_destroy(again);
    }
}

/* 1 ms, a burst where that is longer */
static void interval_by_itself(void **state)
{
    static const struct {
        const char *run;
        uint64_t interval;
    } cases[] = {{"dt_ms = 0.1", 10}, {"dt_ms = 0.4", 3}, {"dt_ms = 5", 1}};
    char text[400];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        snprintf(text, sizeof text,
                 "format = 1\n[run]\n%s\n[area.A]\nmodel = \"lif_psc_exp\"\n"
                 "neurons = 8\n[[record]]\nwhat = \"fields\"\nfrom = \"A\"\n"
                 "fields = \"v_mv\"\n",
                 cases[i].run);
        vly_genome *genome = genome_of(text);
        assert_int_equal(genome->records[0].interval, cases[i].interval);
        vly_genome_destroy(genome);
    }
}

/* Of every port one, of several areas by name; other records count fields of
 * the models as they are written, and the area that is not recorded keeps its
 * model. */
static void input(void **state)
{
    static const struct {
        vly_record_kind kind;
        const char *area;
        const char *field;
        uint64_t interval;
        uint32_t n_neurons;
    } wanted[] = {
        {VLY_RECORD_FIELDS, "A", "v_mv", 10, 0},
        {VLY_RECORD_FIELDS, "A", "i_syn_pa", 10, 0},
        {VLY_RECORD_FIELDS, "A", "refractory", 10, 0},
        {VLY_RECORD_INPUT, "D", "input_ex_ns", 10, 2},
        {VLY_RECORD_INPUT, "D", "input_inh_ns", 10, 2},
        {VLY_RECORD_INPUT, "A", "input_pa", 10, 0},
        {VLY_RECORD_INPUT, "E", "input_pa", 10, 0},
        {VLY_RECORD_INPUT, "F", "input_p_pa", 7, 1},
        {VLY_RECORD_INPUT, "F", "input_one", 7, 1},
        {VLY_RECORD_INPUT, "F", "input_w_mv", 7, 1},
    };
    static const char text[] =
        NET "[area.D]\nmodel = \"adex\"\nneurons = 3\n"
            "[area.E]\nmodel = \"lif_psc_alpha\"\nneurons = 3\n"
            "[area.Z]\nmodel = \"adex\"\nneurons = 0\n"
            "[neuron.own]\nport = { p = \"pA\", one = \"1\", w = \"mV\" }\n"
            "state = { v = \"0 mV\" }\neq = \"v' = -v/(5 ms)\"\n"
            "on.p = \"v += in*(1 GOhm)\"\non.one = \"v += in*(1 mV)\"\n"
            "on.w = \"v += in\"\nspike = \"v >= 1 mV\"\nreset = \"v = 0 mV\"\n"
            "record_input = false\n"
            "[area.F]\nmodel = \"own\"\nneurons = 3\n"
            "[area.G]\nmodel = \"own\"\nneurons = 3\n"
            "[[record]]\nwhat = \"fields\"\nfrom = \"A\"\nfields = \"*\"\n"
            "[[record]]\nwhat = \"input\"\n"
            "from = [\"D[1:]\", \"A\", \"Z\", \"E\"]\n"
            "[[record]]\nwhat = \"input\"\nfrom = \"F\"\nneurons = [2]\n"
            "interval_bursts = 7\nstart_burst = 3\nstop_burst = 90\n";
    const uint32_t n = sizeof wanted / sizeof wanted[0];
    (void)state;
    vly_genome *first = genome_of(text);
    vly_genome *again = genome_of(first->resolved);
    const vly_genome *const both[] = {first, again};
    for (size_t k = 0; k < 2; k++) {
        const vly_genome *genome = both[k];
        assert_int_equal(genome->n_records, n);
        for (uint32_t r = 0; r < n; r++) {
            const vly_record *record = &genome->records[r];
            assert_int_equal(record->kind, wanted[r].kind);
            assert_string_equal(genome->areas[record->area].name,
                                wanted[r].area);
            assert_int_equal(record->interval, wanted[r].interval);
            assert_int_equal(record->n_neurons, wanted[r].n_neurons);
        }
        assert_int_equal(genome->records[n - 1].start, 3);
        assert_int_equal(genome->records[n - 1].stop, 90);
        assert_ptr_equal(genome->areas[1].model,
                         vly_model_find("lif_psc_delta"));
        /* a user's model keeps its name, which is the key of its draws */
        const vly_area *f = &genome->areas[vly_genome_area(genome, "F")];
        const vly_area *g = &genome->areas[vly_genome_area(genome, "G")];
        assert_string_equal(f->model->id, "own");
        assert_int_equal(f->model->n_fields, g->model->n_fields + 6);
        assert_true(vly_genome_area(genome, "Z") == UINT32_MAX);
    }
    for (uint32_t r = 0; r < n; r++) {
        assert_string_equal(name_of(first, r), wanted[r].field);
        assert_string_equal(name_of(again, r), wanted[r].field);
    }
    assert_memory_equal(&first->hash, &again->hash, sizeof first->hash);
    assert_int_equal(first->n_notes, 2); /* the record, and the empty area */
    vly_genome_destroy(first);
    vly_genome_destroy(again);
}

static void no_memory(void **state)
{
    static const char text[] = NET RECORDS
        "[[record]]\nwhat = \"input\"\nfrom = [\"A\", \"B\"]\n" LEARNS;
    uint64_t live = vly_memory_live();
    uint64_t left = 0;
    uint64_t n = 1;
    (void)state;
    for (; left == 0; n++) {
        vly_error error = VLY_ERROR_INIT;
        vly_genome *genome = NULL;
        vly_memory_fail_at(n);
        vly_status status = vly_genome_parse(text, sizeof text - 1, "t", NULL,
                                             0, &genome, &error);
        left = vly_memory_fail_at(0);
        assert_int_equal(status, left == 0 ? VLY_E_NOMEM : VLY_OK);
        vly_genome_destroy(genome);
        assert_int_equal(vly_memory_live(), live);
    }
    assert_true(n > 50);
}

/* Apart from the others: without one of these a run records all spikes. */
static void check_weights(const vly_genome *genome)
{
    const vly_weight_record *record = genome->weight_records;
    assert_int_equal(genome->n_records, 0);
    assert_int_equal(genome->n_weight_records, 2);
    assert_string_equal(record[0].map, "m");
    assert_int_equal(record[0].first, 5);
    assert_int_equal(record[0].n, 7);
    assert_int_equal(record[0].interval, 20);
    assert_int_equal(record[1].first, 0);
    assert_true(record[1].n == UINT64_MAX);
    assert_int_equal(record[1].interval, 9);
}

static void weights(void **state)
{
    (void)state;
    vly_genome *genome = genome_of(NET LEARNS);
    vly_genome *again = genome_of(genome->resolved);
    check_weights(genome);
    check_weights(again);
    vly_genome_destroy(genome);
    vly_genome_destroy(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_written), cmocka_unit_test(parts),
        cmocka_unit_test(globs),      cmocka_unit_test(interval_by_itself),
        cmocka_unit_test(weights),    cmocka_unit_test(no_memory),
        cmocka_unit_test(input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
