/* SPDX-License-Identifier: Apache-2.0
 * The smallest complete plugin: a backend for nets of lif_psc_delta, on one
 * thread, written to be read. README.md beside it is the tour.
 *
 * Delivery is a ring of accumulators, one row a burst ahead: a spike adds its
 * weights to the rows of the bursts in which they arrive. Sums are integers,
 * so the order of work cannot change them.
 */
#include <string.h>

#include <volley/plugin.h>

#include "kernels/models/lif_psc_delta.h"
#include "kernels/models/table_hash.h"
#include "template_check.h"
#include "template_random.h"

static const char model_text[] =
#include "kernels/models/table_text.h"

#include "kernels/models/lif_psc_delta.def"
    ;

enum { N_FIELDS = 2, N_COEFS = 6, N_THRESHOLDS = 256 };

static const vly_host *host; /* lives longer than the plugin */

/* Columns are [field or coefficient][n_neurons], rings are [row][n_neurons];
 * all of them are slices of one block. */
struct vly_backend_net {
    const vly_net_desc *desc; /* stays valid until net_destroy */
    uint64_t burst;           /* bursts done */
    uint64_t bytes;
    uint32_t n;
    uint32_t rows;        /* max_delay + 1 */
    uint32_t *state;      /* [N_FIELDS] columns */
    uint32_t *coefs;      /* [N_COEFS] columns */
    int32_t *arriving;    /* ring: row t % rows: input that arrives in t */
    uint8_t *fired;       /* ring: row t % rows: neurons that fired in t */
    uint32_t *thresholds; /* [n_stimuli][N_THRESHOLDS] */
    vly_stimulus_desc *stimuli; /* as changed by stimulus_write */
};

static vly_status fail(vly_error *error, vly_status status, const char *text)
{
    if (error && error->struct_size >= sizeof(vly_error)) {
        error->status = status;
        strncpy(error->message, text, sizeof(error->message) - 1);
        error->message[sizeof(error->message) - 1] = 0;
    }
    return status;
}

/* Descriptions are reached by the host's stride: a newer host's are larger. */
static const vly_area_desc *area_at(const vly_net_desc *desc, uint32_t i)
{
    const char *base = (const char *)desc->areas;
    return (const void *)(base + (size_t)i * desc->area_size);
}

static const vly_projection_desc *projection_at(const vly_net_desc *desc,
                                                uint32_t i)
{
    const char *base = (const char *)desc->projections;
    return (const void *)(base + (size_t)i * desc->projection_size);
}

/* Hosts before 1.4 have shorter descriptions, and no shift; nor has the header
 * of an older SDK. */
static uint32_t shift_of(const vly_net_desc *desc, const vly_projection_desc *p)
{
#if VLY_ABI_MINOR >= 4
    if (desc->projection_size >= VLY_PROJECTION_BYTES_1_4)
        return p->shift;
#endif
    (void)desc;
    (void)p;
    return 0;
}

/* Hosts before 1.10 give every weight, and so they do to an older plugin. */
static int32_t weight_at(const vly_projection_desc *p, uint64_t s)
{
#if VLY_ABI_MINOR >= 10
    return vly_weight_at(p, s);
#else
    return p->weight[s];
#endif
}

static const vly_stimulus_desc *stimulus_at(const vly_net_desc *desc,
                                            uint32_t i)
{
    const char *base = (const char *)desc->stimuli;
    return (const void *)(base + (size_t)i * desc->stimulus_size);
}

/* ---- nets that it can run --------------------------------------------- */

static uint32_t device_count(void)
{
    return 1;
}

static vly_status device_info(uint32_t index, vly_device_info *info,
                              vly_error *error)
{
    if (index != 0)
        return fail(error, VLY_E_DEVICE, "template has only device 0");
    info->index = 0;
    info->memory_bytes = 0;
    strcpy(info->name, "template");
    strcpy(info->capability, "1 thread");
    return VLY_OK;
}

