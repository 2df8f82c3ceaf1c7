/* SPDX-License-Identifier: Apache-2.0
 * Makes files with the weights of an RWKV-7 model.
 */
#include "weights_maker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sizes by a letter each, rows and columns of y = W x: 1, D, F (hidden), N
 * (vocabulary), w a v g (ranks), h (r_k: a row a head). Layer: m model, l every
 * layer, v not the first. */
typedef struct name_row {
    char scope;
    char rows;
    char columns;
    const char *native;
    const char *fla;
} name_row;

static const name_row names[] = {
    {'m', 'N', 'D', "emb.weight", "model.embeddings.weight"},
    {'m', '1', 'D', "blocks.0.ln0.weight", "model.layers.0.pre_norm.weight"},
    {'m', '1', 'D', "blocks.0.ln0.bias", "model.layers.0.pre_norm.bias"},
    {'l', '1', 'D', "ln1.weight", "attn_norm.weight"},
    {'l', '1', 'D', "ln1.bias", "attn_norm.bias"},
    {'l', '1', 'D', "ln2.weight", "ffn_norm.weight"},
    {'l', '1', 'D', "ln2.bias", "ffn_norm.bias"},
    {'l', '1', 'D', "att.x_r", "attn.x_r"},
    {'l', '1', 'D', "att.x_w", "attn.x_w"},
    {'l', '1', 'D', "att.x_k", "attn.x_k"},
    {'l', '1', 'D', "att.x_v", "attn.x_v"},
    {'l', '1', 'D', "att.x_a", "attn.x_a"},
    {'l', '1', 'D', "att.x_g", "attn.x_g"},
    {'l', '1', 'D', "att.w0", "attn.w_lora.lora.2.bias"},
    {'l', 'w', 'D', "att.w1", "attn.w_lora.lora.0.weight"},
    {'l', 'D', 'w', "att.w2", "attn.w_lora.lora.2.weight"},
    {'l', '1', 'D', "att.a0", "attn.a_lora.lora.2.bias"},
    {'l', 'a', 'D', "att.a1", "attn.a_lora.lora.0.weight"},
    {'l', 'D', 'a', "att.a2", "attn.a_lora.lora.2.weight"},
    {'v', '1', 'D', "att.v0", "attn.v_lora.lora.2.bias"},
    {'v', 'v', 'D', "att.v1", "attn.v_lora.lora.0.weight"},
    {'v', 'D', 'v', "att.v2", "attn.v_lora.lora.2.weight"},
    {'l', 'g', 'D', "att.g1", "attn.g_lora.lora.0.weight"},
    {'l', 'D', 'g', "att.g2", "attn.g_lora.lora.2.weight"},
    {'l', '1', 'D', "att.k_k", "attn.k_k"},
    {'l', '1', 'D', "att.k_a", "attn.k_a"},
    {'l', 'h', 'D', "att.r_k", "attn.r_k"},
    {'l', 'D', 'D', "att.receptance.weight", "attn.r_proj.weight"},
    {'l', 'D', 'D', "att.key.weight", "attn.k_proj.weight"},
    {'l', 'D', 'D', "att.value.weight", "attn.v_proj.weight"},
    {'l', 'D', 'D', "att.output.weight", "attn.o_proj.weight"},
    {'l', '1', 'D', "att.ln_x.weight", "attn.g_norm.weight"},
    {'l', '1', 'D', "att.ln_x.bias", "attn.g_norm.bias"},
    {'l', '1', 'D', "ffn.x_k", "ffn.x_k"},
    {'l', 'F', 'D', "ffn.key.weight", "ffn.key.weight"},
    {'l', 'D', 'F', "ffn.value.weight", "ffn.value.weight"},
    {'m', '1', 'D', "ln_out.weight", "model.norm.weight"},
    {'m', '1', 'D', "ln_out.bias", "model.norm.bias"},
    {'m', 'N', 'D', "head.weight", "lm_head.weight"},
};

enum { N_NAMES = sizeof names / sizeof names[0] };

static const char *const type_names[] = {"F32", "F16", "BF16"};

static void *must(void *memory)
{
    if (!memory) {
        fprintf(stderr, "weights_maker: no memory\n");
        exit(1);
    }
    return memory;
}

static uint64_t size_of(const maker_model *model, char letter)
{
    switch (letter) {
    case 'D':
        return model->width;
    case 'F':
        return model->hidden;
    case 'N':
        return model->vocabulary;
    case 'h':
    case '1':
        return 1;
    default:
        return model->ranks[letter == 'w'   ? 0
                            : letter == 'a' ? 1
                            : letter == 'v' ? 2
                                            : 3];
    }
}

static bool is_lora(const name_row *row)
{
    return strchr("wavg", row->rows) || strchr("wavg", row->columns);
}

static void set_shape(maker_tensor *tensor, const maker_model *model)
{
    const name_row *row = &names[tensor->row];
    const uint64_t rows = size_of(model, row->rows);
    const uint64_t columns = size_of(model, row->columns);
    tensor->turned = is_lora(row) && !model->fla && !model->transposed;
    tensor->n_dims = 2;
    tensor->dims[0] = tensor->turned ? columns : rows;
    tensor->dims[1] = tensor->turned ? rows : columns;
    if (row->rows == 'h') {
        tensor->dims[0] = model->width / 64;
        tensor->dims[1] = 64;
    } else if (row->rows == '1' && strncmp(row->native, "att.x", 5) == 0) {
        tensor->n_dims = 3;
        tensor->dims[0] = tensor->dims[1] = 1;
        tensor->dims[2] = columns;
    } else if (row->rows == '1') {
        tensor->n_dims = 1;
        tensor->dims[0] = columns;
    }
}

