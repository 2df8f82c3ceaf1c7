/* SPDX-License-Identifier: Apache-2.0
 * FEAGI's ids, and names that a genome may have.
 */
#ifndef VOLLEY_TOOLS_FEAGI_NAME_H
#define VOLLEY_TOOLS_FEAGI_NAME_H

#include <stdbool.h>
#include <stdint.h>

/* FEAGI's eight bytes of an id: of format 3 it is base64 of them, older ones
 * have six characters and are filled up with "_"; _power and ___pwr are
 * ___power. False: it is none of these. */
bool feagi_canonical(const char *id, char bytes[9]);

/* A name of Volley's made of an id: letters, digits, _ and - stay, other
 * characters become _, bytes that cannot be printed two hexadecimal digits; _
 * before anything but a letter. Cut at 63. vly_free; NULL without memory. */
char *feagi_name_of(const char *id);
/* The name of text itself, which is no id: without base64. */
char *feagi_name_plain(const char *text);
/* name if taken(context, name) is false, else name-2, -3, ... The first one is
 * freed if it is not what is returned; NULL without memory. */
char *feagi_name_unique(char *name,
                        bool (*taken)(const void *context, const char *name),
                        const void *context);

#endif