static vly_status supports(const vly_net_desc *desc, vly_error *error)
{
    if (desc->struct_size < sizeof *desc)
        return fail(error, VLY_E_INVALID, "net: struct_size is too small");
    for (uint32_t i = 0; i < desc->n_areas; i++) {
        const vly_area_desc *area = area_at(desc, i);
        if (strcmp(area->model, "lif_psc_delta") != 0)
            return fail(error, VLY_E_UNSUPPORTED,
                        "template runs only areas of lif_psc_delta");
        if (area->model_hash != vly_model_text_hash(model_text))
            return fail(error, VLY_E_UNSUPPORTED,
                        "template was built with another lif_psc_delta");
    }
    for (uint32_t i = 0; i < desc->n_projections; i++) {
        const vly_projection_desc *p = projection_at(desc, i);
        if (p->source_area >= desc->n_areas || p->target_area >= desc->n_areas)
            return fail(error, VLY_E_INVALID, "map: no such area");
        if (p->port != 0 || p->flags != 0)
            return fail(error, VLY_E_UNSUPPORTED,
                        "template has one port, no gains, no plasticity");
    }
    return VLY_OK;
}

/* ---- one burst -------------------------------------------------------- */

static void arrive(vly_backend_net *net, uint64_t burst, uint32_t neuron,
                   int32_t value)
{
    net->arriving[(burst % net->rows) * net->n + neuron] += value;
}

/* Adds the weights of one spike of burst t. Input that arrived before burst
 * `from` is over (from > t + 1 only when a net starts in the middle of a run).
 */
static void spike_send(vly_backend_net *net, uint32_t neuron, uint64_t t,
                       uint64_t from)
{
    for (uint32_t i = 0; i < net->desc->n_projections; i++) {
        const vly_projection_desc *p = projection_at(net->desc, i);
        const vly_area_desc *source = area_at(net->desc, p->source_area);
        uint32_t k = neuron - source->first; /* wraps: then not in the area */
        if (k >= source->n_neurons)
            continue;
        int32_t unit = 1 << shift_of(net->desc, p);
        for (uint64_t s = p->row[k]; s < p->row[k + 1]; s++) {
            uint64_t at = t + p->base_delay + (p->delay ? p->delay[s] : 0);
            if (at >= from)
                arrive(net, at, p->target[s], weight_at(p, s) * unit);
        }
    }
}

static void stimuli_add(vly_backend_net *net, uint64_t t)
{
    for (uint32_t i = 0; i < net->desc->n_stimuli; i++) {
        const vly_stimulus_desc *s = &net->stimuli[i];
        for (uint32_t j = 0; t >= s->start && t < s->stop && j < s->n_neurons;
             j++) {
            uint32_t u = template_draw(net->desc->seed_input, t, s->first + j,
                                       s->stream);
            int32_t k = 0;
            while ((uint32_t)k < s->n_thresholds && s->thresholds[k] <= u)
                k++;
            if (k > 0 || s->flags & VLY_STIMULUS_ALWAYS)
                arrive(net, t, s->first + j, s->base + k * s->step);
        }
    }
}

