# SPDX-License-Identifier: Apache-2.0
foreach(name
    cmd_sweep sweep_jobs sweep_point sweep_table sweep_values)
    list(APPEND VOLLEY_COMMAND_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
endforeach()
