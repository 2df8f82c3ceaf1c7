/* SPDX-License-Identifier: Apache-2.0
 * The second simulator: one loop over bursts, neurons and synapses, sums of
 * pending events per burst of arrival in a plain array. Written to be read, not
 * to be fast; see second_simulator.h. Compile with -ffp-contract=off.
 */
#include "second_simulator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "second_learning.h"
#include "second_memory.h"
#include "second_short_term.h"

/* What one neuron's update needs from outside. */
typedef struct arrivals {
    int64_t sum[4];
    int any; /* at least one event, even if the sum is 0 */
} arrivals;

typedef struct world {
    second_file *file;
    uint64_t burst;
    uint32_t n_slots;  /* max_delay + 1: burst b waits in slot b % n_slots */
    arrivals *pending; /* [n_slots][n_neurons] */
    second_history history;
    second_memories memories;
    second_result *result;
} world;

static arrivals *pending_of(world *w, uint64_t burst, uint32_t neuron)
{
    return &w->pending[(burst % w->n_slots) * w->file->n_neurons + neuron];
}

static void add_event(world *w, uint64_t burst, uint32_t neuron, uint32_t port,
                      int64_t value)
{
    arrivals *a = pending_of(w, burst, neuron);
    a->sum[port] += value;
    a->any = 1;
}

/* ---- numbers ---------------------------------------------------------- */

/* Philox4x32-10, Salmon et al. 2011, doi:10.1145/2063384.2063405 */
uint32_t second_draw(uint64_t seed, uint64_t t, uint32_t neuron,
                     uint32_t stream)
{
    uint64_t block = t >> 2;
    uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), neuron, stream};
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c[0];
        uint64_t p1 = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1,
                            (uint32_t)(p0 >> 32) ^ c[3] ^ k1, (uint32_t)p0};
        memcpy(c, next, sizeof c);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c[t & 3];
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Every stored float: within its bounds, and +0 below 2^-40. */
static float stored(float x, float bound)
{
    if (x > bound)
        x = bound;
    if (x < -bound)
        x = -bound;
    if (fabsf(x) < 0x1p-40f)
        x = 0.0f;
    return x;
}

/* ---- columns ---------------------------------------------------------- */

static const second_column *column(const second_area *area, uint32_t first,
                                   uint32_t n, const char *name)
{
    for (uint32_t k = first; k < first + n; k++)
        if (strcmp(area->columns[k].name, name) == 0)
            return &area->columns[k];
    fprintf(stderr, "second simulator: %s has no %s\n", area->name, name);
    exit(2);
}

static double param(const second_area *area, const char *name, uint32_t k)
{
    const second_column *c = column(area, 0, area->n_params, name);
    return ((const double *)c->elements)[c->is_uniform ? 0 : k];
}

/* Coefficient number `index` in the order of the model's table. */
static uint32_t coef_u(const second_area *area, uint32_t index, uint32_t k)
{
    const second_column *c =
        &area->columns[area->n_params + area->n_fields + index];
    return ((const uint32_t *)c->elements)[c->is_uniform ? 0 : k];
}

static float coef_f(const second_area *area, uint32_t index, uint32_t k)
{
    return float_of(coef_u(area, index, k));
}

/* none at FEAGI areas: a genome with dc there is refused */
static uint32_t constant_input_index(const second_area *area)
{
    static const uint32_t index[] = {0, 1, 3, 6, 6};
    return area->model < SECOND_COND ? index[area->model]
                                     : second_drive_index(area);
}

/* ---- constant input --------------------------------------------------- */

/* Input of a neuron from the active dc stimuli, in the step's unit: summed in
 * double in the order of the genome, rounded once. */
