/* SPDX-License-Identifier: Apache-2.0
 * Samples of fields that the command records are what vly_net_read says, in
 * every burst of every interval, on one thread, several, and across a swap.
 */
#include "volley_test.h"

#include <stdlib.h>
#include <unistd.h>

#include <volley/volley.h>

#include "base/error.h"
#include "base/memory.h"
#include "record/stream.h"

enum { N_BURSTS = 300, N_A = 1500 };

static char folder[] = "/tmp/volley_fields_XXXXXX";

/* Neurons far from each other are read one by one, near ones together. */
static const char genome_text[] =
    "format = 1\n[run]\ndt_ms = 0.1\nbursts = 300\n"
    "[area.A]\nmodel = \"lif_psc_exp\"\nneurons = 1500\n"
    "[area.B]\nmodel = \"lif_psc_delta\"\nneurons = 40\n"
    "[[map]]\nfrom = [\"A\", \"B\"]\nto = \"B\"\nrule = \"fixed_in_degree\"\n"
    "in_degree = 9\nweight_mv = 0.3\ndelay_ms = 1.5\n"
    "[[stimulus]]\nkind = \"poisson\"\nto = \"A\"\nrate_hz = 4000\n"
    "weight_pa = 900\n"
    "[[stimulus]]\nkind = \"poisson\"\nto = \"B\"\nrate_hz = 4000\n"
    "weight_mv = 3\n"
    "[[record]]\nwhat = \"fields\"\nfrom = [\"A\", \"B\"]\n"
    "fields = [\"v_mv\", \"refractory\"]\nneurons = [2, 3, 39]\n"
    "interval_bursts = 7\n"
    "[[record]]\nwhat = \"fields\"\nfrom = \"A\"\nfields = \"i_syn_pa\"\n"
    "neurons = [0, 1, 1499]\ninterval_ms = 0.1\n"
    "[[record]]\nwhat = \"fields\"\nfrom = \"B\"\nfields = \"v_mv\"\n";

static void write_genome(void)
{
    FILE *file = fopen("net.toml", "w");
    assert_non_null(file);
    fputs(genome_text, file);
    assert_int_equal(fclose(file), 0);
}

static void run_command(const char *options)
{
    char line[4096];
    snprintf(line, sizeof line, "%s run net.toml --quiet %s", VLY_TEST_COMMAND,
             options);
    assert_int_equal(system(line), 0);
}

/* Reads the present values of a frame from the net. */
static uint32_t compare(vly_net *net, const vly_stream_head *head,
                        const vly_stream_block *block)
{
    vly_error error = VLY_ERROR_INIT;
    double values[N_A];
    const vly_stream_report *report = &head->reports[block->report];
    const vly_spike_area *area = &head->areas[report->area];
    uint32_t moved = 0;
    assert_int_equal(block->burst % report->interval, 0);
    assert_int_equal(block->n, report->n_neurons);
    assert_ok(vly_net_read(net, area->name, report->field, 0, area->n_neurons,
                           values, &error),
              error);
    for (uint32_t i = 0; i < block->n; i++) {
        float sample = 0;
        uint32_t neuron = report->neurons != NULL ? report->neurons[i] : i;
        memcpy(&sample, &block->data[i], sizeof sample);
        double found = report->type == VLY_TYPE_F32 ? (double)sample
                                                    : (double)block->data[i];
        assert_true(found >= values[neuron] && found <= values[neuron]);
        moved += found < values[0] || found > values[0];
    }
    return moved;
}

static void as_the_net_says(const char *path)
{
    vly_error error = VLY_ERROR_INIT;
    vly_net *net = NULL;
    vly_stream_reader *reader = NULL;
    vly_stream_block block;
    uint32_t n_frames[8] = {0};
    uint32_t moved[8] = {0};
    bool more = true;
    assert_ok(vly_net_open("net.toml", "cpu:1", &net, &error), error);
    assert_ok(vly_stream_reader_open(path, &reader, &error), error);
    const vly_stream_head *head = vly_stream_reader_head(reader);
    assert_int_equal(head->n_reports, 6);
    while (more) {
        assert_ok(vly_stream_reader_next(reader, &block, &more, &error), error);
        if (!more || block.kind != VLY_STREAM_FRAME)
            continue;
        assert_true(block.burst >= vly_net_burst(net));
        assert_ok(vly_net_run(net, block.burst - vly_net_burst(net), &error),
                  error);
        moved[block.report] += compare(net, head, &block);
        n_frames[block.report]++;
    }
    for (uint32_t r = 0; r < 6; r++) {
        assert_int_equal(n_frames[r], N_BURSTS / head->reports[r].interval);
        assert_true(moved[r] > 0); /* neurons differ: it is not one number */
    }
    assert_int_equal(head->reports[4].interval, 1);
    assert_int_equal(head->reports[5].interval, 10);
    vly_stream_reader_close(reader);
    vly_net_close(net);
}

static void samples_are_the_state(void **state)
{
    (void)state;
    write_genome();
    run_command("--backend cpu:1 --record one.vls");
    as_the_net_says("one.vls");
    run_command("--backend cpu:3 --record three.vls --swap 70=cpu:1 "
                "--swap 71=cpu:2");
    assert_int_equal(system("cmp one.vls three.vls"), 0);
    run_command("--backend cpu:1 --record part.vls --checkpoint ck --every 30 "
                "--bursts 140");
    run_command("--backend cpu:2 --record part.vls --resume ck");
    assert_int_equal(system("cmp one.vls part.vls"), 0);
    run_command("--backend cpu:1 --pace slip --pace-hz 100000 "
                "--record paced.vls");
    assert_int_equal(system("cmp one.vls paced.vls"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_the_state),
    };
    char command[300];
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("/") != 0 || system(command) != 0 || failed ? 1 : 0;
}
