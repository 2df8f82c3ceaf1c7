/* SPDX-License-Identifier: Apache-2.0
 * Opens cairo by the name that it has had since 2005.
 */
#include "tools/plot/cairo_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"

static const char library_name[] = "libcairo.so.2";

plot_cairo cairo;

typedef struct cairo_slot {
    const char *name;
    size_t offset;
} cairo_slot;

#define PLOT_CAIRO_SLOT(returns, name, arguments)                              \
    {"cairo_" #name, offsetof(plot_cairo, name)},
static const cairo_slot slots[] = {PLOT_CAIRO_FUNCTIONS(PLOT_CAIRO_SLOT)};
#undef PLOT_CAIRO_SLOT

vly_status plot_cairo_open(vly_error *error)
{
    static bool is_open;
    if (is_open)
        return VLY_OK;
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror(); /* gone with the next call */
        return vly_fail(error, VLY_E_DEVICE,
                        "pictures are drawn by cairo, which cannot be opened: "
                        "%s; install it (Debian, Ubuntu: apt-get install "
                        "libcairo2)",
                        why ? why : library_name);
    }
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        void *address = dlsym(library, slots[i].name);
        if (!address)
            return vly_fail(error, VLY_E_DEVICE,
                            "%s has no function %s: pictures need cairo 1.2 or "
                            "newer, with PNG and SVG",
                            library_name, slots[i].name);
        memcpy((char *)&cairo + slots[i].offset, &address, sizeof address);
    }
    is_open = true;
    return VLY_OK;
}
