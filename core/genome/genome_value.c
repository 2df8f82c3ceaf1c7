/* SPDX-License-Identifier: Apache-2.0
 * Distributions and arrays of a genome: see genome_value.h.
 */
#include "genome/genome_value.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "genome/genome_file.h"

/* ---- bounds of distributions -------------------------------------------- */

/* Without a given clip: the range of a distribution. */
static void natural_bounds(const vly_value *value, double *lo, double *hi)
{
    switch (value->kind) {
    case VLY_VALUE_NORMAL:
        *lo = value->a - VLY_CLIP_SD * value->b;
        *hi = value->a + VLY_CLIP_SD * value->b;
        break;
    case VLY_VALUE_LOGNORMAL:
        *lo = vly_exp(value->a - VLY_CLIP_SD * value->b);
        *hi = vly_exp(value->a + VLY_CLIP_SD * value->b);
        break;
    case VLY_VALUE_EXPONENTIAL:
        *lo = 0;
        *hi = VLY_CLIP_MEANS * value->a;
        break;
    case VLY_VALUE_UNIFORM:
        *lo = value->a;
        *hi = value->b;
        break;
    case VLY_VALUE_DRAW: {
        double end = value->base + value->scale;
        *lo = end < value->base ? end : value->base;
        *hi = end < value->base ? value->base : end;
        break;
    }
    default:
        *lo = *hi = value->a;
        break;
    }
}

void vly_value_bounds(const vly_value *value, double *lo, double *hi)
{
    if (value->kind == VLY_VALUE_MIXTURE) {
        vly_mixture_bounds(value, lo, hi);
        return;
    }
    if (value->kind == VLY_VALUE_ARRAY) {
        *lo = *hi = value->n_array ? value->array[0] : 0;
        for (uint32_t i = 1; i < value->n_array; i++) {
            *lo = value->array[i] < *lo ? value->array[i] : *lo;
            *hi = value->array[i] > *hi ? value->array[i] : *hi;
        }
        return;
    }
    natural_bounds(value, lo, hi);
    if (value->clipped) {
        *lo = value->clip_lo;
        *hi = value->clip_hi;
    }
}

/* ---- clips -------------------------------------------------------------- */

/* A number, or "inf" and "-inf" as text or as TOML writes them. */
static vly_status clip_side(vly_reader *reader, const vly_toml_node *node,
                            double *out)
{
    if (node->kind == VLY_TOML_FLOAT && isinf(node->u.number)) {
        *out = node->u.number;
        return VLY_OK;
    }
    if (node->kind == VLY_TOML_STRING) {
        const char *text = node->u.string;
        double sign = *text == '-' ? -1.0 : 1.0;
        if (strcmp(text, "inf") == 0 || strcmp(text, "+inf") == 0 ||
            strcmp(text, "-inf") == 0) {
            *out = sign * HUGE_VAL;
            return VLY_OK;
        }
    }
    return vly_value_number(reader, node, "clip", out);
}

static vly_status read_clip(vly_reader *reader, const vly_toml_node *node,
                            double *lo, double *hi)
{
    if (node->kind != VLY_TOML_ARRAY || node->n_children != 2)
        return vly_reader_wrong(reader, node, "clip", "a list [low, high]");
    vly_status status = VLY_OK;
    VLY_TRY(clip_side(reader, &node->u.children[0], lo));
    VLY_TRY(clip_side(reader, &node->u.children[1], hi));
    if (!(*lo < *hi)) {
        char a[VLY_NUMBER_SIZE], b[VLY_NUMBER_SIZE];
        return vly_reader_fail(
            reader, node, "clip is [%s, %s], wanted the lower bound first",
            vly_toml_print_number(*lo, a), vly_toml_print_number(*hi, b));
    }
out:
    return status;
}

/* Intersects the given clip, the range of the distribution and the range of the
 * key, so that every later stage reads one finite interval. */
