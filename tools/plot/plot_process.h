/* SPDX-License-Identifier: Apache-2.0
 * A picture drawn in a process of its own. cairo, fontconfig and FreeType look
 * at most but not all of their allocations: where memory runs out one of them
 * may crash, which is an error of the picture then and not the end of the
 * command.
 */
#ifndef VOLLEY_TOOLS_PLOT_PROCESS_H
#define VOLLEY_TOOLS_PLOT_PROCESS_H

#include "tools/plot/plot_figure.h"

/* Draws into the figure; only its error is passed on. */
typedef vly_status (*plot_draw)(plot_figure *figure, void *context,
                                vly_error *error);

/* Writes the file of the page completely or not at all.
 * Errors  those of draw; E_INVALID as plot_page_check; E_IO; E_NOMEM also if
 * the libraries crashed */
vly_status plot_process(const plot_page *page, plot_draw draw, void *context,
                        vly_error *error);

#endif
