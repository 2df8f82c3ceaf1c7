/* SPDX-License-Identifier: Apache-2.0
 * Every way a plugin can be wrong, and where plugins come from. Called with
 * FILE ID it tells whether that plugin is usable (tests of the SDK).
 */
#include "plugin/registry.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "volley_test.h"

#define PLUGINS VLY_TEST_PLUGINS "/"
#define TEMPLATE VLY_TEST_PLUGIN_DIR "/template.so"
#define CPU VLY_TEST_PLUGIN_DIR "/cpu.so"

static char scratch[256];

/* ---- helpers ---------------------------------------------------------- */

static void copy_file(const char *from, const char *to)
{
    char bytes[4096];
    size_t n;
    FILE *in = fopen(from, "rb");
    FILE *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    while ((n = fread(bytes, 1, sizeof(bytes), in)) > 0)
        assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

static vly_registry *registry_with(const char *path)
{
    vly_error error = VLY_ERROR_INIT;
    vly_registry *registry = NULL;
    setenv("VOLLEY_PLUGIN_PATH", path, 1);
    assert_ok(vly_registry_create(&registry, &error), error);
    return registry;
}

/* The entry of a path; struct_size 0 if it is not listed. */
static vly_plugin_info info_of(const vly_registry *registry, const char *path)
{
    for (uint32_t i = 0; i < vly_registry_count(registry); i++) {
        vly_plugin_info info = {.struct_size = sizeof(info)};
        assert_int_equal(vly_registry_info(registry, i, &info), VLY_OK);
        if (strcmp(info.path, path) == 0)
            return info;
    }
    return (vly_plugin_info){.struct_size = 0};
}

static int is_listed(const vly_registry *registry, const char *path)
{
    return info_of(registry, path).struct_size != 0;
}

static int group_setup(void **state)
{
    (void)state;
    snprintf(scratch, sizeof(scratch), "%s/registry_XXXXXX",
             VLY_TEST_BINARY_DIR);
    return mkdtemp(scratch) ? 0 : 1;
}

static int group_teardown(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof(command), "rm -rf '%s'", scratch);
    return system(command);
}

/* ---- one plugin ------------------------------------------------------- */

static const struct {
    const char *file;
    vly_status status;
    const char *id;
    const char *reason;
} broken[] = {
    {"broken_no_entry", VLY_E_ABI, "",
     "has no symbol vly_plugin_entry: not a Volley plugin"},
    {"broken_undefined", VLY_E_ABI, "",
     "undefined symbol volley_function_of_nobody: neither the plugin nor its "
     "libraries have it (plugins link no libvolley)"},
    {"broken_struct_size", VLY_E_ABI, "",
     "vly_plugin: struct_size is 64, wanted at least 72"},
    {"broken_struct_zero", VLY_E_ABI, "",
     "vly_plugin: struct_size is 0, wanted at least 72"},
    {"broken_major", VLY_E_ABI, "",
     "was built for plugin ABI 2.3, this engine has 1.10: the major versions "
     "differ"},
    {"broken_id_missing", VLY_E_ABI, "", "has no id"},
    {"broken_id_invalid", VLY_E_ABI, "",
     "id \"Bad-?[1m\" is invalid, wanted a-z, then a-z, 0-9 and _, and not "
     "auto"},
    {"broken_id_auto", VLY_E_ABI, "",
     "id \"auto\" is invalid, wanted a-z, then a-z, 0-9 and _, and not auto"},
    {"broken_id_long", VLY_E_ABI, "",
     "id \"a234567890123456789012345678901...\" is too long, wanted at most 31 "
     "characters"},
    {"broken_init_missing", VLY_E_ABI, "",
     "vly_plugin: required function init is missing"},
    {"broken_deinit_missing", VLY_E_ABI, "",
     "vly_plugin: required function deinit is missing"},
    {"broken_get_missing", VLY_E_ABI, "",
     "vly_plugin: required function get_interface is missing"},
    {"broken_init_fails", VLY_E_DEVICE, "broken_init_fails",
     "the moon is not full"},
    {"broken_init_silent", VLY_E_ABI, "broken_init_silent",
     "init failed with unknown status 42"},
    {"broken_no_interface", VLY_E_ABI, "broken_no_interface",
     "get_interface gives NULL for every interface of this engine "
     "(volley.backend/1, ...)"},
    {"broken_interface_size", VLY_E_ABI, "broken",
     "volley.backend/1: struct_size is 192, wanted at least 200"},
    {"broken_function", VLY_E_ABI, "broken",
     "volley.backend/1: required function net_run is missing"},
};
#define N_BROKEN (sizeof(broken) / sizeof(broken[0]))