static float constant_input(const second_file *file, const second_area *area,
                            uint32_t k, uint64_t burst)
{
    double dc = 0.0;
    for (uint32_t s = 0; s < file->n_stimuli; s++) {
        const second_stimulus *stimulus = &file->stimuli[s];
        uint32_t id = area->first + k;
        if (stimulus->kind == 2 && id >= stimulus->first &&
            id < stimulus->first + stimulus->n && burst >= stimulus->start &&
            burst < stimulus->stop)
            dc += stimulus->mean;
    }
    double x = dc;
    if (area->model == SECOND_COND || area->model == SECOND_ADEX)
        x = file->dt_ms / param(area, "c_m_pf", k) *
            (param(area, "i_e_pa", k) + dc);
    if (area->model == SECOND_DELTA || area->model == SECOND_EXP ||
        area->model == SECOND_ALPHA || area->model == SECOND_EXP2) {
        double tau = param(area, "tau_m_ms", k);
        x = -expm1(-file->dt_ms / tau) * tau / param(area, "c_m_pf", k) *
            (param(area, "i_e_pa", k) + dc);
    }
    if (area->model == SECOND_IZHIKEVICH)
        x = param(area, "i_e", k) + dc;
    return stored((float)x, 0x1p40f);
}

static int has_dc(const second_file *file, const second_area *area)
{
    for (uint32_t s = 0; s < file->n_stimuli; s++)
        if (file->stimuli[s].kind == 2 &&
            file->stimuli[s].first < area->first + area->n &&
            area->first < file->stimuli[s].first + file->stimuli[s].n)
            return 1;
    return 0;
}

/* At burst 0, and where a dc stimulus starts or stops. */
static int update_constant_input(const second_file *file, uint64_t burst)
{
    int changes = burst == 0;
    for (uint32_t s = 0; s < file->n_stimuli; s++)
        if (file->stimuli[s].kind == 2 &&
            (file->stimuli[s].start == burst || file->stimuli[s].stop == burst))
            changes = 1;
    for (uint32_t a = 0; changes && a < file->n_areas; a++) {
        second_area *area = &file->areas[a];
        if (area->model == SECOND_OWN && burst == 0)
            continue; /* its coefficients have it */
        if (area->model == SECOND_OWN && has_dc(file, area)) {
            fprintf(stderr, "second simulator: dc that changes at %s\n",
                    area->name);
            return -1;
        }
        for (uint32_t k = 0; area->model < SECOND_OWN &&
                             area->model != SECOND_FEAGI && k < area->n;
             k++) {
            area->input[k] = constant_input(file, area, k, burst);
            float saved = coef_f(area, constant_input_index(area), k);
            if (burst == 0 && bits_of(saved) != bits_of(area->input[k])) {
                fprintf(stderr,
                        "second simulator: constant input of %s[%u] is %a in "
                        "the file, %a by its definition\n",
                        area->name, (unsigned)k, (double)saved,
                        (double)area->input[k]);
                return -1;
            }
        }
    }
    return 0;
}

/* ---- models: each returns 1 if neuron k of the area fires ------------- */

/* Brunel 2000: V <- (E_L + (p22 (V - E_L) + drive)) + arrivals. */
static int step_delta(second_area *area, uint32_t k, float in)
{
    float v = float_of(area->state[0][k]);
    uint32_t refractory = area->state[1][k];
    float p22 = coef_f(area, 0, k), e_l = coef_f(area, 2, k);
    if (refractory > 0) {
        refractory--; /* V is held, arrivals are lost */
    } else {
        float decayed = p22 * (v - e_l);
        decayed = decayed + area->input[k];
        decayed = e_l + decayed;
        v = decayed + in;
    }
    v = stored(v, 16384.0f);
    int fires = v >= coef_f(area, 3, k);
    if (fires) {
        v = stored(coef_f(area, 4, k), 16384.0f);
        refractory = coef_u(area, 5, k);
    }
    area->state[0][k] = bits_of(v);
    area->state[1][k] = refractory;
    return fires;
}

/* Rotter and Diesmann 1999: V with the old current (held while refractory),
 * decay of the current, arrivals, threshold. */
