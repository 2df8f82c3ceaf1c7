/* SPDX-License-Identifier: Apache-2.0
 * Nets of the engine with users' models and users' rules of plasticity on the
 * CUDA backend beside the CPU's: maps that learn, short-term plasticity and
 * candidates in the same net, swaps,
 * kept states, fail-over, runs of a few bursts, parameters that are changed,
 * several devices.
 * TEST_PLUGIN: the kernels on the processor; otherwise a device.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device_test.h"
#include "engine_fixture.h"

#ifdef TEST_PLUGIN
enum { IS_SLOW = 1 };
#else
enum { IS_SLOW = 0 };
#endif

#define ONE_OF(n)                                                              \
    "format = 1\n[run]\ndt_ms = 0.5\nbursts = 60\n"                            \
    "[neuron.own]\nparam = { c_m = \"250 pF\", tau_m = \"10 ms\", "            \
    "e_l = \"-65 mV\", v_th = \"-50 mV\", t_ref = \"2 ms\", "                  \
    "tau_syn = \"2 ms\", i_e = \"0 pA\" }\n"                                   \
    "port = { arrived = \"pA\" }\n"                                            \
    "state = { v = \"e_l\", i_syn = \"0 pA\" }\n"                              \
    "eq = \"v' = (e_l - v)/tau_m + (i_syn + i_e)/c_m hold; "                   \
    "i_syn' = -i_syn/tau_syn\"\n"                                              \
    "on.arrived = \"i_syn += in\"\nspike = \"v >= v_th\"\n"                    \
    "reset = \"v = e_l\"\nrefractory = \"t_ref\"\n"                            \
    "[area.A]\nmodel = \"own\"\nneurons = " n                                  \
    "\ni_e_pa = { uniform = [200, 700] }\n"
#define ONE ONE_OF("40")

#define OWN                                                                    \
    ONE "[neuron.noisy]\nparam = { tau = \"8 ms\", p = 0.05 }\n"               \
        "port = { up = \"mV\", down = \"mV\" }\nstate = { x = \"0 mV\" }\n"    \
        "eq = \"x' = -x/tau\"\non.up = \"x += in\"\non.down = \"x += in\"\n"   \
        "spike = \"x > 1 mV and uniform() < p + sigmoid(x/4 mV - 2)\"\n"       \
        "reset = \"x = uniform()*x\"\n"                                        \
        "[area.B]\nmodel = \"lif_psc_delta\"\nneurons = 30\n"                  \
        "[area.C]\nmodel = \"noisy\"\nneurons = 35\n"                          \
        "[[map]]\nid = \"AC\"\nfrom = \"A\"\nto = \"C\"\n"                     \
        "rule = \"fixed_in_degree\"\nin_degree = 5\n"                          \
        "weight_mv = { uniform = [-1, 4] }\n"                                  \
        "delay_ms = { uniform = [0.5, 4] }\n"                                  \
        "[[map]]\nid = \"CA\"\nfrom = \"C\"\nto = \"A\"\n"                     \
        "rule = \"fixed_in_degree\"\nin_degree = 4\nweight_pa = 60\n"          \
        "delay_ms = 1\n"                                                       \
        "[[stimulus]]\nkind = \"poisson\"\nto = \"B\"\nrate_hz = 900\n"        \
        "weight_mv = 4\n"                                                      \
        "[[stimulus]]\nkind = \"poisson\"\nto = \"C\"\nrate_hz = 400\n"        \
        "weight_mv = 2\n"

static const char plain[] = OWN;

static const char learning[] = OWN
    "[plasticity.s]\nrule = \"stdp\"\nw_max_mv = 3\n"
    "[plasticity.t]\nrule = \"stdp\"\nw_max_pa = 90\n"
    "[plasticity.d]\nrule = \"tsodyks2\"\ntau_rec_ms = 30\n"
    "[[map]]\nid = \"AB\"\nfrom = \"A\"\nto = \"B\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 6\n"
    "weight_mv = { uniform = [0, 3] }\ndelay_ms = 1\nplasticity = \"s\"\n"
    "[[map]]\nid = \"BA\"\nfrom = \"B\"\nto = \"A\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 6\n"
    "weight_pa = { uniform = [0, 90] }\ndelay_ms = 1.5\nplasticity = \"t\"\n"
    "[[map]]\nid = \"CC\"\nfrom = \"C\"\nto = \"C\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 3\nweight_mv = -1\n"
    "delay_ms = { uniform = [1, 3] }\nplasticity = \"d\"\n";

static const char candidates[] = OWN
    "[area.F]\nmodel = \"feagi\"\nvoxels = [3, 2, 2]\nfiring_threshold = 2\n"
    "postsynaptic_current = 3\n"
    "[[map]]\nid = \"BF\"\nfrom = \"B\"\nto = \"F\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 3\nweight = 3\n"
    "delay_bursts = 2\n"
    "[[map]]\nid = \"CF\"\nfrom = \"C\"\nto = \"F\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 3\nweight = 2\n"
    "delay_bursts = 1\n"
    "[[map]]\nid = \"FA\"\nfrom = \"F\"\nto = \"A\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 3\nweight_pa = 90\n"
    "delay_bursts = 1\n";

/* Rules of users: all traces, only one function, a delay on the dendrite,
 * nearest spikes; beside a built-in one. */
