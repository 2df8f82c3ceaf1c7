/* SPDX-License-Identifier: Apache-2.0
 * Weights of RWKV-7: native names, transposed and fla's give the same table and
 * the same numbers; what is missing, strange or of another shape is named.
 */
#include "monitor/rwkv_weights.h"

#include <stdlib.h>
#include <unistd.h>

#include <volley/accelerator.h>

#include "base/error.h"
#include "base/memory.h"
#include "volley_test.h"
#include "weights_maker.h"

#define FILE_NAME VLY_TEST_BINARY_DIR "/test_rwkv_weights.tmp"
#define GOLDEN                                                                 \
    VLY_TEST_SOURCE_DIR "/tests/golden/rwkv7/tiny-rwkv7-834k.safetensors"

static const maker_model small = {.layers = 2,
                                  .width = 128,
                                  .hidden = 192,
                                  .vocabulary = 50,
                                  .ranks = {8, 16, 24, 40}};

/* Any tensor whole; the caller frees. */
static float *read_whole(const vly_rwkv_weights *weights, vly_rwkv_tensor id,
                         uint32_t layer, uint64_t *rows, uint64_t *columns)
{
    vly_error error = VLY_ERROR_INIT;
    vly_rwkv_weights_shape(weights, id, rows, columns);
    float *x = malloc(*rows * *columns * sizeof *x);
    assert_non_null(x);
    assert_ok(vly_rwkv_weights_read(weights, id, layer, 0, *rows, x, &error),
              error);
    return x;
}

/* "att.w1" of "blocks.1.att.w1"; names of the model as they are */
static const char *short_name(vly_rwkv_tensor id, const char *name)
{
    return vly_rwkv_is_of_layers(id) ? strchr(strchr(name, '.') + 1, '.') + 1
                                     : name;
}

static void check_tensor(const vly_rwkv_weights *weights, vly_rwkv_tensor id,
                         uint32_t layer)
{
    char name[VLY_RWKV_NAME_BYTES];
    uint64_t rows = 0;
    uint64_t columns = 0;
    vly_rwkv_native_name(id, layer, name);
    float *x = read_whole(weights, id, layer, &rows, &columns);
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t c = 0; c < columns; c++)
            if (x[r * columns + c] !=
                maker_value(short_name(id, name), layer, r, c))
                fail_msg("%s [%u, %u] is %g", name, (unsigned)r, (unsigned)c,
                         (double)x[r * columns + c]);
    free(x);
}

static void check_model(const maker_model *model, uint32_t lora)
{
    vly_error error = VLY_ERROR_INIT;
    vly_rwkv_weights *weights = NULL;
    uint32_t n_read = 0;
    assert_ok(vly_rwkv_weights_open(FILE_NAME, lora, &weights, &error), error);
    const vly_rwkv_sizes *sizes = vly_rwkv_weights_sizes(weights);
    assert_int_equal(sizes->layers, model->layers);
    assert_int_equal(sizes->width, model->width);
    assert_int_equal(sizes->heads, model->width / 64);
    assert_int_equal(sizes->hidden, model->hidden);
    assert_int_equal(sizes->vocabulary, model->vocabulary);
    assert_int_equal(sizes->rank_w, model->ranks[0]);
    assert_int_equal(sizes->rank_a, model->ranks[1]);
    assert_int_equal(sizes->rank_v, model->layers > 1 ? model->ranks[2] : 0);
    assert_int_equal(sizes->rank_g, model->ranks[3]);
    for (uint32_t layer = 0; layer < model->layers; layer++) {
        for (uint32_t i = 0; i < VLY_RWKV_N_TENSORS; i++) {
            const vly_rwkv_tensor id = (vly_rwkv_tensor)i;
            const bool v =
                id == VLY_RWKV_V0 || id == VLY_RWKV_V1 || id == VLY_RWKV_V2;
            const bool has = layer > 0 ? vly_rwkv_is_of_layers(id) : !v;
            assert_int_equal(vly_rwkv_weights_has(weights, id, layer), has);
            if (!has)
                continue;
            assert_int_equal(vly_rwkv_weights_type(weights, id, layer),
                             model->type == MAKER_F32   ? VLY_ELEMENT_F32
                             : model->type == MAKER_F16 ? VLY_ELEMENT_F16
                                                        : VLY_ELEMENT_BF16);
            check_tensor(weights, id, layer);
            n_read++;
        }
    }
    assert_int_equal(n_read, 6 + 33 * model->layers - 3);
    assert_false(vly_rwkv_weights_has(weights, VLY_RWKV_KEY, model->layers));
    assert_string_equal(vly_rwkv_weights_metadata(weights, "made"), "here");
    vly_rwkv_weights_close(weights);
}

