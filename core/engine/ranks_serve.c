/* SPDX-License-Identifier: Apache-2.0
 * Ranks from 1 on: the calls of rank 0, made of this rank's backends. See
 * ranks.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/engine.h"
#include "engine/ranks_parts.h"
#include "plugin/all_weights.h"
#include "plugin/backend_spec.h"
#include "plugin/registry.h"

/* Nets that exist at the same time: those of a comparison, or of a swap. */
enum { NETS = 64 };

typedef struct served {
    const vly_backend *table;
    vly_backend_net *net;   /* NULL: the place is free */
    vly_net_desc *own_desc; /* all_weights.h; NULL: the connectome's */
    uint32_t number;
} served;

typedef struct server {
    vly_rank_group *group;
    const vly_connectome *connectome;
    vly_registry *registry;
    served nets[NETS];
    vly_rank_message message;
    vly_rank_head head;
    uint64_t value; /* of the answer */
    char device[VLY_DEVICE_NAME_BYTES];
} server;

static vly_status too_short(vly_error *error)
{
    return vly_fail(error, VLY_E_DEVICE,
                    "a message of rank 0 is shorter than its call needs");
}

/* n elements; sets *no_room of the message if it is too short. */
static const void *take(server *s, uint64_t n, uint64_t size)
{
    if (n > UINT64_MAX / size) {
        s->message.no_room = true;
        return NULL;
    }
    return vly_rank_take(&s->message, n * size);
}

static served *find(server *s)
{
    for (uint32_t i = 0; i < NETS; i++)
        if (s->nets[i].net && s->nets[i].number == s->head.net)
            return &s->nets[i];
    return NULL;
}

/* ---- nets --------------------------------------------------------------- */

/* The arrays of *snapshot are in the message. */
static bool take_snapshot(server *s, vly_snapshot *snapshot)
{
    const uint64_t *counts = take(s, 5, sizeof *counts);
    if (!counts)
        return false;
    *snapshot = (vly_snapshot){.struct_size = sizeof *snapshot,
                               .n_fired_bursts = (uint32_t)counts[0],
                               .burst = counts[1],
                               .n_state_words = counts[2],
                               .n_fired = counts[3],
                               .n_weight_bytes = counts[4]};
    /* The backend reads a snapshot that it is given, and never writes it. */
    union {
        const void *in;
        void *out;
    } at[5] = {{take(s, counts[2], sizeof(uint32_t))},
               {take(s, counts[0] + 1, sizeof(uint64_t))},
               {take(s, counts[3], sizeof(uint32_t))},
               {take(s, counts[3], sizeof(uint32_t))},
               {take(s, counts[4], 1)}};
    snapshot->state = at[0].out;
    snapshot->fired_row = at[1].out;
    snapshot->fired = at[2].out;
    snapshot->fired_gain = at[3].out;
    snapshot->weights = counts[4] > 0 ? at[4].out : NULL;
    return !s->message.no_room;
}

/* The backend and the device that the leader's spec names for this rank. */
static vly_status choose(const server *s, const char *text, uint32_t n_threads,
                         vly_backend_spec *spec, const vly_backend **table,
                         vly_device_spec *device, vly_error *error)
{
    char one[VLY_BACKEND_ONE_BYTES];
    uint32_t local = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_ranks_pick(text, s->group->info.rank, one, NULL, error));
    VLY_TRY(vly_backend_spec_parse(one, spec, error));
    VLY_TRY(vly_registry_device(s->registry, spec, n_threads, table, device,
                                error));
    if (((*table)->flags & VLY_BACKEND_HOST) != 0)
        return VLY_OK;
    VLY_TRY(vly_backend_spec_local(text, s->group->hosts, s->group->info.rank,
                                   &local, error));
    device->index =
        vly_backend_spec_deal(spec, (*table)->device_count(), local);
out:
    return status;
}

static vly_status create(server *s, vly_error *error)
{
    const vly_net_desc *desc = &s->connectome->desc;
    const uint64_t *value = s->head.value;
    const char *text = take(s, value[1], 1);
    vly_backend_spec spec;
    vly_snapshot snapshot;
    vly_device_spec device = {.struct_size = sizeof device};
    vly_status status = VLY_OK;
    served made = {.number = s->head.net};
    uint32_t at = 0;
    if (!take_snapshot(s, &snapshot) || value[1] == 0 ||
        text[value[1] - 1] != '\0')
        return too_short(error);
    while (at < NETS && s->nets[at].net)
        at++;
    if (at == NETS)
        return vly_fail(error, VLY_E_UNSUPPORTED,
                        "ranks have at most %d nets at the same time", NETS);
    VLY_TRY(choose(s, text, (uint32_t)value[0], &spec, &made.table, &device,
                   error));
    VLY_TRY(vly_backend_supports(made.table, desc, error));
    VLY_TRY(vly_all_weights(made.table, desc, &made.own_desc, error));
    VLY_TRY(made.table->net_create(&device,
                                   made.own_desc ? made.own_desc : desc,
                                   &snapshot, &made.net, error));
    s->nets[at] = made;
    made.own_desc = NULL;
    vly_device_name(spec.id, made.table, &device, 1, s->device);
out:
    vly_free(made.own_desc);
    return status;
}

