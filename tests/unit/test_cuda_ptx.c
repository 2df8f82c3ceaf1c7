/* SPDX-License-Identifier: Apache-2.0
 * The PTX of users' models, run by a machine of the test's own (ptx_machine.c),
 * against the CPU's interpreter: random programs, burst by burst, every field
 * and spike. And what happens to the marks of a kernel's text.
 * test_cuda_ptx [FIRST COUNT]: random programs by seed.
 */
#include "test_cpu_net.h"

#include <stdlib.h>

#include "cuda_ptx.h"
#include "kernels/models/program.h"
#include "plugins/support/support_host.h"
#include "ptx_machine.h"
#include "random_ir.h"

enum { N = 24, BURSTS = 4 };

const char vly_support_plugin[] = "test"; /* of backends/common */

static uint64_t first_program = 0;
static uint64_t n_programs = 60;
static uint64_t n_lines;
static uint64_t n_spikes;

/* The operands of a mark, in the order of VLY_CUDA_PTX_TABLE. */
enum {
#define EACH(name, text) OF_##name,
    VLY_CUDA_PTX_TABLE(EACH)
#undef EACH
        N_NAMES
};

static const ptx_outer outer_start[N_NAMES] = {
#define EACH(name, text) {"%r_" #name, 0},
    VLY_CUDA_PTX_TABLE(EACH)
#undef EACH
};

#define EACH(name, text) " %r_" #name ","
static const char kernel[] =
    VLY_CUDA_PTX_MARK " %r_fired, 4," VLY_CUDA_PTX_INPUTS(EACH) "\n";
/* the last row of a thread; the first one declares the registers */
static const char row_kernel[] =
    VLY_CUDA_PTX_READ " 0, %r_model, %r_state, %r_stride\n" VLY_CUDA_PTX_READ
                      " 3, %r_model, %r_state, %r_stride\n" VLY_CUDA_PTX_MARK
                      " %r_fired, 3," VLY_CUDA_PTX_INPUTS(EACH) "\n";
#undef EACH

#define NEEDS 5u /* parts 0 and 2 */

/* The text of a kernel with the programs in place of its marks. */
static char *splice(const char *text, const vly_program *const *programs,
                    uint32_t n, int wanted)
{
    vly_cuda_text counted = {NULL, 0, 0};
    assert_int_equal(vly_cuda_ptx_splice(text, programs, n, NEEDS, &counted),
                     wanted);
    vly_cuda_text made = {malloc(counted.length + 1), counted.length + 1, 0};
    assert_non_null(made.text);
    made.text[0] = 0;
    assert_int_equal(vly_cuda_ptx_splice(text, programs, n, NEEDS, &made),
                     wanted);
    assert_int_equal(made.length, counted.length);
    assert_int_equal(strlen(made.text), counted.length);
    return made.text;
}

/* ---- one area of one program -------------------------------------------- */

typedef struct own {
    test_net net;
    random_ir ir;
    vly_column columns[VLY_PROGRAM_MAX_COEFS];
    vly_cuda_column table[VLY_PROGRAM_MAX_COEFS];
    uint32_t words[VLY_PROGRAM_MAX_COEFS][N];
    uint32_t shared[VLY_PROGRAM_MAX_COEFS]; /* the first of each */
    uint32_t vary;
    uint32_t state[VLY_PROGRAM_MAX_FIELDS][N];
} own;

static void own_init(own *o, uint64_t seed)
{
    random_ir *ir = &o->ir;
    random_ir_make(ir, seed);
    if (seed % 6 == 0) /* of neurons one by one */
        random_ir_ports(ir, 3 + (uint32_t)(seed / 6) % 2);
    test_net_init(&o->net, seed);
    for (uint32_t c = 0; c < ir->n_coefs; c++) {
        /* of a third of the programs all of them */
        const uint32_t uniform = seed % 3 == 2 ? 1 : random_ir_below(ir, 2);
        for (uint32_t i = 0; i < N; i++)
            o->words[c][i] = random_ir_word(ir, ir->coef_types[c]);
        o->columns[c] = (vly_column){.words = o->words[c],
                                     .uniform = uniform,
                                     .type = ir->coef_types[c]};
        o->shared[c] = o->words[c][0];
        o->vary |= !uniform;
        o->table[c] = (vly_cuda_column){.words = o->words[c],
                                        .mask = uniform ? 0 : UINT32_MAX};
    }
    o->net.areas[0] = (vly_area_desc){.name = "own",
                                      .model = "random",
                                      .n_neurons = N,
                                      .n_ports = ir->n_ports,
                                      .scale = {0.25f, 0.0625f},
                                      .scale_more = {0.5f, 0.125f},
                                      .coefs = o->columns,
                                      .n_coefs = ir->n_coefs,
                                      .n_fields = ir->program.n_fields,
                                      .program = &ir->program};
    o->net.desc.n_areas = 1;
    o->net.desc.n_neurons = N;
    /* draws with high words of the seed and of the burst */
    o->net.desc.seed_input = 0xfedcba9876543210u + seed;
    test_net_finish(&o->net);
    for (uint32_t f = 0; f < ir->program.n_fields; f++)
        for (uint32_t i = 0; i < N; i++)
            o->state[f][i] = random_ir_word(ir, ir->field_types[f]);
    memcpy(o->net.start.state, o->state,
           (size_t)ir->program.n_fields * N * sizeof(uint32_t));
}