static void test_broken(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_BROKEN; i++) {
        char path[512], message[1100];
        vly_error error = VLY_ERROR_INIT;
        vly_registry *registry = registry_with("");
        snprintf(path, sizeof(path), PLUGINS "%s.so", broken[i].file);
        uint32_t count = vly_registry_count(registry);
        assert_int_equal(vly_registry_add(registry, path, &error),
                         broken[i].status);
        snprintf(message, sizeof(message), "%s: %s", path, broken[i].reason);
        assert_string_equal(error.message, message);
        assert_int_equal(vly_registry_count(registry), count + 1);
        vly_plugin_info info = info_of(registry, path);
        assert_int_equal(info.status, broken[i].status);
        assert_string_equal(info.id, broken[i].id);
        assert_string_equal(info.reason, broken[i].reason);
        assert_true(info.hash[0] != 0 && info.hash[1] != 0);
        /* again: the same answer, not a second entry */
        assert_int_equal(vly_registry_add(registry, path, &error),
                         broken[i].status);
        assert_int_equal(vly_registry_count(registry), count + 1);
        vly_registry_destroy(registry);
    }
}

static void test_reasons_differ(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_BROKEN; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(broken[i].reason, broken[j].reason);
}

static void test_files(void **state)
{
    (void)state;
    char path[512];
    vly_error error = VLY_ERROR_INIT;
    vly_registry *registry = registry_with("");
    assert_int_equal(vly_registry_add(registry, "/nowhere/x.so", &error),
                     VLY_E_IO);
    assert_string_equal(
        error.message,
        "/nowhere/x.so: cannot be read: No such file or directory");
    assert_int_equal(vly_registry_add(registry, scratch, &error), VLY_E_IO);
    assert_non_null(strstr(error.message, ": cannot be read: not a file"));
    snprintf(path, sizeof(path), "%s/text.so", scratch);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("not a plugin\n", file);
    fclose(file);
    assert_int_equal(vly_registry_add(registry, path, &error), VLY_E_ABI);
    assert_non_null(strstr(error.message, ": is not an ELF file"));
    remove(path);
    snprintf(path, sizeof(path), "%s/pipe.so", scratch);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(vly_registry_add(registry, path, &error), VLY_E_IO);
    remove(path);
    assert_int_equal(vly_registry_add(registry, "", &error), VLY_E_INVALID);
    assert_int_equal(vly_registry_add(registry, NULL, NULL), VLY_E_INVALID);
    vly_registry_destroy(registry);
    vly_registry_destroy(NULL);
}

/* dlopen of a file that was cut off ends in SIGBUS: it must not get there. */
static void test_cut_off(void **state)
{
    (void)state;
    struct stat about;
    char path[512], wanted[64];
    assert_int_equal(stat(TEMPLATE, &about), 0);
    vly_registry *registry = registry_with("");
    for (off_t bytes = 64; bytes < 12000; bytes += 997) {
        vly_error error = VLY_ERROR_INIT;
        snprintf(path, sizeof(path), "%s/cut_%d.so", scratch, (int)bytes);
        copy_file(TEMPLATE, path);
        assert_true(about.st_size > bytes);
        assert_int_equal(truncate(path, bytes), 0);
        assert_int_equal(vly_registry_add(registry, path, &error), VLY_E_ABI);
        snprintf(wanted, sizeof(wanted), "cut off: %d bytes, its segments need",
                 (int)bytes);
        if (!strstr(error.message, wanted))
            fail_msg("message \"%s\"", error.message);
    }
    vly_registry_destroy(registry);
}

