/* SPDX-License-Identifier: Apache-2.0
 * Tables of older and newer minor versions, without a file around them.
 */
#define _GNU_SOURCE /* dladdr */
#include "plugin/plugin_check.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own_file.h"
#include "plugin/loader.h"
#include "plugin/plugin_trust.h"
#include "volley_test.h"

/* The engine of a later minor: two more optional slots at the end. */
typedef struct table_1_2 {
    uint32_t struct_size;
    uint32_t flags;
    uint64_t slot[4];
} table_1_2;

static void test_table_sizes(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    const size_t size_1_0 = offsetof(table_1_2, slot[2]);
    table_1_2 source = {.slot = {1, 2, 3, 4}};
    table_1_2 copy;

    source.struct_size = (uint32_t)size_1_0; /* older than the engine */
    memset(&copy, 0xee, sizeof(copy));
    assert_ok(
        vly_table_copy(&copy, sizeof(copy), size_1_0, &source, "t", &error),
        error);
    assert_int_equal(copy.slot[1], 2);
    assert_int_equal(copy.slot[2], 0);
    assert_int_equal(copy.slot[3], 0);

    source.struct_size = (uint32_t)offsetof(table_1_2, slot[3]);
    assert_ok(
        vly_table_copy(&copy, sizeof(copy), size_1_0, &source, "t", &error),
        error);
    assert_int_equal(copy.slot[2], 3);
    assert_int_equal(copy.slot[3], 0);

    source.struct_size = sizeof(source); /* newer than the engine */
    memset(&copy, 0xee, sizeof(copy));
    assert_ok(vly_table_copy(&copy, size_1_0, size_1_0, &source, "t", &error),
              error);
    assert_int_equal(copy.slot[1], 2);
    assert_int_equal(copy.slot[2], UINT64_C(0xeeeeeeeeeeeeeeee));

    source.struct_size = (uint32_t)size_1_0 - 1;
    assert_int_equal(
        vly_table_copy(&copy, sizeof(copy), size_1_0, &source, "t", &error),
        VLY_E_ABI);
    assert_string_equal(error.message,
                        "t: struct_size is 23, wanted at least 24");
}

static vly_status nothing_init(const vly_host *host, vly_error *error)
{
    (void)host;
    (void)error;
    return VLY_OK;
}

static void nothing_deinit(void)
{
}

static const void *nothing_get(const char *id)
{
    (void)id;
    return NULL;
}

static vly_plugin good_plugin(void)
{
    return (vly_plugin){.struct_size = sizeof(vly_plugin),
                        .abi_version = VLY_ABI_VERSION,
                        .id = "good",
                        .init = nothing_init,
                        .deinit = nothing_deinit,
                        .get_interface = nothing_get};
}

static void test_minor_never_refuses(void **state)
{
    (void)state;
    for (uint32_t minor = 0; minor <= 0xffff; minor += 0x1111) {
        vly_error error = VLY_ERROR_INIT;
        vly_plugin given = good_plugin(), taken;
        given.abi_version = VLY_ABI_MAJOR << 16 | minor;
        assert_ok(vly_plugin_check(&given, &taken, &error), error);
        assert_string_equal(taken.id, "good");
    }
}

static void test_major_refuses(void **state)
{
    (void)state;
    static const uint32_t versions[] = {0, 1, 0xffff, 2u << 16,
                                        (VLY_ABI_MAJOR + 1) << 16 | 7};
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        char wanted[80];
        vly_error error = VLY_ERROR_INIT;
        vly_plugin given = good_plugin(), taken = {.id = "untouched"};
        given.abi_version = versions[i];
        given.struct_size = 16; /* the major is told before the size */
        assert_int_equal(vly_plugin_check(&given, &taken, &error), VLY_E_ABI);
        snprintf(wanted, sizeof(wanted),
                 "was built for plugin ABI %u.%u, this engine has %u.%u",
                 versions[i] >> 16, versions[i] & 0xffff, VLY_ABI_MAJOR,
                 VLY_ABI_MINOR);
        assert_memory_equal(error.message, wanted, strlen(wanted));
        assert_string_equal(taken.id, "untouched");
    }
}

static void test_ids(void **state)
{
    (void)state;
    assert_true(vly_plugin_id_valid("a"));
    assert_true(vly_plugin_id_valid("cpu_2"));
    assert_true(vly_plugin_id_valid("a234567890123456789012345678901"));
    assert_false(vly_plugin_id_valid("a2345678901234567890123456789012"));
    assert_false(vly_plugin_id_valid(""));
    assert_false(vly_plugin_id_valid("_a"));
    assert_false(vly_plugin_id_valid("2a"));
    assert_false(vly_plugin_id_valid("a-b"));
    assert_false(vly_plugin_id_valid("a\xc3\xa4"));
    assert_false(vly_plugin_id_valid("auto"));
}

