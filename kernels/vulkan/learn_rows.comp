/* SPDX-License-Identifier: Apache-2.0
 * Rows of the projections that learn by one rule (RULE_<id>). A synapse is
 * brought up to date when a spike of its source arrives: the spikes of its
 * target since the last arrival are folded in, then the arrival, then its
 * weight is delivered, beside deliver.comp and as it does, by integer atomics.
 * LANES invocations take a row, or a part of it where few arrive or rows are
 * long.
 *
 * Each target has its last spikes in a ring. If one was full after the last
 * burst, the next one begins with a flush: all rows are brought up to date.
 * That changes no result. Built with FLUSH, this shader does that.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "kernels/vulkan/contract.glsl"

#include "kernels/vulkan/burst_begin.glsl"
#include "kernels/vulkan/learning.glsl"

#include "kernels/rules/shader_rule.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint LANES = 32u; /* that share a row */

RULE_PART(_coef) coefs;
uint now; /* burst modulo 2^32 */

#define VLY_LOAD_F32(word) VLY_FLOAT(word)
#define VLY_LOAD_U32(word) (word)

void load_coefs()
{
    uint k = 0u;
#define VLY_COEF(name, type, expression)                                       \
    coefs.name = VLY_LOAD_##type(map.coefs[k]);                                \
    k++;
#include "kernels/rules/shader_rule_table.glsl"
}

/* The functions of the rule. Usual values of a coefficient, which make one
 * cheaper, are compiled apart. */
#define PRE false
#define POST true
int post(int m, float x0, float x1, float y0, float y1)
{
    RULE_PART(_coef) c = coefs;
#define VLY_CASE(side, name, usual)                                            \
    if (side && c.name == usual) {                                             \
        c.name = usual;                                                        \
        return RULE_PART(_post)(m, c, x0, x1, y0, y1);                         \
    }
#include "kernels/rules/shader_rule_table.glsl"
    return RULE_PART(_post)(m, c, x0, x1, y0, y1);
}
#undef PRE
#undef POST

#define PRE true
#define POST false
int pre(int m, float x0, float x1, float y0, float y1)
{
    RULE_PART(_coef) c = coefs;
#define VLY_CASE(side, name, usual)                                            \
    if (side && c.name == usual) {                                             \
        c.name = usual;                                                        \
        return RULE_PART(_pre)(m, c, x0, x1, y0, y1);                          \
    }
#include "kernels/rules/shader_rule_table.glsl"
    return RULE_PART(_pre)(m, c, x0, x1, y0, y1);
}
#undef PRE
#undef POST

/* A row in one burst. */
struct row_state {
    uint arrived; /* age of the last arrival */
    /* spikes of targets with ages in [youngest, oldest] are not folded in */
    int youngest;
    int oldest;
    float before0; /* traces before the last arrival */
    float before1;
    float after0;
    float after1;
    float x0; /* and before this one */
    float x1;
};

row_state row_of(uint k, uint flushed, int youngest)
{
    row_state row;
    row.arrived = now - word_of(map.arrived, k).v;
    uint dendritic = has_flag(VLY_VULKAN_LEARNING_DENDRITIC) ? 1u : 0u;
    int since = int(row.arrived - dendritic);
    int unflushed = int(now - flushed);
    /* later spikes of targets meet no trace of this source */
    int least = int(row.arrived) - int(map.reach) + 1;
    row.youngest = youngest > least ? youngest : least;
    row.oldest = unflushed < since ? unflushed : since;
    row.before0 = post_before(map.before[0], uint64_t(k));
    row.before1 = post_before(map.before[1], uint64_t(k));
    row.after0 = after(row.before0);
    row.after1 = after(row.before1);
    row.x0 = decayed(map.source[0], row.after0, row.arrived);
    row.x1 = decayed(map.source[1], row.after1, row.arrived);
    return row;
}

/* ---- synapses ---------------------------------------------------------- */

/* One spike of a target, of this age; slot: its place among all rings. */
int fold_spike(row_state row, int age, uint64_t slot, int m)
{
    uint k = row.arrived - uint(age);
    float x0 = decayed(map.source[0], row.after0, k);
    float x1 = decayed(map.source[1], row.after1, k);
    return post(m, k == 0u ? row.before0 : x0, k == 0u ? row.before1 : x1,
                post_before(map.post_before[0], slot),
                post_before(map.post_before[1], slot));
}

/* Spikes of target i, oldest first. A ring always has a spike that is older
 * than row.oldest: the flush sees to it. */
int fold_target(row_state row, uint i, uint count, int m)
{
    uint64_t ring = ring_of_target(i);
    uint64_t bursts = map.post + 4ul * ring;
    uint at = count;
    while (int(now - word_of(bursts, (at - 1u) & map.mask).v) <= row.oldest)
        at--;
    for (; at != count; at++) {
        uint slot = at & map.mask;
        int age = int(now - word_of(bursts, slot).v);
        if (age < row.youngest)
            break;
        m = fold_spike(row, age, ring + uint64_t(slot), m);
    }
    return m;
}

/* What a synapse reads of its target. */
struct target_state {
    uint last; /* burst of its newest spike */
    uint count;
    float after0; /* traces after it */
    float after1;
};

target_state target_of(uint i)
{
    uvec4 words = quad_at(map.newest + 16ul * uint64_t(i)).v;
    return target_state(words.x, words.y, VLY_FLOAT(words.z),
                        VLY_FLOAT(words.w));
}

/* The target as the synapse sees it: spikes that are on their way in a dendrite
 * do not count. */
