/* SPDX-License-Identifier: Apache-2.0
 * What programs that host nets ask for (volley/host.h): genomes, connectomes
 * and rows of synapses, kinds of files, checkpoints, devices by name. Each is
 * compared with the internal structs or with another public function.
 */
#include "engine_fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <volley/host.h>

#define CHECKPOINT VLY_TEST_BINARY_DIR "/api_host.vlk"
#define CONNECTOME VLY_TEST_BINARY_DIR "/api_host.vlc"

static void what_networks_hold(void **state)
{
    fixture f;
    vly_genome_info genome = {.struct_size = sizeof genome};
    vly_connectome_info net = {.struct_size = sizeof net};
    vly_area_info given = {.struct_size = sizeof given};
    vly_area_info made = {.struct_size = sizeof made};
    vly_pair_info pair = {.struct_size = sizeof pair};
    (void)state;
    fixture_init(&f, genome_mixed);
    assert_int_equal(vly_genome_get_info(f.genome, &genome), VLY_OK);
    assert_int_equal(vly_connectome_get_info(f.connectome, &net), VLY_OK);
    assert_int_equal(genome.n_areas, f.genome->n_areas);
    assert_int_equal(net.n_areas, genome.n_areas);
    assert_int_equal(net.n_neurons, genome.n_neurons);
    assert_int_equal(net.n_synapses, f.connectome->desc.n_synapses);
    assert_memory_equal(net.genome_hash, genome.hash, sizeof genome.hash);
    assert_memory_equal(net.hash, f.connectome->hash.lane, sizeof net.hash);
    assert_string_equal(genome.resolved, f.genome->resolved);
    for (uint32_t a = 0; a < net.n_areas; a++) {
        const vly_connectome_area *area = &f.connectome->areas[a];
        assert_int_equal(vly_genome_area_info(f.genome, a, &given), VLY_OK);
        assert_int_equal(vly_connectome_area_info(f.connectome, a, &made),
                         VLY_OK);
        assert_string_equal(given.name, made.name);
        assert_string_equal(given.model, made.model);
        assert_int_equal(given.first, made.first);
        assert_int_equal(made.n_neurons, area->n_neurons);
        assert_int_equal(made.n_ports, area->model->n_ports);
        for (uint32_t p = 0; p < made.n_ports; p++) {
            assert_int_equal(made.q[p], area->q[p]);
            assert_string_equal(made.port_unit[p], area->model->ports[p].unit);
        }
    }
    for (uint32_t p = 0; p < genome.n_pairs; p++) {
        assert_int_equal(vly_genome_pair_info(f.genome, p, &pair), VLY_OK);
        assert_string_equal(pair.map, f.genome->pairs[p].map);
        assert_int_equal(pair.target_area, f.genome->pairs[p].to);
    }
    assert_int_equal(vly_genome_area_info(f.genome, net.n_areas, &given),
                     VLY_E_INVALID);
    assert_int_equal(vly_connectome_area_info(f.connectome, net.n_areas, &made),
                     VLY_E_INVALID);
    assert_int_equal(vly_genome_pair_info(f.genome, genome.n_pairs, &pair),
                     VLY_E_INVALID);
    net.struct_size = 0;
    assert_int_equal(vly_connectome_get_info(f.connectome, &net),
                     VLY_E_INVALID);
    fixture_deinit(&f);
}

/* A program that was built with an older header has a shorter struct: what is
 * after its end stays. */
static void shorter_structs(void **state)
{
    fixture f;
    vly_genome_info info = {.struct_size = offsetof(vly_genome_info, dt_ms),
                            .dt_ms = -1,
                            .path = "mine"};
    (void)state;
    fixture_init(&f, genome_three);
    assert_int_equal(vly_genome_get_info(f.genome, &info), VLY_OK);
    assert_int_equal(info.struct_size, offsetof(vly_genome_info, dt_ms));
    assert_int_equal(info.n_neurons, 3);
    assert_true(info.dt_ms < 0);
    assert_string_equal(info.path, "mine");
    fixture_deinit(&f);
}

