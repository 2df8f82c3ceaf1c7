/* SPDX-License-Identifier: Apache-2.0
 * test_conformance_golden [fill FILE]: the digests of the conformance table are
 * those of the second simulator, which also applies the table's changes, by its
 * own means. With `fill` it writes core/conformance/conformance_golden.def: how
 * that file is made.
 */
#include "volley_test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "connectome/connectome.h"
#include "second_learning.h"
#include "second_simulator.h"

enum { MAX_CHANGES = 64 };

/* What is changed, and the words that the changed network points to. */
typedef struct change_state {
    vly_conformance_case entry;
    uint32_t done;
    uint32_t *words[MAX_CHANGES];
} change_state;

static FILE *fill; /* NULL: check */
static vly_error error = {.struct_size = sizeof error};

/* ---- changes in the second simulator's own structs --------------------- */

static void change_stimulus(second_file *file, uint32_t index,
                            const uint32_t *words, uint32_t n)
{
    for (uint32_t s = 0, k = 0; s < file->n_stimuli; s++) {
        second_stimulus *stimulus = &file->stimuli[s];
        if (stimulus->kind > 1) /* dc and lists are not the backend's */
            continue;
        if (k++ == index) {
            stimulus->thresholds = words;
            stimulus->n_thresholds = n;
        }
    }
}

static void apply(second_file *file, const vly_conformance_change *change,
                  uint32_t *words, uint32_t n)
{
    vly_conformance_words(change, words, n);
    if (change->kind == VLY_CHANGE_STIMULUS) {
        change_stimulus(file, change->index, words, change->count);
        return;
    }
    second_area *area = &file->areas[change->index];
    if (change->kind == VLY_CHANGE_FIELD) {
        memcpy(area->state[change->slot] + change->first, words,
               change->count * sizeof *words);
        return;
    }
    second_column *column =
        &area->columns[area->n_params + area->n_fields + change->slot];
    column->is_uniform = change->count == 0;
    column->elements = words;
}

static void give(second_file *file, const vly_input *given)
{
    const second_learning *l = file->projections[given->neuron].learning;
    if (l == NULL || l->reward == NULL)
        fail_msg("projection %u has no modulator", given->neuron);
    l->reward->is_given = 1;
    l->reward->given = given->value;
}

static void before_burst(second_file *file, uint64_t burst, void *arg)
{
    change_state *state = arg;
    for (uint32_t i = 0; i < state->entry.n_modulations; i++)
        if (state->entry.modulations[i].burst == burst)
            give(file, &state->entry.modulations[i]);
    while (state->done < state->entry.n_changes &&
           state->entry.changes[state->done].burst == burst) {
        const vly_conformance_change *change =
            &state->entry.changes[state->done];
        uint32_t n = change->count + 1;
        if (change->kind == VLY_CHANGE_COEF && change->count > 0)
            n = file->areas[change->index].n;
        state->words[state->done] = calloc(n, sizeof(uint32_t));
        if (state->words[state->done] == NULL)
            exit(2);
        apply(file, change, state->words[state->done++], n);
    }
}

/* ---- one net ----------------------------------------------------------- */

static void print_golden(FILE *file, const vly_conformance_case *entry,
                         const second_result *result, uint64_t n_bursts)
{
    fprintf(file,
            "VLY_GOLDEN(%s, %" PRIu64 "u, %" PRIu64 "u, 0x%016" PRIx64
            "u,\n           0x%016" PRIx64 "u,",
            entry->name, result->spikes, result->events, result->digest,
            result->state_digest);
    for (uint64_t t = 0; t < n_bursts; t++)
        fprintf(file, "%s%04x",
                t % 16 != 0 ? ""
                : t == 0    ? "\n           \""
                            : "\"\n           \"",
                (unsigned)(result->bursts[t] & 0xffff));
    fprintf(file, "\")\n");
}

static uint64_t check_golden(const vly_conformance_case *entry,
                             const second_result *result, uint64_t n_bursts)
{
    const vly_conformance_golden *golden =
        vly_conformance_golden_of(entry->name);
    uint64_t n_wrong = 0;
    if (golden == NULL || strlen(golden->trace) != 4 * n_bursts)
        fail_msg("%s: no golden digests of %u bursts", entry->name,
                 (unsigned)n_bursts);
    for (uint64_t t = 0; t < n_bursts; t++) {
        char word[5];
        snprintf(word, sizeof word, "%04x",
                 (unsigned)(result->bursts[t] & 0xffff));
        n_wrong += memcmp(word, golden->trace + 4 * t, 4) != 0;
    }
    if (n_wrong == 0 && golden->spikes == result->spikes &&
        golden->events == result->events && golden->digest == result->digest &&
        golden->state_digest == result->state_digest)
        return 0;
    fprintf(stderr, "%s: the second simulator has other digests now:\n",
            entry->name);
    print_golden(stderr, entry, result, n_bursts);
    return 1;
}

static uint64_t one_net(uint32_t index)
{
    change_state state = {.entry = vly_conformance_get(index)};
    const vly_conformance_case *entry = &state.entry;
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    second_file file;
    char path[512];
    assert_true(entry->n_changes <= MAX_CHANGES);
    assert_ok(vly_genome_parse(entry->genome, strlen(entry->genome),
                               entry->name, NULL, 0, &genome, &error),
              error);
    assert_ok(vly_connectome_build(genome, 1, &connectome, &error), error);
    snprintf(path, sizeof path, "%s/conformance_%ld.connectome",
             VLY_TEST_BINARY_DIR, (long)getpid());
    assert_ok(vly_connectome_save(connectome, path, &error), error);
    assert_int_equal(second_file_read(path, &file), 0);
    unlink(path);
    uint64_t n_bursts = connectome->n_bursts;
    second_result result = {.before = before_burst, .before_arg = &state};
    result.bursts = calloc((size_t)n_bursts + 1, sizeof *result.bursts);
    assert_non_null(result.bursts);
    assert_int_equal(second_run(&file, n_bursts, &result), 0);
    assert_int_equal(state.done, entry->n_changes);
    uint64_t n_wrong = 0;
    if (fill)
        print_golden(fill, entry, &result, n_bursts);
    else
        n_wrong = check_golden(entry, &result, n_bursts);
    if (!fill && (result.spikes == 0) != (strcmp(entry->name, "silent") == 0))
        fail_msg("%s: %u spikes", entry->name, (unsigned)result.spikes);
    free(result.bursts);
    for (uint32_t i = 0; i < state.done; i++)
        free(state.words[i]);
    second_file_free(&file);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    return n_wrong;
}

static void test_golden(void **state)
{
    (void)state;
    uint64_t n_wrong = 0;
    if (fill)
        fprintf(fill,
                "/* SPDX-License-Identifier: Apache-2.0\n"
                " * Made by `test_conformance_golden fill`: results of the "
                "second simulator.\n */\n");
    for (uint32_t i = 0; i < vly_conformance_count(); i++)
        n_wrong += one_net(i);
    assert_int_equal(n_wrong, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden)};
    if (argc > 2 && strcmp(argv[1], "fill") == 0) {
        fill = fopen(argv[2], "w");
        if (fill == NULL)
            return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return (fill != NULL && fclose(fill) != 0) || failed ? 1 : 0;
}
