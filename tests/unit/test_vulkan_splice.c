/* SPDX-License-Identifier: Apache-2.0
 * Shaders of users' models and rules, without a device: random programs in
 * every frame pass spirv-val and have the operations of the program and no
 * others; another shader is refused; a damaged program is refused before, or
 * spliced; lack of memory is reported as such.
 */
#include "backends/vulkan/vulkan_splice.h"
#include "backends/vulkan/vulkan_splice_rule.h"

#include <stdlib.h>
#include <sys/wait.h>

#include "backends/common/backend_common.h"
#include "random_operations.h"
#include "volley_test.h"

#include "deliver_spirv.h"
#include "fused_program1_spirv.h"
#include "fused_program2_spirv.h"
#include "fused_program3_spirv.h"
#include "fused_program4_spirv.h"
#include "learn_flush_program_spirv.h"
#include "learn_rows_program_spirv.h"
#include "update_program1_spirv.h"
#include "update_program2_spirv.h"
#include "update_program3_spirv.h"
#include "update_program4_spirv.h"

const char vly_support_plugin[] = "test";

enum { PROGRAMS = 64, DAMAGED = 4000 };

#define WORDS(name) name##_spirv, sizeof name##_spirv / sizeof(uint32_t)
static const struct {
    const uint32_t *words;
    size_t n;
} frames[] = {{WORDS(update_program1)}, {WORDS(update_program2)},
              {WORDS(update_program3)}, {WORDS(update_program4)},
              {WORDS(fused_program1)},  {WORDS(fused_program2)},
              {WORDS(fused_program3)},  {WORDS(fused_program4)}};
enum { FRAMES = sizeof frames / sizeof frames[0] };

static random_operations *make(uint64_t seed)
{
    random_operations *r = malloc(sizeof *r);
    assert_non_null(r);
    uint32_t k = (uint32_t)seed;
    bool large = k % 16 == 15;
    random_operations_make(r, seed,
                           large ? VLY_PROGRAM_MAX_OPS : 150 + 10 * (k % 30),
                           large ? VLY_PROGRAM_MAX_FIELDS : 1 + k % 9,
                           large ? VLY_PROGRAM_MAX_COEFS : k % 50,
                           1 + (k + k / 4) % VLY_PORTS_MAX);
    assert_true(r->program.n_ops <= VLY_PROGRAM_MAX_OPS);
    return r;
}

/* The frame for its ports; fused: for bursts of one dispatch. */
static uint32_t frame_of(const random_operations *r, bool fused)
{
    return (fused ? VLY_PORTS_MAX : 0) + r->n_ports - 1;
}

static size_t count(const uint32_t *words, size_t n, uint32_t opcode)
{
    size_t found = 0;
    for (size_t at = 5; at < n; at += words[at] >> 16)
        found += (words[at] & 0xffffu) == opcode;
    return found;
}

/* Operations that the fields and the spike depend on, but for those of numbers
 * alone, whose results are numbers too. */
static size_t count_ops(const random_operations *r, uint32_t code)
{
    size_t found = 0;
    static vly_common_folded folded;
    vly_common_program_fold(&r->program, &folded);
    for (uint32_t i = 0; i < r->program.n_ops; i++)
        found += folded.used[i] && folded.ops[i].code == code;
    return found;
}

static void validate(const uint32_t *words, size_t n, uint64_t seed)
{
    char path[512];
    char command[2048];
    snprintf(path, sizeof path, "%s/spliced.spv", VLY_TEST_BINARY_DIR);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(words, sizeof *words, n, file), n);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command,
             VLY_SPIRV_VAL " --target-env vulkan1.2 %s", path);
    int status = system(command);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("seed %llu: spirv-val refuses %s", (unsigned long long)seed,
                 path);
    remove(path);
}

/* Opcodes of the specification that operations become one of. */
static const struct {
    uint32_t code;
    uint32_t opcode;
} singles[] = {{VLY_PROGRAM_ADD, 129},      {VLY_PROGRAM_SUBTRACT, 131},
               {VLY_PROGRAM_MULTIPLY, 133}, {VLY_PROGRAM_NEGATE, 127},
               {VLY_PROGRAM_LESS, 184},     {VLY_PROGRAM_AT_MOST, 188},
               {VLY_PROGRAM_OR, 197}};

