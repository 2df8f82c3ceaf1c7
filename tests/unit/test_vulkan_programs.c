/* SPDX-License-Identifier: Apache-2.0
 * test_vulkan_programs FIRST COUNT [OPTIONS...]: users' models on the Vulkan
 * backend beside the reference: nets of three random programs and a built-in
 * model each, by seed, in pieces, with coefficients and fields written between
 * bursts, with snapshots that change sides. The options take turns.
 */
#include <stdlib.h>

#include "random_operations.h"
#include "test_cuda_pair.h"

enum { PROGRAM_AREAS = 3, BURSTS = 12 };

static uint64_t first = 0;
static uint64_t n_nets = 20;
static const char *const usual[] = {NULL, "plan=sliced,sums=300,launch=5",
                                    "together=1,size=32,launch=7",
                                    "plan=sliced,fused=1,sums=500"};
static const char *const *options = usual;
static uint32_t n_options = 4;

typedef struct program_net {
    test_net net;
    random_operations *made[PROGRAM_AREAS];
    vly_column *columns[PROGRAM_AREAS];
} program_net;

/* ---- nets --------------------------------------------------------------- */

/* One word or one a neuron; owned by the caller. */
static vly_column random_column(random_operations *r, uint32_t type, uint32_t n)
{
    vly_column column = {.type = type, .uniform = 1};
    if (random_operations_below(r, 3) == 0)
        column.uniform = 0;
    uint32_t count = column.uniform ? 1 : n;
    uint32_t *words = calloc(count, sizeof *words);
    assert_non_null(words);
    for (uint32_t i = 0; i < count; i++)
        words[i] = random_operations_word(r, type);
    column.words = words;
    return column;
}

static void free_column(const vly_column *column)
{
    free((void *)(uintptr_t)column->words);
}

/* seed: of the program; areas may share one, with other coefficients */
static void program_area(program_net *p, uint32_t k, uint64_t seed,
                         uint32_t n_ports)
{
    uint32_t coefs[NET_COEFS] = {0};
    random_operations *r = malloc(sizeof *r);
    assert_non_null(r);
    bool large = seed % 50 == 7;
    random_operations_make(
        r, seed, large ? 900 : 100 + 20 * (uint32_t)(seed % 9),
        large ? VLY_PROGRAM_MAX_FIELDS : 1 + (uint32_t)(seed % 7),
        large ? VLY_PROGRAM_MAX_COEFS : (uint32_t)(seed % 40), n_ports);
    r->random = seed + 1000 * k;
    p->made[k] = r;
    uint32_t n = 1 + test_random(&p->net, 300);
    uint32_t a = test_area(&p->net, "lif_psc_delta", n, coefs, 6);
    for (uint32_t i = 0; i < p->net.areas[a].n_coefs; i++)
        free(p->net.words[a][i]);
    vly_area_desc *area = &p->net.areas[a];
    p->columns[k] = calloc(r->n_coefs + 1, sizeof *p->columns[k]);
    assert_non_null(p->columns[k]);
    for (uint32_t i = 0; i < r->n_coefs; i++)
        p->columns[k][i] = random_column(r, r->coef_types[i], n);
    area->name = k == 0 ? "first" : k == 1 ? "second" : "third";
    area->model = "mine";
    area->model_hash = 0;
    area->n_ports = r->n_ports;
    area->scale[1] = 0.125f;
    area->scale_more[0] = 0.5f;
    area->scale_more[1] = 0.0625f;
    area->coefs = p->columns[k];
    area->n_coefs = r->n_coefs;
    area->n_fields = r->program.n_fields;
    area->program = &r->program;
}

static void project(test_net *net, uint32_t i, uint32_t delay_max)
{
    uint32_t target = test_random(net, net->desc.n_areas);
    uint32_t n_ports = net->areas[target].n_ports;
    test_random_projection(net, i % net->desc.n_areas, target,
                           1 + test_random(net, 20), -300, 400,
                           1 + test_random(net, 4), delay_max);
    vly_projection_desc *map = &net->projections[net->desc.n_projections - 1];
    /* of two ports also by sign */
    map->port = test_random(net, n_ports == 2 ? 3 : n_ports);
}

