/* SPDX-License-Identifier: Apache-2.0
 * A device that is lost: the same on every one.
 */
#include "test_pair_paths.h"

/* Every neuron fires in every burst. */
static void busy_net(test_net *net, uint32_t n)
{
    static const uint32_t never[] = {0xffffffffu};
    uint32_t coefs[6];
    test_net_init(net, 1);
    test_delta_coefs(coefs, 1.0f, 0);
    test_area(net, "lif_psc_delta", n, coefs, 8);
    test_stimulus(net, 0, never, 1, 256, 0, VLY_STIMULUS_ALWAYS);
    test_synapse(net, 0, 0, 0, 0, 1, 10);
    test_net_finish(net);
}

static vly_status create(const test_net *net, vly_backend_net **made,
                         vly_error *error)
{
    vly_device_spec device = {.struct_size = sizeof device, .n_threads = 1};
    return pair_cuda->net_create(&device, &net->desc, &net->start, made, error);
}

/* Last: afterwards the device is lost to this process. */
void pair_test_device_fails(void **state)
{
    (void)state;
    pair_open();
    test_net net;
    busy_net(&net, 100);
    vly_backend_net *made = pair_create(pair_cuda, &net, "fault=1", NULL);
    vly_run run = {.struct_size = sizeof run, .n_bursts = 5};
    vly_error first = {.struct_size = sizeof first};
    vly_error again = {.struct_size = sizeof again};
    assert_int_equal(pair_cuda->net_run(made, &run, &first), VLY_E_DEVICE);
    assert_int_equal(pair_cuda->net_run(made, &run, &again), VLY_E_DEVICE);
    print_message("%s\n%s\n", first.message, again.message);
    uint32_t word = 0;
    assert_int_equal(pair_cuda->field_read(made, 0, 0, 0, 1, &word, &again),
                     VLY_E_DEVICE);
    assert_string_equal(first.message, again.message);
    pair_cuda->net_destroy(made);
    made = NULL;
    assert_int_equal(create(&net, &made, &again), VLY_E_DEVICE);
    assert_null(made);
    assert_string_equal(first.message, again.message);
    made = pair_create(pair_cpu, &net, NULL, NULL);
    test_run whole;
    pair_run(pair_cpu, &net, made, 5, NULL, 0, &whole);
    test_run_deinit(&whole);
    pair_cpu->net_destroy(made);
    test_net_deinit(&net);
}
