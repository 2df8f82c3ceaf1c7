# SPDX-License-Identifier: Apache-2.0
# The CUDA backend beside the reference; skipped with a reason where there is
# no device, failing there under VOLLEY_REQUIRE_GPU=1.
if(TARGET cuda)
    foreach(test same paths loop)
        vly_test(test_cuda_${test} LABELS gpu
            SOURCES test_cuda_${test}.c test_cuda_pair.c test_cpu_net.c
            LIBRARIES volley_sdk ${CMAKE_DL_LIBS} DEPENDS cpu cuda TIMEOUT 300)
    endforeach()
endif()
