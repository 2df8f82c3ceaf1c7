/* SPDX-License-Identifier: Apache-2.0
 * volley bench: how fast, beside what the machine can do.
 */
#include "tools/cli/commands.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "tools/bench/bench.h"
#include "tools/bench/bench_files.h"
#include "tools/bench/bench_product.h"
#include "tools/bench/bench_tensor.h"
#include "tools/cli/device_limits.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"
#include "volley_build.h"

static const tool_option options[] = {
    {"quick", 0, false, TOOL_FLAG, NULL,
     "10 million synapses only; cuda, plastic: fewer cases and bursts", 0, 0},
    {"case", 0, false, TOOL_TEXT, "PATTERN",
     "cuda, plastic, attention, wkv, rwkv: only cases whose name contains "
     "PATTERN, as "
     "1M or causal",
     0, 0},
    {"backend", 0, false, TOOL_TEXT, "NAME",
     "backend to time, as cuda:1; default: cpu, in suite cuda: cuda", 0, 0},
    {"beside", 0, false, TOOL_TEXT, "NAME",
     "cuda: a second backend, timed in the same run, as vulkan:0", 0, 0},
    {"sizes", 0, false, TOOL_TEXT, "LIST",
     "sizes; gemm: as 1024,16x4096x1024 (MxNxK); gemv: as 4096x16384 (NxK); "
     "rwkv: as 0.1B,2.9B",
     0, 0},
    {"types", 0, false, TOOL_TEXT, "LIST",
     "gemm, gemv, attention, wkv, rwkv: types, as fp16,bf16; a wrong type "
     "prints the list",
     0, 0},
    {"seq", 0, false, TOOL_TEXT, "LIST",
     "attention, wkv, rwkv: lengths of sequences, as 2048,8192", 0, 0},
    {"dims", 0, false, TOOL_TEXT, "LIST",
     "attention: head dimensions, as "
     "64,128,256",
     0, 0},
    {"sweep", 0, false, TOOL_TEXT, "LIST",
     "attention: sets of plan options, each compared with the first, as "
     "'choose=own_sm90,config=*|choose=cudnn,config=0'",
     0, 0},
    {"log", 0, false, TOOL_TEXT, "FILE",
     "log of a sweep, one JSON object per line; an existing log is continued",
     0, 0},
    {"seed", 0, false, TOOL_COUNT, "N",
     "gemm, gemv, attention, wkv, rwkv: seed of random data; default: a new "
     "one each time, which is printed. The weights of rwkv models are always "
     "the same",
     0, 9007199254740991.0},
    {"set", 0, false, TOOL_TEXT, "NAME",
     "gemm: shapes40 times 40 shapes of models, each beside the first "
     "candidate",
     0, 0},
    {"devices", 0, false, TOOL_TEXT, "LIST",
     "attention: numbers of devices, as 1,2,4: the same bits, and the gain; "
     "scale: devices of a host, one number; default 8",
     0, 0},
    {"hosts", 0, false, TOOL_COUNT, "N", "scale: hosts; default 1024", 1, 4096},
    {"net-latency", 0, false, TOOL_NUMBER, "US",
     "scale: microseconds of a message between hosts; default 2.5, assumed",
     0.01, 100000},
    {"net-bandwidth", 0, false, TOOL_NUMBER, "GBS",
     "scale: GB/s of a device between hosts; default 45, assumed", 0.01,
     100000},
    {"threads", 0, false, TOOL_COUNT, "N", "host threads; default: all cores",
     1, 256},
    DEVICE_LIMITS_OPTION,
    {"genomes", 0, false, TOOL_TEXT, "FOLDER", "folder of the stress genomes",
     0, 0},
    {"json", 0, false, TOOL_TEXT, "FILE", "results as JSON; - is stdout", 0, 0},
    {"save", 0, false, TOOL_TEXT, "FILE",
     "write the results, for a later --compare", 0, 0},
    {"compare", 0, false, TOOL_TEXT, "FILE",
     "compare with a file of --save; a file of another suite or device is "
     "refused",
     0, 0},
    {"compare-other", 0, false, TOOL_FLAG, NULL,
     "compare a file of another suite or device too, and print the "
     "differences",
     0, 0},
    {"threshold", 0, false, TOOL_NUMBER, "X",
     "slower by more than this share is a regression; default 0.05", 0, 100},
    {"fail-on-regression", 0, false, TOOL_FLAG, NULL,
     "exit code 1 after a regression, or if a row of the file is skipped now",
     0, 0},
    {"markdown", 0, false, TOOL_FLAG, NULL, "print the table as Markdown", 0,
     0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

/* The folder of --genomes, or the shipped one. */
static vly_status find_genomes(const tool_args *args, char *folder,
                               size_t capacity, vly_error *error)
{
    const char *given = tool_text(args, "genomes");
    if (!given)
        return tool_genomes_folder(folder, capacity, error);
    snprintf(folder, capacity, "%s", given);
    return VLY_OK;
}

/* ---- the suites ---------------------------------------------------------- */

enum {
    SUITE_PRODUCT = 1, /* of accelerators: no backend, no genomes */
    SUITE_SHAPES = 2,  /* --sizes and --set */
    SUITE_CASES = 4,   /* --case */
    SUITE_SEQ = 8      /* --seq */
};

static vly_status run_networks(const bench_options *bench,
                               bench_results *results, vly_error *error)
{
    const bool all = strcmp(bench->suite, "all") == 0;
    vly_status status = VLY_OK;
    if (all || strcmp(bench->suite, "cpu") == 0) {
        tool_message("probing memory and increments");
        VLY_TRY(bench_probe(bench->n_threads, &results->probes, error));
        VLY_TRY(bench_stress(bench, results, error));
    }
    if (all || strcmp(bench->suite, "build") == 0)
        VLY_TRY(bench_build(bench, results, error));
out:
    return status;
}

static vly_status run_gemm(const bench_options *bench, bench_results *results,
                           vly_error *error)
{
    return bench_gemm(bench, strcmp(bench->suite, "gemv") == 0, results, error);
}

static vly_status check_gemm(const bench_options *bench, vly_error *error)
{
    return bench_gemm_check(bench, strcmp(bench->suite, "gemv") == 0, error);
}

/* FIRST and NEXT: name, function, check of its options, what it has */
#define SUITES(FIRST, NEXT)                                                    \
    FIRST("cpu", run_networks, NULL, 0)                                        \
    NEXT("build", run_networks, NULL, 0)                                       \
    NEXT("all", run_networks, NULL, 0)                                         \
    NEXT("cuda", bench_cuda, bench_cuda_check, SUITE_CASES)                    \
    NEXT("checkpoint", bench_checkpoint, NULL, 0)                              \
    NEXT("plastic", bench_plastic, bench_plastic_check, SUITE_CASES)           \
    NEXT("gemm", run_gemm, check_gemm, SUITE_PRODUCT | SUITE_SHAPES)           \
    NEXT("gemv", run_gemm, check_gemm, SUITE_PRODUCT | SUITE_SHAPES)           \
    NEXT("attention", bench_attention, bench_attention_check,                  \
         SUITE_PRODUCT | SUITE_CASES | SUITE_SEQ)                              \
    NEXT("wkv", bench_wkv, bench_wkv_check,                                    \
         SUITE_PRODUCT | SUITE_CASES | SUITE_SEQ)                              \
    NEXT("rwkv", bench_rwkv, bench_rwkv_check,                                 \
         SUITE_PRODUCT | SUITE_CASES | SUITE_SEQ)                              \
    NEXT("scale", bench_scale_run, NULL, 0)

typedef struct bench_suite {
    const char *name;
    vly_status (*run)(const bench_options *, bench_results *, vly_error *);
    vly_status (*check)(const bench_options *, vly_error *);
    uint32_t has;
} bench_suite;

static const bench_suite suites[] = {
#define SUITE_ROW(name, run, check, has) {name, run, check, has},
    SUITES(SUITE_ROW, SUITE_ROW)
#undef SUITE_ROW
};

#define SUITE_NAME(name, run, check, has) name
#define SUITE_BAR(name, run, check, has) "|" name
#define SUITE_COMMA(name, run, check, has) ", " name

/* NULL: no such suite */
static const bench_suite *find_suite(const char *name)
{
    for (uint32_t i = 0; i < sizeof suites / sizeof suites[0]; i++)
        if (strcmp(name, suites[i].name) == 0)
            return &suites[i];
    return NULL;
}

static vly_status measure(const bench_options *bench, const bench_suite *suite,
                          bench_results *results, vly_error *error)
{
    bench_machine_read(&results->machine);
    results->quick = bench->quick;
    snprintf(results->suite, sizeof results->suite, "%s", suite->name);
    return suite->run(bench, results, error);
}

/* The first failure gives the exit code; a later one is printed at once. */
static void keep_first(vly_error *first, const vly_error *next)
{
    if (first->status == VLY_OK)
        *first = *next;
    else if (next->status != VLY_OK)
        tool_message("%s", next->message);
}

/* Writes all outputs even if one fails: the measurement took minutes. The
 * earlier bench is read before --save, which may replace it. */
static void report(const tool_args *args, const bench_options *bench,
                   const bench_results *results, int *code, vly_error *first)
{
    const char *const paths[] = {tool_text(args, "json"),
                                 tool_text(args, "save")};
    uint32_t worse = 0;
    vly_error error = VLY_ERROR_INIT;
    if (!paths[0] || strcmp(paths[0], "-") != 0)
        bench_print(results, tool_has(args, "markdown"));
    if (bench->compare) {
        (void)bench_compare(bench, results,
                            tool_number(args, "threshold", 0.05), &worse,
                            &error);
        keep_first(first, &error);
    }
    if (worse > 0 && tool_has(args, "fail-on-regression"))
        *code = TOOL_EXIT_DIFFERS;
    for (uint32_t i = 0; i < 2; i++) {
        error = (vly_error)VLY_ERROR_INIT;
        if (paths[i])
            (void)bench_save(results, paths[i], &error);
        keep_first(first, &error);
    }
}

/* Lists of the suites of accelerators, before anything is measured. */
static vly_status check_lists(const bench_suite *suite,
                              const bench_options *bench, vly_error *error)
{
    const bool attention = strcmp(suite->name, "attention") == 0;
    const bool rwkv = strcmp(suite->name, "rwkv") == 0;
    if ((suite->has & SUITE_PRODUCT) == 0 && bench->types)
        return vly_fail(error, VLY_E_INVALID,
                        "--types is of suites gemm, gemv, attention, wkv and "
                        "rwkv");
    if ((suite->has & SUITE_SHAPES) == 0 &&
        ((bench->sizes && !rwkv) || bench->set))
        return vly_fail(error, VLY_E_INVALID,
                        "--sizes and --set are of suites gemm and gemv, "
                        "--sizes also of rwkv");
    if ((suite->has & SUITE_SEQ) == 0 && bench->seq)
        return vly_fail(error, VLY_E_INVALID,
                        "--seq is of suites attention, wkv and rwkv");
    if (!attention && bench->dims)
        return vly_fail(error, VLY_E_INVALID, "--dims is of suite attention");
    if (!attention && (bench->sweep || bench->log))
        return vly_fail(error, VLY_E_INVALID,
                        "--sweep and --log are of suite attention");
    if (!bench->sweep && bench->log)
        return vly_fail(error, VLY_E_INVALID,
                        "--log is of a sweep: wanted --sweep LIST too");
    return suite->check ? suite->check(bench, error) : VLY_OK;
}

/* The seed of --seed, or a random one. */
static vly_status read_seed(const tool_args *args, const bench_suite *suite,
                            uint64_t *seed, vly_error *error)
{
    if (tool_has(args, "seed") && (suite->has & SUITE_PRODUCT) == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "--seed is of suites gemm, gemv, attention, wkv and "
                        "rwkv");
    if (getrandom(seed, sizeof *seed, 0) != (ssize_t)sizeof *seed)
        return vly_fail(error, VLY_E_IO, "a seed of the system: %s",
                        strerror(errno));
    *seed >>= 11; /* JSON has whole numbers up to 2^53 */
    *seed = tool_count(args, "seed", *seed);
    return VLY_OK;
}

/* Of a host, suite scale. */
static vly_status read_devices(const tool_args *args, uint32_t *devices,
                               vly_error *error)
{
    uint32_t n = 0;
    const char *text = tool_text(args, "devices");
    return text ? bench_numbers(text, "--devices", 1, 64, devices, 1, &n, error)
                : VLY_OK;
}

static vly_status check_suite(const tool_args *args, const bench_suite *suite,
                              const bench_options *bench, vly_error *error)
{
    if ((suite->has & SUITE_CASES) == 0 && bench->pattern)
        return vly_fail(
            error, VLY_E_INVALID,
            "--case is of suites cuda, plastic, attention, wkv and rwkv: "
            "volley bench cuda --case %s",
            bench->pattern);
    if (bench->pattern && bench->pattern[0] == '\0')
        return vly_fail(error, VLY_E_INVALID, "--case: nothing in it");
    if (strcmp(suite->name, "cuda") != 0 && bench->beside)
        return vly_fail(error, VLY_E_INVALID,
                        "--beside is of suite cuda: volley bench cuda --beside "
                        "%s",
                        bench->beside);
    static const char *const of_scale[] = {"hosts", "net-latency",
                                           "net-bandwidth"};
    for (uint32_t i = 0; i < sizeof of_scale / sizeof of_scale[0]; i++)
        if (strcmp(suite->name, "scale") != 0 && tool_has(args, of_scale[i]))
            return vly_fail(error, VLY_E_INVALID, "--%s is of suite scale",
                            of_scale[i]);
    const bool attention = strcmp(suite->name, "attention") == 0;
    if (tool_has(args, "devices") && !attention &&
        strcmp(suite->name, "scale") != 0)
        return vly_fail(error, VLY_E_INVALID,
                        "--devices is of suites attention and scale");
    if (bench->device_list && bench->sweep)
        return vly_fail(error, VLY_E_INVALID,
                        "--sweep is of one device: wanted no --devices");
    const vly_status status = check_lists(suite, bench, error);
    return status == VLY_OK ? bench_files_check(args, bench, error) : status;
}

/* Results from before a failure are reported too: they took minutes. */
static vly_status measure_and_report(const tool_args *args,
                                     const bench_suite *suite,
                                     const bench_options *bench, int *code,
                                     vly_error *error)
{
    static bench_results results;
    memset(&results, 0, sizeof results);
    vly_status failed = measure(bench, suite, &results, error);
    if (failed == VLY_OK)
        failed = bench_products_ceiling(&results, error);
    if (failed == VLY_OK && !bench->sweep)
        failed = bench_asked(bench, &results, error);
    bool empty = results.n_rows == 0 && results.n_cases == 0 &&
                 !results.scale &&
                 (!results.products || results.products->n_rows == 0);
    if (failed != VLY_OK && empty) {
        bench_products_free(&results);
        return failed;
    }
    if (failed != VLY_OK)
        snprintf(results.failure, sizeof results.failure, "%s", error->message);
    else
        *error = (vly_error)VLY_ERROR_INIT; /* why the last row was skipped */
    tool_signals_defer(true);               /* leaves no partial file */
    report(args, bench, &results, code, error);
    bench_products_free(&results);
    bench_scale_free(&results);
    return error->status;
}

static int run(const tool_args *args)
{
    static char folder[PATH_MAX];
    const char *name = args->n_positional > 0 ? args->positional[0] : "cpu";
    const bench_suite *suite = find_suite(name);
    const char *backend = tool_text(args, "backend");
    vly_error error = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    int code = TOOL_EXIT_DONE;
    bench_options bench = {.suite = name,
                           .genomes = folder,
                           .backend = backend                     ? backend
                                      : strcmp(name, "cuda") == 0 ? "cuda"
                                                                  : "cpu",
                           .beside = tool_text(args, "beside"),
                           .pattern = tool_text(args, "case"),
                           .sizes = tool_text(args, "sizes"),
                           .types = tool_text(args, "types"),
                           .set = tool_text(args, "set"),
                           .seq = tool_text(args, "seq"),
                           .dims = tool_text(args, "dims"),
                           .sweep = tool_text(args, "sweep"),
                           .log = tool_text(args, "log"),
                           .compare = tool_text(args, "compare"),
                           .compare_other = tool_has(args, "compare-other"),
                           .markdown = tool_has(args, "markdown"),
                           .devices = 8,
                           .hosts = (uint32_t)tool_count(args, "hosts", 1024),
                           .net_latency_us =
                               tool_number(args, "net-latency", 0),
                           .net_gbs = tool_number(args, "net-bandwidth", 0),
                           .n_threads = tool_threads(args),
                           .quick = tool_has(args, "quick")};
    if (!suite)
        VLY_TRY(vly_fail(
            &error, VLY_E_INVALID,
            "unknown suite %s; wanted one of " SUITES(SUITE_NAME, SUITE_COMMA),
            name));
    if (strcmp(name, "attention") == 0)
        bench.device_list = tool_text(args, "devices");
    else
        VLY_TRY(read_devices(args, &bench.devices, &error));
    VLY_TRY(check_suite(args, suite, &bench, &error));
    VLY_TRY(read_seed(args, suite, &bench.seed, &error));
    VLY_TRY(device_limits_read(args, &error));
    VLY_TRY(tool_registry_create(&bench.registry, &error));
    VLY_TRY(device_limits_check(bench.registry, &error));
    if ((suite->has & SUITE_PRODUCT) == 0) {
        VLY_TRY(find_genomes(args, folder, sizeof folder, &error));
        VLY_TRY(tool_backend_check(bench.registry, bench.backend, &error));
    }
    if (bench.beside)
        VLY_TRY(tool_backend_check(bench.registry, bench.beside, &error));
    status = measure_and_report(args, suite, &bench, &code, &error);
    device_limits_tell();
out:
    vly_registry_destroy(bench.registry);
    return status != VLY_OK ? tool_fail(&error) : code;
}

const tool_command cmd_bench = {
    .name = "bench",
    .arguments = "[" SUITES(SUITE_NAME, SUITE_BAR) "] [options]",
    .summary = "Times bursts and accelerators, and compares them with the "
               "machine's limits.",
    .details =
        "cpu: whole bursts of 100,000 neurons x 100 and x 1000 synapses, "
        "0.1, 1 and 10%\n"
        "firing, delay 1 and 1 to 16. build: compiling these networks. "
        "Before timing,\n"
        "one thread and all threads must give the same digest. The full "
        "suite needs\n"
        "1.5 GB and some minutes.\n"
        "\n"
        "cuda: whole bursts on a device (--backend cuda:1 is the second one) "
        "beside the CPU\n"
        "backend, after their digests were compared; also start, memory, "
        "energy, the\n"
        "limits and aims for one H200, and published figures of other "
        "programs. Needs\n"
        "40 GB and some minutes; a case that does not fit is skipped.\n"
        "\n"
        "gemm, gemv: matrix products on an accelerator (--backend cpu:4, "
        "cuda:0), each compared\n"
        "with float64 first, then timed beside the bandwidth and the best "
        "rate of the run.\n"
        "\n"
        "attention, wkv: attention forward, backward and decoding with a "
        "cache (also in\n"
        "pages); the recurrence of RWKV-7 in steps and sequences, the same "
        "way. attention\n"
        "--devices 1,2,4: each product on so many devices from that of "
        "--backend on, which must\n"
        "give the bits of one; with --backend cuda:0,span=1 on parts of one "
        "device.\n"
        "\n"
        "rwkv: RWKV-7 with random weights: a token at a time beside the "
        "bytes of its weights,\n"
        "a prompt beside the rate of gemm on the same device.\n"
        "\n"
        "checkpoint: the state of the microcircuit is copied (the loop waits "
        "for that),\n"
        "written to a file in the working folder, and read back. Needs 3 GB; "
        "--quick takes\n"
        "a tenth of the network.\n"
        "\n"
        "plastic: networks that learn, beside the same without learning and "
        "published\n"
        "figures; the flush of all synapses before a snapshot. Needs 3 GB on "
        "the CPU.\n"
        "\n"
        "scale: predicted bursts of --devices on --hosts, from rows of "
        "bench/results, beside\n"
        "what was measured on 1, 2 and 4 devices; one rank of as many as "
        "hosts, replayed on\n"
        "this machine, takes minutes.\n"
        "\n"
        "A row of a suite that does not fit the device, or that its plugin "
        "does not offer,\n"
        "is skipped with its reason. Rows that were named must run, "
        "otherwise the exit code\n"
        "is 3 with a message: rows of --case and --set, rows whose parts are "
        "all in --sizes,\n"
        "--types, --seq and --dims, and at least one row for each value of "
        "these lists. A\n"
        "bench that measured nothing also ends with 3.\n",
    .options = options,
    .n_positional_min = 0,
    .n_positional_max = 1,
    .run = run};
