/* A read from its first try to its last. In a header, so that it is compiled for each kind of reader by itself. */
#ifndef TIERCEL_SEGMENT_READ_H
#define TIERCEL_SEGMENT_READ_H

#include "internal.h"

/* The callbacks of tseg_read; `context` is the caller's. */
/* The key in this segment: anew for each try, since asking for the time may have let others change it. */
typedef void tseg_key_function(void *context, const tseg *segment, tseg_key *key);
/* Fills the clock. false: *segment is another one now, and all that was found in it is not good any more. */
typedef bool tseg_time_function(void *context, tseg_clock *clock, tseg **segment);
/* Takes what it wants of the entry. false: the value has an end of its own, and the clock is not known. */
typedef bool tseg_take_function(void *context, tseg *segment, const tseg_key *key, const tseg_entry *entry,
                                const tseg_clock *clock);

/* The bytes of an entry that tseg_find prefetches, and those of its value, up to where the processor goes on by
 * itself. */
enum { TSEG_PREFETCHED_BYTES = 192, TSEG_PREFETCHED_VALUE_BYTES = 2048 };

/* The rest of the value, before the caller makes room for it: both come from memory together. */
static inline void tseg_prefetch_value(const tseg_entry *entry)
{
    const uint32_t most = TSEG_PREFETCHED_VALUE_BYTES, bytes = entry->value_bytes < most ? entry->value_bytes : most;
    const char *at = (const char *)entry->entry + TSEG_PREFETCHED_BYTES, *end = (const char *)entry->value + bytes;

    for (; at < end; at += 64) __builtin_prefetch(at);
}

/* Somebody writes over the value just now. */
static inline void tseg_wait_for_writer(tseg *segment, int attempt)
{
    for (int i = 0; i < 8 << (2 * attempt); i++) tseg_relax();
    tseg_bump(&segment->self->counters[TSEG_COUNT_READ_RETRIES]);
}

/*
 * Finds a live entry, has its value taken, and says whether that is the entry's: TSEG_OK (a hit is counted), or
 * TSEG_ABSENT (a miss is). *segment is the one that was read.
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
            tseg_wait_for_writer(*segment, attempt);
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

#endif
