# SPDX-License-Identifier: Apache-2.0
# Plugins of the tests: built beside the real ones, never installed, found only
# where a test names them.
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
vly_test_plugin(trap trap_plugin)
vly_test_plugin(preparing preparing_backend)
# vly_old_plugin(minor sha256): a plugin of ABI 1.MINOR. Its header is what
# plugins out there were built with, so a change of it is an error.
function(vly_old_plugin minor sha256)
    set(folder ${CMAKE_SOURCE_DIR}/tests/support/abi_1_${minor})
    file(SHA256 ${folder}/volley/plugin.h found)
    if(NOT found STREQUAL sha256)
        message(FATAL_ERROR "${folder}/volley/plugin.h was changed; it is "
                            "the header of ABI 1.${minor} as it was")
    endif()
    vly_test_plugin(minor_${minor} minor_${minor})
    set(VOLLEY_TEST_PLUGINS ${VOLLEY_TEST_PLUGINS} PARENT_SCOPE)
    target_include_directories(minor_${minor} BEFORE PRIVATE ${folder})
    vly_test_register(test_plugin_minor_${minor} LABELS unit
        COMMAND volley_command conformance $<TARGET_FILE:minor_${minor}>)
endfunction()
vly_old_plugin(0
    01ca28bd9df342ffa94cd11d4776d7482e4323f464810ce0dbb07c49f51c218d)
vly_old_plugin(1
    44912256184e7962b47250a3f779066cbd6e683d0564b2928a3ea4fbd1a566ef)
vly_old_plugin(2
    d531b39a712384a29b97e6606f4498fdfd0eae47af34e1e92f53dfeea5e3bf50)
vly_old_plugin(3
    e3773b3f5160f2e255c94d6376118d3da568b9a58e175a2136cf96843ac359c3)
vly_old_plugin(4
    3d2dd3e7af0a0f2e429265b32d48d8b10c72950e4b9f8db2d239cf40da223362)
vly_old_plugin(5
    e166c900b6cc520801b205827dd2006de2e67af0283e855c2052ee10e9df6144)
vly_old_plugin(6
    455b4e9a5908d5c28371788754e5037d70269944a473a7d6986f726ac9742a4e)
vly_old_plugin(7
    59e3462c48e172894efcf764ea78eb75b51ff5f418fae51322db2b5c930c5ac7)
vly_old_plugin(8
    60c5c8ff1d5512e80a8a85b40e3a25e8c61fe376d45c7f031a315cf942b09039)
vly_old_plugin(9
    4e90771d38bbdd6fce5b960add13d0aede3f778fe4854ab481a3ddae44bf20ed)
vly_old_plugin(10
    d28d51229f7f9341e44650f31a15834b899ee97d341578cb50f2b8c76da87dcd)
# every minor up to the one of today has its plugin
file(STRINGS ${CMAKE_SOURCE_DIR}/core/include/volley/plugin.h minor
     REGEX "^#define VLY_ABI_MINOR")
string(REGEX MATCH "[0-9]+" minor "${minor}")
foreach(older RANGE ${minor})
    if(NOT TARGET minor_${older})
        message(FATAL_ERROR "the ABI is 1.${minor}, but there is no plugin of "
                            "1.${older} in tests/support: see README.md there")
    endif()
endforeach()
vly_test_plugin(erring erring_backend)
vly_test_plugin(failing erring_backend)
target_compile_definitions(failing PRIVATE VLY_BACKEND_FAILS)
vly_test_plugin(flaky flaky_backend)
# the backend within is a copy: a file is loaded once, with one host
set(flaky_inner ${VOLLEY_TEST_PLUGIN_DIR}/flaky_inner)
add_custom_command(OUTPUT ${flaky_inner} DEPENDS cpu
    COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:cpu> ${flaky_inner})
add_custom_target(flaky_inner DEPENDS ${flaky_inner})
target_compile_definitions(flaky PRIVATE FLAKY_INNER="${flaky_inner}")
target_link_libraries(flaky PRIVATE ${CMAKE_DL_LIBS})
add_dependencies(flaky flaky_inner)
# it is broken because a symbol is missing: the linker shall not mind
target_link_options(broken_undefined PRIVATE -Wl,-z,undefs)

# these two run copies of their own program
set(alone_registry ALONE)
set(alone_places ALONE)
foreach(name spec check host registry places template prepare)
    vly_test(test_plugin_${name} LABELS unit SOURCES test_plugin_${name}.c
             ${alone_${name}}
             DEPENDS template ${VOLLEY_TEST_PLUGINS})
endforeach()

# device memory: the policy, rule by rule, and at random beside a model
foreach(name memory wrong random)
    vly_test(test_device_${name} LABELS unit
        SOURCES test_device_${name}.c device_fixture.c)
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

# A sanitizer build installs a libvolley that only sanitizer programs can load;
# the plain build covers this test.
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
                ${CMAKE_SOURCE_DIR}/core/include/volley/volley.h
                ${CMAKE_SOURCE_DIR}/core/include/volley/record.h
                ${CMAKE_SOURCE_DIR}/core/include/volley/watch.h
                ${CMAKE_SOURCE_DIR}/core/include/volley/host.h
                ${CMAKE_SOURCE_DIR}/core/include/volley/ranks.h)
    find_program(VOLLEY_PYTHON python3)
    mark_as_advanced(VOLLEY_PYTHON)
    if(VOLLEY_PYTHON)
        vly_test_register(test_library_reach LABELS unit
            COMMAND ${VOLLEY_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/library_reach.py
                    ${CMAKE_NM} $<TARGET_FILE:volley>
                    $<TARGET_OBJECTS:volley_objects>)
    else()
        message(STATUS "test_library_reach: left out: no python3")
    endif()
endif()
