/* SPDX-License-Identifier: Apache-2.0
 * Models: the types of their weights, and the place of each tensor in one block
 * of device memory.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "monitor/rwkv_names.h"
#include "monitor/rwkv_pack.h"
#include "monitor/rwkv_parts.h"

/* ---- formats ------------------------------------------------------------ */

static const char *const format_names[VLY_RWKV_N_FORMATS] = {
#define FORMAT_TEXT(name, value, text) [value] = text,
    VLY_RWKV_FORMATS(FORMAT_TEXT)
#undef FORMAT_TEXT
};

const char *vly_rwkv_format_name(uint32_t format)
{
    return format < VLY_RWKV_N_FORMATS ? format_names[format] : "?";
}

vly_status vly_rwkv_format_parse(const char *text, vly_rwkv_format *format,
                                 vly_error *error)
{
    for (int i = 0; i < VLY_RWKV_N_FORMATS; i++)
        if (strcmp(text, format_names[i]) == 0) {
            *format = (vly_rwkv_format)i;
            return VLY_OK;
        }
    return vly_fail(error, VLY_E_INVALID,
                    "weights \"%s\": wanted auto, fp32, fp16, bf16, w8 or w4",
                    text);
}

static uint32_t element_of(vly_rwkv_format format)
{
    return format == VLY_RWKV_FORMAT_F16    ? VLY_ELEMENT_F16
           : format == VLY_RWKV_FORMAT_BF16 ? VLY_ELEMENT_BF16
                                            : VLY_ELEMENT_F32;
}

static vly_rwkv_format format_of(uint32_t element)
{
    return element == VLY_ELEMENT_F16    ? VLY_RWKV_FORMAT_F16
           : element == VLY_ELEMENT_BF16 ? VLY_RWKV_FORMAT_BF16
                                         : VLY_RWKV_FORMAT_F32;
}

/* ---- sizes -------------------------------------------------------------- */

uint32_t rwkv_bits(uint32_t type)
{
    switch (type) {
#define ELEMENT_BITS(name, value, bits, text)                                  \
    case (value):                                                              \
        return (bits);
        VLY_ELEMENT_TABLE(ELEMENT_BITS)
#undef ELEMENT_BITS
    default:
        return 0;
    }
}

uint64_t rwkv_bytes(uint64_t elements, uint32_t type)
{
    const uint32_t bits = rwkv_bits(type);
    if (elements > (INT64_MAX - 8 * (uint64_t)RWKV_ALIGN) / bits)
        return UINT64_MAX;
    const uint64_t bytes = (elements * bits + 7) / 8;
    return (bytes + RWKV_ALIGN - 1) / RWKV_ALIGN * RWKV_ALIGN;
}

void rwkv_shape(const vly_rwkv_sizes *sizes, vly_rwkv_tensor id, uint64_t *rows,
                uint64_t *columns)
{
    const uint64_t extent[RWKV_N_SIZES] = {[RWKV_SIZE_1] = 1,
                                           [RWKV_SIZE_D] = sizes->width,
                                           [RWKV_SIZE_F] = sizes->hidden,
                                           [RWKV_SIZE_N] = sizes->vocabulary,
                                           [RWKV_SIZE_RW] = sizes->rank_w,
                                           [RWKV_SIZE_RA] = sizes->rank_a,
                                           [RWKV_SIZE_RV] = sizes->rank_v,
                                           [RWKV_SIZE_RG] = sizes->rank_g};
    *rows = extent[rwkv_names_row(id)->rows];
    *columns = extent[rwkv_names_row(id)->columns];
}

static bool is_there(vly_rwkv_tensor id, uint32_t layer)
{
    const char scope = rwkv_names_row(id)->scope;
    return scope == 'M' ? layer == 0 : scope == 'L' || layer > 0;
}