/* Rows of each source one after the other are all synapses of a projection, and
 * all of them are of that source. */
static void rows_of_synapses(void **state)
{
    fixture f;
    vly_connectome_info net = {.struct_size = sizeof net};
    (void)state;
    fixture_init(&f, genome_mixed);
    assert_int_equal(vly_connectome_get_info(f.connectome, &net), VLY_OK);
    assert_true(net.n_projections > 3);
    for (uint32_t p = 0; p < net.n_projections; p++) {
        vly_projection_info info = {.struct_size = sizeof info};
        vly_area_info area = {.struct_size = sizeof area};
        uint64_t first = 0;
        uint64_t end = 0;
        uint64_t before = 0;
        assert_ok(
            vly_connectome_projection_info(f.connectome, p, &info, &f.error),
            f.error);
        (void)vly_connectome_area_info(f.connectome, info.source_area, &area);
        for (uint32_t i = 0; i < area.n_neurons; i++) {
            assert_ok(vly_connectome_rows(f.connectome, p, i, 1, &first, &end,
                                          &f.error),
                      f.error);
            assert_true(first == before && end >= first);
            for (uint64_t k = first; k < end; k++) {
                uint32_t source = UINT32_MAX;
                assert_ok(vly_connectome_synapses(f.connectome, p, k, 1,
                                                  &source, NULL, NULL, NULL,
                                                  &f.error),
                          f.error);
                assert_int_equal(source, i);
            }
            before = end;
        }
        assert_true(before == info.n_synapses);
        assert_ok(vly_connectome_rows(f.connectome, p, 0, UINT32_MAX, &first,
                                      &end, &f.error),
                  f.error);
        assert_true(first == 0 && end == info.n_synapses);
        assert_fails(vly_connectome_rows(f.connectome, p, area.n_neurons + 1, 1,
                                         &first, &end, &f.error),
                     VLY_E_INVALID, &f.error, "source");
    }
    assert_string_equal(
        vly_connectome_weight_suffix(f.connectome, net.n_projections), "");
    fixture_deinit(&f);
}

static uint32_t kind_of(const char *path)
{
    char head[VLY_FILE_KIND_BYTES];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t n = fread(head, 1, sizeof head, file);
    fclose(file);
    return vly_file_kind(head, n);
}

