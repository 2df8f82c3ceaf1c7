/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a file of tensors, and as an RWKV-7 model's: refused with one
 * sentence, or what it says of itself is in bounds and can be read.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "monitor/rwkv_weights.h"
#include "monitor/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(), which is off in release builds. */
static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_safetensors: %s\n", what);
    abort();
}

static void is_sentence(vly_status status, const vly_error *error)
{
    demand(status == VLY_E_PARSE || status == VLY_E_NOMEM ||
               status == VLY_E_INVALID,
           "refused with another status");
    demand(strlen(error->message) > 10 && !strchr(error->message, '\n'),
           error->message);
}

/* Every byte of the data belongs to one tensor and is read as it is. */
static void check_tensors(const vly_safetensors *file, const uint8_t *data,
                          size_t size)
{
    vly_error error = VLY_ERROR_INIT;
    uint64_t n_bytes = 0;
    uint64_t first = size;
    for (uint32_t i = 0; i < vly_safetensors_count(file); i++) {
        const vly_safetensor *tensor = vly_safetensors_at(file, i);
        uint8_t *copy = malloc((size_t)tensor->n_bytes + 1);
        demand(tensor->begin <= size && tensor->n_bytes <= size - tensor->begin,
               "a tensor beyond the file");
        demand(tensor->n_elements * vly_safetensor_type_bits(tensor->type) ==
                   tensor->n_bytes * 8,
               "bytes that are not those of the elements");
        demand(vly_safetensors_find(file, tensor->name) == tensor,
               "a tensor that is not found by its name");
        demand(copy && vly_safetensors_read(file, tensor, 0, tensor->n_bytes,
                                            copy, &error) == VLY_OK,
               error.message);
        demand(memcmp(copy, data + tensor->begin, (size_t)tensor->n_bytes) == 0,
               "other bytes");
        free(copy);
        n_bytes += tensor->n_bytes;
        if (tensor->n_bytes > 0 && tensor->begin < first)
            first = tensor->begin;
    }
    demand(first + n_bytes == size, "bytes of no tensor, or of two");
}

static void check_weights(const char *path)
{
    vly_error error = VLY_ERROR_INIT;
    for (uint32_t lora = 0; lora <= VLY_RWKV_LORA_BY_SHAPE; lora++) {
        vly_rwkv_weights *weights = NULL;
        vly_status status = vly_rwkv_weights_open(path, lora, &weights, &error);
        if (status != VLY_OK) {
            is_sentence(status, &error);
            demand(weights == NULL, "refused, and there are weights");
            continue;
        }
        const vly_rwkv_sizes *sizes = vly_rwkv_weights_sizes(weights);
        for (uint32_t i = 0; i < VLY_RWKV_N_TENSORS; i++) {
            const uint32_t layer = sizes->layers - 1;
            uint64_t rows = 0;
            uint64_t columns = 0;
            const vly_rwkv_tensor id = (vly_rwkv_tensor)i;
            if (!vly_rwkv_weights_has(weights, id, layer))
                continue;
            vly_rwkv_weights_shape(weights, id, &rows, &columns);
            float *x = malloc((size_t)(rows * columns) * sizeof *x);
            demand(x != NULL, "no memory");
            status = vly_rwkv_weights_read(
                weights, id, vly_rwkv_is_of_layers(id) ? layer : 0, 0, rows, x,
                &error);
            if (status != VLY_OK)
                is_sentence(status, &error);
            free(x);
        }
        vly_rwkv_weights_close(weights);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint64_t live = vly_memory_live();
    vly_error error = VLY_ERROR_INIT;
    vly_safetensors *file = NULL;
    char path[64];
    int memory = memfd_create("fuzz", MFD_CLOEXEC);
    demand(memory >= 0 && write(memory, data, size) == (ssize_t)size,
           "no file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    vly_status status = vly_safetensors_open(path, &file, &error);
    if (status == VLY_OK) {
        check_tensors(file, data, size);
        check_weights(path);
    } else {
        is_sentence(status, &error);
        demand(file == NULL, "refused, and there is a file");
    }
    vly_safetensors_close(file);
    close(memory);
    demand(vly_memory_live() == live, "blocks of memory are left");
    return 0;
}
