/* SPDX-License-Identifier: Apache-2.0
 * Files of tensors: what is read is what was written; everything else is
 * refused with one sentence, whatever is wrong with it.
 */
#include "monitor/safetensors.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "volley_test.h"

#define FILE_NAME VLY_TEST_BINARY_DIR "/test_safetensors.tmp"

/* length: of the header as the file says it; negative: as it is */
static void write_file(const char *header, long long length, size_t n_data)
{
    const size_t n = strlen(header);
    const uint64_t said = length < 0 ? n : (uint64_t)length;
    unsigned char bytes[8];
    FILE *file = fopen(FILE_NAME, "wb");
    assert_non_null(file);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(said >> 8 * i);
    fwrite(bytes, 1, 8, file);
    fwrite(header, 1, n, file);
    for (size_t i = 0; i < n_data; i++)
        fputc((int)(i & 0xff), file);
    assert_int_equal(fclose(file), 0);
}

static void is_refused(vly_status wanted, const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    vly_safetensors *file = NULL;
    const uint64_t live = vly_memory_live();
    assert_int_equal(vly_safetensors_open(FILE_NAME, &file, &error), wanted);
    assert_null(file);
    if (!strstr(error.message, text) || strchr(error.message, '\n') ||
        strncmp(error.message, FILE_NAME ": ", sizeof FILE_NAME + 1) != 0)
        fail_msg("the message is \"%s\", wanted \"%s\" in it", error.message,
                 text);
    assert_int_equal(vly_memory_live(), live);
}

static void test_good(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_safetensors *file = NULL;
    unsigned char bytes[8];
    const char *key = NULL;
    /* in another order than the bytes, with escapes, blanks, an empty tensor, a
     * single number, and one that begins at an odd byte */
    write_file("{ \"b.\\u00e9\\ud83d\\ude00\\\"\" : {\"shape\":[2, 1 ,1], "
               "\"data_offsets\":[3,7],\"dtype\":\"BF16\"},\n"
               "\"__metadata__\":{\"one\":\"1\",\"a\":\"\\n\"},"
               "\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
               "\"none\":{\"dtype\":\"F64\",\"shape\":[0,18446744073709551615],"
               "\"data_offsets\":[7,7]},"
               "\"one\":{\"dtype\":\"F32\",\"shape\":[],"
               "\"data_offsets\":[7,11]}}   ",
               -1, 11);
    assert_ok(vly_safetensors_open(FILE_NAME, &file, &error), error);
    assert_string_equal(vly_safetensors_path(file), FILE_NAME);
    assert_int_equal(vly_safetensors_count(file), 4);
    assert_string_equal(vly_safetensors_at(file, 0)->name, "a");
    const vly_safetensor *b =
        vly_safetensors_find(file, "b.\xc3\xa9\xf0\x9f\x98\x80\"");
    assert_non_null(b);
    assert_int_equal(b->type, VLY_SAFETENSOR_BF16);
    assert_int_equal(b->n_dims, 3);
    assert_int_equal(b->dims[0], 2);
    assert_int_equal(b->n_elements, 2);
    assert_int_equal(b->n_bytes, 4);
    assert_ok(vly_safetensors_read(file, b, 1, 3, bytes, &error), error);
    assert_memory_equal(bytes, "\4\5\6", 3);
    const vly_safetensor *one = vly_safetensors_find(file, "one");
    assert_int_equal(one->n_elements, 1);
    assert_ok(vly_safetensors_read(file, one, 0, 4, bytes, &error), error);
    assert_memory_equal(bytes, "\7\10\11\12", 4);
    assert_int_equal(vly_safetensors_read(file, one, 1, 4, bytes, &error),
                     VLY_E_INVALID);
    assert_int_equal(
        vly_safetensors_read(file, one, 5, UINT64_MAX - 2, bytes, &error),
        VLY_E_INVALID);
    assert_int_equal(vly_safetensors_find(file, "none")->n_elements, 0);
    assert_null(vly_safetensors_find(file, "on"));
    assert_string_equal(vly_safetensors_metadata(file, "one"), "1");
    assert_null(vly_safetensors_metadata(file, "two"));
    assert_string_equal(vly_safetensors_metadata_at(file, 0, &key), "\n");
    assert_string_equal(key, "a");
    assert_null(vly_safetensors_metadata_at(file, 2, &key));
    vly_safetensors_close(file);

    write_file("{}", -1, 0);
    assert_ok(vly_safetensors_open(FILE_NAME, &file, &error), error);
    assert_int_equal(vly_safetensors_count(file), 0);
    assert_null(vly_safetensors_find(file, ""));
    vly_safetensors_close(file);
    vly_safetensors_close(NULL);
}

