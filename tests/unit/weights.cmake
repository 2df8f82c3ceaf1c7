# SPDX-License-Identifier: Apache-2.0
# Files of models and their words (core/monitor).
vly_test(test_safetensors LABELS unit SOURCES test_safetensors.c)
