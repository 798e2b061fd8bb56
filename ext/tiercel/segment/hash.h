/*
 * SipHash-1-3 (Aumasson, Bernstein 2012), a keyed hash: an attacker who chooses the keys cannot choose their buckets.
 */
#ifndef TIERCEL_SEGMENT_HASH_H
#define TIERCEL_SEGMENT_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t tseg_rotate(uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }

/* Loads 8 bytes as a little-endian word. (frame_layout.h refuses big-endian machines.) */
static inline uint64_t tseg_load_bytes(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, 8);
    return word;
}

/*
 * Loads the last 0 to 7 of `all` bytes, which begin at `rest`, as a word padded with zeros. It loads 8 bytes if there
 * are as many, because a copy of a variable length is a function call.
 */
static inline uint64_t tseg_load_rest(const uint8_t *rest, size_t count, size_t all)
{
    uint64_t word = 0;

    if (count == 0) return 0;
    if (all >= 8) return tseg_load_bytes(rest + count - 8) >> (64 - 8 * count);
    memcpy(&word, rest, count);
    return word;
}

#define TSEG_SIP_ROUND(a, b, c, d)                                            \
    do {                                                                      \
        a += b; b = tseg_rotate(b, 13) ^ a; a = tseg_rotate(a, 32);           \
        c += d; d = tseg_rotate(d, 16) ^ c;                                   \
        a += d; d = tseg_rotate(d, 21) ^ a;                                   \
        c += b; b = tseg_rotate(b, 17) ^ c; c = tseg_rotate(c, 32);           \
    } while (0)

static inline uint64_t tseg_siphash(const uint64_t key[2], const uint8_t *bytes, size_t count)
{
    uint64_t a = key[0] ^ UINT64_C(0x736f6d6570736575), b = key[1] ^ UINT64_C(0x646f72616e646f6d);
    uint64_t c = key[0] ^ UINT64_C(0x6c7967656e657261), d = key[1] ^ UINT64_C(0x7465646279746573);
    uint64_t last = (uint64_t)count << 56;
    size_t left = count;

    for (; left >= 8; bytes += 8, left -= 8) {
        uint64_t word = tseg_load_bytes(bytes);
        d ^= word;
        TSEG_SIP_ROUND(a, b, c, d);
        a ^= word;
    }
    last |= tseg_load_rest(bytes, left, count);
    d ^= last;
    TSEG_SIP_ROUND(a, b, c, d);
    a ^= last;
    c ^= 0xff;
    TSEG_SIP_ROUND(a, b, c, d);
    TSEG_SIP_ROUND(a, b, c, d);
    TSEG_SIP_ROUND(a, b, c, d);
    return a ^ b ^ c ^ d;
}

#endif
