/* SPDX-License-Identifier: Apache-2.0
 * How attention_cuda chooses, without a device: its sources with memory of the
 * processor, and ways that are the processor's plans, or wrong on purpose.
 */
#include <stdlib.h>

#include "volley_test.h"

#include <cuda_runtime_api.h>

#include "accel_cuda.h"
#include "attention_plan.h"
#include "attention_trial.h"
#include "base/random.h"
#include "plugin/host_table.h"

const char vly_support_plugin[] = "attention_cuda";

extern const vly_attention vly_attention_cpu_table;

/* ---- an emulated device -------------------------------------------------- */

vly_status vly_accel_cuda_enter(uint32_t device, vly_error *error)
{
    if (device == 0)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_INVALID, "device %u", device);
}

vly_status vly_accel_cuda_check(int code, const char *what, vly_error *error)
{
    if (code == 0)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_DEVICE, "%s: %d", what, code);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties,
                                    int device)
{
    (void)device;
    memset(properties, 0, sizeof *properties);
    properties->major = 9;
    properties->multiProcessorCount = 132;
    snprintf(properties->name, sizeof properties->name, "no device");
    return cudaSuccess;
}

/* ---- spans: none -------------------------------------------------------- */

vly_status vly_attention_span_create(const vly_attention_plan *plan,
                                     const vly_attention_options *options,
                                     vly_attention_span **span, vly_error *why)
{
    (void)plan;
    (void)options;
    (void)span;
    return vly_support_fail(why, VLY_E_UNSUPPORTED, "no spans");
}

void vly_attention_span_destroy(vly_attention_span *span)
{
    (void)span;
}

vly_status vly_attention_span_run(vly_attention_span *span,
                                  const vly_attention_run *run, vly_error *why)
{
    (void)span;
    (void)run;
    return vly_support_fail(why, VLY_E_UNSUPPORTED, "no spans");
}

void vly_attention_span_tell(const vly_attention_span *span, char *text,
                             size_t size)
{
    (void)span;
    snprintf(text, size, " on no devices");
}

/* ---- ways -------------------------------------------------------------- */

#define MOST_BYTES (UINT64_C(1) << 32) /* that the host gives at once */

static uint32_t n_prepared;
static uint32_t n_run;
static uint64_t now_ns; /* of the host's clock: only runs take time */
static uint64_t second_ns = 3000000; /* that the second configuration takes */
static uint64_t spread_ns;           /* on top of any run, at random */
static uint64_t second_workspace = 4096;
static double wrong_by;      /* added to an element by the way "wrong" */
static uint32_t writes_more; /* the way "wrong" writes to forbidden memory */

static vly_status takes_all(const vly_attention_device *device,
                            const vly_attention_desc *desc, vly_error *error)
{
    (void)device;
    (void)desc;
    (void)error;
    return VLY_OK;
}

static vly_status takes_none(const vly_attention_device *device,
                             const vly_attention_desc *desc, vly_error *error)
{
    (void)device;
    (void)desc;
    return vly_support_fail(error, VLY_E_UNSUPPORTED, "never: takes nothing");
}

static vly_status prepare(const vly_attention_device *device,
                          const vly_attention_desc *desc, vly_cuda_ready *ready,
                          vly_error *error)
{
    (void)device;
    (void)desc;
    (void)error;
    n_prepared++;
    ready->workspace_bytes = ready->config == 1 ? second_workspace : 0;
    return VLY_OK;
}

static vly_status run_reference(const vly_attention_device *device,
                                const vly_attention_desc *desc,
                                const vly_cuda_ready *ready,
                                const vly_attention_run *run, vly_error *error)
{
    const vly_device_spec spec = {.struct_size = (uint32_t)sizeof spec,
                                  .n_threads = 2,
                                  .options = "choose=blocked"};
    vly_attention_plan *plan = NULL;
    vly_plan_info info = {.struct_size = (uint32_t)sizeof info};
    vly_attention_run mine = *run;
    void *workspace = NULL;
    (void)device;
    n_run++;
    mine.stream = NULL;
    vly_attention_desc wide = *desc;
    wide.workspace_most = UINT64_MAX;
    vly_status status =
        vly_attention_cpu_table.plan_create(&spec, &wide, &plan, error);
    if (status != VLY_OK)
        return status;
    (void)vly_attention_cpu_table.plan_info(plan, &info, error);
    (void)vly_accel_host_memory.alloc(0, info.workspace_bytes, &workspace,
                                      error);
    mine.workspace = workspace;
    mine.workspace_bytes = info.workspace_bytes;
    status = vly_attention_cpu_table.run(plan, &mine, error);
    vly_accel_host_memory.free(0, workspace);
    vly_attention_cpu_table.plan_destroy(plan);
    /* the second configuration is the slow one, on any machine */
    now_ns += (ready->config == 1 ? second_ns : 1000000) +
              vly_mix64(n_run) % (spread_ns + 1);
    return status;
}

