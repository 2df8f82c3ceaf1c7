/* SPDX-License-Identifier: Apache-2.0
 * volley ctl: what this user's runs are doing, and what they shall do.
 */
#include "tools/cli/commands.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/plain.h"
#include "tools/cli/json_reader.h"
#include "tools/cli/tool.h"
#include "tools/control/control_client.h"

static const tool_option options[] = {
    {"json", 0, false, TOOL_FLAG, NULL, "print the answer as JSON", 0, 0},
    {"timeout", 0, false, TOOL_NUMBER, "S",
     "seconds to wait for an answer; default 60", 0.01, 1e6},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

/* Time limit of the question to a listed run: a run that is stopped (SIGSTOP)
 * does not answer. */
static const double list_timeout_s = 2;

/* ---- answers as text -------------------------------------------------- */

static uint64_t count(const json_value *answer, const char *key)
{
    double number = json_find_number(answer, key, 0);
    return number >= 0 && number < 0x1p63 ? (uint64_t)number : 0;
}

static bool is_true(const json_value *answer, const char *key)
{
    const json_value *value = json_find(answer, key);
    return value && value->kind == JSON_BOOL && value->number > 0;
}

/* Control sequences of terminals in the answer of a run are escaped. */
static const char *plain(const json_value *answer, const char *key,
                         tool_plain_text *text)
{
    const char *found = json_find_text(answer, key);
    return tool_plain(found ? found : "", text);
}

static void print_status(const json_value *answer)
{
    tool_plain_text text;
    tool_print("genome     %s\n", plain(answer, "genome", &text));
    tool_print("backend    %s\n", plain(answer, "backend", &text));
    tool_print("burst      %s of %s\n", tool_thousands(count(answer, "burst")),
               tool_thousands(count(answer, "bursts")));
    tool_print("rate       %s bursts/s\n",
               tool_rate_text(json_find_number(answer, "bursts_per_s", 0)));
    tool_print("spikes     %s\n", tool_thousands(count(answer, "spikes")));
    tool_print("state      %s\n",
               is_true(answer, "paused") ? "paused" : "running");
    tool_print("swaps      %" PRIu64 "\n", count(answer, "swaps"));
    tool_print("failovers  %" PRIu64 "\n", count(answer, "failovers"));
}

static void print_monitor(const json_value *answer)
{
    tool_plain_text text;
    tool_print("model      %s\n", plain(answer, "model", &text));
    tool_print("device     %s\n", plain(answer, "device", &text));
    tool_print("state      %s\n",
               is_true(answer, "monitor_paused") ? "paused" : "watching");
    tool_print("records    %s by rules; by the model %s, %s too early, %s "
               "skipped\n",
               tool_thousands(count(answer, "checked")),
               tool_thousands(count(answer, "judged")),
               tool_thousands(count(answer, "early")),
               tool_thousands(count(answer, "skipped")));
    tool_print("anomalies  %s\n", tool_thousands(count(answer, "anomalies")));
    tool_print("score      %.3g of %.3g\n",
               json_find_number(answer, "score", 0),
               json_find_number(answer, "threshold", 0));
    tool_print("spent      %s, budget %.3g%%\n",
               tool_seconds(json_find_number(answer, "spent_s", 0)),
               100 * json_find_number(answer, "budget", 0));
}

static void print_done(const char *command, const json_value *answer)
{
    tool_plain_text from;
    tool_plain_text to;
    const char *burst = tool_thousands(count(answer, "burst"));
    if (strcmp(command, "swap") == 0)
        tool_print("burst %s: from %s to %s in %s\n", burst,
                   plain(answer, "from", &from), plain(answer, "to", &to),
                   tool_seconds(json_find_number(answer, "seconds", 0)));
    else if (strcmp(command, "set") == 0)
        tool_print("burst %s: %s = %g\n", burst, plain(answer, "path", &from),
                   json_find_number(answer, "value", 0));
    else if (strcmp(command, "pause") == 0)
        tool_print("paused at burst %s\n", burst);
    else if (strcmp(command, "resume") == 0)
        tool_print("continues from burst %s\n", burst);
    else if (strcmp(command, "stop") == 0)
        tool_print("stopped at burst %s\n", burst);
    else
        tool_print("%s at burst %s\n", command, burst);
}

/* The exit code that the run sent with its refusal. */
static int refused(const json_value *answer)
{
    tool_plain_text text;
    double code = json_find_number(answer, "exit_code", TOOL_EXIT_IO);
    tool_message("%s", plain(answer, "error", &text));
    return code >= 1 && code <= TOOL_EXIT_LATE ? (int)code : TOOL_EXIT_IO;
}

/* ---- one run ---------------------------------------------------------- */

static vly_status find_socket(const char *target, char *path, size_t capacity,
                              vly_error *error)
{
    uint64_t pid = 0;
    if (strchr(target, '/')) {
        if (strlen(target) >= capacity)
            return vly_fail(error, VLY_E_INVALID,
                            "%s: a path of %zu bytes, wanted at most %zu",
                            target, strlen(target), capacity - 1);
        strcpy(path, target);
        return VLY_OK;
    }
    if (!tool_read_count(target, &pid) || pid == 0 || pid > INT32_MAX)
        return vly_fail(error, VLY_E_INVALID,
                        "%s: wanted the number of a process, or the path of a "
                        "control socket with a / in it",
                        target);
    return control_find((int64_t)pid, path, capacity, error);
}

static vly_status make_line(const tool_args *args, char *line, size_t capacity,
                            vly_error *error)
{
    const char *command =
        args->n_positional > 1 ? args->positional[1] : "status";
    const char *target = args->n_positional > 2 ? args->positional[2] : "";
    bool swap = strcmp(command, "swap") == 0;
    bool set = strcmp(command, "set") == 0;
    bool monitor = strcmp(command, "monitor") == 0;
    if (swap || set ? target[0] == '\0' : target[0] != '\0' && !monitor)
        return vly_fail(
            error, VLY_E_INVALID,
            swap  ? "swap: wanted a backend, as in swap cpu:4"
            : set ? "set: wanted PATH=VALUE, as in set area.E.tau_m_ms=20"
                  : "%s %s: only swap, set and monitor take a word more",
            command, target);
    if (strpbrk(command, "\r\n") || strpbrk(target, "\r\n"))
        return vly_fail(error, VLY_E_INVALID, "a line break in a command");
    int n = snprintf(line, capacity, "%s%s%s", command,
                     target[0] != '\0' ? " " : "", target);
    if (n < 0 || (size_t)n >= capacity)
        return vly_fail(error, VLY_E_INVALID,
                        "a command of %d bytes, wanted at most %zu", n,
                        capacity - 1);
    return VLY_OK;
}

/* An answer that was read as JSON. Control sequences of terminals are escaped
 * as in JSON, since a server may send them unescaped. Only strings can hold
 * them. */
static void print_json(const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        const vly_plain_char c = vly_plain_char_at(text, left);
        if (c.is_plain)
            tool_print("%.*s", (int)c.length, text);
        else if (c.code == '\t' || c.code == '\n' || c.code == '\r')
            tool_print(" "); /* between values */
        else
            tool_print("\\u%04x", (unsigned)c.code);
        text += c.length;
        left -= c.length;
    }
}

