/* SPDX-License-Identifier: Apache-2.0
 * Running centre and spread of a number.
 */
#include "monitor/running.h"

enum { MEMORY = 128, Z_MOST = 4096 };

int64_t vly_floor_divide(int64_t a, int64_t b)
{
    const int64_t q = a / b;
    return a % b < 0 ? q - 1 : q;
}

static int64_t clamp(int64_t x, int64_t most)
{
    return x > most ? most : x < -most ? -most : x;
}

int64_t vly_running_spread(const vly_running *late, int32_t floor)
{
    const int64_t least = (int64_t)floor * 256;
    return late->spread > least ? late->spread : least;
}

int32_t vly_running_z16(const vly_running *late, int32_t value, int32_t floor)
{
    if (late->n == 0)
        return 0;
    const int64_t d = (int64_t)value * 256 - late->centre;
    return (int32_t)clamp(
        vly_floor_divide(16 * d, vly_running_spread(late, floor)), Z_MOST);
}

void vly_running_learn(vly_running *late, int32_t value, int32_t floor)
{
    if (late->n == 0) {
        late->centre = (int64_t)value * 256;
        late->spread = (int64_t)floor * 256;
        late->n = 1;
        return;
    }
    const int64_t s = vly_running_spread(late, floor);
    const int64_t d = (int64_t)value * 256 - late->centre;
    const int64_t far = d < 0 ? -d : d;
    const int64_t gain = late->n + 1;
    late->centre += vly_floor_divide(
        late->n < VLY_RUNNING_FREE ? d : clamp(d, 4 * s), gain);
    late->spread += vly_floor_divide(clamp(far, 2 * s) - late->spread, gain);
    if (late->n < MEMORY - 1)
        late->n++;
}
