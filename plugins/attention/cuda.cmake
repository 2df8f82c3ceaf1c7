# SPDX-License-Identifier: Apache-2.0
# The plugin attention_cuda: attention and the recurrence of RWKV-7 on CUDA.

# cuDNN's graphs: no CUDA in them, so tests link them without a device
add_library(attention_cudnn OBJECT
    cudnn_library.c cudnn_steps.c cudnn_inputs.c cudnn_forward.c
    cudnn_backward.c cudnn_plan.c cudnn_numbers.c)
find_package(CUDAToolkit REQUIRED)
target_include_directories(attention_cudnn PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_include_directories(attention_cudnn SYSTEM PUBLIC
    ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(attention_cudnn PUBLIC accel_common)
