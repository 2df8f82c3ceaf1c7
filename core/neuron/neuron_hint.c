/* SPDX-License-Identifier: Apache-2.0
 * Messages about a model's text: for words and signs of other simulators and
 * languages they say what to write instead.
 */
#include "neuron/neuron_build.h"

#include <stdio.h>
#include <string.h>

#include "base/plain.h"
#include "base/suggest.h"

typedef struct hint {
    const char *found;
    const char *wanted;
} hint;

static const hint signs[] = {
    {"**", "^ with a whole number"},
    {"&&", "`and`"},
    {"||", "`or`"},
    {"!=", "< <= > or >="},
    {"!", "`not`"},
    {"==", "< <= > or >="},
    {"=>", ">="},
    {"=<", "<="},
    {":=", "="},
    {"\xe2\x89\xa5", ">="},
    {"\xe2\x89\xa4", "<="},
    {"=", "< <= > or >= in a condition, and one = in a line"},
    {":", "the end of the line: the unit comes from `state`; write `hold` "
          "for (unless refractory)"},
    {"'", "a derivative only on the left side of an equation"},
    {"?", "if ... then ... else ..."},
    {"[", "a ("},
    {"]", "a )"},
    {"{", "a ("},
    {"}", "a )"},
    {"%", "exp, min, max, ... or an operator: there is no remainder"},
    {"\xe2\x88\x92", "- (this is another sign that looks like it)"},
    {"\xc2\xb7", "*"},
    {"\xc3\x97", "*"},
};

static const hint functions[] = {
    {"pow", "x^2, with a whole number"},
    {"power", "x^2, with a whole number"},
    {"ln", "log, of parameters"},
    {"log10", "log(x)/log(10), of parameters"},
    {"fabs", "abs"},
    {"exprelr", "1/exprel"},
    {"vtrap", "y/exprel(x/y)"},
    {"heaviside", "if x > 0 then 1 else 0"},
    {"Heaviside", "if x > 0 then 1 else 0"},
    {"convolve", "an equation of the current: i' = -i/tau with on.PORT = \"i "
                 "+= in\""},
    {"delta", "on.PORT = \"x += in\""},
    {"integrate_odes", "equations in `eq`"},
    {"emit_spike", "spike = \"v >= v_th\""},
    {"resolution", "dt"},
    {"timestep", "dt"},
    {"sin", "a stimulus that varies in time"},
    {"cos", "a stimulus that varies in time"},
    {"tan", "tanh or another function"},
    {"step", "if x > 0 then 1 else 0"},
    {"int", "bounds by min and max: there are no whole numbers"},
    {"rand", "uniform( )"},
    {"randn", "normal( )"},
    {"random", "uniform( )"},
    {"random_normal", "normal( )"},
};

static const hint names[] = {
    {"xi", "noise of a stimulus"},
    {"t", "no time: a stimulus varies in time"},
    {"pi", "3.14159265358979"},
    {"True", "a condition such as v > v_th"},
    {"False", "a condition such as v > v_th"},
    {"true", "a condition such as v > v_th"},
    {"false", "a condition such as v > v_th"},
    {"volt", "V or mV"},
    {"amp", "A or pA"},
    {"second", "s or ms"},
    {"siemens", "S or nS"},
    {"farad", "F or pF"},
    {"ohm", "Ohm or MOhm"},
};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const char *find(const hint *list, size_t n, const char *at,
                        size_t length)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(list[i].found) == length &&
            memcmp(list[i].found, at, length) == 0)
            return list[i].wanted;
    return NULL;
}

static const char *of_sign(const char *at, const char *wanted)
{
    bool operator= strncmp(wanted, "an operator", 11) == 0;
    for (size_t i = 0; i < COUNT(signs); i++)
        if (strncmp(at, signs[i].found, strlen(signs[i].found)) == 0 &&
            (operator|| strcmp(signs[i].found, "=") != 0))
            return signs[i].wanted;
    if ((*at == '<' || *at == '>') && operator)
        return "`and` between two comparisons";
    return wanted;
}

