/* SPDX-License-Identifier: Apache-2.0
 * --set PATH=VALUE: changes the tree before anything is evaluated.
 */
#ifndef VOLLEY_GENOME_GENOME_OVERRIDE_H
#define VOLLEY_GENOME_GENOME_OVERRIDE_H

#include "genome/genome_reader.h"

vly_status vly_override_apply(vly_reader *reader, const vly_override *override);

#endif
