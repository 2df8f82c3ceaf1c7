# SPDX-License-Identifier: Apache-2.0
list(APPEND VOLLEY_BASE_SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/child.c
    ${CMAKE_CURRENT_LIST_DIR}/error.c
    ${CMAKE_CURRENT_LIST_DIR}/json.c
    ${CMAKE_CURRENT_LIST_DIR}/memory.c
    ${CMAKE_CURRENT_LIST_DIR}/memory_available.c
    ${CMAKE_CURRENT_LIST_DIR}/number.c
    ${CMAKE_CURRENT_LIST_DIR}/number_special.c
    ${CMAKE_CURRENT_LIST_DIR}/own_file.c
    ${CMAKE_CURRENT_LIST_DIR}/plain.c
    ${CMAKE_CURRENT_LIST_DIR}/propagator.c
    ${CMAKE_CURRENT_LIST_DIR}/random.c
    ${CMAKE_CURRENT_LIST_DIR}/reading.c
    ${CMAKE_CURRENT_LIST_DIR}/steal.c
    ${CMAKE_CURRENT_LIST_DIR}/suggest.c
    ${CMAKE_CURRENT_LIST_DIR}/temporary.c
    ${CMAKE_CURRENT_LIST_DIR}/text.c
    ${CMAKE_CURRENT_LIST_DIR}/thread.c
    ${CMAKE_CURRENT_LIST_DIR}/transfer.c
    ${CMAKE_CURRENT_LIST_DIR}/writer.c
    ${CMAKE_CURRENT_LIST_DIR}/writer_open.c
    ${CMAKE_CURRENT_LIST_DIR}/writing.c)
# errno for sqrt(-1) would need a call of libm
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/number.c
    PROPERTIES COMPILE_OPTIONS -fno-math-errno)
