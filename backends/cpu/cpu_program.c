/* SPDX-License-Identifier: Apache-2.0
 * Prepares the program of a user's model: what is the same for all neurons is
 * computed once, every other value gets a block of words, used again after its
 * last reader, or the memory of the field that it becomes.
 */
#include "cpu_program.h"

#include <stdbool.h>
#include <string.h>

#include "cpu_net.h"

#define NO_PLACE UINT32_MAX

typedef struct planner {
    const vly_program *from;
    const vly_cpu_area *area;
    vly_cpu_program *made;
    vly_cpu_run_program *run;
    uint8_t same[VLY_PROGRAM_MAX_OPS];     /* one word for all neurons */
    uint32_t last[VLY_PROGRAM_MAX_OPS];    /* last operation that reads it */
    uint32_t becomes[VLY_PROGRAM_MAX_OPS]; /* field, or NO_PLACE */
    uint32_t uses[VLY_PROGRAM_MAX_OPS];
    uint32_t joined[VLY_PROGRAM_MAX_OPS];  /* the operation that it does too */
    uint8_t left_out[VLY_PROGRAM_MAX_OPS]; /* done by another one */
    uint32_t field_read[VLY_PROGRAM_MAX_FIELDS]; /* last reader of its start */
    uint8_t taken[VLY_PROGRAM_MAX_OPS];          /* blocks in use */
} planner;

/* ---- what is the same for all ------------------------------------------- */

static void find_same(planner *p)
{
    for (uint32_t i = 0; i < p->from->n_ops; i++) {
        const vly_program_op *op = &p->from->ops[i];
        uint32_t reads = vly_common_program_reads(op);
        p->same[i] =
            reads > 0 || op->code == VLY_PROGRAM_NUMBER ||
            (op->code == VLY_PROGRAM_COEF && p->area->coef[op->a].uniform != 0);
        for (uint32_t k = 0; k < reads; k++)
            if (!p->same[vly_common_program_operand(op, k)])
                p->same[i] = 0;
    }
}

static void join_with(planner *p, uint32_t i, uint32_t part)
{
    const vly_program_op *op = &p->from->ops[part];
    p->joined[i] = part;
    p->left_out[part] = 1;
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t a = vly_common_program_operand(op, k);
        p->last[a] = p->last[a] > i ? p->last[a] : i;
    }
}

/* Whether value a is made for one reader only, by this operation. */
static bool only(const planner *p, uint32_t a, uint32_t code)
{
    return p->from->ops[a].code == code && p->uses[a] == 1 && !p->same[a];
}

/* A sum with the product that it reads, a choice with its comparison. */
static void join(planner *p, uint32_t i)
{
    const vly_program_op *op = &p->from->ops[i];
    if (p->same[i])
        return;
    if (op->code == VLY_PROGRAM_ADD || op->code == VLY_PROGRAM_SUBTRACT) {
        if (only(p, op->a, VLY_PROGRAM_MULTIPLY))
            join_with(p, i, op->a);
        else if (only(p, op->b, VLY_PROGRAM_MULTIPLY))
            join_with(p, i, op->b);
    }
    if (op->code == VLY_PROGRAM_SELECT && only(p, op->a, VLY_PROGRAM_LESS)) {
        const vly_program_op *less = &p->from->ops[op->a];
        if ((less->a == op->b && less->b == op->c) ||
            (less->a == op->c && less->b == op->b))
            join_with(p, i, op->a);
    }
}

/* The values that step i reads, in the order of its a, b, c. */
static uint32_t operands(const planner *p, uint32_t i, uint32_t out[3])
{
    const vly_program_op *op = &p->from->ops[i];
    uint32_t reads = vly_common_program_reads(op);
    if (p->joined[i] == NO_PLACE) {
        for (uint32_t k = 0; k < reads; k++)
            out[k] = vly_common_program_operand(op, k);
        return reads;
    }
    if (op->code == VLY_PROGRAM_SELECT) {
        out[0] = op->b;
        out[1] = op->c;
        return 2;
    }
    const vly_program_op *part = &p->from->ops[p->joined[i]];
    out[0] = part->a;
    out[1] = part->b;
    out[2] = p->joined[i] == op->a ? op->b : op->a;
    return 3;
}

