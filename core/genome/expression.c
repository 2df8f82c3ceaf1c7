/* SPDX-License-Identifier: Apache-2.0
 * Expressions in double: + - * / ( ), unary minus, numbers, names from [var],
 * dt_ms, min max round sqrt log. No loops. Variables are evaluated when they
 * are first needed and kept; a cycle is refused. One counter limits the depth
 * of parentheses and of references together.
 *
 *     sum     = product { ("+" | "-") product }
 *     product = factor { ("*" | "/") factor }
 *     factor  = { "-" | "+" } ( number | name | call | "(" sum ")" )
 *     call    = function "(" sum { "," sum } ")"
 */
#include "genome/expression.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "genome/foreign_names.h"
#include "genome/genome_value.h"

typedef struct parser {
    vly_reader *reader;
    const vly_toml_node *node;
    const char *at;
} parser;

static vly_status sum(parser *p, double *out);

static vly_status fail(parser *p, const char *sentence, const char *word,
                       const char *end)
{
    return vly_reader_fail(p->reader, p->node, "\"%.200s\": %s%.80s%s",
                           p->node->u.string, sentence, word, end);
}

/* or a byte of one */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (c & 0x80) != 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char peek(parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')
        p->at++;
    return *p->at;
}

/* ---- functions ---------------------------------------------------------- */

typedef enum function_id {
    MIN,
    MAX,
    ROUND,
    SQRT,
    LOG,
    N_FUNCTIONS
} function_id;

static const char *const function_names[N_FUNCTIONS] = {"min", "max", "round",
                                                        "sqrt", "log"};

static function_id function_find(const char *name)
{
    uint32_t i = 0;
    while (i < N_FUNCTIONS && strcmp(function_names[i], name) != 0)
        i++;
    return (function_id)i;
}

static double function_apply(function_id id, double x)
{
    if (id == ROUND) {
        /* halves go up; x + 0.5 would round for the largest below 0.5 */
        double whole = vly_floor(x);
        return x - whole >= 0.5 ? whole + 1 : whole;
    }
    if (id == SQRT)
        return vly_sqrt(x);
    return id == LOG ? vly_log(x) : x;
}

static vly_status call(parser *p, function_id id, double *out)
{
    vly_status status = VLY_OK;
    double result = 0;
    uint32_t n = 0;
    do {
        double x = 0;
        p->at++; /* ( or , */
        VLY_TRY(sum(p, &x));
        if (n == 0 || (id == MIN && x < result) || (id == MAX && x > result))
            result = x;
        n++;
    } while (peek(p) == ',');
    if (*p->at != ')')
        return fail(p, "no ) after the arguments of ", function_names[id], "");
    p->at++;
    if (n != 1 && id != MIN && id != MAX)
        return fail(p, "more than one argument for ", function_names[id],
                    ", wanted one");
    if ((id == SQRT && result < 0) || (id == LOG && result <= 0))
        return fail(p,
                    id == LOG ? "log of a number that is not positive"
                              : "square root of a negative number",
                    "", "");
    *out = function_apply(id, result);
out:
    return status;
}

/* ---- names -------------------------------------------------------------- */

/* No variable may have this name: it would replace the step in expressions. */
static const char step_name[] = "dt_ms";

static vly_status no_name(parser *p, const char *name)
{
    vly_suggest suggest = {0};
    char hint[100];
    for (uint32_t i = 0; i < p->reader->n_vars; i++)
        vly_foreign_offer(&suggest, name, p->reader->vars[i].node->key);
    for (uint32_t i = 0; i < N_FUNCTIONS; i++)
        vly_foreign_offer(&suggest, name, function_names[i]);
    vly_foreign_offer(&suggest, name, step_name);
    vly_suggest_text(&suggest, hint, sizeof(hint));
    return fail(p, "no variable ", name,
                *hint ? hint : ", wanted one of [var], or dt_ms");
}

static vly_status evaluate(vly_reader *reader, vly_variable *var)
{
    if (var->state == VLY_VAR_DONE)
        return VLY_OK;
    if (var->state == VLY_VAR_BUSY)
        return vly_reader_fail(reader, var->node,
                               "variable %.80s refers to itself, wanted an "
                               "expression of others",
                               var->node->key);
    var->state = VLY_VAR_BUSY;
    vly_status status =
        vly_value_number(reader, var->node, var->node->key, &var->value);
    var->state = VLY_VAR_DONE;
    return status;
}

