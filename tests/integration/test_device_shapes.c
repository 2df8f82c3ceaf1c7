/* SPDX-License-Identifier: Apache-2.0
 * test_device_shapes SPEC...: nets of odd shapes on each backend beside cpu:1,
 * burst by burst, then in pieces with fields read and written in between. Every
 * spec must run some of them; which plan does not take which is printed.
 */
#include "device_test.h"

#include <volley/host.h>

#include <inttypes.h>

#include "connectome/connectome.h"

enum { MAX_SPECS = VLY_VALIDATE_NETS - 1, MAX_VALUES = 5000 };

static const char *const *specs;
static uint32_t n_specs;
static uint32_t n_ran[MAX_SPECS];
static vly_registry *registry;
static vly_error error = {.struct_size = sizeof error};

/* ---- genomes ----------------------------------------------------------- */

typedef struct genome_text {
    char text[64 << 10];
    size_t n;
} genome_text;

static void add(genome_text *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add(genome_text *g, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(g->text + g->n, sizeof g->text - g->n, format, args);
    va_end(args);
    assert_true(n > 0 && (size_t)n < sizeof g->text - g->n);
    g->n += (size_t)n;
}

static void begin(genome_text *g, uint32_t bursts)
{
    g->n = 0;
    add(g, "format = 1\n[run]\ndt_ms = 1\nbursts = %u\n", bursts);
}

static void area(genome_text *g, const char *name, const char *model,
                 uint32_t n)
{
    add(g, "[area.%s]\nmodel = \"%s\"\nneurons = %u\n", name, model, n);
}

static void poisson(genome_text *g, const char *to, double rate_hz)
{
    add(g,
        "[[stimulus]]\nkind = \"poisson\"\nto = \"%s\"\nrate_hz = %g\n"
        "weight_mv = 9\n",
        to, rate_hz);
}

/* One recurrent area; delay: of the map, as TOML. */
static void recurrent(genome_text *g, uint32_t n, uint32_t in_degree,
                      const char *delay, uint32_t bursts)
{
    begin(g, bursts);
    area(g, "A", "lif_psc_delta", n);
    add(g,
        "[[map]]\nfrom = \"A\"\nto = \"A\"\nrule = \"fixed_in_degree\"\n"
        "in_degree = %u\nweight_mv = { uniform = [-1, 2] }\n"
        "delay_bursts = %s\n",
        in_degree, delay);
    poisson(g, "A", 150);
}

static void feagi(genome_text *g, uint32_t n)
{
    begin(g, 120);
    area(g, "A", "feagi", n);
    add(g,
        "firing_threshold = 2\nrefractory_period = 1\nexcitability = 0.9\n"
        "mp_driven_psp = true\npsp_uniform_distribution = false\n"
        "[[map]]\nfrom = \"A\"\nto = \"A\"\nrule = \"fixed_in_degree\"\n"
        "in_degree = %u\nweight = { uniform = [-2, 4] }\n"
        "delay_bursts = { uniform = [0.5, 5.5] }\n"
        "[[stimulus]]\nkind = \"poisson\"\nto = \"A\"\nrate_hz = 300\n"
        "weight = 2\n",
        n < 5 ? n : 5);
}

/* A ring of n small areas; every seventh is FEAGI's if has_feagi. */
static void areas(genome_text *g, uint32_t n, bool has_feagi)
{
    static const char *const models[] = {"lif_psc_delta", "lif_psc_exp",
                                         "izhikevich", "feagi"};
    static const char *const weights[] = {"weight_mv = 9", "weight_pa = 2000",
                                          "weight = 20", "weight = 3"};
    uint32_t kinds[300];
    char name[16];
    begin(g, 100);
    for (uint32_t i = 0; i < n; i++) {
        kinds[i] = has_feagi && i % 7 == 3 ? 3 : i % 5 < 3 ? i % 3 : 0;
        snprintf(name, sizeof name, "A%03u", i);
        area(g, name, models[kinds[i]], 1 + i % 4 * (i % 11));
    }
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t n_links = 0;
        for (uint32_t i = 0; i < n; i++) {
            if (kinds[i] == k)
                add(g, "%s\"A%03u -> A%03u\"",
                    n_links++ == 0 ? "[[map]]\nlink = [" : ", ",
                    (i + n - 1) % n, i);
        }
        if (n_links > 0)
            add(g, "]\nrule = \"all_to_all\"\n%s\ndelay_bursts = %u\n",
                weights[k], k + 1);
    }
    for (uint32_t i = 0; i < n; i += 6)
        if (kinds[i] == 0) {
            snprintf(name, sizeof name, "A%03u", i);
            poisson(g, name, 200);
        }
}

