/* SPDX-License-Identifier: Apache-2.0
 * `volley ctl set` with its 1st, 2nd, 3rd ... allocation failing: a refusal
 * changes nothing, and a value that was set is in the report.
 */
#include "volley_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <volley/volley.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/json_writer.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"

static char path[] = "/tmp/volley_change_XXXXXX";

static const char genome[] = "format = 1\n[run]\ndt_ms = 0.5\nbursts = 20\n"
                             "[area.E]\nmodel = \"lif_psc_delta\"\n"
                             "neurons = 20\n";

/* 1.25 ms are not whole bursts, so rounding shows that they are in force. */
static bool is_set(const run_job *job)
{
    vly_error error = VLY_ERROR_INIT;
    double off = -1.0;
    assert_ok(vly_net_rounding(job->net, "area.E.t_ref_ms", &off, &error),
              error);
    return off > 0.1;
}

static size_t reported(const run_job *job)
{
    size_t n = 0;
    json_writer json;
    json_init(&json, false);
    json_object(&json, NULL);
    run_part_change.json[RUN_MEMBERS](job, &json);
    json_object_end(&json);
    assert_non_null(json_finish(&json, &(size_t){0}));
    for (const char *at = json.text; (at = strstr(at, "\"value\"")) != NULL;
         at++)
        n++;
    json_deinit(&json);
    return n;
}

/* Whether all went well with allocation n failing. *left as of
 * vly_memory_fail_at */
static bool set_once(uint64_t n, uint64_t *left)
{
    run_job job;
    json_writer json;
    vly_error error = VLY_ERROR_INIT;
    vly_error why = VLY_ERROR_INIT;
    assert_ok(run_job_init(&job, &error), error);
    assert_ok(vly_net_open(path, "cpu:1", &job.net, &error), error);
    assert_false(is_set(&job));
    json_init(&json, false);
    json_object(&json, NULL);
    vly_memory_fail_at(n);
    const vly_status status =
        run_part_change.obey(&job, "area.E.t_ref_ms=1.25", &json, &why);
    *left = vly_memory_fail_at(0);
    json_deinit(&json);
    assert_int_equal(status, VLY_OK); /* the run goes on */
    const bool done = why.status == VLY_OK;
    assert_true(done || why.status == VLY_E_NOMEM);
    assert_int_equal(is_set(&job), done);
    assert_int_equal(reported(&job), done ? 1 : 0);
    vly_net_close(job.net);
    job.net = NULL;
    run_parts_destroy(&job);
    return done;
}

static void set_without_memory(void **state)
{
    uint64_t left = 0;
    uint64_t n_refused = 0;
    bool done = false;
    (void)state;
    for (uint64_t n = 1; left == 0; n++) {
        done = set_once(n, &left);
        n_refused += !done;
    }
    assert_true(done);
    assert_true(n_refused > 5);
}

static int prepare(void **state)
{
    (void)state;
    int file = mkstemp(path);
    if (file < 0)
        return 1;
    const bool whole =
        write(file, genome, sizeof genome - 1) == (ssize_t)sizeof genome - 1;
    close(file);
    return whole ? 0 : 1;
}

static int clean(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(set_without_memory)};
    return cmocka_run_group_tests(tests, prepare, clean) ? 1 : 0;
}
