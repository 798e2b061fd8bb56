/* Reads and writes the headers of frames. This header file contains no Ruby. */
#ifndef TIERCEL_FRAME_H
#define TIERCEL_FRAME_H

#include "../frame_layout.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    FRAME_FLAG_CHECKSUM = 0x01,

    FRAME_TYPE_PLAIN = 0x11,

    FRAME_COMPRESSOR_NONE = 0x00,

    FRAME_PART_VERSION = 0x01,
    FRAME_PART_LEASE = 0x03,
    FRAME_PART_ENCODING = 0x04,
    FRAME_PART_STALE = 0x06,
    FRAME_PART_CREATED_AT = 0x07,
    FRAME_CRITICAL_PARTS = 0x80,
    FRAME_PART_LEASE_BYTES = 24,
    FRAME_PART_INFLATED_BYTES_BYTES = 4,
    FRAME_PART_STALE_BYTES = 16,
    FRAME_PART_CREATED_AT_BYTES = 12,
    FRAME_MAX_VERSION_BYTES = 32 * 1024, /* Ruby stores a digest instead of a longer version */
};

#define FRAME_MAX_PAYLOAD_BYTES UINT32_MAX

typedef struct {
    uint8_t type;
    uint8_t compressor;
    uint8_t flags;
    uint16_t parts_bytes;
    uint32_t payload_bytes;
    uint32_t crc;
    double expires_at;
} frame_header;

/* Numbers in a frame are little-endian on every machine. */
static inline uint16_t frame_get16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }

static inline uint32_t frame_get32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t frame_get64(const uint8_t *p)
{
    return (uint64_t)frame_get32(p) | (uint64_t)frame_get32(p + 4) << 32;
}

static inline void frame_put16(uint8_t *p, uint16_t v) { p[0] = (uint8_t)v; p[1] = (uint8_t)(v >> 8); }

static inline void frame_put32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(v >> (8 * i));
}

static inline void frame_put64(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++) p[i] = (uint8_t)(v >> (8 * i));
}

static inline uint8_t frame_check(const uint8_t *bytes)
{
    const uint64_t words[3] = {frame_get64(bytes), frame_get64(bytes + 8), frame_get64(bytes + 16)};
    return frame_header_check(words);
}

/* Writes FRAME_HEADER_BYTES bytes. */
static inline void frame_write_header(uint8_t *bytes, const frame_header *header)
{
    uint64_t expires_at;
    memcpy(&expires_at, &header->expires_at, 8);
    bytes[FRAME_OFFSET_MAGIC] = FRAME_MAGIC;
    bytes[FRAME_OFFSET_VERSION] = FRAME_VERSION;
    bytes[FRAME_OFFSET_TYPE] = header->type;
    bytes[FRAME_OFFSET_COMPRESSOR] = header->compressor;
    bytes[FRAME_OFFSET_FLAGS] = header->flags;
    bytes[FRAME_OFFSET_CHECK] = 0;
    frame_put16(bytes + FRAME_OFFSET_PARTS_BYTES, header->parts_bytes);
    frame_put64(bytes + FRAME_OFFSET_EXPIRES_AT, expires_at);
    frame_put32(bytes + FRAME_OFFSET_PAYLOAD_BYTES, header->payload_bytes);
    frame_put32(bytes + FRAME_OFFSET_CRC32, header->crc);
    bytes[FRAME_OFFSET_CHECK] = frame_check(bytes);
}

/*
 * Reads the header. Returns false if the bytes are not a whole frame of this layout version with a valid header. Does
 * not examine the type, the compressor, the flags, the parts and the checksum.
 */
static inline bool frame_read_header(const uint8_t *bytes, size_t size, frame_header *header)
{
    uint64_t expires_at;
    if (size < FRAME_HEADER_BYTES) return false;
    if (bytes[FRAME_OFFSET_MAGIC] != FRAME_MAGIC || bytes[FRAME_OFFSET_VERSION] != FRAME_VERSION) return false;
    if (bytes[FRAME_OFFSET_CHECK] != frame_check(bytes)) return false;
    header->type = bytes[FRAME_OFFSET_TYPE];
    header->compressor = bytes[FRAME_OFFSET_COMPRESSOR];
    header->flags = bytes[FRAME_OFFSET_FLAGS];
    header->parts_bytes = frame_get16(bytes + FRAME_OFFSET_PARTS_BYTES);
    expires_at = frame_get64(bytes + FRAME_OFFSET_EXPIRES_AT);
    memcpy(&header->expires_at, &expires_at, 8);
    header->payload_bytes = frame_get32(bytes + FRAME_OFFSET_PAYLOAD_BYTES);
    header->crc = frame_get32(bytes + FRAME_OFFSET_CRC32);
    if (isnan(header->expires_at)) return false;
    return size - FRAME_HEADER_BYTES == (size_t)header->parts_bytes + header->payload_bytes;
}

#endif
