/* SPDX-License-Identifier: Apache-2.0
 * Reads the expressions of neuron models:
 *
 *     expr    = or | "if" or "then" expr "else" expr
 *     or      = and { "or" and }
 *     and     = not { "and" not }
 *     not     = "not" not | compare
 *     compare = sum [ ("<" | "<=" | ">" | ">=") sum ]
 *     sum     = product { ("+" | "-") product }
 *     product = unary { ("*" | "/") unary }
 *     unary   = "-" unary | power
 *     power   = atom [ "^" whole number ]
 *     atom    = number [ unit ] | "(" expr ")" | name | name "(" expr, ... ")"
 */
#include "neuron/neuron_build.h"

#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 100u
#define ARGUMENTS_MAX 4u

static vly_node *expression(vly_text *text);
static vly_node *sum(vly_text *text);

/* ---- words -------------------------------------------------------------- */

static bool word_is(const char *at, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(at, word, n) == 0;
}

static bool take_word(vly_text *text, const char *word)
{
    vly_text_skip(text);
    size_t n = vly_text_word(text);
    if (n == 0 || !word_is(text->at, n, word))
        return false;
    text->at += n;
    return true;
}

static bool take(vly_text *text, char c)
{
    vly_text_skip(text);
    if (*text->at != c)
        return false;
    text->at++;
    return true;
}

