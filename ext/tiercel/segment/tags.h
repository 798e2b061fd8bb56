/*
 * Layer "tags": entries with tags. A frame contains the generation of each of its tags. The entry is current while the
 * segment has the same generations under the tags' keys. These functions check every length in a frame, so it may hold
 * any bytes.
 */
#ifndef TIERCEL_SEGMENT_TAGS_H
#define TIERCEL_SEGMENT_TAGS_H

#include "read.h"

/*
 * The place where this process has found the generation of a tag. A generation is a random number, so it leads to its
 * entry without a hash of the tag's key and without a look-up. The callers of an attachment take turns.
 */
typedef struct tseg_known_generation {
    uint64_t generation;
    tseg_word *slot; /* NULL: the row is empty */
    const tseg_word *entry;
    const tseg_word *tail;
    uint64_t word;    /* of the slot */
    uint64_t lengths; /* of the entry, with its sequence */
    uint64_t key_bytes;
    uint64_t epoch;   /* of the segment */
} tseg_known_generation;

enum {
    TSEG_GENERATION_BYTES = 8,
    TSEG_TAGS_BATCH = 16 /* tags that are prefetched together */
};

typedef enum {
    TSEG_TAGS_CURRENT,
    TSEG_TAGS_OUTDATED,  /* a generation is missing or differs, or the part is cut off */
    TSEG_TAGS_NEED_TIME  /* a generation can expire: the caller starts again with a clock that has the time */
} tseg_tags_answer;

/* A check of an entry's tags. The bytes of the part TAGS stay in their place until it ends. */
typedef struct {
    const uint8_t *next; /* the tags that are not in `tags` yet */
    size_t left;         /* their bytes */
    unsigned count;
    struct {
        const tseg_known_generation *known; /* NULL: look the key up */
        tseg_key key;
    } tags[TSEG_TAGS_BATCH];
} tseg_tags;

#endif
