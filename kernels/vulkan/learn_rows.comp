/* SPDX-License-Identifier: Apache-2.0
 * Rows of the projections that learn by one rule (RULE_<id>; RULE_program: of
 * users, see rule_program.glsl). A synapse is
 * brought up to date when a spike of its source arrives: the spikes of its
 * target since the last arrival are folded in, then the arrival, then its
 * weight is delivered, beside deliver.comp and as it does, by integer atomics.
 * LANES invocations take a row, or a part of it where few arrive or rows are
 * long.
 *
 * Each target has its last spikes in a ring. If one was full after the last
 * burst, the next one begins with a flush: all rows are brought up to date.
 * That changes no result. Built with FLUSH, this shader does that. Rules with
 * an eligibility flush in every interval, and turn eligibilities into weights
 * on the way. For rules of windows see learn_window.glsl.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "kernels/vulkan/contract.glsl"

#include "kernels/vulkan/burst_begin.glsl"
#include "kernels/vulkan/learning.glsl"

#include "kernels/vulkan/rule_coefs.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint LANES = 32u; /* that share a row */

uint now;      /* burst modulo 2^32 */
uint now_slot; /* of the accumulators, in this burst */

#if !defined(RULE_program)

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

#endif

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
    bool sweeps; /* eligibilities become weights, by this modulator */
    float modulator;
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
    row.sweeps = false;
    row.modulator = 0.0f;
    return row;
}

/* ---- synapses ---------------------------------------------------------- */

/* An arrival at a target. inputs: address of the accumulators. */
void deliver_weight(uint64_t inputs, uint target, int m)
{
    uint value = (uint((m + 0x8000) >> 16) * map.sign) << map.shift;
    atomicAdd(word_of(inputs, target).v, value);
}

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

/* Spikes of the target, and the arrival, change m. */
int learned(row_state row, uint i, int m)
{
    target_state of = target_of(i);
    if (row.youngest <= row.oldest && int(now - of.last) <= row.oldest)
        m = fold_target(row, i, of.count, m);
#if !defined(FLUSH)
    of = target_seen(of, i);
    m = pre(m, row.x0, row.x1, decayed(map.target[0], of.after0, now - of.last),
            decayed(map.target[1], of.after1, now - of.last));
#endif
    return m;
}

/* Turns an eligibility, which is up to date, into weight. */
int swept(int e, word_at weight, float d)
{
#if !defined(RULE_program)
#define VLY_MODULATOR(tau, interval)                                           \
    weight.v = uint(RULE_PART(_weight)(int(weight.v), e, coefs, d));           \
    e = RULE_PART(_fade)(e, coefs);
#include "kernels/rules/shader_rule_table.glsl"
#endif
    return e;
}

/* Synapse j of the block. inputs: address of the accumulators to which the
 * arrival is delivered. */
void visit_synapse(row_state row, vly_vulkan_block block, uint64_t j,
                   uint64_t inputs)
{
    uint target = word_at(block.targets + 4ul * j).v;
    word_at weight = word_at(block.weights + 4ul * j);
    word_at changed =
        word_at((HAS_ELIGIBILITY != 0u ? block.eligibilities : block.weights) +
                4ul * j);
    int m = int(changed.v);
    int was = m;
    if (!has_flag(VLY_VULKAN_LEARNING_FROZEN)) {
        m = learned(row, target - map.target_first, m);
        if (row.sweeps && m != 0) /* an eligibility of 0 changes nothing */
            m = swept(m, weight, row.modulator);
    }
    if (m != was)
        changed.v = uint(m);
#if !defined(FLUSH)
    deliver_weight(inputs, target, HAS_ELIGIBILITY != 0u ? int(weight.v) : m);
#endif
}

/* Synapses from, from + step, ... of row k. */
void visit_row(row_state row, uint k, uint from, uint step, uint64_t inputs)
{
    row_walk walk = walk_from(map.row + 8ul * uint64_t(k), from);
    while (walk_block(walk, map.blocks, map.block_shift))
        for (; walk.j < walk.last; walk.j += uint64_t(step))
            visit_synapse(row, walk.block, walk.j, inputs);
}

#include "kernels/vulkan/learn_window.glsl"

/* ---- a burst ----------------------------------------------------------- */

bool is_full()
{
    return word_of(map.flushed, 1u).v == now;
}

/* Whether eligibilities become weights before the arrivals of this burst. */
bool is_due(uint64_t burst)
{
    return HAS_ELIGIBILITY != 0u && burst % uint64_t(map.interval) == 0ul;
}

#if defined(FLUSH)

void flush_rows(bool sweeps)
{
    uint flushed = word_of(map.flushed, 0u).v;
    uint64_t items = uint64_t(map.n_sources) * uint64_t(map.n_parts);
    float d = 0.0f;
    if (sweeps)
        d = modulator_value(modulator_at(map.modulator).v);
    for (uint64_t q = uint64_t(TEAM); q < items; q += uint64_t(TEAMS)) {
        uint k = uint(q / uint64_t(map.n_parts));
        uint part = uint(q % uint64_t(map.n_parts));
        row_state row = row_of(k, flushed, 1);
        row.sweeps = sweeps;
        row.modulator = d;
        if (row.youngest <= row.oldest || sweeps)
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
        if (has_flag(VLY_VULKAN_LEARNING_FROZEN))
            continue;
        bool sweeps = push.all == 0u && is_due(burst);
        if (HAS_WINDOW == 0u && push.all == 0u && !sweeps && !is_full())
            continue;
        load_coefs();
        if (HAS_WINDOW != 0u)
            change_windows(burst);
        else
            flush_rows(sweeps);
    }
}

#else

/* The spikes that arrive in this burst, one after the other. */
void deliver_spikes(vly_vulkan_record record, uint flushed, uint64_t inputs)
{
    int youngest = has_flag(VLY_VULKAN_LEARNING_DENDRITIC) ? 0 : 1;
    uint n_parts = max(map.n_parts, 1u << parts_shift(record.count, TEAMS));
    uint64_t items = uint64_t(record.count) * uint64_t(n_parts);
    for (uint64_t q = uint64_t(TEAM); q < items; q += uint64_t(TEAMS)) {
        uint part = uint(q % uint64_t(n_parts));
        uint spike = uint(q / uint64_t(n_parts));
        uint at = place_of(record, spike);
        uint k = word_of(VIEW.log_ids, at).v - map.source_first;
        if (k >= map.n_sources)
            continue;
        uint from = LANES * part + LANE;
        if (HAS_WINDOW != 0u)
            deliver_unchanged(k, from, LANES * n_parts, inputs, at);
        else
            visit_row(row_of(k, flushed, youngest), k, from, LANES * n_parts,
                      inputs);
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
    now_slot = uint(burst % uint64_t(VIEW.ring));
    for (uint p = push.first; p < push.first + push.count; p++) {
        load_learning(p);
        load_coefs();
        bool flushes = HAS_WINDOW != 0u || is_due(burst) || is_full();
        uint flushed = flushes ? now : word_of(map.flushed, 0u).v;
        /* No invocation reads it before the barrier: all see that this burst
         * began with a flush. */
        if (flushes && gl_GlobalInvocationID.x == 0u)
            word_of(map.flushed, 0u).v = now;
        if (burst >= uint64_t(map.base_delay))
            deliver_spikes(
                record_of(burst - uint64_t(map.base_delay)).v, flushed,
                slot_row(VIEW.inputs, now_slot * VIEW.n_ports + map.port));
    }
}

#endif