static vly_status run_wrong(const vly_attention_device *device,
                            const vly_attention_desc *desc,
                            const vly_cuda_ready *ready,
                            const vly_attention_run *run, vly_error *error)
{
    vly_status status = run_reference(device, desc, ready, run, error);
    float *o = run->o;
    o[0] += (float)wrong_by;
    if (writes_more) /* after the queries of the last sequence */
        o[(uint64_t)desc->batch * desc->heads_q * desc->seq_q * desc->dim_v -
          1] = 0.0f;
    return status;
}

static vly_status run_broken(const vly_attention_device *device,
                             const vly_attention_desc *desc,
                             const vly_cuda_ready *ready,
                             const vly_attention_run *run, vly_error *error)
{
    (void)device;
    (void)desc;
    (void)ready;
    (void)run;
    return vly_support_fail(error, VLY_E_DEVICE, "the device fell over");
}

#define WAY(x, n, ...)                                                         \
    static const vly_cuda_way x = {                                            \
        .name = #x, .n_configs = n, .prepare = prepare, __VA_ARGS__}
WAY(never, 1, .supports = takes_none, .run = run_reference);
WAY(wrong, 1, .supports = takes_all, .run = run_wrong);
WAY(right, 2, .supports = takes_all, .run = run_reference);
WAY(last, 1, .supports = takes_all, .run = run_reference, .slow = 1);

const vly_cuda_way *const vly_cuda_ways[] = {&never, &wrong, &right, &last};
const uint32_t vly_cuda_n_ways = 4;

void vly_cuda_ready_release(vly_cuda_ready *ready)
{
    ready->cudnn = NULL;
}

/* ---- tests ------------------------------------------------------------- */

static vly_attention_desc describe(uint32_t flags)
{
    vly_attention_desc desc = {
        .struct_size = sizeof desc,
        .flags = flags,
        .type = VLY_ELEMENT_F32,
        .type_o = VLY_ELEMENT_F32,
        .batch = 2,
        .heads_q = 4,
        .heads_kv = 2,
        .seq_q = 40,
        .seq_kv = 50,
        .dim = 16,
        .dim_v = 16,
        .window_left = -1,
        .window_right = -1,
        .q = {.batch = 40 * 64, .seq = 64, .head = 16},
        .k = {.batch = 50 * 32, .seq = 32, .head = 16},
        .v = {.batch = 50 * 32, .seq = 32, .head = 16},
        .o = {.batch = 40 * 64, .seq = 64, .head = 16},
        .workspace_most = 1 << 20,
    };
    return desc;
}

/* The list of ways of the last plan. */
enum { MOST_TOLD = 16 };
static vly_plan_candidate told[MOST_TOLD];
static uint32_t n_told;

static void take_told(const vly_attention_plan *plan, vly_error *error)
{
    n_told = 1;
    for (uint32_t i = 0; i < n_told; i++) {
        assert_true(i < MOST_TOLD);
        told[i] = (vly_plan_candidate){.struct_size = sizeof told[i]};
        assert_ok(vly_attention_cuda_table.plan_candidate(plan, i, &told[i],
                                                          &n_told, error),
                  *error);
    }
}

static void check_told(uint32_t i, const char *name, uint32_t state,
                       double seconds, const char *note)
{
    assert_true(i < n_told);
    assert_string_equal(told[i].name, name);
    assert_int_equal(told[i].state, state);
    assert_close(told[i].measured_s, seconds, 1e-6);
    if (strstr(told[i].note, note) == NULL || (note[0] == 0 && told[i].note[0]))
        fail_msg("%s: %s, wanted %s", name, told[i].note, note);
}

static vly_status make(const vly_attention_desc *desc, const char *options,
                       vly_plan_info *info, vly_error *error)
{
    const vly_device_spec spec = {.struct_size = (uint32_t)sizeof spec,
                                  .n_threads = 1,
                                  .options = options};
    vly_attention_plan *plan = NULL;
    n_prepared = n_run = 0;
    memset(info, 0, sizeof *info);
    info->struct_size = (uint32_t)sizeof *info;
    error->struct_size = (uint32_t)sizeof *error;
    error->message[0] = '\0';
    vly_status status =
        vly_attention_cuda_table.plan_create(&spec, desc, &plan, error);
    if (status != VLY_OK)
        return status;
    status = vly_attention_cuda_table.plan_info(plan, info, error);
    take_told(plan, error);
    vly_attention_cuda_table.plan_destroy(plan);
    return status;
}

/* A way that is off by more than the bound is never taken, at any speed; the
 * faster configuration of those that are right is. */
static void test_wrong_is_struck_out(void **state)
{
    (void)state;
    const uint32_t flags[] = {
        0,
        VLY_ATTENTION_LSE | VLY_ATTENTION_CAUSAL,
        VLY_ATTENTION_LENGTHS | VLY_ATTENTION_LSE,
        VLY_ATTENTION_PACKED | VLY_ATTENTION_CAUSAL_END,
    };
    vly_plan_info info;
    vly_error error;
    wrong_by = 0.01;
    for (size_t i = 0; i < 4; i++) {
        vly_attention_desc desc = describe(flags[i]);
        assert_ok(make(&desc, "cache=off", &info, &error), error);
        assert_string_equal(info.choice, "right, configuration 0");
        assert_int_equal(info.n_candidates, 3);
        assert_int_equal(info.workspace_bytes, 0);
        assert_close(info.measured_s, 1e-3, 1e-9);
        assert_int_equal(info.cached, 0);
        assert_int_equal(n_told, 5);
        check_told(0, "never", VLY_CANDIDATE_REFUSED, 0.0, "takes nothing");
        assert_null(strstr(told[0].note, "never")); /* the name once */
        check_told(1, "wrong", VLY_CANDIDATE_WRONG, 0.0, "O[0] is ");
        check_told(2, "right, configuration 0", VLY_CANDIDATE_CHOSEN, 1e-3, "");
        check_told(3, "right, configuration 1", VLY_CANDIDATE_READY,
                   (double)second_ns * 1e-9, "");
        assert_int_equal(told[3].workspace_bytes, 4096);
        check_told(4, "last", VLY_CANDIDATE_REFUSED, 0.0, "another way can");
    }
    wrong_by = 0.0;
}

static void test_right_is_taken(void **state)
{
    (void)state;
    vly_plan_info info;
    vly_error error;
    vly_attention_desc desc = describe(VLY_ATTENTION_LSE);
    assert_ok(make(&desc, "cache=off,tune=0", &info, &error), error);
    assert_string_equal(info.choice, "wrong"); /* the first, unchecked */
    assert_int_equal(n_prepared, 1);
    assert_int_equal(n_run, 0);
    check_told(1, "wrong", VLY_CANDIDATE_CHOSEN, 0.0, "");
    check_told(2, "right", VLY_CANDIDATE_REFUSED, 0.0, "tune=0");
    desc.flags = VLY_ATTENTION_BACKWARD;
    assert_ok(make(&desc, "cache=off,choose=right", &info, &error), error);
    assert_string_equal(info.choice, "right, configuration 0");
}

/* Memory after a sequence must not change. */
static void test_padding_is_looked_at(void **state)
{
    (void)state;
    vly_plan_info info;
    vly_error error;
    vly_attention_desc desc = describe(VLY_ATTENTION_LENGTHS);
    writes_more = 1;
    assert_ok(make(&desc, "cache=off", &info, &error), error);
    assert_string_equal(info.choice, "right, configuration 0");
    writes_more = 0;
}

static void test_forced(void **state)
{
    (void)state;
    vly_plan_info info;
    vly_error error;
    vly_attention_desc desc = describe(0);
    assert_ok(make(&desc, "choose=last,cache=off", &info, &error), error);
    assert_string_equal(info.choice, "last");
    assert_int_equal(make(&desc, "choose=other", &info, &error),
                     VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "never, wrong, right, last"));
    assert_int_equal(make(&desc, "choose=never", &info, &error),
                     VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "takes nothing"));
    desc.workspace_most = 100;
    assert_ok(make(&desc, "choose=right,cache=off", &info, &error), error);
    assert_int_equal(info.n_candidates, 1); /* 4096 bytes are too many */
    check_told(3, "right", VLY_CANDIDATE_REFUSED, 0.0,
               "needs 4096 bytes of workspace, workspace_most is 100");
    check_told(0, "never", VLY_CANDIDATE_REFUSED, 0.0, "choose names another");
    desc.seq_kv = (uint32_t)INT32_MAX - 1022;
    desc.k.seq = desc.v.seq = 0;
    assert_int_equal(make(&desc, "cache=off", &info, &error),
                     VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "wanted at most 2147482624"));
}