static void add(maker_list *list, const maker_model *model, uint32_t row,
                uint32_t layer)
{
    maker_tensor *tensor = &list->tensors[list->n++];
    memset(tensor, 0, sizeof *tensor);
    const char *name = model->fla ? names[row].fla : names[row].native;
    if (names[row].scope == 'm')
        snprintf(tensor->name, sizeof tensor->name, "%s", name);
    else
        snprintf(tensor->name, sizeof tensor->name, "%s%" PRIu32 ".%s",
                 model->fla ? "model.layers." : "blocks.", layer, name);
    tensor->type = model->type;
    tensor->dtype = type_names[model->type];
    tensor->row = row;
    tensor->layer = layer;
    set_shape(tensor, model);
}

maker_list maker_init(const maker_model *model)
{
    maker_list list = {0};
    list.tensors = must(
        calloc((size_t)N_NAMES * (model->layers + 1), sizeof(maker_tensor)));
    for (uint32_t layer = 0; layer < model->layers; layer++) {
        for (uint32_t row = 0; row < N_NAMES; row++) {
            const char scope = names[row].scope;
            if ((scope == 'm' && layer > 0) ||
                (scope == 'v' && layer == 0 && !model->has_v_first))
                continue;
            add(&list, model, row, layer);
        }
    }
    return list;
}

void maker_deinit(maker_list *list)
{
    free(list->tensors);
    memset(list, 0, sizeof *list);
}

maker_tensor *maker_find(maker_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (strcmp(list->tensors[i].name, name) == 0)
            return &list->tensors[i];
    return NULL;
}

void maker_remove(maker_list *list, const char *name)
{
    maker_tensor *tensor = maker_find(list, name);
    if (!tensor)
        return;
    const size_t behind = (size_t)(list->tensors + list->n - tensor) - 1;
    memmove(tensor, tensor + 1, behind * sizeof *tensor);
    list->n--;
}

float maker_value(const char *native, uint32_t layer, uint64_t out, uint64_t in)
{
    uint64_t hash = 14695981039346656037u ^ layer;
    for (const char *c = native; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    hash = (hash ^ out) * 1099511628211u;
    hash = (hash ^ in) * 1099511628211u;
    hash ^= hash >> 29;
    return (float)((int)(hash >> 7 & 0x7f) - 64) / 128.0f;
}

/* ---- the file -------------------------------------------------------------
 */

static uint64_t elements(const maker_tensor *tensor)
{
    uint64_t n = 1;
    for (uint32_t d = 0; d < tensor->n_dims; d++)
        n *= tensor->dims[d];
    return n;
}

/* Multiples of 2^-7 below 1 in fp16 and bf16, by their definition. */
static uint16_t narrow(uint32_t type, float x)
{
    const uint32_t bias = type == MAKER_F16 ? 15 : 127;
    const uint32_t fraction = type == MAKER_F16 ? 10 : 7;
    const uint32_t sign = x < 0 ? 0x8000u : 0;
    double size = x < 0 ? -(double)x : (double)x;
    uint32_t exponent = bias;
    if (size == 0)
        return 0;
    for (; size < 1; exponent--)
        size *= 2;
    return (uint16_t)(sign | exponent << fraction |
                      (uint32_t)((size - 1) * (double)(1u << fraction)));
}

static void write_tensor(const maker_tensor *tensor, FILE *file)
{
    const name_row *row = &names[tensor->row];
    const uint64_t n = elements(tensor);
    const uint64_t width = tensor->dims[tensor->n_dims - 1];
    for (uint64_t i = 0; i < n; i++) {
        uint64_t out = i / width;
        uint64_t in = i % width;
        if (tensor->turned) {
            out = i % width;
            in = i / width;
        }
        if (row->rows == '1' || row->rows == 'h') {
            out = 0;
            in = i;
        }
        const float x = maker_value(row->native, tensor->layer, out, in);
        const uint16_t small = narrow(tensor->type, x);
        if (tensor->type == MAKER_F32)
            fwrite(&x, sizeof x, 1, file);
        else
            fwrite(&small, sizeof small, 1, file);
    }
}

bool maker_write(const maker_list *list, const char *path)
{
    char *header = must(malloc(64 + (size_t)list->n * 256));
    size_t n = (size_t)sprintf(header, "{\"__metadata__\":{\"made\":\"here\"}");
    uint64_t offset = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        const maker_tensor *tensor = &list->tensors[i];
        const uint64_t end =
            offset + elements(tensor) * (tensor->type == MAKER_F32 ? 4 : 2);
        n +=
            (size_t)sprintf(header + n, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[",
                            tensor->name, tensor->dtype);
        for (uint32_t d = 0; d < tensor->n_dims; d++)
            n += (size_t)sprintf(header + n, "%s%" PRIu64, d > 0 ? "," : "",
                                 tensor->dims[d]);
        n += (size_t)sprintf(header + n,
                             "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
                             offset, end);
        offset = end;
    }
    n += (size_t)sprintf(header + n, "}");
    FILE *file = fopen(path, "wb");
    if (file) {
        const uint64_t length = n;
        fwrite(&length, sizeof length, 1, file); /* little endian, as here */
        fwrite(header, 1, n, file);
        for (uint32_t i = 0; i < list->n && !list->zeros; i++)
            write_tensor(&list->tensors[i], file);
    }
    free(header);
    if (!file || fclose(file) != 0)
        return false;
    return !list->zeros || truncate(path, (long)(8 + n + offset)) == 0;
}
