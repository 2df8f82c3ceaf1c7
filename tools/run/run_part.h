/* SPDX-License-Identifier: Apache-2.0
 * What a run is made of: recordings, checkpoints, swaps, telemetry, ... Each
 * part is one descriptor in a file of its own and one line of the list in
 * run_parts.c. A member that is NULL does nothing. Parts are called in the
 * order of the list, or in the reverse order where this is said.
 */
#ifndef VOLLEY_TOOLS_RUN_PART_H
#define VOLLEY_TOOLS_RUN_PART_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "tools/cli/json_writer.h"
#include "tools/cli/options.h"

typedef struct run_job run_job;

/* Steps of a run. An error of one ends the run. */
typedef enum run_step {
    /* before the first burst, in this order */
    RUN_CHOOSE, /* names of files, by the genome and the options alone */
    RUN_LOOK,   /* files that are there, which the names do not collide with */
    RUN_ATTACH, /* plugins are found, and none was used */
    RUN_CHECK,  /* all that can be refused before the network is compiled */
    RUN_LOCK,   /* the folder is made */
    RUN_FIT,    /* the network is compiled */
    RUN_CLAIM,  /* the net is there; recordings are opened and locked */
    RUN_OPEN,   /* all files are; threads start */
    RUN_READY,  /* all parts are open */
    /* no part can refuse the run any more */
    RUN_FLUSH, /* first bytes of recordings, before the folder has any */
    RUN_BEGIN, /* and of other files */
    /* the loop */
    RUN_REACH,   /* the net stands at the burst that `due` gave */
    RUN_BETWEEN, /* before each call of the engine */
    RUN_TAKE,    /* after each call, before the net is changed */
    /* the end */
    RUN_SAVE, /* files that are written once; all parts are asked */
    RUN_N_STEPS
} run_step;

/* Places of a part in the summary for people. */
typedef enum run_lines {
    RUN_LINES_HEAD, /* before the first burst, on stderr */
    RUN_LINES,      /* after the figures of the run */
    RUN_LINES_LAST, /* after the line of memory */
    RUN_N_LINES
} run_lines;

/* Places of its members in JSON. */
typedef enum run_members {
    RUN_MEMBERS_FIRST,  /* of the summary: how the run began */
    RUN_MEMBERS,        /* after its times */
    RUN_MEMBERS_LAST,   /* after its memory */
    RUN_MANIFEST_FIRST, /* of manifest.json: where the run can be reached */
    RUN_MANIFEST,       /* of manifest.json: its course */
    RUN_MANIFEST_LAST,  /* after that: how it began */
    RUN_N_MEMBERS
} run_members;

typedef struct run_part {
    const char *name;
    size_t state_bytes;         /* of run_part_state; begins as zeros */
    uint32_t help;              /* place of its options in --help, from 1 */
    const tool_option *options; /* a NULL name ends them; NULL: none */
    /* Options before and after the genome is loaded. */
    vly_status (*read)(run_job *job, const tool_args *args, vly_error *error);
    vly_status (*read_more)(run_job *job, const tool_args *args,
                            vly_error *error);
    /* Its k-th output that an option names, a file or "-"; NULL after the last
     */
    const char *(*output)(const run_job *job, uint32_t k);
    /* A file that it reads and no output may be; NULL: none. *what: its name in
     * a message */
    const char *(*input)(const run_job *job, const char **what);

    vly_status (*at[RUN_N_STEPS])(run_job *job, vly_error *error);

    /* ---- the loop ---- */
    /* The state from which the net goes on, to be destroyed by the caller;
     * NULL: from its beginning */
    vly_state *(*resume)(run_job *job);
    void (*start)(run_job *job, uint64_t now_ns);
    /* The burst up to which a call may go; UINT64_MAX: any. At most the present
     * one: RUN_REACH is called, which moves it. */
    uint64_t (*due)(const run_job *job);
    /* How long the next call is to take, ns; UINT64_MAX: as long as it likes */
    uint64_t (*call_ns)(const run_job *job, uint64_t now_ns);
    /* How often the net has moved: it may be slower now by far. */
    uint32_t (*moves)(const run_job *job);
    /* Waits for the time of the next burst. false: RUN_BETWEEN comes first */
    bool (*wait)(run_job *job);
    /* When the next burst may start; NULL: at once. Each call does one burst.
     */
    uint64_t (*next_ns)(const run_job *job);
    /* Another thread has something for RUN_BETWEEN. [any-thread] */
    bool (*wants)(void);
    void (*before)(run_job *job); /* a call; in reverse order */
    void (*after)(run_job *job, uint64_t next_ns); /* 0: at once */
    bool (*goes_on)(run_job *job); /* bursts are done; false: the run ends */
    void (*look)(run_job *job);    /* likewise, last; in reverse order */
    /* The run stood still for so long, and its clock too. */
    void (*stood)(run_job *job, uint64_t ns);

    /* A command of `volley ctl` that is answered while bursts go on; false: it
     * is another part's. Members are added to json, an object with "ok"; *why:
     * the command is refused. [server's thread] */
    bool (*ask)(run_job *job, const char *line, json_writer *json,
                vly_error *why);
    /* A command that is done between two calls: its word, whether something
     * stands after it, and what does it. *why: it was refused. An error ends
     * the run, and *why says it, too. [burst loop] */
    const char *command;
    bool command_argument;
    vly_status (*obey)(run_job *job, const char *argument, json_writer *json,
                       vly_error *why);
    /* Lines of the metrics endpoint, for vly_free; NULL: no memory.
     * [any-thread] */
    char *(*metrics)(run_job *job);

    /* ---- the end ---- */
    void (*last)(run_job *job); /* after the last burst */
    /* Ends threads, closes files; in reverse order. Legal at any time. */
    vly_status (*end)(run_job *job, vly_error *error);
    /* Files are whole, after `end` of all parts. */
    vly_status (*finish)(run_job *job, vly_error *error);
    void (*print[RUN_N_LINES])(const run_job *job);
    void (*json[RUN_N_MEMBERS])(const run_job *job, json_writer *json);
    bool (*found)(const run_job *job); /* the exit code of a run is 1 */
    void (*close)(run_job *job); /* what its state owns; legal at any time */
} run_part;

