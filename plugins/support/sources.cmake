# SPDX-License-Identifier: Apache-2.0
# Host code of every plugin, compiled into the object libraries of backends
# (backends/common) and of accelerators (plugins/common).
set(VOLLEY_SUPPORT_SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/support_account.c
    ${CMAKE_CURRENT_LIST_DIR}/support_host.c
    ${CMAKE_CURRENT_LIST_DIR}/support_options.c
    ${CMAKE_CURRENT_LIST_DIR}/support_processor.c)
