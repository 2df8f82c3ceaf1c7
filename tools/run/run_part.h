/* SPDX-License-Identifier: Apache-2.0
 * What a run is made of: recordings, checkpoints, swaps, telemetry, ... Each
 * part is one descriptor, usually in a file of its own, and one line of the
 * list RUN_PARTS below. A member that is NULL does nothing. Parts are called in
 * the order of the list, or in the reverse order where this is said.
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
    RUN_CHOOSE, /* names of files, from the genome and the options only */
    RUN_LOOK,   /* existing files: the names must not collide with them */
    RUN_ATTACH, /* plugins are found, none is used yet */
    RUN_CHECK,  /* all checks that are possible before the network is
                 * compiled */
    RUN_LOCK,   /* the folder is made */
    RUN_BUILD,  /* the network is compiled, by part ranks */
    RUN_FIT,    /* the network is compiled */
    RUN_CLAIM,  /* the net exists; recordings are opened and locked */
    RUN_OPEN,   /* other files and sockets are opened; threads start */
    RUN_READY,  /* all parts are open */
    /* no part can refuse the run any more */
    RUN_FLUSH, /* first bytes of recordings, before those of the folder */
    RUN_BEGIN, /* first bytes of other files */
    /* the loop */
    RUN_REACH,   /* the net is at the burst that `due` returned */
    RUN_BETWEEN, /* before each call of the engine */
    RUN_TAKE,    /* after each call, before the net is changed */
    /* the end */
    RUN_SAVE, /* files that are written once; called for all parts */
    RUN_N_STEPS
} run_step;

/* Places for the lines of a part in the printed summary. */
typedef enum run_lines {
    RUN_LINES_HEAD, /* before the first burst, on stderr */
    RUN_LINES,      /* after the figures of the run */
    RUN_LINES_LAST, /* after the line of memory */
    RUN_N_LINES
} run_lines;

/* Places for the members of a part in JSON. */
typedef enum run_members {
    RUN_MEMBERS_FIRST,  /* of the summary: how the run began */
    RUN_MEMBERS,        /* after its times */
    RUN_MEMBERS_LAST,   /* after its memory */
    RUN_MANIFEST_FIRST, /* of manifest.json: where the run can be reached */
    RUN_MANIFEST,       /* of manifest.json: its course */
    RUN_MANIFEST_LAST,  /* after that: how it began */
    RUN_N_MEMBERS
} run_members;

/* Whether what a part wrote since a snapshot of fail-over can be discarded. */
typedef enum run_cut {
    RUN_CUT_NOTHING, /* it writes no results of a device */
    RUN_CUT_WHOLE,   /* by cut */
    RUN_CUT_NOT /* a file is closed, or has data that cannot be made again */
} run_cut;

typedef struct run_part {
    const char *name;
    size_t state_bytes;         /* of run_part_state; begins as zeros */
    uint32_t help;              /* place of its options in --help, from 1 */
    const tool_option *options; /* a NULL name ends them; NULL: none */
    /* Options before and after the genome is loaded. */
    vly_status (*read)(run_job *job, const tool_args *args, vly_error *error);
    vly_status (*read_more)(run_job *job, const tool_args *args,
                            vly_error *error);
    /* The k-th output named by an option, a file or "-"; NULL after the last
     */
    const char *(*output)(const run_job *job, uint32_t k);
    /* A file that the part reads, so that no output may replace it; NULL: none.
     * *what: its name in a message */
    const char *(*input)(const run_job *job, const char **what);

    vly_status (*at[RUN_N_STEPS])(run_job *job, vly_error *error);
    /* Of a run by several ranks: this part reads synapses of all neurons, so
     * rank 0 holds the whole network. */
    bool (*whole)(const run_job *job);

    /* ---- the loop ---- */
    /* The state from which the net continues, to be destroyed by the caller;
     * NULL: the net starts from its beginning */
    vly_state *(*resume)(run_job *job);
    void (*start)(run_job *job, uint64_t now_ns);
    /* The burst up to which a call may run; UINT64_MAX: no limit. If it is not
     * after the present burst, RUN_REACH of this part is called and advances
     * it. */
    uint64_t (*due)(const run_job *job);
    /* Wanted duration of the next call, ns; UINT64_MAX: any */
    uint64_t (*call_ns)(const run_job *job, uint64_t now_ns);
    /* Number of moves to another backend so far: after a move the net may be
     * much slower. */
    uint32_t (*moves)(const run_job *job);
    /* Waits until the next burst is due. false: RUN_BETWEEN is to be called
     * first */
    bool (*wait)(run_job *job);
    /* When the next burst may start; NULL: at once. Each call does one burst.
     */
    uint64_t (*next_ns)(const run_job *job);
    /* Another thread has work for RUN_BETWEEN. [any-thread] */
    bool (*wants)(void);
    void (*before)(run_job *job); /* before a call; in reverse order */
    void (*after)(run_job *job, uint64_t next_ns); /* 0: at once */
    bool (*goes_on)(run_job *job); /* after bursts; false: the run ends */
    void (*look)(run_job *job);    /* likewise, last; in reverse order */
    /* The run and its clock were stopped for so long. */
    void (*stood)(run_job *job, uint64_t ns);

    /* Answers a command of `volley ctl` while bursts run; false: the command is
     * of another part. Members are added to json, an object with "ok"; *why:
     * reason if the command is refused. [server's thread] */
    bool (*ask)(run_job *job, const char *line, json_writer *json,
                vly_error *why);
    /* A command that is executed between two calls: its word, whether it has an
     * argument, and its function. *why: reason if it was refused. A returned
     * error ends the run and is in *why too. [burst loop] */
    const char *command;
    bool command_argument;
    vly_status (*obey)(run_job *job, const char *argument, json_writer *json,
                       vly_error *why);
    /* Lines of the metrics endpoint, to be freed with vly_free; NULL: memory
     * ran out. [any-thread] */
    char *(*metrics)(run_job *job);

    /* ---- fail-over: a part with one of these has all ---- */
    /* A snapshot was taken: the files are to be cut here if what the device
     * tells after it turns out to be wrong. */
    vly_status (*keep)(run_job *job, vly_error *error);
    run_cut (*can_cut)(const run_job *job, uint64_t kept_burst);
    /* Back to the last keep, which has succeeded. */
    vly_status (*cut)(run_job *job, uint64_t kept_burst, vly_error *error);

    /* ---- the end ---- */
    void (*last)(run_job *job); /* after the last burst */
    /* Ends threads, closes files; in reverse order. Legal at any time. */
    vly_status (*end)(run_job *job, vly_error *error);
    /* Called after `end` of all parts, when files are complete. */
    vly_status (*finish)(run_job *job, vly_error *error);
    void (*print[RUN_N_LINES])(const run_job *job);
    void (*json[RUN_N_MEMBERS])(const run_job *job, json_writer *json);
    bool (*found)(const run_job *job); /* the exit code of a run is 1 */
    void (*close)(run_job *job); /* frees everything that its state owns; legal
                                  * at any time */
} run_part;

