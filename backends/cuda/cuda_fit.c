/* SPDX-License-Identifier: Apache-2.0
 * The partitioned plan: decides whether a net fits, the number of slices, the
 * blocks per slice, and the width of sums. It uses sizes and the predicted time
 * of a burst; cuda_narrow.c proves whether 16 bits are enough.
 */
#include "cuda_fit.h"

#include <assert.h>

#include "kernels/cuda/narrow_sums.h"

#include "backends/common/common_ranks.h"
#include "cuda_error.h"
#include "cuda_narrow.h"
#include "cuda_net.h"
#include "cuda_options.h"

#define MIN_NEURONS 128u /* per block: fewer are not worth an exchange */
#define SHARE_FIRED 0.01 /* assumed share of neurons that fire in a burst */
/* Instructions of an update: estimates of which only the ratio matters. */
#define TURN_COST 150u
/* In a span. With it 1 M neurons on two H200 have two turns of four neurons
 * and not three of two, and take 24.8 and 25.0 us a burst instead of 25.2
 * (bench/results/cuda.csv). */
#define SPAN_TURN_COST 300u
#define NEURON_COST 100u
/* Bytes per nanosecond from the second-level cache to all multiprocessors, and
 * from the shared memory of a neighbour to one: assumed, not measured. With
 * them the fastest of 1, 2, 4 blocks is chosen for 1 M x 1000 on an H200
 * (bench/README.md). In a span the latter is that of the updates of 1 M x 1000
 * on two H100 with 3, 5, 6, 8 blocks (bench/results/cuda.csv), of which the
 * fastest is chosen. */
#define CACHE_BYTES_NS 5500.0
#define REMOTE_BYTES_NS 40.0
#define SPAN_REMOTE_BYTES_NS 28.0
/* Increments per nanosecond of a block in the shared memory of another one: for
 * 4 M x 1000, storing 60 instead of 11 percent of a slice only once took 45 us
 * more on an H200. */
#define AWAY_NS 1.6
#define SECTOR 32.0
/* Accumulators beyond so many bytes leave the first-level cache 28 KB, in which
 * every outstanding load needs a line; rows then take CROWDED times as long. On
 * two H100, 2% of 8 M neurons with rows of 500, a burst took 422 us with
 * clusters of three (204 KB of shared memory) and 340 with clusters of two (122
 * KB), where the other terms predict 0.77 of the time (bench/results/cuda.csv).
 */
#define CROWDED_BYTES 200000.0
#define CROWDED 1.63
/* Of the time of a burst with sums of 32 bits, from which on a span takes 16.
 */
#define SPAN_GAIN 0.9
/* Parts of rows are posted with the ids if a block has so many spikes at 1%:
 * with fewer spikes the exchange loses more time than delivery gains. */
#define POST_SPIKES 128u
/* In a span, which posts after the gate, a burst of fewer spikes a block posts
 * nothing: half of the above, not measured. */
#define POST_LEAST 64u
#define POST_SHARE 8u   /* at most one in so many of a block's neurons */
#define POST_BYTES 0.04 /* at most so many bytes per synapse */
/* number of turns (32 spikes of a warp) from which turns are taken from a
 * counter */
#define DEALT_TURNS 8u
/* Limit of bytes per synapse, in addition to FREE_BYTES for the whole net. */
#define MOST_BYTES 16.0
#define FREE_BYTES 268435456.0
#define MOST_UNITS 4.0e9 /* units are counted in 32 bits */
/* Limit of bytes per synapse for units, everything included: without and with
 * delays. */
#define SYNAPSE_BYTES 4.58
#define DELAYED_BYTES 5.58

/* ---- sizes ------------------------------------------------------------- */

typedef struct delay_range {
    uint32_t first; /* shortest delay */
    uint32_t n;     /* number of delays from it to the longest */
} delay_range;

