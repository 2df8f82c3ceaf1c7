# SPDX-License-Identifier: Apache-2.0
# What the accelerator plugins share, and the plugins through their tables.
vly_test(test_element LABELS unit SOURCES test_element.c
         LIBRARIES accel_common volley_conformance m)
