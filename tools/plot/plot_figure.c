/* SPDX-License-Identifier: Apache-2.0
 * Surfaces, text, colours and layers of pictures by cairo.
 */
#include "tools/plot/plot_figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/plain.h"
#include "tools/cli/tool.h"

/* cairo's images end at 32767 pixels a side; 400 MB are enough for a poster. */
static const double pixels_max = 1e8;
static const double side_max = 32767;
/* With less free memory a failure of the libraries counts as out of memory. */
static const size_t room_bytes = (size_t)16 << 20;

static plot_colour from_rgb(uint32_t rgb)
{
    return (plot_colour){(rgb >> 16) / 255.0, (rgb >> 8 & 255) / 255.0,
                         (rgb & 255) / 255.0};
}

plot_colour plot_area_colour(uint32_t index)
{
    static const uint32_t colours[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7,
                                       0xe69f00, 0x56b4e9, 0x555555};
    return from_rgb(colours[index % 7]);
}

plot_colour plot_scale_colour(double value)
{
    static const uint32_t anchors[] = {0x440154, 0x472d7b, 0x3b528b,
                                       0x2c728e, 0x21918c, 0x28ae80,
                                       0x5ec962, 0xaddc30, 0xfde725};
    const double at = (value > 0 ? (value < 1 ? value : 1) : 0) * 8;
    const uint32_t i = at < 8 ? (uint32_t)at : 7;
    const plot_colour a = from_rgb(anchors[i]);
    const plot_colour b = from_rgb(anchors[i + 1]);
    const double t = at - i;
    return (plot_colour){a.r + t * (b.r - a.r), a.g + t * (b.g - a.g),
                         a.b + t * (b.b - a.b)};
}

void plot_set_colour(plot_figure *figure, plot_colour colour)
{
    cairo.set_source_rgb(figure->cairo, colour.r, colour.g, colour.b);
}

/* ---- files -------------------------------------------------------------- */

/* cairo has only one error for all failures of FreeType and libpng. */
static bool is_memory(int why)
{
    if (why != PLOT_CAIRO_FREETYPE_ERROR && why != PLOT_CAIRO_PNG_ERROR)
        return why == PLOT_CAIRO_NO_MEMORY;
    void *room = vly_calloc(1, room_bytes);
    vly_free(room);
    return !room;
}

static vly_status drawing_failed(int why, const char *path, vly_error *error)
{
    if (is_memory(why))
        return vly_fail(error, VLY_E_NOMEM, "out of memory: %s cannot be drawn",
                        path);
    return vly_fail(error, VLY_E_IO, "%s: cannot be drawn: %s", path,
                    cairo.status_to_string(why));
}

static int put_bytes(void *context, const unsigned char *bytes, unsigned n)
{
    const plot_figure *figure = context;
    return figure->put(figure->to, bytes, n) ? PLOT_CAIRO_SUCCESS
                                             : PLOT_CAIRO_WRITE_ERROR;
}

vly_status plot_page_check(const plot_page *page, vly_error *error)
{
    const double width = page->width * page->dpi / 72;
    const double height = page->height * page->dpi / 72;
    if (!tool_ends_in(page->path, ".svg") && !tool_ends_in(page->path, ".png"))
        return vly_fail(error, VLY_E_INVALID,
                        "%s: a picture ends in .png or .svg", page->path);
    if (width > side_max || height > side_max || width * height > pixels_max)
        return vly_fail(error, VLY_E_INVALID,
                        "%s: %.0f x %.0f pixels, wanted at most %.0f a side "
                        "and %.0f million",
                        page->path, width, height, side_max, pixels_max / 1e6);
    return VLY_OK;
}

vly_status plot_figure_init(plot_figure *figure, const plot_page *page,
                            plot_put put, void *to, vly_error *error)
{
    const double scale = page->dpi / 72;
    *figure = (plot_figure){.width = page->width,
                            .height = page->height,
                            .dpi = page->dpi,
                            .svg = tool_ends_in(page->path, ".svg"),
                            .path = page->path,
                            .put = put,
                            .to = to};
    vly_status status = plot_page_check(page, error);
    if (status == VLY_OK)
        status = plot_cairo_open(error);
    if (status != VLY_OK)
        return status;
    figure->surface =
        figure->svg
            ? cairo.svg_surface_create_for_stream(put_bytes, figure,
                                                  page->width, page->height)
            : cairo.image_surface_create(PLOT_CAIRO_RGB24,
                                         (int)ceil(page->width * scale),
                                         (int)ceil(page->height * scale));
    figure->cairo = cairo.create(figure->surface);
    if (cairo.status(figure->cairo) != PLOT_CAIRO_SUCCESS)
        return drawing_failed(cairo.status(figure->cairo), figure->path, error);
    if (!figure->svg)
        cairo.scale(figure->cairo, scale, scale);
    cairo.set_source_rgb(figure->cairo, 1, 1, 1);
    cairo.paint(figure->cairo);
    cairo.select_font_face(figure->cairo, "sans-serif", PLOT_CAIRO_SLANT_NORMAL,
                           PLOT_CAIRO_WEIGHT_NORMAL);
    cairo.set_line_width(figure->cairo, 0.75);
    cairo.set_source_rgb(figure->cairo, 0, 0, 0);
    return VLY_OK;
}

vly_status plot_figure_write(plot_figure *figure, vly_error *error)
{
    int why = cairo.status(figure->cairo);
    cairo.show_page(figure->cairo);
    if (why == PLOT_CAIRO_SUCCESS && !figure->svg)
        why = cairo.surface_write_to_png_stream(figure->surface, put_bytes,
                                                figure);
    cairo.surface_finish(figure->surface);
    if (why == PLOT_CAIRO_SUCCESS)
        why = cairo.surface_status(figure->surface);
    return why == PLOT_CAIRO_SUCCESS ? VLY_OK
                                     : drawing_failed(why, figure->path, error);
}

