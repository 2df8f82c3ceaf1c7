# SPDX-License-Identifier: Apache-2.0
foreach(name
    cmd_ctl cmd_status control_client control_server control_socket
    run_control)
    list(APPEND VOLLEY_COMMAND_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
endforeach()
