/*
 * Entries with tags. A frame keeps the generation that each of its tags had; the entry is current while the segment has
 * the same generations under the tags' keys. Where the bytes come from does not matter: nothing in them is believed.
 */
#ifndef TIERCEL_SEGMENT_TAGS_H
#define TIERCEL_SEGMENT_TAGS_H

#include "segment.h"

enum {
    TSEG_GENERATION_BYTES = 8,
    TSEG_TAGS_BATCH = 16 /* so many keys are looked up together */
};

typedef enum {
    TSEG_TAGS_CURRENT,
    TSEG_TAGS_OUTDATED,  /* or cut off */
    TSEG_TAGS_NEED_TIME  /* a generation has an end: begin again with a clock that is known */
} tseg_tags_answer;

/* One look-up. The bytes of the part TAGS stay where they are until it is over. */
typedef struct {
    const uint8_t *next; /* of the tags whose keys are not made yet */
    size_t left;
    unsigned count;      /* keys that are made */
    tseg_key keys[TSEG_TAGS_BATCH];
} tseg_tags;

/* A part of a whole frame, its length in *bytes; NULL if there is none, or the parts are cut off. */
const uint8_t *tseg_part_of(const uint8_t *frame, size_t frame_bytes, int id, size_t *bytes);
/* The part TAGS among the optional parts of a frame, its length in *bytes; NULL if there is none. */
const uint8_t *tseg_tags_among(const uint8_t *parts, size_t parts_bytes, size_t *bytes);
/* The same of a whole frame. */
const uint8_t *tseg_tags_of(const uint8_t *frame, size_t frame_bytes, size_t *bytes);
/* Asks the memory for the buckets of the first tags. The caller has other work to do until they are there. */
void tseg_tags_begin(tseg_tags *tags, const tseg *segment, const uint8_t *part, size_t bytes);
/* Reads the generations. They are read after tseg_tags_begin, so every invalidation that was over by then is seen. */
tseg_tags_answer tseg_tags_finish(tseg_tags *tags, tseg *segment, const tseg_clock *clock);

#endif