static int step_exp(second_area *area, uint32_t k, float in)
{
    float v = float_of(area->state[0][k]);
    float current = float_of(area->state[1][k]);
    uint32_t refractory = area->state[2][k];
    float p11 = coef_f(area, 0, k), p22 = coef_f(area, 1, k);
    float p21 = coef_f(area, 2, k), e_l = coef_f(area, 4, k);
    if (refractory > 0) {
        refractory--;
    } else {
        float pushed = p21 * current;
        pushed = pushed + area->input[k];
        float decayed = p22 * (v - e_l);
        v = e_l + (decayed + pushed);
    }
    current = p11 * current;
    current = current + in;
    v = stored(v, 16384.0f);
    int fires = v >= coef_f(area, 5, k);
    if (fires) {
        v = stored(coef_f(area, 6, k), 16384.0f);
        refractory = coef_u(area, 7, k);
    }
    area->state[0][k] = bits_of(v);
    area->state[1][k] = bits_of(stored(current, 1073741824.0f));
    area->state[2][k] = refractory;
    return fires;
}

/* The same with a current that rises before it decays. */
static int step_alpha(second_area *area, uint32_t k, float in)
{
    float v = float_of(area->state[0][k]);
    float current = float_of(area->state[1][k]);
    float slope = float_of(area->state[2][k]);
    uint32_t refractory = area->state[3][k];
    float p11 = coef_f(area, 0, k), p21 = coef_f(area, 1, k);
    float e_l = coef_f(area, 7, k);
    if (refractory > 0) {
        refractory--;
    } else {
        float from_slope = coef_f(area, 3, k) * slope;
        float from_current = coef_f(area, 4, k) * current;
        float pushed = from_slope + from_current;
        pushed = pushed + area->input[k];
        float decayed = coef_f(area, 2, k) * (v - e_l);
        v = e_l + (decayed + pushed);
    }
    current = p11 * current;
    float rose = p21 * slope;
    current = current + rose;
    slope = p11 * slope;
    float begun = coef_f(area, 5, k) * in;
    slope = slope + begun;
    v = stored(v, 16384.0f);
    int fires = v >= coef_f(area, 8, k);
    if (fires) {
        v = stored(coef_f(area, 9, k), 16384.0f);
        refractory = coef_u(area, 10, k);
    }
    area->state[0][k] = bits_of(v);
    area->state[1][k] = bits_of(stored(current, 1073741824.0f));
    area->state[2][k] = bits_of(stored(slope, 1073741824.0f));
    area->state[3][k] = refractory;
    return fires;
}

/* Izhikevich 2003: two half steps for v, then u, then spike and reset. */
static int step_izhikevich(second_area *area, uint32_t k, float in)
{
    const float bound = 1048576.0f;
    float v = float_of(area->state[0][k]);
    float u = float_of(area->state[1][k]);
    float half_dt = coef_f(area, 0, k), a_dt = coef_f(area, 1, k);
    float b = coef_f(area, 2, k), current = in + area->input[k];
    for (int half = 0; half < 2; half++) {
        float slope = 0.04f * v;
        slope = slope + 5.0f;
        slope = slope * v;
        slope = slope + 140.0f;
        slope = slope - u;
        slope = slope + current;
        float move = half_dt * slope;
        v = stored(v + move, bound);
    }
    float pull = b * v;
    pull = pull - u;
    pull = a_dt * pull;
    u = u + pull;
    int fires = v >= coef_f(area, 5, k);
    if (fires) {
        v = stored(coef_f(area, 3, k), bound);
        u = u + coef_f(area, 4, k);
    }
    area->state[0][k] = bits_of(v);
    area->state[1][k] = bits_of(stored(u, bound));
    return fires;
}

/* Strength of a membrane-driven spike: clamped to 0..255, rounded half up. */
static uint32_t driven_psp(float v)
{
    if (!(v > 0.0f))
        return 0;
    if (v >= 255.0f)
        return 255;
    uint32_t whole = (uint32_t)v;
    return (v - (float)whole >= 0.5f) ? whole + 1 : whole;
}

