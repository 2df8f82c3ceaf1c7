/* SPDX-License-Identifier: Apache-2.0
 * The weights of an RWKV-7 model: names to a table, sizes from shapes, every
 * shape against those sizes; then rows of any tensor as fp32.
 */
#include "monitor/rwkv_weights.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <volley/accelerator.h>

#include "base/error.h"
#include "base/memory.h"
#include "monitor/rwkv_table.h"
#include "monitor/safetensors.h"

/* ---- messages -------------------------------------------------------------
 */

/* "[64, 32]" */
static void print_shape(const vly_safetensor *tensor, char *text, size_t n)
{
    size_t at = (size_t)snprintf(text, n, "[");
    for (uint32_t d = 0; d < tensor->n_dims && at < n; d++)
        at += (size_t)snprintf(text + at, n - at, "%s%" PRIu64,
                               d > 0 ? ", " : "", tensor->dims[d]);
    if (at < n)
        snprintf(text + at, n - at, "]");
}

static vly_status wrong_shape(const vly_rwkv_weights *weights,
                              const vly_safetensor *tensor, const char *want,
                              vly_error *error)
{
    char found[VLY_SAFETENSOR_DIMS * 22 + 4];
    print_shape(tensor, found, sizeof found);
    return vly_fail(
        error, VLY_E_PARSE, "%.300s: tensor %.100s has shape %s, wanted %s",
        vly_safetensors_path(weights->file), tensor->name, found, want);
}

static vly_status missing(const vly_rwkv_weights *weights, vly_rwkv_tensor id,
                          uint32_t layer, vly_error *error)
{
    char name[VLY_RWKV_NAME_BYTES];
    return vly_fail(error, VLY_E_PARSE,
                    "%.300s: has no tensor %s, which RWKV-7 needs",
                    vly_safetensors_path(weights->file),
                    rwkv_names_print(weights->scheme, id, layer, name));
}

/* ---- names ----------------------------------------------------------------
 */

/* fla's names if it has their embedding, or anything else of "model.". */
static uint32_t find_scheme(const vly_safetensors *file)
{
    const uint32_t n = vly_safetensors_count(file);
    if (vly_safetensors_find(file, "emb.weight"))
        return RWKV_SCHEME_NATIVE;
    for (uint32_t i = 0; i < n; i++)
        if (strncmp(vly_safetensors_at(file, i)->name, "model.", 6) == 0)
            return RWKV_SCHEME_FLA;
    return RWKV_SCHEME_NATIVE;
}

static vly_status check_type(const vly_rwkv_weights *weights,
                             const vly_safetensor *tensor, vly_error *error)
{
    if (tensor->type == VLY_SAFETENSOR_F32 ||
        tensor->type == VLY_SAFETENSOR_F16 ||
        tensor->type == VLY_SAFETENSOR_BF16)
        return VLY_OK;
    return vly_fail(error, VLY_E_PARSE,
                    "%.300s: tensor %.100s is of type %s, wanted F32, F16 or "
                    "BF16",
                    vly_safetensors_path(weights->file), tensor->name,
                    vly_safetensor_type_name(tensor->type));
}

static vly_status find_layers(vly_rwkv_weights *weights, vly_error *error)
{
    const vly_safetensors *file = weights->file;
    for (uint32_t i = 0; i < vly_safetensors_count(file); i++) {
        const vly_safetensor *tensor = vly_safetensors_at(file, i);
        vly_rwkv_tensor id;
        uint32_t layer = 0;
        if (!rwkv_names_find(weights->scheme, tensor->name, &id, &layer))
            return vly_fail(error, VLY_E_PARSE,
                            "%.300s: tensor %.200s is not a tensor of RWKV-7 "
                            "in %s names",
                            vly_safetensors_path(file), tensor->name,
                            weights->scheme == RWKV_SCHEME_FLA ? "fla's"
                                                               : "native");
        if (layer >= VLY_RWKV_LAYERS_MAX)
            return vly_fail(error, VLY_E_PARSE,
                            "%.300s: tensor %.200s is of layer %" PRIu32
                            ", wanted at most %d layers",
                            vly_safetensors_path(file), tensor->name, layer,
                            VLY_RWKV_LAYERS_MAX);
        if (vly_rwkv_is_of_layers(id) && layer >= weights->sizes.layers)
            weights->sizes.layers = layer + 1;
    }
    return VLY_OK;
}

