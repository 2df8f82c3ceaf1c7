/* SPDX-License-Identifier: Apache-2.0
 * The main function of a program of several tests. Called by the name of a
 * test, as the links beside it do, it is that test; so does its first argument.
 * One call is one test: tests share no process.
 */
#include <stdio.h>
#include <string.h>

/* TEST(name) takes no arguments, TEST_ARGUMENTS(name) does; made by CMake. */
#define TEST(name) int name##_main(void);
#define TEST_ARGUMENTS(name) int name##_main(int argc, char **argv);
#include VLY_TEST_LIST
#undef TEST
#undef TEST_ARGUMENTS

static const struct {
    const char *name;
    int (*plain)(void);
    int (*with_arguments)(int, char **);
} tests[] = {
#define TEST(name) {#name, name##_main, NULL},
#define TEST_ARGUMENTS(name) {#name, NULL, name##_main},
#include VLY_TEST_LIST
};
static const int n_tests = (int)(sizeof(tests) / sizeof(tests[0]));

static int find(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (int i = 0; i < n_tests; i++)
        if (strcmp(tests[i].name, name) == 0)
            return i;
    return -1;
}

int main(int argc, char **argv)
{
    int test = argc > 0 ? find(argv[0]) : -1;
    if (test < 0 && argc > 1) {
        argc--;
        argv++;
        test = find(argv[0]);
    }
    if (test < 0) {
        fprintf(stderr, "no test was named, wanted one of\n");
        for (int i = 0; i < n_tests; i++)
            fprintf(stderr, "  %s\n", tests[i].name);
        return 2;
    }
    return tests[test].plain ? tests[test].plain()
                             : tests[test].with_arguments(argc, argv);
}
