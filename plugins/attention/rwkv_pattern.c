/* SPDX-License-Identifier: Apache-2.0
 * Recognises the model of a list of runs of volley.rwkv/1: the order of
 * volley/rwkv.h, in which each run reads the results of the previous one. One
 * launch does not write these, so every pointer between two runs is compared;
 * persistent arrays (last, states, logits) must not overlap.
 */
#include <string.h>

#include "accel_common.h"
#include "rwkv_check.h"
#include "rwkv_cuda.h"

enum { ALIGN = 16, MOST_LAYERS = 4096 };

/* Runs of a layer, by their place. */
enum { MIX_TIME, IN, STEP, OUTPUT, MIX_CHANNEL, KEY, VALUE };

typedef struct finding {
    vly_rwkv_plan *const *plans;
    const vly_rwkv_run *runs;
    uint32_t n;
    vly_cuda_rwkv_token *token;
    vly_cuda_rwkv_token_layer *layers;
    uint32_t at; /* the present run */
    const void *x;
    const void *v_first;
    const char *why; /* reason for the first run that does not match; NULL: all
                      * match */
} finding;

uint32_t vly_rwkv_pattern_layers(uint32_t n)
{
    const uint32_t layers =
        n < VLY_RWKV_OTHER_RUNS
            ? 0
            : (n - VLY_RWKV_OTHER_RUNS) / VLY_RWKV_LAYER_RUNS;
    return layers * VLY_RWKV_LAYER_RUNS + VLY_RWKV_OTHER_RUNS == n &&
                   layers <= MOST_LAYERS
               ? layers
               : 0;
}

/* ---- checks of every run ------------------------------------------------- */

static bool want(finding *f, bool holds, const char *why)
{
    if (!holds && !f->why)
        f->why = why;
    return !f->why;
}

static bool want_aligned(finding *f, const void *const *pointers, uint32_t n)
{
    bool all = true;
    for (uint32_t i = 0; i < n; i++)
        all = all && (uintptr_t)pointers[i] % ALIGN == 0;
    return want(f, all, "has a pointer that is not aligned to 16 bytes");
}

/* Keeps the first run that does not match. */
static const vly_rwkv_desc *go_to(finding *f, uint32_t at)
{
    if (!f->why)
        f->at = at;
    return &f->plans[at]->desc;
}

/* Is this a description of one token? flags: the allowed flags. */
static bool want_token(finding *f, uint32_t op, uint32_t flags)
{
    const vly_rwkv_desc *desc = &f->plans[f->at]->desc;
    const bool is_rows = op != VLY_RWKV_PRODUCTS;
    return want(f, desc->op == op, "is not what a model has there") &&
           want(f, desc->batch == 1 && desc->seq == 1,
                "is of more than one token") &&
           want(f, (desc->flags & VLY_RWKV_LENGTHS) == 0, "has lengths") &&
           want(f, (desc->flags & ~flags) == 0,
                "has flags that a model has not there") &&
           want(f, desc->type == f->token->type,
                "is in another type than the first") &&
           want(f, !is_rows || desc->width == f->token->width,
                "has another width than the first");
}

/* The run of a norm; all norms must have the same eps. */
static bool want_norm(finding *f, const vly_rwkv_run *run)
{
    const vly_rwkv_desc *desc = &f->plans[f->at]->desc;
    const void *const pointers[] = {run->norm_weight, run->norm_bias};
    return want(f, run->x == f->x, "does not have the x of the first") &&
           want(f, desc->eps == f->token->eps,
                "has another eps than other norms") &&
           want_aligned(f, pointers, 2);
}