static bool is_large(vly_rwkv_tensor id)
{
    switch ((int)id) {
    case VLY_RWKV_RECEPTANCE:
    case VLY_RWKV_KEY:
    case VLY_RWKV_VALUE:
    case VLY_RWKV_OUTPUT:
    case VLY_RWKV_FFN_KEY:
    case VLY_RWKV_FFN_VALUE:
        return true;
    default:
        return false;
    }
}

static bool is_of_words(vly_rwkv_tensor id)
{
    return id == VLY_RWKV_EMB || id == VLY_RWKV_HEAD;
}

static uint32_t type_of(const vly_rwkv_model *model, vly_rwkv_tensor id)
{
    return is_large(id)                                ? model->type_large
           : is_of_words(id) || rwkv_names_is_lora(id) ? model->type_base
                                                       : VLY_ELEMENT_F32;
}

const rwkv_slot *rwkv_slot_of(const vly_rwkv_model *model, vly_rwkv_tensor id,
                              uint32_t layer)
{
    return &model->slots[(size_t)layer * VLY_RWKV_N_TENSORS + (size_t)id];
}

const void *rwkv_at(const vly_rwkv_model *model, vly_rwkv_tensor id,
                    uint32_t layer)
{
    return model->arena + rwkv_slot_of(model, id, layer)->w;
}

bool rwkv_is_host(const vly_rwkv_model *model)
{
    return (model->parts.memory.flags & VLY_MEMORY_HOST) != 0;
}

vly_status rwkv_alloc(const vly_rwkv_model *model, uint64_t bytes,
                      const char *what, char **memory, vly_error *error)
{
    void *made = NULL;
    const uint64_t available = rwkv_is_host(model) ? vly_memory_available() : 0;
    if (available > 0 && bytes > available)
        return vly_fail_nomem(error, bytes, what);
    const vly_memory *from = &model->parts.memory;
    const uint32_t device = model->parts.device.index;
    vly_status status = VLY_OK;
    VLY_TRY(
        model->best_effort && from->alloc_as
            ? from->alloc_as(device, bytes, VLY_QOS_BEST_EFFORT, &made, error)
            : from->alloc(device, bytes, &made, error));
    *memory = made;
out:
    return status;
}

/* Adds bytes to *end; false if that is larger than an address space. */
static bool place(uint64_t bytes, uint64_t *at, uint64_t *end)
{
    *at = *end;
    if (bytes > INT64_MAX - *end)
        return false;
    *end += bytes;
    return true;
}

/* Places each tensor. The six mixing vectors of a layer are adjacent: the size
 * of a vector is a multiple of RWKV_ALIGN. */
static vly_status place_all(vly_rwkv_model *model, uint64_t *end,
                            vly_error *error)
{
    const uint32_t layers = model->info.sizes.layers;
    for (size_t i = 0; i < (size_t)layers * VLY_RWKV_N_TENSORS; i++) {
        const vly_rwkv_tensor id = (vly_rwkv_tensor)(i % VLY_RWKV_N_TENSORS);
        rwkv_slot *slot = &model->slots[i];
        uint64_t rows = 0;
        uint64_t columns = 0;
        rwkv_shape(&model->info.sizes, id, &rows, &columns);
        slot->type = type_of(model, id);
        if (!is_there(id, (uint32_t)(i / VLY_RWKV_N_TENSORS)))
            continue;
        slot->there = 1;
        const uint64_t begin = *end;
        bool fits =
            place(rwkv_bytes(rows * columns, slot->type), &slot->w, end);
        if (fits && slot->type == VLY_ELEMENT_I8)
            fits = place(rwkv_bytes(rows, model->type), &slot->scale, end);
        if (fits && slot->type == VLY_ELEMENT_I4)
            fits = place(rwkv_bytes(rows * columns / RWKV_GROUP, model->type),
                         &slot->scale, end);
        if (!fits)
            return vly_fail_nomem(error, UINT64_MAX, "weights of a model");
        if (id != VLY_RWKV_EMB)
            model->info.token_bytes += *end - begin;
    }
    return VLY_OK;
}

/* ---- choices ------------------------------------------------------------ */

