# SPDX-License-Identifier: Apache-2.0
foreach(name
    check_ranks check_size cmd_check cmd_compare cmd_conformance cmd_new cmd_plugins
    cmd_resolve cmd_validate columns delay_notes device_limits json_reader json_writer main
    learning_notes options output_apart output_room plain_stream plugin_path setup tool weight_notes)
    list(APPEND VOLLEY_COMMAND_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
endforeach()
