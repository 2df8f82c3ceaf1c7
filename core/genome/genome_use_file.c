/* SPDX-License-Identifier: Apache-2.0
 * Files that a genome names to take something of them: found beside the file
 * that names them, part of the genome's inputs, never read in a circle.
 */
#include "genome/genome_use.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/reading.h"
#include "genome/genome_inputs.h"

#define USE_DEPTH_MAX 16
#define USE_FILES_MAX 256

static void mark_file(vly_toml_node *node, uint32_t file)
{
    node->file = file;
    if (node->kind == VLY_TOML_TABLE || node->kind == VLY_TOML_ARRAY)
        for (uint32_t i = 0; i < node->n_children; i++)
            mark_file(&node->u.children[i], file);
}

vly_status vly_use_add_file(vly_reader *reader, const vly_toml_node *node)
{
    vly_genome *genome = reader->genome;
    const char *file = node->u.string;
    const char *slash = file[0] == '/' ? NULL : strrchr(reader->name, '/');
    if (genome->n_files == USE_FILES_MAX)
        return vly_reader_fail(reader, node,
                               "more than %d files are included, wanted fewer",
                               USE_FILES_MAX);
    char **grown =
        vly_realloc(genome->files, (size_t)genome->n_files + 1, sizeof(char *));
    if (grown)
        genome->files = grown;
    char *path =
        vly_format("%.*s%s", slash ? (int)(slash + 1 - reader->name) : 0,
                   reader->name, file);
    if (!grown || !path) {
        vly_free(path);
        return vly_reader_nomem(reader, strlen(file), "a file name");
    }
    genome->files[genome->n_files++] = path;
    return VLY_OK;
}

static vly_status check_circle(vly_reader *reader, const vly_toml_node *node,
                               const vly_use_chain *chain)
{
    char text[600] = "";
    uint32_t depth = 0;
    for (const vly_use_chain *c = chain->outer; c; c = c->outer) {
        if (++depth > USE_DEPTH_MAX)
            return vly_reader_fail(reader, node,
                                   "included %d files deep, wanted less",
                                   USE_DEPTH_MAX);
        if (!c->known || c->device != chain->device || c->inode != chain->inode)
            continue;
        /* from the outer one to this one */
        for (const vly_use_chain *k = chain; k != c->outer; k = k->outer) {
            char longer[600];
            snprintf(longer, sizeof(longer), "%.120s%s%.400s", k->name,
                     *text ? " -> " : "", text);
            strcpy(text, longer);
        }
        return vly_reader_fail(reader, node,
                               "includes itself: %s, wanted no circle", text);
    }
    return VLY_OK;
}

/* Whether a line begins with "format", as in every genome. The parser's
 * messages quote the text, which must not happen with other files. */
static bool is_like_genome(const char *text, size_t n)
{
    static const char word[] = "format";
    const char *end = text + n;
    for (const char *at = text; at && at < end; at = memchr(at, '\n', n)) {
        while (at < end && *at && strchr("\xef\xbb\xbf\r\n \t\"'", *at))
            at++;
        n = (size_t)(end - at);
        if (n > strlen(word) && memcmp(at, word, strlen(word)) == 0)
            return true;
    }
    return false;
}

vly_status vly_use_open_file(vly_reader *reader, const vly_toml_node *node,
                             vly_use_chain *chain, vly_reader *part)
{
    char *text = NULL;
    size_t n_bytes = 0;
    struct stat info;
    vly_status status;
    vly_error why = VLY_ERROR_INIT;
    FILE *file = NULL;
    status = vly_reading_open_as(part->name, node->u.string, VLY_READ_FILE,
                                 &file, &why);
    if (status != VLY_OK)
        return vly_reader_fail_file(reader, node, status, why.message);
    if (fstat(fileno(file), &info) != 0) {
        (void)vly_fail(&why, VLY_E_IO, "%.300s: %s", node->u.string,
                       strerror(errno));
        fclose(file);
        return vly_reader_fail_file(reader, node, VLY_E_IO, why.message);
    }
    status =
        vly_genome_add_input(reader->genome, part->name, &info, reader->error);
    if (status != VLY_OK) {
        fclose(file);
        return status;
    }
    chain->known = true;
    chain->device = info.st_dev;
    chain->inode = info.st_ino;
    status = check_circle(reader, node, chain);
    if (status == VLY_OK)
        status =
            vly_genome_text(file, part->name, &text, &n_bytes, reader->error);
    fclose(file);
    if (status != VLY_OK)
        return status;
    if (n_bytes > VLY_GENOME_BYTES_MAX)
        status = vly_reader_fail(reader, node,
                                 "file has more than %u bytes, wanted fewer",
                                 VLY_GENOME_BYTES_MAX);
    else if (!is_like_genome(text, n_bytes))
        status =
            vly_fail(reader->error, VLY_E_PARSE,
                     "%.300s:1:1: no format, wanted format = 1", part->name);
    else
        status = vly_toml_parse(text, n_bytes, part->name, &part->root,
                                reader->error);
    vly_free(text);
    if (status == VLY_OK)
        mark_file(&part->root, reader->genome->n_files);
    return status;
}
