# SPDX-License-Identifier: Apache-2.0
foreach(name cmd_connections connections_pick connections_read connections_save)
    list(APPEND VOLLEY_COMMAND_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
endforeach()
