/*
 * Layer "read": finds and reads entries without a lock, and checks their tags. tseg_read is in this header, with the
 * declarations that it needs, so that the compiler makes a version of it for each kind of read, in the tests too.
 */
#ifndef TIERCEL_SEGMENT_READ_H
#define TIERCEL_SEGMENT_READ_H

#include "format.h"

/* A read that fails this often is a miss. */
#define TSEG_READ_TRIES 4

/*
 * Compares the key of the slot's entry. TSEG_NOT_VERIFIABLE: the tail has passed the entry, or its lengths are damaged.
 */
typedef enum { TSEG_SAME_KEY, TSEG_OTHER_KEY, TSEG_NOT_VERIFIABLE } tseg_verdict;

/* Finds the key's entry, live or not. Returns TSEG_ABSENT if the key has none. */
tseg_result tseg_find(tseg *segment, const tseg_key *key, tseg_entry *entry);
/* Returns whether the entry has the current epoch and has not expired at `now` (epoch seconds). */
bool tseg_is_live(const tseg *segment, const tseg_entry *entry, double now);
/* Called after a copy: returns whether the copied bytes are the entry's. */
bool tseg_intact(const tseg_entry *entry);
void tseg_hit(tseg *segment, const tseg_entry *entry);

/*
 * A callback that sets the clock; `context` belongs to the caller. Returns false if *segment has changed, so that the
 * read has to start again.
 */
typedef bool tseg_time_function(void *context, tseg_clock *clock, tseg **segment);

/* The callbacks of tseg_read. `context` belongs to the caller. */
/*
 * Makes the key for this segment. Called for each attempt, because the segment may change while the host reads its
 * clock.
 */
typedef void tseg_key_function(void *context, const tseg *segment, tseg_key *key);
/* Reads the value of the entry. Returns false if it needs the time and the clock is not known. */
typedef bool tseg_value_function(void *context, tseg *segment, const tseg_key *key, const tseg_entry *entry,
                                 const tseg_clock *clock);

/*
 * The bytes that tseg_find prefetches of an entry, and the bytes that tseg_prefetch_value prefetches of a value. The
 * processor itself prefetches the rest of a longer copy.
 */
enum { TSEG_PREFETCHED_BYTES = 192, TSEG_PREFETCHED_VALUE_BYTES = 2048 };

/* Prefetches the rest of the value. The caller then allocates room for it while the memory answers. */
static inline void tseg_prefetch_value(const tseg_entry *entry)
{
    const uint32_t most = TSEG_PREFETCHED_VALUE_BYTES, bytes = entry->value_bytes < most ? entry->value_bytes : most;
    const char *at = (const char *)entry->entry + TSEG_PREFETCHED_BYTES, *end = (const char *)entry->value + bytes;

    for (; at < end; at += 64) __builtin_prefetch(at);
}

/* Waits a moment for the writer that is overwriting the value. */
static inline void tseg_pause_for_writer(tseg *segment, int attempt)
{
    for (int i = 0; i < 8 << (2 * attempt); i++) tseg_relax();
    tseg_bump(&segment->self->counters[TSEG_COUNT_READ_RETRIES]);
}

/*
 * Finds a live entry, lets `read_value` copy its value, and then checks that the copy is consistent (a seqlock read).
 * Returns TSEG_OK and counts a hit, or TSEG_ABSENT. *segment is the segment that the entry came from.
 */
static inline __attribute__((always_inline))
tseg_result tseg_read(tseg **segment, tseg_key_function *make_key, tseg_time_function *ask_time,
                      tseg_value_function *read_value, void *context, tseg_key *key, tseg_entry *entry)
{
    tseg_clock clock = {false, 0};

    for (int attempt = 0; attempt < TSEG_READ_TRIES; attempt++) {
        make_key(context, *segment, key);
        if (tseg_find(*segment, key, entry) != TSEG_OK) break;
        if (entry->sequence & 1) {
            tseg_pause_for_writer(*segment, attempt);
            continue;
        }
        if (!tseg_knows_time(&clock, entry->expires_at) && !ask_time(context, &clock, segment)) continue;
        if (!tseg_is_live(*segment, entry, clock.now)) break;
        if (TSEG_UNLIKELY(!read_value(context, *segment, key, entry, &clock))) {
            if (!ask_time(context, &clock, segment)) continue;
            read_value(context, *segment, key, entry, &clock);
        }
        if (TSEG_UNLIKELY(!tseg_intact(entry))) continue;
        tseg_hit(*segment, entry);
        return TSEG_OK;
    }
    return TSEG_ABSENT;
}

/* The entry that a slot leads to, read without knowing its key. */
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

/*
 * Tags. A frame contains the generation of each of its tags. The entry is current while the segment has the same
 * generations under the tags' keys. These functions check every length in a frame, so it may hold any bytes.
 */
/*
 * The place where this process has found the generation of a tag. A generation is a random number, so it leads to its
 * entry without a hash of the tag's key and without a look-up. One thread at a time uses the table.
 */
typedef struct tseg_known_generation {
    uint64_t generation;
    tseg_word *slot; /* NULL: the row is empty */
    const tseg_word *entry;
    const tseg_word *tail;
    uint64_t word;    /* of the slot */
    uint64_t lengths; /* of the entry, with its sequence */
    uint64_t key_bytes;
    uint64_t epoch;   /* of the segment */
} tseg_known_generation;

enum {
    TSEG_GENERATION_BYTES = 8,
    TSEG_TAGS_BATCH = 16 /* tags that are prefetched together */
};

typedef enum {
    TSEG_TAGS_CURRENT,
    TSEG_TAGS_OUTDATED,  /* a generation is missing or differs, or the part is cut off */
    TSEG_TAGS_NEED_TIME  /* a generation can expire: the caller starts again with a clock that has the time */
} tseg_tags_answer;

/* A check of an entry's tags. The bytes of the part TAGS stay in their place until it ends. */
typedef struct {
    const uint8_t *next; /* the tags that are not in `tags` yet */
    size_t left;         /* their bytes */
    unsigned count;
    struct {
        const tseg_known_generation *known; /* NULL: look the key up */
        tseg_key key;
    } tags[TSEG_TAGS_BATCH];
} tseg_tags;

#endif
