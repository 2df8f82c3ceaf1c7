# SPDX-License-Identifier: Apache-2.0
foreach(name
    cmd_monitor monitor_ask monitor_attach monitor_convert monitor_metrics
    monitor_report monitor_tokens report_end report_judge report_moves
    run_alarm run_monitor run_monitor_figures run_monitor_plan telemetry_file)
    list(APPEND VOLLEY_COMMAND_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
endforeach()
