/* SPDX-License-Identifier: Apache-2.0
 * Parts of a description, and their elements.
 */
#include "attention_cut.h"

#include <string.h>

#include "element.h"

/* ---- parts --------------------------------------------------------------- */

/* A mask counts from the first query or the last, so queries stay together
 * under one. */
static bool queries_can_be_cut(const vly_attention_desc *desc)
{
    const uint32_t together = VLY_ATTENTION_BACKWARD | VLY_ATTENTION_CAUSAL |
                              VLY_ATTENTION_CAUSAL_END | VLY_ATTENTION_LENGTHS;
    return (desc->flags & together) == 0 &&
           desc->window_left == VLY_ATTENTION_NO_WINDOW &&
           desc->window_right == VLY_ATTENTION_NO_WINDOW;
}

static uint64_t share_of(const uint32_t *length, const uint32_t *grid)
{
    uint64_t share = 1;
    for (uint32_t i = 0; i < VLY_CUT_AXES; i++)
        share *= (length[i] + grid[i] - 1) / grid[i];
    return share;
}

static void find_grid(const uint32_t *length, uint32_t n, uint32_t *best)
{
    uint32_t g[VLY_CUT_AXES];
    for (uint32_t i = 0; i < VLY_CUT_AXES; i++)
        best[i] = 1;
    for (g[2] = 1; g[2] <= n && g[2] <= length[2]; g[2]++)
        for (g[1] = 1; g[1] <= n / g[2] && g[1] <= length[1]; g[1]++)
            for (g[0] = 1; g[0] <= n / g[2] / g[1] && g[0] <= length[0];
                 g[0]++) {
                const uint64_t share = share_of(length, g);
                const uint64_t least = share_of(length, best);
                if (share < least ||
                    (share == least &&
                     g[0] * g[1] * g[2] < best[0] * best[1] * best[2]))
                    memcpy(best, g, sizeof g);
            }
}

/* Part i of n of [0, length), in units of `unit`, cut at `end`. */
static void set_axis(vly_attention_share *part, uint32_t axis, uint32_t i,
                     uint32_t n, uint32_t length, uint32_t unit, uint32_t end)
{
    const uint64_t first = (uint64_t)length * i / n * unit;
    const uint64_t last = (uint64_t)length * (i + 1) / n * unit;
    part->first[axis] = (uint32_t)first;
    part->count[axis] = (uint32_t)((last < end ? last : end) - first);
}

uint32_t vly_attention_cut(const vly_attention_desc *desc, uint32_t n,
                           vly_attention_share *parts, uint32_t *grid)
{
    const uint32_t tiles = queries_can_be_cut(desc) && desc->seq_q > 0
                               ? (desc->seq_q - 1) / VLY_ATTENTION_CUT_ROWS + 1
                               : 1;
    const uint32_t length[VLY_CUT_AXES] = {desc->batch, desc->heads_kv, tiles};
    const uint32_t rows =
        tiles > 1 ? VLY_ATTENTION_CUT_ROWS : desc->seq_q; /* of a tile */
    uint32_t n_parts = 0;
    find_grid(length, n, grid);
    for (uint32_t b = 0; b < grid[0]; b++)
        for (uint32_t h = 0; h < grid[1]; h++)
            for (uint32_t q = 0; q < grid[2]; q++) {
                vly_attention_share *part = &parts[n_parts++];
                set_axis(part, VLY_CUT_BATCH, b, grid[0], desc->batch, 1,
                         desc->batch);
                set_axis(part, VLY_CUT_HEADS, h, grid[1], desc->heads_kv, 1,
                         desc->heads_kv);
                set_axis(part, VLY_CUT_QUERIES, q, grid[2], tiles, rows,
                         desc->seq_q);
            }
    return n_parts;
}

/* ---- pieces -------------------------------------------------------------- */

/* The box of a tensor that a part has, in elements of `bytes`. */
typedef struct box {
    uint64_t count[3]; /* sequences, positions, heads */
    uint64_t first[3];
    vly_attention_layout whole;
    vly_attention_layout part;
    uint64_t width;
    uint32_t bytes;
} box;