static bool is_reserved(const char *at, size_t n)
{
    static const char *const words[] = {"if", "then", "else", "and",
                                        "or", "not",  "hold"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (word_is(at, n, words[i]))
            return true;
    return false;
}

/* ---- names -------------------------------------------------------------- */

static vly_node *named(vly_text *text, const char *at, size_t n)
{
    const vly_named *found = vly_names_find(text->names, at, n);
    vly_node *node = NULL;
    uint32_t offset = (uint32_t)(at - text->text);
    if (word_is(at, n, "in")) {
        if (!text->in)
            return vly_fault_at(text, at,
                                "`in` is what arrives at a port, wanted it "
                                "only in `on`");
        node = vly_node_new(text->arena, VLY_NODE_INPUT, offset);
        if (node) {
            node->index = (int32_t)text->in_port;
            node->arrives = true;
            for (uint32_t i = 0; i < text->names->n; i++)
                if (text->names->items[i].kind == VLY_NODE_INPUT &&
                    text->names->items[i].index == text->in_port)
                    node->unit = text->names->items[i].unit;
        }
        return node;
    }
    if (found)
        text->names->items[found - text->names->items].used = true;
    if (found && found->alias)
        return found->alias;
    if (found && found->kind == VLY_NODE_INPUT && !text->inputs)
        return vly_fault_at(text, at,
                            text->in ? "port %s, wanted `in`: what arrives at "
                                       "the port of the key"
                                     : "port %s, wanted it only in `update`; "
                                       "on.%s says what an arrival does",
                            found->name, found->name);
    if (found || word_is(at, n, "dt")) {
        node = vly_node_new(text->arena, found ? found->kind : VLY_NODE_DT,
                            offset);
        if (node) {
            node->index = found ? (int32_t)found->index : 0;
            node->unit = found ? found->unit : (vly_unit){.ms = 1};
            node->host =
                node->kind == VLY_NODE_PARAM || node->kind == VLY_NODE_DT;
            node->arrives = node->kind == VLY_NODE_INPUT;
            if (node->kind == VLY_NODE_STATE)
                node->uses = 1u << node->index;
        }
        return node;
    }
    int decimal = 0;
    vly_unit unit;
    if (vly_unit_symbol(at, n, &unit, &decimal))
        return vly_node_number(text->arena, vly_decimal(1.0, decimal), unit);
    return vly_unknown_name(text, at, n);
}

/* ---- atoms -------------------------------------------------------------- */

/* A whole number from -most to most. */
static bool whole(vly_text *text, int32_t most, int32_t *out)
{
    bool minus = *text->at == '-';
    const char *at = text->at + minus;
    *out = 0;
    if (!vly_is_digit(*at))
        return false;
    for (; vly_is_digit(*at) && *out <= most; at++)
        *out = *out * 10 + (*at - '0');
    if (*out > most || *at == '.' || vly_is_word(*at))
        return false;
    *out = minus ? -*out : *out;
    text->at = at;
    return true;
}

/* "3 mV": the unit may have a power. */
static vly_node *number(vly_text *text)
{
    const char *at = text->at;
    double value = 0;
    size_t n = text->scan(at, &value);
    if (n == 0)
        return vly_fault_at(text, at,
                            "a number out of range, wanted one up to 1e30");
    text->at += n;
    const char *after = text->at;
    vly_unit unit = {0};
    int decimal = 0;
    vly_text_skip(text);
    size_t length = vly_text_word(text);
    if (length == 0 || is_reserved(text->at, length)) {
        text->at = after;
        length = 0;
    } else if (!vly_unit_symbol(text->at, length, &unit, &decimal)) {
        return vly_fault_at(text, text->at,
                            "%.*s after a number, wanted a unit or an operator "
                            "such as *",
                            (int)(length < 40 ? length : 40), text->at);
    } else {
        text->at += length;
    }
    vly_node *node = vly_node_number(text->arena, value, unit);
    if (node) {
        node->at = (uint32_t)(at - text->text);
        if (*text->at == '^' && length) { /* 3 mV^2 is 3 (mV^2) */
            int32_t times = 0;
            const char *sign = text->at++;
            if (!whole(text, 9, &times))
                return vly_fault_at(text, sign,
                                    "a power of a unit, wanted a whole number "
                                    "from -9 to 9");
            decimal *= times;
            (void)vly_unit_times((vly_unit){0}, unit, times, &node->unit);
        }
        node->number = vly_decimal(value, decimal);
        node->any = value >= 0.0 && value <= 0.0 && length == 0;
        if (!(node->number <= VLY_NUMBER_MOST))
            return vly_fault_at(text, at,
                                "a number beyond 1e30, wanted a smaller one");
    }
    return node;
}

/* Lines may end within brackets, so that the next one is wrong, too. */
static vly_node *not_closed(vly_text *text, const char *bracket,
                            const char *wanted)
{
    if (*text->at && !memchr(bracket, '\n', (size_t)(text->at - bracket)))
        return vly_unexpected(text, wanted);
    return vly_fault_at(text, bracket, "a ( that is not closed, wanted a )");
}

/* Each uniform( ) and normal( ) of a model is a draw of its own. */
static vly_node *draw(vly_text *text, const char *at, vly_node_kind kind)
{
    const char *name = kind == VLY_NODE_NORMAL ? "normal" : "uniform";
    if (!take(text, ')'))
        return vly_fault_at(
            text, text->at, "%s( ) with an argument, wanted none: %s", name,
            kind == VLY_NODE_NORMAL ? "its mean is 0 and its deviation 1"
                                    : "it is in [0, 1)");
    if (text->synapse)
        return vly_fault_at(text, at,
                            "%s( ), wanted no draw: what a spike does to a "
                            "synapse follows from spikes alone",
                            name);
    if (!text->n_draws)
        return vly_fault_at(text, at,
                            "%s( ), wanted it in `update`, `spike`, "
                            "`reset` or on.PORT: equations have no draws",
                            name);
    vly_node *node =
        vly_node_new(text->arena, kind, (uint32_t)(at - text->text));
    if (node)
        node->index = (int32_t)(*text->n_draws)++;
    return node;
}

static vly_node *call(vly_text *text, const char *at, size_t n)
{
    vly_node *arguments[ARGUMENTS_MAX] = {NULL};
    uint32_t count = 0;
    bool known = word_is(at, n, "rises") || word_is(at, n, "uniform") ||
                 word_is(at, n, "normal") ||
                 vly_function_find(at, n) != VLY_FUNCTIONS;
    if (!known)
        return vly_unknown_function(text, at, n);
    const char *bracket = text->at++;
    if (word_is(at, n, "uniform"))
        return draw(text, at, VLY_NODE_UNIFORM);
    if (word_is(at, n, "normal"))
        return draw(text, at, VLY_NODE_NORMAL);
    text->open++;
    do {
        if (count == ARGUMENTS_MAX)
            return vly_fault_at(text, at,
                                "%.*s has more than %u arguments, wanted "
                                "fewer",
                                (int)n, at, ARGUMENTS_MAX);
        arguments[count] = expression(text);
        if (!arguments[count++])
            return NULL;
    } while (take(text, ','));
    if (!take(text, ')'))
        return not_closed(text, bracket, "a , or a )");
    text->open--;
    if (word_is(at, n, "rises")) {
        if (!text->rises || count != 2)
            return vly_fault_at(text, at,
                                count != 2
                                    ? "rises, wanted a value and a threshold: "
                                      "rises(v, v_th)"
                                    : "rises( ), wanted it only in `spike`");
        if (!(arguments[0]->uses | arguments[1]->uses))
            return vly_fault_at(text, at,
                                "rises( ) without a state variable, wanted one "
                                "as in rises(v, v_th)");
        return vly_node_binary(text, at, VLY_NODE_RISES, arguments[0],
                               arguments[1]);
    }
    return vly_node_call(text, at, vly_function_find(at, n), arguments, count);
}

static vly_node *atom(vly_text *text)
{
    vly_text_skip(text);
    const char *at = text->at;
    if (vly_is_digit(*at) || (*at == '.' && vly_is_digit(at[1])))
        return number(text);
    if (*at == '(') {
        text->at++;
        text->open++;
        vly_node *inner = expression(text);
        if (!inner)
            return NULL;
        if (!take(text, ')'))
            return not_closed(text, at, "an operator or a )");
        text->open--;
        return inner;
    }
    size_t n = vly_text_word(text);
    if (n == 0 || is_reserved(at, n))
        return vly_unexpected(text, "a number, a name or a (");
    text->at += n;
    vly_text_skip(text);
    return *text->at == '(' ? call(text, at, n) : named(text, at, n);
}

/* ---- operators ---------------------------------------------------------- */

static vly_node *power(vly_text *text)
{
    vly_node *base = atom(text);
    const char *at = text->at;
    if (!base)
        return NULL;
    vly_text_skip(text);
    if (*text->at != '^')
        return base;
    at = text->at++;
    int32_t exponent = 0;
    vly_text_skip(text);
    if (!whole(text, 16, &exponent))
        return vly_fault_at(text, text->at,
                            "a power, wanted a whole number from -16 to 16; of "
                            "parameters exp(y*log(x)) is x to the y");
    return vly_node_power(text, at, base, exponent);
}

static vly_node *unary(vly_text *text)
{
    vly_text_skip(text);
    if (*text->at != '-')
        return power(text);
    const char *at = text->at++;
    if (++text->depth > DEPTH_MAX)
        return vly_fault_at(
            text, at, "more than %u levels of ( ), - and if, wanted fewer",
            DEPTH_MAX);
    vly_node *inner = unary(text);
    text->depth--;
    if (!inner)
        return NULL;
    return inner->truth
               ? vly_fault_at(text, at, "minus of a condition, wanted `not`")
               : vly_node_negate(text->arena, inner);
}

static vly_node *product(vly_text *text)
{
    vly_node *left = unary(text);
    while (left) {
        vly_text_skip(text);
        const char *at = text->at;
        if (*at != '*' && *at != '/')
            return left;
        if (at[1] == '*')
            return vly_unexpected(text, "^");
        text->at++;
        vly_node *right = unary(text);
        if (!right)
            return NULL;
        left = vly_node_binary(text, at,
                               *at == '*' ? VLY_NODE_MULTIPLY : VLY_NODE_DIVIDE,
                               left, right);
    }
    return NULL;
}

static vly_node *sum(vly_text *text)
{
    vly_node *left = product(text);
    while (left) {
        vly_text_skip(text);
        const char *at = text->at;
        if (*at != '+' && *at != '-')
            return left;
        text->at++;
        vly_node *right = product(text);
        if (!right)
            return NULL;
        left = vly_node_binary(text, at,
                               *at == '+' ? VLY_NODE_ADD : VLY_NODE_SUBTRACT,
                               left, right);
    }
    return NULL;
}

static vly_node *compare(vly_text *text)
{
    vly_node *left = sum(text);
    if (!left)
        return NULL;
    vly_text_skip(text);
    const char *at = text->at;
    if (*at == '=' && at[1] == '=')
        return vly_unexpected(text, "<");
    if (*at != '<' && *at != '>')
        return left;
    bool equal = at[1] == '=';
    text->at += equal ? 2 : 1;
    vly_node *right = sum(text);
    if (!right)
        return NULL;
    bool swap = *at == '>';
    return vly_node_binary(text, at, equal ? VLY_NODE_AT_MOST : VLY_NODE_LESS,
                           swap ? right : left, swap ? left : right);
}

static vly_node *negation(vly_text *text)
{
    vly_text_skip(text);
    const char *at = text->at;
    if (!take_word(text, "not"))
        return compare(text);
    if (++text->depth > DEPTH_MAX)
        return vly_fault_at(
            text, at, "more than %u levels of ( ), - and if, wanted fewer",
            DEPTH_MAX);
    vly_node *inner = negation(text);
    text->depth--;
    return inner ? vly_node_binary(text, at, VLY_NODE_NOT, inner, NULL) : NULL;
}

static vly_node *both(vly_text *text)
{
    vly_node *left = negation(text);
    while (left) {
        vly_text_skip(text);
        const char *at = text->at;
        if (!take_word(text, "and"))
            return left;
        vly_node *right = negation(text);
        left =
            right ? vly_node_binary(text, at, VLY_NODE_AND, left, right) : NULL;
    }
    return NULL;
}

static vly_node *either(vly_text *text)
{
    vly_node *left = both(text);
    while (left) {
        vly_text_skip(text);
        const char *at = text->at;
        if (!take_word(text, "or"))
            return left;
        vly_node *right = both(text);
        left =
            right ? vly_node_binary(text, at, VLY_NODE_OR, left, right) : NULL;
    }
    return NULL;
}

static vly_node *choice(vly_text *text, const char *at)
{
    vly_node *condition = either(text);
    if (!condition)
        return NULL;
    if (!condition->truth)
        return vly_fault_at(text, at,
                            "if without a condition, wanted one such as v > 0");
    if (!take_word(text, "then"))
        return vly_unexpected(text, "`then`");
    vly_node *yes = expression(text);
    if (!yes)
        return NULL;
    if (!take_word(text, "else"))
        return vly_unexpected(text, "`else`");
    vly_node *no = expression(text);
    if (!no)
        return NULL;
    vly_node *made = vly_node_binary(text, at, VLY_NODE_IF, yes, no);
    if (made) {
        made->a = condition;
        made->b = yes;
        made->c = no;
        vly_node_join(made);
        if (made->size > VLY_NODES_MAX)
            return vly_node_too_large(text, at);
    }
    return made;
}

static vly_node *expression(vly_text *text)
{
    vly_node *made;
    vly_text_skip(text);
    const char *at = text->at;
    if (++text->depth > DEPTH_MAX)
        return vly_fault_at(
            text, at, "more than %u levels of ( ), - and if, wanted fewer",
            DEPTH_MAX);
    made = take_word(text, "if") ? choice(text, at) : either(text);
    text->depth--;
    return made;
}

vly_node *vly_expression_read(vly_text *text)
{
    text->depth = 0;
    return expression(text);
}