static void giant_row(genome_text *g)
{
    begin(g, 60);
    area(g, "A", "lif_psc_delta", 1);
    add(g, "t_ref_ms = 0\n");
    area(g, "B", "lif_psc_delta", 3000);
    add(g, "[[map]]\nfrom = \"A\"\nto = \"B\"\nrule = \"fixed_total_number\"\n"
           "count = 100000\nweight_mv = { uniform = [0, 1.5] }\n"
           "delay_bursts = { uniform = [0.5, 9.5] }\n");
    poisson(g, "A", 1500);
}

/* All neurons fire in every burst (mean far above the threshold), or none. */
static void extreme(genome_text *g, uint32_t n, double mean_mv)
{
    begin(g, 60);
    area(g, "A", "lif_psc_delta", n);
    add(g,
        "t_ref_ms = 0\n[[map]]\nfrom = \"A\"\nto = \"A\"\n"
        "rule = \"fixed_in_degree\"\nin_degree = 20\nweight_mv = 0.5\n"
        "delay_bursts = { uniform = [0.5, 3.5] }\n"
        "[[stimulus]]\nkind = \"normal\"\nto = \"A\"\nmean_mv = %g\n"
        "sd_mv = 0.1\n",
        mean_mv);
}

enum { COND, ADEX, EXP2, ALL_PORTS };

static void port_area(genome_text *g, int kind, uint32_t n)
{
    static const char *const models[] = {"lif_cond_exp", "adex",
                                         "lif_psc_exp2"};
    static const char *const names[] = {"C", "X", "E"};
    static const char *const units[] = {"ns", "ns", "pa"};
    static const int sizes[] = {5, 8, 90};
    area(g, names[kind], models[kind], n);
    add(g,
        "tau_ex_ms = 3\n[[map]]\nfrom = \"%s\"\nto = \"%s\"\n"
        "rule = \"fixed_in_degree\"\nin_degree = 12\n"
        "weight_%s = { uniform = [%d, %d] }\n"
        "delay_bursts = { uniform = [0.5, 5.5] }\n[[stimulus]]\n"
        "kind = \"poisson\"\nto = \"%s\"\nrate_hz = 250\nweight_%s = %d\n"
        "[[stimulus]]\nkind = \"poisson\"\nto = \"%s\"\nrate_hz = 50\n"
        "weight_%s = %d\n",
        names[kind], names[kind], units[kind], -sizes[kind], sizes[kind],
        names[kind], units[kind], 4 * sizes[kind], names[kind], units[kind],
        -2 * sizes[kind]);
}

/* A model with two ports, or all of them beside models with one. */
static void ports(genome_text *g, int kind, uint32_t n)
{
    begin(g, 120);
    if (kind != ALL_PORTS) {
        port_area(g, kind, n);
        return;
    }
    for (int k = 0; k < ALL_PORTS; k++)
        port_area(g, k, n);
    area(g, "D", "lif_psc_delta", n);
    area(g, "F", "feagi", n);
    add(g, "[[map]]\nfrom = \"X\"\nto = \"D\"\nrule = \"one_to_one\"\n"
           "weight_mv = 20\ndelay_bursts = 3\n[[map]]\nfrom = \"C\"\n"
           "to = \"F\"\nrule = \"one_to_one\"\nweight = 2\n[[map]]\n"
           "from = \"F\"\nto = \"E\"\nrule = \"one_to_one\"\n"
           "weight_pa = -400\ndelay_bursts = 2\n");
}

/* ---- beside the reference ---------------------------------------------- */

