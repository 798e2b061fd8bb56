/* Writes: changes of entries, each under the lock of one shard. */
#include <math.h>

#include "change.h"

/*
 * A larger value is not overwritten in place but appended, so that readers find the old value during the write. A
 * writer in place may lose the processor in the middle, and the key misses until it continues: with 16 KB that happened
 * to 0.1 % of the reads of a key that was written 340 times a second.
 */
#define TSEG_IN_PLACE_BYTES (UINT64_C(4) << 10)
/* An overwrite in place may leave half of the allocation unused, or this many units. */
#define TSEG_SPARE_UNITS 16u

bool tseg_too_large(const tseg *segment, const tseg_change *change)
{
    return tseg_value_bytes(change->value) > TSEG_MAX_VALUE_BYTES ||
           tseg_needed_units(change) > segment->geometry.log_units[TSEG_MAIN] / 4;
}

static void write_epoch(tseg_word *at, uint32_t epoch)
{
    tseg_store(at + TSEG_ENTRY_EPOCH, tseg_with_low_half(tseg_load(at + TSEG_ENTRY_EPOCH), epoch));
}

static bool fits_in_place(const tseg_change *change, const tseg_entry *old)
{
    uint64_t needed = tseg_needed_units(change);

    return needed <= old->units && tseg_value_bytes(change->value) <= TSEG_IN_PLACE_BYTES &&
           (needed * 2 >= old->units || old->units - needed <= TSEG_SPARE_UNITS) &&
           old->sequence < TSEG_LAST_SEQUENCE && !change->published_odd;
}

/* Makes the sequence odd. If this process dies before the end, a takeover finds the entry through `changing`. */
static uint64_t begin_in_place(tseg_section *section, const tseg_entry *old)
{
    uint64_t sequence = (old->sequence | 1) + (uint64_t)(old->sequence & 1) * 2;

    tseg_store(&section->view.control->changing, old->word);
    tseg_store(old->entry + TSEG_ENTRY_LENGTHS, tseg_with_low_half(old->lengths, sequence));
    tseg_fence(memory_order_release);
    TSEG_STOP_HERE(TSEG_STOP_SEQUENCE_ODD);
    return sequence + 1;
}

static void end_in_place(tseg_section *section, const tseg_entry *old, uint64_t lengths)
{
    write_epoch(old->entry, section->epoch);
    tseg_store_release(old->entry + TSEG_ENTRY_LENGTHS, lengths);
    tseg_end_change(section);
}

static void count_hit_in_slot(const tseg_entry *entry)
{
    uint64_t word = tseg_load(entry->slot);
    if (tseg_same_entry(word, entry->word) && tseg_hits(word) < TSEG_HITS_MASK) tseg_swap(entry->slot, &word, word + 1);
}

static void write_in_place(tseg_section *section, const tseg_change *change, const tseg_entry *old)
{
    uint64_t sequence = begin_in_place(section, old);

    tseg_write_value((tseg_word *)old->value, change->value);
    tseg_store(old->entry + TSEG_ENTRY_EXPIRES_AT, tseg_bits(change->expires_at));
    end_in_place(section, old, tseg_lengths_word(sequence, change->value));
    if (change->counts_as_hit) count_hit_in_slot(old);
    tseg_bump(&section->segment->self->counters[TSEG_COUNT_IN_PLACE]);
}

tseg_result tseg_change_entry(tseg_section *section, const tseg_change *change, const tseg_entry *old)
{
    tseg_result result = TSEG_OK;

    if (!old || !fits_in_place(change, old)) result = tseg_append(section, change, old);
    else write_in_place(section, change, old);
    if (TSEG_UNLIKELY(tseg_has_leases(section->segment, change->key)) && !change->keeps_lease &&
        result != TSEG_WOULD_WAIT)
        tseg_lease_end_written(section, change->key);
    return result;
}

void tseg_count_write(tseg *segment) { tseg_bump(&segment->self->counters[TSEG_COUNT_WRITES]); }

tseg_result tseg_refuse(tseg *segment)
{
    tseg_bump(&segment->self->counters[TSEG_COUNT_REFUSED]);
    return TSEG_TOO_LARGE;
}

