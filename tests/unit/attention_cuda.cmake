# SPDX-License-Identifier: Apache-2.0
# attention_cuda: what can be said of it without a device, and on one.
set(VOLLEY_TEST_AREA accelerator)
vly_test(test_attention_index LABELS unit SOURCES test_attention_index.c
         LIBRARIES volley_sdk)

if(TARGET attention_cudnn)
    # cuDNN's heuristics and compilers need a libcuda.so.1: here an empty one
    add_library(fake_driver MODULE ${CMAKE_SOURCE_DIR}/tests/support/fake_driver.c)
    set_target_properties(fake_driver PROPERTIES
        PREFIX "" OUTPUT_NAME libcuda SUFFIX .so.1
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/fake_driver)
    vly_test(test_cudnn_graphs LABELS unit APART TIMEOUT 300
        SOURCES test_cudnn_graphs.c
        LIBRARIES attention_cudnn accel_common ${CMAKE_DL_LIBS} m
        DEPENDS fake_driver)
    set_property(TEST test_cudnn_graphs APPEND PROPERTY ENVIRONMENT
        "LD_LIBRARY_PATH=${CUDAToolkit_LIBRARY_DIR}:${CMAKE_BINARY_DIR}/tests/fake_driver:$ENV{LD_LIBRARY_PATH}")
endif()

# the choice and the trials, with memory of the processor for a device's
if(TARGET attention_cuda)
    set(folder ${CMAKE_SOURCE_DIR}/plugins/attention)
    vly_test(test_attention_choice LABELS unit APART TIMEOUT 120
        SOURCES test_attention_choice.c
            ${folder}/attention_plan.c ${folder}/attention_choice.c
            ${folder}/attention_notes.c
            ${folder}/attention_trial.c
            ${folder}/attention_measure.c ${folder}/cpu_options.c
            ${folder}/attention_cpu.c ${folder}/attention_reference.c
            ${folder}/attention_blocked.c ${folder}/attention_gradient.c
            ${folder}/attention_view.c
        LIBRARIES ${VOLLEY_ATTENTION_KERNELS} attention_common attention_cudnn
            accel_common ${CMAKE_DL_LIBS} m
        DEFINITIONS vly_accel_cuda_memory=vly_accel_host_memory)
    target_include_directories(test_attention_choice SYSTEM PRIVATE
        ${CUDAToolkit_INCLUDE_DIRS})
endif()

