/* SPDX-License-Identifier: Apache-2.0
 * Backend specs: what is taken apart, and the sentence for what is wrong.
 */
#include "plugin/backend_spec.h"

#include "base/error.h"
#include "volley_test.h"

static void test_good(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *id;
        bool has_number;
        uint32_t number;
        uint32_t last;
        bool all;
        const char *options;
    } cases[] = {
        {"cpu", "cpu", false, 0, 0, false, ""},
        {"auto", "auto", false, 0, 0, false, ""},
        {"cpu:4", "cpu", true, 4, 4, false, ""},
        {"cpu:1024", "cpu", true, 1024, 1024, false, ""},
        {"cuda:0", "cuda", true, 0, 0, false, ""},
        {"cuda:1", "cuda", true, 1, 1, false, ""},
        {"cuda:0-1", "cuda", true, 0, 1, false, ""},
        {"cuda:2-7,plan=x", "cuda", true, 2, 7, false, "plan=x"},
        {"cuda:3-3", "cuda", true, 3, 3, false, ""},
        {"cuda:all,a=1", "cuda", true, 0, 0, true, "a=1"},
        {"cpu:4,isa=scalar", "cpu", true, 4, 4, false, "isa=scalar"},
        {"my_2nd,a=1,aa=x:y=z,b2=-3", "my_2nd", false, 0, 0, false,
         "a=1,aa=x:y=z,b2=-3"},
        {"a234567890123456789012345678901", "a234567890123456789012345678901",
         false, 0, 0, false, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        vly_error error = VLY_ERROR_INIT;
        vly_backend_spec spec;
        assert_ok(vly_backend_spec_parse(cases[i].text, &spec, &error), error);
        assert_string_equal(spec.id, cases[i].id);
        assert_int_equal(spec.has_number, cases[i].has_number);
        assert_int_equal(spec.number, cases[i].number);
        assert_int_equal(spec.last, cases[i].last);
        assert_int_equal(spec.all, cases[i].all);
        assert_int_equal(vly_backend_spec_is_span(&spec),
                         cases[i].all || cases[i].last != cases[i].number);
        assert_string_equal(spec.options, cases[i].options);
    }
}

static void test_bad(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message; /* part of it */
    } cases[] = {
        {"", "backend is empty"},
        {":4", "id \"\", wanted a name"},
        {"CPU", "id \"CPU\", wanted a name"},
        {"c pu", "id \"c pu\""},
        {"4cpu", "id \"4cpu\""},
        {"a2345678901234567890123456789012", "the id is too long"},
        {"cpu:", "\"\" after the colon, wanted a number"},
        {"cpu:x", "\"x\" after the colon"},
        {"cpu:-1", "\"-1\" after the colon"},
        {"cpu:4x", "\"4x\" after the colon"},
        {"cpu:4:5", "\"4:5\" after the colon"},
        {"cpu: 4", "\" 4\" after the colon"},
        {"cuda:0-", "\"0-\" after the colon, wanted a number, a range"},
        {"cuda:3-1", "\"3-1\" after the colon"},
        {"cuda:0-1-2", "\"0-1-2\" after the colon"},
        {"cuda:-", "\"-\" after the colon"},
        {"cuda:al", "\"al\" after the colon"},
        {"cuda:all1", "\"all1\" after the colon"},
        {"cpu:99999999999", "after the colon, wanted a number"},
        {"cpu,", "option \"\", wanted key=value"},
        {"cpu,isa", "option \"isa\", wanted key=value"},
        {"cpu,isa=", "option \"isa=\", wanted key=value"},
        {"cpu,=x", "option \"=x\", wanted key=value"},
        {"cpu,Isa=x", "option \"Isa=x\""},
        {"cpu,a=1,", "option \"\""},
        {"cpu,a=1,b=2,a=3", "option a is given twice"},
        {"auto:2", "auto takes no number"},
        {"auto,a=1", "auto takes no number and no options"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        vly_error error = VLY_ERROR_INIT;
        vly_backend_spec spec = {.number = 77};
        assert_int_equal(vly_backend_spec_parse(cases[i].text, &spec, &error),
                         VLY_E_INVALID);
        assert_int_equal(spec.number, 77);
        if (!strstr(error.message, cases[i].message))
            fail_msg("\"%s\": \"%s\", wanted \"%s\"", cases[i].text,
                     error.message, cases[i].message);
    }
    assert_int_equal(vly_backend_spec_parse(NULL, NULL, NULL), VLY_E_INVALID);
}

static void test_long_options(void **state)
{
    (void)state;
    char text[400] = "cpu,a=";
    vly_error error = VLY_ERROR_INIT;
    vly_backend_spec spec;
    memset(text + 6, 'x', 253); /* 255 with "a=": just fits */
    assert_int_equal(vly_backend_spec_parse(text, &spec, &error),
                     VLY_E_INVALID); /* with the comma one too many */
    assert_non_null(strstr(error.message, "options is too long"));
    text[6 + 252] = 0;
    assert_ok(vly_backend_spec_parse(text, &spec, &error), error);
    assert_int_equal(strlen(spec.options), 254);
}

static void test_device(void **state)
{
    (void)state;
    vly_backend_spec spec;
    vly_device_spec device;
    vly_error error = VLY_ERROR_INIT;
    assert_int_equal(vly_backend_spec_parse("cpu:4", &spec, NULL), VLY_OK);
    assert_ok(vly_backend_spec_device(&spec, true, 2, &device, &error), error);
    assert_int_equal(device.struct_size, sizeof(device));
    assert_int_equal(device.index, 0);
    assert_int_equal(device.n_threads, 4);
    assert_null(device.options);
    assert_int_equal(vly_backend_spec_parse("cuda:3,x=1", &spec, NULL), VLY_OK);
    assert_ok(vly_backend_spec_device(&spec, false, 2, &device, &error), error);
    assert_int_equal(device.index, 3);
    assert_int_equal(device.n_threads, 2);
    assert_string_equal(device.options, "x=1");
    assert_int_equal(vly_backend_spec_parse("cpu", &spec, NULL), VLY_OK);
    assert_ok(vly_backend_spec_device(&spec, true, 0, &device, &error), error);
    assert_true(device.n_threads >= 1);
}

