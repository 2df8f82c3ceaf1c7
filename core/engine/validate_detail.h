/* SPDX-License-Identifier: Apache-2.0
 * What exactly differs between two nets after a burst.
 */
#ifndef VOLLEY_ENGINE_VALIDATE_DETAIL_H
#define VOLLEY_ENGINE_VALIDATE_DETAIL_H

#include <volley/host.h>

/* Compares fired sets of the last burst and all words of state; sets
 * result->difference and what belongs to it. */
vly_status vly_validate_detail(vly_net *const pair[2],
                               vly_validate_result *result, vly_error *error);

#endif
