/* SPDX-License-Identifier: Apache-2.0
 * test_attention_device DEVICE [KINDS [SEED]]: attention and the recurrence of
 * RWKV-7 on ten threads at once, each with plans, a stream and memory of its
 * own: shapes, masks, layouts and types at random, sentinels, against float64;
 * then each plan alone, which must give the same bits. KINDS: which of forward,
 * backward, decode, sequence and step, as in "forward,decode"; a way that is
 * forced does not take all. A device that is not there: skipped with the
 * reason, failed where it is required.
 */
#include <stdlib.h>

#include "device_test.h"
#include "gemm_test.h"

#include "base/error.h"
#include "base/random.h"
#include "conformance/conformance_attention_trial.h"
#include "conformance/conformance_element.h"
#include "conformance/conformance_wkv_trial.h"

enum { CALLERS = 10, RUNS = 4, DRAWS = 200 };
enum { FORWARD, BACKWARD, DECODE, SEQUENCE, STEP, N_KINDS };

static const char *const kind_names[N_KINDS] = {"forward", "backward", "decode",
                                                "sequence", "step"};

static const char *device_text = "cpu:2";
static const char *kinds = "forward,backward,decode,sequence,step";
static uint64_t seed;
static uint64_t most_work; /* products of a case */
static vly_registry *registry;
static vly_accelerator attention, wkv;
static vly_error error = {.struct_size = sizeof error};

static int setup(void **state)
{
    (void)state;
    if (vly_registry_create(&registry, &error) != VLY_OK)
        return 1;
    if (vly_accelerator_find(registry, VLY_ATTENTION_INTERFACE, device_text, 1,
                             &attention, &error) == VLY_OK &&
        vly_accelerator_find(registry, VLY_WKV_INTERFACE, device_text, 1, &wkv,
                             &error) == VLY_OK)
        return 0;
    vly_registry_destroy(registry);
    registry = NULL;
    return strncmp(device_text, "cpu", 3) == 0 || device_is_required("cuda");
}

static int teardown(void **state)
{
    (void)state;
    vly_registry_destroy(registry);
    return 0;
}

/* ---- cases at random ---------------------------------------------------- */

/* A number below n, the next of the dice. */
static uint32_t roll(uint64_t *dice, uint32_t n)
{
    *dice = vly_mix64(*dice + 1);
    return (uint32_t)((*dice >> 32) * n >> 32);
}

static uint32_t some_length(uint64_t *dice, uint32_t most)
{
    static const uint32_t odd[] = {1, 17, 63, 64, 65, 127, 129};
    const uint32_t n = sizeof odd / sizeof odd[0];
    return roll(dice, 3) == 0 ? odd[roll(dice, n)] : 1 + roll(dice, most);
}

static uint32_t some_dim(uint64_t *dice)
{
    const uint32_t i = roll(dice, 5);
    return i < 3 ? 64u << i : 8 * (1 + roll(dice, 32));
}

static void some_mask(uint64_t *dice, uint32_t kind, attention_case *c)
{
    static const uint32_t masks[] = {0, VLY_ATTENTION_CAUSAL,
                                     VLY_ATTENTION_CAUSAL_END};
    c->flags = masks[kind == DECODE ? roll(dice, 2) * 2 : roll(dice, 3)];
    if (roll(dice, 3) == 0)
        c->left = 1 + (int32_t)roll(dice, c->seq_kv);
    if (c->flags == 0 && roll(dice, 4) == 0)
        c->right = 1 + (int32_t)roll(dice, c->seq_kv);
    switch (roll(dice, 5)) {
    case 0:
    case 1:
        c->flags |= VLY_ATTENTION_LENGTHS;
        break;
    case 2:
        if (kind != DECODE)
            c->flags |= VLY_ATTENTION_PACKED;
        break;
    case 3:
        if (kind == DECODE) {
            c->flags |= VLY_ATTENTION_PAGED | VLY_ATTENTION_LENGTHS;
            c->page_size = roll(dice, 2) == 0 ? 16 : 64;
        }
        break;
    default:
        break;
    }
}

