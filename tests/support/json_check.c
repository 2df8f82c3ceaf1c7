/* SPDX-License-Identifier: Apache-2.0
 * json_check FILE: 0 if the file is JSON. For machines without another reader;
 * where there is one, the tests of the command ask it too.
 */
#include <stdio.h>

#include "base/error.h"
#include "tools/cli/json_reader.h"

int main(int argc, char **argv)
{
    vly_error error = VLY_ERROR_INIT;
    json_value value = {0};
    if (argc != 2)
        return 2;
    if (json_load(argv[1], &value, &error) != VLY_OK) {
        fprintf(stderr, "json_check: %s\n", error.message);
        return 1;
    }
    json_free(&value);
    return 0;
}
