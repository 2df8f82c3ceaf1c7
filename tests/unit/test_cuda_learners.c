/* SPDX-License-Identifier: Apache-2.0
 * Maps that learn in the CUDA plan "resident" beside the CPU backend, by
 * built-in rules and rules of users, onto neurons of built-in models and of
 * models of users, whose steps the driver compiles: rings of spikes that fill,
 * delays of one burst and longer, runs of any length, weights read and written
 * in between, in the order of the map; and which nets that plan refuses.
 * TEST_PLUGIN: the kernels on the processor.
 */
#include <stdlib.h>
#include <string.h>

#include "engine_fixture.h"

#define RESIDENT "cuda:0,plan=resident"
#define BURSTS 360u

/* S fires around the swap and then pauses. In the pause each neuron of A has
 * more spikes than its ring holds (64), and the traces of S last: without a
 * flush the synapses of S would miss some of these spikes. */
#define HEAD HEAD_OF("lif_psc_delta", "lif_psc_delta")
#define HEAD_OF(a, s)                                                          \
    "format = 1\n[run]\ndt_ms = 0.5\nbursts = 360\n"                           \
    "[area.A]\nmodel = \"" a "\"\nneurons = 24\nt_ref_ms = 0.5\n"              \
    "v_mv = { uniform = [-70, -50] }\n"                                        \
    "[area.S]\nmodel = \"" s "\"\nneurons = 9\n"                               \
    "[[stimulus]]\nkind = \"poisson\"\nto = \"A\"\nrate_hz = 5000\n"           \
    "weight_mv = 15\n"                                                         \
    "[[stimulus]]\nkind = \"poisson\"\nto = \"S\"\nrate_hz = 900\n"            \
    "weight_mv = 25\nstart_ms = 42\nstop_ms = 50\n"                            \
    "[[stimulus]]\nkind = \"poisson\"\nto = \"S\"\nrate_hz = 900\n"            \
    "weight_mv = 25\nstart_ms = 170\n"

/* The built-in model as a user writes it (written_model.c), in all areas or
 * beside the built-in one. */
#define LIF                                                                    \
    "[neuron.own]\nparam = { c_m = \"250 pF\", tau_m = \"10 ms\", "            \
    "t_ref = \"2 ms\", e_l = \"-65 mV\", v_th = \"-50 mV\", "                  \
    "v_reset = \"-65 mV\", i_e = \"0 pA\" }\nport = { arrived = \"mV\" }\n"    \
    "state = { v = \"e_l\" }\nupdate = \"d = v - e_l; "                        \
    "v = (e_l + (exp(-dt/tau_m)*d + -expm1(-dt/tau_m)*tau_m/c_m*i_e)) "        \
    "+ arrived  hold\"\nspike = \"v >= v_th\"\nreset = \"v = v_reset\"\n"      \
    "refractory = \"t_ref\"\n"
#define OWN_HEAD HEAD_OF("own", "own") LIF
#define MIXED_HEAD HEAD_OF("own", "lif_psc_delta") LIF

#define LEARNS_BY(name, from, degree, rule, map)                               \
    "[plasticity." name "]\n" rule "\n[[map]]\nid = \"" name                   \
    "\"\nfrom = \"" from "\"\nto = \"A\"\nrule = \"fixed_in_degree\"\n"        \
    "in_degree = " degree "\nplasticity = \"" name "\"\n" map "\n"
#define LEARNS(name, from, rule, map) LEARNS_BY(name, from, "5", rule, map)

/* All delays above one burst: the plan delivers while mail is in flight. */
#define FAR                                                                    \
    LEARNS("far", "S",                                                         \
           "rule = \"stdp\"\nw_max_mv = 2\nlambda = 0.01\n"                    \
           "tau_plus_ms = 100\ndelay = \"dendritic\"",                         \
           "weight_mv = { uniform = [0, 1.8] }\ndelay_ms = 2")                 \
    LEARNS("triplets", "A", "rule = \"stdp_triplet\"\nw_max_mv = -1",          \
           "weight_mv = -0.4\ndelay_ms = 1")
/* One burst: it delivers after the exchange. */
#define NEAR                                                                   \
    LEARNS("near", "S",                                                        \
           "rule = \"stdp_power\"\nw_max_mv = 1\nw_0_mv = 0.2\n"               \
           "tau_plus_ms = 100\nnearest = true",                                \
           "weight_mv = 0.3\ndelay_ms = 0.5")

