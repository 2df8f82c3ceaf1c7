/* SPDX-License-Identifier: Apache-2.0
 * A run by several processes. The first one is an ordinary run whose network
 * the others run with it (core/engine/ranks.h). --ranks starts the others on
 * this host, with the same command line; mpirun and srun start all of them.
 */
#define _GNU_SOURCE /* F_OFD_GETLK */
#include "tools/run/run_ranks.h"

#include <volley/ranks.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"

extern char **environ;

enum { MOST_RANKS = 64, NAME_BYTES = 96 };

/* In the environment of a process that --ranks started: "RANK RANKS LEADER
 * NAME"; LEADER is the process of rank 0. */
static const char started_as[] = "VOLLEY_RANK";

typedef struct ranks_part {
    uint32_t n_asked; /* --ranks; 0: not given */
    const char *mpi;  /* --mpi; NULL: not given */
    double timeout_s;
    bool threads_given;
    bool child; /* started by --ranks */
    vly_rank_group *group;
    vly_exchange_info info; /* at the end of the run */
    pid_t children[MOST_RANKS];
    uint32_t n_children;
    char name[NAME_BYTES];
} ranks_part;

static ranks_part *of(const run_job *job)
{
    return run_part_state(job, RUN_PART_ranks);
}

static const tool_option options[] = {
    {"ranks", 0, false, TOOL_COUNT, "N",
     "processes of this host that run the network together", 1, MOST_RANKS},
    {"mpi", 0, false, TOOL_OPTIONAL, "[=FILE]",
     "ranks that mpirun or srun started; FILE: the library of MPI", 0, 0},
    {"rank-timeout", 0, false, TOOL_NUMBER, "S",
     "seconds without a message after which a rank is lost; default 10", 0.1,
     86400},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

/* ---- who is this? ------------------------------------------------------- */

/* Variables that launchers set for processes of more than one. */
static bool is_launched(void)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                        "PMIX_SIZE"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const char *text = getenv(sizes[i]);
        if (text && strtoul(text, NULL, 10) > 1)
            return true;
    }
    const char *tasks = getenv("SLURM_NTASKS");
    return tasks && strtoul(tasks, NULL, 10) > 1 &&
           (getenv("PMIX_RANK") || getenv("PMI_RANK"));
}

static vly_status read_ranks(run_job *job, const tool_args *args,
                             vly_error *error)
{
    ranks_part *part = of(job);
    part->n_asked = (uint32_t)tool_count(args, "ranks", 0);
    part->timeout_s = tool_number(args, "rank-timeout", 10);
    part->threads_given = tool_has(args, "threads");
    if (tool_has(args, "mpi"))
        part->mpi = tool_text(args, "mpi") ? tool_text(args, "mpi") : "";
    if (part->n_asked > 0 && part->mpi)
        return vly_fail(error, VLY_E_INVALID,
                        "--ranks and --mpi: wanted one of them");
    if (part->n_asked > 0 && is_launched())
        return vly_fail(
            error, VLY_E_INVALID,
            "--ranks %u, but mpirun or srun has started this process "
            "as one of several: wanted one of them",
            part->n_asked);
    if (part->n_asked == 0 && !part->mpi && is_launched())
        part->mpi = "";
    if ((part->n_asked > 1 || part->mpi) && tool_has(args, "inject"))
        return vly_fail(error, VLY_E_INVALID,
                        "--inject with several ranks: a fault changes the "
                        "calls of one process, and the ranks would differ; "
                        "wanted one process");
    if (part->n_asked > 1 && strcmp(args->positional[0], "-") == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "--ranks %u: every rank reads the genome, so it cannot "
                        "be standard input",
                        part->n_asked);
    return VLY_OK;
}

/* ---- start -------------------------------------------------------------- */

/* Spec of a process that --ranks started. */
static vly_status read_place(ranks_part *part, vly_exchange_spec *spec,
                             vly_error *error)
{
    const char *text = getenv(started_as);
    unsigned rank = 0;
    unsigned n_ranks = 0;
    long leader = 0;
    if (!text)
        return VLY_OK;
    const bool whole = sscanf(text, "%u %u %ld %95s", &rank, &n_ranks, &leader,
                              part->name) == 4 &&
                       rank > 0 && rank < n_ranks && n_ranks <= MOST_RANKS;
    /* It does not outlive the leader, which may be killed while both compile.
     * If the leader ended before this call, another process is the parent, and
     * what is said here goes to /dev/null. */
    if (!whole || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
        getppid() != (pid_t)leader)
        return vly_fail(
            error, VLY_E_INVALID,
            "the environment has %s=%.100s: --ranks sets this "
            "variable for the processes that it starts, but did not "
            "start this one; wanted it unset",
            started_as, text);
    part->child = true;
    spec->rank = rank;
    spec->n_ranks = n_ranks;
    spec->name = part->name;
    return VLY_OK;
}

