/* Calls without a lock besides reads: deletes, and walks of the index. */
#include <math.h>
#include <stdlib.h>

#include "internal.h"
#include "leases.h"
#include "sweep.h"

tseg_result tseg_delete(tseg *segment, const tseg_key *key, double *expires_at)
{
    const tseg_view *view = &segment->views[key->shard];
    uint32_t epoch = tseg_epoch(segment);
    tseg_entry entry;

    *expires_at = -INFINITY;
    tseg_begin_delete(segment, key);
    tseg_bump(&segment->self->counters[TSEG_COUNT_DELETES]);
    for (int which = 0; which < 2; which++) {
        tseg_word *slots = view->index + key->bucket[which];
        if (which && key->bucket[1] == key->bucket[0]) break;
        for (unsigned i = 0; i < TSEG_BUCKET_SLOTS; i++) {
            uint64_t word = tseg_load_acquire(slots + i);
            while (((word ^ key->fingerprint) & TSEG_FINGERPRINT_MASK) == 0) {
                tseg_verdict verdict = tseg_compare(segment, view, word, key, &entry);
                if (verdict == TSEG_OTHER_KEY) break;
                TSEG_STOP_HERE(TSEG_STOP_BEFORE_SWAP);
                /* Not verifiable counts as the key: a cache may lose an entry, never a delete. */
                if (!tseg_swap(slots + i, &word, 0)) continue;
                if (verdict == TSEG_NOT_VERIFIABLE || (entry.sequence & 1)) *expires_at = INFINITY;
                else if (entry.epoch == epoch && entry.expires_at > *expires_at) *expires_at = entry.expires_at;
                break;
            }
        }
    }
    return *expires_at > -INFINITY ? TSEG_OK : TSEG_ABSENT;
}

/* A slot's entry without knowing its key. */
typedef struct {
    tseg_word *at;
    uint64_t units, key_bytes, value_bytes;
    double expires_at;
    uint32_t epoch;
} slot_entry;

static bool still_there(const tseg_view *view, uint64_t word)
{
    tseg_fence(memory_order_acquire);
    return tseg_position(word) >= tseg_load(&view->control->tail[tseg_log_of(word)]);
}

/* To be confirmed by still_there after whatever else is read. Only what is in bounds has more than its first unit. */
static bool look_at(const tseg *segment, const tseg_view *view, uint64_t word, slot_entry *entry)
{
    uint64_t word0, lengths, key_words;

    entry->at = tseg_at(segment, view, tseg_log_of(word), tseg_position(word));
    word0 = tseg_load(entry->at);
    if (!tseg_bounds(segment, tseg_log_of(word), tseg_position(word), word0, &key_words)) return false;
    lengths = tseg_load_acquire(entry->at + TSEG_ENTRY_LENGTHS);
    entry->units = word0 & 0xffffffff;
    entry->key_bytes = word0 >> 32;
    entry->value_bytes = lengths >> 32;
    entry->expires_at = tseg_double(tseg_load(entry->at + TSEG_ENTRY_END));
    entry->epoch = (uint32_t)tseg_load(entry->at + TSEG_ENTRY_EPOCH);
    return true;
}

static bool begins_with(const slot_entry *entry, const uint8_t *prefix, uint32_t count)
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

/*
 * TSEG_OK: the word, and its key can be read. TSEG_ABSENT: the slot is empty. TSEG_WOULD_WAIT: a writer is
 * moving its entry just now. A slot that nobody is moving, or whose mover does not move himself, is emptied.
 */
static tseg_result readable_word(tseg *segment, uint32_t shard, tseg_word *slot, slot_entry *entry, uint64_t *word)
{
    const tseg_view *view = &segment->views[shard];

    while ((*word = tseg_load_acquire(slot)) != 0) {
        uint64_t seen = *word;
        bool written;
        if (look_at(segment, view, seen, entry) && still_there(view, seen)) return TSEG_OK;
        written = tseg_is_being_written(segment, shard);
        if (!tseg_same_entry(tseg_load_acquire(slot), seen)) continue;
        if (written) return TSEG_WOULD_WAIT;
        if (tseg_swap(slot, &seen, 0)) break;
    }
    return TSEG_ABSENT;
}