static void write_model(const maker_model *model)
{
    maker_list list = maker_init(model);
    assert_true(maker_write(&list, FILE_NAME));
    maker_deinit(&list);
}

static void test_names_and_layouts(void **state)
{
    (void)state;
    maker_model model = small;
    for (uint32_t type = MAKER_F32; type <= MAKER_BF16; type++) {
        model = small;
        model.type = type;
        write_model(&model);
        check_model(&model, VLY_RWKV_LORA_NATIVE);
        check_model(&model, VLY_RWKV_LORA_BY_SHAPE);
        model.transposed = true;
        write_model(&model);
        check_model(&model, VLY_RWKV_LORA_TRANSPOSED);
        check_model(&model, VLY_RWKV_LORA_BY_SHAPE);
        model.transposed = false;
        model.fla = true;
        write_model(&model);
        check_model(&model, VLY_RWKV_LORA_NATIVE);
        check_model(&model, VLY_RWKV_LORA_BY_SHAPE);
    }
}

static void test_sizes(void **state)
{
    (void)state;
    maker_model one = {.layers = 1,
                       .width = 64,
                       .hidden = 256,
                       .vocabulary = 1,
                       .ranks = {1, 2, 3, 4}};
    write_model(&one);
    check_model(&one, VLY_RWKV_LORA_BY_SHAPE);
    one.layers = 11; /* blocks.10 */
    one.has_v_first = true;
    write_model(&one);
    check_model(&one, VLY_RWKV_LORA_NATIVE);
    /* ranks equal to the width: not ambiguous if the layout is given */
    maker_model square = small;
    square.width = 64;
    for (int k = 0; k < 4; k++)
        square.ranks[k] = 64;
    write_model(&square);
    check_model(&square, VLY_RWKV_LORA_NATIVE);
    square.transposed = true;
    write_model(&square);
    check_model(&square, VLY_RWKV_LORA_TRANSPOSED);
    /* fla's names say it */
    square.transposed = false;
    square.fla = true;
    write_model(&square);
    check_model(&square, VLY_RWKV_LORA_SURELY_NATIVE);
    square.fla = false;
    square.transposed = true;
    /* one that is not decides for all */
    square.ranks[3] = 32;
    write_model(&square);
    check_model(&square, VLY_RWKV_LORA_BY_SHAPE);
    /* rows that are longer than a piece that is read at once */
    maker_model wide = {.layers = 1,
                        .width = 576,
                        .hidden = 64,
                        .vocabulary = 130,
                        .ranks = {200, 1, 1, 130}};
    write_model(&wide);
    check_model(&wide, VLY_RWKV_LORA_NATIVE);
}

/* Some rows of a matrix are those of the whole. */
static void test_rows(void **state)
{
    (void)state;
    static const vly_rwkv_tensor ids[] = {VLY_RWKV_EMB, VLY_RWKV_W2,
                                          VLY_RWKV_G1, VLY_RWKV_R_K};
    vly_error error = VLY_ERROR_INIT;
    vly_rwkv_weights *weights = NULL;
    write_model(&small);
    assert_ok(vly_rwkv_weights_open(FILE_NAME, 0, &weights, &error), error);
    for (size_t k = 0; k < sizeof ids / sizeof ids[0]; k++) {
        uint64_t rows = 0;
        uint64_t columns = 0;
        float *x = read_whole(weights, ids[k], 0, &rows, &columns);
        float *part = malloc(rows * columns * sizeof *part);
        assert_non_null(part);
        for (uint64_t first = 0; first <= rows; first += 3) {
            const uint64_t n = rows - first < 7 ? rows - first : 7;
            assert_ok(vly_rwkv_weights_read(weights, ids[k], 0, first, n, part,
                                            &error),
                      error);
            assert_memory_equal(part, x + first * columns,
                                n * columns * sizeof *x);
        }
        assert_int_equal(
            vly_rwkv_weights_read(weights, ids[k], 0, 1, rows, part, &error),
            VLY_E_INVALID);
        assert_int_equal(vly_rwkv_weights_read(weights, ids[k], 0, UINT64_MAX,
                                               2, part, &error),
                         VLY_E_INVALID);
        free(part);
        free(x);
    }
    float x[128];
    assert_int_equal(
        vly_rwkv_weights_read(weights, VLY_RWKV_V0, 0, 0, 1, x, &error),
        VLY_E_INVALID);
    assert_int_equal(
        vly_rwkv_weights_read(weights, VLY_RWKV_K_K, 2, 0, 1, x, &error),
        VLY_E_INVALID);
    assert_non_null(strstr(error.message, "layer 2 has no such tensor"));
    vly_rwkv_weights_close(weights);
}