/* feagi-core, burst engine, sequential path: process_single_neuron. */
static int step_feagi(second_area *area, uint32_t k, float in, uint32_t luck,
                      uint32_t *psp)
{
    float v = float_of(area->state[0][k]);
    uint32_t countdown = area->state[1][k];
    uint32_t count = area->state[2][k];
    uint32_t limit = coef_u(area, 4, k);
    int has_limit = limit != 65535u;
    int at_limit = has_limit && count >= limit;
    uint32_t excitability = coef_u(area, 6, k);
    int fires = 0, blocked = 0;

    if (countdown > 0) { /* input is lost, no leak */
        countdown--;
        if (countdown == 0 && at_limit)
            count = 0;
        goto out;
    }
    v = stored(v + in, 1073741824.0f);
    if (v >= coef_f(area, 0, k) && v <= coef_f(area, 1, k)) {
        if (at_limit) {
            count = 0;
            blocked = 1; /* no leak, V kept */
        } else {
            fires = excitability == 0xFFFFFFFFu || luck < excitability;
        }
    }
    if (fires) {
        *psp = coef_u(area, 9, k) ? driven_psp(v) : coef_u(area, 8, k);
        v = 0.0f;
        if (count < 65535u)
            count++;
        countdown = coef_u(area, 3, k);
        if (has_limit && count >= limit)
            countdown += coef_u(area, 5, k);
        if (countdown > 65535u)
            countdown = 65535u;
    } else if (!blocked) {
        if (has_limit)
            count = 0;
        v = stored(v * coef_f(area, 2, k), 1073741824.0f);
    }
out:
    if (!coef_u(area, 7, k)) /* mp_charge_accumulation off */
        v = 0.0f;
    area->state[0][k] = bits_of(v);
    area->state[1][k] = countdown;
    area->state[2][k] = count;
    return fires;
}

/* ---- one burst -------------------------------------------------------- */

/* Number of events for a word u: from rate and dt alone if there is one event
 * with probability rate * dt, otherwise from the thresholds of the file. */
static int64_t count_events(const second_file *file,
                            const second_stimulus *stimulus, uint32_t u)
{
    int64_t count = 0;
    if (stimulus->kind == 4) {
        double chance = stimulus->rate * file->dt_ms / 1000.0;
        double none = floor(0x1p32 - chance * 0x1p32 + 0.5);
        return (double)u >= none;
    }
    for (uint32_t j = 0; j < stimulus->n_thresholds; j++)
        if (stimulus->thresholds[j] <= u)
            count++;
    return count;
}

static void stimulate(world *w)
{
    const second_file *file = w->file;
    uint64_t t = w->burst;
    for (uint64_t i = 0; i < w->memories.n_due; i++)
        if (w->memories.due[i].burst == t)
            add_event(w, t, w->memories.due[i].neuron, 0,
                      w->memories.due[i].value);
    for (uint32_t s = 0; s < file->n_stimuli; s++) {
        const second_stimulus *stimulus = &file->stimuli[s];
        for (uint64_t i = 0; i < stimulus->n_inputs; i++)
            if (stimulus->inputs[i].burst == t)
                add_event(w, t, stimulus->inputs[i].neuron,
                          stimulus->inputs[i].port, stimulus->inputs[i].value);
        int draws = stimulus->kind < 2 || stimulus->kind == 4;
        if (!draws || t < stimulus->start || t >= stimulus->stop)
            continue;
        for (uint32_t k = 0; k < stimulus->n; k++) {
            uint32_t id = stimulus->first + k;
            uint32_t u = second_draw(file->seed_input, t, id, stimulus->stream);
            int64_t count = count_events(file, stimulus, u);
            if (count > 0 || stimulus->always)
                add_event(w, t, id, stimulus->port,
                          stimulus->base + count * stimulus->step);
        }
    }
}

