/* SPDX-License-Identifier: Apache-2.0
 * Random tensors of a bench, and lists of options.
 */
#include "tools/bench/bench_tensor.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "conformance/conformance_accel.h"
#include "conformance/conformance_element.h"
#include "tools/bench/bench_product.h"

enum { POOL = 1 << 16 };

/* Random elements are copied in pieces from random places of a pool: generating
 * a billion elements would take minutes. */
static vly_status fill_random(const bench_tensor *tensor,
                              const bench_tensor_spec *spec, uint64_t seed,
                              vly_error *error)
{
    const uint64_t size = conformance_element_bits(spec->type) / 8;
    const uint64_t n = tensor->count < POOL ? tensor->count : POOL;
    uint8_t *pool = vly_malloc(POOL, size);
    uint8_t *to = tensor->host;
    if (!pool)
        return vly_fail_nomem(error, POOL * size, "random elements");
    for (uint64_t i = 0; i < n; i++)
        conformance_element_set(spec->type, pool, i,
                                spec->offset +
                                    spec->scale * accel_random(seed, 0, i));
    if (tensor->count <= POOL)
        memcpy(to, pool, tensor->count * size);
    for (uint64_t at = 0; at < tensor->count && tensor->count > POOL;) {
        const uint64_t from = vly_mix64(seed ^ (at + 1)) % (POOL / 2);
        uint64_t some = POOL / 2;
        some = tensor->count - at < some ? tensor->count - at : some;
        memcpy(to + at * size, pool + from * size, some * size);
        at += some;
    }
    vly_free(pool);
    return VLY_OK;
}

static vly_status make_set(bench_tensor *tensor,
                           const vly_accelerator *accelerator,
                           const bench_tensor_spec *spec, uint32_t set,
                           uint64_t seed, vly_error *error)
{
    const vly_memory *m = &accelerator->memory;
    const uint32_t device = accelerator->device.index;
    vly_status status = VLY_OK;
    VLY_TRY(m->alloc(device, tensor->bytes, &tensor->device[set], error));
    if (spec->what == BENCH_TENSOR_POISON) {
        VLY_TRY(m->fill(device, tensor->device[set], 0xff, tensor->bytes, NULL,
                        error));
    } else {
        if (spec->what == BENCH_TENSOR_RANDOM)
            VLY_TRY(fill_random(tensor, spec, seed + set, error));
        else if (tensor->bytes > 0)
            memcpy(tensor->host, spec->given, tensor->bytes);
        VLY_TRY(m->copy(device, tensor->device[set], tensor->host,
                        tensor->bytes, VLY_COPY_TO_DEVICE, NULL, error));
    }
    VLY_TRY(m->stream_wait(device, NULL, error));
out:
    return status;
}

vly_status bench_tensor_make(bench_tensor *tensor,
                             const vly_accelerator *accelerator,
                             const bench_tensor_spec *spec, uint32_t sets,
                             uint64_t seed, vly_error *error)
{
    vly_status status = VLY_OK;
    *tensor = (bench_tensor){.type = spec->type,
                             .sets = sets,
                             .count = spec->count,
                             .bytes = spec->count *
                                      conformance_element_bits(spec->type) / 8};
    tensor->host = vly_malloc(1, tensor->bytes);
    if (!tensor->host)
        return vly_fail_nomem(error, tensor->bytes, "a tensor on the host");
    /* set 0 is last, so that the host's copy is of set 0 */
    for (uint32_t set = sets; set-- > 0 && status == VLY_OK;)
        status = make_set(tensor, accelerator, spec, set,
                          bench_product_seed(seed), error);
    return status;
}

void bench_tensor_free(bench_tensor *tensor, const vly_accelerator *accelerator)
{
    for (uint32_t set = 0; set < tensor->sets; set++)
        accelerator->memory.free(accelerator->device.index,
                                 tensor->device[set]);
    vly_free(tensor->host);
    *tensor = (bench_tensor){0};
}

vly_status bench_tensor_get(bench_tensor *tensor,
                            const vly_accelerator *accelerator,
                            vly_error *error)
{
    const vly_memory *m = &accelerator->memory;
    const uint32_t device = accelerator->device.index;
    vly_status status =
        m->copy(device, tensor->host, tensor->device[0], tensor->bytes,
                VLY_COPY_FROM_DEVICE, NULL, error);
    return status == VLY_OK ? m->stream_wait(device, NULL, error) : status;
}

void bench_tensor_read(const bench_tensor *tensor, uint64_t first, uint64_t n,
                       double *to)
{
    for (uint64_t i = 0; i < n; i++)
        to[i] = conformance_element_get(tensor->type, tensor->host, first + i);
}

/* ---- lists ----------------------------------------------------------------
 */

vly_status bench_numbers(const char *text, const char *option, uint32_t least,
                         uint32_t most, uint32_t *values, uint32_t capacity,
                         uint32_t *n, vly_error *error)
{
    const char *at = text;
    *n = 0;
    for (;;) {
        char *end = NULL;
        errno = 0;
        unsigned long value = isdigit((unsigned char)*at)
                                  ? strtoul(at, &end, 10)
                                  : (unsigned long)most + 1;
        if (!end || (*end != ',' && *end != '\0') || errno != 0 ||
            value < least || value > most)
            return vly_fail(error, VLY_E_INVALID,
                            "%s %s: \"%.*s\", wanted numbers from %u to %u "
                            "with commas between",
                            option, text, (int)strcspn(at, ","), at, least,
                            most);
        if (*n == capacity)
            return vly_fail(error, VLY_E_INVALID, "%s: more than %u number%s",
                            option, capacity, capacity == 1 ? "" : "s");
        values[(*n)++] = (uint32_t)value;
        if (*end == '\0')
            return VLY_OK;
        at = end + 1;
    }
}

/* -1: the name is not in the mask */
static int type_of(const char *name, size_t length, uint32_t mask)
{
    for (int type = 0; type < 32; type++) {
        if (!(mask & 1u << type))
            continue;
        const char *known = conformance_element_name((uint32_t)type);
        if (strlen(known) == length && strncmp(known, name, length) == 0)
            return type;
    }
    return -1;
}

vly_status bench_types(const char *text, uint32_t mask, uint32_t *types,
                       uint32_t capacity, uint32_t *n, vly_error *error)
{
    const char *at = text;
    char known[64] = "";
    *n = 0;
    for (uint32_t type = 0; type < 32; type++)
        if (mask & 1u << type) {
            strncat(known, known[0] != '\0' ? ", " : "",
                    sizeof known - strlen(known) - 1);
            strncat(known, conformance_element_name(type),
                    sizeof known - strlen(known) - 1);
        }
    for (;;) {
        const size_t length = strcspn(at, ",");
        const int type = type_of(at, length, mask);
        if (type < 0 || *n == capacity)
            return vly_fail(error, VLY_E_INVALID,
                            "--types %s: \"%.*s\", wanted %s", text,
                            (int)length, at, known);
        types[(*n)++] = (uint32_t)type;
        if (at[length] == '\0')
            return VLY_OK;
        at += length + 1;
    }
}
