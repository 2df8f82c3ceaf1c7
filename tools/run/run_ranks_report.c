/* SPDX-License-Identifier: Apache-2.0
 * What the summary of a run says of its ranks: how often they exchange spikes
 * and why, their devices, and how long each of them waited for others.
 */
#include <stdio.h>
#include <string.h>

#include "tools/run/run_ranks.h"

enum { RANKS_A_LINE = 6, WHY_BYTES = 128 };

/* "every 15 bursts (delay of MAP)", from the backend's plan. */
static const char *how_often(const run_job *job, char *text)
{
    static const char clause[] = "ranks exchange ";
    vly_memory_stats memory = {.struct_size = sizeof memory};
    vly_association_stats links = {.struct_size = sizeof links};
    const char *plan = job->result.stats.plan;
    snprintf(text, WHY_BYTES, "every burst (memories)");
    if (vly_net_memory_stats(job->net, 0, &memory) == VLY_OK ||
        vly_net_association_stats(job->net, 0, &links) == VLY_OK)
        return text; /* the engine runs one burst at a time */
    if (strncmp(plan, clause, sizeof clause - 1) != 0)
        return NULL;
    plan += sizeof clause - 1;
    const char *end = strstr(plan, "; ");
    const size_t n = end ? (size_t)(end - plan) : strlen(plan);
    snprintf(text, WHY_BYTES, "%.*s", (int)(n < WHY_BYTES ? n : WHY_BYTES - 1),
             plan);
    return text;
}

static double waited_s(const vly_rank_figures *figures)
{
    return (double)figures->waited_ns * 1e-9;
}

/* Of a line with all ranks: what comes before number r. */
static const char *before(uint32_t r, const char *name)
{
    return r == 0                  ? name
           : r % RANKS_A_LINE == 0 ? "\n                  "
                                   : ", ";
}

void run_ranks_print(const run_job *job, const vly_rank_group *group,
                     const vly_exchange_info *info)
{
    char text[WHY_BYTES];
    tool_plain_text plain;
    vly_rank_figures figures = {.struct_size = sizeof figures};
    const char *often = how_often(job, text);
    vly_ranks_figures(group, 0, &figures);
    tool_print("ranks             %u on %u host%s by %s", info->n_ranks,
               info->n_hosts, info->n_hosts == 1 ? "" : "s", info->text);
    if (often)
        tool_print("; spikes %s", tool_plain(often, &plain));
    tool_print("\nexchanges         %s for ",
               tool_thousands(figures.n_exchanges));
    tool_print("%s bursts\n",
               tool_thousands(vly_net_burst(job->net) - job->first_burst));
    for (uint32_t r = 0; r < info->n_ranks; r++)
        tool_print("%srank %u %s", before(r, "devices           "), r,
                   vly_ranks_device(group, r));
    tool_print("\n");
    for (uint32_t r = 0; r < info->n_ranks; r++) {
        vly_ranks_figures(group, r, &figures);
        tool_print("%srank %u %s", before(r, "waited            "), r,
                   tool_seconds(waited_s(&figures)));
    }
    tool_print("\n");
}

void run_ranks_json(const run_job *job, const vly_rank_group *group,
                    const vly_exchange_info *info, json_writer *json)
{
    char text[WHY_BYTES];
    vly_rank_figures figures = {.struct_size = sizeof figures};
    vly_ranks_figures(group, 0, &figures);
    json_object(json, "ranks");
    json_u64(json, "ranks", info->n_ranks);
    json_u64(json, "hosts", info->n_hosts);
    json_text(json, "exchange", info->text);
    json_text(json, "spikes_exchanged", how_often(job, text));
    json_u64(json, "spike_exchanges", figures.n_exchanges);
    json_u64(json, "exchanges", info->n_gathers);
    json_u64(json, "sent_bytes", figures.n_bytes);
    json_number(json, "waited_s", waited_s(&figures));
    json_array(json, "rank_devices");
    for (uint32_t r = 0; r < info->n_ranks; r++)
        json_text(json, NULL, vly_ranks_device(group, r));
    json_array_end(json);
    json_array(json, "rank_waited_s");
    for (uint32_t r = 0; r < info->n_ranks; r++) {
        vly_ranks_figures(group, r, &figures);
        json_number(json, NULL, waited_s(&figures));
    }
    json_array_end(json);
    json_array(json, "rank_sent_bytes");
    for (uint32_t r = 0; r < info->n_ranks; r++) {
        vly_ranks_figures(group, r, &figures);
        json_u64(json, NULL, figures.n_bytes);
    }
    json_array_end(json);
    json_object_end(json);
}