/* A configuration by its number: held against the reference, not timed. */
static void test_configuration(void **state)
{
    (void)state;
    vly_plan_info info;
    vly_error error;
    vly_attention_desc desc = describe(VLY_ATTENTION_LSE);
    assert_ok(make(&desc, "choose=right,config=1,cache=off", &info, &error),
              error);
    assert_string_equal(info.choice, "right, configuration 1");
    assert_int_equal(info.workspace_bytes, 4096);
    assert_int_equal(info.n_candidates, 1);
    assert_true(n_run > 0);
    assert_true(info.measured_s == 0.0);
    assert_ok(
        make(&desc, "choose=right,config=1,tune=0,cache=off", &info, &error),
        error);
    assert_int_equal(n_run, 0);
    wrong_by = 0.01;
    assert_int_equal(
        make(&desc, "choose=wrong,config=0,cache=off", &info, &error),
        VLY_E_DEVICE);
    assert_non_null(strstr(error.message, "O[0] is"));
    wrong_by = 0.0;
    const char *const bad[] = {
        "config=1", "choose=right,config=", "choose=right,config=x",
        "choose=right,config=-1", "choose=right,config=12345"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(make(&desc, bad[i], &info, &error), VLY_E_INVALID);
    assert_non_null(strstr(error.message, "wanted 0 to 9999"));
}

/* Errors  that a check on a smaller shape would miss. */
static void test_gaps_are_kept(void **state)
{
    (void)state;
    vly_attention_desc desc = describe(0);
    vly_attention_desc small = vly_trial_reduce(&desc);
    assert_int_equal(small.q.head, 16);
    assert_int_equal(small.q.seq, small.heads_q * 16);
    assert_int_equal(small.q.batch, small.seq_q * small.q.seq);
    desc.q.head = 24; /* between heads */
    desc.q.seq = 4 * 24;
    desc.k.seq = 3 * 32;   /* between rows: K and V beside Q */
    desc.o.head = 40 * 24; /* heads first */
    desc.o.seq = 24;
    small = vly_trial_reduce(&desc);
    assert_true(small.q.head > 16);
    assert_int_equal(small.q.seq, small.heads_q * small.q.head);
    assert_int_equal(small.k.head, 16);
    assert_true(small.k.seq > small.heads_kv * 16);
    assert_true(small.o.seq > 16);
    assert_int_equal(small.o.head, small.seq_q * small.o.seq);
}

/* Heads of packed sequences follow the rows of all of them: otherwise gradients
 * of the trial overlap, and every way is wrong. */
static void test_packed_heads_are_apart(void **state)
{
    (void)state;
    const vly_attention_device device = {.capability = 90, .n_sms = 132};
    const vly_cuda_ready ready = {.way = &right};
    vly_error error = {.struct_size = sizeof error};
    vly_attention_desc desc =
        describe(VLY_ATTENTION_PACKED | VLY_ATTENTION_BACKWARD);
    desc.batch = 3;
    desc.q = desc.o = (vly_attention_layout){.seq = 24, .head = 3 * 40 * 24};
    desc.k = desc.v = (vly_attention_layout){.seq = 16, .head = 3 * 50 * 16};
    const vly_attention_desc small = vly_trial_reduce(&desc);
    assert_int_equal(small.batch, 2);
    assert_int_equal(small.q.head, 2 * small.seq_q * small.q.seq);
    assert_int_equal(small.k.head, 2 * small.seq_kv * small.k.seq);
    assert_int_equal(small.v.head, 2 * small.seq_kv * small.v.seq);
    assert_int_equal(small.o.head, 2 * small.seq_q * small.o.seq);
    assert_ok(vly_attention_check_way(&device, &desc, &ready, &error), error);
}

/* A way that wants more workspace than there is to try it is not taken before
 * those that were measured, and does not keep them from being measured. */
static void test_no_room(void **state)
{
    (void)state;
    vly_plan_info info;
    vly_error error;
    vly_attention_desc desc = describe(VLY_ATTENTION_LSE);
    desc.workspace_most = UINT64_MAX;
    second_workspace = MOST_BYTES + 1;
    wrong_by = 0.01;
    assert_ok(make(&desc, "cache=off", &info, &error), error);
    assert_string_equal(info.choice, "right, configuration 0");
    assert_int_equal(info.n_candidates, 3);
    assert_true(info.measured_s > 0.0);
    /* alone it is taken, unmeasured */
    assert_ok(
        make(&desc, "choose=right,config=1,tune=0,cache=off", &info, &error),
        error);
    const vly_attention_device device = {.capability = 90, .n_sms = 132};
    const vly_cuda_ready large = {
        .way = &right, .config = 1, .workspace_bytes = second_workspace};
    const vly_cuda_ready small = {.way = &right};
    const vly_cuda_ready *const two[2] = {&large, &small};
    double seconds[2] = {-1.0, -1.0};
    uint32_t best = 7;
    assert_ok(
        vly_attention_time_ways(&device, &desc, two, 2, seconds, &best, &error),
        error);
    assert_true(seconds[0] == 0.0 && seconds[1] > 0.0);
    assert_int_equal(best, 1);
    assert_int_equal(
        vly_attention_time_ways(&device, &desc, two, 1, seconds, &best, &error),
        VLY_E_NOMEM);
    second_workspace = 4096;
    wrong_by = 0.0;
}

/* The second configuration has to be faster by more than the times vary. */
static void test_margin(void **state)
{
    static const struct {
        uint64_t second_ns, spread_ns;
        uint32_t best;
    } cases[] = {
        {1000000, 0, 0},      {999000, 0, 0},      {990000, 0, 1},
        {1010000, 0, 0},      {995000, 200000, 0}, {700000, 200000, 1},
        {1100000, 200000, 0},
    };
    (void)state;
    vly_error error = {.struct_size = sizeof error};
    const vly_attention_desc desc = describe(0);
    const vly_attention_device device = {.capability = 90, .n_sms = 132};
    const vly_cuda_ready ready[2] = {{.way = &right},
                                     {.way = &right, .config = 1}};
    const vly_cuda_ready *const two[2] = {&ready[0], &ready[1]};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double seconds[2] = {0.0, 0.0};
        uint32_t best = 7;
        n_run = 0;
        second_ns = cases[i].second_ns;
        spread_ns = cases[i].spread_ns;
        assert_ok(vly_attention_time_ways(&device, &desc, two, 2, seconds,
                                          &best, &error),
                  error);
        assert_int_equal(best, cases[i].best);
        assert_true(seconds[0] > 0.0 && seconds[1] > 0.0);
    }
    second_ns = 3000000;
    spread_ns = 0;
}

