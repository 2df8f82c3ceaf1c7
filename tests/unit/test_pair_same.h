/* SPDX-License-Identifier: Apache-2.0
 * A backend gives what the reference gives: tests of every device. What is the
 * device's own, its options and what each kind of net may ask of it, is in the
 * file that has main.
 */
#ifndef VOLLEY_TEST_PAIR_SAME_H
#define VOLLEY_TEST_PAIR_SAME_H

#include "test_cuda_pair.h"

typedef struct pair_kind {
    void (*make)(test_net *net, uint64_t seed);
    const char *usual;          /* option where one is enough */
    const char *const *options; /* [n_options], which must change nothing */
    uint32_t n_options;
    uint32_t n_nets; /* with an option each */
    uint32_t n_few;  /* in pieces, and swapped */
} pair_kind;

/* Defined beside main. */
typedef struct pair_setup {
    uint32_t n_bursts;
    bool on_processor; /* half of the nets, or each with VOLLEY_TEST_WHOLE */
    pair_kind kinds[2];
    const char *log_options[2]; /* of nets whose log has to grow */
    uint32_t log_delays;        /* of them, beyond the first */
} pair_setup;
extern const pair_setup pair_same;

/* nets: the reference's and the device's. Each fails where they differ. */
void pair_create_both(const test_net *net, const char *option,
                      vly_backend_net *nets[2]);
void pair_destroy_both(vly_backend_net *const nets[2]);
/* Returns the spikes. */
uint64_t pair_run_both(const test_net *net, vly_backend_net *const nets[2],
                       uint64_t n, const vly_input *inputs, uint64_t n_inputs);
void pair_assert_state(vly_backend_net *const nets[2]);

void pair_test_random_nets(void **state);
void pair_test_pieces(void **state);
void pair_test_swap(void **state);
void pair_test_log_grows(void **state);
void pair_test_area_spikes(void **state);
void pair_test_writes(void **state);

#define PAIR_SAME_TESTS                                                        \
    cmocka_unit_test(pair_test_random_nets),                                   \
        cmocka_unit_test(pair_test_pieces), cmocka_unit_test(pair_test_swap),  \
        cmocka_unit_test(pair_test_log_grows),                                 \
        cmocka_unit_test(pair_test_area_spikes),                               \
        cmocka_unit_test(pair_test_writes)

#endif
