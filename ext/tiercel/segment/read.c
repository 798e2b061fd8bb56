/* Finds and reads entries without a lock. */
#include "hash.h"
#include "internal.h"
#include "read.h"

#ifdef TSEG_NO_FENCES
tseg_word tseg_fence_word;
#endif
#ifdef TSEG_STOP
void (*tseg_stop_hook)(tseg_stop_point point);
#endif

void tseg_make_key(const tseg *segment, tseg_key *key, const void *bytes, uint32_t count)
{
    const tseg_geometry *geometry = &segment->geometry;
    uint64_t hash = tseg_siphash(segment->hash_key, bytes, count);
    uint64_t other = hash * UINT64_C(0x9e3779b97f4a7c15);

    key->bytes = bytes;
    key->count = count;
    key->hash = hash;
    /*
     * The shard comes from the hash's highest bits, the fingerprint from the bits below, the first bucket from the low
     * half.
     */
    key->shard = segment->shard_shift == 64 ? 0 : (uint32_t)(hash >> segment->shard_shift);
    key->fingerprint = (hash >> 35) << TSEG_FINGERPRINT_SHIFT & TSEG_FINGERPRINT_MASK;
    if (key->fingerprint == 0) key->fingerprint = UINT64_C(1) << TSEG_FINGERPRINT_SHIFT;
    key->bucket[0] = (uint32_t)(((hash & 0xffffffff) * geometry->buckets) >> 32) * TSEG_BUCKET_SLOTS;
    key->bucket[1] = (uint32_t)(((other >> 32) * geometry->buckets) >> 32) * TSEG_BUCKET_SLOTS;
}

bool tseg_bounds(const tseg *segment, int log, uint64_t position, uint64_t sizes, uint64_t *key_words)
{
    uint64_t units = tseg_low_half(sizes), log_units = segment->geometry.log_units[log];

    *key_words = tseg_words(tseg_high_half(sizes));
    return units <= log_units - position % log_units &&
           TSEG_ENTRY_WORDS + *key_words <= units * (TSEG_UNIT / 8);
}

bool tseg_same_bytes(const tseg_word *stored, const tseg_key *key)
{
    const uint8_t *bytes = key->bytes;
    uint64_t left = key->count;

    for (; left >= 8; left -= 8, bytes += 8, stored++)
        if (tseg_load(stored) != tseg_load_bytes(bytes)) return false;
    return !left || tseg_load(stored) == tseg_load_rest(bytes, left, key->count);
}

/* Prefetches the header, the key and the beginning of the value. The processor prefetches the rest of a long copy. */
static void prefetch_entry(const tseg_word *entry)
{
    __builtin_prefetch((const char *)entry);
    __builtin_prefetch((const char *)entry + 64);
    __builtin_prefetch((const char *)entry + 128);
}

tseg_verdict tseg_compare(const tseg *segment, const tseg_view *view, uint64_t word, const tseg_key *key,
                          tseg_entry *entry)
{
    int log = tseg_log_of(word);
    uint64_t position = tseg_position(word), key_words;
    tseg_word *at = tseg_at(segment, view, log, position);
    uint64_t sizes, lengths;
    bool in_bounds, same;

    prefetch_entry(at);
    sizes = tseg_load(at);
    lengths = tseg_load_acquire(at + TSEG_ENTRY_LENGTHS);
    in_bounds = tseg_bounds(segment, log, position, sizes, &key_words);
    same = in_bounds && tseg_high_half(sizes) == key->count && tseg_same_bytes(at + TSEG_ENTRY_WORDS, key);

    if (same) {
        entry->word = word;
        entry->entry = at;
        entry->value = at + TSEG_ENTRY_WORDS + key_words;
        entry->tail = &view->control->tail[log];
        entry->position = position;
        entry->lengths = lengths;
        entry->sequence = (uint32_t)tseg_low_half(lengths);
        entry->value_bytes = (uint32_t)tseg_high_half(lengths);
        entry->expires_at = tseg_double(tseg_load(at + TSEG_ENTRY_EXPIRES_AT));
        entry->origin = tseg_load(at + TSEG_ENTRY_ORIGIN);
        entry->epoch = (uint32_t)tseg_load(at + TSEG_ENTRY_EPOCH);
        entry->units = (uint32_t)tseg_low_half(sizes);
        in_bounds = TSEG_ENTRY_WORDS + key_words + tseg_words(tseg_high_half(lengths)) <=
                    tseg_low_half(sizes) * (TSEG_UNIT / 8);
    }
    /*
     * A writer stores the tail before it overwrites these bytes. A reader that has read a new byte now sees that tail.
     */
    tseg_fence(memory_order_acquire);
    if (position < tseg_load(&view->control->tail[log]) || !in_bounds) return TSEG_NOT_VERIFIABLE;
    return same ? TSEG_SAME_KEY : TSEG_OTHER_KEY;
}

static void back_off(int attempt)
{
    for (int i = 0; i < 1 << (2 * attempt); i++) tseg_relax();
}

/*
 * Prefetches the memory that every read of this key needs: both buckets, and the tails that the read compares at its
 * end. With cold caches the lines then come from memory together, not one after the other.
 */
static void prefetch_of_key(const tseg_view *view, const tseg_key *key)
{
    __builtin_prefetch(view->index + key->bucket[0]);
    __builtin_prefetch(view->index + key->bucket[1]);
    __builtin_prefetch((const void *)view->control->tail);
}

