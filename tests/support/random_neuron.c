/* SPDX-License-Identifier: Apache-2.0
 * Random neuron models: equations or assignments of random expressions, all
 * pure numbers, so that every tree has a meaning. Most saturate or decay; some
 * fire.
 */
#include "random_neuron.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <volley/plugin.h>

typedef struct maker {
    uint64_t state;
    char *text;
    size_t n;
    size_t room;
    uint32_t n_params;
    uint32_t n_states;
    uint32_t n_ports;
    uint32_t n_locals;
    bool inputs; /* ports may be named */
    bool draws;  /* uniform( ) may be used */
} maker;

static uint32_t roll(maker *m, uint32_t n)
{
    m->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = m->state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) >> 32) % n;
}

static void put(maker *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(maker *m, const char *format, ...)
{
    va_list arguments;
    if (m->room - m->n < 256) {
        m->room = 2 * m->room + 4096;
        m->text = realloc(m->text, m->room);
        if (!m->text)
            abort();
    }
    va_start(arguments, format);
    m->n +=
        (size_t)vsnprintf(m->text + m->n, m->room - m->n, format, arguments);
    va_end(arguments);
}

/* ---- expressions -------------------------------------------------------- */

static void leaf(maker *m, bool states)
{
    uint32_t kind = roll(m, 8);
    if (states && kind < 4)
        put(m, "s%u", roll(m, m->n_states));
    else if (m->inputs && kind == 4)
        put(m, "p%u", roll(m, m->n_ports));
    else if (states && m->n_locals && kind == 5)
        put(m, "x%u", roll(m, m->n_locals));
    else if (kind == 6 && m->draws && roll(m, 2) == 0)
        put(m, roll(m, 2) == 0 ? "uniform()" : "normal()");
    else if (kind < 7)
        put(m, "k%u", roll(m, m->n_params));
    else
        put(m, "%u.%02u", roll(m, 3), 1 + roll(m, 99));
}

static void expression(maker *m, uint32_t depth, bool states);

static void condition(maker *m, uint32_t depth, bool states)
{
    static const char *const signs[] = {"<", "<=", ">", ">="};
    if (depth > 1 && roll(m, 4) == 0) {
        static const char *const words[] = {"and", "or"};
        put(m, "(");
        condition(m, depth - 1, states);
        put(m, " %s ", words[roll(m, 2)]);
        put(m, "%s", roll(m, 3) == 0 ? "not " : "");
        put(m, "(");
        condition(m, depth - 1, states);
        put(m, "))");
        return;
    }
    expression(m, depth - 1, states);
    put(m, " %s ", signs[roll(m, 4)]);
    expression(m, depth - 1, states);
}

static void call(maker *m, uint32_t depth, bool states)
{
    static const struct {
        const char *name;
        uint32_t n;
    } functions[] = {{"exp", 1},  {"exprel", 1},  {"decay_mean", 1},
                     {"sqrt", 1}, {"sigmoid", 1}, {"tanh", 1},
                     {"abs", 1},  {"min", 2},     {"max", 2},
                     {"clip", 3}};
    uint32_t f = roll(m, sizeof functions / sizeof functions[0]);
    put(m, "%s(", functions[f].name);
    for (uint32_t i = 0; i < functions[f].n; i++) {
        put(m, "%s", i ? ", " : "");
        expression(m, depth - 1, states);
    }
    put(m, ")");
}

static void expression(maker *m, uint32_t depth, bool states)
{
    static const char *const signs[] = {"+", "-", "*", "/"};
    if (depth == 0 || roll(m, 5) == 0) {
        leaf(m, states);
        return;
    }
    switch (roll(m, 8)) {
    case 0:
        call(m, depth, states);
        return;
    case 1:
        put(m, "(if ");
        condition(m, depth, states);
        put(m, " then ");
        expression(m, depth - 1, states);
        put(m, " else ");
        expression(m, depth - 1, states);
        put(m, ")");
        return;
    case 2:
        put(m, "(");
        expression(m, depth - 1, states);
        put(m, ")^%d", (int)roll(m, 6) - 1);
        return;
    case 3:
        put(m, "-(");
        expression(m, depth - 1, states);
        put(m, ")");
        return;
    default:
        put(m, "(");
        expression(m, depth - 1, states);
        put(m, " %s ", signs[roll(m, 4)]);
        expression(m, depth - 1, states);
        put(m, ")");
    }
}

/* ---- a model ------------------------------------------------------------ */

static void names(maker *m)
{
    m->draws = false;
    for (uint32_t i = 0; i < m->n_params; i++) {
        const bool below = roll(m, 4) == 0;
        const uint32_t whole = roll(m, 3);
        put(m, "param.k%u = { value = %s%u.%02u, range = [%s, 1e9] }\n", i,
            below ? "-" : "", whole, roll(m, 99) + 1,
            below || roll(m, 2) == 0 ? "-1e9" : "0");
    }
    put(m, "param.tau = \"%u.5 ms\"\n", 1 + roll(m, 20));
    put(m, "param.t_ref = \"%u ms\"\n", roll(m, 3));
    for (uint32_t i = 0; i < m->n_ports; i++)
        put(m, "port.p%u = \"1\"\n", i);
    for (uint32_t i = 0; i < m->n_states; i++) {
        put(m, "state.s%u = ", i);
        if (roll(m, 3) == 0)
            put(m, "{ value = 0.%u, range = [-%u, %u] }\n", roll(m, 10),
                roll(m, 2) * (1 + roll(m, 100)), 1 + roll(m, 1000));
        else if (roll(m, 3) == 0)
            put(m, "\"k%u\"\n", roll(m, m->n_params));
        else
            put(m, "0.%02u\n", roll(m, 100));
    }
}

/* Some linear equations, which the propagator solves, and some others. */
static void equations(maker *m, bool holds)
{
    static const char *const methods[] = {"auto", "auto", "auto",
                                          "heun", "rk4",  "euler"};
    if (roll(m, 3) == 0)
        put(m, "substeps = %u\n", 1 + roll(m, 3));
    put(m, "method = \"%s\"\neq = \"\"\"\n", methods[roll(m, 6)]);
    m->inputs = m->draws = false;
    m->n_locals = 0;
    uint32_t n_aliases = roll(m, 3);
    for (uint32_t i = 0; i < n_aliases; i++) {
        put(m, "x%u = ", i);
        expression(m, 2, true);
        put(m, "\n");
        m->n_locals = i + 1;
    }
    for (uint32_t i = 0; i < m->n_states; i++) {
        put(m, "s%u' = (-s%u", i, i);
        if (roll(m, 2) == 0 && i > 0)
            put(m, " + k%u*s%u", roll(m, m->n_params), roll(m, i));
        if (roll(m, 3) == 0) {
            put(m, " + ");
            expression(m, 3, true);
        }
        if (roll(m, 3) == 0) { /* may grow */
            put(m, " + s%u*", i);
            expression(m, 1, true);
        }
        put(m, " + ");
        expression(m, 1, false);
        put(m, ")/tau%s", holds && roll(m, 3) == 0 ? " hold" : "");
        put(m, "%s\n", roll(m, 4) == 0 ? " compensated" : "");
    }
    put(m, "\"\"\"\n");
    for (uint32_t i = 0; i < m->n_ports; i++)
        put(m, "on.p%u = \"s%u += %sin\"\n", i, roll(m, m->n_states),
            roll(m, 3) == 0 ? "0.5*" : "");
}

static void assignments(maker *m, bool holds)
{
    put(m, "update = \"\"\"\n");
    m->inputs = m->draws = true;
    m->n_locals = 0;
    uint32_t n = m->n_states + roll(m, 4);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t target = i < m->n_states ? i : roll(m, m->n_states);
        if (roll(m, 3) == 0) {
            put(m, "x%u = ", m->n_locals);
            expression(m, 3, true);
            put(m, "\n");
            m->n_locals++;
        }
        put(m, "s%u %s ", target, roll(m, 4) == 0 ? "+=" : "=");
        put(m, "0.9*s%u + ", target);
        expression(m, 3, true);
        put(m, " + p%u%s\n", roll(m, m->n_ports),
            holds && roll(m, 3) == 0 ? " hold" : "");
    }
    for (uint32_t i = 0; i < m->n_ports; i++) /* every port is read */
        put(m, "s%u += 0.5*p%u\n", roll(m, m->n_states), i);
    put(m, "\"\"\"\n");
}

