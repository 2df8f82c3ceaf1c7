/* SPDX-License-Identifier: Apache-2.0
 * Which synapses are wanted: names of maps and areas, ranges of neurons.
 */
#include "tools/connections/connections.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "engine/engine.h"
#include "tools/cli/options.h"

/* ---- one end ------------------------------------------------------------ */

static vly_status find_area(const vly_connectome *connectome,
                            const char *option, const char *name,
                            uint32_t *area, vly_error *error)
{
    vly_suggest near = {0};
    char text[VLY_HINT_SIZE];
    for (uint32_t a = 0; a < connectome->desc.n_areas; a++) {
        *area = a;
        if (strcmp(connectome->areas[a].name, name) == 0)
            return VLY_OK;
        vly_suggest_offer(&near, name, connectome->areas[a].name);
    }
    return vly_fail(error, VLY_E_INVALID, "--%s: no area %s%s", option, name,
                    vly_suggest_choice(&near, text, sizeof text));
}

/* "3" or "3-7", of n neurons; NULL: all. */
static bool read_range(char *text, uint32_t n, connections_end *end)
{
    uint64_t first = 0;
    uint64_t last = 0;
    char *dash = text != NULL ? strchr(text, '-') : NULL;
    end->end = n;
    if (text == NULL)
        return true;
    if (dash != NULL)
        *dash = '\0';
    if (!tool_read_count(text, &first) ||
        !tool_read_count(dash != NULL ? dash + 1 : text, &last) ||
        first > last || last >= n)
        return false;
    end->first = (uint32_t)first;
    end->end = (uint32_t)last + 1;
    return true;
}

vly_status connections_end_read(const vly_connectome *connectome,
                                const char *option, const char *text,
                                connections_end *end, vly_error *error)
{
    vly_status status = VLY_OK;
    *end = (connections_end){.given = text != NULL};
    if (text == NULL)
        return VLY_OK;
    char *name = vly_strdup(text);
    if (name == NULL)
        return vly_fail_nomem(error, strlen(text), "a name");
    char *colon = strchr(name, ':');
    if (colon != NULL)
        *colon = '\0';
    VLY_TRY(find_area(connectome, option, name, &end->area, error));
    const uint32_t n = connectome->areas[end->area].n_neurons;
    if (!read_range(colon != NULL ? colon + 1 : NULL, n, end))
        status = vly_fail(error, VLY_E_INVALID,
                          "--%s %s: wanted %s:NEURON or %s:FIRST-LAST, of "
                          "neurons 0 to %u",
                          option, text, name, name, n > 0 ? n - 1 : 0);
out:
    vly_free(name);
    return status;
}

/* ---- pairs of areas ----------------------------------------------------- */

static bool same_pair(const vly_connectome *connectome, uint32_t p, uint32_t k)
{
    const vly_projection_desc *a = &connectome->desc.projections[p];
    const vly_projection_desc *b = &connectome->desc.projections[k];
    return a->source_area == b->source_area &&
           a->target_area == b->target_area &&
           strcmp(connectome->projections[p].map,
                  connectome->projections[k].map) == 0;
}

/* Does a map connect one pair of areas only? */
static bool is_only(const vly_connectome *connectome, uint32_t p)
{
    const char *map = connectome->projections[p].map;
    for (uint32_t k = 0; k < connectome->desc.n_projections; k++)
        if (strcmp(connectome->projections[k].map, map) == 0 &&
            !same_pair(connectome, p, k))
            return false;
    return true;
}

static bool is_wanted(const vly_connectome *connectome,
                      const connections_pick *pick, uint32_t p)
{
    const vly_projection_desc *desc = &connectome->desc.projections[p];
    return (pick->map == NULL ||
            strcmp(pick->map, connectome->projections[p].map) == 0) &&
           (!pick->source.given || pick->source.area == desc->source_area) &&
           (!pick->target.given || pick->target.area == desc->target_area);
}

static vly_status check_map(const vly_connectome *connectome, const char *map,
                            vly_error *error)
{
    vly_suggest near = {0};
    char text[VLY_HINT_SIZE];
    if (map == NULL)
        return VLY_OK;
    for (uint32_t p = 0; p < connectome->desc.n_projections; p++) {
        if (strcmp(connectome->projections[p].map, map) == 0)
            return VLY_OK;
        if (p == 0 || !same_pair(connectome, p - 1, p))
            vly_suggest_offer(&near, map, connectome->projections[p].map);
    }
    return vly_fail(error, VLY_E_INVALID, "--map: no map %s has synapses%s",
                    map, vly_suggest_choice(&near, text, sizeof text));
}

static void add_pair(const vly_connectome *connectome, uint32_t p,
                     connections_pair *pair)
{
    const vly_projection_desc *desc = &connectome->desc.projections[p];
    *pair =
        (connections_pair){.map = connectome->projections[p].map,
                           .source = connectome->areas[desc->source_area].name,
                           .target = connectome->areas[desc->target_area].name,
                           .suffix = vly_projection_port(connectome, p)->suffix,
                           .only = is_only(connectome, p)};
}

vly_status connections_pairs(const vly_connectome *connectome,
                             const connections_pick *pick,
                             connections_pair **pairs, uint32_t *n_pairs,
                             vly_error *error)
{
    const uint32_t n_projections = connectome->desc.n_projections;
    uint32_t n = 0;
    vly_status status = check_map(connectome, pick->map, error);
    if (status != VLY_OK)
        return status;
    connections_pair *made =
        vly_calloc((size_t)n_projections + 1, sizeof *made);
    if (made == NULL)
        return vly_fail_nomem(error, n_projections * sizeof *made, "maps");
    for (uint32_t p = 0; p < n_projections; p++) {
        if (!is_wanted(connectome, pick, p))
            continue;
        if (n == 0 || !same_pair(connectome, made[n - 1].parts[0], p) ||
            made[n - 1].n_parts == CONNECTIONS_PARTS)
            add_pair(connectome, p, &made[n++]);
        made[n - 1].parts[made[n - 1].n_parts++] = p;
    }
    *pairs = made;
    *n_pairs = n;
    return VLY_OK;
}

static uint64_t count_part(const vly_projection_desc *desc, uint32_t n_sources,
                           uint32_t base, const connections_pick *pick)
{
    const connections_end *source = &pick->source;
    const uint64_t first = desc->row[source->given ? source->first : 0];
    const uint64_t end = desc->row[source->given ? source->end : n_sources];
    uint64_t n = 0;
    if (!pick->target.given)
        return end - first;
    for (uint64_t i = first; i < end; i++)
        n += desc->target[i] - base >= pick->target.first &&
             desc->target[i] - base < pick->target.end;
    return n;
}

uint64_t connections_count(const vly_connectome *connectome,
                           const connections_pick *pick,
                           const connections_pair *pair)
{
    const vly_net_desc *desc = &connectome->desc;
    uint64_t n = 0;
    for (uint32_t k = 0; k < pair->n_parts; k++) {
        const vly_projection_desc *part = &desc->projections[pair->parts[k]];
        n += count_part(part, desc->areas[part->source_area].n_neurons,
                        desc->areas[part->target_area].first, pick);
    }
    return n;
}
