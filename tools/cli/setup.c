/* SPDX-License-Identifier: Apache-2.0
 * From options to a net.
 */
#include "tools/cli/setup.h"

#include <volley/ranks.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "genome/genome_value.h"
#include "tools/cli/delay_notes.h"
#include "tools/cli/tool.h"

/* ---- overrides -------------------------------------------------------- */

vly_status tool_overrides_add(tool_overrides *overrides, const char *text,
                              vly_error *error)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return vly_fail(error, VLY_E_INVALID,
                        "--set %s: wanted PATH=VALUE, as in area.E.neurons=100",
                        text);
    size_t n = (size_t)overrides->n + 1;
    vly_override *list =
        vly_realloc(overrides->list, n, sizeof *overrides->list);
    if (list)
        overrides->list = list;
    char **texts = vly_realloc(overrides->texts, n, sizeof *texts);
    if (texts)
        overrides->texts = texts;
    char *copy = vly_strdup(text);
    if (!list || !texts || !copy) {
        vly_free(copy);
        return vly_fail_nomem(error, n * sizeof *list, "overrides");
    }
    char *value = copy + (equals - text);
    *value++ = '\0';
    texts[n - 1] = copy;
    list[n - 1] = (vly_override){.path = copy, .value = value};
    overrides->n++;
    return VLY_OK;
}

static vly_status add_seed(tool_overrides *overrides, uint64_t seed,
                           vly_error *error)
{
    static const char *const names[] = {"seed_network", "seed_state",
                                        "seed_input"};
    vly_status status = VLY_OK;
    for (int i = 0; i < 3 && status == VLY_OK; i++) {
        char text[64];
        snprintf(text, sizeof text, "run.%s=%llu", names[i],
                 (unsigned long long)seed);
        status = tool_overrides_add(overrides, text, error);
    }
    return status;
}

vly_status tool_overrides_init(const tool_args *args, tool_overrides *overrides,
                               vly_error *error)
{
    *overrides = (tool_overrides){0};
    vly_status status = VLY_OK;
    /* --seed first, so that --set run.seed_input=N can change one of them */
    if (tool_has(args, "seed"))
        VLY_TRY(add_seed(overrides, tool_count(args, "seed", 0), error));
    const char *text;
    for (uint32_t k = 0; (text = tool_text_at(args, "set", k)) != NULL; k++)
        VLY_TRY(tool_overrides_add(overrides, text, error));
out:
    if (status != VLY_OK)
        tool_overrides_deinit(overrides);
    return status;
}

void tool_overrides_deinit(tool_overrides *overrides)
{
    for (uint32_t i = 0; i < overrides->n; i++)
        vly_free(overrides->texts[i]);
    vly_free(overrides->texts);
    vly_free(overrides->list);
    *overrides = (tool_overrides){0};
}

/* ---- length and threads ----------------------------------------------- */

vly_status tool_bursts(const tool_args *args, const vly_genome *genome,
                       uint64_t *n_bursts, vly_error *error)
{
    const vly_genome_info info = tool_genome_info(genome);
    const bool bursts = tool_has(args, "bursts");
    if (bursts && tool_has(args, "ms"))
        return vly_fail(error, VLY_E_INVALID,
                        "--bursts and --ms are given, wanted one of them");
    if (bursts) {
        *n_bursts = tool_count(args, "bursts", 0);
        return VLY_OK;
    }
    double ms = tool_number(args, "ms", -1.0);
    if (tool_has(args, "ms")) {
        char wanted[VLY_LENGTH_WANTED];
        if (!vly_value_length(ms, info.dt_ms, n_bursts, wanted))
            return vly_fail(error, VLY_E_INVALID, "--ms is %.12g, wanted %s",
                            ms, wanted);
        return VLY_OK;
    }
    if (info.n_bursts == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "%s says no length in [run]; wanted --bursts N or "
                        "--ms T",
                        info.path);
    *n_bursts = info.n_bursts;
    return VLY_OK;
}

