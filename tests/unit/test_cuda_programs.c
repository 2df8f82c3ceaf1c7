/* SPDX-License-Identifier: Apache-2.0
 * Programs of users' models on the CUDA backend beside the CPU's: random ones
 * (random_ir.c) in nets with built-in models, values that do not fit into
 * shared memory, columns that are written, every plan, several devices, and
 * beside maps that learn.
 * test_cuda_programs [FIRST COUNT]: nets of three random programs.
 */
#include "test_cuda_pair.h"

#include <stdarg.h>
#include <stdlib.h>

#include "kernels/rules/rule_program.h"
#include "program_nets.h"

/* PAIR_SMALL: where kernels run on the processor (emulated_cuda.h). */
#if defined(PAIR_SMALL)
enum { BURSTS = 8, NETS = 20, PLAN_NETS = 2 };
#define COMPILED "compiled by the driver"
#else
#define COMPILED "users' models" /* some drivers are too old */
enum { BURSTS = 60, NETS = 200, PLAN_NETS = 4 };
#endif
enum { INPUTS = 40, RULE_OPS = 4, RULE_COEF = 4 };

static uint64_t first_net = 0;
static uint64_t n_nets = NETS;
static uint64_t n_spikes;
static uint64_t n_compiled; /* nets that the driver compiled */

static void assert_same_state(vly_backend_net *const nets[2],
                              vly_snapshot *taken)
{
    vly_error error = {.struct_size = sizeof error};
    vly_snapshot other;
    uint64_t digests[2];
    pair_snapshot(pair_cpu, nets[0], &other);
    pair_snapshot(pair_cuda, nets[1], taken);
    pair_assert_snapshot(&other, taken);
    test_snapshot_deinit(&other);
    assert_ok(pair_cpu->state_digest(nets[0], &digests[0], &error), error);
    assert_ok(pair_cuda->state_digest(nets[1], &digests[1], &error), error);
    assert_true(digests[0] == digests[1]);
}

static void run_both(const test_net *net, vly_backend_net *const nets[2],
                     uint64_t n, const vly_input *inputs, uint64_t n_inputs)
{
    test_run runs[2];
    pair_run(pair_cpu, net, nets[0], n, inputs, n_inputs, &runs[0]);
    pair_run(pair_cuda, net, nets[1], n, inputs, n_inputs, &runs[1]);
    pair_assert_run(&runs[0], &runs[1]);
    n_spikes += runs[0].run.n_spikes;
    test_run_deinit(&runs[0]);
    test_run_deinit(&runs[1]);
}

static void assert_plan(vly_backend_net *made, const char *text)
{
    vly_error error = {.struct_size = sizeof error};
    vly_net_info info = {.struct_size = sizeof info};
    assert_ok(pair_cuda->net_info(made, &info, &error), error);
    if (strstr(info.plan, text) == NULL)
        fail_msg("%s, wanted '%s'", info.plan, text);
    n_compiled += strstr(info.plan, "compiled by the driver") != NULL;
}

/* ---- random programs ---------------------------------------------------- */

/* What is compared, for the message of a failure. */
typedef struct place {
    uint64_t seed;
    const char *options; /* of the net on the device */
    const char *when;
    const programs *p;
} place;

/* Prints where, with the seeds of the programs in random_ir.c; returns 0. */
static int fail_at(const place *at, const char *format, ...)
{
    va_list list;
    print_error("net seed %llu (programs %llu to %llu), options %s, %s: ",
                (unsigned long long)at->seed,
                (unsigned long long)at->seed * PROGRAMS,
                (unsigned long long)at->seed * PROGRAMS + PROGRAMS - 1,
                at->options == NULL ? "none" : at->options, at->when);
    va_start(list, format);
    vprint_error(format, list);
    va_end(list);
    return 0;
}

/* Both words of the first neuron that differs; *wrong: how many do. */
static uint32_t find_wrong(const uint32_t *cpu, const uint32_t *cuda,
                           uint32_t n, uint32_t *wrong)
{
    uint32_t first = n;
    *wrong = 0;
    for (uint32_t i = n; i-- > 0;)
        if (cpu[i] != cuda[i]) {
            first = i;
            ++*wrong;
        }
    return first;
}

