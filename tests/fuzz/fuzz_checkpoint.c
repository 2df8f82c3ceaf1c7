/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a checkpoint: refused with one sentence, or loaded, saved and
 * loaded again as the same state; nothing left in memory. Nearly every change
 * breaks a checksum, so the bytes are tried a second time with the checksums
 * put right; and as sections are compressed, a file that begins with EDIT is a
 * list of changes to the sections of a small state as they are in memory, which
 * are packed again, which reaches the checks of the content.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "checkpoint/checkpoint_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(), which is off in release builds. */
static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_checkpoint: %s\n", what);
    abort();
}

/* A file in memory, and a path that leads to it. */
static int make_file(const void *data, size_t size, char *path)
{
    int file = memfd_create("fuzz", MFD_CLOEXEC);
    demand(file >= 0, "no file in memory");
    demand(vly_checkpoint_write(file, data, size),
           "the input cannot be written");
    snprintf(path, 64, "/proc/self/fd/%d", file);
    return file;
}

static void same_again(const vly_checkpoint *checkpoint)
{
    vly_checkpoint *again = NULL;
    vly_error error = VLY_ERROR_INIT;
    vly_state_info found = {.struct_size = sizeof found};
    vly_state_info wanted = {.struct_size = sizeof wanted};
    char path[64];
    snprintf(path, sizeof path, "/tmp/fuzz_checkpoint.%ld", (long)getpid());
    demand(vly_checkpoint_save(checkpoint, path, 1, NULL, &error) == VLY_OK,
           error.message);
    vly_status status = vly_checkpoint_load(path, &again, NULL, &error);
    unlink(path);
    demand(status == VLY_OK, error.message);
    vly_state_get_info(checkpoint->state, &wanted, NULL);
    vly_state_get_info(again->state, &found, NULL);
    demand(memcmp(&found, &wanted, sizeof found) == 0,
           "saved again it is another state");
    demand(again->n_recordings == checkpoint->n_recordings,
           "saved again it has other recordings");
    demand(again->n_weights == checkpoint->n_weights &&
               again->n_traces == checkpoint->n_traces,
           "saved again it has other weights or traces");
    vly_checkpoint_destroy(again);
}

static void try_file(const char *path)
{
    vly_checkpoint *checkpoint = NULL;
    vly_checkpoint_about about;
    vly_error error = VLY_ERROR_INIT;
    vly_status status = vly_checkpoint_load(path, &checkpoint, &about, &error);
    if (status == VLY_OK) {
        same_again(checkpoint);
        vly_checkpoint_destroy(checkpoint);
        return;
    }
    demand(status == VLY_E_PARSE || status == VLY_E_NOMEM,
           "refused with another status");
    demand(strlen(error.message) > 10 && !strchr(error.message, '\n'),
           error.message); /* no sentence, or more than a line */
    demand(checkpoint == NULL, "refused, and there is a checkpoint");
}

static void try_bytes(const void *data, size_t size)
{
    char path[64];
    int file = make_file(data, size, path);
    try_file(path);
    close(file);
}

/* As the file says it is, but with sums that fit. */
static void mend_1(uint8_t *bytes, size_t size, vly_checkpoint_header *header)
{
    vly_checkpoint_entry_1 table[VLY_PARTS];
    if (size < VLY_CHECKPOINT_HEAD_BYTES_1 || size >= VLY_CHECKPOINT_BLOCK_1)
        return;
    memcpy(table, bytes + sizeof *header, sizeof table);
    for (uint32_t part = 0; part < VLY_PARTS; part++) {
        vly_checkpoint_entry_1 *entry = &table[part];
        vly_hash sum = {{entry->id, 0}};
        if (entry->offset > size || entry->stored_bytes > size - entry->offset)
            continue;
        if (entry->stored_bytes > 0)
            sum = vly_hash_bytes(sum, bytes + entry->offset,
                                 (size_t)entry->stored_bytes);
        entry->checksum = sum;
    }
    header->table_checksum = vly_checkpoint_table_sum(table, sizeof table);
    memcpy(bytes + sizeof *header, table, sizeof table);
}

static void mend_2(uint8_t *bytes, size_t size, vly_checkpoint_header *header)
{
    size_t at = sizeof *header;
    size_t left = size - at;
    if (header->n_sections > left / sizeof(vly_checkpoint_entry))
        return;
    size_t n_entries = header->n_sections * sizeof(vly_checkpoint_entry);
    left -= n_entries;
    if (header->n_frames > left / sizeof(vly_checkpoint_frame))
        return;
    size_t n_frames = (size_t)header->n_frames * sizeof(vly_checkpoint_frame);
    uint8_t *frames = bytes + at + n_entries;
    for (uint32_t i = 0; i < header->n_sections; i++) {
        vly_checkpoint_entry entry;
        memcpy(&entry, bytes + at + i * sizeof entry, sizeof entry);
        for (uint64_t k = 0;
             k < entry.n_frames && entry.first_frame < header->n_frames &&
             k < header->n_frames - entry.first_frame;
             k++) {
            vly_checkpoint_frame frame;
            uint8_t *to = frames + (entry.first_frame + k) * sizeof frame;
            memcpy(&frame, to, sizeof frame);
            if (frame.offset > size || frame.stored_bytes > size - frame.offset)
                continue;
            frame.checksum = vly_checkpoint_frame_sum(
                i, k, bytes + frame.offset, (size_t)frame.stored_bytes);
            memcpy(to, &frame, sizeof frame);
        }
    }
    header->table_checksum = vly_checkpoint_table_sum(bytes + at, n_entries);
    header->frames_checksum = vly_checkpoint_table_sum(frames, n_frames);
}