static void test_spliced(void **state)
{
    (void)state;
    char message[VLY_SPIRV_MESSAGE];
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        random_operations *r = make(seed);
        uint32_t f = frame_of(r, seed % 4 > 1);
        uint32_t *words[2] = {NULL, NULL};
        size_t n[2];
        for (int k = 0; k < 2; k++)
            if (vly_vulkan_splice(frames[f].words, frames[f].n, &r->program,
                                  &words[k], &n[k], message) != 0)
                fail_msg("seed %llu: %s", (unsigned long long)seed, message);
        assert_int_equal(n[0], n[1]);
        assert_memory_equal(words[0], words[1], n[0] * sizeof *words[0]);
        for (size_t k = 0; k < sizeof singles / sizeof singles[0]; k++)
            assert_int_equal(
                count(words[0], n[0], singles[k].opcode) -
                    count(frames[f].words, frames[f].n, singles[k].opcode),
                count_ops(r, singles[k].code));
        assert_int_equal(vly_spirv_check(words[0], n[0], message), 0);
        validate(words[0], n[0], seed);
        free(words[0]);
        free(words[1]);
        free(r);
    }
}

/* Frames of which one function has another name, and a shader without them. */
static void test_no_frame(void **state)
{
    (void)state;
    char message[VLY_SPIRV_MESSAGE];
    random_operations *r = make(1);
    uint32_t *made = NULL;
    size_t n_made = 7;
    const size_t n = frames[1].n;
    uint32_t *words = malloc(n * sizeof *words);
    assert_non_null(words);
    uint32_t n_named = 0;
    for (size_t at = 5; at < n; at += frames[1].words[at] >> 16) {
        memcpy(words, frames[1].words, n * sizeof *words);
        char *name = (char *)(words + at + 2);
        if ((words[at] & 0xffffu) != 5 || strncmp(name, "vly_program_", 12) ||
            !strchr(name, '('))
            continue;
        name[0] = 'x';
        assert_int_equal(
            vly_vulkan_splice(words, n, &r->program, &made, &n_made, message),
            -1);
        assert_true(made == NULL && n_made == 7);
        n_named++;
    }
    assert_int_equal(n_named, 14);
    assert_int_equal(vly_vulkan_splice(frames[1].words, 4, &r->program, &made,
                                       &n_made, message),
                     -1);
    assert_int_equal(
        vly_vulkan_splice(WORDS(deliver), &r->program, &made, &n_made, message),
        -1);
    assert_non_null(strstr(message, "load"));
    assert_true(made == NULL);
    free(words);
    free(r);
}

/* ---- rules -------------------------------------------------------------- */

static uint32_t below(uint64_t *random, uint32_t n)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*random >> 33) % n);
}

/* Words of a rule: any operations on any values. Returns how many. */
static uint32_t make_rule(uint64_t seed, uint32_t *words)
{
    static const uint32_t numbers[] = {
        0, 0x80000000u, 0x3f800000u, 0x3f000000u, 0x7f800000u, 1, 0x0d800000u};
    uint64_t random = seed + 1;
    uint32_t codes[VLY_PROGRAM_CODES];
    uint32_t n_codes = 0;
    for (uint32_t code = 0; code < VLY_PROGRAM_CODES; code++)
        if (vly_rule_operands(code) != UINT32_MAX)
            codes[n_codes++] = code;
    const bool large = seed % 8 == 7;
    words[0] = 1000;
    words[1] = large ? VLY_RULE_PROGRAM_COEFS : below(&random, 6);
    for (uint32_t part = 0; part < 2; part++)
        words[2 + part] = large ? VLY_RULE_PROGRAM_OPS : below(&random, 60);
    uint32_t n = VLY_RULE_PROGRAM_HEAD + words[1];
    memset(words + VLY_RULE_PROGRAM_HEAD, 0, words[1] * sizeof *words);
    for (uint32_t part = 0; part < 2; part++)
        for (uint32_t i = 0; i < words[2 + part]; i++, n += 4) {
            uint32_t code = codes[below(&random, n_codes)];
            if (vly_rule_operands(code) > 0 && i == 0)
                code = VLY_PROGRAM_FIELD;
            if (code == VLY_PROGRAM_COEF && words[1] == 0)
                code = VLY_PROGRAM_NUMBER;
            words[n] = code;
            for (uint32_t k = 0; k < 3; k++)
                words[n + 1 + k] =
                    code == VLY_PROGRAM_NUMBER  ? numbers[below(&random, 7)]
                    : code == VLY_PROGRAM_FIELD ? below(&random, 5)
                    : code == VLY_PROGRAM_COEF  ? below(&random, words[1])
                                                : below(&random, i);
        }
    assert_true(vly_rule_program_good(words, n));
    return n;
}