static void model(maker *m, uint32_t index, bool one_port)
{
    m->n_params = 2 + roll(m, 5);
    m->n_states = 1 + roll(m, 6);
    m->n_ports = 1 + roll(m, roll(m, 3) == 0 ? VLY_PORTS_MAX : 2);
    if (index == 0) /* no genome without */
        m->n_ports = 3 + roll(m, VLY_PORTS_MAX - 2);
    if (one_port)
        m->n_ports = 1;
    bool holds = roll(m, 2) == 0;
    put(m, "\n[neuron.m%u]\n", index);
    names(m);
    if (roll(m, 2) == 0)
        equations(m, holds);
    else
        assignments(m, holds);
    if (holds)
        put(m, "refractory = \"t_ref\"\n");
    m->inputs = false;
    if (roll(m, 5) == 0)
        put(m, "spike = \"rises(s%u, 0.5)\"\n", roll(m, m->n_states));
    else if (roll(m, 4) == 0) {
        m->n_locals = 0;
        m->draws = true;
        put(m, "spike = \"");
        condition(m, 2, true);
        put(m, "\"\n");
    } else
        put(m, "spike = \"s0 >= %u.5\"\n", roll(m, 3));
    put(m, "reset = \"s0 = -1; s%u += k%u\"\n", roll(m, m->n_states),
        roll(m, m->n_params));
    if (index % 3 == 2) /* the second simulator adds up, too */
        put(m, "record_input = true\n");
}

