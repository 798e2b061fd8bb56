/* Computes the inflated size of an LZ4 block from its tokens. This header contains no Ruby. */
#ifndef TIERCEL_LZ4_BLOCK_H
#define TIERCEL_LZ4_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LZ4_MIN_MATCH = 4 };

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

/*
 * Computes the inflated size. Returns false if the block is not whole. (LZ4 block format: every sequence has literals
 * and a match; the last one has literals alone.)
 */
static inline bool lz4_block_size(const uint8_t *at, size_t size, uint64_t *inflated)
{
    const uint8_t *end = at + size;
    uint64_t total = 0;
    while (at < end) {
        uint8_t token = *at++;
        size_t literals, match, distance;
        if (!lz4_length(&at, end, token >> 4, &literals) || literals > (size_t)(end - at)) return false;
        at += literals;
        total += literals;
        if (at == end) {
            *inflated = total;
            return (token & 15) == 0;
        }
        if (end - at < 2) return false;
        distance = (size_t)(at[0] | at[1] << 8);
        at += 2;
        if (distance == 0 || distance > total || !lz4_length(&at, end, token & 15, &match)) return false;
        total += match + LZ4_MIN_MATCH;
    }
    return false;
}

#endif