uint32_t tseg_raise_epoch(tseg *segment)
{
    return atomic_fetch_add_explicit(&segment->header->epoch, 1, memory_order_seq_cst) + 1;
}

/* Without the lock: true if no entry is left. */
static bool empty_old_slots(tseg *segment, const tseg_view *view, uint32_t epoch)
{
    bool empty = true;

    for (uint32_t i = 0; i < segment->index_slots; i++) {
        uint64_t word = tseg_load_acquire(view->index + i);
        while (word) {
            slot_entry entry;
            if (look_at(segment, view, word, &entry) && still_there(view, word) &&
                (int32_t)(entry.epoch - epoch) >= 0) {
                empty = false;
                break;
            }
            TSEG_STOP_HERE(TSEG_STOP_BEFORE_SWAP);
            if (tseg_swap(view->index + i, &word, 0)) break;
        }
    }
    return empty;
}

static bool index_is_empty(const tseg *segment, const tseg_view *view)
{
    for (uint32_t i = 0; i < segment->index_slots; i++)
        if (tseg_load(view->index + i)) return false;
    return true;
}

bool tseg_empty_shard(tseg *segment, uint32_t shard, uint32_t epoch)
{
    tseg_lease_end_all(segment, shard, epoch);
    return empty_old_slots(segment, &segment->views[shard], epoch);
}

/* The room in the logs comes back at once where nobody is writing, else as the tails pass. */
void tseg_reset_shard(tseg *segment, uint32_t shard)
{
    const tseg_view *view = &segment->views[shard];
    tseg_section section;

    for (int attempt = 0; attempt < 100; attempt++, tseg_relax()) {
        if (!tseg_try_enter(&section, segment, shard)) continue;
        if (index_is_empty(segment, view)) {
            tseg_reset_log(&section, TSEG_SMALL);
            tseg_reset_log(&section, TSEG_MAIN);
        }
        tseg_leave(&section);
        return;
    }
}

void tseg_clear_shard(tseg *segment, uint32_t shard, uint32_t epoch)
{
    if (tseg_empty_shard(segment, shard, epoch)) tseg_reset_shard(segment, shard);
}

tseg_result tseg_clear_prefix(tseg *segment, uint32_t shard, const void *prefix, uint32_t count, uint64_t *cleared)
{
    const tseg_view *view = &segment->views[shard];

    /* Which keys they are for cannot be told from a lease: all of them end. */
    tseg_lease_end_all(segment, shard, tseg_epoch(segment) + 1);
    for (uint32_t i = 0; i < segment->index_slots; i++) {
        tseg_word *slot = view->index + i;
        tseg_result result;
        slot_entry entry;
        uint64_t word;
        while ((result = readable_word(segment, shard, slot, &entry, &word)) == TSEG_OK) {
            bool matches = begins_with(&entry, prefix, count);
            if (!still_there(view, word)) continue;
            if (!matches) break;
            TSEG_STOP_HERE(TSEG_STOP_BEFORE_SWAP);
            if (!tseg_swap(slot, &word, 0)) continue;
            (*cleared)++;
            break;
        }
        if (result == TSEG_WOULD_WAIT) return result;
    }
    return TSEG_OK;
}

static bool grow(tseg_batch *batch, size_t bytes)
{
    uint8_t *grown;

    if (bytes <= batch->capacity) return true;
    grown = realloc(batch->bytes, bytes * 2);
    if (!grown) return false;
    batch->bytes = grown;
    batch->capacity = bytes * 2;
    return true;
}

static bool take_into_batch(tseg *segment, const tseg_view *view, uint64_t word, const slot_entry *entry,
                            double now, tseg_batch *batch, size_t *used)
{
    size_t offset = *used;

    if (entry->epoch != tseg_epoch(segment) || !(entry->expires_at > now)) return true;
    if (!grow(batch, offset + entry->key_bytes)) return true;
    tseg_copy_out(batch->bytes + offset, entry->at + TSEG_ENTRY_WORDS, entry->key_bytes);
    if (!still_there(view, word)) return false;
    batch->entries[batch->count].key_offset = offset;
    batch->entries[batch->count].key_bytes = (uint32_t)entry->key_bytes;
    batch->entries[batch->count].value_bytes = (uint32_t)entry->value_bytes;
    batch->entries[batch->count].allocated_bytes = (uint32_t)(entry->units * TSEG_UNIT);
    batch->entries[batch->count].expires_at = entry->expires_at;
    batch->entries[batch->count].log = (uint8_t)tseg_log_of(word);
    batch->entries[batch->count].hits = (uint8_t)tseg_hits(word);
    batch->count++;
    *used = offset + entry->key_bytes;
    return true;
}

