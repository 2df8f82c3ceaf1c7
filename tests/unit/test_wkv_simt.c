/* SPDX-License-Identifier: Apache-2.0
 * The CUDA kernels of RWKV-7's recurrence, run on the processor
 * (tests/support/simt), against plain loops in double.
 */
#include <math.h>

#include "volley_test.h"

#include "element.h"
#include "kernels/accelerators/wkv_kernels.h"

const char vly_support_plugin[] = "test";

static uint64_t rng = 3;

static double uniform(void)
{
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    return (double)(rng >> 40) * 0x1p-23 - 1.0;
}

enum { WKV_HEADS = 2, WKV_BATCH = 2, WKV_MOST = 110, WKV_SQUARE = 4096 };
enum { WKV_N = WKV_BATCH * WKV_MOST * WKV_HEADS * 64 };
enum { WKV_STATES = WKV_BATCH * WKV_HEADS * WKV_SQUARE };
enum { WKV_R, WKV_W, WKV_K, WKV_V, WKV_A, WKV_B, WKV_INPUTS };

typedef int (*wkv_launch)(const vly_wkv_args *args, void *stream);

static float wkv_x[WKV_INPUTS][WKV_N], wkv_y[WKV_N];
static float wkv_in[WKV_STATES], wkv_out[WKV_STATES];
static uint32_t n_chunks = 1; /* that are made at once */
static _Alignas(256) char workspace[4 * WKV_BATCH * WKV_HEADS *
                                    (VLY_WKV_CHUNK_BYTES + 256)];
static double wkv_y_wanted[WKV_N], wkv_wanted[WKV_STATES];
static uint32_t n_batch = WKV_BATCH;

/* w around `decay`; a and b short enough that a state does not grow. */
static void fill_wkv(double decay)
{
    for (uint32_t i = 0; i < WKV_INPUTS * WKV_N; i++) {
        const uint32_t which = i / WKV_N;
        wkv_x[which][i % WKV_N] = (float)(which >= WKV_A   ? 0.2 * uniform()
                                          : which == WKV_W ? decay + uniform()
                                                           : uniform());
    }
    for (uint32_t i = 0; i < WKV_STATES; i++)
        wkv_in[i] = (float)uniform();
}

/* One token of row i of a head whose vectors start at `at`. */
static void wkv_token(double *s, int32_t at, int32_t i)
{
    double sa = 0.0;
    double sum = 0.0;
    for (int32_t j = 0; j < 64; j++)
        sa += s[j] * (double)wkv_x[WKV_A][at + j];
    for (int32_t j = 0; j < 64; j++) {
        s[j] = s[j] * exp(-exp((double)wkv_x[WKV_W][at + j])) +
               sa * (double)wkv_x[WKV_B][at + j] +
               (double)wkv_x[WKV_V][at + i] * (double)wkv_x[WKV_K][at + j];
        sum += s[j] * (double)wkv_x[WKV_R][at + j];
    }
    wkv_y_wanted[at + i] = sum;
}

static void wkv_reference(const vly_wkv_args *args)
{
    const int32_t seq = (int32_t)args->seq;
    for (int32_t pair = 0; pair < (int32_t)n_batch * WKV_HEADS; pair++) {
        const int32_t batch = pair / WKV_HEADS;
        double *s = wkv_wanted + pair * WKV_SQUARE;
        for (int32_t i = 0; i < WKV_SQUARE; i++)
            s[i] = args->state_in != NULL
                       ? (double)wkv_in[pair * WKV_SQUARE + i]
                       : 0.0;
        for (int32_t t = 0; t < seq; t++)
            for (int32_t i = 0; i < 64; i++) {
                const int32_t at =
                    ((batch * seq + t) * WKV_HEADS + pair % WKV_HEADS) * 64;
                if (args->length != NULL && t >= args->length[batch])
                    wkv_y_wanted[at + i] = NAN; /* not written */
                else
                    wkv_token(s + i * 64, at, i);
            }
    }
}

/* Numbers against what is wanted; what has none must have none. */
static double worst_of(const float *found, const double *wanted, uint32_t n)
{
    double worst = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        const double error =
            fabs((double)found[i] - wanted[i]) / (1.0 + fabs(wanted[i]));
        if (isfinite(wanted[i]) != isfinite(found[i]))
            return INFINITY;
        if (isfinite(wanted[i]) && !(error <= worst))
            worst = error;
    }
    return worst;
}

/* The largest error of y and the state. */
static double run_wkv(wkv_launch launch, int32_t seq, const int32_t *length,
                      int with_state)
{
    const vly_wkv_args args = {.r = wkv_x[WKV_R],
                               .w = wkv_x[WKV_W],
                               .k = wkv_x[WKV_K],
                               .v = wkv_x[WKV_V],
                               .a = wkv_x[WKV_A],
                               .b = wkv_x[WKV_B],
                               .y = wkv_y,
                               .state_in = with_state ? wkv_in : NULL,
                               .state_out = wkv_out,
                               .length = length,
                               .batch = n_batch,
                               .seq = (uint32_t)seq,
                               .heads = WKV_HEADS,
                               .type = VLY_ELEMENT_F32,
                               .chunks = n_chunks,
                               .workspace = workspace};
    assert_true(vly_wkv_chunked_bytes(n_batch * WKV_HEADS, args.seq,
                                      n_chunks) <= sizeof workspace);
    memset(workspace, 0xff, sizeof workspace);
    memset(wkv_y, 0xff, sizeof wkv_y);
    memset(wkv_out, 0xff, sizeof wkv_out);
    assert_int_equal(launch(&args, NULL), 0);
    wkv_reference(&args);
    const double y =
        worst_of(wkv_y, wkv_y_wanted, n_batch * (uint32_t)seq * WKV_HEADS * 64);
    const double state =
        worst_of(wkv_out, wkv_wanted, n_batch * WKV_HEADS * WKV_SQUARE);
    return y > state ? y : state;
}