/* As count_ops, of one function. */
static size_t count_rule_ops(const uint32_t *words, int post, uint32_t code)
{
    static vly_common_folded folded;
    size_t found = 0;
    const vly_rule_program p = vly_rule_program_of(words, post);
    const vly_program whole = {
        .ops = p.ops, .n_ops = p.n_ops, .fired = p.n_ops - 1};
    if (p.n_ops == 0)
        return 0;
    vly_common_program_fold(&whole, &folded);
    for (uint32_t i = 0; i < p.n_ops; i++)
        found += folded.used[i] && folded.ops[i].code == code;
    return found;
}

static const struct {
    const uint32_t *words;
    size_t n;
} rule_frames[] = {{WORDS(learn_rows_program)}, {WORDS(learn_flush_program)}};

static void test_rules(void **state)
{
    (void)state;
    char message[VLY_SPIRV_MESSAGE];
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        uint32_t rule[VLY_RULE_PROGRAM_WORDS];
        const int flush = seed % 2;
        const uint32_t *frame = rule_frames[flush].words;
        const size_t n_frame = rule_frames[flush].n;
        uint32_t *words = NULL;
        size_t n = 0;
        make_rule(seed / 2, rule);
        if (vly_vulkan_splice_rule(frame, n_frame, flush, rule, &words, &n,
                                   message) != 0)
            fail_msg("seed %llu: %s", (unsigned long long)seed, message);
        for (size_t k = 0; k < sizeof singles / sizeof singles[0]; k++)
            if (singles[k].code != VLY_PROGRAM_NEGATE) /* it turns a bit */
                assert_int_equal(
                    count(words, n, singles[k].opcode) -
                        count(frame, n_frame, singles[k].opcode),
                    count_rule_ops(rule, 1, singles[k].code) +
                        (flush ? 0 : count_rule_ops(rule, 0, singles[k].code)));
        assert_int_equal(vly_spirv_check(words, n, message), 0);
        validate(words, n, seed);
        free(words);
    }
}

/* A frame for the other dispatch, a shader that is no frame, frames without one
 * of the functions. */
static void test_no_rule_frame(void **state)
{
    (void)state;
    char message[VLY_SPIRV_MESSAGE];
    uint32_t rule[VLY_RULE_PROGRAM_WORDS];
    uint32_t *made = NULL;
    size_t n_made = 7;
    uint32_t n_named = 0;
    const size_t n = rule_frames[0].n;
    uint32_t *words = malloc(n * sizeof *words);
    assert_non_null(words);
    make_rule(3, rule);
    assert_int_equal(vly_vulkan_splice_rule(WORDS(learn_flush_program), 0, rule,
                                            &made, &n_made, message),
                     -1);
    assert_non_null(strstr(message, "users' rules: pre"));
    assert_int_equal(vly_vulkan_splice_rule(WORDS(deliver), 0, rule, &made,
                                            &n_made, message),
                     -1);
    assert_non_null(strstr(message, "users' rules: load"));
    for (size_t at = 5; at < n; at += rule_frames[0].words[at] >> 16) {
        memcpy(words, rule_frames[0].words, n * sizeof *words);
        char *name = (char *)(words + at + 2);
        if ((words[at] & 0xffffu) != 5 || strncmp(name, "vly_rule_", 9) ||
            !strchr(name, '('))
            continue;
        name[0] = 'x';
        assert_int_equal(
            vly_vulkan_splice_rule(words, n, 0, rule, &made, &n_made, message),
            -1);
        n_named++;
    }
    assert_int_equal(n_named, 8);
    assert_true(made == NULL && n_made == 7);
    free(words);
}

