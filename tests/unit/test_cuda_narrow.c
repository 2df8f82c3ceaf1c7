/* SPDX-License-Identifier: Apache-2.0
 * When the partitioned plan of the CUDA backend takes sums of 16 bits, and how
 * large it is then: the planner on the fake device (fake_cuda.c), of the
 * size of an H200. Where the proof does not hold, or more is in the net than it
 * is about, sums are of 32 bits. No spike is computed here.
 */
#include "volley_test.h"

#include <pthread.h>
#include <stdlib.h>

#include "backends/cuda/cuda_fit.h"
#include "backends/cuda/cuda_net.h"
#include "fake_cuda.h"
#include "kernels/cuda/narrow_sums.h"
#include "kernels/cuda/partition_layout.h"

enum { UNITS = 132, AREAS = 3, MAPS = 4 };

/* ---- a host ------------------------------------------------------------ */

static void *host_alloc(void *context, uint64_t bytes, uint64_t align)
{
    (void)context;
    return aligned_alloc((size_t)align,
                         (size_t)((bytes + align - 1) / align * align));
}

static void host_free(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static uint32_t n_threaded; /* calls that made threads */
static bool has_threads = true;

static vly_status host_parallel_for(void *context, uint32_t n_tasks,
                                    void (*body)(void *arg, uint32_t task),
                                    void *arg)
{
    (void)context;
    n_threaded++;
    if (!has_threads)
        return VLY_E_NOMEM;
    for (uint32_t i = n_tasks; i > 0; i--) /* in another order */
        body(arg, i - 1);
    return VLY_OK;
}

static const vly_host host = {.struct_size = sizeof(vly_host),
                              .abi_version = VLY_ABI_VERSION,
                              .alloc = host_alloc,
                              .free = host_free,
                              .parallel_for = host_parallel_for};

/* ---- nets -------------------------------------------------------------- */

/* As much of a net as the planner looks at. */
typedef struct small_net {
    vly_area_desc areas[AREAS];
    vly_projection_desc maps[MAPS];
    uint64_t *row[MAPS];
    uint32_t *target[MAPS];
    int16_t *weight[MAPS];
    vly_net_desc desc;
    vly_backend_net net;
    vly_cuda_shard shard;
} small_net;

static void add_area(small_net *made, uint32_t n)
{
    vly_net_desc *desc = &made->desc;
    made->areas[desc->n_areas++] =
        (vly_area_desc){.first = desc->n_neurons, .n_neurons = n, .n_ports = 1};
    desc->n_neurons += n;
}

/* Each neuron of `from` has `fan` synapses to those after `to * its number`, of
 * the weight low + (number % n) * step. Returns the map. */
static uint32_t add_map(small_net *made, uint32_t from, uint32_t to,
                        uint32_t fan, int32_t low, int32_t step, uint32_t n)
{
    const uint32_t m = made->desc.n_projections++;
    const vly_area_desc *source = &made->areas[from];
    const vly_area_desc *target = &made->areas[to];
    uint64_t total = (uint64_t)source->n_neurons * fan;
    made->row[m] = calloc(source->n_neurons + 1u, sizeof(uint64_t));
    made->target[m] = calloc(total + 1, sizeof(uint32_t));
    made->weight[m] = calloc(total + 1, sizeof(int16_t));
    assert_true(fan <= target->n_neurons);
    for (uint32_t s = 0; s < source->n_neurons; s++) {
        made->row[m][s + 1] = (uint64_t)(s + 1) * fan;
        for (uint32_t k = 0; k < fan; k++) {
            uint64_t i = (uint64_t)s * fan + k;
            made->target[m][i] = target->first + k;
            made->weight[m][i] = (int16_t)(low + (int32_t)(i % n) * step);
        }
    }
    made->maps[m] = (vly_projection_desc){.source_area = from,
                                          .target_area = to,
                                          .row = made->row[m],
                                          .target = made->target[m],
                                          .weight = made->weight[m],
                                          .base_delay = 1};
    made->desc.n_synapses += total;
    return m;
}

static void start_net(small_net *made, uint32_t narrow)
{
    memset(made, 0, sizeof *made);
    vly_net_desc *desc = &made->desc;
    desc->area_size = sizeof(vly_area_desc);
    desc->projection_size = sizeof(vly_projection_desc);
    desc->areas = made->areas;
    desc->projections = made->maps;
    desc->max_delay = 1;
    made->shard.net = &made->net;
    made->shard.store.fixed = desc;
    made->net.desc = desc;
    made->net.shards = &made->shard;
    made->net.n_shards = 1;
    made->net.wanted.once = VLY_CUDA_AUTO;
    made->net.wanted.post = VLY_CUDA_AUTO;
    made->net.wanted.deal = VLY_CUDA_AUTO;
    made->net.wanted.narrow = narrow;
    made->shard.n_units = UNITS;
}

/* Chooses; the reason why not, or NULL. */
static const char *fit(small_net *made, uint32_t cluster)
{
    const char *why = NULL;
    vly_error error = {.struct_size = sizeof error};
    vly_cuda_view *view = &made->shard.view;
    view->n_neurons = made->desc.n_neurons;
    view->n_own = made->desc.n_neurons;
    view->n_areas = made->desc.n_areas;
    view->n_ports = 1;
    view->max_delay = made->desc.max_delay;
    for (uint32_t a = 0; a < made->desc.n_areas; a++)
        if (made->areas[a].n_ports > view->n_ports)
            view->n_ports = made->areas[a].n_ports;
    memset(&made->shard.partition, 0, sizeof made->shard.partition);
    assert_ok(
        vly_cuda_partition_fit(&made->shard, cluster, 0, UNITS, &why, &error),
        error);
    return why;
}

static void end_net(small_net *made)
{
    vly_common_release_all(&made->shard.heap);
    for (uint32_t m = 0; m < MAPS; m++) {
        free(made->row[m]);
        free(made->target[m]);
        free(made->weight[m]);
    }
}

/* ---- whether ----------------------------------------------------------- */

/* 1 if sums of 16 bits were taken for one area with weights like these */
static uint32_t is_narrow(uint32_t n, uint32_t fan, int32_t low, int32_t step,
                          uint32_t n_weights, uint32_t *divisor)
{
    small_net made;
    start_net(&made, 1);
    add_area(&made, n);
    add_map(&made, 0, 0, fan, low, step, n_weights);
    assert_null(fit(&made, 0));
    uint32_t narrow = made.shard.partition.narrow;
    *divisor = narrow != 0 ? made.shard.divisors[0] : 0;
    end_net(&made);
    return narrow;
}

static void test_by_weights(void **state)
{
    (void)state;
    uint32_t g = 0;
    /* 300 synapses a neuron of one weight, of both signs, and of a multiple */
    assert_int_equal(is_narrow(300, 300, 20972, 0, 1, &g), 1);
    assert_int_equal(g, 20972);
    assert_int_equal(is_narrow(300, 300, 20972, -2 * 20972, 2, &g), 1);
    assert_int_equal(g, 20972);
    assert_int_equal(is_narrow(300, 300, -32765, 39318, 2, &g), 1);
    assert_int_equal(g, 6553);
    /* the border: 4,681 times 7 is 32,767 */
    assert_int_equal(is_narrow(4681, 4681, 7 * 3, 0, 1, &g), 1);
    assert_int_equal(g, 21);
    assert_int_equal(is_narrow(4681, 4681, 7, -14, 2, &g), 1);
    assert_int_equal(g, 7);
    /* -32768 alone is one of -1 */
    assert_int_equal(is_narrow(200, 1, -32768, 0, 1, &g), 1);
    assert_int_equal(g, 32768);
    /* no divisor: 300 of about 10,000 are too many, 3 of 10,922 are not */
    assert_int_equal(is_narrow(300, 300, 10000, 1, 2, &g), 0);
    assert_int_equal(is_narrow(3, 3, 10922, 0, 1, &g), 1);
    /* a synapse holds a weight of 16,383 */
    assert_int_equal(is_narrow(2, 1, 2, -32768, 2, &g), 1);
    assert_int_equal(g, 2);
    assert_int_equal(is_narrow(2, 1, 1, 16382, 2, &g), 1);
    assert_int_equal(g, 1);
    assert_int_equal(is_narrow(2, 1, 1, 16383, 2, &g), 0);
    assert_int_equal(is_narrow(200, 3, 0, 0, 1, &g), 1); /* all are 0 */
    assert_int_equal(g, 1);
}

/* A load of exactly 32,767 and of one more, by two maps of different sign. */
static void test_border(void **state)
{
    (void)state;
    for (int32_t more = 0; more < 3; more++) {
        small_net made;
        start_net(&made, 1);
        add_area(&made, 200);
        add_area(&made, 2);
        add_map(&made, 1, 0, 1, 16333, 1, 2); /* and 16334 */
        add_map(&made, 0, 0, 1, 0, 0, 1);
        made.weight[1][7] = -100;
        made.weight[1][9] = (int16_t)(more == 1 ? 1 : more == 2 ? -1 : 0);
        assert_null(fit(&made, 0));
        assert_int_equal(made.shard.partition.narrow, more == 0);
        end_net(&made);
    }
}

/* Each area has its divisor; the sums of all have to fit. */
static void test_areas(void **state)
{
    (void)state;
    small_net made;
    start_net(&made, 1);
    add_area(&made, 500);
    add_area(&made, 33);
    add_area(&made, 100);
    add_map(&made, 0, 0, 40, 6000, -12000, 2);
    add_map(&made, 1, 0, 500, 9000, 0, 1);
    add_map(&made, 0, 1, 33, -77, 0, 1);
    assert_null(fit(&made, 0));
    assert_int_equal(made.shard.partition.narrow, 1);
    assert_int_equal(made.shard.divisors[0], 3000);
    assert_int_equal(made.shard.divisors[1], 77);
    assert_int_equal(made.shard.divisors[2], 1); /* no synapse ends there */
    add_map(&made, 2, 2, 100, 400, 1, 2);
    assert_null(fit(&made, 0));
    assert_int_equal(made.shard.partition.narrow, 0);
    end_net(&made);
}

/* The plan does not pack a mutable projection: neither its weights nor its
 * delays count. */
static void test_fixed(void **state)
{
    (void)state;
    small_net made;
    start_net(&made, 1);
    add_area(&made, 500);
    add_map(&made, 0, 0, 40, 6000, -12000, 2);
    const vly_net_desc fixed = made.desc;
    uint32_t m = add_map(&made, 0, 0, 100, 400, 1, 2);
    assert_null(fit(&made, 0));
    assert_int_equal(made.shard.partition.narrow, 0); /* its weights */
    made.shard.store.fixed = &fixed;
    assert_null(fit(&made, 0));
    assert_int_equal(made.shard.partition.narrow, 1);
    assert_int_equal(made.shard.divisors[0], 6000);
    made.maps[m].base_delay = 5;
    made.desc.max_delay = 5;
    assert_null(fit(&made, 0));
    assert_int_equal(made.shard.partition.ring, 1);
    made.shard.store.fixed = &made.desc;
    assert_null(fit(&made, 0));
    assert_int_equal(made.shard.partition.ring, 5);
    end_net(&made);
}

/* The proof is the same on threads, one after the other, and without them. */
static void test_threads(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        small_net made;
        start_net(&made, 1);
        add_area(&made, 2000);
        add_area(&made, 5); /* fewer than tasks */
        add_map(&made, 0, 0, 600, 50, -100, 2);
        add_map(&made, 0, 1, 5, 15, 0, 1);
        if (i % 2 == 1) /* into one neuron of one thread */
            made.weight[0][600 * 1999 + 599] = 32767;
        has_threads = i < 2;
        n_threaded = 0;
        assert_null(fit(&made, 0));
        assert_true(n_threaded > 0);
        assert_int_equal(made.shard.partition.narrow, i % 2 == 0);
        if (i % 2 == 0) {
            assert_int_equal(made.shard.divisors[0], 50);
            assert_int_equal(made.shard.divisors[1], 15);
        }
        has_threads = true;
        end_net(&made);
    }
}

