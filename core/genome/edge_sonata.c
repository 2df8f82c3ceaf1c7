/* SPDX-License-Identifier: Apache-2.0
 * Synapses from SONATA edges: a process of its own reads the file by HDF5
 * (edge_hdf5.c) and sends what it finds; here it is checked and made into a
 * list. A damaged file on which HDF5 crashes, or finds no end, is so refused
 * with a sentence like any other. Of a host with many threads only the one that
 * asks goes on in that process; a lock of HDF5 that another one holds is waited
 * for 10 minutes. 5 million synapses took 1.2 s, in one process 0.9 s.
 */
#include "genome/edge_list.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/memory.h"
#include "genome/edge_hdf5.h"

typedef struct sonata_list {
    const char *name;
    const vly_edge_spec *spec;
    vly_error *error;
    char population[VLY_SONATA_POPULATION];
    int in;
    bool ended; /* the last frame was there */
    uint64_t n; /* that were announced */
    vly_sonata_block *block;
    vly_edge_maker maker;
} sonata_list;

static const char *const set_names[] = {"source_node_id", "target_node_id",
                                        "0/syn_weight", "0/delay"};

/* ---- edges -------------------------------------------------------------- */

static vly_status fail_edge(const sonata_list *list, vly_edge_part part,
                            uint64_t index, const char *sentence)
{
    return vly_fail(list->error, VLY_E_PARSE,
                    "%.200s: /edges/%s/%s[%" PRIu64 "]: %s", list->name,
                    list->population, set_names[part], index, sentence);
}

static vly_status add_edge(sonata_list *list, uint64_t index, uint32_t i)
{
    const vly_edge_spec *spec = list->spec;
    const uint32_t limits[] = {spec->from->n_neurons, spec->to->n_neurons};
    const int64_t ids[] = {list->block->source[i], list->block->target[i]};
    char sentence[VLY_EDGE_SENTENCE];
    vly_edge_part wrong = VLY_EDGE_PARTS;
    for (int part = 0; part < 2; part++) {
        if (ids[part] >= 0 && ids[part] < (int64_t)limits[part])
            continue;
        snprintf(sentence, sizeof(sentence),
                 "is %" PRId64 ", wanted a whole number from 0 to %u",
                 ids[part], limits[part] - 1);
        return fail_edge(list, (vly_edge_part)part, index, sentence);
    }
    if (list->maker.has_weight && !isfinite(list->block->weight[i]))
        wrong = VLY_EDGE_WEIGHT;
    else if (list->maker.has_delay && !isfinite(list->block->delay[i]))
        wrong = VLY_EDGE_DELAY;
    if (wrong != VLY_EDGE_PARTS)
        return fail_edge(list, wrong, index,
                         "is not finite, wanted a finite number");
    vly_edge edge = {.source = (uint32_t)ids[0],
                     .target = (uint32_t)ids[1],
                     .weight = list->block->weight[i] + 0.0,
                     .delay = list->block->delay[i],
                     .place = index + 1};
    vly_status status = vly_edges_add(&list->maker, &edge, &wrong, sentence);
    if (status == VLY_OK && wrong != VLY_EDGE_PARTS)
        status = fail_edge(list, wrong, index, sentence);
    return status;
}

/* ---- frames ------------------------------------------------------------- */

