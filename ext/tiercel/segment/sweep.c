/* Deletes and clears, which take no lock. */
#include <math.h>

#include "leases.h"
#include "slot_entry.h"
#include "sweep.h"

tseg_result tseg_delete(tseg *segment, const tseg_key *key, double *expires_at)
{
    const tseg_view view = tseg_view_of(segment, key->shard);
    tseg_entry entry;

    *expires_at = -INFINITY;
    tseg_begin_delete(segment, key);
    tseg_bump(&segment->self->counters[TSEG_COUNT_DELETES]);
    for (int which = 0; which < 2; which++) {
        tseg_word *slots = view.index + key->bucket[which];
        if (which && key->bucket[1] == key->bucket[0]) break;
        for (unsigned i = 0; i < TSEG_BUCKET_SLOTS; i++) {
            uint64_t word = tseg_load_acquire(slots + i);
            while (((word ^ key->fingerprint) & TSEG_FINGERPRINT_MASK) == 0) {
                tseg_verdict verdict = tseg_compare(segment, &view, word, key, &entry);
                if (verdict == TSEG_OTHER_KEY) break;
                TSEG_STOP_HERE(TSEG_STOP_BEFORE_SWAP);
                /* An entry that cannot be verified is deleted too: a cache may lose an entry, but never a delete. */
                if (!tseg_swap(slots + i, &word, 0)) continue;
                tseg_count_live(view.control, -1, verdict == TSEG_SAME_KEY ? -(int64_t)entry.units : 0);
                if (verdict == TSEG_NOT_VERIFIABLE || (entry.sequence & 1)) *expires_at = INFINITY;
                else if (entry.epoch == tseg_epoch(segment) && entry.expires_at > *expires_at) *expires_at = entry.expires_at;
                break;
            }
        }
    }
    return *expires_at > -INFINITY ? TSEG_OK : TSEG_ABSENT;
}

tseg_result tseg_delete_once(tseg *segment, const tseg_key *key, tseg_delete_function *delete, double *latest_end)
{
    double expires_at;

    if (delete(segment, key, &expires_at) == TSEG_OK && expires_at > *latest_end) *latest_end = expires_at;
    return tseg_is_retired(segment) ? TSEG_RETIRED : TSEG_OK;
}

bool tseg_begins_with(const tseg_slot_entry *entry, const uint8_t *prefix, uint32_t count)
{
    const tseg_word *stored = entry->at + TSEG_ENTRY_WORDS;
    uint8_t bytes[8];

    if (entry->key_bytes < count) return false;
    for (; count; stored++, prefix += 8) {
        uint32_t part = count < 8 ? count : 8;
        uint64_t word = tseg_load(stored);
        memcpy(bytes, &word, 8);
        if (memcmp(bytes, prefix, part) != 0) return false;
        count -= part;
    }
    return true;
}

tseg_result tseg_read_key_slot(tseg *segment, uint32_t shard, tseg_word *slot, tseg_slot_entry *entry, uint64_t *word)
{
    const tseg_view view = tseg_view_of(segment, shard);

    while ((*word = tseg_load_acquire(slot)) != 0) {
        uint64_t seen = *word;
        bool written;
        if (tseg_read_slot(segment, &view, seen, entry) && tseg_is_in_log(&view, seen)) return TSEG_OK;
        written = tseg_is_being_written(segment, shard);
        if (!tseg_same_entry(tseg_load_acquire(slot), seen)) continue;
        if (written) return TSEG_WOULD_WAIT;
        if (!tseg_swap(slot, &seen, 0)) continue;
        tseg_count_live(view.control, -1, 0);
        break;
    }
    return TSEG_ABSENT;
}

void tseg_clear_at_once(tseg *segment)
{
    uint32_t epoch = atomic_fetch_add_explicit(&segment->header->epoch, 1, memory_order_seq_cst) + 1;

    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++) {
        TSEG_STOP_HERE(TSEG_STOP_REPAIR);
        tseg_lease_end_all(segment, shard, epoch);
    }
}

tseg_result tseg_clear_prefix(tseg *segment, uint32_t shard, const void *prefix, uint32_t count, uint64_t *cleared)
{
    const tseg_view view = tseg_view_of(segment, shard);

    /* A lease does not contain its key, so all leases of the shard end. */
    tseg_lease_end_all(segment, shard, tseg_epoch(segment) + 1);
    for (uint32_t i = 0; i < segment->index_slots; i++) {
        tseg_word *slot = view.index + i;
        tseg_result result;
        tseg_slot_entry entry;
        uint64_t word;
        while ((result = tseg_read_key_slot(segment, shard, slot, &entry, &word)) == TSEG_OK) {
            bool matches = tseg_begins_with(&entry, prefix, count);
            if (!tseg_is_in_log(&view, word)) continue;
            if (!matches) break;
            TSEG_STOP_HERE(TSEG_STOP_BEFORE_SWAP);
            if (!tseg_swap(slot, &word, 0)) continue;
            tseg_count_live(view.control, -1, -(int64_t)entry.units);
            (*cleared)++;
            break;
        }
        if (result == TSEG_WOULD_WAIT) return result;
    }
    return TSEG_OK;
}
