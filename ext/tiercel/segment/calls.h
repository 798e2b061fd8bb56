/* Layer "calls": calls that wait for a writer, that continue in another file, or that work on all entries. */
#ifndef TIERCEL_SEGMENT_CALLS_H
#define TIERCEL_SEGMENT_CALLS_H

#include "files.h"
#include "entries.h"

/*
 * A call under a shard's lock, or one that has to reach the current file. The struct of a kind of call begins with it.
 */
typedef struct tseg_call {
    tseg_result (*attempt)(struct tseg_call *call, tseg *segment);
    /* Runs without the lock if no attempt gave an answer, and returns the call's result. NULL: nothing can be done. */
    tseg_result (*abandon)(struct tseg_call *call, tseg *segment);
    uint32_t shard;     /* the shard that the last attempt needed */
    tseg_result result; /* of the last attempt */
} tseg_call;

/* Returns whether a result answers the call. Every other result means that nothing was done. */
static inline bool tseg_is_answer(tseg_result result)
{
    return result != TSEG_BUSY && result != TSEG_READ_ONLY && result != TSEG_RETIRED && result != TSEG_WOULD_WAIT &&
           result != TSEG_INTERRUPTED;
}

/* Another caller's lease, whose end a waiter wants to see. */
typedef struct {
    const void *key;
    uint32_t key_bytes;
    uint64_t lineage, holder;
} tseg_awaited_lease;

/*
 * One step of a walk over all entries. The caller zeroes the cursor before the first step. If the file changes, the
 * walk starts again. A step reads one bucket and puts its live entries into the batch. TSEG_OK, TSEG_ABSENT at the end,
 * TSEG_WOULD_WAIT for the cursor's shard, or TSEG_NO_MEMORY.
 */
typedef struct {
    uint64_t file_id;
    uint32_t shard;
    uint32_t slot;
} tseg_cursor;
typedef struct {
    uint8_t *bytes; /* the keys, one after the other; from realloc */
    size_t capacity;
    uint32_t count;
    struct {
        size_t key_offset;
        uint32_t key_bytes;
        unsigned hits;
    } entries[TSEG_BUCKET_SLOTS];
} tseg_batch;

/* A walk through the host, many batches at a time. The caller sets the first six members and zeroes the others. */
enum { TSEG_WALK_BATCHES = 32 };
typedef struct {
    tseg_cursor cursor;
    const char *prefix;
    uint32_t prefix_bytes;
    double now;        /* epoch seconds */
    long entries_left, buckets_left; /* the walk stops once one of them is 0 or less */
    bool at_end;       /* the walk has seen all entries */
    unsigned count;    /* batches that have entries */
    tseg_batch batches[TSEG_WALK_BATCHES];
    tseg *segment;
    uint64_t until_ns; /* by the monotonic clock: then the walk releases the host's lock */
    tseg_result result;
    tseg_wait wait;
} tseg_walker;

typedef struct {
    uint64_t entries; /* that the index leads to: also expired ones, until they are evicted */
    uint64_t live_bytes, log_bytes, used_bytes, processes, leases;
    uint64_t process[TSEG_PROCESS_COUNTERS];
    uint64_t shard[TSEG_SHARD_COUNTERS];
} tseg_stats;

#endif
