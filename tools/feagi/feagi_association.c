/* SPDX-License-Identifier: Apache-2.0
 * Associative memory. A mapping by associative_memory holds both ways, whatever
 * way it is written, so two mirrored ones are one [association]; the last one
 * read counts, as in feagi-core. It makes no synapses at first.
 * Source: feagi-core 0.0.1-beta.18, crates/feagi-brain-development
 * (connectome_manager.rs)
 */
#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/tool.h"
#include "tools/feagi/feagi_memory.h"

static bool same_pair(const feagi_association *a, const feagi_mapping *b)
{
    return (a->from == b->from && a->to == b->to) ||
           (a->from == b->to && a->to == b->from);
}

/* The one of these two areas; a new one if there is none yet. */
static feagi_association *find(feagi_genome *genome, const feagi_mapping *of)
{
    const uint32_t n = genome->n_associations;
    for (uint32_t i = 0; i < n; i++)
        if (same_pair(&genome->associations[i], of))
            return &genome->associations[i];
    if (n == 0 || (n & (n - 1)) == 0) {
        feagi_association *grown = vly_realloc(
            genome->associations, n ? 2 * (size_t)n : 1, sizeof(*grown));
        if (!grown)
            return NULL;
        genome->associations = grown;
    }
    genome->n_associations++;
    genome->associations[n] =
        (feagi_association){.from = of->from, .to = of->to};
    return &genome->associations[n];
}

vly_status feagi_association_read(feagi_genome *genome, const feagi_mapping *of,
                                  vly_error *error)
{
    static const feagi_value yes = {.kind = FEAGI_BOOL, .number = 1};
    feagi_plastic_values values = *of->plastic;
    feagi_plastic plastic = {0};
    double sign = 1;
    vly_status status;
    values.flag = &yes; /* whatever the mapping says */
    VLY_TRY(feagi_plastic_read(genome, of->where, of->subject, &values,
                               &plastic, error));
    if (of->multiplier)
        VLY_TRY(feagi_number(genome, of->where, of->multiplier, false, -1e9,
                             1e9, &sign, error));
    if (!plastic.is_on)
        return VLY_OK; /* said already */
    feagi_association *to = find(genome, of);
    if (!to)
        return vly_fail_nomem(error, 0, "the associations");
    to->plastic = plastic;
    to->inhibitory = sign < 0;
    if (genome->areas[of->from].memory && genome->areas[of->to].memory)
        status = feagi_report_add(
            &genome->report, FEAGI_ASSUMED, of->subject, error,
            "connects the neurons that stand for patterns; feagi-core also "
            "makes synapses between neurons of memory areas that never fire");
out:
    return status;
}

void feagi_association_tables(vly_text *text, const feagi_genome *genome)
{
    for (uint32_t i = 0; i < genome->n_associations; i++) {
        const feagi_association *of = &genome->associations[i];
        vly_text_put(text,
                     "\n[association.pair_%u]\nfrom = \"%s\"\nto = \"%s\"\n"
                     "plasticity_window = %d\nplasticity_constant = %d\n"
                     "ltp_multiplier = %d\nltd_multiplier = %d\n",
                     i + 1, genome->areas[of->from].name,
                     genome->areas[of->to].name, (int)of->plastic.window,
                     (int)of->plastic.constant, (int)of->plastic.ltp,
                     (int)of->plastic.ltd);
        if (of->inhibitory)
            vly_text_put(text, "inhibitory = true\n");
    }
}
