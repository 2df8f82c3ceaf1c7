/* SPDX-License-Identifier: Apache-2.0
 * The files of a bench: see bench_files.h.
 */
#include "tools/bench/bench_files.h"

#include <string.h>

#include "base/error.h"
#include "base/writer.h"
#include "tools/cli/output_apart.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"

vly_status bench_save(const bench_results *results, const char *path,
                      vly_error *error)
{
    json_writer json;
    size_t n_text = 0;
    json_init(&json, true);
    bench_json(results, &json);
    const char *text = json_finish(&json, &n_text);
    vly_status status = text ? vly_writer_save(path, text, n_text, error)
                             : vly_fail_nomem(error, json.capacity, "JSON");
    json_deinit(&json);
    return status;
}

/* --save may replace the earlier bench, which is read before. */
static vly_status check_apart(const tool_args *args, const bench_options *bench,
                              vly_error *error)
{
    const output_name outputs[] = {{"--log", bench->log},
                                   {"--json", tool_text(args, "json")},
                                   {"--save", tool_text(args, "save")}};
    vly_status status = VLY_OK;
    for (int i = 0; i < 2; i++)
        VLY_TRY(output_apart(outputs[i].path, bench->compare,
                             "the bench of --compare", error));
    for (int i = 0; i < 3 && tool_has(args, "genomes"); i++)
        VLY_TRY(output_apart_folder(outputs[i].path, tool_text(args, "genomes"),
                                    "a genome of the bench", error));
    status = outputs_apart(outputs, 3, error);
out:
    return status;
}

vly_status bench_files_check(const tool_args *args, const bench_options *bench,
                             vly_error *error)
{
    static const char *const of_compare[] = {"fail-on-regression", "threshold",
                                             "compare-other"};
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < sizeof of_compare / sizeof of_compare[0]; i++)
        if (!bench->compare && tool_has(args, of_compare[i]))
            return vly_fail(error, VLY_E_INVALID,
                            "--%s: wanted --compare FILE too", of_compare[i]);
    if (bench->compare && tool_text(args, "json") &&
        strcmp(tool_text(args, "json"), "-") == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "--json - and --compare: both write to stdout, wanted "
                        "--json FILE");
    if (bench->compare && bench->sweep)
        return vly_fail(error, VLY_E_INVALID,
                        "--sweep compares with its first candidate: wanted no "
                        "--compare");
    if (bench->sweep && (tool_has(args, "json") || tool_has(args, "save")))
        return vly_fail(error, VLY_E_INVALID,
                        "--sweep keeps its results in --log FILE: wanted no "
                        "--json and no --save");
    VLY_TRY(tool_output_check(bench->log, error));
    VLY_TRY(tool_output_check(tool_text(args, "json"), error));
    VLY_TRY(tool_output_check(tool_text(args, "save"), error));
    VLY_TRY(check_apart(args, bench, error));
    status = bench_compare_check(bench, error);
out:
    return status;
}
