/* SPDX-License-Identifier: Apache-2.0
 * Files that are no genome of FEAGI, or a wrong one: each is refused with one
 * sentence that says where, and leaves nothing in memory.
 */
#include "volley_test.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/feagi/feagi_genome.h"
#include "tools/feagi/feagi_name.h"

/* One area before the tested one. */
#define TOP "{\"version\":\"2.1\",\"blueprint\":{"
#define AREA "\"_____10c-iic400-cx-___bbx-i\":2"
#define FLAT(gene, value) TOP AREA ",\"_____10c-iic400-" gene "\":" value "}}"
#define TREE(text) TOP "\"iic400\":{" text "}}}"
#define WHERE(gene) "t: blueprint[\"_____10c-iic400-" gene "\"]"
#define RULE(text) FLAT("cx-dstmap-d", "{\"iic400\":[" text "]}")
#define AT WHERE("cx-dstmap-d") "[\"iic400\"]"

static const struct {
    const char *json;
    const char *message;
} refused[] = {
    {"[1]", "t: the file is an array of 1, wanted an object: a FEAGI genome"},
    {"{\"version\": \"2.0\"}", "t: no blueprint, wanted a FEAGI genome"},
    {"{\"blueprint\":{}}",
     "t: version is missing, wanted \"2.0\", \"2.1\" or \"3.0\""},
    {"{\"version\":2.0,\"blueprint\":{}}",
     "t: version is 2, wanted \"2.0\", \"2.1\" or \"3.0\""},
    {"{\"version\":\"4.0\",\"blueprint\":{}}",
     "t: version is \"4.0\", wanted \"2.0\", \"2.1\" or \"3.0\""},
    {"{\"version\":\"2.0\",\"blueprint\":[]}",
     "t: blueprint is an array of 0, wanted an object of areas"},
    {"{\"version\":\"2.0\",\"blueprint\":{}}",
     "t: blueprint has no area, wanted at least one"},
    {"{\"version\":\"2.0\",\"blueprint\":{\"iic400\":7}}",
     "t: blueprint[\"iic400\"] is 7, wanted an object with the properties of "
     "an "
     "area"},
    {"{\"version\":\"2.0\",\"genome_title\":[],\"blueprint\":{}}",
     "t: genome_title is an array of 0, wanted text"},
    {TOP "\"_____10c--cx-___bbx-i\":2}}",
     "t: blueprint has an area without id, wanted one of FEAGI's"},
    {TOP "\"_power\":{},\"___pwr\":{}}}",
     "t: blueprint has the areas \"_power\" and \"___pwr\", which are one, "
     "wanted it once"},
    {TOP AREA ",\"_____10c-iic400-nx-snooze-i\":1,"
              "\"_____10c-iic400-nx-snooze-f\":2}}",
     WHERE("nx-snooze-f") " is 2, wanted what _____10c-iic400-nx-snooze-i has, "
                          "which is the same property"},
    {FLAT("cx-___bby-i", "0"),
     WHERE("cx-___bby-i") " is 0, wanted a whole number from 1 to 2147483647"},
    {FLAT("cx-___bby-i", "1.5"),
     WHERE("cx-___bby-i") " is 1.5, wanted a whole number from 1 to "
                          "2147483647"},
    {FLAT("cx-___bby-i", "\"4\""),
     WHERE("cx-___bby-i") " is \"4\", wanted a whole number"},
    {FLAT("cx-___bby-i", "2147483647"),
     WHERE("cx-___bbx-i") ": 2 x 2147483647 x 1 voxels of 1 neurons make "
                          "4294967294 neurons so far, wanted at most "
                          "2147483647"},
    {FLAT("nx-fire_t-f", "\"high\""),
     WHERE("nx-fire_t-f") " is \"high\", wanted a number"},
    {FLAT("nx-refrac-i", "70000"),
     WHERE("nx-refrac-i") " is 70000, wanted a whole number from 0 to 65535"},
    {FLAT("nx-mp_acc-b", "1"),
     WHERE("nx-mp_acc-b") " is 1, wanted true or false"},
    {FLAT("nx-excite-f", "-1"),
     WHERE("nx-excite-f") " is -1, wanted a number from 0 to 1000000000"},
    {FLAT("cx-__name-t", "{}"),
     WHERE("cx-__name-t") " is an object of 0, wanted text"},
    {FLAT("cx-dstmap-d", "[]"),
     WHERE("cx-dstmap-d") " is an array of 0, wanted an object of lists of "
                          "mappings by area"},
    {FLAT("cx-dstmap-d", "{\"iic400\":7}"), AT " is 7, wanted a list of "
                                               "mappings"},
    {RULE("3"), AT "[0] is 3, wanted a mapping: a list of 4 to 9 or an object"},
    {RULE("[\"projector\",1,1]"),
     AT "[0] is an array of 3, wanted a mapping: a list of 4 to 9 or an "
        "object"},
    {RULE("[7,1,1,false]"),
     AT "[0] is an array of 4, wanted a mapping with the name of a "
        "morphology"},
    {RULE("{}"), AT "[0] is an object of 0, wanted a mapping with the name of "
                    "a morphology"},
    {RULE("[\"projector\",1,1,\"no\"]"),
     AT "[0] is \"no\", wanted true or false as the plasticity flag"},
    {RULE("[\"projector\",1,1,true,\"x\",1,1,2]"),
     AT "[0].plasticity_constant is \"x\", wanted a number"},
    {RULE("[\"projector\",1,1,true,1,1,1,[2]]"),
     AT "[0].plasticity_window is an array of 1, wanted a number"},
    {RULE("[\"projector\",1,\"x\",false]"),
     AT "[0].postSynapticCurrent_multiplier is \"x\", wanted a number from "
        "-1000000000 to 1000000000"},
    {RULE("{\"morphology_id\":\"projector\",\"synaptic_delay_bursts\":0}"), AT
     "[0].synaptic_delay_bursts is 0, wanted a whole number from 1 to 65535"},
    {RULE("{\"morphology_id\":\"projector\",\"synaptic_delay_bursts\":2.5}"), AT
     "[0].synaptic_delay_bursts is 2.5, wanted a whole number from 1 to 65535"},
    {RULE("[\"projector\",1,1,false,0,1,1,5,\"3\"]"),
     AT "[0].synaptic_delay_bursts is \"3\", wanted a whole number from 1 to "
        "65535"},
    {RULE("[\"projector\",[1,1],1,false]"),
     AT "[0] is an array of 2, wanted [x, y, z] or a number as the scalar"},
    {TREE("\"block_boundaries\":[1,2]"),
     "t: blueprint[\"iic400\"].block_boundaries is an array of 2, wanted [x, "
     "y, z]"},
    {TREE("\"block_boundaries\":[1,2,true]"),
     "t: blueprint[\"iic400\"].block_boundaries[2] is true, wanted a whole "
     "number"},
    {TREE("\"leak_coefficient\":-1"),
     "t: blueprint[\"iic400\"].leak_coefficient is -1, wanted a number from 0 "
     "to 1000000000"},
    {TOP AREA "},\"neuron_morphologies\":[]}",
     "t: neuron_morphologies is an array of 0, wanted an object of "
     "morphologies"},
    {TOP AREA "},\"neuron_morphologies\":{\"a\":1}}",
     "t: neuron_morphologies[\"a\"] is 1, wanted an object with type and "
     "parameters"},
    {TOP AREA "},\"physiology\":3}", "t: physiology is 3, wanted an object"},
    {TOP AREA "},\"physiology\":{\"simulation_timestep\":0}}",
     "t: physiology.simulation_timestep is 0, wanted a number from 1e-07 to "
     "1"},
};