static uint64_t validate(const char *name, const vly_connectome *connectome)
{
    const char *names[VLY_VALIDATE_NETS] = {"cpu:1"};
    vly_net *nets[VLY_VALIDATE_NETS] = {NULL};
    vly_validate_result result = {.struct_size = sizeof result};
    uint32_t n = 1;
    char text[4096];
    assert_ok(
        vly_net_create(connectome, registry, "cpu:1", 1, &nets[0], &error),
        error);
    for (uint32_t i = 0; i < n_specs; i++) {
        vly_status status =
            vly_net_create(connectome, registry, specs[i], 1, &nets[n], &error);
        if (device_refuses(name, specs[i], status, &error)) {
            printf("%s on %s: %s\n", name, specs[i], error.message);
            continue;
        }
        names[n++] = specs[i];
        n_ran[i]++;
    }
    if (n == 1)
        fail_msg("%s: no backend runs it", name);
    assert_ok(vly_validate(nets, n, connectome->n_bursts, 16, NULL, NULL,
                           &result, &error),
              error);
    if (result.difference != VLY_DIFFERENCE_NONE)
        fail_msg("%s: %s", name,
                 vly_validate_text(&result, names, text, sizeof text));
    for (uint32_t i = 0; i < n; i++)
        vly_net_destroy(nets[i]);
    return result.spikes;
}

/* The same field of one area on both nets; then its values in reverse into
 * both. */
static void exchange_field(vly_net *const nets[2],
                           const vly_connectome_area *at, uint32_t field)
{
    static double values[2][MAX_VALUES];
    const char *name = at->model->fields[field].name;
    uint32_t n = at->n_neurons < MAX_VALUES ? at->n_neurons : MAX_VALUES;
    for (int i = 0; i < 2; i++)
        assert_ok(
            vly_net_read(nets[i], at->name, name, 0, n, values[i], &error),
            error);
    assert_memory_equal(values[0], values[1], n * sizeof(double));
    for (uint32_t k = 0; k < n; k++)
        values[1][k] = values[0][n - 1 - k];
    for (int i = 0; i < 2; i++)
        assert_ok(
            vly_net_write(nets[i], at->name, name, 0, n, values[1], &error),
            error);
}

static void pieces(const char *name, const vly_connectome *connectome,
                   const char *spec)
{
    static const uint64_t lengths[] = {1, 7, 64, 2, 19};
    vly_net *nets[2] = {NULL};
    uint64_t digests[2] = {0, 1};
    assert_ok(
        vly_net_create(connectome, registry, "cpu:1", 1, &nets[0], &error),
        error);
    if (vly_net_create(connectome, registry, spec, 1, &nets[1], &error) !=
        VLY_OK) {
        vly_net_destroy(nets[0]);
        return;
    }
    for (uint32_t k = 0; k < 5; k++) {
        uint32_t a = k % 2 == 0 ? 0 : connectome->desc.n_areas - 1;
        const vly_connectome_area *at = &connectome->areas[a];
        for (int i = 0; i < 2; i++)
            assert_ok(vly_net_run(nets[i], lengths[k], &error), error);
        if (vly_net_digest(nets[0]) != vly_net_digest(nets[1]))
            fail_msg("%s on %s: other digest after burst %u", name, spec,
                     (unsigned)vly_net_burst(nets[0]));
        for (uint32_t f = 0; f < at->model->n_fields; f++)
            exchange_field(nets, at, f);
    }
    for (int i = 0; i < 2; i++) {
        assert_ok(vly_net_run(nets[i], 20, &error), error);
        assert_ok(vly_net_state_digest(nets[i], &digests[i], &error), error);
    }
    assert_true(vly_net_digest(nets[0]) == vly_net_digest(nets[1]));
    assert_true(digests[0] == digests[1]);
    vly_net_destroy(nets[0]);
    vly_net_destroy(nets[1]);
}

static void run_shape(const char *name, const genome_text *g, bool fires)
{
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    assert_ok(vly_genome_parse(g->text, g->n, name, NULL, 0, &genome, &error),
              error);
    assert_ok(vly_connectome_build(genome, 1, &connectome, &error), error);
    uint64_t spikes = validate(name, connectome);
    if ((spikes > 0) != fires)
        fail_msg("%s: %u spikes", name, (unsigned)spikes);
    for (uint32_t i = 0; i < n_specs; i++)
        pieces(name, connectome, specs[i]);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
}

/* ---- tests ------------------------------------------------------------- */

static genome_text text;

static void require_all(void)
{
    for (uint32_t i = 0; i < n_specs; i++)
        device_require(registry, specs[i]);
}