static void test_cache(void **state)
{
    (void)state;
    char folder[] = "/tmp/volley_choice_XXXXXX";
    char options[200];
    vly_plan_info info;
    vly_error error;
    vly_attention_desc desc = describe(0);
    assert_non_null(mkdtemp(folder));
    snprintf(options, sizeof options, "cache=%s", folder);
    wrong_by = 1.0;
    assert_ok(make(&desc, options, &info, &error), error);
    assert_int_equal(info.cached, 0);
    assert_true(n_run > 0);
    const double seconds = info.measured_s;
    assert_ok(make(&desc, options, &info, &error), error);
    assert_int_equal(info.cached, 1);
    assert_int_equal(n_run, 0);
    assert_string_equal(info.choice, "right, configuration 0");
    assert_close(info.measured_s, seconds, 0.0);
    assert_int_equal(n_told, 1);
    check_told(0, "right, configuration 0", VLY_CANDIDATE_CHOSEN, seconds, "");
    /* the fastest of one way's is another choice, kept as well */
    char forced[260];
    snprintf(forced, sizeof forced, "%s,choose=right", options);
    for (uint32_t time = 0; time < 2; time++) {
        assert_ok(make(&desc, forced, &info, &error), error);
        assert_int_equal(info.cached, time);
        assert_int_equal(n_run > 0, time == 0);
        assert_string_equal(info.choice, "right, configuration 0");
    }
    snprintf(forced, sizeof forced, "%s,choose=right,config=1", options);
    assert_ok(make(&desc, forced, &info, &error), error);
    assert_string_equal(info.choice, "right, configuration 1");
    desc.seq_kv = 49; /* another shape */
    assert_ok(make(&desc, options, &info, &error), error);
    assert_int_equal(info.cached, 0);
    wrong_by = 0.0;
    snprintf(options, sizeof options, "rm -r %s", folder);
    assert_int_equal(system(options), 0);
}

