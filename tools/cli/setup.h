/* SPDX-License-Identifier: Apache-2.0
 * From options to a net: what run, rerun, validate and bench share.
 */
#ifndef VOLLEY_TOOLS_SETUP_H
#define VOLLEY_TOOLS_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/host.h>

#include "tools/cli/options.h"

/* Overrides given by --set and --seed. */
typedef struct tool_overrides {
    vly_override *list;
    uint32_t n;
    char **texts; /* list points into it */
} tool_overrides;

/* --set PATH=VALUE ... and --seed N of args, if its table has them.
 * Errors  E_INVALID no '='; E_NOMEM */
vly_status tool_overrides_init(const tool_args *args, tool_overrides *overrides,
                               vly_error *error);
/* Adds one override, as text "PATH=VALUE". */
vly_status tool_overrides_add(tool_overrides *overrides, const char *text,
                              vly_error *error);
void tool_overrides_deinit(tool_overrides *overrides);

/* --bursts or --ms, otherwise [run] of the genome.
 * Errors  E_INVALID both options, or no length at all */
vly_status tool_bursts(const tool_args *args, const vly_genome *genome,
                       uint64_t *n_bursts, vly_error *error);

/* The burst of --summary-from; 0: it is not given.
 * Errors  E_INVALID not a whole number of bursts, or none of n_bursts is left
 */
vly_status tool_summary_from(const tool_args *args, const vly_genome *genome,
                             uint64_t n_bursts, uint64_t *burst,
                             vly_error *error);

/* --threads, otherwise the cores of this process. */
uint32_t tool_threads(const tool_args *args);

/* Is there a usable backend for "cpu:4"? To be asked before a long build.
 * Errors  E_INVALID, E_UNSUPPORTED, E_DEVICE */
vly_status tool_backend_check(vly_registry *registry, const char *backend,
                              vly_error *error);

/* Both are names of the same regular file; NULL is not a file. */
bool tool_is_same_file(const char *a, const char *b);

/* Checks whether a file can be created at the path, without creating it. NULL
 * and "-" are legal.
 * Errors  E_IO "path: cannot be written: reason" */
vly_status tool_output_check(const char *path, vly_error *error);

/* Prefix of an installed or built command: the folder above its own. false if
 * unknown. */
bool tool_prefix(char *folder, size_t capacity);

/* Where the shipped genomes are: beside an installed command, or in the source
 * tree.
 * Errors  E_IO in neither */
vly_status tool_genomes_folder(char *folder, size_t capacity, vly_error *error);

typedef struct tool_seconds_spent {
    double load;
    double build;
    double setup;
} tool_seconds_spent;

/* They cannot fail. */
vly_genome_info tool_genome_info(const vly_genome *genome);
vly_connectome_info tool_connectome_info(const vly_connectome *connectome);
/* index is one of its areas. */
vly_area_info tool_area_info(const vly_connectome *connectome, uint32_t index);

/* Notes on stderr where the network differs from the text of the genome. */
void tool_notes(const vly_genome *genome);

/* E_IO: path does not exist. The message says what to do, such as a similar
 * name. */
vly_status tool_genome_missing(const char *path, vly_error *error);
/* vly_genome_load. If path does not exist or is a folder, the message says what
 * to do. */
vly_status tool_genome_load(const char *path, const vly_override *overrides,
                            uint32_t n_overrides, vly_genome **genome,
                            vly_error *error);

typedef struct tool_build {
    vly_genome *genome;
    vly_connectome *connectome;
    tool_seconds_spent seconds;
} tool_build;

vly_status tool_build_init(const char *path, const tool_overrides *overrides,
                           uint32_t n_threads, tool_build *build,
                           vly_error *error);
void tool_build_deinit(tool_build *build);

#endif