static void is_refused(maker_list *list, uint32_t lora, vly_status wanted,
                       const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    vly_rwkv_weights *weights = NULL;
    const uint64_t live = vly_memory_live();
    list->zeros = true;
    assert_true(maker_write(list, FILE_NAME));
    assert_int_equal(vly_rwkv_weights_open(FILE_NAME, lora, &weights, &error),
                     wanted);
    assert_null(weights);
    if (!strstr(error.message, text) || strchr(error.message, '\n'))
        fail_msg("the message is \"%s\", wanted \"%s\" in it", error.message,
                 text);
    assert_int_equal(vly_memory_live(), live);
}

/* Every tensor in turn is missing, of another shape, of another type. */
static void test_each_wrong(void **state)
{
    (void)state;
    maker_model model = {.layers = 2,
                         .width = 64,
                         .hidden = 64,
                         .vocabulary = 3,
                         .ranks = {1, 2, 3, 4},
                         .type = MAKER_BF16};
    for (int fla = 0; fla < 2; fla++) {
        model.fla = fla == 1;
        maker_list list = maker_init(&model);
        for (uint32_t i = 0; i < list.n; i++) {
            char text[160];
            const maker_tensor kept = list.tensors[i];
            maker_tensor *tensor = &list.tensors[i];
            snprintf(text, sizeof text, "tensor %s is of type I16, wanted F32",
                     kept.name);
            tensor->dtype = "I16";
            is_refused(&list, 0, VLY_E_PARSE, text);
            *tensor = kept;
            tensor->n_dims = 3;
            tensor->dims[0] = 5;
            tensor->dims[1] = tensor->dims[2] = 1;
            snprintf(text, sizeof text, "tensor %s has shape [5, 1, 1], wanted",
                     kept.name);
            is_refused(&list, 0, VLY_E_PARSE, text);
            *tensor = kept;
            snprintf(text, sizeof text, "has no tensor %s, which", kept.name);
            tensor->name[0] = '\0';
            list.tensors[i] = list.tensors[list.n - 1];
            list.n--;
            is_refused(&list, 0, VLY_E_PARSE, text);
            list.tensors[list.n++] = list.tensors[i];
            list.tensors[i] = kept;
        }
        maker_deinit(&list);
    }
}

static void rename_tensor(maker_list *list, const char *from, const char *to)
{
    maker_tensor *tensor = maker_find(list, from);
    assert_non_null(tensor);
    snprintf(tensor->name, sizeof tensor->name, "%s", to);
}

static void test_names_wrong(void **state)
{
    (void)state;
    static const char *const strange[] = {
        "blocks.1.att.time_decay",
        "blocks.1.att.w1.weight",
        "blocks.01.att.w1",
        "blocks.1att.w1",
        "blocks..att.w1",
        "blocks.1.",
        "blocks.99999999999.ln1.weight",
        "w1",
        "model.layers.1.attn.w_lora.lora.0.weight"};
    for (size_t k = 0; k < sizeof strange / sizeof strange[0]; k++) {
        char text[160];
        maker_list list = maker_init(&small);
        rename_tensor(&list, "blocks.1.att.w1", strange[k]);
        snprintf(text, sizeof text,
                 "tensor %s is not a tensor of RWKV-7 in native", strange[k]);
        is_refused(&list, 0, VLY_E_PARSE, text);
        maker_deinit(&list);
    }
    maker_model model = small;
    model.fla = true;
    maker_list list = maker_init(&model);
    rename_tensor(&list, "model.layers.1.attn.x_r", "model.layers.1.attn.x_x");
    is_refused(
        &list, 0, VLY_E_PARSE,
        "tensor model.layers.1.attn.x_x is not a tensor of RWKV-7 in fla's");
    maker_deinit(&list);
    list = maker_init(&small);
    rename_tensor(&list, "blocks.1.ln1.bias", "blocks.3.ln1.bias");
    is_refused(&list, 0, VLY_E_PARSE, "has no tensor blocks.1.ln1.bias, which");
    rename_tensor(&list, "blocks.3.ln1.bias", "blocks.1024.ln1.bias");
    is_refused(&list, 0, VLY_E_PARSE, "is of layer 1024, wanted at most 1024");
    list.n = 0;
    is_refused(&list, 0, VLY_E_PARSE, "has no tensor emb.weight");
    maker_deinit(&list);
}

