/* SPDX-License-Identifier: Apache-2.0
 * A state saved and loaded: the net that goes on from it is the net that never
 * stopped; and a file that is not as it was written is refused, whatever byte
 * it is, with the name of the part.
 */
#include "engine_fixture.h"

#include <stdlib.h>
#include <unistd.h>

#include "checkpoint/checkpoint_format.h"
#include "connectome/connectome_digest.h"

static char folder[] = "/tmp/volley_checkpoint_XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[8][256];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* Everything at once: injection for later bursts, out of order, and changed
 * parameters. */
static void disturb(fixture *f, vly_net *net)
{
    double values[30];
    for (int i = 0; i < 30; i++)
        values[i] = 5 + i % 7;
    uint64_t burst = vly_net_burst(net);
    assert_ok(vly_net_inject(net, burst + 20, "D", 7, 0, 30, &f->error),
              f->error);
    assert_ok(vly_net_inject(net, burst + 3, "F", 2, 0, 50, &f->error),
              f->error);
    assert_ok(vly_net_inject(net, burst + 3, "F", 2, 0, 5, &f->error),
              f->error);
    assert_ok(vly_net_set_each(net, "D", "tau_m_ms", values, 30, &f->error),
              f->error);
    assert_ok(vly_net_set(net, "area.F.postsynaptic_current", 2, &f->error),
              f->error);
    assert_ok(vly_net_set(net, "stimulus.noise.rate_hz", 2500, &f->error),
              f->error);
    assert_ok(vly_net_set(net, "stimulus.beat.weight", 7, &f->error), f->error);
    assert_ok(vly_net_set(net, "stimulus.drive.amplitude", 15, &f->error),
              f->error);
}

static void goes_on_as_if_never_stopped(void **unused)
{
    fixture f;
    (void)unused;
    fixture_init(&f, genome_mixed);
    for (uint64_t at = 0; at < 40; at += 3) {
        vly_state *kept = NULL;
        vly_state *read = NULL;
        vly_net *net = fixture_net(&f, "cpu:1");
        assert_ok(vly_net_run(net, at, &f.error), f.error);
        disturb(&f, net);
        assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
        assert_ok(vly_state_save(kept, path_of("kept"), &f.error), f.error);
        vly_state_destroy(kept);
        fingerprint wanted = fixture_run(&f, net, 60 - at);
        vly_net_destroy(net);
        assert_ok(vly_state_load(path_of("kept"), &read, &f.error), f.error);
        /* as a new net, twice, on other threads; and into one that has run */
        static const char *const backends[] = {"cpu:1", "cpu:3"};
        for (int i = 0; i < 2; i++) {
            net = NULL;
            assert_ok(vly_net_resume(f.connectome, f.registry, backends[i], 0,
                                     read, &net, &f.error),
                      f.error);
            assert_int_equal(vly_net_burst(net), at);
            fingerprint print = fixture_run(&f, net, 60 - at);
            assert_same(&print, &wanted);
            assert_ok(vly_net_restore(net, read, &f.error), f.error);
            print = fixture_run(&f, net, 60 - at);
            assert_same(&print, &wanted);
            vly_net_destroy(net);
        }
        vly_state_destroy(read);
    }
    fixture_deinit(&f);
}

/* Spikes by area and counters continue too; the figures are those of the
 * net. */
static void figures(void **unused)
{
    fixture f;
    vly_state *kept = NULL;
    vly_state *read = NULL;
    vly_state_info info = {.struct_size = sizeof info};
    vly_stats stats = {.struct_size = sizeof stats};
    uint64_t digest = 0;
    (void)unused;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:2");
    vly_net_count_areas(net, 1);
    assert_ok(vly_net_run(net, 37, &f.error), f.error);
    assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
    assert_ok(vly_state_save(kept, path_of("kept"), &f.error), f.error);
    assert_ok(vly_state_load(path_of("kept"), &read, &f.error), f.error);
    assert_ok(vly_state_get_info(read, &info, &f.error), f.error);
    assert_ok(vly_net_stats(net, &stats, &f.error), f.error);
    assert_ok(vly_net_state_digest(net, &digest, &f.error), f.error);
    assert_int_equal(info.bursts, 37);
    assert_int_equal(info.n_neurons, stats.neurons);
    assert_int_equal(info.spikes, stats.spikes);
    assert_int_equal(info.events, stats.events);
    assert_true(info.digest == vly_net_digest(net));
    assert_true(info.state_digest == digest);
    assert_memory_equal(info.genome_hash, &f.connectome->genome_hash, 16);
    assert_memory_equal(info.connectome_hash, &f.connectome->hash, 16);
    vly_hash sum = vly_connectome_digest(f.connectome, 1);
    assert_memory_equal(info.connectome_digest, &sum, 16);
    assert_true(info.n_bytes > 100);
    info.struct_size = 0;
    assert_fails(vly_state_get_info(read, &info, &f.error), VLY_E_INVALID,
                 &f.error, "struct_size");
    for (uint32_t a = 0; a < read->n_areas; a++)
        assert_int_equal(read->area_spikes[a], kept->area_spikes[a]);
    assert_true(read->area_spikes[0] > 0);
    vly_state_destroy(kept);
    vly_state_destroy(read);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* ---- files that are not as they were written --------------------------- */

typedef struct bytes {
    uint8_t data[65536];
    size_t n;
} bytes;

static void read_file(const char *path, bytes *to)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    to->n = fread(to->data, 1, sizeof to->data, file);
    fclose(file);
    assert_in_range(to->n, sizeof(vly_checkpoint_header) + 100,
                    sizeof to->data - 1);
}

