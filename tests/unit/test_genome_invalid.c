/* SPDX-License-Identifier: Apache-2.0
 * Every case of genomes/invalid is refused with the message of its first line,
 * `# expect: line:column: sentence`. The build splits the files into cases.
 */
#include "test_genome_text.h"

static void refuse(const char *path)
{
    char line[1024] = "";
    char wanted[2048];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    fclose(file);
    line[strcspn(line, "\n")] = 0;
    assert_memory_equal(line, "# expect: ", 10);
    snprintf(wanted, sizeof(wanted), "%s:%s", path, line + 10);
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    uint64_t before = vly_memory_live();
    assert_int_equal(vly_genome_load(path, NULL, 0, &genome, &error),
                     refusal(wanted));
    assert_string_equal(error.message, wanted);
    assert_int_equal(error.status, refusal(wanted));
    assert_null(genome);
    assert_true(vly_memory_live() == before);
    /* an error is optional */
    assert_int_equal(vly_genome_load(path, NULL, 0, &genome, NULL),
                     refusal(wanted));
}

static void every_case(void **state)
{
    (void)state;
    /* no case is lost; more may come */
    assert_true(each_genome_of(VLY_TEST_BINARY_DIR, "cases/invalid", refuse) >=
                495);
}

static void no_file(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    assert_int_equal(
        vly_genome_load("/nowhere/x.toml", NULL, 0, &genome, &error), VLY_E_IO);
    assert_string_equal(error.message,
                        "/nowhere/x.toml: No such file or directory");
    assert_int_equal(vly_genome_load("/", NULL, 0, &genome, &error), VLY_E_IO);
}

/* What would make the parser recurse without end or eat memory. */
static void hostile_text(void **state)
{
    (void)state;
    enum { N = 200000 };
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    char *text = vly_malloc(2 * N + 16, 1);
    assert_non_null(text);
    for (int i = 0; i < N; i++)
        memcpy(text + 2 * i, "a.", 2);
    memcpy(text + 2 * N, "a=1", 4);
    assert_int_equal(
        vly_genome_parse(text, 2 * N + 3, "t", NULL, 0, &genome, &error),
        VLY_E_PARSE);
    assert_string_equal(error.message, "t:1:1: a dotted key of more than 16 "
                                       "parts, wanted at most 16");
    memset(text, '[', 2 * N);
    memcpy(text, "a=", 2);
    assert_int_equal(
        vly_genome_parse(text, 2 * N, "t", NULL, 0, &genome, &error),
        VLY_E_PARSE);
    vly_free(text);
    assert_refused("format = 1\ntitle = \"a\\u0000b\"\n",
                   "t:2:9: text with a zero byte, wanted printable characters");
    assert_refused("", "t: an empty file, wanted a genome: format = 1, an "
                       "[area], ...");
    assert_refused("V", "t: the cut-off beginning of a connectome or a "
                        "checkpoint, wanted a genome");
    assert_refused("VOLLEYCN\1", "t: the cut-off beginning of a connectome or "
                                 "a checkpoint, wanted a genome");
    assert_refused("#\n", "t:1:1: no format, wanted format = 1");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_case),
    cmocka_unit_test(no_file),
    cmocka_unit_test(hostile_text),
};
VLY_TEST_MAIN(tests)