static vly_status name(parser *p, double *out)
{
    char word[VLY_NAME_MAX + 1];
    const char *start = p->at;
    while (is_letter(*p->at) || is_digit(*p->at))
        p->at++;
    if ((size_t)(p->at - start) > VLY_NAME_MAX)
        return fail(p, "a name of more than 63 characters: ", start, "");
    snprintf(word, sizeof(word), "%.*s", (int)(p->at - start), start);
    function_id id = function_find(word);
    if (peek(p) == '(') {
        if (id == N_FUNCTIONS)
            return fail(p, "no function ", word,
                        ", wanted min, max, round, sqrt or log");
        return call(p, id, out);
    }
    for (uint32_t i = 0; i < p->reader->n_vars; i++) {
        vly_variable *var = &p->reader->vars[i];
        if (strcmp(var->node->key, word) != 0)
            continue;
        vly_status status = evaluate(p->reader, var);
        *out = var->value;
        return status;
    }
    if (strcmp(word, step_name) == 0)
        return vly_reader_step(p->reader, p->node, out);
    return no_name(p, word);
}

/* ---- grammar ------------------------------------------------------------ */

static vly_status primary(parser *p, double *out)
{
    vly_status status = VLY_OK;
    char c = peek(p);
    if (is_letter(c))
        return name(p, out);
    if (c == '(') {
        p->at++;
        VLY_TRY(sum(p, out));
        if (peek(p) != ')')
            return fail(p, "a ( without )", "", "");
        p->at++;
        return VLY_OK;
    }
    size_t n = vly_toml_scan_number(p->at, out);
    if (n == 0)
        return fail(p, c ? "unexpected " : "ends too early", p->at,
                    ", wanted a number, a name or (");
    p->at += n;
out:
    return status;
}

static vly_status factor(parser *p, double *out)
{
    bool negative = false;
    for (char c = peek(p); c == '-' || c == '+'; c = peek(p)) {
        negative ^= c == '-';
        p->at++;
    }
    vly_status status = primary(p, out);
    if (negative)
        *out = -*out;
    return status;
}

static vly_status product(parser *p, double *out)
{
    vly_status status = factor(p, out);
    for (char c = peek(p); status == VLY_OK && (c == '*' || c == '/');
         c = peek(p)) {
        double right = 0;
        p->at++;
        status = factor(p, &right);
        if (status == VLY_OK && c == '/' && right == 0)
            return fail(p, "division by zero", "", "");
        *out = c == '*' ? *out * right : *out / right;
    }
    return status;
}

static vly_status sum(parser *p, double *out)
{
    if (++p->reader->depth > VLY_DEPTH_MAX)
        return fail(p, "nested too deep", "", ", wanted at most 200 levels");
    vly_status status = product(p, out);
    for (char c = peek(p); status == VLY_OK && (c == '+' || c == '-');
         c = peek(p)) {
        double right = 0;
        p->at++;
        status = product(p, &right);
        *out = c == '+' ? *out + right : *out - right;
    }
    p->reader->depth--;
    return status;
}

vly_status vly_expression_eval(vly_reader *reader, const vly_toml_node *node,
                               double *out)
{
    parser p = {reader, node, node->u.string + 1};
    double value = 0;
    vly_status status = VLY_OK;
    VLY_TRY(sum(&p, &value));
    if (peek(&p) != 0)
        return fail(&p, "unexpected ", p.at, " after the expression");
    if (!isfinite(value))
        return fail(&p, "does not give a finite number", "", "");
    *out = value;
out:
    return status;
}

static vly_status check_name(vly_reader *reader, const vly_toml_node *node)
{
    if (!vly_name_valid(node->key) || strpbrk(node->key, "-/") ||
        function_find(node->key) != N_FUNCTIONS)
        return vly_reader_fail_key(
            reader, node,
            "variable name \"%.80s\", wanted letters, digits and _, not the "
            "name of a function",
            node->key);
    if (strcmp(node->key, step_name) == 0)
        return vly_reader_fail_key(
            reader, node,
            "variable name \"%s\", wanted another: it is the time step of "
            "[run] in expressions",
            step_name);
    return VLY_OK;
}

vly_status vly_expression_vars(vly_reader *reader, const vly_toml_node *table)
{
    if (!table)
        return VLY_OK;
    vly_status status;
    VLY_TRY(vly_reader_table(reader, table, "var"));
    if (table->n_children > VLY_VARS_MAX)
        return vly_reader_fail(reader, table, "%u variables, wanted at most %u",
                               table->n_children, VLY_VARS_MAX);
    VLY_TRY(vly_reader_alloc(reader, table->n_children, sizeof(vly_variable),
                             &reader->vars));
    for (uint32_t i = 0; i < table->n_children; i++) {
        const vly_toml_node *node = &table->u.children[i];
        VLY_TRY(check_name(reader, node));
        reader->vars[i].node = node;
    }
    reader->n_vars = table->n_children;
    for (uint32_t i = 0; i < reader->n_vars; i++)
        VLY_TRY(evaluate(reader, &reader->vars[i]));
out:
    return status;
}
