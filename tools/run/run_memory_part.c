/* SPDX-License-Identifier: Apache-2.0
 * What memory areas know at the end, in the summary and JSON: also how many
 * patterns were lost because an area was full.
 */
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"

static bool memory_at(const run_job *job, uint32_t index,
                      vly_memory_stats *stats)
{
    *stats = (vly_memory_stats){.struct_size = sizeof *stats};
    return vly_net_memory_stats(job->net, index, stats) == VLY_OK;
}

static bool association_at(const run_job *job, uint32_t index,
                           vly_association_stats *stats)
{
    *stats = (vly_association_stats){.struct_size = sizeof *stats};
    return vly_net_association_stats(job->net, index, stats) == VLY_OK;
}

static void print_lines(const run_job *job)
{
    vly_memory_stats memory;
    vly_association_stats association;
    for (uint32_t i = 0; memory_at(job, i, &memory); i++) {
        tool_print("%-17s area %s: %s patterns known", i ? "" : "remembered",
                   memory.area, tool_thousands(memory.n_known));
        tool_print(", room for %s", tool_thousands(memory.n_neurons));
        tool_print("; %s long-term", tool_thousands(memory.n_longterm));
        tool_print(", %s seen again", tool_thousands(memory.n_seen));
        tool_print(", %s forgotten", tool_thousands(memory.n_forgotten));
        if (memory.n_dropped)
            tool_print(", %s dropped because the area was full",
                       tool_thousands(memory.n_dropped));
        tool_print("\n");
    }
    for (uint32_t i = 0; association_at(job, i, &association); i++)
        tool_print("%-17s %s (%s, %s): %s synapses\n", i ? "" : "associated",
                   association.name, association.from, association.to,
                   tool_thousands(association.n_synapses));
}

static void put_members(const run_job *job, json_writer *json)
{
    vly_memory_stats memory;
    vly_association_stats association;
    json_array(json, "memories");
    for (uint32_t i = 0; memory_at(job, i, &memory); i++) {
        json_object(json, NULL);
        json_text(json, "area", memory.area);
        json_u64(json, "neurons", memory.n_neurons);
        json_u64(json, "known", memory.n_known);
        json_u64(json, "longterm", memory.n_longterm);
        json_u64(json, "made", memory.n_made);
        json_u64(json, "seen_again", memory.n_seen);
        json_u64(json, "forgotten", memory.n_forgotten);
        json_u64(json, "dropped", memory.n_dropped);
        json_object_end(json);
    }
    json_array_end(json);
    json_array(json, "associations");
    for (uint32_t i = 0; association_at(job, i, &association); i++) {
        json_object(json, NULL);
        json_text(json, "id", association.name);
        json_text(json, "from", association.from);
        json_text(json, "to", association.to);
        json_u64(json, "synapses", association.n_synapses);
        json_object_end(json);
    }
    json_array_end(json);
}

const run_part run_part_memory = {
    .name = "memory",
    .print = {[RUN_LINES] = print_lines},
    .json = {[RUN_MEMBERS_LAST] = put_members},
};
