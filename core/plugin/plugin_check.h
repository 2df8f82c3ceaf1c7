/* SPDX-License-Identifier: Apache-2.0
 * Checks whether a plugin fits this engine. Its tables are copied, never used
 * in place: a table of an older minor is shorter than ours, and missing members
 * count as NULL; additional members of a newer one are ignored.
 */
#ifndef VOLLEY_PLUGIN_PLUGIN_CHECK_H
#define VOLLEY_PLUGIN_PLUGIN_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include <volley/exchange.h>
#include <volley/host.h>

/* Clears target[target_size], then copies the members that source has. A table
 * starts with its struct_size, which must be at least least_size.
 * Errors   VLY_E_ABI, named by what
 */
vly_status vly_table_copy(void *target, size_t target_size, size_t least_size,
                          const void *source, const char *what,
                          vly_error *error);

/* The entry symbol: size, major version, id, functions. [any-thread]
 * Errors   VLY_E_ABI  with a message for each; plugin untouched
 */
vly_status vly_plugin_check(const void *entry, vly_plugin *plugin,
                            vly_error *error);
/* A table of volley.backend/1: size, required functions. [any-thread]
 * Errors   VLY_E_ABI  names the function; backend untouched
 */
vly_status vly_backend_check(const void *table, vly_backend *backend,
                             vly_error *error);

/* A table of volley.exchange/1: the same. */
vly_status vly_exchange_check(const void *table, vly_exchange *exchange,
                              vly_error *error);

/* Whether word is in list, whose words are separated by spaces. list may be
 * NULL. */
bool vly_word_in(const char *list, const char *word);

#endif
