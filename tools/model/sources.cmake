# SPDX-License-Identifier: Apache-2.0
foreach(name cmd_model model_answers model_picture)
    list(APPEND VOLLEY_COMMAND_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
endforeach()
