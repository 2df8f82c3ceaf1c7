/* SPDX-License-Identifier: Apache-2.0
 * Delays of more than one burst for the maps of a random genome without a
 * delay. A map of a file is left alone: its file may have a column of delays.
 */
#include <stdio.h>
#include <string.h>

#include "random_maker.h"

enum { LINE = 40 }; /* bytes that a map gets at most */

static bool has(const char *section, const char *key)
{
    const char *end = strstr(section, "\n[");
    const char *at = strstr(section, key);
    return at && (!end || at < end);
}

void random_put_later(char *text, uint32_t later)
{
    static const char begin[] = "[[map]]\n";
    char line[LINE];
    const size_t n =
        (size_t)snprintf(line, sizeof line, "delay_bursts = %u\n", later);
    for (char *at = strstr(text, begin); at; at = strstr(at, begin)) {
        at += sizeof begin - 1;
        if (has(at, "\ndelay_ms") || has(at, "\ndelay_bursts") ||
            has(at, "\"filed\""))
            continue;
        memmove(at + n, at, strlen(at) + 1);
        memcpy(at, line, n);
    }
}

size_t random_later_bytes(const char *text)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, "[[map]]")); at++)
        n += LINE;
    return n;
}
