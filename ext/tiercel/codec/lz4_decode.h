/*
 * Inflates LZ4 blocks in one pass. It checks each length and distance before it uses them. This header contains no
 * Ruby.
 */
#ifndef TIERCEL_LZ4_DECODE_H
#define TIERCEL_LZ4_DECODE_H

#include "lz4_block.h"
#include <string.h>

enum { LZ4_WILD = 16, LZ4_MAX_EXPANSION = 255 };

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
 * Inflates a block into `room` bytes. Returns false unless the block is whole and has exactly this inflated size. (LZ4
 * block format: every sequence has literals and a match; the last one has literals alone.)
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

#endif