#define RULES                                                                  \
    "[synapse.pair]\nparam = { tau_plus = \"20 ms\", tau_minus = \"12 ms\", "  \
    "lambda = \"0.05\", alpha = \"1\" }\n"                                     \
    "pre = { x = \"tau_plus\" }\npost = { y = \"tau_minus\" }\n"               \
    "on_pre = \"w -= lambda*alpha*w_max*(w/w_max)*y\"\n"                       \
    "on_post = \"w += lambda*w_max*max(1 - w/w_max, 0)*x\"\n"                  \
    "[synapse.four]\nparam = { a = \"9 ms\", b = \"30 ms\", "                  \
    "dw = \"0.2 weight\" }\n"                                                  \
    "pre = { x = \"a\", r = \"b\" }\npost = { y = \"b\", o = \"a\" }\n"        \
    "on_pre = \"w -= dw*(if o < 0.6 and not w > 0.7*w_max "                    \
    "then exp(-y) else sqrt(r)/(1.5 + x))\"\n"                                 \
    "on_post = \"w += dw*r*tanh(x + 0.3*o)*(1 - abs(w/w_max - 0.2))\"\n"       \
    "[synapse.late]\nparam = { tau = \"7 ms\", eta = \"0.05\" }\n"             \
    "pre = { x = \"tau\" }\non_post = \"w += eta*w_max*(x - x^3)\"\n"          \
    "[plasticity.p]\nrule = \"pair\"\nalpha = 1.4\n"                           \
    "delay = \"dendritic\"\nw_max_mv = 3\n"                                    \
    "[plasticity.f]\nrule = \"four\"\nw_max_pa = 90\ndw_pa = 6\n"              \
    "nearest = true\n"                                                         \
    "[plasticity.l]\nrule = \"late\"\nw_max_mv = -2\n"                         \
    "[plasticity.s]\nrule = \"stdp\"\nw_max_mv = 3\n"                          \
    "[[map]]\nid = \"AB\"\nfrom = \"A\"\nto = \"B\"\n"                         \
    "rule = \"fixed_in_degree\"\nin_degree = 6\n"                              \
    "weight_mv = { uniform = [0, 3] }\ndelay_ms = 1\nplasticity = \"p\"\n"     \
    "[[map]]\nid = \"BA\"\nfrom = \"B\"\nto = \"A\"\n"                         \
    "rule = \"fixed_in_degree\"\nin_degree = 6\n"                              \
    "weight_pa = { uniform = [0, 90] }\ndelay_ms = 1.5\nplasticity = \"f\"\n"  \
    "[[map]]\nid = \"BB\"\nfrom = \"B\"\nto = \"B\"\n"                         \
    "rule = \"fixed_in_degree\"\nin_degree = 4\n"                              \
    "weight_mv = -1\ndelay_ms = 0.5\nplasticity = \"l\"\n"                     \
    "[[map]]\nid = \"AB/s\"\nfrom = \"A\"\nto = \"B\"\n"                       \
    "rule = \"fixed_in_degree\"\nin_degree = 4\n"                              \
    "weight_mv = { uniform = [0, 3] }\ndelay_ms = 1\nplasticity = \"s\"\n"

