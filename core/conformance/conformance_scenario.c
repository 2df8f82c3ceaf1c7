/* SPDX-License-Identifier: Apache-2.0
 * The scenarios. Each must end with the table's digests.
 */
#include "conformance/conformance_trial.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "plugin/host_log.h"

static bool start(trial *t)
{
    return trial_create(t, t->conformance->backend, NULL);
}

/* ---- calls of any length, with and without record ---------------------- */

/* Texts about the net and the device must be terminated. */
static bool check_info(trial *t)
{
    vly_error error = VLY_ERROR_INIT;
    vly_net_info net = {.struct_size = sizeof net};
    vly_device_info device = {.struct_size = sizeof device};
    if (t->backend->net_info(t->made, &net, &error) != VLY_OK ||
        net.n_threads == 0 || net.plan[0] == 0 ||
        !memchr(net.plan, 0, sizeof net.plan))
        return trial_fail(t, "net_info: no threads or no plan %s",
                          error.message);
    uint32_t index = t->conformance->device.index;
    if (t->backend->device_count() <= index ||
        t->backend->device_info(index, &device, &error) != VLY_OK ||
        device.index != index || device.name[0] == 0 ||
        !memchr(device.name, 0, sizeof device.name) ||
        !memchr(device.capability, 0, sizeof device.capability))
        return trial_fail(t, "device_info: not of device %u %s", index,
                          error.message);
    return true;
}

/* A run of 0 bursts succeeds. */
static bool run_nothing(trial *t)
{
    vly_error error = VLY_ERROR_INIT;
    vly_run run = {.struct_size = sizeof run, .n_bursts_done = 1};
    vly_status status = t->backend->net_run(t->made, &run, &error);
    if (status == VLY_OK && run.n_bursts_done == 0 && run.n_spikes == 0 &&
        run.n_events == 0 && run.n_candidates == 0)
        return true;
    return trial_fail(t, "net_run with n_bursts 0: %s %s",
                      vly_status_name(status), error.message);
}

static bool scenario_whole(trial *t)
{
    return start(t) && check_info(t) &&
           trial_finish(t, &(trial_call){.record = 2});
}

static bool scenario_digests(trial *t)
{
    return start(t) && trial_finish(t, &(trial_call){0});
}

static bool scenario_quiet(trial *t)
{
    return start(t) && run_nothing(t) &&
           trial_finish(t, &(trial_call){.quiet = true}) && run_nothing(t);
}

static bool scenario_pieces_1(trial *t)
{
    return start(t) && trial_finish(t, &(trial_call){.n = 1, .record = 2});
}

static bool scenario_pieces_7(trial *t)
{
    if (!start(t))
        return false;
    for (uint32_t k = 0; t->burst < t->net->n_bursts; k++)
        if (!trial_advance(t, t->burst + 7, &(trial_call){.record = k % 3}))
            return false;
    return trial_finish(t, &(trial_call){0});
}

static bool scenario_pieces_64(trial *t)
{
    return start(t) && trial_finish(t, &(trial_call){.n = 64, .record = 1});
}

static bool scenario_stop(trial *t)
{
    const uint32_t set = 1;
    const uint32_t clear = 0;
    const trial_call stopped = {.record = 2, .stop = &set};
    const trial_call running = {.stop = &clear};
    uint64_t done = 0;
    if (!start(t))
        return false;
    for (int i = 0; i < 3 && t->burst < t->net->n_bursts; i++)
        if (!trial_step(t, &stopped, &done))
            return false;
    return trial_finish(t, &running);
}

/* Room for one full burst and a half: it ends where the next might not fit. */
static bool scenario_small_buffer(trial *t)
{
    uint64_t n = t->desc->n_neurons;
    trial_call call = {.record = 2, .room = n};
    return start(t) && trial_advance(t, t->net->n_bursts / 2, &call) &&
           trial_finish(t, &(trial_call){.record = 2, .room = n + n / 2});
}

/* ---- snapshots --------------------------------------------------------- */

