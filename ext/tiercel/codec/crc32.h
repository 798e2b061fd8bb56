/* The CRC-32 of RFC 1952, that of Zlib.crc32. No Ruby in here. */
#ifndef TIERCEL_CRC32_H
#define TIERCEL_CRC32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether there is one: without zlib's headers there is none. */
bool crc32_available(void);

/* Looks at the processor. To be called once, before crc32_update. */
void crc32_init(void);

/* The checksum of what `crc` is the checksum of (0: nothing), and these bytes behind it. */
uint32_t crc32_update(uint32_t crc, const uint8_t *bytes, size_t size);

/* How many ways to make it this processor has: zlib's, folding, wide folding. */
int crc32_ways(void);

/* crc32_update in one of these ways, counted from 0, so that each can be tested where all are there. */
uint32_t crc32_update_by(int way, uint32_t crc, const uint8_t *bytes, size_t size);

#endif
