/* SPDX-License-Identifier: Apache-2.0
 * Nets of small programs with one port, which a thread of the CUDA backend
 * updates four at a time, beside the CPU: random programs, areas that end
 * within a row, stimuli of every kind, columns that are written, and a run from
 * a snapshot.
 */
#include "test_cuda_pair.h"

#include <stdlib.h>

#include "kernels/cuda/program_kernels.h"
#include "random_ir.h"

/* PAIR_SMALL: where kernels run on the processor (emulated_cuda.h). The large
 * area has all four rows of a thread, and a part of one, in each block. */
#if defined(PAIR_SMALL)
enum { BURSTS = 7, NETS = 6, LARGE = 17 * 1024 + 77 };
#else
enum { BURSTS = 40, NETS = 12, LARGE = 600 * 1024 + 77 };
#endif
enum { AREAS = 3, SMALL = 300 };

typedef struct row_net {
    test_net net;
    random_ir ir[AREAS];
    vly_column columns[AREAS][VLY_CUDA_QUAD_COEFS];
    uint32_t *words[AREAS];
} row_net;

/* The next program from *seed on that is small and has one port. */
static void make_program(random_ir *ir, uint64_t *seed)
{
    do
        random_ir_make(ir, ++*seed);
    while (ir->n_ports != 1 || ir->n_coefs > VLY_CUDA_QUAD_COEFS ||
           ir->program.n_fields > VLY_CUDA_QUAD_FIELDS);
}

/* turn: which coefficients are one word for all neurons. */
static void set_uniform(row_net *r, uint32_t k, uint32_t turn)
{
    for (uint32_t c = 0; c < r->ir[k].n_coefs; c++)
        r->columns[k][c].uniform = turn == 0 ? 1 : (c + turn) % 3 != 0;
}

static void add_area(row_net *r, uint32_t k, uint32_t n, uint32_t turn)
{
    random_ir *ir = &r->ir[k];
    r->words[k] = calloc((size_t)ir->n_coefs * n, sizeof(uint32_t));
    assert_non_null(r->words[k]);
    for (uint32_t c = 0; c < ir->n_coefs; c++) {
        uint32_t *words = r->words[k] + (size_t)c * n;
        for (uint32_t i = 0; i < n; i++)
            words[i] = random_ir_word(ir, ir->coef_types[c]);
        r->columns[k][c] =
            (vly_column){.words = words, .type = ir->coef_types[c]};
    }
    set_uniform(r, k, turn);
    r->net.areas[k] = (vly_area_desc){.name = "own",
                                      .model = "random",
                                      .first = r->net.desc.n_neurons,
                                      .n_neurons = n,
                                      .n_ports = 1,
                                      .scale = {0.0625f},
                                      .coefs = r->columns[k],
                                      .n_coefs = ir->n_coefs,
                                      .n_fields = ir->program.n_fields,
                                      .program = &ir->program};
    r->net.desc.n_areas++;
    r->net.desc.n_neurons += n;
}

static row_net *make(uint64_t net_seed)
{
    static const uint32_t few[] = {0xa0000000u, 0xe0000000u, 0xfff00000u};
    row_net *r = calloc(1, sizeof *r);
    uint64_t seed = 1000 + net_seed * 50;
    assert_non_null(r);
    test_net_init(&r->net, net_seed);
    for (uint32_t k = 0; k < AREAS; k++) {
        make_program(&r->ir[k], &seed);
        if (k == 2 && net_seed % 2)
            r->ir[k] = r->ir[0]; /* another one with the same operations */
        r->ir[k].program.ops = r->ir[k].ops;
        r->ir[k].program.out = r->ir[k].out;
        r->ir[k].program.types = r->ir[k].types;
        const uint32_t n = k == 1 && net_seed % 3 == 0
                               ? LARGE
                               : 1 + test_random(&r->net, SMALL);
        add_area(r, k, n, (uint32_t)(net_seed + k) % 3);
    }
    for (uint32_t a = 0; a < AREAS; a++) {
        test_random_projection(&r->net, a, (a + 1) % AREAS, 3, -20, 30, 1,
                               a % 2);
        if (a != 2)
            test_stimulus(&r->net, a, few, 3, -2, 9,
                          a == 0 ? VLY_STIMULUS_ALWAYS : 0);
    }
    test_stimulus(&r->net, 0, few, 2, 3, 5, 0);
    test_net_finish(&r->net);
    uint32_t *word = r->net.start.state;
    for (uint32_t a = 0; a < AREAS; a++)
        for (uint32_t f = 0; f < r->net.areas[a].n_fields; f++)
            for (uint32_t i = 0; i < r->net.areas[a].n_neurons; i++)
                *word++ = random_ir_word(&r->ir[a], r->ir[a].field_types[f]);
    return r;
}

