/* SPDX-License-Identifier: Apache-2.0
 * Users' models on the host side of the CUDA backend where there is no device
 * (fake_cuda.c), also beside a map that learns: the 1st, 2nd, 3rd ... block
 * cannot be had, copies fail.
 * Nothing is left and nothing stands half. No spike is computed here.
 */
#include "test_cpu_net.h"

#include <glob.h>
#include <stdlib.h>

#include "kernels/rules/rule_program.h"
#include "random_ir.h"

#define BACKEND test_backend
enum { N = 37, FAN = 3, N_SPAN = 150 };

typedef struct own_net {
    test_net net;
    random_ir ir[2];
    vly_column columns[VLY_PROGRAM_MAX_COEFS];
    vly_learning_desc learning;
    uint32_t rule[VLY_RULE_PROGRAM_HEAD + 2 * 4];
    uint32_t weights[N * FAN + 2 * N];
} own_net;

static const uint32_t zeros[N_SPAN];

static void add_area(own_net *own, random_ir *ir, uint32_t n)
{
    test_net *net = &own->net;
    net->areas[net->desc.n_areas++] =
        (vly_area_desc){.name = "own",
                        .model = "random",
                        .first = net->desc.n_neurons,
                        .n_neurons = n,
                        .n_ports = ir->n_ports,
                        .scale = {1.0f, 1.0f},
                        .coefs = own->columns,
                        .n_coefs = ir->n_coefs,
                        .n_fields = ir->program.n_fields,
                        .program = &ir->program};
    net->desc.n_neurons += n;
}

/* A rule of a user by which no weight changes. */
static void add_learning(own_net *own)
{
    vly_projection_desc *map = &own->net.projections[0];
    const uint32_t most = 900u << 16;
    const uint32_t n = sizeof own->rule / sizeof own->rule[0];
    memcpy(own->rule, (const uint32_t[]){most, 0, 1, 1},
           VLY_RULE_PROGRAM_HEAD * sizeof own->rule[0]);
    for (uint32_t k = 0; k < 2; k++)
        own->rule[VLY_RULE_PROGRAM_HEAD + 4 * k] = VLY_PROGRAM_NUMBER;
    own->learning =
        (vly_learning_desc){.struct_size = sizeof own->learning,
                            .rule = VLY_RULE_PROGRAM "r",
                            .rule_hash = vly_rule_program_hash(own->rule, n),
                            .coefs = own->rule,
                            .n_coefs = n,
                            .most = most,
                            .source = {{0.05f, 200}},
                            .modulator_area = UINT32_MAX};
    map->map = "learns";
    map->flags = VLY_PROJECTION_PLASTIC;
    map->learning = &own->learning;
    for (uint32_t i = 0; i < N; i++) /* no spike yet */
        own->weights[N * (FAN + 1) + i] = UINT32_MAX;
    own->net.start.weights = own->weights;
    own->net.start.n_weight_bytes = sizeof own->weights;
}

/* A large program, and one whose values are in memory of the device. */
static own_net *own_make_of(uint32_t n, bool learns, bool one_port)
{
    own_net *own = calloc(1, sizeof *own);
    assert_non_null(own);
    test_plugin_open();
    test_net_init(&own->net, 1);
    random_ir_make(&own->ir[0], 16);
    random_ir_wide(&own->ir[1], n == N ? 100 : 5); /* of a span: a quick test */
    for (uint32_t k = 0; one_port && k < 2; k++)
        random_ir_ports(&own->ir[k], 1);
    for (uint32_t c = 0; c < own->ir[0].n_coefs; c++)
        own->columns[c] = (vly_column){.words = zeros,
                                       .uniform = c % 3 != 0,
                                       .type = own->ir[0].coef_types[c]};
    add_area(own, &own->ir[0], n);
    add_area(own, &own->ir[1], n);
    test_random_projection(&own->net, 0, 1, FAN, 1, 9, 1, learns ? 0 : 2);
    test_net_finish(&own->net);
    if (learns)
        add_learning(own);
    return own;
}

/* Plan resident has one port. */
static own_net *own_make(bool learns)
{
    return own_make_of(N, learns, learns);
}

static void own_free(own_net *own)
{
    for (uint32_t a = 0; a < own->net.desc.n_areas; a++)
        own->net.areas[a].n_coefs = 0; /* not of test_cpu_net */
    own->net.start.weights = NULL;
    test_net_deinit(&own->net);
    free(own);
}