static delay_range find_delays(const vly_net_desc *desc)
{
    uint32_t low = UINT32_MAX;
    uint32_t high = 1;
    for (uint32_t i = 0; i < desc->n_projections; i++) {
        const vly_projection_desc *p = vly_cuda_projection_desc(desc, i);
        uint32_t most = p->base_delay + (p->delay ? p->delay_max : 0);
        low = p->base_delay < low ? p->base_delay : low;
        high = most > high ? most : high;
    }
    low = low < high ? low : high;
    return (delay_range){low, high - low + 1};
}

static uint64_t own_tiles(const vly_net_desc *desc, uint32_t a, uint32_t tile)
{
    uint32_t low;
    uint32_t high;
    vly_common_own_part(desc, a, &low, &high);
    return ((uint64_t)high - low + tile - 1) / tile;
}

static uint32_t count_tiles(const vly_net_desc *desc, uint32_t tile)
{
    uint64_t n = 0;
    for (uint32_t a = 0; a < desc->n_areas; a++)
        n += own_tiles(desc, a, tile);
    return n < UINT32_MAX / tile ? (uint32_t)n : UINT32_MAX / tile;
}

static uint32_t divide_up(uint32_t n, uint32_t by)
{
    return n / by + (n % by != 0);
}

/* Chooses the size of tiles that minimizes the time of the warps of a block: a
 * turn has a cost of its own, plus NEURON_COST for each neuron of a lane. */
static void choose_tile(const vly_cuda_shard *shard, uint32_t n_slices,
                        vly_cuda_partition *made)
{
    uint32_t best = UINT32_MAX;
    uint32_t turn = shard->net->n_shards > 1 ? SPAN_TURN_COST : TURN_COST;
    uint32_t warps = VLY_CUDA_THREADS / 32;
    uint32_t step = made->narrow ? 2 : 1; /* a word has two rows */
    for (uint32_t rows = step; rows <= VLY_CUDA_TILE_ROWS; rows += step) {
        uint32_t n = count_tiles(shard->store.fixed, 32 * rows);
        uint32_t own = divide_up(divide_up(n, n_slices), made->cluster);
        uint32_t cost = divide_up(own, warps) * (turn + NEURON_COST * rows);
        if (cost < best) {
            best = cost;
            made->tile = 32 * rows;
            made->n_tiles = n;
        }
    }
}

/* For a pair of blocks: accumulators that do not fit twice are stored once, at
 * least the percentage of the option. */
static void set_once(const vly_cuda_shard *shard, uint32_t tiles,
                     uint64_t shared_bytes, vly_cuda_partition *made)
{
    uint32_t own = divide_up(tiles, 2); /* tiles that a block updates */
    uint32_t percent =
        shard->net->wanted.once == VLY_CUDA_AUTO ? 0 : shard->net->wanted.once;
    uint32_t once = (uint32_t)((uint64_t)own * percent / 100);
    made->slice = 2 * own * made->tile;
    uint64_t all = vly_cuda_partition_bytes(&shard->view, made);
    if (all > shared_bytes && shard->net->wanted.once != 0) {
        uint32_t tile_bytes = made->tile * (uint32_t)sizeof(uint32_t);
        uint64_t over = (all - shared_bytes + tile_bytes - 1) / tile_bytes;
        once = over > once ? (uint32_t)(over < own ? over : own) : once;
    }
    if (once > 0)
        made->once = once * made->tile;
    else
        made->slice = tiles * made->tile;
}

