# SPDX-License-Identifier: Apache-2.0
# Plugins of the tests: built beside the real ones, never installed, found only
# where a test names them.
set(VOLLEY_TEST_PLUGIN_DIR ${CMAKE_BINARY_DIR}/lib/volley/test-plugins)
set(VOLLEY_TEST_PLUGINS)

function(vly_test_plugin name source)
    vly_plugin(${name} ${CMAKE_SOURCE_DIR}/tests/support/${source}.c
               OUTPUT_DIRECTORY ${VOLLEY_TEST_PLUGIN_DIR})
    set(VOLLEY_TEST_PLUGINS ${VOLLEY_TEST_PLUGINS} ${name} PARENT_SCOPE)
endfunction()

foreach(name no_entry struct_size struct_zero major id_missing id_invalid
             id_auto id_long init_missing deinit_missing get_missing
             interface_size function duplicate undefined init_fails
             init_silent no_interface)
    vly_test_plugin(broken_${name} broken_${name})
endforeach()
vly_test_plugin(newer_minor newer_minor)
vly_test_plugin(minor_0 minor_0)
target_include_directories(minor_0 BEFORE PRIVATE
    ${CMAKE_SOURCE_DIR}/tests/support/abi_1_0)
vly_test_plugin(erring erring_backend)
vly_test_plugin(failing erring_backend)
target_compile_definitions(failing PRIVATE VLY_BACKEND_FAILS)
# it is broken because a symbol is missing: the linker shall not mind
target_link_options(broken_undefined PRIVATE -Wl,-z,undefs)

foreach(name spec check host registry template)
    vly_test(test_plugin_${name} LABELS unit SOURCES test_plugin_${name}.c
             DEFINITIONS VLY_TEST_PLUGINS="${VOLLEY_TEST_PLUGIN_DIR}"
             DEPENDS template ${VOLLEY_TEST_PLUGINS})
endforeach()

find_program(VOLLEY_NM nm)
mark_as_advanced(VOLLEY_NM)
if(VOLLEY_NM)
    vly_test_register(test_plugin_symbols LABELS unit
        COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/plugin_symbols.sh ${VOLLEY_NM}
                ${VOLLEY_PLUGIN_OUTPUT_DIR} ${VOLLEY_TEST_PLUGIN_DIR})
endif()

check_language(CUDA)
vly_test_register(test_plugin_header LABELS unit
    COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/plugin_header.sh
            ${CMAKE_SOURCE_DIR}/core/include ${CMAKE_C_COMPILER}
            ${CMAKE_CXX_COMPILER} "${CMAKE_CUDA_COMPILER}")

# A sanitizer build installs a libvolley that only sanitizer programs can
# load, and tells nothing that the plain build does not.
if(NOT VOLLEY_SANITIZE)
    vly_test_register(test_plugin_sdk LABELS integration TIMEOUT 120
        COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/plugin_sdk.sh ${CMAKE_COMMAND}
                ${CMAKE_BINARY_DIR} ${CMAKE_INSTALL_DATADIR}
                ${CMAKE_C_COMPILER} $<TARGET_FILE:test_plugin_registry>)
endif()

# sanitizers add symbols of their own
if(NOT VOLLEY_SANITIZE)
    vly_test_register(test_api_symbols LABELS unit
        COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/api_symbols.sh
                $<TARGET_FILE:volley>
                ${CMAKE_SOURCE_DIR}/core/include/volley/volley.h)
endif()
