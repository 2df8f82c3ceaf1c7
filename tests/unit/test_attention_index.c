/* SPDX-License-Identifier: Apache-2.0
 * The index arithmetic of the CUDA attention kernels, gone through on the
 * processor: masks and tiles against the definition, swizzles, and the
 * fragments of mma.m16n8k16 with ldmatrix emulated lane by lane.
 */
#include <math.h>
#include <stdlib.h>

#include "volley_test.h"

#include "kernels/accelerators/attention_index.h"

/* ---- masks ------------------------------------------------------------- */

/* volley/attention.h, word by word */
static bool sees(int32_t i, int32_t j, int32_t n_q, int32_t n_kv,
                 uint32_t causal, int32_t left, int32_t right)
{
    const int64_t own = causal == 2 ? (int64_t)i + n_kv - n_q : i;
    if (causal == 1 && j > i)
        return false;
    if (causal == 2 && j - n_kv > i - n_q)
        return false;
    if (left >= 0 && j < own - left)
        return false;
    return right < 0 || j <= own + right;
}

static void check_mask(int32_t n_q, int32_t n_kv, uint32_t causal, int32_t left,
                       int32_t right)
{
    const vly_attention_mask mask =
        vly_attention_mask_make(n_q, n_kv, causal, left, right);
    for (int32_t i = 0; i < n_q; i++) {
        const int32_t first = vly_attention_first(&mask, i);
        const int32_t end = vly_attention_end(&mask, i);
        assert_in_range(first, 0, n_kv);
        assert_in_range(end, 0, n_kv);
        if (i > 0) {
            assert_true(first >= vly_attention_first(&mask, i - 1));
            assert_true(end >= vly_attention_end(&mask, i - 1));
        }
        for (int32_t j = 0; j < n_kv; j++)
            if ((j >= first && j < end) !=
                sees(i, j, n_q, n_kv, causal, left, right))
                fail_msg("query %d of %d, key %d of %d, causal %u, window %d "
                         "%d: [%d, %d)",
                         i, n_q, j, n_kv, causal, left, right, first, end);
    }
}

/* Every visible key of a row is in a tile; whole tiles are visible to all rows.
 */
static void check_tiles(int32_t n_q, int32_t n_kv, uint32_t causal,
                        int32_t left, int32_t right, int32_t rows,
                        int32_t width)
{
    const vly_attention_mask mask =
        vly_attention_mask_make(n_q, n_kv, causal, left, right);
    for (int32_t i = 0; i < n_q; i += rows) {
        const vly_attention_tiles t =
            vly_attention_tiles_of(&mask, i, rows, width);
        assert_true(t.begin <= t.end && t.whole_begin <= t.whole_end);
        for (int32_t r = i; r < i + rows && r < n_q; r++)
            for (int32_t j = 0; j < n_kv; j++) {
                const int32_t tile = j / width;
                const bool seen = sees(r, j, n_q, n_kv, causal, left, right);
                assert_true(!seen || (tile >= t.begin && tile < t.end));
                assert_true(seen ||
                            !(tile >= t.whole_begin && tile < t.whole_end));
            }
        assert_true(t.whole_begin == t.whole_end ||
                    t.whole_end * width <= n_kv);
        if (t.whole_begin < t.whole_end)
            assert_true(t.whole_begin >= t.begin && t.whole_end <= t.end);
    }
}

/* The same from the keys' side: who sees a key, and blocks of queries that are
 * met by exactly those tiles of keys that they meet. */
