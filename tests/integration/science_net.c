/* SPDX-License-Identifier: Apache-2.0
 * A small net from a genome's text, stepped burst by burst on cpu:1.
 */
#include "science_net.h"

static void open_genome(science_net *s)
{
    assert_ok(vly_registry_create(&s->registry, &s->error), s->error);
    assert_ok(vly_connectome_build(s->genome, 1, &s->connectome, &s->error),
              s->error);
    assert_ok(vly_net_create(s->connectome, s->registry, "cpu:1", 1, &s->net,
                             &s->error),
              s->error);
}

void science_open(science_net *s, const char *text)
{
    *s = (science_net){.error = {.struct_size = sizeof(vly_error)}};
    assert_ok(vly_genome_parse(text, strlen(text), "test.toml", NULL, 0,
                               &s->genome, &s->error),
              s->error);
    open_genome(s);
}

void science_open_file(science_net *s, const char *path)
{
    *s = (science_net){.error = {.struct_size = sizeof(vly_error)}};
    assert_ok(vly_genome_load(path, NULL, 0, &s->genome, &s->error), s->error);
    open_genome(s);
}

void science_close(science_net *s)
{
    vly_net_destroy(s->net);
    vly_connectome_destroy(s->connectome);
    vly_genome_destroy(s->genome);
    vly_registry_destroy(s->registry);
}

double science_next(science_net *s, const char *field)
{
    double value;
    assert_ok(vly_net_run(s->net, 1, &s->error), s->error);
    assert_ok(vly_net_read(s->net, "A", field, 0, 1, &value, &s->error),
              s->error);
    return value;
}
