/* SPDX-License-Identifier: Apache-2.0
 * Parses "slow:at=2000,factor=3": one table of kinds, one of keys.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "probe/probe_parts.h"

static const char *const kinds[N_FAULTS] = {
    [FAULT_SLOW] = "slow",   [FAULT_STUCK] = "stuck", [FAULT_DROP] = "drop",
    [FAULT_CLOCK] = "clock", [FAULT_LEAK] = "leak",   [FAULT_WRONG] = "wrong",
    [FAULT_ERROR] = "error",
};

static const char *const calls[] = {
#define CALL_NAME(name) #name,
    PROBE_CALLS(CALL_NAME)
#undef CALL_NAME
        NULL};
static const char *const hows[] = {"call", "counter", NULL};
static const char *const clocks[] = {"wall", "both", NULL};
static const char *const places[] = {"host", "device", NULL};
static const char *const names[] = {"asked", "own", NULL};
static const char *const statuses[] = {"device", "memory", NULL};

typedef enum key_form {
    FORM_WHOLE,
    FORM_NUMBER,
    FORM_WORD,
    FORM_NAME
} key_form;

typedef struct fault_key {
    const char *name;
    uint32_t kinds; /* bit 1 << FAULT_*: those that have it */
    uint32_t wants; /* those that must have it */
    key_form form;
    size_t offset; /* of the member of probe_fault */
    double lo;
    double hi;
    const char *const *words; /* FORM_WORD: the value is the index */
} fault_key;

#define BIT(kind) (1u << FAULT_##kind)
#define EVERY ((1u << N_FAULTS) - 1u)
#define PLACE(member) offsetof(probe_fault, member)
static const fault_key keys[] = {
    {"at", EVERY, 0, FORM_WHOLE, PLACE(at), 0, 0x1p53, NULL},
    {"for", BIT(SLOW) | BIT(DROP) | BIT(LEAK), 0, FORM_WHOLE, PLACE(length), 1,
     0x1p53, NULL},
    {"factor", BIT(SLOW), 0, FORM_NUMBER, PLACE(factor), 1, 1e6, NULL},
    {"us", BIT(SLOW), 0, FORM_NUMBER, PLACE(us), 0, 1e9, NULL},
    {"ms", BIT(STUCK), 0, FORM_NUMBER, PLACE(ms), 0, 1e8, NULL},
    {"how", BIT(STUCK), 0, FORM_WORD, PLACE(counter), 0, 0, hows},
    {"share", BIT(DROP), 0, FORM_NUMBER, PLACE(share), 0, 1, NULL},
    {"ms", BIT(CLOCK), BIT(CLOCK), FORM_NUMBER, PLACE(ms), -1e12, 1e12, NULL},
    {"clock", BIT(CLOCK), 0, FORM_WORD, PLACE(both), 0, 0, clocks},
    {"bytes", BIT(LEAK), BIT(LEAK), FORM_WHOLE, PLACE(bytes), 1, 0x1p40, NULL},
    {"where", BIT(LEAK), 0, FORM_WORD, PLACE(device), 0, 0, places},
    {"to", BIT(WRONG), BIT(WRONG), FORM_NAME, PLACE(to), 0, 0, NULL},
    {"name", BIT(WRONG), 0, FORM_WORD, PLACE(own), 0, 0, names},
    {"status", BIT(ERROR), 0, FORM_WORD, PLACE(nomem), 0, 0, statuses},
    {"in", BIT(ERROR), 0, FORM_WORD, PLACE(in), 0, 0, calls},
    {"times", BIT(ERROR), 0, FORM_WHOLE, PLACE(n_times), 1, 0x1p53, NULL},
};
#define N_KEYS (sizeof keys / sizeof keys[0])

/* The place of a message. */
typedef struct fault_text {
    const char *text;
    const char *at;
} fault_text;

static size_t column_of(const fault_text *where)
{
    return (size_t)(where->at - where->text) + 1;
}

