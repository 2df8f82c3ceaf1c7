/* SPDX-License-Identifier: Apache-2.0
 * spirv_contract decorate IN.spv OUT.spv   adds NoContraction, then checks
 * spirv_contract check IN.spv              checks only
 * spirv_contract embed IN.spv OUT.h NAME   the words as C
 * A build tool: it processes the output of glslangValidator before spirv-val.
 * Exit codes: 0 done, 1 the module breaks the numeric contract, 2 the call is
 * wrong, 4 a file cannot be read or written.
 */
#include "spirv_rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DONE, BREACH, USAGE, FILES = 4 };

/* a megabyte of words is far more than a shader of ours has */
#define LONGEST_WORDS (1u << 20)

static int fail_file(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", path, what, strerror(errno));
    return FILES;
}

static int read_words(const char *path, uint32_t **words, size_t *n)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return fail_file(path, "cannot be opened");
    uint32_t *made = malloc(LONGEST_WORDS * sizeof *made);
    if (made == NULL) {
        fclose(file);
        errno = ENOMEM;
        return fail_file(path, "no memory to read it");
    }
    size_t n_bytes = fread(made, 1, LONGEST_WORDS * sizeof *made, file);
    int failed = ferror(file);
    fclose(file);
    if (failed || n_bytes % sizeof *made != 0 ||
        n_bytes == LONGEST_WORDS * sizeof *made) {
        fprintf(stderr,
                "%s: %zu bytes read; wanted whole words, less than %u\n", path,
                n_bytes, LONGEST_WORDS);
        free(made);
        return failed ? FILES : BREACH;
    }
    *words = made;
    *n = n_bytes / sizeof *made;
    return DONE;
}

/* A partly written file is removed: the build would take it for complete. */
static int close_written(FILE *file, const char *path, int failed)
{
    failed |= ferror(file);
    failed |= fclose(file);
    if (!failed)
        return DONE;
    int code = fail_file(path, "cannot be written");
    remove(path);
    return code;
}

static int check(const char *path, const uint32_t *words, size_t n)
{
    char message[VLY_SPIRV_MESSAGE];
    if (vly_spirv_check(words, n, message) == 0)
        return DONE;
    fprintf(stderr, "%s: %s\n", path, message);
    return BREACH;
}

static int decorate(const char *from, const char *to, const uint32_t *words,
                    size_t n)
{
    char message[VLY_SPIRV_MESSAGE];
    uint32_t *made = NULL;
    size_t n_made = 0;
    if (vly_spirv_decorate(words, n, &made, &n_made, message) != 0) {
        fprintf(stderr, "%s: %s\n", from, message);
        return BREACH;
    }
    int code = check(from, made, n_made);
    FILE *file = NULL;
    if (code == DONE) {
        file = fopen(to, "wb");
        if (file == NULL)
            code = fail_file(to, "cannot be opened");
    }
    if (file != NULL) {
        size_t written = fwrite(made, sizeof *made, n_made, file);
        code = close_written(file, to, written != n_made);
    }
    free(made);
    return code;
}

static int embed(const char *to, const char *name, const uint32_t *words,
                 size_t n)
{
    FILE *file = fopen(to, "w");
    if (file == NULL)
        return fail_file(to, "cannot be opened");
    fprintf(file, "/* Made by the build from a shader. */\n");
    fprintf(file, "#include <stdint.h>\n");
    fprintf(file, "static const uint32_t %s_spirv[] = {", name);
    for (size_t i = 0; i < n; i++)
        fprintf(file, "%s0x%08xu,", i % 6 == 0 ? "\n    " : " ", words[i]);
    fprintf(file, "\n};\n");
    return close_written(file, to, 0);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int wanted = strcmp(what, "decorate") == 0 ? 4
                 : strcmp(what, "check") == 0  ? 3
                 : strcmp(what, "embed") == 0  ? 5
                                               : 0;
    if (argc != wanted) {
        fprintf(stderr, "usage: spirv_contract decorate IN.spv OUT.spv\n"
                        "       spirv_contract check IN.spv\n"
                        "       spirv_contract embed IN.spv OUT.h NAME\n");
        return USAGE;
    }
    uint32_t *words = NULL;
    size_t n = 0;
    int code = read_words(argv[2], &words, &n);
    if (code != DONE)
        return code;
    if (wanted == 4)
        code = decorate(argv[2], argv[3], words, n);
    else if (wanted == 3)
        code = check(argv[2], words, n);
    else
        code = embed(argv[3], argv[4], words, n);
    free(words);
    return code;
}
