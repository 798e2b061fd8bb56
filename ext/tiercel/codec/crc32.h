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

/* Whether this processor multiplies without carry, and the checksum is made that way. */
bool crc32_folds(void);

#endif
