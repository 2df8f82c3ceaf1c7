# SPDX-License-Identifier: Apache-2.0
# gemm_cuda without a device: the same sources with a fake runtime and a fake
# cuBLASLt, and the same kernels compiled for the host. Not with a sanitizer, as
# support/emulated.cmake says.
set(VOLLEY_TEST_AREA accelerator)
if(TARGET gemm_cuda AND NOT VOLLEY_SANITIZE)
    find_package(CUDAToolkit REQUIRED)
    set(support ${CMAKE_SOURCE_DIR}/tests/support)
    get_target_property(sources gemm_cuda SOURCES)
    set(host_sources ${sources})
    list(FILTER host_sources INCLUDE REGEX "^gemm_cuda.*[.]c$")
    list(TRANSFORM host_sources PREPEND ${CMAKE_SOURCE_DIR}/plugins/gemm/)
    set(kernels ${sources})
    list(FILTER kernels INCLUDE REGEX "[.]cu$")
    # sources of one target may be another language elsewhere: a copy each
    set(emulated)
    foreach(kernel IN LISTS kernels)
        get_filename_component(name ${kernel} NAME_WE)
        set(copy ${CMAKE_CURRENT_BINARY_DIR}/emulated/${name}.cpp)
        file(CONFIGURE OUTPUT ${copy} @ONLY
             CONTENT "#include \"emulated_accelerators.h\"\n#include \"@kernel@\"\n")
        list(APPEND emulated ${copy})
    endforeach()
    vly_plugin(fake_gemm_cuda ${host_sources} ${emulated}
               ${CMAKE_SOURCE_DIR}/kernels/accelerators/gemv_shapes.c
               ${support}/fake_runtime.c $<TARGET_OBJECTS:emulated_threads>
               $<TARGET_OBJECTS:gemm_common> $<TARGET_OBJECTS:accel_common>
               $<TARGET_OBJECTS:accel_cuda>
               OUTPUT_DIRECTORY ${VOLLEY_TEST_PLUGIN_DIR})
    target_include_directories(fake_gemm_cuda PRIVATE
        ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/kernels/accelerators ${support}
        ${CMAKE_SOURCE_DIR}/plugins/gemm ${CMAKE_SOURCE_DIR}/plugins/common)
    target_include_directories(fake_gemm_cuda SYSTEM
        PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    # nvcc's pragmas, and conversions between its types, are nothing to warn of;
    # emulated threads are slow enough in a build without optimisation
    set_source_files_properties(${emulated} PROPERTIES COMPILE_OPTIONS
        "-O2;-Wno-unknown-pragmas;-Wno-conversion;-Wno-pedantic;-Wno-shadow")
    # without the real library, which on a machine with a device would get
    # memory of the host
    target_compile_definitions(fake_gemm_cuda PRIVATE
        VLY_CUDA_BUILD="no device" VLY_CUBLASLT_NAMES="libcublasLt-of-no-device.so")
    target_link_libraries(fake_gemm_cuda PRIVATE
        m ${CMAKE_DL_LIBS} Threads::Threads)

    add_library(fake_cublaslt MODULE ${support}/fake_cublaslt.c
                ${CMAKE_SOURCE_DIR}/plugins/common/element.c)
    target_include_directories(fake_cublaslt PRIVATE
        ${support} ${CMAKE_SOURCE_DIR}/plugins/common)
    target_include_directories(fake_cublaslt SYSTEM
        PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    target_link_libraries(fake_cublaslt PRIVATE volley_sdk m)
    # no plugin, so not where the tests of plugins look
    set(fake_libraries ${CMAKE_BINARY_DIR}/lib/volley/test-libraries)
    set_target_properties(fake_cublaslt PROPERTIES
        PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${fake_libraries})

    foreach(name host library choice)
        vly_test(test_gemm_cuda_${name} LABELS unit
            SOURCES test_gemm_cuda_${name}.c gemm_host_fixture.c
                    gemm_host_cases.c
            LIBRARIES volley_sdk volley_conformance ${CMAKE_DL_LIBS} m
            DEPENDS fake_gemm_cuda fake_cublaslt
            DEFINITIONS
                TEST_PLUGIN="${VOLLEY_TEST_PLUGIN_DIR}/fake_gemm_cuda.so"
                TEST_LIBRARY="${fake_libraries}/fake_cublaslt.so")
        target_include_directories(test_gemm_cuda_${name}
            PRIVATE ${CMAKE_SOURCE_DIR}/core/conformance)
    endforeach()

    # the conformance table in the same way; the fake runtime has no graphs
    add_dependencies(test_gemm fake_gemm_cuda fake_cublaslt)
    foreach(way tune=0 tune=0,choose=own)
        string(MAKE_C_IDENTIFIER "test_gemm_emulated_${way}" name)
        vly_test_register(${name} LABELS unit slow
            COMMAND ${CMAKE_COMMAND} -E env
                VOLLEY_PLUGIN_PATH=${VOLLEY_TEST_PLUGIN_DIR}/fake_gemm_cuda.so
                VOLLEY_REQUIRE_GPU=1 # it is emulated
                ${CMAKE_BINARY_DIR}/tests/test_gemm
                "cuda:0,cache=off,library=${fake_libraries}/fake_cublaslt.so,${way}"
                "*/[!g]*")
    endforeach()
endif()

vly_test(test_gemv_unpack LABELS unit SOURCES test_gemv_unpack.c)
target_include_directories(test_gemv_unpack
    PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/plugins/common)
