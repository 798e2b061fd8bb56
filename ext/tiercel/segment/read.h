/* A read with all its attempts. It is in a header, so that the compiler makes a version of it for each kind of read. */
#ifndef TIERCEL_SEGMENT_READ_H
#define TIERCEL_SEGMENT_READ_H

#include "internal.h"

/* The callbacks of tseg_read. `context` belongs to the caller. */
/*
 * Makes the key for this segment. Called for each attempt, because the segment may change while the host reads its
 * clock.
 */
typedef void tseg_key_function(void *context, const tseg *segment, tseg_key *key);
/* Takes the value of the entry. Returns false if it needs the time and the clock is not known. */
typedef bool tseg_take_function(void *context, tseg *segment, const tseg_key *key, const tseg_entry *entry,
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
 * Finds a live entry, lets `take` copy its value, and then checks that the copy is consistent (a seqlock read). Returns
 * TSEG_OK and counts a hit, or TSEG_ABSENT and counts a miss. *segment is the segment that the entry came from.
 */
static inline __attribute__((always_inline))
tseg_result tseg_read(tseg **segment, tseg_key_function *make_key, tseg_time_function *ask_time,
                      tseg_take_function *take, void *context, tseg_key *key, tseg_entry *entry)
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
        if (TSEG_UNLIKELY(!take(context, *segment, key, entry, &clock))) {
            if (!ask_time(context, &clock, segment)) continue;
            take(context, *segment, key, entry, &clock);
        }
        if (TSEG_UNLIKELY(!tseg_intact(entry))) continue;
        tseg_hit(*segment, entry);
        return TSEG_OK;
    }
    tseg_bump(&(*segment)->self->counters[TSEG_COUNT_MISSES]);
    return TSEG_ABSENT;
}

/*
 * Whether the key still has the live entry of this token; if so, counts a hit. *segment is the segment that the call
 * has read.
 */
bool tseg_is_unchanged(tseg **segment, tseg_key_function *make_key, tseg_time_function *ask_time, void *context,
                       const tseg_token *token);

#endif
