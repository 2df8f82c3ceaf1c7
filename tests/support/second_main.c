/* SPDX-License-Identifier: Apache-2.0
 * second_simulator CONNECTOME [BURSTS] [--log] [--spikes]
 * Runs a saved connectome in the second simulator and prints spikes, digest and
 * state digest; --log prints the digest of every burst before, --spikes every
 * spike (burst, neuron, gain). Without BURSTS: those of the genome's [run].
 */
#include "second_simulator.h"

#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    second_file file;
    second_result result = {0};
    uint64_t n_bursts = 0;
    int log = 0, code = 2;
    if (argc < 2) {
        fprintf(stderr, "second_simulator CONNECTOME [BURSTS] [--log] "
                        "[--spikes]\n");
        return 2;
    }
    for (int k = 2; k < argc; k++) {
        if (strcmp(argv[k], "--log") == 0)
            log = 1;
        else if (strcmp(argv[k], "--spikes") == 0)
            result.spike_log = stdout;
        else
            n_bursts = strtoull(argv[k], NULL, 10);
    }
    if (second_file_read(argv[1], &file))
        goto out;
    if (n_bursts == 0)
        n_bursts = file.n_bursts;
    if (log)
        result.bursts = calloc((size_t)n_bursts + 1, sizeof(uint64_t));
    if (second_run(&file, n_bursts, &result))
        goto out;
    for (uint64_t t = 0; result.bursts && t < n_bursts; t++)
        printf("burst %llu %016llx\n", (unsigned long long)t,
               (unsigned long long)result.bursts[t]);
    printf("spikes %llu\nevents %llu\ndigest %016llx\nstate_digest %016llx\n",
           (unsigned long long)result.spikes, (unsigned long long)result.events,
           (unsigned long long)result.digest,
           (unsigned long long)result.state_digest);
    code = 0;
out:
    free(result.bursts);
    second_file_free(&file);
    return code;
}