static void row_free(row_net *r)
{
    for (uint32_t a = 0; a < AREAS; a++) {
        r->net.areas[a].n_coefs = 0; /* not of test_cpu_net */
        free(r->words[a]);
    }
    test_net_deinit(&r->net);
    free(r);
}

static uint64_t run_both(const row_net *r, vly_backend_net *const nets[2],
                         uint64_t n, vly_snapshot *taken)
{
    test_run runs[2];
    vly_snapshot other;
    pair_run(pair_cpu, &r->net, nets[0], n, NULL, 0, &runs[0]);
    pair_run(pair_cuda, &r->net, nets[1], n, NULL, 0, &runs[1]);
    pair_snapshot(pair_cpu, nets[0], &other);
    pair_snapshot(pair_cuda, nets[1], taken);
    pair_assert_run(&runs[0], &runs[1]);
    pair_assert_snapshot(&other, taken);
    const uint64_t n_spikes = runs[0].run.n_spikes;
    test_snapshot_deinit(&other);
    test_run_deinit(&runs[0]);
    test_run_deinit(&runs[1]);
    return n_spikes;
}

static void write_columns(const row_net *r, vly_backend_net *const nets[2])
{
    vly_error error = {.struct_size = sizeof error};
    for (uint32_t a = 0; a < AREAS; a++)
        for (uint32_t c = 0; c < r->net.areas[a].n_coefs; c++) {
            const vly_column *column = &r->columns[a][c];
            assert_ok(pair_cpu->coef_write(nets[0], a, c, column, &error),
                      error);
            assert_ok(pair_cuda->coef_write(nets[1], a, c, column, &error),
                      error);
        }
}

/* 1 if the driver compiles. */
static int assert_plan(vly_backend_net *made, const char *rows)
{
    vly_error error = {.struct_size = sizeof error};
    vly_net_info info = {.struct_size = sizeof info};
    assert_ok(pair_cuda->net_info(made, &info, &error), error);
    if (strstr(info.plan, "compiled by the driver") == NULL)
        return 0;
    if (strstr(info.plan, rows) == NULL)
        fail_msg("%s, wanted %s", info.plan, rows);
    return 1;
}

static uint64_t one_net(uint64_t seed, int *compiled)
{
    row_net *r = make(seed);
    vly_snapshot taken;
    vly_backend_net *nets[2] = {
        pair_create(pair_cpu, &r->net, NULL, NULL),
        pair_create(pair_cuda, &r->net, "plan=global,jit=3", NULL)};
    *compiled += assert_plan(nets[1], "4 neurons of a thread");
    uint64_t n_spikes = run_both(r, nets, BURSTS, &taken);
    test_snapshot_deinit(&taken);
    for (uint32_t turn = 0; turn < 2; turn++) {
        for (uint32_t a = 0; a < AREAS; a++)
            set_uniform(r, a, turn);
        write_columns(r, nets);
        n_spikes += run_both(r, nets, 2, &taken);
        if (turn == 0)
            test_snapshot_deinit(&taken);
    }
    /* neuron by neuron from where it was */
    vly_backend_net *other =
        pair_create(pair_cuda, &r->net, "plan=global,jit=2", &taken);
    *compiled += assert_plan(other, "1 neurons of a thread");
    test_snapshot_deinit(&taken);
    pair_cuda->net_destroy(nets[1]);
    nets[1] = other;
    n_spikes += run_both(r, nets, 2, &taken);
    test_snapshot_deinit(&taken);
    pair_cpu->net_destroy(nets[0]);
    pair_cuda->net_destroy(nets[1]);
    row_free(r);
    return n_spikes;
}

static void rows_of_a_thread(void **state)
{
    uint64_t n_spikes = 0;
    int n_compiled = 0;
    (void)state;
    pair_open();
    for (uint64_t seed = 0; seed < NETS; seed++)
        n_spikes += one_net(seed, &n_compiled);
    printf("%d nets, %llu spikes; the driver compiled %d of %d\n", NETS,
           (unsigned long long)n_spikes, n_compiled, 2 * NETS);
    assert_true(n_spikes > 1000);
#if defined(PAIR_SMALL)
    assert_int_equal(n_compiled, 2 * NETS);
#endif
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rows_of_a_thread),
};
VLY_TEST_MAIN(tests)