static uint8_t code_of(const planner *p, uint32_t i)
{
    const vly_program_op *op = &p->from->ops[i];
    uint32_t part = p->joined[i];
    if (part == NO_PLACE)
        return (uint8_t)op->code;
    if (op->code == VLY_PROGRAM_SELECT)
        return p->from->ops[part].a == op->b ? VLY_CPU_LESSER : VLY_CPU_GREATER;
    if (op->code == VLY_PROGRAM_ADD)
        return VLY_CPU_TIMES_PLUS;
    return part == op->a ? VLY_CPU_TIMES_MINUS : VLY_CPU_MINUS_TIMES;
}

static void find_last(planner *p)
{
    const vly_program *from = p->from;
    uint32_t n = from->n_ops;
    memset(p->field_read, 0, sizeof p->field_read);
    for (uint32_t i = 0; i < n; i++) {
        p->last[i] = i;
        p->becomes[i] = NO_PLACE;
        p->joined[i] = NO_PLACE;
        for (uint32_t k = 0; k < vly_common_program_reads(&from->ops[i]); k++) {
            uint32_t a = vly_common_program_operand(&from->ops[i], k);
            p->last[a] = i;
            p->uses[a]++;
        }
    }
    p->last[from->fired] = n;
    p->uses[from->fired]++;
    for (uint32_t f = 0; f < from->n_fields; f++) {
        p->last[from->out[f]] = n;
        p->uses[from->out[f]]++;
        p->becomes[from->out[f]] = f;
    }
    for (uint32_t i = 0; i < n; i++)
        join(p, i);
    for (uint32_t i = 0; i < n; i++)
        if (from->ops[i].code == VLY_PROGRAM_FIELD &&
            p->last[i] > p->field_read[from->ops[i].a])
            p->field_read[from->ops[i].a] = p->last[i];
}

/* ---- places ------------------------------------------------------------- */

static uint32_t take_block(planner *p)
{
    uint32_t i = 0;
    while (p->taken[i])
        i++;
    p->taken[i] = 1;
    if (i + 1 > p->made->n_blocks)
        p->made->n_blocks = i + 1;
    return i;
}

/* Blocks first, numbered from 0; words, fields and columns get numbers when the
 * number of blocks is known: until then their kind in the top bits. */
#define WORD 0x10000u
#define COLUMN 0x20000u

static uint32_t column(planner *p, uint32_t which)
{
    vly_cpu_program *made = p->made;
    for (uint32_t i = 0; i < made->n_columns; i++)
        if (made->column[i] == which)
            return COLUMN | i;
    made->column[made->n_columns] = which;
    return COLUMN | made->n_columns++;
}

static void free_blocks(planner *p, uint32_t i)
{
    uint32_t from[3];
    uint32_t n = operands(p, i, from);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t place = p->made->place[from[k]];
        if (p->last[from[k]] == i && place < WORD)
            p->taken[place] = 0;
    }
}

static void place_value(planner *p, uint32_t i)
{
    const vly_program_op *op = &p->from->ops[i];
    vly_cpu_program *made = p->made;
    uint32_t f = p->becomes[i];
    if (p->left_out[i]) {
        made->place[i] = 0; /* nothing reads it */
    } else if (p->same[i]) {
        made->place[i] = WORD | made->n_words++;
    } else if (op->code == VLY_PROGRAM_FIELD && f != NO_PLACE && f != op->a) {
        (void)column(p, op->a); /* a copy: the field may change first */
        made->place[i] = take_block(p);
    } else if (op->code == VLY_PROGRAM_FIELD) {
        made->place[i] = column(p, op->a);
    } else if (op->code == VLY_PROGRAM_COEF) {
        made->place[i] = column(p, p->from->n_fields + op->a);
    } else {
        free_blocks(p, i); /* its result may take the block of an operand */
        if (f != NO_PLACE && p->field_read[f] <= i) {
            made->place[i] = column(p, f);
            made->written[f] = 1;
        } else {
            made->place[i] = take_block(p);
        }
    }
}

static uint32_t number(const vly_cpu_program *made, uint32_t place)
{
    if (place & WORD)
        return made->n_blocks + (place & (WORD - 1));
    if (place & COLUMN)
        return made->n_blocks + made->n_words + (place & (COLUMN - 1));
    return place;
}