static vly_status choose_types(vly_rwkv_model *model,
                               const vly_rwkv_source *source,
                               const vly_rwkv_options *options,
                               vly_error *error)
{
    vly_rwkv_format format = options->format;
    vly_rwkv_format activation = options->activation;
    if (format == VLY_RWKV_FORMAT_AUTO)
        format = format_of(source->type);
    const bool is_small =
        format == VLY_RWKV_FORMAT_W8 || format == VLY_RWKV_FORMAT_W4;
    if (activation == VLY_RWKV_FORMAT_AUTO)
        activation = rwkv_is_host(model) ? VLY_RWKV_FORMAT_F32
                     : is_small          ? VLY_RWKV_FORMAT_F16
                                         : format;
    if (activation > VLY_RWKV_FORMAT_BF16 ||
        (activation != VLY_RWKV_FORMAT_F32 && !is_small &&
         activation != format))
        return vly_fail(error, VLY_E_INVALID,
                        "activations of %s do not go with weights of %s: "
                        "wanted fp32 or the type of the weights",
                        vly_rwkv_format_name(activation),
                        vly_rwkv_format_name(format));
    if (format == VLY_RWKV_FORMAT_W4 && (model->info.sizes.width % RWKV_GROUP ||
                                         model->info.sizes.hidden % RWKV_GROUP))
        return vly_fail(error, VLY_E_INVALID,
                        "%.300s: w4 has a scale for each 128 weights of a row, "
                        "rows are %u and %u long: choose w8",
                        source->name, model->info.sizes.width,
                        model->info.sizes.hidden);
    model->info.format = format;
    model->info.activation = activation;
    model->type = element_of(activation);
    model->type_base = !is_small                            ? element_of(format)
                       : activation == VLY_RWKV_FORMAT_BF16 ? VLY_ELEMENT_BF16
                                                            : VLY_ELEMENT_F16;
    model->type_large = format == VLY_RWKV_FORMAT_W8   ? VLY_ELEMENT_I8
                        : format == VLY_RWKV_FORMAT_W4 ? VLY_ELEMENT_I4
                                                       : element_of(format);
    return VLY_OK;
}

/* Limits of sizes, so that later products cannot overflow. */
static vly_status check_sizes(const vly_rwkv_source *source, vly_error *error)
{
    const vly_rwkv_sizes *s = &source->sizes;
    const uint32_t rank_most = VLY_RWKV_WIDTH_MAX;
    if (s->layers == 0 || s->layers > VLY_RWKV_LAYERS_MAX || s->width == 0 ||
        s->width % VLY_RWKV_DIM != 0 || s->width > VLY_RWKV_WIDTH_MAX ||
        s->hidden == 0 || s->hidden > VLY_RWKV_HIDDEN_MAX ||
        s->vocabulary == 0 || s->vocabulary > VLY_RWKV_VOCABULARY_MAX ||
        s->rank_w == 0 || s->rank_a == 0 || s->rank_g == 0 ||
        (s->layers > 1 && s->rank_v == 0) || s->rank_w > rank_most ||
        s->rank_a > rank_most || s->rank_v > rank_most || s->rank_g > rank_most)
        return vly_fail(
            error, VLY_E_INVALID,
            "%.300s: %u layers of width %u, hidden width %u, "
            "vocabulary %u, ranks %u %u %u %u are not sizes of an RWKV-7 model",
            source->name, s->layers, s->width, s->hidden, s->vocabulary,
            s->rank_w, s->rank_a, s->rank_v, s->rank_g);
    return VLY_OK;
}

/* A device without a plugin of volley.gemm/1 is only missed where products of
 * volley.rwkv/1 do not do. */
