# SPDX-License-Identifier: Apache-2.0
foreach(name
    cmd_inspect inspect_elf inspect_file inspect_net inspect_product
    inspect_request inspect_sonata inspect_stream)
    list(APPEND VOLLEY_COMMAND_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
endforeach()
