/* SPDX-License-Identifier: Apache-2.0
 * One table a subcommand: it drives parsing, --help and the suggestions for
 * unknown options.
 */
#ifndef VOLLEY_TOOLS_OPTIONS_H
#define VOLLEY_TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum tool_option_kind {
    TOOL_FLAG,
    TOOL_TEXT,
    TOOL_COUNT,   /* whole number in [lo, hi] */
    TOOL_NUMBER,  /* number in [lo, hi] */
    TOOL_CHOICE,  /* one of the words of metavar, "[a|b]", or no value */
    TOOL_OPTIONAL /* any text, only after =, or no value */
} tool_option_kind;

typedef struct tool_option {
    const char *name; /* without the dashes; NULL ends a table */
    char letter;      /* 'o' for -o; 0: none */
    bool repeat;      /* may be given more than once */
    tool_option_kind kind;
    const char *metavar;
    const char *text;
    double lo; /* lo == hi: no limits */
    double hi;
} tool_option;

typedef struct tool_args tool_args;

typedef struct tool_command {
    const char *name;
    const char *arguments; /* for the usage line */
    const char *summary;   /* one line */
    const char *details;   /* paragraphs after the options; NULL: none */
    const tool_option *options;
    /* Further options: the k-th, NULL after the last. NULL: none */
    const tool_option *(*more)(uint32_t k);
    uint32_t n_positional_min;
    uint32_t n_positional_max;
    int (*run)(const tool_args *args); /* returns the exit code */
    /* A group has these, named "GROUP NAME", up to a NULL, and neither options
     * nor run. */
    const struct tool_command *const *subcommands;
} tool_command;

typedef struct tool_value {
    const tool_option *option;
    const char *text; /* NULL for a flag */
    uint64_t count;
    double number;
} tool_value;

struct tool_args {
    const tool_command *command;
    const char **positional;
    uint32_t n_positional;
    tool_value *values; /* in the order given */
    uint32_t n_values;
    bool help;
    int exit_code; /* if the line cannot be parsed */
    int argc;      /* the whole command line, for manifests */
    char **argv;
};

/* Parses argv[first ...]. False: a message went to stderr, exit_code is set. */
bool tool_args_parse(const tool_command *command, int argc, char **argv,
                     int first, tool_args *args);
void tool_args_deinit(tool_args *args);
void tool_help_print(const tool_command *command, FILE *file);

/* The k-th option of a command; NULL after the last. */
const tool_option *tool_option_at(const tool_command *command, uint32_t k);

/* The option's value. name must be in the command's table. */
bool tool_has(const tool_args *args, const char *name);
/* NULL / fallback if it was not given */
const char *tool_text(const tool_args *args, const char *name);
uint64_t tool_count(const tool_args *args, const char *name, uint64_t fallback);
double tool_number(const tool_args *args, const char *name, double fallback);
/* The k-th value of an option that repeats; NULL after the last. */
const char *tool_text_at(const tool_args *args, const char *name, uint32_t k);

/* Strict: the whole text is a number. */
bool tool_read_count(const char *text, uint64_t *value);
bool tool_read_number(const char *text, double *value);

/* The name most similar to text, or NULL if none is similar. next(context, k)
 * gives the k-th name, NULL after the last. */
const char *tool_nearest(const char *text,
                         const char *(*next)(const void *context, uint32_t k),
                         const void *context);

#endif
