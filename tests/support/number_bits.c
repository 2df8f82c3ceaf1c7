/* SPDX-License-Identifier: Apache-2.0
 * A hash over 100,000 values of each function of base/number.h, one line a
 * function. With a file as argument it compares instead: 0 the same, 1 not,
 * 77 this machine cannot run what it was compiled for. It is built once per
 * compiler and set of options, linked without libm, and must always print the
 * same.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/random.h"

enum { N_VALUES = 100000 };

typedef struct bits_case {
    const char *name;
    double (*function)(double x);
    double low; /* half of the arguments are uniform in [low, high) */
    double high;
} bits_case;

static double pow_half(double x)
{
    return vly_pow(x, 0.3 * x - 1.7);
}

static double store_value(double x)
{
    return (double)vly_float_store(x, -1e6f, 1e6f);
}

static const bits_case cases[] = {
    {"exp", vly_exp, -50.0, 50.0},
    {"expm1", vly_expm1, -2.0, 2.0},
    {"log", vly_log, 0.0, 10.0},
    {"log1p", vly_log1p, -1.0, 3.0},
    {"pow", pow_half, 0.0, 60.0},
    {"sqrt", vly_sqrt, 0.0, 1000.0},
    {"floor", vly_floor, -1000.0, 1000.0},
    {"erf", vly_erf, -4.0, 4.0},
    {"erfc", vly_erfc, -2.0, 20.0},
    {"normal_cdf", vly_normal_cdf, -20.0, 6.0},
    {"normal_inverse", vly_normal_inverse, 0.0, 1.0},
    {"log_gamma", vly_log_gamma, 0.0, 40.0},
    {"store", store_value, -0.01, 0.01},
};

/* Even: uniform. Odd: any bits at all, with the exponent near 0 for half of
 * them; NaN replaced, since the payload of a NaN is not specified. */
static double argument(const bits_case *c, uint64_t i)
{
    uint64_t draw = vly_mix64(i + 1);
    if (i % 2 == 0)
        return c->low + (c->high - c->low) * ((double)(draw >> 11) * 0x1p-53);
    if (i % 4 == 1)
        draw = (draw & UINT64_C(0x800FFFFFFFFFFFFF)) |
               (1003 + (draw >> 52) % 32) << 52;
    double x;
    memcpy(&x, &draw, sizeof(x));
    return x != x ? 1.5 : x;
}

static void hash_case(const bits_case *c, char line[64])
{
    vly_hash hash = {{0, 0}};
    for (uint64_t i = 0; i < N_VALUES; i++) {
        double y = c->function(argument(c, i));
        uint64_t bits;
        memcpy(&bits, &y, sizeof(bits));
        if (y != y)
            bits = 1;
        unsigned char bytes[8];
        for (int k = 0; k < 8; k++)
            bytes[k] = (unsigned char)(bits >> (8 * k));
        hash = vly_hash_bytes(hash, bytes, sizeof(bytes));
    }
    char text[33];
    vly_hash_print(hash, text);
    snprintf(line, 64, "%s %s\n", c->name, text);
}

int main(int argc, char **argv)
{
#if defined(__FMA__) && defined(__AVX2__)
    if (!__builtin_cpu_supports("fma") || !__builtin_cpu_supports("avx2")) {
        fprintf(stderr, "skipped: this processor has no AVX2 and FMA\n");
        return 77;
    }
#endif
    FILE *golden = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (argc > 1 && !golden) {
        fprintf(stderr, "cannot open %s\n", argv[1]);
        return 1;
    }
    int differs = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[64];
        char wanted[64] = "nothing\n";
        hash_case(&cases[i], line);
        if (!golden) {
            fputs(line, stdout);
        } else if (!fgets(wanted, sizeof(wanted), golden) ||
                   strcmp(line, wanted) != 0) {
            fprintf(stderr, "got    %swanted %s", line, wanted);
            differs = 1;
        }
    }
    if (golden)
        fclose(golden);
    return differs;
}
