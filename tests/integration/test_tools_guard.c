/* SPDX-License-Identifier: Apache-2.0
 * A mapped file that is cut behind the command's back: one sentence and exit
 * code 4 where the guard is on, the signal where it is off.
 */
#include "volley_test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/cli/tool.h"

static char path[] = "/tmp/volley_guard_XXXXXX";

/* In a child: touches a page that the file no longer has. */
static void touch_what_is_gone(bool guard)
{
    int file = open(path, O_RDWR);
    if (file < 0 || ftruncate(file, 65536) != 0)
        _exit(100);
    void *mapped = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE, file, 0);
    const volatile unsigned char *bytes = mapped;
    if (mapped == MAP_FAILED || ftruncate(file, 100) != 0)
        _exit(101);
    tool_signals_init();
    tool_signals_guard(path);
    if (!guard)
        tool_signals_guard(NULL);
    _exit(bytes[40000] == 0 ? 102 : 103);
}

/* Its output and its end. */
static int child(bool guard, char *said, size_t size)
{
    int ends[2], status = 0;
    size_t n = 0;
    ssize_t got;
    assert_int_equal(pipe(ends), 0);
    pid_t process = fork();
    if (process == 0) {
        dup2(ends[1], STDERR_FILENO);
        touch_what_is_gone(guard);
    }
    close(ends[1]);
    while ((got = read(ends[0], said + n, size - 1 - n)) > 0)
        n += (size_t)got;
    said[n] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(process, &status, 0), process);
    return status;
}

static void cut_while_mapped(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    printf("skipped: AddressSanitizer keeps SIGBUS to itself\n");
    skip();
#endif
    char said[512], wanted[512];
    int status = child(true, said, sizeof said);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), TOOL_EXIT_IO);
    snprintf(wanted, sizeof wanted,
             "volley: %s: was cut, or could not be read, while it was looked "
             "at\n",
             path);
    assert_string_equal(said, wanted);
    status = child(false, said, sizeof said);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGBUS);
    assert_string_equal(said, "");
}

static int make(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 || close(file) != 0;
}

static int drop(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cut_while_mapped)};
    return cmocka_run_group_tests(tests, make, drop) ? 1 : 0;
}
