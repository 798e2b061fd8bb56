/*
 * A segment as a near tier, in front of the last tier: writers that are changing the last tier, and fills that come too
 * late. Takes no lock. "Near fill" in memory-model.md.
 *
 * The word of a stripe, from its highest bit: epoch (32 bits) | period of the last beginning (16) | writers of odd
 * periods (8) | writers of even periods (8). A period has 8.6 s. A writer counts during the period of its beginning and
 * the next one. So a writer that has died is forgotten after 8.6 to 17.2 s.
 */
#include "near.h"

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

uint64_t tseg_near_epoch(const tseg *segment, const tseg_key *key)
{
    return atomic_load_explicit(word_of(segment, key), memory_order_seq_cst);
}

bool tseg_near_is_changing(uint64_t word) { return (as_of(word, period_now()) & COUNTS_MASK) != 0; }

bool tseg_near_is_alone(uint64_t begun)
{
    return (begun & COUNT_MASK) + (begun >> COUNT_BITS & COUNT_MASK) == 1;
}

void tseg_near_raise(tseg *segment, uint32_t stripe)
{
    atomic_fetch_add_explicit(segment->stripes + stripe, UINT64_C(1) << EPOCH_AT, memory_order_seq_cst);
    tseg_fence(memory_order_seq_cst);
}

tseg_result tseg_near_invalidate(tseg *segment, const tseg_key *key, double *expires_at)
{
    tseg_near_raise(segment, tseg_near_stripe(segment, key));
    return tseg_delete(segment, key, expires_at);
}

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

tseg_result tseg_near_begin_set(tseg *segment, const uint32_t *stripes, uint64_t count, tseg_begun *begun)
{
    *begun = (tseg_begun){segment->file_id, stripes ? count : segment->geometry.stripes};
    for (uint64_t i = 0; i < begun->count; i++) {
        uint32_t stripe = stripes ? stripes[i] : (uint32_t)i;
        begun->stripes[i] = (tseg_begun_stripe){stripe, tseg_near_begin(segment, stripe)};
    }
    return tseg_is_retired(segment) ? TSEG_RETIRED : TSEG_OK;
}

bool tseg_is_begun(const tseg_begun *begun, size_t bytes)
{
    if (bytes < sizeof *begun || begun->count > TSEG_STRIPES) return false;
    return bytes == tseg_begun_bytes(begun->count);
}

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

bool tseg_near_own_epoch(const tseg_begun *begun, uint64_t *epoch)
{
    if (begun->count != 1 || !tseg_near_is_alone(begun->stripes[0].word)) return false;
    *epoch = begun->stripes[0].word ^ begun->file_id;
    return true;
}

tseg_result tseg_near_fill(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at, double now,
                           uint64_t stripe_epoch)
{
    tseg_change change = {.key = key, .value = value, .expires_at = expires_at, .may_take_empty_slot = true,
                          .published_odd = true, .watched = word_of(segment, key), .expected = stripe_epoch};
    tseg_section section;
    tseg_entry old;
    tseg_result result;
    bool found;

    if (tseg_too_large(segment, &change)) return tseg_refuse(segment);
    result = tseg_enter(&section, segment, key->shard, now);
    if (result != TSEG_OK) return result;
    found = tseg_find(segment, key, &old) == TSEG_OK;
    /* A live entry is newer or just as good. */
    if (found && tseg_is_live_in(&section, &old)) result = TSEG_PRESENT;
    else result = tseg_append(&section, &change, found ? &old : NULL);
    tseg_leave(&section);
    if (result == TSEG_OK) tseg_count_write(segment);
    return result;
}
