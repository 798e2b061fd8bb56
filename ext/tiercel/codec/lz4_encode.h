/*
 * Deflates bytes to an LZ4 block: one greedy pass with a table of the last place of each hash. While it finds no match,
 * its steps get longer. (LZ4 block format: a match is at most 65,535 bytes back; the last five bytes are literals; the
 * last match begins at least twelve bytes before the end.) This header contains no Ruby.
 */
#ifndef TIERCEL_LZ4_ENCODE_H
#define TIERCEL_LZ4_ENCODE_H

#include "lz4_block.h"
#include <string.h>

enum {
    LZ4_MOST_TABLE_BITS = 13,
    LZ4_LEAST_TABLE_BITS = 8,
    LZ4_MAX_DISTANCE = 65535,
    LZ4_LAST_LITERALS = 5,
    LZ4_MATCH_LIMIT = 12,
    LZ4_SHORT = 16, /* a copy of few literals always copies this many bytes */
    LZ4_PATIENCE_BITS = 6, /* after 2^6 failed looks the step gets longer by one */
};

/* The largest size of the block of any `size` bytes, with spare room for short copies. */
static inline size_t lz4_bound(size_t size) { return size + size / 255 + 16 + LZ4_SHORT; }

/* The size of the table for an input of `size` bytes, as an exponent of two. */
static inline unsigned lz4_table_bits(size_t size)
{
    unsigned bits = LZ4_LEAST_TABLE_BITS;
    while (bits < LZ4_MOST_TABLE_BITS && ((size_t)1 << bits) < size) bits++;
    return bits;
}

static inline uint32_t lz4_word(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

static inline uint32_t lz4_hash(uint32_t word, unsigned bits) { return (word * 2654435761u) >> (32 - bits); }

/* The number of equal bytes at the beginning of two words that differ, in the order of the memory. */
static inline size_t lz4_equal_bytes(uint64_t one, uint64_t two)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (size_t)__builtin_ctzll(one ^ two) / 8;
#else
    return (size_t)__builtin_clzll(one ^ two) / 8;
#endif
}

/* The number of equal bytes at the beginning, up to `end`. */
static inline size_t lz4_equal(const uint8_t *at, const uint8_t *other, const uint8_t *end)
{
    const uint8_t *start = at;
    for (; end - at >= 8; at += 8, other += 8) {
        uint64_t one, two;
        memcpy(&one, at, 8);
        memcpy(&two, other, 8);
        if (one != two) return (size_t)(at - start) + lz4_equal_bytes(one, two);
    }
    while (at < end && *at == *other) {
        at++;
        other++;
    }
    return (size_t)(at - start);
}

static inline uint8_t *lz4_put_length(uint8_t *to, size_t length)
{
    for (; length >= 255; length -= 255) *to++ = 255;
    *to++ = (uint8_t)length;
    return to;
}

/* left: the number of readable bytes at `from`. */
static inline uint8_t *lz4_put_literals(uint8_t *to, const uint8_t *from, size_t size, size_t left, uint8_t **token)
{
    *token = to++;
    **token = (uint8_t)((size < 15 ? size : 15) << 4);
    if (size >= 15) to = lz4_put_length(to, size - 15);
    if (size <= LZ4_SHORT && left >= LZ4_SHORT) memcpy(to, from, LZ4_SHORT);
    else memcpy(to, from, size);
    return to + size;
}

static inline uint8_t *lz4_put_match(uint8_t *to, uint8_t *token, size_t distance, size_t length)
{
    size_t rest = length - LZ4_MIN_MATCH;
    *to++ = (uint8_t)distance;
    *to++ = (uint8_t)(distance >> 8);
    *token |= (uint8_t)(rest < 15 ? rest : 15);
    return rest >= 15 ? lz4_put_length(to, rest - 15) : to;
}

typedef struct {
    const uint8_t *bytes;
    uint32_t *table;
    unsigned bits;
} lz4_finder;

/* Finds the first match from `*at` on. Returns false if no match begins before `limit`. */
static inline bool lz4_find(const lz4_finder *finder, size_t *at, size_t limit, size_t *earlier)
{
    size_t looks = (size_t)1 << LZ4_PATIENCE_BITS, place = *at;
    while (place <= limit) {
        uint32_t word = lz4_word(finder->bytes + place);
        uint32_t *slot = &finder->table[lz4_hash(word, finder->bits)];
        size_t found = *slot;
        *slot = (uint32_t)place;
        if (found < place && place - found <= LZ4_MAX_DISTANCE && lz4_word(finder->bytes + found) == word) {
            *at = place;
            *earlier = found;
            return true;
        }
        place += looks++ >> LZ4_PATIENCE_BITS;
    }
    return false;
}

/*
 * Writes the block of `size` bytes (less than 4 GB) to `to`, which has lz4_bound(size) bytes, and returns the block's
 * size. `table` has 1 << `bits` zeros.
 */
static inline size_t lz4_encode(const uint8_t *bytes, size_t size, uint8_t *to, uint32_t *table, unsigned bits)
{
    const lz4_finder finder = {.bytes = bytes, .table = table, .bits = bits};
    size_t anchor = 0, at = 1, earlier;
    uint8_t *start = to, *token;
    while (size > LZ4_MATCH_LIMIT && lz4_find(&finder, &at, size - LZ4_MATCH_LIMIT, &earlier)) {
        size_t length;
        while (at > anchor && earlier > 0 && bytes[at - 1] == bytes[earlier - 1]) {
            at--;
            earlier--;
        }
        length = lz4_equal(bytes + at, bytes + earlier, bytes + size - LZ4_LAST_LITERALS);
        to = lz4_put_literals(to, bytes + anchor, at - anchor, size - anchor, &token);
        to = lz4_put_match(to, token, at - earlier, length);
        at += length;
        anchor = at;
        if (at - 2 <= size - LZ4_MATCH_LIMIT) table[lz4_hash(lz4_word(bytes + at - 2), bits)] = (uint32_t)(at - 2);
    }
    to = lz4_put_literals(to, bytes + anchor, size - anchor, size - anchor, &token);
    return (size_t)(to - start);
}

#endif
