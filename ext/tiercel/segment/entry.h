/* Arguments and results of calls: a key, a value, an entry, and its token. */
#ifndef TIERCEL_SEGMENT_ENTRY_H
#define TIERCEL_SEGMENT_ENTRY_H

#include <stdint.h>

#include "layout.h"

typedef struct {
    const uint8_t *bytes;
    uint32_t count;
    uint32_t shard;
    uint64_t hash;
    uint64_t fingerprint; /* shifted to its place in a slot word */
    uint32_t bucket[2];   /* the first slot of each candidate bucket; the two may be equal */
} tseg_key;

/* A value in two parts. The first part is a frame's header, in whole words, or empty. */
typedef struct {
    const uint64_t *head;
    uint32_t head_words;
    const uint8_t *body;
    uint64_t body_bytes;
} tseg_value;

/* compare_and_set and the memo compare tokens to find out whether an entry has changed. */
typedef struct {
    uint64_t file_id;
    uint64_t origin;
    uint32_t sequence;
} tseg_token;

/* A found entry. A reader trusts none of these fields before tseg_intact has returned true. */
typedef struct {
    tseg_word *slot;
    uint64_t word;
    tseg_word *entry;
    const tseg_word *value;
    const tseg_word *tail;
    uint64_t position;
    uint64_t origin;
    uint64_t lengths; /* word 1 when it was read: sequence and value bytes */
    double expires_at;
    uint32_t sequence;
    uint32_t value_bytes;
    uint32_t units;
    uint32_t epoch;
} tseg_entry;

#endif