static void write_file(const char *path, const uint8_t *data, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    fclose(file);
}

/* A checkpoint with something in every section but the weights. */
static void make_file(bytes *made)
{
    fixture f;
    fixture_init(&f, genome_mixed);
    vly_recording recordings[] = {{.kind = VLY_RECORDING_SPIKES,
                                   .path = "a/spikes.csv",
                                   .n_bytes = 77,
                                   .n_entries = 3},
                                  {.kind = VLY_RECORDING_DIGESTS,
                                   .path = "b.log",
                                   .n_bytes = 1000,
                                   .n_entries = 25}};
    vly_checkpoint checkpoint = {
        .recordings = recordings, .n_recordings = 2, .n_resumes = 4};
    vly_net *net = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_run(net, 25, &f.error), f.error);
    disturb(&f, net);
    assert_ok(vly_net_snapshot(net, &checkpoint.state, &f.error), f.error);
    assert_true(checkpoint.state->snapshot.n_fired > 0);
    uint64_t n_bytes = 0;
    assert_ok(vly_checkpoint_save(&checkpoint, path_of("whole"), 1, &n_bytes,
                                  &f.error),
              f.error);
    vly_state_destroy(checkpoint.state);
    vly_net_destroy(net);
    fixture_deinit(&f);
    read_file(path_of("whole"), made);
    assert_int_equal(made->n, n_bytes);
}

/* Refused as damaged, with the file's name and this text. */
static void refused(const uint8_t *data, size_t n, const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    vly_checkpoint *checkpoint = NULL;
    const char *path = path_of("broken");
    write_file(path, data, n);
    vly_status status = vly_checkpoint_load(path, &checkpoint, NULL, &error);
    assert_null(checkpoint);
    if (status != VLY_E_PARSE || strstr(error.message, path) == NULL ||
        strstr(error.message, text) == NULL)
        fail_msg("status %d: %s (wanted: %s)", status, error.message, text);
}

static void recordings_come_back(void **unused)
{
    static bytes whole;
    vly_error error = VLY_ERROR_INIT;
    vly_checkpoint *checkpoint = NULL;
    vly_checkpoint_about about;
    (void)unused;
    make_file(&whole);
    assert_ok(
        vly_checkpoint_load(path_of("whole"), &checkpoint, &about, &error),
        error);
    assert_int_equal(checkpoint->n_recordings, 2);
    assert_int_equal(checkpoint->n_resumes, 4);
    assert_string_equal(checkpoint->recordings[0].path, "a/spikes.csv");
    assert_string_equal(checkpoint->recordings[1].path, "b.log");
    assert_int_equal(checkpoint->recordings[1].n_entries, 25);
    assert_int_equal(about.version, 2);
    assert_int_equal(about.n_file_bytes, whole.n);
    assert_string_equal(about.engine, vly_version());
    assert_int_equal(checkpoint->n_sections, VLY_PARTS);
    vly_checkpoint_destroy(checkpoint);
    vly_checkpoint_destroy(NULL);
}

/* What the host counted since its last sample. */
static void counts_come_back(void **unused)
{
    uint64_t counts[] = {7, UINT64_C(1) << 40, 0};
    fixture f;
    vly_checkpoint checkpoint = {.counts = counts, .n_counts = 3};
    vly_checkpoint *again = NULL;
    (void)unused;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_snapshot(net, &checkpoint.state, &f.error), f.error);
    assert_ok(
        vly_checkpoint_save(&checkpoint, path_of("counts"), 1, NULL, &f.error),
        f.error);
    assert_ok(vly_checkpoint_load(path_of("counts"), &again, NULL, &f.error),
              f.error);
    assert_int_equal(again->n_counts, 3);
    assert_memory_equal(again->counts, counts, sizeof counts);
    assert_string_equal(again->sections[again->n_sections - 1].name, "counts");
    vly_checkpoint_destroy(again);
    vly_state_destroy(checkpoint.state);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void cut_anywhere(void **unused)
{
    static bytes whole;
    (void)unused;
    make_file(&whole);
    for (size_t n = 0; n < whole.n; n++)
        refused(whole.data, n, "damaged checkpoint");
    whole.data[whole.n] = 0;
    refused(whole.data, whole.n + 1, "cut or grown");
}