vly_status tool_summary_from(const tool_args *args, const vly_genome *genome,
                             uint64_t n_bursts, uint64_t *burst,
                             vly_error *error)
{
    const double ms = tool_number(args, "summary-from", 0.0);
    char wanted[VLY_LENGTH_WANTED];
    *burst = 0;
    if (!tool_has(args, "summary-from"))
        return VLY_OK;
    const double dt_ms = tool_genome_info(genome).dt_ms;
    if (!vly_value_length(ms, dt_ms, burst, wanted))
        return vly_fail(error, VLY_E_INVALID,
                        "--summary-from is %.12g, wanted %s", ms, wanted);
    if (*burst == 0 || *burst < n_bursts)
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "--summary-from is %.12g ms, and the run ends at %.12g ms: "
                    "no burst would be left, wanted less",
                    ms, (double)n_bursts * dt_ms);
}

uint32_t tool_threads(const tool_args *args)
{
    return (uint32_t)tool_count(args, "threads", vly_thread_cores());
}

/* ---- backends --------------------------------------------------------- */

vly_status tool_backend_check(vly_registry *registry, const char *backend,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    uint32_t n = 1;
    for (uint32_t k = 0; k < n; k++) { /* more than one: of ranks */
        char one[VLY_BACKEND_ONE_BYTES];
        vly_named_device device = {.struct_size = sizeof device};
        VLY_TRY(vly_ranks_pick(backend, k, one, &n, error));
        VLY_TRY(vly_device_find(registry, one, 1, &device, error));
        if (n > 1 && strcmp(device.id, "auto") == 0)
            return vly_fail(error, VLY_E_INVALID,
                            "backend \"%.200s\": auto in a list, wanted the "
                            "name of each backend",
                            backend);
    }
out:
    return status;
}

/* ---- files ------------------------------------------------------------ */

bool tool_is_same_file(const char *a, const char *b)
{
    struct stat x;
    struct stat y;
    return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino && S_ISREG(x.st_mode);
}

vly_status tool_output_check(const char *path, vly_error *error)
{
    struct stat info;
    char folder[PATH_MAX] = ".";
    int reason = 0;
    if (!path || strcmp(path, "-") == 0)
        return VLY_OK;
    const char *slash = strrchr(path, '/');
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path + 1), path);
    bool there = stat(path, &info) == 0;
    if (there && S_ISDIR(info.st_mode))
        reason = EISDIR;
    else if (there && !S_ISREG(info.st_mode)) /* written, not replaced */
        reason = access(path, W_OK) == 0 ? 0 : errno;
    else
        reason = access(folder, W_OK | X_OK) == 0 ? 0 : errno;
    if (reason == 0)
        return VLY_OK;
    return vly_fail(error, VLY_E_IO, "%s: cannot be written: %s", path,
                    strerror(reason));
}

vly_status tool_genomes_folder(char *folder, size_t capacity, vly_error *error)
{
    static const char share[] = "/share/volley/genomes";
    if (tool_prefix(folder, capacity - sizeof share)) {
        strcat(folder, share);
        if (access(folder, R_OK | X_OK) == 0)
            return VLY_OK;
    }
    snprintf(folder, capacity, "%s", VLY_TOOL_SOURCE_GENOMES);
    if (access(folder, R_OK | X_OK) == 0)
        return VLY_OK;
    return vly_fail(error, VLY_E_IO,
                    "the shipped genomes are neither beside the command nor in "
                    "%s",
                    folder);
}

/* ---- genome and connectome -------------------------------------------- */

vly_genome_info tool_genome_info(const vly_genome *genome)
{
    vly_genome_info info = {.struct_size = sizeof info};
    (void)vly_genome_get_info(genome, &info);
    return info;
}

vly_connectome_info tool_connectome_info(const vly_connectome *connectome)
{
    vly_connectome_info info = {.struct_size = sizeof info};
    (void)vly_connectome_get_info(connectome, &info);
    return info;
}