/* All neurons by the machine; fired [N] */
static void run_machine(own *o, ptx_machine *machine, uint32_t model,
                        uint64_t burst, int32_t value[VLY_PORTS_MAX][N],
                        uint8_t *fired)
{
    ptx_outer outer[N_NAMES];
    char why[200];
    const uint64_t key = o->net.desc.seed_input;
    const void *words = o->shared;
    for (uint32_t i = 0; i < N; i++) {
        memcpy(outer, outer_start, sizeof outer);
        outer[OF_model].value = model;
        outer[OF_state].value = (uint64_t)(uintptr_t)&o->state[0][i];
        outer[OF_stride].value = N * sizeof(uint32_t);
        outer[OF_coefs].value = (uint64_t)(uintptr_t)o->table;
        const float more[2] = {(float)value[2][i] * 0.5f,
                               (float)value[3][i] * 0.125f};
        if (o->ir.n_ports > 2)
            words = more;
        outer[OF_words].value = (uint64_t)(uintptr_t)words;
        outer[OF_vary].value = o->vary;
        outer[OF_place].value = i;
        outer[OF_neuron].value = i;
        outer[OF_in0].value = test_float((float)value[0][i] * 0.25f);
        outer[OF_in1].value = test_float((float)value[1][i] * 0.0625f);
        outer[OF_key_low].value = (uint32_t)key;
        outer[OF_key_high].value = (uint32_t)(key >> 32);
        outer[OF_burst_low].value = (uint32_t)burst;
        outer[OF_burst_high].value = (uint32_t)(burst >> 32);
        outer[OF_fired].value = 77;
        if (ptx_machine_run(machine, outer, why, sizeof why) != 0)
            fail_msg("%s", why);
        assert_true(outer[OF_fired].value <= 1);
        fired[i] = (uint8_t)outer[OF_fired].value;
    }
}

static void compare(const own *o, uint64_t seed, uint64_t burst,
                    const vly_snapshot *wanted, const test_run *run,
                    const uint8_t *fired)
{
    const uint32_t n_fields = o->ir.program.n_fields;
    uint32_t at = 0;
    for (uint32_t f = 0; f < n_fields; f++)
        for (uint32_t i = 0; i < N; i++)
            if (wanted->state[f * N + i] != o->state[f][i])
                fail_msg("program %llu, burst %llu, field %u of neuron %u: "
                         "%08x, wanted %08x",
                         (unsigned long long)seed, (unsigned long long)burst, f,
                         i, o->state[f][i], wanted->state[f * N + i]);
    for (uint32_t i = 0; i < N; i++) {
        const bool is_there = at < run->run.n_spikes && run->spikes[at] == i;
        assert_int_equal(fired[i], is_there);
        at += is_there;
    }
    n_spikes += at;
}

/* The program stands second among two; two thirds of the programs are those of
 * a row. */
static void one_program(uint64_t seed)
{
    own *o = calloc(1, sizeof *o);
    random_ir *before = calloc(1, sizeof *before);
    char why[200] = "";
    assert_non_null(o);
    assert_non_null(before);
    own_init(o, seed);
    random_ir_make(before, seed + 1);
    const vly_program *const programs[] = {&before->program, &o->ir.program};
    char *text = splice(seed % 3 == 0 ? kernel : row_kernel, programs, 2, 1);
    ptx_machine *machine =
        ptx_machine_read(text, outer_start, N_NAMES, why, sizeof why);
    if (machine == NULL)
        fail_msg("program %llu: %s", (unsigned long long)seed, why);
    n_lines += ptx_machine_lines(machine);
    o->net.start.burst = 0;
    vly_backend_net *made = test_create(&o->net, 1, NULL, NULL);
    for (uint64_t burst = 0; burst < BURSTS; burst++) {
        int32_t value[VLY_PORTS_MAX][N] = {{0}};
        vly_input inputs[VLY_PORTS_MAX * N];
        uint32_t n_inputs = 0;
        uint8_t fired[N];
        test_run run;
        vly_snapshot wanted;
        for (uint32_t i = 0; i < N; i++)
            for (uint32_t port = 0; port < o->ir.n_ports; port++) {
                value[port][i] = (int32_t)test_random(&o->net, 2000) - 1000;
                inputs[n_inputs++] = (vly_input){.burst = burst,
                                                 .neuron = i,
                                                 .port = port,
                                                 .value = value[port][i]};
            }
        test_run_bursts(&o->net, made, 1, inputs, n_inputs, &run);
        test_snapshot(made, &wanted);
        run_machine(o, machine, 1, burst, value, fired);
        compare(o, seed, burst, &wanted, &run, fired);
        test_run_deinit(&run);
        test_snapshot_deinit(&wanted);
    }
    test_backend->net_destroy(made);
    ptx_machine_free(machine);
    free(text);
    o->net.areas[0].n_coefs = 0; /* not of test_cpu_net */
    test_net_deinit(&o->net);
    free(before);
    free(o);
}

