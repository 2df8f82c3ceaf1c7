/* SPDX-License-Identifier: Apache-2.0
 * Option tables: parsing, help, suggestions.
 */
#include "tools/cli/options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "genome/toml_tree.h"
#include "tools/cli/tool.h"

static const tool_option help_option = {
    "help", 'h', false, TOOL_FLAG, NULL, "print this text", 0, 0};

bool tool_read_count(const char *text, uint64_t *value)
{
    if (!isdigit((unsigned char)text[0]))
        return false;
    char *end = NULL;
    errno = 0;
    unsigned long long read = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0')
        return false;
    *value = read;
    return true;
}

bool tool_read_number(const char *text, double *value)
{
    if (text[0] == '\0' || isspace((unsigned char)text[0]))
        return false;
    char *end = NULL;
    double read = strtod(text, &end);
    /* false for inf and nan: their difference is not 0 */
    if (*end != '\0' || !(read - read <= 0.0))
        return false;
    *value = read;
    return true;
}

const char *tool_nearest(const char *text,
                         const char *(*next)(const void *context, uint32_t k),
                         const void *context)
{
    const char *best = NULL;
    if (strlen(text) > VLY_WORD_MAX)
        return NULL;
    uint32_t best_distance = (uint32_t)(strlen(text) + 2) / 3 + 1;
    for (uint32_t k = 0;; k++) {
        const char *name = next(context, k);
        if (!name)
            return best;
        uint32_t d = vly_suggest_distance(text, name);
        if (d < best_distance) {
            best = name;
            best_distance = d;
        }
    }
}

const tool_option *tool_option_at(const tool_command *command, uint32_t k)
{
    uint32_t n = 0;
    while (command->options[n].name && n < k)
        n++;
    if (command->options[n].name)
        return &command->options[n];
    return command->more ? command->more(k - n) : NULL;
}

static const char *option_name(const void *context, uint32_t k)
{
    const tool_option *option = tool_option_at(context, k);
    return option ? option->name : NULL;
}

static const tool_option *find(const tool_command *command, const char *name,
                               size_t n_name)
{
    const tool_option *option;
    for (uint32_t k = 0; (option = tool_option_at(command, k)) != NULL; k++) {
        if (strlen(option->name) == n_name &&
            strncmp(option->name, name, n_name) == 0)
            return option;
    }
    return NULL;
}

static const tool_option *find_letter(const tool_command *command, char letter)
{
    const tool_option *option;
    for (uint32_t k = 0; (option = tool_option_at(command, k)) != NULL; k++) {
        if (option->letter == letter)
            return option;
    }
    return letter == help_option.letter ? &help_option : NULL;
}

static bool unknown(const tool_command *command, const char *name,
                    size_t n_name)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)n_name, name);
    const char *near = tool_nearest(text, option_name, command);
    if (near)
        tool_message("unknown option --%s; did you mean --%s?", text, near);
    else
        tool_message("unknown option --%s; `volley %s --help` lists them", text,
                     command->name);
    return false;
}

static bool check_value(const tool_value *value)
{
    const tool_option *option = value->option;
    bool limits = option->lo < option->hi;
    bool whole = option->kind == TOOL_COUNT;
    double number = whole ? (double)value->count : value->number;
    if (!limits || (number >= option->lo && number <= option->hi))
        return true;
    tool_message("--%s is %s, wanted a %s from %.15g to %.15g", option->name,
                 value->text, whole ? "whole number" : "number", option->lo,
                 option->hi);
    return false;
}

/* "slip" is one of "[slip|skip]". */
static bool is_choice(const tool_option *option, const char *word)
{
    size_t n_word = strlen(word);
    for (const char *at = option->metavar; *at != '\0';) {
        size_t n = strcspn(at, "[|]");
        if (n > 0 && n == n_word && strncmp(at, word, n) == 0)
            return true;
        at += n + (at[n] != '\0');
    }
    return false;
}

static bool add_value(tool_args *args, const tool_option *option,
                      const char *text)
{
    if (option == &help_option) {
        args->help = true;
        return true;
    }
    if (!option->repeat && tool_has(args, option->name)) {
        tool_message("--%s is given twice", option->name);
        return false;
    }
    tool_value *value = &args->values[args->n_values];
    value->option = option;
    value->text = text;
    bool read = true;
    if (option->kind == TOOL_COUNT)
        read = tool_read_count(text, &value->count);
    else if (option->kind == TOOL_NUMBER)
        read = tool_read_number(text, &value->number);
    if (option->kind == TOOL_CHOICE && text && !is_choice(option, text)) {
        tool_message("--%s is \"%s\", wanted one of %s", option->name, text,
                     option->metavar);
        return false;
    }
    if (!read) {
        tool_message("--%s is \"%s\", wanted a %s%s", option->name, text,
                     option->kind == TOOL_COUNT ? "whole number" : "number",
                     option->kind == TOOL_NUMBER && vly_toml_is_comma(text)
                         ? " with a point, not a comma, as in 0.5"
                         : "");
        return false;
    }
    args->n_values++;
    return check_value(value);
}

/* argv[*at] is an option; moves *at past the value if that is a word of its
 * own. */