static void make_net(program_net *p, uint64_t seed)
{
    static const uint32_t poisson[] = {0xc0000000u, 0xf0000000u, 0xfff00000u};
    uint32_t coefs[NET_COEFS] = {0};
    memset(p, 0, sizeof *p);
    test_net_init(&p->net, seed);
    /* one program, or three, of which two are the same, and a built-in model:
     * with one a burst may be one dispatch */
    bool one = seed % 4 == 3;
    for (uint32_t k = 0; k < PROGRAM_AREAS; k++) {
        uint32_t which = one ? 0 : k == 2 && seed % 4 == 0 ? 1 : k;
        program_area(p, k, PROGRAM_AREAS * seed + which,
                     1 + (uint32_t)((seed / 4 + 2 + which) % VLY_PORTS_MAX));
    }
    test_delta_coefs(coefs, 0.9f, 1);
    if (!one)
        test_area(&p->net, "lif_psc_delta", 1 + test_random(&p->net, 200),
                  coefs, 6);
    for (uint32_t a = 0; a < 2 * p->net.desc.n_areas; a++) {
        uint32_t to = a / 2;
        test_stimulus(&p->net, to, poisson, 3, -20, 90, 0);
        p->net.stimuli[a].port = test_random(&p->net, p->net.areas[to].n_ports);
    }
    /* plan sliced takes one delay of a map */
    for (uint32_t i = 0; i < 8; i++)
        project(&p->net, i, seed % 2 == 0 ? (uint32_t)(seed % 5) : 0);
    test_net_finish(&p->net);
    uint32_t *word = p->net.start.state;
    for (uint32_t k = 0; k < PROGRAM_AREAS; k++)
        for (uint32_t f = 0; f < p->made[k]->program.n_fields; f++)
            for (uint32_t i = 0; i < p->net.areas[k].n_neurons; i++)
                *word++ = random_operations_word(p->made[k],
                                                 p->made[k]->field_types[f]);
}

static void free_net(program_net *p)
{
    for (uint32_t k = 0; k < PROGRAM_AREAS; k++) {
        for (uint32_t i = 0; i < p->made[k]->n_coefs; i++)
            free_column(&p->columns[k][i]);
        free(p->columns[k]);
        free(p->made[k]);
        p->net.areas[k].n_coefs = 0; /* its words are not the net's */
    }
    test_net_deinit(&p->net);
}

/* ---- both --------------------------------------------------------------- */

static uint32_t ports_at(const test_net *net, uint32_t neuron)
{
    uint32_t a = 0;
    while (neuron - net->areas[a].first >= net->areas[a].n_neurons)
        a++;
    return net->areas[a].n_ports;
}

static uint64_t run_both(program_net *p, vly_backend_net *const nets[2],
                         uint64_t seed)
{
    vly_input inputs[40];
    test_run runs[2];
    pair_inputs(&p->net, inputs, 40, BURSTS);
    uint64_t burst = 0;
    for (uint32_t i = 0; i < 40; i++) {
        inputs[i].value %= 200;
        inputs[i].port = i % ports_at(&p->net, inputs[i].neuron);
    }
    vly_snapshot now;
    pair_snapshot(pair_cpu, nets[0], &now);
    burst = now.burst;
    test_snapshot_deinit(&now);
    for (uint32_t i = 0; i < 40; i++)
        inputs[i].burst += burst;
    pair_run(pair_cpu, &p->net, nets[0], BURSTS, inputs, 40, &runs[0]);
    pair_run(pair_cuda, &p->net, nets[1], BURSTS, inputs, 40, &runs[1]);
    if (runs[0].run.n_spikes != runs[1].run.n_spikes)
        print_message("seed %llu\n", (unsigned long long)seed);
    pair_assert_run(&runs[0], &runs[1]);
    uint64_t spikes = runs[0].run.n_spikes;
    test_run_deinit(&runs[0]);
    test_run_deinit(&runs[1]);
    return spikes;
}

