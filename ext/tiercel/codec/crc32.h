/* The CRC-32 of RFC 1952, as Zlib.crc32 computes it. This header contains no Ruby. */
#ifndef TIERCEL_CRC32_H
#define TIERCEL_CRC32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns whether this build can compute checksums. A build without zlib's headers cannot. */
bool crc32_available(void);

/* Examines the processor. Called once, before crc32_update. */
void crc32_init(void);

/* Continues the checksum `crc` of earlier bytes (0: of none) with these bytes. */
uint32_t crc32_update(uint32_t crc, const uint8_t *bytes, size_t size);

#endif
