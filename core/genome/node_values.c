/* SPDX-License-Identifier: Apache-2.0
 * Parameters of neurons from SONATA nodes: a child process reads the file with
 * HDF5 (node_hdf5.c), this file checks what it sends, looks up node types, and
 * puts values in the order of the neurons.
 */
#include "genome/node_values.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/reading.h"
#include "genome/edge_hdf5.h"
#include "genome/genome_file.h"
#include "genome/node_hdf5.h"
#include "genome/node_types.h"

typedef struct node_values {
    vly_reader *reader;
    const vly_value_spec *spec;
    const vly_toml_node *file; /* keys of the table */
    const vly_toml_node *types_file;
    const vly_toml_node *params_dir;
    const char *name; /* of the HDF5 file, in messages */
    const char *column;
    char population[VLY_NODES_NAME];
    vly_error why;
    vly_child child;
    bool ended; /* the last frame was there */
    bool has[VLY_NODES_SETS];
    uint32_t n;
    int64_t *sets[VLY_NODES_SETS]; /* [n] */
    double *values;                /* [n] by node */
    bool *given;                   /* [n] */
    double *part;                  /* [n] values of one node group */
    vly_nodes_block *block;
    vly_node_types types;
} node_values;

static vly_status fail_node(node_values *of, const char *set, uint32_t i,
                            const char *sentence)
{
    return vly_fail(&of->why, VLY_E_PARSE, "%.200s: /nodes/%s%s%s[%u]: %s",
                    of->name, of->population, *set ? "/" : "", set, i,
                    sentence);
}

/* ---- frames ------------------------------------------------------------- */

static vly_status make_arrays(node_values *of)
{
    const size_t n = of->n;
    for (int set = 0; set < VLY_NODES_SETS; set++)
        of->sets[set] = vly_calloc(n, sizeof(int64_t));
    of->values = vly_calloc(n, sizeof(double));
    of->part = vly_calloc(n, sizeof(double));
    of->given = vly_calloc(n, sizeof(bool));
    for (int set = 0; set < VLY_NODES_SETS; set++)
        if (!of->sets[set])
            return vly_fail_nomem(&of->why, n * 8, "SONATA nodes");
    return of->values && of->part && of->given
               ? VLY_OK
               : vly_fail_nomem(&of->why, n * 8, "SONATA nodes");
}

static vly_status begin(node_values *of, const vly_nodes_frame *frame)
{
    const uint32_t wanted = of->spec->n;
    if (frame->total == 0 || frame->total > VLY_NEURONS_MAX ||
        (wanted && frame->total != wanted)) {
        of->ended = true;
        return vly_fail(&of->why, VLY_E_PARSE,
                        "%.200s: /nodes/%s has %" PRIu64 " nodes, wanted %u, "
                        "one a neuron",
                        of->name, frame->text, frame->total,
                        wanted ? wanted : 1);
    }
    snprintf(of->population, sizeof(of->population), "%.*s", VLY_NODES_NAME - 1,
             frame->text);
    for (int set = 0; set < VLY_NODES_SETS; set++)
        of->has[set] = frame->has[set] != 0;
    of->n = (uint32_t)frame->total;
    const vly_status status = make_arrays(of);
    of->ended = status != VLY_OK;
    return status;
}

static bool receive_nodes(node_values *of, uint32_t n, uint64_t *so_far)
{
    if (n == 0 || n > VLY_NODES_BLOCK || n > of->n - *so_far)
        return false;
    for (int set = 0; set < VLY_NODES_SETS; set++)
        if (of->has[set] &&
            !vly_child_receive(&of->child, of->sets[set] + *so_far,
                               n * sizeof(int64_t)))
            return false;
    *so_far += n;
    return true;
}