/* 1 if all fields are the same. Prints each field that differs. */
static int same_fields(const test_net *net, const place *at,
                       const uint32_t *cpu, const uint32_t *cuda)
{
    int same = 1;
    for (uint32_t a = 0; a < net->desc.n_areas; a++) {
        const vly_area_desc *area = &net->areas[a];
        uint64_t program = 0;
        for (uint32_t k = 0; k < PROGRAMS; k++)
            if (area->program == &at->p->ir[k].program)
                program = at->seed * PROGRAMS + k;
        for (uint32_t f = 0; f < area->n_fields; f++) {
            const uint32_t n = area->n_neurons;
            uint32_t wrong;
            const uint32_t i = find_wrong(cpu, cuda, n, &wrong);
            if (wrong > 0)
                same =
                    fail_at(at,
                            "area %u (%s, random_ir %llu) field %u: %u of %u "
                            "neurons differ, the first one is %u: %08x on the "
                            "CPU, %08x on the device\n",
                            a, area->model, (unsigned long long)program, f,
                            wrong, n, i, cpu[i], cuda[i]);
            cpu += n;
            cuda += n;
        }
    }
    return same;
}

static int same_state(const test_net *net, vly_backend_net *const nets[2],
                      const place *at, vly_snapshot *taken)
{
    vly_snapshot other;
    pair_snapshot(pair_cpu, nets[0], &other);
    pair_snapshot(pair_cuda, nets[1], taken);
    assert_int_equal(other.n_state_words, taken->n_state_words);
    const int same = same_fields(net, at, other.state, taken->state);
    if (same)
        pair_assert_snapshot(&other, taken);
    test_snapshot_deinit(&other);
    return same;
}

/* 1 if the spikes are the same. Prints the first burst that differs. */
static int same_run(const place *at, const test_run *cpu, const test_run *cuda)
{
    for (uint64_t t = 0; t < cpu->run.n_bursts_done; t++)
        if (cpu->digests[t] != cuda->digests[t] ||
            cpu->counts[t] != cuda->counts[t])
            return fail_at(at,
                           "burst %llu of the run: %u spikes, digest %016llx "
                           "on the CPU; %u, %016llx on the device\n",
                           (unsigned long long)t, cpu->counts[t],
                           (unsigned long long)cpu->digests[t], cuda->counts[t],
                           (unsigned long long)cuda->digests[t]);
    pair_assert_run(cpu, cuda);
    return 1;
}

static int run_same(const test_net *net, vly_backend_net *const nets[2],
                    const place *at, uint64_t n, const vly_input *inputs,
                    uint64_t n_inputs)
{
    test_run runs[2];
    pair_run(pair_cpu, net, nets[0], n, inputs, n_inputs, &runs[0]);
    pair_run(pair_cuda, net, nets[1], n, inputs, n_inputs, &runs[1]);
    const int same = same_run(at, &runs[0], &runs[1]);
    n_spikes += runs[0].run.n_spikes;
    test_run_deinit(&runs[0]);
    test_run_deinit(&runs[1]);
    return same;
}

/* Both backends; then each from the snapshot of the other. 1 if all is the
 * same. */
