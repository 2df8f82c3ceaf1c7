/* SPDX-License-Identifier: Apache-2.0 */
#include "program_nets.h"

#include <stdlib.h>

/* PAIR_SMALL: where kernels run on the processor (emulated_cuda.h). */
#if defined(PAIR_SMALL)
enum { PROGRAM_NEURONS = 60 };
#else
enum { PROGRAM_NEURONS = 700 };
#endif

void programs_add_area(test_net *net, programs *p, uint32_t k, uint32_t most)
{
    random_ir *ir = &p->ir[k];
    const uint32_t a = net->desc.n_areas++;
    const uint32_t n = most > 0 ? most : 1 + test_random(net, PROGRAM_NEURONS);
    p->words[k] = calloc((size_t)ir->n_coefs * n, sizeof(uint32_t));
    assert_non_null(p->words[k]);
    for (uint32_t c = 0; c < ir->n_coefs; c++) {
        uint32_t *words = p->words[k] + (size_t)c * n;
        for (uint32_t i = 0; i < n; i++)
            words[i] = random_ir_word(ir, ir->coef_types[c]);
        p->columns[k][c] = (vly_column){.words = words,
                                        .uniform = test_random(net, 3) > 0,
                                        .type = ir->coef_types[c]};
    }
    net->areas[a] = (vly_area_desc){.name = "own",
                                    .model = "random",
                                    .first = net->desc.n_neurons,
                                    .n_neurons = n,
                                    .n_ports = ir->n_ports,
                                    .scale = {0.0625f, 0.5f},
                                    .scale_more = {0.25f, 0.125f},
                                    .coefs = p->columns[k],
                                    .n_coefs = ir->n_coefs,
                                    .n_fields = ir->program.n_fields,
                                    .program = &ir->program};
    net->desc.n_neurons += n;
}

static void fill_state(test_net *net, programs *p)
{
    uint32_t *word = net->start.state;
    for (uint32_t a = 0; a < net->desc.n_areas; a++) {
        const vly_area_desc *area = &net->areas[a];
        random_ir *ir = NULL;
        for (uint32_t k = 0; k < PROGRAMS; k++)
            if (area->program == &p->ir[k].program)
                ir = &p->ir[k];
        for (uint32_t f = 0; f < area->n_fields; f++)
            for (uint32_t i = 0; i < area->n_neurons; i++, word++)
                if (ir != NULL)
                    *word = random_ir_word(ir, ir->field_types[f]);
    }
}

void programs_init(test_net *net, programs *p, uint64_t seed)
{
    static const uint32_t poisson[] = {0xa0000000u, 0xe0000000u, 0xfff00000u};
    uint32_t delta[6];
    uint32_t feagi[FEAGI_COEFS];
    test_net_init(net, seed);
    memset(p, 0, sizeof *p);
    for (uint32_t k = 0; k < PROGRAMS; k++) {
        random_ir_make(&p->ir[k], seed * PROGRAMS + k);
        if (seed % 3 == 0 && k != 1) /* of one, two, three and four ports */
            random_ir_ports(&p->ir[k], 3 + (uint32_t)(seed / 3 + k / 2) % 2);
        programs_add_area(net, p, k, 0);
        if (k != seed % PROGRAMS)
            continue;
        test_delta_coefs(delta, 0.9f, 2);
        test_area(net, "lif_psc_delta", 50, delta, 4);
        test_feagi_coefs(feagi);
        if (seed % 4 == 1)
            test_area(net, "feagi", 40, feagi, 0);
    }
    for (uint32_t a = 0; a < net->desc.n_areas; a++) {
        const uint32_t to = test_random(net, net->desc.n_areas);
        test_random_projection(net, a, to, 5, -20, 30, 1 + test_random(net, 3),
                               test_random(net, 3));
        net->projections[a].port = test_random(net, net->areas[to].n_ports);
        if (net->areas[to].n_ports == 2 && test_random(net, 2))
            net->projections[a].port = VLY_PORT_BY_SIGN;
        test_stimulus(net, a, poisson, 3, -2, 9, 0);
        net->stimuli[a].port = test_random(net, net->areas[a].n_ports);
    }
    test_net_finish(net);
    fill_state(net, p);
}

void programs_deinit(test_net *net, programs *p)
{
    for (uint32_t a = 0; a < net->desc.n_areas; a++)
        if (net->areas[a].program != NULL)
            net->areas[a].n_coefs = 0; /* not of test_cpu_net */
    for (uint32_t k = 0; k < PROGRAMS; k++)
        free(p->words[k]);
    test_net_deinit(net);
}

void programs_init_one_port(test_net *net, programs *p, uint64_t seed,
                            uint32_t n, int with)
{
    static const uint32_t poisson[] = {0xa0000000u, 0xe0000000u, 0xfff00000u};
    uint32_t delta[6];
    test_net_init(net, seed);
    memset(p, 0, sizeof *p);
    for (uint32_t k = 0; k < PROGRAMS; k++) {
        random_ir_make(&p->ir[k], seed * PROGRAMS + k);
        random_ir_ports(&p->ir[k], 1);
        programs_add_area(net, p, k, n);
        if (k != seed % PROGRAMS || (with & WITH_MODEL) == 0)
            continue;
        test_delta_coefs(delta, 0.9f, 2);
        test_area(net, "lif_psc_delta", 50, delta, 4);
    }
    for (uint32_t a = 0; a < net->desc.n_areas; a++) {
        const bool delays = (with & WITH_ONE_DELAY) == 0;
        test_random_projection(net, a, test_random(net, net->desc.n_areas), 5,
                               -20, 30, delays ? 1 + test_random(net, 3) : 2,
                               delays ? test_random(net, 3) : 0);
        test_stimulus(net, a, poisson, 3, -2, 9, 0);
    }
    if ((with & WITH_LEARNING) != 0) /* the last one; all delays are the same */
        test_random_projection(net, 0, test_random(net, net->desc.n_areas),
                               RULE_FAN, 0, 30, 1 + test_random(net, 3), 0);
    if (seed % 5 == 0 && (with & WITH_ONE_DELAY) == 0)
        pair_shift_maps(net, seed);
    test_net_finish(net);
    fill_state(net, p);
}