static void test_good(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_registry *registry = registry_with(TEMPLATE);
    vly_plugin_info info = info_of(registry, TEMPLATE);
    assert_int_equal(info.status, VLY_OK);
    assert_string_equal(info.id, "template");
    assert_string_equal(info.reason, "");
    assert_string_equal(info.version, "1.0");
    assert_string_equal(info.interfaces, "volley.backend/1");

    const vly_backend *backend = NULL;
    assert_ok(vly_registry_backend(registry, "template", &backend, &error),
              error);
    assert_int_equal(backend->struct_size, sizeof(*backend));
    assert_non_null(backend->net_run);
    assert_null(backend->weights_read);
    const void *table = NULL;
    assert_ok(vly_registry_interface(registry, "template", "volley.backend/1",
                                     &table, &error),
              error);
    assert_ptr_equal(table, backend);
    assert_int_equal(vly_registry_interface(registry, "template",
                                            "volley.gemm/1", &table, &error),
                     VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "plugin template: does not offer "
                                          "volley.gemm/1, only "
                                          "volley.backend/1 (usable: none)"));
    assert_ptr_equal(table, backend);
    vly_registry_destroy(registry);
}

static void test_not_available(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    const vly_backend *backend = NULL;
    vly_registry *registry =
        registry_with(TEMPLATE ":" PLUGINS "broken_init_fails.so");
    assert_int_equal(vly_registry_backend(registry, "nobody", &backend, &error),
                     VLY_E_UNSUPPORTED);
    assert_memory_equal(
        error.message,
        "plugin nobody: there is none with this id (usable: template", 59);
    assert_int_equal(
        vly_registry_backend(registry, "broken_init_fails", &backend, &error),
        VLY_E_UNSUPPORTED);
    assert_memory_equal(
        error.message,
        "plugin broken_init_fails: the moon is not full (usable: template", 64);
    /* an unreadable file has the id "" */
    assert_int_equal(vly_registry_backend(registry, "", &backend, &error),
                     VLY_E_UNSUPPORTED);
    assert_null(backend);
    vly_registry_destroy(registry);
}

/* What is said of a file does not start its plugin. */
static void test_file_only(void **state)
{
    (void)state;
    vly_registry *registry = registry_with(PLUGINS "broken_init_fails.so");
    vly_plugin_info info = {.struct_size = sizeof info};
    assert_int_equal(vly_registry_file(registry, 0, &info), VLY_OK);
    assert_string_equal(info.id, "broken_init_fails");
    assert_true(info.hash[0] != 0);
    assert_int_equal(info.status, VLY_OK);
    assert_string_equal(info.reason, "");
    assert_int_equal(vly_registry_info(registry, 0, &info), VLY_OK);
    assert_int_equal(info.status, VLY_E_DEVICE);
    assert_int_equal(vly_registry_file(registry, 0, &info), VLY_OK);
    assert_string_equal(info.reason, "the moon is not full");
    assert_int_equal(vly_registry_file(registry, 1, &info), VLY_E_INVALID);
    vly_registry_destroy(registry);
}

