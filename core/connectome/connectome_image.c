/* SPDX-License-Identifier: Apache-2.0
 * Records and pieces of the file, in the order of the connectome.
 */
#include "connectome/connectome_image.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

const char *vly_section_name(uint32_t section)
{
    static const char *const names[] = {
#define SECTION_NAME(NAME, name, bytes) name,
        VLY_SECTION_TABLE(SECTION_NAME)
#undef SECTION_NAME
    };
    return section < VLY_SECTIONS ? names[section] : "unknown";
}

uint32_t vly_section_element(uint32_t section)
{
    static const uint32_t bytes_of[] = {
#define SECTION_BYTES(NAME, name, bytes) bytes,
        VLY_SECTION_TABLE(SECTION_BYTES)
#undef SECTION_BYTES
    };
    return section < VLY_SECTIONS ? bytes_of[section] : 1;
}

static uint64_t aligned(uint64_t at)
{
    return (at + VLY_FILE_ALIGN - 1) / VLY_FILE_ALIGN * VLY_FILE_ALIGN;
}

/* While records are filled, an offset is relative to its section, and failed
 * is set on the first allocation that fails. */
typedef struct image_writer {
    vly_image *image;
    const vly_connectome *connectome;
    vly_file_area *areas;
    vly_file_column *columns;
    vly_file_projection *projections;
    vly_file_stimulus *stimuli;
    uint32_t n_columns;
    uint32_t n_learning;
    char *text;
    uint64_t n_text;
    uint64_t text_capacity;
    bool failed;
} image_writer;

static uint64_t put_piece(image_writer *writer, uint32_t section,
                          vly_image_piece piece, uint64_t n)
{
    vly_image_section *to = &writer->image->sections[section];
    if (to->n_pieces == to->capacity) {
        size_t capacity = to->capacity ? 2 * to->capacity : 16;
        vly_image_piece *pieces =
            vly_realloc(to->pieces, capacity, sizeof(*pieces));
        if (!pieces) {
            writer->failed = true;
            return 0;
        }
        to->pieces = pieces;
        to->capacity = capacity;
    }
    piece.at = aligned(to->bytes);
    piece.bytes = n * vly_section_element(section);
    to->pieces[to->n_pieces++] = piece;
    to->bytes = piece.at + piece.bytes;
    return piece.at;
}

/* Adds an array to a section; returns where it begins in the section. */
static uint64_t put(image_writer *writer, uint32_t section, const void *data,
                    uint64_t n)
{
    return put_piece(writer, section, (vly_image_piece){.data = data}, n);
}

/* A whole block of one word, which all long pieces of that word share; so no
 * thread that hashes them fills a buffer. */
static const int16_t *fill_of(image_writer *writer, int16_t word)
{
    const vly_image_section *of = &writer->image->sections[VLY_SECTION_WEIGHTS];
    for (size_t i = 0; i < of->n_pieces; i++)
        if (of->pieces[i].fill && of->pieces[i].word == word)
            return of->pieces[i].fill;
    int16_t *fill = vly_storage_alloc(&writer->image->scratch, 1,
                                      (size_t)VLY_FILE_BLOCK, false);
    for (size_t i = 0; fill && i < VLY_FILE_BLOCK / sizeof *fill; i++)
        fill[i] = word;
    writer->failed = writer->failed || !fill;
    return fill;
}

/* The weights of a projection: the file has each of them. */
static uint64_t put_weights(image_writer *writer,
                            const vly_projection_desc *desc, uint64_t n)
{
    vly_image_piece piece = {.data = desc->weight};
    if (!desc->weight) {
        piece.word = (int16_t)desc->one_weight;
        if (n >= VLY_FILE_BLOCK / sizeof piece.word)
            piece.fill = fill_of(writer, piece.word);
    }
    return put_piece(writer, VLY_SECTION_WEIGHTS, piece, n);
}

static uint32_t put_text(image_writer *writer, const char *text)
{
    size_t bytes = strlen(text) + 1;
    if (writer->n_text + bytes > writer->text_capacity) {
        uint64_t capacity = 2 * (writer->text_capacity + bytes);
        char *grown = vly_realloc(writer->text, (size_t)capacity, 1);
        if (!grown || capacity > UINT32_MAX) {
            writer->text = grown ? grown : writer->text;
            writer->failed = true;
            return 0;
        }
        writer->text = grown;
        writer->text_capacity = capacity;
    }
    uint32_t at = (uint32_t)writer->n_text;
    memcpy(writer->text + at, text, bytes);
    writer->n_text += bytes;
    return at;
}