/* One matrix, which is multiplied with `from`. */
static bool want_product(finding *f, uint32_t i, const void *from, uint32_t k)
{
    const vly_rwkv_product *product = &f->plans[f->at]->desc.product[i];
    const vly_rwkv_run *run = &f->runs[f->at];
    const void *const pointers[] = {run->product_w[i], run->product_y[i]};
    return want(f, product->type == f->token->type,
                "has weights of another type") &&
           want(f, product->k == k, "has products of other sizes") &&
           want(f, run->product_x[i] == from,
                "does not multiply what a model multiplies") &&
           want_aligned(f, pointers, 2);
}

/* The only product of a run. */
static bool want_alone(finding *f, const void *from, uint32_t n, uint32_t k,
                       uint32_t activation)
{
    const vly_rwkv_desc *desc = &f->plans[f->at]->desc;
    return want_token(f, VLY_RWKV_PRODUCTS, 0) &&
           want(f, desc->n_products == 1, "has more than one product") &&
           want(f, desc->product[0].n == n, "has products of other sizes") &&
           want(f, desc->product[0].activation == activation,
                "has another function") &&
           want_product(f, 0, from, k);
}

/* x += W from, as for output and value. */
static bool want_sum(finding *f, const void *from, uint32_t k)
{
    const vly_rwkv_desc *desc = &f->plans[f->at]->desc;
    return want_alone(f, from, f->token->width, k, VLY_RWKV_IDENTITY) &&
           want(f,
                desc->product[0].flags == VLY_RWKV_PRODUCT_ADD &&
                    f->runs[f->at].product_y[0] == f->x,
                "is not added to x");
}

/* ---- the first products of a layer -------------------------------------- */

/* Of r k v w1 a1 v1 g1: which of the six mixed inputs, f, and the rank's
 * place (4: none). */
typedef struct role {
    uint32_t mix;
    uint32_t activation;
    uint32_t rank;
} role;

enum { N_ROLES = 7 };

static const role roles[N_ROLES] = {
    {0, VLY_RWKV_IDENTITY, 4}, {2, VLY_RWKV_IDENTITY, 4},
    {3, VLY_RWKV_IDENTITY, 4}, {1, VLY_RWKV_TANH, 0},
    {4, VLY_RWKV_IDENTITY, 1}, {3, VLY_RWKV_IDENTITY, 2},
    {5, VLY_RWKV_SIGMOID, 3}};

/* The role of a product, found by the inputs of STEP; N_ROLES: none. r k v come
 * first, in this order. */
static uint32_t role_of(const vly_rwkv_run *step, const void *y, uint32_t i,
                        bool is_first)
{
    const void *const read[N_ROLES] = {step->r,      step->k,      step->v,
                                       step->lora_w, step->lora_a, step->lora_v,
                                       step->lora_g};
    if (i < 3)
        return y == read[i] ? i : N_ROLES;
    for (uint32_t j = 3; j < N_ROLES; j++)
        if (y == read[j] && !(j == 5 && is_first))
            return j;
    return N_ROLES;
}

/* Adds product i to a kind, after its previous products. */
static bool add_in(finding *f, vly_cuda_rwkv_token_kind *kind, uint32_t i,
                   bool is_first)
{
    const vly_cuda_rwkv_token *token = f->token;
    const vly_rwkv_desc *desc = &f->plans[f->at]->desc;
    const vly_rwkv_product *product = &desc->product[i];
    const vly_rwkv_run *run = &f->runs[f->at];
    const vly_rwkv_run *step = run + STEP - IN;
    const vly_rwkv_desc *step_desc = &f->plans[f->at + STEP - IN]->desc;
    const uint32_t which = role_of(step, run->product_y[i], i, is_first);
    if (!want(f, which < N_ROLES, "makes what the step does not read"))
        return false;
    const role *is = &roles[which];
    const char *mixed = run[MIX_TIME - IN].mixed;
    const uint32_t n = is->rank < 4 ? step_desc->rank[is->rank] : token->width;
    kind->mix[i] = is->mix;
    kind->activation[i] = is->activation;
    kind->first[i + 1] = kind->first[i] + n;
    if (is->rank < 4)
        kind->lora_at[is->rank] = kind->first[i];
    return want(f, product->n == n, "has products of other sizes") &&
           want(f, product->activation == is->activation,
                "has another function") &&
           want(f, product->flags == 0 && product->type_y == desc->type,
                "leaves its products in another form") &&
           want_product(f, i, mixed + (uint64_t)is->mix * token->width * 2,
                        token->width);
}