enum { CASE_OFF, CASE_DELAYS, CASE_TWO_DELAYS, CASE_ONCE, CASE_WORSE, N_CASES };

/* What else is in the way: refused as ever, or sums of 32 bits. */
static void test_not_taken(void **state)
{
    (void)state;
    static const uint8_t delay[2] = {0, 3};
    for (uint32_t i = 0; i < N_CASES; i++) {
        small_net made;
        start_net(&made, i == CASE_OFF     ? 0
                         : i == CASE_WORSE ? VLY_CUDA_AUTO
                                           : 1);
        add_area(&made, 1000);
        add_map(&made, 0, 0, 30, 100, 0, 1);
        if (i == CASE_DELAYS) {
            made.maps[0].delay = delay; /* only its range is looked at */
            made.maps[0].delay_max = 3;
            made.desc.max_delay = 4;
        }
        if (i == CASE_TWO_DELAYS) {
            add_map(&made, 0, 0, 30, 100, 0, 1);
            made.maps[1].base_delay = 2;
            made.desc.max_delay = 2;
        }
        if (i == CASE_ONCE)
            made.net.wanted.once = 50;
        assert_null(fit(&made, 2));
        assert_int_equal(made.shard.partition.narrow, 0);
        assert_null(made.shard.divisors);
        end_net(&made);
    }
    small_net made;
    start_net(&made, 1);
    add_area(&made, 1000);
    add_map(&made, 0, 0, 30, 100, 0, 1);
    made.areas[0].n_ports = 2;
    assert_non_null(fit(&made, 0));
    made.areas[0].n_ports = 1;
    made.areas[0].flags = VLY_AREA_FEAGI;
    assert_non_null(fit(&made, 0));
    end_net(&made);
}