static void random_programs(void **state)
{
    (void)state;
    test_plugin_open();
    for (uint64_t seed = first_program; seed < first_program + n_programs;
         seed++)
        one_program(seed);
    printf("%llu programs, %llu lines, %llu spikes\n",
           (unsigned long long)n_programs, (unsigned long long)n_lines,
           (unsigned long long)n_spikes);
    assert_true(n_spikes > 2 * n_programs);
}

/* ---- single functions --------------------------------------------------- */

static const float bounds[2] = {-70.0f, 1e9f};

static float call(uint32_t code, float x)
{
    switch (code) {
    case VLY_PROGRAM_INVERSE:
        return vly_inverse_f32(x);
    case VLY_PROGRAM_ROOT:
        return vly_root_f32(x);
    case VLY_PROGRAM_EXP:
        return vly_exp_f32(x);
    case VLY_PROGRAM_DECAY_MEAN:
        return vly_decay_mean_f32(x);
    default:
        return vly_store(x, bounds[0], bounds[1]);
    }
}

/* field 0 becomes its function */
static ptx_machine *make_function(uint32_t code)
{
    char why[200] = "";
    const vly_program_op ops[] = {
        {VLY_PROGRAM_FIELD, 0, 0, 0},
        {code, 0, test_float(bounds[0]), test_float(bounds[1])},
        {VLY_PROGRAM_LESS, 0, 0, 0}};
    const uint32_t out[] = {1};
    const uint32_t types[] = {VLY_TYPE_F32, VLY_TYPE_F32, VLY_TYPE_U32};
    const vly_program program = {.struct_size = sizeof program,
                                 .n_ops = 3,
                                 .n_fields = 1,
                                 .fired = 2,
                                 .ops = ops,
                                 .out = out,
                                 .types = types};
    const vly_program *const programs[] = {&program};
    char *text = splice(kernel, programs, 1, 1);
    ptx_machine *machine =
        ptx_machine_read(text, outer_start, N_NAMES, why, sizeof why);
    free(text);
    if (machine == NULL)
        fail_msg("%s", why);
    return machine;
}

static void check_function(ptx_machine *machine, uint32_t code, uint32_t word)
{
    char why[200];
    ptx_outer outer[N_NAMES];
    uint32_t found = word;
    const float wanted = call(code, vly_float(word));
    memcpy(outer, outer_start, sizeof outer);
    outer[OF_state].value = (uint64_t)(uintptr_t)&found;
    if (ptx_machine_run(machine, outer, why, sizeof why) != 0)
        fail_msg("%s", why);
    if (found != vly_bits(wanted) && !(wanted != wanted && found == 0x7fffffff))
        fail_msg("operation %u of %08x: %08x, wanted %08x", code, word, found,
                 vly_bits(wanted));
}

/* Every exponent with the words around it, NaN of both signs, and others. */
static void functions(void **state)
{
    static const uint32_t codes[] = {VLY_PROGRAM_INVERSE, VLY_PROGRAM_ROOT,
                                     VLY_PROGRAM_EXP, VLY_PROGRAM_DECAY_MEAN,
                                     VLY_PROGRAM_STORE};
    static test_net net; /* its generator */
    (void)state;
    for (size_t k = 0; k < sizeof codes / sizeof codes[0]; k++) {
        ptx_machine *machine = make_function(codes[k]);
        for (uint32_t e = 0; e < 512; e++)
            for (uint32_t near = 0; near < 5; near++)
                check_function(machine, codes[k], (e << 23) + near - 2);
        for (uint32_t i = 0; i < 20000; i++)
            check_function(machine, codes[k], test_random(&net, 0xffffffffu));
        for (int32_t i = -2000; i < 2000; i++)
            check_function(machine, codes[k], test_float((float)i * 0.05f));
        ptx_machine_free(machine);
    }
}

/* ---- marks -------------------------------------------------------------- */

