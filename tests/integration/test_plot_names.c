/* SPDX-License-Identifier: Apache-2.0
 * Names of areas in pictures: as wide as they may be, never two alike; legends
 * keep to their part of the picture.
 */
#include "volley_test.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/plot/plot.h"

enum { N_MAX = 300 };

static char texts[N_MAX][128];
static const char *names[N_MAX];

static void check_names(plot_figure *figure, uint32_t n, double width)
{
    vly_error error = VLY_ERROR_INIT;
    plot_names shown;
    for (uint32_t i = 0; i < n; i++)
        names[i] = texts[i];
    assert_ok(plot_names_init(&shown, figure, 8, width, names, n, &error),
              error);
    for (uint32_t i = 0; i < n; i++) {
        const double wide = plot_text_width(figure, 8, shown.shown[i]);
        assert_true(wide <= width + 0.02 && wide <= shown.widest);
        if (plot_text_width(figure, 8, names[i]) <= width)
            assert_string_equal(shown.shown[i], names[i]);
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(shown.shown[i], shown.shown[k]);
    }
    plot_names_deinit(&shown);
}

static bool take_nothing(void *to, const void *bytes, size_t n)
{
    (void)to, (void)bytes, (void)n;
    return true;
}

static void open_figure(plot_figure *figure)
{
    static const plot_page page = {
        .path = "names.png", .width = 504, .height = 324, .dpi = 72};
    vly_error error = VLY_ERROR_INIT;
    assert_ok(plot_figure_init(figure, &page, take_nothing, NULL, &error),
              error);
}

/* Alike at the beginning, at the end, at both, and two groups of which each is
 * alike in another way; without boundaries of words; not ASCII. */
static void alike(void **state)
{
    static const char *const forms[] = {
        "cortical_area_of_the_left_hemisphere_%u",
        "%u_cortical_area_of_the_left_hemisphere",
        "cortical_area_layer_%u_excitatory_cells_of_the_left_hemisphere",
        "areaareaareaareaareaareaarea%uareaareaareaareaareaareaarea",
        "\xc3\xa4rea_\xc3\xa4rea_\xc3\xa4rea_\xc3\xa4_%u_\xc3\xa4_r"};
    plot_figure figure;
    (void)state;
    open_figure(&figure);
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++)
        for (uint32_t n = 2; n < 60; n += 19) {
            for (uint32_t i = 0; i < n; i++)
                snprintf(texts[i], sizeof texts[i], "%.*s%u%s",
                         (int)(strstr(forms[f], "%u") - forms[f]), forms[f], i,
                         strstr(forms[f], "%u") + 2);
            for (double width = 50; width < 200; width += 23)
                check_names(&figure, n, width);
        }
    for (uint32_t i = 0; i < 40; i++)
        snprintf(texts[i], sizeof texts[i],
                 "visual_cortex_layer_%u_cells_of_the_%s_hemisphere", i / 2,
                 i % 2 ? "left" : "very_left");
    check_names(&figure, 40, 90);
    snprintf(texts[0], sizeof texts[0], "E");
    snprintf(texts[1], sizeof texts[1],
             "bad \xff\xfe bytes \xe4 in a name "
             "that is too long for its room");
    check_names(&figure, 2, 60);
    plot_figure_deinit(&figure);
}

/* What there is room for, at any number of areas and length of names. */
static void legends(void **state)
{
    plot_figure figure;
    vly_error error = VLY_ERROR_INIT;
    plot_area areas[N_MAX] = {{0}};
    (void)state;
    open_figure(&figure);
    for (uint32_t n = 1; n <= N_MAX; n = n * 3 / 2 + 1)
        for (uint32_t length = 1; length < 100; length += 33) {
            const plot_data data = {.areas = areas, .n_areas = n};
            double height = 0;
            for (uint32_t i = 0; i < n; i++) {
                snprintf(
                    texts[i], sizeof texts[i], "%u%.*s%u", i, (int)length,
                    "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"
                    "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww",
                    i);
                areas[i].name = texts[i];
            }
            assert_ok(plot_legend(&figure, &data, 50, 20, 430, &height, &error),
                      error);
            assert_true(height > 0 && height <= 324.0 / 4 + 16);
        }
    plot_figure_deinit(&figure);
}

/* Without memory: a status, nothing left. */
static void no_memory(void **state)
{
    plot_figure figure;
    plot_names shown;
    vly_error error = VLY_ERROR_INIT;
    vly_status status = VLY_E_NOMEM;
    (void)state;
    open_figure(&figure);
    for (uint32_t i = 0; i < 20; i++) {
        snprintf(texts[i], sizeof texts[i], "an_area_with_a_long_name_%u_end",
                 i);
        names[i] = texts[i];
    }
    for (uint64_t k = 1; status != VLY_OK; k++) {
        const uint64_t before = vly_memory_live();
        vly_memory_fail_at(k);
        status = plot_names_init(&shown, &figure, 8, 60, names, 20, &error);
        vly_memory_fail_at(0);
        assert_true(status == VLY_OK || status == VLY_E_NOMEM);
        plot_names_deinit(&shown);
        assert_true(vly_memory_live() == before);
        assert_true(k < 1000);
    }
    plot_figure_deinit(&figure);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(alike),
    cmocka_unit_test(legends),
    cmocka_unit_test(no_memory),
};
VLY_TEST_MAIN(tests)