static int control_one(const tool_args *args, char *text)
{
    char path[CONTROL_PATH_BYTES];
    char line[CONTROL_LINE_BYTES - 1];
    json_value answer;
    vly_error error = VLY_ERROR_INIT;
    if (make_line(args, line, sizeof line, &error) != VLY_OK ||
        find_socket(args->positional[0], path, sizeof path, &error) != VLY_OK ||
        control_ask(path, line, tool_number(args, "timeout", 60), text, &answer,
                    &error) != VLY_OK)
        return tool_fail(&error);
    int code = TOOL_EXIT_DONE;
    if (!is_true(&answer, "ok"))
        code = refused(&answer);
    else if (tool_has(args, "json")) {
        print_json(text);
        tool_print("\n");
    } else if (strcmp(line, "status") == 0)
        print_status(&answer);
    else if (strcmp(args->positional[1], "monitor") == 0)
        print_monitor(&answer);
    else
        print_done(args->positional[1], &answer);
    json_free(&answer);
    return code;
}

/* ---- all runs --------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return (*x > *y) - (*x < *y);
}

/* PID of "PID.sock", 0 for any other name. */
static int64_t read_name(const char *name)
{
    char *end = NULL;
    if (name[0] < '1' || name[0] > '9')
        return 0;
    long long pid = strtoll(name, &end, 10);
    return strcmp(end, ".sock") == 0 && pid <= INT32_MAX ? pid : 0;
}

static vly_status list_runs(int64_t **pids, uint32_t *n, vly_error *error)
{
    char folder[CONTROL_PATH_BYTES];
    const struct dirent *entry;
    int64_t *list = NULL;
    uint32_t n_list = 0;
    vly_status status = VLY_OK;
    status = control_folder(false, folder, sizeof folder, error);
    if (status != VLY_OK && access(folder, F_OK) != 0 && errno == ENOENT)
        return VLY_OK; /* no run has ever started */
    if (status != VLY_OK)
        return status;
    DIR *entries = opendir(folder);
    if (!entries)
        return vly_fail(error, VLY_E_IO, "%s: %s", folder, strerror(errno));
    while (status == VLY_OK && (entry = readdir(entries)) != NULL) {
        int64_t pid = read_name(entry->d_name);
        if (pid == 0)
            continue;
        int64_t *grown = vly_realloc(list, (size_t)n_list + 1, sizeof *grown);
        if (!grown) {
            status = vly_fail_nomem(error, (n_list + UINT64_C(1)) * 8, "runs");
            break;
        }
        list = grown;
        list[n_list++] = pid;
    }
    closedir(entries);
    if (status != VLY_OK) {
        vly_free(list);
        return status;
    }
    if (n_list > 0)
        qsort(list, n_list, sizeof *list, compare_numbers);
    *pids = list;
    *n = n_list;
    return VLY_OK;
}

