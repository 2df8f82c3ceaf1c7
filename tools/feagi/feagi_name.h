/* SPDX-License-Identifier: Apache-2.0
 * FEAGI's ids, and names that a genome may have.
 */
#ifndef VOLLEY_TOOLS_FEAGI_NAME_H
#define VOLLEY_TOOLS_FEAGI_NAME_H

#include <stdbool.h>
#include <stdint.h>

/* The eight bytes of an id of FEAGI: format 3 has them as base64; older ids
 * have six characters and are padded with "_"; _power and ___pwr are ___power.
 * False: none of these forms. */
bool feagi_canonical(const char *id, char bytes[9]);

/* A name for Volley made from an id: letters, digits, _ and - stay, other
 * characters become _, unprintable bytes become two hexadecimal digits. "_" is
 * put first if the name does not begin with a letter. Cut at 63 characters.
 * Freed with vly_free; NULL if memory ran out. */
char *feagi_name_of(const char *id);
/* The same for a text that is not an id: without base64. */
char *feagi_name_plain(const char *text);
/* name if taken(context, name) is false, else name-2, -3, ... name is freed if
 * it is not returned; NULL if memory ran out. */
char *feagi_name_unique(char *name,
                        bool (*taken)(const void *context, const char *name),
                        const void *context);

#endif
