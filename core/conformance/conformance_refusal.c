/* SPDX-License-Identifier: Apache-2.0
 * Wrong calls. Each must be refused with a message, leave its arguments
 * untouched, and leave the net unchanged: after all of them the run still ends
 * with the table's digests.
 */
#include "conformance/conformance_trial.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* Checks a refusal. `invalid`: only E_INVALID is accepted, otherwise also
 * E_UNSUPPORTED and E_DEVICE. */
static bool refused(trial *t, vly_status status, const vly_error *error,
                    bool invalid, const char *what)
{
    if (status == VLY_OK)
        return trial_fail(t, "%s: not refused", what);
    if (status != VLY_E_INVALID &&
        (invalid || (status != VLY_E_UNSUPPORTED && status != VLY_E_DEVICE)))
        return trial_fail(t, "%s: refused with %s, wanted VLY_E_INVALID%s",
                          what, vly_status_name(status),
                          invalid ? "" : " or VLY_E_UNSUPPORTED");
    if (error->status != status || error->message[0] == 0 ||
        !memchr(error->message, 0, sizeof error->message))
        return trial_fail(t, "%s: refused, but *error does not say why", what);
    return true;
}

/* ---- net_run ----------------------------------------------------------- */

static bool refuse_run(trial *t, const vly_run *wrong, const char *what)
{
    vly_error error = VLY_ERROR_INIT;
    guarded buffers[4];
    vly_run run = *wrong;
    bool good = true;
    for (int i = 0; i < 4; i++)
        good = guarded_init(&buffers[i], 4, i == 0 ? 8 : 4) && good;
    run.n_bursts = 4;
    run.digests = (uint64_t *)(void *)buffers[0].bytes;
    run.spike_counts = (uint32_t *)(void *)buffers[1].bytes;
    if (run.spikes_capacity != 0) /* without: the case is that there is none */
        run.spikes = (uint32_t *)(void *)buffers[2].bytes;
    run.spikes_capacity = run.flags != 0 ? t->desc->n_neurons - 1u : 0;
    if (wrong->flags != 0 && wrong->spikes_capacity == 0)
        run.spikes_capacity = t->desc->n_neurons;
    const vly_run before = run;
    if (!good)
        trial_fail(t, "out of memory");
    good = good && refused(t, t->backend->net_run(t->made, &run, &error),
                           &error, true, what);
    if (good && t->backend->net_run(t->made, &run, NULL) == VLY_OK)
        good = trial_fail(t, "%s: not refused without an error to fill", what);
    for (int i = 0; good && i < 4; i++)
        good = guarded_untouched(&buffers[i]) ||
               trial_fail(t, "%s: wrote into a buffer", what);
    if (good && memcmp(&run, &before, sizeof run) != 0)
        good = trial_fail(t, "%s: wrote into vly_run", what);
    for (int i = 0; i < 4; i++)
        guarded_deinit(&buffers[i]);
    return good;
}

static bool refuse_runs(trial *t)
{
    const uint32_t n = t->desc->n_neurons;
    const vly_input outside = {.burst = t->burst, .neuron = n};
    const vly_input port = {.burst = t->burst, .port = 2};
    const vly_input order[2] = {{.burst = t->burst + 1}, {.burst = t->burst}};
    const vly_run plain = {.struct_size = sizeof plain};
    vly_run run = plain;
    run.struct_size = 8;
    if (!refuse_run(t, &run, "net_run with struct_size 8"))
        return false;
    run = plain;
    run.inputs = &outside;
    run.n_inputs = 1;
    if (!refuse_run(t, &run, "input of a neuron that does not exist"))
        return false;
    run.inputs = &port;
    if (!refuse_run(t, &run, "input of port 2"))
        return false;
    run.inputs = order;
    run.n_inputs = 2;
    if (!refuse_run(t, &run, "inputs whose bursts descend"))
        return false;
    run = plain;
    run.flags = VLY_RUN_RECORD;
    run.spikes_capacity = 1;
    if (!refuse_run(t, &run, "record with room for n_neurons - 1 spikes"))
        return false;
    run.spikes_capacity = 0;
    return refuse_run(t, &run, "record without spikes");
}

