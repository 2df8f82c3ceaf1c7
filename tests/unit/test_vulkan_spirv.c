/* SPDX-License-Identifier: Apache-2.0
 * What the tool chain makes of shaders. The shaders that were built (their
 * paths are the arguments) are read by a parser of this file, which shares
 * nothing with the program that decorated them; shaders that break the numeric
 * contract must be refused, each with its reason; and no damage to a module may
 * crash the check.
 */
#include "kernels/vulkan/spirv_rules.h"

#include <stdlib.h>
#include <sys/wait.h>

#include "base/random.h"
#include "volley_test.h"

#define WORDS_MAX (1u << 18)

static char **paths;
static int n_paths;

/* ---- a parser for the test --------------------------------------------- */

typedef struct listing {
    uint32_t *words;
    size_t n;
    uint8_t *exact;  /* [bound] has NoContraction */
    uint8_t *floats; /* [bound] is a float type */
    size_t n_arithmetic;
    size_t n_exact; /* of those */
    size_t n_entries;
    size_t n_rounding; /* RoundingModeRTE 32 */
    size_t n_forbidden;
} listing;

static void read_file(const char *path, listing *l)
{
    memset(l, 0, sizeof *l);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("%s cannot be opened", path);
    l->words = malloc(WORDS_MAX * sizeof *l->words);
    assert_non_null(l->words);
    l->n = fread(l->words, sizeof *l->words, WORDS_MAX, file);
    fclose(file);
    assert_in_range(l->n, 6, WORDS_MAX - 1);
    assert_int_equal(l->words[0], 0x07230203);
    l->exact = calloc(l->words[3], 1);
    l->floats = calloc(l->words[3], 1);
    assert_non_null(l->exact);
    assert_non_null(l->floats);
}

static void listing_free(listing *l)
{
    free(l->words);
    free(l->exact);
    free(l->floats);
}

static void list_instruction(listing *l, const uint32_t *w, uint32_t n)
{
    const uint32_t opcode = w[0] & 0xffffu;
    switch (opcode) {
    case 71: /* OpDecorate */
        if (w[2] == 42)
            l->exact[w[1]] = 1;
        l->n_forbidden += w[2] == 0; /* RelaxedPrecision */
        break;
    case 22: /* OpTypeFloat */
        l->floats[w[1]] = 1;
        l->n_forbidden += w[2] != 32;
        break;
    case 23: /* OpTypeVector */
        l->floats[w[1]] = l->floats[w[2]];
        break;
    case 12: /* OpExtInst: on floats all of GLSL.std.450 is inexact */
        l->n_forbidden += l->floats[w[1]];
        break;
    case 15:
        l->n_entries++;
        break;
    case 16: /* OpExecutionMode: RTE, DenormPreserve, DenormFlush, RTZ */
        l->n_rounding += w[2] == 4462 && n == 4 && w[3] == 32;
        l->n_forbidden += w[2] == 4459 || w[2] == 4460 || w[2] == 4463;
        break;
    case 129: /* OpFAdd, OpFSub, OpFMul */
    case 131:
    case 133:
        l->n_arithmetic++;
        l->n_exact += l->exact[w[2]];
        break;
    case 136: /* OpFDiv, OpFRem, OpFMod, products of vectors and matrices */
    case 140:
    case 141:
    case 142:
    case 143:
    case 144:
    case 145:
    case 146:
    case 147:
    case 148:
        l->n_forbidden++;
        break;
    }
}

static void list_file(const char *path, listing *l)
{
    read_file(path, l);
    for (size_t at = 5; at < l->n; at += l->words[at] >> 16) {
        assert_true(l->words[at] >> 16 > 0);
        assert_true((l->words[at] >> 16) <= l->n - at);
        list_instruction(l, l->words + at, l->words[at] >> 16);
    }
}

