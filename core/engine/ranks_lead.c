/* SPDX-License-Identifier: Apache-2.0
 * The leader's table of a backend: each call is sent to the other ranks, made
 * of the real backend, and answered by all. See ranks.h.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/ranks_parts.h"

/* The net that the engine holds. */
struct vly_backend_net {
    vly_rank_group *group;
    const vly_backend *table;
    vly_backend_net *own;
    const vly_net_desc *desc;
    uint32_t number;
};

/* ---- calls -------------------------------------------------------------- */

static vly_status send_call(vly_rank_group *group, vly_rank_message *message,
                            vly_error *error)
{
    const vly_piece *pieces = NULL;
    vly_status status = VLY_OK;
    if (message->no_room)
        status = vly_fail_nomem(error, message->n_bytes, "a message to ranks");
    else
        status =
            vly_rank_gather(group, VLY_RANK_TAG_CALL | group->n_calls,
                            message->data, message->n_bytes, &pieces, error);
    vly_free(message->data);
    *message = (vly_rank_message){0};
    return status;
}

static vly_rank_message begin(const vly_backend_net *net, vly_rank_call call,
                              uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    vly_rank_message message = {0};
    const vly_rank_head head = {
        .call = call, .net = net->number, .value = {a, b, c, d}};
    net->group->call = call;
    vly_rank_put(&message, &head, sizeof head);
    return message;
}

/* What the real backend said; then what the others say. */
static vly_status end_call_by(vly_rank_group *group, vly_rank_answer *answer,
                              vly_error *error)
{
    vly_error why = VLY_ERROR_INIT;
    vly_status all = vly_rank_agree(group, answer, &why);
    if (answer->status != VLY_OK || all == VLY_OK)
        return answer->status;
    return vly_fail(error, all, "%s", why.message);
}

static vly_status end_call(vly_rank_group *group, vly_status status,
                           uint64_t value, vly_error *error)
{
    vly_rank_answer answer = {.status = status, .value = value};
    return end_call_by(group, &answer, error);
}

/* ---- nets --------------------------------------------------------------- */

static void put_snapshot(vly_rank_message *message,
                         const vly_snapshot *snapshot)
{
    const uint64_t counts[5] = {snapshot->n_fired_bursts, snapshot->burst,
                                snapshot->n_state_words, snapshot->n_fired,
                                snapshot->n_weight_bytes};
    vly_rank_put(message, counts, sizeof counts);
    vly_rank_put(message, snapshot->state, counts[2] * sizeof(uint32_t));
    vly_rank_put(message, snapshot->fired_row,
                 (counts[0] + 1) * sizeof(uint64_t));
    vly_rank_put(message, snapshot->fired, counts[3] * sizeof(uint32_t));
    vly_rank_put(message, snapshot->fired_gain, counts[3] * sizeof(uint32_t));
    vly_rank_put(message, snapshot->weights, counts[4]);
}

/* The others destroy theirs, unless the link has failed. */
static void send_destroy(const vly_backend_net *net)
{
    vly_rank_message message = begin(net, RANK_DESTROY, 0, 0, 0, 0);
    if (!net->group->failed && send_call(net->group, &message, NULL) == VLY_OK)
        (void)end_call(net->group, VLY_OK, 0, NULL);
    vly_free(message.data);
}

static vly_status net_create(const vly_device_spec *device,
                             const vly_net_desc *desc,
                             const vly_snapshot *snapshot,
                             vly_backend_net **net, vly_error *error)
{
    vly_rank_group *group = desc->ranks->context;
    vly_status status = VLY_OK;
    vly_rank_message message = {0};
    vly_backend_net *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a net");
    *made = (vly_backend_net){.group = group,
                              .table = group->opened,
                              .desc = desc,
                              .number = group->n_nets};
    const uint64_t n = strlen(group->opened_spec) + 1;
    vly_rank_answer answer = {0};
    vly_device_name(group->opened_id, made->table, device, 1, answer.device);
    message = begin(made, RANK_CREATE, device->n_threads, n, 0, 0);
    vly_rank_put(&message, group->opened_spec, n);
    put_snapshot(&message, snapshot);
    VLY_TRY(send_call(group, &message, error));
    group->n_nets++;
    answer.status =
        made->table->net_create(device, desc, snapshot, &made->own, error);
    status = end_call_by(group, &answer, error);
    if (status == VLY_OK) {
        *net = made;
        return VLY_OK;
    }
    send_destroy(made); /* some of the others may have one */
    if (made->own)
        made->table->net_destroy(made->own);
out:
    vly_free(made);
    return status;
}