static attention_case some_attention(uint64_t *dice, uint32_t kind,
                                     uint32_t *type)
{
    static const uint32_t types[] = {VLY_ELEMENT_F16, VLY_ELEMENT_BF16,
                                     VLY_ELEMENT_F16, VLY_ELEMENT_BF16,
                                     VLY_ELEMENT_F32, VLY_ELEMENT_E4M3};
    attention_case c = {.name = kind_names[kind], .backward = kind == BACKWARD};
    *type = types[roll(dice, kind == BACKWARD ? 5 : 6)];
    do {
        c.batch = 1 + roll(dice, 6);
        c.heads_kv = 1 + roll(dice, 3);
        c.heads_q = c.heads_kv << roll(dice, 4);
        c.seq_q = kind == DECODE ? 1 : some_length(dice, 500);
        c.seq_kv = some_length(dice, kind == DECODE ? 4000 : 500);
        c.dim = some_dim(dice);
    } while ((uint64_t)c.batch * c.heads_q * c.seq_q * c.seq_kv * c.dim >
             most_work);
    if (roll(dice, 8) == 0)
        c.dim_v = some_dim(dice);
    some_mask(dice, kind, &c);
    c.layout = roll(dice, 3);
    if (c.flags & VLY_ATTENTION_PACKED && c.layout == ATTENTION_BATCH_HEAD_SEQ)
        c.layout = ATTENTION_BATCH_SEQ_HEAD; /* heads of all would overlap */
    if (*type == VLY_ELEMENT_E4M3 && roll(dice, 2) == 0)
        c.flags |= VLY_ATTENTION_SAME_SCALES;
    if (roll(dice, 4) == 0)
        c.scale = 0.05f + 0.01f * (float)roll(dice, 20);
    c.no_lse = kind != BACKWARD && roll(dice, 3) == 0;
    return c;
}

static wkv_case some_recurrence(uint64_t *dice, uint32_t kind, uint32_t *type)
{
    static const uint32_t types[] = {VLY_ELEMENT_F32, VLY_ELEMENT_F16,
                                     VLY_ELEMENT_BF16};
    wkv_case c = {.name = kind_names[kind], .has_state = roll(dice, 4) != 0};
    *type = types[roll(dice, 3)];
    do {
        c.batch = 1 + roll(dice, WKV_BATCH_MOST);
        c.seq = kind == STEP ? 1 : 1 + some_length(dice, 700);
        c.heads = 1 + roll(dice, 8);
    } while ((uint64_t)c.batch * c.seq * c.heads * WKV_SQUARE > most_work);
    c.in_place = c.has_state && roll(dice, 3) == 0;
    c.lengths = roll(dice, 3) == 0;
    c.strong = roll(dice, 4) == 0;
    return c;
}

/* ---- a caller ----------------------------------------------------------- */

typedef struct caller {
    uint32_t kind;
    uint64_t dice;
    void *stream;
    accel_trial accel; /* prints the error */
    attention_case attention_case;
    attention_trial attention;
    wkv_case wkv_case;
    wkv_trial wkv;
    uint64_t digest; /* of the first run */
    uint32_t n_draws;
    uint32_t n_other; /* runs with other bits */
    bool good;
} caller;

static bool is_recurrence(const caller *c)
{
    return c->kind == SEQUENCE || c->kind == STEP;
}

static bool run_again(caller *c)
{
    if (is_recurrence(c))
        return wkv_trial_poison(&c->wkv) && wkv_trial_run(&c->wkv);
    return attention_trial_poison(&c->attention) &&
           attention_trial_run(&c->attention);
}

static bool check(caller *c)
{
    return is_recurrence(c) ? wkv_trial_check(&c->wkv)
                            : attention_trial_check(&c->attention);
}

static bool digest_of(caller *c, uint64_t *digest)
{
    return is_recurrence(c) ? wkv_trial_digest(&c->wkv, digest)
                            : attention_trial_digest(&c->attention, digest);
}

