/* SPDX-License-Identifier: Apache-2.0
 * The CPU backend with a device that fails: for fail-over and swaps of every
 * network that there is. Options, for the net created with them:
 *   in=WHAT   run (default), snapshot, set, write, read, digest, info, create
 *   at=N      from N bursts done on; a run that would pass it ends there, and
 *             what it had done is lost. Without it nothing fails
 *   wrong=N   digests of bursts from N on are wrong
 *   threads=K of the backend within, default 1
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <volley/plugin.h>

struct vly_backend_net {
    vly_backend_net *inner;
    uint64_t burst;
    uint64_t at;
    uint64_t wrong;
    char in[12];
};

static const vly_plugin *within;
static const vly_backend *inner;
static vly_backend flaky;

static vly_status fail(vly_error *error, vly_status status, const char *text)
{
    if (error && error->struct_size >= sizeof *error) {
        error->status = status;
        strncpy(error->message, text, sizeof error->message - 1);
        error->message[sizeof error->message - 1] = 0;
    }
    return status;
}

static uint64_t number(const char *options, const char *key, uint64_t fallback)
{
    const char *found = options ? strstr(options, key) : NULL;
    return found ? strtoull(found + strlen(key), NULL, 10) : fallback;
}

static void place(const char *options, char *in, size_t size)
{
    const char *found = options ? strstr(options, "in=") : NULL;
    size_t n = found ? strcspn(found + 3, ",") : 0;
    strcpy(in, "run");
    if (n == 0 || n >= size)
        return;
    memcpy(in, found + 3, n);
    in[n] = 0;
}

/* Is this the call that fails? */
static int fails(const vly_backend_net *net, const char *in)
{
    return net->burst >= net->at && strcmp(net->in, in) == 0;
}

static vly_status lost(vly_error *error)
{
    return fail(error, VLY_E_DEVICE, "flaky: device lost, as asked for");
}

static vly_status flaky_create(const vly_device_spec *device,
                               const vly_net_desc *desc,
                               const vly_snapshot *snapshot,
                               vly_backend_net **net, vly_error *error)
{
    vly_device_spec wanted = *device;
    vly_backend_net *made = calloc(1, sizeof *made);
    if (!made)
        return fail(error, VLY_E_NOMEM, "flaky: out of memory");
    made->burst = snapshot->burst;
    made->at = number(device->options, "at=", UINT64_MAX);
    made->wrong = number(device->options, "wrong=", UINT64_MAX);
    place(device->options, made->in, sizeof made->in);
    wanted.options = NULL;
    wanted.n_threads = (uint32_t)number(device->options, "threads=", 1);
    vly_status status =
        fails(made, "create")
            ? lost(error)
            : inner->net_create(&wanted, desc, snapshot, &made->inner, error);
    if (status != VLY_OK) {
        free(made);
        return status;
    }
    *net = made;
    return VLY_OK;
}

static void flaky_destroy(vly_backend_net *net)
{
    if (net)
        inner->net_destroy(net->inner);
    free(net);
}

static vly_status flaky_info(const vly_backend_net *net, vly_net_info *info,
                             vly_error *error)
{
    return fails(net, "info") ? lost(error)
                              : inner->net_info(net->inner, info, error);
}

static vly_status flaky_run(vly_backend_net *net, vly_run *run,
                            vly_error *error)
{
    const uint64_t first = net->burst;
    const uint64_t wanted = run->n_bursts;
    int ends = strcmp(net->in, "run") == 0 && net->at < first + wanted;
    if (ends)
        run->n_bursts = net->at > first ? net->at - first : 0;
    vly_status status =
        run->n_bursts != 0 ? inner->net_run(net->inner, run, error) : VLY_OK;
    uint64_t done = run->n_bursts != 0 ? run->n_bursts_done : 0;
    run->n_bursts = wanted;
    net->burst += done;
    for (uint64_t t = 0; t < done; t++)
        if (first + t >= net->wrong)
            run->digests[t] ^= 1;
    return ends && net->burst >= net->at ? lost(error) : status;
}

static vly_status flaky_read(vly_backend_net *net, uint32_t area,
                             uint32_t field, uint32_t first, uint32_t count,
                             uint32_t *words, vly_error *error)
{
    return fails(net, "read") ? lost(error)
                              : inner->field_read(net->inner, area, field,
                                                  first, count, words, error);
}