/* ---- memory ------------------------------------------------------------- */

/* The linker puts these in place of malloc, calloc and realloc. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static uint32_t until_none; /* the allocation that fails; 0: none does */

static bool is_none(void)
{
    return until_none > 0 && --until_none == 0;
}

void *__wrap_malloc(size_t size)
{
    return is_none() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return is_none() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return is_none() ? NULL : __real_realloc(old, size);
}

static void test_no_memory(void **state)
{
    (void)state;
    char message[VLY_SPIRV_MESSAGE];
    random_operations *r = make(15);
    const uint32_t f = frame_of(r, false);
    uint32_t *words = NULL;
    size_t n = 0;
    uint32_t k = 0;
    bool came = true;
    while (came) {
        until_none = ++k;
        int failed = vly_vulkan_splice(frames[f].words, frames[f].n,
                                       &r->program, &words, &n, message);
        came = until_none == 0;
        until_none = 0;
        assert_int_equal(failed, came ? VLY_SPIRV_NO_MEMORY : 0);
        assert_true(came == (words == NULL));
    }
    /* ids of the frame, the frame, its old ids, four texts; ids and words of
     * the decorated module, ids of its check */
    assert_true(k > 10);
    free(words);
    free(r);
}

static void test_no_memory_for_a_rule(void **state)
{
    (void)state;
    char message[VLY_SPIRV_MESSAGE];
    uint32_t rule[VLY_RULE_PROGRAM_WORDS];
    uint32_t *words = NULL;
    size_t n = 0;
    uint32_t k = 0;
    bool came = true;
    make_rule(7, rule);
    while (came) {
        until_none = ++k;
        int failed = vly_vulkan_splice_rule(WORDS(learn_rows_program), 0, rule,
                                            &words, &n, message);
        came = until_none == 0;
        until_none = 0;
        assert_int_equal(failed, came ? VLY_SPIRV_NO_MEMORY : 0);
        assert_true(came == (words == NULL));
    }
    assert_true(k > 10); /* as above, with one more text */
    free(words);
}

static void test_damaged(void **state)
{
    (void)state;
    char message[VLY_SPIRV_MESSAGE];
    uint32_t n_refused = 0;
    vly_column coefs[VLY_PROGRAM_MAX_COEFS] = {{0}};
    vly_error error = {.struct_size = sizeof error};
    for (uint64_t seed = 0; seed < DAMAGED; seed++) {
        random_operations *r = make(seed % 15 + 16 * (seed % 7));
        r->random = seed;
        random_operations_damage(r);
        for (uint32_t k = 0; k < r->n_coefs; k++)
            coefs[k].type = r->coef_types[k];
        const vly_area_desc area = {.name = "A",
                                    .n_ports = r->n_ports,
                                    .n_fields = r->program.n_fields,
                                    .n_coefs = r->n_coefs,
                                    .coefs = coefs,
                                    .program = &r->program};
        if (vly_common_check_program(&area, &r->program, &error) != VLY_OK) {
            assert_int_equal(error.status, VLY_E_UNSUPPORTED);
            assert_non_null(strstr(error.message, "area A: "));
            n_refused++;
            free(r);
            continue;
        }
        uint32_t f = frame_of(r, false);
        uint32_t *words = NULL;
        size_t n;
        if (vly_vulkan_splice(frames[f].words, frames[f].n, &r->program, &words,
                              &n, message) != 0)
            fail_msg("seed %llu: %s", (unsigned long long)seed, message);
        if (seed % 200 == 0)
            validate(words, n, seed);
        free(words);
        free(r);
    }
    print_message("%u of %d refused\n", n_refused, DAMAGED);
    assert_in_range(n_refused, DAMAGED / 4, DAMAGED - DAMAGED / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spliced),
        cmocka_unit_test(test_no_frame),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_no_rule_frame),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_memory_for_a_rule),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
