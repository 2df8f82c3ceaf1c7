/* SPDX-License-Identifier: Apache-2.0
 * The two loops of one model that is updated in every burst. Not guarded:
 * each_model.h includes it for every model.
 */
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)

#if !VLY_MODEL_CANDIDATES
#define VLY_CPU_STEP PASTE(step_uniform_, VLY_MODEL_ID)
#define VLY_CPU_EACH 0
#include "cpu_step.h"
#define VLY_CPU_STEP PASTE(step_each_, VLY_MODEL_ID)
#define VLY_CPU_EACH 1
#include "cpu_step.h"
#endif

#undef PASTE2
#undef PASTE