static void test_own_file(void **state)
{
    (void)state;
    char folder[4096];
    assert_true(vly_own_folder(folder, sizeof(folder)));
    assert_int_equal(folder[0], '/');
    char tiny[2];
    assert_false(vly_own_folder(tiny, sizeof(tiny)));
    assert_non_null(vly_own_elf());
    /* whatever argv[0] is: that of this test is a name without a folder */
    char path[4096], real[4096];
    ssize_t n = readlink("/proc/self/exe", real, sizeof(real) - 1);
    assert_true(n > 0);
    real[n] = 0;
    assert_true(vly_own_path(path, sizeof(path)));
    assert_string_equal(path, real);
    assert_false(vly_own_path(path, strlen(real)));
    assert_true(vly_own_path(path, strlen(real) + 1));
}

/* Owners and modes; the process is user 1000, its program belongs to 50. */
static void test_trust(void **state)
{
    static const struct {
        uint32_t mode;
        uint32_t owner;
        const char *reason; /* NULL: trusted */
    } cases[] = {
        {S_IFDIR | 0755, 0, NULL},
        {S_IFDIR | 0755, 1000, NULL},
        {S_IFDIR | 0755, 50, NULL},
        {S_IFDIR | 0775, 1000, NULL}, /* umask 002 */
        {S_IFDIR | 01777, 0, NULL},   /* /tmp */
        {S_IFREG | 0644, 0, NULL},
        {S_IFREG | 0664, 1000, NULL},
        {S_IFDIR | 0700, 1001,
         "X belongs to user 1001, wanted root, user 1000 or the owner of "
         "volley itself: a plugin could do whatever you can"},
        {S_IFREG | 0644, 65534, "X belongs to user 65534"},
        {S_IFDIR | 01777, 1001, "X belongs to user 1001"},
        {S_IFDIR | 0777, 0,
         "X has mode 0777, which lets all users change it, wanted no write "
         "permission for others (chmod o-w)"},
        {S_IFDIR | 0702, 1000, "X has mode 0702"},
        {S_IFREG | 0666, 1000, "X has mode 0666"},
        {S_IFREG | 01666, 0, "X has mode 1666"}, /* nothing for a file */
    };
    const vly_plugin_trust trust = {.user = 1000, .own = 50};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        vly_error error = VLY_ERROR_INIT;
        const struct stat about = {.st_mode = cases[i].mode,
                                   .st_uid = cases[i].owner};
        vly_status status =
            vly_plugin_trust_check(&trust, &about, "X ", &error);
        assert_int_equal(status, cases[i].reason ? VLY_E_INVALID : VLY_OK);
        if (cases[i].reason)
            assert_memory_equal(error.message, cases[i].reason,
                                strlen(cases[i].reason));
    }
    struct stat about;
    char path[4096];
    assert_true(vly_own_path(path, sizeof(path)));
    assert_int_equal(stat(path, &about), 0);
    const vly_plugin_trust own = vly_plugin_trust_of_process();
    assert_int_equal(own.user, geteuid());
    assert_int_equal(own.own, about.st_uid);
}

/* Writes bytes and gives what the loader says about them. */
static void read_bytes(const void *bytes, size_t n, vly_error *error)
{
    const char *path = VLY_TEST_BINARY_DIR "/elf_check.tmp";
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
    vly_hash hash = {{7, 7}};
    vly_status status = vly_plugin_hash(path, hash.lane, error);
    assert_int_equal(status, error->status);
    assert_int_equal(hash.lane[0] == 7, error->status != VLY_OK);
    remove(path);
}

static void test_elf(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    ElfW(Ehdr) header;
    read_bytes("", 0, &error);
    assert_string_equal(error.message, "is not an ELF file");
    read_bytes("#!/bin/sh\necho this is longer than an ELF header is, surely "
               "and certainly\n",
               71, &error);
    assert_string_equal(error.message, "is not an ELF file");

    header = *vly_own_elf();
    header.e_type = ET_DYN;
    vly_error none = VLY_ERROR_INIT;
    read_bytes(&header, sizeof(header), &none);
    header.e_machine = EM_S390;
    read_bytes(&header, sizeof(header), &error);
    assert_memory_equal(error.message, "is for another architecture: ELF mac",
                        36);
    header = *vly_own_elf();
    header.e_ident[EI_CLASS] ^= ELFCLASS32 ^ ELFCLASS64;
    read_bytes(&header, sizeof(header), &error);
    assert_memory_equal(error.message, "is for another architecture", 27);
    header = *vly_own_elf();
    header.e_type = ET_REL;
    read_bytes(&header, sizeof(header), &error);
    assert_memory_equal(error.message, "is not a shared object: ELF type 1",
                        34);
    read_bytes(&header, sizeof(header) - 1, &error);
    assert_string_equal(error.message, "is not an ELF file");
}

