# SPDX-License-Identifier: Apache-2.0
# The CPU backend straight through its table, without the engine.
foreach(test models same state)
    vly_test(test_cpu_${test} LABELS unit
        SOURCES test_cpu_${test}.c test_cpu_net.c test_cpu_host.c
        LIBRARIES volley_sdk ${CMAKE_DL_LIBS} DEPENDS cpu TIMEOUT 120)
endforeach()
vly_test(test_cpu_tuner LABELS unit
    SOURCES test_cpu_tuner.c ${CMAKE_SOURCE_DIR}/backends/cpu/cpu_tuner.c)
target_include_directories(test_cpu_tuner PRIVATE ${CMAKE_SOURCE_DIR})
vly_test(test_cpu_memory LABELS unit
    SOURCES test_backend_memory.c test_cpu_net.c test_cpu_host.c
    LIBRARIES volley_sdk ${CMAKE_DL_LIBS} DEPENDS cpu TIMEOUT 120)
