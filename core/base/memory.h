/* SPDX-License-Identifier: Apache-2.0
 * Checked sizes and the one allocator of core. Tests make the n-th allocation
 * fail and count live blocks, so nothing in core calls malloc directly.
 */
#ifndef VOLLEY_BASE_MEMORY_H
#define VOLLEY_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <volley/plugin.h>

/* *out = a * b (or a + b); false on overflow, *out untouched. */
bool vly_size_mul(size_t a, size_t b, size_t *out);
bool vly_size_add(size_t a, size_t b, size_t *out);

/* A large page of the system: a block of vly_malloc of two or more begins on
 * one and asks for such pages. */
#define VLY_LARGE_PAGE ((size_t)2 << 20)

/* NULL on overflow or when there is no memory. count 0 gives a valid block.
 * calloc clears. Large blocks (1 MiB) of malloc are page aligned. [any-thread]
 */
void *vly_malloc(size_t count, size_t size);
void *vly_calloc(size_t count, size_t size);
/* Keeps the old block on failure. */
void *vly_realloc(void *memory, size_t count, size_t size);
void *vly_aligned(size_t bytes, size_t align);
void vly_free(void *memory); /* frees what any of the above returned */
char *vly_strdup(const char *text);
/* printf into a new string; NULL without memory */
char *vly_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For tests: allocation number n from now (1 is the next) fails, and only that;
 * 0 switches it off. Returns the allocations that were left before the earlier
 * n; 0 if it has failed or was off. Live blocks of this process. */
uint64_t vly_memory_fail_at(uint64_t n);
uint64_t vly_memory_live(void);
/* Bytes of the last allocation of this process that failed, 0 if none has. */
uint64_t vly_memory_refused(void);

/* Bytes that this process may still have: MemAvailable of the machine, or less
 * if a control group or a limit (RLIMIT_AS, RLIMIT_DATA) allows less; at least
 * 1. 0 if unknown. [any-thread] */
uint64_t vly_memory_available(void);
/* available, or less where group `own` ("" or "/a/b") of those under `root`, or
 * one above it, has less left (version 2 of control groups). For tests. */
uint64_t vly_memory_group_left(const char *root, const char *own,
                               uint64_t available);

#endif
