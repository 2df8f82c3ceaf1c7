# SPDX-License-Identifier: Apache-2.0
# The plugin "gemm_cuda": static cudart, no link to libcuda or cuBLASLt (opened
# at run time; its header is the toolkit's).
enable_language(CUDA)
set(CMAKE_CUDA_ARCHITECTURES ${VOLLEY_ACCELERATOR_ARCHITECTURES})
# Sums are explicit fused multiply-adds; other operations are not contracted.
# The warning options of the other folders are for the host compiler.
get_property(options DIRECTORY PROPERTY COMPILE_OPTIONS)
set_property(DIRECTORY PROPERTY COMPILE_OPTIONS
    "$<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:${options}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false;-Xcompiler=-Wall,-Wextra,-ffp-contract=off${VOLLEY_CUDA_FLAGS}>")
find_package(CUDAToolkit REQUIRED)

set(gemm_kernels ${CMAKE_SOURCE_DIR}/kernels/accelerators)
vly_plugin(gemm_cuda
    gemm_cuda_plugin.c gemm_cuda_plan.c gemm_cuda_tune.c gemm_cuda_time.c
    gemm_cuda_right.c gemm_cuda_run.c gemm_cuda_told.c
    gemm_cuda_lt.c gemm_cuda_library.c
    ${gemm_kernels}/gemm_own.cu ${gemm_kernels}/gemm_finish.cu
    ${gemm_kernels}/gemm_check_device.cu ${gemm_kernels}/gemv_half.cu
    ${gemm_kernels}/gemv_flow.cu ${gemm_kernels}/gemv_lines.cu
    ${gemm_kernels}/gemv_full.cu ${gemm_kernels}/gemv_shapes.c
    $<TARGET_OBJECTS:gemm_common> $<TARGET_OBJECTS:accel_common>
    $<TARGET_OBJECTS:accel_cuda>)
set_target_properties(gemm_cuda PROPERTIES CUDA_RUNTIME_LIBRARY Static)
vly_cuda_also(${gemm_kernels}/gemm_finish.cu)
target_link_libraries(gemm_cuda PRIVATE
    gemm_common accel_common accel_cuda CUDA::cudart_static m
    ${CMAKE_DL_LIBS} Threads::Threads)
target_compile_definitions(gemm_cuda PRIVATE
    "VLY_CUDA_BUILD=\"nvcc ${CMAKE_CUDA_COMPILER_VERSION}, ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}\"")
