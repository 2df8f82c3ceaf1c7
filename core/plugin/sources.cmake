# SPDX-License-Identifier: Apache-2.0
list(APPEND VOLLEY_CORE_SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/all_weights.c
    ${CMAKE_CURRENT_LIST_DIR}/backend_spec.c
    ${CMAKE_CURRENT_LIST_DIR}/device_account.c
    ${CMAKE_CURRENT_LIST_DIR}/device_blocks.c
    ${CMAKE_CURRENT_LIST_DIR}/device_memory.c
    ${CMAKE_CURRENT_LIST_DIR}/host_log.c
    ${CMAKE_CURRENT_LIST_DIR}/host_table.c
    ${CMAKE_CURRENT_LIST_DIR}/loader.c
    ${CMAKE_CURRENT_LIST_DIR}/plugin_check.c
    ${CMAKE_CURRENT_LIST_DIR}/plugin_search.c
    ${CMAKE_CURRENT_LIST_DIR}/plugin_trust.c
    ${CMAKE_CURRENT_LIST_DIR}/prepare.c
    ${CMAKE_CURRENT_LIST_DIR}/registry.c
    ${CMAKE_CURRENT_LIST_DIR}/registry_find.c)