static void try_mended(const uint8_t *data, size_t size)
{
    vly_checkpoint_header header;
    if (size < sizeof header)
        return;
    uint8_t *copy = malloc(size);
    demand(copy != NULL, "no memory");
    memcpy(copy, data, size);
    memcpy(&header, copy, sizeof header);
    header.file_bytes = size;
    if (header.version == 1)
        mend_1(copy, size, &header);
    else
        mend_2(copy, size, &header);
    header.header_checksum = vly_checkpoint_header_sum(&header);
    memcpy(copy, &header, sizeof header);
    try_bytes(copy, size);
    free(copy);
}

/* ---- a small state, changed --------------------------------------------- */

/* The parts, weights of two projections, two traces. */
enum { SECTION_MOST = 512, SECTIONS = VLY_PARTS + 5 };
typedef struct raw_sections {
    vly_checkpoint_header header;
    vly_checkpoint_entry table[SECTIONS];
    uint8_t bytes[SECTIONS][SECTION_MOST];
} raw_sections;

/* Something in every section. */
static void fill_state(vly_state *state)
{
    static vly_state_area areas[] = {{0, 3, 2, 1}, {3, 2, 1, 2}};
    static uint64_t spikes[] = {5, 6};
    static uint32_t words[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static uint64_t rows[] = {0, 2, 3};
    static uint32_t fired[] = {0, 4, 1};
    static uint32_t gains[] = {16, 16, 16};
    static uint8_t weights[] = {1, 2, 3};
    static vly_pending_input pending[] = {{20, -5, 1, 0}, {21, 7, 4, 1}};
    *state =
        (vly_state){.n_neurons = 5,
                    .areas = areas,
                    .n_areas = 2,
                    .area_spikes = spikes,
                    .snapshot = {.struct_size = sizeof(vly_snapshot),
                                 .n_fired_bursts = 2,
                                 .burst = 20,
                                 .n_state_words = 8,
                                 .n_fired = 3,
                                 .state = words,
                                 .fired_row = rows,
                                 .fired = fired,
                                 .fired_gain = gains,
                                 .weights = weights,
                                 .n_weight_bytes = sizeof weights},
                    .pending = {.entries = pending, .n = 2, .capacity = 2}};
}

static void save_base(const char *path)
{
    static int32_t weights[] = {70000, -3, 5};
    static uint8_t bytes[] = {1, 2, 3, 4};
    static float trace[] = {1, 0.5f, 0.25f};
    static int16_t counts[] = {7, -7};
    static uint64_t of_rates[] = {40, 3};
    vly_state state;
    vly_error error = VLY_ERROR_INIT;
    vly_recording recordings[] = {
        {.kind = VLY_RECORDING_SPIKES, .path = "a.csv", .n_bytes = 3},
        {.kind = VLY_RECORDING_DIGESTS, .path = "b", .n_bytes = 9}};
    vly_checkpoint_weights plastic[] = {{1, VLY_STORED_I32, 3, weights},
                                        {4, VLY_STORED_U8, 4, bytes}};
    vly_checkpoint_trace traces[] = {{0, VLY_STORED_F32, "x", 3, trace},
                                     {1, VLY_STORED_I16, "y_2", 2, counts}};
    vly_checkpoint checkpoint = {.state = &state,
                                 .recordings = recordings,
                                 .n_recordings = 2,
                                 .weights = plastic,
                                 .n_weights = 2,
                                 .traces = traces,
                                 .n_traces = 2,
                                 .counts = of_rates,
                                 .n_counts = 2};
    const double values[] = {1.5, -2, 3};
    fill_state(&state);
    demand(vly_overlay_alloc(2, 3, 1, &state.overlay, &error) == VLY_OK,
           error.message);
    state.overlay->first[1] = 1;
    state.overlay->first[2] = 3;
    demand(vly_overlay_set(state.overlay, 0, 0, values, 3, &error) == VLY_OK,
           error.message);
    demand(vly_overlay_set(state.overlay, 1, 1, values, 1, &error) == VLY_OK,
           error.message);
    demand(vly_checkpoint_save(&checkpoint, path, 1, NULL, &error) == VLY_OK,
           error.message);
    vly_overlay_destroy(state.overlay);
}

static void make_base(raw_sections *base)
{
    vly_error error = VLY_ERROR_INIT;
    char path[64];
    snprintf(path, sizeof path, "/tmp/fuzz_checkpoint_base.%ld",
             (long)getpid());
    save_base(path);
    try_file(path); /* as it is, it is good */
    vly_checkpoint_source source = {.path = path, .file = -1};
    demand(vly_checkpoint_source_read(&source, &error) == VLY_OK,
           error.message);
    demand(source.n_pieces == SECTIONS, "another number of sections");
    base->header = source.header;
    for (uint32_t i = 0; i < SECTIONS; i++) {
        const vly_checkpoint_piece *piece = &source.pieces[i];
        size_t n = (size_t)piece->entry.n * piece->entry.element_bytes;
        demand(n <= SECTION_MOST, "room");
        demand(n > 0, "a section without anything");
        base->table[i] = piece->entry;
        memcpy(base->bytes[i], piece->owned, n);
    }
    vly_checkpoint_source_deinit(&source);
    unlink(path);
}

/* Six bytes: section (or 255, the header; 254, the entry of a section), where
 * in words, the new word. A position outside of the section changes its number
 * of elements. */
static void edit(raw_sections *raw, const uint8_t *data)
{
    enum { ENTRY_WORDS = sizeof(vly_checkpoint_entry) / 4 };
    uint32_t word;
    size_t at = (size_t)data[1] * 4;
    memcpy(&word, data + 2, sizeof word);
    if (data[0] == 255) {
        at = 64 + at % 64; /* from the burst to the neurons */
        memcpy((uint8_t *)&raw->header + at, &word, sizeof word);
        return;
    }
    if (data[0] == 254) { /* only those after the parts can differ */
        vly_checkpoint_entry *entry =
            &raw->table[VLY_PARTS + data[1] / ENTRY_WORDS % 4];
        uint64_t n = entry->n;
        uint32_t bytes = entry->element_bytes;
        memcpy((uint8_t *)entry + data[1] % ENTRY_WORDS * 4, &word,
               sizeof word);
        entry->n = n;
        entry->element_bytes = bytes;
        return;
    }
    uint32_t part = data[0] % SECTIONS;
    vly_checkpoint_entry *entry = &raw->table[part];
    if (at + 4 <= entry->n * entry->element_bytes)
        memcpy(raw->bytes[part] + at, &word, sizeof word);
    else
        entry->n = word % (SECTION_MOST / entry->element_bytes + 1);
}

static void pack_again(raw_sections *raw, int file)
{
    vly_checkpoint_piece pieces[SECTIONS];
    vly_checkpoint_frame frames[SECTIONS];
    vly_error error = VLY_ERROR_INIT;
    uint64_t n_frames = 0;
    for (uint32_t i = 0; i < SECTIONS; i++) {
        vly_checkpoint_entry *entry = &raw->table[i];
        entry->frame_elements =
            vly_checkpoint_frame_elements(entry->element_bytes);
        entry->first_frame = n_frames;
        entry->n_frames = entry->n > 0;
        n_frames += entry->n_frames;
        pieces[i] =
            (vly_checkpoint_piece){.entry = *entry, .bytes = raw->bytes[i]};
    }
    size_t n = (size_t)n_frames * sizeof *frames;
    uint64_t at = sizeof raw->header + sizeof raw->table + n;
    demand(vly_frames_write(file, "fuzz", pieces, SECTIONS, frames, &at,
                            &error) == VLY_OK,
           error.message);
    raw->header.file_bytes = at;
    raw->header.n_frames = n_frames;
    raw->header.frames_checksum = vly_checkpoint_table_sum(frames, n);
    raw->header.table_checksum =
        vly_checkpoint_table_sum(raw->table, sizeof raw->table);
    raw->header.header_checksum = vly_checkpoint_header_sum(&raw->header);
    demand(lseek(file, 0, SEEK_SET) >= 0 &&
               vly_checkpoint_write(file, &raw->header, sizeof raw->header) &&
               vly_checkpoint_write(file, raw->table, sizeof raw->table) &&
               vly_checkpoint_write(file, frames, n),
           "head");
}

static void try_edited(const uint8_t *data, size_t size)
{
    static raw_sections base;
    static bool made;
    raw_sections raw;
    char path[64];
    if (!made)
        make_base(&base);
    made = true;
    raw = base;
    for (; size >= 6; size -= 6, data += 6)
        edit(&raw, data);
    int file = make_file("", 0, path);
    pack_again(&raw, file);
    try_file(path);
    close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t before = vly_memory_live();
    if (size >= 4 && memcmp(data, "EDIT", 4) == 0) {
        try_edited(data + 4, size - 4);
    } else {
        try_bytes(data, size);
        try_mended(data, size);
    }
    demand(vly_memory_live() == before, "memory is left");
    return 0;
}