/* Sizes for clusters of so many blocks; false if the net does not fit. */
static bool set_sizes(const vly_cuda_shard *shard, delay_range delays,
                      uint32_t n_slices, uint64_t shared_bytes,
                      vly_cuda_partition *made)
{
    choose_tile(shard, n_slices, made);
    n_slices = n_slices < made->n_tiles ? n_slices : made->n_tiles;
    uint32_t tiles = divide_up(made->n_tiles, n_slices);
    made->n_slices = n_slices;
    made->n_blocks = n_slices * made->cluster;
    made->own_slices = n_slices;
    made->slice = tiles * made->tile * made->sets;
    made->mail_room = divide_up(tiles, made->cluster) * made->tile;
    made->ring = 1;
    made->n_groups = 1;
    /* Half of the places on one device: more of them would take over 131 KB of
     * shared memory from the first-level cache, which was not measured there.
     */
    uint32_t most =
        shard->net->n_shards > 1 ? VLY_NARROW_PLACES : VLY_NARROW_PLACES / 2;
    if (made->narrow)
        return made->slice <= most && made->mail_room <= 65535 &&
               vly_cuda_partition_bytes(&shard->view, made) <= shared_bytes;
    if (made->cluster == 2 && delays.n == 1 && made->sets == 1 &&
        shard->net->n_shards == 1)
        set_once(shard, tiles, shared_bytes, made);
    uint64_t one = vly_cuda_partition_bytes(&shard->view, made);
    uint32_t places = made->slice + (made->once > 0 ? VLY_CUDA_PAIR_PLACE : 0);
    if (one > shared_bytes || places > 65536 || made->mail_room > 65535)
        return false;
    uint64_t more = (shared_bytes - one) / (made->slice * sizeof(uint32_t));
    more = more < 65536 / made->slice - 1 ? more : 65536 / made->slice - 1;
    made->n_groups =
        delays.n <= more + 1 ? 1 : divide_up(delays.n, (uint32_t)more + 1);
    made->ring = divide_up(delays.n, made->n_groups);
    return true;
}

/* Nanoseconds of a burst that depend on the choice: reading rows, in sectors,
 * and reading copies in a cluster. */
static double predict_ns(const vly_cuda_shard *shard,
                         const vly_cuda_partition *partition)
{
    double n = shard->store.fixed->n_neurons;
    double n_shards = shard->net->n_shards;
    double spikes = n * SHARE_FIRED;
    double row =
        (double)shard->store.fixed->n_synapses / (n > 0.0 ? n : 1.0) / n_shards;
    double parts = (double)partition->n_slices * partition->n_groups / n_shards;
    double sectors = row * 4.0 + parts * 2.0 * SECTOR;
    double bytes = partition->narrow ? sizeof(int16_t) : sizeof(uint32_t);
    double copies = (double)(partition->cluster - 1) / partition->cluster *
                    partition->slice / partition->sets * bytes;
    double away = spikes * row * n_shards / partition->n_slices /
                  partition->cluster * partition->once / partition->slice;
    double remote = REMOTE_BYTES_NS;
    double slower = 1.0; /* on one device not measured */
    if (n_shards > 1) {
        remote = SPAN_REMOTE_BYTES_NS;
        /* multiprocessors without a block read nothing */
        slower = shard->n_units * n_shards / partition->n_blocks;
        if (bytes * partition->ring * partition->slice > CROWDED_BYTES)
            slower *= CROWDED;
    }
    return spikes * sectors * slower / CACHE_BYTES_NS + copies / remote +
           away / AWAY_NS;
}

/* Bytes per synapse if parts of rows are padded to units. */
static double predict_bytes(const vly_cuda_shard *shard,
                            const vly_cuda_partition *partition, uint32_t unit)
{
    double n =
        shard->store.fixed->n_neurons > 0 ? shard->store.fixed->n_neurons : 1.0;
    double row = (double)shard->store.fixed->n_synapses / n;
    double parts = (double)partition->n_slices * partition->n_groups;
    double filled = row < parts ? row : parts; /* number of parts that are not
                                                * empty */
    double words = row + filled * 0.5 * (unit - 1);
    uint32_t n_shards = shard->net->n_shards;
    uint32_t own = divide_up(partition->n_slices, n_shards);
    double index = (double)partition->n_groups * n_shards *
                   divide_up(own, VLY_CUDA_INDEX_PARTS) *
                   (double)sizeof(vly_cuda_index_word);
    return row > 0.0 ? (words * 4.0 + index) / row : 4.0;
}