static void check_blocks(int32_t n_q, int32_t n_kv, uint32_t causal,
                         int32_t left, int32_t right, int32_t width,
                         int32_t rows)
{
    const vly_attention_mask mask =
        vly_attention_mask_make(n_q, n_kv, causal, left, right);
    for (int32_t j = 0; j < n_kv; j++)
        for (int32_t i = 0; i < n_q; i++)
            assert_int_equal(i >= vly_attention_query_first(&mask, j) &&
                                 i < vly_attention_query_end(&mask, j),
                             sees(i, j, n_q, n_kv, causal, left, right));
    for (int32_t j = 0; j < n_kv; j += width) {
        const vly_attention_tiles b =
            vly_attention_blocks_of(&mask, j, width, rows);
        assert_true(b.begin <= b.end && b.whole_begin <= b.whole_end);
        for (int32_t block = 0; block * rows < n_q; block++) {
            const vly_attention_tiles t =
                vly_attention_tiles_of(&mask, block * rows, rows, width);
            assert_int_equal(block >= b.begin && block < b.end,
                             j / width >= t.begin && j / width < t.end);
            if (block < b.whole_begin || block >= b.whole_end)
                continue;
            assert_true(block >= b.begin && block < b.end);
            assert_true(j + width <= n_kv);
            for (int32_t i = block * rows; i < block * rows + rows; i++)
                for (int32_t k = j; i < n_q && k < j + width; k++)
                    assert_true(sees(i, k, n_q, n_kv, causal, left, right));
        }
    }
}

static void test_masks_and_tiles(void **state)
{
    (void)state;
    const int32_t sizes[] = {0, 1, 2, 7, 16, 17, 33};
    const int32_t windows[] = {-1, 0, 1, 5, 40};
    uint64_t n = 0;
    for (size_t a = 0; a < 7; a++)
        for (size_t b = 0; b < 7; b++)
            for (uint32_t causal = 0; causal < 3; causal++)
                for (size_t l = 0; l < 5; l++)
                    for (size_t r = 0; r < 5; r++) {
                        check_mask(sizes[a], sizes[b], causal, windows[l],
                                   windows[r]);
                        check_tiles(sizes[a], sizes[b], causal, windows[l],
                                    windows[r], 8, 4);
                        check_tiles(sizes[a], sizes[b], causal, windows[l],
                                    windows[r], 4, 16);
                        check_blocks(sizes[a], sizes[b], causal, windows[l],
                                     windows[r], 8, 4);
                        check_blocks(sizes[a], sizes[b], causal, windows[l],
                                     windows[r], 4, 16);
                        n++;
                    }
    assert_int_equal(n, 7 * 7 * 3 * 25);
    check_mask(3, 5, 0, INT32_MAX, INT32_MAX);
    check_mask(3, 5, 2, INT32_MAX, INT32_MAX);
}

/* ---- work -------------------------------------------------------------- */

static void test_work_is_done_once(void **state)
{
    (void)state;
    for (uint32_t blocks = 1; blocks < 9; blocks++)
        for (uint32_t heads = 1; heads < 7; heads++)
            for (uint32_t section = 1; section < 9; section++) {
                uint8_t done[64] = {0};
                uint32_t last = 0;
                for (uint32_t t = 0; t < blocks * heads; t++) {
                    uint32_t block = 99;
                    uint32_t head = 99;
                    vly_attention_tile(t, blocks, heads, section, &block,
                                       &head);
                    assert_true(block < blocks && head < heads);
                    assert_int_equal(done[block * heads + head]++, 0);
                    /* sections in their order, in each the heavy ones first */
                    const uint32_t rank =
                        head / section * blocks + blocks - 1 - block;
                    assert_true(rank >= last);
                    last = rank;
                }
            }
    for (int32_t n = 0; n < 40; n++)
        for (uint32_t parts = 1; parts < 9; parts++) {
            int32_t at = 0;
            for (uint32_t p = 0; p < parts; p++) {
                int32_t begin = -1;
                int32_t end = -1;
                vly_attention_part(n, p, parts, &begin, &end);
                assert_int_equal(begin, at);
                assert_true(end >= begin);
                at = end;
            }
            assert_int_equal(at, n);
        }
}

/* ---- swizzles ---------------------------------------------------------- */