/* Updates neuron k of the area; 1 and its gain if it fires. */
static int update(world *w, second_area *area, uint32_t k, uint32_t *gain)
{
    const second_file *file = w->file;
    uint32_t id = area->first + k;
    arrivals a = *pending_of(w, w->burst, id);
    uint32_t psp = 0;
    int fires = 0;
    float in = (float)a.sum[0] * area->scale[0];
    *gain = 1u << file->feagi_q;
    if (area->model == SECOND_DELTA)
        fires = step_delta(area, k, in);
    if (area->model == SECOND_EXP)
        fires = step_exp(area, k, in);
    if (area->model == SECOND_ALPHA)
        fires = step_alpha(area, k, in);
    if (area->model == SECOND_IZHIKEVICH)
        fires = step_izhikevich(area, k, in);
    float ins[4];
    for (uint32_t port = 0; port < 4; port++)
        ins[port] = (float)a.sum[port] * area->scale[port];
    for (uint32_t port = 0; area->arrived && port < area->n_ports; port++)
        area->arrived[port * area->n + k] += (double)ins[port];
    if (area->model == SECOND_OWN)
        fires = second_step_program(file, area, k, w->burst, ins);
    else if (area->model >= SECOND_COND)
        fires = second_step_ports(area, k, in, ins[1]);
    if (area->model == SECOND_FEAGI && a.any) {
        uint32_t luck =
            second_draw(file->seed_input, w->burst, id, 0x66656167u);
        fires = step_feagi(area, k, in, luck, &psp);
        *gain = psp << file->feagi_q;
        uint32_t degree = file->out_degree[id];
        if (!coef_u(area, 10, k) && degree > 0)
            *gain = (*gain + degree - 1) / degree;
    }
    return fires;
}

static void send(world *w, uint32_t area, uint32_t k, uint32_t gain)
{
    const second_file *file = w->file;
    for (uint32_t p = 0; p < file->n_projections; p++) {
        const second_projection *projection = &file->projections[p];
        if (projection->source_area != area)
            continue;
        if (projection->learning) { /* its weight is that of the arrival */
            w->result->events += projection->row[k + 1] - projection->row[k];
            continue;
        }
        int64_t share = 0; /* of short-term plasticity */
        if (projection->short_term)
            share = second_short_term_fire(projection->short_term, k, w->burst);
        if (share < 0)
            abort();
        for (uint64_t i = projection->row[k]; i < projection->row[k + 1]; i++) {
            int64_t weight =
                projection->weight[i] * (INT64_C(1) << projection->shift);
            uint32_t port = projection->port;
            uint64_t arrival = w->burst + projection->base_delay;
            if (port == 2 && file->areas[projection->target_area].n_ports == 2)
                port = weight < 0;
            if (projection->delay)
                arrival += projection->delay[i];
            if (projection->uses_gain)
                weight *= gain;
            if (projection->short_term)
                weight = second_short_term_event(projection->weight[i], share,
                                                 projection->shift);
            add_event(w, arrival, projection->target[i], port, weight);
            w->result->events++;
        }
    }
}

/* The arrivals at projections that learn, with their weights of now. */
static void deliver_learned(world *w)
{
    second_file *file = w->file;
    second_learnings_step(file, &w->history, w->burst, 0);
    for (uint32_t p = 0; p < file->n_projections; p++) {
        const second_projection *map = &file->projections[p];
        const second_area *source = &file->areas[map->source_area];
        if (!map->learning || w->burst < map->base_delay)
            continue;
        const char *fired = w->history.fired + (w->burst - map->base_delay) %
                                                   w->n_slots * file->n_neurons;
        const uint32_t *gain = w->history.gain + (fired - w->history.fired);
        for (uint32_t k = 0; k < source->n; k++)
            for (uint64_t i = map->row[k];
                 fired[source->first + k] && i < map->row[k + 1]; i++)
                add_event(w, w->burst, map->target[i], map->port,
                          second_learning_weight(map->learning, i) *
                              (map->uses_gain ? gain[source->first + k] : 1) *
                              (INT64_C(1) << map->shift));
    }
}