/* Synapses per read: as many as the memory limit allows. */
static uint32_t choose_unit(const vly_cuda_shard *shard,
                            const vly_cuda_partition *partition)
{
    double limit = partition->ring * partition->n_groups > 1 ? DELAYED_BYTES
                                                             : SYNAPSE_BYTES;
    double synapses =
        (double)shard->store.fixed->n_synapses / shard->net->n_shards;
    uint32_t unit = 4;
    /* a span counts single synapses in two more bits */
    double most = shard->net->n_shards > 1 ? 4.0 * MOST_UNITS : MOST_UNITS;
    while (unit > 1 && predict_bytes(shard, partition, unit) > limit &&
           synapses / (unit / 2) < (unit == 2 ? most : MOST_UNITS))
        unit /= 2;
    return unit;
}

/* Spikes whose parts are posted at most: of a block, or of all blocks of a
 * span, which posts whole turns of 32. */
static uint32_t choose_post(const vly_cuda_shard *shard,
                            const vly_cuda_partition *partition)
{
    const bool is_span = shard->net->n_shards > 1;
    const uint32_t n_neurons = shard->store.fixed->n_neurons;
    const uint32_t wanted = shard->net->wanted.post;
    double blocks = (double)partition->n_slices * partition->cluster;
    /* words of a spike; in a span each device has the row's start in 2 */
    double words = is_span ? partition->n_slices + 2.0 * shard->net->n_shards
                           : 2.0 * blocks * partition->n_slices;
    double room = POST_BYTES * (double)shard->store.fixed->n_synapses /
                  sizeof(uint32_t) / words;
    if (vly_common_ranks(shard->net->desc)) /* most launches have one burst */
        return 0;
    if (wanted == VLY_CUDA_AUTO) {
        uint32_t most = is_span ? n_neurons : partition->mail_room / POST_SHARE;
        if (n_neurons * SHARE_FIRED < POST_SPIKES * blocks)
            return 0;
        return (room < most ? (uint32_t)room : most) / 32 * 32;
    }
    uint32_t limit = is_span ? n_neurons : partition->mail_room;
    uint32_t post = wanted < limit ? wanted : limit;
    return is_span ? post / 32 * 32 : post;
}

/* The best choice so far, with sums of 32 bits and of 16. */
typedef struct partition_choice {
    vly_cuda_partition made[2];
    double ns[2]; /* negative: none fits */
} partition_choice;

static vly_status try_cluster(vly_cuda_shard *shard, delay_range delays,
                              uint32_t cluster, uint32_t narrow, uint32_t limit,
                              uint64_t shared_bytes, partition_choice *choice,
                              vly_error *error)
{
    uint32_t step = 0;
    uint32_t sets = vly_common_shift_sets(shard->store.fixed, &step);
    vly_cuda_partition made = {.cluster = cluster,
                               .unit = 4,
                               .narrow = narrow,
                               .sets = (uint16_t)sets,
                               .step = (uint16_t)step,
                               .deal = shard->net->wanted.deal == VLY_CUDA_AUTO
                                           ? DEALT_TURNS
                                           : shard->net->wanted.deal};
    uint32_t n_shards = shard->net->n_shards;
    uint32_t n_clusters = 0;
    vly_status status = VLY_OK;
    made.span.n = n_shards > 1 ? n_shards : 0;
    VLY_TRY(vly_cuda_check(
        vly_cuda_partition_count(shard, &made, shared_bytes, &n_clusters),
        "clusters of blocks", error));
    if (shard->net->is_shared)
        n_clusters /= n_shards;
    limit =
        limit < VLY_CUDA_PARTITION_BLOCKS ? limit : VLY_CUDA_PARTITION_BLOCKS;
    n_clusters = n_clusters < limit / cluster ? n_clusters : limit / cluster;
    n_clusters *= n_shards;
    uint32_t most = divide_up(shard->view.n_own, MIN_NEURONS * cluster);
    n_clusters = n_clusters < most ? n_clusters : most;
    if (n_clusters < n_shards ||
        !set_sizes(shard, delays, n_clusters, shared_bytes, &made))
        return VLY_OK;
    made.unit = choose_unit(shard, &made);
    made.post = choose_post(shard, &made);
    made.post_least = shard->net->wanted.post == VLY_CUDA_AUTO
                          ? POST_LEAST * divide_up(made.n_blocks, n_shards)
                          : 1;
    double bytes = predict_bytes(shard, &made, made.unit) *
                   (double)shard->store.fixed->n_synapses;
    if (made.n_groups > VLY_CUDA_PARTITION_GROUPS ||
        bytes >
            MOST_BYTES * (double)shard->store.fixed->n_synapses + FREE_BYTES)
        return VLY_OK;
    double ns = predict_ns(shard, &made);
    if (choice->ns[narrow] < 0.0 || ns < choice->ns[narrow]) {
        choice->ns[narrow] = ns;
        choice->made[narrow] = made;
    }
out:
    return status;
}