static vly_status make(const own_net *own, const char *options,
                       vly_backend_net **made, vly_error *error)
{
    const vly_device_spec device = {
        .struct_size = sizeof device, .n_threads = 1, .options = options};
    return BACKEND->net_create(&device, &own->net.desc, &own->net.start, made,
                               error);
}

static vly_status use(vly_backend_net *made, vly_error *error)
{
    const vly_column columns[2] = {{.words = zeros, .uniform = 1},
                                   {.words = zeros, .uniform = 0}};
    vly_run run = {.struct_size = sizeof run, .n_bursts = 20};
    uint64_t digest;
    vly_status status = BACKEND->net_run(made, &run, error);
    for (uint32_t c = 0; c < 4 && status == VLY_OK; c++)
        status = BACKEND->coef_write(made, 0, c, &columns[(c + 1) % 2], error);
    if (status == VLY_OK)
        status = BACKEND->state_digest(made, &digest, error);
    return status;
}

static void walk_net(own_net *own, const char *options)
{
    uint32_t n_failed = 0;
    bool came = true;
    for (uint64_t n = 1; came; n++) {
        vly_backend_net *made = NULL;
        vly_error error = {.struct_size = sizeof error};
        const uint64_t live = test_host_live();
        test_host_fail_at(n);
        vly_status status = make(own, options, &made, &error);
        if (status == VLY_OK)
            status = use(made, &error);
        came = test_host_fail_at_came();
        test_host_fail_at(0);
        /* the driver, which does not say how much it wanted */
        const bool by_driver =
            status == VLY_E_UNSUPPORTED &&
            strstr(error.message, "users' models: out of memory") != NULL;
        if (status != VLY_OK && !by_driver &&
            (status != VLY_E_NOMEM || error.bytes_requested == 0))
            fail_msg("block %u: status %d: %s", (unsigned)n, (int)status,
                     error.message);
        assert_true(came || status == VLY_OK);
        n_failed += status != VLY_OK;
        BACKEND->net_destroy(made);
        assert_true(test_host_live() == live);
    }
    print_message("%u blocks end it\n", n_failed);
    assert_true(n_failed > 40);
    own_free(own);
}

static void walk(const char *options, bool learns)
{
    walk_net(own_make(learns), options);
}

static void every_block(void **state)
{
    (void)state;
    walk("jit=0", false);
    walk("plan=global", false);
    walk("plan=resident", false);
    walk("plan=partitioned", false);
}

static void every_block_of_maps(void **state)
{
    (void)state;
    walk("jit=0", true);
    walk("plan=global", true);
    walk("plan=resident", true);
}

/* Room for a column is kept or given back; later writes work. */
static void columns_that_were_not_copied(void **state)
{
    own_net *own = own_make(false);
    vly_backend_net *made = NULL;
    vly_error error = {.struct_size = sizeof error};
    vly_net_info info = {.struct_size = sizeof info};
    const vly_column wide = {.words = zeros, .uniform = 0};
    (void)state;
    assert_ok(make(own, NULL, &made, &error), error);
    assert_ok(BACKEND->net_info(made, &info, &error), error);
    const uint64_t before = info.device_bytes;
    for (uint32_t c = 0; c < own->ir[0].n_coefs; c++) {
        setenv("FAKE_CUDA_COPY", "1", 1);
        vly_status status = BACKEND->coef_write(made, 0, c, &wide, &error);
        unsetenv("FAKE_CUDA_COPY");
        assert_int_equal(status, VLY_E_DEVICE);
        assert_ok(BACKEND->net_info(made, &info, &error), error);
        assert_true(info.device_bytes == before);
    }
    uint32_t n_widened = 0;
    for (uint32_t c = 0; c < own->ir[0].n_coefs; c++) {
        assert_ok(BACKEND->coef_write(made, 0, c, &wide, &error), error);
        n_widened += own->columns[c].uniform;
    }
    assert_ok(BACKEND->net_info(made, &info, &error), error);
    assert_true(info.device_bytes ==
                before + (uint64_t)n_widened * N * sizeof *zeros);
    BACKEND->net_destroy(made);
    own_free(own);
}

/* A copy that fails while the net is made leaves nothing. */
static void nets_that_were_not_copied(void **state)
{
    own_net *own = own_make(false);
    vly_backend_net *made = NULL;
    vly_error error = {.struct_size = sizeof error};
    const uint64_t live = test_host_live();
    (void)state;
    setenv("FAKE_CUDA_COPY", "1", 1);
    vly_status status = make(own, NULL, &made, &error);
    unsetenv("FAKE_CUDA_COPY");
    assert_int_equal(status, VLY_E_DEVICE);
    assert_null(made);
    assert_true(test_host_live() == live);
    own_free(own);
}