/* Tensor "x" with these members. */
#define X(members) "{\"x\":{" members "}}"
#define GOOD_X "\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]"

static const struct {
    const char *header;
    size_t n_data;
    const char *text;
} bad[] = {
    /* places */
    {X("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]"), 3,
     "tensor x ends at offset 4, but the file has 3 bytes after its header: "
     "it is cut"},
    {X("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]"), 5,
     "the tensors end at offset 4, but the file has 5 bytes"},
    {"{}", 1, "the tensors end at offset 0, but the file has 1 bytes"},
    {X("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]"), 8,
     "tensor x begins at offset 4, wanted 0: the bytes between belong to no"},
    {"{\"x\":{" GOOD_X "},\"y\":{\"dtype\":\"U8\",\"shape\":[4],"
     "\"data_offsets\":[3,7]}}",
     7, "tensor y begins at offset 3, wanted 4, the end of tensor x, which"},
    {"{\"x\":{" GOOD_X "},\"y\":{" GOOD_X "}}", 8,
     "tensor y begins at offset 0, wanted 4, the end of tensor x"},
    {"{\"x\":{" GOOD_X "},\"y\":{\"dtype\":\"U8\",\"shape\":[4],"
     "\"data_offsets\":[5,9]}}",
     9, "tensor y begins at offset 5, wanted 4: the bytes between"},
    {X("\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,0]"), 4,
     "tensor x ends at offset 0, before it begins, at 4"},
    {X("\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,5]"), 5,
     "tensor x has 5 bytes by its offsets, wanted the 4 of 4 U8"},
    {X("\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,4]"), 4,
     "tensor x has 4 bytes by its offsets, wanted the 16 of 4 F32"},
    {X("\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,0]"), 0,
     "wanted the 1 of 1 U8"},
    {X("\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],"
       "\"data_offsets\":[0,0]"),
     0, "tensor x has a shape of more than 2^64 bytes"},
    {X("\"dtype\":\"F64\",\"shape\":[2305843009213693952],"
       "\"data_offsets\":[0,0]"),
     0, "tensor x has a shape of more than 2^64 bytes"},
    {X("\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":"
       "[18446744073709551615,18446744073709551615]"),
     0, "tensor x begins at offset 18446744073709551615, wanted 0"},
    {"{\"x\":{" GOOD_X "},\"y\":{\"dtype\":\"U8\",\"shape\":"
     "[18446744073709551611],\"data_offsets\":[4,18446744073709551615]}}",
     4, "tensor y ends at offset 18446744073709551615, but the file has 4"},
    /* members */
    {X("\"dtype\":\"F16\",\"shape\":[1]"), 0, "tensor x has no \"data_offsets"},
    {X("\"dtype\":\"F16\",\"data_offsets\":[0,0]"), 0, "has no \"shape\""},
    {X("\"shape\":[1],\"data_offsets\":[0,0]"), 0, "has no \"dtype\""},
    {X(GOOD_X ",\"shape\":[4]"), 4, "tensor x has a second \"shape\" (byte"},
    {X(GOOD_X ",\"size\":[4]"), 4, "tensor x has \"size\" (byte"},
    {X("\"dtype\":\"F12\",\"shape\":[1],\"data_offsets\":[0,0]"), 0,
     "tensor x has dtype \"F12\", wanted one of BOOL"},
    {X("\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]"), 4,
     "tensor x has dtype \"f32\""},
    {X("\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]"), 4,
     "found \"7,\"shape\":[1\", wanted the name of a type"},
    {X("\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]"),
     1, "wanted a list of at most 8 sizes"},
    {X("\"dtype\":\"U8\",\"shape\":[1.0],\"data_offsets\":[0,1]"), 1,
     "found \"1.0],\"data_o\", wanted a whole number"},
    {X("\"dtype\":\"U8\",\"shape\":[1e3],\"data_offsets\":[0,1]"), 1,
     "wanted a whole number"},
    {X("\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,1]"), 1,
     "found \"-1],\"data_of\", wanted a whole number"},
    {X("\"dtype\":\"U8\",\"shape\":[01],\"data_offsets\":[0,1]"), 1,
     "wanted a whole number"},
    {X("\"dtype\":\"U8\",\"shape\":[18446744073709551616],"
       "\"data_offsets\":[0,1]"),
     1, "wanted a whole number below 2^64"},
    {X("\"dtype\":\"U8\",\"shape\":[1,],\"data_offsets\":[0,1]"), 1,
     "wanted a whole number"},
    {X("\"dtype\":\"U8\",\"shape\":1,\"data_offsets\":[0,1]"), 1,
     "wanted a list of at most 8 sizes"},
    {X("\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]"), 1,
     "wanted a second offset"},
    {X("\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,2]"), 1,
     "wanted a list of two offsets"},
    {X("\"dtype\" \"U8\""), 0, "wanted a colon"},
    {X(""), 0, "wanted \"dtype\", \"shape\" or \"data_offsets\""},
    {"{\"x\":[]}", 0, "wanted an object of a tensor"},
    {X(GOOD_X ",,"), 4, "found \",}}\", wanted \"dtype\""},
    {X(GOOD_X " 1"), 4, "wanted a comma or the end of the object"},
    {X(GOOD_X ",\"a\\n\\u00e9\":1"), 4, "tensor x has \"a???\" (byte"},
    {X("\"dtype\":\"F\\n2\",\"shape\":[1],\"data_offsets\":[0,0]"), 0,
     "tensor x has dtype \"F?2\", wanted one of BOOL"},
    /* names */
    {"{\"x\":{" GOOD_X "},\"x\":{\"dtype\":\"U8\",\"shape\":[4],"
     "\"data_offsets\":[4,8]}}",
     8, "tensor x is there twice"},
    {"{\"x\":{" GOOD_X "},\"\\u0078\":{\"dtype\":\"U8\",\"shape\":[4],"
     "\"data_offsets\":[4,8]}}",
     8, "tensor x is there twice"},
    {"{\"\":{" GOOD_X "}}", 4, "byte 1 of the header: the name of a tensor is"},
    {"{\"a\\nb\":{" GOOD_X "}}", 4, "the name of a tensor is empty, longer"},
    {"{\"a\nb\":{" GOOD_X "}}", 4, "found \"?b\":{\"dtype\"\", wanted a char"},
    {"{\"a\\u0000\":{" GOOD_X "}}", 4, "wanted the escape of a character but"},
    {"{\"a\\ud800\":{" GOOD_X "}}", 4, "wanted the escape of a character"},
    {"{\"a\\ud800\\u0041\":{" GOOD_X "}}", 4, "wanted the escape of a char"},
    {"{\"a\\udc00\":{" GOOD_X "}}", 4, "wanted the escape of a character"},
    {"{\"a\\q\":{" GOOD_X "}}", 4, "wanted the escape of a character"},
    {"{\"a\\u00g0\":{" GOOD_X "}}", 4, "wanted the escape of a character"},
    {"{\"a\x80\":{" GOOD_X "}}", 4, "wanted UTF-8"},
    {"{\"a\xc0\x80\":{" GOOD_X "}}", 4, "wanted UTF-8"},
    {"{\"a\xed\xa0\x80\":{" GOOD_X "}}", 4, "wanted UTF-8"},
    {"{\"a\xe2\x82\":{" GOOD_X "}}", 4, "wanted UTF-8"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "a second __metadata__"},
    {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0,
     "a key of __metadata__ is there twice"},
    {"{\"__metadata__\":{\"a\":1}}", 0, "wanted a text"},
    {"{\"__metadata__\":{\"a\":\"1\"", 0,
     "wanted a comma or the end of __meta"},
    {"{\"__metadata__\":[]}", 0, "wanted an object of texts"},
    {"{\"__metadata__\" {}}", 0, "wanted a colon"},
    /* the whole */
    {"", 0, "byte 0 of the header: found the end of it, wanted {"},
    {" {}", 0, "byte 0 of the header: found \" {}\", wanted {"},
    {"[]", 0, "wanted { as its first byte"},
    {"{", 0, "byte 1 of the header: found the end of it, wanted the name"},
    {"{\"x", 0, "found the end of it"},
    {"{\"x\\", 0, "found the end of it"},
    {"{\"x\":{" GOOD_X "}", 4, "wanted a comma or the end of the header"},
    {"{}x", 0, "byte 2 of the header: found \"x\", wanted spaces to its end"},
};

