# SPDX-License-Identifier: Apache-2.0
list(APPEND VOLLEY_CORE_SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/checkpoint_file.c
    ${CMAKE_CURRENT_LIST_DIR}/checkpoint_load.c
    ${CMAKE_CURRENT_LIST_DIR}/checkpoint_pack.c
    ${CMAKE_CURRENT_LIST_DIR}/checkpoint_save.c)