static void test_chunks_are_a_permutation(void **state)
{
    (void)state;
    for (uint32_t chunks = 8; chunks <= 32; chunks *= 2) {
        uint8_t *used = calloc(64 * chunks, 1);
        assert_non_null(used);
        for (uint32_t row = 0; row < 64; row++)
            for (uint32_t c = 0; c < chunks; c++) {
                const uint32_t at = vly_attention_chunk(row, c, chunks);
                assert_true(at < 64 * chunks);
                assert_int_equal(used[at]++, 0);
                assert_int_equal(at / chunks, row);
            }
        /* ldmatrix reads 8 rows of one chunk: 8 groups of banks of 16 bytes */
        for (uint32_t row = 0; row < 64; row += 8)
            for (uint32_t c = 0; c < chunks; c++) {
                uint32_t banks = 0;
                for (uint32_t r = 0; r < 8; r++)
                    banks |= 1u
                             << (vly_attention_chunk(row + r, c, chunks) % 8);
                assert_int_equal(banks, 0xff);
            }
        free(used);
    }
}

/* The swizzle of TMA as the PTX ISA draws it for 128 bytes: in each group of 8
 * rows of 128 bytes, chunk c of row r lies at chunk c ^ r. */
static void test_tma_swizzle(void **state)
{
    (void)state;
    static uint8_t used[128 * 256 * 2];
    for (uint32_t columns = 64; columns <= 256; columns *= 2) {
        const uint32_t rows = 128;
        memset(used, 0, sizeof used);
        for (uint32_t row = 0; row < rows; row++)
            for (uint32_t column = 0; column < columns; column++) {
                const uint32_t at = vly_attention_tma_byte(rows, row, column);
                const uint32_t slab = column / 64;
                const uint32_t chunk = column % 64 / 8;
                const uint32_t wanted = slab * rows * 128 + row * 128 +
                                        (chunk ^ (row % 8)) * 16 +
                                        column % 8 * 2;
                assert_int_equal(at, wanted);
                assert_true(at + 2 <= rows * columns * 2);
                assert_int_equal(used[at]++, 0);
            }
    }
}

/* ---- fragments --------------------------------------------------------- */

/* The hardware's side, from the PTX ISA, beside the functions of the kernels:
 * ldmatrix gives register m of lane l the elements (l / 4, 2 (l % 4) + 0..1) of
 * matrix m, whose row r has the address of lane 8 m + r; transposed, the
 * elements (2 (l % 4) + 0..1, l / 4). */
static void emulate_ldmatrix(const double *const address[32], bool transposed,
                             double out[32][4][2])
{
    for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t m = 0; m < 4; m++)
            for (uint32_t e = 0; e < 2; e++) {
                uint32_t row = lane / 4;
                uint32_t column = 2 * (lane % 4) + e;
                if (transposed) {
                    row = 2 * (lane % 4) + e;
                    column = lane / 4;
                }
                out[lane][m][e] = address[8 * m + row][column];
            }
}

/* c[32][4] += A B from the fragments */
static void emulate_mma(double c[32][4], double a[32][4][2], double b[32][4][2],
                        uint32_t first)
{
    double full_a[16][16];
    double full_b[16][8];
    for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t e = 0; e < 2; e++) {
            for (uint32_t r = 0; r < 4; r++)
                full_a[vly_mma_a_row(lane, r)][vly_mma_a_column(lane, r) + e] =
                    a[lane][r][e];
            for (uint32_t r = 0; r < 2; r++)
                full_b[vly_mma_b_row(lane, r) + e][vly_mma_b_column(lane)] =
                    b[lane][first + r][e];
        }
    for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t r = 0; r < 4; r++)
            for (uint32_t k = 0; k < 16; k++)
                c[lane][r] += full_a[vly_mma_c_row(lane, r)][k] *
                              full_b[k][vly_mma_c_column(lane, r)];
}

static double sample(uint32_t x)
{
    return (double)((x * 2654435761u) >> 16 & 0xff) - 128.0;
}

/* One warp of attention_mma.cu without its softmax: S = Q K^T for 16 queries,
 * 16 keys, 16 dimensions, then O = S V for 16 dimensions of V. */