tseg_result tseg_walk(tseg *segment, tseg_cursor *cursor, const void *prefix, uint32_t prefix_bytes, double now,
                      tseg_batch *batch)
{
    const tseg_view *view;
    size_t used = 0;

    batch->count = 0;
    /* Another file's positions mean nothing here. What was in that file is gone. */
    if (cursor->file_id != segment->file_id || cursor->slot >= segment->index_slots)
        *cursor = (tseg_cursor){segment->file_id, 0, 0};
    if (cursor->shard >= segment->geometry.shards) return TSEG_ABSENT;
    view = &segment->views[cursor->shard];
    cursor->slot -= cursor->slot % TSEG_BUCKET_SLOTS;
    for (uint32_t i = cursor->slot; i < cursor->slot + TSEG_BUCKET_SLOTS; i++) {
        tseg_result result;
        slot_entry entry;
        uint64_t word;
        while ((result = readable_word(segment, cursor->shard, view->index + i, &entry, &word)) == TSEG_OK) {
            bool matches = begins_with(&entry, prefix, prefix_bytes);
            if (!still_there(view, word)) continue;
            if (!matches || take_into_batch(segment, view, word, &entry, now, batch, &used)) break;
        }
        if (result == TSEG_WOULD_WAIT) return result;
    }
    cursor->slot += TSEG_BUCKET_SLOTS;
    if (cursor->slot >= segment->index_slots) *cursor = (tseg_cursor){cursor->file_id, cursor->shard + 1, 0};
    return TSEG_OK;
}

void tseg_collect_shard_stats(tseg *segment, uint32_t shard, double now, tseg_stats *stats)
{
    const tseg_view *view = &segment->views[shard];

    for (int i = 0; i < TSEG_SHARD_COUNTERS; i++) stats->shard[i] += tseg_load(&view->control->counters[i]);
    for (int log = 0; log < TSEG_LOGS; log++) {
        uint64_t used = tseg_load(&view->control->head[log]) - tseg_load(&view->control->tail[log]);
        stats->log_bytes += segment->geometry.log_units[log] * TSEG_UNIT;
        if (used <= segment->geometry.log_units[log]) stats->used_bytes += used * TSEG_UNIT;
    }
    for (uint32_t i = 0; i < segment->index_slots; i++) {
        uint64_t word = tseg_load_acquire(view->index + i);
        slot_entry entry;
        if (!word || !look_at(segment, view, word, &entry) || !still_there(view, word)) continue;
        if (entry.epoch != tseg_epoch(segment) || !(entry.expires_at > now)) continue;
        stats->entries++;
        stats->live_bytes += entry.units * TSEG_UNIT;
        stats->payload_bytes += entry.key_bytes + entry.value_bytes;
    }
}

void tseg_collect_counters(tseg *segment, tseg_stats *stats)
{
    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++)
        for (int i = 0; i < TSEG_SHARD_COUNTERS; i++)
            stats->shard[i] += tseg_load(&segment->views[shard].control->counters[i]);
    for (uint32_t slot = 0; slot < segment->geometry.process_slots; slot++)
        for (int i = 0; i < TSEG_PROCESS_COUNTERS; i++)
            stats->process[i] += tseg_load(&segment->processes[slot].counters[i]);
}

void tseg_collect_process_stats(tseg *segment, tseg_stats *stats)
{
    for (uint32_t slot = 0; slot < segment->geometry.process_slots; slot++)
        for (int i = 0; i < TSEG_PROCESS_COUNTERS; i++)
            stats->process[i] += tseg_load(&segment->processes[slot].counters[i]);
    stats->leases = tseg_lease_count(segment);
    stats->processes = (uint64_t)tseg_registered(segment, NULL, 0);
}

void tseg_collect_stats(tseg *segment, double now, tseg_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++)
        tseg_collect_shard_stats(segment, shard, now, stats);
    tseg_collect_process_stats(segment, stats);
}
