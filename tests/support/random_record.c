/* SPDX-License-Identifier: Apache-2.0
 * Random genomes: a record of input, with which areas run their models as a
 * user writes them. It is the last thing of a text, so that the text before it
 * is the same network without it.
 */
#include <string.h>

#include "random_maker.h"

void put_records(maker *m)
{
    uint32_t n = 0;
    /* the second simulator has no dc that changes at a user's model */
    if (m->failed || strstr(m->text, "\"dc\"") || !chance(m, 60))
        return;
    for (uint32_t k = 0; k < m->n_areas; k++) {
        if (m->areas[k].model == FEAGI || !chance(m, 70))
            continue;
        put(m, n++ ? ", \"a%u\"" : RANDOM_RECORD "from = [\"a%u\"",
            (unsigned)k);
    }
    if (n == 0)
        return;
    put(m, "]\ninterval_bursts = %u\n", (unsigned)whole(m, 1, 9));
    cover(m, COVER_record_input);
}
