/* SPDX-License-Identifier: Apache-2.0
 * Writing coefficients of a net, and device infos, without a device
 * (fake_cuda.c): a copy that fails changes nothing.
 */
#include "test_cpu_net.h"

#include <stdlib.h>

#define BACKEND test_backend

static uint64_t device_bytes(vly_backend_net *made)
{
    vly_error error = {.struct_size = sizeof error};
    vly_net_info info = {.struct_size = sizeof info};
    assert_ok(BACKEND->net_info(made, &info, &error), error);
    return info.device_bytes;
}

/* A column of one value a neuron whose copy fails: the room of the uniform
 * column stays, and the next write makes room again. */
static void coefficients_that_were_not_copied(void **state)
{
    (void)state;
    enum { N = 99 };
    static const uint32_t values[N] = {0};
    const vly_column column = {.words = values, .uniform = 0};
    uint32_t coefs[6];
    test_net net;
    vly_error error = {.struct_size = sizeof error};
    vly_backend_net *made = NULL;
    const vly_device_spec device = {
        .struct_size = sizeof device, .n_threads = 1, .options = "plan=global"};
    test_plugin_open();
    test_net_init(&net, 1);
    test_delta_coefs(coefs, 0.9f, 2);
    test_area(&net, "lif_psc_delta", N, coefs, 0);
    test_random_projection(&net, 0, 0, 2, -9, 9, 1, 0);
    test_net_finish(&net);
    assert_ok(
        BACKEND->net_create(&device, &net.desc, &net.start, &made, &error),
        error);
    const uint64_t before = device_bytes(made);
    setenv("FAKE_CUDA_COPY", "1", 1);
    vly_status status = BACKEND->coef_write(made, 0, 0, &column, &error);
    unsetenv("FAKE_CUDA_COPY");
    assert_int_equal(status, VLY_E_DEVICE);
    assert_true(device_bytes(made) == before);
    assert_ok(BACKEND->coef_write(made, 0, 0, &column, &error), error);
    assert_true(device_bytes(made) == before + sizeof values);
    /* room that is there is used again */
    assert_ok(BACKEND->coef_write(made, 0, 0, &column, &error), error);
    assert_true(device_bytes(made) == before + sizeof values);
    BACKEND->net_destroy(made);
    test_net_deinit(&net);
}

static void device_infos(void **state)
{
    (void)state;
    vly_error error = {.struct_size = sizeof error};
    vly_device_info info = {.struct_size = sizeof info - 1};
    test_plugin_open();
    assert_int_equal(BACKEND->device_info(0, NULL, &error), VLY_E_INVALID);
    assert_int_equal(BACKEND->device_info(0, &info, &error), VLY_E_INVALID);
    assert_non_null(strstr(error.message, "device info: struct_size is "));
    info.struct_size = sizeof info;
    assert_int_equal(BACKEND->device_info(2, &info, &error), VLY_E_DEVICE);
    assert_ok(BACKEND->device_info(1, &info, &error), error);
    assert_string_equal(info.name, "no device");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coefficients_that_were_not_copied),
        cmocka_unit_test(device_infos),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