vly_node *vly_unexpected(vly_text *text, const char *wanted)
{
    const char *at = text->at;
    size_t n = vly_text_word(text);
    vly_unit unit;
    int decimal;
    if (!*at || *at == '\n')
        return vly_fault_at(text, at, "the %s ends here, wanted %s",
                            *at ? "line" : "text", wanted);
    if (n > 0) {
        if (vly_unit_symbol(at, n, &unit, &decimal))
            wanted = "a number before a unit, or an operator such as *";
        return vly_fault_at(text, at, "unexpected %.*s, wanted %s",
                            (int)(n < 60 ? n : 60), at, wanted);
    }
    n = vly_plain_char_at(at, strlen(at)).length;
    for (size_t i = 0; i < COUNT(signs); i++)
        if (strncmp(at, signs[i].found, strlen(signs[i].found)) == 0 &&
            strlen(signs[i].found) > n)
            n = strlen(signs[i].found);
    return vly_fault_at(text, at, "unexpected %.*s, wanted %s", (int)n, at,
                        of_sign(at, wanted));
}

/* The start of a word for a message. */
typedef char short_word[64];

/* Copies the word, and refuses it if it is in the list; false: it is not. */
static bool refuse_listed(vly_text *text, const char *at, size_t n,
                          const char *what, const hint *list, size_t n_list,
                          short_word word)
{
    const char *wanted = find(list, n_list, at, n);
    (void)snprintf(word, sizeof(short_word), "%.*s", (int)(n < 60 ? n : 60),
                   at);
    if (wanted)
        vly_fault_at(text, at, "unknown %s %s, wanted %s", what, word, wanted);
    return wanted != NULL;
}

vly_node *vly_unknown_name(vly_text *text, const char *at, size_t n)
{
    vly_suggest near = {0};
    short_word word;
    char choice[VLY_HINT_SIZE];
    if (refuse_listed(text, at, n, "name", names, COUNT(names), word))
        return NULL;
    for (uint32_t i = 0; i < text->names->n; i++)
        if (text->inputs || text->names->items[i].kind != VLY_NODE_INPUT)
            vly_suggest_offer(&near, word, text->names->items[i].name);
    return vly_fault_at(text, at, "unknown name %s%s", word,
                        vly_suggest_choice(&near, choice, sizeof choice));
}

vly_node *vly_unknown_function(vly_text *text, const char *at, size_t n)
{
    vly_suggest near = {0};
    short_word word;
    char choice[VLY_HINT_SIZE];
    if (refuse_listed(text, at, n, "function", functions, COUNT(functions),
                      word))
        return NULL;
    if (vly_names_find(text->names, at, n))
        return vly_fault_at(
            text, at,
            "%s is not a function, wanted an operator such as * "
            "after it",
            word);
    for (int i = 0; i < VLY_FUNCTIONS; i++)
        vly_suggest_offer(&near, word, vly_function_name((vly_function)i));
    return vly_fault_at(text, at, "unknown function %s%s", word,
                        vly_suggest_choice(&near, choice, sizeof choice));
}

/* dv/dt of Brian 2, and the declarations of NESTML */
bool vly_foreign_derivative(vly_text *text, const char *at)
{
    static const char *const words[] = {"kernel", "inline", "function",
                                        "recordable"};
    size_t n = vly_text_word(text);
    if (n > 1 && *at == 'd' && strncmp(at + n, "/dt", 3) == 0) {
        vly_fault_at(text, at, "d%.*s/dt, wanted %.*s' = ...",
                     (int)(n < 60 ? n : 60) - 1, at + 1,
                     (int)(n < 60 ? n : 60) - 1, at + 1);
        return true;
    }
    for (size_t i = 0; i < COUNT(words); i++)
        if (strlen(words[i]) == n && memcmp(at, words[i], n) == 0 &&
            at[n] == ' ' && vly_is_letter(at[n + 1])) {
            vly_fault_at(text, at,
                         "%s, wanted a line such as x' = ... or a "
                         "name = ... alone",
                         words[i]);
            return true;
        }
    return false;
}