/* One map alone has a kernel of its own for some rules. */
#define ONE_MAP(rule, more, delay)                                             \
    LEARNS("far", "S",                                                         \
           "rule = \"" rule "\"\nw_max_mv = 2\ntau_plus_ms = 100\n" more,      \
           "weight_mv = { uniform = [0, 1.8] }\ndelay_ms = " delay)
#define OTHER_MODEL "[area.X]\nmodel = \"izhikevich\"\nneurons = 5\n"

/* The same with rules of users. */
#define OWN                                                                    \
    "[synapse.own]\nparam = { tau = \"100 ms\", fast = \"9 ms\", "             \
    "dw = \"0.02 weight\" }\npre = { x = \"tau\", r = \"fast\" }\n"            \
    "post = { y = \"fast\", o = \"tau\" }\n"                                   \
    "on_pre = \"w -= dw*(if y < 0.5 then o/(1 + o) else exp(-r))\"\n"          \
    "on_post = \"w += dw*x*(1 - w/w_max)*sqrt(0.1 + y)\"\n"
#define OWN_FAR                                                                \
    OWN LEARNS("own_far", "S",                                                 \
               "rule = \"own\"\nw_max_mv = 2\ndw_mv = 0.01\n"                  \
               "delay = \"dendritic\"",                                        \
               "weight_mv = { uniform = [0, 1.8] }\ndelay_ms = 2")
#define OWN_NEAR                                                               \
    LEARNS("own_near", "A", "rule = \"own\"\nw_max_mv = -1\nnearest = true",   \
           "weight_mv = -0.4\ndelay_ms = 0.5")

static void init(fixture *f, const char *text)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s:%s/cpu.so", TEST_PLUGIN,
                   VLY_TEST_PLUGIN_DIR);
    setenv("VOLLEY_PLUGIN_PATH", path, 1);
    fixture_init(f, text);
}

/* On one backend up to burst 90, then on the other, weights written there. */
static fingerprint run(fixture *f, const char *first, const char *then,
                       uint32_t piece)
{
    static const double weights[3] = {0.25, 1.75, 1.0};
    vly_net *net = fixture_net(f, first);
    fingerprint found = {0};
    for (uint32_t done = 0; done < BURSTS;) {
        uint32_t end = done < 90 ? 90 : BURSTS;
        uint32_t next = end - done < piece ? end : done + piece;
        if (done == 90) {
            assert_ok(vly_net_swap(net, then, 0, &f->error), f->error);
            assert_ok(
                vly_net_weights_write(net, "far", 0, 4, 3, weights, &f->error),
                f->error);
        }
        found = fixture_run(f, net, next - done);
        done = next;
    }
    vly_net_destroy(net);
    return found;
}

static void is_the_cpu(const char *text)
{
    static const struct {
        const char *first;
        const char *then;
        uint32_t piece;
    } cases[] = {{RESIDENT, RESIDENT, BURSTS},
                 {RESIDENT, "cpu:2", 7},
                 {"cuda:0,plan=global", RESIDENT, BURSTS}};
    fixture f;
    init(&f, text);
    fingerprint wanted = run(&f, "cpu:1", "cpu:2", BURSTS);
    assert_true(wanted.spikes > UINT64_C(24) * BURSTS / 3);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fingerprint found =
            run(&f, cases[i].first, cases[i].then, cases[i].piece);
        assert_same(&found, &wanted);
    }
    fixture_deinit(&f);
}

static void early(void **state)
{
    (void)state;
    is_the_cpu(HEAD FAR);
}

static void late(void **state)
{
    (void)state;
    is_the_cpu(HEAD FAR NEAR);
}

