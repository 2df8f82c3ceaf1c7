/* SPDX-License-Identifier: Apache-2.0
 * Genomes from literals, for the tests of core/genome.
 */
#ifndef VOLLEY_TEST_GENOME_TEXT_H
#define VOLLEY_TEST_GENOME_TEXT_H

#include "volley_test.h"

#include <dirent.h>

#include "base/error.h"
#include "base/memory.h"
#include "genome/genome.h"

static inline vly_genome *genome_with(const char *text,
                                      const vly_override *overrides, uint32_t n)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    assert_ok(vly_genome_parse(text, strlen(text), "t", overrides, n, &genome,
                               &error),
              error);
    return genome;
}

static inline vly_genome *genome_of(const char *text)
{
    return genome_with(text, NULL, 0);
}

/* A file that cannot be opened is E_IO, all else that is refused E_PARSE. */
static inline vly_status refusal(const char *message)
{
    return strstr(message, ": No such file or directory") ||
                   strstr(message, ": a folder, wanted a file")
               ? VLY_E_IO
               : VLY_E_PARSE;
}

/* The genome is refused with exactly this message. */
static inline void assert_refused_with(const char *text,
                                       const vly_override *overrides,
                                       uint32_t n, const char *message)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    assert_int_equal(vly_genome_parse(text, strlen(text), "t", overrides, n,
                                      &genome, &error),
                     refusal(message));
    assert_null(genome);
    assert_string_equal(error.message, message);
}

static inline void assert_refused(const char *text, const char *message)
{
    assert_refused_with(text, NULL, 0, message);
}

/* Calls body for every NAME.toml of root/folder, in no order; the number of
 * files. */
static inline uint32_t each_genome_of(const char *root, const char *folder,
                                      void (*body)(const char *path))
{
    char path[1024];
    uint32_t n = 0;
    snprintf(path, sizeof(path), "%s/%s", root, folder);
    DIR *dir = opendir(path);
    if (!dir)
        return 0;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        size_t length = strlen(entry->d_name);
        if (length < 6 || strcmp(entry->d_name + length - 5, ".toml") != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s/%s", root, folder, entry->d_name);
        body(path);
        n++;
    }
    closedir(dir);
    return n;
}

/* The same for a folder of the source tree. */
static inline uint32_t each_genome(const char *folder,
                                   void (*body)(const char *path))
{
    return each_genome_of(VLY_TEST_SOURCE_DIR, folder, body);
}

#endif
