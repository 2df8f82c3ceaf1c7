/* SPDX-License-Identifier: Apache-2.0
 * The files that a genome was read from, so that no output replaces one of
 * them. Opened files are stored as device and inode, so an output is recognised
 * under any name.
 */
#include "genome/genome_inputs.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

vly_status vly_genome_add_input(vly_genome *genome, const char *path,
                                const struct stat *file, vly_error *error)
{
    const vly_genome_input *last =
        genome->n_inputs > 0 ? &genome->inputs[genome->n_inputs - 1] : NULL;
    if (last && last->device == file->st_dev && last->inode == file->st_ino)
        return VLY_OK; /* values of many parameters from one file */
    vly_genome_input *grown = vly_realloc(
        genome->inputs, genome->n_inputs + (size_t)1, sizeof(*grown));
    if (!grown)
        return vly_fail_nomem(error, sizeof(*grown), "the genome's files");
    genome->inputs = grown;
    char *name = vly_strdup(path);
    if (!name)
        return vly_fail_nomem(error, strlen(path) + 1, "a path");
    grown[genome->n_inputs++] =
        (vly_genome_input){name, file->st_dev, file->st_ino};
    return VLY_OK;
}

const char *vly_genome_find_input(const vly_genome *genome,
                                  const struct stat *file)
{
    for (uint32_t i = 0; i < genome->n_inputs; i++) {
        const vly_genome_input *input = &genome->inputs[i];
        if (input->device == file->st_dev && input->inode == file->st_ino)
            return input->path;
    }
    return NULL;
}

void vly_genome_free_inputs(vly_genome *genome)
{
    for (uint32_t i = 0; i < genome->n_inputs; i++)
        vly_free(genome->inputs[i].path);
    vly_free(genome->inputs);
    genome->inputs = NULL;
    genome->n_inputs = 0;
}
