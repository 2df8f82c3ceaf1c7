/* SPDX-License-Identifier: Apache-2.0
 * Bytes that come in pieces, on standard output.
 */
#include "tools/cli/plain_stream.h"

#include <stdio.h>

#include "tools/cli/tool.h"

bool plain_stream_end(plain_stream *stream)
{
    stream->waiting[stream->n_waiting] = '\0';
    tool_print("%s", stream->waiting);
    stream->n_waiting = 0;
    return fflush(stdout) == 0;
}

bool plain_stream_put(plain_stream *stream, const uint8_t *bytes, size_t n)
{
    if (!stream->is_terminal)
        return n == 0 ||
               (fwrite(bytes, 1, n, stdout) == n && fflush(stdout) == 0);
    for (size_t i = 0; i < n; i++) {
        const uint8_t first =
            stream->n_waiting > 0 ? (uint8_t)stream->waiting[0] : bytes[i];
        const size_t wanted = first < 0xc0   ? 1
                              : first < 0xe0 ? 2
                              : first < 0xf0 ? 3
                              : first < 0xf8 ? 4
                                             : 1;
        const bool goes_on =
            stream->n_waiting == 0 || (bytes[i] & 0xc0) == 0x80;
        if (!goes_on)
            plain_stream_end(stream);
        if (bytes[i] == 0) {
            tool_print("\\x00");
            continue;
        }
        stream->waiting[stream->n_waiting++] = (char)bytes[i];
        if (goes_on && stream->n_waiting == wanted)
            plain_stream_end(stream);
    }
    return fflush(stdout) == 0;
}
