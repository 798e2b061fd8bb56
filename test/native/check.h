/* The little that the native tests share: checks, buffers, temporary segments. */
#ifndef TIERCEL_TEST_CHECK_H
#define TIERCEL_TEST_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "segment.h"

static _Atomic unsigned long checks_made;

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        checks_made++;                                                                         \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "%s:%d: %s: not true: %s\n", __FILE__, __LINE__, __func__, #condition); \
            abort();                                                                           \
        }                                                                                      \
    } while (0)

static inline tseg_key key_of(const tseg *segment, const char *text)
{
    tseg_key key;
    tseg_make_key(segment, &key, text, (uint32_t)strlen(text));
    return key;
}

static inline tseg_value value_of(const void *bytes, size_t count)
{
    return (tseg_value){NULL, 0, bytes, count};
}

/* A read as the binding does it; the length, or -1. */
static inline long read_value(tseg *segment, const tseg_key *key, void *buffer, size_t capacity, tseg_token *token)
{
    for (int attempt = 0; attempt < TSEG_READ_TRIES; attempt++) {
        tseg_entry entry;
        if (tseg_find(segment, key, &entry) != TSEG_OK || !tseg_live(segment, &entry)) break;
        if (entry.value_bytes > capacity) break;
        if (entry.sequence & 1) continue;
        tseg_copy_value(&entry, buffer, 0, entry.value_bytes);
        if (!tseg_intact(&entry)) continue;
        tseg_hit(segment, &entry);
        if (token) *token = tseg_token_of(segment, &entry);
        return (long)entry.value_bytes;
    }
    tseg_miss(segment);
    return -1;
}

/* xorshift64*, so that every run with a seed is the same. */
static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline tseg *attach_or_die(const char *path, uint64_t bytes, uint32_t shards)
{
    static const uint64_t fixed_key[2] = {1, 2};
    tseg_options options = {.bytes = bytes, .shards = shards, .average_entry_bytes = 256, .mode = 0600,
                            .hash_key = fixed_key};
    tseg_error error = {0, ""};
    tseg *segment = path ? tseg_attach(path, &options, &error) : tseg_attach_private(&options, &error);
    if (!segment) {
        fprintf(stderr, "attach: %s (%d)\n", error.message, error.code);
        abort();
    }
    return segment;
}

#endif