/* Values for projection 0, which has a modulator where `modulated`. */
static bool refuse_modulations(trial *t)
{
    const vly_projection_desc *map = t->net->connectome->desc.projections;
    bool modulated = t->desc->n_projections > 0 && map->learning &&
                     map->learning->modulator.bursts != 0;
    const vly_input wrong[][2] = {
        {{.burst = t->burst, .neuron = t->desc->n_projections}},
        {{.burst = t->burst}},
        {{.burst = t->burst, .port = 1}},
        {{.burst = t->burst, .value = 1 << 30}},
        {{.burst = t->burst, .value = -(1 << 30)}},
        {{.burst = t->burst + 1}, {.burst = t->burst}},
        {{.burst = t->burst}, {.burst = t->burst}}};
    static const char *const what[] = {
        "a value for the modulator of a projection that does not exist",
        "a value for a projection without a modulator",
        "a value for port 1 of a modulator",
        "a modulator's value of 2^30",
        "a modulator's value of -2^30",
        "modulations whose bursts descend",
        "two values for one modulator and burst"};
    vly_run none = {.struct_size = sizeof none, .n_modulations = 1};
    if ((t->backend->flags & VLY_BACKEND_MODULATES) == 0)
        return true;
    for (uint32_t i = 0; i < sizeof what / sizeof what[0]; i++) {
        vly_run run = {.struct_size = sizeof run, .modulations = wrong[i]};
        run.n_modulations = i < 5 ? 1 : 2;
        if (!(i == 1 && modulated) && !refuse_run(t, &run, what[i]))
            return false;
    }
    return refuse_run(t, &none, "one modulation at NULL");
}

/* ---- reads and writes -------------------------------------------------- */