/* ---- sizes ------------------------------------------------------------- */

typedef struct size_case {
    uint32_t n;
    uint32_t row; /* synapses of a neuron */
    uint32_t cluster;
    uint32_t narrow; /* as wanted; below as chosen */
    uint32_t is_narrow;
    uint32_t wanted_cluster;
} size_case;

/* Every neuron has a place of its own, in shared memory that there is. */
static void check_sizes(const small_net *made)
{
    const vly_cuda_partition *p = &made->shard.partition;
    const vly_cuda_view *view = &made->shard.view;
    uint64_t bytes = partition_dynamic(view, p) + partition_static();
    assert_true(bytes <= FAKE_CUDA_SHARED);
    assert_true(p->n_slices * p->cluster <= UNITS);
    assert_true((uint64_t)p->n_slices * p->slice >= view->n_neurons);
    assert_true(p->n_tiles * (uint64_t)p->tile >= view->n_neurons);
    assert_int_equal(p->slice % p->tile, 0);
    assert_true((uint64_t)p->n_slices * (p->slice / p->tile) >= p->n_tiles);
    if (p->narrow == 0)
        return;
    assert_true(p->slice <= VLY_NARROW_PLACES);
    assert_int_equal(p->tile % VLY_NARROW_PAIR, 0);
    assert_int_equal(p->ring, 1);
    assert_int_equal(p->n_groups, 1);
    assert_int_equal(p->once, 0);
    assert_int_equal(partition_words(p) % 4, 0); /* cleared by 16 bytes */
    assert_int_equal(partition_words(p), p->slice / 2);
}