/* The number counts threads of the host, or is a device: not the id decides. */
static void test_number(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_host;
        const char *message; /* NULL: it is good */
    } cases[] = {
        {"cpu:0", true, "backend \"cpu:0\": 0 threads, wanted 1 to 1024"},
        {"cpu:1", true, NULL},
        {"cpu:1024", true, NULL},
        {"other:1025", true, "1025 threads, wanted 1 to 1024"},
        {"cpu:0", false, NULL},
        {"cuda:1023", false, NULL},
        {"cuda:1024", false, "device 1024, wanted 0 to 1023"},
        {"cuda:0-1024", false, "device 1024, wanted 0 to 1023"},
        {"cuda:0-7", false, NULL},
        {"cuda:all", false, NULL},
        {"cpu:1-2", true, "several devices, but it has the processors"},
        {"cpu:all", true, "several devices, but it has the processors"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        vly_error error = VLY_ERROR_INIT;
        vly_backend_spec spec;
        vly_device_spec device = {.index = 77};
        assert_ok(vly_backend_spec_parse(cases[i].text, &spec, &error), error);
        const vly_status status = vly_backend_spec_device(
            &spec, cases[i].is_host, 1, &device, &error);
        assert_int_equal(status, cases[i].message ? VLY_E_INVALID : VLY_OK);
        if (cases[i].message) {
            assert_non_null(strstr(error.message, cases[i].message));
            assert_int_equal(device.index, 77);
        }
    }
}

/* The ranks of a host. */
static void test_ranks(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t n_devices; /* of every host */
        uint32_t rank;
        uint32_t per_host; /* ranks 0, 1, ... of one host after the other */
        const char *one;
        uint32_t device;
    } cases[] = {
        {"cuda", 2, 0, 8, "cuda", 0},
        {"cuda", 2, 1, 8, "cuda", 1},
        {"cuda", 2, 2, 8, "cuda", 0},
        {"cuda", 2, 2, 2, "cuda", 0},
        {"cuda", 2, 5, 4, "cuda", 1},
        {"cuda", 0, 1, 8, "cuda", 0},
        {"cuda:all,a=1", 3, 5, 8, "cuda:all,a=1", 2},
        {"cuda:1", 4, 3, 8, "cuda:1", 1},
        {"cuda:2-3", 8, 3, 8, "cuda:2-3", 3},
        {"cuda:2-3", 8, 4, 8, "cuda:2-3", 2},
        {"cpu:4+cuda:1", 2, 1, 8, "cuda:1", 1},
        /* only ranks with the same devices count */
        {"cpu:4+cuda,x=1", 2, 1, 8, "cuda,x=1", 0},
        {"cpu:4+cuda,x=1", 2, 3, 8, "cuda,x=1", 1},
        {"cpu:4+cuda,x=1", 2, 5, 8, "cuda,x=1", 0},
        {"cpu:4+cuda,x=1", 2, 7, 6, "cuda,x=1", 0},
        {"cuda:all+cuda,x=1", 2, 1, 8, "cuda,x=1", 1},
        {"cuda:0-1+cuda:2-3", 4, 1, 8, "cuda:2-3", 2},
        {"cuda:0-1+cuda:2-3", 4, 3, 8, "cuda:2-3", 3},
        {"cuda:0-1+vulkan:0-1", 2, 1, 8, "vulkan:0-1", 0},
    };
    uint32_t hosts[8];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char one[VLY_BACKEND_ONE_BYTES];
        vly_error error = VLY_ERROR_INIT;
        vly_backend_spec spec;
        assert_ok(
            vly_ranks_pick(cases[i].text, cases[i].rank, one, NULL, &error),
            error);
        assert_string_equal(one, cases[i].one);
        assert_ok(vly_backend_spec_parse(one, &spec, &error), error);
        uint32_t local = 0;
        for (uint32_t r = 0; r <= cases[i].rank; r++)
            hosts[r] = 3 + r / cases[i].per_host;
        assert_ok(vly_backend_spec_local(cases[i].text, hosts, cases[i].rank,
                                         &local, &error),
                  error);
        assert_int_equal(
            vly_backend_spec_deal(&spec, cases[i].n_devices, local),
            cases[i].device);
    }
    char text[VLY_BACKEND_ONE_BYTES + 8];
    char one[VLY_BACKEND_ONE_BYTES];
    uint32_t n = 0;
    vly_error error = VLY_ERROR_INIT;
    memset(text, 'x', sizeof text);
    memcpy(text, "cpu+", 4);
    text[sizeof text - 1] = 0;
    assert_ok(vly_ranks_pick(text, 2, one, &n, &error), error);
    assert_int_equal(n, 2);
    assert_string_equal(one, "cpu");
    assert_int_equal(vly_ranks_pick(text, 1, one, &n, &error), VLY_E_INVALID);
    n = 7;
    assert_int_equal(vly_backend_spec_local("cuda:x+cuda", hosts, 1, &n, NULL),
                     VLY_E_INVALID); /* hosts: all 3 */
    assert_int_equal(n, 7);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_good),         cmocka_unit_test(test_bad),
    cmocka_unit_test(test_long_options), cmocka_unit_test(test_device),
    cmocka_unit_test(test_number),       cmocka_unit_test(test_ranks),
};

VLY_TEST_MAIN(tests)
