/* SPDX-License-Identifier: Apache-2.0
 * Users' rules of plasticity. Maps whose rules have the same operations share
 * pipelines, whatever their coefficients are.
 */
#include "vulkan_rule.h"

#include <string.h>

#include "kernels/rules/rule_program.h"
#include "vulkan_blocks.h"
#include "vulkan_splice_rule.h"
#include "vulkan_spliced.h"

/* ---- which ones --------------------------------------------------------- */

static uint32_t n_op_words(const uint32_t *words)
{
    return 4 * (words[2] + words[3]);
}

static const uint32_t *ops_of(const uint32_t *words)
{
    return words + VLY_RULE_PROGRAM_HEAD + words[1];
}

static bool same_rule(const vly_learning_desc *x, const vly_learning_desc *y)
{
    const uint32_t *a = x->coefs;
    const uint32_t *b = y->coefs;
    return a[1] == b[1] && a[2] == b[2] && a[3] == b[3] &&
           memcmp(ops_of(a), ops_of(b), n_op_words(a) * sizeof *a) == 0;
}

/* The number of the rule among those of users so far; plastic.n_rules: it is
 * not one of them. */
static uint32_t find_rule(const vly_backend_net *net,
                          const vly_learning_desc *learning)
{
    const vly_vulkan_plastic *plastic = &net->plastic;
    uint32_t k = 0;
    while (k < plastic->n_rules &&
           !same_rule(plastic->rules[k].map->learning, learning))
        k++;
    return k;
}

static const vly_learning_desc *users(const vly_backend_net *net, uint32_t p)
{
    const vly_learning_desc *learning = vly_common_learning(net->desc, p);
    return learning && vly_common_rule_users(learning->rule) ? learning : NULL;
}

vly_status vly_vulkan_rules_count(vly_backend_net *net, vly_error *error)
{
    vly_vulkan_plastic *plastic = &net->plastic;
    uint32_t n_maps = 0;
    for (uint32_t p = 0; p < net->desc->n_projections; p++)
        n_maps += users(net, p) != NULL;
    if (n_maps == 0)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, n_maps, sizeof *plastic->rules,
                             &plastic->rules, error));
    for (uint32_t p = 0; p < net->desc->n_projections; p++) {
        const vly_learning_desc *learning = users(net, p);
        if (learning && find_rule(net, learning) == plastic->n_rules)
            plastic->rules[plastic->n_rules++].map =
                vly_common_projection_desc(net->desc, p);
    }
out:
    return status;
}

uint32_t vly_vulkan_rules_all(const vly_backend_net *net)
{
    return VLY_VULKAN_N_RULES + net->plastic.n_rules;
}

uint32_t vly_vulkan_rule_of(const vly_backend_net *net,
                            const vly_learning_desc *learning)
{
    if (vly_common_rule_users(learning->rule))
        return VLY_VULKAN_N_RULES + find_rule(net, learning);
    return vly_common_rule_find(learning->rule)->index;
}

/* ---- pipelines ---------------------------------------------------------- */

static int write_learn(const void *words, const uint32_t *frame, size_t n,
                       uint32_t **out, size_t *n_out, char *message)
{
    return vly_vulkan_splice_rule(frame, n, false, words, out, n_out, message);
}

static int write_flush(const void *words, const uint32_t *frame, size_t n,
                       uint32_t **out, size_t *n_out, char *message)
{
    return vly_vulkan_splice_rule(frame, n, true, words, out, n_out, message);
}

static void put_rule(vly_vulkan_key *key, const void *context)
{
    const uint32_t *words = context;
    vly_vulkan_key_put(key, words + 1, VLY_RULE_PROGRAM_HEAD - 1);
    vly_vulkan_key_put(key, ops_of(words), n_op_words(words));
}

static vly_status get_spliced(vly_backend_net *net,
                              const vly_projection_desc *map, bool flush,
                              vly_vulkan_spliced **found, vly_error *error)
{
    const vly_vulkan_wanted wanted = {
        .shader = flush ? VLY_VULKAN_RULE_FLUSH : VLY_VULKAN_RULE_LEARN,
        .n_ops = n_op_words(map->learning->coefs) / 4,
        .context = map->learning->coefs,
        .write = flush ? write_flush : write_learn,
        .put = put_rule,
        .place = "map",
        .name = map->map,
        .kind = "rule",
        .id = map->learning->rule};
    return vly_vulkan_spliced_get(net, &wanted, found, error);
}

vly_status vly_vulkan_rules_create(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t k = 0; k < net->plastic.n_rules; k++) {
        vly_vulkan_rule *rule = &net->plastic.rules[k];
        VLY_TRY(get_spliced(net, rule->map, false, &rule->learn, error));
        VLY_TRY(get_spliced(net, rule->map, true, &rule->flush, error));
    }
out:
    return status;
}

void vly_vulkan_rules_release(vly_backend_net *net)
{
    for (uint32_t k = 0; k < net->plastic.n_rules; k++) {
        vly_vulkan_spliced_release(net->device, net->plastic.rules[k].learn);
        vly_vulkan_spliced_release(net->device, net->plastic.rules[k].flush);
    }
    net->plastic.n_rules = 0;
}

VkPipeline vly_vulkan_rule_pipeline(const vly_backend_net *net, uint32_t rule,
                                    bool flush)
{
    const vly_vulkan_rule *r = &net->plastic.rules[rule - VLY_VULKAN_N_RULES];
    return vly_vulkan_spliced_pipeline(flush ? r->flush : r->learn);
}

/* ---- coefficients ------------------------------------------------------- */

vly_status vly_vulkan_rule_put(vly_backend_net *net,
                               const vly_learning_desc *learning,
                               vly_vulkan_plastic_map *map,
                               vly_vulkan_learning *l, vly_error *error)
{
    uint32_t words[1 + VLY_RULE_PROGRAM_COEFS] = {0};
    vly_status status = VLY_OK;
    if (!vly_common_rule_users(learning->rule))
        return VLY_OK;
    const uint32_t n = learning->coefs[1];
    memcpy(words + 1, learning->coefs + VLY_RULE_PROGRAM_HEAD,
           n * sizeof *words);
    VLY_TRY(vly_vulkan_put(net, n + UINT64_C(1), sizeof *words, words,
                           &map->words, error));
    l->coefs[VLY_VULKAN_RULE_MOST] = learning->most;
    l->coefs[VLY_VULKAN_RULE_WORDS] = (uint32_t)map->words->address;
    l->coefs[VLY_VULKAN_RULE_WORDS + 1] = (uint32_t)(map->words->address >> 32);
out:
    return status;
}

vly_status vly_vulkan_rule_set(vly_backend_net *net,
                               const vly_vulkan_plastic_map *map,
                               const vly_learning_desc *learning,
                               vly_vulkan_learning *l, vly_error *error)
{
    const uint32_t *coefs = learning->coefs + VLY_RULE_PROGRAM_HEAD;
    const uint32_t n = learning->coefs[1];
    l->coefs[VLY_VULKAN_RULE_MOST] = learning->most;
    return n > 0 ? vly_vulkan_upload(net, map->words, sizeof *coefs, coefs,
                                     n * sizeof *coefs, error)
                 : VLY_OK;
}
