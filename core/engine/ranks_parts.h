/* SPDX-License-Identifier: Apache-2.0
 * What the files of ranks share: the group, and messages of the leader.
 */
#ifndef VOLLEY_ENGINE_RANKS_PARTS_H
#define VOLLEY_ENGINE_RANKS_PARTS_H

#include "engine/engine.h"
#include "engine/ranks.h"

#define VLY_RANK_ID_BYTES 32u
/* Backends that one leader opens. */
#define VLY_RANK_TABLES 8u
/* Of the tags of calls; those of backends are below. */
#define VLY_RANK_TAG_CALL VLY_EXCHANGE_RANK_0_IDLES
#define VLY_RANK_TAG_ANSWER (UINT64_C(1) << 61)

/* vly_rank_figures as ranks send them. */
typedef struct vly_rank_counts {
    uint64_t n_exchanges;
    uint64_t n_bytes;
    uint64_t waited_ns;
} vly_rank_counts;

struct vly_rank_group {
    const vly_exchange *table;
    vly_exchange_link *link;
    vly_exchange_info info;
    vly_ranks ranks;          /* of the connectome's description */
    uint32_t *first;          /* [n_ranks + 1] */
    vly_rank_counts *figures; /* [n_ranks] rank 0: of the last answers */
    /* [n_ranks] rank 0: "cuda:1", of the net that was made last */
    char (*devices)[VLY_DEVICE_NAME_BYTES];
    uint32_t *hosts;      /* [n_ranks] their numbers in the exchange */
    uint64_t n_exchanges; /* of this rank's backends */
    uint64_t built_bytes; /* given before the first call */
    uint64_t idle_ns;     /* waits that the division did not cause */
    uint64_t n_calls;
    uint32_t call;   /* vly_rank_call, made now or last */
    uint32_t n_nets; /* made so far: their numbers */
    bool divided;
    bool failed; /* a gather failed: the link can only be closed */
    /* rank 0: the backend of the net that is made next */
    const vly_backend *opened;
    const char *opened_id;
    const char *opened_spec; /* of all ranks */
    struct {
        char id[VLY_RANK_ID_BYTES];
        vly_backend table;
    } tables[VLY_RANK_TABLES];
    uint32_t n_tables;
};

/* Calls of a backend, in messages. */
typedef enum vly_rank_call {
    RANK_END,
    RANK_CREATE,
    RANK_DESTROY,
    RANK_RUN,
    RANK_FIELD_READ,
    RANK_FIELD_WRITE,
    RANK_COEF_WRITE,
    RANK_STIMULUS_WRITE,
    RANK_SNAPSHOT_READ,
    RANK_STATE_DIGEST,
    RANK_LEARNING_READ,
    RANK_LEARNING_WRITE,
    RANK_LEARNING_SET,
    RANK_SHORT_TERM_SET,
} vly_rank_call;

/* Begins a message of the leader. The meaning of value[] is that of the call.
 */
typedef struct vly_rank_head {
    uint32_t call;
    uint32_t net; /* its number */
    uint64_t value[6];
} vly_rank_head;

/* A message: a head, then arrays, each at a multiple of 16 bytes. */
typedef struct vly_rank_message {
    uint8_t *data;
    uint64_t n_bytes;
    uint64_t capacity;
    uint64_t at;  /* of reading */
    bool no_room; /* writing: no memory; reading: the message is too short */
} vly_rank_message;

void vly_rank_put(vly_rank_message *message, const void *data,
                  uint64_t n_bytes);
const void *vly_rank_take(vly_rank_message *message, uint64_t n_bytes);

/* What every rank answers after a call. */
typedef struct vly_rank_answer {
    int32_t status;
    uint32_t reserved;
    uint64_t value; /* of a run: bursts done */
    vly_rank_counts figures;
    char device[VLY_DEVICE_NAME_BYTES]; /* of a net that was made */
    char text[240];
} vly_rank_answer;

vly_status vly_rank_gather(vly_rank_group *group, uint64_t tag,
                           const void *mine, uint64_t n_bytes,
                           const vly_piece **pieces, vly_error *error);
/* All ranks: the answers after a call, with their figures. A failure of another
 * rank, or another number of bursts, is E_DEVICE with its text. */
vly_status vly_rank_agree(vly_rank_group *group, vly_rank_answer *mine,
                          vly_error *error);

#endif
