# SPDX-License-Identifier: Apache-2.0
# The CUDA backend beside the reference; skipped with a reason where there is
# no device, failing there under VOLLEY_REQUIRE_GPU=1.
vly_test(test_narrow_sums LABELS unit SOURCES test_narrow_sums.c)
target_include_directories(test_narrow_sums PRIVATE ${CMAKE_SOURCE_DIR})
if(TARGET cuda)
    foreach(test same paths partition loop linger)
        vly_test(test_cuda_${test} LABELS gpu
            SOURCES test_cuda_${test}.c test_cuda_pair.c test_cpu_net.c
            LIBRARIES volley_sdk ${CMAKE_DL_LIBS} DEPENDS cpu cuda TIMEOUT 300)
    endforeach()
    target_sources(test_cuda_same
        PRIVATE ${CMAKE_CURRENT_LIST_DIR}/test_pair_same.c)

    # the host side without a device: the same sources, a runtime that is none
    find_package(CUDAToolkit REQUIRED)
    get_target_property(fake_sources cuda SOURCES)
    list(FILTER fake_sources INCLUDE REGEX "^cuda_.*[.]c$")
    list(TRANSFORM fake_sources PREPEND ${CMAKE_SOURCE_DIR}/backends/cuda/)
    vly_plugin(fake_cuda ${fake_sources}
               ${CMAKE_SOURCE_DIR}/tests/support/fake_cuda.c
               ${CMAKE_SOURCE_DIR}/tests/support/fake_kernels.c
               $<TARGET_OBJECTS:backend_common>
               OUTPUT_DIRECTORY ${VOLLEY_TEST_PLUGIN_DIR})
    target_include_directories(fake_cuda
        PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/backends/cuda)
    target_include_directories(fake_cuda SYSTEM
        PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    target_compile_definitions(fake_cuda PRIVATE VLY_CUDA_BUILD="no device")
    target_link_libraries(fake_cuda PRIVATE ${CMAKE_DL_LIBS})
    vly_test(test_cuda_host LABELS unit
        SOURCES test_cuda_host.c test_cpu_host.c test_cpu_net.c
        LIBRARIES volley_sdk ${CMAKE_DL_LIBS} DEPENDS fake_cuda
        DEFINITIONS TEST_PLUGIN="${VOLLEY_TEST_PLUGIN_DIR}/fake_cuda.so")
    # its sizes are looked at from within
    vly_test(test_cuda_narrow LABELS unit
        SOURCES test_cuda_narrow.c ${fake_sources} ../support/fake_cuda.c
                ../support/fake_kernels.c
        LIBRARIES ${CMAKE_DL_LIBS} DEFINITIONS VLY_CUDA_BUILD="no device")
    target_sources(test_cuda_narrow PRIVATE $<TARGET_OBJECTS:backend_common>)
    target_include_directories(test_cuda_narrow
        PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/backends/cuda)
    target_include_directories(test_cuda_narrow SYSTEM
        PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    vly_test(test_cuda_memory LABELS unit
        SOURCES test_cuda_host.c test_cpu_host.c test_cpu_net.c
        LIBRARIES volley_sdk ${CMAKE_DL_LIBS} DEPENDS fake_cuda
        DEFINITIONS TEST_PLUGIN="${VOLLEY_TEST_PLUGIN_DIR}/fake_cuda.so"
            TEST_DEVICE_MEMORY=1)
    # nets that move between two devices which are none
    vly_test(test_cuda_swap LABELS unit
        SOURCES test_cuda_swap.c engine_fixture.c
        DEPENDS fake_cuda cpu
        DEFINITIONS TEST_PLUGIN="${VOLLEY_TEST_PLUGIN_DIR}/fake_cuda.so")
endif()
