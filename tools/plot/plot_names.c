/* SPDX-License-Identifier: Apache-2.0
 * Names of areas in pictures: those that are too long are cut in their middle,
 * as names of a network often begin alike, and never two to the same text. The
 * legend keeps to a part of the picture however many areas there are.
 */
#include "tools/plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* ---- names -------------------------------------------------------------- */

static bool inside(const char *text, size_t at)
{
    return ((unsigned char)text[at] & 0xc0) == 0x80;
}

/* The first and the last bytes of a name, `kept` in total, whole UTF-8
 * characters, and a tail after them. */
static void cut(const char *name, size_t kept, const char *tail, char *text,
                size_t capacity)
{
    const size_t n = strlen(name);
    size_t head = kept - kept / 2;
    size_t end = n - kept / 2;
    while (head > 0 && inside(name, head))
        head--;
    while (end < n && inside(name, end))
        end++;
    snprintf(text, capacity, "%.*s...%s%s", (int)head, name, name + end, tail);
}

static bool fits(plot_figure *figure, double points, double width,
                 const char *text)
{
    return plot_text_width(figure, points, text) <= width + 0.01;
}

/* As much of name as fits together with tail. */
static vly_status shorten(plot_figure *figure, double points, double width,
                          const char *name, const char *tail, char **shown,
                          vly_error *error)
{
    const size_t n = strlen(name);
    const size_t capacity = n + strlen(tail) + 4;
    char *text = vly_malloc(capacity, 1);
    if (!text)
        return vly_fail_nomem(error, capacity, "a name");
    snprintf(text, capacity, "%s%s", name, tail);
    /* of very long names only lengths that may fit are tried */
    size_t kept = n < 512 ? n : 512;
    while (kept > 0 && !fits(figure, points, width, text))
        cut(name, --kept, tail, text, capacity);
    vly_free(*shown);
    *shown = text;
    return VLY_OK;
}

typedef struct numbered {
    const char *text;
    uint32_t index;
} numbered;