tseg_result tseg_set(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at, double now)
{
    tseg_change change = {.key = key, .value = value, .expires_at = expires_at, .may_take_empty_slot = true,
                          .counts_as_hit = true};
    tseg_section section;
    tseg_entry old;
    tseg_result result;

    if (tseg_too_large(segment, &change)) {
        double expires_at_before;
        tseg_delete(segment, key, &expires_at_before);
        return tseg_refuse(segment);
    }
    tseg_map_ahead(segment, &change);
    result = tseg_enter(&section, segment, key->shard, now);
    if (result != TSEG_OK) return result;
    result = tseg_change_entry(&section, &change, tseg_find(segment, key, &old) == TSEG_OK ? &old : NULL);
    tseg_leave(&section);
    tseg_count_write(segment);
    return result == TSEG_ABSENT ? TSEG_OK : result; /* a damaged slot: the entry was stored, and lost */
}

tseg_result tseg_add(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at, double now)
{
    tseg_change change = {.key = key, .value = value, .expires_at = expires_at, .may_take_empty_slot = true};
    tseg_section section;
    tseg_entry old;
    tseg_result result;
    bool found;

    if (tseg_too_large(segment, &change)) return tseg_refuse(segment);
    result = tseg_enter(&section, segment, key->shard, now);
    if (result != TSEG_OK) return result;
    found = tseg_find(segment, key, &old) == TSEG_OK;
    result = found && tseg_is_live_in(&section, &old) ? TSEG_PRESENT
                                                       : tseg_change_entry(&section, &change, found ? &old : NULL);
    tseg_leave(&section);
    if (result == TSEG_OK) tseg_count_write(segment);
    return result;
}

tseg_result tseg_compare_and_set(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at,
                                 double now, const tseg_token *token)
{
    tseg_change change = {.key = key, .value = value, .expires_at = expires_at};
    tseg_section section;
    tseg_entry old;
    tseg_result result;

    if (token->file_id != segment->file_id) return TSEG_CHANGED;
    result = tseg_enter(&section, segment, key->shard, now);
    if (result != TSEG_OK) return result;
    if (tseg_find(segment, key, &old) != TSEG_OK || !tseg_is_live_in(&section, &old)) {
        result = TSEG_ABSENT;
    } else if (old.origin != token->origin || old.sequence != token->sequence) {
        result = TSEG_CHANGED;
    } else if (tseg_too_large(segment, &change)) {
        tseg_begin_delete(segment, key);
        tseg_drop_entry(section.view.control, old.slot, old.word, old.units);
        result = tseg_refuse(segment);
    } else {
        result = tseg_change_entry(&section, &change, &old);
    }
    tseg_leave(&section);
    if (result == TSEG_OK) tseg_count_write(segment);
    return result;
}

tseg_result tseg_touch(tseg *segment, const tseg_key *key, double expires_at, double now)
{
    tseg_section section;
    tseg_entry old;
    tseg_result result = tseg_enter(&section, segment, key->shard, now);

    if (result != TSEG_OK) return result;
    if (tseg_find(segment, key, &old) != TSEG_OK || !tseg_is_live_in(&section, &old)) {
        result = TSEG_ABSENT;
    } else if (old.sequence >= TSEG_LAST_SEQUENCE) { /* after four thousand million changes the entry is deleted */
        tseg_drop_entry(section.view.control, old.slot, old.word, old.units);
        result = TSEG_ABSENT;
    } else {
        uint64_t sequence = begin_in_place(&section, &old);
        tseg_store(old.entry + TSEG_ENTRY_EXPIRES_AT, tseg_bits(expires_at));
        end_in_place(&section, &old, tseg_with_low_half(old.lengths, sequence));
        count_hit_in_slot(&old);
        if (!tseg_load_acquire(old.slot)) result = TSEG_ABSENT;
    }
    tseg_leave(&section);
    return result;
}

tseg_result tseg_near_fill(tseg *segment, const tseg_key *key, const tseg_value *value, double expires_at, double now,
                           uint64_t stripe_epoch)
{
    tseg_change change = {.key = key, .value = value, .expires_at = expires_at, .may_take_empty_slot = true,
                          .published_odd = true, .watched = tseg_near_word(segment, key), .expected = stripe_epoch};
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
