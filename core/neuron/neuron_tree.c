/* SPDX-License-Identifier: Apache-2.0
 * Trees of expressions: made with their units checked.
 */
#include "neuron/neuron_build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What a function takes and gives. */
typedef enum takes {
    PURE,  /* a pure number, gives one */
    SAME,  /* arguments of one unit, gives that unit */
    ROOT,  /* gives the square root of the unit */
    TIMES, /* propagator: times, gives ms */
    SQUARE /* the same, gives ms^2 */
} takes;

typedef struct row {
    const char *name;
    uint32_t n;
    takes takes;
    bool host_only;
} row;

static const row functions[VLY_FUNCTIONS] = {
    [VLY_FUNCTION_EXP] = {"exp", 1, PURE, false},
    [VLY_FUNCTION_EXPREL] = {"exprel", 1, PURE, false},
    [VLY_FUNCTION_DECAY_MEAN] = {"decay_mean", 1, PURE, false},
    [VLY_FUNCTION_SQRT] = {"sqrt", 1, ROOT, false},
    [VLY_FUNCTION_SIGMOID] = {"sigmoid", 1, PURE, false},
    [VLY_FUNCTION_TANH] = {"tanh", 1, PURE, false},
    [VLY_FUNCTION_ABS] = {"abs", 1, SAME, false},
    [VLY_FUNCTION_MIN] = {"min", 2, SAME, false},
    [VLY_FUNCTION_MAX] = {"max", 2, SAME, false},
    [VLY_FUNCTION_CLIP] = {"clip", 3, SAME, false},
    [VLY_FUNCTION_LOG] = {"log", 1, PURE, true},
    [VLY_FUNCTION_EXPM1] = {"expm1", 1, PURE, true},
    [VLY_FUNCTION_PROPAGATOR] = {"propagator", 2, TIMES, true},
    [VLY_FUNCTION_PROPAGATOR_RISE] = {"propagator_rise", 2, SQUARE, true},
};

vly_node *vly_fault_at(vly_text *text, const char *at, const char *format, ...)
{
    va_list arguments;
    if (text->fault->sentence[0])
        return NULL; /* the first one counts */
    va_start(arguments, format);
    vsnprintf(text->fault->sentence, sizeof text->fault->sentence, format,
              arguments);
    va_end(arguments);
    text->fault->place = text->place;
    text->fault->at = (uint32_t)(at - text->text);
    return NULL;
}

vly_node *vly_node_new(vly_arena *arena, vly_node_kind kind, uint32_t at)
{
    vly_node *node = vly_arena_take(arena, 1, sizeof *node);
    if (node) {
        node->kind = kind;
        node->at = at;
        node->size = 1;
    }
    return node;
}

void vly_node_join(vly_node *node)
{
    const vly_node *const parts[] = {node->a, node->b, node->c};
    node->host = node->kind != VLY_NODE_RISES;
    node->numeric = true;
    node->size = 1;
    for (int i = 0; i < 3; i++) {
        if (!parts[i])
            continue;
        node->host = node->host && parts[i]->host;
        node->numeric = node->numeric && parts[i]->numeric;
        node->arrives = node->arrives || parts[i]->arrives;
        node->uses |= parts[i]->uses;
        node->size += parts[i]->size;
    }
    /* propagators depend on dt */
    if (!node->host || node->truth || node->kind == VLY_NODE_IF ||
        (node->kind == VLY_NODE_FUNCTION &&
         functions[node->index].takes >= TIMES))
        node->numeric = false;
}

vly_node *vly_node_too_large(vly_text *text, const char *at)
{
    return vly_fault_at(text, at,
                        "more than %u operations in one expression together "
                        "with what its names stand for, wanted fewer",
                        VLY_NODES_MAX);
}

/* A made node: neither too large nor a number that no float has. */
static vly_node *checked(vly_text *text, const char *at, vly_node *node)
{
    if (node->size > VLY_NODES_MAX)
        return vly_node_too_large(text, at);
    if (!node->numeric)
        return node;
    double value = vly_node_value(NULL, node, NULL, 0.0, 0.0, NULL);
    if (value >= -VLY_NUMBER_MOST && value <= VLY_NUMBER_MOST)
        return node;
    return vly_fault_at(text, at,
                        value - value == 0.0
                            ? "a number beyond 1e30, wanted a smaller one"
                            : "not a finite number, wanted another one");
}

static int add_degree(int a, int b)
{
    return a < 0 || b < 0 || a + b > 1 ? -1 : a + b;
}

/* Of a sum or a choice: 0 fits both. */
static int same_degree(const vly_node *a, const vly_node *b)
{
    int left = vly_node_degree(a);
    int right = vly_node_degree(b);
    if (a->any || b->any)
        return a->any ? right : left;
    return left == right ? left : -1;
}