static void print_row(const json_value *answer)
{
    tool_plain_text backend;
    tool_plain_text genome;
    tool_print("%8" PRIu64 " %16s %16s %10s %16s %-8s %-10s %s\n",
               count(answer, "pid"), tool_thousands(count(answer, "burst")),
               tool_thousands(count(answer, "bursts")),
               tool_rate_text(json_find_number(answer, "bursts_per_s", 0)),
               tool_thousands(count(answer, "spikes")),
               is_true(answer, "paused") ? "paused" : "running",
               plain(answer, "backend", &backend),
               plain(answer, "genome", &genome));
}

/* false: the run has ended, or it does not answer, which is reported. */
static bool list_one(int64_t pid, bool json, bool first, char *text)
{
    char path[CONTROL_PATH_BYTES];
    json_value answer;
    vly_error error = VLY_ERROR_INIT;
    if (control_path(false, pid, path, sizeof path, &error) != VLY_OK ||
        control_remove_stale(path))
        return false;
    if (control_ask(path, "status", list_timeout_s, text, &answer, &error) !=
        VLY_OK) {
        if (access(path, F_OK) == 0) /* otherwise the run has just ended */
            tool_message("%s", error.message);
        return false;
    }
    if (json) {
        tool_print("%s", first ? "" : ",\n");
        print_json(text);
    } else if (first)
        tool_print("%8s %16s %16s %10s %16s %-8s %-10s %s\n", "pid", "burst",
                   "of", "bursts/s", "spikes", "state", "backend", "genome");
    if (!json)
        print_row(&answer);
    json_free(&answer);
    return true;
}

static int control_all(const tool_args *args, char *text)
{
    vly_error error = VLY_ERROR_INIT;
    int64_t *pids = NULL;
    uint32_t n = 0;
    uint32_t n_shown = 0;
    bool json = tool_has(args, "json");
    if (list_runs(&pids, &n, &error) != VLY_OK)
        return tool_fail(&error);
    if (json)
        tool_print("[");
    for (uint32_t i = 0; i < n; i++)
        n_shown += list_one(pids[i], json, n_shown == 0, text);
    if (json)
        tool_print("]\n");
    else if (n_shown == 0)
        tool_message("you have no current run");
    vly_free(pids);
    return TOOL_EXIT_DONE;
}

static int run(const tool_args *args)
{
    char *text = vly_malloc(CONTROL_ANSWER_BYTES, 1);
    if (!text) {
        vly_error error = VLY_ERROR_INIT;
        vly_fail_nomem(&error, CONTROL_ANSWER_BYTES, "an answer");
        return tool_fail(&error);
    }
    int code = args->n_positional == 0 ? control_all(args, text)
                                       : control_one(args, text);
    vly_free(text);
    return code;
}

const tool_command cmd_ctl = {
    .name = "ctl",
    .arguments = "[PID|SOCKET [COMMAND]] [options]",
    .summary = "Lists the current runs, or controls one.",
    .details =
        "Commands, each executed after the current burst of the run:\n"
        "  status      burst, rate, spikes, backend (this is the default)\n"
        "  pause, resume\n"
        "  swap NAME   move to another backend; if it cannot take the net, "
        "the run\n"
        "              continues as before, exit code 3 or 5\n"
        "  set PATH=VALUE\n"
        "              change a parameter: area.NAME.PARAMETER, "
        "stimulus.ID.KEY,\n"
        "              plasticity.NAME.KEY (frozen=true: no more learning)\n"
        "  monitor pause|resume|status\n"
        "              the model that watches the run (--monitor)\n"
        "  checkpoint  write one now, into the file of --checkpoint\n"
        "  stop        like a signal: everything is written, the run's exit "
        "code is 6\n"
        "\n"
        "SOCKET is the path given to the run with --control. A user can "
        "reach only\n"
        "their own runs, root the runs of all users. Exit codes: 2 no such "
        "run or a\n"
        "wrong command, 3 and 5 as above, 4 no answer, 6 the run ended "
        "meanwhile.\n",
    .options = options,
    .n_positional_min = 0,
    .n_positional_max = 3,
    .run = run};