static bool no_data(caller *c, const vly_error *why)
{
    accel_fail(&c->accel, "test data: %.400s", why->message);
    return false;
}

static bool open_attention(caller *c)
{
    attention_trial *t = &c->attention;
    uint32_t type = 0;
    c->attention_case = some_attention(&c->dice, c->kind, &type);
    *t = (attention_trial){.accel = &c->accel,
                           .accelerator = &attention,
                           .backward = c->kind == BACKWARD,
                           .unaligned = roll(&c->dice, 5) == 0,
                           .stream = c->stream,
                           .error = VLY_ERROR_INIT};
    attention_data_describe(&t->data, &c->attention_case, type);
    t->desc = t->data.desc;
    if (t->backward) {
        t->desc.flags &= ~(uint32_t)VLY_ATTENTION_LSE;
        t->desc.flags |= VLY_ATTENTION_BACKWARD | VLY_ATTENTION_DETERMINISTIC;
    }
    t->desc.align = t->unaligned ? conformance_element_bits(type) / 8 : 0;
    /* the reference is slow: not computed for refused cases */
    if (!attention_trial_plan(t))
        return false;
    if (attention_data_init(&t->data, &c->attention_case, type, c->dice,
                            &t->error) != VLY_OK)
        return no_data(c, &t->error);
    return attention_trial_open(t);
}

static bool open_recurrence(caller *c)
{
    wkv_trial *t = &c->wkv;
    uint32_t type = 0;
    c->wkv_case = some_recurrence(&c->dice, c->kind, &type);
    *t = (wkv_trial){.accel = &c->accel,
                     .accelerator = &wkv,
                     .desc = wkv_trial_desc(&c->wkv_case, type),
                     .unaligned = roll(&c->dice, 5) == 0,
                     .stream = c->stream,
                     .error = VLY_ERROR_INIT};
    t->desc.align = t->unaligned ? conformance_element_bits(type) / 8 : 0;
    if (wkv_data_init(&t->data, &c->wkv_case, type, c->dice, &t->error) !=
        VLY_OK)
        return no_data(c, &t->error);
    return wkv_trial_open(t);
}

static void close_case(caller *c)
{
    if (is_recurrence(c)) {
        wkv_trial_close(&c->wkv);
        wkv_data_deinit(&c->wkv.data);
    } else {
        attention_trial_close(&c->attention);
        attention_data_deinit(&c->attention.data);
    }
}

/* Until one is offered: a way that is forced takes some only. */
static bool open_case(caller *c)
{
    for (c->n_draws = 1; c->n_draws <= DRAWS; c->n_draws++) {
        if (is_recurrence(c) ? open_recurrence(c) : open_attention(c))
            return true;
        const bool skipped =
            is_recurrence(c) ? c->wkv.skipped != 0 : c->attention.skipped != 0;
        if (!skipped)
            return false;
        close_case(c);
    }
    c->n_draws = 0; /* closed */
    return false;
}

/* No asserts: it runs on any thread. */
static void *call(void *arg)
{
    caller *c = arg;
    vly_error why = {.struct_size = sizeof why};
    uint64_t digest = 0;
    if (attention.memory.stream_create(attention.device.index, &c->stream,
                                       &why) != VLY_OK) {
        accel_fail(&c->accel, "stream: %.400s", why.message);
        return NULL;
    }
    c->good = open_case(c);
    for (uint32_t i = 0; i < RUNS && c->good; i++) {
        c->good = run_again(c) && digest_of(c, &digest);
        c->digest = i == 0 ? digest : c->digest;
        c->n_other += digest != c->digest;
    }
    c->good = c->good && check(c);
    return NULL;
}