static void test_sizes(void **state)
{
    (void)state;
    static const size_case cases[] = {
        {1000000, 1000, 0, 0, 0, 4},
        {1000000, 1000, 8, 1, 1, 8},
        {1000000, 1000, 0, 1, 1, 8},
        {4000000, 1000, 0, 0, 0, 2},
        {4000000, 1000, 0, 1, 1, 2},
        {4000000, 1000, 0, VLY_CUDA_AUTO, 1, 2},
        {4000000, 1000, 1, 1, 1, 1},
        {4324320, 1000, 2, 1, 1, 2},
        {4325376, 1000, 2, 1, 1, 2},
        {4325377, 1000, 2, 1, 1, 1},
        {7000000, 1000, 0, 0, 0, 1},
        {7000000, 1000, 0, 1, 1, 1},
        {8633856, 500, 0, 1, 1, 1},
        {8633856, 500, 0, VLY_CUDA_AUTO, 1, 1},
        /* what is not asked for: by what 32 bits take of shared memory, in
         * slices of four blocks, two and one */
        {1000000, 1000, 0, VLY_CUDA_AUTO, 0, 4},
        {1300000, 1000, 0, VLY_CUDA_AUTO, 0, 4},
        {1900000, 1000, 0, VLY_CUDA_AUTO, 1, 4},
        {2200000, 1000, 0, VLY_CUDA_AUTO, 0, 2},
        {2700000, 1000, 0, VLY_CUDA_AUTO, 0, 2},
        {3000000, 1000, 0, VLY_CUDA_AUTO, 1, 2},
        {3500000, 1000, 0, VLY_CUDA_AUTO, 1, 2},
        {5000000, 1000, 0, VLY_CUDA_AUTO, 0, 1},
        {7000000, 1000, 0, VLY_CUDA_AUTO, 1, 1},
        {3999999, 1000, 2, 1, 1, 2},
        {100001, 1000, 4, 1, 1, 4},
        {33, 3, 1, 1, 1, 1},
        {1, 1, 0, 1, 1, 1},
    };
    fake_cuda_units = UNITS;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_case *c = &cases[i];
        small_net made;
        start_net(&made, c->narrow);
        add_area(&made, c->n);
        add_map(&made, 0, 0, 1, 7, 0, 1);
        for (uint32_t s = 0; s < c->n; s++)
            made.target[0][s] = s;
        made.desc.n_synapses = (uint64_t)c->n * c->row; /* as sizes see it */
        assert_null(fit(&made, c->cluster));
        const vly_cuda_partition *p = &made.shard.partition;
        uint64_t bytes =
            partition_dynamic(&made.shard.view, p) + partition_static();
        print_message("%u x %u, narrow=%d: %u slices of %u blocks, %u places "
                      "of %u bits, %u once, %u bytes of shared memory\n",
                      c->n, c->row, (int)c->narrow, p->n_slices, p->cluster,
                      p->slice, p->narrow ? 16 : 32, p->once, (unsigned)bytes);
        check_sizes(&made);
        assert_int_equal(p->narrow, c->is_narrow);
        assert_int_equal(p->cluster, c->wanted_cluster);
        if (c->is_narrow && c->cluster == 2 && c->n < 4100000 &&
            c->n > 3900000) { /* the case that this was made for */
            assert_int_equal(p->n_slices, 66);
            assert_true(bytes < 125000);
        }
        end_net(&made);
    }
    /* a block counts its spikes in 16 bits: one tile more is too many */
    small_net made;
    start_net(&made, 1);
    add_area(&made, 8633857);
    add_map(&made, 0, 0, 1, 7, 0, 1);
    assert_non_null(fit(&made, 0));
    end_net(&made);
}