static bool refuse_fields(trial *t)
{
    const vly_area_desc *area = &t->net->connectome->desc.areas[0];
    const uint32_t n = area->n_neurons;
    const struct {
        uint32_t area, field, first, count;
        const char *what;
    } wrong[] = {
        {t->desc->n_areas, 0, 0, 1, "a field of an area that does not exist"},
        {0, area->n_fields, 0, 1, "a field that does not exist"},
        {0, 0, n, 1, "a field after the last neuron"},
        {0, 0, n - 1, 2, "a field with one neuron too many"},
        {0, 0, 1, UINT32_MAX, "a field of neurons whose end overflows"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        vly_error error = VLY_ERROR_INIT;
        guarded words;
        if (!guarded_init(&words, 2, 4))
            return trial_fail(t, "out of memory");
        uint32_t *word = (uint32_t *)(void *)words.bytes;
        bool good = refused(t,
                            t->backend->field_read(
                                t->made, wrong[i].area, wrong[i].field,
                                wrong[i].first, wrong[i].count, word, &error),
                            &error, true, wrong[i].what);
        error = (vly_error)VLY_ERROR_INIT;
        good = good &&
               refused(t,
                       t->backend->field_write(t->made, wrong[i].area,
                                               wrong[i].field, wrong[i].first,
                                               wrong[i].count, word, &error),
                       &error, true, wrong[i].what);
        if (good && !guarded_untouched(&words))
            good = trial_fail(t, "%s: wrote the words", wrong[i].what);
        guarded_deinit(&words);
        if (!good)
            return false;
    }
    return true;
}

static bool refuse_coefs(trial *t)
{
    const vly_area_desc *area = &t->net->connectome->desc.areas[0];
    const vly_column *column = &area->coefs[0];
    vly_error error = VLY_ERROR_INIT;
    if (!refused(t,
                 t->backend->coef_write(t->made, t->desc->n_areas, 0, column,
                                        &error),
                 &error, true, "a coefficient of an area that does not exist"))
        return false;
    error = (vly_error)VLY_ERROR_INIT;
    return refused(
        t, t->backend->coef_write(t->made, 0, area->n_coefs, column, &error),
        &error, true, "a coefficient that does not exist");
}

static bool refuse_stimuli(trial *t)
{
    static const uint32_t many[257];
    vly_error error = VLY_ERROR_INIT;
    const vly_net_desc *desc = t->fitting;
    vly_stimulus_desc wrong = {.thresholds = many, .n_thresholds = 1};
    vly_status status =
        t->backend->stimulus_write(t->made, desc->n_stimuli, &wrong, &error);
    if (!refused(t, status, &error, true, "a stimulus that does not exist"))
        return false;
    static const char *const names[] = {
        "a stimulus written with another first", "... with another n_neurons",
        "... with another port", "... with 257 thresholds"};
    for (int i = 0; i < 4 && desc->n_stimuli > 0; i++) {
        error = (vly_error)VLY_ERROR_INIT;
        wrong = desc->stimuli[0];
        wrong.first += i == 0;
        wrong.n_neurons -= i == 1;
        wrong.port += i == 2;
        if (i == 3) {
            wrong.thresholds = many;
            wrong.n_thresholds = 257;
        }
        if (!refused(t, t->backend->stimulus_write(t->made, 0, &wrong, &error),
                     &error, i < 3, names[i]))
            return false;
    }
    return true;
}

/* ---- descriptions and snapshots ---------------------------------------- */

static bool refuse_create(trial *t, const vly_net_desc *desc,
                          const vly_snapshot *snapshot, bool invalid,
                          const char *what)
{
    vly_error error = VLY_ERROR_INIT;
    vly_backend_net *made = NULL;
    vly_status status = t->backend->net_create(&t->conformance->device, desc,
                                               snapshot, &made, &error);
    if (made) {
        t->backend->net_destroy(made);
        return trial_fail(t, "%s: net_create gives status %d and a net", what,
                          (int)status);
    }
    return refused(t, status, &error, invalid, what);
}

static bool refuse_desc(trial *t, const vly_net_desc *desc, const char *what)
{
    vly_error error = VLY_ERROR_INIT;
    return refused(t, t->backend->supports(desc, &error), &error, false,
                   what) &&
           refuse_create(t, desc, &t->net->connectome->start, false, what);
}

static bool refuse_areas(trial *t)
{
    vly_net_desc desc = *t->fitting;
    vly_area_desc areas[64];
    if (desc.n_areas > 64)
        return true;
    for (int i = 0; i < 2; i++) {
        memcpy(areas, t->net->connectome->desc.areas,
               desc.n_areas * sizeof *areas);
        desc.areas = areas;
        vly_area_desc *last = &areas[desc.n_areas - 1];
        if (i == 0)
            last->model_hash ^= 1;
        else
            last->model = "no_such_model";
        if (!refuse_desc(t, &desc,
                         i == 0 ? "a model with another table's hash"
                                : "a model that does not exist"))
            return false;
    }
    return true;
}

static bool refuse_projections(trial *t)
{
    vly_net_desc desc = *t->fitting;
    if (desc.n_projections == 0)
        return true;
    vly_projection_desc one = desc.projections[0];
    desc.projections = &one;
    desc.n_projections = 1;
    one.flags ^= VLY_PROJECTION_GAIN;
    if (!refuse_desc(t, &desc,
                     "a projection with gains at a target that has "
                     "none, or the reverse"))
        return false;
    one.flags ^= VLY_PROJECTION_GAIN;
    one.flags |= VLY_PROJECTION_PLASTIC;
    one.learning = NULL;
    if (!refuse_desc(t, &desc, "a plastic projection without a rule"))
        return false;
    one.flags &= ~(uint32_t)VLY_PROJECTION_PLASTIC;
    one.flags |= VLY_PROJECTION_SHORT_TERM;
    one.short_term = NULL;
    if (!refuse_desc(t, &desc, "short-term plasticity without a rule"))
        return false;
    one.flags &= ~(uint32_t)VLY_PROJECTION_SHORT_TERM;
    one.port = 3;
    if (!refuse_desc(t, &desc, "a projection onto port 3"))
        return false;
    one = t->fitting->projections[0];
    one.target_area = desc.n_areas;
    return refuse_desc(t, &desc, "a projection to an area that does not exist");
}

static bool refuse_snapshots(trial *t)
{
    const vly_net_desc *desc = t->fitting;
    vly_snapshot s = t->net->connectome->start;
    s.struct_size = 8;
    if (!refuse_create(t, desc, &s, true, "a snapshot with struct_size 8"))
        return false;
    s = t->net->connectome->start;
    s.n_state_words--;
    if (!refuse_create(t, desc, &s, true,
                       "a snapshot with a word of state too few"))
        return false;
    s = t->net->connectome->start;
    uint32_t word = 0;
    s.weights = &word;
    s.n_weight_bytes = s.n_weight_bytes == 4 ? 0 : 4;
    if ((t->backend->flags & (VLY_BACKEND_LEARNS | VLY_BACKEND_SHORT_TERM)) !=
            0 &&
        !refuse_create(t, desc, &s, true, "a snapshot with 1 word of weights"))
        return false;
    s = t->net->connectome->start;
    const uint64_t rows[2] = {0, 1};
    const uint32_t id = desc->n_neurons;
    const uint32_t gain = 1;
    uint64_t row_copy[2];
    uint32_t id_copy = id;
    uint32_t gain_copy = gain;
    memcpy(row_copy, rows, sizeof rows);
    s.burst = 1;
    s.n_fired_bursts = 1;
    s.n_fired = 1;
    s.fired_row = row_copy;
    s.fired = &id_copy;
    s.fired_gain = &gain_copy;
    if (!refuse_create(
            t, desc, &s, true,
            "a snapshot with a spike of a neuron that does not exist"))
        return false;
    s.n_fired_bursts = 0;
    s.n_fired = 0;
    return refuse_create(t, desc, &s, true,
                         "a snapshot of burst 1 without its fired set");
}

/* Where the last projection learns by a rule of windows: its last neuron fired,
 * but in 0 bursts in a row. */
static bool refuse_windows(trial *t)
{
    const vly_net_desc *desc = t->fitting;
    vly_snapshot s = t->net->connectome->start;
    const uint64_t n = s.n_weight_bytes / sizeof(uint32_t);
    const vly_learning_desc *last =
        desc->n_projections > 0
            ? desc->projections[desc->n_projections - 1].learning
            : NULL;
    if (!last || (last->flags & VLY_LEARNING_WINDOW) == 0 ||
        (t->backend->flags & VLY_BACKEND_LEARNS) == 0)
        return true;
    uint32_t *words = vly_malloc(n, sizeof *words);
    if (!words)
        return trial_fail(t, "out of memory");
    memcpy(words, s.weights, s.n_weight_bytes);
    words[n - 1] = 0;
    s.weights = words;
    bool good =
        refuse_create(t, desc, &s, true, "a snapshot with a run of 0 bursts");
    vly_free(words);
    return good;
}

static bool refuse_devices(trial *t)
{
    vly_error error = VLY_ERROR_INIT;
    vly_device_info info = {.struct_size = sizeof info};
    vly_device_spec device = t->conformance->device;
    vly_backend_net *made = NULL;
    device.index = 1u << 20;
    if (!refused(t, t->backend->device_info(1u << 20, &info, &error), &error,
                 false, "information about device 1048576"))
        return false;
    error = (vly_error)VLY_ERROR_INIT;
    vly_status status = t->backend->net_create(
        &device, t->fitting, &t->net->connectome->start, &made, &error);
    return refused(t, status, &error, false, "a net on device 1048576");
}

/* ---- weights ------------------------------------------------------------ */

/* A refusal that names the map. */
static bool refused_map(trial *t, vly_status status, const vly_error *error,
                        const char *map, const char *what)
{
    return refused(t, status, error, true, what) &&
           (strstr(error->message, map) ||
            trial_fail(t, "%s: the message does not name map %s: %s", what, map,
                       error->message));
}

static bool refuse_map(trial *t, uint32_t p)
{
    const vly_projection_desc *map = &t->net->connectome->desc.projections[p];
    const vly_area_desc *source =
        &t->net->connectome->desc.areas[map->source_area];
    const uint64_t n = map->row[source->n_neurons];
    vly_learning_desc other = *map->learning;
    const int32_t low = -1;
    const int32_t high = (int32_t)map->learning->most + 1;
    int32_t kept = 7;
    vly_error e[5] = {VLY_ERROR_INIT, VLY_ERROR_INIT, VLY_ERROR_INIT,
                      VLY_ERROR_INIT, VLY_ERROR_INIT};
    const vly_backend *b = t->backend;
    other.n_coefs++;
    if (n == 0)
        return true;
    return refused_map(t, b->learning_read(t->made, p, n, 1, &kept, &e[0]),
                       &e[0], map->map, "a weight after the last synapse") &&
           refused_map(
               t, b->learning_read(t->made, p, 1, UINT64_MAX, &kept, &e[1]),
               &e[1], map->map, "weights whose end overflows") &&
           refused_map(t, b->learning_write(t->made, p, n - 1, 1, &low, &e[2]),
                       &e[2], map->map, "a weight below 0") &&
           refused_map(t, b->learning_write(t->made, p, 0, 1, &high, &e[3]),
                       &e[3], map->map, "a weight above the bound") &&
           refused_map(t, b->learning_set(t->made, p, &other, &e[4]), &e[4],
                       map->map, "a rule with one coefficient more") &&
           (kept == 7 || trial_fail(t, "a refused learning_read wrote"));
}

static bool refuse_weights(trial *t)
{
    const vly_net_desc *desc = t->fitting;
    bool any = false;
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        if (!desc->projections[p].learning)
            continue;
        any = true;
        if (!refuse_map(t, p))
            return false;
    }
    for (uint32_t p = 0; any && p <= desc->n_projections; p++) {
        vly_error error = VLY_ERROR_INIT;
        int32_t kept = 7;
        if ((p == desc->n_projections || !desc->projections[p].learning) &&
            !refused(t,
                     t->backend->learning_read(t->made, p, 0, 0, &kept, &error),
                     &error, true, "weights of a map that does not learn"))
            return false;
    }
    return true;
}

/* ---- all of them ------------------------------------------------------- */

static bool refuse_all(trial *t)
{
    vly_error error = VLY_ERROR_INIT;
    vly_net_desc small = *t->fitting;
    vly_snapshot snapshot = {.struct_size = 8};
    small.struct_size = 8;
    return refuse_runs(t) && refuse_modulations(t) && refuse_fields(t) &&
           refuse_coefs(t) && refuse_stimuli(t) && refuse_weights(t) &&
           refused(t, t->backend->snapshot_read(t->made, &snapshot, &error),
                   &error, true, "snapshot_read with struct_size 8") &&
           refuse_desc(t, &small, "a net with struct_size 8") &&
           refuse_areas(t) && refuse_projections(t) && refuse_snapshots(t) &&
           refuse_windows(t) && refuse_devices(t);
}

bool scenario_refusals(trial *t)
{
    if (!trial_create(t, t->conformance->backend, NULL))
        return false;
    t->backend->net_destroy(NULL);
    return refuse_all(t) &&
           trial_advance(t, t->net->n_bursts / 2, &(trial_call){0}) &&
           refuse_all(t) && trial_finish(t, &(trial_call){.record = 2});
}