int vly_node_degree(const vly_node *node)
{
    if (!node->arrives)
        return 0;
    switch (node->kind) {
    case VLY_NODE_INPUT:
        return 1;
    case VLY_NODE_NEGATE:
        return vly_node_degree(node->a);
    case VLY_NODE_ADD:
    case VLY_NODE_SUBTRACT:
        return same_degree(node->a, node->b);
    case VLY_NODE_MULTIPLY:
        return add_degree(vly_node_degree(node->a), vly_node_degree(node->b));
    case VLY_NODE_DIVIDE:
        return node->b->arrives ? -1 : vly_node_degree(node->a);
    case VLY_NODE_IF:
        return node->a->arrives ? -1 : same_degree(node->b, node->c);
    default:
        return -1;
    }
}

vly_node *vly_node_number(vly_arena *arena, double number, vly_unit unit)
{
    vly_node *node = vly_node_new(arena, VLY_NODE_NUMBER, 0);
    if (node) {
        node->number = number;
        node->unit = unit;
        node->host = node->numeric = true;
    }
    return node;
}

vly_node *vly_node_negate(vly_arena *arena, vly_node *a)
{
    vly_node *node = vly_node_new(arena, VLY_NODE_NEGATE, a->at);
    if (!node)
        return NULL;
    node->a = a;
    node->unit = a->unit;
    node->any = a->any;
    vly_node_join(node);
    return node;
}

static const char *verb(vly_node_kind kind)
{
    return kind == VLY_NODE_ADD        ? "added to"
           : kind == VLY_NODE_SUBTRACT ? "subtracted from"
           : kind == VLY_NODE_IF       ? "chosen beside"
                                       : "compared with";
}

/* Both sides have one unit, which the result has, too. */
static bool same_unit(vly_text *text, const char *at, vly_node_kind kind,
                      const vly_node *a, const vly_node *b, vly_unit *unit)
{
    char left[VLY_UNIT_TEXT];
    char right[VLY_UNIT_TEXT];
    *unit = a->any ? b->unit : a->unit;
    if (a->any || b->any || vly_unit_equal(a->unit, b->unit))
        return true;
    vly_unit_print(a->unit, left);
    vly_unit_print(b->unit, right);
    bool back = kind == VLY_NODE_ADD || kind == VLY_NODE_SUBTRACT;
    vly_fault_at(text, at, "%s %s %s, wanted one unit",
                 vly_unit_none(back ? b->unit : a->unit) ? "a pure number"
                 : back                                  ? right
                                                         : left,
                 verb(kind),
                 vly_unit_none(back ? a->unit : b->unit) ? "a pure number"
                 : back                                  ? left
                                                         : right);
    return false;
}

static bool truths(vly_text *text, const char *at, vly_node_kind kind,
                   const vly_node *a, const vly_node *b)
{
    bool wanted =
        kind == VLY_NODE_AND || kind == VLY_NODE_OR || kind == VLY_NODE_NOT;
    if (a->truth == wanted && (!b || b->truth == wanted))
        return true;
    vly_fault_at(text, at,
                 wanted ? "and, or and not are for conditions such as v > 0"
                        : "a condition in a calculation, wanted if ... then "
                          "... else ...");
    return false;
}

/* Parameters come first among the names. */
static void mark_divisors(vly_text *text, const vly_node *node)
{
    if (node->kind == VLY_NODE_PARAM)
        text->names->items[node->index].divides = true;
    if (node->kind != VLY_NODE_MULTIPLY && node->kind != VLY_NODE_NEGATE &&
        node->kind != VLY_NODE_POWER)
        return;
    mark_divisors(text, node->a);
    if (node->b)
        mark_divisors(text, node->b);
}

static bool is_zero(const vly_node *node)
{
    double value = vly_node_value(NULL, node, NULL, 0.0, 0.0, NULL);
    return value >= 0.0 && value <= 0.0;
}

