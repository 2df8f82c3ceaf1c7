/* SPDX-License-Identifier: Apache-2.0
 * Single numbers of a genome, as such or as expressions.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "genome/expression.h"
#include "genome/genome_value.h"

#define WHOLE_MAX 9007199254740992.0 /* 2^53: doubles beyond have gaps */

vly_status vly_value_number(vly_reader *reader, const vly_toml_node *node,
                            const char *what, double *out)
{
    if (node->kind == VLY_TOML_STRING && node->u.string[0] == '=')
        return vly_expression_eval(reader, node, out);
    if (node->kind == VLY_TOML_INTEGER)
        *out = (double)node->u.integer;
    else if (node->kind == VLY_TOML_FLOAT && isfinite(node->u.number))
        *out = node->u.number + 0.0; /* -0 becomes 0 */
    else
        return vly_reader_wrong(reader, node, what,
                                node->kind == VLY_TOML_FLOAT
                                    ? "a finite number"
                                    : "a number or \"=expression\"");
    return VLY_OK;
}

vly_status vly_value_out_of_range(vly_reader *reader, const vly_toml_node *node,
                                  const char *what, double found, double lo,
                                  double hi, const char *kind)
{
    char a[VLY_NUMBER_SIZE], b[VLY_NUMBER_SIZE], c[VLY_NUMBER_SIZE];
    return vly_reader_fail(reader, node, "%s is %s, wanted %s%s to %s", what,
                           vly_toml_print_number(found, a), kind,
                           vly_toml_print_number(lo, b),
                           vly_toml_print_number(hi, c));
}

vly_status vly_value_ranged(vly_reader *reader, const vly_toml_node *node,
                            const char *what, double lo, double hi, double *out)
{
    double value = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_value_number(reader, node, what, &value));
    if (!(value >= lo && value <= hi))
        return vly_value_out_of_range(reader, node, what, value, lo, hi, "");
    *out = value;
out:
    return status;
}

vly_status vly_value_whole(vly_reader *reader, const vly_toml_node *node,
                           const char *what, uint64_t lo, uint64_t hi,
                           uint64_t *out)
{
    double value = 0;
    if (node->kind == VLY_TOML_INTEGER) {
        if (node->u.integer >= 0 && (uint64_t)node->u.integer >= lo &&
            (uint64_t)node->u.integer <= hi) {
            *out = (uint64_t)node->u.integer;
            return VLY_OK;
        }
        return vly_reader_fail(reader, node,
                               "%s is %" PRId64 ", wanted a whole number from "
                               "%" PRIu64 " to %" PRIu64,
                               what, node->u.integer, lo, hi);
    }
    vly_status status = VLY_OK;
    VLY_TRY(vly_value_number(reader, node, what, &value));
    if (!(value >= 0 && value <= WHOLE_MAX && vly_floor(value) == value) ||
        (uint64_t)value < lo || (uint64_t)value > hi) {
        char found[VLY_NUMBER_SIZE];
        return vly_reader_fail(
            reader, node,
            "%s is %s, wanted a whole number from %" PRIu64 " to %" PRIu64 "%s",
            what, vly_toml_print_number(value, found), lo, hi,
            node->kind == VLY_TOML_STRING && vly_floor(value) != value
                ? ": round( ) in the expression makes one"
                : "");
    }
    *out = (uint64_t)value;
out:
    return status;
}

bool vly_value_off_grid(double ms, double dt_ms)
{
    double exact = ms / dt_ms;
    double whole = vly_floor(exact + 0.5);
    double off = exact - whole;
    double most = 1e-9 * (whole < 0 ? -whole : whole);
    if (whole == 0.0) /* 1e-12 ms is not 0 bursts, however near it is */
        return ms != 0.0;
    return !(off <= most && off >= -most);
}