static void assert_state(const program_net *p, vly_backend_net *const nets[2],
                         uint64_t seed)
{
    vly_snapshot s[2];
    pair_snapshot(pair_cpu, nets[0], &s[0]);
    pair_snapshot(pair_cuda, nets[1], &s[1]);
    uint64_t at = 0;
    for (uint32_t a = 0; a < p->net.desc.n_areas; a++)
        for (uint32_t f = 0; f < p->net.areas[a].n_fields; f++)
            for (uint32_t i = 0; i < p->net.areas[a].n_neurons; i++, at++)
                if (s[0].state[at] != s[1].state[at])
                    fail_msg("seed %llu, area %u, field %u, neuron %u: %08x, "
                             "on the device %08x",
                             (unsigned long long)seed, a, f, i, s[0].state[at],
                             s[1].state[at]);
    pair_assert_snapshot(&s[0], &s[1]);
    test_snapshot_deinit(&s[0]);
    test_snapshot_deinit(&s[1]);
}

/* Coefficients that were uniform become columns and the other way round; some
 * fields of some neurons. */
static void write_both(program_net *p, vly_backend_net *const nets[2])
{
    const vly_backend *backends[2] = {pair_cpu, pair_cuda};
    vly_error error = {.struct_size = sizeof error};
    for (uint32_t k = 0; k < PROGRAM_AREAS; k++) {
        random_operations *r = p->made[k];
        uint32_t n = p->net.areas[k].n_neurons;
        for (uint32_t i = 0; i < r->n_coefs; i += 1 + i % 3) {
            vly_column column = random_column(r, r->coef_types[i], n);
            for (int b = 0; b < 2; b++)
                assert_ok(
                    backends[b]->coef_write(nets[b], k, i, &column, &error),
                    error);
            free_column(&column);
        }
        uint32_t f = random_operations_below(r, r->program.n_fields);
        uint32_t word = random_operations_word(r, r->field_types[f]);
        uint32_t read[2] = {0};
        for (int b = 0; b < 2; b++) {
            assert_ok(backends[b]->field_read(nets[b], k, f, n / 2, 1, &read[b],
                                              &error),
                      error);
            assert_ok(backends[b]->field_write(nets[b], k, f, n - 1, 1, &word,
                                               &error),
                      error);
        }
        assert_int_equal(read[0], read[1]);
    }
}

/* Each goes on from the other's snapshot. */
static void change_sides(const program_net *p, vly_backend_net *nets[2],
                         const char *option)
{
    vly_snapshot s[2];
    pair_snapshot(pair_cpu, nets[0], &s[0]);
    pair_snapshot(pair_cuda, nets[1], &s[1]);
    pair_cpu->net_destroy(nets[0]);
    pair_cuda->net_destroy(nets[1]);
    nets[0] = pair_create(pair_cpu, &p->net, NULL, &s[1]);
    nets[1] = pair_create(pair_cuda, &p->net, option, &s[0]);
    test_snapshot_deinit(&s[0]);
    test_snapshot_deinit(&s[1]);
}

static void test_programs(void **state)
{
    (void)state;
    uint64_t spikes = 0;
    pair_open();
    for (uint64_t seed = first; seed < first + n_nets; seed++) {
        program_net p;
        vly_backend_net *nets[2];
        const char *option = options[seed % n_options];
        make_net(&p, seed);
        nets[0] = pair_create(pair_cpu, &p.net, NULL, NULL);
        nets[1] = pair_create(pair_cuda, &p.net, option, NULL);
        spikes += run_both(&p, nets, seed);
        assert_state(&p, nets, seed);
        write_both(&p, nets);
        spikes += run_both(&p, nets, seed);
        assert_state(&p, nets, seed);
        change_sides(&p, nets, option);
        spikes += run_both(&p, nets, seed);
        assert_state(&p, nets, seed);
        pair_cpu->net_destroy(nets[0]);
        pair_cuda->net_destroy(nets[1]);
        free_net(&p);
    }
    print_message("%llu nets, %llu spikes\n", (unsigned long long)n_nets,
                  (unsigned long long)spikes);
    assert_true(spikes > 100 * n_nets);
}

