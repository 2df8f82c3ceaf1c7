/* SPDX-License-Identifier: Apache-2.0
 * Spikes from comma-separated text, from SONATA files (read by record, in a
 * child process) and from columns of a program. A time is the end of its burst,
 * as in recordings: what was recorded comes again in the same bursts.
 */
#include "genome/spike_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "genome/csv_reader.h"
#include "genome/genome_table.h"
#include "record/sonata_reader.h"

#define SENTENCE 200

void vly_spike_list_deinit(vly_spike_list *list)
{
    vly_free(list->spikes);
    *list = (vly_spike_list){0};
}

/* ---- one spike ---------------------------------------------------------- */

static vly_status add_spike(vly_spike_list *list, const vly_file_spike *spike,
                            vly_error *error)
{
    if (list->n == VLY_SPIKES_MAX)
        return vly_fail(error, VLY_E_PARSE,
                        "more than 2^28 spikes in a file, wanted fewer");
    if (list->n == list->capacity) {
        const uint64_t room = list->capacity ? list->capacity * 2 : 1024;
        vly_file_spike *grown =
            vly_realloc(list->spikes, (size_t)room, sizeof(*grown));
        if (!grown)
            return vly_fail_nomem(error, room * sizeof(*grown),
                                  "the spikes of a file");
        list->spikes = grown;
        list->capacity = room;
    }
    list->spikes[list->n++] = *spike;
    return VLY_OK;
}

/* False: the sentence says what is wrong with the time. */
static bool burst_of(const vly_spike_file_spec *spec, double ms,
                     vly_spike_list *list, uint64_t *burst,
                     char sentence[SENTENCE])
{
    char found[VLY_NUMBER_SIZE], dt[VLY_NUMBER_SIZE];
    const bool fits = vly_bursts_from_ms(ms, spec->dt_ms, burst);
    if (fits && (spec->at_begin || *burst > 0)) {
        list->n_rounded += vly_value_off_grid(ms, spec->dt_ms);
        *burst -= !spec->at_begin;
        return true;
    }
    vly_toml_print_number(ms, found);
    if (fits)
        snprintf(sentence, SENTENCE,
                 "%s ms, wanted %s or more, the end of burst 0, or times_at = "
                 "\"begin\" in the genome",
                 found, vly_toml_print_number(spec->dt_ms, dt));
    else
        snprintf(sentence, SENTENCE, "%s ms, wanted a time of 0 or more%s",
                 found, ms > 0 ? " and fewer than 2^53 bursts" : "");
    return false;
}

static bool weight_fits(double weight, char sentence[SENTENCE])
{
    char found[VLY_NUMBER_SIZE];
    if (weight >= -VLY_WEIGHT_MAX && weight <= VLY_WEIGHT_MAX)
        return true;
    snprintf(sentence, SENTENCE, "weight is %s, wanted -%.0f to %.0f",
             vly_toml_print_number(weight, found), VLY_WEIGHT_MAX,
             VLY_WEIGHT_MAX);
    return false;
}

static int compare_spikes(const void *a, const void *b)
{
    const vly_file_spike *x = a;
    const vly_file_spike *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? -1 : 1;
    if (x->burst != y->burst)
        return x->burst < y->burst ? -1 : 1;
    if (x->neuron != y->neuron)
        return x->neuron < y->neuron ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Recordings are sorted already. */
static void sort_list(vly_spike_list *list)
{
    for (uint64_t i = 1; i < list->n; i++)
        if (compare_spikes(&list->spikes[i - 1], &list->spikes[i]) > 0) {
            qsort(list->spikes, (size_t)list->n, sizeof(*list->spikes),
                  compare_spikes);
            return;
        }
}

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
                         char sentence[SENTENCE])
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
            snprintf(sentence, SENTENCE,
                     "column %.40s beside %.40s, wanted one", name,
                     names[fields[column]]);
        else if (column == COLUMN_WEIGHT && name[6] &&
                 strcmp(name + 7, suffix) != 0)
            snprintf(sentence, SENTENCE, "column %.40s, wanted weight%s%s",
                     name, *suffix ? "_" : "", suffix);
        else if (column == COLUMN_WEIGHT && spec->own_weight)
            snprintf(sentence, SENTENCE,
                     "column %.40s, but the genome gives the weight, wanted "
                     "one of them",
                     name);
        if (*sentence)
            return false;
        fields[column] = *wrong;
    }
    if (fields[COLUMN_TIME] == n && fields[COLUMN_BURST] == n)
        snprintf(sentence, SENTENCE, "no column time_ms, wanted it, or burst");
    else if (fields[COLUMN_NEURON] == n)
        snprintf(sentence, SENTENCE, "no column neuron, wanted it");
    else if (fields[COLUMN_WEIGHT] == n && !spec->own_weight)
        snprintf(sentence, SENTENCE,
                 "no column weight and no weight in the genome, wanted one of "
                 "them");
    else if (spec->population && fields[COLUMN_AREA] == n)
        snprintf(sentence, SENTENCE,
                 "no column area, wanted it or an HDF5 file, or no population");
    return *sentence == 0;
}