/* The list. `after` is called from the first part to the last and `before` from
 * the last to the first, so that the clock of telemetry is closest to the call
 * of the engine. */
#define RUN_PARTS(PART)                                                        \
    PART(limits)                                                               \
    PART(ranks)                                                                \
    PART(pace)                                                                 \
    PART(checkpoint)                                                           \
    PART(swap)                                                                 \
    PART(change)                                                               \
    PART(failover)                                                             \
    PART(folder)                                                               \
    PART(record)                                                               \
    PART(weights)                                                              \
    PART(memory)                                                               \
    PART(bounds)                                                               \
    PART(connectome)                                                           \
    PART(watch)                                                                \
    PART(monitor)                                                              \
    PART(control)                                                              \
    PART(probe)                                                                \
    PART(summary)

#define RUN_PART_DECLARE(part) extern const run_part run_part_##part;
RUN_PARTS(RUN_PART_DECLARE)
#undef RUN_PART_DECLARE

/* Places of the parts in the list, and so of their states (run_job.h). */
#define RUN_PART_NUMBER(part) RUN_PART_##part,
typedef enum run_part_number { RUN_PARTS(RUN_PART_NUMBER) } run_part_number;
#undef RUN_PART_NUMBER

/* ---- all parts: run_parts.c ---------------------------------------------- */

/* Errors  E_NOMEM */
vly_status run_parts_create(run_job *job, vly_error *error);
void run_parts_destroy(run_job *job);

/* The k-th option in the order of --help; NULL after the last. */
const tool_option *run_parts_option(uint32_t k);
vly_status run_parts_read(run_job *job, const tool_args *args,
                          vly_error *error);
vly_status run_parts_read_more(run_job *job, const tool_args *args,
                               vly_error *error);
/* Does a part write to standard output? */
bool run_parts_is_stdout(const run_job *job);
/* The k-th output of all parts; NULL after the last. */
const char *run_parts_output(const run_job *job, uint32_t k);
/* Errors  E_INVALID path is a file that a part reads */
vly_status run_parts_apart(const run_job *job, const char *path,
                           vly_error *error);
/* Calls the parts up to the first that fails; RUN_SAVE: calls all and returns
 * the first failure. */
vly_status run_parts_do(run_job *job, run_step step, vly_error *error);

bool run_parts_whole(const run_job *job);
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
/* The part that executes a line, and the argument after the word; NULL: none.
 * [any-thread] */
const run_part *run_parts_command(const char *line, const char **argument);
/* "swap cpu:4": the text after the word and spaces; NULL: another word. */
const char *run_command_argument(const char *line, const char *word);
/* Lines of all parts. NULL: memory ran out */
char *run_parts_metrics(run_job *job);

/* Up to the first that fails. */
vly_status run_parts_keep(run_job *job, vly_error *error);
/* RUN_CUT_NOT if one cannot, otherwise RUN_CUT_WHOLE if one has to. */
run_cut run_parts_can_cut(const run_job *job, uint64_t kept_burst);
vly_status run_parts_cut(run_job *job, uint64_t kept_burst, vly_error *error);

void run_parts_last(run_job *job);
/* Calls all parts and returns the first failure. */
vly_status run_parts_end(run_job *job, vly_error *error);
vly_status run_parts_finish(run_job *job, vly_error *error);
void run_parts_print(const run_job *job, run_lines place);
void run_parts_json(const run_job *job, run_members place, json_writer *json);
bool run_parts_found(const run_job *job);

#endif