/* False: it ended before. */
static bool receive(const sonata_list *list, void *data, size_t n)
{
    unsigned char *at = data;
    while (n > 0) {
        ssize_t got = read(list->in, at, n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

/* HDF5 may have overwritten anything before it crashed. */
static bool frame_good(const sonata_list *list, const vly_sonata_frame *frame,
                       uint64_t so_far)
{
    switch (frame->kind) {
    case VLY_SONATA_FAILED:
        return true;
    case VLY_SONATA_BEGIN:
        return frame->total <= VLY_EDGES_MAX && !*list->population &&
               frame->text[0] != 0;
    case VLY_SONATA_EDGES:
        return *list->population && frame->n > 0 &&
               frame->n <= VLY_SONATA_BLOCK && frame->n <= list->n - so_far;
    default:
        return frame->kind == VLY_SONATA_END && *list->population &&
               so_far == list->n;
    }
}

static vly_status receive_edges(sonata_list *list, uint32_t n, uint64_t *so_far)
{
    vly_sonata_block *block = list->block;
    size_t bytes = n * sizeof(*block->source);
    vly_status status = VLY_OK;
    if (!receive(list, block->source, bytes) ||
        !receive(list, block->target, bytes) ||
        (list->maker.has_weight && !receive(list, block->weight, bytes)) ||
        (list->maker.has_delay && !receive(list, block->delay, bytes)))
        return VLY_E_PARSE; /* its end says why */
    for (uint32_t i = 0; i < n && status == VLY_OK; i++)
        status = add_edge(list, *so_far + i, i);
    *so_far += n;
    list->ended = status != VLY_OK;
    return status;
}

/* Until the last frame: ended is then true, also where an edge is refused. If
 * it is not, the process did not come to its end. */
static vly_status receive_all(sonata_list *list)
{
    vly_sonata_frame frame;
    uint64_t so_far = 0;
    vly_status status = VLY_OK;
    while (status == VLY_OK && !list->ended) {
        if (!receive(list, &frame, sizeof(frame)) ||
            !frame_good(list, &frame, so_far))
            return VLY_E_PARSE;
        frame.text[sizeof(frame.text) - 1] = 0;
        if (frame.kind == VLY_SONATA_BEGIN) {
            snprintf(list->population, sizeof(list->population), "%.*s",
                     VLY_SONATA_POPULATION - 1, frame.text);
            list->n = frame.total;
            list->maker.has_weight = frame.has_weight != 0;
            list->maker.has_delay = frame.has_delay != 0;
        } else if (frame.kind == VLY_SONATA_EDGES) {
            status = receive_edges(list, frame.n, &so_far);
        } else {
            list->ended = true;
            if (frame.kind == VLY_SONATA_FAILED)
                status = vly_fail(list->error, VLY_E_PARSE, "%s", frame.text);
        }
    }
    return status;
}

/* ---- the process -------------------------------------------------------- */

/* A crash is expected here: no handler of the host's, no core file, no last
 * words of the C library. */
static void calm(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS,  SIGABRT, SIGFPE,
                                  SIGILL,  SIGPIPE, SIGPROF, SIGALRM};
    const struct rlimit none = {0, 0};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_DFL);
    signal(SIGINT, SIG_IGN); /* who asked answers it */
    signal(SIGTERM, SIG_DFL);
    setrlimit(RLIMIT_CORE, &none);
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

static vly_status start(sonata_list *list, const vly_sonata_ask *ask,
                        pid_t *process)
{
    int ends[2];
    int why = 0;
    if (pipe(ends) != 0)
        return vly_fail(list->error, VLY_E_IO, "%.300s: no pipe to read it: %s",
                        list->name, strerror(errno));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    *process = fork();
    why = errno;
    if (*process == 0) {
        close(ends[0]);
        calm();
        vly_hdf5_send(ask, list->block, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    list->in = ends[0];
    if (*process > 0)
        return VLY_OK;
    close(ends[0]);
    return vly_fail(list->error, VLY_E_IO, "%.300s: no process to read it: %s",
                    list->name, strerror(why));
}

static vly_status broke_down(const sonata_list *list, int end)
{
    int number = WIFSIGNALED(end) ? WTERMSIG(end) : 0;
    const char *what = number == SIGPROF || number == SIGALRM   ? "found no end"
                       : number == SIGKILL || number == SIGTERM ? "was killed"
                                                                : "crashed";
    return vly_fail(list->error, VLY_E_PARSE,
                    "%.300s: HDF5 %s reading this file (%s %d), wanted one "
                    "that is not damaged",
                    list->name, what, number ? "signal" : "exit code",
                    number ? number : WEXITSTATUS(end));
}

/* waitpid fails only where the host takes the ends of all processes: then what
 * came over the pipe has to say it. */
static int stop(sonata_list *list, pid_t process)
{
    int end = 0;
    close(list->in);
    if (list->ended)
        kill(process, SIGKILL); /* it may have more to send */
    while (waitpid(process, &end, 0) < 0 && errno == EINTR)
        ;
    return end;
}

static vly_status read_file(sonata_list *list, const vly_sonata_ask *ask,
                            vly_edge_list **out)
{
    pid_t process = 0;
    uint64_t twice = 0;
    vly_status status;
    list->block = vly_malloc(1, sizeof(*list->block));
    if (!list->block)
        return vly_fail_nomem(list->error, sizeof(*list->block),
                              "SONATA edges");
    memset(list->block, 0, sizeof(*list->block));
    VLY_TRY(start(list, ask, &process));
    status = receive_all(list);
    int end = stop(list, process);
    if (status != VLY_OK && !list->ended)
        VLY_TRY(broke_down(list, end));
    VLY_TRY(status);
    VLY_TRY(vly_edges_finish(&list->maker, &twice, out));
    if (twice)
        status = fail_edge(list, VLY_EDGE_TARGET, twice - 1,
                           "the second synapse from its source to this target, "
                           "wanted one, or multiple = true in the map");
out:
    return status;
}

vly_status vly_edges_from_sonata(const char *path, const char *name,
                                 const vly_edge_spec *spec,
                                 vly_edge_list **list, vly_error *error)
{
    const vly_sonata_ask ask = {.path = path,
                                .name = name,
                                .population = spec->population,
                                .map_weight = spec->map_weight,
                                .map_delay = spec->map_delay};
    sonata_list made = {.name = name, .spec = spec, .error = error};
    if (!vly_hdf5_built())
        return vly_fail(error, VLY_E_UNSUPPORTED,
                        "%.300s is an HDF5 file, and SONATA input is left out "
                        "of this build, wanted comma-separated text, or a "
                        "build where CMake finds HDF5 (libhdf5-dev)",
                        name);
    vly_edges_init(&made.maker, spec, error);
    vly_status status = read_file(&made, &ask, list);
    vly_free(made.block);
    vly_edges_deinit(&made.maker);
    return status;
}
