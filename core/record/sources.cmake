# SPDX-License-Identifier: Apache-2.0
list(APPEND VOLLEY_CORE_SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/spike_csv.c
    ${CMAKE_CURRENT_LIST_DIR}/spike_stats.c
    ${CMAKE_CURRENT_LIST_DIR}/stream.c
    ${CMAKE_CURRENT_LIST_DIR}/stream_head.c
    ${CMAKE_CURRENT_LIST_DIR}/stream_head_make.c
    ${CMAKE_CURRENT_LIST_DIR}/stream_reader.c
    ${CMAKE_CURRENT_LIST_DIR}/export.c
    ${CMAKE_CURRENT_LIST_DIR}/export_csv.c
    ${CMAKE_CURRENT_LIST_DIR}/export_sonata.c
    ${CMAKE_CURRENT_LIST_DIR}/sonata_check.c
    ${CMAKE_CURRENT_LIST_DIR}/sonata_edges.c
    ${CMAKE_CURRENT_LIST_DIR}/sonata_file.c
    ${CMAKE_CURRENT_LIST_DIR}/sonata_reader.c
    ${CMAKE_CURRENT_LIST_DIR}/sonata_scan.c
    ${CMAKE_CURRENT_LIST_DIR}/sonata_scan_report.c
    ${CMAKE_CURRENT_LIST_DIR}/sonata_set.c
    ${CMAKE_CURRENT_LIST_DIR}/sonata_write.c
    ${CMAKE_CURRENT_LIST_DIR}/telemetry.c
    ${CMAKE_CURRENT_LIST_DIR}/digest_log.c
    ${CMAKE_CURRENT_LIST_DIR}/digest_reader.c)