static void net_destroy(vly_backend_net *net)
{
    if (!net)
        return;
    send_destroy(net);
    net->table->net_destroy(net->own);
    vly_free(net);
}

static vly_status net_info(const vly_backend_net *net, vly_net_info *info,
                           vly_error *error)
{
    return net->table->net_info(net->own, info, error);
}

/* ---- runs --------------------------------------------------------------- */

static vly_status net_run(vly_backend_net *net, vly_run *run, vly_error *error)
{
    vly_status status = VLY_OK;
    const bool modulated = run->struct_size >= sizeof(vly_run);
    const uint64_t n_modulations = modulated ? run->n_modulations : 0;
    /* the other ranks end their bursts where this one has no more room */
    const uint64_t room =
        (run->flags & VLY_RUN_RECORD) != 0 ? run->spikes_capacity : 0;
    vly_rank_message message =
        begin(net, RANK_RUN, run->n_bursts, run->n_inputs, n_modulations, room);
    vly_rank_put(&message, run->inputs, run->n_inputs * sizeof *run->inputs);
    if (n_modulations > 0)
        vly_rank_put(&message, run->modulations,
                     n_modulations * sizeof *run->modulations);
    VLY_TRY(send_call(net->group, &message, error));
    status = net->table->net_run(net->own, run, error);
    status = end_call(net->group, status, run->n_bursts_done, error);
out:
    return status;
}

/* ---- state -------------------------------------------------------------- */

static vly_status field_read(vly_backend_net *net, uint32_t area,
                             uint32_t field, uint32_t first, uint32_t count,
                             uint32_t *words, vly_error *error)
{
    vly_rank_message message =
        begin(net, RANK_FIELD_READ, area, field, first, count);
    vly_status status = send_call(net->group, &message, error);
    return status != VLY_OK
               ? status
               : end_call(net->group,
                          net->table->field_read(net->own, area, field, first,
                                                 count, words, error),
                          0, error);
}

static vly_status field_write(vly_backend_net *net, uint32_t area,
                              uint32_t field, uint32_t first, uint32_t count,
                              const uint32_t *words, vly_error *error)
{
    vly_rank_message message =
        begin(net, RANK_FIELD_WRITE, area, field, first, count);
    vly_rank_put(&message, words, (uint64_t)count * sizeof *words);
    vly_status status = send_call(net->group, &message, error);
    return status != VLY_OK
               ? status
               : end_call(net->group,
                          net->table->field_write(net->own, area, field, first,
                                                  count, words, error),
                          0, error);
}

static vly_status coef_write(vly_backend_net *net, uint32_t area, uint32_t coef,
                             const vly_column *column, vly_error *error)
{
    const uint64_t n = column->uniform ? 1 : net->desc->areas[area].n_neurons;
    vly_rank_message message =
        begin(net, RANK_COEF_WRITE, area, coef, column->uniform, column->type);
    vly_rank_put(&message, column->words, n * sizeof *column->words);
    vly_status status = send_call(net->group, &message, error);
    return status != VLY_OK ? status
                            : end_call(net->group,
                                       net->table->coef_write(
                                           net->own, area, coef, column, error),
                                       0, error);
}

static vly_status stimulus_write(vly_backend_net *net, uint32_t stimulus,
                                 const vly_stimulus_desc *desc,
                                 vly_error *error)
{
    vly_rank_message message =
        begin(net, RANK_STIMULUS_WRITE, stimulus, 0, 0, 0);
    vly_stimulus_desc sent = *desc;
    sent.thresholds = NULL;
    vly_rank_put(&message, &sent, sizeof sent);
    vly_rank_put(&message, desc->thresholds,
                 desc->n_thresholds * sizeof *desc->thresholds);
    vly_status status = send_call(net->group, &message, error);
    return status != VLY_OK ? status
                            : end_call(net->group,
                                       net->table->stimulus_write(
                                           net->own, stimulus, desc, error),
                                       0, error);
}

static vly_status snapshot_read(vly_backend_net *net, vly_snapshot *snapshot,
                                vly_error *error)
{
    vly_rank_message message;
    if (!snapshot->state) /* only counts: every rank knows them */
        return net->table->snapshot_read(net->own, snapshot, error);
    message = begin(net, RANK_SNAPSHOT_READ, 0, 0, 0, 0);
    vly_status status = send_call(net->group, &message, error);
    return status != VLY_OK
               ? status
               : end_call(net->group,
                          net->table->snapshot_read(net->own, snapshot, error),
                          0, error);
}

