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

/* The part of a frame with this id, and its length in *bytes. NULL if the frame has none or its parts are cut off. */
const uint8_t *tseg_part_of(const uint8_t *frame, size_t frame_bytes, int id, size_t *bytes);
/* The part TAGS among the optional parts of a frame, and its length in *bytes. NULL if there is none. */
const uint8_t *tseg_tags_among(const uint8_t *parts, size_t parts_bytes, size_t *bytes);
/* The part TAGS of a whole frame, and its length in *bytes. NULL if there is none. */
const uint8_t *tseg_tags_of(const uint8_t *frame, size_t frame_bytes, size_t *bytes);
/*
 * Prefetches what is known of the first tags: the place of the generation, or the buckets of the key. The caller does
 * other work before tseg_tags_finish.
 */
void tseg_tags_begin(tseg_tags *tags, const tseg *segment, const uint8_t *part, size_t bytes);
/* Reads the generations. The result includes every invalidation that ended before tseg_tags_begin. */
tseg_tags_answer tseg_tags_finish(tseg_tags *tags, tseg *segment, const tseg_clock *clock);
/* Performs both steps, tseg_tags_begin and tseg_tags_finish. Reads the clock only if a generation can expire. */
bool tseg_tags_are_current(tseg *segment, const uint8_t *part, size_t bytes, tseg_time_function *ask_time,
                           void *context);

#endif