static vly_status fill_slots(vly_rwkv_weights *weights, vly_error *error)
{
    const vly_safetensors *file = weights->file;
    const size_t n = (size_t)weights->sizes.layers + 1;
    weights->slots = vly_calloc(n * VLY_RWKV_N_TENSORS, sizeof *weights->slots);
    if (!weights->slots)
        return vly_fail_nomem(error,
                              n * VLY_RWKV_N_TENSORS * sizeof *weights->slots,
                              "a table of tensors");
    for (uint32_t i = 0; i < vly_safetensors_count(file); i++) {
        const vly_safetensor *tensor = vly_safetensors_at(file, i);
        vly_rwkv_tensor id = VLY_RWKV_EMB;
        uint32_t layer = 0;
        rwkv_names_find(weights->scheme, tensor->name, &id, &layer);
        if (rwkv_names_row(id)->scope != 'V' || layer > 0)
            weights->slots[(size_t)layer * VLY_RWKV_N_TENSORS + (size_t)id] =
                tensor;
    }
    return VLY_OK;
}

/* ---- sizes ----------------------------------------------------------------
 */

/* A size of the model from a dimension of a tensor, which is a matrix. */
static vly_status take_size(vly_rwkv_weights *weights, vly_rwkv_tensor id,
                            uint32_t layer, uint32_t d, rwkv_size size,
                            uint64_t most, const char *want, vly_error *error)
{
    const vly_safetensor *tensor = rwkv_table_slot(weights, id, layer);
    if (!tensor)
        return missing(weights, id, layer, error);
    if (tensor->n_dims != 2 || tensor->dims[d] == 0 || tensor->dims[d] > most)
        return wrong_shape(weights, tensor, want, error);
    weights->extent[size] = tensor->dims[d];
    return VLY_OK;
}

static const vly_rwkv_tensor lora_first[] = {VLY_RWKV_W1, VLY_RWKV_A1,
                                             VLY_RWKV_V1, VLY_RWKV_G1};

/* The orientation of native low-rank matrices by their shapes: bit 0, one is
 * [D, R]; bit 1, one is [R, D]; tensors[b] is the first of them. */
static uint32_t look_at_lora(const vly_rwkv_weights *weights,
                             const vly_safetensor *tensors[2])
{
    const uint64_t width = weights->extent[RWKV_SIZE_D];
    uint32_t seen = 0;
    for (uint32_t layer = 0; layer < weights->sizes.layers; layer++) {
        for (uint32_t k = 0; k < 4; k++) {
            const vly_safetensor *tensor =
                rwkv_table_slot(weights, lora_first[k], layer);
            if (!tensor || tensor->n_dims != 2 ||
                (tensor->dims[0] == width) == (tensor->dims[1] == width))
                continue;
            const uint32_t bit = tensor->dims[0] == width ? 0 : 1;
            if (!(seen & 1u << bit))
                tensors[bit] = tensor;
            seen |= 1u << bit;
        }
    }
    return seen;
}

/* The metadata say that they are native. */
static bool is_told_native(const vly_rwkv_weights *weights)
{
    const char *told =
        vly_safetensors_metadata(weights->file, VLY_RWKV_LORA_KEY);
    return told && strcmp(told, VLY_RWKV_LORA_VALUE) == 0;
}

/* Compares shapes with the declared orientation. seen, tensors: of
 * look_at_lora. */