static int one_net(uint64_t seed)
{
    static const char *const options[4] = {"jit=0", "jit=0,launch=3",
                                           "plan=global,jit=3",
                                           "plan=global,jit=1,launch=3"};
    const char *second = options[(seed + 1) % 4];
    test_net net;
    programs *p = malloc(sizeof *p);
    vly_backend_net *nets[2];
    vly_snapshot between;
    vly_snapshot last;
    vly_input inputs[INPUTS];
    assert_non_null(p);
    programs_init(&net, p, seed);
    place at = {seed, options[seed % 4], "first net", p};
    pair_inputs(&net, inputs, INPUTS, BURSTS);
    nets[0] = pair_create(pair_cpu, &net, NULL, NULL);
    nets[1] = pair_create(pair_cuda, &net, at.options, NULL);
    assert_plan(nets[1], seed % 4 < 2 ? "step by step" : COMPILED);
    int same = run_same(&net, nets, &at, BURSTS, inputs, INPUTS);
    same &= same_state(&net, nets, &at, &between);
    if (same) {
        at.options = second;
        at.when = "second net, from a snapshot of the first one";
        pair_cuda->net_destroy(nets[1]);
        nets[1] = pair_create(pair_cuda, &net, second, &between);
        for (uint32_t k = 0; k < 3 && same; k++) /* short runs */
            same = run_same(&net, nets, &at, 1, NULL, 0);
        same &= same_state(&net, nets, &at, &last);
        test_snapshot_deinit(&last);
    }
    test_snapshot_deinit(&between);
    pair_cpu->net_destroy(nets[0]);
    pair_cuda->net_destroy(nets[1]);
    programs_deinit(&net, p);
    free(p);
    return same;
}

static void test_random_programs(void **state)
{
    uint64_t n_wrong = 0;
    (void)state;
    pair_open();
    for (uint64_t seed = first_net; seed < first_net + n_nets; seed++)
        n_wrong += !one_net(seed);
    printf("%llu programs, %llu spikes; the driver compiled %llu of %llu nets "
           "with jit=1 or 3\n",
           (unsigned long long)n_nets * PROGRAMS, (unsigned long long)n_spikes,
           (unsigned long long)n_compiled, (unsigned long long)n_nets / 2);
    if (n_wrong > 0)
        fail_msg("%llu of %llu nets differ", (unsigned long long)n_wrong,
                 (unsigned long long)n_nets);
    assert_true(n_spikes > 20 * n_nets);
}

/* ---- many values -------------------------------------------------------- */

static void test_many_values(void **state)
{
    static const struct {
        uint32_t n;
        const char *text;
    } cases[] = {{40, "40 values of a thread in shared memory"},
                 {400, "400 values of a thread in global memory"}};
    (void)state;
    pair_open();
    for (int c = 0; c < 2; c++) {
        test_net net;
        vly_backend_net *nets[2];
        vly_snapshot last;
        programs *p = calloc(1, sizeof *p);
        assert_non_null(p);
        test_net_init(&net, 5);
        random_ir_wide(&p->ir[0], cases[c].n);
        programs_add_area(&net, p, 0, 0);
        test_net_finish(&net);
        nets[0] = pair_create(pair_cpu, &net, NULL, NULL);
        nets[1] = pair_create(pair_cuda, &net, "jit=0", NULL);
        assert_plan(nets[1], cases[c].text);
        run_both(&net, nets, 3, NULL, 0);
        assert_same_state(nets, &last);
        test_snapshot_deinit(&last);
        pair_cpu->net_destroy(nets[0]);
        pair_cuda->net_destroy(nets[1]);
        programs_deinit(&net, p);
        free(p);
    }
}

/* ---- writing ------------------------------------------------------------ */

static void write_both(vly_backend_net *const nets[2], uint32_t area,
                       uint32_t coef, const vly_column *column)
{
    vly_error error = {.struct_size = sizeof error};
    assert_ok(pair_cpu->coef_write(nets[0], area, coef, column, &error), error);
    assert_ok(pair_cuda->coef_write(nets[1], area, coef, column, &error),
              error);
}

/* All coefficients of all areas: one word for all, one a neuron, and again. */
static void write_columns(const test_net *net, const programs *p,
                          const char *options)
{
    vly_backend_net *nets[2];
    vly_snapshot last;
    nets[0] = pair_create(pair_cpu, net, NULL, NULL);
    nets[1] = pair_create(pair_cuda, net, options, NULL);
    for (uint32_t turn = 0; turn < 3; turn++) {
        for (uint32_t a = 0, k = 0; a < net->desc.n_areas; a++) {
            if (net->areas[a].program == NULL)
                continue;
            for (uint32_t c = 0; c < net->areas[a].n_coefs; c++) {
                vly_column column = p->columns[k][c];
                column.uniform = (turn + c) % 2;
                write_both(nets, a, c, &column);
            }
            k++;
        }
        run_both(net, nets, 3, NULL, 0);
        assert_same_state(nets, &last);
        test_snapshot_deinit(&last);
    }
    pair_cpu->net_destroy(nets[0]);
    pair_cuda->net_destroy(nets[1]);
}