static bool move(trial *t, const vly_backend *to)
{
    trial_snapshot snapshot;
    bool good = trial_snapshot_take(t, &snapshot);
    if (good) {
        trial_destroy(t);
        good = trial_create(t, to, &snapshot.s);
    }
    trial_snapshot_free(&snapshot);
    return good;
}

/* The first bursts, where the history is short; around the burst where it is
 * full; and now and then. */
static bool is_moved(const trial *t, uint64_t burst)
{
    uint64_t delay = t->desc->max_delay;
    return burst < 4 || (burst + 1 >= delay && burst <= delay + 1) ||
           burst % 19 == 0 || burst + 1 == t->net->n_bursts;
}

static bool scenario_snapshot(trial *t)
{
    if (!start(t))
        return false;
    while (t->burst < t->net->n_bursts) {
        uint64_t end = t->burst + 1;
        if (is_moved(t, t->burst) && !move(t, t->backend))
            return false;
        while (end < t->net->n_bursts && !is_moved(t, end))
            end++;
        if (!trial_advance(t, end, &(trial_call){0}))
            return false;
    }
    return trial_finish(t, &(trial_call){0});
}

static bool scenario_swap(trial *t)
{
    const vly_backend *backends[2] = {t->conformance->other,
                                      t->conformance->backend};
    uint64_t piece = t->net->n_bursts / 9 + 1;
    if (!trial_create(t, backends[0], NULL))
        return false;
    for (uint32_t k = 1; t->burst < t->net->n_bursts; k++)
        if (!trial_advance(t, t->burst + piece, &(trial_call){.record = 2}) ||
            !move(t, backends[k % 2]))
            return false;
    return (t->backend == backends[1] || move(t, backends[1])) &&
           trial_finish(t, &(trial_call){0});
}

/* ---- fields, coefficients, stimuli ------------------------------------- */

/* One field of one area, here and there, as the snapshot has it; then other
 * words into the middle, and back. */
static bool check_field(trial *t, uint32_t a, uint32_t f, const uint32_t *words)
{
    uint32_t n = t->net->connectome->desc.areas[a].n_neurons;
    uint32_t first = n / 3;
    uint32_t count = n - first - (n > 2);
    vly_error error = VLY_ERROR_INIT;
    guarded read;
    guarded other;
    bool good = guarded_init(&read, count, 4);
    good = guarded_init(&other, count, 4) && good;
    uint32_t *back = (uint32_t *)(void *)read.bytes;
    uint32_t *mixed = (uint32_t *)(void *)other.bytes;
    const vly_backend *backend = t->backend;
    for (uint32_t i = 0; good && i < count; i++)
        mixed[i] = words[first + count - 1 - i];
    good = good &&
           !backend->field_read(t->made, a, f, first, count, back, &error) &&
           memcmp(back, words + first, read.n) == 0 &&
           !backend->field_write(t->made, a, f, first, count, mixed, &error) &&
           !backend->field_read(t->made, a, f, first, count, back, &error) &&
           memcmp(back, mixed, read.n) == 0 &&
           !backend->field_read(t->made, a, f, n - 1, 1, back, &error) &&
           back[0] == (n > 2 ? words[n - 1] : mixed[count - 1]) &&
           !backend->field_write(t->made, a, f, first, count, words + first,
                                 &error) &&
           guarded_intact(&read) && guarded_intact(&other);
    guarded_deinit(&read);
    guarded_deinit(&other);
    return good ||
           trial_fail(t,
                      "burst %" PRIu64 ": field %u of area %u, neurons %u "
                      "to %u: not read or written as the snapshot has it %s",
                      t->burst, f, a, first, first + count, error.message);
}

