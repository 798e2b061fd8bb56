/* Shared by the native tests: checks, buffers, temporary segments. */
#ifndef TIERCEL_TEST_CHECK_H
#define TIERCEL_TEST_CHECK_H

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "segment.h"

static _Atomic unsigned long checks_made;
static double time_now = 1000.0; /* epoch seconds, as reads see them */

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        checks_made++;                                                                         \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "%s:%d: %s: not true: %s\n", __FILE__, __LINE__, __func__, #condition); \
            abort();                                                                           \
        }                                                                                      \
    } while (0)

static inline tseg_key key_of(const tseg *segment, const char *text)
{
    tseg_key key;
    tseg_make_key(segment, &key, text, (uint32_t)strlen(text));
    return key;
}

static inline tseg_value value_of(const void *bytes, size_t count)
{
    return (tseg_value){NULL, 0, bytes, count};
}

/* One attempt to delete a shard's keys with this prefix. */
static inline tseg_result clear_shard(tseg *segment, uint32_t shard, const char *prefix, uint32_t count,
                                      uint64_t *cleared)
{
    tseg_batch batch = {0};
    tseg_cursor cursor = {segment->file_id, shard, 0};
    tseg_result result = TSEG_OK;

    tseg_lease_end_all(segment, shard, tseg_epoch(segment) + 1);
    while (result == TSEG_OK && cursor.shard == shard) {
        result = tseg_walk(segment, &cursor, prefix, count, time_now, &batch);
        for (uint32_t i = 0; i < batch.count; i++) {
            double expires_at;
            tseg_key key;
            tseg_make_key(segment, &key, batch.bytes + batch.entries[i].key_offset, batch.entries[i].key_bytes);
            *cleared += tseg_delete(segment, &key, &expires_at) == TSEG_OK;
        }
    }
    free(batch.bytes);
    return result;
}

/* Calls as the binding makes them: repeated while a writer is in the way, up to the maximum wait. */
static inline bool wait_again(tseg *segment, uint32_t shard, tseg_result *result, tseg_wait *wait)
{
    if (*result != TSEG_WOULD_WAIT) return false;
    if (tseg_may_wait(segment, shard, wait)) tseg_watch(segment, shard, wait);
    else *result = TSEG_BUSY;
    return *result == TSEG_WOULD_WAIT;
}

#define PATIENTLY(segment, shard, call)                                                    \
    __extension__({                                                                        \
        tseg_wait patient_wait = {0};                                                      \
        tseg_result patient_result;                                                        \
        do patient_result = (call);                                                        \
        while (wait_again((segment), (shard), &patient_result, &patient_wait));            \
        patient_result;                                                                    \
    })

static inline tseg_result set_value(tseg *segment, const tseg_key *key, const tseg_value *value)
{
    return PATIENTLY(segment, key->shard, tseg_set(segment, key, value, INFINITY, -INFINITY));
}

static inline tseg_result delete_key(tseg *segment, const tseg_key *key)
{
    double expires_at;
    tseg_result result = tseg_delete(segment, key, &expires_at);
    return result == TSEG_OK && expires_at > time_now ? TSEG_OK : TSEG_ABSENT;
}

/* Whether the counters say what the index leads to. Nothing else uses the segment. */
static inline void check_counts(tseg *segment)
{
    uint64_t entries = 0, units = 0;
    tseg_stats stats;

    for (uint32_t shard = 0; shard < segment->geometry.shards; shard++) {
        tseg_view view = tseg_view_of(segment, shard);
        for (uint32_t i = 0; i < segment->index_slots; i++) {
            uint64_t word = atomic_load(view.index + i);
            if (!word || atomic_load(&view.control->emptied) != tseg_epoch(segment)) continue;
            entries++;
            units += (uint32_t)atomic_load(view.log[word >> TSEG_LOG_SHIFT & 1] +
                                           (word >> TSEG_POSITION_SHIFT) %
                                               segment->geometry.log_units[word >> TSEG_LOG_SHIFT & 1] * 2);
        }
    }
    tseg_collect_stats(segment, &stats);
    CHECK(stats.entries == entries && stats.live_bytes == units * TSEG_UNIT);
}

/* Reads a whole value, unless it is longer than the buffer. */
typedef struct {
    const tseg_key *key;
    void *buffer;
    size_t capacity;
    long bytes;
} check_read;

static inline void check_make_key(void *context, const tseg *segment, tseg_key *key)
{
    (void)segment;
    *key = *((check_read *)context)->key;
}

static inline bool check_ask_time(void *context, tseg_clock *clock, tseg **segment)
{
    (void)context;
    (void)segment;
    *clock = (tseg_clock){true, time_now};
    return true;
}

static inline bool check_take(void *context, tseg *segment, const tseg_key *key, const tseg_entry *entry,
                              const tseg_clock *clock)
{
    check_read *read = context;

    (void)segment;
    (void)key;
    if (!clock->known) return false; /* as if each value had its own expiry */
    read->bytes = entry->value_bytes > read->capacity ? -1 : (long)entry->value_bytes;
    if (read->bytes > 0) tseg_copy_value(entry, read->buffer, 0, entry->value_bytes);
    return true;
}

/* Returns the length, or -1. */
static inline long read_value(tseg *segment, const tseg_key *key, void *buffer, size_t capacity, tseg_token *token)
{
    check_read read = {key, buffer, capacity, -1};
    tseg_entry entry;
    tseg_key made;

    if (tseg_read(&segment, check_make_key, check_ask_time, check_take, &read, &made, &entry) != TSEG_OK) return -1;
    if (token) *token = tseg_token_of(segment, &entry);
    return read.bytes;
}

/* xorshift64*, so that runs with the same seed are identical. */
static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline tseg *attach_or_die(const char *path, uint64_t bytes, uint32_t shards)
{
    static const uint64_t fixed_key[2] = {1, 2};
    tseg_options options = {.bytes = bytes, .shards = shards, .average_entry_bytes = 256, .mode = 0600,
                            .hash_key = fixed_key};
    tseg_error error = {0};
    tseg *segment = path ? tseg_attach(path, &options, &error) : tseg_attach_private(&options, &error);
    while (!segment && error.code == EAGAIN) {
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        segment = tseg_attach(path, &options, &error);
    }
    if (!segment) {
        fprintf(stderr, "attach: %s (%d)\n", error.message, error.code);
        abort();
    }
    return segment;
}

#endif
