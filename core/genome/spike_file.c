/* SPDX-License-Identifier: Apache-2.0
 * Spikes from comma-separated text, from SONATA files (read by record, in a
 * child process) and from columns of a program. A time is the end of its burst,
 * as in recordings: what was recorded comes again in the same bursts.
 */
#include "genome/spike_file.h"

#include <volley/record.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "genome/csv_reader.h"
#include "genome/genome_table.h"
#include "genome/spike_list.h"

/* ---- columns ------------------------------------------------------------ */

typedef enum spike_column {
    COLUMN_TIME,
    COLUMN_BURST,
    COLUMN_NEURON,
    COLUMN_WEIGHT,
    COLUMN_AREA,
    COLUMNS
} spike_column;

static spike_column column_of(const char *name)
{
    static const char *const names[] = {"time_ms", "burst", "neuron", "weight",
                                        "area"};
    for (int i = 0; i < COLUMNS; i++)
        if (strcmp(name, names[i]) == 0)
            return (spike_column)i;
    return strncmp(name, "weight_", 7) == 0 ? COLUMN_WEIGHT : COLUMNS;
}

/* *wrong: the column that the sentence is about, n if none; the sentence is
 * empty if it has another name. */
static bool find_columns(const vly_spike_file_spec *spec,
                         const char *const *names, uint32_t n,
                         uint32_t fields[COLUMNS], uint32_t *wrong,
                         char sentence[VLY_SPIKE_SENTENCE])
{
    const char *suffix = spec->weight_suffix;
    *sentence = 0;
    for (int i = 0; i < COLUMNS; i++)
        fields[i] = n;
    for (*wrong = 0; *wrong < n; (*wrong)++) {
        const char *name = names[*wrong];
        const spike_column column = column_of(name);
        if (column == COLUMNS)
            return false;
        if (fields[column] < n)
            snprintf(sentence, VLY_SPIKE_SENTENCE,
                     "column %.40s beside %.40s, wanted one", name,
                     names[fields[column]]);
        else if (column == COLUMN_WEIGHT && name[6] &&
                 strcmp(name + 7, suffix) != 0)
            snprintf(sentence, VLY_SPIKE_SENTENCE,
                     "column %.40s, wanted weight%s%s", name,
                     *suffix ? "_" : "", suffix);
        else if (column == COLUMN_WEIGHT && spec->own_weight)
            snprintf(sentence, VLY_SPIKE_SENTENCE,
                     "column %.40s, but the genome gives the weight, wanted "
                     "one of them",
                     name);
        if (*sentence)
            return false;
        fields[column] = *wrong;
    }
    if (fields[COLUMN_TIME] == n && fields[COLUMN_BURST] == n)
        snprintf(sentence, VLY_SPIKE_SENTENCE,
                 "no column time_ms, wanted it, or burst");
    else if (fields[COLUMN_NEURON] == n)
        snprintf(sentence, VLY_SPIKE_SENTENCE, "no column neuron, wanted it");
    else if (fields[COLUMN_WEIGHT] == n && !spec->own_weight)
        snprintf(sentence, VLY_SPIKE_SENTENCE,
                 "no column weight and no weight in the genome, wanted one of "
                 "them");
    else if (spec->population && fields[COLUMN_AREA] == n)
        snprintf(sentence, VLY_SPIKE_SENTENCE,
                 "no column area, wanted it or an HDF5 file, or no population");
    return *sentence == 0;
}

/* ---- text --------------------------------------------------------------- */

static vly_status check_area(vly_csv *csv, uint32_t field)
{
    const char *text = csv->fields[field];
    while (*text) {
        const size_t n = vly_utf8_length(text, strlen(text));
        if (n == 0)
            return vly_csv_fail(csv, field,
                                "area has a byte %u, which is no UTF-8, wanted "
                                "the name of an area",
                                (unsigned char)*text);
        text += n;
    }
    return VLY_OK;
}

/* Whether the line is of the population; without one all lines are of the area
 * of the first. */