static bool check_fields(trial *t)
{
    trial_snapshot before;
    trial_snapshot after = {0};
    bool good = trial_snapshot_take(t, &before);
    const uint32_t *words = before.s.state;
    for (uint32_t a = 0; good && a < t->desc->n_areas; a++) {
        const vly_area_desc *area = &t->net->connectome->desc.areas[a];
        for (uint32_t f = 0; good && f < area->n_fields; f++) {
            good = check_field(t, a, f, words);
            words += area->n_neurons;
        }
    }
    good = good && trial_snapshot_take(t, &after);
    if (good && memcmp(before.state.bytes, after.state.bytes, after.state.n))
        good = trial_fail(t,
                          "burst %" PRIu64 ": the state is another after "
                          "its fields were written as they were",
                          t->burst);
    trial_snapshot_free(&before);
    trial_snapshot_free(&after);
    return good;
}

static bool scenario_fields(trial *t)
{
    uint64_t n = t->net->n_bursts;
    if (!start(t))
        return false;
    for (uint64_t k = 0; k < 4; k++)
        if (!trial_advance(t, k * n / 3, &(trial_call){0}) || !check_fields(t))
            return false;
    return trial_finish(t, &(trial_call){0});
}

/* Another legal column (its first word for all), then the right one: where it
 * was one word for all, as one word a neuron. */
static bool rewrite_coef(trial *t, uint32_t a, uint32_t c)
{
    const vly_area_desc *area = &t->net->connectome->desc.areas[a];
    const vly_column *was = &area->coefs[c];
    const vly_column first = {was->words, 1, was->type};
    vly_column right = *was;
    vly_error error = VLY_ERROR_INIT;
    uint32_t *each = vly_malloc(area->n_neurons, sizeof *each);
    if (!each)
        return trial_fail(t, "out of memory");
    for (uint32_t i = 0; i < area->n_neurons; i++)
        each[i] = was->words[was->uniform ? 0 : i];
    right.words = each;
    right.uniform = 0;
    vly_status status = t->backend->coef_write(t->made, a, c, &first, &error);
    if (status == VLY_OK)
        status = t->backend->coef_write(t->made, a, c, &right, &error);
    vly_free(each);
    return status == VLY_OK || trial_fail(t, "coef_write: %s", error.message);
}

static bool rewrite_stimulus(trial *t, uint32_t s)
{
    static const uint32_t few[] = {0x1000u, 0x80000000u, 0x80000000u};
    vly_error error = VLY_ERROR_INIT;
    vly_stimulus_desc other = t->net->connectome->desc.stimuli[s];
    other.thresholds = few;
    other.n_thresholds = 3;
    other.start = t->burst + 3;
    other.stop = t->burst + 4;
    vly_status status = t->backend->stimulus_write(t->made, s, &other, &error);
    if (status == VLY_OK)
        status = t->backend->stimulus_write(
            t->made, s, &t->net->connectome->desc.stimuli[s], &error);
    return status == VLY_OK ||
           trial_fail(t, "stimulus_write: %s", error.message);
}

/* Other weights, and the right ones; another bound of them for no burst. */
static bool rewrite_learning(trial *t, uint32_t p)
{
    const vly_projection_desc *map = &t->net->connectome->desc.projections[p];
    if (!map->learning)
        return true;
    const vly_area_desc *source =
        &t->net->connectome->desc.areas[map->source_area];
    uint64_t n = map->row[source->n_neurons];
    vly_learning_desc other = *map->learning;
    vly_error error = VLY_ERROR_INIT;
    int32_t *right = vly_malloc(n, sizeof *right);
    int32_t *wrong = vly_calloc(n, sizeof *wrong);
    uint32_t *coefs = vly_calloc(other.n_coefs, sizeof *coefs);
    bool good = right && wrong && coefs;
    vly_status status = VLY_OK;
    other.coefs = coefs; /* zeros */
    other.flags ^= VLY_LEARNING_FROZEN;
    if (good)
        status = t->backend->learning_read(t->made, p, 0, n, right, &error);
    if (good && status == VLY_OK)
        status = t->backend->learning_write(t->made, p, 0, n, wrong, &error);
    if (good && status == VLY_OK)
        status = t->backend->learning_set(t->made, p, &other, &error);
    if (good && status == VLY_OK)
        status = t->backend->learning_set(t->made, p, map->learning, &error);
    if (good && status == VLY_OK && n > 0)
        status = t->backend->learning_write(t->made, p, n / 2, n - n / 2,
                                            right + n / 2, &error);
    if (good && status == VLY_OK)
        status =
            t->backend->learning_write(t->made, p, 0, n / 2, right, &error);
    vly_free(right);
    vly_free(wrong);
    vly_free(coefs);
    if (!good)
        return trial_fail(t, "out of memory");
    return status == VLY_OK ||
           trial_fail(t, "weights of map %s: %s", map->map, error.message);
}