static void one_map(void **state)
{
    (void)state;
    is_the_cpu(HEAD ONE_MAP("stdp", "delay = \"dendritic\"", "2"));
    is_the_cpu(HEAD ONE_MAP("stdp", "mu_plus = 0", "0.5"));
    is_the_cpu(HEAD ONE_MAP("stdp_power", "nearest = true", "0.5"));
    is_the_cpu(HEAD OTHER_MODEL ONE_MAP("stdp_power", "w_0_mv = 0.2", "1"));
    is_the_cpu(HEAD OTHER_MODEL ONE_MAP("stdp", "", "0.5"));
    is_the_cpu(HEAD ONE_MAP("stdp_triplet", "", "0.5"));
    /* 62,000 numbers are too many for tables in shared memory, and of 104,000 a
     * table has but the first 65,536: the kernel for any maps */
    is_the_cpu(HEAD ONE_MAP("stdp", "tau_minus_ms = 3000", "0.5"));
    is_the_cpu(HEAD ONE_MAP("stdp", "tau_minus_ms = 5000", "0.5"));
}

static void early_by_users(void **state)
{
    (void)state;
    is_the_cpu(HEAD FAR OWN_FAR);
}

static void late_by_users(void **state)
{
    (void)state;
    is_the_cpu(HEAD FAR OWN_FAR OWN_NEAR);
}

/* Of users' models, which give the spikes of the built-in one: by the kernel
 * for them alone and by the one for others, too. */
static void early_of_users(void **state)
{
    (void)state;
    is_the_cpu(OWN_HEAD FAR);
    is_the_cpu(MIXED_HEAD FAR OWN_FAR);
}

static void late_of_users(void **state)
{
    (void)state;
    is_the_cpu(OWN_HEAD ONE_MAP("stdp", "", "0.5"));
    is_the_cpu(MIXED_HEAD FAR NEAR);
    is_the_cpu(OWN_HEAD FAR OWN_FAR OWN_NEAR);
}

/* ---- the order of synapses ---------------------------------------------- */

/* Rows of some 400 synapses, 16 of each pair, and in "back" of some 70, whose
 * targets are not the first neurons. */
#define PAIRS                                                                  \
    LEARNS_BY("many", "S", "150",                                              \
              "rule = \"stdp\"\nw_max_mv = 2\nlambda = 0.01",                  \
              "weight_mv = { uniform = [0, 0.1] }\ndelay_ms = 2")              \
    "[[map]]\nid = \"back\"\nfrom = \"A\"\nto = \"S\"\n"                       \
    "rule = \"fixed_in_degree\"\nin_degree = 200\nplasticity = \"many\"\n"     \
    "weight_mv = { uniform = [0, 0.1] }\ndelay_ms = 1\n"
#define MOST 4096u

typedef struct weights {
    uint64_t n;
    double weight[MOST];
    uint32_t source[MOST];
    uint32_t target[MOST];
} weights;

static void read_map(fixture *f, vly_net *net, const char *map, weights *w)
{
    vly_net_projection_info info = {.struct_size = sizeof info};
    assert_ok(vly_net_projection(net, map, 0, &info, &f->error), f->error);
    assert_true(info.n_synapses <= MOST);
    w->n = info.n_synapses;
    assert_ok(vly_net_weights_read(net, map, 0, 0, w->n, w->weight, w->source,
                                   w->target, &f->error),
              f->error);
}

/* Every synapse of both maps, and the digests. Returns synapses after another
 * one of their pair with another weight: their order is seen. */
static uint32_t assert_alike(fixture *f, vly_net *net, vly_net *cpu)
{
    static const char *const maps[] = {"many", "back"};
    static weights found;
    static weights wanted;
    uint64_t digests[2];
    uint32_t n = 0;
    for (int m = 0; m < 2; m++) {
        read_map(f, net, maps[m], &found);
        read_map(f, cpu, maps[m], &wanted);
        assert_int_equal(found.n, wanted.n);
        for (uint64_t i = 0; i < wanted.n; i++) {
            assert_true(found.weight[i] == wanted.weight[i]);
            n += i > 0 && wanted.source[i] == wanted.source[i - 1] &&
                 wanted.target[i] == wanted.target[i - 1] &&
                 wanted.weight[i] != wanted.weight[i - 1];
        }
    }
    assert_ok(vly_net_state_digest(net, &digests[0], &f->error), f->error);
    assert_ok(vly_net_state_digest(cpu, &digests[1], &f->error), f->error);
    assert_int_equal(digests[0], digests[1]);
    return n;
}

static void run_both(fixture *f, vly_net *const nets[2], uint64_t n_bursts)
{
    fingerprint found = fixture_run(f, nets[0], n_bursts);
    fingerprint wanted = fixture_run(f, nets[1], n_bursts);
    assert_same(&found, &wanted);
}

