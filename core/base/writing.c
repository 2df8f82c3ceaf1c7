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

#include "base/reading.h"

enum { STEP_MS = 20 };

static bool is_pipe(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISFIFO(info.st_mode);
}

int vly_writing_open(const char *path, int flags)
{
    static const struct timespec step = {0, STEP_MS * 1000000L};
    if (!is_pipe(path))
        return open(path, flags, 0666);
    for (int waited_ms = 0;; waited_ms += STEP_MS) {
        const int file = open(path, flags | O_NONBLOCK, 0666);
        if (file >= 0) { /* from here on writes wait, as they should */
            (void)fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
            return file;
        }
        if (errno != ENXIO)
            return -1;
        if (waited_ms >= VLY_PIPE_WAIT_MS)
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
