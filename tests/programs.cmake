# SPDX-License-Identifier: Apache-2.0
# Tests of an area are one program, tests_AREA: a compiler cache does not save the
# time to link the library once for each of 300 tests. A test is a target (an object
# library) with its own options; its main function gets the name
# NAME_main. A link NAME for each test is beside the program. The program runs
# the test with the name of the link, so that a test is started by its name.
set(VOLLEY_TEST_ONLY "" CACHE STRING
    "Regular expression: only tests whose names match are built; empty: all")

# vly_test_own_program(name SOURCES ... DEFINITIONS ...)
# A program of its own, of the name of the test.
function(vly_test_own_program name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEFINITIONS")
    add_executable(${name} ${arg_SOURCES})
    target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    set_property(GLOBAL APPEND PROPERTY VOLLEY_TESTS_ALONE ${name})
endfunction()

# The target of a test, with its main function in source, as a part of tests_AREA.
function(vly_test_entry name area source)
    file(STRINGS ${source} entry REGEX "^(int main[(]|VLY_TEST_MAIN[(])")
    if(NOT entry)
        message(FATAL_ERROR "test ${name}: no main function in ${source}")
    endif()
    add_library(${name} OBJECT)
    target_compile_definitions(${name} PRIVATE main=${name}_main)
    target_compile_options(${name} PRIVATE
        "SHELL:-include ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/support/test_entry.h")
    set(kind TEST)
    if(entry MATCHES "^int main[(]int")
        set(kind TEST_ARGUMENTS)
        target_compile_definitions(${name} PRIVATE VLY_TEST_TAKES_ARGUMENTS)
    endif()
    set_property(GLOBAL APPEND PROPERTY VOLLEY_TESTS_${area} ${name})
    set_property(GLOBAL APPEND_STRING PROPERTY VOLLEY_TEST_LIST_${area}
                 "${kind}(${name})\n")
    if(NOT TARGET tests_${area})
        set(list ${CMAKE_CURRENT_BINARY_DIR}/tests_${area}.def)
        add_executable(tests_${area}
            ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/support/test_program.c)
        target_compile_definitions(tests_${area} PRIVATE
                                   VLY_TEST_LIST="${list}")
        set_target_properties(tests_${area} PROPERTIES
            RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
        set_property(GLOBAL APPEND PROPERTY VOLLEY_TEST_AREAS ${area})
    endif()
    set_property(GLOBAL PROPERTY VOLLEY_PROGRAM_OF_${name} tests_${area})
endfunction()

# vly_test_in_program(name AREA SOURCES ... DEFINITIONS ...)
# A test of tests_AREA. The first source has the main function; the others, which
# several tests of the area may name, are compiled once. If an earlier test of the
# area compiled one with other definitions, this test must be APART.
function(vly_test_in_program name area)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;DEFINITIONS")
    list(POP_FRONT arg_SOURCES source)
    set(own ${source})
    get_property(shared GLOBAL PROPERTY VOLLEY_SHARED_${area})
    list(JOIN arg_DEFINITIONS "," definitions)
    foreach(other IN LISTS arg_SOURCES)
        if("${other}|${definitions}" IN_LIST shared)
            get_property(owner GLOBAL PROPERTY VOLLEY_OWNER_${area}_${other})
            set_property(GLOBAL APPEND PROPERTY VOLLEY_NEEDS_${name} ${owner})
            continue()
        endif()
        foreach(known IN LISTS shared)
            string(FIND "${known}" "${other}|" at)
            if(at EQUAL 0)
                message(FATAL_ERROR "test ${name}: ${other} has other "
                        "definitions in tests_${area}; write APART")
            endif()
        endforeach()
        list(APPEND own ${other})
        set_property(GLOBAL PROPERTY VOLLEY_OWNER_${area}_${other} ${name})
    endforeach()
    foreach(other IN LISTS arg_SOURCES)
        list(APPEND shared "${other}|${definitions}")
    endforeach()
    set_property(GLOBAL PROPERTY VOLLEY_SHARED_${area} "${shared}")

    vly_test_entry(${name} ${area} ${source})
    target_sources(${name} PRIVATE ${own})
    target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
endfunction()

# vly_test_apart(name AREA SOURCES ... [DEFINITIONS ...] [OBJECTS library...]
#                [WRAP function...])
# A test of tests_AREA with functions and variables that others have too: its
# objects and those of the object libraries become one, of which others see only
# the main function. WRAP: as --wrap of the linker, in this test alone.
function(vly_test_apart name area)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" ""
                          "SOURCES;DEFINITIONS;OBJECTS;WRAP")
    list(GET arg_SOURCES 0 source)
    vly_test_entry(${name} ${area} ${source})
    target_sources(${name} PRIVATE ${arg_SOURCES})
    target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
    set(objects)
    foreach(library IN LISTS name arg_OBJECTS)
        list(APPEND objects $<TARGET_OBJECTS:${library}>)
    endforeach()
    list(TRANSFORM arg_WRAP PREPEND --wrap=)
    set(joined ${CMAKE_CURRENT_BINARY_DIR}/apart/${name}.o)
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/apart)
    # groups of sections are found by name, local or not, and only one of a name
    # is kept
    add_custom_command(OUTPUT ${joined} DEPENDS ${objects}
        COMMAND ${CMAKE_LINKER} -r --force-group-allocation ${arg_WRAP}
                -o ${joined} ${objects}
        COMMAND ${CMAKE_OBJCOPY} --keep-global-symbol=${name}_main ${joined}
        COMMENT "Joining ${name}" COMMAND_EXPAND_LISTS VERBATIM)
    set_property(GLOBAL PROPERTY VOLLEY_JOINED_${name} ${joined})