static void test_fragments(void **state)
{
    (void)state;
    static double q[16][16], k[16][16], v[16][16];
    const double *address[32];
    double a[32][4][2], b[32][4][2], s[2][32][4] = {{{0}}};
    double p[32][4][2], o[2][32][4] = {{{0}}};
    for (uint32_t i = 0; i < 256; i++) {
        q[i / 16][i % 16] = sample(i);
        k[i / 16][i % 16] = sample(i + 1000);
        v[i / 16][i % 16] = sample(i + 2000);
    }
    for (uint32_t l = 0; l < 32; l++)
        address[l] = &q[vly_ldmatrix_a_row(l)][8 * vly_ldmatrix_a_chunk(l)];
    emulate_ldmatrix(address, false, a);
    for (uint32_t l = 0; l < 32; l++)
        address[l] = &k[vly_ldmatrix_bt_row(l)][8 * vly_ldmatrix_bt_chunk(l)];
    emulate_ldmatrix(address, false, b);
    emulate_mma(s[0], a, b, 0);
    emulate_mma(s[1], a, b, 2);
    /* C of S is A of P: registers as the kernel packs them */
    for (uint32_t l = 0; l < 32; l++)
        for (uint32_t e = 0; e < 2; e++) {
            p[l][0][e] = s[0][l][e];
            p[l][1][e] = s[0][l][2 + e];
            p[l][2][e] = s[1][l][e];
            p[l][3][e] = s[1][l][2 + e];
        }
    for (uint32_t l = 0; l < 32; l++)
        address[l] = &v[vly_ldmatrix_b_row(l)][8 * vly_ldmatrix_b_chunk(l)];
    emulate_ldmatrix(address, true, b);
    emulate_mma(o[0], p, b, 0);
    emulate_mma(o[1], p, b, 2);
    for (uint32_t l = 0; l < 32; l++)
        for (uint32_t t = 0; t < 2; t++)
            for (uint32_t r = 0; r < 4; r++) {
                const uint32_t row = vly_mma_c_row(l, r);
                const uint32_t column = 8 * t + vly_mma_c_column(l, r);
                double score = 0.0;
                double out = 0.0;
                for (uint32_t x = 0; x < 16; x++)
                    score += q[row][x] * k[column][x];
                for (uint32_t j = 0; j < 16; j++) {
                    double w = 0.0;
                    for (uint32_t x = 0; x < 16; x++)
                        w += q[row][x] * k[j][x];
                    out += w * v[j][column];
                }
                assert_close(s[t][l][r], score, 0.0);
                assert_close(o[t][l][r], out, 0.0);
            }
}

/* ---- barriers ---------------------------------------------------------- */

/* attention_sm90.cu as lists of steps: a loader, one that turns V (of fp8; its
 * three warps are one here) and groups of multipliers, put together in random
 * order. A barrier counts phases; waiting for a parity passes once the phase of
 * that parity, the last or an earlier one, is over. */
enum { WAIT, LOAD, READ, ARRIVE, TURN, PASS };
enum {
    FULL_Q,
    EMPTY_Q = 2,
    FULL_K = 4,
    EMPTY_K = 7,
    FULL_V = 10,
    EMPTY_V = 13,
    FULL_RAW = 16,
    EMPTY_RAW = 19,
    FULL_TILE = 22,
    EMPTY_TILE = 24,
    N_BAR = 26,
    N_AGENTS = 5,
    N_WORK = 12,
};

/* What a variant is; work[t]: tiles of keys of row block t, 0 among them. */
struct variant {
    uint32_t work[N_WORK];
    uint32_t groups;
    uint32_t turned; /* 1: of fp8 */
    uint32_t q_places;
    uint32_t stages; /* of K, V and V as it came */
    uint32_t held;   /* 1: Q is given back when registers have it */
    uint32_t turns;  /* 0: groups do not wait for each other */
};

struct step {
    uint32_t kind;
    uint32_t at; /* barrier or group */
    uint32_t value;
};

struct agent {
    struct step steps[4000];
    uint32_t n;
    uint32_t next;
};

