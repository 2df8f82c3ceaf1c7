/* SPDX-License-Identifier: Apache-2.0
 * Spikes from files: the same genome as by lists in the genome, weights, times
 * at both ends of bursts, tables of a program.
 */
#include "test_genome_text.h"

#include <sys/stat.h>

#include "genome/spike_area.h"

#define FOLDER VLY_TEST_BINARY_DIR "/spike_file"
#define HEAD                                                                   \
    "format = 1\n[run]\ndt_ms = 0.1\n"                                         \
    "[area.A]\nmodel = \"lif_psc_exp\"\nneurons = 6\n"
#define SPIKES HEAD "[[stimulus]]\nid = \"s\"\nkind = \"spikes\"\n"

static void put(const char *name, const char *text)
{
    char path[1024];
    mkdir(FOLDER, 0777);
    snprintf(path, sizeof path, FOLDER "/%s", name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static vly_genome *loaded(const char *text, const vly_table *table)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    const vly_genome_source source = {.struct_size = sizeof source,
                                      .name = FOLDER "/t.toml",
                                      .text = text,
                                      .n_bytes = strlen(text),
                                      .tables = table,
                                      .n_tables = table ? 1 : 0};
    assert_ok(vly_genome_read(&source, &genome, &error), error);
    return genome;
}

static void assert_alike(const char *a, const vly_table *table, const char *b)
{
    vly_genome *one = loaded(a, table);
    vly_genome *other = loaded(b, NULL);
    assert_memory_equal(&one->hash, &other->hash, sizeof one->hash);
    if (!table) { /* resolved, it names the file */
        vly_genome *again = loaded(one->resolved, NULL);
        assert_memory_equal(&one->hash, &again->hash, sizeof one->hash);
        vly_genome_destroy(again);
    }
    vly_genome_destroy(one);
    vly_genome_destroy(other);
}

/* The order of lines, comments and columns do not matter; two spikes of a
 * neuron in one burst add up. */
static void same_as_lists(void **state)
{
    (void)state;
    put("s.csv", "# spikes\nneuron,time_ms\n3,0.5\n0,2.04\n3,0.1\n0,2\n");
    assert_alike(SPIKES "to = \"A\"\nfile = \"s.csv\"\nweight_pa = 5\n", NULL,
                 SPIKES "to = \"A\"\nweight_pa = 5\nbursts = [[19, 19], [], "
                        "[], [0, 4], [], []]\n");
    assert_alike(SPIKES "to = \"A\"\nfile = \"s.csv\"\ntimes_at = \"begin\"\n"
                        "weight_pa = 5\n",
                 NULL,
                 SPIKES "to = \"A\"\nweight_pa = 5\nbursts = [[20, 20], [], "
                        "[], [1, 5], [], []]\n");
    /* neurons of a part count from its first */
    assert_alike(SPIKES "to = \"A[2:]\"\nfile = \"s.csv\"\nweight_pa = 5\n",
                 NULL,
                 SPIKES "to = \"A[2:]\"\nweight_pa = 5\n"
                        "bursts = [[19, 19], [], [], [0, 4]]\n");
    /* one weight for all is the weight of the stimulus */
    put("w.csv", "weight_pa,neuron,time_ms\n5,3,0.5\n5.0,3,0.1\n");
    assert_alike(SPIKES "to = \"A\"\nfile = \"w.csv\"\n", NULL,
                 SPIKES "to = \"A\"\nweight_pa = 5\n"
                        "bursts = [[], [], [], [0, 4], [], []]\n");
}

static void assert_notes(const char *text, uint32_t n, const char *note)
{
    vly_genome *genome = loaded(text, NULL);
    assert_int_equal(genome->n_notes, n);
    if (n > 0)
        assert_non_null(strstr(genome->notes[0], note));
    vly_genome_destroy(genome);
}

static void assert_wrong(const char *text, const char *message)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    assert_int_equal(vly_genome_parse(text, strlen(text), FOLDER "/t.toml",
                                      NULL, 0, &genome, &error),
                     VLY_E_PARSE);
    assert_string_equal(error.message + strlen(FOLDER "/"), message);
}

/* A recording: with dt halved its times stay, and so does a burst that ends
 * there. */
