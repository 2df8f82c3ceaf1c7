/* SPDX-License-Identifier: Apache-2.0
 * The loop over nets and scenarios.
 */
#include "conformance/conformance.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "conformance/conformance_trial.h"
#include "plugin/device_memory.h"
#include "plugin/registry.h"

const char *vly_conformance_scenario(uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (!conformance_scenarios[i].name)
            return NULL;
    return conformance_scenarios[index].name;
}

static bool is_wanted(const char *pattern, const char *net,
                      const char *scenario)
{
    char both[128];
    (void)snprintf(both, sizeof both, "%s/%s", net, scenario);
    return !pattern || fnmatch(pattern, net, 0) == 0 ||
           fnmatch(pattern, scenario, 0) == 0 || fnmatch(pattern, both, 0) == 0;
}

static void tell(const vly_conformance *c, const char *net,
                 const char *scenario, uint32_t outcome, const char *text,
                 vly_conformance_counts *counts)
{
    const vly_conformance_result result = {net, scenario, outcome, text};
    counts->n[outcome]++;
    if (c->on_result)
        c->on_result(c->arg, &result);
}

/* NULL, or why this scenario is not for this net. */
static const char *not_for(const vly_conformance *c, const conformance_net *net,
                           const char *scenario)
{
    if (strcmp(scenario, "memory") == 0 && !net->entry->every_allocation)
        return ""; /* only for some: it takes a hundred nets */
    if (strcmp(scenario, "swap") != 0)
        return NULL;
    if (!c->other)
        return "no other backend to exchange snapshots with";
    vly_error error = VLY_ERROR_INIT;
    if (vly_backend_supports(c->other, &net->connectome->desc, &error) !=
        VLY_OK)
        return "the other backend does not support the net";
    return NULL;
}

uint64_t vly_conformance_live(void)
{
    vly_account_drop_all();
    (void)vly_device_memory_keep(vly_device_memory_keep(0));
    return vly_memory_live();
}

static void run_scenario(const vly_conformance *c, const conformance_net *net,
                         const conformance_scenario *scenario,
                         vly_conformance_counts *counts)
{
    const char *name = net->entry->name;
    const char *reason = not_for(c, net, scenario->name);
    if (reason) {
        if (reason[0] != 0 && c->on_begin)
            c->on_begin(c->arg, name, scenario->name);
        if (reason[0] != 0)
            tell(c, name, scenario->name, VLY_CONFORMANCE_SKIPPED, reason,
                 counts);
        return;
    }
    trial t;
    if (c->on_begin)
        c->on_begin(c->arg, name, scenario->name);
    uint64_t live = vly_conformance_live();
    bool good = trial_init(&t, c, net) && scenario->run(&t);
    trial_deinit(&t);
    uint32_t outcome = good ? VLY_CONFORMS : VLY_CONFORMANCE_FAILED;
    if (!good && t.refused_options)
        outcome = VLY_CONFORMANCE_SKIPPED;
    else if (good && vly_conformance_live() != live) {
        good = trial_fail(&t,
                          "%" PRId64 " blocks of the host are left after "
                          "the last net",
                          (int64_t)(vly_memory_live() - live));
        outcome = VLY_CONFORMANCE_FAILED;
    }
    tell(c, name, scenario->name, outcome, good ? "" : t.what, counts);
}

/* Whether the backend supports the net; if not, a result is reported. */
static bool is_supported(const vly_conformance *c, const conformance_net *net,
                         vly_conformance_counts *counts)
{
    vly_error error = VLY_ERROR_INIT;
    vly_status status =
        vly_backend_supports(c->backend, &net->connectome->desc, &error);
    if (status == VLY_OK)
        return true;
    char text[1100];
    bool is_skip = status == VLY_E_UNSUPPORTED && error.message[0] != 0;
    (void)snprintf(text, sizeof text, "%s%s", is_skip ? "" : "supports: ",
                   error.message[0] != 0 ? error.message : "no reason given");
    tell(c, net->entry->name, "*",
         is_skip ? VLY_CONFORMANCE_SKIPPED : VLY_CONFORMANCE_FAILED, text,
         counts);
    return false;
}

static void run_net(const vly_conformance *c, const vly_conformance_case *entry,
                    vly_conformance_counts *counts)
{
    vly_error error = VLY_ERROR_INIT;
    conformance_net net;
    if (conformance_net_init(&net, entry, &error) != VLY_OK || !net.golden ||
        strlen(net.golden->trace) != 4 * net.n_bursts) {
        tell(c, entry->name, "*", VLY_CONFORMANCE_FAILED,
             error.message[0] != 0 ? error.message
                                   : "no golden digests of its length",
             counts);
        return;
    }
    if (is_supported(c, &net, counts))
        for (const conformance_scenario *s = conformance_scenarios; s->name;
             s++)
            if (is_wanted(c->pattern, entry->name, s->name))
                run_scenario(c, &net, s, counts);
    conformance_net_deinit(&net);
}

vly_conformance_counts vly_conformance_run(const vly_conformance *conformance)
{
    vly_conformance_counts counts = {{0}};
    for (uint32_t i = 0; i < vly_conformance_count(); i++) {
        const vly_conformance_case entry = vly_conformance_get(i);
        bool wanted = false;
        for (const conformance_scenario *s = conformance_scenarios; s->name;
             s++)
            wanted =
                wanted || is_wanted(conformance->pattern, entry.name, s->name);
        if (wanted)
            run_net(conformance, &entry, &counts);
    }
    return counts;
}
