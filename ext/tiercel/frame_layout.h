/*
 * The header of a frame, version 1, as lib/tiercel/frame.rb writes it. Numbers are little-endian.
 * lib/tiercel/frame.md has the table of its bytes. Both extensions include this file.
 */
#ifndef TIERCEL_FRAME_LAYOUT_H
#define TIERCEL_FRAME_LAYOUT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Tiercel needs a little-endian machine"
#endif

enum {
    FRAME_HEADER_BYTES = 24,
    FRAME_MAGIC = 0xF5,
    FRAME_VERSION = 1,
    FRAME_TYPE_STRING_UTF_8 = 1,
    FRAME_TYPE_STRING_BINARY = 2,
    FRAME_TYPE_STRING_US_ASCII = 3,
    FRAME_TYPE_STRING_ENCODED = 4,
    FRAME_TYPE_MARSHAL = 0x10,
    FRAME_TYPE_PLAIN = 0x11,
    FRAME_TYPE_PLACEHOLDER = 0x20,
    FRAME_COMPRESSOR_NONE = 0x00,
    FRAME_FLAG_CHECKSUM = 0x01,
    FRAME_CHECK_XOR = 0xA5,
    FRAME_PART_VERSION = 0x01,
    FRAME_PART_TAGS = 0x02,
    FRAME_PART_LEASE = 0x03,
    FRAME_PART_ENCODING = 0x04,
    FRAME_PART_INFLATED_BYTES = 0x05,
    FRAME_PART_STALE = 0x06,
    FRAME_PART_CREATED_AT = 0x07,
    FRAME_CRITICAL_PARTS = 0x80,
    FRAME_PART_HEADER_BYTES = 3, /* u8 id, u16 bytes */
    FRAME_PART_LEASE_BYTES = 24,
    FRAME_PART_INFLATED_BYTES_BYTES = 4,
    FRAME_PART_STALE_BYTES = 16,
    FRAME_PART_CREATED_AT_BYTES = 12,
    FRAME_TAG_FIXED_BYTES = 10,         /* u16 bytes of the key and u64 generation, around the key */
    FRAME_MAX_VERSION_BYTES = 32 * 1024 /* Ruby stores a digest instead of a longer version */
};

/* The fields lie as in the frame. `check`: FRAME_CHECK_XOR, XORed with all other bytes of the header. */
typedef struct {
    uint8_t magic, version, type, compressor, flags, check;
    uint16_t parts_bytes;
    double expires_at;
    uint32_t payload_bytes, crc32;
} frame_header;

_Static_assert(sizeof(frame_header) == FRAME_HEADER_BYTES, "the struct has no padding");

/* Where the type, the check and the length of the parts are in the first of the header's three words. */
enum { FRAME_TYPE_SHIFT = 16, FRAME_CHECK_SHIFT = 40, FRAME_PARTS_SHIFT = 48 };

static inline uint8_t frame_check(const uint64_t words[3])
{
    uint64_t x = words[0] ^ words[1] ^ words[2];
    x ^= x >> 32;
    x ^= x >> 16;
    x ^= x >> 8;
    return (uint8_t)(x ^ words[0] >> FRAME_CHECK_SHIFT ^ FRAME_CHECK_XOR);
}

/* Completes a header, and returns it as words. */
static inline void frame_seal(frame_header header, uint64_t words[3])
{
    header.magic = FRAME_MAGIC;
    header.version = FRAME_VERSION;
    header.check = 0;
    memcpy(words, &header, FRAME_HEADER_BYTES);
    words[0] |= (uint64_t)frame_check(words) << FRAME_CHECK_SHIFT;
}

/*
 * Returns the type (1 to 3) of the frame of a String that is not compressed and has no checksum, and sets *parts_bytes
 * and *expires_at. Returns 0 for every other frame, and if the lengths do not match.
 */
static inline int frame_string(const uint64_t words[3], uint64_t frame_bytes, uint32_t *parts_bytes, double *expires_at)
{
    const uint64_t others = ~(UINT64_C(0xff) << FRAME_TYPE_SHIFT | UINT64_C(0xff) << FRAME_CHECK_SHIFT |
                              UINT64_C(0xffff) << FRAME_PARTS_SHIFT);
    uint64_t type = words[0] >> FRAME_TYPE_SHIFT & 0xff, parts = words[0] >> FRAME_PARTS_SHIFT;

    if ((words[0] & others) != (FRAME_MAGIC | FRAME_VERSION << 8)) return 0; /* compressor and flags are 0 */
    if (type < FRAME_TYPE_STRING_UTF_8 || type > FRAME_TYPE_STRING_US_ASCII) return 0;
    if (parts > frame_bytes - FRAME_HEADER_BYTES) return 0;
    if (words[2] != frame_bytes - FRAME_HEADER_BYTES - parts) return 0; /* CRC-32, the upper half, is 0 */
    if ((words[0] >> FRAME_CHECK_SHIFT & 0xff) != frame_check(words)) return 0;
    memcpy(expires_at, &words[1], sizeof(double));
    *parts_bytes = (uint32_t)parts;
    return (int)type;
}

#endif