# the kernels themselves, as C++ on the processor: tests/support/simt. Not under
# sanitizers, as support/emulated.cmake says.
if(TARGET attention_cuda AND NOT VOLLEY_SANITIZE)
    set(simt ${CMAKE_SOURCE_DIR}/tests/support/simt)
    set(made ${CMAKE_CURRENT_BINARY_DIR}/simt)
    set(simt_sources)
    foreach(name attention_device.cuh attention_decode.cuh attention_product.cuh
            attention_rows.cuh wkv_device.cuh
            wkv_chunk.cuh wkv_chunk_make.cuh wkv_chunk_pass.cuh
            attention_index.h attention_kernels.h attention_sm90.h
            attention_guard.h attention_copy.h attention_sm90_load.cuh attention_sm90_group.cuh
            attention_sm90_soften.cuh
            attention_back.h attention_back_load.cuh attention_back_group.cuh
            wkv_kernels.h rwkv_kernels.h rwkv_device.cuh rwkv_quads.cuh rwkv_head.cuh
            rwkv_rows.cuh rwkv_step.cuh rwkv_products.cuh
            gemm_kernels.h gemm_element.cuh gemv_fragment.cuh gemv_mma.cuh
            gemv_unpack.h)
        configure_file(${CMAKE_SOURCE_DIR}/kernels/accelerators/${name} ${made}/${name}
                       COPYONLY)
    endforeach()
    foreach(name attention_plain attention_mma attention_decode
            attention_sm90 attention_back
            attention_guard attention_copy
            wkv_step wkv_recurrent wkv_chunked rwkv_rows rwkv_mix_many rwkv_heads rwkv_step
            rwkv_products)
        set(kernel ${CMAKE_SOURCE_DIR}/kernels/accelerators/${name}.cu)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${kernel})
        file(READ ${kernel} text)
        string(REPLACE "<<<" " ->* simt_launch(" text "${text}")
        string(REPLACE ">>>(" ")(" text "${text}")
        string(REGEX REPLACE
            "extern __shared__ (__align__[(]128[)] )?([a-z0-9]+) ([a-z]+)\\[\\];"
            "\\2 *\\3 = (\\2 *)simt_shared;" text "${text}")
        file(CONFIGURE OUTPUT ${made}/${name}.cpp @ONLY
             CONTENT "#include \"simt.h\"\n${text}")
        list(APPEND simt_sources ${made}/${name}.cpp)
    endforeach()
    # device code has other warnings: nvcc's, not these
    add_library(attention_simt OBJECT ${simt_sources})
    # each test that is APART needs its own copy of the symbols: not GNU's unique
    # ones, which a process has once
    set_target_properties(attention_simt PROPERTIES COMPILE_OPTIONS
        "-O2;-w;$<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>")
    target_include_directories(attention_simt BEFORE PRIVATE
        ${simt} ${made} ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/tests/support)
    target_include_directories(attention_simt SYSTEM PRIVATE
        ${CUDAToolkit_INCLUDE_DIRS})
    foreach(name attention wkv)
        vly_test(test_${name}_simt LABELS unit APART TIMEOUT 300
            SOURCES test_${name}_simt.c
            LIBRARIES attention_simt emulated_threads accel_common m)
        target_include_directories(test_${name}_simt SYSTEM PRIVATE
            ${CUDAToolkit_INCLUDE_DIRS})
    endforeach()

    vly_test(test_cudnn_guard LABELS unit APART
        SOURCES test_cudnn_guard.c
            ${CMAKE_SOURCE_DIR}/plugins/attention/cudnn_guard.c
        LIBRARIES attention_simt emulated_threads attention_cudnn accel_common
            ${CMAKE_DL_LIBS} m)
    target_include_directories(test_cudnn_guard PRIVATE ${CMAKE_SOURCE_DIR})
    target_include_directories(test_cudnn_guard SYSTEM PRIVATE
        ${CUDAToolkit_INCLUDE_DIRS})

    # the plugin's own plans over them, and a fake runtime
    set(folder ${CMAKE_SOURCE_DIR}/plugins/attention)
    set(support ${CMAKE_SOURCE_DIR}/tests/support)
    vly_plugin(fake_attention_cuda
        ${support}/fake_attention_cuda.c ${folder}/rwkv_cuda.c
        ${folder}/rwkv_chain.c ${folder}/rwkv_pattern.c
        ${folder}/wkv_cuda.c ${folder}/wkv_choice.c
        ${folder}/attention_plan.c ${folder}/attention_choice.c
        ${folder}/attention_cut.c ${folder}/attention_span.c
        ${folder}/attention_notes.c ${folder}/attention_ways.c
        ${folder}/attention_trial.c ${folder}/attention_measure.c
        ${folder}/cpu_options.c ${folder}/attention_cpu.c
        ${folder}/attention_reference.c ${folder}/attention_blocked.c
        ${folder}/attention_gradient.c ${folder}/attention_view.c
        ${support}/fake_runtime.c ${support}/fake_rwkv_token.c
        $<TARGET_OBJECTS:attention_simt> $<TARGET_OBJECTS:emulated_threads>
        ${VOLLEY_ATTENTION_OBJECTS} $<TARGET_OBJECTS:attention_cudnn>
        $<TARGET_OBJECTS:attention_common>
        $<TARGET_OBJECTS:accel_common> $<TARGET_OBJECTS:accel_cuda>
        OUTPUT_DIRECTORY ${VOLLEY_TEST_PLUGIN_DIR})
    target_include_directories(fake_attention_cuda PRIVATE
        ${CMAKE_SOURCE_DIR} ${folder} ${CMAKE_SOURCE_DIR}/plugins/common)
    target_include_directories(fake_attention_cuda SYSTEM PRIVATE
        ${CUDAToolkit_INCLUDE_DIRS})
    target_compile_definitions(fake_attention_cuda PRIVATE
        vly_accel_cuda_memory=vly_accel_host_memory)
    target_link_libraries(fake_attention_cuda PRIVATE
        attention_kernels m ${CMAKE_DL_LIBS} Threads::Threads)
    set_target_properties(attention_simt PROPERTIES
        POSITION_INDEPENDENT_CODE ON)
    add_dependencies(test_conformance_accelerator fake_attention_cuda)
    vly_test(test_attention_cuda_host LABELS unit APART TIMEOUT 120
        SOURCES test_attention_cuda_host.c ${folder}/wkv_choice.c
                ${support}/fake_runtime.c
        LIBRARIES volley_sdk attention_common accel_common accel_cuda
            ${CMAKE_DL_LIBS} m
        DEPENDS fake_attention_cuda
        DEFINITIONS vly_accel_cuda_memory=vly_accel_host_memory
            TEST_PLUGIN="${VOLLEY_TEST_PLUGIN_DIR}/fake_attention_cuda.so")
    target_include_directories(test_attention_cuda_host SYSTEM PRIVATE
        ${CUDAToolkit_INCLUDE_DIRS})
    # a plugin that is not found fails the test
    function(emulated_table name options interface)
        vly_test_register(test_${name}_emulated LABELS unit ${ARGN}
            COMMAND ${CMAKE_COMMAND} -E env
                VOLLEY_PLUGIN_PATH=${VOLLEY_TEST_PLUGIN_DIR}/fake_attention_cuda.so
                ${CMAKE_BINARY_DIR}/tests/test_conformance_accelerator
                cuda:0,cache=off,tune=0${options} "${interface}*"
                volley.${interface}/1)
    endfunction()
    emulated_table(wkv "" wkv)
    emulated_table(rwkv "" rwkv)
    emulated_table(wkv_chunked ,choose=own_chunked wkv slow TIMEOUT 300)
    # four devices that are one processor
    vly_test_register(test_attention_span_emulated LABELS unit
        COMMAND ${CMAKE_COMMAND} -E env FAKE_DEVICES=4
            VOLLEY_PLUGIN_PATH=${VOLLEY_TEST_PLUGIN_DIR}/fake_attention_cuda.so
            ${CMAKE_BINARY_DIR}/tests/test_attention_span
            cuda:0,cache=off,tune=0 4)
endif()

if(TARGET attention_cuda)
    vly_test(test_attention_span LABELS gpu AREA conformance TIMEOUT 300
        SOURCES test_attention_span.c LIBRARIES volley_conformance
        DEPENDS attention_cuda ARGUMENTS cuda:0,cache=off,tune=0)
endif()

# every way of its own through the tables, without measuring
if(TARGET attention_cuda)
    foreach(way own_plain own_mma own_decode own_sm90 own_back cudnn own_step
            own_recurrent own_chunked)
        vly_test_register(test_attention_cuda_${way} LABELS gpu TIMEOUT 600
            COMMAND test_conformance_accelerator
                    cuda:0,choose=${way},tune=0,cache=off)
    endforeach()
endif()