/* The values of one node group, for its nodes. *broke: the child ended. */
static vly_status receive_group(node_values *of, const vly_nodes_frame *frame,
                                bool *broke)
{
    vly_nodes_frame next;
    uint64_t done = 0;
    char sentence[160];
    if (frame->total > of->n)
        *broke = true;
    while (!*broke && done < frame->total) {
        *broke = !vly_child_receive(&of->child, &next, sizeof(next)) ||
                 next.kind != VLY_NODES_PART || next.n == 0 ||
                 next.n > frame->total - done ||
                 !vly_child_receive(&of->child, of->part + done,
                                    next.n * sizeof(double));
        done += next.n;
    }
    for (uint32_t i = 0; i < of->n && !*broke; i++) {
        const int64_t index =
            of->has[VLY_NODES_INDEX] ? of->sets[VLY_NODES_INDEX][i] : i;
        if ((uint64_t)of->sets[VLY_NODES_GROUP][i] != frame->group)
            continue;
        if (index >= 0 && (uint64_t)index < frame->total) {
            of->values[i] = of->part[index];
            of->given[i] = true;
            continue;
        }
        of->ended = true;
        snprintf(sentence, sizeof(sentence),
                 "is %" PRId64 ", and group %" PRIu64 " has %" PRIu64
                 " values of %.80s, wanted one of them",
                 index, frame->group, frame->total, of->column);
        return fail_node(of, vly_nodes_set_name(VLY_NODES_INDEX), i, sentence);
    }
    return VLY_OK;
}

/* Reads until the last frame; `ended` is then true. If it is false, the process
 * ended too early: HDF5 may have overwritten anything before. */
static vly_status receive_all(node_values *of)
{
    vly_nodes_frame frame;
    uint64_t so_far = 0;
    bool broke = false;
    vly_status status = VLY_OK;
    while (!of->ended && !broke) {
        if (!vly_child_receive(&of->child, &frame, sizeof(frame)))
            break;
        frame.text[sizeof(frame.text) - 1] = 0;
        const bool all = of->n > 0 && so_far == of->n;
        if (frame.kind == VLY_NODES_FAILED) {
            of->ended = true;
            VLY_TRY(vly_fail(&of->why, VLY_E_PARSE, "%s", frame.text));
        } else if (frame.kind == VLY_NODES_BEGIN && of->n == 0) {
            VLY_TRY(begin(of, &frame));
        } else if (frame.kind == VLY_NODES_NODES) {
            broke = of->n == 0 || !receive_nodes(of, frame.n, &so_far);
        } else if (frame.kind == VLY_NODES_VALUES && all) {
            VLY_TRY(receive_group(of, &frame, &broke));
        } else {
            of->ended = frame.kind == VLY_NODES_END && all;
            broke = !of->ended;
        }
    }
out:
    return status;
}

typedef struct nodes_work {
    const vly_nodes_ask *ask;
    vly_nodes_block *block;
} nodes_work;

static void work(void *context, int out)
{
    const nodes_work *of = context;
    vly_nodes_send(of->ask, of->block, out);
}

static vly_status read_file(node_values *of, const vly_nodes_ask *ask)
{
    nodes_work child_work = {ask, NULL};
    vly_status status;
    of->block = vly_calloc(1, sizeof(*of->block));
    if (!of->block)
        return vly_fail_nomem(&of->why, sizeof(*of->block), "SONATA nodes");
    child_work.block = of->block;
    VLY_TRY(vly_child_start(&of->child, of->name, work, &child_work, &of->why));
    status = receive_all(of);
    const int end = vly_child_stop(&of->child, of->ended);
    if (status == VLY_OK && !of->ended)
        status = vly_child_broke_down(of->name, end, &of->why);
out:
    return status;
}

/* ---- types -------------------------------------------------------------- */

static vly_status read_types(node_values *of)
{
    const vly_toml_node *node = of->types_file;
    FILE *file = NULL;
    char *path = NULL;
    vly_error why = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    if (!node)
        return VLY_OK;
    VLY_TRY(vly_file_open_key(of->reader, node, "node_types_file", NULL, &path,
                              &file));
    status =
        vly_node_types_init(&of->types, file, node->u.string, of->column, &why);
    status = vly_file_placed(of->reader, node, status, &why);
out:
    if (file)
        fclose(file);
    return status;
}

/* The path of a file of dynamics_params, as messages show it. */
static vly_status params_path(vly_reader *reader,
                              const vly_toml_node *types_file,
                              const vly_toml_node *dir, const char *params,
                              char **path)
{
    const char *types = types_file->u.string;
    const char *slash = strrchr(types, '/');
    const char *folder = NULL;
    vly_status status = VLY_OK;
    if (dir)
        VLY_TRY(vly_reader_string(reader, dir, "dynamics_params_dir", &folder));
    const int n = *params == '/' ? 0
                  : folder       ? (int)strlen(folder)
                  : slash        ? (int)(slash - types)
                                 : 0;
    const bool between = n > 0 || (slash == types && !folder && *params != '/');
    VLY_TRY(vly_reader_alloc(reader, (size_t)n + strlen(params) + 2, 1, path));
    sprintf(*path, "%.*s%s%s", n, folder ? folder : types, between ? "/" : "",
            params);
out:
    return status;
}

