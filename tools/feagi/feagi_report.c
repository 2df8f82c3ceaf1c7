/* SPDX-License-Identifier: Apache-2.0
 * What an import says: see feagi_report.h.
 */
#include "tools/feagi/feagi_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

const char *const feagi_class_titles[FEAGI_CLASSES] = {
    "not taken over", "assumed", "without effect on spikes, left out"};

/* more subjects of an entry are only counted */
enum { TEXT_BYTES = 600, SUBJECTS_MAX = 1024 };

static vly_status no_memory(vly_error *error)
{
    return vly_fail_nomem(error, 0, "the report of an import");
}

/* Names of a file may contain any bytes: they become one line without control
 * characters. */
static void make_plain(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            *text = '?';
}

/* Room for one more at every power of two. */
static void *grow(void *items, uint32_t n, size_t size)
{
    if (n > 0 && (n & (n - 1)) != 0)
        return items;
    return vly_realloc(items, n ? 2 * (size_t)n : 1, size);
}

static feagi_entry *find(feagi_report *report, feagi_class of, const char *text)
{
    for (uint32_t i = 0; i < report->n_entries; i++)
        if (report->entries[i].of == of &&
            strcmp(report->entries[i].text, text) == 0)
            return &report->entries[i];
    return NULL;
}

static feagi_entry *add(feagi_report *report, feagi_class of, const char *text)
{
    feagi_entry *grown =
        grow(report->entries, report->n_entries, sizeof(*grown));
    if (!grown)
        return NULL;
    report->entries = grown;
    feagi_entry *entry = &report->entries[report->n_entries];
    *entry = (feagi_entry){.of = of, .text = vly_strdup(text)};
    if (!entry->text)
        return NULL;
    report->n_entries++;
    return entry;
}

static vly_status add_subject(feagi_entry *entry, const char *subject,
                              vly_error *error)
{
    char *copy = vly_strdup(subject);
    if (!copy)
        return no_memory(error);
    make_plain(copy);
    bool known = false;
    for (uint32_t i = 0; !known && i < entry->n_subjects; i++)
        known = strcmp(entry->subjects[i], copy) == 0;
    if (known || entry->n_subjects == SUBJECTS_MAX) {
        entry->n_more += !known;
        vly_free(copy);
        return VLY_OK;
    }
    char **grown = grow(entry->subjects, entry->n_subjects, sizeof(*grown));
    if (!grown) {
        vly_free(copy);
        return no_memory(error);
    }
    entry->subjects = grown;
    entry->subjects[entry->n_subjects++] = copy;
    return VLY_OK;
}

vly_status feagi_report_add(feagi_report *report, feagi_class of,
                            const char *subject, vly_error *error,
                            const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    make_plain(text);
    feagi_entry *entry = find(report, of, text);
    if (!entry)
        entry = add(report, of, text);
    return entry ? add_subject(entry, subject, error) : no_memory(error);
}

uint32_t feagi_report_count(const feagi_report *report, feagi_class of)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < report->n_entries; i++)
        n += report->entries[i].of == of;
    return n;
}

char *feagi_entry_sentence(const feagi_entry *entry)
{
    vly_text text = {0};
    for (uint32_t i = 0; i < entry->n_subjects; i++) {
        vly_text_bytes(&text, i ? ", " : "", i ? 2 : 0);
        vly_text_bytes(&text, entry->subjects[i], strlen(entry->subjects[i]));
    }
    if (entry->n_more)
        vly_text_put(&text, " and %u more", entry->n_more);
    if (*entry->text) {
        vly_text_bytes(&text, ": ", 2);
        vly_text_bytes(&text, entry->text, strlen(entry->text));
    }
    if (text.failed) {
        vly_free(text.data);
        return NULL;
    }
    return text.data;
}

void feagi_report_free(feagi_report *report)
{
    for (uint32_t i = 0; i < report->n_entries; i++) {
        feagi_entry *entry = &report->entries[i];
        for (uint32_t k = 0; k < entry->n_subjects; k++)
            vly_free(entry->subjects[k]);
        vly_free(entry->subjects);
        vly_free(entry->text);
    }
    vly_free(report->entries);
    *report = (feagi_report){0};
}
