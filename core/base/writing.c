/* SPDX-License-Identifier: Apache-2.0
 * Opens an output file. For a named pipe, open() would wait for a reader for
 * ever; here it waits 10 s, time enough for a shell to start the reader.
 */
#include "base/writing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/reading.h"
#include "base/thread.h"

enum { STEP_MS = 20 };

static bool is_pipe(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISFIFO(info.st_mode);
}

/* file, whose writes now block; -1 and errno on failure, file is closed then */
static int let_writes_wait(int file)
{
    const int flags = fcntl(file, F_GETFL);
    if (flags >= 0 && fcntl(file, F_SETFL, flags & ~O_NONBLOCK) == 0)
        return file;
    const int number = errno;
    close(file);
    errno = number;
    return -1;
}

int vly_writing_open(const char *path, int flags)
{
    static const struct timespec step = {0, STEP_MS * 1000000L};
    if (!is_pipe(path))
        return open(path, flags, 0666);
    const uint64_t end = vly_clock_ns() + VLY_PIPE_WAIT_MS * UINT64_C(1000000);
    for (;;) {
        const int file = open(path, flags | O_NONBLOCK, 0666);
        if (file >= 0)
            return let_writes_wait(file);
        if (errno != ENXIO)
            return -1;
        if (vly_clock_ns() >= end) /* a signal ends a nap early */
            break;
        nanosleep(&step, NULL);
    }
    errno = ETIMEDOUT;
    return -1;
}

const char *vly_writing_reason(int number)
{
    _Static_assert(VLY_PIPE_WAIT_MS == 10000, "the text names it");
    return number == ETIMEDOUT
               ? "a pipe that no process has opened to read for 10 s"
               : strerror(number);
}
