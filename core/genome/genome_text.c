/* SPDX-License-Identifier: Apache-2.0
 * Values as TOML.
 */
#include <stdio.h>
#include <string.h>

#include "genome/genome_resolve.h"

static void put_number(vly_text *text, double number)
{
    char buffer[VLY_NUMBER_SIZE];
    vly_text_put(text, "%s", vly_toml_print_number(number, buffer));
}

static void put_pair(vly_text *text, const char *name, double a, double b)
{
    vly_text_put(text, "%s = [", name);
    put_number(text, a);
    vly_text_put(text, ", ");
    put_number(text, b);
    vly_text_put(text, "]");
}

static void put_array(vly_text *text, const vly_value *value)
{
    vly_text_put(text, "[");
    for (uint32_t i = 0; i < value->n_array; i++) {
        if (i > 0)
            vly_text_put(text, i % 10 ? ", " : ",\n    ");
        put_number(text, value->array[i]);
    }
    vly_text_put(text, "]");
}

static void put_draw(vly_text *text, const vly_value *value)
{
    vly_text_put(text, "{ base = ");
    put_number(text, value->base);
    vly_text_put(text, ", scale = ");
    put_number(text, value->scale);
    vly_text_put(text, ", power = ");
    put_number(text, value->power);
    vly_text_put(text, ", draw = \"%s\" }", value->draw);
}

/* A choice too: it is a mixture of numbers. */
static void put_mixture(vly_text *text, const vly_value *value)
{
    vly_text_put(text, "{ mixture = [");
    for (uint32_t i = 0; i < value->n_parts; i++) {
        vly_text_put(text, i ? ", " : "");
        vly_text_value(text, &value->parts[i]);
    }
    vly_text_put(text, "], p = [");
    for (uint32_t i = 0; i < value->n_parts; i++) {
        vly_text_put(text, i ? ", " : "");
        put_number(text, value->shares[i]);
    }
    vly_text_put(text, "] }");
}

void vly_text_value(vly_text *text, const vly_value *value)
{
    static const char *const names[] = {"", "uniform", "normal", "lognormal",
                                        "exponential"};
    if (value->kind == VLY_VALUE_NUMBER) {
        put_number(text, value->a);
        return;
    }
    if (value->kind == VLY_VALUE_ARRAY) {
        put_array(text, value);
        return;
    }
    if (value->kind == VLY_VALUE_DRAW) {
        put_draw(text, value);
        return;
    }
    if (value->kind == VLY_VALUE_MIXTURE) {
        put_mixture(text, value);
        return;
    }
    vly_text_put(text, "{ ");
    if (value->kind == VLY_VALUE_EXPONENTIAL) {
        vly_text_put(text, "exponential = ");
        put_number(text, value->a);
    } else {
        put_pair(text, names[value->kind], value->a, value->b);
    }
    if (value->clipped) {
        vly_text_put(text, ", ");
        put_pair(text, "clip", value->clip_lo, value->clip_hi);
    }
    vly_text_put(text, " }");
}

void vly_text_origin(vly_text *text, const vly_origin *origin,
                     const char *model)
{
    if (origin->file && text->files)
        vly_text_put(text, "  # %s", text->files[origin->file - 1]);
    if (origin->file && text->files)
        vly_text_put(text, " line %u\n", origin->line);
    else if (origin->kind == VLY_ORIGIN_DEFAULT)
        vly_text_put(text, "  # default\n");
    else if (origin->kind == VLY_ORIGIN_SET)
        vly_text_put(text, "  # --set\n");
    else if (origin->kind == VLY_ORIGIN_MODEL && model)
        vly_text_put(text, "  # model %s, line %u\n", model, origin->line);
    else
        vly_text_put(text, "  # line %u\n", origin->line);
}
