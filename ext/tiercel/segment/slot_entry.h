/* The entry that a slot leads to, read without knowing its key. */
#ifndef TIERCEL_SEGMENT_SLOT_ENTRY_H
#define TIERCEL_SEGMENT_SLOT_ENTRY_H

#include "internal.h"

typedef struct {
    tseg_word *at;
    uint64_t units, key_bytes, value_bytes;
    double expires_at;
    uint32_t epoch;
} tseg_slot_entry;

/* Confirms earlier reads: they came from the slot's entry if the tail has not passed the entry. */
static inline bool tseg_is_in_log(const tseg_view *view, uint64_t word)
{
    tseg_fence(memory_order_acquire);
    return tseg_position(word) >= tseg_load(&view->control->tail[tseg_log_of(word)]);
}

/*
 * Reads the header of the slot's entry. Returns false if its lengths exceed the log. The caller confirms everything it
 * has read with tseg_is_in_log.
 */
static inline bool tseg_read_slot(const tseg *segment, const tseg_view *view, uint64_t word, tseg_slot_entry *entry)
{
    uint64_t sizes, lengths, key_words;

    entry->at = tseg_at(segment, view, tseg_log_of(word), tseg_position(word));
    sizes = tseg_load(entry->at);
    if (!tseg_bounds(segment, tseg_log_of(word), tseg_position(word), sizes, &key_words)) return false;
    lengths = tseg_load_acquire(entry->at + TSEG_ENTRY_LENGTHS);
    entry->units = tseg_low_half(sizes);
    entry->key_bytes = tseg_high_half(sizes);
    entry->value_bytes = tseg_high_half(lengths);
    entry->expires_at = tseg_double(tseg_load(entry->at + TSEG_ENTRY_EXPIRES_AT));
    entry->epoch = (uint32_t)tseg_load(entry->at + TSEG_ENTRY_EPOCH);
    return true;
}

/* sweep.c */
/*
 * Reads the slot for a pass that has to see each key. TSEG_OK: *entry has a readable key. TSEG_ABSENT: the slot is
 * empty. TSEG_WOULD_WAIT: a writer is moving the entry. If no other call is moving the entry, or if that call is
 * stuck, this call empties the slot.
 */
tseg_result tseg_read_key_slot(tseg *segment, uint32_t shard, tseg_word *slot, tseg_slot_entry *entry, uint64_t *word);
bool tseg_begins_with(const tseg_slot_entry *entry, const uint8_t *prefix, uint32_t count);

#endif
