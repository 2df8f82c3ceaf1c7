# SPDX-License-Identifier: Apache-2.0
# Plugins of volley.exchange/1.
set(VOLLEY_TEST_AREA plugin)
vly_test(test_exchange LABELS unit APART
         SOURCES test_exchange.c exchange_cases.c
         LIBRARIES rt DEPENDS exchange_shm cpu)

# a rank that a launcher starts
add_executable(exchange_ranks ${CMAKE_SOURCE_DIR}/tests/support/exchange_ranks.c
               ${CMAKE_CURRENT_LIST_DIR}/exchange_cases.c)
target_link_libraries(exchange_ranks PRIVATE volley_internal volley_test_support)
set_target_properties(exchange_ranks PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(exchange_ranks exchange_shm exchange_mpi)

# MPI's own memory is none of ours
if(NOT VOLLEY_SANITIZE)
    vly_test_register(test_exchange_mpi LABELS integration
        COMMAND sh ${CMAKE_SOURCE_DIR}/tests/integration/exchange_mpi.sh
                $<TARGET_FILE:exchange_ranks> $<TARGET_FILE:volley_command>)
    set_tests_properties(test_exchange_mpi PROPERTIES SKIP_RETURN_CODE 77)
endif()