static bool find_in(finding *f, uint32_t at, uint32_t layer)
{
    vly_cuda_rwkv_token_kind kind;
    vly_cuda_rwkv_token_layer *to = &f->layers[layer];
    const vly_rwkv_desc *desc = go_to(f, at + IN);
    const uint32_t wanted = layer == 0 ? N_ROLES - 1 : N_ROLES;
    bool good = want_token(f, VLY_RWKV_PRODUCTS, 0) &&
                want(f, desc->n_products == wanted,
                     "has another number of products than a layer");
    memset(&kind, 0, sizeof kind);
    kind.n = wanted;
    for (uint32_t i = 0; good && i < wanted; i++) {
        good = add_in(f, &kind, i, layer == 0);
        to->in[i] = f->runs[f->at].product_w[i];
    }
    for (uint32_t i = wanted; i < VLY_CUDA_RWKV_TOKEN_IN; i++)
        kind.first[i + 1] = kind.first[i];
    if (layer < 2)
        f->token->kind[layer] = kind;
    return good &&
           want(f, memcmp(&f->token->kind[layer > 0], &kind, sizeof kind) == 0,
                "has products in another order than layers before");
}

/* ---- parts of a layer --------------------------------------------------- */

static bool find_mix(finding *f, uint32_t at, uint32_t part,
                     vly_cuda_rwkv_token_layer *to)
{
    const vly_rwkv_desc *desc = go_to(f, at);
    const vly_rwkv_run *run = &f->runs[at];
    const void *const pointers[] = {run->mix, run->last, run->mixed};
    to->norm_weight[part] = run->norm_weight;
    to->norm_bias[part] = run->norm_bias;
    to->mix[part] = run->mix;
    to->last[part] = run->last;
    return want_token(f, VLY_RWKV_MIX, 0) &&
           want(f, desc->n_mix == (part == 0 ? 6 : 1),
                "mixes more or less than a model") &&
           want_norm(f, run) && want_aligned(f, pointers, 3);
}

static void take_heads(const vly_rwkv_run *run, bool is_first,
                       vly_cuda_rwkv_token_layer *to)
{
    to->matrix[0] = run->matrix_w;
    to->matrix[1] = run->matrix_a;
    to->matrix[2] = is_first ? NULL : run->matrix_v;
    to->matrix[3] = run->matrix_g;
    to->bias[0] = run->bias_w;
    to->bias[1] = run->bias_a;
    to->bias[2] = is_first ? NULL : run->bias_v;
    to->k_k = run->k_k;
    to->k_a = run->k_a;
    to->r_k = run->r_k;
    to->group_weight = run->group_weight;
    to->group_bias = run->group_bias;
    to->state_in = run->state_in;
    to->state_out = run->state_out;
}

/* The first layer has no v: the rank is taken from the others. */
static bool want_ranks(finding *f, const vly_rwkv_desc *desc, uint32_t layer)
{
    bool same = true;
    for (uint32_t i = 0; i < 4; i++) {
        if (i == 2 && layer == 0)
            continue;
        if (layer == 0 || (i == 2 && layer == 1))
            f->token->rank[i] = desc->rank[i];
        same = same && f->token->rank[i] == desc->rank[i];
    }
    return want(f, same, "has other ranks than layers before");
}