/* The section that byte `at` is of; NULL: header or tables. */
static const char *section_of(const bytes *whole, size_t at)
{
    vly_checkpoint_entry table[VLY_PARTS];
    vly_checkpoint_frame frame;
    size_t frames = sizeof(vly_checkpoint_header) + sizeof table;
    memcpy(table, whole->data + sizeof(vly_checkpoint_header), sizeof table);
    for (uint32_t part = 0; part < VLY_PARTS; part++) {
        if (table[part].n_frames == 0)
            continue;
        memcpy(&frame,
               whole->data + frames + table[part].first_frame * sizeof frame,
               sizeof frame);
        if (at >= frame.offset && at < frame.offset + frame.stored_bytes)
            return vly_checkpoint_part_name(part);
    }
    return NULL;
}

static void one_bit_anywhere(void **unused)
{
    static bytes whole;
    const char *last = NULL;
    uint32_t n_sections = 0;
    (void)unused;
    make_file(&whole);
    for (size_t at = 0; at < whole.n; at++) {
        char text[64] = "";
        const char *section = section_of(&whole, at);
        uint8_t kept = whole.data[at];
        if (section != NULL)
            snprintf(text, sizeof text, "checksum of section %s is wrong",
                     section);
        n_sections += section != NULL && section != last;
        last = section;
        whole.data[at] ^= (uint8_t)(1u << (at % 8));
        refused(whole.data, whole.n, text);
        whole.data[at] = kept;
    }
    assert_int_equal(n_sections, VLY_PARTS - 1); /* there are no weights */
}

static void mend_header(bytes *file)
{
    vly_checkpoint_header header;
    memcpy(&header, file->data, sizeof header);
    header.header_checksum = vly_checkpoint_header_sum(&header);
    memcpy(file->data, &header, sizeof header);
}

static void another_version(void **unused)
{
    static bytes whole;
    const uint32_t versions[] = {0, 3, UINT32_MAX};
    static const char *const words[] = {
        "version 0, older than the versions 1 to 2",
        "version 3, newer than the versions 1 to 2",
        "version 4294967295, newer than the versions 1 to 2"};
    (void)unused;
    make_file(&whole);
    for (int i = 0; i < 3; i++) {
        memcpy(whole.data + 8, &versions[i], sizeof versions[i]);
        refused(whole.data, whole.n, words[i]); /* whatever the checksum */
        mend_header(&whole);
        refused(whole.data, whole.n, words[i]);
    }
}

/* ---- content that cannot be, with checksums that fit ------------------- */

typedef void (*spoil_fn)(vly_state *state);

static void fired_id(vly_state *s)
{
    s->snapshot.fired[0] = s->n_neurons;
}
static void fired_order(vly_state *s)
{
    s->snapshot.fired_row[1] = s->snapshot.n_fired + 1;
}
static void fired_first(vly_state *s)
{
    s->snapshot.fired_row[0] = 1;
}
static void fired_last(vly_state *s)
{
    s->snapshot.n_fired -= 1;
}
static void fired_sets(vly_state *s)
{
    s->snapshot.burst = 2;
}
static void area_first(vly_state *s)
{
    s->areas[1].first += 1;
}
static void area_size(vly_state *s)
{
    s->areas[0].n_neurons = UINT32_MAX;
}
static void area_fields(vly_state *s)
{
    s->areas[0].n_fields += 1;
}
static void area_params(vly_state *s)
{
    s->areas[0].n_params += 1;
}
static void neurons(vly_state *s)
{
    s->n_neurons += 1;
}
static void pending_neuron(vly_state *s)
{
    s->pending.entries[0].neuron = s->n_neurons;
}
static void pending_port(vly_state *s)
{
    s->pending.entries[0].port = 4;
}
static void pending_burst(vly_state *s)
{
    s->pending.entries[0].burst = 1;
}
static void values_number(vly_state *s)
{
    for (uint32_t p = 0; p < s->overlay->n_params; p++)
        if (s->overlay->n_value[p] > 1)
            s->overlay->n_value[p] -= 1;
}