static vly_status is_mine(vly_csv *csv, uint32_t field, const char *population,
                          vly_spike_areas *areas, bool *mine)
{
    *mine = true;
    if (field == csv->n_fields)
        return VLY_OK;
    const char *found = csv->fields[field];
    const char *wanted =
        population || areas->n == 0 ? population : areas->names[0];
    vly_status status = VLY_OK;
    if (wanted && strcmp(found, wanted) == 0)
        return VLY_OK;
    VLY_TRY(check_area(csv, field));
    if (wanted && !population)
        return vly_csv_fail(csv, field,
                            "area %.60s after %.60s, wanted one, or population "
                            "= \"NAME\" in the genome",
                            found, wanted);
    *mine = !population;
    status = vly_spike_areas_add(areas, found, csv->error);
out:
    return status;
}

static vly_status read_line(vly_csv *csv, const uint32_t fields[COLUMNS],
                            const vly_spike_file_spec *spec,
                            vly_spike_list *list)
{
    const uint32_t time = fields[COLUMN_TIME];
    vly_file_spike spike = {.place = (uint32_t)csv->line};
    char sentence[VLY_SPIKE_SENTENCE];
    double number = 0;
    vly_status status;
    VLY_TRY(vly_csv_number(
        csv, time < csv->n_fields ? time : fields[COLUMN_BURST], &number));
    if (time < csv->n_fields) {
        if (!vly_spike_burst(spec, number, list, &spike.burst, sentence))
            return vly_csv_fail(csv, time, "time_ms is %s", sentence);
    } else if (!(number >= 0 && number <= 0x1p53) ||
               vly_floor(number) != number) {
        return vly_csv_fail(csv, fields[COLUMN_BURST],
                            "burst is %.9g, wanted a whole number from 0 to "
                            "2^53",
                            number);
    } else {
        spike.burst = (uint64_t)number;
    }
    VLY_TRY(vly_csv_index(csv, fields[COLUMN_NEURON], spec->n_neurons,
                          &spike.neuron));
    if (list->has_weight) {
        VLY_TRY(vly_csv_number(csv, fields[COLUMN_WEIGHT], &spike.weight));
        spike.weight += 0.0; /* -0 becomes 0 */
        if (!vly_spike_weight_fits(spike.weight, sentence))
            return vly_csv_fail(csv, fields[COLUMN_WEIGHT], "%s", sentence);
    }
    status = vly_spike_list_add(list, &spike, csv->name, csv->error);
out:
    return status;
}

/* The header of a file that is not a table of spikes is not shown. */
static vly_status fail_header(vly_csv *csv, uint32_t field,
                              const char *sentence)
{
    if (*sentence)
        return vly_csv_fail(csv, field, "%s", sentence);
    if (vly_csv_column(csv, "neuron") < csv->n_fields ||
        vly_csv_column(csv, "time_ms") < csv->n_fields)
        return vly_csv_fail(csv, field,
                            "column %.40s, wanted time_ms, neuron, weight, "
                            "burst and area, separated by commas",
                            csv->names[field]);
    return vly_csv_fail(csv, field,
                        "column %u has another name, wanted time_ms, neuron, "
                        "weight, burst and area, separated by commas",
                        field + 1);
}

static vly_status read_header(vly_csv *csv, const vly_spike_file_spec *spec,
                              uint32_t fields[COLUMNS])
{
    char sentence[VLY_SPIKE_SENTENCE];
    uint32_t wrong = 0;
    const char **names = vly_calloc(csv->n_fields, sizeof(*names));
    if (!names)
        return vly_fail_nomem(csv->error, csv->n_fields * sizeof(*names),
                              "names of columns");
    for (uint32_t i = 0; i < csv->n_fields; i++)
        names[i] = csv->names[i];
    const bool good =
        find_columns(spec, names, csv->n_fields, fields, &wrong, sentence);
    vly_free(names);
    return good ? VLY_OK : fail_header(csv, wrong, sentence);
}

vly_status vly_spikes_from_text(FILE *file, const char *name,
                                const vly_spike_file_spec *spec,
                                vly_spike_list *list, vly_error *error)
{
    vly_csv csv;
    uint32_t fields[COLUMNS];
    bool more = true;
    bool mine = true;
    vly_status status;
    VLY_TRY(vly_csv_init(&csv, file, name, error));
    VLY_TRY(read_header(&csv, spec, fields));
    csv.is_ours = true;
    list->has_weight = fields[COLUMN_WEIGHT] < csv.n_fields;
    for (;;) {
        VLY_TRY(vly_csv_next(&csv, &more));
        if (!more)
            break;
        VLY_TRY(is_mine(&csv, fields[COLUMN_AREA], spec->population,
                        &list->areas, &mine));
        if (mine)
            VLY_TRY(read_line(&csv, fields, spec, list));
    }
    vly_spike_list_sort(list);
out:
    vly_csv_deinit(&csv);
    return status;
}

