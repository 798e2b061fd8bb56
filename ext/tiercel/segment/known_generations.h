/*
 * Where this process has found the generations of tags. A generation is a random number, so it leads to its entry
 * without a hash of the tag's key and without a look-up.
 *
 * The callers of an attachment take turns: in Ruby, each of them holds Ruby's lock.
 */
#ifndef TIERCEL_SEGMENT_KNOWN_GENERATIONS_H
#define TIERCEL_SEGMENT_KNOWN_GENERATIONS_H

#include "segment.h"

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

/* NULL: unknown. Prefetches the memory that the next function needs. */
const tseg_known_generation *tseg_find_generation(const tseg *segment, uint64_t generation);
/*
 * Whether the entry belongs to the key of this tag, and has had no change since it was recorded. If so, the tag still
 * has this generation, and the call counts a hit. The order of the loads is that of a read (docs/memory-model.md). Of
 * the key, only the bytes and their count are needed.
 */
bool tseg_generation_is_current(tseg *segment, const tseg_known_generation *known, const tseg_key *key,
                                uint64_t generation);
/* Records the live entry of a generation. An entry that can expire is not recorded. */
void tseg_record_generation(tseg *segment, const tseg_key *key, uint64_t generation, const tseg_entry *entry);

#endif
