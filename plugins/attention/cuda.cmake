# SPDX-License-Identifier: Apache-2.0
# The plugin attention_cuda: attention and the recurrence of RWKV-7 on CUDA.
enable_language(CUDA)
set(CMAKE_CUDA_ARCHITECTURES ${VOLLEY_ACCELERATOR_ARCHITECTURES})
find_package(CUDAToolkit REQUIRED)
# The warning options of the other folders are for the host compiler.
# Accelerators must meet a bound, not exact bits: nvcc may fuse multiplications
# and additions.
get_property(options DIRECTORY PROPERTY COMPILE_OPTIONS)
set_property(DIRECTORY PROPERTY COMPILE_OPTIONS
    "$<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:${options}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra${VOLLEY_CUDA_FLAGS}>")

# cuDNN's graphs use no CUDA, so tests link them without a device
add_library(attention_cudnn OBJECT
    cudnn_library.c cudnn_steps.c cudnn_inputs.c cudnn_forward.c
    cudnn_backward.c cudnn_plan.c cudnn_numbers.c)
target_include_directories(attention_cudnn PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_include_directories(attention_cudnn SYSTEM PUBLIC
    ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(attention_cudnn PUBLIC accel_common)

set(device_kernels ${CMAKE_SOURCE_DIR}/kernels/accelerators)
# sm_90a is not forward compatible and is used for these kernels only
add_library(attention_sm90a OBJECT ${device_kernels}/attention_sm90.cu
    ${device_kernels}/attention_back.cu ${device_kernels}/rwkv_token.cu)
set_target_properties(attention_sm90a PROPERTIES CUDA_ARCHITECTURES OFF)
target_compile_options(attention_sm90a PRIVATE
    "SHELL:-gencode arch=compute_90a,code=sm_90a")
target_include_directories(attention_sm90a PRIVATE ${CMAKE_SOURCE_DIR})

vly_plugin(attention_cuda
    attention_cuda_plugin.c attention_plan.c attention_choice.c
    attention_cut.c attention_span.c attention_notes.c attention_ways.c
    attention_cudnn.c cudnn_guard.c attention_hopper.c attention_back.c
    attention_trial.c
    attention_measure.c rwkv_cuda.c rwkv_chain.c rwkv_pattern.c wkv_cuda.c
    wkv_choice.c
    # the reference of the processor, to check ways
    cpu_options.c attention_cpu.c attention_reference.c attention_blocked.c
    attention_gradient.c attention_view.c ${attention_objects}
    ${device_kernels}/attention_plain.cu ${device_kernels}/attention_mma.cu
    ${device_kernels}/attention_decode.cu
    ${device_kernels}/attention_guard.cu ${device_kernels}/attention_copy.cu
    ${device_kernels}/wkv_step.cu ${device_kernels}/wkv_recurrent.cu
    ${device_kernels}/wkv_chunked.cu
    ${device_kernels}/rwkv_rows.cu ${device_kernels}/rwkv_mix_many.cu
    ${device_kernels}/rwkv_heads.cu
    ${device_kernels}/rwkv_step.cu ${device_kernels}/rwkv_products.cu
    $<TARGET_OBJECTS:attention_sm90a>
    $<TARGET_OBJECTS:attention_cudnn> $<TARGET_OBJECTS:attention_common>
    $<TARGET_OBJECTS:accel_common> $<TARGET_OBJECTS:accel_cuda>)
set_target_properties(attention_cuda PROPERTIES CUDA_RUNTIME_LIBRARY Static)
vly_cuda_also(${device_kernels}/wkv_step.cu) # the least with rwkv_launch.cuh
target_link_libraries(attention_cuda PRIVATE
    attention_kernels accel_cuda CUDA::cudart_static ${CMAKE_DL_LIBS} m)
target_include_directories(attention_cuda PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_definitions(attention_cuda PRIVATE
    "VLY_CUDA_BUILD=\"nvcc ${CMAKE_CUDA_COMPILER_VERSION}, ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}\"")
