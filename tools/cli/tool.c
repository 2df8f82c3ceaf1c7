/* SPDX-License-Identifier: Apache-2.0
 * Messages, numbers for people, signals, progress.
 */
#include "tools/cli/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/plain.h"
#include "base/temporary.h"
#include "base/thread.h"

static vly_net *volatile watched;
static volatile sig_atomic_t stopped;
static volatile uint64_t stopped_ns;
static volatile sig_atomic_t deferred;
static char made_folder[PATH_MAX];   /* by this call, or "" */
static const char *volatile guarded; /* a file that is mapped */

const char *tool_plain(const char *text, tool_plain_text *copy)
{
    vly_plain(text, false, copy->text, sizeof copy->text);
    return copy->text;
}

/* All text for people goes through here: the text of a plugin, a genome, a file
 * name or a client may contain control sequences of terminals. If memory runs
 * out, the end is lost. */
static void __attribute__((format(printf, 3, 0)))
put_plain(FILE *file, bool keep_lines, const char *format, va_list arguments)
{
    char text[2048];
    char shown[2048];
    char *more = NULL;
    char *more_shown = NULL;
    va_list again;
    va_copy(again, arguments);
    const int n = vsnprintf(text, sizeof text, format, arguments);
    if (n >= (int)sizeof text && (more = vly_malloc((size_t)n + 1, 1)) != NULL)
        vsnprintf(more, (size_t)n + 1, format, again);
    va_end(again);
    const char *whole = more ? more : text;
    const size_t length = vly_plain(whole, keep_lines, shown, sizeof shown);
    if (length >= sizeof shown &&
        (more_shown = vly_malloc(length + 1, 1)) != NULL)
        vly_plain(whole, keep_lines, more_shown, length + 1);
    fputs(more_shown ? more_shown : shown, file);
    vly_free(more_shown);
    vly_free(more);
}

/* Locked, so that lines of threads do not mix. */
void tool_message(const char *format, ...)
{
    va_list arguments;
    flockfile(stderr);
    fputs("volley: ", stderr);
    va_start(arguments, format);
    put_plain(stderr, false, format, arguments);
    va_end(arguments);
    fputs("\n", stderr);
    funlockfile(stderr);
}

/* Removes the folder only while it is empty; otherwise rmdir fails, as
 * intended. */
void tool_folder_remove(void)
{
    if (made_folder[0] != '\0')
        rmdir(made_folder);
}

void tool_folder_keep(void)
{
    made_folder[0] = '\0';
}

int tool_fail(const vly_error *error)
{
    tool_message("%s", error->message);
    tool_folder_remove();
    return vly_status_exit_code(error->status);
}

void tool_print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_plain(stdout, true, format, arguments);
    va_end(arguments);
}

/* ---- numbers for people ----------------------------------------------- */

enum { TEXT_BYTES = 64 };

static char *next_text(void)
{
    static _Thread_local char ring[16][TEXT_BYTES];
    static _Thread_local uint32_t next;
    return ring[next++ % 16];
}

const char *tool_thousands(uint64_t value)
{
    char digits[24];
    char *text = next_text();
    int n = snprintf(digits, sizeof digits, "%" PRIu64, value);
    int at = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

/* Three digits and k, M, G, T; a space before letter or unit. */
static const char *scaled_text(double value, const char *unit)
{
    static const char *const letters[] = {"", "k", "M", "G", "T"};
    uint32_t k = 0;
    while (value >= 999.5 && k < 4) {
        value /= 1000.0;
        k++;
    }
    char *text = next_text();
    bool space = k > 0 || unit[0] != '\0';
    snprintf(text, TEXT_BYTES, "%.3g%s%s%s", value, space ? " " : "",
             letters[k], unit);
    return text;
}

const char *tool_rate_text(double value)
{
    return scaled_text(value, "");
}

const char *tool_bytes(uint64_t bytes)
{
    return scaled_text((double)bytes, "B");
}

const char *tool_seconds(double seconds)
{
    char *text = next_text();
    if (seconds < 1e-3)
        snprintf(text, TEXT_BYTES, "%.3g us", seconds * 1e6);
    else if (seconds < 1.0)
        snprintf(text, TEXT_BYTES, "%.3g ms", seconds * 1e3);
    else if (seconds < 100.0)
        snprintf(text, TEXT_BYTES, "%.3g s", seconds);
    else if (seconds < 6000.0)
        snprintf(text, TEXT_BYTES, "%.0f min %02.0f s", floor(seconds / 60.0),
                 fmod(seconds, 60.0));
    else
        snprintf(text, TEXT_BYTES, "%.0f h %02.0f min", floor(seconds / 3600.0),
                 floor(fmod(seconds, 3600.0) / 60.0));
    return text;
}

const char *tool_hash_text(const uint64_t hash[2])
{
    char *text = next_text();
    vly_hash_print((vly_hash){{hash[0], hash[1]}}, text);
    return text;
}

bool tool_ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text);
    const size_t m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

