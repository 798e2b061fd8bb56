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
 * A listener of that server has put away all that was changed from since_ns until sent_ns. true: nothing before it is
 * missing, and the segment is covered until sent_ns. false: there is a gap before it, or another server. Then the gap
 * and the server are recorded (tseg_find_gap), all copies are put away, late fills too (tseg_begin_gap, a clear), and
 * the segment is covered by tseg_end_gap. A process that dies in between has covered nothing.
 */
bool tseg_cover(tseg *segment, uint64_t since_ns, uint64_t sent_ns, uint64_t server);
void tseg_find_gap(tseg *segment, uint64_t server);
/* No fill whose epoch was taken before is made after it. */
void tseg_begin_gap(tseg *segment);
void tseg_end_gap(tseg *segment, uint64_t sent_ns);
/* Takes or keeps one of the two seats of this machine's listeners, for a second. false: others have them. */
bool tseg_take_seat(tseg *segment, bool is_busy);

#endif