static void put_column(image_writer *writer, const char *name, uint32_t type,
                       bool uniform, uint64_t offset, uint32_t n_neurons)
{
    writer->columns[writer->n_columns++] =
        (vly_file_column){.name = put_text(writer, name),
                          .type = type,
                          .uniform = uniform ? 1 : 0,
                          .offset = offset,
                          .n = uniform ? 1 : n_neurons};
}

static void put_columns(image_writer *writer, uint32_t a, uint64_t state_word)
{
    const vly_connectome_area *area = &writer->connectome->areas[a];
    const vly_area_desc *desc = &writer->connectome->desc.areas[a];
    const vly_model_info *model = area->model;
    for (uint32_t p = 0; p < model->n_params; p++) {
        const vly_param_column *column = &area->params[p];
        uint64_t at = put(writer, VLY_SECTION_PARAMS, column->values,
                          column->uniform ? 1 : area->n_neurons);
        put_column(writer, model->params[p].name, VLY_FILE_TYPE_F64,
                   column->uniform, at, area->n_neurons);
    }
    for (uint32_t f = 0; f < model->n_fields; f++)
        put_column(writer, model->fields[f].name, model->fields[f].type, false,
                   (state_word + (uint64_t)f * area->n_neurons) * 4,
                   area->n_neurons);
    for (uint32_t c = 0; c < model->n_coefs; c++) {
        const vly_column *column = &desc->coefs[c];
        uint64_t at = put(writer, VLY_SECTION_COEFS, column->words,
                          column->uniform ? 1 : area->n_neurons);
        put_column(writer, model->coefs[c].name, column->type,
                   column->uniform != 0, at, area->n_neurons);
    }
}

static uint64_t put_area(image_writer *writer, uint32_t a, uint64_t state_word)
{
    const vly_connectome_area *area = &writer->connectome->areas[a];
    const vly_area_desc *desc = &writer->connectome->desc.areas[a];
    vly_file_area *record = &writer->areas[a];
    record->name = put_text(writer, area->name);
    /* a user's model is its definition */
    const char *definition = vly_model_definition(area->model);
    record->model = put_text(writer, definition ? definition : area->model->id);
    record->model_hash = area->model->table_hash;
    record->first = area->first;
    record->n_neurons = area->n_neurons;
    record->flags = desc->flags;
    record->n_ports = desc->n_ports;
    record->has_voxels = area->has_voxels;
    record->neurons_per_voxel = area->neurons_per_voxel;
    record->n_params = area->model->n_params;
    record->n_fields = area->model->n_fields;
    record->n_coefs = area->model->n_coefs;
    record->first_column = writer->n_columns;
    for (int i = 0; i < 3; i++) {
        record->voxels[i] = area->voxels[i];
        record->at[i] = area->at[i];
    }
    for (uint32_t port = 0; port < desc->n_ports; port++) {
        uint64_t at =
            put(writer, VLY_SECTION_LOADS, area->load[port], area->n_neurons);
        if (port < 2) {
            record->q[port] = area->q[port];
            record->scale[port] = desc->scale[port];
            record->load[port] = at;
        } else {
            record->q_more[port - 2] = (int16_t)area->q[port];
        }
    }
    put_columns(writer, a, state_word);
    return state_word + (uint64_t)area->n_neurons * desc->n_fields;
}

static void put_projection(image_writer *writer, uint32_t p)
{
    const vly_connectome *connectome = writer->connectome;
    const vly_connectome_projection *made = &connectome->projections[p];
    const vly_projection_desc *desc = &connectome->desc.projections[p];
    vly_file_projection *record = &writer->projections[p];
    uint64_t n = made->n_synapses;
    uint64_t n_rows =
        (uint64_t)connectome->areas[desc->source_area].n_neurons + 1;
    record->map = put_text(writer, desc->map);
    record->source_area = desc->source_area;
    record->target_area = desc->target_area;
    record->port = desc->port;
    record->flags = desc->flags;
    record->base_delay = desc->base_delay;
    record->delay_max = desc->delay_max;
    record->shift = desc->shift;
    record->n = n;
    record->worst_rounding = made->worst_rounding;
    record->weight_min = made->weight_min;
    record->weight_max = made->weight_max;
    record->row = put(writer, VLY_SECTION_ROWS, desc->row, n_rows);
    record->target = put(writer, VLY_SECTION_TARGETS, desc->target, n);
    record->weight = put_weights(writer, desc, n);
    if (desc->delay)
        record->delay = put(writer, VLY_SECTION_DELAYS, desc->delay, n);
}

