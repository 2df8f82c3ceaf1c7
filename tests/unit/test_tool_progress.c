/* SPDX-License-Identifier: Apache-2.0
 * Progress of a run whose messages go to a file: nothing in the first minute,
 * then a line with rate and time left.
 */
#include "tools/cli/tool.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "volley_test.h"

static char said[4096];
static FILE *file;
static int before = -1;

static void listen(void)
{
    file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    before = dup(STDERR_FILENO);
    assert_true(before >= 0);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
}

static const char *heard(void)
{
    fflush(stderr);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    return said;
}

static void test_line(void **state)
{
    (void)state;
    tool_progress progress;
    listen();
    tool_progress_begin(&progress, false, 1000, UINT64_C(4294967296), 0.1);
    const uint64_t minute =
        (progress.next_ns - progress.begin_ns) / UINT64_C(1000000000);
    tool_progress_update(&progress, 2000);
    const long first = ftell(file);
    /* a minute is over, in which 60,000,000 bursts were done */
    progress.begin_ns = vly_clock_ns() - UINT64_C(60000000000);
    progress.next_ns = 0;
    tool_progress_update(&progress, 1000); /* none was done: no rate */
    tool_progress_update(&progress, 60001000);
    const uint64_t next = progress.next_ns;
    tool_progress_update(&progress, 70000000);
    tool_progress_end(&progress);
    const char *text = heard();
    assert_int_equal(minute, 60);
    assert_true(first <= 0);
    assert_true(next > progress.begin_ns + UINT64_C(60000000000));
    const char *wanted = "volley: 60,001,000 / 4,294,967,296 bursts  1%  ";
    if (strncmp(text, wanted, strlen(wanted)) != 0)
        fail_msg("\"%s\", wanted \"%s\"", text, wanted);
    assert_non_null(strstr(text, " bursts/s  real-time factor "));
    assert_string_equal(text + strlen(text) - 6, " left\n");
    assert_null(strchr(text, '\r'));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void test_quiet(void **state)
{
    (void)state;
    tool_progress progress;
    listen();
    tool_progress_begin(&progress, true, 0, 1000, 0.1);
    progress.next_ns = 0;
    tool_progress_update(&progress, 500);
    tool_progress_end(&progress);
    tool_progress_begin(&progress, false, 1000, 1000, 0.1); /* nothing to do */
    progress.next_ns = 0;
    tool_progress_update(&progress, 1001);
    tool_progress_end(&progress);
    assert_string_equal(heard(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_line),
                                       cmocka_unit_test(test_quiet)};
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