vly_status vly_node_params_text(vly_reader *reader,
                                const vly_toml_node *types_file,
                                const vly_toml_node *params_dir,
                                const char *params, char **name, char **text,
                                size_t *n)
{
    FILE *file = NULL;
    char *path = NULL;
    vly_error why = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    VLY_TRY(params_path(reader, types_file, params_dir, params, name));
    VLY_TRY(vly_file_open_key(reader, types_file, "node_types_file", *name,
                              &path, &file));
    status = vly_reading_whole(file, *name, "parameters of a node type",
                               VLY_NODE_PARAMS_MAX, text, n, &why);
    status = vly_file_placed(reader, types_file, status, &why);
out:
    if (file)
        fclose(file);
    return status;
}

/* Replaces the file of dynamics_params of a type by its value, if it has it. */
static vly_status read_params(node_values *of, vly_node_type *type)
{
    char *name = NULL;
    char *text = NULL;
    size_t n = 0;
    vly_error why = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    VLY_TRY(vly_node_params_text(of->reader, of->types_file, of->params_dir,
                                 type->params, &name, &text, &n));
    status = vly_node_params_find(text, n, name, of->column, &type->has,
                                  &type->value, &why);
    VLY_TRY(vly_file_placed(of->reader, of->types_file, status, &why));
    vly_free(type->params);
    type->params = NULL;
out:
    vly_free(text);
    return status;
}

static vly_status no_value(node_values *of, uint32_t i, bool known)
{
    const long long id = of->sets[VLY_NODES_TYPE][i];
    char sentence[520];
    if (!of->types_file)
        snprintf(sentence, sizeof(sentence),
                 "group %lld has no %.80s, wanted it, or node_types_file",
                 (long long)of->sets[VLY_NODES_GROUP][i], of->column);
    else if (!known)
        snprintf(sentence, sizeof(sentence),
                 "is %lld, a type that is not in %.150s", id, of->types.name);
    else
        snprintf(sentence, sizeof(sentence),
                 "is %lld, a type that has in %.150s and in its "
                 "dynamics_params no %.80s for %.80s, wanted it there or in "
                 "the node's group, or a number",
                 id, of->types.name, of->column, of->spec->what);
    const vly_nodes_set set = of->types_file ? VLY_NODES_TYPE : VLY_NODES_GROUP;
    return fail_node(of, vly_nodes_set_name(set), i, sentence);
}

/* Values of types, for nodes whose group has none. */
static vly_status take_types(node_values *of)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < of->n; i++) {
        if (of->given[i])
            continue;
        const vly_node_type *found =
            vly_node_types_find(&of->types, of->sets[VLY_NODES_TYPE][i]);
        vly_node_type *type =
            found ? &of->types.list[found - of->types.list] : NULL;
        if (type && !type->has && type->params)
            VLY_TRY(read_params(of, type));
        if (!type || !type->has)
            return vly_file_placed(of->reader, of->file,
                                   no_value(of, i, type != NULL), &of->why);
        of->values[i] = type->value;
    }
out:
    return status;
}

/* ---- neurons ------------------------------------------------------------ */

static vly_status check_value(node_values *of, uint32_t i)
{
    const vly_value_spec *spec = of->spec;
    const double value = of->values[i];
    char a[VLY_NUMBER_SIZE], b[VLY_NUMBER_SIZE], c[VLY_NUMBER_SIZE];
    char sentence[240];
    if (value >= spec->lo && value <= spec->hi &&
        (!(spec->whole || spec->boolean) || vly_floor(value) == value))
        return VLY_OK;
    if (!isfinite(value))
        snprintf(sentence, sizeof(sentence),
                 "%.80s is not finite, wanted a finite number", spec->what);
    else if (value >= spec->lo && value <= spec->hi)
        snprintf(sentence, sizeof(sentence),
                 "%.80s is %s, wanted a whole number", spec->what,
                 vly_toml_print_number(value, a));
    else
        snprintf(sentence, sizeof(sentence), "%.80s is %s, wanted %s to %s",
                 spec->what, vly_toml_print_number(value, a),
                 vly_toml_print_number(spec->lo, b),
                 vly_toml_print_number(spec->hi, c));
    return fail_node(of, "", i, sentence);
}

