/* SPDX-License-Identifier: Apache-2.0
 * Names of tensors in a file to the table of rwkv_weights.h and back.
 */
#include "monitor/rwkv_names.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const rwkv_row rows[VLY_RWKV_N_TENSORS] = {
#define NAMES_ROW(id, scope, n_rows, n_columns, native, fla)                   \
    {#scope[0], RWKV_SIZE_##n_rows, RWKV_SIZE_##n_columns, {native, fla}},
    VLY_RWKV_TENSORS(NAMES_ROW)
#undef NAMES_ROW
};

static const char *const layer_prefix[RWKV_N_SCHEMES] = {"blocks.",
                                                         "model.layers."};

const rwkv_row *rwkv_names_row(vly_rwkv_tensor id)
{
    assert((uint32_t)id < VLY_RWKV_N_TENSORS);
    return &rows[id];
}

bool rwkv_names_is_lora(vly_rwkv_tensor id)
{
    const rwkv_row *row = rwkv_names_row(id);
    return row->rows >= RWKV_SIZE_RW || row->columns >= RWKV_SIZE_RW;
}

bool vly_rwkv_is_of_layers(vly_rwkv_tensor id)
{
    return rwkv_names_row(id)->scope != 'M';
}

/* "12." of "12.att.w1", without leading zeros: one number has one name. */
static const char *read_layer(const char *text, uint32_t *layer)
{
    const char *at = text;
    uint32_t read = 0;
    for (; *at >= '0' && *at <= '9' && read <= VLY_RWKV_LAYERS_MAX; at++)
        read = read * 10 + (uint32_t)(*at - '0');
    const bool zeros = text[0] == '0' && at > text + 1;
    *layer = read;
    return at == text || zeros || *at != '.' ? NULL : at + 1;
}

bool rwkv_names_find(uint32_t scheme, const char *name, vly_rwkv_tensor *id,
                     uint32_t *layer)
{
    const size_t n_prefix = strlen(layer_prefix[scheme]);
    const char *rest = NULL;
    uint32_t number = 0;
    if (strncmp(name, layer_prefix[scheme], n_prefix) == 0)
        rest = read_layer(name + n_prefix, &number);
    for (uint32_t i = 0; i < VLY_RWKV_N_TENSORS; i++) {
        const bool model = rows[i].scope == 'M';
        const char *found = model ? name : rest;
        if (!found || strcmp(found, rows[i].names[scheme]) != 0)
            continue;
        *id = (vly_rwkv_tensor)i;
        *layer = model ? 0 : number;
        return true;
    }
    return false;
}

const char *rwkv_names_print(uint32_t scheme, vly_rwkv_tensor id,
                             uint32_t layer, char name[VLY_RWKV_NAME_BYTES])
{
    const rwkv_row *row = rwkv_names_row(id);
    if (row->scope == 'M')
        snprintf(name, VLY_RWKV_NAME_BYTES, "%s", row->names[scheme]);
    else
        snprintf(name, VLY_RWKV_NAME_BYTES, "%s%u.%s", layer_prefix[scheme],
                 layer, row->names[scheme]);
    return name;
}

const char *vly_rwkv_native_name(vly_rwkv_tensor id, uint32_t layer,
                                 char name[VLY_RWKV_NAME_BYTES])
{
    return rwkv_names_print(RWKV_SCHEME_NATIVE, id, layer, name);
}