/* The neighbours of the whole stay neighbours. */
static vly_attention_layout compact(const vly_attention_layout *whole,
                                    uint64_t width, uint64_t positions,
                                    uint64_t heads)
{
    vly_attention_layout made = {.batch = positions * heads * width};
    made.seq = whole->head <= whole->seq ? heads * width : width;
    made.head = whole->head <= whole->seq ? width : positions * width;
    return made;
}

/* Adds an axis behind those of shorter steps in the part, or makes the last
 * one or the rows longer, where the axis goes on in both. */
static void add_axis(vly_attention_piece *piece, uint64_t count, uint64_t whole,
                     uint64_t part)
{
    if (count <= 1)
        return;
    vly_attention_axis *last =
        piece->n_axes > 0 ? &piece->axes[piece->n_axes - 1] : NULL;
    if (!last && whole == piece->width && part == piece->width)
        piece->width *= count;
    else if (last && whole == last->count * last->whole &&
             part == last->count * last->part)
        last->count *= count;
    else
        piece->axes[piece->n_axes++] = (vly_attention_axis){count, whole, part};
}

static vly_attention_piece piece_of(size_t member, const box *b)
{
    const uint64_t bytes = b->bytes;
    vly_attention_piece made = {.member = member, .width = b->width * bytes};
    made.bytes = made.width * b->count[0] * b->count[1] * b->count[2];
    made.first = (b->first[0] * b->whole.batch + b->first[1] * b->whole.seq +
                  b->first[2] * b->whole.head) *
                 bytes;
    const bool heads_first = b->part.head <= b->part.seq;
    if (heads_first)
        add_axis(&made, b->count[2], b->whole.head * bytes,
                 b->part.head * bytes);
    add_axis(&made, b->count[1], b->whole.seq * bytes, b->part.seq * bytes);
    if (!heads_first)
        add_axis(&made, b->count[2], b->whole.head * bytes,
                 b->part.head * bytes);
    add_axis(&made, b->count[0], b->whole.batch * bytes, b->part.batch * bytes);
    return made;
}

/* Of Q or K (or V): a whole sequence of keys, the part's queries. */
static box box_of(const vly_attention_desc *desc,
                  const vly_attention_share *part, bool of_keys)
{
    const uint64_t group = desc->heads_q / desc->heads_kv;
    const uint64_t heads = of_keys ? 1 : group;
    box made = {
        .count = {part->count[VLY_CUT_BATCH], part->count[VLY_CUT_QUERIES],
                  part->count[VLY_CUT_HEADS] * heads},
        .first = {part->first[VLY_CUT_BATCH], part->first[VLY_CUT_QUERIES],
                  part->first[VLY_CUT_HEADS] * heads}};
    if (of_keys) {
        made.count[1] = desc->seq_kv;
        made.first[1] = 0;
    }
    return made;
}

enum { IN = 1, OUT = 2, OF_KEYS = 4 };

static vly_attention_piece tensor(const vly_attention_desc *desc,
                                  const vly_attention_share *part,
                                  size_t member,
                                  const vly_attention_layout *layout,
                                  uint32_t dim, uint32_t type, uint32_t what)
{
    box b = box_of(desc, part, (what & OF_KEYS) != 0);
    b.width = dim;
    b.bytes = vly_element_bits(type) / 8;
    b.whole = *layout;
    b.part = compact(layout, dim, b.count[1], b.count[2]);
    vly_attention_piece made = piece_of(member, &b);
    made.is_out = (what & OUT) != 0;
    /* positions after a length are not written, so they come along */
    made.is_in = (what & IN) != 0 || (desc->flags & VLY_ATTENTION_LENGTHS);
    return made;
}

/* Words in [batch][heads][seq]: of lse all, of scales heads of keys, of lengths
 * neither heads nor positions. */
static vly_attention_piece flat(const vly_attention_desc *desc, box b,
                                size_t member, uint64_t heads, uint64_t seq,
                                uint32_t what)
{
    b.width = 1;
    b.bytes = 4;
    b.whole = (vly_attention_layout){heads * seq, 1, seq};
    b.part = (vly_attention_layout){b.count[1] * b.count[2], 1, b.count[1]};
    vly_attention_piece made = piece_of(member, &b);
    made.is_flat = true;
    made.is_out = (what & OUT) != 0;
    made.is_in = (what & IN) != 0 || (desc->flags & VLY_ATTENTION_LENGTHS);
    return made;
}

