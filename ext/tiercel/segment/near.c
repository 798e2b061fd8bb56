/*
 * A segment as a near tier, in front of the last tier: writers that are changing the last tier, and fills that come too
 * late. Acquires no lock. "Near fill" in memory-model.md.
 *
 * The word of a stripe, from its highest bit: epoch (32 bits) | period of the last beginning (16) | writers of odd
 * periods (8) | writers of even periods (8). A period has 8.6 s. A writer counts during the period of its beginning and
 * the next one. So a writer that has died is forgotten after 8.6 to 17.2 s.
 */
#include "calls.h"

enum { PERIOD_SHIFT = 33, COUNT_BITS = 8, COUNT_MASK = 0xff, COUNTS_MASK = 0xffff, PERIOD_AT = 16, EPOCH_AT = 32 };

static uint16_t period_now(void) { return (uint16_t)(tseg_monotonic_ns() >> PERIOD_SHIFT); }

static uint16_t period_of(uint64_t word) { return (uint16_t)(word >> PERIOD_AT); }

static unsigned counter_at(uint16_t period) { return (period & 1) * COUNT_BITS; }

/* The word without the writers whose two periods are over. Another processor's clock may be one period ahead. */
static uint64_t as_of(uint64_t word, uint16_t now)
{
    uint16_t passed = (uint16_t)(now - period_of(word));

    if (passed == 0 || passed == UINT16_MAX) return word;
    word = (word & ~(UINT64_C(0xffff) << PERIOD_AT)) | (uint64_t)now << PERIOD_AT;
    return word & ~(passed == 1 ? (uint64_t)COUNT_MASK << counter_at(now) : (uint64_t)COUNTS_MASK);
}

uint32_t tseg_near_stripe(const tseg *segment, const tseg_key *key)
{
    return (uint32_t)((key->hash >> 13) % segment->geometry.stripes);
}

static const tseg_word *word_of(const tseg *segment, const tseg_key *key)
{
    return segment->stripes + tseg_near_stripe(segment, key);
}

/*
 * A caller loads the epoch before it reads the last tier. A fill with an epoch from before an invalidation is rejected.
 */
uint64_t tseg_near_epoch(const tseg *segment, const tseg_key *key)
{
    return atomic_load_explicit(word_of(segment, key), memory_order_seq_cst);
}

/*
 * Returns whether the word from tseg_near_epoch shows an active writer. While a writer is active, no reader may fill a
 * key of the stripe.
 */
bool tseg_near_is_changing(uint64_t word) { return (as_of(word, period_now()) & COUNTS_MASK) != 0; }

bool tseg_near_is_alone(uint64_t begun)
{
    return (begun & COUNT_MASK) + (begun >> COUNT_BITS & COUNT_MASK) == 1;
}

/* A fill with an earlier epoch stores nothing. */
static void raise_stripe(tseg *segment, uint32_t stripe)
{
    atomic_fetch_add_explicit(segment->stripes + stripe, UINT64_C(1) << EPOCH_AT, memory_order_seq_cst);
    tseg_fence(memory_order_seq_cst);
}

tseg_result tseg_near_invalidate(tseg *segment, const tseg_key *key, double *expires_at)
{
    raise_stripe(segment, tseg_near_stripe(segment, key));
    return tseg_delete(segment, key, expires_at);
}

/*
 * A writer calls tseg_near_begin, changes the last tier, deletes its keys in this segment, and calls tseg_near_end. The
 * only writer of a stripe may fill its key before the end, with the word from tseg_near_begin as the epoch.
 */
uint64_t tseg_near_begin(tseg *segment, uint32_t stripe)
{
    tseg_word *at = segment->stripes + stripe;
    uint64_t word = tseg_load(at), begun;

    do {
        unsigned counter;
        begun = as_of(word, period_now());
        counter = counter_at(period_of(begun));
        /* A full counter stays full, as if a writer had died. */
        if ((begun >> counter & COUNT_MASK) < COUNT_MASK) begun += UINT64_C(1) << counter;
        begun += UINT64_C(1) << EPOCH_AT;
    } while (!tseg_swap(at, &word, begun));
    tseg_fence(memory_order_seq_cst);
    return begun;
}

/*
 * Returns false if the writer took so long that it counted as dead. Other processes may have filled its keys since
 * then, so the writer deletes them again.
 */
