# SPDX-License-Identifier: Apache-2.0
# attention_cuda: what can be said of it without a device, and on one.
vly_test(test_attention_index LABELS unit SOURCES test_attention_index.c
         LIBRARIES volley_sdk)

if(TARGET attention_cudnn)
    # cuDNN's heuristics want a libcuda.so.1, be it the toolkit's stub
    find_library(VOLLEY_CUDA_STUB cuda
        PATHS ${CUDAToolkit_LIBRARY_DIR}/stubs NO_DEFAULT_PATH)
    if(VOLLEY_CUDA_STUB)
        file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/tests/cuda_stub)
        file(CREATE_LINK ${VOLLEY_CUDA_STUB}
             ${CMAKE_BINARY_DIR}/tests/cuda_stub/libcuda.so.1 SYMBOLIC)
    endif()
    vly_test(test_cudnn_graphs LABELS unit TIMEOUT 300
        SOURCES test_cudnn_graphs.c
        LIBRARIES attention_cudnn accel_common ${CMAKE_DL_LIBS} m)
    set_property(TEST test_cudnn_graphs APPEND PROPERTY ENVIRONMENT
        "LD_LIBRARY_PATH=${CUDAToolkit_LIBRARY_DIR}:${CMAKE_BINARY_DIR}/tests/cuda_stub:$ENV{LD_LIBRARY_PATH}")
endif()