static vly_status settle_clip(vly_reader *reader, const vly_toml_node *node,
                              const vly_toml_node *clip,
                              const vly_value_spec *spec, vly_value *value)
{
    vly_status status = VLY_OK;
    double lo = 0, hi = 0, clip_lo = -HUGE_VAL, clip_hi = HUGE_VAL;
    natural_bounds(value, &lo, &hi);
    if (clip) {
        VLY_TRY(read_clip(reader, clip, &clip_lo, &clip_hi));
        if (!spec->cut && isfinite(clip_lo) && clip_lo < spec->lo)
            return vly_value_out_of_range(reader, clip, spec->what, clip_lo,
                                          spec->lo, spec->hi, "a clip within ");
        if (!spec->cut && isfinite(clip_hi) && clip_hi > spec->hi)
            return vly_value_out_of_range(reader, clip, spec->what, clip_hi,
                                          spec->lo, spec->hi, "a clip within ");
        if (!(clip_hi > lo && clip_lo < hi))
            return vly_reader_fail(reader, clip,
                                   "clip of %s leaves nothing of the "
                                   "distribution, wanted an interval that it "
                                   "reaches",
                                   spec->what);
        /* an explicit bound may be beyond 6 sd: the user chose it */
        lo = isfinite(clip_lo) ? clip_lo : lo;
        hi = isfinite(clip_hi) ? clip_hi : hi;
    }
    const double asked_lo = lo;
    const double asked_hi = hi;
    value->cut = lo < spec->lo;
    value->cut_lo = lo;
    lo = lo < spec->lo ? spec->lo : lo;
    hi = hi > spec->hi ? spec->hi : hi;
    if (!(lo < hi)) {
        char a[VLY_NUMBER_SIZE], b[VLY_NUMBER_SIZE];
        return vly_reader_fail(reader, node,
                               "%s cannot give a value of its range, wanted "
                               "values from %s to %s",
                               spec->what, vly_toml_print_number(spec->lo, a),
                               vly_toml_print_number(spec->hi, b));
    }
    value->clipped = true;
    value->clip_lo = lo;
    value->clip_hi = hi;
    status = vly_value_note_cut(reader, node, spec, value, asked_lo, asked_hi);
out:
    return status;
}

/* ---- distributions ------------------------------------------------------ */

static vly_status read_two(vly_reader *reader, const vly_toml_node *node,
                           const char *what, const char *wanted,
                           vly_value *value)
{
    if (node->kind != VLY_TOML_ARRAY || node->n_children != 2)
        return vly_reader_wrong(reader, node, what, wanted);
    vly_status status = VLY_OK;
    VLY_TRY(vly_value_number(reader, &node->u.children[0], what, &value->a));
    status = vly_value_number(reader, &node->u.children[1], what, &value->b);
out:
    return status;
}

/* Uniform within a clip is uniform on the intersection. */
static void fold_uniform(vly_value *value)
{
    double lo = value->a > value->clip_lo ? value->a : value->clip_lo;
    double hi = value->b < value->clip_hi ? value->b : value->clip_hi;
    value->cut = value->cut && value->a < lo;
    value->cut_lo = value->a > value->cut_lo ? value->a : value->cut_lo;
    value->a = lo;
    value->b = hi;
    value->clipped = false;
    value->clip_lo = value->clip_hi = 0;
}

static vly_status become_number(vly_reader *reader, const vly_toml_node *node,
                                const vly_value_spec *spec, double number,
                                vly_value *value)
{
    vly_origin origin = value->origin;
    memset(value, 0, sizeof(*value));
    value->origin = origin;
    value->kind = VLY_VALUE_NUMBER;
    value->a = number;
    if (!(number >= spec->lo || spec->cut) || !(number <= spec->hi))
        return vly_value_out_of_range(reader, node, spec->what, number,
                                      spec->lo, spec->hi, "");
    if (spec->whole && vly_floor(number) != number) {
        char text[VLY_NUMBER_SIZE];
        return vly_reader_fail(reader, node, "%s is %s, wanted a whole number",
                               spec->what, vly_toml_print_number(number, text));
    }
    return VLY_OK;
}

