/* SPDX-License-Identifier: Apache-2.0
 * cairo 1.2 or newer, opened by name when a picture is drawn: a build needs
 * neither its headers nor the libraries below it (X11, fontconfig, FreeType),
 * and a command that draws nothing does not load them. Hence own prototypes,
 * which tests/support/image_compare.c compares with cairo's. Enums are int
 * here.
 */
#ifndef VOLLEY_TOOLS_PLOT_CAIRO_LIBRARY_H
#define VOLLEY_TOOLS_PLOT_CAIRO_LIBRARY_H

#include <volley/plugin.h>

/* as in cairo.h */
typedef struct _cairo cairo_t;
typedef struct _cairo_surface cairo_surface_t;
typedef struct _cairo_pattern cairo_pattern_t;

enum {
    PLOT_CAIRO_SUCCESS = 0,
    PLOT_CAIRO_NO_MEMORY = 1,
    PLOT_CAIRO_WRITE_ERROR = 11,
    PLOT_CAIRO_FREETYPE_ERROR = 40,
    PLOT_CAIRO_PNG_ERROR = 39,
    PLOT_CAIRO_ARGB32 = 0, /* premultiplied, in the order of the machine */
    PLOT_CAIRO_RGB24 = 1,
    PLOT_CAIRO_SLANT_NORMAL = 0,
    PLOT_CAIRO_WEIGHT_NORMAL = 0,
    PLOT_CAIRO_JOIN_ROUND = 1,
    PLOT_CAIRO_FILTER_NEAREST = 3
};

typedef struct plot_text_extents {
    double x_bearing, y_bearing, width, height, x_advance, y_advance;
} plot_text_extents;

typedef struct plot_font_extents {
    double ascent, descent, height, max_x_advance, max_y_advance;
} plot_font_extents;

typedef int (*plot_cairo_put)(void *to, const unsigned char *bytes, unsigned n);

/* F(returns, name without "cairo_", arguments) */
#define PLOT_CAIRO_FUNCTIONS(F)                                                \
    F(cairo_t *, create, (cairo_surface_t *))                                  \
    F(void, destroy, (cairo_t *))                                              \
    F(int, status, (cairo_t *))                                                \
    F(const char *, status_to_string, (int))                                   \
    F(void, save, (cairo_t *))                                                 \
    F(void, restore, (cairo_t *))                                              \
    F(void, translate, (cairo_t *, double, double))                            \
    F(void, scale, (cairo_t *, double, double))                                \
    F(void, rotate, (cairo_t *, double))                                       \
    F(void, clip, (cairo_t *))                                                 \
    F(void, paint, (cairo_t *))                                                \
    F(void, fill, (cairo_t *))                                                 \
    F(void, stroke, (cairo_t *))                                               \
    F(void, show_page, (cairo_t *))                                            \
    F(void, move_to, (cairo_t *, double, double))                              \
    F(void, line_to, (cairo_t *, double, double))                              \
    F(void, rectangle, (cairo_t *, double, double, double, double))            \
    F(void, set_source_rgb, (cairo_t *, double, double, double))               \
    F(void, set_source_surface,                                                \
      (cairo_t *, cairo_surface_t *, double, double))                          \
    F(cairo_pattern_t *, get_source, (cairo_t *))                              \
    F(void, pattern_set_filter, (cairo_pattern_t *, int))                      \
    F(void, set_line_width, (cairo_t *, double))                               \
    F(void, set_line_join, (cairo_t *, int))                                   \
    F(void, set_dash, (cairo_t *, const double *, int, double))                \
    F(void, select_font_face, (cairo_t *, const char *, int, int))             \
    F(void, set_font_size, (cairo_t *, double))                                \
    F(void, font_extents, (cairo_t *, plot_font_extents *))                    \
    F(void, text_extents, (cairo_t *, const char *, plot_text_extents *))      \
    F(void, show_text, (cairo_t *, const char *))                              \
    F(cairo_surface_t *, image_surface_create, (int, int, int))                \
    F(unsigned char *, image_surface_get_data, (cairo_surface_t *))            \
    F(int, image_surface_get_stride, (cairo_surface_t *))                      \
    F(cairo_surface_t *, svg_surface_create_for_stream,                        \
      (plot_cairo_put, void *, double, double))                                \
    F(int, surface_write_to_png_stream,                                        \
      (cairo_surface_t *, plot_cairo_put, void *))                             \
    F(int, surface_status, (cairo_surface_t *))                                \
    F(void, surface_flush, (cairo_surface_t *))                                \
    F(void, surface_mark_dirty, (cairo_surface_t *))                           \
    F(void, surface_finish, (cairo_surface_t *))                               \
    F(void, surface_destroy, (cairo_surface_t *))

#define PLOT_CAIRO_SLOT(returns, name, arguments) returns(*name) arguments;
typedef struct plot_cairo {
    PLOT_CAIRO_FUNCTIONS(PLOT_CAIRO_SLOT)
} plot_cairo;
#undef PLOT_CAIRO_SLOT

/* cairo.move_to is cairo_move_to, after plot_cairo_open. */
extern plot_cairo cairo;

/* Opens the library, the first time; it stays open.
 * Errors  E_DEVICE there is none, or it lacks a function
 * Thread  one thread */
vly_status plot_cairo_open(vly_error *error);

#endif
