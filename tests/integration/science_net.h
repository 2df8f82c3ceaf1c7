/* SPDX-License-Identifier: Apache-2.0
 * A small net from a genome's text, stepped burst by burst on cpu:1.
 */
#ifndef VOLLEY_SCIENCE_NET_H
#define VOLLEY_SCIENCE_NET_H

#include "volley_test.h"

#include <volley/volley.h>

typedef struct science_net {
    vly_registry *registry;
    vly_genome *genome;
    vly_connectome *connectome;
    vly_net *net;
    vly_error error;
} science_net;

void science_open(science_net *s, const char *text);
void science_open_file(science_net *s, const char *path);
void science_close(science_net *s);
/* A field of the only neuron of area A after one more burst. */
double science_next(science_net *s, const char *field);

#endif
