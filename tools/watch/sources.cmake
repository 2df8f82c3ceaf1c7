# SPDX-License-Identifier: Apache-2.0
foreach(name
    metrics_server run_place run_watch run_watch_part watch_devices watch_lines watch_live
    watch_metrics watch_weights)
    list(APPEND VOLLEY_COMMAND_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
endforeach()