static bool find_step(finding *f, uint32_t at, uint32_t layer)
{
    const vly_rwkv_desc *desc = go_to(f, at + STEP);
    const vly_rwkv_run *run = &f->runs[f->at];
    vly_cuda_rwkv_token_layer *to = &f->layers[layer];
    const uint32_t flags =
        VLY_RWKV_LORA | (layer == 0 ? (uint32_t)VLY_RWKV_FIRST : 0);
    if (layer == 0) {
        f->token->eps_group = desc->eps;
        f->v_first = run->v_first;
    }
    take_heads(run, layer == 0, to);
    const void *const pointers[] = {
        to->matrix[0], to->matrix[1], to->matrix[2],    to->matrix[3],
        to->bias[0],   to->bias[1],   to->bias[2],      to->k_k,
        to->k_a,       to->r_k,       to->group_weight, to->group_bias,
        to->state_in,  to->state_out};
    return want_token(f, VLY_RWKV_STEP, flags) &&
           want(f, desc->flags == flags,
                "is without the second products, or not of this layer") &&
           want(f, desc->type_matrix == f->token->type,
                "has matrices of another type") &&
           want(f, desc->eps == f->token->eps_group,
                "has another eps than layers before") &&
           want(f, run->v_first == f->v_first,
                "has another v_first than the first layer") &&
           want_ranks(f, desc, layer) &&
           want_aligned(f, pointers, sizeof pointers / sizeof pointers[0]);
}

static bool find_layer(finding *f, uint32_t layer)
{
    const uint32_t at = 1 + layer * VLY_RWKV_LAYER_RUNS;
    const vly_rwkv_run *runs = f->runs + at;
    vly_cuda_rwkv_token *token = f->token;
    vly_cuda_rwkv_token_layer *to = &f->layers[layer];
    bool good = find_mix(f, at + MIX_TIME, 0, to);
    good = good && find_step(f, at, layer) && find_in(f, at, layer);
    (void)go_to(f, at + OUTPUT);
    good = good && want_sum(f, runs[STEP].y, token->width);
    good = good && find_mix(f, at + MIX_CHANNEL, 1, to);
    const vly_rwkv_desc *key = go_to(f, at + KEY);
    if (layer == 0)
        token->hidden = key->product[0].n;
    good = good &&
           want_alone(f, runs[MIX_CHANNEL].mixed, token->hidden, token->width,
                      VLY_RWKV_RELU2) &&
           want(f,
                key->product[0].flags == 0 &&
                    key->product[0].type_y == token->type,
                "leaves its products in another form");
    (void)go_to(f, at + VALUE);
    good = good && want_sum(f, runs[KEY].product_y[0], token->hidden);
    to->output = runs[OUTPUT].product_w[0];
    to->key = runs[KEY].product_w[0];
    to->value = runs[VALUE].product_w[0];
    return good;
}

/* ---- around the layers -------------------------------------------------- */

static bool find_embed(finding *f)
{
    const vly_rwkv_desc *desc = go_to(f, 0);
    const vly_rwkv_run *run = &f->runs[0];
    vly_cuda_rwkv_token *token = f->token;
    const bool has_norm = (desc->flags & VLY_RWKV_WITH_NORM) != 0;
    token->type = desc->type;
    token->width = desc->width;
    token->table_rows = desc->vocabulary;
    token->token = run->token;
    token->table = run->table;
    token->table_weight = has_norm ? run->norm_weight : NULL;
    token->table_bias = has_norm ? run->norm_bias : NULL;
    token->eps = f->plans[1]->desc.eps;
    f->x = run->x;
    const void *const pointers[] = {token->table, token->table_weight,
                                    token->table_bias, f->x};
    return want(f,
                desc->type == VLY_ELEMENT_F16 || desc->type == VLY_ELEMENT_BF16,
                "is not in 16 bits") &&
           want_token(f, VLY_RWKV_EMBED, VLY_RWKV_WITH_NORM) &&
           want(f, desc->type_matrix == desc->type,
                "has a table of another type") &&
           want(f, !has_norm || desc->eps == token->eps,
                "has another eps than other norms") &&
           want_aligned(f, pointers, 4);
}