static const char rules[] =
    OWN RULES "[plasticity.d]\nrule = \"tsodyks2\"\ntau_rec_ms = 30\n"
              "[[map]]\nid = \"BB/d\"\nfrom = \"B\"\nto = \"B\"\n"
              "rule = \"fixed_in_degree\"\nin_degree = 3\nweight_mv = -1\n"
              "delay_ms = { uniform = [1, 3] }\nplasticity = \"d\"\n";

/* The same beside built-in models only: other kernels, two plans. */
static const char rules_alone[] =
    "format = 1\n[run]\ndt_ms = 0.5\nbursts = 60\n"
    "[area.A]\nmodel = \"lif_psc_exp\"\nneurons = 40\n"
    "i_e_pa = { uniform = [200, 700] }\n"
    "[area.B]\nmodel = \"lif_psc_delta\"\nneurons = 30\n"
    "[[stimulus]]\nkind = \"poisson\"\nto = \"B\"\nrate_hz = 900\n"
    "weight_mv = 4\n" RULES;

/* Users' models of one port, beside a built-in one and alone: by compiled steps
 * in plans global and resident. */
#define B "[[stimulus]]\nkind = \"poisson\"\nto = \"B\"\nrate_hz = 900\n"
static const char beside[] =
    ONE "[area.B]\nmodel = \"lif_psc_delta\"\nneurons = 30\n" B
        "weight_mv = 4\n" RULES;
#define ALONE(neurons)                                                         \
    ONE "[area.B]\nmodel = \"own\"\nneurons = " neurons "\n" B                 \
        "weight_pa = 1500\n"                                                   \
        "[plasticity.s]\nrule = \"stdp\"\nw_max_pa = 90\n"                     \
        "[plasticity.t]\nrule = \"stdp_triplet\"\nw_max_pa = 90\n"             \
        "delay = \"dendritic\"\n"                                              \
        "[[map]]\nid = \"AB\"\nfrom = \"A\"\nto = \"B\"\n"                     \
        "rule = \"fixed_in_degree\"\nin_degree = 6\n"                          \
        "weight_pa = { uniform = [0, 90] }\ndelay_ms = 1\n"                    \
        "plasticity = \"s\"\n"                                                 \
        "[[map]]\nid = \"BA\"\nfrom = \"B\"\nto = \"A\"\n"                     \
        "rule = \"fixed_in_degree\"\nin_degree = 6\n"                          \
        "weight_pa = { uniform = [0, 90] }\ndelay_ms = 1.5\n"                  \
        "plasticity = \"t\"\n"
static const char alone[] = ALONE("30");
/* more neurons than one block has threads */
static const char many[] = ALONE("1100");

/* For several devices: models of one port, one of which draws numbers, and a
 * built-in one whose input is recorded, which makes it a program. */
static const char spread[] = ONE_OF(
    "300") "[neuron.drawn]\nparam = { tau = \"8 ms\", p = 0.05 }\n"
           "port = { up = \"mV\" }\nstate = { x = \"0 mV\" }\n"
           "eq = \"x' = -x/tau\"\non.up = \"x += in\"\n"
           "spike = \"x > 1 mV and uniform() < p + sigmoid(x/4 mV - 2)\"\n"
           "reset = \"x = uniform()*x\"\n"
           "[area.D]\nmodel = \"drawn\"\nneurons = 170\n"
           "[area.B]\nmodel = \"lif_psc_delta\"\nneurons = 90\n"
           "[area.E]\nmodel = \"lif_psc_exp\"\nneurons = 45\n"
           "[[record]]\nwhat = \"input\"\nfrom = \"B\"\n"
           "[[map]]\nid = \"AD\"\nfrom = \"A\"\nto = \"D\"\n"
           "rule = \"fixed_in_degree\"\nin_degree = 5\n"
           "weight_mv = { uniform = [-1, 4] }\n"
           "delay_ms = { uniform = [0.5, 4] }\n"
           "[[map]]\nid = \"DA\"\nfrom = \"D\"\nto = \"A\"\n"
           "rule = \"fixed_in_degree\"\nin_degree = 4\nweight_pa = 60\n"
           "delay_ms = 1\n"
           "[[map]]\nid = \"DB\"\nfrom = \"D\"\nto = \"B\"\n"
           "rule = \"fixed_in_degree\"\nin_degree = 4\n"
           "weight_mv = { uniform = [-2, 6] }\ndelay_ms = 1.5\n"
           "[[map]]\nid = \"BE\"\nfrom = \"B\"\nto = \"E\"\n"
           "rule = \"fixed_in_degree\"\nin_degree = 6\nweight_pa = 400\n"
           "delay_ms = 0.5\n" B "weight_mv = 4\n"
           "[[stimulus]]\nkind = \"poisson\"\nto = \"D\"\nrate_hz = 400\n"
           "weight_mv = 2\n";

