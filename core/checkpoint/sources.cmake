# SPDX-License-Identifier: Apache-2.0
list(APPEND VOLLEY_CORE_SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/checkpoint_file.c
    ${CMAKE_CURRENT_LIST_DIR}/checkpoint_format.c
    ${CMAKE_CURRENT_LIST_DIR}/checkpoint_frames.c
    ${CMAKE_CURRENT_LIST_DIR}/checkpoint_load.c
    ${CMAKE_CURRENT_LIST_DIR}/checkpoint_old.c
    ${CMAKE_CURRENT_LIST_DIR}/checkpoint_read.c
    ${CMAKE_CURRENT_LIST_DIR}/checkpoint_save.c)