static vly_status try_clusters(vly_cuda_shard *shard, delay_range delays,
                               uint32_t cluster, uint32_t narrow,
                               uint32_t limit, uint64_t shared_bytes,
                               partition_choice *choice, vly_error *error)
{
    vly_status status = VLY_OK;
    /* on one device only powers of two were measured */
    const bool any = shard->net->n_shards > 1;
    for (uint32_t c = 1; c <= VLY_CUDA_CLUSTER; c++)
        if (cluster == c || (cluster == 0 && (any || (c & (c - 1)) == 0)))
            VLY_TRY(try_cluster(shard, delays, c, narrow, limit, shared_bytes,
                                choice, error));
    /* also tried without clusters if clusters do not fit on this device, or fit
     * only with sums of 32 bits */
    const bool alone = choice->ns[0] < 0.0 || choice->made[0].cluster == 1;
    if (choice->ns[narrow] < 0.0 && cluster > 1 && alone)
        VLY_TRY(try_cluster(shard, delays, 1, narrow, limit, shared_bytes,
                            choice, error));
out:
    return status;
}

/* Are sums of 16 bits wanted and possible, so that a proof pays? */
static bool wants_narrow(const vly_cuda_shard *shard, delay_range delays)
{
    uint32_t once = shard->net->wanted.once;
    return shard->net->wanted.narrow != 0 && delays.n == 1 &&
           !vly_common_has_shifts(shard->store.fixed) &&
           (once == 0 || once == VLY_CUDA_AUTO);
}

/* Sums of 16 bits are worth it if sums of 32 bits do not fit, or leave little
 * memory of a multiprocessor to the first-level cache, in which every
 * outstanding load needs a line. Measured on an H200, with sums of 32 bits
 * taking so much of 227 KB: 115 KB (1 M and 1.9 M x 1000) no difference, 213 KB
 * (3.5 M) 103 us instead of 133, all (4 M, a part of the sums stored once) 117
 * us instead of 161.
 */
static bool is_worth_it(const vly_cuda_shard *shard, uint64_t shared_bytes,
                        const partition_choice *choice)
{
    if (choice->ns[1] < 0.0)
        return false;
    /* a span has short parts of rows: longer ones, in fewer slices, gain more
     * than the sums of a block lose */
    if (shard->net->n_shards > 1 && choice->ns[1] < SPAN_GAIN * choice->ns[0])
        return true;
    return shard->net->wanted.narrow == 1 || choice->ns[0] < 0.0 ||
           (choice->ns[1] <= choice->ns[0] &&
            vly_cuda_partition_bytes(&shard->view, &choice->made[0]) >
                shared_bytes / 4 * 3);
}

