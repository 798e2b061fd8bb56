/* Walks over the entries of a segment. */
#include <stdlib.h>

#include "call.h"
#include "slot_entry.h"
#include "sweep.h"

/* A walk keeps the host's lock for this long. Where many keys match, giving the lock up costs more than it saves. */
#define WITH_HOST_LOCK_NS UINT64_C(2000000)

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

/* TSEG_CHANGED: the tail has passed the entry, so the slot has to be read again. */
static tseg_result take_into_batch(tseg *segment, const tseg_view *view, uint64_t word, const tseg_slot_entry *entry,
                                   double now, tseg_batch *batch, size_t *used)
{
    size_t offset = *used;

    if (entry->epoch != tseg_epoch(segment) || !(entry->expires_at > now)) return TSEG_OK;
    if (!grow(batch, offset + entry->key_bytes)) return TSEG_NO_MEMORY;
    tseg_copy_out(batch->bytes + offset, entry->at + TSEG_ENTRY_WORDS, entry->key_bytes);
    if (!tseg_is_in_log(view, word)) return TSEG_CHANGED;
    batch->entries[batch->count].key_offset = offset;
    batch->entries[batch->count].key_bytes = (uint32_t)entry->key_bytes;
    batch->entries[batch->count].value_bytes = (uint32_t)entry->value_bytes;
    batch->entries[batch->count].allocated_bytes = (uint32_t)(entry->units * TSEG_UNIT);
    batch->entries[batch->count].expires_at = entry->expires_at;
    batch->entries[batch->count].log = (uint8_t)tseg_log_of(word);
    batch->entries[batch->count].hits = (uint8_t)tseg_hits(word);
    batch->count++;
    *used = offset + entry->key_bytes;
    return TSEG_OK;
}

tseg_result tseg_walk(tseg *segment, tseg_cursor *cursor, const void *prefix, uint32_t prefix_bytes, double now,
                      tseg_batch *batch)
{
    tseg_view view;
    size_t used = 0;

    batch->count = 0;
    /* A cursor is valid for one file only; in another file the walk starts again. */
    if (cursor->file_id != segment->file_id || cursor->slot >= segment->index_slots)
        *cursor = (tseg_cursor){segment->file_id, 0, 0};
    if (cursor->shard >= segment->geometry.shards) return TSEG_ABSENT;
    view = tseg_view_of(segment, cursor->shard);
    cursor->slot -= cursor->slot % TSEG_BUCKET_SLOTS;
    for (uint32_t i = cursor->slot; i < cursor->slot + TSEG_BUCKET_SLOTS; i++) {
        tseg_result result;
        tseg_slot_entry entry;
        uint64_t word;
        while ((result = tseg_read_key_slot(segment, cursor->shard, view.index + i, &entry, &word)) == TSEG_OK) {
            bool matches = tseg_begins_with(&entry, prefix, prefix_bytes);
            if (!tseg_is_in_log(&view, word)) continue;
            if (!matches) break;
            result = take_into_batch(segment, &view, word, &entry, now, batch, &used);
            if (result != TSEG_CHANGED) break;
        }
        if (result == TSEG_WOULD_WAIT || result == TSEG_NO_MEMORY) return result;
    }
    cursor->slot += TSEG_BUCKET_SLOTS;
    if (cursor->slot >= segment->index_slots) *cursor = (tseg_cursor){cursor->file_id, cursor->shard + 1, 0};
    return TSEG_OK;
}

void tseg_walk_begin(tseg_walker *walker) { walker->until_ns = tseg_monotonic_ns() + WITH_HOST_LOCK_NS; }

static bool fill_batches(void *argument, const atomic_bool *stop)
{
    tseg_walker *walker = argument;

    do {
        tseg_batch *batch = &walker->batches[walker->count];
        walker->result = tseg_walk(walker->segment, &walker->cursor, walker->prefix, walker->prefix_bytes, walker->now,
                                   batch);
        if (walker->result != TSEG_OK) break;
        if (batch->count) walker->count++;
    } while (walker->count < TSEG_WALK_BATCHES && !atomic_load(stop) && tseg_monotonic_ns() < walker->until_ns);
    return true;
}

bool tseg_walk_on(tseg_host *host, tseg_walker *walker)
{
    const atomic_bool never = false;

    walker->count = 0;
    walker->segment = host->current(host);
    if (!walker->segment) return false;
    if (tseg_monotonic_ns() < walker->until_ns) {
        fill_batches(walker, &never);
    } else {
        walker->until_ns = UINT64_MAX;
        if (!tseg_run_held(host, walker->segment, fill_batches, walker)) return false;
        walker->until_ns = 0;
    }
    walker->at_end = walker->result == TSEG_ABSENT;
    if (walker->result != TSEG_WOULD_WAIT) return true;
    walker->segment = host->current(host); /* other threads ran, perhaps */
    if (!walker->segment) return false;
    if (walker->segment->file_id != walker->cursor.file_id) return true;
    return tseg_wait_in_pass(host, walker->segment, walker->cursor.shard, &walker->wait);
}

static void keep_used(tseg_batch *batch)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < batch->count; i++)
        if (batch->entries[i].hits) batch->entries[kept++] = batch->entries[i];
    batch->count = kept;
}

bool tseg_walk_used(tseg *segment, tseg_walker *walker, long *entries, long *buckets)
{
    for (walker->count = 0; walker->count < TSEG_WALK_BATCHES && *entries > 0 && *buckets > 0; --*buckets) {
        tseg_batch *batch = &walker->batches[walker->count];
        walker->result = tseg_walk(segment, &walker->cursor, NULL, 0, walker->now, batch);
        walker->at_end = walker->result == TSEG_ABSENT;
        if (walker->result != TSEG_OK) return false;
        *entries -= batch->count;
        keep_used(batch);
        if (batch->count) walker->count++;
    }
    return *entries > 0 && *buckets > 0;
}

void tseg_walk_free(tseg_walker *walker)
{
    for (unsigned i = 0; i < TSEG_WALK_BATCHES; i++) free(walker->batches[i].bytes);
}
