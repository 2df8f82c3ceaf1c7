/* SPDX-License-Identifier: Apache-2.0
 * Code shared by shaders that update neurons: access to the words of an area
 * and its stimuli for update_neuron.glsl, and output of spikes and their sums.
 */
#ifndef VOLLEY_VULKAN_BURST_UPDATE_GLSL
#define VOLLEY_VULKAN_BURST_UPDATE_GLSL

#include "kernels/vulkan/burst_view.glsl"

layout(constant_id = 6) const bool KEEPS = false; /* counts of stimuli */

#if !defined(MODEL_program)
struct tile_fields {
#define VLY_FIELD(name, type, unit, lo, hi, init, text) uint64_t name;
#include "kernels/models/shader_table.glsl"
};
struct tile_coefs {
#define VLY_COEF(name, type, expression) uint name;
#include "kernels/models/shader_table.glsl"
};
#endif

/* The data of the current area that every neuron needs: read once a tile, since
 * a compiler would read it again after every store. Separate variables, so that
 * no array is indexed. */
uint64_t area_address;
#if !defined(MODEL_program)
tile_fields field_at; /* addresses of [n] words */
tile_coefs coef_word; /* of coefficients that are uniform */
#endif
uint coefs_vary;
uint area_first; /* global id */
float area_scale0; /* of its ports */
float area_scale1;
uint n_stimuli;
uint64_t stimuli_at;         /* the first */
vly_stimulus first_stimulus; /* where there is one */
uvec4 first_thresholds;      /* its first four */
uint64_t kept_at;            /* of kept counts of it; 0: none are kept */
bool kept_is_new;            /* this burst makes them */
#define AREA area_at(area_address).v

uint varying_coef(uint k, uint i)
{
    return word_of(AREA.coef[k], i).v;
}

#define STATE(k, name, i) word_of(field_at.name, i).v
#define COEF(k, name, i)                                                       \
    ((coefs_vary >> (k) & 1u) != 0u ? varying_coef(k, i) : coef_word.name)
#define THRESHOLD(at) word_of(VIEW.thresholds, at).v
#define OUT_DEGREE(id) word_of(VIEW.out_degree, id).v
#include "kernels/vulkan/update_neuron.glsl"

MODEL_PART(_coef) uniform_coefs()
{
#if defined(MODEL_program)
    return vly_load_coefs(0u);
#else
    MODEL_PART(_coef) loaded;
#define VLY_COEF(name, type, expression)                                       \
    loaded.name = VLY_LOAD_##type(coef_word.name);
#include "kernels/models/shader_table.glsl"
    return loaded;
#endif
}

void load_area(uint area, uint64_t burst)
{
    area_address = VIEW.areas + AREA_BYTES * uint64_t(area);
    coefs_vary = AREA.coefs_vary;
    area_first = AREA.first;
    area_scale0 = AREA.scale[0];
    area_scale1 = AREA.scale[1];
#if MODEL_PORTS > 2
    scale2 = VLY_FLOAT(AREA.coef_word[0]);
    scale3 = VLY_FLOAT(AREA.coef_word[1]);
#endif
    n_stimuli = AREA.n_stimuli;
    kept_at = 0ul;
    kept_is_new = push.k == 0u || (uint(burst) & 3u) == 0u;
    stimuli_at = VIEW.stimuli + 56ul * uint64_t(AREA.stimulus_first);
    if (n_stimuli > 0u) {
        first_stimulus = stimulus_at(stimuli_at).v;
        if (KEEPS && first_stimulus.n_thresholds - 1u < 255u)
            kept_at = VIEW.kept;
        first_thresholds =
            quad_at(VIEW.thresholds + 4ul * uint64_t(first_stimulus.thresholds))
                .v;
    }
#if defined(MODEL_program)
    program_coefs = AREA.coef[0];
    vly_program_load();
#else
    uint k = 0u;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    field_at.name = AREA.field[k];                                             \
    k++;
#include "kernels/models/shader_table.glsl"
    k = 0u;
#define VLY_COEF(name, type, expression)                                       \
    coef_word.name = AREA.coef_word[k];                                        \
    k++;
#include "kernels/models/shader_table.glsl"
#endif
}

