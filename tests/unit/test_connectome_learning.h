/* SPDX-License-Identifier: Apache-2.0
 * Genomes whose maps learn, built into connectomes.
 */
#ifndef VOLLEY_TEST_CONNECTOME_LEARNING_H
#define VOLLEY_TEST_CONNECTOME_LEARNING_H

#include "volley_test.h"

#include "base/error.h"
#include "connectome/connectome.h"

#define HEAD                                                                   \
    "format = 1\n[run]\ndt_ms = 0.1\n"                                         \
    "[area.E]\nmodel = \"lif_psc_exp\"\nneurons = 20\n"                        \
    "[area.C]\nmodel = \"lif_cond_exp\"\nneurons = 8\n"
#define STDP(w_max) "[plasticity.p]\nrule = \"stdp\"\nw_max_pa = " w_max "\n"
#define MAP(weight)                                                            \
    "[[map]]\nid = \"m\"\nfrom = \"E\"\nto = \"E\"\nrule = \"all_to_all\"\n"   \
    "delay_ms = 1.5\nweight_pa = " weight "\nplasticity = \"p\"\n"
#define STATIC(weight)                                                         \
    "[[map]]\nid = \"s\"\nfrom = \"E\"\nto = \"E\"\nrule = \"one_to_one\"\n"   \
    "weight_pa = " weight "\n"
/* two rules, both delays, both signs, a map without learning */
#define EVERYTHING                                                             \
    HEAD STDP("3") STATIC("1") MAP(                                            \
        "{ uniform = [0, 3] }") "[plasticity.i]\nrule = "                      \
                                "\"stdp_inhibitory\"\nw_max_ns = -2\n"         \
                                "delay = \"dendritic\"\nnearest = true\n"      \
                                "[plasticity.t]\nrule = "                      \
                                "\"stdp_triplet\"\nw_max_ns = 4\n"             \
                                "frozen = true\n"                              \
                                "[[map]]\nid = \"i\"\nfrom = \"C\"\nto = "     \
                                "\"C\"\n"                                      \
                                "rule = \"pairwise_bernoulli\"\np = "          \
                                "0.5\nweight_ns = -1\n"                        \
                                "delay_ms = 2\nplasticity = \"i\"\n"           \
                                "[[map]]\nid = \"t\"\nfrom = \"E\"\nto = "     \
                                "\"C\"\n"                                      \
                                "rule = \"fixed_in_degree\"\nin_degree = 5\n"  \
                                "weight_ns = { normal = [2, 0.3] "             \
                                "}\nplasticity = \"t\"\n"

/* FEAGI's rule */
#define WINDOWS                                                                \
    HEAD "[area.F]\nmodel = \"feagi\"\nneurons = 6\n"                          \
         "[plasticity.w]\nrule = \"feagi_stdp\"\nw_max = 9\n"                  \
         "plasticity_window = 4\n[[map]]\nid = \"w\"\nfrom = \"E\"\n"          \
         "to = \"F\"\nrule = \"all_to_all\"\nweight = { uniform = [0, 9] }\n"  \
         "plasticity = \"w\"\n"

/* rules of users, one for two maps */
#define RULES                                                                  \
    HEAD STATIC(                                                               \
        "1") "[synapse.r]\nparam = { tau = \"20 ms\", eta = \"0.1 weight\" "   \
             "}\n"                                                             \
             "pre = { x = \"tau\" }\npost = { y = \"tau\", y2 = \"tau\" }\n"   \
             "on_pre = \"w -= 0.1*w*y\"\non_post = \"w += eta*x*exp(-y2)\"\n"  \
             "[synapse.q]\nparam = { tau = \"5 ms\" }\npre = { x = \"tau\" "   \
             "}\n"                                                             \
             "on_post = \"w += (w_max - w)*x/2\"\n"                            \
             "[plasticity.p]\nrule = \"r\"\nw_max_pa = 3\neta_pa = 0.5\n"      \
             "[plasticity.n]\nrule = \"q\"\nw_max_ns = -2\n" MAP(              \
                 "1") "[[map]]\nid = \"m2\"\nfrom = \"C\"\nto = \"E\"\n"       \
                      "rule = \"all_to_all\"\nweight_pa = 2\nplasticity = "    \
                      "\"p\"\n"                                                \
                      "[[map]]\nid = \"n\"\nfrom = \"C\"\nto = \"C\"\n"        \
                      "rule = \"all_to_all\"\nweight_ns = -1\nplasticity = "   \
                      "\"n\"\n"

static inline vly_status
try_build(const char *text, vly_connectome **connectome, vly_error *error)
{
    vly_genome *genome = NULL;
    vly_status status =
        vly_genome_parse(text, strlen(text), "t", NULL, 0, &genome, error);
    if (status == VLY_OK)
        status = vly_connectome_build(genome, 2, connectome, error);
    vly_genome_destroy(genome);
    return status;
}

static inline vly_connectome *built(const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    assert_ok(try_build(text, &connectome, &error), error);
    return connectome;
}

#endif