/* The list. A call of the engine is between `after`, from its beginning on, and
 * `before`, from its end on: so the clock of telemetry is next to the call. */
#define RUN_PARTS(PART)                                                        \
    PART(limits)                                                               \
    PART(pace)                                                                 \
    PART(checkpoint)                                                           \
    PART(swap)                                                                 \
    PART(failover)                                                             \
    PART(folder)                                                               \
    PART(record)                                                               \
    PART(connectome)                                                           \
    PART(watch)                                                                \
    PART(monitor)                                                              \
    PART(control)                                                              \
    PART(probe)                                                                \
    PART(summary)

#define RUN_PART_DECLARE(part) extern const run_part run_part_##part;
RUN_PARTS(RUN_PART_DECLARE)
#undef RUN_PART_DECLARE

/* What the part keeps of this run. */
void *run_part_state(const run_job *job, const run_part *part);

/* ---- all of them: run_parts.c ------------------------------------------- */

/* Errors  E_NOMEM */
vly_status run_parts_create(run_job *job, vly_error *error);
void run_parts_destroy(run_job *job);

/* The k-th option in the order of --help; NULL after the last. */
const tool_option *run_parts_option(uint32_t k);
vly_status run_parts_read(run_job *job, const tool_args *args,
                          vly_error *error);
vly_status run_parts_read_more(run_job *job, const tool_args *args,
                               vly_error *error);
/* Is standard output taken? */
bool run_parts_is_stdout(const run_job *job);
/* The k-th of all parts; NULL after the last. */
const char *run_parts_output(const run_job *job, uint32_t k);
/* Errors  E_INVALID path is a file that a part reads */
vly_status run_parts_apart(const run_job *job, const char *path,
                           vly_error *error);
/* Up to the first that fails; RUN_SAVE: all, and the first failure counts. */
vly_status run_parts_do(run_job *job, run_step step, vly_error *error);

vly_state *run_parts_resume(run_job *job);
void run_parts_start(run_job *job, uint64_t now_ns);
uint64_t run_parts_due(const run_job *job);
uint64_t run_parts_call_ns(const run_job *job, uint64_t now_ns);
uint32_t run_parts_moves(const run_job *job);
bool run_parts_wait(run_job *job);
/* 0: at once. */
uint64_t run_parts_next_ns(const run_job *job);
bool run_parts_want(void);
void run_parts_before(run_job *job);
void run_parts_after(run_job *job);
bool run_parts_go_on(run_job *job);
void run_parts_look(run_job *job);
void run_parts_stood(run_job *job, uint64_t ns);

/* false: no part has the command. */
bool run_parts_ask(run_job *job, const char *line, json_writer *json,
                   vly_error *why);
/* The part that obeys a line, and what stands after the word; NULL: none.
 * [any-thread] */
const run_part *run_parts_command(const char *line, const char **argument);
/* "swap cpu:4": what is after the word and spaces; NULL: another word. */
const char *run_command_argument(const char *line, const char *word);
/* Of all parts. NULL: no memory */
char *run_parts_metrics(run_job *job);

void run_parts_last(run_job *job);
/* All of them; the first failure counts. */
vly_status run_parts_end(run_job *job, vly_error *error);
vly_status run_parts_finish(run_job *job, vly_error *error);
void run_parts_print(const run_job *job, run_lines place);
void run_parts_json(const run_job *job, run_members place, json_writer *json);
bool run_parts_found(const run_job *job);

#endif