static void test_columns(void **state)
{
    test_net net;
    programs *p = malloc(sizeof *p);
    (void)state;
    pair_open();
    assert_non_null(p);
    programs_init(&net, p, 16); /* one of its programs is large */
    write_columns(&net, p, NULL);
    programs_deinit(&net, p);
    free(p);
}

static void test_fields(void **state)
{
    test_net net;
    programs *p = malloc(sizeof *p);
    vly_error error = {.struct_size = sizeof error};
    (void)state;
    pair_open();
    assert_non_null(p);
    programs_init(&net, p, 32);
    uint32_t a = 0;
    while (net.areas[a].n_fields < VLY_PROGRAM_MAX_FIELDS)
        a++;
    const uint32_t n = net.areas[a].n_neurons;
    uint32_t *words = calloc(n, sizeof *words);
    uint32_t *found = calloc(n, sizeof *found);
    assert_non_null(words);
    assert_non_null(found);
    vly_backend_net *made = pair_create(pair_cuda, &net, NULL, NULL);
    for (uint32_t f = 0; f < VLY_PROGRAM_MAX_FIELDS; f++) {
        for (uint32_t i = 0; i < n; i++)
            words[i] = f * 1000 + i;
        assert_ok(pair_cuda->field_write(made, a, f, 0, n, words, &error),
                  error);
    }
    for (uint32_t f = 0; f < VLY_PROGRAM_MAX_FIELDS; f++) {
        assert_ok(pair_cuda->field_read(made, a, f, 0, n, found, &error),
                  error);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(found[i], f * 1000 + i);
    }
    pair_cuda->net_destroy(made);
    free(words);
    free(found);
    programs_deinit(&net, p);
    free(p);
}

/* ---- plans --------------------------------------------------------------- */

/* Whether the driver compiles: some are too old. */
static bool has_jit(void)
{
    test_net net;
    programs *p = malloc(sizeof *p);
    vly_error error = {.struct_size = sizeof error};
    const vly_device_spec device = {.struct_size = sizeof device,
                                    .n_threads = 1,
                                    .options = "plan=resident"};
    vly_backend_net *made = NULL;
    assert_non_null(p);
    programs_init_one_port(&net, p, 2, 0, 0);
    const vly_status status =
        pair_cuda->net_create(&device, &net.desc, &net.start, &made, &error);
    if (status == VLY_OK)
        pair_cuda->net_destroy(made);
    else if (strstr(error.message, "before 12.8") == NULL)
        fail_msg("%s", error.message);
    programs_deinit(&net, p);
    free(p);
    return status == VLY_OK;
}

/* How a net is made, and what info->plan has to say. */
typedef struct plan_case {
    const char *options;
    const char *plan;
    uint32_t n_neurons; /* of an area; 0: at random */
} plan_case;

static const plan_case plan_cases[] = {
    {"plan=resident", "resident with users' models: ", 0},
    {"plan=partitioned", "partitioned with users' models: ", 0},
    {"plan=resident,launch=3", "resident with users' models: ", 0},
    {"plan=partitioned,unit=1,cluster=1,launch=3",
     "partitioned with users' models: ", 0},
    {"plan=partitioned,unit=2,narrow=0", "partitioned with users' models: ", 0},
    {"plan=partitioned,once=50,cluster=2",
     "partitioned with users' models: ", 0},
    {"plan=resident,blocks=1",
     "resident with users' models: ", 300}, /* by many threads */
    {"plan=resident,blocks=1,split=1",
     "resident with users' models: ", 500}, /* not kept */
    {"launch=2,change=1", "", 0},           /* from plan to plan */
};
enum { PLAN_CASES = sizeof plan_cases / sizeof plan_cases[0] };