static bool parse_option(tool_args *args, int argc, char **argv, int *at)
{
    const tool_command *command = args->command;
    const char *word = argv[*at];
    const char *value = NULL;
    const tool_option *option;
    if (word[1] == '-') {
        const char *name = word + 2;
        size_t n_name = strcspn(name, "=");
        if (name[n_name] == '=')
            value = name + n_name + 1;
        option = find(command, name, n_name);
        if (!option && n_name == 4 && strncmp(name, "help", 4) == 0)
            option = &help_option;
        if (!option)
            return unknown(command, name, n_name);
    } else {
        option = find_letter(command, word[1]);
        if (!option) {
            tool_message("unknown option -%c; `volley %s --help` lists them",
                         word[1], command->name);
            return false;
        }
        if (word[2] != '\0')
            value = word + 2;
    }
    if (option->kind == TOOL_FLAG) {
        if (!value)
            return add_value(args, option, NULL);
        tool_message("--%s takes no value", option->name);
        return false;
    }
    bool choice = option->kind == TOOL_CHOICE || option->kind == TOOL_OPTIONAL;
    if (!value && *at + 1 < argc &&
        (!choice ||
         (option->kind == TOOL_CHOICE && is_choice(option, argv[*at + 1]))))
        value = argv[++*at];
    if (!value && !choice) {
        tool_message("--%s wants a value: %s", option->name, option->metavar);
        return false;
    }
    return add_value(args, option, value);
}

/* One word too many. After an option with an optional value it was meant as
 * that value: --pace fast. */
static bool refuse_word(const tool_args *args, const char *word,
                        const tool_option *before, const char *after)
{
    if (before)
        tool_message("--%s is \"%s\", wanted one of %s", before->name, after,
                     before->metavar);
    else
        tool_message("what is \"%s\"? usage: volley %s %s", word,
                     args->command->name, args->command->arguments);
    return false;
}

/* The option in the word before, if it takes an optional value and has none. */
static const tool_option *without_value(const tool_args *args, const char *word)
{
    const tool_value *last =
        args->n_values > 0 ? &args->values[args->n_values - 1] : NULL;
    return last && last->option->kind == TOOL_CHOICE && !last->text &&
                   word[0] == '-'
               ? last->option
               : NULL;
}

static bool parse_words(tool_args *args, int argc, char **argv, int first)
{
    const tool_command *command = args->command;
    const tool_option *before = NULL;
    const char *after = NULL;
    bool options = true;
    for (int at = first; at < argc; at++) {
        const char *word = argv[at];
        bool positional = !options || word[0] != '-' || word[1] == '\0';
        if (positional && !before && at > first) {
            before = without_value(args, argv[at - 1]);
            after = word;
        }
        if (options && strcmp(word, "--") == 0) {
            options = false;
        } else if (options && word[0] == '-' && word[1] != '\0') {
            if (!parse_option(args, argc, argv, &at))
                return false;
        } else if (args->n_positional == command->n_positional_max) {
            return refuse_word(args, word, before, after);
        } else {
            args->positional[args->n_positional++] = word;
        }
    }
    /* a file, a folder or a run, of every command */
    if (args->n_positional > 0 && args->positional[0][0] == '\0') {
        tool_message("a name is empty; usage: volley %s %s", command->name,
                     command->arguments);
        return false;
    }
    if (args->help || args->n_positional >= command->n_positional_min)
        return true;
    tool_message("usage: volley %s %s", command->name, command->arguments);
    return false;
}

bool tool_args_parse(const tool_command *command, int argc, char **argv,
                     int first, tool_args *args)
{
    size_t most = (size_t)argc + 1;
    *args = (tool_args){.command = command,
                        .exit_code = TOOL_EXIT_WRONG,
                        .argc = argc,
                        .argv = argv};
    args->positional = vly_calloc(most, sizeof *args->positional);
    args->values = vly_calloc(most, sizeof *args->values);
    if (!args->positional || !args->values) {
        vly_error error = VLY_ERROR_INIT;
        vly_fail_nomem(&error, most * sizeof *args->values, "the options");
        args->exit_code = tool_fail(&error);
        return false;
    }
    return parse_words(args, argc, argv, first);
}

void tool_args_deinit(tool_args *args)
{
    vly_free(args->positional);
    vly_free(args->values);
}

static void print_option(const tool_option *option, FILE *file)
{
    char left[64];
    char letter[8] = "";
    if (option->letter != 0)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(left, sizeof left, "%s--%s%s%s%s", letter, option->name,
             option->metavar ? " " : "", option->metavar ? option->metavar : "",
             option->repeat ? " ..." : "");
    fprintf(file, "  %-26s %s\n", left, option->text);
}

void tool_help_print(const tool_command *command, FILE *file)
{
    fprintf(file, "usage: volley %s %s\n\n%s\n\noptions:\n", command->name,
            command->arguments, command->summary);
    const tool_option *option;
    for (uint32_t k = 0; (option = tool_option_at(command, k)) != NULL; k++)
        print_option(option, file);
    print_option(&help_option, file);
    if (command->details)
        fprintf(file, "\n%s", command->details);
}

static const tool_value *value_at(const tool_args *args, const char *name,
                                  uint32_t k)
{
    assert(find(args->command, name, strlen(name)) != NULL);
    for (uint32_t i = 0; i < args->n_values; i++) {
        if (strcmp(args->values[i].option->name, name) == 0 && k-- == 0)
            return &args->values[i];
    }
    return NULL;
}

bool tool_has(const tool_args *args, const char *name)
{
    return value_at(args, name, 0) != NULL;
}

const char *tool_text(const tool_args *args, const char *name)
{
    return tool_text_at(args, name, 0);
}

const char *tool_text_at(const tool_args *args, const char *name, uint32_t k)
{
    const tool_value *value = value_at(args, name, k);
    return value ? value->text : NULL;
}

uint64_t tool_count(const tool_args *args, const char *name, uint64_t fallback)
{
    const tool_value *value = value_at(args, name, 0);
    return value ? value->count : fallback;
}

double tool_number(const tool_args *args, const char *name, double fallback)
{
    const tool_value *value = value_at(args, name, 0);
    return value ? value->number : fallback;
}
