/* SPDX-License-Identifier: Apache-2.0
 * A file for a saved connectome, of this process: the setup and the teardown of
 * a group of tests.
 */
#ifndef VOLLEY_TEST_CONNECTOME_PATH_H
#define VOLLEY_TEST_CONNECTOME_PATH_H

#include <stdio.h>
#include <unistd.h>

static char path[200];

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, VLY_TEST_BINARY_DIR "/connectome.%d.vlc",
             (int)getpid());
    return 0;
}

static int remove_path(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

#endif
