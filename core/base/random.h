/* SPDX-License-Identifier: Apache-2.0
 * Counter-based random numbers: Philox4x32-10 (Salmon et al. 2011,
 * doi:10.1145/2063384.2063405) and the hashes of the digests (splitmix64's
 * finaliser). A draw is a function of key and counter only, so no order of
 * work can change it.
 */
#ifndef VOLLEY_BASE_RANDOM_H
#define VOLLEY_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

typedef struct vly_philox {
    uint32_t w[4];
} vly_philox;

/* key: low word first */
vly_philox vly_philox_block(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2,
                            uint32_t c3);
/* Word t & 3 of counter (t >> 2 low, t >> 2 high, id, stream). Run time draws
 * use t = burst, id = neuron; build time draws t = index of the draw. */
uint32_t vly_philox_word(uint64_t key, uint64_t t, uint32_t id,
                         uint32_t stream);

uint64_t vly_mix64(uint64_t x); /* splitmix64 finaliser */
/* s(neuron, gain, t) of the digest */
uint64_t vly_spike_hash(uint32_t neuron, uint32_t gain, uint64_t burst);
/* one (neuron, field, word) of the state digest */
uint64_t vly_state_hash(uint32_t neuron, uint32_t field, uint32_t word);
/* Word number `at` of a snapshot's weights. */
uint64_t vly_weight_hash(uint64_t at, uint32_t word);

/* An integer below n: high word of word * n. */
static inline uint32_t vly_below(uint32_t word, uint32_t n)
{
    return (uint32_t)(((uint64_t)word * n) >> 32);
}

/* 128-bit hash of bytes (two mix64 lanes over 8-byte blocks and the length),
 * little endian on every machine. Chain with seed. Not cryptographic. */
typedef struct vly_hash {
    uint64_t lane[2];
} vly_hash;
vly_hash vly_hash_bytes(vly_hash seed, const void *bytes, size_t n);
/* The same in parts: the result is the hash of all parts concatenated. */
typedef struct vly_hasher {
    vly_hash hash; /* begins as the seed */
    uint64_t word; /* bytes that do not yet fill a word */
    uint64_t n;    /* bytes so far */
} vly_hasher;
void vly_hasher_bytes(vly_hasher *hasher, const void *bytes, size_t n);
void vly_hasher_word(vly_hasher *hasher, uint64_t word); /* little endian */
void vly_hasher_words(vly_hasher *hasher, const uint64_t *words, size_t n);
vly_hash vly_hasher_end(const vly_hasher *hasher);
vly_hash vly_hash_text(const char *text);        /* seed 0 */
uint32_t vly_stream_from_name(const char *name); /* low word of the hash */
/* 32 lower-case hex digits and a 0 */
void vly_hash_print(vly_hash hash, char out[33]);

#endif
