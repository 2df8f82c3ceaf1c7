/* SPDX-License-Identifier: Apache-2.0
 * Philox4x32-10 (Salmon et al. 2011, doi:10.1145/2063384.2063405), the hashes
 * of the digests (finaliser of splitmix64, Steele et al. 2014,
 * doi:10.1145/2660193.2660195) and the hash of names and files.
 */
#include "base/random.h"

#include <string.h>

/* Table 2 and section 4.3 of the paper */
#define PHILOX_M0 UINT32_C(0xD2511F53)
#define PHILOX_M1 UINT32_C(0xCD9E8D57)
#define PHILOX_W0 UINT32_C(0x9E3779B9)
#define PHILOX_W1 UINT32_C(0xBB67AE85)
#define PHILOX_ROUNDS 10

vly_philox vly_philox_block(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2,
                            uint32_t c3)
{
    uint32_t k0 = (uint32_t)key;
    uint32_t k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t)PHILOX_M0 * c0;
        uint64_t p1 = (uint64_t)PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    return (vly_philox){{c0, c1, c2, c3}};
}

uint32_t vly_philox_word(uint64_t key, uint64_t t, uint32_t id, uint32_t stream)
{
    uint64_t block = t >> 2;
    vly_philox words = vly_philox_block(key, (uint32_t)block,
                                        (uint32_t)(block >> 32), id, stream);
    return words.w[t & 3];
}

uint64_t vly_mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    x ^= x >> 27;
    x *= UINT64_C(0x94D049BB133111EB);
    x ^= x >> 31;
    return x;
}

uint64_t vly_spike_hash(uint32_t neuron, uint32_t gain, uint64_t burst)
{
    return vly_mix64(vly_mix64(burst) ^ ((uint64_t)neuron << 32 | gain));
}

uint64_t vly_state_hash(uint32_t neuron, uint32_t field, uint32_t word)
{
    return vly_mix64(vly_mix64(field) ^ ((uint64_t)neuron << 32 | word));
}

uint64_t vly_weight_hash(uint64_t at, uint32_t word)
{
    uint64_t mixed = vly_mix64((UINT64_C(1) << 32) + (at >> 32));
    return vly_mix64(mixed ^ (at << 32 | word));
}

static uint64_t load_part(const unsigned char *bytes, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

/* Each process reads and hashes its plugins. At -O2 the loop above becomes one
 * load; with a sanitizer each of its bytes would be checked. */
static uint64_t load_le64(const unsigned char *bytes)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t word = 0;
    memcpy(&word, bytes, sizeof word);
    return word;
#else
    return load_part(bytes, sizeof(uint64_t));
#endif
}

/* The two lanes differ in their added constant (digits of the golden ratio and
 * of pi): mix64(0) is 0, so a constant is needed to see zeros at all. */
static vly_hash hash_word(vly_hash hash, uint64_t word)
{
    hash.lane[0] =
        vly_mix64((hash.lane[0] ^ word) + UINT64_C(0x9E3779B97F4A7C15));
    hash.lane[1] =
        vly_mix64((hash.lane[1] + word) ^ UINT64_C(0x243F6A8885A308D3));
    return hash;
}

vly_hash vly_hash_bytes(vly_hash seed, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    vly_hash hash = seed;
    size_t left = n;
    for (; left >= 8; left -= 8, at += 8)
        hash = hash_word(hash, load_le64(at));
    if (left)
        hash = hash_word(hash, load_part(at, left));
    return hash_word(hash, n);
}

void vly_hasher_word(vly_hasher *hasher, uint64_t word)
{
    const unsigned bits = 8 * (unsigned)(hasher->n % 8);
    hasher->hash = hash_word(hasher->hash, hasher->word | word << bits);
    hasher->word = bits == 0 ? 0 : word >> (64 - bits);
    hasher->n += 8;
}

void vly_hasher_words(vly_hasher *hasher, const uint64_t *words, size_t n)
{
    vly_hasher made = *hasher;
    for (size_t i = 0; i < n; i++)
        vly_hasher_word(&made, words[i]);
    *hasher = made;
}

void vly_hasher_bytes(vly_hasher *hasher, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    for (; n >= 8; n -= 8, at += 8)
        vly_hasher_word(hasher, load_le64(at));
    for (; n > 0; n--, at++) {
        hasher->word |= (uint64_t)*at << (8 * (hasher->n % 8));
        if (++hasher->n % 8 != 0)
            continue;
        hasher->hash = hash_word(hasher->hash, hasher->word);
        hasher->word = 0;
    }
}

vly_hash vly_hasher_end(const vly_hasher *hasher)
{
    vly_hash hash = hasher->hash;
    if (hasher->n % 8 != 0)
        hash = hash_word(hash, hasher->word);
    return hash_word(hash, hasher->n);
}

vly_hash vly_hash_text(const char *text)
{
    return vly_hash_bytes((vly_hash){{0, 0}}, text, strlen(text));
}

uint32_t vly_stream_from_name(const char *name)
{
    return (uint32_t)vly_hash_text(name).lane[0];
}

void vly_hash_print(vly_hash hash, char out[33])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 32; i++)
        out[i] = digits[hash.lane[i / 16] >> (60 - 4 * (i % 16)) & 15];
    out[32] = 0;
}
