/* Finds, compares and copies entries. */
#include "read.h"

/*
 * Copies words into the file and out of it. Each word is accessed once, with relaxed ordering. A reader checks
 * afterwards whether the words belong together.
 */
/* The copy goes word by word: an array would go through the stack, and a wide load from there stalls. */
static inline void put_word(uint8_t *to, uint64_t word) { memcpy(to, &word, 8); }

/*
 * Copies eight words. A writer announces its writes before this copy, and a reader checks for writers after it. So the
 * compiler only has to make each access exactly here and once. C cannot express such a wide access, hence the assembler
 * code. Sanitizer builds copy single words instead.
 */
#if defined(__x86_64__) && !defined(TSEG_NO_FENCES) && !defined(__SANITIZE_ADDRESS__)
#define TSEG_COPIES_BLOCKS 1
static inline void copy_block(void *to, const void *from)
{
    __asm__ __volatile__("movdqu (%1), %%xmm0\n\t"
                         "movdqu 16(%1), %%xmm1\n\t"
                         "movdqu 32(%1), %%xmm2\n\t"
                         "movdqu 48(%1), %%xmm3\n\t"
                         "movdqu %%xmm0, (%0)\n\t"
                         "movdqu %%xmm1, 16(%0)\n\t"
                         "movdqu %%xmm2, 32(%0)\n\t"
                         "movdqu %%xmm3, 48(%0)"
                         :
                         : "r"(to), "r"(from)
                         : "memory", "xmm0", "xmm1", "xmm2", "xmm3");
}
#endif

/*
 * The processor prefetches only within a page, so a long copy prefetches one page ahead by itself. A cold copy of 24 KB
 * then takes 0.8 of the time; a warm copy takes as long as without.
 */
#define PAGE_BYTES 4096u

/* Copy words of the file to any address, and bytes into words of the file. */
void tseg_copy_out(void *destination, const tseg_word *source, uint64_t bytes)
{
    uint8_t *to = destination;
    uint64_t last;

#ifdef TSEG_COPIES_BLOCKS
    for (; bytes >= PAGE_BYTES + 64; bytes -= 64, to += 64, source += 8) {
        __builtin_prefetch((const char *)source + PAGE_BYTES);
        copy_block(to, source);
    }
    for (; bytes >= 64; bytes -= 64, to += 64, source += 8) copy_block(to, source);
#endif
    for (; bytes >= 32; bytes -= 32, to += 32, source += 4) {
        put_word(to, tseg_load(source));
        put_word(to + 8, tseg_load(source + 1));
        put_word(to + 16, tseg_load(source + 2));
        put_word(to + 24, tseg_load(source + 3));
    }
    for (; bytes >= 8; bytes -= 8, to += 8, source++) put_word(to, tseg_load(source));
    if (bytes) {
        last = tseg_load(source);
        memcpy(to, &last, bytes);
    }
}

void tseg_copy_in(tseg_word *destination, const uint8_t *source, uint64_t bytes)
{
    uint64_t last = 0;

#ifdef TSEG_COPIES_BLOCKS
    for (; bytes >= 64; bytes -= 64, source += 64, destination += 8) copy_block(destination, source);
#endif
    for (; bytes >= 32; bytes -= 32, source += 32, destination += 4) {
        tseg_store(destination, tseg_load_bytes(source));
        tseg_store(destination + 1, tseg_load_bytes(source + 8));
        tseg_store(destination + 2, tseg_load_bytes(source + 16));
        tseg_store(destination + 3, tseg_load_bytes(source + 24));
    }
    for (; bytes >= 8; bytes -= 8, source += 8, destination++) tseg_store(destination, tseg_load_bytes(source));
    if (bytes) {
        memcpy(&last, source, bytes);
        tseg_store(destination, last);
    }
}

/* Returns whether a stored key has the bytes of this key, which has the same length. */
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

/*
 * Prefetch the memory that reads of these keys will need: first the buckets of all keys, then the entries that the
 * buckets lead to.
 */
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

/* Copies a part of the value as it is now. */
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