bool tseg_near_end(tseg *segment, uint32_t stripe, uint64_t begun)
{
    tseg_word *at = segment->stripes + stripe;
    uint64_t word = tseg_load(at), ended;
    unsigned counter = counter_at(period_of(begun));
    bool counted;

    do {
        uint64_t count;
        ended = as_of(word, period_now());
        count = ended >> counter & COUNT_MASK;
        counted = (uint16_t)(period_of(ended) - period_of(begun)) <= 1 && count > 0;
        if (!counted) ended += UINT64_C(1) << EPOCH_AT;
        else if (count < COUNT_MASK) ended -= UINT64_C(1) << counter;
    } while (!tseg_swap(at, &word, ended));
    tseg_fence(memory_order_seq_cst);
    return counted;
}

/*
 * Begins a change in these stripes, which may repeat, or in all stripes (NULL). *begun has room for tseg_begun_bytes.
 * Returns TSEG_RETIRED if the segment was retired by then: the writer has to begin in the new file too.
 */
tseg_result tseg_near_begin_set(tseg *segment, const uint32_t *stripes, uint64_t count, tseg_begun *begun)
{
    *begun = (tseg_begun){segment->file_id, stripes ? count : segment->geometry.stripes};
    for (uint64_t i = 0; i < begun->count; i++) {
        uint32_t stripe = stripes ? stripes[i] : (uint32_t)i;
        begun->stripes[i] = (tseg_begun_stripe){stripe, tseg_near_begin(segment, stripe)};
    }
    return tseg_is_retired(segment) ? TSEG_RETIRED : TSEG_OK;
}

/* Returns whether these bytes can be a begun change. */
bool tseg_is_begun(const tseg_begun *begun, size_t bytes)
{
    if (bytes < sizeof *begun || begun->count > TSEG_STRIPES) return false;
    return bytes == tseg_begun_bytes(begun->count);
}

/* Ends a change in each of its stripes (tseg_near_end). Also returns false if the change began in another file. */
bool tseg_near_end_set(tseg *segment, const tseg_begun *begun)
{
    bool in_time = true;

    if (segment->file_id != begun->file_id) return false;
    for (uint64_t i = 0; i < begun->count; i++) {
        tseg_begun_stripe one = begun->stripes[i];
        if (one.stripe < segment->geometry.stripes && !tseg_near_end(segment, (uint32_t)one.stripe, one.word))
            in_time = false;
    }
    return in_time;
}

/* Computes the epoch for the writer's own near fill, XORed with the id of its file. Returns false if there is none. */
bool tseg_near_own_epoch(const tseg_begun *begun, uint64_t *epoch)
{
    if (begun->count != 1 || !tseg_near_is_alone(begun->stripes[0].word)) return false;
    *epoch = begun->stripes[0].word ^ begun->file_id;
    return true;
}

tseg_result tseg_near_fill(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at, double now,
                           uint64_t stripe_epoch)
{
    tseg_change change = {.key = key, .value = value, .expires_at = expires_at, .may_use_empty_slot = true,
                          .published_odd = true, .watched = word_of(segment, key), .expected = stripe_epoch};
    tseg_section section;
    tseg_entry old;
    tseg_result result;
    bool found;

    if (tseg_too_large(segment, &change)) return tseg_refuse(segment);
    result = tseg_enter(&section, segment, key->shard, now);
    if (result != TSEG_OK) return result;
    found = tseg_find(segment, key, &old) == TSEG_OK;
    /* A live entry is at least as new as this value. */
    if (found && tseg_is_live_in(&section, &old)) result = TSEG_PRESENT;
    else result = tseg_append(&section, &change, found ? &old : NULL);
    tseg_leave(&section);
    if (result == TSEG_OK) tseg_count_write(segment);
    return result;
}

/*
 * Coverage: the time until which a segment has received every change of the last tier. "Coverage" in memory-model.md.
 */
/* The coarse clock may be this far behind the precise one. */
#define COARSE_NS UINT64_C(10000000)