/* By neuron: the node with id i is neuron i, as in SONATA edges. */
static vly_status order_values(node_values *of)
{
    const char *ids = vly_nodes_set_name(VLY_NODES_ID);
    char sentence[120];
    memset(of->given, 0, of->n * sizeof(*of->given));
    for (uint32_t i = 0; i < of->n; i++) {
        const int64_t id =
            of->has[VLY_NODES_ID] ? of->sets[VLY_NODES_ID][i] : (int64_t)i;
        vly_status status = check_value(of, i);
        if (status != VLY_OK)
            return status;
        if (id < 0 || id >= of->n || of->given[id]) {
            snprintf(sentence, sizeof(sentence),
                     "is %" PRId64 "%s, wanted each number from 0 to %u once",
                     id, id >= 0 && id < of->n ? " again" : "", of->n - 1);
            return fail_node(of, ids, i, sentence);
        }
        of->given[id] = true;
        of->part[id] = of->values[i] + 0.0; /* -0 becomes 0 */
    }
    return VLY_OK;
}

/* ---- all ---------------------------------------------------------------- */

static vly_status read_all(node_values *of, const vly_nodes_ask *ask)
{
    vly_status status;
    VLY_TRY(read_types(of));
    VLY_TRY(
        vly_file_placed(of->reader, of->file, read_file(of, ask), &of->why));
    VLY_TRY(take_types(of));
    status = vly_file_placed(of->reader, of->file, order_values(of), &of->why);
out:
    return status;
}

static void deinit(node_values *of)
{
    for (int set = 0; set < VLY_NODES_SETS; set++)
        vly_free(of->sets[set]);
    vly_free(of->values);
    vly_free(of->given);
    vly_free(of->part);
    vly_free(of->block);
    vly_node_types_deinit(&of->types);
}

vly_status vly_values_from_nodes(vly_reader *reader, const vly_toml_node *node,
                                 const vly_value_spec *spec, const char *path,
                                 const char *column, double **values,
                                 uint32_t *n)
{
    const vly_toml_node *population = vly_toml_get(node, "population");
    node_values of = {.reader = reader,
                      .spec = spec,
                      .file = vly_toml_get(node, "file"),
                      .types_file = vly_toml_get(node, "node_types_file"),
                      .params_dir = vly_toml_get(node, "dynamics_params_dir"),
                      .column = column,
                      .why = VLY_ERROR_INIT};
    vly_nodes_ask ask = {.path = path, .column = column};
    vly_status status = VLY_OK;
    ask.name = of.name = of.file->u.string;
    if (!vly_hdf5_built())
        return vly_reader_fail(reader, of.file,
                               "%.300s is an HDF5 file, and SONATA input is "
                               "left out of this build, wanted "
                               "comma-separated text, or a build where CMake "
                               "finds HDF5 (libhdf5-dev)",
                               of.name);
    if (population)
        VLY_TRY(vly_reader_string(reader, population, "population",
                                  &ask.population));
    if (!*column || strchr(column, '/') || strlen(column) >= VLY_NODES_NAME)
        return vly_reader_fail(reader, of.file,
                               "column %.80s of SONATA nodes, wanted a name "
                               "without slashes",
                               column);
    if (of.params_dir && !of.types_file)
        return vly_reader_fail_key(reader, of.params_dir,
                                   "dynamics_params_dir without "
                                   "node_types_file, wanted both");
    VLY_TRY(read_all(&of, &ask));
    *values = of.part;
    *n = of.n;
    of.part = NULL;
out:
    deinit(&of);
    return status;
}

vly_status vly_values_no_nodes(vly_reader *reader, const vly_toml_node *node)
{
    static const char *const keys[] = {"population", "node_types_file",
                                       "dynamics_params_dir"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const vly_toml_node *extra = vly_toml_get(node, keys[i]);
        if (extra)
            return vly_reader_fail_key(
                reader, extra,
                "%.300s is not an HDF5 file, wanted one, or no %s",
                vly_toml_get(node, "file")->u.string, keys[i]);
    }
    return VLY_OK;
}