static int by_text(const void *a, const void *b)
{
    const numbered *x = a;
    const numbered *y = b;
    const int order = strcmp(x->text, y->text);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

static bool boundary(char c)
{
    return c != '\0' && strchr("_-./: ,", c);
}

/* Lengths in bytes of the common prefix and suffix of a group of names, up to
 * the last word boundary before they differ. */
static void common_ends(const numbered *group, uint32_t n,
                        const char *const *from, size_t *begin, size_t *end)
{
    const char *first = from[group[0].index];
    const size_t length = strlen(first);
    size_t head = length;
    size_t tail = length;
    for (uint32_t k = 1; k < n; k++) {
        const char *other = from[group[k].index];
        const size_t n_other = strlen(other);
        size_t same = 0;
        while (same < head && other[same] == first[same])
            same++;
        head = same;
        same = 0;
        while (same < tail && same < n_other &&
               other[n_other - 1 - same] == first[length - 1 - same])
            same++;
        tail = same;
    }
    while (head > 0 && !boundary(first[head - 1]))
        head--;
    while (tail > 0 && !boundary(first[length - tail]))
        tail--;
    *begin = head;
    *end = tail;
}

/* Only the part in which a name differs from the others of its group:
 * "...4_left...". */
static vly_status show_difference(plot_figure *figure, const plot_names *names,
                                  const char *name, size_t begin, size_t end,
                                  char **shown, vly_error *error)
{
    const size_t n = strlen(name);
    char *text = begin + end < n ? vly_format("%s%.*s%s", begin ? "..." : "",
                                              (int)(n - begin - end),
                                              name + begin, end ? "..." : "")
                                 : vly_strdup("...");
    if (!text)
        return vly_fail_nomem(error, n, "a name");
    if (!fits(figure, names->points, names->width, text) ||
        begin + end >= n) { /* the group needs numbers */
        vly_free(text);
        text = NULL;
    }
    *shown = text;
    return VLY_OK;
}

/* Names that became the same are shown by the part in which they differ; if
 * that is too long, with their position among the areas as a suffix, from 1. */
static vly_status tell_group_apart(plot_figure *figure, const plot_names *names,
                                   const char *const *from,
                                   const numbered *group, uint32_t n,
                                   bool by_number, vly_error *error)
{
    size_t begin = 0;
    size_t end = 0;
    vly_status status = VLY_OK;
    common_ends(group, n, from, &begin, &end);
    for (uint32_t k = 0; k < n && status == VLY_OK; k++) {
        const uint32_t a = group[k].index;
        char *shown = NULL;
        char tail[16];
        snprintf(tail, sizeof tail, " (%u)", a + 1);
        if (!by_number)
            status = show_difference(figure, names, from[a], begin, end, &shown,
                                     error);
        if (status == VLY_OK && !shown)
            status = shorten(figure, names->points, names->width, from[a], tail,
                             &shown, error);
        if (status != VLY_OK)
            break;
        vly_free(names->shown[a]);
        names->shown[a] = shown;
    }
    return status;
}

static vly_status tell_apart(plot_figure *figure, const plot_names *names,
                             const char *const *from, numbered *sorted,
                             bool by_number, vly_error *error)
{
    vly_status status = VLY_OK;
    uint32_t next = 0;
    for (uint32_t i = 0; i < names->n; i++)
        sorted[i] = (numbered){names->shown[i], i};
    qsort(sorted, names->n, sizeof *sorted, by_text);
    for (uint32_t i = 0; i < names->n && status == VLY_OK; i = next) {
        next = i + 1;
        while (next < names->n &&
               strcmp(sorted[i].text, sorted[next].text) == 0)
            next++;
        if (next - i > 1)
            status = tell_group_apart(figure, names, from, sorted + i, next - i,
                                      by_number, error);
    }
    return status;
}

vly_status plot_names_init(plot_names *names, plot_figure *figure,
                           double points, double width, const char *const *from,
                           uint32_t n, vly_error *error)
{
    vly_status status = VLY_OK;
    numbered *sorted = vly_calloc(n + (size_t)1, sizeof *sorted);
    *names = (plot_names){.n = n, .points = points, .width = width};
    names->shown = vly_calloc(n + (size_t)1, sizeof *names->shown);
    if (!sorted || !names->shown) {
        status = vly_fail_nomem(error, n * sizeof *sorted, "names");
        goto out;
    }
    for (uint32_t i = 0; i < n; i++)
        VLY_TRY(shorten(figure, points, width, from[i], "", &names->shown[i],
                        error));
    VLY_TRY(tell_apart(figure, names, from, sorted, false, error));
    /* two groups may have become the same */
    VLY_TRY(tell_apart(figure, names, from, sorted, true, error));
    for (uint32_t i = 0; i < n; i++)
        names->widest = fmax(names->widest,
                             plot_text_width(figure, points, names->shown[i]));
out:
    vly_free(sorted);
    return status;
}

void plot_names_deinit(plot_names *names)
{
    for (uint32_t i = 0; names->shown && i < names->n; i++)
        vly_free(names->shown[i]);
    vly_free(names->shown);
    *names = (plot_names){0};
}

vly_status plot_area_names(plot_names *names, plot_figure *figure,
                           double points, double width, const plot_data *data,
                           vly_error *error)
{
    const char **from = vly_calloc(data->n_areas + (size_t)1, sizeof *from);
    *names = (plot_names){0};
    if (!from)
        return vly_fail_nomem(error, data->n_areas * sizeof *from, "names");
    for (uint32_t a = 0; a < data->n_areas; a++)
        from[a] = data->areas[a].name;
    vly_status status = plot_names_init(names, figure, points, width, from,
                                        data->n_areas, error);
    vly_free(from);
    return status;
}

/* ---- the legend --------------------------------------------------------- */

static const double stroke = 14;
static const double stroke_gap = 4; /* and its name */
static const double item_gap = 12;

typedef struct legend {
    plot_figure *figure;
    const plot_names *names;
    double x, y, width;
    double pitch;     /* of lines */
    uint32_t n_lines; /* at most */
} legend;

static double item_width(const legend *of, uint32_t a)
{
    return stroke + stroke_gap +
           plot_text_width(of->figure, of->names->points, of->names->shown[a]) +
           item_gap;
}

static void draw_item(const legend *of, uint32_t a, double x, double y)
{
    plot_figure *figure = of->figure;
    plot_set_colour(figure, plot_area_colour(a));
    cairo.set_line_width(figure->cairo, 2);
    plot_set_dash(figure, a);
    cairo.move_to(figure->cairo, x, y);
    cairo.line_to(figure->cairo, x + stroke, y);
    cairo.stroke(figure->cairo);
    cairo.set_dash(figure->cairo, NULL, 0, 0);
    plot_set_colour(figure, (plot_colour){0, 0, 0});
    plot_text(figure, x + stroke + stroke_gap, y, PLOT_LEFT, of->names->points,
              0, of->names->shown[a]);
}

/* Names of areas one after the other. If not all fit, the last line ends in the
 * number of those left out. Returns the number of lines; draw false: only
 * counts. */
static uint32_t flow(const legend *of, bool draw)
{
    double at = 0;
    uint32_t line = 0;
    const uint32_t n = of->names->n;
    for (uint32_t a = 0; a < n; a++) {
        const double wide = item_width(of, a);
        char more[64];
        snprintf(more, sizeof more, "and %u more: --area NAME shows one",
                 n - a);
        const double last =
            plot_text_width(of->figure, of->names->points, more);
        if (at > 0 && at + wide - item_gap > of->width) {
            at = 0;
            line++;
        }
        /* must the remaining names be counted here? */
        if (draw && a + 1 < n && line + 1 == of->n_lines &&
            at + wide + last > of->width) {
            plot_set_colour(of->figure, (plot_colour){0.3, 0.3, 0.3});
            plot_text(of->figure, of->x + at, of->y + 6 + line * of->pitch,
                      PLOT_LEFT, of->names->points, 0, more);
            return line + 1;
        }
        if (draw)
            draw_item(of, a, of->x + at, of->y + 6 + line * of->pitch);
        at += wide;
    }
    return line + 1;
}

vly_status plot_legend(plot_figure *figure, const plot_data *data, double x,
                       double y, double width, double *height, vly_error *error)
{
    /* smaller, closer, with shorter names until all fit */
    static const struct {
        double points, pitch, name;
    } tries[] = {{8, 12, 0.9}, {7, 9.5, 0.9}, {6.5, 8.5, 0.28}, {6, 8, 0.17}};
    const size_t n_tries = sizeof tries / sizeof tries[0];
    /* a quarter of the picture, but at least one line */
    const double room = fmax(figure->height / 4, 12);
    vly_status status = VLY_OK;
    for (size_t t = 0; t < n_tries; t++) {
        plot_names names;
        status = plot_area_names(&names, figure, tries[t].points,
                                 tries[t].name * width, data, error);
        if (status != VLY_OK) {
            plot_names_deinit(&names);
            break;
        }
        legend of = {figure,
                     &names,
                     x,
                     y,
                     width,
                     tries[t].pitch,
                     (uint32_t)(room / tries[t].pitch)};
        uint32_t n_lines = flow(&of, false);
        const bool fit = n_lines <= of.n_lines;
        if (fit || t + 1 == n_tries) {
            if (fit)
                of.n_lines = UINT32_MAX;
            n_lines = flow(&of, true);
            *height = (n_lines - 1) * of.pitch + 16;
            t = n_tries;
        }
        plot_names_deinit(&names);
    }
    return status;
}