/* Shapes of every kind become smaller ones that are descriptions, and on which
 * the reference agrees with a way that is right. */
static void test_trials_of_every_kind(void **state)
{
    (void)state;
    const vly_attention_device device = {.capability = 90, .n_sms = 132};
    const uint32_t kinds[] = {0,
                              VLY_ATTENTION_CAUSAL,
                              VLY_ATTENTION_CAUSAL_END,
                              VLY_ATTENTION_LENGTHS,
                              VLY_ATTENTION_PACKED,
                              VLY_ATTENTION_PAGED,
                              VLY_ATTENTION_PAGED | VLY_ATTENTION_LENGTHS,
                              VLY_ATTENTION_BACKWARD,
                              VLY_ATTENTION_BACKWARD | VLY_ATTENTION_LENGTHS,
                              VLY_ATTENTION_BACKWARD | VLY_ATTENTION_PACKED};
    const uint32_t types[] = {VLY_ELEMENT_F16, VLY_ELEMENT_BF16,
                              VLY_ELEMENT_F32};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (size_t t = 0; t < 3; t++) {
            vly_error error = {.struct_size = sizeof error};
            vly_attention_desc desc = describe(kinds[i] | VLY_ATTENTION_LSE);
            const vly_cuda_ready ready = {.way = &right};
            desc.type = desc.type_o = types[t];
            desc.batch = 700;
            desc.heads_q = 64;
            desc.heads_kv = 8;
            desc.seq_q = 8192;
            desc.seq_kv = 16384;
            desc.window_left = i % 3 == 1 ? 5000 : -1;
            desc.page_size = 16;
            desc.pages_most = 1024;
            desc.o.seq = desc.q.seq = 64 * 16;
            desc.k.seq = desc.v.seq = 8 * 16;
            if (t == 1) { /* room between heads, and between rows */
                desc.q.head = 24;
                desc.q.seq = 64 * 24;
                desc.v.seq = desc.k.seq = 3 * 8 * 16;
            }
            if (vly_attention_check_way(&device, &desc, &ready, &error) !=
                VLY_OK)
                fail_msg("flags 0x%x, type %u: %s", kinds[i], types[t],
                         error.message);
        }
}

