/* SPDX-License-Identifier: Apache-2.0
 * Writes digest logs.
 */
#include "record/digest_log.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/writer.h"

struct vly_digest_log {
    vly_writer *writer;
    uint64_t run_digest;
};

static vly_status put_header(vly_writer *writer,
                             const vly_digest_header *header, vly_error *error)
{
    char genome[33];
    char connectome[33];
    vly_hash_print(header->genome_hash, genome);
    vly_hash_print(header->connectome_hash, connectome);
    return vly_writer_print(
        writer, error,
        VLY_DIGEST_LOG_MAGIC "\n"
                             "# genome_hash %s\n# connectome_hash %s\n"
                             "# dt_ms %.17g\n# neurons %" PRIu32
                             "\n# synapses %" PRIu64 "\n# backend %s\n"
                             "# burst digest run_digest spikes\n",
        genome, connectome, header->dt_ms, header->n_neurons,
        header->n_synapses, header->backend);
}

vly_status vly_digest_log_open(const char *path,
                               const vly_digest_header *header,
                               vly_digest_log **log, vly_error *error)
{
    vly_digest_log *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a digest log");
    vly_status status = vly_writer_open(path, false, &made->writer, error);
    if (status == VLY_OK) {
        vly_writer_set_lines(made->writer);
        status = put_header(made->writer, header, error);
    }
    if (status != VLY_OK) {
        vly_writer_abandon(made->writer);
        vly_free(made);
        return status;
    }
    *log = made;
    return VLY_OK;
}

vly_status vly_digest_log_resume(const char *path,
                                 const vly_digest_place *place,
                                 vly_digest_log **log, vly_error *error)
{
    vly_digest_log *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a digest log");
    made->run_digest = place->run_digest;
    vly_status status =
        vly_writer_resume(path, place->n_bytes, &made->writer, error);
    if (status != VLY_OK) {
        vly_free(made);
        return status;
    }
    vly_writer_set_lines(made->writer);
    *log = made;
    return VLY_OK;
}

vly_status vly_digest_log_flush(vly_digest_log *log, vly_digest_place *place,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_writer_flush(log->writer, error));
    place->n_bytes = vly_writer_tell(log->writer);
    place->run_digest = log->run_digest;
out:
    return status;
}

vly_status vly_digest_log_rewind(vly_digest_log *log,
                                 const vly_digest_place *place,
                                 vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_writer_rewind(log->writer, place->n_bytes, error));
    log->run_digest = place->run_digest;
out:
    return status;
}

vly_status vly_digest_log_add(vly_digest_log *log, uint64_t burst,
                              uint64_t digest, uint64_t n_spikes,
                              vly_error *error)
{
    log->run_digest = vly_mix64(log->run_digest ^ digest);
    return vly_writer_print(log->writer, error,
                            "%" PRIu64 " %016" PRIx64 " %016" PRIx64 " %" PRIu64
                            "\n",
                            burst, digest, log->run_digest, n_spikes);
}

void vly_digest_log_cancel(vly_digest_log *log)
{
    if (log)
        vly_writer_cancel(log->writer);
}

vly_status vly_digest_log_close(vly_digest_log *log, vly_error *error)
{
    if (!log)
        return VLY_OK;
    vly_status status = vly_writer_close(log->writer, error);
    vly_free(log);
    return status;
}