static vly_status check_layout(const vly_rwkv_weights *weights, uint32_t lora,
                               uint32_t seen,
                               const vly_safetensor *const tensors[2],
                               vly_error *error)
{
    const char *path = vly_safetensors_path(weights->file);
    if (seen == 3)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: tensor %.100s has its rank as columns, tensor "
                        "%.100s as rows, wanted all alike",
                        path, tensors[0]->name, tensors[1]->name);
    if (lora == VLY_RWKV_LORA_NATIVE && seen == 2)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: tensor %.100s is transposed, and it was said "
                        "not to be",
                        path, tensors[1]->name);
    if (lora == VLY_RWKV_LORA_SURELY_NATIVE && seen == 2)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: tensor %.100s is transposed, as others may be "
                        "too; `volley monitor convert` makes a file that can "
                        "be used",
                        path, tensors[1]->name);
    if (lora == VLY_RWKV_LORA_TRANSPOSED && seen == 1)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: tensor %.100s is not transposed, and it was "
                        "said to be",
                        path, tensors[0]->name);
    if (lora == VLY_RWKV_LORA_TRANSPOSED && seen == 0 &&
        is_told_native(weights))
        return vly_fail(error, VLY_E_INVALID,
                        "%.300s: its metadata say " VLY_RWKV_LORA_KEY
                        ": " VLY_RWKV_LORA_VALUE
                        ", and its low-rank matrices were said to be "
                        "transposed",
                        path);
    if (lora == VLY_RWKV_LORA_BY_SHAPE && seen == 0 && !is_told_native(weights))
        return vly_fail(error, VLY_E_INVALID,
                        "%.300s: the ranks are the width, so shapes do not say "
                        "whether low-rank matrices are transposed; "
                        "--transposed yes or no says it",
                        path);
    return VLY_OK;
}

static vly_status find_layout(vly_rwkv_weights *weights, uint32_t lora,
                              vly_error *error)
{
    const vly_safetensor *tensors[2] = {NULL, NULL};
    if (weights->scheme == RWKV_SCHEME_FLA)
        return VLY_OK;
    const uint32_t seen = look_at_lora(weights, tensors);
    weights->transposed = lora == VLY_RWKV_LORA_TRANSPOSED ||
                          (lora == VLY_RWKV_LORA_BY_SHAPE && seen == 2);
    return check_layout(weights, lora, seen, tensors, error);
}

static vly_status find_width(vly_rwkv_weights *weights, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(take_size(weights, VLY_RWKV_EMB, 0, 1, RWKV_SIZE_D,
                      VLY_RWKV_WIDTH_MAX, "[vocabulary, width]", error));
    VLY_TRY(take_size(weights, VLY_RWKV_EMB, 0, 0, RWKV_SIZE_N,
                      VLY_RWKV_VOCABULARY_MAX, "[vocabulary, width]", error));
    if (weights->extent[RWKV_SIZE_D] % VLY_RWKV_HEAD_WIDTH != 0)
        return wrong_shape(weights, rwkv_table_slot(weights, VLY_RWKV_EMB, 0),
                           "a width that is a multiple of 64", error);
    if (weights->sizes.layers == 0)
        return missing(weights, VLY_RWKV_LN1_WEIGHT, 0, error);
    VLY_TRY(take_size(weights, VLY_RWKV_FFN_KEY, 0, 0, RWKV_SIZE_F,
                      VLY_RWKV_HIDDEN_MAX, "[hidden, width]", error));
out:
    return status;
}

static vly_status find_ranks(vly_rwkv_weights *weights, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t k = 0; k < 4; k++) {
        const vly_rwkv_tensor id = lora_first[k];
        const uint32_t layer = id == VLY_RWKV_V1;
        const bool turned = rwkv_table_is_turned(weights, id);
        if (layer >= weights->sizes.layers)
            continue;
        VLY_TRY(take_size(weights, id, layer, turned ? 1 : 0,
                          rwkv_names_row(id)->rows, VLY_RWKV_WIDTH_MAX,
                          turned ? "[width, rank]" : "[rank, width]", error));
    }