static void recordings(void **state)
{
    (void)state;
    static const char text[] =
        "format = 1\n[run]\ndt_ms = %s\n[area.g]\ngenerator = \"spikes\"\n"
        "neurons = 4\n%s\n";
    char file[300];
    char list[300];
    put("r.csv", "burst,time_ms,area,neuron\n0,0.1,E,3\n1,0.2,I,99\n"
                 "4,0.5,E,0\n9,1,E,3\n");
    snprintf(file, sizeof file, text, "0.1",
             "file = \"r.csv\"\npopulation = \"E\"");
    snprintf(list, sizeof list, text, "0.1", "bursts = [[4], [], [], [0, 9]]");
    assert_alike(file, NULL, list);
    snprintf(file, sizeof file, text, "0.05",
             "file = \"r.csv\"\npopulation = \"E\"");
    snprintf(list, sizeof list, text, "0.05",
             "bursts = [[9], [], [], [1, 19]]");
    assert_alike(file, NULL, list);
    /* bursts alone */
    put("b.csv", "burst,neuron\n9,3\n4,0\n");
    snprintf(file, sizeof file, text, "0.1", "file = \"b.csv\"");
    snprintf(list, sizeof list, text, "0.1", "bursts = [[4], [], [], [9]]");
    assert_alike(file, NULL, list);
    /* an area of this genome that did not fire; a name that is wrong */
    snprintf(file, sizeof file, text, "0.1",
             "file = \"r.csv\"\npopulation = \"g\"");
    assert_notes(file, 1, "r.csv has no spike of g, only of E, I");
    snprintf(file, sizeof file, text, "0.1",
             "file = \"r.csv\"\npopulation = \"e\"");
    assert_wrong(file, "t.toml:8:14: population is \"e\", but r.csv has "
                       "spikes of E, I, wanted one of them");
    put("r.csv", "burst,time_ms,area,neuron\n");
    assert_notes(file, 1, "r.csv has no spike of e");
    /* spikes of one area, and they are of another; of a copy of it */
    put("r.csv", "burst,time_ms,area,neuron\n4,0.5,E,0\n9,1,E,3\n");
    snprintf(file, sizeof file, text, "0.1", "file = \"r.csv\"");
    assert_notes(file, 1,
                 "r.csv has spikes of area E, and g gets them: population = "
                 "\"E\" says that this is meant");
    put("r.csv", "burst,area,neuron\n4,g,0\n");
    assert_notes(file, 0, NULL);
    put("r.csv", "burst,area,neuron\n4,g,0\n5,g\xc3,0\n");
    assert_wrong(file, "t.toml:7:8: r.csv:3:3: area has a byte 195, which is "
                       "no UTF-8, wanted the name of an area");
}

/* One piece a weight, from the lowest; with two ports the sign chooses. */
static void weights(void **state)
{
    (void)state;
    put("w.csv", "time_ms,neuron,weight\n1,0,2\n1,1,-3\n2,0,-3\n3,5,2\n");
    vly_genome *genome =
        loaded("format = 1\n[run]\ndt_ms = 0.1\n[area.A]\n"
               "model = \"lif_psc_exp2\"\nneurons = 6\n[[stimulus]]\n"
               "kind = \"spikes\"\nto = \"A\"\nfile = \"w.csv\"\n",
               NULL);
    assert_int_equal(genome->n_stimuli, 2);
    for (int i = 0; i < 2; i++) {
        assert_close(genome->stimuli[i].weight, i ? 2 : -3, 0);
        assert_int_equal(genome->stimuli[i].port, i ? 0 : 1);
        assert_int_equal(genome->stimuli[i].n_spikes, 2);
        assert_true(genome->stimuli[i].listed);
    }
    vly_genome_destroy(genome);
    put("w.csv", "time_ms,neuron,weight\n");
    genome = loaded(SPIKES "to = \"A\"\nfile = \"w.csv\"\n", NULL);
    assert_int_equal(genome->n_stimuli, 1);
    assert_int_equal(genome->stimuli[0].n_spikes, 0);
    vly_genome_destroy(genome);
}

static void tables(void **state)
{
    (void)state;
    static const double times[] = {2, 0.5, 0.1};
    static const int64_t neurons[] = {0, 3, 3};
    const vly_table_column columns[] = {{"time_ms", times, VLY_COLUMN_F64, 0},
                                        {"neuron", neurons, VLY_COLUMN_I64, 0}};
    const vly_table table = {"mine", columns, 3, 2, 0};
    assert_alike(SPIKES "to = \"A\"\nfile = \"mine\"\nweight_pa = 5\n", &table,
                 SPIKES "to = \"A\"\nweight_pa = 5\n"
                        "bursts = [[19], [], [], [0, 4], [], []]\n");
}

/* The names of areas in a message, at every length of the second one: whole, or
 * left out for "and others". */
static void names_of_areas(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    char first[101], second[VLY_SPIKE_AREAS_TEXT], wanted[512];
    char out[VLY_SPIKE_AREAS_TEXT];
    memset(first, 'a', 100);
    first[100] = 0;
    uint32_t n_whole = 0;
    for (size_t n = 1; n < sizeof second; n++) {
        vly_spike_areas areas = {.n = 0};
        memset(second, 'b', n);
        second[n] = 0;
        assert_ok(vly_spike_areas_add(&areas, first, &error), error);
        assert_ok(vly_spike_areas_add(&areas, second, &error), error);
        assert_ok(vly_spike_areas_add(&areas, first, &error), error);
        assert_int_equal(areas.n, 2);
        snprintf(wanted, sizeof wanted, "%s, %s", first, second);
        const bool whole =
            strcmp(vly_spike_areas_text(&areas, out), wanted) == 0;
        n_whole += whole;
        if (!whole) {
            snprintf(wanted, sizeof wanted, "%s and others", first);
            assert_string_equal(out, wanted);
        }
        /* of a third name, which has no room, the text says so */
        memset(second, 'c', sizeof second - 1);
        second[sizeof second - 1] = 0;
        assert_ok(vly_spike_areas_add(&areas, second, &error), error);
        vly_spike_areas_text(&areas, out);
        assert_string_equal(out + strlen(out) - 11, " and others");
        assert_int_equal(strlen(out), whole ? 102 + n + 11 : 111);
        vly_spike_areas_deinit(&areas);
    }
    /* whole if " and others" would fit after it too */
    assert_int_equal(n_whole,
                     VLY_SPIKE_AREAS_TEXT - sizeof " and others" - 102);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(same_as_lists),  cmocka_unit_test(recordings),
    cmocka_unit_test(weights),        cmocka_unit_test(tables),
    cmocka_unit_test(names_of_areas),
};
VLY_TEST_MAIN(tests)
