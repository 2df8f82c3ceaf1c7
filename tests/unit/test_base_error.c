/* SPDX-License-Identifier: Apache-2.0
 * Status table, formatting and cutting of messages.
 */
#include "volley_test.h"

#include "base/error.h"
#include "base/memory.h"

static void status_in_words(void **state)
{
    (void)state;
    assert_string_equal(vly_status_name(VLY_OK), "VLY_OK");
    assert_string_equal(vly_status_name(VLY_E_PARSE), "VLY_E_PARSE");
    assert_string_equal(vly_status_text(VLY_E_PARSE), "invalid input file");
    assert_string_equal(vly_status_name(-1000), "VLY_E_UNKNOWN");
    assert_string_equal(vly_status_text(1), "unknown status");
    assert_int_equal(vly_status_exit_code(VLY_OK), 0);
    assert_int_equal(vly_status_exit_code(VLY_E_INVALID), 2);
    assert_int_equal(vly_status_exit_code(VLY_E_IO), 4);
    assert_int_equal(vly_status_exit_code(VLY_E_NOMEM), 5);
    assert_int_equal(vly_status_exit_code(VLY_E_DEVICE), 3);
    assert_int_equal(vly_status_exit_code(VLY_E_STOPPED), 6);
}

static void message_is_formatted(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    error.bytes_requested = 7;
    assert_int_equal(vly_fail(&error, VLY_E_PARSE, "%s:%d: no", "a.toml", 3),
                     VLY_E_PARSE);
    assert_int_equal(error.status, VLY_E_PARSE);
    assert_string_equal(error.message, "a.toml:3: no");
    assert_int_equal(error.bytes_requested, 0);
    assert_int_equal(vly_fail(NULL, VLY_E_IO, "nobody reads this"), VLY_E_IO);
}

static void message_can_wrap_itself(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_fail(&error, VLY_E_IO, "inner");
    vly_fail(&error, VLY_E_IO, "outer: %s", error.message);
    assert_string_equal(error.message, "outer: inner");
}

static void long_message_is_cut(void **state)
{
    (void)state;
    char text[2000];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = 0;
    vly_error error = VLY_ERROR_INIT;
    vly_fail(&error, VLY_E_IO, "%s", text);
    assert_int_equal(strlen(error.message), sizeof(error.message) - 1);
    assert_string_equal(error.message + sizeof(error.message) - 5, "x...");
    /* exactly full is not cut */
    text[sizeof(error.message) - 1] = 0;
    vly_fail(&error, VLY_E_IO, "%s", text);
    assert_string_equal(error.message, text);
}

static void cut_keeps_characters_whole(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < 3; shift++) {
        char text[2000] = "ab";
        text[shift] = 0;
        while (strlen(text) < 1500)
            strcat(text, "\xE2\x82\xAC"); /* three bytes */
        vly_error error = VLY_ERROR_INIT;
        vly_fail(&error, VLY_E_IO, "%s", text);
        size_t length = strlen(error.message);
        assert_true(length < sizeof(error.message));
        assert_string_equal(error.message + length - 3, "...");
        assert_int_equal((length - 3 - shift) % 3, 0);
    }
}

/* A plugin of an older minor may hold a smaller struct. */
static void short_struct_is_not_overrun(void **state)
{
    (void)state;
    vly_error error;
    memset(&error, 0x55, sizeof(error));
    error.struct_size = (uint32_t)(offsetof(vly_error, message) + 16);
    vly_fail(&error, VLY_E_IO, "0123456789abcdefghij");
    assert_string_equal(error.message, "0123456789ab...");
    assert_int_equal(error.message[16], 0x55);
    memset(&error, 0x55, sizeof(error));
    error.struct_size = 8;
    assert_int_equal(vly_fail(&error, VLY_E_IO, "x"), VLY_E_IO);
    assert_int_equal(error.message[0], 0x55);
}

static void out_of_memory_says_how_much(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    assert_int_equal(vly_fail_nomem(&error, 12345, "the synapse table"),
                     VLY_E_NOMEM);
    assert_int_equal(error.bytes_requested, 12345);
    assert_non_null(strstr(
        error.message, "out of memory: the synapse table needs 12345 bytes"));
    assert_int_equal(vly_fail_nomem(NULL, 1, "x"), VLY_E_NOMEM);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(status_in_words),
    cmocka_unit_test(message_is_formatted),
    cmocka_unit_test(message_can_wrap_itself),
    cmocka_unit_test(long_message_is_cut),
    cmocka_unit_test(cut_keeps_characters_whole),
    cmocka_unit_test(short_struct_is_not_overrun),
    cmocka_unit_test(out_of_memory_says_how_much),
};

VLY_TEST_MAIN(tests)
