/* Coverage: the time until which a segment has received every change of the last tier. */
#include "coverage.h"

static bool is_in_future(uint64_t covered_ns) { return covered_ns > tseg_monotonic_ns() + TSEG_COARSE_NS; }

uint64_t tseg_covered_ns(const tseg *segment)
{
    uint64_t covered_ns = tseg_load_acquire(&segment->header->near_covered);
    return is_in_future(covered_ns) ? 0 : covered_ns;
}

bool tseg_handle_trusts(const tseg_handle *handle, const tseg *segment)
{
    return tseg_is_trusted(segment, handle->near_trust_ns) ||
           (handle->near_unless_covered && !tseg_covered_ns(segment));
}

bool tseg_cover(tseg *segment, uint64_t since_ns, uint64_t sent_ns, uint64_t server)
{
    tseg_word *at = &segment->header->near_covered;
    uint64_t covered_ns = tseg_load_acquire(at);

    if (tseg_load_acquire(&segment->header->near_server) != server) return false;
    while (covered_ns && !is_in_future(covered_ns) && since_ns <= covered_ns)
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

    while ((covered_ns < sent_ns || is_in_future(covered_ns)) && !tseg_swap(at, &covered_ns, sent_ns)) {}
}

/* Deletes all copies. TSEG_RETIRED: the host has moved to another file, so the copies were in the old one. */
static tseg_result delete_copies(tseg_host *host, tseg **segment)
{
    uint64_t file_id;

    *segment = host->current(host);
    if (!*segment) return TSEG_INTERRUPTED;
    file_id = (*segment)->file_id;
    tseg_begin_gap(*segment);
    if (!tseg_clear(host)) return TSEG_INTERRUPTED;
    *segment = host->current(host);
    if (!*segment) return TSEG_INTERRUPTED;
    return (*segment)->file_id == file_id ? TSEG_OK : TSEG_RETIRED;
}

bool tseg_near_clear(tseg_host *host)
{
    tseg_result result;
    tseg *segment;

    do result = delete_copies(host, &segment);
    while (result == TSEG_RETIRED);
    return result == TSEG_OK;
}

tseg_result tseg_cover_or_clear(tseg_host *host, uint64_t since_ns, uint64_t sent_ns, uint64_t server,
                                uint64_t attached_ns)
{
    uint64_t now_ns = tseg_monotonic_ns();
    tseg *segment = host->current(host);
    tseg_result result;

    if (!segment) return TSEG_INTERRUPTED;
    if (sent_ns > now_ns) sent_ns = now_ns;
    if (since_ns < attached_ns) since_ns = attached_ns;
    if (sent_ns < since_ns) return TSEG_ABSENT;
    if (tseg_cover(segment, since_ns, sent_ns, server)) return TSEG_OK;
    tseg_find_gap(segment, server);
    result = delete_copies(host, &segment);
    if (result != TSEG_OK) return result == TSEG_RETIRED ? TSEG_ABSENT : result;
    tseg_end_gap(segment, sent_ns);
    return TSEG_CHANGED;
}

bool tseg_uncover(tseg_host *host, uint64_t covered_ns)
{
    tseg *segment;
    tseg_result result = delete_copies(host, &segment);

    if (result == TSEG_OK) tseg_swap(&segment->header->near_covered, &covered_ns, 0);
    return result != TSEG_INTERRUPTED;
}

/*
 * A seat, from its highest bit: process slot + 1 (10 bits) | the listener waits for the interpreter (1) | the end of
 * its term in tenths of a second (21). If two processes take the same seat, the only cost is one more connection.
 */
enum {
    SEATS = 2,
    SEAT_BITS = 32,
    SEAT_OWNER_SHIFT = 22,
    SEAT_BUSY_SHIFT = 21,
    SEAT_TERM_TENTHS = 10
};
#define SEAT_TENTHS_MASK ((UINT64_C(1) << SEAT_BUSY_SHIFT) - 1)
#define NS_PER_TENTH 100000000u

static uint64_t owner_of(uint64_t seat) { return seat >> SEAT_OWNER_SHIFT; }
static bool is_busy_seat(uint64_t seat) { return seat >> SEAT_BUSY_SHIFT & 1; }

/*
 * Chooses a seat: the process's own seat; otherwise a seat whose term is over; otherwise a busy process's seat, if this
 * process is not busy. Returns -1 if no seat is free.
 */
static int seat_for(uint64_t seats, uint64_t mine, uint64_t tenths)
{
    int found = -1;

    for (int i = 0; i < SEATS; i++) {
        uint64_t seat = seats >> i * SEAT_BITS & UINT32_MAX;
        bool is_free = ((seat - tenths) & SEAT_TENTHS_MASK) > SEAT_TERM_TENTHS || !owner_of(seat);
        if (owner_of(seat) == owner_of(mine)) return i;
        if (is_free || (found < 0 && is_busy_seat(seat) && !is_busy_seat(mine))) found = i;
    }
    return found;
}

bool tseg_take_seat(tseg *segment, bool is_busy)
{
    tseg_word *at = &segment->header->near_seats;
    uint64_t seats = tseg_load_acquire(at), tenths = tseg_monotonic_ns() / NS_PER_TENTH, others;
    uint64_t mine = (tseg_load(&segment->owner) & TSEG_LOCK_SLOT_MASK) << SEAT_OWNER_SHIFT |
                    (uint64_t)is_busy << SEAT_BUSY_SHIFT;
    int seat;

    if (!owner_of(mine)) return false;
    mine |= (tenths + SEAT_TERM_TENTHS) & SEAT_TENTHS_MASK;
    do {
        seat = seat_for(seats, mine, tenths);
        if (seat < 0) return false;
        others = seats & ~((uint64_t)UINT32_MAX << seat * SEAT_BITS);
    } while (!tseg_swap(at, &seats, others | mine << seat * SEAT_BITS));
    return true;
}