static void test_info_sizes(void **state)
{
    (void)state;
    vly_registry *registry = registry_with(TEMPLATE);
    struct {
        vly_plugin_info info;
        uint64_t newer;
    } caller = {.newer = 5};
    caller.info.struct_size = sizeof(caller); /* newer than the library */
    assert_int_equal(vly_registry_info(registry, 0, &caller.info), VLY_OK);
    assert_int_equal(caller.newer, 5);
    assert_int_equal(caller.info.struct_size, sizeof(caller));
    memset(&caller, 0xee, sizeof(caller));
    caller.info.struct_size = offsetof(vly_plugin_info, version); /* older */
    assert_int_equal(vly_registry_info(registry, 0, &caller.info), VLY_OK);
    assert_string_equal(caller.info.id, "template");
    assert_int_equal((uintptr_t)caller.info.version,
                     (uintptr_t)UINT64_C(0xeeeeeeeeeeeeeeee));
    assert_int_equal(vly_registry_info(registry, 1000, &caller.info),
                     VLY_E_INVALID);
    caller.info.struct_size = 0;
    assert_int_equal(vly_registry_info(registry, 0, &caller.info),
                     VLY_E_INVALID);
    assert_int_equal(vly_registry_count(NULL), 0);
    vly_registry_destroy(registry);
}

static char last_log[256];

static void keep_log(void *arg, int32_t level, const char *source,
                     const char *message)
{
    (void)arg;
    snprintf(last_log, sizeof(last_log), "%d %s: %s", (int)level, source,
             message);
}

static void test_newer_minor(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    const vly_backend *backend = NULL;
    vly_log_set_sink(keep_log, NULL);
    vly_registry *registry = registry_with(PLUGINS "newer_minor.so:" TEMPLATE);
    /* not started for others, only when it is asked for */
    last_log[0] = 0;
    assert_ok(vly_registry_backend(registry, "template", &backend, &error),
              error);
    assert_string_equal(last_log, "");
    assert_ok(vly_registry_backend(registry, "newer", &backend, &error), error);
    assert_string_equal(last_log, "2 newer: hello from newer");
    last_log[0] = 0; /* and once */
    assert_ok(vly_registry_backend(registry, "newer", &backend, &error), error);
    assert_string_equal(last_log, "");
    for (size_t i = 0;
         i < sizeof(backend->reserved) / sizeof(backend->reserved[0]); i++)
        assert_null(backend->reserved[i]);
    assert_null(backend->net_create_span);
    vly_registry_destroy(registry);
    assert_string_equal(last_log, "2 newer: 1 blocks of memory were not freed");
    vly_log_set_sink(NULL, NULL);
}

/* The rank that plugins give themselves is the order, before any is started. */
static void test_auto(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    const void *table = NULL;
    vly_log_set_sink(keep_log, NULL);
    last_log[0] = 0;
    vly_registry *registry =
        registry_with(TEMPLATE ":" CPU ":" PLUGINS "newer_minor.so");
    assert_string_equal(vly_registry_auto(registry, 0), "newer");
    uint32_t n = 1;
    bool cpu = false;
    for (const char *id; (id = vly_registry_auto(registry, n)) != NULL; n++) {
        assert_string_not_equal(id, "template"); /* its rank is 0 */
        assert_string_not_equal(id, "newer");
        cpu = cpu || strcmp(id, "cpu") == 0;
    }
    assert_true(cpu);
    assert_null(vly_registry_auto(registry, n + 1));
    assert_string_equal(last_log, "");
    assert_int_equal(vly_registry_interface(registry, "recent",
                                            VLY_BACKEND_INTERFACE, &table,
                                            &error),
                     VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, ", did you mean newer?"));
    vly_registry_destroy(registry);
    vly_log_set_sink(NULL, NULL);
}

/* ---- where they come from --------------------------------------------- */