/* How the projection learns, or its short-term plasticity, of which `most` has
 * the bursts. */
static void put_learning(image_writer *writer, uint32_t p)
{
    const vly_projection_desc *of = &writer->connectome->desc.projections[p];
    const vly_learning_desc *learning = of->learning;
    const vly_short_term_desc *fast = of->short_term;
    const vly_connectome_learning *given =
        vly_connectome_rule(&writer->connectome->projections[p]);
    vly_file_learning *record = &writer->image->learning[writer->n_learning++];
    record->projection = p;
    record->flags = learning ? learning->flags : fast->flags;
    /* a user's rule is its definition */
    const char *definition = vly_plasticity_definition(given->info);
    record->rule = put_text(writer, definition ? definition : given->info->id);
    record->rule_hash = learning ? learning->rule_hash : fast->rule_hash;
    record->n_coefs = given->info->n_coefs;
    record->coefs =
        put(writer, VLY_SECTION_COEFS, learning ? learning->coefs : fast->coefs,
            record->n_coefs);
    record->most = learning ? learning->most : fast->bursts;
    record->name = put_text(writer, given->name);
    record->params = put(writer, VLY_SECTION_PARAMS, given->params,
                         vly_learning_values(given->info));
    if (!learning)
        return;
    memcpy(record->source, learning->source, sizeof(record->source));
    memcpy(record->target, learning->target, sizeof(record->target));
}

static void put_stimulus(image_writer *writer, uint32_t s)
{
    const vly_connectome *connectome = writer->connectome;
    const vly_connectome_stimulus *stimulus = &connectome->stimuli[s];
    vly_file_stimulus *record = &writer->stimuli[s];
    record->id = put_text(writer, stimulus->id);
    record->kind = (uint32_t)stimulus->kind;
    record->area = stimulus->area;
    record->first = stimulus->first;
    record->n_neurons = stimulus->n_neurons;
    record->port = stimulus->port;
    record->listed = stimulus->listed;
    record->drawn_index = stimulus->desc_index;
    record->rate_hz = stimulus->rate_hz;
    record->weight = stimulus->weight;
    record->mean = stimulus->mean;
    record->sd = stimulus->sd;
    record->start = stimulus->start;
    record->stop = stimulus->stop;
    record->n_inputs = stimulus->n_inputs;
    if (stimulus->n_inputs)
        record->inputs = put(writer, VLY_SECTION_INPUTS, stimulus->inputs,
                             stimulus->n_inputs);
    if (stimulus->desc_index == VLY_NO_INDEX)
        return;
    const vly_stimulus_desc *desc =
        &connectome->desc.stimuli[stimulus->desc_index];
    record->stream = desc->stream;
    record->base = desc->base;
    record->step = desc->step;
    record->flags = desc->flags;
    record->n_thresholds = desc->n_thresholds;
    if (desc->n_thresholds)
        record->thresholds = put(writer, VLY_SECTION_THRESHOLDS,
                                 desc->thresholds, desc->n_thresholds);
}

static vly_status writer_init(image_writer *writer, vly_image *image,
                              const vly_connectome *connectome,
                              vly_error *error)
{
    const vly_net_desc *desc = &connectome->desc;
    vly_storage *scratch = &image->scratch;
    uint64_t n_columns = 0;
    uint32_t n_learning = 0;
    for (uint32_t p = 0; p < desc->n_projections; p++)
        n_learning += vly_connectome_rule(&connectome->projections[p]) != NULL;
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const vly_model_info *model = connectome->areas[a].model;
        n_columns += model->n_params + model->n_fields + model->n_coefs;
    }
    *writer = (image_writer){.image = image, .connectome = connectome};
    writer->areas =
        vly_storage_alloc(scratch, desc->n_areas, sizeof(*writer->areas), true);
    writer->columns = vly_storage_alloc(scratch, (size_t)n_columns,
                                        sizeof(*writer->columns), true);
    writer->projections = vly_storage_alloc(scratch, desc->n_projections,
                                            sizeof(*writer->projections), true);
    writer->stimuli = vly_storage_alloc(scratch, connectome->n_stimuli,
                                        sizeof(*writer->stimuli), true);
    if (n_learning)
        image->learning = vly_storage_alloc(scratch, n_learning,
                                            sizeof(*image->learning), true);
    if (!writer->areas || !writer->columns || !writer->projections ||
        !writer->stimuli || (n_learning && !image->learning))
        return vly_fail_nomem(error, n_columns * 32, "records of a file");
    return VLY_OK;
}

