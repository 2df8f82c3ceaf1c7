/* SPDX-License-Identifier: Apache-2.0
 * The hash of a model's table: FNV-1a over the text of its ports, fields and
 * coefficients (what a backend depends on). Core and every plugin compute it
 * from the same file; a difference means that one of them was built from
 * another version, and is refused.
 */
#ifndef VOLLEY_MODELS_TABLE_HASH_H
#define VOLLEY_MODELS_TABLE_HASH_H

#include <stdint.h>

static inline uint64_t vly_model_text_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != 0; text++)
        hash = (hash ^ (uint64_t)(unsigned char)*text) * 0x100000001b3u;
    return hash;
}

/* Used as
 *     static const char lif_text[] =
 *     #include "kernels/models/table_text.h"
 *     #include "kernels/models/lif_psc_exp.def"
 *         ;
 *     uint64_t hash = vly_model_text_hash(lif_text);
 */
#endif