static vly_status state_digest(vly_backend_net *net, uint64_t *digest,
                               vly_error *error)
{
    vly_rank_message message = begin(net, RANK_STATE_DIGEST, 0, 0, 0, 0);
    vly_status status = send_call(net->group, &message, error);
    return status != VLY_OK
               ? status
               : end_call(net->group,
                          net->table->state_digest(net->own, digest, error), 0,
                          error);
}

/* ---- learning ----------------------------------------------------------- */

static vly_status learning_read(vly_backend_net *net, uint32_t projection,
                                uint64_t first, uint64_t count,
                                int32_t *masters, vly_error *error)
{
    vly_rank_message message =
        begin(net, RANK_LEARNING_READ, projection, first, count, 0);
    vly_status status = send_call(net->group, &message, error);
    return status != VLY_OK
               ? status
               : end_call(net->group,
                          net->table->learning_read(net->own, projection, first,
                                                    count, masters, error),
                          0, error);
}

static vly_status learning_write(vly_backend_net *net, uint32_t projection,
                                 uint64_t first, uint64_t count,
                                 const int32_t *masters, vly_error *error)
{
    vly_rank_message message =
        begin(net, RANK_LEARNING_WRITE, projection, first, count, 0);
    vly_rank_put(&message, masters, count * sizeof *masters);
    vly_status status = send_call(net->group, &message, error);
    return status != VLY_OK
               ? status
               : end_call(net->group,
                          net->table->learning_write(net->own, projection,
                                                     first, count, masters,
                                                     error),
                          0, error);
}

static vly_status learning_set(vly_backend_net *net, uint32_t projection,
                               const vly_learning_desc *learning,
                               vly_error *error)
{
    vly_rank_message message = begin(net, RANK_LEARNING_SET, projection,
                                     learning->flags, learning->n_coefs, 0);
    vly_rank_put(&message, learning->coefs,
                 learning->n_coefs * sizeof *learning->coefs);
    vly_status status = send_call(net->group, &message, error);
    return status != VLY_OK
               ? status
               : end_call(net->group,
                          net->table->learning_set(net->own, projection,
                                                   learning, error),
                          0, error);
}

static vly_status short_term_set(vly_backend_net *net, uint32_t projection,
                                 const vly_short_term_desc *short_term,
                                 vly_error *error)
{
    vly_rank_message message =
        begin(net, RANK_SHORT_TERM_SET, projection, 0, short_term->n_coefs, 0);
    vly_rank_put(&message, short_term->coefs,
                 short_term->n_coefs * sizeof *short_term->coefs);
    vly_status status = send_call(net->group, &message, error);
    return status != VLY_OK
               ? status
               : end_call(net->group,
                          net->table->short_term_set(net->own, projection,
                                                     short_term, error),
                          0, error);
}

/* ---- the table ---------------------------------------------------------- */

/* Slots that a backend lacks stay NULL, so that the engine sees what it has. */
static void fill_table(vly_backend *made, const vly_backend *table)
{
    *made = *table;
    made->net_create = net_create;
    made->net_create_span = NULL; /* a rank has one device */
    made->net_destroy = net_destroy;
    made->net_info = net_info;
    made->net_run = net_run;
    made->field_read = field_read;
    made->field_write = field_write;
    made->coef_write = coef_write;
    made->stimulus_write = stimulus_write;
    made->snapshot_read = snapshot_read;
    made->state_digest = table->state_digest ? state_digest : NULL;
    made->learning_read = table->learning_read ? learning_read : NULL;
    made->learning_write = table->learning_write ? learning_write : NULL;
    made->learning_set = table->learning_set ? learning_set : NULL;
    made->short_term_set = table->short_term_set ? short_term_set : NULL;
}

const vly_backend *vly_ranks_backend(const vly_ranks *ranks, const char *id,
                                     const char *spec, const vly_backend *table)
{
    vly_rank_group *group = ranks->context;
    uint32_t i = 0;
    while (i < group->n_tables && strcmp(group->tables[i].id, id) != 0)
        i++;
    if (i == VLY_RANK_TABLES || strlen(id) >= VLY_RANK_ID_BYTES)
        return NULL;
    if (i == group->n_tables) {
        memcpy(group->tables[i].id, id, strlen(id) + 1);
        fill_table(&group->tables[i].table, table);
        group->n_tables++;
    }
    group->opened = table;
    group->opened_id = group->tables[i].id;
    group->opened_spec = spec;
    return &group->tables[i].table;
}
