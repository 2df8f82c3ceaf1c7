/* SPDX-License-Identifier: Apache-2.0
 * The command with its 1st, 2nd, 3rd ... allocation failing: exit code 5 and a
 * sentence with bytes, or as if nothing had been (a loop with one thread
 * fewer); no block is left, no temporary file, and what has its name is whole.
 */
#include "volley_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <volley/volley.h>

#include "base/memory.h"
#include "each_allocation.h"
#include "record/export.h"
#include "tools/cli/commands.h"
#include "tools/cli/json_reader.h"
#include "tools/cli/tool.h"
#include "tools/feagi/feagi_json.h"
#include "tools/monitor/monitor_commands.h"

/* In memory where that can be written: thousands of runs sync their files. */
static char in_memory[] = "/dev/shm/volley_tools_XXXXXX";
static char on_disk[] = "/tmp/volley_tools_XXXXXX";
static const char *folder;
static char plugins[4096];
static int stdout_kept;
static int stderr_kept;

static const char small[] =
    "format = 1\ntitle = \"small\"\n[run]\ndt_ms = 1\nbursts = 20\n"
    "[var]\nn = 5\n[area.E]\nmodel = \"lif_psc_delta\"\nneurons = \"=4*n\"\n"
    "[[map]]\nfrom = \"E\"\nto = \"E\"\nrule = \"fixed_in_degree\"\n"
    "in_degree = 5\nweight_mv = 0.2\ndelay_ms = { uniform = [1, 4] }\n"
    "[[stimulus]]\nid = \"kick\"\nkind = \"poisson\"\nto = \"E\"\n"
    "rate_hz = 900\nweight_mv = 9\n[[record]]\nwhat = \"spikes\"\nfrom = "
    "\"E\"\n";