const char *tool_time_text(void)
{
    char *text = next_text();
    struct timespec now = {0};
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!gmtime_r(&now.tv_sec, &parts))
        return "";
    size_t n = strftime(text, TEXT_BYTES, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + n, TEXT_BYTES - n, ".%03ldZ", now.tv_nsec / 1000000);
    return text;
}

const char *tool_number_text(double value)
{
    char *text = next_text();
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, TEXT_BYTES, "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (!(back < value) && !(back > value))
            break;
    }
    return text;
}

/* ---- signals ---------------------------------------------------------- */

static void tell(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written; /* a failed write cannot be reported any more */
}

vly_status tool_folder_make(const char *folder)
{
    bool was = deferred;
    deferred = true;
    int failed = mkdir(folder, 0777);
    int reason = errno;
    if (failed == 0)
        snprintf(made_folder, sizeof made_folder, "%s", folder);
    tool_signals_defer(was);
    errno = reason;
    return failed == 0 ? VLY_OK : VLY_E_IO;
}

static void quit(void)
{
    vly_temporary_remove_all();
    tool_folder_remove();
    tell("volley: stopped by a signal\n");
    _exit(TOOL_EXIT_STOPPED);
}

/* timeout(1) and other programs send one request twice: to the process and to
 * its group.
 */
#define ONE_REQUEST_NS UINT64_C(300000000)

/* Calls only functions that POSIX lists as async-signal-safe. */
static void on_signal(int number)
{
    if (!deferred)
        quit();
    const uint64_t now_ns = vly_clock_ns();
    if (stopped && now_ns - stopped_ns < ONE_REQUEST_NS)
        return;
    if (stopped) { /* a second signal, of any kind */
        vly_temporary_remove_all();
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    stopped_ns = now_ns;
    stopped = 1;
    vly_net *net = watched;
    if (net)
        vly_net_stop(net);
}

/* The page at the fault address is no longer part of the mapped file. For any
 * other address the default action is restored; it takes effect when the
 * instruction runs again. */
static void on_bus(int number, siginfo_t *info, void *context)
{
    const char *path = guarded;
    (void)context;
    if (!path || info->si_code != BUS_ADRERR) {
        signal(number, SIG_DFL);
        return;
    }
    tell("volley: ");
    tell(path);
    tell(": was cut, or could not be read, while it was looked at\n");
    _exit(TOOL_EXIT_IO);
}

void tool_signals_guard(const char *path)
{
    static tool_plain_text shown; /* a handler may not make it */
    struct sigaction action;
    guarded = path ? tool_plain(path, &shown) : NULL;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_sigaction = on_bus;
    action.sa_flags = SA_SIGINFO;
    if (!path)
        action.sa_handler = SIG_DFL;
    sigaction(SIGBUS, &action, NULL);
}

void tool_signals_init(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* a closed terminal; ignored under nohup */
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
}

void tool_signals_defer(bool on)
{
    deferred = on;
    if (!on && stopped)
        quit();
}

void tool_signals_watch(vly_net *net)
{
    watched = net;
}

bool tool_signals_stopped(void)
{
    return stopped != 0;
}

/* ---- progress --------------------------------------------------------- */

static const uint64_t progress_ns = 200000000;
static const uint64_t line_ns = UINT64_C(60000000000);

void tool_progress_begin(tool_progress *progress, bool quiet, uint64_t first,
                         uint64_t last, double dt_ms)
{
    progress->shown = !quiet && last > first;
    progress->lines = !isatty(STDERR_FILENO);
    progress->begin_ns = vly_clock_ns();
    progress->next_ns =
        progress->begin_ns + (progress->lines ? line_ns : progress_ns);
    progress->first = first;
    progress->last = last;
    progress->dt_ms = dt_ms;
}

void tool_progress_update(tool_progress *progress, uint64_t burst)
{
    if (!progress->shown)
        return;
    uint64_t now = vly_clock_ns();
    if (now < progress->next_ns || burst <= progress->first)
        return;
    progress->next_ns = now + (progress->lines ? line_ns : progress_ns);
    double seconds = (double)(now - progress->begin_ns) * 1e-9;
    double done = (double)(burst - progress->first);
    double all = (double)(progress->last - progress->first);
    fprintf(stderr,
            "%s%s / %s bursts  %.0f%%  %s bursts/s  real-time factor %.3g  "
            "%s left%s",
            progress->lines ? "volley: " : "\r", tool_thousands(burst),
            tool_thousands(progress->last), 100.0 * done / all,
            tool_rate_text(done / seconds),
            seconds / (done * progress->dt_ms * 1e-3),
            tool_seconds(seconds * (all - done) / done),
            progress->lines ? "\n" : "\033[K");
    fflush(stderr);
}

void tool_progress_end(tool_progress *progress)
{
    if (progress->shown && !progress->lines)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
