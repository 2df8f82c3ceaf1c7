/* SPDX-License-Identifier: Apache-2.0
 * Which plugins a process takes: the file that was asked for, none that others
 * could have put there, none of the variable in a process with other rights
 * than those of who started it. Called with the word "listed" it tells whether
 * it takes the plugin that the variable names.
 */
#include "plugin/registry.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "volley_test.h"

#define TEMPLATE VLY_TEST_PLUGIN_DIR "/template.so"

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

static int group_setup(void **state)
{
    (void)state;
    snprintf(scratch, sizeof(scratch), "%s/places_XXXXXX", VLY_TEST_BINARY_DIR);
    return mkdtemp(scratch) ? 0 : 1;
}

static int group_teardown(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof(command), "rm -rf '%s'", scratch);
    return system(command);
}

static char last_log[256];

static void keep_log(void *arg, int32_t level, const char *source,
                     const char *message)
{
    (void)arg;
    snprintf(last_log, sizeof(last_log), "%d %s: %s", (int)level, source,
             message);
}

/* A file that somebody asked for comes before all others, and alone if he wants
 * that. */
static void test_asked_for(void **state)
{
    (void)state;
    char folder[512], path[600];
    vly_error error = VLY_ERROR_INIT;
    vly_plugin_info info = {.struct_size = sizeof(info)};
    vly_registry *registry = NULL;
    snprintf(folder, sizeof(folder), "%s/open", scratch);
    snprintf(path, sizeof(path), "%s/asked.so", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    copy_file(TEMPLATE, path);
    assert_int_equal(chmod(folder, 0777), 0);
    setenv("VOLLEY_PLUGIN_PATH", TEMPLATE, 1);
    vly_plugin_places places = {.struct_size = sizeof places, .first = path};
    assert_ok(vly_registry_create_from(&places, &registry, &error), error);
    assert_int_equal(vly_registry_info(registry, 0, &info), VLY_OK);
    assert_string_equal(info.path, path);
    assert_int_equal(info.status, VLY_OK);
    assert_int_equal(info_of(registry, TEMPLATE).status, VLY_E_ABI);
    vly_registry_destroy(registry);
    places.only = 1;
    assert_ok(vly_registry_create_from(&places, &registry, &error), error);
    assert_int_equal(vly_registry_count(registry), 1);
    vly_registry_destroy(registry);
    places.first = "/nowhere/x.so";
    assert_ok(vly_registry_create_from(&places, &registry, &error), error);
    assert_int_equal(vly_registry_count(registry), 1);
    assert_int_equal(vly_registry_info(registry, 0, &info), VLY_OK);
    assert_int_equal(info.status, VLY_E_IO);
    vly_registry_destroy(registry);
}

/* A folder that everybody may write to is listed once, with the reason, and
 * what is in it not at all. */
static void test_open_folder(void **state)
{
    (void)state;
    char folder[512], path[600];
    snprintf(folder, sizeof(folder), "%s/loose", scratch);
    snprintf(path, sizeof(path), "%s/loose.so", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    copy_file(TEMPLATE, path);
    vly_log_set_sink(keep_log, NULL);
    vly_registry *registry = registry_with("");
    const uint32_t count = vly_registry_count(registry);
    vly_registry_destroy(registry);
    assert_int_equal(chmod(folder, 0777), 0);
    last_log[0] = 0;
    registry = registry_with(folder);
    assert_int_equal(vly_registry_count(registry), count + 1);
    assert_int_equal(info_of(registry, folder).status, VLY_E_INVALID);
    assert_non_null(strstr(last_log, "has mode 0777"));
    vly_registry_destroy(registry);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(chmod(path, 0646), 0);
    registry = registry_with(folder);
    assert_int_equal(vly_registry_count(registry), count + 1);
    assert_int_equal(info_of(registry, path).status, VLY_E_INVALID);
    vly_registry_destroy(registry);
    vly_log_set_sink(NULL, NULL);
}

/* The variable counts for nothing where the program has other rights than who
 * starts it: a copy of this test with the bits of setuid and setgid. */
static void test_other_rights(void **state)
{
    (void)state;
    char copy[512], command[2000], own[512];
    if (geteuid() != 0) {
        print_message("skipped: giving a program other rights takes root\n");
        skip();
    }
    ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
    assert_true(n > 0);
    own[n] = 0;
    snprintf(copy, sizeof(copy), "%s/other_rights", scratch);
    copy_file(own, copy);
    assert_int_equal(chmod(scratch, 0755), 0);
    assert_int_equal(chmod(copy, 0755), 0);
    snprintf(command, sizeof(command),
             "VOLLEY_PLUGIN_PATH='" TEMPLATE "' '%s' listed", copy);
    assert_int_equal(system(command), 0);
    assert_int_equal(chown(copy, 0, 12345), 0);
    assert_int_equal(chmod(copy, 02755), 0);
    const int code = system(command);
    if (WEXITSTATUS(code) == 2) {
        print_message("skipped: this file system gives no other rights\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(code), 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_asked_for),
    cmocka_unit_test(test_open_folder),
    cmocka_unit_test(test_other_rights),
};

/* Exit code 0: the plugin of VOLLEY_PLUGIN_PATH is there; 1: it is not, and
 * this process has other rights than those of who started it; 2: neither. */
static int tell_listed(void)
{
    vly_registry *registry = NULL;
    const vly_plugin_places places = {.struct_size = sizeof places,
                                      .first = NULL};
    if (vly_registry_create_from(&places, &registry, NULL) != VLY_OK)
        return 3;
    const bool found = info_of(registry, TEMPLATE).struct_size != 0;
    vly_registry_destroy(registry);
    if (getauxval(AT_SECURE) == 0)
        return found ? (getegid() == getgid() ? 0 : 2) : 3;
    return found ? 3 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "listed") == 0)
        return tell_listed();
    return cmocka_run_group_tests(tests, group_setup, group_teardown) ? 1 : 0;
}