static void assert_plan(const own_net *own, const char *options,
                        const char *text)
{
    vly_backend_net *made = NULL;
    vly_error error = {.struct_size = sizeof error};
    vly_net_info info = {.struct_size = sizeof info};
    assert_ok(make(own, options, &made, &error), error);
    assert_ok(BACKEND->net_info(made, &info, &error), error);
    if (strstr(info.plan, text) == NULL)
        fail_msg("%s, wanted: %s", info.plan, text);
    assert_ok(use(made, &error), error);
    BACKEND->net_destroy(made);
}

static const char steps[] =
    "; users' models step by step, 100 values of a thread in global memory";

static void what_the_plan_says(void **state)
{
    own_net *own = own_make(false);
    (void)state;
    assert_plan(own, "jit=0", steps);
    assert_plan(own, "plan=global",
                "; users' models compiled by the driver, 1 neurons");
    assert_plan(own, "plan=global,jit=1",
                "; users' models compiled by the driver");
    assert_plan(own, NULL, "resident with users' models: ");
    assert_plan(own, "plan=partitioned", "partitioned with users' models: ");
    own_free(own);
    own = own_make(true);
    assert_plan(own, NULL,
                "resident with learning by users' rules with users' models: ");
    assert_plan(own, "plan=global",
                "; users' models compiled by the driver, 1 neurons");
    assert_plan(own, "jit=0", steps);
    own_free(own);
}

static void assert_refused(const own_net *own, const char *options,
                           const uint64_t *live)
{
    vly_backend_net *made = NULL;
    vly_error error = {.struct_size = sizeof error};
    char wanted[80];
    assert_int_equal(make(own, options, &made, &error), VLY_E_UNSUPPORTED);
    assert_null(made);
    snprintf(wanted, sizeof wanted, "cuda option %s: users' models: ", options);
    assert_memory_equal(error.message, wanted, strlen(wanted));
    assert_true(error.message[strlen(wanted)] != 0);
    assert_true(test_host_live() == *live);
}

/* A driver that does not compile the text, or does not know the kernel: plan
 * global goes on step by step, with one warning. */
static void without_compiler(bool learns)
{
    static const char *const faults[] = {"FAKE_CUDA_JIT", "FAKE_CUDA_KERNEL"};
    own_net *own = own_make(learns);
    const char *last = NULL;
    const uint64_t live = test_host_live();
    for (int i = 0; i < 2; i++) {
        const uint64_t before = test_host_warnings(&last);
        setenv(faults[i], "218", 1); /* cudaErrorInvalidPtx */
        assert_plan(own, i == 0 ? NULL : "plan=global", steps);
        assert_refused(own, "plan=resident", &live);
        if (!learns)
            assert_refused(own, "plan=partitioned", &live);
        unsetenv(faults[i]);
        /* of plan global, and of the plans before it */
        assert_int_equal(test_host_warnings(&last), before + (i == 0 ? 2 : 1));
        assert_non_null(strstr(last, i == 0 ? "not by a faster one; plan "
                                              "resident: users' models: "
                                            : "users' models run step by step, "
                                              "which is slower: "));
        assert_true(test_host_live() == live);
    }
    own_free(own);
}

static void no_compiler(void **state)
{
    (void)state;
    without_compiler(false);
    without_compiler(true);
}

/* A later launch of plan resident may need another instance of the kernel,
 * which is compiled then. */
static void launch_another(bool learns)
{
    own_net *own = own_make(learns);
    vly_backend_net *made = NULL;
    vly_error error = {.struct_size = sizeof error};
    vly_run run = {.struct_size = sizeof run, .n_bursts = 2};
    const char *last = NULL;
    const uint64_t live = test_host_live();
    assert_ok(make(own, "plan=resident", &made, &error), error);
    assert_ok(BACKEND->net_run(made, &run, &error), error);
    const uint64_t first = test_host_live();
    setenv("FAKE_CUDA_THREADS", "768", 1);
    assert_ok(BACKEND->net_run(made, &run, &error), error);
    assert_true(test_host_live() > first); /* a second library */
    const uint64_t second = test_host_live();
    unsetenv("FAKE_CUDA_THREADS");
    assert_ok(BACKEND->net_run(made, &run, &error), error);
    assert_true(test_host_live() == second);
    setenv("FAKE_CUDA_THREADS", "0", 1);
    setenv("FAKE_CUDA_JIT", "218", 1); /* cudaErrorInvalidPtx */
    assert_int_equal(BACKEND->net_run(made, &run, &error), VLY_E_DEVICE);
    unsetenv("FAKE_CUDA_JIT");
    unsetenv("FAKE_CUDA_THREADS");
    (void)test_host_warnings(&last);
    assert_memory_equal(last, "cuda option plan=resident: users' models: ", 42);
    BACKEND->net_destroy(made);
    assert_true(test_host_live() == live);
    own_free(own);
}

