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

enum {
    FRAME_HEADER_BYTES = 24,
    FRAME_MAGIC = 0xF5,
    FRAME_VERSION = 1,
    FRAME_TYPE_STRING_UTF_8 = 1,
    FRAME_TYPE_STRING_BINARY = 2,
    FRAME_TYPE_STRING_US_ASCII = 3,
    FRAME_TYPE_STRING_ENCODED = 4,
    FRAME_TYPE_MARSHAL = 0x10,
    FRAME_TYPE_PLACEHOLDER = 0x20,
    FRAME_CHECK_XOR = 0xA5,
    FRAME_OFFSET_MAGIC = 0,
    FRAME_OFFSET_VERSION = 1,
    FRAME_OFFSET_TYPE = 2,
    FRAME_OFFSET_COMPRESSOR = 3,
    FRAME_OFFSET_FLAGS = 4,
    FRAME_OFFSET_CHECK = 5,
    FRAME_OFFSET_PARTS_BYTES = 6,
    FRAME_OFFSET_EXPIRES_AT = 8,
    FRAME_OFFSET_PAYLOAD_BYTES = 16,
    FRAME_OFFSET_CRC32 = 20,
    FRAME_PART_TAGS = 0x02,
    FRAME_PART_INFLATED_BYTES = 0x05,
    FRAME_PART_HEADER_BYTES = 3, /* u8 id, u16 bytes */
    FRAME_TAG_FIXED_BYTES = 10   /* u16 bytes of the key and u64 generation, around the key */
};

/* The check byte of a header: FRAME_CHECK_XOR, XORed with all other bytes of the header. */
static inline uint8_t frame_header_check(const uint64_t words[3])
{
    uint64_t x = words[0] ^ words[1] ^ words[2];
    x ^= x >> 32;
    x ^= x >> 16;
    x ^= x >> 8;
    return (uint8_t)((x & 0xff) ^ ((words[0] >> (8 * FRAME_OFFSET_CHECK)) & 0xff) ^ FRAME_CHECK_XOR);
}

/* Returns whether a frame with this first word has no compressor, no flags and no optional parts. */
static inline bool frame_is_bare(uint64_t word)
{
    const uint64_t fixed = FRAME_MAGIC | (uint64_t)FRAME_VERSION << 8; /* compressor, flags, parts: 0 */
    const uint64_t but_type_and_check = ~(UINT64_C(0xff) << 16 | UINT64_C(0xff) << (8 * FRAME_OFFSET_CHECK));

    return (word & but_type_and_check) == fixed;
}

/*
 * Returns the type (1 to 3) of a plain String's frame, and sets *expires_at. Such a frame is not compressed, and has no
 * optional parts and no checksum. Returns 0 for every other frame, and if the lengths do not match.
 */
static inline int frame_plain_string(const uint64_t words[3], uint64_t frame_bytes, double *expires_at)
{
    uint64_t type = (words[0] >> 16) & 0xff;

    if (!frame_is_bare(words[0])) return 0;
    if (type < FRAME_TYPE_STRING_UTF_8 || type > FRAME_TYPE_STRING_US_ASCII) return 0;
    if (words[2] != frame_bytes - FRAME_HEADER_BYTES) return 0; /* CRC-32, the upper half, is 0 */
    if (((words[0] >> (8 * FRAME_OFFSET_CHECK)) & 0xff) != frame_header_check(words)) return 0;
    memcpy(expires_at, &words[1], sizeof(double));
    return (int)type;
}

/*
 * Reads the header of a String's frame with optional parts. Sets *parts_bytes, which never exceeds the frame's bytes.
 */
static inline int frame_string_with_parts(const uint64_t words[3], uint64_t frame_bytes, uint32_t *parts_bytes,
                                          double *expires_at)
{
    const uint64_t parts_mask = UINT64_C(0xffff) << (8 * FRAME_OFFSET_PARTS_BYTES);
    uint64_t type = (words[0] >> 16) & 0xff, parts = words[0] >> (8 * FRAME_OFFSET_PARTS_BYTES);

    if (!frame_is_bare(words[0] & ~parts_mask)) return 0;
    if (type < FRAME_TYPE_STRING_UTF_8 || type > FRAME_TYPE_STRING_US_ASCII) return 0;
    if (parts > frame_bytes - FRAME_HEADER_BYTES) return 0;
    if (words[2] != frame_bytes - FRAME_HEADER_BYTES - parts) return 0;
    if (((words[0] >> (8 * FRAME_OFFSET_CHECK)) & 0xff) != frame_header_check(words)) return 0;
    memcpy(expires_at, &words[1], sizeof(double));
    *parts_bytes = (uint32_t)parts;
    return (int)type;
}

static inline void frame_write_plain_header(uint64_t words[3], int type, double expires_at, uint32_t payload_bytes)
{
    words[0] = FRAME_MAGIC | (uint64_t)FRAME_VERSION << 8 | (uint64_t)type << 16;
    memcpy(&words[1], &expires_at, sizeof(double));
    words[2] = payload_bytes;
    words[0] |= (uint64_t)frame_header_check(words) << (8 * FRAME_OFFSET_CHECK);
}

#endif