static void marks(void **state)
{
    random_ir *ir = calloc(1, sizeof *ir);
    char text[3 * sizeof kernel];
    (void)state;
    assert_non_null(ir);
    random_ir_make(ir, 3);
    const vly_program *const programs[] = {&ir->program};
    char *made = splice("ret;\n", programs, 1, 0);
    assert_string_equal(made, "ret;\n");
    free(made);
    snprintf(text, sizeof text, "one;\n\t%stwo;\n%sthree;", kernel, kernel);
    made = splice(text, programs, 1, 2);
    assert_memory_equal(made, "one;\n\t{\n", 8);
    assert_non_null(strstr(made, "}\n\ntwo;\n{\n"));
    assert_string_equal(made + strlen(made) - 9, "}\n\nthree;");
    assert_null(strstr(made, VLY_CUDA_PTX_MARK));
    assert_null(strstr(made, "fma"));
    assert_null(strstr(made, "ftz"));
    free(made);
    free(ir);
}

/* What a part that is not needed becomes, and that it counts as no step. */
static void needed_parts(void **state)
{
    static const char text[] =
        "a;\n\t" VLY_CUDA_PTX_NEEDS " 0\nb;\n" VLY_CUDA_PTX_NEEDS
        " 1\nc;\n" VLY_CUDA_PTX_NEEDS " 2\n" VLY_CUDA_PTX_NEEDS " 8\n";
    (void)state;
    char *made = splice(text, NULL, 0, 0);
    assert_string_equal(made, "a;\n\t\nb;\ntrap; exit;\nc;\n\ntrap; exit;\n");
    free(made);
}

static void damaged_marks(void **state)
{
    static const vly_program *const none[] = {NULL};
    char text[2 * sizeof kernel];
    vly_cuda_text counted = {NULL, 0, 0};
    (void)state;
    snprintf(text, sizeof text, "%s", kernel);
    *strrchr(text, '%') = 0; /* one operand less */
    assert_int_equal(vly_cuda_ptx_splice(text, none, 0, 0, &counted), -1);
    snprintf(text, sizeof text, "%.*s %%r1\n", (int)sizeof kernel - 2, kernel);
    assert_int_equal(vly_cuda_ptx_splice(text, none, 0, 0, &counted), -1);
    snprintf(text, sizeof text, "%s %%a_name_that_no_register_has\n",
             VLY_CUDA_PTX_MARK);
    assert_int_equal(vly_cuda_ptx_splice(text, none, 0, 0, &counted), -1);
    assert_int_equal(vly_cuda_ptx_splice(kernel, none, 0, 0, &counted), 1);
    for (uint32_t k = 0; k < 4; k++) { /* none, two, not known, no number */
        static const char *const operands[] = {"", " 1, 2", " 9", " %r1"};
        snprintf(text, sizeof text, "%s%s\n", VLY_CUDA_PTX_NEEDS, operands[k]);
        assert_int_equal(vly_cuda_ptx_splice(text, none, 0, ~0u, &counted), -1);
    }
}

/* What the machine finds. */
static void wrong_text(void **state)
{
    static const char *const texts[] = {
        ".reg .b32 %vb<2>;\nadd.f32 %vb0, %vb1, %vb1;\n",
        ".reg .b32 %vb<2>;\nmov.b32 %vb2, 0x1;\n",
        "mov.b32 %vb0, 0x1;\n",
        ".reg .b32 %vb<2>;\nmov.b32 %vb0, %r_nobody;\n",
        ".reg .b32 %vb<2>;\nfma.rn.f32 %vb0, %vb1, %vb1, %vb1;\n",
        ".reg .b32 %vb<2>;\nmov.b32 %vb0, 0x1\n",
        ".reg .pred %vq;\n@%vq bra NOWHERE;\n"};
    static const char early[] =
        ".reg .b32 %vb<3>;\nadd.rn.f32 %vb0, %vb1, %vb2;\n";
    char why[200] = "";
    ptx_outer outer[N_NAMES];
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_null(
            ptx_machine_read(texts[i], outer_start, N_NAMES, why, sizeof why));
    ptx_machine *machine =
        ptx_machine_read(early, outer_start, N_NAMES, why, sizeof why);
    assert_non_null(machine);
    memcpy(outer, outer_start, sizeof outer);
    assert_int_equal(ptx_machine_run(machine, outer, why, sizeof why), -1);
    ptx_machine_free(machine);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs), cmocka_unit_test(functions),
        cmocka_unit_test(marks),           cmocka_unit_test(needed_parts),
        cmocka_unit_test(damaged_marks),   cmocka_unit_test(wrong_text),
    };
    if (argc > 2) {
        first_program = strtoull(argv[1], NULL, 10);
        n_programs = strtoull(argv[2], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