static void set_dims(maker_list *list, const char *name, uint64_t a, uint64_t b)
{
    maker_tensor *tensor = maker_find(list, name);
    assert_non_null(tensor);
    tensor->n_dims = 2;
    tensor->dims[0] = a;
    tensor->dims[1] = b;
}

static void test_shapes_wrong(void **state)
{
    (void)state;
    maker_list list = maker_init(&small);
    set_dims(&list, "emb.weight", 50, 96);
    is_refused(&list, 0, VLY_E_PARSE,
               "tensor emb.weight has shape [50, 96], wanted a width that is a "
               "multiple of 64");
    set_dims(&list, "emb.weight", 0, 128);
    is_refused(&list, 0, VLY_E_PARSE, "tensor emb.weight has shape [0, 128]");
    set_dims(&list, "emb.weight", 1, 65600);
    is_refused(&list, 0, VLY_E_PARSE, "tensor emb.weight has shape [1, 65600]");
    set_dims(&list, "emb.weight", 51, 128);
    is_refused(&list, 0, VLY_E_PARSE,
               "tensor head.weight has shape [50, 128], wanted [51, 128]");
    set_dims(&list, "emb.weight", 50, 128);
    /* a rank that differs between layers, or from its second matrix */
    set_dims(&list, "blocks.1.att.g1", 128, 41);
    is_refused(&list, 0, VLY_E_PARSE,
               "tensor blocks.1.att.g1 has shape [128, 41], wanted [128, 40]");
    set_dims(&list, "blocks.1.att.g1", 128, 40);
    set_dims(&list, "blocks.1.att.v2", 23, 128);
    is_refused(&list, 0, VLY_E_PARSE,
               "tensor blocks.1.att.v2 has shape [23, 128], wanted [24, 128]");
    set_dims(&list, "blocks.1.att.v2", 24, 128);
    set_dims(&list, "blocks.1.ffn.value.weight", 192, 128);
    is_refused(&list, 0, VLY_E_PARSE, "wanted [128, 192]");
    set_dims(&list, "blocks.1.ffn.value.weight", 128, 192);
    set_dims(&list, "blocks.0.att.r_k", 64, 2);
    is_refused(&list, 0, VLY_E_PARSE, "has shape [64, 2], wanted [2, 64]");
    set_dims(&list, "blocks.0.att.r_k", 1, 128); /* the same vector */
    set_dims(&list, "blocks.0.att.k_k", 2, 64);  /* but not this */
    is_refused(&list, 0, VLY_E_PARSE, "k_k has shape [2, 64], wanted [128]");
    maker_deinit(&list);
}

static void test_layout_wrong(void **state)
{
    (void)state;
    maker_model model = small;
    model.transposed = true;
    maker_list list = maker_init(&model);
    is_refused(&list, VLY_RWKV_LORA_SURELY_NATIVE, VLY_E_PARSE,
               "tensor blocks.0.att.w1 is transposed, as others may be");
    is_refused(&list, VLY_RWKV_LORA_NATIVE, VLY_E_PARSE,
               "tensor blocks.0.att.w1 is transposed, and it was said not to");
    maker_deinit(&list);
    list = maker_init(&small);
    is_refused(&list, VLY_RWKV_LORA_TRANSPOSED, VLY_E_PARSE,
               "tensor blocks.0.att.w1 is not transposed, and it was said");
    set_dims(&list, "blocks.1.att.a1", 16, 128);
    is_refused(&list, VLY_RWKV_LORA_BY_SHAPE, VLY_E_PARSE,
               "tensor blocks.0.att.w1 has its rank as columns, tensor "
               "blocks.1.att.a1 as rows");
    maker_deinit(&list);
    model = small;
    for (int k = 0; k < 4; k++)
        model.ranks[k] = 128;
    list = maker_init(&model);
    is_refused(&list, VLY_RWKV_LORA_BY_SHAPE, VLY_E_INVALID,
               "the ranks are the width, so shapes do not say");
    is_refused(&list, VLY_RWKV_LORA_SURELY_NATIVE, VLY_E_INVALID,
               "--transposed yes or no makes a file that says it");
    set_dims(&list, "blocks.1.att.a2", 64, 128);
    is_refused(&list, VLY_RWKV_LORA_SURELY_NATIVE, VLY_E_PARSE,
               "tensor blocks.1.att.a2 has shape [64, 128]");
    maker_deinit(&list);
}

