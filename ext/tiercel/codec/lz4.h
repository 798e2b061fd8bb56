/*
 * LZ4 blocks. Block format: every sequence has literals and a match; the last one has literals alone. A match is at
 * most 65,535 bytes back. This header contains no Ruby.
 */
#ifndef TIERCEL_LZ4_H
#define TIERCEL_LZ4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    LZ4_MIN_MATCH = 4,
    LZ4_WILD = 16,
    LZ4_MAX_EXPANSION = 255,
    LZ4_MOST_TABLE_BITS = 13,
    LZ4_LEAST_TABLE_BITS = 8,
    LZ4_MAX_DISTANCE = 65535,
    LZ4_LAST_LITERALS = 5,
    LZ4_MATCH_LIMIT = 12,
    LZ4_SHORT = 16, /* a copy of few literals always copies this many bytes */
    LZ4_PATIENCE_BITS = 6, /* after 2^6 failed looks the step gets longer by one */
};

/* Reads a length. A length of 15 in the token continues in further bytes, up to the first that is not 255. */
static inline bool lz4_length(const uint8_t **at, const uint8_t *end, size_t nibble, size_t *length)
{
    uint8_t byte;
    *length = nibble;
    if (nibble < 15) return true;
    do {
        if (*at == end) return false;
        byte = *(*at)++;
        *length += byte;
    } while (byte == 255);
    return true;
}

/* Copies in steps. It may write up to 15 bytes beyond `size`; the caller has room for them. */
static inline void lz4_wild_copy(uint8_t *to, const uint8_t *from, size_t size, size_t step)
{
    const uint8_t *end = to + size;
    do {
        memcpy(to, from, step);
        to += step;
        from += step;
    } while (to < end);
}

/* Copies the bytes that are `distance` bytes back. If source and destination overlap, the copy repeats the bytes. */
static inline void lz4_copy_match(uint8_t *to, size_t distance, size_t size, size_t room)
{
    const uint8_t *from = to - distance;
    if (distance >= LZ4_WILD && room - size >= LZ4_WILD) lz4_wild_copy(to, from, size, LZ4_WILD);
    else if (distance >= 8 && room - size >= 8) lz4_wild_copy(to, from, size, 8);
    else if (distance >= size) memcpy(to, from, size);
    else if (distance == 1) memset(to, *from, size);
    else for (size_t at = 0; at < size; at++) to[at] = from[at];
}

static inline void lz4_copy_literals(uint8_t *to, const uint8_t *from, size_t size, size_t room, size_t left)
{
    if (size <= LZ4_WILD && room >= LZ4_WILD && left >= LZ4_WILD) memcpy(to, from, LZ4_WILD);
    else if (size) memcpy(to, from, size);
}

/*
 * Inflates a block into `room` bytes, in one pass that checks each length and distance before it uses them. Returns
 * false unless the block is whole and has exactly this inflated size.
 */
static inline bool lz4_decode(const uint8_t *at, size_t size, uint8_t *to, size_t room)
{
    const uint8_t *end = at + size, *start = to;
    while (at < end) {
        uint8_t token = *at++;
        size_t literals, match, distance;
        if (!lz4_length(&at, end, token >> 4, &literals)) return false;
        if (literals > (size_t)(end - at) || literals > room) return false;
        lz4_copy_literals(to, at, literals, room, (size_t)(end - at));
        at += literals;
        to += literals;
        room -= literals;
        if (at == end) return (token & 15) == 0 && room == 0;
        if (end - at < 2) return false;
        distance = (size_t)(at[0] | at[1] << 8);
        at += 2;
        if (distance == 0 || distance > (size_t)(to - start)) return false;
        if (!lz4_length(&at, end, token & 15, &match)) return false;
        match += LZ4_MIN_MATCH;
        if (match > room) return false;
        lz4_copy_match(to, distance, match, room);
        to += match;
        room -= match;
    }
    return false;
}

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

/* The number of equal bytes at the beginning, up to `end`. */
static inline size_t lz4_equal(const uint8_t *at, const uint8_t *other, const uint8_t *end)
{
    const uint8_t *start = at;
    for (; end - at >= 8; at += 8, other += 8) {
        uint64_t one, two;
        memcpy(&one, at, 8);
        memcpy(&two, other, 8);
        if (one != two) return (size_t)(at - start) + (size_t)__builtin_ctzll(one ^ two) / 8;
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
 * size. One greedy pass with a table of the last place of each hash, of 1 << `bits` zeros. While it finds no match, its
 * steps get longer. The last five bytes are literals, and the last match begins at least twelve bytes before the end.
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
