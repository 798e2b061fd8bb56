/* Until when a segment has heard of every change in the tier behind it: "Coverage" in docs/memory-model.md. */
#include "coverage.h"
#include "near.h"

static bool is_to_come(uint64_t covered_ns) { return covered_ns > tseg_monotonic_ns() + TSEG_COARSE_NS; }

uint64_t tseg_covered_ns(const tseg *segment)
{
    uint64_t covered_ns = tseg_load_acquire(&segment->header->near_covered);
    return is_to_come(covered_ns) ? 0 : covered_ns;
}

bool tseg_cover(tseg *segment, uint64_t since_ns, uint64_t sent_ns)
{
    tseg_word *at = &segment->header->near_covered;
    uint64_t covered_ns = tseg_load_acquire(at);

    while (covered_ns && !is_to_come(covered_ns) && since_ns <= covered_ns)
        if (sent_ns <= covered_ns || tseg_swap(at, &covered_ns, sent_ns)) return true;
    return false;
}

void tseg_find_gap(tseg *segment) { atomic_fetch_add_explicit(&segment->header->near_gaps, 1, memory_order_seq_cst); }

void tseg_begin_gap(tseg *segment)
{
    for (uint32_t i = 0; i < segment->geometry.stripes; i++) tseg_near_raise(segment, i);
}

void tseg_end_gap(tseg *segment, uint64_t sent_ns)
{
    tseg_word *at = &segment->header->near_covered;
    uint64_t covered_ns = tseg_load_acquire(at);

    while ((covered_ns < sent_ns || is_to_come(covered_ns)) && !tseg_swap(at, &covered_ns, sent_ns)) {}
}