/* Positions; test_json_reader.c has the messages. */
static const struct {
    const char *json;
    const char *begin;
} no_json[] = {
    {"", "t:1:1: "},
    {"{\"a\": 1,\n  \"b\": tru }", "t:2:8: "},
    {"{\"a\": [1, 2", "t:1:12: "},
    {"{\"a\": 1, \"a\": 2}", "t:1:10: "},
    {"{\"a\": \"\xff\"}", "t:1:8: "},
    {"{\"a\": 1e999}", "t:1:7: "},
    {"{} x", "t:1:4: "},
};

static vly_status read_it(const char *json, size_t n, vly_error *error)
{
    feagi_value root = {0};
    feagi_genome genome = {0};
    vly_status status = feagi_json_parse(json, n, "t", &root, error);
    if (status == VLY_OK)
        status = feagi_genome_read(&genome, &root, "t", error);
    feagi_genome_free(&genome);
    feagi_json_free(&root);
    return status;
}

static void messages(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        vly_error error = VLY_ERROR_INIT;
        uint64_t live = vly_memory_live();
        const char *json = refused[i].json;
        assert_int_equal(read_it(json, strlen(json), &error), VLY_E_PARSE);
        assert_string_equal(error.message, refused[i].message);
        assert_true(vly_memory_live() == live);
        assert_int_equal(read_it(json, strlen(json), NULL), VLY_E_PARSE);
    }
}