static vly_status find_parts(const vly_registry *registry, const char *device,
                             uint32_t n_threads, vly_rwkv_model *model,
                             vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_accelerator_find(registry, VLY_RWKV_INTERFACE, device,
                                 n_threads, &model->parts, error));
    if (model->parts.wkv.struct_size == 0)
        return vly_fail(error, VLY_E_UNSUPPORTED,
                        "plugin %s: offers %s, but not %s, which a model needs "
                        "as well",
                        model->parts.id, VLY_RWKV_INTERFACE, VLY_WKV_INTERFACE);
    model->no_gemm = (vly_error)VLY_ERROR_INIT;
    if (vly_accelerator_find(registry, VLY_GEMM_INTERFACE, device, n_threads,
                             &model->gemm, &model->no_gemm) != VLY_OK)
        model->gemm.gemm.struct_size = 0;
out:
    return status;
}

vly_status vly_rwkv_model_create(const vly_registry *registry,
                                 const vly_rwkv_source *source,
                                 const char *device,
                                 const vly_rwkv_options *options,
                                 vly_rwkv_model **model, vly_error *error)
{
    static const vly_rwkv_options none = {0};
    vly_rwkv_model *made = NULL;
    uint64_t bytes = 0;
    vly_status status = VLY_OK;
    if (!options)
        options = &none;
    VLY_TRY(check_sizes(source, error));
    made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a model");
    made->info.sizes = source->sizes;
    made->best_effort = options->best_effort;
    VLY_TRY(find_parts(registry, device, options->n_threads, made, error));
    VLY_TRY(choose_types(made, source, options, error));
    made->slots = vly_calloc((size_t)source->sizes.layers * VLY_RWKV_N_TENSORS,
                             sizeof *made->slots);
    if (!made->slots) {
        status = vly_fail_nomem(error, 0, "a model");
        goto out;
    }
    VLY_TRY(place_all(made, &bytes, error));
    VLY_TRY(rwkv_alloc(made, bytes, "weights of a model", &made->arena, error));
    made->info.bytes = bytes;
    VLY_TRY(rwkv_load(made, source, error));
    *model = made;
out:
    if (status != VLY_OK)
        vly_rwkv_model_destroy(made);
    return status;
}

void vly_rwkv_model_destroy(vly_rwkv_model *model)
{
    if (!model)
        return;
    if (model->arena)
        model->parts.memory.free(model->parts.device.index, model->arena);
    vly_free(model->slots);
    vly_free(model);
}

const vly_rwkv_model_info *vly_rwkv_model_info_of(const vly_rwkv_model *model)
{
    return &model->info;
}

/* ---- a file as a source -------------------------------------------------- */

static vly_status read_weights(void *context, vly_rwkv_tensor id,
                               uint32_t layer, uint64_t first, uint64_t n_rows,
                               float *out, vly_error *error)
{
    return vly_rwkv_weights_read(context, id, layer, first, n_rows, out, error);
}

/* Of the matrices but low-rank ones; fp32 where they are of several, so that
 * none loses. */
static uint32_t type_of_file(const vly_rwkv_weights *weights)
{
    const uint32_t type = vly_rwkv_weights_type(weights, VLY_RWKV_HEAD, 0);
    const uint32_t layers = vly_rwkv_weights_sizes(weights)->layers;
    for (uint32_t k = 0; k < layers * VLY_RWKV_N_TENSORS; k++) {
        const uint32_t l = k / VLY_RWKV_N_TENSORS;
        const vly_rwkv_tensor id = (vly_rwkv_tensor)(k % VLY_RWKV_N_TENSORS);
        if ((is_large(id) || is_of_words(id)) &&
            vly_rwkv_weights_has(weights, id, l) &&
            vly_rwkv_weights_type(weights, id, l) != type)
            return VLY_ELEMENT_F32;
    }
    return type;
}

void vly_rwkv_source_of(const vly_rwkv_weights *weights,
                        vly_rwkv_source *source)
{
    /* read takes them as const again */
    void *context = NULL;
    memcpy(&context, &weights, sizeof context);
    *source = (vly_rwkv_source){.name = vly_rwkv_weights_path(weights),
                                .sizes = *vly_rwkv_weights_sizes(weights),
                                .type = type_of_file(weights),
                                .context = context,
                                .read = read_weights};
}