/* Both streams into files, so that the messages can be read. */
static void divert(void)
{
    fflush(stdout);
    fflush(stderr);
    int out = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int err = open("err", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
}

static void restore(void)
{
    fflush(stdout);
    fflush(stderr);
    dup2(stdout_kept, STDOUT_FILENO);
    dup2(stderr_kept, STDERR_FILENO);
}

static const char *messages(void)
{
    static char text[8192];
    FILE *file = fopen("err", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* As main does, with allocation n failing. *left: 0 if it came so far. */
static int call(const tool_command *command, char **words, int n_words,
                uint64_t n, uint64_t *left)
{
    tool_args args;
    setenv("VOLLEY_PLUGIN_PATH", plugins, 1); /* the command adds to it */
    divert();
    vly_memory_fail_at(n);
    int code = tool_args_parse(command, n_words, words, 2, &args)
                   ? command->run(&args)
                   : args.exit_code;
    *left = vly_memory_fail_at(0);
    tool_args_deinit(&args);
    tool_signals_defer(false);
    restore();
    return code;
}

static void no_temporary_file(const char *name)
{
    DIR *entries = opendir(name);
    for (const struct dirent *e; entries && (e = readdir(entries)) != NULL;)
        if (strstr(e->d_name, ".tmp") || strstr(e->d_name, ".vlc."))
            fail_msg("%s/%s is left", name, e->d_name);
    if (entries)
        closedir(entries);
}

static bool is_whole(const char *path)
{
    json_value value;
    vly_error error = {.struct_size = sizeof error};
    if (access(path, F_OK) != 0)
        return true;
    vly_status status = json_load(path, &value, &error);
    if (status == VLY_OK)
        json_free(&value);
    return status == VLY_OK;
}

/* Without a process for each of thousands of times. */
static void clean(void)
{
    DIR *entries = opendir(".");
    assert_non_null(entries);
    for (const struct dirent *e; (e = readdir(entries)) != NULL;)
        if (strncmp(e->d_name, "x.", 2) == 0)
            assert_int_equal(unlink(e->d_name), 0);
    closedir(entries);
    entries = opendir("o");
    if (entries == NULL)
        return;
    char path[300];
    for (const struct dirent *e; (e = readdir(entries)) != NULL;) {
        snprintf(path, sizeof path, "o/%s", e->d_name);
        if (e->d_name[0] != '.')
            assert_int_equal(unlink(path), 0);
    }
    closedir(entries);
    assert_int_equal(rmdir("o"), 0);
}

/* A user's model: exact and other equations, an alias, both kinds of values. */
static const char own[] =
    "format = 1\n[run]\ndt_ms = 1\nbursts = 20\n[neuron.lif]\n"
    "param = { tau = { value = \"10 ms\", range = [\"1 ms\", \"1 s\"], text = "
    "\"of v\" }, c = \"1 pF\", i_e = \"3 pA\", t_ref = \"2 ms\" }\n"
    "port = { ex = \"nS\", inh = \"nS\" }\n"
    "state = { v = \"0 mV\", g = { value = \"0 nS\", text = \"g\" } }\n"
    "eq = \"x = v/(1 mV); v' = -v/tau + i_e/c - g*v*exp(-x)/c hold; g' = "
    "-g/tau\"\n"
    "on.ex = \"g += in\"\non.inh = \"g -= in\"\nspike = \"v >= 10 mV\"\n"
    "reset = \"v = 0 mV\"\nrefractory = \"t_ref\"\n"
    "[area.E]\nmodel = \"lif\"\nneurons = 2\ntau_ms = [5, 20]\n";

/* A line split at spaces; every allocation in turn. */
static void every_allocation(const tool_command *command, const char *line,
                             uint64_t least)
{
    char text[512];
    char *words[32] = {(char *)"volley"};
    int n_words = 1;
    uint64_t left = 0;
    uint64_t n_failed = 0;
    const uint64_t step = each_allocation();
    snprintf(text, sizeof text, "%s", line);
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
        words[n_words++] = w;
    clean();
    int code = call(command, words, n_words, 0, &left);
    if (code != TOOL_EXIT_DONE)
        fail_msg("%s: exit code %d: %s", line, code, messages());
    uint64_t live = vly_memory_live();
    for (uint64_t n = 1; left == 0; n += step) {
        clean();
        code = call(command, words, n_words, n, &left);
        if (code != TOOL_EXIT_DONE && code != TOOL_EXIT_NOMEM)
            fail_msg("%s: allocation %d: exit code %d: %s", line, (int)n, code,
                     messages());
        if (code == TOOL_EXIT_NOMEM && (!strstr(messages(), "out of memory") ||
                                        !strstr(messages(), "bytes")))
            fail_msg("%s: allocation %d: %s", line, (int)n, messages());
        if (vly_memory_live() != live)
            fail_msg("%s: allocation %d: %d blocks more", line, (int)n,
                     (int)(vly_memory_live() - live));
        no_temporary_file(".");
        no_temporary_file("o");
        assert_true(is_whole("o/manifest.json"));
        assert_true(is_whole("o/summary.json"));
        assert_true(is_whole("x.json"));
        assert_true(code == TOOL_EXIT_DONE || access("x.toml", F_OK) != 0);
        assert_true(code == TOOL_EXIT_DONE || access("x.st", F_OK) != 0);
        n_failed += code == TOOL_EXIT_NOMEM;
    }
    printf("%s: %d\n", line, (int)n_failed);
    assert_int_equal(code, TOOL_EXIT_DONE);
    assert_true(n_failed >= least_failures(least));
}

static void running(void **state)
{
    (void)state;
    every_allocation(&cmd_run,
                     "run small.toml --threads 1 --quiet -o o --json x.json "
                     "--digest-log x.log --record x.csv --seed 3 "
                     "--set area.E.v_mv=-60 --swap 7=cpu:1 --save-connectome "
                     "x.vlc",
                     200);
    every_allocation(&cmd_run,
                     "run small.toml --threads 2 --backend cpu:2 --quiet -o o "
                     "--pace skip --pace-hz 100000 --on-device-error cpu:1 "
                     "--failover-every 5 --control ./x.sock",
                     150);
    every_allocation(&cmd_run,
                     "run small.toml --threads 1 --quiet --digest-log x.log "
                     "--record x.csv --checkpoint x.ck --every 7 --keep 2",
                     150);
    every_allocation(&cmd_run,
                     "run small.toml --threads 1 --quiet --bursts 30 "
                     "--digest-log kept.log --resume kept.ck",
                     150);
    every_allocation(&cmd_run,
                     "run own.toml --threads 1 --quiet --save-connectome x.vlc",
                     100);
}

/* A stream made into SONATA or CSV at the end, with fields. */
static void recording(void **state)
{
    (void)state;
    every_allocation(&cmd_run,
                     "run fields.toml --threads 1 --quiet --record x.vls "
                     "--record-memory 1",
                     150);
    every_allocation(&cmd_run,
                     "run fields.toml --threads 1 --quiet --record x.csv "
                     "--statistics",
                     150);
    if (vly_export_has_sonata())
        every_allocation(
            &cmd_run, "run fields.toml --threads 1 --quiet --record x.h5", 150);
    every_allocation(&cmd_inspect, "inspect kept/spikes.vls", 10);
    every_allocation(&cmd_inspect,
                     "inspect --repair kept/spikes.vls --to x.csv", 15);
}

static void again(void **state)
{
    (void)state;
    every_allocation(&cmd_rerun, "rerun kept/manifest.json --quiet", 150);
    every_allocation(&cmd_validate,
                     "validate small.toml --backends cpu:1,cpu:2", 150);
    every_allocation(&cmd_compare, "compare kept.log kept.log", 2);
}

static void looking(void **state)
{
    (void)state;
    every_allocation(&cmd_check, "check small.toml --build", 50);
    every_allocation(&cmd_inspect, "inspect small.toml", 30);
    every_allocation(&cmd_inspect, "inspect kept.vlc", 10);
    every_allocation(&cmd_inspect, "inspect kept.ck", 15);
    every_allocation(&cmd_inspect, "inspect kept.log", 1);
    every_allocation(&cmd_inspect, "inspect kept/manifest.json", 10);
    every_allocation(&cmd_resolve, "resolve small.toml", 30);
    every_allocation(&cmd_model, "model own.toml lif", 30);
    every_allocation(&cmd_resolve, "resolve own.toml", 30);
    every_allocation(&cmd_plugins, "plugins", 5);
    every_allocation(&cmd_doc, "doc feagi", 1);
}

static void importing(void **state)
{
    char line[512];
    (void)state;
    snprintf(line, sizeof line,
             "import feagi %s/tests/golden/feagi/flat_2_0.json -o x.toml",
             VLY_TEST_SOURCE_DIR);
    every_allocation(&cmd_import, line, 1000);
}

static void converting(void **state)
{
    char line[512];
    (void)state;
    snprintf(line, sizeof line,
             "convert %s/tests/fuzz/corpus/safetensors/native.safetensors -o "
             "x.st --type fp32",
             VLY_TEST_SOURCE_DIR);
    every_allocation(&monitor_convert, line, 90);
}

static int prepare(void **state)
{
    (void)state;
    const char *given = getenv("VOLLEY_PLUGIN_PATH");
    static char line[] = "volley run fields.toml --quiet -o kept "
                         "--record-format stream "
                         "--digest-log kept.log --save-connectome kept.vlc "
                         "--checkpoint kept.ck";
    char *words[16];
    int n_words = 0;
    uint64_t left;
    snprintf(plugins, sizeof plugins, "%s",
             given && given[0] ? given : VLY_TEST_PLUGIN_DIR);
    stdout_kept = dup(STDOUT_FILENO);
    stderr_kept = dup(STDERR_FILENO);
    folder = mkdtemp(in_memory);
    if (folder == NULL)
        folder = mkdtemp(on_disk);
    if (folder == NULL || chdir(folder) != 0)
        return 1;
    FILE *file = fopen("small.toml", "w");
    if (file == NULL)
        return 1;
    fputs(small, file);
    fclose(file);
    file = fopen("own.toml", "w");
    if (file == NULL)
        return 1;
    fputs(own, file);
    fclose(file);
    file = fopen("fields.toml", "w");
    if (file == NULL)
        return 1;
    fprintf(file,
            "%s[[record]]\nwhat = \"fields\"\nfrom = \"E\"\n"
            "fields = [\"v_mv\", \"refractory\"]\nneurons = [1, 3]\n"
            "[[record]]\nwhat = \"rates\"\nfrom = \"E\"\n"
            "interval_bursts = 2\n",
            small);
    fclose(file);
    for (char *w = strtok(line, " "); w; w = strtok(NULL, " "))
        words[n_words++] = w;
    int code = call(&cmd_run, words, n_words, 0, &left);
    if (code != 0)
        fprintf(stderr, "%s", messages());
    return code;
}

static int remove_all(void **state)
{
    char command[300];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("/") != 0 || system(command) != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running),   cmocka_unit_test(recording),
        cmocka_unit_test(again),     cmocka_unit_test(looking),
        cmocka_unit_test(importing), cmocka_unit_test(converting),
    };
    tool_signals_init();
    return cmocka_run_group_tests(tests, prepare, remove_all) ? 1 : 0;
}
