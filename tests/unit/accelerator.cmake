# SPDX-License-Identifier: Apache-2.0
# Shared code of the accelerator plugins, and the plugins through their tables.
# APART: accel_common needs the symbol of a plugin, and each has its own
vly_test(test_element LABELS unit APART SOURCES test_element.c
         LIBRARIES accel_common volley_conformance m)
vly_test(test_tune_cache LABELS unit TIMEOUT 300
         SOURCES test_tune_cache.c ${CMAKE_SOURCE_DIR}/plugins/common/tune_cache.c
                 ${CMAKE_SOURCE_DIR}/plugins/common/tune_choice.c)
target_include_directories(test_tune_cache
    PRIVATE ${CMAKE_SOURCE_DIR}/plugins/common)
vly_test(test_tune_blob LABELS unit
         SOURCES test_tune_blob.c ${CMAKE_SOURCE_DIR}/plugins/common/tune_blob.c
                 ${CMAKE_SOURCE_DIR}/plugins/common/tune_cache.c)
target_include_directories(test_tune_blob
    PRIVATE ${CMAKE_SOURCE_DIR}/plugins/common)

# The conformance table of volley.gemm/1 over every way of gemm_cpu.
# With sanitizers cases of odd sizes; all with label slow.
set(cases "*")
if(VOLLEY_SANITIZE)
    set(cases "*x6[35]*")
    vly_test_register(test_gemm_whole LABELS unit slow COMMAND test_gemm cpu:2)
endif()
vly_test(test_gemm LABELS unit TIMEOUT 600 SOURCES test_gemm.c
         LIBRARIES volley_conformance DEPENDS gemm_cpu ARGUMENTS cpu:2 ${cases})
# values by each way, of cases with at least ten rows (one row: gemv); what else the
# table asks is the same code as above, and once more for each with label slow
foreach(way plain:cpu:1 openblas:cpu:3 gemv:cpu:3)
    string(REGEX REPLACE ":.*" "" name ${way})
    string(REGEX REPLACE "^[a-z]*:" "" device ${way})
    set(cases *.[1-9][0-9]*x*)
    if(name STREQUAL "gemv")
        set(cases *.1x*)
    endif()
    vly_test_register(test_gemm_${name} LABELS unit TIMEOUT 600
        COMMAND test_gemm ${device},choose=${name} ${cases}/values)
    vly_test_register(test_gemm_${name}_whole LABELS unit slow
        COMMAND test_gemm ${device},choose=${name})
endforeach()
foreach(isa scalar avx2)
    vly_test_register(test_gemm_${isa} LABELS unit TIMEOUT 600
        COMMAND test_gemm cpu:2,choose=plain,isa=${isa} *.[1-9][0-9]*x*/values)
    vly_test_register(test_gemm_${isa}_whole LABELS unit slow
        COMMAND test_gemm cpu:2,choose=plain,isa=${isa})
endforeach()
if(TARGET gemm_cuda)
    add_dependencies(test_gemm gemm_cuda)
    foreach(device cuda:0 cuda:0,tune=0,cache=off)
        string(MAKE_C_IDENTIFIER "test_gemm_${device}" name)
        vly_test_register(${name} LABELS gpu TIMEOUT 600
            COMMAND test_gemm ${device})
    endforeach()
    foreach(way lines flow)
        vly_test_register(test_gemm_cuda_${way} LABELS gpu TIMEOUT 600
            COMMAND test_gemm cuda:0,cache=off,choose=${way} */[!r]*)
    endforeach()
    vly_test(test_gemm_device LABELS gpu TIMEOUT 300 SOURCES test_gemm_device.c
             LIBRARIES volley_conformance DEPENDS gemm_cuda ARGUMENTS cuda:0)
endif()
# gemm_cpu's look at OpenBLAS, with one that the test has linked: dlopen finds
# what is loaded under that name already
add_library(fake_openblas SHARED ${CMAKE_SOURCE_DIR}/tests/support/fake_openblas.c)
set_target_properties(fake_openblas PROPERTIES
    OUTPUT_NAME openblas VERSION 0 SOVERSION 0 C_VISIBILITY_PRESET default
    COMPILE_OPTIONS "-Wno-missing-prototypes" # those of a fake library
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/fake_openblas)
vly_test(test_gemm_blas LABELS unit ALONE
         SOURCES test_gemm_blas.c
                 ${CMAKE_SOURCE_DIR}/plugins/gemm/gemm_cpu_blas.c
         LIBRARIES fake_openblas gemm_common accel_common ${CMAKE_DL_LIBS}
                   Threads::Threads m)
target_include_directories(test_gemm_blas PRIVATE ${CMAKE_SOURCE_DIR})
vly_test(test_gemm_same LABELS unit TIMEOUT 600 SOURCES test_gemm_same.c
         LIBRARIES volley_conformance DEPENDS gemm_cpu)
vly_test(test_accelerator LABELS unit SOURCES test_accelerator.c
         DEPENDS gemm_cpu)
# host code of every plugin
vly_test(test_plugin_support LABELS unit APART SOURCES test_plugin_support.c
         LIBRARIES accel_common)
# memory of accelerators on the processor, by the host's policy
vly_test(test_host_account LABELS unit APART SOURCES test_host_account.c
         LIBRARIES accel_common Threads::Threads DEPENDS gemm_cpu)
# memory of emulated CUDA devices, by the host's policy
if(TARGET accel_cuda)
    vly_test(test_accel_memory LABELS unit APART
        SOURCES test_accel_memory.c ${CMAKE_SOURCE_DIR}/tests/support/fake_cuda.c
        LIBRARIES accel_common accel_cuda)
    target_include_directories(test_accel_memory
        PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/backends/cuda)
endif()