/* From the first case to the second, with a net that the first wants. */
static int one_plan(uint64_t seed, const plan_case *first,
                    const plan_case *second)
{
    const bool narrow = strstr(first->options, "narrow=1") != NULL;
    const int with =
        (narrow ? WITH_ONE_DELAY : 0) | (seed / 2 % 2 == 1 ? WITH_MODEL : 0);
    test_net net;
    programs *p = malloc(sizeof *p);
    vly_backend_net *nets[2];
    vly_snapshot between;
    vly_snapshot last;
    vly_input inputs[INPUTS];
    assert_non_null(p);
    programs_init_one_port(&net, p, seed, first->n_neurons, with);
    place at = {seed, first->options, "first plan", p};
    pair_inputs(&net, inputs, INPUTS, BURSTS);
    nets[0] = pair_create(pair_cpu, &net, NULL, NULL);
    nets[1] = pair_create(pair_cuda, &net, first->options, NULL);
    assert_plan(nets[1], first->plan);
    int same = run_same(&net, nets, &at, BURSTS, inputs, INPUTS);
    same &= same_state(&net, nets, &at, &between);
    if (same) {
        at.options = second->options;
        at.when = "second plan, from a snapshot of the first one";
        pair_cuda->net_destroy(nets[1]);
        nets[1] = pair_create(pair_cuda, &net, second->options, &between);
        for (uint32_t k = 0; k < 3 && same; k++) /* short runs */
            same = run_same(&net, nets, &at, 1 + k, NULL, 0);
        same &= same_state(&net, nets, &at, &last);
        test_snapshot_deinit(&last);
    }
    test_snapshot_deinit(&between);
    pair_cpu->net_destroy(nets[0]);
    pair_cuda->net_destroy(nets[1]);
    programs_deinit(&net, p);
    free(p);
    return same;
}

static void test_plans(void **state)
{
    const uint64_t n = n_nets != NETS ? n_nets : PLAN_CASES * PLAN_NETS;
    uint64_t n_wrong = 0;
    (void)state;
    pair_open();
    if (!has_jit())
        skip();
    n_spikes = 0;
    for (uint64_t seed = first_net; seed < first_net + n; seed++)
        n_wrong += !one_plan(seed, &plan_cases[seed % PLAN_CASES],
                             &plan_cases[(seed / PLAN_CASES + 1) % PLAN_CASES]);
    if (n_wrong > 0)
        fail_msg("%llu of %llu nets differ", (unsigned long long)n_wrong,
                 (unsigned long long)n);
    assert_true(n_spikes > 20 * n);
}

/* ---- several devices ----------------------------------------------------- */

#define PARTS(n) n " parts of one device: partitioned with users' models: "

static const plan_case span_cases[] = {
    {"span=2", PARTS("2"), 150},
    {"span=3,launch=3", PARTS("3"), 200},
    {"plan=resident", "resident with users' models: ", 170},
    {"span=2,narrow=1,launch=5", "by 16 bits", 150},
    {"span=4,unit=1", PARTS("4"), 250},
    {"plan=global,jit=0", "step by step", 150},
    {"span=2,cluster=2,unit=2,launch=1", PARTS("2"), 300},
    {"span=3,narrow=1,unit=1", "by 16 bits", 180},
    {"span=2,cluster=1,narrow=0", PARTS("2"), 260},
    {"plan=partitioned", "partitioned with users' models: ", 150},
};
enum { SPAN_CASES = sizeof span_cases / sizeof span_cases[0] };

