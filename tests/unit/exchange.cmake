# SPDX-License-Identifier: Apache-2.0
# Plugins of volley.exchange/1.
vly_test(test_exchange LABELS unit ALONE
         SOURCES test_exchange.c exchange_cases.c
         LIBRARIES rt DEPENDS exchange_shm cpu)

# a rank that a launcher starts
add_executable(exchange_ranks ${CMAKE_SOURCE_DIR}/tests/support/exchange_ranks.c
               ${CMAKE_CURRENT_LIST_DIR}/exchange_cases.c)
target_link_libraries(exchange_ranks PRIVATE volley_internal volley_test_support)
set_target_properties(exchange_ranks PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(exchange_ranks exchange_shm exchange_mpi)