/* This program again, without input and output: what the rank has to say goes
 * to the leader by the exchange. Returns 0 or an errno. */
static int spawn(pid_t *process, char *const *argv)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t blocked;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return failed;
    }
    /* a signal to all processes is for the leader, which ends the others */
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGINT);
    (void)sigaddset(&blocked, SIGTERM);
    failed = posix_spawnattr_setsigmask(&attributes, &blocked);
    if (failed == 0)
        failed = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    for (int file = 0; file < 3 && failed == 0; file++)
        failed = posix_spawn_file_actions_addopen(
            &actions, file, "/dev/null", file == 0 ? O_RDONLY : O_WRONLY, 0);
    if (failed == 0)
        failed = posix_spawn(process, "/proc/self/exe", &actions, &attributes,
                             argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static vly_status start_one(run_job *job, uint32_t rank, vly_error *error)
{
    ranks_part *part = of(job);
    char place[NAME_BYTES + 60];
    const run_plan *plan = &job->plan;
    snprintf(place, sizeof place, "%u %u %ld %s", rank, part->n_asked,
             (long)getpid(), part->name);
    if (setenv(started_as, place, 1) != 0)
        return vly_fail_nomem(error, sizeof place, "a rank");
    int failed = spawn(&part->children[part->n_children], plan->argv);
    (void)unsetenv(started_as);
    if (failed != 0)
        return vly_fail(error, VLY_E_IO, "rank %u could not be started: %s",
                        rank, strerror(failed));
    part->n_children++;
    return VLY_OK;
}

/* Whether the job of this name has ended: its leader has, and no rank has the
 * file locked. A file of the last minute is left, as others of this host may
 * have process numbers of their own. */
static bool is_left(const char *path, long leader)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat about;
    const int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    const bool left =
        file >= 0 && fstat(file, &about) == 0 && about.st_uid == geteuid() &&
        time(NULL) - about.st_mtime > 60 && kill((pid_t)leader, 0) != 0 &&
        errno == ESRCH && fcntl(file, F_OFD_GETLK, &lock) == 0 &&
        lock.l_type == F_UNLCK;
    if (file >= 0)
        (void)close(file);
    return left;
}

/* A job that was killed before all its ranks had come leaves its name in shared
 * memory, and no later job has the same one. */