static void kinds_of_files(void **state)
{
    static const struct {
        const char *head;
        uint32_t kind;
    } cases[] = {{"", VLY_FILE_EMPTY},
                 {"VOLLEYC", VLY_FILE_CUT},
                 {"VOL", VLY_FILE_CUT},
                 {"VOLLEYST....", VLY_FILE_STREAM},
                 {"# volley digest log 1\n", VLY_FILE_DIGESTS},
                 {"burst,time_ms,area,neuron\n", VLY_FILE_SPIKES},
                 {"\211HDF\r\n", VLY_FILE_HDF5},
                 {"\177ELF", VLY_FILE_ELF},
                 {" \n{\"digest\":1}", VLY_FILE_JSON},
                 {"[run]\n", VLY_FILE_TEXT}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(vly_file_kind(cases[i].head, strlen(cases[i].head)),
                         cases[i].kind);
    assert_int_equal(vly_file_kind("a\0b", 3), VLY_FILE_OTHER);
}

static void checkpoints(void **state)
{
    fixture f;
    vly_checkpoint_reader *reader = NULL;
    vly_checkpoint_info info = {.struct_size = sizeof info};
    vly_checkpoint_part part = {.struct_size = sizeof part};
    vly_checkpoint_recording file = {.struct_size = sizeof file};
    vly_state_info of_file = {.struct_size = sizeof of_file};
    vly_state *kept = NULL;
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_run(net, 40, &f.error), f.error);
    assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
    assert_ok(vly_state_save(kept, CHECKPOINT, &f.error), f.error);
    assert_ok(vly_connectome_save(f.connectome, CONNECTOME, &f.error), f.error);
    assert_int_equal(kind_of(CHECKPOINT), VLY_FILE_CHECKPOINT);
    assert_int_equal(kind_of(CONNECTOME), VLY_FILE_CONNECTOME);
    assert_ok(vly_checkpoint_open(CHECKPOINT, &reader, &f.error), f.error);
    assert_int_equal(vly_checkpoint_get_info(reader, &info), VLY_OK);
    assert_string_equal(info.engine, vly_version());
    assert_int_equal(info.n_recordings, 0);
    assert_true(info.n_sections > 2);
    for (uint32_t k = 0; k < info.n_sections; k++) {
        assert_int_equal(vly_checkpoint_section_get(reader, k, &part), VLY_OK);
        assert_true(part.name[0] != '\0' && part.n_stored_bytes < info.n_bytes);
    }
    assert_int_equal(vly_checkpoint_section_get(reader, info.n_sections, &part),
                     VLY_E_INVALID);
    assert_int_equal(vly_checkpoint_recording_get(reader, 0, &file),
                     VLY_E_INVALID);
    assert_ok(
        vly_state_get_info(vly_checkpoint_state(reader), &of_file, &f.error),
        f.error);
    assert_int_equal(of_file.bursts, 40);
    assert_true(of_file.digest == vly_net_digest(net));
    vly_checkpoint_close(reader);
    reader = NULL;
    assert_fails(vly_checkpoint_open(CONNECTOME, &reader, &f.error),
                 VLY_E_PARSE, &f.error, "checkpoint");
    assert_null(reader);
    vly_checkpoint_close(NULL);
    vly_state_destroy(kept);
    vly_net_destroy(net);
    unlink(CHECKPOINT);
    unlink(CONNECTOME);
    fixture_deinit(&f);
}

static void devices_by_name(void **state)
{
    fixture f;
    vly_named_device device = {.struct_size = sizeof device};
    const vly_backend *backend = NULL;
    (void)state;
    fixture_init(&f, genome_three);
    assert_ok(vly_device_find(NULL, "cuda:3,plan=x", 1, &device, &f.error),
              f.error);
    assert_string_equal(device.id, "cuda");
    assert_int_equal(device.flags, 0);
    assert_ok(vly_device_find(f.registry, "cpu:3", 1, &device, &f.error),
              f.error);
    assert_string_equal(device.id, "cpu");
    assert_int_equal(device.n_threads, 3);
    assert_ok(vly_registry_backend(f.registry, "cpu", &backend, &f.error),
              f.error);
    assert_int_equal(device.flags, backend->flags);
    assert_ok(vly_device_find(f.registry, "cpu", 2, &device, &f.error),
              f.error);
    assert_int_equal(device.n_threads, 2);
    assert_ok(vly_device_find(f.registry, "template:1", 2, &device, &f.error),
              f.error);
    assert_int_equal(device.index, 1);
    assert_int_equal(device.n_threads, 0); /* it is not on the host */
    assert_ok(vly_device_find(f.registry, "auto", 2, &device, &f.error),
              f.error);
    assert_string_equal(device.id, "auto");
    assert_fails(vly_device_find(f.registry, "cpu:x", 1, &device, &f.error),
                 VLY_E_INVALID, &f.error, "cpu:x");
    assert_fails(vly_device_find(f.registry, "none", 1, &device, &f.error),
                 VLY_E_UNSUPPORTED, &f.error, "none");
    device.struct_size = 0;
    assert_fails(vly_device_find(f.registry, "cpu", 1, &device, &f.error),
                 VLY_E_INVALID, &f.error, "struct_size");
    assert_true(vly_plugin_id_valid("cpu") && !vly_plugin_id_valid("auto"));
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_networks_hold), cmocka_unit_test(shorter_structs),
    cmocka_unit_test(rows_of_synapses),   cmocka_unit_test(kinds_of_files),
    cmocka_unit_test(checkpoints),        cmocka_unit_test(devices_by_name),
};

VLY_TEST_MAIN(tests)