vly_area_info tool_area_info(const vly_connectome *connectome, uint32_t index)
{
    vly_area_info info = {.struct_size = sizeof info};
    (void)vly_connectome_area_info(connectome, index, &info);
    return info;
}

void tool_notes(const vly_genome *genome)
{
    uint32_t n = 0;
    const char *note;
    for (; (note = vly_genome_note(genome, n)) != NULL; n++)
        tool_message("note: %s", note);
    if (vly_genome_note_count(genome) > n)
        tool_message("note: %u more of the kind",
                     vly_genome_note_count(genome) - n);
    delay_notes(genome);
}

vly_status tool_genome_missing(const char *path, vly_error *error)
{
    char folder[4096];
    char *named = vly_format("%s.toml", path);
    const bool near = named && access(named, R_OK) == 0;
    char *shipped = NULL;
    if (!near && !strchr(path, '/') &&
        tool_genomes_folder(folder, sizeof folder, NULL) == VLY_OK) {
        const size_t n = strlen(path);
        const bool ended = tool_ends_in(path, ".toml");
        shipped = vly_format("%s/%s%s", folder, path, ended ? "" : ".toml");
        if (shipped && access(shipped, R_OK) == 0)
            (void)vly_fail(error, VLY_E_IO,
                           "%s: No such file or directory; volley new %.*s -o "
                           "%s%s makes a copy of the one that ships",
                           path, (int)(ended ? n - 5 : n), path, path,
                           ended ? "" : ".toml");
    }
    if (near)
        (void)vly_fail(error, VLY_E_IO,
                       "%s: No such file or directory, did you mean %s?", path,
                       named);
    else if (!shipped || access(shipped, R_OK) != 0)
        (void)vly_fail(error, VLY_E_IO,
                       "%s: No such file or directory, wanted a genome; volley "
                       "new lists those that ship, and copies one",
                       path);
    vly_free(named);
    vly_free(shipped);
    return VLY_E_IO;
}

vly_status tool_genome_load(const char *path, const vly_override *overrides,
                            uint32_t n_overrides, vly_genome **genome,
                            vly_error *error)
{
    struct stat info;
    vly_status status =
        vly_genome_load(path, overrides, n_overrides, genome, error);
    /* of standard input it is a file that the genome names */
    if (status != VLY_E_IO || strcmp(path, "-") == 0)
        return status;
    if (stat(path, &info) != 0)
        return errno == ENOENT ? tool_genome_missing(path, error) : status;
    if (!S_ISDIR(info.st_mode))
        return status;
    char *manifest = vly_format("%s/manifest.json", path);
    const bool ran = manifest && access(manifest, F_OK) == 0;
    (void)vly_fail(error, VLY_E_IO,
                   ran ? "%s: Is a directory, the folder of a run, wanted a "
                         "genome (volley status, volley rerun and volley plot "
                         "take the folder)"
                       : "%s: Is a directory, wanted a genome, a .toml file",
                   path);
    vly_free(manifest);
    return VLY_E_IO;
}

vly_status tool_build_init(const char *path, const tool_overrides *overrides,
                           uint32_t n_threads, tool_build *build,
                           vly_error *error)
{
    *build = (tool_build){0};
    uint64_t begin = vly_clock_ns();
    vly_status status = VLY_OK;
    VLY_TRY(tool_genome_load(path, overrides->list, overrides->n,
                             &build->genome, error));
    uint64_t loaded = vly_clock_ns();
    build->seconds.load = (double)(loaded - begin) * 1e-9;
    status = vly_connectome_build(build->genome, n_threads, &build->connectome,
                                  error);
    if (status != VLY_OK) {
        tool_build_deinit(build);
        return status;
    }
    build->seconds.build = (double)(vly_clock_ns() - loaded) * 1e-9;
    return VLY_OK;
out:
    return status;
}

void tool_build_deinit(tool_build *build)
{
    vly_connectome_destroy(build->connectome);
    vly_genome_destroy(build->genome);
    *build = (tool_build){0};
}
