# SPDX-License-Identifier: Apache-2.0
list(APPEND VOLLEY_CORE_SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/checkpoint_reader.c
    ${CMAKE_CURRENT_LIST_DIR}/network_info.c
    ${CMAKE_CURRENT_LIST_DIR}/recorder.c
    ${CMAKE_CURRENT_LIST_DIR}/spike_reader.c
    ${CMAKE_CURRENT_LIST_DIR}/watch.c)