static void test_order(void **state)
{
    (void)state;
    char folder[512], a[600], b[600], hidden[600], other[600];
    snprintf(folder, sizeof(folder), "%s/order", scratch);
    snprintf(a, sizeof(a), "%s/a.so", folder);
    snprintf(b, sizeof(b), "%s/b.so", folder);
    snprintf(hidden, sizeof(hidden), "%s/.c.so", folder);
    snprintf(other, sizeof(other), "%s/d.so.bak", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    copy_file(TEMPLATE, b); /* made first: readdir may give it first */
    copy_file(PLUGINS "broken_duplicate.so", a);
    copy_file(TEMPLATE, hidden);
    copy_file(TEMPLATE, other);
    vly_registry *registry = registry_with(folder);
    vly_plugin_info info = {.struct_size = sizeof(info)};
    assert_int_equal(vly_registry_info(registry, 0, &info), VLY_OK);
    assert_string_equal(info.path, a);
    assert_int_equal(info.status, VLY_OK);
    assert_int_equal(vly_registry_info(registry, 1, &info), VLY_OK);
    assert_string_equal(info.path, b);
    assert_int_equal(info.status, VLY_E_ABI);
    assert_string_equal(info.id, "template");
    char reason[700];
    snprintf(reason, sizeof(reason), "the id template is taken by %s", a);
    assert_string_equal(info.reason, reason);
    assert_false(is_listed(registry, hidden));
    assert_false(is_listed(registry, other));
    vly_registry_destroy(registry);
}

/* The first of two keeps the id even if it cannot be used. */
static void test_duplicate_of_failed(void **state)
{
    (void)state;
    char path[512];
    snprintf(path, sizeof(path), "%s/failed_again.so", scratch);
    copy_file(PLUGINS "broken_init_fails.so", path);
    vly_error error = VLY_ERROR_INIT;
    vly_registry *registry = registry_with(PLUGINS "broken_init_fails.so");
    assert_int_equal(vly_registry_add(registry, path, &error), VLY_E_ABI);
    assert_non_null(
        strstr(error.message, "the id broken_init_fails is taken by"));
    vly_registry_destroy(registry);
}

static void test_path_variable(void **state)
{
    (void)state;
    vly_log_set_sink(keep_log, NULL);
    /* empty entries mean nothing; relative ones are refused */
    vly_registry *registry = registry_with(
        "::plugins:" TEMPLATE ":/no/such/folder:./x.so:" TEMPLATE ":");
    vly_plugin_info info = info_of(registry, "plugins");
    assert_int_equal(info.status, VLY_E_INVALID);
    assert_string_equal(
        info.reason, "VOLLEY_PLUGIN_PATH: the path is relative, wanted one "
                     "that starts with /: plugins never come from the working "
                     "folder");
    assert_int_equal(info_of(registry, "./x.so").status, VLY_E_INVALID);
    info = info_of(registry, "/no/such/folder");
    assert_int_equal(info.status, VLY_E_IO);
    assert_string_equal(info.reason,
                        "VOLLEY_PLUGIN_PATH: No such file or directory");
    assert_int_equal(info_of(registry, TEMPLATE).status, VLY_OK);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < vly_registry_count(registry); i++) {
        info.struct_size = sizeof(info);
        vly_registry_info(registry, i, &info);
        seen += strcmp(info.path, TEMPLATE) == 0;
    }
    assert_int_equal(seen, 1); /* named twice, listed once */
    vly_registry_destroy(registry);
    vly_log_set_sink(NULL, NULL);
}

static void test_working_folder(void **state)
{
    (void)state;
    char path[512], before[512], real[PATH_MAX]; /* as realpath asks for */
    vly_error error = VLY_ERROR_INIT;
    assert_non_null(getcwd(before, sizeof(before)));
    snprintf(path, sizeof(path), "%s/own.so", scratch);
    copy_file(TEMPLATE, path);
    assert_int_equal(chdir(scratch), 0);
    vly_registry *registry = registry_with("");
    uint32_t count = vly_registry_count(registry);
    assert_false(is_listed(registry, path));
    vly_registry_destroy(registry);
    unsetenv("VOLLEY_PLUGIN_PATH");
    assert_ok(vly_registry_create(&registry, &error), error);
    assert_int_equal(vly_registry_count(registry), count);
    /* named by the caller it is a file like any other */
    assert_ok(vly_registry_add(registry, "own.so", &error), error);
    assert_non_null(realpath(path, real));
    assert_true(is_listed(registry, real));
    vly_registry_destroy(registry);
    assert_int_equal(chdir(before), 0);
    remove(path);
}

