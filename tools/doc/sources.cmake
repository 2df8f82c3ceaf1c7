# SPDX-License-Identifier: Apache-2.0
foreach(name
    cmd_doc cmd_schema doc_keys doc_model doc_own doc_plasticity
    doc_topics schema_forms)
    list(APPEND VOLLEY_COMMAND_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
endforeach()