const char *vly_cuda_fit_shape(const vly_cuda_view *view)
{
    static_assert(VLY_CUDA_RESIDENT_AREAS == 64, "the sentence below");
    if (view->n_ports > 1)
        return "a model has more than one port";
    return view->n_areas > VLY_CUDA_RESIDENT_AREAS ? "more than 64 areas"
                                                   : NULL;
}

static const char *refuse(const vly_cuda_shard *shard)
{
    if (vly_cuda_has_feagi(shard->store.fixed))
        return "FEAGI areas need gains and candidates";
    if (shard->view.n_own == 0)
        return "there are no neurons to update";
    if (vly_cuda_fit_shape(&shard->view))
        return vly_cuda_fit_shape(&shard->view);
    if (shard->store.fixed->n_neurons > UINT32_MAX / VLY_CUDA_MAX_FIELDS)
        return "too many neurons";
    if (shard->view.max_delay > VLY_CUDA_PARTITION_DELAY)
        return "its longest delay exceeds 4096 bursts";
    return NULL;
}

int vly_cuda_partition_count(const vly_cuda_shard *shard,
                             const vly_cuda_partition *partition,
                             uint64_t bytes, uint32_t *n_clusters)
{
    return shard->net->n_shards > 1
               ? (int)vly_cuda_span_clusters(&shard->view, partition, bytes,
                                             n_clusters)
               : (int)vly_cuda_partition_clusters(&shard->view, partition,
                                                  bytes, n_clusters);
}

/* Device i of n has the slices from n_slices * i / n on. */
void vly_cuda_partition_own(vly_cuda_shard *shard)
{
    vly_cuda_partition *p = &shard->partition;
    const vly_backend_net *net = shard->net;
    uint64_t i = (uint64_t)(shard - net->shards);
    p->first_slice = (uint32_t)(p->n_slices * i / net->n_shards);
    p->own_slices =
        (uint32_t)(p->n_slices * (i + 1) / net->n_shards) - p->first_slice;
    p->span.device = (uint32_t)i;
    p->span.is_shared = net->is_shared;
}

vly_status vly_cuda_partition_fit(vly_cuda_shard *shard, uint32_t cluster,
                                  uint32_t unit, uint32_t limit,
                                  const char **why, vly_error *error)
{
    int shared_bytes = 0;
    vly_status status = VLY_OK;
    *why = refuse(shard);
    if (*why)
        return VLY_OK;
    delay_range delays = find_delays(shard->store.fixed);
    if (vly_common_ranks_window(shard->net->desc) > delays.first) {
        *why = "ranks run several bursts before they exchange spikes, and a "
               "map inside a rank has a shorter delay";
        return VLY_OK;
    }
    partition_choice choice = {.ns = {-1.0, -1.0}};
    uint32_t narrow = 0;
    VLY_TRY(vly_cuda_check(
        (int)cudaDeviceGetAttribute(&shared_bytes,
                                    cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                    shard->device),
        "cudaDeviceGetAttribute", error));
    VLY_TRY(try_clusters(shard, delays, cluster, 0, limit,
                         (uint64_t)shared_bytes, &choice, error));
    if (wants_narrow(shard, delays))
        VLY_TRY(try_clusters(shard, delays, cluster, 1, limit,
                             (uint64_t)shared_bytes, &choice, error));
    if (is_worth_it(shard, (uint64_t)shared_bytes, &choice))
        VLY_TRY(vly_cuda_narrow_prove(shard, &narrow, error));
    if (choice.ns[narrow] < 0.0)
        *why = "its accumulators, for all delays, exceed shared memory";
    else
        shard->partition = choice.made[narrow];
    if (*why && shard->view.n_own < MIN_NEURONS * shard->net->n_shards)
        *why = "it has fewer than 128 neurons a device";
    vly_cuda_partition_own(shard);
    shard->partition_delay = delays.first;
    if (unit == 1 || unit == 2 || unit == 4)
        shard->partition.unit = unit;
out:
    return status;
}