static void syntax(void **state)
{
    (void)state;
    static const char wanted[] = ", wanted ";
    for (size_t i = 0; i < sizeof(no_json) / sizeof(no_json[0]); i++) {
        vly_error error = VLY_ERROR_INIT;
        const char *json = no_json[i].json;
        const char *begin = no_json[i].begin;
        assert_int_equal(read_it(json, strlen(json), &error), VLY_E_PARSE);
        if (strncmp(error.message, begin, strlen(begin)) != 0 ||
            strstr(error.message, wanted) == NULL)
            fail_msg("%s: %s", json, error.message);
    }
}

/* A value of any place cut off, or of another kind, never more than a
 * sentence. */
static void cut_anywhere(void **state)
{
    (void)state;
    static char text[1 << 17];
    FILE *file =
        fopen(VLY_TEST_SOURCE_DIR "/tests/golden/feagi/flat_2_0.json", "rb");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text, file);
    fclose(file);
    while (n > 0 && text[n - 1] != '}')
        n--;
    for (size_t cut = 0; cut < n; cut += 7) {
        vly_error error = VLY_ERROR_INIT;
        uint64_t live = vly_memory_live();
        assert_int_equal(read_it(text, cut, &error), VLY_E_PARSE);
        assert_true(strncmp(error.message, "t:", 2) == 0);
        assert_true(vly_memory_live() == live);
    }
    vly_error error = VLY_ERROR_INIT;
    assert_ok(read_it(text, n, &error), error);
}

static void nested(void **state)
{
    (void)state;
    enum { N = 100000 };
    vly_error error = VLY_ERROR_INIT;
    char *text = malloc(2 * N);
    assert_non_null(text);
    memset(text, '[', N);
    memset(text + N, ']', N);
    assert_int_equal(read_it(text, 2 * N, &error), VLY_E_PARSE);
    assert_memory_equal(error.message, "t:1:2049: ", 10);
    free(text);
}

static void names(void **state)
{
    (void)state;
    static const char *const made[][2] = {
        {"iic400", "iic400"},
        {"_power", "_power"},
        {"Y01pZF9fX18=", "cMid____"},
        {"aXN2aQQAAf8=", "isvi040001ff"},
        {"C up 0", "C_up_0"},
        {"5abc", "_5abc"},
        {"", "_"},
        {"a/b\"c\n", "a_b_c0a"},
        {"aXN2aQQAAf9=", "aXN2aQQAAf9_"}, /* bits left over: not base64 */
    };
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        char *name = feagi_name_of(made[i][0]);
        assert_string_equal(name, made[i][1]);
        vly_free(name);
    }
    char a[9];
    char b[9];
    assert_true(feagi_canonical("_power", a) && feagi_canonical("___pwr", b));
    assert_memory_equal(a, b, 9);
    assert_true(feagi_canonical("X19fcG93ZXI=", b));
    assert_memory_equal(a, b, 9);
    assert_true(feagi_canonical("iic400", a) &&
                feagi_canonical("aWljNDAwX18=", b));
    assert_memory_equal(a, b, 9);
    assert_false(feagi_canonical("of another length", a));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(messages),     cmocka_unit_test(syntax),
    cmocka_unit_test(cut_anywhere), cmocka_unit_test(nested),
    cmocka_unit_test(names),
};

VLY_TEST_MAIN(tests)