/* ---- SONATA ------------------------------------------------------------- */

typedef struct sonata_spikes {
    const char *path;
    const vly_spike_file_spec *spec;
    vly_spike_list *list;
    char name[200]; /* of the population */
    uint32_t n_populations;
} sonata_spikes;

static int want_population(void *context, const char *name)
{
    const sonata_spikes *of = context;
    return !of->spec->population ||
           vly_spike_population_is(of->spec->population, name);
}

static vly_status take_population(void *context, const char *name,
                                  vly_error *error)
{
    sonata_spikes *of = context;
    if (of->n_populations++ > 0)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: /spikes has %.60s and %.60s, wanted one "
                        "population, or population = \"NAME\" in the genome",
                        of->path, of->name, name);
    snprintf(of->name, sizeof(of->name), "%s", name);
    return of->spec->population
               ? VLY_OK
               : vly_spike_areas_add(&of->list->areas, name, error);
}

static vly_status take_spikes(void *context, uint64_t first, uint32_t n,
                              const double *times_ms, const uint64_t *nodes,
                              vly_error *error)
{
    sonata_spikes *of = context;
    vly_status status = VLY_OK;
    char sentence[VLY_SPIKE_SENTENCE];
    for (uint32_t i = 0; i < n; i++) {
        vly_file_spike spike = {.place = (uint32_t)(first + i)};
        const char *set = "timestamps";
        bool good = vly_spike_burst(of->spec, times_ms[i], of->list,
                                    &spike.burst, sentence);
        if (good && nodes[i] >= of->spec->n_neurons) {
            good = false;
            set = "node_ids";
            snprintf(sentence, VLY_SPIKE_SENTENCE,
                     "%" PRIu64 ", wanted a whole number from 0 to %u",
                     nodes[i], of->spec->n_neurons - 1);
        }
        if (!good)
            return vly_fail(error, VLY_E_PARSE,
                            "%.300s: /spikes/%.60s/%s[%" PRIu64 "] is %s",
                            of->path, of->name, set, first + i, sentence);
        spike.neuron = (uint32_t)nodes[i];
        VLY_TRY(vly_spike_list_add(of->list, &spike, of->path, error));
    }
out:
    return status;
}

static int want_all(void *context, const char *name)
{
    (void)context;
    (void)name;
    return 1;
}

static vly_status name_population(void *context, const char *name,
                                  vly_error *error)
{
    sonata_spikes *of = context;
    return vly_spike_areas_add(&of->list->areas, name, error);
}

static vly_status skip_spikes(void *context, uint64_t first, uint32_t n,
                              const double *times_ms, const uint64_t *nodes,
                              vly_error *error)
{
    (void)context, (void)first, (void)n, (void)times_ms, (void)nodes;
    (void)error;
    return VLY_OK;
}

/* The names are read for the message only: the child process that asks for
 * populations cannot hand on those that were not wanted. */
static vly_status no_population(sonata_spikes *of, vly_error *error)
{
    const vly_sonata_want want = {
        .struct_size = sizeof want, .context = of, .population = want_all};
    const vly_sonata_take take = {.struct_size = sizeof take,
                                  .context = of,
                                  .population = name_population,
                                  .spikes = skip_spikes};
    char found[VLY_SPIKE_AREAS_TEXT];
    vly_status status;
    VLY_TRY(vly_sonata_read_spikes(of->path, &want, &take, error));
    status = vly_fail(error, VLY_E_PARSE,
                      "%.300s: /spikes has no population %.60s, found %s, "
                      "wanted one of them",
                      of->path, of->spec->population,
                      vly_spike_areas_text(&of->list->areas, found));
out:
    return status;
}

vly_status vly_spikes_from_sonata(const char *path,
                                  const vly_spike_file_spec *spec,
                                  vly_spike_list *list, vly_error *error)
{
    sonata_spikes of = {.path = path, .spec = spec, .list = list};
    const vly_sonata_want want = {.struct_size = sizeof want,
                                  .context = &of,
                                  .population = want_population};
    const vly_sonata_take take = {.struct_size = sizeof take,
                                  .context = &of,
                                  .population = take_population,
                                  .spikes = take_spikes};
    vly_status status;
    if (!spec->own_weight)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: SONATA spikes have no weight, wanted one in "
                        "the genome",
                        path);
    VLY_TRY(vly_sonata_read_spikes(path, &want, &take, error));
    if (of.n_populations == 0)
        return no_population(&of, error);
    vly_spike_list_sort(list);
