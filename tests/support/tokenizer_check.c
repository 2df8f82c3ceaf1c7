/* SPDX-License-Identifier: Apache-2.0
 * tokenizer_check VOCABULARY TEXT N: ids of a text, which must decode to it
 * again, on stdout; the processor time of reading the vocabulary on stderr.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "monitor/tokenizer.h"

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int fail(const char *what)
{
    fprintf(stderr, "tokenizer_check: %s\n", what);
    return 1;
}

static int check(const vly_tokenizer *tokenizer, const char *text, size_t n)
{
    vly_error error = VLY_ERROR_INIT;
    uint32_t *ids = malloc((n + 1) * sizeof *ids);
    size_t n_ids = 0;
    size_t at = 0;
    if (!ids || vly_tokenizer_encode(tokenizer, text, n, ids, n, &n_ids,
                                     &error) != VLY_OK) {
        free(ids);
        return fail(error.message);
    }
    for (size_t i = 0; i < n_ids; i++) {
        const uint8_t *bytes = NULL;
        size_t length = 0;
        if (vly_tokenizer_decode(tokenizer, ids[i], &bytes, &length, &error) !=
                VLY_OK ||
            length > n - at || memcmp(bytes, text + at, length) != 0) {
            free(ids);
            return fail("decoded it is another text");
        }
        at += length;
        printf("%" PRIu32 "\n", ids[i]);
    }
    free(ids);
    return at == n ? 0 : fail("decoded it is shorter");
}

int main(int argc, char **argv)
{
    static char text[1 << 20];
    vly_error error = VLY_ERROR_INIT;
    vly_tokenizer *tokenizer = NULL;
    FILE *file = argc == 4 ? fopen(argv[2], "rb") : NULL;
    if (!file)
        return fail("usage: tokenizer_check VOCABULARY TEXT N");
    const size_t n = fread(text, 1, sizeof text, file);
    fclose(file);
    const double begin = seconds();
    if (vly_tokenizer_open(argv[1], (uint32_t)strtoul(argv[3], NULL, 10),
                           &tokenizer, &error) != VLY_OK)
        return fail(error.message);
    const double end = seconds();
    fprintf(stderr, "%u tokens read in %.1f ms\n",
            vly_tokenizer_count(tokenizer), 1e3 * (end - begin));
    const int code = check(tokenizer, text, n);
    vly_tokenizer_close(tokenizer);
    return code;
}
