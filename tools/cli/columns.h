/* SPDX-License-Identifier: Apache-2.0
 * Names of any script in the columns of a table: printf counts bytes.
 */
#ifndef VOLLEY_TOOLS_COLUMNS_H
#define VOLLEY_TOOLS_COLUMNS_H

/* Columns of a terminal that the text takes as tool_print shows it: escapes
 * count as they are written, wide characters of East Asia (and pictures) as
 * two, accents that join the character before them as none. */
int tool_columns(const char *text);
/* The width of %*s or %-*s with which the text fills n columns, or what it
 * needs. */
int tool_field(const char *text, int n);
/* The precision of %.*s with which at most n columns of the text are shown,
 * whole characters. */
int tool_fit(const char *text, int n);

/* Two arguments, of %-*s or %*s */
#define TOOL_COLUMN(text, n) tool_field((text), (n)), (text)
/* Two arguments, of %.*s */
#define TOOL_FIT(text, n) tool_fit((text), (n)), (text)

#endif