/* Half of it is written when the device is lost. */
static vly_status flaky_write(vly_backend_net *net, uint32_t area,
                              uint32_t field, uint32_t first, uint32_t count,
                              const uint32_t *words, vly_error *error)
{
    int ends = fails(net, "write");
    vly_status status =
        inner->field_write(net->inner, area, field, first,
                           ends ? (count + 1) / 2 : count, words, error);
    return ends ? lost(error) : status;
}

static vly_status flaky_coef(vly_backend_net *net, uint32_t area, uint32_t coef,
                             const vly_column *column, vly_error *error)
{
    return fails(net, "set")
               ? lost(error)
               : inner->coef_write(net->inner, area, coef, column, error);
}

static vly_status flaky_stimulus(vly_backend_net *net, uint32_t stimulus,
                                 const vly_stimulus_desc *desc,
                                 vly_error *error)
{
    return fails(net, "set")
               ? lost(error)
               : inner->stimulus_write(net->inner, stimulus, desc, error);
}

static vly_status flaky_snapshot(vly_backend_net *net, vly_snapshot *snapshot,
                                 vly_error *error)
{
    return fails(net, "snapshot")
               ? lost(error)
               : inner->snapshot_read(net->inner, snapshot, error);
}

static vly_status flaky_digest(vly_backend_net *net, uint64_t *digest,
                               vly_error *error)
{
    return fails(net, "digest")
               ? lost(error)
               : inner->state_digest(net->inner, digest, error);
}

static vly_status flaky_learning_read(vly_backend_net *net, uint32_t projection,
                                      uint64_t first, uint64_t count,
                                      int32_t *masters, vly_error *error)
{
    return fails(net, "read")
               ? lost(error)
               : inner->learning_read(net->inner, projection, first, count,
                                      masters, error);
}

static vly_status flaky_learning_write(vly_backend_net *net,
                                       uint32_t projection, uint64_t first,
                                       uint64_t count, const int32_t *masters,
                                       vly_error *error)
{
    return fails(net, "write")
               ? lost(error)
               : inner->learning_write(net->inner, projection, first, count,
                                       masters, error);
}

static vly_status flaky_learning_set(vly_backend_net *net, uint32_t projection,
                                     const vly_learning_desc *learning,
                                     vly_error *error)
{
    return fails(net, "set")
               ? lost(error)
               : inner->learning_set(net->inner, projection, learning, error);
}

static vly_status flaky_short_term_set(vly_backend_net *net,
                                       uint32_t projection,
                                       const vly_short_term_desc *short_term,
                                       vly_error *error)
{
    return fails(net, "set") ? lost(error)
                             : inner->short_term_set(net->inner, projection,
                                                     short_term, error);
}

/* The plugin within is loaded by its path, given when this one is built. */
static vly_status init(const vly_host *host, vly_error *error)
{
    void *library = dlopen(FLAKY_INNER, RTLD_NOW | RTLD_LOCAL);
    within = library ? dlsym(library, VLY_PLUGIN_SYMBOL) : NULL;
    if (!within)
        return fail(error, VLY_E_DEVICE, "flaky: " FLAKY_INNER " is missing");
    vly_status status = within->init(host, error);
    if (status != VLY_OK)
        return status;
    inner = within->get_interface(VLY_BACKEND_INTERFACE);
    flaky = *inner;
    flaky.flags &= ~(uint32_t)VLY_BACKEND_HOST; /* its number is a device */
    flaky.net_create = flaky_create;
    flaky.net_destroy = flaky_destroy;
    flaky.net_info = flaky_info;
    flaky.net_run = flaky_run;
    flaky.field_read = flaky_read;
    flaky.field_write = flaky_write;
    flaky.coef_write = flaky_coef;
    flaky.stimulus_write = flaky_stimulus;
    flaky.snapshot_read = flaky_snapshot;
    flaky.state_digest = flaky_digest;
    flaky.learning_read = flaky_learning_read;
    flaky.learning_write = flaky_learning_write;
    flaky.learning_set = flaky_learning_set;
    flaky.short_term_set = flaky_short_term_set;
    return VLY_OK;
}

static void deinit(void)
{
    within->deinit();
}

static const void *get_interface(const char *id)
{
    return strcmp(id, VLY_BACKEND_INTERFACE) == 0 ? &flaky : NULL;
}

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "flaky",
    .version = "1.0",
    .build = "test",
    .init = init,
    .deinit = deinit,
    .get_interface = get_interface,
};
