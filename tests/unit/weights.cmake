# SPDX-License-Identifier: Apache-2.0
# Files of models and their words (core/monitor).
vly_test(test_safetensors LABELS unit SOURCES test_safetensors.c)
vly_test(test_rwkv_weights LABELS unit
         SOURCES test_rwkv_weights.c ../support/weights_maker.c)
vly_test(test_small_float LABELS unit
         SOURCES test_small_float.c LIBRARIES volley_conformance)
