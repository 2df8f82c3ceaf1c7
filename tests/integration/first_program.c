/* SPDX-License-Identifier: Apache-2.0
 * first_program GENOME BURSTS: what a program that uses the installed library
 * looks like. Runs a genome, moves it to another number of threads half way,
 * and prints the digest of every spike.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <volley/volley.h>

int main(int argc, char **argv)
{
    vly_error error = {.struct_size = sizeof error};
    vly_stats stats = {.struct_size = sizeof stats};
    vly_net *net = NULL;
    vly_status status = VLY_OK;

    if (argc != 3) {
        fprintf(stderr, "usage: first_program GENOME BURSTS\n");
        return 2;
    }
    const uint64_t n_bursts = strtoull(argv[2], NULL, 10);
    status = vly_net_open(argv[1], "cpu:1", &net, &error);
    if (status == VLY_OK)
        status = vly_net_run(net, n_bursts / 2, &error);
    if (status == VLY_OK)
        status = vly_net_swap(net, "cpu:2", 0, &error);
    if (status == VLY_OK)
        status = vly_net_run(net, n_bursts - n_bursts / 2, &error);
    if (status == VLY_OK)
        status = vly_net_stats(net, &stats, &error);
    if (status == VLY_OK)
        printf("%" PRIu64 " spikes, %016" PRIx64 "\n", stats.spikes,
               vly_net_digest(net));
    else
        fprintf(stderr, "%s\n", error.message);
    vly_net_close(net);
    return vly_status_exit_code(status);
}
