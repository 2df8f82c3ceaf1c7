# SPDX-License-Identifier: Apache-2.0
# The plugin nvml, with fake libraries of the driver.
set(VOLLEY_TEST_AREA accelerator)
set(VOLLEY_FAKE_DRIVER ${CMAKE_BINARY_DIR}/lib/volley/test-driver)
foreach(library nvidia-ml cuda)
    string(REPLACE nvidia-ml nvml source ${library})
    string(REPLACE cuda libcuda source ${source})
    add_library(fake_driver_${library} MODULE
                ${CMAKE_SOURCE_DIR}/tests/support/fake_${source}.c)
    target_include_directories(fake_driver_${library} PRIVATE
        ${CMAKE_SOURCE_DIR}/plugins/nvml)
    target_link_libraries(fake_driver_${library} PRIVATE volley_sdk)
    set_target_properties(fake_driver_${library} PROPERTIES
        PREFIX "lib" OUTPUT_NAME ${library} SUFFIX ".so.1"
        LIBRARY_OUTPUT_DIRECTORY ${VOLLEY_FAKE_DRIVER})
endforeach()
vly_test(test_nvml LABELS unit APART
         SOURCES test_nvml.c
                 ${CMAKE_SOURCE_DIR}/plugins/nvml/nvml_library.c
                 ${CMAKE_SOURCE_DIR}/plugins/nvml/nvml_sample.c
                 ${CMAKE_SOURCE_DIR}/plugins/nvml/nvml_gpm.c
         LIBRARIES accel_common m
         DEPENDS nvml fake_driver_nvidia-ml fake_driver_cuda
         DEFINITIONS VLY_TEST_LIBRARIES="${VOLLEY_FAKE_DRIVER}")
target_include_directories(test_nvml PRIVATE ${CMAKE_SOURCE_DIR}/plugins/nvml)
set_property(TEST test_nvml APPEND PROPERTY ENVIRONMENT
             "LD_LIBRARY_PATH=${VOLLEY_FAKE_DRIVER}")