static void test_hash(void **state)
{
    (void)state;
    static unsigned char bytes[1 << 22];
    FILE *file = fopen(TEMPLATE, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    assert_true(n > 0 && n < sizeof(bytes));
    vly_hash hash = vly_hash_bytes((vly_hash){{0, 0}}, bytes, n);
    vly_registry *registry = registry_with(TEMPLATE);
    vly_plugin_info info = info_of(registry, TEMPLATE);
    assert_true(info.hash[0] == hash.lane[0] && info.hash[1] == hash.lane[1]);
    vly_registry_destroy(registry);
}

/* ---- memory ----------------------------------------------------------- */

/* Every allocation fails once: an error or a listed plugin, never a leak. */
static void test_out_of_memory(void **state)
{
    (void)state;
    setenv("VOLLEY_PLUGIN_PATH", VLY_TEST_PLUGINS ":" TEMPLATE, 1);
    vly_log_set_sink(keep_log, NULL);
    vly_registry *registry = NULL;
    vly_error error = VLY_ERROR_INIT;
    assert_ok(vly_registry_create(&registry, &error), error);
    const uint32_t count = vly_registry_count(registry);
    vly_registry_destroy(registry);
    int n_failed = 0;
    for (uint64_t n = 1; n <= 400; n++) {
        uint64_t live = vly_memory_live();
        vly_registry *made = NULL;
        vly_memory_fail_at(n);
        vly_status status = vly_registry_create(&made, &error);
        vly_memory_fail_at(0);
        if (status != VLY_OK) {
            assert_int_equal(status, VLY_E_NOMEM);
            assert_int_equal(error.status, VLY_E_NOMEM);
            assert_true(error.bytes_requested > 0);
            assert_null(made);
            n_failed++;
        } else {
            assert_int_equal(vly_registry_count(made), count);
        }
        vly_registry_destroy(made);
        /* newer_minor keeps a block if it came so far */
        assert_true(vly_memory_live() <= live + 1);
    }
    assert_true(n_failed > 50 && n_failed < 400);
    vly_log_set_sink(NULL, NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_broken),
    cmocka_unit_test(test_reasons_differ),
    cmocka_unit_test(test_files),
    cmocka_unit_test(test_cut_off),
    cmocka_unit_test(test_good),
    cmocka_unit_test(test_not_available),
    cmocka_unit_test(test_file_only),
    cmocka_unit_test(test_info_sizes),
    cmocka_unit_test(test_newer_minor),
    cmocka_unit_test(test_auto),
    cmocka_unit_test(test_order),
    cmocka_unit_test(test_duplicate_of_failed),
    cmocka_unit_test(test_path_variable),
    cmocka_unit_test(test_working_folder),
    cmocka_unit_test(test_hash),
    cmocka_unit_test(test_out_of_memory),
};

static int load_one(const char *path, const char *id)
{
    vly_error error = VLY_ERROR_INIT;
    vly_registry *registry = NULL;
    const vly_backend *backend = NULL;
    setenv("VOLLEY_PLUGIN_PATH", path, 1);
    vly_status status = vly_registry_create(&registry, &error);
    if (status == VLY_OK)
        status = vly_registry_backend(registry, id, &backend, &error);
    if (status != VLY_OK)
        fprintf(stderr, "%s\n", error.message);
    vly_registry_destroy(registry);
    return status == VLY_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return load_one(argv[1], argv[2]);
    return cmocka_run_group_tests(tests, group_setup, group_teardown) ? 1 : 0;
}