target_state target_seen(target_state target, uint i)
{
    if (int(now - target.last) >= 1)
        return target;
    uint64_t ring = ring_of_target(i);
    uint at = target.count - 1u;
    do {
        at--;
        target.last = word_of(map.post + 4ul * ring, at & map.mask).v;
    } while (int(now - target.last) < 1);
    uint64_t slot = ring + uint64_t(at & map.mask);
    target.after0 = after(post_before(map.post_before[0], slot));
    target.after1 = after(post_before(map.post_before[1], slot));
    return target;
}

/* The synapse whose target and weight are at these addresses. inputs: address
 * of the accumulators to which the arrival is delivered. */
void visit_synapse(row_state row, word_at target_word, word_at weight,
                   uint64_t inputs)
{
    uint target = target_word.v;
    uint i = target - map.target_first;
    int m = int(weight.v);
    int was = m;
    if (!has_flag(VLY_VULKAN_LEARNING_FROZEN)) {
        target_state of = target_of(i);
        if (row.youngest <= row.oldest && int(now - of.last) <= row.oldest)
            m = fold_target(row, i, of.count, m);
#if !defined(FLUSH)
        of = target_seen(of, i);
        m = pre(m, row.x0, row.x1,
                decayed(map.target[0], of.after0, now - of.last),
                decayed(map.target[1], of.after1, now - of.last));
#endif
    }
    if (m != was)
        weight.v = uint(m);
#if !defined(FLUSH)
    uint value = (uint((m + 0x8000) >> 16) * map.sign) << map.shift;
    atomicAdd(word_of(inputs, target).v, value);
#endif
}

/* Synapses from, from + step, ... of row k, block by block. */
void visit_row(row_state row, uint k, uint from, uint step, uint64_t inputs)
{
    uint64_t j = long_at(map.row + 8ul * uint64_t(k)).v;
    uint64_t end = long_at(map.row + 8ul * uint64_t(k) + 8ul).v;
    uint64_t size = 1ul << map.block_shift;
    for (j += uint64_t(from); j < end;) {
        uint64_t block = j >> map.block_shift;
        uint64_t pair = map.blocks + 16ul * block;
        uint64_t first = block << map.block_shift;
        uint64_t targets = long_at(pair).v - 4ul * first;
        uint64_t weights = long_at(pair + 8ul).v - 4ul * first;
        uint64_t last = first + size < end ? first + size : end;
        for (; j < last; j += uint64_t(step))
            visit_synapse(row, word_at(targets + 4ul * j),
                          word_at(weights + 4ul * j), inputs);
    }
}

/* ---- a burst ----------------------------------------------------------- */

bool is_full()
{
    return word_of(map.flushed, 1u).v == now;
}

#if defined(FLUSH)

void flush_rows()
{
    uint flushed = word_of(map.flushed, 0u).v;
    uint64_t items = uint64_t(map.n_sources) * uint64_t(map.n_parts);
    for (uint64_t q = uint64_t(TEAM); q < items; q += uint64_t(TEAMS)) {
        uint k = uint(q / uint64_t(map.n_parts));
        uint part = uint(q % uint64_t(map.n_parts));
        row_state row = row_of(k, flushed, 1);
        if (row.youngest <= row.oldest)
            visit_row(row, k, LANES * part + LANE, LANES * map.n_parts, 0ul);
    }
}

void main()
{
    uint64_t burst = LAUNCH.burst + uint64_t(push.k);
    uint64_t head;
    if (push.all == 0u &&
        (push.k >= LAUNCH.n_bursts || !begin_burst(burst, head)))
        return;
    now = uint(burst);
    for (uint p = push.first; p < push.first + push.count; p++) {
        load_learning(p);
        if (has_flag(VLY_VULKAN_LEARNING_FROZEN) ||
            (push.all == 0u && !is_full()))
            continue;
        load_coefs();
        flush_rows();
    }
}

#else

/* The spikes that arrive in this burst, one after the other. */
void deliver_spikes(vly_vulkan_record record, uint flushed, uint64_t inputs)
{
    int youngest = has_flag(VLY_VULKAN_LEARNING_DENDRITIC) ? 0 : 1;
    uint shift = 0u; /* 2^shift parts of a row */
    while (shift < 5u && record.count < TEAMS >> (shift + 1u))
        shift++;
    uint n_parts = map.n_parts > 1u << shift ? map.n_parts : 1u << shift;
    uint64_t items = uint64_t(record.count) * uint64_t(n_parts);
    for (uint64_t q = uint64_t(TEAM); q < items; q += uint64_t(TEAMS)) {
        uint part = uint(q % uint64_t(n_parts));
        uint spike = uint(q / uint64_t(n_parts));
        uint at = (uint(record.start) + spike) & VIEW.log_mask;
        uint k = word_of(VIEW.log_ids, at).v - map.source_first;
        if (k >= map.n_sources)
            continue;
        visit_row(row_of(k, flushed, youngest), k, LANES * part + LANE,
                  LANES * n_parts, inputs);
    }
}

void main()
{
    if (push.k >= LAUNCH.n_bursts)
        return;
    uint64_t burst = LAUNCH.burst + uint64_t(push.k);
    uint64_t head;
    if (!begin_burst(burst, head))
        return;
    now = uint(burst);
    uint slot = uint(burst % uint64_t(VIEW.ring));
    for (uint p = push.first; p < push.first + push.count; p++) {
        load_learning(p);
        load_coefs();
        uint flushed = is_full() ? now : word_of(map.flushed, 0u).v;
        /* No invocation reads it before the barrier: all see that a ring is
         * full. */
        if (is_full() && gl_GlobalInvocationID.x == 0u)
            word_of(map.flushed, 0u).v = now;
        if (burst >= uint64_t(map.base_delay))
            deliver_spikes(record_of(burst - uint64_t(map.base_delay)).v,
                           flushed,
                           slot_row(VIEW.inputs,
                                    slot * VIEW.n_ports + map.port));
    }
}

#endif
