/* SPDX-License-Identifier: Apache-2.0
 * Tests of backends named on the command line, as in "cuda:0,plan=global":
 * skipping where there is no device, and what a forced plan may refuse.
 */
#ifndef VOLLEY_DEVICE_TEST_H
#define VOLLEY_DEVICE_TEST_H

#include <stdlib.h>

#include "volley_test.h"

#include <volley/volley.h>

/* Whether a test of a backend must not be skipped: VOLLEY_REQUIRE_VULKAN=1, of
 * all others VOLLEY_REQUIRE_GPU=1. The cpu backend is always there. */
static inline bool device_is_required(const char *id)
{
    const char *required =
        getenv(strcmp(id, "vulkan") == 0 ? "VOLLEY_REQUIRE_VULKAN"
                                         : "VOLLEY_REQUIRE_GPU");
    return strcmp(id, "cpu") == 0 ||
           (required != NULL && strcmp(required, "1") == 0);
}

/* Skips the test with the reason if the plugin of spec cannot be used here, and
 * fails it where it is required. */
static inline void device_require(const vly_registry *registry,
                                  const char *spec)
{
    vly_error error = {.struct_size = sizeof error};
    const void *table = NULL;
    char id[32];
    snprintf(id, sizeof id, "%.*s", (int)strcspn(spec, ":,"), spec);
    if (vly_registry_interface(registry, id, VLY_BACKEND_INTERFACE, &table,
                               &error) == VLY_OK)
        return;
    if (device_is_required(id))
        fail_msg("%s", error.message);
    print_message("skipped: %s\n", error.message);
    skip();
}

/* Whether a net was not made because the plan of spec is not for it, which
 * must come with a reason. Any other failure fails the test. */
static inline bool device_refuses(const char *what, const char *spec,
                                  vly_status status, const vly_error *error)
{
    if (status == VLY_OK)
        return false;
    if (status != VLY_E_UNSUPPORTED || strstr(spec, "plan=") == NULL ||
        strlen(error->message) < 20)
        fail_msg("%s on %s: status %d: %s", what, spec, (int)status,
                 error->message);
    return true;
}

#endif
