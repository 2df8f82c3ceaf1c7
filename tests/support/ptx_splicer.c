/* SPDX-License-Identifier: Apache-2.0
 * ptx_splicer KERNELS BEGIN NEEDS GENOME|SEED...: the text of the kernel whose
 * name begins with BEGIN, with the programs of the users' models of genomes, or
 * random programs by seed, in place of its marks, and the parts whose bits are
 * set in the number NEEDS. For tests that assemble it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connectome/connectome.h"
#include "cuda_ptx.h"
#include "genome/genome.h"
#include "plugins/support/support_host.h"
#include "random_ir.h"

enum { PROGRAMS = 64 };

const char vly_support_plugin[] = "ptx_splicer"; /* of backends/common */

static const vly_program *programs[PROGRAMS];
static uint32_t n_programs;

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "rb");
    const size_t room = 1 << 22;
    char *text = malloc(room);
    if (file == NULL || text == NULL)
        return NULL;
    size_t n = fread(text, 1, room - 1, file);
    fclose(file);
    text[n] = 0;
    return text;
}

static void add(const vly_program *program)
{
    for (uint32_t k = 0; k < n_programs; k++)
        if (programs[k] == program)
            return;
    if (program != NULL && n_programs < PROGRAMS)
        programs[n_programs++] = program;
}

static int add_genome(const char *path)
{
    vly_error error = {.struct_size = sizeof error};
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    if (vly_genome_load(path, NULL, 0, &genome, &error) != VLY_OK ||
        vly_connectome_build(genome, 1, &connectome, &error) != VLY_OK) {
        fprintf(stderr, "%s\n", error.message);
        return -1;
    }
    vly_genome_destroy(genome); /* the connectome stays to the end */
    for (uint32_t a = 0; a < connectome->desc.n_areas; a++)
        add(connectome->desc.areas[a].program);
    return 0;
}

static int add_random(uint64_t seed)
{
    random_ir *ir = malloc(sizeof *ir);
    if (ir == NULL)
        return -1;
    random_ir_make(ir, seed);
    add(&ir->program);
    return 0;
}

int main(int argc, char **argv)
{
    char *kernels = argc > 4 ? read_all(argv[1]) : NULL;
    vly_cuda_text kernel = {NULL, 0, 0};
    vly_cuda_text made = {NULL, 0, 0};
    if (kernels == NULL)
        return 2;
    kernel.room = strlen(kernels) + 1;
    if ((kernel.text = malloc(kernel.room)) == NULL)
        return 3;
    vly_cuda_ptx_keep(kernels, argv[2], &kernel);
    const uint32_t needs = (uint32_t)strtoul(argv[3], NULL, 0);
    for (int i = 4; i < argc; i++) {
        const bool is_seed = argv[i][0] >= '0' && argv[i][0] <= '9';
        if (is_seed ? add_random(strtoull(argv[i], NULL, 10))
                    : add_genome(argv[i]))
            return 3;
    }
    for (int pass = 0; pass < 2; pass++) {
        made.room = made.length + 1;
        made.length = 0;
        if (pass == 1 && (made.text = malloc(made.room)) == NULL)
            return 3;
        if (vly_cuda_ptx_splice(kernel.text, programs, n_programs, needs,
                                &made) < 1)
            return 4;
    }
    fputs(made.text, stdout);
    fprintf(stderr, "%u programs\n", (unsigned)n_programs);
    return fflush(stdout) == 0 ? 0 : 5;
}