endfunction()

# vly_test_chosen(out): the test targets that a test named by VOLLEY_TEST_ONLY
# starts, and those that compile a source that these share.
function(vly_test_chosen out)
    get_property(tests DIRECTORY PROPERTY TESTS)
    list(FILTER tests INCLUDE REGEX "${VOLLEY_TEST_ONLY}")
    set(chosen)
    foreach(test IN LISTS tests)
        get_property(command GLOBAL PROPERTY VOLLEY_COMMAND_${test})
        string(REGEX MATCHALL "[A-Za-z0-9_]+" words "${command}")
        foreach(word IN LISTS words)
            get_property(needs GLOBAL PROPERTY VOLLEY_NEEDS_${word})
            list(APPEND chosen ${word} ${needs})
        endforeach()
    endforeach()
    list(REMOVE_DUPLICATES chosen)
    set(${out} ${chosen} PARENT_SCOPE)
endfunction()

# vly_test_keep(list chosen): of the targets in the variable named by list, only
# those in the variable named by chosen stay; "all" does not build the others.
# Without VOLLEY_TEST_ONLY all stay.
function(vly_test_keep keep_of keep_chosen)
    set(kept)
    foreach(name IN LISTS ${keep_of})
        if(NOT VOLLEY_TEST_ONLY OR name IN_LIST ${keep_chosen})
            list(APPEND kept ${name})
        else()
            set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
        endif()
    endforeach()
    set(${keep_of} ${kept} PARENT_SCOPE)
endfunction()

# Writes the lists of the programs, and makes their links. After the last test.
function(vly_test_finish)
    set(chosen)
    if(VOLLEY_TEST_ONLY)
        vly_test_chosen(chosen)
    endif()
    get_property(alone GLOBAL PROPERTY VOLLEY_TESTS_ALONE)
    vly_test_keep(alone chosen)
    get_property(areas GLOBAL PROPERTY VOLLEY_TEST_AREAS)
    foreach(area IN LISTS areas)
        get_property(names GLOBAL PROPERTY VOLLEY_TESTS_${area})
        get_property(list GLOBAL PROPERTY VOLLEY_TEST_LIST_${area})
        vly_test_keep(names chosen)
        set(links)
        set(kept)
        foreach(name IN LISTS names)
            list(APPEND links COMMAND ${CMAKE_COMMAND} -E create_symlink
                 tests_${area} ${CMAKE_BINARY_DIR}/tests/${name})
            string(REGEX MATCH "[A-Z_]+[(]${name}[)]\n" line "${list}")
            string(APPEND kept "${line}")
            get_property(joined GLOBAL PROPERTY VOLLEY_JOINED_${name})
            if(joined)
                target_sources(tests_${area} PRIVATE ${joined})
                add_dependencies(tests_${area} ${name}) # and what the test needs
            else()
                target_link_libraries(tests_${area} PRIVATE ${name})
            endif()
        endforeach()
        file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/tests_${area}.def
             CONTENT "/* Made by CMake. */\n${kept}" @ONLY)
        target_link_libraries(tests_${area} PRIVATE
            volley_monitor volley_test_support)
        list(LENGTH names n)
        message(STATUS "tests_${area}: ${n} tests")
        if(n EQUAL 0)
            set_target_properties(tests_${area} PROPERTIES EXCLUDE_FROM_ALL ON)
        else()
            add_custom_command(TARGET tests_${area} POST_BUILD ${links} VERBATIM)
        endif()
    endforeach()
endfunction()