/* Nanoseconds of the monotonic clock. */
static uint64_t coarse_ns(void)
{
    struct timespec time = tseg_coarse_time();
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/*
 * Returns whether the copies are still valid: the copies of all keys that were changed up to trust_ns ago have been
 * deleted. A time in the future, which damage may leave, counts as no coverage.
 */
static bool is_trusted(const tseg *segment, uint64_t trust_ns)
{
    uint64_t covered_ns = tseg_load_acquire(&segment->header->near_covered);
    return covered_ns && coarse_ns() + COARSE_NS - covered_ns <= trust_ns;
}

static bool is_in_future(uint64_t covered_ns) { return covered_ns > tseg_monotonic_ns() + COARSE_NS; }

/* The end of the covered time; 0 if the copies were never covered. */
uint64_t tseg_covered_ns(const tseg *segment)
{
    uint64_t covered_ns = tseg_load_acquire(&segment->header->near_covered);
    return covered_ns && is_in_future(covered_ns) ? 0 : covered_ns; /* 0: no need to read the clock */
}

bool tseg_handle_trusts(const tseg_handle *handle, const tseg *segment)
{
    return is_trusted(segment, handle->near_trust_ns) ||
           (handle->near_unless_covered && !tseg_covered_ns(segment));
}

/*
 * Returns false if there is a gap before since_ns, or another server covered the copies. The caller then records the
 * gap, deletes all copies, rejects late fills, and covers the segment again. A caller that dies first covers nothing.
 */
static bool cover(tseg *segment, uint64_t since_ns, uint64_t sent_ns, uint64_t server)
{
    tseg_word *at = &segment->header->near_covered;
    uint64_t covered_ns = tseg_load_acquire(at);

    if (tseg_load_acquire(&segment->header->near_server) != server) return false;
    while (covered_ns && !is_in_future(covered_ns) && since_ns <= covered_ns)
        if (sent_ns <= covered_ns || tseg_swap(at, &covered_ns, sent_ns)) return true;
    return false;
}

static void end_gap(tseg *segment, uint64_t sent_ns)
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
    for (uint32_t i = 0; i < (*segment)->geometry.stripes; i++) raise_stripe(*segment, i);
    if (!tseg_clear(host)) return TSEG_INTERRUPTED;
    *segment = host->current(host);
    if (!*segment) return TSEG_INTERRUPTED;
    return (*segment)->file_id == file_id ? TSEG_OK : TSEG_RETIRED;
}

/* Deletes all copies; a fill whose epoch is older stores nothing. Returns false if the host was interrupted. */
bool tseg_near_clear(tseg_host *host)
{
    tseg_result result;
    tseg *segment;

    do result = delete_copies(host, &segment);
    while (result == TSEG_RETIRED);
    return result == TSEG_OK;
}

/*
 * A listener of `server` has deleted the copies of all keys that changed from since_ns until sent_ns. All times are
 * nanoseconds of the monotonic clock. TSEG_OK: no change is missing, and the segment is covered until sent_ns.
 * TSEG_CHANGED: the time before since_ns was not covered, or was covered by another server's listener; all copies were
 * deleted. TSEG_ABSENT: the report says nothing about this segment, because the segment was attached later
 * (attached_ns) or moved to another file. TSEG_INTERRUPTED.
 */
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
    if (cover(segment, since_ns, sent_ns, server)) return TSEG_OK;
    atomic_fetch_add_explicit(&segment->header->near_gaps, 1, memory_order_seq_cst);
    atomic_store_explicit(&segment->header->near_server, server, memory_order_seq_cst);
    result = delete_copies(host, &segment);
    if (result != TSEG_OK) return result == TSEG_RETIRED ? TSEG_ABSENT : result;
    end_gap(segment, sent_ns);
    return TSEG_CHANGED;
}

/*
 * The process that covered the copies until covered_ns has stopped. Deletes all copies and marks the segment as not
 * covered, unless another process has taken over. Returns false if the host was interrupted.
 */
bool tseg_uncover(tseg_host *host, uint64_t covered_ns)
{
    tseg *segment;
    tseg_result result = delete_copies(host, &segment);

    if (result == TSEG_OK) tseg_swap(&segment->header->near_covered, &covered_ns, 0);
    return result != TSEG_INTERRUPTED;
}

/*
 * A seat, from its highest bit: process slot + 1 (10 bits) | the listener waits for the interpreter (1) | the end of
 * its term in tenths of a second (21). If two processes acquire the same seat, the only cost is one more connection.
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

/*
 * Acquires or keeps one of the two seats of this machine's listeners for a second. Returns false if other processes
 * have them.
 */
bool tseg_acquire_seat(tseg *segment, bool is_busy)
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
