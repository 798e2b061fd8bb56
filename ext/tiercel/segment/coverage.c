/* Until when a segment has heard of every change in the tier behind it: "Coverage" in docs/memory-model.md. */
#include "coverage.h"
#include "near.h"

static bool is_to_come(uint64_t covered_ns) { return covered_ns > tseg_monotonic_ns() + TSEG_COARSE_NS; }

uint64_t tseg_covered_ns(const tseg *segment)
{
    uint64_t covered_ns = tseg_load_acquire(&segment->header->near_covered);
    return is_to_come(covered_ns) ? 0 : covered_ns;
}

bool tseg_cover(tseg *segment, uint64_t since_ns, uint64_t sent_ns, uint64_t server)
{
    tseg_word *at = &segment->header->near_covered;
    uint64_t covered_ns = tseg_load_acquire(at);

    if (tseg_load_acquire(&segment->header->near_server) != server) return false;
    while (covered_ns && !is_to_come(covered_ns) && since_ns <= covered_ns)
        if (sent_ns <= covered_ns || tseg_swap(at, &covered_ns, sent_ns)) return true;
    return false;
}

void tseg_find_gap(tseg *segment, uint64_t server)
{
    atomic_fetch_add_explicit(&segment->header->near_gaps, 1, memory_order_seq_cst);
    atomic_store_explicit(&segment->header->near_server, server, memory_order_seq_cst);
}

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

/*
 * A seat: process slot + 1 (10 bits) | its listener waits for the interpreter (1) | when its term ends, in tenths of a
 * second (21). Two processes that take the same seat for theirs only cost a connection.
 */
#define SEATS 2
#define SEAT_BITS 32
#define OWNER_AT 22
#define BUSY_AT 21
#define TENTHS ((UINT64_C(1) << BUSY_AT) - 1)
#define TERM UINT64_C(10)

/* Its own, else one whose term is over, else a busy one's if this process is not. -1: none. */
static int seat_for(uint64_t seats, uint64_t mine, uint64_t tenths)
{
    int found = -1;

    for (int i = 0; i < SEATS; i++) {
        uint64_t seat = seats >> i * SEAT_BITS & UINT32_MAX;
        bool is_free = ((seat - tenths) & TENTHS) > TERM || !(seat >> OWNER_AT);
        if (seat >> OWNER_AT == mine >> OWNER_AT) return i;
        if (is_free || (found < 0 && seat >> BUSY_AT & 1 && !(mine >> BUSY_AT & 1))) found = i;
    }
    return found;
}

bool tseg_take_seat(tseg *segment, bool is_busy)
{
    tseg_word *at = &segment->header->near_seats;
    uint64_t seats = tseg_load_acquire(at), tenths = tseg_monotonic_ns() / 100000000;
    uint64_t mine = (tseg_load(&segment->owner) & TSEG_LOCK_SLOT_MASK) << OWNER_AT | (uint64_t)is_busy << BUSY_AT;
    int seat;

    if (!(mine >> OWNER_AT)) return false;
    mine |= (tenths + TERM) & TENTHS;
    do {
        seat = seat_for(seats, mine, tenths);
        if (seat < 0) return false;
    } while (!tseg_swap(at, &seats, (seats & ~(UINT64_C(0xffffffff) << seat * SEAT_BITS)) | mine << seat * SEAT_BITS));
    return true;
}
