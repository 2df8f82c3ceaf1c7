/* SPDX-License-Identifier: Apache-2.0
 * A libcuda.so.1 that does nothing and says that it worked, so that cuDNN's
 * heuristics and compilers run where there is no device: plans are built and
 * written down, and none can be run. The functions are those that cuDNN 9.19
 * looks up.
 */
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* the driver's own names and types, without its header */
#define NOTHING(name)                                                          \
    EXPORT int name(void);                                                     \
    EXPORT int name(void)                                                      \
    {                                                                          \
        return 0;                                                              \
    }

NOTHING(cuCtxGetLimit)
NOTHING(cuCtxPopCurrent)
NOTHING(cuCtxPushCurrent)
NOTHING(cuDeviceGet)
NOTHING(cuDevicePrimaryCtxRelease)
NOTHING(cuDevicePrimaryCtxReset)
NOTHING(cuDevicePrimaryCtxRetain)
NOTHING(cuFuncSetAttribute)
NOTHING(cuInit)
NOTHING(cuKernelSetAttribute)
NOTHING(cuLaunchCooperativeKernel)
NOTHING(cuLaunchKernel)
NOTHING(cuLaunchKernelEx)
NOTHING(cuLibraryLoadFromFile)
NOTHING(cuLibraryUnload)
NOTHING(cuLinkAddData)
NOTHING(cuLinkAddData_v2)
NOTHING(cuLinkAddFile_v2)
NOTHING(cuLinkComplete)
NOTHING(cuLinkCreate)
NOTHING(cuLinkCreate_v2)
NOTHING(cuLinkDestroy)
NOTHING(cuMemcpyDtoH_v2)
NOTHING(cuModuleGetGlobal_v2)
NOTHING(cuModuleLoadDataEx)
NOTHING(cuModuleLoadFatBinary)
NOTHING(cuModuleUnload)
NOTHING(cuOccupancyMaxPotentialClusterSize)
NOTHING(cuStreamGetCtx)
NOTHING(cuStreamSynchronize)
NOTHING(cuTensorMapEncodeTiled)

/* those whose result is looked at: an int or a handle that is not NULL */
static int give(void **to)
{
    static char handle[64];
    *to = handle;
    return 0;
}

#define GIVE_HANDLE(name)                                                      \
    EXPORT int name(void **to);                                                \
    EXPORT int name(void **to)                                                 \
    {                                                                          \
        return give(to);                                                       \
    }

GIVE_HANDLE(cuCtxGetCurrent)
GIVE_HANDLE(cuKernelGetFunction)
GIVE_HANDLE(cuLibraryGetKernel)
GIVE_HANDLE(cuLibraryLoadData)
GIVE_HANDLE(cuModuleGetFunction)
GIVE_HANDLE(cuModuleLoadData)

#define GIVE_INT(name, value)                                                  \
    EXPORT int name(int *to);                                                  \
    EXPORT int name(int *to)                                                   \
    {                                                                          \
        *to = (value);                                                         \
        return 0;                                                              \
    }

GIVE_INT(cuCtxGetDevice, 0)
GIVE_INT(cuDeviceGetCount, 1)
GIVE_INT(cuDriverGetVersion, 13000)
GIVE_INT(cuFuncGetAttribute, 0)
GIVE_INT(cuKernelGetAttribute, 0)
GIVE_INT(cuOccupancyMaxActiveBlocksPerMultiprocessor, 1)

enum { MAJOR = 75, MINOR = 76, MULTIPROCESSORS = 16, NOT_FOUND = 500 };

EXPORT int cuDeviceGetAttribute(int *to, int attribute, int device);
EXPORT int cuDeviceGetAttribute(int *to, int attribute, int device)
{
    (void)device;
    *to = 1;
    if (attribute == MAJOR)
        *to = 9;
    else if (attribute == MINOR)
        *to = 0;
    else if (attribute == MULTIPROCESSORS)
        *to = 132;
    return 0;
}

EXPORT int cuGetExportTable(const void **table, const void *id);
EXPORT int cuGetExportTable(const void **table, const void *id)
{
    (void)table;
    (void)id;
    return NOT_FOUND;
}

static int say(const char **to)
{
    *to = "the driver of the test";
    return 0;
}

EXPORT int cuGetErrorName(int code, const char **to);
EXPORT int cuGetErrorName(int code, const char **to)
{
    (void)code;
    return say(to);
}

EXPORT int cuGetErrorString(int code, const char **to);
EXPORT int cuGetErrorString(int code, const char **to)
{
    (void)code;
    return say(to);
}
