/* SPDX-License-Identifier: Apache-2.0
 * Generator areas, built from existing parts: a neuron of lif_psc_delta at
 * rest, half a millivolt below its threshold and without a refractory period,
 * fires in exactly those bursts in which input arrives; its potential is reset
 * in the same burst, so no state remains. A stimulus of 1 mV drives it. So
 * generators have ids and are part of the digest, and backends need no code for
 * them. A neuron fires once in a burst at most, so a Poisson process is one
 * draw a burst with a chance of rate * dt (a Bernoulli process, as of Brian's
 * PoissonGroup): the rate is the one that was written, and no rate is above 1 /
 * dt.
 */
#include "genome/genome_generator.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "genome/foreign_names.h"
#include "genome/genome_map.h"
#include "genome/genome_stimulus.h"
#include "genome/genome_value.h"

#define PREFIX "generator/"

typedef struct generator_kind {
    const char *name;
    const char *stimulus; /* kind of the [[stimulus]] that drives it */
    const vly_key *keys;
} generator_kind;

static const generator_kind kinds[] = {
    {"poisson", "bernoulli", vly_keys_area_poisson},
    {"spikes", "spikes", vly_keys_area_spikes},
    {"pulse", "pulse", vly_keys_area_pulse},
};
enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* ---- nodes -------------------------------------------------------------- */

/* A new child of table, at the place of another node. */
static vly_status add_child(vly_reader *reader, vly_toml_node *table,
                            const vly_toml_node *like, const char *key,
                            vly_toml_kind kind, vly_toml_node **out)
{
    vly_toml_node node = {.kind = kind, .set = like->set, .file = like->file};
    node.line = node.key_line = like->key_line;
    node.column = node.key_column = like->key_column;
    node.key = key ? vly_strdup(key) : NULL;
    if ((key && !node.key) || vly_toml_append(table, &node) != VLY_OK) {
        vly_free(node.key);
        return vly_reader_nomem(reader, sizeof(node), "a generator");
    }
    *out = &table->u.children[table->n_children - 1];
    return VLY_OK;
}

static vly_status add_text(vly_reader *reader, vly_toml_node *table,
                           const vly_toml_node *like, const char *key,
                           const char *text)
{
    vly_toml_node *node = NULL;
    char *copy = vly_strdup(text);
    if (!copy)
        return vly_reader_nomem(reader, strlen(text) + 1, "a generator");
    /* a bool until it has its text, so that it can be freed at any time */
    vly_status status =
        add_child(reader, table, like, key, VLY_TOML_BOOL, &node);
    if (status != VLY_OK) {
        vly_free(copy);
        return status;
    }
    node->kind = VLY_TOML_STRING;
    node->u.string = copy;
    return VLY_OK;
}

static vly_status add_number(vly_reader *reader, vly_toml_node *table,
                             const vly_toml_node *like, const char *key,
                             double number)
{
    vly_toml_node *node = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(add_child(reader, table, like, key, VLY_TOML_FLOAT, &node));
    node->u.number = number;
out:
    return status;
}

/* Moves a child of one table to the end of another. */
static vly_status move_child(vly_reader *reader, vly_toml_node *from,
                             const char *key, vly_toml_node *to)
{
    vly_toml_node *child = vly_toml_child(from, key);
    char *copy = vly_strdup(key);
    if (!copy || vly_toml_append(to, child) != VLY_OK) {
        vly_free(copy);
        return vly_reader_nomem(reader, sizeof(*child), "a generator");
    }
    child->key = copy;
    child->kind = VLY_TOML_BOOL;
    vly_toml_remove(from, key);
    return VLY_OK;
}

/* ---- one area ----------------------------------------------------------- */