static void test_device_errors(void **state)
{
    (void)state;
    const vly_attention_device device = {.capability = 90, .n_sms = 132};
    const vly_cuda_way broken = {.name = "broken",
                                 .n_configs = 1,
                                 .supports = takes_all,
                                 .prepare = prepare,
                                 .run = run_broken};
    const vly_cuda_ready ready = {.way = &broken};
    const vly_cuda_ready *const both = &ready;
    vly_error error = {.struct_size = sizeof error};
    vly_attention_desc desc = describe(0);
    double seconds = 0.0;
    uint32_t best = 7;
    assert_int_equal(vly_attention_check_way(&device, &desc, &ready, &error),
                     VLY_E_DEVICE);
    assert_int_equal(vly_attention_time_ways(&device, &desc, &both, 1, &seconds,
                                             &best, &error),
                     VLY_E_DEVICE);
    vly_plan_info info;
    const vly_device_spec other = {.struct_size = (uint32_t)sizeof other,
                                   .index = 3};
    vly_attention_plan *plan = NULL;
    (void)info;
    assert_int_equal(
        vly_attention_cuda_table.plan_create(&other, &desc, &plan, &error),
        VLY_E_INVALID);
    assert_null(plan);
}

static uint64_t read_clock(void *context)
{
    (void)context;
    return now_ns;
}

static void *alloc_some(void *context, uint64_t bytes, uint64_t align)
{
    return bytes > MOST_BYTES ? NULL
                              : vly_host_table()->alloc(context, bytes, align);
}

static int start_host(void **state)
{
    static vly_host host;
    (void)state;
    host = *vly_host_table();
    host.clock_ns = read_clock;
    host.alloc = alloc_some;
    return vly_support_start(&host, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_is_struck_out),
        cmocka_unit_test(test_right_is_taken),
        cmocka_unit_test(test_padding_is_looked_at),
        cmocka_unit_test(test_forced),
        cmocka_unit_test(test_configuration),
        cmocka_unit_test(test_gaps_are_kept),
        cmocka_unit_test(test_packed_heads_are_apart),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_margin),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_trials_of_every_kind),
        cmocka_unit_test(test_device_errors),
    };
    return cmocka_run_group_tests(tests, start_host, NULL) ? 1 : 0;
}