/* Both refuse the same programs, each with the name of the area. */
static void test_refused(void **state)
{
    (void)state;
    uint32_t n_refused = 0;
    pair_open();
    for (uint64_t seed = 0; seed < 300; seed++) {
        program_net p;
        vly_error errors[2] = {{.struct_size = sizeof(vly_error)},
                               {.struct_size = sizeof(vly_error)}};
        make_net(&p, seed);
        random_operations_damage(p.made[1]);
        int status = pair_cpu->supports(&p.net.desc, &errors[0]);
        assert_int_equal(pair_cuda->supports(&p.net.desc, &errors[1]), status);
        if (status != VLY_OK) {
            vly_backend_net *made = NULL;
            n_refused++;
            assert_int_equal(status, VLY_E_UNSUPPORTED);
            assert_non_null(strstr(errors[1].message, "area second: "));
            assert_string_equal(errors[0].message, errors[1].message);
            const vly_device_spec spec = {.struct_size = sizeof spec,
                                          .n_threads = 1};
            assert_int_equal(pair_cuda->net_create(&spec, &p.net.desc,
                                                   &p.net.start, &made,
                                                   &errors[1]),
                             VLY_E_UNSUPPORTED);
            assert_null(made);
        }
        free_net(&p);
    }
    assert_in_range(n_refused, 50, 290);
}

/* A device without infinities and NaN runs built-in models only. */
static void test_limit(void **state)
{
    (void)state;
    program_net p;
    vly_backend_net *made = NULL;
    vly_error error = {.struct_size = sizeof error};
    const vly_device_spec spec = {
        .struct_size = sizeof spec, .n_threads = 1, .options = "fault=2"};
    pair_open();
    make_net(&p, 1);
    assert_int_equal(
        pair_cuda->net_create(&spec, &p.net.desc, &p.net.start, &made, &error),
        VLY_E_UNSUPPORTED);
    assert_null(made);
    assert_non_null(strstr(error.message, "area first: its model mine, a "));
    assert_non_null(
        strstr(error.message, "shaderSignedZeroInfNanPreserveFloat32"));
    free_net(&p);
    test_net plain;
    pair_plain_net(&plain, 1);
    assert_ok(
        pair_cuda->net_create(&spec, &plain.desc, &plain.start, &made, &error),
        error);
    pair_cuda->net_destroy(made);
    test_net_deinit(&plain);
}

/* With more than two ports targets need two bits of an id. */
static void test_large(void **state)
{
    (void)state;
    program_net p;
    vly_error error = {.struct_size = sizeof error};
    pair_open();
    make_net(&p, 3);
    assert_int_equal(p.net.areas[0].n_ports, 3);
    vly_area_desc area = p.net.areas[0];
    vly_net_desc desc = p.net.desc;
    area.n_neurons = UINT32_MAX / 3;
    desc.areas = &area;
    desc.n_areas = 1;
    desc.n_projections = desc.n_stimuli = 0;
    desc.n_neurons = UINT32_MAX / 3;
    assert_ok(pair_cuda->supports(&desc, &error), error);
    area.n_neurons = ++desc.n_neurons;
    assert_ok(pair_cpu->supports(&desc, &error), error);
    assert_int_equal(pair_cuda->supports(&desc, &error), VLY_E_UNSUPPORTED);
    assert_string_equal(error.message,
                        "net: 1431655766 neurons and a model with 3 ports, the "
                        "vulkan backend takes up to 1431655765 with more than "
                        "2 ports");
    free_net(&p);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_large),
    };
    if (argc > 2) {
        first = strtoull(argv[1], NULL, 10);
        n_nets = strtoull(argv[2], NULL, 10);
    }
    if (argc > 3) {
        options = (const char *const *)argv + 3;
        n_options = (uint32_t)argc - 3;
    }
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