/* What reads and writes weights between launches, once and several times. */
static void keeps_order(const char *text, const char *backend)
{
    static const double few[5] = {0.07, 0.01, 0.05, 0.02, 0.09};
    fixture f;
    init(&f, text);
    vly_net *nets[2] = {fixture_net(&f, backend), fixture_net(&f, "cpu:1")};
    assert_true(assert_alike(&f, nets[0], nets[1]) > 2000);
    (void)fixture_run(&f, nets[1], 100);
    (void)fixture_run(&f, nets[0], 37); /* no digest in between */
    (void)fixture_run(&f, nets[0], 63);
    assert_true(assert_alike(&f, nets[0], nets[1]) > 2000);
    for (int i = 0; i < 2; i++) {
        assert_ok(
            vly_net_set(nets[i], "plasticity.many.lambda", 0.02, &f.error),
            f.error);
        for (uint64_t at = 403; at < 1500; at += 997)
            assert_ok(
                vly_net_weights_write(nets[i], "many", 0, at, 5, few, &f.error),
                f.error);
    }
    (void)assert_alike(&f, nets[0], nets[1]);
    run_both(&f, nets, 1);
    (void)assert_alike(&f, nets[0], nets[1]);
    for (int i = 0; i < 2; i++)
        assert_ok(vly_net_set(nets[i], "plasticity.many.frozen", 1, &f.error),
                  f.error);
    run_both(&f, nets, 40);
    (void)assert_alike(&f, nets[0], nets[1]);
    for (int i = 0; i < 2; i++)
        assert_ok(vly_net_set(nets[i], "plasticity.many.frozen", 0, &f.error),
                  f.error);
    run_both(&f, nets, 110);
    (void)assert_alike(&f, nets[0], nets[1]);
    assert_ok(vly_net_swap(nets[0], "cpu:2", 0, &f.error), f.error);
    run_both(&f, nets, 20);
    (void)assert_alike(&f, nets[0], nets[1]);
    vly_net_destroy(nets[0]);
    vly_net_destroy(nets[1]);
    fixture_deinit(&f);
}

static void order_is_kept(void **state)
{
    (void)state;
    keeps_order(HEAD PAIRS, RESIDENT ",blocks=3");
    keeps_order(HEAD PAIRS, RESIDENT ",blocks=1");
    keeps_order(OWN_HEAD PAIRS, RESIDENT ",blocks=3");
    keeps_order(MIXED_HEAD PAIRS, RESIDENT ",blocks=1");
    keeps_order(OWN_HEAD PAIRS, "cuda:0,plan=global");
}

/* What the plan says of PAIRS, whose synapses take `size` bytes, beside `known`
 * of sources. */
