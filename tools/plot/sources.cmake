# SPDX-License-Identifier: Apache-2.0
if(VOLLEY_HAVE_CAIRO)
    set(names
        cmd_plot plot_axes plot_data plot_figure plot_find plot_matrix
        plot_names plot_options plot_process plot_raster plot_rates plot_rows plot_samples
        plot_sonata plot_traces plot_voxels plot_weight_rows plot_weights)
else()
    set(names plot_none plot_options)
endif()
foreach(name IN LISTS names)
    list(APPEND VOLLEY_COMMAND_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
endforeach()