static void destroy(served *net)
{
    net->table->net_destroy(net->net);
    vly_free(net->own_desc);
    *net = (served){0};
}

/* ---- runs and state ----------------------------------------------------- */

static vly_status run(server *s, served *net, vly_error *error)
{
    const uint64_t *value = s->head.value;
    vly_run wanted = {.struct_size = sizeof wanted,
                      .n_bursts = value[0],
                      .inputs = take(s, value[1], sizeof(vly_input)),
                      .n_inputs = value[1],
                      .spikes_capacity = value[3],
                      .modulations = take(s, value[2], sizeof(vly_input)),
                      .n_modulations = value[2]};
    if (s->message.no_room)
        return too_short(error);
    vly_status status = net->table->net_run(net->net, &wanted, error);
    s->value = wanted.n_bursts_done;
    return status;
}

/* The leader has the result; this rank's part of it is what counts. */
static vly_status read_words(server *s, served *net, vly_error *error)
{
    const uint64_t *value = s->head.value;
    const bool field = s->head.call == RANK_FIELD_READ;
    const uint64_t n = field ? value[3] : value[2];
    uint32_t *words = vly_malloc((size_t)n, sizeof *words);
    if (!words && n > 0)
        return vly_fail_nomem(error, n * sizeof *words, "words of a net");
    vly_status status =
        field ? net->table->field_read(net->net, (uint32_t)value[0],
                                       (uint32_t)value[1], (uint32_t)value[2],
                                       (uint32_t)n, words, error)
              : net->table->learning_read(net->net, (uint32_t)value[0],
                                          value[1], n, (int32_t *)words, error);
    vly_free(words);
    return status;
}

static vly_status snapshot_read(served *net, vly_error *error)
{
    vly_status status = VLY_OK;
    vly_snapshot counts = {.struct_size = sizeof counts};
    VLY_TRY(net->table->snapshot_read(net->net, &counts, error));
    vly_snapshot made = counts;
    VLY_TRY(vly_snapshot_alloc(&made, error));
    status = net->table->snapshot_read(net->net, &made, error);
    vly_snapshot_release(&made);
out:
    return status;
}

/* ---- changes ------------------------------------------------------------ */

static vly_status write_words(server *s, served *net, vly_error *error)
{
    const uint64_t *value = s->head.value;
    const bool field = s->head.call == RANK_FIELD_WRITE;
    const uint64_t n = field ? value[3] : value[2];
    const void *words = take(s, n, sizeof(uint32_t));
    if (s->message.no_room)
        return too_short(error);
    if (field)
        return net->table->field_write(net->net, (uint32_t)value[0],
                                       (uint32_t)value[1], (uint32_t)value[2],
                                       (uint32_t)n, words, error);
    return net->table->learning_write(net->net, (uint32_t)value[0], value[1], n,
                                      words, error);
}

static vly_status coef_write(server *s, served *net, vly_error *error)
{
    const uint64_t *value = s->head.value;
    if (value[0] >= s->connectome->desc.n_areas)
        return too_short(error);
    const uint64_t n =
        value[2] ? 1 : s->connectome->desc.areas[value[0]].n_neurons;
    const vly_column column = {.words = take(s, n, sizeof(uint32_t)),
                               .uniform = (uint32_t)value[2],
                               .type = (uint32_t)value[3]};
    if (s->message.no_room)
        return too_short(error);
    return net->table->coef_write(net->net, (uint32_t)value[0],
                                  (uint32_t)value[1], &column, error);
}

static vly_status stimulus_write(server *s, served *net, vly_error *error)
{
    const vly_stimulus_desc *sent = take(s, 1, sizeof *sent);
    if (!sent)
        return too_short(error);
    vly_stimulus_desc desc = *sent;
    desc.thresholds = take(s, desc.n_thresholds, sizeof(uint32_t));
    if (s->message.no_room)
        return too_short(error);
    return net->table->stimulus_write(net->net, (uint32_t)s->head.value[0],
                                      &desc, error);
}