/* Of three ports and more a map and a stimulus name one. */
static void put_port(maker *m, uint32_t n_ports)
{
    if (n_ports <= 2)
        return;
    if (roll(m, 2) == 0)
        put(m, "port = \"p%u\"\n", roll(m, n_ports));
    else
        put(m, "port = %u\n", roll(m, n_ports));
}

/* Of three ports and more the last ones. */
static void put_map(maker *m, uint32_t to, uint32_t n_ports, const char *more)
{
    put(m,
        "[[map]]\nfrom = \"b\"\nto = \"a%u\"\nrule = "
        "\"fixed_in_degree\"\nin_degree = %u\nweight = 0.%u\n%s",
        to, 3 + roll(m, 8), 5 + roll(m, 5), more);
    if (n_ports > 2)
        put(m, "port = %u\n", 2 + roll(m, n_ports - 2));
}

/* A built-in model, and maps between it and the model with the most ports;
 * learns: some of these maps learn or have short-term plasticity. */
static void put_beside(maker *m, const uint32_t *n_ports, uint32_t n,
                       bool learns)
{
    uint32_t to = roll(m, n);
    for (uint32_t i = 0; i < n; i++)
        to = n_ports[i] > n_ports[to] ? i : to;
    put(m,
        "\n[area.b]\nmodel = \"lif_psc_delta\"\nneurons = %u\n"
        "[[stimulus]]\nkind = \"poisson\"\nto = \"b\"\nrate_hz = 3000\n"
        "weight_mv = 30\n[[map]]\nfrom = \"a%u\"\nto = \"b\"\nrule = "
        "\"fixed_in_degree\"\nin_degree = 3\nweight_mv = 4\n"
        "delay_bursts = { uniform = [1, 4] }\n",
        1 + roll(m, 60), to);
    put_map(m, to, n_ports[to], "delay_bursts = { uniform = [1, 5] }\n");
    if (!learns)
        return;
    put(m, "\n[plasticity.learn]\nrule = \"stdp\"\nw_max = 1\n"
           "[plasticity.tire]\nrule = \"tsodyks2\"\ntau_rec_ms = 4\nU = 0.6\n");
    put_map(m, to, n_ports[to], "plasticity = \"learn\"\n");
    put_map(m, to, n_ports[to],
            "plasticity = \"tire\"\ndelay_bursts = { uniform = [1, 3] }\n");
}

char *random_neuron_genome(uint64_t seed, uint32_t n, bool spread)
{
    uint32_t n_ports[16] = {0};
    maker m = {.state = seed * 7919 + 17};
    put(&m, "format = 1\n[run]\ndt_ms = 0.%u\nbursts = 20\n", 1 + roll(&m, 9));
    for (uint32_t i = 0; i < n; i++) {
        model(&m, i, spread);
        n_ports[i % 16] = m.n_ports;
    }
    for (uint32_t i = 0; i < n; i++) {
        put(&m, "\n[area.a%u]\nmodel = \"m%u\"\nneurons = %u\n", i, i,
            (spread && i == 0 ? 500 : 1) +
                roll(&m, roll(&m, 4) == 0 ? 600 : 40));
        if (roll(&m, 3) == 0)
            put(&m, "k0 = { normal = [0.5, 0.2] }\n");
        put(&m,
            "[[stimulus]]\nkind = \"poisson\"\nto = \"a%u\"\nrate_hz = %u\n"
            "weight = %s0.%02u\n",
            i, 100 + roll(&m, 3000), roll(&m, 4) == 0 ? "-" : "",
            1 + roll(&m, 99));
        put_port(&m, n_ports[i % 16]);
        const uint32_t to = roll(&m, i + 1);
        put(&m,
            "[[map]]\nfrom = \"a%u\"\nto = \"a%u\"\nrule = "
            "\"fixed_in_degree\"\nin_degree = %u\nweight = %s0.%u\n",
            i, to, 1 + roll(&m, 8), roll(&m, 3) == 0 ? "-" : "",
            1 + roll(&m, 9));
        put_port(&m, n_ports[to % 16]);
    }
    put_beside(&m, n_ports, n < 16 ? n : 16, seed % 3 == 2 && !spread);
    return m.text;
}