static void plan(planner *p)
{
    vly_cpu_program *made = p->made;
    for (uint32_t i = 0; i < p->from->n_ops; i++)
        place_value(p, i);
    for (uint32_t i = 0; i < p->from->n_ops; i++)
        made->place[i] = number(made, made->place[i]);
}

/* ---- steps -------------------------------------------------------------- */

static vly_cpu_program_step step_of(const planner *p, uint32_t i)
{
    const vly_program_op *op = &p->from->ops[i];
    const uint32_t *place = p->made->place;
    uint32_t values[3] = {0};
    uint32_t reads = operands(p, i, values);
    vly_cpu_program_step step = {.code = code_of(p, i),
                                 .d = (uint16_t)place[i],
                                 .b = UINT16_MAX,
                                 .c = UINT16_MAX};
    for (uint32_t k = 0; k < reads; k++) {
        uint32_t a = values[k];
        uint16_t from = (uint16_t)place[a];
        if (k == 0)
            step.a = from;
        else if (k == 1)
            step.b = from;
        else
            step.c = from;
        step.ones = (uint8_t)(step.ones | (p->same[a] ? 1u << k : 0u));
    }
    if (op->code == VLY_PROGRAM_INPUT)
        step.port = (uint16_t)op->a;
    if (op->code == VLY_PROGRAM_UNIFORM)
        step.lo = op->a;
    if (op->code == VLY_PROGRAM_STORE) {
        step.lo = op->b;
        step.hi = op->c;
    }
    return step;
}

/* Copies a field: x AND x is x. */
static vly_cpu_program_step copy_step(const planner *p, uint32_t i)
{
    const vly_cpu_program *made = p->made;
    uint32_t k = 0;
    while (made->column[k] != p->from->ops[i].a)
        k++;
    uint16_t from = (uint16_t)(made->n_blocks + made->n_words + k);
    return (vly_cpu_program_step){.code = VLY_PROGRAM_AND,
                                  .d = (uint16_t)made->place[i],
                                  .a = from,
                                  .b = from,
                                  .c = UINT16_MAX};
}

/* One neuron's worth of a value that is the same for all. */
static void compute_same(planner *p, uint32_t i, uint32_t **places)
{
    const vly_program_op *op = &p->from->ops[i];
    uint32_t *word = places[p->made->place[i]];
    if (op->code == VLY_PROGRAM_NUMBER) {
        *word = op->a;
    } else if (op->code == VLY_PROGRAM_COEF) {
        *word = p->area->coef[op->a].words[0];
    } else {
        vly_cpu_program_step step = step_of(p, i);
        step.ones = 0; /* blocks of one neuron */
        const vly_cpu_program_call call = {
            .steps = &step, .n_steps = 1, .n = 1, .place = places};
        p->run(&call);
    }
}

static void fill_steps(planner *p, uint32_t **places)
{
    vly_cpu_program *made = p->made;
    for (uint32_t i = 0; i < made->n_words; i++)
        places[made->n_blocks + i] = &made->words[i];
    for (uint32_t i = 0; i < p->from->n_ops; i++) {
        const vly_program_op *op = &p->from->ops[i];
        if (p->left_out[i])
            continue;
        if (p->same[i])
            compute_same(p, i, places);
        else if (op->code == VLY_PROGRAM_FIELD &&
                 made->place[i] < made->n_blocks)
            made->steps[made->n_steps++] = copy_step(p, i);
        else if (op->code != VLY_PROGRAM_FIELD && op->code != VLY_PROGRAM_COEF)
            made->steps[made->n_steps++] = step_of(p, i);
    }
}

/* ---- making ------------------------------------------------------------- */

void vly_cpu_program_free(vly_common_heap *heap, vly_cpu_program *program)
{
    if (!program)
        return;
    vly_common_release(heap, program->steps);
    vly_common_release(heap, program->words);
    vly_common_release(heap, program->place);
    vly_common_release(heap, program->column);
    vly_common_release(heap, program);
}