void plot_figure_deinit(plot_figure *figure)
{
    if (figure->cairo)
        cairo.destroy(figure->cairo);
    if (figure->surface) {
        cairo.surface_finish(figure->surface);
        cairo.surface_destroy(figure->surface);
    }
    *figure = (plot_figure){0};
}

/* ---- text --------------------------------------------------------------- */

/* As much of text as fits into capacity. Bytes that are not UTF-8, which cairo
 * refuses, and control characters, which XML refuses, become question marks:
 * names come from arbitrary files. */
static const char *legible(const char *text, char *copy, size_t capacity)
{
    size_t n = 0;
    size_t left = strlen(text);
    while (left > 0 && n + 5 < capacity) {
        const vly_plain_char c = vly_plain_char_at(text, left);
        if (c.is_plain)
            memcpy(copy + n, text, c.length);
        else
            copy[n] = '?';
        n += c.is_plain ? c.length : 1;
        text += c.length;
        left -= c.length;
    }
    copy[n] = '\0';
    return copy;
}

double plot_text_width(plot_figure *figure, double points, const char *text)
{
    plot_text_extents extents;
    char copy[1024];
    cairo.set_font_size(figure->cairo, points);
    cairo.text_extents(figure->cairo, legible(text, copy, sizeof copy),
                       &extents);
    return extents.x_advance;
}

/* text, or the part that fits before "..."; UTF-8 is cut between characters. */
static const char *fit(plot_figure *figure, double points, double width,
                       const char *text, char *copy, size_t capacity)
{
    size_t n = strlen(text);
    if (n < capacity &&
        (width <= 0 || plot_text_width(figure, points, text) <= width + 0.01))
        return text;
    if (n > capacity - 4)
        n = capacity - 4;
    do {
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
        memcpy(copy, text, n);
        memcpy(copy + n, "...", 4);
    } while (n > 0 && n-- && width > 0 &&
             plot_text_width(figure, points, copy) > width);
    return copy;
}

void plot_text(plot_figure *figure, double x, double y, plot_anchor anchor,
               double points, double width, const char *text)
{
    char copy[256];
    plot_font_extents font;
    char good[1024];
    const char *shown =
        fit(figure, points, width, legible(text, good, sizeof good), copy,
            sizeof copy);
    const double wide = plot_text_width(figure, points, shown);
    cairo.font_extents(figure->cairo, &font);
    cairo.move_to(figure->cairo, x - wide * (int)anchor / 2,
                  y + (font.ascent - font.descent) / 2);
    cairo.show_text(figure->cairo, shown);
}

void plot_text_upwards(plot_figure *figure, double x, double y, double points,
                       double width, const char *text)
{
    cairo.save(figure->cairo);
    cairo.translate(figure->cairo, x, y);
    cairo.rotate(figure->cairo, -acos(-1.0) / 2);
    plot_text(figure, 0, 0, PLOT_CENTRE, points, width, text);
    cairo.restore(figure->cairo);
}

/* ---- layers ------------------------------------------------------------- */

vly_status plot_layer_init(plot_layer *layer, const plot_figure *figure,
                           double x, double y, double width, double height,
                           vly_error *error)
{
    enum { DOTS_MAX = 32767 }; /* of cairo, to a side */
    *layer = (plot_layer){.x = x, .y = y, .scale = figure->dpi / 72};
    if (!(width > 0) || !(height > 0))
        return vly_fail(error, VLY_E_INVALID,
                        "no room in a picture of %.3g x %.3g inches beside its "
                        "texts, wanted more --width or --height",
                        figure->width / 72, figure->height / 72);
    if (!(width * layer->scale <= DOTS_MAX) ||
        !(height * layer->scale <= DOTS_MAX))
        return vly_fail(error, VLY_E_INVALID,
                        "a picture of more than %d dots to a side, wanted less "
                        "--dpi, --width or --height",
                        DOTS_MAX);
    layer->width = (uint32_t)ceil(width * layer->scale);
    layer->height = (uint32_t)ceil(height * layer->scale);
    layer->surface = cairo.image_surface_create(
        PLOT_CAIRO_ARGB32, (int)layer->width, (int)layer->height);
    if (cairo.surface_status(layer->surface) != PLOT_CAIRO_SUCCESS)
        return vly_fail_nomem(error, (uint64_t)layer->width * layer->height * 4,
                              "a picture");
    cairo.surface_flush(layer->surface);
    /* cairo aligns what it allocates for 32-bit pixels */
    layer->pixels =
        (uint32_t *)(void *)cairo.image_surface_get_data(layer->surface);
    layer->stride =
        (uint32_t)cairo.image_surface_get_stride(layer->surface) / 4;
    return VLY_OK;
}

void plot_layer_draw(plot_layer *layer, plot_figure *figure)
{
    cairo.surface_mark_dirty(layer->surface);
    cairo.save(figure->cairo);
    cairo.translate(figure->cairo, layer->x, layer->y);
    cairo.scale(figure->cairo, 1 / layer->scale, 1 / layer->scale);
    cairo.set_source_surface(figure->cairo, layer->surface, 0, 0);
    cairo.pattern_set_filter(cairo.get_source(figure->cairo),
                             PLOT_CAIRO_FILTER_NEAREST);
    cairo.paint(figure->cairo);
    cairo.restore(figure->cairo);
}

void plot_layer_deinit(plot_layer *layer)
{
    if (layer->surface)
        cairo.surface_destroy(layer->surface);
    *layer = (plot_layer){0};
}