static void add(struct agent *a, uint32_t kind, uint32_t at, uint32_t value)
{
    assert_true(a->n < 4000);
    a->steps[a->n++] = (struct step){kind, at, value};
}

/* Use `use` of what has n places: waits until it is empty, and fills it. */
static void fill(struct agent *a, uint32_t full, uint32_t empty, uint32_t use,
                 uint32_t n)
{
    const vly_attention_use u = vly_attention_use_of(use, n);
    add(a, WAIT, empty + u.place, u.parity ^ 1u);
    add(a, LOAD, full + u.place, use);
}

/* waits until it is full, and reads it */
static void take(struct agent *a, uint32_t full, uint32_t use, uint32_t n)
{
    const vly_attention_use u = vly_attention_use_of(use, n);
    add(a, WAIT, full + u.place, u.parity);
    add(a, READ, full + u.place, use);
}

static void give_back(struct agent *a, uint32_t empty, uint32_t use, uint32_t n)
{
    add(a, ARRIVE, empty + vly_attention_use_of(use, n).place, 0);
}

/* The number of tile t, and the end after the last one. */
static void take_number(struct agent *a, uint32_t t)
{
    take(a, FULL_TILE, t, 2);
    give_back(a, EMPTY_TILE, t, 2);
}

static void write_loader(struct agent *a, const struct variant *v)
{
    uint32_t n_q = 0;
    uint32_t n_kv = 0;
    for (uint32_t t = 0; t < N_WORK; t++) {
        fill(a, FULL_TILE, EMPTY_TILE, t, 2);
        if (v->work[t] == 0)
            continue;
        fill(a, FULL_Q, EMPTY_Q, n_q++, v->q_places);
        for (uint32_t k = 0; k < v->work[t]; k++, n_kv++) {
            fill(a, FULL_K, EMPTY_K, n_kv, v->stages);
            fill(a, v->turned ? FULL_RAW : FULL_V,
                 v->turned ? EMPTY_RAW : EMPTY_V, n_kv, v->stages);
        }
    }
    fill(a, FULL_TILE, EMPTY_TILE, N_WORK, 2);
}

static void write_turner(struct agent *a, const struct variant *v)
{
    uint32_t n_kv = 0;
    for (uint32_t t = 0; t < N_WORK; t++) {
        take_number(a, t);
        for (uint32_t k = 0; k < v->work[t]; k++, n_kv++) {
            take(a, FULL_RAW, n_kv, v->stages);
            fill(a, FULL_V, EMPTY_V, n_kv, v->stages);
            give_back(a, EMPTY_RAW, n_kv, v->stages);
        }
    }
    take_number(a, N_WORK);
}

static void write_group(struct agent *a, uint32_t group,
                        const struct variant *v)
{
    uint32_t n_q = 0;
    uint32_t n_kv = 0;
    if (group + 1 == v->groups && v->turns)
        add(a, PASS, 0, 0);
    for (uint32_t t = 0; t < N_WORK; t++) {
        take_number(a, t);
        if (v->work[t] == 0)
            continue;
        take(a, FULL_Q, n_q, v->q_places);
        if (v->held)
            give_back(a, EMPTY_Q, n_q, v->q_places);
        for (uint32_t k = 0; k < v->work[t]; k++, n_kv++) {
            const vly_attention_use u = vly_attention_use_of(n_kv, v->stages);
            add(a, WAIT, FULL_K + u.place, u.parity);
            if (v->turns)
                add(a, TURN, group, 0);
            if (!v->held)
                add(a, READ,
                    FULL_Q + vly_attention_use_of(n_q, v->q_places).place, n_q);
            add(a, READ, FULL_K + u.place, n_kv);
            if (k > 0)
                take(a, FULL_V, n_kv - 1, v->stages);
            if (v->turns)
                add(a, PASS, (group + 1) % v->groups, 0);
            add(a, READ, FULL_K + u.place,
                n_kv); /* where weights are too large */
            give_back(a, EMPTY_K, n_kv, v->stages);
            if (k > 0)
                give_back(a, EMPTY_V, n_kv - 1, v->stages);
        }
        if (!v->held)
            give_back(a, EMPTY_Q, n_q, v->q_places);
        n_q++;
        take(a, FULL_V, n_kv - 1, v->stages);
        give_back(a, EMPTY_V, n_kv - 1, v->stages);
    }
    take_number(a, N_WORK);
}