static bool of_area(const char *key)
{
    static const char *const keys[] = {
        "neurons", "voxels", "neurons_per_voxel", "positions", "at", "model"};
    for (uint32_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

bool vly_generator_kind(const char *name)
{
    for (uint32_t i = 0; i < N_KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return true;
    return false;
}

static vly_status find_kind(vly_reader *reader, const vly_toml_node *node,
                            const generator_kind **kind)
{
    const char *name = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reader_string(reader, node, "generator", &name));
    vly_suggest suggest = {0};
    char hint[VLY_HINT_SIZE];
    for (uint32_t i = 0; i < N_KINDS; i++) {
        vly_foreign_offer(&suggest, name, kinds[i].name);
        if (strcmp(name, kinds[i].name) != 0)
            continue;
        *kind = &kinds[i];
        return VLY_OK;
    }
    vly_foreign_hint(&suggest, name, hint, sizeof(hint));
    status =
        vly_reader_fail(reader, node, "no generator \"%.80s\"%s", name,
                        *hint ? hint : ", wanted poisson, spikes or pulse");
out:
    return status;
}

/* Writes the generator's keys as keys of a stimulus. */
static vly_status check_values(vly_reader *reader, const vly_toml_node *area,
                               const generator_kind *kind)
{
    const vly_toml_node *rate = vly_toml_get(area, "rate_hz");
    bool poisson = kind->keys == vly_keys_area_poisson;
    bool spikes = kind->keys == vly_keys_area_spikes;
    if ((poisson && !rate) ||
        (spikes && !vly_toml_get(area, "times_ms") &&
         !vly_toml_get(area, "bursts") && !vly_toml_get(area, "file")))
        return vly_reader_fail_key(reader, area, "generator %.80s has no %s",
                                   area->key,
                                   poisson ? "rate_hz, wanted spikes a second "
                                             "of each neuron"
                                           : "times, wanted times_ms, "
                                             "bursts or file");
    return VLY_OK;
}

static vly_status check_area(vly_reader *reader, const vly_toml_node *area,
                             const generator_kind *kind)
{
    char what[64];
    const vly_toml_node *model = vly_toml_get(area, "model");
    if (model)
        return vly_reader_fail_key(reader, model,
                                   "both model and generator, wanted one");
    /* [[stimulus]] ids have the limit of all names */
    if (strlen(area->key) + strlen(PREFIX) > VLY_NAME_MAX)
        return vly_reader_fail_key(reader, area,
                                   "generator %.80s, wanted a name of at most "
                                   "%u characters",
                                   area->key,
                                   VLY_NAME_MAX - (unsigned)strlen(PREFIX));
    snprintf(what, sizeof(what), "an [area] with generator %s", kind->name);
    const vly_key_list list = {what, kind->keys, NULL};
    vly_status status = vly_reader_keys(reader, area, &list);
    return status ? status : check_values(reader, area, kind);
}

/* One list a neuron: the stimulus needs the list of neurons. */
static vly_status add_neurons(vly_reader *reader, vly_toml_node *stimulus)
{
    const vly_toml_node *lists = vly_toml_get(stimulus, "bursts");
    vly_toml_node *neurons = NULL;
    vly_toml_node *item = NULL;
    lists = lists ? lists : vly_toml_get(stimulus, "times_ms");
    if (!lists || lists->kind != VLY_TOML_ARRAY || lists->n_children == 0 ||
        lists->u.children[0].kind != VLY_TOML_ARRAY)
        return VLY_OK;
    vly_toml_node like = *lists; /* the children move as they grow */
    like.key_line = like.line;
    like.key_column = like.column;
    vly_status status;
    VLY_TRY(add_child(reader, stimulus, &like, "neurons", VLY_TOML_ARRAY,
                      &neurons));
    for (uint32_t i = 0; i < like.n_children; i++) {
        VLY_TRY(
            add_child(reader, neurons, &like, NULL, VLY_TOML_INTEGER, &item));
        item->u.integer = i;
    }
out:
    return status;
}

static vly_status make_stimulus(vly_reader *reader, vly_toml_node *area,
                                const generator_kind *kind,
                                vly_toml_node *stimulus)
{
    char id[VLY_NAME_MAX + 1];
    vly_status status = VLY_OK;
    snprintf(id, sizeof(id), "%s%s", PREFIX, area->key);
    for (uint32_t i = area->n_children; i-- > 0;)
        if (!of_area(area->u.children[i].key)) {
            char key[VLY_NAME_MAX + 1];
            snprintf(key, sizeof(key), "%s", area->u.children[i].key);
            if (strcmp(key, "generator") == 0)
                vly_toml_remove(area, key);
            else
                VLY_TRY(move_child(reader, area, key, stimulus));
        }
    VLY_TRY(add_text(reader, stimulus, area, "id", id));
    VLY_TRY(add_text(reader, stimulus, area, "kind", kind->stimulus));
    VLY_TRY(add_text(reader, stimulus, area, "to", area->key));
    VLY_TRY(add_number(reader, stimulus, area, "weight_mv", 1.0));
    VLY_TRY(add_neurons(reader, stimulus));
out:
    return status;
}

static vly_status make_relay(vly_reader *reader, vly_toml_node *area)
{
    static const struct {
        const char *key;
        double number;
    } values[] = {
        {"e_l_mv", 0.0},
        {"v_reset_mv", 0.0},
        {"v_th_mv", 0.5},
        {"t_ref_ms", 0.0},
    };
    vly_status status = VLY_OK;
    VLY_TRY(add_text(reader, area, area, "model", "lif_psc_delta"));
    for (uint32_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        VLY_TRY(
            add_number(reader, area, area, values[i].key, values[i].number));
out:
    return status;
}

static vly_status find_stimuli(vly_reader *reader, const vly_toml_node *like,
                               vly_toml_node **stimuli)
{
    *stimuli = vly_toml_child(&reader->root, "stimulus");
    if (!*stimuli)
        return add_child(reader, &reader->root, like, "stimulus",
                         VLY_TOML_ARRAY, stimuli);
    return vly_reader_tables(reader, *stimuli, "stimulus");
}

/* index: of the area, because the root's children may move */
static vly_status expand_area(vly_reader *reader, uint32_t index)
{
    const generator_kind *kind = NULL;
    vly_toml_node *areas = vly_toml_child(&reader->root, "area");
    vly_toml_node *area = &areas->u.children[index];
    vly_toml_node *stimuli = NULL;
    vly_toml_node *stimulus = NULL;
    vly_status status;
    VLY_TRY(find_kind(reader, vly_toml_get(area, "generator"), &kind));
    VLY_TRY(check_area(reader, area, kind));
    VLY_TRY(find_stimuli(reader, area, &stimuli));
    area = &vly_toml_child(&reader->root, "area")->u.children[index];
    VLY_TRY(add_child(reader, stimuli, area, NULL, VLY_TOML_TABLE, &stimulus));
    VLY_TRY(make_stimulus(reader, area, kind, stimulus));
    VLY_TRY(make_relay(reader, area));
    reader->generator_names[reader->n_generators] = kind->name;
    reader->generators[reader->n_generators++] = index;
out:
    return status;
}

vly_status vly_generators_expand(vly_reader *reader)
{
    const vly_toml_node *areas = vly_toml_get(&reader->root, "area");
    vly_status status = VLY_OK;
    if (!areas || areas->kind != VLY_TOML_TABLE)
        return VLY_OK;
    uint32_t n = areas->n_children;
    VLY_TRY(vly_reader_alloc(reader, n, sizeof(uint32_t), &reader->generators));
    VLY_TRY(
        vly_reader_alloc(reader, n, sizeof(char *), &reader->generator_names));
    for (uint32_t i = 0; i < n; i++) {
        areas = vly_toml_get(&reader->root, "area");
        if (vly_toml_get(&areas->u.children[i], "generator"))
            VLY_TRY(expand_area(reader, i));
    }
out:
    return status;
}

/* ---- after reading ------------------------------------------------------ */

bool vly_generator_is(const vly_reader *reader, uint32_t area)
{
    for (uint32_t i = 0; i < reader->n_generators; i++)
        if (reader->generators[i] == area)
            return true;
    return false;
}

typedef struct listed_spike {
    uint64_t burst;
    uint32_t index; /* in the list as given */
} listed_spike;

static int compare_listed(const void *a, const void *b)
{
    const listed_spike *x = a;
    const listed_spike *y = b;
    if (x->burst != y->burst)
        return x->burst < y->burst ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static vly_status refuse_twice(vly_reader *reader, const vly_toml_node *list,
                               const char *what, const listed_spike *twice)
{
    vly_status status = VLY_OK;
    char numbers[2][VLY_NUMBER_SIZE];
    for (int i = 0; i < 2; i++) {
        double number = 0;
        VLY_TRY(vly_value_number(reader, &list->u.children[twice[i].index],
                                 what, &number));
        vly_toml_print_number(number, numbers[i]);
    }
    status = vly_reader_fail(reader, &list->u.children[twice[1].index],
                             "%s has %s and %s, both in burst %" PRIu64
                             ", wanted one spike a burst at most",
                             what, numbers[0], numbers[1], twice[1].burst);
out:
    return status;
}

/* A neuron fires once in a burst: a second spike in it would be lost. */
static vly_status check_list(vly_reader *reader, const vly_toml_node *node,
                             const char *what, const vly_burst_list *list)
{
    vly_status status = VLY_OK;
    uint32_t n_ascending = list->n > 0 ? 1 : 0;
    while (n_ascending < list->n &&
           list->bursts[n_ascending] > list->bursts[n_ascending - 1])
        n_ascending++;
    if (n_ascending == list->n)
        return VLY_OK;
    listed_spike *spikes = vly_malloc(list->n, sizeof(*spikes));
    if (!spikes)
        return vly_reader_nomem(reader, list->n * sizeof(*spikes),
                                "a list of spikes");
    for (uint32_t i = 0; i < list->n; i++)
        spikes[i] = (listed_spike){list->bursts[i], i};
    qsort(spikes, list->n, sizeof(*spikes), compare_listed);
    for (uint32_t i = 1; i < list->n; i++)
        if (spikes[i].burst == spikes[i - 1].burst)
            VLY_TRY(refuse_twice(reader, node, what, &spikes[i - 1]));
out:
    vly_free(spikes);
    return status;
}

/* More lists than neurons are refused when they are read. */
static vly_status check_lists(vly_reader *reader,
                              const vly_stimulus_entry *entry)
{
    const vly_area *area = &reader->genome->areas[entry->to.areas[0]];
    const vly_toml_node *node = vly_toml_get(entry->node, "bursts");
    vly_status status = VLY_OK;
    if (entry->form != VLY_STIMULUS_SPIKES || entry->file)
        return VLY_OK;
    node = node ? node : vly_toml_get(entry->node, "times_ms");
    for (uint32_t i = 0; status == VLY_OK && i < entry->n_lists; i++)
        status = check_list(reader, entry->flat ? node : &node->u.children[i],
                            node->key, &entry->lists[i]);
    if (status != VLY_OK || entry->flat || entry->n_lists == area->n_neurons)
        return status;
    return vly_reader_fail(reader, node,
                           "%s has %u lists for %u neurons of generator %s, "
                           "wanted one list, or one a neuron",
                           node->key, entry->n_lists, area->n_neurons,
                           area->name);
}

vly_status vly_generator_spared(vly_reader *reader, const vly_toml_node *node,
                                const char *label, bool map, uint32_t to)
{
    if (!vly_generator_is(reader, to))
        return VLY_OK;
    return vly_reader_fail_key(
        reader, node,
        map ? "%s goes to %s, wanted another area: a generator has no input"
            : "%s is onto %s, wanted another area: a generator has no input "
              "but its own",
        label, reader->genome->areas[to].name);
}

vly_status vly_generator_id(vly_reader *reader, const vly_toml_node *node,
                            const char *id)
{
    if (!id || strncmp(id, PREFIX, strlen(PREFIX)) != 0)
        return VLY_OK;
    return vly_reader_fail(reader, vly_toml_get(node, "id"),
                           "id is \"%s\", wanted none that begins with %s: "
                           "these are of the areas with a generator",
                           id, PREFIX);
}

bool vly_generator_own(const vly_reader *reader, const vly_toml_node *stimuli,
                       uint32_t index)
{
    return index + reader->n_generators >= stimuli->n_children;
}

vly_status vly_generators_check(vly_reader *reader)
{
    vly_status status = VLY_OK;
    uint32_t first = reader->n_stimuli - reader->n_generators;
    for (uint32_t i = 0; i < reader->n_generators; i++)
        reader->genome->areas[reader->generators[i]].generator =
            reader->generator_names[i];
    for (uint32_t s = first; s < reader->n_stimuli; s++)
        VLY_TRY(check_lists(reader, &reader->stimuli[s]));
out:
    return status;
}
