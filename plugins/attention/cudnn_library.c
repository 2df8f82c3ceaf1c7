/* SPDX-License-Identifier: Apache-2.0
 * Opens cuDNN at run time and says its errors.
 */
#include "cudnn_api.h"

#include <pthread.h>

#include "accel_common.h"
#include "shared_library.h"

static const char *const names[] = {"libcudnn.so.9", "libcudnn.so"};

static const vly_library_function functions[] = {
#define VLY_CUDNN_PLACE(result, name, symbol, parameters)                      \
    {#symbol, offsetof(vly_cudnn, name), 0, 0},
    VLY_CUDNN_FUNCTIONS(VLY_CUDNN_PLACE)
#undef VLY_CUDNN_PLACE
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static vly_cudnn table;
static vly_status opened;
static vly_error why = {.struct_size = sizeof(vly_error)};

static void open_library(void)
{
    opened = vly_library_open(
        "cuDNN", names, (uint32_t)(sizeof names / sizeof names[0]), functions,
        (uint32_t)(sizeof functions / sizeof functions[0]), &table, NULL, &why);
    if (opened != VLY_OK)
        return;
    table.version = (uint32_t)table.get_version();
    if (table.version / 10000 != 9)
        opened = vly_support_fail(
            &why, VLY_E_UNSUPPORTED,
            "cuDNN is version %u, wanted 9 (90000 and up)", table.version);
}

vly_status vly_cudnn_open(const vly_cudnn **cudnn, vly_error *error)
{
    if (pthread_once(&once, open_library) != 0)
        return vly_support_fail(error, VLY_E_DEVICE,
                                "cuDNN could not be opened once");
    if (opened != VLY_OK)
        return vly_support_fail(error, opened, "%s", why.message);
    *cudnn = &table;
    return VLY_OK;
}

vly_status vly_cudnn_check(const vly_cudnn *cudnn, int code, const char *what,
                           vly_error *error)
{
    if (code == 0)
        return VLY_OK;
    char text[600] = "";
    cudnn->last_error(text, sizeof text);
    text[sizeof text - 1] = '\0';
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\n')
            *c = ' ';
    vly_status status = VLY_E_DEVICE;
    if (code / 1000 == 3)
        status = VLY_E_UNSUPPORTED;
    else if (code / 1000 == 2)
        status = VLY_E_INVALID;
    return vly_support_fail(error, status, "%s: cuDNN said %s%s%s", what,
                            cudnn->error_text(code),
                            text[0] == '\0' ? "" : ": ", text);
}