/* ---- places ------------------------------------------------------------ */

/* The neurons that the blocks update, as partition_update.cuh reads them, and
 * the places that synapses of theirs have: the same words, each once. */
static void check_places(const small_net *made, uint32_t *seen)
{
    const vly_cuda_partition *p = &made->shard.partition;
    const uint32_t n = made->desc.n_neurons; /* of one area */
    uint32_t n_seen = 0;
    for (uint32_t b = 0; b < p->n_slices * p->cluster; b++) {
        const uint32_t slice = b / p->cluster;
        const uint32_t rank = b % p->cluster;
        for (uint32_t q = 0;; q++) {
            const uint32_t tile = partition_tile(p, slice, rank, q);
            if (tile >= p->n_tiles)
                break;
            const uint32_t word = (rank + q * p->cluster) * p->tile / 2;
            for (uint32_t i = 0; i < p->tile; i++) {
                const uint32_t id = tile * p->tile + i;
                if (id >= n)
                    break;
                const neuron_place to = place_neuron(p, 0, id, 0);
                assert_int_equal(to.slice, slice);
                assert_int_equal(to.rank, rank);
                assert_int_equal(to.extra, id);
                assert_true(to.at < p->slice);
                /* row i / 32 of lane i % 32: two rows in a word */
                assert_int_equal(to.at / 2, word + i / 64 * 32 + i % 32);
                assert_int_equal(to.at % 2, i / 32 % 2);
                assert_true(to.at / 2 < partition_words(p));
                assert_int_equal(seen[slice * p->slice + to.at]++, 0);
                n_seen++;
            }
        }
    }
    assert_int_equal(n_seen, n);
}

static void test_places(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 63, 64, 65, 1000, 30011, 400009};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint32_t cluster = 1; cluster <= 8; cluster *= 2) {
            small_net made;
            start_net(&made, 1);
            add_area(&made, sizes[i]);
            add_map(&made, 0, 0, 1, 7, 0, 1);
            for (uint32_t s = 0; s < sizes[i]; s++)
                made.target[0][s] = s;
            assert_null(fit(&made, cluster));
            const vly_cuda_partition *p = &made.shard.partition;
            if (p->narrow == 0)
                fail_msg("%u neurons, %u blocks", sizes[i], cluster);
            uint32_t *seen =
                calloc((uint64_t)p->n_slices * p->slice, sizeof *seen);
            assert_non_null(seen);
            check_places(&made, seen);
            free(seen);
            end_net(&made);
        }
}

int main(void)
{
    vly_support_host = &host;
    fake_cuda_units = UNITS;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_weights), cmocka_unit_test(test_border),
        cmocka_unit_test(test_areas),      cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_threads),    cmocka_unit_test(test_not_taken),
        cmocka_unit_test(test_sizes),      cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
