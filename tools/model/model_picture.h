/* SPDX-License-Identifier: Apache-2.0
 * The picture of volley model --plot.
 */
#ifndef VOLLEY_TOOLS_MODEL_PICTURE_H
#define VOLLEY_TOOLS_MODEL_PICTURE_H

#include "tools/model/model_answers.h"
#include "tools/plot/plot_figure.h"

/* Draws steps above, rates over the current and events below. Without an input
 * current there are events only. */
vly_status model_picture_draw(plot_figure *figure, const model_answers *answers,
                              vly_error *error);

#endif