static void put_records(image_writer *writer)
{
    const vly_connectome *connectome = writer->connectome;
    const vly_net_desc *desc = &connectome->desc;
    uint64_t state_word = 0;
    put_text(writer, ""); /* so that the text section is never empty */
    for (uint32_t a = 0; a < desc->n_areas; a++)
        state_word = put_area(writer, a, state_word);
    for (uint32_t p = 0; p < desc->n_projections; p++)
        put_projection(writer, p);
    for (uint32_t p = 0; p < desc->n_projections; p++)
        if (vly_connectome_rule(&connectome->projections[p]))
            put_learning(writer, p);
    for (uint32_t s = 0; s < connectome->n_stimuli; s++)
        put_stimulus(writer, s);
    put(writer, VLY_SECTION_AREAS, writer->areas, desc->n_areas);
    put(writer, VLY_SECTION_COLUMNS, writer->columns, writer->n_columns);
    put(writer, VLY_SECTION_PROJECTIONS, writer->projections,
        desc->n_projections);
    put(writer, VLY_SECTION_STIMULI, writer->stimuli, connectome->n_stimuli);
    put(writer, VLY_SECTION_TEXT, writer->text, writer->n_text);
    put(writer, VLY_SECTION_STATE, connectome->start.state, state_word);
    put(writer, VLY_SECTION_OUT_DEGREE, desc->out_degree, desc->n_neurons);
    put(writer, VLY_SECTION_RESOLVED, connectome->resolved,
        strlen(connectome->resolved) + 1);
}

/* Offsets in records become absolute. */
static void records_place(image_writer *writer)
{
    const vly_file_section *table = writer->image->table;
    const vly_net_desc *desc = &writer->connectome->desc;
    for (uint32_t a = 0; a < desc->n_areas; a++)
        for (uint32_t port = 0; port < 2 && port < writer->areas[a].n_ports;
             port++)
            writer->areas[a].load[port] += table[VLY_SECTION_LOADS].offset;
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const vly_file_area *area = &writer->areas[a];
        vly_file_column *column = writer->columns + area->first_column;
        for (uint32_t i = 0; i < area->n_params; i++)
            (column++)->offset += table[VLY_SECTION_PARAMS].offset;
        for (uint32_t i = 0; i < area->n_fields; i++)
            (column++)->offset += table[VLY_SECTION_STATE].offset;
        for (uint32_t i = 0; i < area->n_coefs; i++)
            (column++)->offset += table[VLY_SECTION_COEFS].offset;
    }
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        vly_file_projection *record = &writer->projections[p];
        record->row += table[VLY_SECTION_ROWS].offset;
        record->target += table[VLY_SECTION_TARGETS].offset;
        record->weight += table[VLY_SECTION_WEIGHTS].offset;
        if (desc->projections[p].delay)
            record->delay += table[VLY_SECTION_DELAYS].offset;
    }
    for (uint32_t i = 0; i < writer->n_learning; i++) {
        vly_file_learning *record = &writer->image->learning[i];
        record->coefs += table[VLY_SECTION_COEFS].offset;
        record->params += table[VLY_SECTION_PARAMS].offset;
    }
    for (uint32_t s = 0; s < writer->connectome->n_stimuli; s++) {
        vly_file_stimulus *record = &writer->stimuli[s];
        if (record->n_thresholds)
            record->thresholds += table[VLY_SECTION_THRESHOLDS].offset;
        if (record->n_inputs)
            record->inputs += table[VLY_SECTION_INPUTS].offset;
    }
}

