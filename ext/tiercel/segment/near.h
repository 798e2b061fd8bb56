/*
 * Layer "near": a segment as a near tier, in front of the last tier. The keys are divided into stripes; each has an
 * epoch, which rejects late fills, and the number of active writers.
 */
#ifndef TIERCEL_SEGMENT_NEAR_H
#define TIERCEL_SEGMENT_NEAR_H

#include "entries.h"
#include "handle.h"

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


/*
 * Coverage: the time until which a segment has received every change of the last tier. "Coverage" in
 * memory-model.md.
 */
/* The coarse clock may be this far behind the precise one. */
#define TSEG_COARSE_NS UINT64_C(10000000)

/* Nanoseconds of the monotonic clock. */
static inline uint64_t tseg_coarse_ns(void)
{
    struct timespec time = tseg_coarse_time();
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/*
 * Returns whether the copies are still valid: the copies of all keys that were changed up to trust_ns ago have been
 * deleted. A time in the future, which damage may leave, counts as no coverage.
 */
static inline bool tseg_is_trusted(const tseg *segment, uint64_t trust_ns)
{
    uint64_t covered_ns = tseg_load_acquire(&segment->header->near_covered);
    return covered_ns && tseg_coarse_ns() + TSEG_COARSE_NS - covered_ns <= trust_ns;
}
/* Like tseg_is_trusted, with the near_trust of this handle. */
bool tseg_handle_trusts(const tseg_handle *handle, const tseg *segment);

/* The end of the covered time; 0 if the copies were never covered. */
uint64_t tseg_covered_ns(const tseg *segment);
/* Deletes all copies; a fill whose epoch is older stores nothing. Returns false if the host was interrupted. */
bool tseg_near_clear(tseg_host *host);
/*
 * A listener of `server` has deleted the copies of all keys that changed from since_ns until sent_ns. All times are
 * nanoseconds of the monotonic clock. TSEG_OK: no change is missing, and the segment is covered until sent_ns.
 * TSEG_CHANGED: the time before since_ns was not covered, or was covered by another server's listener; all copies were
 * deleted. TSEG_ABSENT: the report says nothing about this segment, because the segment was attached later
 * (attached_ns) or moved to another file. TSEG_INTERRUPTED.
 */
tseg_result tseg_cover_or_clear(tseg_host *host, uint64_t since_ns, uint64_t sent_ns, uint64_t server,
                                uint64_t attached_ns);
/*
 * The process that covered the copies until covered_ns has stopped. Deletes all copies and marks the segment as not
 * covered, unless another process has taken over. Returns false if the host was interrupted.
 */
bool tseg_uncover(tseg_host *host, uint64_t covered_ns);
/*
 * Takes or keeps one of the two seats of this machine's listeners for a second. Returns false if other processes have
 * them.
 */
bool tseg_take_seat(tseg *segment, bool is_busy);

#endif