/* ---- text --------------------------------------------------------------- */

/* Whether the line is of the population; without one all lines are of the area
 * of the first, which *area keeps (owned). */
static vly_status is_mine(vly_csv *csv, uint32_t field, const char *population,
                          char **area, bool *mine)
{
    *mine = true;
    if (field == csv->n_fields)
        return VLY_OK;
    const char *found = csv->fields[field];
    if (population) {
        *mine = strcmp(found, population) == 0;
        return VLY_OK;
    }
    if (*area && strcmp(found, *area) != 0)
        return vly_csv_fail(csv, field,
                            "area %.60s after %.60s, wanted one, or population "
                            "= \"NAME\" in the genome",
                            found, *area);
    if (!*area)
        *area = vly_strdup(found);
    return *area ? VLY_OK
                 : vly_fail_nomem(csv->error, strlen(found) + 1, "a name");
}

static vly_status read_line(vly_csv *csv, const uint32_t fields[COLUMNS],
                            const vly_spike_file_spec *spec,
                            vly_spike_list *list)
{
    const uint32_t time = fields[COLUMN_TIME];
    vly_file_spike spike = {.place = (uint32_t)csv->line};
    char sentence[SENTENCE];
    double number = 0;
    vly_status status;
    VLY_TRY(vly_csv_number(
        csv, time < csv->n_fields ? time : fields[COLUMN_BURST], &number));
    if (time < csv->n_fields) {
        if (!burst_of(spec, number, list, &spike.burst, sentence))
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
        if (!weight_fits(spike.weight, sentence))
            return vly_csv_fail(csv, fields[COLUMN_WEIGHT], "%s", sentence);
    }
    status = add_spike(list, &spike, csv->error);
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
    char sentence[SENTENCE];
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
    char *area = NULL;
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
        VLY_TRY(
            is_mine(&csv, fields[COLUMN_AREA], spec->population, &area, &mine));
        if (mine)
            VLY_TRY(read_line(&csv, fields, spec, list));
    }
    sort_list(list);
out:
    vly_free(area);
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

static bool want_population(void *context, const char *name)
{
    const sonata_spikes *of = context;
    return !of->spec->population || strcmp(of->spec->population, name) == 0;
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
    return VLY_OK;
}

static vly_status take_spikes(void *context, uint64_t first, uint32_t n,
                              const double *times_ms, const uint64_t *nodes,
                              vly_error *error)
{
    sonata_spikes *of = context;
    vly_status status = VLY_OK;
    char sentence[SENTENCE];
    for (uint32_t i = 0; i < n && status == VLY_OK; i++) {
        vly_file_spike spike = {.place = (uint32_t)(first + i)};
        const char *set = "timestamps";
        bool good =
            burst_of(of->spec, times_ms[i], of->list, &spike.burst, sentence);
        if (good && nodes[i] >= of->spec->n_neurons) {
            good = false;
            set = "node_ids";
            snprintf(sentence, SENTENCE,
                     "%" PRIu64 ", wanted a whole number from 0 to %u",
                     nodes[i], of->spec->n_neurons - 1);
        }
        if (!good)
            return vly_fail(error, VLY_E_PARSE,
                            "%.300s: /spikes/%.60s/%s[%" PRIu64 "] is %s",
                            of->path, of->name, set, first + i, sentence);
        spike.neuron = (uint32_t)nodes[i];
        status = add_spike(of->list, &spike, error);
    }
    return status;
}

vly_status vly_spikes_from_sonata(const char *path,
                                  const vly_spike_file_spec *spec,
                                  vly_spike_list *list, vly_error *error)
{
    sonata_spikes of = {.path = path, .spec = spec, .list = list};
    const vly_sonata_want want = {.context = &of,
                                  .population = want_population};
    const vly_sonata_take take = {
        .context = &of, .population = take_population, .spikes = take_spikes};
    vly_status status;
    if (!spec->own_weight)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: SONATA spikes have no weight, wanted one in "
                        "the genome",
                        path);
    VLY_TRY(vly_sonata_read_spikes(path, &want, &take, error));
    if (of.n_populations == 0)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: /spikes has no population %.60s", path,
                        spec->population ? spec->population : "");
    sort_list(list);
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
    char sentence[SENTENCE];
    vly_file_spike spike = {.place = (uint32_t)row,
                            .neuron = (uint32_t)values[COLUMN_NEURON][row]};
    if (!values[COLUMN_TIME])
        spike.burst = (uint64_t)values[COLUMN_BURST][row];
    else if (!burst_of(spec, values[COLUMN_TIME][row], list, &spike.burst,
                       sentence))
        return vly_fail(error, VLY_E_PARSE,
                        "%.200s: row %" PRIu64 " (from 0) of column time_ms: "
                        "%s",
                        table->name, row, sentence);
    if (list->has_weight)
        spike.weight = values[COLUMN_WEIGHT][row] + 0.0;
    return add_spike(list, &spike, error);
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
    char sentence[SENTENCE];
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
    sort_list(list);
out:
    for (int i = 0; i < COLUMNS; i++)
        vly_free(values[i]);
    vly_free(names);
    return status;
}