/* Other gains of what is under way, and the right ones. */
static bool rewrite_short_term(trial *t, uint32_t p)
{
    const vly_projection_desc *map = &t->net->connectome->desc.projections[p];
    if (!map->short_term)
        return true;
    vly_short_term_desc other = *map->short_term;
    vly_error error = VLY_ERROR_INIT;
    uint32_t *coefs = vly_calloc(other.n_coefs, sizeof *coefs);
    if (!coefs)
        return trial_fail(t, "out of memory");
    other.coefs = coefs; /* zeros */
    vly_status status = t->backend->short_term_set(t->made, p, &other, &error);
    if (status == VLY_OK)
        status =
            t->backend->short_term_set(t->made, p, map->short_term, &error);
    vly_free(coefs);
    return status == VLY_OK ||
           trial_fail(t, "gains of map %s: %s", map->map, error.message);
}

/* Writes that change nothing in the end. Where the net's own values change
 * while it runs, only before the first burst. */
static bool scenario_rewrite(trial *t)
{
    bool fixed = t->net->entry->n_changes == 0 && !t->net->has_dc;
    if (!start(t))
        return false;
    for (uint64_t k = 0; k < (fixed ? 3 : 1); k++) {
        if (!trial_advance(t, k * t->net->n_bursts / 3, &(trial_call){0}))
            return false;
        for (uint32_t a = 0; a < t->desc->n_areas; a++)
            for (uint32_t c = 0; c < t->net->connectome->desc.areas[a].n_coefs;
                 c++)
                if (!rewrite_coef(t, a, c))
                    return false;
        for (uint32_t s = 0; s < t->desc->n_stimuli; s++)
            if (!rewrite_stimulus(t, s))
                return false;
        for (uint32_t p = 0; p < t->desc->n_projections; p++)
            if (!rewrite_learning(t, p) || !rewrite_short_term(t, p))
                return false;
    }
    return trial_finish(t, &(trial_call){0});
}

/* ---- other hosts, other nets ------------------------------------------- */

/* Calls of a host of version 1.0, which cannot give modulations, and of one
 * that knows more than we do. */
static bool scenario_versions(trial *t)
{
    const bool gives = t->net->entry->n_modulations > 0;
    const trial_call old = {.record = 2,
                            .struct_size = gives ? 0 : VLY_RUN_BYTES_1_0};
    const trial_call newer = {.record = 2,
                              .struct_size = (uint32_t)sizeof(vly_run) + 32};
    return start(t) && trial_advance(t, t->net->n_bursts / 2, &old) &&
           trial_finish(t, &newer);
}

/* A copy of n descriptions, each followed by extra bytes. */
static void *spread(const void *from, uint32_t n, uint32_t size,
                    uint32_t stride)
{
    char *to = vly_malloc(n, stride);
    if (!to)
        return NULL;
    memset(to, 0xa5, (size_t)n * stride);
    for (uint32_t i = 0; i < n; i++)
        memcpy(to + (size_t)i * stride, (const char *)from + (size_t)i * size,
               size);
    return to;
}

