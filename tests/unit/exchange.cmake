# SPDX-License-Identifier: Apache-2.0
# Plugins of volley.exchange/1.
vly_test(test_exchange LABELS unit ALONE
         SOURCES test_exchange.c exchange_cases.c
         LIBRARIES rt DEPENDS exchange_shm cpu)