static vly_status alloc_all(vly_common_heap *heap, const vly_program *from,
                            vly_cpu_program *made, planner **p,
                            uint32_t ***places, vly_error *error)
{
    uint32_t n = from->n_ops;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_common_alloc(heap, n, sizeof *made->steps, &made->steps, error));
    VLY_TRY(vly_common_alloc(heap, n, sizeof(uint32_t), &made->words, error));
    VLY_TRY(vly_common_alloc(heap, n, sizeof(uint32_t), &made->place, error));
    VLY_TRY(vly_common_alloc(heap, n + VLY_PROGRAM_MAX_FIELDS, sizeof(uint32_t),
                             &made->column, error));
    VLY_TRY(vly_common_alloc(heap, 1, sizeof **p, p, error));
    VLY_TRY(vly_common_alloc(heap, 2 * n + VLY_PROGRAM_MAX_FIELDS,
                             sizeof(uint32_t *), places, error));
out:
    return status;
}

vly_status vly_cpu_program_make(vly_common_heap *heap, vly_cpu_area *area,
                                vly_cpu_run_program *run, vly_error *error)
{
    const vly_program *from = area->from;
    vly_cpu_program *made = NULL;
    planner *p = NULL;
    uint32_t **places = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(heap, 1, sizeof *made, &made, error));
    made->from = from;
    VLY_TRY(alloc_all(heap, from, made, &p, &places, error));
    p->from = from;
    p->area = area;
    p->made = made;
    p->run = run;
    find_same(p);
    find_last(p);
    plan(p);
    fill_steps(p, places);
    vly_cpu_program_free(heap, area->program);
    area->program = made;
    made = NULL;
out:
    vly_common_release(heap, p);
    vly_common_release(heap, places);
    vly_cpu_program_free(heap, made);
    return status;
}

/* ---- one block ---------------------------------------------------------- */

static void put_field(const vly_cpu_program *program, uint32_t f,
                      uint32_t *const *places, uint32_t *field, uint32_t n)
{
    uint32_t place = program->place[program->from->out[f]];
    const uint32_t *from = places[place];
    bool one = place >= program->n_blocks &&
               place < program->n_blocks + program->n_words;
    if (from == field)
        return;
    for (uint32_t i = 0; i < n; i++)
        field[i] = from[one ? 0 : i];
}

void vly_cpu_program_step_block(const vly_backend_net *net,
                                const vly_cpu_area *area, uint32_t *blocks,
                                uint32_t at, uint32_t n, uint8_t *flags)
{
    const vly_cpu_program *program = area->program;
    const vly_program *from = program->from;
    uint32_t *places[2 * VLY_PROGRAM_MAX_OPS];
    uint32_t k = 0;
    for (uint32_t i = 0; i < program->n_blocks; i++)
        places[k++] = blocks + (size_t)i * VLY_CPU_BLOCK;
    for (uint32_t i = 0; i < program->n_words; i++)
        places[k++] = &program->words[i];
    for (uint32_t i = 0; i < program->n_columns; i++) {
        uint32_t which = program->column[i];
        if (which < from->n_fields) {
            places[k++] = area->field[which] + at;
        } else { /* read only */
            const uint32_t *words =
                area->coef[which - from->n_fields].words + at;
            memcpy(&places[k++], &words, sizeof words);
        }
    }
    uint32_t *slot = area->slot[area->now];
    vly_cpu_program_call call = {.steps = program->steps,
                                 .n_steps = program->n_steps,
                                 .n = n,
                                 .place = places,
                                 .id = area->first + at,
                                 .key = net->desc->seed_input,
                                 .burst = net->burst};
    for (uint32_t i = 0; i < area->n_ports; i++) {
        call.scale[i] = area->scale[i];
        call.input[i] = slot + i * area->stride + at;
    }
    net->kernels->program(&call);
    for (uint32_t i = 0; i < area->n_ports; i++)
        memset(slot + i * area->stride + at, 0, n * sizeof *slot);
    uint32_t place = program->place[from->fired];
    bool one = place >= program->n_blocks &&
               place < program->n_blocks + program->n_words;
    for (uint32_t i = 0; i < n; i++)
        flags[i] = places[place][one ? 0 : i] != 0;
    for (uint32_t f = 0; f < from->n_fields; f++)
        if (!program->written[f])
            put_field(program, f, places, area->field[f] + at, n);
}