/* Descriptions of a newer host are longer: they are reached by its stride. */
static bool scenario_strides(trial *t)
{
    vly_net_desc desc = *t->desc;
    desc.area_size = sizeof(vly_area_desc) + 16;
    desc.projection_size = sizeof(vly_projection_desc) + 8;
    desc.stimulus_size = sizeof(vly_stimulus_desc) + 32;
    void *parts[3] = {
        spread(desc.areas, desc.n_areas, sizeof(vly_area_desc), desc.area_size),
        spread(desc.projections, desc.n_projections,
               sizeof(vly_projection_desc), desc.projection_size),
        spread(desc.stimuli, desc.n_stimuli, sizeof(vly_stimulus_desc),
               desc.stimulus_size)};
    bool good = parts[0] && parts[1] && parts[2];
    desc.areas = parts[0];
    desc.projections = parts[1];
    desc.stimuli = parts[2];
    t->desc = &desc;
    good = good ? start(t) && trial_finish(t, &(trial_call){.record = 2})
                : trial_fail(t, "out of memory");
    trial_destroy(t);
    t->desc = t->fitting;
    for (int i = 0; i < 3; i++)
        vly_free(parts[i]);
    return good;
}

/* Two nets side by side do not affect each other. */
static bool scenario_two_nets(trial *t)
{
    trial second;
    bool good = trial_init(&second, t->conformance, t->net) && start(t) &&
                start(&second);
    for (uint64_t b = 5; good && b < t->net->n_bursts + 11; b += 11)
        good = trial_advance(t, b, &(trial_call){0}) &&
               trial_advance(&second, b - 3, &(trial_call){.record = 1});
    trial_call last = {.record = 2};
    good = good && trial_finish(t, &last);
    trial_destroy(t);
    good = good && trial_finish(&second, &last);
    if (!good && second.what[0] != 0)
        trial_fail(t, "the second net: %s", second.what);
    trial_deinit(&second);
    return good;
}

/* net_create with allocation n of the host failing. */
static bool create_failing(trial *t, uint64_t n, bool *came)
{
    uint64_t live = vly_memory_live();
    vly_memory_fail_at(n);
    *came = !start(t);
    vly_memory_fail_at(0);
    if (!*came)
        return true;
    if (t->status != VLY_E_NOMEM || t->made)
        return trial_fail(t,
                          "allocation %" PRIu64 " failed: net_create "
                          "gives %s and %s net, wanted VLY_E_NOMEM "
                          "and none",
                          n, vly_status_name(t->status), t->made ? "a" : "no");
    if (vly_memory_live() != live)
        return trial_fail(t,
                          "allocation %" PRIu64 " failed: net_create "
                          "left blocks behind",
                          n);
    return true;
}

/* With allocation 1, 2, 3, ... failing; no device memory is kept for reuse
 * meanwhile: it would count as a leak, and freeing it could make a failed
 * allocation succeed. */
static bool scenario_memory(trial *t)
{
    uint64_t keep = vly_device_memory_keep(0);
    /* no warnings about allocations that fail on purpose */
    const int32_t level = vly_log_set_level(VLY_LOG_ERROR);
    bool came = true;
    bool good = true;
    for (uint64_t n = 1; n < 100000 && came && good; n++)
        good = create_failing(t, n, &came);
    (void)vly_log_set_level(level);
    good = good && trial_finish(t, &(trial_call){0});
    (void)vly_device_memory_keep(keep);
    return good;
}

/* ---- all of them ------------------------------------------------------- */

const conformance_scenario conformance_scenarios[] = {
    {"whole", scenario_whole},       {"digests", scenario_digests},
    {"quiet", scenario_quiet},       {"pieces_1", scenario_pieces_1},
    {"pieces_7", scenario_pieces_7}, {"pieces_64", scenario_pieces_64},
    {"stop", scenario_stop},         {"small_buffer", scenario_small_buffer},
    {"snapshot", scenario_snapshot}, {"swap", scenario_swap},
    {"fields", scenario_fields},     {"rewrite", scenario_rewrite},
    {"versions", scenario_versions}, {"strides", scenario_strides},
    {"two_nets", scenario_two_nets}, {"memory", scenario_memory},
    {"refusals", scenario_refusals}, {NULL, NULL}};
