/*
 * Layer "coverage": the time until which a segment has received every change of the last tier. "Coverage" in
 * memory-model.md.
 */
#ifndef TIERCEL_SEGMENT_COVERAGE_H
#define TIERCEL_SEGMENT_COVERAGE_H

#include "handle.h"
#include "near.h"

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
 * The steps of tseg_cover_or_clear. tseg_cover returns false if there is a gap before since_ns, or another server. The
 * caller then records the gap and the server (tseg_find_gap), deletes all copies and rejects late fills
 * (tseg_begin_gap, and a clear), and covers the segment again (tseg_end_gap). A process that dies in between has
 * covered nothing.
 */
bool tseg_cover(tseg *segment, uint64_t since_ns, uint64_t sent_ns, uint64_t server);
void tseg_find_gap(tseg *segment, uint64_t server);
void tseg_begin_gap(tseg *segment);
void tseg_end_gap(tseg *segment, uint64_t sent_ns);
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
