/*
 * Layer "near": a segment as a near tier, in front of the last tier. The keys are divided into stripes; each has an
 * epoch, which rejects late fills, and the number of active writers.
 */
#ifndef TIERCEL_SEGMENT_NEAR_H
#define TIERCEL_SEGMENT_NEAR_H

#include "entries.h"
#include "handle.h"

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

#endif
