/* SPDX-License-Identifier: Apache-2.0
 * Definitions shared by the writer and the reader of a checkpoint: names and
 * sizes of parts, how a section is cut into frames, checksums.
 */
#include "checkpoint/checkpoint_format.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "checkpoints have the byte order of memory: little-endian only"
#endif

static const struct {
    const char *name;
    uint32_t bytes;
    vly_stored type;
} parts[VLY_PARTS] = {
#define VLY_PART_ROW(NAME, name, bytes, type) {name, bytes, VLY_STORED_##type},
    VLY_CHECKPOINT_TABLE(VLY_PART_ROW)
#undef VLY_PART_ROW
};

static const struct {
    const char *name;
    uint32_t bytes;
} elements[VLY_STORED_TYPES] = {
#define VLY_STORED_ROW(NAME, name, bytes) {name, bytes},
    VLY_STORED_TABLE(VLY_STORED_ROW)
#undef VLY_STORED_ROW
};

const char *vly_checkpoint_part_name(uint32_t part)
{
    return part < VLY_PARTS ? parts[part].name : "?";
}

uint32_t vly_checkpoint_part_bytes(uint32_t part)
{
    return part < VLY_PARTS ? parts[part].bytes : 0;
}

vly_stored vly_checkpoint_part_type(uint32_t part)
{
    return part < VLY_PARTS ? parts[part].type : VLY_STORED_RECORD;
}

const char *vly_stored_name(vly_stored type)
{
    return (uint32_t)type < VLY_STORED_TYPES ? elements[type].name : "?";
}

uint32_t vly_stored_bytes(vly_stored type)
{
    return (uint32_t)type < VLY_STORED_TYPES ? elements[type].bytes : 0;
}

void vly_checkpoint_entry_name(const vly_checkpoint_entry *entry, char name[64])
{
    const char *type = vly_stored_name((vly_stored)entry->type);
    if (entry->id == VLY_PART_PLASTIC + 1)
        snprintf(name, 64, "plastic_weights %" PRIu32 " %s", entry->index,
                 type);
    else if (entry->id == VLY_PART_TRACE + 1)
        snprintf(name, 64, "trace %" PRIu32 " %.31s %s", entry->index,
                 entry->name, type);
    else if (entry->id == VLY_PART_LEARNED + 1)
        snprintf(name, 64, "learned");
    else if (entry->id == VLY_PART_MEMORIES + 1)
        snprintf(name, 64, "memories");
    else if (entry->id == VLY_PART_COUNTS + 1)
        snprintf(name, 64, "counts");
    else
        snprintf(name, 64, "%s", vly_checkpoint_part_name(entry->id - 1));
}

/* ---- frames ------------------------------------------------------------ */

uint32_t vly_checkpoint_frame_elements(uint32_t element_bytes)
{
    uint32_t n = VLY_CHECKPOINT_FRAME_ELEMENTS;
    while ((uint64_t)n * element_bytes > VLY_CHECKPOINT_FRAME_BYTES)
        n /= 2;
    return n;
}

uint64_t vly_checkpoint_frame_count(uint64_t n, uint32_t element_bytes)
{
    uint32_t together = vly_checkpoint_frame_elements(element_bytes);
    return n / together + (n % together != 0);
}

size_t vly_checkpoint_frame_bytes(const vly_checkpoint_entry *entry,
                                  uint64_t frame)
{
    uint64_t left = entry->n - frame * entry->frame_elements;
    uint64_t n = left < entry->frame_elements ? left : entry->frame_elements;
    return (size_t)(n * entry->element_bytes);
}

/* ---- weights and traces ------------------------------------------------ */

/* The types that each may have, as bits. */
static const uint32_t plastic_types =
    1u << VLY_STORED_U8 | 1u << VLY_STORED_I16 | 1u << VLY_STORED_I32 |
    1u << VLY_STORED_F32;
static const uint32_t trace_types = 1u << VLY_STORED_U8 | 1u << VLY_STORED_I16 |
                                    1u << VLY_STORED_I32 |
                                    1u << VLY_STORED_U32 | 1u << VLY_STORED_F32;

/* The rest of it is 0. */
static bool is_name(const char name[VLY_TRACE_NAME_BYTES])
{
    size_t n = 0;
    while (n < VLY_TRACE_NAME_BYTES &&
           ((name[n] >= 'a' && name[n] <= 'z') ||
            (name[n] >= '0' && name[n] <= '9') || name[n] == '_'))
        n++;
    if (n == 0 || n == VLY_TRACE_NAME_BYTES)
        return false;
    while (n < VLY_TRACE_NAME_BYTES && name[n] == 0)
        n++;
    return n == VLY_TRACE_NAME_BYTES;
}

const char *vly_checkpoint_entry_fault(const vly_checkpoint_entry *entry,
                                       const vly_checkpoint_entry *before)
{
    static const char none[VLY_TRACE_NAME_BYTES];
    bool trace = entry->id == VLY_PART_TRACE + 1;
    bool learned = entry->id == VLY_PART_LEARNED + 1;
    bool memories = entry->id == VLY_PART_MEMORIES + 1;
    bool counts = entry->id == VLY_PART_COUNTS + 1;
    bool one = learned || memories || counts;
    uint32_t types = trace      ? trace_types
                     : learned  ? 1u << VLY_STORED_F64
                     : memories ? 1u << VLY_STORED_U32
                     : counts   ? 1u << VLY_STORED_U64
                                : plastic_types;
    if (!trace && !one && entry->id != VLY_PART_PLASTIC + 1)
        return "has an unknown kind";
    if (one && entry->index != 0)
        return "has an index";
    if (learned && entry->n > UINT32_MAX)
        return "has too many values";
    if (entry->type >= VLY_STORED_TYPES || (types >> entry->type & 1u) == 0)
        return "has a type that its kind does not take";
    if (trace ? !is_name(entry->name)
              : memcmp(entry->name, none, sizeof none) != 0)
        return "has an invalid name";
    if (!before || before->id < entry->id)
        return NULL;
    if (before->id > entry->id || before->index > entry->index ||
        (before->index == entry->index &&
         memcmp(before->name, entry->name, sizeof none) >= 0))
        return "is not after the one before it";
    return NULL;
}

/* ---- checksums --------------------------------------------------------- */

vly_hash vly_checkpoint_header_sum(const vly_checkpoint_header *header)
{
    return vly_hash_bytes((vly_hash){{0, 0}}, header,
                          offsetof(vly_checkpoint_header, header_checksum));
}

vly_hash vly_checkpoint_table_sum(const void *table, size_t n)
{
    return vly_hash_bytes((vly_hash){{0, 0}}, table, n);
}

vly_hash vly_checkpoint_frame_sum(uint32_t section, uint64_t frame,
                                  const void *bytes, size_t n)
{
    return vly_hash_bytes((vly_hash){{(uint64_t)section + 1, frame}}, bytes, n);
}

vly_status vly_checkpoint_damaged(vly_error *error, const char *path,
                                  const char *format, ...)
{
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return vly_fail(error, VLY_E_PARSE, "%s: damaged checkpoint: %s", path,
                    text);
}