static void test_built(void **state)
{
    (void)state;
    size_t n_arithmetic = 0;
    for (int i = 0; i < n_paths; i++) {
        listing l;
        list_file(paths[i], &l);
        if (l.n_exact != l.n_arithmetic)
            fail_msg("%s: %zu of %zu float operations have NoContraction",
                     paths[i], l.n_exact, l.n_arithmetic);
        if (l.n_forbidden > 0)
            fail_msg("%s: %zu forbidden instructions", paths[i], l.n_forbidden);
        if (l.n_entries != 1 || l.n_rounding != 1)
            fail_msg("%s: %zu entry points, RoundingModeRTE at %zu", paths[i],
                     l.n_entries, l.n_rounding);
        n_arithmetic += l.n_arithmetic;
        listing_free(&l);
    }
    print_message("%d shaders, %zu float operations\n", n_paths, n_arithmetic);
    assert_true(n_paths > 0 && n_arithmetic > 100);
}

/* What glslangValidator leaves undecorated must be found without decorating:
 * the check is not one that everything passes. */
static void test_plain(void **state)
{
    (void)state;
    size_t n_refused = 0;
    for (int i = 0; i < n_paths; i++) {
        char path[4096];
        char message[VLY_SPIRV_MESSAGE];
        listing l;
        snprintf(path, sizeof path, "%.*s.plain.spv",
                 (int)(strlen(paths[i]) - strlen(".spv")), paths[i]);
        list_file(path, &l);
        if (l.n_exact != l.n_arithmetic) {
            assert_int_equal(vly_spirv_check(l.words, l.n, message), -1);
            assert_non_null(strstr(message, "without NoContraction"));
            n_refused++;
        }
        listing_free(&l);
    }
    assert_true(n_refused > 0);
}

/* ---- shaders that must be refused -------------------------------------- */

static const char head[] = "#version 460\n"
                           "#extension GL_GOOGLE_include_directive : require\n";
static const char contract[] = "#include \"kernels/vulkan/contract.glsl\"\n";
static const char body[] =
    "layout(local_size_x = 1) in;\n"
    "layout(binding = 0, std430) buffer B { float x[]; };\n"
    "layout(binding = 1, std430) buffer C { uint u[]; };\n";

typedef struct refusal {
    const char *more; /* before main */
    const char *statement;
    const char *message; /* a part of it; NULL: good */
    int without_contract;
} refusal;

static const refusal refusals[] = {
    {"", "x[0] = x[1] * x[2] + x[3] - x[4];", NULL, 0},
    {"", "u[0] = min(u[1], clamp(u[2], 1u, 9u)) / 3u;", NULL, 0},
    {"", "x[0] = u[1] > 2u ? float(int(u[2])) : uintBitsToFloat(u[3]);", NULL,
     0},
    {"", "x[0] = x[1] / x[2];", "a division", 0},
    {"vec2 h(vec2 a) { return a / 3.0; }", "x[0] = h(vec2(x[1])).x;",
     "in h: opcode 136", 0},
    {"", "x[0] = mod(x[1], x[2]);", "gives a float", 0},
    {"", "x[0] = sqrt(x[1]);", "an extended instruction", 0},
    {"", "x[0] = fma(x[1], x[2], x[3]);", "an extended instruction", 0},
    {"", "x[0] = exp(x[1]);", "an extended instruction", 0},
    {"", "x[0] = max(x[1], x[2]);", "an extended instruction", 0},
    {"", "x[0] = dot(vec2(x[1], x[2]), vec2(x[3], x[4]));", "gives a float", 0},
    {"", "x[0] = (x[1] * vec3(x[2], x[3], x[4])).y;", "gives a float", 0},
    {"", "x[0] = (mat2(x[1]) * vec2(x[2])).x;", "a matrix of floats", 0},
    {"", "x[0] = float(double(x[1]) * 2.0lf);", "other than 32 bits", 0},
    {"", "mediump float a = x[1]; x[0] = a * a;", "relaxed precision", 0},
    {"", "x[0] = x[1] * 1e-25;", "a float constant", 0},
    {"", "x[0] = x[1] * 1e25;", "a float constant", 0},
    {"#extension GL_EXT_spirv_intrinsics : require\n"
     "spirv_execution_mode(extensions = [\"SPV_KHR_float_controls\"],\n"
     "                     capabilities = [4465], 4460, 32);",
     "x[0] = x[1] + x[2];", "a mode for subnormals", 0},
    {"#extension GL_EXT_spirv_intrinsics : require\n"
     "spirv_execution_mode(capabilities = [4466], 4461, 32);",
     "x[0] = x[1] + x[2];", NULL, 0},
    {"#extension GL_EXT_spirv_intrinsics : require\n"
     "spirv_execution_mode(capabilities = [4427], 4461, 32);",
     "x[0] = x[1] + x[2];", "capability 4427", 0},
    {"", "x[0] = x[1] + x[2];", "without RoundingModeRTE", 1},
};

