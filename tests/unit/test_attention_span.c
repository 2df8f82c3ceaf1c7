/* SPDX-License-Identifier: Apache-2.0
 * test_attention_span DEVICE [DEVICES]: attention spread over parts of one
 * device and over DEVICES of them (default: those that there are, up to 4) has
 * the bits of one device, is right against float64 and writes nothing else.
 * A device that is not there: skipped with the reason, failed where it is
 * required. Emulated: with kernels on the processor and a fake runtime.
 */
#include <stdlib.h>

#include "device_test.h"

#include "base/error.h"
#include "conformance/conformance_attention_trial.h"
#include "conformance/conformance_element.h"

enum { TEXT = 200, MOST = 4 };

static const char *device_text = "cuda:0";
static const char *devices_text;
static uint32_t n_devices;
static vly_registry *registry;
static vly_error error = {.struct_size = sizeof error};

static int setup(void **state)
{
    static vly_accelerator found;
    (void)state;
    if (vly_registry_create(&registry, &error) != VLY_OK)
        return 1;
    if (vly_accelerator_find(registry, VLY_ATTENTION_INTERFACE, device_text, 1,
                             &found, &error) == VLY_OK) {
        const uint32_t n = found.memory.device_count();
        n_devices = devices_text != NULL ? (uint32_t)atoi(devices_text)
                    : n < MOST           ? n
                                         : MOST;
        return 0;
    }
    print_message("skipped: %s\n", error.message);
    vly_registry_destroy(registry);
    registry = NULL;
    /* with DEVICES the plugin is one of the tests */
    return devices_text != NULL || device_is_required("cuda");
}

static int teardown(void **state)
{
    (void)state;
    vly_registry_destroy(registry);
    return 0;
}

/* ---- one case ------------------------------------------------------------ */

typedef struct span_case {
    const char *name; /* of the conformance table; NULL: `own` */
    uint32_t type;
    uint32_t backward;
    uint32_t parts; /* that span=4 makes, and the grid */
    const char *grid;
    attention_case own;
} span_case;

#define ROW(name, type, backward, parts, grid)                                 \
    {                                                                          \
        name, VLY_ELEMENT_##type, backward, parts, grid,                       \
        {                                                                      \
            NULL                                                               \
        }                                                                      \
    }

static const span_case cases[] = {
    ROW("grouped", F32, 0, 4, "(2 x 2 x 1: "),
    ROW("grouped", F32, 1, 4, "(2 x 2 x 1: "),
    ROW("gaps", F32, 1, 4, "(2 x 2 x 1: "),
    ROW("heads_first", F16, 0, 4, "(2 x 2 x 1: "),
    ROW("heads_first", F32, 1, 4, "(2 x 2 x 1: "),
    ROW("lengths_gaps", F32, 1, 4, "(2 x 2 x 1: "),
    ROW("odd_17", F16, 0, 3, "(3 x 1 x 1: "),
    ROW("odd_65", BF16, 1, 3, "(1 x 3 x 1: "),
    ROW("dim_v_64", F16, 0, 2, "(1 x 2 x 1: "),
    ROW("decode", BF16, 0, 4, "(2 x 2 x 1: "),
    ROW("no_query", F32, 1, 2, "(1 x 2 x 1: "),
    ROW("no_key", F32, 0, 2, "(1 x 2 x 1: "),
    ROW("no_batch", F32, 0, 1, "(1 x 1 x 1: "),
    ROW("full_64", E4M3, 0, 4, "(2 x 2 x 1: "),
    {NULL,
     VLY_ELEMENT_F32,
     0,
     2,
     "(1 x 1 x 2: ",
     {.name = "queries",
      .batch = 1,
      .heads_q = 1,
      .heads_kv = 1,
      .seq_q = 800,
      .seq_kv = 20,
      .dim = 8}},
    {NULL,
     VLY_ELEMENT_BF16,
     0,
     4,
     "(1 x 2 x 2: ",
     {.name = "queries of two heads",
      .batch = 1,
      .heads_q = 2,
      .heads_kv = 2,
      .seq_q = 900,
      .seq_kv = 33,
      .dim = 16,
      .layout = ATTENTION_BATCH_HEAD_SEQ}},
};

static const attention_case *entry_of(const span_case *c)
{
    const attention_case *entry = NULL;
    if (c->name == NULL)
        return &c->own;
    for (uint32_t i = 0; (entry = attention_case_get(i)) != NULL; i++)
        if (strcmp(entry->name, c->name) == 0)
            return entry;
    fail_msg("the table has no %s", c->name);
    return NULL;
}

static void find(const char *options, vly_accelerator *accelerator)
{
    char text[TEXT];
    snprintf(text, sizeof text, "%s,%s", device_text, options);
    assert_ok(vly_accelerator_find(registry, VLY_ATTENTION_INTERFACE, text, 1,
                                   accelerator, &error),
              error);
}

static void prepare(attention_trial *t, const span_case *c,
                    const vly_accelerator *accelerator)
{
    t->accelerator = accelerator;
    t->backward = c->backward;
    t->desc = t->data.desc;
    if (c->backward) {
        t->desc.flags &= ~(uint32_t)VLY_ATTENTION_LSE;
        t->desc.flags |= VLY_ATTENTION_BACKWARD | VLY_ATTENTION_DETERMINISTIC;
    }
}

