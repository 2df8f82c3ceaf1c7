# SPDX-License-Identifier: Apache-2.0
# The threads of CUDA's kernels on the processor, for the kernels of the backend
# (unit/cuda.cmake) and of accelerators (unit/gemm_cuda, unit/attention_cuda): a
# coroutine each. A sanitizer does not know their stacks.
if(VOLLEY_SANITIZE OR NOT (TARGET cuda OR TARGET gemm_cuda OR TARGET attention_cuda))
    return()
endif()
find_package(CUDAToolkit REQUIRED)
# As the machine allows, and as other machines than x86-64 have it.
foreach(name threads portable)
    add_library(emulated_${name} OBJECT
        ${CMAKE_CURRENT_LIST_DIR}/emulated_threads.cpp)
    target_include_directories(emulated_${name} SYSTEM PRIVATE
        ${CUDAToolkit_INCLUDE_DIRS})
    # slow enough in a build without optimisation
    target_compile_options(emulated_${name} PRIVATE -O2)
    set_target_properties(emulated_${name} PROPERTIES
        POSITION_INDEPENDENT_CODE ON)
    vly_test(test_emulated_${name} LABELS unit APART AREA accelerator
        SOURCES ../unit/test_emulated_threads.cpp LIBRARIES emulated_${name})
    target_include_directories(test_emulated_${name} SYSTEM PRIVATE
        ${CUDAToolkit_INCLUDE_DIRS})
endforeach()
target_compile_definitions(emulated_portable PRIVATE EMULATED_PORTABLE)