tseg_result tseg_find(tseg *segment, const tseg_key *key, tseg_entry *entry)
{
    const tseg_view view = tseg_view_of(segment, key->shard);

    prefetch_of_key(&view, key);
    for (int which = 0; which < 2; which++) {
        tseg_word *slots = view.index + key->bucket[which];
        if (which && key->bucket[1] == key->bucket[0]) break;
        for (unsigned i = 0; i < TSEG_BUCKET_SLOTS; i++) {
            uint64_t word = tseg_load_acquire(slots + i);
            for (int attempt = 0; ((word ^ key->fingerprint) & TSEG_FINGERPRINT_MASK) == 0; attempt++) {
                tseg_verdict verdict = tseg_compare(segment, &view, word, key, entry);
                if (verdict == TSEG_SAME_KEY) {
                    entry->slot = slots + i;
                    TSEG_STOP_HERE(TSEG_STOP_AFTER_FIND);
                    return TSEG_OK;
                }
                /* The tail has passed the entry: a writer is moving it, or evicted it and died. */
                if (verdict == TSEG_OTHER_KEY || attempt == TSEG_READ_TRIES) break;
                back_off(attempt);
                word = tseg_load_acquire(slots + i);
            }
        }
    }
    return TSEG_ABSENT;
}

/* The entry of the first slot with the key's fingerprint, which is almost always the key's entry. */
static const tseg_word *probable_entry(const tseg *segment, const tseg_key *key)
{
    const tseg_view view = tseg_view_of(segment, key->shard);

    for (int which = 0; which < 2; which++) {
        const tseg_word *slots = view.index + key->bucket[which];
        for (unsigned i = 0; i < TSEG_BUCKET_SLOTS; i++) {
            uint64_t word = tseg_load(slots + i);
            if (((word ^ key->fingerprint) & TSEG_FINGERPRINT_MASK) == 0)
                return tseg_at(segment, &view, tseg_log_of(word), tseg_position(word));
        }
    }
    return NULL;
}

void tseg_prefetch_buckets(const tseg *segment, const tseg_key *keys, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const tseg_word *index = tseg_view_of(segment, keys[i].shard).index;
        __builtin_prefetch(index + keys[i].bucket[0]);
        __builtin_prefetch(index + keys[i].bucket[1]);
    }
}

void tseg_prefetch_entries(const tseg *segment, const tseg_key *keys, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const tseg_word *entry = probable_entry(segment, keys + i);
        if (entry) prefetch_entry(entry);
    }
}

bool tseg_is_live(const tseg *segment, const tseg_entry *entry, double now)
{
    return entry->epoch == tseg_epoch(segment) && entry->expires_at > now;
}

void tseg_copy_value(const tseg_entry *entry, void *destination, uint32_t from, uint32_t bytes)
{
    const tseg_word *source = entry->value + from / 8;
    uint32_t skipped = from % 8, first = 8 - skipped < bytes ? 8 - skipped : bytes;
    uint8_t *to = destination;
    uint64_t word;

    if (skipped) {
        word = tseg_load(source++) >> (8 * skipped);
        memcpy(to, &word, first);
        to += first;
        bytes -= first;
    }
    tseg_copy_out(to, source, bytes);
}

bool tseg_intact(const tseg_entry *entry)
{
    TSEG_STOP_HERE(TSEG_STOP_AFTER_COPY);
    tseg_fence(memory_order_acquire);
    return !(entry->sequence & 1) && entry->position >= tseg_load(entry->tail) &&
           tseg_load(entry->entry + TSEG_ENTRY_LENGTHS) == entry->lengths;
}

void tseg_hit(tseg *segment, const tseg_entry *entry)
{
    uint64_t word = entry->word;

    tseg_bump(&segment->self->counters[TSEG_COUNT_HITS]);
    /* The swap may fail: another process has counted a hit, or a writer has moved the entry. */
    if (tseg_hits(word) < TSEG_HITS_MASK)
        atomic_compare_exchange_strong_explicit(entry->slot, &word, word + 1, memory_order_relaxed,
                                                memory_order_relaxed);
}

tseg_token tseg_token_of(const tseg *segment, const tseg_entry *entry)
{
    return (tseg_token){segment->file_id, entry->origin, entry->sequence};
}

bool tseg_is_same(const tseg_token *one, const tseg_token *other)
{
    return one->file_id == other->file_id && one->origin == other->origin && one->sequence == other->sequence;
}

bool tseg_is_unchanged(tseg **segment, tseg_key_function *make_key, tseg_time_function *ask_time, void *context,
                       const tseg_token *token)
{
    tseg_clock clock = {false, 0};
    tseg_token found;
    tseg_entry entry;
    tseg_key key;

    do {
        make_key(context, *segment, &key);
        if (tseg_find(*segment, &key, &entry) != TSEG_OK) return false;
        found = tseg_token_of(*segment, &entry);
    } while (!tseg_knows_time(&clock, entry.expires_at) && !ask_time(context, &clock, segment));
    if (!tseg_is_same(&found, token) || !tseg_is_live(*segment, &entry, clock.now) || !tseg_intact(&entry))
        return false;
    tseg_hit(*segment, &entry);
    return true;
}