static const char *const genomes[] = {plain,       learning, candidates, rules,
                                      rules_alone, beside,   alone};

static void init(fixture *f, const char *text)
{
#ifdef TEST_PLUGIN
    char path[1024];
    (void)snprintf(path, sizeof path, "%s:%s/cpu.so", TEST_PLUGIN,
                   VLY_TEST_PLUGIN_DIR);
    setenv("VOLLEY_PLUGIN_PATH", path, 1);
#endif
    fixture_init(f, text);
    device_require(f->registry, "cuda");
}

static bool has(const fixture *f, const char *area)
{
    const vly_net_desc *desc = &f->connectome->desc;
    for (uint32_t a = 0; a < desc->n_areas; a++)
        if (strcmp(desc->areas[a].name, area) == 0)
            return true;
    return false;
}

static bool learns_by(const fixture *f, const char *rule)
{
    const vly_net_desc *desc = &f->connectome->desc;
    for (uint32_t p = 0; p < desc->n_projections; p++)
        if (desc->projections[p].learning != NULL &&
            strcmp(desc->projections[p].learning->rule, rule) == 0)
            return true;
    return false;
}

/* What happens at a burst, whatever the backend is. */
static void act(fixture *f, vly_net *net, uint64_t burst)
{
    double v[40];
    if (burst == 12) {
        assert_ok(vly_net_inject(net, 14, "A", 3, 0, 900, &f->error), f->error);
        if (has(f, "C"))
            assert_ok(vly_net_inject(net, 14, "C", 5, 1, -7, &f->error),
                      f->error);
    }
    if (burst == 18) {
        assert_ok(vly_net_set(net, "area.A.tau_m_ms", 14, &f->error), f->error);
        assert_ok(vly_net_set(net, "area.A.i_e_pa", 650, &f->error), f->error);
        if (has(f, "C"))
            assert_ok(vly_net_set(net, "area.C.p", 0.5, &f->error), f->error);
        if (has(f, "D"))
            assert_ok(vly_net_set(net, "area.D.p", 0.5, &f->error), f->error);
    }
    if (burst == 18 && learns_by(f, "synapse pair"))
        assert_ok(vly_net_set(net, "plasticity.p.alpha", -0.6, &f->error),
                  f->error);
    if (burst == 24)
        assert_ok(vly_net_read(net, "A", "v_mv", 0, 40, v, &f->error),
                  f->error);
}

typedef struct move {
    const char *first;
    const char *then; /* from burst `at` on; NULL: it stays */
    uint32_t at;
    uint32_t piece; /* bursts of a run at most */
} move;

static fingerprint run(fixture *f, const move *m)
{
    static const uint32_t stops[] = {12, 18, 24, 60};
    vly_net *net = fixture_net(f, m->first);
    fingerprint found = {0};
    uint32_t s = 0;
    for (uint32_t done = 0; done < 60;) {
        uint32_t next = stops[s];
        if (m->then != NULL && done < m->at && m->at < next)
            next = m->at;
        next = next - done < m->piece ? next : done + m->piece;
        if (m->then != NULL && done == m->at)
            assert_ok(vly_net_swap(net, m->then, 0, &f->error), f->error);
        found = fixture_run(f, net, next - done);
        done = next;
        if (done == stops[s]) {
            act(f, net, done);
            s++;
        }
    }
    vly_net_destroy(net);
    return found;
}

