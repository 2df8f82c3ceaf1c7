/* SPDX-License-Identifier: Apache-2.0
 * volley conformance: one plugin against the conformance table.
 */
#include "tools/cli/commands.h"

#include <volley/host.h>

#include <stdio.h>
#include <string.h>

#include "accelerator/accelerator.h"
#include "base/error.h"
#include "base/writer.h"
#include "conformance/conformance.h"
#include "conformance/conformance_accel.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/output_apart.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"

static const tool_option options[] = {
    {"case", 0, false, TOOL_TEXT, "PATTERN",
     "only matching cases: a net or case, a scenario, or NET/SCENARIO, with "
     "* and ?",
     0, 0},
    {"device", 0, false, TOOL_COUNT, "N", "device; default 0", 0, 1e9},
    {"options", 0, false, TOOL_TEXT, "KEY=VALUE,...",
     "options of the plugin; nets that do not fit these options are skipped", 0,
     0},
    {"threads", 0, false, TOOL_COUNT, "N", "host threads; default 1", 1, 1024},
    {"json", 0, false, TOOL_TEXT, "FILE", "results as JSON; - is stdout", 0, 0},
    {"list", 0, false, TOOL_FLAG, NULL, "print the nets and scenarios", 0, 0},
    {"print", 0, false, TOOL_TEXT, "NET", "print the genome of a net", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static const char *const outcomes[] = {"ok", "skipped", "FAILED"};

typedef struct report {
    json_writer json;
    bool has_json;
    bool is_quiet; /* JSON goes to stdout */
} report;

/* ---- what there is ----------------------------------------------------- */

static int list_all(void)
{
    for (uint32_t i = 0; i < vly_conformance_count(); i++) {
        vly_conformance_case entry = vly_conformance_get(i);
        tool_print("%-20s %s\n", entry.name, entry.about);
    }
    tool_print("\nscenarios:");
    for (uint32_t i = 0; vly_conformance_scenario(i); i++)
        tool_print(" %s", vly_conformance_scenario(i));
    tool_print("\n\n%u cases of %s, as in fp16-fp16-fp32.nt.17x63x65.bias\n"
               "scenarios:",
               vly_gemm_table.n_cases, vly_gemm_table.interface_id);
    for (const accel_scenario *s = vly_gemm_table.scenarios; s->name; s++)
        tool_print(" %s", s->name);
    tool_print("\n");
    return TOOL_EXIT_DONE;
}

static const char *net_name(const void *context, uint32_t k)
{
    (void)context;
    return k < vly_conformance_count() ? vly_conformance_get(k).name : NULL;
}

static int print_net(const char *name)
{
    for (uint32_t i = 0; i < vly_conformance_count(); i++) {
        vly_conformance_case entry = vly_conformance_get(i);
        if (strcmp(entry.name, name) != 0)
            continue;
        tool_print("%s", entry.genome);
        return TOOL_EXIT_DONE;
    }
    const char *near = tool_nearest(name, net_name, NULL);
    if (near)
        tool_message("no net %s; did you mean %s?", name, near);
    else
        tool_message("no net %s; --list names them", name);
    return TOOL_EXIT_WRONG;
}

/* ---- the plugin -------------------------------------------------------- */

/* The registry with this file first, so that it wins over an installed plugin
 * with the same id.
 * Errors  the reason why the plugin cannot be used */
static vly_status open_plugin(const char *path, vly_registry **registry,
                              vly_plugin_info *info, vly_error *error)
{
    const char *real = NULL;
    vly_status status = tool_plugin_first(path, &real, error);
    if (status == VLY_OK)
        status = tool_registry_create(registry, error);
    if (status != VLY_OK)
        return status;
    for (uint32_t i = 0; i < vly_registry_count(*registry); i++) {
        *info = (vly_plugin_info){.struct_size = sizeof *info};
        if (vly_registry_info(*registry, i, info) == VLY_OK &&
            strcmp(info->path, real) == 0)
            return info->status == VLY_OK
                       ? VLY_OK
                       : vly_fail(error, info->status, "%s: %s", path,
                                  info->reason);
    }
    return vly_fail(error, VLY_E_INVALID, "%s: not a plugin", path);
}

/* ---- running ----------------------------------------------------------- */

/* Written out at once: if the plugin crashes, the last line names the case. */
static void on_begin(void *arg, const char *net, const char *scenario)
{
    const report *r = arg;
    if (!r->is_quiet)
        tool_print("%s/%s: ", net, scenario);
    (void)fflush(stdout);
}

static void on_result(void *arg, const vly_conformance_result *result)
{
    report *r = arg;
    tool_plain_text text;
    const char *outcome = outcomes[result->outcome];
    if (!r->is_quiet && strcmp(result->scenario, "*") == 0)
        tool_print("%s/*: ", result->net);
    if (!r->is_quiet)
        tool_print("%s%s%s\n", outcome, result->text[0] != '\0' ? ": " : "",
                   tool_plain(result->text, &text));
    if (!r->has_json)
        return;
    json_object(&r->json, NULL);
    json_text(&r->json, "net", result->net);
    json_text(&r->json, "scenario", result->scenario);
    json_text(&r->json, "outcome", outcome);
    json_text(&r->json, "text", result->text);
    json_object_end(&r->json);
}

static vly_status save(report *r, const vly_conformance_counts *counts,
                       const char *path, vly_error *error)
{
    size_t n_text = 0;
    json_array_end(&r->json);
    json_u64(&r->json, "ok", counts->n[VLY_CONFORMS]);
    json_u64(&r->json, "skipped", counts->n[VLY_CONFORMANCE_SKIPPED]);
    json_u64(&r->json, "failed", counts->n[VLY_CONFORMANCE_FAILED]);
    json_object_end(&r->json);
    const char *text = json_finish(&r->json, &n_text);
    return text ? vly_writer_save(path, text, n_text, error)
                : vly_fail_nomem(error, r->json.capacity, "JSON");
}

static void begin_report(report *r, const char *path,
                         const vly_plugin_info *info)
{
    *r = (report){.has_json = path != NULL,
                  .is_quiet = path && strcmp(path, "-") == 0};
    json_init(&r->json, true);
    json_object(&r->json, NULL);
    json_text(&r->json, "plugin", info->id);
    json_text(&r->json, "version", info->version);
    json_text(&r->json, "build", info->build);
    json_text(&r->json, "file", info->path);
    json_array(&r->json, "results");
}

/* ---- accelerators ------------------------------------------------------ */

/* The first interface of the plugin that has a table; NULL: it is a backend. */
static const char *accelerator_interface(const vly_plugin_info *info)
{
    static const char *const interfaces[] = {
        VLY_GEMM_INTERFACE, VLY_ATTENTION_INTERFACE, VLY_WKV_INTERFACE};
    if (strstr(info->interfaces, VLY_BACKEND_INTERFACE))
        return NULL;
    for (size_t i = 0; i < sizeof interfaces / sizeof interfaces[0]; i++)
        if (strstr(info->interfaces, interfaces[i]))
            return interfaces[i];
    return NULL;
}

/* Every table that the plugin has an interface for. */
static vly_status accelerate(const tool_args *args,
                             const vly_registry *registry,
                             const vly_plugin_info *info, report *r,
                             vly_conformance_counts *counts, vly_error *error)
{
    static vly_accelerator accelerator; /* the device points into it */
    vly_accel_conformance conformance = {.accelerator = &accelerator,
                                         .pattern = tool_text(args, "case"),
                                         .on_begin = on_begin,
                                         .on_result = on_result,
                                         .arg = r};
    vly_status status = VLY_OK;
    VLY_TRY(vly_accelerator_find(
        registry, accelerator_interface(info), info->id,
        (uint32_t)tool_count(args, "threads", 1), &accelerator, error));
    accelerator.device.index = (uint32_t)tool_count(args, "device", 0);
    accelerator.device.options = tool_text(args, "options");
    const accel_table *const *tables = vly_accel_tables(&accelerator);
    if (!*tables)
        return vly_fail(error, VLY_E_UNSUPPORTED,
                        "plugin %s: there is no conformance table for %s",
                        info->id, info->interfaces);
    for (; *tables; tables++) {
        vly_conformance_counts more =
            vly_accel_conformance_run(&conformance, *tables);
        for (int i = 0; i < 3; i++)
            counts->n[i] += more.n[i];
    }
out:
    return status;
}

static vly_status conform_backend(const tool_args *args,
                                  const vly_registry *registry,
                                  const vly_plugin_info *info, report *r,
                                  vly_conformance_counts *counts,
                                  vly_error *error)
{
    vly_conformance conformance = {
        .device = {.struct_size = sizeof conformance.device,
                   .index = (uint32_t)tool_count(args, "device", 0),
                   .n_threads = (uint32_t)tool_count(args, "threads", 1),
                   .options = tool_text(args, "options")},
        .pattern = tool_text(args, "case"),
        .on_begin = on_begin,
        .on_result = on_result,
        .arg = r};
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_registry_backend(registry, info->id, &conformance.backend, error));
    if (vly_registry_backend(registry, "cpu", &conformance.other, NULL) !=
        VLY_OK)
        conformance.other = NULL;
    *counts = vly_conformance_run(&conformance);
out:
    return status;
}

static int conform(const tool_args *args, vly_registry **registry,
                   vly_error *error)
{
    vly_plugin_info info = {.struct_size = sizeof info};
    vly_conformance_counts counts = {{0}};
    const char *path = tool_text(args, "json");
    report r;
    if (tool_output_check(path, error) != VLY_OK ||
        output_apart(path, args->positional[0], "the plugin", error) !=
            VLY_OK ||
        open_plugin(args->positional[0], registry, &info, error) != VLY_OK)
        return tool_fail(error);
    begin_report(&r, path, &info);
    vly_status status =
        accelerator_interface(&info)
            ? accelerate(args, *registry, &info, &r, &counts, error)
            : conform_backend(args, *registry, &info, &r, &counts, error);
    if (status == VLY_OK && path)
        status = save(&r, &counts, path, error);
    if (status != VLY_OK) {
        json_deinit(&r.json);
        return tool_fail(error);
    }
    json_deinit(&r.json);
    if (!r.is_quiet)
        tool_print("%s: %u ok, %u skipped, %u failed\n", info.id, counts.n[0],
                   counts.n[1], counts.n[2]);
    if (counts.n[0] + counts.n[1] + counts.n[2] == 0) {
        tool_message("nothing matches --case; --list names what there is");
        return TOOL_EXIT_WRONG;
    }
    return counts.n[VLY_CONFORMANCE_FAILED] != 0 ? TOOL_EXIT_DIFFERS
                                                 : TOOL_EXIT_DONE;
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    vly_registry *registry = NULL;
    if (tool_has(args, "list"))
        return list_all();
    if (tool_text(args, "print"))
        return print_net(tool_text(args, "print"));
    if (args->n_positional == 0) {
        tool_message("conformance: which plugin? As in volley conformance "
                     "./mine.so");
        return TOOL_EXIT_WRONG;
    }
    int code = conform(args, &registry, &error);
    vly_registry_destroy(registry);
    return code;
}

const tool_command cmd_conformance = {
    .name = "conformance",
    .arguments = "X.so [--case PATTERN] [--json FILE]",
    .summary = "Tests a plugin against one table of cases.",
    .details =
        "Every net of the table is run in every scenario and must give the\n"
        "digests of an independent simulator. One line per case: ok, "
        "skipped\n"
        "(with the reason from supports()), or FAILED with the difference.\n"
        "An accelerator runs the table of its interface. Its results are "
        "compared\n"
        "with float64, within bounds that follow from the element types.\n"
        "To look closer: volley conformance --print NET >net.toml, then\n"
        "volley validate net.toml --backends cpu,MINE\n"
        "Exit code 0: none failed, 1: some did.\n",
    .options = options,
    .n_positional_min = 0,
    .n_positional_max = 1,
    .run = run};