static vly_status wrong_value(const fault_text *where, const fault_key *key,
                              const char *value, vly_error *error)
{
    char wanted[200] = "";
    size_t n = 0;
    for (uint32_t k = 0; key->words && key->words[k] && n < sizeof wanted; k++)
        n += (size_t)snprintf(wanted + n, sizeof wanted - n, "%s%s",
                              k != 0 ? ", " : "one of ", key->words[k]);
    if (key->form == FORM_NAME)
        (void)snprintf(wanted, sizeof wanted,
                       "a backend, as cpu:1, without options");
    else if (!key->words)
        (void)snprintf(wanted, sizeof wanted, "a %s from %.16g to %.16g",
                       key->form == FORM_WHOLE ? "whole number" : "number",
                       key->lo, key->hi);
    return vly_fail(error, VLY_E_INVALID,
                    "%.200s: column %zu: %s is \"%.60s\", wanted %s",
                    where->text, column_of(where), key->name, value, wanted);
}

static bool set_number(const fault_key *key, const char *value,
                       probe_fault *fault)
{
    const bool whole = key->form == FORM_WHOLE;
    const char *allowed = whole ? "0123456789" : "0123456789+-.eE";
    char *end = NULL;
    if (value[0] == 0 || value[strspn(value, allowed)] != 0)
        return false;
    const double number = strtod(value, &end);
    if (*end != 0 || !(number >= key->lo && number <= key->hi))
        return false;
    if (whole) /* at most 2^53: exact */
        *(uint64_t *)(void *)((char *)fault + key->offset) = (uint64_t)number;
    else
        *(double *)(void *)((char *)fault + key->offset) = number;
    return true;
}

static bool set_value(const fault_key *key, const char *value,
                      probe_fault *fault)
{
    vly_backend_spec spec;
    if (key->form == FORM_NAME) {
        if (strlen(value) >= sizeof fault->to ||
            vly_backend_spec_parse(value, &spec, NULL) != VLY_OK ||
            strcmp(spec.id, "auto") == 0)
            return false;
        memcpy(fault->to, value, strlen(value) + 1);
        return true;
    }
    if (key->form != FORM_WORD)
        return set_number(key, value, fault);
    for (uint32_t k = 0; key->words[k]; k++)
        if (strcmp(key->words[k], value) == 0) {
            *(uint32_t *)(void *)((char *)fault + key->offset) = k;
            return true;
        }
    return false;
}

static vly_status read_key(const fault_text *where, const char *name,
                           probe_fault *fault, uint32_t *seen, vly_error *error)
{
    char hint[VLY_HINT_SIZE];
    vly_suggest near = {0};
    char copy[80];
    const size_t n = strlen(name);
    if (n >= sizeof copy || !memchr(name, '=', n))
        return vly_fail(error, VLY_E_INVALID,
                        "%.200s: column %zu: \"%.60s\", wanted KEY=VALUE",
                        where->text, column_of(where), name);
    memcpy(copy, name, n + 1);
    char *value = strchr(copy, '=');
    *value++ = 0;
    for (uint32_t k = 0; k < N_KEYS; k++) {
        if ((keys[k].kinds & 1u << fault->kind) == 0)
            continue;
        vly_suggest_offer(&near, copy, keys[k].name);
        if (strcmp(copy, keys[k].name) != 0)
            continue;
        if ((*seen & 1u << k) != 0)
            return vly_fail(error, VLY_E_INVALID,
                            "%.200s: column %zu: %s is given twice",
                            where->text, column_of(where), copy);
        *seen |= 1u << k;
        if (!set_value(&keys[k], value, fault))
            return wrong_value(where, &keys[k], value, error);
        return VLY_OK;
    }
    return vly_fail(error, VLY_E_INVALID,
                    "%.200s: column %zu: %s has no \"%.60s\"%s", where->text,
                    column_of(where), kinds[fault->kind], copy,
                    vly_suggest_choice(&near, hint, sizeof hint));
}