static void remove_left_names(void)
{
    glob_t found = {0};
    if (glob("/dev/shm/volley-*", GLOB_NOSORT, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            const char *path = found.gl_pathv[i];
            long leader = 0;
            int end = 0;
            if (sscanf(path, "/dev/shm/volley-%ld-%*[0-9a-f]%n", &leader,
                       &end) == 1 &&
                end > 0 && path[end] == '\0' && leader > 0 &&
                is_left(path, leader))
                (void)unlink(path);
        }
    globfree(&found);
}

static vly_status start_children(run_job *job, vly_exchange_spec *spec,
                                 vly_error *error)
{
    ranks_part *part = of(job);
    vly_status status = VLY_OK;
    remove_left_names();
    snprintf(part->name, sizeof part->name, "volley-%ld-%" PRIx64,
             (long)getpid(), vly_clock_ns());
    spec->n_ranks = part->n_asked;
    spec->name = part->name;
    for (uint32_t r = 1; r < part->n_asked; r++)
        VLY_TRY(start_one(job, r, error));
out:
    return status;
}

/* All cores of a host for its ranks, unless the user has said otherwise. */
static void share_cores(run_job *job, uint32_t n_ranks)
{
    const uint32_t cores = vly_thread_cores();
    if (!of(job)->threads_given)
        job->plan.n_threads = cores > n_ranks ? cores / n_ranks : 1;
}

vly_status run_ranks_begin(run_job *job, vly_error *error)
{
    ranks_part *part = of(job);
    const vly_exchange *table = NULL;
    vly_exchange_spec spec = {.struct_size = sizeof spec};
    vly_exchange_info info = {.struct_size = sizeof info};
    vly_status status = VLY_OK;
    spec.timeout_ms = (uint32_t)(part->timeout_s * 1e3);
    VLY_TRY(read_place(part, &spec, error));
    if (!part->child && part->n_asked < 2 && !part->mpi)
        return VLY_OK;
    VLY_TRY(tool_registry_create(&job->registry, error));
    VLY_TRY(vly_registry_exchange(job->registry, part->mpi ? "mpi" : "shm",
                                  &table, error));
    if (part->mpi) {
        spec.rank = VLY_EXCHANGE_OF_LAUNCHER;
        spec.n_ranks = VLY_EXCHANGE_OF_LAUNCHER;
        spec.name = part->mpi[0] != '\0' ? part->mpi : NULL;
    } else if (!part->child) {
        VLY_TRY(start_children(job, &spec, error));
    }
    VLY_TRY(vly_ranks_open(table, &spec, &part->group, error));
    VLY_TRY(vly_ranks_info(part->group, &info, error));
    share_cores(job, (info.n_ranks + info.n_hosts - 1) / info.n_hosts);
out:
    return status;
}

/* By all ranks, each its part if it can, or by this process alone. */
static vly_status build_network(run_job *job, vly_error *error)
{
    ranks_part *part = of(job);
    tool_build *build = &job->build;
    if (!part->group)
        return vly_connectome_build(build->genome, job->plan.n_threads,
                                    &build->connectome, error);
    return vly_ranks_build(part->group, build->genome, job->plan.n_threads,
                           run_parts_whole(job), NULL, &build->connectome,
                           error);
}

const vly_rank_group *run_ranks_group(const run_job *job)
{
    return of(job)->group;
}

/* ---- other ranks -------------------------------------------------------- */

bool run_ranks_serves(const run_job *job)
{
    return of(job)->group && vly_ranks_rank(of(job)->group) > 0;
}

int run_ranks_serve(run_job *job)
{
    ranks_part *part = of(job);
    vly_error error = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    /* a signal to all processes is for the leader, which ends the others */
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    VLY_TRY(build_network(job, &error));
    VLY_TRY(vly_ranks_serve(part->group, job->build.connectome, job->registry,
                            &error));
out:
    if (status != VLY_OK)
        vly_ranks_abort(part->group, error.message);
    run_job_deinit(job);
    return status == VLY_OK ? TOOL_EXIT_DONE : tool_fail(&error);
}

void run_ranks_abort(run_job *job, const vly_error *why)
{
    vly_ranks_abort(of(job)->group, why->message);
}

/* ---- the end ------------------------------------------------------------ */

/* Without a group they were not reached, so they are killed. Otherwise they end
 * by themselves, at once as a rule; 5 s for all, 3 s after a failure: one that
 * was stopped does not end, and with the 10 s after which it is missed the job
 * ends within 15 s. */
static void wait_children(ranks_part *part, bool failed)
{
    const struct timespec tick = {.tv_nsec = 10000000};
    uint32_t n_ticks = part->group ? (failed ? 300 : 500) : 0;
    for (uint32_t i = 0; i < part->n_children; i++) {
        int end;
        while (n_ticks > 0 && waitpid(part->children[i], &end, WNOHANG) == 0) {
            (void)nanosleep(&tick, NULL);
            n_ticks--;
        }
        /* no such child: it has been waited for above */
        if (waitpid(part->children[i], &end, WNOHANG) == 0) {
            (void)kill(part->children[i], SIGKILL);
            (void)waitpid(part->children[i], &end, 0);
        }
    }
    part->n_children = 0;
}

static void look_at_end(run_job *job)
{
    ranks_part *part = of(job);
    part->info.struct_size = sizeof part->info;
    if (part->group)
        (void)vly_ranks_info(part->group, &part->info, NULL);
}

static void close_ranks(run_job *job)
{
    ranks_part *part = of(job);
    const bool failed = job->result.error.status != VLY_OK;
    if (part->group && failed)
        vly_ranks_abort(part->group, job->result.error.message);
    vly_ranks_close(part->group);
    wait_children(part, failed);
    part->group = NULL;
}

static void print_lines(const run_job *job)
{
    if (of(job)->group)
        run_ranks_print(job, of(job)->group, &of(job)->info);
}

static void put_members(const run_job *job, json_writer *json)
{
    if (of(job)->group)
        run_ranks_json(job, of(job)->group, &of(job)->info, json);
}

const run_part run_part_ranks = {
    .name = "ranks",
    .state_bytes = sizeof(ranks_part),
    .help = 16,
    .options = options,
    .read = read_ranks,
    .at = {[RUN_BUILD] = build_network},
    .last = look_at_end,
    .print = {[RUN_LINES] = print_lines},
    .json = {[RUN_MEMBERS_LAST] = put_members},
    .close = close_ranks,
};