static void as_the_cpu(void **state)
{
    static const move moves[] = {{"cuda", NULL, 0, 60},
                                 {"cuda", "cpu:2", 20, 60},
                                 {"cpu:3", "cuda", 27, 7},
                                 {"cuda", NULL, 0, 1},
                                 {"cuda:0,launch=3", NULL, 0, 60},
                                 {"cuda:0,jit=0", "cpu:3", 30, 4},
                                 {"cpu:2", "cuda:0,jit=0", 9, 60},
                                 {"cuda:0,plan=global", "cuda", 33, 60},
                                 {"cuda:0,plan=global,launch=5", NULL, 0, 60}};
    enum { N_MOVES = sizeof moves / sizeof moves[0] };
    (void)state;
    for (size_t g = 0; g < sizeof genomes / sizeof genomes[0]; g++) {
        fixture f;
        init(&f, genomes[g]);
        const move cpu = {"cpu:1", NULL, 0, 60};
        fingerprint wanted = run(&f, &cpu);
        assert_true(wanted.spikes > 200);
        for (size_t i = 0; i < N_MOVES; i++) {
            if (IS_SLOW && g > 0 && moves[i].then == NULL && i < N_MOVES - 1)
                continue;
            fingerprint found = run(&f, &moves[i]);
            assert_same(&found, &wanted);
        }
        fixture_deinit(&f);
    }
}

/* A state that one backend kept goes on in a net of the other. */
static void kept_states(void **state)
{
    static const char *const names[] = {"cpu:2", "cuda"};
    (void)state;
    for (size_t g = 0; g < sizeof genomes / sizeof genomes[0]; g++) {
        fixture f;
        fingerprint whole = {0};
        init(&f, genomes[g]);
        for (int i = 0; i < 2; i++) {
            vly_state *kept = NULL;
            vly_net *net = fixture_net(&f, names[i]);
            vly_net *other = fixture_net(&f, names[1 - i]);
            (void)fixture_run(&f, net, 21);
            assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
            fingerprint a = fixture_run(&f, net, 20);
            assert_ok(vly_net_restore(other, kept, &f.error), f.error);
            fingerprint b = fixture_run(&f, other, 20);
            assert_true(a.state == b.state);
            assert_true(i == 0 || a.state == whole.state);
            whole = a;
            vly_state_destroy(kept);
            vly_net_destroy(net);
            vly_net_destroy(other);
        }
        fixture_deinit(&f);
    }
}

/* A checkpoint's file of one backend, resumed on the other. */
static void resumed_from_a_file(void **state)
{
    static const char *const names[] = {"cuda", "cpu:2", "cuda:0,jit=0"};
    fixture f;
    char path[512];
    fingerprint wanted = {0};
    (void)state;
    init(&f, learning);
    snprintf(path, sizeof path, "%s/cuda_user_nets_%ld.state",
             VLY_TEST_BINARY_DIR, (long)getpid());
    for (int i = 0; i < 2; i++) {
        vly_state *kept = NULL;
        vly_state *read = NULL;
        vly_net *other = NULL;
        vly_net *net = fixture_net(&f, names[i]);
        (void)fixture_run(&f, net, 17);
        assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
        vly_net_destroy(net);
        assert_ok(vly_state_save(kept, path, &f.error), f.error);
        assert_ok(vly_state_load(path, &read, &f.error), f.error);
        unlink(path);
        assert_ok(vly_net_resume(f.connectome, f.registry, names[i + 1], 0,
                                 read, &other, &f.error),
                  f.error);
        fingerprint found = fixture_run(&f, other, 23);
        if (i > 0)
            assert_same(&found, &wanted);
        wanted = found;
        vly_net_destroy(other);
        vly_state_destroy(kept);
        vly_state_destroy(read);
    }
    assert_true(wanted.burst == 40 && wanted.spikes > 100);
    fixture_deinit(&f);
}

