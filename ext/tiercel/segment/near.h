/*
 * Layer "near": a segment as a near tier, in front of the last tier. The keys are divided into stripes; each has an
 * epoch, which rejects late fills, and the number of active writers.
 */
#ifndef TIERCEL_SEGMENT_NEAR_H
#define TIERCEL_SEGMENT_NEAR_H

#include "entries.h"

/*
 * A caller takes the epoch before it reads the last tier; an invalidation rejects older epochs.
 */
uint64_t tseg_near_epoch(const tseg *segment, const tseg_key *key);
tseg_result tseg_near_invalidate(tseg *segment, const tseg_key *key, double *expires_at);
tseg_result tseg_near_fill(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at, double now,
                           uint64_t stripe_epoch);

uint32_t tseg_near_stripe(const tseg *segment, const tseg_key *key);
/*
 * Returns whether the word from tseg_near_epoch shows an active writer. If so, no reader may fill a key of the stripe.
 */
bool tseg_near_is_changing(uint64_t word);
/* Raises the epoch of the stripe: a fill with an earlier epoch stores nothing. */
void tseg_near_raise(tseg *segment, uint32_t stripe);
/*
 * A writer calls tseg_near_begin, changes the last tier, deletes its keys in this segment, and calls tseg_near_end. If
 * it is the only writer in the stripe, it may fill its key before the end, with the word from tseg_near_begin as the
 * epoch.
 */
uint64_t tseg_near_begin(tseg *segment, uint32_t stripe);
bool tseg_near_is_alone(uint64_t begun);
/*
 * Returns false if the writer took so long that it counted as dead. Other processes may have filled its keys since
 * then, so the writer deletes them again.
 */
bool tseg_near_end(tseg *segment, uint32_t stripe, uint64_t begun);

/*
 * A begun change: the file, and the word of each stripe. The host keeps it as bytes between the two calls, so the
 * second call does not trust it.
 */
typedef struct {
    uint64_t stripe, word;
} tseg_begun_stripe;
typedef struct {
    uint64_t file_id, count;
    tseg_begun_stripe stripes[];
} tseg_begun;
static inline size_t tseg_begun_bytes(uint64_t count) { return sizeof(tseg_begun) + count * sizeof(tseg_begun_stripe); }
/*
 * Begins in these stripes, which may repeat; stripes == NULL: in all. *begun has room for tseg_begun_bytes. Returns
 * TSEG_RETIRED if the segment was retired by then: the writer has to begin in the new file too.
 */
tseg_result tseg_near_begin_set(tseg *segment, const uint32_t *stripes, uint64_t count, tseg_begun *begun);
/* Returns whether these bytes can be a begun change. */
bool tseg_is_begun(const tseg_begun *begun, size_t bytes);
/* tseg_near_end for all stripes of the change. Returns false too if the change was begun in another file. */
bool tseg_near_end_set(tseg *segment, const tseg_begun *begun);
/* Computes the epoch for the writer's own near fill, XORed with the id of its file. Returns false if there is none. */
bool tseg_near_own_epoch(const tseg_begun *begun, uint64_t *epoch);

#endif
