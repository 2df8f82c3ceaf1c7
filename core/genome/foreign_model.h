/* SPDX-License-Identifier: Apache-2.0
 * The rows of foreign_names.c that one model's table has: names of keys if
 * FOREIGN_KEYS is defined, otherwise of the model. Not guarded: each_model.h
 * includes it for every model.
 */
#define TEXT2(id) #id
#define TEXT(id) TEXT2(id)
#if defined(FOREIGN_KEYS)
#define VLY_FOREIGN_KEY(theirs, ours, note)                                    \
    {theirs, ours, note, TEXT(VLY_MODEL_ID)},
#else
#define VLY_FOREIGN_MODEL(theirs, note)                                        \
    {theirs, TEXT(VLY_MODEL_ID), note, NULL},
#endif
#include VLY_MODEL_TABLE
#undef TEXT2
#undef TEXT