/* A snapshot of any number of devices begins a net on any other. */
static void test_spans(void **state)
{
    const uint64_t n = n_nets != NETS ? n_nets : SPAN_CASES * PLAN_NETS / 2;
    uint64_t n_wrong = 0;
    (void)state;
    pair_open();
    if (!has_jit())
        skip();
    n_spikes = 0;
    for (uint64_t seed = first_net; seed < first_net + n; seed++)
        n_wrong +=
            !one_plan(seed, &span_cases[seed % SPAN_CASES],
                      &span_cases[(seed * 3 + seed / SPAN_CASES) % SPAN_CASES]);
    if (n_wrong > 0)
        fail_msg("%llu of %llu nets differ", (unsigned long long)n_wrong,
                 (unsigned long long)n);
    assert_true(n_spikes > 20 * n);
}

/* Columns of all devices are written. */
static void test_span_columns(void **state)
{
    test_net net;
    programs *p = malloc(sizeof *p);
    (void)state;
    pair_open();
    if (!has_jit())
        skip();
    assert_non_null(p);
    for (uint64_t seed = 1; seed < 4; seed++) {
        static const char *const options[3] = {"span=2", "span=3,launch=2",
                                               "span=4"};
        programs_init_one_port(&net, p, seed, 200, WITH_MODEL);
        write_columns(&net, p, options[seed - 1]);
        programs_deinit(&net, p);
    }
    free(p);
}

/* Two devices, where there are two: a kernel on each. */
static void test_two_devices(void **state)
{
    vly_device_spec devices[2];
    vly_error error = {.struct_size = sizeof error};
    test_net net;
    programs *p = malloc(sizeof *p);
    vly_backend_net *nets[2] = {NULL, NULL};
    vly_snapshot last;
    vly_input inputs[INPUTS];
    (void)state;
    pair_open();
    if (!has_jit())
        skip();
    if (pair_cuda->device_count() < 2) {
        print_message("skipped: one device\n");
        skip();
    }
    assert_non_null(p);
    programs_init_one_port(&net, p, 7, 300, WITH_MODEL);
    pair_inputs(&net, inputs, INPUTS, BURSTS);
    for (uint32_t i = 0; i < 2; i++)
        devices[i] = (vly_device_spec){.struct_size = sizeof devices[i],
                                       .index = i,
                                       .n_threads = 1,
                                       .options = "devices=all,launch=5"};
    nets[0] = pair_create(pair_cpu, &net, NULL, NULL);
    assert_ok(pair_cuda->net_create_span(devices, 2, &net.desc, &net.start,
                                         &nets[1], &error),
              error);
    assert_plan(nets[1], "2 devices: partitioned with users' models: ");
    run_both(&net, nets, BURSTS, inputs, INPUTS);
    assert_same_state(nets, &last);
    test_snapshot_deinit(&last);
    pair_cpu->net_destroy(nets[0]);
    pair_cuda->net_destroy(nets[1]);
    programs_deinit(&net, p);
    free(p);
}

/* ---- beside maps that learn ---------------------------------------------- */

/* The last projection learns by a rule of a user.
 * on_pre: -coefficient * w, on_post: coefficient * x0 */
typedef struct learning {
    vly_learning_desc desc;
    uint32_t words[VLY_RULE_PROGRAM_HEAD + 1 + 2 * 4 * RULE_OPS];
    uint32_t *weights;
    int32_t *masters[3]; /* at first, and of both backends */
    uint32_t projection;
    uint64_t n;
} learning;