static vly_status read_keys(const fault_text *begin, char *text,
                            probe_fault *fault, uint32_t *seen,
                            vly_error *error)
{
    fault_text where = *begin;
    vly_status status = VLY_OK;
    for (char *at = text; status == VLY_OK;) {
        const size_t n = strcspn(at, ",");
        const bool last = at[n] == 0;
        at[n] = 0;
        status = read_key(&where, at, fault, seen, error);
        if (last)
            break;
        at += n + 1;
        where.at += n + 1;
    }
    return status;
}

static bool has(uint32_t seen, const char *name)
{
    for (uint32_t k = 0; k < N_KEYS; k++)
        if ((seen & 1u << k) != 0 && strcmp(keys[k].name, name) == 0)
            return true;
    return false;
}

/* Checks of combinations of keys. */
static vly_status check_whole(const char *text, const probe_fault *fault,
                              uint32_t seen, vly_error *error)
{
    const char *wanted = NULL;
    for (uint32_t k = 0; k < N_KEYS && !wanted; k++)
        if ((keys[k].wants & 1u << fault->kind) != 0 && (seen & 1u << k) == 0)
            wanted = keys[k].name;
    if (fault->kind == FAULT_SLOW && !has(seen, "factor") && !has(seen, "us"))
        wanted = "factor or us";
    if (fault->kind == FAULT_STUCK && !fault->counter && !has(seen, "ms"))
        wanted = "ms";
    if (wanted)
        return vly_fail(error, VLY_E_INVALID,
                        "%.200s: column %zu: nothing more, wanted %s", text,
                        strlen(text) + 1, wanted);
    if (fault->kind == FAULT_STUCK && fault->counter && has(seen, "ms"))
        return vly_fail(error, VLY_E_INVALID,
                        "%.200s: ms and how=counter, wanted one of them", text);
    if (fault->in == CALL_device_count || fault->in == CALL_net_destroy)
        return vly_fail(error, VLY_E_INVALID,
                        "%.200s: in is %s, which cannot fail; wanted a call "
                        "that returns a status",
                        text, calls[fault->in]);
    if (fault->kind == FAULT_CLOCK && fault->both && fault->ms < 0)
        return vly_fail(error, VLY_E_INVALID,
                        "%.200s: ms is %g with clock=both, but a steady clock "
                        "never runs backwards; wanted clock=wall",
                        text, fault->ms);
    return VLY_OK;
}

static vly_status read_kind(const char *text, size_t n, probe_fault *fault,
                            vly_error *error)
{
    char word[24] = "";
    char hint[VLY_HINT_SIZE];
    vly_suggest near = {0};
    (void)snprintf(word, sizeof word, "%.*s", n < 23 ? (int)n : 23, text);
    for (uint32_t k = 0; k < N_FAULTS; k++) {
        if (strcmp(word, kinds[k]) == 0) {
            fault->kind = (probe_fault_kind)k;
            return VLY_OK;
        }
        vly_suggest_offer(&near, word, kinds[k]);
    }
    return vly_fail(error, VLY_E_INVALID,
                    "%.200s: column 1: \"%s\" is no fault%s", text, word,
                    vly_suggest_choice(&near, hint, sizeof hint));
}

vly_status vly_probe_fault_read(const char *text, probe_fault *fault,
                                vly_error *error)
{
    probe_fault made = {.length = UINT64_MAX,
                        .factor = 1,
                        .share = 1,
                        .n_times = 1,
                        .in = CALL_net_run};
    const size_t n = strcspn(text, ":");
    uint32_t seen = 0;
    vly_status status = VLY_OK;
    char *copy = NULL;
    VLY_TRY(read_kind(text, n, &made, error));
    copy = vly_strdup(text);
    made.text = vly_strdup(text);
    if (!copy || !made.text)
        VLY_TRY(vly_fail_nomem(error, strlen(text) + 1, "a fault"));
    const fault_text where = {text, text + n + 1};
    if (text[n] == ':')
        VLY_TRY(read_keys(&where, copy + n + 1, &made, &seen, error));
    VLY_TRY(check_whole(text, &made, seen, error));
    *fault = made;
    made.text = NULL;
out:
    vly_free(copy);
    vly_free(made.text);
    return status;
}