static vly_status read_pair(vly_reader *reader, const vly_toml_node *node,
                            const vly_value_spec *spec, vly_value *value)
{
    vly_status status;
    const vly_toml_node *given = NULL;
    const vly_toml_node *clip = vly_toml_get(node, "clip");
    if ((given = vly_toml_get(node, "normal"))) {
        value->kind = VLY_VALUE_NORMAL;
        VLY_TRY(read_two(reader, given, "normal", "[mean, standard deviation]",
                         value));
    } else if ((given = vly_toml_get(node, "lognormal"))) {
        value->kind = VLY_VALUE_LOGNORMAL;
        VLY_TRY(read_two(reader, given, "lognormal", "[mu, sigma] of the log",
                         value));
    } else if ((given = vly_toml_get(node, "uniform"))) {
        value->kind = VLY_VALUE_UNIFORM;
        VLY_TRY(read_two(reader, given, "uniform", "[low, high]", value));
        if (!(value->a <= value->b))
            return vly_reader_fail(reader, given,
                                   "uniform has its upper end first, wanted "
                                   "[low, high]");
    } else {
        given = vly_toml_get(node, "exponential");
        value->kind = VLY_VALUE_EXPONENTIAL;
        VLY_TRY(vly_value_ranged(reader, given, "exponential", 0, 1e300,
                                 &value->a));
    }
    bool spread =
        value->kind == VLY_VALUE_NORMAL || value->kind == VLY_VALUE_LOGNORMAL;
    if (spread && !(value->b >= 0))
        return vly_reader_wrong(reader, &given->u.children[1],
                                "standard deviation", "0 or more");
    double lo = 0, hi = 0;
    natural_bounds(value, &lo, &hi);
    if (!isfinite(lo) || !isfinite(hi) || !isfinite(hi - lo))
        return vly_reader_fail(reader, given,
                               "%s has a distribution without finite bounds, "
                               "wanted smaller numbers",
                               spec->what);
    if (lo == hi)
        return become_number(reader, node, spec, lo, value);
    if (value->kind == VLY_VALUE_UNIFORM && !spec->cut && !clip &&
        (lo < spec->lo || hi > spec->hi))
        return vly_value_out_of_range(reader, given, spec->what,
                                      lo < spec->lo ? lo : hi, spec->lo,
                                      spec->hi, "");
    VLY_TRY(settle_clip(reader, node, clip, spec, value));
    if (value->kind == VLY_VALUE_UNIFORM)
        fold_uniform(value);
out:
    return status;
}

static vly_status read_draw(vly_reader *reader, const vly_toml_node *node,
                            const vly_value_spec *spec, vly_value *value)
{
    vly_status status;
    const vly_toml_node *item = NULL;
    const char *draw = NULL;
    static const char *const numbers[] = {"base", "scale", "power"};
    double *const places[] = {&value->base, &value->scale, &value->power};
    value->kind = VLY_VALUE_DRAW;
    value->power = 1;
    for (int i = 0; i < 3; i++) {
        item = vly_toml_get(node, numbers[i]);
        if (!item && i < 2)
            return vly_reader_fail(reader, node,
                                   "%s has no %s, wanted { base, scale, "
                                   "power, draw }",
                                   spec->what, numbers[i]);
        if (item)
            VLY_TRY(vly_value_number(reader, item, numbers[i], places[i]));
    }
    if (item && !(value->power > 0 && value->power <= 100))
        return vly_reader_wrong(reader, item, "power",
                                "a number above 0, at most 100");
    item = vly_toml_get(node, "draw");
    if (!item)
        return vly_reader_fail(
            reader, node, "%s has no draw, wanted draw = \"name\"", spec->what);
    VLY_TRY(vly_reader_string(reader, item, "draw", &draw));
    VLY_TRY(vly_reader_name(reader, item, "draw", draw));
    double lo = 0, hi = 0;
    natural_bounds(value, &lo, &hi);
    if (!(lo >= spec->lo && hi <= spec->hi))
        return vly_value_out_of_range(reader, node, spec->what,
                                      lo >= spec->lo ? hi : lo, spec->lo,
                                      spec->hi, "");
    value->draw = vly_strdup(draw);
    if (!value->draw)
        return vly_reader_nomem(reader, strlen(draw) + 1, "a name");
out:
    return status;
}

