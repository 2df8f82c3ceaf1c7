/* SPDX-License-Identifier: Apache-2.0
 * Reads digest logs, line by line: they are as long as the run.
 */
#include <volley/record.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"
#include "record/digest_log.h"

enum { LINE_BYTES = 256 };

struct vly_digest_reader {
    FILE *file;
    char *path;
    uint64_t line;
    uint64_t left; /* bytes that may follow */
    bool started;
    vly_digest_header header;
    vly_digest_entry last;
    char text[LINE_BYTES];
};

static vly_status damaged(const vly_digest_reader *reader, vly_error *error,
                          const char *wanted)
{
    return vly_fail(error, VLY_E_PARSE, "%s:%llu: found \"%.60s\", wanted %s",
                    reader->path, (unsigned long long)reader->line,
                    reader->text, wanted);
}

/* The next line without its break; *more is false at the end. */
static vly_status next_line(vly_digest_reader *reader, bool *more,
                            vly_error *error)
{
    errno = 0;
    *more = fgets(reader->text, LINE_BYTES, reader->file) != NULL;
    if (!*more) {
        reader->text[0] = '\0';
        if (ferror(reader->file))
            return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s",
                            reader->path, strerror(errno));
        return VLY_OK;
    }
    reader->line++;
    size_t n = strcspn(reader->text, "\r\n");
    if (reader->left <= n)
        return vly_fail(error, VLY_E_PARSE,
                        "%s:%llu: a pipe of more than %llu bytes, wanted a "
                        "file",
                        reader->path, (unsigned long long)reader->line,
                        (unsigned long long)VLY_PIPE_BYTES_MAX);
    reader->left -= n + 1;
    bool whole = reader->text[n] != '\0';
    reader->text[n] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (!isprint((unsigned char)reader->text[i]))
            return vly_fail(error, VLY_E_PARSE,
                            "%s:%llu: not text, wanted a line of a digest log",
                            reader->path, (unsigned long long)reader->line);
    }
    if (!whole)
        return damaged(reader, error, "a whole line: the log is cut off");
    return VLY_OK;
}

static bool read_hex(const char **text, uint64_t *value)
{
    *value = 0;
    for (int i = 0; i < 16; i++, (*text)++) {
        int c = (unsigned char)**text;
        uint64_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (uint64_t)(c - 'a' + 10);
        else
            return false;
        *value = *value << 4 | digit;
    }
    return true;
}