static void spoilt(void **unused)
{
    static const spoil_fn spoils[] = {
        fired_id,      fired_order,    fired_first,  fired_last,   fired_sets,
        area_first,    area_size,      area_fields,  area_params,  neurons,
        values_number, pending_neuron, pending_port, pending_burst};
    fixture f;
    (void)unused;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_run(net, 25, &f.error), f.error);
    disturb(&f, net);
    for (size_t i = 0; i < sizeof spoils / sizeof spoils[0]; i++) {
        vly_state *state = NULL;
        vly_state *read = NULL;
        assert_ok(vly_net_snapshot(net, &state, &f.error), f.error);
        spoils[i](state);
        if (spoils[i] == area_size || spoils[i] == area_fields) {
            /* not through the writer, which would read after the words */
            assert_int_not_equal(vly_state_shape_check(state, &f.error),
                                 VLY_OK);
            vly_state_destroy(state);
            continue;
        }
        assert_ok(vly_state_save(state, path_of("spoilt"), &f.error), f.error);
        vly_state_destroy(state);
        vly_status status = vly_state_load(path_of("spoilt"), &read, &f.error);
        if (status != VLY_E_PARSE ||
            strstr(f.error.message, "damaged checkpoint") == NULL)
            fail_msg("%d: status %d, %s", (int)i, status, f.error.message);
    }
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void gain(vly_state *s)
{
    s->snapshot.fired_gain[0] = UINT32_MAX;
}
static void param(vly_state *s)
{
    for (uint32_t p = 0; p < s->overlay->n_params; p++)
        if (s->overlay->n_value[p] > 1)
            s->overlay->values[p][3] = -1e30;
}
static void stimulus(vly_state *s)
{
    s->overlay->stimuli[0].rate_hz = -1;
}
static void port(vly_state *s)
{
    s->pending.entries[0].port = 1; /* of D, which has one */
}
static void sets(vly_state *s)
{
    s->snapshot.burst += 100; /* which the delays allow; the hashes do not */
    s->connectome_digest.lane[0] ^= 1;
}
static void hash(vly_state *s) /* of a file that has no digest */
{
    s->connectome_digest = (vly_hash){{0, 0}};
    s->connectome_hash.lane[1] ^= 1;
}
static void weights(vly_state *s)
{
    s->snapshot.n_weight_bytes = 8;
}

/* A state in itself, but none of this connectome. */
static void does_not_fit(void **unused)
{
    static const spoil_fn spoils[] = {gain, param, stimulus, port,
                                      sets, hash,  weights};
    fixture f;
    fixture g;
    vly_state *state = NULL;
    vly_net *other = NULL;
    (void)unused;
    fixture_init(&f, genome_mixed);
    fixture_init_with(&g, genome_mixed, "area.X.tau_m_ms", "20");
    vly_net *net = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_run(net, 25, &f.error), f.error);
    disturb(&f, net);
    for (size_t i = 0; i < sizeof spoils / sizeof spoils[0]; i++) {
        assert_ok(vly_net_snapshot(net, &state, &f.error), f.error);
        spoils[i](state);
        vly_status status = vly_net_resume(f.connectome, f.registry, "cpu:1", 0,
                                           state, &other, &f.error);
        if (status != VLY_E_INVALID ||
            strstr(f.error.message, "the state") == NULL)
            fail_msg("%d: status %d, %s", (int)i, status, f.error.message);
        assert_null(other);
        vly_state_destroy(state);
    }
    assert_ok(vly_net_snapshot(net, &state, &f.error), f.error);
    assert_fails(vly_net_resume(g.connectome, g.registry, "cpu:1", 0, state,
                                &other, &g.error),
                 VLY_E_INVALID, &g.error, "of another genome");
    assert_fails(vly_net_resume(f.connectome, f.registry, "nothing", 0, state,
                                &other, &f.error),
                 VLY_E_UNSUPPORTED, &f.error, "nothing");
    assert_null(other);
    vly_state_destroy(state);
    vly_net_destroy(net);
    fixture_deinit(&f);
    fixture_deinit(&g);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(goes_on_as_if_never_stopped),
    cmocka_unit_test(figures),
    cmocka_unit_test(recordings_come_back),
    cmocka_unit_test(counts_come_back),
    cmocka_unit_test(cut_anywhere),
    cmocka_unit_test(one_bit_anywhere),
    cmocka_unit_test(another_version),
    cmocka_unit_test(spoilt),
    cmocka_unit_test(does_not_fit),
};

int main(void)
{
    char command[300];
    if (mkdtemp(folder) == NULL)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || failed ? 1 : 0;
}