static void test_bad_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_file(bad[i].header, -1, bad[i].n_data);
        is_refused(VLY_E_PARSE, bad[i].text);
    }
}

/* A good file, cut after every byte, and with every byte changed. */
static void test_cut_and_changed(void **state)
{
    (void)state;
    static const char text[] =
        "{\"a\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":"
        "[0,12]},\"b\":{\"dtype\":\"U8\",\"shape\":[4],"
        "\"data_offsets\":[12,16]}}";
    vly_error error = VLY_ERROR_INIT;
    vly_safetensors *file = NULL;
    write_file(text, -1, 16);
    assert_ok(vly_safetensors_open(FILE_NAME, &file, &error), error);
    vly_safetensors_close(file);
    for (long cut = 0; cut < (long)(8 + strlen(text) + 16); cut++) {
        write_file(text, -1, 16);
        assert_int_equal(truncate(FILE_NAME, cut), 0);
        assert_int_equal(vly_safetensors_open(FILE_NAME, &file, &error),
                         VLY_E_PARSE);
    }
    for (size_t i = 0; i < strlen(text); i++) {
        char changed[sizeof text];
        snprintf(changed, sizeof changed, "%s", text);
        changed[i] = (char)(changed[i] ^ 4);
        write_file(changed, -1, 16);
        vly_status status = vly_safetensors_open(FILE_NAME, &file, &error);
        assert_true(status == VLY_OK || status == VLY_E_PARSE);
        if (status == VLY_OK)
            vly_safetensors_close(file);
    }
}