/* Of a file that is read again the hash is that of its bytes, whether it was
 * kept or not: of the C library, which nobody writes, and of a file that is
 * another each time, as long as before and at once. */
static void test_hash_again(void **state)
{
    (void)state;
    static unsigned char bytes[4096];
    vly_error error = VLY_ERROR_INIT;
    const char *path = VLY_TEST_BINARY_DIR "/hash_again.tmp";
    ElfW(Ehdr) header = *vly_own_elf();
    Dl_info library;
    assert_true(dladdr(stdout, &library) != 0); /* it lies in there */
    header.e_type = ET_DYN;
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, &header, sizeof header);
    for (unsigned i = 0; i < 100; i++) {
        vly_hash own[2] = {{{0, 0}}, {{0, 0}}};
        vly_hash found = {{0, 0}};
        for (int k = 0; k < 2; k++)
            assert_ok(vly_plugin_hash(library.dli_fname, own[k].lane, &error),
                      error);
        assert_memory_equal(&own[0], &own[1], sizeof(vly_hash));
        FILE *file = fopen(path, i == 0 ? "wb" : "r+b");
        assert_non_null(file);
        bytes[sizeof header + i] = 1; /* as long as before */
        assert_int_equal(fwrite(bytes, 1, sizeof bytes, file), sizeof bytes);
        fclose(file);
        const vly_hash wanted =
            vly_hash_bytes((vly_hash){{0, 0}}, bytes, sizeof bytes);
        vly_error none = VLY_ERROR_INIT;
        (void)vly_plugin_hash(path, found.lane, &none);
        assert_ok(none.status, none);
        assert_memory_equal(&found, &wanted, sizeof(vly_hash));
    }
    remove(path);
}

/* The hash of a file that was opened is that of its bytes, also after another
 * file took its path; of a file that was truncated there is none, and no SIGBUS
 * either. */
static void test_hash_later(void **state)
{
    (void)state;
    static unsigned char bytes[1 << 16];
    vly_plugin_file file[2] = {{.is_open = false}, {.is_open = false}};
    vly_error error = VLY_ERROR_INIT;
    const char *path = VLY_TEST_BINARY_DIR "/hash_later.tmp";
    ElfW(Ehdr) header = *vly_own_elf();
    header.e_type = ET_DYN;
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, &header, sizeof header);
    const vly_hash wanted =
        vly_hash_bytes((vly_hash){{0, 0}}, bytes, sizeof bytes);
    for (int k = 0; k < 2; k++) {
        vly_hash found = {{7, 7}};
        FILE *written = fopen(path, "wb");
        assert_non_null(written);
        assert_int_equal(fwrite(bytes, 1, sizeof bytes, written), sizeof bytes);
        fclose(written);
        assert_ok(vly_plugin_file_open(path, &file[k], &error), error);
        if (k == 1)
            assert_int_equal(truncate(path, 100), 0);
        assert_int_equal(remove(path), 0);
        const vly_status status =
            vly_plugin_file_hash(&file[k], &found, &error);
        assert_int_equal(status, k == 0 ? VLY_OK : VLY_E_IO);
        assert_int_equal(found.lane[0], k == 0 ? wanted.lane[0] : 7);
        /* told once */
        assert_ok(vly_plugin_file_hash(&file[k], &found, &error), error);
        assert_int_equal(found.lane[1], k == 0 ? wanted.lane[1] : 7);
    }
    assert_non_null(strstr(error.message, "was overwritten"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_table_sizes),
    cmocka_unit_test(test_minor_never_refuses),
    cmocka_unit_test(test_major_refuses),
    cmocka_unit_test(test_ids),
    cmocka_unit_test(test_own_file),
    cmocka_unit_test(test_trust),
    cmocka_unit_test(test_elf),
    cmocka_unit_test(test_hash_again),
    cmocka_unit_test(test_hash_later),
};

VLY_TEST_MAIN(tests)