static void print_case(const caller *c)
{
    const attention_case *a = &c->attention_case;
    if (is_recurrence(c)) {
        const wkv_case *w = &c->wkv_case;
        printf("%s: batch %u, %u tokens, %u heads%s%s, type %u; %s\n", w->name,
               w->batch, w->seq, w->heads, w->lengths ? ", lengths" : "",
               w->in_place ? ", in place" : "", c->wkv.desc.type,
               c->wkv.info.choice);
        return;
    }
    printf("%s: batch %u, heads %u/%u, %u x %u, dim %u/%u, flags 0x%x, window "
           "%d %d, layout %u, type %u%s; draw %u; %s\n",
           a->name, a->batch, a->heads_q, a->heads_kv, a->seq_q, a->seq_kv,
           c->attention.desc.dim, c->attention.desc.dim_v,
           c->attention.desc.flags, c->attention.desc.window_left,
           c->attention.desc.window_right, a->layout, c->attention.desc.type,
           c->attention.unaligned ? ", unaligned" : "", c->n_draws,
           c->attention.info.choice);
}

/* ---- ten of them -------------------------------------------------------- */

/* Alone on the device: the same bits. */
static bool is_same_alone(caller *c)
{
    uint64_t digest = 0;
    return run_again(c) && digest_of(c, &digest) && digest == c->digest;
}

/* The error of one of them, in accel.text; false: none. */
static bool is_wrong(caller *c)
{
    if (!c->good)
        return true;
    if (c->n_other > 0)
        accel_fail(&c->accel, "%u of %d runs gave other bits", c->n_other,
                   RUNS);
    else if (!is_same_alone(c))
        accel_fail(&c->accel, "other bits alone");
    else
        return false;
    return true;
}

/* How many are wrong; the index of one of them. */
static uint32_t report(caller *callers, uint32_t *which)
{
    uint32_t n_wrong = 0;
    for (uint32_t i = 0; i < CALLERS; i++) {
        print_case(&callers[i]);
        if (!is_wrong(&callers[i]))
            continue;
        printf("caller %u: %s\n", i, callers[i].accel.text);
        *which = i;
        n_wrong++;
    }
    fflush(stdout);
    return n_wrong;
}

static void ten_callers(uint32_t kind)
{
    if (registry == NULL) {
        print_message("skipped: %s\n", error.message);
        skip();
    }
    if (strstr(kinds, kind_names[kind]) == NULL)
        skip(); /* of KINDS */
    caller *callers = calloc(CALLERS, sizeof *callers);
    assert_non_null(callers);
    for (uint32_t i = 0; i < CALLERS; i++) {
        callers[i].kind = kind;
        callers[i].dice = vly_mix64(vly_mix64(seed + kind) + i);
    }
    call_together(call, callers, sizeof callers[0], CALLERS);
    uint32_t which = 0;
    char text[sizeof callers->accel.text];
    const uint32_t n_wrong = report(callers, &which);
    snprintf(text, sizeof text, "%s", callers[which].accel.text);
    for (uint32_t i = 0; i < CALLERS; i++) {
        if (callers[i].n_draws > 0)
            close_case(&callers[i]);
        if (callers[i].stream != NULL)
            attention.memory.stream_destroy(attention.device.index,
                                            callers[i].stream);
    }
    free(callers);
    if (n_wrong > 0)
        fail_msg("%u callers, as %u: %s", n_wrong, which, text);
}

#define TEN(name, kind)                                                        \
    static void name(void **state)                                             \
    {                                                                          \
        (void)state;                                                           \
        ten_callers(kind);                                                     \
    }
TEN(test_forward, FORWARD)
TEN(test_backward, BACKWARD)
TEN(test_decode, DECODE)
TEN(test_sequence, SEQUENCE)
TEN(test_step, STEP)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward), cmocka_unit_test(test_backward),
        cmocka_unit_test(test_decode), cmocka_unit_test(test_sequence),
        cmocka_unit_test(test_step)};
    if (argc > 1)
        device_text = argv[1];
    if (argc > 2)
        kinds = argv[2];
    if (argc > 3)
        seed = strtoull(argv[3], NULL, 10);
    /* the reference is slow, and slower under sanitizers */
    most_work = strncmp(device_text, "cpu", 3) == 0 ? 1u << 22 : 1u << 24;
    return cmocka_run_group_tests(tests, setup, teardown) ? 1 : 0;
}
