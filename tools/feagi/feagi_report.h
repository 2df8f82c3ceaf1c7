/* SPDX-License-Identifier: Apache-2.0
 * What an import says: what was not taken over, what was assumed, what has no
 * effect on spikes. The same entry for several areas is one, with their names.
 */
#ifndef VOLLEY_TOOLS_FEAGI_REPORT_H
#define VOLLEY_TOOLS_FEAGI_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/plugin.h>

typedef enum feagi_class {
    FEAGI_LEFT_OUT, /* the network would behave differently with it */
    FEAGI_ASSUMED,  /* taken over with an assumption that the user should
                     * know */
    FEAGI_SILENT,   /* without effect on spikes: left out */
    FEAGI_CLASSES
} feagi_class;

typedef struct feagi_entry {
    feagi_class of;
    char *text;
    char **subjects; /* names of areas, maps, keys */
    uint32_t n_subjects;
    uint32_t n_more; /* counted, not kept */
} feagi_entry;

typedef struct feagi_report {
    feagi_entry *entries; /* in the order of their first subject */
    uint32_t n_entries;
} feagi_report;

/* "Not taken over", "Assumed", ... */
extern const char *const feagi_class_titles[FEAGI_CLASSES];

/* Adds subject to the entry with that text. Control characters become "?".
 * Errors  E_NOMEM */
vly_status feagi_report_add(feagi_report *report, feagi_class of,
                            const char *subject, vly_error *error,
                            const char *format, ...)
    __attribute__((format(printf, 5, 6)));
uint32_t feagi_report_count(const feagi_report *report, feagi_class of);
/* "a, b, c and 12 more: TEXT"; subjects that are only counted are in the
 * number. Freed with vly_free; NULL if memory ran out. */
char *feagi_entry_sentence(const feagi_entry *entry);
void feagi_report_free(feagi_report *report);

#endif
