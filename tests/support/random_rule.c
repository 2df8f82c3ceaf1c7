/* SPDX-License-Identifier: Apache-2.0
 * Random genomes: rules of plasticity of users, [synapse.NAME] with random
 * expressions of the weight and the traces.
 */
#include "random_genome.h"

#include "random_maker.h"

/* One draw in a call (random_maker.h). */
static const char *trace(maker *m, unsigned n_traces)
{
    static const char *const names[] = {"x", "x2", "y", "y2"};
    const unsigned k = whole(m, 0, 3);
    return (n_traces >> k & 1u) != 0 ? names[k] : "x";
}

/* A number: about as large as 1. n_traces: a bit for each that there is */
static void put_factor(maker *m, unsigned n_traces, int depth)
{
    static const char *const calls[] = {"exp(-", "sqrt(", "tanh(", "sigmoid(",
                                        "abs(",  "-(",    "(",     "1/(1.5 + "};
    static const char *const pairs[] = {" + ", " - ", "*"};
    const uint32_t kind = depth > 0 ? whole(m, 0, 7) : whole(m, 0, 3);
    if (kind == 0) {
        put(m, "%.3g", between(m, 0.1, 2));
    } else if (kind == 1) {
        put(m, "w/w_max");
    } else if (kind <= 3) {
        put(m, "%s", trace(m, n_traces));
    } else if (kind == 4) {
        put(m, "%s", calls[whole(m, 0, 7)]);
        put_factor(m, n_traces, depth - 1);
        put(m, "%s", chance(m, 20) ? ")^2" : ")");
    } else if (kind == 5) {
        put(m, chance(m, 50) ? "min(" : "max(");
        put_factor(m, n_traces, depth - 1);
        put(m, ", ");
        put_factor(m, n_traces, depth - 1);
        put(m, ")");
    } else if (kind == 6) {
        put(m, "(if %s", trace(m, n_traces));
        put(m, "%s",
            chance(m, 50) ? " < 0.5 and w <= 0.7*w_max then "
                          : " >= 0.4 or not w > dw then ");
        put_factor(m, n_traces, depth - 1);
        put(m, " else ");
        put_factor(m, n_traces, depth - 1);
        put(m, ")");
    } else {
        put(m, "(");
        put_factor(m, n_traces, depth - 1);
        put(m, "%s", pairs[whole(m, 0, 2)]);
        put_factor(m, n_traces, depth - 1);
        put(m, ")");
    }
}

static void put_tau(maker *m, const char *name)
{ /* from less than a burst to the whole run */
    const bool brief = chance(m, 20);
    put(m, "%s = \"%.4g ms\", ", name,
        brief ? between(m, 0.1, 1) : between(m, 1, 60));
}

void put_users_rule(maker *m, uint32_t index, double most)
{
    unsigned n_traces = 1u + 2u * chance(m, 40);
    n_traces |= chance(m, 90) ? 4u + 8u * chance(m, 40) : 0u;
    put(m, "\n[synapse.s%u]\nparam = { ", (unsigned)index);
    put_tau(m, "tau");
    put_tau(m, "tau_2");
    put(m, "rate = \"%.4g\", ", between(m, 0.01, 0.3));
    put(m, "dw = \"%.4g weight\" }\n", most * between(m, 0.01, 0.3));
    put(m, "pre = { x = \"tau\"%s }\n",
        (n_traces & 2u) != 0 ? ", x2 = \"tau_2\"" : "");
    if ((n_traces & 4u) != 0)
        put(m, "post = { y = \"tau_2\"%s }\n",
            (n_traces & 8u) != 0 ? ", y2 = \"tau\"" : "");
    const uint32_t parts = chance(m, 80) ? 3 : whole(m, 1, 2);
    if ((parts & 1u) != 0) {
        put(m, "on_pre = \"\"\"\nf = ");
        put_factor(m, n_traces, 3);
        put(m, "\nw -= rate*f*%s\"\"\"\n", chance(m, 50) ? "w" : "w_max");
    }
    if ((parts & 2u) != 0) {
        put(m, "on_post = \"w += %s*",
            chance(m, 50) ? "dw" : "rate*(w_max - w)");
        put(m, "%s*", (n_traces & 2u) != 0 && chance(m, 50) ? "x2" : "x");
        put_factor(m, n_traces, 3);
        put(m, "\"\n");
    }
}