static void test_sizes(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1,   2,   31,  32,  33,  63,   64,   65,
                                     127, 129, 255, 256, 257, 1023, 1024, 1025};
    char name[32];
    require_all();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t n = sizes[i];
        snprintf(name, sizeof name, "%u neurons", n);
        recurrent(&text, n, n < 9 ? n : 9, "{ uniform = [0.5, 4.5] }", 120);
        run_shape(name, &text, true);
        snprintf(name, sizeof name, "%u FEAGI neurons", n);
        feagi(&text, n);
        if (i % 2 == 0)
            run_shape(name, &text, true);
    }
}

static void test_areas(void **state)
{
    (void)state;
    require_all();
    areas(&text, 70, false);
    run_shape("70 areas", &text, true);
    areas(&text, 70, true);
    run_shape("70 areas, some FEAGI's", &text, true);
    areas(&text, 300, false);
    run_shape("300 areas", &text, true);
    areas(&text, 300, true);
    run_shape("300 areas, some FEAGI's", &text, true);
}

static void test_ports(void **state)
{
    (void)state;
    static const char *const kinds[] = {"lif_cond_exp", "adex", "lif_psc_exp2",
                                        "all with two ports"};
    static const uint32_t sizes[] = {13, 257, 5000};
    char name[64];
    require_all();
    for (int k = 0; k <= ALL_PORTS; k++)
        for (uint32_t i = 0; i < 3; i++) {
            snprintf(name, sizeof name, "%s, %u neurons", kinds[k],
                     (unsigned)sizes[i]);
            ports(&text, k, sizes[i]);
            run_shape(name, &text, true);
        }
}

static void test_delays(void **state)
{
    (void)state;
    static const struct {
        const char *delay;
        uint32_t bursts;
    } delays[] = {{"1", 100},
                  {"2", 100},
                  {"{ uniform = [0.5, 2.5] }", 100},
                  {"255", 300},
                  {"{ uniform = [0.5, 255.5] }", 300},
                  {"256", 300},
                  {"300", 350},
                  {"{ uniform = [299.5, 400.5] }", 450},
                  {"{ uniform = [9999.5, 10002.5] }", 130}};
    char name[64];
    require_all();
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        snprintf(name, sizeof name, "delay %s", delays[i].delay);
        recurrent(&text, 200, 20, delays[i].delay, delays[i].bursts);
        run_shape(name, &text, true);
    }
}

static void test_rows(void **state)
{
    (void)state;
    require_all();
    giant_row(&text);
    run_shape("a row of 100,000 synapses", &text, true);
    begin(&text, 120);
    area(&text, "A", "lif_psc_delta", 300);
    add(&text, "[[map]]\nfrom = \"A\"\nto = \"A\"\nrule = \"all_to_all\"\n"
               "weight_mv = { normal = [0, 1] }\n"
               "delay_bursts = { uniform = [0.5, 3.5] }\n");
    poisson(&text, "A", 150);
    run_shape("300 neurons, all to all", &text, true);
}

static void test_extremes(void **state)
{
    (void)state;
    require_all();
    extreme(&text, 4000, 40);
    run_shape("everything fires", &text, true);
    extreme(&text, 5000, 0.5);
    run_shape("nothing fires", &text, false);
}

/* Last: a spec that ran nothing was not tested. */
static void test_all_ran(void **state)
{
    (void)state;
    require_all();
    for (uint32_t i = 0; i < n_specs; i++) {
        printf("%s ran %u shapes\n", specs[i], n_ran[i]);
        assert_true(n_ran[i] > 0);
    }
}

static int group_setup(void **state)
{
    (void)state;
    return vly_registry_create(&registry, &error);
}

static int group_teardown(void **state)
{
    (void)state;
    vly_registry_destroy(registry);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),   cmocka_unit_test(test_areas),
        cmocka_unit_test(test_ports),   cmocka_unit_test(test_delays),
        cmocka_unit_test(test_rows),    cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_all_ran),
    };
    if (argc < 2 || argc - 1 > (int)MAX_SPECS) {
        fprintf(stderr, "wanted 1 to %u backends, %d are given\n",
                (unsigned)MAX_SPECS, argc - 1);
        return 2;
    }
    specs = (const char *const *)argv + 1;
    n_specs = (uint32_t)argc - 1;
    return cmocka_run_group_tests(tests, group_setup, group_teardown) ? 1 : 0;
}