static void header_fill(vly_image *image, const vly_connectome *connectome,
                        uint32_t n_columns)
{
    const vly_net_desc *desc = &connectome->desc;
    vly_file_header *header = &image->header;
    memcpy(header->magic, VLY_FILE_MAGIC, sizeof(header->magic));
    header->version = vly_connectome_remembers(connectome)
                          ? VLY_FILE_VERSION_MEMORY
                          : VLY_FILE_VERSION;
    header->endian = VLY_FILE_ENDIAN;
    header->n_sections = VLY_SECTIONS;
    header->entry_bytes = sizeof(vly_file_section);
    header->table = sizeof(vly_file_header);
    header->genome_hash = connectome->genome_hash;
    header->seed_network = connectome->seed_network;
    header->seed_state = connectome->seed_state;
    header->seed_input = desc->seed_input;
    header->dt_ms = desc->dt_ms;
    header->n_bursts = connectome->n_bursts;
    header->n_synapses = desc->n_synapses;
    header->n_state_words = connectome->start.n_state_words;
    header->n_neurons = desc->n_neurons;
    header->n_areas = desc->n_areas;
    header->n_projections = desc->n_projections;
    header->n_stimuli = connectome->n_stimuli;
    header->n_drawn = desc->n_stimuli;
    header->max_delay = desc->max_delay;
    header->feagi_q = desc->feagi_q;
    header->n_columns = n_columns;
}

static void table_fill(vly_image *image, uint32_t n_learning)
{
    uint64_t at = VLY_FILE_HEAD_BYTES;
    for (uint32_t s = 0; s < VLY_SECTIONS; s++) {
        image->table[s] = (vly_file_section){
            .id = s + 1, .offset = at, .bytes = image->sections[s].bytes};
        at = aligned(at + image->sections[s].bytes);
    }
    if (n_learning) {
        image->header.learning = at;
        image->header.learning_bytes = n_learning * sizeof(vly_file_learning);
        at = aligned(at + image->header.learning_bytes);
    }
    image->header.file_bytes = at;
}

vly_status vly_image_lay(vly_image *image, const vly_connectome *connectome,
                         vly_error *error)
{
    vly_status status;
    image_writer writer;
    memset(image, 0, sizeof(*image));
    VLY_TRY(writer_init(&writer, image, connectome, error));
    put_records(&writer);
    if (writer.text && !writer.failed &&
        vly_storage_adopt(&image->scratch, writer.text, writer.text_capacity))
        writer.text = NULL;
    else
        writer.failed = true;
    vly_free(writer.text);
    if (writer.failed)
        VLY_TRY(
            vly_fail_nomem(error, writer.n_text + 4096, "records of a file"));
    header_fill(image, connectome, writer.n_columns);
    table_fill(image, writer.n_learning);
    records_place(&writer);
out:
    if (status != VLY_OK)
        vly_image_deinit(image);
    return status;
}

vly_status vly_image_init(vly_image *image, const vly_connectome *connectome,
                          uint32_t n_threads, vly_error *error)
{
    vly_hash checksums[VLY_SECTIONS];
    vly_status status = VLY_OK;
    VLY_TRY(vly_image_lay(image, connectome, error));
    VLY_TRY(vly_image_checksums(image, 0, n_threads, checksums, error));
    vly_image_sign(image, checksums);
out:
    if (status != VLY_OK)
        vly_image_deinit(image);
    return status;
}

void vly_image_deinit(vly_image *image)
{
    for (uint32_t s = 0; s < VLY_SECTIONS; s++)
        vly_free(image->sections[s].pieces);
    vly_storage_deinit(&image->scratch);
    memset(image, 0, sizeof(*image));
}

/* Bytes [at, at + n) of its section */
static void copy_piece(const vly_image_piece *piece, uint64_t at, size_t n,
                       unsigned char *to)
{
    if (piece->data)
        memcpy(to, (const unsigned char *)piece->data + (at - piece->at), n);
    for (size_t i = 0; !piece->data && i + 2 <= n; i += 2)
        memcpy(to + i, &piece->word, 2);
}

const void *vly_image_bytes(const vly_image *image, uint32_t section,
                            uint64_t at, size_t n, void *buffer)
{
    const vly_image_section *from = &image->sections[section];
    size_t low = 0; /* the last piece that begins at or before at */
    size_t high = from->n_pieces;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (from->pieces[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    const vly_image_piece *piece = &from->pieces[low];
    if (n && piece->at <= at && at + n <= piece->at + piece->bytes) {
        if (piece->fill)
            return piece->fill;
        if (piece->data)
            return (const unsigned char *)piece->data + (at - piece->at);
    }
    memset(buffer, 0, n);
    for (; low < from->n_pieces; low++) {
        piece = &from->pieces[low];
        uint64_t first = piece->at > at ? piece->at : at;
        uint64_t last = piece->at + piece->bytes;
        if (last > at + n)
            last = at + n;
        if (piece->at >= at + n)
            break;
        if (first < last)
            copy_piece(piece, first, (size_t)(last - first),
                       (unsigned char *)buffer + (first - at));
    }
    return buffer;
}