static bool find_head(finding *f)
{
    vly_cuda_rwkv_token *token = f->token;
    const vly_rwkv_run *norm = &f->runs[f->n - 2];
    const vly_rwkv_run *head = &f->runs[f->n - 1];
    (void)go_to(f, f->n - 2);
    token->out_weight = norm->norm_weight;
    token->out_bias = norm->norm_bias;
    if (!want_token(f, VLY_RWKV_NORM, VLY_RWKV_LAST) || !want_norm(f, norm))
        return false;
    const vly_rwkv_desc *desc = go_to(f, f->n - 1);
    token->vocabulary = desc->product[0].n;
    token->head = head->product_w[0];
    token->logits = head->product_y[0];
    token->type_logits = desc->product[0].type_y;
    return want_alone(f, norm->y, token->vocabulary, token->width,
                      VLY_RWKV_IDENTITY) &&
           want(f, desc->product[0].flags == 0, "is added to the logits");
}

/* ---- persistent arrays --------------------------------------------------- */

typedef struct range {
    uintptr_t from;
    uint64_t bytes;
} range;

/* Number i of last, last, state of each layer, then the logits. */
static range lasting(const finding *f, uint32_t i)
{
    const vly_cuda_rwkv_token *token = f->token;
    const vly_cuda_rwkv_token_layer *layer = &f->layers[i / 3];
    if (i == 3 * token->n_layers)
        return (range){(uintptr_t)token->logits,
                       (uint64_t)token->vocabulary *
                           (token->type_logits == VLY_ELEMENT_F32 ? 4 : 2)};
    if (i % 3 == 2)
        return (range){(uintptr_t)layer->state_out,
                       (uint64_t)token->width * VLY_RWKV_DIM * sizeof(float)};
    return (range){(uintptr_t)layer->last[i % 3],
                   (uint64_t)token->width * sizeof(float)};
}

static bool want_apart(finding *f)
{
    const uint32_t n = 3 * f->token->n_layers + 1;
    bool apart = true;
    for (uint32_t i = 0; i < n; i++) {
        const range a = lasting(f, i);
        for (uint32_t j = 0; j < i; j++) {
            const range b = lasting(f, j);
            apart = apart &&
                    (a.from >= b.from + b.bytes || b.from >= a.from + a.bytes);
        }
    }
    return want(f, apart, "and others before it write the same");
}

/* ---- all of it ---------------------------------------------------------- */

vly_status vly_rwkv_pattern_find(vly_rwkv_plan *const *plans,
                                 const vly_rwkv_run *runs, uint32_t n,
                                 vly_cuda_rwkv_token *token,
                                 vly_cuda_rwkv_token_layer *layers,
                                 vly_error *error)
{
    finding f = {
        .plans = plans, .runs = runs, .n = n, .token = token, .layers = layers};
    vly_status status = VLY_OK;
    memset(token, 0, sizeof *token);
    token->n_layers = vly_rwkv_pattern_layers(n);
    memset(layers, 0, token->n_layers * sizeof *layers);
    for (uint32_t i = 0; i < n; i++)
        VLY_TRY(vly_rwkv_check_run(&plans[i]->desc, &runs[i],
                                   vly_support_plugin, error));
    bool good = find_embed(&f);
    for (uint32_t i = 0; good && i < token->n_layers; i++)
        good = find_layer(&f, i);
    if (token->n_layers == 1) { /* unused, but their place in the layout is
                                 * needed */
        token->kind[1] = token->kind[0];
        token->rank[2] = token->rank[0];
    }
    if (good && find_head(&f) && want_apart(&f))
        return VLY_OK;
    status = vly_support_fail(error, VLY_E_UNSUPPORTED,
                              "%s: rwkv chain: number %u, %s, %s",
                              vly_support_plugin, f.at,
                              vly_rwkv_op_name(plans[f.at]->desc.op), f.why);
out:
    return status;
}
