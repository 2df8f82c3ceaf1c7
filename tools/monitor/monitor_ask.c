/* SPDX-License-Identifier: Apache-2.0
 * volley monitor ask: a prompt through an RWKV-7 model, and what it answers.
 */
#include "tools/monitor/monitor_commands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"
#include "base/thread.h"
#include "base/writer.h"
#include "monitor/rwkv.h"
#include "monitor/sampler.h"
#include "monitor/tokenizer.h"
#include "tools/cli/output_apart.h"
#include "tools/cli/plain_stream.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"

static const tool_option options[] = {
    {"vocabulary", 0, false, TOOL_TEXT, "FILE",
     "tokens, a line each (rwkv_vocab_v20230424.txt); default: bytes, or that "
     "file beside the model",
     0, 0},
    {"tokens", 'n', false, TOOL_COUNT, "N", "at most so many; default 200", 0,
     1e9},
    {"temperature", 't', false, TOOL_NUMBER, "X",
     "default 1; 0: the likeliest token", 0, 100},
    {"top-k", 0, false, TOOL_COUNT, "N",
     "of the likeliest N; 0, the default: "
     "of all",
     0, 1e9},
    {"top-p", 0, false, TOOL_NUMBER, "P",
     "of the fewest likeliest with probability P; default 1", 1e-9, 1},
    {"repetition", 0, false, TOOL_NUMBER, "X",
     "divides logits of tokens that were there; default 1", 0.01, 100},
    {"presence", 0, false, TOOL_NUMBER, "X",
     "taken from logits of tokens that were there; default 0", -100, 100},
    {"frequency", 0, false, TOOL_NUMBER, "X",
     "the same, for each time; default 0", -100, 100},
    {"seed", 0, false, TOOL_COUNT, "N", "of the draws; default 1", 0, 1e15},
    {"device", 0, false, TOOL_TEXT, "NAME",
     "cpu (default), cpu:4, cuda, cuda:1", 0, 0},
    {"weights", 0, false, TOOL_TEXT, "auto|fp32|fp16|bf16|w8|w4",
     "type of the large matrices; default: the type in the file", 0, 0},
    {"activations", 0, false, TOOL_TEXT, "auto|fp32|fp16|bf16",
     "type of the inputs of products; default: fp32 on the processor", 0, 0},
    {"state-in", 0, false, TOOL_TEXT, "FILE",
     "continue from this state; with an empty PROMPT continue the answer", 0,
     0},
    {"state-out", 0, false, TOOL_TEXT, "FILE",
     "write the state after the answer", 0, 0},
    {"logits", 0, false, TOOL_TEXT, "FILE",
     "write the logits after the prompt: little-endian fp32, one per token", 0,
     0},
    {"quiet", 'q', false, TOOL_FLAG, NULL, "print only the answer", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

enum { CHUNK = 256, PROMPT_MOST = 64 << 20, PATH_BYTES = 4096 };

typedef struct asking {
    vly_registry *registry;
    vly_rwkv_model *model;
    vly_rwkv_context *context;
    vly_tokenizer *tokenizer;
    vly_sampler *sampler;
    char *text; /* of the prompt, if it came from standard input */
    size_t n_text;
    uint32_t *prompt;
    uint32_t n_prompt;
    float *logits; /* after the prompt, or those of the loaded state */
    float *next;   /* points to logits, later to those of the context */
    bool ends;     /* the vocabulary has an end-of-text token */
    plain_stream out;
    uint64_t n_answer;
    double prompt_s;
    double answer_s;
} asking;

static double seconds_since(uint64_t begin_ns)
{
    return (double)(vly_clock_ns() - begin_ns) * 1e-9;
}

/* ---- files ----------------------------------------------------------------
 */

/* A whole file ("-": standard input) of at most `most` bytes. */
static vly_status read_whole(const char *path, const char *what, size_t most,
                             char **bytes, size_t *n, vly_error *error)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = stdin;
    vly_status status = VLY_OK;
    if (!is_stdin)
        status = vly_reading_open(path, VLY_READ_STREAM, &file, error);
    if (status != VLY_OK)
        return status;
    status = vly_reading_whole(file, path, what, most, bytes, n, error);
    if (!is_stdin)
        fclose(file);
    return status;
}

/* A file of --state-out has a state, the logits after it and their hash, so
 * that an answer can continue without a further word. */
static size_t logits_bytes(const asking *a)
{
    return vly_rwkv_model_info_of(a->model)->sizes.vocabulary * sizeof(float);
}

static vly_hash hash_of(const void *bytes, size_t n)
{
    return vly_hash_bytes((vly_hash){{0, 0}}, bytes, n);
}

/* A state from `vly_rwkv_state_save` has no logits. */
static vly_status take_logits(asking *a, const char *bytes, vly_error *error)
{
    const size_t n = logits_bytes(a);
    const vly_hash hash = hash_of(bytes, n);
    if (memcmp(bytes + n, &hash, sizeof hash) != 0)
        return vly_fail(error, VLY_E_PARSE,
                        "a damaged state: its logits do not match their hash");
    a->logits = vly_malloc(n, 1);
    if (!a->logits)
        return vly_fail_nomem(error, n, "logits");
    memcpy(a->logits, bytes, n);
    return VLY_OK;
}

static vly_status read_state(asking *a, const char *path, vly_error *error)
{
    const size_t state = vly_rwkv_state_bytes(a->model);
    const size_t all = state + logits_bytes(a) + sizeof(vly_hash);
    vly_error why = VLY_ERROR_INIT;
    char *bytes = NULL;
    size_t n = 0;
    if (!path)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(read_whole(path, "a state", all + 1, &bytes, &n, error));
    status = vly_rwkv_state_restore(a->context, 0, bytes, n == all ? state : n,
                                    &why);
    if (status == VLY_OK && n == all)
        status = take_logits(a, bytes + state, &why);
    vly_free(bytes);
    if (status == VLY_E_PARSE)
        return vly_fail(error, status, "%.300s: %s", path, why.message);
    if (status != VLY_OK)
        *error = why;
out:
    return status;
}

static vly_status write_state(asking *a, const char *path, vly_error *error)
{
    if (!path)
        return VLY_OK;
    const size_t state = vly_rwkv_state_bytes(a->model);
    const size_t logits = logits_bytes(a);
    const vly_hash hash = hash_of(a->next, logits);
    char *bytes = vly_malloc(state + logits + sizeof hash, 1);
    if (!bytes)
        return vly_fail_nomem(error, state + logits, "a state");
    memcpy(bytes + state, a->next, logits);
    memcpy(bytes + state + logits, &hash, sizeof hash);
    vly_status status = vly_rwkv_state_save(a->context, 0, bytes, state, error);
    if (status == VLY_OK)
        status =
            vly_writer_save(path, bytes, state + logits + sizeof hash, error);
    vly_free(bytes);
    return status;
}

/* ---- model and vocabulary -------------------------------------------------
 */

/* The World vocabulary beside the model, if it exists. */
static bool find_vocabulary(const char *model, char path[PATH_BYTES])
{
    const char *slash = strrchr(model, '/');
    const int folder = slash ? (int)(slash - model) + 1 : 0;
    const int n = snprintf(path, PATH_BYTES, "%.*s%s", folder, model,
                           "rwkv_vocab_v20230424.txt");
    return n > 0 && n < PATH_BYTES && access(path, R_OK) == 0;
}

static vly_status open_vocabulary(asking *a, const tool_args *args,
                                  vly_error *error)
{
    const uint32_t vocabulary =
        vly_rwkv_model_info_of(a->model)->sizes.vocabulary;
    const char *path = tool_text(args, "vocabulary");
    char beside[PATH_BYTES];
    if (!path && vocabulary <= 256)
        return vly_tokenizer_bytes(&a->tokenizer, error);
    if (!path && find_vocabulary(args->positional[0], beside))
        path = beside;
    if (!path)
        return vly_fail(error, VLY_E_INVALID,
                        "%.300s: has a vocabulary of %u, wanted --vocabulary "
                        "FILE, or rwkv_vocab_v20230424.txt beside the model",
                        args->positional[0], vocabulary);
    a->ends = true;
    return vly_tokenizer_open(path, vocabulary, &a->tokenizer, error);
}

static vly_status open_model(asking *a, const tool_args *args, vly_error *error)
{
    const char *weights_text = tool_text(args, "weights");
    const char *activation_text = tool_text(args, "activations");
    const char *device = tool_text(args, "device");
    vly_rwkv_options how = {.format = VLY_RWKV_FORMAT_AUTO};
    vly_rwkv_weights *weights = NULL;
    vly_rwkv_source source;
    vly_status status = VLY_OK;
    if (weights_text)
        VLY_TRY(vly_rwkv_format_parse(weights_text, &how.format, error));
    if (activation_text)
        VLY_TRY(vly_rwkv_format_parse(activation_text, &how.activation, error));
    VLY_TRY(vly_rwkv_weights_open(
        args->positional[0], VLY_RWKV_LORA_SURELY_NATIVE, &weights, error));
    vly_rwkv_source_of(weights, &source);
    VLY_TRY(tool_registry_create(&a->registry, error));
    VLY_TRY(vly_rwkv_model_create(a->registry, &source, device ? device : "cpu",
                                  &how, &a->model, error));
    status = vly_rwkv_context_create(a->model, 1, CHUNK, 0, &a->context, error);
out:
    vly_rwkv_weights_close(weights);
    return status;
}

/* The only option whose values are not a range. */
static vly_status check_temperature(const tool_args *args, vly_error *error)
{
    const double x = tool_number(args, "temperature", 1.0);
    return x == 0 || x >= 0.001
               ? VLY_OK
               : vly_fail(error, VLY_E_INVALID,
                          "--temperature is %s, wanted 0 or a number from "
                          "0.001 to 100",
                          tool_text(args, "temperature"));
}

/* Outputs must not replace inputs or each other. A state may be replaced by the
 * state that continues it. */
static vly_status check_outputs(const tool_args *args, vly_error *error)
{
    static const char *const outputs[] = {"logits", "state-out"};
    const output_name both[] = {{"--logits", tool_text(args, "logits")},
                                {"--state-out", tool_text(args, "state-out")}};
    char beside[PATH_BYTES];
    const char *vocabulary = tool_text(args, "vocabulary");
    if (!vocabulary && find_vocabulary(args->positional[0], beside))
        vocabulary = beside;
    vly_status status = VLY_OK;
    for (int i = 0; i < 2; i++) {
        const char *path = tool_text(args, outputs[i]);
        VLY_TRY(tool_output_check(path, error));
        VLY_TRY(output_apart(path, args->positional[0], "the model", error));
        VLY_TRY(output_apart(path, vocabulary, "the vocabulary", error));
    }
    VLY_TRY(output_apart(both[0].path, tool_text(args, "state-in"),
                         "the file of a state", error));
    status = outputs_apart(both, 2, error);
out:
    return status;
}

static vly_status make_sampler(asking *a, const tool_args *args,
                               vly_error *error)
{
    const uint64_t top_k = tool_count(args, "top-k", 0);
    const vly_sampler_options how = {
        .repetition = tool_number(args, "repetition", 1.0),
        .presence = tool_number(args, "presence", 0.0),
        .frequency = tool_number(args, "frequency", 0.0),
        .temperature = tool_number(args, "temperature", 1.0),
        .top_k = (uint32_t)top_k,
        .top_p = tool_number(args, "top-p", 1.0),
        .seed = tool_count(args, "seed", 1)};
    vly_status status =
        vly_sampler_create(vly_rwkv_model_info_of(a->model)->sizes.vocabulary,
                           &how, &a->sampler, error);
    for (uint32_t i = 0; i < a->n_prompt && status == VLY_OK; i++)
        status = vly_sampler_see(a->sampler, a->prompt[i], error);
    return status;
}

/* ---- prompt and answer -----------------------------------------------------
 */

/* Without a prompt a text begins with token 0, or the answer of the state
 * continues. */
static vly_status read_prompt(asking *a, const tool_args *args,
                              vly_error *error)
{
    const char *text = args->positional[1];
    size_t n = strlen(text);
    vly_status status = VLY_OK;
    if (strcmp(text, "-") == 0) {
        VLY_TRY(read_whole("-", "a prompt", PROMPT_MOST, &a->text, &a->n_text,
                           error));
        text = a->text;
        n = a->n_text;
    }
    a->prompt = vly_calloc(n + 1, sizeof *a->prompt);
    if (!a->prompt)
        return vly_fail_nomem(error, (n + 1) * sizeof *a->prompt, "a prompt");
    VLY_TRY(vly_tokenizer_encode(a->tokenizer, text, n, a->prompt, n + 1, &n,
                                 error));
    a->n_prompt = n > 0 ? (uint32_t)n : a->logits ? 0 : 1;
out:
    return status;
}

/* Weights may be finite and their results for a text not. */
static vly_status check_logits(const asking *a, const char *model,
                               vly_error *error)
{
    const uint32_t n = vly_rwkv_model_info_of(a->model)->sizes.vocabulary;
    for (uint32_t i = 0; i < n; i++)
        if (!isfinite(a->next[i]))
            return vly_fail(error, VLY_E_INVALID,
                            "%.300s: the logit of token %u is %g after the "
                            "prompt, wanted finite ones: its weights are too "
                            "large, or for this type of them",
                            model, i, (double)a->next[i]);
    return VLY_OK;
}

static vly_status take_prompt(asking *a, const tool_args *args,
                              vly_error *error)
{
    const char *path = tool_text(args, "logits");
    const size_t vocabulary =
        vly_rwkv_model_info_of(a->model)->sizes.vocabulary;
    const uint64_t begin_ns = vly_clock_ns();
    vly_status status = VLY_OK;
    if (!a->logits)
        a->logits = vly_malloc(vocabulary, sizeof *a->logits);
    if (!a->logits)
        return vly_fail_nomem(error, vocabulary * sizeof *a->logits, "logits");
    a->next = a->logits;
    /* logits of a state were finite, except for ids without text */
    if (a->n_prompt > 0) {
        VLY_TRY(vly_rwkv_context_feed(a->context, a->prompt, NULL, a->n_prompt,
                                      a->logits, error));
        VLY_TRY(check_logits(a, args->positional[0], error));
    }
    a->prompt_s = seconds_since(begin_ns);
    if (path)
        status =
            vly_writer_save(path, a->logits, vocabulary * sizeof(float), error);
out:
    return status;
}

/* Ids after the last of the vocabulary, which pad models, have no text. */
static void mask_padding(asking *a)
{
    const uint32_t all = vly_rwkv_model_info_of(a->model)->sizes.vocabulary;
    for (uint32_t i = vly_tokenizer_vocabulary(a->tokenizer); i < all; i++)
        a->next[i] = -INFINITY;
}

static vly_status answer(asking *a, uint64_t n_most, vly_error *error)
{
    const uint64_t begin_ns = vly_clock_ns();
    vly_status status = VLY_OK;
    while (a->n_answer < n_most && !tool_signals_stopped()) {
        const uint8_t *bytes = NULL;
        size_t n = 0;
        uint32_t token = 0;
        mask_padding(a);
        VLY_TRY(vly_sampler_next(a->sampler, a->next, &token, error));
        if (a->ends && token == VLY_TOKEN_END)
            break;
        VLY_TRY(vly_tokenizer_decode(a->tokenizer, token, &bytes, &n, error));
        if (!plain_stream_put(&a->out, bytes, n))
            break; /* the printed answer stays, however it ends */
        VLY_TRY(vly_rwkv_context_step(a->context, token, &a->next, error));
        a->n_answer++;
    }
    a->answer_s = seconds_since(begin_ns);
    plain_stream_end(&a->out);
    if (n_most > 0)
        tool_print("\n");
out:
    return status;
}

static void say(const asking *a)
{
    const vly_rwkv_model_info *info = vly_rwkv_model_info_of(a->model);
    tool_message("%s of weights (%s), activations %s; %s",
                 tool_bytes(info->bytes), vly_rwkv_format_name(info->format),
                 vly_rwkv_format_name(info->activation),
                 vly_rwkv_context_how(a->context));
    tool_message("prompt %s tokens in %s; answer %s tokens in %s, %s a second",
                 tool_thousands(a->n_prompt), tool_seconds(a->prompt_s),
                 tool_thousands(a->n_answer), tool_seconds(a->answer_s),
                 tool_rate_text(a->answer_s > 0.0
                                    ? (double)a->n_answer / a->answer_s
                                    : 0.0));
}

static void deinit(asking *a)
{
    vly_sampler_destroy(a->sampler);
    vly_tokenizer_close(a->tokenizer);
    vly_rwkv_context_destroy(a->context);
    vly_rwkv_model_destroy(a->model);
    if (a->registry)
        vly_registry_destroy(a->registry);
    vly_free(a->text);
    vly_free(a->prompt);
    vly_free(a->logits);
}

/* ---- the call --------------------------------------------------------------
 */

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    asking a = {.out = {.is_terminal = isatty(STDOUT_FILENO) == 1}};
    bool stopped = false;
    vly_status status = VLY_OK;
    VLY_TRY(check_temperature(args, &error));
    VLY_TRY(check_outputs(args, &error));
    VLY_TRY(open_model(&a, args, &error));
    VLY_TRY(open_vocabulary(&a, args, &error));
    VLY_TRY(read_state(&a, tool_text(args, "state-in"), &error));
    VLY_TRY(read_prompt(&a, args, &error));
    VLY_TRY(make_sampler(&a, args, &error));
    VLY_TRY(take_prompt(&a, args, &error));
    tool_signals_defer(true);
    status = answer(&a, tool_count(args, "tokens", 200), &error);
    if (status == VLY_OK)
        status = write_state(&a, tool_text(args, "state-out"), &error);
    stopped = tool_signals_stopped();
    if (status == VLY_OK && !tool_has(args, "quiet"))
        say(&a);
    tool_signals_defer(false);
out:
    deinit(&a);
    if (status != VLY_OK)
        return tool_fail(&error);
    return stopped ? TOOL_EXIT_STOPPED : TOOL_EXIT_DONE;
}

const tool_command monitor_ask = {
    .name = "monitor ask",
    .arguments = "MODEL.safetensors PROMPT",
    .summary = "Prints the answer of an RWKV-7 model to a prompt.",
    .details =
        "PROMPT \"-\" is standard input; an empty PROMPT begins a new text "
        "(token 0)\n"
        "or, with --state-in, continues the answer (random draws and counts "
        "of tokens\n"
        "restart). The answer goes to standard output. The same model, "
        "prompt, options\n"
        "and seed give the same answer on any number of threads. Continuing "
        "from a saved\n"
        "state gives the same bits as an uninterrupted run.\n",
    .options = options,
    .n_positional_min = 2,
    .n_positional_max = 2,
    .run = run};
