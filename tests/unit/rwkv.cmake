# SPDX-License-Identifier: Apache-2.0
# RWKV-7: models on devices, and the operations of volley.rwkv/1.
vly_test(test_rwkv_golden LABELS unit
    SOURCES test_rwkv_golden.c test_rwkv_fixture.c
            ../support/rwkv_reference.c
    LIBRARIES m DEPENDS attention_cpu gemm_cpu)