#define AT(name) offsetof(vly_attention_run, name)

static uint32_t add_tensors(const vly_attention_desc *d,
                            const vly_attention_share *p,
                            vly_attention_piece *to)
{
    const bool backward = (d->flags & VLY_ATTENTION_BACKWARD) != 0;
    uint32_t n = 0;
    to[n++] = tensor(d, p, AT(q), &d->q, d->dim, d->type, IN);
    to[n++] = tensor(d, p, AT(k), &d->k, d->dim, d->type, IN | OF_KEYS);
    to[n++] = tensor(d, p, AT(v), &d->v, d->dim_v, d->type, IN | OF_KEYS);
    to[n++] =
        tensor(d, p, AT(o), &d->o, d->dim_v, d->type_o, backward ? IN : OUT);
    if (!backward)
        return n;
    to[n++] = tensor(d, p, AT(grad_o), &d->o, d->dim_v, d->type_o, IN);
    to[n++] = tensor(d, p, AT(grad_q), &d->q, d->dim, d->type_o, OUT);
    to[n++] = tensor(d, p, AT(grad_k), &d->k, d->dim, d->type_o, OUT | OF_KEYS);
    to[n++] =
        tensor(d, p, AT(grad_v), &d->v, d->dim_v, d->type_o, OUT | OF_KEYS);
    return n;
}

uint32_t vly_attention_pieces(const vly_attention_desc *desc,
                              const vly_attention_share *part,
                              vly_attention_piece *pieces)
{
    const bool backward = (desc->flags & VLY_ATTENTION_BACKWARD) != 0;
    uint32_t n = add_tensors(desc, part, pieces);
    if (backward || (desc->flags & VLY_ATTENTION_LSE))
        pieces[n++] = flat(desc, box_of(desc, part, false), AT(lse),
                           desc->heads_q, desc->seq_q, backward ? IN : OUT);
    box one = box_of(desc, part, true); /* a word for each sequence */
    one.count[1] = one.count[2] = 1;
    one.first[2] = 0;
    if (desc->flags & VLY_ATTENTION_LENGTHS) {
        pieces[n++] = flat(desc, one, AT(length_q), 1, 1, IN);
        pieces[n++] = flat(desc, one, AT(length_kv), 1, 1, IN);
    }
    if (desc->type != VLY_ELEMENT_E4M3)
        return n;
    box scales = box_of(desc, part, true);
    scales.count[1] = 1;
    pieces[n++] = flat(desc, scales, AT(scale_q), desc->heads_kv, 1, IN);
    pieces[n++] = flat(desc, scales, AT(scale_k), desc->heads_kv, 1, IN);
    pieces[n++] = flat(desc, scales, AT(scale_v), desc->heads_kv, 1, IN);
    one.count[0] = 1;
    one.first[0] = 0;
    if (desc->type_o == VLY_ELEMENT_E4M3)
        pieces[n++] = flat(desc, one, AT(scale_o), 1, 1, IN);
    return n;
}

bool vly_attention_piece_is_in_place(const vly_attention_piece *piece)
{
    for (uint32_t i = 0; i < piece->n_axes; i++)
        if (piece->axes[i].whole != piece->axes[i].part)
            return false;
    return true;
}

vly_attention_desc vly_attention_part_desc(const vly_attention_desc *desc,
                                           const vly_attention_share *part,
                                           bool is_compact)
{
    const box q = box_of(desc, part, false);
    const box k = box_of(desc, part, true);
    vly_attention_desc made = *desc;
    made.batch = part->count[VLY_CUT_BATCH];
    made.heads_q = (uint32_t)q.count[2];
    made.heads_kv = (uint32_t)k.count[2];
    made.seq_q = (uint32_t)q.count[1];
    if (!is_compact)
        return made;
    made.align = 256;
    made.q = compact(&desc->q, desc->dim, q.count[1], q.count[2]);
    made.k = compact(&desc->k, desc->dim, k.count[1], k.count[2]);
    made.v = compact(&desc->v, desc->dim_v, k.count[1], k.count[2]);
    made.o = compact(&desc->o, desc->dim_v, q.count[1], q.count[2]);
    return made;
}
