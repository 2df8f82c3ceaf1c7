/* SPDX-License-Identifier: Apache-2.0
 * volley monitor convert: weights of an RWKV-7 model to native names and
 * layout, in one type or each in its own.
 */
#include "tools/monitor/monitor_commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/writer.h"
#include "monitor/rwkv_weights.h"
#include "monitor/safetensors.h"
#include "monitor/small_float.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/output_apart.h"
#include "tools/cli/tool.h"
#include <volley/accelerator.h>

static const tool_option options[] = {
    {"output", 'o', false, TOOL_TEXT, "FILE", "what is written", 0, 0},
    {"type", 0, false, TOOL_TEXT, "fp32|fp16|bf16",
     "type of all weights; default: as they are", 0, 0},
    {"transposed", 0, false, TOOL_TEXT, "yes|no",
     "w1, a1, v1, g1 of FILE are [rank, width]", 0, 0},
    {"force", 0, false, TOOL_FLAG, NULL, "replace the output if it exists", 0,
     0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

enum { PIECE_ELEMENTS = 1 << 16 };

#define AS_IT_IS UINT32_MAX

typedef struct conversion {
    const char *output;
    uint32_t type; /* VLY_ELEMENT_* or AS_IT_IS */
    vly_rwkv_weights *weights;
    vly_writer *writer;
    float *rows;     /* a tensor during the iteration */
    uint16_t *small; /* PIECE_ELEMENTS */
} conversion;

/* ---- every tensor in turn -------------------------------------------------
 */

typedef struct place {
    uint32_t layer;
    uint32_t id;
} place;

/* The next tensor in the file; before the first, *at is {0, UINT32_MAX}. */
static bool next_tensor(const vly_rwkv_weights *weights, place *at)
{
    const uint32_t layers = vly_rwkv_weights_sizes(weights)->layers;
    do {
        if (++at->id == VLY_RWKV_N_TENSORS) {
            at->id = 0;
            at->layer++;
        }
        if (at->layer == layers)
            return false;
    } while (!vly_rwkv_weights_has(weights, at->id, at->layer));
    return true;
}

static const place before_first = {0, UINT32_MAX};

/* Native names have low-rank matrices as x W: turned. */
static bool is_turned(vly_rwkv_tensor id)
{
    static const vly_rwkv_tensor list[] = {
        VLY_RWKV_W1, VLY_RWKV_W2, VLY_RWKV_A1, VLY_RWKV_A2,
        VLY_RWKV_V1, VLY_RWKV_V2, VLY_RWKV_G1, VLY_RWKV_G2};
    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++)
        if (list[k] == id)
            return true;
    return false;
}

static uint32_t type_of(const conversion *c, const place *at)
{
    return c->type != AS_IT_IS
               ? c->type
               : vly_rwkv_weights_type(c->weights, at->id, at->layer);
}

/* ---- header ---------------------------------------------------------------
 */

static void put_shape(json_writer *json, const conversion *c, const place *at,
                      const char *name)
{
    uint64_t rows = 0;
    uint64_t columns = 0;
    vly_rwkv_weights_shape(c->weights, at->id, &rows, &columns);
    json_array(json, "shape");
    if (at->id == VLY_RWKV_R_K) {
        rows = vly_rwkv_weights_sizes(c->weights)->heads;
        columns = VLY_RWKV_HEAD_WIDTH;
    } else if (is_turned(at->id)) {
        const uint64_t first = columns;
        columns = rows;
        rows = first;
    }
    /* vectors are [D] in normalisations, [1, 1, D] elsewhere; a product of
     * rank 1 is a matrix with one row and no vector */
    const bool vector =
        rows == 1 && at->id != VLY_RWKV_R_K && !is_turned(at->id);
    const bool norm = strstr(name, "ln") != NULL;
    if (vector && !norm)
        json_u64(json, NULL, 1);
    if (!vector || !norm)
        json_u64(json, NULL, rows);
    json_u64(json, NULL, columns);
    json_array_end(json);
}

static void put_tensor(json_writer *json, const conversion *c, const place *at,
                       uint64_t *offset)
{
    static const char *const names[] = {"F32", "F16", "BF16"};
    char name[VLY_RWKV_NAME_BYTES];
    uint64_t rows = 0;
    uint64_t columns = 0;
    const uint32_t type = type_of(c, at);
    const uint64_t n_bytes = type == VLY_ELEMENT_F32 ? 4 : 2;
    vly_rwkv_weights_shape(c->weights, at->id, &rows, &columns);
    json_object(json, vly_rwkv_native_name(at->id, at->layer, name));
    json_text(json, "dtype",
              names[type == VLY_ELEMENT_F32   ? 0
                    : type == VLY_ELEMENT_F16 ? 1
                                              : 2]);
    put_shape(json, c, at, name);
    json_array(json, "data_offsets");
    json_u64(json, NULL, *offset);
    *offset += rows * columns * n_bytes;
    json_u64(json, NULL, *offset);
    json_array_end(json);
    json_object_end(json);
}

static void put_header(json_writer *json, const conversion *c)
{
    const vly_safetensors *file = vly_rwkv_weights_file(c->weights);
    const char *key = NULL;
    const char *value = NULL;
    place at = before_first;
    uint64_t offset = 0;
    json_object(json, NULL);
    json_object(json, "__metadata__");
    for (uint32_t k = 0;
         (value = vly_safetensors_metadata_at(file, k, &key)) != NULL; k++)
        json_text(json, key, value);
    if (vly_rwkv_weights_is_square(c->weights) &&
        !vly_safetensors_metadata(file, VLY_RWKV_LORA_KEY))
        json_text(json, VLY_RWKV_LORA_KEY, VLY_RWKV_LORA_VALUE);
    json_object_end(json);
    while (next_tensor(c->weights, &at))
        put_tensor(json, c, &at, &offset);
    json_object_end(json);
}

/* Length, header, blanks up to a multiple of 8, as other programs write it. */
static vly_status write_header(const conversion *c, vly_error *error)
{
    vly_status status = VLY_OK;
    unsigned char length[8];
    size_t n = 0;
    json_writer json;
    json_init(&json, false);
    put_header(&json, c);
    const char *text = json_finish(&json, &n);
    if (!text) {
        status = vly_fail_nomem(error, 0, "a header of tensors");
        goto out;
    }
    const uint64_t whole = ((uint64_t)n + 7) / 8 * 8;
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(whole >> 8 * i);
    VLY_TRY(vly_writer_bytes(c->writer, length, 8, error));
    VLY_TRY(vly_writer_bytes(c->writer, text, n, error));
    VLY_TRY(
        vly_writer_bytes(c->writer, "        ", (size_t)(whole - n), error));
out:
    json_deinit(&json);
    return status;
}

/* ---- weights --------------------------------------------------------------
 */

static vly_status write_piece(const conversion *c, const place *at,
                              const float *x, size_t n, vly_error *error)
{
    const uint32_t type = type_of(c, at);
    if (type == VLY_ELEMENT_F32)
        return vly_writer_bytes(c->writer, x, n * sizeof *x, error);
    for (size_t i = 0; i < n; i++) {
        char name[VLY_RWKV_NAME_BYTES];
        const bool half = type == VLY_ELEMENT_F16;
        const uint16_t most = half ? 0x7c00u : 0x7f80u;
        c->small[i] =
            half ? vly_half_from_float(x[i]) : vly_bfloat_from_float(x[i]);
        if ((c->small[i] & most) == most)
            return vly_fail(error, VLY_E_INVALID,
                            "%.300s: tensor %s has a weight of %g, which is "
                            "too large for %s",
                            vly_rwkv_weights_path(c->weights),
                            vly_rwkv_native_name(at->id, at->layer, name),
                            (double)x[i], half ? "fp16" : "bf16");
    }
    return vly_writer_bytes(c->writer, c->small, n * sizeof *c->small, error);
}

/* Transposed from [rows, columns]: a row of the file is a column. */
static vly_status write_turned(const conversion *c, const place *at,
                               uint64_t rows, uint64_t columns,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    float line[256];
    const uint64_t n = rows * columns;
    for (uint64_t i = 0; i < n;) {
        size_t k = 0;
        for (; k < sizeof line / sizeof line[0] && i < n; k++, i++)
            line[k] = c->rows[i % rows * columns + i / rows];
        VLY_TRY(write_piece(c, at, line, k, error));
    }
out:
    return status;
}

static vly_status write_tensor(conversion *c, const place *at, vly_error *error)
{
    uint64_t rows = 0;
    uint64_t columns = 0;
    vly_status status = VLY_OK;
    vly_rwkv_weights_shape(c->weights, at->id, &rows, &columns);
    const bool turned = is_turned(at->id);
    const uint64_t some =
        columns < PIECE_ELEMENTS ? PIECE_ELEMENTS / columns : 1;
    const uint64_t step = turned ? rows : some;
    c->rows = vly_malloc((size_t)(step * columns), sizeof *c->rows);
    if (!c->rows)
        return vly_fail_nomem(error, step * columns * sizeof *c->rows,
                              "weights");
    for (uint64_t first = 0; first < rows; first += step) {
        const uint64_t n = rows - first < step ? rows - first : step;
        VLY_TRY(vly_rwkv_weights_read(c->weights, at->id, at->layer, first, n,
                                      c->rows, error));
        if (turned)
            VLY_TRY(write_turned(c, at, rows, columns, error));
        for (uint64_t k = 0; k < n && !turned; k++)
            for (uint64_t i = 0; i < columns; i += PIECE_ELEMENTS)
                VLY_TRY(write_piece(c, at, c->rows + k * columns + i,
                                    columns - i < PIECE_ELEMENTS
                                        ? (size_t)(columns - i)
                                        : PIECE_ELEMENTS,
                                    error));
    }
out:
    vly_free(c->rows);
    c->rows = NULL;
    return status;
}

static vly_status write_all(conversion *c, vly_error *error)
{
    vly_status status = VLY_OK;
    place at = before_first;
    c->small = vly_malloc(PIECE_ELEMENTS, sizeof *c->small);
    if (!c->small)
        return vly_fail_nomem(error, PIECE_ELEMENTS * sizeof *c->small,
                              "weights");
    VLY_TRY(vly_writer_open(c->output, true, &c->writer, error));
    VLY_TRY(write_header(c, error));
    while (next_tensor(c->weights, &at)) {
        /* the partial file is removed first, then the end of deferring ends the
         * command */
        if (tool_signals_stopped()) {
            status = vly_fail(error, VLY_E_STOPPED, "stopped by a signal");
            goto out;
        }
        VLY_TRY(write_tensor(c, &at, error));
    }
    status = vly_writer_close(c->writer, error);
    c->writer = NULL;
out:
    vly_writer_abandon(c->writer);
    vly_free(c->small);
    return status;
}

/* ---- the call -------------------------------------------------------------
 */

static vly_status read_type(const tool_args *args, uint32_t *type,
                            vly_error *error)
{
    const char *text = tool_text(args, "type");
    *type = AS_IT_IS;
    if (!text)
        return VLY_OK;
    if (strcmp(text, "fp32") == 0)
        *type = VLY_ELEMENT_F32;
    else if (strcmp(text, "fp16") == 0)
        *type = VLY_ELEMENT_F16;
    else if (strcmp(text, "bf16") == 0)
        *type = VLY_ELEMENT_BF16;
    else
        return vly_fail(error, VLY_E_INVALID,
                        "--type is %.40s, wanted fp32, fp16 or bf16", text);
    return VLY_OK;
}

static vly_status read_transposed(const tool_args *args, uint32_t *lora,
                                  vly_error *error)
{
    const char *text = tool_text(args, "transposed");
    *lora = VLY_RWKV_LORA_BY_SHAPE;
    if (!text)
        return VLY_OK;
    if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        return vly_fail(error, VLY_E_INVALID,
                        "--transposed is %.40s, wanted yes or no", text);
    *lora = text[0] == 'y' ? VLY_RWKV_LORA_TRANSPOSED : VLY_RWKV_LORA_NATIVE;
    return VLY_OK;
}

static vly_status check_output(const tool_args *args, const char *output,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    if (!output)
        return vly_fail(error, VLY_E_INVALID,
                        "what is written is not named, wanted -o FILE");
    /* a file is replaced after everything is read, but a link is written
     * through */
    struct stat info;
    if (lstat(output, &info) == 0 && S_ISLNK(info.st_mode)) {
        VLY_TRY(output_apart(output, args->positional[0], "what is converted",
                             error));
    }
    if (strcmp(output, "-") != 0 && !tool_has(args, "force") &&
        access(output, F_OK) == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "%.300s is there already; --force replaces it", output);
out:
    return status;
}

static void say(const conversion *c)
{
    const vly_rwkv_sizes *sizes = vly_rwkv_weights_sizes(c->weights);
    if (strcmp(c->output, "-") == 0)
        return;
    tool_print("%s: %u layers of width %u, vocabulary %u, ranks w %u, a %u, "
               "v %u, g %u: %s parameters\n",
               c->output, sizes->layers, sizes->width, sizes->vocabulary,
               sizes->rank_w, sizes->rank_a, sizes->rank_v, sizes->rank_g,
               tool_thousands(sizes->n_parameters));
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    conversion c = {.output = tool_text(args, "output")};
    uint32_t lora = VLY_RWKV_LORA_BY_SHAPE;
    vly_status status = VLY_OK;
    VLY_TRY(check_output(args, c.output, &error));
    VLY_TRY(read_type(args, &c.type, &error));
    VLY_TRY(read_transposed(args, &lora, &error));
    VLY_TRY(
        vly_rwkv_weights_open(args->positional[0], lora, &c.weights, &error));
    tool_signals_defer(true);
    status = write_all(&c, &error);
    tool_signals_defer(false);
    if (status == VLY_OK)
        say(&c);
out:
    vly_rwkv_weights_close(c.weights);
    return status == VLY_OK ? TOOL_EXIT_DONE : tool_fail(&error);
}

const tool_command monitor_convert = {
    .name = "monitor convert",
    .arguments = "FILE.safetensors -o FILE.safetensors",
    .summary = "Converts the weights of an RWKV-7 model to the format of the "
               "monitor.",
    .details =
        "Reads native names, with low-rank matrices (w1, w2, a1, ...) plain "
        "or transposed\n"
        "(found by their shapes), and the names of fla and Hugging Face. "
        "Writes native\n"
        "names and layout. If every rank equals the width, shapes do not "
        "show the layout\n"
        "and --transposed is required; the output then records it. Metadata "
        "is kept. The\n"
        "unused v0, v1 and v2 of the first layer are left out.\n",
    .options = options,
    .n_positional_min = 1,
    .n_positional_max = 1,
    .run = run};
