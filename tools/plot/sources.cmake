# SPDX-License-Identifier: Apache-2.0
set(names
    cairo_library cmd_plot plot_areas plot_axes plot_data plot_figure plot_find plot_matrix
    plot_names plot_options plot_process plot_raster plot_rates plot_rows plot_samples
    plot_sonata plot_traces plot_voxels plot_weight_rows plot_weights)
foreach(name IN LISTS names)
    list(APPEND VOLLEY_COMMAND_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
endforeach()