static void what_is_refused(void **state)
{
    static const char *const specs[] = {"cuda:0,plan=resident",
                                        "cuda:0,plan=partitioned"};
    fixture f;
    (void)state;
    init(&f, plain);
    vly_net *net = fixture_net(&f, "cpu:1");
    (void)fixture_run(&f, net, 9);
    for (int i = 0; i < 2; i++) {
        assert_fails(vly_net_swap(net, specs[i], 0, &f.error),
                     VLY_E_UNSUPPORTED, &f.error,
                     "a model has more than one port");
        (void)fixture_run(&f, net, 9); /* it stays where it is */
    }
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* ---- several devices ----------------------------------------------------- */

#ifdef TEST_PLUGIN
#define BOTH "cuda:0-1,devices=all"
#else
#define BOTH "cuda:0,span=4" /* a device may be alone */
#endif

static void assert_plan(fixture *f, vly_net *net, const char *plan)
{
    vly_stats stats = {.struct_size = sizeof stats};
    assert_ok(vly_net_stats(net, &stats, &f->error), f->error);
    if (strstr(stats.plan, plan) == NULL)
        fail_msg("%s, wanted %s", stats.plan, plan);
}

/* From one device to several and back, to the processor, in short runs. */
static void several_devices(void **state)
{
    static const move moves[] = {{"cuda:0,span=2", NULL, 0, 60},
                                 {BOTH, "cpu:2", 20, 60},
                                 {"cpu:3", "cuda:0,span=3", 27, 7},
                                 {BOTH, "cuda:0,span=2,launch=3", 33, 5},
                                 {"cuda:0,plan=global", BOTH, 17, 60},
                                 {"cuda:0,span=3,cluster=1", "cuda", 9, 60}};
    fixture f;
    (void)state;
    init(&f, spread);
    const move cpu = {"cpu:1", NULL, 0, 60};
    fingerprint wanted = run(&f, &cpu);
    assert_true(wanted.spikes > 500);
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        fingerprint found = run(&f, &moves[i]);
        assert_same(&found, &wanted);
    }
    vly_net *net = fixture_net(&f, BOTH);
    assert_plan(&f, net, ": partitioned with users' models: ");
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* Sums of what arrives, potentials and all else, from whichever device has
 * them; in a net that goes on from a file. */
static void values_of_several_devices(void **state)
{
    static const char *const names[] = {"cuda:0,span=3", "cpu:2"};
    static const char *const fields[][2] = {
        {"A", "v_mv"}, {"B", "input_mv"}, {"B", "v_mv"}, {"D", "x_mv"}};
    double values[2][4][90];
    double sum = 0;
    char path[512];
    fixture f;
    (void)state;
    init(&f, spread);
    snprintf(path, sizeof path, "%s/cuda_user_spans_%ld.state",
             VLY_TEST_BINARY_DIR, (long)getpid());
    for (int i = 0; i < 2; i++) {
        vly_state *kept = NULL;
        vly_state *read = NULL;
        vly_net *other = NULL;
        vly_net *net = fixture_net(&f, names[i]);
        (void)fixture_run(&f, net, 17);
        assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
        vly_net_destroy(net);
        assert_ok(vly_state_save(kept, path, &f.error), f.error);
        assert_ok(vly_state_load(path, &read, &f.error), f.error);
        unlink(path);
        assert_ok(vly_net_resume(f.connectome, f.registry, names[1 - i], 0,
                                 read, &other, &f.error),
                  f.error);
        (void)fixture_run(&f, other, 23);
        for (int k = 0; k < 4; k++)
            assert_ok(vly_net_read(other, fields[k][0], fields[k][1], 0, 90,
                                   values[i][k], &f.error),
                      f.error);
        vly_net_destroy(other);
        vly_state_destroy(kept);
        vly_state_destroy(read);
    }
    assert_memory_equal(values[0], values[1], sizeof values[0]);
    for (int n = 0; n < 90; n++)
        sum += values[0][1][n] * values[0][1][n];
    assert_true(sum > 0);
    fixture_deinit(&f);
}

/* Nets that learn, by compiled steps. */
static void compiled_plans(void **state)
{
    static const struct {
        const char *genome;
        const char *device;
        const char *plan;
    } cases[] = {
        {alone, "cuda", "resident with learning with users' models: "},
        {beside, "cuda",
         "resident with learning by users' rules with users' models: "},
        {alone, "cuda:0,plan=global",
         "; users' models compiled by the driver, 1 neurons"},
        {alone, "cuda:0,plan=global,jit=3",
         "; users' models compiled by the driver, 4 neurons"},
        {many, "cuda:0,plan=global,blocks=1",
         "; users' models compiled by the driver, 4 neurons"},
        {many, "cuda:0,plan=global,blocks=1,jit=2",
         "; users' models compiled by the driver, 1 neurons"},
        {beside, "cuda:0,plan=global",
         "; users' models compiled by the driver, 1 neurons"},
        {learning, "cuda", "; users' models compiled by the driver, 1 neurons"},
        {rules, "cuda", "; users' models compiled by the driver, 1 neurons"},
        {alone, "cuda:0,jit=0", "; users' models step by step"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture f;
        init(&f, cases[i].genome);
        vly_net *net = fixture_net(&f, cases[i].device);
        assert_plan(&f, net, cases[i].plan);
        vly_net_destroy(net);
        fixture_deinit(&f);
    }
}

static void which_plan(void **state)
{
    fixture f;
    (void)state;
    init(&f, rules_alone);
    vly_stats stats = {.struct_size = sizeof stats};
    vly_net *net = fixture_net(&f, "cuda");
    assert_ok(vly_net_stats(net, &stats, &f.error), f.error);
    assert_memory_equal(stats.plan,
                        "resident with learning by users' rules: ", 40);
    assert_ok(vly_net_swap(net, "cuda:0,plan=global", 0, &f.error), f.error);
    assert_ok(vly_net_stats(net, &stats, &f.error), f.error);
    assert_memory_equal(stats.plan,
                        "global with learning by users' rules: ", 38);
    assert_fails(vly_net_swap(net, "cuda:0,plan=partitioned", 0, &f.error),
                 VLY_E_UNSUPPORTED, &f.error,
                 "maps learn: plans global and resident can run them");
    vly_net_destroy(net);
    fixture_deinit(&f);
}

#ifdef TEST_PLUGIN
/* The device fails (fake_cuda.c): the processor goes on from the last kept
 * state, with the same bits. */
static void fail_device(const char *genome, const char *name, const char *fault)
{
    fixture f;
    vly_stats stats = {.struct_size = sizeof stats};
    init(&f, genome);
    vly_net *cpu = fixture_net(&f, "cpu:2");
    vly_net *net = fixture_net(&f, name);
    assert_ok(vly_net_failover(net, "cpu:1", 0, 10, NULL, NULL, &f.error),
              f.error);
    assert_ok(vly_net_run(net, 25, &f.error), f.error);
    setenv("FAKE_CUDA_FAULT", fault, 1);
    vly_status status = vly_net_run(net, 25, &f.error);
    unsetenv("FAKE_CUDA_FAULT");
    assert_ok(status, f.error);
    assert_ok(vly_net_stats(net, &stats, &f.error), f.error);
    assert_memory_equal(stats.backend, "cpu", 3);
    fingerprint wanted = fixture_run(&f, cpu, 55);
    fingerprint found = fixture_run(&f, net, 5);
    assert_same(&found, &wanted);
    vly_net_destroy(cpu);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void failed_device(void **state)
{
    (void)state;
    fail_device(learning, "cuda", "0");
    fail_device(spread, BOTH, "1");
}
#endif

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(as_the_cpu),
    cmocka_unit_test(kept_states),
    cmocka_unit_test(resumed_from_a_file),
    cmocka_unit_test(what_is_refused),
    cmocka_unit_test(which_plan),
    cmocka_unit_test(compiled_plans),
    cmocka_unit_test(several_devices),
    cmocka_unit_test(values_of_several_devices),
#ifdef TEST_PLUGIN
    cmocka_unit_test(failed_device),
#endif
};
VLY_TEST_MAIN(tests)
