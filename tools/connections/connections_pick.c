/* SPDX-License-Identifier: Apache-2.0
 * Which synapses are wanted: names of maps and areas, ranges of neurons.
 */
#include "tools/connections/connections.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "tools/cli/options.h"
#include "tools/cli/setup.h"

/* ---- one end ------------------------------------------------------------ */

static bool is_at(const connections_end *end, const char *area)
{
    if (!end->name)
        return true;
    if (strncmp(area, end->name, end->n_name) != 0)
        return false;
    const char *rest = area + end->n_name;
    if (!end->copies)
        return *rest == '\0';
    return rest[0] == '/' && rest[1] != '\0' &&
           rest[1 + strspn(rest + 1, "0123456789")] == '\0';
}

/* Sets copies if the name is that of copies. *n_neurons: in the smallest area.
 */
static vly_status find_areas(const vly_connectome *connectome,
                             const char *option, const char *name,
                             connections_end *end, uint32_t *n_neurons,
                             vly_error *error)
{
    vly_suggest near = {0};
    char text[VLY_HINT_SIZE];
    const uint32_t n_areas = tool_connectome_info(connectome).n_areas;
    uint32_t n_found = 0;
    for (int copies = 0; copies < 2 && n_found == 0; copies++) {
        end->copies = copies != 0;
        for (uint32_t a = 0; a < n_areas; a++) {
            const vly_area_info area = tool_area_info(connectome, a);
            if (is_at(end, area.name) &&
                (n_found++ == 0 || area.n_neurons < *n_neurons))
                *n_neurons = area.n_neurons;
        }
    }
    if (n_found > 0)
        return VLY_OK;
    for (uint32_t a = 0; a < n_areas; a++)
        vly_suggest_offer(&near, name, tool_area_info(connectome, a).name);
    return vly_fail(error, VLY_E_INVALID, "--%s: no area %s%s", option, name,
                    vly_suggest_choice(&near, text, sizeof text));
}

/* "3" or "3-7", of n neurons; NULL: all, of larger copies too. */
static bool read_range(char *text, uint32_t n, connections_end *end)
{
    uint64_t first = 0;
    uint64_t last = 0;
    char *dash = text ? strchr(text, '-') : NULL;
    if (!text)
        return true;
    if (dash)
        *dash = '\0';
    if (!tool_read_count(text, &first) ||
        !tool_read_count(dash ? dash + 1 : text, &last) || first > last ||
        last >= n)
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
    uint32_t n = 0;
    *end = (connections_end){.name = text, .end = UINT32_MAX};
    if (!text)
        return VLY_OK;
    char *name = vly_strdup(text);
    if (!name)
        return vly_fail_nomem(error, strlen(text), "a name");
    char *colon = strchr(name, ':');
    if (colon)
        *colon = '\0';
    end->n_name = strlen(name);
    VLY_TRY(find_areas(connectome, option, name, end, &n, error));
    if (!read_range(colon ? colon + 1 : NULL, n, end))
        status = vly_fail(error, VLY_E_INVALID,
                          "--%s %s: wanted %s:NEURON or %s:FIRST-LAST, of "
                          "neurons 0 to %u",
                          option, text, name, name, n > 0 ? n - 1 : 0);
out:
    vly_free(name);
    return status;
}

/* ---- pairs of areas ----------------------------------------------------- */

static vly_projection_info info_of(const vly_connectome *connectome, uint32_t p)
{
    vly_projection_info info = {.struct_size = sizeof info};
    (void)vly_connectome_projection_info(connectome, p, &info, NULL);
    return info;
}

static uint32_t count_projections(const vly_connectome *connectome)
{
    return vly_connectome_projection_count(connectome);
}

static bool same_pair(const vly_projection_info *a,
                      const vly_projection_info *b)
{
    return a->source_area == b->source_area &&
           a->target_area == b->target_area && strcmp(a->map, b->map) == 0;
}

/* Does a map connect one pair of areas only? */
static bool is_only(const vly_connectome *connectome,
                    const vly_projection_info *one)
{
    for (uint32_t k = 0; k < count_projections(connectome); k++) {
        const vly_projection_info info = info_of(connectome, k);
        if (strcmp(info.map, one->map) == 0 && !same_pair(&info, one))
            return false;
    }
    return true;
}

