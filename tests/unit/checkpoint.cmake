# SPDX-License-Identifier: Apache-2.0
# Checkpoint files: in the program of the engine, with its fixture.
set(VOLLEY_TEST_AREA engine)
vly_test(test_checkpoint LABELS unit TIMEOUT 120
         SOURCES test_checkpoint.c engine_fixture.c DEPENDS cpu)
vly_test(test_checkpoint_file LABELS unit TIMEOUT 120
         SOURCES test_checkpoint_file.c engine_fixture.c DEPENDS cpu)
vly_test(test_checkpoint_frames LABELS unit TIMEOUT 120
         SOURCES test_checkpoint_frames.c engine_fixture.c DEPENDS cpu)
vly_test(test_checkpoint_old LABELS unit TIMEOUT 120
         SOURCES test_checkpoint_old.c engine_fixture.c DEPENDS cpu)
