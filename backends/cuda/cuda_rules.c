/* SPDX-License-Identifier: Apache-2.0
 * The words of a user's rule (kernels/rules/rule_program.h) as steps: see
 * cuda_rules.h. Operations that the change of the weight does not need are left
 * out, and a slot is used again after the last reader of its value.
 */
#include "cuda_rules.h"

#include <assert.h>
#include <string.h>

#include "cuda_memory.h"
#include "cuda_net.h"
#include "kernels/rules/rule_program.h"

static_assert(VLY_CUDA_RULE_STEPS == VLY_RULE_PROGRAM_OPS, "of a function");
static_assert(sizeof(vly_cuda_users_rule) <=
                  sizeof(((vly_cuda_learning *)NULL)->coefs),
              "in place of coefficients");
static_assert(VLY_PROGRAM_CODES <= UINT8_MAX &&
                  VLY_CUDA_RULE_SLOTS <= UINT8_MAX,
              "one byte each in a step");

bool vly_cuda_has_rules(const vly_net_desc *desc)
{
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        const vly_learning_desc *learning = vly_common_learning(desc, p);
        if (learning && vly_common_rule_users(learning->rule))
            return true;
    }
    return false;
}

/* One function on its way to steps. */
typedef struct step_maker {
    const vly_rule_program *from;
    uint32_t last[VLY_RULE_PROGRAM_OPS]; /* operation that reads it last; 0:
                                          * none does */
    uint16_t place[VLY_RULE_PROGRAM_OPS];
    uint8_t taken[VLY_CUDA_RULE_SLOTS];
    uint32_t *numbers;
} step_maker;

static void operands_of(const vly_program_op *op, uint32_t at[3])
{
    const uint32_t n = vly_rule_operands(op->code);
    at[0] = op->a;
    at[1] = n > 1 ? op->b : op->a;
    at[2] = n > 2 ? op->c : op->a;
}

/* From the end on: what nothing reads keeps last 0. */
static void find_readers(step_maker *maker)
{
    const uint32_t n = maker->from->n_ops;
    for (uint32_t i = 0; i < n; i++)
        maker->last[i] = 0;
    maker->last[n - 1] = n;
    for (uint32_t i = n; i-- > 0;) {
        const vly_program_op *op = &maker->from->ops[i];
        uint32_t at[3];
        if (maker->last[i] == 0 || vly_rule_operands(op->code) == 0)
            continue;
        operands_of(op, at);
        for (int k = 0; k < 3; k++)
            if (maker->last[at[k]] == 0)
                maker->last[at[k]] = i;
    }
}

static uint16_t take_slot(step_maker *maker)
{
    uint16_t slot = VLY_RULE_PROGRAM_FIELDS;
    while (maker->taken[slot])
        slot++;
    assert(slot < VLY_CUDA_RULE_SLOTS);
    maker->taken[slot] = 1;
    return slot;
}

/* Frees the slots of what step i reads last. */
static void free_slots(step_maker *maker, uint32_t i, const uint32_t at[3])
{
    for (int k = 0; k < 3; k++) {
        const uint16_t place = maker->place[at[k]];
        if (maker->last[at[k]] == i && place >= VLY_RULE_PROGRAM_FIELDS &&
            (place & VLY_CUDA_RULE_NUMBER) == 0)
            maker->taken[place] = 0;
    }
}

/* Returns the number of steps. */
static uint32_t make_steps(step_maker *maker, vly_cuda_rule_step *steps)
{
    const vly_rule_program *from = maker->from;
    uint32_t n = 0;
    for (uint32_t i = 0; i < from->n_ops; i++) {
        const vly_program_op *op = &from->ops[i];
        uint32_t at[3];
        if (maker->last[i] == 0)
            continue;
        if (op->code == VLY_PROGRAM_FIELD) {
            maker->place[i] = (uint16_t)op->a;
        } else if (vly_rule_operands(op->code) == 0) {
            maker->numbers[i] =
                op->code == VLY_PROGRAM_COEF ? from->coefs[op->a] : op->a;
            maker->place[i] = (uint16_t)(VLY_CUDA_RULE_NUMBER | i);
        } else {
            operands_of(op, at);
            free_slots(maker, i, at);
            maker->place[i] = take_slot(maker);
            steps[n++] = (vly_cuda_rule_step){.code = (uint8_t)op->code,
                                              .slot = (uint8_t)maker->place[i],
                                              .a = maker->place[at[0]],
                                              .b = maker->place[at[1]],
                                              .c = maker->place[at[2]]};
        }
    }
    return n;
}

static void make_function(const vly_learning_desc *learning, int post,
                          vly_cuda_rule_program *program,
                          vly_cuda_users_rule *users)
{
    const vly_rule_program from = vly_rule_program_of(learning->coefs, post);
    step_maker maker = {.from = &from, .numbers = program->numbers[post]};
    users->n_steps[post] = 0;
    users->result[post] = UINT32_MAX;
    if (from.n_ops == 0)
        return;
    find_readers(&maker);
    users->n_steps[post] = make_steps(&maker, program->steps[post]);
    users->result[post] = maker.place[from.n_ops - 1];
}

vly_status vly_cuda_rules_put(vly_cuda_shard *shard,
                              const vly_learning_desc *learning,
                              vly_cuda_learning *l, vly_error *error)
{
    vly_cuda_users_rule users;
    vly_cuda_rule_program *program = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, 1, sizeof *program, &program, error));
    memcpy(&users, l->coefs, sizeof users);
    users.most = learning->most;
    for (int post = 0; post < 2; post++)
        make_function(learning, post, program, &users);
    if (!users.program)
        status = vly_cuda_put(shard, 1, sizeof *program, program,
                              &users.program, error);
    else
        status = vly_cuda_upload(shard, users.program, program, sizeof *program,
                                 error);
    if (status == VLY_OK)
        memcpy(l->coefs, &users, sizeof users);
    vly_cuda_release(shard, program);
out:
    return status;
}

int vly_cuda_rules_launch_flush(const vly_cuda_shard *shard)
{
    const vly_cuda_learnings *view = &shard->plastic.view;
    const uint64_t burst = shard->net->burst;
    const cudaStream_t stream = (cudaStream_t)shard->stream;
    return (int)(shard->plastic.by_users
                     ? vly_cuda_launch_rules_flush(view, burst, shard->n_blocks,
                                                   stream)
                     : vly_cuda_launch_learning_flush(view, burst,
                                                      shard->n_blocks, stream));
}
