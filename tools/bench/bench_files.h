/* SPDX-License-Identifier: Apache-2.0
 * The files that a bench reads and writes.
 */
#ifndef VOLLEY_BENCH_BENCH_FILES_H
#define VOLLEY_BENCH_BENCH_FILES_H

#include "tools/bench/bench.h"
#include "tools/cli/options.h"

/* Whether the options of files fit together and the files can be written: wrong
 * ones are reported before the minutes of measuring. */
vly_status bench_files_check(const tool_args *args, const bench_options *bench,
                             vly_error *error);
/* Writes the results as JSON; "-" is stdout. */
vly_status bench_save(const bench_results *results, const char *path,
                      vly_error *error);

#endif
