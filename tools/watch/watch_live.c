/* SPDX-License-Identifier: Apache-2.0
 * A view of a run: on a terminal a table that is drawn again in place,
 * elsewhere a line of text a second. On stderr, so that stdout stays the
 * results'.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "tools/cli/columns.h"
#include "tools/cli/tool.h"
#include "tools/watch/run_watch.h"

/* Interval between two drawings, and the time over which rates are measured. */
static const uint64_t terminal_ns = 250000000;
static const uint64_t plain_ns = 1000000000;

struct watch_live {
    const run_watch *watch;
    const watch_net *net;
    const vly_telemetry_ring *ring;
    bool terminal;
    uint64_t next_ns;
    uint32_t n_drawn; /* lines on the terminal */
    bool any;
    vly_telemetry_sample before;
    vly_telemetry_sample now;
    uint64_t *areas_before; /* [n_areas] */
    uint64_t *areas_now;
};

static void terminal_size(uint32_t *rows, uint32_t *columns)
{
    struct winsize size;
    *rows = 24;
    *columns = 80;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0)
        return;
    if (size.ws_row > 4)
        *rows = size.ws_row;
    if (size.ws_col > 20)
        *columns = size.ws_col;
}

/* One line, cut at the edge of the terminal: a wrapped line would count as
 * two. */
static void put_row(watch_live *live, uint32_t columns, const char *text)
{
    tool_plain_text plain; /* names of the backend and of areas may contain any
                            * characters */
    const char *shown = tool_plain(text, &plain);
    fprintf(stderr, "\r\033[K%.*s\n", TOOL_FIT(shown, (int)columns - 1));
    live->n_drawn++;
}

#define NAME_COLUMNS 18

static void put_area(watch_live *live, uint32_t columns, uint32_t area,
                     double hz, double highest)
{
    static const char marks[] = "########################################";
    char text[512];
    const double most = fmax(0, (double)columns - 44);
    const int wide =
        (int)(fmin(most, 40) * (highest > 0 ? hz / highest : 0) + 0.5);
    tool_plain_text plain;
    char name[NAME_COLUMNS * 4 + 1];
    tool_plain(live->net->areas[area], &plain);
    snprintf(name, sizeof name, "%.*s", TOOL_FIT(plain.text, NAME_COLUMNS));
    snprintf(text, sizeof text, "%s%.*s %11s %9.3g Hz  %.*s", name,
             NAME_COLUMNS - tool_columns(name), "                  ",
             tool_thousands(live->net->neurons[area]), hz, wide, marks);
    put_row(live, columns, text);
}

static void head_text(const watch_live *live, const watch_rates *rates,
                      char *text, size_t n)
{
    const watch_net *net = live->net;
    char backend[64];
    char real_time[32] = "-";
    watch_backend(live->watch, backend, sizeof backend);
    if (rates->bursts > 0)
        snprintf(real_time, sizeof real_time, "%.3g", rates->real_time);
    snprintf(text, n,
             "burst %s of %s (%.0f%%), %s, real-time factor %s, %s events/s",
             tool_thousands(live->now.bursts), tool_thousands(net->n_bursts),
             100.0 * (double)live->now.bursts / fmax(1, (double)net->n_bursts),
             backend, real_time, tool_rate_text(rates->events_per_s));
}

static void draw_terminal(watch_live *live, const watch_rates *rates)
{
    const watch_net *net = live->net;
    uint32_t rows = 0;
    uint32_t columns = 0;
    char text[512];
    double highest = 0;
    terminal_size(&rows, &columns);
    if (live->n_drawn > 0)
        fprintf(stderr, "\033[%uA", live->n_drawn);
    live->n_drawn = 0;
    head_text(live, rates, text, sizeof text);
    put_row(live, columns, text);
    /* the heading, a line for areas that are left out, the line of the
     * cursor */
    const uint32_t room = rows - 3;
    const uint32_t shown = net->n_areas < room ? net->n_areas : room;
    for (uint32_t a = 0; a < shown; a++)
        highest = fmax(highest, watch_area_hz(net, a, rates, live->areas_before,
                                              live->areas_now));
    for (uint32_t a = 0; a < shown; a++)
        put_area(
            live, columns, a,
            watch_area_hz(net, a, rates, live->areas_before, live->areas_now),
            highest);
    if (shown < net->n_areas) {
        snprintf(text, sizeof text, "and %u more areas", net->n_areas - shown);
        put_row(live, columns, text);
    }
    fflush(stderr);
}

static void draw_plain(watch_live *live, const watch_rates *rates)
{
    const watch_net *net = live->net;
    char text[512];
    head_text(live, rates, text, sizeof text);
    tool_plain_text head;
    fprintf(stderr, "%s;", tool_plain(text, &head));
    const uint32_t shown = net->n_areas < 16 ? net->n_areas : 16;
    for (uint32_t a = 0; a < shown; a++) {
        tool_plain_text plain;
        fprintf(
            stderr, " %s %.3g", tool_plain(net->areas[a], &plain),
            watch_area_hz(net, a, rates, live->areas_before, live->areas_now));
    }
    fprintf(stderr, "%s Hz\n", shown < net->n_areas ? " ..." : "");
}

static void draw(watch_live *live)
{
    if (!vly_telemetry_last(live->ring, &live->now, live->areas_now))
        return;
    if (!live->any)
        live->before = live->now;
    const watch_rates rates =
        watch_rates_of(live->net, &live->before, &live->now);
    if (live->terminal)
        draw_terminal(live, &rates);
    else if (live->any)
        draw_plain(live, &rates);
    /* rates are measured from the last drawing with new bursts */
    if (rates.bursts > 0 || !live->any) {
        uint64_t *areas = live->areas_before;
        live->areas_before = live->areas_now;
        live->areas_now = areas;
        live->before = live->now;
    }
    live->any = true;
}

vly_status watch_live_open(const run_watch *watch, const watch_net *net,
                           const vly_telemetry_ring *ring, watch_live **live,
                           vly_error *error)
{
    watch_live *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a view");
    made->watch = watch;
    made->net = net;
    made->ring = ring;
    made->areas_before =
        vly_calloc((size_t)net->n_areas + 1, sizeof *made->areas_before);
    made->areas_now =
        vly_calloc((size_t)net->n_areas + 1, sizeof *made->areas_now);
    if (!made->areas_before || !made->areas_now) {
        watch_live_close(made);
        return vly_fail_nomem(error, net->n_areas * UINT64_C(16), "areas");
    }
    made->terminal = isatty(STDERR_FILENO) != 0;
    /* rates begin here, so that a run shorter than the interval has rates
     * too */
    made->any = vly_telemetry_last(ring, &made->before, made->areas_before);
    if (!made->terminal)
        made->next_ns = vly_clock_ns() + plain_ns;
    *live = made;
    return VLY_OK;
}

void watch_live_look(watch_live *live)
{
    const uint64_t now = vly_clock_ns();
    if (now < live->next_ns)
        return;
    live->next_ns = now + (live->terminal ? terminal_ns : plain_ns);
    draw(live);
}

void watch_live_close(watch_live *live)
{
    if (!live)
        return;
    if (live->areas_before && live->areas_now)
        draw(live); /* the end of it */
    vly_free(live->areas_before);
    vly_free(live->areas_now);
    vly_free(live);
}