struct machine {
    uint32_t phases[N_BAR];
    uint32_t arrived[N_BAR];
    uint32_t content[N_BAR]; /* of the buffer of a full barrier */
    uint32_t turns[3];
};

/* How many have to be done with a buffer. */
static uint32_t readers_of(const struct variant *v, uint32_t empty)
{
    if (empty >= EMPTY_TILE)
        return v->groups + v->turned;
    return empty >= EMPTY_RAW ? 1 : v->groups;
}

/* 0: it has to wait */
static int do_step(struct machine *m, const struct variant *v,
                   const struct step *s)
{
    switch (s->kind) {
    case WAIT:
        return (m->phases[s->at] & 1u) != s->value;
    case LOAD:
        m->content[s->at] = s->value;
        m->phases[s->at]++;
        return 1;
    case READ:
        if (m->content[s->at] != s->value)
            fail_msg("buffer %u holds use %u, wanted %u", s->at,
                     m->content[s->at], s->value);
        return 1;
    case ARRIVE:
        if (++m->arrived[s->at] == readers_of(v, s->at)) {
            m->arrived[s->at] = 0;
            m->phases[s->at]++;
        }
        return 1;
    case TURN:
        if (m->turns[s->at] == 0)
            return 0;
        m->turns[s->at]--;
        return 1;
    default:
        m->turns[s->at]++;
        assert_true(m->turns[s->at] <= 1); /* no arrival is lost */
        return 1;
    }
}

static uint64_t next_random(void)
{
    static uint64_t seed = 1;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed;
}

static void run_agents(struct agent *agents, const struct variant *v)
{
    struct machine m = {{0}, {0}, {0}, {0}};
    uint32_t stuck = 0;
    while (stuck < 10000) {
        struct agent *a = &agents[(next_random() >> 33) % N_AGENTS];
        const bool done = a->next == a->n;
        if (!done && do_step(&m, v, &a->steps[a->next])) {
            a->next++;
            stuck = 0;
        } else {
            stuck++;
        }
    }
    for (uint32_t a = 0; a < N_AGENTS; a++)
        if (agents[a].next != agents[a].n)
            fail_msg("agent %u stands at step %u of %u", a, agents[a].next,
                     agents[a].n);
}

static void test_barriers(void **state)
{
    (void)state;
    static struct agent agents[N_AGENTS];
    for (uint32_t trial = 0; trial < 320; trial++) {
        struct variant v = {.groups = 2 + trial % 2,
                            .turned = trial / 2 % 2,
                            .q_places = 1 + trial / 4 % 2,
                            .stages = 2 + trial / 8 % 2,
                            .held = trial / 16 % 2,
                            .turns = trial / 32 % 2};
        for (uint32_t t = 0; t < N_WORK; t++)
            v.work[t] = (uint32_t)(next_random() >> 60) % 6;
        for (uint32_t a = 0; a < N_AGENTS; a++)
            agents[a].n = agents[a].next = 0;
        write_loader(&agents[0], &v);
        if (v.turned)
            write_turner(&agents[1], &v);
        for (uint32_t g = 0; g < v.groups; g++)
            write_group(&agents[2 + g], g, &v);
        run_agents(agents, &v);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_barriers),
    cmocka_unit_test(test_masks_and_tiles),
    cmocka_unit_test(test_work_is_done_once),
    cmocka_unit_test(test_chunks_are_a_permutation),
    cmocka_unit_test(test_tma_swizzle),
    cmocka_unit_test(test_fragments),
};

VLY_TEST_MAIN(tests)