/* Events of the first stimulus for a random word, without reading anything if
 * it has up to four thresholds. */
uint count_first(uint u)
{
    uint n = first_stimulus.n_thresholds;
    if (n > 4u)
        return vly_count_thresholds(first_stimulus.thresholds, n, u);
    uint k = n > 0u && first_thresholds.x <= u ? 1u : 0u;
    k += n > 1u && first_thresholds.y <= u ? 1u : 0u;
    k += n > 2u && first_thresholds.z <= u ? 1u : 0u;
    k += n > 3u && first_thresholds.w <= u ? 1u : 0u;
    return k;
}

/* Events of the burst, from the neuron's kept word: the counts of the four
 * bursts of a Philox block, 8 bits each, since a block has four random words.
 * The first burst of a block or of a submission computes this word, so it is
 * never older than its inputs. */
uint kept_count(vly_burst burst, uint neuron, uint word)
{
    if (kept_is_new) {
        vly_philox_words w = vly_philox_draw(
            burst.key_low, burst.key_high,
            uint(burst.t) >> 2 | uint(burst.t >> 32) << 30,
            uint(burst.t >> 34), neuron, first_stimulus.stream);
        word = count_first(w.w0) | count_first(w.w1) << 8 |
               count_first(w.w2) << 16 | count_first(w.w3) << 24;
        word_of(kept_at, neuron).v = word;
    }
    return bitfieldExtract(word, int(uint(burst.t) & 3u) * 8, 8);
}

/* The data of a neuron for draw_stimuli, read before any write. */
uint read_kept(uint neuron)
{
    return KEEPS && kept_at != 0ul && !kept_is_new ? word_of(kept_at, neuron).v : 0u;
}

uint draw_first(vly_burst burst, uint neuron, uint kept, inout uint sum0,
                inout uint sum1)
{
    uint k = 0u;
    if (neuron - first_stimulus.first >= first_stimulus.n)
        return 0u;
    if (KEEPS && kept_at != 0ul) /* also while the stimulus is inactive: it may
                                  * start */
        k = kept_count(burst, neuron, kept);
    if (!vly_stimulus_acts(burst, first_stimulus, neuron))
        return 0u;
    if (!(KEEPS && kept_at != 0ul) && first_stimulus.n_thresholds != 0u)
        k = count_first(vly_stimulus_draw(burst, first_stimulus, neuron));
    return vly_stimulus_add(first_stimulus, k, sum0, sum1);
}

/* 1 if any event arrived. kept: by read_kept */
uint draw_stimuli(vly_burst burst, uint neuron, uint kept, inout uint sum0,
                  inout uint sum1)
{
    if (n_stimuli == 0u)
        return 0u;
    uint any = draw_first(burst, neuron, kept, sum0, sum1);
    for (uint s = 1u; s < n_stimuli; s++)
        any |= vly_draw_stimulus(
            burst, stimulus_at(stimuli_at + 56ul * uint64_t(s)).v, neuron,
            sum0, sum1);
    return any;
}

/* Spike `offset` of a burst whose first has position head. */
void write_spike(uint64_t head, uint offset, uint id, uint gain)
{
    uint at = (uint(head) + offset) & VIEW.log_mask;
    word_of(VIEW.log_ids, at).v = id;
    word_of(VIEW.log_gains, at).v = gain;
}

/* Adds the spikes of one area to the sums of the burst and of the run. */
void add_sums(record_at record, uint area, uint n, uint64_t hash,
              uint64_t degree)
{
    uint64_t at = VIEW.area_spikes + 8ul * uint64_t(area);
    uint64_t count = uint64_t(n);
    ADD_LONG(record.v.digest[0], record.v.digest[1], hash);
    ADD_LONG(record.v.events[0], record.v.events[1], degree);
    ADD_LONG(word_of(at, 0u).v, word_of(at, 1u).v, count);
}

#endif