vly_node *vly_node_binary(vly_text *text, const char *at, vly_node_kind kind,
                          vly_node *a, vly_node *b)
{
    vly_unit unit = {0};
    if (!truths(text, at, kind, a, b))
        return NULL;
    switch (kind) {
    case VLY_NODE_MULTIPLY:
    case VLY_NODE_DIVIDE:
        if (!vly_unit_times(a->unit, b->unit,
                            kind == VLY_NODE_MULTIPLY ? 1 : -1, &unit))
            return vly_fault_at(
                text, at, "a power of a unit beyond 100, wanted a smaller one");
        break;
    case VLY_NODE_AND:
    case VLY_NODE_OR:
    case VLY_NODE_NOT:
        break;
    default:
        if (!same_unit(text, at, kind, a, b, &unit))
            return NULL;
    }
    vly_node *node =
        vly_node_new(text->arena, kind, (uint32_t)(at - text->text));
    if (!node)
        return NULL;
    node->truth = kind >= VLY_NODE_LESS;
    node->a = a;
    node->b = b;
    node->unit = node->truth ? (vly_unit){0} : unit;
    vly_node_join(node);
    if (kind == VLY_NODE_DIVIDE)
        mark_divisors(text, b);
    if (kind == VLY_NODE_DIVIDE && b->numeric && is_zero(b))
        return vly_fault_at(text, at, "division by 0, wanted another number");
    return checked(text, at, node);
}

vly_node *vly_node_power(vly_text *text, const char *at, vly_node *a,
                         int32_t power)
{
    vly_node *node =
        vly_node_new(text->arena, VLY_NODE_POWER, (uint32_t)(at - text->text));
    if (!node)
        return NULL;
    if (a->truth)
        return vly_fault_at(text, at,
                            "a power of a condition, wanted one of a value");
    if (!vly_unit_times((vly_unit){0}, a->unit, power, &node->unit))
        return vly_fault_at(
            text, at, "a power of a unit beyond 100, wanted a smaller one");
    node->a = a;
    node->index = power;
    vly_node_join(node);
    if (power < 0)
        mark_divisors(text, a);
    return checked(text, at, node);
}

/* ---- functions ---------------------------------------------------------- */

vly_function vly_function_find(const char *name, size_t n)
{
    uint32_t i = 0;
    while (i < VLY_FUNCTIONS && (strlen(functions[i].name) != n ||
                                 memcmp(functions[i].name, name, n) != 0))
        i++;
    return (vly_function)i;
}

const char *vly_function_name(vly_function function)
{
    return functions[function].name;
}

static bool check_call(vly_text *text, const char *at, const row *f,
                       vly_node *const *arguments, uint32_t n, vly_unit *unit)
{
    char found[VLY_UNIT_TEXT];
    const vly_unit ms = {.ms = 1};
    *unit = (vly_unit){0};
    if (n != f->n)
        return vly_fault_at(text, at, "%s has %u argument%s, wanted %u",
                            f->name, n, n == 1 ? "" : "s", f->n);
    for (uint32_t i = 0; i < n; i++) {
        const vly_node *a = arguments[i];
        if (a->truth)
            return vly_fault_at(text, at, "%s of a condition, wanted a value",
                                f->name);
        if (f->host_only && !a->host)
            return vly_fault_at(text, at,
                                "%s of a state variable is not offered, wanted "
                                "it of parameters only",
                                f->name);
        vly_unit_print(a->unit, found);
        if (f->takes == PURE && !vly_unit_none(a->unit))
            return vly_fault_at(text, at, "%s of %s, wanted a pure number",
                                f->name, found);
        if (f->takes >= TIMES && !vly_unit_equal(a->unit, ms))
            return vly_fault_at(text, at, "%s of %s, wanted times", f->name,
                                found);
        if (f->takes == SAME && i == 0)
            *unit = a->unit;
        else if (f->takes == SAME &&
                 !same_unit(text, at, VLY_NODE_IF,
                            arguments[0]->any ? arguments[i - 1] : arguments[0],
                            a, unit))
            return false;
    }
    if (f->takes == ROOT && !vly_unit_root(arguments[0]->unit, unit)) {
        vly_unit_print(arguments[0]->unit, found);
        return vly_fault_at(
            text, at, "sqrt of %s, wanted a unit with even powers", found);
    }
    if (f->takes >= TIMES)
        (void)vly_unit_times(*unit, ms, f->takes == SQUARE ? 2 : 1, unit);
    return true;
}

vly_node *vly_node_call(vly_text *text, const char *at, vly_function function,
                        vly_node *const *arguments, uint32_t n)
{
    vly_unit unit;
    if (!check_call(text, at, &functions[function], arguments, n, &unit))
        return NULL;
    vly_node *node = vly_node_new(text->arena, VLY_NODE_FUNCTION,
                                  (uint32_t)(at - text->text));
    if (!node)
        return NULL;
    node->index = (int32_t)function;
    node->unit = unit;
    node->a = arguments[0];
    node->b = n > 1 ? arguments[1] : NULL;
    node->c = n > 2 ? arguments[2] : NULL;
    vly_node_join(node);
    for (uint32_t i = 0; i < n && functions[function].takes >= TIMES; i++)
        mark_divisors(text, arguments[i]);
    return checked(text, at, node);
}
