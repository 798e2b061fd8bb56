/* coverage.c: until when a segment in front of a farther tier has heard of every change there. */
#ifndef TIERCEL_SEGMENT_COVERAGE_H
#define TIERCEL_SEGMENT_COVERAGE_H

#include "coarse_clock.h"
#include "internal.h"

/* So much the coarse clock may be behind, and what is stored may be ahead of it. */
#define TSEG_COARSE_NS UINT64_C(10000000)

/* Of the monotonic clock. */
static inline uint64_t tseg_coarse_ns(void)
{
    struct timespec time = tseg_coarse_time();
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/*
 * Whether copies are good still: all that was changed until trust_ns ago has been put away. What comes after it sees
 * that. A time that is yet to come, which nobody stores, is not believed.
 */
static inline bool tseg_is_trusted(const tseg *segment, uint64_t trust_ns)
{
    uint64_t covered_ns = tseg_load_acquire(&segment->header->near_covered);
    return covered_ns && tseg_coarse_ns() + TSEG_COARSE_NS - covered_ns <= trust_ns;
}

/* 0: never. */
uint64_t tseg_covered_ns(const tseg *segment);
/*
 * A listener has put away all that was changed from since_ns until sent_ns. true: nothing before it is missing, and
 * the segment is covered until sent_ns. false: there is a gap before it. Then all copies are to be put away, late
 * fills too (tseg_begin_gap, a clear), and the segment is covered by tseg_end_gap. Whoever dies in between has
 * covered nothing. Before all that it is counted (tseg_find_gap): who takes an epoch that is of after the gap finds
 * that there was one.
 */
bool tseg_cover(tseg *segment, uint64_t since_ns, uint64_t sent_ns);
void tseg_find_gap(tseg *segment);
/* No fill whose epoch was taken before is made after it. */
void tseg_begin_gap(tseg *segment);
void tseg_end_gap(tseg *segment, uint64_t sent_ns);

#endif