static void add_learning(test_net *net, learning *l)
{
    static const uint32_t ops[2 * RULE_OPS][4] = {
        {VLY_PROGRAM_FIELD, 0, 0, 0},    {VLY_PROGRAM_COEF, 0, 0, 0},
        {VLY_PROGRAM_MULTIPLY, 0, 1, 0}, {VLY_PROGRAM_NEGATE, 2, 0, 0},
        {VLY_PROGRAM_FIELD, 1, 0, 0},    {VLY_PROGRAM_COEF, 0, 0, 0},
        {VLY_PROGRAM_MULTIPLY, 0, 1, 0}, {VLY_PROGRAM_ABSOLUTE, 2, 0, 0}};
    const uint32_t most = 32767u << 16;
    const uint32_t n_words = sizeof l->words / sizeof *l->words;
    const uint32_t n_sources = net->areas[0].n_neurons;
    memset(l, 0, sizeof *l);
    memcpy(l->words, (const uint32_t[]){most, 1, RULE_OPS, RULE_OPS},
           VLY_RULE_PROGRAM_HEAD * sizeof *l->words);
    l->words[RULE_COEF] = test_float(0.3f);
    memcpy(l->words + RULE_COEF + 1, ops, sizeof ops);
    l->desc = (vly_learning_desc){.struct_size = sizeof l->desc,
                                  .rule = VLY_RULE_PROGRAM "r",
                                  .rule_hash =
                                      vly_rule_program_hash(l->words, n_words),
                                  .coefs = l->words,
                                  .n_coefs = n_words,
                                  .most = most,
                                  .source = {{0.05f, 200}},
                                  .modulator_area = UINT32_MAX};
    l->projection = net->desc.n_projections - 1;
    l->n = (uint64_t)n_sources * RULE_FAN;
    vly_projection_desc *map = &net->projections[l->projection];
    map->map = "learns";
    map->flags = VLY_PROJECTION_PLASTIC;
    map->learning = &l->desc;
    const uint64_t all = l->n + UINT64_C(2) * n_sources;
    l->weights = calloc(all, sizeof *l->weights);
    assert_non_null(l->weights);
    for (uint64_t i = 0; i < l->n; i++)
        l->weights[i] = (uint32_t)map->weight[i] << 16;
    for (uint64_t i = l->n + n_sources; i < all; i++) /* no spike yet */
        l->weights[i] = UINT32_MAX;
    net->start.weights = l->weights;
    net->start.n_weight_bytes = all * sizeof *l->weights;
    for (int k = 0; k < 3; k++) {
        l->masters[k] = calloc(l->n, sizeof **l->masters);
        assert_non_null(l->masters[k]);
    }
    memcpy(l->masters[0], l->weights, l->n * sizeof **l->masters);
}

static void free_learning(test_net *net, learning *l)
{
    net->start.weights = NULL;
    free(l->weights);
    for (int k = 0; k < 3; k++)
        free(l->masters[k]);
}

/* Weights and states of both. */
static int same_weights(vly_backend_net *const nets[2], const place *at,
                        learning *l)
{
    const vly_backend *const backends[2] = {pair_cpu, pair_cuda};
    vly_error error = {.struct_size = sizeof error};
    uint64_t digests[2];
    for (int b = 0; b < 2; b++) {
        assert_ok(backends[b]->learning_read(nets[b], l->projection, 0, l->n,
                                             l->masters[1 + b], &error),
                  error);
        assert_ok(backends[b]->state_digest(nets[b], &digests[b], &error),
                  error);
    }
    uint32_t wrong;
    const uint32_t i =
        find_wrong((const uint32_t *)l->masters[1],
                   (const uint32_t *)l->masters[2], (uint32_t)l->n, &wrong);
    if (wrong > 0)
        return fail_at(at, "%u weights differ, the first one is %u\n", wrong,
                       i);
    return digests[0] == digests[1] || fail_at(at, "states differ\n");
}

static const plan_case learning_cases[] = {
    {"plan=resident", "resident with learning by users' rules with users'", 0},
    {"plan=global,jit=3", COMPILED, 0},
    {"plan=resident,launch=3,blocks=1",
     "resident with learning by users' rules with users'", 300},
    {"plan=global,launch=3", COMPILED, 0},
    {"plan=resident,blocks=1",
     "resident with learning by users' rules with users'", 400}, /* not kept */
    {"plan=global,jit=0", "step by step", 0},
    {NULL, "resident with learning by users' rules with users'", 0}};
enum { LEARNING_CASES = sizeof learning_cases / sizeof learning_cases[0] };