static void test_bad_lengths(void **state)
{
    (void)state;
    FILE *file = fopen(FILE_NAME, "wb");
    assert_non_null(file);
    fwrite("1234567", 1, 7, file);
    assert_int_equal(fclose(file), 0);
    is_refused(VLY_E_PARSE, "has 7 bytes, wanted a .safetensors file");
    write_file("{}", 3, 0);
    is_refused(VLY_E_PARSE, "say that the header has 3 bytes, but 2 follow");
    write_file("{}", 100000000, 0);
    is_refused(VLY_E_PARSE, "has 100000000 bytes, but 2 follow: it is cut");
    write_file("{}", 100000001, 0);
    is_refused(VLY_E_PARSE, "has 100000001 bytes, wanted at most 100000000");
    write_file("{}", 0x7fffffffffffffff, 0);
    is_refused(VLY_E_PARSE, "wanted at most 100000000: it is no .safetensors");
    write_file("{}", 1, 0);
    is_refused(VLY_E_PARSE, "byte 1 of the header: found the end of it");
}

static void test_no_file(void **state)
{
    (void)state;
    unlink(FILE_NAME);
    is_refused(VLY_E_IO, "cannot be read: No such file");
    assert_int_equal(mkdir(FILE_NAME, 0700), 0);
    is_refused(VLY_E_IO,
               "cannot be read: it is a folder, wanted a regular file");
    assert_int_equal(rmdir(FILE_NAME), 0);
    assert_int_equal(mkfifo(FILE_NAME, 0600), 0); /* and there is no writer */
    is_refused(VLY_E_INVALID,
               "cannot be read: it is a pipe or device, wanted a regular file");
    unlink(FILE_NAME);
}

