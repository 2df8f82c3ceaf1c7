/* SPDX-License-Identifier: Apache-2.0
 * One model of the build, for test_genome_lists.c. Not guarded: each_model.h
 * includes it for every model.
 */
#define TEXT2(id) #id
#define TEXT(id) TEXT2(id)
{TEXT(VLY_MODEL_ID), VLY_MODEL_PORTS, VLY_MODEL_CANDIDATES},
#undef TEXT2
#undef TEXT