static void another_instance(void **state)
{
    (void)state;
    launch_another(false);
    launch_another(true);
}

/* ---- the cache of machine code ------------------------------------------ */

static char cache_folder[300];

/* The one file of the cache; "" if there is none. */
static void find_file(char path[600])
{
    char pattern[400];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/volley/cuda-models-*.plans/*",
             cache_folder);
    path[0] = 0;
    if (glob(pattern, 0, NULL, &found) == 0) {
        assert_int_equal(found.gl_pathc, 1);
        snprintf(path, 600, "%s", found.gl_pathv[0]);
        globfree(&found);
    }
}

static void clear_cache(void)
{
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s'", cache_folder);
    assert_int_equal(system(command), 0);
}

/* At byte `at` from the end, or cut to nothing (0). */
static void damage(const char *path, long at)
{
    FILE *file = fopen(path, at == 0 ? "wb" : "r+b");
    assert_non_null(file);
    if (at != 0) {
        assert_int_equal(fseek(file, -at, SEEK_END), 0);
        const int byte = fgetc(file);
        assert_int_equal(fseek(file, -at, SEEK_END), 0);
        assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
    }
    assert_int_equal(fclose(file), 0);
}

/* Whether the net is compiled where the driver compiles nothing: from the
 * cache. */
static void assert_cached(const own_net *own, int is_cached)
{
    setenv("FAKE_CUDA_LINK", "218", 1); /* CUDA_ERROR_INVALID_PTX */
    assert_plan(own, "plan=global,cache=all",
                is_cached ? "; users' models compiled by the driver" : steps);
    setenv("FAKE_CUDA_LINK", "0", 1);
}

static void cached_code(void **state)
{
    static const char compiled[] = "; users' models compiled by the driver";
    own_net *own = own_make(false);
    const char *last = NULL;
    char path[600];
    (void)state;
    snprintf(cache_folder, sizeof cache_folder, "%s/cuda_cache",
             VLY_TEST_BINARY_DIR);
    clear_cache();
    setenv("XDG_CACHE_HOME", cache_folder, 1);
    assert_cached(own, 0);
    assert_plan(own, "plan=global,cache=off", compiled);
    find_file(path);
    assert_string_equal(path, "");
    assert_plan(own, "plan=global,cache=all", compiled);
    find_file(path);
    assert_string_not_equal(path, "");
    assert_cached(own, 1);
    for (int k = 0; k < 3; k++) { /* code, all of it, code */
        damage(path, k == 0 ? 100 : k == 1 ? 0 : 9);
        assert_cached(own, 0);
        assert_plan(own, "plan=global,cache=all", compiled);
        assert_cached(own, 1);
    }
    setenv("FAKE_CUDA_DRIVER", "13010", 1);
    assert_cached(own, 0); /* of another driver */
    unsetenv("FAKE_CUDA_DRIVER");
    /* a folder that cannot be: no warning, and no failure */
    setenv("XDG_CACHE_HOME", path, 1); /* a file */
    const uint64_t warned = test_host_warnings(&last);
    assert_plan(own, "plan=global,cache=all", compiled);
    assert_true(test_host_warnings(&last) == warned);
    setenv("XDG_CACHE_HOME", cache_folder, 1);
    const uint64_t live = test_host_live();
    walk("plan=global,cache=all", false); /* blocks that cannot be had */
    assert_true(test_host_live() == live);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("FAKE_CUDA_LINK");
    clear_cache();
    own_free(own);
}

/* ---- several devices ----------------------------------------------------- */

static own_net *own_make_span(void)
{
    return own_make_of(N_SPAN, false, true);
}

static void every_block_of_spans(void **state)
{
    (void)state;
    walk_net(own_make_span(), "span=2");
}

/* On both devices, or the parts that options name. */
static vly_status make_span(const own_net *own, const char *options,
                            vly_backend_net **made, vly_error *error)
{
    vly_device_spec devices[2];
    for (uint32_t i = 0; i < 2; i++)
        devices[i] = (vly_device_spec){.struct_size = sizeof devices[i],
                                       .index = i,
                                       .n_threads = 1,
                                       .options = options};
    return BACKEND->net_create_span(devices, 2, &own->net.desc, &own->net.start,
                                    made, error);
}

/* plan: of the net that is made, which runs, or why none is. */
static void assert_span(const own_net *own, const char *options,
                        const char *plan)
{
    const uint64_t live = test_host_live();
    vly_backend_net *made = NULL;
    vly_error error = {.struct_size = sizeof error};
    vly_net_info info = {.struct_size = sizeof info};
    const vly_status status = make_span(own, options, &made, &error);
    const char *said = status == VLY_OK ? info.plan : error.message;
    if (status == VLY_OK) {
        assert_ok(BACKEND->net_info(made, &info, &error), error);
        assert_ok(use(made, &error), error);
    } else {
        assert_int_equal(status, VLY_E_UNSUPPORTED);
    }
    if (strncmp(said, plan, strlen(plan)) != 0)
        fail_msg("%s, wanted: %s", said, plan);
    BACKEND->net_destroy(made);
    assert_true(test_host_live() == live);
}

#define FELL_BACK "1 device of 2, since a span of 2 devices"

/* One kernel for both devices, or, from a cache, one each; where it cannot be
 * had, on either of them, one device runs the net. */
static void spans(void **state)
{
    own_net *own = own_make_span();
    vly_backend_net *made = NULL;
    vly_error error = {.struct_size = sizeof error};
    const char *last = NULL;
    (void)state;
    assert_plan(own, "span=2",
                "2 parts of one device: partitioned with users' models: ");
    assert_span(own, "devices=all",
                "2 devices: partitioned with users' models: ");
    snprintf(cache_folder, sizeof cache_folder, "%s/cuda_cache",
             VLY_TEST_BINARY_DIR);
    clear_cache();
    setenv("FAKE_CUDA_LINK", "0", 1);
    setenv("XDG_CACHE_HOME", cache_folder, 1);
    for (int i = 0; i < 2; i++) /* made, found */
        assert_span(own, "devices=all,cache=all",
                    "2 devices: partitioned with users' models: ");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("FAKE_CUDA_LINK");
    clear_cache();
    const uint64_t before = test_host_warnings(&last);
    setenv("FAKE_CUDA_PREPARE", "1", 1);
    assert_span(own, "devices=all",
                FELL_BACK ": users' models: failed: resident with users'");
    assert_int_equal(test_host_warnings(&last), before + 1);
    assert_string_equal(last, "the net runs on 1 of 2 devices: a span of 2 "
                              "devices: users' models: failed");
    assert_span(own, "devices=all,plan=partitioned",
                "a span of 2 devices: users' models: failed");
    setenv("FAKE_CUDA_PREPARE", "0", 1);
    assert_span(own, "devices=all",
                FELL_BACK ": users' models: failed: global: ");
    unsetenv("FAKE_CUDA_PREPARE");

    setenv("FAKE_CUDA_JIT", "218", 1); /* cudaErrorInvalidPtx */
    assert_plan(own, "span=2,devices=all",
                FELL_BACK ": users' models: failed: global: ");
    assert_span(own, "devices=all",
                FELL_BACK ": users' models: failed: global: ");
    assert_int_equal(make(own, "span=2", &made, &error), VLY_E_UNSUPPORTED);
    assert_string_equal(error.message,
                        "a span of 2 devices: users' models: failed");
    unsetenv("FAKE_CUDA_JIT");

    setenv("FAKE_CUDA_MAJOR", "8", 1);
    assert_span(own, "devices=all",
                FELL_BACK ", which has plan=partitioned only: models of users "
                          "need compute capability 9.0: resident with users'");
    unsetenv("FAKE_CUDA_MAJOR");
    assert_span(own, "devices=all,jit=0",
                "1 device of 2, since models of users run step by step with "
                "jit=0: global: ");
    own_free(own);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_block),
    cmocka_unit_test(every_block_of_maps),
    cmocka_unit_test(columns_that_were_not_copied),
    cmocka_unit_test(nets_that_were_not_copied),
    cmocka_unit_test(what_the_plan_says),
    cmocka_unit_test(no_compiler),
    cmocka_unit_test(another_instance),
    cmocka_unit_test(cached_code),
    cmocka_unit_test(every_block_of_spans),
    cmocka_unit_test(spans),
};
VLY_TEST_MAIN(tests)
