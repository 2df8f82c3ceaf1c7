/* SPDX-License-Identifier: Apache-2.0
 * volley.exchange/1 between threads of one process: ranks of tests.
 */
#ifndef VOLLEY_THREAD_EXCHANGE_H
#define VOLLEY_THREAD_EXCHANGE_H

#include <volley/exchange.h>

/* spec.name is the number of a meeting, 0 to 15: one at a time. */
const vly_exchange *thread_exchange(void);

#endif