vly_status vly_value_rounded(vly_reader *reader, const vly_toml_node *node,
                             const char *what, double ms, uint64_t bursts)
{
    double dt_ms = reader->genome->dt_ms;
    char found[VLY_NUMBER_SIZE], dt[VLY_NUMBER_SIZE];
    if (!vly_value_off_grid(ms, dt_ms))
        return VLY_OK;
    return vly_reader_note(
        reader, node, "%s is %s, rounded to %" PRIu64 " burst%s of dt_ms = %s",
        what, vly_toml_print_number(ms, found), bursts, bursts == 1 ? "" : "s",
        vly_toml_print_number(dt_ms, dt));
}

bool vly_value_length(double ms, double dt_ms, uint64_t *bursts,
                      char wanted[VLY_LENGTH_WANTED])
{
    char dt[VLY_NUMBER_SIZE];
    if (!vly_bursts_from_ms(ms, dt_ms, bursts)) {
        snprintf(wanted, VLY_LENGTH_WANTED, "a time of at most 2^53 bursts");
        return false;
    }
    if (!vly_value_off_grid(ms, dt_ms))
        return true;
    double below = vly_floor(ms / dt_ms);
    int n = snprintf(wanted, VLY_LENGTH_WANTED,
                     "a whole number of bursts of dt_ms = %s: ",
                     vly_toml_print_number(dt_ms, dt));
    if (below > 0)
        n += snprintf(wanted + n, VLY_LENGTH_WANTED - (size_t)n, "%.12g or ",
                      below * dt_ms);
    snprintf(wanted + n, VLY_LENGTH_WANTED - (size_t)n, "%.12g",
             (below + 1) * dt_ms);
    return false;
}

static vly_status read_bursts(vly_reader *reader, const vly_toml_node *node,
                              const char *what, double *ms, uint64_t *out)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_value_ranged(reader, node, what, 0, 1e15, ms));
    status = vly_bursts_from_ms(*ms, reader->genome->dt_ms, out)
                 ? VLY_OK
                 : vly_reader_wrong(reader, node, what,
                                    "a time of at most 2^53 bursts");
out:
    return status;
}

vly_status vly_value_bursts(vly_reader *reader, const vly_toml_node *node,
                            const char *what, uint64_t *out)
{
    double ms = 0;
    vly_status status = VLY_OK;
    VLY_TRY(read_bursts(reader, node, what, &ms, out));
    VLY_TRY(vly_value_rounded(reader, node, what, ms, *out));
out:
    return status;
}

vly_status vly_value_listed(vly_reader *reader, const vly_toml_node *node,
                            const char *what, uint64_t *out,
                            uint64_t *n_rounded)
{
    double ms = 0;
    vly_status status = VLY_OK;
    VLY_TRY(read_bursts(reader, node, what, &ms, out));
    *n_rounded += vly_value_off_grid(ms, reader->genome->dt_ms);
out:
    return status;
}

vly_status vly_values_rounded(vly_reader *reader, const vly_toml_node *node,
                              const char *what, uint64_t n_rounded, uint64_t n)
{
    char dt[VLY_NUMBER_SIZE];
    if (n_rounded == 0)
        return VLY_OK;
    return vly_reader_note(reader, node,
                           "%s: %" PRIu64 " of %" PRIu64 " rounded to bursts "
                           "of dt_ms = %s",
                           what, n_rounded, n,
                           vly_toml_print_number(reader->genome->dt_ms, dt));
}

vly_status vly_value_vector(vly_reader *reader, const vly_toml_node *node,
                            const char *what, int32_t out[3])
{
    vly_status status = VLY_OK;
    if (node->kind != VLY_TOML_ARRAY || node->n_children != 3)
        return vly_reader_wrong(reader, node, what, "a list of 3 numbers");
    for (uint32_t i = 0; i < 3; i++) {
        double value = 0;
        VLY_TRY(vly_value_ranged(reader, &node->u.children[i], what,
                                 -(double)VLY_NEURONS_MAX, VLY_NEURONS_MAX,
                                 &value));
        if (vly_floor(value) != value)
            return vly_reader_wrong(reader, &node->u.children[i], what,
                                    "whole numbers");
        out[i] = (int32_t)value;
    }
out:
    return status;
}