out:
    return status;
}

/* ---- every shape ----------------------------------------------------------
 */

/* [1, 1, D] and [D] are the same vector, r_k is [H, 64] as well. */
static bool is_vector(const vly_safetensor *tensor, vly_rwkv_tensor id,
                      uint64_t width)
{
    const uint32_t n = tensor->n_dims;
    if (n == 0 || tensor->n_elements != width)
        return false;
    return tensor->dims[n - 1] == width ||
           (id == VLY_RWKV_R_K && n == 2 &&
            tensor->dims[1] == VLY_RWKV_HEAD_WIDTH);
}

static vly_status check_shape(const vly_rwkv_weights *weights,
                              vly_rwkv_tensor id, uint32_t layer,
                              vly_error *error)
{
    const vly_safetensor *tensor = rwkv_table_slot(weights, id, layer);
    const rwkv_row *row = rwkv_names_row(id);
    char want[64];
    if (!tensor)
        return missing(weights, id, layer, error);
    const uint64_t width = weights->extent[RWKV_SIZE_D];
    if (row->rows == RWKV_SIZE_1) {
        snprintf(want, sizeof want, "[%" PRIu64 "]", width);
        if (id == VLY_RWKV_R_K)
            snprintf(want, sizeof want, "[%" PRIu64 ", 64]", width / 64);
        if (!is_vector(tensor, id, width))
            return wrong_shape(weights, tensor, want, error);
        return check_type(weights, tensor, error);
    }
    const bool turned = rwkv_table_is_turned(weights, id);
    const uint64_t first = weights->extent[turned ? row->columns : row->rows];
    const uint64_t second = weights->extent[turned ? row->rows : row->columns];
    snprintf(want, sizeof want, "[%" PRIu64 ", %" PRIu64 "]", first, second);
    if (tensor->n_dims != 2 || tensor->dims[0] != first ||
        tensor->dims[1] != second)
        return wrong_shape(weights, tensor, want, error);
    return check_type(weights, tensor, error);
}

static vly_status check_layer(vly_rwkv_weights *weights, uint32_t layer,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < VLY_RWKV_N_TENSORS; i++) {
        const vly_rwkv_tensor id = (vly_rwkv_tensor)i;
        if (!vly_rwkv_weights_has(weights, id, layer))
            continue;
        VLY_TRY(check_shape(weights, id, layer, error));
        weights->sizes.n_parameters +=
            rwkv_table_slot(weights, id, layer)->n_elements;
        weights->sizes.n_bytes += rwkv_table_slot(weights, id, layer)->n_bytes;
    }
out:
    return status;
}

static void set_sizes(vly_rwkv_weights *weights)
{
    const uint64_t *extent = weights->extent;
    vly_rwkv_sizes *sizes = &weights->sizes;
    sizes->width = (uint32_t)extent[RWKV_SIZE_D];
    sizes->heads = sizes->width / VLY_RWKV_HEAD_WIDTH;
    sizes->hidden = (uint32_t)extent[RWKV_SIZE_F];
    sizes->vocabulary = (uint32_t)extent[RWKV_SIZE_N];
    sizes->rank_w = (uint32_t)extent[RWKV_SIZE_RW];
    sizes->rank_a = (uint32_t)extent[RWKV_SIZE_RA];
    sizes->rank_v = (uint32_t)extent[RWKV_SIZE_RV];
    sizes->rank_g = (uint32_t)extent[RWKV_SIZE_RG];
}

/* ---- open -----------------------------------------------------------------
 */