static vly_status read_table(vly_reader *reader, const vly_toml_node *node,
                             const vly_value_spec *spec, vly_value *value)
{
    static const char *const kind_keys[] = {"normal", "uniform", "lognormal",
                                            "exponential"};
    const vly_key_list any = {
        spec->what, spec->neurons ? vly_keys_value : vly_keys_distribution,
        NULL};
    vly_status status = VLY_OK;
    if (vly_toml_get(node, "file"))
        return vly_value_from_file(reader, node, spec, value);
    VLY_TRY(vly_reader_keys(reader, node, &any));
    if (vly_toml_get(node, "choice") || vly_toml_get(node, "mixture"))
        return vly_mixture_read(reader, node, spec, value);
    if (spec->boolean)
        return vly_reader_fail(reader, node,
                               "%s is a distribution, wanted true or false",
                               spec->what);
    uint32_t kinds = 0;
    for (uint32_t i = 0; i < 4; i++)
        kinds += vly_toml_get(node, kind_keys[i]) != NULL;
    if (kinds == 0 &&
        (vly_toml_get(node, "base") || vly_toml_get(node, "draw")) &&
        spec->neurons) {
        const vly_key_list list = {"a draw", vly_keys_draw, NULL};
        status = vly_reader_keys(reader, node, &list);
        return status ? status : read_draw(reader, node, spec, value);
    }
    if (kinds != 1)
        return vly_reader_fail(reader, node,
                               "%s is a table with %u distributions, wanted "
                               "one of normal, uniform, lognormal, exponential",
                               spec->what, kinds);
    const vly_key_list list = {"a distribution", vly_keys_distribution, NULL};
    status = vly_reader_keys(reader, node, &list);
    if (status == VLY_OK)
        status = read_pair(reader, node, spec, value);
out:
    return status;
}

/* ---- values ------------------------------------------------------------- */

static vly_status read_number(vly_reader *reader, const vly_toml_node *node,
                              const vly_value_spec *spec, vly_value *value)
{
    vly_status status = VLY_OK;
    double number = 0;
    if (spec->boolean && node->kind == VLY_TOML_BOOL) {
        number = node->u.boolean;
    } else if (node->kind == VLY_TOML_BOOL || node->kind == VLY_TOML_DATE ||
               (node->kind == VLY_TOML_STRING && node->u.string[0] != '=')) {
        const bool quoted = node->kind == VLY_TOML_STRING &&
                            strchr("+-.0123456789", node->u.string[0]) &&
                            node->u.string[0] != '\0';
        return vly_reader_wrong(
            reader, node, spec->what,
            spec->boolean ? "true or false"
            : quoted      ? "a number without quotes and without a unit, "
                            "\"=expression\" or a distribution"
                          : "a number, \"=expression\" or a distribution");
    } else {
        VLY_TRY(vly_value_number(reader, node, spec->what, &number));
    }
    status = become_number(reader, node, spec, number, value);
out:
    return status;
}

static vly_status read_array(vly_reader *reader, const vly_toml_node *node,
                             const vly_value_spec *spec, vly_value *value)
{
    vly_status status = VLY_OK;
    if (!spec->neurons)
        return vly_reader_wrong(reader, node, spec->what,
                                "a number or a distribution");
    if (spec->n && node->n_children != spec->n)
        return vly_reader_fail(reader, node,
                               "%s is a list of %u, wanted %u, one a neuron",
                               spec->what, node->n_children, spec->n);
    value->array = vly_malloc(node->n_children, sizeof(double));
    if (!value->array)
        return vly_reader_nomem(reader, node->n_children * sizeof(double),
                                spec->what);
    vly_value one = {0};
    for (uint32_t i = 0; i < node->n_children; i++) {
        VLY_TRY(read_number(reader, &node->u.children[i], spec, &one));
        value->array[i] = one.a;
    }
    value->kind = VLY_VALUE_ARRAY;
    value->n_array = node->n_children;
out:
    return status;
}

vly_status vly_value_read(vly_reader *reader, const vly_toml_node *node,
                          const vly_value_spec *spec, vly_value *out)
{
    vly_value value = {0};
    vly_status status;
    value.origin = vly_reader_origin(node, VLY_ORIGIN_FILE);
    if (node->kind == VLY_TOML_TABLE)
        status = read_table(reader, node, spec, &value);
    else if (node->kind == VLY_TOML_ARRAY)
        status = read_array(reader, node, spec, &value);
    else
        status = read_number(reader, node, spec, &value);
    if (status != VLY_OK) {
        vly_value_deinit(&value);
        return status;
    }
    *out = value;
    return VLY_OK;
}

void vly_value_deinit(vly_value *value)
{
    vly_free(value->draw);
    vly_free(value->array);
    for (uint32_t i = 0; i < value->n_parts; i++)
        vly_value_deinit(&value->parts[i]);
    vly_free(value->parts);
    vly_free(value->shares);
    value->draw = NULL;
    value->array = NULL;
    value->parts = NULL;
    value->shares = NULL;
    value->n_parts = 0;
}