static float as_float(uint32_t word)
{
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* The step of kernels/models, the same code as on every backend. */
static uint32_t neuron_update(vly_backend_net *net, uint32_t i, float input)
{
    uint32_t n = net->n;
    uint32_t *s = net->state + i;
    const uint32_t *c = net->coefs + i;
    vly_lif_psc_delta_state state = {as_float(s[0]), s[n]};
    vly_lif_psc_delta_coef coef = {as_float(c[0]),
                                   as_float(c[n]),
                                   as_float(c[(size_t)2 * n]),
                                   as_float(c[(size_t)3 * n]),
                                   as_float(c[(size_t)4 * n]),
                                   c[(size_t)5 * n]};
    vly_lif_psc_delta_out out = vly_lif_psc_delta_step(state, coef, input);
    s[0] = vly_bits(out.s.v_mv);
    s[n] = out.s.refractory;
    return out.fired;
}

/* Everything that happens in burst net->burst, in this order: arrivals,
 * stimuli, the host's input (already added), update, spikes. */
static void burst_run(vly_backend_net *net, vly_run *run)
{
    const uint64_t t = net->burst;
    const uint64_t row = (t % net->rows) * net->n;
    const uint32_t gain = 1u << net->desc->feagi_q; /* no model here has one */
    uint64_t digest = 0;
    uint32_t count = 0;
    stimuli_add(net, t);
    for (uint32_t a = 0; a < net->desc->n_areas; a++) {
        const vly_area_desc *area = area_at(net->desc, a);
        for (uint32_t k = 0; k < area->n_neurons; k++) {
            uint32_t i = area->first + k;
            float input = (float)net->arriving[row + i] * area->scale[0];
            net->arriving[row + i] = 0; /* the row is burst t + rows now */
            net->fired[row + i] = (uint8_t)neuron_update(net, i, input);
        }
    }
    for (uint32_t i = 0; i < net->n; i++) {
        if (!net->fired[row + i])
            continue;
        spike_send(net, i, t, 0);
        digest += template_mix(template_mix(t) ^ ((uint64_t)i << 32 | gain));
        run->n_events += net->desc->out_degree[i];
        if (run->flags & VLY_RUN_RECORD) {
            if (run->spike_gains)
                run->spike_gains[run->n_spikes] = gain;
            run->spikes[run->n_spikes++] = i;
        }
        count++;
    }
    if (run->digests)
        run->digests[run->n_bursts_done] = digest;
    if (run->spike_counts)
        run->spike_counts[run->n_bursts_done] = count;
    run->n_candidates += net->n;
    run->n_bursts_done++;
    net->burst++;
}

static vly_status net_run(vly_backend_net *net, vly_run *run, vly_error *error)
{
    uint64_t input = 0;
    const uint32_t *stop = run->stop; /* another thread may set it */
    const char *wrong = template_run_wrong(net->desc, run);
    if (wrong)
        return fail(error, VLY_E_INVALID, wrong);
    run->n_bursts_done = run->n_spikes = 0;
    run->n_events = run->n_candidates = 0;
    /* the first burst is run whatever stop says */
    while (run->n_bursts_done < run->n_bursts &&
           !(run->n_bursts_done > 0 && stop &&
             __atomic_load_n(stop, __ATOMIC_RELAXED) != 0)) {
        if (run->flags & VLY_RUN_RECORD &&
            run->spikes_capacity - run->n_spikes < net->n)
            break; /* the next burst might not fit */
        for (; input < run->n_inputs && run->inputs[input].burst <= net->burst;
             input++)
            if (run->inputs[input].burst == net->burst)
                arrive(net, net->burst, run->inputs[input].neuron,
                       run->inputs[input].value);
        burst_run(net, run);
    }
    return VLY_OK;
}

/* ---- state in and out ------------------------------------------------- */

static vly_status range_check(const vly_net_desc *desc, uint32_t area,
                              uint32_t column, uint32_t n_columns, uint64_t end,
                              vly_error *error)
{
    if (area < desc->n_areas && column < n_columns &&
        end <= area_at(desc, area)->n_neurons)
        return VLY_OK;
    return fail(error, VLY_E_INVALID, "no such area, column or neuron");
}

static vly_status field_read(vly_backend_net *net, uint32_t area,
                             uint32_t field, uint32_t first, uint32_t count,
                             uint32_t *words, vly_error *error)
{
    vly_status status = range_check(net->desc, area, field, N_FIELDS,
                                    (uint64_t)first + count, error);
    if (status != VLY_OK)
        return status;
    size_t at = (size_t)field * net->n + area_at(net->desc, area)->first;
    memcpy(words, net->state + at + first, count * sizeof *words);
    return VLY_OK;
}

static vly_status field_write(vly_backend_net *net, uint32_t area,
                              uint32_t field, uint32_t first, uint32_t count,
                              const uint32_t *words, vly_error *error)
{
    vly_status status = range_check(net->desc, area, field, N_FIELDS,
                                    (uint64_t)first + count, error);
    if (status != VLY_OK)
        return status;
    size_t at = (size_t)field * net->n + area_at(net->desc, area)->first;
    memcpy(net->state + at + first, words, count * sizeof *words);
    return VLY_OK;
}

static vly_status coef_write(vly_backend_net *net, uint32_t area, uint32_t coef,
                             const vly_column *column, vly_error *error)
{
    vly_status status = range_check(net->desc, area, coef, N_COEFS, 0, error);
    if (status != VLY_OK)
        return status;
    const vly_area_desc *where = area_at(net->desc, area);
    uint32_t *words = net->coefs + (size_t)coef * net->n + where->first;
    for (uint32_t i = 0; i < where->n_neurons; i++)
        words[i] = column->words[column->uniform ? 0 : i];
    return VLY_OK;
}

static vly_status stimulus_write(vly_backend_net *net, uint32_t stimulus,
                                 const vly_stimulus_desc *desc,
                                 vly_error *error)
{
    const char *wrong =
        stimulus >= net->desc->n_stimuli
            ? "no such stimulus"
            : template_stimulus_wrong(stimulus_at(net->desc, stimulus), desc,
                                      N_THRESHOLDS);
    if (wrong)
        return fail(error, VLY_E_INVALID, wrong);
    uint32_t *copy = net->thresholds + (size_t)stimulus * N_THRESHOLDS;
    if (desc->n_thresholds > 0)
        memcpy(copy, desc->thresholds, desc->n_thresholds * sizeof *copy);
    net->stimuli[stimulus] = *desc;
    net->stimuli[stimulus].thresholds = copy;
    return VLY_OK;
}

static vly_status snapshot_read(vly_backend_net *net, vly_snapshot *snapshot,
                                vly_error *error)
{
    if (snapshot->struct_size < sizeof *snapshot)
        return fail(error, VLY_E_INVALID, "snapshot: struct_size is too small");
    const uint32_t max_delay = net->desc->max_delay;
    uint32_t bursts = net->burst < max_delay ? (uint32_t)net->burst : max_delay;
    uint32_t *state = snapshot->state; /* NULL: only count */
    uint64_t n_fired = 0;
    for (uint32_t a = 0; state && a < net->desc->n_areas; a++)
        for (uint32_t f = 0; f < N_FIELDS; f++) {
            uint32_t count = area_at(net->desc, a)->n_neurons;
            field_read(net, a, f, 0, count, state, NULL);
            state += count;
        }
    if (state)
        snapshot->fired_row[0] = 0;
    for (uint32_t j = 0; j < bursts; j++) {
        uint64_t row = (net->burst - bursts + j) % net->rows * net->n;
        for (uint32_t i = 0; i < net->n; i++)
            if (net->fired[row + i]) {
                if (state) {
                    snapshot->fired[n_fired] = i;
                    snapshot->fired_gain[n_fired] = 1u << net->desc->feagi_q;
                }
                n_fired++;
            }
        if (state)
            snapshot->fired_row[j + 1] = n_fired;
    }
    snapshot->n_fired_bursts = bursts;
    snapshot->burst = net->burst;
    snapshot->n_state_words = (uint64_t)N_FIELDS * net->n;
    snapshot->n_fired = n_fired;
    snapshot->n_weight_bytes = 0;
    return VLY_OK;
}

/* ---- create and destroy ----------------------------------------------- */

static void snapshot_restore(vly_backend_net *net, const vly_snapshot *s)
{
    const uint32_t *words = s->state;
    net->burst = s->burst;
    for (uint32_t a = 0; a < net->desc->n_areas; a++)
        for (uint32_t f = 0; f < N_FIELDS; f++) {
            uint32_t count = area_at(net->desc, a)->n_neurons;
            field_write(net, a, f, 0, count, words, NULL);
            words += count;
        }
    for (uint32_t j = 0; j < s->n_fired_bursts; j++) {
        uint64_t t = s->burst - s->n_fired_bursts + j;
        for (uint64_t i = s->fired_row[j]; i < s->fired_row[j + 1]; i++) {
            net->fired[t % net->rows * net->n + s->fired[i]] = 1;
            spike_send(net, s->fired[i], t, s->burst);
        }
    }
}

static void net_destroy(vly_backend_net *net)
{
    host->free(host->context, net);
}

static vly_status net_create(const vly_device_spec *device,
                             const vly_net_desc *desc,
                             const vly_snapshot *snapshot,
                             vly_backend_net **net, vly_error *error)
{
    const uint64_t n = desc->n_neurons, rows = (uint64_t)desc->max_delay + 1;
    const uint64_t bytes =
        sizeof(vly_backend_net) +
        desc->n_stimuli * (sizeof(vly_stimulus_desc) + N_THRESHOLDS * 4) +
        n * (4 * (N_FIELDS + N_COEFS) + 5 * rows);
    vly_status status = supports(desc, error);
    if (status == VLY_OK && device->index != 0)
        status = fail(error, VLY_E_DEVICE, "template has only device 0");
    if (status != VLY_OK)
        return status;
    const char *wrong = template_snapshot_wrong(desc, N_FIELDS, snapshot);
    if (wrong)
        return fail(error, VLY_E_INVALID, wrong);
    vly_backend_net *made = host->alloc(host->context, bytes, 64);
    if (!made)
        return fail(error, VLY_E_NOMEM, "template: out of memory for the net");
    memset(made, 0, bytes);
    made->desc = desc;
    made->bytes = bytes;
    made->n = desc->n_neurons;
    made->rows = desc->max_delay + 1;
    made->stimuli = (vly_stimulus_desc *)(made + 1);
    made->thresholds = (uint32_t *)(made->stimuli + desc->n_stimuli);
    made->state = made->thresholds + (size_t)desc->n_stimuli * N_THRESHOLDS;
    made->coefs = made->state + N_FIELDS * n;
    made->arriving = (int32_t *)(made->coefs + N_COEFS * n);
    made->fired = (uint8_t *)(made->arriving + rows * n);
    for (uint32_t a = 0; a < desc->n_areas; a++)
        for (uint32_t c = 0; c < N_COEFS; c++)
            coef_write(made, a, c, &area_at(desc, a)->coefs[c], NULL);
    for (uint32_t i = 0; i < desc->n_stimuli && status == VLY_OK; i++)
        status = stimulus_write(made, i, stimulus_at(desc, i), error);
    if (status != VLY_OK) {
        net_destroy(made);
        return status;
    }
    snapshot_restore(made, snapshot);
    *net = made;
    return VLY_OK;
}

static vly_status net_info(const vly_backend_net *net, vly_net_info *info,
                           vly_error *error)
{
    (void)error;
    info->n_threads = 1;
    info->host_bytes = net->bytes;
    info->device_bytes = 0;
    strcpy(info->plan, "plain loops");
    return VLY_OK;
}

/* ---- the plugin ------------------------------------------------------- */

static const vly_backend backend = {
    .struct_size = sizeof(vly_backend),
    .device_count = device_count,
    .device_info = device_info,
    .supports = supports,
    .net_create = net_create,
    .net_destroy = net_destroy,
    .net_info = net_info,
    .net_run = net_run,
    .field_read = field_read,
    .field_write = field_write,
    .coef_write = coef_write,
    .stimulus_write = stimulus_write,
    .snapshot_read = snapshot_read,
};

static vly_status init(const vly_host *given, vly_error *error)
{
    (void)error;
    host = given;
    return VLY_OK;
}

static void deinit(void)
{
}

static const void *get_interface(const char *id)
{
    return strcmp(id, VLY_BACKEND_INTERFACE) == 0 ? &backend : NULL;
}

extern const vly_plugin vly_plugin_entry; /* for -Wmissing-declarations */
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "template",
    .version = "1.0",
    .build = "C11",
    .init = init,
    .deinit = deinit,
    .get_interface = get_interface,
};