static bool read_count(const char **text, uint64_t *value)
{
    if (!isdigit((unsigned char)**text))
        return false;
    char *end = NULL;
    errno = 0;
    *value = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

static bool skip(const char **text, char c)
{
    if (**text != c)
        return false;
    (*text)++;
    return true;
}

/* What vly_hash_print wrote: lane 0 first. */
static bool read_hash(const char *text, vly_hash *hash)
{
    return read_hex(&text, &hash->lane[0]) && read_hex(&text, &hash->lane[1]) &&
           *text == '\0';
}

static vly_status header_line(vly_digest_reader *reader, const char *key,
                              const char **value, vly_error *error)
{
    bool more = false;
    char wanted[64];
    vly_status status = VLY_OK;
    VLY_TRY(next_line(reader, &more, error));
    snprintf(wanted, sizeof wanted, "# %s ...", key);
    size_t n = strlen(key);
    const char *text = reader->text;
    if (!more || strncmp(text, "# ", 2) != 0 ||
        strncmp(text + 2, key, n) != 0 || text[2 + n] != ' ')
        return damaged(reader, error, wanted);
    *value = text + 3 + n;
out:
    return status;
}

static vly_status read_header(vly_digest_reader *reader,
                              vly_digest_header *header, vly_error *error)
{
    const char *value = NULL;
    bool more = false;
    uint64_t count = 0;
    vly_status status = VLY_OK;
    VLY_TRY(next_line(reader, &more, error));
    if (!more || strcmp(reader->text, VLY_DIGEST_LOG_MAGIC) != 0)
        return damaged(reader, error, "\"" VLY_DIGEST_LOG_MAGIC "\"");
    VLY_TRY(header_line(reader, "genome_hash", &value, error));
    if (!read_hash(value, &header->genome_hash))
        return damaged(reader, error, "32 hex digits");
    VLY_TRY(header_line(reader, "connectome_hash", &value, error));
    if (!read_hash(value, &header->connectome_hash))
        return damaged(reader, error, "32 hex digits");
    VLY_TRY(header_line(reader, "dt_ms", &value, error));
    header->dt_ms = strtod(value, NULL);
    if (!(header->dt_ms > 0.0))
        return damaged(reader, error, "a positive number");
    VLY_TRY(header_line(reader, "neurons", &value, error));
    if (!read_count(&value, &count) || count > UINT32_MAX)
        return damaged(reader, error, "a count");
    header->n_neurons = (uint32_t)count;
    VLY_TRY(header_line(reader, "synapses", &value, error));
    if (!read_count(&value, &header->n_synapses))
        return damaged(reader, error, "a count");
    VLY_TRY(header_line(reader, "backend", &value, error));
    snprintf(header->backend, sizeof header->backend, "%.63s", value);
    VLY_TRY(header_line(reader, "burst", &value, error));
out:
    return status;
}

vly_status vly_digest_reader_open(const char *path, vly_digest_reader **reader,
                                  vly_error *error)
{
    vly_status status = VLY_OK;
    if (!path || !reader)
        return vly_fail(error, VLY_E_INVALID,
                        "vly_digest_reader_open: an argument is NULL");
    vly_digest_reader *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a digest reader");
    made->path = vly_strdup(path);
    if (!made->path) {
        status = vly_fail_nomem(error, strlen(path), "a file name");
        goto out;
    }
    VLY_TRY(vly_reading_open(path, VLY_READ_STREAM, &made->file, error));
    made->left = vly_reading_most(made->file);
    VLY_TRY(read_header(made, &made->header, error));
    *reader = made;
    made = NULL;
out:
    vly_digest_reader_close(made);
    return status;
}

vly_status vly_digest_reader_info(const vly_digest_reader *reader,
                                  vly_digest_info *info)
{
    const vly_digest_header *header = &reader->header;
    const vly_digest_info made = {
        .n_neurons = header->n_neurons,
        .n_synapses = header->n_synapses,
        .dt_ms = header->dt_ms,
        .genome_hash = {header->genome_hash.lane[0],
                        header->genome_hash.lane[1]},
        .connectome_hash = {header->connectome_hash.lane[0],
                            header->connectome_hash.lane[1]},
        .backend = header->backend,
    };
    return vly_struct_fill(info, &made, sizeof made);
}

vly_status vly_digest_reader_next(vly_digest_reader *reader,
                                  vly_digest_entry *entry, int *more,
                                  vly_error *error)
{
    vly_digest_entry read = {0};
    bool found = false;
    vly_status status = VLY_OK;
    VLY_TRY(vly_struct_check(entry, sizeof *entry, "entry", error));
    VLY_TRY(next_line(reader, &found, error));
    if (!found) {
        *more = 0;
        return VLY_OK;
    }
    const char *text = reader->text;
    if (!read_count(&text, &read.burst) || !skip(&text, ' ') ||
        !read_hex(&text, &read.digest) || !skip(&text, ' ') ||
        !read_hex(&text, &read.run_digest) || !skip(&text, ' ') ||
        !read_count(&text, &read.n_spikes) || *text != '\0')
        return damaged(reader, error, "BURST DIGEST RUN_DIGEST SPIKES");
    if (reader->started && read.burst != reader->last.burst + 1)
        return damaged(reader, error, "the burst after the one before");
    /* a log may begin after burst 0: then its first line is taken as it is */
    bool known = reader->started || read.burst == 0;
    if (known &&
        read.run_digest != vly_mix64(reader->last.run_digest ^ read.digest))
        return damaged(reader, error,
                       "a run digest that follows from the lines before");
    reader->started = true;
    reader->last = read;
    (void)vly_struct_fill(entry, &read, sizeof read);
    *more = 1;
out:
    return status;
}

void vly_digest_reader_close(vly_digest_reader *reader)
{
    if (!reader)
        return;
    if (reader->file)
        fclose(reader->file);
    vly_free(reader->path);
    vly_free(reader);
}