/* Coefficients of a rule; the rest is that of the description. */
static vly_status set_rule(server *s, served *net, vly_error *error)
{
    const uint64_t *value = s->head.value;
    const vly_net_desc *desc = &s->connectome->desc;
    const uint32_t *coefs = take(s, value[2], sizeof *coefs);
    const uint32_t p = (uint32_t)value[0];
    const bool learning = s->head.call == RANK_LEARNING_SET;
    if (s->message.no_room || value[0] >= desc->n_projections ||
        (learning ? !desc->projections[p].learning
                  : !desc->projections[p].short_term))
        return too_short(error);
    if (!learning) {
        vly_short_term_desc rule = *desc->projections[p].short_term;
        rule.coefs = coefs;
        rule.n_coefs = (uint32_t)value[2];
        return net->table->short_term_set(net->net, p, &rule, error);
    }
    vly_learning_desc rule = *desc->projections[p].learning;
    rule.coefs = coefs;
    rule.n_coefs = (uint32_t)value[2];
    rule.flags = (uint32_t)value[1];
    return net->table->learning_set(net->net, p, &rule, error);
}

/* ---- the loop ----------------------------------------------------------- */

static vly_status execute(server *s, vly_error *error)
{
    uint64_t digest;
    if (s->head.call == RANK_CREATE)
        return create(s, error);
    served *net = find(s);
    if (!net && s->head.call == RANK_DESTROY)
        return VLY_OK; /* it was not made here */
    if (!net)
        return vly_fail(error, VLY_E_DEVICE,
                        "rank 0 uses net %u, which this "
                        "rank does not have",
                        s->head.net);
    switch ((vly_rank_call)s->head.call) {
    case RANK_DESTROY:
        destroy(net);
        return VLY_OK;
    case RANK_RUN:
        return run(s, net, error);
    case RANK_FIELD_READ:
    case RANK_LEARNING_READ:
        return read_words(s, net, error);
    case RANK_FIELD_WRITE:
    case RANK_LEARNING_WRITE:
        return write_words(s, net, error);
    case RANK_COEF_WRITE:
        return coef_write(s, net, error);
    case RANK_STIMULUS_WRITE:
        return stimulus_write(s, net, error);
    case RANK_SNAPSHOT_READ:
        return snapshot_read(net, error);
    case RANK_STATE_DIGEST:
        return net->table->state_digest(net->net, &digest, error);
    case RANK_LEARNING_SET:
    case RANK_SHORT_TERM_SET:
        return set_rule(s, net, error);
    case RANK_CREATE:
    case RANK_END:
        break;
    }
    return vly_fail(error, VLY_E_DEVICE, "rank 0 made an unknown call");
}

/* The message is copied: the pieces of the link change while it is executed.
 */
static vly_status next_call(server *s, vly_error *error)
{
    const vly_piece *pieces = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_rank_gather(s->group, VLY_RANK_TAG_CALL | s->group->n_calls,
                            NULL, 0, &pieces, error));
    s->message.n_bytes = 0;
    s->message.at = 0;
    s->message.no_room = false;
    vly_rank_put(&s->message, pieces[0].data, pieces[0].n_bytes);
    if (s->message.no_room)
        return vly_fail_nomem(error, pieces[0].n_bytes, "a message of rank 0");
    const vly_rank_head *head = vly_rank_take(&s->message, sizeof *head);
    if (!head)
        return too_short(error);
    s->head = *head;
    s->group->call = head->call;
out:
    return status;
}

vly_status vly_ranks_serve(vly_rank_group *group,
                           const vly_connectome *connectome,
                           vly_registry *registry, vly_error *error)
{
    server *s = vly_calloc(1, sizeof *s);
    vly_status status = VLY_OK;
    if (!s)
        return vly_fail_nomem(error, sizeof *s, "a rank");
    s->group = group;
    s->connectome = connectome;
    s->registry = registry;
    for (;;) {
        vly_error why = VLY_ERROR_INIT;
        vly_rank_answer answer = {0};
        VLY_TRY(next_call(s, error));
        if (s->head.call == RANK_END)
            break;
        s->value = 0;
        answer.status = execute(s, &why);
        answer.value = s->value;
        memcpy(answer.device, s->device, sizeof answer.device);
        (void)snprintf(answer.text, sizeof answer.text, "%.239s",
                       answer.status != VLY_OK ? why.message : "");
        /* the leader acts on the failure of a rank */
        status = vly_rank_agree(group, &answer, &why);
        if (group->failed) {
            vly_error_copy(&why, error);
            break;
        }
        status = VLY_OK;
    }
out:
    for (uint32_t i = 0; i < NETS; i++)
        if (s->nets[i].net)
            destroy(&s->nets[i]);
    vly_free(s->message.data);
    vly_free(s);
    return status;
}