static bool is_wanted(const vly_connectome *connectome,
                      const connections_pick *pick,
                      const vly_projection_info *info)
{
    return (!pick->map || strcmp(pick->map, info->map) == 0) &&
           is_at(&pick->source,
                 tool_area_info(connectome, info->source_area).name) &&
           is_at(&pick->target,
                 tool_area_info(connectome, info->target_area).name);
}

static vly_status check_map(const vly_connectome *connectome, const char *map,
                            vly_error *error)
{
    vly_suggest near = {0};
    char text[VLY_HINT_SIZE];
    if (!map)
        return VLY_OK;
    vly_projection_info before = {0};
    for (uint32_t p = 0; p < count_projections(connectome); p++) {
        const vly_projection_info info = info_of(connectome, p);
        if (strcmp(info.map, map) == 0)
            return VLY_OK;
        if (p == 0 || !same_pair(&before, &info))
            vly_suggest_offer(&near, map, info.map);
        before = info;
    }
    if (near.best) /* the name may be a word of the language */
        return vly_fail(error, VLY_E_INVALID,
                        "--map: no map \"%s\" has synapses, did you mean "
                        "\"%s\"?",
                        map, near.best);
    return vly_fail(error, VLY_E_INVALID, "--map: no map \"%s\" has synapses%s",
                    map, vly_suggest_choice(&near, text, sizeof text));
}

static void add_pair(const vly_connectome *connectome, uint32_t p,
                     const vly_projection_info *info, connections_pair *pair)
{
    *pair = (connections_pair){
        .map = info->map,
        .source = tool_area_info(connectome, info->source_area).name,
        .target = tool_area_info(connectome, info->target_area).name,
        .suffix = vly_connectome_weight_suffix(connectome, p),
        .only = is_only(connectome, info)};
}

vly_status connections_pairs(const vly_connectome *connectome,
                             const connections_pick *pick,
                             connections_pair **pairs, uint32_t *n_pairs,
                             vly_error *error)
{
    const uint32_t n_projections = count_projections(connectome);
    vly_projection_info before = {0}; /* of the last pair */
    uint32_t n = 0;
    vly_status status = VLY_OK;
    VLY_TRY(check_map(connectome, pick->map, error));
    connections_pair *made =
        vly_calloc((size_t)n_projections + 1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, n_projections * sizeof *made, "maps");
    for (uint32_t p = 0; p < n_projections; p++) {
        const vly_projection_info info = info_of(connectome, p);
        if (!is_wanted(connectome, pick, &info))
            continue;
        if (n == 0 || !same_pair(&before, &info) ||
            made[n - 1].n_parts == CONNECTIONS_PARTS)
            add_pair(connectome, p, &info, &made[n++]);
        before = info;
        made[n - 1].parts[made[n - 1].n_parts++] = p;
    }
    *pairs = made;
    *n_pairs = n;
out:
    return status;
}

void connections_span(const vly_connectome *connectome,
                      const connections_end *source, uint32_t projection,
                      uint64_t *first, uint64_t *end)
{
    (void)vly_connectome_rows(connectome, projection, source->first,
                              source->end - source->first, first, end, NULL);
}

static uint64_t count_part(const vly_connectome *connectome,
                           const connections_pick *pick, uint32_t projection)
{
    const connections_end *target = &pick->target;
    uint32_t targets[4096];
    uint64_t first = 0;
    uint64_t end = 0;
    uint64_t n = 0;
    connections_span(connectome, &pick->source, projection, &first, &end);
    if (target->first == 0 && target->end == UINT32_MAX)
        return end - first;
    while (first < end) {
        const uint64_t left = end - first;
        const uint32_t k = left < 4096 ? (uint32_t)left : 4096;
        (void)vly_connectome_synapses(connectome, projection, first, k, NULL,
                                      targets, NULL, NULL, NULL);
        for (uint32_t i = 0; i < k; i++)
            n += targets[i] >= target->first && targets[i] < target->end;
        first += k;
    }
    return n;
}

uint64_t connections_count(const vly_connectome *connectome,
                           const connections_pick *pick,
                           const connections_pair *pair)
{
    uint64_t n = 0;
    for (uint32_t k = 0; k < pair->n_parts; k++)
        n += count_part(connectome, pick, pair->parts[k]);
    return n;
}
