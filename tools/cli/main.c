/* SPDX-License-Identifier: Apache-2.0
 * The volley command: finds the subcommand and runs it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/cli/commands.h"
#include "tools/cli/tool.h"
#include "volley_build.h"

#define TOOL_ADDRESS(name) &cmd_##name,
static const tool_command *const commands[] = {TOOL_COMMANDS(TOOL_ADDRESS)
                                                   NULL};
#undef TOOL_ADDRESS

static const char *command_name(const void *context, uint32_t k)
{
    (void)context;
    return commands[k] ? commands[k]->name : NULL;
}

static void print_usage(FILE *file)
{
    fprintf(file, "usage: volley COMMAND [ARGUMENTS]\n\n");
    for (uint32_t k = 0; commands[k]; k++)
        fprintf(file, "  %-10s %s\n", commands[k]->name, commands[k]->summary);
    fprintf(file,
            "\n"
            "`volley COMMAND --help` lists the options, `volley --version` "
            "prints version and build.\n"
            "\n"
            "exit codes: 0 done, 1 a comparison failed, 2 the call or an "
            "input is wrong,\n"
            "3 device or plugin not available, 4 input or output failed, 5 "
            "out of memory,\n"
            "6 stopped by a signal or volley ctl; in a run: after the "
            "current burst,\n"
            "everything written, 7 a deadline was missed and --pace stop "
            "asked for\n");
}

static void print_version(void)
{
    printf("volley %s (%s, %s, %s, %s)\n", VLY_BUILD_VERSION, VLY_BUILD_COMMIT,
           VLY_BUILD_COMPILER, VLY_BUILD_TYPE, VLY_BUILD_FLAGS);
}

/* first: the word after the command's name */
static int run_command(const tool_command *command, int argc, char **argv,
                       int first)
{
    tool_args args;
    int code = TOOL_EXIT_DONE;
    if (!tool_args_parse(command, argc, argv, first, &args))
        code = args.exit_code;
    else if (args.help)
        tool_help_print(command, stdout);
    else
        code = command->run(&args);
    tool_args_deinit(&args);
    return code;
}

static const tool_command *find_command(const char *name)
{
    uint32_t k = 0;
    while (commands[k] && strcmp(commands[k]->name, name) != 0)
        k++;
    return commands[k];
}

/* ---- groups: volley monitor convert ----------------------------------- */

/* "convert" of "monitor convert" */
static const char *subcommand_name(const void *context, uint32_t k)
{
    const tool_command *group = context;
    const tool_command *command = group->subcommands[k];
    return command ? command->name + strlen(group->name) + 1 : NULL;
}

static const tool_command *find_subcommand(const tool_command *group,
                                           const char *name)
{
    uint32_t k = 0;
    while (group->subcommands[k] &&
           strcmp(subcommand_name(group, k), name) != 0)
        k++;
    return group->subcommands[k];
}

static void print_group(const tool_command *group, FILE *file)
{
    fprintf(file, "usage: volley %s SUBCOMMAND [ARGUMENTS]\n\n%s\n\n",
            group->name, group->summary);
    for (uint32_t k = 0; group->subcommands[k]; k++)
        fprintf(file, "  %-10s %s\n", subcommand_name(group, k),
                group->subcommands[k]->summary);
    fprintf(file, "\n`volley %s SUBCOMMAND --help` lists the options.\n",
            group->name);
}

static int run_group(const tool_command *group, int argc, char **argv)
{
    const char *name = argc > 2 ? argv[2] : NULL;
    if (!name) {
        print_group(group, stderr);
        return TOOL_EXIT_WRONG;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_group(group, stdout);
        return TOOL_EXIT_DONE;
    }
    const tool_command *command = find_subcommand(group, name);
    if (command)
        return run_command(command, argc, argv, 3);
    tool_plain_text text;
    const char *near = tool_nearest(name, subcommand_name, group);
    if (near)
        tool_message("unknown subcommand %s %s; did you mean %s?", group->name,
                     tool_plain(name, &text), near);
    else
        tool_message("unknown subcommand %s %s; `volley %s --help` lists them",
                     group->name, tool_plain(name, &text), group->name);
    return TOOL_EXIT_WRONG;
}

/* `volley help run`, as in other programs; a subcommand may follow the name of
 * a group. */
static int help(const char *name, const char *subcommand)
{
    const tool_command *command = name ? find_command(name) : NULL;
    const tool_command *group = command;
    if (group && group->subcommands && subcommand)
        command = find_subcommand(group, subcommand);
    if (command && command->subcommands)
        print_group(command, stdout);
    else if (command)
        tool_help_print(command, stdout);
    else if (group)
        tool_message("unknown subcommand %s %s; `volley %s --help` lists them",
                     group->name, subcommand, group->name);
    else if (name)
        tool_message("unknown command %s; `volley help` lists them", name);
    else
        print_usage(stdout);
    return !name || command ? TOOL_EXIT_DONE : TOOL_EXIT_WRONG;
}

/* A file in the place of a command: the message names the command for it. */
static bool instead_of_command(const char *name)
{
    struct stat info;
    tool_plain_text text;
    const char *shown = tool_plain(name, &text);
    const bool toml = tool_ends_in(name, ".toml");
    const bool there = stat(name, &info) == 0;
    if (toml)
        tool_message("%s is not a command; to run a genome: volley run %s",
                     shown, shown);
    else if (there && S_ISDIR(info.st_mode))
        tool_message("%s is not a command but a folder; volley status %s "
                     "shows its run",
                     shown, shown);
    else if (there)
        tool_message("%s is not a command but a file; volley inspect %s "
                     "shows its contents",
                     shown, shown);
    return toml || there;
}

static int dispatch(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        print_usage(stderr);
        return TOOL_EXIT_WRONG;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_usage(stdout);
        return TOOL_EXIT_DONE;
    }
    if (strcmp(name, "--version") == 0) {
        print_version();
        return TOOL_EXIT_DONE;
    }
    const tool_command *command = find_command(name);
    if (command && command->subcommands)
        return run_group(command, argc, argv);
    if (command)
        return run_command(command, argc, argv, 2);
    if (strcmp(name, "help") == 0)
        return help(argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL);
    if (instead_of_command(name))
        return TOOL_EXIT_WRONG;
    const char *near = tool_nearest(name, command_name, NULL);
    const char *what = name[0] == '-' ? "option" : "command";
    if (near)
        tool_message("unknown %s %s; did you mean %s?", what, name, near);
    else
        tool_message("unknown %s %s; `volley --help` lists them", what, name);
    return TOOL_EXIT_WRONG;
}

int main(int argc, char **argv)
{
    tool_signals_init();
    int code = dispatch(argc, argv);
    /* a full disk behind a redirected stdout is found here */
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == TOOL_EXIT_DONE) {
        tool_message("standard output: cannot be written: %s",
                     errno != 0 ? strerror(errno) : "an earlier write failed");
        code = TOOL_EXIT_IO;
    }
    return code;
}
