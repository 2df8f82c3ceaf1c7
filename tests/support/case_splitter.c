/* SPDX-License-Identifier: Apache-2.0
 * Splits files of cases: case_splitter FROM TO. A line `# case: NAME` in a file
 * FROM/SUBJECT.toml begins a case, which is written to TO/NAME.toml byte for
 * byte, without the empty line before the next case. A file without such a line
 * is one case. TO/NAME.toml of cases that are gone are removed, every other
 * entry of FROM is linked, and the number of files and cases is printed.
 */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char marker[] = "# case: ";

static _Noreturn void __attribute__((format(printf, 1, 2)))
die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("case_splitter: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static bool is_genome(const char *name)
{
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".toml") == 0;
}

/* folder/name[0..length)ending */
static void make_path(char path[4096], const char *folder, const char *name,
                      size_t length, const char *ending)
{
    int n =
        snprintf(path, 4096, "%s/%.*s%s", folder, (int)length, name, ending);
    if (n < 0 || n >= 4096)
        die("%s/%s: the path is too long", folder, name);
}

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        die("%s: %s", path, strerror(errno));
    long end = ftell(file);
    rewind(file);
    char *text = malloc((size_t)end + 1);
    if (!text || fread(text, 1, (size_t)end, file) != (size_t)end)
        die("%s: cannot be read", path);
    fclose(file);
    text[end] = 0;
    *size = (size_t)end;
    return text;
}

/* A name is given once: "x" refuses a file that is there. */
static void write_case(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "wbx");
    if (!file && errno == EEXIST)
        die("%s: two cases have this name", path);
    if (!file || fwrite(text, 1, size, file) != size || fclose(file) != 0)
        die("%s: %s", path, strerror(errno));
}

/* The next line of text that begins with the marker, or its end. */
static const char *next_case(const char *text, const char *end)
{
    for (const char *line = text; line < end;) {
        if (strncmp(line, marker, strlen(marker)) == 0)
            return line;
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        line = newline ? newline + 1 : end;
    }
    return end;
}

static int split(const char *path, const char *to, const char *file_name)
{
    char target[4096];
    size_t size = 0;
    char *text = read_file(path, &size);
    const char *end = text + size;
    const char *line = next_case(text, end);
    if (line == end) {
        make_path(target, to, file_name, strlen(file_name), "");
        write_case(target, text, size);
        free(text);
        return 1;
    }
    if (text[0] != '#')
        die("%s:1: a genome before the first case, wanted a comment", path);
    int n = 0;
    while (line < end) {
        const char *name = line + strlen(marker);
        size_t length = strcspn(name, "\n");
        const char *begin = name + length + (name[length] == '\n');
        line = next_case(begin, end);
        size_t bytes = (size_t)(line - begin);
        if (length == 0 || memchr(name, '/', length) || bytes == 0)
            die("%s: case \"%.*s\" has no name or no text", path, (int)length,
                name);
        if (line < end && bytes > 1 && line[-2] == '\n')
            bytes--; /* the empty line between two cases */
        make_path(target, to, name, length, ".toml");
        write_case(target, begin, bytes);
        n++;
    }
    free(text);
    return n;
}

/* Removes what an earlier call has made. */
static void empty(const char *to)
{
    char path[4096];
    DIR *folder = opendir(to);
    if (!folder)
        die("%s: %s", to, strerror(errno));
    for (struct dirent *entry = readdir(folder); entry;
         entry = readdir(folder)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        make_path(path, to, entry->d_name, strlen(entry->d_name), "");
        if (unlink(path) != 0)
            die("%s: %s", path, strerror(errno));
    }
    closedir(folder);
}

int main(int argc, char **argv)
{
    char path[4096];
    char target[4096];
    int n_files = 0;
    int n_cases = 0;
    if (argc != 3)
        die("usage: case_splitter FROM TO");
    if (mkdir(argv[2], 0777) != 0 && errno != EEXIST)
        die("%s: %s", argv[2], strerror(errno));
    empty(argv[2]);
    DIR *folder = opendir(argv[1]);
    if (!folder)
        die("%s: %s", argv[1], strerror(errno));
    for (struct dirent *entry = readdir(folder); entry;
         entry = readdir(folder)) {
        const char *name = entry->d_name;
        if (name[0] == '.')
            continue;
        make_path(path, argv[1], name, strlen(name), "");
        make_path(target, argv[2], name, strlen(name), "");
        if (is_genome(name)) {
            n_cases += split(path, argv[2], name);
            n_files++;
        } else if (symlink(path, target) != 0) {
            die("%s: %s", target, strerror(errno));
        }
    }
    closedir(folder);
    printf("%s: %d files, %d cases\n", argv[1], n_files, n_cases);
    return 0;
}
