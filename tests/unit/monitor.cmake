# SPDX-License-Identifier: Apache-2.0
# The monitor: tokens of telemetry, surprise, simple detectors.
vly_test(test_monitor_tokens LABELS unit
         SOURCES test_monitor_tokens.c LIBRARIES m)
vly_test(test_monitor_counting LABELS unit
         SOURCES test_monitor_counting.c LIBRARIES m)
vly_test(test_monitor_causes LABELS unit SOURCES test_monitor_causes.c)
vly_test(test_monitor_facts LABELS unit SOURCES test_monitor_facts.c)
vly_test(test_monitor_surprise LABELS unit
         SOURCES test_monitor_surprise.c LIBRARIES m)
vly_test(test_monitor_work LABELS unit SOURCES test_monitor_work.c LIBRARIES m)
vly_test(test_monitor_unison LABELS unit SOURCES test_monitor_unison.c
         LIBRARIES m)

# of the command, in the program of its tests: telemetry of devices for the
# monitor
vly_test(test_watch_devices LABELS unit AREA command APART
    SOURCES test_watch_devices.c ${CMAKE_SOURCE_DIR}/tools/watch/watch_devices.c
        ${CMAKE_SOURCE_DIR}/tools/cli/json_writer.c ${CMAKE_SOURCE_DIR}/tools/cli/tool.c
    LIBRARIES m)
target_include_directories(test_watch_devices PRIVATE ${CMAKE_SOURCE_DIR})
vly_test(test_tool_progress LABELS unit AREA command
    SOURCES test_tool_progress.c LIBRARIES volley_command_parts m)
target_include_directories(test_tool_progress PRIVATE ${CMAKE_SOURCE_DIR})
