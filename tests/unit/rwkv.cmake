# SPDX-License-Identifier: Apache-2.0
# RWKV-7: models on devices, and the operations of volley.rwkv/1.
foreach(name golden model context refusal)
    vly_test(test_rwkv_${name} LABELS unit TIMEOUT 120
        SOURCES test_rwkv_${name}.c test_rwkv_fixture.c
                ../support/rwkv_reference.c
        LIBRARIES m DEPENDS attention_cpu gemm_cpu)
endforeach()