static void check_wkv(wkv_launch launch, int32_t seq, const int32_t *length,
                      int with_state)
{
    const double worst = run_wkv(launch, seq, length, with_state);
    if (!(worst <= 2e-5))
        fail_msg("%d tokens: an error of %.3g", seq, worst);
}

static void test_wkv(void **state)
{
    (void)state;
    const int32_t none[] = {1, 0};
    const int32_t some[] = {17, 35};
    fill_wkv(0.0);
    check_wkv(vly_wkv_step, 1, NULL, 1);
    check_wkv(vly_wkv_step, 1, none, 0);
    check_wkv(vly_wkv_recurrent, 35, NULL, 0);
    check_wkv(vly_wkv_recurrent, 35, some, 1);
    check_wkv(vly_wkv_recurrent, 16, NULL, 1);
}

/* RWKV-7's decays are above 0.545 (w = -0.5); with w about 1.5 chunks have to
 * be done token by token. Ranges of one chunk, of two, and all at once. */
static void test_wkv_chunked(void **state)
{
    (void)state;
    static const double decays[] = {-1.5, -4.0, 1.5};
    const int32_t none[] = {1, 0};
    const int32_t some[] = {17, 105};
    for (uint32_t i = 0; i < 3; i++) {
        fill_wkv(decays[i]);
        n_chunks = 1u << i;
        n_batch = 2;
        check_wkv(vly_wkv_chunked, 105, some, 0);
        n_batch = 1;
        check_wkv(vly_wkv_chunked, 96, NULL, 0);
        const double chunked = run_wkv(vly_wkv_chunked, 110, NULL, 1);
        const double recurrent = run_wkv(vly_wkv_recurrent, 110, NULL, 1);
        print_message("w %g: chunked %.3g, recurrent %.3g\n", decays[i],
                      chunked, recurrent);
        assert_true(chunked <= 4.0 * recurrent);
        n_batch = 2;
        n_chunks = 1;
        check_wkv(vly_wkv_chunked, 1, none, 1);
        check_wkv(vly_wkv_chunked, 0, NULL, 1);
    }
}

/* How many chunks at once, and their bytes. */
static void test_wkv_range(void **state)
{
    (void)state;
    const uint64_t one = vly_wkv_chunked_bytes(40, 32, 1);
    assert_true(one >= 40 * (VLY_WKV_CHUNK_BYTES + 4));
    assert_int_equal(vly_wkv_chunked_range(40, 64, UINT64_MAX), 2);
    assert_true(vly_wkv_chunked_range(40, 4096, UINT64_MAX) < 128);
    assert_int_equal(vly_wkv_chunked_range(40, 4096, 2 * one - 1), 0);
    for (uint64_t most = 2 * one; most < 300 * one; most += one) {
        const uint32_t n = vly_wkv_chunked_range(40, 4096, most);
        assert_true(n > 0 && n <= 128);
        assert_true(vly_wkv_chunked_bytes(40, 4096, n) <= most);
    }
    assert_int_equal(vly_wkv_chunked_range(UINT64_C(1) << 40, 64, UINT64_MAX),
                     0);
}

/* No number, or a huge one, changes only what comes after it. */
static void test_wkv_wild(void **state)
{
    (void)state;
    n_batch = 1;
    n_chunks = 2;
    for (uint32_t which = 0; which < WKV_INPUTS; which++) {
        fill_wkv(-1.5);
        wkv_x[which][(20 * WKV_HEADS + 1) * 64 + 5] = NAN;
        check_wkv(vly_wkv_chunked, 70, NULL, 1);
    }
    fill_wkv(-1.5);
    wkv_x[WKV_V][(20 * WKV_HEADS + 1) * 64 + 5] = 1e36f;
    wkv_x[WKV_K][(20 * WKV_HEADS + 1) * 64 + 7] = 1e-36f;
    /* sums of 1e36 that cancel: neither is exact */
    const double chunked = run_wkv(vly_wkv_chunked, 70, NULL, 1);
    const double recurrent = run_wkv(vly_wkv_recurrent, 70, NULL, 1);
    print_message("chunked %.3g, recurrent %.3g\n", chunked, recurrent);
    assert_true(chunked <= 4.0 * recurrent);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_wkv),
    cmocka_unit_test(test_wkv_chunked),
    cmocka_unit_test(test_wkv_range),
    cmocka_unit_test(test_wkv_wild),
};

VLY_TEST_MAIN(tests)