/* A weight that is not a number: which one. */
static void test_not_finite(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        uint32_t bits;
    } bad[] = {{MAKER_F32, 0x7fc00000u}, {MAKER_F32, 0xff800000u},
               {MAKER_F16, 0x7c00u},     {MAKER_F16, 0xfe00u},
               {MAKER_BF16, 0x7f80u},    {MAKER_BF16, 0xffc1u}};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        vly_error error = VLY_ERROR_INIT;
        vly_rwkv_weights *weights = NULL;
        float x[50 * 128];
        maker_model model = small;
        model.type = bad[k].type;
        model.layers = 1;
        const long n_bytes = bad[k].type == MAKER_F32 ? 4 : 2;
        write_model(&model);
        /* element 130 of head.weight, which is last in a model of one layer */
        FILE *file = fopen(FILE_NAME, "r+b");
        assert_non_null(file);
        assert_int_equal(fseek(file, (130 - 50 * 128) * n_bytes, SEEK_END), 0);
        fwrite(&bad[k].bits, (size_t)n_bytes, 1, file);
        assert_int_equal(fclose(file), 0);
        assert_ok(vly_rwkv_weights_open(FILE_NAME, 0, &weights, &error), error);
        assert_ok(
            vly_rwkv_weights_read(weights, VLY_RWKV_HEAD, 0, 0, 1, x, &error),
            error);
        assert_int_equal(
            vly_rwkv_weights_read(weights, VLY_RWKV_HEAD, 0, 0, 50, x, &error),
            VLY_E_PARSE);
        assert_non_null(strstr(error.message, "tensor head.weight: element 130 "
                                              "is NaN or infinite"));
        vly_rwkv_weights_close(weights);
    }
}

static void test_memory(void **state)
{
    (void)state;
    vly_rwkv_weights *weights = NULL;
    const uint64_t live = vly_memory_live();
    uint64_t n = 0;
    float x[128 * 40];
    vly_status status = VLY_E_NOMEM;
    write_model(&small);
    while (status != VLY_OK) {
        vly_error error = VLY_ERROR_INIT;
        vly_memory_fail_at(++n);
        status = vly_rwkv_weights_open(FILE_NAME, 0, &weights, &error);
        const bool opened = status == VLY_OK;
        if (opened)
            status = vly_rwkv_weights_read(weights, VLY_RWKV_G1, 1, 0, 40, x,
                                           &error);
        const bool all = vly_memory_fail_at(0) > 0;
        assert_int_equal(status, all ? VLY_OK : VLY_E_NOMEM);
        if (opened)
            vly_rwkv_weights_close(weights);
        assert_int_equal(vly_memory_live(), live);
    }
    assert_true(n > 8);
    unlink(FILE_NAME);
}

/* The tiny RWKV-7 of rwkv.cpp: what its file says of itself, and some of its
 * numbers as they stand in it. */
static void test_golden(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_rwkv_weights *weights = NULL;
    float row[256];
    float wanted[32];
    assert_ok(
        vly_rwkv_weights_open(GOLDEN, VLY_RWKV_LORA_BY_SHAPE, &weights, &error),
        error);
    const vly_rwkv_sizes *sizes = vly_rwkv_weights_sizes(weights);
    assert_int_equal(sizes->layers, 12);
    assert_int_equal(sizes->width, 64);
    assert_int_equal(sizes->heads, 1);
    assert_int_equal(sizes->hidden, 256);
    assert_int_equal(sizes->vocabulary, 256);
    assert_int_equal(sizes->rank_w, 32);
    assert_int_equal(sizes->rank_a, 32);
    assert_int_equal(sizes->rank_v, 32);
    assert_int_equal(sizes->rank_g, 32);
    assert_int_equal(sizes->n_parameters, 829888);
    assert_int_equal(sizes->n_bytes, 4 * 829888);
    /* column 5 of blocks.0.att.w1, which begins at offset 68608 */
    FILE *file = fopen(GOLDEN, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 8 + 37776 + 68608, SEEK_SET), 0);
    for (uint32_t d = 0; d < 64; d++) {
        assert_int_equal(fread(wanted, sizeof wanted, 1, file), 1);
        assert_ok(
            vly_rwkv_weights_read(weights, VLY_RWKV_W1, 0, 5, 1, row, &error),
            error);
        assert_memory_equal(&row[d], &wanted[5], sizeof(float));
    }
    fclose(file);
    vly_rwkv_weights_close(weights);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_golden),
    cmocka_unit_test(test_names_and_layouts),
    cmocka_unit_test(test_sizes),
    cmocka_unit_test(test_rows),
    cmocka_unit_test(test_each_wrong),
    cmocka_unit_test(test_names_wrong),
    cmocka_unit_test(test_shapes_wrong),
    cmocka_unit_test(test_layout_wrong),
    cmocka_unit_test(test_not_finite),
    cmocka_unit_test(test_memory),
};

VLY_TEST_MAIN(tests)