static int one_learning_net(uint64_t seed, uint64_t *n_changed)
{
    const plan_case *with = &learning_cases[seed % LEARNING_CASES];
    test_net net;
    learning l;
    programs *p = malloc(sizeof *p);
    vly_backend_net *nets[2];
    vly_input inputs[INPUTS];
    assert_non_null(p);
    programs_init_one_port(&net, p, seed, with->n_neurons,
                           WITH_LEARNING |
                               (seed / 2 % 2 == 1 ? WITH_MODEL : 0));
    add_learning(&net, &l);
    place at = {seed, with->options, "a map learns", p};
    pair_inputs(&net, inputs, INPUTS, BURSTS);
    nets[0] = pair_create(pair_cpu, &net, NULL, NULL);
    nets[1] = pair_create(pair_cuda, &net, with->options, NULL);
    assert_plan(nets[1], with->plan);
    int same = run_same(&net, nets, &at, BURSTS, inputs, INPUTS);
    same = same && same_weights(nets, &at, &l);
    *n_changed +=
        memcmp(l.masters[0], l.masters[1], l.n * sizeof **l.masters) != 0;
    for (uint32_t k = 0; k < 3 && same; k++) /* short runs */
        same = run_same(&net, nets, &at, 1 + k, NULL, 0);
    same = same && same_weights(nets, &at, &l);
    pair_cpu->net_destroy(nets[0]);
    pair_cuda->net_destroy(nets[1]);
    free_learning(&net, &l);
    programs_deinit(&net, p);
    free(p);
    return same;
}

static void test_learning(void **state)
{
    const uint64_t n = n_nets != NETS ? n_nets : LEARNING_CASES * PLAN_NETS;
    uint64_t n_wrong = 0;
    uint64_t n_changed = 0;
    (void)state;
    pair_open();
    if (!has_jit())
        skip();
    for (uint64_t seed = first_net; seed < first_net + n; seed++)
        n_wrong += !one_learning_net(seed, &n_changed);
    if (n_wrong > 0)
        fail_msg("%llu of %llu nets differ", (unsigned long long)n_wrong,
                 (unsigned long long)n);
    assert_true(n_changed > n / 2);
}

static void test_refused_plans(void **state)
{
    static const char *const refused[][2] = {
        {"plan=resident,jit=0", "run step by step with jit=0"},
        {"plan=partitioned,jit=0", "run step by step with jit=0"},
        {"span=2,jit=0", "models of users run step by step with jit=0"}};
    test_net net;
    programs *p = malloc(sizeof *p);
    vly_error error = {.struct_size = sizeof error};
    (void)state;
    pair_open();
    assert_non_null(p);
    programs_init_one_port(&net, p, 2, 150, 0);
    for (int i = 0; i < 3; i++) {
        vly_backend_net *made = NULL;
        const vly_device_spec device = {.struct_size = sizeof device,
                                        .n_threads = 1,
                                        .options = refused[i][0]};
        assert_int_equal(pair_cuda->net_create(&device, &net.desc, &net.start,
                                               &made, &error),
                         VLY_E_UNSUPPORTED);
        assert_null(made);
        if (strstr(error.message, refused[i][1]) == NULL)
            fail_msg("%s", error.message);
    }
    vly_backend_net *made = pair_create(pair_cuda, &net, "plan=global", NULL);
    assert_plan(made, "global");
    pair_cuda->net_destroy(made);
    made = pair_create(pair_cuda, &net, "span=2,devices=all,jit=0", NULL);
    assert_plan(made, "1 device of 2, since models of users run step by step");
    pair_cuda->net_destroy(made);
    programs_deinit(&net, p);
    programs_init(&net, p, 3); /* with three and four ports */
    made = pair_create(pair_cuda, &net, "span=2,devices=all", NULL);
    assert_plan(made, "1 device of 2, since a model has more than one port");
    pair_cuda->net_destroy(made);
    programs_deinit(&net, p);
    free(p);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs),
        cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_span_columns),
        cmocka_unit_test(test_two_devices),
        cmocka_unit_test(test_learning),
        cmocka_unit_test(test_refused_plans),
    };
    if (argc > 2) {
        first_net = strtoull(argv[1], NULL, 10);
        n_nets = strtoull(argv[2], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