static void takes(const char *backend, double size, double known)
{
    const double n = 24 * 150 + 9 * 200;
    char wanted[64];
    fixture f;
    init(&f, HEAD PAIRS);
    vly_net *net = fixture_net(&f, backend);
    vly_stats stats = {.struct_size = sizeof stats};
    assert_ok(vly_net_stats(net, &stats, &f.error), f.error);
    (void)snprintf(wanted, sizeof wanted, " %.2f bytes a synapse",
                   size + known / n);
    assert_non_null(strstr(stats.plan, wanted));
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* Its master and the number of its target; of a source 16 bytes for each block
 * and for the end, and where its row begins; and of maps that do not learn, of
 * which there are none, 32 bytes for each block, area and kind of segments. In
 * plan global a target and a master. */
static void bytes_are_told(void **state)
{
    const double rows = (24 + 1 + 9 + 1) * 8;
    (void)state;
    takes(RESIDENT ",blocks=3", 6,
          (24 + 9) * (3 + 1) * 16 + rows + 3 * 2 * 2 * 32);
    takes("cuda:0,plan=global", 8, rows);
}

/* What the plan says: at first, and somewhere. */
static void begins(const char *text, const char *backend, const char *first,
                   const char *more)
{
    fixture f;
    init(&f, text);
    vly_net *net = fixture_net(&f, backend);
    vly_stats stats = {.struct_size = sizeof stats};
    assert_ok(vly_net_stats(net, &stats, &f.error), f.error);
    if (strncmp(stats.plan, first, strlen(first)) != 0 ||
        strstr(stats.plan, more) == NULL)
        fail_msg("%s, wanted %s ... %s", stats.plan, first, more);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* Without a name the net gets the plan. */
static void is_chosen(void **state)
{
    (void)state;
    begins(HEAD FAR, "cuda", "resident with learning: ", "shared memory");
    begins(OWN_HEAD FAR, "cuda",
           "resident with learning with users' models: ", "shared memory");
    begins(MIXED_HEAD FAR OWN_FAR, "cuda",
           "resident with learning by users' rules with users' models: ",
           "shared memory");
    begins(OWN_HEAD FAR OWN_FAR, "cuda:0,plan=global,jit=3",
           "global with learning by users' rules: ",
           "; users' models compiled by the driver, 4 neurons of a thread");
    begins(OWN_HEAD FAR, "cuda:0,plan=global", "global with learning: ",
           "; users' models compiled by the driver, 1 neurons of a thread");
    begins(OWN_HEAD FAR, "cuda:0,jit=0",
           "global with learning: ", "; users' models step by step");
}

/* A driver that does not compile: the plan that follows takes the maps as they
 * are, and gives the same. */
static void without_a_compiler(void **state)
{
    const char *text = OWN_HEAD FAR OWN_FAR OWN_NEAR;
    fixture f;
    (void)state;
    setenv("FAKE_CUDA_JIT", "218", 1); /* cudaErrorInvalidPtx */
    begins(text, "cuda", "global with learning by users' rules: ",
           "; users' models step by step");
    init(&f, text);
    fingerprint wanted = run(&f, "cpu:1", "cpu:2", BURSTS);
    fingerprint found = run(&f, "cuda", "cuda:0", BURSTS);
    assert_same(&found, &wanted);
    vly_net *net = NULL;
    vly_status status =
        vly_net_create(f.connectome, f.registry, RESIDENT, 0, &net, &f.error);
    assert_fails(status, VLY_E_UNSUPPORTED, &f.error,
                 "plan=resident: users' models: ");
    unsetenv("FAKE_CUDA_JIT");
    fixture_deinit(&f);
}

static void refuses(const char *text, const char *why)
{
    fixture f;
    vly_net *net = NULL;
    init(&f, text);
    vly_status status =
        vly_net_create(f.connectome, f.registry, RESIDENT, 0, &net, &f.error);
    assert_fails(status, VLY_E_UNSUPPORTED, &f.error, why);
    assert_null(net);
    fixture_deinit(&f);
}

static void are_refused(void **state)
{
    char many[8192] = HEAD;
    (void)state;
    refuses(HEAD LEARNS("r", "S",
                        "rule = \"stdp_reward\"\nw_max_mv = 1\n"
                        "a_plus_mv = 0.1\na_minus_mv = 0.1\n"
                        "modulator = \"A\"",
                        "weight_mv = 0.3\ndelay_ms = 1"),
            "plan=resident: maps learn by a modulator: only plan global");
    refuses(HEAD LEARNS("s", "S", "rule = \"tsodyks2\"",
                        "weight_mv = 0.3\ndelay_ms = 1"),
            "plan=resident: maps have short-term plasticity: only plan");
    strcat(many, "[plasticity.p]\nrule = \"stdp\"\nw_max_mv = 1\n");
    for (int i = 0; i < 9; i++) {
        char map[256];
        (void)snprintf(map, sizeof map,
                       "[[map]]\nid = \"m%d\"\nfrom = \"A\"\nto = \"A\"\n"
                       "rule = \"one_to_one\"\nweight_mv = 0.1\n"
                       "delay_ms = 1\nplasticity = \"p\"\n",
                       i);
        strcat(many, map);
    }
    refuses(many, "plan=resident: more than 8 maps learn");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(early),         cmocka_unit_test(late),
    cmocka_unit_test(one_map),       cmocka_unit_test(early_by_users),
    cmocka_unit_test(late_by_users), cmocka_unit_test(early_of_users),
    cmocka_unit_test(late_of_users), cmocka_unit_test(without_a_compiler),
    cmocka_unit_test(order_is_kept), cmocka_unit_test(bytes_are_told),
    cmocka_unit_test(is_chosen),     cmocka_unit_test(are_refused)};
VLY_TEST_MAIN(tests)