out:
    return status;
}

/* ---- columns of a program ----------------------------------------------- */

static vly_status load_column(const vly_table *table, uint32_t field, double lo,
                              double hi, bool whole, double **values,
                              vly_error *error)
{
    uint32_t n = 0;
    if (field == table->n_columns)
        return VLY_OK;
    const char *name = table->columns[field].name;
    const vly_value_spec spec = {
        .what = name, .lo = lo, .hi = hi, .whole = whole, .neurons = true};
    return vly_values_from_column(table, name, &spec, values, &n, error);
}

static vly_status take_row(const vly_table *table,
                           const vly_spike_file_spec *spec,
                           double *const values[COLUMNS], uint64_t row,
                           vly_spike_list *list, vly_error *error)
{
    char sentence[VLY_SPIKE_SENTENCE];
    vly_file_spike spike = {.place = (uint32_t)row,
                            .neuron = (uint32_t)values[COLUMN_NEURON][row]};
    if (!values[COLUMN_TIME])
        spike.burst = (uint64_t)values[COLUMN_BURST][row];
    else if (!vly_spike_burst(spec, values[COLUMN_TIME][row], list,
                              &spike.burst, sentence))
        return vly_fail(error, VLY_E_PARSE,
                        "%.200s: row %" PRIu64 " (from 0) of column time_ms: "
                        "%s",
                        table->name, row, sentence);
    if (list->has_weight)
        spike.weight = values[COLUMN_WEIGHT][row] + 0.0;
    return vly_spike_list_add(list, &spike, table->name, error);
}

static vly_status fail_table(const vly_table *table, uint32_t column,
                             const char *sentence, vly_error *error)
{
    if (*sentence)
        return vly_fail(error, VLY_E_PARSE, "%.200s: %s", table->name,
                        sentence);
    return vly_fail(error, VLY_E_PARSE,
                    "%.200s: column %.40s, wanted time_ms, neuron, weight and "
                    "burst",
                    table->name, table->columns[column].name);
}

vly_status vly_spikes_from_columns(const vly_table *table,
                                   const vly_spike_file_spec *spec,
                                   vly_spike_list *list, vly_error *error)
{
    const double most = VLY_WEIGHT_MAX;
    const uint32_t n = table->n_columns;
    uint32_t fields[COLUMNS];
    double *values[COLUMNS] = {NULL};
    char sentence[VLY_SPIKE_SENTENCE];
    uint32_t wrong = 0;
    vly_status status = VLY_OK;
    const char **names = vly_calloc(n, sizeof(*names));
    if (!names)
        return vly_fail_nomem(error, n * sizeof(*names), "names of columns");
    for (uint32_t i = 0; i < n; i++)
        names[i] = table->columns[i].name;
    if (!find_columns(spec, names, n, fields, &wrong, sentence))
        VLY_TRY(fail_table(table, wrong, sentence, error));
    if (fields[COLUMN_AREA] < n)
        VLY_TRY(fail_table(table, fields[COLUMN_AREA], "", error));
    list->has_weight = fields[COLUMN_WEIGHT] < n;
    VLY_TRY(load_column(table, fields[COLUMN_TIME], -1e300, 1e300, false,
                        &values[COLUMN_TIME], error));
    if (!values[COLUMN_TIME])
        VLY_TRY(load_column(table, fields[COLUMN_BURST], 0, 0x1p53, true,
                            &values[COLUMN_BURST], error));
    VLY_TRY(load_column(table, fields[COLUMN_NEURON], 0,
                        (double)spec->n_neurons - 1, true,
                        &values[COLUMN_NEURON], error));
    VLY_TRY(load_column(table, fields[COLUMN_WEIGHT], -most, most, false,
                        &values[COLUMN_WEIGHT], error));
    for (uint64_t row = 0; row < table->n_rows; row++)
        VLY_TRY(take_row(table, spec, values, row, list, error));
    vly_spike_list_sort(list);
out:
    for (int i = 0; i < COLUMNS; i++)
        vly_free(values[i]);
    vly_free(names);
    return status;
}
