/* Every operation once, on bytes that may be anything; only crashes, hangs and bad accesses count. */
#ifndef TIERCEL_TEST_HOSTILE_H
#define TIERCEL_TEST_HOSTILE_H

#include <math.h>

#include "check.h"

static inline void call_anything(tseg *segment, uint64_t random)
{
    static uint8_t bytes[70000], back[2 << 20];
    static tseg_token token;
    static tseg_batch batch;
    static uint64_t cursor;
    char text[64];
    int64_t count;
    tseg_stats stats;

    snprintf(text, sizeof text, "key %.*u", (int)(random >> 8 & 31), (unsigned)(random >> 16 & 127));
    tseg_key key = key_of(segment, text);
    tseg_value value = value_of(bytes, random >> 24 & 31 ? random >> 32 & 1023 : random >> 32 & 0xffff);
    double expires_at = random >> 30 & 1 ? INFINITY : 500.0 + (double)(random >> 40 & 1023), now = 1000.0;
    switch (random & 31) {
    case 0: tseg_delete(segment, &key); break;
    case 1: tseg_add(segment, &key, &value, expires_at, now); break;
    case 2: tseg_compare_and_set(segment, &key, &value, expires_at, now, &token); break;
    case 3: tseg_increment(segment, &key, (int64_t)random, expires_at, now, &count); break;
    case 4: tseg_touch(segment, &key, expires_at, now); break;
    case 5: tseg_near_fill(segment, &key, &value, expires_at, now, tseg_near_epoch(segment, &key)); break;
    case 6: tseg_near_invalidate(segment, &key); break;
    case 7: tseg_unchanged(segment, &key, &token); break;
    case 8: if (!tseg_walk(segment, &cursor, "key ", random >> 50 & 4, &batch)) cursor = 0; break;
    case 9:
        if (random >> 50 & 15) break;
        tseg_clear_prefix(segment, (uint32_t)(random >> 54) % segment->geometry.shards, text, 6);
        break;
    case 10:
        if (random >> 50 & 63) break;
        tseg_clear_shard(segment, 0, tseg_raise_epoch(segment));
        break;
    case 11: if (!(random >> 50 & 15)) tseg_collect_stats(segment, &stats); break;
    default:
        if (random & 16) tseg_set(segment, &key, &value, expires_at, now);
        else read_value(segment, &key, back, sizeof back, &token);
    }
}

#endif