/* The file under an open one is cut, or written again. */
static void test_changed_meanwhile(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_safetensors *file = NULL;
    unsigned char bytes[4];
    write_file(X(GOOD_X), -1, 4);
    assert_ok(vly_safetensors_open(FILE_NAME, &file, &error), error);
    const vly_safetensor *x = vly_safetensors_at(file, 0);
    assert_ok(vly_safetensors_read(file, x, 0, 4, bytes, &error), error);
    assert_int_equal(truncate(FILE_NAME, (long)x->begin + 2), 0);
    assert_int_equal(vly_safetensors_read(file, x, 0, 4, bytes, &error),
                     VLY_E_IO);
    assert_non_null(strstr(error.message, "it was cut at byte"));
    assert_int_equal(vly_safetensors_read(file, x, 0, 1, bytes, &error),
                     VLY_E_IO);
    assert_non_null(strstr(error.message, "it was changed since it was open"));
    vly_safetensors_close(file);
    write_file(X(GOOD_X), -1, 4);
    assert_ok(vly_safetensors_open(FILE_NAME, &file, &error), error);
    FILE *longer = fopen(FILE_NAME, "ab");
    assert_non_null(longer);
    fputc(1, longer);
    assert_int_equal(fclose(longer), 0);
    assert_int_equal(vly_safetensors_read(file, vly_safetensors_at(file, 0), 0,
                                          4, bytes, &error),
                     VLY_E_IO);
    assert_non_null(strstr(error.message, "it was changed"));
    vly_safetensors_close(file);
    unlink(FILE_NAME);
}

static void test_memory(void **state)
{
    (void)state;
    vly_safetensors *file = NULL;
    uint64_t n = 0;
    vly_status status = VLY_E_NOMEM;
    write_file("{\"__metadata__\":{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"},"
               "\"x\":{" GOOD_X "},\"y\":{\"dtype\":\"U8\",\"shape\":[1],"
               "\"data_offsets\":[4,5]},\"z\":{\"dtype\":\"U8\",\"shape\":[1],"
               "\"data_offsets\":[5,6]}}",
               -1, 6);
    const uint64_t live = vly_memory_live();
    while (status != VLY_OK) {
        vly_error error = VLY_ERROR_INIT;
        vly_memory_fail_at(++n);
        status = vly_safetensors_open(FILE_NAME, &file, &error);
        const bool all = vly_memory_fail_at(0) > 0;
        assert_int_equal(status, all ? VLY_OK : VLY_E_NOMEM);
        if (status != VLY_OK)
            assert_int_equal(vly_memory_live(), live);
    }
    assert_true(n > 6);
    vly_safetensors_close(file);
    assert_int_equal(vly_memory_live(), live);
    unlink(FILE_NAME);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_good),
    cmocka_unit_test(test_bad_headers),
    cmocka_unit_test(test_cut_and_changed),
    cmocka_unit_test(test_bad_lengths),
    cmocka_unit_test(test_no_file),
    cmocka_unit_test(test_changed_meanwhile),
    cmocka_unit_test(test_memory),
};

VLY_TEST_MAIN(tests)
