/* SPDX-License-Identifier: Apache-2.0
 * Forks, pipes, and how a child ended.
 */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/error.h"
#include "base/transfer.h"

#define COMPUTING_S 60
#define WAITING_S 600

/* A crash is expected here: the child uses none of the host's signal handlers,
 * writes no core file, and silences the messages of the C library. */
static void calm(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS,  SIGABRT, SIGFPE,
                                  SIGILL,  SIGPIPE, SIGPROF, SIGALRM};
    const struct rlimit none = {0, 0};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_DFL);
    signal(SIGINT, SIG_IGN); /* the parent handles it */
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP,
           SIG_IGN); /* as SIGINT: sent to all processes of the terminal */
    setrlimit(RLIMIT_CORE, &none);
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

vly_status vly_child_begin(vly_child *child, const char *name,
                           const char *library,
                           void (*work)(void *context, int out), void *context,
                           vly_error *error)
{
    int ends[2];
    int why = 0;
    if (pipe(ends) != 0)
        return vly_fail(error, VLY_E_IO, "%.300s: no pipe for %s: %s", name,
                        library, strerror(errno));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    child->process = fork();
    why = errno;
    if (child->process == 0) {
        close(ends[0]);
        calm();
        vly_child_wind_up();
        work(context, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    child->in = ends[0];
    if (child->process > 0)
        return VLY_OK;
    close(ends[0]);
    return vly_fail(error, VLY_E_NOMEM, "%.300s: no process for %s: %s", name,
                    library, strerror(why));
}

vly_status vly_child_start(vly_child *child, const char *name,
                           void (*work)(void *context, int out), void *context,
                           vly_error *error)
{
    return vly_child_begin(child, name, "HDF5", work, context, error);
}

bool vly_child_receive(const vly_child *child, void *data, size_t n)
{
    unsigned char *at = data;
    while (n > 0) {
        ssize_t got = vly_transfer_read(child->in, at, n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

/* waitpid fails only if the host collects the exit status of all processes
 * itself: then the data from the pipe must decide. */
int vly_child_stop(const vly_child *child, bool at_once)
{
    int end = 0;
    close(child->in);
    if (at_once)
        kill(child->process, SIGKILL);
    while (waitpid(child->process, &end, 0) < 0 && errno == EINTR)
        ;
    return end;
}

vly_status vly_child_broke_down(const char *name, int end, vly_error *error)
{
    int number = WIFSIGNALED(end) ? WTERMSIG(end) : 0;
    const char *what = number == SIGPROF || number == SIGALRM   ? "found no end"
                       : number == SIGKILL || number == SIGTERM ? "was killed"
                                                                : "crashed";
    return vly_fail(error, VLY_E_PARSE,
                    "%.300s: HDF5 %s reading this file (%s %d), wanted one "
                    "that is not damaged",
                    name, what, number ? "signal" : "exit code",
                    number ? number : WEXITSTATUS(end));
}

bool vly_child_send(int out, const void *data, size_t n)
{
    const unsigned char *at = data;
    while (n > 0) {
        ssize_t done = vly_transfer_write(out, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

void vly_child_wind_up(void)
{
    const struct itimerval computing = {.it_value = {.tv_sec = COMPUTING_S}};
    setitimer(ITIMER_PROF, &computing, NULL);
    alarm(WAITING_S);
}

void vly_child_unwind(void)
{
    const struct itimerval never = {0};
    setitimer(ITIMER_PROF, &never, NULL);
    alarm(0);
}