static uint64_t one_burst(world *w)
{
    uint64_t digest = 0;
    char *fired =
        w->history.fired + w->burst % w->n_slots * (uint64_t)w->file->n_neurons;
    memset(fired, 0, w->file->n_neurons);
    stimulate(w);
    deliver_learned(w);
    for (uint32_t a = 0; a < w->file->n_areas; a++) {
        second_area *area = &w->file->areas[a];
        for (uint32_t k = 0; k < area->n; k++) {
            uint32_t id = area->first + k, gain;
            if (!update(w, area, k, &gain))
                continue;
            digest += second_mix64(second_mix64(w->burst) ^
                                   ((uint64_t)id << 32 | gain));
            fired[id] = 1;
            w->history.gain[fired + id - w->history.fired] = gain;
            w->result->spikes++;
            if (w->result->spike_log)
                fprintf(w->result->spike_log, "%llu %u %u\n",
                        (unsigned long long)w->burst, (unsigned)id,
                        (unsigned)gain);
            send(w, a, k, gain);
        }
    }
    second_learnings_step(w->file, &w->history, w->burst, 1);
    if (second_memories_step(w->file, &w->memories, fired,
                             w->history.gain + (fired - w->history.fired),
                             w->burst))
        abort();
    for (uint32_t id = 0; id < w->file->n_neurons; id++)
        *pending_of(w, w->burst, id) = (arrivals){{0, 0}, 0};
    return digest;
}

static uint64_t state_digest(const second_file *file)
{
    uint64_t digest = 0;
    for (uint32_t a = 0; a < file->n_areas; a++) {
        const second_area *area = &file->areas[a];
        for (uint32_t f = 0; f < area->n_fields; f++)
            for (uint32_t k = 0; k < area->n; k++)
                digest += second_mix64(
                    second_mix64(f) ^
                    ((uint64_t)(area->first + k) << 32 | area->state[f][k]));
    }
    return digest;
}

int second_run(second_file *file, uint64_t n_bursts, second_result *result)
{
    world w = {.file = file, .n_slots = file->max_delay + 1, .result = result};
    uint64_t digest = 0;
    for (uint32_t a = 0; a < file->n_areas; a++)
        if (second_check_columns(&file->areas[a]))
            return -1;
    w.pending =
        calloc((size_t)w.n_slots * file->n_neurons + 1, sizeof *w.pending);
    if (second_learnings_begin(file, &w.history) || !w.pending ||
        second_memories_read(file, file->resolved, &w.memories)) {
        second_memories_free(&w.memories);
        second_learnings_end(file, &w.history);
        free(w.pending);
        return -1;
    }
    result->spikes = 0;
    result->events = 0;
    for (w.burst = 0; w.burst < n_bursts; w.burst++) {
        if (result->before)
            result->before(file, w.burst, result->before_arg);
        if (update_constant_input(file, w.burst)) {
            second_memories_free(&w.memories);
            second_learnings_end(file, &w.history);
            free(w.pending);
            return -1;
        }
        uint64_t burst_digest = one_burst(&w);
        if (result->bursts)
            result->bursts[w.burst] = burst_digest;
        digest = second_mix64(digest ^ burst_digest);
    }
    free(w.pending);
    int wrong = 0;
    result->n_sums = 0;
    for (uint32_t a = 0; a < file->n_areas; a++) {
        result->n_sums += file->areas[a].arrived != NULL;
        wrong |= second_check_sums(&file->areas[a]);
    }
    result->digest = digest;
    result->state_digest = state_digest(file) +
                           second_learnings_digest(file, n_bursts) +
                           second_memories_digest(file, &w.memories, n_bursts);
    second_memories_free(&w.memories);
    result->distance = 0.0;
    for (uint32_t p = 0; p < file->n_projections; p++)
        if (file->projections[p].learning)
            result->distance =
                fmax(result->distance,
                     second_learning_distance(file->projections[p].learning));
    for (uint32_t p = 0; p < file->n_projections; p++)
        if (file->projections[p].short_term)
            result->distance = fmax(result->distance,
                                    file->projections[p].short_term->distance);
    second_learnings_end(file, &w.history);
    return wrong;
}