/* Exit code of a shell command; its output goes to out. */
static int run(const char *command, char *out, size_t size)
{
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t n = fread(out, 1, size - 1, pipe);
    out[n] = '\0';
    int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void compile(const refusal *r, const char *stem)
{
    char path[4096];
    char command[8192];
    char out[4096];
    snprintf(path, sizeof path, "%s.comp", stem);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s%s%s%s\nvoid main() { %s }\n", head,
            r->without_contract ? "" : contract, body, r->more, r->statement);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command,
             VLY_GLSLANG " --quiet --target-env vulkan1.2 -I%s -o %s.plain.spv "
                         "%s.comp 2>&1",
             VLY_TEST_SOURCE_DIR, stem, stem);
    if (run(command, out, sizeof out) != 0)
        fail_msg("%s: %s", r->statement, out);
}

static void test_refused(void **state)
{
    (void)state;
    char stem[2048];
    char command[8192];
    char out[4096];
    snprintf(stem, sizeof stem, "%s/spirv_refused", VLY_TEST_BINARY_DIR);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const refusal *r = &refusals[i];
        compile(r, stem);
        snprintf(command, sizeof command,
                 "rm -f %s.spv; " VLY_SPIRV_CONTRACT
                 " decorate %s.plain.spv %s.spv 2>&1",
                 stem, stem, stem);
        int code = run(command, out, sizeof out);
        if (code != (r->message == NULL ? 0 : 1) ||
            (r->message != NULL && strstr(out, r->message) == NULL))
            fail_msg("%s: exit code %d and \"%s\"; wanted %s", r->statement,
                     code, out, r->message == NULL ? "neither" : r->message);
        snprintf(command, sizeof command, "test -e %s.spv", stem);
        assert_int_equal(run(command, out, sizeof out), r->message != NULL);
    }
}

/* ---- damage ------------------------------------------------------------ */

static void try_words(const uint32_t *words, size_t n)
{
    char message[VLY_SPIRV_MESSAGE] = "";
    uint32_t *made = NULL;
    size_t n_made = 0;
    /* a copy of just that size, for the sanitizer to see a step beyond it */
    uint32_t *copy = malloc((n > 0 ? n : 1) * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, words, n * sizeof *copy);
    if (vly_spirv_check(copy, n, message) != 0)
        assert_true(strlen(message) > 5);
    message[0] = '\0';
    if (vly_spirv_decorate(copy, n, &made, &n_made, message) == 0)
        assert_true(made != NULL && n_made >= n);
    else
        assert_true(made == NULL && strlen(message) > 5);
    free(made);
    free(copy);
}

static void test_damaged(void **state)
{
    (void)state;
    listing l;
    list_file(paths[0], &l);
    for (size_t n = 0; n < 400 && n < l.n; n++)
        try_words(l.words, n);
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t where = vly_philox_word(1, i, 0, 0);
        uint32_t what = vly_philox_word(1, i, 1, 0);
        size_t at = vly_below(where, (uint32_t)l.n);
        uint32_t kept = l.words[at];
        l.words[at] = i % 2 == 0 ? kept ^ 1u << what % 32 : what;
        try_words(l.words, l.n);
        l.words[at] = kept;
    }
    listing_free(&l);
}

int main(int argc, char **argv)
{
    paths = argv + 1;
    n_paths = argc - 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_built),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
