/* SPDX-License-Identifier: Apache-2.0
 * What whole bursts do to delays that are drawn from a distribution.
 */
#ifndef VOLLEY_TOOLS_DELAY_NOTES_H
#define VOLLEY_TOOLS_DELAY_NOTES_H

#include <volley/volley.h>

/* Notes on stderr where the mean is off by more than 1% or the deviation by
 * more than 20%, because delays are whole bursts and at least one: a line for
 * each value of the file, 20 at most. */
void delay_notes(const vly_genome *genome);

#endif
