/* Passes over an index: of one shard (sweep.c), and of all shards while other threads run (all_shards.c). */
#ifndef TIERCEL_SEGMENT_SWEEP_H
#define TIERCEL_SEGMENT_SWEEP_H

#include "segment.h"

/*
 * One shard: empties what an earlier epoch left (raise it first), and its logs if the lock is free in time. In two
 * steps: tseg_empty_shard takes no lock, so that threads may do it without the host's; true: no entry is left.
 */
uint32_t tseg_raise_epoch(tseg *segment);
void tseg_clear_shard(tseg *segment, uint32_t shard, uint32_t epoch);
bool tseg_empty_shard(tseg *segment, uint32_t shard, uint32_t epoch);
void tseg_reset_shard(tseg *segment, uint32_t shard);
/* One shard: adds to *cleared; may be TSEG_WOULD_WAIT. */
tseg_result tseg_clear_prefix(tseg *segment, uint32_t shard, const void *prefix, uint32_t count, uint64_t *cleared);

/*
 * A walk over all entries: the cursor is zeroed at first, and begins anew where the file is another one. At
 * most one bucket's entries come back per call (their keys into `bytes`, grown by realloc). TSEG_OK,
 * TSEG_ABSENT at the end, or TSEG_WOULD_WAIT (for the cursor's shard).
 */
typedef struct {
    uint64_t file_id;
    uint32_t shard;
    uint32_t slot;
} tseg_cursor;
typedef struct {
    uint8_t *bytes;
    size_t capacity;
    uint32_t count;
    struct {
        size_t key_offset;
        uint32_t key_bytes;
        uint32_t value_bytes;
        uint32_t allocated_bytes;
        double expires_at;
        uint8_t log;
        uint8_t hits;
    } entries[TSEG_BUCKET_SLOTS];
} tseg_batch;
tseg_result tseg_walk(tseg *segment, tseg_cursor *cursor, const void *prefix, uint32_t prefix_bytes, double now,
                      tseg_batch *batch);

typedef struct {
    uint64_t entries, live_bytes, payload_bytes, log_bytes, used_bytes, processes, leases;
    uint64_t process[TSEG_PROCESS_COUNTERS];
    uint64_t shard[TSEG_SHARD_COUNTERS];
} tseg_stats;
void tseg_collect_stats(tseg *segment, double now, tseg_stats *stats);
/* Its parts, which add to *stats: of one shard, and of what belongs to none. */
void tseg_collect_shard_stats(tseg *segment, uint32_t shard, double now, tseg_stats *stats);
void tseg_collect_counters(tseg *segment, tseg_stats *stats); /* without looking at entries */
void tseg_collect_process_stats(tseg *segment, tseg_stats *stats);

/*
 * Callbacks of work on all shards. Other threads run during each of these calls, and may close the segment or
 * move to another file: then the work begins anew there. A call need not return (an interrupt that raises): the work
 * holds nothing.
 */
typedef struct tseg_turns {
    tseg *(*current)(struct tseg_turns *turns); /* the attachment to use now */
    /* Runs work(argument, &stop) without the host's lock, with the segment held. `stop` set: work returns soon. */
    void (*run)(struct tseg_turns *turns, tseg *segment, void (*work)(void *argument, const atomic_bool *stop),
                void *argument);
    /* After TSEG_WOULD_WAIT: waits as long as the call is worth another try, else returns false. See tseg_may_wait. */
    bool (*wait)(struct tseg_turns *turns, tseg *segment, uint32_t shard, tseg_wait *wait);
    void (*give_way)(struct tseg_turns *turns); /* lets other threads have the host's lock for a moment */
} tseg_turns;

/* Every entry is a miss at once; the room comes back. */
void tseg_clear(tseg_turns *turns);
/* Returns how many entries with keys that begin so were removed. */
uint64_t tseg_clear_keys(tseg_turns *turns, const void *prefix, uint32_t count);
/* Returns the attachment that the figures are of. */
tseg *tseg_count_all(tseg_turns *turns, double now, tseg_stats *stats);
/*
 * After TSEG_WOULD_WAIT of a call that goes over an index. A writer who does not move for the whole bound counts as
 * stuck; then the next try empties the slot.
 */
void tseg_wait_for_mover(tseg_turns *turns, tseg *segment, uint32_t shard, tseg_wait *wait);

#endif
