/* SPDX-License-Identifier: Apache-2.0
 * What the targets over the command share: a demand that holds in release
 * builds too, a folder in memory for files that are read, and words of a
 * command line.
 */
#ifndef VOLLEY_TESTS_FUZZ_SUPPORT_H
#define VOLLEY_TESTS_FUZZ_SUPPORT_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(), which is off in release builds. */
static inline void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "demand: %s\n", what);
    abort();
}

/* What an input may be refused with: one line that says something. */
static inline void demand_sentence(vly_status status, const vly_error *error)
{
    demand(status == VLY_E_PARSE || status == VLY_E_INVALID ||
               status == VLY_E_IO || status == VLY_E_NOMEM ||
               status == VLY_E_UNSUPPORTED,
           "refused with another status");
    demand(strlen(error->message) > 5 && !strchr(error->message, '\n'),
           error->message);
}

/* A folder of this process on a file system in memory, where there is one; it
 * and all in it that fuzz_path named goes at the end. */
static char fuzz_folder[64];

static inline void fuzz_path(const char *name, char *path, size_t capacity)
{
    const int n = snprintf(path, capacity, "%s/%s", fuzz_folder, name);
    demand(n > 0 && (size_t)n < capacity, "a path that is too long");
}

static inline void fuzz_folder_remove(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", fuzz_folder);
    demand(system(command) == 0, "the folder cannot be removed");
}

static inline void fuzz_folder_make(void)
{
    static const char *const parents[] = {"/dev/shm", "/tmp"};
    for (int i = 0; i < 2 && fuzz_folder[0] == '\0'; i++) {
        snprintf(fuzz_folder, sizeof fuzz_folder, "%s/volley_fuzz_XXXXXX",
                 parents[i]);
        if (mkdtemp(fuzz_folder) != NULL)
            atexit(fuzz_folder_remove);
        else
            fuzz_folder[0] = '\0';
    }
    demand(fuzz_folder[0] != '\0', "no folder");
}

static inline void fuzz_write(const char *name, const uint8_t *data, size_t n)
{
    char path[128];
    fuzz_path(name, path, sizeof path);
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    demand(file >= 0 && write(file, data, n) == (ssize_t)n, "no file");
    close(file);
}

/* Words between line breaks and zeros, into argv [most] from *argc on; the
 * text is for free(). */
static inline char *fuzz_words(const uint8_t *data, size_t size, char **argv,
                               int most, int *argc)
{
    char *text = malloc(size + 1);
    demand(text != NULL, "no memory");
    memcpy(text, data, size);
    text[size] = '\0';
    for (size_t at = 0; at < size && *argc < most;) {
        char *word = text + at;
        size_t n = 0;
        while (at + n < size && word[n] != '\n' && word[n] != '\0')
            n++;
        word[n] = '\0';
        argv[(*argc)++] = word;
        at += n + 1;
    }
    return text;
}

#endif
