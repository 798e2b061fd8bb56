/* Tests whether bytes are ASCII. This header contains no Ruby. */
#ifndef TIERCEL_ASCII_H
#define TIERCEL_ASCII_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool ascii_only(const uint8_t *bytes, size_t size)
{
    const uint64_t high_bits = UINT64_C(0x8080808080808080);
    uint64_t seen = 0, eight;
    for (; size >= sizeof(eight); bytes += sizeof(eight), size -= sizeof(eight)) {
        memcpy(&eight, bytes, sizeof(eight));
        seen |= eight;
    }
    for (; size; bytes++, size--) seen |= *bytes;
    return !(seen & high_bits);
}

#endif
