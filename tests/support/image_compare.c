/* SPDX-License-Identifier: Apache-2.0
 * image_compare A.png B.png: are two pictures the same but for how a version of
 * the font library places its edges? Prints both figures; exit code 0 yes, 1
 * no, 2 a file cannot be read.
 *
 * Tolerances. Blocks of 8 x 8 pixels are averaged: a letter whose edges fall
 * elsewhere changes a pixel by all of 255, a block of text by up to about 60 of
 * 255, and few of all blocks. What moves (an axis, a bar, a band of dots)
 * changes many blocks: the mean over all is at most 1.5, and at most one block
 * in 100 differs by more than 40.
 *
 * image_compare coloured A.png: how many pixels are no shade of grey.
 */
#include <assert.h>
#include <cairo.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plot/cairo_library.h"

/* what the command assumes of the library that it opens */
#define SAME(ours, theirs)                                                     \
    static_assert((int)PLOT_CAIRO_##ours == (int)CAIRO_##theirs, #ours)
SAME(SUCCESS, STATUS_SUCCESS);
SAME(NO_MEMORY, STATUS_NO_MEMORY);
SAME(WRITE_ERROR, STATUS_WRITE_ERROR);
SAME(ARGB32, FORMAT_ARGB32);
SAME(RGB24, FORMAT_RGB24);
SAME(SLANT_NORMAL, FONT_SLANT_NORMAL);
SAME(WEIGHT_NORMAL, FONT_WEIGHT_NORMAL);
SAME(JOIN_ROUND, LINE_JOIN_ROUND);
SAME(FILTER_NEAREST, FILTER_NEAREST);
#if CAIRO_VERSION >= CAIRO_VERSION_ENCODE(1, 16, 0)
SAME(PNG_ERROR, STATUS_PNG_ERROR);
SAME(FREETYPE_ERROR, STATUS_FREETYPE_ERROR);
#endif
static_assert(sizeof(plot_text_extents) == sizeof(cairo_text_extents_t) &&
                  offsetof(plot_text_extents, x_advance) ==
                      offsetof(cairo_text_extents_t, x_advance),
              "plot_text_extents");
static_assert(sizeof(plot_font_extents) == sizeof(cairo_font_extents_t) &&
                  offsetof(plot_font_extents, descent) ==
                      offsetof(cairo_font_extents_t, descent),
              "plot_font_extents");

#define BLOCK 8

static const double mean_max = 1.5;
static const double far = 40;
static const double far_share_max = 0.01;

static cairo_surface_t *load(const char *path)
{
    cairo_surface_t *image = cairo_image_surface_create_from_png(path);
    if (cairo_surface_status(image) != CAIRO_STATUS_SUCCESS) {
        fprintf(stderr, "%s: %s\n", path,
                cairo_status_to_string(cairo_surface_status(image)));
        exit(2);
    }
    cairo_surface_flush(image);
    return image;
}

/* Mean of one channel over a block, the rest at the edges as they are. */
static double block_mean(cairo_surface_t *image, int x, int y, int shift)
{
    const int width = cairo_image_surface_get_width(image);
    const int height = cairo_image_surface_get_height(image);
    const int stride = cairo_image_surface_get_stride(image);
    const unsigned char *data = cairo_image_surface_get_data(image);
    double sum = 0;
    int n = 0;
    for (int j = y; j < y + BLOCK && j < height; j++)
        for (int i = x; i < x + BLOCK && i < width; i++) {
            /* rows are aligned for 32-bit pixels by cairo */
            const uint32_t *row =
                (const uint32_t *)(const void *)(data + (ptrdiff_t)j * stride);
            sum += row[i] >> shift & 255;
            n++;
        }
    return sum / n;
}

static long count_coloured(cairo_surface_t *image)
{
    const unsigned char *data = cairo_image_surface_get_data(image);
    const int stride = cairo_image_surface_get_stride(image);
    long n = 0;
    for (int y = 0; y < cairo_image_surface_get_height(image); y++)
        for (int x = 0; x < cairo_image_surface_get_width(image); x++) {
            const uint32_t *row =
                (const uint32_t *)(const void *)(data + (ptrdiff_t)y * stride);
            const uint32_t r = row[x] >> 16 & 255;
            n += r != (row[x] >> 8 & 255) || r != (row[x] & 255);
        }
    return n;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    if (strcmp(argv[1], "coloured") == 0) {
        cairo_surface_t *image = load(argv[2]);
        printf("%ld\n", count_coloured(image));
        cairo_surface_destroy(image);
        return 0;
    }
    cairo_surface_t *a = load(argv[1]);
    cairo_surface_t *b = load(argv[2]);
    const int width = cairo_image_surface_get_width(a);
    const int height = cairo_image_surface_get_height(a);
    if (width != cairo_image_surface_get_width(b) ||
        height != cairo_image_surface_get_height(b)) {
        printf("%s and %s differ in size\n", argv[1], argv[2]);
        return 1;
    }
    double sum = 0;
    double n_far = 0;
    double n = 0;
    for (int y = 0; y < height; y += BLOCK)
        for (int x = 0; x < width; x += BLOCK)
            for (int shift = 0; shift < 24; shift += 8) {
                double d =
                    block_mean(a, x, y, shift) - block_mean(b, x, y, shift);
                d = d < 0 ? -d : d;
                sum += d;
                n_far += d > far;
                n++;
            }
    printf("mean %.3f (at most %g), far %.4f (at most %g)\n", sum / n, mean_max,
           n_far / n, far_share_max);
    cairo_surface_destroy(a);
    cairo_surface_destroy(b);
    return sum / n <= mean_max && n_far / n <= far_share_max ? 0 : 1;
}