static vly_status check_all(vly_rwkv_weights *weights, uint32_t lora,
                            vly_error *error)
{
    vly_status status = VLY_OK;
    weights->extent[RWKV_SIZE_1] = 1;
    weights->scheme = find_scheme(weights->file);
    VLY_TRY(find_layers(weights, error));
    VLY_TRY(fill_slots(weights, error));
    VLY_TRY(find_width(weights, error));
    VLY_TRY(find_layout(weights, lora, error));
    VLY_TRY(find_ranks(weights, error));
    for (uint32_t layer = 0; layer < weights->sizes.layers; layer++)
        VLY_TRY(check_layer(weights, layer, error));
    set_sizes(weights);
    /* after all other checks: a wrong shape is reported first */
    if (lora == VLY_RWKV_LORA_SURELY_NATIVE &&
        weights->scheme == RWKV_SCHEME_NATIVE &&
        vly_rwkv_weights_is_square(weights) && !is_told_native(weights))
        status = vly_fail(error, VLY_E_INVALID,
                          "%.300s: the ranks are the width, so shapes do not "
                          "say whether low-rank matrices are transposed; "
                          "`volley monitor convert` with --transposed yes or "
                          "no makes a file that says it",
                          vly_safetensors_path(weights->file));
out:
    return status;
}

vly_status vly_rwkv_weights_open(const char *path, uint32_t lora,
                                 vly_rwkv_weights **weights, vly_error *error)
{
    vly_status status = VLY_OK;
    vly_rwkv_weights *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a table of tensors");
    VLY_TRY(vly_safetensors_open(path, &made->file, error));
    VLY_TRY(check_all(made, lora, error));
    *weights = made;
out:
    if (status != VLY_OK)
        vly_rwkv_weights_close(made);
    return status;
}

void vly_rwkv_weights_close(vly_rwkv_weights *weights)
{
    if (!weights)
        return;
    vly_safetensors_close(weights->file);
    vly_free(weights->slots);
    vly_free(weights);
}

const vly_rwkv_sizes *vly_rwkv_weights_sizes(const vly_rwkv_weights *weights)
{
    return &weights->sizes;
}

bool vly_rwkv_weights_is_square(const vly_rwkv_weights *weights)
{
    const vly_rwkv_sizes *sizes = &weights->sizes;
    return sizes->rank_w == sizes->width && sizes->rank_a == sizes->width &&
           sizes->rank_g == sizes->width &&
           (sizes->layers < 2 || sizes->rank_v == sizes->width);
}

const char *vly_rwkv_weights_path(const vly_rwkv_weights *weights)
{
    return vly_safetensors_path(weights->file);
}

const vly_safetensors *vly_rwkv_weights_file(const vly_rwkv_weights *weights)
{
    return weights->file;
}

const char *vly_rwkv_weights_metadata(const vly_rwkv_weights *weights,
                                      const char *key)
{
    return vly_safetensors_metadata(weights->file, key);
}

bool vly_rwkv_weights_has(const vly_rwkv_weights *weights, vly_rwkv_tensor id,
                          uint32_t layer)
{
    const char scope = rwkv_names_row(id)->scope;
    return layer < weights->sizes.layers &&
           (layer > 0 ? scope != 'M' : scope != 'V');
}

void vly_rwkv_weights_shape(const vly_rwkv_weights *weights, vly_rwkv_tensor id,
                            uint64_t *rows, uint64_t *columns)
{
    *rows = weights->extent[rwkv_names_row(id)->rows];
    *columns = weights->extent[rwkv_names_row(id)->columns];
}

uint32_t vly_rwkv_weights_type(const vly_rwkv_weights *weights,
                               vly_rwkv_tensor id, uint32_t layer)
{
    assert(vly_rwkv_weights_has(weights, id, layer));
    const uint32_t type = rwkv_table_slot(weights, id, layer)->type;
    return type == VLY_SAFETENSOR_F32   ? VLY_ELEMENT_F32
           : type == VLY_SAFETENSOR_F16 ? VLY_ELEMENT_F16
                                        : VLY_ELEMENT_BF16;
}
