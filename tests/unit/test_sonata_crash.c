/* SPDX-License-Identifier: Apache-2.0
 * HDF5 breaks down while it reads: a sentence, whatever the way, and nothing
 * left behind. This program has an H5Fopen of its own, which the engine's calls
 * find before the library's.
 */
#include "volley_test.h"

#include <volley/record.h>

#include <errno.h>
#include <hdf5.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "genome/edge_list.h"

enum { EXITS = 1000 };
static int end_by; /* a signal, or EXITS + a code */

/* The real one has a prototype in hdf5.h. */
hid_t H5Fopen(const char *path, unsigned flags, hid_t list)
{
    (void)path;
    (void)flags;
    (void)list;
    if (end_by >= EXITS)
        _exit(end_by - EXITS);
    raise(end_by);
    return -1;
}

static vly_status read_edges(vly_error *error)
{
    vly_edge_list *list = NULL;
    vly_area area = {.n_neurons = 3, .model = vly_model_find("lif_psc_delta")};
    const vly_edge_spec spec = {
        .from = &area, .to = &area, .weight_suffix = "mv", .dt_ms = 0.1};
    vly_status status =
        vly_edges_from_sonata("any.h5", "any.h5", &spec, &list, error);
    assert_null(list);
    return status;
}

/* Nothing is asked and nothing taken: it ends before. */
static vly_status read_spikes(vly_error *error)
{
    const vly_sonata_want want = {.struct_size = sizeof want,
                                  .n_columns_max = 1};
    const vly_sonata_take take = {.struct_size = sizeof take};
    return vly_sonata_read_spikes("any.h5", &want, &take, error);
}

static vly_status read_report(vly_error *error)
{
    const vly_sonata_want want = {.struct_size = sizeof want,
                                  .n_columns_max = 1};
    const vly_sonata_take take = {.struct_size = sizeof take};
    int more = 0;
    return vly_sonata_read_report("any.h5", &want, &take, &more, error);
}

static void ends_of(vly_status (*read)(vly_error *), int how, const char *what)
{
    char wanted[200];
    vly_error error = VLY_ERROR_INIT;
    uint64_t before = vly_memory_live();
    end_by = how;
    assert_int_equal(read(&error), VLY_E_PARSE);
    snprintf(wanted, sizeof wanted,
             "any.h5: HDF5 %s reading this file (%s %d), wanted one that is "
             "not damaged",
             what, how < EXITS ? "signal" : "exit code",
             how < EXITS ? how : how - EXITS);
    assert_string_equal(error.message, wanted);
    assert_true(vly_memory_live() == before);
    errno = 0; /* no process is left */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void ends(int how, const char *what)
{
    ends_of(read_edges, how, what);
    ends_of(read_spikes, how, what);
    ends_of(read_report, how, what);
}

static void every_end(void **state)
{
    (void)state;
    ends(SIGSEGV, "crashed");
    ends(SIGABRT, "crashed");
    ends(SIGPROF, "found no end");
    ends(SIGALRM, "found no end");
    ends(SIGKILL, "was killed");
    ends(EXITS + 0, "crashed");
    ends(EXITS + 7, "crashed");
}

/* A host that ignores or handles these signals changes nothing. */
static void every_end_with_handlers(void **state)
{
    signal(SIGSEGV, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, SIG_IGN);
    every_end(state);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_end),
    cmocka_unit_test(every_end_with_handlers),
};

/* What is read is there; nothing of it is looked at. */
int main(void)
{
    FILE *file = fopen("any.h5", "w");
    int status = 1;
    if (file != NULL && fclose(file) == 0)
        status = cmocka_run_group_tests(tests, NULL, NULL) != 0;
    (void)remove("any.h5");
    return status;
}