/* The digest of the outputs, which are checked; choice: of the plan. Twice, as
 * a span keeps buffers. */
static uint64_t run_case(const span_case *c, attention_trial *t,
                         const char *options, char *choice)
{
    static vly_accelerator accelerator;
    uint64_t digest[2] = {0, 1};
    find(options, &accelerator);
    prepare(t, c, &accelerator);
    bool good = attention_trial_open(t);
    snprintf(choice, sizeof t->info.choice, "%s", t->info.choice);
    for (uint32_t i = 0; i < 2 && good; i++)
        good = attention_trial_poison(t) && attention_trial_run(t) &&
               attention_trial_digest(t, &digest[i]);
    good = good && attention_trial_check(t);
    attention_trial_close(t);
    if (!good || digest[0] != digest[1])
        fail_msg("%s, %s, %s: %s", entry_of(c)->name, options, choice,
                 good ? "a second run gave other bits" : t->accel->text);
    return digest[0];
}

static void check_case(const span_case *c)
{
    static accel_trial accel;
    char choice[sizeof((vly_plan_info *)0)->choice];
    char one_device[sizeof choice], devices[24], wanted[64];
    attention_trial t = {.accel = &accel, .error = VLY_ERROR_INIT};
    const attention_case *entry = entry_of(c);
    assert_ok(attention_data_init(&t.data, entry, c->type, 7, &t.error),
              t.error);
    const uint64_t one = run_case(c, &t, "span=1", one_device);
    assert_null(strstr(one_device, "parts"));
    if (run_case(c, &t, "span=4", choice) != one)
        fail_msg("%s: %s has other bits than %s", entry->name, choice,
                 one_device);
    snprintf(wanted, sizeof wanted, " on %u part%s %s", c->parts,
             c->parts == 1 ? "" : "s", c->grid);
    if (strncmp(choice, one_device, strlen(one_device)) != 0 ||
        strstr(choice, wanted) == NULL)
        fail_msg("%s: \"%s\", wanted \"%s%s\"", entry->name, choice, one_device,
                 wanted);
    snprintf(devices, sizeof devices, "devices=%u", n_devices);
    if (n_devices > 1 && run_case(c, &t, devices, choice) != one)
        fail_msg("%s, %s: %s has other bits than %s", entry->name, devices,
                 choice, one_device);
    if (run_case(c, &t, "span=3,copy=kernel", choice) != one)
        fail_msg("%s: %s has other bits than %s", entry->name, choice,
                 one_device);
    attention_data_deinit(&t.data);
}

static void test_bits(void **state)
{
    (void)state;
    if (registry == NULL)
        skip();
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_case(&cases[i]);
}

/* ---- what is refused ------------------------------------------------------
 */

static void check_refused(const char *name, const char *options,
                          vly_status wanted, const char *text)
{
    static vly_accelerator accelerator;
    attention_data data;
    vly_attention_plan *plan = NULL;
    const span_case c = {.name = name};
    memset(&data, 0, sizeof data);
    find(options, &accelerator);
    attention_data_describe(&data, entry_of(&c), VLY_ELEMENT_BF16);
    const vly_status status = accelerator.attention.plan_create(
        &accelerator.device, &data.desc, &plan, &error);
    if (status != wanted || strstr(error.message, text) == NULL)
        fail_msg("%s, %s: %d \"%s\", wanted %d \"%s\"", name, options, status,
                 error.message, wanted, text);
}

static void test_refused(void **state)
{
    char too_many[TEXT], named[TEXT];
    vly_accelerator none;
    (void)state;
    if (registry == NULL)
        skip();
    check_refused("packed", "span=2", VLY_E_UNSUPPORTED, "packed sequences");
    check_refused("paged_16", "span=2", VLY_E_UNSUPPORTED, "in pages");
    check_refused("grouped", "span=2,choose=cudnn", VLY_E_UNSUPPORTED,
                  "may not depend on other heads");
    check_refused("grouped", "span=2,copy=kernels-of-its-own", VLY_E_INVALID,
                  "wanted engine or kernel");
    check_refused("grouped", "span=0", VLY_E_INVALID, "wanted 1 to 16");
    check_refused("grouped", "devices=17", VLY_E_INVALID, "wanted 1 to 16");
    check_refused("grouped", "devices=2x", VLY_E_INVALID, "wanted 1 to 16");
    check_refused("grouped", "devices=2,span=2", VLY_E_INVALID,
                  "wanted one of both");
    snprintf(named, sizeof named, "%.*s-15", (int)strcspn(device_text, ","),
             device_text);
    snprintf(too_many, sizeof too_many, "devices 0 to 15, but there ");
    if (devices_text == NULL) { /* the emulation is a host without a number */
        assert_int_equal(vly_accelerator_find(registry, VLY_ATTENTION_INTERFACE,
                                              named, 1, &none, &error),
                         VLY_E_DEVICE);
        assert_non_null(strstr(error.message, too_many));
        assert_int_equal(vly_accelerator_find(registry, VLY_WKV_INTERFACE,
                                              named, 1, &none, &error),
                         VLY_E_UNSUPPORTED);
        assert_non_null(strstr(error.message, "runs on one"));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_refused),
    };
    if (argc > 1)
        device_text = argv[1];
    if (argc > 2)
        devices_text = argv[2];
    return cmocka_run_group_tests(tests, setup, teardown) ? 1 : 0;
}
