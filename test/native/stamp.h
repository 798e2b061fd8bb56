/* Values that show whose they are, and whether they are whole. */
#ifndef TIERCEL_TEST_STAMP_H
#define TIERCEL_TEST_STAMP_H

#include <stddef.h>
#include <stdint.h>

typedef struct { uint32_t key, version, bytes, sum; } stamp;

static inline uint32_t sum_of(const uint8_t *bytes, size_t count)
{
    uint32_t sum = 2166136261u;
    for (size_t i = 0; i < count; i++) sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}

#endif
